//! The page of a sweep: one file that shows how measures are spread, any two columns against each other, and the runs to look at.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use leastaction::io::write_atomically;
use serde_json::json;

use super::folder::Folder;
use super::load::Sweep;
use super::parquet::Column;
use super::summary::{FailureKind, QUANTILES, Spread, Summary, each_part, numbers};
use crate::digits::figure;
use crate::failure::Failure;
use crate::output::cannot_write;
use crate::report::{STYLE, escape_html, escape_json, fill, to_base64};

const PAGE: &str = include_str!("../../assets/sweep/page.html");
const LOOK: &str = include_str!("../../assets/sweep/style.css");
const SCRIPT: &str = include_str!("../../assets/sweep/script.js");

/// Runs that the scatter shows at most, evenly chosen; and columns it can show.
const POINTS: u64 = 10_000;
const MOST_COLUMNS: usize = 80;
const BINS: usize = 60;

/// Writes `report.html`. `played` are runs with a report of their own, by its path relative to the folder.
///
/// # Errors
/// If the parts can't be read or the page can't be written.
pub fn write_page(
    sweep: &Sweep,
    folder: &Folder,
    summary: &Summary,
    played: &[(u64, String)],
) -> Result<PathBuf, Failure> {
    let path = folder.path().join("report.html");
    let page = Page { sweep, folder, summary, played };
    let text = page.text()?;
    write_atomically(&path, text.as_bytes()).map_err(|error| cannot_write(&path, &error))?;
    Ok(path)
}

struct Page<'a> {
    sweep: &'a Sweep,
    folder: &'a Folder,
    summary: &'a Summary,
    played: &'a [(u64, String)],
}

/// What the script draws.
#[derive(Default)]
struct Points {
    runs: Vec<f64>,
    ok: Vec<u8>,
    columns: Vec<(String, Vec<f32>)>,
    /// Counts of the measures' bins.
    bins: Vec<Vec<u64>>,
}

