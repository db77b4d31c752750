//! Motions from costs and costs from motions.

use leastaction::mechanism::MechanismBuilder;
use leastaction::optimize::{
    ControlPoints, InverseOptions, Point, Solution, SolveOptions, SolveStatus, Transcription, Wish, infer,
    solve,
};
use leastaction_golden::{GoldenProblem, golden_problem};

use super::{Golden, scale};

fn run(tr: &mut Transcription, weights: &[f64], start: &[f64]) -> Solution {
    let start = ControlPoints::new(start.to_vec());
    solve(tr, weights, Some(&start), &SolveOptions::default(), &mut |_| Wish::Continue).expect("solvable")
}

pub(super) fn check(golden: &mut Golden) {
    for input in [
        "model",
        "trajectory",
        "boundary",
        "weights",
        "theta_init",
        "theta_warm",
        "limits",
        "gravity_enabled",
    ] {
        golden.input(format!("/{input}"));
    }
    let file = GoldenProblem::read(&golden.value).expect("readable");
    let mechanism = MechanismBuilder::from(file.model).build().expect("valid model");
    let problem = golden_problem(&golden.value, &mechanism).expect("valid problem");
    let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid problem");
    let weights: Vec<f64> = problem.terms.iter().map(|t| t.weight).collect();
    let limited = !problem.limits.is_empty();

    // The starting profile is part of the contract.
    let own = tr.initial_control_points().high;
    let worst = own.iter().zip(&file.theta_init).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    if worst > 1e-14 {
        golden.fail(format!("theta_init differs by {worst:.1e}"));
    }

    // Costs and gradients at the file's own control points.
    let high = golden.numbers("/expected/theta");
    let low = if golden.value["expected"]["theta_low"].is_null() {
        vec![0.0; high.len()]
    } else {
        golden.numbers("/expected/theta_low")
    };
    let theta = ControlPoints { high, low };
    let mut point = Point::default();
    tr.evaluate(&theta, &mut point);
    tr.linearize(&mut point);
    let costs = tr.term_costs(&point, &theta);
    for (t, cost) in costs.iter().enumerate() {
        golden.compare("term_costs", &format!("/expected/term_costs/{t}"), &[*cost], 1e-10 * cost.abs());
    }
    if !golden.value["expected"]["term_gradients_free"].is_null() {
        for (t, gradient) in tr.term_gradients(&point, &theta).iter().enumerate() {
            let pointer = format!("/expected/term_gradients_free/{t}");
            let tolerance = 1e-9 * scale(&golden.numbers(&pointer), 0.0);
            golden.compare("term_gradients", &pointer, gradient, tolerance);
        }
    }

    // Direct problem from the warm start; limits files also from the profile.
    let warm = run(&mut tr, &weights, &file.theta_warm);
    if warm.status != SolveStatus::Solved {
        golden.fail(format!("from theta_warm: {:?}, residual {:.1e}", warm.status, warm.kkt_residual));
    }
    let objective = golden.numbers("/expected/objective")[0];
    golden.compare("objective", "/expected/objective", &[warm.objective], 1e-9 * objective.abs());
    golden.compare("theta", "/expected/theta", &warm.theta.high, 1e-7);
    golden.input("/expected/theta_low");
    if limited {
        let cold = run(&mut tr, &weights, &file.theta_init);
        if cold.status != SolveStatus::Solved || cold.objective > objective * (1.0 + 1e-9) {
            golden.fail(format!("from theta_init: {:?}, objective {:.12e}", cold.status, cold.objective));
        }
        compare_active(golden, &warm);
    }

    // Inverse problem at the solution found.
    let inverse = infer(&mut tr, &warm.theta, &InverseOptions::default());
    let expected = golden.numbers("/expected/inverse_weights");
    let l1: f64 = inverse.weights.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum();
    golden.compare("inverse_weights", "/expected/inverse_weights", &inverse.weights, 1e-9);
    if l1 > 1e-9 {
        golden.fail(format!("inverse weights differ by {l1:.1e} in L1"));
    }
    if inverse.null_dimension != 1 {
        golden.fail(format!("null dimension {} {:?}", inverse.null_dimension, inverse.singular_values));
    }
}

fn compare_active(golden: &mut Golden, solution: &Solution) {
    let expected = golden.value["expected"]["active"].as_array().cloned().unwrap_or_default();
    if expected.len() != solution.active.len() {
        golden.fail(format!("{} active limits, {} expected", solution.active.len(), expected.len()));
    }
    for (i, entry) in expected.iter().enumerate() {
        let pointer = format!("/expected/active/{i}");
        let number = |key: &str| entry[key].as_u64().and_then(|x| usize::try_from(x).ok()).expect("number");
        let found = solution.active.iter().find(|a| {
            entry["kind"] == a.bound.kind.name()
                && entry["side"] == if a.bound.upper { "upper" } else { "lower" }
                && number("sample") == a.bound.sample
                && number("joint") == a.bound.coordinate
        });
        let Some(found) = found else {
            golden.fail(format!("{pointer}: not active here: {entry}"));
            continue;
        };
        golden.compare("active", &format!("{pointer}/sample"), &[found.bound.sample as f64], 0.5);
        golden.compare("active", &format!("{pointer}/joint"), &[found.bound.coordinate as f64], 0.5);
        let m = found.multiplier;
        golden.compare("multipliers", &format!("{pointer}/multiplier"), &[m], 1e-6 * m.abs());
    }
}
