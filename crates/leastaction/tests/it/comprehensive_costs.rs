//! Gradients and Hessians of every cost agree with residual Jacobians and with each other.

use leastaction::jet::{Cost, CostEvaluator, CostTerm};
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
    let jets = leastaction::jet::JetWorkspace::<f64>::new(mechanism, -1);
    let targets: Vec<_> = mechanism.body_ids().map(|b| jets.body(b)).collect();
    let last = targets[targets.len() - 1];
    let mut all: Vec<Cost> = (0..=3).map(|order| Cost::new(CostTerm::Joint { order })).collect();
    all.extend((0..=2).map(|order| Cost::new(CostTerm::Velocity { targets: targets.clone(), order })));
    all.extend((0..=2).map(|order| Cost::new(CostTerm::Momentum { order, about_com: order == 1 })));
    all.extend((0..=1).map(|order| Cost::new(CostTerm::Torque { order })));
    let offset = last.at_point(leastaction::spatial::Vec3([0.1, 0.2, -0.3]));
    all.extend((0..=3).map(|order| Cost::tracked(CostTerm::Point { target: offset, order })));
    all.extend((0..=3).map(|order| Cost::tracked(CostTerm::Com { order })));
    all.push(Cost::new(CostTerm::Orientation { target: last }));
    all.push(Cost::new(CostTerm::LinearTorque { order: 1 }));
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
    let mut values = vec![0.0; p.evaluator.costs().len()];
    let reference = p.reference.clone();
    p.evaluator.values_into(x, &reference, &mut values).expect("finite");
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
            p.evaluator.gradient_into(&x, &reference, &weights, &mut values, &mut gradient).expect("finite");
            let scale = gradient.iter().fold(values[cost].abs().max(1.0), |m, g| m.max(g.abs()));
            for i in 0..n {
                let h = 1e-5;
                let mut moved = x.clone();
                moved[i] += h;
                let up = value(&mut p, &moved, cost);
                moved[i] -= 2.0 * h;
                let down = value(&mut p, &moved, cost);
                let d = (up - down) / (2.0 * h) - gradient[i];
                let term = format!("{:?}", p.evaluator.costs()[cost].term);
                assert!(d.abs() < 1e-7 * scale, "seed {seed}, {}: entry {i} off by {d:e}", &term[..20]);
            }
        }
    }
}

#[test]
fn gradient_is_the_residual_jacobian_applied_to_the_residual() {
    let mut p = problem(4);
    let n = p.evaluator.sample_len();
    let (x, reference) = (p.x.clone(), vec![0.0; p.reference.len()]);
    for cost in 0..p.evaluator.costs().len() {
        let term = p.evaluator.costs()[cost].term.clone();
        // With zero references ½ xᵀ... is homogeneous only where the residual is the quantity itself.
        if matches!(term, CostTerm::Orientation { .. } | CostTerm::LinearTorque { .. }) {
            continue;
        }
        let mut weights = vec![0.0; p.evaluator.costs().len()];
        weights[cost] = 1.0;
        let (mut values, mut gradient) = (weights.clone(), vec![0.0; n]);
        let jacobian = p.evaluator.jacobian(&x, &reference, cost).expect("served");
        p.evaluator.gradient_into(&x, &reference, &weights, &mut values, &mut gradient).expect("finite");
        // |r|² = 2c and Jᵀ r = gradient determine nothing alone; compare with the residual by least squares of J.
        let rows = jacobian.len() / n;
        let mut gauss_newton = vec![0.0; n * n];
        p.evaluator.add_gauss_newton(&x, &reference, cost, 1.0, &mut gauss_newton).expect("served");
        for i in 0..n {
            for j in 0..n {
                let dense: f64 = (0..rows).map(|r| jacobian[r * n + i] * jacobian[r * n + j]).sum();
                assert!((gauss_newton[i * n + j] - dense).abs() <= 1e-12 * dense.abs().max(1.0));
            }
        }
        // The gradient lies in the row space of J: it is Jᵀ r for some r with |r|² = 2c.
        if rows <= n {
            let r = least_squares(&jacobian, rows, n, &gradient);
            let back: Vec<f64> =
                (0..n).map(|i| (0..rows).map(|row| jacobian[row * n + i] * r[row]).sum()).collect();
            let scale = gradient.iter().fold(1.0f64, |m, g| m.max(g.abs()));
            let worst = back.iter().zip(&gradient).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(worst < 1e-7 * scale, "{term:?}: {worst:e}");
        }
    }
}

