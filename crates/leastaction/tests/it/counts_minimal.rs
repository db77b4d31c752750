//! How hard the engine in joint coordinates works: iterations of the first 100 steps, to the last one.
//!
//! A change that makes it work harder, or less, shows here at once; the table is then part of the change.

use leastaction::integrator::minimal::{Minimal, MinimalOptions};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::{MechanismBuilder, ModelDescription, samples};

/// Iterations of 100 steps of 5 ms, by model: orders 2, 4, 6, 8.
const COUNTS: [(&str, [u32; 4]); 6] = [
    ("chain of 2", [104, 191, 101, 101]),
    ("chain of 32", [299, 401, 303, 302]),
    ("chain of 32 about x and y", [200, 347, 301, 223]),
    ("chain of 8 balls", [251, 304, 304, 301]),
    ("chain of 200", [364, 501, 403, 402]),
    ("chain of 1000", [354, 786, 612, 598]),
];

fn model(name: &str) -> ModelDescription {
    match name {
        "chain of 2" => samples::chain(2),
        "chain of 32" => samples::chain(32),
        "chain of 32 about x and y" => samples::chain_xy(32),
        "chain of 8 balls" => samples::ball_chain(8),
        "chain of 200" => samples::chain(200),
        _ => samples::chain(1000),
    }
}

#[test]
fn steps_take_as_many_iterations_as_the_table_says() {
    let mut found = Vec::new();
    for (name, _) in COUNTS {
        let mechanism = MechanismBuilder::from(model(name)).build().expect("valid");
        let counts = [2, 4, 6, 8].map(|order| {
            let options = MinimalOptions { order, halve: true, ..MinimalOptions::default() };
            let integrator = Minimal::new(options).expect("options");
            let mut workspace = integrator.workspace(&mechanism).expect("served");
            let mut state =
                integrator.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("start");
            let mut step =
                || integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, 0.005);
            (0..100).map(|_| step().expect("step").iterations).sum::<u32>()
        });
        found.push((name, counts));
    }
    for (name, counts) in &found {
        println!("    (\"{name}\", {counts:?}),");
    }
    assert_eq!(found, COUNTS);
}
