//! A description as SDF, with a word for everything SDF can't hold.

use std::collections::{HashMap, HashSet};

use crate::Diagnostic;
use crate::check::built;
use crate::frames::{compose, conjugate, inverse, rotate};
use crate::mechanism::{
    BodyDescription, FrameDescription, JointDescription, JointRole, JointType, Mechanism, ModelDescription,
    PerCoordinate, Placement, Shape, Visual, WORLD,
};
use crate::xml_write::{Xml, numbers};

/// The version whose rules the text follows: the first in which poses may hold quaternions is 1.9.
const VERSION: &str = "1.10";

/// A loop that is open by more than this at zero coordinates has another shape in SDF, which knows places only.
const CLOSED: f64 = 1e-9;

/// Writes a model as SDF, in a world that has its gravity.
///
/// Links keep their frames. Each joint is placed relative to the link that carries it, and each link relative to the joint that
/// leads to it, so that the numbers are the model's own. A warning names what the text does not hold; an error means that the
/// text is not a usable model.
#[must_use]
pub fn write_sdf(model: &ModelDescription) -> (String, Vec<Diagnostic>) {
    let mechanism = match built(model) {
        Ok(mechanism) => mechanism,
        Err(errors) => return (String::new(), errors),
    };
    let mut writer = Writer { xml: Xml::default(), lost: Vec::new(), joints: joint_names(model) };
    writer.model(model, &mechanism);
    (writer.xml.text, writer.lost)
}

struct Writer {
    xml: Xml,
    lost: Vec<Diagnostic>,
    /// Joints by their names here.
    joints: HashMap<String, String>,
}

impl Writer {
    fn lose(&mut self, element: impl Into<String>, what: impl Into<String>) {
        let remedy = "write `leastaction/model/1` (JSON) to keep it";
        self.lost.push(Diagnostic::warning(element, format!("SDF can't hold {}", what.into()), remedy));
    }

    fn refuse(&mut self, joint: &JointDescription, what: String) {
        let remedy = "replace it by revolute and prismatic joints, or write JSON (`leastaction/model/1`)";
        self.lost.push(Diagnostic::error(element(joint), what, remedy));
    }

    fn model(&mut self, model: &ModelDescription, mechanism: &Mechanism) {
        self.lose_model_parts(model);
        self.check_names(model);
        let name = if model.name.is_empty() { "model".to_owned() } else { clean(&model.name) };
        self.xml.text.push_str("<?xml version=\"1.0\"?>\n");
        self.xml.open("sdf", &[("version", VERSION.into())]);
        self.xml.open("world", &[("name", name.clone())]);
        self.xml.say("gravity", &[], &numbers(&model.gravity));
        self.xml.open("model", &[("name", name)]);
        let places = places(model, mechanism);
        for body in &model.bodies {
            self.link(body, &places);
        }
        for joint in &model.joints {
            self.joint(joint, mechanism, &places);
        }
        for frame in &model.frames {
            self.frame(frame);
        }
        for tag in ["model", "world", "sdf"] {
            self.xml.close(tag);
        }
    }

    /// What stands beside bodies and joints.
    fn lose_model_parts(&mut self, model: &ModelDescription) {
        if model.wind != [0.0; 3] {
            self.lose("wind", "wind");
        }
        let lists = [
            ("inputs", model.inputs.len()),
            ("constraints", model.constraints.len()),
            ("couplings", model.couplings.len()),
            ("tendons", model.tendons.len()),
            ("motions", model.motions.len()),
            ("mocap bodies", model.mocap.len()),
            ("surfaces", model.surfaces.len()),
            ("half_spaces", model.half_spaces.len()),
            ("states", model.states.len()),
        ];
        for (name, count) in lists {
            if count > 0 {
                self.lose(name, format!("{name} ({count} here)"));
            }
        }
    }

