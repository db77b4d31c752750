//! Writing MJCF: the tree by nesting, loops as equality constraints, what does not fit is said.
//!
//! A joint of ours becomes one to four joints of MJCF on one body (`pieces.rs`). Angles are in radians, numbers have
//! all their digits, and no default class is used, so that the file reads as it stands.

mod constraints;
mod contact;
mod pieces;
mod states;

use std::collections::{BTreeMap, HashSet};

use super::gravcomp;
use crate::xml_write::{Attributes, Xml, numbers, quaternion};
use pieces::{Piece, PieceKind};

use crate::Diagnostic;
use crate::check::built;
use crate::mechanism::{
    BodyDescription, JointDescription, JointType, ModelDescription, Placement, Shape, WORLD,
};

use crate::frames::{compose, inverse};

/// Writes a model as MJCF. The diagnostics say what the format cannot hold; with an error the text is empty.
#[must_use]
pub fn write_mjcf(model: &ModelDescription) -> (String, Vec<Diagnostic>) {
    let mechanism = match built(model) {
        Ok(mechanism) => mechanism,
        Err(errors) => return (String::new(), errors),
    };
    let mut writer = Writer::new(model);
    // The builder has chosen the tree; each body gets the joint that moves it, turned round where need be.
    let by_name: BTreeMap<&str, &JointDescription> =
        model.joints.iter().map(|j| (j.name.as_str(), j)).collect();
    let bodies: BTreeMap<&str, &BodyDescription> =
        model.bodies.iter().map(|b| (b.name.as_str(), b)).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); mechanism.nb()];
    let mut roots = Vec::new();
    for (i, id) in mechanism.tree_joints().enumerate() {
        let joint = mechanism.joint(id);
        let body = mechanism.body(joint.child).name.clone();
        match joint.parent {
            Some(parent) => children[parent.index()].push(i),
            None => roots.push(i),
        }
        let mut description = by_name.get(joint.name.as_str()).map_or_else(
            || JointDescription::new(joint.name.clone(), JointType::Floating, WORLD, body.clone()),
            |j| (*j).clone(),
        );
        if joint.reversed {
            turn_round(&mut description);
        }
        let pieces = pieces::of(&description, &mut writer);
        writer.links.push(Link {
            body: bodies[body.as_str()].clone(),
            joint: description,
            pieces,
            before: Vec::new(),
        });
    }
    for id in mechanism.loop_joints() {
        if let Some(joint) = by_name.get(mechanism.joint(id).name.as_str()) {
            writer.loops.push((*joint).clone());
        }
    }
    writer.place_sites();
    writer.merge_massless(&mut roots, &mut children);
    writer.place_actuators();
    let text = writer.file(&roots, &children);
    (text, writer.said)
}

/// A body with the joint that moves it.
struct Link {
    body: BodyDescription,
    joint: JointDescription,
    pieces: Vec<Piece>,
    /// Links of massless bodies whose joints stand on this body, outermost first.
    before: Vec<usize>,
}

/// A joint met from its child's side: the same coordinates with the ends exchanged and the axis turned.
fn turn_round(joint: &mut JointDescription) {
    std::mem::swap(&mut joint.parent, &mut joint.child);
    std::mem::swap(&mut joint.parent_placement, &mut joint.child_placement);
    let axis = joint.axis.unwrap_or([0.0, 0.0, 1.0]);
    joint.axis = Some(axis.map(|x| -x));
}

/// A site: name and placement in a body.
type Site = (String, Placement);

pub(super) struct Writer<'m> {
    model: &'m ModelDescription,
    links: Vec<Link>,
    loops: Vec<JointDescription>,
    sites: BTreeMap<String, Vec<Site>>,
    site_names: HashSet<String>,
    /// Actuators as finished elements.
    actuators: Vec<Attributes>,
    /// Inputs on several coordinates: name of the tendon, joints with coefficients.
    tendons: Vec<(String, Vec<Attributes>)>,
    actuator_names: HashSet<String>,
    equalities: Vec<(&'static str, Attributes)>,
    meshes: Vec<(String, String, [f64; 3])>,
    surfaces: contact::Surfaces,
    said: Vec<Diagnostic>,
    said_before: HashSet<String>,
}

impl<'m> Writer<'m> {
    fn new(model: &'m ModelDescription) -> Self {
        Self {
            model,
            links: Vec::new(),
            loops: Vec::new(),
            sites: BTreeMap::new(),
            site_names: model.frames.iter().map(|f| f.name.clone()).collect(),
            actuators: Vec::new(),
            tendons: Vec::new(),
            actuator_names: HashSet::new(),
            equalities: Vec::new(),
            meshes: Vec::new(),
            surfaces: contact::Surfaces::new(model.surface_names()),
            said: Vec::new(),
            said_before: HashSet::new(),
        }
    }

    /// Says once what MJCF cannot hold.
    pub(super) fn say(&mut self, element: String, message: impl Into<String>, remedy: &str) {
        let message = message.into();
        if self.said_before.insert(message.clone()) {
            self.said.push(Diagnostic::warning(element, message, remedy));
        }
    }

