//! The maximal-coordinate variational integrator: closed loops that stay closed, in linear time.
//!
//! Every body has its own pose and momentum; joints are constraints between bodies. One step solves
//!
//! ```text
//! P_in = P + (h/2) F(pose, u)
//! p⁻(w) − P_in − G(pose)ᵀΛ = 0,      g(pose')/h = 0,      pose' = pose ⊞ h w
//! P'   = p⁺(w) + (h/2) F(pose', u)
//! ```
//!
//! for the interval velocities `w` and the constraint impulses `Λ`: symmetric, momentum preserving, of second order
//! because it starts and ends with half a kick at the nodes. The linear systems are solved on the graph of bodies and
//! joints, see [`graph`](self) and the theory notes `docs/theory/03-maximal.md`.
//!
//! One step, given poses and momenta (`substep` below):
//!
//! 1. node forces, constraint directions and scales at the start (`residual.rs`, `constraint.rs`, `forces.rs`);
//! 2. Newton's method from the extrapolated guess (the loop is in `newton.rs`): residual, elimination in graph order
//!    (`ldu/`), update, until every row is at the rounding of its own terms;
//! 3. the momenta gain the sum of the impulses.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests compare with the C library"))]
#![allow(clippy::inline_always, reason = "small kernels in the innermost loop")]

mod align;
pub(crate) mod constraint;
mod constraint_forces;
mod contact;
pub(crate) mod coordinate;
mod curve;
mod derivative;
mod direction;
pub(crate) mod forces;
pub(crate) mod geometry;
mod graph;
pub(crate) mod layout;
pub(crate) mod ldu;
mod limits;
mod linearized;
mod newton;
pub(crate) mod nonholonomic;
mod parts;
mod read_out;
#[cfg(feature = "reference")]
pub mod reference;
mod residual;
mod rotation_map;
mod servo;
mod start;
mod state;
mod tension;
mod ties;
pub(crate) mod workspace;

use std::sync::Arc;

pub use constraint_forces::JointImpulse;
#[doc(hidden)]
pub use contact::ClosedContact;
pub use contact::ContactDerivative;
pub use curve::StepNode;
pub use derivative::StepDerivative;
pub use derivative::contact::ContactSwitch;
#[doc(hidden)]
pub use derivative::contact::RelaxedLink;
pub use direction::NewtonDirection;
pub use nonholonomic::{Interval, IntervalSlope, VelocityConstraint};
pub use read_out::LinkSnapshot;
pub use rotation_map::RotationMap;
pub use state::MaximalState;
pub use workspace::MaximalWorkspace;

#[cfg(feature = "sabotage")]
use leastaction_core::sabotage;
use leastaction_core::{contact as contact_law, integrator, lobatto, mechanism, scalar, spatial};

use crate::contact_law::ContactSettings;
use crate::integrator::rows::RowStates;
use crate::integrator::{
    Actuation, ContactCounts, ContactForce, Input, Integrator, JointForce, RowReport, StepError, StepReport,
    expect_length, expect_rows, expect_state, placed_start,
};
use crate::mechanism::{Mechanism, State};
use layout::Layout;
use ldu::{Six, angular, linear};
use nonholonomic::RollingKind;
use state::HISTORY;

/// How steps are composed to a higher order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Composition {
    /// One step: second order.
    #[default]
    Plain,
    /// Three steps, fourth order.
    Yoshida,
    /// Five steps, fourth order with an error about seventy times smaller.
    Suzuki,
}

impl Composition {
    /// Fractions of the step.
    #[must_use]
    pub fn fractions(self) -> &'static [f64] {
        // a = 1/(2 − 2^(1/3)),  s = 1/(4 − 4^(1/3))
        const A: f64 = 1.351_207_191_959_657_8;
        const S: f64 = 0.414_490_771_794_375_7;
        match self {
            Self::Plain => &[1.0],
            Self::Yoshida => &[A, 1.0 - 2.0 * A, A],
            Self::Suzuki => &[S, S, 1.0 - 4.0 * S, S, S],
        }
    }

    /// Order of accuracy.
    #[must_use]
    pub fn order(self) -> u32 {
        if self == Self::Plain { 2 } else { 4 }
    }
}

