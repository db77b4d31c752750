//! `<link>`: inertia and what is drawn.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::element::{Element, tag};
use super::meshes::Meshes;
use super::{UrdfOptions, View};
use crate::findings::{Findings, quoted};
use crate::frames::{quaternion_from_rpy, rotate_inertia, unit_quaternion};
use crate::masses::MassProperties;
use crate::mechanism::{BodyDescription, DEFAULT_FRICTION, Placement, Shape, SurfaceDescription, Visual};
use crate::surfaces::surface_shape;

/// Colours by material name.
pub(super) type Materials = BTreeMap<String, Option<[f64; 4]>>;

/// A link and what the tree of links needs to know about it.
pub(super) struct Link {
    pub(super) body: BodyDescription,
    pub(super) offset: usize,
    pub(super) has_inertial: bool,
    pub(super) surfaces: Vec<SurfaceDescription>,
}

/// Reads one link.
pub(super) fn read_link(
    node: Node<'_, '_>,
    name: &str,
    options: &UrdfOptions,
    materials: &mut Materials,
    meshes: &mut Meshes<'_>,
    findings: &mut Findings<'_>,
) -> Link {
    let owner = format!("link `{name}`");
    let link = Element::mechanical(node, &owner);
    link.warn_of_unknown(findings);
    let offset = link.offset();
    let mut body = BodyDescription {
        name: name.to_owned(),
        origin: findings.origin(offset),
        ..BodyDescription::default()
    };
    let inertial = link.child(findings, "inertial");
    if let Some(inertial) = inertial {
        read_inertial(inertial, &mut body, findings);
    }
    let (mut seen, mut touching, mut surfaces) = (Vec::new(), Vec::new(), Vec::new());
    let weighed = inertial.is_none() && options.density.is_some();
    for child in node.children().filter(Node::is_element) {
        let element = Element::drawn(child, &owner);
        match tag(child) {
            "visual" => seen.extend(read_visual(element, materials, meshes, findings)),
            // Read for its faults alone where it is neither drawn nor weighed: its meshes may be missing.
            "collision" if options.view == View::Visual && !weighed && !options.surfaces => {
                drop(read_visual(element, materials, &mut Meshes::unresolved(), findings));
            }
            "collision" => {
                let shape = read_visual(element, materials, meshes, findings);
                if let Some(visual) = shape.as_ref().filter(|_| options.surfaces) {
                    let (friction, restitution) = material(node, child);
                    surfaces.extend(surface(name, visual, (friction, restitution), element, findings));
                }
                touching.extend(shape);
            }
            _ => {}
        }
    }
    if let (true, Some(density)) = (weighed, options.density) {
        weigh(if touching.is_empty() { &seen } else { &touching }, density, link, &mut body, findings);
    }
    match options.view {
        View::Visual => body.visuals = seen,
        View::Collision => body.visuals = touching,
        View::Both => body.visuals.extend(seen.into_iter().chain(touching)),
    }
    Link { has_inertial: inertial.is_some() || body.mass > 0.0, body, offset, surfaces }
}

/// A collision shape as a surface; what touches nothing is said.
fn surface(
    link: &str,
    visual: &Visual,
    (friction, restitution): (Option<f64>, Option<f64>),
    element: Element<'_, '_, '_>,
    findings: &mut Findings<'_>,
) -> Option<SurfaceDescription> {
    match surface_shape(&visual.shape) {
        Ok(shape) => {
            let mut made = SurfaceDescription::new(link, shape);
            made.placement = visual.placement;
            made.friction = friction.unwrap_or(DEFAULT_FRICTION);
            made.restitution = restitution.unwrap_or(0.0);
            made.origin = findings.origin(element.offset());
            Some(made)
        }
        Err(why) => {
            element.fault(
                findings,
                format!("the shape touches nothing: {why}"),
                "repair the mesh, or use a simple shape",
            );
            None
        }
    }
}

