//! Gradients and Hessians of every cost agree with residual Jacobians and with each other.

use leastaction::jet::{Cost, CostEvaluator, JetQuantities, Quantities, Quantity, Samples, Target};
use leastaction::mechanism::samples::Random;
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder, samples};

const ONE_AXIS: [JointType; 6] = [
    JointType::Fixed,
    JointType::Revolute,
    JointType::Prismatic,
    JointType::Cylindrical,
    JointType::Universal,
    JointType::Planar,
];

fn tree(seed: u64) -> Mechanism {
    MechanismBuilder::from(samples::random_tree(seed, 5, &ONE_AXIS)).build().expect("valid")
}

fn costs(mechanism: &Mechanism) -> Vec<Cost> {
    let targets: Vec<_> = mechanism.body_ids().map(Target::body).collect();
    let last = targets[targets.len() - 1];
    let velocities = |order| targets.iter().map(|target| Quantity::velocity(*target, order)).collect();
    let mut all: Vec<Cost> = (0..=3).map(|order| Cost::new(vec![Quantity::joint(order)])).collect();
    all.extend((0..=2).map(|order| Cost::new(velocities(order))));
    all.extend((0..=2).map(|order| Cost::new(vec![Quantity::momentum(order, order == 1)])));
    all.extend((0..=1).map(|order| Cost::new(vec![Quantity::torque(order)])));
    let offset = last.at_point(leastaction::spatial::Vec3([0.1, 0.2, -0.3]));
    all.extend((0..=3).map(|order| Cost::tracked(Quantity::point(offset, order))));
    all.extend((0..=3).map(|order| Cost::tracked(Quantity::com(order))));
    all.push(Cost::tracked(Quantity::orientation(last)));
    all
}

struct Problem {
    evaluator: CostEvaluator,
    x: Vec<f64>,
    reference: Vec<f64>,
}

fn problem(seed: u64) -> Problem {
    let mechanism = tree(seed);
    let evaluator = CostEvaluator::new(&mechanism, costs(&mechanism), 3).expect("served");
    let mut rng = Random::new(seed + 100);
    let x = (0..evaluator.sample_len()).map(|_| rng.range(-1.0, 1.0)).collect();
    let reference = (0..evaluator.reference_len()).map(|_| rng.range(-1.0, 1.0)).collect();
    Problem { evaluator, x, reference }
}

fn value(p: &mut Problem, x: &[f64], cost: usize) -> f64 {
    let m = p.evaluator.costs().len();
    let (mut values, mut gradient) = (vec![0.0; m], vec![0.0; p.evaluator.tangent_len()]);
    p.evaluator.gradients_into(x, &p.reference, &vec![0.0; m], &mut values, &mut gradient).expect("finite");
    values[cost]
}

/// Central difference with a step that leaves 1e-9 of the value.
#[test]
fn gradient_of_every_cost_equals_differences_of_its_value() {
    for seed in 0..3 {
        let mut p = problem(seed);
        let n = p.evaluator.sample_len();
        for cost in 0..p.evaluator.costs().len() {
            let mut weights = vec![0.0; p.evaluator.costs().len()];
            weights[cost] = 1.0;
            let (mut values, mut gradient) = (weights.clone(), vec![0.0; n]);
            let (x, reference) = (p.x.clone(), p.reference.clone());
            p.evaluator.gradients_into(&x, &reference, &weights, &mut values, &mut gradient).expect("finite");
            let scale = gradient.iter().fold(values[cost].abs().max(1.0), |m, g| m.max(g.abs()));
            for i in 0..n {
                let h = 1e-5;
                let mut moved = x.clone();
                moved[i] += h;
                let up = value(&mut p, &moved, cost);
                moved[i] -= 2.0 * h;
                let down = value(&mut p, &moved, cost);
                let d = (up - down) / (2.0 * h) - gradient[i];
                let term = format!("{:?}", p.evaluator.costs()[cost].quantities);
                assert!(d.abs() < 1e-7 * scale, "seed {seed}, {}: entry {i} off by {d:e}", &term[..20]);
            }
        }
    }
}

/// Values and Jacobian of one cost's quantities at a sample.
fn rows(mechanism: &Mechanism, cost: &Cost, x: &[f64], passive: bool) -> (Vec<f64>, Vec<f64>) {
    let mut quantities = JetQuantities::new(mechanism, &cost.quantities).expect("served");
    quantities.include_passive(passive);
    let all = Samples { first: 0, times: &[0.0], x };
    let (rows, columns) = (quantities.rows(), quantities.columns(all));
    let (mut z, mut jacobian) = (vec![0.0; rows], vec![0.0; rows * columns]);
    quantities.values(all, &mut z);
    quantities.jacobians(all, &mut jacobian);
    (z, jacobian)
}

