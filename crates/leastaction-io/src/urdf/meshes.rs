//! Paths of meshes: `package://`, `file://` and relative ones, led to a file where there is one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::findings::{Findings, quoted};

/// Finds mesh files and remembers what was not found.
pub(super) struct Meshes<'o> {
    /// Folder of the URDF; `None` leaves every path as it is.
    folder: Option<&'o Path>,
    search_paths: &'o [PathBuf],
    /// Folder of each package met.
    packages: BTreeMap<String, Option<PathBuf>>,
    /// The first mesh without a file, its place, and how many there are.
    missing: Option<(String, usize, usize)>,
}

impl<'o> Meshes<'o> {
    /// Searches from the folder of `file` and in `search_paths`.
    pub(super) fn new(file: &'o Path, search_paths: &'o [PathBuf]) -> Self {
        let folder = Some(file.parent().unwrap_or(Path::new("")));
        Self { folder, search_paths, packages: BTreeMap::new(), missing: None }
    }

    /// Leaves every path as it is.
    pub(super) fn unresolved() -> Self {
        Self { folder: None, search_paths: &[], packages: BTreeMap::new(), missing: None }
    }

    /// The path of a mesh if there is such a file, else the name as given.
    pub(super) fn resolve(&mut self, name: &str, offset: usize) -> String {
        let Some(folder) = self.folder else { return name.to_owned() };
        let packaged = name.strip_prefix("package://").or_else(|| name.strip_prefix("model://"));
        let path = match packaged {
            Some(rest) => self.in_package(rest, folder),
            None => Some(folder.join(name.strip_prefix("file://").unwrap_or(name))),
        };
        if let Some(path) = path.filter(|p| p.is_file()) {
            return path.to_string_lossy().into_owned();
        }
        match &mut self.missing {
            Some((_, _, count)) => *count += 1,
            None => self.missing = Some((name.to_owned(), offset, 1)),
        }
        name.to_owned()
    }

    /// `NAME/rest` below a search path, in a search path that is the package, or beside a folder above the file.
    fn in_package(&mut self, rest: &str, folder: &Path) -> Option<PathBuf> {
        // Some exporters write three slashes.
        let (package, inside) = rest.trim_start_matches('/').split_once('/')?;
        if !self.packages.contains_key(package) {
            let given = self.search_paths.iter().map(PathBuf::as_path);
            let found = given.chain(folder.ancestors()).find_map(|place| {
                let below = place.join(package);
                if below.is_dir() {
                    return Some(below);
                }
                (place.file_name().is_some_and(|n| n == package)).then(|| place.to_owned())
            });
            self.packages.insert(package.to_owned(), found);
        }
        self.packages.get(package)?.as_ref().map(|p| p.join(inside))
    }

    /// One warning for all meshes that were not found.
    pub(super) fn report(self, findings: &mut Findings<'_>) {
        let Some((name, offset, count)) = self.missing else { return };
        let others = if count > 1 { format!(" and {} more meshes", count - 1) } else { String::new() };
        let message = format!("mesh {}{others} not found: kept as a name, not drawn", quoted(&name));
        let remedy = if name.contains("://") {
            "name the folder that holds the package as a search path"
        } else {
            "put the file beside the URDF or mend the path"
        };
        findings.warn_once(offset, "", &message, remedy);
    }
}
