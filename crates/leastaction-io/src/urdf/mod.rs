//! URDF, read with a place for every problem and written with a word for everything it can't hold.
//!
//! What is read, ignored and refused is listed in `docs/formats.md`.

mod element;
mod joint;
mod link;
mod meshes;
mod read;
mod transmission;
mod tree;
mod write;

use std::path::PathBuf;

pub use read::read_urdf;
pub use write::write_urdf;

/// How the root link of a URDF stands in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UrdfBase {
    /// Welded to the ground.
    #[default]
    Fixed,
    /// Free to move: a floating joint from the world.
    Floating,
}

/// What a reader of URDF can't find in the file.
#[derive(Clone, Debug, Default)]
pub struct UrdfOptions {
    /// How the root link stands in the world, unless it is a massless link named `world` (the ground itself).
    pub base: UrdfBase,
    /// Folders that hold ROS packages, or are one, for `package://NAME/...`. The folders above the file are tried
    /// after these.
    pub search_paths: Vec<PathBuf>,
    /// In kg/m³: links without `<inertial>` get their mass from their collision shapes, or what is drawn if there are none.
    pub density: Option<f64>,
    /// Which shapes are drawn.
    pub view: View,
    /// Collision shapes become surfaces that touch.
    pub surfaces: bool,
    /// Inertias that no body has are replaced by the nearest that one can have, in files of every format, and that is said.
    pub repair_inertia: bool,
}

/// Which shapes of a model are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// What the author meant to be seen.
    #[default]
    Visual,
    /// What touches.
    Collision,
    /// Both.
    Both,
}

/// Message and remedy for a file that xacro has not expanded.
pub(super) const XACRO: (&str, &str) =
    ("this is xacro, not URDF", "expand it first: `xacro FILE.xacro > FILE.urdf`");

/// How to write what a tree can't hold.
const LOOP_REMEDY: &str = "URDF holds trees only; convert the model to JSON (`leastaction/model/1`), where a joint \
                           with `\"role\": \"loop\"` closes a loop";
