//! Boundary conditions by exact elimination.
//!
//! At `t = 0` the derivatives of orders `0..=d` of a clamped spline involve the control points `0..=d` only, and
//! triangularly: `θ_d = θ⁽ᵈ⁾`-differences unrolled from `q⁽ᵈ⁾(0) = θ⁽ᵈ⁾_0` (5.1). The end is the mirror image. Those
//! control points are fixed and leave the unknowns: no penalty, no multiplier, and the condition holds to the last bit.

use crate::spline::BSpline;

/// The first control points that give the `derivatives` (position first) at `t = 0`; `n` columns, row by row.
#[must_use]
pub fn start_control_points(
    derivatives: &[Vec<f64>],
    n_control: usize,
    degree: usize,
    duration: f64,
) -> Vec<f64> {
    // Problems are checked before they get here; a space that does not exist has no control points to fix.
    let Ok(spline) = BSpline::new(n_control, degree, duration) else { return Vec::new() };
    unroll(derivatives, |d, c| 1.0 / spline.difference_factor(d, c))
}

/// The last control points, in order, that give the `derivatives` at the end.
#[must_use]
pub fn end_control_points(
    derivatives: &[Vec<f64>],
    n_control: usize,
    degree: usize,
    duration: f64,
) -> Vec<f64> {
    // Time reversed: odd derivatives change sign, the uniform clamped knots are symmetric.
    let mirrored: Vec<Vec<f64>> = derivatives
        .iter()
        .enumerate()
        .map(|(d, row)| row.iter().map(|x| if d % 2 == 1 { -x } else { *x }).collect())
        .collect();
    let points = start_control_points(&mirrored, n_control, degree, duration);
    let n = derivatives.first().map_or(1, Vec::len).max(1);
    points.chunks(n).rev().flatten().copied().collect()
}

/// From `θ⁽ᵈ⁾_0` to `θ_d`: level by level, `θ⁽ᵈ⁻¹⁾_{c+1} = θ⁽ᵈ⁻¹⁾_c + θ⁽ᵈ⁾_c / factor`.
fn unroll(derivatives: &[Vec<f64>], step: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let count = derivatives.len();
    let n = derivatives.first().map_or(0, Vec::len);
    let mut points = vec![0.0; count * n];
    for j in 0..n {
        // `level[c]` holds θ⁽ᵈ⁾_c for the level at hand; begin at the highest with its single entry.
        let mut level = vec![derivatives[count - 1][j]];
        for d in (1..count).rev() {
            let mut below = vec![derivatives[d - 1][j]];
            for (c, x) in level.iter().enumerate() {
                below.push(below[c] + x * step(d, c));
            }
            level = below;
        }
        for (c, x) in level.iter().enumerate() {
            points[c * n + j] = *x;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::super::{Sampling, SplineTable};
    use super::*;

    #[test]
    fn eliminated_control_points_give_the_boundary_derivatives() {
        let (n_control, degree, duration) = (12, 5, 1.7);
        let start = vec![vec![0.3, -1.0], vec![2.0, 0.5], vec![-3.0, 0.0], vec![7.0, 1.0]];
        let end = vec![vec![1.3, 1.0], vec![-2.0, 0.25], vec![4.0, 0.0]];
        let mut theta = vec![0.123; n_control * 2];
        let first = start_control_points(&start, n_control, degree, duration);
        let last = end_control_points(&end, n_control, degree, duration);
        theta[..8].copy_from_slice(&first);
        theta[18..].copy_from_slice(&last);
        let table = SplineTable::new(n_control, degree, duration, 4, Sampling::Uniform { count: 2 }).unwrap();
        let mut x = vec![0.0; 2 * 4 * 2];
        table.add_states(&theta, 2, &mut x);
        for d in 0..4 {
            for j in 0..2 {
                assert!((x[d * 2 + j] - start[d][j]).abs() < 1e-12, "start {d} {j}");
                if d < 3 {
                    assert!((x[8 + d * 2 + j] - end[d][j]).abs() < 1e-12, "end {d} {j}");
                }
            }
        }
    }
}
