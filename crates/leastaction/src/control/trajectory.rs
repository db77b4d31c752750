//! States and inputs of a controlled motion, and what belongs to them.

use super::ControlError;
use super::plant::Plant;
use crate::mechanism::State;

/// `N + 1` states and `N` inputs.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// States, the start first.
    pub states: Vec<State>,
    /// Inputs, step after step.
    pub inputs: Vec<f64>,
}

impl Path {
    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.states.len().saturating_sub(1)
    }

    /// Inputs of step `k`.
    #[must_use]
    pub fn u(&self, k: usize) -> &[f64] {
        let nu = self.inputs.len() / self.steps().max(1);
        &self.inputs[k * nu..(k + 1) * nu]
    }

    /// The motion that inputs make from a start.
    ///
    /// # Errors
    /// If a step cannot be taken, or the plant was stopped.
    pub fn roll_out<P: Plant>(plant: &mut P, start: &State, inputs: Vec<f64>) -> Result<Self, ControlError> {
        let nu = plant.nu();
        let steps = inputs.len() / nu.max(1);
        let mut states = vec![start.clone()];
        for k in 0..steps {
            if plant.stopped() {
                return Err(ControlError::Stopped);
            }
            let mut next = start.clone();
            plant.step(&states[k], &inputs[k * nu..(k + 1) * nu], &mut next)?;
            next.t = start.t + (k + 1) as f64 * plant.h();
            states.push(next);
        }
        Ok(Self { states, inputs })
    }
}

/// `to = from` without allocating where the sizes fit.
pub(crate) fn copy_state(to: &mut State, from: &State) {
    to.t = from.t;
    to.q.clone_from(&from.q);
    to.v.clone_from(&from.v);
    to.warm.clone_from(&from.warm);
}
