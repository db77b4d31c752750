//! What may touch what, as data, geometry and law.
//!
//! A shape of a body against the ground or against another body is a list of contacts, each a tip of one body (a sphere, a corner, a
//! rim) against one simple thing. A box on a half-space is eight corners, a capsule two spheres.
//!
//! Two bodies with edges (capsules, boxes, convex hulls) touch in as many points as their pose asks for: a [`Manifold`] names the features that
//! touch, each again a tip against one simple thing, fixed over a step.
//!
//! [`Touch`] is a contact seen at a pose (gap, normal, core points and arms), [`Law`] is Coulomb's law between the impulse and the
//! velocity of a contact, exact or smoothed.

mod apart;
mod boxes;
mod enclose;
mod geometry;
mod hull;
mod hull_rounded;
mod hulls;
mod law;
mod manifold;
mod round;
mod round_features;
mod rounded;
mod settings;

pub use enclose::hull_triangles;
pub use geometry::{Link, Motion, Touch, above, frame_of, slip};
pub use hull::{Hull, HullFace};
pub use hulls::{Before, Separator};
pub use law::{Law, Response, box_law};
pub use manifold::{AXES, Axes, Feature, Manifold, Solid};
pub use round::Round;
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
    /// The edge of a disc: the rim of a cylinder. Against half-spaces and faces.
    Rim {
        /// Unit axis of the disc.
        axis: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// An ellipsoid. Against half-spaces and faces.
    Ellipsoid {
        /// Columns: its semi-axes.
        axes: Mat3,
    },
    /// A line with a radius, against [`Against::Edge`]: an edge of a box (radius 0) or the axis of a capsule. With a radius it ends
    /// at its ends; without it is unbounded, and the normal is `half × half of the other`.
    Edge {
        /// From the centre to one end.
        half: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// A capsule, against capsules and boxes: see [`Manifold`].
    Capsule {
        /// From the centre to one end of its axis.
        half: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// A box, against boxes: see [`Manifold`].
    Box {
        /// Its axes as columns.
        axes: Mat3,
        /// Half of its edges.
        half: Vec3,
    },
    /// A convex polyhedron of the mechanism, with its centre at that of the tip: see [`Manifold`].
    Hull {
        /// Which one of the mechanism's.
        number: usize,
        /// Its axes as columns.
        axes: Mat3,
        /// Distance of its farthest corner from its centre.
        reach: f64,
    },
}

impl Tip {
    /// Distance of its farthest point from the centre.
    #[must_use]
    pub fn reach(&self) -> f64 {
        match self {
            Self::Sphere { radius } | Self::Rim { radius, .. } => *radius,
            Self::Ellipsoid { axes } => (0..3).map(|k| axes.column(k).norm()).fold(0.0, f64::max),
            Self::Edge { half, radius } | Self::Capsule { half, radius } => half.norm() + radius,
            Self::Box { half, .. } => half.norm(),
            Self::Hull { reach, .. } => *reach,
        }
    }

    /// The same tip seen from a frame in which the old one has the rotation `rot`.
    #[must_use]
    pub fn turned(self, rot: &Mat3) -> Self {
        match self {
            Self::Sphere { .. } => self,
            Self::Rim { axis, radius } => Self::Rim { axis: *rot * axis, radius },
            Self::Ellipsoid { axes } => Self::Ellipsoid { axes: *rot * axes },
            Self::Edge { half, radius } => Self::Edge { half: *rot * half, radius },
            Self::Capsule { half, radius } => Self::Capsule { half: *rot * half, radius },
            Self::Box { axes, half } => Self::Box { axes: *rot * axes, half },
            Self::Hull { number, axes, reach } => Self::Hull { number, axes: *rot * axes, reach },
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
        /// The face that a centre inside the box is measured from, as an axis and its sign: the one it came from. None is the
        /// nearest.
        entered: Option<(usize, f64)>,
    },
    /// A convex polyhedron of body B: see [`Manifold`].
    Hull {
        /// Which one of the mechanism's.
        number: usize,
        /// Its centre and axes in the frame of body B.
        pose: Pose,
        /// Distance of its farthest corner from its centre.
        reach: f64,
    },
    /// A cylinder of body B, against spheres.
    Cylinder {
        /// Its centre in the frame of body B.
        center: Vec3,
        /// From the centre to that of one cap.
        half: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// A line of body B with a radius: see [`Tip::Edge`].
    Edge {
        /// Its centre in the frame of body B.
        center: Vec3,
        /// From the centre to one end.
        half: Vec3,
        /// Its radius.
        radius: f64,
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
            Self::Box { pose: inner, half, entered } => Self::Box { pose: *pose * inner, half, entered },
            Self::Hull { number, pose: inner, reach } => Self::Hull { number, pose: *pose * inner, reach },
            Self::Cylinder { center, half, radius } => {
                Self::Cylinder { center: pose.point(center), half: pose.rot * half, radius }
            }
            Self::Edge { center, half, radius } => {
                Self::Edge { center: pose.point(center), half: pose.rot * half, radius }
            }
        }
    }
}

impl Against {
    /// Distance of its farthest point from the origin of body B; none of a half-space or a face.
    #[must_use]
    pub fn reach(&self) -> f64 {
        match *self {
            Self::HalfSpace { .. } | Self::Face { .. } => 0.0,
            Self::Sphere { center, radius } => center.norm() + radius,
            Self::Capsule { segment: [p, q], radius } => p.norm().max(q.norm()) + radius,
            Self::Box { pose, half, .. } => pose.pos.norm() + half.norm(),
            Self::Hull { pose, reach, .. } => pose.pos.norm() + reach,
            Self::Cylinder { center, half, radius } | Self::Edge { center, half, radius } => {
                center.norm() + half.norm() + radius
            }
        }
    }

    /// A ball around it, in the frame of body B: centre and radius; none around what is unbounded.
    #[must_use]
    pub fn ball(&self) -> Option<(Vec3, f64)> {
        match *self {
            Self::HalfSpace { .. } | Self::Face { .. } => None,
            Self::Sphere { center, radius } => Some((center, radius)),
            Self::Capsule { segment: [p, q], radius } => Some(((p + q) * 0.5, 0.5 * (p - q).norm() + radius)),
            Self::Box { pose, half, .. } => Some((pose.pos, half.norm())),
            Self::Hull { pose, reach, .. } => Some((pose.pos, reach)),
            Self::Cylinder { center, half, radius } | Self::Edge { center, half, radius } => {
                Some((center, half.norm() + radius))
            }
        }
    }
}
