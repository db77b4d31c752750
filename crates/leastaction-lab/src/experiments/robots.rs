//! Robots too large to ship: where example-robot-data may be.

use std::path::{Path, PathBuf};

/// Talos as example-robot-data has it, below its folder of robots.
const TALOS: &str = "talos_data/robots/talos_reduced.urdf";

/// The file of talos: in the folder given, or in the environment that `leastaction bench --peers` makes.
pub(crate) fn talos(given: Option<&Path>) -> Option<PathBuf> {
    let installed =
        || {
            let libraries = Path::new("leastaction-out/peers/venv/lib");
            std::fs::read_dir(libraries).into_iter().flatten().flatten().map(|python| {
                python.path().join("site-packages/cmeel.prefix/share/example-robot-data/robots")
            })
        };
    let folders: Vec<PathBuf> = match given {
        Some(folder) => vec![folder.to_owned()],
        None => installed().collect(),
    };
    folders
        .iter()
        .flat_map(|folder| ["talos.urdf", TALOS].map(|name| folder.join(name)))
        .find(|path| path.is_file())
}
