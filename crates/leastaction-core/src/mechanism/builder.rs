//! [`MechanismBuilder`]: the only way to a [`Mechanism`].

use std::collections::{HashMap, HashSet};

use super::description::{
    BodyDescription, ConstraintDescription, JointDescription, JointRole, JointType, ModelDescription,
    PerCoordinate, Placement, StateDescription,
};
use super::joint::alignment;
use super::law_description::ActivationKind;
use super::problem::{ModelError, Problem};
use super::topology::spanning_tree;
use super::tree::Tree;
use super::validate::{Checker, NOT_SEMIDEFINITE, is_semidefinite, unit_length};
use super::{
    Activation, Actuator, Body, BodyId, Frame, InputLaw, Joint, JointId, Limits, Mechanism, Nonholonomic,
    NonholonomicKind, Push, SpeedLine, State, Thruster,
};
use crate::spatial::{Inertia, Pose, Quat, Sym3, Vec3};

/// What the name of a floating joint added by the builder ends with.
pub(super) const ADDED_FLOATING: &str = "_floating";

/// A half-made model. It collects, [`build`](Self::build) validates.
///
/// ```
/// use leastaction::mechanism::*;
/// let mut b = MechanismBuilder::new("pendulum");
/// b.body(BodyDescription { name: "rod".into(), mass: 1.0, com: [0.0, 0.0, -0.5], inertia: [0.083, 0.083, 1e-4, 0.0, 0.0, 0.0], ..Default::default() });
/// b.joint(JointDescription { axis: Some([1.0, 0.0, 0.0]), ..JointDescription::new("pivot", JointType::Revolute, "world", "rod") });
/// let mechanism = b.build()?;
/// assert_eq!((mechanism.nq(), mechanism.nv()), (1, 1));
/// # Ok::<(), ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MechanismBuilder {
    description: ModelDescription,
}

impl From<ModelDescription> for MechanismBuilder {
    fn from(description: ModelDescription) -> Self {
        Self { description }
    }
}

impl MechanismBuilder {
    /// An empty model with standard gravity.
    pub fn new(name: impl Into<String>) -> Self {
        Self { description: ModelDescription::new(name) }
    }

    /// Adds a body.
    pub fn body(&mut self, body: BodyDescription) -> &mut Self {
        self.description.bodies.push(body);
        self
    }

    /// Adds a joint.
    pub fn joint(&mut self, joint: JointDescription) -> &mut Self {
        self.description.joints.push(joint);
        self
    }

    /// Adds a named input.
    pub fn input(&mut self, name: impl Into<String>) -> &mut Self {
        self.description.inputs.push(name.into());
        self
    }

    /// Sets the gravitational acceleration.
    pub fn gravity(&mut self, gravity: [f64; 3]) -> &mut Self {
        self.description.gravity = gravity;
        self
    }

    /// The description so far.
    pub fn description_mut(&mut self) -> &mut ModelDescription {
        &mut self.description
    }

    /// Validates and builds; the warnings are dropped.
    ///
    /// # Errors
    /// Every problem of the model, if one of them is an error.
    pub fn build(&self) -> Result<Mechanism, ModelError> {
        self.build_with_warnings().map(|(mechanism, _)| mechanism)
    }

    /// Validates and builds, and hands over the warnings.
    ///
    /// # Errors
    /// Every problem of the model, if one of them is an error.
    pub fn build_with_warnings(&self) -> Result<(Mechanism, Vec<Problem>), ModelError> {
        build(&self.description)
    }
}

fn vec3(a: [f64; 3]) -> Vec3 {
    Vec3(a)
}

fn pose(x: &Placement) -> Pose {
    Pose::from_quat(Quat::from_slice(&x.q).normalized(), vec3(x.p))
}

fn unit(a: [f64; 3]) -> Vec3 {
    let a = Vec3(a);
    a * (1.0 / a.norm())
}

fn six(list: &PerCoordinate, nv: usize) -> [f64; 6] {
    std::array::from_fn(|i| if i < nv { list.at(i) } else { 0.0 })
}

