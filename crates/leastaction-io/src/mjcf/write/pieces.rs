//! One joint of ours as hinges, slides, balls and free joints on one body.
//!
//! With the joint frame `A` in the parent and `B` in the child, `X = A J(q) B⁻¹ = (A B⁻¹) (B J(q) B⁻¹)`: the body
//! stands at `A B⁻¹`, and every piece moves it about the point and along the axes that `B` has in the body.

use std::collections::BTreeSet;

use super::super::gravcomp;
use super::Writer;
use crate::frames::{cross, rotate, unit};
use crate::mechanism::{
    ActivationKind, JointDescription, JointType, LawDescription, PerCoordinate, WORLD, triad,
};
use crate::spatial::Vec3;
use crate::xml_write::{Attributes, numbers};

/// Kinds of MJCF joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    Hinge,
    Slide,
    Ball,
    Free,
}

/// One MJCF joint.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    pub(super) name: String,
    /// The velocity coordinate of ours that a hinge or slide has; the first one of a ball or free joint.
    pub(super) coordinate: usize,
    pub(super) attributes: Attributes,
}

/// Splits a joint. What does not fit is said.
pub(super) fn of(joint: &JointDescription, writer: &mut Writer<'_>) -> Vec<Piece> {
    use PieceKind::{Ball, Free, Hinge, Slide};
    let axis = unit(joint.axis.unwrap_or([0.0, 0.0, 1.0])).unwrap_or([0.0, 0.0, 1.0]);
    let axis2 = joint.axis2.and_then(unit).unwrap_or([1.0, 0.0, 0.0]);
    let planar = triad(Vec3(axis));
    let [t1, t2] = [0, 1].map(|k| planar.column(k).0);
    let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let none = [0.0; 3];
    // Kind, part of the name, axis, coordinate.
    let parts: Vec<(PieceKind, &str, [f64; 3], usize)> = match joint.kind {
        JointType::Fixed | JointType::PointOnLine => vec![],
        JointType::Revolute | JointType::Continuous => vec![(Hinge, "", axis, 0)],
        JointType::Prismatic => vec![(Slide, "", axis, 0)],
        JointType::Cylindrical => vec![(Slide, "slide", axis, 1), (Hinge, "angle", axis, 0)],
        JointType::Universal => vec![(Hinge, "angle1", axis, 0), (Hinge, "angle2", axis2, 1)],
        JointType::Planar => vec![(Slide, "x", t1, 0), (Slide, "y", t2, 1), (Hinge, "angle", axis, 2)],
        JointType::Spherical => vec![(Ball, "", none, 0)],
        JointType::Floating if joint.parent == WORLD => vec![(Free, "", none, 0)],
        JointType::Floating => {
            vec![(Slide, "x", x, 3), (Slide, "y", y, 4), (Slide, "z", z, 5), (Ball, "turn", none, 0)]
        }
    };
    let element = format!("joint `{}`", joint.name);
    if parts.len() > 1 {
        let message = format!("a {} joint becomes {} joints on one body", joint.kind.name(), parts.len());
        writer.say(element.clone(), message, "none needed: the motion is the same");
    }
    if joint.kind == JointType::Fixed && joint.name != format!("{}/fixed", joint.child) {
        let message = "fixed joints have no name in MJCF";
        writer.say(element.clone(), message, "none needed: the body stands in its parent");
    }
    if joint.limits.as_ref().is_some_and(|l| l.velocity.is_some()) {
        writer.say(element, "limits of the speed are left out", "watch the speed yourself");
    }
    parts
        .into_iter()
        .map(|(kind, part, axis, coordinate)| piece(joint, kind, part, axis, coordinate, writer))
        .collect()
}

