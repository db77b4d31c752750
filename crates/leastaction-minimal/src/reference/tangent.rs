//! The tangent of the step's equations: O(s² n) for a batch of directions.
//!
//! Variations are frame-compensated: `δ̄a = δa − ad_η a`, `δ̄b = δb + ad_ηᵀ b`, with η that of the frame the quantity
//! rides on. Then (2.17)
//!
//! ```text
//! η = η_p + S δq,    δ̄V = δ̄V_p + Ṡ δq + S δq̇,    δ̄(G V) = G δ̄V
//! δ̄μ_p += δ̄μ − adD_μ S δq,    δ̄Γ_p += δ̄Γ − adD_Γ S δq
//! δP^α = w h (Ṡᵀδ̄μ + Sᵀ adD_μ δ̄V + δQ) + Sᵀδ̄Γ + Σ_β a^{αβ} (S^βᵀ δ̄μ^β + armature δq̇^β)
//! ```
//!
//! A direction is a *shift* of the whole curve (for a ball: of its anchor, 5.8) and a change of the increments.
//! The scalar is a batch of directions, so that every operation serves several columns.

use crate::ball::node_matrix;
use crate::integrator::{StepError, expect_length};
use crate::lobatto::MAX_DEGREE;
use crate::mechanism::Mechanism;
use crate::residual::{Point, Residual};
use crate::rows::{TorqueSlopes, momentum_turn, torque_slopes};
use crate::scalar::Real;
use crate::scheme::Scheme;
use crate::segments::{GROUND, Motion, Segments};
use crate::six::{Block, add_dual, momentum_at, pose_at, twist_at, wrench_at};
use crate::spatial::{Inertia, Mat3, Twist, Vec3, Wrench};
use crate::step::Solver;
use crate::wrench::{BodyForces, WrenchDerivatives};
use crate::{MinimalOptions, StepPoint};

/// A direction at a [`StepPoint`], engine order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepDirection {
    /// Change of the start, which moves the whole curve; balls: of the anchor, child axes.
    pub shift: Vec<f64>,
    /// Change of the increments of nodes `1..=s`.
    pub increments: Vec<Vec<f64>>,
    /// Change of the momenta at the start.
    pub p: Vec<f64>,
    /// Change of the inputs, the same at all nodes.
    pub u: Vec<f64>,
}

/// How the equations change along a [`StepDirection`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepTangent {
    /// Change of residual rows `0..s`.
    pub residual: Vec<Vec<f64>>,
    /// Change of the momenta at the end.
    pub p_next: Vec<f64>,
}

/// One axis at one node.
#[derive(Clone, Copy, Debug, Default)]
struct Axis {
    s: [f64; 6],
    s_dot: [f64; 6],
    /// `adD_μ S`.
    mu: [f64; 6],
    /// `adD_Γ S`.
    gamma: [f64; 6],
}

impl Axis {
    fn new(s: Twist, s_dot: Twist, mu: Wrench, gamma: Wrench) -> Self {
        Self {
            s: s.to_array(),
            s_dot: s_dot.to_array(),
            mu: add_dual(mu, s).to_array(),
            gamma: add_dual(gamma, s).to_array(),
        }
    }
}

/// A ball's constants of one linearisation.
#[derive(Clone, Debug)]
struct BallGeometry {
    /// Axes of the anchor frame, by node, then axis.
    axes: Vec<[Axis; 3]>,
    slopes: Vec<Option<TorqueSlopes>>,
    phi: Vec<Mat3>,
    b: Vec<Mat3>,
    p_anchor: Vec3,
}

/// What does not depend on the direction: filled once per linearised point.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    nodes: usize,
    /// By coordinate, then node.
    axes: Vec<Axis>,
    /// By segment, then node.
    inertias: Vec<Inertia>,
    balls: Vec<BallGeometry>,
    /// `w h` by node.
    weights: Vec<f64>,
    /// `b^{αγ}/h` by `[γ][α]`, and `a^{αβ}` by `[β][α]`.
    rate_columns: Vec<[f64; NODES]>,
    a_columns: Vec<[f64; NODES]>,
    /// Wrench derivatives `w h A_η`, `w h A_v` by slot, then node.
    d_pose: Vec<Block>,
    d_twist: Vec<Block>,
}

