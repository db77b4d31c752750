//! The mechanism: immutable model of bodies, joints and what acts on them.
//!
//! [`ModelDescription`] is data, [`MechanismBuilder`] validates it, [`Mechanism`] never changes afterwards and is
//! shared by all engines. [`Tree`] is its view for engines in joint coordinates.

mod builder;
mod contact;
mod couple;
mod description;
mod drive;
mod follower;
mod id;
mod joint;
mod law;
mod law_description;
mod motion;
mod parameter;
mod problem;
mod row;
pub mod samples;
mod scene;
mod state;
mod surface_description;
mod topology;
mod tree;
mod validate;
mod validate_laws;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

pub use builder::MechanismBuilder;
pub use contact::Contact;
pub use description::*;
pub use drive::{Drive, DriveEntry};
pub use follower::{Follower, FollowerLaw, Scalar};
pub use id::{BodyId, FrameId, JointId};
pub use joint::triad;
pub use law::{Activation, InputLaw, LawSlopes, SpeedLine, cut};
pub use law_description::{
    ActivationDescription, ActivationKind, Affine, LawDescription, SpeedLineDescription,
};
pub use motion::Motion;
pub use parameter::{Parameter, UnknownParameter};
#[doc(hidden)]
pub use problem::Problems;
pub use problem::{ModelError, Problem, Severity, nearest};
pub use row::{Member, Row, RowOf, turn};
pub use state::{State, WarmStart};
pub use surface_description::{
    ContactDescription, DEFAULT_FRICTION, HalfSpaceDescription, SurfaceDescription, SurfaceShape,
};
pub use tree::{Attachment, Node, NodeDrag, NodePush, NodeThruster, Tree};

use crate::contact::{ContactSettings, Hull};
use crate::spatial::{Inertia, Mat3, Pose, Sym3, Vec3, Wrench};

/// A rigid body.
#[derive(Clone, Debug)]
pub struct Body {
    /// Name.
    pub name: String,
    /// Mass.
    pub mass: f64,
    /// Centre of mass in the body frame.
    pub com: Vec3,
    /// Rotational inertia about the centre of mass, body axes.
    pub about_com: Sym3,
    /// Spatial inertia about the body origin.
    pub inertia: Inertia,
    /// Coefficient of linear drag at the centre of mass.
    pub drag: f64,
    /// Thrusters.
    pub thrusters: Vec<Thruster>,
    /// Pushes along world axes.
    pub pushes: Vec<Push>,
    /// Shapes to draw.
    pub visuals: Vec<Visual>,
    /// Where it was read from.
    pub origin: Option<Origin>,
}

/// A body-fixed wrench scaled by an input.
#[derive(Clone, Copy, Debug)]
pub struct Thruster {
    /// Index of the input.
    pub input: usize,
    /// Wrench per unit input, body frame, about the body origin.
    pub wrench: Wrench,
}

/// A wrench along world axes at a point of a body, scaled by an input.
#[derive(Clone, Copy, Debug)]
pub struct Push {
    /// Index of the input.
    pub input: usize,
    /// Wrench per unit input, world axes, about the point.
    pub wrench: Wrench,
    /// The point, body frame.
    pub point: Vec3,
}

/// An input acting on a velocity coordinate.
#[derive(Clone, Copy, Debug)]
pub struct Actuator {
    /// Index of the input.
    pub input: usize,
    /// Velocity coordinate within the joint.
    pub coordinate: usize,
    /// Generalised force per unit input.
    pub gear: f64,
}

/// Limits of a joint; infinite where there is none.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Lower position limit per coordinate.
    pub lower: [f64; 6],
    /// Upper position limit per coordinate.
    pub upper: [f64; 6],
    /// Speed limit.
    pub velocity: f64,
    /// Limit of the actuator force: the larger side of its range.
    pub effort: f64,
    /// Range that the sum of the actuator forces on a coordinate is cut at.
    pub effort_range: [f64; 2],
    /// Part of the speed that a position limit gives back.
    pub restitution: f64,
}