/// Options of the maximal integrator.
///
/// ```
/// use leastaction::integrator::maximal::Maximal;
/// use leastaction::integrator::Simulator;
/// use leastaction::mechanism::{MechanismBuilder, samples};
///
/// let mechanism = MechanismBuilder::from(samples::four_bar()).build()?;
/// let mut simulator = Simulator::with(&mechanism, Maximal::default(), &mechanism.start_state())?;
/// for _ in 0..100 {
///     simulator.step(&[], 0.01)?;
/// }
/// assert!(simulator.gap() < 1e-12); // four revolutes, closed to rounding
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Maximal {
    /// Order of accuracy: 2, 4, … 12.
    pub order: u32,
    /// Steps of order 2 by the general scheme instead of its faster special case: to check the one by the other.
    #[doc(hidden)]
    pub general: bool,
    /// Steps of an order above 2 by the exact Newton matrix from the start.
    #[doc(hidden)]
    pub exact: bool,
    /// Steps of orders 4 and 6 node by node instead of side by side: to check the one by the other.
    #[doc(hidden)]
    pub node_by_node: bool,
    /// Rotation map.
    pub map: RotationMap,
    /// Composition of steps of order 2 to order 4: a check of the steps of order 4.
    #[doc(hidden)]
    pub composition: Composition,
    /// Hold joint limits (inelastically) instead of only watching them.
    pub enforce_limits: bool,
    /// Relative tolerance of the nonlinear solve.
    pub tolerance: f64,
    /// Torques against the angular velocities of bodies, by name and coefficient; not at order 2.
    #[doc(hidden)]
    pub spin_drag: Vec<(String, f64)>,
    /// How contacts are stepped; what is not given here comes from the mechanism.
    pub contact: ContactSettings,
    /// Which derivative steps with contact have.
    pub contact_derivative: ContactDerivative,
    /// Joint limits and friction as rows of the contact problem even where the mechanism has no contacts.
    #[doc(hidden)]
    pub limits_as_rows: bool,
    /// Springs as kicks at the nodes, however stiff: the scheme of reference data.
    #[doc(hidden)]
    pub explicit_springs: bool,
    /// Velocity constraints of your own, by body name.
    pub custom: Vec<(String, Arc<dyn VelocityConstraint>)>,
}

impl Default for Maximal {
    fn default() -> Self {
        Self {
            order: 2,
            general: false,
            exact: false,
            node_by_node: false,
            map: RotationMap::Sine,
            composition: Composition::Plain,
            enforce_limits: false,
            tolerance: 1e-12,
            spin_drag: Vec::new(),
            contact: ContactSettings::default(),
            contact_derivative: ContactDerivative::default(),
            limits_as_rows: false,
            explicit_springs: false,
            custom: Vec::new(),
        }
    }
}

/// What the maximal integrator can be told beside order and tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaximalOptions {
    /// Rotation map.
    pub rotation_map: RotationMap,
    /// Substeps that reach order 4, to check steps of order 4 by; none unless given.
    #[doc(hidden)]
    pub composition: Option<Composition>,
    /// Hold joint limits instead of only watching them.
    pub enforce_limits: bool,
    /// How contacts are stepped.
    pub contact: ContactSettings,
    /// Which derivative steps with contact have.
    pub contact_derivative: ContactDerivative,
}

/// Deepest recursive halving of a step.
const MAX_DEPTH: u32 = 8;

