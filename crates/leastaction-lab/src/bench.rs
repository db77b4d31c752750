//! `bench`: times steps and kernels, one JSON line per case, in the form of the peers' benchmark.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use leastaction::dynamics::Dynamics;
use leastaction::integrator::minimal::{Coordinates as StateCoordinates, MinimalIntegrator, MinimalOptions};
use leastaction::integrator::{Input, Integrator, Simulator, StepError};
use leastaction::mechanism::{Mechanism, State, samples};
use serde_json::{Value, json};

use crate::bench_jacobian::JacobianBench;
use crate::bench_newton::NewtonBench;
use crate::bench_optimize::OptimizeBench;
use crate::compare::{Baseline, PeerArgs};
use leastaction_study::args::{MODEL_HELP, ModelArgs, ReadArgs, StepArgs, positive};
use leastaction_study::config::{Settings, word};
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::listener::Listener;
use leastaction_study::model;
use leastaction_study::serve::{self, Served};

/// A batch takes about so long: short enough to miss most interruptions, long enough for the clock.
const BATCH: Duration = Duration::from_millis(2);

/// Time steps and kernels; one JSON line per case
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Lines of an earlier run: print ratios, fail above the threshold
    #[arg(long, value_name = "OLD.json", global = true)]
    compare: Option<PathBuf>,
    /// Largest ratio to the earlier run that passes
    #[arg(long, value_name = "X", default_value = "1.1", value_parser = positive, global = true)]
    threshold: f64,
    #[command(flatten)]
    peers: PeerArgs,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Time per step of an integrator: the mean over N steps from the start state, of each short piece the best of several runs
    Step(StepBench),
    /// Time per call of rnea, aba or crba: the minimum over many batches of 2 ms
    Kernel(KernelBench),
    /// Time per Jacobian of torques (with rates to order K), per product, gradient and Jacobian of the last link
    Jacobian(JacobianBench),
    /// Time of a linearised step of the minimal integrator
    Linearize(LinearizeBench),
    /// Time of the residual of a variational step, or of residual and full Newton direction
    Newton(NewtonBench),
    /// Time to the solution of a problem file: the median of several solves
    Optimize(OptimizeBench),
}

#[derive(Debug, clap::Args)]
struct StepBench {
    #[arg(value_name = "MODEL", required = true, help = MODEL_HELP)]
    models: Vec<String>,
    #[command(flatten)]
    step: StepArgs,
    /// Steps of a run
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Number of runs; 1 takes exactly N steps, for instruction counts
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u64).range(1..))]
    repeat: Option<u64>,
    /// Seconds to spend per model when --repeat is not given
    #[arg(long, value_name = "S", default_value = "1", value_parser = positive)]
    budget: f64,
    #[command(flatten)]
    change: ModelArgs,
}

#[derive(Debug, clap::Args)]
struct KernelBench {
    /// The kernel
    #[arg(value_enum)]
    kernel: Kernel,
    #[arg(value_name = "MODEL", required = true, help = MODEL_HELP)]
    models: Vec<String>,
    /// Number of batches
    #[arg(long, value_name = "B", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    batches: u64,
    /// Make exactly N calls and time them together, for instruction counts
    #[arg(long, value_name = "N", conflicts_with = "batches", value_parser = clap::value_parser!(u64).range(1..))]
    calls: Option<u64>,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Debug, clap::Args)]
struct LinearizeBench {
    #[command(flatten)]
    cases: CallArgs,
}

/// Models and calls of one part of a step.
#[derive(Debug, clap::Args)]
pub(crate) struct CallArgs {
    #[arg(value_name = "MODEL", required = true, help = MODEL_HELP)]
    pub(crate) models: Vec<String>,
    /// Order of accuracy of the step
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) order: u32,
    /// Time step in seconds
    #[arg(long, value_name = "S", default_value = "0.005", value_parser = positive)]
    pub(crate) step: f64,
    /// Number of batches
    #[arg(long, value_name = "B", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batches: u64,
    /// Make exactly N calls and time them together, for instruction counts
    #[arg(long, value_name = "N", conflicts_with = "batches", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) calls: Option<u64>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl CallArgs {
    /// Best and median time of a call in microseconds.
    pub(crate) fn time(&self, mut call: impl FnMut()) -> (f64, f64) {
        let Some(calls) = self.calls else { return batches(self.batches, call) };
        let begin = Instant::now();
        (0..calls).for_each(|_| call());
        let us = begin.elapsed().as_secs_f64() * 1e6 / calls as f64;
        (us, us)
    }
}

/// Algorithms of continuous dynamics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kernel {
    /// Inverse dynamics
    Rnea,
    /// Forward dynamics
    Aba,
    /// Mass matrix
    Crba,
}

