//! MJCF, the model format of MuJoCo: reading with errors that teach, and writing.
//!
//! Reading is a sequence of passes, each over plain data, none recursive in the depth of the model:
//!
//! 1. `document`: the XML of the file and of everything it includes becomes one list of elements with origins,
//!    models that are attached (`attach`) among them;
//! 2. `validate`: every element and attribute against `schema`: unknown names, wrong lengths, words that are
//!    no numbers. After it the later passes may take attributes for granted;
//!    `replicate` writes copies out;
//! 3. `settings` (`compiler`, `option`), `defaults` (classes), `assets` (materials, meshes);
//! 4. `tree`: bodies, joints, inertias, shapes, sites;
//! 5. `tendon`, `equality`, `actuator`, `keyframe`: what refers to the tree by name.
//!
//! What the format can say and we do not support is listed once per kind (see `docs/formats-mjcf.md`).

mod actuator;
mod assets;
mod attach;
mod contact;
mod copies;
mod defaults;
mod document;
mod equality;
mod geom;
mod gravcomp;
mod inertial;
mod joint;
mod keyframe;
mod law;
mod reader;
mod replicate;
mod schema;
mod sensor;
mod settings;
mod tendon;
mod tree;
mod tuned;
mod validate;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};

pub use write::write_mjcf;

use super::{Reading, View};

/// How files named by `include` are fetched.
pub type ReadFile = Box<dyn Fn(&Path) -> std::io::Result<String>>;

/// What a caller can choose about reading MJCF.
pub struct MjcfOptions {
    /// Reads an included file; tests give texts from memory.
    pub read_file: ReadFile,
    /// Folders whose files may be included, besides those below the folder of the main file.
    pub folders: Vec<PathBuf>,
    /// Which shapes are drawn.
    pub view: View,
    /// Most files one model may be made of.
    pub max_files: usize,
    /// Most bytes of text all files together may have.
    pub max_bytes: usize,
}

impl Default for MjcfOptions {
    fn default() -> Self {
        Self {
            read_file: Box::new(super::read_text),
            folders: Vec::new(),
            view: View::default(),
            max_files: 256,
            max_bytes: usize::try_from(super::text_file::limit(super::MAX_FILE_BYTES)).unwrap_or(usize::MAX),
        }
    }
}

impl fmt::Debug for MjcfOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MjcfOptions")
            .field("folders", &self.folders)
            .field("max_files", &self.max_files)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// Reads an MJCF text. `path` names it in messages and is what `include` is relative to.
///
/// The description is `None` only if the text could not be read as a model at all; with other errors it holds
/// what could be made of the rest, so that a later check can report its problems too.
#[must_use]
pub fn read_mjcf(text: &str, path: &Path, options: &MjcfOptions) -> Reading {
    reader::read(text, path, options)
}
