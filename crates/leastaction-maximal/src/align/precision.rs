//! How exactly a mechanism's lengths are given.

use crate::mechanism::Mechanism;

/// Lengths with digits below this, of the longest of them, were computed: their digits say nothing about how exact they are.
const COMPUTED: f64 = 1e-10;
/// What such lengths are taken to be off by, of the longest of them, and the most that any are: the coarsest data that is aligned.
const COARSEST: f64 = 1e-4;

/// What the places of joints may be off by: a unit of the last digit that any of them shows. Fewer than four digits are round
/// numbers, and as exact as four.
pub(super) fn of_lengths(mechanism: &Mechanism) -> f64 {
    let joints = mechanism.joints().iter();
    let lengths: Vec<f64> =
        joints.flat_map(|j| [j.parent_frame.pos, j.child_frame.pos]).flat_map(|p| p.0).collect();
    let longest = lengths.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let Some(last) = lengths.iter().filter_map(|x| last_place(*x)).min() else { return 0.0 };
    let most = COARSEST * longest;
    // Read as a file would be: the same number on every processor.
    match format!("1e{last}").parse::<f64>() {
        Ok(unit) if unit > COMPUTED * longest => unit.min(most),
        _ => most,
    }
}

/// Power of ten of the last digit that a number needs; none for zero.
fn last_place(x: f64) -> Option<i32> {
    if x == 0.0 || !x.is_finite() {
        return None;
    }
    let shown = format!("{:e}", x.abs());
    let (digits, exponent) = shown.split_once('e')?;
    let behind = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
    Some(exponent.parse::<i32>().ok()? - i32::try_from(behind).ok()?)
}

#[cfg(test)]
mod tests {
    use super::last_place;

    #[test]
    fn the_last_digit_of_a_number_is_found() {
        let places = [1.0, 20.0, 0.86603, -1.0001, 1e-7, 0.0].map(last_place);
        assert_eq!(places, [Some(0), Some(1), Some(-5), Some(-4), Some(-7), None]);
    }
}
