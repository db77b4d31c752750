//! The equations of a step with every multiplier as an unknown, and their matrix by dual numbers. (3.7)

use std::collections::BTreeMap;

use super::matrix::Matrix;
use crate::constraint::values;
use crate::coordinate::increments;
use crate::forces::ImpulseLaw;
use crate::geometry::{Geometry, LinkPose, joint_geometry};
use crate::layout::{ClosureKind, Layout, LinkJoint, row_count};
use crate::ldu::Six;
use crate::nonholonomic::Rolling;
use crate::scalar::Dual;
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};
use crate::workspace::StepData;
use crate::{Maximal, MaximalState, MaximalWorkspace, RotationMap};

/// Derivatives by the six variables of a parent and the six of a child.
pub(super) type D = Dual<f64, 12>;

/// Blocks by (row node, column node).
pub(super) type Blocks = BTreeMap<(usize, usize), Matrix>;

/// A node of constraints.
enum Rows<'a> {
    /// Rows of a joint, and the laws of its coordinates that have one.
    Joint { joint: &'a LinkJoint, is_loop: bool, holds: bool, laws: Vec<(usize, ImpulseLaw)> },
    /// A velocity constraint on one link.
    Rolling { rolling: &'a Rolling, link: usize },
}

struct Node<'a> {
    rows: Rows<'a>,
    a: Option<usize>,
    b: Option<usize>,
    count: usize,
}

/// The equations: one node per link, then one per tree joint (same order), then the closures.
pub(super) struct Equations<'a> {
    layout: &'a Layout,
    step: &'a StepData,
    map: RotationMap,
    start: &'a [LinkPose],
    nodes: Vec<Node<'a>>,
}

/// How a pose is varied: not, by a rotation vector of its own frame and a displacement, or by its interval velocity.
#[derive(Clone, Copy, PartialEq)]
enum Vary {
    Still,
    Pose,
}

pub(super) fn seed(value: f64, lane: usize) -> D {
    D::variable(value, lane)
}

impl<'a> Equations<'a> {
    /// The workspace holds what is constant over the step: incoming momenta and impulse laws.
    pub(super) fn new(engine: &Maximal, ws: &'a MaximalWorkspace, state: &'a MaximalState) -> Self {
        let (layout, step) = (&ws.layout, &ws.step);
        let mut nodes = Vec::new();
        for (i, link) in layout.links.iter().enumerate() {
            let nv = link.joint.kind.nv();
            let laws: Vec<_> = (0..nv)
                .filter(|_| link.joint.rows.has_rows)
                .map(|c| (c, step.law[link.v + c]))
                .filter(|(_, law)| law.alpha != 0.0)
                .collect();
            let count = row_count(link.joint.kind) + laws.len();
            let rows = Rows::Joint { joint: &link.joint, is_loop: false, holds: true, laws };
            nodes.push(Node { rows, a: link.parent, b: Some(i), count });
        }
        for closure in &layout.closures {
            let (a, b) = (closure.a, closure.b);
            match &closure.kind {
                ClosureKind::Joint => {
                    let joint = &layout.loops[closure.index];
                    let rows = Rows::Joint { joint, is_loop: true, holds: true, laws: Vec::new() };
                    nodes.push(Node { rows, a, b, count: closure.rows });
                }
                ClosureKind::Coordinates => {
                    let joint = &layout.loops[closure.index];
                    let laws: Vec<_> = (0..joint.kind.nv())
                        .map(|c| (c, step.law_loop[closure.index][c]))
                        .filter(|(_, law)| law.alpha != 0.0)
                        .collect();
                    let count = laws.len();
                    let rows = Rows::Joint { joint, is_loop: true, holds: false, laws };
                    nodes.push(Node { rows, a, b, count });
                }
                ClosureKind::Rolling(rolling) => {
                    let rows = Rows::Rolling { rolling, link: closure.index };
                    nodes.push(Node { rows, a, b, count: closure.rows });
                }
            }
        }
        Self { layout, step, map: engine.map, start: &state.poses, nodes }
    }

