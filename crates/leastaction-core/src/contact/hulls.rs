//! Where two hulls touch: as two boxes do, with corners above faces, edges that cross, and the polygon that two faces have in common.
//!
//! The direction that separates best is found by [`apart`], then told as a face or as a pair of edges next to the
//! corners that are nearest along it.

use super::apart;
use super::boxes::shared;
use super::geometry::{Link, Touch};
use super::hull::Hull;
use super::manifold::{Axes, Feature, Limits, Manifold};
use super::{Against, Tip};
use crate::spatial::{Mat3, Pose, Vec3};

/// How far beyond the rim of a face a point is still above it, of the size of the hull.
pub(super) const BRINK: f64 = 1e-6;
/// Sine of the angle between edges below which their crossing is a point of one above the face of the other.
const ALIGNED: f64 = 0.05;
/// Sine of the angle between edges below which they separate nothing that faces do not.
const PARALLEL: f64 = 1e-6;
/// A crossing whose normal leans away from that of the face by more than this cosine belongs to another face.
const LEANS: f64 = 0.3;
/// Edges that are the nearest along their normal are so to this, of the size.
const EXTREME: f64 = 1e-12;
/// Most sides of a face that is cut or cuts: of more, every second or third is taken.
const SIDES: usize = 60;
/// Most corners of a polygon that make features.
pub(super) const CORNERS: usize = 24;

const VERTEX: u32 = 1 << 29;
pub(super) const EDGES: u32 = 2 << 29;
const POINT: u32 = 3 << 29;
pub(super) const LINE: u32 = 4 << 29;
pub(super) const ROUND: u32 = 5 << 29;

/// What separates two hulls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Separator {
    /// A face of A or B (0 or 1).
    Face(usize, u32),
    /// Edges of A and B; the sign makes the product of their directions point towards A.
    Edges(u32, u32, f64),
}

/// How two hulls were at an earlier pose.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    turn: Mat3,
    shift: Vec3,
    best: Separator,
}

