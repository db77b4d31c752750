//! Geometry of a joint at one pose: frames, gap and levers in world axes.
//!
//! A link's velocity is described by its angular velocity `Ω` and the velocity `v` of its *joint point* `o` (the
//! origin of its joint's child frame), both in world axes. In these variables the rigid transport from a parent
//! to its child is `[I 0; −S(d) I]` with `d` the lever from one joint point to the next.

use super::layout::{End, Layout, LinkJoint};
use crate::mechanism::JointType;
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};

/// Pose of a link's centre-of-mass frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinkPose<T = f64> {
    pub(crate) q: Quat<T>,
    pub(crate) x: Vec3<T>,
}

impl<T: Real> LinkPose<T> {
    pub(crate) fn identity() -> Self {
        Self { q: Quat::identity(), x: Vec3::zero() }
    }
}

/// A joint seen in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry<T = f64> {
    /// Relative quaternion of the joint frames, parent to child.
    pub(crate) r: Quat<T>,
    /// Axes of the parent's joint frame (only for kinds that use them).
    pub(crate) frame_a: Mat3<T>,
    /// Axes of the child's joint frame.
    pub(crate) frame_b: Mat3<T>,
    /// From the parent's joint origin to the child's.
    pub(crate) gap: Vec3<T>,
    /// From the parent's own joint point to this joint's origin on the parent.
    pub(crate) lever_a: Vec3<T>,
    /// From the child's own joint point to this joint's origin on the child (zero for tree joints).
    pub(crate) lever_b: Vec3<T>,
}

impl Default for Geometry {
    fn default() -> Self {
        Self {
            r: Quat::identity(),
            frame_a: Mat3::identity(),
            frame_b: Mat3::identity(),
            gap: Vec3::zero(),
            lever_a: Vec3::zero(),
            lever_b: Vec3::zero(),
        }
    }
}

/// True if the joint lets its child slide: its rows and levers are then taken in the parent's frame.
#[inline(always)]
pub(crate) fn slides(kind: JointType) -> bool {
    matches!(
        kind,
        JointType::Prismatic
            | JointType::Cylindrical
            | JointType::Planar
            | JointType::PointOnLine
            | JointType::Floating
    )
}

/// Frame, origin and lever of one end of a joint. A function and no closure: lanes need it inlined.
#[inline(always)]
fn place_end<T: Real>(end: &End, at: Option<(&LinkPose<T>, &Mat3<T>)>) -> (Quat<T>, Vec3<T>, Vec3<T>) {
    match at {
        Some((pose, rot)) => (
            pose.q * Quat::constant(end.q),
            pose.x + *rot * Vec3::constant(end.p),
            *rot * Vec3::constant(end.lever),
        ),
        None => (Quat::constant(end.q), Vec3::constant(end.p), Vec3::constant(end.lever)),
    }
}

/// Geometry of a joint between two posed ends; `None` is the ground.
#[inline(always)]
pub(crate) fn joint_geometry<T: Real>(
    joint: &LinkJoint,
    a: Option<(&LinkPose<T>, &Mat3<T>)>,
    b: Option<(&LinkPose<T>, &Mat3<T>)>,
    needs_b_lever: bool,
) -> Geometry<T> {
    let (qa, oa, lever_a) = place_end(&joint.a, a);
    let (qb, ob, lever_b) = place_end(&joint.b, b);
    let uses_a = slides(joint.kind) || joint.kind == JointType::Universal;
    Geometry {
        r: qa.conj() * qb,
        frame_a: if uses_a { qa.to_matrix() } else { Mat3::zero() },
        frame_b: qb.to_matrix(),
        gap: ob - oa,
        lever_a,
        lever_b: if needs_b_lever { lever_b } else { Vec3::zero() },
    }
}

impl<T: Real> Geometry<T> {
    /// Lever `d` of the rigid transport from the parent's joint point to the child's.
    #[inline(always)]
    pub(crate) fn transport(&self, kind: JointType) -> Vec3<T> {
        if slides(kind) { self.lever_a + self.gap } else { self.lever_a }
    }

    /// The angular velocity about the joint's axis that keeps both `Rot` rows, per unit rate; world axes.
    ///
    /// With `r = [w; v]` the rows are `r₁ = (w, −v₃, v₂)` and `r₂ = (v₃, w, −v₁)` in the child's joint frame; their
    /// common null vector is `r₁ × r₂ = (v₁v₃ − w v₂, v₂v₃ + w v₁, w² + v₃²)`. (3.14)
    #[inline(always)]
    pub(crate) fn hinge_axis(&self) -> Vec3<T> {
        let (w, [v1, v2, v3]) = (self.r.w, self.r.v.0);
        let s = T::one() / (w * w + v3 * v3);
        let (m1, m2) = ((v1 * v3 - w * v2) * s, (v2 * v3 + w * v1) * s);
        let f = &self.frame_b.0;
        let row = |i: usize| f[i][0] * m1 + f[i][1] * m2 + f[i][2];
        Vec3([row(0), row(1), row(2)])
    }
}

