//! Fixed-step methods: the classical Runge–Kutta method of order four, and semi-implicit Euler.

use super::{Baseline, Field, PhaseState, expect_finite};
use crate::integrator::{StepError, StepReport};
use crate::mechanism::Mechanism;

/// The classical fourth-order Runge–Kutta method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rk4;

/// `v += h a(q, v)`, then `q ⊞ h v`: first order, cheap; what many simulators do.
#[derive(Clone, Copy, Debug, Default)]
pub struct SemiImplicitEuler;

/// Nodes and weights of the Runge–Kutta method.
pub(super) const C: [f64; 4] = [0.0, 0.5, 0.5, 1.0];
pub(super) const B: [f64; 4] = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];

/// Memory of the fixed-step methods.
#[derive(Clone, Debug)]
pub struct ExplicitWorkspace {
    field: Field,
    u: Vec<f64>,
    v: Vec<f64>,
    du: [Vec<f64>; 4],
    dv: [Vec<f64>; 4],
    q: Vec<f64>,
}

impl ExplicitWorkspace {
    fn new(mechanism: &Mechanism, integrator: &'static str) -> Result<Self, StepError> {
        let zero = || vec![0.0; mechanism.nv()];
        Ok(Self {
            field: Field::new(mechanism, integrator)?,
            u: zero(),
            v: zero(),
            du: std::array::from_fn(|_| zero()),
            dv: std::array::from_fn(|_| zero()),
            q: vec![0.0; mechanism.nq()],
        })
    }
}

impl Baseline for Rk4 {
    const LABEL: &'static str = "rk4";
    type Workspace = ExplicitWorkspace;

    fn memory(mechanism: &Mechanism) -> Result<ExplicitWorkspace, StepError> {
        ExplicitWorkspace::new(mechanism, Self::LABEL)
    }

    fn field(workspace: &mut ExplicitWorkspace) -> &mut Field {
        &mut workspace.field
    }

    fn advance(
        &self,
        mechanism: &Mechanism,
        ws: &mut ExplicitWorkspace,
        state: &mut PhaseState,
        input: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError> {
        let nv = mechanism.nv();
        for stage in 0..4 {
            for i in 0..nv {
                let (du, dv) =
                    if stage == 0 { (0.0, 0.0) } else { (ws.du[stage - 1][i], ws.dv[stage - 1][i]) };
                ws.u[i] = h * C[stage] * du;
                ws.v[i] = state.v[i] + h * C[stage] * dv;
            }
            let (du, dv) = (&mut ws.du[stage], &mut ws.dv[stage]);
            ws.field.slope(mechanism, &state.q, &ws.u, &ws.v, input, du, dv);
        }
        let mean =
            |k: &[Vec<f64>; 4], i: usize| B[0] * k[0][i] + B[1] * k[1][i] + B[2] * k[2][i] + B[3] * k[3][i];
        for i in 0..nv {
            ws.u[i] = h * mean(&ws.du, i);
            ws.v[i] = state.v[i] + h * mean(&ws.dv, i);
        }
        mechanism.retract(&state.q, &ws.u, &mut ws.q);
        finish(mechanism, state, ws, h)
    }
}

impl Baseline for SemiImplicitEuler {
    const LABEL: &'static str = "semi-implicit";
    type Workspace = ExplicitWorkspace;

    fn memory(mechanism: &Mechanism) -> Result<ExplicitWorkspace, StepError> {
        ExplicitWorkspace::new(mechanism, Self::LABEL)
    }

    fn field(workspace: &mut ExplicitWorkspace) -> &mut Field {
        &mut workspace.field
    }

    fn advance(
        &self,
        mechanism: &Mechanism,
        ws: &mut ExplicitWorkspace,
        state: &mut PhaseState,
        input: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError> {
        ws.field.acceleration(mechanism, &state.q, &state.v, input, &mut ws.dv[0]);
        for i in 0..mechanism.nv() {
            ws.v[i] = state.v[i] + h * ws.dv[0][i];
            ws.u[i] = h * ws.v[i];
        }
        mechanism.retract(&state.q, &ws.u, &mut ws.q);
        finish(mechanism, state, ws, h)
    }
}

/// Takes over the new state if it is finite.
fn finish(
    mechanism: &Mechanism,
    state: &mut PhaseState,
    ws: &mut ExplicitWorkspace,
    h: f64,
) -> Result<StepReport, StepError> {
    mechanism.follow(&mut ws.q, &mut ws.v);
    expect_finite(state.t, &ws.v, &ws.q)?;
    state.q.copy_from_slice(&ws.q);
    state.v.copy_from_slice(&ws.v);
    state.t += h;
    Ok(StepReport { substeps: 1, ..StepReport::default() })
}
