//! Equality constraints: `connect` and `weld` close loops, `joint` couples coordinates.

use std::rc::Rc;

use super::document::ElementId;
use super::reader::{Item, Reader};
use super::tree::body_named;
use crate::frames::{compose, inverse, unit_quaternion};
use crate::mechanism::{CouplingDescription, JointDescription, JointRole, JointType, Placement, WORLD};

/// One side of a loop joint: body record and joint frame in that body.
type Side = (usize, Placement);

/// Reads all `equality` sections.
pub(super) fn read(reader: &mut Reader) {
    for id in reader.section("equality") {
        let tag = reader.document.elements[id].tag.clone();
        let item = reader.item(id, "equality", 0);
        if !reader.settings.equalities {
            let what = "equality constraints are switched off by `flag` and left out";
            reader.left_out(id, what, "remove the flag to have them");
            continue;
        }
        if reader.text(&item, "active") == Some("false") {
            let what = "the constraint is not active and left out";
            reader.left_out(id, what, "write `active=\"true\"` to have it");
            continue;
        }
        match tag.as_str() {
            "connect" => loop_joint(reader, &item, JointType::Spherical),
            "weld" => {
                // Without its torque a weld holds a point, as `connect` does.
                let loose = reader.number(&item, "torquescale") == Some(0.0);
                loop_joint(reader, &item, if loose { JointType::Spherical } else { JointType::Fixed });
            }
            "joint" => coupling(reader, &item),
            "tendon" => super::tendon::equality(reader, &item),
            _ => reader.left_out(
                id,
                format!("equality constraints of the kind `{tag}` are left out"),
                "use `connect`, `weld`, `joint` or `tendon`, or remove it",
            ),
        }
    }
}

fn loop_joint(reader: &mut Reader, item: &Item, kind: JointType) {
    let Some((one, two)) = sides(reader, item) else { return };
    let tag = reader.document.elements[item.id].tag.clone();
    let name = match reader.document.elements[item.id].text("name") {
        Some(name) => name.to_owned(),
        None => reader.new_joint_name(&format!("{tag}1")),
    };
    if one.0 == two.0 {
        let message = format!("both ends are on `{}`", reader.bodies[one.0].name);
        let remedy = "a loop needs two different bodies";
        reader.error(item.id, message, remedy);
        return;
    }
    // The world can only be a parent.
    let ((parent, parent_placement), (child, child_placement)) =
        if two.0 == 0 { (two, one) } else { (one, two) };
    let [parent, child] = [parent, child].map(|record| reader.bodies[record].name.clone());
    let mut joint = JointDescription::new(name, kind, parent, child);
    joint.parent_placement = parent_placement;
    joint.child_placement = child_placement;
    joint.role = Some(JointRole::Loop);
    joint.origin = reader.at(item.id);
    reader.model.joints.push(joint);
}

/// The joint frame on both bodies; they coincide when the constraint holds.
fn sides(reader: &mut Reader, item: &Item) -> Option<(Side, Side)> {
    let document = Rc::clone(&reader.document);
    let element = &document.elements[item.id];
    let has = |name: &str| element.text(name).is_some();
    let by_sites = has("site1") || has("site2");
    let by_bodies = has("body1") || has("body2") || element.get("anchor").is_some();
    let connect = element.tag == "connect";
    let complaint = if by_sites && by_bodies {
        Some("both sites and bodies are given")
    } else if by_sites && !(has("site1") && has("site2")) {
        Some("only one of `site1` and `site2` is given")
    } else if !by_sites && !by_bodies {
        Some("neither bodies nor sites are given")
    } else if !by_sites && !has("body1") {
        Some("`body1` is missing")
    } else if !by_sites && connect && element.get("anchor").is_none() {
        Some("`anchor` is missing")
    } else {
        None
    };
    if let Some(complaint) = complaint {
        let remedy = if connect {
            "write `site1` and `site2`, or `body1`, `anchor` and perhaps `body2`"
        } else {
            "write `site1` and `site2`, or `body1` and perhaps `body2`"
        };
        reader.error(item.id, complaint, remedy);
        return None;
    }
    if by_sites {
        let (one, two) = (site_named(reader, item.id, "site1"), site_named(reader, item.id, "site2"));
        return Some((one?, two?));
    }
    let one = body_named(reader, item.id, "body1");
    let two = if has("body2") { body_named(reader, item.id, "body2") } else { Some(0) };
    let (one, two) = (one?, two?);
    let between = compose(&inverse(&reader.bodies[one].placement), &reader.bodies[two].placement);
    let anchor = reader.array(item, "anchor").unwrap_or([0.0; 3]);
    if connect {
        // The anchor is given on the first body; the second holds it as in the pose of the file.
        let on_one = Placement::at(anchor);
        return Some(((one, on_one), (two, compose(&inverse(&between), &on_one))));
    }
    let on_two = Placement::at(anchor);
    let relative = reader.array::<7>(item, "relpose").and_then(|[x, y, z, a, b, c, d]| {
        unit_quaternion([a, b, c, d]).map(|q| Placement { p: [x, y, z], q })
    });
    Some(((one, relative.unwrap_or_else(|| compose(&between, &on_two))), (two, on_two)))
}

