//! Coordinates of the admissible states: a subset of the joints' own, chosen at the state. (3.35)
//!
//! On a tree every joint coordinate is free. A loop makes some depend on others: with the rows `K δq = 0` of the
//! holonomic closures and `K_v v = 0` of all of them, elimination with full pivoting decides which. What is left
//! is a chart: the free coordinates determine the others, `δq = Z δq_f`, `δv = Z_v δv_f + Y δq_f`. Coordinates with an
//! actuator stay free where they can.

use super::node::Node;
use crate::geometry::LinkPose;
use crate::integrator::StepError;
use crate::layout::{ClosureKind, Layout};
use crate::ldu::{Six, dot, six};

/// Rows smaller than this against the largest are dependent ones.
const RANK_TOLERANCE: f64 = 1e-9;
/// A coordinate with an actuator is made dependent only if no other has a pivot of this size.
const PREFERENCE: f64 = 1e-3;

/// Which coordinates are free, and how the others follow.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// Free position and velocity coordinates, ascending.
    pub(super) free_q: Vec<usize>,
    pub(super) free_v: Vec<usize>,
    /// `nv × nv` by rows: only the columns of free coordinates are used.
    z_q: Vec<f64>,
    z_v: Vec<f64>,
    y: Vec<f64>,
    /// Coordinates with an actuator.
    driven: Vec<bool>,
    /// Keep the free coordinates chosen last.
    pub(super) fixed: bool,
    table: Vec<f64>,
    used: Vec<bool>,
    pivots: Vec<(usize, usize)>,
    unit: Vec<f64>,
    swept: Vec<Six>,
    velocity: Vec<Six>,
    rows: Vec<Six>,
}

impl Chart {
    pub(super) fn new(layout: &Layout, nv: usize) -> Self {
        let rows: usize = layout.closures.iter().map(|c| c.rows).sum();
        let n = layout.links.len();
        let mut driven = vec![false; nv];
        for link in &layout.links {
            for &(_, c, _) in &link.joint.actuators {
                driven[link.v + c] = true;
            }
        }
        let square = || {
            let mut m = vec![0.0; nv * nv];
            (0..nv).for_each(|c| m[c * nv + c] = 1.0);
            m
        };
        let closed = !layout.closures.is_empty();
        let memory = |n: usize| if closed { n } else { 0 };
        Self {
            free_q: (0..nv).collect(),
            free_v: (0..nv).collect(),
            z_q: if closed { square() } else { Vec::new() },
            z_v: if closed { square() } else { Vec::new() },
            y: vec![0.0; memory(nv * nv)],
            driven,
            fixed: false,
            table: vec![0.0; memory(rows * 2 * nv)],
            used: vec![false; rows.max(nv)],
            pivots: Vec::with_capacity(nv),
            unit: vec![0.0; nv],
            swept: vec![[0.0; 6]; n],
            velocity: vec![[0.0; 6]; n],
            rows: vec![[0.0; 6]; layout.closures.len()],
        }
    }

    /// Chooses the free coordinates at a node. Does not allocate after the first time.
    pub(super) fn fill(
        &mut self,
        layout: &Layout,
        node: &Node,
        poses: &[LinkPose],
        t: f64,
    ) -> Result<(), StepError> {
        if layout.closures.is_empty() {
            return Ok(());
        }
        let nv = self.unit.len();
        let width = 2 * nv;
        for holonomic in [true, false] {
            // Columns: the closures' rates per unit of every coordinate.
            let mut count = 0;
            for j in 0..nv {
                self.unit.fill(0.0);
                self.unit[j] = 1.0;
                node.sweep(layout, &self.unit, None, &mut self.swept);
                count = self.put_column(layout, node, poses, holonomic, j, None);
            }
            if !holonomic {
                // Right-hand sides: what a free position changes in the velocity rows at fixed velocity coordinates.
                for j in 0..nv {
                    for r in 0..nv {
                        self.unit[r] = self.z_q[r * nv + j];
                    }
                    node.sweep(layout, &self.unit, None, &mut self.swept);
                    self.rows.fill([0.0; 6]);
                    node.closures_by_pose.apply(&self.swept, &mut self.rows);
                    self.velocity.fill([0.0; 6]);
                    node.swept(&self.swept, &mut self.velocity);
                    self.unit.fill(0.0);
                    node.sweep(layout, &self.unit, Some(&self.velocity), &mut self.swept);
                    self.put_column(layout, node, poses, false, nv + j, Some(()));
                }
            }
            self.eliminate(count, nv, width, holonomic, t)?;
        }
        Ok(())
    }

