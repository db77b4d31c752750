//! [`Plant`]: what a controller sees of an engine, one held input at a time.

use std::ops::Deref;

use crate::integrator::minimal::{
    Coordinates, Linearization, Minimal, MinimalOptions, MinimalState, MinimalWorkspace, Trace,
};
use crate::integrator::{Input, Integrator, LinearizedStep, StepError};
use crate::mechanism::{Mechanism, Parameter, State};

/// A discrete-time system `x⁺ = f(x, u)` whose states are positions on a manifold and velocities.
///
/// Tangents have [`nx`](Self::nx) components: positions moved on the right, then velocities.
pub trait Plant {
    /// Components of a tangent.
    fn nx(&self) -> usize;
    /// Number of inputs.
    fn nu(&self) -> usize;
    /// Length of a step in seconds.
    fn h(&self) -> f64;

    /// `next = f(x, u)`.
    ///
    /// # Errors
    /// If the step cannot be taken.
    fn step(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError>;

    /// `next = f(x, u)` and its derivative `[A B]`, `nx × (nx + nu)` by rows.
    ///
    /// # Errors
    /// If the step cannot be taken.
    fn linearize(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError>;

    /// As [`step`](Self::step), beginning where the step that left `trace` ended its search, and leaving another trace: for whoever
    /// takes the steps of a motion again and again. The result depends on the trace by no more than a step leaves open.
    ///
    /// # Errors
    /// If the step cannot be taken.
    fn step_near(
        &mut self,
        x: &State,
        u: &[f64],
        trace: &mut Trace,
        next: &mut State,
    ) -> Result<(), StepError> {
        let _ = trace;
        self.step(x, u, next)
    }

    /// As [`linearize`](Self::linearize), beginning on a trace and leaving one.
    ///
    /// # Errors
    /// If the step cannot be taken.
    fn linearize_near(
        &mut self,
        x: &State,
        u: &[f64],
        trace: &mut Trace,
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        let _ = trace;
        self.linearize(x, u, next, slope)
    }

    /// Chooses parameters of the model to differentiate by besides states and inputs; none at first.
    ///
    /// # Errors
    /// If there is no derivative by one of them.
    fn differentiate_by(&mut self, parameters: &[Parameter]) -> Result<(), StepError> {
        if parameters.is_empty() {
            return Ok(());
        }
        Err(StepError::Unsupported {
            integrator: "this plant",
            what: "derivatives by parameters of the model".into(),
            remedy: "use the plant of an engine".into(),
        })
    }

    /// Number of parameters chosen.
    fn parameters(&self) -> usize {
        0
    }

    /// `C` of the step linearized last, `nx × parameters` by rows.
    fn by_parameters(&self) -> &[f64] {
        &[]
    }

    /// `next = f(x, u)` and `[A B C]ᵀ g`: how a function of the next state changes with `x` (`nx` numbers of `out`), with `u`
    /// (`nu` numbers) and with the parameters. `gradient` gives its derivative `g` by the tangent at the next state; `slope`
    /// is memory.
    ///
    /// # Errors
    /// If the step cannot be taken.
    fn pull_back(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        gradient: &mut dyn FnMut(&State, &mut [f64]),
        slope: &mut Vec<f64>,
        out: &mut [f64],
    ) -> Result<(), StepError> {
        self.linearize(x, u, next, slope)?;
        let mut g = vec![0.0; self.nx()];
        gradient(next, &mut g);
        out.fill(0.0);
        let (plain, others) = out.split_at_mut(self.nx() + self.nu());
        for (out, slope) in [(plain, &**slope), (others, self.by_parameters())] {
            for (g, row) in g.iter().zip(slope.chunks_exact(out.len().max(1))) {
                out.iter_mut().zip(row).for_each(|(o, s)| *o += g * s);
            }
        }
        Ok(())
    }

    /// Where loops make coordinates depend on others, derivatives stand at free ones. This turns a gradient by the tangent of
    /// `x`, from the step differentiated last, into one by all coordinates as they are given: a state that is not admissible
    /// is moved to the nearest one, in the metric of the masses, before it is stepped.
    fn by_given_state(&mut self, x: &State, gradient: &mut [f64]) {
        let _ = (x, gradient);
    }

    /// The tangent at `from` that leads to `to`.
    fn difference(&self, from: &State, to: &State, out: &mut [f64]);

    /// Moves `x` by a tangent at it.
    fn retract(&self, x: &State, tangent: &[f64], out: &mut State);

    /// The smoothing speed of a derivative that is not the exact one, as through contact; none if it is exact.
    fn smoothing(&self) -> Option<f64> {
        None
    }

    /// Takes another smoothing speed from now on.
    fn set_smoothing(&mut self, _speed: f64) {}

    /// True once the caller wants no more: whatever goes through many steps looks at each, and ends with what it has.
    fn stopped(&self) -> bool {
        false
    }
}

/// The tangent at `from` that leads to `to`: difference of positions, then of velocities.
pub fn state_difference(mechanism: &Mechanism, from: &State, to: &State, out: &mut [f64]) {
    let n = mechanism.nv();
    mechanism.difference(&from.q, &to.q, &mut out[..n]);
    for (o, (a, b)) in out[n..].iter_mut().zip(from.v.iter().zip(&to.v)) {
        *o = b - a;
    }
}

/// `x` moved by a tangent at it.
pub fn state_retract(mechanism: &Mechanism, x: &State, tangent: &[f64], out: &mut State) {
    let n = mechanism.nv();
    out.q.resize(x.q.len(), 0.0);
    out.v.resize(n, 0.0);
    out.t = x.t;
    out.warm = None;
    mechanism.retract(&x.q, &tangent[..n], &mut out.q);
    for (o, (v, d)) in out.v.iter_mut().zip(x.v.iter().zip(&tangent[n..])) {
        *o = v + d;
    }
}

/// The engine in joint coordinates as a plant: each step starts from positions and velocities alone, so that the map
/// and its derivative are functions of the state and of nothing else.
#[derive(Debug)]
pub struct MinimalPlant<M> {
    mechanism: M,
    integrator: Minimal,
    workspace: MinimalWorkspace,
    inner: MinimalState,
    slope: Linearization,
    h: f64,
}

impl<M: Deref<Target = Mechanism>> MinimalPlant<M> {
    /// A plant of order `order` and step `h`.
    ///
    /// # Errors
    /// If the engine does not support the mechanism, or an option is out of range.
    pub fn new(mechanism: M, order: u32, h: f64) -> Result<Self, StepError> {
        let integrator = Minimal::new(MinimalOptions {
            order,
            // Costs compare sums over hundreds of steps: what a step leaves open must not show there.
            tolerance_q: 1e-12,
            ..MinimalOptions::default()
        })?;
        let mut workspace = integrator.workspace(&mechanism)?;
        let inner = integrator.start(&mechanism, &mut workspace, &mechanism.neutral_state())?;
        let slope = Linearization::new(&mechanism, Coordinates::Velocity);
        if !(h > 0.0 && h.is_finite()) {
            return Err(StepError::BadOption {
                option: "step",
                value: h.to_string(),
                remedy: "take a positive number".into(),
            });
        }
        Ok(Self { mechanism, integrator, workspace, inner, slope, h })
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// Starts at `x`, on a trace if there is one.
    fn begin(&mut self, x: &State, u: &[f64], trace: Option<&mut Trace>) -> Result<(), StepError> {
        let Self { mechanism, integrator, workspace, inner, h, .. } = self;
        integrator.restart(&*mechanism, workspace, x, inner)?;
        if let Some(trace) = trace {
            integrator.begin_on(workspace, trace, inner, Input { u }, *h);
        }
        Ok(())
    }

    /// Reads the state after the step, and keeps a trace of it.
    fn end(&mut self, trace: Option<&mut Trace>, slope: Option<&[f64]>, next: &mut State) {
        let Self { mechanism, integrator, workspace, inner, .. } = self;
        if let Some(trace) = trace {
            integrator.leave(workspace, trace, slope);
        }
        integrator.read_out(&*mechanism, workspace, inner, next);
    }

    fn stepped(
        &mut self,
        x: &State,
        u: &[f64],
        mut trace: Option<&mut Trace>,
        next: &mut State,
    ) -> Result<(), StepError> {
        self.begin(x, u, trace.as_deref_mut())?;
        let Self { mechanism, integrator, workspace, inner, h, .. } = self;
        integrator.step(&*mechanism, workspace, inner, Input { u }, *h)?;
        self.end(trace, None, next);
        Ok(())
    }

    fn linearized(
        &mut self,
        x: &State,
        u: &[f64],
        mut trace: Option<&mut Trace>,
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.begin(x, u, trace.as_deref_mut())?;
        let Self { mechanism, integrator, workspace, inner, slope: own, h } = self;
        std::mem::swap(&mut own.matrix, slope);
        let done = integrator.linearize_into(&*mechanism, workspace, inner, Input { u }, *h, own);
        std::mem::swap(&mut own.matrix, slope);
        done?;
        self.end(trace, Some(slope), next);
        Ok(())
    }
}

impl<M: Deref<Target = Mechanism>> Plant for MinimalPlant<M> {
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
        self.stepped(x, u, None, next)
    }

    fn step_near(
        &mut self,
        x: &State,
        u: &[f64],
        trace: &mut Trace,
        next: &mut State,
    ) -> Result<(), StepError> {
        self.stepped(x, u, Some(trace), next)
    }

    fn differentiate_by(&mut self, parameters: &[Parameter]) -> Result<(), StepError> {
        self.integrator.differentiate_by(&self.mechanism, &mut self.slope, parameters)
    }
    fn parameters(&self) -> usize {
        self.slope.parameters.len()
    }
    fn by_parameters(&self) -> &[f64] {
        &self.slope.by_parameters
    }

    fn linearize(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.linearized(x, u, None, next, slope)
    }

    fn linearize_near(
        &mut self,
        x: &State,
        u: &[f64],
        trace: &mut Trace,
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.linearized(x, u, Some(trace), next, slope)
    }

    fn difference(&self, from: &State, to: &State, out: &mut [f64]) {
        state_difference(&self.mechanism, from, to, out);
    }

    fn retract(&self, x: &State, tangent: &[f64], out: &mut State) {
        state_retract(&self.mechanism, x, tangent, out);
    }
}
