//! The one-step map's derivative in O(n²): `d(q⁺, p⁺)/d(q, p, u)`, or with velocities in place of momenta.
//!
//! At the solved step `δΔ = −J⁻¹ (∂r/∂q δq + δp on row 0 + ∂r/∂u δu)`, then `δp⁺ = δP^s` (2.33). The Newton matrix is
//! factored once; every batch of columns costs one inward and one outward sweep (`columns.rs`), and in velocities one
//! Legendre tangent before (2.28) and one after (2.29).

use super::ball::BallNode;
use super::columns::{ColumnMemory, StepSlope};
use super::curved::{Curve, Start, turned};
use super::dense_slope::DenseSlope;
use super::event_slope::Taken;
use super::lanes::Lanes;
use super::legendre::{LegendreSlope, VelocitySlope};
use super::mass_factor::MassMemory;
use super::options::MinimalOptions;
use super::segments::Motion;
use super::single;
use super::state::MinimalState;
use super::step::{Failure, Solver};
use super::tendon::invert;
use crate::integrator::StepError;
use crate::mechanism::{JointType, Mechanism, Parameter, cut};
use crate::spatial::{Mat3, Quat, Vec3, Wrench};

/// Columns that go through the sweeps together.
pub(crate) const BATCH: usize = 8;
type Columns = Lanes<f64, BATCH>;

/// What the second half of a linearised state is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coordinates {
    /// Public tangents and velocities.
    #[default]
    Velocity,
    /// Public tangents and the momenta conjugate to the public velocities.
    Momentum,
    /// The engine's own: floating joints have the translation, along the parent's axes, first.
    Engine,
}

/// The derivative of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Linearization {
    /// Number of velocity coordinates.
    pub nv: usize,
    /// Number of inputs.
    pub nu: usize,
    /// What the halves of the state are.
    pub coordinates: Coordinates,
    /// `2nv × (2nv + nu)` by rows: `[A B]`.
    pub matrix: Vec<f64>,
    /// Parameters of the model to differentiate by as well.
    pub parameters: Vec<Parameter>,
    /// `2nv` rows of one number per parameter.
    pub by_parameters: Vec<f64>,
}

impl Linearization {
    /// Memory for a mechanism, without parameters.
    #[must_use]
    pub fn new(mechanism: &Mechanism, coordinates: Coordinates) -> Self {
        let (nv, nu) = (mechanism.nv(), mechanism.nu());
        Self { nv, nu, coordinates, matrix: Vec::new(), parameters: Vec::new(), by_parameters: Vec::new() }
    }
    /// Entry of `A = ∂(q⁺, ·⁺)/∂(q, ·)`.
    #[must_use]
    pub fn a(&self, row: usize, column: usize) -> f64 {
        self.matrix[row * (2 * self.nv + self.nu) + column]
    }
    /// Entry of `B = ∂(q⁺, ·⁺)/∂u`.
    #[must_use]
    pub fn b(&self, row: usize, input: usize) -> f64 {
        self.a(row, 2 * self.nv + input)
    }
}

/// Memory of the linearisation; made on first use.
#[derive(Clone, Debug)]
pub(crate) struct LinearizeMemory {
    slope: StepSlope,
    /// The same written out, for small plain trees, and whether it is the one that was factored.
    dense: Option<DenseSlope>,
    written_out: bool,
    /// The state that is stepped.
    moved: Option<MinimalState>,
    columns: ColumnMemory<Columns>,
    mass: MassMemory<Columns>,
    dq: Vec<Columns>,
    ds: Vec<Columns>,
    dp: Vec<Columns>,
    /// What parameters take from the momentum after the step; empty where none varies.
    after: Vec<Columns>,
}

impl LinearizeMemory {
    /// (2.35) for the batch at hand.
    fn solve(&mut self) {
        match &self.dense {
            Some(dense) if self.written_out => single::solve_slope(dense, &mut self.columns),
            _ => self.slope.solve(&mut self.columns),
        }
    }
}

/// The tangent of the Legendre transform at the end of a step.
#[derive(Debug)]
pub(crate) struct LastEnd {
    q: Vec<f64>,
    v: Vec<f64>,
    slope: LegendreSlope,
}

impl LastEnd {
    fn is_of(&self, q: &[f64], v: &[f64]) -> bool {
        self.q == q && self.v == v
    }
}

/// What does not depend on the column: conversions at both ends, inputs, and `B`, `φ`, `p_A` of balls at the end.
pub(super) struct Ends {
    frame_before: Frame,
    slope_before: Option<LegendreSlope>,
    frame_after: Frame,
    slope_after: Option<VelocitySlope>,
    inputs: Vec<InputChange>,
    balls: Vec<(Mat3, Mat3, Vec3)>,
    /// Couplings along curves.
    curves: Vec<Curve>,
}

