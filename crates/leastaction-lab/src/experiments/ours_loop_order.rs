//! Closed loops at any order: the orders that halving shows, and what an error costs beside order 2 and the composition.

use std::time::Duration;

use leastaction::integrator::maximal::{Composition, Maximal};
use leastaction::integrator::{Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::{Mechanism, State, samples};

use super::check::short;
use super::measure::{build, distance, end_state, options, slope, stopped, time_per_step};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-loop-order",
    source: "ours; the four-bar of the peers' benchmark",
    statement: "Mechanisms with closed loops, redundant ones too, are integrated at any even order, and at equal error order 4 costs \
                less than the composition of order-2 steps.",
    parameters: "Maximal engine, tolerance 1e-14: @four-bar, @slider-crank, @bennett, @platform (redundant loops), @rssr, @stewart, @delta; \
                 0.4 s (Bennett 1.2 s) from the model's start, 6, 8, 10, 12, 16, … steps. Errors: largest joint coordinate at the end, against \
                 order 12 at 4 ms; springs at the nodes at every step. Orders: slope through the last four errors above 30 times what two such references \
                 differ by. Cost: @four-bar over 2 s, error of the coupler's centre / m as the peers' (scripts/peers/loop_precision.py), best time per step \
                 times the number of steps, at the best of the tolerances 1e-12 (the default) and 1e-8.",
    run,
};

const DURATION: f64 = 2.0;
/// Tolerances of the solve that costs are taken at.
const TOLERANCES: [f64; 2] = [1e-12, 1e-8];
/// Close together where order 8 meets rounding: four on its line are asked for.
const STEPS: [u32; 22] =
    [6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 112, 128, 160, 192, 256, 320];

fn end(
    mechanism: &Mechanism,
    options: &MethodOptions,
    duration: f64,
    steps: u32,
) -> Result<State, StepError> {
    end_state(mechanism, Method::Maximal, options, duration / f64::from(steps), u64::from(steps))
}

/// The same with all springs at the nodes: those of the robots would go to Gauss points at some step, which have another error. (8.10)
fn end_of_order(mechanism: &Mechanism, order: u32, duration: f64, steps: u32) -> Result<State, StepError> {
    let engine = Maximal { order, tolerance: 1e-14, explicit_springs: true, ..Maximal::default() };
    let mut simulator = Simulator::with(mechanism, engine, &mechanism.start_state())?;
    let u = vec![0.0; mechanism.nu()];
    for _ in 0..steps {
        simulator.step(&u, duration / f64::from(steps))?;
    }
    Ok(simulator.state().clone())
}

fn run(context: &Context) -> Result<Outcome, Failure> {
    let mut out = Outcome::default();
    let mut orders = Table::new("Orders", ["mechanism", "order 2", "order 4", "order 6", "order 8"]);
    for (model, duration) in [
        (samples::four_bar(), 0.4),
        (samples::slider_crank(), 0.4),
        (samples::rssr(), 0.4),
        (samples::bennett(), 1.2),
        (samples::platform(), 0.4),
        (samples::stewart(), 0.4),
        (samples::delta(), 0.4),
    ] {
        let mechanism = build(model)?;
        let name = mechanism.name().to_owned();
        let fail = |error| stopped(&name, &error);
        let fine = |rate: f64| end_of_order(&mechanism, 12, duration, (rate * duration).round() as u32);
        let (exact, again) = (fine(250.0).map_err(fail)?, fine(310.0).map_err(fail)?);
        let floor = 30.0 * distance(&mechanism, &again, &exact) + 1e-14;
        let mut row = vec![name.clone().into()];
        for (order, slack) in [(2, 0.15), (4, 0.15), (6, 0.15), (8, 0.3)] {
            let mut points = Vec::new();
            for steps in STEPS {
                // Order 2 is far from its line at a few steps.
                let steps = if order == 2 { 4 * steps } else { steps };
                let Ok(state) = end_of_order(&mechanism, order, duration, steps) else { continue };
                let e = distance(&mechanism, &state, &exact);
                if e < floor {
                    break;
                }
                points.push((f64::from(steps), e));
            }
            let found = -slope(&points[points.len().saturating_sub(4)..]);
            row.push(found.into());
            out.checks.push(Check::at_most(
                format!("{name}, order {order}: distance of the slope from it"),
                "polynomials of degree s through Lobatto nodes have order 2s",
                (found - f64::from(order)).abs(),
                slack,
            ));
        }
        orders.row(row);
    }
    out.tables.push(orders);
    work(context, &mut out)?;
    trees(context, &mut out)?;
    Ok(out)
}

