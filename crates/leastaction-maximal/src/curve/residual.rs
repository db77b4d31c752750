//! The equations of a step at an iterate. (8.6)

use super::CurveMemory;
use super::body::{Curve, spin};
use super::rows::{add_joint_wrench, joint_wrench, larger, swing, twist};
use super::slopes::weak;
use crate::constraint::{Off, Row, angular_rows, directions, values_of};
use crate::forces::{add_friction, add_half_kick, add_loop_friction, add_row, unwrapped};
use crate::layout::{ClosureKind, Layout, LinkJoint};
use crate::ldu::{Six, angular, linear, six};
use crate::mechanism::JointType;
use crate::nonholonomic::Rolling;
use crate::spatial::Vec3;
use crate::state::MaximalState;
use crate::workspace::{StepData, Worst};

impl CurveMemory {
    /// Evaluates the equations at the iterate; false if it is out of reach: turned by half a turn, or not finite. Does not
    /// allocate.
    #[inline(always)]
    pub(super) fn evaluate(
        &mut self,
        layout: &Layout,
        state: &MaximalState,
        step: &StepData,
        u: &[f64],
    ) -> bool {
        if !self.x.rho.iter().all(|q| q.w > 0.0) {
            return false;
        }
        self.place(layout, state);
        self.load(layout, state, step, u);
        self.add_constraints(layout, state);
        self.close(layout, state);
        if self.holds(step) {
            self.add_held(layout, state, step);
            self.measure_held(layout, state, step);
        }
        if !layout.ties.is_empty() {
            self.measure_ties(layout, state, step);
            self.add_ties(layout, state, step);
        }
        self.balance(layout, state, step.h)
    }

    /// Poses, geometry and row values of all nodes.
    #[inline(always)]
    fn place(&mut self, layout: &Layout, state: &MaximalState) {
        let n = layout.links.len();
        let mut gap = Worst::default();
        for (k, node) in self.nodes.iter_mut().enumerate() {
            for (i, link) in layout.links.iter().enumerate() {
                node.poses[i] = self.x.pose(n, k + 1, i, &state.poses[i]);
                node.side.place_link(layout, i, &node.poses);
                // Gaps and turns by what moved, or they would have the rounding of places far from the origin. (8.28)
                let (kind, g, before) = (link.joint.kind, &node.side.joints[i], &state.side.joints[i]);
                let rho = &self.x.rho[k * n..(k + 1) * n];
                let moved = self.x.dx[k * n + i] + swing(&rho[i], state.side.arm[i]);
                let origin = match link.parent {
                    Some(p) => node.moved[p] + swing(&rho[p], before.lever_a),
                    None => Vec3::zero(),
                };
                node.moved[i] = moved;
                let d = before.gap + moved - origin;
                let turn = || twist(before, link.parent.map(|p| &rho[p]), Some(&rho[i])).v;
                let value = &mut node.values[i];
                match kind {
                    JointType::Revolute | JointType::Continuous => {
                        let turn = turn();
                        let (r1, r2) = (2.0 * turn[0], 2.0 * turn[1]);
                        *value = [r1, r2, d[0], d[1], d[2], 0.0];
                        gap.ang = larger(larger(gap.ang, r1.abs()), r2.abs());
                        gap.take_linear(d);
                    }
                    JointType::Spherical => {
                        value[..3].copy_from_slice(&d.0);
                        gap.take_linear(d);
                    }
                    kind => {
                        let rows = values_of(kind, g, &Off { gap: d, turn: turn() }, value);
                        gap.take(angular_rows(kind), &value[..rows]);
                    }
                }
            }
            node.side.place_loops(layout, &node.poses);
        }
        self.gap = gap;
    }

