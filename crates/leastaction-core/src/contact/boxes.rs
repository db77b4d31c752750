//! Where two boxes touch: the direction that separates them, and on a face the corners of the common polygon.
//!
//! The polygon is cut out of one face by the sides of the other. Its corners are corners of either box (above the plane of the
//! other's face) or crossings of two edges. What is named does not depend on which face was cut.

use super::geometry::{Link, Touch};
use super::manifold::{AXES, Axes, Feature, Limits, Manifold, Placed, Solid, corner, edge};
use super::{Against, Tip};
use crate::spatial::{Mat3, Pose, Vec3};

/// How far beyond the rim of a face a point is still above it, of the size of the box: a corner that lies on a corner is.
const BRINK: f64 = 1e-6;
/// Sine of the angle between edges below which their crossing is a point of one above the face of the other.
const ALIGNED: f64 = 0.05;
/// Sine of the angle between edges below which they separate nothing that faces do not.
const PARALLEL: f64 = 1e-6;
/// A crossing whose normal leans away from that of the face by more than this cosine belongs to another face.
const LEANS: f64 = 0.3;

const VERTEX: u32 = 1 << 16;
const EDGES: u32 = 2 << 16;
const POINT: u32 = 3 << 16;
const LINE: u32 = 4 << 16;

/// Two boxes with their links; index 0 is A.
struct Pair<'a> {
    pose: [&'a Pose; 2],
    link: [&'a Link; 2],
    at: [Placed; 2],
}

/// Features of two boxes within `reach`, and the distances that separate them.
pub(super) fn features(
    [(a, link_a), (b, link_b)]: [(&Solid, &Link); 2],
    Limits { reach, far }: Limits,
    closed: f64,
    before: Option<&Axes>,
    out: &mut Manifold,
) {
    let (Solid::Box { pose: pose_a, half: half_a }, Solid::Box { pose: pose_b, half: half_b }) = (a, b)
    else {
        return;
    };
    let at = [Placed::new(pose_a, *half_a, link_a), Placed::new(pose_b, *half_b, link_b)];
    let pair = Pair { pose: [pose_a, pose_b], link: [link_a, link_b], at };
    out.axes = separations(&pair.at);
    let gap = out.axes.gap();
    if gap > far {
        return;
    }
    // Distances to choose by: with an earlier pose those along directions that separated there, on the side of then.
    let mut choice = out.axes;
    if let Some(before) = before {
        let best = before.gap();
        for k in 0..AXES {
            let separated = before.distance[k] >= -closed || before.distance[k] >= best;
            if !separated {
                choice.distance[k] = f64::NEG_INFINITY;
            } else if choice.side[k] != before.side[k] {
                // Beyond the middle: as deep as both boxes.
                choice.side[k] = before.side[k];
                choice.distance[k] = -extent(&pair.at, k) * 2.0 - choice.distance[k];
            }
        }
    }
    let largest = |range: std::ops::Range<usize>| {
        range.fold(
            (0, f64::NEG_INFINITY),
            |m, k| if choice.distance[k] > m.1 { (k, choice.distance[k]) } else { m },
        )
    };
    let (face, of_face) = largest(0..6);
    let (line, of_line) = largest(6..AXES);
    let apart = gap >= -closed;
    let crossed = of_line > of_face + 0.1 * closed;
    let size = half_a.norm() + half_b.norm();
    let mut found = Found { pair: &pair, reach, least: if apart { -closed } else { f64::NEG_INFINITY }, out };
    if of_face > -0.1 * size {
        found.polygon(face, choice.side[face]);
    }
    if crossed {
        found.crossing(line - 6, choice.side[line]);
    } else if before.is_some() && !apart && of_face.is_finite() {
        // Whatever else there is, the lowest corners keep this direction a separating one.
        let deepest = found.out.features().iter().fold(f64::INFINITY, |m, f| m.min(f.gap));
        if deepest >= -closed {
            found.corners(face, choice.side[face], closed);
        }
    }
}

/// Half extents of both boxes along a direction, in units of it.
fn extent(at: &[Placed; 2], k: usize) -> f64 {
    let Some((n, _)) = direction(at, k) else { return 0.0 };
    at.iter().map(|x| (0..3).map(|i| (x.rot.column(i).dot(n) * x.half[i]).abs()).sum::<f64>()).sum()
}

/// A unit direction that may separate: faces of A, faces of B, pairs of edges; with the sine of the angle between the edges.
fn direction(at: &[Placed; 2], k: usize) -> Option<(Vec3, f64)> {
    if k < 6 {
        return Some((at[k / 3].rot.column(k % 3), 1.0));
    }
    let n = at[0].rot.column((k - 6) / 3).cross(at[1].rot.column((k - 6) % 3));
    let sine = n.norm();
    (sine > PARALLEL).then(|| (n * (1.0 / sine), sine))
}

fn separations(at: &[Placed; 2]) -> Axes {
    let mut out = Axes::default();
    let between = at[0].pos - at[1].pos;
    for k in 0..AXES {
        let Some((n, _)) = direction(at, k) else { continue };
        let along = n.dot(between);
        out.side[k] = if along < 0.0 { -1.0 } else { 1.0 };
        out.distance[k] = along.abs() - extent(at, k);
    }
    out
}

struct Found<'a> {
    pair: &'a Pair<'a>,
    reach: f64,
    /// Features deeper than this are beyond a rim, where nothing is.
    least: f64,
    out: &'a mut Manifold,
}

