//! Node forces: gravity, springs, actuators and thrusters at a pose; impulse rows of the joint coordinates.

use super::constraint::{Row, coordinate_row};
use super::coordinate::{coordinates, is_angle, unwrap};
use super::geometry::{Geometry, Side};
use super::layout::{Layout, LinkJoint};
use super::ldu::{Six, angular, linear};
use crate::mechanism::JointType;
use crate::scalar::Real;
use crate::spatial::{Mat3, Vec3};

/// Position coordinates of a joint with angles unwrapped against `near`.
pub(crate) fn unwrapped(kind: JointType, g: &Geometry, near: &[f64], out: &mut [f64]) {
    coordinates(kind, g, out);
    for c in 0..kind.nv().min(out.len()) {
        if is_angle(kind, c) {
            out[c] = unwrap(out[c], near[c]);
        }
    }
}

/// Direction of a generalised force on a public velocity coordinate.
#[inline(always)]
pub(crate) fn public_row<T: Real>(kind: JointType, g: &Geometry<T>, c: usize) -> Row<T> {
    match kind {
        // Public slides of a floating joint are in the child's frame.
        JointType::Floating if c >= 3 => {
            let t = g.frame_b.column(c - 3);
            Row { ang_b: g.lever_b.cross(t), ang_a: (g.lever_a + g.gap).cross(t), lin: t }
        }
        _ => coordinate_row(kind, g, c),
    }
}

/// Adds the wrench `s · row` to both links, as impulses about the centres of mass.
#[inline(always)]
pub(crate) fn add_row(out: &mut [Six], arms: &[Vec3], a: Option<usize>, b: Option<usize>, row: &Row, s: f64) {
    if let Some(b) = b {
        // About the centre of mass: τ + arm × f.
        add_six(&mut out[b], row.ang_b + arms[b].cross(row.lin), row.lin, s);
    }
    if let Some(a) = a {
        add_six(&mut out[a], row.ang_a + arms[a].cross(row.lin), row.lin, -s);
    }
}

#[inline(always)]
fn add_six(target: &mut Six, ang: Vec3, lin: Vec3, s: f64) {
    for k in 0..3 {
        target[k] += ang[k] * s;
        target[3 + k] += lin[k] * s;
    }
}

/// True if the spring on coordinate `c` is too stiff for an explicit kick: `h² k / m_eff` above one.
///
/// The effective inertia is that of the two bare links, an underestimate, so that the choice errs on the safe side.
pub(crate) fn is_stiff(
    layout: &Layout,
    side: &Side,
    joint: &LinkJoint,
    g: &Geometry,
    c: usize,
    h: f64,
) -> bool {
    is_stiff_by(layout, side, joint, g, c, joint.rows.stiffness[c], h)
}

/// The same for a spring constant that is not the joint's own.
pub(crate) fn is_stiff_by(
    layout: &Layout,
    side: &Side,
    joint: &LinkJoint,
    g: &Geometry,
    c: usize,
    k: f64,
    h: f64,
) -> bool {
    if k <= 0.0 || matches!(joint.kind, JointType::Spherical | JointType::Floating) {
        return false;
    }
    let row = coordinate_row(joint.kind, g, c);
    let mut inverse = 0.0;
    for (end, ang) in [(joint.b.link, row.ang_b), (joint.a.link, row.ang_a)] {
        let Some(i) = end else { continue };
        let link = &layout.links[i];
        let ang = side.rot[i].tr_mul(ang + side.arm[i].cross(row.lin));
        inverse += ang.dot(link.inverse_inertia * ang) + row.lin.norm2() * link.inverse_mass;
    }
    h * h * k * inverse > 1.0
}

/// Explicit generalised forces of one joint: springs that are not stiff, and actuators within the effort limit.
pub(crate) fn joint_forces<T: Real>(
    joint: &LinkJoint,
    q: &[T],
    u: &[f64],
    implicit: impl Fn(usize) -> bool,
    out: &mut [T; 6],
) {
    let kind = joint.kind;
    let mut driven = [0.0; 6];
    for &(input, c, gear) in &joint.actuators {
        driven[c] += u[input] * gear;
    }
    for c in 0..6 {
        out[c] = T::from_f64(driven[c].clamp(joint.effort[0], joint.effort[1]));
    }
    if joint.rows.has_springs {
        let mut k = joint.rows.stiffness;
        for c in 0..kind.nv() {
            if implicit(c) {
                k[c] = 0.0;
            }
        }
        kind.add_spring_force(&k[..kind.nv()], &joint.rows.rest[..kind.nv()], q, &mut out[..kind.nv()]);
    }
}

