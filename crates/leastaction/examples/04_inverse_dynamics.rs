//! Torques of a motion, the mass matrix, and back again: RNEA, CRBA and ABA on one model.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::dynamics::Dynamics;
use leastaction::mechanism::{MechanismBuilder, samples};

fn main() -> Result<(), Box<dyn Error>> {
    let mechanism = MechanismBuilder::from(samples::chain_xy(6)).build()?;
    let n = mechanism.nv();
    let (q, v) = (vec![0.3; n], vec![-0.5; n]);
    let a: Vec<f64> = (0..n).map(|i| 0.1 * i as f64).collect();

    // One workspace per thread; every call writes into memory of yours.
    let mut dynamics = Dynamics::new(&mechanism);
    let (mut tau, mut mass, mut back) = (vec![0.0; n], vec![0.0; n * n], vec![0.0; n]);
    dynamics.inverse_dynamics_into(&mechanism, &q, &v, &a, &mut tau);
    dynamics.mass_matrix_into(&mechanism, &q, &mut mass);
    dynamics.forward_dynamics_into(&mechanism, &q, &v, &tau, &mut back);

    println!("torques {tau:.3?}");
    println!("largest entry of the mass matrix {:.3}", mass.iter().copied().fold(f64::MIN, f64::max));
    for (wanted, found) in a.iter().zip(&back) {
        assert!((wanted - found).abs() < 1e-12);
    }
    Ok(())
}
