//! Orders 2 to 8 of the engine on poses: positions, velocities and constraint forces, loops and elements included.

use leastaction::integrator::maximal::{Maximal, MaximalWorkspace};
use leastaction::integrator::{Input, Integrator, Method, MethodOptions, Simulator};
use leastaction::mechanism::{
    LimitsDescription, Mechanism, MechanismBuilder, ModelDescription, PerCoordinate, samples,
};
use leastaction_golden::highorder::{SpinDrag, read_run, spin_drag};

use crate::support::worst;

/// A mechanism with its inputs, and how long it moves.
struct Case {
    name: String,
    mechanism: Mechanism,
    drag: Vec<SpinDrag>,
    u: Vec<f64>,
    duration: f64,
}

fn of_file(name: &str, duration: f64) -> Case {
    let path = format!("{}/tests/golden/highorder_{name}.json", env!("CARGO_MANIFEST_DIR"));
    let value: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("there")).expect("JSON");
    let case = read_run(&value, 0).expect("readable");
    Case {
        name: name.to_owned(),
        mechanism: MechanismBuilder::from(case.model).build().expect("valid"),
        drag: spin_drag(&value).expect("readable"),
        u: case.inputs.first().cloned().unwrap_or_default(),
        duration,
    }
}

fn of_sample(model: ModelDescription, duration: f64) -> Case {
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let name = mechanism.name().to_owned();
    let u = vec![0.0; mechanism.nu()];
    Case { name, mechanism, drag: Vec::new(), u, duration }
}

/// Rotation matrices and centres, velocities, constraint forces at the end; `None` if a step was not one step.
fn end(case: &Case, order: u32, steps: u32) -> Option<[Vec<f64>; 3]> {
    // As tight as rounding allows: the errors of order 8 are small.
    let engine = Maximal { order, spin_drag: case.drag.clone(), tolerance: 1e-14, ..Maximal::default() };
    let engine = if order == 2 { Maximal { general: true, ..engine } } else { engine };
    let mut ws: MaximalWorkspace = engine.workspace(&case.mechanism).expect("served");
    let mut state = engine.start(&case.mechanism, &mut ws, &case.mechanism.start_state()).expect("closed");
    for _ in 0..steps {
        let report = engine
            .step(
                &case.mechanism,
                &mut ws,
                &mut state,
                Input { u: &case.u },
                case.duration / f64::from(steps),
            )
            .ok()?;
        if report.splits + report.fallbacks > 0 {
            return None;
        }
    }
    let (mut poses, mut velocities) = (Vec::new(), Vec::new());
    for link in ws.snapshot(&state) {
        let rot = link.q.to_matrix();
        poses.extend(rot.0.concat());
        poses.extend(link.x.0);
        velocities.extend((rot * link.omega).0);
        velocities.extend(link.v.0);
    }
    Some([poses, velocities, ws.constraint_forces(&state, &case.u).concat()])
}

/// The rule: step counts grow by a quarter to a third; the errors above thirty times what two fine runs of order 12 differ by
/// count, and the order is the slope between the last of them and the one two before.
fn measured(case: &Case, order: u32) -> [Option<f64>; 3] {
    let fine =
        |per_second: f64| end(case, 12, (case.duration * per_second).round() as u32).expect("whole steps");
    let (exact, again) = (fine(250.0), fine(310.0));
    let floor: [f64; 3] = std::array::from_fn(|k| 30.0 * worst(&exact[k], &again[k]) + 1e-14);
    let mut points: [Vec<(f64, f64)>; 3] = Default::default();
    for steps in [6u32, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320] {
        // Order 2 is seen at once.
        let steps = if order == 2 { 4 * steps } else { steps };
        let Some(found) = end(case, order, steps) else { continue };
        for k in 0..3 {
            let error = worst(&found[k], &exact[k]);
            if error > floor[k] {
                points[k].push((f64::from(steps).ln(), error.ln()));
            }
        }
        if (0..3).all(|k| worst(&found[k], &exact[k]) < floor[k]) {
            break;
        }
    }
    points.map(|points| {
        // A single body without joints has no constraint forces.
        let [a, _, b] = *points.last_chunk::<3>()?;
        Some((a.1 - b.1) / (b.0 - a.0))
    })
}

