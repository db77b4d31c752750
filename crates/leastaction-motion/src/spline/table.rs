//! Spline tables: what a clamped uniform B-spline needs at fixed sample times, in difference form.
//!
//! ```text
//! θ⁽⁰⁾ = θ,   θ⁽ᵈ⁾_c = (p−d+1)/(u_{c+p+1} − u_{c+d}) (θ⁽ᵈ⁻¹⁾_{c+1} − θ⁽ᵈ⁻¹⁾_c)        (5.1)
//! q⁽ᵈ⁾(t) = Σ_a N^{p−d}_a(t) θ⁽ᵈ⁾_{c₀+a}                                              (5.2)
//! ```
//!
//! The bases `N` are positive and sum to one, so nothing cancels in (5.2); the derivative basis, whose entries grow
//! like `60/h³` for the jerk, is used only where a relative error of 1e-10 is harmless: in Hessians.

use super::{BSpline, SplineError};
use crate::scalar::elementary;

/// Where a problem is sampled, with the weights of the mean `1/T ∫ dt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// `count` equidistant samples, both ends included, equal weights.
    Uniform {
        /// Number of samples.
        count: usize,
    },
    /// Gauss–Legendre points in every knot span: exact integrals of joint-space terms.
    Gauss {
        /// Points per span, 1 to 13.
        points: usize,
    },
}

impl Sampling {
    /// As many Gauss points as integrate squares of a spline of this degree exactly.
    #[must_use]
    pub fn exact(degree: usize) -> Self {
        Self::Gauss { points: (degree + 1).clamp(1, MOST_POINTS) }
    }
}

/// Gauss points per span: enough for the highest degree.
const MOST_POINTS: usize = 13;

/// Values of all basis functions at all samples, and the differences that turn control points into derivatives.
#[derive(Clone, Debug)]
pub struct SplineTable {
    /// Number of control points.
    pub n_control: usize,
    /// Degree.
    pub degree: usize,
    /// Number of derivatives kept, the position included.
    pub orders: usize,
    /// Sample times.
    pub times: Vec<f64>,
    /// Weight of each sample; they sum to one.
    pub weights: Vec<f64>,
    /// First control point that acts on each sample.
    pub first: Vec<usize>,
    /// Knots.
    pub knots: Vec<f64>,
    /// Positive bases of (5.2): `[sample][order][degree + 1]`, padded with zeros.
    basis: Vec<f64>,
    /// Derivative bases: `[sample][order][degree + 1]`.
    derivative: Vec<f64>,
    /// Factors of (5.1): `[order][control point]`.
    factors: Vec<Vec<f64>>,
}

