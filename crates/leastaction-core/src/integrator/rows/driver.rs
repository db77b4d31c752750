//! [`RowDriver`]: one step in parts, cut where something happens.

use super::box_problem::BoxProblem;
use super::events::{DOWN, KINDS, LOWER, Moment, RowEvent, RowEventKind, STOP, Scales, UP, UPPER, bounds};
use super::trials::Trials;
use super::{Parts, RowMechanics, RowState, RowStates};
use crate::integrator::{StepError, StepReport};
use crate::mechanism::{JointType, Mechanism, RowOf};

/// Events of a step beyond which the rest of it goes by rule, rows not counted.
const MOST_EVENTS: usize = 12;
/// Times a row may run into a limit within a step; after that it stays there until the step is over. Rows that push each other
/// off their limits make endless series of impacts.
const MOST_HITS: u8 = 3;
/// A position over a step as a velocity, times this, is a scale of velocities whose rounding is that of the position.
const FAR: f64 = 1e-2;
/// Work of a ball's limit over a step, as a part of the kinetic energy, beyond which its parts are made shorter.
const WORK: f64 = 1e-5;
/// Part of its bound below which a locked row's force needs no closer look.
const SURE: f64 = 0.97;
/// Part of a step down to which they are.
const FINEST: f64 = 1e-3;
/// Part of a step below which a part whose equations cannot be solved is given up.
const SHORTEST: f64 = 1e-6;

/// The driver's memory for one mechanism; holds no truth.
#[derive(Clone, Debug)]
pub struct RowDriver {
    pub(super) mechanics: RowMechanics,
    pub(super) problem: BoxProblem,
    /// Start of the part.
    pub(super) now: Moment,
    /// Ends of the bracket, and the trial between them.
    pub(super) low: Moment,
    pub(super) high: Moment,
    pub(super) trial: Moment,
    /// All trials of the search at hand.
    pub(super) tried: Trials,
    /// What happened in the step.
    pub(super) events: Vec<RowEvent>,
    /// Of the event at hand: rows that stopped, let go, reached a limit.
    pub(super) zero: Vec<bool>,
    pub(super) released: Vec<i8>,
    pub(super) hit: Vec<i8>,
    /// How often each row has reached a limit in this step.
    hits: Vec<u8>,
    /// Modes before the event.
    pub(super) was: Vec<RowState>,
    pub(super) scales: Scales,
    /// When the step starts, and time from there.
    pub(super) origin: f64,
    pub(super) time: f64,
    part: Vec<f64>,
    /// True while the forces in `RowStates::mean` are those at the start of the part, which modes were just decided with.
    pub(super) fresh: bool,
    impulses: Vec<f64>,
    backup: RowStates,
    let_go: Vec<bool>,
    gravity: f64,
    /// Rows of loop joints.
    winds: Vec<bool>,
    /// Where floating joints have their position.
    places: Vec<usize>,
}

/// Why a step ended.
pub(super) enum Trouble {
    Singular(usize),
    Step(StepError),
}

impl From<StepError> for Trouble {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

impl RowDriver {
    /// Memory for a mechanism; none if it has no rows.
    #[must_use]
    pub fn new(mechanism: &Mechanism) -> Option<Box<Self>> {
        let rows = mechanism.rows().len();
        if rows == 0 {
            return None;
        }
        let moment = || Moment::new(mechanism.nq(), mechanism.nv(), rows);
        Some(Box::new(Self {
            mechanics: RowMechanics::new(mechanism),
            problem: BoxProblem::new(mechanism),
            now: moment(),
            low: moment(),
            high: moment(),
            trial: moment(),
            tried: Trials::new(rows),
            events: Vec::with_capacity(4 * (MOST_EVENTS + rows)),
            zero: vec![false; rows],
            released: vec![0; rows],
            hit: vec![0; rows],
            hits: vec![0; rows],
            was: vec![RowState::default(); rows],
            scales: Scales { velocity: 1.0, h: 1.0, force: 0.0, push: 0.0 },
            origin: 0.0,
            time: 0.0,
            part: vec![0.0; rows],
            fresh: false,
            impulses: vec![0.0; rows],
            backup: RowStates::new(mechanism),
            let_go: vec![false; rows],
            gravity: mechanism.gravity().norm(),
            winds: mechanism.rows().iter().map(|row| matches!(row.of, RowOf::Loop { .. })).collect(),
            places: mechanism
                .tree()
                .nodes
                .iter()
                .filter(|node| node.kind == JointType::Floating)
                .flat_map(|node| node.q + 4..node.q + 7)
                .collect(),
        }))
    }

