//! Variational integrators of any even order in joint coordinates, in linear time.
//!
//! Within a step the motion is a polynomial of degree `s` through `s + 1` Lobatto nodes; the action is summed at the
//! same nodes and made stationary. The order is `2 s`, the map is symplectic, and momentum is conserved to rounding.
//! The page `docs/theory/02-minimal.md` derives every formula; numbers in comments are its equations.
//!
//! One step, given `q` and `p`:
//!
//! 1. put the origin at the root and guess the node increments `Δ^1..Δ^s` ([`guess`]);
//! 2. residual `r` of all nodes by one outward and one inward sweep ([`residual`], [`ball`]);
//! 3. direction `δ = −J⁻¹ r`, with the mass matrix in place of `J` ([`mass`]) or the exact Newton matrix
//!    ([`newton`]);
//! 4. repeat until `r` is at its rounding scale ([`scale`]) and `δ` is small; then `q⁺ = q + Δ^s`, `p⁺ = P^s`.
//!
//! ```
//! use leastaction::integrator::minimal::{MinimalIntegrator, MinimalOptions};
//! use leastaction::integrator::Simulator;
//! use leastaction::mechanism::{MechanismBuilder, samples};
//!
//! let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
//! let integrator = MinimalIntegrator::new(MinimalOptions { order: 6, ..Default::default() })?;
//! let mut simulator = Simulator::with(&mechanism, integrator, &mechanism.start_state())?;
//! let report = simulator.step(&[], 0.02)?;
//! assert!(report.residual < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ball;
mod guess;
mod lanes;
mod lobatto;
mod mass;
mod newton;
mod options;
mod residual;
mod rows;
mod sample;
mod scale;
mod segments;
mod six;
mod solver;
mod state;
mod wrench;

pub use lobatto::{Lobatto, MAX_DEGREE};
pub use options::{MinimalOptions, Policy};
pub use sample::{StepPoint, StepSample};
pub use state::MinimalState;
pub use wrench::{AppliedWrench, BodyMotion, BodyWrench, WrenchSample};

use super::{Input, Integrator, StepError, StepReport, expect_length};
use crate::mechanism::{BodyId, Mechanism, State};
use solver::Solver;
use std::sync::Arc;

/// The engine: options, and the user's own wrench laws.
#[derive(Clone, Debug, Default)]
pub struct MinimalIntegrator {
    options: MinimalOptions,
    wrenches: Vec<AppliedWrench>,
}

impl MinimalIntegrator {
    /// An engine with these options.
    ///
    /// # Errors
    /// [`StepError::BadOption`] if the order is odd or out of range, or a tolerance is not positive.
    pub fn new(options: MinimalOptions) -> Result<Self, StepError> {
        let bad = |option, value: String, remedy: String| Err(StepError::BadOption { option, value, remedy });
        let most = 2 * MAX_DEGREE as u32;
        if options.order == 0 || !options.order.is_multiple_of(2) || options.order > most {
            return bad("order", options.order.to_string(), format!("take an even number from 2 to {most}"));
        }
        for (name, value) in [("tolerance", options.tolerance), ("tolerance_q", options.tolerance_q)] {
            if !(value > 0.0 && value.is_finite()) {
                return bad(name, value.to_string(), "take a small positive number".into());
            }
        }
        if options.max_iterations == 0 {
            return bad("max_iterations", "0".into(), "take at least one".into());
        }
        Ok(Self { options, wrenches: Vec::new() })
    }

