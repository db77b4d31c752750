//! Where smooth bodies touch, told exactly where that can be: sides of cylinders by their axes, rims and ellipsoids above faces by their
//! lowest points.

use super::geometry::{Touch, nearest_on_lines};
use super::hulls::{BRINK, EDGES, Found, LINE, Pair, ROUND};
use super::manifold::Feature;
use super::round::Round;
use super::{Against, Tip};
use crate::spatial::{Mat3, Vec3};

/// Cosine of the angle between the axis of a disc and the normal of a face from which on it lies down on it: its corners are on its rim, and
/// where they come to rest one by one its lowest point is one too many.
const LIES: f64 = 0.995;
/// Cosine of the angle between the axes of two cylinders from which on they lie side by side.
const SIDE_BY_SIDE: f64 = 0.99875;

impl Pair<'_> {
    /// Centre of a cylinder, half of its axis and its radius, in the frame of its link.
    fn axis(&self, x: usize) -> Option<(Vec3, Vec3, f64)> {
        let Some(Round::Cylinder { radius, half }) = self.hull[x].round else { return None };
        let pose = self.pose[x];
        Some((pose.pos, pose.rot * Vec3([0.0, 0.0, half]), radius))
    }

    /// The same for an edge along the axis.
    fn side_line(&self, x: usize, edge: u32) -> Option<(Vec3, Vec3, f64)> {
        let along = self.hull[x].line(edge).1;
        self.axis(x).filter(|_| along[2].abs() > 0.5 * along.norm())
    }

    fn parallel(&self) -> bool {
        let turned = |x: usize, half: Vec3| self.link[x].rot * half * (1.0 / half.norm());
        match (self.axis(0), self.axis(1)) {
            (Some((_, a, _)), Some((_, b, _))) => turned(0, a).dot(turned(1, b)).abs() > SIDE_BY_SIDE,
            _ => false,
        }
    }
}