fn build(model: &ModelDescription) -> Result<(Mechanism, Vec<Problem>), ModelError> {
    let mut checker = Checker::run(model);
    if checker.problems.has_errors() {
        return Err(ModelError { problems: checker.problems.finish() });
    }
    let topology = spanning_tree(model, &mut checker);
    if checker.problems.has_errors() {
        return Err(ModelError { problems: checker.problems.finish() });
    }

    // Bodies and tree joints share one numbering: body i is moved by joint i, parents come first.
    let mut id_of = vec![0usize; model.bodies.len()];
    for (i, edge) in topology.edges.iter().enumerate() {
        id_of[edge.body] = i;
    }
    let body_id = |name: &str| checker.bodies.get(name).map(|b| BodyId::new(id_of[*b]));
    let input_id = |name: &str| checker.inputs.get(name).copied().unwrap_or(0);

    let bodies = topology.edges.iter().map(|e| body(&model.bodies[e.body], &input_id)).collect::<Vec<_>>();
    let taken: HashSet<&str> = model.joints.iter().map(|j| j.name.as_str()).collect();
    let mut joints = Vec::with_capacity(topology.edges.len() + topology.loops.len());
    let (mut nq, mut nv) = (0, 0);
    for edge in &topology.edges {
        let mut joint = match edge.joint {
            Some(j) => {
                let mut description = model.joints[j].clone();
                if edge.reversed {
                    turn_round(&mut description);
                }
                joint(&description, JointRole::Tree, edge.reversed, &body_id, &input_id)
            }
            None => {
                let name = &model.bodies[edge.body].name;
                let mut joint_name = format!("{name}{ADDED_FLOATING}");
                while taken.contains(joint_name.as_str()) {
                    joint_name.push('_');
                }
                let mut description =
                    JointDescription::new(joint_name, JointType::Floating, super::WORLD, name);
                description.origin = model.bodies[edge.body].origin;
                joint(&description, JointRole::Tree, false, &body_id, &input_id)
            }
        };
        joint.q = nq;
        joint.v = nv;
        nq += joint.kind.nq();
        nv += joint.kind.nv();
        joints.push(joint);
    }
    for &j in &topology.loops {
        joints.push(joint(&model.joints[j], JointRole::Loop, false, &body_id, &input_id));
    }
    let laws = laws(model, &input_id);
    for (input, law) in
        model.laws.iter().filter(|law| law.rotor_inertia > 0.0).map(|law| (input_id(&law.input), law))
    {
        for joint in joints.iter_mut().filter(|joint| joint.kind.nq() == joint.kind.nv()) {
            for a in joint.actuators.iter().filter(|a| a.input == input) {
                joint.armature[a.coordinate] += law.rotor_inertia * a.gear * a.gear;
            }
        }
    }
    let constraints = model.constraints.iter().map(|c| nonholonomic(c, &body_id)).collect();
    let joint_index: HashMap<String, JointId> =
        joints.iter().enumerate().map(|(i, j)| (j.name.clone(), JointId::new(i))).collect();
    let frames = model
        .frames
        .iter()
        .map(|f| Frame { name: f.name.clone(), body: body_id(&f.body), placement: pose(&f.placement) })
        .collect();
    let (followers, tendons) = super::couple::resolve(model, &joints, &joint_index, &mut checker);
    let rows = super::row::rows(&joints, &followers, &tendons, true);
    let scene = super::scene::build(model, &bodies, &joints, &mut checker);
    let tree = Tree::new(&bodies, &joints);
    // Nodes with a body whose own inertia no body has: what is welded to it may make up for it.
    let bad =
        bodies.iter().zip(&tree.bodies).filter(|(body, _)| !is_semidefinite(body.about_com.0, body.mass));
    let mut suspects: Vec<usize> = bad.filter_map(|(_, at)| at.node).collect();
    suspects.dedup();
    for node in suspects.into_iter().map(|i| &tree.nodes[i]) {
        let inertia = node.inertia.about_com().0;
        if !is_semidefinite(inertia, node.inertia.mass) {
            let body = &bodies[node.body.index()];
            let (element, message) = (
                format!("body `{}`", body.name),
                format!(
                    "inertia {inertia:?} of it and all that is welded to it is not positive semidefinite"
                ),
            );
            checker.error(body.origin, element, message, NOT_SEMIDEFINITE);
        }
    }
    let body_index = bodies.iter().enumerate().map(|(i, b)| (b.name.clone(), BodyId::new(i))).collect();
    let mut mechanism = Mechanism {
        name: model.name.clone(),
        gravity: vec3(model.gravity),
        wind: vec3(model.wind),
        inputs: model.inputs.clone(),
        drives: super::Drive::all(&laws, &joints),
        bodies,
        joints,
        constraints,
        followers,
        tendons,
        rows,
        contacts: scene.contacts,
        contact_settings: model.contact.settings,
        pairs: scene.pairs,
        hulls: scene.hulls,
        frames,
        states: Default::default(),
        nq,
        nv,
        tree,
        body_index,
        joint_index,
    };
    for (name, description) in &model.states {
        match mechanism.state_from(description) {
            Ok(state) => {
                mechanism.states.insert(name.clone(), state);
            }
            Err(message) => {
                let element = format!("state `{name}`");
                checker.error(None, element, message, "name tree joints with their coordinates");
            }
        }
    }
    for (name, holder) in mechanism.shared_labels() {
        let joint = &mechanism.joints[mechanism.joint_index[name].index()];
        checker.error(
            joint.origin,
            format!("joint `{name}`"),
            format!("a coordinate of the {} joint `{}` has the same name", holder.kind.name(), holder.name),
            "rename one of the two joints: their columns of a trajectory could not be told apart",
        );
    }
    for joint in mechanism.degenerate_joints() {
        let joint = &mechanism.joints[joint.index()];
        checker.problems.warning(
            joint.origin,
            format!("joint `{}`", joint.name),
            "it moves no inertia: the mass matrix is singular, and `simulate` holds the joint",
            "give the body behind it mass, or the joint armature; `--density RHO` weighs shapes of a URDF",
        );
    }
    if checker.problems.has_errors() {
        return Err(ModelError { problems: checker.problems.finish() });
    }
    Ok((mechanism, checker.problems.finish()))
}

