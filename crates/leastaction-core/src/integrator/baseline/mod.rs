//! What the variational engines are compared with: Runge–Kutta and semi-implicit Euler, in joint coordinates.
//!
//! Rotations move by the exponential: within a step the unknown is the tangent vector `u` of `q = q₀ ⊞ u`, whose
//! rate is `dexp⁻¹_u v`, so the order of a Runge–Kutta method carries over to the group (Munthe-Kaas).
//!
//! Closed loops and rolling are not supported by these methods.

mod dop853;
mod dop853_table;
mod explicit;
mod wide;

pub use dop853::Dop853;
pub use explicit::{Rk4, SemiImplicitEuler};
pub use wide::ExplicitLanes;

use super::rows::{Parts, RowDriver, RowMechanics, RowStates};
use super::{
    Input, Integrator, RowReport, RowState, StepError, StepReport, expect_length, expect_state, expect_tree,
    placed_start,
};
use crate::dynamics::Dynamics;
use crate::mechanism::{Mechanism, State};

/// State of every baseline: time, positions, velocities.
#[derive(Clone, Debug)]
pub struct PhaseState {
    /// Time.
    pub t: f64,
    /// Positions.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// Step length an adaptive method would take next; zero if it has none yet.
    pub next_step: f64,
    /// What rows with friction or limits do.
    pub(super) rows: RowStates,
}

impl PhaseState {
    fn copy_from(&mut self, other: &Self) {
        (self.t, self.next_step) = (other.t, other.next_step);
        self.q.copy_from_slice(&other.q);
        self.v.copy_from_slice(&other.v);
    }
}

/// The equations of motion in tangent coordinates of one step: `(u, v) ↦ (u̇, v̇)`.
#[derive(Clone, Debug)]
pub struct Field {
    dynamics: Dynamics<f64>,
    /// Position at `u`, and the velocity there.
    q: Vec<f64>,
    v: Vec<f64>,
    /// Where rows are locked or slide, or coordinates follow others.
    tied: Option<Box<(RowMechanics, Vec<RowState>)>>,
}

impl Field {
    pub(super) fn new(mechanism: &Mechanism, integrator: &'static str) -> Result<Self, StepError> {
        expect_tree(mechanism, integrator)?;
        if let Some((follower, _)) = mechanism.driven().next() {
            return Err(StepError::Unsupported {
                integrator,
                what: format!("joint `{}`, which moves as given", mechanism.joint(follower.joint).name),
                remedy: "use the minimal or the maximal integrator".into(),
            });
        }
        let rows = mechanism.rows().len();
        let tied = rows > 0 || !mechanism.followers().is_empty();
        Ok(Self {
            dynamics: Dynamics::new(mechanism),
            q: vec![0.0; mechanism.nq()],
            v: vec![0.0; mechanism.nv()],
            tied: tied.then(|| Box::new((RowMechanics::new(mechanism), vec![RowState::default(); rows]))),
        })
    }

    /// Slope at tangent vector `u` from `q0` and velocity `v`. Does not allocate.
    pub(super) fn slope(
        &mut self,
        mechanism: &Mechanism,
        q0: &[f64],
        u: &[f64],
        v: &[f64],
        input: &[f64],
        du: &mut [f64],
        dv: &mut [f64],
    ) {
        mechanism.retract(q0, u, &mut self.q);
        self.v.copy_from_slice(v);
        mechanism.follow(&mut self.q, &mut self.v);
        let Self { dynamics, q, v, tied } = self;
        for node in &mechanism.tree().nodes {
            let r = node.v..node.v + node.nv;
            node.kind.tangent_rate(&u[r.clone()], &v[r.clone()], &mut du[r]);
        }
        match tied {
            None => dynamics.acceleration_into(mechanism, q, v, input, dv),
            Some(tied) => tied.0.acceleration(mechanism, &tied.1, q, v, input, dv),
        }
    }

    /// Acceleration at `(q, v)`. Does not allocate.
    pub(super) fn acceleration(
        &mut self,
        mechanism: &Mechanism,
        q: &[f64],
        v: &[f64],
        input: &[f64],
        dv: &mut [f64],
    ) {
        match &mut self.tied {
            None => self.dynamics.acceleration_into(mechanism, q, v, input, dv),
            Some(tied) => tied.0.acceleration(mechanism, &tied.1, q, v, input, dv),
        }
    }
}

/// What tells one baseline from another. The rest of [`Integrator`] is the same for all of them: their state is
/// time, positions and velocities.
pub trait Baseline: Send {
    /// Name, as written into warm starts.
    const LABEL: &'static str;
    /// Memory of the method for one mechanism.
    type Workspace: Send;

    /// Memory for a mechanism.
    ///
    /// # Errors
    /// If the mechanism has something the method does not support.
    fn memory(mechanism: &Mechanism) -> Result<Self::Workspace, StepError>;

    /// The equations of motion in the memory.
    fn field(workspace: &mut Self::Workspace) -> &mut Field;

    /// Advances by `h`; `input` has the right length. Does not allocate.
    ///
    /// # Errors
    /// If the step cannot be taken; the state is then unchanged.
    fn advance(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        state: &mut PhaseState,
        input: &[f64],
        h: f64,
    ) -> Result<StepReport, StepError>;
}

