//! [`Manifold`]: in which features two bodies with edges touch.
//!
//! The features are found at a pose and then stay what they are over a step: a vertex above the plane of a face, two lines that cross,
//! a ball at the end of an axis. A step that changed them on its way would have no gap to solve for.

use super::geometry::{Link, Touch};
use super::hull::Hull;
use super::hulls::{self, Before};
use super::{Against, Tip, hull_rounded};
use crate::spatial::{Mat3, Pose, Vec3};
use std::sync::Arc;

/// A shape with edges, in the frame of its link.
#[derive(Clone, Debug)]
pub enum Solid {
    /// A ball, against hulls.
    Ball {
        /// Its centre.
        center: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// A capsule.
    Capsule {
        /// Centre of its axis.
        center: Vec3,
        /// From the centre to one end of the axis.
        half: Vec3,
        /// Its radius.
        radius: f64,
    },
    /// A box.
    Box {
        /// Its centre and axes.
        pose: Pose,
        /// Half of its edges.
        half: Vec3,
    },
    /// A convex polyhedron.
    Hull {
        /// Its corners, edges and faces.
        hull: Arc<Hull>,
        /// Its centre and axes.
        pose: Pose,
    },
}

impl Solid {
    /// How far the smooth body that it stands for reaches beyond it.
    #[must_use]
    pub fn sag(&self) -> f64 {
        if let Self::Hull { hull, .. } = self { hull.sag } else { 0.0 }
    }

    /// What a tip at `center` and what it may touch are as shapes with edges; none if they make one contact. `hulls` are those of
    /// the mechanism.
    #[must_use]
    pub fn pair(tip: &Tip, center: Vec3, against: &Against, hulls: &[Arc<Hull>]) -> Option<[Self; 2]> {
        let known =
            |number: usize, pose: Pose| Some(Self::Hull { hull: Arc::clone(hulls.get(number)?), pose });
        let a = match *tip {
            Tip::Hull { number, axes, .. } => known(number, Pose::new(axes, center)),
            Tip::Sphere { radius } if matches!(against, Against::Hull { .. }) => {
                Some(Self::Ball { center, radius })
            }
            _ => Self::of_tip(tip, center),
        }?;
        let b = match *against {
            Against::Hull { number, pose, .. } => known(number, pose),
            Against::Sphere { center, radius } if matches!(tip, Tip::Hull { .. }) => {
                Some(Self::Ball { center, radius })
            }
            _ => Self::of_target(against),
        }?;
        // To a hull a box is one.
        let of_hull = matches!(a, Self::Hull { .. }) || matches!(b, Self::Hull { .. });
        let made = |solid: Self| match solid {
            Self::Box { pose, half } if of_hull => {
                Some(Self::Hull { hull: Arc::new(Hull::of_box(half)?), pose })
            }
            other => Some(other),
        };
        Some([made(a)?, made(b)?])
    }

    /// The shape of a tip at `center`, if it has edges.
    #[must_use]
    pub fn of_tip(tip: &Tip, center: Vec3) -> Option<Self> {
        match *tip {
            Tip::Capsule { half, radius } => Some(Self::Capsule { center, half, radius }),
            Tip::Box { axes, half } => Some(Self::Box { pose: Pose::new(axes, center), half }),
            _ => None,
        }
    }

    /// The shape of what a tip may touch, if it has edges.
    #[must_use]
    pub fn of_target(against: &Against) -> Option<Self> {
        match *against {
            Against::Capsule { segment: [p, q], radius } => {
                Some(Self::Capsule { center: (p + q) * 0.5, half: (q - p) * 0.5, radius })
            }
            Against::Box { pose, half, .. } => Some(Self::Box { pose, half }),
            _ => None,
        }
    }

    /// Most features that it may touch another one with at a time.
    #[must_use]
    pub fn most_features(&self, other: &Self) -> usize {
        match (self, other) {
            (Self::Capsule { .. }, Self::Capsule { .. }) => 5,
            (Self::Box { .. }, Self::Box { .. }) => 16,
            (Self::Hull { hull: a, .. }, Self::Hull { hull: b, .. }) => {
                (a.widest() + b.widest()).min(hulls::CORNERS) + 4
            }
            (Self::Ball { .. }, _) | (_, Self::Ball { .. }) => 6,
            (Self::Hull { .. }, _) | (_, Self::Hull { .. }) => 16,
            _ => 10,
        }
    }
}

/// Number of directions that can separate two boxes: three faces each, nine pairs of edges.
pub const AXES: usize = 15;

/// Distances along the directions that can separate two boxes, with their sides. Of other shapes the first is the distance.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    /// Distance between the boxes along each direction, negative where they overlap.
    pub distance: [f64; AXES],
    /// On which side of B along the direction A is, ±1.
    pub side: [f64; AXES],
    /// How two hulls are, and what separates them best.
    pub hulls: Option<Before>,
}

