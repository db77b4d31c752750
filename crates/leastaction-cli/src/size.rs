//! Sizes of memory and files as people write them.

use leastaction_study::failure::Failure;

/// `2GB`, `500 MB`, `1e9`.
pub(crate) fn bytes(text: &str) -> Result<f64, Failure> {
    let upper = text.trim().to_ascii_uppercase();
    let units =
        [("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("G", 1e9), ("M", 1e6), ("K", 1e3), ("B", 1.0), ("", 1.0)];
    let found = units.iter().find_map(|(unit, factor)| Some((upper.strip_suffix(unit)?, factor)));
    let number = found.and_then(|(number, factor)| Some(number.trim().parse::<f64>().ok()? * factor));
    number.filter(|bytes| bytes.is_finite() && *bytes > 0.0).ok_or_else(|| {
        Failure::new(format!("`{text}` is no size of memory")).help("write it as `2GB` or `500MB`")
    })
}
