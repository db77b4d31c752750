//! Many motions of one mechanism: `_rollout` in one call, `BatchSimulator` a step at a time.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use leastaction::batch::{Batch, Inputs, LANES, Plan, Row};
use leastaction::control::Policy;
use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Simulator as CoreSimulator, StepError};
use leastaction::mechanism::{Mechanism as CoreMechanism, State as CoreState};
use leastaction_study::policy::Player;
use leastaction_study::settings::{Group, Settings};
use numpy::{PyArray1, PyArrayDyn};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Output, Rows, common_lead};
use crate::errors::{bad_option, busy, layout_error, shape_error, step_error};
use crate::keywords;
use crate::mechanism::Mechanism;
use crate::plant::Plant;
use crate::simulator::{Engine, Handle, STEPPING, settings_of};
use crate::state::{State, stretched};
use crate::threads::{count, each_block, each_row, whole};

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;
/// Memory of the caller's: positions, velocities, chosen columns.
type Outs<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);
/// Row, steps taken, exception.
type Failures = Vec<(usize, u64, Py<PyAny>)>;

fn failures_of(py: Python<'_>, list: Vec<(usize, u64, StepError)>) -> Failures {
    list.into_iter()
        .map(|(row, steps, error)| (row, steps, step_error(py, &error).into_value(py).into_any()))
        .collect()
}

/// How the inputs of a rollout are laid out.
#[derive(Clone, Copy)]
enum Held {
    Always,
    PerStep,
    PerRow,
    Each,
}

/// A number that a rollout keeps of a state.
#[derive(Clone, Copy)]
enum Column {
    Position(usize),
    Velocity(usize),
    Kinetic,
    Potential,
    Total,
}

impl Column {
    /// From a group and an index inside it, which Python has looked up.
    fn new((group, index): &(String, usize)) -> Self {
        match group.as_str() {
            "q" => Self::Position(*index),
            "v" => Self::Velocity(*index),
            "energy.kinetic" => Self::Kinetic,
            "energy.potential" => Self::Potential,
            _ => Self::Total,
        }
    }

    fn is_energy(self) -> bool {
        matches!(self, Self::Kinetic | Self::Potential | Self::Total)
    }
}

/// Writes columns of states; has a workspace of its own if energies are among them.
struct Picker<'a> {
    columns: &'a [Column],
    dynamics: Option<Box<Dynamics>>,
}

impl<'a> Picker<'a> {
    fn new(mechanism: &CoreMechanism, columns: &'a [Column]) -> Self {
        let energies = columns.iter().any(|column| column.is_energy());
        Self { columns, dynamics: energies.then(|| Box::new(Dynamics::new(mechanism))) }
    }

    fn write(&mut self, mechanism: &CoreMechanism, state: &CoreState, out: &mut [f64]) {
        let energy = self.dynamics.as_mut().map(|dynamics| dynamics.observe(mechanism, &state.q, &state.v));
        for (column, number) in self.columns.iter().zip(out) {
            *number = match (*column, &energy) {
                (Column::Position(i), _) => state.q[i],
                (Column::Velocity(i), _) => state.v[i],
                (Column::Kinetic, Some(energy)) => energy.kinetic,
                (Column::Potential, Some(energy)) => energy.potential,
                (Column::Total, Some(energy)) => energy.total(),
                (_, None) => f64::NAN,
            };
        }
    }
}

/// What a rollout can be told.
const ROLLOUT: &[Group] = &[Group::Step, Group::Change, Group::Time];

