//! Where a capsule touches a capsule or a box: balls at its ends, corners against its axis, edges that cross the axis.
//!
//! Every gap here is a true distance of parts of the two bodies, so each of them may be asked for at any time; those are named that
//! can be the nearest.

use super::geometry::{Link, nearest_on_lines, nearest_on_segments};
use super::manifold::{Feature, Limits, Manifold, Solid, corner, edge};
use super::{Against, Tip};
use crate::spatial::Vec3;

/// Sine of the angle between lines below which their ends say all about their distance.
const PARALLEL: f64 = 1e-4;

const BALL: u32 = 1 << 16;
const VERTEX: u32 = 2 << 16;
const EDGES: u32 = 3 << 16;

pub(super) struct Found<'a> {
    pub(super) reach: f64,
    pub(super) nearest: f64,
    pub(super) out: &'a mut Manifold,
}

impl Found<'_> {
    pub(super) fn push(&mut self, feature: Feature) {
        self.nearest = self.nearest.min(feature.gap);
        if feature.gap <= self.reach {
            self.out.push(feature);
        }
    }

    /// Two lines that cross within their ends: their halves with the normal towards the first, none if they do not cross.
    pub(super) fn lines(
        &mut self,
        id: u32,
        flipped: bool,
        [(c_a, half_a, r_a), (c_b, half_b, r_b)]: [(Vec3, Vec3, f64); 2],
        links: [&Link; 2],
    ) {
        let (a, b) = (links[0].rot * half_a, links[1].rot * half_b);
        let between = (links[0].pos + links[0].rot * c_a) - (links[1].pos + links[1].rot * c_b);
        let cross = a.cross(b);
        if cross.norm() <= PARALLEL * a.norm() * b.norm() {
            return;
        }
        let [s, t] = nearest_on_lines(a, b, between);
        if s.abs() >= 1.0 || t.abs() >= 1.0 {
            return;
        }
        let half_a = if cross.dot(between) < 0.0 { -half_a } else { half_a };
        let against = Against::Edge { center: c_b, half: half_b, radius: r_b };
        self.push(Feature::at(id, flipped, (Tip::Edge { half: half_a, radius: r_a }, c_a), against, links));
    }
}

/// Features of two capsules: ends of each against the other's axis, and the crossing of the axes.
pub(super) fn capsules(
    [(a, link_a), (b, link_b)]: [(&Solid, &Link); 2],
    Limits { reach, far }: Limits,
    out: &mut Manifold,
) {
    let (
        &Solid::Capsule { center: c_a, half: half_a, radius: r_a },
        &Solid::Capsule { center: c_b, half: half_b, radius: r_b },
    ) = (a, b)
    else {
        return;
    };
    let (along_a, along_b) = (link_a.rot * half_a, link_b.rot * half_b);
    let between = link_a.point(c_a) - link_b.point(c_b);
    let [s, t] = nearest_on_segments(along_a, along_b, between);
    let distance = (between + along_a * s - along_b * t).norm() - r_a - r_b;
    if distance > far {
        out.axes.distance[0] = distance;
        return;
    }
    let mut found = Found { reach, nearest: f64::INFINITY, out };
    let mine = |x: usize| if x == 0 { (c_a, half_a, r_a) } else { (c_b, half_b, r_b) };
    for x in 0..2 {
        let ((center, half, radius), (c, h, r)) = (mine(x), mine(1 - x));
        let links = if x == 0 { [link_a, link_b] } else { [link_b, link_a] };
        let against = Against::Capsule { segment: [c - h, c + h], radius: r };
        for (k, s) in [-1.0, 1.0].into_iter().enumerate() {
            let id = BALL | (2 * x + k) as u32;
            let ball = (Tip::Sphere { radius }, center + half * s);
            let feature = Feature::at(id, x == 1, ball, against, links);
            // Beyond the other's ends two balls meet: one of the two ways is enough.
            let beyond = beyond_ends(links, ball.1, (c, h));
            if !(beyond && x == 1) {
                found.push(feature);
            }
        }
    }
    found.lines(EDGES, false, [mine(0), mine(1)], [link_a, link_b]);
    found.out.axes.distance[0] = found.nearest;
}

/// True if the point of the axis that is nearest to a ball's centre is one of its ends.
pub(super) fn beyond_ends([own, other]: [&Link; 2], center: Vec3, (c, h): (Vec3, Vec3)) -> bool {
    let local = other.rot.tr_mul(own.pos + own.rot * center - other.pos) - c;
    local.dot(h).abs() >= h.norm2()
}

/// Features of a capsule and a box; `swapped` if the capsule is B.
pub(super) fn capsule_and_box(
    [(capsule, link_c), (block, link_b)]: [(&Solid, &Link); 2],
    swapped: bool,
    Limits { reach, far }: Limits,
    out: &mut Manifold,
) {
    let (&Solid::Capsule { center, half, radius }, &Solid::Box { pose, half: size }) = (capsule, block)
    else {
        return;
    };
    // Along the axes of the box.
    let axes = link_b.rot * pose.rot;
    let between = axes.tr_mul(link_c.point(center) - link_b.point(pose.pos));
    let along = axes.tr_mul(link_c.rot * half);
    let apart = |k: usize| between[k].abs() - along[k].abs() - size[k] - radius;
    let distance = apart(0).max(apart(1)).max(apart(2));
    if distance > far {
        out.axes.distance[0] = distance;
        return;
    }
    let mut found = Found { reach, nearest: f64::INFINITY, out };
    let against = Against::Box { pose, half: size, entered: None };
    for (k, s) in [-1.0, 1.0].into_iter().enumerate() {
        let ball = (Tip::Sphere { radius }, center + half * s);
        found.push(Feature::at(BALL | k as u32, swapped, ball, against, [link_c, link_b]));
    }
    let axis = Against::Capsule { segment: [center - half, center + half], radius };
    for bits in 0..8 {
        let point = pose.point(corner(size, bits));
        if !beyond_ends([link_b, link_c], point, (center, half)) {
            let tip = (Tip::Sphere { radius: 0.0 }, point);
            found.push(Feature::at(VERTEX | bits as u32, !swapped, tip, axis, [link_b, link_c]));
        }
    }
    for along in 0..3 {
        for bits in (0..8).filter(|bits| bits >> along & 1 == 0) {
            let (middle, length) = edge(size, along, bits);
            let line = (pose.point(middle), pose.rot * length, 0.0);
            let id = EDGES | (along << 3 | bits) as u32;
            found.lines(id, swapped, [(center, half, radius), line], [link_c, link_b]);
        }
    }
    found.out.axes.distance[0] = found.nearest;
}
