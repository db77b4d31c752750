//! Geoms: shapes to draw, and masses where a body takes its inertia from them.

use super::reader::{Item, Reader};
use super::settings::InertiaFromGeom;
use crate::frames::{add, compose, from_z, scale, sub, unit};
use crate::masses::{MassProperties, inertia_per_mass, volume};
use crate::mechanism::{Placement, Severity, Shape, Visual};

/// What a body needs to know of one of its geoms.
#[derive(Debug)]
pub(super) struct Geom {
    pub(super) visual: Option<Visual>,
    pub(super) group: i64,
    /// Mass properties in the body frame; `None` if the shape has no mass.
    pub(super) mass: Option<GeomMass>,
    pub(super) collides: bool,
    /// In the body frame.
    pub(super) placement: Placement,
}

/// Mass of a geom, or why it cannot be computed.
#[derive(Debug)]
pub(super) enum GeomMass {
    Known(MassProperties),
    /// That of a mesh, whose file is read only if a body has no other source of mass.
    Mesh {
        /// The asset.
        name: String,
        /// `mass`, if the geom has one.
        given: Option<f64>,
        density: f64,
        /// Of the geom in the body.
        placement: Placement,
    },
    /// What stands in the way, as a phrase after "its mass would come from".
    Unknown(&'static str),
}

/// Reads a geom; `frame` is where the enclosing `frame` elements put it in the body.
pub(super) fn read(reader: &mut Reader, item: &Item, frame: &Placement) -> Geom {
    let kind = reader.text(item, "type").unwrap_or("sphere").to_owned();
    let group = reader.text(item, "group").and_then(|g| g.trim().parse().ok()).unwrap_or(0);
    let bits = |name| reader.text(item, name).and_then(|b| b.trim().parse::<i64>().ok()).unwrap_or(1);
    let collides = bits("contype") != 0 || bits("conaffinity") != 0;
    let mut placement = reader.placement(item);
    let mesh = reader.text(item, "mesh").map(str::to_owned);
    let mut size: [f64; 3] = reader.overlaid(item, "size", [0.0; 3]);
    let primitive = matches!(kind.as_str(), "sphere" | "capsule" | "cylinder" | "ellipsoid" | "box");
    let mut whole = true;
    if primitive && mesh.is_none() {
        let fromto_given = reader.get(item, "fromto").is_some();
        let fromto = fromto(reader, item, &kind);
        if let Some((ends, half)) = fromto {
            placement = ends;
            size = if matches!(kind.as_str(), "capsule" | "cylinder") {
                [size[0], half, 0.0]
            } else {
                [size[0], size[0], half]
            };
        }
        let excused = ["size", "type", "fromto"].into_iter().any(|name| reader.was_malformed(item, name));
        whole = fromto.is_some() || !fromto_given;
        if !excused && whole {
            whole = check_size(reader, item, &kind, size, fromto.is_some());
        }
    }
    placement = compose(frame, &placement);
    let shape = match (kind.as_str(), &mesh) {
        (_, Some(name)) => mesh_shape(reader, item, name),
        ("sphere", _) => Some(Shape::Sphere { radius: size[0] }),
        ("capsule", _) => Some(Shape::Capsule { radius: size[0], length: 2.0 * size[1] }),
        ("cylinder", _) => Some(Shape::Cylinder { radius: size[0], length: 2.0 * size[1] }),
        ("ellipsoid", _) => Some(Shape::Ellipsoid { radii: size }),
        ("box", _) => Some(Shape::Box { size: scale(size, 2.0) }),
        _ => None,
    };
    let mass = match kind.as_str() {
        "plane" | "hfield" => None,
        _ => mass(reader, item, &kind, mesh.as_deref(), size, &placement),
    };
    let rgba = colour(reader, item);
    let at = match mesh.as_deref().and_then(|name| reader.assets.meshes.get(name)) {
        Some(mesh) => compose(&placement, &mesh.frame()),
        None => placement,
    };
    let visual = shape.filter(|_| whole).map(|shape| Visual { shape, placement: at, rgba });
    Geom { visual, group, mass, collides, placement }
}

/// The placement and half-length a `fromto` gives; the shape's z runs from the second point to the first.
fn fromto(reader: &mut Reader, item: &Item, kind: &str) -> Option<(Placement, f64)> {
    let [a, b, c, d, e, f] = reader.array::<6>(item, "fromto")?;
    if kind == "sphere" {
        let remedy = "write `type=\"capsule\"`, `cylinder`, `box` or `ellipsoid`, or use `pos`";
        fault(reader, item, "fromto", "`fromto` does not go with a sphere", remedy);
        return None;
    }
    let (from, to) = ([a, b, c], [d, e, f]);
    let along = sub(from, to);
    let Some(direction) = unit(along) else {
        fault(reader, item, "fromto", "the two points of `fromto` coincide", "move one of them");
        return None;
    };
    let half = crate::frames::norm(along) / 2.0;
    if !half.is_finite() {
        fault(reader, item, "fromto", "the two points of `fromto` are too far apart", "move one of them");
        return None;
    }
    Some((Placement { p: scale(add(from, to), 0.5), q: from_z(direction) }, half))
}

/// True if the sizes that this kind needs are there; a fault is said.
fn check_size(reader: &mut Reader, item: &Item, kind: &str, size: [f64; 3], fromto: bool) -> bool {
    let needed = match kind {
        "sphere" => 1,
        "capsule" | "cylinder" => 2,
        _ => 3,
    };
    if size[..needed].iter().all(|s| *s > 0.0) {
        return true;
    }
    let wanted = match (kind, fromto) {
        (_, true) | ("sphere", _) => "1 positive number, the radius or half width",
        ("capsule" | "cylinder", _) => {
            "2 positive numbers, radius and half length (or `fromto` and the radius)"
        }
        _ => "3 positive numbers, the half lengths or radii",
    };
    let found = reader.text(item, "size").map_or_else(|| "missing".to_owned(), |s| format!("`{}`", s.trim()));
    let message = format!("the `size` of this {kind} is {found}");
    fault(reader, item, "size", message, format!("a {kind} needs {wanted}"));
    false
}

/// Something wrong with the shape: an error if the mass of the body comes from it, else it is not drawn.
fn fault(
    reader: &mut Reader,
    item: &Item,
    attribute: &str,
    message: impl Into<String>,
    remedy: impl Into<String>,
) {
    let at = reader.get(item, attribute).map(|a| a.at).or_else(|| reader.at(item.id));
    let severity = if is_only_drawn(reader, item) { Severity::Warning } else { Severity::Error };
    reader.problems.add(severity, at, reader.document.label(item.id), message, remedy);
}

/// True if nothing but the picture depends on the shape.
fn is_only_drawn(reader: &Reader, item: &Item) -> bool {
    let elements = &reader.document.elements;
    let parents = std::iter::successors(elements[item.id].parent, |id| elements[*id].parent);
    let holder = parents.into_iter().find(|id| elements[*id].tag != "frame").unwrap_or(0);
    let has_inertial = || elements[holder].children.iter().any(|id| elements[*id].tag == "inertial");
    let mass_is_given = match reader.settings_of(item.id).inertia_from_geom {
        InertiaFromGeom::Always => false,
        InertiaFromGeom::Never => true,
        InertiaFromGeom::WhenMissing => has_inertial(),
    };
    mass_is_given || elements[holder].tag == "worldbody" || reader.number(item, "mass") == Some(0.0)
}

fn mesh_shape(reader: &mut Reader, item: &Item, name: &str) -> Option<Shape> {
    if let Some(mesh) = reader.assets.meshes.get(name) {
        let resolved = reader.folder.join(&mesh.file);
        let found = !mesh.file.is_empty() && resolved.is_file();
        let file = if found { resolved.to_string_lossy().into_owned() } else { mesh.file.clone() };
        return Some(Shape::Mesh { file, scale: mesh.scale });
    }
    let at = reader.get(item, "mesh").map(|a| a.at);
    let message = format!("mesh `{name}` is not among the assets; the shape is not drawn");
    reader.warning(item.id, at, message, "add it to `asset`, or correct the name");
    None
}

fn colour(reader: &mut Reader, item: &Item) -> Option<[f64; 4]> {
    if let Some(rgba) = reader.array(item, "rgba") {
        return Some(rgba);
    }
    let material = reader.text(item, "material")?.to_owned();
    if let Some(colour) = reader.assets.colours.get(&material) {
        return *colour;
    }
    let at = reader.get(item, "material").map(|a| a.at);
    let message = format!("material `{material}` is not among the assets; the shape has no colour");
    reader.warning(item.id, at, message, "add it to `asset`, or correct the name");
    None
}

fn mass(
    reader: &Reader,
    item: &Item,
    kind: &str,
    mesh: Option<&str>,
    size: [f64; 3],
    placement: &Placement,
) -> Option<GeomMass> {
    let given = reader.number(item, "mass");
    let density = reader.number(item, "density").unwrap_or(1000.0);
    if given == Some(0.0) || (given.is_none() && density == 0.0) {
        return None;
    }
    if let ("mesh", Some(name)) = (kind, mesh) {
        return Some(GeomMass::Mesh { name: name.to_owned(), given, density, placement: *placement });
    }
    if mesh.is_some() || matches!(kind, "mesh" | "sdf") {
        return Some(GeomMass::Unknown("a shape that is fitted to a mesh"));
    }
    if reader.is_true(item, "shellinertia") {
        return Some(GeomMass::Unknown("a shell (`shellinertia`)"));
    }
    let volume = volume(kind, size);
    let mass = given.unwrap_or(density * volume);
    Some(GeomMass::Known(MassProperties::of_principal(mass, inertia_per_mass(kind, size, mass), placement)))
}
