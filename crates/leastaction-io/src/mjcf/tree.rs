//! The kinematic tree: bodies in MuJoCo's order, with joints, masses, shapes and sites.

use std::rc::Rc;

use super::contact;
use super::defaults::ClassId;
use super::document::ElementId;
use super::geom::{self, Geom};
use super::inertial;
use super::joint::{self, JointDraft};
use super::reader::{Item, JointRecord, Reader, SiteRecord};
use super::tuned::Tuned;
use crate::View;
use crate::frames::compose;
use crate::mechanism::{
    BodyDescription, FrameDescription, JointDescription, JointRole, JointType, Placement, Shape, Visual,
    WORLD,
};

/// Geoms of higher groups are collision shapes that MuJoCo's own viewer hides.
const LAST_VISIBLE_GROUP: i64 = 2;

/// A body as the rest of the file refers to it.
#[derive(Debug)]
pub(super) struct BodyRecord {
    /// Name in the description.
    pub(super) name: String,
    /// Index in the description; meaningless for the world.
    pub(super) index: usize,
    /// Pose in the world when all our coordinates are zero.
    pub(super) placement: Placement,
}

/// A body that is still to be read.
struct Pending {
    id: ElementId,
    parent: usize,
    frame: Placement,
    class: ClassId,
}

/// What stands directly in a body, frames resolved.
#[derive(Default)]
struct Contents {
    joints: Vec<JointDraft>,
    geoms: Vec<(Item, Geom)>,
    sites: Vec<(Item, Placement)>,
    inertial: Option<(Item, Placement)>,
    bodies: Vec<(ElementId, Placement, ClassId)>,
}

/// Reads all `worldbody` sections.
pub(super) fn read(reader: &mut Reader) {
    reserve_names(reader);
    reader.bodies.push(BodyRecord { name: WORLD.into(), index: usize::MAX, placement: Placement::default() });
    reader.body_names.insert(WORLD.into(), 0);
    let document = Rc::clone(&reader.document);
    let worlds: Vec<ElementId> = document.elements[0]
        .children
        .iter()
        .copied()
        .filter(|id| document.elements[*id].tag == "worldbody")
        .collect();
    let mut pending: Vec<Pending> = Vec::new();
    for world in worlds {
        let contents = contents(reader, world, 0, true);
        add_sites(reader, 0, &contents.sites);
        contact::add(reader, WORLD, &contents.geoms);
        pending.extend(contents.bodies.into_iter().map(|(id, frame, class)| Pending {
            id,
            parent: 0,
            frame,
            class,
        }));
    }
    pending.reverse();
    // Depth first, children in the order of the file: the order of MuJoCo's coordinates.
    while let Some(next) = pending.pop() {
        let (index, children) = body(reader, &next);
        let children = children.into_iter().rev();
        pending.extend(children.map(|(id, frame, class)| Pending { id, parent: index, frame, class }));
    }
    inertial::scale_to_total(reader);
}

/// Names in the file come first; names we make up must not meet them.
fn reserve_names(reader: &mut Reader) {
    for element in &reader.document.elements {
        let Some(name) = element.text("name") else { continue };
        match element.tag.as_str() {
            "body" => reader.used_body_names.take(name),
            "joint" | "freejoint" | "connect" | "weld" => reader.used_joint_names.take(name),
            _ => {}
        }
    }
}

/// Sorts the children of a body (or the world), walking through frames without recursion.
fn contents(reader: &mut Reader, id: ElementId, class: ClassId, world: bool) -> Contents {
    let document = Rc::clone(&reader.document);
    let mut found = Contents::default();
    let children = |id: ElementId| document.elements[id].children.iter().rev().copied();
    let mut stack: Vec<(ElementId, Placement, ClassId)> =
        children(id).map(|child| (child, Placement::default(), class)).collect();
    while let Some((child, frame, class)) = stack.pop() {
        let tag = document.elements[child].tag.as_str();
        match tag {
            "frame" => {
                check_frame(reader, child);
                let own = Item { id: child, defaults: Rc::from([]) };
                let inner = compose(&frame, &reader.placement(&own));
                let class = reader.class_named(child, "childclass").unwrap_or(class);
                stack.extend(children(child).map(|c| (c, inner, class)));
            }
            "body" => found.bodies.push((child, frame, class)),
            "joint" | "freejoint" | "inertial" if world => {
                let remedy = "the world does not move: put it inside a `body`";
                reader.error(child, format!("`{tag}` in the world"), remedy);
            }
            "joint" => {
                let item = reader.item(child, "joint", class);
                let draft = joint::read(reader, item, &frame);
                found.joints.push(draft);
            }
            "freejoint" => {
                let item = Item { id: child, defaults: Rc::from([]) };
                let draft = joint::read(reader, item, &frame);
                found.joints.push(draft);
            }
            "geom" => {
                let item = reader.item(child, "geom", class);
                let geom = geom::read(reader, &item, &frame);
                found.geoms.push((item, geom));
            }
            "site" => {
                let item = reader.item(child, "site", class);
                let placement = site_placement(reader, &item);
                found.sites.push((item, compose(&frame, &placement)));
            }
            "inertial" => {
                if found.inertial.is_some() {
                    let remedy = "keep one of the two";
                    reader.error(child, "a second `inertial`", remedy);
                }
                found.inertial = Some((Item { id: child, defaults: Rc::from([]) }, frame));
            }
            _ => unsupported(reader, child),
        }
    }
    found
}

