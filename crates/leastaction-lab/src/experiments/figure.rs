//! [`Figure`]: curves over any quantity on linear or logarithmic axes, as SVG that needs no script.

use std::fmt::Write;

use leastaction_study::report::{escape_html, linear_ticks, log_ticks};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
/// Readable on white and on near-black; the viewer of runs has the same list.
const COLOURS: [&str; 10] = [
    "#3b82f6", "#f97316", "#10b981", "#e11d48", "#8b5cf6", "#ca8a04", "#06b6d4", "#ec4899", "#65a30d",
    "#64748b",
];

/// How an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Evenly.
    Linear,
    /// In decades; what is not positive is not drawn.
    Log,
}

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Title.
    pub(crate) title: String,
    /// Name and unit of the abscissa.
    pub(crate) x: (String, Scale),
    /// Name and unit of the ordinate.
    pub(crate) y: (String, Scale),
    /// Curves.
    pub(crate) series: Vec<(String, Vec<(f64, f64)>)>,
    /// Whether points are marked: for a few measured sizes, not for long curves.
    pub(crate) marks: bool,
}

impl Figure {
    /// A figure without curves.
    pub(crate) fn new(title: impl Into<String>, x: (&str, Scale), y: (&str, Scale)) -> Self {
        Self {
            title: title.into(),
            x: (x.0.to_owned(), x.1),
            y: (y.0.to_owned(), y.1),
            series: Vec::new(),
            marks: true,
        }
    }

    /// The same without marks.
    pub(crate) fn smooth(mut self) -> Self {
        self.marks = false;
        self
    }

    /// Adds a curve.
    pub(crate) fn curve(&mut self, label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) {
        self.series.push((label.into(), points.into_iter().collect()));
    }

    /// A drawing for pages with our style sheet.
    pub(crate) fn to_html(&self) -> String {
        let mut html =
            format!("<figure class=\"plot\"><figcaption>{}</figcaption>\n", escape_html(&self.title));
        match self.draw() {
            Some(drawing) => {
                let title = escape_html(&self.title);
                let _ = write!(
                    html,
                    "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">{drawing}</svg>"
                );
            }
            None => html.push_str("<p class=\"empty\">no values to show</p>"),
        }
        html.push_str("<ul class=\"legend\">");
        for (i, (label, _)) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let _ = write!(html, "<li><i style=\"background:{colour}\"></i>{}</li>", escape_html(label));
        }
        html.push_str("</ul></figure>\n");
        html
    }

    /// A file of its own, with legend, readable on light and dark ground.
    pub(crate) fn to_svg(&self) -> Option<String> {
        let drawing = self.draw()?;
        let rows = self.series.len().div_ceil(2) as f64;
        let height = HEIGHT + 26.0 + 20.0 * rows;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -26 {WIDTH} {height}\" font-family=\"system-ui, \
             sans-serif\"><title>{title}</title><style>.ground{{fill:#fff}}text{{font-size:12px;fill:#4b5563}}\
             .grid{{stroke:#e5e7eb;fill:none}}.axis{{stroke:#6b7280;fill:none}}.curve{{fill:none;stroke-width:1.6;\
             stroke-linejoin:round}}.title{{font-size:15px;font-weight:600;fill:#1f2937}}</style>\
             <rect class=\"ground\" x=\"0\" y=\"-26\" width=\"{WIDTH}\" height=\"{height}\"/>\
             <text class=\"title\" x=\"{LEFT}\" y=\"-8\">{title}</text>{drawing}",
            title = escape_html(&self.title)
        );
        for (i, (label, _)) in self.series.iter().enumerate() {
            let x = LEFT + (i % 2) as f64 * 320.0;
            let y = HEIGHT + 8.0 + 20.0 * (i / 2) as f64;
            let colour = COLOURS[i % COLOURS.len()];
            let _ = write!(
                svg,
                "<path d=\"M{x} {y}h22\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"{}\" y=\"{}\">{}</text>",
                x + 28.0,
                y + 4.0,
                escape_html(label)
            );
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }

    fn draw(&self) -> Option<String> {
        let x =
            Axis::of(self.x.1, self.series.iter().flat_map(|(_, points)| points.iter().map(|p| p.0)), 0.0)?;
        let y =
            Axis::of(self.y.1, self.series.iter().flat_map(|(_, points)| points.iter().map(|p| p.1)), 0.05)?;
        let place_x = |v: f64| Some(LEFT + x.share(v)? * (WIDTH - LEFT - RIGHT));
        let place_y = |v: f64| Some(HEIGHT - BOTTOM - y.share(v)? * (HEIGHT - TOP - BOTTOM));
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let mut out = String::new();
        for (value, label) in y.ticks(6) {
            let Some(at) = place_y(value) else { continue };
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 6.0,
                at + 4.0
            );
        }
        for (value, label) in x.ticks(8) {
            let Some(at) = place_x(value) else { continue };
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 16.0
            );
        }
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>\
             <text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <text transform=\"translate(14 {TOP}) rotate(-90)\" text-anchor=\"end\">{}</text>",
            HEIGHT - 10.0,
            escape_html(&self.x.0),
            escape_html(&self.y.0)
        );
        for (i, (_, points)) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let (mut d, mut dots, mut pen) = (String::new(), String::new(), 'M');
            for &(a, b) in points {
                match (place_x(a), place_y(b)) {
                    (Some(a), Some(b)) => {
                        let _ = write!(d, "{pen}{a:.1} {b:.1}");
                        pen = 'L';
                        if self.marks {
                            let _ = write!(
                                dots,
                                "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"3\" fill=\"{colour}\"/>"
                            );
                        }
                    }
                    _ => pen = 'M',
                }
            }
            let _ = writeln!(
                out,
                "<path class=\"curve\" d=\"{d}\" stroke=\"{colour}\" style=\"fill:none\"/>{dots}"
            );
        }
        Some(out)
    }
}

