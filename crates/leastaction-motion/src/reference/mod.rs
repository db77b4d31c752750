//! Slow twins of jets and of the optimizer's quantities: obviously right, compiled for tests only.

pub mod cmtm_dense;
mod complex;
mod quantities_by_duals;

pub use complex::Complex;
pub use quantities_by_duals::QuantitiesByDuals;
