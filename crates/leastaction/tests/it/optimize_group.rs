//! Group-valued splines: a free body's reorientation and a floating arm's reach.

use leastaction::mechanism::{Mechanism, MechanismBuilder};
use leastaction::optimize::{
    Banded, BoundaryState, ControlPoints, HessianKind, InverseOptions, Limit, LimitKind, MotionProblem,
    OptimizeError, Point, Quantity, Sampling, SolveOptions, SolveStatus, Target, Term, TermKind,
    Transcription, Wish, infer, solve,
};
use leastaction::spatial::{Mat3, Quat, Vec3};

fn model(name: &str) -> Mechanism {
    let path = format!("{}/../../models/{name}.json", env!("CARGO_MANIFEST_DIR"));
    build(&std::fs::read_to_string(&path).expect("model file"))
}

fn build(text: &str) -> Mechanism {
    let options = leastaction::io::LoadOptions::default();
    let reading =
        leastaction::io::read_model(text, std::path::Path::new("model.json"), &options).expect("a model");
    MechanismBuilder::from(reading.description.expect("valid")).build().expect("valid")
}

fn problem(start: Vec<Vec<f64>>, end: Vec<Vec<f64>>, terms: Vec<Term>) -> MotionProblem {
    MotionProblem {
        duration: 2.0,
        degree: 5,
        n_control: 14,
        sampling: Sampling::Gauss { points: 4 },
        start: BoundaryState { derivatives: start },
        end: BoundaryState { derivatives: end },
        terms,
        limits: Vec::new(),
        via: Vec::new(),
        passive: false,
        tasks: Vec::new(),
    }
}

fn turned(angle: f64, axis: [f64; 3]) -> Vec<f64> {
    Quat::about(Vec3(axis), angle).normalized().to_array().to_vec()
}

/// A free body that starts and ends moving.
fn reorientation() -> (Mechanism, MotionProblem) {
    let mechanism = model("free-body");
    let mut end = turned(2.6, [1.0 / 3.0, -2.0 / 3.0, 2.0 / 3.0]);
    end.extend([0.5, -0.2, 0.3]);
    let moving = vec![0.3, -0.2, 0.1, 0.05, 0.1, -0.1];
    let start = vec![vec![1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0], moving.clone(), vec![0.1; 6]];
    let body = mechanism.body_ids().next().expect("a body");
    let terms = vec![
        Term::new("torque", Quantity::torque(0), 1.0),
        Term::new("rate", Quantity::torque(1), 0.1),
        Term::new("velocity", Quantity::joint(1), 0.3),
        Term::new("jerk", Quantity::joint(3), 1e-3),
        Term::new("twist", Quantity::velocity(Target::body(body), 1), 0.1),
        Term::new("momentum", Quantity::momentum(1, true), 0.2),
        Term::new(
            "orientation",
            TermKind::OrientationTracking { target: Target::body(body), reference: vec![Mat3::identity()] },
            0.5,
        ),
    ];
    (mechanism, problem(start, vec![end, moving], terms))
}

fn reach() -> (Mechanism, MotionProblem) {
    let mechanism = model("floating-arm");
    let start = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, -0.6, 1.4];
    let mut end = turned(0.5, [0.0, 0.6, 0.8]);
    end.extend([0.2, 0.1, 0.0, -0.3, 0.2, 0.3]);
    let fore = mechanism.body_by_name("fore").expect("fore");
    let terms = vec![
        Term::new("torque", Quantity::torque(0), 1.0),
        Term::new("rate", Quantity::torque(1), 0.01),
        Term::new("acceleration", Quantity::joint(2), 0.1),
        Term::new(
            "hand",
            TermKind::Tracking {
                quantity: Quantity::point(Target::body(fore).at_point(Vec3([0.7, 0.0, 0.0])), 0),
                reference: vec![Vec3([1.2, 0.4, 0.0])],
            },
            5.0,
        ),
        Term::new(
            "com",
            TermKind::Tracking { quantity: Quantity::com(1), reference: vec![Vec3::zero()] },
            0.5,
        ),
    ];
    let (nv, rest) = (mechanism.nv(), vec![0.0; mechanism.nv()]);
    assert_eq!(nv, 9);
    (mechanism, problem(vec![start, rest.clone()], vec![end, rest], terms))
}

fn weights(problem: &MotionProblem) -> Vec<f64> {
    problem.terms.iter().map(|t| t.weight).collect()
}

/// Control points away from any solution.
fn wild(tr: &Transcription) -> ControlPoints {
    let mut theta = tr.initial_control_points();
    for (i, x) in theta.high.iter_mut().enumerate() {
        *x += 0.3 * (1.7 * i as f64 + 0.4).sin();
    }
    tr.fix_boundary(&mut theta);
    theta
}

