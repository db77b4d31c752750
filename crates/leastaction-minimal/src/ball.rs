//! Balls: rotations with an anchor that moves with the configuration.
//!
//! Over one step `R(τ) = A φ(ξ(τ))` with `φ(ξ) = Rx(ξ₁) Ry(ξ₂) Rz(ξ₃)` and `ξ^0 = 0` (2.18). Varying the start drags the
//! whole curve, so the first row is the balance of anchor-frame momentum over the step
//!
//! ```text
//! r^0_j = p_j − (p_A)_j + Σ_α [ w h Ż_jᵀμ + Z_jᵀΓ + w h (τ_A)_j ]^α,    p_A = B(ξ^s)⁻ᵀ P^s            (2.20)
//! p⁺ = φ(ξ^s)ᵀ p_A                                                                                   (2.21)
//! ```
//!
//! with `Z_j` the axes of the anchor frame, `B = [e₁, R₁e₂, R₁R₂e₃]`, and the joint torque
//! `τ_A = φ τ_b`, `τ_b = u − d ω_b − k vee(R)` (2.22). The chart's generalised force is `Bᵀ τ_A`.

use super::lanes::Lanes;
use super::residual::{Point, Residual, at_points};
use super::scheme::Scheme;
use super::segments::{Law, Segment, Segments};
use crate::scalar::{Real, by_entry};
use crate::spatial::{Mat3, Momentum, Pose, Twist, Vec3, Wrench};
use leastaction_core::scalar::elementary;

/// What a ball adds to the memory of the residual.
#[derive(Clone, Debug)]
pub(crate) struct BallNode<T, const N: usize> {
    /// Axes of the anchor frame through the joint centre, and their rates.
    pub(crate) axes: [Twist<Lanes<T, N>>; 3],
    pub(crate) axis_rates: [Twist<Lanes<T, N>>; 3],
    /// `B(ξ)`: anchor-frame angular velocity is `B ξ̇`.
    pub(crate) b: Mat3<Lanes<T, N>>,
    /// `φ(ξ)`.
    pub(crate) phi: Mat3<Lanes<T, N>>,
    /// `B` and `φ` at the end of the step, if no point stands there.
    end: (Mat3<T>, Mat3<T>),
    /// Joint torque in the anchor frame.
    pub(crate) torque: Vec3<Lanes<T, N>>,
    /// `p_A`.
    pub(crate) p_anchor: Vec3<T>,
    /// Largest `|ξ₂|` over the nodes.
    pub(crate) tilt: T,
}

impl<T: Real, const N: usize> Default for BallNode<T, N> {
    fn default() -> Self {
        Self {
            axes: [Twist::zero(); 3],
            axis_rates: [Twist::zero(); 3],
            b: Mat3::identity(),
            phi: Mat3::identity(),
            end: (Mat3::identity(), Mat3::identity()),
            torque: Vec3::zero(),
            p_anchor: Vec3::zero(),
            tilt: T::zero(),
        }
    }
}

impl<T: Real, const N: usize> BallNode<T, N> {
    /// `B` and `φ` at the end of the step.
    #[inline(always)]
    pub(crate) fn end(&self, scheme: &Scheme<N>) -> (Mat3<T>, Mat3<T>) {
        if scheme.gauss && !T::STATES {
            return self.end;
        }
        (node_matrix(&self.b, scheme.s), node_matrix(&self.phi, scheme.s))
    }
}

/// `B(ξ)`, `φ(ξ)` and `sin ξ₂`.
#[inline(always)]
pub(super) fn chart<T: Real>(xi: [T; 3]) -> (Mat3<T>, Mat3<T>, T) {
    let ((s1, c1), (s2, c2), (s3, c3)) = (xi[0].sin_cos(), xi[1].sin_cos(), xi[2].sin_cos());
    let (o, i) = (T::zero(), T::one());
    let b = Mat3([[i, o, s2], [o, c1, -(s1 * c2)], [o, s1, c1 * c2]]);
    let phi = Mat3([
        [c2 * c3, -(c2 * s3), s2],
        [c1 * s3 + s1 * s2 * c3, c1 * c3 - s1 * s2 * s3, -(s1 * c2)],
        [s1 * s3 - c1 * s2 * c3, s1 * c3 + c1 * s2 * s3, c1 * c2],
    ]);
    (b, phi, s2)
}

/// `B` and `φ` at the end of a step. Not inlined: the common case is that a point stands there.
#[inline(never)]
fn end_chart<T: Real>(xi: [T; 3]) -> (Mat3<T>, Mat3<T>) {
    let (b, phi, _) = chart(xi);
    (b, phi)
}

/// The chart coordinates of a rotation: the inverse of `φ` for `|ξ₂| < π/2`.
pub(super) fn chart_coordinates(r: &Mat3) -> [f64; 3] {
    let m = &r.0;
    let sine = m[0][2].clamp(-1.0, 1.0);
    [elementary::atan2(-m[1][2], m[2][2]), elementary::asin(sine), elementary::atan2(-m[0][1], m[0][0])]
}

/// The same matrix at all nodes.
#[inline(always)]
fn spread<T: Real, const N: usize>(m: &Mat3<T>) -> Mat3<Lanes<T, N>> {
    Mat3(by_entry(|i| by_entry(|j| Lanes::splat(m.0[i][j]))))
}

