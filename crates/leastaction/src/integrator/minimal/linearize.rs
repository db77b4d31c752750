//! The one-step map's derivative in O(n²): `d(q⁺, p⁺)/d(q, p, u)`, or with velocities in place of momenta.
//!
//! At the solved step `δΔ = −J⁻¹ (∂r/∂q δq + δp on row 0 + ∂r/∂u δu)`, then `δp⁺ = δP^s` (9.1). The Newton matrix is
//! factored once; every batch of columns costs two tangents and one solve.

use super::lanes::Lanes;
use super::legendre::LegendreSlope;
use super::mass::MassMemory;
use super::newton::SolveMemory;
use super::options::MinimalOptions;
use super::segments::Motion;
use super::solver::Solver;
use super::state::{MinimalState, split_position};
use super::tangent::{Geometry, Tangent, times3};
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
    geometry: Geometry,
    tangent: Tangent<Columns>,
    solve: SolveMemory<Columns>,
    rhs: Vec<Columns>,
    mass: MassMemory<Columns>,
    dq: Vec<Columns>,
    ds: Vec<Columns>,
    dp: Vec<Columns>,
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
        let (n, s) = (self.segments.n, self.scheme.s);
        LinearizeMemory {
            geometry: Geometry::new(&self.segments, s),
            tangent: Tangent::new(&self.segments, s),
            solve: self.factor.memory(),
            rhs: vec![Columns::default(); n * s],
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
        // The public parts that conversions of floating joints need, before and after.
        let before = self.frame(mechanism, state, coordinates);
        let slope_before = self.slope(mechanism, state, coordinates);
        self.step(mechanism, &options, state, u, h)?;
        self.factor_here().map_err(|failure| self.explain(mechanism, &options, failure, time, h))?;
        let mut memory = self.linearized.take().unwrap_or_else(|| Box::new(self.linearize_memory()));
        memory.geometry.fill(&self.segments, &self.scheme, &self.derivatives, &self.point, &self.residual);
        let slope_after = self.slope(mechanism, state, coordinates);
        let after = self.frame(mechanism, state, coordinates);
        if coordinates == Coordinates::Velocity {
            // The mass matrix at the end turns momenta into velocities.
            self.recover_velocity(mechanism, state)
                .map_err(|failure| self.explain(mechanism, &options, failure, time, h))?;
        }
        let (n, nu) = (self.segments.n, self.segments.nu);
        let width = 2 * n + nu;
        out.clear();
        out.resize(2 * n * width, 0.0);
        for first in (0..width).step_by(BATCH) {
            self.columns(&mut memory, first, width, &before, slope_before.as_ref());
            self.outputs(&mut memory, &after, slope_after.as_ref());
            let count = BATCH.min(width - first);
            for c in 0..n {
                out[c * width + first..][..count].copy_from_slice(&memory.dq[c].0[..count]);
                out[(n + c) * width + first..][..count].copy_from_slice(&memory.ds[c].0[..count]);
            }
        }
        self.linearized = Some(memory);
        Ok(())
    }

    fn frame(&mut self, mechanism: &Mechanism, state: &MinimalState, coordinates: Coordinates) -> Frame {
        match coordinates {
            Coordinates::Engine => Frame { joints: Vec::new(), linear: Vec::new() },
            Coordinates::Momentum => Frame::new(mechanism, &state.q, &state.p),
            Coordinates::Velocity => Frame::new(mechanism, &state.q, &self.velocity),
        }
    }

    /// The Legendre tangent at a state, where velocities are wanted; leaves the velocity in the workspace.
    fn slope(
        &mut self,
        mechanism: &Mechanism,
        state: &MinimalState,
        coordinates: Coordinates,
    ) -> Option<LegendreSlope> {
        if coordinates != Coordinates::Velocity || self.recover_velocity(mechanism, state).is_err() {
            return None;
        }
        split_position(mechanism, &state.q, &mut self.point.base, &mut self.point.anchors);
        Some(LegendreSlope::new(&self.segments, &self.point.base, &self.point.anchors, &self.velocity))
    }

    /// Solves for the columns `first..first + BATCH`; results stay in the tangent.
    fn columns(
        &mut self,
        memory: &mut LinearizeMemory,
        first: usize,
        width: usize,
        frame: &Frame,
        slope: Option<&LegendreSlope>,
    ) {
        let (n, s) = (self.segments.n, self.scheme.s);
        let nodes = s + 1;
        let LinearizeMemory { geometry, tangent, solve, rhs, mass, dq, ds, dp } = memory;
        dq.fill(Columns::default());
        ds.fill(Columns::default());
        let (mut any_shift, mut any_input) = (false, false);
        tangent.effort.fill(Columns::default());
        tangent.impulse.clear();
        for lane in 0..BATCH.min(width - first) {
            let column = first + lane;
            if column < n {
                dq[column].0[lane] = 1.0;
                any_shift = true;
            } else if column < 2 * n {
                ds[column - n].0[lane] = 1.0;
            } else {
                any_input = true;
                self.vary_input(tangent, column - 2 * n, lane);
            }
        }
        frame.to_engine(dq, ds);
        match slope {
            Some(slope) => slope.apply(&self.segments, mass, dq, Some(ds), dp),
            None => dp.copy_from_slice(ds),
        }
        tangent.shift.copy_from_slice(dq);
        tangent.delta.fill(Columns::default());
        rhs.fill(Columns::default());
        if any_shift || any_input {
            geometry.outward(&self.segments, tangent, false, any_shift);
            geometry.inward(&self.segments, &self.forces, tangent, 0, s - 1);
            for c in 0..n {
                rhs[c * s..(c + 1) * s].copy_from_slice(&tangent.rows[c * nodes..c * nodes + s]);
            }
        }
        for c in 0..n {
            rhs[c * s] += dp[c];
        }
        self.factor.solve(solve, rhs, &mut tangent.delta);
        geometry.outward(&self.segments, tangent, true, any_shift);
        geometry.inward(&self.segments, &self.forces, tangent, s, s);
    }

    /// Sets what a unit of input `j` changes, in one lane.
    fn vary_input(&mut self, tangent: &mut Tangent<Columns>, j: usize, lane: usize) {
        for a in self.segments.actuators.iter().filter(|a| a.input == j) {
            let limit = self.segments.laws[a.coordinate].effort;
            if self.residual.efforts[a.coordinate].0[0].abs() < limit {
                tangent.effort[a.coordinate].0[lane] += a.gear;
            }
        }
        let nodes = self.scheme.s + 1;
        let m = self.segments.list.len();
        if tangent.impulse.is_empty() {
            tangent.impulse.resize(m * nodes, [Columns::default(); 6]);
        }
        let mut impulses = vec![[Wrench::zero(); N]; m];
        self.forces.add_input_impulse(
            &self.segments,
            self.scheme.s,
            &self.point,
            &self.residual,
            &mut self.derivatives,
            j,
            &mut impulses,
        );
        for i in 0..m {
            for k in 0..nodes {
                let f = impulses[i][k].to_array();
                for c in 0..6 {
                    tangent.impulse[i * nodes + k][c].0[lane] += f[c];
                }
            }
        }
    }

    /// Turns the tangent's result into variations of the next state, in `dq` and `ds`.
    fn outputs(&mut self, memory: &mut LinearizeMemory, frame: &Frame, slope: Option<&LegendreSlope>) {
        let s = self.scheme.s;
        let nodes = s + 1;
        let LinearizeMemory { geometry, tangent, mass, dq, ds, dp, .. } = memory;
        for segment in &self.segments.list {
            let c = segment.coordinate;
            if segment.motion == Motion::Ball {
                // ζ⁺ = φᵀ(ζ + B δξ),  δp⁺ = φᵀ(δp_A − (B δξ) × p_A).
                let (b, phi, p) = geometry.ball_end(segment.ball);
                let back = phi.transpose();
                let xi = std::array::from_fn(|a| tangent.delta[(c + a) * s + s - 1]);
                let turn = times3(&b, xi);
                let total = std::array::from_fn(|j| tangent.shift[c + j] + turn[j]);
                let carried = cross_columns(turn, p);
                let momentum = std::array::from_fn(|j| tangent.p_anchor[segment.ball][j] - carried[j]);
                dq[c..c + 3].copy_from_slice(&times3(&back, total));
                dp[c..c + 3].copy_from_slice(&times3(&back, momentum));
            } else {
                dq[c] = tangent.shift[c] + tangent.delta[c * s + s - 1];
                dp[c] = tangent.rows[c * nodes + s];
            }
        }
        match slope {
            Some(slope) => {
                slope.apply(&self.segments, mass, dq, None, ds);
                for (ds, dp) in ds.iter_mut().zip(dp.iter()) {
                    *ds = *dp - *ds;
                }
                self.mass.solve(&self.segments, mass, ds);
            }
            None => ds.copy_from_slice(dp),
        }
        frame.to_public(dq, ds);
    }
}
