//! [`Quantity`]: what can be asked of a motion: which kind, of which body, in which frame, differentiated how often.

use crate::mechanism::{BodyId, FrameId, Mechanism};
use crate::spatial::{Mat3, Pose, Vec3};

/// Kinds of quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuantityKind {
    /// Coordinates of all joints; their derivatives are those of the velocity where a joint turns freely.
    Joint,
    /// Pose of a target; its Jacobian is that of the tangent (angular, linear).
    Pose,
    /// Position of the target's origin in the world.
    Point,
    /// Orientation of a target; its Jacobian is that of the angular tangent. Evaluated at many samples it is the
    /// distance `Log(R_refᵀ R)` from a reference.
    Orientation,
    /// Twist of a target.
    Velocity,
    /// Momentum of the target's body.
    Momentum,
    /// Momentum of everything behind the target's joint.
    JointMomentum,
    /// Inertial minus gravitational wrench of the target's body.
    LinkForce,
    /// Wrench that the target's joint transmits.
    JointForce,
    /// All joint torques.
    Torque,
    /// Centre of mass of everything that moves.
    Com,
    /// Total momentum about the world origin.
    TotalMomentum,
    /// Total momentum about the centre of mass.
    CentroidalMomentum,
}

impl QuantityKind {
    /// Kinds that the command knows, with their names; joint coordinates are the motion itself.
    pub const ALL: [(&'static str, Self); 12] = [
        ("pose", Self::Pose),
        ("point", Self::Point),
        ("orientation", Self::Orientation),
        ("velocity", Self::Velocity),
        ("momentum", Self::Momentum),
        ("joint-momentum", Self::JointMomentum),
        ("link-force", Self::LinkForce),
        ("joint-force", Self::JointForce),
        ("torque", Self::Torque),
        ("com", Self::Com),
        ("total-momentum", Self::TotalMomentum),
        ("centroidal-momentum", Self::CentroidalMomentum),
    ];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, q)| *q == self).map_or("joint", |(name, _)| name)
    }

    /// True if it belongs to a body or frame.
    #[must_use]
    pub fn needs_target(self) -> bool {
        use QuantityKind::{CentroidalMomentum, Com, Joint, Torque, TotalMomentum};
        !matches!(self, Joint | Torque | Com | TotalMomentum | CentroidalMomentum)
    }

    /// Highest derivative of the configuration in its value: 0 for poses, 1 for velocities, 2 for forces.
    fn level(self) -> usize {
        match self {
            Self::Joint | Self::Pose | Self::Point | Self::Orientation | Self::Com => 0,
            Self::LinkForce | Self::JointForce | Self::Torque => 2,
            _ => 1,
        }
    }

    /// How many coefficients it has with `n` velocity coefficients.
    pub(crate) fn count(self, n: usize) -> usize {
        n + 1 - self.level()
    }

    /// Force order a workspace needs for coefficient `order`.
    #[must_use]
    pub fn force_order(self, order: usize) -> i32 {
        let highest = i32::try_from(order.saturating_add(self.level())).unwrap_or(i32::MAX);
        (highest - 2).max(-1)
    }
}

/// Axes and point of reference of a vector quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum QuantityFrame {
    /// The target's own frame.
    #[default]
    Local,
    /// World axes, about the world origin.
    World,
}

/// Something whose motion can be asked for: a frame on a body or on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    pub(crate) body: Option<BodyId>,
    /// Where the frame is on the body; `None` for the body frame itself.
    pub(crate) placement: Option<Pose>,
}

impl Target {
    /// The frame of a body.
    #[must_use]
    pub fn body(id: BodyId) -> Self {
        Self { body: Some(id), placement: None }
    }

    /// A named frame of a mechanism.
    #[must_use]
    pub fn frame(mechanism: &Mechanism, id: FrameId) -> Self {
        let frame = &mechanism.frames()[id.index()];
        Self { body: frame.body, placement: Some(frame.placement) }
    }

    /// The same target seen at another frame, placed by `placement` in the present one.
    #[must_use]
    pub fn offset(&self, placement: Pose) -> Self {
        Self { placement: Some(self.placement.map_or(placement, |own| own * placement)), ..*self }
    }

