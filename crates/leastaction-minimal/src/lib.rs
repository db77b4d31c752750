//! Variational integrators of any even order in joint coordinates, in linear time.
//!
//! Within a step the motion is a polynomial of degree `s` through `s + 1` Lobatto nodes; the action is summed at the
//! same nodes (or, where springs or weight are stiff for the step, at Gauss points) and made stationary. The order is
//! `2 s`, the map is symplectic, and momentum is conserved to rounding.
//! The page `docs/theory/02-minimal.md` derives every formula; numbers in comments are its equations.
//!
//! One step, given `q` and `p`, is `Solver::step` (`step.rs`):
//!
//! 1. choose the points of the sum by mechanism and step length (`stiffness.rs`, `scheme.rs`);
//! 2. put the origin at the root and guess the node increments `Δ^1..Δ^s` (`guess.rs`);
//! 3. residual `r` at all points by one outward and one inward sweep (`residual.rs`, `ball.rs`);
//! 4. direction `δ = −J⁻¹ r`, with the mass matrix in place of `J` (`mass_factor.rs`) or the exact Newton matrix, by blocks
//!    (`block_factor.rs`, `rows.rs`) or written out (`dense_factor.rs`);
//! 5. repeat until `r` is at its rounding scale (`scale.rs`) and `δ` is small; then `q⁺ = q + Δ^s`, and `p⁺` is `p` and the
//!    impulses over the step (2.6).
//!
//! ```
//! use leastaction::integrator::minimal::{Minimal, MinimalOptions};
//! use leastaction::integrator::Simulator;
//! use leastaction::mechanism::{MechanismBuilder, samples};
//!
//! let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
//! let integrator = Minimal::new(MinimalOptions { order: 6, ..Default::default() })?;
//! let mut simulator = Simulator::with(&mechanism, integrator, &mechanism.start_state())?;
//! let report = simulator.step(&[], 0.02)?;
//! assert!(report.residual < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests compare with the C library"))]

pub(crate) mod ball;
mod block_factor;
mod columns;
mod curved;
mod dense_factor;
mod dense_slope;
mod drives;
mod event_slope;
mod guess;
mod held;
pub(crate) mod lanes;
mod legendre;
mod linearize;
mod linearized;
mod mass_factor;
mod options;
mod parameters;
mod parts;
#[cfg(feature = "reference")]
pub mod reference;
pub(crate) mod residual;
mod rows;
mod sample;
mod scale;
pub(crate) mod scheme;
pub(crate) mod segments;
pub(crate) mod servo;
mod shift;
mod single;
pub(crate) mod six;
pub(crate) mod state;
mod states;
mod step;
mod stiffness;
pub(crate) mod tendon;
mod ties;
mod trace;
mod wide;
pub(crate) mod wrench;

pub use leastaction_core::lobatto::{Lobatto, MAX_DEGREE};
pub use linearize::{Coordinates, Linearization};
pub use options::{MinimalOptions, Policy, Quadrature};
pub use sample::{StepPoint, StepSample};
pub use state::MinimalState;
pub use trace::Trace;
pub use wrench::{AppliedWrench, BodyMotion, BodyWrench, WrenchSample};

#[cfg(feature = "sabotage")]
use leastaction_core::sabotage;
use leastaction_core::{integrator, lobatto, mechanism, scalar, spatial};

use crate::integrator::{
    Actuation, Input, Integrator, RowEvent, RowReport, StepError, StepReport, expect_length, expect_state,
    placed_start,
};
use crate::mechanism::{BodyId, Mechanism, State};
use std::sync::Arc;
use step::Solver;

/// The engine: options, and the user's own wrench laws.
#[derive(Clone, Debug, Default)]
pub struct Minimal {
    options: MinimalOptions,
    wrenches: Vec<AppliedWrench>,
}