    /// A site at a placement: one that is there already, or a new one under a name that is free.
    pub(super) fn add_site(&mut self, body: &str, wish: &str, placement: Placement) -> String {
        let there = self.sites.get(body).and_then(|sites| sites.iter().find(|(_, p)| *p == placement));
        if let Some((name, _)) = there {
            return name.clone();
        }
        let mut name = wish.to_owned();
        while !self.site_names.insert(name.clone()) {
            name.push('_');
        }
        self.sites.entry(body.to_owned()).or_default().push((name.clone(), placement));
        name
    }

    /// Frames and the ends of loops.
    fn place_sites(&mut self) {
        for frame in &self.model.frames {
            self.sites.entry(frame.body.clone()).or_default().push((frame.name.clone(), frame.placement));
        }
        constraints::write(self);
    }

    /// Motors on joints and at sites.
    fn place_actuators(&mut self) {
        let shared = pieces::tendons(self);
        for i in 0..self.links.len() {
            pieces::actuators(self, i, &shared);
        }
        // Inputs keep their order as far as one element each allows.
        let order: BTreeMap<&str, usize> =
            self.model.inputs.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
        self.actuators.sort_by_key(|a| order.get(a[0].1.as_str()).copied().unwrap_or(usize::MAX));
    }

    /// Puts the joints of bodies that only link two joints onto the body that follows: MuJoCo refuses moving bodies
    /// without mass, and combines joints instead.
    ///
    /// With `P = A₂ B₂⁻¹` the place of the next body, `A₁ J₁ B₁⁻¹ P = A₁ J₁ B'⁻¹` for `B' = P⁻¹ B₁`.
    fn merge_massless(&mut self, roots: &mut [usize], children: &mut [Vec<usize>]) {
        let index: BTreeMap<String, usize> =
            self.links.iter().enumerate().map(|(i, l)| (l.body.name.clone(), i)).collect();
        // Tips first: the next body has taken in what is behind it already.
        for i in (0..self.links.len()).rev() {
            let link = &self.links[i];
            let [next] = children[i][..] else { continue };
            let body = &link.body;
            let bare = body.mass == 0.0
                && body.inertia == [0.0; 6]
                && body.visuals.is_empty()
                && !self.model.surfaces.iter().any(|surface| surface.link == body.name)
                && body.thrusters.is_empty()
                && body.pushes.is_empty()
                && !self.sites.contains_key(&body.name);
            let joined = |i: usize| {
                let pieces = &self.links[i].pieces;
                !pieces.is_empty() && pieces.iter().all(|p| p.kind != PieceKind::Free)
            };
            if !bare || !joined(i) || !joined(next) {
                continue;
            }
            let follows = inverse(&self.place_of(next));
            let parent = link.joint.parent.clone();
            self.links[i].joint.child_placement = compose(&follows, &link.joint.child_placement);
            let joint = self.links[i].joint.clone();
            self.links[i].pieces = pieces::of(&joint, self);
            self.links[next].before.insert(0, i);
            let list = index.get(&parent).map_or(&mut *roots, |p| children[*p].as_mut_slice());
            if let Some(slot) = list.iter_mut().find(|c| **c == i) {
                *slot = next;
            }
        }
    }

    /// Where a body stands in the body it is written in, all coordinates zero.
    fn place_of(&self, i: usize) -> Placement {
        let first = self.links[i].before.first().copied().unwrap_or(i);
        let joint = &self.links[first].joint;
        compose(&joint.parent_placement, &inverse(&joint.child_placement))
    }

    fn file(&mut self, roots: &[usize], children: &[Vec<usize>]) -> String {
        let mut xml = Xml::default();
        xml.open("mujoco", &[("model", self.model.name.clone())]);
        xml.leaf("compiler", &[("angle", "radian".into()), ("autolimits", "true".into())]);
        let mut option = vec![("gravity", numbers(&self.model.gravity))];
        if self.model.wind != [0.0; 3] {
            option.push(("wind", numbers(&self.model.wind)));
        }
        xml.leaf("option", &option);
        self.assets(&mut xml);
        xml.open("worldbody", &[]);
        contact::planes(self, &mut xml);
        contact::geoms(self, WORLD, &mut xml);
        write_sites(&mut xml, self.sites.get(WORLD).map_or(&[], Vec::as_slice));
        // Entering a body pushes its end and its children: no recursion, however long the chain.
        let mut stack: Vec<Option<usize>> = roots.iter().rev().map(|r| Some(*r)).collect();
        let mut order = Vec::new();
        while let Some(next) = stack.pop() {
            let Some(i) = next else {
                xml.close("body");
                continue;
            };
            order.push(i);
            self.body(&mut xml, i);
            stack.push(None);
            stack.extend(children[i].iter().rev().map(|c| Some(*c)));
        }
        xml.close("worldbody");
        contact::pairs(self, &mut xml);
        if !self.equalities.is_empty() {
            xml.open("equality", &[]);
            for (tag, attributes) in &self.equalities {
                xml.leaf(tag, attributes);
            }
            xml.close("equality");
        }
        if !self.tendons.is_empty() {
            xml.open("tendon", &[]);
            for (name, joints) in &self.tendons {
                xml.open("fixed", &[("name", name.clone())]);
                joints.iter().for_each(|joint| xml.leaf("joint", joint));
                xml.close("fixed");
            }
            xml.close("tendon");
        }
        if !self.actuators.is_empty() {
            xml.open("actuator", &[]);
            for attributes in &self.actuators {
                let has_law = attributes.iter().any(|(name, _)| *name == "gaintype");
                xml.leaf(if has_law { "general" } else { "motor" }, attributes);
            }
            xml.close("actuator");
        }
        states::write(self, &order, &mut xml);
        xml.close("mujoco");
        xml.text
    }

