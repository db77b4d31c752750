//! Joints that move as given: where they are, what they take, in both engines.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{
    LimitsDescription, Mechanism, MechanismBuilder, MotionDescription, PerCoordinate, State, samples,
};

fn options(order: u32) -> MethodOptions {
    MethodOptions { order: Some(order), ..MethodOptions::default() }
}

fn energy(mechanism: &Mechanism, state: &State) -> f64 {
    Dynamics::<f64>::new(mechanism).observe(mechanism, &state.q, &state.v).total()
}

#[test]
fn a_slider_crank_at_constant_speed_moves_and_takes_what_the_textbook_says() {
    let speed = 4.0;
    let mut model = samples::slider_crank();
    // The crank starts at 0.9; coordinates count from there.
    model.motions.push(MotionDescription {
        joint: "crank_pivot".into(),
        speed: Some(speed),
        ..MotionDescription::default()
    });
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let at = |name: &str| mechanism.q_range(mechanism.joint_by_name(name).expect("joint")).start;
    let (crank, rail) = (at("crank_pivot"), at("rail"));
    for (order, tolerance) in [(2, 2e-2), (4, 2e-5)] {
        let start = mechanism.start_state();
        let mut run = Simulator::new(&mechanism, Method::Maximal, &options(order), &start).expect("served");
        let h = 0.005;
        let slider = |t: f64| {
            let (s, c) = (0.9 + speed * t).sin_cos();
            0.3 * c + (1.0 - 0.09 * s * s).sqrt()
        };
        let (mut last, begin) = (energy(&mechanism, run.state()), slider(0.0));
        for k in 1..=400 {
            run.step(&[], h).unwrap_or_else(|error| panic!("order {order}, step {k}: {error}"));
            let t = f64::from(k) * h;
            let torque = run.rows().drives[0] / h;
            let state = run.state();
            assert!((state.q[crank] - speed * t).abs() < 1e-11, "order {order}, {t}: {}", state.q[crank]);
            assert!((state.v[crank] - speed).abs() < 1e-10, "order {order}, {t}: {}", state.v[crank]);
            let away = state.q[rail] - (slider(t) - begin);
            assert!(away.abs() < 1e-11, "order {order}, {t}: {away:e}");
            // One freedom, and its speed is given: the mean power of the drive is what the energy gains.
            let now = energy(&mechanism, run.state());
            let expected = (now - last) / (h * speed);
            last = now;
            assert!((torque - expected).abs() < tolerance, "order {order}, {t}: {torque} {expected}");
        }
    }
}

/// A slider-crank whose slider rubs: where it turns round, no force of its own could hold it.
fn rubbing(friction: f64, speed: Option<f64>) -> Mechanism {
    let mut model = samples::slider_crank();
    let rail = model.joints.iter_mut().find(|joint| joint.name == "rail").expect("rail");
    rail.friction = PerCoordinate::One(friction);
    if speed.is_some() {
        let joint = "crank_pivot".into();
        model.motions.push(MotionDescription { joint, speed, ..MotionDescription::default() });
    }
    MechanismBuilder::from(model).build().expect("valid")
}

#[test]
fn a_driven_crank_pays_the_friction_of_its_slider() {
    let (speed, friction, turn) = (4.0, 5.0, 400);
    let h = std::f64::consts::TAU / (speed * f64::from(turn));
    let mechanism = rubbing(friction, Some(speed));
    for (order, tolerance) in [(2, 1e-3), (4, 1e-6), (6, 1e-9)] {
        let start = mechanism.start_state();
        let mut run = Simulator::new(&mechanism, Method::Maximal, &options(order), &start).expect("served");
        let (mut work, mut events, mut trials) = (0.0, 0, 0);
        for k in 0..3 * turn {
            let report = run.step(&[], h).unwrap_or_else(|error| panic!("order {order}, step {k}: {error}"));
            events += report.events;
            trials += report.trials;
            work += run.rows().drives[0] * speed;
        }
        // Twice the stroke in every turn.
        let expected = 3.0 * 4.0 * 0.3 * friction;
        assert!((work - expected).abs() < tolerance, "order {order}: {work} {expected}");
        assert_eq!(events, 6, "order {order}");
        assert!(trials <= 3 * turn + 8 * events, "order {order}: {trials}");
    }
}

