//! Newton systems: a positive definite band bordered by few equality rows.
//!
//! `[H Gᵀ; G 0] [d; ν] = [r; b]` by the Schur complement `G H⁻¹ Gᵀ`; without equalities it is a plain band solve.

use super::rows::Equality;
use crate::linalg::{BadPivot, Banded, cholesky, cholesky_solve, dot};

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

    /// Factors `h + diag(shift)`; an error if it is not positive definite.
    pub(super) fn factor(
        &mut self,
        h: &Banded,
        shift: impl Fn(usize) -> f64,
        equalities: &[Equality],
    ) -> Result<(), BadPivot> {
        self.factor.copy_from(h);
        for i in 0..h.size() {
            self.factor.add_diagonal(i, shift(i));
        }
        self.factor.factor()?;
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
        cholesky_solve(&self.schur, m, &mut nu, 1);
        for (column, f) in self.spread.iter().zip(&nu) {
            for (r, c) in r.iter_mut().zip(column) {
                *r -= f * c;
            }
        }
        nu
    }
}
