//! The maximal integrator converges at its order, to the motion that other methods find.

use std::path::Path;

use leastaction::integrator::maximal::{Composition, Maximal};
use leastaction::integrator::{Integrator, Method, MethodOptions, Simulator};
use leastaction::io::{LoadOptions, load_model};
use leastaction::mechanism::samples::{ball_chain, chain, chain_xy, four_bar};
use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, Mechanism, MechanismBuilder, ModelDescription,
    PerCoordinate, State,
};

use crate::support::{force_tree, random_state, worst};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

fn free_body() -> Mechanism {
    let mut model = ModelDescription::new("free-body");
    model.bodies.push(BodyDescription {
        name: "body".into(),
        mass: 1.3,
        com: [0.1, -0.2, 0.05],
        inertia: [0.3, 0.2, 0.4, 0.02, -0.01, 0.03],
        ..Default::default()
    });
    build(model)
}

/// A chain of every joint kind, conservative.
fn mixed_chain() -> Mechanism {
    let kinds = [
        JointType::Universal,
        JointType::Cylindrical,
        JointType::Spherical,
        JointType::Prismatic,
        JointType::Planar,
        JointType::Revolute,
        JointType::Fixed,
    ];
    let mut model = leastaction::mechanism::samples::random_tree(5, kinds.len(), &[JointType::Revolute]);
    for (joint, kind) in model.joints.iter_mut().zip(kinds) {
        let axis = joint.axis.unwrap_or([0.0, 0.0, 1.0]);
        joint.kind = kind;
        joint.axis = (kind != JointType::Spherical && kind != JointType::Fixed).then_some(axis);
        joint.axis2 = (kind == JointType::Universal).then_some([-axis[1], axis[0], 0.0]);
    }
    build(model)
}

fn run(mechanism: &Mechanism, engine: &Maximal, start: &State, steps: u32, duration: f64) -> State {
    let mut sim = Simulator::with(mechanism, engine.clone(), start).expect("served");
    let u = vec![0.4; mechanism.nu()];
    for _ in 0..steps {
        sim.step(&u, duration / f64::from(steps)).expect("step");
    }
    sim.state().clone()
}

fn reference(mechanism: &Mechanism, start: &State, duration: f64) -> State {
    if mechanism.loop_joints().next().is_some() {
        let fine = Maximal { composition: Composition::Suzuki, ..Maximal::default() };
        return run(mechanism, &fine, start, 4000, duration);
    }
    let options = MethodOptions { tolerance: Some(1e-13), ..Default::default() };
    let mut sim = Simulator::new(mechanism, Method::Dop853, &options, start).expect("served");
    sim.step(&vec![0.4; mechanism.nu()], duration).expect("step");
    sim.state().clone()
}

fn started(mechanism: Mechanism, seed: u64, scale: f64) -> (Mechanism, State) {
    let mut start = mechanism.start_state();
    let (q, v) = random_state(&mechanism, seed);
    if mechanism.loop_joints().next().is_none() {
        start.q = q;
        start.v = v.iter().map(|v| v * scale).collect();
    }
    (mechanism, start)
}

/// Errors of positions and velocities against another state.
fn errors(mechanism: &Mechanism, state: &State, exact: &State) -> [f64; 2] {
    let mut dq = vec![0.0; mechanism.nv()];
    mechanism.difference(&state.q, &exact.q, &mut dq);
    [worst(&dq, &vec![0.0; dq.len()]), worst(&state.v, &exact.v)]
}

/// The order that a halving sequence of steps shows.
///
/// The rule, fixed before anything was measured: steps are halved from `duration / 4` on; all errors within `window` count,
/// at least four of them; the order is the slope of the least-squares line through their logarithms.
fn measured_order(name: &str, window: [f64; 2], mut error: impl FnMut(u32) -> [f64; 2]) -> [f64; 2] {
    let mut points: [Vec<(f64, f64)>; 2] = Default::default();
    for k in 0..14 {
        let steps = 4u32 << k;
        let found = error(steps);
        for (points, e) in points.iter_mut().zip(found) {
            if (window[0]..=window[1]).contains(&e) {
                points.push((f64::from(steps).log2(), e.log2()));
            }
        }
        if found.iter().all(|e| *e < window[0]) {
            break;
        }
    }
    let slopes = points.map(|points| {
        assert!(points.len() >= 4, "{name}: only {} errors within {window:?}", points.len());
        let n = points.len() as f64;
        let mean = points.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / n, m.1 + p.1 / n));
        let (mut top, mut bottom) = (0.0, 0.0);
        for (x, y) in points {
            top += (x - mean.0) * (y - mean.1);
            bottom += (x - mean.0) * (x - mean.0);
        }
        -top / bottom
    });
    println!("order {name}: positions {:.3}, velocities {:.3}", slopes[0], slopes[1]);
    slopes
}

