//! Joint coordinates of a geometry, and their increments over an interval.

use super::geometry::Geometry;
use crate::mechanism::JointType;
use crate::scalar::Real;
use crate::spatial::{Quat, Vec3};
use leastaction_core::scalar::elementary;

/// Angle of a relative quaternion about z, in (−2π, 2π].
#[inline(always)]
fn hinge_angle<T: Real>(r: Quat<T>) -> T {
    let half = r.v[2].atan2(r.w);
    half + half
}

/// The joint's public position coordinates; angles are only known up to full turns.
pub(crate) fn coordinates<T: Real>(kind: JointType, g: &Geometry<T>, out: &mut [T]) {
    let slide = |i: usize| g.frame_a.column(i).dot(g.gap);
    match kind {
        JointType::Revolute | JointType::Continuous => out[0] = hinge_angle(g.r),
        JointType::Prismatic => out[0] = slide(2),
        JointType::Cylindrical => {
            out[0] = hinge_angle(g.r);
            out[1] = slide(2);
        }
        JointType::Universal => {
            let x_b = g.frame_b.column(0);
            let z_a = g.frame_a.column(2);
            out[0] = x_b.dot(g.frame_a.column(1)).atan2(x_b.dot(g.frame_a.column(0)));
            out[1] = z_a.dot(g.frame_b.column(1)).atan2(z_a.dot(g.frame_b.column(2)));
        }
        JointType::Planar => {
            out[0] = slide(0);
            out[1] = slide(1);
            out[2] = hinge_angle(g.r);
        }
        JointType::Spherical => out[..4].copy_from_slice(&g.r.to_array()),
        JointType::Floating => {
            out[..4].copy_from_slice(&g.r.to_array());
            for i in 0..3 {
                out[4 + i] = slide(i);
            }
        }
        JointType::Fixed | JointType::PointOnLine => {}
    }
}

/// Which position coordinates are angles that can wind up.
pub(crate) fn is_angle(kind: JointType, c: usize) -> bool {
    match kind {
        JointType::Revolute | JointType::Continuous | JointType::Universal => true,
        JointType::Cylindrical => c == 0,
        JointType::Planar => c == 2,
        _ => false,
    }
}

/// True if a rate of the joint is an angular one, and no slide's.
pub(crate) fn turns(kind: JointType, c: usize) -> bool {
    is_angle(kind, c) || (kind.nq() > kind.nv() && c < 3)
}

/// `angle` plus the full turns that bring it nearest to `near`.
#[inline(always)]
pub(crate) fn unwrap(angle: f64, near: f64) -> f64 {
    let turns = (near - angle) * (0.5 * std::f64::consts::FRAC_1_PI);
    angle + std::f64::consts::TAU * turns.round()
}

/// Relative joint quaternion from position coordinates.
pub(crate) fn joint_quaternion(kind: JointType, q: &[f64]) -> Quat {
    let about = |i: usize, angle: f64| {
        let (s, c) = elementary::sin_cos(0.5 * angle);
        let mut v = Vec3::zero();
        v[i] = s;
        Quat { w: c, v }
    };
    match kind {
        JointType::Revolute | JointType::Continuous | JointType::Cylindrical => about(2, q[0]),
        JointType::Universal => about(2, q[0]) * about(0, q[1]),
        JointType::Planar => about(2, q[2]),
        JointType::Spherical | JointType::Floating => Quat::from_slice(q),
        _ => Quat::identity(),
    }
}

/// Displacement of the child's joint origin in the parent's joint frame.
pub(crate) fn joint_displacement(kind: JointType, q: &[f64]) -> Vec3 {
    match kind {
        JointType::Prismatic => Vec3([0.0, 0.0, q[0]]),
        JointType::Cylindrical => Vec3([0.0, 0.0, q[1]]),
        JointType::Planar => Vec3([q[0], q[1], 0.0]),
        JointType::Floating => Vec3([q[4], q[5], q[6]]),
        _ => Vec3::zero(),
    }
}

/// Increment of every velocity coordinate over an interval, and (for balls) its slope by the rates.
///
/// Angles take the shortest way; a ball's increment is `2 vec(r⁻¹r')`, odd under exchange of the ends.
pub(crate) fn increments<T: Real>(kind: JointType, from: &Geometry<T>, to: &Geometry<T>, out: &mut [T; 6]) {
    let slide = |i: usize| to.frame_a.column(i).dot(to.gap) - from.frame_a.column(i).dot(from.gap);
    increments_by(kind, from, to, from.r.conj() * to.r, slide, out);
}

/// As [`increments`], with the relative turn `r⁻¹r'` and the slides along the parent's axes given.
#[inline(always)]
pub(crate) fn increments_by<T: Real>(
    kind: JointType,
    from: &Geometry<T>,
    to: &Geometry<T>,
    rel: Quat<T>,
    slide: impl Fn(usize) -> T,
    out: &mut [T; 6],
) {
    let rel = if rel.w.value() < 0.0 { Quat { w: -rel.w, v: -rel.v } } else { rel };
    match kind {
        JointType::Revolute | JointType::Continuous => out[0] = hinge_angle(rel),
        JointType::Prismatic => out[0] = slide(2),
        JointType::Cylindrical => {
            out[0] = hinge_angle(rel);
            out[1] = slide(2);
        }
        JointType::Universal => {
            let (mut y, mut z) = ([T::zero(); 2], [T::zero(); 2]);
            coordinates(kind, from, &mut y);
            coordinates(kind, to, &mut z);
            for c in 0..2 {
                let d = z[c] - y[c];
                out[c] = d + T::from_f64(unwrap(d.value(), 0.0) - d.value());
            }
        }
        JointType::Planar => {
            out[0] = slide(0);
            out[1] = slide(1);
            out[2] = hinge_angle(rel);
        }
        JointType::Spherical | JointType::Floating => {
            for i in 0..3 {
                out[i] = rel.v[i] + rel.v[i];
            }
            if kind == JointType::Floating {
                for i in 0..3 {
                    out[3 + i] = slide(i);
                }
            }
        }
        JointType::Fixed | JointType::PointOnLine => {}
    }
}