impl Maximal {
    /// From run-time options: order 2 (default), 4, … 12.
    ///
    /// # Errors
    /// If the order or the composition is not one of these.
    pub fn with_options(
        order: Option<u32>,
        tolerance: Option<f64>,
        more: &MaximalOptions,
    ) -> Result<Self, StepError> {
        let composition = more.composition.unwrap_or_default();
        let composed = composition != Composition::Plain;
        let asked = order.unwrap_or(composition.order());
        let refused =
            |remedy: String| Err(StepError::BadOption { option: "order", value: asked.to_string(), remedy });
        if composed && asked != composition.order() {
            return refused(format!("the composition given has order {}", composition.order()));
        }
        if !(2..=curve::MAX_ORDER).contains(&asked) || !asked.is_multiple_of(2) {
            return refused(format!("the maximal integrator has the even orders 2 to {}", curve::MAX_ORDER));
        }
        if asked > 2 && !composed && more.rotation_map == RotationMap::Cayley {
            return refused("Cayley's rotation map has order 2; leave the map out".into());
        }
        Ok(Self {
            order: if composed { 2 } else { asked },
            map: more.rotation_map,
            composition,
            enforce_limits: more.enforce_limits,
            contact: more.contact,
            contact_derivative: more.contact_derivative,
            tolerance: tolerance.unwrap_or(Self::default().tolerance),
            ..Self::default()
        })
    }

    /// Adds a velocity constraint of your own on the body of that name.
    #[must_use]
    pub fn with_constraint(
        mut self,
        body: impl Into<String>,
        constraint: Arc<dyn VelocityConstraint>,
    ) -> Self {
        self.custom.push((body.into(), constraint));
        self
    }

    /// Substeps of the composition, and degree of the curves (zero for the steps of order 2).
    pub(crate) fn shape(&self) -> (usize, usize) {
        let degree = if self.order > 2 || self.general { (self.order / 2) as usize } else { 0 };
        (self.composition.fractions().len(), degree)
    }

    fn rollings(&self, mechanism: &Mechanism) -> Result<Vec<(usize, RollingKind, String)>, StepError> {
        let mut out: Vec<_> = mechanism
            .constraints()
            .iter()
            .map(|c| (c.body.index(), RollingKind::BuiltIn(c.kind), c.name.clone()))
            .collect();
        for (name, constraint) in &self.custom {
            let body = mechanism.body_by_name(name).ok_or_else(|| StepError::BadOption {
                option: "body of a velocity constraint",
                value: name.clone(),
                remedy: "name a body of the mechanism".into(),
            })?;
            out.push((
                body.index(),
                RollingKind::Custom(constraint.clone()),
                format!("constraint on {name}"),
            ));
        }
        Ok(out)
    }

    /// One plain step of length `h` in composition stage `stage`: solve, then accept. The state is unchanged on `Err`.
    fn substep(
        &self,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        u: &[f64],
        h: f64,
        stage: usize,
        depth: u32,
        report: &mut StepReport,
        mut derivative: Option<&mut StepDerivative>,
    ) -> Result<(), StepError> {
        self.prepare_step(ws, state, u, h);
        let smooth = depth == 0 && state.history.h * self.composition.fractions()[stage] == h;
        newton::guess(&state.history, self.map, stage, h, smooth, depth > 0 && ws.accepted > 0, ws);
        let mut outcome = newton::solve(ws, self.map, state, self.tolerance);
        let mut iterations = outcome.iterations;
        if !outcome.converged && !ws.layout.closures.is_empty() {
            let mut scratch = std::mem::take(&mut ws.scratch_rows);
            newton::average_directions(&ws.layout, state, &ws.trial, &mut ws.step, &mut scratch);
            ws.scratch_rows = scratch;
            let again = newton::solve(ws, self.map, state, self.tolerance);
            iterations += again.iterations;
            if again.converged {
                report.fallbacks += 1;
                outcome = again;
            }
        }
        report.iterations += iterations;
        if outcome.converged {
            report.residual = report.residual.max(outcome.residual);
            report.dropped_rank = report.dropped_rank.max(outcome.dropped);
            report.inconsistency = report.inconsistency.max(outcome.inconsistency);
            if let Some(derivative) = derivative {
                derivative.capture(ws, self.map, state, u, stage);
            }
            self.accept(ws, state, u, h, stage, depth);
            return Ok(());
        }
        if depth >= MAX_DEPTH {
            return Err(StepError::NotConverged {
                time: state.t,
                step: h,
                iterations,
                residual: outcome.residual,
                tolerance: self.tolerance,
            });
        }
        // Split: the momentum-carrying map restarts exactly, without projection.
        report.splits += 1;
        ws.save(state);
        for _ in 0..2 {
            self.substep(ws, state, u, 0.5 * h, stage, depth + 1, report, derivative.as_deref_mut())?;
        }
        Ok(())
    }