#[test]
fn gradient_is_the_jacobian_of_the_quantities_applied_to_their_distance_from_the_reference() {
    let (mechanism, mut p) = (tree(4), problem(4));
    let (n, m) = (p.evaluator.tangent_len(), p.evaluator.costs().len());
    // Zeros, and the identity for the orientation at the end.
    let mut reference = vec![0.0; p.reference.len()];
    let identity = reference.len() - 4;
    reference[identity] = 1.0;
    for cost in 0..m {
        let own = p.evaluator.costs()[cost].clone();
        let mut weights = vec![0.0; m];
        weights[cost] = 1.0;
        let (mut values, mut gradient) = (vec![0.0; m], vec![0.0; n]);
        p.evaluator.gradients_into(&p.x, &reference, &weights, &mut values, &mut gradient).expect("finite");
        let (z, jacobian) = rows(&mechanism, &own, &p.x, false);
        let square = 0.5 * z.iter().map(|z| z * z).sum::<f64>();
        assert!((square - values[cost]).abs() <= 1e-12 * square);
        let scale = gradient.iter().fold(1.0f64, |m, g| m.max(g.abs()));
        for i in 0..n {
            let dense: f64 = z.iter().enumerate().map(|(row, z)| jacobian[row * n + i] * z).sum();
            assert!((dense - gradient[i]).abs() <= 1e-12 * scale, "{:?}", own.quantities);
        }
    }
}

#[test]
fn exact_hessian_equals_differences_of_the_gradient() {
    for seed in 0..2 {
        let mut p = problem(seed);
        let n = p.evaluator.sample_len();
        let m = p.evaluator.costs().len();
        let weights: Vec<f64> = (0..m).map(|i| 0.1 + 0.05 * i as f64).collect();
        let (mut values, mut gradient, mut hessian) = (vec![0.0; m], vec![0.0; n], vec![0.0; n * n]);
        let (x, reference) = (p.x.clone(), p.reference.clone());
        p.evaluator
            .hessians_into(&x, &reference, &weights, &mut values, &mut gradient, &mut hessian)
            .expect("finite");
        let (mut plain_values, mut plain) = (vec![0.0; m], vec![0.0; n]);
        p.evaluator.gradients_into(&x, &reference, &weights, &mut plain_values, &mut plain).expect("finite");
        let scale = hessian.iter().fold(1.0f64, |m, h| m.max(h.abs()));
        for i in 0..n {
            assert!((gradient[i] - plain[i]).abs() < 1e-13 * scale);
            let h = 1e-5;
            let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
            let mut moved = x.clone();
            moved[i] += h;
            p.evaluator.gradients_into(&moved, &reference, &weights, &mut values, &mut up).expect("finite");
            moved[i] -= 2.0 * h;
            p.evaluator.gradients_into(&moved, &reference, &weights, &mut values, &mut down).expect("finite");
            for j in 0..n {
                let d = (up[j] - down[j]) / (2.0 * h) - hessian[i * n + j];
                assert!(d.abs() < 1e-7 * scale, "seed {seed} ({i}, {j}): {d:e} of {scale:e}");
            }
        }
    }
}

/// Everything that [`costs`] has but positions of joints, which balls and free joints do not have.
fn costs_on_groups(mechanism: &Mechanism) -> Vec<Cost> {
    costs(mechanism).into_iter().filter(|c| c.quantities != [Quantity::joint(0)]).collect()
}

/// `x` moved by `h` along derivative `m` of tangent coordinate `c`, to second order in `h`.
fn moved(mechanism: &Mechanism, x: &[f64], (m, c): (usize, usize), h: f64) -> Vec<f64> {
    use leastaction::mechanism::JointType::{Floating, Spherical};
    use leastaction::spatial::{Twist, Vec3};
    let (nq, nv) = (mechanism.nq(), mechanism.nv());
    let mut out = x.to_vec();
    if m == 0 {
        let mut u = vec![0.0; nv];
        u[c] = h;
        let mut q = vec![0.0; nq];
        mechanism.retract(&x[..nq], &u, &mut q);
        out[..nq].copy_from_slice(&q);
    } else {
        out[nq + (m - 1) * nv + c] += h;
    }
    let joint = mechanism.tree_joints().find(|id| mechanism.v_range(*id).contains(&c)).expect("a joint");
    let (kind, v) = (mechanism.joint(joint).kind, mechanism.v_range(joint).start);
    if !matches!(kind, Spherical | Floating) {
        return out;
    }
    let factorial = leastaction::jet::factorial;
    for l in m..(x.len() - nq) / nv {
        let f = h * factorial(l) / (factorial(m) * factorial(l - m));
        let y = &x[nq + (l - m) * nv + v..];
        let mut e = [0.0; 6];
        e[c - v] = 1.0;
        let three = |x: &[f64]| Vec3([x[0], x[1], x[2]]);
        let y = Twist::new(three(y), if kind == Floating { three(&y[3..]) } else { Vec3::zero() });
        let d = y.cross(Twist::from_array(e)).to_array();
        for (i, d) in d.iter().enumerate().take(if kind == Floating { 6 } else { 3 }) {
            out[nq + l * nv + v + i] += f * d;
        }
    }
    out
}

