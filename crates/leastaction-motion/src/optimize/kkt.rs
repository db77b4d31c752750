//! Newton systems: a positive definite band bordered by few equality rows.
//!
//! `[H Gᵀ; G 0] [d; ν] = [r; b]` by the Schur complement `G H⁻¹ Gᵀ`; without equalities it is a plain band solve. A free duration
//! adds one row and column, which no equality sees.

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
    border: Option<Border>,
}

/// The row and column of the duration.
#[derive(Clone, Debug)]
struct Border {
    column: Vec<f64>,
    /// Solution of the system without the border for the column, and its multipliers.
    spread: Vec<f64>,
    nu: Vec<f64>,
    /// What is left of the corner: its curvature with the control points following.
    pivot: f64,
}

/// Redundant equalities are told apart by this part of their size.
const REDUNDANT: f64 = 1e-10;

impl Kkt {
    pub(super) fn new(size: usize, width: usize) -> Self {
        Self { factor: Banded::new(size, width), spread: Vec::new(), schur: Vec::new(), border: None }
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
        self.stiffen(h, equalities);
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
        self.border = None;
        let schur = self.schur.clone();
        let whole = cholesky(&mut self.schur, m);
        // A pivot that is left by rounding alone would carry anything.
        let weak = |i: usize| self.schur[i * m + i].powi(2) <= REDUNDANT * schur[i * m + i];
        if whole.is_ok() && !(0..m).any(weak) {
            return Ok(());
        }
        // Goals that repeat each other: a hair of softness tells who carries what.
        self.schur = schur;
        (0..m).for_each(|i| self.schur[i * m + i] *= 1.0 + REDUNDANT);
        cholesky(&mut self.schur, m)
    }

    /// As [`factor`](Self::factor), with one more unknown beside the band; an error also if the whole is not positive
    /// definite where the equalities leave it free.
    pub(super) fn factor_bordered(
        &mut self,
        h: &Banded,
        shift: impl Fn(usize) -> f64,
        equalities: &[Equality],
        column: &[f64],
        corner: f64,
    ) -> Result<(), BadPivot> {
        self.factor(h, shift, equalities)?;
        let mut spread = column.to_vec();
        let nu = self.solve(&mut spread, &vec![0.0; equalities.len()], equalities);
        let pivot = corner - dot(column, &spread);
        if pivot.is_nan() || pivot <= 1e-14 * corner.abs() {
            return Err(BadPivot { row: h.size() });
        }
        self.border = Some(Border { column: column.to_vec(), spread, nu, pivot });
        Ok(())
    }

    /// Solves with the border: the last entry of `r` is the duration's.
    pub(super) fn solve_bordered(&self, r: &mut [f64], b: &[f64], equalities: &[Equality]) -> Vec<f64> {
        let Some(border) = &self.border else { return self.solve(r, b, equalities) };
        let (plain, last) = r.split_at_mut(border.column.len());
        let mut nu = self.solve(plain, b, equalities);
        let tau = (last[0] - dot(&border.column, plain)) / border.pivot;
        plain.iter_mut().zip(&border.spread).for_each(|(d, s)| *d -= tau * s);
        nu.iter_mut().zip(&border.nu).for_each(|(n, s)| *n -= tau * s);
        last[0] = tau;
        nu
    }

    /// Adds `γ gᵀ g` of the equalities: no step along them sees it, and what only they hold becomes positive. A row stands on
    /// neighbouring control points, so that the band stays.
    fn stiffen(&mut self, h: &Banded, equalities: &[Equality]) {
        let size = h.size();
        let mean = (0..size).map(|i| h.diagonal(i).abs()).sum::<f64>() / size.max(1) as f64;
        for e in equalities {
            let acting: Vec<usize> = (0..size).filter(|i| e.row[*i] != 0.0).collect();
            let largest = acting.iter().fold(f64::MIN_POSITIVE, |m, i| m.max(e.row[*i].abs()));
            let gamma = mean / (largest * largest);
            for (k, i) in acting.iter().enumerate() {
                for j in &acting[..=k] {
                    if i - j <= h.width() {
                        *self.factor.at_mut(*i, *j) += gamma * e.row[*i] * e.row[*j];
                    }
                }
            }
        }
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
