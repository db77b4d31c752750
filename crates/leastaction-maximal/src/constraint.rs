//! Constraint rows of the joint kinds: values, directions, and the null space of a tree joint's rows.
//!
//! | rows | value | direction on the child at its joint point | on the parent |
//! |---|---|---|---|
//! | Rot i | `2 vᵢ` of the relative quaternion | `[F_b rᵢ; 0]` | the opposite |
//! | Uni | `z_a · x_b` | `[x_b × z_a; 0]` | the opposite |
//! | World i | gap | `[l_b × eᵢ; eᵢ]` | `−[l_a × eᵢ; eᵢ]` |
//! | Proj i | gap along the parent's axis tᵢ | `[l_b × tᵢ; tᵢ]` | `−[(l_a + gap) × tᵢ; tᵢ]` |
//!
//! A row's direction is both its velocity Jacobian and the wrench of its multiplier, (3.9) to (3.12).

use super::geometry::Geometry;
use super::layout::row_count;
use crate::mechanism::JointType;
use crate::scalar::Real;
use crate::spatial::{Mat3, Vec3};

/// How many of a joint's rows, the first ones, are rotations.
#[inline(always)]
pub(crate) fn angular_rows(kind: JointType) -> usize {
    if kind == JointType::Universal { 1 } else { pattern(kind).0 }
}

/// Direction of one scalar row in the variables of the two links.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row<T = f64> {
    /// Angular part on the child, about its joint point.
    pub(crate) ang_b: Vec3<T>,
    /// Angular part on the parent (with the opposite sign), about its joint point.
    pub(crate) ang_a: Vec3<T>,
    /// Linear part on the child; the parent has the opposite.
    pub(crate) lin: Vec3<T>,
}

#[inline(always)]
fn unit<T: Real>(i: usize) -> Vec3<T> {
    let mut e = Vec3::zero();
    e[i] = T::one();
    e
}

/// Row `rᵢ = w eᵢ − v × eᵢ` in the child's joint frame.
#[inline(always)]
fn rot_row<T: Real>(g: &Geometry<T>, i: usize) -> Vec3<T> {
    let (w, [v1, v2, v3]) = (g.r.w, g.r.v.0);
    let r = match i {
        0 => Vec3([w, -v3, v2]),
        1 => Vec3([v3, w, -v1]),
        _ => Vec3([-v2, v1, w]),
    };
    g.frame_b * r
}

/// How many `Rot` rows, and which `Proj` rows (first, count); `World` rows otherwise.
#[inline(always)]
pub(crate) fn pattern(kind: JointType) -> (usize, Option<(usize, usize)>, bool) {
    match kind {
        JointType::Fixed => (3, None, true),
        JointType::Revolute | JointType::Continuous => (2, None, true),
        JointType::Prismatic => (3, Some((0, 2)), false),
        JointType::Cylindrical => (2, Some((0, 2)), false),
        JointType::Universal | JointType::Spherical => (0, None, true),
        JointType::Planar => (2, Some((2, 1)), false),
        JointType::PointOnLine => (0, Some((0, 2)), false),
        JointType::Floating => (0, None, false),
    }
}

/// Values of the constraint rows; returns how many there are.
#[inline(always)]
pub(crate) fn values<T: Real>(kind: JointType, g: &Geometry<T>, out: &mut [T; 6]) -> usize {
    values_of(kind, g, &Off { gap: g.gap, turn: g.r.v }, out)
}

/// What the rows are made of, apart from a geometry that has more rounding.
pub(crate) struct Off<T> {
    /// From the parent's joint origin to the child's.
    pub(crate) gap: Vec3<T>,
    /// Vector part of the relative quaternion of the joint frames.
    pub(crate) turn: Vec3<T>,
}

