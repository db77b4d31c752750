//! Time stepping: one trait for the variational engines and the baselines.
//!
//! An [`Integrator`] owns options only; its *state* is what a step changes and its *workspace* is memory that holds
//! no truth. `Simulator` puts the three together for the ten-line user and for callers that choose the integrator
//! at run time.

pub mod baseline;
mod linearized;
pub mod rows;

pub use linearized::{LinearizedStep, StepLinearization};
pub use rows::{RowEvent, RowEventKind, RowReport, RowState};

use crate::mechanism::{JointType, Mechanism, State};

/// Inputs of one step, held constant over it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// One value per input of the mechanism.
    pub u: &'a [f64],
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Newton (or fixed-point) iterations; zero for explicit methods.
    pub iterations: u32,
    /// Final scaled residual.
    pub residual: f64,
    /// Attempts repeated from another guess.
    pub retries: u32,
    /// Times the step was halved to converge.
    pub halvings: u32,
    /// Steps solved with the averaged constraint directions (maximal engine).
    pub fallbacks: u32,
    /// Recursive splits of the step (maximal engine).
    pub splits: u32,
    /// Constraint directions dropped as redundant (maximal engine).
    pub dropped_rank: u32,
    /// Remaining constraint residual in dropped directions (maximal engine).
    pub inconsistency: f64,
    /// Accepted internal steps (adaptive methods).
    pub substeps: u32,
    /// Smooth parts the step was cut into, where rows have friction or limits.
    pub parts: u32,
    /// Parts tried to find where it is cut.
    pub trials: u32,
    /// Times a row stopped, let go or reached a limit.
    pub events: u32,
    /// Rows decided by rule, because too much happened in the step.
    pub forced: u32,
}

/// What the inputs did over one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Actuation<'a> {
    /// Impulse of each input, as it acted after law and limits: its mean force times the step.
    pub impulse: &'a [f64],
    /// Work of all of them together.
    pub work: f64,
}

/// What the constraints of a joint exert on its child.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointForce {
    /// Torque about the joint's origin on the child and force, along the axes of the joint's frame on the child, z along the
    /// joint's axis. Constraints only: no spring, damper or actuator.
    pub wrench: [f64; 6],
    /// True if the joint has a share in a redundancy: of all forces with the same effect these have the least norm.
    pub redundant: bool,
}

/// One contact of the mechanism at the node that the last step started from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactForce {
    /// Force on body A, world axes.
    pub force: [f64; 3],
    /// Contact point, world axes.
    pub point: [f64; 3],
    /// Distance; negative inside.
    pub gap: f64,
    /// Its part along the contact's normal.
    pub normal: f64,
    /// Speed at which the surfaces slip.
    pub slip: f64,
}

/// What steps with contact counted since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContactCounts {
    /// Newton iterations of the intervals.
    pub interval_iterations: u64,
    /// Newton iterations of the nodes.
    pub node_iterations: u64,
    /// Solves that took the smoothing path.
    pub paths: u64,
    /// Steps that were split.
    pub splits: u64,
    /// Impacts.
    pub impacts: u64,
    /// Impacts whose restitution was scaled down because energy would have grown.
    pub scaled: u64,
    /// Steps cut where friction turned.
    pub turns: u64,
    /// Pairs of surfaces that start inside each other: they do not touch until they have parted.
    pub left_out: u64,
    /// Other contacts that start inside: they part at the recovery speed.
    pub inside: u64,
}

impl StepError {
    /// The same, told of the step of length `h` that a failing substep was part of.
    #[must_use]
    pub fn of_step(mut self, h: f64) -> Self {
        if let Self::NotConverged { step, .. } = &mut self {
            *step = h;
        }
        self
    }
}

