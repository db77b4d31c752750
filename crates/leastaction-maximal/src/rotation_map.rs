//! The two rotation maps: how an interval's angular velocity turns a body, and the momenta at its two ends.
//!
//! With `φ = (h/2) ω` the relative quaternion of the interval is `[√(1−φ·φ); φ]` (sine) or `[1; φ]/√(1+φ·φ)`
//! (Cayley). The momenta leaving the first node and arriving at the second are minus the first and plus the second
//! slot derivative of `L_d = (h/2) ωᵀJω`, equations (3.3) to (3.6) of the theory notes.

use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};

/// How an interval's angular velocity becomes a rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RotationMap {
    /// `rel = [√(1−φ·φ); φ]`: conserves the free body's `πᵀJ⁻¹π` to rounding; needs less than a radian or so per step.
    #[default]
    Sine,
    /// `rel = [1; φ]/√(1+φ·φ)`: has a solution for every momentum, at twice the error.
    Cayley,
}

/// Largest `φ·φ` that the sine map admits.
pub(crate) const SINE_DOMAIN: f64 = 0.999;

impl RotationMap {
    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sine => "sine",
            Self::Cayley => "cayley",
        }
    }

    /// True if `φ` is in the domain of the map.
    #[inline(always)]
    pub(crate) fn admits(self, phi: Vec3) -> bool {
        self == Self::Cayley || phi.norm2() < SINE_DOMAIN
    }

    /// `c` of the table in the theory notes: the scalar part for sine, one for Cayley.
    #[inline(always)]
    fn scalar<T: Real>(self, phi: Vec3<T>) -> T {
        match self {
            Self::Sine => (T::one() - phi.norm2()).sqrt(),
            Self::Cayley => T::one(),
        }
    }

    /// Relative quaternion of the interval. (3.3)
    #[inline(always)]
    pub(crate) fn relative<T: Real>(self, phi: Vec3<T>) -> Quat<T> {
        let c = self.scalar(phi);
        match self {
            Self::Sine => Quat { w: c, v: phi },
            Self::Cayley => {
                let s = T::one() / (T::one() + phi.norm2()).sqrt();
                Quat { w: s, v: phi * s }
            }
        }
    }

    /// Momenta leaving the first node (its frame) and arriving at the second (its frame), from `φ` and `Jω`. (3.4)
    #[inline(always)]
    pub(crate) fn momenta<T: Real>(self, phi: Vec3<T>, j_omega: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
        let turn = phi.cross(j_omega);
        let mean = match self {
            Self::Sine => j_omega * self.scalar(phi),
            Self::Cayley => j_omega + phi * phi.dot(j_omega),
        };
        (mean + turn, mean - turn)
    }

    /// `Γ⁻¹δ`: the change of `ω` (times h) that turns the end pose by the rotation vector `δ` of its own frame. (3.5)
    #[inline(always)]
    pub(crate) fn rate_of<T: Real>(self, phi: Vec3<T>, delta: Vec3<T>) -> Vec3<T> {
        match self {
            Self::Sine => delta * self.scalar(phi) + phi.cross(delta),
            Self::Cayley => delta + phi.cross(delta) + phi * phi.dot(delta),
        }
    }

    /// `Γδ`: inverse of [`rate_of`](Self::rate_of).
    #[cfg(test)]
    pub(crate) fn rotation_of<T: Real>(self, phi: Vec3<T>, rate: Vec3<T>) -> Vec3<T> {
        match self {
            Self::Sine => {
                let c = self.scalar(phi);
                rate * c + phi * (phi.dot(rate) / c) - phi.cross(rate)
            }
            Self::Cayley => (rate - phi.cross(rate)) * (T::one() / (T::one() + phi.norm2())),
        }
    }

    /// `D⁻Γ⁻¹`: slope of the leaving momentum against the rotation of the end pose (per step length). (3.6)
    #[inline(always)]
    pub(crate) fn slope(self, phi: Vec3, inertia: &Mat3) -> Mat3 {
        match self {
            Self::Sine => {
                // φᵀ(cI + S(φ)) = c φᵀ, so the division by c of D⁻ cancels.
                let c = self.scalar(phi);
                let j_phi = *inertia * phi;
                let m = *inertia * c + skew_times(phi, inertia) - j_phi.skew();
                m * c + times_skew(&m, phi) - j_phi.outer(phi)
            }
            Self::Cayley => self.leaving_slope(phi, inertia) * self.rate_matrix(phi),
        }
    }

    /// `Γ⁻¹` as a matrix.
    #[inline(always)]
    pub(crate) fn rate_matrix(self, phi: Vec3) -> Mat3 {
        match self {
            Self::Sine => phi.skew() + Mat3::diagonal(self.scalar(phi)),
            Self::Cayley => phi.skew() + phi.outer(phi) + Mat3::identity(),
        }
    }

    /// `D⁻ = dp⁻/dω`.
    #[inline(always)]
    pub(crate) fn leaving_slope(self, phi: Vec3, inertia: &Mat3) -> Mat3 {
        let (mean, turn) = self.slope_parts(phi, inertia);
        mean + turn
    }

    /// `D⁺ = dp⁺/dω`.
    #[cfg(test)]
    pub(crate) fn arriving_slope(self, phi: Vec3, inertia: &Mat3) -> Mat3 {
        let (mean, turn) = self.slope_parts(phi, inertia);
        mean - turn
    }

    #[inline(always)]
    fn slope_parts(self, phi: Vec3, inertia: &Mat3) -> (Mat3, Mat3) {
        let j_phi = *inertia * phi;
        let turn = skew_times(phi, inertia) - j_phi.skew();
        let mean = match self {
            Self::Sine => {
                let c = self.scalar(phi);
                *inertia * c - j_phi.outer(phi * (1.0 / c))
            }
            Self::Cayley => *inertia + Mat3::diagonal(phi.dot(j_phi)) + phi.outer(j_phi) + phi.outer(j_phi),
        };
        (mean, turn)
    }
}