/// Minimises |Jᵀ r − g| by conjugate gradients on the normal equations.
fn least_squares(j: &[f64], rows: usize, n: usize, g: &[f64]) -> Vec<f64> {
    let up =
        |r: &[f64]| -> Vec<f64> { (0..n).map(|i| (0..rows).map(|k| j[k * n + i] * r[k]).sum()).collect() };
    let down =
        |x: &[f64]| -> Vec<f64> { (0..rows).map(|k| (0..n).map(|i| j[k * n + i] * x[i]).sum()).collect() };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut r = vec![0.0; rows];
    let mut residual = down(g);
    let mut p = residual.clone();
    let mut rr = dot(&residual, &residual);
    for _ in 0..40 * rows {
        if rr < 1e-30 {
            break;
        }
        let jp = up(&p);
        let step = rr / dot(&jp, &jp);
        r.iter_mut().zip(&p).for_each(|(r, p)| *r += step * p);
        residual = down(&g.iter().zip(up(&r)).map(|(g, b)| g - b).collect::<Vec<_>>());
        let next = dot(&residual, &residual);
        p = residual.iter().zip(&p).map(|(r, p)| r + next / rr * p).collect();
        rr = next;
    }
    r
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
            .hessian_into(&x, &reference, &weights, &mut values, &mut gradient, &mut hessian)
            .expect("finite");
        let (mut plain_values, mut plain) = (vec![0.0; m], vec![0.0; n]);
        p.evaluator.gradient_into(&x, &reference, &weights, &mut plain_values, &mut plain).expect("finite");
        let scale = hessian.iter().fold(1.0f64, |m, h| m.max(h.abs()));
        for i in 0..n {
            assert!((gradient[i] - plain[i]).abs() < 1e-13 * scale);
            let h = 1e-5;
            let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
            let mut moved = x.clone();
            moved[i] += h;
            p.evaluator.gradient_into(&moved, &reference, &weights, &mut values, &mut up).expect("finite");
            moved[i] -= 2.0 * h;
            p.evaluator.gradient_into(&moved, &reference, &weights, &mut values, &mut down).expect("finite");
            for j in 0..n {
                let d = (up[j] - down[j]) / (2.0 * h) - hessian[i * n + j];
                assert!(d.abs() < 1e-7 * scale, "seed {seed} ({i}, {j}): {d:e} of {scale:e}");
            }
        }
    }
}

/// Everything that [`costs`] has but positions of joints, which balls and free joints do not have.
fn costs_on_groups(mechanism: &Mechanism) -> Vec<Cost> {
    costs(mechanism).into_iter().filter(|c| !matches!(c.term, CostTerm::Joint { order: 0 })).collect()
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
            evaluator.gradient_into(x, &reference, weights, &mut values, &mut gradient).expect("finite");
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
                let term = format!("{:?}", list[cost].term);
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
            .hessian_into(&x, &reference, &weights, &mut values, &mut gradient, &mut hessian)
            .expect("finite");
        let scale = hessian.iter().fold(1.0f64, |m, h| m.max(h.abs()));
        for i in 0..n {
            for j in 0..n {
                let d = (0.5 * (slopes[i * n + j] + slopes[j * n + i]) - hessian[i * n + j]).abs();
                assert!(d < 1e-8 * scale, "seed {seed}: Hessian {i} {j} off by {d:e} of {scale:e}");
            }
        }
        // Gauss–Newton from residual Jacobians is the Hessian where residuals vanish: compare through Jᵀ r instead.
        for cost in (0..list.len()).filter(|c| matches!(list[*c].term, CostTerm::Joint { .. })) {
            let CostTerm::Joint { order } = list[cost].term else { continue };
            let jacobian = evaluator.jacobian(&x, &reference, cost).expect("served");
            let mut one = vec![0.0; list.len()];
            one[cost] = 1.0;
            evaluator.gradient_into(&x, &reference, &one, &mut values, &mut gradient).expect("finite");
            for i in 0..n {
                let r = &x[nq + (order - 1) * nv..];
                let dense: f64 = (0..nv).map(|row| jacobian[row * n + i] * r[row]).sum();
                assert!((dense - gradient[i]).abs() < 1e-12 * gradient[i].abs().max(1.0));
            }
        }
    }
}
