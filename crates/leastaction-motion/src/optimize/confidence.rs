//! Confidence intervals of weights: numbers on the simplex, by their likelihood there.

use crate::linalg::{dot, simplex_least_squares, triangular_factor};

/// For residuals `Σ w_t F_t` of noise `σ`, `w` on the simplex: the values of each number short of which
///
/// ```text
/// min { |F w|² : w ≥ 0, Σ w = 1, w_t = x }  >  min { |F w|² : w ≥ 0, Σ w = 1 } + σ²
/// ```
///
/// on both sides of its best value. Where no number comes near zero these are the standard error on both sides. Elsewhere they are nearer: what the
/// simplex forbids the others leaves less room for this one, and none has more than the whole simplex.
pub(super) fn simplex_intervals(columns: &[Vec<f64>], best: &[f64], sigma: f64) -> Vec<(f64, f64)> {
    let k = columns.len();
    let r = triangular_factor(columns);
    let column = |j: usize| -> Vec<f64> { (0..k).map(|i| r[i * k + j]).collect() };
    let columns: Vec<Vec<f64>> = (0..k).map(column).collect();
    let least = misfit(&columns, best) + sigma * sigma;
    (0..k)
        .map(|t| {
            // With `w_t = x` the others are `1 − x` times a point of a smaller simplex.
            let reached = |x: f64| {
                let others: Vec<Vec<f64>> = (0..k)
                    .filter(|j| *j != t)
                    .map(|j| {
                        columns[j].iter().zip(&columns[t]).map(|(c, own)| (1.0 - x) * c + x * own).collect()
                    })
                    .collect();
                let found = simplex_least_squares(&triangular_factor(&others), k - 1, &vec![1.0; k - 1]);
                found.is_some_and(|y| misfit(&others, &y) <= least)
            };
            let side = |end: f64| {
                let (mut inside, mut outside) = (0.0, (end - best[t]).abs());
                if outside == 0.0 || reached(end) {
                    return outside;
                }
                for _ in 0..50 {
                    let mid = 0.5 * (inside + outside);
                    let x = best[t] + if end > best[t] { mid } else { -mid };
                    if reached(x) { inside = mid } else { outside = mid }
                }
                outside
            };
            (best[t] - side(0.0), best[t] + side(1.0))
        })
        .collect()
}

/// `|Σ w_t F_t|²`.
fn misfit(columns: &[Vec<f64>], w: &[f64]) -> f64 {
    let mut sum = vec![0.0; columns.first().map_or(0, Vec::len)];
    for (c, w) in columns.iter().zip(w) {
        sum.iter_mut().zip(c).for_each(|(s, c)| *s += w * c);
    }
    dot(&sum, &sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The further side of each interval.
    fn deviations(columns: &[Vec<f64>], best: &[f64], sigma: f64) -> Vec<f64> {
        let intervals = simplex_intervals(columns, best, sigma);
        intervals.iter().zip(best).map(|((low, high), x)| (high - x).max(x - low)).collect()
    }

    /// Weights with known covariance: inside, next to the boundary, and where the recording says next to nothing.
    #[test]
    fn intervals_on_the_simplex_are_standard_errors_inside_and_room_at_the_boundary() {
        // |F w|² = (w₀ − a)²/s² + (w₁ − b)²/u², F folded for Σ w = 1.
        let folded = |a: f64, b: f64, s: f64, u: f64| -> Vec<Vec<f64>> {
            vec![vec![(1.0 - a) / s, -b / u], vec![-a / s, (1.0 - b) / u], vec![-a / s, -b / u]]
        };
        let inside = deviations(&folded(0.3, 0.3, 0.01, 0.02), &[0.3, 0.3, 0.4], 1.0);
        let third = (0.01f64.powi(2) + 0.02f64.powi(2)).sqrt();
        for (found, expected) in inside.iter().zip([0.01, 0.02, third]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        // The second is known badly, but has no more room than the others leave it.
        let room = deviations(&folded(0.9, 0.05, 0.001, 10.0), &[0.9, 0.05, 0.05], 1.0);
        assert!((room[0] - 0.001).abs() < 1e-6 && (room[1] - 0.05).abs() < 0.002, "{room:?}");
        // A corner: the estimate without the simplex would be below zero by two standard errors of the second.
        let corner = deviations(&folded(1.02, -0.02, 0.5, 0.01), &[1.0, 0.0, 0.0], 1.0);
        let expected = ((4.0f64 + 1.0).sqrt() - 2.0) * 0.01;
        assert!((corner[1] - expected).abs() < 1e-3 && corner[0] <= 1.0, "{corner:?}");
        // Two that do the same: only their sum is known, and each may be anything up to it.
        let twins = [vec![0.4, -0.3], vec![0.4, -0.3], vec![-0.6, 0.45]];
        let found = simplex_intervals(&twins, &[0.2, 0.4, 0.4], 1e-3);
        assert!(found[0].0 == 0.0 && (found[0].1 - 0.6).abs() < 2e-3, "{found:?}");
        assert!((found[2].0 - 0.4).abs() < 2e-3 && (found[2].1 - 0.4).abs() < 2e-3, "{found:?}");
        // Nothing is known: all of the simplex.
        let nothing = deviations(&folded(0.2, 0.3, 1e6, 1e6), &[0.2, 0.3, 0.5], 1.0);
        assert!(nothing.iter().zip([0.8, 0.7, 0.5]).all(|(a, b)| (a - b).abs() < 1e-15), "{nothing:?}");
    }
}
