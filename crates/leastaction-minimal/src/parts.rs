//! Smooth parts of a step for the driver of friction and limits.
//!
//! A locked joint has no unknowns: its increments are zero at all nodes, so that its position keeps its bits, and its
//! equations are left out. That is the variational integrator of the mechanism with the joint welded. Its momentum and the
//! impulse it took follow afterwards:
//!
//! ```text
//! v⁺_F = M_FF⁻¹ p⁺_F,   v⁺_L = 0,   p⁺_L = (M v⁺)_L,   J = p⁺_L − p_L − impulses of all forces           (7.2)
//! ```

use super::options::MinimalOptions;
use super::state::{MinimalState, from_public, split_position, to_public};
use super::step::Solver;
use crate::integrator::rows::{Parts, RowState};
use crate::integrator::{StepError, StepReport};
use crate::mechanism::{Mechanism, Row};

/// A continued curve is a good guess for parts up to this many times the last one.
const CONTINUED: f64 = 4.0;

pub(crate) struct MinimalParts<'a, const N: usize> {
    solver: &'a mut Solver<N>,
    mechanism: &'a Mechanism,
    options: &'a MinimalOptions,
    start: &'a mut MinimalState,
    end: &'a mut MinimalState,
    /// True if `solver.momentum` is `M v` of the end.
    momentum_known: bool,
}

impl<'a, const N: usize> MinimalParts<'a, N> {
    pub(crate) fn new(
        solver: &'a mut Solver<N>,
        mechanism: &'a Mechanism,
        options: &'a MinimalOptions,
        start: &'a mut MinimalState,
        end: &'a mut MinimalState,
    ) -> Self {
        Self { solver, mechanism, options, start, end, momentum_known: false }
    }

    /// `M v` of the end for the coordinates that are held, once its velocities were read.
    fn complete_momentum(&mut self) {
        if self.momentum_known || !self.solver.holds {
            return;
        }
        self.momentum_known = true;
        let solver = &mut *self.solver;
        split_position(self.mechanism, &self.end.q, &mut solver.point.base, &mut solver.point.anchors);
        solver.mass.place_only(&solver.segments, &solver.point.base, &solver.point.anchors);
        solver.mass.momentum(
            &solver.segments,
            &solver.velocity,
            &mut solver.scalar_memory,
            &mut solver.momentum,
        );
        if let Some(ties) = &solver.ties {
            ties.reduce_momentum(&solver.point.base, &mut solver.momentum);
        }
    }
}

impl<const N: usize> Parts for MinimalParts<'_, N> {
    fn trial(&mut self, states: &[RowState], t: f64, report: &mut StepReport) -> Result<(), StepError> {
        self.momentum_known = false;
        let changed = self.solver.set_modes(self.mechanism, states, &self.start.q);
        if changed || t > CONTINUED * self.start.steps[0] {
            self.start.steps = [0.0; 2];
        }
        self.end.copy_from(self.start);
        let outcome = self.solver.attempt(self.mechanism, self.options, self.end, t, report);
        outcome.map_err(|failure| self.solver.explain(self.mechanism, self.options, failure, self.start.t, t))
    }

    fn read(&mut self, _states: &[RowState], at_end: bool, q: &mut [f64], v: &mut [f64]) {
        let state: &MinimalState = if at_end { self.end } else { self.start };
        if self.solver.recover_velocity(self.mechanism, state).is_err() {
            self.solver.velocity.fill(f64::NAN);
        }
        q.copy_from_slice(&state.q);
        v.copy_from_slice(&self.solver.velocity);
        to_public(self.mechanism, &state.q, v);
    }

    fn impulses(&mut self, states: &[RowState], out: &mut [f64]) {
        self.complete_momentum();
        for (k, (row, state)) in self.mechanism.rows().iter().zip(states).enumerate() {
            out[k] = match (state.locked, row.coordinate()) {
                (true, Some(at)) => self.solver.momentum[at.v] - self.solver.residual.carried[at.v],
                _ => 0.0,
            };
        }
    }

    fn accept(&mut self) {
        self.complete_momentum();
        std::mem::swap(self.start, self.end);
        for (c, locked) in self.solver.locked.iter().enumerate() {
            if *locked {
                self.start.p[c] = self.solver.momentum[c];
            }
        }
    }

    fn set_velocity(&mut self, v: &[f64]) {
        let solver = &mut *self.solver;
        solver.velocity.copy_from_slice(v);
        from_public(self.mechanism, &self.start.q, &mut solver.velocity);
        split_position(self.mechanism, &self.start.q, &mut solver.point.base, &mut solver.point.anchors);
        solver.mass.place_only(&solver.segments, &solver.point.base, &solver.point.anchors);
        solver.mass.momentum(
            &solver.segments,
            &solver.velocity,
            &mut solver.scalar_memory,
            &mut self.start.p,
        );
        solver.reduce_momentum(&mut self.start.p);
        self.start.steps = [0.0; 2];
    }

    fn inner_nodes(&self) -> usize {
        self.solver.scheme.s - 1
    }

    fn inner_value(&self, node: usize, row: &Row) -> (f64, f64) {
        let scheme = &self.solver.scheme;
        let value = match row.coordinate() {
            Some(at) => self.start.q[at.q] + self.solver.point.delta[at.v].0[node + 1],
            None => row.value(&self.start.q),
        };
        (scheme.c[node + 1], value)
    }
}
