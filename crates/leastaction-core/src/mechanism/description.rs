//! [`ModelDescription`]: a mechanism as data, before validation.
//!
//! Every file reader (our JSON, URDF, MJCF, reference data) fills this one structure, and
//! [`MechanismBuilder`](super::MechanismBuilder) is the only way from here to a [`Mechanism`](super::Mechanism).
//! Its serde form *is* the model format `leastaction/model/1`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::law_description::LawDescription;
use super::surface_description::{ContactDescription, HalfSpaceDescription, SurfaceDescription};

/// The schema key of the model format.
pub const MODEL_SCHEMA: &str = "leastaction/model/1";

/// Name that refers to the ground wherever a body is named.
pub const WORLD: &str = "world";

/// Where an element stands in the files a model was read from; `None` when it was made by code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// Index of the file in the reader's list of sources (0 is the file the user named).
    pub file: u32,
    /// Byte offset of the element in that file.
    pub offset: u32,
}

/// A number for every coordinate of a joint, or one number for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PerCoordinate {
    /// The same value for every coordinate.
    One(f64),
    /// One value per velocity coordinate, in coordinate order.
    Each(Vec<f64>),
}

impl Default for PerCoordinate {
    fn default() -> Self {
        Self::One(0.0)
    }
}

impl PerCoordinate {
    /// Value for coordinate `i`; a list that is too short gives zero (the builder refuses such lists).
    #[must_use]
    pub fn at(&self, i: usize) -> f64 {
        match self {
            Self::One(x) => *x,
            Self::Each(xs) => xs.get(i).copied().unwrap_or(0.0),
        }
    }

    /// True if every entry is exactly zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match self {
            Self::One(x) => *x == 0.0,
            Self::Each(xs) => xs.iter().all(|x| *x == 0.0),
        }
    }

    /// All stored numbers.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        match self {
            Self::One(x) => std::slice::from_ref(x).iter().copied(),
            Self::Each(xs) => xs.iter().copied(),
        }
    }
}

/// A rigid placement: position `p` in metres and unit quaternion `q = (w, x, y, z)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Position of the placed frame's origin.
    #[serde(default)]
    pub p: [f64; 3],
    /// Orientation of the placed frame, `w, x, y, z`.
    #[serde(default = "identity_quaternion")]
    pub q: [f64; 4],
}

fn identity_quaternion() -> [f64; 4] {
    [1.0, 0.0, 0.0, 0.0]
}

impl Default for Placement {
    fn default() -> Self {
        Self { p: [0.0; 3], q: identity_quaternion() }
    }
}

