//! `Simulator`: one mechanism in motion, a step at a time.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use leastaction::batch::Batch;
use leastaction::integrator::{Method, Simulator as CoreSimulator, StepError};
use leastaction::mechanism::{Mechanism as Model3, State as CoreState};
use leastaction_study::serve::{self, Served};
use leastaction_study::settings::{DEFAULT_STEP, Group, Settings};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::Rows;
use crate::errors::{bad_option, busy, failure_error, shape_error, step_error};
use crate::keywords;
use crate::mechanism::{Mechanism, Shared};
use crate::state::State;
use crate::threads::{Watch, whole};

/// What a simulator can be told.
pub(crate) const STEPPING: &[Group] = &[Group::Step, Group::Derivative, Group::Change];

/// Mechanism and integrator, kept together by everyone who steps.
#[derive(Clone, Debug)]
pub(crate) struct Handle(pub(crate) Arc<Served>);

impl Deref for Handle {
    type Target = Model3;
    fn deref(&self) -> &Model3 {
        &self.0.mechanism
    }
}

/// A mechanism with the integrator that its settings choose.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) shared: Arc<Shared>,
    pub(crate) handle: Handle,
    /// What was said to the simulator, without what was said to `load`.
    pub(crate) settings: Settings,
    pub(crate) step: f64,
}

impl Engine {
    pub(crate) fn new(py: Python<'_>, shared: &Arc<Shared>, settings: Settings) -> PyResult<Self> {
        let all = settings.clone().over(shared.settings.clone());
        let step = all.step.unwrap_or(DEFAULT_STEP);
        let served = serve::prepare(&shared.model, shared.built.clone(), &all)
            .map_err(|failure| failure_error(py, &failure))?;
        Ok(Self { shared: Arc::clone(shared), handle: Handle(Arc::new(served)), settings, step })
    }

    pub(crate) fn of_keywords(
        py: Python<'_>,
        mechanism: &Bound<'_, Mechanism>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = match given {
            Some(given) => keywords::settings(given, STEPPING)?,
            None => Settings::default(),
        };
        Self::new(py, &mechanism.get().shared, settings)
    }

    pub(crate) fn start(&self, state: &CoreState) -> Result<CoreSimulator<Handle>, StepError> {
        CoreSimulator::new(self.handle.clone(), self.handle.0.method, &self.handle.0.options, state)
    }

    /// A simulation whose numbers are those of a row of [`batch`](Self::batch).
    pub(crate) fn start_in_batch(&self, state: &CoreState) -> Result<CoreSimulator<Handle>, StepError> {
        let served = &self.handle.0;
        CoreSimulator::new(self.handle.clone(), served.method, &served.options.for_batch(), state)
    }

    pub(crate) fn batch(&self) -> Result<Batch<Handle>, StepError> {
        Batch::new(self.handle.clone(), self.handle.0.method, &self.handle.0.options)
    }
}

/// A mechanism in motion.
///
/// `Simulator(mech, step=0.005, order=4)` takes the settings of the command's `simulate` that say how time is stepped.
/// Checkpoints, pickles and copies continue bit for bit.
///
/// >>> import leastaction as la
/// >>> sim = la.Simulator(la.load("@four-bar"), step=0.01)
/// >>> sim.run(100)
/// >>> round(sim.state.t, 9), sim.gap < 1e-9, len(sim.joint_forces())
/// (1.0, True, 4)
#[pyclass(frozen, module = "leastaction._core", weakref)]
pub(crate) struct Simulator {
    engine: Engine,
    running: Mutex<CoreSimulator<Handle>>,
}

impl Simulator {
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, CoreSimulator<Handle>>> {
        match self.running.try_lock() {
            Ok(running) => Ok(running),
            // A panic inside left the simulation where it was.
            Err(TryLockError::Poisoned(running)) => Ok(running.into_inner()),
            Err(TryLockError::WouldBlock) => Err(busy(py)),
        }
    }

    fn from_state(py: Python<'_>, engine: Engine, state: &CoreState) -> PyResult<Self> {
        let running = py.detach(|| engine.start(state)).map_err(|error| step_error(py, &error))?;
        Ok(Self { engine, running: Mutex::new(running) })
    }

    fn length(&self, py: Python<'_>, step: Option<f64>) -> PyResult<f64> {
        match step {
            None => Ok(self.engine.step),
            Some(h) if h > 0.0 && h.is_finite() => Ok(h),
            Some(h) => Err(bad_option(py, "step", &h.to_string(), "give a number greater than 0")),
        }
    }
}

