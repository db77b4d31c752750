//! Optimal inputs by sweeps: expand along the motion, solve backward in time, roll forward.
//!
//! One iteration (6.6 to 6.14 of the theory page):
//!
//! 1. linearize every step exactly, expand the cost to second order (Gauss and Newton);
//! 2. backward: the best change of input at each step as a function of the change of state, within the limits
//!    (`backward.rs`), with a shift that holds the motion near the old one;
//! 3. forward: the nonlinear motion under that feedback, shortened until a merit function falls.
//!
//! States may start anywhere (multiple shooting): a gap between a state and where the step before leads closes by the
//! same fraction as the step taken, and is gone after the first full step.

use super::backward::Backward;
use super::cost::Objective;
use super::dense::{add_transposed_mul_vector, axpy, dot};
use super::plant::Plant;
use super::trajectory::{Path, copy_state};
use super::{ControlError, expect_length};
use crate::mechanism::State;
use crate::optimize::{SolveStatus, Wish};

/// What is to be controlled, besides plant and costs.
#[derive(Clone, Debug)]
pub struct ControlProblem {
    /// Where the motion starts.
    pub start: State,
    /// Number of steps.
    pub steps: usize,
    /// Smallest inputs; `-∞` where there is no limit.
    pub lower: Vec<f64>,
    /// Largest inputs.
    pub upper: Vec<f64>,
}

/// How the solver works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IlqrOptions {
    /// Largest gradient accepted, relative to the two parts it is the sum of.
    pub tolerance: f64,
    /// Largest gap accepted.
    pub gap: f64,
    /// Iterations.
    pub max_iterations: usize,
}

impl Default for IlqrOptions {
    fn default() -> Self {
        Self { tolerance: 1e-6, gap: 1e-9, max_iterations: 500 }
    }
}

/// One line of a convergence history.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlProgress {
    /// Iterations done.
    pub iteration: usize,
    /// Cost of the present motion.
    pub objective: f64,
    /// Largest gradient by an input that is free to move, relative.
    pub kkt: f64,
    /// Largest gap between a step and the state after it.
    pub gap: f64,
    /// Fraction of the last step that was taken.
    pub step: f64,
    /// Shift of the last backward sweep.
    pub shift: f64,
}

/// A controlled motion and how good it is.
#[derive(Clone, Debug)]
pub struct ControlSolution {
    /// Outcome.
    pub status: SolveStatus,
    /// The motion.
    pub path: Path,
    /// Its cost.
    pub objective: f64,
    /// Largest gradient by an input that is free to move, relative.
    pub kkt: f64,
    /// Largest gap between a step and the state after it.
    pub gap: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Convergence history.
    pub history: Vec<ControlProgress>,
}

const SHIFT_MIN: f64 = 1e-8;
const SHIFT_MAX: f64 = 1e10;
const HALVINGS: usize = 12;
/// Part of the predicted decrease that must be seen.
const ARMIJO: f64 = 1e-4;

/// Finds the best inputs from a first guess: a path whose states need not follow from its inputs.
///
/// `observe` sees every iteration and may stop the search; the best motion so far is then returned.
///
/// # Errors
/// If sizes do not fit, limits are empty, or the first guess cannot be expanded.
pub fn solve_control<P: Plant, O: Objective>(
    plant: &mut P,
    objective: &mut O,
    problem: &ControlProblem,
    guess: Path,
    options: &IlqrOptions,
    observe: &mut dyn FnMut(&ControlProgress) -> Wish,
) -> Result<ControlSolution, ControlError> {
    let mut solver = Solver::new(plant, objective, problem, guess, options)?;
    solver.run(observe)
}

struct Solver<'a, P, O> {
    plant: &'a mut P,
    objective: &'a mut O,
    problem: &'a ControlProblem,
    options: &'a IlqrOptions,
    path: Path,
    trial: Path,
    /// `[A B]` of every step.
    slopes: Vec<Vec<f64>>,
    /// Gradients and Hessians of every step and of the end.
    gradients: Vec<Vec<f64>>,
    hessians: Vec<Vec<f64>>,
    /// Tangent from state `k + 1` to where step `k` leads.
    gaps: Vec<f64>,
    backward: Backward,
    costate: Vec<f64>,
    scratch: Vec<f64>,
    reached: State,
    moved: Vec<f64>,
    change: Vec<f64>,
}

