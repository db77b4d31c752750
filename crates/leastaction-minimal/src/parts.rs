//! Smooth parts of a step for the driver of friction and limits.
//!
//! A locked joint has no unknowns: its increments are zero at all nodes, so that its position keeps its bits, and its
//! equations are left out. That is the variational integrator of the mechanism with the joint welded. Its momentum and the
//! impulse it took follow afterwards:
//!
//! ```text
//! v⁺_F = M_FF⁻¹ p⁺_F,   v⁺_L = 0,   p⁺_L = (M v⁺)_L,   J = p⁺_L − p_L − impulses of all forces           (7.2)
//! ```

use super::ball::chart;
use super::event_slope::Taken;
use super::options::MinimalOptions;
use super::state::{HISTORY, MinimalState, from_public, to_public};
use super::step::{Hint, Solver};
use crate::integrator::rows::{Parts, RowState};
use crate::integrator::{StepError, StepReport};
use crate::mechanism::{Mechanism, Row, RowOf, turn};
use crate::spatial::Quat;

/// A continued curve is a good guess for parts up to this many times the last one,
const CONTINUED: f64 = 4.0;
/// and that of a trial for longer ones from the same start up to this many times its length.
const PROLONGED: f64 = 1.5;

pub(crate) struct MinimalParts<'a, const N: usize> {
    solver: &'a mut Solver<N>,
    mechanism: &'a Mechanism,
    options: &'a MinimalOptions,
    start: &'a mut MinimalState,
    end: &'a mut MinimalState,
    /// True if `solver.momentum` is `M v` of the end.
    momentum_known: bool,
    /// Length of the last trial, while its curve is in the solver's point and starts where the next one will.
    curve: Option<f64>,
    /// True if accelerations at the start are known.
    foreseen: bool,
    /// Modes and length of the last trial, while steps are recorded.
    tried: Option<(Vec<RowState>, f64)>,
    /// What inputs did in the parts taken: impulses and work.
    acted: (&'a mut [f64], f64),
}

impl<'a, const N: usize> MinimalParts<'a, N> {
    pub(crate) fn new(
        solver: &'a mut Solver<N>,
        mechanism: &'a Mechanism,
        options: &'a MinimalOptions,
        start: &'a mut MinimalState,
        end: &'a mut MinimalState,
        acted: &'a mut [f64],
    ) -> Self {
        acted.fill(0.0);
        Self {
            solver,
            mechanism,
            options,
            start,
            end,
            momentum_known: false,
            curve: None,
            foreseen: false,
            tried: None,
            acted: (acted, 0.0),
        }
    }

    /// Value of a row of several coordinates at an inner node of the trial.
    fn several_at(&self, node: usize, row: &Row) -> f64 {
        let delta = |c: usize| self.solver.point.delta[c].0[node + 1];
        match &row.of {
            RowOf::Tendon { terms, .. } => {
                terms.iter().map(|(at, a)| a * (self.start.q[at.q] + delta(at.v))).sum()
            }
            RowOf::Turn { at, .. } => {
                let (_, phi, _) = chart([0, 1, 2].map(|a| delta(at.v + a)));
                let start = Quat::from_slice(&self.start.q[at.q..at.q + 4]);
                turn(&Quat::from_matrix(&(start.to_matrix() * phi)).to_array()).0
            }
            RowOf::Coordinate { .. } | RowOf::Loop { .. } => f64::NAN,
        }
    }

