//! [`SplineFit`]: least squares of a spline to recorded samples.
//!
//! `min Σ_s |q(t_s) − q_s|² + ρ² |q̇(t_s) − v_s|²`: the normal equations are banded and well conditioned (the basis is),
//! and one refinement with the residual brings the solution to rounding.

use super::{BSpline, SplineError, SplineTable};
use crate::linalg::Banded;

/// What a fit can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// Degree of the spline.
    pub degree: usize,
    /// Number of control points; by default one for every two samples (each carrying a position and, if recorded, a
    /// rate), at least `degree + 1`.
    pub n_control: Option<usize>,
    /// Weight `ρ` of rates against positions, in seconds; by default the mean distance of samples.
    pub rate_weight: Option<f64>,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { degree: 7, n_control: None, rate_weight: None }
    }
}

/// A fitted trajectory of `dim` coordinates.
#[derive(Clone, Debug)]
pub struct SplineFit {
    /// The spline space, on `[0, T]` with 0 at the first sample.
    pub spline: BSpline,
    /// Time of the first sample.
    pub start: f64,
    /// Number of coordinates.
    pub dim: usize,
    /// Control points, `theta[c * dim + i]`.
    pub theta: Vec<f64>,
    /// Largest difference of a position, per coordinate.
    pub residual_max: Vec<f64>,
    /// Root mean square difference of positions, per coordinate.
    pub residual_rms: Vec<f64>,
}

impl SplineFit {
    /// Fits positions `q[s * dim + i]` at increasing `times`, and rates `v` in the same layout if given.
    ///
    /// # Errors
    /// If there are too few samples, times do not increase, a value is not finite, or the samples do not determine the
    /// control points.
    pub fn new(
        times: &[f64],
        q: &[f64],
        v: Option<&[f64]>,
        dim: usize,
        options: &FitOptions,
    ) -> Result<Self, SplineError> {
        let n = times.len();
        for (name, found) in [("q", q.len()), ("v", v.map_or(n * dim, <[f64]>::len))] {
            if found != n * dim {
                return Err(SplineError::WrongLength { name, expected: n * dim, found });
            }
        }
        if let Some(index) = (1..n).find(|i| times[*i] <= times[*i - 1]) {
            return Err(SplineError::BadSample { index, what: "its time does not follow the one before" });
        }
        let finite = |x: &[f64]| x.iter().position(|x| !x.is_finite());
        for (list, per) in [(Some(times), 1), (Some(q), dim.max(1)), (v, dim.max(1))] {
            if let Some(index) = list.and_then(finite) {
                return Err(SplineError::BadSample { index: index / per, what: "a value is not finite" });
            }
        }
        let degree = options.degree;
        let n_control = options.n_control.unwrap_or(n / 2).max(degree + 1);
        let (start, end) = (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(0.0));
        let spline = BSpline::new(n_control, degree, end - start)?;
        let local: Vec<f64> = times.iter().map(|t| (t - start).clamp(0.0, spline.duration())).collect();
        let orders = usize::from(v.is_some()) + 1;
        let table = SplineTable::on(&spline, orders, local, Vec::new())?;
        let spacing = spline.duration() / (n.max(2) - 1) as f64;
        let rho = options.rate_weight.unwrap_or(spacing);
        let weight = |d: usize| if d == 0 { 1.0 } else { rho };

        let mut normal = Banded::new(n_control, degree);
        for s in 0..n {
            for d in 0..orders {
                let w = table.derivative_basis(s, d);
                let f = weight(d) * weight(d);
                for a in 0..=degree {
                    for b in 0..=a {
                        *normal.at_mut(table.first[s] + a, table.first[s] + b) += f * w[a] * w[b];
                    }
                }
            }
        }
        let determined = |index| SplineError::Undetermined { index };
        // A pivot this small against its diagonal is rounding: the samples say nothing about that point.
        let diagonal: Vec<f64> = (0..n_control).map(|i| normal.get(i, i)).collect();
        if let Some(index) = diagonal.iter().position(|x| *x < 1e-30) {
            return Err(determined(index));
        }
        normal.factor().map_err(|pivot| determined(pivot.row))?;

        let mut theta = vec![0.0; n_control * dim];
        let mut x = vec![0.0; n * orders * dim];
        let mut column = vec![0.0; n_control];
        let mut right = vec![0.0; n_control * dim];
        for _ in 0..3 {
            x.fill(0.0);
            table.add_states(&theta, dim, &mut x);
            for s in 0..n {
                for i in 0..dim {
                    let at = s * orders * dim + i;
                    x[at] = q[s * dim + i] - x[at];
                    if let Some(v) = v {
                        x[at + dim] = rho * rho * (v[s * dim + i] - x[at + dim]);
                    }
                }
            }
            right.fill(0.0);
            table.pull_back(&x, dim, &mut right);
            for i in 0..dim {
                for c in 0..n_control {
                    column[c] = right[c * dim + i];
                }
                normal.solve(&mut column);
                for c in 0..n_control {
                    theta[c * dim + i] += column[c];
                }
            }
        }
        x.fill(0.0);
        table.add_states(&theta, dim, &mut x);
        let (mut residual_max, mut residual_rms) = (vec![0.0f64; dim], vec![0.0; dim]);
        for s in 0..n {
            for i in 0..dim {
                let d = x[s * orders * dim + i] - q[s * dim + i];
                residual_max[i] = residual_max[i].max(d.abs());
                residual_rms[i] += d * d / n as f64;
            }
        }
        residual_rms.iter_mut().for_each(|x| *x = x.sqrt());
        Ok(Self { spline, start, dim, theta, residual_max, residual_rms })
    }

