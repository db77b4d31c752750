//! Slow twin of the steps of order 2s: dense Newton on equations made by differentiating the action. (8.2), (8.6)
//!
//! Nothing of the fast engine is used but the joints' values: impulses along rows are gradients of `Λ·g` by dual numbers, the
//! slopes of the action are dual too, the Newton matrix is made of differences and inverted densely with a rank decision.

use super::matrix::Matrix;
use crate::constraint::values;
use crate::coordinate::{coordinates, is_angle, unwrap};
use crate::geometry::{LinkPose, joint_geometry};
use crate::layout::{Layout, LinkJoint, row_count};
use crate::lobatto::Lobatto;
use crate::scalar::{Dual, Real};
use crate::spatial::{Mat3, Quat, Vec3};
use crate::{MaximalState, MaximalWorkspace};

/// Derivatives by the six variables of a parent and the six of a child.
type D = Dual<f64, 12>;

struct Twin<'a> {
    layout: &'a Layout,
    state: &'a MaximalState,
    table: Lobatto,
    h: f64,
}

/// Poses of the links at the end of a step of degree `s` of a mechanism without dampers, armature, inputs, drag and rolling;
/// `None` if the iteration does not converge.
#[must_use]
pub fn curve_step(
    workspace: &MaximalWorkspace,
    state: &MaximalState,
    s: usize,
    h: f64,
) -> Option<Vec<(Quat, Vec3)>> {
    let twin = Twin { layout: &workspace.layout, state, table: Lobatto::new(s), h };
    let n = twin.layout.links.len();
    let mut poses: Vec<Vec<LinkPose>> = vec![state.poses.clone(); s];
    let mut lam = vec![vec![0.0; twin.rows()]; s];
    for _ in 0..30 {
        let r = twin.residual(&poses, &lam);
        let size = r.len();
        let mut matrix = Matrix::zero(size, size);
        for c in 0..size {
            const STEP: f64 = 1e-6;
            let at = |by: f64| {
                let (mut p, mut l) = (poses.clone(), lam.clone());
                twin.shift(&mut p, &mut l, c, by);
                twin.residual(&p, &l)
            };
            let (plus, minus) = (at(STEP), at(-STEP));
            for k in 0..size {
                *matrix.at_mut(k, c) = (plus[k] - minus[k]) / (2.0 * STEP);
            }
        }
        let negative: Vec<f64> = r.iter().map(|x| -x).collect();
        let step = matrix.generalised_inverse(1e-7).times(&negative);
        (0..size).for_each(|c| twin.shift(&mut poses, &mut lam, c, step[c]));
        if step[..6 * n * s].iter().all(|x| x.abs() < 1e-12) {
            return Some(poses[s - 1].iter().map(|p| (p.q, p.x)).collect());
        }
    }
    None
}

