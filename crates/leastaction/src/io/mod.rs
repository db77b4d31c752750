//! Reading and writing models and trajectories.
//!
//! A format reader turns text into a [`ModelDescription`](crate::mechanism::ModelDescription) and a list of
//! [`Diagnostic`]s; it knows nothing of solvers.

mod diagnostic;
pub mod mjcf;

pub use crate::mechanism::Severity;
pub use diagnostic::{Diagnostic, Location, SourceMap};

use crate::mechanism::ModelDescription;

/// What a reader made of a file: the description (if it got that far), the texts, and every problem found.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The model; `None` if an error made it meaningless.
    pub description: Option<ModelDescription>,
    /// The texts that were read.
    pub sources: SourceMap,
    /// All problems, errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// True if any diagnostic is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
}
