//! Newton systems: a positive definite band bordered by few equality rows.
//!
//! `[H Gᵀ; G 0] [d; ν] = [r; b]` by the Schur complement `G H⁻¹ Gᵀ`; without equalities it is a plain band solve.

use super::Banded;
use super::rows::Equality;

/// A factored Newton system.
#[derive(Clone, Debug)]
pub(super) struct Kkt {
    factor: Banded,
    /// `H⁻¹ gᵀ` per equality row.
    spread: Vec<Vec<f64>>,
    /// Cholesky factor of the Schur complement, dense and row-major.
    schur: Vec<f64>,
}

impl Kkt {
    pub(super) fn new(size: usize, width: usize) -> Self {
        Self { factor: Banded::new(size, width), spread: Vec::new(), schur: Vec::new() }
    }

    /// Factors `h + diag(shift)`; `false` if it is not positive definite.
    pub(super) fn factor(
        &mut self,
        h: &Banded,
        shift: impl Fn(usize) -> f64,
        equalities: &[Equality],
    ) -> bool {
        self.factor.copy_from(h);
        for i in 0..h.size() {
            self.factor.add_diagonal(i, shift(i));
        }
        if !self.factor.factor() {
            return false;
        }
        let m = equalities.len();
        self.spread.clear();
        for e in equalities {
            let mut column = e.row.clone();
            self.factor.solve(&mut column);
            self.spread.push(column);
        }
        self.schur = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                self.schur[i * m + j] = dot(&equalities[i].row, &self.spread[j]);
            }
        }
        cholesky(&mut self.schur, m)
    }

    /// Solves for the right-hand side `r` in place, with `G d = b`; returns the multipliers ν.
    pub(super) fn solve(&self, r: &mut [f64], b: &[f64], equalities: &[Equality]) -> Vec<f64> {
        self.factor.solve(r);
        let m = equalities.len();
        let mut nu: Vec<f64> = (0..m).map(|i| dot(&equalities[i].row, r) - b[i]).collect();
        cholesky_solve(&self.schur, &mut nu);
        for (column, f) in self.spread.iter().zip(&nu) {
            for (r, c) in r.iter_mut().zip(column) {
                *r -= f * c;
            }
        }
        nu
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

/// In-place dense Cholesky of the lower triangle, row-major; `false` if not positive definite.
pub(super) fn cholesky(a: &mut [f64], m: usize) -> bool {
    for i in 0..m {
        for j in 0..=i {
            let mut sum = a[i * m + j];
            for k in 0..j {
                sum -= a[i * m + k] * a[j * m + k];
            }
            if i == j {
                if !(sum > 0.0 && sum.is_finite()) {
                    return false;
                }
                a[i * m + i] = sum.sqrt();
            } else {
                a[i * m + j] = sum / a[j * m + j];
            }
        }
    }
    true
}

/// Solves with a factor of [`cholesky`] in place.
pub(super) fn cholesky_solve(l: &[f64], b: &mut [f64]) {
    let m = b.len();
    for i in 0..m {
        let mut sum = b[i];
        for k in 0..i {
            sum -= l[i * m + k] * b[k];
        }
        b[i] = sum / l[i * m + i];
    }
    for i in (0..m).rev() {
        let mut sum = b[i];
        for k in i + 1..m {
            sum -= l[k * m + i] * b[k];
        }
        b[i] = sum / l[i * m + i];
    }
}
