//! The driver of one machine: missing chunks on all cores, parts written as they come.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::folder::Folder;
use super::load::Sweep;
use super::run::RunResult;
use crate::failure::Failure;

/// How often whoever watches hears something.
const TELL: Duration = Duration::from_millis(100);

/// What was done so far.
#[derive(Debug, Default)]
pub struct Seen {
    /// Runs.
    pub runs: AtomicU64,
    /// Steps.
    pub steps: AtomicU64,
    /// Runs that failed.
    pub failed: AtomicU64,
}

impl Seen {
    pub(super) fn add(&self, result: &RunResult) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.steps.fetch_add(result.steps, Ordering::Relaxed);
        self.failed.fetch_add(u64::from(result.ended.is_some()), Ordering::Relaxed);
    }
}

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Driven {
    /// All parts are there.
    pub complete: bool,
    /// Runs and steps of this process.
    pub runs: u64,
    /// Steps of this process.
    pub steps: u64,
    /// Seconds.
    pub wall: f64,
}

/// Computes the chunks that a folder misses. Workers hand their chunk over before they begin another, and the queue holds one
/// each: at most two chunks per worker are in memory.
///
/// # Errors
/// If a part can't be written; those before are kept.
pub fn drive(
    sweep: &Sweep,
    folder: &Folder,
    threads: usize,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Seen),
) -> Result<Driven, Failure> {
    let begin = Instant::now();
    let missing = folder.missing();
    let threads = threads.clamp(1, missing.len().max(1));
    let (next, seen, own_stop) = (AtomicUsize::new(0), Seen::default(), AtomicBool::new(false));
    let (give, take) = sync_channel(threads);
    let mut trouble = None;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (give, missing, next, seen, own_stop) = (give.clone(), &missing, &next, &seen, &own_stop);
            scope.spawn(move || {
                while !own_stop.load(Ordering::Relaxed) {
                    let Some(index) = missing.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let Some(parts) = sweep.chunk(*index, 1, own_stop, seen) else { break };
                    if give.send((*index, parts)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(give);
        loop {
            match take.recv_timeout(TELL) {
                Ok((index, parts)) => {
                    if trouble.is_none()
                        && let Err(failure) = folder.put(index, &parts)
                    {
                        own_stop.store(true, Ordering::Relaxed);
                        trouble = Some(failure);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            tell(&seen);
            // Whoever is told may set it.
            if stop.load(Ordering::Relaxed) {
                own_stop.store(true, Ordering::Relaxed);
            }
        }
    });
    if let Some(failure) = trouble {
        return Err(failure);
    }
    Ok(Driven {
        complete: folder.is_complete(),
        runs: seen.runs.load(Ordering::Relaxed),
        steps: seen.steps.load(Ordering::Relaxed),
        wall: begin.elapsed().as_secs_f64(),
    })
}
