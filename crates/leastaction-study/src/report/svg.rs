//! A plot as inline SVG, for pages without a script.

use std::fmt::Write;

use super::chart::{self, Axis, Chart, Scale, colour};
use super::data::{Plot, Series};
use super::escape;

const HEIGHT: f64 = 254.0;

/// A figure with headline, axes, one curve or band per series, and a legend; `across` names the abscissa.
pub(super) fn figure(plot: &Plot, across: &str) -> String {
    let mut caption = escape::html(&plot.title);
    if !plot.unit.is_empty() {
        let _ = write!(caption, " <span class=\"unit\">{}</span>", escape::html(&plot.unit));
    }
    let drawing = chart(plot).map(|chart| (HEIGHT, draw(&chart, plot, across)));
    let labels: Vec<&str> = plot.series.iter().map(|series| series.label.as_str()).collect();
    let more = if plot.omitted > 0 {
        format!("<li>and {} more, not shown</li>", plot.omitted)
    } else {
        String::new()
    };
    chart::figure(&plot.id, &caption, drawing, &plot.title, &labels, &more)
}

/// None when there is nothing that can be drawn.
fn chart(plot: &Plot) -> Option<Chart> {
    let edges =
        || plot.series.iter().flat_map(|s| [s.values.range().0, s.values.range().1]).flatten().copied();
    let scale = if plot.log_scale && edges().any(|v| v > 0.0) { Scale::Log } else { Scale::Linear };
    let x = Axis::of(Scale::Linear, &mut plot.x.iter().copied(), 0.0)?;
    Some(Chart { height: HEIGHT, x, y: Axis::of(scale, &mut edges(), 0.05)? })
}

fn draw(chart: &Chart, plot: &Plot, across: &str) -> String {
    let mut out = chart.frame(across, "");
    for (i, series) in plot.series.iter().enumerate() {
        let (d, colour) = (outline(chart, &plot.x, series), colour(i));
        let _ = writeln!(out, "<path class=\"curve\" d=\"{d}\" stroke=\"{colour}\" fill=\"{colour}\"/>");
    }
    out
}

/// Along the upper edge and back along the lower one, once per stretch without gaps.
fn outline(chart: &Chart, x: &[f64], series: &Series) -> String {
    let (min, max) = series.values.range();
    let mut d = String::new();
    let mut lower_edge: Vec<(f64, f64)> = Vec::new();
    for ((&t, &low), &high) in x.iter().zip(min).zip(max) {
        // What is positive but below the floor is drawn at the floor.
        let clip = |v: f64| if high > 0.0 { v.max(chart.y.floor) } else { v };
        match (chart.place_x(t), chart.place_y(clip(high)), chart.place_y(clip(low))) {
            (Some(x), Some(upper), Some(lower)) => {
                let command = if lower_edge.is_empty() { 'M' } else { 'L' };
                let _ = write!(d, "{command}{x:.1} {upper:.1}");
                lower_edge.push((x, lower));
            }
            _ => close(&mut d, &mut lower_edge),
        }
    }
    close(&mut d, &mut lower_edge);
    d
}

fn close(d: &mut String, lower_edge: &mut Vec<(f64, f64)>) {
    for (x, y) in lower_edge.drain(..).rev() {
        let _ = write!(d, "L{x:.1} {y:.1}");
    }
    if !d.is_empty() && !d.ends_with('Z') {
        d.push('Z');
    }
}