#[test]
fn gradients_of_every_term_equal_central_differences() {
    for (name, (mechanism, problem)) in [("reorientation", reorientation()), ("reach", reach())] {
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("served");
        let theta = wild(&tr);
        let mut point = Point::default();
        tr.evaluate(&theta, &mut point);
        tr.linearize(&mut point);
        let gradients = tr.term_gradients(&point, &theta);
        let at = tr.free.start * tr.n;
        for (t, gradient) in gradients.iter().enumerate() {
            let scale = gradient.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let mut worst = 0.0f64;
            for i in 0..gradient.len() {
                // Fourth-order differences: the truncation stays below the bar, the rounding as well.
                let h = 2e-3;
                let mut cost = |k: f64| {
                    let mut moved = theta.clone();
                    moved.high[at + i] += k * h;
                    tr.evaluate(&moved, &mut point);
                    tr.term_costs(&point, &moved)[t]
                };
                let slope = (8.0 * (cost(1.0) - cost(-1.0)) - (cost(2.0) - cost(-2.0))) / (12.0 * h);
                worst = worst.max((slope - gradient[i]).abs());
            }
            println!("{name} {}: gradient off by {:.1e} of the largest", tr.names[t], worst / scale);
            assert!(worst <= 1e-8 * scale, "{name} {}: {worst:.1e} of {scale:.1e}", tr.names[t]);
        }
    }
}

#[test]
fn the_hessian_is_the_derivative_of_the_gradient() {
    for (name, (mechanism, problem)) in [("reorientation", reorientation()), ("reach", reach())] {
        let w = weights(&problem);
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("served");
        let theta = wild(&tr);
        let mut point = Point::default();
        tr.evaluate(&theta, &mut point);
        tr.linearize(&mut point);
        let size = tr.unknowns();
        let (mut hessian, mut diagonal) = (Banded::new(size, tr.width()), vec![0.0; size]);
        tr.hessian(&w, &point, &[], &[], HessianKind::Exact, &mut hessian, &mut diagonal);
        let at = tr.free.start * tr.n;
        let scale = (0..size).fold(0.0f64, |m, i| m.max(hessian.diagonal(i).abs()));
        let mut worst = 0.0f64;
        for i in (0..size).step_by(5) {
            let h = 1e-3;
            let mut gradient = |k: f64| {
                let mut moved = theta.clone();
                moved.high[at + i] += k * h;
                tr.evaluate(&moved, &mut point);
                tr.linearize(&mut point);
                let rows = tr.term_gradients(&point, &moved);
                (0..size).map(|j| rows.iter().zip(&w).map(|(g, w)| w * g[j]).sum::<f64>()).collect::<Vec<_>>()
            };
            let (a, b, c, d) = (gradient(1.0), gradient(-1.0), gradient(2.0), gradient(-2.0));
            for j in 0..size {
                let slope = (8.0 * (a[j] - b[j]) - (c[j] - d[j])) / (12.0 * h);
                worst = worst.max((slope - hessian.get(i, j)).abs());
            }
        }
        println!("{name}: Hessian off by {:.1e} of the largest", worst / scale);
        assert!(worst <= 1e-8 * scale, "{name}: {worst:.1e} of {scale:.1e}");
    }
}

#[test]
fn both_motions_converge_quadratically_and_keep_their_boundary_states() {
    for (name, (mechanism, problem)) in [("reorientation", reorientation()), ("reach", reach())] {
        let w = weights(&problem);
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("served");
        let solution =
            solve(&mut tr, &w, None, &SolveOptions::default(), &mut |_| Wish::Continue).expect("valid");
        println!(
            "{name}: {:?}, objective {:.9}, residual {:.1e}, {} iterations",
            solution.status, solution.objective, solution.kkt_residual, solution.iterations
        );
        assert_eq!(solution.status, SolveStatus::Solved, "{name}: {:.1e}", solution.kkt_residual);
        assert!(solution.kkt_residual <= 1e-9 && solution.iterations <= 60);
        // The last full step squares the error.
        let tail: Vec<f64> = solution.history.iter().rev().take(2).map(|p| p.kkt).collect();
        assert!(tail[0] <= 1e-3 * tail[1], "{name}: {tail:?}");
        // Ends, through the chart.
        let chart = problem.chart(&mechanism);
        let ends = tr.table.resampled(vec![0.0, problem.duration]).expect("times");
        let orders = ends.orders;
        let mut x = vec![0.0; 2 * orders * tr.n];
        ends.add_states(&solution.theta.high, tr.n, &mut x);
        for (s, state) in [&problem.start, &problem.end].into_iter().enumerate() {
            let (q, rates) = chart.motion(ends.times[s], &x[s * orders * tr.n..(s + 1) * orders * tr.n]);
            let mut apart = vec![0.0; tr.n];
            mechanism.difference(&state.derivatives[0], &q, &mut apart);
            assert!(apart.iter().all(|d| d.abs() < 1e-14), "{name} configuration: {apart:?}");
            for (l, row) in state.derivatives.iter().skip(1).enumerate() {
                for (a, b) in rates[l].iter().zip(row) {
                    assert!((a - b).abs() < 1e-11, "{name} derivative {}: {a} {b}", l + 1);
                }
            }
        }
        // And the weights come back from the motion, where they are unique: torques of a free body are momentum rates.
        let found = infer(&mut tr, &solution.theta, &InverseOptions::default());
        let sum: f64 = w.iter().sum();
        let l1: f64 = found.weights.iter().zip(&w).map(|(a, b)| (a - b / sum).abs()).sum();
        println!("{name}: recovered weights, L1 {l1:.1e}, null space {}", found.null_dimension);
        if name == "reach" {
            assert!(l1 < 1e-9, "{name}: {l1:.1e}");
        } else {
            assert!(found.null_dimension > 1 && !found.unexplained());
        }
    }
}

