//! The engine with poses and constraints as a plant, for mechanisms with closed loops.

use std::ops::Deref;

use super::plant::{Plant, state_difference, state_retract};
use crate::integrator::maximal::{Maximal, MaximalWorkspace, StepDerivative};
use crate::integrator::{Input, Integrator, StepError};
use crate::mechanism::{Mechanism, State};

/// The maximal engine as a plant.
///
/// Tangents are those of all joints of the spanning tree. Of admissible ones, the only ones that occur on a motion, a free part
/// determines the rest; the derivative has its columns there and zeros elsewhere.
#[derive(Debug)]
pub struct MaximalPlant<M> {
    mechanism: M,
    engine: Maximal,
    workspace: MaximalWorkspace,
    derivative: StepDerivative,
    h: f64,
    free: Vec<f64>,
    input: Vec<f64>,
    dq: Vec<f64>,
    dv: Vec<f64>,
}

impl<M: Deref<Target = Mechanism>> MaximalPlant<M> {
    /// A plant of order two and step `h`.
    ///
    /// # Errors
    /// If the engine does not support the mechanism, or the step is not positive.
    pub fn new(mechanism: M, h: f64) -> Result<Self, StepError> {
        if !(h > 0.0 && h.is_finite()) {
            return Err(StepError::BadOption {
                option: "step",
                value: h.to_string(),
                remedy: "take a positive number".into(),
            });
        }
        let engine = Maximal::default();
        let workspace = engine.workspace(&mechanism)?;
        let derivative = StepDerivative::new(&engine, &mechanism, &workspace);
        let (n, nu) = (mechanism.nv(), mechanism.nu());
        Ok(Self {
            mechanism,
            engine,
            workspace,
            derivative,
            h,
            free: vec![0.0; 2 * n],
            input: vec![0.0; nu],
            dq: vec![0.0; n],
            dv: vec![0.0; n],
        })
    }

    /// Column `column` of `[A B]` from the products with a unit of `free` or `input`.
    fn column(&mut self, width: usize, column: usize, slope: &mut [f64]) {
        let (n, w) = (self.mechanism.nv(), 2 * self.mechanism.nv() + self.mechanism.nu());
        self.derivative.forward_all(&self.free[..width], &self.input, &mut self.dq, &mut self.dv);
        for i in 0..n {
            slope[i * w + column] = self.dq[i];
            slope[(n + i) * w + column] = self.dv[i];
        }
    }
}

impl<M: Deref<Target = Mechanism>> Plant for MaximalPlant<M> {
    fn nx(&self) -> usize {
        2 * self.mechanism.nv()
    }
    fn nu(&self) -> usize {
        self.mechanism.nu()
    }
    fn h(&self) -> f64 {
        self.h
    }

    fn step(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError> {
        let Self { mechanism, engine, workspace, h, .. } = self;
        let mut inner = engine.start(&*mechanism, workspace, x)?;
        let report = engine.step(&*mechanism, workspace, &mut inner, Input { u }, *h)?;
        if report.splits + report.fallbacks > 0 {
            // The step exists but has no derivative: a search must not end there.
            return Err(StepError::Singular {
                time: x.t,
                what: "derivative of a step that had to be split or whose loops are at a singular pose",
                joint: "of the mechanism".into(),
                remedy: "take a smaller step or another motion",
            });
        }
        engine.read_out(&*mechanism, workspace, &inner, next);
        Ok(())
    }

    fn linearize(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        let (n, nu) = (self.mechanism.nv(), self.mechanism.nu());
        {
            let Self { mechanism, engine, workspace, derivative, h, .. } = self;
            let mut inner = engine.start(&*mechanism, workspace, x)?;
            engine.differentiate(&*mechanism, workspace, &mut inner, Input { u }, *h, derivative)?;
            engine.read_out(&*mechanism, workspace, &inner, next);
        }
        slope.clear();
        slope.resize(2 * n * (2 * n + nu), 0.0);
        let width = self.derivative.width();
        let positions = self.derivative.free_positions().to_vec();
        let velocities = self.derivative.free_velocities().to_vec();
        self.input.fill(0.0);
        for (i, c) in positions.iter().copied().chain(velocities.iter().map(|c| n + c)).enumerate() {
            self.free.fill(0.0);
            self.free[i] = 1.0;
            self.column(width, c, slope);
        }
        self.free.fill(0.0);
        for j in 0..nu {
            self.input.fill(0.0);
            self.input[j] = 1.0;
            self.column(width, 2 * n + j, slope);
        }
        Ok(())
    }

    fn difference(&self, from: &State, to: &State, out: &mut [f64]) {
        state_difference(&self.mechanism, from, to, out);
    }

    /// Moves the tree; where that opens a loop, the next step closes it first.
    fn retract(&self, x: &State, tangent: &[f64], out: &mut State) {
        state_retract(&self.mechanism, x, tangent, out);
    }
}