impl Minimal {
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
trait Engine: std::fmt::Debug + Send {
    fn legendre(&mut self, mechanism: &Mechanism, public: &State, state: &mut MinimalState);
    fn step(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError>;
    fn step_together(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        states: &mut [MinimalState],
        u: &[f64],
        h: f64,
        failures: &mut [Option<StepError>],
    );
    fn begin_on(&mut self, trace: &mut Trace, state: &MinimalState, u: &[f64], h: f64);
    fn leave(&self, trace: &mut Trace, slope: Option<&[f64]>);
    fn has_lanes(&self) -> bool;
    fn public_velocity(&mut self, mechanism: &Mechanism, state: &MinimalState, v: &mut [f64]);
    fn actuation(&self) -> Actuation<'_>;
    fn events(&self) -> &[RowEvent];
    fn drives(&self) -> &[f64];
    fn sample(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        recentred: bool,
    ) -> Result<StepSample, StepError>;
    #[cfg(feature = "reference")]
    fn tangent(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        direction: &reference::StepDirection,
    ) -> Result<reference::StepTangent, StepError>;
    fn residual(&mut self, mechanism: &Mechanism, at: &StepPoint) -> Result<Vec<Vec<f64>>, StepError>;
    fn linearize(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
        out: &mut Linearization,
    ) -> Result<(), StepError>;
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
    fn step_together(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        states: &mut [MinimalState],
        u: &[f64],
        h: f64,
        failures: &mut [Option<StepError>],
    ) {
        Self::step_together(self, mechanism, options, states, u, h, failures);
    }
    fn begin_on(&mut self, trace: &mut Trace, state: &MinimalState, u: &[f64], h: f64) {
        Self::begin_on(self, trace, state, u, h);
    }
    fn leave(&self, trace: &mut Trace, slope: Option<&[f64]>) {
        Self::leave(self, trace, slope);
    }
    fn has_lanes(&self) -> bool {
        self.wide.is_some()
    }
    fn public_velocity(&mut self, mechanism: &Mechanism, state: &MinimalState, v: &mut [f64]) {
        Self::public_velocity(self, mechanism, state, v);
    }
    fn actuation(&self) -> Actuation<'_> {
        Self::actuation(self)
    }
    fn events(&self) -> &[RowEvent] {
        Self::events(self)
    }
    fn drives(&self) -> &[f64] {
        &self.drives.impulses
    }
    fn sample(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        recentred: bool,
    ) -> Result<StepSample, StepError> {
        Self::sample(self, mechanism, at, recentred)
    }
    #[cfg(feature = "reference")]
    fn tangent(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        direction: &reference::StepDirection,
    ) -> Result<reference::StepTangent, StepError> {
        Self::tangent(self, mechanism, at, direction)
    }
    fn residual(&mut self, mechanism: &Mechanism, at: &StepPoint) -> Result<Vec<Vec<f64>>, StepError> {
        self.residual_at(mechanism, at)
    }
    fn linearize(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
        out: &mut Linearization,
    ) -> Result<(), StepError> {
        Self::linearize(self, mechanism, options, state, u, h, out)
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

    /// The derivative of the equations at any point along any direction, in O(s² n): the product of the Newton matrix
    /// (with shifts, momenta and inputs beside it) and a vector, without the matrix.
    ///
    /// # Errors
    /// If a vector has the wrong length, the curve turns too far, or the action is not summed at the nodes.
    #[cfg(feature = "reference")]
    pub fn tangent(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        direction: &reference::StepDirection,
    ) -> Result<reference::StepTangent, StepError> {
        self.0.tangent(mechanism, at, direction)
    }

    /// Rows `0..s` of the residual alone: what an iteration costs before it solves anything.
    ///
    /// # Errors
    /// If a vector has the wrong length, or the residual is not finite there.
    pub fn residual(&mut self, mechanism: &Mechanism, at: &StepPoint) -> Result<Vec<Vec<f64>>, StepError> {
        self.0.residual(mechanism, at)
    }

    /// Exact lane counts up to order 8, where speed matters; the others share one copy, which keeps builds short.
    fn new(mechanism: &Mechanism, integrator: &Minimal) -> Result<Self, StepError> {
        Ok(Self(match integrator.degree() {
            1 => Box::new(Solver::<2>::new(mechanism, integrator)?),
            2 => Box::new(Solver::<3>::new(mechanism, integrator)?),
            3 => Box::new(Solver::<4>::new(mechanism, integrator)?),
            4 => Box::new(Solver::<5>::new(mechanism, integrator)?),
            _ => Box::new(Solver::<{ MAX_DEGREE + 1 }>::new(mechanism, integrator)?),
        }))
    }
}

impl MinimalWorkspace {
    /// Memory with which [`Minimal::step_together`] steps four states side by side, where that can be done: at orders 2 and 4,
    /// on processors with AVX2, for mechanisms without servos, tendons, friction, limits, couplings or laws of the
    /// user's own. Elsewhere it steps them one by one.
    fn with_lanes(mechanism: &Mechanism, integrator: &Minimal) -> Result<Self, StepError> {
        match integrator.degree() {
            1 => {
                let mut solver = Solver::<2>::new(mechanism, integrator)?;
                wide::make_lanes::<2, 1>(&mut solver);
                Ok(Self(Box::new(solver)))
            }
            2 => {
                let mut solver = Solver::<3>::new(mechanism, integrator)?;
                wide::make_lanes::<3, 2>(&mut solver);
                Ok(Self(Box::new(solver)))
            }
            _ => Self::new(mechanism, integrator),
        }
    }

