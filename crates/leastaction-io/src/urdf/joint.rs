//! `<joint>`.

use roxmltree::Node;

use super::element::Element;
use super::link::read_origin;
use crate::findings::{Findings, nearest, one_of, quoted};
use crate::mechanism::{JointDescription, JointType, LimitsDescription, MimicDescription, PerCoordinate};

/// A joint and the places of the links it names.
pub(super) struct Joint {
    pub(super) joint: JointDescription,
    pub(super) offset: usize,
    pub(super) parent_at: usize,
    pub(super) child_at: usize,
}

const TYPES: [(&str, JointType); 6] = [
    ("revolute", JointType::Revolute),
    ("continuous", JointType::Continuous),
    ("prismatic", JointType::Prismatic),
    ("fixed", JointType::Fixed),
    ("floating", JointType::Floating),
    ("planar", JointType::Planar),
];

/// Reads one joint; `None` if it does not say which links it joins.
pub(super) fn read_joint(node: Node<'_, '_>, name: &str, findings: &mut Findings<'_>) -> Option<Joint> {
    let owner = format!("joint `{name}`");
    let element = Element::mechanical(node, &owner);
    element.warn_of_unknown(findings);
    let kind = read_type(element, findings);
    let parent = read_link_name(element, "parent", findings);
    let child = read_link_name(element, "child", findings);
    let placement = read_origin(element, findings);
    let axis = read_axis(element, kind, findings);
    let limits = read_limits(element, kind, findings);
    let (damping, friction) = read_dynamics(element, kind, findings);
    let mimic = read_mimic(element, findings);
    let (parent, parent_at) = parent?;
    let (child, child_at) = child?;
    let offset = element.offset();
    // A joint of unknown type stays as a fixed one, so that the rest of the tree can be checked.
    let mut joint = JointDescription::new(name, kind.unwrap_or(JointType::Fixed), parent, child);
    joint.parent_placement = placement;
    joint.axis = axis;
    joint.limits = limits;
    joint.damping = damping;
    joint.friction = friction;
    joint.mimic = mimic;
    joint.origin = findings.origin(offset);
    Some(Joint { joint, offset, parent_at, child_at })
}

/// The kind; `None` after an error.
fn read_type(joint: Element<'_, '_, '_>, findings: &mut Findings<'_>) -> Option<JointType> {
    let given = joint.required_text(findings, "type")?;
    if let Some((_, kind)) = TYPES.iter().find(|(name, _)| *name == given) {
        return Some(*kind);
    }
    let names = TYPES.map(|(name, _)| name);
    let ours = match given.to_lowercase().as_str() {
        "ball" | "spherical" => Some("spherical"),
        "universal" => Some("universal"),
        "cylindrical" => Some("cylindrical"),
        _ => None,
    };
    let remedy = match (ours, nearest(given, names)) {
        (Some(ours), _) => format!(
            "chain revolute and prismatic joints through massless links, or convert the model to JSON \
             (`leastaction/model/1`), which has `\"type\": \"{ours}\"`"
        ),
        (None, Some(meant)) => format!("did you mean `{meant}`? URDF has {}", one_of(&names)),
        (None, None) => format!("use {}", one_of(&names)),
    };
    let at = joint.attribute("type").map_or(joint.offset(), |a| a.range().start);
    findings.error(at, joint.owner, format!("unknown joint type {}", quoted(given)), remedy);
    None
}

/// Name and place of the parent or child link.
fn read_link_name(
    joint: Element<'_, '_, '_>,
    side: &str,
    findings: &mut Findings<'_>,
) -> Option<(String, usize)> {
    let Some(element) = joint.child(findings, side) else {
        joint.fault(findings, format!("the joint has no `<{side}>`"), format!("add `<{side} link=\"…\"/>`"));
        return None;
    };
    element.warn_of_unknown(findings);
    let name = element.required_text(findings, "link")?;
    let at = element.attribute("link").map_or(element.offset(), |a| a.range().start);
    Some((name.to_owned(), at))
}

/// The axis of kinds that have one; x where the file gives none.
fn read_axis(
    joint: Element<'_, '_, '_>,
    kind: Option<JointType>,
    findings: &mut Findings<'_>,
) -> Option<[f64; 3]> {
    let has_axis = !matches!(kind, None | Some(JointType::Fixed | JointType::Floating));
    let Some(axis) = joint.child(findings, "axis") else { return has_axis.then_some([1.0, 0.0, 0.0]) };
    axis.warn_of_unknown(findings);
    if axis.attribute("xyz").is_none() {
        axis.required_text(findings, "xyz");
    }
    let given = axis.numbers::<3>(findings, "xyz").unwrap_or([1.0, 0.0, 0.0]);
    has_axis.then_some(given)
}

