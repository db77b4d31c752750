//! [`RecordedMotion`]: derivatives of a recorded trajectory, by spline fits.
//!
//! One-axis coordinates are fitted from their positions and, where recorded, their rates. Ball and free joints keep
//! the recorded orientation and position and are differentiated through their recorded velocity.

use super::stage::StageKind;
use super::workspace::JetWorkspace;
use crate::mechanism::Mechanism;
use crate::spline::{FitOptions, SplineError, SplineFit};
use crate::trajectory::Trajectory;

/// Why a recorded trajectory cannot be differentiated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// A column is missing.
    #[error("the trajectory has no column `{column}`")]
    MissingColumn {
        /// Its name.
        column: String,
    },
    /// The samples cannot be fitted.
    #[error(transparent)]
    Fit(#[from] SplineError),
}

/// A trajectory with its derivatives at the recorded times.
#[derive(Clone, Debug)]
pub struct RecordedMotion {
    /// Sample times.
    pub times: Vec<f64>,
    nq: usize,
    nv: usize,
    count: usize,
    /// `[sample][nq]`.
    positions: Vec<f64>,
    /// `[sample][derivative][nv]`.
    derivatives: Vec<f64>,
    /// Largest difference of the fit to the recording at each sample, over all coordinates.
    misfits: Vec<f64>,
    /// Largest and root-mean-square misfit of each fitted coordinate, by label.
    pub residuals: Vec<(String, f64, f64)>,
}

impl RecordedMotion {
    /// Fits a trajectory and differentiates the velocity `count − 1` times (velocity, acceleration, …: `count` rows).
    ///
    /// # Errors
    /// If a column is missing or the samples cannot be fitted.
    pub fn fit(
        mechanism: &Mechanism,
        trajectory: &Trajectory,
        count: usize,
        options: &FitOptions,
    ) -> Result<Self, RecordedError> {
        let column =
            |name: String| trajectory.column(&name).ok_or(RecordedError::MissingColumn { column: name });
        let times = column("t".to_owned())?;
        let (nq, nv, n) = (mechanism.nq(), mechanism.nv(), times.len());
        let (q_labels, v_labels) = (mechanism.q_labels(), mechanism.v_labels());
        let jets = JetWorkspace::<f64>::new(mechanism, -1);
        let options = FitOptions { degree: options.degree.max(count + 2), ..*options };
        let mut motion = Self {
            nq,
            nv,
            count,
            positions: vec![0.0; n * nq],
            derivatives: vec![0.0; n * count * nv],
            misfits: vec![0.0; n],
            residuals: Vec::new(),
            times,
        };
        for c in 0..nq {
            for (s, x) in column(format!("q.{}", q_labels[c]))?.into_iter().enumerate() {
                motion.positions[s * nq + c] = x;
            }
        }
        for stage in &jets.tree.stages {
            let coordinates = stage.v..stage.v + stage.nv;
            let turning = matches!(stage.kind, StageKind::Ball | StageKind::Free);
            for c in coordinates {
                let rates = column(format!("v.{}", v_labels[c]));
                // (values, rates of the values, derivatives of the values that are the velocity)
                let (values, rates, skip) = if turning {
                    (rates?, None, 0)
                } else {
                    let q = column(format!("q.{}", q_labels[stage.q + (c - stage.v)]))?;
                    (q, rates.ok(), 1)
                };
                let fit = SplineFit::new(&motion.times, &values, rates.as_deref(), 1, &options)?;
                let orders = count + skip;
                let x = fit.evaluate(&motion.times, orders - 1)?;
                for s in 0..n {
                    motion.misfits[s] = motion.misfits[s].max((x[s * orders] - values[s]).abs());
                    for d in 0..count {
                        motion.derivatives[(s * count + d) * nv + c] = x[s * orders + d + skip];
                    }
                    if !turning {
                        motion.positions[s * nq + stage.q + (c - stage.v)] = x[s * orders];
                    }
                }
                let label = if turning { format!("v.{}", v_labels[c]) } else { format!("q.{}", v_labels[c]) };
                motion.residuals.push((label, fit.residual_max[0], fit.residual_rms[0]));
            }
        }
        Ok(motion)
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }
    /// True if there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
    /// Largest difference of the fit to the recording at sample `s`, over all coordinates.
    #[must_use]
    pub fn misfit(&self, s: usize) -> f64 {
        self.misfits[s]
    }
    /// Positions of sample `s`.
    #[must_use]
    pub fn positions(&self, s: usize) -> &[f64] {
        &self.positions[s * self.nq..(s + 1) * self.nq]
    }
    /// Velocity, acceleration, … of sample `s`.
    #[must_use]
    pub fn derivatives(&self, s: usize) -> Vec<&[f64]> {
        let row = self.count * self.nv;
        let all = &self.derivatives[s * row..(s + 1) * row];
        (0..self.count).map(|d| &all[d * self.nv..(d + 1) * self.nv]).collect()
    }
}
