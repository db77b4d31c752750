//! Actuators that apply a force proportional to an input: on a joint, or as a wrench at a site.

use std::collections::HashSet;
use std::rc::Rc;

use super::document::ElementId;
use super::equality::{is_world, joint_named, site_named};
use super::joint::symmetric;
use super::reader::{Item, JointRecord, Reader};
use crate::frames::{add, cross, rotate, scale};
use crate::mechanism::{
    ActuatorDescription, JointType, LimitsDescription, PerCoordinate, ThrusterDescription,
};

/// Reads all `actuator` sections.
pub(super) fn read(reader: &mut Reader) {
    let mut names = HashSet::new();
    let document = Rc::clone(&reader.document);
    let mut actuators = reader.section("actuator");
    actuators.retain(|&id| {
        let Some(name) = document.elements[id].text("name") else { return true };
        let new = names.insert(name.to_owned());
        if !new {
            let remedy = "give one of the two another name";
            reader.error(id, "an actuator of this name exists already", remedy);
        }
        new
    });
    for (number, id) in actuators.into_iter().enumerate() {
        if !reader.settings.actuation {
            let what = "actuators are switched off by `flag` and left out";
            reader.left_out(id, what, "remove the flag to have them");
            continue;
        }
        let item = reader.item(id, "actuator", 0);
        reflected(reader, &item);
        let Some(gain) = gain(reader, &item) else { continue };
        let name = document.elements[id].text("name").map_or_else(|| made_up(&names, number), str::to_owned);
        if transmission(reader, &item, gain, &name) {
            names.insert(name.clone());
            reader.model.inputs.push(name);
        }
    }
}

fn made_up(names: &HashSet<String>, number: usize) -> String {
    let mut name = format!("actuator{number}");
    while names.contains(&name) {
        name.push('_');
    }
    name
}

/// Force per unit of control; `None` if the force depends on anything else.
fn gain(reader: &mut Reader, item: &Item) -> Option<f64> {
    let document = Rc::clone(&reader.document);
    let tag = document.elements[item.id].tag.as_str();
    let gain = match tag {
        "motor" => Some(1.0),
        "general" => {
            // A servo among the defaults sets gain and bias of plain actuators too.
            let servo = item
                .defaults
                .iter()
                .any(|id| !matches!(document.elements[*id].tag.as_str(), "general" | "motor"));
            let is = |name: &str, plain: &str| reader.text(item, name).is_none_or(|t| t == plain);
            let plain = is("gaintype", "fixed") && is("biastype", "none") && is("dyntype", "none");
            (plain && !servo).then(|| {
                let gain: [f64; 1] = reader.overlaid(item, "gainprm", [1.0]);
                gain[0]
            })
        }
        _ => None,
    };
    if gain.is_none() {
        reader.left_out(
            item.id,
            format!("actuators of the kind `{tag}` with their own law of force are left out"),
            "use `motor` and close the loop where you make the inputs",
        );
    } else if reader.number(item, "delay").is_some_and(|d| d > 0.0) {
        reader.left_out(item.id, "the delay of the actuator is left out", "delay the input itself");
    }
    gain
}

