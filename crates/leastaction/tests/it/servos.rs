//! Servos: laws of length and velocity in every engine.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::maximal::Maximal;
use leastaction::integrator::minimal::{Minimal, MinimalOptions};
use leastaction::integrator::{
    Input, Integrator, LinearizedStep, Method, MethodOptions, Simulator, StepLinearization,
};
use leastaction::io::{LoadOptions, read_model};
use leastaction::mechanism::{
    ActivationDescription, ActivationKind, ActuatorDescription, Affine, JointType, LawDescription,
    LimitsDescription, Mechanism, MechanismBuilder, ModelDescription, PushDescription, SpeedLineDescription,
    State, ThrusterDescription, samples,
};

/// A chain whose joints have an input each.
fn driven(links: usize, law: impl Fn(usize, &str) -> LawDescription) -> ModelDescription {
    let mut model = samples::chain(links);
    for i in 0..links {
        let input = format!("u{i}");
        let actuator =
            ActuatorDescription { input: input.clone(), coordinate: 0, gear: 1.0 + 0.5 * i as f64 };
        model.joints[i].actuators.push(actuator);
        model.laws.push(law(i, &input));
        model.inputs.push(input);
    }
    model
}

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().unwrap()
}

fn options(order: u32) -> MethodOptions {
    MethodOptions { order: Some(order), ..Default::default() }
}

fn run(
    mechanism: &Mechanism,
    method: Method,
    order: Option<u32>,
    start: &State,
    u: &[f64],
    h: f64,
    n: usize,
) -> State {
    let options = MethodOptions { order, ..Default::default() };
    let mut simulator = Simulator::new(mechanism, method, &options, start).unwrap();
    for _ in 0..n {
        simulator.step(u, h).unwrap();
    }
    simulator.state().clone()
}

fn distance(a: &State, b: &State) -> f64 {
    let pairs = a.q.iter().zip(&b.q).chain(a.v.iter().zip(&b.v));
    pairs.fold(0.0, |m: f64, (x, y)| if (x - y).is_nan() { f64::NAN } else { m.max((x - y).abs()) })
}

/// kp = 1e5 at a step of 5 ms: the frequency of the servo is far beyond the step. It settles where the torques balance.
#[test]
fn a_stiff_position_servo_is_stable_and_settles_where_the_torques_balance() {
    for links in [1, 3] {
        let mut model = driven(links, |_, input| LawDescription::servo(input, 1e5, 200.0));
        model
            .joints
            .iter_mut()
            .flat_map(|joint| &mut joint.actuators)
            .for_each(|actuator| actuator.gear = 1.0);
        let mechanism = build(model);
        let u: Vec<f64> = (0..links).map(|i| 0.5 - 0.1 * i as f64).collect();
        let start = mechanism.neutral_state();
        for (method, order) in [
            (Method::Minimal, Some(2)),
            (Method::Minimal, Some(4)),
            (Method::Minimal, Some(6)),
            (Method::Maximal, Some(2)),
            (Method::Maximal, Some(4)),
        ] {
            let end = run(&mechanism, method, order, &start, &u, 0.005, 2000);
            let mut dynamics = Dynamics::<f64>::new(&mechanism);
            let (mut applied, mut needed) = (vec![0.0; links], vec![0.0; links]);
            let rest = vec![0.0; links];
            dynamics.applied_forces_into(&mechanism, &end.q, &rest, &u, &mut applied);
            dynamics.inverse_dynamics_into(&mechanism, &end.q, &rest, &rest, &mut needed);
            for i in 0..links {
                let scale = 9.81 * links as f64;
                assert!(end.v[i].abs() < 1e-7, "{method:?} {order:?} {links}: v = {:?}", end.v);
                assert!(
                    (applied[i] - needed[i]).abs() < 1e-5 * scale,
                    "{method:?} {order:?} {links}: {applied:?} {needed:?}"
                );
            }
        }
    }
}

