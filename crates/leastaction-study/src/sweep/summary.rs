//! What came of a sweep: counts, failures by kind, exact quantiles of the measures. Parts are read again and again rather than
//! kept, so that memory does not grow with the number of runs.

use std::fs;
use std::path::Path;

use leastaction::io::write_atomically;
use serde_json::{Value, json};

use super::drive::Driven;
use super::folder::Folder;
use super::load::Sweep;
use super::parquet::{Column, Part};
use crate::digits::figure;
use crate::failure::Failure;
use crate::output::cannot_write;

/// Quantiles that are told.
pub(super) const QUANTILES: [f64; 7] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];
/// Runs that are named as the worst of a measure, and of each kind of failure.
const NAMED: usize = 10;
/// Bits of a number that one look at all parts decides.
const DIGIT: u32 = 11;

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FailureKind {
    pub(super) kind: String,
    pub(super) count: u64,
    /// The first ones with their reasons.
    pub(super) runs: Vec<(u64, String)>,
}

/// One measure over all runs that came to their end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) name: String,
    /// Runs with a number.
    pub(super) count: u64,
    /// Runs whose measure is not a number.
    pub(super) not_a_number: u64,
    pub(super) mean: f64,
    pub(super) quantiles: [f64; QUANTILES.len()],
    /// The largest ones: run and value.
    pub(super) worst: Vec<(u64, f64)>,
}

/// What came of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Runs that failed.
    pub failed: u64,
    pub(super) steps: u64,
    pub(super) failures: Vec<FailureKind>,
    pub(super) measures: Vec<Spread>,
    json: Value,
}

impl Summary {
    /// For machines.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Runs to look at: the first failures of each kind, and the largest of each measure.
    #[must_use]
    pub fn worst(&self, most: usize) -> Vec<u64> {
        let failures = self.failures.iter().filter_map(|kind| kind.runs.first().map(|(run, _)| *run));
        let largest =
            (0..NAMED).flat_map(|rank| self.measures.iter().filter_map(move |m| Some(m.worst.get(rank)?.0)));
        let mut runs = Vec::new();
        for run in failures.chain(largest) {
            if runs.len() < most && !runs.contains(&run) {
                runs.push(run);
            }
        }
        runs
    }

    /// For people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for kind in &self.failures {
            let first = kind
                .runs
                .first()
                .map_or_else(String::new, |(run, reason)| format!(", first run {run}: {reason}"));
            lines.push(format!("  failed         {} {}{first}", kind.count, kind.kind));
        }
        for measure in &self.measures {
            let [low, _, _, middle, _, _, high] = measure.quantiles;
            let worst = measure.worst.first().map_or_else(String::new, |(run, _)| format!(" (run {run})"));
            lines.push(format!(
                "  {:<14} from {} by median {} to {}{worst}",
                measure.name,
                figure(low),
                figure(middle),
                figure(high)
            ));
        }
        lines
    }
}

