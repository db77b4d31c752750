//! The engine in joint coordinates has order 2s, with forces and on every kind of joint.

use leastaction::integrator::baseline::Dop853;
use leastaction::integrator::minimal::{MinimalIntegrator, MinimalOptions};
use leastaction::integrator::{Input, Integrator, Simulator};
use leastaction::mechanism::samples::{self, random_tree};
use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, Mechanism, MechanismBuilder, ModelDescription, State,
};

use crate::support::{force_tree, random_vector};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

fn single_body(kind: JointType, gravity: [f64; 3], com: [f64; 3]) -> Mechanism {
    let mut model = ModelDescription::new("single");
    model.gravity = gravity;
    model.bodies.push(BodyDescription {
        name: "body".into(),
        mass: 1.3,
        com,
        inertia: [0.4, 0.7, 0.9, 0.02, -0.01, 0.03],
        ..Default::default()
    });
    model.joints.push(JointDescription::new("joint", kind, "world", "body"));
    build(model)
}

/// The mechanisms of the claim, with their start and the duration of a run.
fn cases() -> Vec<(&'static str, Mechanism, State, f64)> {
    let mut out = Vec::new();
    let pendulum = build(samples::chain(2));
    let mut start = pendulum.start_state();
    start.q = vec![1.0, -0.7];
    start.v = vec![0.3, 0.9];
    out.push(("double pendulum", pendulum, start, 0.8));

    let forced = force_tree(2);
    let start = State { v: random_vector(forced.nv(), 3), ..forced.neutral_state() };
    out.push(("forced tree", forced, start, 0.4));

    let free = single_body(JointType::Floating, [0.0; 3], [0.1, -0.2, 0.05]);
    let start = State { v: vec![1.5, 0.4, -1.0, 0.3, -0.2, 0.5], ..free.neutral_state() };
    out.push(("free body", free, start, 1.0));

    let top = single_body(JointType::Spherical, [0.0, 0.0, -9.81], [0.0, 0.1, 0.5]);
    let start = State { v: vec![0.5, -0.3, 4.0], ..top.neutral_state() };
    out.push(("heavy top", top, start, 0.6));

    let kinds = [JointType::Universal, JointType::Cylindrical, JointType::Planar];
    let axes = build(random_tree(5, 4, &kinds));
    let start = State { v: random_vector(axes.nv(), 8), ..axes.neutral_state() };
    out.push(("universal, cylindrical, planar", axes, start, 0.9));
    out
}

#[test]
fn the_error_falls_with_the_order_2s() {
    for (name, mechanism, start, duration) in cases() {
        let u = vec![0.4; mechanism.nu()];
        let dop = Dop853::with_tolerance(Some(1e-13)).expect("tolerance");
        let mut reference = Simulator::with(&mechanism, dop, &start).expect("served");
        reference.step(&u, duration).expect("reference");
        let goal = reference.state().clone();
        for s in 1..=4usize {
            let options = MinimalOptions::tight(2 * s as u32);
            let integrator = MinimalIntegrator::new(options).expect("options");
            let mut workspace = integrator.workspace(&mechanism).expect("served");
            let mut points = Vec::new();
            // The coarsest steps are not yet in the range where the order shows: six before rounding count.
            let (mut count, mut last) = (2.0f64, 0);
            while count < 4000.0 {
                let steps = count.round() as usize;
                count *= if s <= 2 { 1.6 } else { 1.2 };
                if steps == last {
                    continue;
                }
                last = steps;
                let h = duration / steps as f64;
                let mut state = integrator.start(&mechanism, &mut workspace, &start).expect("start");
                let ok = (0..steps).all(|_| {
                    integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &u }, h).is_ok()
                });
                if !ok {
                    continue;
                }
                let mut difference = vec![0.0; mechanism.nv()];
                mechanism.difference(&goal.q, &state.q, &mut difference);
                let error = difference.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                if error < 1e-11 {
                    break;
                }
                if error < 1e-3 {
                    points.push((h.ln(), error.ln()));
                }
            }
            assert!(points.len() >= 4, "{name}, s = {s}: only {} step sizes in range", points.len());
            // Of many, the two finest feel the rounding of a thousand evaluations.
            let end = if points.len() >= 8 { points.len() - 2 } else { points.len() };
            let points = &points[end.saturating_sub(6)..end];
            let slope = least_squares(points);
            println!("order of {name}, s = {s}: {slope:.2} over {} step sizes", points.len());
            assert!(slope > 2.0 * s as f64 - 0.3, "{name}, s = {s}: slope {slope}");
        }
    }
}

fn least_squares(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xy, xx) =
        points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - mx) * (p.1 - my), b + (p.0 - mx).powi(2)));
    xy / xx
}