/// Laws with everything a law can have.
fn laws(i: usize, input: &str) -> LawDescription {
    let servo = LawDescription::servo(input, 30.0, 2.0);
    match i % 4 {
        0 => LawDescription { force_range: Some([-4.0, 6.0]), ..servo },
        1 => LawDescription {
            gain: Affine::Of([20.0, 0.4, -0.3]),
            bias: Affine::Of([0.5, -20.0, -1.0]),
            ..servo
        },
        2 => LawDescription {
            speed_line: Some(SpeedLineDescription { stall: 8.0, free_speed: 3.0 }),
            rotor_inertia: 0.02,
            ..LawDescription::new(input)
        },
        _ => LawDescription { control_range: Some([-0.2, 0.3]), ..servo },
    }
}

#[test]
fn engines_and_baselines_agree_on_servos_that_are_cut() {
    let mut model = driven(4, laws);
    model.joints[1].limits =
        Some(LimitsDescription { effort_range: Some([-3.0, 9.0]), ..Default::default() });
    let mechanism = build(model);
    let u = [0.4, -0.5, 5.0, 1.0];
    let start = mechanism.start_state();
    let fine = run(&mechanism, Method::Rk4, None, &start, &u, 1e-4, 5000);
    for (method, order, h, bound) in [
        (Method::Minimal, Some(4), 1e-3, 2e-5),
        (Method::Minimal, Some(6), 1e-3, 2e-5),
        (Method::Maximal, Some(2), 2.5e-4, 2e-5),
        (Method::Maximal, Some(4), 1e-3, 2e-5),
        (Method::Maximal, Some(6), 1e-3, 2e-5),
    ] {
        let end = run(&mechanism, method, order, &start, &u, h, (0.5 / h).round() as usize);
        let error = distance(&end, &fine);
        assert!(error < bound, "{method:?} {order:?}: {error}");
    }
}

/// Smooth laws keep the order.
#[test]
fn order_is_kept_with_servos() {
    let mechanism = build(driven(3, |_, input| LawDescription::servo(input, 40.0, 1.0)));
    let (u, start) = ([0.7, -0.4, 0.2], mechanism.start_state());
    let exact = run(&mechanism, Method::Minimal, Some(8), &start, &u, 0.5 / 400.0, 400);
    for (method, order) in [
        (Method::Minimal, 2),
        (Method::Minimal, 4),
        (Method::Minimal, 6),
        (Method::Maximal, 2),
        (Method::Maximal, 4),
        (Method::Maximal, 6),
    ] {
        let error =
            |n: usize| distance(&run(&mechanism, method, Some(order), &start, &u, 0.5 / n as f64, n), &exact);
        let n = match (method, order) {
            (_, 2) => 100,
            (Method::Maximal, 6) => 50,
            _ => 25,
        };
        let slope = (error(n) / error(2 * n)).log2();
        assert!((slope - f64::from(order)).abs() < 0.25, "{method:?} {order}: {slope}");
    }
}

fn linearized<I: LinearizedStep>(
    engine: &I,
    mechanism: &Mechanism,
    start: &State,
    u: &[f64],
    h: f64,
) -> (State, StepLinearization) {
    let mut workspace = engine.workspace(mechanism).unwrap();
    let mut state = engine.start(mechanism, &mut workspace, start).unwrap();
    let mut slope = engine.slope(mechanism, &workspace);
    let mut out = StepLinearization::default();
    engine
        .step_linearized(mechanism, &mut workspace, &mut slope, &mut state, Input { u }, h, false, &mut out)
        .unwrap();
    let mut end = start.clone();
    engine.read_out(mechanism, &mut workspace, &state, &mut end);
    (end, out)
}

