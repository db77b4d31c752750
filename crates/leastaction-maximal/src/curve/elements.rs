//! Dampers, armature, stiff springs and drag: impulses at the nodes of what depends on several of them. (8.9), (8.10)

use super::CurveMemory;
use super::body::spin;
use super::rows::{add_joint_wrench, is_ball_rate, relative_spin};
use super::table::{NODES, PerNode, Table};
use crate::constraint::coordinate_row;
use crate::coordinate::increments;
use crate::forces::add_row;
use crate::geometry::{Geometry, Side};
use crate::layout::{CoordinateRows, Layout, LinkJoint};
use crate::ldu::{Six, six};
use crate::scalar::Real;
use crate::spatial::{Quat, Vec3};
use crate::state::MaximalState;
use crate::workspace::StepData;

/// `E^{αγ}` of one coordinate. (8.9)
#[inline(always)]
pub(super) fn coupling(
    table: &Table,
    rows: &CoordinateRows,
    c: usize,
    h: f64,
    stiff: bool,
    al: usize,
    ga: usize,
) -> f64 {
    let k = if stiff { rows.stiffness[c] } else { 0.0 };
    rows.armature[c] * table.mass[al][ga] / h
        - rows.damping[c] * table.w[al] * table.b[al][ga]
        - k * h * table.gauss[al][ga]
}

/// Impulses along the coordinates of one joint at all nodes, from its geometry at all nodes. `y` are the start's
/// coordinates.
pub(super) fn impulses<'a, T: Real>(
    table: &Table,
    joint: &LinkJoint,
    h: f64,
    y: &[T],
    stiff: impl Fn(usize) -> bool,
    at: impl Fn(usize) -> &'a Geometry<T>,
) -> [[T; 6]; NODES] {
    let (kind, rows, s) = (joint.kind, &joint.rows, table.s);
    let mut out = [[T::zero(); 6]; NODES];
    let mut dy = out;
    for ga in 1..=s {
        increments(kind, at(0), at(ga), &mut dy[ga]);
    }
    for c in 0..kind.nv() {
        if is_ball_rate(kind, c) {
            continue;
        }
        let stiff = stiff(c);
        for al in 0..=s {
            let mut sum = T::zero();
            for ga in 1..=s {
                sum += dy[ga][c] * coupling(table, rows, c, h, stiff, al, ga);
            }
            if stiff {
                let away = y[c] - T::from_f64(rows.rest[c]);
                sum -= away * (h * table.gauss_weight[al] * rows.stiffness[c]);
            }
            out[al][c] = sum;
        }
    }
    if is_ball_rate(kind, 0) && rows.damping[..3] != [0.0; 3] {
        for al in 0..=s {
            let spin = relative_spin(table, |be| at(be).r, al);
            for c in 0..3 {
                out[al][c] = spin[c] * (-rows.damping[c] * table.w[al]);
            }
        }
    }
    out
}

impl CurveMemory {
    /// Adds the impulses of all elements at all nodes to `given`.
    #[inline(always)]
    pub(super) fn add_elements(&mut self, layout: &Layout, state: &MaximalState, step: &StepData) {
        let n = layout.links.len();
        for (i, link) in layout.links.iter().enumerate() {
            let joint = &link.joint;
            if !joint.rows.has_rows {
                continue;
            }
            let kind = joint.kind;
            let nv = kind.nv();
            let y = &state.q[link.q..link.q + kind.nq()];
            let geometry =
                |al: usize| if al == 0 { &state.side.joints[i] } else { &self.nodes[al - 1].side.joints[i] };
            let impulse = impulses(&self.table, joint, step.h, y, |c| step.implicit[link.v + c], geometry);
            for al in 0..=self.table.s {
                let side = if al == 0 { &state.side } else { &self.nodes[al - 1].side };
                let (mut ang, mut lin) = (Vec3::zero(), Vec3::zero());
                for c in 0..nv {
                    let row = coordinate_row(kind, &side.joints[i], c);
                    ang += row.ang_b * impulse[al][c];
                    lin += row.lin * impulse[al][c];
                }
                let out = &mut self.given[al * n..(al + 1) * n];
                add_joint_wrench(out, side, link.parent, i, &six(ang, lin));
            }
        }
        for (l, joint) in layout.loops.iter().enumerate() {
            if !joint.rows.has_rows {
                continue;
            }
            let geometry =
                |al: usize| if al == 0 { &state.side.loops[l] } else { &self.nodes[al - 1].side.loops[l] };
            let stiff = |c: usize| c < 3 && step.implicit_loop[l][c];
            let impulse = impulses(&self.table, joint, step.h, &state.q_loop[l], stiff, geometry);
            for al in 0..=self.table.s {
                let side = if al == 0 { &state.side } else { &self.nodes[al - 1].side };
                let out = &mut self.given[al * n..(al + 1) * n];
                for c in 0..joint.kind.nv() {
                    let row = coordinate_row(joint.kind, &side.loops[l], c);
                    add_row(out, &side.arm, joint.a.link, joint.b.link, &row, impulse[al][c]);
                }
            }
        }
    }

    /// Adds drag: forces at points by their velocities along the curve, torques by the angular velocity.
    #[inline(always)]
    pub(super) fn add_drag(&mut self, layout: &Layout, state: &MaximalState, h: f64) {
        let (n, s) = (layout.links.len(), self.table.s);
        for (i, link) in layout.links.iter().enumerate() {
            if link.drags.is_empty() && link.spin_drag == 0.0 {
                continue;
            }
            for al in 0..=s {
                let (mut ang, mut lin) = (Vec3::zero(), Vec3::zero());
                for (point, c) in &link.drags {
                    let f = (self.point_velocity(state, n, i, *point, al, h) - layout.wind)
                        * (-c * self.table.w[al] * h);
                    ang += (self.side(state, al).rot[i] * *point).cross(f);
                    lin += f;
                }
                if link.spin_drag != 0.0 {
                    let omega = spin(&self.table, |be| self.rho(n, be, i), al, 1.0 / h);
                    ang += omega * (-link.spin_drag * self.table.w[al] * h);
                }
                let out: &mut Six = &mut self.given[al * n + i];
                for k in 0..3 {
                    out[k] += ang[k];
                    out[3 + k] += lin[k];
                }
            }
        }
    }

    /// Velocity at node α of a point of a link along the curve.
    pub(super) fn point_velocity(
        &self,
        state: &MaximalState,
        n: usize,
        i: usize,
        point: Vec3,
        al: usize,
        h: f64,
    ) -> Vec3 {
        let b: &PerNode = &self.table.b[al];
        let start = state.side.rot[i] * point;
        let mut sum = Vec3::zero();
        for be in 1..=self.table.s {
            let moved = self.nodes[be - 1].side.rot[i] * point - start;
            sum += (self.x.dx[(be - 1) * n + i] + moved) * b[be];
        }
        sum * (1.0 / h)
    }

    /// Geometry of node α.
    #[inline(always)]
    pub(super) fn side<'a>(&'a self, state: &'a MaximalState, al: usize) -> &'a Side {
        if al == 0 { &state.side } else { &self.nodes[al - 1].side }
    }

    /// Rotation of link `i` from the start to node α.
    #[inline(always)]
    pub(super) fn rho(&self, n: usize, al: usize, i: usize) -> Quat {
        if al == 0 { Quat::identity() } else { self.x.rho[(al - 1) * n + i] }
    }
}