/// A corner of the polygon: where it is, and the tag of the side that follows. Sides of the cut face are 0 to 3, those of the other
/// box 4 to 7.
type Corner = (Vec3, usize);

impl Found<'_> {
    fn push(&mut self, feature: Feature) {
        if feature.gap <= self.reach && feature.gap >= self.least {
            self.out.push(feature);
        }
    }

    /// The plane of a face of box `x`, in the frame of its link.
    fn plane(&self, x: usize, axis: usize, sign: f64) -> Against {
        let (pose, half) = (self.pair.pose[x], self.pair.at[x].half);
        let normal = pose.rot.column(axis) * sign;
        Against::Face { normal, offset: normal.dot(pose.pos) + half[axis] }
    }

    /// A point of box `x` (box axes) above a face of the other.
    fn above(&mut self, id: u32, x: usize, point: Vec3, (axis, sign): (usize, f64)) {
        let center = self.pair.pose[x].point(point);
        let against = self.plane(1 - x, axis, sign);
        let links = [self.pair.link[x], self.pair.link[1 - x]];
        let id = id | (x as u32) << 15;
        self.push(Feature::at(id, x == 1, (Tip::Sphere { radius: 0.0 }, center), against, links));
    }

    fn vertex(&mut self, x: usize, bits: usize, face: (usize, f64)) {
        let id = VERTEX | (bits as u32) << 4 | face_number(face);
        self.above(id, x, corner(self.pair.at[x].half, bits), face);
    }

    /// Corners of the box that lie below a face that separates the two, wherever they are.
    fn corners(&mut self, axis: usize, side: f64, closed: f64) {
        let x = axis / 3;
        let face = (axis % 3, if x == 0 { -side } else { side });
        for bits in 0..8 {
            let point = self.pair.pose[1 - x].point(corner(self.pair.at[1 - x].half, bits));
            let links = [self.pair.link[1 - x], self.pair.link[x]];
            let tip = Tip::Sphere { radius: 0.0 };
            if Touch::new(&tip, point, &self.plane(x, face.0, face.1), links[0], links[1]).gap < -closed {
                self.vertex(1 - x, bits, face);
            }
        }
    }

    /// Two edges that cross, along `axes` and at the places `bits` of A and B. The normal leads from B to A on `towards`' side.
    fn edges(&mut self, axes: [usize; 2], bits: [usize; 2], towards: Vec3) {
        let place = |x: usize| {
            let (center, along) = edge(self.pair.at[x].half, axes[x], bits[x]);
            (self.pair.pose[x].point(center), self.pair.pose[x].rot * along)
        };
        let ((center_a, mut along_a), (center_b, along_b)) = (place(0), place(1));
        let normal = (self.pair.link[0].rot * along_a).cross(self.pair.link[1].rot * along_b);
        if normal.dot(towards) < 0.0 {
            along_a = -along_a;
        }
        let number = |x: usize| (axes[x] as u32) << 3 | (bits[x] & !(1 << axes[x])) as u32;
        let id = EDGES | number(0) << 5 | number(1);
        let against = Against::Edge { center: center_b, half: along_b, radius: 0.0 };
        let tip = Tip::Edge { half: along_a, radius: 0.0 };
        self.push(Feature::at(id, false, (tip, center_a), against, self.pair.link));
    }

    /// The edges that a pair of edge directions separates.
    fn crossing(&mut self, number: usize, side: f64) {
        let axes = [number / 3, number % 3];
        let Some((n, sine)) = direction(&self.pair.at, 6 + number) else { return };
        let n = n * side;
        // The lowest edge of A and the highest of B.
        let bits = [-1.0, 1.0].map(|s| s);
        let bits: [usize; 2] = std::array::from_fn(|x| {
            let rot: &Mat3 = &self.pair.at[x].rot;
            (0..3).fold(0, |m, k| m | usize::from(rot.column(k).dot(n) * bits[x] > 0.0) << k)
        });
        if sine >= ALIGNED {
            self.edges(axes, bits, n);
            return;
        }
        // Nearly parallel: a line that lies on an edge, its ends above a plane through the latter.
        let (center_a, along_a) = edge(self.pair.at[0].half, axes[0], bits[0]);
        let (center_b, along_b) = edge(self.pair.at[1].half, axes[1], bits[1]);
        let normal = self.pair.link[1].rot.tr_mul(n);
        let against = Against::Face { normal, offset: normal.dot(self.pair.pose[1].point(center_b)) };
        let [a, b] = &self.pair.at;
        let lines =
            [[a.pos + a.rot * center_a, a.rot * along_a], [b.pos + b.rot * center_b, b.rot * along_b]];
        let sign = |k: usize| if bits[1] >> k & 1 == 1 { 1.0 } else { -1.0 };
        let faces = (0..3).filter(|k| *k != axes[1]).map(|k| b.rot.column(k) * sign(k));
        let ends = shared(lines, n, faces, BRINK * b.half.norm());
        for (at, end) in ends.into_iter().zip([0, 1 << axes[0]]) {
            let center = self.pair.pose[0].point(center_a + along_a * at);
            let id = LINE | ((number << 4 | bits[0] & !(1 << axes[0])) << 4 | end) as u32;
            let tip = (Tip::Sphere { radius: 0.0 }, center);
            self.push(Feature::at(id, false, tip, against, self.pair.link));
        }
    }

    /// Corners of the polygon that a face of one box and the nearest face of the other have in common, seen along the former.
    fn polygon(&mut self, axis: usize, side: f64) {
        // The box with the face that separates, and the one whose face is cut.
        let (r, i) = if axis < 3 { (0, 1) } else { (1, 0) };
        let (fixed, cut) = (self.pair.at[r], self.pair.at[i]);
        let k = axis % 3;
        let s = if r == 0 { -side } else { side };
        let turn = fixed.rot.transpose() * cut.rot;
        let shift = fixed.rot.tr_mul(cut.pos - fixed.pos);
        let j = (0..3).fold(0, |m, x| if turn.0[k][x].abs() > turn.0[k][m].abs() { x } else { m });
        let sign = if turn.0[k][j] * s > 0.0 { -1.0 } else { 1.0 };
        let (u, v) = ((j + 1) % 3, (j + 2) % 3);
        let face_bits = usize::from(sign > 0.0) << j;
        let signs = [[1, 1], [0, 1], [0, 0], [1, 0]];
        let bits = signs.map(|[a, b]| face_bits | a << u | b << v);
        let mut polygon = [(Vec3::zero(), 0); 12];
        let mut spare = polygon;
        for m in 0..4 {
            polygon[m] = (shift + turn * corner(cut.half, bits[m]), m);
        }
        let mut count = 4;
        let (p, q) = ((k + 1) % 3, (k + 2) % 3);
        let brink = BRINK * fixed.half.norm();
        for (tag, (axis, sign)) in [(p, 1.0), (p, -1.0), (q, 1.0), (q, -1.0)].into_iter().enumerate() {
            let beyond = |c: &Corner| sign * c.0[axis] - fixed.half[axis] - brink;
            let mut kept = 0;
            for m in 0..count {
                let (from, to) = (polygon[m], polygon[(m + 1) % count]);
                let (d0, d1) = (beyond(&from), beyond(&to));
                let at = || from.0 + (to.0 - from.0) * (d0 / (d0 - d1));
                if d0 <= 0.0 {
                    spare[kept] = from;
                    kept += 1;
                    if d1 > 0.0 {
                        spare[kept] = (at(), 4 + tag);
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
        let face = (k, s);
        let normal = fixed.rot.column(k) * s;
        for m in 0..count {
            let (place, next) = polygon[m];
            let before = polygon[(m + count - 1) % count].1;
            match (before < 4, next < 4) {
                (true, true) => self.vertex(i, bits[next], face),
                (false, false) => {
                    // Two sides of the fixed face: its own corner, above the cut face.
                    let mut own = usize::from(s > 0.0) << k;
                    for tag in [before - 4, next - 4] {
                        own |= usize::from(tag % 2 == 0) << if tag < 2 { p } else { q };
                    }
                    if before / 2 != next / 2 {
                        self.vertex(r, own, (j, sign));
                    }
                }
                _ => {
                    let (of_cut, tag) = if before < 4 { (before, next - 4) } else { (next, before - 4) };
                    // Side 0 leads along u, 1 along v, ...; its ends share the other bits.
                    let along = if of_cut % 2 == 0 { u } else { v };
                    let of_fixed = if tag < 2 { q } else { p };
                    let mut own = usize::from(s > 0.0) << k;
                    own |= usize::from(tag % 2 == 0) << if tag < 2 { p } else { q };
                    let crossed = cut.rot.column(along).cross(fixed.rot.column(of_fixed));
                    let sine = crossed.norm();
                    if sine < ALIGNED {
                        let number = (along << 3 | bits[of_cut] & !(1 << along)) << 5 | of_fixed << 3 | own;
                        let point = cut.rot.tr_mul(fixed.pos + fixed.rot * place - cut.pos);
                        self.above(POINT | number as u32, i, point, face);
                    } else if crossed.dot(normal).abs() > LEANS * sine {
                        let (mut axes, mut places) = ([along, of_fixed], [bits[of_cut], own]);
                        if i == 1 {
                            axes.swap(0, 1);
                            places.swap(0, 1);
                        }
                        self.edges(axes, places, if r == 1 { normal } else { -normal });
                    }
                }
            }
        }
    }
}

/// Which part of an edge of A lies on one of B that is nearly parallel to it, as fractions of half its length; edges as their middles and
/// halves. Only where they cross do they meet, but as long as they are within `brink` of each other their ends say it as well, and where
/// they are parallel there is no crossing. All of the edge if the two pass each other.
pub(super) fn shared(
    [[middle_a, along_a], [middle_b, along_b]]: [[Vec3; 2]; 2],
    n: Vec3,
    faces_b: impl Iterator<Item = Vec3>,
    brink: f64,
) -> [f64; 2] {
    let length = along_b.norm();
    let u = along_b * (1.0 / length);
    let across = n.cross(u);
    // How fast the faces of B fall away on both sides of its edge.
    let (down, up) = faces_b.map(|f| f.dot(across)).fold((0.0f64, 0.0f64), |m, s| (m.0.min(s), m.1.max(s)));
    let between = middle_a - middle_b;
    let rows = [
        (u, -length - brink, length + brink),
        (
            across,
            if down < 0.0 { brink / down } else { -f64::MAX },
            if up > 0.0 { brink / up } else { f64::MAX },
        ),
    ];
    let (mut low, mut high) = (-1.0f64, 1.0f64);
    for (row, least, most) in rows {
        let (at, slope) = (row.dot(between), row.dot(along_a));
        if slope == 0.0 {
            if at < least || at > most {
                high = f64::NEG_INFINITY;
            }
            continue;
        }
        let (p, q) = ((least - at) / slope, (most - at) / slope);
        (low, high) = (low.max(p.min(q)), high.min(p.max(q)));
    }
    if low <= high { [low, high] } else { [-1.0, 1.0] }
}

fn face_number((axis, sign): (usize, f64)) -> u32 {
    2 * axis as u32 + u32::from(sign > 0.0)
}