    /// One step, composed of its substeps; differentiated on the way if asked.
    fn advance(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
        derivative: Option<&mut StepDerivative>,
    ) -> Result<StepReport, StepError> {
        expect_length("u", input.u.len(), mechanism.nu())?;
        if !(h.is_finite() && h != 0.0) {
            return Err(StepError::BadOption {
                option: "step",
                value: h.to_string(),
                remedy: "give a finite number of seconds that is not zero".into(),
            });
        }
        let mut known = std::mem::take(&mut ws.inputs);
        servo::known_forces(mechanism, input.u, &mut known, &mut ws.step.input_slopes);
        ws.step.known.copy_from_slice(&known);
        ws.actuation.fill(0.0);
        ws.work = 0.0;
        let outcome = if ws.curve.is_some() {
            self.advance_curve(mechanism, ws, state, Input { u: &known }, h, derivative)
        } else {
            self.composed(ws, state, &known, h, derivative)
        };
        ws.inputs = known;
        let moved = ws.layout.aligned_by;
        outcome.map(|report| StepReport { inconsistency: report.inconsistency.max(moved), ..report })
    }

    /// One step under known forces and inputs of servos.
    fn composed(
        &self,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        u: &[f64],
        h: f64,
        mut derivative: Option<&mut StepDerivative>,
    ) -> Result<StepReport, StepError> {
        let mut report = StepReport::default();
        let (fractions, t) = (self.composition.fractions(), state.t);
        ws.saved = false;
        if fractions.len() > 1 {
            ws.save(state);
        }
        ws.accepted = 0;
        // A composition's substeps differ in length and would change the inertias back and forth; a derivative is that of the
        // map from positions and velocities, which know no forces of a step before.
        if fractions.len() == 1 && derivative.is_none() {
            if tension::matters(&ws.layout, state, h) {
                ws.save(state);
                tension::resolve(&ws.layout, state, &mut ws.scratch_rows, h);
            }
            state.inertia_step = h.abs();
        }
        for (stage, fraction) in fractions.iter().enumerate() {
            if let Err(error) =
                self.substep(ws, state, u, fraction * h, stage, 0, &mut report, derivative.as_deref_mut())
            {
                if ws.saved {
                    state.restore(&ws.layout, &ws.backup);
                }
                return Err(error);
            }
        }
        state.t = t + h;
        // After a split step the last interval is shorter: extrapolate from it alone.
        let history = &mut state.history;
        let smooth = report.splits == 0 && history.h == h;
        history.count = if smooth { (history.count + 1).min(HISTORY) } else { 1 };
        history.newest = (history.newest + 1) % HISTORY;
        history.h = h;
        // Where one direction is enough a better guess saves nothing.
        if report.iterations as usize > fractions.len() && history.count > history.reach.min(HISTORY - 1) {
            history.reach = newton::reach(history, ws.layout.length);
        }
        Ok(report)
    }

    /// One step of a tree with friction or limits, cut at events.
    fn step_in_parts(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
    ) -> Result<StepReport, StepError> {
        expect_length("u", input.u.len(), mechanism.nu())?;
        if !(h.is_finite() && h > 0.0) {
            return Err(StepError::BadOption {
                option: "step",
                value: h.to_string(),
                remedy: "friction and limits act forwards in time: give a positive number of seconds".into(),
            });
        }
        let Some(mut driven) = ws.driven.take() else { return Ok(StepReport::default()) };
        ws.saved = false;
        ws.save(state);
        if let Some(memory) = &mut ws.curve {
            memory.started.take_node(state);
            memory.input.copy_from_slice(input.u);
        } else {
            if tension::matters(&ws.layout, state, h) {
                tension::resolve(&ws.layout, state, &mut ws.scratch_rows, h);
            }
            state.inertia_step = h.abs();
        }
        let (time, mut rows) = (state.t, std::mem::take(&mut state.rows));
        ws.step.set_modes(mechanism, &ws.layout, &rows.list, &state.q);
        let mut known = std::mem::take(&mut ws.inputs);
        servo::known_forces(mechanism, input.u, &mut known, &mut ws.step.input_slopes);
        ws.step.known.copy_from_slice(&known);
        let parts::Driven { driver, memory } = &mut *driven;
        memory.actuation.fill(0.0);
        memory.work = 0.0;
        let mut parts = parts::MaximalParts { engine: self, mechanism, ws, start: state, memory, u: &known };
        let outcome = driver.step(mechanism, &mut parts, &mut rows, input.u, h, time);
        ws.actuation.copy_from_slice(&memory.actuation);
        ws.work = memory.work;
        ws.inputs = known;
        match &outcome {
            Ok(_) => {
                state.t = time + h;
                state.rows = rows;
            }
            Err(_) => {
                state.restore(&ws.layout, &ws.backup);
            }
        }
        ws.driven = Some(driven);
        outcome
    }

