//! A description as URDF, with a word for everything URDF can't hold.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;

use crate::Diagnostic;
use crate::frames::{compose, inverse, rotate, rotate_inertia, rotation, rpy_from_quaternion};
use crate::mechanism::{
    BodyDescription, JointDescription, JointRole, JointType, LimitsDescription, ModelDescription,
    PerCoordinate, Placement, Shape, Visual, WORLD,
};

/// URDF asks for bounds that a model may not have.
const UNBOUNDED: f64 = 1e9;

/// Writes a model as URDF. The ground becomes the root link `world`.
///
/// A URDF link frame is the frame of the joint that leads to it, so bodies are expressed anew in that frame. A
/// warning names what the text does not hold; an error means that the text is not a usable robot (a joint that the
/// tree needs could not be written).
#[must_use]
pub fn write_urdf(model: &ModelDescription) -> (String, Vec<Diagnostic>) {
    let mut writer = Writer { text: String::new(), lost: Vec::new(), colours: BTreeMap::new() };
    writer.model(model);
    (writer.text, writer.lost)
}

/// Where a body hangs: its joint, and whether the joint was met from its child's side.
#[derive(Clone, Copy)]
struct Edge {
    joint: usize,
    reversed: bool,
}

struct Writer {
    text: String,
    lost: Vec<Diagnostic>,
    /// Material names by the bits of the colour.
    colours: BTreeMap<[u64; 4], String>,
}

impl Writer {
    fn lose(&mut self, element: impl Into<String>, what: impl Into<String>) {
        let remedy = "write `leastaction/model/1` (JSON) to keep it";
        self.lost.push(Diagnostic::warning(element, format!("URDF can't hold {}", what.into()), remedy));
    }

    fn model(&mut self, model: &ModelDescription) {
        let index: HashMap<&str, usize> =
            model.bodies.iter().enumerate().map(|(i, b)| (b.name.as_str(), i)).collect();
        let edges = spanning_tree(model, &index);
        self.lose_model_parts(model);
        // Link frame in the body frame.
        let frames: Vec<Placement> = edges
            .iter()
            .map(|edge| match edge {
                Some(Edge { joint, reversed: false }) => model.joints[*joint].child_placement,
                Some(Edge { joint, reversed: true }) => model.joints[*joint].parent_placement,
                None => Placement::default(),
            })
            .collect();
        let mut in_tree: Vec<Option<bool>> = vec![None; model.joints.len()];
        for edge in edges.iter().flatten() {
            in_tree[edge.joint] = Some(edge.reversed);
        }

        let _ = writeln!(self.text, "<?xml version=\"1.0\"?>");
        let _ = writeln!(self.text, "<robot name=\"{}\">", escaped(&model.name));
        let _ = writeln!(self.text, "  <link name=\"{WORLD}\"/>");
        for (body, frame) in model.bodies.iter().zip(&frames) {
            self.link(body, frame);
        }
        for (i, joint) in model.joints.iter().enumerate() {
            match in_tree[i] {
                None => self.lose(element(joint), "a joint that closes a loop"),
                Some(reversed) => {
                    let parent = if reversed { &joint.child } else { &joint.parent };
                    let frame = index.get(parent.as_str()).map(|p| frames[*p]).unwrap_or_default();
                    self.joint(joint, reversed, &frame);
                }
            }
        }
        for (body, edge) in model.bodies.iter().zip(&edges) {
            if edge.is_none() {
                let joint = JointDescription::new(
                    format!("{}_floating", body.name),
                    JointType::Floating,
                    WORLD,
                    &*body.name,
                );
                self.joint(&joint, false, &Placement::default());
            }
        }
        self.text.push_str("</robot>\n");
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
        if !body.thrusters.is_empty() {
            self.lose(named.as_str(), "thrusters");
        }
        let massless = body.mass == 0.0 && body.inertia == [0.0; 6] && body.com == [0.0; 3];
        if massless && body.visuals.is_empty() {
            let _ = writeln!(self.text, "  <link name=\"{}\"/>", escaped(&body.name));
            return;
        }
        let _ = writeln!(self.text, "  <link name=\"{}\">", escaped(&body.name));
        if !massless {
            let (com, inertia) = if *frame == Placement::default() {
                (body.com, body.inertia)
            } else {
                let back = inverse(frame);
                let com = rotate(&rotation(back.q), body.com);
                (std::array::from_fn(|i| back.p[i] + com[i]), rotate_inertia(back.q, body.inertia))
            };
            let [xx, yy, zz, xy, xz, yz] = inertia.map(number);
            let _ = writeln!(
                self.text,
                "    <inertial>\n      <origin xyz=\"{}\" rpy=\"0 0 0\"/>\n      <mass value=\"{}\"/>\n      \
                 <inertia ixx=\"{xx}\" ixy=\"{xy}\" ixz=\"{xz}\" iyy=\"{yy}\" iyz=\"{yz}\" izz=\"{zz}\"/>\n    \
                 </inertial>",
                numbers(&com),
                number(body.mass),
            );
        }
        for visual in &body.visuals {
            self.visual(visual, frame, &named);
        }
        let _ = writeln!(self.text, "  </link>");
    }

