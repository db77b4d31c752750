//! How a solve went: [`SolveStatus`], [`Progress`] while it runs, [`Solution`] at the end.

use super::{Bound, ControlPoints, TaskReport};

/// Outcome of a solve. Not an error: whatever the status, the best motion found is returned with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SolveStatus {
    /// All conditions of optimality hold to the tolerance.
    Solved,
    /// They hold to a thousand times the tolerance, and no further progress was possible.
    AlmostSolved,
    /// The iterations ran out.
    MaxIterations,
    /// No motion satisfies the limits: either proven, or the violation is at a local minimum.
    Infeasible,
    /// The caller stopped it.
    Interrupted,
    /// No step lowers the cost any more, far from optimal.
    Stalled,
}

impl SolveStatus {
    /// A sentence for people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::AlmostSolved => "almost solved: optimal to a reduced accuracy",
            Self::MaxIterations => "not converged: the iterations ran out",
            Self::Infeasible => "infeasible: the limits cannot be met",
            Self::Interrupted => "interrupted: the best iterate so far",
            Self::Stalled => "stalled: no step lowers the cost any more",
        }
    }
}

/// One line of a convergence history.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Iteration.
    pub iteration: usize,
    /// Objective.
    pub objective: f64,
    /// Largest entry of the gradient of the Lagrangian, relative to the largest weighted term gradient.
    pub kkt: f64,
    /// Largest violation of a limit, relative to the limit.
    pub violation: f64,
    /// Largest change of a control point.
    pub step: f64,
}

/// What the caller wants to happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    Continue,
    /// Stop and return the best iterate.
    Stop,
}

/// A limit that acts at the solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActiveBound {
    /// The bound.
    pub bound: Bound,
    /// Its multiplier: `∇f = Σ multiplier ∇c`, `c ≥ 0` unscaled.
    pub multiplier: f64,
}

/// A limit that cannot be met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstacle {
    /// The bound.
    pub bound: Bound,
    /// The best value found for what it bounds.
    pub value: f64,
    /// Time of the sample.
    pub t: f64,
    /// True if nothing can move the value: a proof. False: the violation is at a local minimum.
    pub proven: bool,
}

/// A motion and how good it is.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Outcome.
    pub status: SolveStatus,
    /// Control points.
    pub theta: ControlPoints,
    /// Objective.
    pub objective: f64,
    /// Unweighted costs of the terms.
    pub term_costs: Vec<f64>,
    /// Largest entry of the gradient of the Lagrangian, relative to the largest weighted term gradient.
    pub kkt_residual: f64,
    /// Iterations of all stages.
    pub iterations: usize,
    /// Largest violation of a limit at the samples, in its own unit.
    pub violation: f64,
    /// Largest violation at eight times as many times, both ends included.
    pub violation_between: f64,
    /// The bound that is violated most, if one is.
    pub violated: Option<Bound>,
    /// Limits that act, with multipliers.
    pub active: Vec<ActiveBound>,
    /// The limit that cannot be met, if the problem is infeasible.
    pub obstacle: Option<Obstacle>,
    /// Duration in seconds: the problem's, or the best one if it is free.
    pub duration: f64,
    /// How well constraints on frames are kept.
    pub tasks: Vec<TaskReport>,
    /// Convergence history.
    pub history: Vec<Progress>,
}
