//! Joints that move no inertia, always or somewhere: they are held or get a little, and that is said.
//!
//! Robots carry hands and screens whose links nobody gave a mass. What moves nothing has no equation of motion; the rest of the
//! robot has. Others write a shoulder as three hinges with massless links between: where the first axis lines up with the third
//! the mass matrix is singular, and limits of a right angle bring robots there.

use leastaction::dynamics::Dynamics;
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder, PerCoordinate};

use crate::model::Model;

/// Joints that a note names.
const NAMED: usize = 3;
/// Part of what a joint moves that it gets as armature where its axis can line up with another's.
const LITTLE: f64 = 1e-3;

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
    Some(format!("{} {joints} no inertia; {they} held at zero: {}", held.len(), listed(&held)))
}

/// Gives joints a little armature where three hinges in a row turn links without rotational inertia; a note about it, if any do.
pub(crate) fn steady(model: &mut Model, built: &mut Mechanism) -> Option<String> {
    let nodes = &built.tree().nodes;
    let turns = |i: usize| matches!(nodes[i].kind, JointType::Revolute | JointType::Continuous);
    let bare = |i: usize| {
        let inertia = &nodes[i].inertia;
        let largest = inertia.about_com().0.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        turns(i) && built.joint(nodes[i].joint).armature[0] == 0.0 && largest <= 1e-12 * inertia.mass
    };
    let mut weak = Vec::new();
    for (k, third) in nodes.iter().enumerate() {
        let Some(j) = third.parent else { continue };
        let Some(i) = nodes[j].parent else { continue };
        if turns(k) && bare(j) && bare(i) {
            weak.push(i);
            // A point on three axes has two freedoms.
            if bare(k) {
                weak.push(k);
            }
        }
    }
    weak.sort_unstable();
    weak.dedup();
    if weak.is_empty() {
        return None;
    }
    let (nv, start) = (built.nv(), built.neutral_state());
    let mut mass = vec![0.0; nv * nv];
    Dynamics::new(built).mass_matrix_into(built, &start.q, &mut mass);
    let mut changed = model.description.clone();
    let mut given = Vec::new();
    for node in weak.into_iter().map(|i| &nodes[i]) {
        let name = &built.joint(node.joint).name;
        if let Some(joint) = changed.joints.iter_mut().find(|joint| joint.name == *name) {
            joint.armature = PerCoordinate::One(LITTLE * mass[node.v * (nv + 1)]);
            given.push(name.clone());
        }
    }
    let mechanism = MechanismBuilder::from(changed.clone()).build().ok()?;
    model.description = changed;
    *built = mechanism;
    let list = listed(&given);
    Some(format!(
        "links without inertia turn about axes that can line up: armatures of a thousandth of what they move are added to {list}"
    ))
}

/// The first names of a list.
fn listed(names: &[String]) -> String {
    let mut list: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    if names.len() > NAMED {
        list.push(format!("{} more", names.len() - NAMED));
    }
    list.join(", ")
}