    /// One step without contact.
    fn free_step(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
    ) -> Result<StepReport, StepError> {
        if ws.driven.is_some() {
            return self.step_in_parts(mechanism, ws, state, input, h);
        }
        self.advance(mechanism, ws, state, input, h, None)
    }

    /// What is constant over a step from `state`, in the workspace.
    pub(crate) fn prepare_step(&self, ws: &mut MaximalWorkspace, state: &MaximalState, u: &[f64], h: f64) {
        ws.step.prepare(&ws.layout, state, h, &mut ws.ldu.size);
        self.take_in(ws, state, u, h);
    }

    /// Incoming momenta: the carried ones and half a kick at the start pose.
    fn take_in(&self, ws: &mut MaximalWorkspace, state: &MaximalState, u: &[f64], h: f64) {
        let step = &mut ws.step;
        step.incoming.copy_from_slice(&state.momentum);
        forces::add_half_kick(
            &ws.layout,
            &state.side,
            &state.q,
            &state.q_loop,
            u,
            0.5 * h,
            &step.implicit,
            &step.implicit_loop,
            &mut step.incoming,
        );
        if step.driven {
            forces::add_friction(&ws.layout, &state.side, &step.friction, 0.5 * h, &mut step.incoming);
        }
        residual::incoming_about_points(&state.side, &step.incoming, &mut step.incoming_point);
        step.scales = newton::scales(&ws.layout, &step.incoming, &state.poses, h);
    }

    /// Moves the state to the end of the solved interval.
    pub(crate) fn accept(
        &self,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        u: &[f64],
        h: f64,
        stage: usize,
        depth: u32,
    ) {
        let MaximalWorkspace { layout, step, iterate, trial, .. } = ws;
        // Incoming momenta and all impulses: of joints and closures, of drag at both ends, of the coordinate rows at the end,
        // half a kick at the end pose. That is R'p⁺(ω), m v to the tolerance, and momentum is kept to rounding. (3.7)
        for (i, link) in layout.links.iter().enumerate() {
            let (u, r, p) = (&trial.unbalanced[i], &trial.residual[i], &step.incoming[i]);
            let net: Six = crate::scalar::by_entry(|k| u[k] - r[k]);
            let turn = angular(&net) + state.side.arm[i].cross(linear(&net));
            let (mut ang, mut lin) = (angular(p) + turn, linear(p) + linear(&net));
            if !link.drags.is_empty() {
                for at_end in [false, true] {
                    let v = linear(&iterate.w[i]);
                    let (tau, f) = residual::drag_impulse(layout, i, &state.side, &trial.side, v, h, at_end);
                    ang += tau;
                    lin += f;
                }
            }
            state.momentum[i] = ldu::six(ang, lin);
        }
        read_out::add_end_impulses(layout, step, trial, &mut state.momentum);
        #[cfg(feature = "sabotage")]
        if crate::sabotage::chosen(crate::sabotage::Fault::Leak) {
            state.momentum.iter_mut().flatten().for_each(|p| *p *= 1.0 - 1e-6);
        }
        ws.work +=
            servo::add_actuation(layout, step, &state.side, &trial.side, &state.q, true, &mut ws.actuation);
        std::mem::swap(&mut state.side, &mut trial.side);
        std::mem::swap(&mut state.poses, &mut trial.poses);
        let first = ws.accepted == 0;
        if first {
            std::mem::swap(&mut ws.node_side, &mut trial.side); // the start's geometry
            ws.node_rows.copy_from_slice(&step.rows);
            ws.node_time = 0.5 * (state.interval + h);
        }
        ws.accepted += 1;
        state.interval = h;
        state.unwrap_coordinates(layout);
        forces::add_half_kick(
            layout,
            &state.side,
            &state.q,
            &state.q_loop,
            u,
            0.5 * h,
            &step.implicit,
            &step.implicit_loop,
            &mut state.momentum,
        );
        if step.driven {
            forces::add_friction(layout, &state.side, &step.friction, 0.5 * h, &mut state.momentum);
        }
        let history = &mut state.history;
        let next = (history.newest + 1) % HISTORY;
        let (n, nc) = (iterate.w.len(), iterate.lam.len());
        let at = stage * HISTORY + next;
        let (w, wrench) = (&mut history.w[at * n..(at + 1) * n], &mut history.wrench[at * n..(at + 1) * n]);
        let solved = iterate.w.iter().zip(&iterate.wrench);
        for ((w, wrench), (solved_w, solved_wrench)) in w.iter_mut().zip(wrench).zip(solved) {
            *w = *solved_w;
            *wrench = *solved_wrench;
        }
        history.lam[at * nc..(at + 1) * nc].copy_from_slice(&iterate.lam);
        history.limit.copy_from_slice(&iterate.limit);
        if depth > 0 || self.composition != Composition::Plain {
            ws.last.copy_from(iterate);
        }
        if first {
            // The iterate is a guess from here on.
            std::mem::swap(&mut ws.node, &mut ws.iterate);
        }
    }
}

