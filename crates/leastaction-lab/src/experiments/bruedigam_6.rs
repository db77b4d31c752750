//! Figure 6: chains of four-link segments through singular poses.

use std::time::Duration;

use leastaction::integrator::{Method, Simulator};
use leastaction::mechanism::samples;
use leastaction_core::scalar::maximum;

use super::measure::{build, options, slope, stopped, time_per_step};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "bruedigam-6",
    source: "Brüdigam and Manchester (2020), figure 6",
    statement: "Chains of four-link segments, whose loops lose rank when links overlap, run without failure in linear time.",
    parameters: "@rhombus-chain/k: k rhombi of four rods (1 m, 1 kg), each hanging from the one above, half opened, the last \
                 turned by 45°, all joints revolute, released at rest; 10 s in steps of 10 ms; k = 1 to 10 (quick: 1 to 4).",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    const STEP: f64 = 0.01;
    const STEPS: u64 = 1000;
    let sizes: &[usize] = context.pick(&[1, 2, 3, 4, 5, 6, 8, 10], &[1, 2, 4]);
    let mut out = Outcome::default();
    let mut figure = Figure::new("Time of 1000 steps", ("segments", Scale::Log), ("time / ms", Scale::Log));
    let mut table = Table::new(
        "Chains of rhombi",
        ["segments", "µs per step", "iterations per step", "largest gap / m", "split steps", "failures"],
    );
    let (mut times, mut worst_gap, mut failures) = (Vec::new(), 0.0_f64, 0);
    for &k in sizes {
        let mechanism = build(samples::rhombus_chain(k))?;
        let mut simulator =
            Simulator::new(&mechanism, Method::Maximal, &options(Some(2), None), &mechanism.start_state())
                .map_err(|error| stopped("a chain of rhombi", &error))?;
        let (mut gap, mut iterations, mut splits, mut failed) = (0.0_f64, 0_u64, 0_u64, false);
        for _ in 0..STEPS {
            match simulator.step(&[], STEP) {
                Ok(report) => {
                    iterations += u64::from(report.iterations);
                    splits += u64::from(report.splits);
                    gap = maximum(gap, simulator.gap());
                }
                Err(_) => {
                    failed = true;
                    break;
                }
            }
        }
        failures += usize::from(failed);
        worst_gap = maximum(worst_gap, gap);
        let budget = Duration::from_millis(context.pick(500, 50));
        let us = time_per_step(&mechanism, Method::Maximal, &options(Some(2), None), STEP, STEPS, budget)
            .map_or(f64::NAN, |(us, _)| us);
        times.push((k as f64, us));
        table.row([
            k.into(),
            us.into(),
            (iterations as f64 / STEPS as f64).into(),
            gap.into(),
            (splits as usize).into(),
            usize::from(failed).into(),
        ]);
    }
    out.checks.push(Check::at_most(
        "chains that fail",
        "the paper: \"we perform robustly\"; the minimal-coordinate integrator it compares with fails from two segments on",
        failures as f64,
        0.0,
    ));
    out.checks.push(Check::at_most(
        "largest gap of any joint / m",
        "positions are enforced, to rounding",
        worst_gap,
        1e-12,
    ));
    out.checks.push(Check::within(
        "slope of log time over log segments",
        "the paper's curve is a line; timed, so with room",
        slope(&times),
        (0.6, 1.4),
    ));
    figure.curve("maximal, order 2", times.iter().copied());
    out.number("times", serde_json::json!(times));
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
