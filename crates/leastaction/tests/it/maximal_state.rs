//! What a state carries: momentum to rounding whatever the tolerance, a warm start only if it belongs to the positions and
//! velocities, and bodies that have no mass or do not move.

use leastaction::integrator::maximal::{Composition, Maximal, MaximalState, MaximalWorkspace};
use leastaction::integrator::{Input, Integrator, Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::samples::{START, chain, four_bar};
use leastaction::mechanism::{
    BodyDescription, Coordinates, JointDescription, JointType, Mechanism, MechanismBuilder, ModelDescription,
    Placement, WORLD,
};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

fn body(name: &str, mass: f64, inertia: [f64; 6]) -> BodyDescription {
    BodyDescription { name: name.into(), mass, inertia, ..Default::default() }
}

/// A free body of three different moments that tumbles at 13 rad/s, about a quarter of a radian per step of 20 ms.
fn tumbling(engine: &Maximal) -> (Mechanism, MaximalWorkspace, MaximalState) {
    let mut model = ModelDescription::new("tumbler");
    model.gravity = [0.0; 3];
    model.bodies.push(body("body", 1.3, [0.3, 0.2, 0.4, 0.02, -0.01, 0.03]));
    let mechanism = build(model);
    let mut start = mechanism.neutral_state();
    start.v.copy_from_slice(&[7.0, -8.0, 7.5, 0.4, -0.3, 0.2]);
    let mut ws = engine.workspace(&mechanism).expect("supported");
    let state = engine.start(&mechanism, &mut ws, &start).expect("consistent");
    (mechanism, ws, state)
}

fn tumbled(engine: &Maximal, steps: u32) -> [f64; 7] {
    let (mechanism, mut ws, mut state) = tumbling(engine);
    for _ in 0..steps {
        engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.02).expect("step");
    }
    let link = &ws.snapshot(&state)[0];
    let (q, x) = (link.q.to_array(), link.x.0);
    [q[0], q[1], q[2], q[3], x[0], x[1], x[2]]
}

#[test]
fn a_tumbling_body_does_not_remember_the_tolerance() {
    for steps in [75, 300] {
        let [loose, tight] =
            [1e-12, 1e-15].map(|tolerance| tumbled(&Maximal { tolerance, ..Default::default() }, steps));
        let error = loose.iter().zip(&tight).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        println!("{steps} steps: poses differ by {error:.1e}");
        assert!(error <= 1e-13, "{steps} steps: {error:e}");
    }
}

#[test]
fn composed_steps_keep_momentum_to_rounding() {
    for composition in [Composition::Plain, Composition::Yoshida, Composition::Suzuki] {
        let engine = Maximal { composition, ..Default::default() };
        let (mechanism, mut ws, mut state) = tumbling(&engine);
        let before = ws.snapshot(&state)[0].momentum.to_array();
        for _ in 0..1000 {
            engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.02).expect("step");
        }
        let after = ws.snapshot(&state)[0].momentum.to_array();
        let change = before.iter().zip(&after).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        println!("{composition:?}: momentum changes by {change:.1e}");
        assert!(change <= 1e-14, "{composition:?}: {change:e}");
    }
}

/// A floating chain without gravity: what its joints exchange leaves the sums as they are.
#[test]
fn a_floating_chain_keeps_its_momentum_to_rounding() {
    let mut model = chain(5);
    model.gravity = [0.0; 3];
    model.joints[0].kind = JointType::Floating;
    model.joints[0].axis = None;
    model.states.clear();
    let mechanism = build(model);
    let mut start = mechanism.neutral_state();
    for (i, v) in start.v.iter_mut().enumerate() {
        *v = 2.0 * (1.3 * i as f64 + 0.4).sin();
    }
    let engine = Maximal::default();
    let mut ws = engine.workspace(&mechanism).expect("supported");
    let mut state = engine.start(&mechanism, &mut ws, &start).expect("consistent");
    let sums = |ws: &mut MaximalWorkspace, state: &MaximalState| {
        let mut sum = [0.0; 6];
        for link in ws.snapshot(state) {
            let p = link.momentum.to_array();
            let lin = leastaction::spatial::Vec3([p[3], p[4], p[5]]);
            let moment = link.x.cross(lin);
            (0..3).for_each(|k| sum[k] += p[k] + moment[k]);
            (0..3).for_each(|k| sum[3 + k] += lin[k]);
        }
        sum
    };
    let before = sums(&mut ws, &state);
    for _ in 0..1000 {
        engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.01).expect("step");
    }
    let after = sums(&mut ws, &state);
    let size = before.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let change = before.iter().zip(&after).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    println!("momentum changes by {:.1e} of {size:.2}", change / size);
    assert!(change <= 1e-12 * size, "{change:e} of {size}");
}

