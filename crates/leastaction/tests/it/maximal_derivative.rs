//! Derivatives of the maximal step are those of the map, and their adjoint is their transpose.

use std::sync::Arc;

use leastaction::integrator::maximal::{Composition, Maximal, RotationMap, StepDerivative};
use leastaction::integrator::minimal::Minimal;
use leastaction::integrator::{Input, Integrator, LinearizedStep, StepError, StepLinearization};
use leastaction::mechanism::samples::{
    START, ball_chain, chain, four_bar, four_bars, random_tree, rhombus_chain,
};
use leastaction::mechanism::{
    ActuatorDescription, BodyDescription, ConstraintDescription, Coordinates, JointDescription, JointType,
    LimitsDescription, Mechanism, MechanismBuilder, ModelDescription, PerCoordinate, SpringDescription,
    State, WORLD,
};

use crate::no_alloc::allocations;
use crate::support::{force_tree, mixed_tree, random_state, random_vector};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

/// A four-bar of four revolutes that moves, with forces on every joint, the closing one included.
fn driven_four_bar(stiffness: f64) -> Mechanism {
    let mut model = four_bar();
    model.inputs = vec!["crank".into(), "closure".into()];
    for (i, joint) in model.joints.iter_mut().enumerate() {
        joint.damping = PerCoordinate::One(0.05 + 0.02 * i as f64);
        joint.armature = PerCoordinate::One(0.01 + 0.01 * i as f64);
        joint.spring = Some(SpringDescription {
            stiffness: PerCoordinate::One(stiffness),
            rest: PerCoordinate::One(0.3),
        });
    }
    let first = model.joints[0].name.clone();
    for (joint, input) in [(first.as_str(), "crank"), ("closure", "closure")] {
        let joint = model.joints.iter_mut().find(|j| j.name == joint).expect("named");
        joint.actuators.push(ActuatorDescription { input: input.into(), coordinate: 0, gear: 1.5 });
    }
    let start = model.states.get_mut(START).expect("has a start");
    start.v.insert(first, Coordinates::One(2.0));
    build(model)
}

fn rolling(constraint: ConstraintDescription, kind: JointType) -> Mechanism {
    let mut model = ModelDescription::new("rolling");
    model.bodies.push(BodyDescription {
        name: "disc".into(),
        mass: 1.1,
        com: [0.0; 3],
        inertia: [0.02, 0.02, 0.04, 0.0, 0.0, 0.0],
        ..Default::default()
    });
    model.joints.push(JointDescription::new("free", kind, WORLD, "disc"));
    model.constraints.push(constraint);
    build(model)
}

fn coin() -> (Mechanism, State) {
    let disc = ConstraintDescription::RollingDisc {
        name: "ground".into(),
        body: "disc".into(),
        axis: [0.0, 0.0, 1.0],
        radius: 0.3,
    };
    let mechanism = rolling(disc, JointType::Floating);
    let mut start = mechanism.neutral_state();
    let half = 0.6f64;
    start.q[..4].copy_from_slice(&[half.cos(), half.sin(), 0.0, 0.0]);
    start.q[6] = 0.3 * (2.0 * half).sin();
    start.v = vec![0.4, 0.3, 3.0, 0.5, 0.2, 0.1];
    (mechanism, start)
}

fn sledge() -> (Mechanism, State) {
    let knife = ConstraintDescription::KnifeEdge {
        name: "blade".into(),
        body: "disc".into(),
        direction: [0.0, 1.0, 0.0],
    };
    let mechanism = rolling(knife, JointType::Planar);
    let mut start = mechanism.neutral_state();
    start.v = vec![1.0, 0.0, 0.7];
    (mechanism, start)
}

/// A consistent start along a curve through the given state: `(q ⊞ s d_q, v + s d_v)`, made admissible.
fn along(mechanism: &Mechanism, at: &State, d: &[f64], s: f64) -> State {
    let nv = mechanism.nv();
    let step: Vec<f64> = d[..nv].iter().map(|x| s * x).collect();
    let mut state = at.clone();
    mechanism.retract(&at.q, &step, &mut state.q);
    for (v, d) in state.v.iter_mut().zip(&d[nv..]) {
        *v += s * d;
    }
    state
}