/// Why a step could not be taken. The state is what it was before the call.
#[derive(Clone, Debug, PartialEq, thiserror::Error, serde::Serialize)]
#[non_exhaustive]
pub enum StepError {
    /// The nonlinear solve did not converge.
    #[error(
        "no convergence at t = {time} s with step {step} s: residual {residual:.3e} after {iterations} iterations, \
         tolerance {tolerance:.1e}; take a smaller step"
    )]
    NotConverged {
        /// Time at the start of the step.
        time: f64,
        /// Step length.
        step: f64,
        /// Iterations done.
        iterations: u32,
        /// Residual reached.
        residual: f64,
        /// Residual asked for.
        tolerance: f64,
    },
    /// The equations with contacts have no solution that could be found.
    #[error(
        "contact not solved at t = {time} s with step {step} s: residual {residual:.3e} after {iterations} iterations with \
         {contacts} contacts; look for a body pressed between surfaces that cannot give way, or limits that exclude each other, \
         or take a smaller step; `--contact off` runs without contact"
    )]
    ContactNotSolved {
        /// Time at the start of the step.
        time: f64,
        /// Step length; zero at the start of a run.
        step: f64,
        /// Residual reached.
        residual: f64,
        /// Iterations done.
        iterations: u32,
        /// Contacts and limits that took part.
        contacts: usize,
    },
    /// A number became infinite or not a number.
    #[error("the {what} is not finite at t = {time} s; take a smaller step or check the model")]
    NotFinite {
        /// Time at the start of the step.
        time: f64,
        /// Which quantity.
        what: &'static str,
    },
    /// A matrix that must be regular is singular.
    #[error("singular {what} at joint `{joint}`, t = {time} s: {remedy}")]
    Singular {
        /// Time at the start of the step.
        time: f64,
        /// Which matrix.
        what: &'static str,
        /// Joint it belongs to.
        joint: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A vector has another length than the mechanism needs.
    #[error("`{name}` has length {found}, the mechanism needs {expected}")]
    WrongLength {
        /// The vector.
        name: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// The mechanism has something this integrator does not support.
    #[error("{integrator} does not support {what}: {remedy}")]
    Unsupported {
        /// The integrator.
        integrator: &'static str,
        /// The element, by name.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A joint starts beyond a limit that is held.
    #[error(
        "joint `{joint}` starts at {value}, beyond its limit {bound}: start inside, or let the limits go \
         (`--limits monitor`, `Mechanism::release_limits`)"
    )]
    OutsideLimits {
        /// The joint, or its coordinate.
        joint: String,
        /// Where it starts.
        value: f64,
        /// The limit.
        bound: f64,
    },
    /// Loops of the start state do not close.
    #[error(
        "loop joint `{joint}` cannot close: a gap of {gap:.3e} m remains; give a start nearer to a closed pose"
    )]
    OpenLoop {
        /// The loop joint.
        joint: String,
        /// Remaining gap.
        gap: f64,
    },
    /// An option is out of range.
    #[error("{option} = {value} is not possible: {remedy}")]
    BadOption {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What to do.
        remedy: String,
    },
}

/// A one-step method.
pub trait Integrator: Send {
    /// What a step changes.
    type State: Clone + Send;
    /// Memory of the method for one mechanism.
    type Workspace: Send;

    /// Name with order, as written into warm starts: `minimal-4`.
    fn label(&self) -> String;

    /// Memory for a mechanism.
    ///
    /// # Errors
    /// If the mechanism has something the method does not support.
    fn workspace(&self, mechanism: &Mechanism) -> Result<Self::Workspace, StepError>;

    /// The method's state at a public state. A warm start written by the same method continues bit for bit.
    ///
    /// # Errors
    /// If the state does not fit the mechanism or cannot be made consistent.
    fn start(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        state: &State,
    ) -> Result<Self::State, StepError>;

    /// Advances by `h`. Does not allocate.
    ///
    /// # Errors
    /// If the step cannot be taken; the state is then unchanged.
    fn step(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        state: &mut Self::State,
        input: Input<'_>,
        h: f64,
    ) -> Result<StepReport, StepError>;

    /// Time, positions and velocities in the public convention. Does not allocate if `out` has the right size.
    ///
    /// The warm start of `out` is not touched.
    fn read_out(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        state: &Self::State,
        out: &mut State,
    );

    /// What [`start`](Self::start) needs to continue from `state` bit for bit. May allocate.
    fn warm_start(&self, mechanism: &Mechanism, state: &Self::State) -> Vec<f64>;

    /// Largest distance by which a joint of the tree or a loop is open at `state`, in metres.
    fn gap(&self, _mechanism: &Mechanism, _workspace: &mut Self::Workspace, _state: &Self::State) -> f64 {
        0.0
    }

    /// What the inputs did over the last step; none for methods that do not know it.
    fn actuation<'w>(&self, _workspace: &'w Self::Workspace) -> Option<Actuation<'w>> {
        None
    }

    /// Constraint forces at the node that the last step started from; empty for methods that have none. May allocate.
    fn joint_forces(&self, _workspace: &mut Self::Workspace, out: &mut Vec<JointForce>) {
        out.clear();
    }

    /// Contacts of the mechanism, in its order, at the node that the last step started from; empty for methods without contact.
    /// May allocate.
    fn contact_forces(&self, _workspace: &Self::Workspace, out: &mut Vec<ContactForce>) {
        out.clear();
    }

    /// What steps with contact counted; none without contact.
    fn contact_counts(&self, _workspace: &Self::Workspace) -> Option<ContactCounts> {
        None
    }

    /// How far closing the loops of the start state moved a joint coordinate, at most.
    fn moved_at_start(&self, _state: &Self::State) -> f64 {
        0.0
    }

    /// What rows with friction or limits do, and did in the last step.
    fn rows<'a>(&self, _workspace: &'a Self::Workspace, _state: &'a Self::State) -> RowReport<'a> {
        RowReport::default()
    }
    /// True if the start had a warm start of this method that did not agree with its positions and velocities.
    fn warm_start_dropped(&self, _state: &Self::State) -> bool {
        false
    }
}

