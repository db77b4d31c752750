//! How hard the maximal engine works: iterations of the first hundred steps of 5 ms, exactly. A change that makes it work
//! harder shows here at once; one that makes it work less is written down.

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::MechanismBuilder;
use leastaction::mechanism::samples::built_in;

/// Model, iterations of the first hundred steps at order 2 and at order 4.
const COUNTS: [(&str, u32, u32); 10] = [
    ("@double-pendulum", 102, 303),
    ("@chain/10", 104, 317),
    ("@chain/100", 107, 473),
    ("@chain-xy/20", 103, 336),
    ("@ball-chain/100", 107, 534),
    ("@binary-tree/63", 103, 389),
    ("@ball-tree/63", 103, 389),
    ("@four-bar", 125, 464),
    ("@four-bars/50", 104, 512),
    ("@rhombus-chain/5", 144, 1067),
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