/// Times what the arguments name.
///
/// # Errors
/// If a model can't be used or a step can't be taken.
pub fn run(args: Args, listener: &mut dyn Listener) -> Result<u8, Failure> {
    let baseline = args.compare.as_deref().map(Baseline::read).transpose()?;
    let mut results = Vec::new();
    let (models, one): (&[String], &dyn Fn(&str) -> Result<Vec<Value>, Failure>) = match &args.what {
        Some(What::Step(bench)) => (&bench.models, &|name| bench.run(name)),
        Some(What::Kernel(bench)) => (&bench.models, &|name| bench.run(name)),
        Some(What::Jacobian(bench)) => (&bench.models, &|name| bench.run(name)),
        Some(What::Linearize(bench)) => (&bench.cases.models, &|name| bench.run(name)),
        Some(What::Newton(bench)) => (&bench.cases.models, &|name| bench.run(name)),
        Some(What::Optimize(bench)) => (&bench.problems, &|name| bench.run(name)),
        None if args.peers.peers => return args.peers.run(),
        None => {
            return Err(Failure::new("nothing to time")
                .help("`leastaction bench step @chain/32`, or `leastaction bench --peers`; see `leastaction bench --help`"));
        }
    };
    for name in models {
        for line in one(name)? {
            listener.raw(&format!("{line}\n"));
            results.push(line);
        }
    }
    Ok(baseline.map_or(DONE, |old| old.compare(&results, args.threshold, listener)))
}

impl StepBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let (model, built) = model::load(name, &self.change.read)?;
        let settings =
            Settings::from_flags(&self.change, &self.step, &Default::default(), &Default::default());
        let served = serve::prepare(&model, built, &settings)?;
        let h = self.step.step.unwrap_or(0.001);
        let mechanism = &served.mechanism;
        let start = mechanism.start_state();
        let u = vec![0.0; mechanism.nu()];
        let mut runs = Vec::new();
        let mut pieces = vec![f64::INFINITY; self.steps.div_ceil(piece_length(self.steps)) as usize];
        let mut iterations = 0;
        let begin = Instant::now();
        while match self.repeat {
            Some(repeat) => (runs.len() as u64) < repeat,
            None => runs.len() < 5 || begin.elapsed().as_secs_f64() < self.budget,
        } {
            let (us, sum) = timed_run(&served, &start, &u, h, self.steps, &mut pieces)?;
            runs.push(us);
            iterations = sum;
        }
        let (_, median) = best_and_median(&mut runs);
        let best = pieces.iter().sum::<f64>() * 1e6 / self.steps as f64;
        let has_loops = mechanism.loop_joints().next().is_some();
        let variant = match served.options.order {
            Some(order) => format!("{}{order}", served.method.name()),
            None => served.method.name().to_owned(),
        };
        let line = json!({
            "section": if has_loops { "C" } else { "A" },
            "system": "leastaction",
            "variant": variant,
            "model": peer_name(name),
            "n": freedom(name, mechanism),
            "dt": h,
            "us": best,
            "us_median": median,
            "steps": self.steps,
            "runs": runs.len(),
            "iterations": iterations as f64 / self.steps as f64,
        });
        Ok(vec![line])
    }
}

/// Steps timed together: a five-hundredth of the run, short enough to miss most interruptions.
fn piece_length(steps: u64) -> u64 {
    steps.div_ceil(500).max(1)
}

/// Microseconds per step of one run, and its iterations; `pieces` keeps the least seconds of each piece of the run.
fn timed_run(
    served: &Served,
    start: &State,
    u: &[f64],
    h: f64,
    steps: u64,
    pieces: &mut [f64],
) -> Result<(f64, u64), Failure> {
    let mut simulator = Simulator::new(&served.mechanism, served.method, &served.options, start)
        .map_err(|error| Failure::caused_by("the simulation can't start", &error))?;
    let (mut iterations, mut done, mut total) = (0, 0, 0.0);
    for piece in pieces {
        let begin = Instant::now();
        let length = piece_length(steps).min(steps - done);
        for _ in 0..length {
            let report = simulator
                .step(u, h)
                .map_err(|error| Failure::caused_by(format!("step {done} could not be taken"), &error))?;
            iterations += u64::from(report.iterations);
            done += 1;
        }
        let spent = begin.elapsed().as_secs_f64();
        *piece = piece.min(spent);
        total += spent;
    }
    black_box(simulator.state());
    Ok((total * 1e6 / steps as f64, iterations))
}

impl KernelBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let (_, mechanism) = model::load(name, &self.read)?;
        let mut call = kernel(self.kernel, &mechanism);
        let (best, median) = match self.calls {
            Some(calls) => {
                let begin = Instant::now();
                (0..calls).for_each(|_| call());
                let us = begin.elapsed().as_secs_f64() * 1e6 / calls as f64;
                (us, us)
            }
            None => batches(self.batches, call),
        };
        let line = json!({
            "section": "A",
            "system": "leastaction",
            "variant": word(self.kernel),
            "model": peer_name(name),
            "n": mechanism.nv(),
            "us": best,
            "us_median": median,
        });
        Ok(vec![line])
    }
}

