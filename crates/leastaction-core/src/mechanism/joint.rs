//! Every per-joint formula, in one place.
//!
//! A joint is first *aligned*: both joint frames are turned by one constant rotation so that the axis is z (and a
//! universal joint's second axis is x). In aligned frames the kinds are
//!
//! | kind | transform parent joint frame → child joint frame | velocity coordinates |
//! |---|---|---|
//! | revolute, continuous | `Rz(q)` | rate |
//! | prismatic | `Tz(q)` | rate |
//! | cylindrical | `Rz(q₀) Tz(q₁)` | rates |
//! | universal | `Rz(q₀) Rx(q₁)` | rates |
//! | planar | `Tx(q₀) Ty(q₁) Rz(q₂)` | rates |
//! | spherical | `R(q)` | angular velocity, child frame |
//! | floating | `(R(q), p)` | angular then linear velocity, child frame |
//!
//! Spherical and floating joints are never turned, so their components stay those of the child joint frame.

use super::description::JointType;
use crate::lie::{se3, so3};
use crate::scalar::Real;
use crate::scalar::elementary;
use crate::spatial::{Mat3, Pose, Quat, Twist, Vec3};

/// The triad of an axis, `B = [t1 t2 n]`: `t1` is the coordinate axis least aligned with `n`, made perpendicular.
#[must_use]
pub fn triad(n: Vec3) -> Mat3 {
    let mut k = 0;
    for i in 1..3 {
        if n[i].abs() < n[k].abs() {
            k = i;
        }
    }
    let mut t1 = n * -n[k];
    t1[k] += 1.0;
    let t1 = t1 * (1.0 / t1.norm());
    Mat3::from_columns(t1, n.cross(t1), n)
}

/// Constant rotation that turns the joint frame so that its axis is z.
pub(super) fn alignment(kind: JointType, axis: Vec3, axis2: Vec3) -> Mat3 {
    match kind {
        JointType::Spherical | JointType::Floating => Mat3::identity(),
        JointType::Universal => Mat3::from_columns(axis2, axis.cross(axis2), axis),
        _ => triad(axis),
    }
}

fn rot_z<T: Real>(angle: T) -> Mat3<T> {
    let (s, c) = angle.sin_cos();
    let (o, i) = (T::zero(), T::one());
    Mat3([[c, -s, o], [s, c, o], [o, o, i]])
}

fn unit<T: Real>(i: usize) -> Vec3<T> {
    let mut e = Vec3::zero();
    e[i] = T::one();
    e
}

