//! What a shift of the start and a change of inputs add to a joint's equations.
//!
//! A shift ζ of a coordinate moves the whole curve: `x = x_p + T δξ + T₀ ζ`, and its parent receives `y − E δξ − E₀ ζ`
//! (2.34). An ordinary coordinate shifts along its own axis S, without rate; a ball along the axes Z of its anchor, which
//! stand before its own (2.25). Rows: `C₀` on ζ.

use super::ball::node_matrix;
use super::block_factor::Sizes;
use super::residual::Evaluated;
use super::rows::{MOST_AXES, torque_slopes};
use super::segments::Motion;
use super::six::{add_dual, momentum_at, twist_at, wrench_at};
use crate::spatial::{Mat3, Twist};

/// Shift columns of one joint, and the force of a unit of effort on each of its coordinates.
#[derive(Clone, Debug)]
pub(super) struct ShiftColumns {
    sizes: Sizes,
    /// T₀ by columns, each of length nx.
    pub(super) t: Vec<f64>,
    /// E₀ by columns, each of length ny.
    pub(super) e: Vec<f64>,
    /// `C₀` by rows: the k equations, then the momentum after the step; three columns.
    pub(super) rows: Vec<[f64; MOST_AXES]>,
    /// The same rows on a unit of effort.
    pub(super) effort: Vec<[f64; MOST_AXES]>,
}

fn put(to: &mut [f64], at: usize, what: [f64; 6]) {
    to[at..at + 6].copy_from_slice(&what);
}

impl ShiftColumns {
    pub(super) fn new(sizes: Sizes, most: usize) -> Self {
        Self {
            sizes,
            t: vec![0.0; MOST_AXES * sizes.nx],
            e: vec![0.0; MOST_AXES * sizes.ny],
            rows: vec![[0.0; MOST_AXES]; most + MOST_AXES],
            effort: vec![[0.0; MOST_AXES]; most + MOST_AXES],
        }
    }

    /// The columns of segment `i` at the point of `residual`.
    pub(super) fn fill<const N: usize>(&mut self, at: Evaluated<'_, N>, i: usize) {
        let Evaluated { segments, scheme, residual, .. } = at;
        let segment = &segments.list[i];
        let z = self.sizes;
        let (m, first) = (segment.freedom(), segment.coordinate);
        let ball = segment.motion == Motion::Ball;
        let axis = |j: usize, node: usize| -> (Twist, Twist) {
            if ball {
                let ball = &residual.balls[segment.ball];
                (twist_at(&ball.axes[j], node), twist_at(&ball.axis_rates[j], node))
            } else {
                (twist_at(&residual.columns[first], node), twist_at(&residual.column_rates[first], node))
            }
        };
        for j in 0..m {
            let (t, e) = (&mut self.t[j * z.nx..(j + 1) * z.nx], &mut self.e[j * z.ny..(j + 1) * z.ny]);
            t.fill(0.0);
            e.fill(0.0);
            for node in 0..z.points {
                let (s, s_dot) = axis(j, node);
                put(t, z.v(node), s_dot.to_array());
                if let Some(at) = z.eta_of(node) {
                    put(t, at, s.to_array());
                }
                let mu = momentum_at(&residual.momenta[i], node).as_wrench();
                let gamma = wrench_at(&residual.impulses[i], node);
                put(e, z.v(node), add_dual(mu, s).to_array());
                put(e, z.gamma(node), add_dual(gamma, s).to_array());
            }
        }
        let k = z.s * m;
        self.rows[..k + m].fill([0.0; MOST_AXES]);
        self.effort[..k + m].fill([0.0; MOST_AXES]);
        if ball {
            self.fill_ball(at, i);
            return;
        }
        // w h (Sᵀ adD_μ Ṡ − stiffness), and w h per unit of effort.
        for node in 0..z.points {
            let mu = momentum_at(&residual.momenta[i], node).as_wrench();
            let (s, s_dot) = axis(0, node);
            let stiffness = segments.laws[first].stiffness - residual.servos.by_position[first].0[node];
            let force = s_dot.dot(add_dual(mu, s)) + stiffness;
            for row in 0..=z.s {
                let w = residual.weights[node] * scheme.values[row][node];
                self.rows[row][0] -= w * force;
                self.effort[row][0] += w;
            }
        }
    }

    fn fill_ball<const N: usize>(&mut self, at: Evaluated<'_, N>, i: usize) {
        let Evaluated { segments, scheme, point, residual, .. } = at;
        let segment = &segments.list[i];
        let (s, first) = (self.sizes.s, segment.coordinate);
        let k = 3 * s;
        let ball = &residual.balls[segment.ball];
        let inverse = ball.end(scheme).0.inverse().transpose();
        for node in 0..scheme.points {
            let w = residual.weights[node];
            let mu = momentum_at(&residual.momenta[i], node).as_wrench();
            let (b, phi) = (node_matrix(&ball.b, node), node_matrix(&ball.phi, node));
            let anchor = if segment.forced {
                torque_slopes(residual, point, segment, &segments.laws[first], node).anchor
            } else {
                Mat3::zero()
            };
            let rates: [Twist; 3] = std::array::from_fn(|j| twist_at(&ball.axis_rates[j], node));
            // Chart rows: w h (S_aᵀ adD_μ Ż + Bᵀ ∂τ_A/∂ζ); the balance: the same with Z and 1 in place of S and B.
            let on = |axis: Twist, force: [f64; 3]| -> [f64; 3] {
                let turned = add_dual(mu, axis);
                std::array::from_fn(|j| w * (force[j] - rates[j].dot(turned)))
            };
            let chart_force = b.transpose() * anchor;
            let chart_effort = b.transpose() * phi;
            let chart: [[f64; 3]; 3] =
                std::array::from_fn(|a| on(twist_at(&residual.columns[first + a], node), chart_force.0[a]));
            for j in 0..3 {
                let balance = on(twist_at(&ball.axes[j], node), anchor.0[j]);
                for c in 0..3 {
                    self.rows[j * s][c] += balance[c];
                    self.effort[j * s][c] += w * phi.0[j][c];
                    for row in 1..s {
                        let value = scheme.values[row][node];
                        self.rows[j * s + row][c] += value * chart[j][c];
                        self.effort[j * s + row][c] += value * w * chart_effort.0[j][c];
                    }
                }
            }
            let value = scheme.values[s][node];
            if value != 0.0 {
                // δp_A, which the balance loses.
                let effort = inverse * chart_effort;
                for j in 0..3 {
                    for c in 0..3 {
                        let momentum: f64 = (0..3).map(|a| inverse.0[j][a] * chart[a][c]).sum();
                        self.rows[k + j][c] += value * momentum;
                        self.rows[j * s][c] -= value * momentum;
                        self.effort[k + j][c] += value * w * effort.0[j][c];
                        self.effort[j * s][c] -= value * w * effort.0[j][c];
                    }
                }
            }
        }
    }
}
