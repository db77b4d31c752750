//! What the names of a sweep file mean in its model: parameters, runs, measures, columns.

use leastaction::mechanism::{Mechanism, ModelDescription};

use super::file::{MOST_RUNS, Tables};
use super::measure::{Gauge, Of, Source};
use super::vary::{self, Varied};
use crate::changes::fits;
use crate::failure::suggestion;
use crate::settings::Settings;
use crate::simulation::Prepared;
use crate::values::Values;

/// Columns of the table of runs that measures can't be called.
const TAKEN: &[&str] = &["run", "ok", "steps", "error", "error_time", "error_joint", "t"];

/// Everything that varies.
pub(super) fn resolve_all(
    values: &mut Values,
    tables: &Tables,
    description: &ModelDescription,
    mechanism: &Mechanism,
    settings: &Settings,
) -> Vec<Varied> {
    let mut all: Vec<Varied> = Vec::new();
    for spread in &tables.spreads {
        let element = format!("key `{}`", spread.key);
        match vary::resolve(spread, description, mechanism, settings) {
            Ok(found) => {
                for varied in found {
                    if all.iter().any(|other| other.key == varied.key) {
                        let message = format!("`{}` varies twice", varied.key);
                        values.problem(spread.place.clone(), &element, message, "leave one of the keys out");
                        break;
                    }
                    all.push(varied);
                }
            }
            Err(failure) => {
                values.problem(
                    spread.place.clone(),
                    element,
                    failure.message,
                    failure.help.unwrap_or_default(),
                );
            }
        }
    }
    all
}

/// The number of runs: as it is said, or the points of the grid.
pub(super) fn count_runs(
    values: &mut Values,
    tables: &Tables,
    varied: &[Varied],
    place: std::ops::Range<usize>,
) -> u64 {
    if let Some(runs) = tables.runs {
        if tables.spreads.is_empty() {
            let remedy = "add `[sweep.vary]` with a key, as `\"initial.q.JOINT\" = { uniform = [-1, 1] }`";
            values.problem(place, "table `sweep`", "nothing varies", remedy);
        }
        return runs;
    }
    let counts: Vec<u64> = varied.iter().filter_map(|varied| varied.law.count()).collect();
    if counts.is_empty() {
        let remedy = "add `runs = N`, or let a key vary by `values` or `linspace`";
        if values.problems.is_empty() {
            values.problem(place, "table `sweep`", "it does not say how many runs there are", remedy);
        }
        return 0;
    }
    let product =
        counts.iter().try_fold(1u64, |product, n| product.checked_mul(*n)).filter(|n| *n <= MOST_RUNS);
    product.unwrap_or_else(|| {
        let message = format!("the grid of {} keys has more than {MOST_RUNS} points", counts.len());
        values.problem(place, "table `sweep`", message, "add `runs = N` to draw from it");
        0
    })
}

/// Measures with their columns.
pub(super) fn find_gauges(
    values: &mut Values,
    tables: &Tables,
    columns: &[&str],
    prepared: &Prepared,
    varied: &[Varied],
) -> Vec<(String, Gauge)> {
    let mechanism = &prepared.served.mechanism;
    let states = 1..1 + mechanism.nq() + mechanism.nv();
    let mut gauges = Vec::new();
    for named in &tables.measures {
        let element = format!("measure `{}`", named.name);
        let is_state = |name: &str| columns[states.clone()].contains(&name);
        let name = named.name.as_str();
        if name.trim().is_empty() {
            values.problem(named.place.clone(), element, "it has no name", "its name is that of its column");
            continue;
        }
        if TAKEN.contains(&name) || is_state(name) || varied.iter().any(|varied| varied.key == name) {
            values.problem(
                named.place.clone(),
                element,
                "there is a column of that name",
                "call it something else",
            );
            continue;
        }
        let source = match &named.measure.of {
            Of::EnergyError => Source::EnergyError,
            Of::Goal if prepared.settings.policy.is_some() => Source::Goal,
            Of::Goal => {
                values.problem(
                    named.place.clone(),
                    element,
                    "only a policy has a goal",
                    "add `policy = \"FILE\"`",
                );
                continue;
            }
            Of::Column(column) => match columns.iter().position(|known| known == column) {
                Some(at) if states.contains(&at) => Source::State(at - 1),
                Some(at) => Source::Row(at),
                None => {
                    let remedy = suggestion(column, columns).unwrap_or_default();
                    values.problem(
                        named.place.clone(),
                        element,
                        format!("there is no column `{column}`"),
                        remedy,
                    );
                    continue;
                }
            },
        };
        gauges.push((named.name.clone(), Gauge::new(source, named.measure.how)));
    }
    gauges
}

/// Columns of recorded rows, `t` first.
pub(super) fn find_columns(values: &mut Values, tables: &Tables, columns: &[&str]) -> Vec<(usize, String)> {
    if !tables.rows {
        return Vec::new();
    }
    let group = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let mut kept = vec![(0, "t".to_owned())];
    for (wanted, place) in &tables.columns {
        let mut any = false;
        for (at, name) in columns.iter().enumerate() {
            if fits(wanted, name) || group(name) == *wanted {
                any = true;
                if kept.iter().all(|(known, _)| *known != at) {
                    kept.push((at, (*name).to_owned()));
                }
            }
        }
        if !any {
            let mut known: Vec<String> = columns.iter().map(|name| group(name)).collect();
            known.dedup();
            let known: Vec<&str> = columns.iter().copied().chain(known.iter().map(String::as_str)).collect();
            let remedy = suggestion(wanted, &known).unwrap_or_default();
            values.problem(place.clone(), "key `columns`", format!("there is no column `{wanted}`"), remedy);
        }
    }
    if tables.columns.is_empty() {
        kept = columns.iter().enumerate().map(|(at, name)| (at, (*name).to_owned())).collect();
    }
    kept
}
