//! [`Solver`]: one step, from guess to accepted curve.

use super::Minimal;
use super::block_factor::{NewtonFactor, SolveMemory};
use super::dense_factor::DenseFactor;
use super::drives::Drives;
use super::event_slope::Taken;
use super::guess::{Continuation, bend, constant_velocity, relength, remember};
use super::held::HeldRows;
use super::lanes::Lanes;
use super::linearize::{LastEnd, LinearizeMemory};
use super::mass_factor::{MassFactor, MassMemory};
use super::options::{MinimalOptions, Policy, Quadrature, Stopping};
use super::residual::{Evaluated, Point, Residual};
use super::scheme::Scheme;
use super::segments::Segments;
use super::servo::input_work;
use super::single;
use super::state::{MinimalState, largest_coordinate, move_position};
use super::stiffness::{is_stiff, largest_stiffness};
use super::tendon::Tendons;
use super::ties::Ties;
use super::wide::Together;
use super::wrench::{AllForces, BodyForces, WrenchDerivatives};
use crate::integrator::rows::{RowDriver, RowState};
use crate::integrator::{Actuation, StepError, StepReport};
use crate::mechanism::Mechanism;

mod mass;
mod newton;
mod velocity;

pub(crate) use velocity::Recalled;

/// `|ξ₂|` beyond which a step turns too far for its chart: `sin ξ₂ = 0.9`. The sine itself would let pass what has
/// turned beyond the chart's pole and back.
pub(crate) const MAX_TILT: f64 = 1.12;
/// Contraction above which a factorisation is given up.
pub(crate) const SLOW: f64 = 0.2;
/// Iterations of the mass-matrix policy before it gives way.
pub(crate) const MASS_ITERATIONS: u32 = 10;
/// Steps for which the mass-matrix policy rests after a failure.
const CAUTION: f64 = 16.0;
/// Halvings of a step that are counted at all.
const MOST_HALVINGS: u32 = 30;
/// Steps from one start that differ by less than this part of their length have one matrix: it contracts as well.
const SIMILAR: f64 = 0.05;
/// Halvings of one Newton step in the line search.
const BACKTRACKS: u32 = 14;

/// Why a solve ended without a solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Failure {
    NotFinite,
    NotConverged { iterations: u32, residual: f64 },
    Singular { segment: usize, what: &'static str },
    TooFar,
}

