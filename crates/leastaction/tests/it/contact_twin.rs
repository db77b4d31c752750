//! Steps with contact against their dense twin, which tries every combination of open, stuck and sliding contacts.

use leastaction::integrator::maximal::{LinkSnapshot, Maximal};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::{Mechanism, State};
use leastaction_maximal::reference::{TwinLink, contact_step};

use crate::contact_derivative::{UPRIGHT, arm, ball, pose, two_balls};

/// Largest difference of poses and node velocities.
fn apart(link: &LinkSnapshot, twin: &TwinLink) -> f64 {
    let (a, b) = (link.q.to_array(), twin.q.to_array());
    let same: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
    let turned = a.iter().zip(&b).map(|(x, y)| (x - y.copysign(y * same)).abs());
    let vectors = [(link.x, twin.x), (link.omega, twin.omega), (link.v, twin.v)];
    let moved = vectors.into_iter().flat_map(|(a, b)| (0..3).map(move |k| (a[k] - b[k]).abs()));
    turned.chain(moved).fold(0.0, |m: f64, x| if x > m || x.is_nan() { x } else { m })
}

/// Every step of a motion by both, from the engine's own states; returns the largest difference.
fn compare(mechanism: &Mechanism, q: &[f64], v: &[f64], h: f64, steps: usize) -> f64 {
    let engine = Maximal::default();
    let mut start: State = mechanism.neutral_state();
    start.q.copy_from_slice(q);
    start.v.copy_from_slice(v);
    let mut ws = engine.workspace(mechanism).expect("served");
    let mut state = engine.start(mechanism, &mut ws, &start).expect("a start");
    let u = vec![0.0; mechanism.nu()];
    let mut worst = 0.0f64;
    for k in 0..steps {
        let twin = contact_step(&engine, &mut ws, &state, &u, h)
            .unwrap_or_else(|| panic!("{} step {k}: no combination is a solution", mechanism.name()));
        engine.step(mechanism, &mut ws, &mut state, Input { u: &u }, h).expect("a step");
        for (link, twin) in ws.snapshot(&state).iter().zip(&twin) {
            let error = apart(link, twin);
            assert!(error <= 1e-10, "{} step {k}: {error:.1e}", mechanism.name());
            worst = worst.max(error);
        }
    }
    worst
}

#[test]
fn a_ball_lands_slides_bounces_and_rolls_as_its_twin() {
    let (start, v) = (pose(UPRIGHT, [0.0, 0.0, 0.12]), [0.3, 2.0, 0.1, 1.0, 0.4, -0.2]);
    for (angle, friction, restitution) in
        [(0.0, 0.15, 0.0), (0.2, 0.5, 0.0), (0.1, 0.0, 0.0), (0.0, 0.2, 0.8)]
    {
        compare(&ball(angle, friction, restitution), &start, &v, 0.005, 80);
    }
}

#[test]
fn a_ball_that_falls_off_another_moves_as_its_twin() {
    let q = [pose(UPRIGHT, [0.0, 0.0, 0.101]), pose(UPRIGHT, [0.05, 0.01, 0.3])].concat();
    let v = [[0.0; 6], [0.1, -0.2, 0.3, 0.1, 0.05, -0.2]].concat();
    compare(&two_balls(), &q, &v, 0.005, 40);
}

#[test]
fn a_hand_that_slides_on_the_ground_moves_as_its_twin() {
    compare(&arm(None, 0.0, 0.0, 0.0), &[0.4, 0.2], &[-1.0, 0.0], 0.005, 120);
}
