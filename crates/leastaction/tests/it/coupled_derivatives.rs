//! Derivatives of steps with joints that follow others along curves, and with springs and dampers on sums of joints.

use crate::rows::derivative_error_by;
use leastaction::integrator::minimal::{Coordinates, Linearization, Minimal, MinimalOptions};
use leastaction::integrator::{Input, Integrator, StepError};
use leastaction::mechanism::{
    CouplingDescription, LimitsDescription, Mechanism, MechanismBuilder, ModelDescription, PerCoordinate,
    State, TendonDescription, TermDescription, samples,
};

const STEP: f64 = 0.02;
/// Of differences: velocities are rounded to 5e-13 here, which they divide by this.
const SIZE: f64 = 1e-3;

/// A chain of five: the third follows the second along a curve, the fourth the third along another.
fn curves() -> ModelDescription {
    let mut model = samples::chain(5);
    let name = |k: usize| model.joints[k].name.clone();
    let curve = |joint: usize, of: usize, polynomial: &[f64]| CouplingDescription {
        name: format!("curve{joint}"),
        joint: name(joint),
        of: Some(name(of)),
        polynomial: polynomial.to_vec(),
        ..CouplingDescription::default()
    };
    model.couplings = vec![curve(2, 1, &[0.05, 0.8, 0.3, -0.2]), curve(3, 2, &[0.0, -0.5, 0.4, 0.1, 0.2])];
    model
}

/// A band with a spring and a damper over three joints.
fn with_band(mut model: ModelDescription, stiffness: f64, damping: f64) -> ModelDescription {
    let name = |k: usize| model.joints[k].name.clone();
    let terms = [(0, 1.0), (2, -0.7), (4, 1.5)];
    let terms = terms.iter().map(|(k, a)| TermDescription { joint: name(*k), coefficient: *a }).collect();
    let (name, rest) = ("band".into(), 0.1);
    model.tendons.push(TendonDescription {
        name,
        terms,
        stiffness,
        damping,
        rest,
        ..TendonDescription::default()
    });
    model
}

fn started(model: ModelDescription, seed: u64) -> (Mechanism, State) {
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let mut start = mechanism.neutral_state();
    let mut numbers = samples::Random::new(seed);
    start.q.iter_mut().for_each(|q| *q = numbers.range(-0.7, 0.7));
    start.v.iter_mut().for_each(|v| *v = numbers.range(-3.0, 3.0));
    mechanism.follow_at(0.0, &mut start.q, &mut start.v);
    (mechanism, start)
}

#[test]
fn steps_with_couplings_along_curves_are_differentiated() {
    for seed in [2, 3] {
        let (mechanism, start) = started(curves(), seed);
        for order in [2, 4, 6] {
            let error = derivative_error_by(&mechanism, order, &start, STEP, SIZE);
            assert!(error < 1e-9, "seed {seed}, order {order}: {error:e}");
        }
    }
}

#[test]
fn steps_with_springs_and_dampers_on_sums_are_differentiated() {
    // Above 18 unknowns other factorisations serve.
    for links in [5, 7] {
        let (mechanism, start) = started(with_band(samples::chain(links), 30.0, 0.8), 5);
        for order in [2, 4, 6] {
            let error = derivative_error_by(&mechanism, order, &start, STEP, SIZE);
            assert!(error < 1e-9, "{links} links, order {order}: {error:e}");
        }
    }
}

#[test]
fn curves_and_sums_go_together_with_all_else_a_joint_has() {
    let mut model = with_band(curves(), 12.0, 0.4);
    for joint in &mut model.joints {
        joint.damping = PerCoordinate::One(0.3);
        joint.armature = PerCoordinate::One(0.05);
    }
    let (mechanism, start) = started(model, 8);
    for order in [2, 4, 6] {
        let error = derivative_error_by(&mechanism, order, &start, STEP, SIZE);
        assert!(error < 1e-9, "order {order}: {error:e}");
    }
}

fn slope(
    mechanism: &Mechanism,
    order: u32,
    start: &State,
    by: Coordinates,
) -> Result<Linearization, StepError> {
    let engine = Minimal::new(MinimalOptions { order, ..Default::default() }).expect("order");
    let mut workspace = engine.workspace(mechanism).expect("served");
    let mut state = engine.start(mechanism, &mut workspace, start).expect("start");
    let u = vec![0.0; mechanism.nu()];
    engine.linearize(mechanism, &mut workspace, &mut state, Input { u: &u }, STEP, by)
}

#[test]
fn by_momenta_steps_with_curves_are_symplectic() {
    let (mechanism, start) = started(with_band(curves(), 12.0, 0.0), 9);
    let free = [0, 1, 4];
    let n = mechanism.nv();
    let places: Vec<usize> = free.iter().copied().chain(free.iter().map(|c| n + c)).collect();
    for order in [2, 4, 6] {
        let slope = slope(&mechanism, order, &start, Coordinates::Momentum).expect("derivative");
        let a = |r: usize, c: usize| slope.a(places[r], places[c]);
        for i in 0..6 {
            for j in 0..6 {
                let product: f64 = (0..3).map(|k| a(k, i) * a(k + 3, j) - a(k + 3, i) * a(k, j)).sum();
                let wanted = f64::from(u8::from(j == i + 3)) - f64::from(u8::from(i == j + 3));
                assert!((product - wanted).abs() < 1e-10, "order {order}, {i} {j}: {product} {wanted}");
            }
        }
    }
}

#[test]
fn what_has_no_derivative_beside_them_is_refused_by_name() {
    // A curve in a step in which a joint stops.
    let mut model = curves();
    model.joints[4].friction = PerCoordinate::One(5.0);
    let (mechanism, mut start) = started(model, 3);
    start.v.fill(0.0);
    start.v[4] = 1e-3;
    let error = slope(&mechanism, 4, &start, Coordinates::Velocity).expect_err("a stop").to_string();
    assert!(error.contains("along a curve"), "{error}");
    // A sum that is held at its limit.
    let mut model = with_band(samples::chain(5), 0.0, 0.0);
    model.tendons[0].upper = Some(0.0);
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let mut start = mechanism.neutral_state();
    start.v[0] = 1.0;
    let error = slope(&mechanism, 4, &start, Coordinates::Velocity).expect_err("held").to_string();
    assert!(error.contains("`band`"), "{error}");
}

#[test]
fn a_ball_held_at_its_limit_is_not_differentiated_as_if_it_were_free() {
    let mut model = samples::ball_chain(1);
    let upper = Some(PerCoordinate::One(0.4));
    model.joints[0].limits = Some(LimitsDescription { upper, ..LimitsDescription::default() });
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let mut start = mechanism.neutral_state();
    start.v.copy_from_slice(&[1.0, -2.0, 0.7]);
    let engine = Minimal::new(MinimalOptions { order: 4, ..Default::default() }).expect("order");
    let mut workspace = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut workspace, &start).expect("start");
    let refusal = (0..200).find_map(|_| {
        let (input, by) = (Input { u: &[] }, Coordinates::Velocity);
        engine.linearize(&mechanism, &mut workspace, &mut state, input, 0.005, by).err()
    });
    let refusal = refusal.expect("it reaches its limit").to_string();
    assert!(refusal.contains("held at its limit"), "{refusal}");
}