/// Friction and restitution of a collision, where an extension gives them: Bullet's `contact` of the link, Drake's
/// `proximity_properties` of the shape.
fn material(link: Node<'_, '_>, collision: Node<'_, '_>) -> (Option<f64>, Option<f64>) {
    let number = |parent: Node<'_, '_>, key: &str| {
        let found = parent.descendants().find(|n| n.is_element() && n.tag_name().name() == key)?;
        let text = found.attribute("value").or(found.text())?;
        text.trim().parse::<f64>().ok()
    };
    let contact = link.children().find(|n| n.is_element() && n.tag_name().name() == "contact");
    let bullet = |key: &str| contact.and_then(|c| number(c, key));
    let friction = number(collision, "mu_dynamic").or(bullet("lateral_friction"));
    (friction, bullet("restitution"))
}

/// Mass of shapes of one density, for a link whose author gave none.
fn weigh(
    shapes: &[Visual],
    density: f64,
    link: Element<'_, '_, '_>,
    body: &mut BodyDescription,
    findings: &mut Findings<'_>,
) {
    let mut parts = Vec::new();
    for shape in shapes {
        match MassProperties::of_shape(&shape.shape, density, &shape.placement) {
            Ok(part) => parts.push(part),
            Err(why) => link.fault(
                findings,
                format!("a shape gives no mass: {why}"),
                "repair the mesh, give the link an `<inertial>`, or a `<collision>` of simple shapes",
            ),
        }
    }
    if !parts.is_empty() {
        MassProperties::sum(&parts).store(body);
    }
}

/// Mass, com and inertia, the latter turned into the axes of the link.
fn read_inertial(inertial: Element<'_, '_, '_>, body: &mut BodyDescription, findings: &mut Findings<'_>) {
    inertial.warn_of_unknown(findings);
    let placement = read_origin(inertial, findings);
    body.com = placement.p;
    if let Some(mass) = inertial.child(findings, "mass") {
        mass.warn_of_unknown(findings);
        body.mass = mass.required_number(findings, "value").unwrap_or(0.0);
    } else {
        inertial.fault(findings, "`<inertial>` has no `<mass>`", "add `<mass value=\"…\"/>`");
    }
    if let Some(inertia) = inertial.child(findings, "inertia") {
        inertia.warn_of_unknown(findings);
        let entries = ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"];
        let given = entries.map(|entry| inertia.required_number(findings, entry).unwrap_or(0.0));
        body.inertia = rotate_inertia(placement.q, given);
    } else {
        let remedy = "add `<inertia ixx=\"…\" ixy=\"…\" ixz=\"…\" iyy=\"…\" iyz=\"…\" izz=\"…\"/>`";
        inertial.fault(findings, "`<inertial>` has no `<inertia>`", remedy);
    }
}

/// `<origin xyz rpy>` of an element, or `quat_xyzw` as in URDF 1.1; the identity if there is none.
pub(super) fn read_origin(parent: Element<'_, '_, '_>, findings: &mut Findings<'_>) -> Placement {
    let Some(origin) = parent.child(findings, "origin") else { return Placement::default() };
    origin.warn_of_unknown(findings);
    let p = origin.numbers::<3>(findings, "xyz").unwrap_or_default();
    let rpy = origin.numbers::<3>(findings, "rpy");
    let quaternion = origin.numbers::<4>(findings, "quat_xyzw");
    let mut q = quaternion_from_rpy(rpy.unwrap_or_default());
    if let Some([x, y, z, w]) = quaternion {
        if rpy.is_some() {
            let remedy = "keep one of the two";
            origin.fault(findings, "`<origin>` has both `rpy` and `quat_xyzw`", remedy);
        }
        match unit_quaternion([w, x, y, z]) {
            Some(unit) => q = unit,
            None => origin.fault(
                findings,
                format!("`quat_xyzw` of `<origin>` is {x} {y} {z} {w}, which is no rotation"),
                "give a unit quaternion; no rotation is `0 0 0 1`",
            ),
        }
    }
    Placement { p, q }
}