/// Everything a step of degree `s < N` needs for one mechanism.
#[derive(Debug)]
pub(crate) struct Solver<const N: usize> {
    pub(crate) segments: Segments,
    /// Where the action may be summed, and what decides it: the largest `ω²` of small oscillations.
    quadrature: Quadrature,
    stiffness: f64,
    pub(crate) scheme: Scheme<N>,
    pub(crate) forces: BodyForces,
    pub(crate) derivatives: WrenchDerivatives<N>,
    pub(crate) point: Point<f64, N>,
    pub(crate) residual: Residual<f64, N>,
    pub(crate) factor: NewtonFactor,
    pub(crate) memory: SolveMemory<f64>,
    /// The matrix written out, for small plain trees.
    pub(crate) dense: Option<Box<DenseFactor<N>>>,
    pub(crate) mass: MassFactor,
    lane_memory: MassMemory<Lanes<f64, N>>,
    pub(crate) scalar_memory: MassMemory<f64>,
    continuation: Continuation<N>,
    /// Velocities of the state that was last asked for.
    pub(crate) recalled: Recalled,
    /// What the next step is to begin on.
    pub(crate) hint: Hint,
    /// Scaled residual that the last solve left.
    pub(crate) solved_to: f64,
    /// Velocities of the start and of the end of a part, accelerations at its start.
    pub(crate) foreseen: Foreseen,
    /// True if the Newton matrix of the last solve is at hand.
    newton_at_hand: bool,
    /// Whether the mass matrix factored last is one of a part nearby.
    pub(crate) mass_at_hand: bool,
    /// True while the residual is that of a solved step.
    end_at_hand: bool,
    /// True if every segment turns or slides and none carries the origin of its tree.
    plain: bool,
    pub(crate) scale: Vec<Lanes<f64, N>>,
    /// Right-hand side and direction, by coordinate then node.
    pub(crate) rhs: Vec<f64>,
    pub(crate) direction: Vec<f64>,
    pub(crate) next_direction: Vec<f64>,
    lanes: Vec<Lanes<f64, N>>,
    guess: Vec<Lanes<f64, N>>,
    pub(crate) velocity: Vec<f64>,
    /// Force per input where it is known before the step, and impulse of every input over the last step.
    pub(crate) input_slopes: Vec<f64>,
    pub(crate) actuation: Vec<f64>,
    /// Inputs that are no servo's, and the coordinate each acts on, where it is one.
    plain_inputs: Vec<(usize, Option<usize>)>,
    pub(crate) work: f64,
    /// What steps are made of, while somebody wants to know; and of the last one, if it was more than one smooth part.
    pub(crate) record: Option<Vec<Taken>>,
    pub(crate) taken: Option<Vec<Taken>>,
    /// Impulses of the inputs in the parts of a step that were taken.
    pub(crate) acted: Vec<f64>,
    /// What driven joints take.
    pub(crate) drives: Drives,
    /// Servos that act on several joints; and with them springs and dampers that do.
    pub(crate) tendons: Tendons,
    pub(crate) pulls: Tendons,
    /// `M v` of the end of a part.
    pub(crate) momentum: Vec<f64>,
    pub(crate) backup: Option<MinimalState>,
    pub(crate) linearized: Option<Box<LinearizeMemory>>,
    /// Of the end of the step differentiated last, with which the next one may begin.
    pub(crate) last_end: Option<LastEnd>,
    /// Coordinates that follow others.
    pub(crate) ties: Option<Box<Ties<N>>>,
    multipliers: (Vec<f64>, Vec<Lanes<f64, N>>),
    /// Rows of several coordinates, which limits hold at times.
    pub(crate) held: Option<Box<HeldRows<N>>>,
    /// Coordinates that are held, and whether any is.
    pub(crate) locked: Vec<bool>,
    pub(crate) holds: bool,
    /// Modes of the rows that this follows from.
    pub(crate) modes: Vec<RowState>,
    /// What cuts steps at events, and the states it works with.
    pub(crate) driver: Option<Box<(RowDriver, MinimalState)>>,
    /// Memory for several states side by side, where it was asked for.
    pub(crate) wide: Option<Box<dyn Together<N>>>,
}

/// What a step begins on where more is known than the steps before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Hint {
    #[default]
    None,
    /// The curve in the point, which is one of this length from the same start, and so often that.
    Curve { h: f64, part: f64 },
    /// The accelerations at the start.
    Parabola,
    /// The curve in the point, of a step nearby; of this very step, if it had a scaled residual.
    Given { solved: Option<f64> },
}

impl Hint {
    /// True if the step is so near to the last one that its matrix serves as well.
    fn keeps_matrix(self) -> bool {
        matches!(self, Self::Curve { part, .. } if (part - 1.0).abs() < SIMILAR)
    }
}

/// Rates at the ends of a part, in the engine's coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Foreseen {
    pub(crate) start: Vec<f64>,
    pub(crate) end: Vec<f64>,
    pub(crate) acceleration: Vec<f64>,
}

