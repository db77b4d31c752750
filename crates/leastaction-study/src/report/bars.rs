//! Bars with error bars as inline SVG: drawn here, so that they need no script. Names and numbers stand above their bars: beside them a
//! telephone would leave no room for either.

use std::fmt::Write;

use super::data::Bars;
use super::{escape, ticks};

const WIDTH: f64 = 360.0;
const ROW: f64 = 42.0;
/// Where a bar begins below the top of its row, and how high it is.
const BAR: (f64, f64) = (20.0, 14.0);
const LEFT: f64 = 8.0;
const RIGHT: f64 = 12.0;
const BOTTOM: f64 = 24.0;

/// A figure with one horizontal bar per row; empty without rows.
pub(super) fn figure(bars: &Bars) -> String {
    let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
    let rows: Vec<(&str, f64, f64)> =
        bars.rows.iter().map(|(label, x, sigma)| (label.as_str(), finite(*x), finite(sigma.abs()))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let top = rows.iter().fold(0.0f64, |m, (_, x, s)| m.max(x + s)).max(f64::MIN_POSITIVE);
    let at = |x: f64| LEFT + (WIDTH - LEFT - RIGHT) * (x / top).clamp(0.0, 1.0);
    let height = ROW * rows.len() as f64 + BOTTOM;
    let mut html = format!(
        "<figure class=\"plot bars\" id=\"bars\"><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-label=\"{}\">",
        escape::html(&bars.title),
        escape::html(&bars.title)
    );
    let floor = ROW * rows.len() as f64;
    for (tick, text) in ticks::linear(0.0, top, 5) {
        let x = at(tick);
        let _ = write!(
            html,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{floor}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            floor + 17.0,
            escape::html(&text)
        );
    }
    for (i, (label, x, sigma)) in rows.iter().enumerate() {
        let (row, (down, thick)) = (ROW * i as f64, BAR);
        let middle = row + down + 0.5 * thick;
        let (low, high) = (at((x - sigma).max(0.0)), at(x + sigma));
        let _ = write!(
            html,
            "<text x=\"{LEFT}\" y=\"{:.1}\">{}</text>\
             <rect class=\"bar\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{thick}\" rx=\"2\"/>\
             <path class=\"whisker\" d=\"M{low:.2} {middle}H{high:.2}M{low:.2} {:.1}v10M{high:.2} {:.1}v10\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{x:.4} ± {sigma:.1e}</text>",
            row + 15.0,
            escape::html(label),
            row + down,
            at(*x) - LEFT,
            middle - 5.0,
            middle - 5.0,
            WIDTH - RIGHT,
            row + 15.0
        );
    }
    html.push_str("</svg></figure>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_whiskers_and_escape_their_labels() {
        let rows = vec![("a<b".to_owned(), 0.75, 0.1), ("c".to_owned(), 0.25, f64::NAN)];
        let html = figure(&Bars { title: "weights".into(), rows });
        assert_eq!(html.matches("class=\"bar\"").count(), 2);
        assert_eq!(html.matches("class=\"whisker\"").count(), 2);
        assert!(html.contains("a&lt;b") && !html.contains("NaN"));
        assert!(figure(&Bars::default()).is_empty());
    }
}
