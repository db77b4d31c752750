//! [`SplineFit`]: a spline through recorded samples, as smooth as their noise asks for.
//!
//! `min Σ_s |q(t_s) − q_s|² + ρ² |q̇(t_s) − v_s|² + λ ∫ |q⁽ᵐ⁾|² dt`: the normal equations are banded and well conditioned (the
//! basis is), and one refinement with the residual brings the solution to rounding. `smoothing.rs` chooses λ.

use super::smoothing::{Smoothed, choose};
use super::{BSpline, SplineError, SplineTable};
use crate::linalg::Banded;

/// What a fit can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// Degree of the spline, at least two more than `derivative`.
    pub degree: usize,
    /// Number of control points; by default as many as the motion needs, at most one for every two samples (each carrying a
    /// position and, if recorded, a rate), at least `degree + 1`.
    pub n_control: Option<usize>,
    /// Weight `ρ` of rates against positions, in seconds; by default from their misfits, first the mean distance of samples.
    pub rate_weight: Option<f64>,
    /// Smooth as the noise of the samples asks for; without it the fit is plain least squares.
    pub smooth: bool,
    /// Highest derivative that is wanted of the fit.
    pub derivative: usize,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { degree: 7, n_control: None, rate_weight: None, smooth: true, derivative: 2 }
    }
}

/// Control points to begin with; more are taken while the motion uses a third of them.
const FEW: usize = 48;

/// Highest derivative that smoothness is measured by, unless higher ones are wanted.
const HIGHEST_ORDER: usize = 6;

/// Part of the control points that a motion makes use of where they are too few for it.
const SATURATED: f64 = 0.8;

/// Noise below this part of the samples may be their rounding.
const SUSPICIOUS: f64 = 1e-9;

/// Degree of splines through samples without noise.
const EXACT_DEGREE: usize = 11;

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
    /// What the smoothing found out about noise and errors; `None` for plain least squares.
    pub(crate) smoothed: Option<Smoothed>,
}

/// Samples with local times, ready for splines of any size.
pub(super) struct Samples<'a> {
    pub(super) times: Vec<f64>,
    pub(super) q: &'a [f64],
    pub(super) v: Option<&'a [f64]>,
    pub(super) dim: usize,
    /// Weight of rates.
    pub(super) rho: f64,
}

impl Samples<'_> {
    pub(super) fn orders(&self) -> usize {
        1 + usize::from(self.v.is_some())
    }
    /// Numbers per coordinate.
    pub(super) fn count(&self) -> usize {
        self.times.len() * self.orders()
    }
}

/// A spline space with the normal equations of the samples in it.
pub(super) struct Space {
    pub(super) spline: BSpline,
    pub(super) table: SplineTable,
    pub(super) normal: Banded,
}

impl Space {
    fn new(
        samples: &Samples<'_>,
        n_control: usize,
        degree: usize,
        duration: f64,
    ) -> Result<Self, SplineError> {
        let spline = BSpline::new(n_control, degree, duration)?;
        let orders = samples.orders();
        let table = SplineTable::on(&spline, orders, samples.times.clone(), Vec::new())?;
        let mut normal = Banded::new(n_control, degree);
        for s in 0..samples.times.len() {
            for d in 0..orders {
                let w = table.derivative_basis(s, d);
                let f = if d == 0 { 1.0 } else { samples.rho * samples.rho };
                for a in 0..=degree {
                    for b in 0..=a {
                        *normal.at_mut(table.first[s] + a, table.first[s] + b) += f * w[a] * w[b];
                    }
                }
            }
        }
        Ok(Self { spline, table, normal })
    }

    /// Differences of a spline to the samples: positions and rates, unweighted, `[sample][order][coordinate]`.
    pub(super) fn differences(&self, samples: &Samples<'_>, theta: &[f64]) -> Vec<f64> {
        let (n, dim, orders) = (samples.times.len(), samples.dim, samples.orders());
        let mut x = vec![0.0; n * orders * dim];
        self.table.add_states(theta, dim, &mut x);
        for s in 0..n {
            for i in 0..dim {
                let at = s * orders * dim + i;
                x[at] -= samples.q[s * dim + i];
                if let Some(v) = samples.v {
                    x[at + dim] -= v[s * dim + i];
                }
            }
        }
        x
    }

