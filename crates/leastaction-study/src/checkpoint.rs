//! Runs that survive: checkpoints, and a folder whose files belong to one run.
//!
//! While a run goes on, its rows grow in `.trajectory.csv.partial`. A checkpoint makes them durable and then replaces the file
//! `checkpoint`: one line of JSON that says which run it is, and the [tape](crate::tape) of what the loop carries. Whatever ends
//! the process, [`DurableRun::resume`] cuts the rows back to the checkpoint and goes on, and the files come out byte for byte as
//! those of a run that nothing disturbed. Archive and page are not saved: they are made again from the rows.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use leastaction::io::write_atomically;
use leastaction::trajectory::TrajectoryLayout;
use leastaction_io::Crc32;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::output::{INCOMPLETE, RunFolder, cannot_write, make_folder};
use crate::settings::Settings;
use crate::sink::{Rows, Saved};

/// The file of a checkpoint in the folder of a run.
pub const CHECKPOINT: &str = "checkpoint";
/// The schema key of its first line.
const SCHEMA: &str = "leastaction/checkpoint/1";
/// A checkpoint takes at most so many bytes of rows that could not be written.
const MAX_PENDING: usize = 1 << 24;
/// Seconds of wall time between checkpoints when nothing else is said.
pub const DEFAULT_INTERVAL: f64 = 30.0;

/// Which run a checkpoint belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    schema: String,
    /// Of the program that wrote it: another may step differently.
    version: String,
    /// Of the model as it runs.
    pub model_hash: String,
    /// Steps taken.
    pub steps: u64,
    /// Steps to take.
    pub planned_steps: u64,
    /// Bytes of the rows that belong to it.
    rows: u64,
    /// Rows behind them that there was no room for in the table.
    pending: String,
    /// Where the paths of the scenario start.
    pub directory: PathBuf,
    /// Files that the run reads besides the model, with their checksums.
    sources: Vec<(PathBuf, u32)>,
    /// The scenario in full.
    pub scenario: String,
}

impl Header {
    /// Of a run that begins.
    ///
    /// # Errors
    /// If a file that the settings name can't be read.
    pub fn of(settings: &Settings, model_hash: &str, planned_steps: u64) -> Result<Self, Failure> {
        let mut sources = Vec::new();
        let named = [&settings.inputs_file, &settings.track, &settings.policy];
        let perhaps = [&settings.start, &settings.hold].map(|name| name.as_ref().map(PathBuf::from));
        let perhaps = perhaps.into_iter().flatten().filter(|path| path.is_file());
        for path in named.into_iter().flatten().cloned().chain(perhaps) {
            let sum = checksum(&path)?;
            sources.push((path, sum));
        }
        Ok(Self {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            model_hash: model_hash.into(),
            steps: 0,
            planned_steps,
            rows: 0,
            pending: String::new(),
            directory: std::env::current_dir().unwrap_or_default(),
            sources,
            scenario: settings.to_toml(),
        })
    }

    /// Refuses to go on with other inputs than before.
    ///
    /// # Errors
    /// If a file has changed or is gone.
    pub fn expect_same_sources(&self) -> Result<(), Failure> {
        for (path, sum) in &self.sources {
            if checksum(path)? != *sum {
                return Err(Failure::new(format!("`{}` has changed since the run began", path.display()))
                    .help("put it back as it was, or start the run anew with `simulate --force`"));
            }
        }
        Ok(())
    }
}

fn checksum(path: &Path) -> Result<u32, Failure> {
    let bytes = fs::read(path)
        .map_err(|error| Failure::caused_by(format!("can't read `{}`", path.display()), &error))?;
    Ok(crc(&bytes))
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    crc.update(bytes);
    crc.value()
}

/// A checkpoint as it was read.
#[derive(Debug)]
pub struct Checkpoint {
    /// Which run.
    pub header: Header,
    /// What its loop carries.
    pub carried: Vec<u8>,
}

