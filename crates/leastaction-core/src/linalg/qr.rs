//! Householder QR of tall matrices, and least squares and singular values from the small factor.

use super::BadPivot;
use super::dense::dot;

/// The upper triangular factor of a tall matrix given by columns, row-major `k × k`.
///
/// Rows beyond the number of columns hold no information for least squares with zero right-hand side.
#[must_use]
pub fn triangular_factor(columns: &[Vec<f64>]) -> Vec<f64> {
    let k = columns.len();
    let m = columns.first().map_or(0, Vec::len);
    let mut a = columns.to_vec();
    let mut r = vec![0.0; k * k];
    for j in 0..k.min(m) {
        let norm = a[j][j..].iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 0.0 {
            let alpha = if a[j][j] > 0.0 { -norm } else { norm };
            let mut v: Vec<f64> = a[j][j..].to_vec();
            v[0] -= alpha;
            let vv: f64 = v.iter().map(|x| x * x).sum();
            if vv > 0.0 {
                for column in a.iter_mut().skip(j) {
                    let f = 2.0 * dot(&v, &column[j..]) / vv;
                    for (c, v) in column[j..].iter_mut().zip(&v) {
                        *c -= f * v;
                    }
                }
            }
        }
        for c in j..k {
            r[j * k + c] = a[c][j];
        }
    }
    r
}

/// Least squares from the triangular factor of `[A, b]`, row-major `k × k`: the `x` that minimises `|A x − b|`.
///
/// # Errors
/// If the columns of `A` depend on each other.
pub fn back_substitute(r: &[f64], k: usize) -> Result<Vec<f64>, BadPivot> {
    let mut x = vec![0.0; k - 1];
    for i in (0..k - 1).rev() {
        let mut sum = r[i * k + k - 1];
        for j in i + 1..k - 1 {
            sum -= r[i * k + j] * x[j];
        }
        if r[i * k + i] == 0.0 {
            return Err(BadPivot { row: i });
        }
        x[i] = sum / r[i * k + i];
    }
    Ok(x)
}

