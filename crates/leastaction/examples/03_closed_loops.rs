//! A four-bar linkage: the loop stays closed to rounding, and the forces in its joints come for free.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{MechanismBuilder, samples};

fn main() -> Result<(), Box<dyn Error>> {
    let mechanism = MechanismBuilder::from(samples::four_bar()).build()?;
    let start = mechanism.start_state();
    let mut simulator = Simulator::new(&mechanism, Method::Maximal, &MethodOptions::default(), &start)?;
    for _ in 0..10_000 {
        simulator.step(&[], 0.01)?;
    }
    let gap = simulator.gap();
    println!("after {:.0} s the loop is open by {gap:.1e} m", simulator.state().t);
    assert!(gap < 1e-12);

    let mut forces = Vec::new();
    simulator.joint_forces(&mut forces);
    for (joint, force) in mechanism.joints().iter().zip(&forces) {
        let [.., x, y, z] = force.wrench;
        println!("{:>8}: {:.3} N", joint.name, (x * x + y * y + z * z).sqrt());
    }
    Ok(())
}
