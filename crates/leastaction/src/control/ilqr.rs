//! Optimal inputs by sweeps: expand along the motion, solve backward in time, roll forward.
//!
//! One iteration (6.6 to 6.14 of the theory page):
//!
//! 1. linearize every step exactly, expand the cost to second order (Gauss and Newton);
//! 2. backward: the best change of input at each step as a function of the change of state (`backward.rs`), with a
//!    shift that holds the motion near the old one;
//! 3. forward: the nonlinear motion under that feedback, shortened until a merit function falls (`sweep.rs`).
//!
//! Limits of inputs are left out of account until a step wants to go beyond one. From then on they act as a barrier that is lowered
//! step by step (`barrier.rs`), then exactly: the last iterations solve a small program between bounds at every step (`box_qp.rs`).
//!
//! States may start anywhere (multiple shooting): a gap between a state and where the step before leads closes by the
//! same fraction as the step taken, and is gone after the first full step.

use super::ControlError;
use super::cost::Objective;
use super::plant::Plant;
use super::sweep::{Model, Sweeper};
use super::trajectory::Path;
use crate::mechanism::State;
use crate::optimize::{SolveStatus, Wish};

/// What is to be controlled, besides plant and costs.
#[derive(Clone, Debug)]
pub struct ControlProblem {
    /// Where the motion starts.
    pub start: State,
    /// Number of steps.
    pub steps: usize,
    /// Smallest inputs; `-∞` where there is no limit.
    pub lower: Vec<f64>,
    /// Largest inputs.
    pub upper: Vec<f64>,
}

/// How the solver works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IlqrOptions {
    /// Largest residual accepted: root of the decrease that the next step promises, relative to the cost.
    pub tolerance: f64,
    /// Largest gap accepted.
    pub gap: f64,
    /// Iterations.
    pub max_iterations: usize,
    /// Near the solution use the plant's curvature too, at `nx + nu` linearizations per step.
    pub curvature: bool,
}

impl Default for IlqrOptions {
    fn default() -> Self {
        Self { tolerance: 1e-6, gap: 1e-9, max_iterations: 500, curvature: false }
    }
}

/// One line of a convergence history.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlProgress {
    /// Iterations done.
    pub iteration: usize,
    /// Cost of the present motion.
    pub objective: f64,
    /// Root of the decrease that the next step promises, relative to the cost.
    pub residual: f64,
    /// Largest gap between a step and the state after it.
    pub gap: f64,
    /// Fraction of the last step that was taken.
    pub step: f64,
    /// Shift of the backward sweep.
    pub shift: f64,
    /// Height of the barrier at the limits; zero once they act exactly.
    pub barrier: f64,
}

/// A controlled motion and how good it is.
#[derive(Clone, Debug)]
pub struct ControlSolution {
    /// Outcome.
    pub status: SolveStatus,
    /// The motion.
    pub path: Path,
    /// Its cost.
    pub objective: f64,
    /// Root of the decrease that the next step promises, relative to the cost.
    pub residual: f64,
    /// Largest gap between a step and the state after it.
    pub gap: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Convergence history.
    pub history: Vec<ControlProgress>,
}

/// The first shift that is tried, and the one below which there is none.
const SHIFT_FIRST: f64 = 1e-6;
const SHIFT_LAST: f64 = 1e-8;
const SHIFT_MAX: f64 = 1e10;
/// Above this shift a small promise says nothing.
const SHIFT_HONEST: f64 = 1e-3;
/// Part of the barrier's gap to which it is worth solving before it is lowered.
const CENTRED: f64 = 0.1;
/// The barrier is lowered until its gap is this part of the cost.
const BARRIER_END: f64 = 1e-7;

/// Finds the best inputs from a first guess: a path whose states need not follow from its inputs.
///
/// `observe` sees every iteration and may stop the search, a [`Stoppable`](super::Stoppable) plant stops it at any step; the
/// best motion so far is then returned.
///
/// # Errors
/// If sizes do not fit, limits are empty, or the first guess cannot be expanded.
pub fn solve_control<P: Plant, O: Objective>(
    plant: &mut P,
    objective: &mut O,
    problem: &ControlProblem,
    guess: Path,
    options: &IlqrOptions,
    observe: &mut dyn FnMut(&ControlProgress) -> Wish,
) -> Result<ControlSolution, ControlError> {
    let mut sweeper = Sweeper::new(plant, objective, problem, guess)?;
    let mut history: Vec<ControlProgress> = Vec::new();
    let status = match search(&mut sweeper, options, &mut history, observe) {
        // In the middle of a sweep: the path is the last one taken, and what is known of it is what it costs.
        Err(ControlError::Stopped) => {
            sweeper.expand_costs();
            SolveStatus::Interrupted
        }
        other => other?,
    };
    sweeper.give_back();
    let unknown =
        ControlProgress { residual: f64::INFINITY, gap: f64::INFINITY, ..ControlProgress::default() };
    let last = history.last().copied().unwrap_or(unknown);
    Ok(ControlSolution {
        status,
        path: std::mem::take(&mut sweeper.path),
        objective: sweeper.cost,
        residual: last.residual,
        gap: last.gap,
        iterations: last.iteration,
        history,
    })
}