/// Slopes of the model along the step: of the cost, and its curvature.
#[derive(Clone, Copy, Debug)]
struct Model {
    slope: f64,
    curvature: f64,
}

impl<'a, P: Plant, O: Objective> Solver<'a, P, O> {
    fn new(
        plant: &'a mut P,
        objective: &'a mut O,
        problem: &'a ControlProblem,
        guess: Path,
        options: &'a IlqrOptions,
    ) -> Result<Self, ControlError> {
        let (nx, nu, n) = (plant.nx(), plant.nu(), problem.steps);
        if n == 0 || nu == 0 {
            return Err(ControlError::NothingToControl { steps: n, inputs: nu });
        }
        expect_length("lower limits", problem.lower.len(), nu)?;
        expect_length("upper limits", problem.upper.len(), nu)?;
        for (input, (lower, upper)) in problem.lower.iter().zip(&problem.upper).enumerate() {
            if lower.is_nan() || upper.is_nan() || lower > upper {
                return Err(ControlError::EmptyLimit { input, lower: *lower, upper: *upper });
            }
        }
        let mut path = guess;
        expect_length("inputs of the first guess", path.inputs.len(), n * nu)?;
        expect_length("states of the first guess", path.states.len(), n + 1)?;
        copy_state(&mut path.states[0], &problem.start);
        for (i, u) in path.inputs.iter_mut().enumerate() {
            *u = u.clamp(problem.lower[i % nu], problem.upper[i % nu]);
        }
        let w = nx + nu;
        Ok(Self {
            trial: path.clone(),
            path,
            slopes: vec![vec![0.0; nx * w]; n],
            gradients: vec![vec![0.0; w]; n + 1],
            hessians: vec![vec![0.0; w * w]; n + 1],
            gaps: vec![0.0; n * nx],
            backward: Backward::new(nx, nu, n),
            costate: vec![0.0; nx],
            scratch: vec![0.0; w],
            reached: problem.start.clone(),
            moved: vec![0.0; nx],
            change: vec![0.0; w],
            plant,
            objective,
            problem,
            options,
        })
    }

    fn run(
        &mut self,
        observe: &mut dyn FnMut(&ControlProgress) -> Wish,
    ) -> Result<ControlSolution, ControlError> {
        let mut history: Vec<ControlProgress> = Vec::new();
        let (mut shift, mut factor) = (1e-6, 1.0);
        let mut penalty = 0.0f64;
        let mut step = 0.0;
        let mut iteration = 0;
        let mut objective = self.cost_of_path();
        let status = loop {
            self.expand()?;
            let (kkt, gap) = (self.kkt(), super::dense::largest(&self.gaps));
            let progress = ControlProgress { iteration, objective, kkt, gap, step, shift };
            history.push(progress);
            let wish = observe(&progress);
            if kkt <= self.options.tolerance && gap <= self.options.gap {
                break SolveStatus::Solved;
            }
            if wish == Wish::Stop {
                break SolveStatus::Interrupted;
            }
            if iteration >= self.options.max_iterations {
                break SolveStatus::MaxIterations;
            }
            match self.improve(&mut objective, &mut shift, &mut factor, &mut penalty) {
                Some(taken) => step = taken,
                None if kkt <= 1e3 * self.options.tolerance && gap <= 1e3 * self.options.gap => {
                    break SolveStatus::AlmostSolved;
                }
                None => break SolveStatus::Stalled,
            }
            iteration += 1;
        };
        let last = history.last().copied().unwrap_or_default();
        Ok(ControlSolution {
            status,
            path: std::mem::take(&mut self.path),
            objective,
            kkt: last.kkt,
            gap: last.gap,
            iterations: iteration,
            history,
        })
    }

