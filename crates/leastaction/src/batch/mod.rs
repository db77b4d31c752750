//! Many runs of one mechanism on one thread, in memory that is made once.
//!
//! A [`Row`] is one run: where it starts, which inputs act, and afterwards where it came to and what stopped it. Rows know
//! nothing of each other: the numbers of a row are the same alone, among others, in any order and on any processor. Threads
//! take a batch each.
//!
//! ```
//! use leastaction::batch::{Batch, Inputs, Plan, Row};
//! use leastaction::integrator::{Method, MethodOptions};
//! use leastaction::mechanism::{MechanismBuilder, samples};
//!
//! let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
//! let mut rows: Vec<Row> = (0..5)
//!     .map(|i| {
//!         let mut start = mechanism.start_state();
//!         start.q[0] += 0.1 * f64::from(i);
//!         Row::new(start, Inputs::Held(&[]))
//!     })
//!     .collect();
//! let mut batch = Batch::new(&mechanism, Method::Minimal, &MethodOptions::default())?;
//! let plan = Plan { every: 50, ..Plan::new(200, 0.005) };
//! let mut highest = [f64::NEG_INFINITY; 5];
//! batch.run(&mut rows, &plan, |row, _step, state| highest[row] = highest[row].max(state.q[0]));
//! assert!(rows.iter().all(|row| row.failure.is_none() && row.steps == 200));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod lanes;

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::integrator::minimal::Policy;
use crate::integrator::{Method, MethodOptions, Simulator, StepError};
use crate::mechanism::{Mechanism, State};

/// Rows that are stepped side by side where the method can: blocks of rows for threads are best made of so many.
pub const LANES: usize = 4;

/// What acts on a row.
pub enum Inputs<'a> {
    /// The same inputs over the whole run.
    Held(&'a [f64]),
    /// Inputs of their own for every step.
    PerStep {
        /// All of them.
        values: &'a [f64],
        /// Those of step `k` begin at `k * stride`.
        stride: usize,
    },
    /// Asked before every step, with its number and the state: writes the inputs.
    Law(&'a mut (dyn FnMut(usize, &State, &mut [f64]) + Send)),
}

impl std::fmt::Debug for Inputs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Held(u) => f.debug_tuple("Held").field(u).finish(),
            Self::PerStep { values, stride } => write!(f, "PerStep({} numbers by {stride})", values.len()),
            Self::Law(_) => f.write_str("Law"),
        }
    }
}

impl Inputs<'_> {
    /// Inputs of a step, where they do not depend on the state.
    fn given(&self, step: usize, nu: usize) -> Option<&[f64]> {
        match self {
            Self::Held(u) => Some(u),
            // Too few numbers are an error of the step.
            Self::PerStep { values, stride } => {
                let rest = values.get(step * stride..).unwrap_or(&[]);
                Some(rest.get(..nu).unwrap_or(rest))
            }
            Self::Law(_) => None,
        }
    }
}

/// One run of a batch.
#[derive(Debug)]
pub struct Row<'a> {
    /// Where it starts, and after the run where it came to: the state after its last good step.
    pub state: State,
    /// What acts on it.
    pub inputs: Inputs<'a>,
    /// Steps taken.
    pub steps: usize,
    /// What ended it before its time.
    pub failure: Option<StepError>,
}

impl<'a> Row<'a> {
    /// A run that starts here. What the state says of inputs is for the caller to turn into [`Inputs`].
    #[must_use]
    pub fn new(start: State, inputs: Inputs<'a>) -> Self {
        Self { state: start, inputs, steps: 0, failure: None }
    }
}

/// What all rows of a batch do.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Steps of every row.
    pub steps: usize,
    /// Length of a step in seconds.
    pub step: f64,
    /// The observer sees the start and every so many steps; never, if zero.
    pub every: usize,
    /// When this becomes true, rows end where they are, between two steps.
    pub stop: Option<&'a AtomicBool>,
}

impl Plan<'_> {
    /// So many steps of this length, unobserved.
    #[must_use]
    pub fn new(steps: usize, step: f64) -> Self {
        Self { steps, step, every: 0, stop: None }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn shows(&self, step: usize) -> bool {
        self.every > 0 && step.is_multiple_of(self.every)
    }
}

