//! [`Samples`] of a motion, and [`Quantities`], which evaluates a list of quantities at all of them.

use std::ops::Range;

/// Consecutive samples of a motion: what quantities are evaluated at.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// Index of the first one, for references that change over time.
    pub first: usize,
    /// Times, one per sample.
    pub times: &'a [f64],
    /// States, one after the other: the configuration, then velocity, acceleration, … in plain derivatives.
    pub x: &'a [f64],
}

impl<'a> Samples<'a> {
    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }
    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
    /// Entries of a state.
    #[must_use]
    pub fn size(&self) -> usize {
        self.x.len() / self.len().max(1)
    }
    /// The state of sample `s`, counted from the first one here.
    #[must_use]
    pub fn state(&self, s: usize) -> &'a [f64] {
        let size = self.size();
        &self.x[s * size..(s + 1) * size]
    }
    /// Some of the samples.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Self {
        let size = self.size();
        Self {
            first: self.first + range.start,
            x: &self.x[range.start * size..range.end * size],
            times: &self.times[range],
        }
    }
}

/// Values and derivatives of a list of quantities at many samples at once.
///
/// What belongs to a sample follows what belongs to the one before: values are `z[sample][row]`, Jacobians
/// `[sample][row][state entry]`, Hessians `[sample][state entry][state entry]`, full and symmetric. A sample that cannot
/// be evaluated has NaN in its own results and does no harm to the others.
pub trait Quantities: Send {
    /// Number of rows of all quantities together.
    fn rows(&self) -> usize;
    /// Values at all samples.
    fn values(&mut self, samples: Samples<'_>, z: &mut [f64]);
    /// Jacobians at all samples.
    fn jacobians(&mut self, samples: Samples<'_>, jacobians: &mut [f64]);
    /// Adds `Σ_r mu_r ∇²z_r` to the Hessian of every sample; `mu[sample][row]`.
    fn add_hessians(&mut self, samples: Samples<'_>, mu: &[f64], hessians: &mut [f64]);
}

/// No quantities at all: problems with joint-space terms only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoQuantities;

impl Quantities for NoQuantities {
    fn rows(&self) -> usize {
        0
    }
    fn values(&mut self, _: Samples<'_>, _: &mut [f64]) {}
    fn jacobians(&mut self, _: Samples<'_>, _: &mut [f64]) {}
    fn add_hessians(&mut self, _: Samples<'_>, _: &[f64], _: &mut [f64]) {}
}
