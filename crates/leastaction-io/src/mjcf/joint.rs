//! Joints: one MJCF joint becomes one joint of ours.

use super::reader::{Item, Reader};
use crate::frames::rotate;
use crate::mechanism::{
    JointDescription, JointRole, JointType, LimitsDescription, PerCoordinate, Placement, SpringDescription,
};

/// A joint read from the file, before bodies and placements are known.
#[derive(Debug)]
pub(super) struct JointDraft {
    pub(super) item: Item,
    pub(super) kind: JointType,
    /// The name in the file, if it has one.
    pub(super) name: Option<String>,
    /// Anchor in the body frame.
    pub(super) pos: [f64; 3],
    /// MuJoCo's coordinate where ours is zero.
    pub(super) reference: f64,
    /// Time constant, damping ratio and rest of a spring that waits for the mass matrix.
    pub(super) spring_damper: Option<[f64; 3]>,
    /// Everything else, with placeholder names.
    pub(super) description: JointDescription,
}

/// MuJoCo's word for a kind.
pub(super) fn word(kind: JointType) -> &'static str {
    match kind {
        JointType::Prismatic => "slide",
        JointType::Spherical => "ball",
        JointType::Floating => "free",
        JointType::Fixed => "fixed",
        _ => "hinge",
    }
}

/// Reads a `joint` or `freejoint`; `frame` is where the enclosing `frame` elements put it in the body.
pub(super) fn read(reader: &mut Reader, item: Item, frame: &Placement) -> JointDraft {
    let free_element = reader.document.elements[item.id].tag == "freejoint";
    let kind = match reader.text(&item, "type").unwrap_or("hinge") {
        _ if free_element => JointType::Floating,
        "free" => JointType::Floating,
        "ball" => JointType::Spherical,
        "slide" => JointType::Prismatic,
        _ => JointType::Revolute,
    };
    let name = reader.document.elements[item.id].text("name").map(str::to_owned);
    let mut description = JointDescription::new("", kind, "", "");
    description.role = Some(JointRole::Tree);
    description.origin = reader.at(item.id);
    let scalar = matches!(kind, JointType::Revolute | JointType::Prismatic);
    if scalar {
        let axis = reader.array(&item, "axis").unwrap_or([0.0, 0.0, 1.0]);
        description.axis = Some(rotate(frame.q, axis));
    }
    let angle = if kind == JointType::Prismatic { 1.0 } else { reader.settings_of(item.id).angle };
    let reference = if scalar { reader.number(&item, "ref").unwrap_or(0.0) * angle } else { 0.0 };
    let pos = reader.array(&item, "pos").unwrap_or([0.0; 3]);
    let pos = if kind == JointType::Floating {
        [0.0; 3]
    } else {
        crate::frames::add(frame.p, rotate(frame.q, pos))
    };
    if !free_element {
        forces(reader, &item, kind, angle, reference, &mut description);
        limits(reader, &item, kind, angle, reference, &mut description);
    }
    let given = reader.array::<2>(&item, "springdamper").filter(|x| scalar && x.iter().all(|x| *x > 0.0));
    let spring_damper = given.map(|[time, ratio]| {
        let rest = reader.number(&item, "springref").unwrap_or(0.0) * angle - reference;
        [time, ratio, rest]
    });
    JointDraft { item, kind, name, pos, reference, spring_damper, description }
}

/// Spring, damper, rotor inertia, friction.
fn forces(
    reader: &mut Reader,
    item: &Item,
    kind: JointType,
    angle: f64,
    reference: f64,
    joint: &mut JointDescription,
) {
    let scalar = matches!(kind, JointType::Revolute | JointType::Prismatic);
    let springdamper = reader.array::<2>(item, "springdamper").unwrap_or([0.0; 2]);
    if !scalar && springdamper.iter().all(|x| *x > 0.0) {
        let remedy = "write the `stiffness` and `damping` it stands for";
        reader.refused(item.id, "`springdamper` of a ball or free joint is not computed", remedy);
    }
    if reader.number(item, "springyield").is_some_and(|y| y > 0.0) {
        reader.refused(item.id, "springs that yield (`springyield`) are not supported", "remove it");
    }
    let stiffness: [f64; 3] = reader.overlaid(item, "stiffness", [0.0; 3]);
    let damping: [f64; 3] = reader.overlaid(item, "damping", [0.0; 3]);
    for (name, polynomial) in [("stiffness", stiffness), ("damping", damping)] {
        if polynomial[1] != 0.0 || polynomial[2] != 0.0 {
            let what = format!("nonlinear `{name}` is not supported");
            reader.refused(item.id, what, "keep the first of its numbers only");
        }
    }
    if stiffness[0] != 0.0 && reader.settings.springs {
        if scalar {
            let rest = reader.number(item, "springref").unwrap_or(0.0) * angle - reference;
            joint.spring = Some(SpringDescription {
                stiffness: PerCoordinate::One(stiffness[0]),
                rest: PerCoordinate::One(rest),
            });
        } else {
            let word = word(kind);
            let what = format!(
                "`stiffness` on a {word} joint is not supported: our rotational springs follow the sine of the angle"
            );
            reader.refused(item.id, what, "remove it, or use three hinges with springs");
        }
    }
    if reader.settings.dampers {
        joint.damping = PerCoordinate::One(damping[0]);
    }
    joint.armature = PerCoordinate::One(reader.number(item, "armature").unwrap_or(0.0));
    if reader.settings.friction {
        joint.friction = PerCoordinate::One(reader.number(item, "frictionloss").unwrap_or(0.0));
    }
}

/// Range and force range.
fn limits(
    reader: &mut Reader,
    item: &Item,
    kind: JointType,
    angle: f64,
    reference: f64,
    joint: &mut JointDescription,
) {
    let scalar = matches!(kind, JointType::Revolute | JointType::Prismatic);
    let mut limits = LimitsDescription::default();
    if kind != JointType::Floating
        && let Some([low, high]) = reader.limited(item, "limited", "range")
    {
        if scalar && reader.settings.limits {
            limits.lower = Some(PerCoordinate::One(low * angle - reference));
            limits.upper = Some(PerCoordinate::One(high * angle - reference));
        } else if reader.settings.limits {
            // MuJoCo limits the angle of the whole rotation, and reads it from the larger of the two numbers.
            limits.upper = Some(PerCoordinate::One(low.max(high) * angle));
        }
    }
    if scalar && let Some([low, high]) = reader.limited(item, "actuatorfrclimited", "actuatorfrcrange") {
        if low == -high {
            limits.effort = Some(high);
        } else {
            limits.effort_range = Some([low, high]);
        }
    }
    if limits != LimitsDescription::default() {
        joint.limits = Some(limits);
    }
}
