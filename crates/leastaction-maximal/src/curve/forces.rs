//! What a step exerted: impulses at its nodes, and constraint forces at its start by the accelerations. (8.21)

use super::rows::{add_joint_wrench, joint_wrench};
use crate::constraint::{Row, coordinate_row, directions, multipliers, particular};
use crate::derivative::node::varied_rows;
use crate::derivative::varied::{CHILD, D, Ends, PARENT};
use crate::forces::{about_point, add_half_kick, add_row};
use crate::layout::{ClosureKind, Layout};
use crate::ldu::{Six, angular, linear, six};
use crate::read_out::{assemble_node, project};
use crate::residual::closure_rows;
use crate::spatial::{Quat, Vec3};
use crate::start::full_geometry;
use crate::state::MaximalState;
use crate::workspace::MaximalWorkspace;

/// A node inside the last step of an order above 2, or at one of its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct StepNode {
    /// Orientation and centre of mass of every link.
    pub poses: Vec<(Quat, Vec3)>,
    /// Constraint impulses on the links: torque in link axes, force in world axes; zero at the end, where the next step has
    /// them.
    pub impulses: Vec<[f64; 6]>,
    /// Multipliers of the rows, by joint: those of the tree first, then the loops' and rolling constraints'.
    pub multipliers: Vec<Vec<f64>>,
}

/// `Ġ w` of a row along the velocities of its links at their joint points.
fn row_drift(row: &Row<D>, a: Option<&Six>, b: Option<&Six>) -> f64 {
    let along = |x: &D| {
        let lanes = |lane: usize, w: Option<&Six>| {
            w.map_or(0.0, |w| (0..6).map(|k| x.eps[lane + k] * w[k]).sum::<f64>())
        };
        lanes(PARENT, a) + lanes(CHILD, b)
    };
    let part = |ang: &Vec3<D>, w: Option<&Six>| {
        w.map_or(0.0, |w| (0..3).map(|k| along(&ang[k]) * w[k] + along(&row.lin[k]) * w[3 + k]).sum::<f64>())
    };
    part(&row.ang_b, b) - part(&row.ang_a, a)
}

impl MaximalWorkspace {
    /// The nodes of the last step, its start first; empty at order 2.
    #[must_use]
    pub fn step_nodes(&self, state: &MaximalState) -> Vec<StepNode> {
        let Some(memory) = &self.curve else { return Vec::new() };
        let (layout, s) = (&self.layout, memory.table.s);
        let (n, nc) = (layout.links.len(), layout.closures.len());
        let mut start = memory.started.clone();
        start.side.place(layout, &start.poses);
        let last = &state.curve.last;
        let mut inner = start.clone();
        (0..=s)
            .map(|al| {
                let (poses, side) = match al {
                    0 => (&start.poses, &start.side),
                    al if al == s => (&state.poses, &state.side),
                    al => {
                        for (i, pose) in inner.poses.iter_mut().enumerate() {
                            *pose = last.pose(n, al, i, &start.poses[i]);
                        }
                        inner.side.place(layout, &inner.poses);
                        (&inner.poses, &inner.side)
                    }
                };
                let (mut on, mut lams) = (vec![[0.0; 6]; n], Vec::new());
                for (i, link) in layout.links.iter().enumerate().filter(|_| al < s) {
                    let lam = &last.lam[al * n + i];
                    let wrench = joint_wrench(link.joint.kind, &side.joints[i], lam);
                    add_joint_wrench(&mut on, side, link.parent, i, &wrench);
                    lams.push(lam[..crate::layout::row_count(link.joint.kind)].to_vec());
                }
                let mut rows = vec![[Row::default(); 6]; nc];
                closure_rows(layout, side, poses, &mut rows);
                for (c, closure) in layout.closures.iter().enumerate().filter(|_| al < s) {
                    if let ClosureKind::Coordinates = closure.kind {
                        continue;
                    }
                    let lam = &last.closure[al * nc + c][..closure.rows];
                    for (row, lam) in rows[c].iter().zip(lam) {
                        add_row(&mut on, &side.arm, closure.a, closure.b, row, *lam);
                    }
                    lams.push(lam.to_vec());
                }
                for (i, f) in on.iter_mut().enumerate() {
                    *f = six(side.rot[i].tr_mul(angular(f)), linear(f));
                }
                StepNode {
                    poses: poses.iter().map(|p| (p.q, p.x)).collect(),
                    impulses: on,
                    multipliers: lams,
                }
            })
            .collect()
    }

    /// Takes the impulses at the start of the last step of an order above 2 over to where those of order 2 are kept.
    pub(crate) fn take_first_node(&mut self, state: &MaximalState) {
        let Some(memory) = &mut self.curve else { return };
        let layout = &self.layout;
        let start = &mut memory.started;
        start.side.place(layout, &start.poses);
        self.node_side.copy_from(&start.side);
        closure_rows(layout, &start.side, &start.poses, &mut self.node_rows);
        for (i, link) in layout.links.iter().enumerate() {
            let g = full_geometry(layout, &self.node_side, i);
            self.node.wrench[i] = joint_wrench(link.joint.kind, &g, &state.curve.last.lam[i]);
        }
        let nc = layout.closures.len();
        self.node.lam.copy_from_slice(&state.curve.last.closure[..nc]);
    }