#[test]
fn a_warm_start_that_belongs_to_another_state_or_model_is_dropped() {
    for model in [chain(2), four_bar()] {
        let mechanism = build(model.clone());
        let options = MethodOptions::default();
        let start = |mechanism: &Mechanism, state: &_| {
            let sim = Simulator::new(mechanism, Method::Maximal, &options, state).expect("supported");
            sim.warm_start_dropped()
        };
        let mut sim = Simulator::new(&mechanism, Method::Maximal, &options, &mechanism.start_state())
            .expect("supported");
        for _ in 0..50 {
            sim.step(&[], 0.01).expect("step");
        }
        let state = sim.checkpoint();
        assert!(!start(&mechanism, &state));

        // Velocities of one's own: the engine starts from them.
        let mut edited = state.clone();
        edited.v.fill(0.0);
        let mut again = Simulator::new(&mechanism, Method::Maximal, &options, &edited).expect("supported");
        assert!(again.warm_start_dropped());
        assert!(again.state().v.iter().all(|v| v.abs() < 1e-12), "{:?}", again.state().v);

        // The same numbers on a model ten times as heavy.
        let mut heavy = model;
        for body in &mut heavy.bodies {
            body.mass *= 10.0;
            body.inertia = body.inertia.map(|x| 10.0 * x);
        }
        let heavy = build(heavy);
        let mut sim = Simulator::new(&heavy, Method::Maximal, &options, &state).expect("supported");
        assert!(sim.warm_start_dropped());
        let fastest = state.v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let error = sim.state().v.iter().zip(&state.v).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(error <= 1e-12 * fastest, "{error:e}");
    }
}

fn fixed(name: &str, parent: &str, child: &str) -> JointDescription {
    JointDescription::new(name, JointType::Fixed, parent, child)
}

#[test]
fn a_mechanism_that_cannot_move_stands_still() {
    let mut model = ModelDescription::new("statue");
    model.bodies =
        vec![body("base", 2.0, [0.1, 0.1, 0.1, 0.0, 0.0, 0.0]), body("head", 1.0, [0.1; 6].map(|_| 0.0))];
    model.joints = vec![fixed("foot", WORLD, "base"), fixed("neck", "base", "head")];
    let mechanism = build(model);
    for (name, method) in Method::ALL {
        let mut sim = Simulator::new(&mechanism, method, &MethodOptions::default(), &mechanism.start_state())
            .expect("supported");
        for _ in 0..10 {
            sim.step(&[], 0.01).expect("nothing to solve");
        }
        assert!((sim.state().t - 0.1).abs() < 1e-15, "{name}");
        assert_eq!(sim.gap(), 0.0, "{name}");
    }
}

/// Two hinges with a cross between them that weighs nothing are a universal joint.
#[test]
fn a_body_without_mass_between_two_joints_is_supported() {
    let rod = || BodyDescription {
        com: [0.0, 0.0, -0.5],
        ..body("rod", 1.0, [0.083, 0.083, 0.004, 0.0, 0.0, 0.0])
    };
    let hinge = |name: &str, parent: &str, child: &str, axis: [f64; 3]| JointDescription {
        axis: Some(axis),
        ..JointDescription::new(name, JointType::Revolute, parent, child)
    };
    let mut crossed = ModelDescription::new("crossed");
    crossed.bodies = vec![body("cross", 0.0, [0.0; 6]), rod()];
    crossed.joints =
        vec![hinge("x", WORLD, "cross", [1.0, 0.0, 0.0]), hinge("y", "cross", "rod", [0.0, 1.0, 0.0])];
    let mut universal = ModelDescription::new("universal");
    universal.bodies = vec![rod()];
    universal.joints = vec![JointDescription {
        axis: Some([1.0, 0.0, 0.0]),
        axis2: Some([0.0, 1.0, 0.0]),
        ..JointDescription::new("u", JointType::Universal, WORLD, "rod")
    }];
    let run = |model: ModelDescription| {
        let mechanism = build(model);
        let mut start = mechanism.neutral_state();
        start.q.copy_from_slice(&[0.7, -0.4]);
        start.v.copy_from_slice(&[1.0, 2.0]);
        let mut sim = Simulator::new(&mechanism, Method::Maximal, &MethodOptions::default(), &start)
            .expect("supported");
        for _ in 0..200 {
            sim.step(&[], 0.005).expect("step");
        }
        sim.state().clone()
    };
    let (a, b) = (run(crossed), run(universal));
    let error =
        a.q.iter().chain(&a.v).zip(b.q.iter().chain(&b.v)).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    assert!(error < 1e-11, "{error:e}");
}

#[test]
fn a_joint_that_moves_no_inertia_is_named() {
    let mut model = chain(2);
    model.bodies.push(body("flag", 0.0, [0.0; 6]));
    model.joints.push(JointDescription {
        axis: Some([1.0, 0.0, 0.0]),
        parent_placement: Placement::at([0.0, 0.0, -1.0]),
        ..JointDescription::new("mast", JointType::Revolute, "link1", "flag")
    });
    let (mechanism, _) = MechanismBuilder::from(model).build_with_warnings().expect("valid");
    match Maximal::default().workspace(&mechanism) {
        Err(StepError::Unsupported { what, .. }) => assert!(what.contains("mast"), "{what}"),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

/// A point of mass on a ball can spin without inertia.
#[test]
fn a_singular_mass_matrix_is_named_at_the_start() {
    let mut model = ModelDescription::new("bead");
    model.bodies = vec![BodyDescription { com: [0.0, 0.0, -1.0], ..body("bead", 1.0, [0.0; 6]) }];
    model.joints = vec![JointDescription::new("pin", JointType::Spherical, WORLD, "bead")];
    model.states.insert(
        START.into(),
        leastaction::mechanism::StateDescription {
            q: [("pin".to_owned(), Coordinates::Many(vec![1.0, 0.0, 0.0, 0.0]))].into(),
            ..Default::default()
        },
    );
    let mechanism = build(model);
    let engine = Maximal::default();
    let mut ws = engine.workspace(&mechanism).expect("supported");
    match engine.start(&mechanism, &mut ws, &mechanism.start_state()) {
        Err(StepError::Singular { joint, .. }) => assert_eq!(joint, "pin"),
        other => panic!("{:?}", other.map(|s| s.t)),
    }
}