/// A joint. Its frames are *aligned*: turned so that the axis is z (see `joint.rs`).
#[derive(Clone, Debug)]
pub struct Joint {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: JointType,
    /// Tree or loop.
    pub role: JointRole,
    /// Parent body; `None` is the ground.
    pub parent: Option<BodyId>,
    /// Child body.
    pub child: BodyId,
    /// Aligned joint frame in the parent body frame.
    pub parent_frame: Pose,
    /// Aligned joint frame in the child body frame.
    pub child_frame: Pose,
    /// The rotation that aligned both frames: `parent_frame = placement * turn`.
    pub turn: Mat3,
    /// Unit axis in the joint frame as given.
    pub axis: Vec3,
    /// Second axis of a universal joint, in the joint frame as given.
    pub axis2: Vec3,
    /// True if the builder exchanged parent and child.
    pub reversed: bool,
    /// First position coordinate (tree joints).
    pub q: usize,
    /// First velocity coordinate (tree joints).
    pub v: usize,
    /// Spring stiffness per coordinate.
    pub stiffness: [f64; 6],
    /// Spring rest per coordinate.
    pub rest: [f64; 6],
    /// Viscous damping per coordinate.
    pub damping: [f64; 6],
    /// Armature per coordinate.
    pub armature: [f64; 6],
    /// Coulomb friction per coordinate.
    pub friction: [f64; 6],
    /// Limits.
    pub limits: Option<Limits>,
    /// Actuators.
    pub actuators: Vec<Actuator>,
    /// Mimic relation.
    pub mimic: Option<MimicDescription>,
    /// Where it was read from.
    pub origin: Option<Origin>,
}

/// A fixed tendon: its length is a sum of joint coordinates.
#[derive(Clone, Debug)]
pub struct Tendon {
    /// Name.
    pub name: String,
    /// Coordinates and factors of the length.
    pub terms: Vec<(Scalar, f64)>,
    /// Spring stiffness.
    pub stiffness: f64,
    /// Length at which the spring rests.
    pub rest: f64,
    /// Viscous damping.
    pub damping: f64,
    /// Shortest length.
    pub lower: f64,
    /// Longest length.
    pub upper: f64,
    /// Where it was read from.
    pub origin: Option<Origin>,
}

impl Tendon {
    /// Force along the length at positions `q` and velocities `v`.
    pub fn force<T: crate::scalar::Real>(&self, q: &[T], v: &[T]) -> T {
        let mut force = T::from_f64(self.stiffness * self.rest);
        for (at, a) in &self.terms {
            force -= q[at.q] * (a * self.stiffness) + v[at.v] * (a * self.damping);
        }
        force
    }
}

/// A nonholonomic element on a body.
#[derive(Clone, Debug)]
pub struct Nonholonomic {
    /// Name.
    pub name: String,
    /// The body.
    pub body: BodyId,
    /// What it does.
    pub kind: NonholonomicKind,
}

/// Kinds of nonholonomic elements; directions are unit vectors in the body frame.
#[derive(Clone, Copy, Debug)]
pub enum NonholonomicKind {
    /// The centre of mass does not move along a direction.
    KnifeEdge {
        /// The direction.
        direction: Vec3,
    },
    /// A disc that rolls on z = 0.
    RollingDisc {
        /// Axis of the disc.
        axis: Vec3,
        /// Radius.
        radius: f64,
    },
}

/// A named frame fixed in a body.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Name.
    pub name: String,
    /// The body; `None` is the world.
    pub body: Option<BodyId>,
    /// Placement in the body frame.
    pub placement: Pose,
}

/// An immutable mechanism.
///
/// Body `i` is moved by joint `i`; parents come before children; loop joints follow the tree joints.
#[derive(Clone, Debug)]
pub struct Mechanism {
    name: String,
    gravity: Vec3,
    wind: Vec3,
    inputs: Vec<String>,
    drives: Vec<Drive>,
    bodies: Vec<Body>,
    joints: Vec<Joint>,
    constraints: Vec<Nonholonomic>,
    followers: Vec<Follower>,
    tendons: Vec<Tendon>,
    rows: Vec<Row>,
    contacts: Vec<Contact>,
    contact_settings: ContactSettings,
    pairs: Vec<[String; 2]>,
    hulls: Vec<Arc<Hull>>,
    frames: Vec<Frame>,
    states: BTreeMap<String, State>,
    nq: usize,
    nv: usize,
    tree: Tree,
    body_index: HashMap<String, BodyId>,
    joint_index: HashMap<String, JointId>,
}

