//! Sparse maps of six-vectors, made of small dense blocks, with their transposes.

use super::varied::D;
use crate::ldu::{Block, Six};

/// A linear map from six-vectors to six-vectors. Filled anew for every step in the same order, so that its memory is
/// allocated once.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockMap {
    entries: Vec<(usize, usize, Block)>,
}

impl BlockMap {
    /// All blocks by row and column.
    pub(crate) fn entries(&self) -> &[(usize, usize, Block)] {
        &self.entries
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Adds a block at `(row, column)`.
    pub(crate) fn push(&mut self, row: usize, column: usize, block: Block) {
        self.entries.push((row, column, block));
    }

    /// Adds the derivatives of `values` by the six lanes from `lane`.
    pub(crate) fn push_lanes(&mut self, row: usize, column: usize, values: &[D; 6], lane: usize) {
        self.push(row, column, std::array::from_fn(|r| std::array::from_fn(|k| values[r].eps[lane + k])));
    }

    /// `y += M x`.
    pub(crate) fn apply(&self, x: &[Six], y: &mut [Six]) {
        for (row, column, block) in &self.entries {
            let (x, y) = (&x[*column], &mut y[*row]);
            for r in 0..6 {
                y[r] += crate::ldu::dot(&block[r], x);
            }
        }
    }

    /// `x += Mᵀ y`.
    pub(crate) fn apply_transposed(&self, y: &[Six], x: &mut [Six]) {
        for (row, column, block) in &self.entries {
            let (x, y) = (&mut x[*column], &y[*row]);
            for r in 0..6 {
                for k in 0..6 {
                    x[k] += block[r][k] * y[r];
                }
            }
        }
    }
}

/// A linear map from inputs to six-vectors: `(row, input, column)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputMap {
    pub(crate) entries: Vec<(usize, usize, Six)>,
}

impl InputMap {
    pub(crate) fn apply(&self, u: &[f64], y: &mut [Six]) {
        for (row, input, column) in &self.entries {
            for k in 0..6 {
                y[*row][k] += column[k] * u[*input];
            }
        }
    }

    pub(crate) fn apply_transposed(&self, y: &[Six], u: &mut [f64]) {
        for (row, input, column) in &self.entries {
            u[*input] += crate::ldu::dot(column, &y[*row]);
        }
    }
}