/// Looks at all parts of runs, in order.
pub(super) fn each_part(
    sweep: &Sweep,
    folder: &Folder,
    mut see: impl FnMut(&Part<'_>) -> Option<()>,
) -> Result<(), Failure> {
    for index in 0..sweep.chunks() {
        let path = folder.part("runs", index);
        let gone = || {
            Failure::new(format!("`{}` can't be read any more", path.display()))
                .help("run the same command again: what is missing is made again")
        };
        let bytes = fs::read(&path).map_err(|_| gone())?;
        Part::open(&bytes).and_then(|part| see(&part)).ok_or_else(gone)?;
    }
    Ok(())
}

/// Numbers of a column, where there are any.
pub(super) fn numbers(part: &Part<'_>, name: &str) -> Option<Vec<Option<f64>>> {
    Some(match part.column(name)? {
        Column::Perhaps(x) => x,
        Column::Float(x) => x.into_iter().map(Some).collect(),
        Column::Int(x) => x.into_iter().map(|x| Some(x as f64)).collect(),
        _ => return None,
    })
}

/// Reads all parts, writes `summary.json`.
///
/// # Errors
/// If a part can't be read, or the summary not written.
pub fn summarize(sweep: &Sweep, folder: &Folder, driven: &Driven) -> Result<Summary, Failure> {
    let (mut failures, mut steps): (Vec<FailureKind>, u64) = (Vec::new(), 0);
    let names: Vec<&str> = sweep.gauges.iter().map(|(name, _)| name.as_str()).collect();
    let nothing = |name: &&str| Spread {
        name: (*name).to_owned(),
        count: 0,
        not_a_number: 0,
        mean: 0.0,
        quantiles: [f64::NAN; QUANTILES.len()],
        worst: Vec::new(),
    };
    let mut measures: Vec<Spread> = names.iter().map(nothing).collect();
    each_part(sweep, folder, |part| {
        let Column::Int(runs) = part.column("run")? else { return None };
        let Column::Int(taken) = part.column("steps")? else { return None };
        let Column::Text(errors) = part.column("error")? else { return None };
        steps += taken.iter().map(|n| *n as u64).sum::<u64>();
        for (run, error) in runs.iter().zip(errors) {
            let Some(reason) = error else { continue };
            let kind = reason.split(':').next().unwrap_or_default();
            let at = failures.iter().position(|known| known.kind == kind).unwrap_or_else(|| {
                failures.push(FailureKind { kind: kind.to_owned(), count: 0, runs: Vec::new() });
                failures.len() - 1
            });
            failures[at].count += 1;
            if failures[at].runs.len() < NAMED {
                failures[at].runs.push((*run as u64, reason));
            }
        }
        for measure in &mut measures {
            for (run, value) in runs.iter().zip(numbers(part, &measure.name)?) {
                measure.take(*run as u64, value);
            }
        }
        Some(())
    })?;
    failures.sort_by(|a, b| b.count.cmp(&a.count).then(a.kind.cmp(&b.kind)));
    find_quantiles(sweep, folder, &mut measures)?;
    let failed = failures.iter().map(|kind| kind.count).sum();
    let json = to_json(sweep, folder, driven, (failed, steps), &failures, &measures);
    let path = folder.path().join("summary.json");
    write(&path, &json)?;
    Ok(Summary { failed, steps, failures, measures, json })
}

fn write(path: &Path, json: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(json).unwrap_or_default() + "\n";
    write_atomically(path, text.as_bytes()).map_err(|error| cannot_write(path, &error))
}

impl Spread {
    fn take(&mut self, run: u64, value: Option<f64>) {
        let Some(value) = value else { return };
        if value.is_nan() {
            self.not_a_number += 1;
            return;
        }
        self.count += 1;
        self.mean += (value - self.mean) / self.count as f64;
        let at = self.worst.partition_point(|(_, other)| *other >= value);
        if at < NAMED {
            self.worst.insert(at, (run, value));
            self.worst.truncate(NAMED);
        }
    }
}

/// A number whose order is that of the floating-point numbers.
fn ordered(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn from_ordered(x: u64) -> f64 {
    f64::from_bits(if x >> 63 == 1 { x & !(1 << 63) } else { !x })
}

/// The quantile of each probability is a value of a run: that of rank p (n − 1), rounded. Each look at the parts decides eleven
/// bits of all of them.
fn find_quantiles(sweep: &Sweep, folder: &Folder, measures: &mut [Spread]) -> Result<(), Failure> {
    struct Search {
        /// Bits that are decided, and how many values with these bits lie before.
        found: u64,
        rank: u64,
        counts: Vec<u64>,
    }
    let start = |spread: &Spread| {
        QUANTILES.map(|p| Search {
            found: 0,
            rank: (p * spread.count.saturating_sub(1) as f64).round() as u64,
            counts: Vec::new(),
        })
    };
    let mut searches: Vec<[Search; QUANTILES.len()]> = measures.iter().map(start).collect();
    let mut left = u64::BITS;
    while left > 0 && !measures.is_empty() {
        let digit = DIGIT.min(left);
        let rest = left - digit;
        for search in searches.iter_mut().flatten() {
            search.counts = vec![0; 1 << digit];
        }
        each_part(sweep, folder, |part| {
            for (measure, searches) in measures.iter().zip(&mut searches) {
                for value in numbers(part, &measure.name)?.into_iter().flatten().filter(|x| !x.is_nan()) {
                    let bits = ordered(value);
                    for search in searches.iter_mut() {
                        if left == u64::BITS || bits >> left == search.found {
                            search.counts[(bits >> rest & ((1 << digit) - 1)) as usize] += 1;
                        }
                    }
                }
            }
            Some(())
        })?;
        for search in searches.iter_mut().flatten() {
            let mut chosen = 0;
            for (value, count) in search.counts.iter().enumerate() {
                chosen = value as u64;
                if search.rank < *count {
                    break;
                }
                search.rank -= count;
            }
            search.found = search.found << digit | chosen;
        }
        left = rest;
    }
    for (measure, searches) in measures.iter_mut().zip(&searches) {
        if measure.count > 0 {
            measure.quantiles = std::array::from_fn(|i| from_ordered(searches[i].found));
        }
    }
    Ok(())
}

fn to_json(
    sweep: &Sweep,
    folder: &Folder,
    driven: &Driven,
    (failed, steps): (u64, u64),
    failures: &[FailureKind],
    measures: &[Spread],
) -> Value {
    let number = |x: f64| if x.is_finite() { json!(x) } else { json!(x.to_string()) };
    let kinds = failures.iter().map(|kind| {
        let first = kind.runs.iter().map(|(run, reason)| json!({"run": run, "error": reason}));
        (kind.kind.clone(), json!({"count": kind.count, "first": first.collect::<Vec<_>>()}))
    });
    let spreads = measures.iter().map(|measure| {
        let quantiles = QUANTILES.iter().zip(measure.quantiles).map(|(p, x)| (p.to_string(), number(x)));
        let worst = measure.worst.iter().map(|(run, x)| json!({"run": run, "value": number(*x)}));
        let value = json!({
            "count": measure.count,
            "not_a_number": measure.not_a_number,
            "mean": number(measure.mean),
            "quantiles": quantiles.collect::<serde_json::Map<_, _>>(),
            "largest": worst.collect::<Vec<_>>(),
        });
        (measure.name.clone(), value)
    });
    json!({
        "schema": "leastaction/sweep-summary/1",
        "version": env!("CARGO_PKG_VERSION"),
        "hash": sweep.hash(),
        "runs": sweep.runs,
        "ok": sweep.runs - failed,
        "failed": failed,
        "failures": kinds.collect::<serde_json::Map<_, _>>(),
        "steps": steps,
        "chunks": sweep.chunks(),
        "measures": spreads.collect::<serde_json::Map<_, _>>(),
        "made_again": folder.torn(),
        "computed_runs": driven.runs,
        "wall_time": driven.wall,
        "steps_per_second": driven.steps as f64 / driven.wall.max(1e-9),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_bits_is_that_of_numbers() {
        let sorted = [f64::NEG_INFINITY, -1e300, -1.0, -1e-310, -0.0, 0.0, 1e-310, 2.5, f64::INFINITY];
        for pair in sorted.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]), "{pair:?}");
        }
        for x in sorted {
            assert_eq!(from_ordered(ordered(x)).to_bits(), x.to_bits());
        }
    }
}