impl JointType {
    /// Names of the position coordinates in trajectory columns; empty for joints with one coordinate.
    #[must_use]
    pub fn position_parts(self) -> &'static [&'static str] {
        match self {
            Self::Cylindrical => &["angle", "slide"],
            Self::Universal => &["angle1", "angle2"],
            Self::Planar => &["x", "y", "angle"],
            Self::Spherical => &["w", "x", "y", "z"],
            Self::Floating => &["w", "x", "y", "z", "px", "py", "pz"],
            _ => &[],
        }
    }

    /// Names of the velocity coordinates in trajectory columns; empty for joints with one coordinate.
    #[must_use]
    pub fn velocity_parts(self) -> &'static [&'static str] {
        match self {
            Self::Spherical => &["wx", "wy", "wz"],
            Self::Floating => &["wx", "wy", "wz", "vx", "vy", "vz"],
            other => other.position_parts(),
        }
    }

    /// True if every motion of the joint leaves the origin of its frame where it is.
    #[must_use]
    pub fn turns_about_its_origin(self) -> bool {
        matches!(self, Self::Revolute | Self::Continuous | Self::Universal | Self::Spherical)
    }

    /// True if the joint keeps its coordinates when parent and child change places.
    #[must_use]
    pub fn is_reversible(self) -> bool {
        matches!(self, Self::Fixed | Self::Revolute | Self::Continuous | Self::Prismatic | Self::Cylindrical)
    }

    /// Pose of the aligned child joint frame in the aligned parent joint frame.
    #[inline]
    pub fn transform<T: Real>(self, q: &[T]) -> Pose<T> {
        let zero = Vec3::zero();
        match self {
            Self::Fixed | Self::PointOnLine => Pose::identity(),
            Self::Revolute | Self::Continuous => Pose::new(rot_z(q[0]), zero),
            Self::Prismatic => Pose::new(Mat3::identity(), Vec3([T::zero(), T::zero(), q[0]])),
            Self::Cylindrical => Pose::new(rot_z(q[0]), Vec3([T::zero(), T::zero(), q[1]])),
            Self::Universal => {
                let (s, c) = q[1].sin_cos();
                let (o, i) = (T::zero(), T::one());
                Pose::new(rot_z(q[0]) * Mat3([[i, o, o], [o, c, -s], [o, s, c]]), zero)
            }
            Self::Planar => Pose::new(rot_z(q[2]), Vec3([q[0], q[1], T::zero()])),
            Self::Spherical => Pose::from_quat(Quat::from_slice(q), zero),
            Self::Floating => Pose::from_quat(Quat::from_slice(q), Vec3([q[4], q[5], q[6]])),
        }
    }

    /// How far two aligned joint frames are from fitting this kind: a distance in metres and an angle in radians,
    /// each of what the kind does not allow. `relative` is the child's joint frame in the parent's.
    #[must_use]
    pub fn misfit(self, relative: &Pose) -> (f64, f64) {
        let [x, y, z] = relative.pos.0;
        let r = &relative.rot;
        // Between the two z axes; by atan2, which is exact near zero.
        let tilt = || elementary::atan2(elementary::hypot(r.0[0][2], r.0[1][2]), r.0[2][2]);
        let turn = || so3::log(Quat::from_matrix(r)).norm();
        let distance = match self {
            Self::Fixed | Self::Revolute | Self::Continuous | Self::Universal | Self::Spherical => {
                relative.pos.norm()
            }
            Self::Prismatic | Self::Cylindrical | Self::PointOnLine => elementary::hypot(x, y),
            Self::Planar => z.abs(),
            Self::Floating => 0.0,
        };
        let angle = match self {
            Self::Fixed | Self::Prismatic => turn(),
            Self::Revolute | Self::Continuous | Self::Cylindrical | Self::Planar => tilt(),
            // The child's x axis stays perpendicular to the parent's z axis.
            Self::Universal => elementary::asin(r.0[2][0].clamp(-1.0, 1.0)).abs(),
            Self::Spherical | Self::Floating | Self::PointOnLine => 0.0,
        };
        (distance, angle)
    }

    /// Column `c` of the joint map in the aligned child frame: the twist of unit rate in coordinate `c`.
    #[inline]
    pub fn motion<T: Real>(self, q: &[T], c: usize) -> Twist<T> {
        let (rot, lin) = (|a| Twist::new(a, Vec3::zero()), |a| Twist::new(Vec3::zero(), a));
        match (self, c) {
            (Self::Revolute | Self::Continuous | Self::Cylindrical, 0) | (Self::Planar, 2) => rot(unit(2)),
            (Self::Prismatic, 0) | (Self::Cylindrical, 1) => lin(unit(2)),
            // Rz then Rx: the first axis is seen through the second rotation.
            (Self::Universal, 0) => {
                let (s, c) = q[1].sin_cos();
                rot(Vec3([T::zero(), s, c]))
            }
            (Self::Universal, 1) => rot(unit(0)),
            // Slides along the parent's axes are seen through the rotation.
            (Self::Planar, i) => {
                let (s, c) = q[2].sin_cos();
                lin(if i == 0 { Vec3([c, -s, T::zero()]) } else { Vec3([s, c, T::zero()]) })
            }
            (Self::Spherical, i) => rot(unit(i)),
            (Self::Floating, i) => {
                if i < 3 {
                    rot(unit(i))
                } else {
                    lin(unit(i - 3))
                }
            }
            _ => Twist::zero(),
        }
    }

    /// Coordinates at which the two joint frames coincide.
    pub fn neutral(self, q: &mut [f64]) {
        q.fill(0.0);
        if matches!(self, Self::Spherical | Self::Floating) {
            q[0] = 1.0;
        }
    }

    /// `q ⊞ u`: moves by the tangent vector `u` on the right.
    #[inline]
    pub fn retract<T: Real>(self, q: &[T], u: &[T], out: &mut [T]) {
        match self {
            Self::Spherical => {
                let r = (Quat::from_slice(q) * so3::exp(Vec3([u[0], u[1], u[2]]))).normalized();
                out[..4].copy_from_slice(&r.to_array());
            }
            Self::Floating => {
                let q0 = Quat::from_slice(q);
                let xi = Twist::from_array([u[0], u[1], u[2], u[3], u[4], u[5]]);
                let (dq, dp) = se3::exp(xi);
                let p = Vec3([q[4], q[5], q[6]]) + q0.rotate(dp);
                out[..4].copy_from_slice(&(q0 * dq).normalized().to_array());
                out[4..7].copy_from_slice(&p.0);
            }
            _ => {
                for ((o, q), u) in out.iter_mut().zip(q).zip(u) {
                    *o = *q + *u;
                }
            }
        }
    }

    /// The tangent vector `u` with `a ⊞ u = b`.
    pub fn difference<T: Real>(self, a: &[T], b: &[T], out: &mut [T]) {
        match self {
            Self::Spherical => {
                let u = so3::log(Quat::from_slice(a).conj() * Quat::from_slice(b));
                out[..3].copy_from_slice(&u.0);
            }
            Self::Floating => {
                let qa = Quat::from_slice(a).conj();
                let dp = Vec3([b[4] - a[4], b[5] - a[5], b[6] - a[6]]);
                let u = se3::log(qa * Quat::from_slice(b), qa.rotate(dp));
                out[..6].copy_from_slice(&u.to_array());
            }
            _ => {
                for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
                    *o = *b - *a;
                }
            }
        }
    }

    /// Rate `u̇` of the tangent vector `u` in `q = q₀ ⊞ u` when the velocity coordinates are `v`.
    #[inline]
    pub fn tangent_rate<T: Real>(self, u: &[T], v: &[T], out: &mut [T]) {
        match self {
            Self::Spherical => {
                let r = so3::dexp_inv(Vec3([u[0], u[1], u[2]]), Vec3([v[0], v[1], v[2]]));
                out[..3].copy_from_slice(&r.0);
            }
            Self::Floating => {
                let xi = Twist::from_array([u[0], u[1], u[2], u[3], u[4], u[5]]);
                let r = se3::dexp_inv(xi, Twist::from_array([v[0], v[1], v[2], v[3], v[4], v[5]]));
                out[..6].copy_from_slice(&r.to_array());
            }
            _ => out.copy_from_slice(v),
        }
    }

    /// Spring potential with stiffness `k` and rest coordinates.
    pub fn spring_energy<T: Real>(self, k: &[f64], rest: &[f64], q: &[T]) -> T {
        match self {
            Self::Spherical => rotation_spring_energy(k[0], Quat::from_slice(q)),
            Self::Floating => {
                let p = Vec3([q[4], q[5], q[6]]);
                rotation_spring_energy(k[0], Quat::from_slice(q)) + p.norm2() * (0.5 * k[0])
            }
            _ => {
                let mut e = T::zero();
                for ((q, k), rest) in q.iter().zip(k).zip(rest) {
                    let d = *q - T::from_f64(*rest);
                    e += d * d * (0.5 * k);
                }
                e
            }
        }
    }

    /// Generalised spring force, added to `out`.
    pub fn add_spring_force<T: Real>(self, k: &[f64], rest: &[f64], q: &[T], out: &mut [T]) {
        match self {
            Self::Spherical | Self::Floating => {
                // τ = −(k/2) vee(R − Rᵀ) = −2k w v; the slide force −k p is turned into the child frame.
                let r = Quat::from_slice(q);
                let torque = r.v * (r.w * (-2.0 * k[0]));
                for i in 0..3 {
                    out[i] += torque[i];
                }
                if self == Self::Floating {
                    let f = r.conj().rotate(Vec3([q[4], q[5], q[6]])).scale(-k[0]);
                    for i in 0..3 {
                        out[3 + i] += f[i];
                    }
                }
            }
            _ => {
                for (((o, q), k), rest) in out.iter_mut().zip(q).zip(k).zip(rest) {
                    *o -= (*q - T::from_f64(*rest)) * *k;
                }
            }
        }
    }
}

