//! Quantities of cost terms: jets against dual numbers, batches against single samples.

use leastaction::jet::{JetQuantities, Quantities, Quantity, Samples, Target};
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder, samples};
use leastaction::spatial::Vec3;
use leastaction_motion::reference::QuantitiesByDuals;

use crate::no_alloc::allocations;
use crate::support::{force_tree_of, random_vector, worst};

fn state(size: usize) -> Vec<f64> {
    (0..size).map(|i| (1.7 * i as f64 + 0.3).sin() * (1.0 + 0.2 * i as f64)).collect()
}

#[test]
fn jets_and_duals_give_the_same_torques_rates_jacobians_and_hessians() {
    let mechanism = MechanismBuilder::from(samples::chain_xy(3)).build().expect("sample");
    let bodies: Vec<_> = mechanism.body_ids().collect();
    let quantities = [
        Quantity::torque(0),
        Quantity::torque(1),
        Quantity::torque(2),
        Quantity::velocity(Target::body(bodies[2]), 0),
        Quantity::velocity(Target::body(bodies[1]), 2),
    ];
    let mut jets = JetQuantities::new(&mechanism, &quantities).expect("served");
    let mut duals = QuantitiesByDuals::new(&mechanism, &quantities);
    assert_eq!(jets.rows(), duals.rows());
    let x = state(5 * 3);
    let mu: Vec<f64> = (0..jets.rows()).map(|i| (0.9 * i as f64).cos()).collect();
    let all = Samples { first: 0, times: &[0.0], x: &x };
    let (a, b) = (Results::new(&mut jets, all, &mu), Results::new(&mut duals, all, &mu));
    for (name, a, b) in [
        ("values", &a.values, &b.values),
        ("Jacobian", &a.jacobians, &b.jacobians),
        ("Hessian", &a.hessians, &b.hessians),
    ] {
        let worst = worst(a, b);
        assert!(worst <= 1e-12, "{name}: {worst:.2e}");
    }
}

#[test]
fn bodies_that_are_welded_to_others_or_to_the_world_have_the_velocities_of_dual_numbers() {
    let mut at_rest = 0;
    for seed in 0..8 {
        let kinds = [JointType::Fixed, JointType::Revolute];
        let mechanism = MechanismBuilder::from(samples::random_tree(seed, 5, &kinds)).build().expect("valid");
        if mechanism.nv() == 0 {
            continue;
        }
        let velocity = |body| Quantity::velocity(Target::body(body), 0);
        let quantities: Vec<Quantity> = mechanism.body_ids().map(velocity).collect();
        let mut jets = JetQuantities::new(&mechanism, &quantities).expect("served");
        let mut duals = QuantitiesByDuals::new(&mechanism, &quantities);
        let x = state(3 * mechanism.nv());
        let all = Samples { first: 0, times: &[0.0], x: &x };
        let mu = vec![1.0; jets.rows()];
        let (a, b) = (Results::new(&mut jets, all, &mu), Results::new(&mut duals, all, &mu));
        at_rest += b.values.chunks(6).filter(|twist| twist.iter().all(|x| *x == 0.0)).count();
        assert!(worst(&a.values, &b.values) <= 1e-13);
        assert!(worst(&a.jacobians, &b.jacobians) <= 1e-13);
        assert!(worst(&a.hessians, &b.hessians) <= 1e-13);
    }
    assert!(at_rest > 0, "some body is welded to the world");
}

/// What a list of quantities gives at some samples.
struct Results {
    values: Vec<f64>,
    jacobians: Vec<f64>,
    hessians: Vec<f64>,
}

impl Results {
    fn zero(rows: usize, samples: Samples<'_>) -> Self {
        let (size, count) = (samples.size(), samples.len());
        Self {
            values: vec![0.0; count * rows],
            jacobians: vec![0.0; count * rows * size],
            hessians: vec![0.0; count * size * size],
        }
    }

    fn new(quantities: &mut impl Quantities, samples: Samples<'_>, mu: &[f64]) -> Self {
        let mut this = Self::zero(quantities.rows(), samples);
        this.evaluate(quantities, samples, mu);
        this
    }

    fn evaluate(&mut self, quantities: &mut impl Quantities, samples: Samples<'_>, mu: &[f64]) {
        quantities.values(samples, &mut self.values);
        quantities.jacobians(samples, &mut self.jacobians);
        quantities.add_hessians(samples, mu, &mut self.hessians);
    }
}

/// Every joint kind whose coordinates are plain numbers; they are evaluated in lanes.
const PLAIN: [JointType; 6] = [
    JointType::Fixed,
    JointType::Revolute,
    JointType::Prismatic,
    JointType::Cylindrical,
    JointType::Universal,
    JointType::Planar,
];