/// Rotor inertia and damping of any actuator act on its joint, times the square of the gear.
fn reflected(reader: &mut Reader, item: &Item) {
    let armature = reader.number(item, "armature").unwrap_or(0.0);
    let damping: [f64; 3] = reader.overlaid(item, "damping", [0.0; 3]);
    if armature == 0.0 && damping == [0.0; 3] {
        return;
    }
    let Some(joint) = ["joint", "jointinparent"].into_iter().find_map(|a| {
        let name = reader.text(item, a)?;
        reader.joint_names.get(name).copied()
    }) else {
        return;
    };
    if damping[1] != 0.0 || damping[2] != 0.0 {
        let what = "nonlinear `damping` is not supported";
        reader.refused(item.id, what, "keep the first of its numbers only");
    }
    let record = reader.joints[joint].clone();
    if record.kind.nv() != 1 {
        let what = "`armature` and `damping` of an actuator on a ball or free joint are left out";
        reader.left_out(item.id, what, "give them to the joint");
        return;
    }
    let gear: [f64; 6] = reader.overlaid(item, "gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let square = gear[0] * gear[0];
    let dampers = reader.settings.dampers;
    let joint = &mut reader.model.joints[record.index];
    joint.armature = PerCoordinate::One(joint.armature.at(0) + square * armature);
    if dampers {
        joint.damping = PerCoordinate::One(joint.damping.at(0) + square * damping[0]);
    }
}

/// Connects an input to what it drives; false if nothing is driven.
fn transmission(reader: &mut Reader, item: &Item, gain: f64, name: &str) -> bool {
    const WAYS: [&str; 7] = ["joint", "jointinparent", "tendon", "site", "body", "cranksite", "slidersite"];
    let document = Rc::clone(&reader.document);
    let given: Vec<&str> =
        WAYS.into_iter().filter(|w| document.elements[item.id].text(w).is_some()).collect();
    let gear: [f64; 6] = reader.overlaid(item, "gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    match given[..] {
        ["joint" | "jointinparent"] => on_joint(reader, item, given[0], gear, gain, name),
        ["site"] => at_site(reader, item, gear, gain, name),
        [] => {
            let remedy = "add `joint=\"NAME\"` or `site=\"NAME\"`";
            reader.error(item.id, "the actuator acts on nothing", remedy);
            false
        }
        ["tendon" | "body"] | ["cranksite" | "slidersite", ..] => {
            let what = format!("actuators on a `{}` are left out", given[0]);
            reader.left_out(item.id, what, "act on a `joint` or at a `site`");
            false
        }
        _ => {
            let message = format!("both `{}` and `{}` say what it acts on", given[0], given[1]);
            reader.error(item.id, message, "keep one of them");
            false
        }
    }
}

fn on_joint(reader: &mut Reader, item: &Item, way: &str, gear: [f64; 6], gain: f64, name: &str) -> bool {
    let Some(joint) = joint_named(reader, item.id, way) else { return false };
    let record = reader.joints[joint].clone();
    let entries: Vec<(usize, f64)> = match record.kind {
        JointType::Spherical => gear[..3].iter().copied().enumerate().collect(),
        JointType::Floating => {
            if gear[..3].iter().any(|g| *g != 0.0) {
                let what = "a force along world axes on a free joint is not supported";
                let remedy = "set the first three numbers of `gear` to zero, or act at a `site` of the body";
                reader.refused(item.id, what, remedy);
                return false;
            }
            gear[3..].iter().copied().enumerate().collect()
        }
        _ => vec![(0, gear[0])],
    };
    if record.kind.nv() != 1 && way == "jointinparent" {
        let what = "a torque along parent axes (`jointinparent`) is not supported";
        reader.refused(item.id, what, "use `joint`, whose axes are the child's");
        return false;
    }
    if record.kind.nv() == 1 {
        effort(reader, item, &record, gear[0], gain);
    } else {
        unclamped(reader, item);
    }
    let actuators = &mut reader.model.joints[record.index].actuators;
    let before = actuators.len();
    for (coordinate, gear) in entries.into_iter().filter(|(_, g)| *g != 0.0) {
        actuators.push(ActuatorDescription { input: name.to_owned(), coordinate, gear: gear * gain });
    }
    let acts = actuators.len() > before;
    if !acts {
        no_gear(reader, item.id);
    }
    acts
}

fn no_gear(reader: &mut Reader, id: ElementId) {
    let remedy = "give `gear` a number that is not zero";
    reader.left_out(id, "the actuator has no effect: its gear is zero", remedy);
}

/// A wrench fixed in the body of the site, about the body's origin.
fn at_site(reader: &mut Reader, item: &Item, gear: [f64; 6], gain: f64, name: &str) -> bool {
    let document = Rc::clone(&reader.document);
    if document.elements[item.id].text("refsite").is_some() {
        let what = "actuators between two sites (`refsite`) are left out";
        reader.left_out(item.id, what, "remove `refsite` to have a wrench at the site");
        return false;
    }
    let Some((body, site)) = site_named(reader, item.id, "site") else { return false };
    if is_world(reader, body) {
        let what = "the actuator pushes the world and has no effect";
        reader.left_out(item.id, what, "choose a site of a body");
        return false;
    }
    unclamped(reader, item);
    let force = rotate(site.q, scale([gear[0], gear[1], gear[2]], gain));
    let torque = rotate(site.q, scale([gear[3], gear[4], gear[5]], gain));
    let torque = add(torque, cross(site.p, force));
    let wrench = [torque[0], torque[1], torque[2], force[0], force[1], force[2]];
    if wrench == [0.0; 6] {
        no_gear(reader, item.id);
        return false;
    }
    let index = reader.bodies[body].index;
    reader.model.bodies[index].thrusters.push(ThrusterDescription { input: name.to_owned(), wrench });
    true
}

/// Range of control and of force become one effort limit of the joint; several actuators add up.
fn effort(reader: &mut Reader, item: &Item, joint: &JointRecord, gear: f64, gain: f64) {
    let control = reader.limited(item, "ctrllimited", "ctrlrange");
    let force = reader.limited(item, "forcelimited", "forcerange");
    let by_control = control.map(|[low, high]| symmetric(reader, item, "ctrlrange", low, high) * gain.abs());
    let by_force = force.map(|[low, high]| symmetric(reader, item, "forcerange", low, high));
    let Some(limit) = [by_control, by_force].into_iter().flatten().reduce(f64::min) else { return };
    let limit = limit * gear.abs();
    let description = &mut reader.model.joints[joint.index];
    let first = description.actuators.is_empty();
    let limits = description.limits.get_or_insert_with(LimitsDescription::default);
    limits.effort = Some(match limits.effort {
        // The joint's own range holds whatever its actuators could do.
        Some(of_joint) if joint.own_effort => of_joint.min(limit),
        Some(sum) if !first => sum + limit,
        _ => limit,
    });
}

/// Says that ranges are not kept where there is no effort limit to hold them.
fn unclamped(reader: &mut Reader, item: &Item) {
    let control = reader.limited(item, "ctrllimited", "ctrlrange");
    let force = reader.limited(item, "forcelimited", "forcerange");
    if control.is_some() || force.is_some() {
        let what =
            "`ctrlrange` and `forcerange` of actuators on ball joints, free joints and sites are not kept";
        reader.left_out(item.id, what, "keep the input within its range where you make it");
    }
}
