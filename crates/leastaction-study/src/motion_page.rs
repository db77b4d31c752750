//! What the report of `motion` shows: the quantity and its rates, the recorded joints and their fit, the motion playing.

use leastaction::jet::RecordedMotion;
use leastaction::mechanism::{Mechanism, State};
use leastaction::trajectory::{Recorded, Sampler};

use crate::digits::figure;
use crate::model::{self, Model};
use crate::page;
use crate::quantity::QuantityChoice;
use crate::report::{FrameThinner, PlotThinner, ReportData, SummaryRow};

/// Gathers frames and plots sample by sample.
pub struct MotionPage<'m> {
    sampler: Sampler<'m>,
    /// Inputs of a recording are not known.
    inputs: Vec<f64>,
    frames: FrameThinner,
    /// One plot per order of the quantity, each of `rows` curves.
    quantities: Vec<PlotThinner>,
    rows: usize,
    positions: PlotThinner,
    rates: Vec<PlotThinner>,
    misfit: PlotThinner,
    name: &'static str,
}

impl<'m> MotionPage<'m> {
    /// An empty page for a quantity with so many rows.
    pub fn new(mechanism: &'m Mechanism, quantity: &QuantityChoice, rows: usize) -> Self {
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
                    let unit = quantity.unit(l);
                    PlotThinner::new(
                        format!("quantity-{l}"),
                        title(l),
                        unit,
                        false,
                        quantity.rows(mechanism, l, false),
                    )
                })
                .collect(),
            rows,
            positions: PlotThinner::new(
                "joint-positions",
                "Joint positions, fitted",
                "rad, m",
                false,
                mechanism.q_labels(),
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

    /// Takes a sample: configuration, derivatives, the quantity at all orders, and the misfit of the fit.
    pub fn push(&mut self, t: f64, q: &[f64], rates: &[&[f64]], values: &[f64], misfit: f64) {
        let state = State { t, q: q.to_vec(), v: rates[0].to_vec(), ..State::default() };
        let observed = self.sampler.observe(&state);
        self.sampler.row(&state, &observed, Recorded { t, u: &self.inputs, ..Recorded::default() });
        self.frames.push(t, self.sampler.poses());
        for (plot, values) in self.quantities.iter_mut().zip(values.chunks(self.rows.max(1))) {
            plot.push(t, values);
        }
        self.positions.push(t, q);
        for (plot, rate) in self.rates.iter_mut().zip(rates) {
            plot.push(t, rate);
        }
        self.misfit.push(t, &[misfit]);
    }

    /// The page with everything that was pushed.
    pub fn finish(
        self,
        model: &Model,
        mechanism: &Mechanism,
        subtitle: String,
        largest: &[f64],
        recorded: &RecordedMotion,
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
            summary.push(SummaryRow::new(label, figure(*x), ""));
        }
        for (label, max, rms) in &recorded.residuals {
            summary.push(SummaryRow::new(
                format!("fit of {label}"),
                format!("{} at most", figure(*max)),
                format!("rms {}", figure(*rms)),
            ));
        }
        let shown = self.rates.into_iter().filter(|plot| !plot.is_empty());
        let plots = self.quantities.iter().map(PlotThinner::plot).chain([self.positions.plot()]);
        ReportData {
            title: mechanism.name().to_owned(),
            subtitle,
            summary,
            warnings: Vec::new(),
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