/// Runs every row; see `leastaction.rollout`.
#[pyfunction]
#[pyo3(signature = (mechanism, q, v, u, *, steps, every, record, columns, out, hold, threads, policy, feedback, progress, start, settings))]
pub(crate) fn _rollout<'py>(
    py: Python<'py>,
    mechanism: &Bound<'py, Mechanism>,
    q: Option<&Bound<'py, PyAny>>,
    v: Option<&Bound<'py, PyAny>>,
    u: Option<&Bound<'py, PyAny>>,
    steps: usize,
    every: usize,
    record: &str,
    columns: Option<Vec<(String, usize)>>,
    out: Outs<'py>,
    hold: &str,
    threads: Option<usize>,
    policy: Option<&str>,
    feedback: bool,
    progress: Option<Py<PyAny>>,
    start: Option<&Bound<'py, State>>,
    settings: &Bound<'py, PyDict>,
) -> PyResult<(Array<'py>, Array<'py>, Option<Array<'py>>, Failures, f64)> {
    let shared = &mechanism.get().shared;
    let columns = columns.map(|columns| columns.iter().map(Column::new).collect::<Vec<_>>());
    let engine = Engine::new(py, shared, keywords::settings(settings, ROLLOUT)?)?;
    let m = &engine.handle;
    let (nq, nv, nu, h) = (m.nq(), m.nv(), m.nu(), engine.step);
    let base = match start {
        Some(start) => {
            start.get().expect_of(py, shared)?;
            start.get().inner.clone()
        }
        None => m.start_state(),
    };
    let q = Rows::or(q, "q", nq, || base.q.clone())?;
    let v = Rows::or(v, "v", nv, || base.v.clone())?;
    let u = Rows::or(u, "u", nu, || vec![0.0; nu])?;
    for rows in [&q, &v, &u] {
        rows.expect_finite(py)?;
    }
    for r in 0..q.rows() {
        if let Some(joint) = shared.stretched(q.row(r)) {
            return Err(stretched(py, joint));
        }
    }
    let lead = common_lead(py, &[&q, &v])?;
    let (held, rows) = match (u.lead(), lead.as_deref()) {
        (None, lead) => (Held::Always, lead.map_or(1, |lead| lead.iter().product())),
        (Some([n]), Some([rows])) if hold == "row" && n == rows => (Held::PerRow, *rows),
        (Some([n]), None) if hold == "row" => (Held::PerRow, *n),
        (Some([n]), lead) if hold == "step" && *n == steps => {
            (Held::PerStep, lead.map_or(1, |lead| lead.iter().product()))
        }
        (Some([n, k]), Some([rows])) if n == rows && *k == steps => (Held::Each, *rows),
        (Some([n, k]), None) if *k == steps => (Held::Each, *n),
        (Some(_), lead) => {
            let rows = lead.map_or(1, |lead| lead.iter().product());
            let expected = format!(
                "({nu},), ({steps}, {nu}), ({rows}, {nu}) with hold=\"row\", or ({rows}, {steps}, {nu})"
            );
            return Err(shape_error(py, "u", &expected, &format!("{} vectors", u.rows())));
        }
    };
    let samples = match record {
        "end" => None,
        "rows" => Some(steps / every + 1),
        other => return Err(bad_option(py, "record", other, "give `end` or `rows`")),
    };
    let player: Option<Player> = match policy {
        None => None,
        Some(text) => {
            let policy: Policy = serde_json::from_str(text)
                .map_err(|error| bad_option(py, "policy", "this text", &error.to_string()))?;
            policy.fits(m).map_err(|reason| bad_option(py, "policy", &policy.model, &reason))?;
            Some(Player::new(policy, feedback))
        }
    };
    let batch: Vec<usize> = match (&lead, held) {
        (Some(lead), _) => lead.clone(),
        (None, Held::PerRow | Held::Each) => vec![rows],
        (None, _) => Vec::new(),
    };
    let axis: Vec<usize> = batch.iter().copied().chain(samples).collect();
    // Where columns are chosen states are kept at the ends alone.
    let states = if columns.is_some() { &batch } else { &axis };
    let given = [&q, &v, &u];
    let mut out_q = Output::take(py, out.0.as_ref(), Some(states), &[nq], &given)?;
    let mut out_v = Output::take(py, out.1.as_ref(), Some(states), &[nv], &given)?;
    if out_q.overlaps(&out_v) {
        return Err(layout_error(py, "out", "two arrays in the same memory", "give two arrays"));
    }
    let width = columns.as_ref().map_or(0, Vec::len);
    let mut out_table = match columns {
        Some(_) => Some(Output::take(py, out.2.as_ref(), Some(&axis), &[width], &given)?),
        None => None,
    };
    for output in [Some(&mut out_q), Some(&mut out_v), out_table.as_mut()].into_iter().flatten() {
        output.numbers().fill(f64::NAN);
    }
    let per = samples.unwrap_or(1);
    let (write_q, write_v) = (out_q.writer(nq), out_v.writer(nv));
    let write_table = out_table.as_ref().map(|table| table.writer(width));
    let (read_q, read_v, read_u) = (q.reader(), v.reader(), u.reader());
    let failed: Mutex<Vec<(usize, u64, StepError)>> = Mutex::new(Vec::new());
    let stop = AtomicBool::new(false);
    let threads = count(py, threads)?;
    let mut tell = |py: Python<'_>, done: usize| match &progress {
        Some(progress) => progress.bind(py).call1((done, rows)).map(|_| ()),
        None => Ok(()),
    };
    let plan =
        Plan { every: if samples.is_some() { every } else { 0 }, stop: Some(&stop), ..Plan::new(steps, h) };
    // What a batch may refuse, it refuses here.
    engine.batch().map_err(|error| step_error(py, &error))?;
    let memory = || {
        let players = if player.is_some() { LANES } else { 0 };
        let picker = columns.as_ref().map(|columns| Picker::new(&engine.handle, columns));
        (engine.batch().ok(), player.iter().cycle().take(players).cloned().collect(), picker)
    };
    type Own<'a> = (Option<Batch<Handle>>, Vec<Player>, Option<Picker<'a>>);
    let work = |(batch, players, picker): &mut Own<'_>, block: Range<usize>| {
        let Some(batch) = batch else { return };
        let start = |r: usize| CoreState {
            t: base.t,
            q: read_q.row(r).to_vec(),
            v: read_v.row(r).to_vec(),
            act: base.act.clone(),
            inputs: base.inputs.clone(),
            warm: None,
        };
        let handle = &engine.handle;
        let mut laws: Vec<_> = players
            .iter_mut()
            .map(|player| {
                // A policy remembers which of its steps acts: each row begins at its first.
                player.rewind();
                move |k: usize, state: &CoreState, u: &mut [f64]| {
                    u.copy_from_slice(player.at(handle, k as f64 * h, state));
                }
            })
            .collect();
        let mut laws = laws.iter_mut();
        let mut runs: Vec<Row<'_>> = block
            .clone()
            .map(|r| {
                let per_step = |range: Range<usize>| {
                    let (values, stride) = read_u.rows(range);
                    Inputs::PerStep { values, stride }
                };
                let inputs = match (laws.next(), held) {
                    (Some(law), _) => Inputs::Law(law),
                    (None, Held::Always) => Inputs::Held(read_u.row(0)),
                    (None, Held::PerRow) => Inputs::Held(read_u.row(r)),
                    (None, Held::PerStep) => per_step(0..steps),
                    (None, Held::Each) => per_step(r * steps..(r + 1) * steps),
                };
                Row::new(start(r), inputs)
            })
            .collect();
        let keep = |slot: usize, state: &CoreState| {
            write_q.row(slot).copy_from_slice(&state.q);
            write_v.row(slot).copy_from_slice(&state.v);
        };
        let mut put = |slot: usize, state: &CoreState| match (picker.as_mut(), &write_table) {
            (Some(picker), Some(table)) => picker.write(handle, state, table.row(slot)),
            _ => keep(slot, state),
        };
        batch.run(&mut runs, &plan, |i, step, state| put((block.start + i) * per + step / every, state));
        for (r, run) in block.zip(runs) {
            match run.failure {
                Some(error) => {
                    let list = failed.lock();
                    list.unwrap_or_else(PoisonError::into_inner).push((r, run.steps as u64, error));
                }
                None if run.steps == steps => {
                    if samples.is_none() {
                        put(r, &run.state);
                    }
                    if write_table.is_some() {
                        keep(r, &run.state);
                    }
                }
                None => {}
            }
        }
    };
    let done = each_block(py, rows, LANES, threads, &stop, &mut tell, memory, work);
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_by_key(|(row, ..)| *row);
    let table = out_table.map(Output::into_array);
    let result = (out_q.into_array(), out_v.into_array(), table, failures_of(py, failed), h);
    match done {
        Ok(()) => Ok(result),
        Err(error) => {
            // What there is stays reachable.
            error.value(py).setattr("partial", result)?;
            Err(error)
        }
    }
}