    /// One step that lowers the merit, with as much shift as it takes; the fraction taken, or `None`.
    fn improve(
        &mut self,
        objective: &mut f64,
        shift: &mut f64,
        factor: &mut f64,
        penalty: &mut f64,
    ) -> Option<f64> {
        let gaps: f64 = self.gaps.iter().map(|x| x.abs()).sum();
        loop {
            let solved = self.backward.sweep(
                &self.slopes,
                &self.gradients,
                &self.hessians,
                &self.gaps,
                &self.path.inputs,
                (&self.problem.lower, &self.problem.upper),
                *shift,
            );
            if solved {
                let model = self.predict();
                if gaps > 0.0 {
                    // Large enough that closing the gaps pays for the cost it brings.
                    *penalty = penalty.max(2.0 * (model.slope + 0.5 * model.curvature).max(0.0) / gaps);
                }
                if let Some((alpha, cost)) = self.search(*objective, model, gaps, *penalty) {
                    self.path.copy_from(&self.trial);
                    *objective = cost;
                    if alpha >= 0.25 {
                        *factor = (0.5f64).min(*factor / 2.0);
                        *shift = if *shift * *factor > SHIFT_MIN { *shift * *factor } else { SHIFT_MIN };
                    } else {
                        *factor = 1.0;
                        *shift = (*shift * 2.0).max(SHIFT_MIN);
                    }
                    return Some(alpha);
                }
            }
            *factor = (2.0f64).max(*factor * 2.0);
            *shift = (*shift * *factor).max(1e-6);
            if *shift > SHIFT_MAX {
                *shift = 1e-6;
                *factor = 1.0;
                return None;
            }
        }
    }

    fn cost_of_path(&mut self) -> f64 {
        let n = self.problem.steps;
        let mut sum = 0.0;
        for k in 0..n {
            sum += self.objective.stage(k, &self.path.states[k], self.path.u(k));
        }
        sum + self.objective.end(&self.path.states[n])
    }

    /// Derivatives of all steps and costs at the present path, and the gaps.
    fn expand(&mut self) -> Result<(), ControlError> {
        let (nx, nu, n) = (self.plant.nx(), self.plant.nu(), self.problem.steps);
        for k in 0..n {
            let (x, u) = (&self.path.states[k], &self.path.inputs[k * nu..(k + 1) * nu]);
            self.plant.linearize(x, u, &mut self.reached, &mut self.slopes[k])?;
            let gap = &mut self.gaps[k * nx..(k + 1) * nx];
            self.plant.difference(&self.path.states[k + 1], &self.reached, gap);
            // What a restart from the same numbers leaves is rounding.
            if super::dense::largest(gap) < 1e-12 {
                gap.fill(0.0);
            }
            self.gradients[k].fill(0.0);
            self.hessians[k].fill(0.0);
            self.objective.expand_stage(k, x, u, &mut self.gradients[k], &mut self.hessians[k]);
        }
        self.gradients[n].fill(0.0);
        self.hessians[n].fill(0.0);
        let last = &self.path.states[n];
        self.objective.expand_end(last, &mut self.gradients[n][..nx], &mut self.hessians[n][..nx * nx]);
        Ok(())
    }

    /// Largest gradient by a free input over the largest of the parts it is made of (6.14).
    fn kkt(&mut self) -> f64 {
        let (nx, nu, n) = (self.plant.nx(), self.plant.nu(), self.problem.steps);
        self.costate.copy_from_slice(&self.gradients[n][..nx]);
        let (mut worst, mut scale) = (0.0f64, 0.0f64);
        for k in (0..n).rev() {
            self.scratch.fill(0.0);
            add_transposed_mul_vector(&self.slopes[k], &self.costate, &mut self.scratch);
            for i in 0..nu {
                let (own, later) = (self.gradients[k][nx + i], self.scratch[nx + i]);
                let (gradient, u) = (own + later, self.path.inputs[k * nu + i]);
                let held = (u <= self.problem.lower[i] && gradient > 0.0)
                    || (u >= self.problem.upper[i] && gradient < 0.0);
                if !held {
                    worst = worst.max(gradient.abs());
                }
                scale = scale.max(own.abs()).max(later.abs());
            }
            for i in 0..nx {
                self.costate[i] = self.scratch[i] + self.gradients[k][i];
            }
        }
        if worst == 0.0 { 0.0 } else { worst / scale }
    }

