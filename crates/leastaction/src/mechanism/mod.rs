//! The mechanism: immutable model of bodies, joints and what acts on them.

mod description;

pub use description::*;
