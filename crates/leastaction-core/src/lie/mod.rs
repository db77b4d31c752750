//! Lie groups of mechanics: SO(3) and SE(3), with series near zero.
//!
//! Perturbations act on the right everywhere, so tangents are body twists.

pub mod se3;
pub mod so3;
