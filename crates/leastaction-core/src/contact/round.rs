//! [`Round`]: cylinders and ellipsoids as hulls that are inscribed in them.
//!
//! The hull tells which features are near; those that can be told of the smooth body are.

use super::hull::Hull;
use crate::scalar::elementary;
use crate::spatial::Vec3;
use std::f64::consts::PI;

/// Sides of the prism in a cylinder, a multiple of four: it stands out of them by half a hundredth of its radius.
const SIDES: u32 = 32;
/// Corners of the body in an ellipsoid.
const CORNERS: u32 = 160;

/// A smooth body around the origin of the hull's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Round {
    /// A cylinder along z.
    Cylinder {
        /// Its radius.
        radius: f64,
        /// Half of its length.
        half: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Its semi-axes.
        radii: Vec3,
    },
}

impl Round {
    /// How far it reaches along a unit direction.
    fn support(&self, n: Vec3) -> f64 {
        match *self {
            Self::Cylinder { radius, half } => half * n[2].abs() + radius * elementary::hypot(n[0], n[1]),
            Self::Ellipsoid { radii } => Vec3(std::array::from_fn(|k| radii[k] * n[k])).norm(),
        }
    }

    /// Points of its surface.
    fn points(&self) -> Vec<Vec3> {
        match *self {
            Self::Cylinder { radius, half } => (0..2 * SIDES)
                .map(|k| {
                    let (s, c) = elementary::sin_cos(2.0 * PI * f64::from(k / 2) / f64::from(SIDES));
                    Vec3([radius * c, radius * s, if k % 2 == 0 { -half } else { half }])
                })
                .collect(),
            Self::Ellipsoid { radii } => {
                let golden = PI * (3.0 - 5.0f64.sqrt());
                (0..CORNERS)
                    .map(|k| {
                        let z = 1.0 - f64::from(2 * k + 1) / f64::from(CORNERS);
                        let (s, c) = elementary::sin_cos(golden * f64::from(k));
                        let r = (1.0 - z * z).sqrt();
                        Vec3([radii[0] * r * c, radii[1] * r * s, radii[2] * z])
                    })
                    .collect()
            }
        }
    }

    /// True of a face of the hull in a cylinder that is one of its sides.
    pub(super) fn is_side(normal: Vec3) -> bool {
        normal[2].abs() < 0.5
    }
}

impl Hull {
    /// The hull in a smooth body, and its centre; none if that is too thin to have an inside.
    #[must_use]
    pub fn of_round(round: Round) -> Option<(Self, Vec3)> {
        let (mut hull, center) = Self::new(&round.points())?;
        // Where the centre of the corners is not that of the body their distance to it is of no use: back.
        hull.corners.iter_mut().for_each(|corner| *corner += center);
        for face in &mut hull.faces {
            face.offset += face.normal.dot(center);
        }
        hull.reach = match round {
            Round::Cylinder { radius, half } => elementary::hypot(radius, half),
            Round::Ellipsoid { radii } => radii[0].max(radii[1]).max(radii[2]),
        };
        hull.sag = hull.faces.iter().fold(0.0, |m, f| f64::max(m, round.support(f.normal) - f.offset));
        hull.round = Some(round);
        Some((hull, Vec3::zero()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hull_lies_in_its_smooth_body_and_near_its_surface() {
        let cylinder = Hull::of_round(Round::Cylinder { radius: 0.1, half: 0.2 }).unwrap().0;
        assert_eq!((cylinder.corners.len(), cylinder.faces.len()), (2 * SIDES as usize, 2 + SIDES as usize));
        assert!(cylinder.sag > 0.0 && cylinder.sag < 0.005 * 0.1, "{}", cylinder.sag);
        let egg = Hull::of_round(Round::Ellipsoid { radii: Vec3([0.1, 0.2, 0.15]) }).unwrap().0;
        assert!(egg.sag > 0.0 && egg.sag < 0.03 * 0.2, "{}", egg.sag);
        for corner in &egg.corners {
            let unit = Vec3([corner[0] / 0.1, corner[1] / 0.2, corner[2] / 0.15]).norm();
            assert!((unit - 1.0).abs() < 1e-14);
        }
    }
}