impl Integrator for Maximal {
    type State = MaximalState;
    type Workspace = MaximalWorkspace;

    fn label(&self) -> String {
        let stages = match self.composition {
            Composition::Plain if self.shape().1 > 0 => return format!("maximal-{}", self.order),
            Composition::Plain => "2",
            Composition::Yoshida => "4-yoshida",
            Composition::Suzuki => "4-suzuki",
        };
        format!("maximal-{stages}-{}", self.map.name())
    }

    fn workspace(&self, mechanism: &Mechanism) -> Result<MaximalWorkspace, StepError> {
        let mut layout = Layout::new(mechanism, &self.rollings(mechanism)?)?;
        for (name, coefficient) in &self.spin_drag {
            let body = mechanism.body_by_name(name).and_then(|b| layout.bodies[b.index()].link);
            if let Some(link) = body {
                layout.links[link].spin_drag += coefficient;
            }
        }
        let mut layout = align::aligned(mechanism, layout);
        let composed = self.composition != Composition::Plain;
        if composed && (layout.dissipative || (self.enforce_limits && layout.limited)) {
            return Err(StepError::BadOption {
                option: "order",
                value: "4".into(),
                remedy: "a composition has a negative substep, which damping, drag and limits do not allow; \
                         use steps of order 4"
                    .into(),
            });
        }
        if !self.order.is_multiple_of(2) || !(2..=curve::MAX_ORDER).contains(&self.order) {
            return Err(StepError::BadOption {
                option: "order",
                value: self.order.to_string(),
                remedy: format!("the maximal integrator has the even orders 2 to {}", curve::MAX_ORDER),
            });
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(StepError::BadOption {
                option: "tolerance",
                value: self.tolerance.to_string(),
                remedy: "give a number between 0 and 1, such as 1e-12".into(),
            });
        }
        expect_rows(mechanism, "maximal")?;
        let refuse = |what: String, remedy: &str| {
            Err(StepError::Unsupported { integrator: "maximal", what, remedy: remedy.to_owned() })
        };
        let touches = self.limits_as_rows || !mechanism.contacts().is_empty();
        let follower =
            mechanism.followers().iter().find(|f| composed || (touches && f.law.motion().is_some()));
        if let Some(follower) = follower {
            let name = &mechanism.joint(follower.joint).name;
            let (what, remedy) = if composed {
                (format!("joint `{name}`, which follows others"), "use steps of order 4")
            } else {
                let what = format!("joint `{name}`, whose motion is given, beside contact");
                (what, "leave out contact with `--contact off`")
            };
            return refuse(what, remedy);
        }
        let elastic = |t: &&crate::mechanism::Tendon| t.stiffness != 0.0 || t.damping != 0.0;
        let mut tendons = mechanism.tendons().iter();
        if let Some(tendon) = tendons.find(|t| composed || (touches && elastic(t))) {
            let what = format!("tendon `{}` with a spring or a damper beside contact", tendon.name);
            return refuse(what, "leave out contact with `--contact off`, or it with `--ignore couplings`");
        }
        let rubs = mechanism.joints().iter().find(|joint| joint.friction != [0.0; 6]);
        let rolls = layout.closures.iter().any(|c| matches!(c.kind, layout::ClosureKind::Rolling(_)));
        if let Some(joint) = rubs.filter(|_| rolls) {
            let what = format!("friction of joint `{}` in a mechanism with rolling", joint.name);
            return refuse(what, "leave it out with `--friction off` or `--ignore friction`");
        }
        if touches && (composed || self.shape().1 > 0) {
            return Err(StepError::BadOption {
                option: "order",
                value: self.order.to_string(),
                remedy: "contact is stepped at order 2; use order 2, or `--contact off`".into(),
            });
        }
        let (stages, mut degree) = self.shape();
        // Rows over several joints, and rows in loops, are those of the general scheme, which is this one at degree 1.
        let general = !layout.ties.is_empty()
            || !layout.tendons.is_empty()
            || (!mechanism.rows().is_empty() && !layout.closures.is_empty() && !rolls);
        if general && !touches && !composed {
            degree = degree.max(1);
        }
        let shape = (stages, degree);
        let driven = if touches { None } else { parts::Driven::new(mechanism, &mut layout, shape) };
        if composed && driven.is_some() {
            return Err(StepError::BadOption {
                option: "order",
                value: "4".into(),
                remedy:
                    "its composition has a negative substep, which friction and limits do not allow; use \
                         order 2, or `--friction off --limits monitor`"
                        .into(),
            });
        }
        let enforce = self.enforce_limits && driven.is_none() && !touches;
        let (nq, nv) = (mechanism.nq(), mechanism.nv());
        let settings = self.contact.or(mechanism.contact_settings());
        let contact =
            touches.then(|| Box::new(contact::ContactMemory::new(mechanism, &mut layout, settings, nq, nv)));
        let mut ws = MaximalWorkspace::new(layout, shape, mechanism.nq(), mechanism.nv(), enforce);
        if let Some(curve) = ws.curve.as_mut().filter(|_| self.node_by_node) {
            curve.lanes = None;
        }
        for (k, row) in mechanism.rows().iter().enumerate() {
            if let (Some(at), true) = (row.coordinate(), driven.is_some()) {
                ws.row_of[at.v] = Some(k);
            }
        }
        ws.step.driven = driven.is_some();
        ws.step.explicit_springs = self.explicit_springs;
        ws.driven = driven;
        ws.contact = contact;
        Ok(ws)
    }

