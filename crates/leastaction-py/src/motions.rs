//! Motions of many steps as functions of their start, inputs and parameters, with their transposed derivative.

use leastaction::control::{Plant as _, motion_gradient, roll_out};
use leastaction::mechanism::State as CoreState;
use pyo3::prelude::*;

use crate::arrays::{Output, Rows};
use crate::errors::shape_error;
use crate::plant::{Any, Array, Batch, Gradients, Plant};

impl Plant {
    /// Rows of whole motions: one number of steps for all, from the axis before the last of `u`.
    fn motions<'py>(&self, py: Python<'py>, u: Any<'_, 'py>) -> PyResult<(usize, Rows<'py>)> {
        let nu = self.engine.handle.nu();
        let shape: Vec<usize> = u.getattr("shape").and_then(|shape| shape.extract()).unwrap_or_default();
        let [.., steps, last] = shape[..] else {
            return Err(shape_error(py, "u", &format!("(…, steps, {nu})"), &format!("{shape:?}")));
        };
        if last != nu {
            return Err(shape_error(py, "u", &format!("(…, steps, {nu})"), &format!("{shape:?}")));
        }
        Ok((steps, flat(u, "u", &shape, 2)?))
    }
}

/// An array whose last axes are read as one.
fn flat<'py>(array: Any<'_, 'py>, name: &'static str, shape: &[usize], axes: usize) -> PyResult<Rows<'py>> {
    let (lead, tail) = shape.split_at(shape.len() - axes);
    let width: usize = tail.iter().product();
    let whole = [lead, &[width]].concat();
    // NumPy's, so that what is not contiguous raises there with its own words; a view where it can be one.
    let joined = array.call_method1("reshape", (whole,))?;
    Rows::new(&joined, name, width)
}

#[pymethods]
impl Plant {
    /// Positions and velocities at the start and after every step; `u` is `(…, steps, nu)`. Time is the axis before the last.
    ///
    /// >>> import leastaction as la, numpy as np
    /// >>> plant = la.Plant(la.load("@chain/2"), step=0.01)
    /// >>> q, v = plant.rollout(np.zeros(2), np.ones(2), np.zeros((50, 0)))
    /// >>> q.shape
    /// (51, 2)
    #[pyo3(signature = (q, v, u))]
    fn rollout<'py>(
        &self,
        py: Python<'py>,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        u: Any<'_, 'py>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let (steps, u) = self.motions(py, u)?;
        let batch = Batch { u, ..self.batch(py, q, v, None)? };
        let batch = batch.aligned(py, &[])?;
        let m = &self.engine.handle;
        let (nq, nv) = (m.nq(), m.nv());
        let lead = batch.lead.as_deref();
        let make = |width| Output::new(py, lead, &[steps + 1, width]);
        let outputs = [make(nq)?, make(nv)?];
        let (wq, wv) = (outputs[0].writer((steps + 1) * nq), outputs[1].writer((steps + 1) * nv));
        self.each(py, &batch, steps, |plant, x, u, _, _, row| {
            let mut states = Vec::with_capacity(steps + 1);
            roll_out(plant, x, steps, u, &mut states)?;
            let (q, v) = (wq.row(row), wv.row(row));
            for (k, state) in states.iter().enumerate() {
                q[k * nq..(k + 1) * nq].copy_from_slice(&state.q);
                v[k * nv..(k + 1) * nv].copy_from_slice(&state.v);
            }
            Ok(())
        })?;
        let [q, v] = outputs;
        Ok((q.into_array(), v.into_array()))
    }

    /// Gradients by the first `q` and `v`, by `u` and the parameters of a function of a whole motion: `q` and `v` are what `rollout`
    /// gave, and the gradients by them are given, all `(…, steps + 1, n)`. One sweep backward, whatever the number of parameters.
    #[pyo3(signature = (q, v, u, gradient_q, gradient_v))]
    fn rollout_pull_back<'py>(
        &self,
        py: Python<'py>,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        u: Any<'_, 'py>,
        gradient_q: Any<'_, 'py>,
        gradient_v: Any<'_, 'py>,
    ) -> PyResult<Gradients<'py>> {
        let (steps, u) = self.motions(py, u)?;
        let m = &self.engine.handle;
        let (nq, nv, nu, np) = (m.nq(), m.nv(), m.nu(), self.np());
        let path = |array: Any<'_, 'py>, name: &'static str, n: usize| {
            let shape: Vec<usize> =
                array.getattr("shape").and_then(|shape| shape.extract()).unwrap_or_default();
            if !matches!(shape[..], [.., rows, last] if rows == steps + 1 && last == n) {
                let wanted = format!("(…, {}, {n})", steps + 1);
                return Err(shape_error(py, name, &wanted, &format!("{shape:?}")));
            }
            let rows = flat(array, name, &shape, 2)?;
            rows.expect_finite(py)?;
            Ok(rows)
        };
        let (q, v) = (path(q, "q", nq)?, path(v, "v", nv)?);
        let (gq, gv) = (path(gradient_q, "gradient_q", nq)?, path(gradient_v, "gradient_v", nv)?);
        let batch = Batch { q, v, u, lead: None, rows: 1 }.aligned(py, &[&gq, &gv])?;
        let lead = batch.lead.as_deref();
        let widths = [nq, nv, steps * nu, np];
        let make = |tail: &[usize]| Output::new(py, lead, tail);
        let outputs = [make(&[nq])?, make(&[nv])?, make(&[steps, nu])?, make(&[np])?];
        let writers: [_; 4] = std::array::from_fn(|i| outputs[i].writer(widths[i]));
        let (gq, gv) = (gq.reader(), gv.reader());
        let (rq, rv) = (batch.q.reader(), batch.v.reader());
        self.each_motion(py, &batch, steps, |plant, start, u, row| {
            let (qs, vs) = (rq.row(row), rv.row(row));
            let states: Vec<CoreState> = (0..=steps)
                .map(|k| CoreState {
                    q: qs[k * nq..(k + 1) * nq].to_vec(),
                    v: vs[k * nv..(k + 1) * nv].to_vec(),
                    ..start.clone()
                })
                .collect();
            let given = |k: usize, state: &CoreState, g: &mut [f64]| {
                self.tangent_of(&state.q, &gq.row(row)[k * nq..(k + 1) * nq], &mut g[..nv]);
                g[nv..].copy_from_slice(&gv.row(row)[k * nv..(k + 1) * nv]);
            };
            // The first state of a motion is the one that was given, whether or not it is admissible.
            let found = motion_gradient(plant, &states, u, |k, state, g| {
                if k > 0 {
                    given(k, state, g);
                }
            })?;
            let mut first = found.start;
            if steps > 0 {
                plant.by_given_state(&states[0], &mut first);
            }
            let mut own = vec![0.0; 2 * nv];
            given(0, &states[0], &mut own);
            first.iter_mut().zip(&own).for_each(|(first, own)| *first += own);
            self.of_tangent(&states[0].q, &first[..nv], writers[0].row(row));
            writers[1].row(row).copy_from_slice(&first[nv..]);
            writers[2].row(row).copy_from_slice(&found.inputs);
            writers[3].row(row).copy_from_slice(&found.parameters);
            Ok(())
        })?;
        Ok(outputs.map(Output::into_array).into())
    }
}