/// Forces that several joints decide together, those of servos, springs and dampers on several joints and of what makes joints follow
/// others, and how these turn along curves: what a
/// unit of each does to the state after the step, and the inverse of how they answer.
struct Coupled {
    outputs: Vec<f64>,
    inverse: Vec<f64>,
}

/// What a unit of one input or parameter changes.
#[derive(Default)]
pub(super) struct InputChange {
    /// Efforts that change alike at all points, by coordinate.
    pub(super) efforts: Vec<(usize, f64)>,
    /// Rows that a servo's input changes: coordinate, row (the last is the momentum after the step), change.
    pub(super) rows: Vec<(usize, usize, f64)>,
    pub(super) impulses: Vec<Wrench>,
    /// Momenta of the same velocities before and after the step, by coordinate.
    pub(super) before: Vec<(usize, f64)>,
    pub(super) after: Vec<(usize, f64)>,
}

/// Conversion of a floating joint's tangents at one state.
pub(super) struct Frame {
    /// First coordinate and rotation of every floating joint.
    joints: Vec<(usize, Mat3)>,
    /// The public linear part (velocity or momentum) of each.
    linear: Vec<Vec3>,
}

impl Frame {
    fn new(mechanism: &Mechanism, q: &[f64], engine: &[f64]) -> Self {
        let (mut joints, mut linear) = (Vec::new(), Vec::new());
        for node in mechanism.tree().nodes.iter().filter(|n| n.kind == JointType::Floating) {
            let r = Quat::from_slice(&q[node.q..node.q + 4]).to_matrix();
            linear.push(r.tr_mul(Vec3([engine[node.v], engine[node.v + 1], engine[node.v + 2]])));
            joints.push((node.v, r));
        }
        Self { joints, linear }
    }

    /// Public variations to engine ones, in place: `dq` and its partner `ds`.
    fn to_engine(&self, dq: &mut [Columns], ds: &mut [Columns]) {
        for ((c, r), l) in self.joints.iter().zip(&self.linear) {
            let part = |x: &[Columns], from: usize| [x[c + from], x[c + from + 1], x[c + from + 2]];
            let (turn, slide) = (part(dq, 0), part(dq, 3));
            let (second, mut linear) = (part(ds, 0), part(ds, 3));
            let carried = cross_columns(turn, *l);
            for i in 0..3 {
                linear[i] += carried[i];
            }
            dq[*c..c + 3].copy_from_slice(&times3(r, slide));
            dq[c + 3..c + 6].copy_from_slice(&turn);
            ds[*c..c + 3].copy_from_slice(&times3(r, linear));
            ds[c + 3..c + 6].copy_from_slice(&second);
        }
    }

    /// Engine variations to public ones, in place.
    fn to_public(&self, dq: &mut [Columns], ds: &mut [Columns]) {
        for ((c, r), l) in self.joints.iter().zip(&self.linear) {
            let back = r.transpose();
            let part = |x: &[Columns], from: usize| [x[c + from], x[c + from + 1], x[c + from + 2]];
            let (slide, turn) = (part(dq, 0), part(dq, 3));
            let (linear, second) = (part(ds, 0), part(ds, 3));
            let carried = cross_columns(turn, *l);
            let mut linear = times3(&back, linear);
            for i in 0..3 {
                linear[i] -= carried[i];
            }
            dq[*c..c + 3].copy_from_slice(&turn);
            dq[c + 3..c + 6].copy_from_slice(&times3(&back, slide));
            ds[*c..c + 3].copy_from_slice(&second);
            ds[c + 3..c + 6].copy_from_slice(&linear);
        }
    }
}

fn cross_columns(x: [Columns; 3], a: Vec3) -> [Columns; 3] {
    [x[1] * a[2] - x[2] * a[1], x[2] * a[0] - x[0] * a[2], x[0] * a[1] - x[1] * a[0]]
}

impl<const N: usize> Solver<N> {
    fn linearize_memory(&self) -> LinearizeMemory {
        let n = self.segments.n;
        let slope = StepSlope::new(&self.segments, &self.scheme);
        LinearizeMemory {
            columns: slope.memory(&self.segments),
            slope,
            dense: DenseSlope::new(&self.segments, &self.scheme, &self.forces),
            written_out: false,
            moved: None,
            mass: MassMemory::new(&self.segments),
            dq: vec![Columns::default(); n],
            ds: vec![Columns::default(); n],
            dp: vec![Columns::default(); n],
            after: Vec::new(),
        }
    }

