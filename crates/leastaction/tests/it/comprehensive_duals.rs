//! Jets and every Jacobian agree with dual numbers on trees that mix all joint kinds.

use leastaction::jet::{Coordinates, JetWorkspace, Quantity, QuantityFrame, QuantityKind, Target};
use leastaction::mechanism::samples::Random;
use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};
use leastaction::scalar::Dual;
use leastaction::spatial::{Pose, Quat, Vec3};

use crate::support::{mixed_tree, random_state};

type D = Dual<f64, 1>;

/// Positions and velocity coefficients at random.
pub(crate) fn random_motion(mechanism: &Mechanism, k: i32, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let (q, _) = random_state(mechanism, seed);
    let mut rng = Random::new(seed ^ 0x77);
    let n = usize::try_from(k + 2).expect("order");
    (q, (0..n * mechanism.nv()).map(|_| rng.range(-1.0, 1.0)).collect())
}

/// Every request that belongs to a body, plus those of the whole mechanism.
fn requests(mechanism: &Mechanism) -> Vec<Quantity> {
    let placement = Pose::from_quat(Quat::new(0.8, 0.1, -0.4, 0.3).normalized(), Vec3([0.1, -0.2, 0.3]));
    let mut all = Vec::new();
    for body in mechanism.body_ids() {
        let target = Target::body(body).offset(placement);
        for (_, quantity) in QuantityKind::ALL.iter().filter(|(_, q)| q.needs_target()) {
            for frame in [QuantityFrame::Local, QuantityFrame::World] {
                all.push(Quantity { kind: *quantity, order: 0, frame, target: Some(target) });
            }
        }
    }
    all.extend(QuantityKind::ALL.iter().filter(|(_, q)| !q.needs_target()).map(|(_, q)| Quantity::whole(*q)));
    all
}

/// Rows of a value that vary like the Jacobian's rows. Poses vary on a group: their tangent is read off.
fn variation(request: &Quantity, value: &[D], rows: usize) -> Option<Vec<f64>> {
    match request.kind {
        // Checked through order-0 tangents and points below.
        QuantityKind::Pose | QuantityKind::Orientation => None,
        _ => Some(value.iter().map(|x| x.eps[0]).collect::<Vec<_>>()).filter(|v| v.len() % rows == 0),
    }
}

fn worst_jacobian_error(mechanism: &Mechanism, k: i32, seed: u64) -> (f64, String) {
    let (q, y) = random_motion(mechanism, k, seed);
    let nv = mechanism.nv();
    let n = usize::try_from(k + 2).expect("order");
    let mut jets = JetWorkspace::<f64>::new(mechanism, k);
    jets.forward(&q, &y).expect("valid state");
    let requests: Vec<Quantity> =
        requests(mechanism).into_iter().filter(|r| jets.value_count(r.kind) > 0).collect();
    let columns = jets.jacobian_columns();
    let jacobians: Vec<Vec<f64>> = requests
        .iter()
        .map(|r| {
            let mut out = vec![0.0; jets.value_count(r.kind) * jets.jacobian_rows(r.kind) * columns];
            jets.jacobian_into(r, Coordinates::Velocity, &mut out).expect("served");
            out
        })
        .collect();
    let mut differences = vec![0.0f64; requests.len()];
    let mut dual = jets.dual();
    for c in 0..nv {
        for r in 0..n + 1 {
            let q0: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
            let mut y1: Vec<D> = y.iter().map(|x| D::constant(*x)).collect();
            let mut a = vec![D::constant(0.0); nv];
            if r == 0 {
                a[c].eps[0] = 1.0;
            } else {
                y1[(r - 1) * nv + c].eps[0] = 1.0;
            }
            let mut q1 = q0.clone();
            mechanism.retract(&q0, &a, &mut q1);
            dual.forward(&q1, &y1).expect("valid state");
            let column = jets.column_index(c, r);
            for (i, request) in requests.iter().enumerate() {
                let quantity = request.kind;
                let rows = jets.jacobian_rows(quantity);
                let mut value =
                    vec![D::constant(0.0); jets.value_count(quantity) * jets.value_rows(quantity)];
                dual.value_into(request, &mut value).expect("served");
                let Some(exact) = variation(request, &value, rows) else { continue };
                for (row, x) in exact.iter().enumerate() {
                    let d = (x - jacobians[i][row * columns + column]).abs();
                    differences[i] = differences[i].max(d);
                }
            }
        }
    }
    let mut worst = (0.0, String::new());
    for (i, request) in requests.iter().enumerate() {
        let scale = jacobians[i].iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let error = differences[i] / scale;
        if error > worst.0 || error.is_nan() {
            worst = (error, format!("{} {:?}", request.kind.name(), request.frame));
        }
    }
    worst
}