/// Node `k` of a lane matrix.
#[inline(always)]
pub(super) fn node_matrix<T: Real, const N: usize>(m: &Mat3<Lanes<T, N>>, k: usize) -> Mat3<T> {
    Mat3(by_entry(|i| by_entry(|j| m.0[i][j].0[k])))
}

/// `B⁻ᵀ x`.
#[inline(always)]
pub(super) fn solve_transposed<T: Real>(b: &Mat3<T>, x: Vec3<T>) -> Vec3<T> {
    b.inverse().tr_mul(x)
}

impl<T: Real, const N: usize> Residual<T, N> {
    /// The three axes in sequence, after the anchor.
    #[inline(always)]
    pub(super) fn outward_ball(
        &mut self,
        i: usize,
        segments: &Segments,
        scheme: &Scheme<N>,
        point: &Point<T, N>,
        before: Pose<Lanes<T, N>>,
        v: Twist<Lanes<T, N>>,
    ) {
        let segment = &segments.list[i];
        let c = segment.coordinate;
        let anchor = spread(&point.anchors[segment.ball]);
        let frame = before.rot * anchor;
        let xi: [_; 3] = by_entry(|a| at_points(scheme, point.delta[c + a]));
        let (b, phi, _) = chart(xi);
        let ball = &mut self.balls[segment.ball];
        if scheme.gauss && !T::STATES {
            ball.end = end_chart(by_entry(|a| point.delta[c + a].0[scheme.s]));
        }
        ball.tilt = T::zero();
        for node in 0..=scheme.s.min(N - 1) {
            ball.tilt = ball.tilt.maximum(point.delta[c + 1].0[node].abs());
        }
        for j in 0..3 {
            let axis = frame.column(j);
            ball.axes[j] = Twist::new(axis, before.pos.cross(axis));
            ball.axis_rates[j] = v.cross(ball.axes[j]);
        }
        ball.b = b;
        ball.phi = phi;
        let mut v = v;
        for a in 0..3 {
            let axis = frame * b.column(a);
            let column = Twist::new(axis, before.pos.cross(axis));
            let rate = self.rate(scheme, point.delta[c + a]);
            self.rates[c + a] = rate;
            self.columns[c + a] = column;
            self.column_rates[c + a] = v.cross(column);
            v += column * rate;
        }
        self.poses[i] = Pose::new(frame * phi, before.pos);
        self.velocities[i] = v;
        if segment.forced {
            self.joint_torque(segment, &segments.laws[c], point);
        }
    }

    /// `τ_A` (2.22).
    #[inline(always)]
    fn joint_torque(&mut self, segment: &Segment, law: &Law, point: &Point<T, N>) {
        let c = segment.coordinate;
        let ball = &mut self.balls[segment.ball];
        let rates = Vec3([self.rates[c], self.rates[c + 1], self.rates[c + 2]]);
        let omega = ball.phi.tr_mul(ball.b * rates);
        let anchor = spread(&point.anchors[segment.ball]);
        let rotation = anchor * ball.phi;
        let torque = Vec3([self.efforts[c], self.efforts[c + 1], self.efforts[c + 2]])
            - omega.scale(law.damping)
            - rotation.vee().scale(law.stiffness);
        ball.torque = ball.phi * torque;
    }

    #[inline(always)]
    pub(super) fn inward_ball(
        &mut self,
        segment: &Segment,
        scheme: &Scheme<N>,
        point: &Point<T, N>,
        mu: Momentum<Lanes<T, N>>,
        gamma: Wrench<Lanes<T, N>>,
    ) {
        let (c, s) = (segment.coordinate, scheme.s);
        let ball = &self.balls[segment.ball];
        let force = if segment.forced { ball.b.tr_mul(ball.torque) } else { Vec3::zero() };
        let mut rows = [Lanes::default(); 3];
        for a in 0..3 {
            let conjugate = self.columns[c + a].dot_momentum(mu);
            rows[a] = self.chart_row(scheme, c + a, conjugate, mu, gamma, force[a]).0;
        }
        let last = Vec3(by_entry(|a| rows[a].0[s]));
        let (b, phi) = ball.end(scheme);
        let p_anchor = solve_transposed(&b, last);
        let p_next = phi.tr_mul(p_anchor);
        #[cfg(feature = "sabotage")]
        let p_next =
            if crate::sabotage::chosen(crate::sabotage::Fault::FrozenAnchor) { p_anchor } else { p_next };
        let mut after = p_anchor;
        for j in 0..3 {
            let mut slope = ball.axis_rates[j].dot_momentum(mu);
            if segment.forced {
                slope += ball.torque[j];
            }
            let sum = slope.weighted(&self.weights) + ball.axes[j].dot(gamma);
            let mut momentum = point.p[c + j];
            for x in &sum.0[..=s] {
                momentum += *x;
            }
            after[j] = momentum;
            rows[j].0[0] = momentum - p_anchor[j]; // (2.20)
            rows[j].0[s] = p_next[j];
        }
        self.rows[c..c + 3].copy_from_slice(&rows);
        let carried = phi.tr_mul(after); // (2.21) with the balance in place of p_A
        #[cfg(feature = "sabotage")]
        let carried =
            if crate::sabotage::chosen(crate::sabotage::Fault::FrozenAnchor) { after } else { carried };
        self.carried[c..c + 3].copy_from_slice(&carried.0);
        self.balls[segment.ball].p_anchor = p_anchor;
    }
}