/// The body and placement of a site that an attribute names.
pub(super) fn site_named(reader: &mut Reader, id: ElementId, attribute: &str) -> Option<Side> {
    let document = Rc::clone(&reader.document);
    let named = document.elements[id].get(attribute)?;
    let found = reader.sites.get(&named.value).map(|site| (site.body, site.placement));
    if found.is_none() {
        let known = reader.model.frames.iter().map(|f| f.name.as_str());
        let remedy = reader.problems.did_you_mean(&named.value, known, || "name a `site` of the file".into());
        let message = format!("site `{}` does not exist", named.value);
        reader.error_at(named.at, id, message, remedy);
    }
    found
}

/// The record of a joint that an attribute names.
pub(super) fn joint_named(reader: &mut Reader, id: ElementId, attribute: &str) -> Option<usize> {
    let document = Rc::clone(&reader.document);
    let named = document.elements[id].get(attribute).filter(|a| !a.value.is_empty())?;
    let found = reader.joint_names.get(&named.value).copied();
    if found.is_none() {
        let known = reader.joints.iter().map(|j| reader.model.joints[j.index].name.as_str());
        let remedy =
            reader.problems.did_you_mean(&named.value, known, || "name a `joint` of the file".into());
        let message = format!("joint `{}` does not exist", named.value);
        reader.error_at(named.at, id, message, remedy);
    }
    found
}

/// `equality joint`: both coordinates are counted from the pose of the file, as ours are, so `ref` drops out.
fn coupling(reader: &mut Reader, item: &Item) {
    let document = Rc::clone(&reader.document);
    let follower = joint_named(reader, item.id, "joint1");
    let leader_named = document.elements[item.id].text("joint2").is_some();
    let leader = joint_named(reader, item.id, "joint2");
    let Some(follower) = follower.filter(|_| !leader_named || leader.is_some()) else { return };
    for joint in std::iter::once(follower).chain(leader) {
        let record = &reader.joints[joint];
        if record.kind.nv() != 1 {
            let message =
                format!("joint `{}` has more than one coordinate", reader.model.joints[record.index].name);
            let remedy = "couple hinges and slides only";
            reader.error(item.id, message, remedy);
            return;
        }
    }
    let polynomial: [f64; 5] = reader.overlaid(item, "polycoef", [0.0, 1.0, 0.0, 0.0, 0.0]);
    let length = polynomial.iter().rposition(|c| *c != 0.0).map_or(1, |last| last + 1);
    let name = |joint: usize| reader.model.joints[reader.joints[joint].index].name.clone();
    let coupling = CouplingDescription {
        name: document.elements[item.id].text("name").unwrap_or("").to_owned(),
        joint: name(follower),
        of: leader.map(name),
        polynomial: if leader.is_some() { polynomial[..length].to_vec() } else { vec![polynomial[0]] },
        origin: Some(document.elements[item.id].at),
        ..Default::default()
    };
    reader.model.couplings.push(coupling);
}

/// True if a record is the world.
pub(super) fn is_world(reader: &Reader, body: usize) -> bool {
    reader.bodies[body].name == WORLD
}
