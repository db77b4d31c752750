//! `<link>`: mass and shapes.

use std::path::Path;

use roxmltree::Node;

use super::text::{Owner, all, one, word};
use crate::frames::rotate_inertia;
use crate::masses::MassProperties;
use crate::mechanism::{BodyDescription, Placement, Shape, Visual};
use crate::{UrdfOptions, View};

/// Reads a link without its place.
pub(super) fn read_link(
    node: Node<'_, '_>,
    name: &str,
    options: &UrdfOptions,
    folder: &Path,
    owner: &mut Owner<'_, '_>,
) -> BodyDescription {
    let mut body = BodyDescription {
        name: name.to_owned(),
        origin: owner.findings.origin(node.range().start),
        ..BodyDescription::default()
    };
    let mut shapes = |kind: &str| -> Vec<Visual> {
        all(node, kind).filter_map(|shape| read_shape(shape, options, folder, owner)).collect()
    };
    let (seen, touching) = (shapes("visual"), shapes("collision"));
    match one(node, "inertial") {
        Some(inertial) => read_inertial(inertial, &mut body, owner),
        None => {
            // Without `<inertial>` SDF has a mass of one and unit moments.
            body.mass = 1.0;
            body.inertia = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
            if let Some(density) = options.density {
                let shapes = if touching.is_empty() { &seen } else { &touching };
                let parts: Vec<MassProperties> = shapes
                    .iter()
                    .filter_map(|s| MassProperties::of_shape(&s.shape, density, &s.placement).ok())
                    .collect();
                if !parts.is_empty() {
                    MassProperties::sum(&parts).store(&mut body);
                }
            } else {
                let message = "the link has no `<inertial>`: SDF gives it 1 kg and moments of 1 kg m²";
                owner.warn(node, message, "add `<inertial>`, or give `--density RHO`");
            }
        }
    }
    body.visuals = match options.view {
        View::Visual => seen,
        View::Collision => touching,
        View::Both => seen.into_iter().chain(touching).collect(),
    };
    body
}

fn read_inertial(inertial: Node<'_, '_>, body: &mut BodyDescription, owner: &mut Owner<'_, '_>) {
    if inertial.attribute("auto") == Some("true") {
        owner.error(
            inertial,
            "masses from shapes (`auto`) are not computed",
            "write `<mass>` and `<inertia>`",
        );
    }
    let (placement, relative) = owner.pose(inertial);
    if relative.is_some() {
        owner.error(
            inertial,
            "`<pose>` of `<inertial>` can't be relative to another frame",
            "give it in the link's frame",
        );
    }
    body.com = placement.p;
    body.mass = owner.number(inertial, "mass").unwrap_or(1.0);
    let mut entry = |name: &str, otherwise: f64| -> f64 {
        one(inertial, "inertia").and_then(|inertia| owner.number(inertia, name)).unwrap_or(otherwise)
    };
    let given = [
        entry("ixx", 1.0),
        entry("iyy", 1.0),
        entry("izz", 1.0),
        entry("ixy", 0.0),
        entry("ixz", 0.0),
        entry("iyz", 0.0),
    ];
    body.inertia = rotate_inertia(placement.q, given);
}

/// A shape to draw; `None` for what is not drawn (planes, height maps) or after an error.
fn read_shape(
    node: Node<'_, '_>,
    options: &UrdfOptions,
    folder: &Path,
    owner: &mut Owner<'_, '_>,
) -> Option<Visual> {
    let (placement, relative) = owner.pose(node);
    if relative.is_some() {
        owner.warn(
            node,
            "a shape placed relative to another frame is drawn as if it were the link",
            "give its pose in the link's frame",
        );
    }
    let geometry = one(node, "geometry")?;
    let shape = geometry.children().find(roxmltree::Node::is_element)?;
    let shape = match shape.tag_name().name() {
        "box" => Shape::Box { size: owner.numbers(shape, "size")? },
        "sphere" => Shape::Sphere { radius: owner.number(shape, "radius")? },
        "cylinder" => {
            Shape::Cylinder { radius: owner.number(shape, "radius")?, length: owner.number(shape, "length")? }
        }
        "capsule" => {
            Shape::Capsule { radius: owner.number(shape, "radius")?, length: owner.number(shape, "length")? }
        }
        "ellipsoid" => Shape::Ellipsoid { radii: owner.numbers(shape, "radii")? },
        "mesh" => Shape::Mesh {
            file: find(word(shape, "uri")?, folder, options)?,
            scale: owner.numbers(shape, "scale").unwrap_or([1.0; 3]),
        },
        _ => return None,
    };
    let rgba = one(node, "material").and_then(|material| owner.numbers::<4>(material, "diffuse"));
    Some(Visual { shape, placement: Placement { ..placement }, rgba })
}

/// The file that `model://NAME/…`, `package://NAME/…`, `file://…` or a relative path leads to.
pub(super) fn find(uri: &str, folder: &Path, options: &UrdfOptions) -> Option<String> {
    let packaged = uri.strip_prefix("model://").or_else(|| uri.strip_prefix("package://"));
    let path = match packaged {
        Some(rest) => {
            let places =
                options.search_paths.iter().map(std::path::PathBuf::as_path).chain(folder.ancestors());
            let (package, inside) = rest.split_once('/').unwrap_or((rest, ""));
            places
                .flat_map(|place| {
                    let named = place.file_name().is_some_and(|name| name == package);
                    [Some(place.join(rest)), named.then(|| place.join(inside))]
                })
                .flatten()
                .find(|path| path.exists())?
        }
        None => folder.join(uri.strip_prefix("file://").unwrap_or(uri)),
    };
    Some(path.to_string_lossy().into_owned())
}
