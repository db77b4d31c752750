//! Reference files of joint friction, limits and couplings, schema `leastaction/joints/1`.
//!
//! Bodies are those of the joint-coordinate files with friction, limits and armature; couplings and tendons name joints by
//! number.

use serde_json::Value;

use super::minimal::{self, integer, number};
use super::{GoldenCase, at};
use crate::Diagnostic;
use crate::mechanism::{
    Coordinates, CouplingDescription, JointDescription, JointRole, JointType, LimitsDescription,
    ModelDescription, PerCoordinate, Placement, StateDescription, TendonDescription, TermDescription, WORLD,
    samples,
};

/// Reads a file into its model and first run.
pub(super) fn read(value: &Value) -> Result<GoldenCase, Diagnostic> {
    let run = "/runs/0";
    let mut model = read_model(value, at(value, run)?.get("friction"))?;
    let bodies = model.bodies.len();
    model.states.insert(samples::START.into(), read_start(value, &format!("{run}/start"), bodies)?);
    let engine = at(value, &format!("{run}/engine"))?.as_str().unwrap_or("minimal");
    let (integrator, order) = match engine {
        "minimal" => ("minimal", 2 * integer(value, &format!("{run}/s"))? as u32),
        "maximal" => ("maximal", 2),
        "rk4" => ("rk4", 0),
        "dop853" => ("dop853", 0),
        _ => ("semi-implicit", 0),
    };
    Ok(GoldenCase {
        model,
        integrator,
        order,
        rotation_map: None,
        composition: None,
        step: number(value, &format!("{run}/dt"))?,
        steps: integer(value, &format!("{run}/num_steps"))?,
        inputs: inputs(value, run)?,
    })
}

/// Inputs of a run, one row per step; empty where the file has none.
///
/// # Errors
/// If one of them is not a number.
pub fn inputs(value: &Value, run: &str) -> Result<Vec<Vec<f64>>, Diagnostic> {
    let rows = value.pointer(&format!("{run}/inputs")).and_then(Value::as_array).map_or(0, Vec::len);
    (0..rows).map(|k| super::numbers(value, &format!("{run}/inputs/{k}"))).collect()
}

/// The positions and velocities of all joints at a pointer.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read_start(value: &Value, pointer: &str, bodies: usize) -> Result<StateDescription, Diagnostic> {
    let q = super::numbers(value, &format!("{pointer}/q"))?;
    let v = super::numbers(value, &format!("{pointer}/v"))?;
    let mut state = StateDescription::default();
    for i in 0..bodies {
        let entry = |list: &[f64]| Coordinates::One(list.get(i).copied().unwrap_or(0.0));
        state.q.insert(format!("joint{i}"), entry(&q));
        state.v.insert(format!("joint{i}"), entry(&v));
    }
    Ok(state)
}

/// The model of a file; `friction` are bounds of a run, loop joints last, where the model has none.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read_model(value: &Value, friction: Option<&Value>) -> Result<ModelDescription, Diagnostic> {
    let mut model = minimal::read_model(value)?;
    let restitution = number(value, "/model/restitution")?;
    for (i, joint) in model.joints.iter_mut().enumerate() {
        let body = format!("/model/bodies/{i}");
        let own = at(value, &format!("{body}/friction"))?.as_f64();
        let of_run = friction.and_then(|list| list[i].as_f64());
        joint.friction = PerCoordinate::One(own.or(of_run).unwrap_or(0.0));
        joint.armature = PerCoordinate::One(number(value, &format!("{body}/armature"))?);
        let limit = |k: usize| -> Result<Option<PerCoordinate>, Diagnostic> {
            Ok(at(value, &format!("{body}/limits/{k}"))?.as_f64().map(PerCoordinate::One))
        };
        let (lower, upper) = (limit(0)?, limit(1)?);
        if lower.is_some() || upper.is_some() {
            let restitution = Some(restitution);
            joint.limits = Some(LimitsDescription { lower, upper, restitution, ..Default::default() });
        }
    }
    let count = |list: &str| value.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
    for k in 0..count("/model/couplings") {
        let pointer = format!("/model/couplings/{k}");
        let mut coupling = CouplingDescription {
            name: format!("coupling{k}"),
            joint: format!("joint{}", integer(value, &format!("{pointer}/joint"))?),
            ..Default::default()
        };
        if value.pointer(&format!("{pointer}/sum")).is_some() {
            coupling.sum = terms(value, &format!("{pointer}/sum"))?;
            coupling.value = number(value, &format!("{pointer}/value"))?;
        } else {
            coupling.of = Some(format!("joint{}", integer(value, &format!("{pointer}/of"))?));
            coupling.polynomial = super::numbers(value, &format!("{pointer}/polynomial"))?;
            let reference = super::numbers(value, &format!("{pointer}/reference"))?;
            coupling.reference = [reference[0], reference[1]];
        }
        model.couplings.push(coupling);
    }
    for k in 0..count("/model/tendons") {
        let pointer = format!("/model/tendons/{k}");
        model.tendons.push(TendonDescription {
            name: format!("tendon{k}"),
            terms: terms(value, &format!("{pointer}/coefficients"))?,
            stiffness: number(value, &format!("{pointer}/stiffness"))?,
            rest: number(value, &format!("{pointer}/rest"))?,
            damping: number(value, &format!("{pointer}/damping"))?,
            lower: at(value, &format!("{pointer}/limits/0"))?.as_f64(),
            upper: at(value, &format!("{pointer}/limits/1"))?.as_f64(),
            origin: None,
        });
    }
    for k in 0..count("/model/loop_joints") {
        let pointer = format!("/model/loop_joints/{k}");
        let body = |key: &str| -> Result<String, Diagnostic> {
            let number = at(value, &format!("{pointer}/{key}"))?.as_i64().unwrap_or(-1);
            Ok(if number < 0 { WORLD.to_owned() } else { format!("body{number}") })
        };
        let name = format!("joint{}", model.bodies.len() + k);
        let mut joint = JointDescription::new(name, JointType::Revolute, body("parent")?, body("child")?);
        let place = |key: &str| -> Result<Placement, Diagnostic> {
            Ok(Placement::at(minimal::fixed(value, &format!("{pointer}/{key}"))?))
        };
        joint.parent_placement = place("parent_translation")?;
        joint.child_placement = place("child_translation")?;
        joint.axis = Some(minimal::fixed(value, &format!("{pointer}/axis"))?);
        joint.role = Some(JointRole::Loop);
        let bound = friction.and_then(|list| list[model.bodies.len() + k].as_f64());
        joint.friction = PerCoordinate::One(bound.unwrap_or(0.0));
        model.joints.push(joint);
    }
    Ok(model)
}

fn terms(value: &Value, pointer: &str) -> Result<Vec<TermDescription>, Diagnostic> {
    let flat = super::numbers(value, pointer)?;
    let term = |pair: &[f64]| TermDescription { joint: format!("joint{}", pair[0]), coefficient: pair[1] };
    Ok(flat.chunks_exact(2).map(term).collect())
}
