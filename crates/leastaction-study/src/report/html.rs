//! The page itself: template, tables, data and script put together.

use std::fmt::Write;

use super::data::{Plot, ReportData};
use super::{bars, escape, payload, svg};

const PAGE: &str = include_str!("../../assets/viewer/page.html");
const STAGE: &str = include_str!("../../assets/viewer/stage.html");
/// The look of all pages.
pub const STYLE: &str = include_str!("../../assets/viewer/style.css");

/// Longest list and longest text a page repeats from user files.
const MAX_ROWS: usize = 200;
const MAX_TEXT: usize = 100_000;

/// The whole page. `viewer` is the bundled script; without it plots are SVG and the 3-D view is missing.
pub fn render(data: &ReportData, viewer: Option<&str>) -> String {
    let (stage, script) = match viewer {
        Some(code) => {
            let script = format!(
                "<script type=\"application/json\" id=\"leastaction-data\">{}</script>\n<script>{}</script>",
                escape::json(&payload::payload(data)),
                escape::script(code)
            );
            (STAGE.to_owned(), script)
        }
        None => (plain_stage(&data.plots), String::new()),
    };
    fill(
        PAGE,
        &[
            ("title", &escape::html(&data.title)),
            ("subtitle", &escape::html(&data.subtitle)),
            ("style", STYLE),
            ("summary", &(summary_table(data) + &bars::figure(&data.bars))),
            ("warnings", &warnings(&data.warnings)),
            ("stage", &stage),
            ("figures", &figures(&data.figures)),
            ("origin", &origin(data)),
            ("script", &script),
        ],
    )
}

/// Replaces each `{{name}}` of the template once, from left to right: what is filled in is never read again.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut page =
        String::with_capacity(template.len() + values.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, from)) = rest.split_once("{{") {
        page.push_str(before);
        let Some((name, after)) = from.split_once("}}") else {
            rest = from;
            break;
        };
        if let Some((_, text)) = values.iter().find(|(known, _)| *known == name) {
            page.push_str(text);
        }
        rest = after;
    }
    page.push_str(rest);
    page
}

fn summary_table(data: &ReportData) -> String {
    if data.summary.is_empty() {
        return String::new();
    }
    let mut table = String::from("<table class=\"summary\" aria-label=\"Summary\"><tbody>\n");
    for row in data.summary.iter().take(MAX_ROWS) {
        // An explanation opens by pointing or by tapping, which gives it the focus.
        let label = if row.meaning.is_empty() {
            escape::html(&row.label)
        } else {
            let (label, meaning) = (escape::html(&row.label), escape::html(&row.meaning));
            format!(
                "<span class=\"term\" tabindex=\"0\">{label}<span class=\"meaning\" role=\"tooltip\">{meaning}</span></span>"
            )
        };
        let _ = writeln!(
            table,
            "<tr><th scope=\"row\">{label}</th><td class=\"value\">{}</td><td class=\"note\">{}</td></tr>",
            escape::html(&row.value),
            escape::html(&row.note)
        );
    }
    table.push_str("</tbody></table>");
    table
}

fn warnings(list: &[String]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut html = String::from("<section class=\"notice\"><h2>Please note</h2><ul>\n");
    for warning in list.iter().take(MAX_ROWS) {
        let _ = writeln!(html, "<li>{}</li>", escape::html(shorten(warning, 2000)));
    }
    if list.len() > MAX_ROWS {
        let _ = writeln!(html, "<li>and {} more</li>", list.len() - MAX_ROWS);
    }
    html.push_str("</ul></section>");
    html
}

/// Where the numbers come from: versions, model and configuration.
fn origin(data: &ReportData) -> String {
    let mut html =
        String::from("<details open><summary>Versions and model</summary><table class=\"origin\"><tbody>\n");
    let hash = ("model hash".to_owned(), data.model_hash.clone());
    let hash = (!data.model_hash.is_empty()).then_some(&hash);
    for (name, version) in data.versions.iter().take(MAX_ROWS).chain(hash) {
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{}</th><td><code>{}</code></td></tr>",
            escape::html(name),
            escape::html(version)
        );
    }
    html.push_str("</tbody></table></details>\n");
    if !data.configuration.is_empty() {
        let _ = write!(
            html,
            "<details><summary>Configuration</summary><pre><code>{}</code></pre></details>",
            escape::html(shorten(&data.configuration, MAX_TEXT))
        );
    }
    html
}

/// The first `limit` bytes of a text, or a little less where that would cut a character.
fn shorten(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Plots over iterations.
fn figures(plots: &[Plot]) -> String {
    if plots.is_empty() {
        return String::new();
    }
    let all: String = plots.iter().map(|plot| svg::figure(plot, "iteration")).collect();
    format!("<section class=\"plots plain figures\">\n{all}</section>")
}

/// Plots without a script.
fn plain_stage(plots: &[Plot]) -> String {
    let mut html = String::from(
        "<section class=\"notice\" id=\"no-viewer\"><h2>No 3-D view in this report</h2><p>This \
         <code>leastaction</code> was built without Node.js or without network. To get the 3-D view and \
         interactive plots, install Node.js 18 or newer, then build again: <code>touch \
         crates/leastaction-study/build.rs &amp;&amp; cargo build --release</code></p></section>\n\
         <section class=\"plots plain\">\n",
    );
    for plot in plots {
        html.push_str(&svg::figure(plot, "t / s"));
    }
    html.push_str("</section>");
    html
}
