//! Rotations and placements as files write them: the algebra of `spatial` on plain arrays.

use crate::mechanism::Placement;
use crate::spatial::{Mat3, Quat, Vec3};
use leastaction_core::scalar::elementary;

/// Unit quaternion `w, x, y, z`.
pub(crate) type Quaternion = [f64; 4];

pub(crate) const IDENTITY: Quaternion = [1.0, 0.0, 0.0, 0.0];

/// Unit quaternion `w, x, y, z` of `Rz(yaw) Ry(pitch) Rx(roll)`, the fixed-axis convention of URDF.
pub(crate) fn quaternion_from_rpy([roll, pitch, yaw]: [f64; 3]) -> Quaternion {
    let (sr, cr) = elementary::sin_cos(0.5 * roll);
    let (sp, cp) = elementary::sin_cos(0.5 * pitch);
    let (sy, cy) = elementary::sin_cos(0.5 * yaw);
    [
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    ]
}

/// Roll, pitch, yaw of a unit quaternion.
///
/// Yaw is taken first and removed from the matrix before roll is read off. Near pitch = ±π/2 only the sum or
/// difference of the two is well defined, and this way the error of one is made good by the other.
pub(crate) fn rpy_from_quaternion(q: Quaternion) -> [f64; 3] {
    let r = matrix(q);
    let yaw = elementary::atan2(r[1][0], r[0][0]);
    let (s, c) = elementary::sin_cos(yaw);
    let pitch = elementary::atan2(-r[2][0], c * r[0][0] + s * r[1][0]);
    let roll = elementary::atan2(s * r[0][2] - c * r[1][2], c * r[1][1] - s * r[0][1]);
    [roll, pitch, yaw]
}

fn quat(q: Quaternion) -> Quat {
    Quat::from_slice(&q)
}

/// `a` then `b` in `a`'s frame.
pub(crate) fn multiply(a: Quaternion, b: Quaternion) -> Quaternion {
    (quat(a) * quat(b)).to_array()
}

pub(crate) fn conjugate(q: Quaternion) -> Quaternion {
    quat(q).conj().to_array()
}

pub(crate) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    Vec3(a).cross(Vec3(b)).0
}

pub(crate) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    Vec3(a).dot(Vec3(b))
}

pub(crate) fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    (Vec3(a) + Vec3(b)).0
}

pub(crate) fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    (Vec3(a) - Vec3(b)).0
}

pub(crate) fn scale(a: [f64; 3], s: f64) -> [f64; 3] {
    (Vec3(a) * s).0
}

pub(crate) fn norm(a: [f64; 3]) -> f64 {
    Vec3(a).norm()
}

/// `v` turned by `q`; exact for the identity.
pub(crate) fn rotate(q: Quaternion, v: [f64; 3]) -> [f64; 3] {
    quat(q).rotate(Vec3(v)).0
}

/// The unit vector along `v`; `None` if it has no direction.
pub(crate) fn unit(v: [f64; 3]) -> Option<[f64; 3]> {
    let length = norm(v);
    // Below this a direction is noise; MuJoCo draws the line at the same place.
    (length > 1e-14).then(|| scale(v, 1.0 / length))
}

/// The unit quaternion along `q`; `None` if it has no direction.
pub(crate) fn unit_quaternion(q: Quaternion) -> Option<Quaternion> {
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() < 1e-15 {
        return Some(q);
    }
    (length > 1e-14).then(|| q.map(|x| x / length))
}

/// Rotation by `angle` about a unit `axis`.
pub(crate) fn about(axis: [f64; 3], angle: f64) -> Quaternion {
    Quat::about(Vec3(axis), angle).to_array()
}

/// The shortest rotation that takes z to the unit vector `to`.
pub(crate) fn from_z(to: [f64; 3]) -> Quaternion {
    let axis = cross([0.0, 0.0, 1.0], to);
    let sine = norm(axis);
    if sine < 1e-14 {
        return if to[2] > 0.0 { IDENTITY } else { [0.0, 1.0, 0.0, 0.0] };
    }
    about(scale(axis, 1.0 / sine), elementary::atan2(sine, to[2]))
}

/// The rotation whose columns are the given right-handed orthonormal axes.
pub(crate) fn from_axes(x: [f64; 3], y: [f64; 3], z: [f64; 3]) -> Quaternion {
    Quat::from_matrix(&Mat3([0, 1, 2].map(|i| [x[i], y[i], z[i]]))).to_array()
}

