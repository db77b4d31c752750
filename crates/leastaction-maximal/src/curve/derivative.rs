//! The derivative of a step of order 2s: products with it and with its transpose. (8.18), (8.19)

use super::CurveMemory;
use super::exact::{Exact, for_each_row};
use super::slopes::{At, in_link_axes, in_world_axes};
use crate::geometry::Side;
use crate::graph::Graph;
use crate::layout::{ClosureKind, Layout};
use crate::ldu::{Six, dot};
use crate::spatial::Mat3;
use crate::state::MaximalState;
use crate::workspace::StepData;

/// A solved step with its matrix and slopes.
#[derive(Clone, Debug)]
pub(crate) struct CurveSlope {
    exact: Exact,
    s: usize,
    kept: Vec<[bool; 6]>,
    /// Geometry of nodes 1 to s: the rows of the constraints.
    sides: Vec<Side>,
    /// Rotations of the links at the start, in whose axes the slopes are.
    rot: Vec<Mat3>,
    turned: [Vec<Six>; 2],
    out: Vec<Six>,
    scratch: Vec<Six>,
    memory: Vec<f64>,
}

impl CurveSlope {
    pub(crate) fn new(layout: &Layout, graph: &Graph, s: usize) -> Self {
        Self {
            exact: Exact::new(layout, graph, s),
            s,
            kept: vec![[true; 6]; layout.closures.len()],
            sides: vec![Side::new(layout); s],
            rot: Vec::new(),
            turned: [vec![[0.0; 6]; layout.links.len()], vec![[0.0; 6]; layout.links.len()]],
            out: vec![[0.0; 6]; layout.links.len().max(layout.closures.len())],
            scratch: vec![[0.0; 6]; layout.links.len()],
            memory: Vec::new(),
        }
    }

    /// Differentiates the step in `memory` before it is accepted; multipliers of node 0 as given. False if it is singular.
    pub(crate) fn fill(
        &mut self,
        layout: &Layout,
        state: &MaximalState,
        step: &StepData,
        memory: &CurveMemory,
        u: &[f64],
        first: (&[Six], &[Six]),
    ) -> bool {
        self.kept.copy_from_slice(&memory.kept);
        self.rot.clone_from(&state.side.rot);
        for (side, node) in self.sides.iter_mut().zip(&memory.nodes) {
            side.copy_from(&node.side);
        }
        self.exact.factor(&At { layout, state, step, memory, u, first: Some(first) })
    }

    /// `(z, P, u) ↦ (z', P')`, variations by rotations and displacements of the centres of mass. (8.18)
    pub(crate) fn forward(
        &mut self,
        layout: &Layout,
        z: &[Six],
        momentum: &[Six],
        u: &[f64],
        z_end: &mut [Six],
        momentum_end: &mut [Six],
    ) {
        let (n, s) = (layout.links.len(), self.s);
        let Self { exact, kept, sides, rot, turned, out, memory, .. } = self;
        let [zl, pl] = turned;
        for i in 0..n {
            (zl[i], pl[i]) = (in_link_axes(&rot[i], &z[i]), in_link_axes(&rot[i], &momentum[i]));
        }
        let Exact { ldu, slopes, z: x, .. } = exact;
        x.fill(0.0);
        for al in 0..s {
            let rows = &mut out[..n];
            rows.fill([0.0; 6]);
            slopes.by_all(al).apply(zl, rows);
            slopes.by_input(al).apply(u, rows);
            for i in 0..n {
                let here = ldu.range(i).start + 6 * al;
                for k in 0..6 {
                    x[here + k] = -rows[i][k] - if al == 0 { pl[i][k] } else { 0.0 };
                }
            }
        }
        for (k, side) in sides.iter().enumerate() {
            for_each_row(layout, side, kept, None, |node, count, r, ends| {
                let sum: f64 = ends.iter().flatten().map(|(i, row)| dot(row, &z[*i])).sum();
                x[ldu.range(node).start + k * count + r] = -sum;
            });
            let rows = &mut out[..];
            rows.fill([0.0; 6]);
            slopes.rolling_by_all(k + 1).apply(zl, rows);
            for (c, closure) in layout.closures.iter().enumerate() {
                if let ClosureKind::Rolling(_) = closure.kind {
                    let here = ldu.range(2 * n + c).start + k * closure.rows;
                    (0..closure.rows).for_each(|r| x[here + r] = -rows[c][r]);
                }
            }
        }
        ldu.solve_refined(false, x, memory);
        // From here on the poses' part is the departure from the start's variation.
        momentum_end.fill([0.0; 6]);
        slopes.by_all(s).apply(zl, momentum_end);
        slopes.by_input(s).apply(u, momentum_end);
        for ga in 1..=s {
            for i in 0..n {
                let here = ldu.range(i).start + 6 * (ga - 1);
                self.scratch[i].copy_from_slice(&x[here..here + 6]);
            }
            slopes.by_node(s, ga).apply(&self.scratch, momentum_end);
        }
        for i in 0..n {
            let moved = in_world_axes(&rot[i], &self.scratch[i]);
            z_end[i] = crate::scalar::by_entry(|k| z[i][k] + moved[k]);
            momentum_end[i] = in_world_axes(&rot[i], &momentum_end[i]);
        }
    }