    /// Impulses that no multiplier has a share in: gravity, inputs, springs, dampers, armature, drag.
    #[inline(always)]
    fn load(&mut self, layout: &Layout, state: &MaximalState, step: &StepData, u: &[f64]) {
        let (n, h) = (layout.links.len(), step.h);
        for al in 0..=self.table.s {
            let weight = self.table.w[al] * h;
            let given = &mut self.given[al * n..(al + 1) * n];
            if !self.loaded {
                for (out, link) in given.iter_mut().zip(&layout.links) {
                    *out = six(Vec3::zero(), layout.gravity * (link.mass * weight));
                }
                continue;
            }
            given.fill([0.0; 6]);
            let (side, q, q_loop) = if al == 0 {
                (&state.side, &state.q, &state.q_loop)
            } else {
                let node = &mut self.nodes[al - 1];
                for (i, link) in layout.links.iter().enumerate().filter(|(_, l)| l.joint.rows.has_springs) {
                    let range = link.q..link.q + link.joint.kind.nq();
                    let near = &state.q[range.clone()];
                    unwrapped(link.joint.kind, &node.side.joints[i], near, &mut node.q[range]);
                }
                for (l, joint) in layout.loops.iter().enumerate().filter(|(_, j)| j.rows.has_springs) {
                    let (near, nq) = (&state.q_loop[l], joint.kind.nq());
                    unwrapped(joint.kind, &node.side.loops[l], near, &mut node.q_loop[l][..nq]);
                }
                (&node.side, &node.q, &node.q_loop)
            };
            add_half_kick(layout, side, q, q_loop, u, weight, &step.implicit, &step.implicit_loop, given);
        }
        self.add_elements(layout, state, step, u);
        self.add_drag(layout, state, h);
        self.add_tendons(layout, state, h);
        if step.driven {
            for al in 0..=self.table.s {
                let side = if al == 0 { &state.side } else { &self.nodes[al - 1].side };
                let given = &mut self.given[al * n..(al + 1) * n];
                add_friction(layout, side, &step.friction, self.table.w[al] * h, given);
                add_loop_friction(layout, side, &step.friction_loop, self.table.w[al] * h, given);
            }
        }
    }

    /// Impulses of joints and closures at nodes 0 to s − 1.
    #[inline(always)]
    fn add_constraints(&mut self, layout: &Layout, state: &MaximalState) {
        let (n, nc) = (layout.links.len(), layout.closures.len());
        for al in 0..self.table.s {
            let (side, poses) = if al == 0 {
                (&state.side, &state.poses)
            } else {
                (&self.nodes[al - 1].side, &self.nodes[al - 1].poses)
            };
            let given = &mut self.given[al * n..(al + 1) * n];
            for (i, link) in layout.links.iter().enumerate() {
                let wrench = joint_wrench(link.joint.kind, &side.joints[i], &self.x.lam[al * n + i]);
                add_joint_wrench(given, side, link.parent, i, &wrench);
            }
            for (c, closure) in layout.closures.iter().enumerate() {
                let lam = &self.x.closure[al * nc + c];
                match &closure.kind {
                    ClosureKind::Joint => {
                        let mut rows = [Row::default(); 6];
                        directions(layout.loops[closure.index].kind, &side.loops[closure.index], &mut rows);
                        let mut sum = Row::default();
                        for r in (0..closure.rows).filter(|r| self.kept[c][*r]) {
                            sum.ang_a += rows[r].ang_a * lam[r];
                            sum.ang_b += rows[r].ang_b * lam[r];
                            sum.lin += rows[r].lin * lam[r];
                        }
                        add_row(given, &side.arm, closure.a, closure.b, &sum, 1.0);
                    }
                    ClosureKind::Coordinates => {}
                    ClosureKind::Rolling(rolling) => {
                        let mut rows = [[0.0; 6]; 6];
                        rolling.node_rows(&poses[closure.index], &mut rows);
                        for r in 0..closure.rows {
                            for k in 0..6 {
                                given[closure.index][k] += rows[r][k] * lam[r];
                            }
                        }
                    }
                }
            }
        }
    }

    /// Values of the closures' rows at nodes 1 to s.
    #[inline(always)]
    fn close(&mut self, layout: &Layout, state: &MaximalState) {
        for (c, closure) in layout.closures.iter().enumerate() {
            match &closure.kind {
                ClosureKind::Joint => {
                    let joint: &LinkJoint = &layout.loops[closure.index];
                    let angles = angular_rows(joint.kind);
                    let (n, start, before) =
                        (layout.links.len(), &state.side, &state.side.loops[closure.index]);
                    for (k, node) in self.nodes.iter_mut().enumerate() {
                        let (rho, dx) = (&self.x.rho[k * n..(k + 1) * n], &self.x.dx[k * n..(k + 1) * n]);
                        let moved = |link: Option<usize>, p: Vec3| {
                            link.map_or(Vec3::zero(), |i| dx[i] + swing(&rho[i], start.rot[i] * p))
                        };
                        let gap = before.gap + moved(closure.b, joint.b.p) - moved(closure.a, joint.a.p);
                        let turn = twist(before, closure.a.map(|i| &rho[i]), closure.b.map(|i| &rho[i])).v;
                        let value = &mut node.closure[c];
                        values_of(joint.kind, &node.side.loops[closure.index], &Off { gap, turn }, value);
                        for r in (0..closure.rows).filter(|r| self.kept[c][*r]) {
                            let worst = if r < angles { &mut self.gap.ang } else { &mut self.gap.lin };
                            *worst = larger(*worst, value[r].abs());
                        }
                    }
                }
                ClosureKind::Coordinates => {}
                ClosureKind::Rolling(rolling) => self.roll(layout, state, c, rolling),
            }
        }
    }

