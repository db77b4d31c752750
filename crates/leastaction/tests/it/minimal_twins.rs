//! The engine in joint coordinates against its slow twins.

use leastaction::integrator::minimal::{
    Coordinates, Minimal, MinimalOptions, MinimalState, Quadrature, StepPoint,
};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::samples::random_tree;
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder, State};
use leastaction_core::scalar::{largest, largest_difference};
use leastaction_minimal::reference::{
    StepDirection, component_newton_direction, dense_linearization, dense_newton_direction,
};

use crate::support::{force_tree, mixed_tree, random_state, random_vector};

const BOTH: [Quadrature; 2] = [Quadrature::Nodes, Quadrature::Gauss];

fn tight_at(s: usize, quadrature: Quadrature) -> Minimal {
    let options = MinimalOptions { quadrature, ..MinimalOptions::tight(2 * s as u32) };
    Minimal::new(options).expect("options")
}

fn tight(s: usize) -> Minimal {
    tight_at(s, Quadrature::Nodes)
}

/// A curve that solves nothing: what derivatives must not depend on.
fn arbitrary_point(mechanism: &Mechanism, s: usize, seed: u64) -> StepPoint {
    let (q, _) = random_state(mechanism, seed);
    let n = mechanism.nv();
    let small = |seed| random_vector(n, seed).iter().map(|x| 0.1 * x).collect::<Vec<_>>();
    StepPoint {
        q,
        increments: (0..s).map(|ga| small(seed + 7 * ga as u64)).collect(),
        p: random_vector(n, seed + 50),
        u: (0..=s).map(|al| random_vector(mechanism.nu(), seed + 90 + al as u64)).collect(),
        h: 0.05,
    }
}

fn relative(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let (a, b) = (a.concat(), b.concat());
    largest_difference(&a, &b) / largest(&b)
}