    /// `M v` of the end for the coordinates that are held, once its velocities were read.
    fn complete_momentum(&mut self) {
        if self.momentum_known || !self.solver.holds {
            return;
        }
        self.momentum_known = true;
        let solver = &mut *self.solver;
        if let Some(momentum) = solver.recalled.held_momentum(self.end, &solver.locked) {
            solver.momentum.copy_from_slice(momentum);
            return;
        }
        solver.stand_at(self.mechanism, &self.end.q);
        solver.mass.place(&solver.segments, &solver.point.base, &solver.point.anchors);
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
        let curve = self.curve.take().filter(|h| !changed && t <= PROLONGED * h);
        self.solver.hint = match curve {
            Some(h) => Hint::Curve { h, part: t / h },
            None if self.foreseen => Hint::Parabola,
            None => Hint::None,
        };
        if changed || t > CONTINUED * self.start.steps[0] {
            self.start.steps = [0.0; HISTORY];
        }
        self.end.copy_from(self.start);
        if self.solver.record.is_some() {
            self.tried = Some((states.to_vec(), t));
        }
        // Parts that are tried and not taken do not count.
        self.solver.drives.put_back();
        self.solver.actuation.copy_from_slice(self.acted.0);
        self.solver.work = self.acted.1;
        let outcome = self.solver.attempt(self.mechanism, self.options, self.end, t, report);
        self.curve = outcome.is_ok().then_some(t);
        outcome.map_err(|failure| self.solver.explain(self.mechanism, self.options, failure, self.start.t, t))
    }

    fn read(&mut self, _states: &[RowState], at_end: bool, q: &mut [f64], v: &mut [f64]) {
        let state: &MinimalState = if at_end { self.end } else { self.start };
        if self.solver.recall_velocity(self.mechanism, state).is_err() {
            self.solver.velocity.fill(f64::NAN);
        }
        let foreseen = &mut self.solver.foreseen;
        let rates = if at_end { &mut foreseen.end } else { &mut foreseen.start };
        rates.copy_from_slice(&self.solver.velocity);
        q.copy_from_slice(&state.q);
        v.copy_from_slice(&self.solver.velocity);
        to_public(self.mechanism, &state.q, v);
    }

    fn impulses(&mut self, states: &[RowState], out: &mut [f64]) {
        self.complete_momentum();
        for (k, (row, state)) in self.mechanism.rows().iter().zip(states).enumerate() {
            let of_several = self.solver.held.as_ref().is_some_and(|held| held.has(k));
            out[k] = match (state.locked, row.coordinate()) {
                (true, _) if of_several => f64::NAN,
                (true, Some(at)) => self.solver.momentum[at.v] - self.solver.residual.carried[at.v],
                _ => 0.0,
            };
        }
    }

    fn accept(&mut self) {
        self.complete_momentum();
        if let (Some(record), Some((modes, t))) = (&mut self.solver.record, self.tried.take()) {
            record.push(Taken::Part { start: Box::new(self.start.clone()), modes, t });
        }
        (self.curve, self.foreseen) = (None, false);
        let foreseen = &mut self.solver.foreseen;
        std::mem::swap(&mut foreseen.start, &mut foreseen.end);
        self.solver.drives.keep();
        self.acted.0.copy_from_slice(&self.solver.actuation);
        self.acted.1 = self.solver.work;
        std::mem::swap(self.start, self.end);
        for (c, locked) in self.solver.locked.iter().enumerate() {
            if *locked {
                self.start.p[c] = self.solver.momentum[c];
            }
        }
        self.solver.recalled.held_have(self.start, &self.solver.locked);
    }

    fn set_velocity(&mut self, v: &[f64]) {
        self.curve = None;
        let solver = &mut *self.solver;
        if let Some(record) = &mut solver.record {
            record.push(Taken::Reset { v: v.to_vec() });
        }
        solver.velocity.copy_from_slice(v);
        from_public(self.mechanism, &self.start.q, &mut solver.velocity);
        solver.foreseen.start.copy_from_slice(&solver.velocity);
        solver.stand_at(self.mechanism, &self.start.q);
        solver.mass_at_hand = false;
        solver.mass.place(&solver.segments, &solver.point.base, &solver.point.anchors);
        solver.mass.momentum(
            &solver.segments,
            &solver.velocity,
            &mut solver.scalar_memory,
            &mut self.start.p,
        );
        solver.reduce_momentum(&mut self.start.p);
        self.start.steps = [0.0; HISTORY];
    }