impl Found<'_> {
    /// A side of a cylinder as what it is.
    pub(super) fn curved(&self, x: usize, face: u32) -> Option<Against> {
        let (center, half, radius) = self.pair.axis(x)?;
        Round::is_side(self.pair.hull[x].faces[face as usize].normal)
            .then(|| Against::Capsule { segment: [center - half, center + half], radius })
    }

    /// What of hull `x` at a point is above the side of a cylinder: of a cylinder beside it a ball on its axis.
    pub(super) fn beside(&self, x: usize, point: Vec3) -> (Tip, Vec3) {
        let pose = self.pair.pose[x];
        match self.pair.axis(x) {
            Some((_, _, radius)) if self.pair.parallel() => {
                (Tip::Sphere { radius }, pose.point(Vec3([0.0, 0.0, point[2]])))
            }
            _ => (Tip::Sphere { radius: 0.0 }, pose.point(point)),
        }
    }

    /// Edges that cross, of which one is on the side of a cylinder: its axis crosses the other. False if none is, or beyond its ends.
    pub(super) fn axes_cross(&mut self, edges: [u32; 2], towards: Vec3) -> bool {
        let lines = [0, 1].map(|x| self.pair.side_line(x, edges[x]));
        if lines == [None, None] {
            return false;
        }
        let number =
            |x: usize| if lines[x].is_some() { self.pair.hull[x].edges.len() as u32 } else { edges[x] };
        let [(center_a, mut half_a, r_a), (center_b, half_b, r_b)] = [0, 1].map(|x| {
            lines[x].unwrap_or_else(|| {
                let ((center, along), pose) = (self.pair.hull[x].line(edges[x]), self.pair.pose[x]);
                (pose.point(center), pose.rot * along, 0.0)
            })
        });
        let (link_a, link_b) = (self.pair.link[0], self.pair.link[1]);
        let outwards = link_b.rot * (self.pair.pose[1].rot * towards);
        if (link_a.rot * half_a).cross(link_b.rot * half_b).dot(outwards) < 0.0 {
            half_a = -half_a;
        }
        let between = link_a.point(center_a) - link_b.point(center_b);
        let [s, t] = nearest_on_lines(link_a.rot * half_a, link_b.rot * half_b, between);
        if s.abs() >= 1.0 || t.abs() >= 1.0 {
            return false;
        }
        let id = EDGES | number(0) << 14 | number(1);
        let against = Against::Edge { center: center_b, half: half_b, radius: r_b };
        let tip = Tip::Edge { half: half_a, radius: r_a };
        self.push_round(Feature::at(id, false, (tip, center_a), against, self.pair.link));
        true
    }

    /// Nearly parallel edges, of which one is on the side of a cylinder: balls where the ends of what they share are. False if none is.
    pub(super) fn side_by_side(&mut self, [a, b]: [u32; 2], ends: [f64; 2]) -> bool {
        let lines = [self.pair.side_line(0, a), self.pair.side_line(1, b)];
        if lines == [None, None] {
            return false;
        }
        let pose = self.pair.pose;
        let against = match lines[1] {
            Some((center, half, radius)) => {
                Against::Capsule { segment: [center - half, center + half], radius }
            }
            None => {
                let (center, along) = self.pair.hull[1].line(b);
                Against::Edge { center: pose[1].point(center), half: pose[1].rot * along, radius: 0.0 }
            }
        };
        let (middle, along) = self.pair.hull[0].line(a);
        for (k, at) in ends.into_iter().enumerate() {
            let mut point = middle + along * at;
            let mut radius = 0.0;
            if let Some((_, _, own)) = lines[0] {
                (point, radius) = (Vec3([0.0, 0.0, point[2]]), own);
            }
            let id = LINE | a << 15 | b << 1 | k as u32;
            let tip = (Tip::Sphere { radius }, pose[0].point(point));
            self.push_round(Feature::at(id, false, tip, against, self.pair.link));
        }
        true
    }

    /// The lowest points of a smooth body `x` above a face of the other.
    pub(super) fn round_above(&mut self, x: usize, face: u32) {
        let (pair, pose) = (self.pair, self.pair.pose[x]);
        if self.curved(1 - x, face).is_some() {
            return;
        }
        let along = pose.rot * Vec3([0.0, 0.0, 1.0]);
        let tips = match pair.hull[x].round {
            None => return,
            Some(Round::Cylinder { radius, half }) => {
                [-half, half].map(|s| Some((Tip::Rim { axis: along, radius }, pose.pos + along * s)))
            }
            Some(Round::Ellipsoid { radii }) => {
                let mut axes = Mat3::zero();
                (0..3).for_each(|k| axes.0[k][k] = radii[k]);
                [Some((Tip::Ellipsoid { axes: pose.rot * axes }, pose.pos)), None]
            }
        };
        let (links, plane) = ([pair.link[x], pair.link[1 - x]], self.plane(1 - x, face));
        for (k, tip) in tips.into_iter().enumerate() {
            let Some((tip, center)) = tip else { continue };
            let touch = Touch::new(&tip, center, &plane, links[0], links[1]);
            let lean = (links[0].rot * along).dot(touch.normal).abs();
            if matches!(tip, Tip::Rim { .. }) && lean > LIES {
                continue;
            }
            // The foot on the face, in the frame of its hull.
            let other = pair.pose[1 - x];
            if self.is_on(1 - x, face, other.rot.tr_mul(touch.core[1] - other.pos)) {
                let id = ROUND | (x as u32) << 28 | face << 1 | k as u32;
                self.push_round(Feature::at(id, x == 1, (tip, center), plane, links));
            }
        }
    }

    /// True if a point of the plane of a face is on the face.
    fn is_on(&self, x: usize, face: u32, point: Vec3) -> bool {
        let hull = self.pair.hull[x];
        let face = &hull.faces[face as usize];
        let n = face.corners.len();
        (0..n).all(|k| {
            let [from, to] = [k, (k + 1) % n].map(|k| hull.corners[face.corners[k] as usize]);
            let side = (to - from).cross(face.normal);
            side.dot(point - from) <= BRINK * hull.reach * side.norm()
        })
    }
}
