//! `State`: where a mechanism is and how it moves. Immutable; its arrays are views.

use std::path::PathBuf;
use std::sync::Arc;

use leastaction::io::StateFile;
use leastaction::mechanism::{State as CoreState, WarmStart};
use leastaction_study::failure::Failure;
use leastaction_study::output::cannot_write;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Rows, view};
use crate::errors::{bad_option, failure_error, shape_error};
use crate::mechanism::{Mechanism, Shared};

/// Time, positions and velocities of a mechanism, and what an integrator needs to continue bit for bit.
///
/// `q` and `v` are read-only; `state.replace(q=…)` makes another state.
///
/// >>> import leastaction as la
/// >>> la.load("@chain/2").start_state().replace(q={"joint1": 0.5}, v=[1, 2]).q[1]
/// np.float64(0.5)
#[pyclass(frozen, module = "leastaction._core")]
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) shared: Arc<Shared>,
    pub(crate) inner: CoreState,
}

impl State {
    pub(crate) fn of(shared: &Arc<Shared>, inner: CoreState) -> Self {
        Self { shared: Arc::clone(shared), inner }
    }

    /// `state` with other positions or velocities, which must be finite and turn by unit quaternions.
    pub(crate) fn changed<'py>(
        py: Python<'py>,
        shared: &Arc<Shared>,
        mut state: CoreState,
        q: Option<&Bound<'py, PyAny>>,
        v: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        for (value, name, target) in [(q, "q", &mut state.q), (v, "v", &mut state.v)] {
            let Some(value) = value.filter(|value| !value.is_none()) else { continue };
            if let Ok(by_joint) = value.cast::<PyDict>() {
                by_name(py, shared, by_joint, name, target)?;
                continue;
            }
            let rows = Rows::new(value, name, target.len())?;
            if rows.is_batch() {
                return Err(shape_error(py, name, &format!("({},)", target.len()), "several rows"));
            }
            rows.expect_finite(py)?;
            target.copy_from_slice(rows.row(0));
        }
        if !state.t.is_finite() {
            return Err(crate::errors::not_finite(py, "t", None));
        }
        if let Some(joint) = shared.stretched(&state.q) {
            return Err(stretched(py, joint));
        }
        Ok(Self::of(shared, state))
    }

    /// Refuses a state of another mechanism.
    pub(crate) fn expect_of(&self, py: Python<'_>, mechanism: &Shared) -> PyResult<()> {
        let (own, other) = (&self.shared.mechanism, &mechanism.mechanism);
        if own.q_labels() == other.q_labels() && own.v_labels() == other.v_labels() {
            return Ok(());
        }
        Err(bad_option(py, "start", "a state of another mechanism", "give one of this mechanism"))
    }
}

/// The refusal of a quaternion that is none.
pub(crate) fn stretched(py: Python<'_>, joint: &str) -> PyErr {
    let remedy = format!("the quaternion of joint `{joint}` must have unit length: divide it by its norm");
    bad_option(py, "q", "a stretched rotation", &remedy)
}

/// Coordinates by joint name.
fn by_name(
    py: Python<'_>,
    shared: &Shared,
    given: &Bound<'_, PyDict>,
    name: &'static str,
    target: &mut [f64],
) -> PyResult<()> {
    let mechanism = &shared.mechanism;
    for (joint, value) in given.iter() {
        let joint: String = joint.extract()?;
        let Some(id) = mechanism.joint_by_name(&joint) else {
            let known = leastaction_study::model::moving_joints(mechanism);
            return Err(crate::errors::unknown_name(py, "joint", &joint, &known));
        };
        let range = if name == "q" { mechanism.q_range(id) } else { mechanism.v_range(id) };
        let rows = Rows::new(&value, name, range.len())?;
        rows.expect_finite(py)?;
        target[range].copy_from_slice(rows.row(0));
    }
    Ok(())
}

/// What a state is pickled as: its mechanism, time, numbers, and what its integrator goes on from.
type Pickled = (Mechanism, f64, [Vec<f64>; 4], Option<(String, Vec<f64>)>);

