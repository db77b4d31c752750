//! [`Stoppable`]: a plant that a flag can stop between two steps.

use std::sync::atomic::{AtomicBool, Ordering};

use super::plant::Plant;
use crate::integrator::StepError;
use crate::integrator::minimal::Trace;
use crate::mechanism::{Parameter, State};

/// A plant with a flag that another thread, or Ctrl-C, may set: searches and roll-outs then end within a step of it,
/// however many steps a sweep has.
#[derive(Debug)]
pub struct Stoppable<'a, P: ?Sized> {
    plant: &'a mut P,
    stop: &'a AtomicBool,
}

impl<'a, P: Plant + ?Sized> Stoppable<'a, P> {
    /// The plant, until `stop` is set.
    pub fn new(plant: &'a mut P, stop: &'a AtomicBool) -> Self {
        Self { plant, stop }
    }
}

impl<P: Plant + ?Sized> Plant for Stoppable<'_, P> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn smoothing(&self) -> Option<f64> {
        self.plant.smoothing()
    }
    fn set_smoothing(&mut self, speed: f64) {
        self.plant.set_smoothing(speed);
    }
    fn nx(&self) -> usize {
        self.plant.nx()
    }
    fn nu(&self) -> usize {
        self.plant.nu()
    }
    fn h(&self) -> f64 {
        self.plant.h()
    }
    fn step(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError> {
        self.plant.step(x, u, next)
    }
    fn linearize(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.plant.linearize(x, u, next, slope)
    }
    fn step_near(
        &mut self,
        x: &State,
        u: &[f64],
        trace: &mut Trace,
        next: &mut State,
    ) -> Result<(), StepError> {
        self.plant.step_near(x, u, trace, next)
    }
    fn linearize_near(
        &mut self,
        x: &State,
        u: &[f64],
        trace: &mut Trace,
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.plant.linearize_near(x, u, trace, next, slope)
    }
    fn differentiate_by(&mut self, parameters: &[Parameter]) -> Result<(), StepError> {
        self.plant.differentiate_by(parameters)
    }
    fn parameters(&self) -> usize {
        self.plant.parameters()
    }
    fn by_parameters(&self) -> &[f64] {
        self.plant.by_parameters()
    }
    fn pull_back(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        gradient: &mut dyn FnMut(&State, &mut [f64]),
        slope: &mut Vec<f64>,
        out: &mut [f64],
    ) -> Result<(), StepError> {
        self.plant.pull_back(x, u, next, gradient, slope, out)
    }
    fn by_given_state(&mut self, x: &State, gradient: &mut [f64]) {
        self.plant.by_given_state(x, gradient);
    }
    fn difference(&self, from: &State, to: &State, out: &mut [f64]) {
        self.plant.difference(from, to, out);
    }
    fn retract(&self, x: &State, tangent: &[f64], out: &mut State) {
        self.plant.retract(x, tangent, out);
    }
}
