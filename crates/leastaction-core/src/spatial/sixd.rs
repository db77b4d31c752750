//! Six-dimensional vectors: twists, wrenches and momenta, angular part first.
//!
//! They are distinct types so that a twist plus a wrench does not compile; only the pairings of mechanics exist.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use super::Vec3;
use crate::scalar::Real;

macro_rules! six_vector {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name<T = f64> {
            /// Angular part (rad/s, N·m, N·m·s).
            pub ang: Vec3<T>,
            /// Linear part (m/s, N, N·s).
            pub lin: Vec3<T>,
        }
        impl<T: Real> $name<T> {
            /// From its two parts.
            #[inline(always)]
            pub fn new(ang: Vec3<T>, lin: Vec3<T>) -> Self {
                Self { ang, lin }
            }
            /// Zero.
            #[inline(always)]
            #[must_use]
            pub fn zero() -> Self {
                Self { ang: Vec3::zero(), lin: Vec3::zero() }
            }
            /// The constant `a`.
            #[inline(always)]
            #[must_use]
            pub fn constant(a: $name<f64>) -> Self {
                Self { ang: Vec3::constant(a.ang), lin: Vec3::constant(a.lin) }
            }
            /// From six numbers, angular first.
            #[inline(always)]
            pub fn from_array(a: [T; 6]) -> Self {
                Self { ang: Vec3([a[0], a[1], a[2]]), lin: Vec3([a[3], a[4], a[5]]) }
            }
            /// As six numbers, angular first.
            #[inline(always)]
            pub fn to_array(self) -> [T; 6] {
                let ([a, b, c], [d, e, f]) = (self.ang.0, self.lin.0);
                [a, b, c, d, e, f]
            }
            /// Product with a plain number.
            #[inline(always)]
            #[must_use]
            pub fn scale(self, s: f64) -> Self {
                Self { ang: self.ang.scale(s), lin: self.lin.scale(s) }
            }
        }
        impl<T: Real> Add for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                Self { ang: self.ang + b.ang, lin: self.lin + b.lin }
            }
        }
        impl<T: Real> Sub for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                Self { ang: self.ang - b.ang, lin: self.lin - b.lin }
            }
        }
        impl<T: Real> Neg for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self { ang: -self.ang, lin: -self.lin }
            }
        }
        impl<T: Real> Mul<T> for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, s: T) -> Self {
                Self { ang: self.ang * s, lin: self.lin * s }
            }
        }
        impl<T: Real> AddAssign for $name<T> {
            #[inline(always)]
            fn add_assign(&mut self, b: Self) {
                *self = *self + b;
            }
        }
        impl<T: Real> SubAssign for $name<T> {
            #[inline(always)]
            fn sub_assign(&mut self, b: Self) {
                *self = *self - b;
            }
        }
    };
}

six_vector! {
    /// Velocity of a rigid body `(ω; v)`, or an infinitesimal motion.
    Twist
}
six_vector! {
    /// Torque and force `(τ; f)`.
    Wrench
}
six_vector! {
    /// Angular and linear momentum `(l; p)`, or an impulse.
    Momentum
}

impl<T: Real> Twist<T> {
    /// `ad_a b`: the commutator of two twists.
    #[inline(always)]
    #[must_use]
    pub fn cross(self, b: Self) -> Self {
        Self { ang: self.ang.cross(b.ang), lin: self.lin.cross(b.ang) + self.ang.cross(b.lin) }
    }
    /// `a ×* f = −ad_aᵀ f`: rate of change of a wrench that moves with `a`.
    #[inline(always)]
    pub fn cross_wrench(self, f: Wrench<T>) -> Wrench<T> {
        Wrench { ang: self.ang.cross(f.ang) + self.lin.cross(f.lin), lin: self.ang.cross(f.lin) }
    }
    /// `a ×* μ`: the wrench that keeps a momentum fixed in a frame moving with `a`.
    #[inline(always)]
    pub fn cross_momentum(self, mu: Momentum<T>) -> Wrench<T> {
        Wrench { ang: self.ang.cross(mu.ang) + self.lin.cross(mu.lin), lin: self.ang.cross(mu.lin) }
    }
    /// Power of a wrench.
    #[inline(always)]
    pub fn dot(self, f: Wrench<T>) -> T {
        self.ang.dot(f.ang) + self.lin.dot(f.lin)
    }
    /// Pairing with a momentum.
    #[inline(always)]
    pub fn dot_momentum(self, mu: Momentum<T>) -> T {
        self.ang.dot(mu.ang) + self.lin.dot(mu.lin)
    }
}

impl<T: Real> Momentum<T> {
    /// The same numbers read as a wrench (momentum per second).
    #[inline(always)]
    pub fn as_wrench(self) -> Wrench<T> {
        Wrench { ang: self.ang, lin: self.lin }
    }
    /// About a point at `d` from the present reference point: `l − d × p`.
    #[inline(always)]
    #[must_use]
    pub fn about(self, d: Vec3<T>) -> Self {
        Self { ang: self.ang - d.cross(self.lin), lin: self.lin }
    }
}

impl<T: Real> Wrench<T> {
    /// The same numbers read as a momentum (impulse of one second).
    #[inline(always)]
    pub fn as_momentum(self) -> Momentum<T> {
        Momentum { ang: self.ang, lin: self.lin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_wrench_is_minus_the_transpose_of_cross() {
        let a = Twist::from_array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6]);
        let b = Twist::from_array([-0.7, 0.2, 0.9, 0.1, -0.3, 0.8]);
        let f = Wrench::from_array([1.0, 2.0, -3.0, 0.5, -0.25, 0.125]);
        assert!((a.cross(b).dot(f) + b.dot(a.cross_wrench(f))).abs() < 1e-15);
    }
}