fn check(case: &Case) {
    check_orders(case, &[2, 4, 6, 8]);
}

fn check_orders(case: &Case, orders: &[u32]) {
    for &order in orders {
        let slack = if order == 8 { 0.3 } else { 0.15 };
        let slopes = measured(case, order);
        println!("{}, order {order}: {slopes:.2?}", case.name);
        assert!(slopes[0].is_some() && slopes[1].is_some(), "{}, order {order}: no line", case.name);
        for slope in slopes.into_iter().flatten() {
            assert!((slope - f64::from(order)).abs() <= slack, "{}, order {order}: {slopes:?}", case.name);
        }
    }
}

#[test]
fn trees_have_their_order_in_positions_velocities_and_forces() {
    check(&of_file("free_body", 2.0));
    check(&of_file("spherical_pendulum", 0.8));
    check(&of_file("double_pendulum", 0.4));
    check(&of_file("all_joint_types", 0.2));
}

#[test]
fn loops_have_their_order_redundant_ones_too() {
    check(&of_file("fourbar_4revolute", 0.4));
    check(&of_file("slider_crank", 0.2));
    check(&of_sample(samples::rssr(), 0.4));
    // The thin coupler of this one spins: rounding hides the errors of order 8 before they are on a line.
    check_orders(&of_file("rssr", 0.4), &[2, 4, 6]);
    check(&of_file("three_rrr", 0.3));
    check(&of_sample(samples::bennett(), 1.2));
    check(&of_sample(samples::platform(), 0.4));
}

#[test]
fn parallel_robots_have_their_order() {
    check(&of_sample(samples::stewart(), 0.8));
    // At order 6 errors come down to rounding just where its springs change from Gauss points to nodes.
    check_orders(&of_sample(samples::delta(), 0.4), &[2, 4, 8]);
}

#[test]
fn dampers_armature_springs_drag_and_inputs_keep_the_order() {
    check(&of_file("tree_elements", 0.8));
    // At order 8 its errors reach rounding before they are on a line.
    check_orders(&of_file("fourbar_elements", 0.3), &[2, 4, 6]);
}

/// A pendulum of two links that rubs, sticks and runs into a limit.
fn rubbing() -> Mechanism {
    let mut model = samples::chain(2);
    for joint in &mut model.joints {
        joint.friction = PerCoordinate::One(0.6);
    }
    model.joints[1].limits = Some(LimitsDescription {
        lower: Some(PerCoordinate::One(-0.4)),
        upper: Some(PerCoordinate::One(0.7)),
        ..Default::default()
    });
    MechanismBuilder::from(model).build().expect("valid")
}

/// Friction, sticking and limits keep the order on poses: events are found, held coordinates are rows at all nodes.
#[test]
fn friction_and_limits_keep_the_order_and_agree_with_joint_coordinates() {
    let mechanism = rubbing();
    let mut start = mechanism.start_state();
    (start.q[0], start.q[1]) = (1.2, 0.3);
    let run = |method: Method, order: u32, steps: u32| {
        let options = MethodOptions { order: Some(order), tolerance: Some(1e-14), ..Default::default() };
        let mut sim = Simulator::new(&mechanism, method, &options, &start).expect("served");
        let mut events = 0;
        for _ in 0..steps {
            events += sim.step(&[], 1.6 / f64::from(steps)).expect("step").events;
        }
        (sim.state().q.clone(), events)
    };
    let (exact, events) = run(Method::Minimal, 8, 640);
    assert!(events >= 4, "{events} events only");
    for (order, least) in [(4, 3.5), (6, 5.0)] {
        let errors = [40, 80].map(|steps| {
            let (q, seen) = run(Method::Maximal, order, steps);
            assert_eq!(seen, events, "order {order}, {steps} steps");
            worst(&q, &exact)
        });
        let slope = (errors[0] / errors[1]).log2();
        println!("order {order}: {errors:?}, slope {slope:.2}");
        assert!(errors[1] < 1e-11 || slope > least, "order {order}: {errors:?} {slope}");
    }
}
