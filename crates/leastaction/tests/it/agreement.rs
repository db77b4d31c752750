//! Two routes, one answer.

use leastaction::dynamics::{Dynamics, DynamicsLanes};
use leastaction::mechanism::{JointType, MechanismBuilder, samples};
use leastaction::scalar::Dual;
use leastaction::scalar::Real;

use crate::support::{mixed_tree, random_state, random_vector, worst};

#[test]
fn forward_dynamics_undoes_inverse_dynamics_on_every_joint_kind() {
    for seed in 0..20 {
        let mechanism = mixed_tree(seed, 9);
        let (q, v) = random_state(&mechanism, seed);
        let a = random_vector(mechanism.nv(), seed);
        let mut d = Dynamics::new(&mechanism);
        let (mut tau, mut back) = (vec![0.0; a.len()], vec![0.0; a.len()]);
        d.inverse_dynamics_into(&mechanism, &q, &v, &a, &mut tau);
        d.forward_dynamics_into(&mechanism, &q, &v, &tau, &mut back);
        assert!(worst(&back, &a) < 1e-10, "seed {seed}: {:e}", worst(&back, &a));
    }
}

#[test]
fn mass_matrix_is_the_slope_of_inverse_dynamics() {
    for seed in 0..10 {
        let mechanism = mixed_tree(seed, 9);
        let (q, _) = random_state(&mechanism, seed);
        let nv = mechanism.nv();
        let mut d = Dynamics::new(&mechanism);
        let mut m = vec![0.0; nv * nv];
        d.mass_matrix_into(&mechanism, &q, &mut m);
        let (zero, mut bias) = (vec![0.0; nv], vec![0.0; nv]);
        d.inverse_dynamics_into(&mechanism, &q, &zero, &zero, &mut bias);
        for c in 0..nv {
            let mut e = vec![0.0; nv];
            e[c] = 1.0;
            let mut tau = vec![0.0; nv];
            d.inverse_dynamics_into(&mechanism, &q, &zero, &e, &mut tau);
            let column: Vec<f64> = (0..nv).map(|r| m[r * nv + c]).collect();
            let slope: Vec<f64> = tau.iter().zip(&bias).map(|(t, b)| t - b).collect();
            assert!(worst(&slope, &column) < 1e-13);
        }
    }
}

/// `d/dt (∂L/∂v) − ad* terms = τ` checked through energy: power of τ equals the change of energy along the motion.
#[test]
fn inverse_dynamics_supplies_the_power_that_changes_the_energy() {
    type D = Dual<f64, 1>;
    for seed in 0..20 {
        let mechanism = mixed_tree(seed, 9);
        let (q, v) = random_state(&mechanism, seed);
        let a = random_vector(mechanism.nv(), seed);
        let mut tau = vec![0.0; a.len()];
        Dynamics::new(&mechanism).inverse_dynamics_into(&mechanism, &q, &v, &a, &mut tau);
        let power: f64 = tau.iter().zip(&v).map(|(t, v)| t * v).sum();

        // Energy along q ⊞ εv, v + εa.
        let constant = |x: &f64| D::constant(*x);
        let q0: Vec<D> = q.iter().map(constant).collect();
        let u: Vec<D> = v.iter().map(|v| D { re: 0.0, eps: [*v] }).collect();
        let mut q1 = q0.clone();
        mechanism.retract(&q0, &u, &mut q1);
        let v1: Vec<D> = v.iter().zip(&a).map(|(v, a)| D { re: *v, eps: [*a] }).collect();
        let energy = Dynamics::<D>::new(&mechanism).observe(&mechanism, &q1, &v1).total();
        let scale = power.abs().max(energy.value().abs()).max(1.0);
        assert!((power - energy.eps[0]).abs() < 1e-12 * scale, "seed {seed}: {power} {}", energy.eps[0]);
    }
}

#[test]
fn four_states_side_by_side_have_the_bits_of_each_alone() {
    let kinds = [JointType::Revolute, JointType::Continuous, JointType::Prismatic];
    for seed in 0..20 {
        let mut model = samples::random_tree(seed, 9, &kinds);
        model.joints[0].kind = JointType::Revolute;
        let mechanism = MechanismBuilder::from(model).build().unwrap();
        // Only where the processor has lanes: elsewhere there is nothing to compare.
        let Some(mut lanes) = DynamicsLanes::new(&mechanism) else { return };
        let n = mechanism.nv();
        let states: Vec<_> = (0..4).map(|k| random_state(&mechanism, 100 * seed + k)).collect();
        let given: Vec<_> = (0..4).map(|k| random_vector(n, 7 * seed + k)).collect();
        let rows = [
            std::array::from_fn(|k| states[k].0.as_slice()),
            std::array::from_fn(|k| states[k].1.as_slice()),
            std::array::from_fn(|k| given[k].as_slice()),
        ];
        let mut d = Dynamics::new(&mechanism);
        for inverse in [true, false] {
            let [mut w, mut x, mut y, mut z] = [vec![0.0; n], vec![0.0; n], vec![0.0; n], vec![0.0; n]];
            let out = [w.as_mut_slice(), &mut x, &mut y, &mut z];
            match inverse {
                true => lanes.inverse_dynamics(&mechanism, rows, out),
                false => lanes.forward_dynamics(&mechanism, rows, out),
            }
            for (k, found) in [w, x, y, z].iter().enumerate() {
                let (q, v) = &states[k];
                let mut alone = vec![0.0; n];
                match inverse {
                    true => d.inverse_dynamics_into(&mechanism, q, v, &given[k], &mut alone),
                    false => d.forward_dynamics_into(&mechanism, q, v, &given[k], &mut alone),
                }
                assert_eq!(found, &alone, "seed {seed}, state {k}, inverse {inverse}");
            }
        }
    }
    let balls = MechanismBuilder::from(samples::ball_chain(2)).build().unwrap();
    assert!(DynamicsLanes::new(&balls).is_none());
}
