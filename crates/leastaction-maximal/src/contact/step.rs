//! A step with contact: interval, node, impacts, turns, splits. (9.15)

use super::super::forces::about_point;
use super::super::ldu::{Six, angular, dot, linear, six};
use super::super::state::{HISTORY, MaximalState};
use super::super::workspace::MaximalWorkspace;
use super::super::{Maximal, StepDerivative, servo};
use super::interval::Interval;
use super::item::{Item, Kind};
use super::memory::{ContactMemory, Probe};
use super::output::impulses_on_links;
use super::solve::Solved;
use crate::contact_law::{Impacts, Turns};
use crate::integrator::{Input, StepError, StepReport, expect_length};
use crate::mechanism::Mechanism;
use crate::spatial::Vec3;
use leastaction_core::scalar::elementary;

/// Deepest recursive halving of a step.
const MAX_DEPTH: u32 = 9;
/// Steps are halved this often where they end with more energy than they began with.
const FINEST: u32 = 4;
/// Cuts at turns in one step.
const MAX_CUTS: u32 = 5;

/// A step under way.
pub(super) struct Driver<'a> {
    pub(super) engine: &'a Maximal,
    pub(super) ws: &'a mut MaximalWorkspace,
    pub(super) mem: &'a mut ContactMemory,
    pub(super) state: &'a mut MaximalState,
    /// Inputs as forces.
    pub(super) u: &'a [f64],
    pub(super) report: StepReport,
    pub(super) events: u32,
    pub(super) cuts: u32,
    /// Length of the whole step.
    pub(super) whole: f64,
    /// Differentiates what is solved.
    pub(super) slope: Option<&'a mut StepDerivative>,
}

/// Energy of motion at a node.
fn kinetic(state: &MaximalState) -> f64 {
    let of = |i: usize| 0.5 * dot(&about_point(&state.momentum[i], state.side.arm[i]), &state.contact.w[i]);
    (0..state.momentum.len()).map(of).sum()
}

/// A part that could not be solved.
struct Unsolved(Solved);

impl Maximal {
    /// One step with contact.
    pub(crate) fn step_with_contact(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
        slope: Option<&mut StepDerivative>,
    ) -> Result<StepReport, StepError> {
        expect_length("u", input.u.len(), mechanism.nu())?;
        if !(h.is_finite() && h > 0.0) {
            return Err(StepError::BadOption {
                option: "step",
                value: h.to_string(),
                remedy: "contact acts forwards in time: give a positive number of seconds".into(),
            });
        }
        let Some(mut mem) = ws.contact.take() else { return Ok(StepReport::default()) };
        mem.reduced.begin();
        let mut known = std::mem::take(&mut ws.inputs);
        servo::known_forces(mechanism, input.u, &mut known, &mut ws.step.input_slopes);
        ws.step.known.copy_from_slice(&known);
        ws.actuation.fill(0.0);
        ws.work = 0.0;
        ws.saved = false;
        state.contact.tidy();
        ws.save(state);
        ws.accepted = 0;
        let time = state.t;
        let report = StepReport::default();
        let mut driver = Driver {
            engine: self,
            ws,
            mem: &mut mem,
            state,
            u: &known,
            report,
            events: 0,
            cuts: 0,
            whole: h,
            slope,
        };
        let outcome = driver.stretch(h, 0);
        let report = driver.report;
        ws.inputs = known;
        ws.contact = Some(mem);
        match outcome {
            Ok(()) => {
                state.t = time + h;
                state.history.h = h;
                Ok(report)
            }
            Err(Unsolved(solved)) => {
                let count =
                    |mem: &ContactMemory| mem.taking_part().filter(|(item, _)| !item.is_friction()).count();
                let contacts = ws.contact.as_deref().map_or(0, count);
                state.restore(&ws.layout, &ws.backup);
                Err(StepError::ContactNotSolved {
                    time,
                    step: h,
                    residual: solved.residual,
                    iterations: report.iterations,
                    contacts,
                })
            }
        }
    }

    /// Takes node velocities into a fresh state and stops contacts that approach. (9.15)
    pub(crate) fn start_with_contact(
        &self,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
    ) -> Result<(), StepError> {
        let Some(mut mem) = ws.contact.take() else { return Ok(()) };
        mem.reduced.begin();
        mem.layout.row_tolerance = ws.layout.row_tolerance;
        let u = Vec::new();
        let report = StepReport::default();
        let mut driver = Driver {
            engine: self,
            ws,
            mem: &mut mem,
            state,
            u: &u,
            report,
            events: 0,
            cuts: 0,
            whole: 0.0,
            slope: None,
        };
        let solved = driver.first_node();
        let iterations = driver.report.iterations;
        let contacts = mem.taking_part().count();
        ws.contact = Some(mem);
        if solved.converged {
            return Ok(());
        }
        Err(StepError::ContactNotSolved {
            time: state.t,
            step: 0.0,
            residual: solved.residual,
            iterations,
            contacts,
        })
    }
}

