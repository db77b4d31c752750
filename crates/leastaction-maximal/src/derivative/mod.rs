//! The derivative of a step by the implicit function theorem, forward and adjoint. (3.28) to (3.35)
//!
//! The map is the public one, `(q, v, u) ↦ (q', v')`: momenta of the rates at the start, one interval (or several, when
//! composed), rates projected from the momenta at the end. Every interval reuses the factorization of its Newton matrix, made
//! once more at the solution; a product with the derivative or its transpose costs O(n).

pub(crate) mod blocks;
mod chart;
pub(crate) mod contact;
mod differences;
pub(crate) mod node;
mod parameters;
mod products;
mod stage;
pub(crate) mod varied;

use super::constraint::multipliers;
use super::curve::{CurveMemory, CurveSlope};
use super::graph::Graph;
use super::layout::Layout;
use super::ldu::{Six, System, angular, linear, six};
use super::residual::assemble;
use super::rotation_map::RotationMap;
use super::state::MaximalState;
use super::workspace::{Iterate, MaximalWorkspace, StepData, Trial};
use super::{Input, Maximal, StepError, StepReport};
use crate::integrator::StepLinearization;
use crate::mechanism::{Mechanism, Parameter};
use crate::spatial::Vec3;
use chart::Chart;
use contact::Touching;
use node::{EndNode, StartNode};
use parameters::Parameters;
use stage::{At, Stage};

/// The derivative of one step of the maximal integrator, with the memory to make it again.
///
/// Products are with the coordinates of admissible states: all joint tangents and rates of a tree; where loops or
/// rolling make some depend on others, a free subset chosen at the start of the step ([`free_positions`],
/// [`free_velocities`]).
///
/// ```
/// use leastaction::integrator::maximal::{Maximal, StepDerivative};
/// use leastaction::integrator::{Input, Integrator};
/// use leastaction::mechanism::{MechanismBuilder, samples};
///
/// let mechanism = MechanismBuilder::from(samples::four_bar()).build()?;
/// let engine = Maximal::default();
/// let mut ws = engine.workspace(&mechanism)?;
/// let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state())?;
/// let mut slope = StepDerivative::new(&engine, &mechanism, &ws);
/// engine.differentiate(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.01, &mut slope)?;
/// // Three hinges in the tree, one freedom: one position and one velocity.
/// assert_eq!((slope.free_positions().len(), slope.free_velocities().len()), (1, 1));
/// let mut out = [0.0; 2];
/// slope.forward(&[1.0, 0.0], &[], &mut out);
/// assert!((out[0] - 1.0).abs() < 1e-2 && out[1].abs() < 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`free_positions`]: Self::free_positions
/// [`free_velocities`]: Self::free_velocities
#[derive(Clone, Debug)]
pub struct StepDerivative {
    layout: Layout,
    graph: Graph,
    nv: usize,
    nu: usize,
    chart: Chart,
    start: StartNode,
    stages: Vec<Stage>,
    /// The step itself at an order above 2.
    curve: Option<Box<CurveSlope>>,
    end: EndNode,
    /// Steps with contact: the first stage of an impact's node, what was met on the way.
    touching: Touching,
    parameters: Parameters,
    saved: MaximalState,
    system: System,
    /// Scratch: pose and momentum variations at the two ends of an interval, and joint wrenches free of the gauge.
    z: [Vec<Six>; 2],
    momentum: [Vec<Six>; 2],
    wrench: Vec<Six>,
    lam: Vec<Six>,
    dq: Vec<f64>,
    dv: Vec<f64>,
    /// Rates at the start.
    dv_start: Vec<f64>,
    du: Vec<f64>,
    x: Vec<f64>,
    theta: Vec<f64>,
}

