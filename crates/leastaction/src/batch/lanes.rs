//! Rows side by side: what a batch does with methods that step several states at once.

use super::{Inputs, LANES, Plan, Row};
use crate::integrator::baseline::{ExplicitLanes, PhaseState, Rk4, SemiImplicitEuler};
use crate::integrator::minimal::{Minimal, MinimalState, MinimalWorkspace, Policy};
use crate::integrator::{InputRun, Integrator, Method, MethodOptions, StepError, expect_length};
use crate::mechanism::{Mechanism, State};

/// A method that steps several states at once.
trait SideBySide: Send {
    /// Forgets all states.
    fn clear(&mut self);
    /// Adds a state.
    fn start(&mut self, mechanism: &Mechanism, state: &State) -> Result<(), StepError>;
    /// Steps those without a failure.
    fn step(&mut self, mechanism: &Mechanism, u: &[f64], h: f64, failures: &mut [Option<StepError>]);
    /// The present state of a row.
    fn read_out(&mut self, mechanism: &Mechanism, row: usize, out: &mut State);
}

struct OfMinimal {
    engine: Minimal,
    workspace: MinimalWorkspace,
    states: Vec<MinimalState>,
}

impl SideBySide for OfMinimal {
    fn clear(&mut self) {
        self.states.clear();
    }
    fn start(&mut self, mechanism: &Mechanism, state: &State) -> Result<(), StepError> {
        self.states.push(self.engine.start(mechanism, &mut self.workspace, state)?);
        Ok(())
    }
    fn step(&mut self, mechanism: &Mechanism, u: &[f64], h: f64, failures: &mut [Option<StepError>]) {
        let Self { engine, workspace, states } = self;
        if let Err(error) = engine.step_together(mechanism, workspace, states, u, h, failures) {
            failures.iter_mut().for_each(|failure| *failure = failure.take().or(Some(error.clone())));
        }
    }
    fn read_out(&mut self, mechanism: &Mechanism, row: usize, out: &mut State) {
        self.engine.read_out(mechanism, &mut self.workspace, &self.states[row], out);
    }
}

struct OfExplicit<I: Integrator> {
    method: I,
    workspace: I::Workspace,
    lanes: ExplicitLanes,
    states: Vec<PhaseState>,
}

impl<I: Integrator<State = PhaseState>> SideBySide for OfExplicit<I> {
    fn clear(&mut self) {
        self.states.clear();
    }
    fn start(&mut self, mechanism: &Mechanism, state: &State) -> Result<(), StepError> {
        self.states.push(self.method.start(mechanism, &mut self.workspace, state)?);
        Ok(())
    }
    fn step(&mut self, mechanism: &Mechanism, u: &[f64], h: f64, failures: &mut [Option<StepError>]) {
        self.lanes.step(mechanism, &mut self.states, u, h, failures);
    }
    fn read_out(&mut self, mechanism: &Mechanism, row: usize, out: &mut State) {
        self.method.read_out(mechanism, &mut self.workspace, &self.states[row], out);
    }
}

/// The method of that name with its lanes, if it has any for this mechanism.
fn side_by_side(
    mechanism: &Mechanism,
    method: Method,
    options: &MethodOptions,
) -> Result<Option<Box<dyn SideBySide>>, StepError> {
    Ok(match method {
        Method::Minimal if options.policy == Policy::Mass => {
            let engine = options.minimal_engine()?;
            let workspace = engine.workspace_with_lanes(mechanism)?;
            if !workspace.has_lanes() {
                return Ok(None);
            }
            Some(Box::new(OfMinimal { engine, workspace, states: Vec::with_capacity(LANES) }))
        }
        Method::Rk4 => explicit(mechanism, Rk4, ExplicitLanes::rk4(mechanism))?,
        Method::SemiImplicit => {
            explicit(mechanism, SemiImplicitEuler, ExplicitLanes::semi_implicit(mechanism))?
        }
        Method::Minimal | Method::Maximal | Method::Dop853 => {
            method.expect_support(mechanism, options)?;
            None
        }
    })
}

fn explicit<I: Integrator<State = PhaseState> + 'static>(
    mechanism: &Mechanism,
    method: I,
    lanes: Option<ExplicitLanes>,
) -> Result<Option<Box<dyn SideBySide>>, StepError> {
    let workspace = method.workspace(mechanism)?;
    let states = Vec::with_capacity(LANES);
    Ok(lanes.map(|lanes| Box::new(OfExplicit { method, workspace, lanes, states }) as Box<dyn SideBySide>))
}

/// Four rows of a method that has lanes.
pub(super) struct Lanes {
    method: Box<dyn SideBySide>,
    inputs: Vec<InputRun>,
    failures: Vec<Option<StepError>>,
    /// Inputs of all rows, one after another, and of one.
    u: Vec<f64>,
    one: Vec<f64>,
    /// What observers see.
    seen: State,
}