/// Trees of every joint kind: gradients against differences of values, Hessians against differences of gradients,
/// residual Jacobians against differences of residuals (through the gradient), with springs and dampers and without.
#[test]
fn costs_of_every_joint_kind_have_exact_gradients_and_hessians() {
    for seed in 0..4 {
        let mechanism =
            if seed < 2 { crate::support::mixed_tree(seed, 5) } else { crate::support::force_tree(seed) };
        let list = costs_on_groups(&mechanism);
        let mut evaluator = CostEvaluator::new(&mechanism, list.clone(), 3).expect("served");
        evaluator.include_passive(seed >= 2);
        let (nq, nv, n) = (mechanism.nq(), mechanism.nv(), evaluator.tangent_len());
        let (q, _) = crate::support::random_state(&mechanism, seed + 40);
        let mut rng = Random::new(seed + 100);
        let mut x = q;
        x.extend((0..evaluator.sample_len() - nq).map(|_| rng.range(-1.0, 1.0)));
        let reference: Vec<f64> = (0..evaluator.reference_len()).map(|_| rng.range(-1.0, 1.0)).collect();
        let weights: Vec<f64> = (0..list.len()).map(|_| rng.range(0.2, 1.0)).collect();
        let mut gradient_at = |x: &[f64], weights: &[f64]| {
            let (mut values, mut gradient) = (vec![0.0; list.len()], vec![0.0; n]);
            evaluator.gradients_into(x, &reference, weights, &mut values, &mut gradient).expect("finite");
            (values, gradient)
        };
        for cost in 0..list.len() {
            let mut one = vec![0.0; list.len()];
            one[cost] = 1.0;
            let (values, gradient) = gradient_at(&x, &one);
            let scale = gradient.iter().fold(values[cost].abs().max(1.0), |m, g| m.max(g.abs()));
            for i in 0..n {
                let direction = (i / nv, i % nv);
                let mut value = |h: f64| gradient_at(&moved(&mechanism, &x, direction, h), &one).0[cost];
                let h = 1e-3;
                let slope = (8.0 * (value(h) - value(-h)) - (value(2.0 * h) - value(-2.0 * h))) / (12.0 * h);
                let d = (slope - gradient[i]).abs();
                let term = format!("{:?}", list[cost].quantities);
                assert!(d < 1e-8 * scale, "seed {seed}, {}: {direction:?} off by {d:e}", &term[..20]);
            }
        }
        let mut slopes = vec![0.0; n * n];
        for i in 0..n {
            let mut gradient = |h: f64| gradient_at(&moved(&mechanism, &x, (i / nv, i % nv), h), &weights).1;
            let h = 1e-3;
            let (a, b, c, d) = (gradient(h), gradient(-h), gradient(2.0 * h), gradient(-2.0 * h));
            for j in 0..n {
                slopes[i * n + j] = (8.0 * (a[j] - b[j]) - (c[j] - d[j])) / (12.0 * h);
            }
        }
        let (mut values, mut gradient, mut hessian) = (vec![0.0; list.len()], vec![0.0; n], vec![0.0; n * n]);
        evaluator
            .hessians_into(&x, &reference, &weights, &mut values, &mut gradient, &mut hessian)
            .expect("finite");
        let scale = hessian.iter().fold(1.0f64, |m, h| m.max(h.abs()));
        for i in 0..n {
            for j in 0..n {
                let d = (0.5 * (slopes[i * n + j] + slopes[j * n + i]) - hessian[i * n + j]).abs();
                assert!(d < 1e-8 * scale, "seed {seed}: Hessian {i} {j} off by {d:e} of {scale:e}");
            }
        }
        // Jacobians on groups: Jᵀ z is the gradient where nothing is tracked.
        for (cost, own) in list.iter().enumerate().filter(|(_, own)| !own.tracked) {
            let mut one = vec![0.0; list.len()];
            one[cost] = 1.0;
            evaluator.gradients_into(&x, &reference, &one, &mut values, &mut gradient).expect("finite");
            let (z, jacobian) = rows(&mechanism, own, &x, seed >= 2);
            let scale = gradient.iter().fold(1.0f64, |m, g| m.max(g.abs()));
            for i in 0..n {
                let dense: f64 = z.iter().enumerate().map(|(row, z)| jacobian[row * n + i] * z).sum();
                assert!((dense - gradient[i]).abs() < 1e-12 * scale, "seed {seed}: {:?}", own.quantities);
            }
        }
    }
}
