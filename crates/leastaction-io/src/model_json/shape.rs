//! The form of `leastaction/model/1` as tables: what the walk checks and the published schema must agree with.

/// What a value must be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A number.
    Number,
    /// A whole number, zero or more.
    Count,
    /// Text.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A list of so many numbers.
    Vector(usize),
    /// A list of numbers of any length.
    Numbers,
    /// A number, or a list of numbers of any length.
    NumberOrNumbers,
    /// A list of values of one shape.
    List(&'static Shape),
    /// An object with free keys and values of one shape.
    Map(&'static Shape),
    /// An object with these keys.
    Struct(&'static [Field]),
    /// An object whose `type` says which keys it has.
    ByType(&'static [(&'static str, &'static [Field])]),
}

/// A key of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) shape: Shape,
    pub(super) required: bool,
    /// `null` says the same as leaving the key out.
    pub(super) nullable: bool,
}

const fn must(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, required: true, nullable: false }
}

const fn may(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, required: false, nullable: false }
}

const fn optional(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, required: false, nullable: true }
}

/// The whole model.
pub(super) const MODEL: Shape = Shape::Struct(&[
    must("schema", Shape::Text),
    must("name", Shape::Text),
    may("gravity", Shape::Vector(3)),
    may("wind", Shape::Vector(3)),
    may("inputs", Shape::List(&Shape::Text)),
    may("laws", Shape::List(&LAW)),
    must("bodies", Shape::List(&BODY)),
    may("joints", Shape::List(&JOINT)),
    may("constraints", Shape::List(&CONSTRAINT)),
    may("couplings", Shape::List(&COUPLING)),
    may("tendons", Shape::List(&TENDON)),
    may("motions", Shape::List(&MOTION)),
    may("mocap", Shape::List(&Shape::Text)),
    may("frames", Shape::List(&FRAME)),
    may("surfaces", Shape::List(&SURFACE)),
    may("half_spaces", Shape::List(&HALF_SPACE)),
    may("contact", CONTACT),
    may("states", Shape::Map(&STATE)),
]);

const PLACEMENT: Shape = Shape::Struct(&[may("p", Shape::Vector(3)), may("q", Shape::Vector(4))]);

const BODY: Shape = Shape::Struct(&[
    must("name", Shape::Text),
    may("mass", Shape::Number),
    may("com", Shape::Vector(3)),
    may("inertia", Shape::Vector(6)),
    may("drag", Shape::Number),
    may("thrusters", Shape::List(&THRUSTER)),
    may("pushes", Shape::List(&PUSH)),
    may("visuals", Shape::List(&VISUAL)),
]);

const THRUSTER: Shape = Shape::Struct(&[must("input", Shape::Text), must("wrench", Shape::Vector(6))]);

const PUSH: Shape = Shape::Struct(&[
    must("input", Shape::Text),
    must("wrench", Shape::Vector(6)),
    may("point", Shape::Vector(3)),
]);

const VISUAL: Shape =
    Shape::Struct(&[must("shape", SOLID), may("placement", PLACEMENT), optional("rgba", Shape::Vector(4))]);

const SOLID: Shape = Shape::ByType(&[
    ("box", &[must("size", Shape::Vector(3))]),
    ("sphere", &[must("radius", Shape::Number)]),
    ("cylinder", &[must("radius", Shape::Number), must("length", Shape::Number)]),
    ("capsule", &[must("radius", Shape::Number), must("length", Shape::Number)]),
    ("ellipsoid", &[must("radii", Shape::Vector(3))]),
    ("mesh", &[must("file", Shape::Text), may("scale", Shape::Vector(3))]),
]);

/// Names of the joint types.
pub(super) const JOINT_TYPES: &[&str] = &[
    "fixed",
    "revolute",
    "continuous",
    "prismatic",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "floating",
    "point_on_line",
];

const JOINT: Shape = Shape::Struct(&[
    must("name", Shape::Text),
    must("type", Shape::OneOf(JOINT_TYPES)),
    must("parent", Shape::Text),
    must("child", Shape::Text),
    may("parent_placement", PLACEMENT),
    may("child_placement", PLACEMENT),
    optional("axis", Shape::Vector(3)),
    optional("axis2", Shape::Vector(3)),
    optional("role", Shape::OneOf(&["tree", "loop"])),
    optional("spring", SPRING),
    may("damping", Shape::NumberOrNumbers),
    may("armature", Shape::NumberOrNumbers),
    may("friction", Shape::NumberOrNumbers),
    optional("limits", LIMITS),
    may("actuators", Shape::List(&ACTUATOR)),
    optional("mimic", MIMIC),
]);

const SPRING: Shape =
    Shape::Struct(&[must("stiffness", Shape::NumberOrNumbers), may("rest", Shape::NumberOrNumbers)]);

const LIMITS: Shape = Shape::Struct(&[
    optional("lower", Shape::NumberOrNumbers),
    optional("upper", Shape::NumberOrNumbers),
    optional("velocity", Shape::Number),
    optional("effort", Shape::Number),
    optional("effort_range", Shape::Vector(2)),
    optional("restitution", Shape::Number),
]);