/// A site may be given by its two ends, like a geom.
fn site_placement(reader: &mut Reader, item: &Item) -> Placement {
    use crate::frames::{add, from_z, scale, sub, unit};
    let mut placement = reader.placement(item);
    if let Some([a, b, c, d, e, f]) = reader.array::<6>(item, "fromto") {
        let (from, to) = ([a, b, c], [d, e, f]);
        placement.p = scale(add(from, to), 0.5);
        if let Some(direction) = unit(sub(from, to)) {
            placement.q = from_z(direction);
        }
    }
    placement
}

fn check_frame(reader: &mut Reader, id: ElementId) {
    let document = Rc::clone(&reader.document);
    if let Some(attribute) =
        ["scale", "massscale", "scaling"].into_iter().find_map(|name| document.elements[id].get(name))
    {
        let message = format!("frames with `{}` are not supported", attribute.name);
        let remedy = "scale the contents of the frame by hand, or save the model compiled";
        reader.error_at(attribute.at, id, message, remedy);
    }
}

/// Elements of the tree that we know of and does not support.
fn unsupported(reader: &mut Reader, id: ElementId) {
    let tag = reader.document.elements[id].tag.clone();
    match tag.as_str() {
        "composite" | "flexcomp" => reader.refused(
            id,
            format!("`{tag}` makes bodies that we cannot make"),
            "load the model in MuJoCo, save it with `mj_saveLastXML` and use that file",
        ),
        "plugin" => reader.left_out(id, "plugins are left out", "remove it"),
        _ => {}
    }
}

/// Reads one body; gives its record's index and its children.
fn body(reader: &mut Reader, pending: &Pending) -> (usize, Vec<(ElementId, Placement, ClassId)>) {
    let document = Rc::clone(&reader.document);
    let element = &document.elements[pending.id];
    let own = Item { id: pending.id, defaults: Rc::from([]) };
    let placement = compose(&pending.frame, &reader.placement(&own));
    let class = reader.class_named(pending.id, "childclass").unwrap_or(pending.class);
    let contents = contents(reader, pending.id, class, false);
    let compensated = reader.number(&own, "gravcomp").filter(|part| *part != 0.0);
    let record = reader.bodies.len();
    let name =
        element.text("name").map_or_else(|| reader.new_body_name(&format!("body{record}")), str::to_owned);
    let mut description =
        BodyDescription { name: name.clone(), origin: Some(element.at), ..Default::default() };
    let inertial = contents.inertial.as_ref().map(|(item, frame)| (item, frame));
    inertial::of_body(reader, pending.id, inertial, &contents.geoms).store(&mut description);
    add_visuals(reader, &contents.geoms, &mut description);
    contact::add(reader, &name, &contents.geoms);

    let world = compose(&reader.bodies[pending.parent].placement, &placement);
    let parent_name = reader.bodies[pending.parent].name.clone();
    let joined = !contents.joints.is_empty();
    add_joints(
        reader,
        pending,
        contents.joints,
        &name,
        &parent_name,
        &placement,
        !contents.bodies.is_empty(),
    );
    let index = reader.model.bodies.len();
    reader.compensated.extend(compensated.map(|part| (index, part)));
    reader.model.bodies.push(description);
    if reader.is_true(&own, "mocap") {
        if pending.parent == 0 && !joined {
            reader.model.mocap.push(name.clone());
        } else {
            let remedy = "put it directly into `worldbody` and take its joints away";
            reader.error(pending.id, "a mocap body that is not fixed to the world", remedy);
        }
    }
    reader.body_names.entry(name.clone()).or_insert(record);
    reader.bodies.push(BodyRecord { name, index, placement: world });
    add_sites(reader, record, &contents.sites);
    (record, contents.bodies)
}

fn add_visuals(reader: &Reader, geoms: &[(Item, Geom)], body: &mut BodyDescription) {
    // Meshes that do not collide are there to be seen: what collides would hide them.
    let is_mesh = |geom: &Geom| matches!(&geom.visual, Some(Visual { shape: Shape::Mesh { .. }, .. }));
    let shows = |geom: &Geom| geom.group <= LAST_VISIBLE_GROUP;
    let dressed = geoms.iter().any(|(_, geom)| is_mesh(geom) && !geom.collides && shows(geom));
    let visible = |geom: &Geom| match reader.view {
        View::Visual => shows(geom) && !(dressed && geom.collides),
        View::Collision => geom.collides,
        View::Both => true,
    };
    let any_visible = geoms.iter().any(|(_, g)| g.visual.is_some() && visible(g));
    let drawn = geoms.iter().filter(|(_, geom)| !any_visible || visible(geom));
    body.visuals.extend(drawn.filter_map(|(_, geom)| geom.visual.clone()));
}

