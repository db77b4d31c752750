//! The first event of a part: a bracket, interpolation through all that was tried, and a trial at every step.

use super::driver::{RowDriver, Trouble};
use super::events::{DOWN, KINDS, LOWER, Moment, RowEvent, STOP, UP, UPPER};
use super::{Parts, RowStates};
use crate::integrator::StepReport;
use crate::mechanism::Mechanism;

/// Where the trial before was as near to an event as this, of what rates are rounded to, what is left at one that interpolation through all of
/// them gave is rounding: more trials would go to and fro in it.
const ROUNDED: f64 = 1e2;
/// Trials of a search.
const MOST_TRIALS: u32 = 60;

impl RowDriver {
    /// Finds the first event of the part whose trial is violated; the trial is then the one at that time, and the rows of the
    /// event are marked. The answer is the time, zero if it happens at once.
    pub(super) fn search(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &RowStates,
        u: &[f64],
        report: &mut StepReport,
    ) -> Result<f64, Trouble> {
        let rows = mechanism.rows();
        self.now.weigh(rows, &states.list, &self.mechanics.bound, &self.scales);
        self.trial.weigh(rows, &states.list, &self.mechanics.bound, &self.scales);
        // Forces are looked at where one is beyond its bound at the end; who lets go at another event is decided there.
        let forces = (0..self.trial.g.len())
            .any(|i| Moment::is_force(i) && self.is_violated(mechanism, &self.trial, i));
        // A function that is zero at the start by construction says nothing there.
        let unclear = |driver: &Self, whole: &Moment| {
            (0..whole.g.len()).any(|i| {
                driver.is_violated(mechanism, whole, i)
                    && driver.now.g[i] <= driver.tolerance(mechanism, &driver.now, i)
            })
        };
        // Slopes at the start cost as much as half a trial; where positions inside tell as much they are not asked for.
        if forces || unclear(self, &self.trial) {
            self.respond(mechanism, states, u, false)?;
            self.now.weigh(rows, &states.list, &self.mechanics.bound, &self.scales);
        }
        let inside = |k: usize| (parts.inner_nodes() > 0).then(|| parts.inner_value(0, &rows[k]));
        self.tried.begin(&self.now, &self.trial, inside);
        std::mem::swap(&mut self.high, &mut self.trial);
        self.low.clone_from_moment(&self.now);
        // There the bracket begins a little later.
        let mut begin = 1e-3 * self.high.t;
        let mut rounds = 0;
        while unclear(self, &self.high) {
            self.try_at(mechanism, parts, states, u, begin, forces, report)?;
            if !(0..self.trial.g.len()).any(|i| self.is_violated(mechanism, &self.trial, i)) {
                std::mem::swap(&mut self.low, &mut self.trial);
                break;
            }
            let at_once = |driver: &Self, i: usize| {
                driver.is_violated(mechanism, &driver.trial, i)
                    && driver.now.g[i] <= driver.tolerance(mechanism, &driver.now, i)
                    && (driver.now.slope[i] <= 0.0 || rounds >= 5)
            };
            if (0..self.trial.g.len()).any(|i| at_once(self, i)) {
                self.mark_none();
                for i in 0..self.trial.g.len() {
                    if at_once(self, i) {
                        self.mark(i);
                    }
                }
                return Ok(0.0);
            }
            std::mem::swap(&mut self.high, &mut self.trial);
            begin *= 1e-2;
            rounds += 1;
        }
        self.narrow(mechanism, parts, states, u, forces, report)
    }

