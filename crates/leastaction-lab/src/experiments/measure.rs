//! What several experiments measure: energies over long runs, end states, times, slopes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::{Mechanism, MechanismBuilder, ModelDescription, State};

use leastaction_study::failure::Failure;

/// A mechanism from a description that is known to be right.
pub(crate) fn build(description: ModelDescription) -> Result<Mechanism, Failure> {
    let name = description.name.clone();
    MechanismBuilder::from(description)
        .build()
        .map_err(|error| Failure::caused_by(format!("the model `{name}` of the experiment is wrong"), &error))
}

/// A method with the options most experiments change.
pub(crate) fn options(order: Option<u32>, tolerance: Option<f64>) -> MethodOptions {
    MethodOptions { order, tolerance, ..MethodOptions::default() }
}

/// An error of a step as a failure of the experiment.
pub(crate) fn stopped(what: &str, error: &StepError) -> Failure {
    Failure::caused_by(format!("{what} could not be run"), error)
}

/// Energy over a run: a thinned curve, and per tenth of the run what the long-time behaviour is judged by.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnergyRun {
    /// `(t, largest |E − E₀| of a stretch)`.
    pub(crate) envelope: Vec<(f64, f64)>,
    /// Largest `|E − E₀|` of each tenth.
    pub(crate) worst: Vec<f64>,
    /// Root mean square of `E − E₀` in each tenth.
    pub(crate) rms: Vec<f64>,
    /// Mean of `E − E₀` in each tenth.
    pub(crate) mean: Vec<f64>,
    /// Time at which the run broke down, if it did.
    pub(crate) broke_at: Option<f64>,
    /// Steps halved or tried again.
    pub(crate) trouble: u64,
}

/// Points kept of a long curve.
const CURVE_POINTS: u64 = 200;

/// Runs and watches the energy. A run that breaks down is a finding, not a failure.
pub(crate) fn energy_run(simulator: &mut Simulator<&Mechanism>, h: f64, steps: u64) -> EnergyRun {
    let mechanism = *simulator.mechanism();
    let mut dynamics = Dynamics::new(mechanism);
    let mut energy = |state: &State| dynamics.observe(mechanism, &state.q, &state.v).total();
    let start = energy(simulator.state());
    let mut run = EnergyRun::default();
    let u = vec![0.0; mechanism.nu()];
    let stretch = steps.div_ceil(CURVE_POINTS).max(1);
    let tenth = steps.div_ceil(10).max(1);
    let mut peak = 0.0_f64;
    let (mut worst, mut squares, mut sum, mut count) = (0.0_f64, 0.0, 0.0, 0.0);
    for k in 1..=steps {
        match simulator.step(&u, h) {
            Ok(report) => run.trouble += u64::from(report.halvings + report.retries + report.splits),
            Err(_) => {
                run.broke_at = Some(k as f64 * h);
                break;
            }
        }
        let t = k as f64 * h;
        let error = energy(simulator.state()) - start;
        if !error.is_finite() {
            run.broke_at = Some(t);
            break;
        }
        peak = peak.max(error.abs());
        if k.is_multiple_of(stretch) || k == steps {
            run.envelope.push((t, peak.max(1e-16)));
            peak = 0.0;
        }
        worst = worst.max(error.abs());
        squares += error * error;
        sum += error;
        count += 1.0;
        if k.is_multiple_of(tenth) || k == steps {
            run.worst.push(worst);
            run.rms.push((squares / count).sqrt());
            run.mean.push(sum / count);
            (worst, squares, sum, count) = (0.0, 0.0, 0.0, 0.0);
        }
    }
    run
}

/// The state after `duration`, in steps of `h`.
pub(crate) fn end_state(
    mechanism: &Mechanism,
    method: Method,
    options: &MethodOptions,
    h: f64,
    steps: u64,
) -> Result<State, StepError> {
    let mut simulator = Simulator::new(mechanism, method, options, &mechanism.start_state())?;
    let u = vec![0.0; mechanism.nu()];
    for _ in 0..steps {
        simulator.step(&u, h)?;
    }
    Ok(simulator.state().clone())
}

