//! Stop a run, store its state, go on: 500 + 500 steps are 1000 steps, bit for bit.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{MechanismBuilder, State, samples};

fn main() -> Result<(), Box<dyn Error>> {
    let mechanism = MechanismBuilder::from(samples::ball_chain(5)).build()?;
    let options = MethodOptions { order: Some(4), ..MethodOptions::default() };
    let begin = |start: &State| Simulator::new(&mechanism, Method::Minimal, &options, start);

    let mut whole = begin(&mechanism.start_state())?;
    for _ in 0..1000 {
        whole.step(&[], 0.005)?;
    }

    let mut first = begin(&mechanism.start_state())?;
    for _ in 0..500 {
        first.step(&[], 0.005)?;
    }
    // A checkpoint is the public state and what the integrator continues from; it is written as JSON by `StateFile`.
    let checkpoint = first.checkpoint();
    let mut second = begin(&checkpoint)?;
    for _ in 0..500 {
        second.step(&[], 0.005)?;
    }
    assert_eq!(whole.state().q, second.state().q);
    println!("equal to the last bit: q[0] = {:?}", second.state().q[0]);
    Ok(())
}