fn piece(
    joint: &JointDescription,
    kind: PieceKind,
    part: &str,
    axis: [f64; 3],
    coordinate: usize,
    writer: &mut Writer<'_>,
) -> Piece {
    let name = if part.is_empty() { joint.name.clone() } else { format!("{}/{part}", joint.name) };
    let word = match kind {
        PieceKind::Hinge => "hinge",
        PieceKind::Slide => "slide",
        PieceKind::Ball => "ball",
        PieceKind::Free => "free",
    };
    let mut attributes = vec![("name", name.clone()), ("type", word.to_owned())];
    let b = &joint.child_placement;
    if kind != PieceKind::Free && b.p != [0.0; 3] {
        attributes.push(("pos", numbers(&b.p)));
    }
    let scalar = matches!(kind, PieceKind::Hinge | PieceKind::Slide);
    if scalar {
        attributes.push(("axis", numbers(&rotate(b.q, axis))));
        scalar_forces(joint, coordinate, &mut attributes);
    } else if joint.spring.as_ref().is_some_and(|s| !s.stiffness.is_zero()) {
        let message = "springs of spherical and floating joints are left out: MuJoCo's follow another law";
        writer.say(format!("joint `{}`", joint.name), message, "use hinges with springs");
    }
    let ball = joint.kind == JointType::Spherical;
    if !scalar
        && joint.limits.as_ref().is_some_and(|l| {
            let positions = l.lower.is_some() || l.upper.is_some();
            (positions && !ball) || l.effort.is_some() || l.effort_range.is_some()
        })
    {
        let message = "limits of floating joints, and of the efforts of balls, are left out";
        writer.say(format!("joint `{}`", joint.name), message, "use hinges with limits");
    }
    if let Some(upper) = joint.limits.as_ref().and_then(|l| l.upper.as_ref()).filter(|_| ball) {
        attributes.push(("range", numbers(&[0.0, upper.at(0).clamp(0.0, 1e10)])));
    }
    for (attribute, values) in
        [("damping", &joint.damping), ("armature", &joint.armature), ("frictionloss", &joint.friction)]
    {
        let value = values.at(coordinate);
        let uneven = matches!(values, PerCoordinate::Each(v) if v.iter().any(|x| *x != value));
        if !scalar && uneven {
            let message = format!("`{attribute}` differs between coordinates; the first is written");
            writer.say(format!("joint `{}`", joint.name), message, "make it even");
        }
        if value != 0.0 {
            attributes.push((attribute, numbers(&[value])));
        }
    }
    Piece { kind, name, coordinate, attributes }
}

fn scalar_forces(joint: &JointDescription, coordinate: usize, attributes: &mut Attributes) {
    if let Some(spring) = &joint.spring
        && spring.stiffness.at(coordinate) != 0.0
    {
        attributes.push(("stiffness", numbers(&[spring.stiffness.at(coordinate)])));
        attributes.push(("springref", numbers(&[spring.rest.at(coordinate)])));
    }
    let Some(limits) = &joint.limits else { return };
    if limits.lower.is_some() || limits.upper.is_some() {
        // A side without a limit gets one no motion reaches; MJCF has only pairs.
        let side =
            |limit: &Option<PerCoordinate>, open: f64| limit.as_ref().map_or(open, |l| l.at(coordinate));
        let range = [side(&limits.lower, -1e10), side(&limits.upper, 1e10)].map(|x| x.clamp(-1e10, 1e10));
        if range != [-1e10, 1e10] {
            attributes.push(("range", numbers(&range)));
        }
    }
    let range = limits.effort_range.or(limits.effort.map(|effort| [-effort, effort]));
    if let Some(range) = range.filter(|range| range.iter().any(|x| x.is_finite())) {
        attributes.push(("actuatorfrcrange", numbers(&range.map(|x| x.clamp(-1e10, 1e10)))));
    }
}

