//! Non-negative least squares, and the constrained form the inverse problem needs:
//! `min |R x|  s.t.  e·x = 1,  x ≥ 0`.
//!
//! The support is found by the active-set method of Lawson and Hanson on `[ρ eᵀ; R]`; the final solve on the support
//! satisfies the equality exactly, so that the large weight ρ costs no digits.

use super::dense::dot;
use super::qr::{back_substitute, constrained_least_squares, triangular_factor};

/// `min |A x − b|, x ≥ 0` for a matrix given by columns (Lawson and Hanson).
#[must_use]
pub fn nnls(columns: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let k = columns.len();
    let mut x = vec![0.0; k];
    let mut passive: Vec<usize> = Vec::new();
    let scale = columns.iter().map(|c| dot(c, c).sqrt()).fold(0.0, f64::max) * dot(b, b).sqrt();
    for _ in 0..30 * (k + 1) {
        let mut residual = b.to_vec();
        for &j in &passive {
            residual.iter_mut().zip(&columns[j]).for_each(|(r, a)| *r -= x[j] * a);
        }
        let candidate = (0..k)
            .filter(|j| !passive.contains(j))
            .map(|j| (dot(&columns[j], &residual), j))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match candidate {
            Some((g, j)) if g > 1e-13 * scale => passive.push(j),
            _ => break,
        }
        loop {
            let Some(s) = least_squares(columns, b, &passive) else {
                passive.pop();
                break;
            };
            if s.iter().all(|s| *s > 0.0) {
                for (&j, s) in passive.iter().zip(&s) {
                    x[j] = *s;
                }
                break;
            }
            // Walk towards the unconstrained solution until the first variable reaches zero.
            let mut alpha: f64 = 1.0;
            for (&j, s) in passive.iter().zip(&s) {
                if *s <= 0.0 {
                    alpha = alpha.min(x[j] / (x[j] - s));
                }
            }
            for (&j, s) in passive.iter().zip(&s) {
                x[j] += alpha * (s - x[j]);
            }
            passive.retain(|&j| x[j] > 1e-14);
            for j in 0..k {
                if !passive.contains(&j) {
                    x[j] = 0.0;
                }
            }
            if passive.is_empty() {
                break;
            }
        }
    }
    x
}

fn least_squares(columns: &[Vec<f64>], b: &[f64], support: &[usize]) -> Option<Vec<f64>> {
    let mut picked: Vec<Vec<f64>> = support.iter().map(|j| columns[*j].clone()).collect();
    picked.push(b.to_vec());
    back_substitute(&triangular_factor(&picked), picked.len()).ok()
}

/// `min |R x|  s.t.  e·x = 1, x ≥ 0`, for a `k × k` matrix; entries of `e` are zero or positive.
///
/// Returns `None` if no non-negative `x` has `e·x = 1`.
#[must_use]
pub fn simplex_least_squares(r: &[f64], k: usize, e: &[f64]) -> Option<Vec<f64>> {
    // The weight only has to find the support.
    let size = r.iter().fold(0.0, |m: f64, x| m.max(x.abs())).max(f64::MIN_POSITIVE);
    let rho = 1e3 * size / e.iter().fold(0.0, |m: f64, x| m.max(x.abs())).max(f64::MIN_POSITIVE);
    let columns: Vec<Vec<f64>> = (0..k)
        .map(|c| {
            let mut column = vec![rho * e[c]];
            column.extend((0..k).map(|row| r[row * k + c]));
            column
        })
        .collect();
    let mut b = vec![0.0; k + 1];
    b[0] = rho;
    let mut x = nnls(&columns, &b);
    let mut support: Vec<usize> = (0..k).filter(|j| x[*j] > 0.0).collect();
    for _ in 0..4 * k + 4 {
        let solved = constrained_least_squares(r, k, e, &support)?;
        let worst = (0..support.len()).min_by(|a, b| solved[*a].total_cmp(&solved[*b]))?;
        if solved[worst] < 0.0 && support.len() > 1 {
            support.remove(worst);
            continue;
        }
        x = vec![0.0; k];
        for (j, s) in support.iter().zip(&solved) {
            x[*j] = *s;
        }
        // Gradient of ½|Rx|² minus the multiple of e that the equality explains.
        let rx: Vec<f64> = (0..k).map(|i| (0..k).map(|j| r[i * k + j] * x[j]).sum()).collect();
        let g: Vec<f64> = (0..k).map(|j| (0..k).map(|i| r[i * k + j] * rx[i]).sum()).collect();
        let lambda: f64 = g.iter().zip(&x).map(|(g, x)| g * x).sum();
        let entering = (0..k)
            .filter(|j| !support.contains(j))
            .map(|j| (g[j] - lambda * e[j], j))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match entering {
            Some((slack, j)) if slack < -1e-12 * size * size * x.iter().fold(0.0, |m: f64, x| m.max(*x)) => {
                support.push(j);
                support.sort_unstable();
            }
            _ => return Some(x),
        }
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conditions_of_optimality_hold() {
        let columns: Vec<Vec<f64>> =
            (0..5).map(|c| (0..8).map(|r| ((r * 3 + c * 7) as f64).sin()).collect()).collect();
        let b: Vec<f64> = (0..8).map(|r| ((r * r) as f64).cos()).collect();
        let x = nnls(&columns, &b);
        let mut residual = b;
        for (c, x) in columns.iter().zip(&x) {
            residual.iter_mut().zip(c).for_each(|(r, a)| *r -= x * a);
        }
        for (c, x) in columns.iter().zip(&x) {
            let g: f64 = c.iter().zip(&residual).map(|(a, r)| a * r).sum();
            assert!(*x >= 0.0 && g <= 1e-12 && (*x == 0.0 || g.abs() < 1e-12));
        }
    }

    #[test]
    fn a_null_vector_inside_the_simplex_is_found_exactly() {
        // Columns a, b, c with 0.2 a + 0.3 b + 0.5 c = 0.
        let (a, b) = (vec![1.0, 2.0, -1.0], vec![0.5, -1.0, 3.0]);
        let c: Vec<f64> = a.iter().zip(&b).map(|(a, b)| -(0.2 * a + 0.3 * b) / 0.5).collect();
        let r = triangular_factor(&[a, b, c]);
        let x = simplex_least_squares(&r, 3, &[1.0; 3]).unwrap();
        for (x, expected) in x.iter().zip([0.2, 0.3, 0.5]) {
            assert!((x - expected).abs() < 1e-14);
        }
    }
}
