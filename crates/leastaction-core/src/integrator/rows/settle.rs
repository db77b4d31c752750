//! What happens at an event: impacts, then who holds and who moves.

use super::driver::RowDriver;
use super::events::{RowEvent, RowEventKind, bounds};
use super::{Parts, RowStates};
use crate::mechanism::Mechanism;

impl RowDriver {
    /// Decides the modes at the start of the next part, whose positions and velocities are in `now`.
    ///
    /// `self.zero` are rows that stopped, `self.released` those that let go with their new direction, `self.hit` those that
    /// reached a limit, with its side.
    ///
    /// # Errors
    /// The node at which the mass matrix is singular.
    pub(super) fn settle(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &mut RowStates,
        u: &[f64],
    ) -> Result<(), usize> {
        let rows = mechanism.rows();
        let still = 1e-12 * self.scales.velocity;
        self.mechanics.general.time = self.origin + self.time;
        self.count_hits();
        let mut changed = self.impact(mechanism, states, u, still)?;
        for (k, row) in rows.iter().enumerate() {
            if row.is_fixed() {
                states.list[k].side = -1;
            }
            if row.is_fixed() || (self.mechanics.stays[k] && states.list[k].side != 0) {
                (self.zero[k], self.released[k]) = (true, 0);
            }
        }
        // Who moves: rows with a velocity, and those that let go.
        self.problem.member.fill(false);
        for (k, row) in rows.iter().enumerate() {
            let rate = self.now.rate[k];
            let state = &mut states.list[k];
            if self.released[k] != 0 {
                state.locked = false;
                state.sign = if row.rubs { self.released[k] } else { 0 };
                state.side = 0;
            } else if rate.abs() > still && !self.zero[k] {
                state.locked = false;
                state.sign = if row.rubs { rate.signum() as i8 } else { 0 };
                state.side = 0;
            } else if row.rubs || state.side != 0 {
                self.problem.member[k] = true;
            } else {
                state.locked = false;
            }
        }
        changed |= self.stand_still(mechanism, states)?;
        self.decide(mechanism, states, u)?;
        // Momenta may have parts along rows that were held, which must not act when they let go.
        let let_go = self.was.iter().zip(&states.list).any(|(was, is)| was.locked && !is.locked);
        if changed || let_go {
            parts.set_velocity(&self.now.v);
        }
        if self.problem.member.contains(&true) {
            parts.foresee(&self.problem.x);
        }
        self.now.known = false;
        states.settled = true;
        for (k, (mean, state)) in states.mean.iter_mut().zip(&states.list).enumerate() {
            *mean = if state.locked { self.problem.force[k] } else { f64::NAN };
        }
        self.fresh = true;
        Ok(())
    }

    /// Impulses of limits that rows run into (7.5); true if velocities changed.
    fn impact(
        &mut self,
        mechanism: &Mechanism,
        states: &mut RowStates,
        u: &[f64],
        still: f64,
    ) -> Result<bool, usize> {
        let rows = mechanism.rows();
        let any_hit = self.hit.iter().any(|side| *side != 0);
        let mut closing = false;
        for (k, row) in rows.iter().enumerate() {
            // Rows as near to a limit as one that reached it are at it, too: else two rows that push each other off their
            // limits make a series of impacts.
            let value = self.now.value[k];
            let near = 1e-10 * self.scales.position(row).max(self.scales.velocity * self.scales.h);
            let mut side = if self.hit[k] != 0 { self.hit[k] } else { states.list[k].side };
            if side == 0 && any_hit {
                if value - row.lower <= near {
                    side = -1;
                } else if row.upper - value <= near {
                    side = 1;
                }
            }
            // Between limits without room a row is at both.
            if row.is_fixed() {
                side = -1;
            }
            self.hit[k] = side;
            let inward = -f64::from(side) * self.now.rate[k];
            closing |= side != 0 && (inward < -still || (row.is_fixed() && inward > still));
        }
        if !closing {
            for (state, side) in states.list.iter_mut().zip(&self.hit) {
                if *side != 0 {
                    state.side = *side;
                }
            }
            return Ok(false);
        }
        // Acceleration without the limits' forces: what comes back within a step does not leave.
        if !self.now.known {
            self.mechanics.place(mechanism, &states.list, &self.now.q, &self.now.v, u);
            self.mechanics.respond(mechanism, &states.list, &mut self.now.a, &mut self.now.force)?;
            self.now.known = true;
        } else {
            self.mechanics.place(mechanism, &states.list, &self.now.q, &self.now.v, u);
        }
        let problem = &mut self.problem;
        problem.accelerations = false;
        problem.new.fill(true);
        self.mechanics.momentum(mechanism, &self.now.v, &mut problem.b);
        for (k, row) in rows.iter().enumerate() {
            let side = f64::from(self.hit[k]);
            let rate = self.now.rate[k];
            problem.member[k] = side != 0.0 && (-side * rate <= still || row.is_fixed());
            (problem.low[k], problem.high[k]) = match side {
                _ if row.is_fixed() => (f64::NEG_INFINITY, f64::INFINITY),
                side if side < 0.0 => (0.0, f64::INFINITY),
                _ => (f64::NEG_INFINITY, 0.0),
            };
            let a = -side * self.mechanics.general.acceleration(k, row, &self.now.a);
            let rebound = row.restitution * rate.abs();
            let back_at_once = row.is_fixed() || (a < 0.0 && 2.0 * rebound <= self.scales.h * -a);
            problem.target[k] = if back_at_once { 0.0 } else { -row.restitution * rate };
        }
        problem.solve(mechanism, &mut self.mechanics)?;
        // Near rows that opened but would be closed by the impact take part, and then nothing is given back.
        let mut joined = false;
        for (k, row) in rows.iter().enumerate() {
            let inward = -f64::from(self.hit[k]) * self.mechanics.general.rate(k, row, &problem.x);
            if self.hit[k] != 0 && !problem.member[k] && inward < -still {
                problem.member[k] = true;
                joined = true;
            }
        }
        if joined {
            problem.target.fill(0.0);
            problem.solve(mechanism, &mut self.mechanics)?;
        }
        self.now.v.copy_from_slice(&problem.x);
        self.now.measure(mechanism, &states.list, &mut self.mechanics.general);
        for k in 0..rows.len() {
            let side = self.hit[k];
            if side == 0 {
                continue;
            }
            let impulse = -f64::from(side) * problem.force[k];
            if problem.member[k] && impulse > 0.0 && !rows[k].is_fixed() {
                let (time, kind) = (self.time, RowEventKind::Impact);
                self.events.push(RowEvent { time, kind, row: Some(k), impulse });
            }
            states.list[k].side = side;
        }
        Ok(true)
    }