impl Driver<'_> {
    /// Goes on by `h`, in as many parts as it takes.
    fn stretch(&mut self, h: f64, depth: u32) -> Result<(), Unsolved> {
        let mut left = h;
        loop {
            let used = self.part(left, depth)?;
            if used >= left {
                return Ok(());
            }
            left -= used;
            if left <= 1e-12 * h {
                return Ok(());
            }
        }
    }

    /// One interval and its node, of length `h` or up to an event before; returns the length.
    fn part(&mut self, h: f64, depth: u32) -> Result<f64, Unsolved> {
        let located =
            self.mem.options.impacts == Impacts::Located && self.events < self.mem.options.max_events;
        self.mem.backup.save(self.state);
        self.mem.backup_work = self.ws.work;
        self.mem.backup_energy = (kinetic(self.state), self.ws.potential(self.state));
        self.mem.backup_actuation.clone_from(&self.ws.actuation);
        self.mem.reduced.begin_part();
        self.open(h, located);
        let mut solved = self.interval(h, located, &[]);
        let mut used = h;
        if solved.converged && located && self.ends_below() {
            match self.locate(h) {
                Some(length) => used = length,
                None => solved.converged = false,
            }
        }
        if !solved.converged {
            return self.split(h, depth, solved);
        }
        if depth < MAX_DEPTH && self.contacts_drive() {
            return self.split(h, depth, solved);
        }
        let judged = if depth < FINEST { self.turn_of_normals() } else { None };
        self.accept(used);
        let (node, new) = self.settle(used, &[]);
        if !node.converged {
            self.back();
            return self.split(h, depth, node);
        }
        if self.mem.options.turns == Turns::Located
            && !new
            && self.cuts < MAX_CUTS
            && let Some(fraction) = self.turn(used)
        {
            self.cuts += 1;
            self.mem.counts.turns += 1;
            self.back();
            self.open(fraction * used, located);
            let solved = self.interval(fraction * used, located, &[]);
            if !solved.converged {
                return self.split(h, depth, solved);
            }
            self.accept(fraction * used);
            let (node, _) = self.settle(fraction * used, &[]);
            if !node.converged {
                self.back();
                return self.split(h, depth, node);
            }
            return Ok(fraction * used);
        }
        if judged.is_some_and(|turn| self.gains(turn)) {
            self.back();
            return self.split(h, depth, node);
        }
        if new {
            self.events += 1;
            self.report.events += 1;
            self.mem.counts.impacts += 1;
        }
        Ok(used)
    }

    /// True if a contact that was open ends inside.
    fn ends_below(&mut self) -> bool {
        self.lowest_open() < -self.mem.options.closed_gap
    }

    /// True if the impulses at the start do work on the links beyond the error of the scheme. Links that turn far in one step meet a
    /// gap at its end that has little to do with the directions at its start: the step is too long for them. That error is one of
    /// a whole step, and a part has its share of it: by its own length alone the last parts would be asked for rounding.
    fn contacts_drive(&self) -> bool {
        let Self { ws, mem, state, .. } = self;
        let (mut work, mut turn) = (0.0, 0.0f64);
        let velocity = |i: usize| {
            let w = &ws.iterate.w[i];
            let ang = state.side.rot[i] * angular(w);
            six(ang, linear(w) + ang.cross(state.side.arm[i]))
        };
        for (item, probe) in mem.taking_part() {
            let Kind::Pair { .. } = item.kind else { continue };
            if probe.start.gap < -mem.options.closed_gap {
                // What starts inside is lifted out: that is work.
                continue;
            }
            for x in 0..2 {
                let Some(i) = item.links[x] else { continue };
                let w = velocity(i);
                turn = turn.max(angular(&w).norm() * ws.step.h);
                for k in 0..3 {
                    let row = &probe.force_rows[x][k];
                    work += 0.5 * probe.gam[k] * (dot(row, &w) + dot(row, &state.contact.w[i]));
                }
            }
        }
        work > self.error_of_turns(mem.backup_energy.0, turn)
    }

    /// The scheme's own error of energy in this part, for links that turn by at most `turn`.
    fn error_of_turns(&self, moving: f64, turn: f64) -> f64 {
        let Self { ws, mem, .. } = self;
        let weight: f64 = ws.layout.links.iter().map(|l| l.mass).sum::<f64>() * ws.layout.gravity.norm();
        let share = self.whole / ws.step.h;
        (moving.abs() + 0.3 * weight * mem.options.length) * (0.5 * turn * turn * share + 1e-9)
    }

    /// How far normals turn in the solved interval, if what touches in it must not add energy: nothing starts inside, to be lifted out, and
    /// nothing is driven, to take its work from elsewhere.
    fn turn_of_normals(&self) -> Option<f64> {
        let Self { ws, mem, .. } = self;
        let lifted = |(item, probe): (&Item, &Probe)| probe.start.gap * item.arm < -mem.options.closed_gap;
        if mem.live.is_empty() || !ws.layout.ties.is_empty() || mem.taking_part().any(lifted) {
            return None;
        }
        let turn = |probe: &Probe| (probe.end.normal - probe.start.normal).norm();
        Some(mem.taking_part().fold(0.0, |m, (_, probe)| m.max(turn(probe))))
    }

    /// True if a part with contact ends with more energy than it began with and inputs gave, beyond the error of the scheme. Where an
    /// impact ends it the first stage of the node completes the half step without what has just landed: near rest its weight gets it
    /// faster than it ever was, and what rocks would rock for ever. Where strong friction throws links far round in one step, their
    /// joints gain besides the contacts.
    fn gains(&self, normals: f64) -> bool {
        let Self { ws, mem, state, .. } = self;
        let (before, moving) = (mem.backup_energy, kinetic(state));
        let gain = moving + ws.potential(state) - before.0 - before.1 - (ws.work - mem.backup_work);
        let rate = |w: &[Six]| w.iter().fold(0.0f64, |m, w| m.max(angular(w).norm()));
        let turn = rate(&state.contact.w).max(rate(&mem.backup.contact.w)) * ws.step.h;
        gain > self.error_of_turns(before.0.max(moving), turn.max(normals))
    }

    /// Two halves instead, from a cold start: the restart is exact.
    fn split(&mut self, h: f64, depth: u32, solved: Solved) -> Result<f64, Unsolved> {
        if depth >= MAX_DEPTH || self.mem.reduced.is_spent() {
            return Err(Unsolved(solved));
        }
        self.report.splits += 1;
        self.mem.counts.splits += 1;
        self.state.contact.start.clear();
        self.stretch(0.5 * h, depth + 1)?;
        self.stretch(0.5 * h, depth + 1)?;
        Ok(h)
    }

    /// Back to the start of the part.
    pub(super) fn back(&mut self) {
        let Self { ws, mem, state, .. } = self;
        state.restore(&ws.layout, &mem.backup);
        ws.work = mem.backup_work;
        ws.actuation.copy_from_slice(&mem.backup_actuation);
        if ws.accepted == 1 {
            // The first interval's record for output is made anew.
            ws.accepted = 0;
        }
    }

    /// Moves the state to the end of the solved interval: momenta without the end's contact impulses.
    pub(super) fn accept(&mut self, h: f64) {
        if let Some(slope) = self.slope.as_deref_mut() {
            slope.capture_contact_interval(self.ws, self.mem, self.engine.map, self.state, self.u);
        }
        let Self { engine, ws, mem, state, u, .. } = self;
        Interval { ws, mem, state, map: engine.map }.finish();
        let first = ws.accepted == 0;
        // Impulses and forces at the start node.
        let before = state.interval;
        if first {
            for k in mem.told.drain(..) {
                (mem.start_impulse[k], mem.force[k]) = ([0.0; 3], [0.0; 3]);
                (mem.normal[k], mem.slip[k], mem.gap[k]) = (0.0, 0.0, f64::NAN);
            }
            mem.told.extend_from_slice(&mem.live);
        }
        for m in 0..mem.live.len() {
            let k = mem.live[m];
            let probe = &mem.probes[k];
            let (frame, gam, gap) = (probe.frame, probe.gam, probe.start.gap);
            let world = mem.in_world(k, &frame, gam);
            if first {
                let end = mem.in_world(k, &frame, state.contact.end[k]);
                mem.start_impulse[k] = world;
                mem.force[k] = std::array::from_fn(|m| (end[m] + world[m]) / (0.5 * (before + h)));
                mem.gap[k] = gap;
                if let Kind::Pair { .. } = mem.items[k].kind {
                    let probe = &mem.probes[k];
                    let u = probe.rates(&mem.items[k], &state.contact.w);
                    let touches = gap <= mem.options.closed_gap;
                    mem.slip[k] = if touches { elementary::hypot(u[1], u[2]) } else { 0.0 };
                    mem.normal[k] = probe.start.normal.dot(Vec3(mem.force[k]));
                }
                if let Some(i) = mem.items[k].links[0] {
                    let start = &mem.probes[k].start;
                    let at = state.poses[i].x + state.side.rot[i] * start.core[0] + start.arm[0];
                    mem.point[k] = at.0;
                }
            }
            state.contact.start.set(k, gam);
        }
        if first {
            impulses_on_links(ws, mem, state, true);
        }
        let (wrench, lam) =
            (std::mem::take(&mut state.contact.wrench), std::mem::take(&mut state.contact.lam));
        engine.accept(ws, state, u, h, 0, 0);
        if first {
            // Constraint impulses at the start node: those of the node problem before and of this interval.
            for (sum, before) in ws.node.wrench.iter_mut().zip(&wrench) {
                sum.iter_mut().zip(before).for_each(|(s, b)| *s += b);
            }
            for (sum, before) in ws.node.lam.iter_mut().zip(&lam) {
                sum.iter_mut().zip(before).for_each(|(s, b)| *s += b);
            }
        }
        (state.contact.wrench, state.contact.lam) = (wrench, lam);
        let history = &mut state.history;
        history.newest = (history.newest + 1) % HISTORY;
        history.count = 1;
        history.h = h;
    }
}