    /// What happened in the last step.
    #[must_use]
    pub fn events(&self) -> &[RowEvent] {
        &self.events
    }

    /// Forces of the locked rows at a state.
    ///
    /// # Errors
    /// The node at which the mass matrix is singular.
    pub fn forces_at(
        &mut self,
        mechanism: &Mechanism,
        states: &[RowState],
        q: &[f64],
        v: &[f64],
        u: &[f64],
        out: &mut [f64],
    ) -> Result<(), usize> {
        self.mechanics.place(mechanism, states, q, v, u);
        self.mechanics.respond(mechanism, states, &mut self.trial.a, out)
    }

    /// Velocities next to `v`, in the metric of the masses, at which the rows given have the rates given.
    ///
    /// # Errors
    /// The node at which the mass matrix is singular.
    pub fn reset_at(
        &mut self,
        mechanism: &Mechanism,
        states: &[RowState],
        q: &[f64],
        v: &[f64],
        u: &[f64],
        rates: &[(usize, f64)],
        out: &mut [f64],
    ) -> Result<(), usize> {
        self.mechanics.place(mechanism, states, q, v, u);
        let problem = &mut self.problem;
        problem.accelerations = false;
        self.mechanics.momentum(mechanism, v, &mut problem.b);
        problem.member.fill(false);
        problem.new.fill(true);
        problem.target.fill(0.0);
        problem.low.fill(f64::NEG_INFINITY);
        problem.high.fill(f64::INFINITY);
        for (k, rate) in rates {
            (problem.member[*k], problem.target[*k]) = (true, *rate);
        }
        problem.solve(mechanism, &mut self.mechanics)?;
        out.copy_from_slice(&problem.x);
        Ok(())
    }

    /// One step of length `h` under the inputs `u`, in parts. Does not allocate.
    ///
    /// # Errors
    /// If a part cannot be taken however short it is; modes are then what they were, the caller puts the state back.
    pub fn step(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &mut RowStates,
        u: &[f64],
        h: f64,
        time: f64,
    ) -> Result<StepReport, StepError> {
        self.origin = time;
        self.backup.copy_from(states);
        let mut report = StepReport::default();
        match self.advance(mechanism, parts, states, u, h, &mut report) {
            Ok(()) => {
                states.impulses.copy_from_slice(&self.impulses);
                states.inputs.copy_from_slice(u);
                Ok(report)
            }
            Err(trouble) => {
                states.copy_from(&self.backup);
                Err(match trouble {
                    Trouble::Step(error) => error,
                    Trouble::Singular(node) => StepError::Singular {
                        time,
                        what: "mass matrix",
                        joint: mechanism.joint(mechanism.tree().nodes[node].joint).name.clone(),
                        remedy: "give the bodies behind it inertia, or the joint armature",
                    },
                })
            }
        }
    }

