//! Mechanics of articulated bodies computed the structured way.

pub mod io;
pub mod mechanism;
