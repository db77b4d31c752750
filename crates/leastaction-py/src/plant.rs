//! `Plant`: a step as a function of positions, velocities and inputs, with its exact derivative, for batches.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use leastaction::control::{MaximalPlant, MinimalPlant, Plant as CorePlant};
use leastaction::integrator::{Method, StepError};
use leastaction::mechanism::State as CoreState;
use leastaction::spatial::{Quat, Vec3};
use leastaction_study::failure::Failure;
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Output, Reader, Rows, Writer, common_lead};
use crate::errors::{raise, step_error};
use crate::mechanism::{Mechanism, Shared};
use crate::simulator::Engine;
use crate::state::stretched;
use crate::threads::{count, each_row};

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;
type Any<'a, 'py> = &'a Bound<'py, PyAny>;
type Boxed = Box<dyn CorePlant + Send>;

/// A step as a function: `(q, v, u) → (q⁺, v⁺)`, and its derivative in tangents, exact to rounding.
///
/// Each step starts from positions and velocities alone. With loops, derivatives are those of admissible changes: their
/// columns stand at free coordinates, and are zero elsewhere.
#[pyclass(frozen, module = "leastaction._core")]
pub(crate) struct Plant {
    engine: Engine,
    threads: usize,
    idle: Mutex<Vec<Boxed>>,
}

/// A batch of states and inputs.
struct Batch<'py> {
    q: Rows<'py>,
    v: Rows<'py>,
    u: Rows<'py>,
    lead: Option<Vec<usize>>,
    rows: usize,
}

/// Memory of one thread.
struct Desk {
    plant: Option<Boxed>,
    x: CoreState,
    next: CoreState,
    slope: Vec<f64>,
}

impl Plant {
    fn shared(&self) -> &Shared {
        &self.engine.shared
    }

    fn make(&self) -> Result<Boxed, StepError> {
        let (handle, h) = (self.engine.handle.clone(), self.engine.step);
        Ok(match handle.0.method {
            Method::Minimal => {
                let order = handle.0.options.order.unwrap_or(4);
                Box::new(MinimalPlant::new(handle, order, h)?)
            }
            _ => Box::new(MaximalPlant::new(handle, h)?),
        })
    }

