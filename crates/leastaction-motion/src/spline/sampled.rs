//! [`SampledSpline`]: a spline at fixed times, evaluated and pulled back.
//!
//! With `Δ_d` the d-th difference operator and `B_d` the positive basis of degree p − d:
//!
//! ```text
//! q^(d) = B_d Δ_d … Δ_1 θ                        evaluation
//! θ̄ = B_0ᵀ g_0 + Δ_1ᵀ (B_1ᵀ g_1 + Δ_2ᵀ ( … ))    pull-back of gradients, Horner form
//! ```

use super::{BSpline, Banded, SplineError};

/// Basis tables of a spline at fixed sample times, for derivatives `0..=max_order`.
///
/// Control points are `theta[c * dim + joint]`, samples of derivatives `x[(sample * (max_order + 1) + d) * dim + joint]`.
#[derive(Clone, Debug)]
pub struct SampledSpline {
    spline: BSpline,
    max_order: usize,
    times: Vec<f64>,
    /// First control point of each sample.
    first: Vec<usize>,
    /// `[sample][d][p + 1]`: weights of order-d differences (the last d are zero).
    basis: Vec<f64>,
    /// `[sample][d][p + 1]`: weights of control points, for Hessians.
    direct: Vec<f64>,
}

impl SampledSpline {
    /// Tables at `times`.
    ///
    /// # Errors
    /// If `max_order` is not below the degree, or a time is outside `[0, T]`.
    pub fn new(spline: BSpline, times: Vec<f64>, max_order: usize) -> Result<Self, SplineError> {
        let p = spline.degree();
        if max_order >= p {
            return Err(SplineError::Derivative { order: max_order, degree: p });
        }
        let width = (max_order + 1) * (p + 1);
        let mut basis = vec![0.0; times.len() * width];
        let mut direct = vec![0.0; times.len() * width];
        let mut first = Vec::with_capacity(times.len());
        for (s, t) in times.iter().enumerate() {
            if !(*t >= 0.0 && *t <= spline.duration()) {
                return Err(SplineError::BadSample { index: s, what: "its time is outside the spline" });
            }
            let j = spline.span(*t);
            first.push(j - p);
            let (_, table) = spline.basis_derivatives(*t, max_order);
            for d in 0..=max_order {
                let at = s * width + d * (p + 1);
                spline.lower_basis_into(j, *t, p - d, &mut basis[at..at + p + 1]);
                direct[at..at + p + 1].copy_from_slice(&table[d]);
            }
        }
        Ok(Self { spline, max_order, times, first, basis, direct })
    }

