//! What the report of `motion` shows: the quantity and its rates, the recorded joints and their fit, the motion playing.

use leastaction::jet::RecordedMotion;
use leastaction::mechanism::{Mechanism, State};
use leastaction::trajectory::{Recorded, Sampler};

use crate::digits::figure;
use crate::model::{self, Model};
use crate::page;
use crate::quantity::QuantityChoice;
use crate::report::{FrameThinner, OverlayKind, PlotThinner, ReportData, SummaryRow};

/// Gathers frames and plots sample by sample.
pub struct MotionPage<'m> {
    sampler: Sampler<'m>,
    /// Inputs of a recording are not known.
    inputs: Vec<f64>,
    frames: FrameThinner,
    /// One plot per order of the quantity, each of `rows` curves.
    quantities: Vec<PlotThinner>,
    rows: usize,
    with_errors: bool,
    positions: PlotThinner,
    rates: Vec<PlotThinner>,
    misfit: PlotThinner,
    name: &'static str,
}

impl<'m> MotionPage<'m> {
    /// An empty page for a quantity with so many rows.
    pub fn new(mechanism: &'m Mechanism, quantity: &QuantityChoice, rows: usize, with_errors: bool) -> Self {
        let name = quantity.quantity.name();
        let title = |l: usize| match (&quantity.of, l) {
            (Some(of), 0) => format!("{name} of {of}"),
            (Some(of), l) => format!("{name} of {of}, time derivative {l}"),
            (None, 0) => name.to_owned(),
            (None, l) => format!("{name}, time derivative {l}"),
        };
        let labels = mechanism.v_labels();
        let rate =
            |id: &str, title: &str, unit: &str| PlotThinner::new(id, title, unit, false, labels.clone());
        Self {
            sampler: Sampler::new(mechanism),
            inputs: vec![0.0; mechanism.nu()],
            frames: FrameThinner::new(mechanism.nb()),
            quantities: (0..=quantity.order)
                .map(|l| {
                    let names = quantity.rows(mechanism, l, false);
                    // Values, then the edges of their error bands.
                    let all = repeated(names, if with_errors { 3 } else { 1 });
                    PlotThinner::new(format!("quantity-{l}"), title(l), quantity.unit(l), false, all)
                })
                .collect(),
            rows,
            with_errors,
            positions: PlotThinner::new(
                "joint-positions",
                "Joint positions: recorded and fitted",
                "rad, m",
                false,
                repeated(mechanism.q_labels(), 2),
            ),
            rates: vec![
                rate("joint-velocities", "Joint velocities, fitted", "rad/s, m/s"),
                rate("joint-accelerations", "Joint accelerations, fitted", "rad/s², m/s²"),
                rate("joint-jerks", "Joint jerks, fitted", "rad/s³, m/s³"),
            ],
            misfit: PlotThinner::new(
                "fit-residual",
                "Difference of the fit to the recording",
                "rad, m (rad/s, m/s for ball and free joints)",
                true,
                ["largest of all coordinates"],
            ),
            name,
        }
    }

    /// Takes sample `s` of a recording: the quantity at all orders, and its standard errors where there are any.
    pub fn push(&mut self, recorded: &RecordedMotion, s: usize, values: &[f64], errors: &[f64]) {
        let (t, q, rates) = (recorded.times[s], recorded.positions(s), recorded.derivatives(s));
        let state = State { t, q: q.to_vec(), v: rates[0].to_vec(), ..State::default() };
        let observed = self.sampler.observe(&state);
        self.sampler.row(&state, &observed, Recorded { t, u: &self.inputs, ..Recorded::default() });
        self.frames.push(t, self.sampler.poses());
        let rows = self.rows.max(1);
        for (l, (plot, values)) in self.quantities.iter_mut().zip(values.chunks(rows)).enumerate() {
            let mut all = values.to_vec();
            if self.with_errors {
                let errors = &errors[l * rows..(l + 1) * rows];
                all.extend(values.iter().zip(errors).map(|(x, e)| x - e));
                all.extend(values.iter().zip(errors).map(|(x, e)| x + e));
            }
            plot.push(t, &all);
        }
        self.positions.push(t, &[q, recorded.recorded(s)].concat());
        for (plot, rate) in self.rates.iter_mut().zip(&rates) {
            plot.push(t, rate);
        }
        self.misfit.push(t, &[recorded.misfit(s)]);
    }

    /// The page with everything that was pushed.
    pub fn finish(
        self,
        model: &Model,
        mechanism: &Mechanism,
        subtitle: String,
        largest: &[f64],
        typical_errors: &[f64],
        recorded: &RecordedMotion,
        warnings: Vec<String>,
    ) -> ReportData {
        let (first, last) =
            (recorded.times.first().copied().unwrap_or(0.0), recorded.times.last().copied().unwrap_or(0.0));
        let mut summary = vec![SummaryRow::new(
            "samples",
            recorded.len().to_string(),
            format!("from t = {first} s to {last} s"),
        )];
        for (l, x) in largest.iter().enumerate() {
            let label = if l == 0 {
                format!("largest {}", self.name)
            } else {
                format!("largest {}, time derivative {l}", self.name)
            };
            let doubt = typical_errors
                .get(l)
                .map_or(String::new(), |e| format!("± {} (one standard error, rms)", figure(*e)));
            summary.push(SummaryRow::new(label, figure(*x), doubt));
        }
        // One tile per joint: how noisy it is, and how far the fit is from what was recorded.
        for (label, max, rms) in &recorded.residuals {
            let noise = recorded.noise.iter().find(|(own, _)| own == label).map_or(0.0, |(_, noise)| *noise);
            let (word, value) = if noise > 0.0 {
                ("noise", figure(noise))
            } else {
                ("fit", format!("{} at most", figure(*max)))
            };
            summary.push(SummaryRow::new(
                format!("{word} of {label}"),
                value,
                format!("fit within {}, rms {}", figure(*max), figure(*rms)),
            ));
        }
        let shown = self.rates.into_iter().filter(|plot| !plot.is_empty());
        let (rows, band) = (self.rows, OverlayKind::Band("one standard error"));
        let groups: &[OverlayKind] = if self.with_errors { &[band] } else { &[] };
        let quantities = self.quantities.iter().map(|plot| plot.plot_with(rows, groups));
        let positions = self.positions.plot_with(mechanism.nq(), &[OverlayKind::Dots("recorded")]);
        let plots = quantities.chain([positions]);
        ReportData {
            title: mechanism.name().to_owned(),
            subtitle,
            summary,
            warnings,
            configuration: String::new(),
            versions: vec![("leastaction".into(), env!("CARGO_PKG_VERSION").into())],
            model_hash: model::hash(&model.description),
            scene: page::scene(mechanism),
            frames: self.frames.frames(),
            plots: plots.chain(shown.map(|plot| plot.plot())).chain([self.misfit.plot()]).collect(),
            ..ReportData::default()
        }
    }
}

fn repeated(names: Vec<String>, times: usize) -> Vec<String> {
    (0..times).flat_map(|_| names.clone()).collect()
}
