//! Rigid and articulated inertias.

use std::ops::{Add, AddAssign};

use super::vec3::dot3;
use super::{Mat3, Momentum, Pose, Twist, Vec3, Wrench};
use crate::scalar::Real;

/// A symmetric 3×3 matrix: `xx, yy, zz, xy, xz, yz`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sym3<T = f64>(pub [T; 6]);

impl<T: Real> Sym3<T> {
    /// Zero.
    #[must_use]
    #[inline(always)]
    pub fn zero() -> Self {
        Self([T::zero(); 6])
    }
    /// A constant.
    #[must_use]
    #[inline(always)]
    pub fn constant(a: Sym3<f64>) -> Self {
        let at = |i: usize| T::from_f64(a.0[i]);
        Self([at(0), at(1), at(2), at(3), at(4), at(5)])
    }
    /// The symmetric part of a matrix (its upper triangle).
    #[inline(always)]
    pub fn from_matrix(m: &Mat3<T>) -> Self {
        let m = &m.0;
        Self([m[0][0], m[1][1], m[2][2], m[0][1], m[0][2], m[1][2]])
    }
    /// As a full matrix.
    #[inline(always)]
    pub fn to_matrix(&self) -> Mat3<T> {
        let [xx, yy, zz, xy, xz, yz] = self.0;
        Mat3([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    }
    /// `A x`.
    #[inline(always)]
    pub fn mul(&self, x: Vec3<T>) -> Vec3<T> {
        let ([xx, yy, zz, xy, xz, yz], x) = (self.0, x.0);
        Vec3([dot3([xx, xy, xz], x), dot3([xy, yy, yz], x), dot3([xz, yz, zz], x)])
    }
    /// `R A Rᵀ`.
    #[inline(always)]
    #[must_use]
    pub fn rotated(&self, r: &Mat3<T>) -> Self {
        let ([a, b, c], [x, y, z]) = ((*r * self.to_matrix()).0, r.0);
        Self([dot3(a, x), dot3(b, y), dot3(c, z), dot3(a, y), dot3(a, z), dot3(b, z)])
    }
    /// Component-wise sum.
    #[inline(always)]
    #[must_use]
    pub fn plus(&self, b: &Self) -> Self {
        let mut out = *self;
        for i in 0..6 {
            out.0[i] += b.0[i];
        }
        out
    }
    /// `A − x yᵀ` where `x yᵀ` is symmetric.
    #[inline(always)]
    fn minus_outer(&self, x: Vec3<T>, y: Vec3<T>) -> Self {
        let (s, [x0, x1, x2], [y0, y1, y2]) = (&self.0, x.0, y.0);
        Self([s[0] - x0 * y0, s[1] - x1 * y1, s[2] - x2 * y2, s[3] - x0 * y1, s[4] - x0 * y2, s[5] - x1 * y2])
    }
}

/// Inertia of a rigid body by its ten parameters: mass, first moment and rotational inertia about the frame's
/// origin. Sums of bodies in one frame are sums of these numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inertia<T = f64> {
    /// Mass.
    pub mass: T,
    /// First moment `m c`.
    pub moment: Vec3<T>,
    /// Rotational inertia about the origin.
    pub rot: Sym3<T>,
}

impl<T: Real> Inertia<T> {
    /// No mass.
    #[must_use]
    pub fn zero() -> Self {
        Self { mass: T::zero(), moment: Vec3::zero(), rot: Sym3::zero() }
    }
    /// From mass, centre of mass and the rotational inertia about it.
    #[inline(always)]
    pub fn from_com(mass: T, com: Vec3<T>, about_com: &Sym3<T>) -> Self {
        let moment = com * mass;
        Self { mass, moment, rot: about_com.plus(&parallel_axis(moment, com)) }
    }
    /// A constant.
    #[must_use]
    pub fn constant(a: &Inertia<f64>) -> Self {
        Self { mass: T::from_f64(a.mass), moment: Vec3::constant(a.moment), rot: Sym3::constant(a.rot) }
    }
    /// Momentum `G V`.
    #[inline(always)]
    pub fn mul(&self, v: Twist<T>) -> Momentum<T> {
        Momentum {
            ang: self.rot.mul(v.ang) + self.moment.cross(v.lin),
            lin: v.lin * self.mass - self.moment.cross(v.ang),
        }
    }
    /// The same body seen from frame A, where `x` is the pose of the present frame in A.
    #[must_use]
    #[inline(always)]
    pub fn transformed(&self, x: &Pose<T>) -> Self {
        // With s = R(mc): mc' = s + m p;  J' = R J Rᵀ + (terms of s and p about the new origin).
        let s = x.rot * self.moment;
        let p = x.pos;
        let mp = p * self.mass;
        let two = s + s + mp; // J' adds −(p̂ ŝ + ŝ p̂ + m p̂ p̂)
        let d = two.dot(p);
        let h = mp.scale(0.5) + s; // (p hᵀ + h pᵀ) = p sᵀ + s pᵀ + m p pᵀ
        let [h0, h1, h2] = h.0;
        let [p0, p1, p2] = p.0;
        let shift = Sym3([
            d - (h0 * p0 + h0 * p0),
            d - (h1 * p1 + h1 * p1),
            d - (h2 * p2 + h2 * p2),
            -(h0 * p1 + p0 * h1),
            -(h0 * p2 + p0 * h2),
            -(h1 * p2 + p1 * h2),
        ]);
        Self { mass: self.mass, moment: s + mp, rot: self.rot.rotated(&x.rot).plus(&shift) }
    }
    /// The same body in axes turned by `r`, about the same origin.
    #[must_use]
    #[inline(always)]
    pub fn rotated(&self, r: &Mat3<T>) -> Self {
        Self { mass: self.mass, moment: *r * self.moment, rot: self.rot.rotated(r) }
    }
    /// Centre of mass; the origin if the mass is zero.
    pub fn com(&self) -> Vec3<T> {
        if self.mass.value() == 0.0 { Vec3::zero() } else { self.moment * (T::one() / self.mass) }
    }
    /// Rotational inertia about the centre of mass.
    pub fn about_com(&self) -> Sym3<T> {
        let c = self.com();
        let shift = parallel_axis(self.moment, c);
        Sym3(std::array::from_fn(|i| self.rot.0[i] - shift.0[i]))
    }
    /// Kinetic energy at a twist.
    #[inline(always)]
    pub fn kinetic_energy(&self, v: Twist<T>) -> T {
        v.dot_momentum(self.mul(v)) * 0.5
    }
}

/// `−m ĉ ĉ` from the first moment `m c` and `c`.
#[inline(always)]
fn parallel_axis<T: Real>(mc: Vec3<T>, c: Vec3<T>) -> Sym3<T> {
    let [a, b, d] = mc.0;
    let [x, y, z] = c.0;
    Sym3([b * y + d * z, a * x + d * z, a * x + b * y, -(a * y), -(a * z), -(b * z)])
}

impl<T: Real> Add for Inertia<T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self { mass: self.mass + b.mass, moment: self.moment + b.moment, rot: self.rot.plus(&b.rot) }
    }
}
impl<T: Real> AddAssign for Inertia<T> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

