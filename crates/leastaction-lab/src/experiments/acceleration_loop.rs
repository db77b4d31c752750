//! Loops closed at the level of accelerations only, without stabilisation: what drifts.
//!
//! The tree of the mechanism is integrated by the classical Runge–Kutta method; in each stage the accelerations solve
//!
//! ```text
//! M a − Jᵀ λ = τ − bias,      J a = −J̇ v,
//! ```
//!
//! where `J` is the Jacobian of the distance vectors of the loop joints, from dual numbers. Dense: for a few joints.

use leastaction::dynamics::{Dynamics, Kinematics};
use leastaction::mechanism::{Mechanism, State};
use leastaction::scalar::Dual;
use leastaction::scalar::Real;
use leastaction::spatial::{Pose, Vec3};

use super::dense::solve;

type First = Dual<f64, 1>;
type Second = Dual<Dual<f64, 1>, 1>;

/// A tree of plain joints with loops closed in the plane y–z.
pub(crate) struct AccelerationLoop<'m> {
    mechanism: &'m Mechanism,
    dynamics: Dynamics<f64>,
    first: Kinematics<First>,
    second: Kinematics<Second>,
}

impl<'m> AccelerationLoop<'m> {
    /// For a mechanism whose joints turn about x.
    pub(crate) fn new(mechanism: &'m Mechanism) -> Self {
        Self {
            mechanism,
            dynamics: Dynamics::new(mechanism),
            first: Kinematics::new(mechanism),
            second: Kinematics::new(mechanism),
        }
    }

    /// One step of the classical Runge–Kutta method.
    pub(crate) fn rk4(&mut self, state: &mut State, h: f64) {
        let n = state.q.len();
        let (mut dq, mut dv) = (vec![vec![0.0; n]; 4], vec![vec![0.0; n]; 4]);
        for (stage, c) in [0.0, 0.5, 0.5, 1.0].into_iter().enumerate() {
            let shifted = |x: &[f64], d: &[Vec<f64>]| -> Vec<f64> {
                (0..n).map(|i| x[i] + if stage == 0 { 0.0 } else { h * c * d[stage - 1][i] }).collect()
            };
            let (q, v) = (shifted(&state.q, &dq), shifted(&state.v, &dv));
            dv[stage] = self.acceleration(&q, &v);
            dq[stage] = v;
        }
        for i in 0..n {
            let sum = |d: &[Vec<f64>]| h / 6.0 * (d[0][i] + 2.0 * d[1][i] + 2.0 * d[2][i] + d[3][i]);
            state.q[i] += sum(&dq);
            state.v[i] += sum(&dv);
        }
        state.t += h;
    }

    fn acceleration(&mut self, q: &[f64], v: &[f64]) -> Vec<f64> {
        let n = q.len();
        let mut mass = vec![0.0; n * n];
        let mut bias = vec![0.0; n];
        self.dynamics.mass_matrix_into(self.mechanism, q, &mut mass);
        self.dynamics.inverse_dynamics_into(self.mechanism, q, v, &vec![0.0; n], &mut bias);
        let jacobian: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let at: Vec<First> = (0..n)
                    .map(|j| if i == j { Dual::variable(q[j], 0) } else { Dual::constant(q[j]) })
                    .collect();
                self.first.update_positions(self.mechanism, &at);
                rows(self.mechanism, &self.first).into_iter().map(|x| x.eps[0]).collect()
            })
            .collect();
        // Twice along v: the second derivative in time at zero acceleration.
        let at: Vec<Second> = (0..n)
            .map(|j| Dual { re: Dual { re: q[j], eps: [v[j]] }, eps: [Dual { re: v[j], eps: [0.0] }] })
            .collect();
        self.second.update_positions(self.mechanism, &at);
        let curvature: Vec<f64> =
            rows(self.mechanism, &self.second).into_iter().map(|x| x.eps[0].eps[0]).collect();
        let m = curvature.len();
        let size = n + m;
        let mut matrix = vec![0.0; size * size];
        let mut right = vec![0.0; size];
        for i in 0..n {
            for j in 0..n {
                matrix[i * size + j] = mass[i * n + j];
            }
            for r in 0..m {
                matrix[i * size + n + r] = -jacobian[i][r];
                matrix[(n + r) * size + i] = jacobian[i][r];
            }
            right[i] = -bias[i];
        }
        for r in 0..m {
            right[n + r] = -curvature[r];
        }
        solve(&mut matrix, &mut right);
        right.truncate(n);
        right
    }
}

/// The distance vectors of all loop joints in the plane of motion.
fn rows<T: Real>(mechanism: &Mechanism, kinematics: &Kinematics<T>) -> Vec<T> {
    let mut rows = Vec::new();
    for id in mechanism.loop_joints() {
        let joint = mechanism.joint(id);
        let point = |pose: Pose<T>, frame: &Pose| -> Vec3<T> { (pose * Pose::constant(frame)).pos };
        let parent =
            joint.parent.map_or(Pose::constant(&Pose::identity()), |b| kinematics.body_pose(mechanism, b));
        let child = kinematics.body_pose(mechanism, joint.child);
        let gap = point(child, &joint.child_frame) - point(parent, &joint.parent_frame);
        rows.extend([gap.0[1], gap.0[2]]);
    }
    rows
}