/// `k (3 − tr R)/2 = 2 k |v|²` for a unit quaternion `(w, v)`.
fn rotation_spring_energy<T: Real>(k: f64, r: Quat<T>) -> T {
    r.v.norm2() * (2.0 * k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Dual;

    type D = Dual<f64, 1>;

    const KINDS: [JointType; 7] = [
        JointType::Revolute,
        JointType::Prismatic,
        JointType::Cylindrical,
        JointType::Universal,
        JointType::Planar,
        JointType::Spherical,
        JointType::Floating,
    ];

    fn coordinates(kind: JointType) -> Vec<f64> {
        let mut q = vec![0.0; kind.nq()];
        kind.neutral(&mut q);
        let u: Vec<f64> = (0..kind.nv()).map(|i| 0.3 - 0.17 * i as f64).collect();
        let mut out = q.clone();
        kind.retract(&q, &u, &mut out);
        out
    }

    #[test]
    fn motion_columns_are_the_derivative_of_the_transform() {
        for kind in KINDS {
            let q = coordinates(kind);
            for c in 0..kind.nv() {
                let qd: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
                let mut u = vec![D::constant(0.0); kind.nv()];
                u[c].eps[0] = 1.0;
                let mut moved = qd.clone();
                kind.retract(&qd, &u, &mut moved);
                let x = kind.transform(&moved);
                let r = x.rot.value();
                let dr = Mat3(x.rot.0.map(|row| row.map(|d| d.eps[0])));
                let ang = (r.transpose() * dr).vee();
                let lin = r.tr_mul(Vec3(x.pos.0.map(|d| d.eps[0])));
                let s = kind.motion(&q, c);
                assert!((s.ang - ang).norm() < 1e-15 && (s.lin - lin).norm() < 1e-15, "{kind:?} {c}");
            }
        }
    }

    #[test]
    fn a_joint_fits_its_own_motion_and_no_other() {
        for kind in KINDS {
            let (distance, angle) = kind.misfit(&kind.transform(&coordinates(kind)));
            assert!(distance < 1e-15 && angle < 1e-15, "{kind:?}: {distance} {angle}");
        }
        let free = JointType::Floating.transform(&coordinates(JointType::Floating));
        for kind in KINDS.into_iter().filter(|kind| *kind != JointType::Floating) {
            let (distance, angle) = kind.misfit(&free);
            assert!(distance > 0.1 && (angle > 0.01 || kind == JointType::Spherical), "{kind:?}");
        }
        let slid = Pose::new(Mat3::identity(), Vec3([3e-9, 4e-9, 7.0]));
        assert_eq!(JointType::Prismatic.misfit(&slid), (5e-9, 0.0));
    }

    #[test]
    fn difference_undoes_retract() {
        for kind in KINDS {
            let q = coordinates(kind);
            let u: Vec<f64> = (0..kind.nv()).map(|i| -0.4 + 0.21 * i as f64).collect();
            let (mut b, mut back) = (q.clone(), u.clone());
            kind.retract(&q, &u, &mut b);
            kind.difference(&q, &b, &mut back);
            assert!(u.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-15), "{kind:?}");
        }
    }

    #[test]
    fn spring_force_is_minus_the_gradient_of_its_energy() {
        for kind in KINDS {
            let (q, nv) = (coordinates(kind), kind.nv());
            let (k, rest) = (vec![3.5; nv], vec![if kind.nq() > 3 { 0.0 } else { 0.2 }; nv]);
            let mut force = vec![0.0; nv];
            kind.add_spring_force(&k, &rest, &q, &mut force);
            for c in 0..nv {
                let qd: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
                let mut u = vec![D::constant(0.0); nv];
                u[c].eps[0] = 1.0;
                let mut moved = qd.clone();
                kind.retract(&qd, &u, &mut moved);
                let e = kind.spring_energy(&k, &rest, &moved);
                assert!((force[c] + e.eps[0]).abs() < 1e-14, "{kind:?} {c}");
            }
        }
    }

    #[test]
    fn the_triad_is_right_handed_and_identity_for_z() {
        assert_eq!(triad(Vec3([0.0, 0.0, 1.0])), Mat3::identity());
        let n = Vec3([2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0]);
        let b = triad(n);
        assert!((b.determinant() - 1.0).abs() < 1e-15 && b.column(2) == n);
    }
}