    fn start(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MaximalWorkspace,
        state: &State,
    ) -> Result<MaximalState, StepError> {
        expect_state(mechanism, state)?;
        let placed = if workspace.step.driven || workspace.contact.is_some() || workspace.ties.is_some() {
            Some(placed_start(mechanism, state)?)
        } else {
            None
        };
        let state = placed.as_ref().unwrap_or(state);
        let fresh = |workspace: &mut MaximalWorkspace| {
            let degree = workspace.curve.as_ref().map_or(0, |curve| curve.table.s);
            let shape = (self.shape().0, degree);
            let mut made = MaximalState::new(&workspace.layout, shape, mechanism.nq(), mechanism.nv());
            if workspace.step.driven {
                made.rows = RowStates::new(mechanism);
            }
            if let Some(mem) = &workspace.contact {
                let (n, nc) = (workspace.layout.links.len(), workspace.layout.closures.len());
                made.contact = contact::ContactState::new(n, mechanism.nv(), nc, mem.items.len());
            }
            made
        };
        let mut made = fresh(workspace);
        if let Some(warm) = state.warm.as_ref().filter(|warm| warm.integrator == self.label()) {
            if made.read_numbers(&workspace.layout, &warm.data)
                && start::reproduces(mechanism, workspace, &made, state)
            {
                // Its own time has the rounding of its sum; another time was given on purpose.
                let open = start::open_by(workspace, &made);
                start::set_row_tolerance(workspace, open);
                if (made.t - state.t).abs() > 1e-9 * made.t.abs().max(made.interval.abs()) {
                    made.t = state.t;
                }
                return Ok(made);
            }
            made = fresh(workspace);
            made.warm_start_dropped = true;
        }
        start::consistent_start(mechanism, workspace, state, &mut made)?;
        self.start_with_contact(workspace, &mut made)?;
        Ok(made)
    }