impl StepDerivative {
    /// Memory for the derivative of steps of `engine` on the mechanism that `workspace` was made for.
    #[must_use]
    pub fn new(engine: &Maximal, mechanism: &Mechanism, workspace: &MaximalWorkspace) -> Self {
        let (layout, graph) = (workspace.layout.clone(), workspace.graph.clone());
        let (nv, nu, n) = (mechanism.nv(), mechanism.nu(), layout.links.len());
        let (stages, degree) = engine.shape();
        let six = || vec![[0.0; 6]; n];
        Self {
            nv,
            nu,
            chart: Chart::new(&layout, nv),
            start: StartNode::new(&layout, nv),
            stages: (0..if degree > 0 { 0 } else { stages })
                .map(|_| Stage::new(&layout, &graph, nv))
                .collect(),
            curve: (degree > 0).then(|| Box::new(CurveSlope::new(&layout, &graph, degree))),
            end: EndNode::new(&layout, &graph, nv),
            touching: Touching::new(&layout, &graph, nv),
            parameters: Parameters::default(),
            theta: Vec::new(),
            saved: MaximalState::new(&layout, engine.shape(), mechanism.nq(), nv),
            system: System::new(&layout, nv),
            z: [six(), six()],
            momentum: [six(), six()],
            wrench: six(),
            lam: vec![[0.0; 6]; layout.closures.len()],
            dq: vec![0.0; nv],
            dv: vec![0.0; nv],
            dv_start: vec![0.0; nv],
            du: vec![0.0; nu],
            x: vec![0.0; 2 * nv],
            layout,
            graph,
        }
    }

    /// Position coordinates (indices into the public tangent) that the others follow.
    #[must_use]
    pub fn free_positions(&self) -> &[usize] {
        &self.chart.free_q
    }

    /// Velocity coordinates that the others follow.
    #[must_use]
    pub fn free_velocities(&self) -> &[usize] {
        &self.chart.free_v
    }

    /// Keeps the free coordinates chosen last for the steps to come, so that derivatives of successive steps multiply.
    pub fn keep_coordinates(&mut self, keep: bool) {
        self.chart.fixed = keep;
    }

    /// Changes of all joint coordinates at the start that go with free ones: `δq = Z x_q`, `δv = Z_v x_v + Y x_q`.
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn expand(&self, x: &[f64], dq: &mut [f64], dv: &mut [f64]) {
        self.chart.expand(x, dq, dv);
    }

    /// Chooses the parameters of the model that steps are differentiated by besides state and inputs.
    ///
    /// # Errors
    /// If there is no derivative by one of them.
    pub fn differentiate_by(
        &mut self,
        mechanism: &Mechanism,
        parameters: &[Parameter],
    ) -> Result<(), StepError> {
        if self.curve.is_some() && !parameters.is_empty() {
            return Err(StepError::Unsupported {
                integrator: "the derivative of a step of maximal",
                what: "parameters at an order above 2".into(),
                remedy: "use order 2, or the minimal integrator".into(),
            });
        }
        self.parameters = Parameters::new(mechanism, &self.layout, parameters)?;
        self.theta = vec![0.0; parameters.len()];
        Ok(())
    }

    /// Number of free coordinates, positions and velocities together.
    #[must_use]
    pub fn width(&self) -> usize {
        self.chart.free_q.len() + self.chart.free_v.len()
    }

    /// `x' = A x + B u`: free coordinates of the start and inputs to the same coordinates at the end.
    ///
    /// # Panics
    /// If a slice has another length than [`width`](Self::width) or the number of inputs.
    pub fn forward(&mut self, x: &[f64], u: &[f64], out: &mut [f64]) {
        assert!(x.len() == self.width() && u.len() == self.nu && out.len() == x.len());
        self.products(x, u, None);
        let mq = self.chart.free_q.len();
        for (o, c) in out[..mq].iter_mut().zip(&self.chart.free_q) {
            *o = self.dq[*c];
        }
        for (o, c) in out[mq..].iter_mut().zip(&self.chart.free_v) {
            *o = self.dv[*c];
        }
    }

    /// As [`forward`](Self::forward), with the variations of all joint coordinates at the end.
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn forward_all(&mut self, x: &[f64], u: &[f64], dq: &mut [f64], dv: &mut [f64]) {
        assert!(x.len() == self.width() && u.len() == self.nu);
        self.products(x, u, None);
        dq.copy_from_slice(&self.dq);
        dv.copy_from_slice(&self.dv);
    }

