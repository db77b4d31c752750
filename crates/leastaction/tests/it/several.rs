//! Rows of several coordinates: whole turns of balls, coordinates of loop joints, sums, couplings in poses.

use leastaction::dynamics::{Dynamics, LoopMotion};
use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{
    BodyDescription, CouplingDescription, JointDescription, JointType, LimitsDescription, Mechanism,
    MechanismBuilder, ModelDescription, PerCoordinate, RowOf, State, TendonDescription, TermDescription,
    samples, turn,
};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

fn options(order: u32) -> MethodOptions {
    MethodOptions { order: Some(order), ..MethodOptions::default() }
}

fn upper(bound: f64, restitution: f64) -> Option<LimitsDescription> {
    let (upper, restitution) = (Some(PerCoordinate::One(bound)), Some(restitution));
    Some(LimitsDescription { upper, restitution, ..LimitsDescription::default() })
}

fn energy(mechanism: &Mechanism, state: &State) -> f64 {
    Dynamics::<f64>::new(mechanism).observe(mechanism, &state.q, &state.v).total()
}

/// Two balls in a row, both of which may turn by 0.6 and 0.4.
fn shoulder(restitution: f64) -> (Mechanism, State) {
    let mut model = samples::ball_chain(2);
    model.joints[0].limits = upper(0.6, restitution);
    model.joints[1].limits = upper(0.4, restitution);
    let mechanism = build(model);
    let mut start = mechanism.neutral_state();
    start.v.copy_from_slice(&[1.0, -2.0, 0.7, 0.5, 1.5, -1.0]);
    (mechanism, start)
}

/// Thin links whirl about their own axes within a fraction of a millisecond: parts that passed over that gained energy.
#[test]
fn the_limits_of_balls_hold_and_only_take_energy() {
    let engines = [(Method::Minimal, 4), (Method::Minimal, 2), (Method::Maximal, 2), (Method::Maximal, 4)];
    assert_eq!(balls_rest_on_their_limits(&engines), Vec::<String>::new());
}

/// Returns where the energy grew.
fn balls_rest_on_their_limits(engines: &[(Method, u32)]) -> Vec<String> {
    let mut grown = Vec::new();
    for &(method, order) in engines {
        let (mechanism, start) = shoulder(0.0);
        assert!(mechanism.rows().iter().all(|row| matches!(row.of, RowOf::Turn { .. })));
        let mut run = Simulator::new(&mechanism, method, &options(order), &start).expect("served");
        let (mut last, mut held, mut hits) = (energy(&mechanism, &start), 0, 0);
        for step in 0..600 {
            let report = run.step(&[], 0.005).unwrap_or_else(|e| panic!("{method:?} {order}, {step}: {e}"));
            hits += report.events;
            held += run.rows().states.iter().filter(|row| row.locked).count();
            for row in mechanism.rows() {
                let beyond = row.value(&run.state().q).expect("a ball") - row.upper;
                assert!(beyond <= 1e-9, "{method:?} {order}, step {step}: {} beyond by {beyond:e}", row.name);
            }
            // Nothing but limits acts, and they only take; what rises is the integrator's own oscillation, of 15 J.
            let now = energy(&mechanism, run.state());
            if now > last + 1e-3 {
                grown.push(format!("{method:?} {order}, step {step}: {last} {now}"));
            }
            last = last.min(now);
        }
        assert!(hits >= 3 && held > 10, "{method:?} {order}: {hits} events, held for {held}");
    }
    grown
}

#[test]
fn both_engines_strike_a_balls_limit_alike() {
    let end = |method, h: f64| {
        let (mechanism, start) = shoulder(0.5);
        let mut run = Simulator::new(&mechanism, method, &options(4), &start).expect("served");
        (0..(0.5 / h).round() as usize).for_each(|_| {
            run.step(&[], h).expect("step");
        });
        run.state().clone()
    };
    let far = |a: &State, b: &State| a.q.iter().zip(&b.q).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
    let (fine, coarse) = (end(Method::Minimal, 0.0025), end(Method::Minimal, 0.005));
    assert!(far(&fine, &coarse) < 1e-5, "{:e}", far(&fine, &coarse));
    let poses = end(Method::Maximal, 0.0025);
    assert!(far(&fine, &poses) < 1e-6, "{:e}", far(&fine, &poses));
}