/// Refuses a vector of the wrong length.
///
/// # Errors
/// [`StepError::WrongLength`].
pub fn expect_length(name: &'static str, found: usize, expected: usize) -> Result<(), StepError> {
    if found == expected { Ok(()) } else { Err(StepError::WrongLength { name, expected, found }) }
}

/// Refuses a state that does not fit the mechanism or is not finite.
///
/// # Errors
/// [`StepError::WrongLength`] or [`StepError::NotFinite`].
pub fn expect_state(mechanism: &Mechanism, state: &State) -> Result<(), StepError> {
    expect_length("q", state.q.len(), mechanism.nq())?;
    expect_length("v", state.v.len(), mechanism.nv())?;
    if state.q.iter().chain(&state.v).chain([&state.t]).any(|x| !x.is_finite()) {
        return Err(StepError::NotFinite { time: state.t, what: "start state" });
    }
    Ok(())
}

/// Refuses what an integrator in joint coordinates does not support: loops, rolling, and joints that move no inertia.
///
/// # Errors
/// [`StepError::Unsupported`], naming the element and what to do.
pub fn expect_tree(mechanism: &Mechanism, integrator: &'static str) -> Result<(), StepError> {
    let refuse = |what: String, remedy: &str| {
        Err(StepError::Unsupported { integrator, what, remedy: remedy.to_owned() })
    };
    if let Some(joint) = mechanism.loop_joints().next() {
        return refuse(
            format!("loop joint `{}`", mechanism.joint(joint).name),
            "use the maximal integrator, or leave the joint out with `--ignore loops`",
        );
    }
    if let Some(c) = mechanism.constraints().first() {
        return refuse(format!("constraint `{}`", c.name), "use the maximal integrator");
    }
    expect_rows(mechanism, integrator)?;
    if let Some(joint) = mechanism.degenerate_joints().first() {
        return refuse(
            format!("joint `{}`, which moves no inertia", mechanism.joint(*joint).name),
            "give the body behind it mass, or the joint armature",
        );
    }
    Ok(())
}

/// Refuses friction where no engine can tell what it does: on rotations that are not one angle.
///
/// # Errors
/// [`StepError::Unsupported`], naming the joint and what to do.
pub fn expect_rows(mechanism: &Mechanism, integrator: &'static str) -> Result<(), StepError> {
    let several = |kind| matches!(kind, JointType::Spherical | JointType::Floating);
    match mechanism.joints().iter().find(|joint| several(joint.kind) && joint.friction != [0.0; 6]) {
        None => Ok(()),
        Some(joint) => Err(StepError::Unsupported {
            integrator,
            what: format!("friction of the {} joint `{}`", joint.kind.name(), joint.name),
            remedy: "leave it out with `--friction off` or `--ignore friction`, or give damping instead"
                .into(),
        }),
    }
}

/// The start as engines take it: coordinates that follow others where those say, and rows within their limits. A row that is
/// beyond a limit by less than 1e-6 is moved to it.
///
/// # Errors
/// [`StepError::OutsideLimits`] if it is further beyond.
pub fn placed_start(mechanism: &Mechanism, state: &State) -> Result<State, StepError> {
    let mut placed = state.clone();
    for row in mechanism.rows() {
        // Coordinates of loop joints are known once the loops are closed.
        let Some(value) = row.value(&placed.q) else { continue };
        let bound = value.clamp(row.lower, row.upper);
        let beyond = (value - bound).abs();
        if beyond > 1e-6 {
            return Err(StepError::OutsideLimits { joint: row.name.clone(), value, bound });
        }
        // Less is the rounding of the run that wrote the state: it must go on with the same bits.
        if let (true, Some(at)) = (beyond > 1e-9 * bound.abs().max(1.0), row.coordinate()) {
            placed.q[at.q] = bound;
        }
    }
    let State { q, v, .. } = &mut placed;
    mechanism.follow_at(state.t, q, v);
    Ok(placed)
}
