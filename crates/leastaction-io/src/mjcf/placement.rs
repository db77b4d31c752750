//! Rotations and placements as MJCF writes them.

use crate::mechanism::Placement;
use crate::spatial::{Mat3, Quat, Vec3};

/// Unit quaternion `w, x, y, z`.
pub(super) type Quaternion = [f64; 4];

pub(super) const IDENTITY: Quaternion = [1.0, 0.0, 0.0, 0.0];

fn quat(q: Quaternion) -> Quat {
    Quat::from_slice(&q)
}

/// `a` then `b` in `a`'s frame.
pub(super) fn multiply(a: Quaternion, b: Quaternion) -> Quaternion {
    (quat(a) * quat(b)).to_array()
}

pub(super) fn conjugate(q: Quaternion) -> Quaternion {
    quat(q).conj().to_array()
}

pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    Vec3(a).cross(Vec3(b)).0
}

pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    Vec3(a).dot(Vec3(b))
}

pub(super) fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    (Vec3(a) + Vec3(b)).0
}

pub(super) fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    (Vec3(a) - Vec3(b)).0
}

pub(super) fn scale(a: [f64; 3], s: f64) -> [f64; 3] {
    (Vec3(a) * s).0
}

pub(super) fn norm(a: [f64; 3]) -> f64 {
    Vec3(a).norm()
}

/// `v` turned by `q`; exact for the identity.
pub(super) fn rotate(q: Quaternion, v: [f64; 3]) -> [f64; 3] {
    quat(q).rotate(Vec3(v)).0
}

/// The unit vector along `v`; `None` if it has no direction.
pub(super) fn unit(v: [f64; 3]) -> Option<[f64; 3]> {
    let length = norm(v);
    // Below this a direction is noise; MuJoCo draws the line at the same place.
    (length > 1e-14).then(|| scale(v, 1.0 / length))
}

/// The unit quaternion along `q`; `None` if it has no direction.
pub(super) fn unit_quaternion(q: Quaternion) -> Option<Quaternion> {
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() < 1e-15 {
        return Some(q);
    }
    (length > 1e-14).then(|| q.map(|x| x / length))
}

/// Rotation by `angle` about a unit `axis`.
pub(super) fn about(axis: [f64; 3], angle: f64) -> Quaternion {
    Quat::about(Vec3(axis), angle).to_array()
}

/// The shortest rotation that takes z to the unit vector `to`.
pub(super) fn from_z(to: [f64; 3]) -> Quaternion {
    let axis = cross([0.0, 0.0, 1.0], to);
    let sine = norm(axis);
    if sine < 1e-14 {
        return if to[2] > 0.0 { IDENTITY } else { [0.0, 1.0, 0.0, 0.0] };
    }
    about(scale(axis, 1.0 / sine), sine.atan2(to[2]))
}

/// The rotation whose columns are the given right-handed orthonormal axes.
pub(super) fn from_axes(x: [f64; 3], y: [f64; 3], z: [f64; 3]) -> Quaternion {
    Quat::from_matrix(&Mat3([0, 1, 2].map(|i| [x[i], y[i], z[i]]))).to_array()
}

/// `a` then `b` in `a`'s frame.
pub(super) fn compose(a: &Placement, b: &Placement) -> Placement {
    Placement { p: add(a.p, rotate(a.q, b.p)), q: multiply(a.q, b.q) }
}

/// The placement that undoes `a`.
pub(super) fn inverse(a: &Placement) -> Placement {
    let q = conjugate(a.q);
    Placement { p: scale(rotate(q, a.p), -1.0), q }
}

/// Rotation matrix, rows first.
pub(super) fn matrix(q: Quaternion) -> [[f64; 3]; 3] {
    quat(q).to_matrix().0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Quaternion, b: Quaternion) -> bool {
        let d = a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>().abs();
        (d - 1.0).abs() < 1e-14
    }

    #[test]
    fn axes_and_matrix_agree() {
        for q in [[0.1, 0.7, -0.3, 0.5], [-0.9, 0.1, 0.2, 0.1], [0.0, 0.0, 1.0, 0.0], [0.05, 0.1, 0.2, 0.9]] {
            let q = unit_quaternion(q).unwrap();
            let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|e| rotate(q, e));
            assert!(close(from_axes(x, y, z), q));
        }
    }

    #[test]
    fn the_shortest_rotation_takes_z_there() {
        for v in [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.6, 0.0, 0.8], [-0.48, 0.64, -0.6]] {
            let z = rotate(from_z(v), [0.0, 0.0, 1.0]);
            assert!(norm(sub(z, v)) < 1e-14);
        }
    }

    #[test]
    fn a_placement_times_its_inverse_is_nothing() {
        let a = Placement { p: [1.0, -2.0, 0.5], q: unit_quaternion([0.3, 0.1, -0.4, 0.8]).unwrap() };
        let one = compose(&inverse(&a), &a);
        assert!(norm(one.p) < 1e-15 && close(one.q, IDENTITY));
    }
}