#[pymethods]
impl Simulator {
    #[new]
    #[pyo3(signature = (mechanism, /, *, start = None, q = None, v = None, **settings))]
    fn new<'py>(
        py: Python<'py>,
        mechanism: &Bound<'py, Mechanism>,
        start: Option<&Bound<'py, State>>,
        q: Option<&Bound<'py, PyAny>>,
        v: Option<&Bound<'py, PyAny>>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let engine = Engine::of_keywords(py, mechanism, settings)?;
        let mut state = match start {
            Some(start) => {
                start.get().expect_of(py, &engine.shared)?;
                start.get().inner.clone()
            }
            None => engine.handle.start_state(),
        };
        if q.is_some() || v.is_some() {
            state.warm = None;
        }
        let state = State::changed(py, &engine.shared, state, q, v)?;
        Self::from_state(py, engine, &state.inner)
    }

    /// Takes one step with the inputs `u` held; `step` in place of the simulator's own length.
    #[pyo3(signature = (u = None, *, step = None))]
    fn step<'py>(&self, py: Python<'py>, u: Option<&Bound<'py, PyAny>>, step: Option<f64>) -> PyResult<()> {
        let nu = self.engine.handle.nu();
        let h = self.length(py, step)?;
        let u = Rows::or(u, "u", nu, || vec![0.0; nu])?;
        if u.is_batch() {
            return Err(shape_error(py, "u", &format!("({nu},)"), "several rows"));
        }
        u.expect_finite(py)?;
        let mut running = self.lock(py)?;
        running.step(u.row(0), h).map(|_| ()).map_err(|error| step_error(py, &error))
    }

    /// Takes many steps. `u` is held (`nu` numbers), or has one row per step.
    ///
    /// Ctrl-C ends it between two steps; the state is then where it came to.
    #[pyo3(signature = (steps, u = None, *, step = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        steps: i64,
        u: Option<&Bound<'py, PyAny>>,
        step: Option<f64>,
    ) -> PyResult<()> {
        let steps = whole(py, "steps", steps)?;
        let nu = self.engine.handle.nu();
        let h = self.length(py, step)?;
        let u = Rows::or(u, "u", nu, || vec![0.0; nu])?;
        if u.lead().is_some_and(|lead| lead != [steps]) {
            let expected = format!("({nu},) or ({steps}, {nu})");
            return Err(shape_error(py, "u", &expected, &format!("{} rows", u.rows())));
        }
        u.expect_finite(py)?;
        let mut running = self.lock(py)?;
        let (reader, stop) = (u.reader(), AtomicBool::new(false));
        let simulator = &mut *running;
        py.detach(|| {
            let mut watch = Watch::new(&stop);
            for k in 0..steps {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                if let Err(error) = simulator.step(reader.row(k), h) {
                    return Err(Python::attach(|py| step_error(py, &error)));
                }
                watch.look(|_| Ok(()));
            }
            watch.finish()
        })
    }

    /// The present state, without what the integrator needs to continue; see `checkpoint`.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<State> {
        Ok(State::of(&self.engine.shared, self.lock(py)?.state().clone()))
    }
    /// The present state with what the integrator needs to continue bit for bit.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<State> {
        Ok(State::of(&self.engine.shared, self.lock(py)?.checkpoint()))
    }
    /// Begins again from a state.
    #[pyo3(signature = (start, /))]
    fn restart(&self, py: Python<'_>, start: &Bound<'_, State>) -> PyResult<()> {
        start.get().expect_of(py, &self.engine.shared)?;
        let mut running = self.lock(py)?;
        running.restart(&start.get().inner).map_err(|error| step_error(py, &error))
    }
    /// Largest gap of a joint, in metres.
    #[getter]
    fn gap(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.lock(py)?.gap())
    }
    /// How far closing the loops of the start moved a joint coordinate, at most.
    #[getter]
    fn moved_at_start(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.lock(py)?.moved_at_start())
    }
    /// Length of a step in seconds.
    #[getter]
    fn step_length(&self) -> f64 {
        self.engine.step
    }
    /// The integrator.
    #[getter]
    fn integrator(&self) -> &'static str {
        self.engine.handle.0.method.name()
    }
    /// The mechanism.
    #[getter]
    fn mechanism(&self) -> Mechanism {
        Mechanism { shared: Arc::clone(&self.engine.shared) }
    }

    /// Constraint forces at the node that the last step started from, by joint; empty for methods that have none.
    fn joint_forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let served = &self.engine.handle.0;
        let found = PyDict::new(py);
        if served.method != Method::Maximal {
            return Ok(found);
        }
        let names = served
            .options
            .maximal_engine()
            .and_then(|engine| engine.force_names(&served.mechanism))
            .map_err(|error| step_error(py, &error))?;
        let mut forces = Vec::new();
        self.lock(py)?.joint_forces(&mut forces);
        let class = py.import("leastaction._simulate")?.getattr("JointForce")?;
        for (name, force) in names.into_iter().zip(forces) {
            let wrench = PyArray1::from_slice(py, &force.wrench);
            found.set_item(name, class.call1((wrench, force.redundant))?)?;
        }
        Ok(found)
    }

    /// A second simulator at the same place, which continues the same bit for bit.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let state = self.lock(py)?.checkpoint();
        Self::from_state(py, self.engine.clone(), &state)
    }
    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __repr__(&self) -> String {
        format!("<Simulator of `{}`: {}>", self.engine.handle.name(), self.integrator())
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Mechanism, String, State))> {
        let py = this.py();
        let restore = py.import("leastaction._core")?.getattr("_restore_simulator")?;
        let own = this.get();
        Ok((restore, (own.mechanism(), own.engine.settings.to_toml(), own.checkpoint(py)?)))
    }
}

/// Settings that were written for a pickle.
pub(crate) fn settings_of(text: &str) -> PyResult<Settings> {
    leastaction_study::scenario::parse(text, std::path::Path::new("settings"))
        .map_err(|_| crate::errors::internal("pickled settings can't be read"))
}

/// A simulator as it was pickled.
#[pyfunction]
pub(crate) fn _restore_simulator(
    py: Python<'_>,
    mechanism: &Bound<'_, Mechanism>,
    settings: &str,
    state: &Bound<'_, State>,
) -> PyResult<Simulator> {
    let engine = Engine::new(py, &mechanism.get().shared, settings_of(settings)?)?;
    Simulator::from_state(py, engine, &state.get().inner)
}
