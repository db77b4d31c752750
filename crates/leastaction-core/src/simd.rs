//! Four numbers at once: the lane type of batches and of the torque Jacobian, chosen when the program runs.
//!
//! A [`Kernel`] is written once over a lane type. [`dispatch`] runs it with AVX2 and fused multiply-add where the
//! processor has them (asked once per call, a cached flag) and with plain arrays elsewhere; the two have the same bits.
//! Everything a kernel calls must be `#[inline(always)]`, or it is compiled without those instructions.
//! Why here and nowhere else: `docs/decisions/0004-simd-dispatch.md`.
#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "processor-specific instructions behind a run-time check; nothing else in the crate"
    )
)]

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::scalar::{Real, by_entry};

/// Lanes in a vector.
pub const LANES: usize = 4;

/// Four numbers that compute together.
pub trait Simd: Real {
    /// From its lanes.
    fn from_lanes(x: [f64; LANES]) -> Self;
    /// Its lanes.
    fn lanes(self) -> [f64; LANES];
    /// The same number in every lane.
    fn splat(x: f64) -> Self;
    /// The first four numbers of a slice.
    fn load(x: &[f64]) -> Self;
    /// Writes into the first four places of a slice.
    fn store(self, out: &mut [f64]);
    /// `self * b + c`, rounded once on every processor.
    fn fma(self, b: Self, c: Self) -> Self;
    /// `self * b − c`, rounded once on every processor.
    fn fms(self, b: Self, c: Self) -> Self;
    /// The first three lanes turned by one place: `y, z, x`; the last one stays.
    fn yzx(self) -> Self;
    /// Rows to columns of a 4×4 block.
    fn transpose(rows: [Self; LANES]) -> [Self; LANES];
    /// Magnitudes.
    fn magnitude(self) -> Self;
    /// The larger of the two; `self` where `b` is not a number.
    fn larger(self, b: Self) -> Self;
    /// Square roots.
    fn root(self) -> Self;
    /// `b` in the lanes where `sign` has its sign bit set, else `self`.
    fn blend(self, b: Self, sign: Self) -> Self;
    /// The bits as whole numbers plus `n`.
    fn plus_bits(self, n: u64) -> Self;
    /// The bits moved up by 62 or 63 places.
    fn last_bit_up<const PLACES: i32>(self) -> Self;
    /// `self` with its sign changed where `sign` has its sign bit set.
    fn flip(self, sign: Self) -> Self;
}

/// Work that can run on any lane type.
pub trait Kernel {
    /// What it computes.
    type Output;
    /// Does it.
    fn run<V: Simd>(self) -> Self::Output;
}

/// Runs a kernel on the widest lanes this processor has.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features.
        return unsafe { run_avx2(kernel) };
    }
    kernel.run::<Portable>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<avx::Avx>()
}

/// True if [`Wide`] lanes can be used on this processor.
#[inline]
pub fn has_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Lanes of the widest kind; where there are none, never used.
#[cfg(target_arch = "x86_64")]
pub type Wide = avx::Avx;
/// Lanes of the widest kind; where there are none, never used.
#[cfg(not(target_arch = "x86_64"))]
pub type Wide = Portable;

/// Work on lanes that are already chosen.
pub trait Task {
    /// What it computes.
    type Output;
    /// Does it.
    fn run(self) -> Self::Output;
}

/// Runs a task on [`Wide`] lanes, compiled for them. The task must be `#[inline(always)]` throughout.
#[inline]
pub fn run_wide<K: Task>(task: K) -> K::Output {
    assert!(has_wide(), "wide lanes are used where the processor has them");
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the processor has the features.
    return unsafe { run_task_avx2(task) };
    #[cfg(not(target_arch = "x86_64"))]
    task.run()
}

/// Runs a task on plain numbers, compiled for the widest vectors that the processor has: the same operations, none of them
/// fused, so the same bits in fewer instructions. The task must be `#[inline(always)]` throughout.
#[inline]
pub fn run_widest<K: Task>(task: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if has_wide() {
        // SAFETY: the processor has the features.
        return unsafe { run_task_avx2(task) };
    }
    task.run()
}