/// Work and precision on the four-bar.
fn work(context: &Context, out: &mut Outcome) -> Result<(), Failure> {
    let mechanism = build(samples::four_bar())?;
    let fail = |error| stopped("four-bar", &error);
    let exact = end(&mechanism, &options(Some(12), Some(1e-14)), DURATION, 1000).map_err(fail)?;
    let mut suzuki = options(Some(4), None);
    suzuki.maximal.composition = Some(Composition::Suzuki);
    let cases = [
        ("order 2", options(Some(2), None), vec![400, 1600, 6400]),
        ("order 4, composition", suzuki, vec![100, 200, 400, 800, 1600]),
        ("order 4", options(Some(4), None), vec![100, 200, 400, 800, 1600]),
        ("order 6", options(Some(6), None), vec![50, 100, 128, 200, 256, 400, 800]),
        ("order 8", options(Some(8), None), vec![50, 100, 200, 400]),
    ];
    let mut table = Table::new(
        "Work and precision: four-bar",
        ["steps by", "tolerance", "step / s", "error / m", "us per simulated second"],
    );
    let mut figure = Figure::new(
        "Work and precision: four-bar",
        ("error / m", Scale::Log),
        ("us per simulated second", Scale::Log),
    );
    let mut cost_at = Vec::new();
    let mut cost_fine = Vec::new();
    for (label, mut options, counts) in cases {
        let (mut at, mut fine) = (None, None);
        for tolerance in TOLERANCES {
            options.tolerance = Some(tolerance);
            let mut points = Vec::new();
            for &steps in &counts {
                let h = DURATION / f64::from(steps);
                let found = end(&mechanism, &options, DURATION, steps).map_err(fail)?;
                let e = apart(coupler(&found.q), coupler(&exact.q));
                let budget = Duration::from_millis(context.pick(80, 8));
                let (us, _) =
                    time_per_step(&mechanism, Method::Maximal, &options, h, u64::from(steps), budget)
                        .map_err(|error| stopped(label, &error))?;
                table.row([label.into(), tolerance.into(), h.into(), e.into(), (us / h).into()]);
                points.push((e.max(1e-16), us / h));
            }
            let least = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::min);
            at = least(at, cost_of(&points, 1e-6));
            fine = least(fine, cost_of(&points, 1e-9));
            figure.curve(format!("{label}, tolerance {tolerance:.0e}"), points);
        }
        cost_at.push((label, at));
        cost_fine.push((label, fine));
    }
    let cost =
        |label: &str| cost_at.iter().find(|(l, _)| *l == label).and_then(|(_, at)| *at).unwrap_or(f64::NAN);
    let ratio = cost("order 4, composition") / cost("order 4");
    out.number("composition over order 4 at 1e-6", serde_json::json!(ratio));
    out.headline(
        "Cost of the composition of order 4 against steps of order 4, four-bar, error 1e-6",
        format!("{} times", short(ratio)),
        "one factorisation per step instead of five solves by Newton's method, no negative substep",
    );
    out.checks.push(Check::at_least(
        "cost of the composition over that of steps of order 4 at an error of 1e-6",
        "one mass matrix per step",
        ratio,
        context.pick(2.0, 1.0),
    ));
    for (label, at) in cost_fine.iter().filter_map(|(label, at)| at.map(|at| (label, at))) {
        out.number(format!("us per simulated second to 1e-9 m, {label}"), serde_json::json!(at));
    }
    for (label, at) in cost_at.iter().filter_map(|(label, at)| at.map(|at| (label, at))) {
        out.number(format!("us per simulated second to 1e-6 m, {label}"), serde_json::json!(at));
    }
    out.tables.push(table);
    out.figures.push(figure);
    Ok(())
}

/// Centre of the coupler of `@four-bar`, in its plane, as the peers' script takes it; joints: crank, rocker, coupler on the crank.
fn coupler(q: &[f64]) -> [f64; 2] {
    let (crank, coupler) = (q[0], q[0] + q[2]);
    [0.5 * crank.sin() + 0.6 * coupler.sin(), -0.5 * crank.cos() - 0.6 * coupler.cos()]
}

fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Least cost at an error: of a run that is as good, or on the line between neighbouring ones, logarithms; points from coarse to fine.
fn cost_of(points: &[(f64, f64)], error: f64) -> Option<f64> {
    let between = points.windows(2).filter(|p| p[0].0 >= error && p[1].0 <= error).map(|p| {
        let s = (error.ln() - p[0].0.ln()) / (p[1].0.ln() - p[0].0.ln());
        (p[0].1.ln() + s * (p[1].1.ln() - p[0].1.ln())).exp()
    });
    let as_good = points.iter().filter(|p| p.0 <= error).map(|p| p.1);
    between.chain(as_good).reduce(f64::min)
}

/// Trees, which both engines take: what an error costs in joint coordinates and in poses.
fn trees(context: &Context, out: &mut Outcome) -> Result<(), Failure> {
    const SPAN: f64 = 0.4;
    let mut table = Table::new(
        "Trees: us per simulated second to an error, joint coordinates and poses",
        ["model", "order", "1e-4, joints", "1e-4, poses", "1e-7, joints", "1e-7, poses"],
    );
    for model in [samples::chain(10), samples::chain_xy(10), samples::ball_chain(10)] {
        let mechanism = build(model)?;
        let name = mechanism.name().to_owned();
        let exact =
            end_state(&mechanism, Method::Maximal, &options(Some(12), Some(1e-14)), SPAN / 200.0, 200)
                .map_err(|error| stopped(&name, &error))?;
        for order in [2, 4, 6] {
            let mut row = vec![name.clone().into(), f64::from(order).into()];
            let mut curves = Vec::new();
            for method in [Method::Minimal, Method::Maximal] {
                let mut points = Vec::new();
                for steps in [5u32, 10, 20, 40, 80, 160, 320, 1280, 5120] {
                    let (h, options) = (SPAN / f64::from(steps), options(Some(order), None));
                    let Ok(state) = end_state(&mechanism, method, &options, h, u64::from(steps)) else {
                        continue;
                    };
                    let e = distance(&mechanism, &state, &exact);
                    let budget = Duration::from_millis(context.pick(40, 4));
                    let (us, _) = time_per_step(&mechanism, method, &options, h, u64::from(steps), budget)
                        .map_err(|error| stopped(&name, &error))?;
                    points.push((e.max(1e-16), us / h));
                    if e < 1e-8 {
                        break;
                    }
                }
                curves.push(points);
            }
            for error in [1e-4, 1e-7] {
                for points in &curves {
                    row.push(cost_of(points, error).unwrap_or(f64::NAN).into());
                }
            }
            table.row(row);
        }
    }
    out.tables.push(table);
    Ok(())
}