    /// Links, joints and frames of a model have names of their own in SDF, and `::` stands between models.
    fn check_names(&mut self, model: &ModelDescription) {
        let mut taken = HashSet::new();
        let bodies = model.bodies.iter().map(|body| ("body", &body.name));
        let joints = model.joints.iter().filter(|joint| !is_root(joint)).map(|joint| ("joint", &joint.name));
        let frames = model.frames.iter().map(|frame| ("frame", &frame.name));
        for (kind, name) in bodies.chain(frames).chain(joints) {
            let written = if kind == "joint" { self.joints[name].clone() } else { clean(name) };
            if kind == "joint" && written != clean(name) {
                self.lose(
                    format!("{kind} `{name}`"),
                    format!("the name of a link twice: it becomes `{written}`"),
                );
            }
            if !taken.insert(written) {
                let message = "SDF wants different names for links, joints and frames";
                let remedy = "give one of them another name";
                self.lost.push(Diagnostic::error(format!("{kind} `{name}`"), message, remedy));
            } else if clean(name) != *name {
                self.lose(format!("{kind} `{name}`"), "`::` in a name: it becomes `/`");
            }
        }
    }

    fn pose(&mut self, placement: &Placement, relative_to: Option<&str>) {
        if *placement == Placement::default() && relative_to.is_none() {
            return;
        }
        let mut attributes = Vec::new();
        if let Some(name) = relative_to {
            // The model stands where the world does, whose own name is not known inside.
            let name = if name == WORLD { "__model__" } else { name };
            attributes.push(("relative_to", name.to_owned()));
        }
        attributes.push(("rotation_format", "quat_xyzw".into()));
        let ([x, y, z], [qw, qx, qy, qz]) = (placement.p, placement.q);
        self.xml.say("pose", &attributes, &numbers(&[x, y, z, qx, qy, qz, qw].map(|x| x + 0.0)));
    }

    fn link(&mut self, body: &BodyDescription, places: &HashMap<&str, Place<'_>>) {
        let named = format!("body `{}`", body.name);
        let others = [
            ("drag", body.drag != 0.0),
            ("pushes", !body.pushes.is_empty()),
            ("thrusters", !body.thrusters.is_empty()),
        ];
        for (what, there) in others {
            if there {
                self.lose(named.as_str(), what);
            }
        }
        self.xml.open("link", &[("name", clean(&body.name))]);
        if let Some(place) = places.get(body.name.as_str()) {
            let joint = place.joint.map(|joint| self.joints[&joint.name].clone());
            self.pose(&place.pose, joint.as_deref());
        }
        self.xml.open("inertial", &[]);
        self.pose(&Placement::at(body.com), None);
        self.xml.say("mass", &[], &numbers(&[body.mass]));
        self.xml.open("inertia", &[]);
        let [xx, yy, zz, xy, xz, yz] = body.inertia;
        let entries = [("ixx", xx), ("ixy", xy), ("ixz", xz), ("iyy", yy), ("iyz", yz), ("izz", zz)];
        for (name, x) in entries {
            self.xml.say(name, &[], &numbers(&[x]));
        }
        self.xml.close("inertia");
        self.xml.close("inertial");
        for (i, visual) in body.visuals.iter().enumerate() {
            self.visual(visual, i);
        }
        self.xml.close("link");
    }

    fn visual(&mut self, visual: &Visual, number: usize) {
        self.xml.open("visual", &[("name", format!("visual_{number}"))]);
        self.pose(&visual.placement, None);
        self.xml.open("geometry", &[]);
        let round = |radius: f64, length: f64| vec![("radius", vec![radius]), ("length", vec![length])];
        let (shape, parts): (&str, Vec<(&str, Vec<f64>)>) = match &visual.shape {
            Shape::Box { size } => ("box", vec![("size", size.to_vec())]),
            Shape::Sphere { radius } => ("sphere", vec![("radius", vec![*radius])]),
            Shape::Cylinder { radius, length } => ("cylinder", round(*radius, *length)),
            Shape::Capsule { radius, length } => ("capsule", round(*radius, *length)),
            Shape::Ellipsoid { radii } => ("ellipsoid", vec![("radii", radii.to_vec())]),
            Shape::Mesh { scale, .. } => ("mesh", vec![("scale", scale.to_vec())]),
        };
        self.xml.open(shape, &[]);
        if let Shape::Mesh { file, .. } = &visual.shape {
            self.xml.say("uri", &[], file);
        }
        for (name, values) in parts {
            self.xml.say(name, &[], &numbers(&values));
        }
        self.xml.close(shape);
        self.xml.close("geometry");
        if let Some(rgba) = visual.rgba {
            self.xml.open("material", &[]);
            for light in ["ambient", "diffuse"] {
                self.xml.say(light, &[], &numbers(&rgba));
            }
            self.xml.close("material");
        }
        self.xml.close("visual");
    }