/// Inputs that act on several hinges and slides and nothing else become actuators of a fixed tendon.
pub(super) fn tendons(writer: &mut Writer<'_>) -> BTreeSet<String> {
    let scalar = |piece: &Piece| matches!(piece.kind, PieceKind::Hinge | PieceKind::Slide);
    let mut shared = BTreeSet::new();
    for input in writer.model.inputs.clone() {
        let wrench = writer.model.bodies.iter().any(|body| {
            body.thrusters.iter().any(|t| t.input == input) || body.pushes.iter().any(|p| p.input == input)
        });
        let (mut joints, mut plain) = (Vec::new(), !wrench);
        for link in &writer.links {
            for actuator in link.joint.actuators.iter().filter(|a| a.input == input) {
                let piece = link.pieces.iter().find(|p| scalar(p) && p.coordinate == actuator.coordinate);
                match piece.filter(|_| link.joint.kind != JointType::Floating) {
                    Some(piece) => {
                        joints.push(vec![("joint", piece.name.clone()), ("coef", numbers(&[actuator.gear]))]);
                    }
                    None => plain = false,
                }
            }
        }
        if plain && joints.len() > 1 {
            let tendon = format!("{input}/tendon");
            motor(writer, &input, ("tendon", tendon.clone()), &[1.0]);
            writer.tendons.push((tendon, joints));
            shared.insert(input);
        }
    }
    shared
}

/// Motors of one link: on its joints, and as wrenches at sites; `shared` inputs are written already.
pub(super) fn actuators(writer: &mut Writer<'_>, link: usize, shared: &BTreeSet<String>) {
    let joint = writer.links[link].joint.clone();
    let pieces = writer.links[link].pieces.clone();
    let own = joint.actuators.iter().map(|a| a.input.as_str());
    let mut inputs: Vec<&str> = own.filter(|input| !shared.contains(*input)).collect();
    inputs.dedup();
    let mut done: Vec<&str> = Vec::new();
    for input in inputs {
        if done.contains(&input) {
            continue;
        }
        done.push(input);
        let mut gear = [0.0; 6];
        for actuator in joint.actuators.iter().filter(|a| a.input == input) {
            gear[actuator.coordinate] += actuator.gear;
        }
        for piece in &pieces {
            let b = &joint.child_placement;
            match piece.kind {
                PieceKind::Hinge | PieceKind::Slide
                    if joint.kind != JointType::Floating && gear[piece.coordinate] != 0.0 =>
                {
                    motor(writer, input, ("joint", piece.name.clone()), &[gear[piece.coordinate]]);
                }
                PieceKind::Ball if joint.kind == JointType::Spherical => {
                    let gear = rotate(b.q, [gear[0], gear[1], gear[2]]);
                    motor(writer, input, ("joint", piece.name.clone()), &gear);
                }
                PieceKind::Ball | PieceKind::Free => {
                    // Forces along the axes of the joint frame in the child: a wrench at a site there.
                    let site = writer.add_site(&joint.child, &format!("{}/actuator", joint.name), *b);
                    let [a, b, c, d, e, f] = gear;
                    motor(writer, input, ("site", site), &[d, e, f, a, b, c]);
                }
                _ => {}
            }
        }
    }
    let body = &writer.links[link].body;
    if body.pushes.iter().any(|push| gravcomp::part_of(writer.model, body, push).is_none()) {
        let message = "pushes along world axes are left out: MJCF has them on free joints only";
        writer.say(format!("body `{}`", writer.links[link].body.name), message, "use thrusters");
    }
    for thruster in writer.links[link].body.thrusters.clone() {
        let body = writer.links[link].body.name.clone();
        let site =
            writer.add_site(&body, &format!("{body}/thruster"), crate::mechanism::Placement::default());
        let [a, b, c, d, e, f] = thruster.wrench;
        motor(writer, &thruster.input, ("site", site), &[d, e, f, a, b, c]);
    }
}

