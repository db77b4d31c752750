//! Reference files of the variational integrator in joint coordinates, schema `leastaction/minimal-variational/1`.
//!
//! Their conventions: bodies are numbered, every body frame sits at its joint, rotations are matrices, and a floating
//! joint has its translation before its rotation, with the linear velocity along the parent's axes.

use serde_json::Value;

use super::{GoldenCase, at, numbers};
use crate::Diagnostic;
use crate::mechanism::{
    ActuatorDescription, BodyDescription, Coordinates, JointDescription, JointType, ModelDescription,
    PerCoordinate, Placement, SpringDescription, StateDescription, ThrusterDescription, WORLD, samples,
};
use crate::spatial::{Mat3, Quat, Vec3};

/// Reads a file into its model and first run.
pub(super) fn read(value: &Value) -> Result<GoldenCase, Diagnostic> {
    let mut model = read_model(value)?;
    let state = read_state(value, "/runs/0/states/0")?;
    model.states.insert(samples::START.into(), state);
    let s = integer(value, "/runs/0/s")?;
    let rows = at(value, "/runs/0/inputs")?.as_array().map_or(0, Vec::len);
    Ok(GoldenCase {
        model,
        integrator: "minimal",
        order: 2 * s as u32,
        rotation_map: None,
        composition: None,
        step: number(value, "/runs/0/dt")?,
        steps: integer(value, "/runs/0/num_steps")?,
        inputs: (0..rows)
            .map(|k| numbers(value, &format!("/runs/0/inputs/{k}")))
            .collect::<Result<_, _>>()?,
    })
}

pub(super) fn number(value: &Value, pointer: &str) -> Result<f64, Diagnostic> {
    at(value, pointer)?
        .as_f64()
        .ok_or_else(|| Diagnostic::error(pointer, "it is not a number", "take an unchanged reference file"))
}

pub(super) fn integer(value: &Value, pointer: &str) -> Result<usize, Diagnostic> {
    at(value, pointer)?
        .as_u64()
        .map(|x| x as usize)
        .ok_or_else(|| Diagnostic::error(pointer, "it is not a count", "take an unchanged reference file"))
}

pub(super) fn fixed<const K: usize>(value: &Value, pointer: &str) -> Result<[f64; K], Diagnostic> {
    numbers(value, pointer)?.try_into().map_err(|v: Vec<f64>| {
        Diagnostic::error(pointer, format!("it has {} numbers, not {K}", v.len()), "give all of them")
    })
}

/// A rotation given as a 3×3 matrix.
fn rotation(value: &Value, pointer: &str) -> Result<Quat, Diagnostic> {
    let m: [f64; 9] = fixed(value, pointer)?;
    Ok(Quat::from_matrix(&Mat3([[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]])))
}

fn kind(value: &Value, body: &str) -> Result<JointType, Diagnostic> {
    match at(value, &format!("{body}/joint"))?.as_str() {
        Some("revolute") => Ok(JointType::Revolute),
        Some("prismatic") => Ok(JointType::Prismatic),
        Some("spherical") => Ok(JointType::Spherical),
        Some("floating") => Ok(JointType::Floating),
        _ => Err(Diagnostic::error(
            format!("{body}/joint"),
            "it is no known kind",
            "give revolute, prismatic, spherical or floating",
        )),
    }
}

fn bodies(value: &Value) -> Result<usize, Diagnostic> {
    Ok(at(value, "/model/bodies")?.as_array().map_or(0, Vec::len))
}

