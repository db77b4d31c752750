//! Gaps: what limits and constraints on frames leave, scaled, with their derivatives.

use super::transcription::{ControlPoints, Point, Transcription};
use super::{Bound, HessianKind, LimitKind};
use crate::linalg::Banded;

/// Size of a bound: what its gap is measured in.
pub(super) fn bound_scale(bound: &Bound) -> f64 {
    bound.limit.abs().max(1e-3)
}

/// Index of a bound's value in `[sample][row]`, or of its unknown for control-point bounds.
enum Place {
    Row(usize),
    Unknown(usize),
}

fn place(tr: &Transcription, bound: &Bound) -> Place {
    if bound.kind == LimitKind::ControlPoint {
        Place::Unknown((bound.sample - tr.free.start) * tr.n + bound.coordinate)
    } else {
        Place::Row(bound.sample * tr.row_count() + bound.row)
    }
}

/// Scaled gaps of all bounds.
pub(super) fn gaps(tr: &Transcription, point: &Point, theta: &ControlPoints) -> Vec<f64> {
    tr.bounds.iter().map(|b| b.gap(tr.row_value(point, theta, b)) / bound_scale(b)).collect()
}

/// Those, then the gaps of constraints on frames.
pub(super) fn all_gaps(tr: &Transcription, point: &Point, theta: &ControlPoints) -> Vec<f64> {
    let mut c = gaps(tr, point, theta);
    c.extend(tr.task_gaps(point));
    c
}

/// `Jᵀ y` for factors per bound (scaled gaps), constraints on frames after them if there are factors for them.
pub(super) fn gap_transpose(tr: &Transcription, point: &Point, y: &[f64]) -> Vec<f64> {
    let mut rows = vec![0.0; tr.table.len() * tr.row_count()];
    let mut direct = Vec::new();
    for (b, y) in tr.bounds.iter().zip(y) {
        let f = y * b.sign() / bound_scale(b);
        match place(tr, b) {
            Place::Row(i) => rows[i] += f,
            Place::Unknown(i) => direct.push((i, f)),
        }
    }
    if let Some(of_tasks) = y.get(tr.bounds.len()..) {
        tr.add_task_gap_factors(point, of_tasks, &mut rows);
    }
    let mut out = tr.pull_back_all(point, &tr.row_sample_gradients(point, &rows));
    for (i, f) in direct {
        out[i] += f;
    }
    out
}

/// `J d` for a step of the unknowns (scaled gaps).
pub(super) fn gap_changes(tr: &Transcription, point: &Point, d: &[f64]) -> Vec<f64> {
    let mut rows = vec![0.0; tr.table.len() * tr.row_count()];
    tr.row_changes(point, d, &mut rows);
    let of_bounds = tr.bounds.iter().map(|b| {
        let change = match place(tr, b) {
            Place::Row(i) => rows[i],
            Place::Unknown(i) => d[i],
        };
        change * b.sign() / bound_scale(b)
    });
    of_bounds.chain(tr.task_gap_changes(point, &rows)).collect()
}

/// The condensed matrix of (5.5) for multipliers `z` and barrier weights `sigma` per bound.
pub(super) fn condensed(
    tr: &mut Transcription,
    weights: &[f64],
    point: &Point,
    z: &[f64],
    sigma: &[f64],
    kind: HessianKind,
    hessian: &mut Banded,
    diagonal: &mut [f64],
) {
    let size = tr.table.len() * tr.row_count();
    let (mut multipliers, mut barrier) = (vec![0.0; size], vec![0.0; size]);
    let mut direct = Vec::new();
    for (i, b) in tr.bounds.iter().enumerate() {
        let scale = bound_scale(b);
        match place(tr, b) {
            Place::Row(at) => {
                multipliers[at] -= z[i] * b.sign() / scale;
                barrier[at] += sigma[i] / (scale * scale);
            }
            Place::Unknown(at) => direct.push((at, sigma[i] / (scale * scale))),
        }
    }
    tr.hessian(weights, point, &multipliers, &barrier, kind, hessian, diagonal);
    for (at, s) in direct {
        hessian.add_diagonal(at, s);
        diagonal[at] += s;
    }
}
