//! Terms beyond the plain ones: metric matrices, regularisation, passive torques, one term alone, limits and noise.

use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};
use leastaction::optimize::{
    Banded, BilevelOptions, BoundaryState, HessianKind, Limit, LimitKind, MotionProblem, Observation,
    OptimizeError, Point, Quantity, Sampling, SolveOptions, SolveStatus, Target, Term, TermKind,
    Transcription, Wish, infer_noisy, solve,
};

fn chain() -> Mechanism {
    MechanismBuilder::from(samples::chain_xy(3)).build().expect("sample")
}

fn problem(terms: Vec<Term>) -> MotionProblem {
    MotionProblem {
        duration: 1.5,
        degree: 5,
        n_control: 16,
        sampling: Sampling::Uniform { count: 50 },
        start: BoundaryState::at_rest(&[0.5, -0.3, 0.8]),
        end: BoundaryState::at_rest(&[-0.4, 0.6, -0.2]),
        terms,
        limits: Vec::new(),
        via: Vec::new(),
        passive: false,
        tasks: Vec::new(),
    }
}

fn links(mechanism: &Mechanism) -> TermKind {
    TermKind::Squares(mechanism.body_ids().map(|body| Quantity::velocity(Target::body(body), 0)).collect())
}

/// A positive definite 6×6 matrix.
fn metric() -> Vec<f64> {
    let mut g = vec![0.0; 36];
    for i in 0..6 {
        for j in 0..6 {
            g[i * 6 + j] = if i == j { 2.0 + i as f64 } else { 0.4 / (1.0 + (i + j) as f64) };
        }
    }
    g
}

#[test]
fn a_metric_matrix_weighs_pairs_of_rows_with_exact_derivatives() {
    let mechanism = chain();
    let mut term = Term::new("links", links(&mechanism), 1.0);
    term.metric_matrix = metric();
    let problem = problem(vec![term, Term::new("jerk", Quantity::joint(3), 1e-3)]);
    let weights = [1.0, 1e-3];
    let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
    let mut theta = tr.initial_control_points();
    theta.high.iter_mut().enumerate().for_each(|(i, x)| *x += 0.2 * (1.3 * i as f64).sin());
    tr.fix_boundary(&mut theta);
    let mut point = Point::default();
    tr.evaluate(&theta, &mut point);
    tr.linearize(&mut point);
    let gradient = tr.term_gradients(&point, &theta).remove(0);
    let size = tr.unknowns();
    let (mut hessian, mut diagonal) = (Banded::new(size, tr.width()), vec![0.0; size]);
    tr.hessian(&weights, &point, &[], &[], HessianKind::Exact, &mut hessian, &mut diagonal);
    // The cost is the matrix applied to the rows.
    let nz = tr.quantity_rows();
    let by_hand: f64 = point
        .z
        .chunks(nz)
        .flat_map(|z| z.chunks(6))
        .map(|r| (0..36).map(|k| metric()[k] * r[k / 6] * r[k % 6]).sum::<f64>())
        .sum::<f64>()
        / (2.0 * tr.table.len() as f64);
    let cost = tr.term_costs(&point, &theta)[0];
    assert!((cost - by_hand).abs() < 1e-13 * cost, "{cost} {by_hand}");
    let at = tr.free.start * tr.n;
    let scale = gradient.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let curve = (0..size).fold(0.0f64, |m, i| m.max(hessian.diagonal(i).abs()));
    for i in 0..size {
        let h = 1e-3;
        let mut look = |k: f64| {
            let mut moved = theta.clone();
            moved.high[at + i] += k * h;
            tr.evaluate(&moved, &mut point);
            tr.linearize(&mut point);
            let rows = tr.term_gradients(&point, &moved);
            let sum: Vec<f64> =
                (0..size).map(|j| weights[0] * rows[0][j] + weights[1] * rows[1][j]).collect();
            (tr.term_costs(&point, &moved)[0], sum)
        };
        let (a, b, c, d) = (look(1.0), look(-1.0), look(2.0), look(-2.0));
        let slope = (8.0 * (a.0 - b.0) - (c.0 - d.0)) / (12.0 * h);
        assert!((slope - gradient[i]).abs() < 1e-9 * scale, "gradient {i}");
        for j in 0..size {
            let slope = (8.0 * (a.1[j] - b.1[j]) - (c.1[j] - d.1[j])) / (12.0 * h);
            assert!((slope - hessian.get(i, j)).abs() < 1e-9 * curve, "Hessian {i} {j}");
        }
    }
}

