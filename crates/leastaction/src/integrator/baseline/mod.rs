//! What the variational engines are compared with: Runge–Kutta and semi-implicit Euler, in joint coordinates.
//!
//! Rotations move by the exponential: within a step the unknown is the tangent vector `u` of `q = q₀ ⊞ u`, whose
//! rate is `dexp⁻¹_u v`, so the order of a Runge–Kutta method carries over to the group (Munthe-Kaas).
//!
//! Closed loops and rolling are not served by these methods.

mod dop853;
mod dop853_table;
mod explicit;

pub use dop853::Dop853;
pub use explicit::{Rk4, SemiImplicitEuler};

use super::{StepError, expect_state};
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
        refuse_unsupported(mechanism, integrator)?;
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

/// Loops, rolling and massless joints have no meaning for an explicit method in joint coordinates.
fn refuse_unsupported(mechanism: &Mechanism, integrator: &'static str) -> Result<(), StepError> {
    let refuse = |what: String, remedy: &str| {
        Err(StepError::Unsupported { integrator, what, remedy: remedy.to_owned() })
    };
    if let Some(joint) = mechanism.loop_joints().next() {
        return refuse(
            format!("loop joint `{}`", mechanism.joint(joint).name),
            "use the maximal integrator, or leave the joint out with `--ignore loops`",
        );
    }
    if let Some(c) = mechanism.constraints().first() {
        return refuse(format!("constraint `{}`", c.name), "use the maximal integrator");
    }
    if let Some(joint) = mechanism.degenerate_joints().first() {
        return refuse(
            format!("joint `{}`, which moves no inertia", mechanism.joint(*joint).name),
            "give the body behind it mass, or the joint armature",
        );
    }
    Ok(())
}

fn start(mechanism: &Mechanism, label: &str, state: &State) -> Result<PhaseState, StepError> {
    expect_state(mechanism, state)?;
    let next_step = match &state.warm {
        Some(warm) if warm.integrator == label => warm.data.first().copied().unwrap_or(0.0),
        _ => 0.0,
    };
    Ok(PhaseState { t: state.t, q: state.q.clone(), v: state.v.clone(), next_step })
}

fn read_out(state: &PhaseState, out: &mut State) {
    out.t = state.t;
    out.q.clone_from(&state.q);
    out.v.clone_from(&state.v);
}

fn expect_finite(time: f64, v: &[f64], q: &[f64]) -> Result<(), StepError> {
    if v.iter().chain(q).all(|x| x.is_finite()) {
        Ok(())
    } else {
        Err(StepError::NotFinite { time, what: "state after the step" })
    }
}
