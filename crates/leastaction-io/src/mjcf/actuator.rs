//! Actuators: an input with its law, and what it acts on: joints, fixed tendons, or a body at a site.

use std::collections::HashSet;
use std::rc::Rc;

use super::document::ElementId;
use super::equality::{is_world, joint_named, site_named};
use super::law::{Finished, Law};
use super::reader::{Item, JointRecord, Reader};
use super::tuned::Tuned;
use crate::frames::{add, cross, rotate};
use crate::mechanism::{
    ActuatorDescription, Affine, JointType, LawDescription, PerCoordinate, PushDescription,
    ThrusterDescription,
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
        let name = document.elements[id].text("name").map_or_else(|| made_up(&names, number), str::to_owned);
        let made = actuator(reader, id, &name);
        if made {
            names.insert(name.clone());
            reader.model.inputs.push(name.clone());
        }
        reader.actuators.push(made.then_some(name));
    }
}

fn made_up(names: &HashSet<String>, number: usize) -> String {
    let mut name = format!("actuator{number}");
    while names.contains(&name) {
        name.push('_');
    }
    name
}

/// One actuator; false if it is left out.
fn actuator(reader: &mut Reader, id: ElementId, name: &str) -> bool {
    if !reader.settings.actuation {
        let what = "actuators are switched off by `flag` and left out";
        reader.left_out(id, what, "remove the flag to have them");
        return false;
    }
    let item = reader.item(id, "actuator", 0);
    let group = reader.number(&item, "group").unwrap_or(0.0) as i64;
    if reader.settings.groups_off.contains(&group) {
        let what = "actuators of groups that `actuatorgroupdisable` names are left out";
        reader.left_out(id, what, "remove the option to have them");
        return false;
    }
    reflected(reader, &item);
    let Some(finished) = Law::read(reader, &item).finish(reader, id, name) else { return false };
    if reader.number(&item, "delay").is_some_and(|d| d > 0.0) {
        reader.left_out(id, "the delay of the actuator is left out", "delay the input itself");
    }
    transmission(reader, &item, finished)
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

/// Where an actuator acts.
struct Target {
    /// Joint records with gears: the share of each coordinate in the length.
    joints: Vec<(usize, usize, f64)>,
    /// Length, as MuJoCo counts it, where all our coordinates are zero.
    offset: f64,
    /// Range of the joint or tendon, as MuJoCo counts it.
    range: Option<[f64; 2]>,
    /// A motion along it has no length: only its velocity would count.
    without_length: bool,
    /// Force along world axes on the child of a free joint.
    push: [f64; 3],
}

/// Connects an input to what it drives; false if nothing is driven.
fn transmission(reader: &mut Reader, item: &Item, finished: Finished) -> bool {
    const WAYS: [&str; 7] = ["joint", "jointinparent", "tendon", "site", "body", "cranksite", "slidersite"];
    let document = Rc::clone(&reader.document);
    let given: Vec<&str> =
        WAYS.into_iter().filter(|w| document.elements[item.id].text(w).is_some()).collect();
    let gear: [f64; 6] = reader.overlaid(item, "gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    match given[..] {
        ["joint" | "jointinparent"] => {
            on_joint(reader, item, given[0], gear).is_some_and(|target| drive(reader, item, target, finished))
        }
        ["tendon"] => {
            on_tendon(reader, item, gear[0]).is_some_and(|target| drive(reader, item, target, finished))
        }
        ["site"] => at_site(reader, item, gear, finished),
        [] => {
            let remedy = "add `joint=\"NAME\"` or `site=\"NAME\"`";
            reader.error(item.id, "the actuator acts on nothing", remedy);
            false
        }
        ["body"] | ["cranksite" | "slidersite", ..] => {
            let what = format!("actuators on a `{}` are not supported and left out", given[0]);
            reader.left_out(item.id, what, "act on a `joint`, a fixed `tendon` or at a `site`");
            false
        }
        _ => {
            let message = format!("both `{}` and `{}` say what it acts on", given[0], given[1]);
            reader.error(item.id, message, "keep one of them");
            false
        }
    }
}

fn on_joint(reader: &mut Reader, item: &Item, way: &str, gear: [f64; 6]) -> Option<Target> {
    let joint = joint_named(reader, item.id, way)?;
    let record = reader.joints[joint].clone();
    let all: &[(usize, usize)] = match record.kind {
        // Gear to coordinate.
        JointType::Spherical => &[(0, 0), (1, 1), (2, 2)],
        JointType::Floating => &[(3, 0), (4, 1), (5, 2)],
        _ => &[(0, 0)],
    };
    let scalar = record.kind.nv() == 1;
    if !scalar && way == "jointinparent" {
        let what = "an actuator that turns a joint about axes of the parent (`jointinparent`) is left out";
        reader.left_out(item.id, what, "use `joint`, whose axes are the child's");
        return None;
    }
    let joints = all.iter().map(|(g, c)| (joint, *c, gear[*g])).filter(|(_, _, gear)| *gear != 0.0);
    let offset = if scalar { gear[0] * record.reference } else { 0.0 };
    let range = scalar.then(|| range_of(reader, &record)).flatten();
    let target = Target {
        joints: joints.collect(),
        offset,
        range,
        without_length: record.kind == JointType::Floating,
        push: if record.kind == JointType::Floating { [gear[0], gear[1], gear[2]] } else { [0.0; 3] },
    };
    if target.joints.is_empty() && target.push == [0.0; 3] {
        no_gear(reader, item.id);
        return None;
    }
    Some(target)
}

/// Limits of a joint as the file has them.
fn range_of(reader: &Reader, record: &JointRecord) -> Option<[f64; 2]> {
    let limits = reader.model.joints[record.index].limits.as_ref()?;
    let [low, high] = [limits.lower.as_ref()?.at(0), limits.upper.as_ref()?.at(0)];
    Some([low + record.reference, high + record.reference])
}

/// A fixed tendon: a sum of joint coordinates.
fn on_tendon(reader: &mut Reader, item: &Item, gear: f64) -> Option<Target> {
    let document = Rc::clone(&reader.document);
    let name = document.elements[item.id].get("tendon")?;
    let found = reader
        .section("tendon")
        .into_iter()
        .find(|id| document.elements[*id].text("name") == Some(&name.value));
    let Some(tendon) = found else {
        let message = format!("tendon `{}` does not exist", name.value);
        reader.error_at(name.at, item.id, message, "name a tendon of the file");
        return None;
    };
    let element = &document.elements[tendon];
    if element.tag != "fixed" {
        let what = format!("actuators on a `{}` tendon are not supported and left out", element.tag);
        reader.left_out(item.id, what, "act on a `joint`, a fixed `tendon` or at a `site`");
        return None;
    }
    let mut target =
        Target { joints: Vec::new(), offset: 0.0, range: None, without_length: false, push: [0.0; 3] };
    for &child in element.children.iter().filter(|id| document.elements[**id].tag == "joint") {
        let joint = joint_named(reader, child, "joint")?;
        let record = &reader.joints[joint];
        if record.kind.nv() != 1 {
            reader.error(child, "a tendon sums hinges and slides only", "name a hinge or a slide");
            return None;
        }
        let coefficient: f64 =
            document.elements[child].text("coef").and_then(|text| text.trim().parse().ok()).unwrap_or(1.0);
        target.offset += gear * coefficient * record.reference;
        if gear * coefficient != 0.0 {
            target.joints.push((joint, 0, gear * coefficient));
        }
    }
    let range = element.text("range").and_then(super::settings::parse_array::<2>);
    target.range = range.filter(|range| element.text("limited") != Some("false") && *range != [0.0; 2]);
    if element.text("actuatorfrcrange").is_some() && element.text("actuatorfrclimited") != Some("false") {
        let what = "`actuatorfrcrange` of a tendon is left out";
        reader.left_out(item.id, what, "give the actuator a `forcerange`");
    }
    if target.joints.is_empty() {
        no_gear(reader, item.id);
        return None;
    }
    Some(target)
}

/// Puts the actuator on its coordinates; false if its law cannot act there.
fn drive(reader: &mut Reader, item: &Item, target: Target, mut finished: Finished) -> bool {
    let law = &mut finished.law;
    if target.without_length && !without_motion(reader, item, law) {
        return false;
    }
    let ball = target.joints.len() > 1 && target.joints.iter().all(|j| j.0 == target.joints[0].0);
    let ball = ball || target.joints.first().is_some_and(|j| reader.joints[j.0].kind == JointType::Spherical);
    if ball && depends_on_motion(law) {
        let what = "a law of length or velocity on a ball joint is not supported: the actuator is left out";
        reader.left_out(item.id, what, "use `motor` and close the loop where you make the input");
        return false;
    }
    if let Some(share) = finished.inherit {
        let Some([low, high]) = target.range else {
            let message = "`inheritrange` wants the range of its joint or tendon, which has none";
            reader.error(item.id, message, "give the joint or tendon a `range`");
            return false;
        };
        let (mean, radius) = (0.5 * (low + high), 0.5 * (high - low) * share);
        let range = Some([mean - radius, mean + radius]);
        match &mut law.activation {
            Some(activation) if activation.kind == crate::mechanism::ActivationKind::Integrator => {
                activation.range = range;
            }
            _ => law.control_range = range.filter(|_| reader.settings.clamp_controls),
        }
    }
    // Our coordinates count from the pose of the file.
    for affine in [&mut law.gain, &mut law.bias] {
        let [constant, length, velocity] = affine.coefficients();
        *affine = Affine::from([constant + length * target.offset, length, velocity]);
    }
    if target.push != [0.0; 3] {
        push(reader, item, law.input.clone(), target.push);
    }
    for (joint, coordinate, gear) in &target.joints {
        let index = reader.joints[*joint].index;
        let input = law.input.clone();
        let actuator = ActuatorDescription { input, coordinate: *coordinate, gear: *gear };
        reader.model.joints[index].actuators.push(actuator);
    }
    if let Some(ratio) = finished.damping_ratio {
        let joints =
            target.joints.iter().map(|(joint, _, gear)| (reader.joints[*joint].index, *gear)).collect();
        reader.tuned.push(Tuned::DampingRatio { law: reader.model.laws.len(), ratio, joints });
    }
    keep(reader, finished);
    true
}

/// A force along world axes at the origin of the body that a free joint moves.
fn push(reader: &mut Reader, item: &Item, input: String, force: [f64; 3]) {
    let Some(joint) = joint_named(reader, item.id, "joint") else { return };
    let child = reader.model.joints[reader.joints[joint].index].child.clone();
    let [x, y, z] = force;
    if let Some(body) = reader.model.bodies.iter_mut().find(|body| body.name == child) {
        body.pushes.push(PushDescription { input, wrench: [0.0, 0.0, 0.0, x, y, z], point: [0.0; 3] });
    }
}

/// Adds a law that says more than that the input is a force.
fn keep(reader: &mut Reader, finished: Finished) {
    let law = finished.law;
    let plain = LawDescription { origin: law.origin, ..LawDescription::new(law.input.clone()) };
    if law != plain {
        reader.model.laws.push(law);
    }
}

fn depends_on_motion(law: &LawDescription) -> bool {
    [law.gain, law.bias].iter().any(|x| x.coefficients()[1..] != [0.0; 2])
}

/// Where there is no length its coefficients drop out, as in MuJoCo, where it is zero; velocities are not supported.
fn without_motion(reader: &mut Reader, item: &Item, law: &mut LawDescription) -> bool {
    for affine in [&mut law.gain, &mut law.bias] {
        let [constant, _, velocity] = affine.coefficients();
        *affine = Affine::from([constant, 0.0, velocity]);
    }
    if depends_on_motion(law) {
        let what =
            "a law of velocity on a free joint or at a site is not supported: the actuator is left out";
        reader.left_out(item.id, what, "use `motor` and close the loop where you make the input");
        return false;
    }
    true
}

fn no_gear(reader: &mut Reader, id: ElementId) {
    let remedy = "give `gear` a number that is not zero";
    reader.left_out(id, "the actuator has no effect: its gear is zero", remedy);
}

/// A wrench fixed in the body of the site, about the body's origin.
fn at_site(reader: &mut Reader, item: &Item, gear: [f64; 6], mut finished: Finished) -> bool {
    let document = Rc::clone(&reader.document);
    if document.elements[item.id].text("refsite").is_some() {
        let what = "actuators between two sites (`refsite`) are not supported and left out";
        reader.left_out(item.id, what, "remove `refsite` to have a wrench at the site");
        return false;
    }
    let Some((body, site)) = site_named(reader, item.id, "site") else { return false };
    if is_world(reader, body) {
        let what = "the actuator pushes the world and has no effect";
        reader.left_out(item.id, what, "choose a site of a body");
        return false;
    }
    if !without_motion(reader, item, &mut finished.law) {
        return false;
    }
    let force = rotate(site.q, [gear[0], gear[1], gear[2]]);
    let torque = add(rotate(site.q, [gear[3], gear[4], gear[5]]), cross(site.p, force));
    let wrench = [torque[0], torque[1], torque[2], force[0], force[1], force[2]];
    if wrench == [0.0; 6] {
        no_gear(reader, item.id);
        return false;
    }
    let index = reader.bodies[body].index;
    let input = finished.law.input.clone();
    reader.model.bodies[index].thrusters.push(ThrusterDescription { input, wrench });
    keep(reader, finished);
    true
}