/// As [`run_wide`], for kernels of several states. They have a name of their own in the machine code, by which a test finds
/// them: none may call anything on its way.
#[inline]
pub fn run_states<K: Task>(task: K) -> K::Output {
    assert!(has_wide(), "wide lanes are used where the processor has them");
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the processor has the features.
    return unsafe { run_states_avx2(task) };
    #[cfg(not(target_arch = "x86_64"))]
    task.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_states_avx2<K: Task>(task: K) -> K::Output {
    task.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_task_avx2<K: Task>(task: K) -> K::Output {
    task.run()
}

mod exact;
pub use exact::Exact;

/// Lanes as a plain array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Portable([f64; LANES]);

/// `a * b + c`, rounded once: an instruction or, where there is none, a function with the same bits.
#[inline(always)]
#[expect(clippy::disallowed_methods, reason = "its one right answer does not depend on the processor")]
fn fused(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

impl Simd for Portable {
    #[inline(always)]
    fn from_lanes(x: [f64; LANES]) -> Self {
        Self(x)
    }
    #[inline(always)]
    fn lanes(self) -> [f64; LANES] {
        self.0
    }
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; LANES])
    }
    #[inline(always)]
    fn load(x: &[f64]) -> Self {
        Self([x[0], x[1], x[2], x[3]])
    }
    #[inline(always)]
    fn store(self, out: &mut [f64]) {
        out[..LANES].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Self(by_entry(|i| fused(self.0[i], b.0[i], c.0[i])))
    }
    #[inline(always)]
    fn fms(self, b: Self, c: Self) -> Self {
        Self(by_entry(|i| fused(self.0[i], b.0[i], -c.0[i])))
    }
    #[inline(always)]
    fn yzx(self) -> Self {
        let [x, y, z, w] = self.0;
        Self([y, z, x, w])
    }
    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        by_entry(|i| Self(by_entry(|j| rows[j].0[i])))
    }
    #[inline(always)]
    fn magnitude(self) -> Self {
        Self(by_entry(|i| self.0[i].abs()))
    }
    #[inline(always)]
    fn larger(self, b: Self) -> Self {
        Self(by_entry(|i| if b.0[i] > self.0[i] { b.0[i] } else { self.0[i] }))
    }
    #[inline(always)]
    fn root(self) -> Self {
        Self(by_entry(|i| self.0[i].sqrt()))
    }
    #[inline(always)]
    fn blend(self, b: Self, sign: Self) -> Self {
        Self(by_entry(|i| if sign.0[i].is_sign_negative() { b.0[i] } else { self.0[i] }))
    }
    #[inline(always)]
    fn plus_bits(self, n: u64) -> Self {
        Self(by_entry(|i| f64::from_bits(self.0[i].to_bits().wrapping_add(n))))
    }
    #[inline(always)]
    fn last_bit_up<const PLACES: i32>(self) -> Self {
        Self(by_entry(|i| f64::from_bits(self.0[i].to_bits() << PLACES)))
    }
    #[inline(always)]
    fn flip(self, sign: Self) -> Self {
        Self(by_entry(|i| if sign.0[i].is_sign_negative() { -self.0[i] } else { self.0[i] }))
    }
}

macro_rules! real_by_lanes {
    ($t:ty) => {
        impl AddAssign for $t {
            #[inline(always)]
            fn add_assign(&mut self, b: Self) {
                *self = *self + b;
            }
        }
        impl SubAssign for $t {
            #[inline(always)]
            fn sub_assign(&mut self, b: Self) {
                *self = *self - b;
            }
        }
        impl MulAssign for $t {
            #[inline(always)]
            fn mul_assign(&mut self, b: Self) {
                *self = *self * b;
            }
        }
        impl Mul<f64> for $t {
            type Output = Self;
            #[inline(always)]
            fn mul(self, b: f64) -> Self {
                self * Self::splat(b)
            }
        }
        impl Real for $t {
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                Self::splat(x)
            }
            #[inline(always)]
            fn mul_plus(self, b: Self, c: Self) -> Self {
                self.fma(b, c)
            }
            #[inline(always)]
            fn mul_minus(self, b: Self, c: Self) -> Self {
                self.fms(b, c)
            }
            /// The first lane: what a choice common to all lanes is made on.
            #[inline(always)]
            fn value(self) -> f64 {
                self.lanes()[0]
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self.lanes() == [0.0; LANES]
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.magnitude()
            }
            #[inline(always)]
            fn maximum(self, b: Self) -> Self {
                self.larger(b)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.root()
            }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                let (s, c) = crate::scalar::elementary::sines_cosines(self.lanes());
                (Self::from_lanes(s), Self::from_lanes(c))
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                let (a, b) = (self.lanes(), x.lanes());
                Self::from_lanes(by_entry(|i| crate::scalar::elementary::atan2(a[i], b[i])))
            }
        }
    };
}