/// The limits, with what a kind does not use left out.
fn read_limits(
    joint: Element<'_, '_, '_>,
    kind: Option<JointType>,
    findings: &mut Findings<'_>,
) -> Option<LimitsDescription> {
    let kind = kind?;
    let needs_limit = matches!(kind, JointType::Revolute | JointType::Prismatic);
    let Some(limit) = joint.child(findings, "limit") else {
        if needs_limit {
            let free = if kind == JointType::Revolute { ", or use type `continuous`" } else { "" };
            joint.fault(
                findings,
                format!("a {} joint needs `<limit>`", kind.name()),
                format!("add `<limit lower=\"…\" upper=\"…\" effort=\"…\" velocity=\"…\"/>`{free}"),
            );
        }
        return None;
    };
    limit.warn_of_unknown(findings);
    let lower = bound(limit, "lower", findings);
    let upper = bound(limit, "upper", findings);
    let effort = bound(limit, "effort", findings);
    let velocity = bound(limit, "velocity", findings);
    match kind {
        JointType::Fixed => return None,
        JointType::Planar | JointType::Floating => {
            let message = format!("`<limit>` of a {} joint is not read", kind.name());
            findings.warn_once(limit.offset(), joint.owner, &message, "remove it");
            return None;
        }
        _ => {}
    }
    for (name, given) in [("effort", effort), ("velocity", velocity)] {
        if needs_limit && given == Bound::Missing {
            let message = format!("`<limit>` has no `{name}`: taken as unlimited");
            let remedy = format!("URDF asks for it: add `{name}=\"…\"`");
            findings.warn_once(limit.offset(), joint.owner, &message, remedy);
        }
    }
    let mut limits =
        LimitsDescription { velocity: velocity.value(), effort: effort.value(), ..Default::default() };
    if needs_limit && lower == Bound::Missing && upper == Bound::Missing {
        let message = "`<limit>` has neither `lower` nor `upper`: both are 0, the joint has no room to move";
        let remedy = "give the range of the joint";
        findings.warn_once(limit.offset(), joint.owner, message, remedy);
    }
    if needs_limit {
        // A bound that is not given is 0 in URDF.
        limits.lower = lower.or_zero().map(PerCoordinate::One);
        limits.upper = upper.or_zero().map(PerCoordinate::One);
    } else if lower.value().is_some_and(|x| x != 0.0) || upper.value().is_some_and(|x| x != 0.0) {
        let message = "`lower` and `upper` of a continuous joint are not read";
        let remedy = "use type `revolute` for a joint with end stops, or remove them";
        findings.warn_once(limit.offset(), joint.owner, message, remedy);
    }
    (limits != LimitsDescription::default()).then_some(limits)
}

/// One bound of `<limit>`.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    Missing,
    Infinite,
    At(f64),
}

impl Bound {
    fn value(self) -> Option<f64> {
        if let Self::At(x) = self { Some(x) } else { None }
    }

    fn or_zero(self) -> Option<f64> {
        if self == Self::Missing { Some(0.0) } else { self.value() }
    }
}

/// A bound; `inf` says that there is none.
fn bound(limit: Element<'_, '_, '_>, name: &str, findings: &mut Findings<'_>) -> Bound {
    let Some(attribute) = limit.attribute(name) else { return Bound::Missing };
    let word = attribute.value().trim().trim_start_matches(['+', '-']).to_ascii_lowercase();
    if word == "inf" || word == "infinity" {
        return Bound::Infinite;
    }
    limit.number(findings, name).map_or(Bound::Infinite, Bound::At)
}

/// Damping and friction of joints with one coordinate.
fn read_dynamics(
    joint: Element<'_, '_, '_>,
    kind: Option<JointType>,
    findings: &mut Findings<'_>,
) -> (PerCoordinate, PerCoordinate) {
    let none = (PerCoordinate::default(), PerCoordinate::default());
    let Some(dynamics) = joint.child(findings, "dynamics") else { return none };
    dynamics.warn_of_unknown(findings);
    let damping = dynamics.number(findings, "damping").unwrap_or(0.0);
    let friction = dynamics.number(findings, "friction").unwrap_or(0.0);
    match kind {
        Some(JointType::Planar | JointType::Floating) if damping != 0.0 || friction != 0.0 => {
            let name = joint.attribute("type").map_or("", |a| a.value());
            let message = format!("`<dynamics>` of a {name} joint is not read");
            let remedy = "URDF does not say what it means: give damping per coordinate in a JSON model";
            findings.warn_once(dynamics.offset(), joint.owner, &message, remedy);
            none
        }
        Some(JointType::Revolute | JointType::Continuous | JointType::Prismatic) => {
            (PerCoordinate::One(damping), PerCoordinate::One(friction))
        }
        _ => none,
    }
}

/// `<mimic joint multiplier offset>`.
fn read_mimic(joint: Element<'_, '_, '_>, findings: &mut Findings<'_>) -> Option<MimicDescription> {
    let mimic = joint.child(findings, "mimic")?;
    mimic.warn_of_unknown(findings);
    let leader = mimic.required_text(findings, "joint")?;
    Some(MimicDescription {
        joint: leader.to_owned(),
        multiplier: mimic.number(findings, "multiplier").unwrap_or(1.0),
        offset: mimic.number(findings, "offset").unwrap_or(0.0),
    })
}