    /// Velocities of the rows that may hold become zero, momenta of all other coordinates stay; true if any was not.
    pub(super) fn stand_still(&mut self, mechanism: &Mechanism, states: &RowStates) -> Result<bool, usize> {
        let rows = mechanism.rows();
        let member = &self.problem.member;
        let moves = |k: usize| member[k] && self.now.rate[k] != 0.0;
        let any = (0..rows.len()).any(moves);
        if any {
            self.mechanics.place_masses(mechanism, &self.now.q, &self.now.v);
            let b = &mut self.problem.b;
            self.mechanics.momentum(mechanism, &self.now.v, b);
            let super::RowMechanics { held, general, .. } = &mut self.mechanics;
            held.factor(mechanism, general, |k| if member[k] { f64::INFINITY } else { 0.0 })?;
            held.solve(mechanism, general, b, |g| general.rates[g], &mut self.now.v);
            self.now.measure(mechanism, &states.list, &mut self.mechanics.general);
        }
        Ok(any)
    }

    /// Which of the member rows hold and which let go (7.4).
    fn decide(&mut self, mechanism: &Mechanism, states: &mut RowStates, u: &[f64]) -> Result<(), usize> {
        let rows = mechanism.rows();
        // Members carry no sliding friction while it is decided.
        for (state, member) in states.list.iter_mut().zip(&self.problem.member) {
            state.locked |= *member;
        }
        if self.problem.member.iter().all(|member| !member) {
            return Ok(());
        }
        self.mechanics.place(mechanism, &states.list, &self.now.q, &self.now.v, u);
        let problem = &mut self.problem;
        problem.accelerations = true;
        problem.b.copy_from_slice(&self.mechanics.push);
        problem.target.fill(0.0);
        for (k, state) in states.list.iter().enumerate() {
            (problem.low[k], problem.high[k]) = bounds(&rows[k], state, self.mechanics.bound[k]);
            problem.new[k] = !self.was[k].locked || self.was[k].side != state.side;
        }
        problem.solve(mechanism, &mut self.mechanics)?;
        for (k, row) in rows.iter().enumerate().filter(|(k, _)| problem.member[*k]) {
            let state = &mut states.list[k];
            let held = state.hold;
            if problem.holds(k) {
                let was = self.was[k];
                // At a limit the row is where the limit is, to the last digit it can be told by.
                let value = self.now.value[k];
                state.hold = if was.locked && was.side == state.side { held } else { value };
                state.sign = 0;
                continue;
            }
            state.locked = false;
            state.side = 0;
            state.sign = match (row.rubs, problem.force[k] >= problem.high[k]) {
                (false, _) => 0,
                (true, true) => -1,
                (true, false) => 1,
            };
        }
        Ok(())
    }
}
