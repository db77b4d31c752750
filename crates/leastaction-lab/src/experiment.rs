//! `experiment`: makes published results again, with pages, numbers and a verdict.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use leastaction::io::write_atomically;
use serde_json::json;

use crate::experiments::{
    Context, EXPERIMENTS, Experiment, Machine, Outcome, RunInfo, TIMED, Verdict, image_name, index_page,
    publish, result_page,
};
use leastaction_study::failure::{CHECK_FAILED, DONE, Failure};
use leastaction_study::listener::Listener;
use leastaction_study::output::{DEFAULT_FOLDER, cannot_write};

/// What to run and where its files go.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names of experiments, `all`, `list`, or `results`.
    pub names: Vec<String>,
    /// Shorter runs and fewer sizes; every expectation is still checked.
    pub quick: bool,
    /// Folder for pages and numbers.
    pub out: Option<PathBuf>,
    /// Folder of robots that are too large to ship.
    pub robots: Option<PathBuf>,
    /// With `results`: folder the JSON files are read from.
    pub from: Option<PathBuf>,
    /// With `results`: the project whose pages are written.
    pub project: PathBuf,
}

/// Runs, lists or publishes what the options name; the exit code says whether every expectation holds.
///
/// # Errors
/// If an experiment can't run or its files can't be written.
pub fn run(args: Options, listener: &mut dyn Listener) -> Result<u8, Failure> {
    let folder = args.out.clone().unwrap_or_else(|| Path::new(DEFAULT_FOLDER).join("experiments"));
    match args.names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => {
            list(listener);
            Ok(DONE)
        }
        ["results"] => {
            let written = publish(args.from.as_ref().unwrap_or(&folder), &args.project)?;
            for path in &written {
                listener.line(&format!("wrote {}", path.display()));
            }
            listener.object(&json!({"written": written}));
            Ok(DONE)
        }
        _ => {
            let chosen = choose(&args.names)?;
            run_all(&chosen, &args, &folder, listener)
        }
    }
}

fn list(listener: &mut dyn Listener) {
    for experiment in EXPERIMENTS {
        listener.line(&format!("{:<24} {}", experiment.name, experiment.statement));
    }
    let all =
        EXPERIMENTS.iter().map(|e| json!({"name": e.name, "source": e.source, "statement": e.statement}));
    listener.object(&json!({"experiments": all.collect::<Vec<_>>()}));
}

fn choose(names: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    if names == ["all"] {
        return Ok(EXPERIMENTS.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            EXPERIMENTS.iter().find(|e| e.name == name).ok_or_else(|| {
                let known: Vec<&str> = EXPERIMENTS.iter().map(|e| e.name).collect();
                Failure::new(format!("there is no experiment `{name}`")).suggest(name, &known)
            })
        })
        .collect()
}

fn run_all(
    chosen: &[&'static Experiment],
    args: &Options,
    folder: &Path,
    listener: &mut dyn Listener,
) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    let context = Context { quick: args.quick, robots: args.robots.clone() };
    let machine = Machine::this();
    let begin = Instant::now();
    let mut done: Vec<(usize, &Experiment, Verdict, f64)> = Vec::new();
    let mut results = Vec::new();
    let mut finish = |k: usize, outcome: Outcome, seconds: f64| -> Result<(), Failure> {
        let experiment = chosen[k];
        let info = RunInfo { quick: args.quick, seconds, machine: machine.clone() };
        let place = format!("[{}/{}]", results.len() + 1, chosen.len());
        listener.line(&format!("{place} {}: {} ({seconds:.1} s)", experiment.name, experiment.statement));
        show(&outcome, listener);
        let object = outcome.to_json(experiment, &info);
        write_files(folder, experiment, &outcome, &info, &object)?;
        results.push((k, object));
        done.push((k, experiment, outcome.verdict(), seconds));
        Ok(())
    };
    let (timed, others): (Vec<usize>, Vec<usize>) =
        (0..chosen.len()).partition(|&k| TIMED.contains(&chosen[k].name));
    two_at_a_time(&others, |k| (chosen[k].run)(&context), &mut finish)?;
    for k in timed {
        let begin = Instant::now();
        let outcome = (chosen[k].run)(&context)?;
        finish(k, outcome, begin.elapsed().as_secs_f64())?;
    }
    done.sort_by_key(|row| row.0);
    results.sort_by_key(|row| row.0);
    let rows: Vec<(&Experiment, Verdict, f64)> =
        done.iter().map(|&(_, e, verdict, s)| (e, verdict, s)).collect();
    let index = folder.join("index.html");
    write(&index, index_page(&rows, &machine.line()).as_bytes())?;
    let failed: Vec<&str> =
        rows.iter().filter(|(_, verdict, _)| *verdict == Verdict::Fails).map(|(e, _, _)| e.name).collect();
    let seconds = begin.elapsed().as_secs_f64();
    listener.line(&if failed.is_empty() {
        format!("{} experiments in {seconds:.0} s, every expectation holds or is a known loss", rows.len())
    } else {
        format!("{} of {} experiments fail: {}; {seconds:.0} s", failed.len(), rows.len(), failed.join(", "))
    });
    listener.line(&format!("open {}", index.display()));
    let results: Vec<_> = results.into_iter().map(|(_, object)| object).collect();
    listener.object(
        &json!({"passed": failed.is_empty(), "failed": failed, "seconds": seconds, "results": results}),
    );
    Ok(if failed.is_empty() { DONE } else { CHECK_FAILED })
}

/// Runs experiments on two threads; `finish` sees each as it ends, with its seconds.
fn two_at_a_time(
    which: &[usize],
    run: impl Fn(usize) -> Result<Outcome, Failure> + Sync,
    finish: &mut impl FnMut(usize, Outcome, f64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    let work = |send: mpsc::Sender<_>| {
        while let Some(&k) = which.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = Instant::now();
            let outcome = run(k);
            if send.send((k, outcome, begin.elapsed().as_secs_f64())).is_err() {
                break;
            }
        }
    };
    let work = &work;
    std::thread::scope(|scope| {
        for send in [send.clone(), send] {
            scope.spawn(move || work(send));
        }
        for (k, outcome, seconds) in receive {
            finish(k, outcome?, seconds)?;
        }
        Ok(())
    })
}

fn show(outcome: &Outcome, listener: &mut dyn Listener) {
    for check in &outcome.checks {
        listener.line(&format!(
            "  {:<4}  {}: {} (expected {})",
            check.verdict().word(),
            check.what(),
            check.measured(),
            check.bound()
        ));
        if let Some(reason) = check.reason() {
            listener.line(&format!("        because {reason}"));
        }
    }
    for note in &outcome.notes {
        listener.note(note);
    }
}

fn write_files(
    folder: &Path,
    experiment: &Experiment,
    outcome: &Outcome,
    info: &RunInfo,
    object: &serde_json::Value,
) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(object)
        .map_err(|error| Failure::caused_by("the numbers can't be written as JSON", &error))?;
    text.push('\n');
    write(&folder.join(format!("{}.json", experiment.name)), text.as_bytes())?;
    write(
        &folder.join(format!("{}.html", experiment.name)),
        result_page(experiment, outcome, info).as_bytes(),
    )?;
    for (k, figure) in outcome.figures.iter().enumerate() {
        if let Some(drawing) = figure.to_svg() {
            write(&folder.join(image_name(experiment.name, k + 1)), drawing.as_bytes())?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomically(path, bytes).map_err(|error| cannot_write(path, &error))
}
