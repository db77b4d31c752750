//! The maximal integrator converges at its order, to the motion that other methods find.

use leastaction::integrator::maximal::{Composition, Maximal};
use leastaction::integrator::{Integrator, Method, MethodOptions, Simulator};
use leastaction::mechanism::samples::{ball_chain, chain, four_bar};
use leastaction::mechanism::{
    BodyDescription, JointType, Mechanism, MechanismBuilder, ModelDescription, State,
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
        return run(mechanism, &fine, start, 1000, duration);
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

/// Slopes of position and velocity errors between two step counts.
fn slopes(
    mechanism: &Mechanism,
    engine: &Maximal,
    start: &State,
    duration: f64,
    steps: [u32; 2],
) -> [f64; 2] {
    let exact = reference(mechanism, start, duration);
    let errors = steps.map(|n| {
        let state = run(mechanism, engine, start, n, duration);
        let mut dq = vec![0.0; mechanism.nv()];
        mechanism.difference(&state.q, &exact.q, &mut dq);
        [worst(&dq, &vec![0.0; dq.len()]), worst(&state.v, &exact.v)]
    });
    let ratio = (f64::from(steps[1]) / f64::from(steps[0])).log2();
    [0, 1].map(|k| (errors[0][k] / errors[1][k]).log2() / ratio)
}

#[test]
fn plain_steps_are_of_second_order_in_positions_and_velocities() {
    let cases = [
        started(free_body(), 1, 1.0),
        started(build(ball_chain(1)), 2, 1.0),
        started(build(chain(2)), 3, 1.0),
        started(build(four_bar()), 4, 1.0),
        started(mixed_chain(), 5, 0.5),
        started(force_tree(3), 6, 0.5),
        started(force_tree(8), 7, 0.5),
    ];
    for (mechanism, start) in cases {
        for s in slopes(&mechanism, &Maximal::default(), &start, 0.4, [80, 160]) {
            assert!((s - 2.0).abs() < 0.1, "{}: slope {s}", mechanism.name());
        }
    }
}

#[test]
fn compositions_are_of_fourth_order() {
    for composition in [Composition::Suzuki, Composition::Yoshida] {
        let engine = Maximal { composition, ..Maximal::default() };
        for (mechanism, start) in [
            started(free_body(), 1, 1.0),
            started(build(ball_chain(1)), 2, 1.0),
            started(build(chain(2)), 3, 1.0),
            started(build(four_bar()), 4, 1.0),
            started(mixed_chain(), 5, 0.5),
        ] {
            // From 60 steps on the slope has settled (4.00 to 4.14); at 15 the four-bar still shows 5.2.
            for s in slopes(&mechanism, &engine, &start, 0.6, [60, 120]) {
                assert!((s - 4.0).abs() < 0.2, "{} {composition:?}: slope {s}", mechanism.name());
            }
        }
    }
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