/// `a` then `b` in `a`'s frame.
pub(crate) fn compose(a: &Placement, b: &Placement) -> Placement {
    Placement { p: add(a.p, rotate(a.q, b.p)), q: multiply(a.q, b.q) }
}

/// The placement that undoes `a`.
pub(crate) fn inverse(a: &Placement) -> Placement {
    let q = conjugate(a.q);
    Placement { p: scale(rotate(q, a.p), -1.0), q }
}

/// Rotation matrix, rows first.
pub(crate) fn matrix(q: Quaternion) -> [[f64; 3]; 3] {
    quat(q).to_matrix().0
}

/// `R I Rᵀ` of an inertia `xx, yy, zz, xy, xz, yz`. The identity leaves every bit as it was.
pub(crate) fn rotate_inertia(q: Quaternion, inertia: [f64; 6]) -> [f64; 6] {
    if q == IDENTITY {
        return inertia;
    }
    let r = matrix(q);
    let [xx, yy, zz, xy, xz, yz] = inertia;
    let full = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    // Column j of `half` is I (Rᵀ eⱼ).
    let half: [[f64; 3]; 3] = std::array::from_fn(|j| full.map(|row| dot(row, r[j])));
    let entry = |i: usize, j: usize| dot(r[i], half[j]);
    [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_2, PI};

    /// Distance of two rotations, blind to the sign of the quaternion.
    fn distance(a: [f64; 4], b: [f64; 4]) -> f64 {
        let along =
            |s: f64| (0..4).map(|i| (a[i] - s * b[i]).abs()).fold(0.0, leastaction_core::scalar::maximum);
        along(1.0).min(along(-1.0))
    }

    #[test]
    fn no_rotation_is_exactly_the_identity() {
        assert_eq!(quaternion_from_rpy([0.0; 3]), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn yaw_is_applied_last() {
        let r = quaternion_from_rpy([FRAC_PI_2, 0.0, FRAC_PI_2]);
        // e_y → e_z by roll, which yaw leaves alone; e_x → e_y by yaw.
        let z = rotate(r, [0.0, 1.0, 0.0]);
        let y = rotate(r, [1.0, 0.0, 0.0]);
        assert!((z[2] - 1.0).abs() < 1e-15 && (y[1] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn angles_survive_the_way_back_even_near_the_singular_pitch() {
        for pitch in [0.0, 0.3, -1.2, FRAC_PI_2, FRAC_PI_2 + 4e-6, FRAC_PI_2 - 3e-7, -FRAC_PI_2, 1.57, PI] {
            for roll in [0.0, 1.0, -2.5, PI] {
                for yaw in [0.0, -0.7, 3.0, 1e-9] {
                    let q = quaternion_from_rpy([roll, pitch, yaw]);
                    let back = quaternion_from_rpy(rpy_from_quaternion(q));
                    assert!(distance(q, back) < 2e-15, "{roll} {pitch} {yaw}: {q:?} {back:?}");
                }
            }
        }
    }

    #[test]
    fn a_placement_times_its_inverse_is_the_identity() {
        let a = Placement { p: [1.0, -2.0, 0.5], q: quaternion_from_rpy([0.3, 0.2, -1.0]) };
        let i = compose(&a, &inverse(&a));
        assert!(i.p.iter().all(|x| x.abs() < 1e-15) && distance(i.q, [1.0, 0.0, 0.0, 0.0]) < 1e-15);
    }

    #[test]
    fn a_quarter_turn_about_z_swaps_the_moments_of_x_and_y() {
        let q = quaternion_from_rpy([0.0, 0.0, FRAC_PI_2]);
        let turned = rotate_inertia(q, [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]);
        let expected = [2.0, 1.0, 3.0, -0.1, -0.3, 0.2];
        for (a, b) in turned.iter().zip(expected) {
            assert!((a - b).abs() < 1e-15);
        }
    }

    #[test]
    fn axes_and_matrix_agree() {
        for q in [[0.1, 0.7, -0.3, 0.5], [-0.9, 0.1, 0.2, 0.1], [0.0, 0.0, 1.0, 0.0], [0.05, 0.1, 0.2, 0.9]] {
            let q = unit_quaternion(q).unwrap();
            let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|e| rotate(q, e));
            assert!(distance(from_axes(x, y, z), q) < 1e-14);
        }
    }

    #[test]
    fn the_shortest_rotation_takes_z_there() {
        for v in [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.6, 0.0, 0.8], [-0.48, 0.64, -0.6]] {
            let z = rotate(from_z(v), [0.0, 0.0, 1.0]);
            assert!(norm(sub(z, v)) < 1e-14);
        }
    }
}
