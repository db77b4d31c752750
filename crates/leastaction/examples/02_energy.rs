//! The energy of a chaotic pendulum over a minute: bounded with a variational integrator, adrift with a plain one.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{MechanismBuilder, samples};

fn main() -> Result<(), Box<dyn Error>> {
    let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
    let start = mechanism.start_state();
    let mut dynamics = Dynamics::new(&mechanism);
    let energy = dynamics.observe(&mechanism, &start.q, &start.v).total();

    let mut worst = Vec::new();
    for method in [Method::Minimal, Method::SemiImplicit] {
        let mut simulator = Simulator::new(&mechanism, method, &MethodOptions::default(), &start)?;
        let mut error: f64 = 0.0;
        for _ in 0..6000 {
            simulator.step(&[], 0.01)?;
            let state = simulator.state();
            error = error.max((dynamics.observe(&mechanism, &state.q, &state.v).total() - energy).abs());
        }
        println!("{:>14}: energy off by at most {error:.2e} J", method.name());
        worst.push(error);
    }
    assert!(worst[0] < 1e-2 * worst[1]);
    Ok(())
}
