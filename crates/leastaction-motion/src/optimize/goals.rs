//! A first motion that meets its goals: the one that differs least from the profile, as the costs measure it.
//!
//! ```text
//! min ½ (θ − θ₀)ᵀ H₀ (θ − θ₀)   s.t.   G (θ − θ₀) = −e,        H₀ the Gauss–Newton matrix of the costs at the profile
//! ```
//!
//! again and again, with steps short enough for the linearisation. A search that begins here has the goals behind it; one that
//! begins with a mechanism at rest would have costs that do not move at all.

use super::HessianKind;
use super::kkt::Kkt;
use super::newton::moved;
use super::transcription::{ControlPoints, Point, Transcription};
use crate::linalg::{Banded, largest};

/// No control point moves further at once.
const FURTHEST: f64 = 0.4;
/// Goals are met to this part of their size.
const MET: f64 = 1e-3;
const MOST: usize = 60;

/// Moves `theta` until the goals are about met, or as far as that leads.
pub(super) fn approach(tr: &mut Transcription, weights: &[f64], theta: &mut ControlPoints) {
    let (size, width) = (tr.unknowns(), tr.width());
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    tr.scale_tasks(&point);
    if largest(&tr.goal_residuals(&point)) <= MET {
        return;
    }
    tr.linearize(&mut point);
    let none = vec![0.0; tr.task_gap_count()];
    tr.set_loads(&point, &[], 0.0, &none, &none);
    let (mut hessian, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
    tr.hessian(weights, &point, &[], &[], HessianKind::GaussNewton, &mut hessian, &mut diagonal);
    // What no cost holds, like the velocity a jerk does not see, is held by a little of what others are held by.
    let mean = diagonal.iter().sum::<f64>() / size.max(1) as f64;
    let mut kkt = Kkt::new(size, width);
    let mut last = f64::INFINITY;
    for _ in 0..MOST {
        let e = tr.goal_residuals(&point);
        let now = largest(&e);
        if now <= MET || now.is_nan() || now > 2.0 * last {
            return;
        }
        last = last.min(now);
        let mut rows = tr.equalities.clone();
        rows.extend(tr.goal_rows(&point));
        if kkt.factor(&hessian, |_| 1e-9 * mean, &rows).is_err() {
            return;
        }
        let mut missing = vec![0.0; tr.equalities.len()];
        missing.extend(e.iter().map(|e| -e));
        let mut d = vec![0.0; size];
        kkt.solve(&mut d, &missing, &rows);
        let length = largest(&d);
        if !length.is_finite() {
            return;
        }
        *theta = moved(tr, theta, &d, (FURTHEST / length.max(f64::MIN_POSITIVE)).min(1.0));
        tr.evaluate(theta, &mut point);
        tr.linearize(&mut point);
    }
}
