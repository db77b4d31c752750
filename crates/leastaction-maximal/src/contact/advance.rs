//! The interval solved: with contacts that turn out to be needed, up to the time of an impact where that is asked for.

use super::super::newton;
use super::interval::Interval;
use super::item::Kind;
use super::solve::{Solved, solve};
use super::step::Driver;

/// How often contacts may turn out to be missing in one interval.
const MOST_ROUNDS: u32 = 30;

impl Driver<'_> {
    /// Solves the interval of length `h` from the opened node. Rows in `prescribed` keep their direction.
    pub(super) fn interval(&mut self, h: f64, located: bool, prescribed: &[usize]) -> Solved {
        self.begin_interval(h);
        let mut solved = self.solve_with_left_out(h, located);
        for _ in 0..4 {
            if !solved.converged || !self.free_stopping(prescribed) {
                break;
            }
            solved = self.solve_with_left_out(h, located);
        }
        if !solved.converged && self.free_all(prescribed) {
            // Strong friction against the slip of the start may leave no motion at all: the body jams within the step.
            let Self { ws, mem, .. } = self;
            ws.iterate.copy_from(&mem.guess);
            solved = self.solve_with_left_out(h, located);
        }
        let hardest = if solved.converged { self.mem.options.hardest_lift(h) } else { 0.0 };
        if self.forgo_recovery(hardest) {
            // What starts a little inside and is wedged, or held there, cannot leave: it stays as deep as it is.
            let Self { ws, mem, .. } = self;
            ws.iterate.copy_from(&mem.guess);
            solved = self.solve_with_left_out(h, located);
            if solved.converged {
                self.remember_wedged();
            }
        }
        if solved.converged && self.soften() {
            solved = self.solve_interval();
            self.mem.harden();
            if solved.converged {
                solved = self.solve_with_left_out(h, located);
            }
        }
        solved
    }

    /// Momenta, guess and bounds of an interval of length `h`.
    pub(super) fn begin_interval(&mut self, h: f64) {
        let Self { engine, ws, mem, state, u, .. } = self;
        ws.step.prepare(&ws.layout, state, h, &mut mem.ldu.size);
        engine.take_in(ws, state, u, h);
        newton::guess(&state.history, engine.map, 0, h, false, false, ws);
        mem.guess.copy_from(&ws.iterate);
        for &k in &mem.live {
            let (item, probe) = (&mem.items[k], &mut mem.probes[k]);
            if let Kind::Friction { bound, .. } = item.kind {
                probe.bound = 0.5 * h * bound;
            }
            probe.floor = mem.options.floor(probe.start.gap, h, item.arm);
            if state.contact.is_wedged(k) {
                probe.floor = probe.floor.min(probe.start.gap);
            }
        }
        Interval { ws, mem, state, map: engine.map }.begin();
    }

    /// Contacts that start inside and push harder than this need not leave in this interval; true if there is one.
    fn forgo_recovery(&mut self, hardest: f64) -> bool {
        let mem = &mut *self.mem;
        let mut any = false;
        for &k in &mem.live {
            let (item, probe) = (&mem.items[k], &mut mem.probes[k]);
            let leaves = probe.active && probe.start.gap < probe.floor && !item.is_friction();
            if leaves && (hardest == 0.0 || probe.gam[0].abs() > hardest * item.arm) {
                probe.floor = probe.start.gap;
                any = true;
            }
        }
        any
    }

    /// What could not leave is not asked to in the steps that follow, until it is out.
    fn remember_wedged(&mut self) {
        let Self { mem, state, .. } = self;
        for &k in &mem.live {
            let (item, probe) = (&mem.items[k], &mem.probes[k]);
            if probe.active && !item.is_bounded_pair() && probe.start.gap < -mem.options.closed_gap / item.arm
            {
                state.contact.wedge(k);
            }
        }
    }

    /// Solves, and again with contacts that were left out and end inside.
    fn solve_with_left_out(&mut self, h: f64, located: bool) -> Solved {
        let mut solved = self.solve_interval();
        for _ in 0..MOST_ROUNDS {
            if !solved.converged || located {
                return solved;
            }
            match self.add_left_out(h) {
                Some(true) => solved = self.solve_interval(),
                Some(false) => return solved,
                None => break,
            }
        }
        Solved { converged: false, ..solved }
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

    /// The length at which the first open contact touches, its interval solved; none if a solve on the way failed.
    pub(super) fn locate(&mut self, h: f64) -> Option<f64> {
        let tolerance = self.mem.options.located_gap;
        let mut high = (1.0, self.lowest_open());
        // As far above as it ends below: the first guess is the middle.
        let mut low = (0.0, -high.1);
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
}