/// Singular values (descending) and right singular vectors (rows) of a square matrix, by one-sided Jacobi.
#[must_use]
pub fn singular_values(a: &[f64], k: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
    // Columns of A V converge to orthogonal ones.
    let mut columns: Vec<Vec<f64>> = (0..k).map(|c| (0..k).map(|r| a[r * k + c]).collect()).collect();
    let mut v: Vec<Vec<f64>> =
        (0..k).map(|c| (0..k).map(|r| f64::from(u8::from(r == c))).collect()).collect();
    for _ in 0..60 {
        let mut off: f64 = 0.0;
        for p in 0..k {
            for q in p + 1..k {
                let (app, aqq) = (dot(&columns[p], &columns[p]), dot(&columns[q], &columns[q]));
                let apq = dot(&columns[p], &columns[q]);
                if apq.abs() <= 1e-16 * (app * aqq).sqrt() || apq == 0.0 {
                    continue;
                }
                off = off.max(apq.abs() / (app * aqq).sqrt());
                let zeta = (aqq - app) / (2.0 * apq);
                let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                let s = c * t;
                for m in [&mut columns, &mut v] {
                    for i in 0..k {
                        let (x, y) = (m[p][i], m[q][i]);
                        m[p][i] = c * x - s * y;
                        m[q][i] = s * x + c * y;
                    }
                }
            }
        }
        if off < 1e-15 {
            break;
        }
    }
    let mut order: Vec<(f64, usize)> =
        columns.iter().enumerate().map(|(i, c)| (c.iter().map(|x| x * x).sum::<f64>().sqrt(), i)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let vectors = order.iter().map(|(_, i)| v[*i].clone()).collect();
    (order.into_iter().map(|(s, _)| s).collect(), vectors)
}

/// Minimises `|R x|` subject to `e·x = 1` over the columns in `support`, by a null-space step.
///
/// Columns of `r` are `k` long, row-major. Returns `x` on the support.
pub(super) fn constrained_least_squares(
    r: &[f64],
    k: usize,
    e: &[f64],
    support: &[usize],
) -> Option<Vec<f64>> {
    let m = support.len();
    let es: Vec<f64> = support.iter().map(|i| e[*i]).collect();
    let norm2: f64 = es.iter().map(|x| x * x).sum();
    if norm2 == 0.0 {
        return None;
    }
    let column = |x: &[f64]| -> Vec<f64> {
        (0..k).map(|row| support.iter().zip(x).map(|(c, x)| r[row * k + c] * x).sum()).collect()
    };
    let x0: Vec<f64> = es.iter().map(|e| e / norm2).collect();
    if m == 1 {
        return Some(x0);
    }
    // Householder vector that maps e to a multiple of the first axis; the other columns of Q span its null space.
    let norm = norm2.sqrt();
    let mut v = es.clone();
    v[0] += if es[0] >= 0.0 { norm } else { -norm };
    let vv: f64 = v.iter().map(|x| x * x).sum();
    let null: Vec<Vec<f64>> = (1..m)
        .map(|j| {
            let f = 2.0 * v[j] / vv;
            (0..m).map(|i| f64::from(u8::from(i == j)) - f * v[i]).collect()
        })
        .collect();
    // Least squares: R N y = −R x₀. QR of [R N, −R x₀].
    let mut columns: Vec<Vec<f64>> = null.iter().map(|n| column(n)).collect();
    columns.push(column(&x0).iter().map(|x| -x).collect());
    let y = back_substitute(&triangular_factor(&columns), m).ok()?;
    Some((0..m).map(|i| x0[i] + null.iter().zip(&y).map(|(n, y)| n[i] * y).sum::<f64>()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Vec<f64>> {
        (0..4).map(|c| (0..9).map(|r| ((r * 5 + c * 3) as f64).sin() + 0.1 * c as f64).collect()).collect()
    }

    #[test]
    fn the_triangular_factor_has_the_gram_matrix() {
        let columns = columns();
        let r = triangular_factor(&columns);
        for i in 0..4 {
            for j in 0..4 {
                let gram: f64 = columns[i].iter().zip(&columns[j]).map(|(a, b)| a * b).sum();
                let back: f64 = (0..4).map(|k| r[k * 4 + i] * r[k * 4 + j]).sum();
                assert!((gram - back).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn singular_values_of_a_rank_one_matrix() {
        let a: Vec<f64> = (0..9).map(|i| ((i / 3) as f64 + 1.0) * ((i % 3) as f64 - 0.5)).collect();
        let (s, v) = singular_values(&a, 3);
        assert!(s[1] < 1e-14 * s[0] && s[2] < 1e-14 * s[0]);
        let product: f64 = a[..3].iter().zip(&v[2]).map(|(a, v)| a * v).sum();
        assert!(product.abs() < 1e-14);
    }

    #[test]
    fn constrained_least_squares_is_stationary_on_the_constraint() {
        let r = triangular_factor(&columns());
        let e = [1.0, 2.0, 0.5, 1.5];
        let x = constrained_least_squares(&r, 4, &e, &[0, 1, 3]).unwrap();
        let full = [x[0], x[1], 0.0, x[2]];
        assert!((full.iter().zip(&e).map(|(x, e)| x * e).sum::<f64>() - 1.0).abs() < 1e-14);
        let rx: Vec<f64> = (0..4).map(|i| (0..4).map(|j| r[i * 4 + j] * full[j]).sum()).collect();
        let g: Vec<f64> = (0..4).map(|j| (0..4).map(|i| r[i * 4 + j] * rx[i]).sum()).collect();
        // The gradient is a multiple of e on the support.
        let (a, b, c) = (g[0] / e[0], g[1] / e[1], g[3] / e[3]);
        assert!((a - b).abs() < 1e-12 && (a - c).abs() < 1e-12);
    }
}
