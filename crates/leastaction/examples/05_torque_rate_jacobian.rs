//! The torque rate of a motion and its exact Jacobian by position, velocity, acceleration and jerk.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::jet::{Coordinates, JetWorkspace, Quantity};
use leastaction::mechanism::{MechanismBuilder, samples};

fn main() -> Result<(), Box<dyn Error>> {
    let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
    let n = mechanism.nv();
    let (q, v, a, j) = (vec![0.3; n], vec![0.5; n], vec![-0.2; n], vec![1.0; n]);

    // Order 1: torque and its first time derivative, from position, velocity, acceleration, jerk.
    let mut jets = JetWorkspace::<f64>::new(&mechanism, 1);
    jets.forward_from_derivatives(&q, &[&v, &a, &j])?;
    println!("torque      {:.4?}", jets.torque(0));
    println!("torque rate {:.4?}", jets.torque(1));

    let rate = Quantity::torque(1);
    let (rows, columns) = (jets.jacobian_rows(rate.kind), jets.jacobian_columns());
    let mut jacobian = vec![0.0; jets.value_count(rate.kind) * rows * columns];
    jets.jacobian_into(&rate, Coordinates::Velocity, &mut jacobian)?;
    println!("its Jacobian has {rows} rows for each order and {columns} columns");

    // By differences in the first joint's jerk: the torque rate depends on it through the mass matrix alone.
    let step = 1e-6;
    let before = jets.torque(1).to_vec();
    let mut moved = j.clone();
    moved[0] += step;
    jets.forward_from_derivatives(&q, &[&v, &a, &moved])?;
    let slope = (jets.torque(1)[0] - before[0]) / step;
    println!("torque rate of the first joint per unit of its jerk: {slope:.4} kg m²");
    assert!(jacobian.iter().any(|x| (x - slope).abs() < 1e-6 * slope.abs()));
    Ok(())
}