impl<const N: usize> Solver<N> {
    pub(crate) fn new(mechanism: &Mechanism, integrator: &Minimal) -> Result<Self, StepError> {
        let s = integrator.degree();
        let segments = Segments::new(mechanism)?;
        let forces = BodyForces::new(mechanism, &segments, &integrator.wrenches);
        let quadrature = integrator.options.quadrature;
        let scheme = Scheme::new(s, quadrature);
        let factor = NewtonFactor::new(&segments, &scheme);
        let (n, k) = (segments.n, segments.n * s);
        let plain = segments.balls == 0 && segments.list.iter().all(|segment| !segment.droppable);
        let ties = Ties::new(mechanism, s);
        Ok(Self {
            quadrature,
            stiffness: largest_stiffness(mechanism, &segments),
            dense: if ties.is_some() { None } else { DenseFactor::new(&segments, &scheme, &forces) },
            scheme,
            derivatives: forces.derivatives(&segments),
            point: Point::new(&segments),
            residual: Residual::new(&segments),
            memory: factor.memory(),
            factor,
            mass: MassFactor::new(&segments),
            lane_memory: MassMemory::new(&segments),
            scalar_memory: MassMemory::new(&segments),
            continuation: Continuation::new(),
            recalled: Recalled::new(mechanism, &segments),
            solved_to: f64::NAN,
            hint: Hint::None,
            foreseen: Foreseen { start: vec![0.0; n], end: vec![0.0; n], acceleration: vec![0.0; n] },
            newton_at_hand: false,
            mass_at_hand: false,
            end_at_hand: false,
            plain,
            scale: vec![Lanes::default(); n],
            rhs: vec![0.0; k],
            direction: vec![0.0; k],
            next_direction: vec![0.0; k],
            lanes: vec![Lanes::default(); n],
            guess: vec![Lanes::default(); n],
            velocity: vec![0.0; n],
            input_slopes: vec![1.0; segments.nu],
            actuation: vec![0.0; segments.nu],
            plain_inputs: plain_inputs(&segments),
            work: 0.0,
            record: None,
            taken: None,
            acted: vec![0.0; segments.nu],
            drives: Drives::new(mechanism),
            tendons: Tendons::new(&segments, s),
            pulls: Tendons::with_passive(&segments, s),
            momentum: vec![0.0; n],
            backup: Some(MinimalState::new(mechanism, s, &mechanism.neutral_state())?),
            linearized: None,
            last_end: None,
            multipliers: ties.as_ref().map_or_else(Default::default, |ties| {
                (vec![0.0; ties.count()], vec![Lanes::default(); ties.count()])
            }),
            ties,
            held: HeldRows::new(mechanism, &segments, s),
            locked: vec![false; n],
            holds: false,
            modes: Vec::with_capacity(mechanism.rows().len()),
            driver: match RowDriver::new(mechanism) {
                None => None,
                Some(driver) => {
                    Some(Box::new((*driver, MinimalState::new(mechanism, s, &mechanism.neutral_state())?)))
                }
            },
            wide: None,
            forces,
            segments,
        })
    }

