//! Feasibility restoration: the nearest motion that meets the limits, or a local minimum of their violation.
//!
//! `min ½ Σ max(0, margin − c)² + ½ ζ |θ − θ₀|²_D` by Levenberg–Marquardt with the exact curvature of the limits, ζ → 0.

use super::HessianKind;
use super::gaps::{all_gaps, condensed, gap_transpose, gaps};
use super::kkt::Kkt;
use super::newton::moved;
use super::task::TaskMode;
use super::transcription::{ControlPoints, Point, Transcription};
use crate::linalg::{Banded, dot};

/// What restoration found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restored {
    /// All limits hold.
    Feasible,
    /// The violation is at a local minimum; this bound is violated most.
    Stuck {
        /// Index of the bound, constraints on frames counted after the limits; none if a goal is what is not met.
        bound: Option<usize>,
    },
}

/// Gap that restoration aims at, relative to the size of a bound.
const MARGIN: f64 = 1e-4;
/// To this part of their size goals are met.
const MET: f64 = 1e-6;

fn violation(c: &[f64], e: &[f64]) -> (Vec<f64>, f64) {
    let y: Vec<f64> = c.iter().map(|c| (MARGIN - c).max(0.0)).collect();
    let v = 0.5 * (dot(&y, &y) + dot(e, e));
    (y, v)
}

/// Gaps and residuals of goals.
fn constraints(tr: &Transcription, point: &Point, theta: &ControlPoints) -> (Vec<f64>, Vec<f64>) {
    if tr.task_mode == TaskMode::Loads {
        (all_gaps(tr, point, theta), tr.goal_residuals(point))
    } else {
        (gaps(tr, point, theta), Vec::new())
    }
}

/// Moves `theta` until all limits hold, or as far as the violation falls.
pub(super) fn restore(tr: &mut Transcription, theta: &mut ControlPoints) -> Restored {
    let (size, width) = (tr.unknowns(), tr.width());
    let zero = vec![0.0; tr.names.len()];
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    let (mut c, mut e) = constraints(tr, &point, theta);
    let bounds = tr.bounds.len();
    // Loads of an earlier iterate are no part of the metric.
    let directly = tr.task_mode == TaskMode::Loads;
    if directly {
        let none = vec![0.0; c.len() - bounds];
        tr.set_loads(&point, &[], 0.0, &none, &none);
    }
    let (mut hessian, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
    let mut kkt = Kkt::new(size, width);
    // A metric for steps that no limit sees: the joint-space part of the costs.
    let metric = {
        let ones = vec![1.0; tr.names.len()];
        tr.linearize(&mut point);
        tr.hessian(&ones, &point, &[], &[], HessianKind::GaussNewton, &mut hessian, &mut diagonal);
        let mean = diagonal.iter().sum::<f64>() / size as f64;
        diagonal.iter().map(|d| d.max(1e-9 * mean) / mean).collect::<Vec<f64>>()
    };
    let mut damping = 1e-6;
    let mut still = 0;
    for _ in 0..200 {
        let (y, v) = violation(&c, &e);
        if c.iter().all(|c| *c >= 0.5 * MARGIN) && e.iter().all(|e| e.abs() <= MET) {
            return Restored::Feasible;
        }
        tr.linearize(&mut point);
        let active: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y > 0.0))).collect();
        let mut rhs = gap_transpose(tr, &point, &y);
        rhs.truncate(size);
        if directly {
            for (row, e) in tr.goal_rows(&point).iter().zip(&e) {
                rhs.iter_mut().zip(&row.row).for_each(|(x, r)| *x -= e * r);
            }
            tr.set_loads(&point, &e, 1.0, &y[bounds..], &active[bounds..]);
        }
        let gradient = rhs.clone();
        // Curvature: ∇²½y² = J Jᵀ − y ∇²c; `condensed` subtracts z ∇²c.
        condensed(tr, &zero, &point, &y, &active, HessianKind::Exact, &mut hessian, &mut diagonal);
        while kkt.factor(&hessian, |i| damping * metric[i], &tr.equalities).is_err() {
            damping *= 10.0;
            if damping > 1e12 {
                return stuck(&c, &e);
            }
        }
        kkt.solve(&mut rhs, &vec![0.0; tr.equalities.len()], &tr.equalities);
        let trial = moved(tr, theta, &rhs, 1.0);
        let mut next = Point::default();
        tr.evaluate(&trial, &mut next);
        let (cn, en) = constraints(tr, &next, &trial);
        let vn = violation(&cn, &en).1;
        let predicted = 0.5 * dot(&gradient, &rhs);
        if vn < v && vn.is_finite() {
            // A decrease that stays below a millionth is a stationary point of the violation.
            still = if v - vn < 1e-6 * v { still + 1 } else { 0 };
            damping = if v - vn > 0.5 * predicted { (0.2 * damping).max(1e-14) } else { damping };
            *theta = trial;
            point = next;
            (c, e) = (cn, en);
            if still >= 5 {
                return stuck(&c, &e);
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                return stuck(&c, &e);
            }
        }
    }
    stuck(&c, &e)
}

fn stuck(c: &[f64], e: &[f64]) -> Restored {
    let worst = (0..c.len()).min_by(|a, b| c[*a].total_cmp(&c[*b])).filter(|i| c[*i] < 0.0);
    let goals_met = e.iter().all(|e| e.abs() <= MET);
    if worst.is_none() && goals_met { Restored::Feasible } else { Restored::Stuck { bound: worst } }
}
