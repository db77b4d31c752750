//! A description as URDF, with a word for everything URDF can't hold.

use std::collections::{BTreeMap, HashMap};

use crate::Diagnostic;
use crate::check::built;
use crate::frames::{add, compose, inverse, rotate, rotate_inertia, rpy_from_quaternion};
use crate::mechanism::{
    BodyDescription, JointDescription, JointRole, JointType, LimitsDescription, Mechanism, ModelDescription,
    PerCoordinate, Placement, Shape, Visual, WORLD,
};
use crate::xml_write::{self, Attributes, Xml};

/// URDF asks for bounds that a model may not have.
const UNBOUNDED: f64 = 1e9;

/// Writes a model as URDF. The ground becomes the root link `world`.
///
/// A URDF link frame is the frame of the joint that leads to it, so bodies are expressed anew in that frame. A
/// warning names what the text does not hold; an error means that the text is not a usable robot (a joint that the
/// tree needs could not be written).
#[must_use]
pub fn write_urdf(model: &ModelDescription) -> (String, Vec<Diagnostic>) {
    let mechanism = match built(model) {
        Ok(mechanism) => mechanism,
        Err(errors) => return (String::new(), errors),
    };
    let mut writer = Writer { xml: Xml::default(), lost: Vec::new(), colours: BTreeMap::new() };
    writer.model(model, &mechanism);
    (writer.xml.text, writer.lost)
}

struct Writer {
    xml: Xml,
    lost: Vec<Diagnostic>,
    /// Material names by the bits of the colour.
    colours: BTreeMap<[u64; 4], String>,
}

impl Writer {
    fn lose(&mut self, element: impl Into<String>, what: impl Into<String>) {
        let remedy = "write `leastaction/model/1` (JSON) to keep it";
        self.lost.push(Diagnostic::warning(element, format!("URDF can't hold {}", what.into()), remedy));
    }

    fn model(&mut self, model: &ModelDescription, mechanism: &Mechanism) {
        self.lose_model_parts(model);
        let described: HashMap<&str, &JointDescription> =
            model.joints.iter().map(|joint| (joint.name.as_str(), joint)).collect();
        // Link frame in the body frame: where the joint is that leads there.
        let mut frames: HashMap<&str, Placement> = HashMap::new();
        for joint in mechanism.tree_joints().map(|id| mechanism.joint(id)) {
            let frame = described.get(joint.name.as_str()).map(|description| {
                if joint.reversed { description.parent_placement } else { description.child_placement }
            });
            frames.insert(&mechanism.body(joint.child).name, frame.unwrap_or_default());
        }
        self.xml.text.push_str("<?xml version=\"1.0\"?>\n");
        self.xml.open("robot", &[("name", model.name.clone())]);
        self.xml.leaf("link", &[("name", WORLD.into())]);
        for body in &model.bodies {
            self.link(body, &frames[body.name.as_str()]);
        }
        for joint in &model.joints {
            let built = mechanism.joint_by_name(&joint.name).map(|id| mechanism.joint(id));
            match built.filter(|built| built.role == JointRole::Tree) {
                None => self.lose(element(joint), "a joint that closes a loop"),
                Some(built) => {
                    let parent = if built.reversed { &joint.child } else { &joint.parent };
                    let frame = frames.get(parent.as_str()).copied().unwrap_or_default();
                    self.joint(joint, built.reversed, &frame);
                }
            }
        }
        for joint in mechanism.tree_joints().map(|id| mechanism.joint(id)) {
            if !described.contains_key(joint.name.as_str()) {
                let body = mechanism.body(joint.child).name.as_str();
                let added = JointDescription::new(&*joint.name, JointType::Floating, WORLD, body);
                self.joint(&added, false, &Placement::default());
            }
        }
        self.xml.close("robot");
    }

