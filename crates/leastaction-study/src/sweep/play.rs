//! What follows the last chunk: the summary, reports of the worst runs, the page.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::drive::Driven;
use super::folder::Folder;
use super::load::Sweep;
use super::page::write_page;
use super::summary::{Summary, summarize};
use crate::failure::Failure;
use crate::settings::Settings;

/// Summary, and with `play` the page and reports of so many runs.
///
/// # Errors
/// If parts can't be read or files can't be written.
pub fn conclude(
    sweep: &Sweep,
    folder: &Folder,
    driven: &Driven,
    play: Option<usize>,
    stop: &AtomicBool,
) -> Result<(Summary, Option<PathBuf>), Failure> {
    let summary = summarize(sweep, folder, driven)?;
    let Some(most) = play else { return Ok((summary, None)) };
    let mut played = Vec::new();
    for run in summary.worst(most) {
        let name = format!("worst/run-{run}");
        let place = folder.path().join(&name);
        // A run whose model or start is not possible has nothing to play.
        if report_of(sweep, run, &place, stop).is_ok() && place.join("report.html").is_file() {
            played.push((run, format!("{name}/report.html")));
        }
    }
    let page = write_page(sweep, folder, &summary, &played)?;
    Ok((summary, Some(page)))
}

/// Simulates a run with all its files.
fn report_of(sweep: &Sweep, run: u64, place: &Path, stop: &AtomicBool) -> Result<(), Failure> {
    let prepared = sweep.prepare(run, |own| Settings {
        out: Some(place.to_owned()),
        report: Some(true),
        force: Some(true),
        ..own
    })?;
    let (plan, _) = prepared.plan()?;
    let mut files = prepared.begin(&plan)?;
    let done = prepared.run(plan, stop, &mut |_| {}, &mut files)?;
    files.finish(|folder| done.write(&prepared, folder))?;
    Ok(())
}

/// Threads for a sweep: what is asked for, what `LEASTACTION_THREADS` says, or what the process may use; fewer where memory is.
///
/// # Errors
/// If the variable is no number.
pub fn threads_of(sweep: &Sweep, asked: Option<usize>, memory: Option<f64>) -> Result<usize, Failure> {
    let said = match std::env::var("LEASTACTION_THREADS") {
        Ok(text) => match text.trim().parse::<usize>() {
            Ok(n) if n > 0 => Some(n),
            _ => {
                return Err(Failure::new(format!("`LEASTACTION_THREADS` is `{text}`"))
                    .help("give a whole number greater than 0, or unset it"));
            }
        },
        Err(_) => None,
    };
    let all = std::thread::available_parallelism().map_or(1, Into::into);
    let threads = asked.or(said).unwrap_or(all).clamp(1, 1024);
    Ok(match memory {
        Some(bytes) => threads.min(((bytes / sweep.bytes_per_worker()) as usize).max(1)),
        None => threads,
    })
}

impl Sweep {
    /// Bytes of a chunk's files, about.
    #[must_use]
    pub fn bytes_per_chunk(&self) -> f64 {
        let runs = self.columns().len() as f64 * 8.0;
        let rows = (self.steps() / self.tables.every.max(1) + 1) as f64 * (self.kept.len() + 1) as f64 * 8.0;
        self.chunk as f64 * (runs + if self.keeps_rows() { rows } else { 0.0 })
    }

    /// Memory of a worker, about: two chunks, each as numbers and as a file, and its simulator.
    #[must_use]
    pub fn bytes_per_worker(&self) -> f64 {
        let links = self.prepared.served.mechanism.nb() as f64;
        2e6 + 2e4 * links + 2.0 * 3.0 * self.bytes_per_chunk()
    }
}
