//! Swing a pendulum up with a weak motor, by optimal control through the integrator's own steps.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;
use std::f64::consts::PI;

use leastaction::control::{
    ControlProblem, ControlTerm, ControlTermKind, Costs, IlqrOptions, MinimalPlant, Path, When, solve_control,
};
use leastaction::mechanism::{ActuatorDescription, MechanismBuilder, samples};
use leastaction::optimize::Wish;

fn main() -> Result<(), Box<dyn Error>> {
    let mut model = samples::chain(1);
    model.inputs.push("motor".into());
    model.joints[0].actuators.push(ActuatorDescription { input: "motor".into(), coordinate: 0, gear: 1.0 });
    let mechanism = MechanismBuilder::from(model).build()?;

    let (steps, h) = (150, 0.02);
    let at_end = |kind| ControlTerm { when: When::End, kind };
    let terms = vec![
        at_end(ControlTermKind::Position { goal: vec![PI], weights: vec![1e3] }),
        at_end(ControlTermKind::Velocity { goal: vec![0.0], weights: vec![1e3] }),
        ControlTerm {
            when: When::Path,
            kind: ControlTermKind::Input { reference: vec![0.0], weights: vec![1e-2] },
        },
    ];
    let mut plant = MinimalPlant::new(&mechanism, 4, h)?;
    let mut costs = Costs::new(&mechanism, terms, h)?;
    let start = mechanism.neutral_state();
    let problem = ControlProblem { start: start.clone(), steps, lower: vec![-6.0], upper: vec![6.0] };
    let guess = Path::roll_out(&mut plant, &start, vec![0.1; steps])?;
    let found = solve_control(&mut plant, &mut costs, &problem, guess, &IlqrOptions::default(), &mut |_| {
        Wish::Continue
    })?;

    let end = &found.path.states[steps];
    println!("{:?}: ends at {:.4} rad with {:.4} rad/s", found.status, end.q[0], end.v[0]);
    assert!((end.q[0].abs() - PI).abs() < 1e-2);
    Ok(())
}
