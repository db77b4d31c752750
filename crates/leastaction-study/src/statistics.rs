//! [`Statistics`]: what a run is judged by, gathered step by step in constant memory.

use leastaction::dynamics::Observables;
use leastaction::integrator::StepReport;
pub use leastaction_core::scalar::maximum;
use serde_json::{Value, json};

use crate::on_tape;

/// A run is looked at in so many parts: a drift shows as a trend over them.
pub const PARTS: usize = 10;

/// Energy error of one tenth of a run, in joule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tenth {
    /// Steps in it.
    pub steps: u64,
    /// Largest |E − E₀|.
    pub max: f64,
    /// Root mean square of E − E₀.
    pub rms: f64,
    /// Mean of the total energy.
    pub mean: f64,
    /// Lowest total energy.
    pub lowest: f64,
    /// Highest total energy.
    pub highest: f64,
}

on_tape!(Tenth: steps, max, rms, mean, lowest, highest);

impl Tenth {
    /// For machines.
    pub fn to_json(&self) -> Value {
        json!({
            "steps": self.steps,
            "max": self.max,
            "rms": self.rms,
            "mean": self.mean,
            "lowest": self.lowest,
            "highest": self.highest,
        })
    }
}

/// Figures of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Steps done.
    pub steps: u64,
    /// Energy error per tenth.
    pub tenths: [Tenth; PARTS],
    /// Total energy at the start.
    pub initial_energy: f64,
    /// Largest kinetic energy: the scale of energy errors.
    pub kinetic_scale: f64,
    /// Largest gap of a joint, metres.
    pub worst_gap: f64,
    /// Sum of iterations.
    pub iterations: u64,
    /// Most iterations of a step.
    pub max_iterations: u32,
    /// Attempts repeated.
    pub retries: u64,
    /// Steps halved.
    pub halvings: u64,
    /// Steps solved with averaged constraint directions.
    pub fallbacks: u64,
    /// Steps split.
    pub splits: u64,
    /// Most constraint directions dropped in a step.
    pub dropped_rank: u32,
    /// Internal steps of adaptive methods.
    pub substeps: u64,
    /// Largest constraint value left in directions dropped as redundant.
    pub inconsistency: f64,
    /// Work of all inputs since the start; not a number if the method does not know it.
    pub input_work: f64,
    /// Largest |E − E₀ − work of the inputs|.
    pub worst_balance: f64,
    /// Times a row stopped, let go or reached a limit.
    pub events: u64,
    /// Rows decided by rule.
    pub forced: u64,
    /// Parts tried to find where steps are cut.
    pub trials: u64,
    planned: u64,
}

on_tape!(
    Statistics: steps, tenths, initial_energy, kinetic_scale, worst_gap, iterations, max_iterations, retries, halvings,
    fallbacks, splits, dropped_rank, substeps, inconsistency, input_work, worst_balance, events, forced, trials, planned,
);

impl Statistics {
    /// Before the first of `planned` steps.
    pub fn new(planned: u64, start: &Observables, gap: f64) -> Self {
        Self {
            initial_energy: start.total(),
            kinetic_scale: start.kinetic,
            worst_gap: gap,
            planned: planned.max(1),
            ..Self::default()
        }
    }

    /// Takes a step and what was observed after it.
    pub fn add(&mut self, report: &StepReport, observed: &Observables, gap: f64) {
        let part = (u128::from(self.steps) * PARTS as u128 / u128::from(self.planned)) as usize;
        let tenth = &mut self.tenths[part.min(PARTS - 1)];
        let error = observed.total() - self.initial_energy;
        let total = observed.total();
        tenth.lowest = if tenth.steps == 0 { total } else { -maximum(-tenth.lowest, -total) };
        tenth.highest = if tenth.steps == 0 { total } else { maximum(tenth.highest, total) };
        tenth.steps += 1;
        tenth.max = maximum(tenth.max, error.abs());
        // Running means, so that a million steps lose no digits.
        let weight = 1.0 / tenth.steps as f64;
        let mean_square = tenth.rms * tenth.rms;
        tenth.rms = maximum(mean_square + (error * error - mean_square) * weight, 0.0).sqrt();
        tenth.mean += (observed.total() - tenth.mean) * weight;
        self.steps += 1;
        self.kinetic_scale = maximum(self.kinetic_scale, observed.kinetic);
        self.worst_gap = maximum(self.worst_gap, gap);
        self.iterations += u64::from(report.iterations);
        self.max_iterations = self.max_iterations.max(report.iterations);
        self.retries += u64::from(report.retries);
        self.halvings += u64::from(report.halvings);
        self.fallbacks += u64::from(report.fallbacks);
        self.splits += u64::from(report.splits);
        self.dropped_rank = self.dropped_rank.max(report.dropped_rank);
        self.substeps += u64::from(report.substeps);
        self.inconsistency = maximum(self.inconsistency, report.inconsistency);
        self.events += u64::from(report.events);
        self.forced += u64::from(report.forced);
        self.trials += u64::from(report.trials);
    }