struct Motion {
    simulator: CoreSimulator<Handle>,
    failure: Option<StepError>,
    /// Where it was before the step that failed, or is.
    q: Vec<f64>,
    v: Vec<f64>,
    t: f64,
    steps: u64,
}

impl Motion {
    fn new(engine: &Engine, state: &CoreState) -> Result<Self, StepError> {
        let mut row = Self {
            simulator: engine.start_in_batch(state)?,
            failure: None,
            q: Vec::new(),
            v: Vec::new(),
            t: state.t,
            steps: 0,
        };
        row.read();
        Ok(row)
    }

    fn read(&mut self) {
        let state = self.simulator.state();
        self.q.clone_from(&state.q);
        self.v.clone_from(&state.v);
        self.t = state.t;
    }

    fn step(&mut self, u: &[f64], h: f64, steps: usize, stop: &AtomicBool) {
        for _ in 0..steps {
            if self.failure.is_some() || stop.load(Ordering::Relaxed) {
                return;
            }
            match self.simulator.step(u, h) {
                Ok(_) => {
                    self.steps += 1;
                    self.read();
                }
                Err(error) => self.failure = Some(error),
            }
        }
    }
}

/// Fewer steps are taken by the calling thread where there is one only; Ctrl-C waits for them.
const ALONE: usize = 512;