    fn batch<'py>(
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
        for rows in [&q, &v, &u] {
            rows.expect_finite(py)?;
        }
        for r in 0..q.rows() {
            if let Some(joint) = self.shared().stretched(q.row(r)) {
                return Err(stretched(py, joint));
            }
        }
        let lead = common_lead(py, &[&q, &v, &u])?;
        let rows = lead.as_ref().map_or(1, |lead| lead.iter().product());
        Ok(Batch { q, v, u, lead, rows })
    }

    /// Does `work` for every row; the first failure in the order of rows is raised.
    fn each(
        &self,
        py: Python<'_>,
        batch: &Batch<'_>,
        work: impl Fn(
            &mut Boxed,
            &CoreState,
            &[f64],
            &mut CoreState,
            &mut Vec<f64>,
            usize,
        ) -> Result<(), StepError>
        + Sync,
    ) -> PyResult<()> {
        let (q, v, u) = (batch.q.reader(), batch.v.reader(), batch.u.reader());
        let failed: Mutex<Option<(usize, StepError)>> = Mutex::new(None);
        let start = self.engine.handle.neutral_state();
        let fail = |row: usize, error: StepError| {
            let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(other, _)| row < *other) {
                *first = Some((row, error));
            }
        };
        let one = |desk: &mut Desk, row: usize| {
            if desk.plant.is_none() {
                match self.make() {
                    Ok(plant) => desk.plant = Some(plant),
                    Err(error) => return fail(row, error),
                }
            }
            let Desk { plant: Some(plant), x, next, slope } = desk else { return };
            x.q.copy_from_slice(q.row(row));
            x.v.copy_from_slice(v.row(row));
            if let Err(error) = work(plant, x, u.row(row), next, slope, row) {
                fail(row, error);
            }
        };
        let memory = || {
            let plant = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
            Desk { plant, x: start.clone(), next: start.clone(), slope: Vec::new() }
        };
        if batch.rows < 8 || self.threads == 1 {
            let mut desk = memory();
            let rows = batch.rows;
            py.detach(|| (0..rows).for_each(|row| one(&mut desk, row)));
            if let (Ok(mut idle), Some(plant)) = (self.idle.try_lock(), desk.plant) {
                idle.push(plant);
            }
        } else {
            let stop = AtomicBool::new(false);
            each_row(py, batch.rows, self.threads, &stop, &mut |_, _| Ok(()), memory, one)?;
        }
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((row, error)) => {
                let error = step_error(py, &error);
                error.value(py).setattr("row", batch.lead.is_some().then_some(row))?;
                Err(error)
            }
        }
    }

    /// The tangent form of a gradient by the numbers of `q`: `Jᵀ g` with `J = ∂(q ⊞ δ)/∂δ`.
    fn tangent_of(&self, q: &[f64], g: &[f64], out: &mut [f64]) {
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
    fn of_tangent(&self, q: &[f64], g: &[f64], out: &mut [f64]) {
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
    #[pyo3(signature = (mechanism, /, *, threads = None, **settings))]
    fn new<'py>(
        py: Python<'py>,
        mechanism: &Bound<'py, Mechanism>,
        threads: Option<usize>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
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
        let plant = Self { threads: count(py, threads)?, idle: Mutex::new(Vec::new()), engine };
        // What can't be stepped at all is refused here.
        let made = plant.make().map_err(|error| step_error(py, &error))?;
        if let Ok(mut idle) = plant.idle.lock() {
            idle.push(made);
        }
        Ok(plant)
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
        let out_q = Output::new(py, batch.lead.as_deref(), &[m.nq()]);
        let out_v = Output::new(py, batch.lead.as_deref(), &[m.nv()]);
        let (wq, wv) = (out_q.writer(m.nq()), out_v.writer(m.nv()));
        self.each(py, &batch, |plant, x, u, next, _, row| {
            plant.step(x, u, next)?;
            put(wq, wv, row, next);
            Ok(())
        })?;
        Ok((out_q.into_array(), out_v.into_array()))
    }

    /// Positions and velocities after one step and its derivative: `A` (2 nv × 2 nv) and `B` (2 nv × nu) in tangents.
    #[pyo3(signature = (q, v, u = None))]
    fn linearize<'py>(
        &self,
        py: Python<'py>,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        u: Option<Any<'_, 'py>>,
    ) -> PyResult<(Array<'py>, Array<'py>, Array<'py>, Array<'py>)> {
        let batch = self.batch(py, q, v, u)?;
        let m = &self.engine.handle;
        let (nx, nu, lead) = (2 * m.nv(), m.nu(), batch.lead.as_deref());
        let (out_q, out_v) = (Output::new(py, lead, &[m.nq()]), Output::new(py, lead, &[m.nv()]));
        let (out_a, out_b) = (Output::new(py, lead, &[nx, nx]), Output::new(py, lead, &[nx, nu]));
        let (wq, wv) = (out_q.writer(m.nq()), out_v.writer(m.nv()));
        let (wa, wb) = (out_a.writer(nx * nx), out_b.writer(nx * nu));
        self.each(py, &batch, |plant, x, u, next, slope, row| {
            plant.linearize(x, u, next, slope)?;
            put(wq, wv, row, next);
            let (a, b) = (wa.row(row), wb.row(row));
            for (i, line) in slope.chunks_exact(nx + nu).enumerate() {
                a[i * nx..(i + 1) * nx].copy_from_slice(&line[..nx]);
                b[i * nu..(i + 1) * nu].copy_from_slice(&line[nx..]);
            }
            Ok(())
        })?;
        Ok((out_q.into_array(), out_v.into_array(), out_a.into_array(), out_b.into_array()))
    }

    /// Gradients by `q`, `v`, `u` of a function whose gradients by the next `q` and `v` are given.
    ///
    /// Gradients by positions are by their numbers; of a quaternion's four, the part along the quaternion is none.
    #[pyo3(signature = (q, v, u, gradient_q, gradient_v))]
    fn pull_back<'py>(
        &self,
        py: Python<'py>,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        u: Any<'_, 'py>,
        gradient_q: Any<'_, 'py>,
        gradient_v: Any<'_, 'py>,
    ) -> PyResult<(Array<'py>, Array<'py>, Array<'py>)> {
        let m = &self.engine.handle;
        let (nq, nv, nu) = (m.nq(), m.nv(), m.nu());
        let mut batch = self.batch(py, q, v, Some(u))?;
        let gq = Rows::new(gradient_q, "gradient_q", nq)?;
        let gv = Rows::new(gradient_v, "gradient_v", nv)?;
        gq.expect_finite(py)?;
        gv.expect_finite(py)?;
        batch.lead = common_lead(py, &[&batch.q, &batch.v, &batch.u, &gq, &gv])?;
        batch.rows = batch.lead.as_ref().map_or(1, |lead| lead.iter().product());
        let lead = batch.lead.as_deref();
        let outputs =
            (Output::new(py, lead, &[nq]), Output::new(py, lead, &[nv]), Output::new(py, lead, &[nu]));
        let (wq, wv, wu) = (outputs.0.writer(nq), outputs.1.writer(nv), outputs.2.writer(nu));
        let (gq, gv): (Reader, Reader) = (gq.reader(), gv.reader());
        self.each(py, &batch, |plant, x, u, next, slope, row| {
            let mut back = vec![0.0; 2 * nv + nu];
            let mut gradient = |next: &CoreState, out: &mut [f64]| {
                self.tangent_of(&next.q, gq.row(row), &mut out[..nv]);
                out[nv..].copy_from_slice(gv.row(row));
            };
            plant.pull_back(x, u, next, &mut gradient, slope, &mut back)?;
            self.of_tangent(&x.q, &back[..nv], wq.row(row));
            wv.row(row).copy_from_slice(&back[nv..2 * nv]);
            wu.row(row).copy_from_slice(&back[2 * nv..]);
            Ok(())
        })?;
        Ok((outputs.0.into_array(), outputs.1.into_array(), outputs.2.into_array()))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Mechanism, String, usize))> {
        let restore = this.py().import("leastaction._core")?.getattr("_restore_plant")?;
        let own = this.get();
        Ok((restore, (own.mechanism(), own.engine.settings.to_toml(), own.threads)))
    }
}

/// A plant as it was pickled.
#[pyfunction]
pub(crate) fn _restore_plant(
    py: Python<'_>,
    mechanism: &Bound<'_, Mechanism>,
    settings: &str,
    threads: usize,
) -> PyResult<Plant> {
    let settings = crate::simulator::settings_of(settings)?;
    let engine = Engine::new(py, &mechanism.get().shared, settings)?;
    Ok(Plant { engine, threads, idle: Mutex::new(Vec::new()) })
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
    let (mut gain, mut p) = (Output::new(py, Some(&[nu]), &[nx]), Output::new(py, Some(&[nx]), &[nx]));
    gain.numbers().copy_from_slice(&found.gain);
    p.numbers().copy_from_slice(&found.p);
    Ok((gain.into_array(), p.into_array(), found.residual, found.radius))
}
