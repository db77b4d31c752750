//! The linearised equations of one joint: T, C^y, C^x and C^q of the block solver.
//!
//! Chart row of axis a at node α, from every point g (4.5), with `S = S_a`, `ad* = adD_μ`, `ℓ_γ` for `ℓ_γ(ĉ_g)`:
//!
//! ```text
//! C^y: μ^g += ℓ_α w h Ṡ + a^{αg} S;   Γ^g += ℓ_α S
//! C^x: V^g += ℓ_α w h Sᵀ ad*
//! C^q: b ≤ a:  ℓ_α w h Sᵀ ad* (b^{gγ}/h S_b + ℓ_γ Ṡ_b)
//!      b > a:  −ℓ_γ (ℓ_α w h Ṡᵀ ad* + ℓ_α Sᵀ adD_Γ + a^{αg} Sᵀ ad*) S_b
//!      all b:  ℓ_α w h (Q_v b^{gγ}/h + ℓ_γ Q_x) + armature a^{αg} b^{gγ}/h
//! ```
//!
//! Row 0 of a ball is (2.23).

use super::ball::node_matrix;
use super::block_factor::Sizes;
use super::residual::{Evaluated, Point, Residual};
use super::segments::{Law, Motion, Segment};
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

/// Derivatives of a ball's torque at one node (2.24).
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