/// Most nodes of a step: these sweeps are compiled once for all degrees.
const NODES: usize = MAX_DEGREE + 1;

/// A direction (or a batch) and what the sweeps make of it.
#[derive(Clone, Debug)]
pub(crate) struct Tangent<T> {
    /// Shift of each coordinate at all nodes; balls: of the anchor, child axes.
    pub(crate) shift: Vec<T>,
    /// Change of the increments, by coordinate, then node 1..=s.
    pub(crate) delta: Vec<T>,
    /// Change of the actuator force of each coordinate.
    pub(crate) effort: Vec<T>,
    /// Change of the impulses on segments, by segment, then node.
    pub(crate) impulse: Vec<[T; 6]>,
    /// δ̄V after each coordinate, by coordinate then node.
    dv: Vec<[T; 6]>,
    /// δ̄V before a ball with its anchor shifted.
    dv_ball: Vec<[T; 6]>,
    eta: Vec<[T; 6]>,
    mu: Vec<[T; 6]>,
    gamma: Vec<[T; 6]>,
    rate: Vec<T>,
    /// `δP^α` (balls: row 0 is the balance without δp), by coordinate, then node 0..=s.
    pub(crate) rows: Vec<T>,
    /// `δp_A` of balls.
    pub(crate) p_anchor: Vec<[T; 3]>,
}

impl<T: Real> Tangent<T> {
    pub(crate) fn new(segments: &Segments, s: usize) -> Self {
        let (m, n, k) = (segments.list.len(), segments.n, s + 1);
        let six = [T::zero(); 6];
        Self {
            shift: vec![T::zero(); n],
            delta: vec![T::zero(); n * s],
            effort: vec![T::zero(); n],
            impulse: vec![six; m * k],
            dv: vec![six; n * k],
            dv_ball: vec![six; segments.balls * k],
            eta: vec![six; m * k],
            mu: vec![six; m * k],
            gamma: vec![six; m * k],
            rate: vec![T::zero(); n * k],
            rows: vec![T::zero(); n * k],
            p_anchor: vec![[T::zero(); 3]; segments.balls],
        }
    }
}

#[inline(always)]
fn dot<T: Real>(a: &[f64; 6], x: &[T; 6]) -> T {
    (x[0] * a[0] + x[1] * a[1] + x[2] * a[2]) + (x[3] * a[3] + x[4] * a[4] + x[5] * a[5])
}
#[inline(always)]
fn add<T: Real>(to: &mut [T; 6], a: &[f64; 6], x: T) {
    for i in 0..6 {
        to[i] += x * a[i];
    }
}
#[inline(always)]
fn sum<T: Real>(to: &mut [T; 6], x: &[T; 6]) {
    for i in 0..6 {
        to[i] += x[i];
    }
}
/// `a × x` with a constant `a`.
#[inline(always)]
fn cross<T: Real>(a: Vec3, x: [T; 3]) -> [T; 3] {
    [x[2] * a[1] - x[1] * a[2], x[0] * a[2] - x[2] * a[0], x[1] * a[0] - x[0] * a[1]]
}
#[inline(always)]
fn times_inertia<T: Real>(g: &Inertia, v: &[T; 6]) -> [T; 6] {
    let (w, l) = ([v[0], v[1], v[2]], [v[3], v[4], v[5]]);
    let [xx, yy, zz, xy, xz, yz] = g.rot.0;
    let (a, b) = (cross(g.moment, l), cross(g.moment, w));
    [
        w[0] * xx + w[1] * xy + w[2] * xz + a[0],
        w[0] * xy + w[1] * yy + w[2] * yz + a[1],
        w[0] * xz + w[1] * yz + w[2] * zz + a[2],
        l[0] * g.mass - b[0],
        l[1] * g.mass - b[1],
        l[2] * g.mass - b[2],
    ]
}
#[inline(always)]
fn times_block<T: Real>(m: &[[f64; 6]; 6], x: &[T; 6]) -> [T; 6] {
    std::array::from_fn(|i| dot(&m[i], x))
}
/// `A x` with a constant 3×3 `A`.
#[inline(always)]
pub(super) fn times3<T: Real>(m: &Mat3, x: [T; 3]) -> [T; 3] {
    std::array::from_fn(|i| x[0] * m.0[i][0] + x[1] * m.0[i][1] + x[2] * m.0[i][2])
}

