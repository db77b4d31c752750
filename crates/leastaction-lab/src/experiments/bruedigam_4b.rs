//! Figure 4b: drift of a closed loop.

use leastaction::dynamics::loop_gaps;
use leastaction::integrator::{Method, Simulator};
use leastaction::mechanism::samples;

use super::acceleration_loop::AccelerationLoop;
use super::check::short;
use super::measure::{build, largest, options, stopped};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "bruedigam-4b",
    source: "Brüdigam and Manchester (2020), figure 4b",
    statement: "A four-link loop held by positions does not open; held by accelerations without stabilisation it drifts.",
    parameters: "@four-bar: crank 0.5, coupler 1.2, rocker 0.9, ground 1.0 m, rods of 1 kg, released at rest with the crank \
                 60° above the ground line, all four joints revolute (the closure has five rows, three of them redundant); \
                 step 10 ms, 60 s (quick: 20 s). The comparison integrates the opened tree by RK4 with the loop's two \
                 in-plane rows enforced on accelerations only (the paper uses RigidBodyDynamics.jl in that mode).",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    const STEP: f64 = 0.01;
    let steps = context.pick(6000, 2000);
    let mechanism = build(samples::four_bar())?;
    let mut out = Outcome::default();
    let mut figure =
        Figure::new("Gap of the loop", ("t / s", Scale::Linear), ("gap / m", Scale::Log)).smooth();
    let mut table = Table::new("Largest gap in m", ["integrator", "first quarter", "whole run"]);
    let mut show = |label: &str, gaps: &[f64]| {
        let curve = gaps.iter().enumerate().step_by(10);
        figure.curve(label, curve.map(|(k, &g)| ((k + 1) as f64 * STEP, g.max(1e-17))));
        let first = largest(gaps[..gaps.len() / 4].iter().copied());
        let whole = largest(gaps.iter().copied());
        table.row([label.into(), first.into(), whole.into()]);
        (first, whole)
    };
    for order in [2, 4] {
        let label = format!("maximal, order {order}");
        let options = options(Some(order), None);
        let mut simulator = Simulator::new(&mechanism, Method::Maximal, &options, &mechanism.start_state())
            .map_err(|error| stopped(&label, &error))?;
        let mut gaps = Vec::with_capacity(steps);
        for _ in 0..steps {
            simulator.step(&[], STEP).map_err(|error| stopped(&label, &error))?;
            gaps.push(simulator.gap());
        }
        let (_, whole) = show(&label, &gaps);
        out.checks.push(Check::at_most(
            format!("{label}: largest gap of any joint / m"),
            "the paper: position constraints \"guarantee constraint satisfaction\"; to rounding",
            whole,
            1e-12,
        ));
        if order == 2 {
            out.headline(
                "Gap of a four-bar loop, steps of 10 ms",
                format!("{} m", short(whole)),
                "held by accelerations only: see bruedigam-4b; soft constraints of simulators: see ours-loop-gap",
            );
        }
    }
    let mut drifting = AccelerationLoop::new(&mechanism);
    let mut state = mechanism.start_state();
    let gaps: Vec<f64> = (0..steps)
        .map(|_| {
            drifting.rk4(&mut state, STEP);
            largest(loop_gaps(&mechanism, &state).iter().map(|gap| gap.distance))
        })
        .collect();
    let (first, whole) = show("accelerations only (RK4)", &gaps);
    out.checks.push(Check::at_least(
        "accelerations only: largest gap of the run over that of its first quarter",
        "the paper: \"an increasing drift becomes visible\"",
        whole / first,
        2.0,
    ));
    out.checks.push(Check::at_least(
        "accelerations only: largest gap / m",
        "Pinocchio's constraintDynamics without stabilisation opens 0.093 m in 60 s at this step",
        whole,
        1e-3,
    ));
    out.number("gap_accelerations", whole);
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
