//! [`Seed`]: the files of the repository that are damaged.

use std::path::{Path, PathBuf};

use crate::Target;

/// Larger files make executions slow and say nothing new.
const LARGEST: u64 = 40_000;

/// A file before it is damaged.
#[derive(Clone, Debug)]
pub struct Seed {
    /// Its name without folders.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Seed {
    /// The files of the repository that end as the target wants, and a few that no repository holds.
    #[must_use]
    pub fn of(target: &Target) -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        for folder in [
            "models",
            "examples",
            "crates/leastaction/tests",
            "crates/leastaction-cli/tests",
            "crates/leastaction-fuzz/corpus",
        ] {
            collect(&root.join(folder), target, &mut files);
        }
        files.sort();
        let mut seeds: Vec<Self> = files.iter().filter_map(|path| Self::read(path)).collect();
        if seeds.is_empty() {
            // Formats of which the repository has no file begin from nothing and grow by splicing.
            seeds.push(Self { name: format!("empty.{}", target.endings[0]), bytes: Vec::new() });
        }
        seeds
    }

    fn read(path: &Path) -> Option<Self> {
        Some(Self {
            name: path.file_name()?.to_string_lossy().into_owned(),
            bytes: std::fs::read(path).ok()?,
        })
    }
}

fn collect(folder: &Path, target: &Target, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            collect(&path, target, files);
        } else if meta.len() <= LARGEST
            && target.endings.iter().any(|end| path.to_string_lossy().ends_with(end))
        {
            files.push(path);
        }
    }
}