    fn foresee(&mut self, acceleration: &[f64]) {
        let foreseen = &mut self.solver.foreseen;
        foreseen.acceleration.copy_from_slice(acceleration);
        from_public(self.mechanism, &self.start.q, &mut foreseen.acceleration);
        (self.curve, self.foreseen) = (None, true);
    }

    fn inner_nodes(&self) -> usize {
        self.solver.scheme.s - 1
    }

    fn inner_value(&self, node: usize, row: &Row) -> (f64, f64) {
        let scheme = &self.solver.scheme;
        let value = match row.coordinate() {
            Some(at) => self.start.q[at.q] + self.solver.point.delta[at.v].0[node + 1],
            None => self.several_at(node, row),
        };
        (scheme.c[node + 1], value)
    }
}

impl<const N: usize> Solver<N> {
    /// Holds the rows that are locked and gives sliding ones their friction; true if that changes anything.
    pub(crate) fn set_modes(&mut self, mechanism: &Mechanism, states: &[RowState], q: &[f64]) -> bool {
        // Friction of followers turns with their leaders; otherwise modes that stay change nothing.
        if self.modes == states && mechanism.followers().is_empty() {
            return false;
        }
        self.modes.clear();
        self.modes.extend_from_slice(states);
        let mut changed = false;
        self.residual.resistance.resize(self.segments.n, 0.0);
        let resistance = &mut self.residual.resistance;
        let follows = |v: usize| mechanism.followers().iter().any(|f| f.at.v == v);
        for (row, state) in mechanism.rows().iter().zip(states) {
            let sign = if state.locked { 0.0 } else { f64::from(state.sign) };
            row.friction_torques(mechanism.followers(), q, sign, |at, torque| {
                changed |= resistance[at.v] != torque;
                resistance[at.v] = torque;
            });
            if let Some(at) = row.coordinate().filter(|at| !follows(at.v)) {
                changed |= self.locked[at.v] != state.locked;
                self.locked[at.v] = state.locked;
            }
        }
        changed |= self.held.as_mut().is_some_and(|held| held.set_modes(states));
        if changed {
            self.holds = self.locked.contains(&true);
            self.spread_locks();
        }
        changed
    }

    /// Tells all factorisations what is held.
    pub(crate) fn spread_locks(&mut self) {
        self.mass.locked.copy_from_slice(&self.locked);
        self.recalled.mass.locked.copy_from_slice(&self.locked);
        self.factor.locked.copy_from_slice(&self.locked);
        if let Some(dense) = &mut self.dense {
            dense.locked.copy_from_slice(&self.locked);
        }
    }

    /// One step of a mechanism with rows, cut at events.
    pub(crate) fn step_in_parts(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError> {
        let Some(mut memory) = self.driver.take() else { return Ok(StepReport::default()) };
        let mut backup = self.backup.take().unwrap_or_else(|| state.clone());
        backup.copy_from(state);
        let time = state.t;
        let mut rows = std::mem::take(&mut state.rows);
        self.set_modes(mechanism, &rows.list, &state.q);
        let (driver, end) = &mut *memory;
        let mut acted = std::mem::take(&mut self.acted);
        let mut parts = MinimalParts::new(self, mechanism, options, state, end, &mut acted);
        let outcome = driver.step(mechanism, &mut parts, &mut rows, u, h, time);
        match &outcome {
            Ok(_) => {
                state.t = time + h;
                state.rows = rows;
            }
            Err(_) => state.copy_from(&backup),
        }
        self.acted = acted;
        self.backup = Some(backup);
        self.driver = Some(memory);
        outcome
    }

    /// What happened in the last step.
    pub(crate) fn events(&self) -> &[crate::integrator::RowEvent] {
        self.driver.as_ref().map_or(&[], |memory| memory.0.events())
    }
}
