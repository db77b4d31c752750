//! Round numbers for axes.

/// Positions and labels of ticks on one axis.
pub(super) type Ticks = Vec<(f64, String)>;

/// About `count` round ticks (1, 2 or 5 times a power of ten) from `low` to `high`.
pub(super) fn linear(low: f64, high: f64, count: usize) -> Ticks {
    let raw = (high - low) / count.max(1) as f64;
    // Also refuses ranges so narrow that neighbouring ticks would be the same number.
    if !raw.is_finite() || raw <= 1e-13 * low.abs().max(high.abs()) || raw <= 0.0 {
        return vec![(low, label(low, 0.0))];
    }
    let decade = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * decade).find(|&s| s >= raw).unwrap_or(raw);
    let first = (low / step).ceil();
    let slack = 1e-9 * step;
    (0..=2 * count)
        .map(|i| (first + i as f64) * step)
        .take_while(|&t| t <= high + slack)
        .map(|t| (t, label(t, step)))
        .collect()
}

/// Powers of ten from `low` to `high`, both positive, thinned to about `count`.
pub(super) fn logarithmic(low: f64, high: f64, count: usize) -> Ticks {
    let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
    let step = ((last - first) / count.max(1) as i32 + 1).max(1);
    (first..=last).step_by(step as usize).map(|e| (10f64.powi(e), format!("1e{e}"))).collect()
}

/// A number with the digits that tell it from its neighbour `step` away.
fn label(value: f64, step: f64) -> String {
    if value.abs() < 1e-9 * step || value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() >= 1e5 || (step > 0.0 && step < 1e-4) || value.abs() < 1e-4 {
        let decade = |x: f64| (x.abs().log10() + 1e-9).floor();
        let digits = if step > 0.0 { (decade(value) - decade(step)).clamp(0.0, 12.0) as usize } else { 3 };
        return format!("{value:.digits$e}");
    }
    let decimals = if step > 0.0 { (-step.log10().floor()).clamp(0.0, 6.0) as usize } else { 4 };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: Ticks) -> Vec<String> {
        ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(labels(linear(0.0, 10.0, 5)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(linear(-0.13, 0.21, 4)), ["-0.1", "0", "0.1", "0.2"]);
        assert_eq!(labels(linear(0.0, 3e-9, 3)), ["0", "1e-9", "2e-9", "3e-9"]);
        assert_eq!(labels(linear(1e6, 1.2e6, 2)), ["1.0e6", "1.1e6", "1.2e6"]);
    }

    #[test]
    fn a_flat_or_broken_range_gets_one_tick() {
        assert_eq!(linear(2.0, 2.0, 5).len(), 1);
        assert_eq!(linear(f64::NAN, 2.0, 5).len(), 1);
        assert_eq!(linear(1.0, 1.0 + f64::EPSILON, 5).len(), 1);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        assert_eq!(labels(logarithmic(2e-16, 1e-13, 5)), ["1e-15", "1e-14", "1e-13"]);
        assert!(logarithmic(1e-300, 1e300, 6).len() <= 7);
        assert!(logarithmic(2.0, 3.0, 6).is_empty());
    }
}
