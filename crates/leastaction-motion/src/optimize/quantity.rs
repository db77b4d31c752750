//! What a cost or a limit can depend on at one sample: [`Quantity`], and [`Quantities`], which evaluates a list of them at
//! all samples.

use std::ops::Range;

use crate::mechanism::BodyId;
use crate::spatial::{Mat3, Vec3};

/// Consecutive samples of a motion: what quantities are evaluated at.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// Index of the first one, for references that change over time.
    pub first: usize,
    /// Times, one per sample.
    pub times: &'a [f64],
    /// States, one after the other: `x[d * n + j]` of a state is the `d`-th time derivative of coordinate `j`.
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

/// A nonlinear function of a sample's state `(q, q', q'', …)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// All joint torques, differentiated `order` times.
    Torque {
        /// Number of time derivatives.
        order: usize,
    },
    /// Velocities of all joints, differentiated `order − 1` times; `order ≥ 1`. Where all coordinates are plain numbers
    /// they are rows of the state itself.
    JointRate {
        /// Number of time derivatives of the configuration.
        order: usize,
    },
    /// Twist of a body in its own frame, differentiated `order` times: six rows, angular first.
    LinkVelocity {
        /// The body.
        body: BodyId,
        /// Number of time derivatives.
        order: usize,
    },
    /// Total momentum in world axes, differentiated `order` times: six rows, angular first.
    Momentum {
        /// Number of time derivatives.
        order: usize,
        /// About the centre of mass instead of the world origin.
        about_com: bool,
    },
    /// World position of a point of a body, differentiated `order` times.
    Point {
        /// The body.
        body: BodyId,
        /// The point in the body frame.
        offset: Vec3,
        /// Number of time derivatives.
        order: usize,
    },
    /// `Log(R_refᵀ R)` of a body-fixed frame, one reference per sample or one for all.
    Orientation {
        /// The body.
        body: BodyId,
        /// Rotation of the frame in the body.
        offset: Mat3,
        /// Reference rotations.
        reference: Vec<Mat3>,
    },
    /// Centre of mass, differentiated `order` times.
    Com {
        /// Number of time derivatives.
        order: usize,
    },
}

impl Quantity {
    /// Number of rows, for a mechanism with `nv` velocity coordinates.
    #[must_use]
    pub fn rows(&self, nv: usize) -> usize {
        match self {
            Self::Torque { .. } | Self::JointRate { .. } => nv,
            Self::LinkVelocity { .. } | Self::Momentum { .. } => 6,
            Self::Point { .. } | Self::Orientation { .. } | Self::Com { .. } => 3,
        }
    }

    /// Highest derivative of `q` it depends on.
    #[must_use]
    pub fn highest_derivative(&self) -> usize {
        match self {
            Self::Torque { order } => order + 2,
            Self::JointRate { order } => *order,
            Self::LinkVelocity { order, .. } | Self::Momentum { order, .. } => order + 1,
            Self::Point { order, .. } | Self::Com { order } => *order,
            Self::Orientation { .. } => 0,
        }
    }

    /// Number of time derivatives taken (of velocities for joint rates).
    #[must_use]
    pub fn order(&self) -> usize {
        match self {
            Self::Torque { order }
            | Self::LinkVelocity { order, .. }
            | Self::Momentum { order, .. }
            | Self::Point { order, .. }
            | Self::Com { order } => *order,
            Self::JointRate { order } => order.saturating_sub(1),
            Self::Orientation { .. } => 0,
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