fn derivative_is_that_of_differences<I: LinearizedStep>(
    engine: &I,
    mechanism: &Mechanism,
    start: &State,
    u: &[f64],
    h: f64,
) {
    let (_, slope) = linearized(engine, mechanism, start, u, h);
    let (nv, nu) = (mechanism.nv(), mechanism.nu());
    // The solver's tolerance over it is the noise of the quotient.
    let eps = 1e-5;
    for column in 0..2 * nv + nu {
        let moved = |sign: f64| {
            let (mut at, mut u) = (start.clone(), u.to_vec());
            let x = if column < nv {
                &mut at.q[column]
            } else if column < 2 * nv {
                &mut at.v[column - nv]
            } else {
                &mut u[column - 2 * nv]
            };
            *x += sign * eps;
            linearized(engine, mechanism, &at, &u, h).0
        };
        let (above, below) = (moved(1.0), moved(-1.0));
        for row in 0..2 * nv {
            let of = |s: &State| if row < nv { s.q[row] } else { s.v[row - nv] };
            let difference = (of(&above) - of(&below)) / (2.0 * eps);
            let found = slope.a(row, column);
            let scale = 1.0f64.max(found.abs());
            assert!(
                (found - difference).abs() < 1e-6 * scale,
                "row {row} column {column}: {found} {difference}"
            );
        }
    }
}

#[test]
fn step_derivatives_are_exact_with_servos() {
    let minimal = |order| Minimal::new(MinimalOptions { order, ..Default::default() }).unwrap();
    let mut model = driven(4, laws);
    model.joints[1].limits =
        Some(LimitsDescription { effort_range: Some([-3.0, 9.0]), ..Default::default() });
    let mechanism = build(model);
    let start = State { v: vec![0.3, -0.2, 1.0, 0.5], ..mechanism.start_state() };
    // Nothing cut, and nearly everything.
    for u in [[0.1, 0.05, 1.0, 0.1], [3.0, -2.0, 30.0, 1.0]] {
        for order in [2, 4, 6] {
            derivative_is_that_of_differences(&minimal(order), &mechanism, &start, &u, 0.01);
        }
        for order in [2, 4] {
            let maximal = Maximal { order, ..Maximal::default() };
            derivative_is_that_of_differences(&maximal, &mechanism, &start, &u, 0.01);
        }
    }
    // Stiff: the action is summed at Gauss points.
    let mechanism = build(driven(3, |_, input| LawDescription::servo(input, 1e5, 50.0)));
    let start = mechanism.start_state();
    let u = [start.q[0] + 0.01, start.q[1], start.q[2] - 0.02];
    derivative_is_that_of_differences(&minimal(4), &mechanism, &start, &u, 0.005);
    derivative_is_that_of_differences(&Maximal::default(), &mechanism, &start, &u, 0.005);
}

/// What the servos put in is what the mechanism has more.
#[test]
fn energy_balance_with_the_work_of_servos_closes() {
    let mechanism = build(driven(2, |_, input| LawDescription::servo(input, 60.0, 3.0)));
    let start = mechanism.start_state();
    for (method, order, h, bound) in [
        (Method::Minimal, 6, 2e-3, 1e-9),
        (Method::Minimal, 8, 5e-3, 1e-9),
        (Method::Maximal, 2, 2.5e-4, 2e-4),
        (Method::Maximal, 6, 2e-3, 1e-9),
        (Method::Maximal, 8, 5e-3, 1e-9),
    ] {
        let mut simulator = Simulator::new(&mechanism, method, &options(order), &start).unwrap();
        let mut dynamics = Dynamics::<f64>::new(&mechanism);
        let mut energy = |s: &State| dynamics.observe(&mechanism, &s.q, &s.v).total();
        let before = energy(simulator.state());
        let mut work = 0.0;
        let mut worst = 0.0f64;
        for _ in 0..(1.0 / h) as usize {
            simulator.step(&[0.4, -0.3], h).unwrap();
            work += simulator.input_work();
            let change = energy(simulator.state()) - before;
            worst = worst.max((change - work).abs());
        }
        assert!(work.abs() > 0.5, "{work}");
        assert!(worst < bound, "{method:?} {order}: {worst:e}");
    }
}