    fn visual(&mut self, visual: &Visual, frame: &Placement, named: &str) {
        let shape = match &visual.shape {
            Shape::Box { size } => format!("<box size=\"{}\"/>", numbers(size)),
            Shape::Sphere { radius } => format!("<sphere radius=\"{}\"/>", number(*radius)),
            Shape::Cylinder { radius, length } => {
                format!("<cylinder radius=\"{}\" length=\"{}\"/>", number(*radius), number(*length))
            }
            Shape::Capsule { radius, length } => {
                format!("<capsule radius=\"{}\" length=\"{}\"/>", number(*radius), number(*length))
            }
            Shape::Mesh { file, scale } if *scale == [1.0; 3] => {
                format!("<mesh filename=\"{}\"/>", escaped(file))
            }
            Shape::Mesh { file, scale } => {
                format!("<mesh filename=\"{}\" scale=\"{}\"/>", escaped(file), numbers(scale))
            }
            Shape::Ellipsoid { .. } => return self.lose(named, "an ellipsoid"),
        };
        let placement = relative(frame, &visual.placement);
        let _ = writeln!(self.text, "    <visual>");
        self.origin(&placement, "      ");
        let _ = writeln!(self.text, "      <geometry>{shape}</geometry>");
        if let Some(rgba) = visual.rgba {
            let next = format!("colour_{}", self.colours.len() + 1);
            let name = self.colours.entry(rgba.map(f64::to_bits)).or_insert(next);
            let _ = writeln!(
                self.text,
                "      <material name=\"{name}\"><color rgba=\"{}\"/></material>",
                numbers(&rgba)
            );
        }
        let _ = writeln!(self.text, "    </visual>");
    }

