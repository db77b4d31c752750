//! Wrenches of the constraint rows of tree joints.

use crate::constraint::pattern;
use crate::geometry::{Geometry, Side};
use crate::ldu::Six;
use crate::mechanism::JointType;
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};

/// What a vector changes by when it is turned by `ρ`, to the rounding of the change. (8.28)
#[inline(always)]
pub(super) fn swing<T: Real>(rho: &Quat<T>, a: Vec3<T>) -> Vec3<T> {
    let t = rho.v.cross(a);
    let t = t + t;
    t * rho.w + rho.v.cross(t)
}

/// Relative quaternion of a joint after its ends have turned by `ρ_a` and `ρ_b` from `start`, to the rounding of their turns. (8.28)
#[inline(always)]
pub(super) fn twist<T: Real>(start: &Geometry, rho_a: Option<&Quat<T>>, rho_b: Option<&Quat<T>>) -> Quat<T> {
    let between = match (rho_a, rho_b) {
        (Some(a), Some(b)) => a.conj() * *b,
        (None, Some(b)) => *b,
        (Some(a), None) => a.conj(),
        (None, None) => Quat::identity(),
    };
    let v = Mat3::<T>::constant(start.frame_b).tr_mul(between.v);
    Quat::<T>::constant(start.r) * Quat { w: between.w, v }
}

/// `Gᵀλ` of a tree joint on its child, about the child's joint point.
#[inline(always)]
pub(super) fn joint_wrench<T: Real>(kind: JointType, g: &Geometry<T>, lam: &[T; 6]) -> [T; 6] {
    let world = |at: usize| Vec3([lam[at], lam[at + 1], lam[at + 2]]);
    let both = |ang: Vec3<T>, lin: Vec3<T>| [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]];
    match kind {
        JointType::Revolute | JointType::Continuous => both(hinge_torque(g, lam), world(2)),
        JointType::Spherical => both(Vec3::zero(), world(0)),
        kind => {
            let (rots, proj, all) = pattern(kind);
            let (mut ang, mut lin, mut n) = (Vec3::zero(), Vec3::zero(), 0);
            if rots > 0 {
                let l = Vec3([lam[0], lam[1], if rots > 2 { lam[2] } else { T::zero() }]);
                ang = g.frame_b * (l * g.r.w - g.r.v.cross(l));
                n = rots;
            }
            if kind == JointType::Universal {
                ang = g.frame_b.column(0).cross(g.frame_a.column(2)) * lam[0];
                n = 1;
            }
            if all {
                lin = world(n);
            } else if let Some((first, count)) = proj {
                for i in 0..count {
                    lin += g.frame_a.column(first + i) * lam[n + i];
                }
            }
            both(ang, lin)
        }
    }
}

/// `λ₁ r₁ + λ₂ r₂` of a hinge.
#[inline(always)]
pub(super) fn hinge_torque<T: Real>(g: &Geometry<T>, lam: &[T; 6]) -> Vec3<T> {
    let (a, b) = (lam[0], lam[1]);
    let (w, [v1, v2, v3]) = (g.r.w, g.r.v.0);
    g.frame_b * Vec3([w * a + v3 * b, w * b - v3 * a, v2 * a - v1 * b])
}

/// Adds a wrench on link `i` about its joint point, and its reaction on the parent, about the centres of mass.
#[inline(always)]
pub(super) fn add_joint_wrench(out: &mut [Six], side: &Side, parent: Option<usize>, i: usize, wrench: &Six) {
    let (tau, f) = (Vec3([wrench[0], wrench[1], wrench[2]]), Vec3([wrench[3], wrench[4], wrench[5]]));
    let on = tau + side.arm[i].cross(f);
    for k in 0..3 {
        out[i][k] += on[k];
        out[i][3 + k] += f[k];
    }
    if let Some(p) = parent {
        let on = tau + (side.lever[i] + side.arm[p]).cross(f);
        for k in 0..3 {
            out[p][k] -= on[k];
            out[p][3 + k] -= f[k];
        }
    }
}

/// The larger of two numbers that are not NaN; sums of squares notice NaN.
#[inline(always)]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// True for the rotational coordinates of balls, which have rates but no coordinate of their own.
#[inline(always)]
pub(super) fn is_ball_rate(kind: JointType, c: usize) -> bool {
    c < 3 && matches!(kind, JointType::Spherical | JointType::Floating)
}

/// Angular velocity at node α of the polynomial through relative quaternions, axes of the child's joint frame, times `h`.
pub(super) fn relative_spin<T: Real>(
    table: &super::Table,
    r: impl Fn(usize) -> crate::spatial::Quat<T>,
    al: usize,
) -> Vec3<T> {
    let here = r(al).conj();
    let mut sum = Vec3::zero();
    for be in (0..=table.s).filter(|be| *be != al) {
        sum += (here * r(be)).v.scale(2.0 * table.b[al][be]);
    }
    sum
}
