//! A chunk: a pure function of sweep and number, whoever computes it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::drive::Seen;
use super::load::Sweep;
use super::parquet::{Column, Mark, Table};
use super::run::{RunResult, Runner, TOGETHER};

/// The files of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// One row per run.
    pub runs: Vec<u8>,
    /// Recorded rows, if they are kept.
    pub rows: Option<Vec<u8>>,
}

impl Sweep {
    /// The mark of a chunk's files.
    #[must_use]
    pub fn mark(&self, index: u64) -> Mark {
        Mark { sweep: self.hash().to_owned(), chunk: index }
    }

    /// Runs of a chunk.
    #[must_use]
    pub fn runs_of(&self, index: u64) -> std::ops::Range<u64> {
        let from = (index * self.chunk).min(self.runs);
        from..(from + self.chunk).min(self.runs)
    }

    /// Computes a chunk on so many threads; none if it was stopped on the way.
    #[must_use]
    pub fn chunk(&self, index: u64, threads: usize, stop: &AtomicBool, seen: &Seen) -> Option<Parts> {
        let runs = self.runs_of(index);
        let mut done = self.all(runs.clone(), threads, stop, seen)?;
        let mark = self.mark(index);
        let rows = self.keeps_rows().then(|| {
            let table = self.table_of_rows(runs.start, &done);
            // Numbers are in memory twice, not three times.
            done.iter_mut().for_each(|run| run.rows = Vec::new());
            table.to_bytes(&mark)
        });
        Some(Parts { runs: self.table_of_runs(runs.start, &done).to_bytes(&mark), rows })
    }

    fn all(
        &self,
        runs: std::ops::Range<u64>,
        threads: usize,
        stop: &AtomicBool,
        seen: &Seen,
    ) -> Option<Vec<RunResult>> {
        let next = AtomicU64::new(runs.start);
        let slots: Vec<Mutex<Option<RunResult>>> = runs.clone().map(|_| Mutex::new(None)).collect();
        let labour = || {
            let mut runner = Runner::new(self);
            loop {
                let from = next.fetch_add(TOGETHER, Ordering::Relaxed);
                if from >= runs.end {
                    break;
                }
                let Some(results) = runner.run_all(from..(from + TOGETHER).min(runs.end), stop) else {
                    break;
                };
                for (run, result) in (from..).zip(results) {
                    seen.add(&result);
                    let slot = &slots[(run - runs.start) as usize];
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            }
        };
        if threads <= 1 {
            labour();
        } else {
            std::thread::scope(|scope| {
                for _ in 0..threads.min(slots.len()) {
                    scope.spawn(labour);
                }
            });
        }
        slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Names of the columns of runs, in order.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        self.table_of_runs(0, &[]).columns.into_iter().map(|(name, _)| name).collect()
    }

    fn table_of_runs(&self, first: u64, done: &[RunResult]) -> Table {
        let n = done.len();
        let mut columns: Vec<(String, Column)> = Vec::new();
        let mut add = |name: &str, column: Column| columns.push((name.to_owned(), column));
        add("run", Column::Int((0..n as u64).map(|i| (first + i) as i64).collect()));
        let draws: Vec<Vec<f64>> =
            (0..n as u64).map(|i| self.draws(first + i).into_iter().map(|(_, x)| x).collect()).collect();
        for (at, varied) in self.varied.iter().enumerate() {
            add(&varied.key, Column::Float(draws.iter().map(|drawn| drawn[at]).collect()));
        }
        add("ok", Column::Bool(done.iter().map(|run| run.ended.is_none()).collect()));
        add("steps", Column::Int(done.iter().map(|run| run.steps as i64).collect()));
        let ended = || done.iter().map(|run| run.ended.as_ref());
        add("error", Column::Text(ended().map(|ended| ended.map(|ended| ended.reason.clone())).collect()));
        add("error_time", Column::Perhaps(ended().map(|ended| ended?.time).collect()));
        add("error_joint", Column::Text(ended().map(|ended| ended?.joint.clone()).collect()));
        let mechanism = &self.prepared.served.mechanism;
        let ends = |pick: &dyn Fn(&leastaction::mechanism::State) -> f64| {
            Column::Perhaps(done.iter().map(|run| run.end.as_ref().map(pick)).collect())
        };
        for (at, label) in mechanism.q_labels().iter().enumerate() {
            add(&format!("q.{label}"), ends(&|end| end.q[at]));
        }
        for (at, label) in mechanism.v_labels().iter().enumerate() {
            add(&format!("v.{label}"), ends(&|end| end.v[at]));
        }
        add("t", ends(&|end| end.t));
        for (at, (name, _)) in self.gauges.iter().enumerate() {
            let values = done.iter().map(|run| run.measures.as_ref().map(|measures| measures[at]));
            add(name, Column::Perhaps(values.collect()));
        }
        Table { columns }
    }

    fn table_of_rows(&self, first: u64, done: &[RunResult]) -> Table {
        let width = self.kept.len();
        let counted = done.iter().zip(first..).map(|(result, run)| (run as i64, result.rows.len() / width));
        let runs = counted.flat_map(|(run, count)| std::iter::repeat_n(run, count)).collect();
        let mut columns = vec![("run".to_owned(), Column::Int(runs))];
        for (at, (_, name)) in self.kept.iter().enumerate() {
            let values = done.iter().flat_map(|run| run.rows.chunks_exact(width).map(move |row| row[at]));
            columns.push((name.clone(), Column::Float(values.collect())));
        }
        Table { columns }
    }
}