    /// Everything known where the residual was last evaluated.
    pub(crate) fn evaluated(&self) -> Evaluated<'_, N> {
        let Self { segments, scheme, forces, derivatives, point, residual, .. } = self;
        Evaluated { segments, scheme, forces, derivatives, point, residual }
    }

    /// Sums the action where a step of length `h` must: at Gauss points if the mechanism is stiff for it. The choice depends
    /// on nothing else, so that all steps of one length are one symplectic map. Allocates only when the choice changes.
    pub(crate) fn choose_points(&mut self, h: f64) {
        let s = self.scheme.s;
        let gauss = match self.quadrature {
            Quadrature::Automatic => is_stiff(self.stiffness, s, h),
            chosen => chosen == Quadrature::Gauss,
        };
        if gauss == self.scheme.gauss {
            return;
        }
        self.scheme = Scheme::new(s, if gauss { Quadrature::Gauss } else { Quadrature::Nodes });
        self.factor = NewtonFactor::new(&self.segments, &self.scheme);
        self.memory = self.factor.memory();
        if self.ties.is_none() {
            self.dense = DenseFactor::new(&self.segments, &self.scheme, &self.forces);
        }
        self.linearized = None;
        self.spread_locks();
    }

    /// Inputs of the step: forces, where they are known before it, else what the law of the servo is given.
    fn set_inputs(&mut self, mechanism: &Mechanism, u: &[f64]) {
        for (k, (lanes, u)) in self.point.u.iter_mut().zip(u).enumerate() {
            let drive = &mechanism.drives()[k];
            let known = drive.plain || drive.law.is_servo();
            self.input_slopes[k] = if known { 1.0 } else { drive.law.slopes(*u, 0.0, 0.0).by_input };
            *lanes = Lanes::splat(drive.constant(*u));
        }
        self.actuation.fill(0.0);
        self.work = 0.0;
    }

    /// Adds the impulse of every input over the part of the step that was just solved, as it acted: what an effort limit cuts
    /// off is taken from the inputs of that joint in proportion.
    fn add_actuation(&mut self) {
        let Self { segments, residual, scheme, actuation, plain_inputs, work, point, lanes: asked, .. } =
            self;
        if actuation.is_empty() {
            return;
        }
        let points = scheme.points;
        for a in &segments.actuators {
            asked[a.coordinate] = Lanes::default();
        }
        segments.driven.iter().for_each(|c| asked[*c] = Lanes::default());
        for a in &segments.actuators {
            asked[a.coordinate] += point.u[a.input] * a.gear;
        }
        for (servo, forces) in segments.servos.iter().zip(&residual.servos.forces) {
            servo.entries.iter().for_each(|(c, gear)| asked[*c] += *forces * *gear);
        }
        // Mean of a force over the points, with what its joint leaves of it.
        let mean = |forces: &Lanes<f64, N>, coordinate: Option<usize>| -> f64 {
            let left = |g: usize| match coordinate {
                Some(c) if asked[c].0[g] != 0.0 => residual.efforts[c].0[g] / asked[c].0[g],
                _ => 1.0,
            };
            (0..points).map(|g| forces.0[g] * left(g) * residual.weights[g]).sum()
        };
        *work += input_work(segments, scheme, point, residual);
        for (k, only) in plain_inputs.iter() {
            actuation[*k] += mean(&point.u[*k], *only);
        }
        for (servo, forces) in segments.servos.iter().zip(&residual.servos.forces) {
            let only = if let [(c, _)] = servo.entries[..] { Some(c) } else { None };
            actuation[servo.input] += mean(forces, only);
        }
    }

    /// What the inputs did over the last step.
    pub(crate) fn actuation(&self) -> Actuation<'_> {
        Actuation { impulse: &self.actuation, work: self.work }
    }

    /// One step; on failure the state is unchanged. Does not allocate, unless its length makes other points necessary.
    pub(crate) fn step(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.set_inputs(mechanism, u);
        self.choose_points(h);
        if !self.drives.is_empty() {
            return self.driven_step(mechanism, options, state, u, h);
        }
        self.plain_step(mechanism, options, state, u, h)
    }

    /// One step, whatever drives it.
    pub(crate) fn plain_step(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError> {
        if self.driver.is_some() {
            return self.step_in_parts(mechanism, options, state, u, h);
        }
        let mut report = StepReport::default();
        let (time, end) = (state.t, state.t + h);
        let mut outcome = self.attempt(mechanism, options, state, h, &mut report);
        if outcome.is_err() && options.halve && options.max_halvings > 0 {
            let mut backup = self.backup.take().unwrap_or_else(|| state.clone());
            backup.copy_from(state);
            let mut other = Err(Failure::TooFar);
            if state.steps[0] == 0.0 {
                other = self.grown(mechanism, options, state, &backup, h, &mut report);
            }
            if other.is_err() {
                other = self.halved(mechanism, options, state, &backup, h, &mut report);
            }
            self.backup = Some(backup);
            // What the whole step failed of says more than what its smallest part did.
            outcome = other.or(outcome);
        }
        match outcome {
            Ok(()) => {
                state.t = end;
                Ok(report)
            }
            Err(failure) => Err(self.explain(mechanism, options, failure, time, h)),
        }
    }

    /// The whole step from shorter ones with the same start, each twice as long as the one before and guessed from its curve. A first step has
    /// only velocities to be guessed from; forces of a long chain bend it far from them.
    fn grown(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        backup: &MinimalState,
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), Failure> {
        let mut outcome = Err(Failure::TooFar);
        let mut level = 0;
        while outcome.is_err() && level < options.max_halvings.min(MOST_HALVINGS) {
            level += 1;
            outcome = self.again(mechanism, options, state, backup, h / f64::from(1_u32 << level), report);
        }
        while outcome.is_ok() && level > 0 {
            let solved = h / f64::from(1_u32 << level);
            level -= 1;
            outcome = self.recover_velocity(mechanism, backup);
            if outcome.is_ok() {
                self.foreseen.start.copy_from_slice(&self.velocity);
                self.hint = Hint::Curve { h: solved, part: 2.0 };
                let longer = h / f64::from(1_u32 << level);
                outcome = self.again(mechanism, options, state, backup, longer, report);
            }
        }
        if outcome.is_err() {
            state.copy_from(backup);
        }
        outcome
    }

    /// Another step from the start.
    fn again(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        backup: &MinimalState,
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), Failure> {
        report.retries += 1;
        state.copy_from(backup);
        self.actuation.fill(0.0);
        self.work = 0.0;
        self.drives.begin();
        self.attempt(mechanism, options, state, h, report)
    }

    /// The step in 2, 4, 8, … equal parts until all of them converge. Parts that converged before one failed are taken
    /// again: a part on the edge of what can be solved may have got there with an error that spoils the rest.
    fn halved(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        backup: &MinimalState,
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), Failure> {
        let mut outcome = Ok(());
        for level in 1..=options.max_halvings.min(MOST_HALVINGS) {
            report.halvings += 1;
            let parts = 1_u32 << level;
            self.actuation.fill(0.0);
            self.work = 0.0;
            self.drives.begin();
            let part = h / f64::from(parts);
            outcome = (0..parts).try_for_each(|_| self.attempt(mechanism, options, state, part, report));
            if outcome.is_ok() {
                break;
            }
            state.copy_from(backup);
        }
        outcome
    }

    /// Guess, solve, and on success move the state.
    pub(crate) fn attempt(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), Failure> {
        self.stand_at(mechanism, &state.q);
        self.point.p.copy_from_slice(&state.p);
        self.residual.prepare(&self.segments, &self.scheme, h, &self.point.u);
        if let Some(ties) = &mut self.ties {
            ties.begin(self.scheme.s, &self.scheme.c, state.t, h);
        }
        let mut caution = state.caution;
        let hint = std::mem::take(&mut self.hint);
        let extrapolated = match hint {
            Hint::Curve { h, part } => {
                relength(&self.scheme, (part, h), &self.foreseen.start, &mut self.point);
                true
            }
            Hint::Parabola => {
                constant_velocity(&self.scheme, &self.foreseen.start, h, &mut self.point);
                bend(&self.scheme, &self.foreseen.acceleration, h, &mut self.point);
                true
            }
            Hint::Given { .. } => true,
            Hint::None => {
                self.continuation.extrapolate(&self.segments, &self.scheme, state, h, &mut self.point)
            }
        };
        self.newton_at_hand &= hint.keeps_matrix();
        self.mass_at_hand &= hint.keeps_matrix();
        if !extrapolated {
            self.recover_velocity(mechanism, state)?;
            constant_velocity(&self.scheme, &self.velocity, h, &mut self.point);
        }
        if self.holds {
            for (delta, locked) in self.point.delta.iter_mut().zip(&self.locked) {
                if *locked {
                    *delta = Lanes::default();
                }
            }
        }
        let mut outcome = match hint {
            Hint::Given { solved: Some(merit) } if self.still_solves(merit) => Ok(merit),
            _ => self.solve(options, &mut caution, report),
        };
        if extrapolated && outcome.is_err() {
            // A curve continued across a sharp turn can be worse than a straight one.
            report.retries += 1;
            self.newton_at_hand = false;
            self.recover_velocity(mechanism, state)?;
            constant_velocity(&self.scheme, &self.velocity, h, &mut self.point);
            outcome = self.solve(options, &mut caution, report);
        }
        let merit = outcome?;
        self.end_at_hand = true;
        self.solved_to = merit;
        report.residual = report.residual.max(merit);
        let s = self.scheme.s;
        let delta = &self.point.delta;
        move_position(mechanism, &mut state.q, |c| delta[c].0[s]);
        state.p.copy_from_slice(&self.residual.carried);
        #[cfg(feature = "sabotage")]
        if crate::sabotage::chosen(crate::sabotage::Fault::Leak) {
            state.p.iter_mut().for_each(|p| *p *= 1.0 - 1e-6);
        }
        state.caution = (caution - 1.0).max(0.0);
        self.add_actuation();
        self.drives.add(self.ties.as_deref(), s);
        state.t += h;
        remember(&self.scheme, &self.point, h, state);
        Ok(())
    }

    /// Whether the curve in the point is as good as it was when it was found, so that nothing is left to be solved.
    fn still_solves(&mut self, merit: f64) -> bool {
        self.newton_at_hand = false;
        if self.evaluate().is_err() {
            return false;
        }
        self.update_scale();
        self.merit() <= merit
    }

    /// Solves from the guess in the point, by the policy.
    fn solve(
        &mut self,
        options: &MinimalOptions,
        caution: &mut f64,
        report: &mut StepReport,
    ) -> Result<f64, Failure> {
        if let Some(held) = &mut self.held {
            held.begin();
        }
        match options.policy {
            Policy::Newton => self.newton(options, false, &mut report.iterations),
            Policy::Chord => self.newton(options, true, &mut report.iterations),
            // Written out, the exact matrix costs less than the iterations it saves.
            Policy::Automatic if self.dense.is_some() => self.newton(options, true, &mut report.iterations),
            // Oscillations that are fast for the step are not in the mass matrix.
            Policy::Automatic if self.scheme.gauss => self.newton(options, true, &mut report.iterations),
            Policy::Mass | Policy::Automatic if *caution > 0.0 => {
                self.newton(options, true, &mut report.iterations)
            }
            Policy::Mass | Policy::Automatic => {
                self.guess.copy_from_slice(&self.point.delta);
                self.quasi_newton(options, &mut report.iterations).or_else(|_| {
                    *caution = CAUTION;
                    if let Some(held) = &mut self.held {
                        held.begin();
                    }
                    self.point.delta.copy_from_slice(&self.guess);
                    self.newton(options, true, &mut report.iterations)
                })
            }
        }
    }

    /// The residual at the point; false if it is not finite or turns too far.
    pub(crate) fn evaluate(&mut self) -> Result<(), Failure> {
        self.end_at_hand = false;
        if let Some(ties) = &mut self.ties {
            ties.impose(self.scheme.s, &self.point.base, &mut self.point.delta);
        }
        let mut forces = AllForces { forces: &self.forces, scratch: &mut self.derivatives };
        single::evaluate(&mut self.residual, &self.segments, &self.scheme, &mut forces, &self.point);
        if self.residual.balls.iter().any(|b| b.tilt > MAX_TILT || b.tilt.is_nan()) {
            return Err(Failure::TooFar);
        }
        if let Some(held) = self.held.as_mut().filter(|held| held.acts()) {
            let (s, Point { base, anchors, delta, .. }) = (self.scheme.s, &self.point);
            held.measure(s, base, anchors, |c, node| delta[c].0[node]);
            held.add(s, delta, &mut self.residual.rows, &mut self.residual.carried);
        }
        if let Some(ties) = &mut self.ties {
            let residual = &mut self.residual;
            ties.reduce(self.scheme.s, &self.locked, &mut residual.rows, &mut residual.carried);
        }
        if self.holds {
            // What is held has no equation.
            for (row, locked) in self.residual.rows.iter_mut().zip(&self.locked) {
                if *locked {
                    row.0.fill(0.0);
                }
            }
        }
        // A sum of all rows is finite only if every row is. Lanes and two rows at a time: one addition waits for the one before.
        let mut sums = [Lanes::<f64, N>::default(); 2];
        for rows in self.residual.rows.chunks(2) {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum += *row * 0.0;
            }
        }
        if (sums[0] + sums[1]).dot(&[1.0; N]) == 0.0 { Ok(()) } else { Err(Failure::NotFinite) }
    }

    /// Largest `|r|/σ`.
    fn merit(&self) -> f64 {
        let mut worst = 0.0f64;
        for (row, scale) in self.residual.rows.iter().zip(&self.scale) {
            for al in 0..self.scheme.s {
                // Where every term is zero the row is, too.
                if row.0[al] != 0.0 {
                    worst = worst.max(row.0[al].abs() / scale.0[al]);
                }
            }
        }
        worst
    }

    pub(crate) fn update_scale(&mut self) {
        let Self { segments, scheme, point, residual, scale, .. } = self;
        single::scale(segments, scheme, point, residual, scale);
        if let Some(ties) = &self.ties {
            ties.reduce_scale(self.scheme.s, &mut self.scale);
        }
    }

    pub(crate) fn stopping(&self, options: &MinimalOptions) -> Stopping {
        let largest = largest_coordinate(&self.segments, &self.point.base);
        Stopping::new(options, self.segments.depth, largest)
    }

    pub(crate) fn explain(
        &self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        failure: Failure,
        time: f64,
        step: f64,
    ) -> StepError {
        match failure {
            Failure::NotFinite => StepError::NotFinite { time, what: "residual of the step" },
            Failure::NotConverged { iterations, residual } => {
                StepError::NotConverged { time, step, iterations, residual, tolerance: options.tolerance }
            }
            Failure::TooFar => StepError::NotConverged {
                time,
                step,
                iterations: 0,
                residual: f64::INFINITY,
                tolerance: options.tolerance,
            },
            Failure::Singular { segment, what } => StepError::Singular {
                time,
                what,
                joint: mechanism.joint(self.segments.list[segment].joint).name.clone(),
                remedy: "give the bodies behind it inertia, or the joint armature",
            },
        }
    }
}

/// Inputs that are no servo's, and the coordinate each acts on, where it is one.
fn plain_inputs(segments: &Segments) -> Vec<(usize, Option<usize>)> {
    let is_servo = |k: usize| segments.servos.iter().any(|servo| servo.input == k);
    let only = |k: usize| {
        let mut places = segments.actuators.iter().filter(|a| a.input == k);
        places.next().filter(|_| places.next().is_none()).map(|a| a.coordinate)
    };
    (0..segments.nu).filter(|k| !is_servo(*k)).map(|k| (k, only(k))).collect()
}
