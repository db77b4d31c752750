//! Poses, rows and impulses of all nodes. (8.6)

use super::super::rows::{hinge_torque, joint_wrench, swing, twist};
use super::{LinkNodes, Nodes};
use crate::constraint::{angular_rows, values};
use crate::geometry::{Geometry, LinkPose, joint_geometry, slides};
use crate::layout::{End, Layout, row_count};
use crate::mechanism::JointType;
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};
use crate::state::MaximalState;
use leastaction_core::simd::{Exact, Simd};

/// Largest rows by node, rotations and displacements.
pub(super) struct Gaps<T> {
    pub(super) ang: T,
    pub(super) lin: T,
    /// Largest `−w` of a rotation from the start: half a turn at zero.
    pub(super) turned: T,
}

#[inline(always)]
fn add<T: Real>(target: &mut [T; 6], ang: Vec3<T>, lin: Vec3<T>) {
    for k in 0..3 {
        target[k] += ang[k];
        target[3 + k] += lin[k];
    }
}

#[inline(always)]
fn subtract<T: Real>(target: &mut [T; 6], ang: Vec3<T>, lin: Vec3<T>) {
    for k in 0..3 {
        target[k] -= ang[k];
        target[3 + k] -= lin[k];
    }
}

#[inline(always)]
fn ends<T: Real>(at: &Option<(LinkPose<T>, Mat3<T>)>) -> Option<(&LinkPose<T>, &Mat3<T>)> {
    match at {
        Some((pose, rot)) => Some((pose, rot)),
        None => None,
    }
}

/// Torque of a joint about a centre of mass; balls have none of their own.
#[inline(always)]
fn turn<T: Real>(own: Option<Vec3<T>>, lever: Vec3<T>, force: Vec3<T>) -> Vec3<T> {
    match own {
        Some(own) => own + lever.cross(force),
        None => lever.cross(force),
    }
}

impl<V: Simd> Nodes<V> {
    /// Places all links, takes the values of all rows, and sums the impulses at the links.
    #[inline(always)]
    pub(super) fn place(
        &mut self,
        layout: &Layout,
        state: &MaximalState,
        kept: &[[bool; 6]],
    ) -> Gaps<Exact<V>> {
        let zero = Exact::<V>::zero();
        let mut gaps = Gaps { ang: zero, lin: zero, turned: Exact::from_f64(-1.0) };
        for i in 0..layout.links.len() {
            self.place_link(layout, state, i, &mut gaps);
        }
        for c in 0..layout.closures.len() {
            self.place_closure(layout, state, c, &kept[c], &mut gaps);
        }
        gaps
    }

    #[inline(always)]
    fn place_link(&mut self, layout: &Layout, state: &MaximalState, i: usize, gaps: &mut Gaps<Exact<V>>) {
        type T<V> = Exact<V>;
        let link = &layout.links[i];
        let (joint, start, kind) = (&link.joint, &state.poses[i], link.joint.kind);
        let at: &LinkNodes<T<V>> = &self.links[i];
        gaps.turned = gaps.turned.maximum(-at.rho.w);
        let q = at.rho * Quat::constant(start.q);
        // One Newton step towards length one: the error is of rounding size.
        let s = T::<V>::from_f64(1.5) - (q.w * q.w + q.v.norm2()) * 0.5;
        let q = Quat { w: q.w * s, v: q.v * s };
        let rot = q.to_matrix();
        // Gaps and turns by what moved, or they would have the rounding of places far from the origin. (8.28)
        let before = &state.side.joints[i];
        let arm = Vec3::constant(state.side.arm[i]);
        let swung = swing(&at.rho, arm);
        let (arm, moved) = (arm + swung, at.dx + swung);
        let still = Vec3::constant(before.gap) + moved;
        let (rho_a, gap, lever_a) = match link.parent {
            Some(p) => {
                let (parent, lever) = (&self.links[p], Vec3::constant(before.lever_a));
                let swung = swing(&parent.rho, lever);
                (Some(&parent.rho), still - (parent.moved + swung), lever + swung)
            }
            None => (None, still, Vec3::constant(joint.a.lever)),
        };
        let lam = at.lam;
        let inner = self.by.inner;
        let (mut close, mut lever) = ([T::<V>::zero(); 6], lever_a);
        let (torque, force);
        if kind == JointType::Spherical && joint.is_plain_ball() {
            (torque, force) = (None, Vec3([lam[0], lam[1], lam[2]]));
            for k in 0..3 {
                gaps.lin = gaps.lin.maximum(gap[k].abs());
                close[k] = -(gap[k] * inner);
            }
        } else {
            let qb = q * Quat::constant(joint.b.q);
            let mut g = Geometry {
                r: twist(before, rho_a, Some(&at.rho)),
                frame_a: Mat3::zero(),
                frame_b: qb.to_matrix(),
                gap,
                lever_a,
                lever_b: Vec3::zero(),
            };
            if matches!(kind, JointType::Revolute | JointType::Continuous) {
                let (r1, r2) = (g.r.v[0] * 2.0, g.r.v[1] * 2.0);
                gaps.ang = gaps.ang.maximum(r1.abs()).maximum(r2.abs());
                (close[0], close[1]) = (-(r1 * inner), -(r2 * inner));
                for k in 0..3 {
                    gaps.lin = gaps.lin.maximum(gap[k].abs());
                    close[2 + k] = -(gap[k] * inner);
                }
                (torque, force) = (Some(hinge_torque(&g, &lam)), Vec3([lam[2], lam[3], lam[4]]));
            } else {
                if slides(kind) || kind == JointType::Universal {
                    let q = match link.parent {
                        Some(p) => self.links[p].q * Quat::constant(joint.a.q),
                        None => Quat::constant(joint.a.q),
                    };
                    g.frame_a = q.to_matrix();
                }
                lever = g.transport(kind);
                let mut value = [T::<V>::zero(); 6];
                let rows = values(kind, &g, &mut value);
                for k in 0..rows {
                    let worst = if k < angular_rows(kind) { &mut gaps.ang } else { &mut gaps.lin };
                    *worst = worst.maximum(value[k].abs());
                    close[k] = -(value[k] * inner);
                }
                let wrench = joint_wrench(kind, &g, &lam);
                torque = Some(Vec3([wrench[0], wrench[1], wrench[2]]));
                force = Vec3([wrench[3], wrench[4], wrench[5]]);
            }
        }
        // Gravity at every node; the start's momentum beside node 0's impulses.
        let momentum = &state.momentum[i];
        let mut given = [T::<V>::zero(); 6];
        for k in 0..6 {
            given[k] = T::<V>::from_lanes([momentum[k], 0.0, 0.0, 0.0]);
        }
        for k in 0..3 {
            given[3 + k] += self.by.kick * (layout.gravity[k] * link.mass);
        }
        add(&mut given, turn(torque, arm, force), force);
        if let Some(p) = link.parent {
            let parent = &mut self.links[p];
            subtract(&mut parent.given, turn(torque, lever + parent.arm, force), force);
        }
        let at = &mut self.links[i];
        (at.q, at.rot, at.arm, at.moved, at.given, at.close) = (q, rot, arm, moved, given, close);
    }

