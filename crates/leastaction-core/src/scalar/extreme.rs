//! Maxima that do not lose what is not a number: an error that can't be measured must not pass for none.

/// The larger of two numbers; not a number if one of them is none.
#[inline]
#[must_use]
pub fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The largest magnitude of a list, zero if it is empty; not a number if one of them is none.
pub fn largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().fold(0.0, |most, x| maximum(most, x.abs()))
}

/// The largest distance of two lists of one length; not a number if one of their entries is none.
#[must_use]
pub fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "lists of different lengths have no difference");
    a.iter().zip(b).fold(0.0, |most, (x, y)| maximum(most, (x - y).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_is_not_lost_in_a_maximum() {
        assert_eq!((maximum(1.0, 2.0), largest(&[1.0, -3.0]), largest(&[])), (2.0, 3.0, 0.0));
        assert!(maximum(1.0, f64::NAN).is_nan() && maximum(f64::NAN, 1.0).is_nan());
        for place in 0..3 {
            let mut list = [1.0; 3];
            list[place] = f64::NAN;
            assert!(largest(&list).is_nan() && largest_difference(&list, &[0.0; 3]).is_nan());
        }
    }
}
