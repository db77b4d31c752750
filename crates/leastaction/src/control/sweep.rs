//! [`Sweeper`]: the present motion with its expansions, and what moves it.

use super::backward::Backward;
use super::barrier::Barrier;
use super::cost::Objective;
use super::curvature::Curvature;
use super::ilqr::{ControlProblem, Shift};
use super::plant::Plant;
use super::trajectory::{Path, copy_state};
use super::{ControlError, expect_length};
use crate::integrator::minimal::Trace;
use crate::linalg::{add_mul_vector, add_transposed_mul_vector, axpy, dot, largest};
use crate::mechanism::State;

const HALVINGS: usize = 12;
/// Part of the predicted decrease that must be seen.
const ARMIJO: f64 = 1e-4;
/// Smoothing of derivatives falls by this factor, down to this part of what it was at first.
const SHARPER: f64 = 0.3;
const SHARPEST: f64 = 1e-3;
/// A barrier is lowered by this factor.
const LOWER: f64 = 0.2;

/// Slope and curvature of the cost along the step that the backward sweep proposes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) slope: f64,
    pub(crate) curvature: f64,
}

/// A path, the derivatives of all its steps and costs, and memory for trials.
pub(crate) struct Sweeper<'a, P, O> {
    plant: &'a mut P,
    objective: &'a mut O,
    problem: &'a ControlProblem,
    pub(crate) path: Path,
    /// Cost of the path, without the barrier.
    pub(crate) cost: f64,
    barrier: Option<Barrier>,
    /// True while no step wanted an input beyond its limits: they are left out of account.
    carefree: bool,
    /// True if the step of the last sweep wants an input beyond its limits.
    beyond: bool,
    trial: Path,
    /// How the steps of the path and of the trial were solved.
    traces: Vec<Trace>,
    trial_traces: Vec<Trace>,
    /// `[A B]` of every step, and those of the trial; whether the ones of the path are at hand, of the trial likewise.
    slopes: Vec<Vec<f64>>,
    trial_slopes: Vec<Vec<f64>>,
    linear: bool,
    trial_linear: bool,
    /// True once states follow from inputs: what is left of the gaps is rounding.
    closed: bool,
    /// True if the last search took the whole step: then the next one most likely does, and differentiates as it goes.
    whole: bool,
    /// Gradients and Hessians of every step and of the end, with those of the barrier.
    gradients: Vec<Vec<f64>>,
    hessians: Vec<Vec<f64>>,
    /// The plant's curvature by step, and whether it is that of the path.
    bends: Vec<Vec<f64>>,
    bent: bool,
    /// Hessians with the plant's curvature.
    curved: Vec<Vec<f64>>,
    use_curved: bool,
    /// Tangent from state `k + 1` to where step `k` leads.
    gaps: Vec<f64>,
    backward: Backward,
    curvature: Curvature,
    open: (Vec<f64>, Vec<f64>),
    costate: Vec<f64>,
    scratch: Vec<f64>,
    reached: State,
    moved: Vec<f64>,
    change: Vec<f64>,
    /// The plant's smoothing at first.
    smoothing: Option<f64>,
}

