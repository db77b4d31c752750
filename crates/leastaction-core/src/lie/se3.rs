//! Rigid motions: exponential, logarithm and the tangent of the exponential, perturbations on the right.
//!
//! `exp(ξ)` for `ξ = (φ; ρ)` has rotation `exp(φ)` and position `V(φ) ρ`, where
//! `V = 1 + (1−cos θ)/θ² φ̂ + (θ−sin θ)/θ³ φ̂²` is the left Jacobian of SO(3).
//! `dexp_ξ = Σ (−ad_ξ)^k/(k+1)!` gives the body twist: `V_body = dexp_ξ ξ̇`.

use super::so3;
use crate::scalar::Real;
use crate::spatial::{Pose, Quat, Twist, Vec3};

/// The motion reached by following the body twist `xi` for one second.
pub fn exp<T: Real>(xi: Twist<T>) -> (Quat<T>, Vec3<T>) {
    (so3::exp(xi.ang), so3::dexp(-xi.ang, xi.lin))
}

/// The twist that leads to a pose given as quaternion and position.
pub fn log<T: Real>(q: Quat<T>, p: Vec3<T>) -> Twist<T> {
    let phi = so3::log(q);
    Twist { ang: phi, lin: so3::dexp_inv(-phi, p) }
}

/// `exp` as a [`Pose`].
pub fn exp_pose<T: Real>(xi: Twist<T>) -> Pose<T> {
    let (q, p) = exp(xi);
    Pose::from_quat(q, p)
}

/// `dexp_ξ η`: right Jacobian of the exponential.
///
/// The angular part is SO(3)'s. The linear part uses the degree-four polynomial in `ad_ξ` that
/// Cayley–Hamilton leaves of the series; near zero the series itself is summed.
pub fn dexp<T: Real>(xi: Twist<T>, eta: Twist<T>) -> Twist<T> {
    let theta2 = xi.ang.norm2();
    if theta2.value() < 1.0 {
        return series(xi, eta, |k| 1.0 / f64::from(k + 1));
    }
    let theta = theta2.sqrt();
    let (s, c) = theta.sin_cos();
    let t = |x: f64| T::from_f64(x);
    let theta3 = theta2 * theta;
    let c1 = (t(4.0) - theta * s - c * 4.0) / (theta2 * 2.0);
    let c2 = (theta * 4.0 - s * 5.0 + theta * c) / (theta3 * 2.0);
    let c3 = (t(2.0) - theta * s - c * 2.0) / (theta2 * theta2 * 2.0);
    let c4 = (theta * 2.0 - s * 3.0 + theta * c) / (theta3 * theta2 * 2.0);
    let a1 = -xi.cross(eta);
    let a2 = -xi.cross(a1);
    let a3 = -xi.cross(a2);
    let a4 = -xi.cross(a3);
    eta + a1 * c1 + a2 * c2 + a3 * c3 + a4 * c4
}

/// `Σ_k (−ad_ξ)^k η / (k+1)!`, each term from the one before by the factor `ratio(k)`.
fn series<T: Real>(xi: Twist<T>, eta: Twist<T>, ratio: impl Fn(u32) -> f64) -> Twist<T> {
    let (mut sum, mut term) = (eta, eta);
    for k in 1..24 {
        term = -xi.cross(term).scale(ratio(k));
        sum += term;
    }
    sum
}

/// `dexp_ξ⁻¹ η = η + ½ ad η + a ad² η + b ad⁴ η`, regular for `|φ| < 2π`.
pub fn dexp_inv<T: Real>(xi: Twist<T>, eta: Twist<T>) -> Twist<T> {
    let theta2 = xi.ang.norm2();
    let a1 = xi.cross(eta);
    let a2 = xi.cross(a1);
    let a4 = xi.cross(xi.cross(a2));
    // On SO(3) ad² = −θ² on the rotating plane, so a − θ² b must be SO(3)'s coefficient; b from Selig's form.
    let b = quartic_term(theta2);
    let a = so3::cotangent_term(theta2) + theta2 * b;
    eta + a1.scale(0.5) + a2 * a + a4 * b
}

/// `1/θ⁴ + (θ + sin θ)/(4 θ³ (cos θ − 1))`, by its series near zero.
fn quartic_term<T: Real>(theta2: T) -> T {
    if theta2.value() < 1.0 {
        // −f'(θ²) where f = cotangent_term: b = −d f/d(θ²), term by term.
        const B: [f64; 11] = [
            1.0 / 720.0,
            1.0 / 30_240.0,
            1.0 / 1_209_600.0,
            1.0 / 47_900_160.0,
            691.0 / 1_307_674_368_000.0,
            1.0 / 74_724_249_600.0,
            3617.0 / 10_670_622_842_880_000.0,
            43_867.0 / 5_109_094_217_170_944_000.0,
            174_611.0 / 802_857_662_698_291_200_000.0,
            77_683.0 / 14_101_100_039_391_805_440_000.0,
            236_364_091.0 / 1_693_824_136_731_743_669_452_800_000.0,
        ];
        let mut sum = T::zero();
        for (k, b) in B.iter().enumerate().rev() {
            sum = sum * theta2 + T::from_f64(*b * (k + 1) as f64);
        }
        -sum
    } else {
        let theta = theta2.sqrt();
        let (s, c) = theta.sin_cos();
        T::one() / (theta2 * theta2) + (theta + s) / (theta2 * theta * (c - T::one()) * 4.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    const ANGLES: [f64; 7] = [0.0, 1e-12, 1e-4, 0.99, 1.01, 2.0, PI];

    fn xi(angle: f64) -> Twist {
        Twist::new(Vec3([2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0]) * angle, Vec3([0.4, -0.9, 0.3]))
    }

    #[test]
    fn log_undoes_exp() {
        for angle in ANGLES {
            let (q, p) = exp(xi(angle));
            let d = (log(q, p) - xi(angle)).to_array().iter().fold(0.0f64, |m, e| m.max(e.abs()));
            assert!(d < 3e-15 || angle == PI, "{angle}: {d:e}");
        }
    }

    #[test]
    fn dexp_is_the_derivative_of_exp_and_dexp_inv_its_inverse() {
        type D = crate::scalar::Dual<f64, 1>;
        let eta = Twist::from_array([0.3, 0.7, -0.2, 0.5, 0.1, -0.8]);
        for angle in ANGLES {
            let (x, e) = (xi(angle).to_array(), eta.to_array());
            let moved = exp_pose(Twist::from_array(std::array::from_fn(|i| D { re: x[i], eps: [e[i]] })));
            let (r, dr) =
                (moved.rot.value(), crate::spatial::Mat3(moved.rot.0.map(|row| row.map(|d| d.eps[0]))));
            let ang = (r.transpose() * dr).vee();
            let lin = r.tr_mul(Vec3(moved.pos.0.map(|d| d.eps[0])));
            let got = dexp(xi(angle), eta);
            assert!((got.ang - ang).norm() < 2e-15, "{angle}");
            assert!((got.lin - lin).norm() < 4e-15, "{angle}: {:e}", (got.lin - lin).norm());
            let back = dexp_inv(xi(angle), got) - eta;
            assert!(back.to_array().iter().all(|e| e.abs() < 1e-14), "{angle}: {back:?}");
        }
    }
}
