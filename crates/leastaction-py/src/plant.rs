//! `Plant`: a step as a function of positions, velocities and inputs, with its exact derivative, for batches.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use leastaction::control::{ControlError, MaximalPlant, MinimalPlant, Plant as CorePlant, Stoppable};
use leastaction::integrator::{Method, StepError};
use leastaction::mechanism::{Parameter, State as CoreState};
use leastaction::spatial::{Quat, Vec3};
use leastaction_study::failure::Failure;
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Output, Reader, Rows, Writer, common_lead};
use crate::errors::{raise, step_error};
use crate::mechanism::{Mechanism, Shared};
use crate::parameters::{changed, named};
use crate::simulator::Engine;
use crate::state::stretched;
use crate::threads::{count, each_row};

pub(crate) type Array<'py> = Bound<'py, PyArrayDyn<f64>>;
pub(crate) type Any<'a, 'py> = &'a Bound<'py, PyAny>;
type Boxed = Box<dyn CorePlant + Send>;
/// What a row is computed with: it ends in the middle of a motion when a signal came.
pub(crate) type Stepping<'a> = Stoppable<'a, dyn CorePlant + Send>;

/// A step as a function: `(q, v, u) → (q⁺, v⁺)`, and its derivative in tangents, exact to rounding.
///
/// Each step starts from positions and velocities alone. With loops, a state that is not admissible is moved to the nearest one
/// first, and derivatives are those of that. `parameters` names numbers of the model to differentiate by as well; `at` is the
/// same plant at other values of them.
///
/// >>> import leastaction as la, numpy as np
/// >>> plant = la.Plant(la.load("@chain/2"), step=0.01, parameters=["mass"])
/// >>> plant.parameters, plant.values
/// (['mass.link0', 'mass.link1'], array([1., 1.]))
/// >>> q, v, A, B, C = plant.linearize(np.zeros(2), np.ones(2))
/// >>> A.shape, B.shape, C.shape
/// ((4, 4), (4, 0), (4, 2))
#[pyclass(frozen, module = "leastaction._core")]
pub(crate) struct Plant {
    pub(crate) engine: Engine,
    threads: usize,
    parameters: Vec<Parameter>,
    idle: Mutex<Vec<Boxed>>,
}

/// Gradients by `q`, `v`, `u` and parameters.
pub(crate) type Gradients<'py> = (Array<'py>, Array<'py>, Array<'py>, Array<'py>);
type Pickled = (Mechanism, String, usize, Vec<String>);

/// One name or several.
#[derive(FromPyObject)]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    fn list(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names,
        }
    }
}

/// A batch of states and inputs.
pub(crate) struct Batch<'py> {
    pub(crate) q: Rows<'py>,
    pub(crate) v: Rows<'py>,
    pub(crate) u: Rows<'py>,
    pub(crate) lead: Option<Vec<usize>>,
    pub(crate) rows: usize,
}

impl<'py> Batch<'py> {
    /// The common leading axes of all arguments, and of others beside them.
    pub(crate) fn aligned(mut self, py: Python<'py>, others: &[&Rows<'py>]) -> PyResult<Self> {
        let mut all = vec![&self.q, &self.v, &self.u];
        all.extend(others);
        for rows in &all {
            rows.expect_finite(py)?;
        }
        let lead = common_lead(py, &all)?;
        self.rows = lead.as_ref().map_or(1, |lead| lead.iter().product());
        self.lead = lead;
        Ok(self)
    }
}

/// Fewer steps are taken at once; Ctrl-C waits for them.
const MANY: usize = 512;

/// Memory of one thread.
struct Desk {
    plant: Option<Boxed>,
    x: CoreState,
    next: CoreState,
    slope: Vec<f64>,
}

/// A state to fill, a state and a matrix to write.
type Scratch<'a> = (&'a mut CoreState, &'a mut CoreState, &'a mut Vec<f64>);

impl Plant {
    pub(crate) fn shared(&self) -> &Shared {
        &self.engine.shared
    }

    fn make(&self) -> Result<Boxed, StepError> {
        let (handle, h) = (self.engine.handle.clone(), self.engine.step);
        let mut made: Boxed = match handle.0.method {
            Method::Minimal => {
                let order = handle.0.options.order.unwrap_or(4);
                Box::new(MinimalPlant::new(handle, order, h)?)
            }
            _ => {
                let mut engine = handle.0.options.maximal_engine()?;
                // Derivatives by parameters are those of order 2.
                engine.order = 2;
                Box::new(MaximalPlant::with_engine(handle, engine, h)?)
            }
        };
        made.differentiate_by(&self.parameters)?;
        Ok(made)
    }