    fn advance(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &mut RowStates,
        u: &[f64],
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), Trouble> {
        self.events.clear();
        self.impulses.fill(0.0);
        self.hits.fill(0);
        self.mechanics.stays.fill(false);
        (self.time, self.fresh) = (0.0, false);
        parts.read(&states.list, false, &mut self.now.q, &mut self.now.v);
        self.now.measure(mechanism, &states.list, &mut self.mechanics.general);
        (self.now.t, self.now.known) = (0.0, false);
        // Poses far from the origin are rounded, and rates are differences of poses.
        let far = self.places.iter().fold(0.0, |m: f64, i| m.max(self.now.q[*i].abs()));
        let velocity = largest(&self.now.v).max(h * self.gravity).max(FAR * far / h);
        self.scales = Scales { velocity, h, force: 0.0, push: 0.0 };
        for (bound, row) in self.mechanics.bound.iter_mut().zip(mechanism.rows()) {
            *bound = row.bound(mechanism.followers(), &self.now.q);
        }
        self.begin(mechanism, parts, states, u)?;
        let most = MOST_EVENTS + states.list.len();
        let (mut left, mut events, mut at_instant) = (h, 0, 0);
        let mut length = left;
        while left > 0.0 {
            report.trials += 1;
            if let Err(error) = parts.trial(&states.list, length, report) {
                length = self.shorter(length, error, report)?;
                continue;
            }
            let inner = self.look(mechanism, parts, states, u, length)?;
            if let Some(fraction) = inner {
                // A node inside is beyond a limit, the end is not: up to that node, then.
                length *= fraction;
                report.trials += 1;
                match parts.trial(&states.list, length, report) {
                    Err(error) if !self.mechanics.general.has_loops() => {
                        length = self.shorter(length, error, report)?;
                        continue;
                    }
                    outcome => outcome?,
                }
                self.look(mechanism, parts, states, u, length)?;
            }
            if !self.violated(mechanism) {
                if self.gains(mechanism, states, u, length) && length > FINEST * h {
                    length *= 0.5;
                    continue;
                }
                self.take(parts, states, length, report);
                left = if length >= left { 0.0 } else { left - length };
                // Where a part had to be short the next is not tried whole at once.
                length = left.min(2.0 * length);
                continue;
            }
            if events >= most || at_instant > states.list.len() + 2 {
                return self.by_rule(mechanism, parts, states, u, left, report);
            }
            let t = match self.search(mechanism, parts, states, u, report) {
                Err(Trouble::Step(error)) => {
                    length = self.shorter(length, error, report)?;
                    continue;
                }
                outcome => outcome?,
            };
            if t > FINEST * h && self.gains(mechanism, states, u, t) {
                length = 0.5 * t;
                continue;
            }
            events += 1;
            report.events += 1;
            at_instant = if t > 1e-9 * h { 1 } else { at_instant + 1 };
            if t > 0.0 {
                self.take(parts, states, t, report);
            }
            self.was.copy_from_slice(&states.list);
            self.settle(mechanism, parts, states, u).map_err(Trouble::Singular)?;
            left -= t;
            length = left;
        }
        if self.fresh {
            states.mean.fill(f64::NAN);
        }
        Ok(())
    }

    /// True if the limit of a ball did work in the trial, which it can't: a thin link that is held at a whole angle whirls about
    /// its own axis in a small part of the step, and a scheme that passes over it gains energy without bound.
    ///
    /// Kinetic energy is compared with the work of all other forces by the trapezoidal rule, whose error is of third order.
    fn gains(&mut self, mechanism: &Mechanism, states: &RowStates, u: &[f64], t: f64) -> bool {
        let rows = mechanism.rows().iter().zip(&states.list);
        if !rows.into_iter().any(|(row, state)| state.locked && matches!(row.of, RowOf::Turn { .. })) {
            return false;
        }
        let mut at =
            |moment: &Moment| self.mechanics.energy(mechanism, &states.list, &moment.q, &moment.v, u);
        let (before, after) = (at(&self.now), at(&self.trial));
        let work = 0.5 * t * (before.1 + after.1);
        let size = before.0 + after.0;
        after.0 - before.0 - work > WORK * size * t / self.scales.h
    }

    /// Half of a length whose equations could not be solved.
    fn shorter(&self, length: f64, error: StepError, report: &mut StepReport) -> Result<f64, Trouble> {
        report.halvings += 1;
        if length < SHORTEST * self.scales.h { Err(error.into()) } else { Ok(0.5 * length) }
    }