impl Placement {
    /// A pure translation.
    #[must_use]
    pub fn at(p: [f64; 3]) -> Self {
        Self { p, ..Self::default() }
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A whole model as data: what `leastaction/model/1` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelDescription {
    /// Always [`MODEL_SCHEMA`].
    pub schema: String,
    /// Name of the mechanism.
    pub name: String,
    /// Gravitational acceleration in the world frame.
    #[serde(default = "standard_gravity")]
    pub gravity: [f64; 3],
    /// Velocity of the surrounding medium, for drag.
    #[serde(default, skip_serializing_if = "is_zero3")]
    pub wind: [f64; 3],
    /// Names of the inputs, in the order of the input vector.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// How inputs become forces; an input without a law is a force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub laws: Vec<LawDescription>,
    /// The bodies, in any order.
    pub bodies: Vec<BodyDescription>,
    /// The joints, tree and loop alike, in any order.
    #[serde(default)]
    pub joints: Vec<JointDescription>,
    /// Nonholonomic elements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<ConstraintDescription>,
    /// Coordinates that are functions of others (MJCF `equality joint`, fixed tendons held at a length).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub couplings: Vec<CouplingDescription>,
    /// Fixed tendons: sums of joint coordinates with a spring, a damper or limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tendons: Vec<TendonDescription>,
    /// Joints that move as given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub motions: Vec<MotionDescription>,
    /// Bodies fixed to the world whose pose may be given from outside (MJCF `mocap`), as `--drive` does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mocap: Vec<String>,
    /// Named frames fixed in bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameDescription>,
    /// Shapes of bodies that touch others and the ground.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surfaces: Vec<SurfaceDescription>,
    /// Fixed ground.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub half_spaces: Vec<HalfSpaceDescription>,
    /// Which surfaces touch, and how contacts are stepped.
    #[serde(default, skip_serializing_if = "ContactDescription::is_default")]
    pub contact: ContactDescription,
    /// Named states (keyframes).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, StateDescription>,
}

fn standard_gravity() -> [f64; 3] {
    [0.0, 0.0, -9.81]
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

fn is_zero2(x: &[f64; 2]) -> bool {
    *x == [0.0; 2]
}

fn is_zero3(x: &[f64; 3]) -> bool {
    *x == [0.0; 3]
}

impl ModelDescription {
    /// An empty model with standard gravity.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            schema: MODEL_SCHEMA.into(),
            name: name.into(),
            gravity: standard_gravity(),
            wind: [0.0; 3],
            inputs: Vec::new(),
            laws: Vec::new(),
            bodies: Vec::new(),
            joints: Vec::new(),
            constraints: Vec::new(),
            couplings: Vec::new(),
            tendons: Vec::new(),
            motions: Vec::new(),
            mocap: Vec::new(),
            frames: Vec::new(),
            surfaces: Vec::new(),
            half_spaces: Vec::new(),
            contact: ContactDescription::default(),
            states: BTreeMap::new(),
        }
    }
}

/// One rigid body. Its frame may sit anywhere; com and inertia are given in body axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyDescription {
    /// Unique name; `world` is reserved.
    pub name: String,
    /// Mass in kg.
    #[serde(default)]
    pub mass: f64,
    /// Centre of mass in the body frame.
    #[serde(default)]
    pub com: [f64; 3],
    /// Rotational inertia about the centre of mass in body axes: `xx, yy, zz, xy, xz, yz`.
    #[serde(default)]
    pub inertia: [f64; 6],
    /// Coefficient of linear drag at the centre of mass, N·s/m, relative to the wind.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drag: f64,
    /// Body-fixed wrenches scaled by an input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thrusters: Vec<ThrusterDescription>,
    /// Wrenches along world axes scaled by an input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pushes: Vec<PushDescription>,
    /// Shapes to draw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visuals: Vec<Visual>,
    /// Where the body was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

/// A wrench fixed in the body frame, about the body origin, times an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThrusterDescription {
    /// Name of the input.
    pub input: String,
    /// Wrench per unit input: torque then force, body frame, about the body origin.
    pub wrench: [f64; 6],
}

/// A wrench along the axes of the world at a point of a body, times an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PushDescription {
    /// Name of the input.
    pub input: String,
    /// Wrench per unit input: torque then force, world axes, about the point.
    pub wrench: [f64; 6],
    /// The point, body frame.
    #[serde(default, skip_serializing_if = "is_zero3")]
    pub point: [f64; 3],
}

/// A shape to draw, fixed in a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visual {
    /// The shape.
    pub shape: Shape,
    /// Placement in the body frame.
    #[serde(default, skip_serializing_if = "Placement::is_default")]
    pub placement: Placement,
    /// Colour and opacity in 0..1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rgba: Option<[f64; 4]>,
}

/// Shapes a visual may have. Long axes (cylinder, capsule) lie along z, as in URDF and MJCF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// A box with full edge lengths.
    Box {
        /// Edge lengths.
        size: [f64; 3],
    },
    /// A sphere.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A cylinder.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Full length.
        length: f64,
    },
    /// A cylinder with half-sphere caps; `length` is without the caps.
    Capsule {
        /// Radius.
        radius: f64,
        /// Length of the cylindrical part.
        length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Semi-axes.
        radii: [f64; 3],
    },
    /// A mesh kept as a reference.
    Mesh {
        /// Path as the file gives it, resolved where a search path led to a file.
        file: String,
        /// Scale per axis.
        #[serde(default = "unit_scale")]
        scale: [f64; 3],
    },
}

fn unit_scale() -> [f64; 3] {
    [1.0; 3]
}

/// Kinds of joints as files name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointType {
    /// No freedom.
    Fixed,
    /// Rotation about `axis`.
    Revolute,
    /// Rotation about `axis` without limits (a revolute joint to every engine).
    Continuous,
    /// Translation along `axis`.
    Prismatic,
    /// Rotation about and translation along `axis`.
    Cylindrical,
    /// Rotation about the parent's `axis`, then about the child's `axis2`.
    Universal,
    /// Translations along the triad vectors t1, t2 of `axis`, then rotation about `axis`.
    Planar,
    /// Any rotation.
    Spherical,
    /// Any motion.
    Floating,
    /// The child's joint origin stays on the line through the parent's along `axis` (loop joints only).
    PointOnLine,
}