    /// Adds a wrench law on a body.
    #[must_use]
    pub fn with_wrench(mut self, body: BodyId, law: Arc<dyn BodyWrench>) -> Self {
        self.wrenches.push(AppliedWrench { body, law });
        self
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &MinimalOptions {
        &self.options
    }
}

/// Memory of the engine for one mechanism and order; holds no truth.
#[derive(Debug)]
pub struct MinimalWorkspace(Box<dyn Engine>);

/// A [`Solver`] with its number of lanes hidden.
trait Engine: std::fmt::Debug {
    fn legendre(&mut self, mechanism: &Mechanism, public: &State, state: &mut MinimalState);
    fn step(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError>;
    fn public_velocity(&mut self, mechanism: &Mechanism, state: &MinimalState, v: &mut [f64]);
    fn sample(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        recentred: bool,
    ) -> Result<StepSample, StepError>;
}

impl<const N: usize> Engine for Solver<N> {
    fn legendre(&mut self, mechanism: &Mechanism, public: &State, state: &mut MinimalState) {
        Self::legendre(self, mechanism, public, state);
    }
    fn step(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError> {
        Self::step(self, mechanism, options, state, u, h)
    }
    fn public_velocity(&mut self, mechanism: &Mechanism, state: &MinimalState, v: &mut [f64]) {
        Self::public_velocity(self, mechanism, state, v);
    }
    fn sample(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        recentred: bool,
    ) -> Result<StepSample, StepError> {
        Self::sample(self, mechanism, at, recentred)
    }
}

impl MinimalWorkspace {
    /// The equations of a step at any point. With `recentred` all sums are taken about the root joints, as steps do;
    /// without, about the world's origin, which only changes rounding (and its scale).
    ///
    /// # Errors
    /// If a vector has the wrong length, or the Newton matrix is singular there.
    pub fn sample(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        recentred: bool,
    ) -> Result<StepSample, StepError> {
        self.0.sample(mechanism, at, recentred)
    }

    /// Exact lane counts to degree 6; above, kernels run with unused lanes.
    fn new(mechanism: &Mechanism, s: usize, wrenches: &[AppliedWrench]) -> Result<Self, StepError> {
        Ok(Self(match s {
            1 => Box::new(Solver::<2>::new(mechanism, s, wrenches)?),
            2 => Box::new(Solver::<3>::new(mechanism, s, wrenches)?),
            3 => Box::new(Solver::<4>::new(mechanism, s, wrenches)?),
            4 => Box::new(Solver::<5>::new(mechanism, s, wrenches)?),
            5 => Box::new(Solver::<6>::new(mechanism, s, wrenches)?),
            6 => Box::new(Solver::<7>::new(mechanism, s, wrenches)?),
            7..=11 => Box::new(Solver::<12>::new(mechanism, s, wrenches)?),
            _ => Box::new(Solver::<{ MAX_DEGREE + 1 }>::new(mechanism, s, wrenches)?),
        }))
    }
}

impl Integrator for MinimalIntegrator {
    type State = MinimalState;
    type Workspace = MinimalWorkspace;

    fn label(&self) -> String {
        format!("minimal-{}", self.options.order)
    }

    fn workspace(&self, mechanism: &Mechanism) -> Result<MinimalWorkspace, StepError> {
        MinimalWorkspace::new(mechanism, self.degree(), &self.wrenches)
    }

    fn start(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        state: &State,
    ) -> Result<MinimalState, StepError> {
        let mut out = MinimalState::new(mechanism, self.degree(), state)?;
        if !out.take_warm(&self.label(), state.warm.as_ref()) {
            workspace.0.legendre(mechanism, state, &mut out);
        }
        Ok(out)
    }

    fn step(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        state: &mut MinimalState,
        input: Input<'_>,
        h: f64,
    ) -> Result<StepReport, StepError> {
        expect_length("u", input.u.len(), mechanism.nu())?;
        if !(h.is_finite() && h != 0.0) {
            let remedy = "take a finite step other than zero".into();
            return Err(StepError::BadOption { option: "step", value: h.to_string(), remedy });
        }
        workspace.0.step(mechanism, &self.options, state, input.u, h)
    }

    fn read_out(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        state: &MinimalState,
        out: &mut State,
    ) {
        out.t = state.t;
        out.q.clone_from(&state.q);
        out.v.resize(mechanism.nv(), 0.0);
        workspace.0.public_velocity(mechanism, state, &mut out.v);
    }

    fn warm_start(&self, _mechanism: &Mechanism, state: &MinimalState) -> Vec<f64> {
        state.to_warm()
    }
}

impl MinimalIntegrator {
    /// Polynomial degree `s`.
    fn degree(&self) -> usize {
        (self.options.order / 2) as usize
    }
}