/// Law by input; an input without one is a force.
fn laws(model: &ModelDescription, input_id: &impl Fn(&str) -> usize) -> Vec<InputLaw> {
    const FREE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
    let mut laws = vec![InputLaw::PLAIN; model.inputs.len()];
    for law in &model.laws {
        let activation = law.activation.as_ref();
        laws[input_id(&law.input)] = InputLaw {
            gain: law.gain.coefficients(),
            bias: law.bias.coefficients(),
            control_range: law.control_range.unwrap_or(FREE),
            force_range: law.force_range.unwrap_or(FREE),
            speed_line: law.speed_line.map(|line| SpeedLine { stall: line.stall, free: line.free_speed }),
            activation: activation.map_or(Activation::None, |a| match a.kind {
                ActivationKind::Integrator => Activation::Integrator,
                ActivationKind::Filter => Activation::Filter { time: a.time_constant },
            }),
            activation_range: activation.and_then(|a| a.range).unwrap_or(FREE),
        };
    }
    laws
}

fn body(b: &BodyDescription, input_id: &impl Fn(&str) -> usize) -> Body {
    let com = vec3(b.com);
    let about_com = Sym3(b.inertia);
    Body {
        name: b.name.clone(),
        mass: b.mass,
        com,
        about_com,
        inertia: Inertia::from_com(b.mass, com, &about_com),
        drag: b.drag,
        thrusters: b
            .thrusters
            .iter()
            .map(|t| Thruster {
                input: input_id(&t.input),
                wrench: crate::spatial::Wrench::from_array(t.wrench),
            })
            .collect(),
        pushes: b
            .pushes
            .iter()
            .map(|p| Push {
                input: input_id(&p.input),
                wrench: crate::spatial::Wrench::from_array(p.wrench),
                point: vec3(p.point),
            })
            .collect(),
        visuals: b.visuals.clone(),
        origin: b.origin,
    }
}

/// Parent and child change places; the coordinates stay because the axis is turned.
fn turn_round(joint: &mut JointDescription) {
    std::mem::swap(&mut joint.parent, &mut joint.child);
    std::mem::swap(&mut joint.parent_placement, &mut joint.child_placement);
    joint.axis = Some(joint.axis.unwrap_or([0.0, 0.0, 1.0]).map(|x| -x));
}