    fn joint(&mut self, joint: &JointDescription, mechanism: &Mechanism, places: &HashMap<&str, Place<'_>>) {
        let built = mechanism.joint_by_name(&joint.name).map(|id| mechanism.joint(id));
        let Some(built) = built else { return };
        let closes = built.role == JointRole::Loop;
        let Some((kind, axes)) = self.type_of(joint) else { return };
        if closes && !self.is_closed(joint, places) {
            return;
        }
        self.lose_joint_parts(joint, axes);
        let (carrier, placement) = if built.reversed {
            (&joint.child, &joint.child_placement)
        } else {
            (&joint.parent, &joint.parent_placement)
        };
        self.xml.open("joint", &[("name", self.joints[&joint.name].clone()), ("type", kind.into())]);
        self.pose(placement, Some(&clean(carrier)));
        self.xml.say("parent", &[], &clean(&joint.parent));
        self.xml.say("child", &[], &clean(&joint.child));
        for c in 0..axes {
            self.axis(joint, c, axes);
        }
        self.xml.close("joint");
    }

    fn axis(&mut self, joint: &JointDescription, c: usize, axes: usize) {
        let tag = if c == 0 { "axis" } else { "axis2" };
        let direction = if c == 0 { joint.axis } else { joint.axis2 };
        self.xml.open(tag, &[]);
        self.xml.say("xyz", &[], &numbers(&direction.unwrap_or([0.0, 0.0, 1.0])));
        let limits = joint.limits.clone().unwrap_or_default();
        let at = |bound: &Option<PerCoordinate>| bound.as_ref().map(|b| b.at(c)).filter(|x| x.is_finite());
        let bounds = [
            ("lower", at(&limits.lower)),
            ("upper", at(&limits.upper)),
            ("effort", limits.effort),
            ("velocity", limits.velocity),
        ];
        if bounds.iter().any(|(_, bound)| bound.is_some()) {
            self.xml.open("limit", &[]);
            for (name, bound) in bounds {
                if let Some(x) = bound {
                    self.xml.say(name, &[], &numbers(&[x]));
                }
            }
            self.xml.close("limit");
        }
        let spring = joint.spring.as_ref();
        let forces = [
            ("damping", joint.damping.at(c)),
            ("friction", joint.friction.at(c)),
            ("spring_stiffness", spring.map_or(0.0, |s| s.stiffness.at(c))),
            ("spring_reference", spring.map_or(0.0, |s| s.rest.at(c))),
        ];
        if forces.iter().any(|(_, x)| *x != 0.0) {
            self.xml.open("dynamics", &[]);
            for (name, x) in forces.iter().filter(|(_, x)| *x != 0.0) {
                self.xml.say(name, &[], &numbers(&[*x]));
            }
            self.xml.close("dynamics");
        }
        if let Some(mimic) = joint.mimic.as_ref().filter(|_| axes == 1) {
            let leader = self.joints.get(&mimic.joint).cloned().unwrap_or_default();
            self.xml.open("mimic", &[("joint", leader), ("axis", "axis".into())]);
            for (name, x) in [("multiplier", mimic.multiplier), ("offset", mimic.offset), ("reference", 0.0)]
            {
                self.xml.say(name, &[], &numbers(&[x]));
            }
            self.xml.close("mimic");
        }
        self.xml.close(tag);
    }

    /// SDF's word for a kind and its axes; none for what holds a root, which needs no joint, and after an error.
    fn type_of(&mut self, joint: &JointDescription) -> Option<(&'static str, usize)> {
        match joint.kind {
            JointType::Fixed => Some(("fixed", 0)),
            JointType::Revolute => Some(("revolute", 1)),
            JointType::Continuous => Some(("continuous", 1)),
            JointType::Prismatic => Some(("prismatic", 1)),
            JointType::Universal => Some(("universal", 2)),
            JointType::Spherical => Some(("ball", 0)),
            JointType::Floating if is_root(joint) => None,
            JointType::Floating | JointType::Planar | JointType::Cylindrical | JointType::PointOnLine => {
                self.refuse(joint, format!("SDF has no {} joint between links", joint.kind.name()));
                None
            }
        }
    }