impl<'a, P: Plant, O: Objective> Sweeper<'a, P, O> {
    pub(crate) fn new(
        plant: &'a mut P,
        objective: &'a mut O,
        problem: &'a ControlProblem,
        guess: Path,
    ) -> Result<Self, ControlError> {
        let (nx, nu, n) = (plant.nx(), plant.nu(), problem.steps);
        if n == 0 || nu == 0 {
            return Err(ControlError::NothingToControl { steps: n, inputs: nu });
        }
        expect_length("lower limits", problem.lower.len(), nu)?;
        expect_length("upper limits", problem.upper.len(), nu)?;
        for (input, (lower, upper)) in problem.lower.iter().zip(&problem.upper).enumerate() {
            if lower.is_nan() || upper.is_nan() || lower >= upper {
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
            cost: 0.0,
            barrier: None,
            carefree: true,
            beyond: false,
            traces: vec![Trace::default(); n],
            trial_traces: vec![Trace::default(); n],
            slopes: vec![vec![0.0; nx * w]; n],
            trial_slopes: vec![vec![0.0; nx * w]; n],
            linear: false,
            trial_linear: false,
            closed: false,
            whole: false,
            gradients: vec![vec![0.0; w]; n + 1],
            hessians: vec![vec![0.0; w * w]; n + 1],
            bends: Vec::new(),
            bent: false,
            curved: Vec::new(),
            use_curved: false,
            gaps: vec![0.0; n * nx],
            backward: Backward::new(nx, nu, n),
            curvature: Curvature::new(&problem.start, nx, nu),
            open: (vec![f64::NEG_INFINITY; nu], vec![f64::INFINITY; nu]),
            costate: vec![0.0; nx],
            scratch: vec![0.0; w],
            reached: problem.start.clone(),
            moved: vec![0.0; nx],
            change: vec![0.0; w],
            smoothing: plant.smoothing(),
            plant,
            objective,
            problem,
        })
    }

    /// True if the step of the last sweep is the first that does not stay within the limits.
    pub(crate) fn meets_limits(&self) -> bool {
        self.carefree && self.beyond
    }

    /// Puts a barrier before the limits and rolls a path without gaps anew.
    pub(crate) fn raise_barrier(&mut self) -> Result<(), ControlError> {
        let (nx, nu) = (self.plant.nx(), self.plant.nu());
        self.carefree = false;
        let w = nx + nu;
        let prices: Vec<f64> = (0..nu).map(|i| self.hessians[0][(nx + i) * (w + 1)]).collect();
        let had_gaps = self.gaps() > 0.0;
        self.closed = false;
        self.barrier = Barrier::new(self.problem, &prices, &mut self.path.inputs);
        if self.barrier.is_some() && !had_gaps {
            let inputs = self.path.inputs.clone();
            // Where the moved inputs cannot be rolled out the old states stay, with gaps.
            if let Ok(rolled) = Path::roll_out(self.plant, &self.problem.start, inputs) {
                self.path = rolled;
                self.closed = true;
            }
        }
        self.linearize()?;
        self.expand_costs();
        Ok(())
    }

    pub(crate) fn barrier_height(&self) -> f64 {
        self.barrier.as_ref().map_or(0.0, |barrier| barrier.height)
    }

    /// What the barrier may still cost, if there is one.
    pub(crate) fn barrier_gap(&self) -> Option<f64> {
        self.barrier.as_ref().map(Barrier::gap)
    }

    pub(crate) fn lower_barrier(&mut self) {
        if let Some(barrier) = &mut self.barrier {
            barrier.lower_to(LOWER * barrier.height);
        }
    }

    /// From now on limits act exactly.
    pub(crate) fn drop_barrier(&mut self) {
        self.barrier = None;
    }

    /// True once the caller wants no more; whatever is under way then comes to nothing.
    pub(crate) fn stopped(&self) -> bool {
        self.plant.stopped()
    }

    /// Derivatives with less smoothing, where they are smoothed at all; false if they are as sharp as they get.
    ///
    /// Motions are those of the plant as it is, and only derivatives are smoothed: their promises hold the less the nearer the best
    /// motion is.
    pub(crate) fn sharpen(&mut self) -> Result<bool, ControlError> {
        let (Some(now), Some(first)) = (self.plant.smoothing(), self.smoothing) else { return Ok(false) };
        let next = SHARPER * now;
        if next <= SHARPEST * first {
            return Ok(false);
        }
        self.plant.set_smoothing(next);
        match self.linearize() {
            Err(ControlError::Stopped) => Err(ControlError::Stopped),
            Err(_) => {
                self.plant.set_smoothing(now);
                self.linearize()?;
                Ok(false)
            }
            Ok(()) => Ok(true),
        }
    }

