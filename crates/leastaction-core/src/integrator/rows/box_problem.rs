//! Forces within bounds: which rows hold and which give way.
//!
//! Over the rows Z, find `λ` between its bounds that minimises `½ xᵀ M x − λᵀ target`, `x = M⁻¹ (b + A_Zᵀ λ)`; the gradient is
//! `A x − target`. With accelerations and all forces for `b` this is the dual of Gauss' principle with the friction potential
//! `Σ f |A a|` (7.4), strictly convex in x: there is always one solution. With velocities and momenta it is an impact (7.5).
//!
//! Most of the time little changes: a row that slid stops or turns round, and the others hold as before. Exchanging those on the wrong
//! side, what is new first, solves nearly all in two or three sweeps. Where it goes round in circles, projected Newton descends, and where
//! that is slow a primal-dual interior method ends it, whose system
//! `(A M⁻¹ Aᵀ + S) d = r` is one sweep with `1/S` added to the armatures (7.6).

use super::mechanics::RowMechanics;
use crate::mechanism::Mechanism;

/// Rounds of exchanges before projected Newton takes over.
const EXCHANGES: u32 = 12;
/// Part of the largest acceleration (or velocity) that a held row may have.
const HELD: f64 = 1e-9;
/// Rounds of projected Newton before the interior method takes over.
const ROUNDS: u32 = 12;
/// Rounds of the interior method.
const INNER_ROUNDS: u32 = 60;

/// One problem and its solution; memory for any.
#[derive(Clone, Debug)]
pub(super) struct BoxProblem {
    /// Rows of the problem.
    pub(super) member: Vec<bool>,
    /// Those whose side is not what it was: they change it first.
    pub(super) new: Vec<bool>,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    pub(super) target: Vec<f64>,
    /// Generalised forces or momenta.
    pub(super) b: Vec<f64>,
    /// Whether followers are held to their accelerations (or, if false, to velocities).
    pub(super) accelerations: bool,
    /// Solution by row.
    pub(super) force: Vec<f64>,
    /// Solution by coordinate.
    pub(super) x: Vec<f64>,
    next: Vec<f64>,
    gradient: Vec<f64>,
    next_gradient: Vec<f64>,
    fixed: Vec<bool>,
    wrong: Vec<bool>,
    total: Vec<f64>,
    back: Vec<f64>,
    given: Vec<f64>,
    // Multipliers of the bounds and steps of the interior method.
    pull: [Vec<f64>; 2],
    step: Vec<f64>,
    rest: Vec<f64>,
    correction: [Vec<f64>; 2],
}

impl BoxProblem {
    pub(super) fn new(mechanism: &Mechanism) -> Self {
        let (rows, nv) = (mechanism.rows().len(), mechanism.nv());
        let by_row = || vec![0.0; rows];
        let by_coordinate = || vec![0.0; nv];
        Self {
            member: vec![false; rows],
            new: vec![true; rows],
            low: by_row(),
            high: by_row(),
            target: by_row(),
            b: by_coordinate(),
            accelerations: true,
            force: by_row(),
            x: by_coordinate(),
            next: by_row(),
            gradient: by_row(),
            next_gradient: by_row(),
            fixed: vec![false; rows],
            wrong: vec![false; rows],
            total: by_coordinate(),
            back: by_coordinate(),
            given: by_coordinate(),
            pull: [by_row(), by_row()],
            step: by_row(),
            rest: by_row(),
            correction: [by_row(), by_row()],
        }
    }

    /// True if a row's force is strictly between its bounds.
    pub(super) fn holds(&self, row: usize) -> bool {
        self.member[row] && self.force[row] > self.low[row] && self.force[row] < self.high[row]
    }

