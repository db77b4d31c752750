//! Reading and writing models and trajectories.
//!
//! A format reader turns text into a [`ModelDescription`] and a list of
//! [`Diagnostic`]s; it knows nothing of solvers.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests compare with the C library"))]

mod atomic;
mod check;
mod diagnostic;
mod findings;
mod frames;
mod json;
mod load;
mod masses;
pub mod mesh;
pub mod mjcf;
mod model_json;
mod npz;
mod npz_read;
mod parts;
mod repair;
mod sdf;
mod sensor;
mod state_json;
mod surfaces;
mod text_file;
mod trajectory_csv;
mod urdf;
mod xml;
mod xml_write;
mod zip;

use leastaction_core::{mechanism, spatial, trajectory};

pub use crate::mechanism::Severity;
pub use atomic::{AtomicFile, write_atomically};
pub use diagnostic::{Diagnostic, Location, ProblemKind, SourceMap, printable};
pub use load::{Adapter, LoadError, LoadOptions, load_model, read_model};
pub use model_json::{read_model_json, write_model_json};
pub use npz::{NamedArray, NpzWriter, write_matrix_npz, write_npz};
pub use npz_read::read_trajectory_npz;
pub use sdf::{read_sdf, write_sdf};
pub use sensor::{Measured, Sensor};
pub use state_json::{Clock, RowMode, STATE_SCHEMA, StateError, StateFile};
pub use text_file::{MAX_FILE_BYTES, read_files_up_to, read_text, read_whole};
pub use trajectory_csv::{TableError, TrajectoryCsvWriter, push_number, read_trajectory_csv};
pub use urdf::{UrdfBase, UrdfOptions, View, read_urdf, write_urdf};
#[doc(hidden)]
pub use zip::Crc32;

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
    /// What the file asks to be measured.
    pub sensors: Vec<Sensor>,
}

impl Reading {
    /// True if any diagnostic is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
}