/// Values of the constraint rows of known gaps and turns.
#[inline(always)]
pub(crate) fn values_of<T: Real>(kind: JointType, g: &Geometry<T>, off: &Off<T>, out: &mut [T; 6]) -> usize {
    let (rots, proj, world) = pattern(kind);
    let mut n = 0;
    for i in 0..rots {
        out[n] = off.turn[i] + off.turn[i];
        n += 1;
    }
    if kind == JointType::Universal {
        out[n] = g.frame_a.column(2).dot(g.frame_b.column(0));
        n += 1;
    }
    if world {
        out[n..n + 3].copy_from_slice(&off.gap.0);
        n += 3;
    }
    if let Some((first, count)) = proj {
        for i in first..first + count {
            out[n] = g.frame_a.column(i).dot(off.gap);
            n += 1;
        }
    }
    debug_assert_eq!(n, row_count(kind));
    n
}

/// Directions of the constraint rows; returns how many there are.
#[inline(always)]
pub(crate) fn directions<T: Real>(kind: JointType, g: &Geometry<T>, out: &mut [Row<T>; 6]) -> usize {
    let (rots, proj, world) = pattern(kind);
    let mut n = 0;
    for i in 0..rots {
        let r = rot_row(g, i);
        out[n] = Row { ang_b: r, ang_a: r, lin: Vec3::zero() };
        n += 1;
    }
    if kind == JointType::Universal {
        let u = g.frame_b.column(0).cross(g.frame_a.column(2));
        out[n] = Row { ang_b: u, ang_a: u, lin: Vec3::zero() };
        n += 1;
    }
    if world {
        for i in 0..3 {
            let e = unit(i);
            out[n] = Row { ang_b: g.lever_b.cross(e), ang_a: g.lever_a.cross(e), lin: e };
            n += 1;
        }
    }
    if let Some((first, count)) = proj {
        for i in first..first + count {
            out[n] = slide_row(g, g.frame_a.column(i));
            n += 1;
        }
    }
    n
}

/// The row of a slide along the world direction `t`.
#[inline(always)]
pub(crate) fn slide_row<T: Real>(g: &Geometry<T>, t: Vec3<T>) -> Row<T> {
    Row { ang_b: g.lever_b.cross(t), ang_a: (g.lever_a + g.gap).cross(t), lin: t }
}

/// Gradient of coordinate `c` on the constraint set, in the engine's basis (see [`coordinate_columns`]).
#[inline(always)]
pub(crate) fn coordinate_row<T: Real>(kind: JointType, g: &Geometry<T>, c: usize) -> Row<T> {
    let angle = |a: Vec3<T>| Row { ang_b: a, ang_a: a, lin: Vec3::zero() };
    match (kind, c) {
        (JointType::Revolute | JointType::Continuous | JointType::Cylindrical, 0)
        | (JointType::Planar, 2) => angle(g.frame_b.column(2)),
        (JointType::Prismatic, _) | (JointType::Cylindrical, _) => slide_row(g, g.frame_a.column(2)),
        (JointType::Planar, c) => slide_row(g, g.frame_a.column(c)),
        (JointType::Universal, 0) => angle(g.frame_a.column(2)),
        (JointType::Universal, _) => angle(g.frame_b.column(0)),
        (JointType::Spherical, c) => angle(g.frame_b.column(c)),
        (JointType::Floating, c) if c < 3 => angle(g.frame_b.column(c)),
        (JointType::Floating, c) => slide_row(g, g.frame_a.column(c - 3)),
        _ => Row { ang_b: Vec3::zero(), ang_a: Vec3::zero(), lin: Vec3::zero() },
    }
}

/// Null space of a tree joint's rows on its child: one `[Ω; v]` column per coordinate, dual to the coordinates.
///
/// Exact at every pose, on or off the constraint set, so that Newton's method stays Newton's. (3.13)
#[inline(always)]
pub(crate) fn coordinate_columns<T: Real>(
    kind: JointType,
    g: &Geometry<T>,
    axis: Vec3<T>,
    out: &mut [[T; 6]],
) {
    let o = T::zero();
    let ang = |a: Vec3<T>| [a[0], a[1], a[2], o, o, o];
    let lin = |a: Vec3<T>| [o, o, o, a[0], a[1], a[2]];
    match kind {
        JointType::Revolute | JointType::Continuous => out[0] = ang(axis),
        JointType::Prismatic => out[0] = lin(g.frame_a.column(2)),
        JointType::Cylindrical => {
            out[0] = ang(axis);
            out[1] = lin(g.frame_a.column(2));
        }
        JointType::Universal => {
            out[0] = ang(g.frame_a.column(2));
            out[1] = ang(g.frame_b.column(0));
        }
        JointType::Planar => {
            out[0] = lin(g.frame_a.column(0));
            out[1] = lin(g.frame_a.column(1));
            out[2] = ang(axis);
        }
        JointType::Spherical => {
            for i in 0..3 {
                out[i] = ang(g.frame_b.column(i));
            }
        }
        JointType::Floating => {
            for i in 0..3 {
                out[i] = ang(g.frame_b.column(i));
                out[3 + i] = lin(g.frame_a.column(i));
            }
        }
        JointType::Fixed | JointType::PointOnLine => {}
    }
}

