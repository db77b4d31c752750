//! [`Sensor`]: a quantity that a model file asks for by name.

use crate::mechanism::Placement;

/// A quantity of a state, or of the step that led there, under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// The name in the file.
    pub name: String,
    /// What it measures.
    pub of: Measured,
}

/// What a sensor measures. Bodies may be `world`; placements are in the body's frame.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Measured {
    /// Coordinate of a hinge or slide, counted from `-reference`.
    Position {
        /// The joint.
        joint: String,
        /// Its coordinate in the file where ours is zero.
        reference: f64,
    },
    /// Velocity of a hinge or slide.
    Velocity {
        /// The joint.
        joint: String,
    },
    /// Quaternion of a ball.
    Turn {
        /// The joint.
        joint: String,
    },
    /// Angular velocity of a ball, in the child's axes.
    Spin {
        /// The joint.
        joint: String,
    },
    /// Position of a frame in the world.
    FramePosition {
        /// The body that carries it.
        body: String,
        /// Where it is there.
        placement: Placement,
    },
    /// Quaternion of a frame in the world, of the two the one with `w ≥ 0`.
    FrameTurn {
        /// The body that carries it.
        body: String,
        /// Where it is there.
        placement: Placement,
    },
    /// An axis of a frame in the world.
    FrameAxis {
        /// The body that carries it.
        body: String,
        /// Where it is there.
        placement: Placement,
        /// 0 to 2.
        axis: usize,
    },
    /// Velocity of the origin of a frame.
    FrameVelocity {
        /// The body that carries it.
        body: String,
        /// Where it is there.
        placement: Placement,
        /// In its own axes, not in the world's.
        own_axes: bool,
    },
    /// Angular velocity of a frame.
    FrameSpin {
        /// The body that carries it.
        body: String,
        /// Where it is there.
        placement: Placement,
        /// In its own axes, not in the world's.
        own_axes: bool,
    },
    /// Centre of mass of bodies.
    SubtreeCentre {
        /// The bodies.
        bodies: Vec<String>,
    },
    /// Mean force of an input over the step.
    ActuatorForce {
        /// The input.
        input: String,
    },
    /// Time.
    Clock,
}

impl Measured {
    /// Names of its numbers; one without a name if it is a number.
    #[must_use]
    pub fn parts(&self) -> &'static [&'static str] {
        match self {
            Self::Position { .. } | Self::Velocity { .. } | Self::ActuatorForce { .. } | Self::Clock => &[""],
            Self::Turn { .. } | Self::FrameTurn { .. } => &["w", "x", "y", "z"],
            Self::Spin { .. }
            | Self::FramePosition { .. }
            | Self::FrameAxis { .. }
            | Self::FrameVelocity { .. }
            | Self::FrameSpin { .. }
            | Self::SubtreeCentre { .. } => &["x", "y", "z"],
        }
    }
}