/// The model of a file, public convention; body `i` is `body{i}`, its joint `joint{i}`, input `j` is `u{j}`.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read_model(value: &Value) -> Result<ModelDescription, Diagnostic> {
    let name = value["name"].as_str().unwrap_or("minimal");
    let mut model = ModelDescription::new(name);
    model.gravity = fixed(value, "/model/gravity")?;
    model.wind = fixed(value, "/model/wind")?;
    model.inputs = (0..integer(value, "/model/num_inputs")?).map(|j| format!("u{j}")).collect();
    for i in 0..bodies(value)? {
        let body = format!("/model/bodies/{i}");
        let field = |name: &str| format!("{body}/{name}");
        let m: [f64; 9] = fixed(value, &field("inertia_com"))?;
        let thrusters = if at(value, &field("thruster"))?.is_null() {
            Vec::new()
        } else {
            let input = integer(value, &field("thruster/u"))?;
            vec![ThrusterDescription {
                input: format!("u{input}"),
                wrench: fixed(value, &field("thruster/wrench"))?,
            }]
        };
        model.bodies.push(BodyDescription {
            name: format!("body{i}"),
            mass: number(value, &field("mass"))?,
            com: fixed(value, &field("com"))?,
            inertia: [m[0], m[4], m[8], m[1], m[2], m[5]],
            drag: number(value, &field("com_drag"))?,
            thrusters,
            ..Default::default()
        });
        let kind = kind(value, &body)?;
        let parent = match at(value, &field("parent"))?.as_i64() {
            Some(p) if p >= 0 => format!("body{p}"),
            _ => WORLD.to_owned(),
        };
        let mut joint = JointDescription::new(format!("joint{i}"), kind, parent, format!("body{i}"));
        joint.parent_placement = Placement {
            p: fixed(value, &field("placement_translation"))?,
            q: rotation(value, &field("placement_rotation"))?.to_array(),
        };
        if kind.nv() == 1 {
            joint.axis = Some(fixed(value, &field("axis"))?);
        }
        joint.damping = PerCoordinate::One(number(value, &field("damping"))?);
        let rest = if kind.nv() == 1 { number(value, &field("rest"))? } else { 0.0 };
        joint.spring = Some(SpringDescription {
            stiffness: PerCoordinate::One(number(value, &field("stiffness"))?),
            rest: PerCoordinate::One(rest),
        });
        if let Some(inputs) = at(value, &field("actuator_inputs"))?.as_array() {
            for (c, input) in inputs.iter().enumerate() {
                // A floating joint has its translation first there, its rotation first here.
                let coordinate = if kind == JointType::Floating { (c + 3) % 6 } else { c };
                joint.actuators.push(ActuatorDescription {
                    input: format!("u{}", input.as_u64().unwrap_or(0)),
                    coordinate,
                    gear: 1.0,
                });
            }
        }
        model.joints.push(joint);
    }
    Ok(model)
}

/// The state at a pointer of the file, public convention.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read_state(value: &Value, pointer: &str) -> Result<StateDescription, Diagnostic> {
    let mut state = StateDescription::default();
    let velocity = numbers(value, &format!("{pointer}/velocity"))?;
    let mut first = 0;
    for i in 0..bodies(value)? {
        let kind = kind(value, &format!("/model/bodies/{i}"))?;
        let config = format!("{pointer}/config/{i}");
        let v = velocity.get(first..first + kind.nv()).ok_or_else(|| {
            Diagnostic::error(format!("{pointer}/velocity"), "it is too short", "give one number per freedom")
        })?;
        first += kind.nv();
        let (q, v) = match kind {
            JointType::Spherical => {
                (rotation(value, &format!("{config}/rotation"))?.to_array().to_vec(), v.to_vec())
            }
            JointType::Floating => {
                let r = rotation(value, &format!("{config}/rotation"))?;
                let p: [f64; 3] = fixed(value, &format!("{config}/translation"))?;
                let linear = r.conj().rotate(Vec3([v[0], v[1], v[2]]));
                ([&r.to_array()[..], &p].concat(), [&v[3..6], &linear.0].concat())
            }
            _ => (vec![number(value, &config)?], v.to_vec()),
        };
        state.q.insert(format!("joint{i}"), Coordinates::from(&q[..]));
        state.v.insert(format!("joint{i}"), Coordinates::from(&v[..]));
    }
    Ok(state)
}