#[test]
fn block_newton_direction_is_the_dense_one_on_every_joint_kind() {
    for seed in 0..6 {
        for mechanism in [mixed_tree(seed, 6), force_tree(seed)] {
            for s in [1, 2, 3, 4] {
                let at = arbitrary_point(&mechanism, s, seed);
                for quadrature in BOTH {
                    let mut workspace = tight_at(s, quadrature).workspace(&mechanism).expect("served");
                    let fast = workspace.sample(&mechanism, &at, true).expect("regular").direction;
                    let dense = dense_newton_direction(&mechanism, &at, quadrature).expect("served");
                    // The condition of these matrices reaches 1e5. At one of these points the blocks lose more digits: 5e-11
                    // or 2e-10, as the last digits of the sines fall; all others are below 1e-11.
                    let error = relative(&fast, &dense);
                    let lossy = (seed, s, quadrature) == (0, 4, Quadrature::Gauss);
                    let allowed = if lossy { 1e-9 } else { 1e-11 };
                    let name = mechanism.name();
                    assert!(
                        error < allowed,
                        "seed {seed}, s = {s}, {name}, {quadrature:?}: {error:e} > {allowed:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn block_newton_direction_is_the_component_one_on_ordinary_joints() {
    let kinds = [JointType::Revolute, JointType::Prismatic, JointType::Universal, JointType::Planar];
    for seed in 0..6 {
        let mut model = random_tree(seed, 6, &kinds);
        for body in &mut model.bodies {
            body.drag = 0.3;
        }
        for joint in &mut model.joints {
            joint.damping = leastaction::mechanism::PerCoordinate::One(0.2);
            joint.armature = leastaction::mechanism::PerCoordinate::One(0.1);
        }
        let mechanism = MechanismBuilder::from(model).build().expect("valid");
        for s in [1, 2, 3] {
            let at = arbitrary_point(&mechanism, s, seed);
            let mut workspace = tight(s).workspace(&mechanism).expect("served");
            let fast = workspace.sample(&mechanism, &at, true).expect("regular").direction;
            let slow = component_newton_direction(&mechanism, &at).expect("served");
            let error = relative(&fast, &slow);
            assert!(error < 1e-10, "seed {seed}, s = {s}: {error:e}");
        }
    }
}

#[test]
fn the_tangent_is_what_the_factorisation_inverts() {
    for seed in 0..6 {
        for mechanism in [mixed_tree(seed, 6), force_tree(seed)] {
            for s in [1, 2, 3] {
                let at = arbitrary_point(&mechanism, s, seed);
                let (n, nu) = (mechanism.nv(), mechanism.nu());
                let mut workspace = tight(s).workspace(&mechanism).expect("served");
                let sample = workspace.sample(&mechanism, &at, true).expect("regular");
                let direction = StepDirection {
                    shift: vec![0.0; n],
                    increments: sample.direction,
                    p: vec![0.0; n],
                    u: vec![0.0; nu],
                };
                let tangent = workspace.tangent(&mechanism, &at, &direction).expect("regular").residual;
                let minus: Vec<Vec<f64>> = tangent.iter().map(|r| r.iter().map(|x| -x).collect()).collect();
                let error = relative(&minus, &sample.residual);
                assert!(error < 1e-10, "seed {seed}, s = {s}, {}: {error:e}", mechanism.name());
            }
        }
    }
}

/// Central differences leave about 1e-8 of the largest entry.
#[test]
fn the_tangent_is_the_slope_of_the_equations_in_every_direction() {
    for seed in 0..3 {
        for mechanism in [mixed_tree(seed, 5), force_tree(seed)] {
            let (s, n, nu) = (2, mechanism.nv(), mechanism.nu());
            let at = arbitrary_point(&mechanism, s, seed);
            let mut workspace = tight(s).workspace(&mechanism).expect("served");
            // Shifts are in the engine's coordinates, which differ from the public tangent on floating joints.
            let floats = mechanism.tree().nodes.iter().any(|node| node.kind == JointType::Floating);
            let scale = |x: Vec<f64>, by: f64| x.iter().map(|x| by * x).collect::<Vec<f64>>();
            let direction = StepDirection {
                shift: scale(random_vector(n, seed + 5), f64::from(u8::from(!floats))),
                increments: (0..s).map(|ga| random_vector(n, seed + 6 + ga as u64)).collect(),
                p: random_vector(n, seed + 9),
                u: random_vector(nu, seed + 10),
            };
            let exact = workspace.tangent(&mechanism, &at, &direction).expect("regular");
            let mut moved = |by: f64| {
                let add = |x: &[f64], d: &[f64]| x.iter().zip(d).map(|(x, d)| x + by * d).collect::<Vec<_>>();
                let mut there = at.clone();
                mechanism.retract(&at.q, &scale(direction.shift.clone(), by), &mut there.q);
                for (x, d) in there.increments.iter_mut().zip(&direction.increments) {
                    *x = add(x, d);
                }
                there.p = add(&at.p, &direction.p);
                there.u.iter_mut().for_each(|u| *u = add(u, &direction.u));
                let sample = workspace.sample(&mechanism, &there, true).expect("regular");
                [sample.residual, vec![sample.p_next]].concat()
            };
            let eps = 1e-6;
            let (plus, minus) = (moved(eps), moved(-eps));
            let slope: Vec<Vec<f64>> = plus
                .iter()
                .zip(&minus)
                .map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b) / (2.0 * eps)).collect())
                .collect();
            let error = relative(&[exact.residual, vec![exact.p_next]].concat(), &slope);
            assert!(error < 1e-6, "seed {seed}, {}: {error:e}", mechanism.name());
        }
    }
}

/// A solved step and its curve.
fn solved(
    mechanism: &Mechanism,
    integrator: &Minimal,
    seed: u64,
    h: f64,
) -> (MinimalState, StepPoint, Vec<f64>) {
    let s = integrator.options().order as usize / 2;
    let (q, v) = random_state(mechanism, seed);
    let mut workspace = integrator.workspace(mechanism).expect("served");
    let start = State { q, v, ..State::default() };
    let state = integrator.start(mechanism, &mut workspace, &start).expect("start");
    let u = random_vector(mechanism.nu(), seed);
    let mut next = state.clone();
    integrator.step(mechanism, &mut workspace, &mut next, Input { u: &u }, h).expect("step");
    let at = StepPoint {
        q: state.q.clone(),
        increments: next.last_increments(),
        p: state.p.clone(),
        u: vec![u.clone(); s + 1],
        h,
    };
    (state, at, u)
}

#[test]
fn linearization_is_that_of_dual_numbers_on_every_joint_kind() {
    let mut worst = 0.0f64;
    for seed in 0..5 {
        for mechanism in [mixed_tree(seed, 6), force_tree(seed)] {
            for (s, quadrature) in [1, 2, 3].into_iter().flat_map(|s| BOTH.map(|q| (s, q))) {
                let h = 0.01;
                let integrator = tight_at(s, quadrature);
                let (state, at, u) = solved(&mechanism, &integrator, seed, h);
                let mut workspace = integrator.workspace(&mechanism).expect("served");
                let input = Input { u: &u };
                let fast = integrator
                    .linearize(&mechanism, &mut workspace, &mut state.clone(), input, h, Coordinates::Engine)
                    .expect("regular");
                let dense = dense_linearization(&mechanism, &at, quadrature).expect("served");
                let scale = dense.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                let error =
                    dense.iter().zip(&fast.matrix).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / scale;
                let name = mechanism.name();
                assert!(error < 1e-11, "seed {seed}, s = {s}, {name}, {quadrature:?}: {error:e}");
                worst = worst.max(error);
            }
        }
    }
    println!("linearization against dual numbers: {worst:.1e}");
}

/// Central differences of the public map leave about 1e-8 of the largest entry.
#[test]
fn linearization_in_velocities_is_the_slope_of_the_public_step() {
    for seed in [1, 4] {
        for mechanism in [mixed_tree(seed, 5), force_tree(seed)] {
            let integrator = tight(2);
            let mut workspace = integrator.workspace(&mechanism).expect("served");
            let (q, v) = random_state(&mechanism, seed);
            let (n, nu) = (mechanism.nv(), mechanism.nu());
            let u = random_vector(nu, seed);
            let h = 0.02;
            let mut step = |dq: &[f64], dv: &[f64], du: &[f64]| -> State {
                let mut start = State { q: q.clone(), v: v.clone(), ..State::default() };
                mechanism.retract(&q, dq, &mut start.q);
                start.v.iter_mut().zip(dv).for_each(|(v, d)| *v += d);
                let u: Vec<f64> = u.iter().zip(du).map(|(u, d)| u + d).collect();
                let mut state = integrator.start(&mechanism, &mut workspace, &start).expect("start");
                integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &u }, h).expect("step");
                let mut out = start.clone();
                integrator.read_out(&mechanism, &mut workspace, &state, &mut out);
                out
            };
            let centre = step(&vec![0.0; n], &vec![0.0; n], &vec![0.0; nu]);
            let mut columns = Vec::new();
            for j in 0..2 * n + nu {
                let eps = 1e-5;
                let mut move_by = |e: f64| {
                    let mut x = vec![0.0; 2 * n + nu];
                    x[j] = e;
                    step(&x[..n], &x[n..2 * n], &x[2 * n..])
                };
                let (plus, minus) = (move_by(eps), move_by(-eps));
                let (mut a, mut b) = (vec![0.0; n], vec![0.0; n]);
                mechanism.difference(&centre.q, &plus.q, &mut a);
                mechanism.difference(&centre.q, &minus.q, &mut b);
                let mut column: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a - b) / (2.0 * eps)).collect();
                column.extend(plus.v.iter().zip(&minus.v).map(|(a, b)| (a - b) / (2.0 * eps)));
                columns.push(column);
            }
            let start = State { q: q.clone(), v: v.clone(), ..State::default() };
            let mut state = integrator.start(&mechanism, &mut workspace, &start).expect("start");
            let slope = integrator
                .linearize(&mechanism, &mut workspace, &mut state, Input { u: &u }, h, Coordinates::Velocity)
                .expect("regular");
            let scale = slope.matrix.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for (j, column) in columns.iter().enumerate() {
                for (i, x) in column.iter().enumerate() {
                    let error = (x - slope.a(i, j)).abs() / scale;
                    assert!(error < 1e-7, "seed {seed} {} ({i}, {j}): {error:e}", mechanism.name());
                }
            }
        }
    }
}
