//! [`Exact`]: lanes that round as plain numbers do.
//!
//! Nothing is fused and sines are those of plain numbers, so a state in a lane has the bits of the same state alone.

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{LANES, Simd};
use crate::scalar::Real;
use crate::scalar::elementary::{self, COS, HALF_PI, LARGE, PER_QUARTER, ROUND, SIN};

/// Lanes of different states.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct Exact<V>(V);

impl<V: Simd> Exact<V> {
    /// From its lanes.
    #[inline(always)]
    pub fn from_lanes(x: [f64; LANES]) -> Self {
        Self(V::from_lanes(x))
    }
    /// Its lanes.
    #[inline(always)]
    pub fn lanes(self) -> [f64; LANES] {
        self.0.lanes()
    }
    /// `b` in the lanes where `sign` has its sign bit set, else `self`.
    #[inline(always)]
    #[must_use]
    pub fn blend(self, b: Self, sign: Self) -> Self {
        Self(self.0.blend(b.0, sign.0))
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $assign_trait:ident $assign:ident $op:tt),*) => {$(
        impl<V: Simd> $trait for Exact<V> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                Self(self.0 $op b.0)
            }
        }
        impl<V: Simd> $assign_trait for Exact<V> {
            #[inline(always)]
            fn $assign(&mut self, b: Self) {
                *self = *self $op b;
            }
        }
    )*};
}
operator!(Add add AddAssign add_assign +, Sub sub SubAssign sub_assign -, Mul mul MulAssign mul_assign *);

impl<V: Simd> Div for Exact<V> {
    type Output = Self;
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        Self(self.0 / b.0)
    }
}
impl<V: Simd> Neg for Exact<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl<V: Simd> Mul<f64> for Exact<V> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: f64) -> Self {
        Self(self.0 * V::splat(b))
    }
}

impl<V: Simd> Real for Exact<V> {
    const STATES: bool = true;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        Self(V::splat(x))
    }
    /// The first lane; kernels over states take no branches on it.
    #[inline(always)]
    fn value(self) -> f64 {
        self.0.lanes()[0]
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.0.lanes() == [0.0; LANES]
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.magnitude())
    }
    #[inline(always)]
    fn maximum(self, b: Self) -> Self {
        Self(self.0.larger(b.0))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.root())
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (s, c) = sin_cos(self.0);
        (Self(s), Self(c))
    }
    #[inline(always)]
    fn sines_cosines<const N: usize>(x: [Self; N]) -> ([Self; N], [Self; N]) {
        let (mut s, mut c) = (x, x);
        for i in 0..N {
            (s[i], c[i]) = x[i].sin_cos();
        }
        (s, c)
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        let (a, b) = (self.lanes(), x.lanes());
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = elementary::atan2(a[i], b[i]);
        }
        Self::from_lanes(out)
    }
}

/// `c₀ + z (c₁ + …)` in lanes.
#[inline(always)]
fn polynomial<V: Simd>(c: &[f64; 6], z: V) -> V {
    let mut sum = V::splat(c[5]);
    for i in 0..5 {
        sum = V::splat(c[4 - i]) + z * sum;
    }
    sum
}

/// Sine and cosine of four angles, with the bits of [`elementary::sin_cos`].
#[inline(always)]
fn sin_cos<V: Simd>(x: V) -> (V, V) {
    let lanes = x.lanes();
    let small = lanes[0].abs().max(lanes[1].abs()).max(lanes[2].abs()).max(lanes[3].abs());
    // A maximum leaves out what is not a number, and so does this sum, which then is none.
    let finite = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    if small > LARGE || finite.is_nan() {
        let (s, c) = one_by_one(lanes);
        return (V::from_lanes(s), V::from_lanes(c));
    }
    // As for plain numbers, operation by operation.
    let round = V::splat(ROUND);
    let quarter = x * V::splat(PER_QUARTER) + round;
    let k = quarter - round;
    let a = x - k * V::splat(HALF_PI[0]);
    let b = k * V::splat(HALF_PI[1]);
    let c = a - b;
    let rest = ((a - c) - b) - k * V::splat(HALF_PI[2]);
    let r = c + rest;
    let low = (c - r) + rest;

    let z = r * r;
    let half = V::splat(0.5) * z;
    let sin = r + (r * z * polynomial(&SIN, z) + (low - half * low));
    let one = V::splat(1.0) - half;
    let cos = one + (((V::splat(1.0) - one) - half) + (z * z * polynomial(&COS, z) - r * low));

    let odd = quarter.last_bit_up::<63>();
    let s = sin.blend(cos, odd).flip(quarter.last_bit_up::<62>());
    let c = cos.blend(sin, odd).flip(quarter.plus_bits(1).last_bit_up::<62>());
    (s, c)
}

#[cold]
#[inline(never)]
fn one_by_one(x: [f64; LANES]) -> ([f64; LANES], [f64; LANES]) {
    let (mut s, mut c) = ([0.0; LANES], [0.0; LANES]);
    for i in 0..LANES {
        (s[i], c[i]) = elementary::sin_cos(x[i]);
    }
    (s, c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::samples::Random;
    use crate::simd::{Kernel, Portable, dispatch};

    /// Everything a step uses, on one set of numbers.
    #[derive(Clone, Copy)]
    struct All([f64; 4], [f64; 4]);
    impl Kernel for All {
        type Output = [[f64; 4]; 9];
        #[inline(always)]
        fn run<V: Simd>(self) -> Self::Output {
            let (a, b) = (Exact(V::from_lanes(self.0)), Exact(V::from_lanes(self.1)));
            let (s, c) = a.sin_cos();
            [
                s.lanes(),
                c.lanes(),
                a.mul_plus(b, s).lanes(),
                a.mul_minus(b, c).lanes(),
                (a / b - b).lanes(),
                a.abs().sqrt().lanes(),
                a.maximum(b).lanes(),
                (-a * 0.3).lanes(),
                a.blend(b, a).lanes(),
            ]
        }
    }

    #[test]
    fn lanes_have_the_bits_of_plain_numbers() {
        let mut random = Random::new(9);
        let sizes = [1e-12, 0.7, 1.0, 30.0, 5e5, 2e6, 1e300, f64::NAN, f64::INFINITY];
        for i in 0..3000 {
            let mut x = || std::array::from_fn(|k| random.range(-3.0, 3.0) * sizes[(i * (k + 1) + k) % 9]);
            let (a, b): ([f64; 4], [f64; 4]) = (x(), x());
            let (wide, portable) = (dispatch(All(a, b)), All(a, b).run::<Portable>());
            for k in 0..4 {
                let (a, b) = (a[k], b[k]);
                let (s, c) = elementary::sin_cos(a);
                let larger = if b > a { b } else { a };
                let plain = [
                    s,
                    c,
                    a * b + s,
                    a * b - c,
                    a / b - b,
                    a.abs().sqrt(),
                    larger,
                    -a * 0.3,
                    if a.is_sign_negative() { b } else { a },
                ];
                for (j, plain) in plain.into_iter().enumerate() {
                    for found in [wide[j][k], portable[j][k]] {
                        let same = found.to_bits() == plain.to_bits() || found.is_nan() && plain.is_nan();
                        assert!(same, "operation {j} of {a:e}, {b:e}: {found:e}, not {plain:e}");
                    }
                }
            }
        }
    }
}