    /// Decides modes where none are, or where other inputs than before ask for more than a row can bear.
    fn begin(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &mut RowStates,
        u: &[f64],
    ) -> Result<(), Trouble> {
        self.zero.fill(false);
        self.released.fill(0);
        self.hit.fill(0);
        self.was.copy_from_slice(&states.list);
        if !states.settled {
            for (k, row) in mechanism.rows().iter().enumerate() {
                let (value, near) = (self.now.value[k], 1e-12 * self.scales.position(row).max(1.0));
                states.list[k] = RowState::default();
                if value - row.lower <= near {
                    self.hit[k] = -1;
                } else if row.upper - value <= near {
                    self.hit[k] = 1;
                }
                let leaving = -f64::from(self.hit[k]) * self.now.rate[k] > 1e-12 * self.scales.velocity;
                if leaving {
                    self.hit[k] = 0;
                }
            }
            return self.settle(mechanism, parts, states, u).map_err(Trouble::Singular);
        }
        if states.list.iter().all(|state| !state.locked) || states.inputs == u {
            return Ok(());
        }
        self.respond(mechanism, states, u, false)?;
        let bound = &self.mechanics.bound;
        let beyond = states.list.iter().enumerate().any(|(k, state)| {
            let (low, high) = bounds(&mechanism.rows()[k], state, bound[k]);
            let slack = 1e-8 * self.scales.torque(bound[k]);
            state.locked && (self.now.force[k] < low - slack || self.now.force[k] > high + slack)
        });
        if beyond {
            self.events.push(RowEvent { time: 0.0, kind: RowEventKind::Input, row: None, impulse: 0.0 });
            self.settle(mechanism, parts, states, u).map_err(Trouble::Singular)?;
        }
        Ok(())
    }

    /// Accelerations and forces of the moment `now` or of the trial.
    pub(super) fn respond(
        &mut self,
        mechanism: &Mechanism,
        states: &RowStates,
        u: &[f64],
        trial: bool,
    ) -> Result<(), Trouble> {
        let moment = if trial { &mut self.trial } else { &mut self.now };
        if !moment.known {
            self.mechanics.general.time = self.origin + self.time + moment.t;
            self.mechanics.place(mechanism, &states.list, &moment.q, &moment.v, u);
            let outcome = self.mechanics.respond(mechanism, &states.list, &mut moment.a, &mut moment.force);
            outcome.map_err(Trouble::Singular)?;
            moment.known = true;
            for (k, row) in mechanism.rows().iter().enumerate() {
                moment.pace[k] = self.mechanics.general.acceleration(k, row, &moment.a);
            }
            let forces = moment.force.iter().zip(&states.list).filter(|(_, state)| state.locked);
            let most = forces.fold(0.0, |m: f64, (force, _)| m.max(force.abs()));
            self.scales.force = self.scales.force.max(most);
            self.scales.push = self.scales.push.max(largest(&self.mechanics.push));
        }
        Ok(())
    }

