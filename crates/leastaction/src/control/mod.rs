//! Optimal control on the engines: inputs that bring a mechanism to a goal, and feedback that keeps it there.
//!
//! The loop is in `ilqr.rs`: linearize, sweep backward (`backward.rs`), search forward (`sweep.rs`).
//!
//! A [`Plant`] is one step of an engine with its exact derivative. [`solve_control`] finds inputs within limits that
//! make a sum of squares smallest; [`track`] gives the feedback that holds the found motion, [`regulate`] the one
//! that holds an equilibrium; a [`Policy`] is both, ready to be replayed on any integrator. The page
//! `docs/theory/06-optimal-control.md` has the equations that comments number.
//!
//! ```
//! use leastaction::control::{
//!     ControlProblem, ControlTerm, ControlTermKind, Costs, IlqrOptions, MinimalPlant, Path, When, solve_control,
//! };
//! use leastaction::mechanism::{MechanismBuilder, samples};
//! use leastaction::optimize::{SolveStatus, Wish};
//!
//! // A pendulum with a motor, from hanging to 0.5 rad.
//! let mut model = samples::chain(1);
//! model.inputs.push("motor".into());
//! model.joints[0].actuators.push(leastaction::mechanism::ActuatorDescription {
//!     input: "motor".into(), coordinate: 0, gear: 1.0 });
//! let mechanism = MechanismBuilder::from(model).build()?;
//! let start = mechanism.neutral_state();
//! let (steps, h) = (50, 0.02);
//! let terms = vec![
//!     ControlTerm { when: When::End, kind: ControlTermKind::Position { goal: vec![0.5], weights: vec![1e3] } },
//!     ControlTerm { when: When::End, kind: ControlTermKind::Velocity { goal: vec![0.0], weights: vec![1e3] } },
//!     ControlTerm { when: When::Path, kind: ControlTermKind::Input { reference: vec![0.0], weights: vec![1e-2] } },
//! ];
//! let mut plant = MinimalPlant::new(&mechanism, 4, h)?;
//! let mut costs = Costs::new(&mechanism, terms, h)?;
//! let problem = ControlProblem { start: start.clone(), steps, lower: vec![-5.0], upper: vec![5.0] };
//! let guess = Path::roll_out(&mut plant, &start, vec![0.0; steps])?;
//! let found = solve_control(
//!     &mut plant, &mut costs, &problem, guess, &IlqrOptions::default(), &mut |_| Wish::Continue)?;
//! assert_eq!(found.status, SolveStatus::Solved);
//! assert!((found.path.states[steps].q[0] - 0.5).abs() < 1e-2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backward;
mod barrier;
mod box_qp;
mod cost;
mod curvature;
mod ilqr;
mod lqr;
mod maximal_plant;
mod motion_gradient;
mod plant;
mod policy;
mod stoppable;
mod sweep;
mod tracking;
mod trajectory;
mod wide_rows;

pub use box_qp::BoxQp;
pub use cost::{ControlTerm, ControlTermKind, Costs, Objective, When};
pub use ilqr::{ControlProblem, ControlProgress, ControlSolution, IlqrOptions, solve_control};
pub use lqr::{Regulator, Riccati, equilibrium_input, regulate, riccati};
pub use maximal_plant::MaximalPlant;
pub use motion_gradient::{MotionGradient, motion_gradient, motion_tangent, roll_out};
pub use plant::{MinimalPlant, Plant, state_difference, state_retract};
pub use policy::{Hold, POLICY_SCHEMA, Policy, PolicyEnd};
pub use stoppable::Stoppable;
pub use tracking::{TrackingWeights, track};
pub use trajectory::Path;

use crate::integrator::StepError;

/// Why something could not be controlled.
#[derive(Clone, Debug, PartialEq, thiserror::Error, serde::Serialize)]
#[non_exhaustive]
pub enum ControlError {
    /// A step of the engine failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A vector has another length than is needed.
    #[error("`{name}` has length {found}, {expected} are needed")]
    WrongLength {
        /// The vector.
        name: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// Nothing can be chosen.
    #[error("there is nothing to control: {steps} steps of {inputs} inputs")]
    NothingToControl {
        /// Number of steps.
        steps: usize,
        /// Number of inputs.
        inputs: usize,
    },
    /// A limit leaves no room.
    #[error("input {input} has the limits {lower} to {upper}: nothing is between them")]
    EmptyLimit {
        /// Index of the input.
        input: usize,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// The state is not an equilibrium for any input.
    #[error(
        "no input holds the state: with the best one it still moves by {residual:.2e} in one step; give a goal at rest \
         that the inputs can hold"
    )]
    NoEquilibrium {
        /// Largest entry of the motion in one step that remains.
        residual: f64,
    },
    /// The Riccati equation has no stabilizing solution that was found.
    #[error(
        "no feedback holds the state: the Riccati equation is left with a residual of {residual:.2e}; some motion is \
         out of reach of the inputs"
    )]
    NotStabilizable {
        /// Relative residual.
        residual: f64,
    },
    /// The caller wanted no more steps.
    #[error("stopped by the caller")]
    Stopped,
}

/// Refuses a vector of the wrong length.
fn expect_length(name: &'static str, found: usize, expected: usize) -> Result<(), ControlError> {
    if found == expected { Ok(()) } else { Err(ControlError::WrongLength { name, expected, found }) }
}
