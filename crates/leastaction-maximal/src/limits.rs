//! Joint limits as a complementarity: a limit is either away or pushes.

use leastaction_core::scalar::elementary;

/// Scale of a limit's impulse against its velocity.
pub(crate) const LIMIT_SCALE: f64 = 1.0;

/// Fischer–Burmeister value and slopes of `a ≥ 0, b ≥ 0, a b = 0`.
#[inline]
pub(crate) fn fischer_burmeister(a: f64, b: f64) -> [f64; 3] {
    let r = elementary::hypot(a, b).max(1e-300);
    [a + b - r, 1.0 - a / r, (1.0 - b / r) * LIMIT_SCALE]
}

/// Side of a limit to watch from coordinate `y`: the nearer one.
pub(crate) fn limit_side(lower: f64, upper: f64, y: f64) -> f64 {
    match (lower.is_finite(), upper.is_finite()) {
        (true, true) => {
            if y - lower < upper - y {
                1.0
            } else {
                -1.0
            }
        }
        (true, false) => 1.0,
        (false, true) => -1.0,
        (false, false) => 0.0,
    }
}

/// Distance to a limit on a side.
pub(crate) fn limit_distance(side: f64, lower: f64, upper: f64, y: f64) -> f64 {
    if side > 0.0 { y - lower } else { upper - y }
}