/// A visual or collision; `None` (with a warning) if its geometry is not usable.
fn read_visual(
    visual: Element<'_, '_, '_>,
    materials: &mut Materials,
    meshes: &mut Meshes<'_>,
    findings: &mut Findings<'_>,
) -> Option<Visual> {
    visual.warn_of_unknown(findings);
    let placement = read_origin(visual, findings);
    let rgba = visual.child(findings, "material").and_then(|m| read_material(m, materials, findings));
    let Some(geometry) = visual.child(findings, "geometry") else {
        let message = format!("`<{}>` has no `<geometry>` and is left out", visual.tag());
        visual.fault(findings, message, "add `<geometry>` with a shape, or remove the element");
        return None;
    };
    geometry.warn_of_unknown(findings);
    let shapes = ["box", "sphere", "cylinder", "capsule", "mesh"];
    let mut found = geometry.node.children().filter(|n| n.is_element() && shapes.contains(&tag(*n)));
    let Some(first) = found.next() else {
        let message = format!("`<geometry>` has no shape: the `<{}>` is left out", visual.tag());
        geometry.fault(findings, message, "add `<box>`, `<sphere>`, `<cylinder>`, `<capsule>` or `<mesh>`");
        return None;
    };
    if let Some(second) = found.next() {
        let second = Element { node: second, ..geometry };
        let message = format!("a second shape `<{}>` in one `<geometry>` is left out", second.tag());
        second.fault(findings, message, "give each shape its own `<visual>`");
    }
    let shape = read_shape(Element { node: first, ..geometry }, meshes, findings)?;
    Some(Visual { shape, placement, rgba })
}

/// A shape with positive sizes.
fn read_shape(
    shape: Element<'_, '_, '_>,
    meshes: &mut Meshes<'_>,
    findings: &mut Findings<'_>,
) -> Option<Shape> {
    shape.warn_of_unknown(findings);
    let made = match shape.tag() {
        "box" => {
            if shape.attribute("size").is_none() {
                shape.required_text(findings, "size");
            }
            Shape::Box { size: shape.numbers(findings, "size")? }
        }
        "sphere" => Shape::Sphere { radius: shape.required_number(findings, "radius")? },
        "cylinder" => Shape::Cylinder {
            radius: shape.required_number(findings, "radius")?,
            length: shape.required_number(findings, "length")?,
        },
        "capsule" => Shape::Capsule {
            radius: shape.required_number(findings, "radius")?,
            length: shape.required_number(findings, "length")?,
        },
        _ => {
            let file = shape.required_text(findings, "filename")?;
            let scale =
                if shape.attribute("scale").is_some() { shape.numbers(findings, "scale")? } else { [1.0; 3] };
            Shape::Mesh { file: meshes.resolve(file, shape.offset()), scale }
        }
    };
    let positive = match &made {
        Shape::Box { size } => size.iter().all(|s| *s >= 0.0),
        Shape::Sphere { radius } => *radius >= 0.0,
        Shape::Cylinder { radius, length } | Shape::Capsule { radius, length } => {
            *radius >= 0.0 && *length >= 0.0
        }
        Shape::Ellipsoid { .. } | Shape::Mesh { .. } => true,
    };
    if !positive {
        let message = format!("`<{}>` has a negative size and is left out", shape.tag());
        shape.fault(findings, message, "give positive lengths");
        return None;
    }
    Some(made)
}

/// Remembers a material of the robot or of a visual and returns its colour.
pub(super) fn read_material(
    material: Element<'_, '_, '_>,
    materials: &mut Materials,
    findings: &mut Findings<'_>,
) -> Option<[f64; 4]> {
    material.warn_of_unknown(findings);
    let name = material.attribute("name").map_or("", |a| a.value());
    let colour = material.child(findings, "color").and_then(|c| {
        c.warn_of_unknown(findings);
        c.numbers::<4>(findings, "rgba")
    });
    let defined = colour.is_some() || material.node.children().any(|n| n.is_element());
    if defined {
        if !name.is_empty() {
            materials.insert(name.to_owned(), colour);
        }
        return colour;
    }
    if let Some(colour) = materials.get(name) {
        return *colour;
    }
    let message = format!("material {} is not defined", quoted(name));
    if findings.problems.again(&message) {
        return None;
    }
    let remedy = match findings.problems.meant(name, materials.keys().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "define it in `<robot>`: `<material name=\"…\"><color rgba=\"1 1 1 1\"/></material>`".into(),
    };
    findings.warn_once(material.offset(), material.owner, &message, remedy);
    None
}
