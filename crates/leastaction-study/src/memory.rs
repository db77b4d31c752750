//! Refuses what does not fit into memory before it is asked for.

use crate::failure::Failure;

/// Refuses a table of so many numbers if it takes more memory than there is.
///
/// # Errors
/// What it is, how large it would be and how much there is.
pub fn expect_room(what: &str, numbers: f64) -> Result<(), Failure> {
    expect_room_in(what, numbers, free_memory())
}

fn expect_room_in(what: &str, numbers: f64, free: f64) -> Result<(), Failure> {
    let needed = 8.0 * numbers;
    if needed <= free {
        return Ok(());
    }
    let size = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
    Err(Failure::new(format!("{what} takes {} of memory; {} are free", size(needed), size(free)))
        .help("take a smaller model, or a machine with more memory"))
}

/// Bytes that the system can give, or a guess where it does not say.
fn free_memory() -> f64 {
    let said = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().trim_end_matches(" kB").parse::<f64>().ok()
    });
    said.map_or(8e9, |kilobytes| 1024.0 * kilobytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_numbers() {
        assert!(expect_room_in("a table", 1e6, 1e9).is_ok());
        let failure = expect_room_in("a table of 40000 x 40000 numbers", 1.6e9, 1e9).unwrap_err();
        assert_eq!(
            failure.message,
            "a table of 40000 x 40000 numbers takes 12.8 GB of memory; 1.0 GB are free"
        );
        assert!(expect_room("2^64 numbers", 1.8e19).is_err());
        assert!(free_memory() > 1e6);
    }
}
