//! A step with contact: interval, node, impacts, turns, splits. (9.15)

use super::super::constraint::coordinate_row;
use super::super::forces::add_row;
use super::super::ldu::{Six, angular, linear, six};
use super::super::residual::closure_rows;
use super::super::start::{add_armature, carry_momentum};
use super::super::state::{HISTORY, MaximalState};
use super::super::workspace::MaximalWorkspace;
use super::super::{Maximal, newton, servo};
use super::interval::{Interval, impulse_scale};
use super::item::Kind;
use super::memory::ContactMemory;
use super::node::Node;
use super::rows::{node_rows, touch};
use super::solve::{Solved, newton as plain_newton, solve};
use crate::contact_law::{Impacts, Law, Sliding, Turns, frame_of};
use crate::integrator::{Input, StepError, StepReport, expect_length};
use crate::mechanism::Mechanism;
use leastaction_core::scalar::elementary;

/// Deepest recursive halving of a step.
const MAX_DEPTH: u32 = 6;
/// Cuts at turns in one step.
const MAX_CUTS: u32 = 5;
/// Normal velocity below which a contact is closed over an interval, of the model's speed.
const STILL: f64 = 1e-7;
/// Compliance that makes flat sliding contacts unique.
const COMPLIANCE: f64 = 1e-4;

/// Contacts deeper than this at the start, of the size of the model, are said to be inside.
const INSIDE: f64 = 1e-6;

/// True if both links hang from the same root: hard contact could not part them where their joints hold them together.
fn one_tree(ws: &MaximalWorkspace, item: &super::item::Item) -> bool {
    let root = |link: Option<usize>| {
        let parent = |i: &usize| ws.layout.links[*i].parent;
        std::iter::successors(link, parent).last()
    };
    root(item.links[0]) == root(item.links[1])
}

