//! Rotations as files write them, and the little algebra of [`Placement`]s that readers and writers need.

use crate::mechanism::Placement;

/// A rotation matrix by rows.
pub(crate) type Rotation = [[f64; 3]; 3];

/// Unit quaternion `w, x, y, z` of `Rz(yaw) Ry(pitch) Rx(roll)`, the fixed-axis convention of URDF.
pub(crate) fn quaternion_from_rpy([roll, pitch, yaw]: [f64; 3]) -> [f64; 4] {
    let (sr, cr) = (0.5 * roll).sin_cos();
    let (sp, cp) = (0.5 * pitch).sin_cos();
    let (sy, cy) = (0.5 * yaw).sin_cos();
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
pub(crate) fn rpy_from_quaternion(q: [f64; 4]) -> [f64; 3] {
    let r = rotation(q);
    let yaw = r[1][0].atan2(r[0][0]);
    let (s, c) = yaw.sin_cos();
    let pitch = (-r[2][0]).atan2(c * r[0][0] + s * r[1][0]);
    let roll = (s * r[0][2] - c * r[1][2]).atan2(c * r[1][1] - s * r[0][1]);
    [roll, pitch, yaw]
}

/// The matrix of a unit quaternion.
pub(crate) fn rotation([w, x, y, z]: [f64; 4]) -> Rotation {
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

/// `R v`.
pub(crate) fn rotate(r: &Rotation, v: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| r[i][0] * v[0] + r[i][1] * v[1] + r[i][2] * v[2])
}

/// `a b`.
pub(crate) fn multiply([aw, ax, ay, az]: [f64; 4], [bw, bx, by, bz]: [f64; 4]) -> [f64; 4] {
    [
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    ]
}

/// `X_AC = X_AB X_BC`.
pub(crate) fn compose(a: &Placement, b: &Placement) -> Placement {
    let p = rotate(&rotation(a.q), b.p);
    Placement { p: std::array::from_fn(|i| a.p[i] + p[i]), q: multiply(a.q, b.q) }
}

/// `X_BA` of `X_AB`.
pub(crate) fn inverse(a: &Placement) -> Placement {
    let q = [a.q[0], -a.q[1], -a.q[2], -a.q[3]];
    Placement { p: rotate(&rotation(q), a.p).map(|x| -x), q }
}

/// `R I Rᵀ` of an inertia `xx, yy, zz, xy, xz, yz`. The identity leaves every bit as it was.
pub(crate) fn rotate_inertia(q: [f64; 4], inertia: [f64; 6]) -> [f64; 6] {
    if q == [1.0, 0.0, 0.0, 0.0] {
        return inertia;
    }
    let r = rotation(q);
    let [xx, yy, zz, xy, xz, yz] = inertia;
    let full = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    // Column j of `half` is I (Rᵀ eⱼ).
    let half: [[f64; 3]; 3] = std::array::from_fn(|j| rotate(&full, r[j]));
    let entry = |i: usize, j: usize| r[i][0] * half[j][0] + r[i][1] * half[j][1] + r[i][2] * half[j][2];
    [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)]
}

/// The unit quaternion along `q`; `None` for one without direction.
pub(crate) fn normalised(q: [f64; 4]) -> Option<[f64; 4]> {
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    (norm > 0.0 && norm.is_finite()).then(|| if norm == 1.0 { q } else { q.map(|x| x / norm) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_2, PI};

    /// Distance of two rotations, blind to the sign of the quaternion.
    fn distance(a: [f64; 4], b: [f64; 4]) -> f64 {
        let along = |s: f64| (0..4).map(|i| (a[i] - s * b[i]).abs()).fold(0.0, f64::max);
        along(1.0).min(along(-1.0))
    }

    #[test]
    fn no_rotation_is_exactly_the_identity() {
        assert_eq!(quaternion_from_rpy([0.0; 3]), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn yaw_is_applied_last() {
        let r = rotation(quaternion_from_rpy([FRAC_PI_2, 0.0, FRAC_PI_2]));
        // e_y → e_z by roll, which yaw leaves alone; e_x → e_y by yaw.
        let z = rotate(&r, [0.0, 1.0, 0.0]);
        let y = rotate(&r, [1.0, 0.0, 0.0]);
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
}
