//! `<joint>`: what it allows, before frames are resolved.

use roxmltree::Node;

use super::text::{Owner, all, one, word};
use crate::findings::{nearest, one_of, quoted};
use crate::mechanism::{
    JointDescription, JointType, LimitsDescription, MimicDescription, PerCoordinate, SpringDescription,
};

/// Bounds beyond this mean none, as SDF writes infinity.
const UNBOUNDED: f64 = 1e15;

/// A joint of the file: parent and child are names of links or frames in the scope of its model.
pub(super) struct RawJoint {
    pub(super) joint: JointDescription,
    /// Axes and the frames they are expressed in; the joint's own if there is none.
    pub(super) axes: Vec<([f64; 3], Option<String>)>,
    /// Metres along the axis per radian about it.
    pub(super) screw: Option<f64>,
}

const TYPES: [(&str, JointType, usize); 8] = [
    ("revolute", JointType::Revolute, 1),
    ("continuous", JointType::Continuous, 1),
    ("prismatic", JointType::Prismatic, 1),
    ("fixed", JointType::Fixed, 0),
    ("ball", JointType::Spherical, 0),
    ("universal", JointType::Universal, 2),
    ("revolute2", JointType::Universal, 2),
    ("screw", JointType::Revolute, 1),
];

/// Reads a joint; `None` after an error that leaves nothing of it.
pub(super) fn read_joint(node: Node<'_, '_>, name: &str, owner: &mut Owner<'_, '_>) -> Option<RawJoint> {
    let given = node.attribute("type").unwrap_or("");
    let Some((_, kind, axes)) = TYPES.iter().find(|(word, ..)| *word == given) else {
        let names = TYPES.map(|(word, ..)| word);
        let remedy = match nearest(given, names) {
            _ if given == "gearbox" => "write it as two joints, the second with `<mimic>`".into(),
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("use {}", one_of(&names)),
        };
        owner.error(node, format!("unknown joint type {}", quoted(given)), remedy);
        return None;
    };
    let mut side = |name: &str| {
        let found = word(node, name).filter(|text| !text.is_empty()).map(str::to_owned);
        if found.is_none() {
            owner.error(node, format!("the joint has no `<{name}>`"), format!("add `<{name}>LINK</{name}>`"));
        }
        found
    };
    let (parent, child) = (side("parent"), side("child"));
    let mut joint = JointDescription::new(name, *kind, parent?, child?);
    joint.origin = owner.findings.origin(node.range().start);
    let mut raw = RawJoint { joint, axes: Vec::new(), screw: None };
    let elements = ["axis", "axis2"];
    for element in &elements[..*axes] {
        let axis = one(node, element);
        if axis.is_none() {
            owner.error(
                node,
                format!("a {given} joint needs `<{element}>`"),
                format!("add `<{element}><xyz>0 0 1</xyz></{element}>`"),
            );
        }
        let xyz = axis.and_then(|axis| one(axis, "xyz"));
        let frame = xyz.and_then(|xyz| xyz.attribute("expressed_in")).filter(|name| !name.is_empty());
        let direction = axis.and_then(|axis| owner.numbers::<3>(axis, "xyz")).unwrap_or([0.0, 0.0, 1.0]);
        raw.axes.push((direction, frame.map(str::to_owned)));
    }
    dynamics(node, &mut raw.joint, *axes, owner);
    if given == "screw" {
        // New files have metres per turn, old ones minus turns per metre, in radians.
        let pitch = owner.number(node, "screw_thread_pitch").map(|p| p / std::f64::consts::TAU);
        let old = owner.number(node, "thread_pitch").filter(|p| *p != 0.0).map(|p| -1.0 / p);
        raw.screw = Some(pitch.or(old).unwrap_or(1.0 / std::f64::consts::TAU));
    }
    Some(raw)
}

/// Limits, damping, friction, springs and what a joint follows.
fn dynamics(node: Node<'_, '_>, joint: &mut JointDescription, axes: usize, owner: &mut Owner<'_, '_>) {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    let [mut damping, mut friction, mut stiffness, mut rest] = [const { Vec::new() }; 4];
    for axis in ["axis", "axis2"].iter().take(axes).filter_map(|name| one(node, name)) {
        let limit = one(axis, "limit");
        let mut bound = |name: &str, none: f64| {
            let found = limit.and_then(|limit| one(limit, name)).map(|element| owner.list(element));
            let x = found.and_then(|list| list.first().copied()).unwrap_or(none);
            if x.abs() >= UNBOUNDED { none } else { x }
        };
        lower.push(bound("lower", f64::NEG_INFINITY));
        upper.push(bound("upper", f64::INFINITY));
        let [effort, velocity] = ["effort", "velocity"].map(|name| bound(name, f64::INFINITY));
        let limits = joint.limits.get_or_insert_with(LimitsDescription::default);
        // A negative bound means none, as SDF has it.
        let positive = |x: f64| (x.is_finite() && x >= 0.0).then_some(x);
        limits.effort = limits.effort.or(positive(effort));
        limits.velocity = limits.velocity.or(positive(velocity));
        let mut element = |name: &str| {
            let found = one(axis, "dynamics").and_then(|dynamics| owner.number(dynamics, name));
            found.unwrap_or(0.0)
        };
        damping.push(element("damping"));
        friction.push(element("friction"));
        stiffness.push(element("spring_stiffness"));
        rest.push(element("spring_reference"));
        if let Some(mimic) = one(axis, "mimic") {
            let leads = mimic.attribute("joint").unwrap_or("").to_owned();
            let multiplier = owner.number(mimic, "multiplier").unwrap_or(1.0);
            let reference = owner.number(mimic, "reference").unwrap_or(0.0);
            let offset = owner.number(mimic, "offset").unwrap_or(0.0) - multiplier * reference;
            joint.mimic = Some(MimicDescription { joint: leads, multiplier, offset });
        }
    }
    let each = |list: Vec<f64>| match list.as_slice() {
        [x] => PerCoordinate::One(*x),
        _ => PerCoordinate::Each(list),
    };
    let bounded = |list: &[f64]| list.iter().any(|x| x.is_finite());
    if let Some(limits) = &mut joint.limits {
        // A universal joint may have one axis without limit: as wide as no joint turns.
        let wide = |list: Vec<f64>| list.into_iter().map(|x| x.clamp(-1e6, 1e6)).collect::<Vec<f64>>();
        let has = joint.kind != JointType::Continuous;
        limits.lower = (has && bounded(&lower)).then(|| each(wide(lower)));
        limits.upper = (has && bounded(&upper)).then(|| each(wide(upper)));
        if *limits == LimitsDescription::default() {
            joint.limits = None;
        }
    }
    if stiffness.iter().any(|k| *k != 0.0) {
        joint.spring = Some(SpringDescription { stiffness: each(stiffness), rest: each(rest) });
    }
    if !damping.is_empty() {
        joint.damping = each(damping);
        joint.friction = each(friction);
    }
    if all(node, "axis").count() > 1 {
        owner.error(node, "`<axis>` is given twice", "the second axis of a universal joint is `<axis2>`");
    }
}
