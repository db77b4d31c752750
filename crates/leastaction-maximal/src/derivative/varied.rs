//! Poses that carry their own variations: how every local derivative of the step is made, by dual numbers.
//!
//! A pose is varied by the rotation of the link (world axes) and the displacement of its joint point, the variables of
//! the solver. Twelve lanes hold two links: the parent's in lanes 0 to 5, the child's in lanes 6 to 11.

use crate::constraint::{Row, coordinate_columns};
use crate::coordinate::{coordinates, is_angle, unwrap};
use crate::geometry::{Geometry, LinkPose, joint_geometry};
use crate::layout::{Layout, LinkJoint};
use crate::ldu::Six;
use crate::mechanism::JointType;
use crate::scalar::Dual;
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};

/// A number with twelve derivatives.
pub(crate) type D = Dual<f64, 12>;

/// Lanes of the parent and of the child.
pub(crate) const PARENT: usize = 0;
pub(crate) const CHILD: usize = 6;

pub(crate) const NIL: [D; 6] = [D { re: 0.0, eps: [0.0; 12] }; 6];

/// A link's pose varied in the six lanes from `lane`, or not at all.
pub(super) fn vary(layout: &Layout, i: usize, pose: &LinkPose, lane: Option<usize>) -> LinkPose<D> {
    let (q, x) = (Quat::constant(pose.q), Vec3::constant(pose.x));
    let Some(lane) = lane else { return LinkPose { q, x } };
    let turn = Vec3(std::array::from_fn(|k| D::variable(0.0, lane + k)));
    let push = Vec3(std::array::from_fn(|k| D::variable(0.0, lane + 3 + k)));
    let point = layout.links[i].joint.b.p;
    let varied = Quat { w: D::one(), v: turn.scale(0.5) } * q;
    let point_now = Vec3::constant(pose.x + pose.q.rotate(point)) + push;
    LinkPose { q: varied, x: point_now - varied.to_matrix() * Vec3::constant(point) }
}

/// Two links at one pose, or one link and the ground.
pub(crate) struct Ends {
    pub(super) a: Option<(LinkPose<D>, Mat3<D>)>,
    pub(super) b: Option<(LinkPose<D>, Mat3<D>)>,
    arm_a: Vec3<D>,
    arm_b: Vec3<D>,
}

impl Ends {
    pub(crate) fn new(
        layout: &Layout,
        a: Option<usize>,
        b: Option<usize>,
        poses: &[LinkPose],
        varied: bool,
    ) -> Self {
        let place = |i: usize, lane: usize| {
            let pose = vary(layout, i, &poses[i], varied.then_some(lane));
            (pose, pose.q.to_matrix())
        };
        let (a, b) = (a.map(|i| (i, place(i, PARENT))), b.map(|i| (i, place(i, CHILD))));
        let arm = |at: &Option<(usize, (LinkPose<D>, Mat3<D>))>| {
            at.map_or(Vec3::zero(), |(i, (_, rot))| rot * Vec3::constant(layout.links[i].joint.b.p))
        };
        let (arm_a, arm_b) = (arm(&a), arm(&b));
        Self { a: a.map(|x| x.1), b: b.map(|x| x.1), arm_a, arm_b }
    }

    pub(crate) fn geometry(&self, joint: &LinkJoint, is_loop: bool) -> Geometry<D> {
        let at = |end: &'_ Option<(LinkPose<D>, Mat3<D>)>| end.map(|(p, r)| (p, r));
        let (a, b) = (at(&self.a), at(&self.b));
        joint_geometry(joint, a.as_ref().map(|(p, r)| (p, r)), b.as_ref().map(|(p, r)| (p, r)), is_loop)
    }
}

/// Wrenches on the two links, about their joint points.
pub(super) struct Pairwise {
    pub(super) a: [D; 6],
    pub(super) b: [D; 6],
}

impl Pairwise {
    pub(super) fn zero() -> Self {
        Self { a: NIL, b: NIL }
    }

    /// Adds `s` times the wrench of a row: on the child, and its reaction on the parent.
    pub(super) fn add(&mut self, row: &Row<D>, s: D) {
        for k in 0..3 {
            self.b[k] += row.ang_b[k] * s;
            self.b[3 + k] += row.lin[k] * s;
            self.a[k] -= row.ang_a[k] * s;
            self.a[3 + k] -= row.lin[k] * s;
        }
    }

    /// The same wrenches about the centres of mass.
    pub(super) fn about_centres(mut self, ends: &Ends) -> Self {
        for (wrench, arm) in [(&mut self.a, ends.arm_a), (&mut self.b, ends.arm_b)] {
            let turn = arm.cross(Vec3([wrench[3], wrench[4], wrench[5]]));
            for k in 0..3 {
                wrench[k] += turn[k];
            }
        }
        self
    }
}

/// Position coordinates of a joint, angles unwrapped against `near`.
pub(crate) fn unwrapped(kind: JointType, g: &Geometry<D>, near: &[f64]) -> [D; 7] {
    let mut y = [D::zero(); 7];
    coordinates(kind, g, &mut y);
    for c in 0..kind.nv().min(near.len()) {
        if is_angle(kind, c) {
            let value = y[c].value();
            y[c] += D::from_f64(unwrap(value, near[c]) - value);
        }
    }
    y
}

/// Null space of a tree joint's rows in the basis of the solver.
pub(super) fn engine_columns(joint: &LinkJoint, g: &Geometry<D>) -> [[D; 6]; 6] {
    let mut out = [NIL; 6];
    if joint.is_plain_ball() {
        for (c, column) in out.iter_mut().enumerate().take(3) {
            column[c] = D::one();
        }
    } else {
        coordinate_columns(joint.kind, g, g.hinge_axis(), &mut out);
    }
    out
}

/// Velocities of the child per public rate.
pub(super) fn public_columns<T: Real>(joint: &LinkJoint, g: &Geometry<T>) -> [[T; 6]; 6] {
    let mut out = [[T::zero(); 6]; 6];
    coordinate_columns(joint.kind, g, g.hinge_axis(), &mut out);
    if joint.kind == JointType::Floating {
        for c in 0..3 {
            let t = g.frame_b.column(c);
            out[3 + c][3..].copy_from_slice(&t.0);
        }
    }
    out
}

/// `Σ aₖ bₖ` with constant `b`.
pub(super) fn dot_constant(a: &[D; 6], b: &Six) -> D {
    let mut sum = D::zero();
    for k in 0..6 {
        sum += a[k] * b[k];
    }
    sum
}

/// `T w = [Ω; v + Ω × d]` with a constant velocity.
pub(super) fn transport(w: &Six, d: Vec3<D>) -> [D; 6] {
    let ang = Vec3(std::array::from_fn(|k| D::from_f64(w[k])));
    let turn = ang.cross(d);
    std::array::from_fn(|k| if k < 3 { ang[k] } else { turn[k - 3] + D::from_f64(w[k]) })
}

/// `Tᵀ [τ; f] = [τ + d × f; f]` with a constant wrench.
pub(super) fn transport_wrench(c: &Six, d: Vec3<D>) -> [D; 6] {
    let f = Vec3(std::array::from_fn(|k| D::from_f64(c[3 + k])));
    let turn = d.cross(f);
    std::array::from_fn(|k| if k < 3 { turn[k] + D::from_f64(c[k]) } else { f[k - 3] })
}