    pub(crate) fn of(
        py: Python<'_>,
        engine: Engine,
        threads: usize,
        parameters: Vec<Parameter>,
    ) -> PyResult<Self> {
        let plant = Self { threads, idle: Mutex::new(Vec::new()), parameters, engine };
        // What can't be stepped or differentiated at all is refused here.
        let made = plant.make().map_err(|error| step_error(py, &error))?;
        if let Ok(mut idle) = plant.idle.lock() {
            idle.push(made);
        }
        Ok(plant)
    }

    /// Number of parameters.
    pub(crate) fn np(&self) -> usize {
        self.parameters.len()
    }

    pub(crate) fn batch<'py>(
        &self,
        py: Python<'py>,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        u: Option<Any<'_, 'py>>,
    ) -> PyResult<Batch<'py>> {
        let m = &self.engine.handle;
        let q = Rows::new(q, "q", m.nq())?;
        let v = Rows::new(v, "v", m.nv())?;
        let u = Rows::or(u, "u", m.nu(), || vec![0.0; m.nu()])?;
        let batch = Batch { q, v, u, lead: None, rows: 1 }.aligned(py, &[])?;
        for r in 0..batch.q.rows() {
            if let Some(joint) = self.shared().stretched(batch.q.row(r)) {
                return Err(stretched(py, joint));
            }
        }
        Ok(batch)
    }

    /// Does `work`, of so many steps, for every row of states and inputs; the first failure in the order of rows is raised.
    pub(crate) fn each(
        &self,
        py: Python<'_>,
        batch: &Batch<'_>,
        steps: usize,
        work: impl Fn(
            &mut Stepping<'_>,
            &CoreState,
            &[f64],
            &mut CoreState,
            &mut Vec<f64>,
            usize,
        ) -> Result<(), ControlError>
        + Sync,
    ) -> PyResult<()> {
        let (q, v) = (batch.q.reader(), batch.v.reader());
        self.each_row(py, batch, steps, |plant, (x, next, slope), u, row| {
            x.q.copy_from_slice(q.row(row));
            x.v.copy_from_slice(v.row(row));
            work(plant, x, u, next, slope, row)
        })
    }

    /// The same where a row is a whole motion; `work` is given a state to fill.
    pub(crate) fn each_motion(
        &self,
        py: Python<'_>,
        batch: &Batch<'_>,
        steps: usize,
        work: impl Fn(&mut Stepping<'_>, &CoreState, &[f64], usize) -> Result<(), ControlError> + Sync,
    ) -> PyResult<()> {
        self.each_row(py, batch, steps, |plant, (x, ..), u, row| work(plant, x, u, row))
    }

    fn each_row(
        &self,
        py: Python<'_>,
        batch: &Batch<'_>,
        steps: usize,
        work: impl Fn(&mut Stepping<'_>, Scratch<'_>, &[f64], usize) -> Result<(), ControlError> + Sync,
    ) -> PyResult<()> {
        let u = batch.u.reader();
        let stop = AtomicBool::new(false);
        let failed: Mutex<Option<(usize, ControlError)>> = Mutex::new(None);
        let start = self.engine.handle.neutral_state();
        let fail = |row: usize, error: ControlError| {
            let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(other, _)| row < *other) {
                *first = Some((row, error));
            }
        };
        let one = |desk: &mut Desk, row: usize| {
            if desk.plant.is_none() {
                match self.make() {
                    Ok(plant) => desk.plant = Some(plant),
                    Err(error) => return fail(row, error.into()),
                }
            }
            let Desk { plant: Some(plant), x, next, slope } = desk else { return };
            let mut plant = Stoppable::new(&mut **plant, &stop);
            if let Err(error) = work(&mut plant, (x, next, slope), u.row(row), row) {
                fail(row, error);
            }
        };
        let memory = || {
            let plant = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
            Desk { plant, x: start.clone(), next: start.clone(), slope: Vec::new() }
        };
        if (batch.rows < 8 || self.threads == 1) && batch.rows * steps < MANY {
            let mut desk = memory();
            let rows = batch.rows;
            py.detach(|| (0..rows).for_each(|row| one(&mut desk, row)));
            if let (Ok(mut idle), Some(plant)) = (self.idle.try_lock(), desk.plant) {
                idle.push(plant);
            }
        } else {
            each_row(py, batch.rows, self.threads, &stop, &mut |_, _| Ok(()), memory, one)?;
        }
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((row, error)) => {
                let error = match &error {
                    ControlError::Step(error) => step_error(py, error),
                    other => crate::errors::failure_error(py, &Failure::from_error(other)),
                };
                error.value(py).setattr("row", batch.lead.is_some().then_some(row))?;
                Err(error)
            }
        }
    }

    /// The tangent form of a gradient by the numbers of `q`: `Jᵀ g` with `J = ∂(q ⊞ δ)/∂δ`.
    pub(crate) fn tangent_of(&self, q: &[f64], g: &[f64], out: &mut [f64]) {
        self.joints(|kind, qs, vs| match kind {
            Turn::None => out[vs].copy_from_slice(&g[qs]),
            Turn::Ball | Turn::Free => {
                let rows = quaternion_rows(&q[qs.clone()]);
                for c in 0..3 {
                    out[vs.start + c] = (0..4).map(|i| rows[i][c] * g[qs.start + i]).sum();
                }
                if kind == Turn::Free {
                    let r = Quat::from_slice(&q[qs.clone()]).conj();
                    let moved = r.rotate(Vec3([g[qs.start + 4], g[qs.start + 5], g[qs.start + 6]]));
                    out[vs.start + 3..vs.start + 6].copy_from_slice(&moved.0);
                }
            }
        });
    }

    /// The gradient by the numbers of `q` of a tangent one: `J (Jᵀ J)⁻¹ g`, which has no part along the quaternion.
    pub(crate) fn of_tangent(&self, q: &[f64], g: &[f64], out: &mut [f64]) {
        self.joints(|kind, qs, vs| match kind {
            Turn::None => out[qs].copy_from_slice(&g[vs]),
            Turn::Ball | Turn::Free => {
                let rows = quaternion_rows(&q[qs.clone()]);
                for i in 0..4 {
                    out[qs.start + i] = 4.0 * (0..3).map(|c| rows[i][c] * g[vs.start + c]).sum::<f64>();
                }
                if kind == Turn::Free {
                    let r = Quat::from_slice(&q[qs.clone()]);
                    let moved = r.rotate(Vec3([g[vs.start + 3], g[vs.start + 4], g[vs.start + 5]]));
                    out[qs.start + 4..qs.start + 7].copy_from_slice(&moved.0);
                }
            }
        });
    }

    fn joints(&self, mut each: impl FnMut(Turn, std::ops::Range<usize>, std::ops::Range<usize>)) {
        let m = &self.engine.handle;
        for id in m.tree_joints() {
            let kind = match m.joint(id).kind {
                leastaction::mechanism::JointType::Spherical => Turn::Ball,
                leastaction::mechanism::JointType::Floating => Turn::Free,
                _ => Turn::None,
            };
            each(kind, m.q_range(id), m.v_range(id));
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Turn {
    None,
    Ball,
    Free,
}

/// `∂(q ⊗ exp δ)/∂δ` at zero: half of `q ⊗ (0, e_c)`.
fn quaternion_rows(q: &[f64]) -> [[f64; 3]; 4] {
    let (w, x, y, z) = (0.5 * q[0], 0.5 * q[1], 0.5 * q[2], 0.5 * q[3]);
    [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]
}

fn put(q: Writer, v: Writer, row: usize, next: &CoreState) {
    q.row(row).copy_from_slice(&next.q);
    v.row(row).copy_from_slice(&next.v);
}

#[pymethods]
impl Plant {
    #[new]
    #[pyo3(signature = (mechanism, /, *, parameters = Names::Many(Vec::new()), threads = None, **settings))]
    fn new<'py>(
        py: Python<'py>,
        mechanism: &Bound<'py, Mechanism>,
        parameters: Names,
        threads: Option<usize>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let parameters = parameters.list();
        let engine = Engine::of_keywords(py, mechanism, settings)?;
        let served = &engine.handle.0;
        let no = |what: &str, remedy: &str| {
            let name = served.method.name();
            let message = format!("{name} does not support {what}: {remedy}");
            let attributes = serde_json::json!({"integrator": name, "what": what, "remedy": remedy});
            raise(py, "Unsupported", &message, &attributes)
        };
        match served.method {
            Method::Minimal => {}
            Method::Maximal if served.options.order.is_none_or(|order| order == 2) => {}
            Method::Maximal => return Err(no("derivatives of steps of a higher order", "leave `order` out")),
            _ => return Err(no("derivatives of a step", "give integrator=\"minimal\" or \"maximal\"")),
        }
        let parameters = named(py, &engine.shared, &parameters)?;
        Self::of(py, engine, count(py, threads)?, parameters)
    }

    /// Names of the parameters it is differentiated by.
    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.parameters.iter().map(|p| p.name(&self.shared().mechanism)).collect()
    }
    /// Values of these parameters.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let mut out = Output::new(py, None, &[self.np()])?;
        for (out, p) in out.numbers().iter_mut().zip(&self.parameters) {
            *out = p.value(&self.shared().mechanism);
        }
        Ok(out.into_array())
    }
    /// The same plant at other values of its parameters.
    #[pyo3(signature = (values, /))]
    fn at(&self, py: Python<'_>, values: Any<'_, '_>) -> PyResult<Self> {
        let values = Rows::new(values, "values", self.np())?;
        if values.lead().is_some() {
            return Err(crate::errors::shape_error(py, "values", &format!("({},)", self.np()), "a batch"));
        }
        values.expect_finite(py)?;
        let list = self.parameters.iter().copied().zip(values.row(0).iter().copied());
        let shared = changed(py, self.shared(), list)?;
        let engine = Engine::new(py, &shared, self.engine.settings.clone())?;
        Self::of(py, engine, self.threads, self.parameters.clone())
    }

    /// Length of a step in seconds.
    #[getter]
    fn step_length(&self) -> f64 {
        self.engine.step
    }
    /// The mechanism.
    #[getter]
    fn mechanism(&self) -> Mechanism {
        Mechanism { shared: std::sync::Arc::clone(&self.engine.shared) }
    }

    /// Positions and velocities after one step.
    #[pyo3(signature = (q, v, u = None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        u: Option<Any<'_, 'py>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let batch = self.batch(py, q, v, u)?;
        let m = &self.engine.handle;
        let out_q = Output::new(py, batch.lead.as_deref(), &[m.nq()])?;
        let out_v = Output::new(py, batch.lead.as_deref(), &[m.nv()])?;
        let (wq, wv) = (out_q.writer(m.nq()), out_v.writer(m.nv()));
        self.each(py, &batch, 1, |plant, x, u, next, _, row| {
            plant.step(x, u, next)?;
            put(wq, wv, row, next);
            Ok(())
        })?;
        Ok((out_q.into_array(), out_v.into_array()))
    }

    /// Positions and velocities after one step and its derivative: `A` (2 nv × 2 nv), `B` (2 nv × nu) and `C` (2 nv × parameters)
    /// in tangents.
    #[pyo3(signature = (q, v, u = None))]
    pub(crate) fn linearize<'py>(
        &self,
        py: Python<'py>,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        u: Option<Any<'_, 'py>>,
    ) -> PyResult<(Array<'py>, Array<'py>, Array<'py>, Array<'py>, Array<'py>)> {
        let batch = self.batch(py, q, v, u)?;
        let m = &self.engine.handle;
        let (nx, nu, np, lead) = (2 * m.nv(), m.nu(), self.np(), batch.lead.as_deref());
        let (out_q, out_v) = (Output::new(py, lead, &[m.nq()])?, Output::new(py, lead, &[m.nv()])?);
        let (out_a, out_b) = (Output::new(py, lead, &[nx, nx])?, Output::new(py, lead, &[nx, nu])?);
        let (wq, wv) = (out_q.writer(m.nq()), out_v.writer(m.nv()));
        let out_c = Output::new(py, lead, &[nx, np])?;
        let (wa, wb, wc) = (out_a.writer(nx * nx), out_b.writer(nx * nu), out_c.writer(nx * np));
        self.each(py, &batch, 1, |plant, x, u, next, slope, row| {
            plant.linearize(x, u, next, slope)?;
            put(wq, wv, row, next);
            let (a, b) = (wa.row(row), wb.row(row));
            wc.row(row).copy_from_slice(plant.by_parameters());
            for (i, line) in slope.chunks_exact_mut(nx + nu).enumerate() {
                plant.by_given_state(x, &mut line[..nx]);
                a[i * nx..(i + 1) * nx].copy_from_slice(&line[..nx]);
                b[i * nu..(i + 1) * nu].copy_from_slice(&line[nx..]);
            }
            Ok(())
        })?;
        let (q, v) = (out_q.into_array(), out_v.into_array());
        Ok((q, v, out_a.into_array(), out_b.into_array(), out_c.into_array()))
    }

    /// Gradients by `q`, `v`, `u` and the parameters of a function whose gradients by the next `q` and `v` are given.
    ///
    /// Gradients by positions are by their numbers; of a quaternion's four, the part along the quaternion is none. Those by
    /// parameters are of every row: the sum is the gradient of the batch.
    #[pyo3(signature = (q, v, u, gradient_q, gradient_v))]
    fn pull_back<'py>(
        &self,
        py: Python<'py>,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        u: Any<'_, 'py>,
        gradient_q: Any<'_, 'py>,
        gradient_v: Any<'_, 'py>,
    ) -> PyResult<Gradients<'py>> {
        let m = &self.engine.handle;
        let (nq, nv, nu, np) = (m.nq(), m.nv(), m.nu(), self.np());
        let batch = self.batch(py, q, v, Some(u))?;
        let gq = Rows::new(gradient_q, "gradient_q", nq)?;
        let gv = Rows::new(gradient_v, "gradient_v", nv)?;
        let batch = batch.aligned(py, &[&gq, &gv])?;
        let lead = batch.lead.as_deref();
        let make = |width| Output::new(py, lead, &[width]);
        let outputs = [make(nq)?, make(nv)?, make(nu)?, make(np)?];
        let [wq, wv, wu, wp] = [0, 1, 2, 3].map(|i| outputs[i].writer([nq, nv, nu, np][i]));
        let (gq, gv): (Reader, Reader) = (gq.reader(), gv.reader());
        self.each(py, &batch, 1, |plant, x, u, next, slope, row| {
            let mut back = vec![0.0; 2 * nv + nu + np];
            let mut gradient = |next: &CoreState, out: &mut [f64]| {
                self.tangent_of(&next.q, gq.row(row), &mut out[..nv]);
                out[nv..].copy_from_slice(gv.row(row));
            };
            plant.pull_back(x, u, next, &mut gradient, slope, &mut back)?;
            plant.by_given_state(x, &mut back[..2 * nv]);
            self.of_tangent(&x.q, &back[..nv], wq.row(row));
            wv.row(row).copy_from_slice(&back[nv..2 * nv]);
            wu.row(row).copy_from_slice(&back[2 * nv..2 * nv + nu]);
            wp.row(row).copy_from_slice(&back[2 * nv + nu..]);
            Ok(())
        })?;
        Ok(outputs.map(Output::into_array).into())
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let restore = this.py().import("leastaction._core")?.getattr("_restore_plant")?;
        let own = this.get();
        Ok((restore, (own.mechanism(), own.engine.settings.to_toml(), own.threads, own.parameters())))
    }
}

