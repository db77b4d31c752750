//! Three-vectors and 3×3 matrices on fixed arrays.
//!
//! Kernels are written out: iterating adapters are not always inlined into code for other instruction sets.

use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Sub, SubAssign};

use crate::scalar::{Real, by_entry};

/// A vector in three-space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec3<T = f64>(pub [T; 3]);

/// A 3×3 matrix, rows first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mat3<T = f64>(pub [[T; 3]; 3]);

impl<T: Real> Vec3<T> {
    /// From components.
    #[inline(always)]
    pub fn new(x: T, y: T, z: T) -> Self {
        Self([x, y, z])
    }
    /// The zero vector.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Self([T::zero(); 3])
    }
    /// The constant vector `a`.
    #[inline(always)]
    #[must_use]
    pub fn constant(a: Vec3<f64>) -> Self {
        Self([T::from_f64(a.0[0]), T::from_f64(a.0[1]), T::from_f64(a.0[2])])
    }
    /// Values without derivatives.
    #[inline(always)]
    pub fn value(self) -> Vec3<f64> {
        Vec3(self.0.map(T::value))
    }
    /// Scalar product.
    #[inline(always)]
    pub fn dot(self, b: Self) -> T {
        dot3(self.0, b.0)
    }
    /// Vector product.
    #[inline(always)]
    #[must_use]
    pub fn cross(self, b: Self) -> Self {
        let ([a0, a1, a2], [b0, b1, b2]) = (self.0, b.0);
        Self([a1.mul_minus(b2, a2 * b1), a2.mul_minus(b0, a0 * b2), a0.mul_minus(b1, a1 * b0)])
    }
    /// Squared length.
    #[inline(always)]
    pub fn norm2(self) -> T {
        self.dot(self)
    }
    /// Length.
    #[inline(always)]
    pub fn norm(self) -> T {
        self.norm2().sqrt()
    }
    /// The skew matrix `â` with `â b = a × b`.
    #[inline(always)]
    pub fn skew(self) -> Mat3<T> {
        let [x, y, z] = self.0;
        let o = T::zero();
        Mat3([[o, -z, y], [z, o, -x], [-y, x, o]])
    }
    /// Outer product `a bᵀ`.
    #[inline(always)]
    pub fn outer(self, b: Self) -> Mat3<T> {
        let ([x, y, z], [u, v, w]) = (self.0, b.0);
        Mat3([[x * u, x * v, x * w], [y * u, y * v, y * w], [z * u, z * v, z * w]])
    }
}

/// Sum of three products. A function and no closure: lanes need everything inlined into the code made for them.
#[inline(always)]
pub(super) fn dot3<T: Real>(a: [T; 3], b: [T; 3]) -> T {
    a[2].mul_plus(b[2], a[1].mul_plus(b[1], a[0] * b[0]))
}

