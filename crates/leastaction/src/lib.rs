//! Mechanics of articulated bodies computed the structured way.

pub mod dynamics;
pub mod integrator;
pub mod io;
pub mod jet;
pub mod lie;
pub mod mechanism;
pub mod reference;
pub mod scalar;
pub mod spatial;
