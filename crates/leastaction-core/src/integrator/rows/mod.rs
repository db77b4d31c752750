//! Dry friction and limits in every engine: one driver cuts steps at events, engines do the smooth parts between.
//!
//! Between events some rows are *locked* and the others carry a constant friction torque: a smooth mechanism, which an engine
//! advances with its own order ([`Parts`]). The [`RowDriver`] looks at the end of every part for a sliding row that turned
//! round, a locked row beyond its bound, a limit passed; finds the first such instant; and decides there, by a convex problem
//! with one solution, which rows hold and which move. `docs/theory/07-joints.md` derives it; numbers in comments are its
//! equations.

mod box_problem;
mod driver;
mod events;
mod general;
mod mechanics;
mod minimum_norm;
mod search;
mod settle;
mod trials;

pub use driver::RowDriver;
pub use events::{RowEvent, RowEventKind};
pub use mechanics::RowMechanics;

use super::{StepError, StepReport};
use crate::mechanism::{Mechanism, Row};

/// What a row does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowState {
    /// True if it is held, by friction or at a limit.
    pub locked: bool,
    /// Direction of sliding, of rows with friction that move.
    pub sign: i8,
    /// −1 at the lower limit, 1 at the upper, 0 at neither.
    pub side: i8,
    /// Value where it was locked.
    pub hold: f64,
}

impl RowState {
    /// The number in trajectory columns: 0 free, 1 sliding, 2 locked by friction, 3 at the lower, 4 at the upper limit.
    #[must_use]
    pub fn code(&self) -> u8 {
        match (self.locked, self.side, self.sign) {
            (true, -1, _) => 3,
            (true, 1, _) => 4,
            (true, ..) => 2,
            (false, _, 0) => 0,
            (false, ..) => 1,
        }
    }
}

/// What the rows of a mechanism do: part of the state of every engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowStates {
    /// By row.
    pub list: Vec<RowState>,
    /// Impulse of every row over the last step, impacts apart.
    pub impulses: Vec<f64>,
    /// False until modes were decided.
    pub(crate) settled: bool,
    /// Mean force of every row over the last part; not a number where unknown.
    pub(crate) mean: Vec<f64>,
    /// Inputs that the modes were last checked with.
    pub(crate) inputs: Vec<f64>,
}

impl RowStates {
    /// Undecided rows.
    #[must_use]
    pub fn new(mechanism: &Mechanism) -> Self {
        let rows = mechanism.rows().len();
        Self {
            list: vec![RowState::default(); rows],
            impulses: vec![0.0; rows],
            settled: false,
            mean: vec![f64::NAN; rows],
            inputs: if rows > 0 { vec![f64::NAN; mechanism.nu()] } else { Vec::new() },
        }
    }

    /// `self = other` without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.list.clone_from(&other.list);
        self.impulses.clone_from(&other.impulses);
        self.settled = other.settled;
        self.mean.clone_from(&other.mean);
        self.inputs.clone_from(&other.inputs);
    }

    /// Undecided again.
    pub fn forget(&mut self) {
        self.list.fill(RowState::default());
        self.impulses.fill(0.0);
        self.mean.fill(f64::NAN);
        self.inputs.fill(f64::NAN);
        self.settled = false;
    }

    /// Numbers for a warm start.
    pub fn write(&self, out: &mut Vec<f64>) {
        if self.list.is_empty() {
            return;
        }
        out.push(f64::from(u8::from(self.settled)));
        for (row, (impulse, mean)) in self.list.iter().zip(self.impulses.iter().zip(&self.mean)) {
            let mean = if mean.is_nan() { [0.0, 0.0] } else { [1.0, *mean] };
            let mode = [f64::from(u8::from(row.locked)), f64::from(row.sign), f64::from(row.side)];
            out.extend(mode.into_iter().chain([row.hold, *impulse]).chain(mean));
        }
    }

    /// How many numbers [`write`](Self::write) gives.
    #[must_use]
    pub fn numbers(&self) -> usize {
        if self.list.is_empty() { 0 } else { 1 + 7 * self.list.len() }
    }

    /// Takes over what [`write`](Self::write) gave; false if it does not fit.
    pub fn read(&mut self, data: &[f64]) -> bool {
        if data.len() != self.numbers() {
            return false;
        }
        let Some((settled, data)) = data.split_first() else { return true };
        self.settled = *settled != 0.0;
        for (i, x) in data.chunks_exact(7).enumerate() {
            self.list[i] = RowState { locked: x[0] != 0.0, sign: x[1] as i8, side: x[2] as i8, hold: x[3] };
            self.impulses[i] = x[4];
            self.mean[i] = if x[5] == 0.0 { f64::NAN } else { x[6] };
        }
        true
    }
}

/// An engine's smooth parts: the mechanism with its locked rows welded and its sliding rows under constant torques.
///
/// There are two states: the *start* of the part, and the *end* of the last trial from there. Positions and velocities are
/// those of the public convention.
pub trait Parts {
    /// A trial: from the start, with these modes, over a time `t`.
    ///
    /// # Errors
    /// If the equations of the part could not be solved.
    fn trial(&mut self, states: &[RowState], t: f64, report: &mut StepReport) -> Result<(), StepError>;
    /// Positions and velocities at the end of the trial (`at_end`) or at the start; rates of locked rows are zero.
    fn read(&mut self, states: &[RowState], at_end: bool, q: &mut [f64], v: &mut [f64]);
    /// Impulses of the locked rows over the last trial.
    fn impulses(&mut self, states: &[RowState], out: &mut [f64]);
    /// The end of the trial becomes the start.
    fn accept(&mut self);
    /// Gives the start other velocities.
    fn set_velocity(&mut self, v: &[f64]);
    /// Tells the accelerations at the start with the modes that act from there: a guess of the next trial may use them.
    fn foresee(&mut self, _acceleration: &[f64]) {}
    /// Nodes inside a part at which limits are looked at.
    fn inner_nodes(&self) -> usize {
        0
    }
    /// Where such a node is, as a fraction of the part, and a row's value there in the last trial.
    fn inner_value(&self, _node: usize, _row: &Row) -> (f64, f64) {
        (0.0, 0.0)
    }
}

/// What the rows did in the last step.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowReport<'a> {
    /// What every row does now.
    pub states: &'a [RowState],
    /// Impulse of every row over the step, impacts apart: divided by the step, its mean force.
    pub impulses: &'a [f64],
    /// What happened in the step, in order.
    pub events: &'a [RowEvent],
    /// Impulse that every driven joint took over the step, in the order of [`Mechanism::driven`]: divided by the step, the mean
    /// torque or force of its drive.
    pub drives: &'a [f64],
}
