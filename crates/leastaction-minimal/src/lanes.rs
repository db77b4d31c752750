//! [`Lanes`]: the same number at all nodes of a step, side by side.
//!
//! Kinematics and momenta of different nodes do not interact, so a kernel written once over
//! [`Real`](crate::scalar::Real) runs over all nodes at the same time, and the compiler turns every operation into
//! vector instructions. The element may itself be a dual number.

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::scalar::{Real, by_entry, each_entry};
use leastaction_core::simd::{Exact, Simd};

/// `N` numbers that are treated alike.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub(crate) struct Lanes<T, const N: usize>(pub(crate) [T; N]);

impl<T: Real, const N: usize> Lanes<T, N> {
    /// The same number in every lane.
    #[inline(always)]
    pub(crate) fn splat(x: T) -> Self {
        Self(by_entry(|_| x))
    }
    /// Plain numbers as constants.
    #[inline(always)]
    #[must_use]
    pub(crate) fn constant(x: &[f64; N]) -> Self {
        Self(by_entry(|i| T::from_f64(x[i])))
    }
    /// Lane by lane product with plain numbers.
    #[inline(always)]
    #[must_use]
    pub(crate) fn weighted(self, w: &[f64; N]) -> Self {
        Self(by_entry(|i| self.0[i] * w[i]))
    }
    /// Sum of `w_i x_i`.
    #[inline(always)]
    pub(crate) fn dot(self, w: &[f64; N]) -> T {
        let mut sum = T::zero();
        each_entry::<N>(|i| sum += self.0[i] * w[i]);
        sum
    }
    /// Adds `x w`: one number spread over the lanes.
    #[inline(always)]
    pub(crate) fn add_spread(&mut self, x: T, w: &[f64; N]) {
        each_entry::<N>(|i| self.0[i] += x * w[i]);
    }
}

/// Products with numbers of the kind that factors of the mass matrix are made of: plain ones, or one per state.
pub(crate) trait Scaled<F>: Real {
    /// `self * factor`.
    fn times(self, factor: F) -> Self;
}

impl<T: Real> Scaled<f64> for T {
    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        self * factor
    }
}
impl<V: Simd, const N: usize> Scaled<Exact<V>> for Lanes<Exact<V>, N> {
    #[inline(always)]
    fn times(self, factor: Exact<V>) -> Self {
        Self(by_entry(|i| self.0[i] * factor))
    }
}
impl<V: Simd> Scaled<Exact<V>> for Exact<V> {
    #[inline(always)]
    fn times(self, factor: Exact<V>) -> Self {
        self * factor
    }
}

impl<T: Real, const N: usize> Default for Lanes<T, N> {
    #[inline(always)]
    fn default() -> Self {
        Self(by_entry(|_| T::zero()))
    }
}

macro_rules! lane_operator {
    ($($trait:ident $method:ident $assign_trait:ident $assign:ident $op:tt),*) => {$(
        impl<T: Real, const N: usize> $trait for Lanes<T, N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                Self(by_entry(|i| self.0[i] $op b.0[i]))
            }
        }
        impl<T: Real, const N: usize> $assign_trait for Lanes<T, N> {
            #[inline(always)]
            fn $assign(&mut self, b: Self) {
                *self = *self $op b;
            }
        }
    )*};
}
lane_operator!(Add add AddAssign add_assign +, Sub sub SubAssign sub_assign -, Mul mul MulAssign mul_assign *);

impl<T: Real, const N: usize> Div for Lanes<T, N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        Self(by_entry(|i| self.0[i] / b.0[i]))
    }
}
impl<T: Real, const N: usize> Neg for Lanes<T, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(by_entry(|i| -self.0[i]))
    }
}
impl<T: Real, const N: usize> Mul<f64> for Lanes<T, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: f64) -> Self {
        Self(by_entry(|i| self.0[i] * b))
    }
}

impl<T: Real, const N: usize> Real for Lanes<T, N> {
    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        Self(by_entry(|_| T::from_f64(x)))
    }
    /// The first lane: kernels over lanes take no branches on values.
    #[inline(always)]
    fn value(self) -> f64 {
        self.0[0].value()
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.0.iter().all(|x| x.is_zero())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(by_entry(|i| self.0[i].abs()))
    }
    #[inline(always)]
    fn maximum(self, b: Self) -> Self {
        Self(by_entry(|i| self.0[i].maximum(b.0[i])))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(by_entry(|i| self.0[i].sqrt()))
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (s, c) = T::sines_cosines(self.0);
        (Self(s), Self(c))
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        Self(by_entry(|i| self.0[i].atan2(x.0[i])))
    }
}
