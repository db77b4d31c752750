//! Splines on rotations: a curve in the tangent space of a reference motion.
//!
//! ```text
//! R(t) = R_0 exp(b(t) Ω) exp(φ(t)),    b = 10 s³ − 15 s⁴ + 6 s⁵,  s = t/T,   Ω = Log(R_0ᵀ R_T)      (5.9)
//! ω = Eᵀ b' Ω + dexp_φ φ',             E = exp φ                                                   (5.10)
//! ξ = dexp_φ δφ                                                                                    (5.11)
//! ```
//!
//! φ is a plain B-spline, so its control points keep the band, the exact boundary elimination and the difference form
//! of (5.1); ξ is the tangent on the right that Jacobians are taken for. Everything is a product of jets: `E` and `dexp`
//! are polynomials in `φ̂` whose coefficients are Stumpff functions of `θ² = φ·φ`,
//!
//! ```text
//! c_n = Σ_k (−θ²)ᵏ/(2k+n)!,   dc_n/dθ² = (n c_{n+2} − c_{n+1})/2,   c_n = 1/n! − θ² c_{n+2}        (5.12)
//! ```
//!
//! which have no singularity at zero, where every search starts. The chart is regular for |φ| < 2π.

use crate::lie::so3;
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};

/// The motion between two orientations that φ is measured from: along the shortest arc, at rest at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RotationReference {
    start: Quat,
    turn: Vec3,
    duration: f64,
}

impl RotationReference {
    /// From `start` at time 0 to `end` at `duration`; the quaternions need a direction, not unit length.
    #[must_use]
    pub fn between(start: Quat, end: Quat, duration: f64) -> Self {
        let start = start.normalized();
        Self { start, turn: so3::log(start.conj() * end.normalized()), duration }
    }

    /// Taylor coefficient `l` of the blend `b` at `t`.
    fn blend(&self, t: f64, l: usize) -> f64 {
        let s = t / self.duration;
        let term = |power: usize, factor: f64| {
            if l > power {
                return 0.0;
            }
            let choose = (0..l).fold(1.0, |x, i| x * (power - i) as f64 / (i + 1) as f64);
            factor * choose * s.powi((power - l) as i32)
        };
        (term(3, 10.0) + term(4, -15.0) + term(5, 6.0)) / self.duration.powi(l as i32)
    }

    /// The reference orientation at `t`.
    #[must_use]
    pub fn orientation(&self, t: f64) -> Quat {
        self.start * so3::exp(self.turn.scale(self.blend(t, 0)))
    }

    /// φ of an orientation at time `t`, at most π long.
    #[must_use]
    pub fn coordinates(&self, t: f64, orientation: Quat) -> Vec3 {
        so3::log(self.orientation(t).conj() * orientation.normalized())
    }
}

/// Jets of one rotation of a spline: what (5.9) to (5.12) give at a time.
#[derive(Clone, Debug)]
pub struct RotationJet<T = f64> {
    /// Number of velocity coefficients.
    n: usize,
    /// Orientation.
    pub orientation: Quat<T>,
    /// Angular velocity in the body's frame, `n` coefficients.
    pub omega: Vec<Vec3<T>>,
    /// Rᵀ, `n + 1` coefficients.
    pub inverse: Vec<Mat3<T>>,
    phi: Vec<Vec3<T>>,
    squared: Vec<T>,
    /// `c_k` at `stumpff[k * (n + 1) + order]`.
    stumpff: Vec<T>,
    a: Vec<Vec3<T>>,
    b: Vec<Vec3<T>>,
}

/// Highest Stumpff function that a jet of `n + 1` coefficients needs: each order uses the next two functions.
fn highest(n: usize) -> usize {
    (3 + 2 * n).max(7)
}

