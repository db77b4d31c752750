//! The linearised equations of one joint: T, C^y, C^x and C^q of the block solver.
//!
//! Chart row of axis a at node α (4.5), with `S = S_a`, `ad* = adD_μ`:
//!
//! ```text
//! C^y: μ^α += w h Ṡ;   μ^β += a^{αβ} S^β;   Γ^α += S
//! C^x: V^α += w h Sᵀ ad*
//! C^q: b ≤ a:  w h Sᵀ ad* (b^{αγ}/h S_b + δ_{αγ} Ṡ_b)
//!      b > a:  −δ_{αγ} (w h Ṡᵀ ad* + Sᵀ adD_Γ) S_b − a^{αγ} S^γᵀ adD_{μ^γ} S_b^γ
//!      all b:  w h (Q_v b^{αγ}/h + δ_{αγ} Q_x) + armature Σ_β a^{αβ} b^{βγ}/h
//! ```
//!
//! Row 0 of a ball is (5.6).

use super::ball::node_matrix;
use super::lobatto::Scheme;
use super::newton::Sizes;
use super::residual::{Point, Residual};
use super::segments::{Law, Motion, Segment, Segments};
use super::six::{add_dual, momentum_at, twist_at, vec_at, wrench_at};
use crate::spatial::{Mat3, Twist, Vec3, Wrench};

/// Equations of one joint; rows and unknowns by axis, then node.
#[derive(Clone, Debug)]
pub(crate) struct JointRows {
    sizes: Sizes,
    /// Columns of T, each of length nx.
    pub(crate) t: Vec<f64>,
    /// Rows of C^y, each of length ny.
    pub(crate) cy: Vec<f64>,
    /// Rows of C^x, each of length nx.
    pub(crate) cx: Vec<f64>,
    /// C^q, k × k.
    pub(crate) cq: Vec<f64>,
}

/// Coordinates of a joint at most.
pub(super) const MOST_AXES: usize = 3;

/// Derivatives of a ball's torque at one node (5.7).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TorqueSlopes {
    /// `∂τ_A/∂ξ`, `∂τ_A/∂ξ̇`.
    pub(crate) torque_x: Mat3,
    pub(crate) torque_v: Mat3,
    /// `∂Q/∂ξ`, `∂Q/∂ξ̇` of the chart force.
    pub(crate) chart_x: Mat3,
    pub(crate) chart_v: Mat3,
    /// `∂τ_A/∂ζ` with the anchor.
    pub(crate) anchor: Mat3,
}

/// Slopes of the default torque law at node `k`.
pub(crate) fn torque_slopes<const N: usize>(
    residual: &Residual<f64, N>,
    point: &Point<f64, N>,
    segment: &Segment,
    law: &Law,
    k: usize,
) -> TorqueSlopes {
    let ball = &residual.balls[segment.ball];
    let c = segment.coordinate;
    let (b, phi) = (node_matrix(&ball.b, k), node_matrix(&ball.phi, k));
    let torque = vec_at(&ball.torque, k);
    let rate = Vec3(std::array::from_fn(|a| residual.rates[c + a].0[k]));
    let omega = b * rate;
    let column = |a: usize| b.column(a);
    // (dB ξ̇)_a = Σ_{b>a} ξ̇_b B_a × B_b.
    let d_b = Mat3::from_columns(
        column(0).cross(column(1) * rate[1] + column(2) * rate[2]),
        column(1).cross(column(2) * rate[2]),
        Vec3::zero(),
    );
    let rotation = point.anchors[segment.ball] * phi;
    let spring = (Mat3::diagonal(rotation.trace()) - rotation.transpose()) * (-0.5 * law.stiffness);
    let anchor = phi * spring * phi.transpose();
    let torque_x = anchor * b - torque.skew() * b - (d_b + omega.skew() * b) * law.damping;
    let torque_v = b * -law.damping;
    let mut chart_x = b.transpose() * torque_x;
    for a in 0..3 {
        for later in a + 1..3 {
            chart_x.0[later][a] += column(a).cross(column(later)).dot(torque);
        }
    }
    TorqueSlopes { torque_x, torque_v, chart_x, chart_v: b.transpose() * torque_v, anchor }
}

/// `W` of (5.6): how `Bᵀ p_A` changes with ξ at fixed `p_A`, as a matrix on δξ.
pub(crate) fn momentum_turn(b: &Mat3, p: Vec3) -> Mat3 {
    let mut w = Mat3::zero();
    for a in 0..3 {
        for later in a + 1..3 {
            w.0[later][a] = b.column(a).cross(b.column(later)).dot(p);
        }
    }
    w
}

/// One equation under construction.
struct Row<'a> {
    y: &'a mut [f64],
    x: &'a mut [f64],
    q: &'a mut [f64],
}