    /// Variations of all joint coordinates at the end by a unit of parameter `index`.
    ///
    /// # Panics
    /// If a slice has the wrong length, or there is no such parameter.
    pub fn forward_parameter(&mut self, index: usize, dq: &mut [f64], dv: &mut [f64]) {
        let (x, u) = (vec![0.0; self.width()], vec![0.0; self.nu]);
        self.products(&x, &u, Some(index));
        dq.copy_from_slice(&self.dq);
        dv.copy_from_slice(&self.dv);
    }

    /// `x̄ = Aᵀ y`, `ū = Bᵀ y`: gradients by the start from gradients by the end.
    ///
    /// # Panics
    /// If a slice has another length than [`width`](Self::width) or the number of inputs.
    pub fn adjoint(&mut self, y: &[f64], x: &mut [f64], u: &mut [f64]) {
        assert!(y.len() == self.width() && u.len() == self.nu && x.len() == y.len());
        let mq = self.chart.free_q.len();
        self.dq.fill(0.0);
        self.dv.fill(0.0);
        for (y, c) in y[..mq].iter().zip(&self.chart.free_q) {
            self.dq[*c] = *y;
        }
        for (y, c) in y[mq..].iter().zip(&self.chart.free_v) {
            self.dv[*c] = *y;
        }
        self.transposed(x, u);
    }

    /// Gradients by free coordinates, inputs and parameters at the start from gradients by all joint coordinates at the end.
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn adjoint_all(
        &mut self,
        dq: &[f64],
        dv: &[f64],
        x: &mut [f64],
        u: &mut [f64],
        parameters: &mut [f64],
    ) {
        self.dq.copy_from_slice(dq);
        self.dv.copy_from_slice(dv);
        self.transposed(x, u);
        parameters.copy_from_slice(&self.theta);
    }

    /// The transpose of [`products`](Self::products), from `dq` and `dv`; gradients by parameters stay in `theta`.
    fn transposed(&mut self, x: &mut [f64], u: &mut [f64]) {
        let Self {
            layout,
            graph,
            chart,
            start,
            stages,
            curve,
            end,
            touching,
            system,
            z,
            momentum,
            dq,
            dv,
            dv_start,
            theta,
            ..
        } = self;
        u.fill(0.0);
        theta.fill(0.0);
        dv_start.fill(0.0);
        start.w.fill([0.0; 6]);
        let ([z0, z1], [p0, p1]) = (z, momentum);
        z1.fill([0.0; 6]);
        system.body.fill([0.0; 6]);
        end.adjoint(layout, graph, dv, system, z1, p1, (&mut start.w, dv_start, dq), theta);
        touching.adjoint(layout, graph, system, z1, p1, (&mut start.w, dv_start, dq), theta);
        if let Some(curve) = curve {
            end.node.coordinates_transposed(layout, dq, z1);
            about(layout, &end.node.side.arm, z1, &to_points_transposed);
            curve.adjoint(layout, z1, p1, z0, p0, u);
            about(layout, &start.node.side.arm, z0, &to_centres_transposed);
            start.adjoint(layout, z0, p0, dq, dv_start, theta);
            chart.expand_transposed(dq, dv_start, x);
            return;
        }
        end.change_basis(layout, false, dq);
        system.rate.copy_from_slice(dq);
        for stage in stages.iter_mut().rev() {
            let node = (&mut start.w[..], &mut dv_start[..]);
            stage.adjoint(layout, graph, z1, p1, system, z0, p0, node, u, theta);
            std::mem::swap(z0, z1);
            std::mem::swap(p0, p1);
            system.rate.fill(0.0);
        }
        start.adjoint(layout, z1, p1, dq, dv_start, theta);
        chart.expand_transposed(dq, dv_start, x);
    }

