//! SDF, as Gazebo and Drake write it: links, joints, frames, nested and included models; and writing.
//!
//! Poses may be relative to any frame; they are resolved at the pose the file describes. A model that no joint holds to
//! the world moves freely, as SDF means it. What is read, left out and refused is listed in `docs/formats.md`.

mod frames;
mod joint;
mod link;
mod read;
mod text;
mod write;

pub use write::write_sdf;

use std::path::Path;

use crate::mechanism::Problems;
use crate::{Diagnostic, Reading, SourceMap, UrdfOptions};

/// Reads the text of an SDF file; `path` is used in messages and to find meshes and included models.
///
/// All problems are reported at once; a model with errors must not be used.
#[must_use]
pub fn read_sdf(text: &str, path: &Path, options: &UrdfOptions) -> Reading {
    let mut sources = SourceMap::new();
    let mut problems = Problems::default();
    let raw = read::read(text, path, options, &mut sources, &mut problems);
    let description = raw.and_then(|raw| frames::assemble(raw, &mut problems));
    let diagnostics = Diagnostic::list(problems, &sources);
    Reading { description, sources, diagnostics, ..Reading::default() }
}
