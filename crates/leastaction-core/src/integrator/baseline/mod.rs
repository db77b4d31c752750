//! What the variational engines are compared with: Runge–Kutta and semi-implicit Euler, in joint coordinates.
//!
//! Rotations move by the exponential: within a step the unknown is the tangent vector `u` of `q = q₀ ⊞ u`, whose
//! rate is `dexp⁻¹_u v`, so the order of a Runge–Kutta method carries over to the group (Munthe-Kaas).
//!
//! Closed loops and rolling are not supported by these methods.

mod dop853;
mod dop853_table;
mod explicit;

pub use dop853::Dop853;
pub use explicit::{Rk4, SemiImplicitEuler};

use super::{Input, Integrator, StepError, StepReport, expect_length, expect_state, expect_tree};
use crate::dynamics::Dynamics;
use crate::mechanism::{Mechanism, State};

/// State of every baseline: time, positions, velocities.
#[derive(Clone, Debug)]
pub struct PhaseState {
    /// Time.
    pub t: f64,
    /// Positions.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// Step length an adaptive method would take next; zero if it has none yet.
    pub next_step: f64,
}

/// The equations of motion in tangent coordinates of one step: `(u, v) ↦ (u̇, v̇)`.
#[derive(Clone, Debug)]
pub(super) struct Field {
    dynamics: Dynamics<f64>,
    /// Position at `u`.
    pub(super) q: Vec<f64>,
}

impl Field {
    pub(super) fn new(mechanism: &Mechanism, integrator: &'static str) -> Result<Self, StepError> {
        expect_tree(mechanism, integrator)?;
        Ok(Self { dynamics: Dynamics::new(mechanism), q: vec![0.0; mechanism.nq()] })
    }

    /// Slope at tangent vector `u` from `q0` and velocity `v`. Does not allocate.
    pub(super) fn slope(
        &mut self,
        mechanism: &Mechanism,
        q0: &[f64],
        u: &[f64],
        v: &[f64],
        input: &[f64],
        du: &mut [f64],
        dv: &mut [f64],
    ) {
        mechanism.retract(q0, u, &mut self.q);
        for node in &mechanism.tree().nodes {
            let r = node.v..node.v + node.nv;
            node.kind.tangent_rate(&u[r.clone()], &v[r.clone()], &mut du[r]);
        }
        self.dynamics.acceleration_into(mechanism, &self.q, v, input, dv);
    }

    /// Acceleration at `(q, v)`. Does not allocate.
    pub(super) fn acceleration(
        &mut self,
        mechanism: &Mechanism,
        q: &[f64],
        v: &[f64],
        input: &[f64],
        dv: &mut [f64],
    ) {
        self.dynamics.acceleration_into(mechanism, q, v, input, dv);
    }
}

/// What tells one baseline from another. The rest of [`Integrator`] is the same for all of them: their state is
/// time, positions and velocities.
pub trait Baseline: Send {
    /// Name, as written into warm starts.
    const LABEL: &'static str;
    /// Memory of the method for one mechanism.
    type Workspace: Send;

    /// Memory for a mechanism.
    ///
    /// # Errors
    /// If the mechanism has something the method does not support.
    fn memory(mechanism: &Mechanism) -> Result<Self::Workspace, StepError>;

    /// Advances by `h`; `input` has the right length. Does not allocate.
    ///
    /// # Errors
    /// If the step cannot be taken; the state is then unchanged.
    fn advance(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        state: &mut PhaseState,
        input: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError>;
}

impl<B: Baseline> Integrator for B {
    type State = PhaseState;
    type Workspace = B::Workspace;

    fn label(&self) -> String {
        B::LABEL.into()
    }

    fn workspace(&self, mechanism: &Mechanism) -> Result<Self::Workspace, StepError> {
        B::memory(mechanism)
    }

    fn start(
        &self,
        mechanism: &Mechanism,
        _: &mut Self::Workspace,
        state: &State,
    ) -> Result<PhaseState, StepError> {
        expect_state(mechanism, state)?;
        let next_step = match &state.warm {
            Some(warm) if warm.integrator == B::LABEL => warm.data.first().copied().unwrap_or(0.0),
            _ => 0.0,
        };
        Ok(PhaseState { t: state.t, q: state.q.clone(), v: state.v.clone(), next_step })
    }

    fn step(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        state: &mut PhaseState,
        input: Input<'_>,
        h: f64,
    ) -> Result<StepReport, StepError> {
        expect_length("input", input.u.len(), mechanism.nu())?;
        self.advance(mechanism, workspace, state, input.u, h)
    }

    fn read_out(&self, _: &Mechanism, _: &mut Self::Workspace, state: &PhaseState, out: &mut State) {
        out.t = state.t;
        out.q.clone_from(&state.q);
        out.v.clone_from(&state.v);
    }

    fn warm_start(&self, _: &Mechanism, state: &PhaseState) -> Vec<f64> {
        if state.next_step == 0.0 { Vec::new() } else { vec![state.next_step] }
    }
}

fn expect_finite(time: f64, v: &[f64], q: &[f64]) -> Result<(), StepError> {
    if v.iter().chain(q).all(|x| x.is_finite()) {
        Ok(())
    } else {
        Err(StepError::NotFinite { time, what: "state after the step" })
    }
}