    /// Slope and curvature of the cost along the linear motion under the new feedback.
    fn predict(&mut self) -> Model {
        let (nx, nu, n) = (self.plant.nx(), self.plant.nu(), self.problem.steps);
        let w = nx + nu;
        let (mut slope, mut curvature) = (0.0, 0.0);
        self.change.fill(0.0);
        for k in 0..n {
            let (dx, du) = self.change.split_at_mut(nx);
            du.copy_from_slice(self.backward.feedforward(k));
            super::dense::add_mul_vector(self.backward.gain(k), dx, du);
            slope += dot(&self.gradients[k], &self.change);
            curvature += quadratic(&self.hessians[k], &self.change);
            self.scratch[..nx].copy_from_slice(&self.gaps[k * nx..(k + 1) * nx]);
            super::dense::add_mul_vector(&self.slopes[k], &self.change, &mut self.scratch[..nx]);
            self.change[..nx].copy_from_slice(&self.scratch[..nx]);
            self.change[nx..w].fill(0.0);
        }
        slope += dot(&self.gradients[n][..nx], &self.change[..nx]);
        curvature += quadratic(&self.hessians[n][..nx * nx], &self.change[..nx]);
        Model { slope, curvature }
    }

    /// Shortens the step until the merit falls; the fraction and the cost there, with the motion in `trial`.
    fn search(&mut self, before: f64, model: Model, gaps: f64, penalty: f64) -> Option<(f64, f64)> {
        let descent = model.slope - penalty * gaps;
        if descent.is_nan() || descent >= 0.0 {
            return None;
        }
        let merit = before + penalty * gaps;
        let mut alpha = 1.0;
        for _ in 0..HALVINGS {
            if let Some(cost) = self.forward(alpha) {
                let after = cost + penalty * (1.0 - alpha) * gaps;
                let wanted = ARMIJO * alpha * descent;
                // Near the optimum the decrease drowns in rounding: then not rising is enough.
                let noise = 1e-13 * merit.abs();
                if after <= merit + wanted || (-descent * alpha < noise && after <= merit + noise) {
                    return Some((alpha, cost));
                }
            }
            alpha *= 0.5;
        }
        None
    }

    /// The motion under the new feedback with a fraction of the feedforward; its cost if every step can be taken.
    fn forward(&mut self, alpha: f64) -> Option<f64> {
        let (nx, nu, n) = (self.plant.nx(), self.plant.nu(), self.problem.steps);
        let mut cost = 0.0;
        copy_state(&mut self.trial.states[0], &self.problem.start);
        for k in 0..n {
            self.plant.difference(&self.path.states[k], &self.trial.states[k], &mut self.moved);
            let u = &mut self.trial.inputs[k * nu..(k + 1) * nu];
            u.copy_from_slice(&self.path.inputs[k * nu..(k + 1) * nu]);
            axpy(alpha, self.backward.feedforward(k), u);
            super::dense::add_mul_vector(self.backward.gain(k), &self.moved, u);
            for (u, (lower, upper)) in u.iter_mut().zip(self.problem.lower.iter().zip(&self.problem.upper)) {
                if u.is_nan() {
                    return None;
                }
                *u = u.clamp(*lower, *upper);
            }
            cost += self.objective.stage(k, &self.trial.states[k], u);
            self.plant.step(&self.trial.states[k], u, &mut self.reached).ok()?;
            self.reached.t = self.path.states[k + 1].t;
            let gap = &self.gaps[k * nx..(k + 1) * nx];
            if alpha < 1.0 && gap.iter().any(|x| *x != 0.0) {
                for (m, g) in self.moved.iter_mut().zip(gap) {
                    *m = -(1.0 - alpha) * g;
                }
                self.plant.retract(&self.reached, &self.moved, &mut self.trial.states[k + 1]);
            } else {
                copy_state(&mut self.trial.states[k + 1], &self.reached);
            }
        }
        cost += self.objective.end(&self.trial.states[n]);
        cost.is_finite().then_some(cost)
    }
}

/// `xᵀ H x`.
fn quadratic(h: &[f64], x: &[f64]) -> f64 {
    let n = x.len();
    (0..n).map(|i| x[i] * dot(&h[i * n..(i + 1) * n], x)).sum()
}
