//! [`RunFolder`]: the files of a run, each old or whole, never a part.

use std::io;
use std::path::{Path, PathBuf};

use leastaction::io::{NpzWriter, TrajectoryCsvWriter};
use leastaction::trajectory::TrajectoryLayout;

use crate::failure::Failure;

/// Where results go when nothing else is said.
pub const DEFAULT_FOLDER: &str = "leastaction-out";

/// The folder of a run and the trajectory files under construction in it.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    csv: TrajectoryCsvWriter,
    npz: NpzWriter,
}

impl RunFolder {
    /// Makes the folder and starts the trajectory files.
    pub fn create(path: &Path, layout: &TrajectoryLayout) -> Result<Self, Failure> {
        make_folder(path)?;
        let started = |name: &str, error: &io::Error| cannot_write(&path.join(name), error);
        let csv = TrajectoryCsvWriter::create(&path.join("trajectory.csv"), layout)
            .map_err(|error| started("trajectory.csv", &error))?;
        let npz = NpzWriter::create(&path.join("trajectory.npz"), layout)
            .map_err(|error| started("trajectory.npz", &error))?;
        Ok(Self { path: path.to_owned(), csv, npz })
    }

    /// Adds a row to the trajectory files.
    pub fn push(&mut self, row: &[f64]) -> Result<(), Failure> {
        self.csv.push(row).map_err(|error| cannot_write(&self.path.join("trajectory.csv"), &error))?;
        self.npz.push(row).map_err(|error| cannot_write(&self.path.join("trajectory.npz"), &error))
    }

    /// Gives the trajectory files their names; returns the folder.
    pub fn finish(self) -> Result<PathBuf, Failure> {
        let Self { path, csv, npz } = self;
        csv.finish().map_err(|error| cannot_write(&path.join("trajectory.csv"), &error))?;
        npz.finish().map_err(|error| cannot_write(&path.join("trajectory.npz"), &error))?;
        Ok(path)
    }
}

/// Makes a folder for results.
///
/// # Errors
/// If it is not there and can't be made.
pub fn make_folder(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|error| {
        Failure::caused_by(format!("can't make the folder `{}`", path.display()), &error)
            .help("name another one with `--out DIR`")
    })
}

/// The failure of a file that can't be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::caused_by(format!("can't write `{}`", path.display()), error)
        .help("the file is as it was before; check the space and the permissions of its folder")
}