    /// Solves it. Does not allocate.
    ///
    /// # Errors
    /// The node at which the mass matrix is singular.
    pub(super) fn solve(&mut self, mechanism: &Mechanism, mechanics: &mut RowMechanics) -> Result<(), usize> {
        self.fixed.fill(false);
        self.force.fill(0.0);
        if self.exchange(mechanism, mechanics)? {
            return Ok(());
        }
        self.fixed.fill(false);
        self.force.fill(0.0);
        self.hold(mechanism, mechanics)?;
        let rows = self.member.len();
        mechanics.free.factor(mechanism, &mechanics.general, |_| 0.0)?;
        // What the rows would do without any force is the size of what is zero.
        self.slide(mechanism, mechanics);
        let scale =
            (0..rows).filter(|k| self.member[*k]).fold(0.0, |m: f64, k| m.max(self.gradient[k].abs()));
        for k in (0..rows).filter(|k| self.member[*k]) {
            self.force[k] = self.next[k].clamp(self.low[k], self.high[k]);
        }
        self.slide(mechanism, mechanics);
        for _ in 0..ROUNDS {
            let mut worst = 0.0f64;
            for k in 0..rows {
                let g = self.gradient[k];
                self.fixed[k] =
                    (self.force[k] >= self.high[k] && g <= 0.0) || (self.force[k] <= self.low[k] && g >= 0.0);
                if self.member[k] && !self.fixed[k] {
                    worst = worst.max(g.abs());
                }
            }
            self.hold(mechanism, mechanics)?;
            if worst <= 1e-9 * scale {
                // What is held is at its target to the last digit: a limit that is left by rounding would be met again at once.
                for k in (0..rows).filter(|k| self.member[*k] && !self.fixed[*k]) {
                    self.force[k] = self.next[k].clamp(self.low[k], self.high[k]);
                }
                return Ok(());
            }
            if !self.descend(mechanism, mechanics) {
                break;
            }
        }
        self.interior(mechanism, mechanics, scale)
    }

    /// Holds what is not at a bound and exchanges what is then on the wrong side: held rows beyond a bound are put there, rows at a bound
    /// that would move against their force are held. False if that does not end.
    ///
    /// What is new goes first, all of it; of the others the one nearest to the root alone: where it gives way, the load on those behind
    /// it goes. In loops a row at a dead point cannot be held by any force; beyond that rows depend on each other there, and exchanges
    /// say nothing of how they share what they hold.
    fn exchange(&mut self, mechanism: &Mechanism, mechanics: &mut RowMechanics) -> Result<bool, usize> {
        let loops = mechanics.general.has_loops();
        for _ in 0..EXCHANGES {
            self.hold(mechanism, mechanics)?;
            self.measure(mechanism, mechanics);
            let size = self.x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let most = if loops { HELD * size } else { f64::INFINITY };
            let (mut any, mut any_new, mut any_dead) = (None, false, false);
            for k in 0..self.member.len() {
                self.wrong[k] = self.member[k] && (self.is_dead(k, most) || self.is_wrong(k));
                any = any.or(self.wrong[k].then_some(k));
                any_new |= self.wrong[k] && self.new[k];
                any_dead |= self.member[k] && self.is_dead(k, most);
            }
            let Some(first) = any else {
                self.force.copy_from_slice(&self.next);
                return Ok(true);
            };
            if loops && !any_dead {
                return Ok(false);
            }
            for k in (0..self.member.len()).filter(|k| self.wrong[*k]) {
                let (dead, falls) = (self.is_dead(k, most), self.gradient[k] < 0.0);
                let its_turn = match (any_dead, any_new) {
                    (true, _) => dead,
                    (false, true) => self.new[k],
                    (false, false) => k == first,
                };
                if its_turn {
                    self.fixed[k] = !self.fixed[k];
                    let up = if dead { falls } else { self.next[k] >= self.high[k] };
                    self.force[k] = if up { self.high[k] } else { self.low[k] };
                }
            }
        }
        Ok(false)
    }

    /// True if a row held by friction moves all the same.
    fn is_dead(&self, k: usize, most: f64) -> bool {
        let bounded = self.low[k].is_finite() && self.high[k].is_finite();
        bounded && !self.fixed[k] && self.gradient[k].abs() > most
    }