    /// Takes the step and differentiates it.
    pub(crate) fn linearize(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
        out: &mut Linearization,
    ) -> Result<(), StepError> {
        let options = MinimalOptions { halve: false, ..options.clone() };
        let time = state.t;
        self.choose_points(h);
        let mut memory = self.linearized.take().unwrap_or_else(|| Box::new(self.linearize_memory()));
        let mut moved = match memory.moved.take() {
            Some(mut moved) => {
                moved.copy_from(state);
                moved
            }
            None => state.clone(),
        };
        let outcome = self.slopes(mechanism, &options, &mut moved, u, h, out, &mut memory);
        let outcome = outcome.and_then(|ends| {
            if let Some(taken) = self.taken.take() {
                expect_no_parameters(out, time)?;
                self.slope_in_parts(mechanism, &options, &taken, state, u, h, &mut memory, out)?;
                if out.coordinates != Coordinates::Velocity {
                    self.by_momenta(mechanism, &options, &taken, (state, &moved), &mut memory, out)?;
                }
                state.copy_from(&moved);
                return Ok(());
            }
            let ends = ends.map_err(|failure| self.explain(mechanism, &options, failure, time, h))?;
            self.fill(&ends, &mut memory, out);
            state.copy_from(&moved);
            Ok(())
        });
        memory.moved = Some(moved);
        self.linearized = Some(memory);
        outcome
    }

    /// Turns a derivative by velocities into one by momenta.
    fn by_momenta(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        taken: &[Taken],
        (start, end): (&MinimalState, &MinimalState),
        memory: &mut LinearizeMemory,
        out: &mut Linearization,
    ) -> Result<(), StepError> {
        if mechanism.tree().nodes.iter().any(|node| node.kind == JointType::Floating) {
            return Err(StepError::Unsupported {
                integrator: "the derivative by momenta of a step of minimal",
                what: "a floating joint in a step in which another joint is held, starts or stops".into(),
                remedy: "take the derivative by velocities".into(),
            });
        }
        let (n, width) = (self.segments.n, 2 * self.segments.n + self.segments.nu);
        let modes = taken.iter().find_map(|item| match item {
            Taken::Part { modes, .. } => Some(modes),
            Taken::Reset { .. } => None,
        });
        self.set_modes(mechanism, modes.map_or(&[][..], Vec::as_slice), &start.q);
        let explain = |solver: &Self, f| solver.explain(mechanism, options, f, start.t, 0.0);
        let before = self.end(mechanism, start, Coordinates::Velocity, true).map_err(|f| explain(self, f))?.1;
        let before = before.map(|slope| single::velocity_slope(&slope, &self.segments, &self.mass));
        let mut by = vec![0.0; 4 * n * n];
        for j in 0..2 * n {
            memory.dq.fill(Columns::default());
            memory.ds.fill(Columns::default());
            let to = if j < n { &mut memory.dq[j] } else { &mut memory.ds[j - n] };
            to.0[0] = 1.0;
            if let Some(ties) = &self.ties {
                ties.follow(&mut memory.dq);
                ties.drop_followers(&mut memory.ds);
            }
            if let Some(slope) = &before {
                single::to_velocities(
                    slope,
                    (&self.segments, &self.mass),
                    &mut memory.mass,
                    &memory.dq,
                    &mut memory.ds,
                );
            }
            self.tie_rates(true, &mut memory.ds);
            for c in 0..n {
                by[c * 2 * n + j] = memory.dq[c].0[0];
                by[(n + c) * 2 * n + j] = memory.ds[c].0[0];
            }
        }
        self.set_modes(mechanism, &end.rows.list, &end.q);
        let after = self.end(mechanism, end, Coordinates::Velocity, true).map_err(|f| explain(self, f))?.1;
        let old = std::mem::take(&mut out.matrix);
        out.matrix = vec![0.0; old.len()];
        for j in 0..width {
            for c in 0..2 * n {
                let x: f64 = if j < 2 * n {
                    (0..2 * n).map(|k| old[c * width + k] * by[k * 2 * n + j]).sum()
                } else {
                    old[c * width + j]
                };
                let to = if c < n { &mut memory.dq[c] } else { &mut memory.ds[c - n] };
                *to = Columns::default();
                to.0[0] = x;
            }
            if let Some(slope) = &after {
                single::to_momenta(
                    slope,
                    &self.segments,
                    &mut memory.mass,
                    (&memory.dq, &memory.ds),
                    &mut memory.dp,
                );
            }
            self.tie_rates(false, &mut memory.dp);
            for c in 0..n {
                out.matrix[c * width + j] = memory.dq[c].0[0];
                out.matrix[(n + c) * width + j] = memory.dp[c].0[0];
            }
        }
        Ok(())
    }