macro_rules! portable_op {
    ($trait:ident, $f:ident, $op:tt) => {
        impl $trait for Portable {
            type Output = Self;
            #[inline(always)]
            fn $f(self, b: Self) -> Self {
                Self(by_entry(|i| self.0[i] $op b.0[i]))
            }
        }
    };
}
portable_op!(Add, add, +);
portable_op!(Sub, sub, -);
portable_op!(Mul, mul, *);
portable_op!(Div, div, /);
impl Neg for Portable {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(by_entry(|i| -self.0[i]))
    }
}
real_by_lanes!(Portable);

#[cfg(target_arch = "x86_64")]
mod avx {
    use std::arch::x86_64::{
        __m256d, _mm256_add_epi64, _mm256_add_pd, _mm256_and_pd, _mm256_andnot_pd, _mm256_blendv_pd,
        _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_div_pd, _mm256_fmadd_pd, _mm256_fmsub_pd,
        _mm256_loadu_pd, _mm256_max_pd, _mm256_mul_pd, _mm256_permute2f128_pd, _mm256_permute4x64_pd,
        _mm256_set1_epi64x, _mm256_set1_pd, _mm256_slli_epi64, _mm256_sqrt_pd, _mm256_storeu_pd,
        _mm256_sub_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd, _mm256_xor_pd,
    };

    use super::{Add, AddAssign, Div, LANES, Mul, MulAssign, Neg, Real, Simd, Sub, SubAssign, by_entry};

    /// Lanes in one AVX register. Made and used only inside [`super::run_avx2`], after the processor was asked.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub struct Avx(__m256d);

    impl Default for Avx {
        #[inline(always)]
        fn default() -> Self {
            Self::splat(0.0)
        }
    }
    impl PartialEq for Avx {
        fn eq(&self, b: &Self) -> bool {
            self.lanes() == b.lanes()
        }
    }