impl Twin<'_> {
    fn joints(&self) -> impl Iterator<Item = (&LinkJoint, bool)> {
        self.layout.links.iter().map(|l| (&l.joint, false)).chain(self.layout.loops.iter().map(|j| (j, true)))
    }

    fn rows(&self) -> usize {
        self.joints().map(|(j, _)| row_count(j.kind)).sum()
    }

    /// Moves one unknown: pose variations by node and link, then multipliers by node and row.
    fn shift(&self, poses: &mut [Vec<LinkPose>], lam: &mut [Vec<f64>], c: usize, by: f64) {
        let n = self.layout.links.len();
        let poses_end = 6 * n * poses.len();
        if c >= poses_end {
            let rows = self.rows();
            lam[(c - poses_end) / rows][(c - poses_end) % rows] += by;
            return;
        }
        let (pose, k) = (&mut poses[c / (6 * n)][(c / 6) % n], c % 6);
        if k < 3 {
            let mut v = Vec3::zero();
            v[k] = 0.5 * by;
            pose.q = (Quat { w: 1.0, v } * pose.q).normalized();
        } else {
            pose.x[k - 3] += by;
        }
    }

    fn vary(pose: &LinkPose, lane: usize) -> LinkPose<D> {
        let turn = Vec3(std::array::from_fn(|k| D::variable(0.0, lane + k)));
        let push = Vec3(std::array::from_fn(|k| D::variable(0.0, lane + 3 + k)));
        let q = Quat { w: D::one(), v: turn.scale(0.5) } * Quat::constant(pose.q);
        LinkPose { q, x: Vec3::constant(pose.x) + push }
    }

    fn residual(&self, poses: &[Vec<LinkPose>], lam: &[Vec<f64>]) -> Vec<f64> {
        let (n, s, rows) = (self.layout.links.len(), self.table.s, self.rows());
        let node = |al: usize| if al == 0 { &self.state.poses } else { &poses[al - 1] };
        let mut out = vec![0.0; s * (6 * n + rows)];
        for al in 0..=s {
            if al < s {
                for i in 0..n {
                    let action = self.action(i, al, |ga| &node(ga)[i]);
                    for k in 0..6 {
                        let p = if al == 0 { self.state.momentum[i][k] } else { 0.0 };
                        out[al * 6 * n + 6 * i + k] += p + action.eps[6 + k];
                    }
                }
            }
            let mut first = 0;
            for (joint, is_loop) in self.joints() {
                let end = |link: Option<usize>, lane: usize| {
                    link.map(|i| {
                        let pose = Self::vary(&node(al)[i], lane);
                        (pose, pose.q.to_matrix())
                    })
                };
                let (a, b) = (end(joint.a.link, 0), end(joint.b.link, 6));
                let of = |x: &Option<(LinkPose<D>, Mat3<D>)>| x.as_ref().map(|x| (x.0, x.1));
                let (a, b) = (of(&a), of(&b));
                let g = joint_geometry(
                    joint,
                    a.as_ref().map(|x| (&x.0, &x.1)),
                    b.as_ref().map(|x| (&x.0, &x.1)),
                    is_loop,
                );
                let mut value = [D::zero(); 6];
                let count = values(joint.kind, &g, &mut value);
                let mut work = D::zero();
                for r in 0..count {
                    if al < s {
                        work += value[r] * lam[al][first + r];
                    }
                    if al > 0 {
                        out[s * 6 * n + (al - 1) * rows + first + r] = value[r].re;
                    }
                }
                if al < s && joint.rows.has_springs {
                    let mut y = [D::zero(); 7];
                    coordinates(joint.kind, &g, &mut y);
                    for c in 0..joint.kind.nv() {
                        if is_angle(joint.kind, c) {
                            let x = y[c].value();
                            y[c] += D::from_f64(unwrap(x, joint.rows.rest[c]) - x);
                        }
                    }
                    let (nv, nq) = (joint.kind.nv(), joint.kind.nq());
                    let energy = joint.kind.spring_energy(
                        &joint.rows.stiffness[..nv],
                        &joint.rows.rest[..nv],
                        &y[..nq],
                    );
                    work -= energy * (self.table.weights[al] * self.h);
                }
                for (link, lane) in [(joint.a.link, 0), (joint.b.link, 6)] {
                    if let (Some(i), true) = (link, al < s) {
                        (0..6).for_each(|k| out[al * 6 * n + 6 * i + k] += work.eps[lane + k]);
                    }
                }
                first += count;
            }
        }
        out
    }

    /// Kinetic action of one link less its weight's potential, with node `al` varied in the child's lanes. (8.2)
    fn action<'p>(&self, i: usize, al: usize, pose: impl Fn(usize) -> &'p LinkPose) -> D {
        let (link, t, s) = (&self.layout.links[i], &self.table, self.table.s);
        let second = Mat3::diagonal(0.5 * link.inertia.trace()) - link.inertia;
        let at = |k: usize| {
            let pose = pose(k);
            let varied = if k == al {
                Self::vary(pose, 6)
            } else {
                LinkPose { q: Quat::constant(pose.q), x: Vec3::constant(pose.x) }
            };
            // Relative to the start, or squares of positions would drown their differences.
            (varied.q.to_matrix(), varied.x - Vec3::constant(self.state.poses[i].x))
        };
        let mut sum = D::zero();
        for a in 0..=s {
            for g in 0..=s {
                let coupling: f64 = (0..=s).map(|b| t.weights[b] * t.b[b][a] * t.b[b][g]).sum();
                let ((ra, xa), (rg, xg)) = (at(a), at(g));
                let turning = (ra * Mat3::constant(second) * rg.transpose()).trace();
                sum += (turning + xa.dot(xg) * link.mass) * (0.5 * coupling / self.h);
            }
        }
        let weight = Vec3::constant(self.layout.gravity * link.mass).dot(at(al).1);
        sum + weight * (t.weights[al] * self.h)
    }
}
