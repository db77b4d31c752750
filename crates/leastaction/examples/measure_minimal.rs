//! Figures of the engine in joint coordinates: `measure_minimal step|linearize|precision|hour [MODEL]`.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::time::Instant;

use leastaction::dynamics::Dynamics;
use leastaction::integrator::baseline::Dop853;
use leastaction::integrator::minimal::{
    Coordinates, Linearization, MinimalIntegrator, MinimalOptions, Policy,
};
use leastaction::integrator::{Input, Integrator, Simulator, StepError};
use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn build(name: &str) -> Result<Mechanism, Box<dyn std::error::Error>> {
    Ok(MechanismBuilder::from(samples::built_in(name)?).build()?)
}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().collect();
    let model = args.get(2).map(String::as_str);
    match args.get(1).map(String::as_str) {
        Some("step") => {
            let orders: Vec<u32> = args.get(3).map_or(vec![2, 4, 6], |o| o.parse().into_iter().collect());
            for order in orders {
                step(model.unwrap_or("@chain/32"), order, args.get(4).and_then(|s| s.parse().ok()))?;
            }
            Ok(())
        }
        Some("linearize") => linearize(),
        Some("precision") => precision(),
        Some("hour") => hour(),
        _ => Err("say step, linearize, precision or hour".into()),
    }
}

/// Mean time of 2000 steps, best of batches of 50.
fn step(model: &str, order: u32, steps: Option<usize>) -> Outcome {
    let mechanism = build(model)?;
    let links = mechanism.nb() as f64;
    for policy in [Policy::Automatic, Policy::Chord, Policy::Newton] {
        if steps.is_some() && policy != Policy::Automatic {
            continue;
        }
        let integrator = MinimalIntegrator::new(MinimalOptions { order, policy, ..Default::default() })?;
        let mut workspace = integrator.workspace(&mechanism)?;
        let mut best = f64::INFINITY;
        let mut line = String::new();
        for _ in 0..if steps.is_some() { 1 } else { 5 } {
            let mut state = integrator.start(&mechanism, &mut workspace, &mechanism.start_state())?;
            let (mut iterations, mut retries) = (0, 0);
            let mut worst: f64 = 0.0;
            let begin = Instant::now();
            let count = steps.unwrap_or(2000);
            for _ in 0..count {
                let report =
                    integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, 0.005)?;
                iterations += report.iterations;
                retries += report.retries;
                worst = worst.max(report.residual);
            }
            let micros = begin.elapsed().as_secs_f64() * 1e6 / count as f64 / links;
            if micros < best {
                best = micros;
                line = format!(
                    "{model} order {order} {policy:?}: {micros:.3} µs per link-step, {:.2} iterations, \
                     {retries} retries, residual {worst:.1e}",
                    f64::from(iterations) / count as f64
                );
            }
        }
        println!("{line}");
    }
    Ok(())
}

/// Time of a linearization beyond its step.
fn linearize() -> Outcome {
    for (n, order) in [(10, 2), (50, 2), (200, 2), (32, 2), (32, 4)] {
        let mechanism = build(&format!("@chain/{n}"))?;
        let integrator = MinimalIntegrator::new(MinimalOptions { order, ..Default::default() })?;
        let mut workspace = integrator.workspace(&mechanism)?;
        let mut state = integrator.start(&mechanism, &mut workspace, &mechanism.start_state())?;
        let input = Input { u: &[] };
        for _ in 0..20 {
            integrator.step(&mechanism, &mut workspace, &mut state, input, 0.005)?;
        }
        let best = |work: &mut dyn FnMut() -> Result<(), StepError>| -> Result<f64, StepError> {
            let mut best = f64::INFINITY;
            for _ in 0..if n >= 200 { 20 } else { 300 } {
                let begin = Instant::now();
                work()?;
                best = best.min(begin.elapsed().as_secs_f64() * 1e6);
            }
            Ok(best)
        };
        let from = state.clone();
        let step = best(&mut || {
            let mut s = from.clone();
            integrator.step(&mechanism, &mut workspace, &mut s, input, 0.005).map(|_| ())
        })?;
        for coordinates in [Coordinates::Momentum, Coordinates::Velocity] {
            let mut out = Linearization { nv: 0, nu: 0, coordinates, matrix: Vec::new() };
            let total = best(&mut || {
                let mut s = from.clone();
                integrator.linearize_into(&mechanism, &mut workspace, &mut s, input, 0.005, &mut out)
            })?;
            println!(
                "chain {n} order {order} {coordinates:?}: {:.1} µs beyond a step of {step:.1} µs ({:.1} steps)",
                total - step,
                (total - step) / step
            );
        }
    }
    Ok(())
}