    /// The equations of a node at poses: joints alone, without laws of their coordinates.
    pub(super) fn at_node(engine: &Maximal, ws: &'a MaximalWorkspace, poses: &'a [LinkPose]) -> Self {
        let layout = &ws.layout;
        let mut nodes = Vec::new();
        for (i, link) in layout.links.iter().enumerate() {
            let rows = Rows::Joint { joint: &link.joint, is_loop: false, holds: true, laws: Vec::new() };
            nodes.push(Node { rows, a: link.parent, b: Some(i), count: row_count(link.joint.kind) });
        }
        for closure in layout.closures.iter().filter(|c| matches!(c.kind, ClosureKind::Joint)) {
            let joint = &layout.loops[closure.index];
            let rows = Rows::Joint { joint, is_loop: true, holds: true, laws: Vec::new() };
            nodes.push(Node { rows, a: closure.a, b: closure.b, count: closure.rows });
        }
        Self { layout, step: &ws.step, map: engine.map, start: poses, nodes }
    }

    /// Matrix and right-hand side of a node: `M w - P - G^T lam = 0`, `G w = 0`; momenta in link axes.
    pub(super) fn assemble_node(&self, w: &[Six], momenta: &[Six]) -> (Blocks, Vec<Vec<f64>>) {
        let n = w.len();
        let (mut blocks, mut rhs) = (Blocks::new(), Vec::new());
        for (i, link) in self.layout.links.iter().enumerate() {
            let mut mass = Matrix::zero(6, 6);
            for r in 0..3 {
                (0..3).for_each(|c| *mass.at_mut(r, c) = link.inertia.0[r][c]);
                *mass.at_mut(3 + r, 3 + r) = link.mass;
            }
            let carried = mass.times(&w[i]);
            rhs.push((0..6).map(|k| momenta[i][k] - carried[k]).collect());
            blocks.insert((i, i), mass);
        }
        for (k, node) in self.nodes.iter().enumerate() {
            let directions = self.directions(node);
            let mut values = vec![0.0; node.count];
            for (end, lane) in [(node.a, 0), (node.b, 6)] {
                let Some(i) = end else { continue };
                let (mut row, mut column) = (Matrix::zero(node.count, 6), Matrix::zero(6, node.count));
                for (r, d) in directions.iter().enumerate() {
                    for c in 0..6 {
                        *row.at_mut(r, c) = d.eps[lane + c];
                        *column.at_mut(c, r) = -d.eps[lane + c];
                        values[r] -= d.eps[lane + c] * w[i][c];
                    }
                }
                blocks.insert((n + k, i), row);
                blocks.insert((i, n + k), column);
            }
            blocks.insert((n + k, n + k), Matrix::zero(node.count, node.count));
            rhs.push(values);
        }
        (blocks, rhs)
    }

    /// First row of every node, and the number of all rows.
    pub(super) fn offsets(&self) -> (Vec<usize>, usize) {
        let sizes = self.layout.links.iter().map(|_| 6).chain(self.nodes.iter().map(|n| n.count));
        let (mut offsets, mut sum) = (Vec::new(), 0);
        for size in sizes {
            offsets.push(sum);
            sum += size;
        }
        (offsets, sum)
    }

    /// Links and tree joints, leaves first; and the closures.
    pub(super) fn depth_first(&self) -> (Vec<usize>, Vec<usize>) {
        let n = self.layout.links.len();
        let mut seen = Vec::new();
        let mut stack: Vec<usize> = (0..n).filter(|i| self.layout.links[*i].parent.is_none()).rev().collect();
        while let Some(i) = stack.pop() {
            // The joint is discovered before its link.
            seen.push(n + i);
            seen.push(i);
            stack.extend((0..n).filter(|c| self.layout.links[*c].parent == Some(i)).rev());
        }
        seen.reverse();
        (seen, (2 * n..n + self.nodes.len()).collect())
    }

    /// Pose of a link at the start.
    fn pose(&self, i: usize, vary: Vary, lane: usize) -> LinkPose<D> {
        let pose = &self.start[i];
        let (q, x) = (Quat::constant(pose.q), Vec3::constant(pose.x));
        if vary == Vary::Still {
            return LinkPose { q, x };
        }
        let turn = Vec3(std::array::from_fn(|k| seed(0.0, lane + k)));
        let push = Vec3(std::array::from_fn(|k| seed(0.0, lane + 3 + k)));
        LinkPose { q: q * Quat { w: D::one(), v: turn.scale(0.5) }, x: x + push }
    }