impl Geometry {
    pub(crate) fn new(segments: &Segments, s: usize) -> Self {
        let nodes = s + 1;
        let ball = BallGeometry {
            axes: vec![[Axis::default(); 3]; nodes],
            slopes: vec![None; nodes],
            phi: vec![Mat3::identity(); nodes],
            b: vec![Mat3::identity(); nodes],
            p_anchor: Vec3::zero(),
        };
        Self {
            nodes,
            axes: vec![Axis::default(); segments.n * nodes],
            inertias: vec![Inertia::zero(); segments.list.len() * nodes],
            balls: vec![ball; segments.balls],
            weights: vec![0.0; nodes],
            rate_columns: vec![[0.0; NODES]; nodes],
            a_columns: vec![[0.0; NODES]; nodes],
            d_pose: Vec::new(),
            d_twist: Vec::new(),
        }
    }

    /// Takes over the point of `residual`.
    pub(crate) fn fill<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        derivatives: &WrenchDerivatives<N>,
        point: &Point<f64, N>,
        residual: &Residual<f64, N>,
    ) {
        let nodes = self.nodes;
        for k in 0..nodes {
            self.weights[k] = residual.weights[k];
            for al in 0..nodes {
                self.rate_columns[k][al] = residual.rate_columns[k][al];
                self.a_columns[k][al] = scheme.a_columns[k][al];
            }
        }
        self.d_pose.clear();
        self.d_twist.clear();
        for (pose, twist) in derivatives.d_pose.iter().zip(&derivatives.d_twist) {
            self.d_pose.extend_from_slice(&pose[..nodes]);
            self.d_twist.extend_from_slice(&twist[..nodes]);
        }
        for (i, segment) in segments.list.iter().enumerate() {
            for k in 0..nodes {
                let mu = momentum_at(&residual.momenta[i], k).as_wrench();
                let gamma = wrench_at(&residual.impulses[i], k);
                if !segment.massless {
                    self.inertias[i * nodes + k] =
                        segment.inertia.transformed(&pose_at(&residual.poses[i], k));
                }
                for c in segment.coordinate..segment.coordinate + segment.freedom() {
                    let column = twist_at(&residual.columns[c], k);
                    let rate = twist_at(&residual.column_rates[c], k);
                    self.axes[c * nodes + k] = Axis::new(column, rate, mu, gamma);
                }
                if segment.motion == Motion::Ball {
                    let (from, to) = (&residual.balls[segment.ball], &mut self.balls[segment.ball]);
                    to.axes[k] = std::array::from_fn(|j| {
                        Axis::new(twist_at(&from.axes[j], k), twist_at(&from.axis_rates[j], k), mu, gamma)
                    });
                    let law = &segments.laws[segment.coordinate];
                    to.slopes[k] = segment.forced.then(|| torque_slopes(residual, point, segment, law, k));
                    to.phi[k] = node_matrix(&from.phi, k);
                    to.b[k] = node_matrix(&from.b, k);
                    to.p_anchor = from.p_anchor;
                }
            }
        }
    }

    /// `B` and `φ` of a ball at the last node, and `p_A`.
    pub(crate) fn ball_end(&self, ball: usize) -> (Mat3, Mat3, Vec3) {
        let b = &self.balls[ball];
        (b.b[self.nodes - 1], b.phi[self.nodes - 1], b.p_anchor)
    }

    /// Outward: η and δ̄V.
    pub(crate) fn outward<T: Real>(&self, segments: &Segments, x: &mut Tangent<T>) {
        let nodes = self.nodes;
        let s = nodes - 1;
        for (i, segment) in segments.list.iter().enumerate() {
            let first = segment.coordinate;
            for k in 0..nodes {
                let (mut eta, mut dv) = if segment.parent == GROUND {
                    ([T::zero(); 6], [T::zero(); 6])
                } else {
                    let p = &segments.list[segment.parent];
                    let last = p.coordinate + p.freedom() - 1;
                    (x.eta[segment.parent * nodes + k], x.dv[last * nodes + k])
                };
                if segment.motion == Motion::Ball {
                    for j in 0..3 {
                        let axis = &self.balls[segment.ball].axes[k][j];
                        add(&mut eta, &axis.s, x.shift[first + j]);
                        add(&mut dv, &axis.s_dot, x.shift[first + j]);
                    }
                    x.dv_ball[segment.ball * nodes + k] = dv;
                }
                for c in first..first + segment.freedom() {
                    let axis = &self.axes[c * nodes + k];
                    let mut dq = T::zero();
                    if segment.motion != Motion::Ball {
                        dq = x.shift[c];
                    }
                    let nodes_of = &x.delta[c * s..(c + 1) * s];
                    let mut rate = T::zero();
                    for ga in 1..=s {
                        rate += nodes_of[ga - 1] * self.rate_columns[ga][k];
                    }
                    x.rate[c * nodes + k] = rate;
                    add(&mut dv, &axis.s, rate);
                    if k >= 1 {
                        dq += nodes_of[k - 1];
                    }
                    add(&mut eta, &axis.s, dq);
                    add(&mut dv, &axis.s_dot, dq);
                    x.dv[c * nodes + k] = dv;
                }
                x.eta[i * nodes + k] = eta;
            }
        }
    }

    /// Inward: δ̄μ, δ̄Γ and all rows.
    pub(crate) fn inward<T: Real>(&self, segments: &Segments, forces: &BodyForces, x: &mut Tangent<T>) {
        let nodes = self.nodes;
        let s = nodes - 1;
        self.own(segments, forces, x);
        for (i, segment) in segments.list.iter().enumerate().rev() {
            let first = segment.coordinate;
            let ball = segment.motion == Motion::Ball;
            let mut parent_mu = [[T::zero(); 6]; NODES];
            let mut parent_gamma = [[T::zero(); 6]; NODES];
            parent_mu[..nodes].copy_from_slice(&x.mu[i * nodes..(i + 1) * nodes]);
            parent_gamma[..nodes].copy_from_slice(&x.gamma[i * nodes..(i + 1) * nodes]);
            for c in (first..first + segment.freedom()).rev() {
                let axes = &self.axes[c * nodes..(c + 1) * nodes];
                let armature = segments.laws[c].armature;
                let mut conjugate = [T::zero(); NODES];
                for k in 0..nodes {
                    conjugate[k] = dot(&axes[k].s, &parent_mu[k]);
                    if armature != 0.0 {
                        conjugate[k] += x.rate[c * nodes + k] * armature;
                    }
                }
                let mut row = |k: usize| {
                    let w = self.weights[k];
                    let mut slope =
                        dot(&axes[k].s_dot, &parent_mu[k]) - dot(&axes[k].mu, &x.dv[c * nodes + k]);
                    if segment.forced {
                        slope += self.force_change(segments, x, i, c, k);
                    }
                    let mut row = slope * w + dot(&axes[k].s, &parent_gamma[k]);
                    for be in 0..nodes {
                        row += conjugate[be] * self.a_columns[be][k];
                    }
                    x.rows[c * nodes + k] = row;
                };
                (0..nodes).for_each(&mut row);
                for k in 0..nodes {
                    let mut dq = if ball { T::zero() } else { x.shift[c] };
                    if k >= 1 {
                        dq += x.delta[c * s + k - 1];
                    }
                    add(&mut parent_mu[k], &axes[k].mu, -dq);
                    add(&mut parent_gamma[k], &axes[k].gamma, -dq);
                }
            }
            if ball {
                self.ball_balance(segments, x, i, &parent_mu, &parent_gamma);
                for k in 0..nodes {
                    for j in 0..3 {
                        let axis = &self.balls[segment.ball].axes[k][j];
                        add(&mut parent_mu[k], &axis.mu, -x.shift[first + j]);
                        add(&mut parent_gamma[k], &axis.gamma, -x.shift[first + j]);
                    }
                }
            }
            if segment.parent != GROUND {
                for k in 0..nodes {
                    sum(&mut x.mu[segment.parent * nodes + k], &parent_mu[k]);
                    sum(&mut x.gamma[segment.parent * nodes + k], &parent_gamma[k]);
                }
            }
        }
    }

    /// Each body's own δ̄μ and δ̄Γ.
    fn own<T: Real>(&self, segments: &Segments, forces: &BodyForces, x: &mut Tangent<T>) {
        let nodes = self.nodes;
        let g = segments.gravity;
        for (i, segment) in segments.list.iter().enumerate() {
            let last = segment.coordinate + segment.freedom() - 1;
            for k in 0..nodes {
                let at = i * nodes + k;
                let dv = &x.dv[last * nodes + k];
                let mut gamma = [T::zero(); 6];
                if segment.massless {
                    x.mu[at] = [T::zero(); 6];
                } else {
                    let inertia = &self.inertias[at];
                    x.mu[at] = times_inertia(inertia, dv);
                    // Gravity: (mc × (g × η_ω); m g × η_ω).
                    let eta = &x.eta[at];
                    let turned = cross(g, [eta[0], eta[1], eta[2]]);
                    let torque = cross(inertia.moment, turned);
                    let w = self.weights[k];
                    for j in 0..3 {
                        gamma[j] = torque[j] * w;
                        gamma[3 + j] = turned[j] * (w * inertia.mass);
                    }
                }
                if let Some(slot) = forces.slot(i) {
                    sum(&mut gamma, &times_block(&self.d_pose[slot * nodes + k], &x.eta[at]));
                    sum(&mut gamma, &times_block(&self.d_twist[slot * nodes + k], dv));
                }
                sum(&mut gamma, &x.impulse[at]);
                x.gamma[at] = gamma;
            }
        }
    }

    /// Change of the joint force of coordinate `c` at node `k`.
    fn force_change<T: Real>(&self, segments: &Segments, x: &Tangent<T>, i: usize, c: usize, k: usize) -> T {
        let segment = &segments.list[i];
        let s = self.nodes - 1;
        if segment.motion != Motion::Ball {
            let law = &segments.laws[c];
            let mut dq = x.shift[c];
            if k >= 1 {
                dq += x.delta[c * s + k - 1];
            }
            return x.effort[c] - x.rate[c * self.nodes + k] * law.damping - dq * law.stiffness;
        }
        let first = segment.coordinate;
        let a = c - first;
        let ball = &self.balls[segment.ball];
        let Some(slopes) = &ball.slopes[k] else { return T::zero() };
        let mut change = T::zero();
        for b in 0..3 {
            if k >= 1 {
                change += x.delta[(first + b) * s + k - 1] * slopes.chart_x.0[a][b];
            }
            change += x.rate[(first + b) * self.nodes + k] * slopes.chart_v.0[a][b];
        }
        let shift = std::array::from_fn(|j| x.shift[first + j]);
        let effort = std::array::from_fn(|j| x.effort[first + j]);
        let (by_anchor, by_effort) = (times3(&slopes.anchor, shift), times3(&ball.phi[k], effort));
        for j in 0..3 {
            change += (by_anchor[j] + by_effort[j]) * ball.b[k].0[j][a];
        }
        change
    }

    /// Row 0 of a ball without δp, and δp_A (2.25).
    fn ball_balance<T: Real>(
        &self,
        segments: &Segments,
        x: &mut Tangent<T>,
        i: usize,
        mu: &[[T; 6]; NODES],
        gamma: &[[T; 6]; NODES],
    ) {
        let segment = &segments.list[i];
        let (nodes, first) = (self.nodes, segment.coordinate);
        let s = nodes - 1;
        let ball = &self.balls[segment.ball];
        let mut balance = [T::zero(); 3];
        let shift: [T; 3] = std::array::from_fn(|j| x.shift[first + j]);
        for k in 0..nodes {
            let w = self.weights[k];
            let mut torque = [T::zero(); 3];
            if let Some(slopes) = &ball.slopes[k] {
                let rate = std::array::from_fn(|b| x.rate[(first + b) * nodes + k]);
                let effort = std::array::from_fn(|j| x.effort[first + j]);
                let mut parts = [
                    times3(&slopes.torque_v, rate),
                    times3(&slopes.anchor, shift),
                    times3(&ball.phi[k], effort),
                    [T::zero(); 3],
                ];
                if k >= 1 {
                    let xi = std::array::from_fn(|b| x.delta[(first + b) * s + k - 1]);
                    parts[3] = times3(&slopes.torque_x, xi);
                }
                for part in parts {
                    for j in 0..3 {
                        torque[j] += part[j];
                    }
                }
            }
            for j in 0..3 {
                let axis = &ball.axes[k][j];
                let dv = &x.dv_ball[segment.ball * nodes + k];
                let slope = dot(&axis.s_dot, &mu[k]) - dot(&axis.mu, dv) + torque[j];
                balance[j] += slope * w + dot(&axis.s, &gamma[k]);
            }
        }
        let b = &ball.b[s];
        let xi = std::array::from_fn(|a| x.delta[(first + a) * s + s - 1]);
        let turn = times3(&momentum_turn(b, ball.p_anchor), xi);
        let last = std::array::from_fn(|a| x.rows[(first + a) * nodes + s] - turn[a]);
        let p_anchor = times3(&b.inverse().transpose(), last);
        for j in 0..3 {
            x.rows[(first + j) * nodes] = balance[j] - p_anchor[j];
        }
        x.p_anchor[segment.ball] = p_anchor;
    }
}