#[test]
fn every_jacobian_equals_dual_numbers_on_trees_of_all_joint_kinds() {
    for k in -1..=4 {
        for seed in 0..3 {
            let mechanism = mixed_tree(seed, 6);
            let (error, what) = worst_jacobian_error(&mechanism, k, seed);
            assert!(error < 1e-12, "k = {k}, seed {seed}: {what} {error:e}");
        }
    }
}

#[test]
fn the_dynamic_path_serves_orders_beyond_the_constants() {
    let mechanism = mixed_tree(5, 3);
    let (error, what) = worst_jacobian_error(&mechanism, 8, 5);
    assert!(error < 1e-11, "{what} {error:e}");
}

/// The tangent of a pose: `A⁻¹ δA` at every order, from duals of the pose jet.
#[test]
fn pose_tangents_equal_dual_numbers() {
    for seed in 0..4 {
        let mechanism = mixed_tree(seed, 6);
        let (k, nv) = (2, mechanism.nv());
        let (q, y) = random_motion(&mechanism, k, seed);
        let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
        jets.forward(&q, &y).expect("valid state");
        let mut dual = jets.dual();
        let n = jets.velocity_count();
        for body in mechanism.body_ids() {
            let target = Target::body(body);
            let request = Quantity::local(QuantityKind::Pose, target);
            let columns = jets.jacobian_columns();
            let mut jacobian = vec![0.0; (n + 1) * 6 * columns];
            jets.jacobian_into(&request, Coordinates::Velocity, &mut jacobian).expect("served");
            let mut pose = vec![0.0; (n + 1) * 12];
            jets.value_into(&request, &mut pose).expect("served");
            for c in 0..nv {
                let q0: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
                let y1: Vec<D> = y.iter().map(|x| D::constant(*x)).collect();
                let mut a = vec![D::constant(0.0); nv];
                a[c].eps[0] = 1.0;
                let mut q1 = q0.clone();
                mechanism.retract(&q0, &a, &mut q1);
                dual.forward(&q1, &y1).expect("valid state");
                let mut moved = vec![D::constant(0.0); (n + 1) * 12];
                dual.value_into(&request, &mut moved).expect("served");
                // δR = R â and δp = R b as jet products.
                for l in 0..n + 1 {
                    let (mut dr, mut dp) = ([[0.0; 3]; 3], [0.0; 3]);
                    for m in 0..=l {
                        let at = |row: usize| jacobian[(m * 6 + row) * columns + jets.column_index(c, 0)];
                        let skew = Vec3([at(0), at(1), at(2)]).skew();
                        let rot = |i: usize, j: usize| pose[(l - m) * 12 + 3 * i + j];
                        for i in 0..3 {
                            for j in 0..3 {
                                dp[i] += rot(i, j) * at(3 + j);
                                for x in 0..3 {
                                    dr[i][j] += rot(i, x) * skew.0[x][j];
                                }
                            }
                        }
                    }
                    for i in 0..3 {
                        let scale = 1e-12 * pose.iter().fold(1.0f64, |m, x| m.max(x.abs()));
                        assert!((moved[l * 12 + 9 + i].eps[0] - dp[i]).abs() < scale);
                        for j in 0..3 {
                            assert!((moved[l * 12 + 3 * i + j].eps[0] - dr[i][j]).abs() < scale);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn products_equal_the_dense_torque_jacobian_and_are_transposes() {
    for seed in 0..4 {
        for k in 0..=4 {
            let mechanism = mixed_tree(seed, 7);
            let (q, y) = random_motion(&mechanism, k, seed);
            let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
            jets.forward(&q, &y).expect("valid state");
            let (nv, n) = (mechanism.nv(), jets.velocity_count());
            let mut rng = Random::new(seed + 9);
            let xi: Vec<f64> = (0..(n + 1) * nv).map(|_| rng.range(-1.0, 1.0)).collect();
            let lambda: Vec<f64> = (0..(n - 1) * nv).map(|_| rng.range(-1.0, 1.0)).collect();
            let (mut jvp, mut vjp) = (vec![0.0; lambda.len()], vec![0.0; xi.len()]);
            jets.torque_jvp(&xi, &mut jvp).expect("lengths");
            jets.torque_vjp(&lambda, &mut vjp).expect("lengths");
            let columns = jets.jacobian_columns();
            let mut dense = vec![0.0; (n - 1) * nv * columns];
            let request = Quantity::whole(QuantityKind::Torque);
            jets.jacobian_into(&request, Coordinates::Tangent, &mut dense).expect("served");
            let scale = jvp.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for (row, x) in jvp.iter().enumerate() {
                let mut sum = 0.0;
                for c in 0..nv {
                    for m in 0..n + 1 {
                        sum += dense[row * columns + jets.column_index(c, m)] * xi[m * nv + c];
                    }
                }
                assert!((x - sum).abs() < 1e-13 * scale * nv as f64, "{x} {sum}");
            }
            let left: f64 = jvp.iter().zip(&lambda).map(|(a, b)| a * b).sum();
            let right: f64 = vjp.iter().zip(&xi).map(|(a, b)| a * b).sum();
            let size: f64 = jvp.iter().zip(&lambda).map(|(a, b)| (a * b).abs()).sum();
            assert!((left - right).abs() < 1e-13 * size.max(1.0), "{left} {right}");
        }
    }
}

#[test]
fn long_chains_keep_their_digits() {
    let mechanism = MechanismBuilder::from(samples::chain_xy(128)).build().expect("valid");
    let (q, y) = random_motion(&mechanism, 0, 3);
    let mut jets = JetWorkspace::<f64>::new(&mechanism, 0);
    jets.forward(&q, &y).expect("valid state");
    let last = Target::body(mechanism.body_ids().last().expect("bodies"));
    let request = Quantity::local(QuantityKind::Velocity, last);
    let columns = jets.jacobian_columns();
    let mut jacobian = vec![0.0; 2 * 6 * columns];
    jets.jacobian_into(&request, Coordinates::Velocity, &mut jacobian).expect("served");
    let mut dual = jets.dual();
    let nv = mechanism.nv();
    for order in 0..2 {
        let mut worst = 0.0f64;
        let scale = jacobian[order * 6 * columns..][..6 * columns].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for c in 0..nv {
            for r in 0..3 {
                let mut q1: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
                let mut y1: Vec<D> = y.iter().map(|x| D::constant(*x)).collect();
                if r == 0 {
                    q1[c].eps[0] = 1.0;
                } else {
                    y1[(r - 1) * nv + c].eps[0] = 1.0;
                }
                dual.forward(&q1, &y1).expect("valid state");
                let mut value = vec![D::constant(0.0); 12];
                dual.value_into(&request, &mut value).expect("served");
                for row in 0..6 {
                    let at = (order * 6 + row) * columns + jets.column_index(c, r);
                    worst = worst.max((value[order * 6 + row].eps[0] - jacobian[at]).abs());
                }
            }
        }
        assert!(worst / scale < 1e-13, "order {order}: {:e}", worst / scale);
    }
}
