//! [`Folder`]: the parts of a sweep that are done, whatever ended the process that made them.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use leastaction::io::write_atomically;
use serde_json::Value;

use super::chunk::Parts;
use super::load::Sweep;
use super::parquet;
use crate::failure::Failure;
use crate::output::{cannot_write, expect_verb, make_folder};

/// What a sweep writes besides its parts.
const SWEEP: &str = "sweep.json";
const LOCK: &str = ".lock";
/// The folder of a sweep, held by one process.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    sweep_hash: String,
    with_rows: bool,
    /// Parts may be kept by several threads at once.
    done: Vec<AtomicBool>,
    /// Parts that were not whole and are made again.
    torn: Vec<String>,
    _lock: File,
}

impl Folder {
    /// Takes the folder of a sweep, new or begun. With `fresh` what is there of another sweep is removed.
    ///
    /// # Errors
    /// If another process holds it, it holds something else, or it can't be written.
    pub fn open(path: &Path, sweep: &Sweep, fresh: bool) -> Result<Self, Failure> {
        // `--force` is for folders of single runs; parts of a sweep are never mixed with something else.
        expect_verb(path, "sweep").map_err(|refused| refused.help("name another folder with `--out DIR`"))?;
        make_folder(path)?;
        let lock = lock(path)?;
        let known = path.join(SWEEP);
        if fresh {
            remove_all(path)?;
        } else if let Ok(text) = fs::read_to_string(&known) {
            expect_same(path, sweep, &text)?;
        }
        for kind in ["runs", "rows"].iter().take(1 + usize::from(sweep.keeps_rows())) {
            make_folder(&path.join(kind))?;
        }
        let text = serde_json::to_string_pretty(&sweep.to_json()).unwrap_or_default() + "\n";
        if fs::read_to_string(&known).is_ok_and(|old| old == text) {
            // Nothing that is right is written again.
        } else {
            write_atomically(&known, text.as_bytes()).map_err(|error| cannot_write(&known, &error))?;
        }
        let chunks = usize::try_from(sweep.chunks()).unwrap_or(usize::MAX);
        let mut folder = Self {
            path: path.to_owned(),
            sweep_hash: sweep.hash().to_owned(),
            with_rows: sweep.keeps_rows(),
            done: (0..chunks).map(|_| AtomicBool::new(false)).collect(),
            torn: Vec::new(),
            _lock: lock,
        };
        for index in 0..sweep.chunks() {
            *folder.done[index as usize].get_mut() = folder.look(index);
        }
        Ok(folder)
    }

    fn kinds(&self) -> &'static [&'static str] {
        if self.with_rows { &["runs", "rows"] } else { &["runs"] }
    }

    /// The file of a part.
    #[must_use]
    pub fn part(&self, kind: &str, index: u64) -> PathBuf {
        self.path.join(kind).join(format!("part-{index:06}.parquet"))
    }

    /// Whether the parts of a chunk are whole.
    fn look(&mut self, index: u64) -> bool {
        let mark = parquet::Mark { sweep: self.sweep_hash.clone(), chunk: index };
        let mut whole = true;
        for kind in self.kinds() {
            let path = self.part(kind, index);
            match fs::read(&path) {
                Ok(bytes) => {
                    if let Err(why) = parquet::verify(&bytes, &mark) {
                        self.torn.push(format!("{kind}/part-{index:06}.parquet: {why}"));
                        whole = false;
                    }
                }
                Err(_) => whole = false,
            }
        }
        whole
    }

    /// Chunks that are still to be computed, in order.
    #[must_use]
    pub fn missing(&self) -> Vec<u64> {
        (0..)
            .zip(&self.done)
            .filter(|(_, done)| !done.load(Ordering::Relaxed))
            .map(|(index, _)| index)
            .collect()
    }

    /// Whether nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.done.iter().all(|done| done.load(Ordering::Relaxed))
    }

    /// Parts that were there and were not whole.
    #[must_use]
    pub fn torn(&self) -> &[String] {
        &self.torn
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the parts of a chunk, which are checked first: they may come from another machine.
    ///
    /// # Errors
    /// If they are not what they should be, or can't be written.
    pub fn put(&self, index: u64, parts: &Parts) -> Result<(), Failure> {
        let mark = parquet::Mark { sweep: self.sweep_hash.clone(), chunk: index };
        let all = [Some(&parts.runs), parts.rows.as_ref()];
        // The rows first: a chunk counts once its runs are there.
        for (kind, bytes) in self.kinds().iter().zip(all).rev() {
            let path = self.part(kind, index);
            let bytes =
                bytes.ok_or_else(|| Failure::new(format!("chunk {index} came without its {kind}")))?;
            parquet::verify(bytes, &mark)
                .map_err(|why| Failure::new(format!("the {kind} of chunk {index} can't be kept: {why}")))?;
            write_atomically(&path, bytes).map_err(|error| {
                cannot_write(&path, &error).help(format!(
                    "{} of {} parts are kept; make room and run the same command again",
                    self.done.iter().filter(|done| done.load(Ordering::Relaxed)).count(),
                    self.done.len()
                ))
            })?;
        }
        if let Some(done) = self.done.get(index as usize) {
            done.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// One process at a time: the file holds the number of the one that has it.
fn lock(path: &Path) -> Result<File, Failure> {
    let place = path.join(LOCK);
    let opened = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&place);
    let mut file = opened.map_err(|error| cannot_write(&place, &error))?;
    if file.try_lock().is_err() {
        let mut holder = String::new();
        let _ = file.read_to_string(&mut holder);
        return Err(Failure::new(format!(
            "`{}` is being written by another process, {}",
            path.display(),
            holder.trim()
        ))
        .help("wait for it, stop it, or name another folder with `--out DIR`"));
    }
    let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| cannot_write(&place, &error))?;
    Ok(file)
}

fn expect_same(path: &Path, sweep: &Sweep, text: &str) -> Result<(), Failure> {
    let other: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(key) = sweep.difference(&other) else { return Ok(()) };
    Err(Failure::new(format!("`{}` holds another sweep: `{key}` differs", path.display()))
        .help("name another folder with `--out DIR`; `--fresh` removes what is there"))
}

/// Removes what a sweep has written, and nothing else.
fn remove_all(path: &Path) -> Result<(), Failure> {
    let cannot = |at: &Path, error: &std::io::Error| {
        Failure::caused_by(format!("can't remove `{}`", at.display()), error)
    };
    for name in [SWEEP, "summary.json", "report.html"] {
        crate::checkpoint::remove(&path.join(name))?;
    }
    // What stands in `worst` was written by the sweep, too, and by nobody else.
    if let Ok(entries) = fs::read_dir(path.join("worst")) {
        for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("run-"))
        {
            fs::remove_dir_all(entry.path()).map_err(|error| cannot(&entry.path(), &error))?;
        }
    }
    for kind in ["runs", "rows"] {
        let folder = path.join(kind);
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.trim_start_matches('.').starts_with("part-") {
                fs::remove_file(entry.path()).map_err(|error| cannot(&entry.path(), &error))?;
            }
        }
        let _ = fs::remove_dir(&folder);
    }
    Ok(())
}