/// Many motions of one mechanism, stepped together on all processors.
///
/// A row whose step fails stays where it was, `ok` says so, and the others go on.
///
/// >>> import leastaction as la
/// >>> batch = la.BatchSimulator(la.load("@chain/2"), 5, step=0.01)
/// >>> batch.step(steps=10)
/// >>> batch.q.shape, bool(batch.ok.all())
/// ((5, 2), True)
#[pyclass(frozen, module = "leastaction._core", weakref)]
pub(crate) struct BatchSimulator {
    engine: Engine,
    threads: usize,
    rows: Mutex<Vec<Motion>>,
}

impl BatchSimulator {
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Vec<Motion>>> {
        match self.rows.try_lock() {
            Ok(rows) => Ok(rows),
            Err(TryLockError::Poisoned(rows)) => Ok(rows.into_inner()),
            Err(TryLockError::WouldBlock) => Err(busy(py)),
        }
    }

    fn table<'py>(
        &self,
        py: Python<'py>,
        width: usize,
        pick: impl Fn(&Motion) -> &[f64],
    ) -> PyResult<Array<'py>> {
        let rows = self.lock(py)?;
        let mut out = Output::new(py, Some(&[rows.len()]), &[width])?;
        for (target, row) in out.numbers().chunks_exact_mut(width.max(1)).zip(rows.iter()) {
            target.copy_from_slice(pick(row));
        }
        Ok(out.into_array())
    }

    fn from_states(py: Python<'_>, engine: Engine, threads: usize, states: &[CoreState]) -> PyResult<Self> {
        let cells: Vec<Mutex<Option<Result<Motion, StepError>>>> =
            states.iter().map(|_| Mutex::new(None)).collect();
        let begin = |r: usize| {
            *cells[r].lock().unwrap_or_else(PoisonError::into_inner) = Some(Motion::new(&engine, &states[r]));
        };
        if states.len() < 16 {
            py.detach(|| (0..states.len()).for_each(begin));
        } else {
            let stop = AtomicBool::new(false);
            let begun =
                each_row(py, states.len(), threads, &stop, &mut |_, _| Ok(()), || (), |(), r| begin(r));
            if let Err(stopped) = begun {
                // Thousands of workspaces take a while to be given back: whoever pressed Ctrl-C does not wait for it.
                std::thread::spawn(move || drop(cells));
                return Err(stopped);
            }
        }
        let made: Result<Vec<Motion>, StepError> = cells
            .into_iter()
            .filter_map(|cell| cell.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let rows = made.map_err(|error| step_error(py, &error))?;
        Ok(Self { engine, threads, rows: Mutex::new(rows) })
    }
}