/// Positions (against `origin`) and velocities at both ends of a step from a start along the curve.
fn ends(
    engine: &Maximal,
    mechanism: &Mechanism,
    start: &State,
    u: &[f64],
    h: f64,
    origin: Option<&[State; 2]>,
) -> ([Vec<f64>; 2], [State; 2]) {
    let mut ws = engine.workspace(mechanism).expect("served");
    let mut state = engine.start(mechanism, &mut ws, start).expect("consistent");
    let mut read = [start.clone(), start.clone()];
    engine.read_out(mechanism, &mut ws, &state, &mut read[0]);
    engine.step(mechanism, &mut ws, &mut state, Input { u }, h).expect("step");
    engine.read_out(mechanism, &mut ws, &state, &mut read[1]);
    let values = [0, 1].map(|k| {
        let mut dq = vec![0.0; mechanism.nv()];
        if let Some(origin) = origin {
            mechanism.difference(&origin[k].q, &read[k].q, &mut dq);
        }
        dq.extend(&read[k].v);
        dq
    });
    (values, read)
}

/// Worst relative error of the derivative against sixth-order central differences along random admissible curves.
fn error(engine: &Maximal, mechanism: &Mechanism, start: &State, h: f64) -> f64 {
    const WEIGHTS: [f64; 3] = [0.75, -0.15, 1.0 / 60.0];
    const STEP: f64 = 3e-3;
    let (nv, nu) = (mechanism.nv(), mechanism.nu());
    let u = vec![0.3; nu];
    let mut ws = engine.workspace(mechanism).expect("served");
    let mut state = engine.start(mechanism, &mut ws, start).expect("consistent");
    let mut at = start.clone();
    engine.read_out(mechanism, &mut ws, &state, &mut at);
    at.warm = None;
    let mut slope = StepDerivative::new(engine, mechanism, &ws);
    engine
        .differentiate(mechanism, &mut ws, &mut state, Input { u: &u }, h, &mut slope)
        .unwrap_or_else(|e| panic!("{}: {e}", mechanism.name()));
    let (_, origin) = ends(engine, mechanism, &at, &u, h, None);
    let (free_q, free_v) = (slope.free_positions().to_vec(), slope.free_velocities().to_vec());
    let mut worst = 0.0f64;
    for seed in 0..(2 * nv as u64 + 2) {
        let d = random_vector(2 * nv + nu, 100 + seed);
        let mut slopes = [vec![0.0; 2 * nv], vec![0.0; 2 * nv]];
        for (k, weight) in WEIGHTS.iter().enumerate() {
            for sign in [1.0, -1.0] {
                let s = sign * STEP * (k + 1) as f64;
                let u: Vec<f64> = u.iter().zip(&d[2 * nv..]).map(|(u, d)| u + s * d).collect();
                let (values, _) =
                    ends(engine, mechanism, &along(mechanism, &at, &d, s), &u, h, Some(&origin));
                for (slope, values) in slopes.iter_mut().zip(&values) {
                    for (slope, value) in slope.iter_mut().zip(values) {
                        *slope += sign * weight * value / STEP;
                    }
                }
            }
        }
        let x: Vec<f64> =
            free_q.iter().map(|c| slopes[0][*c]).chain(free_v.iter().map(|c| slopes[0][nv + c])).collect();
        let (mut dq, mut dv) = (vec![0.0; nv], vec![0.0; nv]);
        slope.forward_all(&x, &d[2 * nv..], &mut dq, &mut dv);
        let ours = [dq, dv].concat();
        let scale = slopes[1].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for (a, b) in ours.iter().zip(&slopes[1]) {
            worst = worst.max((a - b).abs() / scale);
        }
    }
    worst
}

