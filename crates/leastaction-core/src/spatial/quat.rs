//! [`Quat`]: unit quaternions `w, x, y, z`, Hamilton's product, child to parent components.

use std::ops::Mul;

use super::{Mat3, Vec3};
use crate::scalar::Real;

/// A unit quaternion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quat<T = f64> {
    /// Scalar part.
    pub w: T,
    /// Vector part.
    pub v: Vec3<T>,
}

impl<T: Real> Default for Quat<T> {
    fn default() -> Self {
        Self::identity()
    }
}

impl<T: Real> Quat<T> {
    /// From components.
    #[inline(always)]
    pub fn new(w: T, x: T, y: T, z: T) -> Self {
        Self { w, v: Vec3([x, y, z]) }
    }
    /// From a slice `w, x, y, z` (the first four entries).
    #[inline(always)]
    pub fn from_slice(q: &[T]) -> Self {
        Self::new(q[0], q[1], q[2], q[3])
    }
    /// `w, x, y, z`.
    #[inline(always)]
    pub fn to_array(self) -> [T; 4] {
        [self.w, self.v.0[0], self.v.0[1], self.v.0[2]]
    }
    /// No rotation.
    #[inline(always)]
    #[must_use]
    pub fn identity() -> Self {
        Self { w: T::one(), v: Vec3::zero() }
    }
    /// A constant.
    #[inline(always)]
    #[must_use]
    pub fn constant(q: Quat<f64>) -> Self {
        Self { w: T::from_f64(q.w), v: Vec3::constant(q.v) }
    }
    /// The inverse rotation.
    #[inline(always)]
    #[must_use]
    pub fn conj(self) -> Self {
        Self { w: self.w, v: -self.v }
    }
    /// Length.
    pub fn norm(self) -> T {
        (self.w * self.w + self.v.norm2()).sqrt()
    }
    /// Scaled to length one.
    #[inline(always)]
    #[must_use]
    pub fn normalized(self) -> Self {
        let s = T::one() / self.norm();
        Self { w: self.w * s, v: self.v * s }
    }
    /// Rotation matrix.
    #[inline(always)]
    pub fn to_matrix(self) -> Mat3<T> {
        let [w, x, y, z] = self.to_array();
        let one = T::one();
        let (x2, y2, z2) = (x + x, y + y, z + z);
        let (xx, yy, zz) = (x * x2, y * y2, z * z2);
        let (xy, xz, yz) = (x * y2, x * z2, y * z2);
        let (wx, wy, wz) = (w * x2, w * y2, w * z2);
        Mat3([
            [one - yy - zz, xy - wz, xz + wy],
            [xy + wz, one - xx - zz, yz - wx],
            [xz - wy, yz + wx, one - xx - yy],
        ])
    }
    /// From a rotation matrix, with `w ≥ 0`; exact to rounding for every rotation (largest component first).
    pub fn from_matrix(r: &Mat3<T>) -> Self {
        let m = &r.0;
        let one = T::one();
        let trace = r.trace();
        let d = [m[0][0].value(), m[1][1].value(), m[2][2].value()];
        let q = if trace.value() > d[0].max(d[1]).max(d[2]) {
            Self::new(one + trace, m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1])
        } else if d[0] >= d[1] && d[0] >= d[2] {
            let t = one + m[0][0] - m[1][1] - m[2][2];
            Self::new(m[2][1] - m[1][2], t, m[0][1] + m[1][0], m[0][2] + m[2][0])
        } else if d[1] >= d[2] {
            let t = one - m[0][0] + m[1][1] - m[2][2];
            Self::new(m[0][2] - m[2][0], m[0][1] + m[1][0], t, m[1][2] + m[2][1])
        } else {
            let t = one - m[0][0] - m[1][1] + m[2][2];
            Self::new(m[1][0] - m[0][1], m[0][2] + m[2][0], m[1][2] + m[2][1], t)
        };
        let q = q.normalized();
        if q.w.value() < 0.0 { Self { w: -q.w, v: -q.v } } else { q }
    }
    /// Rotates a vector.
    #[inline(always)]
    pub fn rotate(self, x: Vec3<T>) -> Vec3<T> {
        let t = self.v.cross(x);
        let t = t + t;
        x + t * self.w + self.v.cross(t)
    }
    /// Rotation by `angle` about the unit vector `axis`.
    pub fn about(axis: Vec3<T>, angle: T) -> Self {
        let (s, c) = (angle * 0.5).sin_cos();
        Self { w: c, v: axis * s }
    }
}

impl<T: Real> Mul for Quat<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self { w: self.w * b.w - self.v.dot(b.v), v: b.v * self.w + self.v * b.w + self.v.cross(b.v) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix_and_back_for_every_largest_component() {
        for q in [[1.0, 0.2, -0.1, 0.3], [0.1, -1.0, 0.2, 0.3], [0.1, 0.2, 1.0, 0.3], [0.0, 0.2, 0.3, -1.0]] {
            let q = Quat::from_slice(&q).normalized();
            let r = Quat::from_matrix(&q.to_matrix());
            let sign = if (q.conj() * r).w < 0.0 { -1.0 } else { 1.0 };
            for (a, b) in q.to_array().into_iter().zip(r.to_array()) {
                assert!((a - sign * b).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn product_composes_matrices_and_rotates() {
        let a = Quat::new(0.3, 0.1, -0.7, 0.2).normalized();
        let b = Quat::new(-0.5, 0.4, 0.1, 0.6).normalized();
        let x = Vec3([0.3, -0.8, 1.1]);
        let y = (a * b).rotate(x) - a.to_matrix() * (b.to_matrix() * x);
        assert!(y.norm() < 1e-15);
    }
}