/// Least and median microseconds per call.
pub(crate) fn batches(number: u64, mut call: impl FnMut()) -> (f64, f64) {
    let mut timed = |calls: u64| {
        let begin = Instant::now();
        (0..calls).for_each(|_| call());
        begin.elapsed()
    };
    // Warm up and find how many calls make a batch.
    let mut calls = 1;
    while timed(calls) < BATCH {
        calls *= 2;
    }
    let mut results: Vec<f64> =
        (0..number).map(|_| timed(calls).as_secs_f64() * 1e6 / calls as f64).collect();
    best_and_median(&mut results)
}

impl LinearizeBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let cases = &self.cases;
        let (_, mechanism) = model::load(name, &cases.read)?;
        let failed = |error: StepError| Failure::caused_by("the step can't be linearised", &error);
        let options = MinimalOptions { order: cases.order, ..MinimalOptions::default() };
        let integrator = MinimalIntegrator::new(options).map_err(failed)?;
        let mut workspace = integrator.workspace(&mechanism).map_err(failed)?;
        let state = integrator.start(&mechanism, &mut workspace, &mechanism.start_state()).map_err(failed)?;
        let u = vec![0.0; mechanism.nu()];
        let input = Input { u: &u };
        let mut moved = state.clone();
        let mut out = integrator
            .linearize(&mechanism, &mut workspace, &mut moved, input, cases.step, StateCoordinates::Velocity)
            .map_err(failed)?;
        let linearize = || {
            moved.clone_from(&state);
            let done = integrator.linearize_into(
                &mechanism,
                &mut workspace,
                &mut moved,
                input,
                cases.step,
                &mut out,
            );
            let _ = black_box(done);
        };
        let (both, both_median) = cases.time(linearize);
        let step = cases.calls.is_none().then(|| {
            let step = || {
                moved.clone_from(&state);
                let _ = black_box(integrator.step(&mechanism, &mut workspace, &mut moved, input, cases.step));
            };
            batches(cases.batches, step).0
        });
        Ok(vec![json!({
            "section": "E",
            "system": "leastaction",
            "variant": format!("linearize{}", cases.order),
            "model": peer_name(name),
            "n": mechanism.nv(),
            "dt": cases.step,
            "us": both,
            "us_median": both_median,
            "us_step": step,
        })])
    }
}

/// The kernel at one random state, as a closure that does not allocate.
fn kernel(kernel: Kernel, mechanism: &Mechanism) -> Box<dyn FnMut() + '_> {
    let nv = mechanism.nv();
    let mut random = samples::Random::new(1);
    let mut vector = |range: f64| -> Vec<f64> { (0..nv).map(|_| random.range(-range, range)).collect() };
    let mut q = mechanism.neutral_state().q;
    mechanism.retract(&q.clone(), &vector(1.0), &mut q);
    let (v, a) = (vector(1.0), vector(10.0));
    let mut dynamics = Dynamics::<f64>::new(mechanism);
    let mut out = vec![0.0; if kernel == Kernel::Crba { nv * nv } else { nv }];
    Box::new(move || {
        let (q, v, a) = (black_box(&q), black_box(&v), black_box(&a));
        match kernel {
            Kernel::Rnea => dynamics.inverse_dynamics_into(mechanism, q, v, a, &mut out),
            Kernel::Aba => dynamics.forward_dynamics_into(mechanism, q, v, a, &mut out),
            Kernel::Crba => dynamics.mass_matrix_into(mechanism, q, &mut out),
        }
        black_box(&out);
    })
}

fn best_and_median(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values.first().copied().unwrap_or(f64::NAN), values.get(values.len() / 2).copied().unwrap_or(f64::NAN))
}

/// The name the peers' tables use: `@chain/10` is their `chain10`.
pub(crate) fn peer_name(name: &str) -> String {
    let Some(built_in) = name.strip_prefix('@') else { return model::slug(name) };
    let (kind, size) = built_in.split_once('/').unwrap_or((built_in, ""));
    match kind {
        "double-pendulum" => "chain2".to_owned(),
        "chain-xy" => format!("chainxy{size}"),
        "ball-chain" => format!("ball{size}"),
        "four-bar" => "loop1".to_owned(),
        "four-bars" => format!("loop{size}"),
        other => format!("{other}{size}"),
    }
}

/// The `n` of the peers' tables: velocities of a tree, loops of a stack of four-bars.
fn freedom(name: &str, mechanism: &Mechanism) -> usize {
    let loops = mechanism.loop_joints().count();
    if loops > 0 && name.starts_with("@four-bar") { loops } else { mechanism.nv() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_ins_have_the_names_of_the_peers_tables() {
        for (name, expected) in [
            ("@chain/10", "chain10"),
            ("@chain-xy/8", "chainxy8"),
            ("@ball-chain/2", "ball2"),
            ("@four-bars/5", "loop5"),
            ("x/panda.urdf", "panda"),
        ] {
            assert_eq!(peer_name(name), expected);
        }
    }

    #[test]
    fn the_best_is_the_smallest() {
        assert_eq!(best_and_median(&mut [3.0, 1.0, 2.0]), (1.0, 2.0));
    }
}