fn cases() -> Vec<(&'static str, Maximal, Mechanism, State, f64)> {
    let plain = Maximal::default();
    let cayley = Maximal { map: RotationMap::Cayley, ..Maximal::default() };
    let suzuki = Maximal { composition: Composition::Suzuki, ..Maximal::default() };
    let with = |m: Mechanism, seed: u64| {
        let mut start = m.start_state();
        (start.q, start.v) = random_state(&m, seed);
        (m, start)
    };
    let started = |m: Mechanism| {
        let start = m.start_state();
        (m, start)
    };
    let mut limited = chain(3);
    for joint in &mut limited.joints {
        joint.limits = Some(LimitsDescription {
            lower: Some(PerCoordinate::One(-3.0)),
            upper: Some(PerCoordinate::One(3.0)),
            ..Default::default()
        });
    }
    let mut damped_float = ModelDescription::new("float");
    damped_float.bodies.push(BodyDescription {
        name: "body".into(),
        mass: 1.3,
        com: [0.1, -0.2, 0.05],
        inertia: [0.3, 0.2, 0.4, 0.02, -0.01, 0.03],
        drag: 0.3,
        ..Default::default()
    });
    let mut joint = JointDescription::new("free", JointType::Floating, WORLD, "body");
    joint.damping = PerCoordinate::One(0.4);
    joint.spring =
        Some(SpringDescription { stiffness: PerCoordinate::One(5.0), rest: PerCoordinate::One(0.0) });
    damped_float.joints.push(joint);
    let mut all = Vec::new();
    let mut add = |name, engine: &Maximal, (m, s): (Mechanism, State), h| {
        all.push((name, engine.clone(), m, s, h));
    };
    add("hinges", &plain, with(build(chain(4)), 1), 0.02);
    // Not the thin rods of `ball_chain`: their spin about themselves multiplies rounding by 1/J, here 2e4.
    let balls = || build(random_tree(2, 4, &[JointType::Spherical]));
    add("balls", &plain, with(balls(), 2), 0.02);
    add("balls, Cayley", &cayley, with(balls(), 2), 0.02);
    add("every joint", &plain, with(mixed_tree(1, 8), 3), 0.01);
    add("every joint, again", &plain, with(mixed_tree(4, 8), 5), 0.01);
    add("forces on every joint", &plain, with(force_tree(3), 4), 0.01);
    add("forces, Cayley", &cayley, with(force_tree(8), 6), 0.01);
    add("forces, stiff springs", &plain, with(force_tree(5), 6), 0.15);
    add("damped floating body", &plain, with(build(damped_float.clone()), 7), 0.02);
    // Held at the nodes, as in mechanisms with loops: the driver of limits has no derivative.
    let mut limited = build(limited);
    limited.release_limits();
    add("limits far away", &Maximal { enforce_limits: true, ..plain.clone() }, with(limited, 8), 0.01);
    add("redundant loop", &plain, started(build(four_bar())), 0.01);
    add("redundant loop, driven and damped", &plain, started(driven_four_bar(2.0)), 0.01);
    add("redundant loop, stiff springs", &plain, started(driven_four_bar(200.0)), 0.02);
    add("chain of loops", &plain, started(build(four_bars(3))), 0.01);
    add("nested loops", &plain, started(build(rhombus_chain(2))), 0.01);
    add("rolling disc", &plain, coin(), 0.01);
    add("rolling disc, Cayley", &cayley, coin(), 0.01);
    add("knife edge", &plain, sledge(), 0.01);
    add("fourth order, redundant loop", &suzuki, started(build(four_bar())), 0.02);
    add("fourth order, every joint", &suzuki, with(mixed_tree(2, 6), 9), 0.02);
    let [fourth, sixth] = [4, 6].map(|order| Maximal { order, ..Maximal::default() });
    add("order 4, hinges", &fourth, with(build(chain(4)), 1), 0.02);
    add("order 4, every joint", &fourth, with(mixed_tree(1, 8), 3), 0.01);
    add("order 6, every joint, again", &sixth, with(mixed_tree(4, 8), 5), 0.01);
    add("order 4, forces on every joint", &fourth, with(force_tree(3), 4), 0.01);
    add("order 6, forces, stiff springs", &sixth, with(force_tree(5), 6), 0.15);
    add("order 4, damped floating body", &fourth, with(build(damped_float), 7), 0.02);
    add("order 4, redundant loop, driven and damped", &fourth, started(driven_four_bar(2.0)), 0.01);
    add("order 6, redundant loop, driven and damped", &sixth, started(driven_four_bar(2.0)), 0.02);
    add("order 4, redundant loop, stiff springs", &fourth, started(driven_four_bar(200.0)), 0.02);
    add("order 4, nested loops", &fourth, started(build(rhombus_chain(2))), 0.01);
    add("order 4, rolling disc", &fourth, coin(), 0.01);
    add("order 6, knife edge", &sixth, sledge(), 0.01);
    all
}