    /// Takes the step, factors its derivative into `memory`, and gives what the columns need at both ends.
    fn slopes(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
        wanted: &Linearization,
        memory: &mut LinearizeMemory,
    ) -> Result<Result<Ends, Failure>, StepError> {
        if !state.rows.list.is_empty() {
            self.set_modes(mechanism, &state.rows.list, &state.q);
        }
        // The public parts that conversions of floating joints need, before and after.
        let before = match self.end(mechanism, state, wanted.coordinates, false) {
            Ok(end) => end,
            Err(failure) => return Ok(Err(failure)),
        };
        let velocities = wanted.coordinates == Coordinates::Velocity;
        let curves = if velocities { self.curves_at_start() } else { Start::default() };
        let start = state.q.clone();
        self.record = self.driver.is_some().then(Vec::new);
        let report = self.step(mechanism, options, state, u, h);
        let taken = self.record.take().unwrap_or_default();
        let report = report?;
        let held = |item: &Taken| match item {
            Taken::Part { modes, .. } => modes.iter().any(|row| row.locked),
            Taken::Reset { .. } => true,
        };
        // By velocities a step without events is differentiated as a whole, by momenta what is held needs its own.
        let in_parts = report.events > 0 || report.parts > 1 || (!velocities && taken.iter().any(held));
        self.expect_differentiable(mechanism, &taken, in_parts)?;
        if in_parts {
            self.taken = Some(taken);
            return Ok(Err(Failure::NotFinite));
        }
        // Where rows were looked at, the positions at hand are those of the end.
        if self.driver.is_some() {
            self.stand_at(mechanism, &start);
        }
        Ok(self.differentiate(mechanism, state, wanted, memory, before, &curves))
    }

    /// Refuses what has no derivative here: rows of several coordinates that are held, and events of couplings along curves.
    fn expect_differentiable(
        &self,
        mechanism: &Mechanism,
        taken: &[Taken],
        in_parts: bool,
    ) -> Result<(), StepError> {
        let held = |k: usize| {
            self.held.as_ref().is_some_and(|held| held.has(k))
                && taken.iter().any(|item| matches!(item, Taken::Part { modes, .. } if modes[k].locked))
        };
        let row = (0..mechanism.rows().len()).find(|k| held(*k)).map(|k| {
            let name = &mechanism.row_labels()[k];
            (
                format!("`{name}`, which is several coordinates, held at its limit"),
                "differentiate another step",
            )
        });
        let curved = mechanism.followers().iter().find(|f| in_parts && !f.law.is_linear()).map(|follower| {
            let name = &mechanism.joint(follower.joint).name;
            let what =
                format!("joint `{name}`, which follows another along a curve, in a step in which a joint is held, starts or stops");
            (what, "use `--ignore mimic,couplings`, or differentiate another step")
        });
        match row.or(curved) {
            None => Ok(()),
            Some((what, remedy)) => Err(StepError::Unsupported {
                integrator: "the derivative of a step of minimal",
                what,
                remedy: remedy.into(),
            }),
        }
    }

    pub(super) fn differentiate(
        &mut self,
        mechanism: &Mechanism,
        state: &MinimalState,
        wanted: &Linearization,
        memory: &mut LinearizeMemory,
        (frame_before, slope_before): (Frame, Option<LegendreSlope>),
        start: &Start,
    ) -> Result<Ends, Failure> {
        self.factor_slope(wanted, memory)?;
        let mut inputs: Vec<InputChange> = (0..self.segments.nu).map(|j| self.input_change(j)).collect();
        let end = |ball: &BallNode<f64, N>| {
            let (b, phi) = ball.end(&self.scheme);
            (b, phi, ball.p_anchor)
        };
        let balls = self.residual.balls.iter().map(end).collect();
        // Before the positions at the start are overwritten.
        for parameter in &wanted.parameters {
            let mut change = self.parameter_change(mechanism, parameter);
            change.before = self.momentum_change(mechanism, parameter, slope_before.as_ref());
            inputs.push(change);
        }
        let mut curves = self.curves(start);
        // Leaves the mass matrix of the end factored, which turns momenta into velocities.
        let (frame_after, slope_after) = self.end(mechanism, state, wanted.coordinates, true)?;
        if slope_after.is_some() {
            self.curves_at_end(&mut curves);
        }
        for (parameter, change) in wanted.parameters.iter().zip(&mut inputs[self.segments.nu..]) {
            change.after = self.momentum_change(mechanism, parameter, slope_after.as_ref());
        }
        let slope_after = slope_after.map(|slope| {
            let inverse = single::velocity_slope(&slope, &self.segments, &self.mass);
            self.last_end =
                self.is_free().then(|| LastEnd { q: state.q.clone(), v: self.velocity.clone(), slope });
            inverse
        });
        Ok(Ends { frame_before, slope_before, frame_after, slope_after, inputs, balls, curves })
    }