    /// Tables at `n` equidistant times, both ends included.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn uniform(spline: BSpline, n: usize, max_order: usize) -> Result<Self, SplineError> {
        let (last, duration) = (n.saturating_sub(1).max(1), spline.duration());
        let step = duration / last as f64;
        let times = (0..n).map(|i| if i == last { duration } else { i as f64 * step }).collect();
        Self::new(spline, times, max_order)
    }

    /// The spline space.
    #[must_use]
    pub fn spline(&self) -> &BSpline {
        &self.spline
    }
    /// Highest derivative.
    #[must_use]
    pub fn max_order(&self) -> usize {
        self.max_order
    }
    /// Sample times.
    #[must_use]
    pub fn times(&self) -> &[f64] {
        &self.times
    }
    /// First control point that sample `s` depends on; `degree + 1` of them follow.
    #[must_use]
    pub fn first(&self, s: usize) -> usize {
        self.first[s]
    }
    /// Weights of the control points `first(s)..` in derivative `d` at sample `s`.
    #[must_use]
    pub fn weights(&self, s: usize, d: usize) -> &[f64] {
        let w = self.spline.degree() + 1;
        let at = (s * (self.max_order + 1) + d) * w;
        &self.direct[at..at + w]
    }
    /// Scratch length of [`evaluate_into`](Self::evaluate_into) and [`pull_back_into`](Self::pull_back_into).
    #[must_use]
    pub fn scratch_len(&self, dim: usize) -> usize {
        self.spline.n_control() * dim
    }

    /// Derivatives `0..=max_order` at all samples. Does not allocate.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn evaluate_into(
        &self,
        theta: &[f64],
        dim: usize,
        scratch: &mut [f64],
        out: &mut [f64],
    ) -> Result<(), SplineError> {
        let (nc, p) = (self.spline.n_control(), self.spline.degree());
        let orders = self.max_order + 1;
        expect("theta", theta.len(), nc * dim)?;
        expect("scratch", scratch.len(), nc * dim)?;
        expect("out", out.len(), self.times.len() * orders * dim)?;
        scratch.copy_from_slice(theta);
        for d in 0..orders {
            if d > 0 {
                self.difference(d, dim, scratch);
            }
            for s in 0..self.times.len() {
                let at = (s * orders + d) * (p + 1);
                let weights = &self.basis[at..at + p + 1 - d];
                let row = &mut out[(s * orders + d) * dim..(s * orders + d + 1) * dim];
                row.fill(0.0);
                for (a, w) in weights.iter().enumerate() {
                    let c = (self.first[s] + a) * dim;
                    for (x, theta) in row.iter_mut().zip(&scratch[c..c + dim]) {
                        *x += w * theta;
                    }
                }
            }
        }
        Ok(())
    }

    /// `Δ_d` in place.
    fn difference(&self, d: usize, dim: usize, theta: &mut [f64]) {
        for c in 0..self.spline.n_control() - d {
            let f = self.spline.difference_factor(d, c);
            for i in c * dim..(c + 1) * dim {
                theta[i] = f * (theta[i + dim] - theta[i]);
            }
        }
    }

    /// Gradient with respect to control points from gradients `g` with respect to the samples' derivatives, in the
    /// layout of [`evaluate_into`](Self::evaluate_into). Overwrites `out`; does not allocate.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn pull_back_into(&self, g: &[f64], dim: usize, out: &mut [f64]) -> Result<(), SplineError> {
        let (nc, p) = (self.spline.n_control(), self.spline.degree());
        let orders = self.max_order + 1;
        expect("out", out.len(), nc * dim)?;
        expect("g", g.len(), self.times.len() * orders * dim)?;
        out.fill(0.0);
        for d in (0..orders).rev() {
            for s in 0..self.times.len() {
                let at = (s * orders + d) * (p + 1);
                let weights = &self.basis[at..at + p + 1 - d];
                let row = &g[(s * orders + d) * dim..(s * orders + d + 1) * dim];
                for (a, w) in weights.iter().enumerate() {
                    let c = (self.first[s] + a) * dim;
                    for (x, g) in out[c..c + dim].iter_mut().zip(row) {
                        *x += w * g;
                    }
                }
            }
            if d > 0 {
                // Δ_dᵀ in place, last difference first.
                for c in (0..nc - d).rev() {
                    let f = self.spline.difference_factor(d, c);
                    for i in c * dim..(c + 1) * dim {
                        let x = f * out[i];
                        out[i + dim] += x;
                        out[i] = -x;
                    }
                }
            }
        }
        Ok(())
    }

    /// A zero matrix with the band of pulled-back Hessians: control-point-major unknowns, half bandwidth
    /// `(p + 1) dim − 1`.
    #[must_use]
    pub fn band(&self, dim: usize) -> Banded {
        let p = self.spline.degree();
        Banded::new(self.spline.n_control() * dim, (p + 1) * dim - 1)
    }

    /// Adds `B_sᵀ H B_s` of sample `s`: `hessian` is the row-major symmetric matrix over `(d, joint)` of that sample,
    /// `((max_order + 1) dim)²`. `scratch` has `(max_order + 1) dim · dim` entries. Does not allocate.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn add_hessian(
        &self,
        s: usize,
        hessian: &[f64],
        dim: usize,
        scratch: &mut [f64],
        band: &mut Banded,
    ) -> Result<(), SplineError> {
        let (p, orders) = (self.spline.degree(), self.max_order + 1);
        let m = orders * dim;
        expect("hessian", hessian.len(), m * m)?;
        expect("scratch", scratch.len(), m * dim)?;
        let first = self.first[s];
        for a in 0..=p {
            // scratch[(d', j')][j] = Σ_d w_d,a H[(d, j)][(d', j')]: rows of control point a.
            scratch.fill(0.0);
            for d in 0..orders {
                let w = self.weights(s, d)[a];
                if w == 0.0 {
                    continue;
                }
                for j in 0..dim {
                    let row = &hessian[(d * dim + j) * m..(d * dim + j + 1) * m];
                    for (x, h) in scratch[j * m..(j + 1) * m].iter_mut().zip(row) {
                        *x += w * h;
                    }
                }
            }
            for j in 0..dim {
                let i = (first + a) * dim + j;
                for b in 0..=a {
                    let from = (first + b) * dim;
                    let count = if a == b { j + 1 } else { dim };
                    for d in 0..orders {
                        let w = self.weights(s, d)[b];
                        let line = &scratch[j * m + d * dim..][..count];
                        for (k, h) in line.iter().enumerate() {
                            *band.at_mut(i, from + k) += w * h;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn expect(name: &'static str, found: usize, expected: usize) -> Result<(), SplineError> {
    if found == expected { Ok(()) } else { Err(SplineError::WrongLength { name, expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::samples::Random;

    fn random(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = Random::new(seed);
        (0..n).map(|_| rng.range(-1.0, 1.0)).collect()
    }

    #[test]
    fn evaluation_and_pull_back_are_transposes() {
        let dim = 3;
        let sampled = SampledSpline::uniform(BSpline::new(12, 5, 2.0).expect("valid"), 17, 3).expect("valid");
        let theta = random(12 * dim, 1);
        let g = random(17 * 4 * dim, 2);
        let (mut x, mut back) = (vec![0.0; g.len()], vec![0.0; theta.len()]);
        let mut scratch = vec![0.0; sampled.scratch_len(dim)];
        sampled.evaluate_into(&theta, dim, &mut scratch, &mut x).expect("lengths");
        sampled.pull_back_into(&g, dim, &mut back).expect("lengths");
        let left: f64 = x.iter().zip(&g).map(|(a, b)| a * b).sum();
        let right: f64 = theta.iter().zip(&back).map(|(a, b)| a * b).sum();
        assert!((left - right).abs() < 1e-12 * left.abs().max(1.0), "{left} {right}");
        // The tables agree with point evaluation.
        for (s, t) in sampled.times().iter().enumerate() {
            for d in 0..4 {
                let column: Vec<f64> = theta.iter().skip(1).step_by(dim).copied().collect();
                let direct = sampled.spline().evaluate(&column, *t, d);
                assert!((x[(s * 4 + d) * dim + 1] - direct).abs() <= 1e-12 * direct.abs().max(1.0));
            }
        }
    }

    #[test]
    fn pulled_back_hessian_is_the_dense_product() {
        let (dim, orders) = (2, 3);
        let sampled = SampledSpline::uniform(BSpline::new(9, 4, 1.0).expect("valid"), 5, 2).expect("valid");
        let m = orders * dim;
        let mut band = sampled.band(dim);
        let mut dense = vec![0.0; 18 * 18];
        let mut scratch = vec![0.0; m * dim];
        for s in 0..5 {
            let raw = random(m * m, 10 + s as u64);
            let h: Vec<f64> = (0..m * m).map(|i| raw[i] + raw[(i % m) * m + i / m]).collect();
            sampled.add_hessian(s, &h, dim, &mut scratch, &mut band).expect("lengths");
            let weight = |d: usize, c: usize| {
                c.checked_sub(sampled.first(s))
                    .and_then(|a| sampled.weights(s, d).get(a))
                    .copied()
                    .unwrap_or(0.0)
            };
            for i in 0..18 {
                for j in 0..18 {
                    for d in 0..orders {
                        for e in 0..orders {
                            dense[i * 18 + j] += weight(d, i / dim)
                                * weight(e, j / dim)
                                * h[(d * dim + i % dim) * m + e * dim + j % dim];
                        }
                    }
                }
            }
        }
        let scale = dense.iter().fold(0.0f64, |a, x| a.max(x.abs()));
        for i in 0..18 {
            for j in 0..18 {
                assert!((band.get(i, j) - dense[i * 18 + j]).abs() < 1e-13 * scale, "{i} {j}");
            }
        }
    }
}