/// Work and precision on the 10-link pendulum over 10 s.
fn precision() -> Outcome {
    let mechanism = build("@chain/10")?;
    let start = mechanism.start_state();
    let mut reference = Simulator::with(&mechanism, Dop853::with_tolerance(Some(1e-13))?, &start)?;
    for _ in 0..10 {
        reference.step(&[], 1.0)?;
    }
    let tip = |q: &[f64]| -> [f64; 2] {
        let (mut angle, mut p) = (0.0f64, [0.0f64; 2]);
        for q in q {
            angle += q;
            p[0] += angle.sin();
            p[1] -= angle.cos();
        }
        p
    };
    let goal = tip(&reference.state().q.clone());
    for s in 1..=6u32 {
        for steps in [100usize, 125, 160, 200, 250, 320, 400, 500, 800, 1600, 3200, 6400, 12800] {
            if s >= 3 && steps > 2000 {
                continue;
            }
            let h = 10.0 / steps as f64;
            let integrator = MinimalIntegrator::new(MinimalOptions { order: 2 * s, ..Default::default() })?;
            let mut workspace = integrator.workspace(&mechanism)?;
            let mut best = f64::INFINITY;
            let mut iterations = 0;
            let mut error = f64::NAN;
            for _ in 0..3 {
                let mut state = integrator.start(&mechanism, &mut workspace, &start)?;
                iterations = 0;
                let begin = Instant::now();
                let mut failed = false;
                for _ in 0..steps {
                    match integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, h) {
                        Ok(report) => iterations += report.iterations,
                        Err(_) => {
                            failed = true;
                            break;
                        }
                    }
                }
                best = best.min(begin.elapsed().as_secs_f64() * 1e3 / 10.0);
                let p = tip(&state.q);
                error = if failed { f64::NAN } else { (p[0] - goal[0]).hypot(p[1] - goal[1]) };
            }
            println!(
                "order {:2} h {h:.4}: error {error:.1e} in {best:.3} ms per simulated second, {:.2} iterations",
                2 * s,
                f64::from(iterations) / steps as f64
            );
        }
    }
    Ok(())
}

/// One simulated hour of the chaotic double pendulum, both arms released horizontal.
fn hour() -> Outcome {
    let mechanism = build("@double-pendulum")?;
    let mut start = mechanism.neutral_state();
    start.q[0] = std::f64::consts::FRAC_PI_2;
    let integrator = MinimalIntegrator::new(MinimalOptions { order: 4, halve: true, ..Default::default() })?;
    let mut simulator = Simulator::with(&mechanism, integrator, &start)?;
    let mut dynamics = Dynamics::new(&mechanism);
    let zero = dynamics.observe(&mechanism, &start.q, &start.v).total();
    let (mut sums, mut maxima) = ([0.0f64; 6], [0.0f64; 6]);
    let (mut halvings, mut retries) = (0, 0);
    for k in 0..360_000usize {
        let report = simulator.step(&[], 0.01)?;
        halvings += report.halvings;
        retries += report.retries;
        let state = simulator.state();
        let error = dynamics.observe(&mechanism, &state.q, &state.v).total() - zero;
        sums[k / 60_000] += error * error;
        maxima[k / 60_000] = maxima[k / 60_000].max(error.abs());
    }
    let rms = sums.map(|s| (s / 60_000.0).sqrt());
    println!("rms per ten minutes {rms:?}, maximum {maxima:?}, halvings {halvings}, retries {retries}");
    println!("rms last/first {:.3}, maximum last/first {:.3}", rms[5] / rms[0], maxima[5] / maxima[0]);
    Ok(())
}
