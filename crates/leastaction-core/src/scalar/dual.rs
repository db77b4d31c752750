//! [`Dual`]: forward-mode derivative numbers, exact to rounding.

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::scalar::{Real, by_entry};

/// `re + Σ eps_i ε_i` with `ε_i ε_j = 0`: a value with `N` directional derivatives.
///
/// Nest it (`Dual<Dual<f64, 1>, 1>`) for second derivatives.
///
/// ```
/// use leastaction::scalar::{Dual, Real};
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
    /// A value whose derivative in direction `i` is one.
    pub fn variable(re: T, i: usize) -> Self {
        let mut x = Self::constant(re);
        x.eps[i] = T::one();
        x
    }
}

/// [`Dual`] compiled into whatever uses it. Lanes need that, or they are compiled without their instructions (see
/// `simd.rs`); nested duals are better without, they would compile for minutes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InlineDual<T, const N: usize> {
    /// The value.
    pub re: T,
    /// The derivatives.
    pub eps: [T; N],
}

/// The arithmetic of both. Entries are written out: adapters are not always inlined into code for other instruction sets.
macro_rules! dual_arithmetic {
    ($visibility:vis $t:ident $(, $inline:meta)?) => {
        impl<T: Real, const N: usize> $t<T, N> {
            /// A value with zero derivatives.
            $(#[$inline])?
            $visibility fn constant(re: T) -> Self {
                Self { re, eps: by_entry(|_| T::zero()) }
            }

            /// Chain rule: value `f`, slope `df`.
            $(#[$inline])?
            fn chain(mut self, f: T, df: T) -> Self {
                self.re = f;
                self.eps = by_entry(|i| self.eps[i] * df);
                self
            }
        }

        impl<T: Real, const N: usize> Default for $t<T, N> {
            $(#[$inline])?
            fn default() -> Self {
                Self::constant(T::zero())
            }
        }

        impl<T: Real, const N: usize> Add for $t<T, N> {
            type Output = Self;
            $(#[$inline])?
            fn add(mut self, b: Self) -> Self {
                self.re += b.re;
                self.eps = by_entry(|i| self.eps[i] + b.eps[i]);
                self
            }
        }
        impl<T: Real, const N: usize> Sub for $t<T, N> {
            type Output = Self;
            $(#[$inline])?
            fn sub(mut self, b: Self) -> Self {
                self.re -= b.re;
                self.eps = by_entry(|i| self.eps[i] - b.eps[i]);
                self
            }
        }
        impl<T: Real, const N: usize> Mul for $t<T, N> {
            type Output = Self;
            $(#[$inline])?
            fn mul(mut self, b: Self) -> Self {
                self.eps = by_entry(|i| self.eps[i].mul_plus(b.re, self.re * b.eps[i]));
                self.re *= b.re;
                self
            }
        }
        impl<T: Real, const N: usize> Div for $t<T, N> {
            type Output = Self;
            $(#[$inline])?
            #[expect(clippy::suspicious_arithmetic_impl, reason = "the quotient rule")]
            fn div(mut self, b: Self) -> Self {
                self.re = self.re / b.re;
                self.eps = by_entry(|i| (self.eps[i] - self.re * b.eps[i]) / b.re);
                self
            }
        }
        impl<T: Real, const N: usize> Neg for $t<T, N> {
            type Output = Self;
            $(#[$inline])?
            fn neg(mut self) -> Self {
                self.re = -self.re;
                self.eps = by_entry(|i| -self.eps[i]);
                self
            }
        }
        impl<T: Real, const N: usize> Mul<f64> for $t<T, N> {
            type Output = Self;
            $(#[$inline])?
            fn mul(self, b: f64) -> Self {
                Self { re: self.re * b, eps: by_entry(|i| self.eps[i] * b) }
            }
        }
        impl<T: Real, const N: usize> AddAssign for $t<T, N> {
            $(#[$inline])?
            fn add_assign(&mut self, b: Self) {
                *self = *self + b;
            }
        }
        impl<T: Real, const N: usize> SubAssign for $t<T, N> {
            $(#[$inline])?
            fn sub_assign(&mut self, b: Self) {
                *self = *self - b;
            }
        }
        impl<T: Real, const N: usize> MulAssign for $t<T, N> {
            $(#[$inline])?
            fn mul_assign(&mut self, b: Self) {
                *self = *self * b;
            }
        }

        impl<T: Real, const N: usize> Real for $t<T, N> {
            $(#[$inline])?
            fn from_f64(x: f64) -> Self {
                Self::constant(T::from_f64(x))
            }
            $(#[$inline])?
            fn value(self) -> f64 {
                self.re.value()
            }
            $(#[$inline])?
            fn is_zero(self) -> bool {
                self.re.is_zero()
            }
            $(#[$inline])?
            fn mul_plus(self, b: Self, mut c: Self) -> Self {
                c.eps = by_entry(|i| self.eps[i].mul_plus(b.re, self.re.mul_plus(b.eps[i], c.eps[i])));
                c.re = self.re.mul_plus(b.re, c.re);
                c
            }
            $(#[$inline])?
            fn mul_minus(self, b: Self, mut c: Self) -> Self {
                c.eps = by_entry(|i| self.eps[i].mul_plus(b.re, self.re.mul_minus(b.eps[i], c.eps[i])));
                c.re = self.re.mul_minus(b.re, c.re);
                c
            }
            $(#[$inline])?
            fn sqrt(self) -> Self {
                let r = self.re.sqrt();
                self.chain(r, T::from_f64(0.5) / r)
            }
            $(#[$inline])?
            fn sin_cos(self) -> (Self, Self) {
                let (s, c) = self.re.sin_cos();
                (self.chain(s, c), self.chain(c, -s))
            }
            $(#[$inline])?
            fn atan2(mut self, x: Self) -> Self {
                let r2 = self.re * self.re + x.re * x.re;
                self.eps = by_entry(|i| (self.eps[i] * x.re - self.re * x.eps[i]) / r2);
                self.re = self.re.atan2(x.re);
                self
            }
        }
    };
}
dual_arithmetic!(pub Dual);
dual_arithmetic!(pub InlineDual, inline(always));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::elementary;

    #[test]
    fn elementary_functions_have_their_derivatives() {
        let x = Dual::<f64, 2>::variable(0.3, 0);
        let y = Dual::<f64, 2>::variable(0.7, 1);
        let (s, c) = x.sin_cos();
        assert_eq!((s.eps[0], c.eps[0]), (elementary::cos(0.3), -elementary::sin(0.3)));
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
