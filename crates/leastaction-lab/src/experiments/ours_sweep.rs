//! Sweeps: the same bytes from any number of threads and in any order of chunks, and how many steps a second they take.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use leastaction_study::failure::Failure;
use leastaction_study::model;
use leastaction_study::sweep::{Asked, Parts, Seen, Sweep};

use super::{Check, Context, Experiment, Outcome, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-sweep",
    source: "ours; docs/sweeps.md",
    statement: "A sweep gives the same bytes whatever the number of threads and the order of its chunks, and runs that fail are rows.",
    parameters: "@chain/10 and @chain-xy/10 with order 2 and order 4, RK4 and semi-implicit Euler; starts within ±0.5 rad and ±0.3 rad/s by Philox \
                 (seed 7), steps of 1 ms, 256 runs of 200 steps (quick: 32 of 50), chunks of 16 (quick: 4); and @chain/3 whose \
                 masses vary by a factor of 0.5 to 2. Chunks are computed in order on one thread, backwards on one, and each on two and \
                 on five threads. Rates are those of one thread, chunks in order, and include draws and tables.",
    run,
};

/// Model, integrator, order, what varies besides the start.
const CASES: [(&str, &str, Option<u32>, &str); 7] = [
    ("@chain/10", "minimal", Some(2), ""),
    ("@chain/10", "minimal", Some(4), ""),
    ("@chain-xy/10", "minimal", Some(4), ""),
    ("@chain/10", "rk4", None, ""),
    ("@chain/10", "semi-implicit", None, ""),
    ("@four-bar", "maximal", Some(2), ""),
    ("@chain/3", "minimal", Some(4), "\"bodies.*.mass\" = { log_uniform = [0.5, 2.0], relative = true }\n"),
];

fn run(context: &Context) -> Result<Outcome, Failure> {
    let (runs, chunk, steps) = context.pick((256, 16, 200), (32, 4, 50));
    let mut out = Outcome::default();
    let mut table = Table::new(
        "Steps per second and thread",
        ["model", "integrator", "steps/s", "failed runs", "bytes of runs"],
    );
    for (name, integrator, order, also) in CASES {
        let label =
            order.map_or_else(|| integrator.to_owned(), |order| format!("{integrator}, order {order}"));
        let order = order.map_or_else(String::new, |order| format!("order = {order}\n"));
        // Loops close from where they are: there only the speed of the crank varies.
        let start = if name == "@four-bar" {
            "\"initial.v.crank_pivot\" = { uniform = [-0.3, 0.3] }\n"
        } else {
            "\"initial.q.*\" = { uniform = [-0.5, 0.5] }\n\"initial.v.*\" = { uniform = [-0.3, 0.3] }\n"
        };
        let text = format!(
            "integrator = \"{integrator}\"\n{order}step = 0.001\nduration = {}\n[sweep]\nruns = {runs}\nseed = 7\nchunk = {chunk}\n[sweep.vary]\n{start}{also}",
            0.001 * f64::from(steps)
        );
        let (model, built) = model::load(name, &Default::default())?;
        let sweep = Sweep::of_model(&text, model, built, Asked::default())?;
        let (begin, seen) = (Instant::now(), Seen::default());
        let first = all(&sweep, 1, false, &seen);
        let rate = f64::from(steps) * runs as f64 / begin.elapsed().as_secs_f64();
        let mut differing = 0;
        for (threads, backwards) in [(1, true), (2, false), (5, true)] {
            let again = all(&sweep, threads, backwards, &Seen::default());
            differing += first.iter().zip(&again).filter(|(a, b)| a != b).count();
        }
        let failed = seen.failed.load(std::sync::atomic::Ordering::Relaxed);
        let bytes: usize = first.iter().flatten().map(|parts| parts.runs.len()).sum();
        table.row([
            name.into(),
            label.as_str().into(),
            rate.into(),
            (failed as f64).into(),
            (bytes as f64).into(),
        ]);
        out.number(
            format!("{name} {label}"),
            serde_json::json!({"steps_per_second": rate, "failed": failed, "bytes": bytes}),
        );
        out.checks.push(Check::at_most(
            format!("{name}, {label}: chunks that differ by threads or order"),
            "a chunk is a function of sweep and number",
            differing as f64,
            0.0,
        ));
        out.checks.push(Check::at_most(
            format!("{name}, {label}: chunks missing"),
            "all are computed",
            first.iter().filter(|part| part.is_none()).count() as f64,
            0.0,
        ));
    }
    out.tables.push(table);
    Ok(out)
}

/// All chunks by number, computed in order or backwards.
fn all(sweep: &Sweep, threads: usize, backwards: bool, seen: &Seen) -> Vec<Option<Parts>> {
    let stop = AtomicBool::new(false);
    let mut done: Vec<Option<Parts>> = (0..sweep.chunks()).map(|_| None).collect();
    let order: Vec<u64> =
        if backwards { (0..sweep.chunks()).rev().collect() } else { (0..sweep.chunks()).collect() };
    for index in order {
        done[index as usize] = sweep.chunk(index, threads, &stop, seen);
    }
    done
}
