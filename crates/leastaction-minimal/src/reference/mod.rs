//! Slow twins of the engine in joint coordinates: obviously right, compiled for tests only.

mod hessian;
mod minimal_component;
mod minimal_dense;
mod tangent;

pub use hessian::{EnergyHessians, energy_hessians};
pub use minimal_component::component_newton_direction;
pub use minimal_dense::{dense_linearization, dense_newton_direction};
pub use tangent::{StepDirection, StepTangent};