/// Every kind of quantity that is evaluated in lanes.
fn plain_quantities(mechanism: &Mechanism) -> Vec<Quantity> {
    let last = mechanism.body_ids().last().expect("bodies");
    let mut all: Vec<Quantity> =
        mechanism.body_ids().map(|body| Quantity::velocity(Target::body(body), 1)).collect();
    all.extend([
        Quantity::torque(0),
        Quantity::torque(1),
        Quantity::joint(2),
        Quantity::momentum(1, true),
        Quantity::momentum(0, false),
        Quantity::point(Target::body(last).at_point(Vec3([0.1, -0.2, 0.3])), 0),
        Quantity::point(Target::body(last).at_point(Vec3([0.1, -0.2, 0.3])), 2),
        Quantity::com(1),
    ]);
    all
}

/// The same with an orientation at the end, whose logarithm makes samples go one by one: the plain numbers' twin.
fn one_by_one(mechanism: &Mechanism, quantities: &[Quantity]) -> JetQuantities {
    let body = mechanism.body_ids().last().expect("bodies");
    let orientation = Quantity::orientation(Target::body(body));
    let all: Vec<Quantity> = quantities.iter().cloned().chain([orientation]).collect();
    JetQuantities::new(mechanism, &all).expect("served")
}

#[test]
fn batches_of_one_to_nine_samples_equal_their_samples_one_by_one() {
    let mut largest = 0.0f64;
    for seed in 0..4 {
        let mechanism = force_tree_of(seed, &PLAIN);
        let quantities = plain_quantities(&mechanism);
        let mut lanes = JetQuantities::new(&mechanism, &quantities).expect("served");
        let mut single = one_by_one(&mechanism, &quantities);
        lanes.include_passive(seed % 2 == 1);
        single.include_passive(seed % 2 == 1);
        // One order more than any quantity depends on.
        let (rows, size) = (lanes.rows(), 5 * mechanism.nv());
        for count in 1..=9 {
            let x = random_vector(count * size, seed);
            let mu = random_vector(count * rows, seed + 7);
            let times: Vec<f64> = (0..count).map(|s| 0.1 * s as f64).collect();
            let all = Samples { first: 0, times: &times, x: &x };
            let batch = Results::new(&mut lanes, all, &mu);
            for s in 0..count {
                let mut weights = mu[s * rows..(s + 1) * rows].to_vec();
                weights.extend([0.0; 3]);
                let one = Results::new(&mut single, all.part(s..s + 1), &weights);
                for (name, batch, one) in [
                    ("values", &batch.values, &one.values[..rows]),
                    ("Jacobian", &batch.jacobians, &one.jacobians[..rows * size]),
                    ("Hessian", &batch.hessians, &one.hessians[..]),
                ] {
                    let length = one.len();
                    let worst = worst(&batch[s * length..(s + 1) * length], one);
                    largest = largest.max(worst);
                    assert!(worst <= 1e-13, "{name} of sample {s} of {count}, tree {seed}: {worst:.2e}");
                }
            }
        }
    }
    println!("batches against single samples: {largest:.1e}");
}

#[test]
fn a_sample_that_is_not_finite_spoils_no_other() {
    let mechanism = force_tree_of(1, &PLAIN);
    let quantities = plain_quantities(&mechanism);
    let mut jets = JetQuantities::new(&mechanism, &quantities).expect("served");
    let (rows, size, count) = (jets.rows(), 4 * mechanism.nv(), 6);
    let (mut x, mu) = (random_vector(count * size, 1), random_vector(count * rows, 2));
    let times = vec![0.0; count];
    let good = Results::new(&mut jets, Samples { first: 0, times: &times, x: &x }, &mu);
    let bad = 2;
    x[bad * size + 1] = f64::NAN;
    let spoilt = Results::new(&mut jets, Samples { first: 0, times: &times, x: &x }, &mu);
    for (good, spoilt) in [
        (&good.values, &spoilt.values),
        (&good.jacobians, &spoilt.jacobians),
        (&good.hessians, &spoilt.hessians),
    ] {
        let length = good.len() / count;
        for s in 0..count {
            let (good, spoilt) = (&good[s * length..][..length], &spoilt[s * length..][..length]);
            if s == bad {
                assert!(spoilt.iter().all(|x| x.is_nan()));
            } else {
                assert!(worst(spoilt, good) <= 1e-13);
            }
        }
    }
}

#[test]
fn quantities_do_not_allocate_after_they_are_made() {
    let mechanism = force_tree_of(1, &PLAIN);
    let quantities = plain_quantities(&mechanism);
    for mut jets in
        [JetQuantities::new(&mechanism, &quantities).expect("served"), one_by_one(&mechanism, &quantities)]
    {
        jets.include_passive(true);
        let (rows, size, count) = (jets.rows(), 4 * mechanism.nv(), 6);
        let (x, mu) = (random_vector(count * size, 1), random_vector(count * rows, 2));
        let all = Samples { first: 0, times: &vec![0.0; count], x: &x };
        let mut results = Results::zero(rows, all);
        assert_eq!(allocations(|| results.evaluate(&mut jets, all, &mu)), 0);
    }
}
