//! Corners of the set of weights that explain a motion equally well.

use crate::linalg::{dot, solve};

/// More choices than this are not tried: a null space of that size has no use for its corners.
const MOST_CHOICES: f64 = 2e5;

/// Corners of `{x = Σ y_i v_i : x ≥ 0, e·x = 1}` for a basis `v` of a space: every choice of entries that are zero, as many
/// as leave one point, if that point is in the set. Corners that differ by rounding are one.
pub(super) fn corners(basis: &[Vec<f64>], e: &[f64]) -> Vec<Vec<f64>> {
    let (d, k) = (basis.len(), e.len());
    let mut found: Vec<Vec<f64>> = Vec::new();
    let choices = (0..d.saturating_sub(1)).fold(1.0, |c, i| c * (k - i) as f64 / (i + 1) as f64);
    if d == 0 || d > k || choices > MOST_CHOICES {
        return found;
    }
    let mut choice: Vec<usize> = (0..d - 1).collect();
    loop {
        if let Some(x) = at(basis, e, &choice)
            && !found.iter().any(|f| same(f, &x))
        {
            found.push(x);
        }
        if !next(&mut choice, k) {
            return found;
        }
    }
}

/// The point of the set with the chosen entries zero.
fn at(basis: &[Vec<f64>], e: &[f64], choice: &[usize]) -> Option<Vec<f64>> {
    let (d, k) = (basis.len(), e.len());
    let (mut a, mut y) = (vec![0.0; d * d], vec![0.0; d]);
    for (row, c) in choice.iter().enumerate() {
        for i in 0..d {
            a[row * d + i] = basis[i][*c];
        }
    }
    // The sum is scaled so that all rows are of one size.
    let scale = 1.0 / e.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    for i in 0..d {
        a[(d - 1) * d + i] = scale * dot(&basis[i], e);
    }
    y[d - 1] = scale;
    solve(&mut a, d, &mut y, 1, 1e-11).ok()?;
    let mut x: Vec<f64> = (0..k).map(|j| (0..d).map(|i| y[i] * basis[i][j]).sum()).collect();
    let size = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    for c in choice {
        x[*c] = 0.0;
    }
    if x.iter().any(|x| *x < -1e-7 * size) {
        return None;
    }
    x.iter_mut().for_each(|x| *x = x.max(0.0));
    Some(x)
}

fn same(a: &[f64], b: &[f64]) -> bool {
    let size = a.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-7 * size)
}

/// The next combination of as many out of `k`; false after the last.
fn next(choice: &mut [usize], k: usize) -> bool {
    let d = choice.len();
    let mut at = d;
    loop {
        if at == 0 {
            return false;
        }
        at -= 1;
        if choice[at] + (d - at) < k {
            choice[at] += 1;
            for j in at + 1..d {
                choice[j] = choice[j - 1] + 1;
            }
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corners_of_a_triangle_cut_out_of_a_simplex() {
        // x₀ + x₁ + x₂ + x₃ = 1 with x₀ = x₁: corners (½, ½, 0, 0), e₂, e₃.
        let basis = vec![vec![1.0, 1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0, 0.0], vec![0.0, 0.0, 0.0, 1.0]];
        let mut found = corners(&basis, &[1.0; 4]);
        found.sort_by(|a, b| b[0].total_cmp(&a[0]).then(b[2].total_cmp(&a[2])));
        assert_eq!(found, [vec![0.5, 0.5, 0.0, 0.0], vec![0.0, 0.0, 1.0, 0.0], vec![0.0, 0.0, 0.0, 1.0]]);
    }

    #[test]
    fn a_line_of_mixed_signs_has_no_corner() {
        assert!(corners(&[vec![1.0, -1.0]], &[1.0, 1.0]).is_empty());
    }
}
