//! Sensors: quantities that the file asks for by name. What we can tell at a state becomes a [`Sensor`], the rest is named once.

use std::collections::HashSet;
use std::rc::Rc;

use super::document::Element;
use super::reader::Reader;
use crate::mechanism::{JointType, Placement, WORLD};
use crate::sensor::{Measured, Sensor};

/// Reads all `sensor` sections.
pub(super) fn read(reader: &mut Reader) -> Vec<Sensor> {
    let document = Rc::clone(&reader.document);
    let mut sensors: Vec<Sensor> = Vec::new();
    let mut taken = HashSet::new();
    for id in reader.section("sensor") {
        let element = &document.elements[id];
        let Some(of) = measured(reader, element) else {
            let what = format!("sensors `{}` of this form are left out", element.tag);
            reader.left_out(id, what, "compute it from the columns of the trajectory");
            continue;
        };
        let mut name = element.text("name").map_or_else(|| made_up(element), str::to_owned);
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        sensors.push(Sensor { name, of });
    }
    sensors
}

/// A sensor without a name is called after what it measures.
fn made_up(element: &Element) -> String {
    const OF: [&str; 7] = ["joint", "site", "body", "actuator", "tendon", "objname", "geom"];
    match OF.into_iter().find_map(|name| element.text(name)) {
        Some(of) => format!("{}/{of}", element.tag),
        None => element.tag.clone(),
    }
}

fn measured(reader: &Reader, element: &Element) -> Option<Measured> {
    // Relative to another frame, or with a cutoff, it is another quantity.
    let plain = ["refname", "reftype"].into_iter().all(|name| element.text(name).is_none());
    let number = |name: &str| element.text(name).and_then(|text| text.trim().parse::<f64>().ok());
    if !plain || number("cutoff").is_some_and(|x| x > 0.0) {
        return None;
    }
    Some(match element.tag.as_str() {
        "jointpos" => {
            let (joint, kind, reference) = joint(reader, element)?;
            (kind.nv() == 1).then_some(Measured::Position { joint, reference })?
        }
        "jointvel" => {
            let (joint, kind, _) = joint(reader, element)?;
            (kind.nv() == 1).then_some(Measured::Velocity { joint })?
        }
        "ballquat" => Measured::Turn { joint: ball(reader, element)? },
        "ballangvel" => Measured::Spin { joint: ball(reader, element)? },
        "framepos" => {
            at(frame(reader, element, false)?, |body, placement| Measured::FramePosition { body, placement })
        }
        "framequat" => {
            at(frame(reader, element, true)?, |body, placement| Measured::FrameTurn { body, placement })
        }
        "framexaxis" | "frameyaxis" | "framezaxis" => {
            let axis = usize::from(element.tag.as_bytes()[5] - b'x');
            at(frame(reader, element, true)?, |body, placement| Measured::FrameAxis { body, placement, axis })
        }
        "framelinvel" => at(frame(reader, element, false)?, |body, placement| Measured::FrameVelocity {
            body,
            placement,
            own_axes: false,
        }),
        "frameangvel" => at(frame(reader, element, false)?, |body, placement| Measured::FrameSpin {
            body,
            placement,
            own_axes: false,
        }),
        "velocimeter" => at(site(reader, element, "site")?, |body, placement| Measured::FrameVelocity {
            body,
            placement,
            own_axes: true,
        }),
        "gyro" => at(site(reader, element, "site")?, |body, placement| Measured::FrameSpin {
            body,
            placement,
            own_axes: true,
        }),
        "subtreecom" => Measured::SubtreeCentre { bodies: subtree(reader, element.text("body")?)? },
        "actuatorfrc" => {
            let input = element.text("actuator")?;
            let known = reader.model.inputs.iter().any(|name| name == input);
            known.then(|| Measured::ActuatorForce { input: input.to_owned() })?
        }
        "clock" => Measured::Clock,
        _ => return None,
    })
}

fn at(found: (String, Placement), make: impl FnOnce(String, Placement) -> Measured) -> Measured {
    make(found.0, found.1)
}

fn joint(reader: &Reader, element: &Element) -> Option<(String, JointType, f64)> {
    let record = &reader.joints[*reader.joint_names.get(element.text("joint")?)?];
    let joint = &reader.model.joints[record.index];
    Some((joint.name.clone(), record.kind, record.reference))
}

fn ball(reader: &Reader, element: &Element) -> Option<String> {
    joint(reader, element).filter(|(_, kind, _)| *kind == JointType::Spherical).map(|(name, ..)| name)
}

fn site(reader: &Reader, element: &Element, attribute: &str) -> Option<(String, Placement)> {
    let site = reader.sites.get(element.text(attribute)?)?;
    Some((reader.bodies[site.body].name.clone(), site.placement))
}

/// The frame of an object: of a site, of a body, or the centre of mass of one, whose axes we do not have.
fn frame(reader: &Reader, element: &Element, axes: bool) -> Option<(String, Placement)> {
    let body = |name: &str| reader.body_names.get(name).map(|body| &reader.bodies[*body]);
    match element.text("objtype")? {
        "site" => site(reader, element, "objname"),
        "xbody" => Some((body(element.text("objname")?)?.name.clone(), Placement::default())),
        "body" if !axes => {
            let record = body(element.text("objname")?)?;
            let com = reader.model.bodies.get(record.index).map_or([0.0; 3], |body| body.com);
            Some((record.name.clone(), Placement::at(com)))
        }
        _ => None,
    }
}

/// A body and everything that it carries.
fn subtree(reader: &Reader, name: &str) -> Option<Vec<String>> {
    let root = reader.bodies[*reader.body_names.get(name)?].name.clone();
    let mut bodies: Vec<String> = vec![root];
    let mut next = 0;
    while next < bodies.len() {
        let carrier = bodies[next].clone();
        let tree =
            reader.model.joints.iter().filter(|joint| {
                joint.parent == carrier && joint.role == Some(crate::mechanism::JointRole::Tree)
            });
        bodies.extend(tree.map(|joint| joint.child.clone()));
        next += 1;
    }
    bodies.retain(|name| name != WORLD);
    Some(bodies)
}
