//! Numbers as people read them.

/// A measured number in four digits.
pub fn figure(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        "0".to_owned()
    } else if (1e-2..1e4).contains(&size) {
        // Four significant digits.
        let digits = 3 - size.log10().floor() as i32;
        format!("{x:.*}", digits.max(0) as usize)
    } else {
        format!("{x:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_have_four_digits() {
        for (x, text) in
            [(0.0, "0"), (1.15, "1.150"), (123.456, "123.5"), (0.012_345_6, "0.01235"), (1.5e-9, "1.500e-9")]
        {
            assert_eq!(figure(x), text);
        }
    }
}