#[test]
fn a_diagonal_metric_matrix_is_the_metric_by_rows() {
    let mechanism = chain();
    let diagonal = [1.0, 2.0, 0.5, 3.0, 0.1, 1.5];
    let mut by_rows = Term::new("links", links(&mechanism), 1.0);
    by_rows.metric = diagonal.repeat(3);
    let mut by_matrix = Term::new("links", links(&mechanism), 1.0);
    by_matrix.metric_matrix = (0..36).map(|k| if k / 6 == k % 6 { diagonal[k / 6] } else { 0.0 }).collect();
    let mut objectives = Vec::new();
    for term in [by_rows, by_matrix] {
        let problem = problem(vec![term, Term::new("jerk", Quantity::joint(3), 1e-3)]);
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
        let done = solve(&mut tr, &[1.0, 1e-3], None, &SolveOptions::default(), &mut |_| Wish::Continue);
        let done = done.expect("valid");
        assert_eq!(done.status, SolveStatus::Solved);
        objectives.push(done.objective);
    }
    assert!((objectives[0] - objectives[1]).abs() < 1e-12 * objectives[0], "{objectives:?}");
    let mut indefinite = Term::new("links", links(&mechanism), 1.0);
    indefinite.metric_matrix = metric();
    indefinite.metric_matrix[1] = 9.0;
    indefinite.metric_matrix[6] = 9.0;
    assert!(Transcription::with_jets(&mechanism, &problem(vec![indefinite])).is_err());
}

/// One term alone has no other to cancel with: minimum jerk is the quintic, and it is reported as solved.
#[test]
fn a_single_term_is_solved() {
    let mechanism = chain();
    for (kind, solved) in [(Quantity::joint(2), true), (Quantity::torque(0), true)] {
        let problem = problem(vec![Term::new("only", kind, 2.0)]);
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
        let done = solve(&mut tr, &[2.0], None, &SolveOptions::default(), &mut |_| Wish::Continue);
        let done = done.expect("valid");
        println!("{kind:?}: {:?} after {}, residual {:.1e}", done.status, done.iterations, done.kkt_residual);
        assert_eq!(done.status == SolveStatus::Solved, solved, "{kind:?}: {:.1e}", done.kkt_residual);
    }
}

#[test]
fn regularisation_pulls_to_a_posture_and_torques_include_dampers_when_asked() {
    let mut model = samples::chain_xy(3);
    for joint in &mut model.joints {
        joint.damping = leastaction::mechanism::PerCoordinate::One(2.0);
    }
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let terms = |pull: f64| {
        vec![
            Term::new("torque", Quantity::torque(0), 1.0),
            Term::new("jerk", Quantity::joint(3), 1e-3),
            Term::new("posture", TermKind::Regularisation { reference: vec![0.1; 16 * 3] }, pull),
        ]
    };
    let run = |pull: f64, passive: bool| {
        let problem = MotionProblem { passive, ..problem(terms(pull)) };
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
        let w: Vec<f64> = problem.terms.iter().map(|t| t.weight).collect();
        let done =
            solve(&mut tr, &w, None, &SolveOptions::default(), &mut |_| Wish::Continue).expect("valid");
        assert_eq!(done.status, SolveStatus::Solved, "{:.1e}", done.kkt_residual);
        done
    };
    let (free, pulled, damped) = (run(0.0, false), run(1e3, false), run(0.0, true));
    assert!(pulled.term_costs[2] < free.term_costs[2] && pulled.term_costs[0] > free.term_costs[0]);
    assert!((damped.objective - free.objective).abs() > 1e-3 * free.objective);
}

#[test]
fn noisy_recordings_whose_best_motion_is_beyond_a_limit_are_refused() {
    let mechanism = chain();
    let terms =
        vec![Term::new("torque", Quantity::torque(0), 0.5), Term::new("jerk", Quantity::joint(3), 0.5)];
    let mut problem = problem(terms);
    let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
    let done = solve(&mut tr, &[0.5, 0.5], None, &SolveOptions::default(), &mut |_| Wish::Continue);
    let done = done.expect("valid");
    let table = tr.table.resampled((0..60).map(|i| 1.5 * f64::from(i) / 59.0).collect()).expect("times");
    let mut x = vec![0.0; table.len() * table.orders * 3];
    table.add_states(&done.theta.high, 3, &mut x);
    let mut rng = samples::Random::new(5);
    let q: Vec<f64> = (0..table.len())
        .flat_map(|s| x[s * table.orders * 3..][..3].to_vec())
        .map(|q| q + rng.range(-1e-4, 1e-4))
        .collect();
    let observation = Observation { times: table.times.clone(), q };
    let options = BilevelOptions::default();
    assert!(infer_noisy(&mut tr, &observation, &options).is_ok());
    let fastest =
        x.chunks(table.orders * 3).flat_map(|x| x[3..6].to_vec()).fold(0.0f64, |m, v| m.max(v.abs()));
    for (share, fits) in [(1.5, true), (0.8, false)] {
        problem.limits = vec![Limit::symmetric(LimitKind::Velocity, share * fastest, 3)];
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
        match infer_noisy(&mut tr, &observation, &options) {
            Ok(_) => assert!(fits, "{share}"),
            Err(OptimizeError::LimitActs { kind, .. }) => assert!(!fits && kind == "velocity"),
            Err(other) => panic!("{other}"),
        }
    }
}