/// Iterates until nothing is left to be gained, or somebody wants no more.
fn search<P: Plant, O: Objective>(
    sweeper: &mut Sweeper<'_, P, O>,
    options: &IlqrOptions,
    history: &mut Vec<ControlProgress>,
    observe: &mut dyn FnMut(&ControlProgress) -> Wish,
) -> Result<SolveStatus, ControlError> {
    sweeper.linearize()?;
    sweeper.expand_costs();
    let mut shift = Shift::default();
    let (mut iteration, mut step, mut penalty) = (0, 0.0, 0.0f64);
    let mut residual = f64::INFINITY;
    loop {
        let near = options.curvature && residual < 0.03 && sweeper.gap() == 0.0;
        sweeper.expand_curvature(near);
        let model = sweeper.sweep_shifted(&mut shift);
        if sweeper.stopped() {
            return Err(ControlError::Stopped);
        }
        if sweeper.meets_limits() {
            sweeper.raise_barrier()?;
            shift = Shift::default();
            continue;
        }
        let cost = sweeper.cost;
        residual =
            model.map_or(f64::INFINITY, |m| (-m.slope).max(0.0).sqrt() / cost.abs().max(1e-300).sqrt());
        let gap = sweeper.gap();
        let barrier = sweeper.barrier_height();
        let progress =
            ControlProgress { iteration, objective: cost, residual, gap, step, shift: shift.value, barrier };
        history.push(progress);
        if observe(&progress) == Wish::Stop {
            return Ok(SolveStatus::Interrupted);
        }
        let honest = shift.value <= SHIFT_HONEST;
        let promised = residual * residual * cost.abs();
        if let Some(spread) = sweeper.barrier_gap() {
            if honest && gap <= options.gap && promised <= (CENTRED * spread).max(1e-12 * cost.abs()) {
                if spread <= BARRIER_END * cost.abs() {
                    sweeper.drop_barrier()
                } else {
                    sweeper.lower_barrier()
                }
                sweeper.expand_costs();
                continue;
            }
        } else if honest && residual <= options.tolerance && gap <= options.gap {
            if iteration < options.max_iterations && sweeper.sharpen()? {
                sweeper.expand_costs();
                continue;
            }
            return Ok(SolveStatus::Solved);
        }
        if iteration >= options.max_iterations {
            return Ok(SolveStatus::MaxIterations);
        }
        // Where next to nothing is promised and nothing is seen, rounding has the word: no use in trying harder.
        let patient = residual > 1e2 * options.tolerance;
        match improve(sweeper, model, &mut shift, &mut penalty, patient) {
            Some(taken) => step = taken,
            None if sweeper.stopped() => return Err(ControlError::Stopped),
            None if sweeper.barrier_gap().is_some() => {
                sweeper.drop_barrier();
                sweeper.expand_costs();
                shift = Shift::default();
                continue;
            }
            None if sweeper.sharpen()? => {
                sweeper.expand_costs();
                shift = Shift::default();
                continue;
            }
            None if residual <= 1e3 * options.tolerance && gap <= 1e3 * options.gap => {
                return Ok(SolveStatus::AlmostSolved);
            }
            None => return Ok(SolveStatus::Stalled),
        }
        match sweeper.linearize() {
            Err(ControlError::Stopped) => return Err(ControlError::Stopped),
            // A motion without derivatives leads nowhere: nearer to the old one there may be another.
            Err(_) => {
                sweeper.step_back()?;
                if !shift.grow() {
                    return Ok(SolveStatus::Stalled);
                }
            }
            Ok(()) => {}
        }
        sweeper.expand_costs();
        iteration += 1;
    }
}

/// The shift of the backward sweep: grows faster and faster while steps fail, falls likewise while they succeed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shift {
    pub(crate) value: f64,
    factor: f64,
}

impl Shift {
    /// More of it; false at the end of sense.
    pub(crate) fn grow(&mut self) -> bool {
        self.factor = (2.0f64).max(2.0 * self.factor);
        self.value = (self.value * self.factor).max(SHIFT_FIRST);
        self.value <= SHIFT_MAX
    }

    fn shrink(&mut self) {
        self.factor = if self.factor > 0.0 { (0.5f64).min(0.5 * self.factor) } else { 0.5 };
        self.value *= self.factor;
        if self.value < SHIFT_LAST {
            *self = Self::default();
        }
    }
}

/// One step that lowers the merit, with as much shift as it takes; the fraction taken, or `None`.
fn improve<P: Plant, O: Objective>(
    sweeper: &mut Sweeper<'_, P, O>,
    first: Option<Model>,
    shift: &mut Shift,
    penalty: &mut f64,
    patient: bool,
) -> Option<f64> {
    let gaps = sweeper.gaps();
    let mut model = first;
    loop {
        if let Some(model) = model {
            if gaps > 0.0 {
                // Large enough that closing the gaps pays for the cost it brings.
                *penalty = penalty.max(2.0 * (model.slope + 0.5 * model.curvature).max(0.0) / gaps);
            }
            if let Some(alpha) = sweeper.search(model, gaps, *penalty) {
                if alpha >= 0.25 {
                    shift.shrink();
                } else {
                    *shift = Shift { value: (2.0 * shift.value).max(SHIFT_FIRST), factor: 1.0 };
                }
                return Some(alpha);
            }
        }
        if sweeper.uses_curvature() {
            sweeper.expand_curvature(false);
        } else if !shift.grow() || (!patient && shift.value > SHIFT_HONEST) {
            *shift = Shift::default();
            return None;
        }
        model = sweeper.sweep(shift.value);
    }
}
