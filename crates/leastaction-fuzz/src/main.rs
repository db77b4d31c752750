//! `leastaction-fuzz [--minutes M | --runs N] [--seed S] [TARGET…]`: damaged files and random mechanisms until the time is over.
//!
//! Prints a line per target and one for every finding; ends with 1 if there was one. `--one INDEX TARGET` makes one
//! execution again and writes its bytes to standard output; `--one NUMBER laws` writes that mechanism with its start.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use leastaction::io::write_model_json;
use leastaction::mechanism::MechanismBuilder;
use leastaction_fuzz::{LAWS, RandomModel, Seed, Target, input, judged, keep_panics, random_model, targets};

struct Wishes {
    until: Option<Instant>,
    runs: u64,
    seed: u64,
    one: Option<u64>,
    names: Vec<String>,
}

fn wishes() -> Result<Wishes, String> {
    let mut wishes = Wishes { until: None, runs: u64::MAX, seed: 1, one: None, names: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            let text = words.next().ok_or(format!("{word} needs a number"))?;
            text.parse::<u64>().map_err(|_| format!("`{text}` is not a whole number"))
        };
        match word.as_str() {
            "--minutes" => wishes.until = Some(Instant::now() + Duration::from_secs(60 * number()?)),
            "--runs" => wishes.runs = number()?,
            "--seed" => wishes.seed = number()?,
            "--one" => wishes.one = Some(number()?),
            name if name == "laws" || targets().any(|target| target.name == name) => wishes.names.push(word),
            name => return Err(format!("`{name}` is not a target; there are laws, {}", names().join(", "))),
        }
    }
    if wishes.until.is_none() && wishes.runs == u64::MAX {
        wishes.runs = 1000;
    }
    Ok(wishes)
}

fn names() -> Vec<&'static str> {
    targets().map(|target| target.name).collect()
}

fn main() -> ExitCode {
    let wishes = match wishes() {
        Ok(wishes) => wishes,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    keep_panics();
    let wanted = |name: &str| wishes.names.is_empty() || wishes.names.iter().any(|n| n == name);
    if let Some(index) = wishes.one {
        return one(&wishes, index);
    }
    let chosen: Vec<(&Target, Vec<Seed>)> =
        targets().filter(|t| wanted(t.name)).map(|target| (target, Seed::of(target))).collect();
    let mut findings = vec![0_u64; chosen.len() + 1];
    let (mut done, begin) = (0, Instant::now());
    // A thousand of each in turn, so that every target has its share whenever time is over.
    while done < wishes.runs && wishes.until.is_none_or(|until| Instant::now() < until) {
        let block = done..(done + 1000).min(wishes.runs);
        for (k, (target, seeds)) in chosen.iter().enumerate() {
            for index in block.clone() {
                let (bytes, name) = input(target, seeds, wishes.seed, index);
                if let Err(wrong) = judged(|| (target.run)(&bytes, Path::new(&name))) {
                    findings[k] += 1;
                    println!("{} --seed {} --one {index} ({name}): {wrong}", target.name, wishes.seed);
                }
            }
        }
        if wanted("laws") {
            for number in block.clone().map(|index| wishes.seed.wrapping_mul(1_000_003).wrapping_add(index)) {
                findings[chosen.len()] += laws(number);
            }
        }
        done = block.end;
    }
    let seconds = begin.elapsed().as_secs_f64();
    for (k, name) in
        chosen.iter().map(|(target, _)| target.name).chain(wanted("laws").then_some("laws")).enumerate()
    {
        let k = if name == "laws" { chosen.len() } else { k };
        println!("{name:10} {done} executions, {} findings", findings[k]);
    }
    println!("{seconds:.0} s");
    if findings.iter().all(|n| *n == 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tries every law on a random mechanism; the number of those that fail.
fn laws(number: u64) -> u64 {
    let mut failed = 0;
    let mut model = None;
    if let Err(wrong) = judged(|| {
        model = Some(random_model(number));
        Ok(())
    }) {
        println!("laws, mechanism {number}: can't be made: {wrong}");
        return 1;
    }
    for law in LAWS {
        if let (Some(model), Some(Err(wrong))) =
            (&model, model.as_ref().map(|model| judged(|| (law.holds)(model))))
        {
            failed += 1;
            println!(
                "laws, mechanism {number} ({} bodies), {}: {wrong}",
                model.description.bodies.len(),
                law.name
            );
        }
    }
    failed
}

fn one(wishes: &Wishes, index: u64) -> ExitCode {
    if wishes.names.iter().any(|name| name == "laws") {
        laws(index);
        let RandomModel { mut description, start, .. } = random_model(index);
        if let Ok(mechanism) = MechanismBuilder::from(description.clone()).build() {
            description.states.insert("start".into(), mechanism.describe_state(&start));
        }
        println!("{}", write_model_json(&description));
        return ExitCode::SUCCESS;
    }
    let Some(target) = targets().find(|target| wishes.names.iter().any(|name| name == target.name)) else {
        eprintln!("--one needs the name of a target: {}", names().join(", "));
        return ExitCode::from(2);
    };
    let (bytes, name) = input(target, &Seed::of(target), wishes.seed, index);
    // Before it is tried: it may never come back.
    let mut out = std::io::stdout();
    let written = out.write_all(&bytes).and_then(|()| out.flush());
    let outcome = judged(|| (target.run)(&bytes, Path::new(&name)));
    eprintln!("{name}: {}", outcome.err().unwrap_or_else(|| "nothing wrong".into()));
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