impl Default for Axes {
    fn default() -> Self {
        Self { distance: [f64::NEG_INFINITY; AXES], side: [1.0; AXES], hulls: None }
    }
}

impl Axes {
    /// The largest distance: that of the bodies where they are near.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.distance.iter().fold(f64::NEG_INFINITY, |m, d| m.max(*d))
    }
}

/// A feature of one body that may touch one of another.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Which one: the same features have the same number at every pose. Not zero.
    pub id: u32,
    /// True if the tip belongs to B.
    pub flipped: bool,
    /// The tip, and where it is in the frame of its link.
    pub tip: Tip,
    /// Centre of the tip.
    pub center: Vec3,
    /// What it may touch on the other link.
    pub against: Against,
    /// Distance at the pose.
    pub gap: f64,
}

const MOST: usize = 32;

/// The features in which two shapes touch or nearly touch at a pose.
#[derive(Clone, Copy, Debug)]
pub struct Manifold {
    features: [Feature; MOST],
    count: usize,
    /// Distances that separate the two.
    pub axes: Axes,
}

impl Default for Manifold {
    fn default() -> Self {
        Self { features: [NONE; MOST], count: 0, axes: Axes::default() }
    }
}

impl Manifold {
    /// Finds the features of the two shapes at a pose with a gap of at most `reach`. `closed` is the gap up to which shapes touch.
    /// With `before`, the distances at an earlier pose, only directions that separated the two there are taken. Shapes farther apart
    /// than a finite `reach` have no features, and a lower bound as their distance.
    pub fn find(
        &mut self,
        [a, b]: [&Solid; 2],
        [link_a, link_b]: [&Link; 2],
        reach: f64,
        closed: f64,
        before: Option<&Axes>,
    ) {
        (self.count, self.axes) = (0, Axes::default());
        let far = if reach.is_finite() { reach.max(closed) } else { f64::INFINITY };
        let limits = Limits { reach, far };
        match (a, b) {
            (Solid::Box { .. }, Solid::Box { .. }) => {
                super::boxes::features([(a, link_a), (b, link_b)], limits, closed, before, self);
            }
            (Solid::Capsule { .. }, Solid::Capsule { .. }) => {
                super::rounded::capsules([(a, link_a), (b, link_b)], limits, self);
            }
            (Solid::Capsule { .. }, Solid::Box { .. }) => {
                super::rounded::capsule_and_box([(a, link_a), (b, link_b)], false, limits, self);
            }
            (Solid::Box { .. }, Solid::Capsule { .. }) => {
                super::rounded::capsule_and_box([(b, link_b), (a, link_a)], true, limits, self);
            }
            (Solid::Hull { hull: p, pose }, Solid::Hull { hull: q, pose: other }) => {
                hulls::features([(p, pose, link_a), (q, other, link_b)], limits, closed, before, self);
            }
            (Solid::Hull { hull, pose }, _) => {
                hull_rounded::features((b, link_b), (hull, pose, link_a), true, limits, self);
            }
            (_, Solid::Hull { hull, pose }) => {
                hull_rounded::features((a, link_a), (hull, pose, link_b), false, limits, self);
            }
            // Balls against anything else are contacts of their own.
            (Solid::Ball { .. }, _) | (_, Solid::Ball { .. }) => {}
        }
    }

    /// Distance between two shapes at a pose, negative where they overlap.
    #[must_use]
    pub fn distance(solids: [&Solid; 2], links: [&Link; 2], closed: f64) -> f64 {
        let mut out = Self::default();
        out.find(solids, links, f64::NEG_INFINITY, closed, None);
        out.gap()
    }

    /// Distance between the shapes, negative where they overlap.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.axes.gap()
    }

    /// The features.
    #[must_use]
    pub fn features(&self) -> &[Feature] {
        &self.features[..self.count]
    }

    /// Adds a feature that is not there yet.
    pub(super) fn push(&mut self, feature: Feature) {
        if self.count < MOST && !self.features().iter().any(|f| f.id == feature.id) {
            self.features[self.count] = feature;
            self.count += 1;
        }
    }
}

/// Gap of the features that are asked for, and distance from which on there are none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) reach: f64,
    pub(super) far: f64,
}