#[test]
fn the_coordinate_of_a_closing_joint_has_limits_and_friction() {
    // The crank swings; the pin at the slider may turn only so far.
    for (order, restitution) in [(2, 0.0), (4, 0.0), (4, 0.6)] {
        let mut model = samples::slider_crank();
        let pin = model.joints.iter().position(|j| j.name == "slider_pin").expect("closing joint");
        model.joints[pin].limits = Some(LimitsDescription {
            lower: Some(PerCoordinate::One(-0.15)),
            upper: Some(PerCoordinate::One(0.2)),
            restitution: Some(restitution),
            ..LimitsDescription::default()
        });
        model.joints[pin].friction = PerCoordinate::One(0.05);
        let mechanism = build(model);
        let row = &mechanism.rows()[0];
        let RowOf::Loop { joint, part, .. } = row.of else { panic!("{row:?}") };
        let start = mechanism.start_state();
        let mut run = Simulator::new(&mechanism, Method::Maximal, &options(order), &start).expect("served");
        let mut motion = LoopMotion::new(&mechanism).expect("a loop");
        let (mut touched, mut gap) = (false, 0.0f64);
        for step in 0..400 {
            run.step(&[], 0.005).unwrap_or_else(|e| panic!("{order} {restitution}, step {step}: {e}"));
            let state = run.state();
            motion.place(&mechanism, &state.q, &state.v);
            let y = motion.value(&mechanism, joint, part, 0.0);
            let beyond = (row.lower - y).max(y - row.upper);
            assert!(beyond <= 1e-10, "{order} {restitution}, step {step}: beyond by {beyond:e}");
            touched |= beyond > -1e-9;
            gap = gap.max(run.gap());
        }
        assert!(touched && gap < 1e-12, "{order} {restitution}: {touched} {gap:e}");
    }
}

/// A slider-crank with a pendulum on its slider.
fn slider_and_pendulum(change: impl FnOnce(&mut ModelDescription)) -> (Mechanism, State) {
    let mut model = samples::slider_crank();
    let slider = model.joints.iter().find(|j| j.name == "rail").expect("a rail").child.clone();
    model.bodies.push(BodyDescription {
        name: "bob".into(),
        mass: 0.7,
        com: [0.0, 0.0, -0.3],
        inertia: [0.02, 0.02, 0.003, 0.0, 0.0, 0.0],
        ..BodyDescription::default()
    });
    model.joints.push(JointDescription {
        axis: Some([1.0, 0.0, 0.0]),
        ..JointDescription::new("pendulum", JointType::Revolute, slider, "bob")
    });
    change(&mut model);
    let coupled = !model.couplings.is_empty();
    let mechanism = build(model);
    let mut start = mechanism.start_state();
    let at = |name: &str| mechanism.q_range(mechanism.joint_by_name(name).expect("a joint")).start;
    let crank = start.q[at("crank_pivot")];
    start.q[at("pendulum")] = 0.5;
    if coupled {
        start.q[at("pendulum")] = 0.2 + crank * (0.5 + 0.3 * crank);
    }
    (mechanism, start)
}

/// Friction that slides and turns, a locked joint, limits with restitution of tree and closing joints, a coupling along a curve: all of them
/// in a loop, and the steps keep the order that they have without. (8.22), (8.24)
#[test]
fn friction_locks_limits_and_couplings_in_loops_keep_the_order() {
    let named = |model: &mut ModelDescription, name: &str| {
        model.joints.iter().position(|j| j.name == name).expect("a joint")
    };
    let friction = |name: &'static str, bound: f64| {
        slider_and_pendulum(|model| {
            let at = named(model, name);
            model.joints[at].friction = PerCoordinate::One(bound);
        })
    };
    let limits = |name: &'static str, lower: f64, upper: f64| {
        slider_and_pendulum(|model| {
            let at = named(model, name);
            model.joints[at].limits = Some(LimitsDescription {
                lower: Some(PerCoordinate::One(lower)),
                upper: Some(PerCoordinate::One(upper)),
                restitution: Some(0.6),
                ..LimitsDescription::default()
            });
        })
    };
    let coupled = slider_and_pendulum(|model| {
        model.couplings.push(CouplingDescription {
            joint: "pendulum".into(),
            of: Some("crank_pivot".into()),
            polynomial: vec![0.2, 0.5, 0.3],
            ..CouplingDescription::default()
        });
    });
    for (what, (mechanism, start), span, steps) in [
        ("friction of the rail", friction("rail", 0.3), 0.6, 24),
        ("friction of the closing joint", friction("slider_pin", 0.3), 0.3, 24),
        ("a locked pendulum", friction("pendulum", 200.0), 0.8, 24),
        ("a limit of the pendulum", limits("pendulum", -0.3, 0.9), 0.8, 32),
        ("a limit of the closing joint", limits("slider_pin", -0.15, 0.2), 1.0, 96),
        ("a coupling along a curve", coupled, 0.8, 64),
    ] {
        let end = |order: u32, steps: u32| {
            let options = MethodOptions { tolerance: Some(1e-14), ..options(order) };
            let mut run = Simulator::new(&mechanism, Method::Maximal, &options, &start).expect("served");
            for step in 0..steps {
                run.step(&[], span / f64::from(steps))
                    .unwrap_or_else(|e| panic!("{what}, order {order}, step {step}: {e}"));
            }
            run.state().q.clone()
        };
        let exact = end(8, 500);
        let error = |order: u32, steps: u32| {
            end(order, steps).iter().zip(&exact).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
        };
        for order in [2, 4, 6] {
            let steps = if order == 2 { 8 * steps } else { steps };
            let (coarse, fine) = (error(order, steps), error(order, 2 * steps));
            let found = (coarse / fine).log2();
            println!("{what}, order {order}: {found:.2}, error {fine:.1e}");
            assert!((found - f64::from(order)).abs() < 0.15, "{what}, order {order}: {found}, {fine:e}");
        }
    }
}

