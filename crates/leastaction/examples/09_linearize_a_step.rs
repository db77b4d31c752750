//! The exact derivative of one step: A and B for regulators, filters and learning.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::integrator::{Input, Integrator, LinearizedStep, MethodOptions, StepLinearization};
use leastaction::mechanism::{ActuatorDescription, MechanismBuilder, samples};

fn main() -> Result<(), Box<dyn Error>> {
    let mut model = samples::chain(2);
    model.inputs.push("motor".into());
    model.joints[0].actuators.push(ActuatorDescription { input: "motor".into(), coordinate: 0, gear: 1.0 });
    let mechanism = MechanismBuilder::from(model).build()?;

    // Both variational engines are asked the same way.
    let engine = MethodOptions::default().minimal_engine()?;
    let mut workspace = engine.workspace(&mechanism)?;
    let mut state = engine.start(&mechanism, &mut workspace, &mechanism.start_state())?;
    let mut derivative = engine.slope(&mechanism, &workspace);
    let mut step = StepLinearization::default();
    let input = Input { u: &[0.5] };
    engine.step_linearized(
        &mechanism,
        &mut workspace,
        &mut derivative,
        &mut state,
        input,
        0.01,
        false,
        &mut step,
    )?;

    for (i, name) in step.names(&mechanism).iter().enumerate() {
        let row: Vec<String> = (0..step.states()).map(|j| format!("{:9.5}", step.a(i, j))).collect();
        println!("{name:>10}: A {}   B {:.6}", row.join(" "), step.b(i, 0));
    }
    Ok(())
}