    /// True if a held row is beyond its bounds, or one at a bound would move against its force.
    fn is_wrong(&self, k: usize) -> bool {
        let (low, high) = (self.low[k], self.high[k]);
        if !self.fixed[k] {
            return !(self.next[k] > low && self.next[k] < high);
        }
        low < high && if self.force[k] >= high { self.gradient[k] > 0.0 } else { self.gradient[k] < 0.0 }
    }

    /// Takes as much of the step to `next` as does not raise the objective; false if nothing does.
    fn descend(&mut self, mechanism: &Mechanism, mechanics: &mut RowMechanics) -> bool {
        self.step.copy_from_slice(&self.force);
        self.rest.copy_from_slice(&self.next);
        let before = std::mem::take(&mut self.gradient);
        self.gradient = std::mem::take(&mut self.next_gradient);
        let mut t = 1.0;
        let mut done = false;
        while t > 1e-4 {
            for k in (0..self.member.len()).filter(|k| self.member[*k]) {
                let to = self.step[k] + t * (self.rest[k] - self.step[k]);
                self.force[k] = to.clamp(self.low[k], self.high[k]);
            }
            self.slide(mechanism, mechanics);
            // Exact for a quadratic.
            let change: f64 = (0..self.member.len())
                .filter(|k| self.member[*k])
                .map(|k| 0.5 * (before[k] + self.gradient[k]) * (self.force[k] - self.step[k]))
                .sum();
            if change <= 0.0 {
                done = true;
                break;
            }
            t *= 0.5;
        }
        if !done {
            self.force.copy_from_slice(&self.step);
            self.gradient.copy_from_slice(&before);
        }
        self.next_gradient = before;
        done
    }

    /// `x` and the gradient for the forces as they are.
    fn slide(&mut self, mechanism: &Mechanism, mechanics: &mut RowMechanics) {
        self.total.copy_from_slice(&self.b);
        for (k, row) in mechanism.rows().iter().enumerate() {
            if self.member[k] {
                mechanics.general.add_force(k, row, self.force[k], &mut self.total);
            }
        }
        let (general, on) = (&mechanics.general, self.accelerations);
        let drift = |g: usize| if on { general.drift[g] } else { general.rates[g] };
        mechanics.free.solve(mechanism, general, &self.total, drift, &mut self.x);
        self.measure(mechanism, mechanics);
    }

    /// The gradient at `x`.
    fn measure(&mut self, mechanism: &Mechanism, mechanics: &RowMechanics) {
        let (general, on) = (&mechanics.general, self.accelerations);
        for (k, row) in mechanism.rows().iter().enumerate() {
            let rate = |k: usize| {
                let drift = general.of_row[k].filter(|_| on).map_or(0.0, |g| general.drift[g]);
                general.rate(k, row, &self.x) - drift
            };
            self.gradient[k] = if self.member[k] { rate(k) - self.target[k] } else { 0.0 };
        }
    }

    /// `x` and the forces in `next` with the rows that are not fixed held at their targets.
    fn hold(&mut self, mechanism: &Mechanism, mechanics: &mut RowMechanics) -> Result<(), usize> {
        let rows = mechanism.rows();
        self.total.copy_from_slice(&self.b);
        self.given.fill(0.0);
        let mut moving = false;
        for (k, row) in rows.iter().enumerate().filter(|(k, _)| self.member[*k]) {
            if self.fixed[k] {
                mechanics.general.add_force(k, row, self.force[k], &mut self.total);
            } else if let (Some(at), true) = (mechanics.general.swept(k, row), self.target[k] != 0.0) {
                self.given[at.v] = self.target[k];
                moving = true;
            }
        }
        let (member, fixed, target, given) = (&self.member, &self.fixed, &self.target, &self.given);
        let held = |k: usize| if member[k] && !fixed[k] { f64::INFINITY } else { 0.0 };
        let RowMechanics { held: factored, general, .. } = mechanics;
        factored.factor(mechanism, general, held)?;
        if moving {
            factored.mass.times(mechanism, given, &mut self.back);
            for (back, total) in self.back.iter_mut().zip(&self.total) {
                *back = total - *back;
            }
        } else {
            self.back.copy_from_slice(&self.total);
        }
        let on = self.accelerations;
        let aim = |g: usize| {
            let own = if on { general.drift[g] } else { general.rates[g] };
            own + general.row_target(g, target) - general.dot(g, given)
        };
        factored.solve(mechanism, general, &self.back, aim, &mut self.x);
        for (x, given) in self.x.iter_mut().zip(&self.given) {
            *x += given;
        }
        factored.forces(mechanism, general, &self.total, &self.x, &mut self.back, &mut self.next);
        for k in 0..rows.len() {
            if !self.member[k] {
                self.next[k] = 0.0;
            } else if self.fixed[k] {
                self.next[k] = self.force[k];
            }
        }
        Ok(())
    }

