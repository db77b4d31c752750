//! Measures: one number of a run, gathered step by step.

use leastaction::dynamics::Observables;
use leastaction_core::scalar::maximum;

use crate::choices;

choices! {
    /// What becomes of the values of a run.
    How {
        /// The largest value
        Largest = "largest",
        /// The smallest value
        Smallest = "smallest",
        /// The largest magnitude
        LargestMagnitude = "largest_magnitude",
        /// The mean over all steps
        Mean = "mean",
        /// The root of the mean square
        Rms = "rms",
        /// The value at the end
        End = "end",
    }
}

/// Whose values are measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Of {
    /// Distance of the total energy from that at the start.
    EnergyError,
    /// Largest distance of a position from the goal of the policy.
    Goal,
    /// A column of the trajectory.
    Column(String),
}

/// What is measured, and how.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    pub(super) of: Of,
    pub(super) how: How,
}

/// A measure with its column found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    EnergyError,
    Goal,
    /// A position or velocity: `q`, then `v`.
    State(usize),
    /// A number of the row.
    Row(usize),
}

/// One measure on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gauge {
    pub(super) source: Source,
    how: How,
    value: f64,
    count: f64,
}

impl Gauge {
    pub(super) fn new(source: Source, how: How) -> Self {
        Self { source, how, value: f64::NAN, count: 0.0 }
    }

    /// Begins again.
    pub(super) fn reset(&mut self) {
        (self.value, self.count) = (f64::NAN, 0.0);
    }

    /// Takes the value after a step. A value that is not a number makes the measure none.
    pub(super) fn take(&mut self, x: f64) {
        let first = self.count == 0.0;
        self.count += 1.0;
        let x = if self.how == How::LargestMagnitude { x.abs() } else { x };
        self.value = match self.how {
            _ if first => {
                if self.how == How::Rms {
                    x * x
                } else {
                    x
                }
            }
            How::Largest | How::LargestMagnitude => maximum(self.value, x),
            How::Smallest => -maximum(-self.value, -x),
            How::Mean => self.value + (x - self.value) / self.count,
            How::Rms => self.value + (x * x - self.value) / self.count,
            How::End => x,
        };
    }

    /// The number of the run.
    pub(super) fn value(&self) -> f64 {
        if self.how == How::Rms { maximum(self.value, 0.0).sqrt() } else { self.value }
    }
}

/// |E − E₀|.
pub(super) fn energy_error(now: &Observables, start: f64) -> f64 {
    (now.total() - start).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Choice;

    #[test]
    fn gauges_measure_what_their_words_say() {
        let of = |how: How| {
            let mut gauge = Gauge::new(Source::Goal, how);
            gauge.take(9.0);
            gauge.reset();
            [1.0, -3.0, 2.0, 1.0].into_iter().for_each(|x| gauge.take(x));
            gauge.value()
        };
        let expected = [2.0, -3.0, 3.0, 0.25, 3.75f64.sqrt(), 1.0];
        for (how, expected) in How::CHOICES.iter().zip(expected) {
            assert!((of(*how) - expected).abs() < 1e-15, "{how:?}");
        }
        let mut gauge = Gauge::new(Source::Goal, How::Largest);
        [1.0, f64::NAN, 2.0].into_iter().for_each(|x| gauge.take(x));
        assert!(gauge.value().is_nan());
    }
}
