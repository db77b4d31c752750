//! Closed loops at any order: the orders that halving shows, and what an error costs beside order 2 and the composition.

use std::time::Duration;

use leastaction::integrator::maximal::Composition;
use leastaction::integrator::{Method, MethodOptions, StepError};
use leastaction::mechanism::{
    BodyDescription, Coordinates, JointDescription, JointType, Mechanism, ModelDescription, Placement, State,
    StateDescription, WORLD, samples,
};

use super::check::short;
use super::measure::{build, distance, end_state, options, slope, stopped, time_per_step};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-loop-order",
    source: "ours; the four-bar of the peers' benchmark",
    statement: "Mechanisms with closed loops, redundant ones too, are integrated at any even order, and at equal error order 4 costs \
                less than half of the composition of order-2 steps.",
    parameters: "Maximal engine: @four-bar (four revolutes, redundant), @four-bars/3, a slider-crank with a prismatic joint; 0.8 s from the \
                 model's start. Errors: largest joint coordinate at the end, against order 12 with 400 steps. Orders: line through the \
                 logarithms of all errors between 1e-11 and 1e-3. Cost: best time per step times the number of steps.",
    run,
};

const DURATION: f64 = 0.8;

/// Crank, rod and slider; the slider's prismatic joint closes the loop.
fn slider_crank() -> ModelDescription {
    let mut model = ModelDescription::new("slider-crank");
    let rod = |name: &str, mass: f64, length: f64| {
        let (thin, long) = (mass * 1e-4, mass * length * length / 12.0);
        BodyDescription {
            name: name.into(),
            mass,
            inertia: [thin, long, long, 0.0, 0.0, 0.0],
            ..Default::default()
        }
    };
    model.bodies = vec![rod("crank", 0.5, 0.3), rod("rod", 0.8, 0.8), rod("slider", 0.6, 0.2)];
    let at = |x: f64| Placement { p: [x, 0.0, 0.0], q: [1.0, 0.0, 0.0, 0.0] };
    let mut hinge = |name: &str, parent: &str, child: &str, from: f64, to: f64| {
        let mut joint = JointDescription::new(name, JointType::Revolute, parent, child);
        joint.axis = Some([0.0, 1.0, 0.0]);
        (joint.parent_placement, joint.child_placement) = (at(from), at(to));
        model.joints.push(joint);
    };
    hinge("base", WORLD, "crank", 0.0, -0.15);
    hinge("pin", "crank", "rod", 0.15, -0.4);
    hinge("wrist", "rod", "slider", 0.4, 0.0);
    let mut rail = JointDescription::new("rail", JointType::Prismatic, WORLD, "slider");
    rail.axis = Some([1.0, 0.0, 0.0]);
    model.joints.push(rail);
    let mut start = StateDescription::default();
    start.q.insert("base".into(), Coordinates::One(0.6));
    start.v.insert("base".into(), Coordinates::One(8.0));
    model.states.insert(samples::START.into(), start);
    model
}

fn end(mechanism: &Mechanism, options: &MethodOptions, steps: u32) -> Result<State, StepError> {
    end_state(mechanism, Method::Maximal, options, DURATION / f64::from(steps), u64::from(steps))
}

fn run(context: &Context) -> Result<Outcome, Failure> {
    let mut out = Outcome::default();
    let mut orders = Table::new("Orders", ["mechanism", "order 2", "order 4", "order 6", "order 8"]);
    for model in [samples::four_bar(), samples::four_bars(3), slider_crank()] {
        let mechanism = build(model)?;
        let name = mechanism.name().to_owned();
        let fail = |error| stopped(&name, &error);
        let exact = end(&mechanism, &options(Some(12), None), 400).map_err(fail)?;
        let mut row = vec![name.clone().into()];
        for (order, slack) in [(2, 0.15), (4, 0.15), (6, 0.15), (8, 0.3)] {
            let mut points = Vec::new();
            let most = if order == 2 { 4096 } else { 512 };
            for steps in [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096] {
                let Ok(state) = end(&mechanism, &options(Some(order), None), steps) else { continue };
                let e = distance(&mechanism, &state, &exact);
                if (1e-11..=1e-3).contains(&e) {
                    points.push((f64::from(steps), e));
                }
                if e < 1e-11 || steps >= most {
                    break;
                }
            }
            let found = -slope(&points);
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
    Ok(out)
}

/// Work and precision on the four-bar.
fn work(context: &Context, out: &mut Outcome) -> Result<(), Failure> {
    let mechanism = build(samples::four_bar())?;
    let fail = |error| stopped("four-bar", &error);
    let exact = end(&mechanism, &options(Some(12), None), 400).map_err(fail)?;
    let mut suzuki = options(Some(4), None);
    suzuki.maximal.composition = Some(Composition::Suzuki);
    let cases = [
        ("order 2", options(Some(2), None), vec![160, 640, 2560]),
        ("order 4, composition", suzuki, vec![40, 80, 160, 320, 640]),
        ("order 4", options(Some(4), None), vec![40, 80, 160, 320, 640]),
        ("order 6", options(Some(6), None), vec![20, 40, 80, 160, 320]),
        ("order 8", options(Some(8), None), vec![20, 40, 80, 160]),
    ];
    let mut table = Table::new(
        "Work and precision: four-bar",
        ["steps by", "step / s", "error / rad", "us per simulated second"],
    );
    let mut figure = Figure::new(
        "Work and precision: four-bar",
        ("error / rad", Scale::Log),
        ("us per simulated second", Scale::Log),
    );
    let mut cost_at = Vec::new();
    for (label, options, counts) in cases {
        let mut points = Vec::new();
        for steps in counts {
            let h = DURATION / f64::from(steps);
            let e = distance(&mechanism, &end(&mechanism, &options, steps).map_err(fail)?, &exact);
            let budget = Duration::from_millis(context.pick(80, 8));
            let (us, _) = time_per_step(&mechanism, Method::Maximal, &options, h, u64::from(steps), budget)
                .map_err(|error| stopped(label, &error))?;
            table.row([label.into(), h.into(), e.into(), (us / h).into()]);
            points.push((e.max(1e-16), us / h));
        }
        // Cost at 1e-6 on the line between the neighbouring points, logarithms.
        let at = points.windows(2).find(|p| p[0].0 >= 1e-6 && p[1].0 <= 1e-6).map(|p| {
            let s = (1e-6f64.ln() - p[0].0.ln()) / (p[1].0.ln() - p[0].0.ln());
            (p[0].1.ln() + s * (p[1].1.ln() - p[0].1.ln())).exp()
        });
        cost_at.push((label, at));
        figure.curve(label, points);
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
    out.tables.push(table);
    out.figures.push(figure);
    Ok(())
}
