//! How far the loops of a mechanism are open at a state.

use super::Kinematics;
use crate::mechanism::{JointId, Mechanism, State};
use crate::spatial::Pose;

/// The gap of one loop joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopGap {
    /// The loop joint.
    pub joint: JointId,
    /// Distance between its two frames along the directions it holds, in metres.
    pub distance: f64,
    /// Angle between them about the directions it holds, in radians.
    pub angle: f64,
}

/// The gap of every loop joint at a state of the tree.
#[must_use]
pub fn loop_gaps(mechanism: &Mechanism, state: &State) -> Vec<LoopGap> {
    let mut kinematics = Kinematics::<f64>::new(mechanism);
    kinematics.update_positions(mechanism, &state.q);
    mechanism
        .loop_joints()
        .map(|id| {
            let joint = mechanism.joint(id);
            let parent = joint.parent.map_or(Pose::identity(), |body| kinematics.body_pose(mechanism, body));
            let child = kinematics.body_pose(mechanism, joint.child) * joint.child_frame;
            let (distance, angle) = joint.kind.misfit(&((parent * joint.parent_frame).inverse() * child));
            LoopGap { joint: id, distance, angle }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn built_in_loops_are_closed_at_their_start_and_open_when_moved() {
        for model in [samples::four_bar(), samples::four_bars(3), samples::rhombus_chain(2)] {
            let mechanism = MechanismBuilder::from(model).build().unwrap();
            let mut state = mechanism.start_state();
            for gap in loop_gaps(&mechanism, &state) {
                assert!(gap.distance < 1e-14 && gap.angle < 1e-14, "{}: {gap:?}", mechanism.name());
            }
            state.q[1] += 0.1;
            let worst = loop_gaps(&mechanism, &state)
                .iter()
                .map(|gap| gap.distance)
                .fold(0.0, crate::scalar::maximum);
            // The far end of a body of 0.4 m or more moves on a circle.
            assert!(worst > 0.03, "{}: {worst}", mechanism.name());
        }
    }
}
