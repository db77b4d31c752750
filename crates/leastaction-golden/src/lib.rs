//! Adapters for the reference data files: each schema has its own model conventions, converted here and nowhere else.
//!
//! A reference file is told by its `schema` key and becomes a [`GoldenCase`]: a model in the public convention and the
//! first run it describes.

pub mod comprehensive;
pub mod contact;
pub mod highorder;
pub mod joints;
pub mod maximal;
pub mod minimal;
mod problem;

use leastaction_core::mechanism::ModelDescription;
use leastaction_core::{mechanism, spatial};
use leastaction_io::Diagnostic;
use leastaction_motion::optimize;
use serde_json::Value;

pub use problem::{GoldenProblem, golden_problem};

/// A reference file as a model and its first run. The model's state `start` is the run's initial state.
#[derive(Clone, Debug, PartialEq)]
pub struct GoldenCase {
    /// The model, public convention.
    pub model: ModelDescription,
    /// Integrator the reference was made with.
    pub integrator: &'static str,
    /// Its order.
    pub order: u32,
    /// Rotation map of a maximal-coordinate reference, as the command line spells it.
    pub rotation_map: Option<&'static str>,
    /// Composition of a maximal-coordinate reference of order 4.
    pub composition: Option<&'static str>,
    /// Step length.
    pub step: f64,
    /// Number of steps.
    pub steps: usize,
    /// Inputs held over each step (one row per step), or empty.
    pub inputs: Vec<Vec<f64>>,
}

type Adapter = fn(&Value) -> Result<GoldenCase, Diagnostic>;

/// Schemas that hold a model, with their adapters.
const ADAPTERS: &[(&str, Adapter)] = &[
    // one line each
    ("leastaction/comprehensive/1", comprehensive::read),
    ("leastaction/optimization/1", comprehensive::read_optimization),
    (highorder::SCHEMA, highorder::read),
    ("leastaction/joints/1", joints::read),
    (maximal::SCHEMA, maximal::read),
    ("leastaction/minimal-variational/1", minimal::read),
];

/// Schemas of reference files that hold tables only.
pub const TABLES: [&str; 2] = ["leastaction/lobatto/1", "leastaction/bspline/1"];

/// Reads a reference file if `schema` is one of theirs.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
#[must_use]
pub fn read_golden(schema: &str, value: &Value) -> Option<Result<GoldenCase, Diagnostic>> {
    if TABLES.contains(&schema) {
        return Some(Err(Diagnostic::error(
            format!("schema `{schema}`"),
            "the file holds tables, not a model",
            "name a file with a model",
        )));
    }
    ADAPTERS.iter().find(|(name, _)| *name == schema).map(|(_, adapter)| adapter(value))
}

/// The model of a reference file, for [`LoadOptions::adapter`](leastaction_io::LoadOptions).
#[must_use]
pub fn golden_model(schema: &str, value: &Value) -> Option<Result<ModelDescription, Diagnostic>> {
    read_golden(schema, value).map(|case| case.map(|case| case.model))
}

/// The value at a JSON pointer, or a diagnostic that names the pointer.
///
/// # Errors
/// If nothing is there.
pub fn at<'v>(value: &'v Value, pointer: &str) -> Result<&'v Value, Diagnostic> {
    value
        .pointer(pointer)
        .ok_or_else(|| Diagnostic::error(pointer, "it is missing", "take an unchanged reference file"))
}

/// A list of numbers at a JSON pointer, nested lists flattened in order.
///
/// # Errors
/// If nothing is there or something in it is not a number.
pub fn numbers(value: &Value, pointer: &str) -> Result<Vec<f64>, Diagnostic> {
    let mut out = Vec::new();
    if flatten(at(value, pointer)?, &mut out) {
        Ok(out)
    } else {
        Err(Diagnostic::error(pointer, "it holds something that is not a number", "give numbers"))
    }
}

/// Appends all numbers of nested lists; false if there is anything else.
fn flatten(value: &Value, out: &mut Vec<f64>) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| flatten(item, out)),
        other => other.as_f64().map(|x| out.push(x)).is_some(),
    }
}