    /// Writes `[A B]` in the free coordinates. Does not allocate once `out` has its size.
    pub fn matrix_into(&mut self, out: &mut StepLinearization) {
        let (m, nu) = (self.width(), self.nu);
        out.positions.clone_from(&self.chart.free_q);
        out.velocities.clone_from(&self.chart.free_v);
        out.inputs = nu;
        out.matrix.clear();
        out.matrix.resize(m * (m + nu), 0.0);
        let (mut x, mut du) = (std::mem::take(&mut self.x), std::mem::take(&mut self.du));
        x.resize(2 * self.nv, 0.0);
        for column in 0..m + nu {
            x.fill(0.0);
            du.fill(0.0);
            if column < m {
                x[column] = 1.0;
            } else {
                du[column - m] = 1.0;
            }
            self.products(&x[..m], &du, None);
            self.free_ends(|row, value| out.matrix[row * (m + nu) + column] = value);
        }
        x.fill(0.0);
        du.fill(0.0);
        let np = self.parameters.len();
        out.parameters = np;
        out.by_parameters.clear();
        out.by_parameters.resize(m * np, 0.0);
        for p in 0..np {
            self.products(&x[..m], &du, Some(p));
            self.free_ends(|row, value| out.by_parameters[row * np + p] = value);
        }
        (self.x, self.du) = (x, du);
    }

    /// The free ones of the variations at the end.
    fn free_ends(&self, mut each: impl FnMut(usize, f64)) {
        let positions = self.chart.free_q.iter().map(|c| self.dq[*c]);
        let velocities = self.chart.free_v.iter().map(|c| self.dv[*c]);
        positions.chain(velocities).enumerate().for_each(|(row, value)| each(row, value));
    }

    /// Variations of all joint coordinates at the end, in `dq` and `dv`; with `parameter`, by a unit of it, too.
    fn products(&mut self, x: &[f64], u: &[f64], parameter: Option<usize>) {
        self.theta.fill(0.0);
        if let Some(p) = parameter {
            self.theta[p] = 1.0;
        }
        let Self {
            layout,
            graph,
            chart,
            start,
            stages,
            curve,
            end,
            touching,
            system,
            z,
            momentum,
            dq,
            dv,
            dv_start,
            theta,
            ..
        } = self;
        chart.expand(x, dq, dv_start);
        let ([z0, z1], [p0, p1]) = (z, momentum);
        start.forward(layout, dq, dv_start, theta, z0, p0);
        if let Some(curve) = curve {
            about(layout, &start.node.side.arm, z0, &to_centres);
            curve.forward(layout, z0, p0, u, z1, p1);
            about(layout, &end.node.side.arm, z1, &to_points);
            end.node.coordinates(layout, z1, dq);
            end.forward(layout, graph, z1, p1, (&start.w, dv_start, dq), theta, system, dv);
            return;
        }
        for stage in stages.iter_mut() {
            stage.forward(layout, graph, z0, p0, (&start.w, dv_start), u, theta, system, z1, p1);
            std::mem::swap(z0, z1);
            std::mem::swap(p0, p1);
        }
        dq.copy_from_slice(&system.rate);
        end.change_basis(layout, true, dq);
        touching.forward(layout, graph, z0, p0, (&start.w, dv_start, dq), theta, system);
        end.forward(layout, graph, z0, p0, (&start.w, dv_start, dq), theta, system, dv);
    }

    /// Differentiates the step of an order above 2 just solved, before it is accepted; false if it is singular.
    pub(super) fn capture_curve(
        &mut self,
        ws: &MaximalWorkspace,
        memory: &CurveMemory,
        state: &MaximalState,
        u: &[f64],
    ) -> bool {
        let (layout, n, nc) = (&ws.layout, ws.layout.links.len(), ws.layout.closures.len());
        self.wrench.copy_from_slice(&memory.x.lam[..n]);
        self.lam.copy_from_slice(&memory.x.closure[..nc]);
        // What the carried momentum holds of constraint directions is not a function of (q, v): take it out.
        for (i, link) in layout.links.iter().enumerate() {
            let mut gauge = [0.0; 6];
            let g = super::start::full_geometry(layout, &state.side, i);
            multipliers(link.joint.kind, &g, &self.start.gauge[i], &mut gauge);
            (0..6).for_each(|k| self.wrench[i][k] -= gauge[k]);
        }
        for (lam, gauge) in self.lam.iter_mut().flatten().zip(self.start.gauge_lam.iter().flatten()) {
            *lam -= gauge;
        }
        let Some(curve) = &mut self.curve else { return false };
        curve.fill(layout, state, &ws.step, memory, u, (&self.wrench, &self.lam))
    }