    /// Control points of the samples with the factor of `normal + λ penalty`; steps of refinement bring them to rounding.
    pub(super) fn solve(
        &self,
        samples: &Samples<'_>,
        factor: &Banded,
        smooth: Option<(&Banded, f64)>,
        steps: usize,
    ) -> Vec<f64> {
        let (n_control, dim) = (self.spline.n_control(), samples.dim);
        let mut theta = vec![0.0; n_control * dim];
        let (mut column, mut bent) = (vec![0.0; n_control], vec![0.0; n_control]);
        for _ in 0..steps {
            let mut x = self.differences(samples, &theta);
            for (i, x) in x.iter_mut().enumerate() {
                let is_rate = (i / dim) % samples.orders() == 1;
                *x *= if is_rate { -samples.rho * samples.rho } else { -1.0 };
            }
            let mut right = vec![0.0; n_control * dim];
            self.table.pull_back(&x, dim, &mut right);
            for i in 0..dim {
                if let Some((penalty, lambda)) = smooth {
                    (0..n_control).for_each(|c| column[c] = theta[c * dim + i]);
                    penalty.mul_into(&column, &mut bent);
                    (0..n_control).for_each(|c| right[c * dim + i] -= lambda * bent[c]);
                }
                (0..n_control).for_each(|c| column[c] = right[c * dim + i]);
                factor.solve(&mut column);
                (0..n_control).for_each(|c| theta[c * dim + i] += column[c]);
            }
        }
        theta
    }

    /// Plain least squares.
    fn exact(&self, samples: &Samples<'_>) -> Result<Vec<f64>, SplineError> {
        let determined = |index| SplineError::Undetermined { index };
        // A pivot this small against its diagonal is rounding: the samples say nothing about that point.
        if let Some(index) = (0..self.normal.size()).find(|i| self.normal.diagonal(*i) < 1e-30) {
            return Err(determined(index));
        }
        let mut factor = self.normal.clone();
        factor.factor().map_err(|pivot| determined(pivot.row))?;
        Ok(self.solve(samples, &factor, None, 3))
    }
}