#[test]
fn step_derivatives_are_those_of_the_map() {
    for (name, engine, mechanism, start, h) in cases() {
        let error = error(&engine, &mechanism, &start, h);
        println!("derivative {name}: {error:.1e}");
        assert!(error < 1e-8, "{name}: {error:e}");
    }
}

#[test]
fn thin_rods_on_balls_have_their_derivative_too() {
    let mechanism = build(ball_chain(3));
    let mut start = mechanism.start_state();
    (start.q, start.v) = random_state(&mechanism, 2);
    // Impulses to 1e-12 leave the spin of a thin rod uncertain by 1e-8, which differences would show.
    let engine = Maximal { tolerance: 1e-15, ..Maximal::default() };
    let error = error(&engine, &mechanism, &start, 0.02);
    let gap = adjoint_gap(&engine, &mechanism, &start, 0.02);
    println!("thin rods: derivative {error:.1e}, adjoint {gap:.1e}");
    assert!(error < 1e-8, "{error:e}");
}

/// In the middle of a run the carried momentum holds constraint impulses; the derivative does not see them.
#[test]
fn the_derivative_does_not_depend_on_how_the_state_was_reached() {
    for (name, engine, mechanism, start, h) in cases() {
        let u = vec![0.3; mechanism.nu()];
        let mut ws = engine.workspace(&mechanism).expect("served");
        let mut run = engine.start(&mechanism, &mut ws, &start).expect("consistent");
        for _ in 0..3 {
            engine.step(&mechanism, &mut ws, &mut run, Input { u: &u }, h).expect("step");
        }
        let mut here = start.clone();
        engine.read_out(&mechanism, &mut ws, &run, &mut here);
        here.warm = None;
        let mut slope = StepDerivative::new(&engine, &mechanism, &ws);
        let mut of = |state: &mut _, keep: bool| {
            let mut out = StepLinearization::default();
            slope.keep_coordinates(keep);
            let done = engine.differentiate(&mechanism, &mut ws, state, Input { u: &u }, h, &mut slope);
            done.unwrap_or_else(|e| panic!("{name}: {e}"));
            slope.matrix_into(&mut out);
            out.matrix
        };
        let carried = of(&mut run, false);
        let mut ws = engine.workspace(&mechanism).expect("served");
        let mut fresh = engine.start(&mechanism, &mut ws, &here).expect("consistent");
        // The same free coordinates: where two choices are equally good, rounding decides.
        let anew = of(&mut fresh, true);
        let error = crate::support::worst(&carried, &anew);
        assert!(error < 1e-9, "{name}: {error:e}");
    }
}