fn joint(
    j: &JointDescription,
    role: JointRole,
    reversed: bool,
    body_id: &impl Fn(&str) -> Option<BodyId>,
    input_id: &impl Fn(&str) -> usize,
) -> Joint {
    let axis = unit(j.axis.unwrap_or([0.0, 0.0, 1.0]));
    // Made exactly perpendicular: the file's rounding must not become a shear.
    let axis2 = j.axis2.map_or(Vec3([1.0, 0.0, 0.0]), |b| {
        let b = Vec3(b) - axis * axis.dot(Vec3(b));
        b * (1.0 / b.norm())
    });
    let nv = j.kind.nv();
    let turn = Pose::new(alignment(j.kind, axis, axis2), Vec3::zero());
    let limits = j.limits.as_ref().map(|l| Limits {
        lower: std::array::from_fn(|i| l.lower.as_ref().map_or(f64::NEG_INFINITY, |x| x.at(i))),
        upper: std::array::from_fn(|i| l.upper.as_ref().map_or(f64::INFINITY, |x| x.at(i))),
        velocity: l.velocity.unwrap_or(f64::INFINITY),
        effort: l.effort_range.map_or(l.effort.unwrap_or(f64::INFINITY), |[low, high]| high.max(-low)),
        effort_range: l.effort_range.unwrap_or_else(|| {
            let effort = l.effort.unwrap_or(f64::INFINITY);
            [-effort, effort]
        }),
        restitution: l.restitution.unwrap_or(0.0),
    });
    // Only a loop joint may have the world as child; it is turned so that the child is a body.
    let (parent, child) = (body_id(&j.parent), body_id(&j.child));
    let mut made = Joint {
        name: j.name.clone(),
        kind: j.kind,
        role,
        parent,
        child: child.unwrap_or(BodyId(0)),
        parent_frame: pose(&j.parent_placement) * turn,
        child_frame: pose(&j.child_placement) * turn,
        turn: turn.rot,
        axis,
        axis2,
        reversed,
        q: 0,
        v: 0,
        stiffness: j.spring.as_ref().map_or([0.0; 6], |s| six(&s.stiffness, nv)),
        rest: j.spring.as_ref().map_or([0.0; 6], |s| six(&s.rest, nv)),
        damping: six(&j.damping, nv),
        armature: six(&j.armature, nv),
        friction: six(&j.friction, nv),
        limits,
        actuators: j
            .actuators
            .iter()
            .map(|a| Actuator { input: input_id(&a.input), coordinate: a.coordinate, gear: a.gear })
            .collect(),
        mimic: if j.kind == JointType::Fixed { None } else { j.mimic.clone() },
        origin: j.origin,
    };
    if let (None, Some(other)) = (child, parent) {
        let mut turned = j.clone();
        turn_round(&mut turned);
        made = joint(&turned, role, true, body_id, input_id);
        made.child = other;
        made.parent = None;
    }
    made
}

fn nonholonomic(c: &ConstraintDescription, body_id: &impl Fn(&str) -> Option<BodyId>) -> Nonholonomic {
    let body = body_id(c.body()).unwrap_or(BodyId(0));
    let kind = match c {
        ConstraintDescription::KnifeEdge { direction, .. } => {
            NonholonomicKind::KnifeEdge { direction: unit(*direction) }
        }
        ConstraintDescription::RollingDisc { axis, radius, .. } => {
            NonholonomicKind::RollingDisc { axis: unit(*axis), radius: *radius }
        }
    };
    Nonholonomic { name: c.name().to_owned(), body, kind }
}

