//! The slow twins: obviously right implementations that the fast ones are compared with.
//!
//! Everything here is public and documented as slow. Use it in tests, not in products.

mod cmtm;
pub mod cmtm_dense;
mod complex;
mod dual;
mod maximal;
mod minimal_component;
mod minimal_dense;
mod quantities_by_duals;
mod whole_body;

pub use cmtm::Cmtm;
pub use complex::Complex;
pub use dual::Dual;
pub(crate) use dual::InlineDual;
pub use maximal::{MaximalTwin, maximal_newton_direction, maximal_step};
pub use minimal_component::component_newton_direction;
pub use minimal_dense::{dense_linearization, dense_newton_direction};
pub use quantities_by_duals::QuantitiesByDuals;
pub use whole_body::WholeBody;
