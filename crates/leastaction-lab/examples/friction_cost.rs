//! Steps of joint coordinates from a model's start, for counting instructions: the half of `scripts/friction_cost.py` that is ours.
//!
//!     friction_cost MODEL ORDER BOUND STEP STEPS [read]
//!
//! BOUND is the dry friction of every joint, in N m; `none` leaves friction and limits out, `own` keeps those of the model. `read` asks
//! for positions and velocities after every step, as a run that writes them does. Prints what the steps were made of.
#![expect(clippy::print_stdout, reason = "its purpose")]

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::io::{LoadOptions, load_model};
use leastaction::mechanism::{MechanismBuilder, ModelDescription, PerCoordinate, samples};
use std::error::Error;

fn described(name: &str) -> Result<ModelDescription, Box<dyn Error>> {
    if name.starts_with('@') {
        return Ok(samples::built_in(name)?);
    }
    Ok(load_model(name.as_ref(), &LoadOptions::default())?.description.ok_or("not a model")?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, order, bound, step, steps, rest @ ..] = &words[..] else {
        return Err("friction_cost MODEL ORDER BOUND STEP STEPS [read]".into());
    };
    let read = rest.iter().any(|word| word == "read");
    let (order, h, steps): (u32, f64, usize) = (order.parse()?, step.parse()?, steps.parse()?);
    let mut model = described(name)?;
    for joint in &mut model.joints {
        match bound.as_str() {
            "own" => {}
            "none" => (joint.friction, joint.limits) = (PerCoordinate::default(), None),
            bound => joint.friction = PerCoordinate::One(bound.parse()?),
        }
    }
    let mechanism = MechanismBuilder::from(model).build()?;
    let mut start = mechanism.start_state();
    for row in mechanism.rows() {
        if let Some(at) = row.coordinate() {
            start.q[at.q] = start.q[at.q].clamp(row.lower, row.upper);
        }
    }
    let options = MethodOptions { order: Some(order), ..MethodOptions::default() };
    let mut run = Simulator::new(&mechanism, Method::Minimal, &options, &start)?;
    let u = vec![0.0; mechanism.nu()];
    let (mut events, mut parts, mut trials, mut iterations) = (0, 0, 0, 0);
    for _ in 0..steps {
        let report = run.step(&u, h)?;
        events += report.events;
        parts += report.parts;
        trials += report.trials;
        iterations += report.iterations;
        if read && run.state().v.iter().any(|v| !v.is_finite()) {
            return Err("a velocity that is no number".into());
        }
    }
    println!(
        "{{\"events\": {events}, \"parts\": {parts}, \"trials\": {trials}, \"iterations\": {iterations}}}"
    );
    Ok(())
}
