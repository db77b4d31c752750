//! Surfaces as geoms that collide, half-spaces as planes; pairs and exclusions.

use super::{Writer, place};
use crate::frames::{from_z, scale};
use crate::mechanism::{Placement, SurfaceDescription, SurfaceShape, Visual, WORLD};
use crate::surfaces::drawn;
use crate::xml_write::{Attributes, Xml, numbers};
use leastaction_core::contact::ContactSettings;

/// Surfaces with what MJCF has to call them, and those that stand in the file already.
pub(super) struct Surfaces {
    names: Vec<String>,
    written: Vec<bool>,
}

impl Surfaces {
    pub(super) fn new(names: Vec<String>) -> Self {
        Self { written: vec![false; names.len()], names }
    }

    /// The surface that a drawing of a body shows, not written yet.
    fn shown_by(&mut self, all: &[SurfaceDescription], body: &str, visual: &Visual) -> Option<usize> {
        let found = all.iter().enumerate().position(|(k, surface)| {
            !self.written[k]
                && surface.link == body
                && surface.placement == visual.placement
                && drawn(&surface.shape).as_ref() == Some(&visual.shape)
        });
        if let Some(k) = found {
            self.written[k] = true;
        }
        found
    }
}

/// Attributes of contact of the surface that a drawing shows; where it shows none, those of a geom that touches nothing.
pub(super) fn of_visual(writer: &mut Writer<'_>, body: &str, visual: &Visual) -> Attributes {
    match writer.surfaces.shown_by(&writer.model.surfaces, body, visual) {
        Some(k) => of_surface(writer, k),
        None => vec![("contype", "0".into()), ("conaffinity", "0".into())],
    }
}

fn of_surface(writer: &Writer<'_>, k: usize) -> Attributes {
    let surface = &writer.model.surfaces[k];
    let mut out = vec![("name", writer.surfaces.names[k].clone())];
    out.extend(material(surface.friction, surface.bits, surface.priority));
    out
}

/// Torsional and rolling friction are those that MuJoCo takes where none is given.
fn material(friction: f64, bits: [u32; 2], priority: i64) -> Attributes {
    let mut out = vec![("friction", numbers(&[friction, 0.005, 0.0001]))];
    for (key, bits) in ["contype", "conaffinity"].into_iter().zip(bits) {
        if bits != 1 {
            out.push((key, bits.to_string()));
        }
    }
    if priority != 0 {
        out.push(("priority", priority.to_string()));
    }
    out
}

/// Surfaces of a body, or of the world, that no drawing shows. They are of the group that viewers hide.
pub(super) fn geoms(writer: &mut Writer<'_>, body: &str, xml: &mut Xml) {
    let model = writer.model;
    for (k, surface) in model.surfaces.iter().enumerate() {
        if surface.link != body || writer.surfaces.written[k] {
            continue;
        }
        writer.surfaces.written[k] = true;
        let mut attributes = match drawn(&surface.shape) {
            Some(shape) => writer.geom(&shape),
            None => vec![("type", "mesh".into()), ("mesh", cloud(k))],
        };
        place(&surface.placement, &mut attributes);
        attributes.extend(of_surface(writer, k));
        attributes.extend([("mass", "0".into()), ("group", "3".into())]);
        xml.leaf("geom", &attributes);
    }
}

/// Name of the mesh of a surface of points.
fn cloud(k: usize) -> String {
    format!("points{k}")
}

/// Points as meshes, which MuJoCo takes the hull of.
pub(super) fn meshes(writer: &Writer<'_>) -> Vec<Attributes> {
    let surfaces = writer.model.surfaces.iter().enumerate();
    surfaces
        .filter_map(|(k, surface)| {
            let SurfaceShape::Points { points } = &surface.shape else { return None };
            Some(vec![("name", cloud(k)), ("vertex", numbers(points.as_flattened()))])
        })
        .collect()
}

/// Half-spaces as planes of the world; says what is lost.
pub(super) fn planes(writer: &mut Writer<'_>, xml: &mut Xml) {
    let model = writer.model;
    for (k, ground) in model.half_spaces.iter().enumerate() {
        let q = from_z(ground.normal);
        let normal = crate::frames::rotate(q, [0.0, 0.0, 1.0]);
        let mut attributes =
            vec![("name", model.half_space_name(k)), ("type", "plane".into()), ("size", "0 0 1".into())];
        place(&Placement { p: scale(normal, ground.offset), q }, &mut attributes);
        attributes.extend(material(ground.friction, ground.bits, ground.priority));
        xml.leaf("geom", &attributes);
    }
    let bounces =
        model.surfaces.iter().map(|s| s.restitution).chain(model.half_spaces.iter().map(|h| h.restitution));
    if bounces.into_iter().any(|e| e != 0.0) {
        writer.say("surfaces".into(), "restitution is left out", "MJCF has no such number");
    }
    if model.contact.settings != ContactSettings::default() {
        let message = "settings of how contacts are stepped are left out";
        writer.say("contact".into(), message, "write the model as JSON to keep them");
    }
}

/// Pairs that touch and bodies that do not.
pub(super) fn pairs(writer: &mut Writer<'_>, xml: &mut Xml) {
    let model = writer.model;
    let (mut rows, mut lost) = (Vec::new(), false);
    // Surfaces and half-spaces that a name stands for: its own, or all of a body.
    let geoms = |name: &String| -> Vec<String> {
        let named = (0..model.half_spaces.len()).map(|k| model.half_space_name(k));
        let known: Vec<String> = named.chain(writer.surfaces.names.iter().cloned()).collect();
        if known.contains(name) {
            return vec![name.clone()];
        }
        let of_body = model.surfaces.iter().zip(&writer.surfaces.names).filter(|(s, _)| s.link == *name);
        of_body.map(|(_, name)| name.clone()).collect()
    };
    for [a, b] in &model.contact.pairs {
        let (of_a, of_b) = (geoms(a), geoms(b));
        for a in &of_a {
            rows.extend(of_b.iter().map(|b| ("pair", vec![("geom1", a.clone()), ("geom2", b.clone())])));
        }
    }
    let is_body = |name: &String| name == WORLD || model.bodies.iter().any(|body| body.name == *name);
    for [a, b] in &model.contact.exclude {
        if is_body(a) && is_body(b) {
            rows.push(("exclude", vec![("body1", a.clone()), ("body2", b.clone())]));
        } else {
            lost = true;
        }
    }
    if lost {
        let message = "exclusions of single surfaces are left out";
        writer.say(
            "contact".into(),
            message,
            "exclude their bodies, or write the model as JSON to keep them",
        );
    }
    if !rows.is_empty() {
        xml.open("contact", &[]);
        rows.iter().for_each(|(tag, attributes)| xml.leaf(tag, attributes));
        xml.close("contact");
    }
}
