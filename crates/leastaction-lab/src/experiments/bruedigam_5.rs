//! Figures 5a and 5b: time of 1000 steps against the number of links, open and closed.

use std::f64::consts::PI;
use std::time::Duration;

use leastaction::integrator::Method;
use leastaction::mechanism::{
    BodyDescription, Coordinates, JointDescription, JointRole, JointType, ModelDescription, Placement,
    StateDescription, WORLD, samples,
};

use super::measure::{build, options, slope, stopped, time_per_step};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const OPEN: Experiment = Experiment {
    name: "bruedigam-5a",
    source: "Brüdigam and Manchester (2020), figure 5a",
    statement: "The time of 1000 steps of pendulums grows linearly with the number of links, and ball joints are faster \
                than revolute ones.",
    parameters: "@chain/n and @ball-chain/n (rods of 1 m, 1 kg, at rest with the first joint at 0.5 rad), 1000 steps of 10 ms \
                 (quick: 200), default tolerance; best of several runs. Explicit integrator beside it: RK4 with the \
                 articulated-body algorithm in joint coordinates (the paper: Munthe-Kaas in RigidBodyDynamics.jl).",
    run: |context| run(context, false),
};

pub(super) const CLOSED: Experiment = Experiment {
    name: "bruedigam-5b",
    source: "Brüdigam and Manchester (2020), figure 5b",
    statement: "With one loop closure the time of 1000 steps still grows linearly with the number of links.",
    parameters: "A chain of n rods (1 m, 1 kg) along half a regular polygon between two ground points, joined by hinges \
                 about x or by balls, both ends held by such a joint, released at rest (all redundant rows kept); 1000 steps \
                 of 10 ms (quick: 200), default tolerance; best of several runs. No explicit integrator of ours serves \
                 loops; its time for the open chain is drawn beside.",
    run: |context| run(context, true),
};

fn run(context: &Context, closed: bool) -> Result<Outcome, Failure> {
    const STEP: f64 = 0.01;
    let steps = context.pick(1000, 200);
    let budget = Duration::from_millis(context.pick(600, 60));
    let sizes: &[usize] = context.pick(&[2, 5, 10, 20, 50, 100], &[5, 10, 20, 40]);
    let mut out = Outcome::default();
    let title = if closed { "Closed chains" } else { "Pendulums" };
    let mut figure =
        Figure::new(format!("{title}: time of 1000 steps"), ("links", Scale::Log), ("time / ms", Scale::Log));
    let labels = ["maximal, revolute", "maximal, ball", "RK4, revolute", "RK4, ball"];
    let mut table = Table::new("Microseconds per step", ["links"].into_iter().chain(labels));
    let mut columns: [Vec<(f64, f64)>; 4] = Default::default();
    for &n in sizes {
        let mut row: Vec<Cell> = vec![n.into()];
        for (column, (method, ball)) in
            [(Method::Maximal, false), (Method::Maximal, true), (Method::Rk4, false), (Method::Rk4, true)]
                .into_iter()
                .enumerate()
        {
            let model = match (closed && method == Method::Maximal, ball) {
                (true, _) => closed_chain(n, ball),
                (false, false) => samples::chain(n),
                (false, true) => samples::ball_chain(n),
            };
            let mechanism = build(model)?;
            let order = (method == Method::Maximal).then_some(2);
            // A long chain at this step is beyond an explicit method now and then: no time then.
            match time_per_step(&mechanism, method, &options(order, None), STEP, steps, budget) {
                Ok((us, _)) => {
                    columns[column].push((n as f64, us));
                    row.push(us.into());
                }
                Err(error) if method == Method::Maximal => return Err(stopped(labels[column], &error)),
                Err(_) => row.push(Cell::Empty),
            }
        }
        table.row(row);
    }
    for (label, points) in labels.iter().zip(&columns) {
        figure.curve(*label, points.iter().map(|&(n, us)| (n, us)));
        out.number(*label, serde_json::json!(points));
    }
    for (label, points) in labels.iter().zip(&columns).take(2) {
        out.checks.push(Check::within(
            format!("{label}: slope of log time over log links"),
            "the paper: \"the linear-time behavior is clearly visible\"; timed, so with room",
            slope(points),
            (0.7, 1.3),
        ));
    }
    let last = |k: usize| columns[k].last().map_or(f64::NAN, |p| p.1);
    out.checks.push(Check::at_most(
        "maximal: ball over revolute at the longest chain",
        "the paper: \"our method is faster at simulating ball-and-socket joints\"; quick runs are short, so with room",
        last(1) / last(0),
        context.pick(1.0, 1.15),
    ));
    if !closed {
        out.checks.push(Check::at_most(
            "ball joints, longest chain: maximal over RK4",
            "the paper: \"outperforms the explicit integrator for ball-and-socket joints\"",
            last(1) / last(3),
            1.0,
        ));
    }
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}

/// `n` rods along half a regular polygon from one ground point to another, open side up.
fn closed_chain(n: usize, ball: bool) -> ModelDescription {
    let kind = if ball { JointType::Spherical } else { JointType::Revolute };
    let mut model = ModelDescription::new(format!("closed-chain-{n}"));
    let turn = PI / n as f64;
    let (mut at, mut q, mut previous) = ([0.0, 0.0], Vec::new(), (WORLD.to_owned(), 0.0));
    for i in 0..n {
        let name = format!("link{i}");
        // Angle about x from straight down: the chain goes down, across and up again.
        let angle = (i as f64 + 0.5) * turn;
        model.bodies.push(BodyDescription {
            name: name.clone(),
            mass: 1.0,
            com: [0.0, 0.0, -0.5],
            inertia: [1.0 / 12.0, 1.0 / 12.0, 1e-4, 0.0, 0.0, 0.0],
            ..Default::default()
        });
        model.joints.push(JointDescription {
            parent_placement: Placement::at(if i == 0 { [0.0; 3] } else { [0.0, 0.0, -1.0] }),
            axis: (!ball).then_some([1.0, 0.0, 0.0]),
            ..JointDescription::new(format!("joint{i}"), kind, &previous.0, &name)
        });
        let relative: f64 = angle - previous.1;
        let coordinates = if ball {
            let (s, c) = (0.5 * relative).sin_cos();
            Coordinates::Many(vec![c, s, 0.0, 0.0])
        } else {
            Coordinates::One(relative)
        };
        q.push((format!("joint{i}"), coordinates));
        at = [at[0] + angle.sin(), at[1] - angle.cos()];
        previous = (name, angle);
    }
    model.joints.push(JointDescription {
        parent_placement: Placement::at([0.0, at[0], at[1]]),
        child_placement: Placement::at([0.0, 0.0, -1.0]),
        axis: (!ball).then_some([1.0, 0.0, 0.0]),
        role: Some(JointRole::Loop),
        ..JointDescription::new("closure", kind, WORLD, &previous.0)
    });
    model
        .states
        .insert(samples::START.into(), StateDescription { q: q.into_iter().collect(), ..Default::default() });
    model
}
