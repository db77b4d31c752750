//! Load a model file, simulate it, and look at where it ends.
//!
//! ```sh
//! cargo run --release --example 01_load_and_simulate -- robot.urdf
//! ```

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;
use std::path::PathBuf;

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::io::{LoadOptions, load_model};

fn main() -> Result<(), Box<dyn Error>> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/floating-arm.json");
    let path = std::env::args().nth(1).map_or_else(|| PathBuf::from(own), PathBuf::from);

    // A reading has everything that was found, with places; `build` checks the model as a whole.
    let mut reading = load_model(&path, &LoadOptions::default())?;
    let Some(mechanism) = reading.build() else {
        for diagnostic in &reading.diagnostics {
            println!("{diagnostic}");
        }
        return Err("the model cannot be used".into());
    };

    let start = mechanism.start_state();
    let inputs = vec![0.0; mechanism.nu()];
    let mut simulator = Simulator::new(&mechanism, Method::Minimal, &MethodOptions::default(), &start)?;
    for _ in 0..1000 {
        simulator.step(&inputs, 1e-3)?;
    }
    for (name, q) in mechanism.q_labels().iter().zip(&simulator.state().q) {
        println!("{name:>24} = {q:.6}");
    }
    Ok(())
}