#[test]
fn a_crank_left_to_itself_passes_its_dead_points_and_loses_what_friction_takes() {
    let friction = 0.5;
    let mechanism = rubbing(friction, None);
    let at = |name: &str| mechanism.q_range(mechanism.joint_by_name(name).expect("joint")).start;
    let crank = at("crank_pivot");
    let slider = |angle: f64| 0.3 * angle.cos() + (1.0 - 0.09 * angle.sin() * angle.sin()).sqrt();
    // How far the slider went while the crank turned from 0.9 on.
    let way = |angle: f64| {
        let (mut from, mut way) = (0.9, 0.0);
        while from < angle {
            let dead = ((from / std::f64::consts::PI).floor() + 1.0) * std::f64::consts::PI;
            let to = dead.min(angle);
            way += (slider(to) - slider(from)).abs();
            from = if to == dead { dead * (1.0 + 1e-15) } else { to };
        }
        way
    };
    for (order, tolerance) in [(2, 1e-2), (4, 1e-5), (6, 1e-8)] {
        let mut start = mechanism.start_state();
        for v in &mut start.v {
            *v *= 3.0;
        }
        let mut run = Simulator::new(&mechanism, Method::Maximal, &options(order), &start).expect("served");
        let before = energy(&mechanism, run.state());
        let (mut events, mut trials) = (0, 0);
        for k in 0..1000 {
            let report =
                run.step(&[], 2e-3).unwrap_or_else(|error| panic!("order {order}, step {k}: {error}"));
            events += report.events;
            trials += report.trials;
            let state = run.state();
            let lost = before - energy(&mechanism, state);
            let expected = friction * way(0.9 + state.q[crank]);
            assert!((lost - expected).abs() < tolerance, "order {order}, step {k}: {lost} {expected}");
        }
        assert!(events >= 4, "order {order}: {events}");
        assert!(trials <= 1000 + 8 * events, "order {order}: {trials} for {events}");
    }
}

/// Three links, the middle one driven; with or without limits that make steps be cut.
fn driven(table: bool, limits: bool) -> Mechanism {
    let mut model = samples::chain(3);
    let joint = model.joints[1].name.clone();
    let times: Vec<f64> = (0..=20).map(|k| 0.1 * f64::from(k)).collect();
    model.motions.push(match table {
        false => MotionDescription { joint, speed: Some(-2.0), from: 0.3, ..MotionDescription::default() },
        true => MotionDescription {
            joint,
            positions: times.iter().map(|t| 0.3 + 0.5 * (2.0 * t).sin()).collect(),
            times,
            ..MotionDescription::default()
        },
    });
    if limits {
        model.joints[2].limits = Some(LimitsDescription {
            lower: Some(PerCoordinate::One(-0.5)),
            upper: Some(PerCoordinate::One(0.5)),
            ..LimitsDescription::default()
        });
        model.joints[0].friction = PerCoordinate::One(0.3);
    }
    MechanismBuilder::from(model).build().expect("valid")
}

#[test]
fn both_engines_drive_alike_and_the_work_is_what_the_energy_gains() {
    for (table, limits) in [(false, false), (true, false), (false, true), (true, true)] {
        let mechanism = driven(table, limits);
        let ends = [Method::Minimal, Method::Maximal].map(|method| {
            let start = mechanism.neutral_state();
            let mut run = Simulator::new(&mechanism, method, &options(4), &start).expect("served");
            let (mut torques, h) = (Vec::new(), 0.0025);
            let (_, motion) = mechanism.driven().next().expect("a drive");
            let begin = energy(&mechanism, run.state());
            let mut work = 0.0;
            for k in 0..400 {
                run.step(&[], h).unwrap_or_else(|e| panic!("{method:?} {table} {limits}, step {k}: {e}"));
                let t = h * f64::from(k + 1);
                torques.push(run.rows().drives[0] / h);
                work += run.input_work();
                let [q, v, _] = motion.at(t);
                let state = run.state();
                assert!((state.q[1] - q).abs() < 1e-10, "{method:?} {table} {limits}: {:e}", state.q[1] - q);
                assert!((state.v[1] - v).abs() < 1e-9, "{method:?} {table} {limits}: {:e}", state.v[1] - v);
            }
            let gained = energy(&mechanism, run.state()) - begin;
            if !limits && !table {
                assert!((work - gained).abs() < 1e-6, "{method:?}: {work} {gained}");
            }
            (run.state().clone(), torques)
        });
        let [(a, tau), (b, other)] = &ends;
        let far = a.q.iter().zip(&b.q).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(far < 1e-6, "{table} {limits}: {far:e}");
        let worst = tau.iter().zip(other).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        // Impacts make torques of single steps that depend on where a step is cut.
        assert!(limits || worst < 1e-4, "{table}: {worst:e}");
    }
}

#[test]
fn what_cannot_be_driven_is_named() {
    let mut model = samples::chain(2);
    model.motions.push(MotionDescription { joint: "nothing".into(), speed: Some(1.0), ..Default::default() });
    model.motions.push(MotionDescription { joint: model.joints[0].name.clone(), ..Default::default() });
    let error = MechanismBuilder::from(model).build().expect_err("refused").to_string();
    assert!(error.contains("nothing") && error.contains("neither a speed nor a table"), "{error}");
    let mechanism = driven(false, false);
    let refused =
        Simulator::new(&mechanism, Method::Rk4, &MethodOptions::default(), &mechanism.neutral_state());
    assert!(refused.is_err_and(|error| error.to_string().contains("moves as given")));
}