    /// Factors the derivative at the point, written out where that is cheaper.
    fn factor_slope(&mut self, wanted: &Linearization, memory: &mut LinearizeMemory) -> Result<(), Failure> {
        let singular = |segment| Failure::Singular { segment, what: "Newton pivot" };
        // Wrenches on segments and held coordinates are left to the sweeps.
        let plain = !self.holds && wanted.parameters.is_empty() && !self.forces.acts(&self.segments);
        memory.written_out = false;
        if let Some(dense) = memory.dense.as_mut().filter(|_| plain) {
            memory.written_out = true;
            return single::factor_slope(dense, &self.segments, &self.scheme, &self.residual)
                .map_err(singular);
        }
        self.differentiate_forces();
        memory.slope.hold(&self.locked);
        memory.slope.factor(self.evaluated()).map_err(singular)
    }

    /// What the conversions of one end need; where it is asked for, with the mass matrix there factored.
    pub(super) fn end(
        &mut self,
        mechanism: &Mechanism,
        state: &MinimalState,
        coordinates: Coordinates,
        with_mass: bool,
    ) -> Result<(Frame, Option<LegendreSlope>), Failure> {
        Ok(match coordinates {
            Coordinates::Engine => (Frame { joints: Vec::new(), linear: Vec::new() }, None),
            Coordinates::Momentum => (Frame::new(mechanism, &state.q, &state.p), None),
            Coordinates::Velocity => {
                self.known_velocity(mechanism, state, with_mass)?;
                self.stand_at(mechanism, &state.q);
                let last = self.last_end.take().filter(|last| last.is_of(&state.q, &self.velocity));
                let slope = match last {
                    Some(last) if !with_mass => last.slope,
                    _ => {
                        let Self { mass, segments, point, velocity, .. } = self;
                        if !with_mass {
                            self.mass_at_hand = false;
                            single::place(mass, segments, &point.base, &point.anchors);
                        }
                        single::legendre_slope(segments, mass, velocity)
                    }
                };
                (Frame::new(mechanism, &state.q, &self.velocity), Some(slope))
            }
        })
    }

    /// What a unit of input `j` changes: efforts by coordinate, impulses by segment and node.
    pub(super) fn input_change(&mut self, j: usize) -> InputChange {
        let (mut efforts, mut rows) = (Vec::new(), Vec::new());
        let slope = self.input_slopes[j];
        for a in self.segments.actuators.iter().filter(|a| a.input == j) {
            if self.segments.driven.contains(&a.coordinate) {
                self.servo_rows(a.coordinate, |_| a.gear * slope, &mut rows);
            } else if cut(self.residual.efforts[a.coordinate].0[0], self.segments.laws[a.coordinate].effort).1
            {
                efforts.push((a.coordinate, a.gear * slope));
            }
        }
        for (k, servo) in self.segments.servos.iter().enumerate().filter(|(_, servo)| servo.input == j) {
            for (c, gear) in servo.entries.iter().copied() {
                self.servo_rows(c, |g| gear * self.residual.servos.slopes[k][g].by_input, &mut rows);
            }
        }
        if !self.forces.acts(&self.segments) {
            return InputChange { efforts, rows, ..InputChange::default() };
        }
        let mut impulses = vec![[Wrench::zero(); N]; self.segments.list.len()];
        self.forces.add_input_impulse(
            &self.segments,
            self.scheme.s,
            &self.point,
            &self.residual,
            &mut self.derivatives,
            j,
            &mut impulses,
        );
        let nodes = self.scheme.s + 1;
        let impulses = impulses.iter().flat_map(|nodes_of| nodes_of[..nodes].to_vec());
        let impulses = impulses.map(|f| f.scale(slope)).collect();
        InputChange { efforts, rows, impulses, ..InputChange::default() }
    }