    /// True if states are stepped side by side.
    #[must_use]
    pub fn has_lanes(&self) -> bool {
        self.0.has_lanes()
    }
}

impl Integrator for Minimal {
    type State = MinimalState;
    type Workspace = MinimalWorkspace;

    fn label(&self) -> String {
        format!("minimal-{}", self.options.order)
    }

    fn workspace(&self, mechanism: &Mechanism) -> Result<MinimalWorkspace, StepError> {
        MinimalWorkspace::new(mechanism, self)
    }

    fn start(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        state: &State,
    ) -> Result<MinimalState, StepError> {
        expect_state(mechanism, state)?;
        let state = &placed_start(mechanism, state)?;
        let mut out = MinimalState::new(mechanism, self.degree(), state)?;
        let Some(warm) = state.warm.as_ref().filter(|warm| warm.integrator == self.label()) else {
            workspace.0.legendre(mechanism, state, &mut out);
            return Ok(out);
        };
        if !(out.take_warm(warm) && self.agrees(mechanism, workspace, &out, state)) {
            out.reset(mechanism, state)?;
            workspace.0.legendre(mechanism, state, &mut out);
            out.warm_start_dropped = true;
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
        expect_step(h)?;
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

    fn actuation<'w>(&self, workspace: &'w MinimalWorkspace) -> Option<Actuation<'w>> {
        Some(workspace.0.actuation())
    }

    fn warm_start(&self, _mechanism: &Mechanism, state: &MinimalState) -> Vec<f64> {
        state.to_warm()
    }

    fn rows<'a>(&self, workspace: &'a MinimalWorkspace, state: &'a MinimalState) -> RowReport<'a> {
        RowReport {
            states: &state.rows.list,
            impulses: &state.rows.impulses,
            events: workspace.0.events(),
            drives: workspace.0.drives(),
        }
    }

    fn warm_start_dropped(&self, state: &MinimalState) -> bool {
        state.warm_start_dropped
    }
}

/// How far the velocities of a warm start may be from those of the state it came with, relative to the largest. A state that
/// was written and read again agrees to the bit.
const AGREEMENT: f64 = 1e-9;

impl Minimal {
    /// True if the momenta taken from a warm start give the velocities of the public state at its positions: they do not
    /// if either was edited, or comes from a model with other masses.
    fn agrees(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        warm: &MinimalState,
        state: &State,
    ) -> bool {
        let mut v = vec![0.0; mechanism.nv()];
        workspace.0.public_velocity(mechanism, warm, &mut v);
        let largest = v.iter().chain(&state.v).fold(0.0, |m: f64, x| m.max(x.abs()));
        v.iter().zip(&state.v).all(|(a, b)| (a - b).abs() <= AGREEMENT * largest)
    }

    /// A workspace that can also step several states at once; see [`step_together`](Self::step_together).
    ///
    /// # Errors
    /// As [`workspace`](Integrator::workspace).
    pub fn workspace_with_lanes(&self, mechanism: &Mechanism) -> Result<MinimalWorkspace, StepError> {
        MinimalWorkspace::with_lanes(mechanism, self)
    }