    /// The product in the variables of the scheme, at an order above 2: rotations (world axes) and displacements of the
    /// centres of mass, momenta about them.
    #[doc(hidden)]
    pub fn pose_product(&mut self, z: &[[f64; 6]], p: &[[f64; 6]], u: &[f64]) -> [Vec<[f64; 6]>; 2] {
        let (mut z_end, mut p_end) = (z.to_vec(), p.to_vec());
        if let Some(curve) = &mut self.curve {
            curve.forward(&self.layout, z, p, u, &mut z_end, &mut p_end);
        }
        [z_end, p_end]
    }

    /// Differentiates the interval just solved in the workspace, before it is accepted.
    pub(super) fn capture(
        &mut self,
        ws: &mut MaximalWorkspace,
        map: RotationMap,
        state: &MaximalState,
        u: &[f64],
        stage: usize,
    ) {
        let MaximalWorkspace { layout, graph, step, iterate, trial, ldu, system, .. } = ws;
        assemble(true, map, layout, &graph.ends, state, step, iterate, trial, ldu, system);
        if let Some(before) = stage.checked_sub(1) {
            self.parameters.close_stage(&state.momentum, &mut self.stages[before]);
        }
        let target = &mut self.stages[stage];
        target.keep(layout, graph, ldu);
        ldu.factor(layout, graph, &state.side, &trial.side);
        std::mem::swap(ldu, &mut target.ldu);
        ldu.dropped = target.ldu.dropped;
        self.capture_slopes(layout, step, map, state, iterate, trial, u, stage);
    }

    /// Slopes of the interval just solved; its factors are in place.
    fn capture_slopes(
        &mut self,
        layout: &Layout,
        step: &StepData,
        map: RotationMap,
        state: &MaximalState,
        iterate: &Iterate,
        trial: &Trial,
        u: &[f64],
        stage: usize,
    ) {
        let target = &mut self.stages[stage];
        target.start.copy_from(&state.side);
        target.end.copy_from(&trial.side);
        self.wrench.copy_from_slice(&iterate.wrench);
        self.lam.copy_from_slice(&iterate.lam);
        let mut momentum = &state.momentum;
        if stage == 0 {
            // What the carried momentum holds of constraint directions is not a function of (q, v): take it out.
            let less = |target: &mut [Six], gauge: &[Six]| {
                for (t, g) in target.iter_mut().flatten().zip(gauge.iter().flatten()) {
                    *t -= g;
                }
            };
            less(&mut self.wrench, &self.start.gauge);
            less(&mut self.lam, &self.start.gauge_lam);
            momentum = &self.start.momentum;
        }
        let at = At {
            map,
            step,
            start: &state.poses,
            end: &trial.poses,
            w: &iterate.w,
            momentum,
            wrench: &self.wrench,
            lam: &self.lam,
            inertia: &state.inertia,
            q: &state.q,
            q_loop: &state.q_loop,
            u,
        };
        target.fill(layout, &at);
        self.parameters.fill_stage(layout, &at, target);
    }
}

/// Rewrites variations of poses with the arms of the links.
fn about(layout: &Layout, arms: &[Vec3], z: &mut [Six], rule: &dyn Fn(Vec3, Vec3, Vec3) -> (Vec3, Vec3)) {
    for (i, z) in z.iter_mut().enumerate().take(layout.links.len()) {
        let (ang, lin) = rule(arms[i], angular(z), linear(z));
        *z = six(ang, lin);
    }
}

