//! Reference models of the comprehensive-motion and optimization files.
//!
//! Their link frame is the child joint frame, placements are rotation matrices, bodies name their parent by index and
//! the joint that moves body `b` is called `b_joint` here. A file describes a motion, not a run; what `simulate` runs is
//! the free motion from its configuration and velocity.

use serde_json::Value;

use super::{GoldenCase, at, numbers};
use crate::Diagnostic;
use crate::mechanism::{
    BodyDescription, Coordinates, JointDescription, JointType, ModelDescription, Placement, StateDescription,
    WORLD,
};
use crate::spatial::{Mat3, Quat};

/// Name of the joint that moves a body.
#[must_use]
pub fn joint_name(body: &str) -> String {
    format!("{body}_joint")
}

fn wrong(element: impl Into<String>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(element, message, "take an unchanged reference file")
}

fn fixed<const N: usize>(value: &Value, pointer: &str) -> Result<[f64; N], Diagnostic> {
    let list = numbers(value, pointer)?;
    let found = list.len();
    list.try_into().map_err(|_| wrong(pointer, format!("it has {found} numbers, {N} are needed")))
}

/// The model of a comprehensive or optimization file.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn model(value: &Value) -> Result<ModelDescription, Diagnostic> {
    let name = at(value, "/model/name")?.as_str().unwrap_or("model");
    let mut model = ModelDescription::new(name);
    model.gravity = fixed(value, "/model/gravity")?;
    if value["gravity_enabled"] == Value::Bool(false) {
        model.gravity = [0.0; 3];
    }
    let bodies = at(value, "/model/bodies")?.as_array().map_or(&[][..], Vec::as_slice);
    let body_name = |i: usize| bodies[i]["name"].as_str().map_or_else(|| format!("body{i}"), str::to_owned);
    for (i, body) in bodies.iter().enumerate() {
        let element = format!("/model/bodies/{i}");
        let name = body_name(i);
        let parent = match body["parent"].as_i64() {
            Some(-1) => WORLD.to_owned(),
            Some(p) if usize::try_from(p).is_ok_and(|p| p < i) => body_name(usize::try_from(p).unwrap_or(0)),
            _ => return Err(wrong(element, "its parent is not an earlier body")),
        };
        let kind = match body["joint"]["type"].as_str() {
            Some("revolute") => JointType::Revolute,
            Some("prismatic") => JointType::Prismatic,
            Some("spherical") => JointType::Spherical,
            Some("floating") => JointType::Floating,
            other => return Err(wrong(element, format!("joint type {other:?} is not supported"))),
        };
        let r: [f64; 9] = fixed(body, "/placement/rotation")?;
        let rotation = Mat3(std::array::from_fn(|row| std::array::from_fn(|c| r[3 * row + c])));
        let mut joint = JointDescription::new(joint_name(&name), kind, parent, &name);
        joint.parent_placement = Placement {
            p: fixed(body, "/placement/translation")?,
            q: Quat::from_matrix(&rotation).normalized().to_array(),
        };
        if matches!(kind, JointType::Revolute | JointType::Prismatic) {
            joint.axis = Some(fixed(body, "/joint/axis")?);
        }
        model.joints.push(joint);
        model.bodies.push(BodyDescription {
            name,
            mass: at(body, "/inertia/mass")?
                .as_f64()
                .ok_or_else(|| wrong(element, "its mass is not a number"))?,
            com: fixed(body, "/inertia/com")?,
            inertia: fixed(body, "/inertia/about_com")?,
            ..Default::default()
        });
    }
    Ok(model)
}

fn coordinates(list: &[f64]) -> Coordinates {
    match list {
        [one] => Coordinates::One(*one),
        many => Coordinates::Many(many.to_vec()),
    }
}

fn free_motion(mut model: ModelDescription, start: StateDescription) -> GoldenCase {
    model.states.insert(crate::mechanism::samples::START.to_owned(), start);
    GoldenCase {
        model,
        integrator: "dop853",
        order: 8,
        rotation_map: None,
        composition: None,
        step: 1e-3,
        steps: 1000,
        inputs: Vec::new(),
    }
}

/// A `leastaction/comprehensive/1` file.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read(value: &Value) -> Result<GoldenCase, Diagnostic> {
    let model = model(value)?;
    let mut start = StateDescription::default();
    for (i, joint) in model.joints.iter().enumerate() {
        start.q.insert(joint.name.clone(), coordinates(&numbers(value, &format!("/q/{i}"))?));
        start.v.insert(joint.name.clone(), coordinates(&numbers(value, &format!("/y/{i}/0"))?));
    }
    Ok(free_motion(model, start))
}

/// A `leastaction/optimization/1` file: the mechanism at the start of the motion.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read_optimization(value: &Value) -> Result<GoldenCase, Diagnostic> {
    let model = model(value)?;
    let mut start = StateDescription::default();
    let (q, v) = (numbers(value, "/boundary/q_start")?, numbers(value, "/boundary/v_start")?);
    if q.len() != model.joints.len() || v.len() != model.joints.len() {
        return Err(wrong("/boundary", "it has another number of joints than the model"));
    }
    for (i, joint) in model.joints.iter().enumerate() {
        start.q.insert(joint.name.clone(), Coordinates::One(q[i]));
        start.v.insert(joint.name.clone(), Coordinates::One(v[i]));
    }
    Ok(free_motion(model, start))
}