    /// Rows of a coordinate whose effort changes by `by(g)` at the points where it is not cut.
    fn servo_rows(&self, c: usize, by: impl Fn(usize) -> f64, rows: &mut Vec<(usize, usize, f64)>) {
        for row in 0..=self.scheme.s {
            let free = &self.residual.servos.free[c];
            let change = (0..self.scheme.points)
                .filter(|g| free[*g])
                .map(|g| self.residual.weights[g] * self.scheme.values[row][g] * by(g))
                .sum();
            rows.push((c, row, change));
        }
    }

    /// All columns, batch by batch.
    pub(super) fn fill(&self, ends: &Ends, memory: &mut LinearizeMemory, out: &mut Linearization) {
        let (n, nu) = (self.segments.n, self.segments.nu);
        let (inner, width) = (2 * n + nu, 2 * n + ends.inputs.len());
        for (list, columns) in [(&mut out.matrix, inner), (&mut out.by_parameters, width - inner)] {
            list.clear();
            list.resize(2 * n * columns, 0.0);
        }
        memory.after.clear();
        let coupled = self.coupled_columns(ends, memory);
        for first in (0..width).step_by(BATCH) {
            self.set_columns(ends, memory, first, width);
            memory.solve();
            let forces = coupled.as_ref().map(|coupled| self.coupled_forces(ends, coupled, memory));
            self.outputs(ends, memory);
            if let (Some(coupled), Some(forces)) = (&coupled, forces) {
                for (j, force) in forces.iter().enumerate() {
                    for c in 0..n {
                        memory.dq[c] += *force * coupled.outputs[2 * n * j + c];
                        memory.ds[c] += *force * coupled.outputs[2 * n * j + n + c];
                    }
                }
            }
            let count = BATCH.min(width - first);
            let (plain, np) = (count.min(inner.saturating_sub(first)), width - inner);
            for (row, values) in memory.dq.iter().chain(&memory.ds).enumerate() {
                let (own, others) = values.0[..count].split_at(plain);
                if !own.is_empty() {
                    out.matrix[row * inner + first..][..plain].copy_from_slice(own);
                }
                if !others.is_empty() {
                    let at = row * np + (first + plain - inner);
                    out.by_parameters[at..][..others.len()].copy_from_slice(others);
                }
            }
        }
    }

    /// How many forces several joints decide together: of servos, springs and dampers; of ties; of curves at nodes inside.
    fn couplings(&self, curves: &[Curve]) -> [usize; 3] {
        let pulls = if self.pulls.is_empty() { 0 } else { self.pulls.count(&self.scheme) };
        let ties = self.ties.as_ref().map_or(0, |ties| ties.count() * self.scheme.s);
        [pulls, ties, curves.len() * (self.scheme.s - 1)]
    }

    /// What coupled force `j` answers to increments `x` after a shift of the start: the force of a servo, of a tie minus how far
    /// its follower is off.
    fn answer(
        &self,
        curves: &[Curve],
        j: usize,
        x: impl Fn(usize, usize) -> f64,
        shift: impl Fn(usize) -> f64,
    ) -> f64 {
        let [pulls, ties, _] = self.couplings(curves);
        match &self.ties {
            Some(_) if j >= pulls + ties => {
                let (curve, node) = self.curve_of(curves, j - pulls - ties);
                curve.answer(node, x, shift)
            }
            Some(ties) if j >= pulls => -ties.away(self.scheme.s, j - pulls, x, shift),
            _ => self.pulls.answer(&self.segments, &self.scheme, &self.residual, j, x, shift),
        }
    }

