//! How likely samples are under smoothness of one order, to be compared with that of another.
//!
//! A motion whose `m`-th derivative is white noise leaves its polynomial of degree `m − 1` free. Of the samples only what no
//! such polynomial explains is then likely or not, `n − m` numbers, and −2 log of their density is, but for what all orders share,
//!
//! ```text
//! (n − m) log(E/(n − m)) + log det(N + λΩ) − log det⁺(λΩ) + log det(CᵀC) − log det(XᵀX)
//! ```
//!
//! with `E = |r|² + λ θᵀΩθ`, `det⁺` the product of the eigenvalues that are not zero, `X` a basis of the polynomials at the samples and
//! `C` their control points. Without `m` of the control points `Ω` is regular: `det Ω_SS = det⁺Ω · det(C_I)²/det(CᵀC)`, whichever
//! they are. Without the last ones the differences of (5.1) that make control points of the `m`-th derivative are triangular, and so
//! is `C_I` for powers of the time to the end: all determinants are products but that of the squares of the basis of that
//! derivative, which is as well conditioned as `N`.

use super::fit::{Samples, Space};
use super::smoothing::penalty;
use super::{BSpline, SplineError};
use crate::linalg::triangular_factor;
use crate::scalar::elementary;

/// What does not depend on λ: `log det(C_I)² − log det Ω_SS − log det(XᵀX)`; infinite, so never chosen, where samples
/// are too few for the polynomials.
pub(super) fn free_part(space: &Space, samples: &Samples<'_>, order: usize) -> Result<f64, SplineError> {
    let sum = log_control_points(space, order)
        - log_bending(&space.spline, order)?
        - log_powers(samples, order, space);
    Ok(if sum.is_finite() { sum } else { f64::INFINITY })
}

/// `log det Ω_SS`.
fn log_bending(spline: &BSpline, order: usize) -> Result<f64, SplineError> {
    let (n, p, knots) = (spline.n_control(), spline.degree(), spline.knots());
    let mut squares = penalty(&BSpline::new(n - order, p - order, spline.duration())?, 0)?;
    if squares.factor().is_err() {
        return Ok(f64::NAN);
    }
    let factor = |c: usize, d: usize| elementary::ln((p - d + 1) as f64 / (knots[c + p + 1] - knots[c + d]));
    let differences: f64 = (0..n - order).map(|c| (1..=order).map(|d| factor(c, d)).sum::<f64>()).sum();
    Ok(squares.log_determinant() + 2.0 * differences)
}

/// `log det(C_I)²`: the `k`-th control point from the end of `x^k`, `x` the share of the duration that is left.
fn log_control_points(space: &Space, order: usize) -> f64 {
    let (p, knots, duration) = (space.spline.degree(), space.spline.knots(), space.spline.duration());
    let of_power = |k: usize| -> f64 {
        let steps = (1..=k).map(|e| {
            let width = (knots[k - e + p + 1] - knots[k]) / duration;
            elementary::ln(e as f64 * width / (p - e + 1) as f64)
        });
        steps.sum()
    };
    2.0 * (0..order).map(of_power).sum::<f64>()
}

/// `log det(XᵀX)` for the powers of the share of the duration that is left, rates weighted as the samples are.
fn log_powers(samples: &Samples<'_>, order: usize, space: &Space) -> f64 {
    let duration = space.spline.duration();
    let left = |t: &f64| 1.0 - t / duration;
    let columns: Vec<Vec<f64>> = (0..order)
        .map(|k| {
            let values = samples.times.iter().map(|t| left(t).powi(k as i32));
            let rates = samples.times.iter().filter(|_| samples.orders() == 2).map(|t| {
                if k == 0 { 0.0 } else { -samples.rho * k as f64 * left(t).powi(k as i32 - 1) / duration }
            });
            values.chain(rates).collect()
        })
        .collect();
    let factor = triangular_factor(&columns);
    2.0 * (0..order).map(|k| elementary::ln(factor[k * order + k].abs())).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::super::{FitOptions, SplineFit};
    use crate::mechanism::samples::Random;

    /// A reach between rests, whose jerk jumps, and a sine: both have standard errors that hold their acceleration.
    #[test]
    fn a_reach_between_rests_is_covered_like_a_sine() {
        let times: Vec<f64> = (0..=300).map(|i| 0.01 * f64::from(i)).collect();
        let reach = |t: f64| {
            let s = ((t - 0.9) / 1.2).clamp(0.0, 1.0);
            let rate = if s == 0.0 || s == 1.0 { 0.0 } else { s * (60.0 - 180.0 * s + 120.0 * s * s) };
            (0.8 * s.powi(3) * (10.0 - 15.0 * s + 6.0 * s * s), 0.8 * rate / 1.44)
        };
        let sine = |t: f64| (0.5 * (3.0 * t).sin(), -4.5 * (3.0 * t).sin());
        let mut random = Random::new(21);
        for (name, motion) in [("reach", &reach as &dyn Fn(f64) -> (f64, f64)), ("sine", &sine)] {
            for sigma in [1e-4, 1e-3] {
                let mut held = 0.0;
                let draws = 24;
                for _ in 0..draws {
                    let q: Vec<f64> = times.iter().map(|t| motion(*t).0 + sigma * random.normal()).collect();
                    let fit = SplineFit::new(&times, &q, None, 1, &FitOptions::default()).expect("fit");
                    let x = fit.evaluate(&times, 2).expect("inside");
                    for (s, t) in times.iter().enumerate() {
                        let (covariance, bias) = fit.errors(0, *t, 2);
                        let deviation = (covariance[8] + bias[2] * bias[2]).sqrt();
                        held += f64::from(u8::from((x[3 * s + 2] - motion(*t).1).abs() <= deviation));
                    }
                }
                let share = held / (f64::from(draws) * times.len() as f64);
                assert!((0.58..=0.78).contains(&share), "{name} {sigma}: {share}");
            }
        }
    }
}