    /// The interior method, and one solve with the rows it leaves between their bounds held.
    fn interior(
        &mut self,
        mechanism: &Mechanism,
        mechanics: &mut RowMechanics,
        scale: f64,
    ) -> Result<(), usize> {
        let rows = self.member.len();
        let inside = |x: f64| x.is_finite();
        let span = |low: f64, high: f64, size: f64| {
            if inside(low) && inside(high) { high - low } else { size }
        };
        let size = self.force.iter().zip(&self.low).zip(&self.high).fold(0.0, |m: f64, ((f, l), h)| {
            let finite = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
            m.max(f.abs()).max(finite(*l)).max(finite(*h))
        });
        let size = if size > 0.0 { size } else { 1.0 };
        let scale = if scale > 0.0 { scale } else { 1.0 };
        for k in (0..rows).filter(|k| self.member[*k]) {
            // What bears anything gets bounds that it will not reach.
            if !inside(self.low[k]) && !inside(self.high[k]) {
                (self.low[k], self.high[k]) = (-1e9 * size, 1e9 * size);
            }
            let (low, high) = (self.low[k], self.high[k]);
            let room = span(low, high, size);
            self.force[k] = match (inside(low), inside(high)) {
                (true, true) => self.force[k].clamp(low + 0.1 * room, high - 0.1 * room),
                (true, false) => self.force[k].max(low + 0.1 * room),
                (false, true) => self.force[k].min(high - 0.1 * room),
                (false, false) => self.force[k],
            };
            self.pull[0][k] = if inside(low) { scale } else { 0.0 };
            self.pull[1][k] = if inside(high) { scale } else { 0.0 };
        }
        let mut first = f64::NAN;
        for _ in 0..INNER_ROUNDS {
            self.slide(mechanism, mechanics);
            let (mut mu, mut count) = (0.0, 0.0);
            for k in (0..rows).filter(|k| self.member[*k]) {
                for (side, slack) in self.slacks(k).into_iter().enumerate() {
                    if slack.is_finite() {
                        mu += slack * self.pull[side][k];
                        count += 1.0;
                    }
                }
            }
            mu /= f64::max(count, 1.0);
            if first.is_nan() {
                first = mu;
            }
            if mu <= 1e-13 * first {
                break;
            }
            self.correction.iter_mut().for_each(|c| c.fill(0.0));
            self.newton(mechanism, mechanics, 0.0)?;
            let reach = self.reach(1.0, 0.0);
            let (mut after, mut many) = (0.0, 0.0);
            for k in (0..rows).filter(|k| self.member[*k]) {
                let (d, slacks) = (self.step[k], self.slacks(k));
                for side in 0..2 {
                    if slacks[side].is_finite() {
                        let ds = if side == 0 { d } else { -d };
                        let dz = self.pull_step(k, side, 0.0);
                        after += (slacks[side] + reach * ds) * (self.pull[side][k] + reach * dz);
                        many += 1.0;
                        self.correction[side][k] = ds * dz;
                    }
                }
            }
            let sigma = ((after / f64::max(many, 1.0)) / mu).powi(3).clamp(0.0, 1.0);
            self.newton(mechanism, mechanics, sigma * mu)?;
            let reach = self.reach(0.995, sigma * mu);
            for k in (0..rows).filter(|k| self.member[*k]) {
                let dz = [self.pull_step(k, 0, sigma * mu), self.pull_step(k, 1, sigma * mu)];
                let slacks = self.slacks(k);
                for side in 0..2 {
                    if slacks[side].is_finite() {
                        self.pull[side][k] += reach * dz[side];
                    }
                }
                self.force[k] += reach * self.step[k];
            }
        }
        for k in (0..rows).filter(|k| self.member[*k]) {
            let room = span(self.low[k], self.high[k], size);
            let slacks = self.slacks(k);
            self.fixed[k] = false;
            for side in 0..2 {
                if slacks[side] / room < self.pull[side][k] / scale {
                    self.fixed[k] = true;
                    self.force[k] = if side == 0 { self.low[k] } else { self.high[k] };
                }
            }
        }
        self.hold(mechanism, mechanics)?;
        for k in (0..rows).filter(|k| self.member[*k]) {
            self.force[k] = self.next[k].clamp(self.low[k], self.high[k]);
        }
        Ok(())
    }