const NONE: Feature = Feature {
    id: 0,
    flipped: false,
    tip: Tip::Sphere { radius: 0.0 },
    center: Vec3([0.0; 3]),
    against: Against::Sphere { center: Vec3([0.0; 3]), radius: 0.0 },
    gap: 0.0,
};

impl Feature {
    /// A feature with its gap at the pose. `links` are those of the tip and of the other.
    pub(super) fn at(
        id: u32,
        flipped: bool,
        (tip, center): (Tip, Vec3),
        against: Against,
        links: [&Link; 2],
    ) -> Self {
        let gap = Touch::new(&tip, center, &against, links[0], links[1]).gap;
        Self { id, flipped, tip, center, against, gap }
    }
}

/// A box in the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) rot: Mat3,
    pub(super) pos: Vec3,
    pub(super) half: Vec3,
}

impl Placed {
    pub(super) fn new(pose: &Pose, half: Vec3, link: &Link) -> Self {
        Self { rot: link.rot * pose.rot, pos: link.pos + link.rot * pose.pos, half }
    }
}

/// A corner of a box by the bits of its signs, box axes.
pub(super) fn corner(half: Vec3, bits: usize) -> Vec3 {
    Vec3([0, 1, 2].map(|k| if bits >> k & 1 == 1 { half[k] } else { -half[k] }))
}