    fn step(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
    ) -> Result<StepReport, StepError> {
        if ws.contact.is_some() {
            return self.step_with_contact(mechanism, ws, state, input, h, None);
        }
        if ws.drives.is_empty() {
            return self.free_step(mechanism, ws, state, input, h);
        }
        // What drives take: their impulses at the nodes, and what the read-outs at both ends differ by. (7.12)
        read_out::project(ws, state);
        state.driven.fill(0.0);
        ws.read_drives(|drive, _, eta| *drive = -eta);
        let report = self.free_step(mechanism, ws, state, input, h)?;
        read_out::project(ws, state);
        ws.read_drives(|drive, o, eta| *drive += state.driven[o] + eta);
        let motions = ws.layout.ties.iter().filter_map(|tie| tie.motion());
        for (motion, impulse) in motions.zip(&ws.drives) {
            ws.work += impulse * motion.increment(state.t - h, h) / h;
        }
        Ok(report)
    }

    fn rows<'a>(&self, workspace: &'a MaximalWorkspace, state: &'a MaximalState) -> RowReport<'a> {
        RowReport {
            states: &state.rows.list,
            impulses: &state.rows.impulses,
            events: workspace.driven.as_ref().map_or(&[], |driven| driven.driver.events()),
            drives: &workspace.drives,
        }
    }

    fn read_out(
        &self,
        mechanism: &Mechanism,
        workspace: &mut MaximalWorkspace,
        state: &MaximalState,
        out: &mut State,
    ) {
        read_out::read_out(mechanism, workspace, state, out);
    }

    fn warm_start(&self, _mechanism: &Mechanism, state: &MaximalState) -> Vec<f64> {
        state.to_numbers()
    }

    fn gap(&self, _mechanism: &Mechanism, workspace: &mut MaximalWorkspace, state: &MaximalState) -> f64 {
        let gap = read_out::largest_gap(&workspace.layout, state);
        gap.ang.max(gap.lin)
    }

    fn actuation<'w>(&self, workspace: &'w MaximalWorkspace) -> Option<Actuation<'w>> {
        Some(Actuation { impulse: &workspace.actuation, work: workspace.work })
    }

    fn joint_forces(&self, workspace: &mut MaximalWorkspace, out: &mut Vec<JointForce>) {
        *out = workspace.joint_forces();
    }

    fn contact_forces(&self, workspace: &MaximalWorkspace, out: &mut Vec<ContactForce>) {
        *out = workspace.contact_forces();
    }

    fn contact_counts(&self, workspace: &MaximalWorkspace) -> Option<ContactCounts> {
        workspace.contact.as_ref().map(|mem| mem.counts)
    }

    fn moved_at_start(&self, state: &MaximalState) -> f64 {
        state.moved_at_start()
    }

    fn warm_start_dropped(&self, state: &MaximalState) -> bool {
        state.warm_start_dropped
    }
}

/// Mass-weighted velocity of a link as momentum about the centre of mass.
fn momentum_of(link: &layout::Link, rot: &crate::spatial::Mat3, w: &Six) -> Six {
    let ang = *rot * (link.inertia * rot.tr_mul(angular(w)));
    ldu::six(ang, linear(w) * link.mass)
}
