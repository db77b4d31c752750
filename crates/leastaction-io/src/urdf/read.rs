//! `<robot>`: from text to a description.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use roxmltree::{Document, Node};

use super::element::{Element, tag};
use super::joint::{Joint, read_joint};
use super::link::{Link, Materials, read_link, read_material};
use super::meshes::Meshes;
use super::transmission::add_transmissions;
use super::tree::check_tree;
use super::{UrdfBase, UrdfOptions, XACRO};
use crate::findings::{Findings, quoted};
use crate::mechanism::{JointDescription, JointType, ModelDescription, WORLD};
use crate::{Reading, Severity, SourceMap, xml};

/// Reads the text of a URDF file. `path` is used in messages and to find meshes; the file itself is not opened.
///
/// All problems are reported at once. A description may come with errors (the elements in error are left out of it,
/// so that the rest can be checked); a model with errors must not be used.
#[must_use]
pub fn read_urdf(text: &str, path: &Path, options: &UrdfOptions) -> Reading {
    let mut sources = SourceMap::new();
    let file = sources.add(path, text);
    let mut findings = Findings::new(text, file);
    let description = xml::parse(&mut findings, xml::MAX_DEPTH)
        .and_then(|d| read_document(&d, path, options, &mut findings));
    let diagnostics = findings.into_diagnostics(&sources);
    Reading { description, sources, diagnostics, ..Reading::default() }
}

fn read_document<'t>(
    document: &Document<'t>,
    path: &Path,
    options: &UrdfOptions,
    findings: &mut Findings<'t>,
) -> Option<ModelDescription> {
    let root = document.root_element();
    if tag(root) != "robot" {
        let remedy = match tag(root) {
            "mujoco" => "this is MJCF, not URDF: read it as MJCF".into(),
            "sdf" => "this is SDF, not URDF: read it as SDF".into(),
            _ => String::from("a URDF file is one `<robot name=\"…\">` element"),
        };
        let message = format!("the root element is `<{}>`, not `<robot>`", tag(root));
        findings.error(root.range().start, format!("`<{}>`", tag(root)), message, remedy);
        return None;
    }
    let text = findings.text();
    let may_be_xacro = ["xacro", "${", "$("].iter().any(|sign| text.contains(sign));
    if let Some((at, what)) = may_be_xacro.then(|| find_xacro(root)).flatten() {
        findings.error(at, what, XACRO.0, XACRO.1);
        return None;
    }
    let robot = Element::mechanical(root, "robot");
    robot.warn_of_unknown(findings);
    warn_of_gazebo_loops(root, findings);
    let name = read_robot_name(robot, path, findings);

    let mut materials = Materials::new();
    for node in elements(root, "material") {
        read_material(Element::drawn(node, "robot"), &mut materials, findings);
    }
    let mut meshes = Meshes::new(path, &options.search_paths);
    let mut links: Vec<Link> = Vec::new();
    for_each_named(root, "link", findings, |node, name, findings| {
        links.push(read_link(node, name, options, &mut materials, &mut meshes, findings));
    });
    meshes.report(findings);
    let mut joints: Vec<Joint> = Vec::new();
    for_each_named(root, "joint", findings, |node, name, findings| {
        joints.extend(read_joint(node, name, findings));
    });
    let complete = joints.len() == elements(root, "joint").count();
    if links.is_empty() {
        if !findings.problems.has_errors() {
            robot.fault(findings, "the robot has no `<link>`", "add links: `<link name=\"…\">`");
        }
        return None;
    }
    let root_link = check_tree(&links, &mut joints, complete, findings);
    let mut model = ModelDescription::new(name);
    model.joints.reserve(joints.len() + 1);
    let ground = root_link.is_some_and(|root| is_ground(&links[root], options, findings));
    if let (Some(root), false) = (root_link, ground) {
        model.joints.push(root_joint(&links[root], &joints, options));
    }
    for (i, link) in links.into_iter().enumerate() {
        let is_world = ground && Some(i) == root_link;
        model.surfaces.extend(link.surfaces.into_iter().map(|mut surface| {
            if is_world {
                surface.link = WORLD.into();
            }
            surface
        }));
        if is_world {
            continue;
        }
        model.bodies.push(link.body);
    }
    model.joints.extend(joints.into_iter().map(|j| j.joint));
    add_transmissions(root, &mut model, findings);
    Some(model)
}

/// The children of a node with a tag.
fn elements<'d, 't>(node: Node<'d, 't>, name: &'static str) -> impl Iterator<Item = Node<'d, 't>> {
    node.children().filter(move |n| n.is_element() && tag(*n) == name)
}