    /// Reads the end of the trial and weighs it; the answer is where inside the part a limit is passed, if only there.
    fn look(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &RowStates,
        u: &[f64],
        t: f64,
    ) -> Result<Option<f64>, Trouble> {
        let rows = mechanism.rows();
        parts.read(&states.list, true, &mut self.trial.q, &mut self.trial.v);
        self.trial.measure(mechanism, &states.list, &mut self.mechanics.general);
        (self.trial.t, self.trial.known) = (t, false);
        self.scales.velocity = self.scales.velocity.max(largest(&self.trial.v));
        if states.list.iter().any(|state| state.locked) {
            parts.impulses(&states.list, &mut self.part);
            let near = states.list.iter().enumerate().any(|(k, state)| {
                let fixed = state.side != 0 && rows[k].is_fixed();
                let mean = self.part[k] / t;
                // From the start of a part to its mean is half of the way to its end.
                let change = (mean - states.mean[k]) * if self.fresh { 2.0 } else { 1.0 };
                state.locked && !fixed && !surely_holds(state, self.mechanics.bound[k], mean, change)
            });
            if near {
                self.respond(mechanism, states, u, true)?;
            }
        }
        self.trial.weigh(rows, &states.list, &self.mechanics.bound, &self.scales);
        let mut inside: Option<f64> = None;
        if parts.inner_nodes() > 0 && !self.violated(mechanism) {
            for (k, row) in rows.iter().enumerate().filter(|(k, _)| !states.list[*k].locked) {
                let (low, high) = (row.lower, row.upper);
                if low == f64::NEG_INFINITY && high == f64::INFINITY {
                    continue;
                }
                let slack = self.scales.threshold(LOWER, row, self.mechanics.bound[k]);
                for node in 0..parts.inner_nodes() {
                    let (fraction, value) = parts.inner_value(node, row);
                    if (value < low - slack || value > high + slack) && inside.is_none_or(|f| fraction < f) {
                        inside = Some(fraction);
                    }
                }
            }
        }
        Ok(inside)
    }

    /// Counts the limits that were reached; a row that comes back again and again stays.
    pub(super) fn count_hits(&mut self) {
        for (k, hits) in self.hits.iter_mut().enumerate().filter(|(k, _)| self.hit[*k] != 0) {
            *hits = hits.saturating_add(1);
            self.mechanics.stays[k] |= *hits > MOST_HITS;
        }
    }

    /// True if an event function of the trial is beyond its threshold.
    fn violated(&self, mechanism: &Mechanism) -> bool {
        let rows = mechanism.rows();
        let beyond = |i: usize, g: f64| {
            let (k, kind) = (i / KINDS.len(), i % KINDS.len());
            g < 0.0 && g < -self.scales.threshold(kind, &rows[k], self.mechanics.bound[k])
        };
        self.trial.g.iter().enumerate().any(|(i, g)| beyond(i, *g))
    }

    /// Accepts the last trial.
    fn take(&mut self, parts: &mut dyn Parts, states: &mut RowStates, t: f64, report: &mut StepReport) {
        report.parts += 1;
        if states.list.iter().any(|state| state.locked) {
            parts.impulses(&states.list, &mut self.part);
        }
        for (k, state) in states.list.iter().enumerate() {
            let impulse = if !state.locked {
                if state.sign == 0 { 0.0 } else { -f64::from(state.sign) * self.mechanics.bound[k] * t }
            } else if self.part[k].is_nan() {
                // A method without impulses: what the row holds at the end stands for the part.
                if self.trial.known { self.trial.force[k] * t } else { 0.0 }
            } else {
                self.part[k]
            };
            self.impulses[k] += impulse;
            states.mean[k] = if state.locked { impulse / t } else { f64::NAN };
        }
        self.fresh = false;
        parts.accept();
        self.time += t;
        std::mem::swap(&mut self.now, &mut self.trial);
        self.now.t = 0.0;
        // Angles of loop joints wind up from where they are.
        for (k, state) in states.list.iter_mut().enumerate().filter(|(_, state)| !state.locked) {
            if self.winds[k] {
                state.hold = self.now.value[k];
            }
        }
    }

