//! Loop joints as `connect` and `weld`, couplings and mimics as `equality joint`.

use std::collections::HashSet;

use super::Writer;
use super::pieces::{Piece, PieceKind};
use crate::frames::{add, rotate, unit};
use crate::mechanism::{ConstraintDescription, JointDescription, JointType, Placement};
use crate::xml_write::numbers;

/// Fills the equality section.
pub(super) fn write(writer: &mut Writer<'_>) {
    for joint in writer.loops.clone() {
        loop_joint(writer, &joint);
    }
    let is_scalar =
        |pieces: &[Piece]| matches!(pieces, [p] if matches!(p.kind, PieceKind::Hinge | PieceKind::Slide));
    let scalars: HashSet<String> =
        writer.links.iter().filter(|l| is_scalar(&l.pieces)).map(|l| l.joint.name.clone()).collect();
    for tendon in writer.model.tendons.clone() {
        let what = "fixed tendons are left out";
        writer.say(format!("tendon `{}`", tendon.name), what, "write the model as JSON to keep them");
    }
    for motion in &writer.model.motions {
        let what = "joints driven along a motion are left free";
        writer.say(format!("joint `{}`", motion.joint), what, "write the model as JSON to keep them driven");
    }
    for coupling in writer.model.couplings.clone() {
        if !coupling.sum.is_empty() || coupling.reference != [0.0; 2] {
            let what = "couplings of sums, or that count from other values, are left out";
            writer.say(format!("coupling `{}`", coupling.name), what, "write the model as JSON to keep them");
            continue;
        }
        let of = coupling.of.as_deref();
        scalar_coupling(writer, &scalars, &coupling.name, &coupling.joint, of, &coupling.polynomial);
    }
    let mimics: Vec<_> = writer
        .links
        .iter()
        .filter(|l| l.joint.kind != JointType::Fixed)
        .filter_map(|l| l.joint.mimic.clone().map(|m| (l.joint.name.clone(), m)))
        .collect();
    for (name, mimic) in mimics {
        scalar_coupling(writer, &scalars, "", &name, Some(&mimic.joint), &[mimic.offset, mimic.multiplier]);
    }
    for constraint in &writer.model.constraints {
        let what = match constraint {
            ConstraintDescription::KnifeEdge { .. } => "knife edges are left out",
            ConstraintDescription::RollingDisc { .. } => "rolling discs are left out",
        };
        writer.say(format!("constraint `{}`", constraint.name()), what, "MJCF has no such constraint");
    }
}

fn loop_joint(writer: &mut Writer<'_>, joint: &JointDescription) {
    let element = format!("loop joint `{}`", joint.name);
    let forces = joint.spring.is_some()
        || !joint.damping.is_zero()
        || !joint.friction.is_zero()
        || !joint.armature.is_zero()
        || joint.limits.is_some()
        || !joint.actuators.is_empty();
    if forces {
        let message = "springs, dampers, friction, limits and actuators of loop joints are left out";
        writer.say(element.clone(), message, "make another joint the loop joint");
    }
    match joint.kind {
        JointType::Spherical => tie(writer, joint, "connect", &joint.name, [0.0; 3]),
        JointType::Fixed => tie(writer, joint, "weld", &joint.name, [0.0; 3]),
        JointType::Revolute | JointType::Continuous => {
            let message =
                "a revolute loop joint becomes two `connect`s on its axis, 1 m apart (6 rows for 5)";
            writer.say(element, message, "none needed: the motion is the same");
            let axis = joint.axis.and_then(unit).unwrap_or([0.0, 0.0, 1.0]);
            tie(writer, joint, "connect", &joint.name, [0.0; 3]);
            tie(writer, joint, "connect", &format!("{}/axis", joint.name), axis);
        }
        kind => {
            let message = format!("{} loop joints are left out: MJCF has no such constraint", kind.name());
            writer.say(element, message, "close the loop at another joint");
        }
    }
}

/// One constraint between two sites, `offset` away from the joint frames.
fn tie(writer: &mut Writer<'_>, joint: &JointDescription, tag: &'static str, name: &str, offset: [f64; 3]) {
    let at = |x: &Placement| Placement { p: add(x.p, rotate(x.q, offset)), q: x.q };
    let one = writer.add_site(&joint.parent, &format!("{name}/parent"), at(&joint.parent_placement));
    let two = writer.add_site(&joint.child, &format!("{name}/child"), at(&joint.child_placement));
    writer.equalities.push((tag, vec![("name", name.to_owned()), ("site1", one), ("site2", two)]));
}

fn scalar_coupling(
    writer: &mut Writer<'_>,
    scalars: &HashSet<String>,
    name: &str,
    joint: &str,
    of: Option<&str>,
    polynomial: &[f64],
) {
    let scalar = |name: &str| scalars.contains(name);
    if !scalar(joint) || of.is_some_and(|of| !scalar(of)) || polynomial.len() > 5 {
        let message = "a coupling of joints with several coordinates, or beyond fourth powers, is left out";
        writer.say(format!("joint `{joint}`"), message, "couple hinges and slides only");
        return;
    }
    let mut attributes = Vec::new();
    if !name.is_empty() {
        attributes.push(("name", name.to_owned()));
    }
    attributes.push(("joint1", joint.to_owned()));
    if let Some(of) = of {
        attributes.push(("joint2", of.to_owned()));
    }
    let mut coefficients = [0.0; 5];
    coefficients[..polynomial.len()].copy_from_slice(polynomial);
    attributes.push(("polycoef", numbers(&coefficients)));
    writer.equalities.push(("joint", attributes));
}
