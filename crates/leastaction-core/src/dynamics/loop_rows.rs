//! What loop joints hold, as rows on the velocities of the tree: how freely a mechanism with loops moves and how it accelerates.
//!
//! Dense, O(loops · nv²): for people who look at a model, not for every step. Rolling is not counted.

use super::{Dynamics, Kinematics};
use crate::linalg::{axpy, dot, rank};
use crate::mechanism::{JointType, Mechanism, State};
use crate::scalar::{Dual, Real};
use crate::spatial::{Pose, Twist, Vec3};

/// Pivots below this part of the largest one are rounding.
const RANK_TOLERANCE: f64 = 1e-9;

/// Velocity coordinates of the tree less the independent rows of the loop constraints at a state.
#[must_use]
pub fn mobility(mechanism: &Mechanism, state: &State) -> usize {
    let nv = mechanism.nv();
    nv - rank(loop_rows(mechanism, &state.q), RANK_TOLERANCE).min(nv)
}

/// Acceleration at a state under the inputs `u`, loops kept closed: the free one, moved as little as possible in the
/// metric of the mass matrix (Gauss' principle). Redundant rows are no obstacle.
#[must_use]
pub fn closed_acceleration(mechanism: &Mechanism, state: &State, u: &[f64]) -> Vec<f64> {
    let nv = mechanism.nv();
    let mut dynamics = Dynamics::<f64>::new(mechanism);
    let mut acceleration = vec![0.0; nv];
    dynamics.acceleration_into(mechanism, &state.q, &state.v, u, &mut acceleration);
    let rows = loop_rows(mechanism, &state.q);
    if rows.is_empty() {
        return acceleration;
    }
    let (rates, zero) = (row_rates(mechanism, state), vec![0.0; nv]);
    // What is left of M⁻¹ rowᵀ when an acceleration under no force at all is taken away.
    let respond = |dynamics: &mut Dynamics<f64>, tau: &[f64], out: &mut [f64]| {
        dynamics.forward_dynamics_into(mechanism, &state.q, &zero, tau, out);
    };
    let mut at_rest = vec![0.0; nv];
    respond(&mut dynamics, &zero, &mut at_rest);
    // Rows made orthogonal in the metric of M⁻¹ one after the other; what is left of a dependent one is rounding.
    let mut kept: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    for (mut row, mut wanted) in rows.into_iter().zip(rates.iter().map(|rate| -rate)) {
        let mut response = vec![0.0; nv];
        respond(&mut dynamics, &row, &mut response);
        response.iter_mut().zip(&at_rest).for_each(|(x, g)| *x -= g);
        let size = dot(&row, &response);
        for _ in 0..2 {
            for (other, of_other, aim) in &kept {
                let along = dot(&row, of_other);
                axpy(-along, other, &mut row);
                axpy(-along, of_other, &mut response);
                wanted -= along * aim;
            }
        }
        let left = dot(&row, &response);
        if left > RANK_TOLERANCE * size {
            let scale = left.sqrt().recip();
            for x in row.iter_mut().chain(&mut response) {
                *x *= scale;
            }
            kept.push((row, response, wanted * scale));
        }
    }
    for (row, response, wanted) in &kept {
        let missing = wanted - dot(row, &acceleration);
        axpy(missing, response, &mut acceleration);
    }
    acceleration
}

/// One row per direction that a loop joint holds: the relative velocity along it is `row · v`.
fn loop_rows<T: Real>(mechanism: &Mechanism, q: &[T]) -> Vec<Vec<T>> {
    let mut kinematics = Kinematics::<T>::new(mechanism);
    kinematics.update_positions(mechanism, q);
    let nv = mechanism.nv();
    let mut rows = Vec::new();
    let (mut of_child, mut of_parent) = (vec![Twist::zero(); nv], vec![Twist::zero(); nv]);
    for joint in mechanism.loop_joints().map(|id| mechanism.joint(id)) {
        let (child_frame, parent_frame) =
            (Pose::constant(&joint.child_frame), Pose::constant(&joint.parent_frame));
        let child = kinematics.body_pose(mechanism, joint.child) * child_frame;
        kinematics.body_jacobian_into(mechanism, joint.child, &mut of_child);
        of_child.iter_mut().for_each(|twist| *twist = child_frame.inv_twist(*twist));
        let mut parent = parent_frame;
        of_parent.fill(Twist::zero());
        if let Some(body) = joint.parent {
            let pose = kinematics.body_pose(mechanism, body);
            parent = pose * parent_frame;
            kinematics.body_jacobian_into(mechanism, body, &mut of_parent);
            // Seen from the child's joint frame.
            let to_child = child.inverse() * pose;
            of_parent.iter_mut().for_each(|twist| *twist = to_child.twist(*twist));
        }
        for direction in held(joint.kind, &(parent.inverse() * child)) {
            let along = |twist: &Twist<T>| {
                let pairs = twist.to_array().into_iter().zip(direction);
                pairs.fold(T::zero(), |sum, (a, b)| sum + a * b)
            };
            rows.push(of_child.iter().zip(&of_parent).map(|(c, p)| along(c) - along(p)).collect());
        }
    }
    rows
}