/// Articulated inertia: a symmetric 6×6 matrix in three blocks `[A B; Bᵀ C]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArticulatedInertia<T = f64> {
    /// Angular–angular block.
    pub a: Sym3<T>,
    /// Angular–linear block.
    pub b: Mat3<T>,
    /// Linear–linear block.
    pub c: Sym3<T>,
}

impl<T: Real> ArticulatedInertia<T> {
    /// From a rigid inertia: `[J, m ĉ; −m ĉ, m]`.
    #[inline(always)]
    pub fn from_rigid(g: &Inertia<T>) -> Self {
        let (m, o) = (g.mass, T::zero());
        Self { a: g.rot, b: g.moment.skew(), c: Sym3([m, m, m, o, o, o]) }
    }
    /// `A V`.
    #[inline(always)]
    pub fn mul(&self, v: Twist<T>) -> Wrench<T> {
        Wrench { ang: self.a.mul(v.ang) + self.b * v.lin, lin: self.b.tr_mul(v.ang) + self.c.mul(v.lin) }
    }
    /// Adds a rigid inertia.
    #[inline(always)]
    pub fn add_rigid(&mut self, g: &Inertia<T>) {
        self.add(&Self::from_rigid(g));
    }
    /// Adds another articulated inertia.
    #[inline(always)]
    pub fn add(&mut self, o: &Self) {
        self.a = self.a.plus(&o.a);
        self.b = self.b + o.b;
        self.c = self.c.plus(&o.c);
    }
    /// The same inertia in axes turned by `r`.
    #[inline(always)]
    #[must_use]
    pub fn rotated(&self, r: &Mat3<T>) -> Self {
        Self { a: self.a.rotated(r), b: *r * self.b * r.transpose(), c: self.c.rotated(r) }
    }
    /// The same inertia about another point, from which the present one is at `arm`.
    ///
    /// With `T = [1 0; −r̂ 1]`: `Tᵀ [A B; Bᵀ C] T = [A + r̂Bᵀ − B'r̂, B'; ·, C]`, `B' = B + r̂ C`.
    #[inline(always)]
    #[must_use]
    pub fn about(&self, arm: Vec3<T>) -> Self {
        let c = self.c.to_matrix();
        // r̂ C, column by column (C is symmetric, so its columns are its rows).
        let rc = [arm.cross(Vec3(c.0[0])), arm.cross(Vec3(c.0[1])), arm.cross(Vec3(c.0[2]))];
        let b = self.b + Mat3::from_columns(rc[0], rc[1], rc[2]);
        // r̂ Bᵀ has columns r × (rows of B); −B' r̂ has rows r × (rows of B').
        let [p, q, r] = self.b.0;
        let (p, q, r) = (arm.cross(Vec3(p)).0, arm.cross(Vec3(q)).0, arm.cross(Vec3(r)).0);
        let [u, v, w] = b.0;
        let (u, v, w) = (arm.cross(Vec3(u)).0, arm.cross(Vec3(v)).0, arm.cross(Vec3(w)).0);
        let a = &self.a.0;
        let a = Sym3([
            a[0] + (p[0] + u[0]),
            a[1] + (q[1] + v[1]),
            a[2] + (r[2] + w[2]),
            a[3] + (q[0] + u[1]),
            a[4] + (r[0] + u[2]),
            a[5] + (r[1] + v[2]),
        ]);
        Self { a, b, c: self.c }
    }
    /// `A − u wᵀ` where `u wᵀ` is symmetric (`w` a multiple of `u`).
    #[inline(always)]
    #[must_use]
    pub fn minus_outer(&self, u: Wrench<T>, w: Wrench<T>) -> Self {
        Self {
            a: self.a.minus_outer(u.ang, w.ang),
            b: self.b - u.ang.outer(w.lin),
            c: self.c.minus_outer(u.lin, w.lin),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::Quat;

    #[test]
    fn transformed_inertia_gives_the_transformed_momentum() {
        let g = Inertia::from_com(2.5, Vec3([0.1, -0.4, 0.3]), &Sym3([0.9, 0.8, 0.7, 0.05, -0.02, 0.03]));
        let x = Pose::from_quat(Quat::new(0.9, 0.1, -0.3, 0.2).normalized(), Vec3([1.0, 2.0, -0.5]));
        let v = Twist::from_array([0.3, 0.1, -0.7, 0.2, -0.9, 0.4]);
        let direct = x.momentum(g.mul(v));
        let moved = g.transformed(&x).mul(x.twist(v));
        assert!((direct - moved).to_array().iter().all(|e| e.abs() < 1e-14));
        let back = g.transformed(&x).transformed(&x.inverse());
        assert!((back.moment - g.moment).norm() < 1e-14);
        for i in 0..6 {
            assert!((back.rot.0[i] - g.rot.0[i]).abs() < 1e-14);
            assert!((g.about_com().0[i] - [0.9, 0.8, 0.7, 0.05, -0.02, 0.03][i]).abs() < 1e-15);
        }
    }

    #[test]
    fn an_articulated_inertia_moves_like_the_rigid_one() {
        let g = Inertia::from_com(2.5, Vec3([0.1, -0.4, 0.3]), &Sym3([0.9, 0.8, 0.7, 0.05, -0.02, 0.03]));
        let arm = Vec3([0.7, 0.2, -1.1]);
        let direct = ArticulatedInertia::from_rigid(&g.transformed(&Pose::new(Mat3::identity(), arm)));
        let moved = ArticulatedInertia::from_rigid(&g).about(arm);
        let v = Twist::from_array([0.3, 0.1, -0.7, 0.2, -0.9, 0.4]);
        let d = direct.mul(v) - moved.mul(v);
        assert!(d.to_array().iter().all(|e| e.abs() < 1e-14), "{d:?}");
    }

    #[test]
    fn articulated_form_multiplies_like_the_rigid_one() {
        let g = Inertia::from_com(2.5, Vec3([0.1, -0.4, 0.3]), &Sym3([0.9, 0.8, 0.7, 0.05, -0.02, 0.03]));
        let v = Twist::from_array([0.3, 0.1, -0.7, 0.2, -0.9, 0.4]);
        let d = ArticulatedInertia::from_rigid(&g).mul(v) - g.mul(v).as_wrench();
        assert!(d.to_array().iter().all(|e| e.abs() < 1e-15));
    }
}
