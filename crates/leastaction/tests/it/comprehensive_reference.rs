//! The fast jets against slow twins, batches against single samples, and what they promise about memory and time.

use leastaction::jet::{
    Coordinates, Cost, CostEvaluator, JetWorkspace, Quantity, QuantityKind, RecordedMotion, Target,
    TorqueJacobian, factorial,
};
use leastaction::mechanism::samples::{self, Random};
use leastaction::mechanism::{
    JointType, Mechanism, MechanismBuilder, PerCoordinate, SpringDescription, WORLD,
};
use leastaction::scalar::Dual;
use leastaction::spline::FitOptions;
use leastaction::trajectory::{Trajectory, TrajectoryLayout};
use leastaction_golden::comprehensive::read;
use leastaction_motion::reference::cmtm_dense::{Dense, DenseMotion};

use crate::comprehensive_duals::random_motion;
use crate::no_alloc::allocations;
use crate::support::{force_tree, random_vector, worst};

fn golden_model(name: &str) -> Mechanism {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("reference file");
    let case = read(&serde_json::from_str(&text).expect("JSON")).expect("reference model");
    MechanismBuilder::from(case.model).build().expect("valid")
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0f64, |m, x| m.max(x.abs()))
}

/// The source's dense composition, corrected, gives the same Jacobians (it is the less accurate of the two).
#[test]
fn dense_composition_of_the_source_agrees() {
    for (file, k) in [("comprehensive_panda7_k1.json", 1), ("comprehensive_tree8_k1.json", 2)] {
        let mechanism = golden_model(file);
        let (q, y) = random_motion(&mechanism, k, 5);
        let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
        jets.forward(&q, &y).expect("valid");
        let dense = DenseMotion::new(&mechanism, &mut jets);
        let (nv, n) = (mechanism.nv(), jets.velocity_count());
        for body in mechanism.body_ids() {
            let i = body.index();
            let cases = [
                (QuantityKind::Pose, dense.tangent_jacobian(i)),
                (QuantityKind::Velocity, dense.velocity_jacobian(i)),
                (QuantityKind::Momentum, dense.momentum_jacobian(i)),
                (QuantityKind::JointMomentum, dense.joint_momentum_jacobian(i)),
                (QuantityKind::JointForce, dense.joint_force_jacobian(i)),
            ];
            for (quantity, slow) in cases {
                let width = jets.jacobian_columns();
                let mut fast = vec![0.0; jets.value_count(quantity) * 6 * width];
                let request = Quantity::local(quantity, Target::body(body));
                jets.jacobian_into(&request, Coordinates::Tangent, &mut fast).expect("served");
                assert_eq!(slow.rows * slow.columns, fast.len());
                let scale = largest(&fast).max(1.0);
                for row in 0..slow.rows {
                    for c in 0..nv {
                        for m in 0..n + 1 {
                            let d = slow.data[row * slow.columns + m * nv + c]
                                - fast[row * width + jets.column_index(c, m)];
                            assert!(d.abs() < 1e-12 * scale, "{file} {} body {i}: {d:e}", quantity.name());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn whole_body_operators_are_inverses_with_the_corrected_sign() {
    let mechanism = golden_model("comprehensive_tree8_k0.json");
    let (q, y) = random_motion(&mechanism, 1, 2);
    let mut jets = JetWorkspace::<f64>::new(&mechanism, 1);
    jets.forward(&q, &y).expect("valid");
    let dense = DenseMotion::new(&mechanism, &mut jets);
    let product = dense.joints_from_links(3).times(&dense.links_from_joints(3));
    let error = product.plus(&Dense::identity(8 * 18), -1.0);
    assert!(largest(&error.data) < 1e-12, "{:e}", largest(&error.data));
}

/// Every whole-body operator of the source's appendix: the dense matrices' products, transposes, and the fast values.
#[test]
fn whole_body_operators_equal_their_dense_matrices_and_give_the_fast_values() {
    use leastaction::spatial::{Twist, Wrench};
    use leastaction_motion::reference::WholeBody;
    for (file, k) in [("comprehensive_panda7_k1.json", 1), ("comprehensive_tree8_k1.json", 2)] {
        let mechanism = golden_model(file);
        let (q, y) = random_motion(&mechanism, k, 8);
        let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
        jets.forward(&q, &y).expect("valid");
        let dense = DenseMotion::new(&mechanism, &mut jets);
        let operators = WholeBody::new(&mechanism, &mut jets);
        let (nb, n) = (mechanism.nb(), jets.velocity_count());
        let size = nb * n * 6;
        let x = random_vector(size, 4);
        let six = |x: &[f64]| -> [f64; 6] { std::array::from_fn(|i| x[i]) };
        let twists: Vec<Twist> = x.chunks_exact(6).map(|x| Twist::from_array(six(x))).collect();
        let wrenches: Vec<Wrench> = x.chunks_exact(6).map(|x| Wrench::from_array(six(x))).collect();
        let flat = |w: &[Wrench]| w.iter().flat_map(|w| w.to_array()).collect::<Vec<f64>>();
        let flat_twists = |w: &[Twist]| w.iter().flat_map(|w| w.to_array()).collect::<Vec<f64>>();
        let times = |a: &Dense, transposed: bool| -> Vec<f64> {
            (0..size)
                .map(|i| {
                    (0..size)
                        .map(|j| a.data[if transposed { j * size + i } else { i * size + j }] * x[j])
                        .sum()
                })
                .collect()
        };
        let (mut t, mut w) = (twists.clone(), wrenches.clone());
        for (matrix, inverse) in [(dense.joints_from_links(n), false), (dense.links_from_joints(n), true)] {
            if inverse {
                operators.links_from_joints(&twists, &mut t);
                operators.links_from_joints_transposed(&wrenches, &mut w);
            } else {
                operators.joints_from_links(&twists, &mut t);
                operators.joints_from_links_transposed(&wrenches, &mut w);
            }
            assert!(worst(&flat_twists(&t), &times(&matrix, false)) < 1e-13, "{file}");
            assert!(worst(&flat(&w), &times(&matrix, true)) < 1e-13, "{file}, transposed");
        }
        // On forces: built from the blocks iX*j over children, and over everything carried.
        let (mut down, mut up) = (Dense::identity(size), Dense::zero(size, size));
        let block = 6 * n;
        for i in 0..nb {
            for j in (0..nb).filter(|j| dense.carries(i, *j)) {
                let between = dense.between(i, j, true, n);
                let parent = mechanism.joint(mechanism.tree_joints().nth(j).expect("joint")).parent;
                for r in 0..block {
                    for c in 0..block {
                        let x = between.data[r * block + c];
                        up.data[(i * block + r) * size + j * block + c] = x;
                        if i != j && parent.map(|p| p.index()) == Some(i) {
                            down.data[(i * block + r) * size + j * block + c] = -x;
                        }
                    }
                }
            }
        }
        operators.links_from_joints_dual(&wrenches, &mut w);
        assert!(worst(&flat(&w), &times(&down, false)) < 1e-13, "{file}, momenta of links");
        operators.joints_from_links_dual(&wrenches, &mut w);
        assert!(worst(&flat(&w), &times(&up, false)) < 1e-13, "{file}, momenta of joints");
        let mut back = w.clone();
        operators.joints_from_links_world(&wrenches, &mut w);
        operators.links_from_joints_world(&w, &mut back);
        assert!(worst(&flat(&back), &x) < 1e-13, "{file}, world");

        // The whole chain h_L → h_J → f_J → τ with gravity subtracted gives the fast torques.
        let mut momenta = Vec::new();
        let mut weights = Vec::new();
        for body in mechanism.body_ids() {
            let target = Target::body(body);
            let mut h = vec![0.0; 6 * n];
            jets.value_into(&Quantity::local(QuantityKind::Momentum, target), &mut h).expect("served");
            momenta.extend(h.chunks_exact(6).map(|x| Wrench::from_array(six(x))));
            // Gravity wrench of the link: what the link force lacks to the inertial one.
            let mut f = vec![0.0; 6 * (n - 1)];
            jets.value_into(&Quantity::local(QuantityKind::LinkForce, target), &mut f).expect("served");
            weights.extend(f.chunks_exact(6).map(|x| Wrench::from_array(six(x))));
        }
        let short = nb * (n - 1);
        let (mut inertial, mut gravity) = (vec![Wrench::zero(); short], vec![Wrench::zero(); short]);
        operators.forces_from_momenta(&momenta, &mut inertial);
        for i in 0..short {
            gravity[i] = inertial[i] - weights[i];
        }
        let (mut joint_momenta, mut joint_gravity) = (momenta.clone(), gravity.clone());
        operators.joints_from_links_dual(&momenta, &mut joint_momenta);
        operators.joints_from_links_dual(&gravity, &mut joint_gravity);
        let mut forces = vec![Wrench::zero(); short];
        operators.forces_from_momenta(&joint_momenta, &mut forces);
        forces.iter_mut().zip(&joint_gravity).for_each(|(f, g)| *f -= *g);
        let mut torques = vec![0.0; (n - 1) * mechanism.nv()];
        operators.torques_from_forces(&forces, &mut torques);
        let fast: Vec<f64> = (0..n - 1).flat_map(|l| jets.torque(l).to_vec()).collect();
        assert!(worst(&torques, &fast) < 1e-13, "{file}: torques {:e}", worst(&torques, &fast));
    }
}

/// The accuracy table of the source on the seven-axis arm, against dual numbers.
#[test]
fn every_quantity_of_the_seven_axis_arm_is_accurate_to_1e_12_at_orders_0_to_4() {
    type D = Dual<f64, 1>;
    let mechanism = golden_model("comprehensive_panda7_k1.json");
    let nv = mechanism.nv();
    for k in 0..=4 {
        let (q, y) = random_motion(&mechanism, k, 11);
        let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
        jets.forward(&q, &y).expect("valid");
        let mut dual = jets.dual();
        let last = Target::body(mechanism.body_ids().last().expect("bodies"));
        let n = jets.velocity_count();
        for quantity in [
            QuantityKind::Velocity,
            QuantityKind::Momentum,
            QuantityKind::JointMomentum,
            QuantityKind::LinkForce,
            QuantityKind::JointForce,
            QuantityKind::Torque,
        ] {
            let request = Quantity { target: Some(last), ..Quantity::local(quantity, last) };
            let (rows, width) = (jets.jacobian_rows(quantity), jets.jacobian_columns());
            let mut jacobian = vec![0.0; jets.value_count(quantity) * rows * width];
            jets.jacobian_into(&request, Coordinates::Velocity, &mut jacobian).expect("served");
            let mut worst = 0.0f64;
            for c in 0..nv {
                for r in 0..n + 1 {
                    let mut q1: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
                    let mut y1: Vec<D> = y.iter().map(|x| D::constant(*x)).collect();
                    if r == 0 {
                        q1[c].eps[0] = 1.0;
                    } else {
                        y1[(r - 1) * nv + c].eps[0] = 1.0;
                    }
                    dual.forward(&q1, &y1).expect("valid");
                    let mut value = vec![D::constant(0.0); jacobian.len() / width];
                    dual.value_into(&request, &mut value).expect("served");
                    for (row, x) in value.iter().enumerate() {
                        worst = worst.max((x.eps[0] - jacobian[row * width + jets.column_index(c, r)]).abs());
                    }
                }
            }
            assert!(worst < 1e-12, "k = {k}, {}: {worst:e}", quantity.name());
        }
    }
}

/// The accuracy table again, all links and frames, with a complex step in place of dual numbers.
#[test]
fn complex_steps_and_dual_numbers_give_the_same_table_of_accuracy() {
    use leastaction_motion::reference::Complex;
    type D = Dual<f64, 1>;
    let mechanism = golden_model("comprehensive_panda7_k1.json");
    let nv = mechanism.nv();
    let rows = [
        (QuantityKind::Velocity, false),
        (QuantityKind::Momentum, false),
        (QuantityKind::Momentum, true),
        (QuantityKind::JointMomentum, true),
        (QuantityKind::JointMomentum, false),
        (QuantityKind::LinkForce, false),
        (QuantityKind::JointForce, false),
        (QuantityKind::Torque, true),
    ];
    for k in 0..=4 {
        let (q, y) = random_motion(&mechanism, k, 3);
        let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
        jets.forward(&q, &y).expect("valid");
        let (mut complex, mut dual) = (jets.complex(), jets.dual());
        let (n, width) = (jets.velocity_count(), jets.jacobian_columns());
        for (quantity, world) in rows {
            let mut worst = [0.0f64; 2];
            let mut relative = 0.0f64;
            for body in mechanism.body_ids() {
                let target = Target::body(body);
                let request = match quantity {
                    QuantityKind::Torque => Quantity::whole(quantity),
                    _ if world => Quantity::world(quantity, target),
                    _ => Quantity::local(quantity, target),
                };
                let size = jets.value_count(quantity) * jets.jacobian_rows(quantity);
                let mut jacobian = vec![0.0; size * width];
                jets.jacobian_into(&request, Coordinates::Velocity, &mut jacobian).expect("served");
                let scale = largest(&jacobian).max(1.0);
                for c in 0..nv {
                    for r in 0..n + 1 {
                        let at = if r == 0 { c } else { q.len() + (r - 1) * nv + c };
                        let x: Vec<f64> = q.iter().chain(&y).copied().collect();
                        let mut xc: Vec<Complex> = x.iter().map(|x| Complex::constant(*x)).collect();
                        let mut xd: Vec<D> = x.iter().map(|x| D::constant(*x)).collect();
                        xc[at] = Complex::variable(x[at]);
                        xd[at].eps[0] = 1.0;
                        complex.forward(&xc[..nv], &xc[nv..]).expect("valid");
                        dual.forward(&xd[..nv], &xd[nv..]).expect("valid");
                        let mut by_complex = vec![Complex::constant(0.0); size];
                        let mut by_dual = vec![D::constant(0.0); size];
                        complex.value_into(&request, &mut by_complex).expect("served");
                        dual.value_into(&request, &mut by_dual).expect("served");
                        for row in 0..size {
                            let ours = jacobian[row * width + jets.column_index(c, r)];
                            let gaps = [
                                (ours - by_complex[row].derivative()).abs(),
                                (ours - by_dual[row].eps[0]).abs(),
                            ];
                            worst = [worst[0].max(gaps[0]), worst[1].max(gaps[1])];
                            relative = relative.max(gaps[0] / scale);
                        }
                    }
                }
                if quantity == QuantityKind::Torque {
                    break;
                }
            }
            println!(
                "table 6, k = {k}, {}{}: complex step {:.1e}, duals {:.1e}, relative {relative:.1e}",
                quantity.name(),
                if world { " (world)" } else { "" },
                worst[0],
                worst[1]
            );
            assert!(worst[0] <= 1e-12 && worst[1] <= 1e-12, "k = {k}, {}: {worst:?}", quantity.name());
        }
    }
}

/// What moves apart is weighed together: Jacobian of the centroidal momentum of two trees, against dual numbers.
#[test]
fn the_centroidal_momentum_is_that_of_all_trees() {
    type D = Dual<f64, 1>;
    let mut model = samples::random_tree(5, 4, &[JointType::Floating, JointType::Revolute]);
    // Its second half floats by itself.
    model.joints[2].kind = JointType::Floating;
    model.joints[2].parent = WORLD.into();
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let (nv, k) = (mechanism.nv(), 1);
    let (q, y) = random_motion(&mechanism, k, 7);
    let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
    jets.forward(&q, &y).expect("valid");
    let mut dual = jets.dual();
    let request = Quantity::whole(QuantityKind::CentroidalMomentum);
    let (n, width) = (jets.velocity_count(), jets.jacobian_columns());
    let size = jets.value_count(request.kind) * jets.jacobian_rows(request.kind);
    let mut jacobian = vec![0.0; size * width];
    jets.jacobian_into(&request, Coordinates::Velocity, &mut jacobian).expect("served");
    for c in 0..nv {
        for r in 0..n + 1 {
            let q0: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
            let mut y1: Vec<D> = y.iter().map(|x| D::constant(*x)).collect();
            let mut u = vec![D::constant(0.0); nv];
            let moved = if r == 0 { &mut u[c] } else { &mut y1[(r - 1) * nv + c] };
            moved.eps[0] = 1.0;
            let mut q1 = q0.clone();
            mechanism.retract(&q0, &u, &mut q1);
            dual.forward(&q1, &y1).expect("valid");
            let mut value = vec![D::constant(0.0); size];
            dual.value_into(&request, &mut value).expect("served");
            for row in 0..size {
                let ours = jacobian[row * width + jets.column_index(c, r)];
                let off = (ours - value[row].eps[0]).abs();
                assert!(off < 1e-12 * largest(&jacobian), "row {row}, column {c} {r}: {off:e}");
            }
        }
    }
}

/// Bodies that float in something thick, on springs.
fn thick() -> Mechanism {
    let mut model = samples::random_tree(3, 3, &[JointType::Floating, JointType::Spherical]);
    for joint in &mut model.joints {
        joint.damping = PerCoordinate::One(0.3);
        let (stiffness, rest) = (PerCoordinate::One(4.0), PerCoordinate::One(0.0));
        joint.spring = Some(SpringDescription { stiffness, rest });
    }
    MechanismBuilder::from(model).build().expect("valid")
}

/// Springs, dampers and armature of every joint kind, torques and Jacobian, against dual numbers and the dynamics.
#[test]
fn passive_torques_and_their_jacobian_equal_dual_numbers() {
    type D = Dual<f64, 1>;
    for (seed, mechanism) in (0..4).map(force_tree).chain([thick()]).enumerate() {
        let seed = seed as u64;
        let (nv, k) = (mechanism.nv(), 2);
        let (q, y) = random_motion(&mechanism, k, seed);
        let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
        jets.include_passive(true);
        jets.forward(&q, &y).expect("valid");
        // Order 0: what the dynamics' springs, dampers and rotors leave to the actuators.
        let mut dynamics = leastaction::dynamics::Dynamics::new(&mechanism);
        let (v, a) = (y[..nv].to_vec(), y[nv..2 * nv].to_vec());
        let (mut tau, mut passive) = (vec![0.0; nv], vec![0.0; nv]);
        dynamics.inverse_dynamics_into(&mechanism, &q, &v, &a, &mut tau);
        dynamics.joint_forces_into(&mechanism, &q, &v, &vec![0.0; mechanism.nu()], &mut passive);
        for c in 0..nv {
            let expected = tau[c] - passive[c];
            assert!((jets.torque(0)[c] - expected).abs() < 1e-11 * largest(&tau).max(1.0), "seed {seed} {c}");
        }
        let mut dual = jets.dual();
        dual.include_passive(true);
        let (n, width) = (jets.velocity_count(), jets.jacobian_columns());
        let mut jacobian = vec![0.0; (n - 1) * nv * width];
        let request = Quantity::whole(QuantityKind::Torque);
        jets.jacobian_into(&request, Coordinates::Velocity, &mut jacobian).expect("served");
        let scale = largest(&jacobian);
        for c in 0..nv {
            for r in 0..n + 1 {
                let q0: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
                let mut y1: Vec<D> = y.iter().map(|x| D::constant(*x)).collect();
                let mut u = vec![D::constant(0.0); nv];
                if r == 0 {
                    u[c].eps[0] = 1.0;
                } else {
                    y1[(r - 1) * nv + c].eps[0] = 1.0;
                }
                let mut q1 = q0.clone();
                mechanism.retract(&q0, &u, &mut q1);
                dual.forward(&q1, &y1).expect("valid");
                for l in 0..n - 1 {
                    for row in 0..nv {
                        let d = dual.torque(l)[row].eps[0]
                            - jacobian[(l * nv + row) * width + jets.column_index(c, r)];
                        assert!(
                            d.abs() < 1e-12 * scale,
                            "seed {seed}: row {row} order {l}, column {c} {r}: {d:e}"
                        );
                    }
                }
            }
        }
    }
}

/// `J ξ`, `Jᵀ λ` and the assembled blocks with springs, dampers and armature: the general Jacobian's numbers.
#[test]
fn passive_products_and_assembled_blocks_equal_the_passive_jacobian() {
    for k in [0, 1, 3, 5] {
        for (seed, mechanism) in (0..4).map(|seed| (seed, force_tree(seed))).chain([(4, thick())]) {
            let nv = mechanism.nv();
            let (q, y) = random_motion(&mechanism, k, seed);
            let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
            jets.include_passive(true);
            jets.forward(&q, &y).expect("valid");
            let (n, width) = (jets.velocity_count(), jets.jacobian_columns());
            let mut jacobian = vec![0.0; (n - 1) * nv * width];
            jets.jacobian_into(&Quantity::whole(QuantityKind::Torque), Coordinates::Tangent, &mut jacobian)
                .expect("served");
            let (xi, lambda) =
                (random_vector((n + 1) * nv, seed + 9), random_vector((n - 1) * nv, seed + 19));
            let (mut forward, mut back) = (lambda.clone(), xi.clone());
            jets.torque_jvp(&xi, &mut forward).expect("lengths");
            jets.torque_vjp(&lambda, &mut back).expect("lengths");
            let (mut dense_forward, mut dense_back) = (vec![0.0; lambda.len()], vec![0.0; xi.len()]);
            for row in 0..lambda.len() {
                for m in 0..n + 1 {
                    for c in 0..nv {
                        let entry = jacobian[row * width + jets.column_index(c, m)];
                        dense_forward[row] += entry * xi[m * nv + c];
                        dense_back[m * nv + c] += entry * lambda[row];
                    }
                }
            }
            assert!(worst(&forward, &dense_forward) < 1e-13, "J ξ, k = {k}, seed {seed}");
            assert!(worst(&back, &dense_back) < 1e-13, "Jᵀ λ, k = {k}, seed {seed}");

            let derivatives: Vec<Vec<f64>> =
                (0..n).map(|l| y[l * nv..(l + 1) * nv].iter().map(|x| x * factorial(l)).collect()).collect();
            let derivatives: Vec<&[f64]> = derivatives.iter().map(Vec::as_slice).collect();
            let mut fast = TorqueJacobian::new(&mechanism, k).expect("order");
            fast.include_passive(true);
            fast.evaluate(&q, &derivatives).expect("valid");
            for l in 0..n - 1 {
                let tau: Vec<f64> = jets.torque(l).iter().map(|x| x * factorial(l)).collect();
                assert!(worst(fast.torque(l), &tau) < 1e-13, "τ, k = {k}, seed {seed}, order {l}");
                for m in 0..l + 3 {
                    let f = factorial(l) / factorial(m);
                    let mut block = vec![0.0; nv * nv];
                    for row in 0..nv {
                        for c in 0..nv {
                            block[row * nv + c] =
                                f * jacobian[(l * nv + row) * width + jets.column_index(c, m)];
                        }
                    }
                    assert!(worst(fast.block(l, m), &block) < 1e-13, "k = {k}, seed {seed}, block {l} {m}");
                }
            }
        }
    }
}

fn arm_costs(mechanism: &Mechanism) -> Vec<Cost> {
    let targets: Vec<_> = mechanism.body_ids().map(Target::body).collect();
    let last = targets[targets.len() - 1];
    vec![
        Cost::new(vec![Quantity::joint(3)]),
        Cost::new(targets.into_iter().map(|target| Quantity::velocity(target, 1)).collect()),
        Cost::new(vec![Quantity::torque(1)]),
        Cost::new(vec![Quantity::momentum(1, true)]),
        Cost::tracked(Quantity::point(last, 0)),
        Cost::tracked(Quantity::com(1)),
    ]
}

#[test]
fn batches_equal_single_samples() {
    let mechanism = golden_model("comprehensive_panda7_k1.json");
    let costs = arm_costs(&mechanism);
    let weights = vec![0.3, 0.5, 0.01, 0.2, 1.0, 0.7];
    let mut single = CostEvaluator::new(&mechanism, costs.clone(), 3).expect("served");
    let mut batch = CostEvaluator::new(&mechanism, costs.clone(), 3).expect("served");
    let (n, r, m) = (batch.sample_len(), batch.reference_len(), costs.len());
    for samples in [1, 4, 7] {
        let mut rng = Random::new(samples as u64);
        let x: Vec<f64> = (0..samples * n).map(|_| rng.range(-1.0, 1.0)).collect();
        let reference: Vec<f64> = (0..samples * r).map(|_| rng.range(-1.0, 1.0)).collect();
        let (mut values, mut gradients) = (vec![0.0; samples * m], vec![0.0; samples * n]);
        batch.gradients_into(&x, &reference, &weights, &mut values, &mut gradients).expect("finite");
        for s in 0..samples {
            let (mut v, mut g) = (vec![0.0; m], vec![0.0; n]);
            let (x, reference) = (&x[s * n..(s + 1) * n], &reference[s * r..(s + 1) * r]);
            single.gradients_into(x, reference, &weights, &mut v, &mut g).expect("finite");
            for t in 0..m {
                assert!((values[s * m + t] - v[t]).abs() <= 1e-13 * v[t].abs().max(1.0));
            }
            for i in 0..n {
                assert!((gradients[s * n + i] - g[i]).abs() <= 1e-13 * largest(&g).max(1.0));
            }
        }
    }
}

#[test]
fn a_batch_that_holds_a_number_that_is_not_finite_is_refused() {
    let mechanism = golden_model("comprehensive_panda7_k1.json");
    let mut batch =
        CostEvaluator::new(&mechanism, vec![Cost::new(vec![Quantity::torque(1)])], 3).expect("served");
    let n = batch.sample_len();
    let mut x = vec![0.1; 3 * n];
    x[2 * n + 1] = f64::NAN;
    let (mut values, mut gradients) = (vec![0.0; 3], vec![0.0; 3 * n]);
    assert!(batch.gradients_into(&x, &[], &[1.0], &mut values, &mut gradients).is_err());
}

#[test]
fn jets_do_not_allocate_after_their_workspace_is_made() {
    // An arm, and a tree with springs, dampers and armature on every kind of joint.
    for (mechanism, passive) in [(golden_model("comprehensive_panda7_k1.json"), false), (force_tree(3), true)]
    {
        let (q, y) = random_motion(&mechanism, 1, 3);
        let nv = mechanism.nv();
        let mut jets = JetWorkspace::<f64>::new(&mechanism, 1);
        let rows: Vec<&[f64]> = y.chunks_exact(nv).collect();
        let mut fast = TorqueJacobian::new(&mechanism, 1).expect("order");
        let last = Target::body(mechanism.body_ids().last().expect("bodies"));
        let requests = [
            Quantity::local(QuantityKind::Velocity, last),
            Quantity::world(QuantityKind::LinkForce, last),
            Quantity::whole(QuantityKind::Torque),
            Quantity::whole(QuantityKind::CentroidalMomentum),
        ];
        let width = jets.jacobian_columns();
        let mut outs: Vec<Vec<f64>> = requests
            .iter()
            .map(|r| vec![0.0; jets.value_count(r.kind) * jets.jacobian_rows(r.kind) * width])
            .collect();
        let (mut xi, mut lambda) = (vec![0.1; 4 * nv], vec![0.2; 2 * nv]);
        let costs = arm_costs(&mechanism);
        let mut batch = CostEvaluator::new(&mechanism, costs.clone(), 3).expect("served");
        jets.include_passive(passive);
        fast.include_passive(passive);
        batch.include_passive(passive);
        let (n, t, r) = (batch.sample_len(), batch.tangent_len(), batch.reference_len());
        let (x, reference) = (vec![0.3; 5 * n], vec![0.1; 5 * r]);
        let (mut values, mut gradients) = (vec![0.0; 5 * costs.len()], vec![0.0; 5 * t]);
        let (mut value, mut gradient, mut hessian) = (vec![0.0; costs.len()], vec![0.0; t], vec![0.0; t * t]);
        let weights = vec![1.0; costs.len()];
        let count = allocations(|| {
            for _ in 0..3 {
                jets.forward(&q, &y).expect("valid");
                for (request, out) in requests.iter().zip(&mut outs) {
                    jets.jacobian_into(request, Coordinates::Velocity, out).expect("served");
                }
                jets.torque_jvp(&xi, &mut lambda).expect("lengths");
                jets.torque_vjp(&lambda, &mut xi).expect("lengths");
                fast.evaluate(&q, &rows).expect("valid");
                batch.gradients_into(&x, &reference, &weights, &mut values, &mut gradients).expect("finite");
                batch
                    .hessians_into(
                        &x[..n],
                        &reference[..r],
                        &weights,
                        &mut value,
                        &mut gradient,
                        &mut hessian,
                    )
                    .expect("finite");
            }
        });
        assert_eq!(count, 0, "{}", mechanism.name());
    }
}

/// A driven motion: torque rates are the differences of torques, and the fit says how well it fits.
#[test]
fn torque_rates_of_a_recorded_motion_are_differences_of_its_torques() {
    let mechanism = MechanismBuilder::from(samples::chain_xy(3)).build().expect("valid");
    let labels = mechanism.q_labels();
    let columns = std::iter::once("t".to_owned()).chain(labels.iter().map(|l| format!("q.{l}")));
    let h = 2e-3;
    let mut data = Vec::new();
    for s in 0..1001 {
        let t = f64::from(s) * h;
        data.push(t);
        data.extend((0..3).map(|i| (t * (1.0 + f64::from(i))).sin() * 0.7 + 0.1 * t * t));
    }
    let trajectory = Trajectory::new(TrajectoryLayout::from_columns(columns), data);
    let mut jets = JetWorkspace::<f64>::new(&mechanism, 1);
    let options = FitOptions { n_control: Some(200), smooth: false, ..FitOptions::default() };
    let recorded = RecordedMotion::fit(&mechanism, &trajectory, 3, &options).expect("fit");
    assert!(recorded.residuals.iter().all(|(_, max, _)| *max < 1e-12), "{:?}", recorded.residuals);
    let mut torques = Vec::new();
    let mut rates = Vec::new();
    for s in 0..recorded.len() {
        jets.forward_from_derivatives(recorded.positions(s), &recorded.derivatives(s)).expect("finite");
        torques.push(jets.torque(0).to_vec());
        rates.push(jets.torque(1).to_vec());
    }
    let scale = rates.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    for s in 2..recorded.len() - 2 {
        for c in 0..3 {
            // Fourth-order difference: its error is h⁴/30 of the fifth derivative, below 1e-8 of the rate here.
            let d = (torques[s - 2][c] - 8.0 * torques[s - 1][c] + 8.0 * torques[s + 1][c]
                - torques[s + 2][c])
                / (12.0 * h);
            assert!((d - rates[s][c]).abs() < 1e-6 * scale, "sample {s}: {d} {}", rates[s][c]);
        }
    }
}
