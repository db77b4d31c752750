//! Sine, cosine and the other elementary functions, with the same bits on every processor.
//!
//! The C library picks other code on processors that fuse multiplication and addition, so its last digit is not the same
//! everywhere, and after some seconds of a chaotic motion neither is the first. Nothing here is fused. Sine and cosine are
//! our own, because a step spends its time there and lanes of them compute together; the others are those of the crate `libm`,
//! and so is what remains of huge angles.

/// Angles beyond are reduced by `libm`: a million turns.
pub(crate) const LARGE: f64 = 1e6;

/// π/2 in three parts; a multiple below 2²⁰ of the first two is exact.
pub(crate) const HALF_PI: [f64; 3] = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21];
/// 2/π.
pub(crate) const PER_QUARTER: f64 = std::f64::consts::FRAC_2_PI;
/// Added to a number below 2⁵¹ it rounds it to an integer, which is then in the last bits.
pub(crate) const ROUND: f64 = 6755399441055744.0;

// Polynomials in r² that minimise the largest error for |r| ≤ π/4 (exchange algorithm, 200 bits): relative to r it is 2⁻⁵⁷ for
// (sin r − r)/r³, and 2⁻⁶² for (cos r − 1 + r²/2)/r⁴.
pub(crate) const SIN: [f64; 6] = [
    -0.1666666666666664,
    0.008333333333323662,
    -0.00019841269830144618,
    2.755731365192874e-06,
    -2.5050734582553737e-08,
    1.5894711227396074e-10,
];
pub(crate) const COS: [f64; 6] = [
    0.04166666666666665,
    -0.001388888888888284,
    2.4801587294627947e-05,
    -2.7557315738596463e-07,
    2.087589773641574e-09,
    -1.1367981765564343e-11,
];

#[inline(always)]
fn polynomial(c: &[f64; 6], z: f64) -> f64 {
    c[0] + z * (c[1] + z * (c[2] + z * (c[3] + z * (c[4] + z * c[5]))))
}

/// For angles that are not large. No branches: lanes of it run side by side.
#[inline(always)]
fn small_sin_cos(x: f64) -> (f64, f64) {
    let shifted = x * PER_QUARTER + ROUND;
    let (quarter, k) = (shifted.to_bits(), shifted - ROUND);
    // The remainder in two parts, so that nothing is lost near multiples of π/2.
    let a = x - k * HALF_PI[0];
    let b = k * HALF_PI[1];
    let c = a - b;
    let rest = ((a - c) - b) - k * HALF_PI[2];
    let r = c + rest;
    let low = (c - r) + rest;

    let z = r * r;
    let sin = r + (r * z * polynomial(&SIN, z) + (low - 0.5 * z * low));
    let half = 0.5 * z;
    let one = 1.0 - half;
    let cos = one + (((1.0 - one) - half) + (z * z * polynomial(&COS, z) - r * low));

    let odd = quarter & 1 == 1;
    let (s, c) = (if odd { cos } else { sin }, if odd { sin } else { cos });
    let sign = |bit: u64| (bit & 2) << 62;
    (f64::from_bits(s.to_bits() ^ sign(quarter)), f64::from_bits(c.to_bits() ^ sign(quarter.wrapping_add(1))))
}

/// Sine and cosine, to 0.82 units in the last place; 1e-31 where they are smaller than that can be said of.
#[inline(always)]
#[must_use]
pub fn sin_cos(x: f64) -> (f64, f64) {
    if x.abs() <= LARGE { small_sin_cos(x) } else { large_sin_cos(x) }
}

#[cold]
#[inline(never)]
fn large_sin_cos(x: f64) -> (f64, f64) {
    libm::sincos(x)
}

/// Sines and cosines of several angles at once; the same bits as one by one.
#[inline(always)]
#[must_use]
pub fn sines_cosines<const N: usize>(x: [f64; N]) -> ([f64; N], [f64; N]) {
    let (mut s, mut c) = ([0.0; N], [0.0; N]);
    let mut all_small = true;
    for i in 0..N {
        all_small &= x[i].abs() <= LARGE;
        (s[i], c[i]) = small_sin_cos(x[i]);
    }
    if !all_small {
        for i in 0..N {
            (s[i], c[i]) = sin_cos(x[i]);
        }
    }
    (s, c)
}

/// Sine.
#[inline]
#[must_use]
pub fn sin(x: f64) -> f64 {
    sin_cos(x).0
}

/// Cosine.
#[inline]
#[must_use]
pub fn cos(x: f64) -> f64 {
    sin_cos(x).1
}

/// Angle of the point `(x, y)`.
#[inline]
#[must_use]
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

