//! [`Simulator`]: mechanism, integrator, workspace and state in one hand.

use std::ops::Deref;

use super::baseline::{Dop853, Rk4, SemiImplicitEuler};
use super::input_run::InputRun;
use super::maximal::{Maximal, MaximalOptions};
use super::minimal::{Minimal, MinimalOptions, Policy};
use super::{
    Actuation, ContactCounts, ContactForce, Input, Integrator, JointForce, RowReport, StepError, StepReport,
};
use crate::mechanism::{Mechanism, State, WarmStart};

/// Integrators that can be chosen by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Variational, joint coordinates.
    Minimal,
    /// Variational, poses and constraints.
    Maximal,
    /// Runge–Kutta of order four.
    Rk4,
    /// Semi-implicit Euler.
    SemiImplicit,
    /// Adaptive Runge–Kutta of order eight.
    Dop853,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("minimal", Self::Minimal),
        ("maximal", Self::Maximal),
        ("rk4", Self::Rk4),
        ("semi-implicit", Self::SemiImplicit),
        ("dop853", Self::Dop853),
    ];

    /// Whether the method can step the mechanism with these options.
    ///
    /// # Errors
    /// If it does not support the mechanism, or an option is out of range.
    pub fn expect_support(self, mechanism: &Mechanism, options: &MethodOptions) -> Result<(), StepError> {
        match self {
            Self::Rk4 => Rk4.workspace(mechanism).map(drop),
            Self::SemiImplicit => SemiImplicitEuler.workspace(mechanism).map(drop),
            Self::Dop853 => Dop853::with_tolerance(options.tolerance)?.workspace(mechanism).map(drop),
            Self::Maximal => options.maximal_engine()?.workspace(mechanism).map(drop),
            Self::Minimal => options.minimal_engine()?.workspace(mechanism).map(drop),
        }
    }

    /// The name used on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, m)| *m == self).map_or("", |(name, _)| name)
    }
}

/// What a method can be told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodOptions {
    /// Order of accuracy, where there is a choice.
    pub order: Option<u32>,
    /// Tolerance of the nonlinear solve or of the error control.
    pub tolerance: Option<f64>,
    /// How the minimal integrator solves the equations of a step.
    pub policy: Policy,
    /// Options of the maximal integrator only.
    pub maximal: MaximalOptions,
}

impl MethodOptions {
    /// The minimal engine with these options: order 4 unless chosen, steps are halved where they must be.
    ///
    /// # Errors
    /// [`StepError::BadOption`] if an option is out of range.
    pub fn minimal_engine(&self) -> Result<Minimal, StepError> {
        let default = MinimalOptions { halve: true, ..MinimalOptions::default() };
        Minimal::new(MinimalOptions {
            order: self.order.unwrap_or(default.order),
            tolerance: self.tolerance.unwrap_or(default.tolerance),
            policy: self.policy,
            ..default
        })
    }

    /// The maximal engine with these options: order 2 unless chosen.
    ///
    /// # Errors
    /// [`StepError::BadOption`] if an option is out of range.
    pub fn maximal_engine(&self) -> Result<Maximal, StepError> {
        Maximal::with_options(self.order, self.tolerance, &self.maximal)
    }
}

/// A running simulation. Made by [`Simulator::new`]; `step` does not allocate.
///
/// ```
/// use leastaction::integrator::{Method, MethodOptions, Simulator};
/// use leastaction::mechanism::{MechanismBuilder, samples};
///
/// let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
/// let start = mechanism.start_state();
/// let mut simulator = Simulator::new(&mechanism, Method::Rk4, &MethodOptions::default(), &start)?;
/// for _ in 0..100 {
///     simulator.step(&[], 0.01)?;
/// }
/// assert!((simulator.state().t - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The mechanism is borrowed (`&Mechanism`) or owned together with others (`Arc<Mechanism>`): anything that derefs to
/// it. A simulation can be sent to another thread.
pub struct Simulator<M> {
    mechanism: M,
    run: Box<dyn Run>,
    state: State,
    fresh: bool,
    inputs: InputRun,
}

impl<M: Deref<Target = Mechanism>> Simulator<M> {
    /// A simulation of `mechanism` from `start`.
    ///
    /// # Errors
    /// If the method does not support the mechanism, an option is out of range, or the state does not fit.
    pub fn new(
        mechanism: M,
        method: Method,
        options: &MethodOptions,
        start: &State,
    ) -> Result<Self, StepError> {
        let run = by_name(&mechanism, method, options, start)?;
        let inputs = InputRun::new(&mechanism, start);
        Ok(Self { mechanism, run, state: start.clone(), fresh: false, inputs })
    }