const ACTUATOR: Shape =
    Shape::Struct(&[must("input", Shape::Text), may("coordinate", Shape::Count), may("gear", Shape::Number)]);

const LAW: Shape = Shape::Struct(&[
    must("input", Shape::Text),
    may("gain", Shape::NumberOrNumbers),
    may("bias", Shape::NumberOrNumbers),
    optional("control_range", Shape::Vector(2)),
    optional("force_range", Shape::Vector(2)),
    optional("speed_line", SPEED_LINE),
    may("rotor_inertia", Shape::Number),
    optional("activation", ACTIVATION),
]);

const SPEED_LINE: Shape = Shape::Struct(&[must("stall", Shape::Number), must("free_speed", Shape::Number)]);

const ACTIVATION: Shape = Shape::Struct(&[
    must("kind", Shape::OneOf(&["integrator", "filter"])),
    may("time_constant", Shape::Number),
    optional("range", Shape::Vector(2)),
]);

const MIMIC: Shape = Shape::Struct(&[
    must("joint", Shape::Text),
    may("multiplier", Shape::Number),
    may("offset", Shape::Number),
]);

const CONSTRAINT: Shape = Shape::ByType(&[
    (
        "knife_edge",
        &[must("name", Shape::Text), must("body", Shape::Text), must("direction", Shape::Vector(3))],
    ),
    (
        "rolling_disc",
        &[
            must("name", Shape::Text),
            must("body", Shape::Text),
            must("axis", Shape::Vector(3)),
            must("radius", Shape::Number),
        ],
    ),
]);

const COUPLING: Shape = Shape::Struct(&[
    may("name", Shape::Text),
    must("joint", Shape::Text),
    optional("of", Shape::Text),
    may("polynomial", Shape::Numbers),
    may("reference", Shape::Vector(2)),
    may("sum", Shape::List(&TERM)),
    may("value", Shape::Number),
]);

const MOTION: Shape = Shape::Struct(&[
    must("joint", Shape::Text),
    optional("speed", Shape::Number),
    may("from", Shape::Number),
    may("times", Shape::Numbers),
    may("positions", Shape::Numbers),
]);

const TERM: Shape = Shape::Struct(&[must("joint", Shape::Text), must("coefficient", Shape::Number)]);

const TENDON: Shape = Shape::Struct(&[
    must("name", Shape::Text),
    must("terms", Shape::List(&TERM)),
    may("stiffness", Shape::Number),
    may("rest", Shape::Number),
    may("damping", Shape::Number),
    optional("lower", Shape::Number),
    optional("upper", Shape::Number),
]);

const FRAME: Shape =
    Shape::Struct(&[must("name", Shape::Text), must("body", Shape::Text), may("placement", PLACEMENT)]);

const SURFACE: Shape = Shape::Struct(&[
    may("name", Shape::Text),
    must("link", Shape::Text),
    must("shape", TOUCHING),
    may("placement", PLACEMENT),
    may("friction", Shape::Number),
    may("restitution", Shape::Number),
    may("bits", Shape::Vector(2)),
    may("priority", Shape::Number),
]);

const TOUCHING: Shape = Shape::ByType(&[
    ("box", &[must("size", Shape::Vector(3))]),
    ("sphere", &[must("radius", Shape::Number)]),
    ("capsule", &[must("radius", Shape::Number), must("length", Shape::Number)]),
    ("cylinder", &[must("radius", Shape::Number), must("length", Shape::Number)]),
    ("ellipsoid", &[must("radii", Shape::Vector(3))]),
    ("points", &[must("points", Shape::List(&Shape::Vector(3)))]),
]);

const HALF_SPACE: Shape = Shape::Struct(&[
    may("name", Shape::Text),
    must("normal", Shape::Vector(3)),
    may("offset", Shape::Number),
    may("friction", Shape::Number),
    may("restitution", Shape::Number),
    may("bits", Shape::Vector(2)),
    may("priority", Shape::Number),
]);

const CONTACT: Shape = Shape::Struct(&[
    may("impacts", Shape::OneOf(&["stepped", "located"])),
    may("sliding", Shape::OneOf(&["symmetric", "implicit"])),
    may("turns", Shape::OneOf(&["stepped", "located"])),
    may("pairs", Shape::List(&Shape::List(&Shape::Text))),
    may("exclude", Shape::List(&Shape::List(&Shape::Text))),
    may("closed_gap", Shape::Number),
    may("rest_speed", Shape::Number),
    may("slide_speed", Shape::Number),
    may("recovery_speed", Shape::Number),
    may("located_gap", Shape::Number),
    may("max_events", Shape::Count),
]);

const STATE: Shape = Shape::Struct(&[
    may("t", Shape::Number),
    may("q", Shape::Map(&Shape::NumberOrNumbers)),
    may("v", Shape::Map(&Shape::NumberOrNumbers)),
    may("act", Shape::Map(&Shape::Number)),
    may("inputs", Shape::Map(&Shape::Number)),
]);