macro_rules! of_libm {
    ($($(#[doc = $doc:literal])+ $name:ident($($x:ident),+) = $function:ident;)+) => {$(
        $(#[doc = $doc])+
        #[must_use]
        pub fn $name($($x: f64),+) -> f64 {
            libm::$function($($x),+)
        }
    )+};
}

of_libm! {
    /// Tangent.
    tan(x) = tan;
    /// Arc tangent.
    atan(x) = atan;
    /// Arc sine.
    asin(x) = asin;
    /// Arc cosine.
    acos(x) = acos;
    /// Exponential function.
    exp(x) = exp;
    /// Exponential function minus one.
    exp_m1(x) = expm1;
    /// Natural logarithm.
    ln(x) = log;
    /// Logarithm to the base ten.
    log10(x) = log10;
    /// `x` to the power of `y`.
    powf(x, y) = pow;
    /// `√(x² + y²)`.
    hypot(x, y) = hypot;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::samples::Random;

    /// Sine and cosine in twice the digits: series of the remainder, which is computed in three parts.
    fn precise(x: f64) -> [(f64, f64); 2] {
        type D = (f64, f64);
        fn sum(a: f64, b: f64) -> D {
            let s = a + b;
            let t = s - a;
            (s, (a - (s - t)) + (b - t))
        }
        fn product(a: f64, b: f64) -> D {
            let p = a * b;
            (p, a.mul_add(b, -p))
        }
        fn add(a: D, b: D) -> D {
            let (s, e) = sum(a.0, b.0);
            sum(s, e + a.1 + b.1)
        }
        fn mul(a: D, b: D) -> D {
            let (p, e) = product(a.0, b.0);
            sum(p, e + (a.0 * b.1 + a.1 * b.0))
        }
        fn over(a: D, n: f64) -> D {
            let q = a.0 / n;
            let (p, e) = product(q, n);
            sum(q, ((a.0 - p) - e + a.1) / n)
        }
        // π/2 to 160 bits.
        const P: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591833e-33];
        let k = (x / P[0]).round();
        let mut r = sum(x, 0.0);
        for part in P {
            let (p, e) = product(-k, part);
            r = add(r, sum(p, e));
        }
        let (mut s, mut c, mut term) = ((0.0, 0.0), (0.0, 0.0), (1.0, 0.0));
        for n in 0..30u32 {
            let into = if n % 2 == 0 { &mut c } else { &mut s };
            let signed = if n % 4 < 2 { term } else { (-term.0, -term.1) };
            *into = add(*into, signed);
            term = over(mul(term, r), f64::from(n) + 1.0);
        }
        let minus = |(a, b): D| (-a, -b);
        match (k as i64).rem_euclid(4) {
            0 => [s, c],
            1 => [c, minus(s)],
            2 => [minus(s), minus(c)],
            _ => [minus(c), s],
        }
    }

    fn units(found: f64, (high, low): (f64, f64)) -> f64 {
        let unit = f64::from_bits(high.abs().to_bits() + 1) - high.abs();
        // Where almost everything cancels, 1e-31 is as near as two parts of the remainder get.
        (((found - high) - low).abs() - 1e-31).max(0.0) / unit
    }

    #[test]
    fn sine_and_cosine_are_right_to_less_than_a_unit_in_the_last_place() {
        let mut random = Random::new(7);
        let mut worst = 0.0f64;
        for i in 0..400_000 {
            let x = match i % 4 {
                0 => random.range(-1.0, 1.0),
                1 => random.range(-100.0, 100.0),
                2 => random.range(-LARGE, LARGE),
                // Near multiples of π/2, where almost everything cancels.
                _ => {
                    (random.range(-6e5, 6e5).round() * std::f64::consts::FRAC_PI_2)
                        * (1.0 + random.range(-1e-15, 1e-15))
                }
            };
            let ((s, c), [sine, cosine]) = (sin_cos(x), precise(x));
            worst = worst.max(units(s, sine)).max(units(c, cosine));
        }
        assert!(worst < 0.82, "{worst} units");
    }

    #[test]
    fn corners_have_their_values() {
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
        assert!(sin_cos(f64::NAN).0.is_nan() && sin_cos(f64::INFINITY).1.is_nan());
        assert_eq!(sin_cos(5e-324), (5e-324, 1.0));
        assert_eq!(sin_cos(std::f64::consts::PI).0, 1.2246467991473532e-16);
        assert_eq!(sin_cos(1e22).0, -0.8522008497671888);
    }

    #[test]
    fn several_at_once_have_the_bits_of_one_by_one() {
        let mut random = Random::new(3);
        for _ in 0..1000 {
            let x: [f64; 5] =
                std::array::from_fn(|i| random.range(-3.0, 3.0) * [1.0, 10.0, 1e3, 1e6, 1e300][i]);
            let (s, c) = sines_cosines(x);
            for i in 0..5 {
                assert_eq!(
                    (s[i].to_bits(), c[i].to_bits()),
                    (sin_cos(x[i]).0.to_bits(), sin_cos(x[i]).1.to_bits())
                );
            }
        }
    }

    /// Made once, on one processor: they must not change with another.
    #[test]
    fn bits_are_those_of_every_processor() {
        let mut random = Random::new(11);
        let mut sum = 0u64;
        for _ in 0..10_000 {
            let (x, y) = (random.range(-50.0, 50.0), random.range(0.0, 3.0));
            let (s, c) = sin_cos(x);
            for value in [s, c, atan2(x, y), exp(-y), ln(y), powf(y, 0.3), tan(y), hypot(x, y), exp_m1(y)] {
                sum = sum.rotate_left(5) ^ value.to_bits();
            }
        }
        assert_eq!(sum, 5010840547041335419);
    }
}