    /// Interval velocity of a link, varied in its lanes.
    pub(super) fn velocity(w: &Six, lane: usize) -> (Vec3<D>, Vec3<D>) {
        let x: [D; 6] = std::array::from_fn(|k| seed(w[k], lane + k));
        (Vec3([x[0], x[1], x[2]]), Vec3([x[3], x[4], x[5]]))
    }

    /// Pose of a link at the end of the interval.
    pub(super) fn end(&self, i: usize, w: &Six, lane: usize) -> LinkPose<D> {
        let (omega, v) = Self::velocity(w, lane);
        let pose = self.pose(i, Vary::Still, 0);
        LinkPose {
            q: pose.q * self.map.relative(omega.scale(0.5 * self.step.h)),
            x: pose.x + v.scale(self.step.h),
        }
    }

    fn geometry(&self, node: &Node<'_>, pose: impl Fn(usize, usize) -> LinkPose<D>) -> Option<Geometry<D>> {
        let Rows::Joint { joint, is_loop, .. } = &node.rows else { return None };
        let at = |end: Option<usize>, lane: usize| {
            end.map(|i| {
                let pose = pose(i, lane);
                (pose, pose.q.to_matrix())
            })
        };
        let (a, b) = (at(node.a, 0), at(node.b, 6));
        Some(joint_geometry(
            joint,
            a.as_ref().map(|x| (&x.0, &x.1)),
            b.as_ref().map(|x| (&x.0, &x.1)),
            *is_loop,
        ))
    }

    /// Force directions of a node: gradients of its values by the start pose.
    fn directions(&self, node: &Node<'_>) -> Vec<D> {
        match &node.rows {
            Rows::Joint { joint, holds, laws, .. } => {
                let still = self.geometry(node, |i, lane| self.pose(i, Vary::Still, lane));
                let varied = self.geometry(node, |i, lane| self.pose(i, Vary::Pose, lane));
                let (Some(still), Some(varied)) = (still, varied) else { return Vec::new() };
                let (mut value, mut dy) = ([D::zero(); 6], [D::zero(); 6]);
                let n = if *holds { values(joint.kind, &varied, &mut value) } else { 0 };
                increments(joint.kind, &still, &varied, &mut dy);
                value[..n].iter().copied().chain(laws.iter().map(|(c, _)| dy[*c])).collect()
            }
            Rows::Rolling { rolling, link } => {
                // Rows by world angular velocity, turned into body axes.
                let pose = &self.start[*link];
                let mut rows = [[0.0; 6]; 6];
                rolling.node_rows(pose, &mut rows);
                let rot = pose.q.to_matrix();
                let made = |r: &Six| {
                    let ang = rot.tr_mul(Vec3([r[0], r[1], r[2]]));
                    let mut d = D::zero();
                    d.eps[6..9].copy_from_slice(&ang.0);
                    d.eps[9..].copy_from_slice(&r[3..]);
                    d
                };
                rows[..node.count].iter().map(made).collect()
            }
        }
    }

    /// Values of a node over the interval, with the constant part of its laws.
    fn residual(&self, node: &Node<'_>, w: &[Six]) -> Vec<D> {
        let h = self.step.h;
        match &node.rows {
            Rows::Joint { joint, holds, laws, .. } => {
                let still = self.geometry(node, |i, lane| self.pose(i, Vary::Still, lane));
                let moved = self.geometry(node, |i, lane| self.end(i, &w[i], lane));
                let (Some(still), Some(moved)) = (still, moved) else { return Vec::new() };
                let (mut value, mut dy) = ([D::zero(); 6], [D::zero(); 6]);
                let n = if *holds { values(joint.kind, &moved, &mut value) } else { 0 };
                increments(joint.kind, &still, &moved, &mut dy);
                let laws = laws.iter().map(|(c, law)| (dy[*c] - D::from_f64(law.f0 / law.alpha)) * (1.0 / h));
                value[..n].iter().map(|x| *x * (1.0 / h)).chain(laws).collect()
            }
            Rows::Rolling { rolling, link } => {
                let (start, end) = (self.pose(*link, Vary::Still, 0), self.end(*link, &w[*link], 6));
                let (omega, v) = Self::velocity(&w[*link], 6);
                let mut out = [D::zero(); 6];
                rolling.residual(&start, &end, omega, v, h, &mut out);
                out[..node.count].to_vec()
            }
        }
    }

