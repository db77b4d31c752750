//! [`Dual`]: forward-mode derivative numbers, exact to rounding.

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::scalar::Real;

/// `re + Σ eps_i ε_i` with `ε_i ε_j = 0`: a value with `N` directional derivatives.
///
/// Nest it (`Dual<Dual<f64, 1>, 1>`) for second derivatives.
///
/// ```
/// use leastaction::{reference::Dual, scalar::Real};
/// let x = Dual::<f64, 1>::variable(2.0, 0);
/// let y = x * x * x;
/// assert_eq!((y.re, y.eps[0]), (8.0, 12.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<T, const N: usize> {
    /// The value.
    pub re: T,
    /// The derivatives.
    pub eps: [T; N],
}

impl<T: Real, const N: usize> Dual<T, N> {
    /// A value with zero derivatives.
    pub fn constant(re: T) -> Self {
        Self { re, eps: [T::zero(); N] }
    }

    /// A value whose derivative in direction `i` is one.
    pub fn variable(re: T, i: usize) -> Self {
        let mut x = Self::constant(re);
        x.eps[i] = T::one();
        x
    }

    /// Chain rule: value `f`, slope `df`.
    fn chain(self, f: T, df: T) -> Self {
        Self { re: f, eps: self.eps.map(|e| e * df) }
    }
}

impl<T: Real, const N: usize> Default for Dual<T, N> {
    fn default() -> Self {
        Self::constant(T::zero())
    }
}

fn zip<T: Real, const N: usize>(a: [T; N], b: [T; N], f: impl Fn(T, T) -> T) -> [T; N] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl<T: Real, const N: usize> Add for Dual<T, N> {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self { re: self.re + b.re, eps: zip(self.eps, b.eps, |x, y| x + y) }
    }
}
impl<T: Real, const N: usize> Sub for Dual<T, N> {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        Self { re: self.re - b.re, eps: zip(self.eps, b.eps, |x, y| x - y) }
    }
}
impl<T: Real, const N: usize> Mul for Dual<T, N> {
    type Output = Self;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "the product rule")]
    fn mul(self, b: Self) -> Self {
        Self { re: self.re * b.re, eps: zip(self.eps, b.eps, |x, y| x * b.re + self.re * y) }
    }
}
impl<T: Real, const N: usize> Div for Dual<T, N> {
    type Output = Self;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "the quotient rule")]
    fn div(self, b: Self) -> Self {
        let re = self.re / b.re;
        Self { re, eps: zip(self.eps, b.eps, |x, y| (x - re * y) / b.re) }
    }
}
impl<T: Real, const N: usize> Neg for Dual<T, N> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { re: -self.re, eps: self.eps.map(|e| -e) }
    }
}
impl<T: Real, const N: usize> Mul<f64> for Dual<T, N> {
    type Output = Self;
    fn mul(self, b: f64) -> Self {
        Self { re: self.re * b, eps: self.eps.map(|e| e * b) }
    }
}
impl<T: Real, const N: usize> AddAssign for Dual<T, N> {
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}
impl<T: Real, const N: usize> SubAssign for Dual<T, N> {
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}
impl<T: Real, const N: usize> MulAssign for Dual<T, N> {
    fn mul_assign(&mut self, b: Self) {
        *self = *self * b;
    }
}

impl<T: Real, const N: usize> Real for Dual<T, N> {
    fn from_f64(x: f64) -> Self {
        Self::constant(T::from_f64(x))
    }
    fn value(self) -> f64 {
        self.re.value()
    }
    fn sqrt(self) -> Self {
        let r = self.re.sqrt();
        self.chain(r, T::from_f64(0.5) / r)
    }
    fn sin_cos(self) -> (Self, Self) {
        let (s, c) = self.re.sin_cos();
        (self.chain(s, c), self.chain(c, -s))
    }
    fn atan2(self, x: Self) -> Self {
        let r2 = self.re * self.re + x.re * x.re;
        let eps = zip(self.eps, x.eps, |dy, dx| (dy * x.re - self.re * dx) / r2);
        Self { re: self.re.atan2(x.re), eps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elementary_functions_have_their_derivatives() {
        let x = Dual::<f64, 2>::variable(0.3, 0);
        let y = Dual::<f64, 2>::variable(0.7, 1);
        let (s, c) = x.sin_cos();
        assert_eq!((s.eps[0], c.eps[0]), (0.3f64.cos(), -0.3f64.sin()));
        let a = y.atan2(x);
        assert!((a.eps[0] + 0.7 / (0.09 + 0.49)).abs() < 1e-15);
        assert!((a.eps[1] - 0.3 / (0.09 + 0.49)).abs() < 1e-15);
        let d = (x / y).sqrt();
        assert!((d.eps[0] - 0.5 / (0.3f64 * 0.7).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn nested_duals_give_second_derivatives() {
        type D2 = Dual<Dual<f64, 1>, 1>;
        let x = D2 { re: Dual::variable(0.4, 0), eps: [Dual::constant(1.0)] };
        let (s, _) = x.sin_cos();
        assert!((s.eps[0].eps[0] + 0.4f64.sin()).abs() < 1e-15);
    }
}
