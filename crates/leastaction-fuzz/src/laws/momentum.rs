//! Nothing outside acts on a free mechanism without weight: its momentum is that of its start.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::samples::Random;
use leastaction::mechanism::{JointDescription, JointType, State, WORLD};

use super::{built, within};
use crate::random_model::{RandomModel, units};

/// The same tree set free: no weight, no closure to the world, every root afloat.
pub(super) fn momentum_stays(model: &RandomModel) -> Result<(), String> {
    let mut description = model.description.clone();
    description.gravity = [0.0; 3];
    description.joints.retain(|joint| joint.role.is_none());
    for joint in &mut description.joints {
        if joint.parent == WORLD {
            let (name, child) = (joint.name.clone(), joint.child.clone());
            *joint = JointDescription::new(name, JointType::Floating, WORLD.to_owned(), child);
        }
    }
    let mechanism = built(&description)?;
    let mut random = Random::new(31);
    let mut start = mechanism.start_state();
    start.v = units(&mechanism, model.length)
        .iter()
        .map(|unit| unit / model.time * random.range(-0.3, 0.3))
        .collect();
    let mut dynamics = Dynamics::new(&mechanism);
    // Mass times speed times length of everything that moves is what rounding is relative to.
    let mut momentum = |state: &State| {
        let observed = dynamics.observe(&mechanism, &state.q, &state.v);
        (observed.momentum, observed.kinetic)
    };
    let mass: f64 = description.bodies.iter().map(|body| body.mass).sum();
    for (method, order) in
        [(Method::Minimal, 2), (Method::Minimal, 4), (Method::Maximal, 2), (Method::Maximal, 4)]
    {
        let options = MethodOptions { order: Some(order), ..MethodOptions::default() };
        let Ok(mut simulator) = Simulator::new(&mechanism, method, &options, &start) else { continue };
        let (first, kinetic) = momentum(simulator.state());
        for _ in 0..20 {
            simulator
                .step(&[], 2e-3 * model.time)
                .map_err(|error| format!("{} {order}: {error}", method.name()))?;
        }
        let (last, _) = momentum(simulator.state());
        let scale = (2.0 * mass * kinetic).sqrt() + mass * model.length / model.time;
        let what = format!("{} {order}", method.name());
        within(&format!("{what}: linear"), (last.lin - first.lin).norm() / scale, 1e-10)?;
        within(&format!("{what}: angular"), (last.ang - first.ang).norm() / (scale * model.length), 1e-10)?;
    }
    Ok(())
}
