//! Keyframes become named states, in our coordinates.

use std::rc::Rc;

use super::document::ElementId;
use super::reader::{JointRecord, Reader};
use super::settings::parse_numbers;
use crate::frames::{IDENTITY, Quaternion, compose, conjugate, inverse, rotate, unit_quaternion};
use crate::mechanism::{Coordinates, JointType, Placement, StateDescription};

/// Reads all `keyframe` sections.
pub(super) fn read(reader: &mut Reader) {
    if reader.keyframes_are_lost {
        return;
    }
    for (number, id) in reader.section("keyframe").into_iter().enumerate() {
        let document = Rc::clone(&reader.document);
        let element = &document.elements[id];
        let name = element.text("name").map_or_else(|| format!("key{number}"), str::to_owned);
        if reader.model.states.contains_key(&name) {
            let remedy = "give one of the two another name";
            reader.warning(id, None, "a keyframe of this name exists already; this one is left out", remedy);
            continue;
        }
        for unused in ["mpos", "mquat", "plastic"] {
            if element.get(unused).is_some() {
                let what = format!("`{unused}` of keyframes is not used");
                reader.left_out(id, what, "remove it");
            }
        }
        if let Some(mut state) = state(reader, id) {
            inputs(reader, id, &mut state);
            reader.model.states.insert(name, state);
        }
    }
}

fn state(reader: &mut Reader, id: ElementId) -> Option<StateDescription> {
    let qpos = values(reader, id, "qpos", JointType::nq)?;
    let qvel = values(reader, id, "qvel", JointType::nv)?;
    let document = Rc::clone(&reader.document);
    let t = document.elements[id].text("time").and_then(|t| t.trim().parse().ok()).unwrap_or(0.0);
    let mut state = StateDescription { t, ..Default::default() };
    let (mut i, mut j) = (0, 0);
    for record in reader.joints.clone() {
        let (nq, nv) = (record.kind.nq(), record.kind.nv());
        let name = reader.model.joints[record.index].name.clone();
        let q = qpos.as_ref().map(|q| &q[i..i + nq]);
        let v = qvel.as_ref().map(|v| &v[j..j + nv]);
        (i, j) = (i + nq, j + nv);
        let mut turn = |given: &[f64]| {
            unit_quaternion([given[0], given[1], given[2], given[3]]).unwrap_or_else(|| {
                let message =
                    format!("the quaternion of joint `{name}` in `qpos` is zero, read as no rotation");
                reader.warning(id, None, message, "write a quaternion w x y z of length 1");
                IDENTITY
            })
        };
        let q = q.map(|q| position(&record, q, &mut turn));
        if let Some(v) = v {
            let pose = q.as_ref().map_or(record.placement, |(_, pose)| *pose);
            state.v.insert(name.clone(), Coordinates::from(&velocity(&record, v, &pose)[..]));
        }
        if let Some((q, _)) = q {
            state.q.insert(name, Coordinates::from(&q[..]));
        }
    }
    Some(state)
}

/// Controls, and states of actuators: one number per actuator of the file that has one.
fn inputs(reader: &mut Reader, id: ElementId, state: &mut StateDescription) {
    let document = Rc::clone(&reader.document);
    for (name, only_activated) in [("ctrl", false), ("act", true)] {
        let Some(attribute) = document.elements[id].get(name) else { continue };
        let given = parse_numbers(&attribute.value);
        let activated = |input: &Option<String>| {
            let law = reader.model.laws.iter().find(|law| Some(&law.input) == input.as_ref());
            law.is_some_and(|law| law.activation.is_some())
        };
        // Of an actuator that is left out nobody knows here whether it has a state.
        if only_activated && reader.actuators.iter().any(Option::is_none) {
            reader.left_out(id, "`act` of a keyframe is left out where an actuator is", "remove it");
            continue;
        }
        let actuators: Vec<&Option<String>> =
            reader.actuators.iter().filter(|input| !only_activated || activated(input)).collect();
        if given.len() != actuators.len() && !given.is_empty() {
            let message = format!(
                "`{name}` has {} numbers, the model has {}: it is left out",
                given.len(),
                actuators.len()
            );
            reader.warning(id, Some(attribute.at), message, "give one number per actuator");
            continue;
        }
        let target = if only_activated { &mut state.act } else { &mut state.inputs };
        let named = actuators.into_iter().zip(given);
        target.extend(
            named
                .filter_map(|(input, value)| Some((input.clone()?, value)))
                .filter(|x| x.1 != 0.0 || only_activated),
        );
    }
}

/// The numbers of `qpos` or `qvel`; missing ones at the end are those of the file's pose. `None` if they are wrong.
fn values(
    reader: &mut Reader,
    id: ElementId,
    name: &str,
    size: fn(JointType) -> usize,
) -> Option<Option<Vec<f64>>> {
    let document = Rc::clone(&reader.document);
    if document.elements[id].taken.iter().any(|taken| taken == name) {
        return None;
    }
    let Some(attribute) = document.elements[id].get(name) else { return Some(None) };
    let given = parse_numbers(&attribute.value);
    let total: usize = reader.joints.iter().map(|j| size(j.kind)).sum();
    if given.len() > total {
        let message =
            format!("`{name}` has {} numbers, the model has {total}: the keyframe is left out", given.len());
        let remedy = "give one number per coordinate in the order of the joints in the file, 4 for a ball, \
                      7 for a free joint";
        let remedy = if name == "qvel" {
            "give one number per velocity: 3 for a ball, 6 for a free joint"
        } else {
            remedy
        };
        reader.warning(id, Some(attribute.at), message, remedy);
        return None;
    }
    if given.len() < total && !given.is_empty() {
        let message = format!(
            "`{name}` has {} of the model's {total} numbers; the rest is as in the file",
            given.len()
        );
        reader.warning(id, Some(attribute.at), message, "give all of them");
    }
    let mut all =
        if name == "qpos" { reader.joints.iter().flat_map(reference).collect() } else { vec![0.0; total] };
    all[..given.len()].copy_from_slice(&given);
    Some(Some(all))
}

/// MuJoCo's coordinates of a joint in the pose of the file.
fn reference(record: &JointRecord) -> Vec<f64> {
    match record.kind {
        JointType::Spherical => vec![1.0, 0.0, 0.0, 0.0],
        JointType::Floating => record.placement.p.iter().chain(&record.placement.q).copied().collect(),
        _ => vec![record.reference],
    }
}

/// Our coordinates for MuJoCo's, with the pose in the world of a free body.
fn position(
    record: &JointRecord,
    qpos: &[f64],
    turn: &mut dyn FnMut(&[f64]) -> Quaternion,
) -> (Vec<f64>, Placement) {
    match record.kind {
        JointType::Spherical => (turn(qpos).to_vec(), record.placement),
        JointType::Floating => {
            let pose = Placement { p: [qpos[0], qpos[1], qpos[2]], q: turn(&qpos[3..]) };
            // Ours count from the pose in the file: the joint frames coincide at zero.
            let relative = compose(&inverse(&record.placement), &pose);
            (relative.q.iter().chain(&relative.p).copied().collect(), pose)
        }
        _ => (vec![qpos[0] - record.reference], record.placement),
    }
}

/// Our velocities for MuJoCo's: a free body has its linear velocity first, in world axes.
fn velocity(record: &JointRecord, qvel: &[f64], pose: &Placement) -> Vec<f64> {
    if record.kind != JointType::Floating {
        return qvel.to_vec();
    }
    let linear = rotate(conjugate(pose.q), [qvel[0], qvel[1], qvel[2]]);
    qvel[3..6].iter().chain(&linear).copied().collect()
}
