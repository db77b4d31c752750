//! What the report of `motion` shows: the quantity and its rates, the recorded joints and their fit, the motion playing.

use leastaction::jet::{QuantityKind, RecordedMotion};
use leastaction::mechanism::{Mechanism, State};
use leastaction::optimize::LimitKind;
use leastaction::trajectory::{Recorded, Sampler};

use crate::digits::figure;
use crate::model::{self, Model};
use crate::page;
use crate::problem;
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
    /// Unit of each order.
    units: Vec<String>,
}

impl<'m> MotionPage<'m> {
    /// An empty page for a quantity with so many rows.
    pub fn new(mechanism: &'m Mechanism, quantity: &QuantityChoice, rows: usize, with_errors: bool) -> Self {
        let name = quantity.quantity.name();
        let title = |l: usize| match &quantity.of {
            Some(of) => capital(&format!("{} of {of}", derivative(name, l))),
            None => capital(&derivative(name, l)),
        };
        let labels = mechanism.v_labels();
        let rate = |id: &str, title: &str, unit: &str| {
            PlotThinner::new(id, title, problem::units_of(mechanism, unit), false, labels.clone())
        };
        Self {
            sampler: Sampler::new(mechanism),
            inputs: vec![0.0; mechanism.nu()],
            frames: FrameThinner::new(mechanism.nb()),
            quantities: (0..=quantity.order)
                .map(|l| {
                    // What the title says need not be said of every curve.
                    let names = quantity
                        .rows(mechanism, l, false)
                        .into_iter()
                        .map(|row| short(&row, quantity, l))
                        .collect();
                    // Values, then the edges of their error bands.
                    let all = repeated(names, if with_errors { 3 } else { 1 });
                    PlotThinner::new(
                        format!("quantity-{l}"),
                        title(l),
                        plain_unit(mechanism, quantity, l),
                        false,
                        all,
                    )
                })
                .collect(),
            rows,
            with_errors,
            positions: PlotThinner::new(
                "joint-positions",
                "Joint positions: recorded and fitted",
                problem::units_of(mechanism, "rad, m"),
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
                problem::units_of(mechanism, "rad, m"),
                true,
                ["largest of all coordinates"],
            ),
            name,
            units: (0..=quantity.order).map(|l| plain_unit(mechanism, quantity, l)).collect(),
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
            let label = format!("largest {}", derivative(self.name, l));
            let doubt = typical_errors.get(l).map_or(String::new(), |e| format!("± {}", figure(*e)));
            let value = format!("{} {}", figure(*x), self.units[l]);
            summary.push(SummaryRow::new(label, value, doubt).meaning(
                "The largest magnitude in the recording. Behind ± one standard error (rms over all samples): the truth is nearer than \
                 that in about two of three samples.",
            ));
        }
        summary.extend(noise_tiles(mechanism, recorded));
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

/// Tiles for more joints than this would hide the motion.
const MOST_JOINTS: usize = 8;

/// How noisy each joint is and how far the fit is from what was recorded; of many joints the noisiest.
fn noise_tiles(mechanism: &Mechanism, recorded: &RecordedMotion) -> Vec<SummaryRow> {
    let meaning = "Standard deviation of what is left of the recording beside a motion as smooth as the samples speak for. The fit is \
                   within the second number of every sample.";
    let noise_of =
        |label: &str| recorded.noise.iter().find(|(own, _)| own == label).map_or(0.0, |(_, noise)| *noise);
    let mut joints: Vec<(f64, &str, f64)> =
        recorded.residuals.iter().map(|(label, max, _)| (noise_of(label), label.as_str(), *max)).collect();
    let count = joints.len();
    if count > MOST_JOINTS {
        joints.sort_by(|a, b| b.0.total_cmp(&a.0));
        joints.truncate(1);
    }
    let tile = |(noise, label, max): (f64, &str, f64)| {
        let label = label.trim_start_matches("q.");
        let (word, value) = if noise > 0.0 { ("noise", noise) } else { ("fit", max) };
        let note = if count > MOST_JOINTS {
            format!("the noisiest of {count}; fit within {}", figure(max))
        } else {
            format!("fit within {}", figure(max))
        };
        let unit = problem::limit_unit(mechanism, LimitKind::Position, coordinate_of(mechanism, label));
        SummaryRow::new(format!("{word} of {label}"), format!("{} {unit}", figure(value)), note)
            .meaning(meaning)
    };
    joints.into_iter().map(tile).collect()
}

/// The velocity coordinate that a fitted joint, or the position of a free one, begins with.
fn coordinate_of(mechanism: &Mechanism, label: &str) -> usize {
    let labels = mechanism.v_labels();
    let first =
        |prefix: &str| labels.iter().position(|own| own == prefix || own.starts_with(&format!("{prefix}.")));
    match label.split_once(" position ") {
        // Three angular ones are before it.
        Some((joint, _)) => first(joint).map_or(0, |at| at + 3),
        None => first(label).unwrap_or(0),
    }
}

/// A time derivative in words.
fn derivative(name: &str, order: usize) -> String {
    let name = name.replace('_', " ");
    match order {
        0 => name,
        1 => format!("rate of {name}"),
        2 => format!("second time derivative of {name}"),
        n => format!("time derivative {n} of {name}"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The unit of a quantity's values: that of turning joints where no joint slides.
fn plain_unit(mechanism: &Mechanism, quantity: &QuantityChoice, order: usize) -> String {
    let unit = quantity.unit(order);
    let turns = |c: usize| problem::limit_unit(mechanism, LimitKind::Position, c) == "rad";
    if quantity.quantity == QuantityKind::Torque && (0..mechanism.nv()).all(turns) {
        return unit.split(", ").next().unwrap_or_default().to_owned();
    }
    unit.replace(", ", " or ")
}

/// A row's name without the quantity, what it is of, and the order.
fn short(row: &str, quantity: &QuantityChoice, order: usize) -> String {
    let mut rest = row;
    let rate = format!("d{order}");
    for part in [quantity.quantity.name(), quantity.of.as_deref().unwrap_or(""), &rate] {
        let after = rest.strip_prefix(part).and_then(|rest| rest.strip_prefix('.'));
        rest = after.filter(|_| !part.is_empty()).unwrap_or(rest);
    }
    rest.to_owned()
}

fn repeated(names: Vec<String>, times: usize) -> Vec<String> {
    (0..times).flat_map(|_| names.clone()).collect()
}