/// `W` of (2.23): how `Bᵀ p_A` changes with ξ at fixed `p_A`, as a matrix on δξ.
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
    pub(crate) fn fill<const N: usize>(&mut self, at: Evaluated<'_, N>, i: usize) {
        let Evaluated { segments, scheme, residual, .. } = at;
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
                for point in 0..scheme.points {
                    let axis = twist_at(&residual.columns[c], point).to_array();
                    let velocity = &mut column[6 * point..6 * point + 6];
                    add(velocity, residual.rate_columns[ga][point], axis);
                    let value = scheme.values[ga][point];
                    if value != 0.0 {
                        add(velocity, value, twist_at(&residual.column_rates[c], point).to_array());
                        if let Some(eta) = self.sizes.eta_of(point) {
                            add(&mut column[eta..eta + 6], value, axis);
                        }
                    }
                }
            }
        }
        let ball = segment.motion == Motion::Ball;
        for a in 0..m {
            for al in usize::from(ball)..s {
                self.add_chart_row(at, i, a * s + al, al, a, 1.0);
            }
        }
        if ball {
            self.add_ball_rows(at, i);
        }
    }

    /// Behind the equations of segment `i`: its momentum after the step, for a ball in the anchor's axes (2.25).
    pub(super) fn fill_momentum<const N: usize>(&mut self, at: Evaluated<'_, N>, i: usize) {
        let Evaluated { segments, scheme, residual, .. } = at;
        let segment = &segments.list[i];
        let Sizes { s, nx, ny, .. } = self.sizes;
        let m = segment.freedom();
        let k = s * m;
        self.cy[k * ny..(k + m) * ny].fill(0.0);
        self.cx[k * nx..(k + m) * nx].fill(0.0);
        self.cq[k * k..(k + m) * k].fill(0.0);
        if segment.motion != Motion::Ball {
            self.add_chart_row(at, i, k, s, 0, 1.0);
            return;
        }
        // δp_A = B⁻ᵀ (δP^s − W δξ^s).
        let ball = &residual.balls[segment.ball];
        let (b, _) = ball.end(scheme);
        let inverse = b.inverse().transpose();
        let turn = inverse * momentum_turn(&b, ball.p_anchor);
        for j in 0..3 {
            for a in 0..3 {
                self.add_chart_row(at, i, k + j, s, a, inverse.0[j][a]);
                self.cq[(k + j) * k + a * s + s - 1] -= turn.0[j][a];
            }
        }
    }

    /// Adds `factor` times the chart row of axis `a` at node `al` to equation `row`.
    fn add_chart_row<const N: usize>(
        &mut self,
        at: Evaluated<'_, N>,
        i: usize,
        row: usize,
        al: usize,
        a: usize,
        factor: f64,
    ) {
        let Evaluated { segments, scheme, point, residual, .. } = at;
        let segment = &segments.list[i];
        let z = self.sizes;
        let (s, m, first) = (z.s, segment.freedom(), segment.coordinate);
        let (k, c) = (s * m, first + a);
        let law = &segments.laws[c];
        let out = Row {
            y: &mut self.cy[row * z.ny..(row + 1) * z.ny],
            x: &mut self.cx[row * z.nx..(row + 1) * z.nx],
            q: &mut self.cq[row * k..(row + 1) * k],
        };
        for g in 0..scheme.points {
            let axis = |b: usize| twist_at(&residual.columns[first + b], g);
            let own = axis(a);
            let mu = momentum_at(&residual.momenta[i], g).as_wrench();
            // Sᵀ adD_μ = −(adD_μ S)ᵀ.
            let turned = -add_dual(mu, own);
            let conjugate = factor * scheme.a_columns[g][al];
            add(&mut out.y[6 * g..6 * g + 6], conjugate, own.to_array());
            // What moves the axis: the joint's later axes by the shares of the unknowns.
            let mut moved = turned.scale(conjugate);
            let share = factor * scheme.values[al][g];
            let w = residual.weights[g] * share;
            if share != 0.0 {
                let own_rate = twist_at(&residual.column_rates[c], g);
                let gamma = wrench_at(&residual.impulses[i], g);
                add(&mut out.y[6 * g..6 * g + 6], w, own_rate.to_array());
                let at = z.gamma(g);
                add(&mut out.y[at..at + 6], share, own.to_array());
                add(&mut out.x[6 * g..6 * g + 6], w, turned.to_array());
                moved = moved - add_dual(mu, own_rate).scale(w) - add_dual(gamma, own).scale(share);
            }
            for b in 0..m {
                let (by_rate, by_value) = if b > a {
                    (0.0, -axis(b).dot(moved))
                } else {
                    let rate = twist_at(&residual.column_rates[first + b], g);
                    (if b < a { w * axis(b).dot(turned) } else { 0.0 }, w * rate.dot(turned))
                };
                for ga in 1..=s {
                    out.q[b * s + ga - 1] +=
                        by_rate * residual.rate_columns[ga][g] + by_value * scheme.values[ga][g];
                }
            }
            if segment.motion == Motion::Ball {
                if segment.forced && share != 0.0 {
                    let slopes = torque_slopes(residual, point, segment, law, g);
                    for b in 0..3 {
                        for ga in 1..=s {
                            out.q[b * s + ga - 1] += w
                                * (slopes.chart_v.0[a][b] * residual.rate_columns[ga][g]
                                    + slopes.chart_x.0[a][b] * scheme.values[ga][g]);
                        }
                    }
                }
            } else {
                let servos = &residual.servos;
                let by_rate = conjugate * law.armature - w * (law.damping - servos.by_rate[c].0[g]);
                let by_value = -w * (law.stiffness - servos.by_position[c].0[g]);
                for ga in 1..=s {
                    out.q[ga - 1] += by_rate * residual.rate_columns[ga][g] + by_value * scheme.values[ga][g];
                }
            }
        }
    }

    /// Row 0 of a ball (2.23): balance of anchor-frame momentum.
    fn add_ball_rows<const N: usize>(&mut self, at: Evaluated<'_, N>, i: usize) {
        let Evaluated { segments, scheme, point, residual, .. } = at;
        let segment = &segments.list[i];
        let z = self.sizes;
        let (s, k, first) = (z.s, 3 * z.s, segment.coordinate);
        let ball = &residual.balls[segment.ball];
        for al in 0..scheme.points {
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
                    let turned = twist_at(&residual.columns[first + b], al).dot(rebased);
                    for ga in 1..=s {
                        let value = scheme.values[ga][al];
                        q[b * s + ga - 1] += value * turned;
                        if let Some(slopes) = &slopes {
                            q[b * s + ga - 1] += w
                                * (slopes.torque_v.0[j][b] * residual.rate_columns[ga][al]
                                    + value * slopes.torque_x.0[j][b]);
                        }
                    }
                }
            }
        }
        // −δp_A = −B⁻ᵀ (δP^s − W δξ^s).
        let (b, _) = ball.end(scheme);
        let inverse = b.inverse().transpose();
        let turn = inverse * momentum_turn(&b, ball.p_anchor);
        for j in 0..3 {
            for a in 0..3 {
                self.add_chart_row(at, i, j * s, s, a, -inverse.0[j][a]);
                self.cq[j * s * k + a * s + s - 1] += turn.0[j][a];
            }
        }
    }
}