fn motor(writer: &mut Writer<'_>, input: &str, target: (&'static str, String), gear: &[f64]) {
    let mut name = input.to_owned();
    if !writer.actuator_names.insert(name.clone()) {
        let message = "an input that acts in several places becomes several actuators";
        writer.say(format!("input `{input}`"), message, "give them the same control");
        let mut n = 2;
        while !writer.actuator_names.insert(name.clone()) {
            name = format!("{input}/{n}");
            n += 1;
        }
    }
    let mut attributes = vec![("name", name), target, ("gear", numbers(gear))];
    if let Some(law) = writer.model.laws.iter().find(|law| law.input == input) {
        attributes.extend(law_attributes(writer, law));
    }
    writer.actuators.push(attributes);
}

/// Attributes of a `general` actuator.
fn law_attributes(writer: &mut Writer<'_>, law: &LawDescription) -> Attributes {
    let mut attributes: Attributes = Vec::new();
    let (gain, bias) = (law.gain.coefficients(), law.bias.coefficients());
    attributes.push(("gaintype", if gain[1..] == [0.0; 2] { "fixed" } else { "affine" }.into()));
    attributes.push(("gainprm", numbers(&gain)));
    attributes.push(("biastype", if bias == [0.0; 3] { "none" } else { "affine" }.into()));
    attributes.push(("biasprm", numbers(&bias)));
    if let Some(activation) = &law.activation {
        let filter = activation.kind == ActivationKind::Filter;
        attributes.push(("dyntype", if filter { "filterexact" } else { "integrator" }.into()));
        if filter {
            attributes.push(("dynprm", numbers(&[activation.time_constant])));
        }
    }
    for (name, range) in [
        ("ctrlrange", law.control_range),
        ("forcerange", law.force_range),
        ("actrange", law.activation.and_then(|a| a.range)),
    ] {
        if let Some(range) = range {
            attributes.push((name, numbers(&range.map(|x| x.clamp(-1e10, 1e10)))));
        }
    }
    if law.rotor_inertia != 0.0 {
        attributes.push(("armature", numbers(&[law.rotor_inertia])));
    }
    if law.speed_line.is_some() {
        let message = "the torque–speed line is left out: MJCF has none";
        writer.say(format!("input `{}`", law.input), message, "limit the force instead");
    }
    attributes
}

/// MuJoCo's positions and velocities of a link for our coordinates, piece by piece.
pub(super) fn coordinates(
    joint: &JointDescription,
    pieces: &[Piece],
    q: &[f64],
    v: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    use crate::frames::{add, compose, conjugate, inverse, multiply};
    use crate::mechanism::Placement;
    let b = &joint.child_placement;
    let three = |x: &[f64]| [x[0], x[1], x[2]];
    let turned = |q: &[f64]| multiply(multiply(b.q, [q[0], q[1], q[2], q[3]]), conjugate(b.q));
    match joint.kind {
        JointType::Spherical => (turned(q).to_vec(), rotate(b.q, three(v)).to_vec()),
        JointType::Floating if joint.parent == WORLD => {
            let moved = Placement { p: three(&q[4..]), q: [q[0], q[1], q[2], q[3]] };
            let pose = compose(&compose(&joint.parent_placement, &moved), &inverse(b));
            let angular = rotate(b.q, three(v));
            let linear = add(rotate(b.q, three(&v[3..])), cross(b.p, angular));
            let qpos = pose.p.iter().chain(&pose.q).copied().collect();
            (qpos, rotate(pose.q, linear).iter().chain(&angular).copied().collect())
        }
        JointType::Floating => {
            let speed = rotate([q[0], q[1], q[2], q[3]], three(&v[3..]));
            let qpos = q[4..7].iter().chain(&turned(q)).copied().collect();
            (qpos, speed.iter().chain(&rotate(b.q, three(v))).copied().collect())
        }
        _ => {
            let pick = |x: &[f64]| pieces.iter().map(|p| x[p.coordinate]).collect();
            (pick(q), pick(v))
        }
    }
}
