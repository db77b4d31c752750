//! What the engine can be told.

/// Contraction above which directions no longer fall.
const STALLED: f64 = 0.5;
/// Iterations spent below what rounding allows before a tolerance that asks for more is given up.
const EXTRA: u32 = 2;
/// How many times the rounding of positions a direction may be that does not fall any more: masses may differ by this much.
const NOISE: f64 = 256.0;

/// Part of the tolerance of positions below which the first direction is the last.
const SLIGHT: f64 = 0.01;

/// Inverse of how much larger than its square what a Newton step leaves may be: ratios of inertias.
const CURVATURE: f64 = 1e-2;

/// How the equations of a step are solved. All policies find the same curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The mass-matrix iteration, and chord where it contracts slowly or the tree is small: the fastest measured.
    #[default]
    Automatic,
    /// A new factorisation in every iteration.
    Newton,
    /// One factorisation, kept while it contracts well.
    Chord,
    /// The mass matrix in place of the Newton matrix, with chord as fallback.
    Mass,
}

/// Where the action of a step is summed (2.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quadrature {
    /// At the nodes, unless the mechanism is stiff for the step length: then at Gauss points.
    #[default]
    Automatic,
    /// At the Lobatto nodes of the curve: cheapest, but linearly unstable for stiff springs and long chains.
    Nodes,
    /// At Gauss points: stable for any stiffness, with a Newton matrix in every step.
    Gauss,
}

/// Options of the engine in joint coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct MinimalOptions {
    /// Order of accuracy: even, at least 2.
    pub order: u32,
    /// Largest residual accepted, relative to its rounding scale.
    pub tolerance: f64,
    /// Largest estimated error of a node accepted, in rad or m.
    pub tolerance_q: f64,
    /// Newton iterations per attempt.
    pub max_iterations: u32,
    /// Iteration policy.
    pub policy: Policy,
    /// Where the action is summed.
    pub quadrature: Quadrature,
    /// If true, a step that does not converge is taken in 2, 4, 8, … equal parts.
    pub halve: bool,
    /// How often it is halved at most.
    pub max_halvings: u32,
}

impl Default for MinimalOptions {
    fn default() -> Self {
        Self {
            order: 4,
            tolerance: 1e-13,
            tolerance_q: 1e-11,
            max_iterations: 30,
            policy: Policy::Automatic,
            quadrature: Quadrature::Automatic,
            halve: false,
            max_halvings: 8,
        }
    }
}

impl MinimalOptions {
    /// As tight as rounding allows: what reference data is compared in.
    #[must_use]
    pub fn tight(order: u32) -> Self {
        Self { order, tolerance: 2e-15, tolerance_q: 1e-13, ..Self::default() }
    }
}

/// The stopping rule of one solve (2.31).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopping {
    /// Largest scaled residual and direction accepted.
    tolerance: f64,
    tolerance_q: f64,
    /// What is noise for the line search: above what rounding can do to a scaled residual and to a direction.
    floor: f64,
    floor_q: f64,
    /// A direction that is rounding of the positions themselves.
    negligible: f64,
    /// A direction that adds nothing to positions any more, and one that leaves nothing that does.
    settled: f64,
    slight: f64,
    extra: u32,
}

impl Stopping {
    /// For a tree of the given depth, with the largest coordinate in it.
    ///
    /// A pose at depth d is a product of d rotations and a sum of d positions, each of which adds at most ε to its relative
    /// error, and so does a composite: beyond `4 ε d` no residual falls, and none is asked to.
    pub(crate) fn new(options: &MinimalOptions, depth: usize, largest: f64) -> Self {
        let rounding = 4.0 * f64::EPSILON * depth as f64;
        Self {
            tolerance: options.tolerance.max(rounding),
            tolerance_q: options.tolerance_q,
            floor: rounding.max(1e-12),
            floor_q: 1e-10,
            negligible: 4.0 * f64::EPSILON * (1.0 + largest),
            settled: 0.125 * f64::EPSILON * (1.0 + largest),
            slight: (SLIGHT * options.tolerance_q).min(64.0 * f64::EPSILON * (1.0 + largest)),
            extra: 0,
        }
    }

    /// True if a residual and the direction at hand are small enough.
    ///
    /// Where residuals are at rounding but directions are not small and no longer fall, the mass matrix is too
    /// ill-conditioned for the tolerance of positions: what there is, is the solution of the equations as they can be
    /// evaluated.
    pub(crate) fn accepts(&mut self, merit: f64, norm: f64, previous: f64) -> bool {
        if norm <= self.negligible {
            return true;
        }
        if merit <= self.tolerance && (norm <= self.tolerance_q || norm > STALLED * previous) {
            return true;
        }
        // A row whose terms are all small may carry the rounding of a fast base: then its residual stays large beside its own
        // scale, while directions are rounding and no longer fall.
        if merit > self.floor && norm <= NOISE * self.negligible && norm > STALLED * previous {
            return true;
        }
        if self.tolerance < self.floor && self.is_noise(merit, norm) {
            self.extra += 1;
            return self.extra > EXTRA;
        }
        false
    }

    /// True if an accepted direction of this size need not be taken. What is left out is a bias, which gathers over a run:
    /// it must be below the rounding of positions.
    pub(crate) fn is_settled(&self, norm: f64) -> bool {
        norm <= self.settled
    }

    /// True if a guess with a direction of this size is off by rounding: once that is taken nothing is left.
    pub(crate) fn is_slight(&self, norm: f64) -> bool {
        norm <= self.slight
    }

    /// True if a direction of this size after the previous one is expected to leave nothing to be taken: whether it did is then
    /// for the residual to say, which is evaluated anyway.
    pub(crate) fn foresees(&self, norm: f64, previous: f64) -> bool {
        previous.is_finite() && norm * norm <= self.settled * previous
    }

    /// True if a first direction of this size, with the matrix of its point, leaves nothing to be taken: what is left of it is of
    /// second order.
    pub(crate) fn foresees_at_once(&self, norm: f64) -> bool {
        norm * norm <= CURVATURE * self.settled
    }

    /// True if a residual is a solution's.
    pub(crate) fn holds(&self, merit: f64) -> bool {
        merit <= self.tolerance
    }

    /// True where further comparisons would compare noise.
    pub(crate) fn is_noise(&self, merit: f64, norm: f64) -> bool {
        merit <= self.floor && norm <= self.floor_q || norm <= NOISE * self.negligible
    }
}
