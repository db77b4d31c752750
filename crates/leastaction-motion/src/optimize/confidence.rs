//! Confidence intervals of a number that cannot be negative, and of numbers on the simplex.
//!
//! An estimate `x` with normal error `σ` of a mean `μ ≥ 0`: the interval of Feldman and Cousins (1998) covers the mean in
//! 68.27 % of all cases whatever it is, zero included, and is never empty. Far from zero it is `x ± σ`.

use crate::linalg::{dot, simplex_least_squares, triangular_factor};

/// One sigma.
const LEVEL: f64 = 0.682_689_492_137_085_9;

/// Probability that a standard normal number is below `x`: the series of positive terms for erf.
fn below(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - below(-x);
    }
    if x > 8.0 {
        return 1.0;
    }
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term > 1e-17 * sum {
        n += 2.0;
        term *= x * x / n;
        sum += term;
    }
    0.5 + (-0.5 * x * x).exp() * sum / std::f64::consts::TAU.sqrt()
}

/// For a mean `μ < 1`: how far above it estimates are accepted, and the lowest one accepted. Accepted are those whose likelihood
/// is largest against that of the best mean that is not negative.
fn accepted(mu: f64) -> (f64, f64) {
    let lowest = |a: f64| (mu * mu - a * a) / (2.0 * mu);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let a = 0.5 * (low + high);
        if below(a) - below(lowest(a) - mu) < LEVEL { low = a } else { high = a }
    }
    (high, lowest(high))
}

/// The means, in `[0, 1]`, just below and just above which an increasing function of them is zero.
fn root(f: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let mid = 0.5 * (low + high);
        if f(mid) < 0.0 { low = mid } else { high = mid }
    }
    (low, high)
}

/// The one-sigma interval of a mean that is not negative, from an estimate that may be.
pub(super) fn interval(x: f64, sigma: f64) -> (f64, f64) {
    if !(sigma > 0.0 && sigma.is_finite()) {
        return if sigma == 0.0 { (x.max(0.0), x.max(0.0)) } else { (0.0, f64::INFINITY) };
    }
    let x = x / sigma;
    let high = if x >= 0.0 { x + 1.0 } else { root(|mu| accepted(mu.max(1e-12)).1 - x).1 };
    let low = if x >= 2.0 { x - 1.0 } else { root(|mu| mu + accepted(mu.max(1e-12)).0 - x).0 };
    (sigma * low, sigma * high)
}

/// For residuals `Σ w_t F_t` of noise `σ`, `w` on the simplex: how far each number can be from its best value before
///
/// ```text
/// min { |F w|² : w ≥ 0, Σ w = 1, w_t = x }  >  min { |F w|² : w ≥ 0, Σ w = 1 } + σ²
/// ```
///
/// the further of both sides. Where no number comes near zero that is the standard error. Elsewhere it is less: what the simplex forbids
/// the others leaves less room for this one, and none has more than the whole simplex.
pub(super) fn simplex_deviations(columns: &[Vec<f64>], best: &[f64], sigma: f64) -> Vec<f64> {
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
            side(0.0).max(side(1.0))
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

    /// Weights with known covariance: inside, next to the boundary, and where the recording says next to nothing.
    #[test]
    fn deviations_on_the_simplex_are_standard_errors_inside_and_room_at_the_boundary() {
        // |F w|² = (w₀ − a)²/s² + (w₁ − b)²/u², F folded for Σ w = 1.
        let folded = |a: f64, b: f64, s: f64, u: f64| -> Vec<Vec<f64>> {
            vec![vec![(1.0 - a) / s, -b / u], vec![-a / s, (1.0 - b) / u], vec![-a / s, -b / u]]
        };
        let inside = simplex_deviations(&folded(0.3, 0.3, 0.01, 0.02), &[0.3, 0.3, 0.4], 1.0);
        let third = (0.01f64.powi(2) + 0.02f64.powi(2)).sqrt();
        for (found, expected) in inside.iter().zip([0.01, 0.02, third]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        // The second is known badly, but has no more room than the others leave it.
        let room = simplex_deviations(&folded(0.9, 0.05, 0.001, 10.0), &[0.9, 0.05, 0.05], 1.0);
        assert!((room[0] - 0.001).abs() < 1e-6 && (room[1] - 0.05).abs() < 0.002, "{room:?}");
        // A corner: the estimate without the simplex would be below zero by two standard errors of the second.
        let corner = simplex_deviations(&folded(1.02, -0.02, 0.5, 0.01), &[1.0, 0.0, 0.0], 1.0);
        let expected = ((4.0f64 + 1.0).sqrt() - 2.0) * 0.01;
        assert!((corner[1] - expected).abs() < 1e-3 && corner[0] <= 1.0, "{corner:?}");
        // Nothing is known: all of the simplex.
        let nothing = simplex_deviations(&folded(0.2, 0.3, 1e6, 1e6), &[0.2, 0.3, 0.5], 1.0);
        assert_eq!(nothing, [0.8, 0.7, 0.5]);
    }

    #[test]
    fn intervals_are_those_of_the_published_table() {
        // Feldman and Cousins, table X, 68.27 %.
        for (x, low, high) in [
            (-3.0, 0.0, 0.04),
            (-2.0, 0.0, 0.07),
            (-1.0, 0.0, 0.27),
            (0.0, 0.0, 1.0),
            (0.5, 0.02, 1.5),
            (1.0, 0.24, 2.0),
            (2.0, 1.0, 3.0),
            (3.0, 2.0, 4.0),
        ] {
            let (l, h) = interval(x, 1.0);
            assert!((l - low).abs() < 6e-3 && (h - high).abs() < 6e-3, "{x}: {l} {h}");
            let scaled = interval(1e-3 * x, 1e-3);
            assert!((scaled.1 - 1e-3 * h).abs() < 1e-12);
        }
    }

    #[test]
    fn every_mean_is_covered_as_often() {
        for mu in [0.0, 0.2, 0.7, 1.5, 3.0] {
            // Integrate the normal density over the estimates whose interval holds the mean.
            let step = 1e-2;
            let covered: f64 = (-800..800)
                .map(|i| mu + step * (f64::from(i) + 0.5))
                .filter(|x| {
                    let (low, high) = interval(*x, 1.0);
                    low <= mu && mu <= high
                })
                .map(|x| below(x - mu + 0.5 * step) - below(x - mu - 0.5 * step))
                .sum();
            assert!((covered - LEVEL).abs() < 0.01, "{mu} {covered}");
        }
    }
}
