//! The engine in joint coordinates has order 2s, with forces and on every kind of joint.
//!
//! One rule for every mechanism and degree: runs of 1.5 s in `2 round(2^{k/4})` steps, k = 0, 1, 2, …; the error is the
//! largest of any coordinate after 0.75 and 1.5 s; of the step sizes with errors between 1e-3 and 1e-11 the five finest
//! give the slope, since order is a statement about small steps (at s = 4 an error of 1e-4 takes steps of a quarter of
//! a swing). The slope over all of them is printed beside it.

use leastaction::integrator::baseline::Dop853;
use leastaction::integrator::minimal::{Minimal, MinimalOptions, Quadrature};
use leastaction::integrator::{Integrator, Simulator};
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

/// The mechanisms of the claim, with their start.
fn cases() -> Vec<(&'static str, Mechanism, State)> {
    let mut out = Vec::new();
    let pendulum = build(samples::chain(2));
    let mut start = pendulum.start_state();
    start.q = vec![1.0, -0.7];
    start.v = vec![0.3, 0.9];
    out.push(("double pendulum", pendulum, start));

    let forced = force_tree(2);
    let start = State { v: random_vector(forced.nv(), 3), ..forced.neutral_state() };
    out.push(("forced tree", forced, start));

    let free = single_body(JointType::Floating, [0.0; 3], [0.1, -0.2, 0.05]);
    let start = State { v: vec![1.5, 0.4, -1.0, 0.3, -0.2, 0.5], ..free.neutral_state() };
    out.push(("free body", free, start));

    let top = single_body(JointType::Spherical, [0.0, 0.0, -9.81], [0.0, 0.1, 0.5]);
    let start = State { v: vec![0.5, -0.3, 4.0], ..top.neutral_state() };
    out.push(("heavy top", top, start));

    let kinds = [JointType::Universal, JointType::Cylindrical, JointType::Planar];
    let axes = build(random_tree(5, 4, &kinds));
    let start = State { v: random_vector(axes.nv(), 8), ..axes.neutral_state() };
    out.push(("universal, cylindrical, planar", axes, start));
    out
}

const DURATION: f64 = 1.5;
/// States compared, so that an error that passes through zero at one time does not count as none.
const SAMPLES: usize = 2;
/// Step sizes that give the slope.
const FINEST: usize = 5;

/// Positions at the samples; nothing if a step does not converge.
fn path<I: Integrator + 'static>(
    mechanism: &Mechanism,
    integrator: I,
    start: &State,
    per_sample: usize,
) -> Option<Vec<Vec<f64>>> {
    let u = vec![0.4; mechanism.nu()];
    let mut simulator = Simulator::with(mechanism, integrator, start).expect("served");
    let h = DURATION / (SAMPLES * per_sample) as f64;
    (0..SAMPLES)
        .map(|_| {
            (0..per_sample).try_for_each(|_| simulator.step(&u, h).map(|_| ()).ok())?;
            Some(simulator.state().q.clone())
        })
        .collect()
}

fn distance(mechanism: &Mechanism, a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let mut difference = vec![0.0; mechanism.nv()];
    let mut worst = 0.0f64;
    for (a, b) in a.iter().zip(b) {
        mechanism.difference(a, b, &mut difference);
        worst = difference.iter().fold(worst, |m, x| m.max(x.abs()));
    }
    worst
}

#[test]
fn the_error_falls_with_the_order_2s() {
    for (name, mechanism, start) in cases() {
        let reference = |tolerance: f64| {
            let dop = Dop853::with_tolerance(Some(tolerance)).expect("tolerance");
            path(&mechanism, dop, &start, 1).expect("reference")
        };
        let goal = reference(1e-13);
        let own = distance(&mechanism, &goal, &reference(1e-15));
        assert!(own < 1e-12, "{name}: the reference is off by {own:e}");
        for (s, quadrature) in
            (1..=4usize).map(|s| (s, Quadrature::Nodes)).chain((1..=3).map(|s| (s, Quadrature::Gauss)))
        {
            let mut points: Vec<(f64, f64)> = Vec::new();
            let mut last = 0;
            for k in 0..36 {
                let per_sample = 2f64.powf(f64::from(k) / 4.0).round() as usize;
                if per_sample == last {
                    continue;
                }
                last = per_sample;
                let options = MinimalOptions { quadrature, ..MinimalOptions::tight(2 * s as u32) };
                let integrator = Minimal::new(options).expect("options");
                let Some(states) = path(&mechanism, integrator, &start, per_sample) else { continue };
                let error = distance(&mechanism, &states, &goal);
                if error < 1e-11 {
                    break;
                }
                if error < 1e-3 {
                    points.push((1.0 / per_sample as f64, error));
                }
            }
            let finest = &points[points.len().saturating_sub(FINEST)..];
            assert!(
                finest.len() >= 4,
                "{name}, s = {s}, {quadrature:?}: only {} step sizes in range",
                finest.len()
            );
            let (slope, all) = (least_squares(finest), least_squares(&points));
            let (count, number) = (points.len(), finest.len());
            println!(
                "order of {name}, s = {s}, {quadrature:?}: {slope:.2} over the {number} finest, {all:.2} over all {count}"
            );
            assert!(slope > 2.0 * s as f64 - 0.3, "{name}, s = {s}, {quadrature:?}: slope {slope}");
        }
    }
}

/// Slope of log error over log step.
fn least_squares(points: &[(f64, f64)]) -> f64 {
    let points: Vec<(f64, f64)> = points.iter().map(|p| (p.0.ln(), p.1.ln())).collect();
    let n = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xy, xx) =
        points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - mx) * (p.1 - my), b + (p.0 - mx).powi(2)));
    xy / xx
}