/// Two hulls seen from the frame of B's.
pub(super) struct Pair<'a> {
    pub(super) hull: [&'a Hull; 2],
    pub(super) pose: [&'a Pose; 2],
    pub(super) link: [&'a Link; 2],
    turn: Mat3,
    shift: Vec3,
}

impl Pair<'_> {
    /// Corners that are nearest to each other along a direction from B to A.
    fn nearest(&self, n: Vec3) -> [u32; 2] {
        [self.hull[0].farthest(-self.turn.tr_mul(n)), self.hull[1].farthest(n)]
    }

    fn corner(&self, x: usize, k: u32) -> Vec3 {
        let p = self.hull[x].corners[k as usize];
        if x == 0 { self.shift + self.turn * p } else { p }
    }

    fn distance(&self, n: Vec3) -> f64 {
        let [a, b] = self.nearest(n);
        n.dot(self.corner(0, a) - self.corner(1, b))
    }

    /// An edge's direction.
    pub(super) fn along(&self, x: usize, edge: u32) -> Vec3 {
        let d = self.hull[x].line(edge).1;
        if x == 0 { self.turn * d } else { d }
    }

    /// The unit direction of a separator, from B to A, with the sine of the angle between its edges.
    fn direction(&self, of: Separator) -> Option<(Vec3, f64)> {
        match of {
            Separator::Face(0, f) => Some((self.turn * -self.hull[0].faces[f as usize].normal, 1.0)),
            Separator::Face(_, f) => Some((self.hull[1].faces[f as usize].normal, 1.0)),
            Separator::Edges(a, b, sign) => {
                let (a, b) = (self.along(0, a), self.along(1, b));
                let n = a.cross(b);
                let sine = n.norm() / (a.norm() * b.norm());
                (sine > PARALLEL).then(|| (n * (sign / n.norm()), sine))
            }
        }
    }

    fn value(&self, of: Separator) -> f64 {
        self.direction(of).map_or(f64::NEG_INFINITY, |(n, _)| self.distance(n))
    }
}

/// The best face and the best pair of edges next to a direction.
struct Choice {
    face: (Separator, f64),
    line: (Separator, f64),
}

impl Choice {
    fn offer(&mut self, of: Separator, value: f64) {
        let mine = if let Separator::Face(..) = of { &mut self.face } else { &mut self.line };
        if value > mine.1 {
            *mine = (of, value);
        }
    }

    /// Faces and edges at the corners that are nearest along `n`, of those that pass `allowed`.
    fn around(pair: &Pair<'_>, n: Vec3, size: f64, allowed: &impl Fn(Separator) -> bool) -> Self {
        let none = f64::NEG_INFINITY;
        let mut out = Self { face: (Separator::Face(0, 0), none), line: (Separator::Edges(0, 0, 1.0), none) };
        let near = pair.nearest(n);
        for x in 0..2 {
            for &f in &pair.hull[x].around[near[x] as usize] {
                let of = Separator::Face(x, f);
                let value = pair.value(of);
                if value > out.face.1 && allowed(of) {
                    out.offer(of, value);
                }
            }
        }
        let at = [pair.corner(0, near[0]), pair.corner(1, near[1])];
        for &(_, a) in &pair.hull[0].neighbours[near[0] as usize] {
            for &(_, b) in &pair.hull[1].neighbours[near[1] as usize] {
                let (d, e) = (pair.along(0, a), pair.along(1, b));
                let sign = if d.cross(e).dot(n) < 0.0 { -1.0 } else { 1.0 };
                let of = Separator::Edges(a, b, sign);
                let Some((n, _)) = pair.direction(of) else { continue };
                let own = n.dot(at[0] - at[1]);
                // The corners stay the nearest along the normal of the edges only if these touch first.
                if own > out.line.1 && own - pair.distance(n) <= EXTREME * size && allowed(of) {
                    out.offer(of, own);
                }
            }
        }
        out
    }
}

/// Features of two hulls within `reach`, and what separates them.
pub(super) fn features(
    [(a, pose_a, link_a), (b, pose_b, link_b)]: [(&Hull, &Pose, &Link); 2],
    Limits { reach, far }: Limits,
    closed: f64,
    before: Option<&Axes>,
    out: &mut Manifold,
) {
    let placed = [(pose_a, link_a), (pose_b, link_b)]
        .map(|(pose, link)| (link.rot * pose.rot, link.pos + link.rot * pose.pos));
    let pair = Pair {
        hull: [a, b],
        pose: [pose_a, pose_b],
        link: [link_a, link_b],
        turn: placed[1].0.transpose() * placed[0].0,
        shift: placed[1].0.tr_mul(placed[0].1 - placed[1].1),
    };
    let size = a.reach + b.reach;
    let farthest =
        |d: Vec3| pair.corner(0, a.farthest(pair.turn.tr_mul(d))) - b.corners[b.farthest(-d) as usize];
    let apart = pair.shift.norm();
    let towards = if apart > 1e-9 * size { pair.shift * (1.0 / apart) } else { Vec3([0.0, 0.0, 1.0]) };
    let before = before.and_then(|axes| Some((axes.hulls.as_ref()?, axes.gap())));
    let start = before.and_then(|(before, _)| pair.direction(before.best)).map_or(towards, |(n, _)| n);
    // Smooth bodies stand out of their hulls.
    let sag = a.sag + b.sag;
    let best = apart::best(&farthest, start, size, far + sag);
    out.axes.distance[0] = best.distance;
    if best.distance > far + sag {
        out.axes.distance[0] -= sag;
        return;
    }
    let all = Choice::around(&pair, best.normal, size, &|_| true);
    let gap = best.distance.max(all.face.1).max(all.line.1);
    let (best, _) = if all.face.1 >= all.line.1 { all.face } else { all.line };
    out.axes.distance[0] = gap;
    out.axes.hulls = Some(Before { turn: pair.turn, shift: pair.shift, best });
    // With an earlier pose only what separated there.
    let choice = match before {
        None => all,
        Some((start, gap)) => {
            let then = Pair { turn: start.turn, shift: start.shift, ..pair };
            let separated = |of: Separator| {
                let value = then.value(of);
                value >= -closed || value >= gap
            };
            let n = pair.direction(best).map_or(towards, |(n, _)| n);
            let mut choice = Choice::around(&pair, n, size, &separated);
            choice.offer(start.best, pair.value(start.best));
            choice
        }
    };
    let ((face, of_face), (line, of_line)) = (choice.face, choice.line);
    let is_apart = gap >= -closed;
    let least = if is_apart { -closed } else { f64::NEG_INFINITY };
    let mut found = Found { pair: &pair, reach, least, sag, out };
    if of_face > -0.1 * size {
        found.polygon(face);
    }
    if of_line > of_face + 0.1 * closed {
        found.crossing(line);
    } else if before.is_some() && !is_apart && of_face.is_finite() {
        // Whatever else there is, the lowest corners keep this direction a separating one.
        let deepest = found.out.features().iter().fold(f64::INFINITY, |m, f| m.min(f.gap));
        if deepest >= -closed {
            found.corners(face, closed);
        }
    }
}

pub(super) struct Found<'a> {
    pub(super) pair: &'a Pair<'a>,
    reach: f64,
    /// Features deeper than this are beyond a rim, where nothing is.
    least: f64,
    /// How far smooth bodies stand out.
    sag: f64,
    out: &'a mut Manifold,
}

