//! Sweeps for Python: what a sweep is, its chunks as bytes, and the folder that keeps them. Executors are Python's.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use leastaction_study::failure::Failure;
use leastaction_study::sweep::{Asked, Driven, Folder, Parts, Seen, Sweep, conclude, drive};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{failure_error, internal, to_python};
use crate::keywords;
use crate::mechanism::{Mechanism, Shared};
use crate::state::State;
use crate::study::{RunData, SIMULATE, run_prepared};
use crate::threads::count;

/// A sweep. See `leastaction.Sweep`.
#[pyclass(frozen, module = "leastaction._core")]
pub(crate) struct _Sweep {
    inner: Arc<Sweep>,
}

fn asked(
    settings: &Bound<'_, PyDict>,
    runs: Option<u64>,
    seed: Option<u64>,
    chunk: Option<u64>,
) -> PyResult<Asked> {
    let groups: Vec<_> = SIMULATE.iter().copied().chain([leastaction_study::settings::Group::Read]).collect();
    Ok(Asked { settings: keywords::settings(settings, &groups)?, runs, seed, chunk })
}

fn made(py: Python<'_>, sweep: Result<Sweep, Failure>) -> PyResult<_Sweep> {
    let inner = sweep.map_err(|failure| failure_error(py, &failure))?;
    Ok(_Sweep { inner: Arc::new(inner) })
}

#[pymethods]
impl _Sweep {
    /// Of a sweep file, or the `sweep.json` of a folder.
    #[staticmethod]
    #[pyo3(signature = (path, /, *, runs, seed, chunk, settings))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        runs: Option<u64>,
        seed: Option<u64>,
        chunk: Option<u64>,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let asked = asked(settings, runs, seed, chunk)?;
        made(py, py.detach(|| Sweep::load(&path, asked)))
    }

    /// Of a mechanism and the tables of a sweep file.
    #[staticmethod]
    #[pyo3(signature = (mechanism, text, /, *, settings))]
    fn of(
        py: Python<'_>,
        mechanism: &Bound<'_, Mechanism>,
        text: &str,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let shared = &mechanism.get().shared;
        let mut asked = asked(settings, None, None, None)?;
        asked.settings = asked.settings.over(shared.settings.clone());
        let (model, built) = (shared.model.clone(), shared.built.clone());
        made(py, py.detach(|| Sweep::of_model(text, model, built, asked)))
    }

    /// Of the text that another process was given.
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn from_text(py: Python<'_>, text: &str) -> PyResult<Self> {
        made(py, py.detach(|| Sweep::from_json(text, Path::new("sweep.json"))))
    }

    /// Everything about it, for another process.
    fn text(&self) -> String {
        self.inner.to_json().to_string()
    }
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }
    #[getter]
    fn runs(&self) -> u64 {
        self.inner.runs
    }
    #[getter]
    fn chunk(&self) -> u64 {
        self.inner.chunk
    }
    #[getter]
    fn chunks(&self) -> u64 {
        self.inner.chunks()
    }
    #[getter]
    fn steps(&self) -> u64 {
        self.inner.steps()
    }
    #[getter]
    fn hash(&self) -> &str {
        self.inner.hash()
    }
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.inner.columns()
    }

    /// What varies in a run.
    #[pyo3(signature = (run, /))]
    fn draw<'py>(&self, py: Python<'py>, run: u64) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (key, value) in self.inner.draws(run) {
            dict.set_item(key, value)?;
        }
        Ok(dict)
    }

    /// One run with everything that `simulate` gives.
    #[pyo3(signature = (run, /, *, progress, settings))]
    fn simulate(
        &self,
        py: Python<'_>,
        run: u64,
        progress: Option<Py<PyAny>>,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<(RunData, State, Option<Py<PyAny>>, Vec<String>)> {
        let flags = asked(settings, None, None, None)?.settings;
        let (prepared, shared) = py
            .detach(|| {
                let prepared = self.inner.prepare(run, |own| flags.over(own))?;
                let built = prepared.served.mechanism.clone();
                let shared = Shared::new(prepared.model.clone(), built, Default::default())?;
                Ok::<_, Failure>((prepared, Arc::new(shared)))
            })
            .map_err(|failure| failure_error(py, &failure))?;
        run_prepared(py, &prepared, &shared, progress)
    }

    /// The files of a chunk, as bytes.
    #[pyo3(signature = (index, /, *, threads = 1))]
    fn parts<'py>(
        &self,
        py: Python<'py>,
        index: u64,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
        let stop = AtomicBool::new(false);
        let parts = py.detach(|| self.inner.chunk(index, threads.max(1), &stop, &Seen::default()));
        let Parts { runs, rows } = parts.ok_or_else(|| internal("a chunk was not computed"))?;
        Ok((PyBytes::new(py, &runs), rows.map(|rows| PyBytes::new(py, &rows))))
    }
}