    /// Leaves the plant with the smoothing that it came with.
    pub(crate) fn give_back(&mut self) {
        if let Some(first) = self.smoothing {
            self.plant.set_smoothing(first);
        }
    }

    /// Largest gap.
    pub(crate) fn gap(&self) -> f64 {
        largest(&self.gaps)
    }

    /// Sum of all gaps.
    pub(crate) fn gaps(&self) -> f64 {
        self.gaps.iter().map(|x| x.abs()).sum()
    }

    /// Derivatives of all steps at the present path, and the gaps.
    pub(crate) fn linearize(&mut self) -> Result<(), ControlError> {
        let (nx, nu, n) = (self.plant.nx(), self.plant.nu(), self.problem.steps);
        self.bent = false;
        if std::mem::take(&mut self.linear) {
            // A whole step leaves no gaps.
            self.gaps.fill(0.0);
            return Ok(());
        }
        for k in 0..n {
            if self.plant.stopped() {
                return Err(ControlError::Stopped);
            }
            let (x, u) = (&self.path.states[k], &self.path.inputs[k * nu..(k + 1) * nu]);
            self.plant.linearize_near(x, u, &mut self.traces[k], &mut self.reached, &mut self.slopes[k])?;
            let gap = &mut self.gaps[k * nx..(k + 1) * nx];
            self.plant.difference(&self.path.states[k + 1], &self.reached, gap);
            // What a restart from the same numbers leaves is rounding.
            if self.closed || largest(gap) < 1e-12 {
                gap.fill(0.0);
            }
        }
        Ok(())
    }

    /// The cost of the path and its expansions, with those of the barrier.
    pub(crate) fn expand_costs(&mut self) {
        let (nx, n) = (self.plant.nx(), self.problem.steps);
        self.cost = 0.0;
        for k in 0..n {
            let (x, u) = (&self.path.states[k], self.path.u(k));
            let (gradient, hessian) = (&mut self.gradients[k], &mut self.hessians[k]);
            gradient.fill(0.0);
            hessian.fill(0.0);
            self.cost += self.objective.stage(k, x, u);
            self.objective.expand_stage(k, x, u, gradient, hessian);
            if let Some(barrier) = &self.barrier {
                barrier.expand(k, u, nx, gradient, hessian);
            }
        }
        self.gradients[n].fill(0.0);
        self.hessians[n].fill(0.0);
        let last = &self.path.states[n];
        self.cost += self.objective.end(last);
        self.objective.expand_end(last, &mut self.gradients[n][..nx], &mut self.hessians[n][..nx * nx]);
        self.use_curved = false;
    }

    pub(crate) fn uses_curvature(&self) -> bool {
        self.use_curved
    }

    /// Adds the plant's curvature to the Hessians, or takes it out of use.
    pub(crate) fn expand_curvature(&mut self, wanted: bool) {
        self.use_curved = wanted && self.try_curvature().is_ok();
    }

    fn try_curvature(&mut self) -> Result<(), ControlError> {
        if !self.bent {
            self.bend()?;
        }
        self.curved.clone_from(&self.hessians);
        for (hessian, bend) in self.curved.iter_mut().zip(&self.bends) {
            hessian.iter_mut().zip(bend).for_each(|(h, b)| *h += b);
        }
        Ok(())
    }

    /// Curvature of all steps of the path. The barrier has no part in it: costates are gradients by states.
    fn bend(&mut self) -> Result<(), ControlError> {
        let (nx, nu, n) = (self.plant.nx(), self.plant.nu(), self.problem.steps);
        let w = nx + nu;
        self.bends.resize_with(n, || vec![0.0; w * w]);
        self.costate.copy_from_slice(&self.gradients[n][..nx]);
        for k in (0..n).rev() {
            if self.plant.stopped() {
                return Err(ControlError::Stopped);
            }
            let (trace, slope, bend) = (&self.traces[k], &self.slopes[k], &mut self.bends[k]);
            self.curvature.weigh(self.plant, &self.path, k, trace, slope, &self.costate, bend)?;
            self.scratch.copy_from_slice(&self.gradients[k]);
            add_transposed_mul_vector(&self.slopes[k], &self.costate, &mut self.scratch);
            self.costate.copy_from_slice(&self.scratch[..nx]);
        }
        self.bent = true;
        Ok(())
    }

