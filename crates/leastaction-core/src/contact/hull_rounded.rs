//! Where a ball or a capsule touches a hull: balls at what is nearest of the hull, corners against the axis, edges that cross it.

use super::geometry::Link;
use super::hull::Hull;
use super::manifold::{Feature, Limits, Manifold, Solid};
use super::round::Round;
use super::rounded::{Found, beyond_ends};
use super::{Against, Tip};
use crate::spatial::{Pose, Vec3};

const FACE: u32 = 1 << 20;
const EDGE: u32 = 2 << 20;
const CORNER: u32 = 3 << 20;
const VERTEX: u32 = 4 << 20;
const EDGES: u32 = 5 << 20;

/// What of a hull is nearest to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spot {
    Face(u32),
    Edge(u32),
    Corner(u32),
}

impl Hull {
    /// What is nearest to a point, in the frame of the hull; inside, the nearest face.
    fn nearest_to(&self, p: Vec3) -> Spot {
        let height = |f: usize| self.faces[f].normal.dot(p) - self.faces[f].offset;
        let top = (0..self.faces.len()).fold(0, |m, f| if height(f) > height(m) { f } else { m });
        if height(top) <= 0.0 {
            return Spot::Face(top as u32);
        }
        let mut best = (Spot::Face(top as u32), f64::INFINITY);
        for (f, face) in self.faces.iter().enumerate() {
            let h = height(f);
            if h <= 0.0 || h * h >= best.1 {
                continue;
            }
            let n = face.corners.len();
            let mut above = true;
            for k in 0..n {
                let (a, b) = (face.corners[k], face.corners[(k + 1) % n]);
                let (from, to) = (self.corners[a as usize], self.corners[b as usize]);
                let e = to - from;
                if e.cross(face.normal).dot(p - from) <= 0.0 {
                    continue;
                }
                above = false;
                let t = (p - from).dot(e) / e.norm2();
                let (spot, at) = if t <= 0.0 {
                    (Spot::Corner(a), from)
                } else if t >= 1.0 {
                    (Spot::Corner(b), to)
                } else {
                    (Spot::Edge(face.edges[k]), from + e * t)
                };
                let square = (p - at).norm2();
                if square < best.1 {
                    best = (spot, square);
                }
            }
            if above {
                best = (Spot::Face(f as u32), h * h);
            }
        }
        best.0
    }
}

/// Features of a ball or capsule and a hull; `swapped` if the hull is A.
pub(super) fn features(
    (rod, link_r): (&Solid, &Link),
    (hull, pose, link_h): (&Hull, &Pose, &Link),
    swapped: bool,
    Limits { reach, far }: Limits,
    out: &mut Manifold,
) {
    let (center, half, radius) = match *rod {
        Solid::Ball { center, radius } => (center, Vec3::zero(), radius),
        Solid::Capsule { center, half, radius } => (center, half, radius),
        _ => return,
    };
    let is_ball = matches!(rod, Solid::Ball { .. });
    // The axis in the frame of the hull.
    let rot = link_h.rot * pose.rot;
    let middle = rot.tr_mul(link_r.point(center) - link_h.point(pose.pos));
    let along = rot.tr_mul(link_r.rot * half);
    let distance =
        hull.faces.iter().fold(f64::NEG_INFINITY, |m, f| {
            m.max(f.normal.dot(middle) - f.normal.dot(along).abs() - f.offset)
        }) - radius;
    if distance > far + hull.sag {
        out.axes.distance[0] = distance - hull.sag;
        return;
    }
    // The side and the rims of a cylinder are told as they are.
    let cylinder = match hull.round {
        Some(Round::Cylinder { radius, half }) => Some((pose.rot * Vec3([0.0, 0.0, half]), radius)),
        _ => None,
    };
    let mut found = Found { reach, nearest: f64::INFINITY, out };
    let ends: &[f64] = if is_ball { &[0.0] } else { &[-1.0, 1.0] };
    for (k, s) in ends.iter().enumerate() {
        let ball = (Tip::Sphere { radius }, center + half * *s);
        let spot = hull.nearest_to(middle + along * *s);
        let (id, against) = match (spot, cylinder) {
            (_, Some((half, radius))) => (FACE, Against::Cylinder { center: pose.pos, half, radius }),
            (Spot::Face(f), None) => {
                let face = &hull.faces[f as usize];
                let normal = pose.rot * face.normal;
                (FACE | f, Against::Face { normal, offset: normal.dot(pose.pos) + face.offset })
            }
            (Spot::Edge(e), None) => {
                let (mid, half) = hull.line(e);
                (EDGE | e, Against::Edge { center: pose.point(mid), half: pose.rot * half, radius: 0.0 })
            }
            (Spot::Corner(c), None) => {
                let center = pose.point(hull.corners[c as usize]);
                (CORNER | c, Against::Sphere { center, radius: 0.0 })
            }
        };
        found.push(Feature::at(id | (k as u32) << 28, swapped, ball, against, [link_r, link_h]));
    }
    if !is_ball {
        let axis = Against::Capsule { segment: [center - half, center + half], radius };
        for (k, corner) in hull.corners.iter().enumerate() {
            let point = pose.point(*corner);
            if !beyond_ends([link_h, link_r], point, (center, half)) {
                let tip = (Tip::Sphere { radius: 0.0 }, point);
                found.push(Feature::at(VERTEX | k as u32, !swapped, tip, axis, [link_h, link_r]));
            }
        }
        if let Some((axis, other)) = cylinder {
            let id = EDGES | hull.edges.len() as u32;
            found.lines(id, swapped, [(center, half, radius), (pose.pos, axis, other)], [link_r, link_h]);
        }
        for e in 0..hull.edges.len() as u32 {
            let (mid, length) = hull.line(e);
            if cylinder.is_some() && length[2].abs() > 0.5 * length.norm() {
                continue;
            }
            let line = (pose.point(mid), pose.rot * length, 0.0);
            found.lines(EDGES | e, swapped, [(center, half, radius), line], [link_r, link_h]);
        }
    }
    found.out.axes.distance[0] = found.nearest;
}