    /// Rows of a velocity constraint: values where they have one, the weak form elsewhere. (8.20)
    fn roll(&mut self, layout: &Layout, state: &MaximalState, c: usize, rolling: &Rolling) {
        let (n, s) = (layout.links.len(), self.table.s);
        let (i, rows) = (layout.closures[c].index, layout.closures[c].rows);
        // A(pose^α) W^α, as displacements per step.
        let mut slip = [[0.0; 6]; super::NODES];
        for al in 0..=s {
            let pose = if al == 0 { &state.poses[i] } else { &self.nodes[al - 1].poses[i] };
            let mut a = [[0.0; 6]; 6];
            rolling.node_rows(pose, &mut a);
            let omega = spin(&self.table, |be| self.rho(n, be, i), al, 1.0);
            let v = self.point_velocity(state, n, i, Vec3::zero(), al, 1.0);
            for r in 0..rows {
                slip[al][r] = angular(&a[r]).dot(omega) + linear(&a[r]).dot(v);
            }
        }
        for ga in 1..=s {
            for r in 0..rows {
                let value = rolling
                    .position(&self.nodes[ga - 1].poses[i], r)
                    .unwrap_or_else(|| weak(&self.table, ga, |al| slip[al][r]));
                self.nodes[ga - 1].closure[c][r] = value;
                self.gap.lin = larger(self.gap.lin, value.abs());
            }
        }
    }

    /// Body rows: torques in link axes, forces in world axes.
    #[inline(always)]
    fn balance(&mut self, layout: &Layout, state: &MaximalState, h: f64) -> bool {
        let (n, s, per_step) = (layout.links.len(), self.table.s, 1.0 / h);
        let (mut worst, mut loose, mut sum) = (Worst::default(), 0.0, 0.0);
        for (i, link) in layout.links.iter().enumerate() {
            let x = &self.x;
            let curve = Curve::new(s, |ga| (x.rho[(ga - 1) * n + i], x.dx[(ga - 1) * n + i]));
            for al in 0..s {
                let k = curve.slope(&self.table, &self.second[i], link.mass, al, per_step);
                let given = &self.given[al * n + i];
                let mut r: Six = crate::scalar::by_entry(|m| k[m] + given[m]);
                if al == 0 {
                    r = crate::scalar::by_entry(|m| r[m] + state.momentum[i][m]);
                }
                let rot = if al == 0 { &state.side.rot[i] } else { &self.nodes[al - 1].side.rot[i] };
                let ang = rot.tr_mul(angular(&r));
                let turn = link.inverse_inertia * ang;
                for m in 0..3 {
                    loose = larger(loose, turn[m].abs());
                    worst.ang = larger(worst.ang, ang[m].abs());
                    worst.lin = larger(worst.lin, r[3 + m].abs());
                    sum += ang[m] + r[3 + m];
                }
                self.residual[al * n + i] = six(ang, linear(&r));
            }
        }
        self.worst = worst;
        self.loose = loose * h.abs();
        sum.is_finite() && (self.gap.ang + self.gap.lin).is_finite()
    }
}

impl Worst {
    #[inline(always)]
    pub(super) fn take_linear(&mut self, gap: Vec3) {
        self.lin = larger(larger(larger(self.lin, gap[0].abs()), gap[1].abs()), gap[2].abs());
    }

    #[inline(always)]
    pub(super) fn take(&mut self, angles: usize, rows: &[f64]) {
        for (r, x) in rows.iter().enumerate() {
            let worst = if r < angles { &mut self.ang } else { &mut self.lin };
            *worst = larger(*worst, x.abs());
        }
    }
}