    /// Writes the closures' rates of the swept velocities into a column; with `add`, beside what `rows` holds.
    fn put_column(
        &mut self,
        layout: &Layout,
        node: &Node,
        poses: &[LinkPose],
        holonomic: bool,
        column: usize,
        add: Option<()>,
    ) -> usize {
        let width = 2 * self.unit.len();
        let mut count = 0;
        for (c, closure) in layout.closures.iter().enumerate() {
            for r in 0..closure.rows {
                let counts = match &closure.kind {
                    ClosureKind::Joint => true,
                    ClosureKind::Coordinates => false,
                    ClosureKind::Rolling(rolling) => {
                        !holonomic || rolling.position(&poses[closure.index], r).is_some()
                    }
                };
                if !counts {
                    continue;
                }
                let row = &node.rows[c][r];
                let mut value = if add.is_some() { self.rows[c][r] } else { 0.0 };
                if let Some(b) = closure.b {
                    value += dot(&six(row.ang_b, row.lin), &self.swept[b]);
                }
                if let Some(a) = closure.a {
                    value -= dot(&six(row.ang_a, row.lin), &self.swept[a]);
                }
                self.table[count * width + column] = value;
                count += 1;
            }
        }
        count
    }

    /// Gauss–Jordan with full pivoting over the coordinates' columns; the rest is carried along.
    fn eliminate(
        &mut self,
        rows: usize,
        nv: usize,
        width: usize,
        holonomic: bool,
        t: f64,
    ) -> Result<(), StepError> {
        let carried = if holonomic { nv } else { width };
        let table = &mut self.table;
        let free = if holonomic { &mut self.free_q } else { &mut self.free_v };
        let scale = (0..rows)
            .flat_map(|r| table[r * width..r * width + nv].iter())
            .fold(0.0f64, |m, x| m.max(x.abs()));
        self.pivots.clear();
        self.used[..nv].fill(false);
        let keep = |c: usize| self.fixed && free.contains(&c);
        loop {
            let k = self.pivots.len();
            let mut best = (RANK_TOLERANCE * scale, None);
            for pass in 0..2 {
                for r in k..rows {
                    for c in 0..nv {
                        let x = table[r * width + c].abs();
                        if !self.used[c] && !keep(c) && (pass == 1 || !self.driven[c]) && x > best.0 {
                            best = (x, Some((r, c)));
                        }
                    }
                }
                if best.0 > PREFERENCE * scale {
                    break;
                }
            }
            let Some((r, c)) = best.1 else { break };
            self.used[c] = true;
            for m in 0..carried {
                table.swap(k * width + m, r * width + m);
            }
            let p = 1.0 / table[k * width + c];
            for m in 0..carried {
                table[k * width + m] *= p;
            }
            for r in 0..rows {
                let s = table[r * width + c];
                if r != k && s != 0.0 {
                    for m in 0..carried {
                        table[r * width + m] -= s * table[k * width + m];
                    }
                }
            }
            self.pivots.push((k, c));
        }
        if self.fixed && free.len() + self.pivots.len() != nv {
            return Err(StepError::Singular {
                time: t,
                what: "choice of free coordinates",
                joint: "of the loops".into(),
                remedy: "another set of coordinates is needed here: let it be chosen anew",
            });
        }
        if !self.fixed {
            free.clear();
            free.extend((0..nv).filter(|c| !self.used[*c]));
        }
        let z = if holonomic { &mut self.z_q } else { &mut self.z_v };
        z.fill(0.0);
        for &c in free.iter() {
            z[c * nv + c] = 1.0;
            for &(k, d) in &self.pivots {
                z[d * nv + c] = -table[k * width + c];
            }
        }
        if !holonomic {
            self.y.fill(0.0);
            for &c in &self.free_q {
                for &(k, d) in &self.pivots {
                    self.y[d * nv + c] = -table[k * width + nv + c];
                }
            }
        }
        Ok(())
    }

    /// From free coordinates to all: `δq = Z x_q`, `δv = Z_v x_v + Y x_q`.
    pub(super) fn expand(&self, x: &[f64], dq: &mut [f64], dv: &mut [f64]) {
        let (mq, nv) = (self.free_q.len(), dq.len());
        if self.z_q.is_empty() {
            dq.copy_from_slice(&x[..nv]);
            dv.copy_from_slice(&x[nv..2 * nv]);
            return;
        }
        dq.fill(0.0);
        dv.fill(0.0);
        for (j, &c) in self.free_q.iter().enumerate() {
            for r in 0..nv {
                dq[r] += self.z_q[r * nv + c] * x[j];
                dv[r] += self.y[r * nv + c] * x[j];
            }
        }
        for (j, &c) in self.free_v.iter().enumerate() {
            for r in 0..nv {
                dv[r] += self.z_v[r * nv + c] * x[mq + j];
            }
        }
    }

    /// Transpose of [`expand`](Self::expand).
    pub(super) fn expand_transposed(&self, dq: &[f64], dv: &[f64], x: &mut [f64]) {
        let (mq, nv) = (self.free_q.len(), dq.len());
        if self.z_q.is_empty() {
            x[..nv].copy_from_slice(dq);
            x[nv..2 * nv].copy_from_slice(dv);
            return;
        }
        for (j, &c) in self.free_q.iter().enumerate() {
            x[j] = (0..nv).map(|r| self.z_q[r * nv + c] * dq[r] + self.y[r * nv + c] * dv[r]).sum();
        }
        for (j, &c) in self.free_v.iter().enumerate() {
            x[mq + j] = (0..nv).map(|r| self.z_v[r * nv + c] * dv[r]).sum();
        }
    }
}
