//! Rotations: exponential, logarithm and the tangent of the exponential.
//!
//! Perturbations act on the right: `exp(φ + δ) ≈ exp(φ) exp(dexp_φ δ)`, so `dexp` is the right Jacobian,
//! `dexp_φ = 1 − (1−cos θ)/θ² φ̂ + (θ−sin θ)/θ³ φ̂²`, and `ω = dexp_φ φ̇` is the body angular velocity.

use crate::scalar::Real;
use crate::spatial::{Quat, Vec3};

/// Below this squared angle the series are used; eight terms leave less than 1e-17.
const SERIES: f64 = 0.25;

/// `sin(θ)/θ`, `(1−cos θ)/θ²` and `(θ−sin θ)/θ³` as functions of `θ²`.
pub fn sinc_family<T: Real>(theta2: T) -> (T, T, T) {
    if theta2.value() < SERIES {
        // Horner form of Σ (−θ²)^k / (2k+1)!, (2k+2)!, (2k+3)!.
        let mut s = [T::zero(); 3];
        for (offset, s) in s.iter_mut().enumerate() {
            let mut sum = T::one();
            for k in (1..=8u32).rev() {
                let a = f64::from(2 * k) + offset as f64;
                sum = T::one() - theta2 * sum * (1.0 / (a * (a + 1.0)));
            }
            *s = sum;
        }
        (s[0], s[1] * 0.5, s[2] * (1.0 / 6.0))
    } else {
        let theta = theta2.sqrt();
        let (sin, cos) = theta.sin_cos();
        (sin / theta, (T::one() - cos) / theta2, (theta - sin) / (theta2 * theta))
    }
}

/// Rotation by the vector `phi`.
pub fn exp<T: Real>(phi: Vec3<T>) -> Quat<T> {
    let half = phi.scale(0.5);
    let theta2 = half.norm2();
    let (sinc, versine, _) = sinc_family(theta2);
    Quat { w: T::one() - theta2 * versine, v: half * sinc }
}

/// Rotation vector of a unit quaternion, at most π long.
pub fn log<T: Real>(q: Quat<T>) -> Vec3<T> {
    let q = if q.w.value() < 0.0 { Quat { w: -q.w, v: -q.v } } else { q };
    let n2 = q.v.norm2();
    if n2.value() < 1e-10 {
        // 2 atan(n/w)/n = 2/w (1 − n²/(3w²) + n⁴/(5w⁴)); the next term is below 1e-30.
        let r = n2 / (q.w * q.w);
        let one = T::one();
        return q.v * ((one - r * (1.0 / 3.0) + r * r * 0.2) / q.w * 2.0);
    }
    let n = n2.sqrt();
    q.v * (n.atan2(q.w) / n * 2.0)
}

/// `dexp_φ x`: right Jacobian of the exponential.
pub fn dexp<T: Real>(phi: Vec3<T>, x: Vec3<T>) -> Vec3<T> {
    let (_, b, c) = sinc_family(phi.norm2());
    let y = phi.cross(x);
    x - y * b + phi.cross(y) * c
}

/// `dexp_φ⁻¹ x = x + ½ φ×x + (1/θ² − (1+cos θ)/(2 θ sin θ)) φ×(φ×x)`.
///
/// Regular for `|φ| < 2π`.
pub fn dexp_inv<T: Real>(phi: Vec3<T>, x: Vec3<T>) -> Vec3<T> {
    let theta2 = phi.norm2();
    let y = phi.cross(x);
    x + y.scale(0.5) + phi.cross(y) * cotangent_term(theta2)
}

/// `1/θ² − cot(θ/2)/(2θ)`, by its Bernoulli series near zero.
pub fn cotangent_term<T: Real>(theta2: T) -> T {
    if theta2.value() < SERIES {
        const B: [f64; 9] = [
            1.0 / 12.0,
            1.0 / 720.0,
            1.0 / 30_240.0,
            1.0 / 1_209_600.0,
            1.0 / 47_900_160.0,
            691.0 / 1_307_674_368_000.0,
            1.0 / 74_724_249_600.0,
            3617.0 / 10_670_622_842_880_000.0,
            43_867.0 / 5_109_094_217_170_944_000.0,
        ];
        let mut sum = T::zero();
        for b in B.iter().rev() {
            sum = sum * theta2 + T::from_f64(*b);
        }
        sum
    } else {
        let theta = theta2.sqrt();
        let (s, c) = (theta * 0.5).sin_cos();
        T::one() / theta2 - c / (s * theta * 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    const AXIS: Vec3 = Vec3([2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0]);
    const ANGLES: [f64; 8] = [0.0, 1e-12, 1e-4, 0.49, 0.51, 1.0, PI - 1e-9, PI];

    #[test]
    fn log_undoes_exp_at_zero_tiny_small_and_pi() {
        for angle in ANGLES {
            let phi = AXIS * angle;
            let back = log(exp(phi));
            // At π the sign of the axis is free.
            let d = (back - phi).norm().min(if angle == PI { (back + phi).norm() } else { f64::MAX });
            assert!(d <= 4e-16 * (1.0 + angle), "{angle}: {d:e}");
            assert!((exp(phi).norm() - 1.0).abs() < 4e-16);
        }
    }

    #[test]
    fn dexp_is_the_derivative_of_exp() {
        type D = crate::scalar::Dual<f64, 1>;
        let x = Vec3([0.3, 0.7, -0.2]);
        for angle in ANGLES {
            let phi = AXIS * angle;
            let moved = Vec3(std::array::from_fn(|i| D { re: phi[i], eps: [x[i]] }));
            let q = exp(moved);
            // (δR) in body components: 2 (q* δq).v
            let re = Quat { w: q.w.re, v: Vec3(q.v.0.map(|d| d.re)) };
            let eps = Quat { w: q.w.eps[0], v: Vec3(q.v.0.map(|d| d.eps[0])) };
            let body = (re.conj() * eps).v.scale(2.0);
            assert!((body - dexp(phi, x)).norm() < 1e-15, "{angle}");
            assert!((dexp_inv(phi, dexp(phi, x)) - x).norm() < 2e-15, "{angle}");
        }
    }

    #[test]
    fn series_and_closed_form_meet() {
        let (a, b) = (SERIES.next_down(), SERIES);
        let ((s0, v0, c0), (s1, v1, c1)) = (sinc_family(a), sinc_family(b));
        for (x, y) in [(s0, s1), (v0, v1), (c0, c1), (cotangent_term(a), cotangent_term(b))] {
            // The closed forms subtract numbers of size 4 here: a few roundings of 4ε remain.
            assert!((x - y).abs() < 8e-15, "{x} {y}");
        }
    }
}