/// Adds `h/2 F(pose, u)`: gravity, thrusters, springs, actuators. Does not allocate.
///
/// `q` and `q_loop` are the unwrapped coordinates at the pose; `implicit` says which springs have a row instead.
pub(crate) fn add_half_kick(
    layout: &Layout,
    side: &Side,
    q: &[f64],
    q_loop: &[[f64; 7]],
    u: &[f64],
    half: f64,
    implicit: &[bool],
    implicit_loop: &[[bool; 3]],
    out: &mut [Six],
) {
    for (i, link) in layout.links.iter().enumerate() {
        let weight = layout.gravity * (link.mass * half);
        for k in 0..3 {
            out[i][3 + k] += weight[k];
        }
        for (input, point, wrench) in &link.pushes {
            let torque = wrench.ang + (side.rot[i] * *point).cross(wrench.lin);
            add_six(&mut out[i], torque, wrench.lin, u[*input] * half);
        }
        for (input, wrench) in &link.thrusters {
            let s = u[*input] * half;
            add_six(&mut out[i], side.rot[i] * wrench.ang, side.rot[i] * wrench.lin, s);
        }
        let joint = &link.joint;
        if joint.rows.has_springs || !joint.actuators.is_empty() {
            let (kind, g) = (joint.kind, &side.joints[i]);
            let mut f = [0.0; 6];
            joint_forces(joint, &q[link.q..link.q + kind.nq()], u, |c| implicit[link.v + c], &mut f);
            for c in 0..kind.nv() {
                if f[c] != 0.0 {
                    add_row(out, &side.arm, link.parent, Some(i), &public_row(kind, g, c), f[c] * half);
                }
            }
        }
    }
    for (l, joint) in layout.loops.iter().enumerate() {
        if joint.rows.has_springs || !joint.actuators.is_empty() {
            let (kind, g) = (joint.kind, &side.loops[l]);
            let mut f = [0.0; 6];
            joint_forces(joint, &q_loop[l][..kind.nq()], u, |c| c < 3 && implicit_loop[l][c], &mut f);
            for c in 0..kind.nv() {
                if f[c] != 0.0 {
                    let row = public_row(kind, g, c);
                    add_row(out, &side.arm, joint.a.link, joint.b.link, &row, f[c] * half);
                }
            }
        }
    }
}

/// Adds half a kick of the friction of sliding coordinates. Does not allocate.
pub(crate) fn add_friction(layout: &Layout, side: &Side, friction: &[f64], half: f64, out: &mut [Six]) {
    for (i, link) in layout.links.iter().enumerate() {
        let kind = link.joint.kind;
        for c in (0..kind.nv()).filter(|c| friction[link.v + c] != 0.0) {
            let row = public_row(kind, &side.joints[i], c);
            add_row(out, &side.arm, link.parent, Some(i), &row, friction[link.v + c] * half);
        }
    }
}

/// The same for loop joints.
pub(crate) fn add_loop_friction(
    layout: &Layout,
    side: &Side,
    friction: &[[f64; 3]],
    half: f64,
    out: &mut [Six],
) {
    for (l, joint) in layout.loops.iter().enumerate() {
        for c in (0..joint.kind.nv().min(3)).filter(|c| friction[l][*c] != 0.0) {
            let row = public_row(joint.kind, &side.loops[l], c);
            add_row(out, &side.arm, joint.a.link, joint.b.link, &row, friction[l][c] * half);
        }
    }
}

/// The impulse law of one coordinate: start impulse `s = f0 − α dy`, end impulse `e = f0 + β dy`. (3.22)
///
/// Damper c, armature a and a stiff spring k are one row: `α = c/2 + a/h + kh/4`, `β = a/h − c/2 − kh/4`,
/// `f0 = −(h/2) k (y − y₀)`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ImpulseLaw {
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) f0: f64,
}

impl ImpulseLaw {
    pub(crate) fn new(joint: &LinkJoint, c: usize, y: f64, h: f64, implicit_spring: bool) -> Self {
        let rows = &joint.rows;
        let (damping, armature) = (rows.damping[c], rows.armature[c]);
        let k = if implicit_spring { rows.stiffness[c] } else { 0.0 };
        Self {
            alpha: 0.5 * damping + armature / h + 0.25 * k * h,
            beta: armature / h - 0.5 * damping - 0.25 * k * h,
            f0: -0.5 * h * k * (y - rows.rest[c]),
        }
    }
}

/// `R J Rᵀ` about the joint point with the mass: the block of the read-out and of the start.
pub(crate) fn node_block(rot: &Mat3, inertia: &Mat3, mass: f64, arm: Vec3) -> [[f64; 6]; 6] {
    let world = *rot * *inertia * rot.transpose();
    point_block(&world, mass, arm, arm)
}

/// Block of a link about its joint point: angular slope `a`, mass, arms at the start and the end. (3.8)
#[inline(always)]
pub(crate) fn point_block(a: &Mat3, mass: f64, arm: Vec3, arm_end: Vec3) -> [[f64; 6]; 6] {
    // [A − m S(l)S(l'), −m S(l); m S(l'), m I], and S(l)S(l') = l' lᵀ − (l·l') I.
    let dot = mass * arm.dot(arm_end);
    let (ml, me) = (arm * mass, arm_end * mass);
    let mut d = [[0.0; 6]; 6];
    for r in 0..3 {
        for c in 0..3 {
            d[r][c] = a.0[r][c] - arm_end[r] * ml[c];
        }
        d[r][r] += dot;
        d[3 + r][3 + r] = mass;
    }
    d[0][4] = ml[2];
    d[0][5] = -ml[1];
    d[1][3] = -ml[2];
    d[1][5] = ml[0];
    d[2][3] = ml[1];
    d[2][4] = -ml[0];
    d[3][1] = -me[2];
    d[3][2] = me[1];
    d[4][0] = me[2];
    d[4][2] = -me[0];
    d[5][0] = -me[1];
    d[5][1] = me[0];
    d
}

/// A momentum about the centre of mass, taken about the joint point: `τ − arm × f`.
#[inline(always)]
pub(crate) fn about_point(p: &Six, arm: Vec3) -> Six {
    let lin = linear(p);
    let ang = angular(p) - arm.cross(lin);
    [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]]
}