impl Mechanism {
    /// A state from joint names; joints that are not named stay neutral and at rest.
    ///
    /// # Errors
    /// A sentence naming the joint that does not exist, is a loop joint, or has another number of coordinates.
    pub fn state_from(&self, description: &StateDescription) -> Result<State, String> {
        let mut state = self.neutral_state();
        state.t = description.t;
        for (which, values) in [("q", &description.q), ("v", &description.v)] {
            for (name, value) in values {
                let joint = self.joint_by_name(name).ok_or_else(|| {
                    let near = super::problem::nearest(name, self.joints.iter().map(|j| j.name.as_str()));
                    match near {
                        Some(near) => format!("joint `{name}` does not exist; did you mean `{near}`?"),
                        None => format!("joint `{name}` does not exist"),
                    }
                })?;
                let j = &self.joints[joint.index()];
                if j.role == JointRole::Loop {
                    return Err(format!("joint `{name}` closes a loop: it has no coordinates of its own"));
                }
                let range = if which == "q" { self.q_range(joint) } else { self.v_range(joint) };
                let value = value.as_slice();
                if value.len() != range.len() {
                    return Err(format!(
                        "{which} of joint `{name}` has {} values, a {} joint needs {}",
                        value.len(),
                        j.kind.name(),
                        range.len()
                    ));
                }
                if let Some(bad) = value.iter().find(|x| !x.is_finite()) {
                    return Err(format!("{which} of joint `{name}` has the value {bad}"));
                }
                if which == "q" && j.kind.nq() > j.kind.nv() {
                    let norm = unit_length(&value[..4]).map_err(|norm| {
                        format!("q of joint `{name}` has a quaternion of length {norm}; give one of length 1")
                    })?;
                    let target = &mut state.q[range];
                    target.copy_from_slice(value);
                    // Scaled only if it needs it, so that stored states survive bit for bit.
                    if (norm - 1.0).abs() > 1e-14 {
                        target[..4].iter_mut().for_each(|x| *x /= norm);
                    }
                } else if which == "q" {
                    state.q[range].copy_from_slice(value);
                } else {
                    state.v[range].copy_from_slice(value);
                }
            }
        }
        for (values, target) in [(&description.act, &mut state.act), (&description.inputs, &mut state.inputs)]
        {
            for (name, value) in values {
                let input = self.inputs.iter().position(|input| input == name);
                let input = input.ok_or_else(|| format!("input `{name}` does not exist"))?;
                if !value.is_finite() {
                    return Err(format!("input `{name}` has the value {value}"));
                }
                target.resize(self.inputs.len(), 0.0);
                target[input] = *value;
            }
        }
        Ok(state)
    }

    /// Joints with one coordinate, called like a coordinate of another joint, and that joint.
    fn shared_labels(&self) -> impl Iterator<Item = (&str, &Joint)> {
        self.tree_joints().map(|id| self.joint(id)).filter(|joint| joint.kind.nv() == 1).filter_map(|joint| {
            let (stem, part) = joint.name.rsplit_once('.')?;
            let holder = self.joint_by_name(stem).map(|id| self.joint(id))?;
            let parts = [holder.kind.position_parts(), holder.kind.velocity_parts()];
            let shared = holder.role == JointRole::Tree && parts.iter().any(|parts| parts.contains(&part));
            shared.then_some((joint.name.as_str(), holder))
        })
    }

    /// Tree joints that move no inertia at all, where the mass matrix is singular in every pose.
    #[must_use]
    pub fn degenerate_joints(&self) -> Vec<JointId> {
        let nodes = &self.tree.nodes;
        let mut composite: Vec<f64> = vec![0.0; nodes.len()];
        let mut rotational: Vec<f64> = vec![0.0; nodes.len()];
        for (i, node) in nodes.iter().enumerate().rev() {
            composite[i] += node.inertia.mass;
            rotational[i] += node.inertia.rot.0[0] + node.inertia.rot.0[1] + node.inertia.rot.0[2];
            if let Some(parent) = node.parent {
                composite[parent] += composite[i];
                rotational[parent] += rotational[i] + composite[i];
            }
        }
        nodes
            .iter()
            .enumerate()
            .filter(|(i, node)| {
                let joint = &self.joints[node.joint.index()];
                let armature = joint.armature[..joint.kind.nv()].iter().all(|a| *a > 0.0);
                let none = match node.kind {
                    JointType::Prismatic => composite[*i] == 0.0,
                    _ => composite[*i] == 0.0 && rotational[*i] == 0.0,
                };
                none && !armature
            })
            .map(|(_, node)| node.joint)
            .collect()
    }
}
