//! The smoothest reach of a three-joint arm: torque and jerk weighed against each other.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::mechanism::{MechanismBuilder, samples};
use leastaction::optimize::{
    BoundaryState, MotionProblem, Quantity, Sampling, SolveOptions, SolveStatus, Term, Transcription, Wish,
    solve,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
    let rest = vec![0.0; 3];
    let problem = MotionProblem {
        duration: 1.0,
        degree: 5,
        n_control: 20,
        sampling: Sampling::Gauss { points: 4 },
        start: BoundaryState { derivatives: vec![vec![0.0; 3], rest.clone(), rest.clone()] },
        end: BoundaryState { derivatives: vec![vec![0.8, -0.4, 0.6], rest.clone(), rest] },
        terms: vec![
            Term::new("torque", Quantity::torque(0), 1e-3),
            Term::new("jerk", Quantity::joint(3), 1e-4),
        ],
        limits: Vec::new(),
        via: Vec::new(),
        passive: false,
        tasks: Vec::new(),
    };
    let weights: Vec<f64> = problem.terms.iter().map(|term| term.weight).collect();
    let mut transcription = Transcription::with_jets(&mechanism, &problem)?;
    let best = solve(&mut transcription, &weights, None, &SolveOptions::default(), &mut |_| Wish::Continue)?;
    println!("{:?} in {} iterations, residual {:.1e}", best.status, best.iterations, best.kkt_residual);
    for (term, cost) in problem.terms.iter().zip(&best.term_costs) {
        println!("{:>8}: {cost:.4}", term.name);
    }
    assert_eq!(best.status, SolveStatus::Solved);
    Ok(())
}
