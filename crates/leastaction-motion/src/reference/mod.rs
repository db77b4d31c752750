//! Slow twins of jets and of the optimizer's quantities: obviously right, compiled for tests only; and the operators of
//! the papers, for their readers.

mod cmtm;
pub mod cmtm_dense;
mod complex;
mod quantities_by_duals;
mod whole_body;

pub use cmtm::Cmtm;
pub use complex::Complex;
pub use quantities_by_duals::QuantitiesByDuals;
pub use whole_body::WholeBody;