#[test]
fn limits_of_sums_hold_in_both_engines() {
    for (method, order) in
        [(Method::Minimal, 2), (Method::Minimal, 4), (Method::Maximal, 2), (Method::Maximal, 4)]
    {
        let mut model = samples::chain(3);
        let term =
            |k: usize, coefficient| TermDescription { joint: model.joints[k].name.clone(), coefficient };
        model.tendons.push(TendonDescription {
            name: "cord".into(),
            terms: vec![term(0, 1.0), term(1, -0.5), term(2, 2.0)],
            lower: Some(-0.7),
            upper: Some(0.4),
            ..TendonDescription::default()
        });
        let mechanism = build(model);
        let mut start = mechanism.neutral_state();
        start.v.copy_from_slice(&[2.0, -1.0, 0.5]);
        let mut run = Simulator::new(&mechanism, method, &options(order), &start).expect("served");
        let (row, mut held) = (&mechanism.rows()[0], 0);
        for step in 0..600 {
            run.step(&[], 0.005).unwrap_or_else(|e| panic!("{method:?} {order}, step {step}: {e}"));
            let sum = row.value(&run.state().q).expect("a sum");
            let beyond = (row.lower - sum).max(sum - row.upper);
            assert!(beyond <= 1e-10, "{method:?} {order}, step {step}: beyond by {beyond:e}");
            held += usize::from(run.rows().states[0].locked);
        }
        assert!(held > 5, "{method:?} {order}: held for {held} steps");
    }
}

/// A chain of four with a curved and a straight coupling and a tendon with a spring.
fn coupled() -> (Mechanism, State) {
    let mut model = samples::chain(4);
    let name = |k: usize| model.joints[k].name.clone();
    let couplings = vec![
        CouplingDescription {
            name: "curve".into(),
            joint: name(2),
            of: Some(name(1)),
            polynomial: vec![0.05, 0.8, 0.3],
            ..CouplingDescription::default()
        },
        CouplingDescription {
            name: "sum".into(),
            joint: name(3),
            sum: vec![
                TermDescription { joint: name(0), coefficient: 0.5 },
                TermDescription { joint: name(3), coefficient: 1.0 },
            ],
            value: 0.1,
            ..CouplingDescription::default()
        },
    ];
    let terms = vec![
        TermDescription { joint: name(0), coefficient: 1.0 },
        TermDescription { joint: name(1), coefficient: -1.0 },
    ];
    model.tendons.push(TendonDescription {
        name: "band".into(),
        terms,
        stiffness: 3.0,
        damping: 0.2,
        rest: 0.1,
        ..TendonDescription::default()
    });
    model.couplings = couplings;
    let mechanism = build(model);
    let mut start = mechanism.neutral_state();
    start.q[0] = 0.6;
    start.v[1] = 1.0;
    mechanism.follow(&mut start.q, &mut start.v);
    (mechanism, start)
}

#[test]
fn couplings_in_poses_hold_at_all_nodes_and_keep_the_order() {
    let (mechanism, start) = coupled();
    let end = |method, order, h: f64| {
        let mut run = Simulator::new(&mechanism, method, &options(order), &start).expect("served");
        for _ in 0..(0.8 / h).round() as usize {
            run.step(&[], h).expect("step");
            let state = run.state();
            let (mut q, mut v) = (state.q.clone(), state.v.clone());
            let moved = mechanism.follow(&mut q, &mut v);
            assert!(moved < 1e-11, "{method:?} {order}: {moved:e}");
        }
        run.state().clone()
    };
    let far = |a: &State, b: &State| a.q.iter().zip(&b.q).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
    let exact = end(Method::Minimal, 8, 0.005);
    for order in [2, 4, 6] {
        let errors = [0.04, 0.02].map(|h| far(&end(Method::Maximal, order, h), &exact));
        let slope = (errors[0] / errors[1]).log2();
        assert!((slope - f64::from(order)).abs() < 0.5, "order {order}: {slope} {errors:?}");
    }
}

#[test]
fn the_angle_of_a_ball_is_that_of_its_rotation() {
    let half = 0.35f64;
    for sign in [1.0, -1.0] {
        let q = [half.cos(), 0.0, half.sin(), 0.0].map(|x| sign * x);
        let (angle, axis) = turn(&q);
        assert!((angle - 0.7).abs() < 1e-15 && (axis[1] - 1.0).abs() < 1e-15);
    }
    assert_eq!(turn(&[1.0, 0.0, 0.0, 0.0]), (0.0, [0.0; 3]));
}