impl<T: Real> RotationJet<T> {
    /// Memory for `n` velocity coefficients.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let vectors = vec![Vec3::zero(); n + 1];
        Self {
            n,
            orientation: Quat::identity(),
            omega: vec![Vec3::zero(); n],
            inverse: vec![Mat3::zero(); n + 1],
            phi: vectors.clone(),
            squared: vec![T::zero(); n + 1],
            stumpff: vec![T::zero(); (highest(n) + 1) * (n + 1)],
            a: vectors.clone(),
            b: vectors,
        }
    }

    /// Evaluates at time `t` from the `n + 1` Taylor coefficients of φ.
    pub fn evaluate(&mut self, reference: &RotationReference, t: f64, phi: impl Fn(usize) -> Vec3<T>) {
        let n = self.n;
        for l in 0..n + 1 {
            self.phi[l] = phi(l);
        }
        self.orientation = Quat::constant(reference.orientation(t)) * so3::exp(self.phi[0]);
        self.coefficients();
        // ω = Eᵀ ω_ref + dexp φ',  Eᵀ = 1 − c₁ φ̂ + c₂ φ̂²,  dexp = 1 − c₂ φ̂ + c₃ φ̂².
        for l in 0..n {
            let rate = (l + 1) as f64;
            let own: Vec3<T> = Vec3::constant(reference.turn.scale(rate * reference.blend(t, l + 1)));
            self.a[l] = own;
            self.b[l] = self.phi[l + 1].scale(rate);
            self.omega[l] = own + self.b[l];
        }
        for (first, sign) in [(1, -1.0), (2, 1.0)] {
            for l in (0..n).rev() {
                // φ × of both, in place from the last order down.
                let (mut x, mut y) = (Vec3::zero(), Vec3::zero());
                for m in 0..=l {
                    x += self.phi[m].cross(self.a[l - m]);
                    y += self.phi[m].cross(self.b[l - m]);
                }
                (self.a[l], self.b[l]) = (x, y);
            }
            for l in 0..n {
                let mut sum = Vec3::zero();
                for m in 0..=l {
                    sum += self.a[l - m] * self.c(first, m) + self.b[l - m] * self.c(first + 1, m);
                }
                self.omega[l] += sum.scale(sign);
            }
        }
        // (Rᵀ)' = −ω̂ Rᵀ.
        self.inverse[0] = self.orientation.to_matrix().transpose();
        for l in 0..n {
            let mut sum = Mat3::zero();
            for m in 0..=l {
                sum = sum + self.omega[m].skew() * self.inverse[l - m];
            }
            self.inverse[l + 1] = sum * T::from_f64(-1.0 / (l + 1) as f64);
        }
    }

    #[inline(always)]
    fn c(&self, k: usize, order: usize) -> T {
        self.stumpff[k * (self.n + 1) + order]
    }

    /// Jets of the Stumpff functions of φ·φ, (5.12).
    fn coefficients(&mut self) {
        let (n, top) = (self.n, highest(self.n));
        let width = n + 1;
        for l in 0..width {
            let mut sum = T::zero();
            for m in 0..=l {
                sum += self.phi[m].dot(self.phi[l - m]);
            }
            self.squared[l] = sum;
        }
        let s = self.squared[0];
        let factorial = |k: usize| (1..=k).fold(1.0, |f, i| f * i as f64);
        for k in (0..=top).rev() {
            self.stumpff[k * width] = if k + 2 > top {
                let mut sum = T::one();
                for i in (1..=16).rev() {
                    let a = (2 * i + k) as f64;
                    sum = T::one() - s * sum * (1.0 / (a * (a - 1.0)));
                }
                sum * (1.0 / factorial(k))
            } else {
                T::from_f64(1.0 / factorial(k)) - s * self.stumpff[(k + 2) * width]
            };
        }
        for l in 0..n {
            for k in 0..=top.saturating_sub(2 * (l + 1)) {
                let mut sum = T::zero();
                for m in 0..=l {
                    let slope = self.c(k + 2, m) * (k as f64) - self.c(k + 1, m);
                    sum += slope * self.squared[l - m + 1] * (l - m + 1) as f64;
                }
                self.stumpff[k * width + l + 1] = sum * (0.5 / (l + 1) as f64);
            }
        }
    }

    /// Turns weights on the tangent ξ (`n + 1` coefficients) into weights on φ, in place: the transpose of (5.11).
    pub fn pull_back(&mut self, bar: &mut [Vec3<T>]) {
        let width = self.n + 1;
        let (mut once, mut twice) = (std::mem::take(&mut self.a), std::mem::take(&mut self.b));
        for m in 0..width {
            let (mut x, mut y) = (Vec3::zero(), Vec3::zero());
            for l in m..width {
                x += bar[l] * self.c(2, l - m);
                y += bar[l] * self.c(3, l - m);
            }
            (once[m], twice[m]) = (x, y);
        }
        self.cross_transposed(&mut once);
        self.cross_transposed(&mut twice);
        self.cross_transposed(&mut twice);
        for m in 0..width {
            bar[m] += twice[m] - once[m];
        }
        (self.a, self.b) = (once, twice);
    }

    /// Transpose of `u → φ × u`, in place from the first order up.
    fn cross_transposed(&self, x: &mut [Vec3<T>]) {
        for m in 0..x.len() {
            let mut sum = Vec3::zero();
            for l in m..x.len() {
                sum += x[l].cross(self.phi[l - m]);
            }
            x[m] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Dual;

    fn reference() -> RotationReference {
        let start = Quat::new(0.8, 0.1, -0.4, 0.3);
        RotationReference::between(start, Quat::new(-0.2, 0.7, 0.5, 0.1), 1.7)
    }

    fn phi<T: Real>(t: T, l: usize) -> Vec3<T> {
        // φ(t) = (t, t²/2, −0.3 t³): its Taylor coefficients at t.
        let (one, zero) = (T::one(), T::zero());
        Vec3(match l {
            0 => [t, t * t * 0.5, t * t * t * -0.3],
            1 => [one, t, t * t * -0.9],
            2 => [zero, one * 0.5, t * -0.9],
            3 => [zero, zero, one * -0.3],
            _ => [zero; 3],
        })
    }

    #[test]
    fn the_reference_joins_its_ends_at_rest() {
        let r = reference();
        let (start, end) = (Quat::new(0.8, 0.1, -0.4, 0.3), Quat::new(-0.2, 0.7, 0.5, 0.1));
        assert!(r.coordinates(0.0, start).norm() < 1e-15 && r.coordinates(1.7, end).norm() < 1e-14);
        let mut jet = RotationJet::<f64>::new(3);
        for t in [0.0, 1.7] {
            jet.evaluate(&r, t, |_| Vec3::zero());
            assert!(jet.omega[0].norm() < 1e-14 && jet.omega[1].norm() < 1e-13);
        }
    }

    #[test]
    fn velocities_are_derivatives_of_the_orientation() {
        let r = reference();
        for t in [0.0, 1e-9, 0.4, 1.3] {
            let mut jet = RotationJet::<f64>::new(4);
            jet.evaluate(&r, t, |l| phi(t, l));
            // Differences of orientations and of velocities at both sides.
            let h = 1e-4;
            let (mut up, mut down) = (jet.clone(), jet.clone());
            up.evaluate(&r, t + h, |l| phi(t + h, l));
            down.evaluate(&r, t - h, |l| phi(t - h, l));
            let turn = so3::log(down.orientation.conj() * up.orientation).scale(0.5 / h);
            assert!((turn - jet.omega[0]).norm() < 1e-6, "{t}");
            for l in 0..3 {
                let slope = (up.omega[l] - down.omega[l]).scale(0.5 / (h * (l + 1) as f64));
                assert!((slope - jet.omega[l + 1]).norm() < 2e-6, "{t} {l}");
            }
        }
    }

    #[test]
    fn pull_back_is_the_transpose_of_the_tangent() {
        type D = Dual<f64, 1>;
        let (r, t, n) = (reference(), 0.9, 3);
        let mut jet = RotationJet::<f64>::new(n);
        jet.evaluate(&r, t, |l| phi(t, l));
        let mut random = numbers(7);
        let bar: Vec<Vec3> = (0..n + 1).map(|_| Vec3(std::array::from_fn(|_| random()))).collect();
        let mut pulled = bar.clone();
        jet.pull_back(&mut pulled);
        for m in 0..n + 1 {
            for i in 0..3 {
                // ξ of the direction δφ_m = e_i from the change of Rᵀ: δ(Rᵀ) = −ξ̂ Rᵀ, order by order.
                let mut moved = RotationJet::<D>::new(n);
                moved.evaluate(&r, t, |l| {
                    let mut x = phi(D::constant(t), l);
                    x.0.iter_mut().for_each(|x| x.eps[0] = 0.0);
                    if l == m {
                        x[i].eps[0] = 1.0;
                    }
                    x
                });
                let mut xi: Vec<Vec3> = Vec::new();
                for l in 0..n + 1 {
                    // δ(Rᵀ)_l R_0 = −Σ ξ̂_a (Rᵀ)_{l−a} R_0: solve for ξ_l.
                    let eps = Mat3(moved.inverse[l].0.map(|row| row.map(|x| x.eps[0])));
                    let mut rest = eps;
                    for (a, xi) in xi.iter().enumerate() {
                        rest = rest + xi.skew() * jet.inverse[l - a];
                    }
                    let skew = rest * jet.inverse[0].transpose();
                    xi.push(Vec3([skew.0[1][2], skew.0[2][0], skew.0[0][1]]));
                }
                let forward: f64 = xi.iter().zip(&bar).map(|(a, b)| a.dot(*b)).sum();
                assert!((forward - pulled[m][i]).abs() < 1e-13, "{m} {i}: {forward} {}", pulled[m][i]);
            }
        }
    }

    fn numbers(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
        }
    }
}