    /// Pose of a link, seen from where its centre of mass started.
    #[inline(always)]
    fn placed(&self, link: Option<usize>) -> Option<(LinkPose<Exact<V>>, Mat3<Exact<V>>)> {
        let at = &self.links[link?];
        Some((LinkPose { q: at.q, x: at.dx }, at.rot))
    }

    /// What an end of a closure has moved by since the start of the step. Functions and no closures: lanes need them inlined.
    #[inline(always)]
    fn moved(&self, state: &MaximalState, link: Option<usize>, end: &End) -> Vec3<Exact<V>> {
        match link {
            Some(i) => {
                let at = &self.links[i];
                at.dx + swing(&at.rho, Vec3::constant(state.side.rot[i] * end.p))
            }
            None => Vec3::zero(),
        }
    }

    #[inline(always)]
    fn turned(&self, link: Option<usize>) -> Option<&Quat<Exact<V>>> {
        match link {
            Some(i) => Some(&self.links[i].rho),
            None => None,
        }
    }

    #[inline(always)]
    fn place_closure(
        &mut self,
        layout: &Layout,
        state: &MaximalState,
        c: usize,
        kept: &[bool; 6],
        gaps: &mut Gaps<Exact<V>>,
    ) {
        let closure = &layout.closures[c];
        let joint = &layout.loops[closure.index];
        let kind = joint.kind;
        let (a, b) = (self.placed(closure.a), self.placed(closure.b));
        let mut g = joint_geometry(joint, ends(&a), ends(&b), true);
        let before = &state.side.loops[closure.index];
        g.gap = Vec3::constant(before.gap) + self.moved(state, closure.b, &joint.b)
            - self.moved(state, closure.a, &joint.a);
        g.r = twist(before, self.turned(closure.a), self.turned(closure.b));
        let at = &mut self.closures[c];
        values(kind, &g, &mut at.value);
        // Rows out of use have no impulse.
        let wrench = joint_wrench(kind, &g, &at.lam);
        let (tau, lin) = (Vec3([wrench[0], wrench[1], wrench[2]]), Vec3([wrench[3], wrench[4], wrench[5]]));
        let (ang_a, ang_b) = (tau + g.transport(kind).cross(lin), tau + g.lever_b.cross(lin));
        for r in 0..row_count(kind).min(closure.rows) {
            if kept[r] {
                let worst = if r < angular_rows(kind) { &mut gaps.ang } else { &mut gaps.lin };
                *worst = worst.maximum(at.value[r].abs());
            }
        }
        if let Some(i) = closure.b {
            let link = &mut self.links[i];
            add(&mut link.given, ang_b + link.arm.cross(lin), lin);
        }
        if let Some(i) = closure.a {
            let link = &mut self.links[i];
            subtract(&mut link.given, ang_a + link.arm.cross(lin), lin);
        }
    }
}
