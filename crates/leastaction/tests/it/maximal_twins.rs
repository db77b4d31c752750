//! The engine in maximal coordinates against its slow twins.

use leastaction::integrator::maximal::{
    Maximal, MaximalState, MaximalWorkspace, NewtonDirection, RotationMap,
};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::samples::{chain, four_bar, four_bars, random_tree, rhombus_chain};
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder, ModelDescription, PerCoordinate};
use leastaction_maximal::reference::{MaximalTwin, maximal_newton_direction, maximal_step};

use crate::support::{force_tree, mixed_tree, random_state, random_vector};

const TWINS: [MaximalTwin; 2] = [MaximalTwin::Dense, MaximalTwin::Paper];

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

fn begin(engine: &Maximal, mechanism: &Mechanism, seed: Option<u64>) -> (MaximalWorkspace, MaximalState) {
    let mut start = mechanism.start_state();
    if let Some(seed) = seed {
        (start.q, start.v) = random_state(mechanism, seed);
    }
    let mut ws = engine.workspace(mechanism).expect("served");
    let state = engine.start(mechanism, &mut ws, &start).expect("consistent");
    (ws, state)
}

/// Interval velocities of the links at a state.
fn velocities(ws: &mut MaximalWorkspace, state: &MaximalState) -> Vec<[f64; 6]> {
    let six = |l: &leastaction::integrator::maximal::LinkSnapshot| {
        let (o, v) = (l.omega, l.v);
        [o[0], o[1], o[2], v[0], v[1], v[2]]
    };
    ws.snapshot(state).iter().map(six).collect()
}

fn difference(a: &[[f64; 6]], b: &[[f64; 6]]) -> f64 {
    let scale = b.iter().flatten().fold(1e-3f64, |m, x| m.max(x.abs()));
    a.iter().flatten().zip(b.iter().flatten()).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / scale
}

fn compare(name: &str, fast: &NewtonDirection, slow: &NewtonDirection, tolerance: f64) {
    let (change, impulse) =
        (difference(&fast.change, &slow.change), difference(&fast.impulse, &slow.impulse));
    println!("twin {name}: change {change:.1e}, impulses {impulse:.1e}");
    assert!(change < tolerance && impulse < tolerance, "{name}: {change:e} {impulse:e}");
}

/// Off the solution and off the constraints: the null-space elimination is exact there too. Laws of the coordinates are
/// linearised along the constraints, which is wrong by the square of the gaps, here (h v)² ~ 1e-4: mechanisms that have them are
/// compared near the constraints only, to 1e-8.
#[test]
fn newton_directions_of_trees_are_the_dense_ones_anywhere() {
    for map in [RotationMap::Sine, RotationMap::Cayley] {
        let engine = Maximal { map, ..Maximal::default() };
        for seed in 0..4 {
            for (mechanism, size, tolerance) in
                [(mixed_tree(seed, 7), 0.2, 1e-10), (force_tree(seed), 0.0, 1e-8)]
            {
                let (mut ws, state) = begin(&engine, &mechanism, Some(seed));
                let mut w = velocities(&mut ws, &state);
                let noise = random_vector(6 * w.len(), seed);
                w.iter_mut().flatten().zip(&noise).for_each(|(w, x)| *w += size * x);
                let u = vec![0.3; mechanism.nu()];
                let fast = engine.newton_direction(&mut ws, &state, &u, 0.02, &w).expect("regular");
                for twin in TWINS {
                    let slow = maximal_newton_direction(twin, &engine, &mut ws, &state, &u, 0.02, &w);
                    let name = format!("{} {seed} {map:?} {twin:?}", mechanism.name());
                    compare(&name, &fast, &slow, tolerance);
                }
            }
        }
    }
}

#[test]
fn newton_directions_of_redundant_loops_are_those_of_the_twins() {
    let mut damped = four_bar();
    for joint in &mut damped.joints {
        joint.damping = PerCoordinate::One(0.2);
        joint.armature = PerCoordinate::One(0.03);
    }
    let engine = Maximal::default();
    for mechanism in [build(four_bar()), build(damped), build(four_bars(4)), build(rhombus_chain(3))] {
        let (mut ws, mut state) = begin(&engine, &mechanism, None);
        for _ in 0..20 {
            engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.01).expect("step");
        }
        let w = velocities(&mut ws, &state);
        let fast = engine.newton_direction(&mut ws, &state, &[], 0.01, &w).expect("regular");
        for twin in TWINS {
            let slow = maximal_newton_direction(twin, &engine, &mut ws, &state, &[], 0.01, &w);
            compare(&format!("{} {twin:?}", mechanism.name()), &fast, &slow, 1e-9);
        }
    }
}

#[test]
fn steps_are_those_of_the_twins() {
    let engine = Maximal::default();
    let balls = random_tree(3, 5, &[JointType::Spherical, JointType::Revolute]);
    for (mechanism, seed) in [
        (build(chain(6)), Some(1)),
        (build(balls), Some(2)),
        (force_tree(2), Some(3)),
        (build(four_bar()), None),
        (build(four_bars(3)), None),
    ] {
        let u = vec![0.2; mechanism.nu()];
        let (mut ws, mut state) = begin(&engine, &mechanism, seed);
        for step in 0..5 {
            let w = velocities(&mut ws, &state);
            let slow = TWINS.map(|twin| {
                maximal_step(twin, &engine, &mut ws, &state, &u, 0.005, &w).expect("the twin converges")
            });
            engine.step(&mechanism, &mut ws, &mut state, Input { u: &u }, 0.005).expect("step");
            let fast: Vec<[f64; 6]> = ws
                .snapshot(&state)
                .iter()
                .map(|l| {
                    let (o, v) = (l.omega_interval, l.v_interval);
                    [o[0], o[1], o[2], v[0], v[1], v[2]]
                })
                .collect();
            for (twin, slow) in TWINS.iter().zip(&slow) {
                let error = difference(&fast, slow);
                assert!(error < 1e-10, "{} step {step} {twin:?}: {error:e}", mechanism.name());
            }
        }
    }
}