/// What acted is what the joint was given: the effort limit is no secret.
#[test]
fn input_forces_are_what_acted() {
    let mut model = samples::chain(1);
    model.inputs = vec!["u".into(), "w".into()];
    model.joints[0].limits = Some(LimitsDescription { effort: Some(12.0), ..Default::default() });
    for (input, gear) in [("u", 2.0), ("w", 1.0)] {
        model.joints[0].actuators.push(ActuatorDescription { input: input.into(), coordinate: 0, gear });
    }
    let mechanism = build(model);
    for (_, method) in Method::ALL {
        let start = mechanism.start_state();
        let mut simulator = Simulator::new(&mechanism, method, &MethodOptions::default(), &start).unwrap();
        simulator.step(&[60.0, 0.0], 1e-3).unwrap();
        let acted = simulator.input_forces().to_vec();
        assert!((acted[0] - 6.0).abs() < 1e-12 && acted[1] == 0.0, "{method:?}: {acted:?}");
        simulator.step(&[5.0, 20.0], 1e-3).unwrap();
        let acted = simulator.input_forces().to_vec();
        assert!((acted[0] - 2.0).abs() < 1e-12 && (acted[1] - 8.0).abs() < 1e-12, "{method:?}: {acted:?}");
        simulator.step(&[1.0, 2.0], 1e-3).unwrap();
        let acted = simulator.input_forces().to_vec();
        assert!((acted[0] - 1.0).abs() < 1e-12 && (acted[1] - 2.0).abs() < 1e-12, "{method:?}: {acted:?}");
    }
}

/// The mean force over a step is the law's at its middle, to second order.
#[test]
fn mean_forces_of_a_servo_follow_its_law() {
    let mechanism = build(driven(2, |_, input| LawDescription::servo(input, 50.0, 1.0)));
    for method in [Method::Minimal, Method::Maximal, Method::Rk4, Method::SemiImplicit, Method::Dop853] {
        let mut simulator =
            Simulator::new(&mechanism, method, &MethodOptions::default(), &mechanism.start_state()).unwrap();
        let force = |s: &State| {
            let mut out = [0.0; 2];
            mechanism.input_forces_into(&[0.3, 0.1], &s.q, &s.v, &mut out);
            out
        };
        for _ in 0..50 {
            let before = force(simulator.state());
            simulator.step(&[0.3, 0.1], 1e-3).unwrap();
            let after = force(simulator.state());
            let acted = simulator.input_forces().to_vec();
            for i in 0..2 {
                let mean = 0.5 * (before[i] + after[i]);
                assert!(
                    (acted[i] - mean).abs() < 1e-3 * mean.abs().max(1.0),
                    "{method:?}: {acted:?} {before:?} {after:?}"
                );
            }
        }
    }
}

fn activated(i: usize, input: &str) -> LawDescription {
    let kind = if i == 0 { ActivationKind::Filter } else { ActivationKind::Integrator };
    let activation = ActivationDescription {
        kind,
        time_constant: if i == 0 { 0.05 } else { 0.0 },
        range: Some([-0.5, 0.5]),
    };
    LawDescription { activation: Some(activation), ..LawDescription::servo(input, 40.0, 2.0) }
}

#[test]
fn states_of_actuators_are_advanced_and_resumed_bit_for_bit() {
    let mechanism = build(driven(2, activated));
    for (_, method) in Method::ALL {
        let start = State { act: vec![0.1, -0.2], ..mechanism.start_state() };
        let options = MethodOptions::default();
        let mut simulator = Simulator::new(&mechanism, method, &options, &start).unwrap();
        for _ in 0..10 {
            simulator.step(&[2.0, 1.0], 0.01).unwrap();
        }
        let middle = simulator.checkpoint();
        let filtered = 2.0 + (0.1 - 2.0) * (-0.1f64 / 0.05).exp();
        assert!((middle.act[0] - filtered.min(0.5)).abs() < 1e-12, "{:?}", middle.act);
        assert!((middle.act[1] - (-0.2 + 0.1)).abs() < 1e-12, "{:?}", middle.act);
        for _ in 0..10 {
            simulator.step(&[-1.0, 1.0], 0.01).unwrap();
        }
        let mut again = Simulator::new(&mechanism, method, &options, &middle).unwrap();
        for _ in 0..10 {
            again.step(&[-1.0, 1.0], 0.01).unwrap();
        }
        assert_eq!(simulator.state(), again.state(), "{method:?}");
    }
}

