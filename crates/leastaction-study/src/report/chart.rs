//! [`Chart`]: the frame of a drawing as SVG: axes, grid, labels, legend. Reports and experiments fill it with curves.

use std::fmt::Write;

use super::{escape, ticks};

/// Width of every drawing.
pub const WIDTH: f64 = 720.0;
/// Room left of the axes.
pub const LEFT: f64 = 76.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
/// Smaller shares of the largest value than this many decades are no news on a logarithmic axis.
const DECADES: f64 = 18.0;

/// The colour of the `i`-th curve: readable on white and on near-black; the viewer has the same list.
pub fn colour(i: usize) -> &'static str {
    const COLOURS: [&str; 10] = [
        "#3b82f6", "#f97316", "#10b981", "#e11d48", "#8b5cf6", "#ca8a04", "#06b6d4", "#ec4899", "#65a30d",
        "#64748b",
    ];
    COLOURS[i % COLOURS.len()]
}

/// How an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// In decades; what is not positive is not drawn.
    Log,
}

/// A range and how it maps to 0 … 1.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// In decades when the axis is logarithmic.
    low: f64,
    high: f64,
    scale: Scale,
    /// Where a logarithmic axis ends below, also for what is smaller.
    pub floor: f64,
}

impl Axis {
    /// The range of all values that have a place, with a share of air at both ends; `None` if there are none.
    pub fn of(scale: Scale, values: &mut dyn Iterator<Item = f64>, air: f64) -> Option<Self> {
        let log = scale == Scale::Log;
        let mut range: Option<(f64, f64)> = None;
        for v in values.filter(|v| v.is_finite() && (!log || *v > 0.0)) {
            let v = if log { v.log10() } else { v };
            range = Some(range.map_or((v, v), |(low, high)| (low.min(v), high.max(v))));
        }
        let (low, high) = range?;
        let low = if log { low.max(high - DECADES) } else { low };
        // A flat curve sits in the middle.
        let air = if high > low { air * (high - low) } else { 0.5 * low.abs().max(1e-12) };
        let floor = if log { 10f64.powf(low) } else { f64::NEG_INFINITY };
        Some(Self { low: low - air, high: high + air, scale, floor })
    }

    /// `None` where there is no place: not a number, or not positive on a logarithmic axis.
    fn share(&self, v: f64) -> Option<f64> {
        let v = if self.scale == Scale::Log { v.log10() } else { v };
        let share = (v - self.low) / (self.high - self.low);
        share.is_finite().then_some(share.clamp(-0.1, 1.1))
    }

    fn ticks(&self, count: usize) -> ticks::Ticks {
        if self.scale == Scale::Linear {
            return ticks::linear(self.low, self.high, count);
        }
        let (low, high) = (10f64.powf(self.low), 10f64.powf(self.high));
        // Less than two decades would have one label or none: the numbers themselves are clearer.
        if self.high - self.low < 1.5 {
            return ticks::linear(low, high, 4).into_iter().filter(|(v, _)| *v > 0.0).collect();
        }
        ticks::logarithmic(low, high, count)
    }
}

/// The frame of a drawing.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Height of the drawing.
    pub height: f64,
    /// Abscissa.
    pub x: Axis,
    /// Ordinate.
    pub y: Axis,
}

impl Chart {
    /// Where a value of the abscissa is.
    pub fn place_x(&self, v: f64) -> Option<f64> {
        Some(LEFT + self.x.share(v)? * (WIDTH - LEFT - RIGHT))
    }

    /// Where a value of the ordinate is.
    pub fn place_y(&self, v: f64) -> Option<f64> {
        Some(self.height - BOTTOM - self.y.share(v)? * (self.height - TOP - BOTTOM))
    }

    /// Grid, axes and their labels.
    pub fn frame(&self, across: &str, up: &str) -> String {
        let (right, bottom) = (WIDTH - RIGHT, self.height - BOTTOM);
        let mut out = String::new();
        for (value, label) in self.y.ticks(6) {
            let Some(at) = self.place_y(value) else { continue };
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 6.0,
                at + 4.0
            );
        }
        for (value, label) in self.x.ticks(8) {
            let Some(at) = self.place_x(value) else { continue };
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 16.0
            );
        }
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>\
             <text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            self.height - 10.0,
            escape::html(across)
        );
        if !up.is_empty() {
            let _ = writeln!(
                out,
                "<text transform=\"translate(14 {TOP}) rotate(-90)\" text-anchor=\"end\">{}</text>",
                escape::html(up)
            );
        }
        out
    }
}

/// A figure of a page: caption, drawing or a sentence that there is none, legend, and what it says after that.
pub fn figure(
    id: &str,
    caption: &str,
    drawing: Option<(f64, String)>,
    title: &str,
    labels: &[&str],
    more: &str,
) -> String {
    let title = escape::html(title);
    let id = if id.is_empty() { String::new() } else { format!(" id=\"plot-{}\"", escape::html(id)) };
    let mut html = format!("<figure class=\"plot\"{id}><figcaption>{caption}</figcaption>\n");
    match drawing {
        Some((height, drawing)) => {
            let _ = write!(
                html,
                "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">{drawing}</svg>"
            );
        }
        None => html.push_str("<p class=\"empty\">no values to show</p>"),
    }
    html.push_str("<ul class=\"legend\">");
    for (i, label) in labels.iter().enumerate() {
        let _ = write!(html, "<li><i style=\"background:{}\"></i>{}</li>", colour(i), escape::html(label));
    }
    let _ = writeln!(html, "{more}</ul></figure>");
    html
}