#[pymethods]
impl State {
    /// Time in seconds.
    #[getter]
    fn t(&self) -> f64 {
        self.inner.t
    }
    /// Positions, a read-only view.
    #[getter]
    fn q<'py>(this: &Bound<'py, Self>) -> Bound<'py, PyArray1<f64>> {
        view(this.clone().into_any(), &this.get().inner.q)
    }
    /// Velocities, a read-only view.
    #[getter]
    fn v<'py>(this: &Bound<'py, Self>) -> Bound<'py, PyArray1<f64>> {
        view(this.clone().into_any(), &this.get().inner.v)
    }
    /// The mechanism it is a state of.
    #[getter]
    fn mechanism(&self) -> Mechanism {
        Mechanism { shared: Arc::clone(&self.shared) }
    }
    /// The integrator that can continue from it bit for bit, if one can.
    #[getter]
    fn warm(&self) -> Option<&str> {
        self.inner.warm.as_ref().map(|warm| warm.integrator.as_str())
    }

    /// Another state with what is given; positions and velocities by joint (a dictionary) or all of them.
    #[pyo3(signature = (*, q = None, v = None, t = None))]
    fn replace<'py>(
        &self,
        py: Python<'py>,
        q: Option<&Bound<'py, PyAny>>,
        v: Option<&Bound<'py, PyAny>>,
        t: Option<f64>,
    ) -> PyResult<Self> {
        let warm = if q.is_none() && v.is_none() { self.inner.warm.clone() } else { None };
        let state = CoreState { t: t.unwrap_or(self.inner.t), warm, ..self.inner.clone() };
        Self::changed(py, &self.shared, state, q, v)
    }

    /// Writes a state file, `leastaction/state/1`; numbers survive exactly.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let hash = leastaction_study::model::hash(&self.shared.model.description);
        let file = StateFile { model: Some(hash), ..StateFile::of(&self.shared.mechanism, &self.inner) };
        file.write(&path).map_err(|error| failure_error(py, &cannot_write(&path, &error)))
    }

    /// Reads a state file for a mechanism.
    #[staticmethod]
    #[pyo3(signature = (path, mechanism, /))]
    fn load(py: Python<'_>, path: PathBuf, mechanism: &Bound<'_, Mechanism>) -> PyResult<Self> {
        let shared = &mechanism.get().shared;
        let read = StateFile::read(&path).and_then(|file| {
            let foreign = file
                .model
                .as_ref()
                .is_some_and(|model| *model != leastaction_study::model::hash(&shared.model.description));
            let state = file.state(&shared.mechanism, &path)?;
            // What an integrator continues from is of use to the model it was written for only.
            Ok(if foreign { CoreState { warm: None, ..state } } else { state })
        });
        match read {
            Ok(state) => Ok(Self::of(shared, state)),
            Err(error) => Err(failure_error(py, &Failure::from_error(&error))),
        }
    }

    fn __repr__(&self) -> String {
        format!("<State of `{}` at t = {} s>", self.shared.mechanism.name(), self.inner.t)
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.inner == other.get().inner)
    }
    fn __hash__(&self) -> u64 {
        self.inner.t.to_bits() ^ self.inner.q.iter().fold(0, |h: u64, x| h.rotate_left(5) ^ x.to_bits())
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let restore = this.py().import("leastaction._core")?.getattr("_restore_state")?;
        let own = this.get();
        let warm = own.inner.warm.as_ref().map(|warm| (warm.integrator.clone(), warm.data.clone()));
        let CoreState { t, q, v, act, inputs, .. } = own.inner.clone();
        Ok((restore, (own.mechanism(), t, [q, v, act, inputs], warm)))
    }
}

/// A state as it was pickled.
#[pyfunction]
pub(crate) fn _restore_state(
    py: Python<'_>,
    mechanism: &Bound<'_, Mechanism>,
    t: f64,
    numbers: [Vec<f64>; 4],
    warm: Option<(String, Vec<f64>)>,
) -> PyResult<State> {
    let [q, v, act, inputs] = numbers;
    let shared = &mechanism.get().shared;
    if q.len() != shared.mechanism.nq() || v.len() != shared.mechanism.nv() {
        return Err(shape_error(py, "state", "that of its mechanism", "another"));
    }
    let warm = warm.map(|(integrator, data)| WarmStart { integrator, data });
    Ok(State::of(shared, CoreState { t, q, v, act, inputs, warm }))
}
