//! What the command does, for Python: `simulate` in memory, every other verb as a function, and the command itself.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use leastaction::control::Policy;
use leastaction::io::StateFile;
use leastaction::mechanism::State as CoreState;
use leastaction::trajectory::TrajectoryLayout;
use leastaction_cli::Caller;
use leastaction_study::failure::Failure;
use leastaction_study::output::{RunFolder, cannot_write};
use leastaction_study::report::{self, ReportData};
use leastaction_study::run::Outcome;
use leastaction_study::settings::{Group, SETTINGS, Settings};
use leastaction_study::simulation::{self, Given, Prepared};
use numpy::PyArrayMethods;
use numpy::{PyArray1, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::arrays::{Rows, view};
use crate::errors::{bad_option, failure_error, shape_error, step_error, to_python};
use crate::keywords::{self, Row};
use crate::mechanism::{Mechanism, Shared};
use crate::state::State;
use crate::threads::Watch;

/// What `simulate` can be told.
pub(crate) const SIMULATE: &[Group] = &[
    Group::Step,
    Group::Time,
    Group::Start,
    Group::From,
    Group::Input,
    Group::Policy,
    Group::Change,
    Group::Output,
];

/// A finished simulation: its table, its last state, its summary, its report.
#[pyclass(frozen, module = "leastaction._core")]
pub(crate) struct RunData {
    layout: TrajectoryLayout,
    rows: Vec<f64>,
    /// `state.json` and `summary.json` as they are written.
    state: String,
    summary: Value,
    page: Page,
}

/// A report, written out or not yet.
enum Page {
    None,
    Data(Box<ReportData>),
    Text(String),
}

impl RunData {
    fn rendered(&self) -> Option<String> {
        match &self.page {
            Page::None => None,
            Page::Data(data) => Some(report::text(data)),
            Page::Text(text) => Some(text.clone()),
        }
    }

    fn write(&self, out: &std::path::Path) -> Result<PathBuf, Failure> {
        let mut folder = RunFolder::create(out, &self.layout)?;
        for row in self.rows.chunks_exact(self.layout.width().max(1)) {
            folder.push(row)?;
        }
        let out = folder.finish()?;
        let summary = serde_json::to_string_pretty(&self.summary).unwrap_or_default() + "\n";
        let mut files = vec![("state.json", self.state.clone()), ("summary.json", summary)];
        files.extend(self.rendered().map(|html| ("report.html", html)));
        for (name, text) in files {
            let path = out.join(name);
            leastaction::io::write_atomically(&path, text.as_bytes())
                .map_err(|error| cannot_write(&path, &error))?;
        }
        Ok(out)
    }
}

/// What a run is pickled as: groups of columns, the table, `state.json`, `summary.json` and the page.
type Pickled<'py> = (Vec<(String, Vec<String>)>, Bound<'py, PyAny>, String, String, Option<String>);

#[pymethods]
impl RunData {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.layout.columns().map(str::to_owned).collect()
    }
    /// All rows, a read-only view.
    #[getter]
    fn table<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let own = this.get();
        let width = own.layout.width();
        let flat = view(this.clone().into_any(), &own.rows);
        flat.call_method1("reshape", (own.rows.len() / width.max(1), width))
    }
    /// The summary, as `summary.json` has it.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.summary)
    }
    /// The last state, as `state.json` has it.
    #[getter]
    fn state_text(&self) -> &str {
        &self.state
    }
    /// The report as HTML, if one was wanted.
    fn html(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.rendered())
    }
    /// Writes the files that `leastaction simulate` writes; returns the folder.
    #[pyo3(signature = (folder, /))]
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<PathBuf> {
        py.detach(|| self.write(&folder)).map_err(|failure| failure_error(py, &failure))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let restore = this.py().import("leastaction._core")?.getattr("_restore_run")?;
        let own = this.get();
        let groups = own.layout.groups().iter().map(|g| (g.name.clone(), g.columns.clone())).collect();
        let table = Self::table(this)?;
        Ok((restore, (groups, table, own.state.clone(), own.summary.to_string(), own.rendered())))
    }
}

/// A run as it was pickled.
#[pyfunction]
pub(crate) fn _restore_run(
    groups: Vec<(String, Vec<String>)>,
    table: &Bound<'_, PyArrayDyn<f64>>,
    state: String,
    summary: &str,
    html: Option<String>,
) -> PyResult<RunData> {
    let layout = groups
        .into_iter()
        .fold(TrajectoryLayout::default(), |layout, (name, columns)| layout.with(&name, columns));
    let summary = serde_json::from_str(summary).map_err(|e| crate::errors::internal(&e.to_string()))?;
    let rows = table.to_vec()?;
    Ok(RunData { layout, rows, state, summary, page: html.map_or(Page::None, Page::Text) })
}

