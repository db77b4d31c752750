//! What may touch what, as data, geometry and law.
//!
//! A shape of a body against the ground or against another body is a list of contacts, each a tip of one body (a sphere, a corner, a
//! rim) against one simple thing. A box on a half-space is eight corners, a capsule two spheres.
//!
//! [`Touch`] is a contact seen at a pose (gap, normal, core points and arms), [`Law`] is Coulomb's law between the impulse and the
//! velocity of a contact, exact or smoothed.

mod geometry;
mod law;
mod settings;

pub use geometry::{Link, Motion, Touch, frame_of, slip};
pub use law::{Law, Response, box_law};
pub use settings::{ContactSettings, Impacts, Sliding, Turns};

use crate::spatial::{Mat3, Pose, Vec3};

/// What body A touches with, around a centre; axes are those of body A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tip {
    /// A sphere; radius 0 is a corner.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// The edge of a disc: the rim of a cylinder. Against half-spaces.
    Rim {
        /// Unit axis of the disc.
        axis: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// An ellipsoid. Against half-spaces.
    Ellipsoid {
        /// Columns: its semi-axes.
        axes: Mat3,
    },
}

impl Tip {
    /// Distance of its farthest point from the centre.
    #[must_use]
    pub fn reach(&self) -> f64 {
        match self {
            Self::Sphere { radius } | Self::Rim { radius, .. } => *radius,
            Self::Ellipsoid { axes } => (0..3).map(|k| axes.column(k).norm()).fold(0.0, f64::max),
        }
    }

    /// The same tip seen from a frame in which the old one has the rotation `rot`.
    #[must_use]
    pub fn turned(self, rot: &Mat3) -> Self {
        match self {
            Self::Sphere { .. } => self,
            Self::Rim { axis, radius } => Self::Rim { axis: *rot * axis, radius },
            Self::Ellipsoid { axes } => Self::Ellipsoid { axes: *rot * axes },
        }
    }
}

/// What a tip may touch; body frames are those of the model's bodies.
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
        /// Unit normal, out of body B, in its frame.
        normal: Vec3,
        /// `normal . x` on the plane.
        offset: f64,
    },
    /// A sphere of body B.
    Sphere {
        /// Its centre in the frame of body B.
        center: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// A capsule of body B.
    Capsule {
        /// Ends of its axis in the frame of body B.
        segment: [Vec3; 2],
        /// Its radius.
        radius: f64,
    },
    /// A box of body B.
    Box {
        /// Its centre and axes in the frame of body B.
        pose: Pose,
        /// Half of its edges.
        half: Vec3,
    },
}

impl Against {
    /// The same thing seen from the frame of a link in which body B has the pose `pose`.
    #[must_use]
    pub fn placed(self, pose: &Pose) -> Self {
        match self {
            Self::HalfSpace { .. } => self,
            Self::Face { normal, offset } => {
                let normal = pose.rot * normal;
                Self::Face { normal, offset: offset + normal.dot(pose.pos) }
            }
            Self::Sphere { center, radius } => Self::Sphere { center: pose.point(center), radius },
            Self::Capsule { segment, radius } => {
                Self::Capsule { segment: segment.map(|p| pose.point(p)), radius }
            }
            Self::Box { pose: inner, half } => Self::Box { pose: *pose * inner, half },
        }
    }
}