/// Calls `read` for each `<kind>` with a name of its own; reports those without.
fn for_each_named<'t>(
    root: Node<'_, 't>,
    kind: &'static str,
    findings: &mut Findings<'t>,
    mut read: impl FnMut(Node<'_, 't>, &str, &mut Findings<'t>),
) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (i, node) in elements(root, kind).enumerate() {
        let owner = format!("{kind} number {}", i + 1);
        let element = Element::mechanical(node, &owner);
        let Some(name) = element.required_text(findings, "name") else { continue };
        if let Some(first) = seen.get(name) {
            let line = findings.line(*first);
            let message = format!("a {kind} of this name already stands on line {line}");
            findings.error(
                element.offset(),
                format!("{kind} `{name}`"),
                message,
                "rename or remove one of the two",
            );
            continue;
        }
        seen.insert(name, element.offset());
        read(node, name, findings);
    }
}

/// The robot's name, or that of the file.
fn read_robot_name(robot: Element<'_, '_, '_>, path: &Path, findings: &mut Findings<'_>) -> String {
    let robot = Element { severity: Severity::Warning, ..robot };
    let name = robot.required_text(findings, "name").map(str::to_owned);
    name.unwrap_or_else(|| path.file_stem().map_or("robot".into(), |s| s.to_string_lossy().into_owned()))
}

/// The first trace of unexpanded xacro, in the parts that are read.
fn find_xacro(root: Node<'_, '_>) -> Option<(usize, String)> {
    let read = |n: &Node<'_, '_>| matches!(tag(*n), "link" | "joint" | "material") || is_xacro(*n);
    let parts = root.children().filter(|n| n.is_element() && read(n));
    for node in std::iter::once(root).chain(parts.flat_map(|p| p.descendants()).filter(Node::is_element)) {
        if is_xacro(node) {
            return Some((node.range().start, format!("`<{}>`", tag(node))));
        }
        for attribute in node.attributes() {
            if attribute.value().contains("${") || attribute.value().contains("$(") {
                let what = format!("{} of `<{}>`", quoted(attribute.value()), tag(node));
                return Some((attribute.range().start, what));
            }
        }
    }
    None
}

fn is_xacro(node: Node<'_, '_>) -> bool {
    node.tag_name().namespace().is_some_and(|uri| uri.ends_with("xacro"))
}

/// Gazebo users close loops with an SDF joint inside `<gazebo>`; leaving that out must not pass unseen.
fn warn_of_gazebo_loops(root: Node<'_, '_>, findings: &mut Findings<'_>) {
    for gazebo in elements(root, "gazebo") {
        for joint in elements(gazebo, "joint") {
            let name = joint.attribute("name").unwrap_or("");
            let message = format!("joint {} inside `<gazebo>` is not read", quoted(name));
            findings.warn_once(joint.range().start, "`<gazebo>`", &message, super::LOOP_REMEDY);
        }
    }
}

/// True if the root link is the ground itself: `world` without inertia, or `world` welded to the world.
fn is_ground(link: &Link, options: &UrdfOptions, findings: &mut Findings<'_>) -> bool {
    if link.body.name != WORLD {
        return false;
    }
    if !link.body.visuals.is_empty() {
        let message = "the shapes of the ground are not kept";
        let remedy = "give them to a link of their own, fixed to `world`";
        findings.warn_once(link.offset, "link `world`", message, remedy);
    }
    let (floating, heavy) = (options.base == UrdfBase::Floating, link.has_inertial);
    match (floating, heavy) {
        (true, true) => {
            let message = format!("link `world` has a mass of {} kg and shall float", link.body.mass);
            let remedy = "rename the link: `world` is the ground";
            findings.error(link.offset, "link `world`", message, remedy);
        }
        (true, false) => {
            let message = "the root link is `world`, the ground: no floating base is added";
            let remedy = "rename the link to let the robot float";
            findings.warn_once(link.offset, "link `world`", message, remedy);
        }
        (false, true) => {
            let message = "the inertia of `world` is not read: it is the ground";
            findings.warn_once(link.offset, "link `world`", message, "rename the link");
        }
        (false, false) => {}
    }
    true
}

/// The joint between the world and the root link, under a name that no joint of the file has.
fn root_joint(root: &Link, joints: &[Joint], options: &UrdfOptions) -> JointDescription {
    let kind = match options.base {
        UrdfBase::Fixed => JointType::Fixed,
        UrdfBase::Floating => JointType::Floating,
    };
    let taken: HashSet<&str> = joints.iter().map(|j| j.joint.name.as_str()).collect();
    let mut name = String::from("root_joint");
    while taken.contains(name.as_str()) {
        name.insert(0, '_');
    }
    let mut joint = JointDescription::new(name, kind, WORLD, root.body.name.as_str());
    joint.origin = root.body.origin;
    joint
}