    /// Steps several states; `u` has the inputs of the first, then those of the second, and so on. Every state gets the
    /// bits of [`step`](Integrator::step). States whose `failures` entry is filled are left out; the entry of a state
    /// whose step cannot be taken is filled, and the state is where it was. Does not allocate, unless the step length makes
    /// other points necessary.
    ///
    /// # Errors
    /// If inputs or failures do not fit the states, or the step length is not possible.
    pub fn step_together(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        states: &mut [MinimalState],
        u: &[f64],
        h: f64,
        failures: &mut [Option<StepError>],
    ) -> Result<(), StepError> {
        expect_length("u", u.len(), states.len() * mechanism.nu())?;
        expect_length("failures", failures.len(), states.len())?;
        expect_step(h)?;
        workspace.0.step_together(mechanism, &self.options, states, u, h, failures);
        Ok(())
    }

    /// As [`start`](Integrator::start) without warm start, into a state of this engine that is already there. Does not
    /// allocate.
    ///
    /// # Errors
    /// If the state does not fit the mechanism.
    pub fn restart(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        state: &State,
        out: &mut MinimalState,
    ) -> Result<(), StepError> {
        out.reset(mechanism, state)?;
        workspace.0.legendre(mechanism, state, out);
        Ok(())
    }

    /// After [`restart`](Self::restart): the next step begins on the curve of the step that left `trace`, moved by the change of the
    /// velocities; if it is that step, nothing is left to be solved. An empty trace leaves the guess as it is. Where friction
    /// or limits may cut the step nothing is begun on.
    ///
    /// [`leave`](Self::leave) after the step fills the trace.
    pub fn begin_on(
        &self,
        workspace: &mut MinimalWorkspace,
        trace: &mut Trace,
        state: &MinimalState,
        input: Input<'_>,
        h: f64,
    ) {
        workspace.0.begin_on(trace, state, input.u, h);
    }

    /// Keeps the curve of the step just taken, and its slope by positions, velocities and inputs if it was differentiated.
    pub fn leave(&self, workspace: &MinimalWorkspace, trace: &mut Trace, slope: Option<&[f64]>) {
        workspace.0.leave(trace, slope);
    }

    /// Takes one step, never halved, and gives its exact derivative with respect to state and inputs, in O(n²).
    ///
    /// ```
    /// use leastaction::integrator::minimal::{Coordinates, Minimal};
    /// use leastaction::integrator::{Input, Integrator};
    /// use leastaction::mechanism::{MechanismBuilder, samples};
    ///
    /// let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
    /// let integrator = Minimal::default();
    /// let mut workspace = integrator.workspace(&mechanism)?;
    /// let mut state = integrator.start(&mechanism, &mut workspace, &mechanism.start_state())?;
    /// let slope = integrator.linearize(
    ///     &mechanism, &mut workspace, &mut state, Input { u: &[] }, 0.01, Coordinates::Velocity)?;
    /// // Positions change by h times the velocity, to first order.
    /// assert!((slope.a(0, 2) - 0.01).abs() < 1e-4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the step cannot be taken; the state is then unchanged.
    pub fn linearize(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        state: &mut MinimalState,
        input: Input<'_>,
        h: f64,
        coordinates: Coordinates,
    ) -> Result<Linearization, StepError> {
        let mut out = Linearization::new(mechanism, coordinates);
        self.linearize_into(mechanism, workspace, state, input, h, &mut out)?;
        Ok(out)
    }

    /// As [`linearize`](Self::linearize) with the coordinates, the parameters and the memory of `out`.
    ///
    /// # Errors
    /// As [`linearize`](Self::linearize).
    pub fn linearize_into(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MinimalWorkspace,
        state: &mut MinimalState,
        input: Input<'_>,
        h: f64,
        out: &mut Linearization,
    ) -> Result<(), StepError> {
        expect_length("u", input.u.len(), mechanism.nu())?;
        expect_step(h)?;
        parameters::expect_parameters(mechanism, &out.parameters)?;
        (out.nv, out.nu) = (mechanism.nv(), mechanism.nu());
        workspace.0.linearize(mechanism, &self.options, state, input.u, h, out)
    }

    /// Polynomial degree `s`.
    fn degree(&self) -> usize {
        (self.options.order / 2) as usize
    }
}

fn expect_step(h: f64) -> Result<(), StepError> {
    if h.is_finite() && h != 0.0 {
        return Ok(());
    }
    let remedy = "take a finite step other than zero".into();
    Err(StepError::BadOption { option: "step", value: h.to_string(), remedy })
}