/// A step under way.
struct Driver<'a> {
    engine: &'a Maximal,
    ws: &'a mut MaximalWorkspace,
    mem: &'a mut ContactMemory,
    state: &'a mut MaximalState,
    /// Inputs as forces.
    u: &'a [f64],
    report: StepReport,
    events: u32,
    cuts: u32,
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
        let mut known = std::mem::take(&mut ws.inputs);
        servo::known_forces(mechanism, input.u, &mut known, &mut ws.step.input_slopes);
        ws.step.known.copy_from_slice(&known);
        ws.actuation.fill(0.0);
        ws.work = 0.0;
        ws.saved = false;
        ws.save(state);
        ws.accepted = 0;
        let time = state.t;
        let report = StepReport::default();
        let mut driver =
            Driver { engine: self, ws, mem: &mut mem, state, u: &known, report, events: 0, cuts: 0 };
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
                let contacts = ws.contact.as_ref().map_or(0, |mem| {
                    mem.probes.iter().zip(&mem.items).filter(|(p, i)| p.active && !i.is_friction()).count()
                });
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
        mem.layout.row_tolerance = ws.layout.row_tolerance;
        let u = Vec::new();
        let report = StepReport::default();
        let mut driver = Driver { engine: self, ws, mem: &mut mem, state, u: &u, report, events: 0, cuts: 0 };
        let solved = driver.first_node();
        let iterations = driver.report.iterations;
        let contacts = mem.probes.iter().filter(|p| p.active).count();
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
        self.open(h, located);
        let mut solved = self.interval(h, located, &[]);
        let mut used = h;
        if solved.converged && located && self.lowest_open() < -self.mem.options.closed_gap {
            match self.locate(h) {
                Some(length) => used = length,
                None => solved.converged = false,
            }
        }
        if !solved.converged {
            return self.split(h, depth, solved);
        }
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
        if new {
            self.events += 1;
            self.report.events += 1;
            self.mem.counts.impacts += 1;
        }
        Ok(used)
    }

    /// Two halves instead, from a cold start: the restart is exact.
    fn split(&mut self, h: f64, depth: u32, solved: Solved) -> Result<f64, Unsolved> {
        if depth >= MAX_DEPTH {
            return Err(Unsolved(solved));
        }
        self.report.splits += 1;
        self.mem.counts.splits += 1;
        self.state.contact.start.fill([0.0; 3]);
        self.stretch(0.5 * h, depth + 1)?;
        self.stretch(0.5 * h, depth + 1)?;
        Ok(h)
    }

    /// Back to the start of the part.
    fn back(&mut self) {
        let Self { ws, mem, state, .. } = self;
        state.restore(&ws.layout, &mem.backup);
        if ws.accepted == 1 {
            // The first interval's record for output is made anew.
            ws.accepted = 0;
        }
    }

    /// The contacts at the start node: what takes part, rows of the forces, floors, directions of sliding.
    fn open(&mut self, h: f64, located: bool) {
        let Self { ws, mem, state, .. } = self;
        let options = mem.options;
        let gravity = ws.layout.gravity.norm();
        for ((item, probe), muted) in mem.items.iter().zip(&mut mem.probes).zip(&state.contact.muted) {
            let mut now = touch(item, &state.side, &state.poses, &state.q);
            probe.muted = *muted != 0.0;
            if probe.muted {
                now.gap = f64::INFINITY;
            }
            probe.start_at(item, now, &state.side);
            probe.law = Law::new(item.mu, item.rho);
            (probe.sign, probe.gam) = (None, [0.0; 3]);
            match item.kind {
                Kind::Friction { bound, .. } => {
                    (probe.active, probe.was_open) = (true, false);
                    probe.bound = 0.5 * h * bound;
                    continue;
                }
                Kind::Limit { at, .. } => {
                    probe.was_open = now.gap > options.closed_gap / item.arm;
                    let margin = 2.0 * h * state.contact.rate[at.v].abs() + h * h * gravity / item.arm;
                    probe.active = !probe.was_open || (!located && now.gap <= margin);
                }
                Kind::Pair { .. } => {
                    probe.was_open = now.gap > options.closed_gap;
                    let mut speed = 0.0;
                    for (x, link) in item.links.iter().enumerate() {
                        if let Some(i) = *link {
                            let w = &state.contact.w[i];
                            let (ang, lin) = (angular(w), linear(w));
                            let v = lin - ang.cross(state.side.arm[i]);
                            speed += v.norm() + ang.norm() * item.reach[x];
                        }
                    }
                    let margin = 2.0 * h * speed + h * h * gravity;
                    probe.active = !probe.was_open || (!located && now.gap <= margin);
                    if options.sliding == Sliding::Symmetric && item.mu > 0.0 && !probe.was_open {
                        let u = probe.rates(item, &state.contact.w);
                        let size = elementary::hypot(u[1], u[2]);
                        if size > options.slide_speed {
                            probe.law.direction = Some([u[1] / size, u[2] / size]);
                        }
                    }
                }
            }
            let floor = (now.gap + h * options.recovery_speed / item.arm).min(0.0);
            probe.floor = floor;
        }
        for (probe, start) in mem.probes.iter_mut().zip(&state.contact.start) {
            if probe.active {
                probe.gam = *start;
            }
        }
    }

    /// Solves the interval of length `h` from the opened node. Rows in `prescribed` keep their direction.
    fn interval(&mut self, h: f64, located: bool, prescribed: &[usize]) -> Solved {
        let Self { engine, ws, mem, state, u, .. } = self;
        ws.step.prepare(&ws.layout, state, h, &mut mem.ldu.size);
        engine.take_in(ws, state, u, h);
        newton::guess(&state.history, engine.map, 0, h, false, false, ws);
        mem.guess.copy_from(&ws.iterate);
        for (item, probe) in mem.items.iter().zip(&mut mem.probes) {
            if let Kind::Friction { bound, .. } = item.kind {
                probe.bound = 0.5 * h * bound;
            }
            probe.floor = (probe.start.gap + h * mem.options.recovery_speed / item.arm).min(0.0);
        }
        Interval { ws, mem, state, map: engine.map }.begin();
        let mut solved = self.solve_interval();
        // Contacts that were left out and are inside at the end.
        while solved.converged && !located && self.add_left_out() {
            solved = self.solve_interval();
        }
        for _ in 0..4 {
            if !solved.converged || !self.free_stopping(prescribed) {
                break;
            }
            solved = self.solve_interval();
            while solved.converged && !located && self.add_left_out() {
                solved = self.solve_interval();
            }
        }
        if solved.converged && self.soften() {
            solved = self.solve_interval();
            self.mem.probes.iter_mut().for_each(|p| p.law.compliance = 0.0);
            if solved.converged {
                solved = self.solve_interval();
            }
        }
        solved
    }

    fn solve_interval(&mut self) -> Solved {
        let Self { engine, ws, mem, state, .. } = self;
        mem.place(&ws.layout);
        mem.smoothing = 0.0;
        let solved = solve(&mut Interval { ws, mem, state, map: engine.map });
        self.report.iterations += solved.iterations;
        self.report.residual = self.report.residual.max(if solved.converged { solved.residual } else { 0.0 });
        self.report.dropped_rank = self.report.dropped_rank.max(self.mem.ldu.dropped);
        self.mem.counts.interval_iterations += u64::from(solved.iterations);
        self.mem.counts.paths += u64::from(solved.path);
        self.report.retries += u32::from(solved.path);
        solved
    }

    /// Takes in contacts that were left out and end inside; true if there was one.
    fn add_left_out(&mut self) -> bool {
        let Self { ws, mem, state, .. } = self;
        let closed = mem.options.closed_gap;
        let mut added = false;
        for (item, probe) in
            mem.items.iter().zip(&mut mem.probes).filter(|(_, probe)| !probe.active && !probe.muted)
        {
            let gap = match item.kind {
                Kind::Pair { .. } => touch(item, &ws.trial.side, &ws.trial.poses, &state.q).gap,
                Kind::Limit { at, sign, value } => sign * (state.q[at.q] + ws.trial.dy[at.v] - value),
                Kind::Friction { .. } => continue,
            };
            if gap < -closed / item.arm {
                (probe.active, probe.gam) = (true, [0.0; 3]);
                added = true;
            }
        }
        added
    }

    /// Lowest gap at the end of the interval of the contacts that were open at its start.
    fn lowest_open(&self) -> f64 {
        let Self { ws, mem, state, .. } = self;
        let mut lowest = f64::INFINITY;
        for (item, _) in mem.items.iter().zip(&mem.probes).filter(|(_, probe)| probe.was_open && !probe.muted)
        {
            let gap = match item.kind {
                Kind::Pair { .. } => touch(item, &ws.trial.side, &ws.trial.poses, &state.q).gap,
                Kind::Limit { at, sign, value } => {
                    item.arm * sign * (state.q[at.q] + ws.trial.dy[at.v] - value)
                }
                Kind::Friction { .. } => continue,
            };
            lowest = lowest.min(gap);
        }
        lowest
    }

    /// Contacts with a prescribed direction that are about to stop or to turn get the full law; true if there was one.
    fn free_stopping(&mut self, prescribed: &[usize]) -> bool {
        let Self { mem, state, .. } = self;
        let mut freed = false;
        for (k, (item, probe)) in mem.items.iter().zip(&mut mem.probes).enumerate() {
            let Some(d) = probe.law.direction.filter(|_| probe.active && !prescribed.contains(&k)) else {
                continue;
            };
            let u = probe.rates(item, &state.contact.w);
            let size = elementary::hypot(u[1], u[2]);
            if probe.gam[0] > 0.0 && probe.u[1] * d[0] + probe.u[2] * d[1] < 0.5 * size {
                probe.law.direction = None;
                freed = true;
            }
        }
        freed
    }

    /// Where more than three contacts of two links are closed and one slides, normal impulses are not unique: makes those contacts
    /// a little soft. True if there are any. (9.16)
    fn soften(&mut self) -> bool {
        let mem = &mut *self.mem;
        let (still, slides) = (STILL * mem.options.speed, mem.options.slide_speed);
        let closed = |k: usize, mem: &ContactMemory| {
            let (item, probe) = (&mem.items[k], &mem.probes[k]);
            probe.active && item.rows() == 3 && probe.u[0].abs() < still
        };
        let count = (0..mem.items.len()).filter(|k| closed(*k, mem)).count();
        if count <= 3 {
            return false;
        }
        let mut any = false;
        for k in 0..mem.items.len() {
            if !closed(k, mem) || mem.probes[k].law.compliance > 0.0 {
                continue;
            }
            let links = mem.items[k].links;
            let group = |j: usize, mem: &ContactMemory| mem.items[j].links == links && closed(j, mem);
            let number = (k..mem.items.len()).filter(|j| group(*j, mem)).count();
            let sliding = (k..mem.items.len())
                .any(|j| group(j, mem) && elementary::hypot(mem.probes[j].u[1], mem.probes[j].u[2]) > slides);
            if number > 3 && sliding {
                any = true;
                for j in k..mem.items.len() {
                    if group(j, mem) {
                        mem.probes[j].law.compliance = COMPLIANCE;
                    }
                }
            }
        }
        any
    }

    /// The length at which the first open contact touches, its interval solved; none if a solve on the way failed.
    fn locate(&mut self, h: f64) -> Option<f64> {
        let tolerance = self.mem.options.located_gap;
        let start = self.mem.items.iter().zip(&self.mem.probes).filter(|(_, p)| p.was_open && !p.muted);
        let mut low = (0.0, start.map(|(i, p)| p.start.gap * i.arm).fold(f64::INFINITY, f64::min));
        let mut high = (1.0, self.lowest_open());
        let mut side = 0;
        for _ in 0..60 {
            let mut a = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
            if !(a > low.0 && a < high.0) {
                a = 0.5 * (low.0 + high.0);
            }
            let solved = self.interval(a * h, true, &[]);
            if !solved.converged {
                return None;
            }
            let gap = self.lowest_open();
            if gap.abs() <= tolerance || high.0 - low.0 <= 4.0 * f64::EPSILON {
                return Some(a * h);
            }
            // Illinois: an end that stays counts half.
            if gap > 0.0 {
                low = (a, gap);
                if side == 1 {
                    high.1 *= 0.5;
                }
                side = 1;
            } else {
                high = (a, gap);
                if side == -1 {
                    low.1 *= 0.5;
                }
                side = -1;
            }
        }
        None
    }

    /// Moves the state to the end of the solved interval: momenta without the end's contact impulses.
    fn accept(&mut self, h: f64) {
        let Self { engine, ws, mem, state, u, .. } = self;
        Interval { ws, mem, state, map: engine.map }.finish();
        let first = ws.accepted == 0;
        // Impulses and forces at the start node.
        let before = state.interval;
        for k in 0..mem.items.len() {
            let probe = mem.probes[k];
            let gam = if probe.active { probe.gam } else { [0.0; 3] };
            let world = mem.in_world(k, &probe.frame, gam);
            if first {
                let end = mem.in_world(k, &probe.frame, state.contact.end[k]);
                mem.start_impulse[k] = world;
                mem.force[k] = std::array::from_fn(|m| (end[m] + world[m]) / (0.5 * (before + h)));
                mem.gap[k] = probe.start.gap;
                if let Some(i) = mem.items[k].links[0] {
                    let at = state.poses[i].x + state.side.rot[i] * probe.start.core[0] + probe.start.arm[0];
                    mem.point[k] = at.0;
                }
            }
            state.contact.start[k] = gam;
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

    /// The node problem at the end pose; returns how it ended and whether a contact is new. Rows in `prescribed` keep their direction.
    fn settle(&mut self, _h: f64, prescribed: &[usize]) -> (Solved, bool) {
        let Self { ws, mem, state, .. } = self;
        closure_rows(&ws.layout, &state.side, &state.poses, &mut ws.step.rows);
        let closed_gap = mem.options.closed_gap;
        let mut any_new = false;
        for k in 0..mem.items.len() {
            let item = mem.items[k];
            let mut now = touch(&item, &state.side, &state.poses, &state.q);
            let probe = &mut mem.probes[k];
            if probe.muted {
                now.gap = f64::INFINITY;
            }
            probe.end = now;
            mem.end_gap[k] = now.gap;
            let closed = item.is_friction() || now.gap <= closed_gap / item.arm;
            any_new |= closed && probe.was_open;
            probe.active = closed;
            if closed && let Kind::Pair { .. } = item.kind {
                probe.frame = frame_of(now.normal);
                let mut rows = [[[0.0; 6]; 3]; 2];
                node_rows(&item, &now, &probe.frame, &state.side, &mut rows);
                probe.force_rows = rows;
            }
            if !prescribed.contains(&k) {
                probe.law = Law::new(item.mu, item.rho);
                probe.sign = None;
            }
            probe.gam = if closed { state.contact.end[k] } else { [0.0; 3] };
        }
        // The interval's velocities as the first guess.
        let n = ws.layout.links.len();
        let range = state.history.range(0, 0, n);
        for i in 0..n {
            let w = &state.history.w[range.clone()][i];
            let ang = state.side.rot[i] * angular(w);
            mem.node.w[i] = six(ang, linear(w) + ang.cross(state.side.arm[i]));
        }
        for v in 0..mem.node.rate.len() {
            mem.node.rate[v] = ws.trial.dy[v] / ws.step.h;
        }
        mem.node.scale = impulse_scale(&state.momentum, mem, ws.layout.max_mass);
        for i in 0..n {
            mem.node.momentum[i] = super::super::forces::about_point(&state.momentum[i], state.side.arm[i]);
        }
        mem.node.before.copy_from_slice(&state.contact.w);
        let mut closed: u64 = 0;
        for end in &mut mem.end_impulse {
            *end = [0.0; 3];
        }
        let solved = if any_new {
            for probe in mem.probes.iter_mut() {
                if probe.active && probe.was_open {
                    probe.active = false;
                    closed += 1;
                }
            }
            let stage = self.node();
            if !stage.converged {
                return (stage, any_new);
            }
            self.gather();
            self.impact()
        } else {
            self.node()
        };
        let _ = closed;
        if !solved.converged {
            return (solved, any_new);
        }
        self.gather();
        self.take_node();
        (solved, any_new)
    }

    /// Solves the node problem with the active contacts from the guess at hand.
    fn node(&mut self) -> Solved {
        let Self { ws, mem, state, .. } = self;
        mem.smoothing = 0.0;
        mem.place(&ws.layout);
        if !mem.any_active() {
            let mut node = Node { ws, mem, state, whole: true, free: true };
            node.project();
            return Solved { converged: true, ..Solved::default() };
        }
        let mut solved = self.node_once();
        if solved.converged && self.soften() {
            solved = self.node_once();
            self.mem.probes.iter_mut().for_each(|p| p.law.compliance = 0.0);
            if solved.converged {
                solved = self.node_once();
            }
        }
        solved
    }

    fn node_once(&mut self) -> Solved {
        let Self { ws, mem, state, .. } = self;
        let mut node = Node { ws, mem, state, whole: false, free: false };
        if !node.first() {
            return Solved::default();
        }
        let mut solved = plain_newton(&mut node, 7);
        if !solved.converged {
            let more = solve(&mut node);
            solved = Solved { iterations: solved.iterations + more.iterations, path: true, ..more };
        }
        solved.iterations += 1;
        self.report.iterations += solved.iterations;
        self.mem.counts.node_iterations += u64::from(solved.iterations);
        self.mem.counts.paths += u64::from(solved.path);
        self.report.retries += u32::from(solved.path);
        solved
    }

    /// The second stage at an impact: all closed contacts, no friction of joints, restitution. (9.17)
    fn impact(&mut self) -> Solved {
        let options = self.mem.options;
        let located = options.impacts == Impacts::Located;
        let Self { ws, mem, state, .. } = self;
        let n = ws.layout.links.len();
        // Energy that must not grow, and the velocities that approach is taken from.
        let reference = {
            let node = Node { ws, mem, state, whole: false, free: false };
            if located {
                node.kinetic(&node.mem.node.w, &node.mem.node.rate)
            } else {
                node.kinetic(&node.mem.node.before, &node.state.contact.rate)
            }
        };
        let mut bounces = false;
        for k in 0..mem.items.len() {
            let item = mem.items[k];
            let closed = !item.is_friction() && mem.end_gap[k] <= options.closed_gap / item.arm;
            let probe = &mut mem.probes[k];
            let new = closed && probe.was_open;
            probe.active = closed;
            probe.law.shift = 0.0;
            probe.law.direction = None;
            if new {
                probe.gam = [0.0; 3];
                if item.restitution > 0.0 {
                    let w = if located { &mem.node.w } else { &mem.node.before };
                    let rate = if located { &mem.node.rate } else { &state.contact.rate };
                    let approach = match item.kind {
                        Kind::Limit { at, sign, .. } => sign * rate[at.v],
                        _ => probe.rates(&item, w)[0],
                    };
                    if approach < -options.rest_speed / item.arm {
                        probe.law.shift = item.restitution * approach;
                        bounces = true;
                    }
                }
            } else {
                probe.gam = [0.0; 3];
            }
        }
        for i in 0..n {
            let (ang, lin) = (angular(&mem.node.w[i]), linear(&mem.node.w[i]));
            let arm = state.side.arm[i];
            let p = super::super::momentum_of(
                &ws.layout.links[i],
                &state.side.rot[i],
                &six(ang, lin - ang.cross(arm)),
            );
            state.momentum[i] = p;
        }
        let (w, rate) = (std::mem::take(&mut mem.node.w), std::mem::take(&mut mem.node.rate));
        add_armature(ws, state, &rate, &w);
        for i in 0..n {
            mem.node.momentum[i] = super::super::forces::about_point(&state.momentum[i], state.side.arm[i]);
        }
        (mem.node.w, mem.node.rate) = (w, rate);
        let mut solved = self.node();
        if !bounces {
            return solved;
        }
        for _ in 0..13 {
            if !solved.converged {
                return solved;
            }
            let Self { ws, mem, state, .. } = self;
            let node = Node { ws, mem, state, whole: false, free: false };
            let after = node.kinetic(&node.mem.node.w, &node.mem.node.rate);
            if after <= reference * (1.0 + 1e-12) {
                break;
            }
            self.mem.counts.scaled += 1;
            self.mem.probes.iter_mut().for_each(|p| p.law.shift *= 0.5);
            solved = self.node();
        }
        solved
    }

    /// Adds the impulses of the node problem to those at the end node.
    fn gather(&mut self) {
        for (sum, probe) in self.mem.end_impulse.iter_mut().zip(&self.mem.probes) {
            if probe.active {
                sum.iter_mut().zip(&probe.gam).for_each(|(s, g)| *s += g);
            }
        }
    }

    /// Node velocities and their momenta into the state.
    fn take_node(&mut self) {
        let Self { ws, mem, state, .. } = self;
        state.contact.w.copy_from_slice(&mem.node.w);
        state.contact.rate.copy_from_slice(&mem.node.rate);
        state.contact.wrench.copy_from_slice(&mem.node.wrench);
        state.contact.lam.copy_from_slice(&mem.node.lam);
        state.contact.end.copy_from_slice(&mem.end_impulse);
        impulses_on_links(ws, mem, state, false);
        for k in 0..mem.items.len() {
            let frame = mem.probes[k].frame;
            mem.end_impulse[k] = mem.in_world(k, &frame, mem.end_impulse[k]);
        }
        carry_momentum(&ws.layout, &state.side, &mem.node.w, &mut state.momentum);
        add_armature(ws, state, &mem.node.rate, &mem.node.w);
    }

    /// At the very first node: velocities as given, but for contacts that approach.
    fn first_node(&mut self) -> Solved {
        let Self { ws, mem, state, .. } = self;
        closure_rows(&ws.layout, &state.side, &state.poses, &mut ws.step.rows);
        let n = ws.layout.links.len();
        for i in 0..n {
            mem.node.momentum[i] = super::super::forces::about_point(&state.momentum[i], state.side.arm[i]);
        }
        mem.node.scale = impulse_scale(&state.momentum, mem, ws.layout.max_mass);
        mem.probes.iter_mut().for_each(|p| p.active = false);
        mem.place(&ws.layout);
        Node { ws, mem, state, whole: true, free: true }.project();
        state.contact.w.copy_from_slice(&mem.node.w);
        state.contact.rate.copy_from_slice(&mem.node.rate);
        let closed_gap = mem.options.closed_gap;
        let mut approaches = false;
        for (k, item) in mem.items.iter().enumerate() {
            let mut now = touch(item, &state.side, &state.poses, &state.q);
            let probe = &mut mem.probes[k];
            if now.gap < -INSIDE * mem.options.length && item.is_between_links() && one_tree(ws, item) {
                (state.contact.muted[k], now.gap) = (1.0, f64::INFINITY);
                mem.counts.left_out += 1;
            } else if now.gap < -INSIDE * mem.options.length {
                mem.counts.inside += 1;
            }
            probe.muted = state.contact.muted[k] != 0.0;
            mem.end_gap[k] = now.gap;
            probe.start_at(item, now, &state.side);
            probe.law = Law::new(item.mu, item.rho);
            (probe.sign, probe.gam) = (None, [0.0; 3]);
            probe.active = !item.is_friction() && now.gap <= closed_gap / item.arm;
            if probe.active {
                let rate = match item.kind {
                    Kind::Limit { at, sign, .. } => sign * state.contact.rate[at.v],
                    _ => probe.rates(item, &state.contact.w)[0],
                };
                approaches |= rate * item.arm < -1e-12 * mem.options.speed;
            }
        }
        if !approaches {
            return Solved { converged: true, ..Solved::default() };
        }
        let solved = self.node();
        if solved.converged {
            let Self { ws, mem, state, .. } = self;
            state.contact.w.copy_from_slice(&mem.node.w);
            state.contact.rate.copy_from_slice(&mem.node.rate);
            carry_momentum(&ws.layout, &state.side, &mem.node.w, &mut state.momentum);
            add_armature(ws, state, &mem.node.rate, &mem.node.w);
            let range = state.history.range(0, 0, ws.layout.links.len());
            for (i, target) in state.history.w[range].iter_mut().enumerate() {
                let (ang, lin) = (angular(&mem.node.w[i]), linear(&mem.node.w[i]));
                *target = six(state.side.rot[i].tr_mul(ang), lin - ang.cross(state.side.arm[i]));
            }
        }
        solved
    }

    /// Where in the part just taken a sliding row turns round: the fraction to cut it at, none if none does. (9.18)
    fn turn(&mut self, h: f64) -> Option<f64> {
        let slides = self.mem.options.slide_speed;
        let mut turning = Vec::new();
        // Rates at both ends; the end's rows are in place.
        let ends: Vec<[f64; 3]> = self.row_rates(&self.state.contact.w, &self.state.contact.rate);
        self.back();
        self.open(h, self.mem.options.impacts == Impacts::Located);
        let starts: Vec<[f64; 3]> = self.row_rates(&self.state.contact.w, &self.state.contact.rate);
        for (k, item) in self.mem.items.iter().enumerate() {
            let (from, to, probe) = (starts[k], ends[k], &self.mem.probes[k]);
            let rubs = item.is_friction() || (item.mu > 0.0 && !probe.was_open);
            let size = elementary::hypot(from[1], from[2]);
            if rubs && size * item.arm > slides {
                let stopped = elementary::hypot(to[1], to[2]) * item.arm <= slides;
                if stopped || from[1] * to[1] + from[2] * to[2] < 0.0 {
                    turning.push(k);
                }
            }
        }
        if turning.is_empty() {
            // The part stands as it was: take it again.
            let located = self.mem.options.impacts == Impacts::Located;
            if self.interval(h, located, &[]).converged {
                self.accept(h);
                self.settle(h, &[]);
            }
            return None;
        }
        for &k in &turning {
            let [_, a, b] = starts[k];
            let size = elementary::hypot(a, b);
            let probe = &mut self.mem.probes[k];
            if self.mem.items[k].is_friction() {
                probe.sign = Some(a.signum());
            } else {
                probe.law.direction = Some([a / size, b / size]);
            }
        }
        let located = self.mem.options.impacts == Impacts::Located;
        let mut fraction = f64::INFINITY;
        if self.interval(h, located, &turning).converged {
            self.accept(h);
            if self.settle(h, &turning).0.converged {
                let trial = self.row_rates(&self.state.contact.w, &self.state.contact.rate);
                for &k in &turning {
                    let [_, a, b] = starts[k];
                    let v0 = elementary::hypot(a, b);
                    let v1 = (trial[k][1] * a + trial[k][2] * b) / v0;
                    if v1 < 0.0 {
                        fraction = fraction.min(v0 / (v0 - v1));
                    }
                }
            }
        }
        if fraction > 1e-9 && fraction < 1.0 - 1e-9 {
            return Some(fraction);
        }
        // Nothing turns after all: the part once more without prescription.
        self.back();
        self.open(h, located);
        if self.interval(h, located, &[]).converged {
            self.accept(h);
            self.settle(h, &[]);
        }
        None
    }

    /// Slip of every row with the rows of the node at hand; that of a coordinate in the second place.
    fn row_rates(&self, w: &[Six], rate: &[f64]) -> Vec<[f64; 3]> {
        let of = |k: usize| match self.mem.items[k].kind {
            Kind::Pair { .. } => self.mem.probes[k].rates(&self.mem.items[k], w),
            Kind::Limit { .. } => [0.0; 3],
            Kind::Friction { at, .. } => [0.0, rate[at.v], 0.0],
        };
        (0..self.mem.items.len()).map(of).collect()
    }
}

/// Impulses of the contacts and limits on the links at the start node or the end node, for output.
fn impulses_on_links(ws: &MaximalWorkspace, mem: &mut ContactMemory, state: &MaximalState, at_start: bool) {
    let out = &mut mem.on_links[usize::from(!at_start)];
    out.fill([0.0; 6]);
    for (k, (item, probe)) in mem.items.iter().zip(&mem.probes).enumerate() {
        let gam = if !at_start {
            mem.end_impulse[k]
        } else if probe.active {
            probe.gam
        } else {
            continue;
        };
        match item.kind {
            Kind::Pair { .. } => {
                for x in 0..2 {
                    if let Some(i) = item.links[x] {
                        let mut impulse = [0.0; 6];
                        probe.add_impulse(x, &gam, 1.0, &mut impulse);
                        let turn = angular(&impulse) + state.side.arm[i].cross(linear(&impulse));
                        for m in 0..3 {
                            out[i][m] += turn[m];
                            out[i][3 + m] += impulse[3 + m];
                        }
                    }
                }
            }
            Kind::Limit { at, .. } | Kind::Friction { at, .. } => {
                let sign = if let Kind::Limit { sign, .. } = item.kind { sign } else { 1.0 };
                let link = &ws.layout.links[at.link];
                let row = coordinate_row(link.joint.kind, &state.side.joints[at.link], at.part);
                add_row(out, &state.side.arm, link.parent, Some(at.link), &row, sign * gam[0]);
            }
        }
    }
    for (i, six) in out.iter_mut().enumerate() {
        let own = state.side.rot[i].tr_mul(angular(six));
        six[..3].copy_from_slice(&own.0);
    }
}
