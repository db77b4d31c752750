//! Direct and inverse problems from the quintic profile: the published cases and torque limits.

use std::path::Path;

use leastaction::mechanism::{Mechanism, MechanismBuilder};
use leastaction::optimize::{
    ControlPoints, InverseOptions, Limit, LimitKind, MotionProblem, Point, Sampling, Solution, SolveOptions,
    SolveStatus, Transcription, Wish, infer, solve,
};
use leastaction_golden::{GoldenProblem, golden_problem};
use serde_json::Value;

pub(crate) fn golden(name: &str) -> (Mechanism, MotionProblem) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/optimization_{name}.json"));
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("file")).expect("JSON");
    let mechanism =
        MechanismBuilder::from(GoldenProblem::read(&value).expect("readable").model).build().expect("model");
    let problem = golden_problem(&value, &mechanism).expect("problem");
    (mechanism, problem)
}

fn weights(problem: &MotionProblem) -> Vec<f64> {
    problem.terms.iter().map(|t| t.weight).collect()
}

pub(crate) fn cold(tr: &mut Transcription, weights: &[f64], start: Option<&ControlPoints>) -> Solution {
    solve(tr, weights, start, &SolveOptions::default(), &mut |_| Wish::Continue).expect("solvable")
}

/// Solves from the profile, first without the last (stiffest) term if there are five.
fn continued(mechanism: &Mechanism, problem: &MotionProblem) -> (Transcription, Solution) {
    let w = weights(problem);
    let mut tr = Transcription::with_jets(mechanism, problem).expect("valid");
    let start = if w.len() == 5 {
        let mut fewer = w.clone();
        fewer[4] = 0.0;
        Some(ControlPoints::new(cold(&mut tr, &fewer, None).theta.high))
    } else {
        None
    };
    let solution = cold(&mut tr, &w, start.as_ref());
    (tr, solution)
}

#[test]
#[expect(clippy::print_stdout, reason = "figures for people")]
fn the_published_cases_are_solved_and_inverted_from_the_quintic_profile() {
    for name in ["arm3_a", "arm3_b", "arm3_c", "arm7"] {
        let (mechanism, problem) = golden(name);
        let started = std::time::Instant::now();
        let (mut tr, solution) = continued(&mechanism, &problem);
        let seconds = started.elapsed().as_secs_f64();
        assert_eq!(solution.status, SolveStatus::Solved, "{name}: {:.1e}", solution.kkt_residual);
        let inverse = infer(&mut tr, &solution.theta, &InverseOptions::default());
        let l1: f64 = inverse.weights.iter().zip(weights(&problem)).map(|(a, b)| (a - b).abs()).sum();
        println!(
            "{name}: objective {:.9}, {} iterations, {:.1} ms, gradient {:.1e}, L1 {l1:.1e}, amplification {:.1}",
            solution.objective,
            solution.iterations,
            1e3 * seconds,
            solution.kkt_residual,
            inverse.amplification
        );
        assert!(l1 <= 1e-10, "{name}: L1 {l1:.1e}");
    }
}

fn limited(mechanism: &Mechanism, problem: &MotionProblem, fraction: f64) -> (Solution, f64) {
    let mut free = problem.clone();
    free.limits.clear();
    let w = weights(problem);
    let mut tr = Transcription::with_jets(mechanism, &free).expect("valid");
    let unconstrained = cold(&mut tr, &w, None);
    let mut point = Point::default();
    tr.evaluate(&unconstrained.theta, &mut point);
    let peak = point.z.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let mut tight = free;
    tight.limits.push(Limit::symmetric(LimitKind::Torque, fraction * peak, mechanism.nv()));
    let mut tr = Transcription::with_jets(mechanism, &tight).expect("valid");
    (cold(&mut tr, &w, None), fraction * peak)
}

/// A planar arm of two links, as the reference arm of three.
fn two_links() -> (Mechanism, MotionProblem) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/optimization_arm3_limits.json");
    let mut value: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("file")).expect("JSON");
    value["model"]["bodies"].as_array_mut().expect("bodies").truncate(2);
    for key in ["q_start", "q_end", "v_start", "v_end"] {
        value["boundary"][key].as_array_mut().expect("list").truncate(2);
    }
    let mechanism =
        MechanismBuilder::from(GoldenProblem::read(&value).expect("readable").model).build().expect("model");
    let problem = golden_problem(&value, &mechanism).expect("problem");
    (mechanism, problem)
}

#[test]
#[expect(clippy::print_stdout, reason = "figures for people")]
fn torque_limits_down_to_60_percent_of_the_peak_are_solved_or_proven_infeasible() {
    let arms = [("2", two_links()), ("3", golden("arm3_limits")), ("7", golden("arm7"))];
    for (name, (mechanism, problem)) in arms {
        for fraction in [0.95, 0.85, 0.75, 0.60] {
            let started = std::time::Instant::now();
            let (solution, limit) = limited(&mechanism, &problem, fraction);
            println!(
                "{name} joints at {:.0} % ({limit:.2} N m): {:?}, {} iterations, objective {:.6}, {} active, KKT {:.1e}, \
                 violation {:.1e} / {:.1e}, {:.0} ms {:?}",
                100.0 * fraction,
                solution.status,
                solution.iterations,
                solution.objective,
                solution.active.len(),
                solution.kkt_residual,
                solution.violation,
                solution.violation_between,
                1e3 * started.elapsed().as_secs_f64(),
                solution.obstacle,
            );
            match solution.status {
                SolveStatus::Solved => {
                    assert!(solution.kkt_residual <= 1e-8 && solution.violation <= 1e-8 * limit)
                }
                SolveStatus::Infeasible => assert!(solution.obstacle.is_some()),
                other => panic!("{name} joints at {fraction}: {other:?}"),
            }
        }
    }
}

#[test]
#[ignore = "timing: run alone, in release"]
#[expect(clippy::print_stdout, reason = "figures for people")]
fn time_per_newton_iteration_grows_linearly() {
    for name in ["arm3_b", "arm7"] {
        let (mechanism, problem) = golden(name);
        let mut times: Vec<f64> = (0..20)
            .map(|_| {
                let started = std::time::Instant::now();
                let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
                let mut options = SolveOptions::default();
                options.newton.polish = false;
                let s =
                    solve(&mut tr, &weights(&problem), None, &options, &mut |_| Wish::Continue).expect("ok");
                assert_eq!(s.status, SolveStatus::Solved);
                started.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{name}: median {:.2} ms, fastest {:.2} ms", 1e3 * times[10], 1e3 * times[0]);
        for (control, samples) in [(50, 200), (100, 200), (200, 200), (400, 200), (50, 400), (50, 800)] {
            let mut problem = problem.clone();
            problem.n_control = control;
            problem.sampling = Sampling::Uniform { count: samples.max(control) };
            let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let mut options = SolveOptions::default();
                options.newton.polish = false;
                options.newton.max_iterations = 5;
                let started = std::time::Instant::now();
                let s =
                    solve(&mut tr, &weights(&problem), None, &options, &mut |_| Wish::Continue).expect("ok");
                best = best.min(started.elapsed().as_secs_f64() / s.iterations.max(1) as f64);
            }
            println!(
                "{name}: {control} control points, {} samples: {:.3} ms per iteration",
                samples.max(control),
                1e3 * best
            );
        }
    }
}