    /// The rest of a step with too many events: a sliding row that would turn round is held from the start of the part, a
    /// locked one beyond its bound lets go, once; limits are still found. Always dissipative, of first order.
    fn by_rule(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &mut RowStates,
        u: &[f64],
        mut left: f64,
        report: &mut StepReport,
    ) -> Result<(), Trouble> {
        let rows = mechanism.rows().len();
        self.let_go.fill(false);
        let mut rounds = 0;
        let mut length = left;
        while left > 0.0 {
            report.trials += 1;
            if let Err(error) = parts.trial(&states.list, length, report) {
                length = self.shorter(length, error, report)?;
                continue;
            }
            self.look(mechanism, parts, states, u, length)?;
            rounds += 1;
            let mut changed = false;
            if rounds <= 2 * rows + 4 {
                for k in 0..rows {
                    let base = KINDS.len() * k;
                    if self.is_violated(mechanism, &self.trial, base + STOP) {
                        states.list[k].locked = true;
                        states.list[k].sign = 0;
                        states.list[k].hold = self.now.value[k];
                        changed = true;
                    }
                    let down = self.is_violated(mechanism, &self.trial, base + DOWN);
                    let up = self.is_violated(mechanism, &self.trial, base + UP);
                    if (down || up) && !self.let_go[k] {
                        self.let_go[k] = true;
                        states.list[k].locked = false;
                        states.list[k].side = 0;
                        let sign = if down { -1 } else { 1 };
                        states.list[k].sign = if mechanism.rows()[k].rubs { sign } else { 0 };
                        changed = true;
                    }
                }
            }
            if changed {
                report.forced += 1;
                self.now.known = false;
                self.problem.member.fill(false);
                for (member, state) in self.problem.member.iter_mut().zip(&states.list) {
                    *member = state.locked;
                }
                self.hold_still(mechanism, states)?;
                parts.set_velocity(&self.now.v);
                continue;
            }
            let limit = |driver: &Self| {
                (0..rows).any(|k| {
                    let base = KINDS.len() * k;
                    driver.is_violated(mechanism, &driver.trial, base + LOWER)
                        || driver.is_violated(mechanism, &driver.trial, base + UPPER)
                })
            };
            if limit(self) && rounds > 6 * rows + 24 && rounds <= 7 * rows + 26 {
                // Too many to be found one by one: what would pass a limit is held where it is, short of it.
                for k in 0..rows {
                    for (kind, side) in [(LOWER, -1), (UPPER, 1)] {
                        if self.is_violated(mechanism, &self.trial, KINDS.len() * k + kind) {
                            let hold = self.now.value[k];
                            states.list[k] = RowState { locked: true, sign: 0, side, hold };
                            self.mechanics.stays[k] = true;
                        }
                    }
                }
                report.forced += 1;
                self.now.known = false;
                for (member, state) in self.problem.member.iter_mut().zip(&states.list) {
                    *member = state.locked;
                }
                self.hold_still(mechanism, states)?;
                parts.set_velocity(&self.now.v);
                continue;
            }
            if !limit(self) || rounds > 6 * rows + 24 {
                self.take(parts, states, length, report);
                left = if length >= left { 0.0 } else { left - length };
                length = left;
                continue;
            }
            let t = match self.search(mechanism, parts, states, u, report) {
                Err(Trouble::Step(error)) if !self.mechanics.general.has_loops() => {
                    length = self.shorter(length, error, report)?;
                    continue;
                }
                outcome => outcome?,
            };
            report.events += 1;
            if t > 0.0 {
                self.take(parts, states, t, report);
            }
            self.was.copy_from_slice(&states.list);
            self.settle(mechanism, parts, states, u).map_err(Trouble::Singular)?;
            left -= t;
            length = left;
        }
        Ok(())
    }

    fn hold_still(&mut self, mechanism: &Mechanism, states: &RowStates) -> Result<bool, Trouble> {
        self.stand_still(mechanism, states).map_err(Trouble::Singular)
    }
}

/// True if a locked row's mean force over the last part and how that changed since the one before say that it holds without a
/// closer look.
///
/// Means that change by `c` from part to part end half of that beyond the last one; as much again is left for how that changes.
fn surely_holds(state: &RowState, bound: f64, mean: f64, change: f64) -> bool {
    match state.side {
        0 => (mean + 0.5 * change).abs() + 0.5 * change.abs() < SURE * bound,
        -1 => mean - 2.0 * change.abs() > 0.0,
        _ => mean + 2.0 * change.abs() < 0.0,
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}