    /// A backward sweep; what its step promises, or `None` if it has no minimum or was stopped.
    pub(crate) fn sweep(&mut self, shift: f64) -> Option<Model> {
        // Behind the barrier the small programs have no bounds.
        let limits = if self.carefree || self.barrier.is_some() {
            (self.open.0.as_slice(), self.open.1.as_slice())
        } else {
            (self.problem.lower.as_slice(), self.problem.upper.as_slice())
        };
        let hessians = if self.use_curved { &self.curved } else { &self.hessians };
        let solved = self.backward.sweep(
            &self.slopes,
            &self.gradients,
            hessians,
            &self.gaps,
            &self.path.inputs,
            limits,
            shift,
            &|| self.plant.stopped(),
        );
        solved.then(|| self.predict())
    }

    /// A backward sweep with as much shift as it takes, without curvature if that is in the way.
    pub(crate) fn sweep_shifted(&mut self, shift: &mut Shift) -> Option<Model> {
        loop {
            let model = self.sweep(shift.value);
            let descends = model.is_some_and(|m| m.slope < 0.0 || self.gaps() > 0.0);
            if self.use_curved && !descends {
                self.use_curved = false;
            } else if model.is_some() || !shift.grow() {
                return model;
            }
        }
    }

    /// Slope and curvature of the cost along the linear motion under the new feedback.
    fn predict(&mut self) -> Model {
        let (nx, n) = (self.plant.nx(), self.problem.steps);
        let hessians = if self.use_curved { &self.curved } else { &self.hessians };
        let (mut slope, mut curvature) = (0.0, 0.0);
        let ControlProblem { lower, upper, .. } = self.problem;
        self.beyond = false;
        self.change.fill(0.0);
        for k in 0..n {
            let (dx, du) = self.change.split_at_mut(nx);
            du.copy_from_slice(self.backward.feedforward(k));
            add_mul_vector(self.backward.gain(k), dx, du);
            for (i, (u, du)) in self.path.u(k).iter().zip(&*du).enumerate() {
                self.beyond |= u + du < lower[i] || u + du > upper[i];
            }
            slope += dot(&self.gradients[k], &self.change);
            curvature += quadratic(&hessians[k], &self.change);
            self.scratch[..nx].copy_from_slice(&self.gaps[k * nx..(k + 1) * nx]);
            add_mul_vector(&self.slopes[k], &self.change, &mut self.scratch[..nx]);
            self.change[..nx].copy_from_slice(&self.scratch[..nx]);
        }
        slope += dot(&self.gradients[n][..nx], &self.change[..nx]);
        curvature += quadratic(&hessians[n][..nx * nx], &self.change[..nx]);
        Model { slope, curvature }
    }

    /// Shortens the step until the merit falls, and takes it; the fraction.
    pub(crate) fn search(&mut self, model: Model, gaps: f64, penalty: f64) -> Option<f64> {
        let descent = model.slope - penalty * gaps;
        if descent.is_nan() || descent >= 0.0 {
            return None;
        }
        let nu = self.plant.nu();
        let before = self.path.inputs.chunks(nu).map(|u| self.barrier_value(u)).sum::<f64>();
        let merit = self.cost + before + penalty * gaps;
        let mut alpha = 1.0;
        for _ in 0..HALVINGS {
            if let Some((cost, barrier)) = self.forward(alpha) {
                let after = cost + barrier + penalty * (1.0 - alpha) * gaps;
                let wanted = ARMIJO * alpha * descent;
                // Near the optimum the decrease drowns in rounding: then not rising is enough.
                let noise = 1e-13 * merit.abs().max(self.cost.abs());
                if after <= merit + wanted || (-descent * alpha < noise && after <= merit + noise) {
                    if let Some(barrier) = &mut self.barrier {
                        barrier.follow(&self.path.inputs, &self.trial.inputs);
                    }
                    self.swap_trial();
                    self.whole = alpha == 1.0;
                    self.closed |= self.whole || gaps == 0.0;
                    if self.trial_linear {
                        std::mem::swap(&mut self.slopes, &mut self.trial_slopes);
                        self.linear = true;
                    }
                    return Some(alpha);
                }
            }
            alpha *= 0.5;
        }
        None
    }

