//! Pages: one per experiment, and an index of all that were run.

use std::fmt::Write;

use super::table::Cell;
use super::{Check, Experiment, Outcome, RunInfo, Table, Verdict};
use leastaction_study::report::{STYLE, escape_html};

/// What the style sheet of runs lacks: tables with many columns, verdicts.
const EXTRA: &str = "
table.data { border-collapse: collapse; font-size: 0.88rem; margin: 6px 0 18px; background: var(--card); }
table.data th, table.data td { border: 1px solid var(--line); padding: 3px 10px; text-align: left; vertical-align: top; }
table.data td a { white-space: nowrap; }
table.data td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll { overflow-x: auto; }
.pass { color: #15803d; font-weight: 600; } .loss { color: #b45309; font-weight: 600; } .fail { color: #dc2626; font-weight: 700; }
section h2 { font-size: 1.05rem; margin: 22px 0 6px; }
.plots { grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); align-items: start; }
.plots figure.plot { max-width: 820px; }
p.parameters { max-width: 78ch; }
";

fn page(title: &str, subtitle: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\
         <link rel=\"icon\" href=\"data:,\"><title>{title} – leastaction</title><style>{STYLE}{EXTRA}</style></head>\n\
         <body><header class=\"masthead\"><h1>{title}</h1><p>{subtitle}</p></header>\n<main>{body}</main></body></html>\n",
        title = escape_html(title),
        subtitle = escape_html(subtitle),
    )
}

/// The page of one experiment.
pub(crate) fn result_page(experiment: &Experiment, outcome: &Outcome, run: &RunInfo) -> String {
    let mut body = format!(
        "<p class=\"parameters\"><b>Source:</b> {}<br><b>Set-up:</b> {}</p>\n",
        marked_up(experiment.source),
        marked_up(experiment.parameters)
    );
    body.push_str("<section><h2>Expectations</h2>");
    body.push_str(&check_table(&outcome.checks));
    body.push_str("</section>\n<section class=\"plots\">");
    outcome.figures.iter().for_each(|figure| body.push_str(&figure.to_html()));
    body.push_str("</section>\n");
    for table in &outcome.tables {
        let _ =
            write!(body, "<section><h2>{}</h2>{}</section>", escape_html(&table.title), data_table(table));
    }
    if !outcome.notes.is_empty() {
        body.push_str("<section class=\"notice\"><h2>Please note</h2><ul>");
        for note in &outcome.notes {
            let _ = write!(body, "<li>{}</li>", marked_up(note));
        }
        body.push_str("</ul></section>");
    }
    let _ = write!(
        body,
        "<footer class=\"origin\"><p>{}; {:.1} s; <code>leastaction experiment {}{}</code>; <a href=\"index.html\">all \
         experiments</a></p></footer>",
        escape_html(&run.machine.line()),
        run.seconds,
        experiment.name,
        if run.quick { " --quick" } else { "" }
    );
    page(experiment.name, experiment.statement, &body)
}

/// The page that lists what was run.
pub(crate) fn index_page(rows: &[(&Experiment, Verdict, f64)], machine_line: &str) -> String {
    let mut body = String::from(
        "<table class=\"data\"><thead><tr><th>experiment</th><th>what it shows</th><th>result</th><th>seconds</th>\
         </tr></thead><tbody>\n",
    );
    for (experiment, verdict, seconds) in rows {
        let _ = writeln!(
            body,
            "<tr><td><a href=\"{name}.html\">{name}</a></td><td>{}</td><td class=\"{}\">{}</td><td \
             class=\"number\">{seconds:.1}</td></tr>",
            escape_html(experiment.statement),
            verdict.word().to_lowercase(),
            verdict.word(),
            name = experiment.name
        );
    }
    body.push_str("</tbody></table>");
    page("Experiments", machine_line, &body)
}

/// Text with `code` between backticks.
fn marked_up(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(k, part)| {
        let part = escape_html(part);
        if k % 2 == 1 { format!("<code>{part}</code>") } else { part }
    });
    parts.collect()
}

fn check_table(checks: &[Check]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table class=\"data\"><thead><tr><th>expected</th><th>bound</th><th>measured</th>\
         <th>result</th><th>origin</th></tr></thead><tbody>\n",
    );
    for check in checks {
        let verdict = check.verdict();
        let origin = match check.reason() {
            Some(reason) => format!("{}; lost because {reason}", check.origin()),
            None => check.origin().to_owned(),
        };
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"{}\">{}</td><td>{}</td></tr>",
            escape_html(check.what()),
            escape_html(&check.bound()),
            escape_html(&check.measured()),
            verdict.word().to_lowercase(),
            verdict.word(),
            escape_html(&origin)
        );
    }
    html.push_str("</tbody></table></div>");
    html
}

fn data_table(table: &Table) -> String {
    let mut html = String::from("<div class=\"scroll\"><table class=\"data\"><thead><tr>");
    for head in &table.head {
        let _ = write!(html, "<th>{}</th>", escape_html(head));
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for cell in row {
            let class = if matches!(cell, Cell::Text(_)) { "" } else { " class=\"number\"" };
            let _ = write!(html, "<td{class}>{}</td>", escape_html(&cell.text()));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_are_code_and_the_rest_is_escaped() {
        assert_eq!(marked_up("run `a < b` & go"), "run <code>a &lt; b</code> &amp; go");
    }
}