/// Largest difference between the adjoint and the transpose, relative to the largest entry.
fn adjoint_gap(engine: &Maximal, mechanism: &Mechanism, start: &State, h: f64) -> f64 {
    let u = vec![0.3; mechanism.nu()];
    let mut ws = engine.workspace(mechanism).expect("served");
    let mut state = engine.start(mechanism, &mut ws, start).expect("consistent");
    let mut slope = StepDerivative::new(engine, mechanism, &ws);
    let done = engine.differentiate(mechanism, &mut ws, &mut state, Input { u: &u }, h, &mut slope);
    done.unwrap_or_else(|e| panic!("{}: {e}", mechanism.name()));
    let mut out = StepLinearization::default();
    slope.matrix_into(&mut out);
    let (m, nu) = (slope.width(), mechanism.nu());
    let scale = out.matrix.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    let mut worst = 0.0f64;
    for row in 0..m {
        let (mut x, mut back) = (vec![0.0; m], vec![0.0; nu]);
        let mut y = vec![0.0; m];
        y[row] = 1.0;
        slope.adjoint(&y, &mut x, &mut back);
        for (c, value) in x.iter().chain(&back).enumerate() {
            worst = worst.max((value - out.matrix[row * (m + nu) + c]).abs() / scale);
        }
    }
    worst
}

#[test]
fn the_adjoint_is_the_transpose() {
    for (name, engine, mechanism, start, h) in cases() {
        let gap = adjoint_gap(&engine, &mechanism, &start, h);
        println!("adjoint {name}: {gap:.1e}");
        assert!(gap < 1e-12, "{name}: {gap:e}");
    }
}

#[test]
fn derivatives_repeat_bit_for_bit_without_allocating_and_the_step_is_the_plain_one() {
    for (name, engine, mechanism, start, h) in cases() {
        let u = vec![0.3; mechanism.nu()];
        let mut ws = engine.workspace(&mechanism).expect("served");
        let begin = engine.start(&mechanism, &mut ws, &start).expect("consistent");
        let mut slope = engine.slope(&mechanism, &ws);
        let (mut first, mut again) = (StepLinearization::default(), StepLinearization::default());
        let mut state = begin.clone();
        let take = |ws: &mut _, slope: &mut _, state: &mut _, out: &mut _| {
            let done = engine.step_linearized(&mechanism, ws, slope, state, Input { u: &u }, h, false, out);
            done.unwrap_or_else(|e| panic!("{name}: {e}"));
        };
        take(&mut ws, &mut slope, &mut state, &mut first);
        again.clone_from(&first);
        let end = engine.warm_start(&mechanism, &state);
        for _ in 0..2 {
            let mut state = begin.clone();
            let count = allocations(|| take(&mut ws, &mut slope, &mut state, &mut again));
            assert_eq!(count, 0, "{name} allocates");
            assert_eq!(first, again, "{name}");
        }
        let mut fresh = engine.workspace(&mechanism).expect("served");
        let mut state = begin.clone();
        engine.step(&mechanism, &mut fresh, &mut state, Input { u: &u }, h).expect("step");
        assert_eq!(end, engine.warm_start(&mechanism, &state), "{name}: another step than the plain one");
    }
}

/// Both engines behind one trait, of one motion: their derivatives differ by the methods' errors.
#[test]
fn the_two_engines_have_nearly_the_same_derivative() {
    fn of<I: LinearizedStep>(engine: &I, mechanism: &Mechanism, h: f64) -> StepLinearization {
        let mut start = mechanism.start_state();
        (start.q, start.v) = random_state(mechanism, 11);
        let mut ws = engine.workspace(mechanism).expect("served");
        let mut state = engine.start(mechanism, &mut ws, &start).expect("consistent");
        let mut slope = engine.slope(mechanism, &ws);
        let mut out = StepLinearization::default();
        let u = vec![0.3; mechanism.nu()];
        engine
            .step_linearized(mechanism, &mut ws, &mut slope, &mut state, Input { u: &u }, h, false, &mut out)
            .expect("step");
        out
    }
    for mechanism in [build(chain(3)), mixed_tree(3, 6), force_tree(3)] {
        let differences = [0.02, 0.01].map(|h| {
            let (a, b) = (of(&Maximal::default(), &mechanism, h), of(&Minimal::default(), &mechanism, h));
            assert_eq!((&a.positions, &a.velocities), (&b.positions, &b.velocities));
            assert_eq!(a.names(&mechanism), b.names(&mechanism));
            a.matrix.iter().zip(&b.matrix).fold(0.0f64, |m, (x, y)| m.max((x - y).abs()))
        });
        // One step: the difference is of third order.
        assert!(differences[0] / differences[1] > 6.5, "{}: {differences:?}", mechanism.name());
    }
}