/// A mechanism with a method and its memory, for any number of rows.
pub struct Batch<M> {
    mechanism: M,
    method: Method,
    options: MethodOptions,
    /// Made by the first row, used by all.
    simulator: Option<Simulator<M>>,
    /// For methods that step several rows at once.
    lanes: Option<lanes::Lanes>,
    /// Inputs of the step at hand.
    u: Vec<f64>,
}

impl<M> std::fmt::Debug for Batch<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("method", &self.method).field("options", &self.options).finish()
    }
}

impl<M: Deref<Target = Mechanism> + Clone> Batch<M> {
    /// Ready for rows. Where the minimal engine is free to choose its iteration, a batch takes the mass-matrix iteration,
    /// whatever the mechanism: [`MethodOptions::for_batch`].
    ///
    /// # Errors
    /// If the method does not support the mechanism, or an option is out of range.
    pub fn new(mechanism: M, method: Method, options: &MethodOptions) -> Result<Self, StepError> {
        let options = options.for_batch();
        let lanes = lanes::Lanes::new(&mechanism, method, &options)?;
        let u = vec![0.0; mechanism.nu()];
        Ok(Self { mechanism, method, options, simulator: None, lanes, u })
    }

    /// The mechanism.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// True if rows are stepped side by side; their numbers are the same if they are not.
    pub fn has_lanes(&self) -> bool {
        self.lanes.is_some()
    }

    /// The options in force: a [`Simulator`] with these makes the same steps, bit for bit.
    pub fn options(&self) -> &MethodOptions {
        &self.options
    }

    /// Runs all rows to the end of the plan. `observe` hears the number of the row, the number of steps it has taken, and
    /// its state. The steps of one row come in order, those of several rows may come in turns. A row that already has a
    /// failure stays as it is.
    ///
    /// A step that cannot be taken ends its row, which keeps the state before it; no row disturbs another.
    pub fn run(
        &mut self,
        rows: &mut [Row<'_>],
        plan: &Plan<'_>,
        mut observe: impl FnMut(usize, usize, &State),
    ) {
        if let Some(lanes) = &mut self.lanes {
            for (group, rows) in rows.chunks_mut(LANES).enumerate() {
                if plan.is_stopped() {
                    break;
                }
                lanes.run(&self.mechanism, group * LANES, rows, plan, &mut observe);
            }
            return;
        }
        for (index, row) in rows.iter_mut().enumerate() {
            if row.failure.is_none() && !plan.is_stopped() {
                row.steps = 0;
                if let Err(error) = self.run_alone(index, row, plan, &mut observe) {
                    row.failure = Some(error);
                }
            }
        }
    }

    /// One row by itself, with a [`Simulator`].
    fn run_alone(
        &mut self,
        index: usize,
        row: &mut Row<'_>,
        plan: &Plan<'_>,
        observe: &mut impl FnMut(usize, usize, &State),
    ) -> Result<(), StepError> {
        match &mut self.simulator {
            Some(simulator) => simulator.restart(&row.state)?,
            None => {
                let mechanism = self.mechanism.clone();
                self.simulator = Some(Simulator::new(mechanism, self.method, &self.options, &row.state)?);
            }
        }
        let Some(simulator) = &mut self.simulator else { return Ok(()) };
        if plan.shows(0) {
            observe(index, 0, simulator.state());
        }
        let mut outcome = Ok(());
        for step in 0..plan.steps {
            if plan.is_stopped() {
                break;
            }
            if let Inputs::Law(law) = &mut row.inputs {
                law(step, simulator.state(), &mut self.u);
            }
            let u = row.inputs.given(step, self.u.len()).unwrap_or(&self.u);
            if let Err(error) = simulator.step(u, plan.step) {
                outcome = Err(error);
                break;
            }
            row.steps = step + 1;
            if plan.shows(row.steps) {
                observe(index, row.steps, simulator.state());
            }
        }
        row.state.clone_from(simulator.state());
        outcome
    }
}

impl MethodOptions {
    /// These options as a [`Batch`] understands them: where the iteration of the minimal engine is left open, it is that with
    /// the mass matrix, which four states can do side by side with the bits of each alone. Its motions differ from those of
    /// other iterations by the solver's tolerance.
    #[must_use]
    pub fn for_batch(&self) -> Self {
        let policy = if self.policy == Policy::Automatic { Policy::Mass } else { self.policy };
        Self { policy, ..self.clone() }
    }
}
