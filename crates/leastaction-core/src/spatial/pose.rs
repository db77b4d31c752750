//! [`Pose`]: a rigid transform, and how it moves twists, wrenches and inertias.

use std::ops::Mul;

use super::{Mat3, Momentum, Quat, Twist, Vec3, Wrench};
use crate::scalar::Real;

/// `X_AB = (R, p)`: frame B in frame A. `X_AC = X_AB * X_BC`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose<T = f64> {
    /// Rotation matrix: B components to A components.
    pub rot: Mat3<T>,
    /// Origin of B in A.
    pub pos: Vec3<T>,
}

impl<T: Real> Default for Pose<T> {
    fn default() -> Self {
        Self::identity()
    }
}

impl<T: Real> Pose<T> {
    /// The identity.
    #[must_use]
    pub fn identity() -> Self {
        Self { rot: Mat3::identity(), pos: Vec3::zero() }
    }
    /// From a rotation and a position.
    #[inline(always)]
    pub fn new(rot: Mat3<T>, pos: Vec3<T>) -> Self {
        Self { rot, pos }
    }
    /// From a unit quaternion and a position.
    #[inline(always)]
    pub fn from_quat(q: Quat<T>, pos: Vec3<T>) -> Self {
        Self { rot: q.to_matrix(), pos }
    }
    /// A constant pose.
    #[inline(always)]
    #[must_use]
    pub fn constant(x: &Pose<f64>) -> Self {
        Self { rot: Mat3::constant(x.rot), pos: Vec3::constant(x.pos) }
    }
    /// Values without derivatives.
    pub fn value(&self) -> Pose<f64> {
        Pose { rot: self.rot.value(), pos: self.pos.value() }
    }
    /// `X_BA`.
    #[inline(always)]
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { rot: self.rot.transpose(), pos: -self.rot.tr_mul(self.pos) }
    }
    /// A point given in B, in A.
    #[inline(always)]
    pub fn point(&self, x: Vec3<T>) -> Vec3<T> {
        self.rot * x + self.pos
    }
    /// `Ad_X V`: a twist from B to A.
    #[inline(always)]
    pub fn twist(&self, v: Twist<T>) -> Twist<T> {
        let ang = self.rot * v.ang;
        Twist { ang, lin: self.rot * v.lin + self.pos.cross(ang) }
    }
    /// `Ad_X⁻¹ V`: a twist from A to B.
    #[inline(always)]
    pub fn inv_twist(&self, v: Twist<T>) -> Twist<T> {
        Twist { ang: self.rot.tr_mul(v.ang), lin: self.rot.tr_mul(v.lin - self.pos.cross(v.ang)) }
    }
    /// `Ad_X⁻ᵀ F`: a wrench from B to A.
    #[inline(always)]
    pub fn wrench(&self, f: Wrench<T>) -> Wrench<T> {
        let lin = self.rot * f.lin;
        Wrench { ang: self.rot * f.ang + self.pos.cross(lin), lin }
    }
    /// `Ad_Xᵀ F`: a wrench from A to B.
    #[inline(always)]
    pub fn inv_wrench(&self, f: Wrench<T>) -> Wrench<T> {
        Wrench { ang: self.rot.tr_mul(f.ang - self.pos.cross(f.lin)), lin: self.rot.tr_mul(f.lin) }
    }
    /// A momentum from B to A.
    #[inline(always)]
    pub fn momentum(&self, mu: Momentum<T>) -> Momentum<T> {
        self.wrench(mu.as_wrench()).as_momentum()
    }
    /// A momentum from A to B.
    #[inline(always)]
    pub fn inv_momentum(&self, mu: Momentum<T>) -> Momentum<T> {
        self.inv_wrench(mu.as_wrench()).as_momentum()
    }
}

impl<T: Real> Mul for Pose<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self { rot: self.rot * b.rot, pos: self.rot * b.pos + self.pos }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pose() -> Pose {
        Pose::from_quat(Quat::new(0.5, -0.1, 0.7, 0.2).normalized(), Vec3([0.3, -1.2, 0.8]))
    }

    #[test]
    fn inverse_undoes_the_pose() {
        let x = pose() * pose().inverse();
        for i in 0..3 {
            assert!(x.pos[i].abs() < 1e-15);
            for j in 0..3 {
                assert!((x.rot.0[i][j] - f64::from(u8::from(i == j))).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn power_does_not_depend_on_the_frame() {
        let (v, f) = (
            Twist::from_array([0.1, 0.2, -0.3, 0.4, 0.5, 0.6]),
            Wrench::from_array([1.0, -2.0, 3.0, 4.0, 5.0, -6.0]),
        );
        let x = pose();
        assert!((x.twist(v).dot(x.wrench(f)) - v.dot(f)).abs() < 1e-14);
        assert!((x.inv_twist(x.twist(v)) - v).to_array().iter().all(|e| e.abs() < 1e-15));
        assert!((x.inv_wrench(x.wrench(f)) - f).to_array().iter().all(|e| e.abs() < 1e-14));
    }
}
