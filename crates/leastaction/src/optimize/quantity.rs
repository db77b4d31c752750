//! What a cost or a limit can depend on at one sample: [`Quantity`], and [`Quantities`], which evaluates a list of them.

use crate::mechanism::BodyId;
use crate::spatial::{Mat3, Vec3};

/// A sample of a motion: its number and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct At {
    /// Index of the sample, for references that change over time.
    pub sample: usize,
    /// Time.
    pub t: f64,
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

/// Values and derivatives of a list of quantities at one sample.
///
/// A state is `x[d * n + j]`, the `d`-th time derivative of coordinate `j`; Jacobians are row-major with one column per
/// entry of the state, Hessians full and symmetric.
pub trait Quantities: Send {
    /// Number of rows of all quantities together.
    fn rows(&self) -> usize;
    /// Values `z` at `x`.
    fn values(&mut self, at: At, x: &[f64], z: &mut [f64]);
    /// Values and Jacobian at `x`.
    fn jacobian(&mut self, at: At, x: &[f64], z: &mut [f64], jacobian: &mut [f64]);
    /// Adds `Σ_r mu_r ∇²z_r` at `x` to `hessian`.
    fn add_hessian(&mut self, at: At, x: &[f64], mu: &[f64], hessian: &mut [f64]);
}

/// No quantities at all: problems with joint-space terms only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoQuantities;

impl Quantities for NoQuantities {
    fn rows(&self) -> usize {
        0
    }
    fn values(&mut self, _: At, _: &[f64], _: &mut [f64]) {}
    fn jacobian(&mut self, _: At, _: &[f64], _: &mut [f64], _: &mut [f64]) {}
    fn add_hessian(&mut self, _: At, _: &[f64], _: &[f64], _: &mut [f64]) {}
}