/// Simulates in memory; see `leastaction.simulate`. Returns the run, its last state, what stopped it, and remarks.
#[pyfunction]
#[pyo3(signature = (mechanism, *, start, inputs, policy, progress, settings))]
pub(crate) fn _simulate<'py>(
    py: Python<'py>,
    mechanism: &Bound<'py, Mechanism>,
    start: Option<&Bound<'py, State>>,
    inputs: Option<&Bound<'py, PyAny>>,
    policy: Option<&str>,
    progress: Option<Py<PyAny>>,
    settings: &Bound<'py, PyDict>,
) -> PyResult<(RunData, State, Option<Py<PyAny>>, Vec<String>)> {
    let shared = &mechanism.get().shared;
    let said = keywords::settings(settings, SIMULATE)?.over(shared.settings.clone());
    let mut given = Given::default();
    if let Some(start) = start {
        start.get().expect_of(py, shared)?;
        given.start = Some(start.get().inner.clone());
    }
    if let Some(inputs) = inputs {
        let nu = shared.mechanism.nu();
        let rows = Rows::new(inputs, "inputs", nu)?;
        rows.expect_finite(py)?;
        if rows.lead().is_some_and(|lead| lead.len() != 1) {
            return Err(shape_error(py, "inputs", &format!("(steps, {nu})"), "more axes"));
        }
        given.inputs = Some((0..rows.rows()).flat_map(|r| rows.row(r).to_vec()).collect());
    }
    if let Some(text) = policy {
        let policy: Policy = serde_json::from_str(text)
            .map_err(|error| bad_option(py, "policy", "this text", &error.to_string()))?;
        given.policy = Some(policy);
    }
    let name = shared.model.slug.clone();
    let said = Settings { model: said.model.clone().or(Some(name)), ..said };
    let prepared = py.detach(|| simulation::prepare(said, shared.model.clone(), shared.built.clone(), given));
    let prepared = prepared.map_err(|failure| failure_error(py, &failure))?;
    run_prepared(py, &prepared, shared, progress)
}