/// `S(a) M`.
#[inline(always)]
pub(crate) fn skew_times(a: Vec3, m: &Mat3) -> Mat3 {
    let [x, y, z] = a.0;
    let r = &m.0;
    let row = |s: f64, p: &[f64; 3], t: f64, q: &[f64; 3]| -> [f64; 3] {
        [s * p[0] - t * q[0], s * p[1] - t * q[1], s * p[2] - t * q[2]]
    };
    Mat3([row(y, &r[2], z, &r[1]), row(z, &r[0], x, &r[2]), row(x, &r[1], y, &r[0])])
}

/// `M S(a)`.
#[inline(always)]
pub(crate) fn times_skew(m: &Mat3, a: Vec3) -> Mat3 {
    Mat3([Vec3(m.0[0]).cross(a).0, Vec3(m.0[1]).cross(a).0, Vec3(m.0[2]).cross(a).0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Dual;

    type D = Dual<f64, 3>;

    fn example() -> (Vec3, Mat3, f64) {
        let j = Mat3([[0.9, 0.05, -0.1], [0.05, 0.7, 0.02], [-0.1, 0.02, 0.5]]);
        (Vec3([3.0, -8.0, 5.0]), j, 0.1)
    }

    /// Momenta are the slot derivatives of `h/2 ωᵀJω` by rotation vectors; slopes and Γ agree with dual numbers.
    #[test]
    fn momenta_and_slopes_are_derivatives() {
        let (omega, j, h) = example();
        for map in [RotationMap::Sine, RotationMap::Cayley] {
            let phi = omega.scale(h / 2.0);
            let w = Vec3(std::array::from_fn(|i| {
                let mut d = D::constant(omega[i]);
                d.eps[i] = 1.0;
                d
            }));
            let phi_d = w.scale(h / 2.0);
            let (minus, plus) = map.momenta(phi_d, Mat3::constant(j) * w);
            let (dm, dp) = (map.leaving_slope(phi, &j), map.arriving_slope(phi, &j));
            let rel = map.relative(phi_d);
            let turn = map.relative(phi).conj();
            for c in 0..3 {
                // dθ' = 2 vec(rel⁻¹ drel)
                let drel = Quat { w: rel.w.eps[c], v: Vec3(rel.v.0.map(|x| x.eps[c])) };
                let dtheta = (turn * drel).v.scale(2.0);
                let mut e = Vec3::zero();
                e[c] = 1.0;
                assert!((dtheta - map.rotation_of(phi, e).scale(h)).norm() < 1e-14);
                assert!((map.rate_of(phi, map.rotation_of(phi, e)) - e).norm() < 1e-14);
                let slope = map.slope(phi, &j) * e - dm * map.rate_of(phi, e);
                assert!(slope.norm() < 1e-13);
                for i in 0..3 {
                    assert!((dm.0[i][c] - minus[i].eps[c]).abs() < 1e-13);
                    assert!((dp.0[i][c] - plus[i].eps[c]).abs() < 1e-13);
                }
            }
            // D2 L_d by δθ at the end: dL/dω Γ⁻¹/h, and D1 by δθ at the start.
            for c in 0..3 {
                let mut e = Vec3::zero();
                e[c] = 1.0;
                let (j_omega, m) = (j * omega, map.momenta(phi, j * omega));
                assert!((j_omega.dot(map.rate_of(phi, e)) - m.1[c]).abs() < 1e-13);
                // Turning the start by e turns the relative rotation by −Rᵀe at its end.
                let back = map.relative(phi).conj().rotate(e);
                assert!((j_omega.dot(map.rate_of(phi, back)) - m.0[c]).abs() < 1e-13);
            }
        }
    }
}