impl Lanes {
    /// Memory, if the method has lanes for this mechanism.
    ///
    /// # Errors
    /// If it does not support the mechanism, or an option is out of range.
    pub(super) fn new(
        mechanism: &Mechanism,
        method: Method,
        options: &MethodOptions,
    ) -> Result<Option<Self>, StepError> {
        let nu = mechanism.nu();
        Ok(side_by_side(mechanism, method, options)?.map(|method| Self {
            method,
            inputs: Vec::with_capacity(LANES),
            failures: Vec::with_capacity(LANES),
            u: vec![0.0; LANES * nu],
            one: vec![0.0; nu],
            seen: State::default(),
        }))
    }

    /// The present state of a row.
    fn look(&mut self, mechanism: &Mechanism, row: usize, given: &State) -> &State {
        let Self { method, inputs, seen, .. } = self;
        method.read_out(mechanism, row, seen);
        seen.act.clone_from(&inputs[row].act);
        seen.inputs.clone_from(&given.inputs);
        seen
    }

    /// Inputs of a row for a step, into its place among all.
    fn set_inputs(
        &mut self,
        mechanism: &Mechanism,
        lane: usize,
        row: &mut Row<'_>,
        plan: &Plan<'_>,
    ) -> Result<(), StepError> {
        let nu = mechanism.nu();
        if let Inputs::Law(law) = &mut row.inputs {
            let mut one = std::mem::take(&mut self.one);
            law(row.steps, self.look(mechanism, lane, &row.state), &mut one);
            self.one = one;
        }
        let u = row.inputs.given(row.steps, nu).unwrap_or(&self.one);
        expect_length("u", u.len(), nu)?;
        let acting = self.inputs[lane].advance(mechanism, u, plan.step);
        self.u[lane * nu..(lane + 1) * nu].copy_from_slice(acting);
        Ok(())
    }

    /// Runs up to [`LANES`] rows to the end of the plan; `first` is the number of the first.
    pub(super) fn run(
        &mut self,
        mechanism: &Mechanism,
        first: usize,
        rows: &mut [Row<'_>],
        plan: &Plan<'_>,
        observe: &mut impl FnMut(usize, usize, &State),
    ) {
        let (h, nu) = (plan.step, mechanism.nu());
        self.method.clear();
        self.inputs.clear();
        self.failures.clear();
        // Which row is in which lane.
        let mut who = [0; LANES];
        for (i, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.failure.is_none()) {
            row.steps = 0;
            match self.method.start(mechanism, &row.state) {
                Err(error) => row.failure = Some(error),
                Ok(()) => {
                    who[self.failures.len()] = i;
                    self.inputs.push(InputRun::new(mechanism, &row.state));
                    self.failures.push(None);
                }
            }
        }
        let count = self.failures.len();
        self.show(mechanism, first, rows, &who[..count], plan, observe);
        for _ in 0..plan.steps {
            if plan.is_stopped() || self.failures.iter().all(Option::is_some) {
                break;
            }
            for (lane, i) in who[..count].iter().enumerate() {
                if self.failures[lane].is_none() {
                    self.failures[lane] = self.set_inputs(mechanism, lane, &mut rows[*i], plan).err();
                }
            }
            let Self { method, failures, inputs, u, .. } = self;
            let mut stepped = [false; LANES];
            for (stepped, failure) in stepped.iter_mut().zip(failures.iter()) {
                *stepped = failure.is_none();
            }
            method.step(mechanism, &u[..count * nu], h, failures);
            for (lane, i) in who[..count].iter().enumerate().filter(|(lane, _)| stepped[*lane]) {
                match failures[lane].take() {
                    Some(error) => failures[lane] = Some(error.of_step(h)),
                    None => {
                        inputs[lane].accept(h, None);
                        rows[*i].steps += 1;
                    }
                }
            }
            self.show(mechanism, first, rows, &who[..count], plan, observe);
        }
        for (lane, i) in who[..count].iter().enumerate() {
            let row = &mut rows[*i];
            row.state = self.look(mechanism, lane, &row.state).clone();
            row.failure = self.failures[lane].take();
        }
    }

    /// Lets the observer see the rows that are still in motion.
    fn show(
        &mut self,
        mechanism: &Mechanism,
        first: usize,
        rows: &[Row<'_>],
        who: &[usize],
        plan: &Plan<'_>,
        observe: &mut impl FnMut(usize, usize, &State),
    ) {
        for (lane, i) in who.iter().enumerate() {
            let row = &rows[*i];
            if self.failures[lane].is_none() && plan.shows(row.steps) {
                observe(first + i, row.steps, self.look(mechanism, lane, &row.state));
            }
        }
    }
}
