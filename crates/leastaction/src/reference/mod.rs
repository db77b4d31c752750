//! The slow twins: obviously right implementations that the fast ones are compared with.
//!
//! Everything here is public and documented as slow. Use it in tests, not in products.

pub mod cmtm_dense;
mod dual;
mod quantities_by_duals;

pub use dual::Dual;
pub use quantities_by_duals::QuantitiesByDuals;