impl SplineFit {
    /// Fits positions `q[s * dim + i]` at increasing `times`, and rates `v` in the same layout if given. All coordinates are
    /// smoothed alike.
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
        let start = times.first().copied().unwrap_or(0.0);
        let duration = times.last().copied().unwrap_or(0.0) - start;
        let mut samples = Samples {
            times: times.iter().map(|t| (t - start).clamp(0.0, duration.max(0.0))).collect(),
            q,
            v,
            dim,
            rho: options.rate_weight.unwrap_or(duration / (n.max(2) - 1) as f64),
        };
        // Smoothness is that of a derivative above what is wanted, of an order that leaves digits.
        let lowest = options.derivative + 1;
        let mut orders = lowest..=lowest.max(HIGHEST_ORDER);
        let mut degree = if options.smooth { options.degree.max(orders.end() + 1) } else { options.degree };
        let highest = degree.max(EXACT_DEGREE);
        let most = options.n_control.unwrap_or(n / 2).max(degree + 1);
        if !options.smooth {
            let space = Space::new(&samples, most, degree, duration)?;
            let theta = space.exact(&samples)?;
            return Ok(Self::from_parts(&samples, space, start, theta, None));
        }
        // Samples too few for the degree leave it undetermined whatever the smoothing.
        if samples.count() < degree + 1 {
            return Err(SplineError::Undetermined { index: samples.count() });
        }
        let mut n_control = if options.n_control.is_some() { most } else { most.min(FEW.max(degree + 1)) };
        let mut again = v.is_some() && options.rate_weight.is_none();
        loop {
            let space = Space::new(&samples, n_control, degree, duration)?;
            let Some((theta, smoothed)) = choose(&space, &samples, orders.clone())? else {
                return Err(SplineError::Undetermined { index: 0 });
            };
            if n_control < most && smoothed.freedom > n_control as f64 / 3.0 {
                n_control = most.min(2 * n_control);
                continue;
            }
            // Samples that use up the spline are not limited by noise: smoothness then matters at the ends only, and how likely an order
            // is says nothing about them.
            if smoothed.freedom > SATURATED * n_control as f64 && orders.start() < orders.end() {
                let order = (lowest + 2).min(*orders.end());
                orders = order..=order;
                continue;
            }
            // Samples that no smoothing helps have next to no noise: then the spline's own error counts, and a higher degree
            // has less of it.
            if smoothed.freedom > SATURATED * n_control as f64 && degree < highest && n_control > highest {
                degree = highest;
                continue;
            }
            if again {
                // Positions and rates weigh as much as they fit.
                again = false;
                samples.rho = smoothed.better_rate_weight(&space, &samples, &theta);
                continue;
            }
            let size = samples.q.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            if options.n_control.is_none()
                && smoothed.noise <= SUSPICIOUS * size
                && let Some(exact) = Self::without_noise(&samples, most, highest, duration, start, size)
            {
                return Ok(exact);
            }
            return Ok(Self::from_parts(&samples, space, start, theta, Some(smoothed)));
        }
    }

    /// Least squares by as few control points as leave nothing but rounding; `None` if none do. Smoothing has nothing to do then, and
    /// even a trace of it is seen at the ends.
    fn without_noise(
        samples: &Samples<'_>,
        most: usize,
        degree: usize,
        duration: f64,
        start: f64,
        size: f64,
    ) -> Option<Self> {
        let mut n_control = most.min(FEW);
        loop {
            let space = Space::new(samples, n_control, degree, duration).ok()?;
            let theta = space.exact(samples).ok()?;
            let x = space.differences(samples, &theta);
            let rms = (x.iter().map(|x| x * x).sum::<f64>() / x.len().max(1) as f64).sqrt();
            if rms <= 8.0 * f64::EPSILON * size {
                let smoothed = Smoothed::of_rounding(&space, samples.dim, rms.max(f64::EPSILON * size))?;
                return Some(Self::from_parts(samples, space, start, theta, Some(smoothed)));
            }
            if n_control == most {
                return None;
            }
            n_control = most.min(2 * n_control);
        }
    }

    fn from_parts(
        samples: &Samples<'_>,
        space: Space,
        start: f64,
        theta: Vec<f64>,
        smoothed: Option<Smoothed>,
    ) -> Self {
        let (n, dim, orders) = (samples.times.len(), samples.dim, samples.orders());
        let x = space.differences(samples, &theta);
        let (mut residual_max, mut residual_rms) = (vec![0.0f64; dim], vec![0.0; dim]);
        for s in 0..n {
            for i in 0..dim {
                let d = x[s * orders * dim + i];
                residual_max[i] = residual_max[i].max(d.abs());
                residual_rms[i] += d * d / n as f64;
            }
        }
        residual_rms.iter_mut().for_each(|x| *x = x.sqrt());
        Self { spline: space.spline, start, dim, theta, residual_max, residual_rms, smoothed }
    }

    /// Noise of one number of the samples, estimated; zero for plain least squares.
    #[must_use]
    pub fn noise(&self) -> f64 {
        self.smoothed.as_ref().map_or(0.0, |s| s.noise)
    }

    /// Correlation of that noise from sample to sample; zero if it looks white.
    #[must_use]
    pub fn memory(&self) -> f64 {
        self.smoothed.as_ref().map_or(0.0, |s| s.memory)
    }

    /// Control points that the motion makes use of.
    #[must_use]
    pub fn freedom(&self) -> f64 {
        self.smoothed.as_ref().map_or(self.spline.n_control() as f64, |s| s.freedom)
    }

    /// Time on the spline of a recorded time: the last one can differ from `start + T` by a rounding.
    fn local(&self, t: f64) -> f64 {
        let duration = self.spline.duration();
        let slack = 4.0 * f64::EPSILON * (self.start.abs() + duration);
        let x = t - self.start;
        if x < 0.0 && x > -slack {
            0.0
        } else if x > duration && x < duration + slack {
            duration
        } else {
            x
        }
    }

    /// Error of the derivatives `0..=max_order` of one coordinate at a time: covariance from the noise, row by row, and the
    /// estimated bias of the smoothing. Zeros for plain least squares.
    #[must_use]
    pub fn errors(&self, coordinate: usize, t: f64, max_order: usize) -> (Vec<f64>, Vec<f64>) {
        let count = max_order + 1;
        match &self.smoothed {
            Some(s) => s.errors(&self.spline, self.dim, coordinate, self.local(t), count),
            None => (vec![0.0; count * count], vec![0.0; count]),
        }
    }

    /// Derivatives `0..=max_order` at `times`: `out[(s * (max_order + 1) + d) * dim + i]`.
    ///
    /// # Errors
    /// If `max_order` is not below the degree or a time is outside the fit.
    pub fn evaluate(&self, times: &[f64], max_order: usize) -> Result<Vec<f64>, SplineError> {
        let duration = self.spline.duration();
        let local: Vec<f64> = times.iter().map(|t| self.local(*t)).collect();
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
            let options = FitOptions { n_control: Some(250), smooth: false, ..FitOptions::default() };
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

    /// A sine with noise: the acceleration is near the truth, its standard errors tell how near, and the noise is found.
    #[test]
    fn noise_is_smoothed_and_its_errors_are_told() {
        let times: Vec<f64> = (0..=300).map(|i| 0.01 * f64::from(i)).collect();
        let mut random = crate::mechanism::samples::Random::new(3);
        let (mut covered, mut all) = (0.0, 0.0);
        for (sigma, bound) in [(1e-3, 0.4), (1e-4, 0.1)] {
            for _ in 0..10 {
                let (w, phase) = (random.range(2.0, 7.0), random.range(0.0, 6.0));
                let q: Vec<f64> =
                    times.iter().map(|t| 0.5 * (w * t + phase).sin() + sigma * random.normal()).collect();
                let fit = SplineFit::new(&times, &q, None, 1, &FitOptions::default()).expect("fit");
                assert!((0.8..1.2).contains(&(fit.noise() / sigma)), "{} {sigma}", fit.noise());
                let x = fit.evaluate(&times, 2).expect("inside");
                let mut sum = 0.0;
                for (s, t) in times.iter().enumerate() {
                    let error = x[3 * s + 2] + 0.5 * w * w * (w * t + phase).sin();
                    let (covariance, bias) = fit.errors(0, *t, 2);
                    let deviation = (covariance[8] + bias[2] * bias[2]).sqrt();
                    covered += f64::from(u8::from(error.abs() <= deviation));
                    all += 1.0;
                    sum += error * error / times.len() as f64;
                }
                assert!(sum.sqrt() < bound, "{sigma}: {}", sum.sqrt());
            }
        }
        assert!((0.6..=0.76).contains(&(covered / all)), "{}", covered / all);
    }

    #[test]
    fn without_noise_nothing_is_smoothed_away() {
        let times: Vec<f64> = (0..=300).map(|i| 0.01 * f64::from(i)).collect();
        let q: Vec<f64> = times.iter().map(|t| 0.5 * (7.0 * t).sin()).collect();
        let fit = SplineFit::new(&times, &q, None, 1, &FitOptions::default()).expect("fit");
        let x = fit.evaluate(&times, 2).expect("inside");
        for (s, t) in times.iter().enumerate() {
            let error = x[3 * s + 2] + 24.5 * (7.0 * t).sin();
            assert!(error.abs() < 1e-7, "{t}: {error:e}");
        }
        // A joint at rest stays at rest.
        let fit = SplineFit::new(&times, &vec![0.3; 301], None, 1, &FitOptions::default()).expect("fit");
        assert!(fit.evaluate(&times, 2).expect("inside").chunks(3).all(|x| x[2].abs() < 1e-9));
        let fit = SplineFit::new(&times, &vec![0.0; 301], None, 1, &FitOptions::default()).expect("fit");
        assert!(fit.evaluate(&times, 2).expect("inside").iter().all(|x| *x == 0.0));
    }

    #[test]
    fn noise_with_a_memory_is_noticed_and_widens_the_errors() {
        let times: Vec<f64> = (0..=300).map(|i| 0.01 * f64::from(i)).collect();
        let mut random = crate::mechanism::samples::Random::new(11);
        let mut share = [0.0; 2];
        for (kind, keep) in [(0, 0.0f64), (1, (-1.0f64).exp())] {
            let (mut held, mut memory) = (0.0, 0.0);
            for _ in 0..20 {
                let mut e = 0.0;
                let q: Vec<f64> = times
                    .iter()
                    .map(|t| {
                        e = keep * e + (1.0 - keep * keep).sqrt() * random.normal();
                        0.4 * (5.0 * t).sin() + 1e-3 * e
                    })
                    .collect();
                let fit = SplineFit::new(&times, &q, None, 1, &FitOptions::default()).expect("fit");
                memory += fit.memory() / 20.0;
                let x = fit.evaluate(&times, 2).expect("inside");
                for (s, t) in times.iter().enumerate() {
                    let (covariance, bias) = fit.errors(0, *t, 2);
                    let deviation = (covariance[8] + bias[2] * bias[2]).sqrt();
                    let error = x[3 * s + 2] + 10.0 * (5.0 * t).sin();
                    held += f64::from(u8::from(error.abs() <= deviation)) / (20.0 * 301.0);
                }
            }
            share[kind] = held;
            assert!(if kind == 0 { memory < 0.05 } else { memory > 0.15 }, "{kind}: {memory}");
        }
        assert!(share.iter().all(|s| (0.55..0.8).contains(s)), "{share:?}");
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