    /// A simulation with an integrator of your own choice.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with<I>(mechanism: M, integrator: I, start: &State) -> Result<Self, StepError>
    where
        I: Integrator + 'static,
    {
        let run = running(&mechanism, integrator, start)?;
        let inputs = InputRun::new(&mechanism, start);
        Ok(Self { mechanism, run, state: start.clone(), fresh: false, inputs })
    }

    /// Begins again from `start` in the same memory.
    ///
    /// # Errors
    /// If the state does not fit; the simulation is then where it was.
    pub fn restart(&mut self, start: &State) -> Result<(), StepError> {
        self.run.restart(&self.mechanism, start)?;
        self.state.clone_from(start);
        self.inputs = InputRun::new(&self.mechanism, start);
        self.fresh = false;
        Ok(())
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &M {
        &self.mechanism
    }

    /// Advances by `h` with the inputs `u` held. Does not allocate.
    ///
    /// # Errors
    /// If the step cannot be taken; the simulation is then where it was.
    pub fn step(&mut self, u: &[f64], h: f64) -> Result<StepReport, StepError> {
        let Self { mechanism, run, state, fresh, inputs } = self;
        if u.len() != inputs.acted.len() {
            // The method says what is wrong.
            return run.step(mechanism, Input { u }, h).map_err(|error| error.of_step(h));
        }
        if !inputs.acted.is_empty() && run.actuation().is_none() {
            if !*fresh {
                run.read_out(mechanism, state);
            }
            inputs.before(mechanism, u, h, state);
        }
        *fresh = false;
        let u = inputs.advance(mechanism, u, h);
        let report = run.step(mechanism, Input { u }, h).map_err(|error| error.of_step(h))?;
        inputs.accept(h, run.actuation());
        Ok(report)
    }

    /// Mean force of every input over the last step, as it acted after law and limits; what is cut off by the effort limit of
    /// a joint is taken from the inputs of that joint alone. Methods that do not know it give the mean of both ends.
    pub fn input_forces(&mut self) -> &[f64] {
        if self.inputs.at_ends {
            self.state();
            self.inputs.after(&self.mechanism, &self.state);
        }
        &self.inputs.acted
    }

    /// Work of all inputs over the last step; not a number for methods that do not know it.
    #[must_use]
    pub fn input_work(&self) -> f64 {
        self.inputs.work
    }

    /// The present state in the public convention (without warm start). Does not allocate.
    pub fn state(&mut self) -> &State {
        if !self.fresh {
            self.run.read_out(&self.mechanism, &mut self.state);
            self.state.act.clone_from(&self.inputs.act);
            self.state.warm = None;
            self.fresh = true;
        }
        &self.state
    }

    /// The present state with what the integrator needs to continue bit for bit.
    pub fn checkpoint(&mut self) -> State {
        let mut state = self.state().clone();
        let (integrator, data) = self.run.warm_start(&self.mechanism);
        state.warm = Some(WarmStart { integrator, data });
        state
    }

    /// Largest gap of a joint, in metres.
    pub fn gap(&mut self) -> f64 {
        self.run.gap(&self.mechanism)
    }

    /// Constraint forces at the node that the last step started from; empty for methods that have none.
    pub fn joint_forces(&mut self, out: &mut Vec<JointForce>) {
        self.fresh = false;
        self.run.joint_forces(out);
    }

    /// Contacts of the mechanism, in its order, at the node that the last step started from; empty without contact.
    pub fn contact_forces(&self, out: &mut Vec<ContactForce>) {
        self.run.contact_forces(out);
    }

    /// What steps with contact counted; none without contact.
    #[must_use]
    pub fn contact_counts(&self) -> Option<ContactCounts> {
        self.run.contact_counts()
    }

    /// What rows with friction or limits do, and did in the last step.
    #[must_use]
    pub fn rows(&self) -> RowReport<'_> {
        self.run.rows()
    }

    /// How far closing the loops of the start state moved a joint coordinate, at most. Ask before the first step.
    #[must_use]
    pub fn moved_at_start(&self) -> f64 {
        self.run.moved_at_start()
    }

    /// True if the start had a warm start of this method that was not used, because it did not agree with the positions and
    /// velocities beside it.
    #[must_use]
    pub fn warm_start_dropped(&self) -> bool {
        self.run.warm_start_dropped()
    }
}

impl<M: Deref<Target = Mechanism>> std::fmt::Debug for Simulator<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulator").field("mechanism", &self.mechanism.name()).finish_non_exhaustive()
    }
}