    /// The same target seen at the point `r` of its frame.
    #[must_use]
    pub fn at_point(&self, r: Vec3) -> Self {
        self.offset(Pose::new(Mat3::identity(), r))
    }
}

/// What is asked: a kind, of which target, in which frame, differentiated how often.
///
/// A workspace gives the coefficients of all its orders; evaluators of many samples give the one derivative `order`.
///
/// ```
/// use leastaction::jet::{Quantity, QuantityKind, Target};
/// use leastaction::mechanism::{MechanismBuilder, samples};
///
/// let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
/// let last = mechanism.body_ids().last().ok_or("no body")?;
/// let torque_rate = Quantity::torque(1);
/// let velocity = Quantity::local(QuantityKind::Velocity, Target::body(last));
/// assert_eq!((torque_rate.rows(2), velocity.rows(2)), (2, 6));
/// assert_eq!((torque_rate.highest_derivative(), velocity.highest_derivative()), (3, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The kind.
    pub kind: QuantityKind,
    /// Number of time derivatives.
    pub order: usize,
    /// Local or world; positions, torques and totals have one frame only.
    pub frame: QuantityFrame,
    /// Body or frame; `None` for quantities of the whole mechanism.
    pub target: Option<Target>,
}

impl Quantity {
    /// A quantity of a target in its own frame.
    #[must_use]
    pub fn local(kind: QuantityKind, target: Target) -> Self {
        Self { kind, order: 0, frame: QuantityFrame::Local, target: Some(target) }
    }
    /// A quantity of a target in the world frame.
    #[must_use]
    pub fn world(kind: QuantityKind, target: Target) -> Self {
        Self { frame: QuantityFrame::World, ..Self::local(kind, target) }
    }
    /// A quantity of the whole mechanism.
    #[must_use]
    pub fn whole(kind: QuantityKind) -> Self {
        Self { kind, order: 0, frame: QuantityFrame::World, target: None }
    }
    /// The same, differentiated `order` times.
    #[must_use]
    pub fn of_order(self, order: usize) -> Self {
        Self { order, ..self }
    }

    /// `q⁽ᵒʳᵈᵉʳ⁾` of all joints: 1 velocity, 2 acceleration, 3 jerk.
    #[must_use]
    pub fn joint(order: usize) -> Self {
        Self::whole(QuantityKind::Joint).of_order(order)
    }
    /// All torques: 0 torque, 1 torque rate.
    #[must_use]
    pub fn torque(order: usize) -> Self {
        Self::whole(QuantityKind::Torque).of_order(order)
    }
    /// Twist of a target in its own frame.
    #[must_use]
    pub fn velocity(target: Target, order: usize) -> Self {
        Self::local(QuantityKind::Velocity, target).of_order(order)
    }
    /// Total momentum, about the world origin or the centre of mass.
    #[must_use]
    pub fn momentum(order: usize, about_com: bool) -> Self {
        let kind = if about_com { QuantityKind::CentroidalMomentum } else { QuantityKind::TotalMomentum };
        Self::whole(kind).of_order(order)
    }
    /// World position of a target's origin.
    #[must_use]
    pub fn point(target: Target, order: usize) -> Self {
        Self::world(QuantityKind::Point, target).of_order(order)
    }
    /// Centre of mass.
    #[must_use]
    pub fn com(order: usize) -> Self {
        Self::whole(QuantityKind::Com).of_order(order)
    }
    /// Orientation of a target.
    #[must_use]
    pub fn orientation(target: Target) -> Self {
        Self::local(QuantityKind::Orientation, target)
    }

    /// Rows of one derivative (of its Jacobian), for a mechanism with `nv` velocity coordinates.
    #[must_use]
    pub fn rows(&self, nv: usize) -> usize {
        match self.kind {
            QuantityKind::Joint | QuantityKind::Torque => nv,
            QuantityKind::Point | QuantityKind::Orientation | QuantityKind::Com => 3,
            _ => 6,
        }
    }

    /// Highest derivative of `q` it depends on.
    #[must_use]
    pub fn highest_derivative(&self) -> usize {
        self.order + self.kind.level()
    }
}