#[test]
fn a_simulation_that_begins_again_begins_with_the_actuators_of_its_start() {
    let mechanism = build(driven(2, activated));
    for (_, method) in Method::ALL {
        let start = State { act: vec![0.1, -0.2], ..mechanism.start_state() };
        let mut simulator = Simulator::new(&mechanism, method, &MethodOptions::default(), &start).unwrap();
        let mut run = |start: &State| {
            simulator.restart(start).unwrap();
            for _ in 0..10 {
                simulator.step(&[2.0, 1.0], 0.01).unwrap();
            }
            simulator.state().clone()
        };
        let first = run(&start);
        assert_ne!(first.act, start.act);
        assert_eq!(first, run(&start), "{method:?}");
    }
}

/// One servo along three joints.
fn tendon(kp: f64, kd: f64) -> Mechanism {
    let mut model = samples::chain(4);
    model.inputs.push("t".into());
    for (i, gear) in [(0, 1.0), (1, -0.7), (3, 0.5)] {
        model.joints[i].actuators.push(ActuatorDescription { input: "t".into(), coordinate: 0, gear });
    }
    model
        .laws
        .push(LawDescription { force_range: Some([-300.0, 300.0]), ..LawDescription::servo("t", kp, kd) });
    build(model)
}

#[test]
fn a_servo_on_several_joints_is_implicit_and_exact() {
    let soft = tendon(40.0, 2.0);
    let start = soft.start_state();
    let fine = run(&soft, Method::Rk4, None, &start, &[0.6], 2e-4, 2500);
    for order in [2, 4, 6] {
        let end = run(&soft, Method::Minimal, Some(order), &start, &[0.6], 1e-3, 500);
        let error = distance(&end, &fine);
        assert!(error < if order == 2 { 1e-3 } else { 1e-8 }, "{order}: {error}");
        let minimal = Minimal::new(MinimalOptions { order, ..Default::default() }).unwrap();
        derivative_is_that_of_differences(&minimal, &soft, &start, &[0.6], 0.01);
    }
    // Stiff for the step: Gauss points, Newton with the coupling.
    let stiff = tendon(1e5, 300.0);
    let u = [start.q[0] - 0.7 * start.q[1] + 0.5 * start.q[3] + 1e-3];
    let minimal = Minimal::new(MinimalOptions { order: 4, ..Default::default() }).unwrap();
    derivative_is_that_of_differences(&minimal, &stiff, &start, &u, 0.005);
    let end = run(&stiff, Method::Minimal, Some(4), &start, &u, 0.005, 400);
    let length = end.q[0] - 0.7 * end.q[1] + 0.5 * end.q[3];
    assert!((length - u[0]).abs() < 3e-3, "{length} {u:?}");
    // The other engine says what it cannot do.
    let refused = Simulator::new(&soft, Method::Maximal, &MethodOptions::default(), &start).unwrap_err();
    assert!(refused.to_string().contains("input `t`, whose force on several joints"), "{refused}");
}

/// A floating trunk with an arm, pushed along world axes and along its own.
fn pushed() -> Mechanism {
    let mut model = samples::chain(2);
    let free = leastaction::mechanism::JointType::Floating;
    let joint = &mut model.joints[0];
    (joint.kind, joint.axis) = (free, None);
    model.states.clear();
    // No slender rods: a torque along one would spin it up without bound.
    model.bodies.iter_mut().for_each(|body| body.inertia = [0.3, 0.35, 0.2, 0.0, 0.0, 0.0]);
    model.inputs = vec!["push".into(), "jet".into()];
    model.laws.push(LawDescription {
        force_range: Some([-3.0, 2.0]),
        gain: Affine::Constant(2.0),
        ..LawDescription::new("push")
    });
    model.bodies[0].pushes.push(PushDescription {
        input: "push".into(),
        wrench: [0.1, 0.3, -0.2, 1.0, -0.5, 2.0],
        point: [0.05, 0.1, -0.4],
    });
    model.bodies[1].pushes.push(PushDescription {
        input: "push".into(),
        wrench: [0.0, 0.0, 0.0, 0.0, 0.7, 0.3],
        point: [0.0; 3],
    });
    let jet = ThrusterDescription { input: "jet".into(), wrench: [0.0, 0.2, 0.1, 0.5, 0.0, 0.3] };
    model.bodies[1].thrusters.push(jet);
    build(model)
}

