//! What the discrete mechanics promises: a symplectic map, momentum to rounding, motion that can be run backwards.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::minimal::{Coordinates, Minimal, MinimalOptions, Quadrature};
use leastaction::integrator::{Input, Integrator, Simulator};
use leastaction::mechanism::samples::random_tree;
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder, PerCoordinate, State, samples};

use crate::support::{random_state, random_vector};

/// A conservative tree with armature where it is defined.
fn conservative(seed: u64, kinds: &[JointType]) -> Mechanism {
    let mut model = random_tree(seed, 5, kinds);
    for joint in &mut model.joints {
        if !matches!(joint.kind, JointType::Spherical | JointType::Floating) {
            joint.armature = PerCoordinate::One(0.1);
        }
    }
    MechanismBuilder::from(model).build().expect("valid")
}

/// The symplectic form in engine coordinates at momentum `p`: `[−p̂ on balls, 1; −1, 0]`.
fn form(mechanism: &Mechanism, p: &[f64]) -> Vec<Vec<f64>> {
    let n = p.len();
    let mut j = vec![vec![0.0; 2 * n]; 2 * n];
    for i in 0..n {
        j[i][n + i] = 1.0;
        j[n + i][i] = -1.0;
    }
    for node in &mechanism.tree().nodes {
        let first = match node.kind {
            JointType::Spherical => node.v,
            JointType::Floating => node.v + 3,
            _ => continue,
        };
        let [x, y, z] = [p[first], p[first + 1], p[first + 2]];
        let hat = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
        for a in 0..3 {
            for b in 0..3 {
                j[first + a][first + b] = -hat[a][b];
            }
        }
    }
    j
}

#[test]
fn the_step_is_symplectic_on_every_joint_kind() {
    let sets: [&[JointType]; 5] = [
        &[JointType::Revolute, JointType::Prismatic],
        &[JointType::Universal, JointType::Cylindrical],
        &[JointType::Planar, JointType::Revolute],
        &[JointType::Spherical, JointType::Revolute],
        &[JointType::Floating, JointType::Spherical, JointType::Universal],
    ];
    let mut overall = 0.0f64;
    for (k, kinds) in sets.iter().enumerate() {
        for (s, quadrature) in (1..=3).flat_map(|s| [(s, Quadrature::Nodes), (s, Quadrature::Gauss)]) {
            let mechanism = conservative(k as u64 + 20, kinds);
            let options = MinimalOptions { quadrature, ..MinimalOptions::tight(2 * s) };
            let integrator = Minimal::new(options).expect("options");
            let mut workspace = integrator.workspace(&mechanism).expect("served");
            let (q, v) = random_state(&mechanism, k as u64);
            let start = State { q, v, ..State::default() };
            let mut state = integrator.start(&mechanism, &mut workspace, &start).expect("start");
            let before = form(&mechanism, &state.p);
            let slope = integrator
                .linearize(
                    &mechanism,
                    &mut workspace,
                    &mut state,
                    Input { u: &[] },
                    0.02,
                    Coordinates::Engine,
                )
                .expect("regular");
            let after = form(&mechanism, &state.p);
            let n = 2 * mechanism.nv();
            let mut worst = 0.0f64;
            for i in 0..n {
                for j in 0..n {
                    let mut sum = 0.0;
                    for a in 0..n {
                        let inner: f64 = (0..n).map(|b| after[a][b] * slope.a(b, j)).sum();
                        sum += slope.a(a, i) * inner;
                    }
                    worst = worst.max((sum - before[i][j]).abs());
                }
            }
            assert!(worst < 1e-11, "{kinds:?}, s = {s}, {quadrature:?}: {worst:e}");
            overall = overall.max(worst);
        }
    }
    println!("symplectic defect: {overall:.1e}");
}