    /// What stands beside bodies and joints.
    fn lose_model_parts(&mut self, model: &ModelDescription) {
        if model.gravity != ModelDescription::new("").gravity {
            let [x, y, z] = model.gravity;
            self.lose("gravity", format!("gravity {x} {y} {z}: readers take their own"));
        }
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
            ("frames", model.frames.len()),
            ("states", model.states.len()),
        ];
        for (name, count) in lists {
            if count > 0 {
                self.lose(name, format!("{name} ({count} here)"));
            }
        }
    }

    fn link(&mut self, body: &BodyDescription, frame: &Placement) {
        let named = format!("body `{}`", body.name);
        if body.drag != 0.0 {
            self.lose(named.as_str(), "drag");
        }
        if !body.pushes.is_empty() {
            self.lose(named.as_str(), "pushes");
        }
        if !body.thrusters.is_empty() {
            self.lose(named.as_str(), "thrusters");
        }
        let massless = body.mass == 0.0 && body.inertia == [0.0; 6] && body.com == [0.0; 3];
        let name = [("name", body.name.clone())];
        if massless && body.visuals.is_empty() {
            return self.xml.leaf("link", &name);
        }
        self.xml.open("link", &name);
        if !massless {
            let (com, inertia) = if *frame == Placement::default() {
                (body.com, body.inertia)
            } else {
                let back = inverse(frame);
                (add(back.p, rotate(back.q, body.com)), rotate_inertia(back.q, body.inertia))
            };
            let [xx, yy, zz, xy, xz, yz] = inertia.map(number);
            self.xml.open("inertial", &[]);
            self.xml.leaf("origin", &[("xyz", numbers(&com)), ("rpy", "0 0 0".into())]);
            self.xml.leaf("mass", &[("value", number(body.mass))]);
            let entries = [("ixx", xx), ("ixy", xy), ("ixz", xz), ("iyy", yy), ("iyz", yz), ("izz", zz)];
            self.xml.leaf("inertia", &entries);
            self.xml.close("inertial");
        }
        for visual in &body.visuals {
            self.visual(visual, frame, &named);
        }
        self.xml.close("link");
    }

    fn visual(&mut self, visual: &Visual, frame: &Placement, named: &str) {
        let round =
            |radius: &f64, length: &f64| vec![("radius", number(*radius)), ("length", number(*length))];
        let shape = match &visual.shape {
            Shape::Box { size } => ("box", vec![("size", numbers(size))]),
            Shape::Sphere { radius } => ("sphere", vec![("radius", number(*radius))]),
            Shape::Cylinder { radius, length } => ("cylinder", round(radius, length)),
            Shape::Capsule { radius, length } => ("capsule", round(radius, length)),
            Shape::Mesh { file, scale } if *scale == [1.0; 3] => ("mesh", vec![("filename", file.clone())]),
            Shape::Mesh { file, scale } => {
                ("mesh", vec![("filename", file.clone()), ("scale", numbers(scale))])
            }
            Shape::Ellipsoid { .. } => return self.lose(named, "an ellipsoid"),
        };
        self.xml.open("visual", &[]);
        self.origin(&relative(frame, &visual.placement));
        self.xml.around("geometry", &[], (shape.0, &shape.1));
        if let Some(rgba) = visual.rgba {
            let next = format!("colour_{}", self.colours.len() + 1);
            let name = self.colours.entry(rgba.map(f64::to_bits)).or_insert(next).clone();
            self.xml.around("material", &[("name", name)], ("color", &[("rgba", numbers(&rgba))]));
        }
        self.xml.close("visual");
    }

    fn origin(&mut self, placement: &Placement) {
        if *placement != Placement::default() {
            let rpy = rpy_from_quaternion(placement.q);
            self.xml.leaf("origin", &[("xyz", numbers(&placement.p)), ("rpy", numbers(&rpy))]);
        }
    }

    /// A joint of the tree. `frame` is the parent's link frame in the parent's body frame.
    fn joint(&mut self, joint: &JointDescription, reversed: bool, frame: &Placement) {
        let axis = joint.axis.unwrap_or([0.0, 0.0, 1.0]);
        let (parent, child, placement, axis) = if reversed {
            // X_pc(q) = P J(q) C⁻¹, so X_cp(q) = C J(-q) P⁻¹, and J(-q) is J(q) about the opposite axis.
            (&joint.child, &joint.parent, &joint.child_placement, axis.map(|x| -x))
        } else {
            (&joint.parent, &joint.child, &joint.parent_placement, axis)
        };
        let Some(kind) = self.urdf_type(joint, reversed) else { return };
        self.lose_joint_parts(joint, kind);
        self.xml.open("joint", &[("name", joint.name.clone()), ("type", kind.into())]);
        self.origin(&relative(frame, placement));
        self.xml.leaf("parent", &[("link", parent.clone())]);
        self.xml.leaf("child", &[("link", child.clone())]);
        if !matches!(kind, "fixed" | "floating") {
            self.xml.leaf("axis", &[("xyz", numbers(&axis))]);
        }
        if matches!(kind, "revolute" | "prismatic" | "continuous") {
            let none = LimitsDescription::default();
            self.limit(joint, kind, joint.limits.as_ref().unwrap_or(&none));
            let (damping, friction) = (joint.damping.at(0), joint.friction.at(0));
            if damping != 0.0 || friction != 0.0 {
                self.xml.leaf("dynamics", &[("damping", number(damping)), ("friction", number(friction))]);
            }
        }
        if let Some(mimic) = &joint.mimic {
            let [multiplier, offset] = [mimic.multiplier, mimic.offset].map(number);
            let attributes = [("joint", mimic.joint.clone()), ("multiplier", multiplier), ("offset", offset)];
            self.xml.leaf("mimic", &attributes);
        }
        self.xml.close("joint");
    }

    /// The URDF name of a kind; an error if there is none.
    fn urdf_type(&mut self, joint: &JointDescription, reversed: bool) -> Option<&'static str> {
        let bounded = joint.limits.as_ref().is_some_and(|l| l.lower.is_some() || l.upper.is_some());
        let refused = |what: String| {
            let remedy = "replace it by revolute and prismatic joints, or write JSON (`leastaction/model/1`)";
            Diagnostic::error(element(joint), what, remedy)
        };
        match joint.kind {
            JointType::Fixed => Some("fixed"),
            JointType::Revolute | JointType::Continuous if bounded => Some("revolute"),
            JointType::Revolute | JointType::Continuous => Some("continuous"),
            JointType::Prismatic => Some("prismatic"),
            JointType::Planar | JointType::Floating if reversed => {
                let what =
                    format!("a {} joint can't be turned round: URDF needs its parent", joint.kind.name());
                self.lost.push(refused(what));
                None
            }
            JointType::Planar => Some("planar"),
            JointType::Floating => Some("floating"),
            JointType::Cylindrical | JointType::Universal | JointType::Spherical | JointType::PointOnLine => {
                self.lost.push(refused(format!("URDF has no {} joint", joint.kind.name())));
                None
            }
        }
    }

    fn lose_joint_parts(&mut self, joint: &JointDescription, kind: &str) {
        if joint.spring.is_some() {
            self.lose(element(joint), "springs");
        }
        if !joint.armature.is_zero() {
            self.lose(element(joint), "armature");
        }
        if !joint.actuators.is_empty() {
            self.lose(element(joint), "actuators");
        }
        let several = matches!(kind, "planar" | "floating");
        if several && !(joint.damping.is_zero() && joint.friction.is_zero()) {
            self.lose(element(joint), format!("damping or friction of a {kind} joint"));
        }
        if several && joint.limits.is_some() {
            self.lose(element(joint), format!("limits of a {kind} joint"));
        }
    }

    fn limit(&mut self, joint: &JointDescription, kind: &str, limits: &LimitsDescription) {
        if kind == "continuous" && limits.effort.is_none() && limits.velocity.is_none() {
            return;
        }
        let first = |bound: &Option<PerCoordinate>| bound.as_ref().map(|b| b.at(0));
        let mut bounds = vec![("effort", limits.effort, UNBOUNDED), ("velocity", limits.velocity, UNBOUNDED)];
        if kind != "continuous" {
            bounds.insert(0, ("upper", first(&limits.upper), UNBOUNDED));
            bounds.insert(0, ("lower", first(&limits.lower), -UNBOUNDED));
        }
        let mut attributes = Attributes::new();
        for (name, given, unbounded) in bounds {
            if given.is_none() && kind != "continuous" {
                let what = format!("a {kind} joint without `{name}` limit: {} is written", number(unbounded));
                self.lose(element(joint), what);
            }
            if given.is_some() || kind != "continuous" {
                attributes.push((name, number(given.unwrap_or(unbounded))));
            }
        }
        self.xml.leaf("limit", &attributes);
    }
}

/// `placement`, given in a body frame, as seen from `frame` of the same body.
fn relative(frame: &Placement, placement: &Placement) -> Placement {
    if *frame == Placement::default() { *placement } else { compose(&inverse(frame), placement) }
}

fn element(joint: &JointDescription) -> String {
    format!("joint `{}`", joint.name)
}

/// Numbers as URDF has them: there is no negative zero.
fn numbers(xs: &[f64]) -> String {
    xml_write::numbers(&xs.iter().map(|x| x + 0.0).collect::<Vec<_>>())
}

fn number(x: f64) -> String {
    numbers(&[x])
}
