//! Adaptive Runge–Kutta of order eight: the reference that orders and errors are measured against.

use super::dop853_table::{A, B, E3, E5, STAGES};
use super::{Baseline, Field, PhaseState, expect_finite};
use crate::integrator::{StepError, StepReport};
use crate::mechanism::Mechanism;
use crate::scalar::elementary;

/// Dormand–Prince 8(5,3) with error control inside every step.
///
/// A step of length `h` is covered by as many internal steps as the tolerance asks for.
#[derive(Clone, Copy, Debug)]
pub struct Dop853 {
    /// Absolute and relative tolerance per internal step.
    pub tolerance: f64,
}

impl Default for Dop853 {
    fn default() -> Self {
        Self { tolerance: 1e-10 }
    }
}

/// Internal steps allowed per call; reaching it means that the motion blows up.
const MAX_SUBSTEPS: u32 = 100_000;

impl Dop853 {
    /// With a tolerance, or the default.
    ///
    /// # Errors
    /// If the tolerance is not between 1e-15 and 1.
    pub fn with_tolerance(tolerance: Option<f64>) -> Result<Self, StepError> {
        let tolerance = tolerance.unwrap_or(Self::default().tolerance);
        if (1e-15..1.0).contains(&tolerance) {
            Ok(Self { tolerance })
        } else {
            Err(StepError::BadOption {
                option: "tolerance",
                value: tolerance.to_string(),
                remedy: "give a number between 1e-15 and 1".into(),
            })
        }
    }
}

/// Memory of [`Dop853`].
#[derive(Clone, Debug)]
pub struct Dop853Workspace {
    field: Field,
    u: Vec<f64>,
    v: Vec<f64>,
    du: [Vec<f64>; STAGES],
    dv: [Vec<f64>; STAGES],
    /// The state after the internal steps taken so far.
    q: Vec<f64>,
    w: Vec<f64>,
    q_next: Vec<f64>,
}

impl Baseline for Dop853 {
    const LABEL: &'static str = "dop853";
    type Workspace = Dop853Workspace;

    fn memory(mechanism: &Mechanism) -> Result<Dop853Workspace, StepError> {
        let zero = || vec![0.0; mechanism.nv()];
        Ok(Dop853Workspace {
            field: Field::new(mechanism, Self::LABEL)?,
            u: zero(),
            v: zero(),
            du: std::array::from_fn(|_| zero()),
            dv: std::array::from_fn(|_| zero()),
            q: vec![0.0; mechanism.nq()],
            w: zero(),
            q_next: vec![0.0; mechanism.nq()],
        })
    }

    fn field(workspace: &mut Dop853Workspace) -> &mut Field {
        &mut workspace.field
    }

    fn advance(
        &self,
        mechanism: &Mechanism,
        ws: &mut Dop853Workspace,
        state: &mut PhaseState,
        input: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError> {
        ws.q.copy_from_slice(&state.q);
        ws.w.copy_from_slice(&state.v);
        let mut done = 0.0;
        let mut trial = if state.next_step == 0.0 { h } else { state.next_step.abs().copysign(h) };
        let mut next_step = trial;
        let (mut accepted, mut attempts) = (0, 0);
        let mut rejected = false;
        // The last internal step ends exactly at h.
        while done != h {
            attempts += 1;
            let left = h - done;
            let last = trial.abs() >= left.abs() * (1.0 - 1e-12);
            let k = if last { left } else { trial };
            let error = self.attempt(mechanism, ws, input, k);
            if !error.is_finite() && k.abs() < 1e-12 * h.abs() || attempts > MAX_SUBSTEPS {
                return Err(StepError::NotConverged {
                    time: state.t + done,
                    step: k,
                    iterations: attempts,
                    residual: error,
                    tolerance: self.tolerance,
                });
            }
            if error < 1.0 {
                let grow = if error == 0.0 {
                    6.0
                } else {
                    (0.9 * elementary::powf(error, -0.125)).clamp(0.333, 6.0)
                };
                let grow = if rejected { grow.min(1.0) } else { grow };
                // A step cut short by the end of the interval says little about the next one.
                next_step = if last && k.abs() < trial.abs() {
                    trial.abs().max((k * grow).abs())
                } else {
                    (k * grow).abs()
                };
                trial = next_step.copysign(h);
                done = if last { h } else { done + k };
                std::mem::swap(&mut ws.q, &mut ws.q_next);
                std::mem::swap(&mut ws.w, &mut ws.v);
                accepted += 1;
                rejected = false;
            } else {
                let shrink =
                    if error.is_finite() { (0.9 * elementary::powf(error, -0.125)).max(0.333) } else { 0.1 };
                trial = k * shrink;
                rejected = true;
            }
        }
        expect_finite(state.t, &ws.w, &ws.q)?;
        state.q.copy_from_slice(&ws.q);
        state.v.copy_from_slice(&ws.w);
        state.t += h;
        state.next_step = next_step;
        Ok(StepReport { substeps: accepted, ..StepReport::default() })
    }
}

impl Dop853 {
    /// One internal step of length `h` from `(ws.q, ws.w)` to `(ws.q_next, ws.v)`; returns the scaled error.
    fn attempt(&self, mechanism: &Mechanism, ws: &mut Dop853Workspace, input: &[f64], h: f64) -> f64 {
        let nv = mechanism.nv();
        let sum = |row: &[(usize, f64)], k: &[Vec<f64>; STAGES], i: usize| -> f64 {
            row.iter().map(|(s, a)| a * k[*s][i]).sum()
        };
        for stage in 0..STAGES {
            for i in 0..nv {
                ws.u[i] = h * sum(A[stage], &ws.du, i);
                ws.v[i] = ws.w[i] + h * sum(A[stage], &ws.dv, i);
            }
            let (du, dv) = (&mut ws.du[stage], &mut ws.dv[stage]);
            ws.field.slope(mechanism, &ws.q, &ws.u, &ws.v, input, du, dv);
        }
        let (mut error5, mut error3) = (0.0, 0.0);
        for i in 0..nv {
            ws.u[i] = h * sum(B, &ws.du, i);
            ws.v[i] = ws.w[i] + h * sum(B, &ws.dv, i);
            for (k, scale) in
                [(&ws.du, 1.0 + ws.u[i].abs()), (&ws.dv, 1.0 + ws.w[i].abs().max(ws.v[i].abs()))]
            {
                let scale = self.tolerance * scale;
                error5 += (sum(E5, k, i) / scale).powi(2);
                error3 += (sum(E3, k, i) / scale).powi(2);
            }
        }
        mechanism.retract(&ws.q, &ws.u, &mut ws.q_next);
        mechanism.follow(&mut ws.q_next, &mut ws.v);
        if error5 == 0.0 {
            return 0.0;
        }
        h.abs() * error5 / ((error5 + 0.01 * error3) * 2.0 * nv as f64).sqrt()
    }
}