/// Microseconds per step over a run of `steps` steps from the start, and iterations per step.
///
/// The run is repeated and cut into short pieces; of each piece the least time counts, so that interruptions by other
/// programs drop out.
pub(crate) fn time_per_step(
    mechanism: &Mechanism,
    method: Method,
    options: &MethodOptions,
    h: f64,
    steps: u64,
    budget: Duration,
) -> Result<(f64, f64), StepError> {
    const PIECE: f64 = 2e-4;
    const RUNS: u32 = 4;
    let probe = steps.min(20);
    let mut simulator = Simulator::new(mechanism, method, options, &mechanism.start_state())?;
    let begin = Instant::now();
    for _ in 0..probe {
        simulator.step(&vec![0.0; mechanism.nu()], h)?;
    }
    let length = ((PIECE * probe as f64 / begin.elapsed().as_secs_f64()) as u64).clamp(1, steps);
    let mut best = vec![f64::INFINITY; steps.div_ceil(length) as usize];
    let u = vec![0.0; mechanism.nu()];
    let mut iterations = 0_u64;
    let begin = Instant::now();
    let mut runs = 0;
    while runs < RUNS || (begin.elapsed() < budget && runs < 1000) {
        let mut simulator = Simulator::new(mechanism, method, options, &mechanism.start_state())?;
        iterations = 0;
        let mut left = steps;
        for piece in &mut best {
            let begin = Instant::now();
            for _ in 0..length.min(left) {
                iterations += u64::from(simulator.step(&u, h)?.iterations);
            }
            *piece = piece.min(begin.elapsed().as_secs_f64());
            left -= length.min(left);
        }
        black_box(simulator.state());
        runs += 1;
    }
    Ok((best.iter().sum::<f64>() * 1e6 / steps as f64, iterations as f64 / steps as f64))
}

/// Least microseconds per call over batches of at least a fifth of a millisecond.
pub(crate) fn time_per_call(mut call: impl FnMut(), budget: Duration) -> f64 {
    let mut timed = |calls: u32| {
        let begin = Instant::now();
        (0..calls).for_each(|_| call());
        begin.elapsed()
    };
    let mut calls = 1;
    while timed(calls) < Duration::from_micros(200) {
        calls *= 2;
    }
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    let mut batches = 0;
    while batches < 5 || begin.elapsed() < budget {
        best = best.min(timed(calls).as_secs_f64() * 1e6 / f64::from(calls));
        batches += 1;
    }
    best
}

/// Least-squares slope of `log y` over `log x`.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|(x, y)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite())
        .map(|(x, y)| (x.ln(), y.ln()))
        .collect();
    if logs.len() < 2 {
        return f64::NAN;
    }
    let n = logs.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let (sxy, sxx) =
        logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx) * (y - my), b + (x - mx) * (x - mx)));
    sxy / sxx
}

/// Largest difference of two positions in tangent coordinates.
pub(crate) fn distance(mechanism: &Mechanism, a: &State, b: &State) -> f64 {
    let mut d = vec![0.0; mechanism.nv()];
    mechanism.difference(&a.q, &b.q, &mut d);
    leastaction_core::scalar::largest(&d)
}

/// Largest of some numbers; not a number if one is not.
pub(crate) fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, leastaction_core::scalar::maximum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_power_is_its_exponent() {
        let cube: Vec<(f64, f64)> = [1.0, 2.0, 5.0, 9.0_f64].iter().map(|&x| (x, 7.0 * x.powi(3))).collect();
        assert!((slope(&cube) - 3.0).abs() < 1e-12);
        assert!(slope(&cube[..1]).is_nan());
    }

    #[test]
    fn not_a_number_is_never_lost() {
        assert!(largest([1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(largest([1.0, 3.0, 2.0]), 3.0);
    }
}