/// A ball of inertia J turned by α in time T: the cubic angle along one axis, mean square torque 12 (J α)²/T⁴.
#[test]
fn a_ball_turns_about_one_axis_with_the_known_torque() {
    let mechanism = build(
        r#"{"schema": "leastaction/model/1", "name": "ball", "gravity": [0, 0, 0],
            "bodies": [{"name": "ball", "mass": 1, "com": [0, 0, 0], "inertia": [0.4, 0.4, 0.4, 0, 0, 0]}],
            "joints": [{"name": "pivot", "type": "spherical", "parent": "world", "child": "ball"}]}"#,
    );
    let (alpha, t) = (2.9, 2.0f64);
    let rest = vec![0.0; 3];
    let problem = problem(
        vec![turned(0.7, [0.6, 0.0, 0.8]), rest.clone()],
        vec![
            (Quat::about(Vec3([0.6, 0.0, 0.8]), 0.7) * Quat::about(Vec3([0.0, 1.0, 0.0]), alpha))
                .to_array()
                .to_vec(),
            rest,
        ],
        vec![Term::new("torque", Quantity::torque(0), 1.0)],
    );
    let mut tr = Transcription::with_jets(&mechanism, &problem).expect("served");
    let start = wild(&tr);
    let solution = solve(&mut tr, &[1.0], Some(&start), &SolveOptions::default(), &mut |_| Wish::Continue)
        .expect("valid");
    let known = 0.5 * 12.0 * (0.4f64 * alpha).powi(2) / t.powi(4);
    assert_eq!(solution.status, SolveStatus::Solved);
    assert!((solution.objective - known).abs() < 1e-10 * known, "{} {known}", solution.objective);
}

#[test]
fn a_floating_arm_stays_within_velocity_and_torque_limits() {
    let (mechanism, mut problem) = reach();
    problem.terms.truncate(3);
    let w = weights(&problem);
    let mut tr = Transcription::with_jets(&mechanism, &problem).expect("served");
    let free = solve(&mut tr, &w, None, &SolveOptions::default(), &mut |_| Wish::Continue).expect("valid");
    let mut point = Point::default();
    tr.evaluate(&free.theta, &mut point);
    let peak = point.z.chunks(tr.quantity_rows()).flat_map(|z| &z[..9]).fold(0.0f64, |m, x| m.max(x.abs()));
    problem.limits.push(Limit::symmetric(LimitKind::Torque, 0.85 * peak, 9));
    problem.limits.push(Limit::symmetric(LimitKind::Velocity, 1.3, 9));
    let mut tr = Transcription::with_jets(&mechanism, &problem).expect("served");
    let solution =
        solve(&mut tr, &w, None, &SolveOptions::default(), &mut |_| Wish::Continue).expect("valid");
    println!("limited reach: {:?}, {} act", solution.status, solution.active.len());
    assert_eq!(solution.status, SolveStatus::Solved, "{:.1e}", solution.kkt_residual);
    assert!(!solution.active.is_empty() && solution.violation < 1e-9);
    assert!(solution.objective > free.objective);
}

#[test]
fn plain_numbers_asked_of_a_rotation_are_refused() {
    let (mechanism, mut problem) = reach();
    problem.limits.push(Limit::symmetric(LimitKind::Position, 3.0, 9));
    assert!(matches!(
        problem.validate(&mechanism),
        Err(OptimizeError::RotationCoordinate { coordinate: 0, what: "position limits" })
    ));
    problem.limits.clear();
    problem.start.derivatives[0][..4].fill(0.0);
    assert!(matches!(problem.validate(&mechanism), Err(OptimizeError::NoDirection { end: "start", .. })));
}
