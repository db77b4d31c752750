//! How many ways a mechanism with loops can move at a state.

use super::Kinematics;
use crate::mechanism::{JointType, Mechanism, State};
use crate::spatial::{Pose, Twist, Vec3};

/// Pivots below this part of the largest one are rounding.
const RANK_TOLERANCE: f64 = 1e-9;

/// Velocity coordinates of the tree less the independent rows of the loop constraints at a state.
///
/// Dense, O(loops · nv²): for people who look at a model, not for every step. Rolling is not counted.
#[must_use]
pub fn mobility(mechanism: &Mechanism, state: &State) -> usize {
    let mut kinematics = Kinematics::<f64>::new(mechanism);
    kinematics.update_positions(mechanism, &state.q);
    let nv = mechanism.nv();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let (mut of_child, mut of_parent) = (vec![Twist::zero(); nv], vec![Twist::zero(); nv]);
    for joint in mechanism.loop_joints().map(|id| mechanism.joint(id)) {
        let child = kinematics.body_pose(mechanism, joint.child) * joint.child_frame;
        kinematics.body_jacobian_into(mechanism, joint.child, &mut of_child);
        of_child.iter_mut().for_each(|twist| *twist = joint.child_frame.inv_twist(*twist));
        let mut parent = joint.parent_frame;
        of_parent.fill(Twist::zero());
        if let Some(body) = joint.parent {
            let pose = kinematics.body_pose(mechanism, body);
            parent = pose * joint.parent_frame;
            kinematics.body_jacobian_into(mechanism, body, &mut of_parent);
            // Seen from the child's joint frame.
            let to_child = child.inverse() * pose;
            of_parent.iter_mut().for_each(|twist| *twist = to_child.twist(*twist));
        }
        for direction in held(joint.kind, &(parent.inverse() * child)) {
            let along =
                |twist: &Twist| twist.to_array().iter().zip(&direction).map(|(a, b)| a * b).sum::<f64>();
            rows.push(of_child.iter().zip(&of_parent).map(|(c, p)| along(c) - along(p)).collect());
        }
    }
    nv - crate::linalg::rank(rows, RANK_TOLERANCE).min(nv)
}

/// Directions of relative twist, in the child's joint frame, that a joint does not allow.
fn held(kind: JointType, relative: &Pose) -> Vec<[f64; 6]> {
    let unit = |i: usize| std::array::from_fn(|k| f64::from(u8::from(k == i)));
    // The parent's axes in the child's frame.
    let seen = |i: usize| -> Vec3 { relative.rot.transpose().column(i) };
    let linear = |a: Vec3| [0.0, 0.0, 0.0, a[0], a[1], a[2]];
    let angular = |a: Vec3| [a[0], a[1], a[2], 0.0, 0.0, 0.0];
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
            held.push(angular(seen(2).cross(Vec3([1.0, 0.0, 0.0]))));
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
}