const SECOND: [f64; 2] = [1e-8, 1e-2];
const FOURTH: [f64; 2] = [1e-11, 1e-4];
/// Yoshida's error is seventy times larger, so that it takes more steps to the same error, and the rounding of a thin rod's spin
/// about itself shows from 1e-10 on.
const FOURTH_BY_THREE: [f64; 2] = [1e-9, 1e-3];

#[test]
fn plain_steps_are_of_second_order_in_positions_and_velocities() {
    let cases = [
        ("free body", started(free_body(), 1, 1.0)),
        ("spherical pendulum", started(build(ball_chain(1)), 2, 1.0)),
        ("double pendulum", started(build(chain(2)), 3, 1.0)),
        ("four-bar", started(build(four_bar()), 4, 1.0)),
        ("every joint kind", started(mixed_chain(), 5, 0.5)),
        ("springs, dampers, armature", started(force_tree(3), 6, 0.5)),
        ("springs, dampers, armature, again", started(force_tree(8), 7, 0.5)),
    ];
    for (name, (mechanism, start)) in cases {
        let exact = reference(&mechanism, &start, 0.4);
        let order = measured_order(name, SECOND, |steps| {
            errors(&mechanism, &run(&mechanism, &Maximal::default(), &start, steps, 0.4), &exact)
        });
        for s in order {
            assert!((s - 2.0).abs() <= 0.1, "{name}: slope {s}");
        }
    }
}

#[test]
fn compositions_are_of_fourth_order() {
    for (composition, window) in [(Composition::Suzuki, FOURTH), (Composition::Yoshida, FOURTH_BY_THREE)] {
        let engine = Maximal { composition, ..Maximal::default() };
        for (name, (mechanism, start)) in [
            ("free body", started(free_body(), 1, 1.0)),
            ("spherical pendulum", started(build(ball_chain(1)), 2, 1.0)),
            ("double pendulum", started(build(chain(2)), 3, 1.0)),
            ("four-bar", started(build(four_bar()), 4, 1.0)),
            ("every joint kind", started(mixed_chain(), 5, 0.5)),
        ] {
            let exact = reference(&mechanism, &start, 0.6);
            let order = measured_order(&format!("{name}, {composition:?}"), window, |steps| {
                errors(&mechanism, &run(&mechanism, &engine, &start, steps, 0.6), &exact)
            });
            for s in order {
                assert!((s - 4.0).abs() <= 0.2, "{name} {composition:?}: slope {s}");
            }
        }
    }
}

/// Against DOP853 and against the minimal engine, the motion of a tree is approached at second order.
fn assert_same_limit(name: &str, mechanism: &Mechanism, start: &State, duration: f64) {
    let u = vec![0.4; mechanism.nu()];
    let exact = reference(mechanism, start, duration);
    let options = MethodOptions { order: Some(4), tolerance: Some(1e-13), ..Default::default() };
    let mut sim = Simulator::new(mechanism, Method::Minimal, &options, start).expect("served");
    for _ in 0..400 {
        sim.step(&u, duration / 400.0).expect("step");
    }
    let fine = sim.state().clone();
    for (other, end) in [("DOP853", &exact), ("minimal", &fine)] {
        let order = measured_order(&format!("{name} against {other}"), SECOND, |steps| {
            errors(mechanism, &run(mechanism, &Maximal::default(), start, steps, duration), end)
        });
        for s in order {
            assert!((s - 2.0).abs() <= 0.1, "{name} against {other}: slope {s}");
        }
    }
}

fn shipped(name: &str) -> Mechanism {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    let mut reading = load_model(&path, &LoadOptions::default()).expect("readable");
    reading.build().expect("valid")
}