    /// Derivatives `0..=max_order` at `times`: `out[(s * (max_order + 1) + d) * dim + i]`.
    ///
    /// # Errors
    /// If `max_order` is not below the degree or a time is outside the fit.
    pub fn evaluate(&self, times: &[f64], max_order: usize) -> Result<Vec<f64>, SplineError> {
        let duration = self.spline.duration();
        // The last recorded time can differ from start + T by a rounding.
        let slack = 4.0 * f64::EPSILON * (self.start.abs() + duration);
        let local: Vec<f64> = times
            .iter()
            .map(|t| {
                let x = t - self.start;
                if x < 0.0 && x > -slack {
                    0.0
                } else if x > duration && x < duration + slack {
                    duration
                } else {
                    x
                }
            })
            .collect();
        if let Some(index) = local.iter().position(|t| !(0.0..=duration).contains(t)) {
            return Err(SplineError::BadSample { index, what: "its time is outside the spline" });
        }
        let mut out = vec![0.0; times.len() * (max_order + 1) * self.dim];
        let table = SplineTable::on(&self.spline, max_order + 1, local, Vec::new())?;
        table.add_states(&self.theta, self.dim, &mut out);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smooth_motion_gives_its_acceleration_and_jerk() {
        let times: Vec<f64> = (0..=1000).map(|i| 2.0 + f64::from(i) * 1e-3).collect();
        let q: Vec<f64> = times.iter().flat_map(|t| [(3.0 * t).sin(), t * t]).collect();
        let v: Vec<f64> = times.iter().flat_map(|t| [3.0 * (3.0 * t).cos(), 2.0 * t]).collect();
        for (rates, tol) in [(None, 1e-7), (Some(&v[..]), 1e-8)] {
            let options = FitOptions { n_control: Some(250), ..FitOptions::default() };
            let fit = SplineFit::new(&times, &q, rates, 2, &options).expect("fit");
            assert!(fit.residual_max[0] < 1e-13, "{:e}", fit.residual_max[0]);
            let x = fit.evaluate(&times, 3).expect("inside");
            for (s, t) in times.iter().enumerate() {
                let row = &x[s * 8..(s + 1) * 8];
                assert!(
                    (row[4] + 9.0 * (3.0 * t).sin()).abs() < tol,
                    "{t}: {:e}",
                    row[4] + 9.0 * (3.0 * t).sin()
                );
                assert!((row[5] - 2.0).abs() < tol);
                assert!((row[6] + 27.0 * (3.0 * t).cos()).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn bad_samples_are_named() {
        let o = FitOptions::default();
        assert!(matches!(
            SplineFit::new(&[0.0, 1.0, 1.0], &[0.0; 3], None, 1, &o),
            Err(SplineError::BadSample { index: 2, .. })
        ));
        assert!(matches!(
            SplineFit::new(&[0.0, 1.0, 2.0], &[0.0, f64::NAN, 0.0], None, 1, &o),
            Err(SplineError::BadSample { index: 1, .. })
        ));
        assert!(matches!(
            SplineFit::new(&[0.0, 1.0, 2.0], &[0.0; 3], None, 1, &o),
            Err(SplineError::Undetermined { .. })
        ));
    }
}
