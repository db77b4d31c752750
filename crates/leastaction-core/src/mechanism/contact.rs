//! [`Contact`]: which tip of which body may touch what.

use super::BodyId;
use crate::contact::{Against, Link, Tip, above};
use crate::spatial::{Pose, Vec3};

/// One tip of a body that may touch one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Contact {
    /// Body A, which carries the tip; none is the world. The contact normal points towards it.
    pub body: Option<BodyId>,
    /// Centre of the tip in the frame of body A.
    pub center: Vec3,
    /// What stands at the centre.
    pub tip: Tip,
    /// Body B, in whose frame `against` is given; none is the world.
    pub other: Option<BodyId>,
    /// What the tip may touch.
    pub against: Against,
    /// Coefficient of friction.
    pub friction: f64,
    /// Newton's coefficient of restitution.
    pub restitution: f64,
    /// Contacts of the same two shapes share a pair: the unit of names, columns and reports.
    pub pair: usize,
}

impl Contact {
    /// How high the tip is above the half-space that it may touch, with its body at `pose`; none if it may touch something else.
    #[must_use]
    pub fn height(&self, pose: &Pose) -> Option<f64> {
        let Against::HalfSpace { normal, offset } = self.against else { return None };
        let link = Link { rot: pose.rot, pos: pose.pos };
        Some(above(&self.tip, self.center, (normal, offset), &link).0)
    }
}
