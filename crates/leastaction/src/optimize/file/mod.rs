//! Problem files.

mod golden;

pub use golden::{GoldenProblem, golden_problem};
