//! [`InputRun`]: inputs from step to step: states of actuators, and what the inputs did.

use super::Actuation;
use crate::mechanism::{Mechanism, State};

/// Memory of the inputs of a simulation.
///
/// The state of an actuator depends on its control alone, which is held over a step: it is advanced exactly, and the step is
/// taken under its mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputRun {
    /// States of actuators by input; empty if there are none.
    pub(crate) act: Vec<f64>,
    next: Vec<f64>,
    /// What acts: controls, or means of states.
    acting: Vec<f64>,
    /// Mean forces of the last step.
    pub(crate) acted: Vec<f64>,
    /// Work of the last step.
    pub(crate) work: f64,
    /// True if the forces are those at both ends, of which the second is still to be added.
    pub(crate) at_ends: bool,
    /// Forces at the second end, before they are added.
    scratch: Vec<f64>,
}

impl InputRun {
    pub(crate) fn new(mechanism: &Mechanism, start: &State) -> Self {
        let n = mechanism.nu();
        let mut act = Vec::new();
        if mechanism.has_activations() {
            act.clone_from(&start.act);
            act.resize(n, 0.0);
            for (a, drive) in act.iter_mut().zip(mechanism.drives()) {
                let [low, high] = drive.law.activation_range;
                *a = if drive.law.is_activated() { a.clamp(low, high) } else { 0.0 };
            }
        }
        let zero = vec![0.0; n];
        let next = act.clone();
        Self {
            act,
            next,
            acting: zero.clone(),
            acted: zero.clone(),
            work: 0.0,
            at_ends: false,
            scratch: zero,
        }
    }

    /// What acts over the step. Does not allocate.
    pub(crate) fn advance<'a>(&'a mut self, mechanism: &Mechanism, u: &'a [f64], h: f64) -> &'a [f64] {
        if self.act.is_empty() {
            return u;
        }
        self.acting.copy_from_slice(u);
        for (k, drive) in mechanism.drives().iter().enumerate().filter(|(_, drive)| drive.law.is_activated())
        {
            (self.acting[k], self.next[k]) = drive.law.advance(self.act[k], u[k], h);
        }
        &self.acting
    }

    /// The step was taken. Does not allocate.
    pub(crate) fn accept(&mut self, h: f64, actuation: Option<Actuation<'_>>) {
        self.act.copy_from_slice(&self.next);
        self.work = if self.acted.is_empty() { 0.0 } else { f64::NAN };
        if let Some(Actuation { impulse, work }) = actuation {
            self.at_ends = false;
            self.work = work;
            for (acted, impulse) in self.acted.iter_mut().zip(impulse) {
                *acted = impulse / h;
            }
        }
    }

    /// Forces at the first end of a step whose method does not tell. Does not allocate.
    pub(crate) fn before(&mut self, mechanism: &Mechanism, u: &[f64], h: f64, state: &State) {
        self.advance(mechanism, u, h);
        if self.act.is_empty() {
            self.acting.copy_from_slice(u);
        }
        mechanism.input_forces_into(&self.acting, &state.q, &state.v, &mut self.acted);
        self.at_ends = true;
    }

    /// Forces at the second end.
    pub(crate) fn after(&mut self, mechanism: &Mechanism, state: &State) {
        mechanism.input_forces_into(&self.acting, &state.q, &state.v, &mut self.scratch);
        for (acted, end) in self.acted.iter_mut().zip(&self.scratch) {
            *acted = 0.5 * (*acted + end);
        }
        self.at_ends = false;
    }
}