/// Points and weights of Gauss–Legendre quadrature on `[0, 1]`, by Newton on the Legendre polynomial.
fn gauss(points: usize) -> Vec<(f64, f64)> {
    let n = points as f64;
    (0..points)
        .map(|i| {
            let mut x = -elementary::cos(std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5));
            let mut slope = 1.0;
            for _ in 0..20 {
                let (mut p0, mut p1) = (1.0, x);
                for k in 2..=points {
                    let k = k as f64;
                    (p0, p1) = (p1, ((2.0 * k - 1.0) * x * p1 - (k - 1.0) * p0) / k);
                }
                if points == 1 {
                    p0 = 1.0;
                }
                slope = n * (p0 - x * p1) / (1.0 - x * x);
                x -= p1 / slope;
            }
            (0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

/// Sample times and weights of a rule.
fn samples(sampling: Sampling, knots: &[f64], degree: usize, n_control: usize) -> (Vec<f64>, Vec<f64>) {
    let duration = knots[n_control];
    match sampling {
        Sampling::Uniform { count } => {
            let step = duration / (count - 1) as f64;
            let times = (0..count).map(|i| if i + 1 == count { duration } else { i as f64 * step });
            (times.collect(), vec![1.0 / count as f64; count])
        }
        Sampling::Gauss { points } => {
            let (times, mut weights) = gauss_points(knots, degree, n_control, points);
            weights.iter_mut().for_each(|w| *w /= duration);
            (times, weights)
        }
    }
}

/// Gauss points in every knot span, with the weights of an integral over time.
pub(super) fn gauss_points(
    knots: &[f64],
    degree: usize,
    n_control: usize,
    points: usize,
) -> (Vec<f64>, Vec<f64>) {
    gauss_between(&knots[degree..=n_control], points)
}

/// Gauss points between neighbouring edges, with the weights of an integral over time.
pub(crate) fn gauss_between(edges: &[f64], points: usize) -> (Vec<f64>, Vec<f64>) {
    let rule = gauss(points);
    let spans = edges.windows(2).map(|pair| (pair[0], pair[1] - pair[0]));
    spans.flat_map(|(a, h)| rule.iter().map(move |(x, w)| (a + h * x, w * h))).unzip()
}

impl SplineTable {
    /// Tables for `orders` derivatives (the position included) at the samples of a rule.
    ///
    /// # Errors
    /// If there are too few control points, the degree is too low for the orders, or the duration is not positive.
    pub fn new(
        n_control: usize,
        degree: usize,
        duration: f64,
        orders: usize,
        sampling: Sampling,
    ) -> Result<Self, SplineError> {
        // Degrees beyond 12 leave no digits in derivatives.
        if degree == 0 || degree > 12 || degree < orders {
            return Err(SplineError::DegreeTooLow { degree, needed: orders.max(1), order: orders - 1 });
        }
        let spline = BSpline::new(n_control, degree, duration)?;
        let (found, fine) = match sampling {
            Sampling::Uniform { count } => (count, count >= 2),
            Sampling::Gauss { points } => (points, (1..=MOST_POINTS).contains(&points)),
        };
        if !fine {
            return Err(SplineError::BadSampling { found });
        }
        let (times, weights) = samples(sampling, spline.knots(), degree, n_control);
        Self::on(&spline, orders, times, weights)
    }

    /// Tables of a spline space at given times, with given weights.
    ///
    /// # Errors
    /// If the degree is too low for the orders.
    pub fn on(
        spline: &BSpline,
        orders: usize,
        times: Vec<f64>,
        weights: Vec<f64>,
    ) -> Result<Self, SplineError> {
        let (n_control, degree, width) = (spline.n_control(), spline.degree(), spline.degree() + 1);
        if degree < orders {
            return Err(SplineError::DegreeTooLow { degree, needed: orders, order: orders - 1 });
        }
        let mut factors = vec![Vec::new()];
        for d in 1..orders {
            factors.push((0..n_control - d).map(|c| spline.difference_factor(d, c)).collect());
        }
        let mut table = Self {
            n_control,
            degree,
            orders,
            weights,
            first: Vec::with_capacity(times.len()),
            basis: vec![0.0; times.len() * orders * width],
            derivative: vec![0.0; times.len() * orders * width],
            knots: spline.knots().to_vec(),
            times,
            factors,
        };
        for s in 0..table.times.len() {
            table.fill(spline, s);
        }
        Ok(table)
    }

    fn fill(&mut self, spline: &BSpline, s: usize) {
        let (p, width) = (self.degree, self.degree + 1);
        let t = self.times[s];
        let (first, derivatives) = spline.basis_derivatives(t, self.orders - 1);
        self.first.push(first);
        for (d, row) in derivatives.iter().enumerate() {
            let at = (s * self.orders + d) * width;
            spline.lower_basis_into(first + p, t, p - d, &mut self.basis[at..at + width]);
            self.derivative[at..at + width].copy_from_slice(row);
        }
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }
    /// True without samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Derivative basis of order `d` at sample `s`: `degree + 1` numbers from control point `first[s]` on.
    #[inline(always)]
    #[must_use]
    pub fn derivative_basis(&self, s: usize, d: usize) -> &[f64] {
        let width = self.degree + 1;
        let at = (s * self.orders + d) * width;
        &self.derivative[at..at + width]
    }

    #[inline(always)]
    fn basis_row(&self, s: usize, d: usize) -> &[f64] {
        let at = (s * self.orders + d) * (self.degree + 1);
        &self.basis[at..at + self.degree + 1 - d]
    }

    /// Adds the derivatives of all orders of `theta` (`n` columns) to `x[sample][order][joint]`.
    ///
    /// Call it for the high and the low part of control points kept in two parts.
    pub fn add_states(&self, theta: &[f64], n: usize, x: &mut [f64]) {
        let mut level = theta.to_vec();
        for d in 0..self.orders {
            if d > 0 {
                self.difference(&mut level, n, d);
            }
            for s in 0..self.len() {
                let out = &mut x[(s * self.orders + d) * n..][..n];
                for (a, b) in self.basis_row(s, d).iter().enumerate() {
                    let row = &level[(self.first[s] + a) * n..][..n];
                    for j in 0..n {
                        out[j] += b * row[j];
                    }
                }
            }
        }
    }

    /// One level of (5.1), in place: the first `n_control − d` rows are the result.
    fn difference(&self, level: &mut [f64], n: usize, d: usize) {
        for c in 0..self.n_control - d {
            let f = self.factors[d][c];
            for j in 0..n {
                level[c * n + j] = f * (level[(c + 1) * n + j] - level[c * n + j]);
            }
        }
    }

    /// Pulls gradients with respect to `x[sample][order][joint]` back to the control points, added to `out`.
    ///
    /// Horner form of the transpose: `acc = B_dᵀ g_d + Δ_dᵀ acc` from the highest order down.
    pub fn pull_back(&self, g: &[f64], n: usize, out: &mut [f64]) {
        let mut acc = vec![0.0; self.n_control * n];
        for d in (0..self.orders).rev() {
            for s in 0..self.len() {
                let from = &g[(s * self.orders + d) * n..][..n];
                for (a, b) in self.basis_row(s, d).iter().enumerate() {
                    let row = &mut acc[(self.first[s] + a) * n..][..n];
                    for j in 0..n {
                        row[j] += b * from[j];
                    }
                }
            }
            if d > 0 {
                // Rows 0..n_control−d hold the gradient of θ⁽ᵈ⁾; transpose of `difference`, from the end backwards.
                let rows = self.n_control - d;
                for c in (0..rows).rev() {
                    let f = self.factors[d][c];
                    for j in 0..n {
                        let share = f * acc[c * n + j];
                        acc[(c + 1) * n + j] += share;
                        acc[c * n + j] = -share;
                    }
                }
            }
        }
        for (o, a) in out.iter_mut().zip(&acc) {
            *o += a;
        }
    }

    /// As [`pull_back`](Self::pull_back) with all contributions of samples taken positive: what cancels in it.
    #[must_use]
    pub fn pull_back_sizes(&self, g: &[f64], n: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.n_control * n];
        for s in 0..self.len() {
            for d in 0..self.orders {
                let from = &g[(s * self.orders + d) * n..][..n];
                for (a, b) in self.derivative_basis(s, d).iter().enumerate() {
                    let row = &mut out[(self.first[s] + a) * n..][..n];
                    row.iter_mut().zip(from).for_each(|(o, g)| *o += (b * g).abs());
                }
            }
        }
        out
    }

    /// Makes this table that of `base` stretched over another duration: nothing is evaluated anew.
    pub(crate) fn stretch(&mut self, base: &Self, duration: f64) {
        let factor = duration / base.knots[base.n_control];
        let scaled = |to: &mut [f64], from: &[f64], factor: f64| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = factor * from);
        };
        scaled(&mut self.times, &base.times, factor);
        scaled(&mut self.knots, &base.knots, factor);
        for (to, from) in self.factors.iter_mut().zip(&base.factors) {
            scaled(to, from, 1.0 / factor);
        }
        let width = self.degree + 1;
        let rows = self.derivative.chunks_exact_mut(width).zip(base.derivative.chunks_exact(width));
        for (i, (to, from)) in rows.enumerate() {
            scaled(to, from, factor.powi(-((i % self.orders) as i32)));
        }
    }

    /// The same spline tabulated at other times.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn resampled(&self, times: Vec<f64>) -> Result<Self, SplineError> {
        let weights = vec![1.0 / times.len().max(1) as f64; times.len()];
        let spline = BSpline::new(self.n_control, self.degree, self.knots[self.n_control])?;
        Self::on(&spline, self.orders, times, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_rules_integrate_polynomials_exactly() {
        for points in 1..=MOST_POINTS {
            for power in 0..2 * points {
                let sum: f64 = gauss(points).iter().map(|(x, w)| w * x.powi(power as i32)).sum();
                assert!((sum - 1.0 / (power as f64 + 1.0)).abs() < 1e-14, "{points} {power} {sum}");
            }
        }
    }

    #[test]
    fn difference_form_and_derivative_basis_agree_and_pull_back_is_the_transpose() {
        let table = SplineTable::new(9, 5, 1.5, 5, Sampling::Uniform { count: 13 }).unwrap();
        let n = 2;
        let theta: Vec<f64> = (0..18).map(|i| (1.3 * i as f64).sin()).collect();
        let mut x = vec![0.0; 13 * 5 * n];
        table.add_states(&theta, n, &mut x);
        for s in 0..13 {
            for d in 0..5 {
                for j in 0..n {
                    let direct: f64 = (0..6)
                        .map(|a| table.derivative_basis(s, d)[a] * theta[(table.first[s] + a) * n + j])
                        .sum();
                    let scale = 1e4f64.max(direct.abs());
                    assert!((direct - x[(s * 5 + d) * n + j]).abs() < 1e-13 * scale);
                }
            }
        }
        // The table agrees with evaluation at one time.
        let spline = BSpline::new(9, 5, 1.5).unwrap();
        let column: Vec<f64> = theta.iter().skip(1).step_by(n).copied().collect();
        for (s, t) in table.times.iter().enumerate() {
            for d in 0..5 {
                let direct = spline.evaluate(&column, *t, d);
                assert!((x[(s * 5 + d) * n + 1] - direct).abs() <= 1e-12 * direct.abs().max(1.0));
            }
        }
        let g: Vec<f64> = (0..x.len()).map(|i| (0.7 * i as f64).cos()).collect();
        let mut back = vec![0.0; 18];
        table.pull_back(&g, n, &mut back);
        let left: f64 = g.iter().zip(&x).map(|(a, b)| a * b).sum();
        let right: f64 = back.iter().zip(&theta).map(|(a, b)| a * b).sum();
        assert!((left - right).abs() < 1e-12 * left.abs().max(1e3), "{left} {right}");
    }

    #[test]
    fn a_polynomial_of_the_degree_is_reproduced_with_its_derivatives() {
        // Marsden: the control points of t are the Greville abscissae.
        let table = SplineTable::new(12, 4, 2.0, 3, Sampling::Gauss { points: 3 }).unwrap();
        let theta: Vec<f64> = BSpline::new(12, 4, 2.0).unwrap().greville().collect();
        let mut x = vec![0.0; table.len() * 3];
        table.add_states(&theta, 1, &mut x);
        for s in 0..table.len() {
            assert!((x[3 * s] - table.times[s]).abs() < 1e-15 * 4.0);
            assert!((x[3 * s + 1] - 1.0).abs() < 1e-14 && x[3 * s + 2].abs() < 1e-12);
        }
    }
}