/// From displacements of joint points to those of centres of mass, and back; and their transposes.
fn to_centres(arm: Vec3, turn: Vec3, x: Vec3) -> (Vec3, Vec3) {
    (turn, x - turn.cross(arm))
}
fn to_points(arm: Vec3, turn: Vec3, x: Vec3) -> (Vec3, Vec3) {
    (turn, x + turn.cross(arm))
}
fn to_centres_transposed(arm: Vec3, turn: Vec3, x: Vec3) -> (Vec3, Vec3) {
    (turn - arm.cross(x), x)
}
fn to_points_transposed(arm: Vec3, turn: Vec3, x: Vec3) -> (Vec3, Vec3) {
    (turn + arm.cross(x), x)
}

impl Maximal {
    /// Takes a step and differentiates it. Does not allocate after the first time.
    ///
    /// # Errors
    /// As a step; also if the step had to be split or its loops' directions averaged (at a singular pose), where the map has no
    /// derivative of this form. The state is then unchanged.
    pub fn differentiate(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
        slope: &mut StepDerivative,
    ) -> Result<StepReport, StepError> {
        let follower = mechanism.followers().first().map(|f| &mechanism.joint(f.joint).name);
        let tendon = mechanism.tendons().first().map(|tendon| &tendon.name);
        // Beside contact every limit is a row of the step, also those over several coordinates.
        let wide = |row: &&crate::mechanism::Row| ws.contact.is_some() && row.coordinate().is_none();
        let row = mechanism.rows().iter().find(wide).map(|row| &row.name);
        if let Some(name) = follower.or(tendon).or(row) {
            return Err(StepError::Unsupported {
                integrator: "the derivative of a step of maximal",
                what: format!("`{name}`, which ties joints to each other"),
                remedy: "use the minimal integrator".into(),
            });
        }
        if ws.contact.is_some() {
            return self.differentiate_contact(mechanism, ws, state, input, h, slope);
        }
        slope.saved.save(state);
        super::tension::forget(ws, state);
        self.settle(mechanism, ws, state, input, h)?;
        slope.start.fill(ws, state);
        slope.parameters.fill_start(&ws.layout, &mut slope.start);
        slope.chart.fill(&ws.layout, &slope.start.node, &state.poses, state.t)?;
        let time = state.t;
        let result = self.advance(mechanism, ws, state, input, h, Some(slope)).and_then(|report| {
            if report.splits + report.fallbacks > 0 {
                return Err(StepError::Singular {
                    time,
                    what: "derivative of a step that had to be split or whose loops are at a singular pose",
                    joint: "of the mechanism".into(),
                    remedy: "take a smaller step or another state",
                });
            }
            Ok(report)
        });
        match result {
            Ok(report) => {
                if let Some(last) = slope.stages.last_mut() {
                    slope.parameters.close_stage(&state.momentum, last);
                }
                slope.end.fill(ws, state);
                slope.parameters.fill_end(&ws.layout, &state.momentum, &mut slope.end);
                Ok(report)
            }
            Err(error) => {
                state.restore(&ws.layout, &slope.saved);
                Err(error)
            }
        }
    }

    /// Where joints have friction or limits: takes the step once and leaves what they do over it in the workspace. Where a joint
    /// is held, or something happens within the step, there is no derivative of this form.
    fn settle(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &MaximalState,
        input: Input<'_>,
        h: f64,
    ) -> Result<(), StepError> {
        if ws.driven.is_none() {
            return Ok(());
        }
        let mut moved = state.clone();
        let report = self.step_in_parts(mechanism, ws, &mut moved, input, h)?;
        let rows = mechanism.rows();
        let held = moved.rows.list.iter().position(|row| row.locked);
        if report.events > 0 || report.parts > 1 || held.is_some() {
            return Err(StepError::Singular {
                time: state.t,
                what: "derivative of a step in which a joint is held, starts, stops or reaches a limit",
                joint: held
                    .and_then(|k| rows.get(k))
                    .map_or("of the mechanism".into(), |row| row.name.clone()),
                remedy: "differentiate another step, or use the minimal integrator",
            });
        }
        ws.step.set_modes(mechanism, &ws.layout, &moved.rows.list, &state.q);
        Ok(())
    }
}