impl JointType {
    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Revolute => "revolute",
            Self::Continuous => "continuous",
            Self::Prismatic => "prismatic",
            Self::Cylindrical => "cylindrical",
            Self::Universal => "universal",
            Self::Planar => "planar",
            Self::Spherical => "spherical",
            Self::Floating => "floating",
            Self::PointOnLine => "point_on_line",
        }
    }

    /// Number of velocity coordinates.
    #[must_use]
    pub fn nv(self) -> usize {
        match self {
            Self::Fixed => 0,
            Self::Revolute | Self::Continuous | Self::Prismatic => 1,
            Self::Cylindrical | Self::Universal => 2,
            Self::Planar | Self::Spherical => 3,
            Self::PointOnLine => 4,
            Self::Floating => 6,
        }
    }

    /// Number of position coordinates.
    #[must_use]
    pub fn nq(self) -> usize {
        match self {
            Self::Spherical => 4,
            Self::Floating => 7,
            Self::PointOnLine => 0,
            other => other.nv(),
        }
    }
}

/// Whether a joint belongs to the spanning tree or closes a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointRole {
    /// Part of the spanning tree: its coordinates are part of `q`.
    Tree,
    /// Closes a loop: a constraint between two bodies that the tree already reaches.
    Loop,
}

/// One joint between two bodies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointDescription {
    /// Unique name.
    pub name: String,
    /// Kind of joint.
    #[serde(rename = "type")]
    pub kind: JointType,
    /// Name of the parent body or `world`.
    pub parent: String,
    /// Name of the child body.
    pub child: String,
    /// Joint frame in the parent body frame.
    #[serde(default, skip_serializing_if = "Placement::is_default")]
    pub parent_placement: Placement,
    /// Joint frame in the child body frame.
    #[serde(default, skip_serializing_if = "Placement::is_default")]
    pub child_placement: Placement,
    /// Axis in the joint frame (normalised by the builder); default z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// Second axis of a universal joint, in the joint frame, perpendicular to `axis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis2: Option<[f64; 3]>,
    /// Force the joint into the tree or out of it; `None` lets the builder choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<JointRole>,
    /// Linear spring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spring: Option<SpringDescription>,
    /// Viscous damping per coordinate.
    #[serde(default, skip_serializing_if = "PerCoordinate::is_zero")]
    pub damping: PerCoordinate,
    /// Rotor inertia: adds `½ a v²` to the kinetic energy.
    #[serde(default, skip_serializing_if = "PerCoordinate::is_zero")]
    pub armature: PerCoordinate,
    /// Coulomb friction.
    #[serde(default, skip_serializing_if = "PerCoordinate::is_zero")]
    pub friction: PerCoordinate,
    /// Limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsDescription>,
    /// Inputs that act on a coordinate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actuators: Vec<ActuatorDescription>,
    /// Coordinate tied to another joint's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mimic: Option<MimicDescription>,
    /// Where the joint was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

impl JointDescription {
    /// True if it fixes the body of that name to the world.
    #[must_use]
    pub fn holds_still(&self, body: &str) -> bool {
        let in_tree = self.role != Some(JointRole::Loop);
        in_tree && self.kind == JointType::Fixed && self.parent == super::WORLD && self.child == body
    }

    /// A joint with default placements, along z, without forces.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        kind: JointType,
        parent: impl Into<String>,
        child: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            parent: parent.into(),
            child: child.into(),
            parent_placement: Placement::default(),
            child_placement: Placement::default(),
            axis: None,
            axis2: None,
            role: None,
            spring: None,
            damping: PerCoordinate::default(),
            armature: PerCoordinate::default(),
            friction: PerCoordinate::default(),
            limits: None,
            actuators: Vec::new(),
            mimic: None,
            origin: None,
        }
    }
}

/// Spring force `-stiffness (q - rest)`; on rotations the potential is `k (3 - tr R) / 2`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpringDescription {
    /// Stiffness.
    pub stiffness: PerCoordinate,
    /// Coordinate at rest (zero for spherical and floating joints).
    #[serde(default)]
    pub rest: PerCoordinate,
}

/// Limits of the coordinates of a joint. A missing entry means no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsDescription {
    /// Lower limit of the position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<PerCoordinate>,
    /// Upper limit of the position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<PerCoordinate>,
    /// Limit of the speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub velocity: Option<f64>,
    /// Limit of the actuator force, the same in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<f64>,
    /// Range of the actuator force where its sides differ; in place of `effort`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort_range: Option<[f64; 2]>,
    /// Part of the speed that a limit gives back, from 0 to 1; none for 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restitution: Option<f64>,
}

