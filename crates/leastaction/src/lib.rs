//! Mechanics of articulated bodies computed the structured way.

pub mod io;
pub mod mechanism;
pub mod reference;
pub mod scalar;
pub mod spatial;
