//! The one-step map's derivative in O(n²): `d(q⁺, p⁺)/d(q, p, u)`, or with velocities in place of momenta.
//!
//! At the solved step `δΔ = −J⁻¹ (∂r/∂q δq + δp on row 0 + ∂r/∂u δu)`, then `δp⁺ = δP^s` (2.33). The Newton matrix is
//! factored once; every batch of columns costs one inward and one outward sweep (`columns.rs`), and in velocities one
//! Legendre tangent before (2.28) and one after (2.29).

use super::ball::BallNode;
use super::columns::{ColumnMemory, StepSlope};
use super::lanes::Lanes;
use super::legendre::{LegendreSlope, VelocitySlope};
use super::mass_factor::MassMemory;
use super::options::MinimalOptions;
use super::segments::Motion;
use super::state::{MinimalState, split_position};
use super::step::{Failure, Solver};
use crate::integrator::StepError;
use crate::mechanism::{JointType, Mechanism};
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
}

impl Linearization {
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
    columns: ColumnMemory<Columns>,
    mass: MassMemory<Columns>,
    dq: Vec<Columns>,
    ds: Vec<Columns>,
    dp: Vec<Columns>,
}

/// What does not depend on the column: conversions at both ends, inputs, and `B`, `φ`, `p_A` of balls at the end.
struct Ends {
    frame_before: Frame,
    slope_before: Option<LegendreSlope>,
    frame_after: Frame,
    slope_after: Option<VelocitySlope>,
    inputs: Vec<InputChange>,
    balls: Vec<(Mat3, Mat3, Vec3)>,
}

/// What a unit of one input changes.
pub(super) struct InputChange {
    pub(super) efforts: Vec<(usize, f64)>,
    pub(super) impulses: Vec<Wrench>,
}

