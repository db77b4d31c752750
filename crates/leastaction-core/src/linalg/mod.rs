//! Linear algebra of plain numbers: dense and banded factors, QR, least squares with signs, rank.
//!
//! Matrices are slices by rows; sizes are a few tens, or a few tens wide along a band. What has no factor is an error
//! that names the pivot.

mod banded;
mod dense;
mod dropping;
mod nnls;
mod qr;

pub use banded::Banded;
pub use dense::{
    add_mul_vector, add_transposed_mul, add_transposed_mul_vector, axpy, cholesky, cholesky_solve, dot,
    largest, mul, rank, solve, symmetrize,
};
pub use dropping::Dropping;
pub use nnls::{nnls, simplex_least_squares};
pub use qr::{back_substitute, singular_values, triangular_factor};

/// A matrix that has no factor of the kind asked for: a pivot is zero, negative, or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pivot {row} of the matrix is not positive or too small to divide by")]
pub struct BadPivot {
    /// The row of the pivot.
    pub row: usize,
}
