//! The assembled torque Jacobian: the general one's numbers, far from the origin too.

use leastaction::jet::{
    Coordinates, JetWorkspace, Quantity, QuantityKind, Target, TorqueJacobian, factorial,
};
use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};

use crate::comprehensive_duals::random_motion;
use crate::support::mixed_tree;

fn worst_difference(mechanism: &Mechanism, k: i32, seed: u64) -> f64 {
    let (q, y) = random_motion(mechanism, k, seed);
    let nv = mechanism.nv();
    let mut jets = JetWorkspace::<f64>::new(mechanism, k);
    jets.forward(&q, &y).expect("valid state");
    let n = jets.velocity_count();
    let columns = jets.jacobian_columns();
    let mut dense = vec![0.0; (n - 1) * nv * columns];
    let request = Quantity::whole(QuantityKind::Torque);
    jets.jacobian_into(&request, Coordinates::Tangent, &mut dense).expect("served");

    let derivatives: Vec<Vec<f64>> =
        (0..n).map(|l| y[l * nv..(l + 1) * nv].iter().map(|x| x * factorial(l)).collect()).collect();
    let derivatives: Vec<&[f64]> = derivatives.iter().map(Vec::as_slice).collect();
    let mut fast = TorqueJacobian::new(mechanism, k).expect("order");
    fast.evaluate(&q, &derivatives).expect("valid state");
    let mut worst = 0.0f64;
    for l in 0..n - 1 {
        let f = factorial(l);
        let tau = jets.torque(l);
        let scale = tau.iter().fold(1.0f64, |m, x| m.max(f * x.abs()));
        for c in 0..nv {
            worst = worst.max((fast.torque(l)[c] - f * tau[c]).abs() / scale);
        }
        for m in 0..l + 3 {
            let f = f / factorial(m);
            let block = fast.block(l, m);
            let scale = block.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for row in 0..nv {
                for c in 0..nv {
                    let exact = f * dense[(l * nv + row) * columns + jets.column_index(c, m)];
                    worst = worst.max((block[row * nv + c] - exact).abs() / scale);
                }
            }
        }
    }
    worst
}

#[test]
fn assembled_blocks_equal_the_general_jacobian_at_every_order() {
    for k in 0..=5 {
        for seed in 0..4 {
            let error = worst_difference(&mixed_tree(seed, 8), k, seed);
            assert!(error < 1e-13, "k = {k}, seed {seed}: {error:e}");
        }
        for n in [1, 3, 4, 5, 9] {
            let chain = MechanismBuilder::from(samples::chain_xy(n)).build().expect("valid");
            let error = worst_difference(&chain, k, 7);
            assert!(error < 1e-13, "k = {k}, chain of {n}: {error:e}");
        }
    }
}

#[test]
fn a_used_jacobian_gives_the_same_bits_as_a_new_one() {
    let mechanism = mixed_tree(3, 8);
    let (q, y) = random_motion(&mechanism, 1, 1);
    let (other, z) = random_motion(&mechanism, 1, 2);
    let nv = mechanism.nv();
    let (a, b): (Vec<&[f64]>, Vec<&[f64]>) = (y.chunks_exact(nv).collect(), z.chunks_exact(nv).collect());
    let mut used = TorqueJacobian::new(&mechanism, 1).expect("order");
    used.evaluate(&other, &b).expect("valid");
    used.evaluate(&q, &a).expect("valid");
    let mut fresh = TorqueJacobian::new(&mechanism, 1).expect("order");
    fresh.evaluate(&q, &a).expect("valid");
    for (l, m) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)] {
        assert_eq!(used.block(l, m), fresh.block(l, m));
    }
}

#[test]
fn torques_do_not_change_when_the_mechanism_is_moved_ten_kilometres_away() {
    for seed in 0..5 {
        let model = samples::random_tree(seed, 7, &crate::support::ALL_KINDS);
        let mut far = model.clone();
        let here = MechanismBuilder::from(model).build().expect("valid");
        for joint in far.joints.iter_mut().filter(|j| j.parent == "world") {
            joint.parent_placement.p = joint.parent_placement.p.map(|x| x + 1e4);
        }
        let there = MechanismBuilder::from(far).build().expect("valid");
        let (q, y) = random_motion(&here, 2, seed);
        let (mut a, mut b) = (JetWorkspace::<f64>::new(&here, 2), JetWorkspace::<f64>::new(&there, 2));
        a.forward(&q, &y).expect("valid");
        b.forward(&q, &y).expect("valid");
        for l in 0..3 {
            let scale = a.torque(l).iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let worst =
                a.torque(l).iter().zip(b.torque(l)).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / scale;
            assert!(worst < 1e-14, "seed {seed}, order {l}: {worst:e}");
        }
        for body in here.body_ids() {
            for quantity in [
                QuantityKind::Velocity,
                QuantityKind::Momentum,
                QuantityKind::LinkForce,
                QuantityKind::JointForce,
            ] {
                let request = Quantity::local(quantity, Target::body(body));
                let far_request = Quantity::local(quantity, Target::body(body));
                let size = a.value_count(quantity) * 6;
                let (mut x, mut z) = (vec![0.0; size], vec![0.0; size]);
                a.value_into(&request, &mut x).expect("served");
                b.value_into(&far_request, &mut z).expect("served");
                let scale = x.iter().fold(0.0f64, |m, x| m.max(x.abs())).max(1e-30);
                let worst = x.iter().zip(&z).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / scale;
                assert!(worst < 1e-14, "seed {seed}: {} {worst:e}", quantity.name());
            }
        }
    }
}