impl Page<'_> {
    fn text(&self) -> Result<String, Failure> {
        let points = self.points()?;
        let (sweep, summary) = (self.sweep, self.summary);
        let ok = sweep.runs - summary.failed;
        let subtitle = format!(
            "{} runs of {} steps, {ok} came to their end, {} failed",
            sweep.runs,
            sweep.steps(),
            summary.failed
        );
        let shown = points.runs.len();
        let few = if (shown as u64) < sweep.runs {
            format!("{shown} of {} runs are shown", sweep.runs)
        } else {
            String::new()
        };
        let first = sweep.gauges.first().map(|(name, _)| name.as_str()).or_else(|| {
            points.columns.iter().map(|(name, _)| name.as_str()).find(|name| name.starts_with("q."))
        });
        let data = json!({
            "runs": to_base64(&points.runs.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()),
            "ok": to_base64(&points.ok),
            "columns": points.columns.iter().map(|(name, values)| json!({
                "name": name, "values": to_base64(&bytes_of(values)),
            })).collect::<Vec<_>>(),
            "x": sweep.varied.first().map(|varied| varied.key.clone()),
            "y": first,
            "command": self.command(),
            "measures": summary.measures.iter().zip(&points.bins).map(|(measure, bins)| json!({
                "name": measure.name, "bins": bins,
                "from": measure.quantiles[0], "to": measure.quantiles[QUANTILES.len() - 1],
                "marks": [measure.quantiles[1], measure.quantiles[3], measure.quantiles[5]],
            })).collect::<Vec<_>>(),
        });
        let configuration = sweep.to_json()["scenario"].as_str().unwrap_or_default().to_owned();
        Ok(fill(
            PAGE,
            &[
                ("title", &escape_html(&sweep.name)),
                ("subtitle", &escape_html(&subtitle)),
                ("style", &format!("{STYLE}\n{LOOK}")),
                ("spreads", &spreads(&summary.measures)),
                ("few", &few),
                ("failures", &self.failures()),
                ("worst", &self.worst()),
                ("hash", sweep.hash()),
                ("version", env!("CARGO_PKG_VERSION")),
                ("configuration", &escape_html(&configuration)),
                ("data", &escape_json(&data.to_string())),
                ("script", SCRIPT),
            ],
        ))
    }

    /// What plays a run, without its number.
    fn command(&self) -> String {
        let file = self.folder.path().join("sweep.json");
        format!("leastaction simulate {} --run ", shell(&file))
    }

    fn points(&self) -> Result<Points, Failure> {
        let stride = self.sweep.runs.div_ceil(POINTS).max(1);
        let names: Vec<String> = self
            .sweep
            .columns()
            .into_iter()
            .filter(|name| !["run", "ok", "error", "error_joint", "error_time"].contains(&name.as_str()))
            .collect();
        // Measures stand last, and matter most.
        let (own, rest) = (self.sweep.gauges.len(), names.len());
        let chosen =
            names.iter().enumerate().filter(|(i, _)| *i < MOST_COLUMNS - own.min(40) || i + own >= rest);
        let mut points = Points {
            columns: chosen.map(|(_, name)| (name.clone(), Vec::new())).collect(),
            ..Points::default()
        };
        points.bins = self.summary.measures.iter().map(|_| vec![0; BINS]).collect();
        each_part(self.sweep, self.folder, |part| {
            let Column::Int(runs) = part.column("run")? else { return None };
            let Column::Bool(ok) = part.column("ok")? else { return None };
            let at: Vec<usize> =
                (0..runs.len()).filter(|i| (runs[*i] as u64).is_multiple_of(stride)).collect();
            points.runs.extend(at.iter().map(|i| runs[*i] as f64));
            points.ok.extend(at.iter().map(|i| u8::from(ok[*i])));
            for (name, values) in &mut points.columns {
                let column = numbers(part, name)?;
                values.extend(at.iter().map(|i| column[*i].map_or(f32::NAN, |x| x as f32)));
            }
            for (measure, bins) in self.summary.measures.iter().zip(&mut points.bins) {
                let (low, high) = (measure.quantiles[0], measure.quantiles[QUANTILES.len() - 1]);
                for x in numbers(part, &measure.name)?.into_iter().flatten().filter(|x| x.is_finite()) {
                    let place = (x - low) / (high - low) * BINS as f64;
                    bins[(place.max(0.0) as usize).min(BINS - 1)] += 1;
                }
            }
            Some(())
        })?;
        Ok(points)
    }

    /// A run by name, with what plays it.
    fn run(&self, run: u64) -> String {
        let link = match self.played.iter().find(|(known, _)| *known == run) {
            Some((_, path)) => format!("<a href=\"{}\">run {run}</a>", escape_html(path)),
            None => format!("run {run}"),
        };
        let command = escape_html(&format!("{}{run}", self.command()));
        format!(
            "{link} <button type=\"button\" class=\"copy\" data-command=\"{command}\" title=\"{command}\">copy command</button>"
        )
    }

    fn failures(&self) -> String {
        if self.summary.failures.is_empty() {
            return "<p>No run failed.</p>".to_owned();
        }
        let mut html = String::from(
            "<table class=\"runs\"><thead><tr><th>kind</th><th>runs</th><th>first</th></tr></thead><tbody>\n",
        );
        for FailureKind { kind, count, runs } in &self.summary.failures {
            let first = runs.iter().take(3).map(|(run, reason)| {
                format!("<p>{}<br><small>{}</small></p>", self.run(*run), escape_html(reason))
            });
            let first: String = first.collect();
            let _ = writeln!(
                html,
                "<tr><th scope=\"row\">{}</th><td class=\"value\">{count}</td><td>{first}</td></tr>",
                escape_html(kind)
            );
        }
        html.push_str("</tbody></table>");
        html
    }

    fn worst(&self) -> String {
        let mut html = String::new();
        for Spread { name, worst, .. } in &self.summary.measures {
            let _ = write!(html, "<div><h3>Largest {}</h3><table class=\"runs\"><tbody>", escape_html(name));
            for (run, value) in worst.iter().take(5) {
                let _ = write!(
                    html,
                    "<tr><td>{}</td><td class=\"value\">{}</td></tr>",
                    self.run(*run),
                    figure(*value)
                );
            }
            html.push_str("</tbody></table></div>\n");
        }
        if html.is_empty() {
            "<p>The sweep has no measures: add <code>[sweep.measure]</code>.</p>".to_owned()
        } else {
            html
        }
    }
}

fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A path as a shell takes it.
fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn spreads(measures: &[Spread]) -> String {
    if measures.is_empty() {
        return String::new();
    }
    let mut html =
        String::from("<div class=\"scroll\"><table class=\"runs\"><thead><tr><th>measure</th><th>mean</th>");
    QUANTILES.iter().for_each(|p| {
        let name = match *p {
            0.0 => "least".to_owned(),
            0.5 => "median".to_owned(),
            1.0 => "largest".to_owned(),
            p => format!("{} %", 100.0 * p),
        };
        let _ = write!(html, "<th>{name}</th>");
    });
    html.push_str("</tr></thead><tbody>\n");
    for measure in measures {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td class=\"value\">{}</td>",
            escape_html(&measure.name),
            figure(measure.mean)
        );
        measure.quantiles.iter().for_each(|x| {
            let _ = write!(html, "<td class=\"value\">{}</td>", figure(*x));
        });
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>");
    html
}
