//! What the engine can be told.

use super::solver::{FLOOR, FLOOR_Q, STALLED};

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

    /// The stopping rule (8.2). `extra` counts the iterations spent below the rounding floor.
    ///
    /// Where residuals are at rounding but directions are not small and no longer fall, the mass matrix is too
    /// ill-conditioned for `tolerance_q`: what there is, is the solution of the equations as they can be evaluated.
    pub(crate) fn accepts(
        &self,
        merit: f64,
        norm: f64,
        largest: f64,
        previous: f64,
        extra: &mut u32,
    ) -> bool {
        if norm <= 4.0 * f64::EPSILON * (1.0 + largest) {
            return true;
        }
        if merit <= self.tolerance && (norm <= self.tolerance_q || norm > STALLED * previous) {
            return true;
        }
        if self.tolerance < FLOOR && merit <= FLOOR && norm <= FLOOR_Q {
            *extra += 1;
            return *extra > 2;
        }
        false
    }
}