/// The folder of a sweep, held by this process until it is closed.
#[pyclass(frozen, module = "leastaction._core")]
pub(crate) struct _SweepFolder {
    sweep: Arc<Sweep>,
    folder: RwLock<Option<Folder>>,
}

impl _SweepFolder {
    /// Does something with the folder, without the interpreter: disks are slow.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Folder) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let done = py.detach(|| {
            let folder = self.folder.read().unwrap_or_else(PoisonError::into_inner);
            folder.as_ref().map(work)
        });
        done.ok_or_else(|| internal("the folder is closed"))?.map_err(|failure| failure_error(py, &failure))
    }
}

#[pymethods]
impl _SweepFolder {
    #[new]
    #[pyo3(signature = (sweep, path, /, *, fresh = false))]
    fn new(py: Python<'_>, sweep: &Bound<'_, _Sweep>, path: PathBuf, fresh: bool) -> PyResult<Self> {
        let sweep = Arc::clone(&sweep.get().inner);
        let folder = py.detach(|| Folder::open(&path, &sweep, fresh));
        let folder = folder.map_err(|failure| failure_error(py, &failure))?;
        Ok(Self { sweep, folder: RwLock::new(Some(folder)) })
    }

    /// Chunks that are still to be computed.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.with(py, |folder| Ok(folder.missing()))
    }

    /// Keeps the files of a chunk; several threads may do so at once.
    #[pyo3(signature = (index, runs, rows, /))]
    fn put(&self, py: Python<'_>, index: u64, runs: &[u8], rows: Option<&[u8]>) -> PyResult<()> {
        let parts = Parts { runs: runs.to_vec(), rows: rows.map(<[u8]>::to_vec) };
        self.with(py, |folder| folder.put(index, &parts))
    }

    /// Computes what is missing on threads of this process.
    #[pyo3(signature = (*, threads, progress))]
    fn drive(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, f64)> {
        let threads = count(py, threads)?;
        let stop = AtomicBool::new(false);
        let mut raised = None;
        let driven = self.with(py, |folder| {
            let before = (self.sweep.chunks() - folder.missing().len() as u64) * self.sweep.chunk;
            let total = self.sweep.runs;
            let mut tell = |seen: &Seen| {
                let done = (before + seen.runs.load(Ordering::Relaxed)).min(total);
                let said = Python::attach(|py| {
                    py.check_signals()?;
                    progress
                        .as_ref()
                        .map_or(Ok(()), |progress| progress.bind(py).call1((done, total)).map(|_| ()))
                });
                if let Err(error) = said {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            };
            drive(&self.sweep, folder, threads, &stop, &mut tell)
        })?;
        raised.map_or(Ok((driven.runs, driven.steps, driven.wall)), Err)
    }

    /// Summary and page, when nothing is missing.
    #[pyo3(signature = (runs, steps, wall, /, *, play))]
    fn conclude<'py>(
        &self,
        py: Python<'py>,
        runs: u64,
        steps: u64,
        wall: f64,
        play: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let driven = Driven { complete: true, runs, steps, wall };
        let stop = AtomicBool::new(false);
        let summary = self.with(py, |folder| conclude(&self.sweep, folder, &driven, play, &stop))?;
        to_python(py, summary.0.json())
    }

    /// Lets the folder go.
    fn close(&self, py: Python<'_>) {
        py.detach(|| *self.folder.write().unwrap_or_else(PoisonError::into_inner) = None);
    }
}
