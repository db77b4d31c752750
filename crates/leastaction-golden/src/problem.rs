//! Problems of reference files (`leastaction/optimization/1`).

use serde_json::Value;

use crate::mechanism::{Mechanism, ModelDescription};
use crate::optimize::{BoundaryState, Limit, LimitKind, MotionProblem, Sampling, Term};
use crate::{Diagnostic, at, numbers};

/// A reference problem: model, problem, and the control points it may start from.
#[derive(Clone, Debug)]
pub struct GoldenProblem {
    /// The model.
    pub model: ModelDescription,
    /// Control points of the quintic profile.
    pub theta_init: Vec<f64>,
    /// Control points near the expected solution.
    pub theta_warm: Vec<f64>,
}

impl GoldenProblem {
    /// Reads model and starting points.
    ///
    /// # Errors
    /// A diagnostic naming what is missing or wrong.
    pub fn read(value: &Value) -> Result<Self, Diagnostic> {
        Ok(Self {
            model: crate::comprehensive::model(value)?,
            theta_init: numbers(value, "/theta_init")?,
            theta_warm: numbers(value, "/theta_warm")?,
        })
    }
}

/// The problem of a reference file for its mechanism.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn golden_problem(value: &Value, mechanism: &Mechanism) -> Result<MotionProblem, Diagnostic> {
    let wrong = |element: &str, message: String| {
        Diagnostic::error(element, message, "take an unchanged reference file")
    };
    let count = |pointer: &str| -> Result<usize, Diagnostic> {
        at(value, pointer)?
            .as_u64()
            .and_then(|x| usize::try_from(x).ok())
            .ok_or_else(|| wrong(pointer, "it is not a whole number".into()))
    };
    let weights = numbers(value, "/weights")?;
    let names = at(value, "/terms")?.as_array().cloned().unwrap_or_default();
    if names.len() != weights.len() {
        return Err(wrong("/weights", format!("{} weights for {} terms", weights.len(), names.len())));
    }
    let mut terms = Vec::new();
    for (name, weight) in names.iter().zip(&weights) {
        let name = name.as_str().unwrap_or_default();
        let term = Term::by_name(name, mechanism, *weight)
            .ok_or_else(|| wrong("/terms", format!("term `{name}` is not known")))?;
        terms.push(term);
    }
    let end = |q: &str, v: &str| -> Result<BoundaryState, Diagnostic> {
        Ok(BoundaryState { derivatives: vec![numbers(value, q)?, numbers(value, v)?] })
    };
    let mut limits = Vec::new();
    for (key, kind) in [("velocity", LimitKind::Velocity), ("torque", LimitKind::Torque)] {
        if let Some(bound) = value["limits"][key].as_f64() {
            limits.push(Limit::symmetric(kind, bound, mechanism.nv()));
        }
    }
    Ok(MotionProblem {
        duration: at(value, "/trajectory/duration")?
            .as_f64()
            .ok_or_else(|| wrong("/trajectory/duration", "it is not a number".into()))?,
        degree: count("/trajectory/degree")?,
        n_control: count("/trajectory/n_control")?,
        sampling: Sampling::Uniform { count: count("/trajectory/n_samples")? },
        start: end("/boundary/q_start", "/boundary/v_start")?,
        end: end("/boundary/q_end", "/boundary/v_end")?,
        terms,
        limits,
        via: Vec::new(),
        passive: false,
        tasks: Vec::new(),
    })
}