    /// Takes the work of the inputs over the step that led to `observed`.
    pub fn add_work(&mut self, work: f64, observed: &Observables) {
        self.input_work += work;
        let error = observed.total() - self.initial_energy - self.input_work;
        self.worst_balance = maximum(self.worst_balance, error.abs());
    }

    /// True if the mean energy of every tenth lies within the range of the first: no drift.
    pub fn means_within_first_range(&self) -> bool {
        let first = &self.tenths[0];
        let within = |t: &Tenth| (first.lowest..=first.highest).contains(&t.mean);
        self.tenths.iter().filter(|t| t.steps > 0).all(within)
    }

    /// Largest energy error of the run.
    pub fn max_energy_error(&self) -> f64 {
        self.tenths.iter().map(|tenth| tenth.max).fold(0.0, maximum)
    }

    /// Root mean square of the energy error of the run.
    pub fn rms_energy_error(&self) -> f64 {
        let sum: f64 = self.tenths.iter().map(|t| t.rms * t.rms * t.steps as f64).sum();
        (sum / self.steps.max(1) as f64).sqrt()
    }

    /// An energy error relative to the largest kinetic energy.
    pub fn relative(&self, error: f64) -> f64 {
        if self.kinetic_scale == 0.0 { 0.0 } else { error / self.kinetic_scale }
    }

    /// Mean number of iterations.
    pub fn mean_iterations(&self) -> f64 {
        self.iterations as f64 / self.steps.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_energy_that_is_not_a_number_is_no_small_error() {
        let observed = |potential| Observables { kinetic: 1.0, potential, ..Default::default() };
        let mut statistics = Statistics::new(3, &observed(1.0), 0.0);
        for potential in [1.0, f64::NAN, 1.0] {
            statistics.add(&StepReport::default(), &observed(potential), 0.0);
        }
        assert!(statistics.max_energy_error().is_nan() && statistics.rms_energy_error().is_nan());
        assert!(!statistics.means_within_first_range());
        statistics.add(&StepReport::default(), &observed(1.0), f64::NAN);
        assert!(statistics.worst_gap.is_nan());
    }

    #[test]
    fn errors_fall_into_the_right_tenth() {
        let observed = |potential| Observables { kinetic: 1.0, potential, ..Default::default() };
        let mut statistics = Statistics::new(20, &observed(1.0), 0.0);
        for k in 0..20u32 {
            let report = StepReport { iterations: k % 3, ..Default::default() };
            statistics.add(&report, &observed(1.0 + f64::from(k)), 0.1 * f64::from(k));
        }
        assert!(statistics.tenths.iter().all(|tenth| tenth.steps == 2));
        assert_eq!(statistics.tenths[3].max, 7.0);
        assert!((statistics.tenths[3].rms - 42.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(statistics.tenths[3].mean, 8.5);
        assert_eq!((statistics.tenths[3].lowest, statistics.tenths[3].highest), (8.0, 9.0));
        assert!(!statistics.means_within_first_range());
        assert_eq!((statistics.max_energy_error(), statistics.max_iterations), (19.0, 2));
        let squares: f64 = (0..20).map(|k| f64::from(k * k)).sum();
        assert!((statistics.rms_energy_error() - (squares / 20.0).sqrt()).abs() < 1e-12);
        assert_eq!(statistics.relative(3.0), 3.0);
        assert!((statistics.worst_gap - 1.9).abs() < 1e-15);
    }
}
