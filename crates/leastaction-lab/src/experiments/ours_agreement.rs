//! The engines against each other: in the limit of small steps they find the same motion.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, Simulator};
use leastaction::jet::JetWorkspace;
use leastaction::mechanism::{JointType, Mechanism, samples};
use leastaction_core::scalar::{largest, maximum};

use super::measure::{build, distance, end_state, options, slope, stopped};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-agreement",
    source: "ours",
    statement: "Two variational engines in different coordinates and an adaptive Runge–Kutta method agree in the limit, \
                each with its own order; the engine of motion derivatives finds no torque and no torque rate in that motion.",
    parameters: "Trees: @chain/3, @ball-chain/3 and a random tree of 8 bodies with revolute, prismatic, spherical, universal, \
                 cylindrical and planar joints (seed 7); position after 0.5 s against DOP853 at tolerance 1e-13; steps 0.5 s \
                 over 20, 40, 80, 160 (quick: to 80). Torques and torque rates: at 50 states of the reference, from positions, velocities, \
                 accelerations and jerks, the latter by differences of fourth order over 1 ms; relative to the largest torque \
                 that gravity needs at rest (per second for rates).",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    const DURATION: f64 = 0.5;
    let counts: &[u64] = context.pick(&[20, 40, 80, 160], &[20, 40, 80]);
    let kinds = [
        JointType::Revolute,
        JointType::Prismatic,
        JointType::Spherical,
        JointType::Universal,
        JointType::Cylindrical,
        JointType::Planar,
    ];
    let engines = [
        ("maximal", Method::Maximal, 2),
        ("maximal", Method::Maximal, 4),
        ("minimal", Method::Minimal, 2),
        ("minimal", Method::Minimal, 4),
    ];
    let mut out = Outcome::default();
    for model in [samples::chain(3), samples::ball_chain(3), samples::random_tree(7, 8, &kinds)] {
        let mechanism = build(model)?;
        let name = mechanism.name().to_owned();
        let exact = end_state(&mechanism, Method::Dop853, &options(None, Some(1e-13)), DURATION / 10.0, 10)
            .map_err(|error| stopped("the reference", &error))?;
        let mut figure = Figure::new(
            format!("Distance to the reference: {name}"),
            ("step / s", Scale::Log),
            ("largest difference / rad, m", Scale::Log),
        );
        let mut table = Table::new(
            format!("Distance to the reference: {name}"),
            ["step / s".to_owned()].into_iter().chain(engines.map(|(n, _, o)| format!("{n} {o}"))),
        );
        let mut columns = Vec::new();
        for (engine, method, order) in engines {
            let label = format!("{engine}, order {order}");
            let mut points = Vec::new();
            for &n in counts {
                let h = DURATION / n as f64;
                let end = end_state(&mechanism, method, &options(Some(order), Some(1e-14)), h, n)
                    .map_err(|error| stopped(&format!("{label} on {name}"), &error))?;
                points.push((h, distance(&mechanism, &end, &exact)));
            }
            let fair: Vec<(f64, f64)> = points.iter().copied().filter(|p| p.1 > 1e-11).collect();
            out.checks.push(Check::within(
                format!("{name}, {label}: slope"),
                "the order of the method, against an independent integrator",
                slope(&fair),
                (f64::from(order) - 0.3, f64::from(order) + 0.6),
            ));
            figure.curve(&label, points.iter().copied());
            out.number(format!("{name}, {label}"), serde_json::json!(points));
            columns.push(points);
        }
        for k in 0..counts.len() {
            table.row(
                std::iter::once(Cell::from(columns[0][k].0))
                    .chain(columns.iter().map(|c| Cell::from(c[k].1))),
            );
        }
        let (torque, rate) = torques_of_free_motion(&mechanism)?;
        let origin = "ours: the motion is free, and its jets know nothing of the integrators";
        out.checks.push(Check::at_most(
            format!("{name}, comprehensive: largest torque"),
            origin,
            torque,
            1e-11,
        ));
        out.checks.push(Check::at_most(
            format!("{name}, comprehensive: largest torque rate"),
            origin,
            rate,
            1e-7,
        ));
        out.figures.push(figure);
        out.tables.push(table);
    }
    Ok(out)
}

/// Largest torque and torque rate that the jets see along a motion without inputs, over the largest gravity torque.
fn torques_of_free_motion(mechanism: &Mechanism) -> Result<(f64, f64), Failure> {
    const H: f64 = 1e-3;
    const EVERY: usize = 10;
    let failed = |error| stopped("the reference", &error);
    let options = options(None, Some(1e-13));
    let mut simulator =
        Simulator::new(mechanism, Method::Dop853, &options, &mechanism.start_state()).map_err(failed)?;
    let mut dynamics = Dynamics::<f64>::new(mechanism);
    let (nothing, mut gravity) = (vec![0.0; mechanism.nv()], vec![0.0; mechanism.nv()]);
    let mut path = Vec::new();
    let mut scale = 0.0_f64;
    for _ in 0..50 * EVERY + 4 {
        let state = simulator.state().clone();
        let mut a = nothing.clone();
        dynamics.forward_dynamics_into(mechanism, &state.q, &state.v, &nothing, &mut a);
        dynamics.inverse_dynamics_into(mechanism, &state.q, &nothing, &nothing, &mut gravity);
        scale = maximum(scale, largest(&gravity));
        path.push((state, a));
        simulator.step(&[], H).map_err(failed)?;
    }
    let mut jets = JetWorkspace::<f64>::new(mechanism, 1);
    let mut worst = [0.0_f64; 2];
    for middle in (2..path.len() - 2).step_by(EVERY) {
        let (state, a) = &path[middle];
        let at = |offset: usize, c: usize| path[middle + offset - 2].1[c];
        let jerk: Vec<f64> = (0..mechanism.nv())
            .map(|c| (at(0, c) - 8.0 * at(1, c) + 8.0 * at(3, c) - at(4, c)) / (12.0 * H))
            .collect();
        jets.forward_from_derivatives(&state.q, &[&state.v, a, &jerk])
            .map_err(|error| Failure::caused_by("the jets can't be evaluated", &error))?;
        for (l, worst) in worst.iter_mut().enumerate() {
            *worst = maximum(*worst, largest(jets.torque(l)));
        }
    }
    Ok((worst[0] / scale, worst[1] / scale))
}
