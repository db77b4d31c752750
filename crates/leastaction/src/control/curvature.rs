//! Curvature of the plant weighted by costates: what turns the iteration into Newton's.
//!
//! `Σ_i λ_i ∇²f_i = ∂(Fᵀ λ)/∂(x, u)` at fixed `λ` (6.20), by differences of the exact derivative: one linearization per state and
//! input. Near the solution it replaces a linear rate of convergence by a quadratic one.

use super::plant::Plant;
use super::trajectory::Path;
use crate::integrator::StepError;
use crate::integrator::minimal::Trace;
use crate::linalg::{add_transposed_mul_vector, symmetrize};
use crate::mechanism::State;

/// Step of the differences: half the digits of what is differentiated.
const STEP: f64 = 1e-6;

/// Memory of the differences.
#[derive(Clone, Debug)]
pub(crate) struct Curvature {
    moved: State,
    reached: State,
    trace: Trace,
    slope: Vec<f64>,
    tangent: Vec<f64>,
    input: Vec<f64>,
    base: Vec<f64>,
    varied: Vec<f64>,
}

impl Curvature {
    pub(crate) fn new(start: &State, nx: usize, nu: usize) -> Self {
        Self {
            moved: start.clone(),
            reached: start.clone(),
            trace: Trace::default(),
            slope: Vec::new(),
            tangent: vec![0.0; nx],
            input: vec![0.0; nu],
            base: vec![0.0; nx + nu],
            varied: vec![0.0; nx + nu],
        }
    }

    /// The curvature of step `k` of the path, which left `trace`.
    pub(crate) fn weigh<P: Plant>(
        &mut self,
        plant: &mut P,
        path: &Path,
        k: usize,
        trace: &Trace,
        slope: &[f64],
        costate: &[f64],
        bend: &mut [f64],
    ) -> Result<(), StepError> {
        let (nx, w) = (self.tangent.len(), self.base.len());
        self.base.fill(0.0);
        add_transposed_mul_vector(slope, costate, &mut self.base);
        for i in 0..w {
            self.tangent.fill(0.0);
            self.input.copy_from_slice(path.u(k));
            if i < nx {
                self.tangent[i] = STEP;
            } else {
                self.input[i - nx] += STEP;
            }
            plant.retract(&path.states[k], &self.tangent, &mut self.moved);
            self.trace.copy_from(trace);
            plant.linearize_near(
                &self.moved,
                &self.input,
                &mut self.trace,
                &mut self.reached,
                &mut self.slope,
            )?;
            self.varied.fill(0.0);
            add_transposed_mul_vector(&self.slope, costate, &mut self.varied);
            for j in 0..w {
                bend[i * w + j] = (self.varied[j] - self.base[j]) / STEP;
            }
        }
        symmetrize(bend, w);
        Ok(())
    }
}