    fn origin(&mut self, placement: &Placement, indent: &str) {
        if *placement == Placement::default() {
            return;
        }
        let rpy = rpy_from_quaternion(placement.q);
        let _ = writeln!(
            self.text,
            "{indent}<origin xyz=\"{}\" rpy=\"{}\"/>",
            numbers(&placement.p),
            numbers(&rpy)
        );
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
        let name = escaped(&joint.name);
        let _ = writeln!(self.text, "  <joint name=\"{name}\" type=\"{kind}\">");
        self.origin(&relative(frame, placement), "    ");
        let _ = writeln!(self.text, "    <parent link=\"{}\"/>", escaped(parent));
        let _ = writeln!(self.text, "    <child link=\"{}\"/>", escaped(child));
        if !matches!(kind, "fixed" | "floating") {
            let _ = writeln!(self.text, "    <axis xyz=\"{}\"/>", numbers(&axis));
        }
        if matches!(kind, "revolute" | "prismatic" | "continuous") {
            let none = LimitsDescription::default();
            self.limit(joint, kind, joint.limits.as_ref().unwrap_or(&none));
            let (damping, friction) = (joint.damping.at(0), joint.friction.at(0));
            if damping != 0.0 || friction != 0.0 {
                let _ = writeln!(
                    self.text,
                    "    <dynamics damping=\"{}\" friction=\"{}\"/>",
                    number(damping),
                    number(friction)
                );
            }
        }
        if let Some(mimic) = &joint.mimic {
            let _ = writeln!(
                self.text,
                "    <mimic joint=\"{}\" multiplier=\"{}\" offset=\"{}\"/>",
                escaped(&mimic.joint),
                number(mimic.multiplier),
                number(mimic.offset)
            );
        }
        let _ = writeln!(self.text, "  </joint>");
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
        let mut attributes = String::new();
        for (name, given, unbounded) in bounds {
            if given.is_none() && kind != "continuous" {
                let what = format!("a {kind} joint without `{name}` limit: {} is written", number(unbounded));
                self.lose(element(joint), what);
            }
            if given.is_some() || kind != "continuous" {
                let _ = write!(attributes, " {name}=\"{}\"", number(given.unwrap_or(unbounded)));
            }
        }
        let _ = writeln!(self.text, "    <limit{attributes}/>");
    }
}

/// The tree that the builder takes: breadth first from the world in the order of the joints; a body that a joint of
/// role `tree` leads to is left to that joint. A body out of reach starts a tree of its own and has no edge.
fn spanning_tree(model: &ModelDescription, index: &HashMap<&str, usize>) -> Vec<Option<Edge>> {
    let ground = model.bodies.len();
    let find = |name: &str| if name == WORLD { Some(ground) } else { index.get(name).copied() };
    let mut at: Vec<Vec<(usize, usize, bool)>> = vec![Vec::new(); ground + 1];
    let mut reserved: Vec<Option<usize>> = vec![None; ground + 1];
    let mut is_child = vec![false; ground + 1];
    for (j, joint) in model.joints.iter().enumerate() {
        if joint.role == Some(JointRole::Loop) || joint.kind == JointType::PointOnLine {
            continue;
        }
        if let (Some(parent), Some(child)) = (find(&joint.parent), find(&joint.child)) {
            at[parent].push((j, child, false));
            at[child].push((j, parent, true));
            is_child[child] = true;
            if joint.role == Some(JointRole::Tree) {
                reserved[child].get_or_insert(j);
            }
        }
    }
    let mut edges: Vec<Option<Edge>> = vec![None; ground];
    let mut reached = vec![false; ground + 1];
    let (roots, others): (Vec<usize>, Vec<usize>) = (0..ground).partition(|body| !is_child[*body]);
    for start in std::iter::once(ground).chain(roots).chain(others) {
        if std::mem::replace(&mut reached[start], true) {
            continue;
        }
        let mut queue = VecDeque::from([start]);
        while let Some(body) = queue.pop_front() {
            for &(joint, other, reversed) in &at[body] {
                if reached[other] || reserved[other].is_some_and(|owner| owner != joint) {
                    continue;
                }
                reached[other] = true;
                edges[other] = Some(Edge { joint, reversed });
                queue.push_back(other);
            }
        }
    }
    edges
}

/// `placement`, given in a body frame, as seen from `frame` of the same body.
fn relative(frame: &Placement, placement: &Placement) -> Placement {
    if *frame == Placement::default() { *placement } else { compose(&inverse(frame), placement) }
}

fn element(joint: &JointDescription) -> String {
    format!("joint `{}`", joint.name)
}

/// The shortest text that reads back to the same bits.
fn number(x: f64) -> String {
    let text = format!("{:?}", x + 0.0);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn numbers(xs: &[f64]) -> String {
    xs.iter().map(|x| number(*x)).collect::<Vec<_>>().join(" ")
}

/// Text for an attribute value.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