impl<T: Real> Mat3<T> {
    /// The identity.
    #[inline(always)]
    #[must_use]
    pub fn identity() -> Self {
        Self::diagonal(T::one())
    }
    /// `d` times the identity.
    #[inline(always)]
    pub fn diagonal(d: T) -> Self {
        let o = T::zero();
        Self([[d, o, o], [o, d, o], [o, o, d]])
    }
    /// The zero matrix.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Self([[T::zero(); 3]; 3])
    }
    /// A constant matrix.
    #[inline(always)]
    #[must_use]
    pub fn constant(a: Mat3<f64>) -> Self {
        let row = |r: [f64; 3]| [T::from_f64(r[0]), T::from_f64(r[1]), T::from_f64(r[2])];
        Self([row(a.0[0]), row(a.0[1]), row(a.0[2])])
    }
    /// Values without derivatives.
    #[inline(always)]
    pub fn value(self) -> Mat3<f64> {
        Mat3(self.0.map(|r| r.map(T::value)))
    }
    /// From three columns.
    #[inline(always)]
    pub fn from_columns(a: Vec3<T>, b: Vec3<T>, c: Vec3<T>) -> Self {
        Self([[a.0[0], b.0[0], c.0[0]], [a.0[1], b.0[1], c.0[1]], [a.0[2], b.0[2], c.0[2]]])
    }
    /// Column `j`.
    #[inline(always)]
    pub fn column(&self, j: usize) -> Vec3<T> {
        Vec3([self.0[0][j], self.0[1][j], self.0[2][j]])
    }
    /// The transpose.
    #[inline(always)]
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self::from_columns(Vec3(self.0[0]), Vec3(self.0[1]), Vec3(self.0[2]))
    }
    /// `Aᵀ x` without forming the transpose.
    #[inline(always)]
    pub fn tr_mul(&self, x: Vec3<T>) -> Vec3<T> {
        let a = &self.0;
        Vec3([
            dot3([a[0][0], a[1][0], a[2][0]], x.0),
            dot3([a[0][1], a[1][1], a[2][1]], x.0),
            dot3([a[0][2], a[1][2], a[2][2]], x.0),
        ])
    }
    /// Sum of the diagonal.
    #[inline(always)]
    pub fn trace(&self) -> T {
        self.0[0][0] + self.0[1][1] + self.0[2][2]
    }
    /// The vector `a` with `â = (A − Aᵀ)/2`.
    #[inline(always)]
    pub fn vee(&self) -> Vec3<T> {
        let a = &self.0;
        Vec3([a[2][1] - a[1][2], a[0][2] - a[2][0], a[1][0] - a[0][1]]).scale(0.5)
    }
    /// Determinant.
    #[inline(always)]
    pub fn determinant(&self) -> T {
        Vec3(self.0[0]).dot(Vec3(self.0[1]).cross(Vec3(self.0[2])))
    }
    /// Inverse by cofactors; the caller knows that the matrix is regular.
    #[must_use]
    #[inline(always)]
    pub fn inverse(&self) -> Self {
        let (a, b, c) = (Vec3(self.0[0]), Vec3(self.0[1]), Vec3(self.0[2]));
        let (x, y, z) = (b.cross(c), c.cross(a), a.cross(b));
        let d = T::one() / a.dot(x);
        Self::from_columns(x * d, y * d, z * d)
    }
}

impl<T: Real> Add for Vec3<T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self([self.0[0] + b.0[0], self.0[1] + b.0[1], self.0[2] + b.0[2]])
    }
}
impl<T: Real> Sub for Vec3<T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self([self.0[0] - b.0[0], self.0[1] - b.0[1], self.0[2] - b.0[2]])
    }
}
impl<T: Real> Neg for Vec3<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self([-self.0[0], -self.0[1], -self.0[2]])
    }
}
impl<T: Real> Mul<T> for Vec3<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: T) -> Self {
        Self([self.0[0] * s, self.0[1] * s, self.0[2] * s])
    }
}
impl<T: Real> AddAssign for Vec3<T> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}
impl<T: Real> SubAssign for Vec3<T> {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}
impl<T> Index<usize> for Vec3<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: usize) -> &T {
        &self.0[i]
    }
}
impl<T> IndexMut<usize> for Vec3<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut T {
        &mut self.0[i]
    }
}
impl<T: Real> Mul<Vec3<T>> for Mat3<T> {
    type Output = Vec3<T>;
    #[inline(always)]
    fn mul(self, x: Vec3<T>) -> Vec3<T> {
        Vec3([Vec3(self.0[0]).dot(x), Vec3(self.0[1]).dot(x), Vec3(self.0[2]).dot(x)])
    }
}
impl<T: Real> Mul for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        let (x, y, z) = (b.column(0).0, b.column(1).0, b.column(2).0);
        let [p, q, r] = self.0;
        Self([
            [dot3(p, x), dot3(p, y), dot3(p, z)],
            [dot3(q, x), dot3(q, y), dot3(q, z)],
            [dot3(r, x), dot3(r, y), dot3(r, z)],
        ])
    }
}
impl<T: Real> Mul<T> for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: T) -> Self {
        Self(by_entry(|i| by_entry(|j| self.0[i][j] * s)))
    }
}
impl<T: Real> Add for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self(by_entry(|i| by_entry(|j| self.0[i][j] + b.0[i][j])))
    }
}
impl<T: Real> Sub for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self(by_entry(|i| by_entry(|j| self.0[i][j] - b.0[i][j])))
    }
}
impl<T: Real> Neg for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(by_entry(|i| by_entry(|j| -self.0[i][j])))
    }
}

// `Vec3<f64> * f64` is covered by `Mul<T>`; other scalars also scale by a plain number.
impl<T: Real> Vec3<T> {
    /// Product with a plain number.
    #[inline(always)]
    #[must_use]
    pub fn scale(self, s: f64) -> Self {
        Self([self.0[0] * s, self.0[1] * s, self.0[2] * s])
    }
}