impl Checkpoint {
    /// Reads the checkpoint of a folder.
    ///
    /// # Errors
    /// If there is none, or it is damaged or of another version.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(CHECKPOINT);
        let bytes = fs::read(&path).map_err(|error| {
            let help = match error.kind() {
                io::ErrorKind::NotFound => {
                    "a run that is finished has none, one that was killed early neither"
                }
                _ => "check the permissions of the folder",
            };
            Failure::caused_by(format!("`{}` has no checkpoint to go on from", folder.display()), &error)
                .help(help)
        })?;
        let bad = |what: &str| {
            Failure::new(format!("`{}` {what}", path.display()))
                .help("start the run anew with `simulate --force`")
        };
        let (content, sum) = bytes.split_last_chunk::<4>().ok_or_else(|| bad("is damaged"))?;
        if crc(content) != u32::from_le_bytes(*sum) {
            return Err(bad("is damaged"));
        }
        let end = content.iter().position(|byte| *byte == b'\n').ok_or_else(|| bad("is damaged"))?;
        let header: Header =
            serde_json::from_slice(&content[..end]).map_err(|_| bad("is not a checkpoint"))?;
        if header.schema != SCHEMA || header.version != env!("CARGO_PKG_VERSION") {
            return Err(bad(&format!("was written by version {} of leastaction", header.version)));
        }
        Ok(Self { header, carried: content[end + 1..].to_vec() })
    }
}

/// Says that a folder holds a run that can be gone on with, if it does.
///
/// # Errors
/// If there is one.
pub fn expect_none(folder: &Path) -> Result<(), Failure> {
    if !folder.join(CHECKPOINT).exists() {
        return Ok(());
    }
    let far = Checkpoint::read(folder)
        .map(|saved| format!(" at step {} of {}", saved.header.steps, saved.header.planned_steps));
    Err(Failure::new(format!(
        "`{}` holds a run that was stopped{}",
        folder.display(),
        far.unwrap_or_default()
    ))
    .help(format!(
        "`leastaction resume {}` goes on with it, `--force` starts anew, `--out DIR` keeps both",
        folder.display()
    )))
}

/// A run when its last step was taken.
#[derive(Debug)]
struct End {
    saved: Saved,
    /// Bytes of its rows then; a last one may follow.
    rows: u64,
    /// It was interrupted, and more steps should follow.
    goes_on: bool,
}

/// The folder of a run that is written so that nothing ends it for good.
#[derive(Debug)]
pub struct DurableRun {
    path: PathBuf,
    folder: RunFolder,
    layout: TrajectoryLayout,
    header: Header,
    interval: Duration,
    last: Instant,
    end: Option<End>,
}

impl DurableRun {
    /// Makes the folder and starts the trajectory files; a checkpoint every `interval` seconds of wall time.
    ///
    /// # Errors
    /// If they can't be written.
    pub fn create(
        path: &Path,
        layout: &TrajectoryLayout,
        header: Header,
        interval: f64,
    ) -> Result<Self, Failure> {
        let folder = RunFolder::create(path, layout)?;
        remove(&path.join(CHECKPOINT))?;
        Ok(Self::new(path, folder, layout.clone(), header, interval))
    }

    /// Goes on with the files of a checkpoint.
    ///
    /// # Errors
    /// If they are not there any more as they were.
    pub fn resume(
        path: &Path,
        layout: &TrajectoryLayout,
        header: Header,
        interval: f64,
    ) -> Result<Self, Failure> {
        make_folder(path)?;
        let folder = RunFolder::resume(path, layout, (header.rows, &header.pending))?;
        Ok(Self::new(path, folder, layout.clone(), header, interval))
    }

    fn new(path: &Path, folder: RunFolder, layout: TrajectoryLayout, header: Header, interval: f64) -> Self {
        let interval = Duration::try_from_secs_f64(interval).unwrap_or(Duration::MAX);
        Self { path: path.to_owned(), folder, layout, header, interval, last: Instant::now(), end: None }
    }

