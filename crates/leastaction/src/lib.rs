//! Mechanics of articulated bodies computed the structured way.
