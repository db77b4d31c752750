//! `bench`: times steps and kernels, one JSON line per case, in the form of the peers' benchmark.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use leastaction::dynamics::Dynamics;
use leastaction::integrator::minimal::{Coordinates as StateCoordinates, Minimal, MinimalOptions};
use leastaction::integrator::{Input, Integrator, Simulator, StepError};
use leastaction::io::UrdfOptions;
use leastaction::mechanism::{Mechanism, State, samples};
use leastaction_study::choice::Choice;
use leastaction_study::choices;
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::listener::Listener;
use leastaction_study::model;
use leastaction_study::serve::{self, Served};
use leastaction_study::settings::Settings;
use serde_json::{Value, json};

use crate::compare::Baseline;

/// A batch takes about so long: short enough to miss most interruptions, long enough for the clock.
const BATCH: Duration = Duration::from_millis(2);

/// What to time: each case adds lines for one model or problem.
pub trait Bench {
    /// Its lines.
    ///
    /// # Errors
    /// If the model can't be used or a step can't be taken.
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure>;
}

/// Time per step of an integrator.
#[derive(Clone, Debug)]
pub struct StepBench {
    /// Integrator, step, and what is changed about the model.
    pub settings: Settings,
    /// Steps of a run.
    pub steps: u64,
    /// Number of runs.
    pub repeat: Option<u64>,
    /// Seconds to spend per model when the number of runs is not given.
    pub budget: f64,
}

/// Time per call of a kernel.
#[derive(Clone, Debug)]
pub struct KernelBench {
    /// Which.
    pub kernel: Kernel,
    /// How often.
    pub calls: Calls,
}

/// Time of a linearised step.
#[derive(Clone, Debug)]
pub struct LinearizeBench {
    /// Of which step.
    pub cases: StepCalls,
}

/// How often something is called.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// Number of batches.
    pub batches: u64,
    /// Exactly so many calls, timed together, for instruction counts.
    pub calls: Option<u64>,
    /// How the model is read.
    pub reading: UrdfOptions,
}

/// Calls of one part of a step.
#[derive(Clone, Debug)]
pub struct StepCalls {
    /// Order of accuracy of the step.
    pub order: u32,
    /// Time step in seconds.
    pub step: f64,
    /// How often.
    pub calls: Calls,
}

impl Calls {
    /// Best and median time of a call in microseconds.
    pub(crate) fn time(&self, call: &mut dyn FnMut()) -> (f64, f64) {
        let Some(calls) = self.calls else { return batches(self.batches, call) };
        let begin = Instant::now();
        (0..calls).for_each(|_| call());
        let us = begin.elapsed().as_secs_f64() * 1e6 / calls as f64;
        (us, us)
    }
}

choices! {
    /// Algorithms of continuous dynamics.
    Kernel {
        /// Inverse dynamics
        Rnea = "rnea",
        /// Forward dynamics
        Aba = "aba",
        /// Mass matrix
        Crba = "crba",
    }
}

/// Times every model of a case and compares with older times, if there are any.
///
/// # Errors
/// If a model can't be used, a step can't be taken, or the older times can't be read.
pub fn run(
    bench: &dyn Bench,
    models: &[String],
    older: Option<(&Path, f64)>,
    listener: &mut dyn Listener,
) -> Result<u8, Failure> {
    let older =
        older.map(|(path, threshold)| Baseline::read(path).map(|old| (old, threshold))).transpose()?;
    let mut results = Vec::new();
    for name in models {
        for line in bench.run(name)? {
            listener.raw(&format!("{line}\n"));
            results.push(line);
        }
    }
    Ok(older.map_or(DONE, |(old, threshold)| old.compare(&results, threshold, listener)))
}

impl Bench for StepBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let (model, built) = model::load(name, &self.settings.reading())?;
        let served = serve::prepare(&model, built, &self.settings)?;
        let h = self.settings.step.unwrap_or(0.001);
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

impl Bench for KernelBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let (_, mechanism) = model::load(name, &self.calls.reading)?;
        let (best, median) = self.calls.time(&mut kernel(self.kernel, &mechanism));
        let line = json!({
            "section": "A",
            "system": "leastaction",
            "variant": self.kernel.word(),
            "model": peer_name(name),
            "n": mechanism.nv(),
            "us": best,
            "us_median": median,
        });
        Ok(vec![line])
    }
}

/// Least and median microseconds per call.
pub(crate) fn batches(number: u64, call: &mut dyn FnMut()) -> (f64, f64) {
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

impl Bench for LinearizeBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let cases = &self.cases;
        let (_, mechanism) = model::load(name, &cases.calls.reading)?;
        let failed = |error: StepError| Failure::caused_by("the step can't be linearised", &error);
        let options = MinimalOptions { order: cases.order, ..MinimalOptions::default() };
        let integrator = Minimal::new(options).map_err(failed)?;
        let mut workspace = integrator.workspace(&mechanism).map_err(failed)?;
        let state = integrator.start(&mechanism, &mut workspace, &mechanism.start_state()).map_err(failed)?;
        let u = vec![0.0; mechanism.nu()];
        let input = Input { u: &u };
        let mut moved = state.clone();
        let mut out = integrator
            .linearize(&mechanism, &mut workspace, &mut moved, input, cases.step, StateCoordinates::Velocity)
            .map_err(failed)?;
        let mut linearize = || {
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
        let (both, both_median) = cases.calls.time(&mut linearize);
        let step = cases.calls.calls.is_none().then(|| {
            let mut step = || {
                moved.clone_from(&state);
                let _ = black_box(integrator.step(&mechanism, &mut workspace, &mut moved, input, cases.step));
            };
            batches(cases.calls.batches, &mut step).0
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