/// A range and how it maps to 0 … 1.
struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
}

impl Axis {
    fn of(scale: Scale, values: impl Iterator<Item = f64>, air: f64) -> Option<Self> {
        let log = scale == Scale::Log;
        let (low, high) = values
            .filter(|v| v.is_finite() && (!log || *v > 0.0))
            .map(|v| if log { v.log10() } else { v })
            .fold(None, |range: Option<(f64, f64)>, v| {
                Some(range.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
            })?;
        let air = if high > low { air * (high - low) } else { 0.5 * low.abs().max(1e-12) };
        Some(Self { low: low - air, high: high + air, scale })
    }

    fn share(&self, v: f64) -> Option<f64> {
        let v = if self.scale == Scale::Log { v.log10() } else { v };
        let share = (v - self.low) / (self.high - self.low);
        share.is_finite().then_some(share)
    }

    fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear => linear_ticks(self.low, self.high, count),
            Scale::Log => {
                // Less than two decades would have one label or none: the numbers themselves are clearer.
                if self.high - self.low < 1.5 {
                    let (low, high) = (10f64.powf(self.low), 10f64.powf(self.high));
                    return linear_ticks(low, high, 4).into_iter().filter(|(v, _)| *v > 0.0).collect();
                }
                log_ticks(10f64.powf(self.low), 10f64.powf(self.high), count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_placed_is_a_gap_in_the_curve() {
        let mut figure = Figure::new("a < b", ("n", Scale::Log), ("error", Scale::Log));
        figure.curve("ours", [(1.0, 1e-3), (10.0, 0.0), (100.0, 1e-9), (1000.0, 1e-12)]);
        let html = figure.to_html();
        assert_eq!(html.matches("<circle").count(), 3, "{html}");
        assert!(html.contains("a &lt; b"));
        let d = html.split("class=\"curve\" d=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert_eq!((d.matches('M').count(), d.matches('L').count()), (2, 1), "{d}");
    }

    #[test]
    fn an_empty_figure_says_so() {
        let figure = Figure::new("none", ("x", Scale::Linear), ("y", Scale::Linear));
        assert!(figure.to_html().contains("no values to show"));
        assert!(figure.to_svg().is_none());
    }
}