    /// Goes back to where the last step came from.
    pub(crate) fn step_back(&mut self) -> Result<(), ControlError> {
        self.swap_trial();
        self.linear = false;
        self.closed = false;
        self.linearize()
    }

    fn swap_trial(&mut self) {
        std::mem::swap(&mut self.path, &mut self.trial);
        std::mem::swap(&mut self.traces, &mut self.trial_traces);
    }

    fn barrier_value(&self, u: &[f64]) -> f64 {
        self.barrier.as_ref().map_or(0.0, |barrier| barrier.value(u))
    }

    /// The motion under the new feedback with a fraction of the feedforward; its cost and barrier if every step can be taken.
    fn forward(&mut self, alpha: f64) -> Option<(f64, f64)> {
        let (nx, nu, n) = (self.plant.nx(), self.plant.nu(), self.problem.steps);
        let (mut cost, mut walls) = (0.0, 0.0);
        self.trial_linear = alpha == 1.0 && self.whole;
        copy_state(&mut self.trial.states[0], &self.problem.start);
        for k in 0..n {
            if self.plant.stopped() {
                return None;
            }
            self.plant.difference(&self.path.states[k], &self.trial.states[k], &mut self.moved);
            let u = &mut self.trial.inputs[k * nu..(k + 1) * nu];
            u.copy_from_slice(&self.path.inputs[k * nu..(k + 1) * nu]);
            axpy(alpha, self.backward.feedforward(k), u);
            add_mul_vector(self.backward.gain(k), &self.moved, u);
            for (i, u) in u.iter_mut().enumerate() {
                if u.is_nan() {
                    return None;
                }
                *u = match &self.barrier {
                    Some(barrier) => barrier.confine(i, self.path.inputs[k * nu + i], *u),
                    None => snap(*u, self.problem.lower[i], self.problem.upper[i]),
                };
            }
            if let Some(barrier) = &self.barrier {
                walls += barrier.value(u);
            }
            cost += self.objective.stage(k, &self.trial.states[k], u);
            let (x, trace) = (&self.trial.states[k], &mut self.trial_traces[k]);
            trace.copy_from(&self.traces[k]);
            if self.trial_linear {
                let slope = &mut self.trial_slopes[k];
                self.trial_linear = self.plant.linearize_near(x, u, trace, &mut self.reached, slope).is_ok();
                // A step without derivative may be one that can be taken.
                if !self.trial_linear {
                    trace.copy_from(&self.traces[k]);
                }
            }
            if !self.trial_linear {
                self.plant.step_near(x, u, trace, &mut self.reached).ok()?;
            }
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
        (cost.is_finite() && walls.is_finite()).then_some((cost, walls))
    }
}

/// Within the limits, and on one where only rounding is between.
fn snap(u: f64, lower: f64, upper: f64) -> f64 {
    let near = |limit: f64| limit.is_finite() && (u - limit).abs() <= 1e-12 * (1.0 + limit.abs());
    if u <= lower || near(lower) {
        lower
    } else if u >= upper || near(upper) {
        upper
    } else {
        u
    }
}

/// `xᵀ H x`.
fn quadratic(h: &[f64], x: &[f64]) -> f64 {
    let n = x.len();
    (0..n).map(|i| x[i] * dot(&h[i * n..(i + 1) * n], x)).sum()
}
