//! [`Observation`]: a recorded motion, and its least-squares fit by the problem's own spline.

use super::transcription::{ControlPoints, Transcription};
use super::{OptimizeError, SplineTable};
use crate::linalg::Banded;
use crate::spline::BSpline;

/// Recorded joint positions, in the coordinates of the spline (see [`Observation::of_configurations`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Times from the start of the motion, increasing.
    pub times: Vec<f64>,
    /// Positions, `q[sample][joint]`.
    pub q: Vec<f64>,
}

/// A fitted motion.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Control points, boundary states exact.
    pub theta: ControlPoints,
    /// Root mean square difference to the observation.
    pub rms: f64,
    /// Estimate of the noise of one number: the misfit with the fitted parameters counted off.
    pub noise: f64,
}

impl Observation {
    /// Recorded configurations, `q[sample][nq]`, in the coordinates of a problem's spline.
    ///
    /// # Errors
    /// If lengths do not fit.
    pub fn of_configurations(tr: &Transcription, times: Vec<f64>, q: &[f64]) -> Result<Self, OptimizeError> {
        let expected = times.len() * tr.chart.nq();
        if q.len() != expected {
            return Err(OptimizeError::WrongLength { name: "observation", expected, found: q.len() });
        }
        let rows = times.iter().zip(q.chunks_exact(tr.chart.nq().max(1)));
        let q = rows.flat_map(|(t, q)| tr.chart.coordinates(*t, q)).collect();
        Ok(Self { times, q })
    }

    /// Checks sizes and times against a problem.
    ///
    /// # Errors
    /// If lengths do not fit, times do not increase inside the motion, or a number is not finite.
    pub fn check(&self, tr: &Transcription) -> Result<(), OptimizeError> {
        let expected = self.times.len() * tr.n;
        if self.q.len() != expected || self.times.len() < 2 {
            return Err(OptimizeError::WrongLength { name: "observation", expected, found: self.q.len() });
        }
        let duration = tr.table.knots[tr.table.n_control];
        let increasing = self.times.windows(2).all(|w| w[0] < w[1]);
        let inside = self.times.iter().all(|t| (-1e-9 * duration..=duration * (1.0 + 1e-9)).contains(t));
        if !increasing || !inside || self.q.iter().any(|x| !x.is_finite()) {
            return Err(OptimizeError::NotFinite { name: "observation" });
        }
        Ok(())
    }

    /// The spline table at the observed times, positions only.
    pub(super) fn table(&self, tr: &Transcription) -> Result<SplineTable, OptimizeError> {
        let duration = tr.table.knots[tr.table.n_control];
        let times: Vec<f64> = self.times.iter().map(|t| t.clamp(0.0, duration)).collect();
        let weights = vec![1.0; times.len()];
        let spline = BSpline::new(tr.table.n_control, tr.table.degree, duration)?;
        Ok(SplineTable::on(&spline, 1, times, weights)?)
    }

    /// Differences of a motion to the observation, `[sample][joint]`.
    pub(super) fn residuals(&self, table: &SplineTable, theta: &ControlPoints, n: usize) -> Vec<f64> {
        let mut x = vec![0.0; self.q.len()];
        table.add_states(&theta.high, n, &mut x);
        table.add_states(&theta.low, n, &mut x);
        x.iter_mut().zip(&self.q).for_each(|(x, q)| *x -= q);
        x
    }

    /// Least squares with the boundary states fixed. One refinement brings it to rounding.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn fit(&self, tr: &Transcription) -> Result<Fit, OptimizeError> {
        self.check(tr)?;
        let (n, table) = (tr.n, self.table(tr)?);
        let (size, width) = (tr.free.len(), table.degree);
        // The same matrix for all joints.
        let mut gram = Banded::new(size, width);
        for s in 0..table.len() {
            let b = table.derivative_basis(s, 0);
            for i in 0..b.len() {
                for j in 0..=i {
                    let (ci, cj) = (table.first[s] + i, table.first[s] + j);
                    if tr.free.contains(&ci) && tr.free.contains(&cj) {
                        *gram.at_mut(ci - tr.free.start, cj - tr.free.start) += b[i] * b[j];
                    }
                }
            }
        }
        let mean = (0..size).map(|i| gram.diagonal(i)).sum::<f64>() / size as f64;
        let mut factor = gram.clone();
        let mut shift = 0.0f64;
        // Control points that no sample sees stay where the profile has them.
        while factor.factor().is_err() {
            shift = (10.0 * shift).max(1e-12 * mean);
            factor = gram.clone();
            (0..size).for_each(|i| factor.add_diagonal(i, shift));
        }
        let mut theta = tr.initial_control_points();
        for _ in 0..3 {
            let r = self.residuals(&table, &theta, n);
            let mut g = vec![0.0; table.n_control * n];
            table.pull_back(&r, n, &mut g);
            for j in 0..n {
                let mut d: Vec<f64> = tr.free.clone().map(|c| -g[c * n + j]).collect();
                factor.solve(&mut d);
                for (c, d) in tr.free.clone().zip(&d) {
                    theta.high[c * n + j] += d;
                }
            }
        }
        let r = self.residuals(&table, &theta, n);
        let sum: f64 = r.iter().map(|r| r * r).sum();
        let freedom = (table.len() as f64 - size as f64).max(1.0) * n as f64;
        Ok(Fit { theta, rms: (sum / r.len() as f64).sqrt(), noise: (sum / freedom).sqrt() })
    }
}