/// Memory of a baseline and, where rows have friction or limits, of what cuts its steps.
#[derive(Clone, Debug)]
pub struct BaselineWorkspace<W> {
    method: W,
    driver: Option<Box<Driven>>,
}

#[derive(Clone, Debug)]
struct Driven {
    driver: RowDriver,
    end: PhaseState,
    backup: PhaseState,
}

/// Smooth parts of a baseline's step.
struct PhaseParts<'a, B: Baseline> {
    baseline: &'a B,
    mechanism: &'a Mechanism,
    workspace: &'a mut B::Workspace,
    start: &'a mut PhaseState,
    end: &'a mut PhaseState,
    input: &'a [f64],
}

impl<B: Baseline> Parts for PhaseParts<'_, B> {
    fn trial(&mut self, states: &[RowState], t: f64, report: &mut StepReport) -> Result<(), StepError> {
        if let Some(tied) = &mut B::field(self.workspace).tied {
            tied.1.copy_from_slice(states);
        }
        self.end.copy_from(self.start);
        let done = self.baseline.advance(self.mechanism, self.workspace, self.end, self.input, t)?;
        report.substeps += done.substeps;
        Ok(())
    }
    fn read(&mut self, _: &[RowState], at_end: bool, q: &mut [f64], v: &mut [f64]) {
        let state: &PhaseState = if at_end { self.end } else { self.start };
        q.copy_from_slice(&state.q);
        v.copy_from_slice(&state.v);
    }
    fn impulses(&mut self, _: &[RowState], out: &mut [f64]) {
        out.fill(f64::NAN);
    }
    fn accept(&mut self) {
        std::mem::swap(self.start, self.end);
    }
    fn set_velocity(&mut self, v: &[f64]) {
        self.start.v.copy_from_slice(v);
    }
}

impl<B: Baseline> Integrator for B {
    type State = PhaseState;
    type Workspace = BaselineWorkspace<B::Workspace>;

    fn label(&self) -> String {
        B::LABEL.into()
    }

    fn workspace(&self, mechanism: &Mechanism) -> Result<Self::Workspace, StepError> {
        let method = B::memory(mechanism)?;
        let driver = RowDriver::new(mechanism).map(|driver| {
            let state = mechanism.neutral_state();
            let end =
                PhaseState { t: 0.0, q: state.q, v: state.v, next_step: 0.0, rows: RowStates::default() };
            Box::new(Driven { driver: *driver, backup: end.clone(), end })
        });
        Ok(BaselineWorkspace { method, driver })
    }

    fn start(
        &self,
        mechanism: &Mechanism,
        _: &mut Self::Workspace,
        state: &State,
    ) -> Result<PhaseState, StepError> {
        expect_state(mechanism, state)?;
        let mut rows = RowStates::new(mechanism);
        let mut next_step = 0.0;
        if let Some(warm) = state.warm.as_ref().filter(|warm| warm.integrator == B::LABEL) {
            next_step = warm.data.first().copied().unwrap_or(0.0);
            if !rows.read(warm.data.get(1..).unwrap_or(&[])) {
                rows.forget();
            }
        }
        let State { t, q, v, .. } = placed_start(mechanism, state)?;
        Ok(PhaseState { t, q, v, next_step, rows })
    }

    fn step(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        state: &mut PhaseState,
        input: Input<'_>,
        h: f64,
    ) -> Result<StepReport, StepError> {
        expect_length("input", input.u.len(), mechanism.nu())?;
        let BaselineWorkspace { method, driver } = workspace;
        let Some(driven) = driver else { return self.advance(mechanism, method, state, input.u, h) };
        let Driven { driver, end, backup } = &mut **driven;
        backup.copy_from(state);
        let (time, mut rows) = (state.t, std::mem::take(&mut state.rows));
        let mut parts =
            PhaseParts { baseline: self, mechanism, workspace: method, start: state, end, input: input.u };
        let outcome = driver.step(mechanism, &mut parts, &mut rows, input.u, h, time);
        match outcome {
            Ok(_) => state.t = time + h,
            Err(_) => state.copy_from(backup),
        }
        state.rows = rows;
        outcome
    }

    fn read_out(&self, _: &Mechanism, _: &mut Self::Workspace, state: &PhaseState, out: &mut State) {
        out.t = state.t;
        out.q.clone_from(&state.q);
        out.v.clone_from(&state.v);
    }

    fn warm_start(&self, _: &Mechanism, state: &PhaseState) -> Vec<f64> {
        let mut data = Vec::new();
        if state.next_step != 0.0 || state.rows.numbers() > 0 {
            data.push(state.next_step);
        }
        state.rows.write(&mut data);
        data
    }

    fn rows<'a>(&self, workspace: &'a Self::Workspace, state: &'a PhaseState) -> RowReport<'a> {
        RowReport {
            states: &state.rows.list,
            impulses: &state.rows.impulses,
            drives: &[],
            events: workspace.driver.as_ref().map_or(&[], |driven| driven.driver.events()),
        }
    }
}

fn expect_finite(time: f64, v: &[f64], q: &[f64]) -> Result<(), StepError> {
    if v.iter().chain(q).all(|x| x.is_finite()) {
        Ok(())
    } else {
        Err(StepError::NotFinite { time, what: "state after the step" })
    }
}