#[pymethods]
impl BatchSimulator {
    #[new]
    #[pyo3(signature = (mechanism, rows, /, *, q = None, v = None, threads = None, **settings))]
    fn new<'py>(
        py: Python<'py>,
        mechanism: &Bound<'py, Mechanism>,
        rows: i64,
        q: Option<&Bound<'py, PyAny>>,
        v: Option<&Bound<'py, PyAny>>,
        threads: Option<usize>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let rows = whole(py, "rows", rows)?;
        let engine = Engine::of_keywords(py, mechanism, settings)?;
        let start = engine.handle.start_state();
        let states = starts(py, &engine, &start, rows, q, v)?;
        let threads = count(py, threads)?;
        Self::from_states(py, engine, threads, &states)
    }

    /// Number of rows.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.len())
    }
    /// Positions, one row per motion; a new array.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.table(py, self.engine.handle.nq(), |row| &row.q)
    }
    /// Velocities, one row per motion; a new array.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.table(py, self.engine.handle.nv(), |row| &row.v)
    }
    /// Times in seconds.
    #[getter]
    fn t<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.lock(py)?.iter().map(|row| row.t).collect()))
    }
    /// Which rows are still in motion.
    #[getter]
    fn ok<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        Ok(PyArray1::from_vec(py, self.lock(py)?.iter().map(|row| row.failure.is_none()).collect()))
    }
    /// Rows that failed: row, steps taken, exception.
    #[getter]
    fn failures(&self, py: Python<'_>) -> PyResult<Failures> {
        let rows = self.lock(py)?;
        let failed = rows
            .iter()
            .enumerate()
            .filter_map(|(r, row)| row.failure.clone().map(|error| (r, row.steps, error)));
        Ok(failures_of(py, failed.collect()))
    }
    /// Length of a step in seconds.
    #[getter]
    fn step_length(&self) -> f64 {
        self.engine.step
    }
    /// The mechanism.
    #[getter]
    fn mechanism(&self) -> Mechanism {
        Mechanism { shared: Arc::clone(&self.engine.shared) }
    }

    /// Steps all rows that have not failed, `steps` times, with `u` held: `nu` numbers, or one row per motion. Ctrl-C leaves each row
    /// where it has come to; `t` says when.
    #[pyo3(signature = (u = None, *, steps = 1))]
    fn step<'py>(&self, py: Python<'py>, u: Option<&Bound<'py, PyAny>>, steps: i64) -> PyResult<()> {
        let steps = whole(py, "steps", steps)?;
        let (nu, h) = (self.engine.handle.nu(), self.engine.step);
        let u = Rows::or(u, "u", nu, || vec![0.0; nu])?;
        u.expect_finite(py)?;
        let mut rows = self.lock(py)?;
        if u.lead().is_some_and(|lead| lead != [rows.len()]) {
            let expected = format!("({nu},) or ({}, {nu})", rows.len());
            return Err(shape_error(py, "u", &expected, &format!("{} rows", u.rows())));
        }
        let reader = u.reader();
        let stop = AtomicBool::new(false);
        if rows.len().saturating_mul(steps) < if self.threads == 1 { ALONE } else { 16 } {
            let rows = &mut *rows;
            py.detach(|| {
                rows.iter_mut().enumerate().for_each(|(r, row)| row.step(reader.row(r), h, steps, &stop))
            });
            return Ok(());
        }
        let cells: Vec<Mutex<&mut Motion>> = rows.iter_mut().map(Mutex::new).collect();
        each_row(
            py,
            cells.len(),
            self.threads,
            &stop,
            &mut |_, _| Ok(()),
            || (),
            |(), r| {
                if let Ok(mut row) = cells[r].lock() {
                    row.step(reader.row(r), h, steps, &stop);
                }
            },
        )
    }

    /// Derivatives of the next step of every row in tangents: `A` (rows × 2 nv × 2 nv) and `B` (rows × 2 nv × nu), with `u` held.
    #[pyo3(signature = (u = None))]
    fn linearize<'py>(
        &self,
        py: Python<'py>,
        u: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let (q, v) = (self.q(py)?, self.v(py)?);
        let plant = Plant::of(py, self.engine.clone(), self.threads, Vec::new())?;
        let (_, _, a, b, _) = plant.linearize(py, q.as_any(), v.as_any(), u)?;
        Ok((a, b))
    }

    /// Puts rows (indices) somewhere else; without `q` and `v` at the model's start. Failures of these rows are forgotten.
    #[pyo3(signature = (rows = None, *, q = None, v = None))]
    fn reset<'py>(
        &self,
        py: Python<'py>,
        rows: Option<Vec<usize>>,
        q: Option<&Bound<'py, PyAny>>,
        v: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let mut all = self.lock(py)?;
        let which = rows.unwrap_or_else(|| (0..all.len()).collect());
        if let Some(row) = which.iter().find(|row| **row >= all.len()) {
            return Err(bad_option(py, "rows", &row.to_string(), &format!("there are {} rows", all.len())));
        }
        let start = self.engine.handle.start_state();
        let states = starts(py, &self.engine, &start, which.len(), q, v)?;
        for (row, state) in which.into_iter().zip(&states) {
            let target = &mut all[row];
            target.simulator.restart(state).map_err(|error| step_error(py, &error))?;
            (target.failure, target.steps) = (None, 0);
            target.read();
        }
        Ok(())
    }

    /// The present states with what the integrator needs to continue bit for bit.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<Vec<State>> {
        let mut rows = self.lock(py)?;
        let state = |row: &mut Motion| State::of(&self.engine.shared, row.simulator.checkpoint());
        Ok(rows.iter_mut().map(state).collect())
    }

    fn __repr__(&self) -> String {
        format!("<BatchSimulator of `{}`>", self.engine.handle.name())
    }

    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Mechanism, String, usize, Vec<State>))> {
        let py = this.py();
        let restore = py.import("leastaction._core")?.getattr("_restore_batch")?;
        let own = this.get();
        let settings: &Settings = &own.engine.settings;
        Ok((restore, (own.mechanism(), settings.to_toml(), own.threads, own.checkpoint(py)?)))
    }
}