fn add_sites(reader: &mut Reader, body: usize, sites: &[(Item, Placement)]) {
    for (item, placement) in sites {
        let document = Rc::clone(&reader.document);
        let Some(name) = document.elements[item.id].text("name") else { continue };
        if reader.sites.contains_key(name) {
            let remedy = "give one of the two another name";
            reader.error(item.id, "a site of this name exists already", remedy);
            continue;
        }
        reader.sites.insert(name.to_owned(), SiteRecord { body, placement: *placement });
        let body = reader.bodies[body].name.clone();
        reader.model.frames.push(FrameDescription { name: name.to_owned(), body, placement: *placement });
    }
}

/// Joins a body to its parent: by its joints in order, through massless bodies if there are several.
fn add_joints(
    reader: &mut Reader,
    pending: &Pending,
    joints: Vec<JointDraft>,
    body: &str,
    parent: &str,
    placement: &Placement,
    has_children: bool,
) {
    if joints.is_empty() {
        let name = reader.new_joint_name(&format!("{body}/fixed"));
        let mut fixed = JointDescription::new(name, JointType::Fixed, parent, body);
        fixed.parent_placement = *placement;
        fixed.role = Some(JointRole::Tree);
        fixed.origin = reader.at(pending.id);
        reader.model.joints.push(fixed);
        return;
    }
    check_free(reader, pending, &joints, has_children);
    let last = joints.len() - 1;
    let mut parent = parent.to_owned();
    // Each joint moves the body frame as the joints before it left it, about an anchor fixed in that frame:
    // X = placement · Π Trans(p_i) J_i(q_i) Trans(-p_i). Every factor but the last ends in a massless body.
    for (i, draft) in joints.into_iter().enumerate() {
        let short = draft.name.clone().unwrap_or_else(|| joint::word(draft.kind).to_owned());
        let name = draft.name.unwrap_or_else(|| reader.new_joint_name(&format!("{body}/{short}")));
        let child = if i == last {
            body.to_owned()
        } else {
            // A joint that is called after its body already, as we call unnamed ones, lends its name.
            let wish =
                if name.starts_with(&format!("{body}/")) { name.clone() } else { format!("{body}/{short}") };
            let between = reader.new_body_name(&wish);
            let origin = reader.at(draft.item.id);
            reader.model.bodies.push(BodyDescription { name: between.clone(), origin, ..Default::default() });
            between
        };
        let anchor = Placement::at(draft.pos);
        let mut description = draft.description;
        description.name.clone_from(&name);
        description.parent = parent;
        description.child.clone_from(&child);
        description.parent_placement = if i == 0 { compose(placement, &anchor) } else { anchor };
        description.child_placement = anchor;
        reader.joint_names.entry(name).or_insert(reader.joints.len());
        reader.joints.push(JointRecord {
            index: reader.model.joints.len(),
            kind: draft.kind,
            reference: draft.reference,
            placement: *placement,
        });
        if let Some([time, ratio, rest]) = draft.spring_damper {
            let joint = reader.model.joints.len();
            reader.tuned.push(Tuned::SpringDamper { joint, time, ratio, rest });
        }
        reader.model.joints.push(description);
        parent = child;
    }
}

fn check_free(reader: &mut Reader, pending: &Pending, joints: &[JointDraft], has_children: bool) {
    let Some(free) = joints.iter().find(|j| j.kind == JointType::Floating) else { return };
    let id = free.item.id;
    if joints.len() > 1 {
        let remedy = "a free body needs no other joint: remove the others";
        reader.error(id, "a free joint beside other joints of the same body", remedy);
    } else if pending.parent != 0 {
        let remedy = "only bodies directly in `worldbody` can be free: move the body there";
        reader.error(id, "a free joint inside another body", remedy);
    } else if !has_children {
        let align = reader.document.elements[id].text("align");
        if align == Some("true") || (align != Some("false") && reader.settings.align_free) {
            let any_key = !reader.section("keyframe").is_empty();
            let what = "the free body is not aligned with its principal axes (`align`)";
            if any_key {
                let remedy = "set `align=\"false\"` and give the keyframes for the body frame of the file";
                let what = format!("{what}: the keyframes, which would mean another pose, are left out");
                reader.left_out(id, what, remedy);
                reader.keyframes_are_lost = true;
            } else {
                reader.left_out(id, what, "none needed: coordinates refer to the body frame of the file");
            }
        }
    }
}

/// The record of a body that an attribute names; an unknown name is said with the nearest known one.
pub(super) fn body_named(reader: &mut Reader, id: ElementId, attribute: &str) -> Option<usize> {
    let document = Rc::clone(&reader.document);
    let named = document.elements[id].get(attribute).filter(|a| !a.value.is_empty())?;
    let found = reader.body_names.get(&named.value).copied();
    if found.is_none() {
        let known = reader.bodies.iter().map(|b| b.name.as_str());
        let remedy = reader.problems.did_you_mean(&named.value, known, || "name a `body` of the file".into());
        let message = format!("body `{}` does not exist", named.value);
        reader.error_at(named.at, id, message, remedy);
    }
    found
}
