//! What makes a recording useless, said with its line.

use std::path::Path;

use super::table::Table;
use crate::failure::Failure;

/// Intervals longer than this many usual ones are gaps.
const GAP: f64 = 10.0;
/// Changes larger than this many large ones are jumps.
const JUMP: f64 = 20.0;

fn at(path: &Path, line: usize, what: String) -> Failure {
    Failure::new(format!("{}:{line}: {what}", path.display()))
}

/// Times grow, without gaps.
pub(super) fn times(times: &[f64], table: &Table, path: &Path) -> Result<(), Failure> {
    if let Some(s) = times.iter().position(|t| !t.is_finite()) {
        return Err(at(path, table.line(s), "the time is missing or not finite".into())
            .help("leave the row out, or fill in its time"));
    }
    for (s, pair) in times.windows(2).enumerate() {
        if pair[1] == pair[0] {
            let what = format!("the time {} s is the same as in line {}", pair[1], table.line(s));
            return Err(at(path, table.line(s + 1), what).help("leave one of the rows out"));
        }
        if pair[1] < pair[0] {
            let what = format!("the time {} s comes after {} s in line {}", pair[1], pair[0], table.line(s));
            return Err(at(path, table.line(s + 1), what).help("put the rows in order of time"));
        }
    }
    let mut steps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let usual = median(&mut steps);
    for (s, pair) in times.windows(2).enumerate() {
        if pair[1] - pair[0] > GAP * usual {
            let what = format!(
                "nothing was recorded from {} s to {} s, {:.0} usual intervals of {usual:.4} s",
                pair[0],
                pair[1],
                (pair[1] - pair[0]) / usual
            );
            return Err(at(path, table.line(s + 1), what).help("cut the recording there, or fill the gap"));
        }
    }
    Ok(())
}

fn median(x: &mut [f64]) -> f64 {
    x.sort_by(f64::total_cmp);
    x.get(x.len() / 2).copied().unwrap_or(0.0)
}

/// No number is missing.
pub(super) fn finite(values: &[f64], label: &str, table: &Table, path: &Path) -> Result<(), Failure> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(s) => Err(at(path, table.line(s), format!("`{label}` is missing or not finite"))
            .help("leave the row out, or fill in what was not recorded")),
        None => Ok(()),
    }
}

/// No number is missing, and none jumps.
pub(super) fn values(
    values: &[f64],
    label: &str,
    table: &Table,
    path: &Path,
    slides: bool,
) -> Result<(), Failure> {
    finite(values, label, table, path)?;
    let mut changes: Vec<f64> = values.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    let large = {
        changes.sort_by(f64::total_cmp);
        changes.get(changes.len() * 95 / 100).copied().unwrap_or(0.0)
    };
    let unit = if slides { "m" } else { "rad" };
    for (s, pair) in values.windows(2).enumerate() {
        let change = pair[1] - pair[0];
        if change.abs() <= (JUMP * large).max(0.5) {
            continue;
        }
        let turn = std::f64::consts::TAU;
        let wrapped = !slides && (change.abs() - turn).abs() < 0.2 * turn;
        let what = format!("`{label}` jumps by {change:.3} {unit} from line {}", table.line(s));
        let help = if wrapped {
            "it looks cut at half a turn: add or subtract 2π (360°) from there on"
        } else if !slides && large > 3.0 {
            "are the angles in degrees? give `--degrees`, or a unit"
        } else {
            "cut the recording there, or mend the sample"
        };
        return Err(at(path, table.line(s + 1), what).help(help));
    }
    Ok(())
}

/// Radians that joints hardly move by: four turns.
const TURNS: f64 = 4.0 * std::f64::consts::TAU;

/// What to say of angles without a unit that look like degrees.
pub(super) fn perhaps_degrees(values: &[f64], label: &str) -> Option<String> {
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    (high - low > TURNS).then(|| {
        format!(
            "`{label}` moves by {:.1} rad, {:.0} turns: if the angles are in degrees, give `--degrees` or a unit",
            high - low,
            (high - low) / std::f64::consts::TAU
        )
    })
}

/// Every quaternion has a direction, and none turns far within one interval; components are columns.
pub(super) fn rotations(
    components: &[Vec<f64>],
    label: &str,
    table: &Table,
    path: &Path,
) -> Result<(), Failure> {
    let rows = components.first().map_or(0, Vec::len);
    let length = |s: usize| components.iter().map(|c| c[s] * c[s]).sum::<f64>().sqrt();
    if let Some(s) = (0..rows).find(|s| length(*s) < 1e-6) {
        let what = format!("the quaternion of `{label}` is zero: it has no direction");
        return Err(at(path, table.line(s), what).help("leave the row out, or fill in the rotation"));
    }
    // Both signs are one rotation.
    let turn = |s: usize| {
        let cosine: f64 =
            components.iter().map(|c| c[s] * c[s + 1]).sum::<f64>() / (length(s) * length(s + 1));
        2.0 * cosine.abs().min(1.0).acos()
    };
    let turns: Vec<f64> = (0..rows.saturating_sub(1)).map(turn).collect();
    let large = {
        let mut sorted = turns.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() * 95 / 100).copied().unwrap_or(0.0)
    };
    match turns.iter().position(|turn| *turn > (JUMP * large).max(0.5)) {
        Some(s) => {
            let what = format!("`{label}` turns by {:.3} rad from line {}", turns[s], table.line(s));
            Err(at(path, table.line(s + 1), what).help("cut the recording there, or mend the sample"))
        }
        None => Ok(()),
    }
}
