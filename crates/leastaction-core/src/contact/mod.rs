//! Contacts as data: which point of which body may touch what.
//!
//! A shape of a body against the ground or against another body is a list of [`Contact`]s, each a sphere (or a point: radius 0)
//! of one body against one simple thing. A box on a half-space is eight points, a capsule two spheres. The pose engine knows
//! contacts only; what makes them of shapes and files is the scene.

use crate::mechanism::BodyId;
use crate::spatial::Vec3;

/// One sphere of a body that may touch one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Contact {
    /// Body A, which carries the sphere. The contact normal points towards it.
    pub body: BodyId,
    /// Centre of the sphere in the frame of body A.
    pub center: Vec3,
    /// Radius of the sphere; 0 is a corner.
    pub radius: f64,
    /// What the sphere may touch.
    pub against: Against,
    /// Coefficient of friction.
    pub friction: f64,
    /// Newton's coefficient of restitution.
    pub restitution: f64,
    /// Contacts of the same two shapes share a pair: the unit of names, columns and reports.
    pub pair: usize,
}

/// What a sphere may touch; body frames are those of the model's bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    /// The ground `normal . x >= offset`, world frame, unit normal.
    HalfSpace {
        /// Unit normal, out of the ground.
        normal: Vec3,
        /// `normal . x` on its surface.
        offset: f64,
    },
    /// A plane fixed in body B, taken as unbounded.
    Face {
        /// Body B.
        body: BodyId,
        /// Unit normal, out of body B, in its frame.
        normal: Vec3,
        /// `normal . x` on the plane.
        offset: f64,
    },
    /// A sphere of body B.
    Sphere {
        /// Body B.
        body: BodyId,
        /// Its centre in the frame of body B.
        center: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// A capsule of body B.
    Capsule {
        /// Body B.
        body: BodyId,
        /// Ends of its axis in the frame of body B.
        segment: [Vec3; 2],
        /// Its radius.
        radius: f64,
    },
}

impl Against {
    /// Body B; `None` is the ground.
    #[must_use]
    pub fn body(&self) -> Option<BodyId> {
        match *self {
            Self::HalfSpace { .. } => None,
            Self::Face { body, .. } | Self::Sphere { body, .. } | Self::Capsule { body, .. } => Some(body),
        }
    }
}
