//! Keeps the smallest and largest value per bucket of a stream of unknown length.

use super::data::{Overlay, OverlayValues, Plot, Series, SeriesValues};

/// A plot is not wider on most screens, and a run of 1001 samples stays exact.
const MAX_BUCKETS: usize = 1200;
/// Curves of one plot that can still be told apart, more or less.
const MAX_SERIES: usize = 40;
/// Points of all curves of one plot together: 0.34 MB in the page.
const MAX_POINTS: usize = 16_000;

/// What a group of further curves is, with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayKind {
    /// Lower edges, then upper edges.
    Band(&'static str),
    /// Values.
    Dots(&'static str),
}

/// Takes every sample of the curves of one plot; keeps their range in evenly filled buckets.
///
/// When the buckets are used up neighbours merge and each bucket holds twice as many samples, so no
/// peak is ever lost and the result depends on the stream only. Memory is taken once, in
/// [`PlotThinner::new`]. Values that are not numbers (NaN) are left out of a bucket's range.
#[derive(Debug, Clone)]
pub struct PlotThinner {
    id: String,
    title: String,
    unit: String,
    log_scale: bool,
    labels: Vec<String>,
    omitted: usize,
    capacity: usize,
    /// Samples per full bucket.
    stride: u64,
    /// Samples in the newest bucket.
    filled: u64,
    /// First and last time of each bucket.
    spans: Vec<(f64, f64)>,
    /// Bucket after bucket, curve after curve: smallest, largest.
    ranges: Vec<(f64, f64)>,
}

impl PlotThinner {
    /// A thinner for curves with these labels. Of very many the first ones are kept and the rest counted.
    pub fn new<L: Into<String>>(
        id: impl Into<String>,
        title: impl Into<String>,
        unit: impl Into<String>,
        log_scale: bool,
        labels: impl IntoIterator<Item = L>,
    ) -> Self {
        let mut labels: Vec<String> = labels.into_iter().map(Into::into).collect();
        let omitted = labels.len().saturating_sub(MAX_SERIES);
        labels.truncate(MAX_SERIES);
        let capacity = (MAX_POINTS / labels.len().max(1)).min(MAX_BUCKETS) / 2 * 2;
        Self {
            id: id.into(),
            title: title.into(),
            unit: unit.into(),
            log_scale,
            omitted,
            capacity,
            stride: 1,
            filled: 0,
            spans: Vec::with_capacity(capacity),
            ranges: Vec::with_capacity(capacity * labels.len()),
            labels,
        }
    }

    /// True before the first sample.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Takes the sample at time `t`: one value per label given to [`PlotThinner::new`]. Does not allocate.
    pub fn push(&mut self, t: f64, values: &[f64]) {
        let curves = self.labels.len();
        debug_assert_eq!(values.len(), curves + self.omitted, "values of a sample");
        if self.spans.is_empty() || self.filled == self.stride {
            if self.spans.len() == self.capacity {
                self.merge_neighbours();
            }
            self.spans.push((t, t));
            self.ranges.extend((0..curves).map(|c| {
                let value = values.get(c).copied().unwrap_or(f64::NAN);
                (value, value)
            }));
            self.filled = 1;
        } else {
            let newest = self.spans.len() - 1;
            self.spans[newest].1 = t;
            for (range, &value) in self.ranges[newest * curves..].iter_mut().zip(values) {
                *range = union(*range, (value, value));
            }
            self.filled += 1;
        }
    }

    /// The plot of the samples so far; the thinner can go on afterwards.
    pub fn plot(&self) -> Plot {
        let curves = self.labels.len();
        let column = |curve: usize, edge: fn(&(f64, f64)) -> f64| -> Vec<f64> {
            self.ranges.iter().skip(curve).step_by(curves).map(edge).collect()
        };
        let series = self.labels.iter().enumerate().map(|(curve, label)| {
            let min = column(curve, |range| range.0);
            let values = if self.stride == 1 {
                SeriesValues::Exact { values: min }
            } else {
                SeriesValues::Range { min, max: column(curve, |range| range.1) }
            };
            Series { label: label.clone(), values }
        });
        Plot {
            id: self.id.clone(),
            title: self.title.clone(),
            unit: self.unit.clone(),
            log_scale: self.log_scale,
            x: self.spans.iter().map(|&(first, last)| first + 0.5 * (last - first)).collect(),
            series: series.collect(),
            omitted: self.omitted,
            own_axis: false,
            overlays: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// The plot with the later curves drawn with the first `curves` ones: each group of as many, in turn, is the lower and
    /// the upper edge of a band, or dots. A group that was cut off for its size is left out.
    pub fn plot_with(&self, curves: usize, groups: &[OverlayKind]) -> Plot {
        let mut plot = self.plot();
        let edge = |plot: &Plot, at: usize, upper: bool| -> Option<Vec<f64>> {
            let (low, high) = plot.series.get(at)?.values.range();
            Some(if upper { high.to_vec() } else { low.to_vec() })
        };
        let mut first = curves;
        for group in groups {
            for of in 0..curves {
                let values = match group {
                    OverlayKind::Band(_) => edge(&plot, first + of, false)
                        .zip(edge(&plot, first + curves + of, true))
                        .map(|(low, high)| OverlayValues::Band { low, high }),
                    OverlayKind::Dots(_) => {
                        edge(&plot, first + of, false).map(|values| OverlayValues::Dots { values })
                    }
                };
                let (OverlayKind::Band(label) | OverlayKind::Dots(label)) = group;
                if let Some(values) = values {
                    plot.overlays.push(Overlay { of, label: (*label).to_owned(), values });
                }
            }
            first += curves * if matches!(group, OverlayKind::Band(_)) { 2 } else { 1 };
        }
        let all = plot.series.len() + plot.omitted;
        plot.omitted = curves.saturating_sub(plot.series.len()).min(all);
        plot.series.truncate(curves);
        plot
    }

    fn merge_neighbours(&mut self) {
        let curves = self.labels.len();
        let pairs = self.spans.len() / 2;
        for i in 0..pairs {
            self.spans[i] = (self.spans[2 * i].0, self.spans[2 * i + 1].1);
            for c in 0..curves {
                let [left, right] = [2 * i, 2 * i + 1].map(|bucket| self.ranges[bucket * curves + c]);
                self.ranges[i * curves + c] = union(left, right);
            }
        }
        self.spans.truncate(pairs);
        self.ranges.truncate(pairs * curves);
        self.stride *= 2;
    }
}

/// Smallest range that holds both; `f64::min` and `max` prefer a number to NaN.
fn union(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_curves() -> PlotThinner {
        PlotThinner::new("p", "P", "m", false, ["a", "b"])
    }

    #[test]
    fn short_streams_stay_exact() {
        let mut thinner = two_curves();
        for i in 0..1000 {
            thinner.push(f64::from(i), &[f64::from(i), -f64::from(i)]);
        }
        let plot = thinner.plot();
        assert_eq!(plot.x.len(), 1000);
        match &plot.series[1].values {
            SeriesValues::Exact { values } => assert_eq!(values[999], -999.0),
            SeriesValues::Range { .. } => panic!("nothing was thinned"),
        }
    }

    #[test]
    fn one_high_and_one_low_sample_among_a_million_survive_in_the_right_place() {
        let mut thinner = two_curves();
        let (spans, ranges) = (thinner.spans.capacity(), thinner.ranges.capacity());
        for i in 0..1_000_003u32 {
            let spike = match i {
                777_777 => 5.0,
                123_456 => -3.0,
                _ => 0.0,
            };
            thinner.push(f64::from(i), &[spike, f64::from(i)]);
        }
        assert_eq!((thinner.spans.capacity(), thinner.ranges.capacity()), (spans, ranges), "memory grew");
        let plot = thinner.plot();
        let buckets = plot.x.len();
        assert!((MAX_BUCKETS / 2..=MAX_BUCKETS).contains(&buckets), "{buckets} buckets");
        let (min, max) = plot.series[0].values.range();
        let peaks: Vec<usize> = (0..buckets).filter(|&i| max[i] == 5.0).collect();
        let dips: Vec<usize> = (0..buckets).filter(|&i| min[i] == -3.0).collect();
        assert_eq!((peaks.len(), dips.len()), (1, 1));
        let stride = thinner.stride as f64;
        assert!((plot.x[peaks[0]] - 777_777.0).abs() <= stride);
        assert!((plot.x[dips[0]] - 123_456.0).abs() <= stride);
        // The ramp: buckets join without a hole or an overlap.
        let (low, high) = plot.series[1].values.range();
        assert_eq!((low[0], high[buckets - 1]), (0.0, 1_000_002.0));
        assert!((1..buckets).all(|i| low[i] == high[i - 1] + 1.0));
    }

    #[test]
    fn nan_is_left_out_unless_nothing_else_is_there() {
        let mut thinner = PlotThinner::new("p", "P", "", false, ["a"]);
        for i in 0..4000 {
            thinner.push(f64::from(i), &[if i < 2000 || i % 2 == 0 { f64::NAN } else { 1.0 }]);
        }
        let plot = thinner.plot();
        let (min, max) = plot.series[0].values.range();
        assert!(min[0].is_nan() && max[0].is_nan());
        assert_eq!((min[min.len() - 1], max[max.len() - 1]), (1.0, 1.0));
    }

    #[test]
    fn surplus_curves_are_counted_and_points_stay_within_the_budget() {
        let mut thinner = PlotThinner::new("q", "Q", "rad", false, (0..100).map(|i| format!("joint{i}")));
        let sample = vec![1.0; 100];
        for i in 0..5000 {
            thinner.push(f64::from(i), &sample);
        }
        let plot = thinner.plot();
        assert_eq!((plot.series.len(), plot.omitted), (MAX_SERIES, 100 - MAX_SERIES));
        assert!(plot.x.len() * plot.series.len() <= MAX_POINTS);
    }

    #[test]
    fn a_plot_without_curves_does_no_harm() {
        let mut thinner = PlotThinner::new("n", "None", "", true, Vec::<String>::new());
        for i in 0..3000 {
            thinner.push(f64::from(i), &[]);
        }
        assert!(thinner.plot().series.is_empty());
    }
}
