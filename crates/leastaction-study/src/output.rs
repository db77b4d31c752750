//! [`RunFolder`]: the files of a run, each old or whole, never a part.

use std::io;
use std::path::{Path, PathBuf};

use leastaction::io::{NpzWriter, TrajectoryCsvWriter};
use leastaction::trajectory::TrajectoryLayout;

use crate::failure::Failure;

/// Where results go when nothing else is said.
pub const DEFAULT_FOLDER: &str = "leastaction-out";

/// A file that stands in a folder while its files are being put in place: if it stays, they are of two runs.
pub const INCOMPLETE: &str = ".incomplete";

/// Refuses a file of a folder whose files may be of two runs.
///
/// # Errors
/// If they may be.
pub fn expect_whole(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    if !folder.join(INCOMPLETE).exists() {
        return Ok(());
    }
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Err(Failure::new(format!(
        "`{}` may hold files of two runs: one was stopped while it put its files in place",
        shown.display()
    ))
    .help(format!(
        "`leastaction resume {}` finishes it; remove `{}` if that can't be done",
        shown.display(),
        folder.join(INCOMPLETE).display()
    )))
}

/// A file that tells whose results a folder holds, and the verb. `control` writes a solution too.
const MARKS: [(&str, &str); 7] = [
    ("sweep.json", "sweep"),
    ("policy.json", "control"),
    ("weights.json", "infer"),
    ("solution.json", "optimize"),
    ("motion.csv", "motion"),
    ("state.json", "simulate"),
    ("checkpoint", "simulate"),
];

fn refusal(folder: &Path, whose: &str) -> Failure {
    Failure::new(format!("`{}` holds results of {whose}", folder.display()))
        .help("name another folder with `--out DIR`, or replace them with `--force`")
}

/// Refuses a folder with the results of another verb: they would be lost, or mixed with new ones.
///
/// # Errors
/// If there are any.
pub fn expect_verb(folder: &Path, verb: &str) -> Result<(), Failure> {
    let mark = MARKS.iter().find(|(name, _)| folder.join(name).exists());
    match mark.filter(|(_, other)| *other != verb) {
        Some((_, other)) => Err(refusal(folder, &format!("`{other}`"))),
        None => Ok(()),
    }
}

/// Refuses a folder with the results of another verb than `simulate` or of another model.
///
/// # Errors
/// If there are any.
pub fn expect_own(folder: &Path, model: &str) -> Result<(), Failure> {
    expect_verb(folder, "simulate")?;
    let summary = std::fs::read(folder.join("summary.json")).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap_or_default();
    match summary["model"].as_str() {
        Some(other) if other != model => Err(refusal(folder, &format!("the model `{other}`"))),
        _ => Ok(()),
    }
}

/// Refuses to replace the trajectory that leads to the state a run starts from.
///
/// # Errors
/// If the state is a file of the folder.
pub fn expect_other(folder: &Path, start: Option<&str>) -> Result<(), Failure> {
    let Some(start) = start.map(Path::new) else { return Ok(()) };
    let same = |a: io::Result<PathBuf>, b: io::Result<PathBuf>| a.is_ok_and(|a| b.is_ok_and(|b| a == b));
    let parent = start.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if start.is_file() && same(parent.canonicalize(), folder.canonicalize()) {
        return Err(Failure::new(format!(
            "the run starts from `{}` and would replace the trajectory that leads there",
            start.display()
        ))
        .help("name another folder with `--out DIR`; `--force` replaces it"));
    }
    Ok(())
}

/// The folder of a run and the trajectory files under construction in it.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    // `None` once it has its name.
    csv: Option<TrajectoryCsvWriter>,
    npz: Option<NpzWriter>,
    /// Bytes of the table when it was to get its name.
    length: u64,
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
        Ok(Self { path: path.to_owned(), csv: Some(csv), npz: Some(npz), length: 0 })
    }

    /// Goes on after the first bytes of rows and the text behind them; [`replay`](Self::replay) makes the archive again.
    pub(crate) fn resume(
        path: &Path,
        layout: &TrajectoryLayout,
        (written, pending): (u64, &str),
    ) -> Result<Self, Failure> {
        let [csv_path, npz_path] = ["trajectory.csv", "trajectory.npz"].map(|name| path.join(name));
        let csv = TrajectoryCsvWriter::resume(&csv_path, written, pending)
            .map_err(|error| cannot_go_on(&csv_path, &error))?;
        let npz = NpzWriter::create(&npz_path, layout).map_err(|error| cannot_write(&npz_path, &error))?;
        Ok(Self { path: path.to_owned(), csv: Some(csv), npz: Some(npz), length: 0 })
    }

    /// Hands over the rows of an earlier process.
    pub(crate) fn replay(
        &mut self,
        layout: &TrajectoryLayout,
        mut each: impl FnMut(&[f64]),
    ) -> Result<(), Failure> {
        let (Some(csv), Some(npz)) = (&self.csv, &mut self.npz) else { return Ok(()) };
        csv.replay(layout, |row| {
            each(row);
            npz.push(row)
        })
        .map_err(|error| cannot_go_on(&self.path.join("trajectory.csv"), &error))
    }

    /// Makes all rows durable. Once the table has its name they are.
    pub(crate) fn sync(&mut self) -> Result<(), Failure> {
        let path = self.path.join("trajectory.csv");
        self.csv
            .as_mut()
            .map_or(Ok(()), TrajectoryCsvWriter::sync)
            .map_err(|error| cannot_write(&path, &error))
    }

    /// Bytes of the rows that the table has for certain, and the text of those behind them.
    pub(crate) fn progress(&self) -> (u64, &str) {
        self.csv.as_ref().map_or((self.length, ""), TrajectoryCsvWriter::progress)
    }

    /// Gives the room of the archive back: it can be made again from the rows.
    pub(crate) fn drop_archive(&mut self) {
        self.npz = None;
    }

    /// Adds a row to the trajectory files.
    pub fn push(&mut self, row: &[f64]) -> Result<(), Failure> {
        if let Some(npz) = &mut self.npz {
            npz.push(row).map_err(|error| cannot_write(&self.path.join("trajectory.npz"), &error))?;
        }
        if let Some(csv) = &mut self.csv {
            csv.push(row).map_err(|error| cannot_write(&self.path.join("trajectory.csv"), &error))?;
        }
        Ok(())
    }

    /// Gives the trajectory files their names; returns the folder.
    pub fn finish(mut self) -> Result<PathBuf, Failure> {
        self.put_in_place()?;
        Ok(self.path)
    }

    /// The same, while the folder is still in use. The archive first: it may need more room than there is.
    pub(crate) fn put_in_place(&mut self) -> Result<(), Failure> {
        if let Some(npz) = self.npz.take() {
            npz.finish().map_err(|error| cannot_write(&self.path.join("trajectory.npz"), &error))?;
        }
        if let Some(csv) = self.csv.take() {
            let (written, pending) = csv.progress();
            self.length = written + pending.len() as u64;
            csv.finish().map_err(|error| cannot_write(&self.path.join("trajectory.csv"), &error))?;
        }
        Ok(())
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

fn cannot_go_on(path: &Path, error: &io::Error) -> Failure {
    Failure::caused_by(format!("can't go on with `{}`", path.display()), error)
}

/// The failure of a file that can't be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::caused_by(format!("can't write `{}`", path.display()), error)
        .help("the file is as it was before; check the space and the permissions of its folder")
}
