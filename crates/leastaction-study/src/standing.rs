//! Free bodies that start below the ground are put on it.
//!
//! A URDF says where the links are from the root on, not how high the root stands: with `--ground` at height zero a robot whose root is at its
//! waist would start in the ground up to there.

use leastaction::contact::Against;
use leastaction::dynamics::Kinematics;
use leastaction::mechanism::{BodyId, JointType, Mechanism, State};
use leastaction::spatial::Vec3;

/// Raises every free tree of bodies that reaches below level ground until it stands on it, those of the joints `given` left alone; a sentence
/// about it if any was.
pub(crate) fn stand(
    mechanism: &Mechanism,
    given: impl Fn(&str) -> bool,
    state: &mut State,
) -> Option<String> {
    let mut kinematics = Kinematics::new(mechanism);
    kinematics.update_positions(mechanism, &state.q);
    let mut roots: Vec<Option<usize>> = vec![None; mechanism.bodies().len()];
    for (k, id) in mechanism.tree_joints().enumerate() {
        let joint = mechanism.joint(id);
        roots[joint.child.index()] = match joint.parent {
            Some(parent) => roots[parent.index()],
            None if joint.kind == JointType::Floating && !joint.reversed => Some(k),
            None => None,
        };
    }
    let mut depth = vec![0.0f64; mechanism.joints().len()];
    let root_of = |body: Option<BodyId>| body.and_then(|body| roots[body.index()].map(|root| (body, root)));
    for contact in mechanism.contacts() {
        let level =
            matches!(contact.against, Against::HalfSpace { normal, .. } if normal == Vec3([0.0, 0.0, 1.0]));
        let Some((body, root)) = root_of(contact.body).filter(|_| level) else { continue };
        let Some(height) = contact.height(&kinematics.body_pose(mechanism, body)) else { continue };
        depth[root] = depth[root].max(-height);
    }
    let mut raised = Vec::new();
    for (k, id) in mechanism.tree_joints().enumerate() {
        let joint = mechanism.joint(id);
        if depth[k] <= 0.0 || given(&joint.name) {
            continue;
        }
        let up = joint.parent_frame.rot.tr_mul(Vec3([0.0, 0.0, depth[k]]));
        let place = &mut state.q[mechanism.q_range(id).start + 4..];
        place.iter_mut().zip(up.0).for_each(|(x, up)| *x += up);
        raised.push(format!("`{}` by {:.4} m", mechanism.body(joint.child).name, depth[k]));
    }
    if raised.is_empty() {
        return None;
    }
    state.warm = None;
    let more = raised.len().saturating_sub(3);
    raised.truncate(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("raised to stand on the ground at the start: {}{more}", raised.join(", ")))
}