/// An input acting on one velocity coordinate of a joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActuatorDescription {
    /// Name of the input.
    pub input: String,
    /// Index of the velocity coordinate.
    #[serde(default)]
    pub coordinate: usize,
    /// Generalised force per unit input.
    #[serde(default = "one")]
    pub gear: f64,
}

fn one() -> f64 {
    1.0
}

/// `q = multiplier * q(joint) + offset`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MimicDescription {
    /// The joint that leads.
    pub joint: String,
    /// Factor.
    #[serde(default = "one")]
    pub multiplier: f64,
    /// Offset.
    #[serde(default)]
    pub offset: f64,
}

/// `q(joint) - ref = Σ c_i (q(of) - ref)^i` (MJCF `equality joint`), or `Σ a q = value` over the joints of a sum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CouplingDescription {
    /// Name, may be empty.
    #[serde(default)]
    pub name: String,
    /// The joint that follows.
    pub joint: String,
    /// The joint that leads; `None` fixes the follower at the constant term.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Polynomial coefficients, constant first, at most five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub polynomial: Vec<f64>,
    /// Values of follower and leader that the polynomial counts from.
    #[serde(default, skip_serializing_if = "is_zero2")]
    pub reference: [f64; 2],
    /// Joints and factors of a sum, the follower among them; instead of a polynomial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sum: Vec<TermDescription>,
    /// What the sum is held at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub value: f64,
    /// Where it was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

/// A joint that moves as given, whatever it takes: at a speed, or through a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MotionDescription {
    /// A joint of the tree with one coordinate.
    pub joint: String,
    /// Its speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Its position at time zero, with a speed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from: f64,
    /// Times of a table, increasing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<f64>,
    /// Its positions there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<f64>,
    /// Where it was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

/// A joint coordinate times a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermDescription {
    /// A joint with one coordinate.
    pub joint: String,
    /// Factor.
    pub coefficient: f64,
}

/// A fixed tendon: its length is a sum of joint coordinates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TendonDescription {
    /// Name.
    pub name: String,
    /// The length: joints and factors.
    pub terms: Vec<TermDescription>,
    /// Spring stiffness.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stiffness: f64,
    /// Length at which the spring rests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rest: f64,
    /// Viscous damping.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damping: f64,
    /// Shortest length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// Longest length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Where it was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

/// Nonholonomic elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ConstraintDescription {
    /// The centre of mass does not move along a direction fixed in the body.
    KnifeEdge {
        /// Name.
        name: String,
        /// The body.
        body: String,
        /// Direction in the body frame.
        direction: [f64; 3],
    },
    /// A disc centred at the centre of mass that rolls on the plane z = 0 without slipping.
    RollingDisc {
        /// Name.
        name: String,
        /// The body.
        body: String,
        /// Axis of the disc in the body frame.
        axis: [f64; 3],
        /// Radius.
        radius: f64,
    },
}

impl ConstraintDescription {
    /// Name of the element.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::KnifeEdge { name, .. } | Self::RollingDisc { name, .. } => name,
        }
    }

    /// Name of the body it acts on.
    #[must_use]
    pub fn body(&self) -> &str {
        match self {
            Self::KnifeEdge { body, .. } | Self::RollingDisc { body, .. } => body,
        }
    }
}

/// A frame fixed in a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameDescription {
    /// Unique name.
    pub name: String,
    /// The body, or `world`.
    pub body: String,
    /// Placement in the body frame.
    #[serde(default)]
    pub placement: Placement,
}

/// One number or a list of numbers: the coordinates of one joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Coordinates {
    /// A single coordinate.
    One(f64),
    /// Several coordinates.
    Many(Vec<f64>),
}

impl Coordinates {
    /// As a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        match self {
            Self::One(x) => std::slice::from_ref(x),
            Self::Many(xs) => xs,
        }
    }
}

impl From<&[f64]> for Coordinates {
    fn from(xs: &[f64]) -> Self {
        if let [x] = xs { Self::One(*x) } else { Self::Many(xs.to_vec()) }
    }
}

/// A state by joint name; joints that are not named stay at zero (rotations at the identity).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateDescription {
    /// Time.
    #[serde(default)]
    pub t: f64,
    /// Positions by joint.
    #[serde(default)]
    pub q: BTreeMap<String, Coordinates>,
    /// Velocities by joint.
    #[serde(default)]
    pub v: BTreeMap<String, Coordinates>,
    /// States of actuators that have one, by input.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub act: BTreeMap<String, f64>,
    /// Values that inputs have from here on if nothing else is said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, f64>,
}