    /// Joint wrenches and multipliers of the constraint forces at a state under the inputs `u`. (8.21)
    pub(crate) fn forces_at(&mut self, state: &MaximalState, u: &[f64]) -> (Vec<Six>, Vec<Six>) {
        project(self, state);
        let (w, rate) = (self.system.body.clone(), self.system.rate.clone());
        let force = self.applied_forces(state, u, &w, &rate);
        assemble_node(self, state);
        let Self { layout, graph, ldu, system, .. } = self;
        let side = &state.side;
        for (i, link) in layout.links.iter().enumerate() {
            let (turn, arm) = (angular(&w[i]), side.arm[i]);
            let spin = side.rot[i] * (link.inertia * side.rot[i].tr_mul(turn));
            let ang = angular(&force[i]) - turn.cross(spin);
            let lin = linear(&force[i]) + turn.cross(turn.cross(arm)) * link.mass;
            system.body[i] = about_point(&six(ang, lin), arm);
            let ends = Ends::new(layout, link.parent, Some(i), &state.poses, true);
            let g = ends.geometry(&link.joint, false);
            let (a, b) = (link.parent.map(|p| &w[p]), Some(&w[i]));
            let mut rows: [Row<D>; 6] = Default::default();
            let count = directions(link.joint.kind, &g, &mut rows);
            let mut drift = [0.0; 6];
            (0..count).for_each(|r| drift[r] = -row_drift(&rows[r], a, b));
            system.particular[i] = particular(link.joint.kind, &side.joints[i], &drift);
            for c in 0..link.joint.kind.nv() {
                let armature = link.joint.rows.armature[c];
                if armature != 0.0 {
                    let row = coordinate_row(link.joint.kind, &g, c);
                    system.force[link.v + c] = -armature * row_drift(&row, a, b);
                }
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            let rows = varied_rows(layout, c, &state.poses);
            let (a, b) = (closure.a.map(|i| &w[i]), closure.b.map(|i| &w[i]));
            for r in 0..closure.rows {
                system.closure[c][r] = -row_drift(&rows[r], a, b);
            }
        }
        ldu.factor(layout, graph, side, side);
        ldu.solve(layout, graph, side, side, system);
        (system.wrench.clone(), system.closure.clone())
    }

    /// Forces on the links that are not constraints': about the centres of mass, world axes.
    fn applied_forces(&self, state: &MaximalState, u: &[f64], w: &[Six], rate: &[f64]) -> Vec<Six> {
        let (layout, side): (&Layout, _) = (&self.layout, &state.side);
        let mut out = vec![[0.0; 6]; layout.links.len()];
        let (soft, soft_loop) = (vec![false; rate.len()], vec![[false; 3]; layout.loops.len()]);
        add_half_kick(layout, side, &state.q, &state.q_loop, u, 1.0, &soft, &soft_loop, &mut out);
        for (i, link) in layout.links.iter().enumerate() {
            let joint = &link.joint;
            for c in 0..joint.kind.nv() {
                let damping = joint.rows.damping[c];
                if damping != 0.0 {
                    let row = coordinate_row(joint.kind, &side.joints[i], c);
                    let s = -damping * rate[link.v + c];
                    add_row(&mut out, &side.arm, link.parent, Some(i), &row, s);
                }
            }
            if !joint.servos.is_empty() {
                for c in 0..joint.kind.nv() {
                    let row = coordinate_row(joint.kind, &side.joints[i], c);
                    let f = joint.servo_force(c, state.q[link.q + c], rate[link.v + c], u);
                    add_row(&mut out, &side.arm, link.parent, Some(i), &row, f);
                }
            }
            let (turn, v) = (angular(&w[i]), linear(&w[i]) - angular(&w[i]).cross(side.arm[i]));
            for (point, c) in &link.drags {
                let arm = side.rot[i] * *point;
                let f = (v + turn.cross(arm) - layout.wind) * -c;
                let tau = arm.cross(f);
                (0..3).for_each(|k| {
                    out[i][k] += tau[k];
                    out[i][3 + k] += f[k];
                });
            }
            (0..3).for_each(|k| out[i][k] -= link.spin_drag * turn[k]);
        }
        for (l, joint) in layout.loops.iter().enumerate() {
            for c in 0..joint.kind.nv().min(6) {
                let damping = joint.rows.damping[c];
                if damping != 0.0 {
                    let row = coordinate_row(joint.kind, &side.loops[l], c);
                    let part = |link: Option<usize>, ang: Vec3| {
                        link.map_or(0.0, |i| ang.dot(angular(&w[i])) + row.lin.dot(linear(&w[i])))
                    };
                    let rate = part(joint.b.link, row.ang_b) - part(joint.a.link, row.ang_a);
                    add_row(&mut out, &side.arm, joint.a.link, joint.b.link, &row, -damping * rate);
                }
            }
        }
        out
    }

    /// Constraint forces on the links at a state under the inputs `u`: torque in link axes, force in world axes. Of order 2s
    /// at any order of the steps that led there.
    pub fn constraint_forces(&mut self, state: &MaximalState, u: &[f64]) -> Vec<[f64; 6]> {
        let (wrench, lam) = self.forces_at(state, u);
        let (layout, side) = (&self.layout, &state.side);
        let mut out = vec![[0.0; 6]; layout.links.len()];
        for (i, link) in layout.links.iter().enumerate() {
            let g = full_geometry(layout, side, i);
            let mut own = [0.0; 6];
            multipliers(link.joint.kind, &g, &wrench[i], &mut own);
            add_joint_wrench(&mut out, side, link.parent, i, &joint_wrench(link.joint.kind, &g, &own));
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            if let ClosureKind::Coordinates = closure.kind {
                continue;
            }
            for r in 0..closure.rows {
                add_row(&mut out, &side.arm, closure.a, closure.b, &self.step.rows[c][r], lam[c][r]);
            }
        }
        for (i, f) in out.iter_mut().enumerate() {
            *f = six(side.rot[i].tr_mul(angular(f)), linear(f));
        }
        out
    }
}