    /// The transpose: `(z̄', P̄') ↦ (z̄, P̄)`; `ū` is added to. (8.19)
    pub(crate) fn adjoint(
        &mut self,
        layout: &Layout,
        z_end: &[Six],
        momentum_end: &[Six],
        z: &mut [Six],
        momentum: &mut [Six],
        u: &mut [f64],
    ) {
        let (n, s) = (layout.links.len(), self.s);
        let Self { exact, kept, sides, rot, turned, out, scratch, memory, .. } = self;
        let [zl, pl] = turned;
        for i in 0..n {
            (zl[i], pl[i]) = (in_link_axes(&rot[i], &z_end[i]), in_link_axes(&rot[i], &momentum_end[i]));
        }
        let Exact { ldu, slopes, z: x, .. } = exact;
        x.fill(0.0);
        for ga in 1..=s {
            scratch.fill([0.0; 6]);
            slopes.by_node(s, ga).apply_transposed(pl, scratch);
            for i in 0..n {
                let here = ldu.range(i).start + 6 * (ga - 1);
                for k in 0..6 {
                    x[here + k] = scratch[i][k] + if ga == s { zl[i][k] } else { 0.0 };
                }
            }
        }
        ldu.solve_refined(true, x, memory);
        slopes.by_all(s).apply_transposed(pl, zl);
        slopes.by_input(s).apply_transposed(pl, u);
        for al in 0..s {
            for i in 0..n {
                let here = ldu.range(i).start + 6 * al;
                out[i] = crate::scalar::by_entry(|k| -x[here + k]);
                if al == 0 {
                    momentum[i] = in_world_axes(&rot[i], &out[i]);
                }
            }
            slopes.by_all(al).apply_transposed(&out[..n], zl);
            slopes.by_input(al).apply_transposed(&out[..n], u);
        }
        for (k, side) in sides.iter().enumerate() {
            for_each_row(layout, side, kept, None, |node, count, r, ends| {
                let kappa = x[ldu.range(node).start + k * count + r];
                for (i, row) in ends.iter().flatten() {
                    let row = in_link_axes(&rot[*i], row);
                    (0..6).for_each(|m| zl[*i][m] -= kappa * row[m]);
                }
            });
            out.fill([0.0; 6]);
            for (c, closure) in layout.closures.iter().enumerate() {
                if let ClosureKind::Rolling(_) = closure.kind {
                    let here = ldu.range(2 * n + c).start + k * closure.rows;
                    (0..closure.rows).for_each(|r| out[c][r] = -x[here + r]);
                }
            }
            slopes.rolling_by_all(k + 1).apply_transposed(out, zl);
        }
        for i in 0..n {
            z[i] = in_world_axes(&rot[i], &zl[i]);
        }
    }
}