/// Conversion of a floating joint's tangents at one state.
struct Frame {
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
            mass: MassMemory::new(&self.segments),
            dq: vec![Columns::default(); n],
            ds: vec![Columns::default(); n],
            dp: vec![Columns::default(); n],
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
        coordinates: Coordinates,
        out: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        let options = MinimalOptions { halve: false, ..options.clone() };
        let time = state.t;
        self.choose_points(h);
        let mut memory = self.linearized.take().unwrap_or_else(|| Box::new(self.linearize_memory()));
        let mut moved = state.clone();
        let outcome = self.slopes(mechanism, &options, &mut moved, u, h, coordinates, &mut memory);
        let outcome = outcome.and_then(|ends| {
            let ends = ends.map_err(|failure| self.explain(mechanism, &options, failure, time, h))?;
            self.fill(&ends, &mut memory, out);
            state.copy_from(&moved);
            Ok(())
        });
        self.linearized = Some(memory);
        outcome
    }

    /// Takes the step, factors its derivative into `memory`, and gives what the columns need at both ends.
    fn slopes(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        state: &mut MinimalState,
        u: &[f64],
        h: f64,
        coordinates: Coordinates,
        memory: &mut LinearizeMemory,
    ) -> Result<Result<Ends, Failure>, StepError> {
        // The public parts that conversions of floating joints need, before and after.
        let before = match self.end(mechanism, state, coordinates) {
            Ok(end) => end,
            Err(failure) => return Ok(Err(failure)),
        };
        self.step(mechanism, options, state, u, h)?;
        Ok(self.differentiate(mechanism, state, coordinates, memory, before))
    }

    fn differentiate(
        &mut self,
        mechanism: &Mechanism,
        state: &MinimalState,
        coordinates: Coordinates,
        memory: &mut LinearizeMemory,
        (frame_before, slope_before): (Frame, Option<LegendreSlope>),
    ) -> Result<Ends, Failure> {
        self.differentiate_forces();
        memory
            .slope
            .factor(self.evaluated())
            .map_err(|segment| Failure::Singular { segment, what: "Newton pivot" })?;
        let inputs = (0..self.segments.nu).map(|j| self.input_change(j)).collect();
        let end = |ball: &BallNode<f64, N>| {
            let (b, phi) = ball.end(&self.scheme);
            (b, phi, ball.p_anchor)
        };
        let balls = self.residual.balls.iter().map(end).collect();
        // Leaves the mass matrix of the end factored, which turns momenta into velocities.
        let (frame_after, slope_after) = self.end(mechanism, state, coordinates)?;
        let slope_after = slope_after.map(|slope| slope.inverse(&self.segments, &self.mass));
        Ok(Ends { frame_before, slope_before, frame_after, slope_after, inputs, balls })
    }

    /// What the conversions of one end need.
    fn end(
        &mut self,
        mechanism: &Mechanism,
        state: &MinimalState,
        coordinates: Coordinates,
    ) -> Result<(Frame, Option<LegendreSlope>), Failure> {
        Ok(match coordinates {
            Coordinates::Engine => (Frame { joints: Vec::new(), linear: Vec::new() }, None),
            Coordinates::Momentum => (Frame::new(mechanism, &state.q, &state.p), None),
            Coordinates::Velocity => {
                self.recover_velocity(mechanism, state)?;
                split_position(mechanism, &state.q, &mut self.point.base, &mut self.point.anchors);
                let (base, anchors) = (&self.point.base, &self.point.anchors);
                let slope = LegendreSlope::new(&self.segments, base, anchors, &self.velocity);
                (Frame::new(mechanism, &state.q, &self.velocity), Some(slope))
            }
        })
    }

    /// What a unit of input `j` changes: efforts by coordinate, impulses by segment and node.
    pub(super) fn input_change(&mut self, j: usize) -> InputChange {
        let mut efforts = Vec::new();
        for a in self.segments.actuators.iter().filter(|a| a.input == j) {
            let limit = self.segments.laws[a.coordinate].effort;
            if self.residual.efforts[a.coordinate].0[0].abs() < limit {
                efforts.push((a.coordinate, a.gear));
            }
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
        let impulses = impulses.iter().flat_map(|nodes_of| nodes_of[..nodes].to_vec()).collect();
        InputChange { efforts, impulses }
    }

    /// All columns, batch by batch.
    fn fill(&self, ends: &Ends, memory: &mut LinearizeMemory, out: &mut Vec<f64>) {
        let (n, nu) = (self.segments.n, self.segments.nu);
        let width = 2 * n + nu;
        out.clear();
        out.resize(2 * n * width, 0.0);
        for first in (0..width).step_by(BATCH) {
            self.set_columns(ends, memory, first, width);
            memory.slope.solve(&mut memory.columns);
            self.outputs(ends, memory);
            let count = BATCH.min(width - first);
            for c in 0..n {
                out[c * width + first..][..count].copy_from_slice(&memory.dq[c].0[..count]);
                out[(n + c) * width + first..][..count].copy_from_slice(&memory.ds[c].0[..count]);
            }
        }
    }

    /// What varies in the columns `first..first + BATCH`.
    fn set_columns(&self, ends: &Ends, memory: &mut LinearizeMemory, first: usize, width: usize) {
        let (n, s) = (self.segments.n, self.scheme.s);
        let LinearizeMemory { columns, mass, dq, ds, dp, .. } = memory;
        dq.fill(Columns::default());
        ds.fill(Columns::default());
        columns.effort.clear();
        columns.impulse.clear();
        for lane in 0..BATCH.min(width - first) {
            let column = first + lane;
            if column < n {
                dq[column].0[lane] = 1.0;
            } else if column < 2 * n {
                ds[column - n].0[lane] = 1.0;
            } else {
                columns.effort.resize(n, Columns::default());
                columns.impulse.resize(self.segments.list.len() * (s + 1), [Columns::default(); 6]);
                let change = &ends.inputs[column - 2 * n];
                for (c, gear) in &change.efforts {
                    columns.effort[*c].0[lane] += gear;
                }
                for (to, f) in columns.impulse.iter_mut().zip(&change.impulses) {
                    for (to, f) in to.iter_mut().zip(f.to_array()) {
                        to.0[lane] = f;
                    }
                }
            }
        }
        ends.frame_before.to_engine(dq, ds);
        match &ends.slope_before {
            Some(slope) => slope.apply(&self.segments, mass, dq, ds, dp),
            None => dp.copy_from_slice(ds),
        }
        columns.shift.copy_from_slice(dq);
        columns.rhs.fill(Columns::default());
        for (rhs, dp) in columns.rhs.iter_mut().step_by(s).zip(dp.iter()) {
            *rhs = *dp;
        }
    }

    /// Turns increments and momenta into variations of the next state, in `dq` and `ds`.
    fn outputs(&self, ends: &Ends, memory: &mut LinearizeMemory) {
        let s = self.scheme.s;
        let LinearizeMemory { columns, mass, dq, ds, .. } = memory;
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
        if let Some(slope) = &ends.slope_after {
            slope.apply(&self.segments, &self.mass, mass, dq, ds);
        }
        ends.frame_after.to_public(dq, ds);
    }
}

/// `A x` with a constant 3×3 `A`.
#[inline(always)]
fn times3(m: &Mat3, x: [Columns; 3]) -> [Columns; 3] {
    std::array::from_fn(|i| x[0] * m.0[i][0] + x[1] * m.0[i][1] + x[2] * m.0[i][2])
}