/// A corner of the polygon: where it is, and the side that follows. Sides of the cut face count from 0, those of the other from
/// [`CUTS`].
type Corner = (Vec3, usize);
const CUTS: usize = 1 << 12;

impl Found<'_> {
    fn push(&mut self, feature: Feature) {
        if feature.gap <= self.reach && feature.gap >= self.least {
            self.out.push(feature);
        }
    }

    /// A feature of a smooth body, deeper than those of its hull; the bodies are no farther apart than it is.
    pub(super) fn push_round(&mut self, feature: Feature) {
        if feature.gap >= self.least - 2.0 * self.sag {
            let distance = &mut self.out.axes.distance[0];
            *distance = distance.min(feature.gap);
            if feature.gap <= self.reach {
                self.out.push(feature);
            }
        }
    }

    pub(super) fn plane(&self, x: usize, face: u32) -> Against {
        let (pose, face) = (self.pair.pose[x], &self.pair.hull[x].faces[face as usize]);
        let normal = pose.rot * face.normal;
        Against::Face { normal, offset: normal.dot(pose.pos) + face.offset }
    }

    /// A point of hull `x` above a face of the other.
    fn above(&mut self, id: u32, x: usize, point: Vec3, face: u32) {
        let links = [self.pair.link[x], self.pair.link[1 - x]];
        let id = id | (x as u32) << 28;
        if let Some(side) = self.curved(1 - x, face) {
            let tip = self.beside(x, point);
            self.push_round(Feature::at(id, x == 1, tip, side, links));
            return;
        }
        let tip = (Tip::Sphere { radius: 0.0 }, self.pair.pose[x].point(point));
        self.push(Feature::at(id, x == 1, tip, self.plane(1 - x, face), links));
    }

    fn vertex(&mut self, x: usize, corner: u32, face: u32) {
        self.above(VERTEX | corner << 14 | face, x, self.pair.hull[x].corners[corner as usize], face);
    }

    /// Corners of the hull that lie below a face that separates the two, wherever they are.
    fn corners(&mut self, of: Separator, closed: f64) {
        let Separator::Face(x, face) = of else { return };
        let plane = self.plane(x, face);
        let links = [self.pair.link[1 - x], self.pair.link[x]];
        for k in 0..self.pair.hull[1 - x].corners.len() {
            let point = self.pair.pose[1 - x].point(self.pair.hull[1 - x].corners[k]);
            if Touch::new(&Tip::Sphere { radius: 0.0 }, point, &plane, links[0], links[1]).gap < -closed {
                self.vertex(1 - x, k as u32, face);
            }
        }
    }

    /// Two edges that cross. The normal leads from B to A on the side of `towards`, in B's frame.
    fn edges(&mut self, edges: [u32; 2], towards: Vec3) {
        let place = |x: usize| {
            let (center, along) = self.pair.hull[x].line(edges[x]);
            (self.pair.pose[x].point(center), self.pair.pose[x].rot * along)
        };
        let ((center_a, mut along_a), (center_b, along_b)) = (place(0), place(1));
        if self.pair.along(0, edges[0]).cross(self.pair.along(1, edges[1])).dot(towards) < 0.0 {
            along_a = -along_a;
        }
        if self.axes_cross(edges, towards) {
            return;
        }
        let id = EDGES | edges[0] << 14 | edges[1];
        let against = Against::Edge { center: center_b, half: along_b, radius: 0.0 };
        let tip = Tip::Edge { half: along_a, radius: 0.0 };
        self.push(Feature::at(id, false, (tip, center_a), against, self.pair.link));
    }

    /// The edges that separate.
    fn crossing(&mut self, of: Separator) {
        let (Separator::Edges(a, b, _), Some((n, sine))) = (of, self.pair.direction(of)) else { return };
        if sine >= ALIGNED {
            self.edges([a, b], n);
            return;
        }
        // Nearly parallel: a line that lies on an edge, its ends above a plane through the latter.
        let (center, _) = self.pair.hull[1].line(b);
        let normal = self.pair.pose[1].rot * n;
        let against = Against::Face { normal, offset: normal.dot(self.pair.pose[1].point(center)) };
        // All in the frame of B.
        let hull = self.pair.hull[1];
        let ([p, q], [r, s]) = (self.pair.hull[0].edges[a as usize], hull.edges[b as usize]);
        let (from, to) = (self.pair.corner(0, p), self.pair.corner(0, q));
        let (middle_b, half_b) = (
            (hull.corners[r as usize] + hull.corners[s as usize]) * 0.5,
            hull.corners[s as usize] - hull.corners[r as usize],
        );
        let lines = [[(from + to) * 0.5, (to - from) * 0.5], [middle_b, half_b * 0.5]];
        let around = hull.around[r as usize].iter().map(|f| &hull.faces[*f as usize]);
        let faces = around.filter(|face| face.edges.contains(&b)).map(|face| face.normal);
        let ends = shared(lines, n, faces, BRINK * hull.reach);
        if self.side_by_side([a, b], ends) {
            return;
        }
        let corners = &self.pair.hull[0].corners;
        let (start, along) = (corners[p as usize], corners[q as usize] - corners[p as usize]);
        for (k, at) in ends.into_iter().enumerate() {
            let point = self.pair.pose[0].point(start + along * (0.5 + 0.5 * at));
            let id = LINE | a << 15 | b << 1 | k as u32;
            self.push(Feature::at(id, false, (Tip::Sphere { radius: 0.0 }, point), against, self.pair.link));
        }
    }

    /// Corners of the polygon that a face of one hull and the nearest face of the other have in common, seen along the former.
    fn polygon(&mut self, of: Separator) {
        let Separator::Face(r, f) = of else { return };
        let i = 1 - r;
        let pair = self.pair;
        let Some((n, _)) = pair.direction(of) else { return };
        // Points of the cut hull in the frame of the fixed one, and its axes.
        let (turn, shift) = if r == 1 {
            (pair.turn, pair.shift)
        } else {
            (pair.turn.transpose(), -pair.turn.tr_mul(pair.shift))
        };
        let (fixed, cut) = (pair.hull[r], pair.hull[i]);
        let face = &fixed.faces[f as usize];
        let own = turn.tr_mul(face.normal);
        let lowest = pair.nearest(n)[i];
        let lean = |g: &u32| cut.faces[*g as usize].normal.dot(own);
        let Some(&g) = cut.around[lowest as usize].iter().min_by(|p, q| lean(p).total_cmp(&lean(q))) else {
            return;
        };
        let other = &cut.faces[g as usize];
        let (m, n) = (other.corners.len(), face.corners.len());
        let (step_m, step_n) = (m.div_ceil(SIDES), n.div_ceil(SIDES));
        let mut polygon: [Corner; 2 * SIDES + 2] = [(Vec3::zero(), 0); 2 * SIDES + 2];
        let mut spare = polygon;
        let mut count = 0;
        for k in (0..m).step_by(step_m) {
            polygon[count] = (shift + turn * cut.corners[other.corners[k] as usize], k);
            count += 1;
        }
        let brink = BRINK * fixed.reach;
        for k in (0..n).step_by(step_n) {
            let at = |k: usize| fixed.corners[face.corners[k % n] as usize];
            let next = if k + step_n >= n { n } else { k + step_n };
            let side = (at(next) - at(k)).cross(face.normal);
            let (side, from) = (side * (1.0 / side.norm()), at(k));
            let beyond = |c: &Corner| side.dot(c.0 - from) - brink;
            let mut kept = 0;
            for q in 0..count {
                let (from, to) = (polygon[q], polygon[(q + 1) % count]);
                let (d0, d1) = (beyond(&from), beyond(&to));
                let at = || from.0 + (to.0 - from.0) * (d0 / (d0 - d1));
                if kept + 2 > spare.len() {
                    return;
                }
                if d0 <= 0.0 {
                    spare[kept] = from;
                    kept += 1;
                    if d1 > 0.0 {
                        spare[kept] = (at(), CUTS + k);
                        kept += 1;
                    }
                } else if d1 <= 0.0 {
                    spare[kept] = (at(), from.1);
                    kept += 1;
                }
            }
            std::mem::swap(&mut polygon, &mut spare);
            count = kept;
        }
        self.round_above(i, f);
        self.round_above(r, g);
        let outwards = if r == 0 { -(pair.turn * face.normal) } else { face.normal };
        for q in (0..count).step_by(count.div_ceil(CORNERS).max(1)) {
            let (place, next) = polygon[q];
            let before = polygon[(q + count - 1) % count].1;
            match (before < CUTS, next < CUTS) {
                (true, true) => self.vertex(i, other.corners[next], f),
                // Two sides of the fixed face: its own corner between them, above the cut face.
                (false, false) => {
                    let (p, q) = (before - CUTS, next - CUTS);
                    let after = |k: usize| if k + step_n >= n { 0 } else { k + step_n };
                    if after(p) == q {
                        self.vertex(r, face.corners[q], g);
                    } else if after(q) == p {
                        self.vertex(r, face.corners[p], g);
                    }
                }
                _ => {
                    let (of_cut, of_fixed) =
                        if before < CUTS { (before, next - CUTS) } else { (next, before - CUTS) };
                    let (c, e) = (other.edges[of_cut], face.edges[of_fixed]);
                    let (along, across) = (pair.along(i, c), pair.along(r, e));
                    let crossed = along.cross(across);
                    let size = along.norm() * across.norm();
                    if crossed.norm() < ALIGNED * size || step_m > 1 || step_n > 1 {
                        let id = POINT | c << 14 | e;
                        self.above(id, i, turn.tr_mul(place - shift), f);
                    } else if crossed.dot(outwards).abs() > LEANS * crossed.norm() {
                        self.edges(if i == 0 { [c, e] } else { [e, c] }, outwards);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Solid;
    use crate::spatial::Quat;
    use std::sync::Arc;

    struct Dice(u64);

    impl Dice {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        fn vector(&mut self) -> Vec3 {
            Vec3(std::array::from_fn(|_| 2.0 * self.next() - 1.0))
        }

        fn link(&mut self, away: f64) -> Link {
            let axis = self.vector();
            let turn = Quat::about(axis * (1.0 / axis.norm()), 6.0 * self.next()).to_matrix();
            let to = self.vector();
            Link { rot: turn, pos: to * (away / to.norm()) }
        }
    }

    fn solid(hull: Hull) -> Solid {
        Solid::Hull { hull: Arc::new(hull), pose: Pose::identity() }
    }

    fn stone(dice: &mut Dice, count: usize) -> (Hull, Solid) {
        let points: Vec<Vec3> = (0..count).map(|_| dice.vector() * 0.1).collect();
        let hull = Hull::new(&points).unwrap().0;
        (hull.clone(), solid(hull))
    }

    fn found(solids: [&Solid; 2], links: [&Link; 2], reach: f64) -> Manifold {
        let mut out = Manifold::default();
        out.find(solids, links, reach, 1e-9, None);
        out
    }

    /// The pose of A moved along the separating direction until the bodies touch.
    fn touching(solids: [&Solid; 2], link: &mut Link) {
        for _ in 0..200 {
            let gap = Manifold::distance(solids, [link, &Link::ground()], 1e-9);
            if gap.abs() < 1e-15 {
                break;
            }
            link.pos = link.pos * (1.0 - gap / link.pos.norm());
        }
    }

    #[test]
    fn a_box_as_a_hull_touches_where_the_box_does() {
        let mut dice = Dice(7);
        let (mut touched, mut several) = (0, 0);
        for k in 0..400 {
            let halves = [0, 1].map(|_| Vec3(std::array::from_fn(|_| 0.03 + 0.07 * dice.next())));
            let boxes = halves.map(|half| Solid::Box { pose: Pose::identity(), half });
            let hulls = halves.map(|half| solid(Hull::of_box(half).unwrap()));
            let mut link = dice.link(0.3);
            if k % 2 == 0 {
                // Face on face.
                link.rot = Quat::about(Vec3([0.0, 0.0, 1.0]), 3.0 * dice.next()).to_matrix();
                link.pos =
                    Vec3([0.1 * dice.next() - 0.05, 0.1 * dice.next() - 0.05, halves[0][2] + halves[1][2]]);
            } else {
                touching([&boxes[0], &boxes[1]], &mut link);
            }
            let ground = Link::ground();
            let one = found([&boxes[0], &boxes[1]], [&link, &ground], 1e-7);
            let two = found([&hulls[0], &hulls[1]], [&link, &ground], 1e-7);
            assert!((one.gap() - two.gap()).abs() < 1e-12, "{k}: {} {}", one.gap(), two.gap());
            let near = |m: &Manifold| m.features().iter().filter(|f| f.gap.abs() < 1e-9).count();
            assert_eq!(near(&one), near(&two), "{k}: {:#?} {:#?}", one.features(), two.features());
            touched += usize::from(near(&two) > 0);
            several += usize::from(near(&two) > 3);
        }
        assert!(touched > 300 && several > 150, "{touched} {several}");
    }

    #[test]
    fn the_distance_of_stones_is_that_of_the_best_of_many_directions_and_they_touch_in_features() {
        let mut dice = Dice(11);
        for k in 0..150 {
            let (p, a) = stone(&mut dice, 8 + k);
            let (q, b) = stone(&mut dice, 200 - k);
            let mut link = dice.link(0.35);
            let ground = Link::ground();
            let gap = Manifold::distance([&a, &b], [&link, &ground], 1e-9);
            let along = |n: Vec3| {
                let low = p.corners.iter().fold(f64::INFINITY, |m, x| m.min(n.dot(link.pos + link.rot * *x)));
                low - q.corners.iter().fold(f64::NEG_INFINITY, |m, x| m.max(n.dot(*x)))
            };
            let mut best = f64::NEG_INFINITY;
            for _ in 0..2000 {
                let n = dice.vector();
                best = best.max(along(n * (1.0 / n.norm())));
            }
            assert!(gap > 0.0 && best <= gap + 1e-12 && best > gap - 0.06, "{k}: {gap} {best}");
            touching([&a, &b], &mut link);
            let made = found([&a, &b], [&link, &ground], 1e-4);
            let nearest = made.features().iter().fold(f64::INFINITY, |m, f| m.min(f.gap));
            assert!(made.gap().abs() < 1e-12 && nearest.abs() < 1e-12, "{k}: {} {nearest}", made.gap());
            let other = found([&b, &a], [&ground, &link], 1e-4);
            assert!(
                (other.gap() - made.gap()).abs() < 1e-12 && other.features().len() == made.features().len()
            );
        }
    }

    #[test]
    fn balls_and_rods_are_as_far_from_a_hull_as_from_the_same_box() {
        let mut dice = Dice(3);
        let half = Vec3([0.1, 0.06, 0.08]);
        let (block, hull) = (Solid::Box { pose: Pose::identity(), half }, solid(Hull::of_box(half).unwrap()));
        let rod =
            Solid::Capsule { center: Vec3([0.01, 0.0, 0.0]), half: Vec3([0.02, 0.05, 0.1]), radius: 0.03 };
        let ball = Solid::Ball { center: Vec3([0.01, 0.0, 0.0]), radius: 0.03 };
        let ground = Link::ground();
        for k in 0..500 {
            let away = 0.12 + 0.2 * dice.next();
            let link = dice.link(away);
            let gaps = [&block, &hull].map(|b| found([&rod, b], [&link, &ground], f64::INFINITY));
            if gaps[0].gap() > -0.03 {
                assert!(
                    (gaps[0].gap() - gaps[1].gap()).abs() < 1e-13,
                    "{k}: {} {}",
                    gaps[0].gap(),
                    gaps[1].gap()
                );
            }
            let against = Against::Box { pose: Pose::identity(), half, entered: None };
            let touch =
                Touch::new(&Tip::Sphere { radius: 0.03 }, Vec3([0.01, 0.0, 0.0]), &against, &link, &ground);
            for (solids, links) in [([&ball, &hull], [&link, &ground]), ([&hull, &ball], [&ground, &link])] {
                let made = found(solids, links, f64::INFINITY);
                assert!((made.gap() - touch.gap).abs() < 1e-14, "{k}");
                assert_eq!(made.features().len(), 1);
            }
        }
    }
}
