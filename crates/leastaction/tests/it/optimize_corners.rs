//! Weights at corners and edges of the simplex, and motions that textbooks know.

use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};
use leastaction::optimize::{
    BoundaryState, InverseOptions, MotionProblem, Sampling, Solution, SolveOptions, SolveStatus, Term,
    Transcription, Wish, infer, solve,
};

fn arm() -> Mechanism {
    MechanismBuilder::from(samples::chain(3)).build().expect("valid")
}

fn problem(mechanism: &Mechanism, names: &[&str], fixed: usize) -> MotionProblem {
    let n = mechanism.nv();
    let end = |q: f64| BoundaryState {
        derivatives: (0..fixed).map(|d| vec![if d == 0 { q } else { 0.0 }; n]).collect(),
    };
    let mut problem = MotionProblem {
        duration: 1.3,
        degree: 5,
        n_control: 20,
        sampling: Sampling::exact(5),
        start: end(0.3),
        end: end(-0.9),
        terms: names.iter().map(|name| Term::by_name(name, mechanism, 1.0).expect("a term")).collect(),
        limits: Vec::new(),
        via: Vec::new(),
        passive: false,
        tasks: Vec::new(),
    };
    problem.degree = problem.natural_degree();
    problem.sampling = Sampling::exact(problem.degree);
    problem
}

fn solved(tr: &mut Transcription, weights: &[f64]) -> Solution {
    let solution =
        solve(tr, weights, None, &SolveOptions::default(), &mut |_| Wish::Continue).expect("valid");
    assert_eq!(solution.status, SolveStatus::Solved, "{weights:?}: {:.1e}", solution.kkt_residual);
    solution
}

#[test]
fn minimum_derivatives_of_any_order_are_their_polynomials() {
    let mechanism = arm();
    let profiles: [(&str, usize, fn(f64) -> f64); 4] = [
        ("joint_velocity", 1, |s| s),
        ("joint_acceleration", 2, |s| s * s * (3.0 - 2.0 * s)),
        ("joint_jerk", 3, |s| s.powi(3) * (10.0 - 15.0 * s + 6.0 * s * s)),
        ("joint_snap", 4, |s| s.powi(4) * (35.0 - 84.0 * s + 70.0 * s * s - 20.0 * s.powi(3))),
    ];
    for (name, order, profile) in profiles {
        let mut problem = problem(&mechanism, &[name], order);
        problem.n_control = 50;
        let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
        let solution = solved(&mut tr, &[1.0]);
        let times: Vec<f64> = (0..=200).map(|i| 1.3 * f64::from(i) / 200.0).collect();
        let table = tr.table.resampled(times).expect("inside");
        let mut x = vec![0.0; table.len() * table.orders * tr.n];
        table.add_states(&solution.theta.high, tr.n, &mut x);
        table.add_states(&solution.theta.low, tr.n, &mut x);
        for (s, t) in table.times.iter().enumerate() {
            let expected = 0.3 - 1.2 * profile(t / 1.3);
            let found = x[s * table.orders * tr.n];
            assert!((found - expected).abs() < 1e-12, "{name} at {t}: {:e}", found - expected);
        }
        // The textbook's motion is optimal for its term, and for it alone.
        let found = infer(&mut tr, &solution.theta, &InverseOptions::default());
        assert!(!found.unexplained() && found.weights == [1.0]);
    }
}

#[test]
fn corners_and_edges_of_the_simplex_come_back() {
    let mechanism = arm();
    let names = ["joint_velocity", "joint_acceleration", "joint_jerk", "torque"];
    let mut tr = Transcription::with_jets(&mechanism, &problem(&mechanism, &names, 2)).expect("valid");
    let cases = [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
        [0.5, 0.0, 0.5, 0.0],
        [0.0, 0.3, 0.0, 0.7],
        [0.2, 0.3, 0.5, 0.0],
    ];
    for w in cases {
        let solution = solved(&mut tr, &w);
        let found = infer(&mut tr, &solution.theta, &InverseOptions::default());
        let l1: f64 = found.weights.iter().zip(&w).map(|(a, b)| (a - b).abs()).sum();
        assert!(found.identifiable() && !found.unexplained() && l1 < 1e-8, "{w:?}: {:?}", found.weights);
        assert!(found.sigma.iter().all(|s| *s < 1e-6), "{w:?}: {:?}", found.sigma);
        assert_eq!(found.alone.len(), usize::from(w.contains(&1.0)), "{w:?}");
    }
}

#[test]
fn terms_that_explain_a_motion_equally_well_are_all_given() {
    // A straight line has least velocity, acceleration and jerk; torque pulls another way.
    let mechanism = arm();
    let names = ["joint_velocity", "joint_acceleration", "joint_jerk", "torque"];
    let mut tr = Transcription::with_jets(&mechanism, &problem(&mechanism, &names, 1)).expect("valid");
    let w = [0.5, 0.25, 0.25, 0.0];
    let solution = solved(&mut tr, &w);
    let found = infer(&mut tr, &solution.theta, &InverseOptions::default());
    assert!(!found.unexplained() && !found.identifiable());
    assert_eq!(found.alone, [0, 1, 2]);
    assert_eq!(found.corners.len(), 3);
    assert_eq!(found.ranges[3], (0.0, 0.0));
    for (range, w) in found.ranges.iter().zip(&w) {
        assert!((range.0..=range.1).contains(w), "{:?}", found.ranges);
    }
    // Two names for one cost: the set is the edge between them.
    let twins = ["joint_jerk", "torque", "torque"];
    let mut tr = Transcription::with_jets(&mechanism, &problem(&mechanism, &twins, 2)).expect("valid");
    let solution = solved(&mut tr, &[0.5, 0.2, 0.3]);
    let found = infer(&mut tr, &solution.theta, &InverseOptions::default());
    assert!(!found.identifiable() && found.corners.len() == 2, "{:?}", found.corners);
    assert!((found.weights[0] - 0.5).abs() < 1e-8, "{:?}", found.weights);
    assert!(found.ranges[1].0 < 1e-8 && (found.ranges[1].1 - 0.5).abs() < 1e-8, "{:?}", found.ranges);
}

#[test]
fn a_motion_that_is_not_finite_is_explained_by_nothing() {
    let mechanism = arm();
    let mut tr = Transcription::with_jets(&mechanism, &problem(&mechanism, &["joint_jerk", "torque"], 2))
        .expect("valid");
    let mut theta = tr.initial_control_points();
    theta.high[30] = f64::INFINITY;
    assert!(infer(&mut tr, &theta, &InverseOptions::default()).unexplained());
}
