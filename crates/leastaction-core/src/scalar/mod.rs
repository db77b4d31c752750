//! [`Real`]: the one numeric bound that every kernel uses.
//!
//! A kernel written over `T: Real` serves plain `f64`, dual numbers
//! ([`Dual`]) and lane types. The parameters of a mechanism stay `f64`: they are constants.

mod dual;
pub mod elementary;
mod entries;
mod extreme;

pub use dual::{Dual, InlineDual};
pub use entries::{by_entry, each_entry};
pub use extreme::{largest, largest_difference, maximum};

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A real number: `f64`, or something that behaves like one (dual numbers, lanes).
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialEq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Mul<f64, Output = Self>
{
    /// True for types that kernels with a compile-time order are compiled for; others share one path per kernel.
    const FAST: bool = false;

    /// True for lanes that hold different states: kernels leave out what such lanes are never asked for.
    const STATES: bool = false;

    /// The constant `x`.
    fn from_f64(x: f64) -> Self;
    /// The plain value, without derivatives: what branches are decided on.
    fn value(self) -> f64;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Sine and cosine together, with the same bits on every processor.
    fn sin_cos(self) -> (Self, Self);
    /// Sines and cosines of several numbers, side by side where that is faster.
    #[inline(always)]
    fn sines_cosines<const N: usize>(x: [Self; N]) -> ([Self; N], [Self; N]) {
        let both: [(Self, Self); N] = by_entry(|i| x[i].sin_cos());
        (by_entry(|i| both[i].0), by_entry(|i| both[i].1))
    }
    /// Angle of the point `(x, self)`.
    fn atan2(self, x: Self) -> Self;

    /// True if the value (of every lane) is zero.
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.value() == 0.0
    }

    /// Magnitude.
    #[must_use]
    #[inline(always)]
    fn abs(self) -> Self {
        if self.value() < 0.0 { -self } else { self }
    }
    /// The larger of the two; `self` where `b` is not a number.
    #[must_use]
    #[inline(always)]
    fn maximum(self, b: Self) -> Self {
        if b.value() > self.value() { b } else { self }
    }

    /// `self * b + c`. Plain numbers round twice, as written; lanes on a processor that can round once.
    #[must_use]
    #[inline(always)]
    fn mul_plus(self, b: Self, c: Self) -> Self {
        self * b + c
    }
    /// `self * b − c`, rounded like [`mul_plus`](Self::mul_plus).
    #[must_use]
    #[inline(always)]
    fn mul_minus(self, b: Self, c: Self) -> Self {
        self * b - c
    }

    /// Zero.
    #[must_use]
    #[inline(always)]
    fn zero() -> Self {
        Self::from_f64(0.0)
    }
    /// One.
    #[must_use]
    #[inline(always)]
    fn one() -> Self {
        Self::from_f64(1.0)
    }
}

impl Real for f64 {
    const FAST: bool = true;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn maximum(self, b: Self) -> Self {
        f64::max(self, b)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        elementary::sin_cos(self)
    }
    #[inline(always)]
    fn sines_cosines<const N: usize>(x: [Self; N]) -> ([Self; N], [Self; N]) {
        elementary::sines_cosines(x)
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        elementary::atan2(self, x)
    }
}