#[test]
fn pushes_along_world_axes_are_the_same_in_every_engine() {
    let mechanism = pushed();
    let mut start = mechanism.neutral_state();
    start.v = vec![0.4, -0.3, 0.5, 0.2, 0.1, -0.3, 0.6];
    let u = [0.6, -0.8];
    let fine = run(&mechanism, Method::Rk4, None, &start, &u, 1e-4, 5000);
    for (method, order, h, bound) in [
        (Method::Minimal, Some(4), 1e-3, 1e-9),
        (Method::Minimal, Some(6), 5e-3, 1e-9),
        (Method::Maximal, Some(2), 2.5e-4, 1e-6),
        (Method::Maximal, Some(4), 1e-3, 1e-9),
    ] {
        let end = run(&mechanism, method, order, &start, &u, h, (0.5 / h).round() as usize);
        let error = distance(&end, &fine);
        assert!(error < bound, "{method:?} {order:?}: {error}");
    }
    // The work they do is what the energy changes by; in poses it is summed to second order.
    for (method, order, h, bound) in
        [(Method::Minimal, 6, 5e-3, 1e-9), (Method::Maximal, 2, 1e-4, 1e-6), (Method::Maximal, 6, 5e-3, 1e-5)]
    {
        let mut simulator = Simulator::new(&mechanism, method, &options(order), &start).unwrap();
        let mut dynamics = Dynamics::<f64>::new(&mechanism);
        let before = dynamics.observe(&mechanism, &start.q, &start.v).total();
        let mut work = 0.0;
        for _ in 0..(0.5 / h) as usize {
            simulator.step(&u, h).unwrap();
            work += simulator.input_work();
        }
        let end = simulator.state().clone();
        let change = dynamics.observe(&mechanism, &end.q, &end.v).total() - before;
        assert!((change - work).abs() < bound && work.abs() > 0.05, "{method:?}: {change} {work}");
    }
}

#[test]
fn step_derivatives_are_exact_with_pushes() {
    let mechanism = pushed();
    let mut start = mechanism.neutral_state();
    start.v = vec![0.4, -0.3, 0.5, 0.2, 0.1, -0.3, 0.6];
    let eps = 1e-5;
    let minimal = Minimal::new(MinimalOptions { order: 4, ..Default::default() }).unwrap();
    // By velocity and input; within the range of the force and beyond it.
    for u in [[0.6, -0.8], [1.5, 0.2]] {
        let check = |end: &dyn Fn(&State, &[f64]) -> (State, StepLinearization), label: &str| {
            let (_, slope) = end(&start, &u);
            for column in 0..7 + 2 {
                let moved = |sign: f64| {
                    let (mut at, mut u) = (start.clone(), u);
                    *if column < 7 { &mut at.v[column] } else { &mut u[column - 7] } += sign * eps;
                    end(&at, &u).0
                };
                let (above, below) = (moved(1.0), moved(-1.0));
                for row in 0..7 {
                    let difference = (above.v[row] - below.v[row]) / (2.0 * eps);
                    let found = slope.a(7 + row, 7 + column);
                    assert!(
                        (found - difference).abs() < 1e-6,
                        "{label} {row} {column}: {found} {difference}"
                    );
                }
            }
        };
        check(&|at, u| linearized(&minimal, &mechanism, at, u, 0.02), "minimal");
        check(&|at, u| linearized(&Maximal::default(), &mechanism, at, u, 0.02), "maximal");
        let fourth = Maximal { order: 4, ..Default::default() };
        check(&|at, u| linearized(&fourth, &mechanism, at, u, 0.02), "maximal, order 4");
    }
}

