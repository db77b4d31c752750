//! What a run is stepped with where nobody said: decision 0015.

use leastaction::integrator::maximal::{Composition, Maximal, RotationMap};
use leastaction::integrator::{Integrator, Method};
use leastaction::mechanism::{Joint, JointRole, JointType, Mechanism, State};

use crate::serve::Served;
use crate::settings::Settings;

/// Turn of a link per step, radians, above which steps of order 2 show another motion: they lose a part θ²/24 of its rate.
const TURN: f64 = 0.1;

/// Poses for trees of balls without elements: three times as fast at equal error. Not where flags say more than that.
pub(crate) fn choose_method(settings: &mut Settings, mechanism: &Mechanism) {
    let said = settings.integrator.is_some()
        || settings.iteration.is_some()
        || settings.policy.is_some()
        || settings.rotation_map.is_some()
        || settings.order.is_some_and(|order| order > 12);
    if !said && is_plain_ball_tree(mechanism) {
        settings.integrator = Some(Method::Maximal);
        // What trees are stepped at by default.
        settings.order.get_or_insert(4);
    }
}

/// Two balls and more, and no other joint that moves; nothing but gravity acts.
fn is_plain_ball_tree(mechanism: &Mechanism) -> bool {
    let still = |values: &[f64; 6]| values.iter().all(|x| *x == 0.0);
    let plain = |joint: &Joint| {
        let elements = [&joint.stiffness, &joint.damping, &joint.armature, &joint.friction];
        joint.role == JointRole::Tree
            && matches!(joint.kind, JointType::Spherical | JointType::Fixed)
            && elements.into_iter().all(still)
            && joint.actuators.is_empty()
    };
    let balls = mechanism.joints().iter().filter(|joint| joint.kind == JointType::Spherical).count();
    balls > 1
        && mechanism.joints().iter().all(plain)
        && mechanism.bodies().iter().all(|body| body.drag == 0.0)
        && mechanism.contacts().is_empty()
        && mechanism.constraints().is_empty()
        && mechanism.drives().is_empty()
        && mechanism.tendons().is_empty()
        && mechanism.driven().next().is_none()
}

/// Order 4 where some link turns far in the first step, or the state continues a run of that order; and why.
pub(crate) fn choose_order(served: &Served, start: &State, step: f64) -> Option<String> {
    let (options, mechanism) = (&served.options, &served.mechanism);
    let maximal = &options.maximal;
    let free = served.method == Method::Maximal && options.order.is_none() && mechanism.contacts().is_empty();
    if !free || maximal.composition.is_some() || maximal.rotation_map != RotationMap::Sine {
        return None;
    }
    let fourth = Maximal { order: 4, composition: Composition::Plain, ..Maximal::default() };
    if let Some(warm) = &start.warm {
        return (warm.integrator == fourth.label())
            .then(|| "the start is a state of steps of order 4".into());
    }
    let turn = turn_per_step(mechanism, start, step).filter(|turn| *turn > TURN)?;
    Some(format!(
        "a link turns by {turn:.2} rad in the first step: steps of order 4, as `--order 2` would turn it too fast"
    ))
}

/// Largest turn of a link in a step at the velocities of the start.
fn turn_per_step(mechanism: &Mechanism, start: &State, step: f64) -> Option<f64> {
    let engine = Maximal::default();
    let mut workspace = engine.workspace(mechanism).ok()?;
    let state = engine.start(mechanism, &mut workspace, start).ok()?;
    workspace.snapshot(&state).iter().map(|link| link.omega.norm() * step).reduce(f64::max)
}
