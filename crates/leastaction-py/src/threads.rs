//! Rows on threads, Ctrl-C in time. Threads live for one call, so that a forked process has nothing to inherit.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::bad_option;

/// How often Python is asked whether a signal came.
const LOOK: Duration = Duration::from_millis(50);

/// Looks for signals from inside a loop without the interpreter.
pub(crate) struct Watch<'a> {
    stop: &'a AtomicBool,
    last: Instant,
    error: Option<PyErr>,
}

impl<'a> Watch<'a> {
    /// Sets `stop` when a signal came.
    pub(crate) fn new(stop: &'a AtomicBool) -> Self {
        Self { stop, last: Instant::now(), error: None }
    }

    /// Looks if it is time, and lets `also` speak to Python.
    pub(crate) fn look(&mut self, also: impl FnOnce(Python<'_>) -> PyResult<()>) {
        if self.last.elapsed() >= LOOK && self.error.is_none() {
            let seen = Python::attach(|py| py.check_signals().and_then(|()| also(py)));
            if let Err(error) = seen {
                self.error = Some(error);
                self.stop.store(true, Ordering::Relaxed);
            }
            self.last = Instant::now();
        }
    }

    /// What Python raised, to end with at once.
    pub(crate) fn raised(&mut self) -> Option<PyErr> {
        self.error.take()
    }

    /// What Python raised.
    pub(crate) fn finish(self) -> PyResult<()> {
        self.error.map_or(Ok(()), Err)
    }
}

/// A number of rows or steps; what is below none is refused by name.
pub(crate) fn whole(py: Python<'_>, name: &str, number: i64) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| bad_option(py, name, &number.to_string(), "give a whole number that is not negative"))
}

/// The number of threads that was asked for, or that `LEASTACTION_THREADS` says, or one per processor.
pub(crate) fn count(py: Python<'_>, threads: Option<usize>) -> PyResult<usize> {
    match threads {
        Some(0) => Err(bad_option(py, "threads", "0", "give a whole number greater than 0")),
        Some(n) => Ok(n.min(256)),
        None => match std::env::var("LEASTACTION_THREADS") {
            Ok(text) => match text.trim().parse::<usize>() {
                Ok(n) if n > 0 => Ok(n.min(256)),
                _ => Err(bad_option(
                    py,
                    "LEASTACTION_THREADS",
                    &text,
                    "give a whole number greater than 0, or unset it",
                )),
            },
            Err(_) => Ok(std::thread::available_parallelism().map_or(1, Into::into)),
        },
    }
}

/// Does `work` for every row, each row on one thread with memory of its own; `tell` hears how many rows are done.
///
/// Rows know nothing of each other, so that results do not depend on the number of threads.
pub(crate) fn each_row<W>(
    py: Python<'_>,
    rows: usize,
    threads: usize,
    stop: &AtomicBool,
    tell: &mut (dyn FnMut(Python<'_>, usize) -> PyResult<()> + Send),
    memory: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, usize) + Sync,
) -> PyResult<()> {
    each_block(py, rows, 1, threads, stop, tell, memory, |own, block| work(own, block.start))
}

/// As [`each_row`], with `size` neighbouring rows at a time.
pub(crate) fn each_block<W>(
    py: Python<'_>,
    rows: usize,
    size: usize,
    threads: usize,
    stop: &AtomicBool,
    tell: &mut (dyn FnMut(Python<'_>, usize) -> PyResult<()> + Send),
    memory: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, Range<usize>) + Sync,
) -> PyResult<()> {
    let threads = threads.min(rows.div_ceil(size));
    if threads == 0 {
        return Ok(());
    }
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let labour = || {
        let mut own = memory();
        while !stop.load(Ordering::Relaxed) {
            let first = next.fetch_add(size, Ordering::Relaxed);
            if first >= rows {
                break;
            }
            let block = first..rows.min(first + size);
            let count = block.len();
            work(&mut own, block);
            done.fetch_add(count, Ordering::Relaxed);
        }
    };
    py.detach(|| {
        let (end, ended) = channel::<()>();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (labour, end) = (&labour, end.clone());
                scope.spawn(move || {
                    labour();
                    drop(end);
                });
            }
            drop(end);
            let mut outcome = Ok(());
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
                if outcome.is_ok() {
                    outcome = Python::attach(|py| {
                        py.check_signals().and_then(|()| tell(py, done.load(Ordering::Relaxed)))
                    });
                    if outcome.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            }
            outcome
        })
    })
}
