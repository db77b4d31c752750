//! Time per step of a model with contact under given inputs: the half of `scripts/peers/contact_speed.py` that is ours.
//!
//!     contact_speed MODEL STEP HOLD ROUNDS SKIP < inputs
//!
//! Every line of the inputs is held for HOLD steps; what the first SKIP lines take is not counted. Each piece counts with the least
//! time it took in ROUNDS runs, so that a busy machine hurts little. A state named `stand` is the start where there is one.
#![expect(clippy::print_stdout, reason = "its purpose")]

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::io::{LoadOptions, load_model};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, step, hold, rounds, skip] = &words[..] else {
        return Err("contact_speed MODEL STEP HOLD ROUNDS SKIP < inputs".into());
    };
    let (h, hold, rounds): (f64, usize, usize) = (step.parse()?, hold.parse()?, rounds.parse()?);
    let skip: usize = skip.parse()?;
    let mechanism = load_model(model.as_ref(), &LoadOptions::default())?.build().ok_or("not a mechanism")?;
    let inputs: Vec<Vec<f64>> = std::io::read_to_string(std::io::stdin())?
        .lines()
        .map(|line| line.split_whitespace().map(str::parse).collect())
        .collect::<Result<_, _>>()?;
    let start = mechanism.states().get("stand").cloned().unwrap_or_else(|| mechanism.start_state());
    let mut least = vec![f64::INFINITY; inputs.len()];
    let (mut iterations, mut splits, mut paths) = (0, 0, 0);
    for round in 0..rounds {
        let mut simulator = Simulator::new(&mechanism, Method::Maximal, &MethodOptions::default(), &start)?;
        for (k, u) in inputs.iter().enumerate() {
            let begin = Instant::now();
            for _ in 0..hold {
                let report = simulator.step(u, h)?;
                if round == 0 && k >= skip {
                    iterations += report.iterations;
                    splits += report.splits;
                    paths += report.retries;
                }
            }
            least[k] = least[k].min(begin.elapsed().as_secs_f64());
        }
    }
    let steps = (hold * inputs.len().saturating_sub(skip)) as f64;
    let us = least.iter().skip(skip).sum::<f64>() * 1e6 / steps;
    let each = f64::from(iterations) / steps;
    println!("{{\"us\": {us:.2}, \"iterations\": {each:.2}, \"splits\": {splits}, \"paths\": {paths}}}");
    Ok(())
}
