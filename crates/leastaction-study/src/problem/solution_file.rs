//! Solution files, `leastaction/solution/1`: control points to the last bit, and how good they are.

use std::path::Path;

use leastaction::io::write_atomically;
use leastaction::optimize::{ControlPoints, Solution};
use serde_json::{Value, json};

use super::ProblemFile;
use crate::failure::Failure;
use crate::output::cannot_write;

const SCHEMA: &str = "leastaction/solution/1";

fn rows(x: &[f64], n: usize) -> Value {
    x.chunks(n.max(1)).map(|row| json!(row)).collect()
}

/// A solution for machines. The weights of the costs are left out on request: what `infer` is given must not hold them.
pub fn to_json(file: &ProblemFile, solution: &Solution, weights: &[f64]) -> Value {
    let n = file.mechanism.nv();
    let labels = file.mechanism.v_labels();
    let terms = file.problem.terms.iter().zip(weights).zip(&solution.term_costs);
    json!({
        "schema": SCHEMA,
        "problem": file.name,
        "model": file.mechanism.name(),
        "status": format!("{:?}", solution.status),
        "iterations": solution.iterations,
        "objective": solution.objective,
        "duration": solution.duration,
        "time_weight": file.time_weight,
        "phases": file.phases.iter().map(|p| json!({"name": p.name, "duration": p.duration})).collect::<Vec<_>>(),
        "kkt_residual": solution.kkt_residual,
        "violation": solution.violation,
        "violation_between_samples": solution.violation_between,
        "violated": solution.violated.map(|b| json!({
            "kind": b.kind.name(),
            "coordinate": labels.get(b.coordinate),
            "unit": super::limit_unit(&file.mechanism, b.kind, b.coordinate),
        })),
        "constraints": solution.tasks.iter().map(|t| json!({
            "name": t.name,
            "violation": t.violation,
            "violation_between_samples": t.violation_between,
            "clearance": t.clearance,
            "multiplier": t.multiplier,
        })).collect::<Vec<_>>(),
        "fixed_derivatives": {
            "start": file.problem.start.derivatives.len(),
            "end": file.problem.end.derivatives.len(),
        },
        "terms": terms.map(|((t, w), c)| json!({"name": t.name, "weight": w, "cost": c})).collect::<Vec<_>>(),
        "active": solution.active.iter().map(|a| json!({
            "kind": a.bound.kind.name(),
            "side": if a.bound.upper { "upper" } else { "lower" },
            "sample": a.bound.sample,
            "coordinate": labels.get(a.bound.coordinate),
            "limit": a.bound.limit,
            "multiplier": a.multiplier,
        })).collect::<Vec<_>>(),
        "obstacle": solution.obstacle.map(|o| json!({
            "kind": o.bound.kind.name(),
            "coordinate": labels.get(o.bound.coordinate),
            "t": o.t,
            "value": o.value,
            "limit": o.bound.limit,
            "proven": o.proven,
        })),
        "trajectory": {
            "duration": file.problem.duration,
            "degree": file.problem.degree,
            "control_points": file.problem.n_control,
            "coordinates": labels,
        },
        "theta": rows(&solution.theta.high, n),
        "theta_low": rows(&solution.theta.low, n),
        "history": solution.history.iter().map(|p| json!({
            "iteration": p.iteration,
            "objective": p.objective,
            "kkt": p.kkt,
            "violation": p.violation,
            "step": p.step,
        })).collect::<Vec<_>>(),
    })
}

/// Writes a solution.
pub fn write(path: &Path, value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    write_atomically(path, text.as_bytes()).map_err(|error| cannot_write(path, &error))
}

/// Writes large tables of numbers on one line.
pub fn write_compact(path: &Path, value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string(value).unwrap_or_default() + "\n";
    write_atomically(path, text.as_bytes()).map_err(|error| cannot_write(path, &error))
}

/// Control points of a solution file, for a problem of the same size.
pub fn read(path: &Path, file: &ProblemFile) -> Result<ControlPoints, Failure> {
    read_motion(path, file).map(|(theta, _)| theta)
}

/// Control points of a solution file and how long its motion takes, which the problem may have left free.
pub fn read_motion(path: &Path, file: &ProblemFile) -> Result<(ControlPoints, f64), Failure> {
    let text = leastaction::io::read_text(path).map_err(|error| {
        Failure::caused_by(format!("can't read the solution `{}`", path.display()), &error)
    })?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::caused_by(format!("`{}` is not JSON", path.display()), &error))?;
    let numbers = |key: &str| -> Option<Vec<f64>> {
        let rows = value[key].as_array()?;
        rows.iter().flat_map(|row| row.as_array().into_iter().flatten()).map(Value::as_f64).collect()
    };
    let expected = file.problem.n_control * file.mechanism.nv();
    let high = numbers("theta").unwrap_or_default();
    if value["schema"] != SCHEMA || high.len() != expected {
        return Err(Failure::new(format!(
            "`{}` holds {} numbers of control points, the problem has {expected}",
            path.display(),
            high.len()
        ))
        .help("name the `solution.json` that `optimize` wrote for the same spline, or a trajectory"));
    }
    let low = numbers("theta_low").filter(|low| low.len() == expected).unwrap_or_else(|| vec![0.0; expected]);
    let duration = value["duration"].as_f64().unwrap_or(file.problem.duration);
    Ok((ControlPoints { high, low }, duration))
}
