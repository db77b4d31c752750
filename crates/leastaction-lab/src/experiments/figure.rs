//! [`Figure`]: curves over any quantity on linear or logarithmic axes, as SVG that needs no script.

use std::fmt::Write;

pub(crate) use leastaction_study::report::chart::Scale;
use leastaction_study::report::chart::{self, Axis, Chart, LEFT, WIDTH, colour};
use leastaction_study::report::escape_html;

const HEIGHT: f64 = 360.0;

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
        let labels: Vec<&str> = self.series.iter().map(|(label, _)| label.as_str()).collect();
        let drawing = self.draw().map(|drawing| (HEIGHT, drawing));
        chart::figure("", &escape_html(&self.title), drawing, &self.title, &labels, "")
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
            let colour = colour(i);
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
        let points = || self.series.iter().flat_map(|(_, points)| points.iter());
        let x = Axis::of(self.x.1, &mut points().map(|p| p.0), 0.0)?;
        let y = Axis::of(self.y.1, &mut points().map(|p| p.1), 0.05)?;
        let chart = Chart { height: HEIGHT, x, y };
        let mut out = chart.frame(&self.x.0, &self.y.0);
        for (i, (_, points)) in self.series.iter().enumerate() {
            let colour = colour(i);
            let (mut d, mut dots, mut pen) = (String::new(), String::new(), 'M');
            for &(a, b) in points {
                let (Some(a), Some(b)) = (chart.place_x(a), chart.place_y(b)) else {
                    pen = 'M';
                    continue;
                };
                let _ = write!(d, "{pen}{a:.1} {b:.1}");
                pen = 'L';
                if self.marks {
                    let _ = write!(dots, "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"3\" fill=\"{colour}\"/>");
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