/// Takes the steps of a simulation and keeps everything in memory.
pub(crate) fn run_prepared(
    py: Python<'_>,
    prepared: &Prepared,
    shared: &Arc<Shared>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(RunData, State, Option<Py<PyAny>>, Vec<String>)> {
    let stop = AtomicBool::new(false);
    let mut rows = Vec::new();
    let mut raised = None;
    let done = py.detach(|| {
        let (plan, notes) = prepared.plan()?;
        let (layout, total) = (prepared.layout()?, plan.steps);
        leastaction_study::memory::expect_room(
            "the table of the run",
            layout.width() as f64 * (total / plan.every + 1) as f64,
        )?;
        let mut watch = Watch::new(&stop);
        let done = prepared.run(
            plan,
            &stop,
            &mut |step| {
                watch.look(|py| match &progress {
                    Some(progress) => progress.bind(py).call1((step, total)).map(|_| ()),
                    None => Ok(()),
                });
            },
            &mut |row: &[f64]| {
                rows.extend_from_slice(row);
                Ok(())
            },
        )?;
        raised = watch.finish().err();
        let state = serde_json::to_string_pretty(&done.state_file(prepared)).unwrap_or_default() + "\n";
        let summary = done.summary(prepared);
        let page = done.report(prepared).map_or(Page::None, |data| Page::Data(Box::new(data)));
        Ok::<_, Failure>((layout, state, summary, page, done.finished, notes))
    });
    let (layout, state, summary, page, finished, notes) =
        done.map_err(|failure| failure_error(py, &failure))?;
    let run = RunData { layout, rows, state, summary, page };
    let last = State::of(shared, finished.last);
    if let Some(error) = raised {
        // What there is stays reachable.
        error.value(py).setattr("partial", (run, last))?;
        return Err(error);
    }
    let error = match &finished.outcome {
        Outcome::Failed(error) => Some(step_error(py, error).into_value(py).into_any()),
        _ => None,
    };
    if let (Some(progress), true) = (&progress, error.is_none()) {
        progress.bind(py).call1((finished.statistics.steps, finished.statistics.steps))?;
    }
    Ok((run, last, error, notes))
}

/// How often Python is asked whether a signal came while a verb runs.
const LOOK: Duration = Duration::from_millis(2);

/// Runs a verb of the command as a function: what `--json` would print, or a typed exception.
///
/// `progress` hears the numbers of every iteration of a search, and `None` at its end.
#[pyfunction]
#[pyo3(signature = (arguments, progress=None, /))]
pub(crate) fn _call<'py>(
    py: Python<'py>,
    arguments: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let stop = Arc::new(AtomicBool::new(false));
    let outcome = py.detach(|| {
        let words =
            std::iter::once(OsString::from("leastaction")).chain(arguments.into_iter().map(Into::into));
        let words: Vec<OsString> = words.collect();
        let (sender, heard) = channel::<Value>();
        let caller = Caller { stop: Arc::clone(&stop), heard: progress.is_some().then(|| sender.clone()) };
        // The channel closes when the verb has ended: nobody waits longer than that.
        let work = std::thread::spawn(move || (leastaction_cli::call(words, caller), drop(sender)).0);
        let mut raised: Option<PyErr> = None;
        loop {
            let said = heard.recv_timeout(LOOK);
            if said == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            if raised.is_none() {
                let tell = |py: Python<'_>| match (&progress, &said) {
                    (Some(progress), Ok(said)) => {
                        progress.bind(py).call1((to_python(py, said)?,)).map(|_| ())
                    }
                    _ => Ok(()),
                };
                raised = Python::attach(|py| py.check_signals().and_then(|()| tell(py))).err();
                if raised.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
        (work.join(), raised)
    });
    let (joined, raised) = outcome;
    let result = joined.map_err(|_| crate::errors::internal("a verb panicked"))?;
    if let Some(error) = raised {
        if let Ok(value) = &result {
            error.value(py).setattr("partial", to_python(py, value)?)?;
        }
        return Err(error);
    }
    if let Some(progress) = &progress {
        progress.bind(py).call1((py.None(),))?;
    }
    to_python(py, &result.map_err(|failure| failure_error(py, &failure))?)
}

/// A motion that `optimize` found, at evenly spaced times: names of the columns, and the table.
#[pyfunction]
#[pyo3(signature = (problem, solution, count, /))]
pub(crate) fn _sample<'py>(
    py: Python<'py>,
    problem: PathBuf,
    solution: PathBuf,
    count: i64,
) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count > 1)
        .ok_or_else(|| bad_option(py, "count", &count.to_string(), "give a whole number greater than 1"))?;
    let sampled = py.detach(|| {
        let mut file = leastaction_study::problem::load(&problem)?;
        leastaction_study::problem::results::sample(&mut file, &solution, count)
    });
    let (layout, rows) = sampled.map_err(|failure| failure_error(py, &failure))?;
    let width = layout.width();
    let table = PyArray1::from_vec(py, rows).call_method1("reshape", (count, width))?;
    Ok((layout.columns().map(str::to_owned).collect(), table))
}

/// The command: does what the arguments say, prints, and returns the exit code.
#[pyfunction]
#[pyo3(signature = (arguments, /))]
pub(crate) fn command(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| leastaction_cli::command(arguments.into_iter().map(OsString::from)))
}

/// The verbs of the command: name, help, and a row per option.
#[pyfunction]
pub(crate) fn _verbs() -> Vec<(String, String, Vec<Row>)> {
    leastaction_cli::verbs()
        .into_iter()
        .map(|(name, about, fields)| {
            (name.to_owned(), about.to_owned(), fields.iter().map(keywords::row).collect())
        })
        .collect()
}

/// The settings that `load`, `Simulator`, `rollout` and `simulate` take, by group.
#[pyfunction]
pub(crate) fn _settings() -> Vec<(String, Row)> {
    let shown = SETTINGS.iter().filter(|setting| !setting.field.flag.is_empty());
    shown.map(|setting| (format!("{:?}", setting.group), keywords::row(&setting.field))).collect()
}

/// The state of a state file's text.
#[pyfunction]
pub(crate) fn _state_of_text(
    py: Python<'_>,
    text: &str,
    mechanism: &Bound<'_, Mechanism>,
) -> PyResult<State> {
    let shared = &mechanism.get().shared;
    let read = serde_json::from_str::<StateFile>(text)
        .map_err(|error| bad_option(py, "state", "this text", &error.to_string()))?;
    let path = PathBuf::from("text");
    let state: CoreState = read
        .state(&shared.mechanism, &path)
        .map_err(|error| failure_error(py, &Failure::from_error(&error)))?;
    Ok(State::of(shared, state))
}