/// A velocity of the child that changes the constraint rows at the rates `beta` and no coordinate: the particular
/// solution beside [`coordinate_columns`]. Rates may be lanes, the geometry is common to them.
#[inline(always)]
pub(crate) fn particular<T: Real>(kind: JointType, g: &Geometry, beta: &[T; 6]) -> [T; 6] {
    let (rots, proj, world) = pattern(kind);
    let (mut ang, mut lin) = (Vec3::<T>::zero(), Vec3::<T>::zero());
    let mut n = 0;
    let (w, v) = (g.r.w, g.r.v);
    let column = |m: &Mat3, i: usize| Vec3::<T>::constant(m.column(i));
    match rots {
        2 => {
            let s = 1.0 / (w * w + v[2] * v[2]);
            let (b1, b2) = (beta[0] * s, beta[1] * s);
            let (o1, o2) = (b1 * w + b2 * v[2], b2 * w - b1 * v[2]);
            ang = column(&g.frame_b, 0) * o1 + column(&g.frame_b, 1) * o2;
            n = 2;
        }
        3 => {
            // (wI + S(v))⁻¹ β = (w β − v × β + v (v·β)/w) / (w² + v·v); v vanishes on the constraint set.
            let (b, v) = (Vec3([beta[0], beta[1], beta[2]]), Vec3::<T>::constant(v));
            let along = v.dot(b) / T::from_f64(w);
            let o = (b.scale(w) - v.cross(b) + v * along).scale(1.0 / (w * w + g.r.v.norm2()));
            ang = Mat3::<T>::constant(g.frame_b) * o;
            n = 3;
        }
        _ => {}
    }
    if kind == JointType::Universal {
        let u = g.frame_b.column(0).cross(g.frame_a.column(2));
        ang = Vec3::<T>::constant(u) * (beta[0] / T::from_f64(u.norm2()));
        n = 1;
    }
    if world {
        lin = Vec3([beta[n], beta[n + 1], beta[n + 2]]);
    } else if let Some((first, count)) = proj {
        for i in 0..count {
            lin += column(&g.frame_a, first + i) * beta[n + i];
        }
    }
    [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]]
}

/// Multipliers of the constraint rows from the wrench that they exert on the child at its joint point.
///
/// On the constraint set the row directions are orthonormal where they are angular, so the wrench is simply
/// projected; parts along coordinates (springs, dampers) fall away.
#[inline(always)]
pub(crate) fn multipliers<T: Real>(
    kind: JointType,
    g: &Geometry,
    wrench: &[T; 6],
    out: &mut [T; 6],
) -> usize {
    let (ang, lin) = (Vec3([wrench[0], wrench[1], wrench[2]]), Vec3([wrench[3], wrench[4], wrench[5]]));
    let (rots, proj, world) = pattern(kind);
    let mut n = 0;
    for i in 0..rots {
        out[n] = Vec3::<T>::constant(rot_row(g, i)).dot(ang);
        n += 1;
    }
    if kind == JointType::Universal {
        let u = g.frame_b.column(0).cross(g.frame_a.column(2));
        out[n] = Vec3::<T>::constant(u).dot(ang) / T::from_f64(u.norm2());
        n += 1;
    }
    if world {
        for i in 0..3 {
            out[n + i] = lin[i];
        }
        n += 3;
    }
    if let Some((first, count)) = proj {
        for i in first..first + count {
            out[n] = Vec3::<T>::constant(g.frame_a.column(i)).dot(lin);
            n += 1;
        }
    }
    n
}