    /// Mesh files must be known before the bodies that show them.
    fn assets(&mut self, xml: &mut Xml) {
        for link in &self.links {
            for visual in &link.body.visuals {
                if let Shape::Mesh { file, scale } = &visual.shape
                    && !self.meshes.iter().any(|(_, f, s)| f == file && s == scale)
                {
                    self.meshes.push((format!("mesh{}", self.meshes.len()), file.clone(), *scale));
                }
            }
        }
        let clouds = contact::meshes(self);
        if self.meshes.is_empty() && clouds.is_empty() {
            return;
        }
        xml.open("asset", &[]);
        for (name, file, scale) in &self.meshes {
            xml.leaf("mesh", &[("name", name.clone()), ("file", file.clone()), ("scale", numbers(scale))]);
        }
        clouds.iter().for_each(|cloud| xml.leaf("mesh", cloud));
        xml.close("asset");
    }

    fn body(&mut self, xml: &mut Xml, i: usize) {
        let link = &self.links[i];
        let body = link.body.clone();
        let placement = self.place_of(i);
        let mut attributes = vec![("name", body.name.clone())];
        place(&placement, &mut attributes);
        let carried: f64 =
            body.pushes.iter().filter_map(|push| gravcomp::part_of(self.model, &body, push)).sum();
        if carried != 0.0 {
            attributes.push(("gravcomp", numbers(&[carried])));
        }
        if self.model.mocap.contains(&body.name) {
            attributes.push(("mocap", "true".into()));
        }
        xml.open("body", &attributes);
        for piece in link.before.iter().flat_map(|b| &self.links[*b].pieces).chain(&link.pieces) {
            xml.leaf("joint", &piece.attributes);
        }
        let [xx, yy, zz, xy, xz, yz] = body.inertia;
        if body.mass != 0.0 || body.inertia != [0.0; 6] {
            let inertia = if [xy, xz, yz] == [0.0; 3] {
                ("diaginertia", numbers(&[xx, yy, zz]))
            } else {
                ("fullinertia", numbers(&body.inertia))
            };
            xml.leaf("inertial", &[("pos", numbers(&body.com)), ("mass", numbers(&[body.mass])), inertia]);
        }
        for visual in &body.visuals {
            let mut attributes = self.geom(&visual.shape);
            place(&visual.placement, &mut attributes);
            if let Some(rgba) = visual.rgba {
                attributes.push(("rgba", numbers(&rgba)));
            }
            // The inertial holds the mass; what only draws does not collide.
            attributes.push(("mass", "0".into()));
            attributes.extend(contact::of_visual(self, &body.name, visual));
            xml.leaf("geom", &attributes);
        }
        contact::geoms(self, &body.name, xml);
        write_sites(xml, self.sites.get(&body.name).map_or(&[], Vec::as_slice));
        let (name, drag) = (body.name.clone(), body.drag);
        if drag != 0.0 {
            let message = "linear drag on a body is left out";
            self.say(format!("body `{name}`"), message, "use joint damping");
        }
    }

    fn geom(&self, shape: &Shape) -> Attributes {
        let (kind, size) = match shape {
            Shape::Box { size } => ("box", numbers(&size.map(|s| s / 2.0))),
            Shape::Sphere { radius } => ("sphere", numbers(&[*radius])),
            Shape::Cylinder { radius, length } => ("cylinder", numbers(&[*radius, length / 2.0])),
            Shape::Capsule { radius, length } => ("capsule", numbers(&[*radius, length / 2.0])),
            Shape::Ellipsoid { radii } => ("ellipsoid", numbers(radii)),
            Shape::Mesh { file, scale } => {
                let mesh = self.meshes.iter().find(|(_, f, s)| f == file && s == scale);
                let name = mesh.map_or_else(String::new, |(name, ..)| name.clone());
                return vec![("type", "mesh".into()), ("mesh", name)];
            }
        };
        vec![("type", kind.into()), ("size", size)]
    }
}

fn write_sites(xml: &mut Xml, sites: &[Site]) {
    for (name, placement) in sites {
        let mut attributes = vec![("name", name.clone())];
        place(placement, &mut attributes);
        xml.leaf("site", &attributes);
    }
}

/// `pos` and `quat`, where they are not those of the parent.
fn place(placement: &Placement, attributes: &mut Attributes) {
    if placement.p != [0.0; 3] {
        attributes.push(("pos", numbers(&placement.p)));
    }
    if let Some(q) = quaternion(placement.q) {
        attributes.push(("quat", q));
    }
}