    /// Narrows the bracket to an event.
    fn narrow(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &RowStates,
        u: &[f64],
        forces: bool,
        report: &mut StepReport,
    ) -> Result<f64, Trouble> {
        let (mut width, mut worst, mut since) = (self.high.t - self.low.t, f64::INFINITY, 0);
        // In loops the engine has a way of its own for steps that are not solved.
        let loops = self.mechanics.general.has_loops();
        let most = if loops { MOST_TRIALS - 1 } else { MOST_TRIALS };
        for trial in 0..=most {
            let (from, to) = (self.low.t, self.high.t);
            since += 1;
            let mut t = if since > 4 {
                let slow = to - from > 0.3 * width;
                (width, since) = (to - from, 0);
                if slow { 0.5 * (from + to) } else { self.first_root(mechanism) }
            } else {
                self.first_root(mechanism)
            };
            if !(t > from && t < to) {
                t = 0.5 * (from + to);
            }
            if t <= from || t >= to || trial == MOST_TRIALS {
                // No number lies between, or none was found: the upper end is the event.
                t = to;
            }
            match self.try_at(mechanism, parts, states, u, t, forces, report) {
                // What can't be solved between the ends of a narrow bracket, or at its upper end once more, is at its lower end.
                Err(Trouble::Step(_))
                    if !loops && from > 0.0 && (t >= to || to - from < 1e-6 * self.scales.h) =>
                {
                    self.try_at(mechanism, parts, states, u, from, forces, report)?;
                    break;
                }
                outcome => outcome?,
            }
            if t >= to {
                break;
            }
            // Sizes are relative to what functions of their kind are rounded to: velocities of long chains have a floor far above
            // that of positions.
            let (mut beyond, mut all_small, mut size) = (false, true, 0.0f64);
            let mut near = false;
            for i in 0..self.trial.g.len() {
                let g = self.trial.g[i];
                let tolerance = self.tolerance(mechanism, &self.trial, i);
                if g < 0.0 {
                    beyond = true;
                    all_small &= -g <= tolerance;
                    size = size.max(-g / self.floor(mechanism, i));
                } else if self.is_violated(mechanism, &self.high, i) {
                    near |= g <= tolerance;
                    size = size.max(g / self.floor(mechanism, i));
                }
            }
            let floor = size < 1.0 && size >= worst && beyond;
            let rounded = worst < ROUNDED && self.is_rounding(mechanism);
            worst = size;
            if (beyond && all_small) || (!beyond && near) || floor || rounded {
                break;
            }
            if beyond {
                std::mem::swap(&mut self.high, &mut self.trial);
            } else {
                std::mem::swap(&mut self.low, &mut self.trial);
            }
        }
        self.mark_none();
        let (mut any, mut least) = (false, (f64::INFINITY, 0));
        for i in 0..self.trial.g.len() {
            let g = self.trial.g[i];
            if g == f64::INFINITY {
                continue;
            }
            let tolerance = self.tolerance(mechanism, &self.trial, i);
            let kind = i % KINDS.len();
            let together = kind == STOP && g.abs() < 1e-11 * self.scales.velocity;
            let falls = self.trial.slope[i] <= 0.0 || kind == DOWN || kind == UP;
            if (g <= tolerance || together) && (falls || g < 0.0) {
                self.mark(i);
                any = true;
            }
            if self.is_violated(mechanism, &self.high, i) && g.abs() < least.0 {
                least = (g.abs(), i);
            }
        }
        if !any {
            self.mark(least.1);
        }
        Ok(self.trial.t)
    }

    /// A trial at `t`, with its forces or without. Slopes of rates that no acceleration tells are those since the lower end.
    fn try_at(
        &mut self,
        mechanism: &Mechanism,
        parts: &mut dyn Parts,
        states: &RowStates,
        u: &[f64],
        t: f64,
        forces: bool,
        report: &mut StepReport,
    ) -> Result<(), Trouble> {
        report.trials += 1;
        parts.trial(&states.list, t, report)?;
        parts.read(&states.list, true, &mut self.trial.q, &mut self.trial.v);
        self.trial.measure(mechanism, &states.list, &mut self.mechanics.general);
        (self.trial.t, self.trial.known) = (t, false);
        if forces {
            self.respond(mechanism, states, u, true)?;
        }
        self.trial.weigh(mechanism.rows(), &states.list, &self.mechanics.bound, &self.scales);
        if !forces {
            for stop in (STOP..self.trial.g.len()).step_by(KINDS.len()) {
                let (now, before) = (self.trial.g[stop], self.low.g[stop]);
                self.trial.slope[stop] = (now - before) / (t - self.low.t);
            }
        }
        self.tried.see(&self.trial);
        Ok(())
    }