/// A plant as it was pickled.
#[pyfunction]
pub(crate) fn _restore_plant(
    py: Python<'_>,
    mechanism: &Bound<'_, Mechanism>,
    settings: &str,
    threads: usize,
    parameters: Vec<String>,
) -> PyResult<Plant> {
    let settings = crate::simulator::settings_of(settings)?;
    let engine = Engine::new(py, &mechanism.get().shared, settings)?;
    let parameters = named(py, &engine.shared, &parameters)?;
    Plant::of(py, engine, threads, parameters)
}

/// Solves the discrete algebraic Riccati equation of a linearized step; see `leastaction.riccati`.
#[pyfunction]
pub(crate) fn _riccati<'py>(
    py: Python<'py>,
    a: Any<'_, 'py>,
    b: Any<'_, 'py>,
    state_weights: Vec<f64>,
    input_weights: Vec<f64>,
) -> PyResult<(Array<'py>, Array<'py>, f64, f64)> {
    let (nx, nu) = (state_weights.len(), input_weights.len());
    let (a, b) = (Rows::new(a, "A", nx)?, Rows::new(b, "B", nu)?);
    for (rows, name) in [(&a, "A"), (&b, "B")] {
        if rows.lead() != Some(&[nx]) {
            return Err(crate::errors::shape_error(
                py,
                name,
                &format!("{nx} rows"),
                &format!("{:?}", rows.lead()),
            ));
        }
        rows.expect_finite(py)?;
    }
    let slope: Vec<f64> = (0..nx).flat_map(|r| [a.row(r), b.row(r)].concat()).collect();
    let found = py
        .detach(|| leastaction::control::riccati(&slope, &state_weights, &input_weights))
        .map_err(|error| crate::errors::failure_error(py, &Failure::from_error(&error)))?;
    let (mut gain, mut p) = (Output::new(py, Some(&[nu]), &[nx])?, Output::new(py, Some(&[nx]), &[nx])?);
    gain.numbers().copy_from_slice(&found.gain);
    p.numbers().copy_from_slice(&found.p);
    Ok((gain.into_array(), p.into_array(), found.residual, found.radius))
}