fn add(to: &mut [f64], f: f64, what: [f64; 6]) {
    for (t, w) in to.iter_mut().zip(what) {
        *t += f * w;
    }
}

impl JointRows {
    /// Room for `most` equations and, behind those of a joint, the rows of its momentum after the step.
    pub(crate) fn new(sizes: Sizes, most: usize) -> Self {
        let rows = most + MOST_AXES;
        Self {
            sizes,
            t: vec![0.0; most * sizes.nx],
            cy: vec![0.0; rows * sizes.ny],
            cx: vec![0.0; rows * sizes.nx],
            cq: vec![0.0; rows * most],
        }
    }

    /// The equations of segment `i` at the point of `residual`.
    pub(crate) fn fill<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        point: &Point<f64, N>,
        residual: &Residual<f64, N>,
        i: usize,
    ) {
        let segment = &segments.list[i];
        let Sizes { s, nx, ny, .. } = self.sizes;
        let m = segment.freedom();
        let k = s * m;
        self.t[..k * nx].fill(0.0);
        self.cy[..k * ny].fill(0.0);
        self.cx[..k * nx].fill(0.0);
        self.cq[..k * k].fill(0.0);
        for a in 0..m {
            for ga in 1..=s {
                let column = &mut self.t[(a * s + ga - 1) * nx..][..nx];
                let c = segment.coordinate + a;
                for rho in 0..=s {
                    let axis = twist_at(&residual.columns[c], rho).to_array();
                    add(&mut column[6 * rho..6 * rho + 6], residual.rate_columns[ga][rho], axis);
                }
                let axis = twist_at(&residual.columns[c], ga).to_array();
                let axis_rate = twist_at(&residual.column_rates[c], ga).to_array();
                add(&mut column[6 * ga..6 * ga + 6], 1.0, axis_rate);
                let at = self.sizes.eta(ga);
                add(&mut column[at..at + 6], 1.0, axis);
            }
        }
        let ball = segment.motion == Motion::Ball;
        for a in 0..m {
            for al in usize::from(ball)..s {
                self.add_chart_row(segments, scheme, point, residual, i, a * s + al, al, a, 1.0);
            }
        }
        if ball {
            self.add_ball_rows(segments, scheme, point, residual, i);
        }
    }

    /// Behind the equations of segment `i`: its momentum after the step, for a ball in the anchor's axes (5.8).
    pub(super) fn fill_momentum<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        point: &Point<f64, N>,
        residual: &Residual<f64, N>,
        i: usize,
    ) {
        let segment = &segments.list[i];
        let Sizes { s, nx, ny, .. } = self.sizes;
        let m = segment.freedom();
        let k = s * m;
        self.cy[k * ny..(k + m) * ny].fill(0.0);
        self.cx[k * nx..(k + m) * nx].fill(0.0);
        self.cq[k * k..(k + m) * k].fill(0.0);
        if segment.motion != Motion::Ball {
            self.add_chart_row(segments, scheme, point, residual, i, k, s, 0, 1.0);
            return;
        }
        // δp_A = B⁻ᵀ (δP^s − W δξ^s).
        let ball = &residual.balls[segment.ball];
        let b = node_matrix(&ball.b, s);
        let inverse = b.inverse().transpose();
        let turn = inverse * momentum_turn(&b, ball.p_anchor);
        for j in 0..3 {
            for a in 0..3 {
                self.add_chart_row(segments, scheme, point, residual, i, k + j, s, a, inverse.0[j][a]);
                self.cq[(k + j) * k + a * s + s - 1] -= turn.0[j][a];
            }
        }
    }

    /// Adds `factor` times the chart row of axis `a` at node `al` to equation `row`.
    fn add_chart_row<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        point: &Point<f64, N>,
        residual: &Residual<f64, N>,
        i: usize,
        row: usize,
        al: usize,
        a: usize,
        factor: f64,
    ) {
        let segment = &segments.list[i];
        let z = self.sizes;
        let (s, m, first) = (z.s, segment.freedom(), segment.coordinate);
        let k = s * m;
        let c = first + a;
        let w = residual.weights[al] * factor;
        let axis = |b: usize, node: usize| twist_at(&residual.columns[first + b], node);
        let (own, own_rate) = (axis(a, al), twist_at(&residual.column_rates[c], al));
        let mu = momentum_at(&residual.momenta[i], al).as_wrench();
        let gamma = wrench_at(&residual.impulses[i], al);
        let out = Row {
            y: &mut self.cy[row * z.ny..(row + 1) * z.ny],
            x: &mut self.cx[row * z.nx..(row + 1) * z.nx],
            q: &mut self.cq[row * k..(row + 1) * k],
        };
        add(&mut out.y[6 * al..6 * al + 6], w, own_rate.to_array());
        for be in 0..=s {
            add(&mut out.y[6 * be..6 * be + 6], factor * scheme.a_columns[be][al], axis(a, be).to_array());
        }
        let at = z.gamma(al);
        add(&mut out.y[at..at + 6], factor, own.to_array());
        // Sᵀ adD_μ = −(adD_μ S)ᵀ.
        let turned = -add_dual(mu, own);
        add(&mut out.x[6 * al..6 * al + 6], w, turned.to_array());
        let turned_rate = -add_dual(mu, own_rate).scale(w) - add_dual(gamma, own).scale(factor);
        for b in 0..m {
            for ga in 1..=s {
                let q = &mut out.q[b * s + ga - 1];
                if b <= a {
                    if b < a {
                        *q += w * residual.rate_columns[ga][al] * axis(b, al).dot(turned);
                    }
                    if ga == al {
                        *q += w * twist_at(&residual.column_rates[first + b], al).dot(turned);
                    }
                } else {
                    if ga == al {
                        *q -= axis(b, al).dot(turned_rate);
                    }
                    let mu = momentum_at(&residual.momenta[i], ga).as_wrench();
                    *q += factor * scheme.a_columns[ga][al] * axis(b, ga).dot(add_dual(mu, axis(a, ga)));
                }
            }
        }
        let law = &segments.laws[c];
        if segment.motion == Motion::Ball {
            if segment.forced {
                let slopes = torque_slopes(residual, point, segment, law, al);
                for b in 0..3 {
                    for ga in 1..=s {
                        out.q[b * s + ga - 1] += w
                            * (slopes.chart_v.0[a][b] * residual.rate_columns[ga][al]
                                + if ga == al { slopes.chart_x.0[a][b] } else { 0.0 });
                    }
                }
            }
        } else {
            for ga in 1..=s {
                let mut q = -w * law.damping * residual.rate_columns[ga][al];
                if ga == al {
                    q -= w * law.stiffness;
                }
                if law.armature != 0.0 {
                    for be in 0..=s {
                        q += factor * law.armature * scheme.a_columns[be][al] * residual.rate_columns[ga][be];
                    }
                }
                out.q[ga - 1] += q;
            }
        }
    }

    /// Row 0 of a ball (5.6): balance of anchor-frame momentum.
    fn add_ball_rows<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        point: &Point<f64, N>,
        residual: &Residual<f64, N>,
        i: usize,
    ) {
        let segment = &segments.list[i];
        let z = self.sizes;
        let (s, k, first) = (z.s, 3 * z.s, segment.coordinate);
        let ball = &residual.balls[segment.ball];
        for al in 0..=s {
            let w = residual.weights[al];
            let mu = momentum_at(&residual.momenta[i], al).as_wrench();
            let gamma = wrench_at(&residual.impulses[i], al);
            let slopes =
                segment.forced.then(|| torque_slopes(residual, point, segment, &segments.laws[first], al));
            for j in 0..3 {
                let row = j * s;
                let (axis, axis_rate): (Twist, Twist) =
                    (twist_at(&ball.axes[j], al), twist_at(&ball.axis_rates[j], al));
                let y = &mut self.cy[row * z.ny..(row + 1) * z.ny];
                add(&mut y[6 * al..6 * al + 6], w, axis_rate.to_array());
                let at = z.gamma(al);
                add(&mut y[at..at + 6], 1.0, axis.to_array());
                let turned: Wrench = -add_dual(mu, axis);
                add(&mut self.cx[row * z.nx + 6 * al..][..6], w, turned.to_array());
                let q = &mut self.cq[row * k..(row + 1) * k];
                // −(w h Żᵀ adD_μ + Zᵀ adD_Γ) S_b = S_b · (w h adD_μ Ż + adD_Γ Z) with the sign of the skew form.
                let rebased = add_dual(mu, axis_rate).scale(w) + add_dual(gamma, axis);
                for b in 0..3 {
                    if al >= 1 {
                        let column = twist_at(&residual.columns[first + b], al);
                        q[b * s + al - 1] += column.dot(rebased);
                    }
                    if let Some(slopes) = &slopes {
                        for ga in 1..=s {
                            q[b * s + ga - 1] += w
                                * (slopes.torque_v.0[j][b] * residual.rate_columns[ga][al]
                                    + if ga == al { slopes.torque_x.0[j][b] } else { 0.0 });
                        }
                    }
                }
            }
        }
        // −δp_A = −B⁻ᵀ (δP^s − W δξ^s).
        let b = node_matrix(&ball.b, s);
        let inverse = b.inverse().transpose();
        let turn = inverse * momentum_turn(&b, ball.p_anchor);
        for j in 0..3 {
            for a in 0..3 {
                self.add_chart_row(segments, scheme, point, residual, i, j * s, s, a, -inverse.0[j][a]);
                self.cq[j * s * k + a * s + s - 1] += turn.0[j][a];
            }
        }
    }
}