    fn slacks(&self, k: usize) -> [f64; 2] {
        [self.force[k] - self.low[k], self.high[k] - self.force[k]]
    }

    /// Change of a bound's multiplier that belongs to the step.
    fn pull_step(&self, k: usize, side: usize, mu: f64) -> f64 {
        let (s, z) = (self.slacks(k)[side], self.pull[side][k]);
        let d = if side == 0 { self.step[k] } else { -self.step[k] };
        (mu - self.correction[side][k]) / s - z - z / s * d
    }

    /// The largest part of the step that leaves slacks and multipliers positive, times `margin`, at most one.
    fn reach(&self, margin: f64, mu: f64) -> f64 {
        let mut reach = f64::INFINITY;
        for k in (0..self.member.len()).filter(|k| self.member[*k]) {
            for (side, slack) in self.slacks(k).into_iter().enumerate() {
                if !slack.is_finite() {
                    continue;
                }
                let ds = if side == 0 { self.step[k] } else { -self.step[k] };
                let dz = self.pull_step(k, side, mu);
                if ds < 0.0 {
                    reach = reach.min(-slack / ds);
                }
                if dz < 0.0 {
                    reach = reach.min(-self.pull[side][k] / dz);
                }
            }
        }
        (margin * reach).min(1.0)
    }

    /// The Newton step of the interior method into `step` (7.6).
    fn newton(&mut self, mechanism: &Mechanism, mechanics: &mut RowMechanics, mu: f64) -> Result<(), usize> {
        let rows = mechanism.rows();
        self.total.fill(0.0);
        for k in (0..rows.len()).filter(|k| self.member[*k]) {
            let slacks = self.slacks(k);
            // The stiffness S of the bounds, in `next`, and the right-hand side in `rest`.
            let (mut stiff, mut rest) = (0.0, -self.gradient[k]);
            for side in 0..2 {
                if slacks[side].is_finite() {
                    stiff += self.pull[side][k] / slacks[side];
                    let inward = if side == 0 { 1.0 } else { -1.0 };
                    // The multipliers in the residual and in the elimination cancel.
                    rest += inward * (mu - self.correction[side][k]) / slacks[side];
                }
            }
            self.next[k] = stiff;
            self.rest[k] = rest;
            if let Some(at) = mechanics.general.swept(k, &rows[k]) {
                self.total[at.v] += rest / stiff;
            }
        }
        let (member, next, rest) = (&self.member, &self.next, &self.rest);
        let RowMechanics { held, general, .. } = mechanics;
        held.factor(mechanism, general, |k| if member[k] { 1.0 / next[k] } else { 0.0 })?;
        held.solve(mechanism, general, &self.total, |g| general.row_target(g, rest), &mut self.back);
        for (k, row) in rows.iter().enumerate().filter(|(k, _)| member[*k]) {
            self.step[k] = match general.swept(k, row) {
                Some(at) => (rest[k] - self.back[at.v]) / next[k],
                None => held.multiplier(general, k),
            };
        }
        Ok(())
    }
}