    /// Writes a checkpoint to which the first `rows` bytes of the table belong, or all of it.
    fn write_checkpoint(&mut self, saved: &Saved, rows: Option<u64>) -> Result<(), Failure> {
        let path = self.path.join(CHECKPOINT);
        let synced = self.folder.sync();
        let (written, pending) = self.folder.progress();
        let all = written + pending.len() as u64;
        let rows = rows.unwrap_or(all).min(all);
        self.header.rows = rows.min(written);
        self.header.pending = pending[..(rows - self.header.rows) as usize].to_owned();
        if self.header.pending.len() > MAX_PENDING {
            synced?;
        }
        self.header.steps = saved.steps;
        let mut bytes = serde_json::to_vec(&self.header).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend(&saved.carried);
        bytes.extend(crc(&bytes).to_le_bytes());
        write_atomically(&path, &bytes).map_err(|error| cannot_write(&path, &error))?;
        self.last = Instant::now();
        Ok(())
    }

    /// Saves what can be saved after a failure, and says what to do next.
    fn save_after(&mut self, saved: &Saved, rows: Option<u64>, failure: Failure) -> Failure {
        // The archive can be made again, and its place on the disk is what the checkpoint needs.
        self.folder.drop_archive();
        let written = self.write_checkpoint(saved, rows);
        let folder = self.path.display();
        match written {
            Ok(()) => failure.help(format!(
                "nothing is lost: when the cause is gone, `leastaction resume {folder}` goes on at step {} of {}",
                self.header.steps, self.header.planned_steps
            )),
            Err(_) if self.path.join(CHECKPOINT).exists() => failure.help(format!(
                "when the cause is gone, `leastaction resume {folder}` goes on from the last checkpoint"
            )),
            Err(_) => failure,
        }
    }

    /// Puts the files in place: the trajectory, then what `write` leaves beside it. Until all are there, readers are warned.
    ///
    /// # Errors
    /// If a file can't be written; `resume` then does the rest.
    pub fn finish<R>(mut self, write: impl FnOnce(&Path) -> Result<R, Failure>) -> Result<R, Failure> {
        self.put_in_place(write).map_err(|failure| self.give_up(failure))
    }

    fn put_in_place<R>(&mut self, write: impl FnOnce(&Path) -> Result<R, Failure>) -> Result<R, Failure> {
        let mark = self.path.join(INCOMPLETE);
        fs::write(&mark, b"").map_err(|error| cannot_write(&mark, &error))?;
        // From here on the rows stay, whatever happens.
        self.folder.sync()?;
        self.folder.put_in_place()?;
        let result = write(&self.path)?;
        // The checkpoint last: until it is gone, `resume` does all of this again.
        remove(&mark)?;
        if !self.end.as_ref().is_some_and(|end| end.goes_on) {
            remove(&self.path.join(CHECKPOINT))?;
            // What a process left that was killed while it wrote one.
            remove(&self.path.join(format!(".{CHECKPOINT}.partial")))?;
        }
        Ok(result)
    }
}

/// Removes a file that need not be there.
pub(crate) fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::caused_by(format!("can't remove `{}`", path.display()), &error))
        }
        _ => Ok(()),
    }
}

impl Rows for DurableRun {
    fn replay(&mut self, each: &mut dyn FnMut(&[f64])) -> Result<(), Failure> {
        self.folder.replay(&self.layout, each)
    }

    fn push(&mut self, row: &[f64]) -> Result<(), Failure> {
        self.folder.push(row)
    }

    fn is_due(&mut self) -> bool {
        self.last.elapsed() >= self.interval
    }

    fn save(&mut self, saved: Saved) -> Result<(), Failure> {
        self.folder
            .sync()
            .and_then(|()| self.write_checkpoint(&saved, None))
            .map_err(|failure| self.save_after(&saved, None, failure))
    }

    fn rescue(&mut self, saved: Saved, failure: Failure) -> Failure {
        self.save_after(&saved, None, failure)
    }

    fn ended(&mut self, saved: Saved, interrupted: bool) -> Result<(), Failure> {
        if interrupted {
            self.write_checkpoint(&saved, None).map_err(|failure| self.save_after(&saved, None, failure))?;
        }
        let (written, pending) = self.folder.progress();
        let rows = written + pending.len() as u64;
        self.end = Some(End { saved, rows, goes_on: interrupted });
        Ok(())
    }

    fn give_up(&mut self, failure: Failure) -> Failure {
        match self.end.take() {
            Some(end) => self.save_after(&end.saved, Some(end.rows), failure),
            None => failure,
        }
    }
}
