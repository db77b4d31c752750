//! The rounding scale of the residual: what the sum of its terms' magnitudes is, so that a test can be relative.
//!
//! ```text
//! σ^α = [α=0]|p| + w h |Ṡ|ᵀ|μ| + |S|ᵀ|Γ| + |w h Q| + Σ_β |a^{αβ}| |S^β|ᵀ|μ^β|                        (2.12)
//! ```
//!
//! Row 0 of a ball: `|p| + |p_A| + Σ_α (w h |Ż|ᵀ|μ| + |Z|ᵀ|Γ|)` plus the scale of its chart row at the last node.

use super::lanes::Lanes;
use super::residual::{Point, Residual};
use super::scheme::Scheme;
use super::segments::{Motion, Segments};
use crate::scalar::Real;
use crate::spatial::{Momentum, Twist, Vec3, Wrench};

#[inline(always)]
fn magnitude<T: Real>(a: Vec3<T>, b: Vec3<T>) -> T {
    let mut sum = T::zero();
    for i in 0..3 {
        sum += (a.0[i] * b.0[i]).abs();
    }
    sum
}

#[inline(always)]
fn with_momentum<T: Real>(s: &Twist<T>, mu: &Momentum<T>) -> T {
    magnitude(s.ang, mu.ang) + magnitude(s.lin, mu.lin)
}

#[inline(always)]
fn with_impulse<T: Real>(s: &Twist<T>, gamma: &Wrench<T>) -> T {
    magnitude(s.ang, gamma.ang) + magnitude(s.lin, gamma.lin)
}

/// `Σ_g |ℓ_α(ĉ_g)| x^g`.
#[inline(never)]
fn to_rows<T: Real, const N: usize>(scheme: &Scheme<N>, x: Lanes<T, N>) -> Lanes<T, N> {
    let mut rows = Lanes::default();
    for g in 0..scheme.points {
        rows.add_spread(x.0[g], &scheme.value_rows[g].map(f64::abs));
    }
    rows
}

/// Fills `scale` at the point of the residual: lane α < s belongs to row α. Does not allocate.
#[inline(always)]
pub(crate) fn rounding_scale<T: Real, const N: usize>(
    segments: &Segments,
    scheme: &Scheme<N>,
    point: &Point<T, N>,
    residual: &Residual<T, N>,
    scale: &mut [Lanes<T, N>],
) {
    let s = scheme.s;
    let mut a_columns = scheme.a_columns;
    for x in a_columns.iter_mut().flatten() {
        *x = x.abs();
    }
    for (i, segment) in segments.list.iter().enumerate() {
        let (mu, gamma) = (&residual.momenta[i], &residual.impulses[i]);
        let first = segment.coordinate;
        for c in first..first + segment.freedom() {
            let mut force = Lanes::default();
            if segment.forced {
                force = if segment.motion == Motion::Ball {
                    let ball = &residual.balls[segment.ball];
                    ball.b.column(c - first).dot(ball.torque)
                } else {
                    residual.coordinate_force(segments, scheme, point, c)
                };
            }
            let slope = with_momentum(&residual.column_rates[c], mu) + force.abs();
            let conjugate = with_momentum(&residual.columns[c], mu);
            let mut row = slope.weighted(&residual.weights) + with_impulse(&residual.columns[c], gamma);
            if scheme.gauss && !T::STATES {
                row = to_rows(scheme, row);
            }
            for beta in 0..scheme.points {
                row.add_spread(conjugate.0[beta], &a_columns[beta]);
            }
            if segments.laws[c].armature != 0.0 {
                for beta in 0..scheme.points {
                    let x = (residual.rates[c].0[beta] * segments.laws[c].armature).abs();
                    row.add_spread(x, &a_columns[beta]);
                }
            }
            row.0[0] += point.p[c].abs();
            scale[c] = row;
        }
        if segment.motion == Motion::Ball {
            let ball = &residual.balls[segment.ball];
            for j in 0..3 {
                let terms = with_momentum(&ball.axis_rates[j], mu).weighted(&residual.weights)
                    + with_impulse(&ball.axes[j], gamma);
                let mut sum = T::zero();
                for node in 0..=s.min(N - 1) {
                    sum += terms.0[node];
                }
                let chart = scale[first + j].0[s];
                scale[first + j].0[0] = point.p[first + j].abs() + ball.p_anchor[j].abs() + sum + chart;
            }
        }
    }
}