#[test]
fn momentum_of_a_free_system_stays_over_300_steps() {
    let kinds = [JointType::Spherical, JointType::Revolute, JointType::Universal, JointType::Planar];
    let mut overall = 0.0f64;
    for s in 1..=3u32 {
        let mut model = random_tree(11, 6, &kinds);
        model.gravity = [0.0; 3];
        model.joints[0].kind = JointType::Floating;
        model.joints[0].axis = None;
        model.joints[0].axis2 = None;
        let mechanism = MechanismBuilder::from(model).build().expect("valid");
        let mut start = mechanism.neutral_state();
        start.v = random_vector(mechanism.nv(), 5);
        let options = MinimalOptions { order: 2 * s, ..Default::default() };
        let integrator = Minimal::new(options).expect("options");
        let mut simulator = Simulator::with(&mechanism, integrator, &start).expect("served");
        let mut dynamics = Dynamics::new(&mechanism);
        let zero = dynamics.observe(&mechanism, &start.q, &start.v).momentum.to_array();
        let scale = |r: std::ops::Range<usize>| zero[r].iter().map(|x| x * x).sum::<f64>().sqrt();
        let (angular, linear) = (scale(0..3), scale(3..6));
        let mut worst = 0.0f64;
        for _ in 0..300 {
            simulator.step(&[], 0.01).expect("step");
            let state = simulator.state();
            let now = dynamics.observe(&mechanism, &state.q, &state.v).momentum.to_array();
            for i in 0..6 {
                let scale = if i < 3 { angular } else { linear };
                worst = worst.max((now[i] - zero[i]).abs() / scale.max(1.0));
            }
        }
        assert!(worst < 1e-11, "s = {s}: {worst:e}");
        overall = overall.max(worst);
    }
    println!("momentum drift over 300 steps: {overall:.1e}");
}

#[test]
fn a_motion_without_balls_comes_back_when_time_is_reversed() {
    let kinds = [JointType::Revolute, JointType::Prismatic, JointType::Universal, JointType::Planar];
    let mut overall = 0.0f64;
    for s in 1..=4u32 {
        let mechanism = conservative(31, &kinds);
        let integrator = Minimal::new(MinimalOptions::tight(2 * s)).expect("options");
        let mut workspace = integrator.workspace(&mechanism).expect("served");
        let (q, v) = random_state(&mechanism, 2);
        let start = State { q, v, ..State::default() };
        let first = integrator.start(&mechanism, &mut workspace, &start).expect("start");
        let mut state = first.clone();
        for h in [0.01, -0.01] {
            for _ in 0..40 {
                integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, h).expect("step");
            }
        }
        let worst = state.q.iter().zip(&first.q).chain(state.p.iter().zip(&first.p));
        let worst = worst.fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(worst < 1e-11, "s = {s}: {worst:e}");
        overall = overall.max(worst);
    }
    println!("there and back: {overall:.1e}");
}

#[test]
fn long_chains_converge_at_the_default_tolerance() {
    for (links, order) in [(10, 2), (10, 4), (10, 6), (100, 2), (100, 4), (400, 2), (400, 4)] {
        converges(links, order);
    }
}

/// A thousand steps from the built-in start, each to a scaled residual of 1e-12.
fn converges(links: usize, order: u32) {
    let mechanism = MechanismBuilder::from(samples::chain(links)).build().expect("valid");
    let options = MinimalOptions { order, tolerance: 1e-12, ..Default::default() };
    let integrator = Minimal::new(options).expect("options");
    let mut workspace = integrator.workspace(&mechanism).expect("served");
    let mut state = integrator.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("start");
    let (mut worst, mut iterations) = (0.0f64, 0);
    for k in 0..1000 {
        let report = integrator
            .step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, 0.005)
            .unwrap_or_else(|e| panic!("{links} links, order {order}, step {k}: {e}"));
        worst = worst.max(report.residual);
        iterations += report.iterations;
    }
    let mean = f64::from(iterations) / 1000.0;
    println!("{links} links, order {order}: residual {worst:.1e}, {mean:.2} iterations per step");
    assert!(worst <= 1e-12);
}

/// The solver's own error must not gather: at the default tolerance, where the method's error is small.
#[test]
fn energy_error_does_not_grow_over_5000_steps_at_high_orders() {
    let mechanism = MechanismBuilder::from(samples::chain(4)).build().expect("valid");
    let start = mechanism.start_state();
    let mut dynamics = Dynamics::new(&mechanism);
    let zero = dynamics.observe(&mechanism, &start.q, &start.v).total();
    for order in [6, 8] {
        let options = MinimalOptions { order, ..Default::default() };
        let integrator = Minimal::new(options).expect("options");
        let mut simulator = Simulator::with(&mechanism, integrator, &start).expect("served");
        let mut tenths = [0.0f64; 10];
        for k in 0..5000 {
            simulator.step(&[], 0.02).expect("step");
            let state = simulator.state();
            let error = (dynamics.observe(&mechanism, &state.q, &state.v).total() - zero).abs();
            tenths[k / 500] = tenths[k / 500].max(error);
        }
        println!("order {order}: first tenth {:.1e}, last {:.1e}", tenths[0], tenths[9]);
        // Order 8 is at the level of rounding, which wanders.
        assert!(tenths[9] < 2.0 * tenths[0], "order {order}: {tenths:?}");
    }
}
