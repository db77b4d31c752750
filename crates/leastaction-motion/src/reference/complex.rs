//! [`Complex`]: derivatives by a complex step, the twin of dual numbers.
//!
//! For an analytic function `f(x + i h) = f(x) + i h f'(x) + O(h²)`: the imaginary part over `h` is the derivative, and
//! nothing is subtracted. With `h = 1e-40` the error `h²` is far below rounding. Duals carry the derivative itself and
//! need no step; that two different arithmetics agree to rounding is what this type is for.
#![allow(clippy::disallowed_methods, reason = "a twin, which may differ in its last digit")]

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::scalar::Real;

/// A complex number whose imaginary part is a tiny step times a derivative.
///
/// ```
/// use leastaction::scalar::Real;
/// use leastaction_motion::reference::Complex;
/// let x = Complex::variable(2.0);
/// let (sine, _) = (x * x).sin_cos();
/// assert!((sine.derivative() - 4.0 * 4f64.cos()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    /// The value.
    pub re: f64,
    /// The step times the derivative.
    pub im: f64,
}

impl Complex {
    /// The step.
    pub const STEP: f64 = 1e-40;

    /// A value that does not vary.
    #[must_use]
    pub fn constant(re: f64) -> Self {
        Self { re, im: 0.0 }
    }
    /// The variable to differentiate by.
    #[must_use]
    pub fn variable(re: f64) -> Self {
        Self { re, im: Self::STEP }
    }
    /// The derivative.
    #[must_use]
    pub fn derivative(self) -> f64 {
        self.im / Self::STEP
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self { re: self.re + b.re, im: self.im + b.im }
    }
}
impl Sub for Complex {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        Self { re: self.re - b.re, im: self.im - b.im }
    }
}
impl Mul for Complex {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        Self { re: self.re * b.re - self.im * b.im, im: self.re * b.im + self.im * b.re }
    }
}
impl Div for Complex {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let norm = b.re * b.re + b.im * b.im;
        let re = (self.re * b.re + self.im * b.im) / norm;
        let im = (self.im * b.re - self.re * b.im) / norm;
        Self { re, im }
    }
}
impl Neg for Complex {
    type Output = Self;
    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im }
    }
}
impl Mul<f64> for Complex {
    type Output = Self;
    fn mul(self, b: f64) -> Self {
        Self { re: self.re * b, im: self.im * b }
    }
}
impl AddAssign for Complex {
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}
impl SubAssign for Complex {
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}
impl MulAssign for Complex {
    fn mul_assign(&mut self, b: Self) {
        *self = *self * b;
    }
}

impl Real for Complex {
    fn from_f64(x: f64) -> Self {
        Self::constant(x)
    }
    fn value(self) -> f64 {
        self.re
    }
    /// Principal root; of a positive number with a tiny imaginary part.
    fn sqrt(self) -> Self {
        let root = self.re.sqrt();
        Self { re: root, im: self.im / (2.0 * root) }
    }
    fn sin_cos(self) -> (Self, Self) {
        let ((s, c), (sh, ch)) = (self.re.sin_cos(), (self.im.sinh(), self.im.cosh()));
        (Self { re: s * ch, im: c * sh }, Self { re: c * ch, im: -s * sh })
    }
    fn atan2(self, x: Self) -> Self {
        let norm = self.re * self.re + x.re * x.re;
        Self { re: self.re.atan2(x.re), im: (self.im * x.re - self.re * x.im) / norm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elementary_functions_have_their_derivatives() {
        let x = Complex::variable(0.3);
        let c = Complex::constant(0.7);
        let (s, cos) = x.sin_cos();
        assert!((s.derivative() - 0.3f64.cos()).abs() < 1e-15);
        assert!((cos.derivative() + 0.3f64.sin()).abs() < 1e-15);
        assert!(((x / c).sqrt().derivative() - 0.5 / (0.3f64 * 0.7).sqrt()).abs() < 1e-15);
        assert!((c.atan2(x).derivative() + 0.7 / (0.09 + 0.49)).abs() < 1e-15);
        assert!(((c / x).derivative() + 0.7 / 0.09).abs() < 1e-14);
    }
}