/// An edge of a box along `axis` by the bits of the signs of its place: its centre and half of it, box axes. The bit of the axis
/// itself does not count.
pub(super) fn edge(half: Vec3, axis: usize, bits: usize) -> (Vec3, Vec3) {
    let mut center = corner(half, bits);
    center[axis] = 0.0;
    let mut along = Vec3::zero();
    along[axis] = half[axis];
    (center, along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::Quat;

    fn cube(side: f64) -> Solid {
        Solid::Box { pose: Pose::identity(), half: Vec3([0.5 * side; 3]) }
    }

    fn at(q: Quat, x: [f64; 3]) -> Link {
        Link { rot: q.to_matrix(), pos: Vec3(x) }
    }

    fn about(axis: [f64; 3], angle: f64) -> Quat {
        let axis = Vec3(axis);
        Quat::about(axis * (1.0 / axis.norm()), angle)
    }

    fn found(solids: [&Solid; 2], links: [&Link; 2], reach: f64) -> Manifold {
        let mut out = Manifold::default();
        out.find(solids, links, reach, 1e-9, None);
        out
    }

    fn of(a: &Solid, b: &Solid, to: &Link) -> Manifold {
        found([a, b], [to, &Link::ground()], 1e-3)
    }

    #[test]
    fn a_cube_on_a_cube_touches_in_four_corners_and_an_overhanging_one_at_the_rim() {
        let (a, b) = (cube(0.2), cube(0.2));
        let still = Quat::identity();
        let aligned = of(&a, &b, &at(still, [0.0, 0.0, 0.2]));
        assert_eq!(aligned.features().len(), 4, "{aligned:?}");
        assert!(aligned.gap().abs() < 1e-15);
        let over = of(&a, &b, &at(still, [0.05, 0.03, 0.2]));
        // One corner of each and two crossings of edges.
        let count = |f: &dyn Fn(&Feature) -> bool| over.features().iter().filter(|x| f(x)).count();
        assert_eq!(over.features().len(), 4, "{over:?}");
        assert_eq!(count(&|f| matches!(f.tip, Tip::Edge { .. })), 2);
        assert_eq!(count(&|f| f.flipped), 1);
        assert!(over.features().iter().all(|f| f.gap.abs() < 1e-15));
        // Turned about the vertical the overlap has eight corners, all crossings.
        let turned = of(&a, &b, &at(about([0.0, 0.0, 1.0], 0.7), [0.0, 0.0, 0.2]));
        assert_eq!(turned.features().len(), 8);
    }

    #[test]
    fn crossed_edges_are_told_from_faces_and_the_gap_is_the_distance() {
        let (a, b) = (cube(0.2), cube(0.2));
        // B's upper edge along y after a turn by 45 degrees about y, A's lower edge along x after one about x.
        let tilt = std::f64::consts::FRAC_PI_4;
        let lower = at(about([0.0, 1.0, 0.0], tilt), [0.0; 3]);
        let upper = at(about([1.0, 0.0, 0.0], tilt), [0.01, 0.02, 0.2 * 2f64.sqrt() + 0.0005]);
        let made = found([&a, &b], [&upper, &lower], 1e-3);
        assert_eq!(made.features().len(), 1, "{made:?}");
        assert!((made.gap() - 0.0005).abs() < 1e-12 && (made.features()[0].gap - 0.0005).abs() < 1e-12);
    }

    #[test]
    fn features_keep_their_numbers_whichever_body_comes_first() {
        let (a, b) = (cube(0.2), Solid::Box { pose: Pose::identity(), half: Vec3([0.15, 0.1, 0.05]) });
        for (k, link) in [
            at(about([0.1, 0.0, 1.0], 0.3), [0.03, 0.02, 0.151]),
            at(about([0.0, 1.0, 0.0], 0.4), [0.1, 0.0, 0.18]),
            at(about([1.0, 0.2, 0.0], 2.0), [-0.1, 0.05, 0.19]),
        ]
        .iter()
        .enumerate()
        {
            let ground = Link::ground();
            let one = found([&a, &b], [link, &ground], 0.5);
            let two = found([&b, &a], [&ground, link], 0.5);
            assert!((one.gap() - two.gap()).abs() < 1e-14, "{k}");
            assert_eq!(one.features().len(), two.features().len(), "{k}");
            for f in one.features() {
                assert!(two.features().iter().any(|g| (g.gap - f.gap).abs() < 1e-13), "{k}: {f:?}");
            }
        }
    }

    #[test]
    fn a_capsule_across_a_box_lies_on_its_rims_and_one_within_on_its_ends() {
        let rod = |length: f64| Solid::Capsule {
            center: Vec3::zero(),
            half: Vec3([0.5 * length, 0.0, 0.0]),
            radius: 0.02,
        };
        let top = at(Quat::identity(), [0.0, 0.0, 0.12]);
        for (length, edges, balls) in [(0.1, 0, 2), (0.4, 2, 0)] {
            let made = of(&rod(length), &cube(0.2), &top);
            let lines = made.features().iter().filter(|f| matches!(f.tip, Tip::Edge { .. })).count();
            assert_eq!((lines, made.features().len() - lines), (edges, balls), "{made:?}");
            assert!(made.gap().abs() < 1e-15);
        }
        // Side by side: the ends of both.
        let made = of(&rod(0.2), &rod(0.2), &at(Quat::identity(), [0.05, 0.0, 0.04]));
        assert_eq!(made.features().len(), 2, "{made:?}");
        let crossed = of(&rod(0.2), &rod(0.2), &at(about([0.0, 0.0, 1.0], 1.0), [0.05, 0.0, 0.04]));
        assert_eq!(crossed.features().len(), 1, "{crossed:?}");
    }

    #[test]
    fn shapes_out_of_reach_have_no_features_and_a_bound_below_their_distance() {
        let capsule = |half: [f64; 3]| Solid::Capsule {
            center: Vec3([0.01, 0.0, 0.02]),
            half: Vec3(half),
            radius: 0.03,
        };
        let block = Solid::Box { pose: Pose::identity(), half: Vec3([0.1, 0.06, 0.04]) };
        let pairs = [
            [capsule([0.1, 0.0, 0.0]), capsule([0.0, 0.08, 0.02])],
            [capsule([0.1, 0.02, 0.0]), block.clone()],
            [block.clone(), capsule([0.0, 0.05, 0.05])],
            [block, cube(0.1)],
        ];
        let (mut far, mut near) = (0, 0);
        for (k, [a, b]) in pairs.iter().enumerate() {
            for m in 0..200 {
                let turn = 0.37 * f64::from(m);
                let axis = [turn.sin(), (1.3 * turn).cos(), (0.7 * turn).sin()];
                let away = 0.1 + 0.0015 * f64::from(m);
                let x = [away * (2.1 * turn).cos(), away * (2.1 * turn).sin(), 0.1 * (3.0 * turn).sin()];
                let (link, ground) = (at(about(axis, turn), x), Link::ground());
                let (solids, links) = ([a, b], [&link, &ground]);
                let (made, distance) = (found(solids, links, 0.02), Manifold::distance(solids, links, 1e-9));
                if made.gap() > 0.02 {
                    far += 1;
                    assert!(made.features().is_empty(), "{k} {m}");
                    assert!(made.gap() <= distance + 1e-12, "{k} {m}: {} {distance}", made.gap());
                } else {
                    near += 1;
                    assert!((made.gap() - distance).abs() < 1e-12, "{k} {m}: {} {distance}", made.gap());
                }
            }
        }
        assert!(far > 100 && near > 100, "{far} far, {near} near");
    }
}