    /// True if a rate of those sought is as near to zero at the trial as what counts as violated, and nothing is beyond but such rates.
    fn is_rounding(&self, mechanism: &Mechanism) -> bool {
        let mut any = false;
        for (i, g) in self.trial.g.iter().enumerate() {
            if !(*g < 0.0 || self.is_violated(mechanism, &self.high, i)) {
                continue;
            }
            let (k, kind) = (i / KINDS.len(), i % KINDS.len());
            let within =
                g.abs() <= 0.5 * self.scales.threshold(kind, &mechanism.rows()[k], self.mechanics.bound[k]);
            if *g < 0.0 && !(kind == STOP && within) {
                return false;
            }
            any |= kind == STOP && within;
        }
        any
    }

    pub(super) fn is_violated(&self, mechanism: &Mechanism, moment: &Moment, i: usize) -> bool {
        let (k, kind) = (i / KINDS.len(), i % KINDS.len());
        let g = moment.g[i];
        g < 0.0 && g < -self.scales.threshold(kind, &mechanism.rows()[k], self.mechanics.bound[k])
    }

    fn tolerance(&self, mechanism: &Mechanism, moment: &Moment, i: usize) -> f64 {
        let (k, kind) = (i / KINDS.len(), i % KINDS.len());
        self.scales.tolerance(kind, &mechanism.rows()[k], self.mechanics.bound[k], moment.slope[i])
    }

    /// Where rounding may keep an event function from becoming smaller.
    fn floor(&self, mechanism: &Mechanism, i: usize) -> f64 {
        let (k, kind) = (i / KINDS.len(), i % KINDS.len());
        let row = &mechanism.rows()[k];
        match kind {
            // What holds in loops is as good as they are closed, which is not known here.
            _ if self.mechanics.general.has_loops() => 1e-9 * self.scales.velocity,
            STOP => 1e-9 * self.scales.velocity,
            DOWN | UP => 1e-7 * self.scales.torque(self.mechanics.bound[k]),
            _ => 1e-11 * self.scales.position(row).max(1.0),
        }
    }

    /// The smallest root of what interpolates the functions that are violated at the upper end.
    fn first_root(&self, mechanism: &Mechanism) -> f64 {
        let (low, high) = (&self.low, &self.high);
        let mut first = high.t;
        for i in 0..high.g.len() {
            let (a, b) = (low.g[i], high.g[i]);
            if !self.is_violated(mechanism, high, i) && (b.is_nan() || b >= 0.0) {
                continue;
            }
            if !(a.is_finite() && b.is_finite()) {
                continue;
            }
            let root = if a <= 0.0 { low.t } else { self.tried.root(&self.now, i, low.t, high.t) };
            first = first.min(root);
        }
        first
    }

    fn mark_none(&mut self) {
        self.zero.fill(false);
        self.released.fill(0);
        self.hit.fill(0);
    }

    /// Notes an event function's row as part of the event.
    fn mark(&mut self, i: usize) {
        let (k, kind) = (i / KINDS.len(), i % KINDS.len());
        match kind {
            STOP => self.zero[k] = true,
            DOWN => self.released[k] = -1,
            UP => self.released[k] = 1,
            LOWER => self.hit[k] = -1,
            UPPER => self.hit[k] = 1,
            _ => {}
        }
        let time = self.time + self.trial.t;
        self.events.push(RowEvent { time, kind: KINDS[kind], row: Some(k), impulse: 0.0 });
    }
}
