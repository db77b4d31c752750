//! Slow twins of the engine in joint coordinates: obviously right, compiled for tests only.

mod minimal_component;
mod minimal_dense;

pub use minimal_component::component_newton_direction;
pub use minimal_dense::{dense_linearization, dense_newton_direction};