#[test]
fn tends_to_the_motion_of_the_other_engines_on_every_tree_model() {
    for (name, mechanism, duration) in [
        ("@double-pendulum", build(chain(2)), 0.5),
        ("@chain/8", build(chain(8)), 0.5),
        ("@chain-xy/6", build(chain_xy(6)), 0.5),
        ("@ball-chain/4", build(ball_chain(4)), 0.5),
        ("arm3.json", shipped("arm3.json"), 0.3),
    ] {
        assert_same_limit(name, &mechanism, &mechanism.start_state(), duration);
    }
    // Without gravity, set in motion.
    for name in ["free-body.json", "floating-arm.json"] {
        let mechanism = shipped(name);
        let mut start = mechanism.start_state();
        start.v = random_state(&mechanism, 12).1;
        assert_same_limit(name, &mechanism, &start, 0.5);
    }
}

#[test]
fn tends_to_the_motion_of_the_other_engines_on_a_hundred_balls() {
    let mechanism = shipped("ball-chain-100.json");
    assert_same_limit("ball-chain-100.json", &mechanism, &mechanism.start_state(), 0.1);
}

#[test]
fn compositions_are_refused_for_damped_mechanisms_with_a_reason() {
    let engine = Maximal { composition: Composition::Suzuki, ..Maximal::default() };
    let error = engine.workspace(&force_tree(3)).expect_err("refused").to_string();
    assert!(error.contains("negative substep"), "{error}");
}

/// In the limit of small steps the two variational engines follow one motion.
#[test]
fn agrees_with_the_minimal_integrator_on_trees() {
    for (mechanism, start) in [started(build(chain(3)), 1, 1.0), started(mixed_chain(), 5, 0.5)] {
        let fine = Maximal { composition: Composition::Suzuki, ..Maximal::default() };
        let ours = run(&mechanism, &fine, &start, 200, 0.2);
        let options = MethodOptions { order: Some(4), ..Default::default() };
        let mut sim = Simulator::new(&mechanism, Method::Minimal, &options, &start).expect("served");
        for _ in 0..200 {
            sim.step(&[], 1e-3).expect("step");
        }
        let theirs = sim.state().clone();
        let mut dq = vec![0.0; mechanism.nv()];
        mechanism.difference(&ours.q, &theirs.q, &mut dq);
        assert!(worst(&dq, &vec![0.0; dq.len()]) < 1e-10, "{}: {dq:?}", mechanism.name());
        assert!(worst(&ours.v, &theirs.v) < 1e-9, "{}", mechanism.name());
    }
}

/// Elements whose formulas differ between the engines: dampers of balls at higher order, drag away from a link's centre of mass.
#[test]
fn dampers_of_balls_and_drag_of_welded_bodies_are_those_of_joint_coordinates() {
    let mut balls = ball_chain(3);
    balls.joints.iter_mut().for_each(|joint| joint.damping = PerCoordinate::One(0.05));
    let mut vane = chain(1);
    vane.bodies.push(BodyDescription {
        name: "vane".into(),
        mass: 0.2,
        inertia: [1e-3, 1e-3, 1e-3, 0.0, 0.0, 0.0],
        drag: 1.5,
        ..Default::default()
    });
    let mut weld = JointDescription::new("weld", JointType::Fixed, &vane.bodies[0].name, "vane");
    weld.parent_placement.p = [0.3, 0.2, -0.8];
    vane.joints.push(weld);
    for (name, model, order) in [("balls", balls, 4), ("vane", vane.clone(), 2), ("vane", vane, 4)] {
        let mechanism = build(model);
        let mut start = mechanism.start_state();
        start.v.iter_mut().enumerate().for_each(|(k, v)| *v = 1.0 - 0.3 * k as f64);
        let end = |method: Method, order: u32, h: f64| {
            let options = MethodOptions { order: Some(order), ..Default::default() };
            let mut simulator = Simulator::new(&mechanism, method, &options, &start).expect("served");
            for _ in 0..(0.4 / h).round() as usize {
                simulator.step(&[], h).expect("step");
            }
            simulator.state().q.clone()
        };
        let exact = end(Method::Minimal, 8, 0.005);
        let errors = [0.01, 0.005].map(|h| worst(&end(Method::Maximal, order, h), &exact));
        assert!(
            errors[1] < 1e-9 || (errors[0] / errors[1]).log2() > f64::from(order) - 0.3,
            "{name} {order}: {errors:?}"
        );
        assert!(errors[1] < 1e-3, "{name} {order}: {errors:?}");
    }
}