    /// Leaving minus incoming momentum of a link: torque in link axes, force in world axes.
    fn unbalanced(&self, i: usize, w: &Six) -> [D; 6] {
        let (link, h) = (&self.layout.links[i], self.step.h);
        let (omega, v) = Self::velocity(w, 6);
        let (start, end) = (self.pose(i, Vary::Still, 0), self.end(i, w, 6));
        let (rot, rot_end) = (start.q.to_matrix(), end.q.to_matrix());
        let (mut ang, _) = self.map.momenta(omega.scale(0.5 * h), Mat3::constant(link.inertia) * omega);
        let mut lin = v.scale(link.mass);
        for (point, c) in &link.drags {
            let (r, r_end) = (rot * Vec3::constant(*point), rot_end * Vec3::constant(*point));
            let f = (v + (r_end - r).scale(1.0 / h) - Vec3::constant(self.layout.wind)).scale(-0.5 * c * h);
            ang -= rot.tr_mul(r.cross(f));
            lin -= f;
        }
        let p = &self.step.incoming[i];
        ang -= rot.tr_mul(Vec3(std::array::from_fn(|k| D::from_f64(p[k]))));
        lin -= Vec3(std::array::from_fn(|k| D::from_f64(p[3 + k])));
        [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]]
    }

    /// Newton matrix and right-hand side at interval velocities; the multipliers themselves are unknown, not their change.
    pub(super) fn assemble(&self, w: &[Six]) -> (Blocks, Vec<Vec<f64>>) {
        let n = w.len();
        let (mut blocks, mut rhs) = (Blocks::new(), Vec::new());
        let block = |rows: &[D], lane: usize| {
            let mut m = Matrix::zero(rows.len(), 6);
            for (r, row) in rows.iter().enumerate() {
                (0..6).for_each(|c| *m.at_mut(r, c) = row.eps[lane + c]);
            }
            m
        };
        for (i, w) in w.iter().enumerate() {
            let r = self.unbalanced(i, w);
            blocks.insert((i, i), block(&r, 6));
            rhs.push(r.iter().map(|x| -x.re).collect());
        }
        for (k, node) in self.nodes.iter().enumerate() {
            let (directions, values) = (self.directions(node), self.residual(node, w));
            for (end, lane) in [(node.a, 0), (node.b, 6)] {
                let Some(i) = end else { continue };
                blocks.insert((n + k, i), block(&values, lane));
                let mut column = Matrix::zero(6, node.count);
                for (r, d) in directions.iter().enumerate() {
                    (0..6).for_each(|c| *column.at_mut(c, r) = -d.eps[lane + c]);
                }
                blocks.insert((i, n + k), column);
            }
            let mut own = Matrix::zero(node.count, node.count);
            if let Rows::Joint { laws, .. } = &node.rows {
                let first = node.count - laws.len();
                for (r, (_, law)) in laws.iter().enumerate() {
                    *own.at_mut(first + r, first + r) = 1.0 / (law.alpha * self.step.h);
                }
            }
            blocks.insert((n + k, n + k), own);
            rhs.push(values.iter().map(|x| -x.re).collect());
        }
        (blocks, rhs)
    }

    /// Impulses on the links of all multipliers.
    pub(super) fn impulses(&self, solution: &[Vec<f64>]) -> Vec<Six> {
        let n = self.layout.links.len();
        let mut out = vec![[0.0; 6]; n];
        for (k, node) in self.nodes.iter().enumerate() {
            for (d, lam) in self.directions(node).iter().zip(&solution[n + k]) {
                for (end, lane) in [(node.a, 0), (node.b, 6)] {
                    if let Some(i) = end {
                        (0..6).for_each(|c| out[i][c] += d.eps[lane + c] * lam);
                    }
                }
            }
        }
        out
    }
}