/// A velocity constraint of the user's has values only; its slopes by the start pose are central differences.
#[test]
fn a_constraint_of_the_users_has_the_derivative_of_the_built_in_one() {
    let (built_in, start) = sledge();
    let mut model = ModelDescription::new("sledge");
    model.bodies.push(BodyDescription {
        name: "disc".into(),
        mass: 1.1,
        com: [0.0; 3],
        inertia: [0.02, 0.02, 0.04, 0.0, 0.0, 0.0],
        ..Default::default()
    });
    model.joints.push(JointDescription::new("free", JointType::Planar, WORLD, "disc"));
    let own = build(model);
    let blade = Maximal::default().with_constraint("disc", Arc::new(crate::maximal_loops::Blade));
    let [a, b] = [(&Maximal::default(), &built_in), (&blade, &own)].map(|(engine, mechanism)| {
        let mut ws = engine.workspace(mechanism).expect("served");
        let mut state = engine.start(mechanism, &mut ws, &start).expect("consistent");
        let mut slope = engine.slope(mechanism, &ws);
        let mut out = StepLinearization::default();
        for _ in 0..3 {
            let input = Input { u: &[] };
            engine
                .step_linearized(mechanism, &mut ws, &mut slope, &mut state, input, 0.01, false, &mut out)
                .expect("step");
        }
        out
    });
    assert_eq!((&a.positions, &a.velocities), (&b.positions, &b.velocities));
    let error = crate::support::worst(&b.matrix, &a.matrix);
    println!("derivative with a constraint of the user's: {error:.1e}");
    assert!(error < 1e-8, "{error:e}");
}

#[test]
fn kept_coordinates_make_the_derivatives_of_two_steps_multiply() {
    let mechanism = driven_four_bar(2.0);
    let engine = Maximal::default();
    let mut ws = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("consistent");
    let mut slope = engine.slope(&mechanism, &ws);
    let mut out = StepLinearization::default();
    let mut names = Vec::new();
    for step in 0..50 {
        engine
            .step_linearized(
                &mechanism,
                &mut ws,
                &mut slope,
                &mut state,
                Input { u: &[0.1, 0.0] },
                0.01,
                step > 0,
                &mut out,
            )
            .expect("step");
        names.push(out.names(&mechanism));
    }
    // The driven coordinate stays free.
    let crank = mechanism.v_labels()[0].clone();
    assert!(names.iter().all(|n| *n == [format!("q.{crank}"), format!("v.{crank}")]), "{names:?}");
}

#[test]
fn a_step_through_a_singular_pose_has_no_derivative_and_leaves_the_state() {
    let mut model = rhombus_chain(1);
    let start = model.states.get_mut(START).expect("has a start");
    for (name, angle) in [("top0", 0.6), ("right0", 0.0), ("apex0", 0.0), ("left0", 0.0)] {
        start.q.insert(name.into(), Coordinates::One(angle));
    }
    for (name, rate) in [("apex0", 0.5), ("right0", 0.5), ("left0", -0.5)] {
        start.v.insert(name.into(), Coordinates::One(rate));
    }
    let mechanism = build(model);
    let engine = Maximal::default();
    let mut ws = engine.workspace(&mechanism).expect("served");
    let begin = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("consistent");
    let mut slope = engine.slope(&mechanism, &ws);
    let mut state = begin.clone();
    let result = engine.differentiate(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.01, &mut slope);
    let error = result.expect_err("the loop is singular there");
    assert!(matches!(error, StepError::Singular { .. }), "{error}");
    assert_eq!(engine.warm_start(&mechanism, &state), engine.warm_start(&mechanism, &begin));
}
