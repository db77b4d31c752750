//! Reference files of the engine on poses at any order, schema `leastaction/highorder/1`.
//!
//! Models are those of `leastaction/maximal/1`, with drag and armature, and several runs per file.

use serde_json::Value;

use super::maximal::{add_extras, coordinate, list, model, start, wrong};
use super::{GoldenCase, at};
use crate::Diagnostic;
use crate::mechanism::{ActuatorDescription, ModelDescription, samples};

/// The schema key.
pub const SCHEMA: &str = "leastaction/highorder/1";

/// A torque against the angular velocity of a body: body name, coefficient.
pub type SpinDrag = (String, f64);

/// Reads the model and its first run.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read(value: &Value) -> Result<GoldenCase, Diagnostic> {
    if let Some((body, _)) = spin_drag(value)?.first() {
        return Err(Diagnostic::error(
            format!("body `{body}`"),
            "drag against its angular velocity is for tests of the library",
            "take a reference file without it",
        ));
    }
    read_run(value, 0)
}

/// Drag against angular velocities, which models do not have.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn spin_drag(value: &Value) -> Result<Vec<SpinDrag>, Diagnostic> {
    let bodies = list(value, "/bodies")?.iter().enumerate();
    let drags = bodies.filter_map(|(i, b)| Some((format!("body{i}"), b["drag"]["angular"].as_f64()?)));
    Ok(drags.filter(|(_, c)| *c != 0.0).collect())
}

/// Reads the model and its run number `run`.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read_run(value: &Value, run: usize) -> Result<GoldenCase, Diagnostic> {
    let mut model = model(value)?;
    for (i, body) in list(value, "/bodies")?.iter().enumerate() {
        model.bodies[i].drag = body["drag"]["linear"].as_f64().unwrap_or(0.0);
    }
    let driven = add_inputs(value, &mut model)?;
    if value.get("extras").is_some() {
        add_extras(value, &mut model)?;
    }
    let start = start(value, &model)?;
    model.states.insert(samples::START.into(), start);
    let run = at(value, &format!("/runs/{run}"))?;
    let steps = run["steps"].as_u64().unwrap_or(0) as usize;
    let mut row = vec![0.0; driven.len()];
    for control in list(run, "/controls")? {
        let at = driven.iter().position(|j| Some(*j as u64) == control["joint"].as_u64());
        let at = at.ok_or_else(|| wrong("/controls", "the joint has no coordinate"))?;
        row[at] = control["value"].as_f64().unwrap_or(0.0);
    }
    Ok(GoldenCase {
        model,
        integrator: "maximal",
        order: 2 * run["s"].as_u64().unwrap_or(1) as u32,
        rotation_map: None,
        composition: None,
        step: run["dt"].as_f64().unwrap_or(0.0),
        steps,
        inputs: if row.is_empty() { Vec::new() } else { vec![row; steps] },
    })
}

/// One input per joint with a coordinate, in the order of the joints; returns their indices.
fn add_inputs(value: &Value, model: &mut ModelDescription) -> Result<Vec<usize>, Diagnostic> {
    let mut driven = Vec::new();
    for (i, joint) in list(value, "/joints")?.iter().enumerate() {
        let Some(name) = joint["coordinate"].as_str() else { continue };
        let input = format!("u{i}");
        let coordinate = coordinate(model.joints[i].kind, Some(name));
        model.joints[i].actuators.push(ActuatorDescription { input: input.clone(), coordinate, gear: 1.0 });
        model.inputs.push(input);
        driven.push(i);
    }
    Ok(driven)
}
