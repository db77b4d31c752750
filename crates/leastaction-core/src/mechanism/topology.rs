//! From a graph of joints to a spanning tree and loop joints.

use std::collections::VecDeque;

use super::description::{JointRole, JointType, ModelDescription, WORLD};
use super::validate::Checker;

/// One tree edge: the body it reaches, through which joint (`None`: an added floating joint), turned round or not.
pub(super) struct Edge {
    pub(super) body: usize,
    pub(super) joint: Option<usize>,
    pub(super) reversed: bool,
}

/// The spanning tree in breadth-first order, and the joints left over.
pub(super) struct Topology {
    pub(super) edges: Vec<Edge>,
    pub(super) loops: Vec<usize>,
}

/// Breadth-first from the world in file order; a body with no path to the world gets a floating joint.
///
/// A joint of role `tree` reserves its child: no other joint may reach that body first.
pub(super) fn spanning_tree(model: &ModelDescription, checker: &mut Checker<'_>) -> Topology {
    let nb = model.bodies.len();
    let body_of = |name: &str| if name == WORLD { None } else { checker.bodies.get(name).copied() };
    let ends: Vec<(Option<usize>, Option<usize>)> =
        model.joints.iter().map(|j| (body_of(&j.parent), body_of(&j.child))).collect();

    // Joints at each body (index nb is the world), in file order.
    let mut at = vec![Vec::new(); nb + 1];
    let mut reserved = vec![None; nb];
    for (j, joint) in model.joints.iter().enumerate() {
        if joint.role == Some(JointRole::Loop) || joint.kind == JointType::PointOnLine {
            continue;
        }
        let (parent, child) = ends[j];
        at[parent.unwrap_or(nb)].push(j);
        at[child.unwrap_or(nb)].push(j);
        if let (Some(JointRole::Tree), Some(child)) = (joint.role, child)
            && reserved[child].is_none()
        {
            reserved[child] = Some(j);
        }
    }

    let mut reached = vec![false; nb];
    let mut in_tree = vec![false; model.joints.len()];
    let mut edges = Vec::with_capacity(nb);
    let mut queue = VecDeque::from([nb]);
    let is_child: Vec<bool> = {
        let mut is_child = vec![false; nb];
        for (j, joint) in model.joints.iter().enumerate() {
            if joint.role != Some(JointRole::Loop)
                && joint.kind != JointType::PointOnLine
                && let Some(child) = ends[j].1
            {
                is_child[child] = true;
            }
        }
        is_child
    };
    let mut next_root = [0, 0]; // scan positions: bodies that are nobody's child first, then any
    loop {
        while let Some(here) = queue.pop_front() {
            for &j in &at[here] {
                let (parent, child) = (ends[j].0.unwrap_or(nb), ends[j].1.unwrap_or(nb));
                let (there, reversed) = if parent == here { (child, false) } else { (parent, true) };
                if there == nb || reached[there] || reserved[there].is_some_and(|owner| owner != j) {
                    continue;
                }
                reached[there] = true;
                in_tree[j] = true;
                edges.push(Edge { body: there, joint: Some(j), reversed });
                queue.push_back(there);
            }
        }
        let mut root = None;
        for (pass, position) in next_root.iter_mut().enumerate() {
            while *position < nb && (reached[*position] || (pass == 0 && is_child[*position])) {
                *position += 1;
            }
            if *position < nb {
                root = Some(*position);
                break;
            }
        }
        let Some(root) = root else { break };
        reached[root] = true;
        edges.push(Edge { body: root, joint: None, reversed: false });
        queue.push_back(root);
    }

    for edge in &edges {
        if let (Some(j), true) = (edge.joint, edge.reversed) {
            let joint = &model.joints[j];
            if !joint.kind.is_reversible() {
                checker.error(
                    joint.origin,
                    format!("joint `{}`", joint.name),
                    format!(
                        "the tree reaches it from its child `{}`, but a {} joint cannot be turned round \
                         without changing its coordinates",
                        joint.child,
                        joint.kind.name()
                    ),
                    "exchange parent and child, or give another joint of that body the role `tree`",
                );
            }
        }
    }
    let mut loops = Vec::new();
    for (j, joint) in model.joints.iter().enumerate() {
        if in_tree[j] {
            continue;
        }
        if joint.role == Some(JointRole::Tree) {
            checker.error(
                joint.origin,
                format!("joint `{}`", joint.name),
                format!("it has the role `tree`, but body `{}` is already in the tree", joint.child),
                "give one joint of this loop the role `loop`",
            );
        }
        loops.push(j);
    }
    Topology { edges, loops }
}