    impl Simd for Avx {
        #[inline(always)]
        fn from_lanes(x: [f64; LANES]) -> Self {
            // SAFETY: both are four numbers.
            Self(unsafe { std::mem::transmute::<[f64; LANES], __m256d>(x) })
        }
        #[inline(always)]
        fn lanes(self) -> [f64; LANES] {
            // SAFETY: both are four numbers.
            unsafe { std::mem::transmute::<__m256d, [f64; LANES]>(self.0) }
        }
        #[inline(always)]
        fn splat(x: f64) -> Self {
            // SAFETY: the instruction exists (see `Avx`).
            Self(unsafe { _mm256_set1_pd(x) })
        }
        #[inline(always)]
        fn load(x: &[f64]) -> Self {
            assert!(x.len() >= LANES);
            // SAFETY: four readable numbers; the instruction exists (see `Avx`).
            Self(unsafe { _mm256_loadu_pd(x.as_ptr()) })
        }
        #[inline(always)]
        fn store(self, out: &mut [f64]) {
            assert!(out.len() >= LANES);
            // SAFETY: four writable numbers; the instruction exists (see `Avx`).
            unsafe { _mm256_storeu_pd(out.as_mut_ptr(), self.0) };
        }
        #[inline(always)]
        fn fma(self, b: Self, c: Self) -> Self {
            // SAFETY: the instruction exists (see `Avx`).
            Self(unsafe { _mm256_fmadd_pd(self.0, b.0, c.0) })
        }
        #[inline(always)]
        fn fms(self, b: Self, c: Self) -> Self {
            // SAFETY: the instruction exists (see `Avx`).
            Self(unsafe { _mm256_fmsub_pd(self.0, b.0, c.0) })
        }
        #[inline(always)]
        fn yzx(self) -> Self {
            // SAFETY: the instruction exists (see `Avx`).
            Self(unsafe { _mm256_permute4x64_pd::<0b11_00_10_01>(self.0) })
        }
        #[inline(always)]
        fn transpose([a, b, c, d]: [Self; LANES]) -> [Self; LANES] {
            // SAFETY: the instructions exist (see `Avx`).
            unsafe {
                let (ab_low, ab_high) = (_mm256_unpacklo_pd(a.0, b.0), _mm256_unpackhi_pd(a.0, b.0));
                let (cd_low, cd_high) = (_mm256_unpacklo_pd(c.0, d.0), _mm256_unpackhi_pd(c.0, d.0));
                [
                    Self(_mm256_permute2f128_pd::<0x20>(ab_low, cd_low)),
                    Self(_mm256_permute2f128_pd::<0x20>(ab_high, cd_high)),
                    Self(_mm256_permute2f128_pd::<0x31>(ab_low, cd_low)),
                    Self(_mm256_permute2f128_pd::<0x31>(ab_high, cd_high)),
                ]
            }
        }
        #[inline(always)]
        fn magnitude(self) -> Self {
            // SAFETY: the instructions exist (see `Avx`).
            Self(unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0) })
        }
        #[inline(always)]
        fn larger(self, b: Self) -> Self {
            // SAFETY: the instruction exists (see `Avx`). It gives its second operand where one is not a number.
            Self(unsafe { _mm256_max_pd(b.0, self.0) })
        }
        #[inline(always)]
        fn root(self) -> Self {
            // SAFETY: the instruction exists (see `Avx`).
            Self(unsafe { _mm256_sqrt_pd(self.0) })
        }
        #[inline(always)]
        fn blend(self, b: Self, sign: Self) -> Self {
            // SAFETY: the instruction exists (see `Avx`).
            Self(unsafe { _mm256_blendv_pd(self.0, b.0, sign.0) })
        }
        #[inline(always)]
        fn plus_bits(self, n: u64) -> Self {
            // SAFETY: the instructions exist (see `Avx`).
            Self(unsafe {
                _mm256_castsi256_pd(_mm256_add_epi64(
                    _mm256_castpd_si256(self.0),
                    _mm256_set1_epi64x(n.cast_signed()),
                ))
            })
        }
        #[inline(always)]
        fn last_bit_up<const PLACES: i32>(self) -> Self {
            // SAFETY: the instructions exist (see `Avx`).
            Self(unsafe { _mm256_castsi256_pd(_mm256_slli_epi64::<PLACES>(_mm256_castpd_si256(self.0))) })
        }
        #[inline(always)]
        fn flip(self, sign: Self) -> Self {
            // SAFETY: the instructions exist (see `Avx`).
            Self(unsafe { _mm256_xor_pd(self.0, _mm256_and_pd(sign.0, _mm256_set1_pd(-0.0))) })
        }
    }

    macro_rules! avx_op {
        ($trait:ident, $f:ident, $instruction:ident) => {
            impl $trait for Avx {
                type Output = Self;
                #[inline(always)]
                fn $f(self, b: Self) -> Self {
                    // SAFETY: the instruction exists (see `Avx`).
                    Self(unsafe { $instruction(self.0, b.0) })
                }
            }
        };
    }
    avx_op!(Add, add, _mm256_add_pd);
    avx_op!(Sub, sub, _mm256_sub_pd);
    avx_op!(Mul, mul, _mm256_mul_pd);
    avx_op!(Div, div, _mm256_div_pd);
    impl Neg for Avx {
        type Output = Self;
        #[inline(always)]
        fn neg(self) -> Self {
            // SAFETY: the instructions exist (see `Avx`).
            Self(unsafe { _mm256_xor_pd(self.0, _mm256_set1_pd(-0.0)) })
        }
    }
    real_by_lanes!(Avx);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sums<'a>(&'a [f64]);
    impl Kernel for Sums<'_> {
        type Output = [f64; 4];
        #[inline(always)]
        fn run<V: Simd>(self) -> [f64; 4] {
            let (a, b) = (V::load(self.0), V::load(&self.0[4..]));
            ((a * b - a) / b + (-a).fma(b, V::splat(2.0))).lanes()
        }
    }

    #[test]
    fn dispatched_and_portable_lanes_agree_to_rounding() {
        let x = [0.3, -1.7, 2.2, 0.9, 1.1, 0.4, -0.6, 3.0];
        let (fast, plain) = (dispatch(Sums(&x)), Sums(&x).run::<Portable>());
        for i in 0..4 {
            assert!((fast[i] - plain[i]).abs() <= 4e-16 * plain[i].abs().max(1.0));
        }
    }
}