/// Rate of `row · v` at constant `v`, for every row.
fn row_rates(mechanism: &Mechanism, state: &State) -> Vec<f64> {
    let q: Vec<Dual<f64, 1>> = state.q.iter().map(|x| Dual::constant(*x)).collect();
    let motion: Vec<Dual<f64, 1>> = state.v.iter().map(|v| Dual { re: 0.0, eps: [*v] }).collect();
    let mut moved = q.clone();
    mechanism.retract(&q, &motion, &mut moved);
    let rows = loop_rows(mechanism, &moved);
    rows.iter().map(|row| row.iter().zip(&state.v).map(|(x, v)| x.eps[0] * v).sum()).collect()
}

/// Directions of relative twist, in the child's joint frame, that a joint does not allow.
fn held<T: Real>(kind: JointType, relative: &Pose<T>) -> Vec<[T; 6]> {
    let unit = |i: usize| std::array::from_fn(|k| T::from_f64(f64::from(u8::from(k == i))));
    // The parent's axes in the child's frame.
    let seen = |i: usize| -> Vec3<T> { relative.rot.transpose().column(i) };
    let zero = T::zero();
    let linear = |a: Vec3<T>| [zero, zero, zero, a[0], a[1], a[2]];
    let angular = |a: Vec3<T>| [a[0], a[1], a[2], zero, zero, zero];
    let all = |list: &[usize]| list.iter().map(|i| unit(*i)).collect::<Vec<_>>();
    match kind {
        JointType::Fixed => all(&[0, 1, 2, 3, 4, 5]),
        JointType::Revolute | JointType::Continuous => all(&[0, 1, 3, 4, 5]),
        JointType::Prismatic => all(&[0, 1, 2, 3, 4]),
        JointType::Cylindrical => all(&[0, 1, 3, 4]),
        JointType::Planar => all(&[0, 1, 5]),
        JointType::Spherical => all(&[3, 4, 5]),
        JointType::Universal => {
            let mut held = all(&[3, 4, 5]);
            held.push(angular(seen(2).cross(Vec3::constant(Vec3([1.0, 0.0, 0.0])))));
            held
        }
        JointType::PointOnLine => vec![linear(seen(0)), linear(seen(1))],
        JointType::Floating => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn built_in_mechanisms_move_as_they_should() {
        for (model, expected) in [
            (samples::chain(4), 4),
            (samples::ball_chain(2), 6),
            (samples::four_bar(), 1),
            (samples::four_bars(3), 3),
            (samples::rhombus_chain(2), 4),
        ] {
            let mechanism = MechanismBuilder::from(model).build().unwrap();
            assert_eq!(mobility(&mechanism, &mechanism.start_state()), expected, "{}", mechanism.name());
        }
    }

    #[test]
    fn a_stretched_parallelogram_can_move_in_two_ways() {
        let mechanism = MechanismBuilder::from(samples::four_bars(2)).build().unwrap();
        let mut state = mechanism.start_state();
        // All rods of the first parallelogram in one line.
        let quarter = std::f64::consts::FRAC_PI_2;
        for (name, angle) in [("left_pivot0", quarter), ("left_top0", -quarter), ("right_pivot0", quarter)] {
            let joint = mechanism.joint_by_name(name).unwrap();
            state.q[mechanism.q_range(joint).start] = angle;
        }
        assert_eq!(mobility(&mechanism, &state), 3);
    }

    #[test]
    fn closed_loops_accelerate_as_the_motion_they_allow() {
        // A parallelogram with equal cranks: one angle, and the coupler only shifts.
        let mechanism = MechanismBuilder::from(samples::four_bar()).build().unwrap();
        let mut state = mechanism.start_state();
        let rows = loop_rows(&mechanism, &state.q);
        // Put the velocity on the loops first: take away what the rows see.
        state.v.iter_mut().enumerate().for_each(|(i, v)| *v = 0.3 + 0.2 * i as f64);
        for _ in 0..200 {
            for row in &rows {
                let size = dot(row, row);
                if size > 1e-12 {
                    let v = dot(row, &state.v) / size;
                    axpy(-v, row, &mut state.v);
                }
            }
        }
        let a = closed_acceleration(&mechanism, &state, &vec![0.0; mechanism.nu()]);
        // Along q + v t + a t²/2 the rows see no velocity to first order.
        let speed_at = |t: f64| -> Vec<f64> {
            let shift: Vec<f64> = state.v.iter().zip(&a).map(|(v, a)| v * t + 0.5 * a * t * t).collect();
            let v: Vec<f64> = state.v.iter().zip(&a).map(|(v, a)| v + a * t).collect();
            let mut q = state.q.clone();
            mechanism.retract(&state.q, &shift, &mut q);
            loop_rows(&mechanism, &q).iter().map(|row| dot(row, &v)).collect()
        };
        let t = 1e-5;
        for (after, before) in speed_at(t).iter().zip(speed_at(-t)) {
            assert!(((after - before) / (2.0 * t)).abs() < 1e-7, "{after} {before}");
        }
    }
}
