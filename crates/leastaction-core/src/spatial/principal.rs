//! Principal axes of a symmetric 3×3 matrix, by Jacobi rotations.

use crate::scalar::elementary;

/// Eigenvalues and the rotation matrix whose columns are the eigenvectors (right-handed).
pub fn principal(mut a: [[f64; 3]; 3]) -> ([f64; 3], [[f64; 3]; 3]) {
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    // Quadratic convergence: well under ten sweeps for any 3×3 matrix.
    for _ in 0..30 {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        if off <= f64::MIN_POSITIVE {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + elementary::hypot(theta, 1.0));
            let c = 1.0 / elementary::hypot(t, 1.0);
            let s = t * c;
            for row in &mut a {
                let (x, y) = (row[p], row[q]);
                (row[p], row[q]) = (c * x - s * y, s * x + c * y);
            }
            for k in 0..3 {
                let (x, y) = (a[p][k], a[q][k]);
                (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
            }
            (a[p][q], a[q][p]) = (0.0, 0.0);
            for row in &mut v {
                let (x, y) = (row[p], row[q]);
                (row[p], row[q]) = (c * x - s * y, s * x + c * y);
            }
        }
    }
    ([a[0][0], a[1][1], a[2][2]], v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_comes_back_from_its_principal_axes() {
        let a = [[2.0, 0.3, -0.1], [0.3, 1.5, 0.4], [-0.1, 0.4, 3.0]];
        let (values, v) = principal(a);
        for i in 0..3 {
            for j in 0..3 {
                let back: f64 = (0..3).map(|k| v[i][k] * values[k] * v[j][k]).sum();
                assert!((back - a[i][j]).abs() < 1e-14);
            }
        }
    }
}