impl<const N: usize> Solver<N> {
    /// The derivative of the equations along a direction, in O(s² n) (2.17).
    pub(crate) fn tangent(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        direction: &StepDirection,
    ) -> Result<StepTangent, StepError> {
        let (s, n) = (self.scheme.s, self.segments.n);
        let nodes = s + 1;
        expect_length("shift", direction.shift.len(), n)?;
        expect_length("p", direction.p.len(), n)?;
        expect_length("u", direction.u.len(), self.segments.nu)?;
        expect_length("increments", direction.increments.len(), s)?;
        self.load(mechanism, at)?;
        if self.scheme.gauss {
            return Err(StepError::Unsupported {
                integrator: "the tangent",
                what: "a sum at Gauss points".into(),
                remedy: "choose the nodes".into(),
            });
        }
        if let Err(failure) = self.evaluate() {
            return Err(self.explain(mechanism, &MinimalOptions::default(), failure, 0.0, at.h));
        }
        self.differentiate_forces();
        let mut geometry = Geometry::new(&self.segments, s);
        geometry.fill(&self.segments, &self.scheme, &self.derivatives, &self.point, &self.residual);
        let mut x = Tangent::<f64>::new(&self.segments, s);
        x.shift.copy_from_slice(&direction.shift);
        for (ga, change) in direction.increments.iter().enumerate() {
            expect_length("increments", change.len(), n)?;
            for (c, change) in change.iter().enumerate() {
                x.delta[c * s + ga] = *change;
            }
        }
        for (j, du) in direction.u.iter().enumerate() {
            let change = self.input_change(j);
            for (c, gear) in change.efforts {
                x.effort[c] += gear * du;
            }
            for (to, f) in x.impulse.iter_mut().zip(change.impulses) {
                for (to, f) in to.iter_mut().zip(f.to_array()) {
                    *to += f * du;
                }
            }
        }
        geometry.outward(&self.segments, &mut x);
        geometry.inward(&self.segments, &self.forces, &mut x);
        let mut p_next: Vec<f64> = (0..n).map(|c| x.rows[c * nodes + s]).collect();
        for segment in self.segments.list.iter().filter(|segment| segment.motion == Motion::Ball) {
            // (2.25)
            let c = segment.coordinate;
            let (b, phi, p) = geometry.ball_end(segment.ball);
            let turn = times3(&b, std::array::from_fn(|a| x.delta[(c + a) * s + s - 1]));
            let carried = crate::spatial::Vec3(turn).cross(p);
            let momentum = std::array::from_fn(|j| x.p_anchor[segment.ball][j] - carried[j]);
            p_next[c..c + 3].copy_from_slice(&times3(&phi.transpose(), momentum));
        }
        let mut residual: Vec<Vec<f64>> =
            (0..s).map(|al| (0..n).map(|c| x.rows[c * nodes + al]).collect()).collect();
        residual[0].iter_mut().zip(&direction.p).for_each(|(r, p)| *r += p);
        Ok(StepTangent { residual, p_next })
    }
}
