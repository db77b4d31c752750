//! What driven joints take: the impulse of a drive is what its joint's momentum gains beyond all other forces.

use super::options::MinimalOptions;
use super::state::MinimalState;
use super::step::Solver;
use super::ties::Ties;
use crate::integrator::{StepError, StepReport};
use crate::mechanism::Mechanism;

/// Driven joints of a step.
#[derive(Clone, Debug)]
pub(crate) struct Drives {
    /// Their coordinates.
    at: Vec<usize>,
    /// What other forces gave them over the parts of the step, and how far they moved.
    given: Vec<f64>,
    moved: Vec<f64>,
    /// The same when the part began that is being tried.
    kept: (Vec<f64>, Vec<f64>),
    /// Their momenta at the start of the step, and after it what their drives took.
    pub(crate) impulses: Vec<f64>,
}

impl Drives {
    pub(crate) fn new(mechanism: &Mechanism) -> Self {
        let at: Vec<usize> = mechanism.driven().map(|(follower, _)| follower.at.v).collect();
        let zero = || vec![0.0; at.len()];
        let (given, moved, kept, impulses) = (zero(), zero(), (zero(), zero()), zero());
        Self { at, given, moved, kept, impulses }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Nothing has happened yet.
    pub(crate) fn begin(&mut self) {
        self.given.fill(0.0);
        self.moved.fill(0.0);
        self.keep();
    }

    /// What has happened counts.
    pub(crate) fn keep(&mut self) {
        self.kept.0.copy_from_slice(&self.given);
        self.kept.1.copy_from_slice(&self.moved);
    }

    /// Back to what counts.
    pub(crate) fn put_back(&mut self) {
        self.given.copy_from_slice(&self.kept.0);
        self.moved.copy_from_slice(&self.kept.1);
    }

    /// Adds a part that was solved.
    pub(crate) fn add<const N: usize>(&mut self, ties: Option<&Ties<N>>, s: usize) {
        for (c, impulse, moved) in ties.into_iter().flat_map(|ties| ties.driven(s)) {
            if let Some(k) = self.at.iter().position(|at| *at == c) {
                self.given[k] += impulse;
                self.moved[k] += moved;
            }
        }
    }
}

impl<const N: usize> Solver<N> {
    /// Momenta of the driven joints.
    fn driven_momenta(&mut self, mechanism: &Mechanism, state: &MinimalState) {
        if self.driver.is_some() {
            self.set_modes(mechanism, &state.rows.list, &state.q);
        }
        if self.recover_velocity(mechanism, state).is_err() {
            self.velocity.fill(f64::NAN);
        }
        let Self { mass, segments, point, velocity, scalar_memory, momentum, .. } = self;
        // The factorisation has taken the place of the rigid inertias.
        mass.place(segments, &point.base, &point.anchors);
        mass.momentum(segments, velocity, scalar_memory, momentum);
    }

    /// One step, and what its drives took: `M v⁺ − M v⁻` less all other impulses.
    pub(crate) fn driven_step(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.driven_momenta(mechanism, state);
        for (to, c) in self.drives.impulses.iter_mut().zip(&self.drives.at) {
            *to = -self.momentum[*c];
        }
        self.drives.begin();
        let report = self.plain_step(mechanism, options, state, u, h)?;
        self.driven_momenta(mechanism, state);
        let Drives { at, given, moved, impulses, .. } = &mut self.drives;
        for (k, c) in at.iter().enumerate() {
            impulses[k] += self.momentum[*c] - given[k];
            self.work += impulses[k] * moved[k] / h;
        }
        Ok(report)
    }
}
