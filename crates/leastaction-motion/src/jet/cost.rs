//! [`Cost`]: what a sum of squares measures. [`CostEvaluator`](super::CostEvaluator) evaluates lists of them.

use super::stage::Target;

/// What a cost measures. Orders are those of plain time derivatives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CostTerm {
    /// `q^(order)` of all joints: 1 velocity, 2 acceleration, 3 jerk; for ball and free joints derivatives of the
    /// velocity. Order 0 needs joints whose coordinates are plain numbers.
    Joint {
        /// Order of the derivative.
        order: usize,
    },
    /// Twists of targets in their own frames, differentiated `order` times; six rows per target.
    Velocity {
        /// Bodies or frames.
        targets: Vec<Target>,
        /// Derivative of the twist.
        order: usize,
    },
    /// Total momentum about the world origin or the centre of mass.
    Momentum {
        /// Derivative of the momentum.
        order: usize,
        /// About the centre of mass instead of the world origin.
        about_com: bool,
    },
    /// Joint torques, differentiated `order` times: 0 torque, 1 torque rate.
    Torque {
        /// Derivative of the torque.
        order: usize,
    },
    /// `Σ λ τ^(order)` with one coefficient per torque as the sample's reference: linear, for multipliers.
    LinearTorque {
        /// Derivative of the torque.
        order: usize,
    },
    /// World position of a target's origin.
    Point {
        /// Body or frame (see [`Target::at_point`]).
        target: Target,
        /// Derivative of the position.
        order: usize,
    },
    /// `Log(R_refᵀ R)`; the reference is a unit quaternion `w, x, y, z`.
    Orientation {
        /// Body or frame.
        target: Target,
    },
    /// Centre of mass.
    Com {
        /// Derivative of the position.
        order: usize,
    },
}

impl CostTerm {
    /// Rows of the residual for `nv` velocity coordinates.
    #[must_use]
    pub fn rows(&self, nv: usize) -> usize {
        match self {
            Self::Joint { .. } | Self::Torque { .. } => nv,
            Self::LinearTorque { .. } => 1,
            Self::Velocity { targets, .. } => 6 * targets.len(),
            Self::Momentum { .. } => 6,
            Self::Point { .. } | Self::Orientation { .. } | Self::Com { .. } => 3,
        }
    }

    /// Numbers of one sample's reference.
    #[must_use]
    pub fn reference_len(&self, nv: usize) -> usize {
        match self {
            Self::Orientation { .. } => 4,
            Self::LinearTorque { .. } => nv,
            other => other.rows(nv),
        }
    }

    /// Force order a workspace needs for it.
    #[must_use]
    pub fn force_order(&self) -> i32 {
        let at = |order: usize, shift: i32| (i32::try_from(order).unwrap_or(i32::MAX / 2) - shift).max(-1);
        match self {
            Self::Torque { order } | Self::LinearTorque { order } => at(*order, 0),
            Self::Velocity { order, .. } | Self::Momentum { order, .. } => at(*order, 1),
            Self::Joint { order } | Self::Point { order, .. } | Self::Com { order } => at(*order, 2),
            Self::Orientation { .. } => -1,
        }
    }
}

/// A term with its metric.
#[derive(Clone, Debug)]
pub struct Cost {
    /// What is measured.
    pub term: CostTerm,
    /// Weight of each squared row; empty for one everywhere.
    pub metric: Vec<f64>,
    /// True if samples come with references to subtract (always for orientations and linear terms).
    pub tracked: bool,
}

impl Cost {
    /// A plain sum of squares.
    #[must_use]
    pub fn new(term: CostTerm) -> Self {
        let tracked = matches!(term, CostTerm::Orientation { .. } | CostTerm::LinearTorque { .. });
        Self { term, metric: Vec::new(), tracked }
    }
    /// The same with references that each sample gives.
    #[must_use]
    pub fn tracked(term: CostTerm) -> Self {
        Self { tracked: true, ..Self::new(term) }
    }
    /// The same with a weight per row.
    #[must_use]
    pub fn with_metric(mut self, metric: Vec<f64>) -> Self {
        self.metric = metric;
        self
    }
}

pub(crate) fn reference_len(costs: &[Cost], nv: usize) -> usize {
    costs.iter().filter(|c| c.tracked).map(|c| c.term.reference_len(nv)).sum()
}