impl Joint {
    /// Label of a velocity coordinate in trajectory columns: `JOINT` or `JOINT.part`.
    #[must_use]
    pub fn coordinate_label(&self, part: usize) -> String {
        match self.kind.velocity_parts().get(part) {
            Some(name) => format!("{}.{name}", self.name),
            None => self.name.clone(),
        }
    }
}

impl Mechanism {
    /// Name of the mechanism.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Gravitational acceleration.
    #[must_use]
    pub fn gravity(&self) -> Vec3 {
        self.gravity
    }
    /// Velocity of the medium.
    #[must_use]
    pub fn wind(&self) -> Vec3 {
        self.wind
    }
    /// Names of the inputs.
    #[must_use]
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }
    /// The bodies, parents first.
    #[must_use]
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }
    /// All joints: tree joints in body order, then loop joints.
    #[must_use]
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }
    /// Nonholonomic elements.
    #[must_use]
    pub fn constraints(&self) -> &[Nonholonomic] {
        &self.constraints
    }
    /// Coordinates that are functions of others, leaders first.
    #[must_use]
    pub fn followers(&self) -> &[Follower] {
        &self.followers
    }
    /// Fixed tendons.
    #[must_use]
    pub fn tendons(&self) -> &[Tendon] {
        &self.tendons
    }
    /// Contacts: which point of which body may touch what.
    #[must_use]
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }
    /// How the model asks for contacts to be stepped.
    #[must_use]
    pub fn contact_settings(&self) -> ContactSettings {
        self.contact_settings
    }
    /// Names of the two surfaces of each pair of shapes that may touch.
    #[must_use]
    pub fn contact_pairs(&self) -> &[[String; 2]] {
        &self.pairs
    }
    /// Convex polyhedra that contacts name by their numbers.
    #[must_use]
    pub fn hulls(&self) -> &[Arc<Hull>] {
        &self.hulls
    }
    /// Contacts of your own instead of those of the model's surfaces; none lets the bodies pass through each other.
    pub fn set_contacts(&mut self, contacts: Vec<Contact>) {
        self.contacts = contacts;
    }
    /// Scalars with dry friction or limits that are held, in the order of the coordinates, tendons last.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
    /// Limits of positions are known but do not act any more.
    pub fn release_limits(&mut self) {
        self.rows = row::rows(&self.joints, &self.followers, &self.tendons, false);
    }
    /// As [`release_limits`](Self::release_limits), of the rows that `released` picks.
    pub fn release_limits_of(&mut self, released: impl Fn(&Row) -> bool) {
        for row in self.rows.iter_mut().filter(|row| released(row)) {
            (row.lower, row.upper) = (f64::NEG_INFINITY, f64::INFINITY);
        }
        self.rows.retain(|row| row.rubs || row.lower > f64::NEG_INFINITY || row.upper < f64::INFINITY);
    }
    /// Puts the coordinates that follow others, and their rates, where those they follow say; the answer is by how much a
    /// value changed, at most.
    pub fn follow(&self, q: &mut [f64], v: &mut [f64]) -> f64 {
        self.follow_at(0.0, q, v)
    }
    /// The same at a time, which says where driven joints are.
    pub fn follow_at(&self, t: f64, q: &mut [f64], v: &mut [f64]) -> f64 {
        let mut moved = 0.0f64;
        for follower in &self.followers {
            let (mut value, mut rate) = (follower.law.value(q), 0.0);
            follower.law.slopes(q, |leader, slope| rate += slope * v[leader.v]);
            if let Some(motion) = follower.law.motion() {
                [value, rate, _] = motion.at(t);
            }
            let at = follower.at;
            moved = moved.max((value - q[at.q]).abs()).max((rate - v[at.v]).abs());
            (q[at.q], v[at.v]) = (value, rate);
        }
        moved
    }
    /// Joints that move as given, in the order of the followers.
    pub fn driven(&self) -> impl Iterator<Item = (&Follower, &Motion)> {
        self.followers.iter().filter_map(|follower| Some((follower, follower.law.motion()?)))
    }
    /// Named frames.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }
    /// Named states.
    #[must_use]
    pub fn states(&self) -> &BTreeMap<String, State> {
        &self.states
    }
    /// The state a simulation starts from when nothing else is said: `start` if the model has it, else neutral.
    #[must_use]
    pub fn start_state(&self) -> State {
        self.states.get(samples::START).cloned().unwrap_or_else(|| self.neutral_state())
    }
    /// Number of position coordinates.
    #[must_use]
    pub fn nq(&self) -> usize {
        self.nq
    }
    /// Number of velocity coordinates.
    #[must_use]
    pub fn nv(&self) -> usize {
        self.nv
    }
    /// Number of bodies.
    #[must_use]
    pub fn nb(&self) -> usize {
        self.bodies.len()
    }
    /// Number of inputs.
    #[must_use]
    pub fn nu(&self) -> usize {
        self.inputs.len()
    }
    /// A body.
    #[must_use]
    pub fn body(&self, id: BodyId) -> &Body {
        &self.bodies[id.index()]
    }
    /// A joint.
    #[must_use]
    pub fn joint(&self, id: JointId) -> &Joint {
        &self.joints[id.index()]
    }
    /// Ids of the tree joints, parents first.
    pub fn tree_joints(&self) -> impl Iterator<Item = JointId> + use<> {
        (0..self.bodies.len()).map(JointId::new)
    }
    /// Ids of the loop joints.
    pub fn loop_joints(&self) -> impl Iterator<Item = JointId> + use<> {
        (self.bodies.len()..self.joints.len()).map(JointId::new)
    }
    /// Ids of the bodies.
    pub fn body_ids(&self) -> impl Iterator<Item = BodyId> + use<> {
        (0..self.bodies.len()).map(BodyId::new)
    }
    /// Position coordinates of a tree joint.
    #[must_use]
    pub fn q_range(&self, joint: JointId) -> Range<usize> {
        let j = self.joint(joint);
        if j.role == JointRole::Loop { 0..0 } else { j.q..j.q + j.kind.nq() }
    }
    /// Velocity coordinates of a tree joint.
    #[must_use]
    pub fn v_range(&self, joint: JointId) -> Range<usize> {
        let j = self.joint(joint);
        if j.role == JointRole::Loop { 0..0 } else { j.v..j.v + j.kind.nv() }
    }
    /// A body by name.
    #[must_use]
    pub fn body_by_name(&self, name: &str) -> Option<BodyId> {
        self.body_index.get(name).copied()
    }
    /// A joint by name.
    #[must_use]
    pub fn joint_by_name(&self, name: &str) -> Option<JointId> {
        self.joint_index.get(name).copied()
    }
    /// A frame by name.
    #[must_use]
    pub fn frame_by_name(&self, name: &str) -> Option<FrameId> {
        self.frames.iter().position(|f| f.name == name).map(FrameId::new)
    }
    /// The view for engines in joint coordinates.
    #[must_use]
    #[inline]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }
    /// Total mass.
    #[must_use]
    pub fn mass(&self) -> f64 {
        self.bodies.iter().map(|b| b.mass).sum()
    }
    /// Labels of the position coordinates in trajectory columns: `JOINT` or `JOINT.part`.
    #[must_use]
    pub fn q_labels(&self) -> Vec<String> {
        self.labels(JointType::position_parts)
    }
    /// Labels of the velocity coordinates in trajectory columns.
    #[must_use]
    pub fn v_labels(&self) -> Vec<String> {
        self.labels(JointType::velocity_parts)
    }
    /// The rows' names in trajectory columns.
    #[must_use]
    pub fn row_labels(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name.clone()).collect()
    }
    fn labels(&self, parts: impl Fn(JointType) -> &'static [&'static str]) -> Vec<String> {
        let mut labels = Vec::new();
        for joint in self.tree_joints().map(|id| self.joint(id)) {
            match parts(joint.kind) {
                [] if joint.kind.nv() == 1 => labels.push(joint.name.clone()),
                parts => labels.extend(parts.iter().map(|part| format!("{}.{part}", joint.name))),
            }
        }
        labels
    }
}
