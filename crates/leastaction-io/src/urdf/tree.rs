//! The tree of links: every link but one has exactly one parent.

use std::collections::HashMap;

use super::LOOP_REMEDY;
use super::joint::Joint;
use super::link::Link;
use crate::findings::{Findings, quoted};

/// Drops joints that join no two links, reports what is not a tree, and returns the index of the root link.
///
/// If joints are missing already (`complete` is false), gaps in the tree say nothing new and are not reported.
pub(super) fn check_tree(
    links: &[Link],
    joints: &mut Vec<Joint>,
    complete: bool,
    findings: &mut Findings<'_>,
) -> Option<usize> {
    let index: HashMap<&str, usize> =
        links.iter().enumerate().map(|(i, link)| (link.body.name.as_str(), i)).collect();
    let count = joints.len();
    drop_joints_without_links(links, &index, joints, findings);
    let complete = complete && joints.len() == count;

    let mut parent_joint: Vec<Option<usize>> = vec![None; links.len()];
    let mut is_tree = true;
    for (j, joint) in joints.iter().enumerate() {
        let child = index[joint.joint.child.as_str()];
        if let Some(first) = parent_joint[child] {
            let first = &joints[first];
            let line = findings.line(first.offset);
            let message = format!(
                "link `{}` already is the child of joint `{}` (line {line}): two joints close a loop",
                joint.joint.child, first.joint.name
            );
            findings.error(joint.offset, owner(joint), message, LOOP_REMEDY);
            is_tree = false;
        } else {
            parent_joint[child] = Some(j);
        }
    }

    let mut roots = (0..links.len()).filter(|i| parent_joint[*i].is_none());
    let root = roots.next();
    if let (Some(root), Some(other)) = (root, roots.next())
        && complete
        && is_tree
    {
        let more = roots.count();
        let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let line = findings.line(links[root].offset);
        let message = format!(
            "two root links: no joint leads to link `{}`{others}, nor to `{}` of line {line}",
            links[other].body.name, links[root].body.name
        );
        let remedy = "join the parts: a URDF has one root link; two robots go into one JSON model";
        findings.error(links[other].offset, format!("link `{}`", links[other].body.name), message, remedy);
        is_tree = false;
    }
    if is_tree && complete {
        report_ring(links, joints, &index, &parent_joint, findings);
    }
    root
}

fn owner(joint: &Joint) -> String {
    format!("joint `{}`", joint.joint.name)
}

/// Reports joints whose parent or child link does not exist, and leaves them out.
fn drop_joints_without_links(
    links: &[Link],
    index: &HashMap<&str, usize>,
    joints: &mut Vec<Joint>,
    findings: &mut Findings<'_>,
) {
    joints.retain(|joint| {
        let mut both = true;
        let sides =
            [("parent", &joint.joint.parent, joint.parent_at), ("child", &joint.joint.child, joint.child_at)];
        for (side, name, at) in sides {
            if index.contains_key(name.as_str()) {
                continue;
            }
            both = false;
            let remedy = match findings.problems.meant(name, links.iter().map(|l| l.body.name.as_str())) {
                Some(meant) => format!("did you mean `{meant}`? Otherwise add `<link name=\"{name}\"/>`"),
                None => format!("add `<link name=\"{name}\"/>` or name a link of the file"),
            };
            findings.error(at, owner(joint), format!("{side} link {} does not exist", quoted(name)), remedy);
        }
        if both && joint.joint.parent == joint.joint.child {
            let message = format!("the joint ties link `{}` to itself", joint.joint.child);
            findings.error(joint.offset, owner(joint), message, "name two different links");
            both = false;
        }
        both
    });
}

/// Follows parents from every link; a walk that comes back to itself is a ring of joints.
fn report_ring(
    links: &[Link],
    joints: &[Joint],
    index: &HashMap<&str, usize>,
    parent_joint: &[Option<usize>],
    findings: &mut Findings<'_>,
) {
    // Number of the walk that first came by; walks stop where an earlier one has been.
    let mut seen = vec![usize::MAX; links.len()];
    for start in 0..links.len() {
        let mut at = start;
        while seen[at] == usize::MAX {
            seen[at] = start;
            let Some(j) = parent_joint[at] else { break };
            at = index[joints[j].joint.parent.as_str()];
        }
        let Some(closing) = parent_joint[at].filter(|_| seen[at] == start) else { continue };
        // The ring, from its joint that stands last in the file.
        let mut ring = vec![closing];
        loop {
            let parent = index[joints[ring[ring.len() - 1]].joint.parent.as_str()];
            match parent_joint[parent] {
                Some(j) if j != closing => ring.push(j),
                _ => break,
            }
        }
        ring.sort_unstable();
        let Some(&last) = ring.last() else { continue };
        let names: Vec<String> = ring
            .iter()
            .take(8)
            .map(|j| format!("`{}` (line {})", joints[*j].joint.name, findings.line(joints[*j].offset)))
            .collect();
        let more = if ring.len() > 8 { format!(" and {} more", ring.len() - 8) } else { String::new() };
        let message = format!("the joints {}{more} close a loop", names.join(", "));
        findings.error(joints[last].offset, owner(&joints[last]), message, LOOP_REMEDY);
    }
}