/// The method of that name, at its start. Not generic: compiled once, here.
fn by_name(
    mechanism: &Mechanism,
    method: Method,
    options: &MethodOptions,
    start: &State,
) -> Result<Box<dyn Run>, StepError> {
    match method {
        Method::Rk4 => running(mechanism, Rk4, start),
        Method::SemiImplicit => running(mechanism, SemiImplicitEuler, start),
        Method::Dop853 => running(mechanism, Dop853::with_tolerance(options.tolerance)?, start),
        Method::Maximal => running(mechanism, options.maximal_engine()?, start),
        Method::Minimal => running(mechanism, options.minimal_engine()?, start),
    }
}

fn running<I: Integrator + 'static>(
    mechanism: &Mechanism,
    integrator: I,
    start: &State,
) -> Result<Box<dyn Run>, StepError> {
    let mut workspace = integrator.workspace(mechanism)?;
    let state = integrator.start(mechanism, &mut workspace, start)?;
    Ok(Box::new(Running { integrator, workspace, state }))
}

/// [`Integrator`] with its associated types hidden.
trait Run: Send {
    fn restart(&mut self, mechanism: &Mechanism, start: &State) -> Result<(), StepError>;
    fn step(&mut self, mechanism: &Mechanism, input: Input<'_>, h: f64) -> Result<StepReport, StepError>;
    fn read_out(&mut self, mechanism: &Mechanism, out: &mut State);
    fn warm_start(&self, mechanism: &Mechanism) -> (String, Vec<f64>);
    fn actuation(&self) -> Option<Actuation<'_>>;
    fn gap(&mut self, mechanism: &Mechanism) -> f64;
    fn joint_forces(&mut self, out: &mut Vec<JointForce>);
    fn rows(&self) -> RowReport<'_>;
    fn contact_forces(&self, out: &mut Vec<ContactForce>);
    fn contact_counts(&self) -> Option<ContactCounts>;
    fn moved_at_start(&self) -> f64;
    fn warm_start_dropped(&self) -> bool;
}

struct Running<I: Integrator> {
    integrator: I,
    workspace: I::Workspace,
    state: I::State,
}

impl<I: Integrator> Run for Running<I> {
    fn restart(&mut self, mechanism: &Mechanism, start: &State) -> Result<(), StepError> {
        self.state = self.integrator.start(mechanism, &mut self.workspace, start)?;
        Ok(())
    }
    fn step(&mut self, mechanism: &Mechanism, input: Input<'_>, h: f64) -> Result<StepReport, StepError> {
        self.integrator.step(mechanism, &mut self.workspace, &mut self.state, input, h)
    }
    fn read_out(&mut self, mechanism: &Mechanism, out: &mut State) {
        self.integrator.read_out(mechanism, &mut self.workspace, &self.state, out);
    }
    fn warm_start(&self, mechanism: &Mechanism) -> (String, Vec<f64>) {
        (self.integrator.label(), self.integrator.warm_start(mechanism, &self.state))
    }
    fn actuation(&self) -> Option<Actuation<'_>> {
        self.integrator.actuation(&self.workspace)
    }
    fn gap(&mut self, mechanism: &Mechanism) -> f64 {
        self.integrator.gap(mechanism, &mut self.workspace, &self.state)
    }
    fn joint_forces(&mut self, out: &mut Vec<JointForce>) {
        self.integrator.joint_forces(&mut self.workspace, out);
    }
    fn rows(&self) -> RowReport<'_> {
        self.integrator.rows(&self.workspace, &self.state)
    }
    fn contact_forces(&self, out: &mut Vec<ContactForce>) {
        self.integrator.contact_forces(&self.workspace, out);
    }
    fn contact_counts(&self) -> Option<ContactCounts> {
        self.integrator.contact_counts(&self.workspace)
    }
    fn moved_at_start(&self) -> f64 {
        self.integrator.moved_at_start(&self.state)
    }
    fn warm_start_dropped(&self) -> bool {
        self.integrator.warm_start_dropped(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn simulations_of_every_method_move_between_threads_with_their_mechanism() {
        let mechanism = Arc::new(MechanismBuilder::from(samples::chain(2)).build().unwrap());
        for (name, method) in Method::ALL {
            let start = mechanism.start_state();
            let mut here = Simulator::new(&*mechanism, method, &MethodOptions::default(), &start).unwrap();
            // A restart leaves nothing of what was before.
            here.step(&[], 0.02).unwrap();
            here.restart(&start).unwrap();
            here.step(&[], 0.01).unwrap();
            let mut there =
                Simulator::new(Arc::clone(&mechanism), method, &MethodOptions::default(), &start).unwrap();
            let there = std::thread::spawn(move || {
                there.step(&[], 0.01).unwrap();
                there.state().clone()
            });
            assert_eq!(&there.join().unwrap(), here.state(), "{name}");
        }
    }
}
