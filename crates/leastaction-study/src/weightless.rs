//! Joints that move no inertia: they are held, and that is said.
//!
//! Robots carry hands and screens whose links nobody gave a mass. What moves nothing has no equation of motion; the rest of the
//! robot has.

use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder};

use crate::model::Model;

/// Joints that a note names.
const NAMED: usize = 3;

/// Welds the joints that move no inertia and that nothing drives; a note about it, if there are any.
pub(crate) fn hold(model: &mut Model, built: &mut Mechanism) -> Option<String> {
    let held: Vec<String> =
        built.degenerate_joints().iter().map(|joint| built.joint(*joint).name.clone()).collect();
    let is_held = |name: &str| held.iter().any(|joint| joint == name);
    let mut changed = model.description.clone();
    let leads = |leader: Option<&str>, follower: &str| leader.is_some_and(is_held) && !is_held(follower);
    // What leads a joint with inertia moves something after all.
    let drives = changed.joints.iter().any(|joint| {
        (is_held(&joint.name) && !joint.actuators.is_empty())
            || leads(joint.mimic.as_ref().map(|m| m.joint.as_str()), &joint.name)
    }) || changed.couplings.iter().any(|c| leads(c.of.as_deref(), &c.joint))
        || changed.tendons.iter().any(|t| t.terms.iter().any(|term| is_held(&term.joint)));
    if held.is_empty() || drives {
        return None;
    }
    for joint in changed.joints.iter_mut().filter(|joint| is_held(&joint.name)) {
        joint.kind = JointType::Fixed;
        (joint.axis, joint.axis2, joint.mimic, joint.limits, joint.spring) = (None, None, None, None, None);
        (joint.damping, joint.armature, joint.friction) = Default::default();
    }
    changed.couplings.retain(|c| !is_held(&c.joint));
    for state in changed.states.values_mut() {
        state.q.retain(|joint, _| !is_held(joint));
        state.v.retain(|joint, _| !is_held(joint));
    }
    let mechanism = MechanismBuilder::from(changed.clone()).build().ok()?;
    model.description = changed;
    *built = mechanism;
    let (joints, they) = if held.len() == 1 { ("joint moves", "it is") } else { ("joints move", "they are") };
    let mut list: Vec<String> = held.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    if held.len() > NAMED {
        list.push("…".into());
    }
    Some(format!("{} {joints} no inertia; {they} held at zero: {}", held.len(), list.join(", ")))
}