    /// Curve and inner node of a number of them.
    fn curve_of<'a>(&self, curves: &'a [Curve], k: usize) -> (&'a Curve, usize) {
        let inner = self.scheme.s - 1;
        (&curves[k / inner], k % inner + 1)
    }

    /// Coupled forces, by lane, that the columns at hand bring about. (2.61)
    fn coupled_forces(&self, ends: &Ends, coupled: &Coupled, memory: &LinearizeMemory) -> Vec<Columns> {
        let (s, m) = (self.scheme.s, self.couplings(&ends.curves).iter().sum());
        let columns = &memory.columns;
        let answers: Vec<Columns> = (0..m)
            .map(|j| {
                Lanes(std::array::from_fn(|lane| {
                    let x = |c: usize, ga: usize| columns.delta[c * s + ga - 1].0[lane];
                    self.answer(&ends.curves, j, x, |c| columns.shift[c].0[lane])
                }))
            })
            .collect();
        (0..m)
            .map(|j| {
                let mut sum = Columns::default();
                (0..m).for_each(|i| sum += answers[i] * coupled.inverse[j * m + i]);
                sum
            })
            .collect()
    }

    /// What a unit of each coupled force does; none if there are no such forces.
    fn coupled_columns(&self, ends: &Ends, memory: &mut LinearizeMemory) -> Option<Coupled> {
        let (n, s, [pulls, ties, bends]) = (self.segments.n, self.scheme.s, self.couplings(&ends.curves));
        let m = pulls + ties + bends;
        if m == 0 {
            return None;
        }
        let mut coupled = Coupled { outputs: vec![0.0; 2 * n * m], inverse: vec![0.0; m * m] };
        for first in (0..m).step_by(BATCH) {
            let columns = &mut memory.columns;
            columns.effort.clear();
            columns.impulse.clear();
            columns.driven.clear();
            columns.driven.resize(n * s, Columns::default());
            columns.driven_momentum.clear();
            columns.driven_momentum.resize(n, Columns::default());
            columns.shift.fill(Columns::default());
            let count = BATCH.min(m - first);
            for lane in 0..count {
                let add = |c: usize, row: usize, by: f64| {
                    let to = if row < s {
                        &mut columns.driven[c * s + row]
                    } else {
                        &mut columns.driven_momentum[c]
                    };
                    to.0[lane] += by;
                };
                let j = first + lane;
                match &self.ties {
                    Some(_) if j >= pulls + ties => {
                        let (curve, node) = self.curve_of(&ends.curves, j - pulls - ties);
                        curve.row(node, add);
                    }
                    Some(list) if j >= pulls => list.impulse_rows(s, j - pulls, add),
                    _ => self.pulls.rows(&self.segments, &self.scheme, &self.residual, j, add),
                }
            }
            columns.rhs.copy_from_slice(&columns.driven);
            memory.solve();
            let columns = &memory.columns;
            for lane in 0..count {
                let x = |c: usize, ga: usize| columns.delta[c * s + ga - 1].0[lane];
                for i in 0..m {
                    // The force of a servo or of a curve is its answer, that of a tie what makes the answer zero.
                    let own = i == first + lane && !(pulls..pulls + ties).contains(&i);
                    coupled.inverse[i * m + first + lane] =
                        f64::from(u8::from(own)) - self.answer(&ends.curves, i, x, |_| 0.0);
                }
            }
            self.outputs(ends, memory);
            for lane in 0..count {
                for c in 0..n {
                    coupled.outputs[2 * n * (first + lane) + c] = memory.dq[c].0[lane];
                    coupled.outputs[2 * n * (first + lane) + n + c] = memory.ds[c].0[lane];
                }
            }
        }
        invert(&mut coupled.inverse, &mut vec![0; m], m);
        Some(coupled)
    }

    /// What varies in the columns `first..first + BATCH`.
    fn set_columns(&self, ends: &Ends, memory: &mut LinearizeMemory, first: usize, width: usize) {
        let (n, s) = (self.segments.n, self.scheme.s);
        let LinearizeMemory { columns, mass, dq, ds, dp, after, .. } = memory;
        after.clear();
        dq.fill(Columns::default());
        ds.fill(Columns::default());
        columns.effort.clear();
        columns.impulse.clear();
        columns.driven.clear();
        columns.driven_momentum.clear();
        for lane in 0..BATCH.min(width - first) {
            let column = first + lane;
            if column < n {
                dq[column].0[lane] = 1.0;
            } else if column < 2 * n {
                ds[column - n].0[lane] = 1.0;
            } else {
                columns.effort.resize(n, Columns::default());
                let change = &ends.inputs[column - 2 * n];
                if !change.after.is_empty() {
                    after.resize(n, Columns::default());
                }
                if !change.rows.is_empty() {
                    columns.driven.resize(n * s, Columns::default());
                    columns.driven_momentum.resize(n, Columns::default());
                }
                if !change.impulses.is_empty() {
                    columns.impulse.resize(self.segments.list.len() * (s + 1), [Columns::default(); 6]);
                }
                for (c, gear) in &change.efforts {
                    columns.effort[*c].0[lane] += gear;
                }
                for (c, row, by) in &change.rows {
                    if *row < s {
                        columns.driven[c * s + row].0[lane] += by;
                    } else {
                        columns.driven_momentum[*c].0[lane] += by;
                    }
                }
                for (to, f) in columns.impulse.iter_mut().zip(&change.impulses) {
                    for (to, f) in to.iter_mut().zip(f.to_array()) {
                        to.0[lane] = f;
                    }
                }
            }
        }
        ends.frame_before.to_engine(dq, ds);
        // Followers start where their leaders say, whatever they are given.
        if let Some(ties) = &self.ties {
            ties.follow(dq);
            match &ends.slope_before {
                Some(_) => ties.follow_turning(ds, |f, ds| {
                    ends.curves
                        .iter()
                        .filter(|curve| curve.is_of(f))
                        .for_each(|curve| curve.turn_before(dq, ds));
                }),
                None => ties.drop_followers(ds),
            }
        }
        match &ends.slope_before {
            Some(slope) => single::to_momenta(slope, &self.segments, mass, (dq, ds), dp),
            None => dp.copy_from_slice(ds),
        }
        ends.curves.iter().for_each(|curve| curve.begin(dq, dp));
        for lane in (2 * n).saturating_sub(first)..BATCH.min(width - first) {
            let change = &ends.inputs[first + lane - 2 * n];
            change.before.iter().for_each(|(c, by)| dp[*c].0[lane] += by);
            change.after.iter().for_each(|(c, by)| after[*c].0[lane] += by);
        }
        columns.shift.copy_from_slice(dq);
        columns.rhs.fill(Columns::default());
        for (rhs, dp) in columns.rhs.iter_mut().step_by(s).zip(dp.iter()) {
            *rhs = *dp;
        }
        for (rhs, driven) in columns.rhs.iter_mut().zip(&columns.driven) {
            *rhs += *driven;
        }
    }

    /// Turns increments and momenta into variations of the next state, in `dq` and `ds`.
    fn outputs(&self, ends: &Ends, memory: &mut LinearizeMemory) {
        let s = self.scheme.s;
        let LinearizeMemory { columns, mass, dq, ds, after, .. } = memory;
        for (momentum, driven) in columns.momentum.iter_mut().zip(&columns.driven_momentum) {
            *momentum += *driven;
        }
        for segment in &self.segments.list {
            let c = segment.coordinate;
            if segment.motion == Motion::Ball {
                // ζ⁺ = φᵀ(ζ + B δξ),  δp⁺ = φᵀ(δp_A − (B δξ) × p_A).
                let (b, phi, p) = &ends.balls[segment.ball];
                let back = phi.transpose();
                let xi = std::array::from_fn(|a| columns.delta[(c + a) * s + s - 1]);
                let turn = times3(b, xi);
                let total = std::array::from_fn(|j| columns.shift[c + j] + turn[j]);
                let carried = cross_columns(turn, *p);
                let momentum = std::array::from_fn(|j| columns.momentum[c + j] - carried[j]);
                dq[c..c + 3].copy_from_slice(&times3(&back, total));
                ds[c..c + 3].copy_from_slice(&times3(&back, momentum));
            } else {
                dq[c] = columns.shift[c] + columns.delta[c * s + s - 1];
                ds[c] = columns.momentum[c];
            }
        }
        for (ds, after) in ds.iter_mut().zip(after.iter()) {
            *ds -= *after;
        }
        ends.curves.iter().for_each(|curve| curve.end(dq, ds));
        if let Some(slope) = &ends.slope_after {
            single::to_velocities(slope, (&self.segments, &self.mass), mass, dq, ds);
        }
        match (&self.ties, &ends.slope_after) {
            (Some(ties), Some(_)) if !ends.curves.is_empty() => {
                let targets = turned(&ends.curves, dq, ties.count());
                ties.correct_to(&mut vec![Columns::default(); ties.count()], ds, |f| targets[f]);
            }
            _ => self.tie_rates(ends.slope_after.is_some(), ds),
        }
        ends.frame_after.to_public(dq, ds);
    }

    /// Makes variations of velocities obey the ties where the mass matrix is factored, or moves momenta to those that lead.
    fn tie_rates(&self, velocities: bool, ds: &mut [Columns]) {
        let Some(ties) = &self.ties else { return };
        if velocities {
            ties.correct(&mut vec![Columns::default(); ties.count()], ds);
        } else {
            ties.lead(self.scheme.s, ds);
        }
    }
}

/// Parameters change forces of locked joints and times of events, which are not followed.
fn expect_no_parameters(out: &Linearization, time: f64) -> Result<(), StepError> {
    if out.parameters.is_empty() {
        return Ok(());
    }
    Err(StepError::Singular {
        time,
        what: "derivative by parameters of a step in which a joint is held, starts, stops or reaches a limit",
        joint: "of the mechanism".into(),
        remedy: "differentiate another step",
    })
}

/// `A x` with a constant 3×3 `A`.
#[inline(always)]
fn times3(m: &Mat3, x: [Columns; 3]) -> [Columns; 3] {
    std::array::from_fn(|i| x[0] * m.0[i][0] + x[1] * m.0[i][1] + x[2] * m.0[i][2])
}
