//! How hard the maximal engine works: iterations of the first hundred steps of 5 ms, exactly. A change that makes it work
//! harder shows here at once; one that makes it work less is written down.

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::samples::built_in;
use leastaction::mechanism::{MechanismBuilder, PerCoordinate};

/// Model, iterations of the first hundred steps at order 2 and at order 4.
const COUNTS: [(&str, u32, u32); 10] = [
    ("@double-pendulum", 102, 303),
    ("@chain/10", 104, 317),
    ("@chain/100", 108, 506),
    ("@chain-xy/20", 103, 303),
    ("@ball-chain/100", 108, 506),
    ("@binary-tree/63", 103, 389),
    ("@ball-tree/63", 103, 389),
    ("@four-bar", 125, 464),
    ("@four-bars/50", 104, 406),
    ("@rhombus-chain/5", 144, 954),
];

#[test]
fn iteration_counts_are_these() {
    let count = |name: &str, order: u32| {
        let mechanism = MechanismBuilder::from(built_in(name).expect("built in")).build().expect("valid");
        let options = MethodOptions { order: Some(order), ..Default::default() };
        let mut sim = Simulator::new(&mechanism, Method::Maximal, &options, &mechanism.start_state())
            .expect("supported");
        (0..100).map(|_| sim.step(&[], 0.005).expect("step").iterations).sum::<u32>()
    };
    let found = COUNTS.map(|(name, ..)| (name, count(name, 2), count(name, 4)));
    assert_eq!(found, COUNTS);
}

/// A damper of any strength leaves at most a known part of the error per iteration (8.13), so from an error of a radian to the
/// rounding of directions it is a known number of iterations, and two to see that they fall. That is a bound of eigenvalues: a direction
/// may grow before it falls, and the exact matrix may step in, but in a tenth of the steps at most.
#[test]
fn dampers_of_every_strength_cost_a_few_iterations() {
    for damping in [0.01, 1.0, 30.0, 100.0, 1e3] {
        let mut description = built_in("@chain/10").expect("built in");
        for joint in &mut description.joints {
            joint.damping = PerCoordinate::One(damping);
        }
        let mechanism = MechanismBuilder::from(description).build().expect("valid");
        for (order, left) in [(4, 0.067_f64), (6, 0.166), (8, 0.238)] {
            let bound = (2e-13_f64.ln() / left.ln()).ceil() as u32 + 2;
            let options = MethodOptions { order: Some(order), ..Default::default() };
            let mut sim = Simulator::new(&mechanism, Method::Maximal, &options, &mechanism.start_state())
                .expect("supported");
            let mut exact = 0;
            for step in 0..100 {
                let report = sim.step(&[], 0.01).expect("step");
                if report.retries > 0 {
                    exact += 1;
                    continue;
                }
                let found = report.iterations;
                assert!(found <= bound, "{damping} N m s, order {order}, step {step}: {found} of {bound}");
            }
            assert!(exact <= 10, "{damping} N m s, order {order}: {exact} of 100 steps");
        }
    }
}

/// Rows that are made of what moved let the mass matrix solve long chains (8.28), and what swings about the solution does not look
/// hopeless (8.17): no step needs the exact matrix, whose cost is a hundred times as high.
#[test]
fn the_mass_matrix_is_enough() {
    for (name, order, h, steps) in [
        ("@chain/256", 4, 0.005, 40),
        ("@chain/256", 6, 0.005, 40),
        ("@four-bar", 6, 0.02, 100),
        ("@four-bar", 8, 0.02, 100),
    ] {
        let mechanism = MechanismBuilder::from(built_in(name).expect("built in")).build().expect("valid");
        let options = MethodOptions { order: Some(order), ..Default::default() };
        let mut sim = Simulator::new(&mechanism, Method::Maximal, &options, &mechanism.start_state())
            .expect("supported");
        let retries: u32 = (0..steps).map(|_| sim.step(&[], h).expect("step").retries).sum();
        assert_eq!(retries, 0, "{name}, order {order}, {h} s");
    }
}

/// Forces of the joints turn with the links (8.29): four and eight times the links take at most one and a half iterations more.
#[test]
fn long_chains_take_hardly_more_iterations_than_short_ones_at_order_four() {
    let count = |name: &str, h: f64| {
        let mechanism = MechanismBuilder::from(built_in(name).expect("built in")).build().expect("valid");
        let options = MethodOptions { order: Some(4), ..Default::default() };
        let mut sim = Simulator::new(&mechanism, Method::Maximal, &options, &mechanism.start_state())
            .expect("supported");
        for _ in 0..20 {
            sim.step(&[], h).expect("step");
        }
        (0..20).map(|_| sim.step(&[], h).expect("step").iterations).sum::<u32>()
    };
    for (short, long, h) in [
        ("@chain/64", "@chain/256", 0.005),
        ("@ball-chain/64", "@ball-chain/256", 0.005),
        ("@four-bars/32", "@four-bars/256", 0.01),
    ] {
        let (few, many) = (count(short, h), count(long, h));
        assert!(many <= few + 30, "{long}: {many} iterations in 20 steps, {short}: {few}");
    }
}