/// Where MuJoCo 4.0.0 ends with its implicit integrator, 4000 steps of 5 ms, controls 0.3 and −0.5: `qpos`, `actuator_force`.
#[test]
fn stiff_servos_settle_where_mujoco_s_implicit_integrator_does() {
    const ARM: &str = r#"<mujoco><compiler angle="radian"/><worldbody>
        <body name="a"><joint name="j1" axis="0 1 0"/><inertial pos="0.5 0 0" mass="2" diaginertia="0.01 0.2 0.2"/>
        <body name="b" pos="1 0 0"><joint name="j2" axis="0 1 0"/>
        <inertial pos="0.4 0 0.1" mass="1.5" diaginertia="0.01 0.1 0.1"/></body></body></worldbody>
        <actuator><position name="s1" joint="j1" kp="1e5" kv="500"/>
        <position name="s2" joint="j2" kp="1e5" kv="300"/></actuator></mujoco>"#;
    const POSITIONS: [f64; 2] = [0.3002890475903725, -0.4999452277246896];
    const FORCES: [f64; 2] = [-28.90475903724655, -5.477227531053359];
    let reading = read_model(ARM, std::path::Path::new("arm.xml"), &LoadOptions::default());
    let mechanism = reading.unwrap().build().unwrap();
    let start = mechanism.neutral_state();
    for (method, order) in [
        (Method::Minimal, 2),
        (Method::Minimal, 4),
        (Method::Minimal, 6),
        (Method::Maximal, 2),
        (Method::Maximal, 4),
        (Method::Maximal, 6),
    ] {
        let mut simulator = Simulator::new(&mechanism, method, &options(order), &start).unwrap();
        for _ in 0..4000 {
            simulator.step(&[0.3, -0.5], 0.005).unwrap();
        }
        let forces = simulator.input_forces().to_vec();
        let end = simulator.state();
        for i in 0..2 {
            let (q, f) = ((end.q[i] - POSITIONS[i]).abs(), (forces[i] - FORCES[i]).abs());
            assert!(q < 1e-11 && f < 1e-6, "{method:?} {order}: {:?} {forces:?}", end.q);
        }
    }
}

/// What a joint bears beside a servo on its second coordinate: the same by the fast steps of order 2 and by curves.
#[test]
fn forces_of_joints_with_servos_are_those_of_every_order() {
    let mut model = samples::chain(1);
    model.states.clear();
    let joint = &mut model.joints[0];
    (joint.kind, joint.axis, joint.axis2) =
        (JointType::Universal, Some([1.0, 0.0, 0.0]), Some([0.0, 1.0, 0.0]));
    joint.actuators.push(ActuatorDescription { input: "u".into(), coordinate: 1, gear: 2.0 });
    model.laws.push(LawDescription::servo("u", 40.0, 2.0));
    model.inputs.push("u".into());
    let mechanism = build(model);
    let start = State { q: vec![0.9, -0.4], v: vec![1.0, 2.0], ..mechanism.start_state() };
    let force = |order: u32| {
        let engine = Maximal { order, ..Maximal::default() };
        let mut workspace = engine.workspace(&mechanism).unwrap();
        let mut state = engine.start(&mechanism, &mut workspace, &start).unwrap();
        for _ in 0..4 {
            engine.step(&mechanism, &mut workspace, &mut state, Input { u: &[1.5] }, 1e-4).unwrap();
        }
        workspace.joint_forces()[0].wrench
    };
    let (fast, fine) = (force(2), force(4));
    let size = fine.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (a, b) in fast.iter().zip(&fine) {
        assert!((a - b).abs() < 2e-3 * size, "{fast:?} {fine:?}");
    }
}
