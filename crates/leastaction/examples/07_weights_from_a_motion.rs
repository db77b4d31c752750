//! Which cost explains a motion? The weights of a reach, found again from the reach alone.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::mechanism::{MechanismBuilder, samples};
use leastaction::optimize::{
    BoundaryState, InverseOptions, MotionProblem, Quantity, Sampling, SolveOptions, Term, Transcription,
    Wish, infer, solve,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
    let rest = vec![0.0; 3];
    let problem = MotionProblem {
        duration: 1.0,
        degree: 5,
        n_control: 20,
        sampling: Sampling::Gauss { points: 4 },
        start: BoundaryState { derivatives: vec![vec![0.1; 3], rest.clone(), rest.clone()] },
        end: BoundaryState { derivatives: vec![vec![0.9, -0.2, 0.5], rest.clone(), rest] },
        terms: vec![
            Term::new("velocity", Quantity::joint(1), 0.6),
            Term::new("torque", Quantity::torque(0), 0.1),
            Term::new("torque rate", Quantity::torque(1), 0.3),
        ],
        limits: Vec::new(),
        via: Vec::new(),
        passive: false,
        tasks: Vec::new(),
    };
    let weights: Vec<f64> = problem.terms.iter().map(|term| term.weight).collect();
    let mut transcription = Transcription::with_jets(&mechanism, &problem)?;
    let motion =
        solve(&mut transcription, &weights, None, &SolveOptions::default(), &mut |_| Wish::Continue)?;

    let found = infer(&mut transcription, &motion.theta, &InverseOptions::default());
    for ((term, truth), weight) in problem.terms.iter().zip(&weights).zip(&found.weights) {
        println!("{:>12}: {weight:.6} (truth {truth})", term.name);
        assert!((weight - truth).abs() < 1e-6);
    }
    Ok(())
}
