//! Geoms that may collide as surfaces, planes as half-spaces; pairs and exclusions.

use std::collections::HashSet;
use std::rc::Rc;

use super::assets::MeshAsset;
use super::geom::Geom;
use super::reader::{Item, Reader};
use super::tree;
use crate::mechanism::{HalfSpaceDescription, SurfaceDescription, WORLD};
use crate::surfaces::{points, surface_shape};

/// Sliding friction of a geom that gives none.
const FRICTION: f64 = 1.0;

/// What has no meaning for hard contacts, by attribute of a geom or pair.
const SOFT: [&str; 6] = ["solref", "solimp", "solmix", "margin", "gap", "solreffriction"];

/// Adds the geoms of a body (or of the world) that may collide.
pub(super) fn add(reader: &mut Reader, body: &str, geoms: &[(Item, Geom)]) {
    if !reader.settings.contacts {
        return;
    }
    for (item, geom) in geoms {
        let document = Rc::clone(&reader.document);
        let name = document.elements[item.id].text("name").unwrap_or_default().to_owned();
        if !(geom.collides || reader.paired.contains(&name)) {
            continue;
        }
        let bits = ["contype", "conaffinity"].map(|key| {
            let text = reader.text(item, key).map(|t| t.trim().parse::<i64>().unwrap_or(1));
            text.map_or(1, |b| b as u32)
        });
        let mut friction = reader.overlaid(item, "friction", [FRICTION, 0.005, 0.0001])[0];
        let condim = reader.number(item, "condim").unwrap_or(3.0);
        if condim == 1.0 {
            friction = 0.0;
        } else if condim > 3.0 {
            let what = "torsional and rolling friction (`condim` 4 and 6) are left out: contacts have sliding friction";
            reader.left_out(item.id, what, "nothing to do if sliding friction is enough");
        }
        for key in SOFT {
            if reader.get(item, key).is_some() {
                let what = "contacts are hard: `solref`, `solimp`, `solmix`, `margin` and `gap` have no meaning here";
                reader.left_out(item.id, what, "nothing to do; bodies touch where their shapes do");
            }
        }
        let priority = reader.number(item, "priority").unwrap_or(0.0) as i64;
        let origin = reader.at(item.id);
        let kind = reader.text(item, "type").unwrap_or("sphere").to_owned();
        if kind == "plane" {
            if body == WORLD {
                let normal = crate::frames::rotate(geom.placement.q, [0.0, 0.0, 1.0]);
                let offset = (0..3).map(|k| normal[k] * geom.placement.p[k]).sum();
                let half = HalfSpaceDescription {
                    name,
                    normal,
                    offset,
                    friction,
                    restitution: 0.0,
                    bits,
                    priority,
                    origin,
                };
                reader.model.half_spaces.push(half);
            } else {
                let what = "a plane on a moving body touches nothing here";
                reader.left_out(item.id, what, "put the plane into `worldbody`, or use a box");
            }
            continue;
        }
        let Some(visual) = &geom.visual else {
            let what = format!("a {kind} touches nothing here");
            reader.left_out(item.id, what, "use spheres, capsules, boxes, cylinders, ellipsoids or meshes");
            continue;
        };
        let mesh = reader.text(item, "mesh").and_then(|name| reader.assets.meshes.get(name));
        let shape = match mesh.and_then(MeshAsset::corners) {
            Some(corners) => points(&corners, "which stands in the model file"),
            None => surface_shape(&visual.shape),
        };
        match shape {
            Ok(shape) => {
                let mut surface = SurfaceDescription::new(body, shape);
                surface.name = name;
                surface.placement = visual.placement;
                (surface.friction, surface.bits, surface.priority) = (friction, bits, priority);
                surface.origin = origin;
                reader.model.surfaces.push(surface);
            }
            Err(why) => reader.left_out(item.id, format!("it touches nothing: {why}"), "repair the mesh"),
        }
    }
}

/// Names of the geoms in a `pair`: they touch each other whatever their masks say.
pub(super) fn paired(reader: &Reader) -> HashSet<String> {
    let elements = &reader.document.elements;
    let pairs = reader.section("contact").into_iter().filter(|id| elements[*id].tag == "pair");
    let names = |id: usize| ["geom1", "geom2"].map(|key| elements[id].text(key).map(str::to_owned));
    pairs.flat_map(names).flatten().collect()
}

/// `pair` and `exclude` of the `contact` sections.
pub(super) fn pairs(reader: &mut Reader) {
    if !reader.settings.contacts {
        return;
    }
    let document = Rc::clone(&reader.document);
    for id in reader.section("contact") {
        let element = &document.elements[id];
        match element.tag.as_str() {
            "exclude" => {
                let ends = ["body1", "body2"].map(|key| tree::body_named(reader, id, key));
                if let [Some(a), Some(b)] = ends {
                    let names = [a, b].map(|k| reader.bodies[k].name.clone());
                    reader.model.contact.exclude.push(names);
                }
            }
            "pair" => {
                let names = ["geom1", "geom2"].map(|key| element.text(key).unwrap_or_default().to_owned());
                let exists = |name: &String, reader: &Reader| {
                    let model = &reader.model;
                    model.surfaces.iter().any(|s| s.name == *name)
                        || model.half_spaces.iter().any(|h| h.name == *name)
                };
                if names.iter().all(|n| exists(n, reader)) {
                    reader.model.contact.pairs.push(names);
                    if element.text("friction").is_some() {
                        let what = "friction of a `pair` is left out: that of its geoms counts";
                        reader.left_out(id, what, "give the geoms the friction");
                    }
                } else {
                    let what = "a `pair` of geoms that touch nothing here, or do not exist, is left out";
                    reader.left_out(id, what, "name two geoms of the model");
                }
            }
            _ => {}
        }
    }
}
