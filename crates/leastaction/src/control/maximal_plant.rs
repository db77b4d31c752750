//! The engine with poses and constraints as a plant, for mechanisms with closed loops.

use std::ops::Deref;

use super::plant::{Plant, state_difference, state_retract};
use crate::dynamics::Dynamics;
use crate::integrator::maximal::{ContactDerivative, Maximal, MaximalWorkspace, StepDerivative};
use crate::integrator::{Input, Integrator, StepError};
use crate::linalg::{BadPivot, axpy, cholesky, cholesky_solve, dot};
use crate::mechanism::{Mechanism, Parameter, State};

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
    gradient: Vec<f64>,
    dynamics: Dynamics,
    parameters: usize,
    by_parameters: Vec<f64>,
}

impl<M: Deref<Target = Mechanism>> MaximalPlant<M> {
    /// A plant of order two and step `h`.
    ///
    /// # Errors
    /// If the engine does not support the mechanism, or the step is not positive.
    pub fn new(mechanism: M, h: f64) -> Result<Self, StepError> {
        Self::with_engine(mechanism, Maximal::default(), h)
    }

    /// A plant with options of the engine, at order two: with contact, which derivative its steps have.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_engine(mechanism: M, engine: Maximal, h: f64) -> Result<Self, StepError> {
        if !(h > 0.0 && h.is_finite()) {
            return Err(StepError::BadOption {
                option: "step",
                value: h.to_string(),
                remedy: "take a positive number".into(),
            });
        }
        let workspace = engine.workspace(&mechanism)?;
        let derivative = StepDerivative::new(&engine, &mechanism, &workspace);
        let (n, nu) = (mechanism.nv(), mechanism.nu());
        Ok(Self {
            dynamics: Dynamics::new(&mechanism),
            mechanism,
            engine,
            workspace,
            derivative,
            h,
            free: vec![0.0; 2 * n],
            input: vec![0.0; nu],
            dq: vec![0.0; n],
            dv: vec![0.0; n],
            gradient: vec![0.0; 2 * n],
            parameters: 0,
            by_parameters: Vec::new(),
        })
    }

    /// Takes the step and differentiates it.
    fn differentiate(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError> {
        let Self { mechanism, engine, workspace, derivative, h, .. } = self;
        let mut inner = engine.start(&*mechanism, workspace, x)?;
        engine.differentiate(&*mechanism, workspace, &mut inner, Input { u }, *h, derivative)?;
        engine.read_out(&*mechanism, workspace, &inner, next);
        Ok(())
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

    fn smoothing(&self) -> Option<f64> {
        match self.engine.contact_derivative {
            ContactDerivative::Relaxed { speed } => speed.or(self.workspace.smoothing_speed()),
            ContactDerivative::Exact => None,
        }
    }

    fn set_smoothing(&mut self, speed: f64) {
        self.engine.contact_derivative = ContactDerivative::Relaxed { speed: Some(speed) };
    }

    fn step(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError> {
        let Self { mechanism, engine, workspace, h, .. } = self;
        let mut inner = engine.start(&*mechanism, workspace, x)?;
        let report = engine.step(&*mechanism, workspace, &mut inner, Input { u }, *h)?;
        let relaxed = matches!(engine.contact_derivative, ContactDerivative::Relaxed { .. });
        if report.splits + report.fallbacks > 0 && !relaxed {
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
        self.differentiate(x, u, next)?;
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
        let np = self.parameters;
        self.by_parameters.resize(2 * n * np, 0.0);
        for p in 0..np {
            self.derivative.forward_parameter(p, &mut self.dq, &mut self.dv);
            for (row, value) in self.dq.iter().chain(&self.dv).enumerate() {
                self.by_parameters[row * np + p] = *value;
            }
        }
        Ok(())
    }

    fn differentiate_by(&mut self, parameters: &[Parameter]) -> Result<(), StepError> {
        self.derivative.differentiate_by(&self.mechanism, parameters)?;
        self.parameters = parameters.len();
        Ok(())
    }
    fn parameters(&self) -> usize {
        self.parameters
    }
    fn by_parameters(&self) -> &[f64] {
        &self.by_parameters
    }

    /// By the transposed sweeps, in O(n).
    fn pull_back(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        gradient: &mut dyn FnMut(&State, &mut [f64]),
        _slope: &mut Vec<f64>,
        out: &mut [f64],
    ) -> Result<(), StepError> {
        let (n, nu) = (self.mechanism.nv(), self.mechanism.nu());
        self.differentiate(x, u, next)?;
        gradient(next, &mut self.gradient);
        let Self { derivative, free, gradient, .. } = self;
        let (state, rest) = out.split_at_mut(2 * n);
        let (inputs, parameters) = rest.split_at_mut(nu);
        let width = derivative.width();
        derivative.adjoint_all(&gradient[..n], &gradient[n..], &mut free[..width], inputs, parameters);
        state.fill(0.0);
        let positions = derivative.free_positions().iter().copied();
        let columns = positions.chain(derivative.free_velocities().iter().map(|c| n + c));
        for (c, g) in columns.zip(free.iter()) {
            state[c] = *g;
        }
        Ok(())
    }

    fn by_given_state(&mut self, x: &State, gradient: &mut [f64]) {
        let n = self.mechanism.nv();
        let (mq, width) = (self.derivative.free_positions().len(), self.derivative.width());
        // The rotors of loop joints are not in the mass matrix of the tree.
        let rotors = self.mechanism.loop_joints().any(|id| self.mechanism.joint(id).armature != [0.0; 6]);
        if width == 2 * n || rotors {
            return;
        }
        let mut mass = vec![0.0; n * n];
        self.dynamics.mass_matrix_into(&self.mechanism, &x.q, &mut mass);
        // Columns of Z, Z_v and Y.
        let (mut positions, mut velocities, mut mixed) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..width {
            self.free.fill(0.0);
            self.free[i] = 1.0;
            self.derivative.expand(&self.free[..width], &mut self.dq, &mut self.dv);
            if i < mq {
                positions.push(self.dq.clone());
                mixed.push(self.dv.clone());
            } else {
                velocities.push(self.dv.clone());
            }
        }
        let free_v: Vec<f64> = self.derivative.free_velocities().iter().map(|c| gradient[n + c]).collect();
        let mut free_q: Vec<f64> = self.derivative.free_positions().iter().map(|c| gradient[*c]).collect();
        let Ok(by_velocity) = nearest_transposed(&mass, &velocities, free_v) else { return };
        for (g, y) in free_q.iter_mut().zip(&mixed) {
            *g -= dot(y, &by_velocity);
        }
        let Ok(by_position) = nearest_transposed(&mass, &positions, free_q) else { return };
        gradient[..n].copy_from_slice(&by_position);
        gradient[n..].copy_from_slice(&by_velocity);
    }

    fn difference(&self, from: &State, to: &State, out: &mut [f64]) {
        state_difference(&self.mechanism, from, to, out);
    }

    /// Moves the tree; where that opens a loop, the next step closes it first.
    fn retract(&self, x: &State, tangent: &[f64], out: &mut State) {
        state_retract(&self.mechanism, x, tangent, out);
    }
}

/// `M Z (Zᵀ M Z)⁻¹ g`: the transpose of finding the nearest `Z x`, in the metric of the mass matrix `M`.
fn nearest_transposed(mass: &[f64], columns: &[Vec<f64>], mut g: Vec<f64>) -> Result<Vec<f64>, BadPivot> {
    let (n, m) = (mass.len().isqrt(), columns.len());
    let heavy: Vec<Vec<f64>> =
        columns.iter().map(|z| mass.chunks_exact(n.max(1)).map(|row| dot(row, z)).collect()).collect();
    let mut square: Vec<f64> = columns.iter().flat_map(|z| heavy.iter().map(|heavy| dot(z, heavy))).collect();
    cholesky(&mut square, m)?;
    cholesky_solve(&square, m, &mut g, 1);
    let mut out = vec![0.0; n];
    g.iter().zip(&heavy).for_each(|(x, heavy)| axpy(*x, heavy, &mut out));
    Ok(out)
}