/// All geometry of one pose of the mechanism.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    /// Per link: rotation matrix.
    pub(crate) rot: Vec<Mat3>,
    /// Per link: from the centre of mass to the joint point.
    pub(crate) arm: Vec<Vec3>,
    /// Per link: the joint point in the world.
    pub(crate) point: Vec<Vec3>,
    /// Per link: geometry of its joint.
    pub(crate) joints: Vec<Geometry>,
    /// Per link: transport lever from the parent.
    pub(crate) lever: Vec<Vec3>,
    /// Per link: axis of a hinge (revolute, cylindrical, planar joints).
    pub(crate) axis: Vec<Vec3>,
    /// Per loop joint.
    pub(crate) loops: Vec<Geometry>,
}

impl Side {
    pub(crate) fn new(layout: &Layout) -> Self {
        let n = layout.links.len();
        Self {
            rot: vec![Mat3::identity(); n],
            arm: vec![Vec3::zero(); n],
            point: vec![Vec3::zero(); n],
            joints: vec![Geometry::default(); n],
            lever: vec![Vec3::zero(); n],
            axis: vec![Vec3::zero(); n],
            loops: vec![Geometry::default(); layout.loops.len()],
        }
    }

    /// Takes over the geometry of another pose of the same mechanism. Does not allocate.
    pub(crate) fn copy_from(&mut self, o: &Self) {
        self.rot.copy_from_slice(&o.rot);
        self.arm.copy_from_slice(&o.arm);
        self.point.copy_from_slice(&o.point);
        self.joints.copy_from_slice(&o.joints);
        self.lever.copy_from_slice(&o.lever);
        self.axis.copy_from_slice(&o.axis);
        self.loops.copy_from_slice(&o.loops);
    }

    /// Geometry of one link whose parent is placed already.
    #[inline(always)]
    pub(crate) fn place_link(&mut self, layout: &Layout, i: usize, poses: &[LinkPose]) {
        let link = &layout.links[i];
        let joint = &link.joint;
        let (pose, rot) = (&poses[i], poses[i].q.to_matrix());
        let arm = rot * joint.b.p;
        let point = pose.x + arm;
        let (qa, origin, lever_a) = match link.parent {
            Some(p) => {
                let lever = self.rot[p] * joint.a.lever;
                (poses[p].q * joint.a.q, self.point[p] + lever, lever)
            }
            None => (joint.a.q, joint.a.p, joint.a.lever),
        };
        self.rot[i] = rot;
        self.arm[i] = arm;
        self.point[i] = point;
        let g = &mut self.joints[i];
        g.gap = point - origin;
        g.lever_a = lever_a;
        let qb = pose.q * joint.b.q;
        g.r = qa.conj() * qb;
        match joint.kind {
            JointType::Spherical if joint.is_plain_ball() => self.lever[i] = lever_a,
            JointType::Revolute | JointType::Continuous => {
                g.frame_b = qb.to_matrix();
                self.axis[i] = g.hinge_axis();
                self.lever[i] = lever_a;
            }
            kind => {
                g.frame_b = qb.to_matrix();
                if slides(kind) || kind == JointType::Universal {
                    g.frame_a = qa.to_matrix();
                }
                if matches!(kind, JointType::Cylindrical | JointType::Planar) {
                    self.axis[i] = g.hinge_axis();
                }
                self.lever[i] = g.transport(kind);
            }
        }
    }

    /// Geometry of the loop joints, once all links are placed.
    #[inline(always)]
    pub(crate) fn place_loops(&mut self, layout: &Layout, poses: &[LinkPose]) {
        for (l, joint) in layout.loops.iter().enumerate() {
            let at = |link: Option<usize>| link.map(|i| (&poses[i], &self.rot[i]));
            self.loops[l] = joint_geometry(joint, at(joint.a.link), at(joint.b.link), true);
        }
    }

    /// Geometry of all links and loop joints. Does not allocate.
    pub(crate) fn place(&mut self, layout: &Layout, poses: &[LinkPose]) {
        for i in 0..layout.links.len() {
            self.place_link(layout, i, poses);
        }
        self.place_loops(layout, poses);
    }
}