    fn is_closed(&mut self, joint: &JointDescription, places: &HashMap<&str, Place<'_>>) -> bool {
        let [parent, child] =
            [(&joint.parent, &joint.parent_placement), (&joint.child, &joint.child_placement)].map(
                |(body, placement)| {
                    let body = places.get(body.as_str()).map_or(Placement::default(), |place| place.world);
                    compose(&body, placement)
                },
            );
        let apart = compose(&inverse(&parent), &child);
        let turned = rotate(conjugate(parent.q), rotate(child.q, [1.0, 1.0, 1.0]));
        let open = apart.p.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let turn = turned.iter().fold(0.0, |m: f64, x| m.max((x - 1.0).abs()));
        if open > CLOSED || turn > CLOSED {
            self.refuse(joint, format!("the loop it closes is open by {open:.1e} m at zero coordinates"));
            return false;
        }
        true
    }

    fn lose_joint_parts(&mut self, joint: &JointDescription, axes: usize) {
        let limits = joint.limits.as_ref();
        let others = [
            ("armature", !joint.armature.is_zero()),
            ("actuators", !joint.actuators.is_empty()),
            ("restitution", limits.is_some_and(|limits| limits.restitution.is_some_and(|e| e != 0.0))),
            ("a range of effort", limits.is_some_and(|limits| limits.effort_range.is_some())),
        ];
        for (what, there) in others {
            if there {
                self.lose(element(joint), what);
            }
        }
        let forces = !joint.damping.is_zero() || !joint.friction.is_zero() || joint.spring.is_some();
        if axes == 0 && joint.kind != JointType::Fixed && (forces || limits.is_some()) {
            self.lose(element(joint), "damping, friction, springs or limits of a ball joint");
        }
    }

    fn frame(&mut self, frame: &FrameDescription) {
        if frame.body == WORLD {
            return self.lose(format!("frame `{}`", frame.name), "a frame of the world in a model");
        }
        self.xml.open("frame", &[("name", clean(&frame.name)), ("attached_to", clean(&frame.body))]);
        self.pose(&frame.placement, Some(&clean(&frame.body)));
        self.xml.close("frame");
    }
}

/// Where a link stands.
struct Place<'a> {
    /// The joint it is placed relative to; none for free roots.
    joint: Option<&'a JointDescription>,
    pose: Placement,
    /// In the world at zero coordinates.
    world: Placement,
}

/// The place of every link.
fn places<'a>(model: &'a ModelDescription, mechanism: &Mechanism) -> HashMap<&'a str, Place<'a>> {
    let mut places: HashMap<&str, Place<'_>> = HashMap::new();
    let described: HashMap<&str, &JointDescription> =
        model.joints.iter().map(|joint| (joint.name.as_str(), joint)).collect();
    // Joints of the tree stand in an order in which parents come first.
    for built in mechanism.tree_joints().map(|id| mechanism.joint(id)) {
        let Some(joint) = described.get(built.name.as_str()) else { continue };
        let ends = [(&joint.parent, &joint.parent_placement), (&joint.child, &joint.child_placement)];
        let [outer, inner] = if built.reversed { [ends[1], ends[0]] } else { ends };
        let carried = places.get(outer.0.as_str()).map_or(Placement::default(), |place| place.world);
        let here = inverse(inner.1);
        let world = compose(&compose(&carried, outer.1), &here);
        let root = is_root(joint);
        let place = Place { joint: (!root).then_some(*joint), pose: if root { world } else { here }, world };
        places.insert(inner.0.as_str(), place);
    }
    places
}

/// A link that moves freely needs no joint in SDF.
fn is_root(joint: &JointDescription) -> bool {
    joint.kind == JointType::Floating && joint.parent == WORLD
}

/// Joints may be called like links and frames, which SDF does not allow.
fn joint_names(model: &ModelDescription) -> HashMap<String, String> {
    let bodies = model.bodies.iter().map(|body| clean(&body.name));
    let taken: HashSet<String> = bodies.chain(model.frames.iter().map(|frame| clean(&frame.name))).collect();
    let written = |joint: &JointDescription| {
        let mut name = clean(&joint.name);
        while taken.contains(&name) {
            name.push_str("_joint");
        }
        name
    };
    model.joints.iter().map(|joint| (joint.name.clone(), written(joint))).collect()
}

fn clean(name: &str) -> String {
    name.replace("::", "/")
}

fn element(joint: &JointDescription) -> String {
    format!("joint `{}`", joint.name)
}