/// A batch as it was pickled. Failures are not kept: such a row is where it stayed, and may be stepped again.
#[pyfunction]
pub(crate) fn _restore_batch(
    py: Python<'_>,
    mechanism: &Bound<'_, Mechanism>,
    settings: &str,
    threads: usize,
    states: Vec<Bound<'_, State>>,
) -> PyResult<BatchSimulator> {
    debug_assert!(STEPPING.contains(&Group::Step));
    let engine = Engine::new(py, &mechanism.get().shared, settings_of(settings)?)?;
    let states: Vec<CoreState> = states.iter().map(|state| state.get().inner.clone()).collect();
    BatchSimulator::from_states(py, engine, threads, &states)
}

/// States of a batch: vectors stand for every row.
fn starts<'py>(
    py: Python<'py>,
    engine: &Engine,
    base: &CoreState,
    rows: usize,
    q: Option<&Bound<'py, PyAny>>,
    v: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<CoreState>> {
    let q = Rows::or(q, "q", base.q.len(), || base.q.clone())?;
    let v = Rows::or(v, "v", base.v.len(), || base.v.clone())?;
    for given in [&q, &v] {
        given.expect_finite(py)?;
    }
    let lead = common_lead(py, &[&q, &v])?;
    if lead.as_ref().is_some_and(|lead| *lead != [rows]) {
        return Err(shape_error(py, "q, v", &format!("{rows} rows"), &format!("{lead:?}")));
    }
    let mut states: Vec<CoreState> = Vec::new();
    // More than there can be is an error here, not the end of the process on the way.
    states
        .try_reserve_exact(rows)
        .map_err(|_| PyMemoryError::new_err(format!("{rows} rows do not fit into memory")))?;
    for r in 0..rows {
        let state = CoreState {
            t: base.t,
            q: q.row(r).to_vec(),
            v: v.row(r).to_vec(),
            act: base.act.clone(),
            inputs: base.inputs.clone(),
            warm: None,
        };
        if let Some(joint) = engine.shared.stretched(&state.q) {
            return Err(stretched(py, joint));
        }
        states.push(state);
    }
    Ok(states)
}
