//! Quantities of cost terms: jets against dual numbers.

use leastaction::mechanism::{MechanismBuilder, samples};
use leastaction::optimize::{At, JetQuantities, Quantities, Quantity};
use leastaction::reference::QuantitiesByDuals;

fn state(size: usize) -> Vec<f64> {
    (0..size).map(|i| (1.7 * i as f64 + 0.3).sin() * (1.0 + 0.2 * i as f64)).collect()
}

#[test]
fn jets_and_duals_give_the_same_torques_rates_jacobians_and_hessians() {
    let mechanism = MechanismBuilder::from(samples::chain_xy(3)).build().expect("sample");
    let bodies: Vec<_> = mechanism.body_ids().collect();
    let quantities = [
        Quantity::Torque { order: 0 },
        Quantity::Torque { order: 1 },
        Quantity::Torque { order: 2 },
        Quantity::LinkVelocity { body: bodies[2], order: 0 },
        Quantity::LinkVelocity { body: bodies[1], order: 2 },
    ];
    let mut jets = JetQuantities::new(&mechanism, &quantities).expect("served");
    let mut duals = QuantitiesByDuals::new(&mechanism, &quantities);
    let rows = jets.rows();
    assert_eq!(rows, duals.rows());
    let size = 5 * 3;
    let x = state(size);
    let mu: Vec<f64> = (0..rows).map(|i| (0.9 * i as f64).cos()).collect();
    let (mut z, mut zd) = (vec![0.0; rows], vec![0.0; rows]);
    let (mut j, mut jd) = (vec![0.0; rows * size], vec![0.0; rows * size]);
    let (mut h, mut hd) = (vec![0.0; size * size], vec![0.0; size * size]);
    jets.jacobian(At::default(), &x, &mut z, &mut j);
    duals.jacobian(At::default(), &x, &mut zd, &mut jd);
    jets.add_hessian(At::default(), &x, &mu, &mut h);
    duals.add_hessian(At::default(), &x, &mu, &mut hd);
    for (name, a, b) in [("values", &z, &zd), ("Jacobian", &j, &jd), ("Hessian", &h, &hd)] {
        let scale = b.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= 1e-12 * scale, "{name}: {worst:.2e} of {scale:.2e}");
    }
}
