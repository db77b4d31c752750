//! [`Tree`]: the mechanism as engines in joint coordinates see it.
//!
//! Bodies joined by fixed joints are one node. A node's frame is the *aligned child joint frame* of its joint (axis
//! along z), so that at zero coordinates it coincides with the joint's placement in the parent node. Nodes are
//! numbered parents first, in the order of the joints' coordinates.

use super::description::JointType;
use super::{Body, BodyId, Joint, JointId, JointRole};
use crate::spatial::{Inertia, Pose, Vec3, Wrench};

/// A moving link: one joint and everything rigidly attached behind it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Node of the parent; `None` if the joint is on the ground.
    pub parent: Option<usize>,
    /// The joint that moves this node.
    pub joint: JointId,
    /// The body that the joint moves directly.
    pub body: BodyId,
    /// Kind of the joint.
    pub kind: JointType,
    /// Aligned joint frame in the parent node's frame (in the world for a root).
    pub placement: Pose,
    /// Inertia of all bodies of the node, in the node frame about its origin.
    pub inertia: Inertia,
    /// First position coordinate.
    pub q: usize,
    /// First velocity coordinate.
    pub v: usize,
    /// Number of position coordinates.
    pub nq: usize,
    /// Number of velocity coordinates.
    pub nv: usize,
}

/// Where a body is: in a node's frame, or in the world if it does not move.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The node; `None` for bodies fixed to the ground.
    pub node: Option<usize>,
    /// Pose of the body frame in the node frame (or the world).
    pub pose: Pose,
}

/// Linear drag at a point of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeDrag {
    /// The node.
    pub node: usize,
    /// Centre of mass of the body in the node frame.
    pub point: Vec3,
    /// Coefficient in N·s/m.
    pub coefficient: f64,
}

/// A thruster wrench in the node frame.
#[derive(Clone, Copy, Debug)]
pub struct NodeThruster {
    /// The node.
    pub node: usize,
    /// Index of the input.
    pub input: usize,
    /// Wrench per unit input, node frame, about the node origin.
    pub wrench: Wrench,
}

/// A push along world axes at a point of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodePush {
    /// The node.
    pub node: usize,
    /// Index of the input.
    pub input: usize,
    /// The point, node frame.
    pub point: Vec3,
    /// Wrench per unit input, world axes, about the point.
    pub wrench: Wrench,
}

/// Moving nodes, parents first, and where every body sits.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Where each body is, by body index.
    pub bodies: Vec<Attachment>,
    /// Drag on nodes.
    pub drags: Vec<NodeDrag>,
    /// Thrusters on nodes.
    pub thrusters: Vec<NodeThruster>,
    /// Pushes on nodes.
    pub pushes: Vec<NodePush>,
    /// True if a node has several children or a child that is not the next node.
    pub branching: bool,
}

impl Tree {
    pub(super) fn new(bodies: &[Body], joints: &[Joint]) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        let mut attachments: Vec<Attachment> = Vec::with_capacity(bodies.len());
        let mut drags = Vec::new();
        let mut thrusters = Vec::new();
        let mut pushes = Vec::new();
        for (i, (body, joint)) in bodies.iter().zip(joints).enumerate() {
            debug_assert!(joint.role == JointRole::Tree && joint.child.index() == i);
            let parent = joint
                .parent
                .map_or(Attachment { node: None, pose: Pose::identity() }, |p| attachments[p.index()]);
            let placement = parent.pose * joint.parent_frame;
            let at = if joint.kind == JointType::Fixed {
                Attachment { node: parent.node, pose: placement * joint.child_frame.inverse() }
            } else {
                nodes.push(Node {
                    parent: parent.node,
                    joint: JointId::new(i),
                    body: BodyId::new(i),
                    kind: joint.kind,
                    placement,
                    inertia: Inertia::zero(),
                    q: joint.q,
                    v: joint.v,
                    nq: joint.kind.nq(),
                    nv: joint.kind.nv(),
                });
                Attachment { node: Some(nodes.len() - 1), pose: joint.child_frame.inverse() }
            };
            attachments.push(at);
            let Some(node) = at.node else { continue };
            nodes[node].inertia += body.inertia.transformed(&at.pose);
            if body.drag > 0.0 {
                drags.push(NodeDrag { node, point: at.pose.point(body.com), coefficient: body.drag });
            }
            for t in &body.thrusters {
                thrusters.push(NodeThruster { node, input: t.input, wrench: at.pose.wrench(t.wrench) });
            }
            for p in &body.pushes {
                pushes.push(NodePush {
                    node,
                    input: p.input,
                    point: at.pose.point(p.point),
                    wrench: p.wrench,
                });
            }
        }
        let branching = nodes.iter().enumerate().any(|(i, n)| n.parent != i.checked_sub(1));
        Self { nodes, bodies: attachments, drags, thrusters, pushes, branching }
    }
}
