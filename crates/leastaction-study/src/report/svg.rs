//! A plot as inline SVG, for pages without a script.

use std::fmt::Write;

use super::data::{Plot, Series};
use super::{escape, ticks};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
/// Room for labels: left, right, top, bottom.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 32.0;
/// Smaller shares of the largest value than this are no news on a logarithmic axis.
const LOG_SPAN: f64 = 1e-18;
/// Readable on white and on near-black; the viewer has the same list.
const COLOURS: [&str; 10] = [
    "#3b82f6", "#f97316", "#10b981", "#e11d48", "#8b5cf6", "#ca8a04", "#06b6d4", "#ec4899", "#65a30d",
    "#64748b",
];

/// A figure with headline, axes, one curve or band per series, and a legend.
pub(super) fn figure(plot: &Plot) -> String {
    figure_over(plot, "t / s")
}

/// The same over something else than time; `across` names it.
pub(super) fn figure_over(plot: &Plot, across: &str) -> String {
    let mut html = format!("<figure class=\"plot\" id=\"plot-{}\">", escape::html(&plot.id));
    let _ = write!(html, "<figcaption>{}", escape::html(&plot.title));
    if !plot.unit.is_empty() {
        let _ = write!(html, " <span class=\"unit\">{}</span>", escape::html(&plot.unit));
    }
    html.push_str("</figcaption>\n");
    match Axes::of(plot) {
        Some(axes) => axes.draw(plot, across, &mut html),
        None => html.push_str("<p class=\"empty\">no values to show</p>"),
    }
    legend(plot, &mut html);
    html.push_str("</figure>\n");
    html
}

fn legend(plot: &Plot, html: &mut String) {
    html.push_str("<ul class=\"legend\">");
    for (i, series) in plot.series.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let label = escape::html(&series.label);
        let _ = write!(html, "<li><i style=\"background:{colour}\"></i>{label}</li>");
    }
    if plot.omitted > 0 {
        let _ = write!(html, "<li>and {} more, not shown</li>", plot.omitted);
    }
    html.push_str("</ul>");
}

/// The ranges of a plot and how they map to the drawing.
struct Axes {
    x: (f64, f64),
    /// In decades when the axis is logarithmic.
    y: (f64, f64),
    log: bool,
    /// Where a logarithmic axis ends below, also for what is smaller.
    floor: f64,
}

impl Axes {
    /// None when there is nothing that can be drawn.
    fn of(plot: &Plot) -> Option<Self> {
        let x = extent(plot.x.iter().copied())?;
        let edges =
            || plot.series.iter().flat_map(|s| [s.values.range().0, s.values.range().1]).flatten().copied();
        let positive = extent(edges().filter(|&v| v > 0.0));
        let log = plot.log_scale && positive.is_some();
        let floor = positive.map_or(0.0, |(low, high)| low.max(LOG_SPAN * high));
        let (low, high) =
            if log { positive.map(|(_, high)| (floor.log10(), high.log10()))? } else { extent(edges())? };
        // A flat curve sits in the middle; others get a little air.
        let air = if high > low { 0.05 * (high - low) } else { 0.5 * low.abs().max(1e-12) };
        Some(Self { x, y: (low - air, high + air), log, floor })
    }

    fn place_x(&self, t: f64) -> f64 {
        let (first, last) = self.x;
        let share = if last > first { (t - first) / (last - first) } else { 0.5 };
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    /// None where there is no place: not a number, or not positive on a logarithmic axis.
    fn place_y(&self, value: f64) -> Option<f64> {
        let value = if self.log { value.log10() } else { value };
        let share = (value - self.y.0) / (self.y.1 - self.y.0);
        share.is_finite().then(|| HEIGHT - BOTTOM - share.clamp(-0.1, 1.1) * (HEIGHT - TOP - BOTTOM))
    }

    fn draw(&self, plot: &Plot, across: &str, html: &mut String) {
        let title = escape::html(&plot.title);
        let _ = writeln!(html, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">");
        self.draw_grid(across, html);
        for (i, series) in plot.series.iter().enumerate() {
            let d = self.outline(&plot.x, series);
            let colour = COLOURS[i % COLOURS.len()];
            let _ = writeln!(html, "<path class=\"curve\" d=\"{d}\" stroke=\"{colour}\" fill=\"{colour}\"/>");
        }
        html.push_str("</svg>");
    }

    fn draw_grid(&self, across: &str, html: &mut String) {
        let y_ticks = if self.log {
            ticks::logarithmic(10f64.powf(self.y.0), 10f64.powf(self.y.1), 6)
        } else {
            ticks::linear(self.y.0, self.y.1, 5)
        };
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (value, label) in y_ticks {
            let Some(y) = self.place_y(value) else { continue };
            let _ = writeln!(
                html,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 6.0,
                y + 4.0
            );
        }
        for (t, label) in ticks::linear(self.x.0, self.x.1, 8) {
            let x = self.place_x(t);
            let _ = writeln!(
                html,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 14.0
            );
        }
        let _ = writeln!(
            html,
            "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/><text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{across}</text>",
            HEIGHT - 4.0
        );
    }

    /// Along the upper edge and back along the lower one, once per stretch without gaps.
    fn outline(&self, x: &[f64], series: &Series) -> String {
        let (min, max) = series.values.range();
        let mut d = String::new();
        let mut lower_edge: Vec<(f64, f64)> = Vec::new();
        for ((&t, &low), &high) in x.iter().zip(min).zip(max) {
            let clip = |v: f64| if self.log && high > 0.0 { v.max(self.floor) } else { v };
            let [low, high] = [low, high].map(clip);
            match (self.place_y(high), self.place_y(low)) {
                (Some(upper), Some(lower)) => {
                    let x = self.place_x(t);
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
}

fn close(d: &mut String, lower_edge: &mut Vec<(f64, f64)>) {
    for (x, y) in lower_edge.drain(..).rev() {
        let _ = write!(d, "L{x:.1} {y:.1}");
    }
    if !d.is_empty() && !d.ends_with('Z') {
        d.push('Z');
    }
}

/// Smallest and largest finite value.
fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| v.is_finite()).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((v.min(low), v.max(high))),
    })
}
