//! Confidence intervals of a number that cannot be negative.
//!
//! An estimate `x` with normal error `σ` of a mean `μ ≥ 0`: the interval of Feldman and Cousins (1998) covers the mean in
//! 68.27 % of all cases whatever it is, zero included, and is never empty. Far from zero it is `x ± σ`.

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

#[cfg(test)]
mod tests {
    use super::*;

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
