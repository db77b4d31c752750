//! [`Hull`]: a convex body with corners, edges and flat faces.

use std::collections::HashMap;

use super::enclose::hull_triangles;
use super::round::Round;
use crate::spatial::Vec3;

/// Distance from a plane, of the size of the hull, up to which triangles make one face: meshes are written in single precision.
const FLAT: f64 = 1e-6;
/// Most corners: more do not fit into the numbers of features.
const MOST_CORNERS: usize = 4000;
/// Corners up to which all are looked at for the farthest.
const FEW: usize = 24;

/// A flat face.
#[derive(Clone, Debug, PartialEq)]
pub struct HullFace {
    /// Unit normal, outwards.
    pub normal: Vec3,
    /// `normal . x` on the face.
    pub offset: f64,
    /// Its corners, counterclockwise seen from outside.
    pub corners: Vec<u32>,
    /// Its edges: each leads from the corner of the same place to the next.
    pub edges: Vec<u32>,
}

/// A convex polyhedron around the origin of its own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    /// Corners.
    pub corners: Vec<Vec3>,
    /// Faces.
    pub faces: Vec<HullFace>,
    /// Ends of the edges.
    pub edges: Vec<[u32; 2]>,
    /// By corner: others that an edge leads to, with the edge.
    pub neighbours: Vec<Vec<(u32, u32)>>,
    /// By corner: its faces.
    pub around: Vec<Vec<u32>>,
    /// Distance of the farthest corner from the origin.
    pub reach: f64,
    /// The smooth body that it is inscribed in, and how far that stands out of its faces at most.
    pub round: Option<Round>,
    pub(super) sag: f64,
    /// Farthest corners in the eight directions of signs.
    starts: [u32; 8],
}

impl Hull {
    /// The hull of points, and its centre, which its corners are given from. None if they enclose nothing or are too many.
    #[must_use]
    pub fn new(points: &[Vec3]) -> Option<(Self, Vec3)> {
        let bound =
            |k: usize, pick: fn(f64, f64) -> f64, start| points.iter().fold(start, |m, p| pick(m, p[k]));
        let center = Vec3(std::array::from_fn(|k| {
            0.5 * (bound(k, f64::min, f64::INFINITY) + bound(k, f64::max, f64::NEG_INFINITY))
        }));
        let points: Vec<Vec3> = points.iter().map(|p| *p - center).collect();
        let triangles = hull_triangles(&points)?;
        let size = points.iter().fold(0.0f64, |m, p| m.max(p.norm()));
        // Flatter than what faces are merged by: no inside to speak of.
        let thick = triangles
            .iter()
            .map(|t| plane(&points, t))
            .all(|(n, offset)| points.iter().any(|p| n.dot(*p) < offset - 10.0 * FLAT * size));
        if !thick {
            return None;
        }
        let merged = rings(&points, &triangles, FLAT * size);
        let plain = || triangles.iter().map(|t| t.to_vec()).collect();
        let hull = Self::of_rings(&points, merged).or_else(|| Self::of_rings(&points, plain()))?;
        Some((hull, center))
    }

    /// A box.
    #[must_use]
    pub fn of_box(half: Vec3) -> Option<Self> {
        let points: Vec<Vec3> = (0..8).map(|bits| super::manifold::corner(half, bits)).collect();
        Self::new(&points).map(|(hull, _)| hull)
    }

    /// Puts corners, edges and faces together; none if they do not close.
    fn of_rings(points: &[Vec3], rings: Vec<Vec<u32>>) -> Option<Self> {
        let mut number: HashMap<u32, u32> = HashMap::new();
        let mut corners = Vec::new();
        let rings: Vec<Vec<u32>> = rings
            .into_iter()
            .map(|ring| {
                let mut of = |i: u32| {
                    *number.entry(i).or_insert_with(|| {
                        corners.push(points[i as usize]);
                        corners.len() as u32 - 1
                    })
                };
                ring.into_iter().map(&mut of).collect()
            })
            .collect();
        if corners.len() > MOST_CORNERS {
            return None;
        }
        let mut edges: Vec<[u32; 2]> = Vec::new();
        let mut edge_of: HashMap<[u32; 2], u32> = HashMap::new();
        let (mut neighbours, mut around) = (vec![Vec::new(); corners.len()], vec![Vec::new(); corners.len()]);
        let mut faces = Vec::new();
        let mut uses = Vec::new();
        for (f, ring) in rings.into_iter().enumerate() {
            let n = ring.len();
            let mut own = Vec::with_capacity(n);
            for k in 0..n {
                let (a, b) = (ring[k], ring[(k + 1) % n]);
                let key = [a.min(b), a.max(b)];
                let e = *edge_of.entry(key).or_insert_with(|| {
                    edges.push(key);
                    uses.push(0);
                    edges.len() as u32 - 1
                });
                uses[e as usize] += 1;
                if uses[e as usize] == 1 {
                    neighbours[a as usize].push((b, e));
                    neighbours[b as usize].push((a, e));
                }
                around[a as usize].push(f as u32);
                own.push(e);
            }
            // Newell's normal: of the whole polygon, not of three of its corners.
            let at = |k: usize| corners[ring[k % n] as usize];
            let normal: Vec3 =
                (1..n - 1).fold(Vec3::zero(), |m, k| m + (at(k) - at(0)).cross(at(k + 1) - at(0)));
            let size = normal.norm();
            if size == 0.0 {
                return None;
            }
            let normal = normal * (1.0 / size);
            let offset = (0..n).fold(f64::NEG_INFINITY, |m, k| m.max(normal.dot(at(k))));
            faces.push(HullFace { normal, offset, corners: ring, edges: own });
        }
        let closed = uses.iter().all(|x| *x == 2) && corners.len() + faces.len() == edges.len() + 2;
        if !closed {
            return None;
        }
        let reach = corners.iter().fold(0.0f64, |m, p| m.max(p.norm()));
        let (round, sag) = (None, 0.0);
        let mut hull = Self { corners, faces, edges, neighbours, around, reach, round, sag, starts: [0; 8] };
        hull.starts = std::array::from_fn(|k| {
            let d = Vec3([0, 1, 2].map(|i| if k >> i & 1 == 1 { 1.0 } else { -1.0 }));
            hull.climb(0, d)
        });
        Some(hull)
    }

    /// The corner that is farthest along a direction.
    #[must_use]
    pub fn farthest(&self, d: Vec3) -> u32 {
        if self.corners.len() <= FEW {
            let mut best = (0, f64::NEG_INFINITY);
            for (k, p) in self.corners.iter().enumerate() {
                let along = p.dot(d);
                if along > best.1 {
                    best = (k as u32, along);
                }
            }
            return best.0;
        }
        let signs = usize::from(d[0] > 0.0) | usize::from(d[1] > 0.0) << 1 | usize::from(d[2] > 0.0) << 2;
        self.climb(self.starts[signs], d)
    }

    /// From a corner to ever farther neighbours: on a convex body that leads to the farthest.
    fn climb(&self, from: u32, d: Vec3) -> u32 {
        let mut best = (from, self.corners[from as usize].dot(d));
        loop {
            let here = best.0;
            for &(k, _) in &self.neighbours[here as usize] {
                let along = self.corners[k as usize].dot(d);
                if along > best.1 {
                    best = (k, along);
                }
            }
            if best.0 == here {
                return here;
            }
        }
    }

    /// Number of corners of its largest face.
    #[must_use]
    pub fn widest(&self) -> usize {
        self.faces.iter().map(|f| f.corners.len()).max().unwrap_or(0)
    }

    /// Centre of an edge and half of it.
    #[must_use]
    pub fn line(&self, edge: u32) -> (Vec3, Vec3) {
        let [p, q] = self.edges[edge as usize].map(|k| self.corners[k as usize]);
        ((p + q) * 0.5, (q - p) * 0.5)
    }
}

/// The plane of a triangle; of a needle without an area none to speak of.
fn plane(points: &[Vec3], triangle: &[u32; 3]) -> (Vec3, f64) {
    let [a, b, c] = triangle.map(|k| points[k as usize]);
    let normal = (b - a).cross(c - a);
    let size = normal.norm();
    if size > 0.0 {
        let normal = normal * (1.0 / size);
        (normal, normal.dot(a))
    } else {
        (Vec3::zero(), 1.0)
    }
}

/// Faces of triangles that lie in one plane within `near`, as rings of their corners. Corners inside a face or on one of its sides
/// are none of the hull's.
fn rings(points: &[Vec3], triangles: &[[u32; 3]], near: f64) -> Vec<Vec<u32>> {
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|k| points[k as usize]);
        (b - a).cross(c - a).norm()
    };
    let mut by_side: HashMap<(u32, u32), usize> = HashMap::new();
    for (t, [a, b, c]) in triangles.iter().enumerate() {
        for side in [(*a, *b), (*b, *c), (*c, *a)] {
            by_side.insert(side, t);
        }
    }
    let mut order: Vec<usize> = (0..triangles.len()).collect();
    order.sort_by(|s, t| area(&triangles[*t]).total_cmp(&area(&triangles[*s])).then(s.cmp(t)));
    let mut taken = vec![false; triangles.len()];
    let mut out: Vec<Vec<u32>> = Vec::new();
    for seed in order {
        if taken[seed] {
            continue;
        }
        taken[seed] = true;
        let mut region = vec![seed];
        let mut next = 0;
        let (normal, offset) = plane(points, &triangles[seed]);
        let flat = |k: &u32| (normal.dot(points[*k as usize]) - offset).abs() <= near;
        while next < region.len() {
            let [a, b, c] = triangles[region[next]];
            next += 1;
            for side in [(b, a), (c, b), (a, c)] {
                let Some(&t) = by_side.get(&side) else { continue };
                let same = plane(points, &triangles[t]).0.dot(normal) >= -0.5;
                if !taken[t] && same && triangles[t].iter().all(flat) {
                    taken[t] = true;
                    region.push(t);
                }
            }
        }
        let sides = |t: usize| {
            let [a, b, c] = triangles[t];
            [(a, b), (b, c), (c, a)]
        };
        let inside = |(a, b): (u32, u32)| by_side.get(&(b, a)).is_some_and(|t| region.contains(t));
        let rim: HashMap<u32, u32> =
            region.iter().flat_map(|t| sides(*t)).filter(|side| !inside(*side)).collect();
        let Some(first) = region.iter().flat_map(|t| sides(*t)).find(|side| !inside(*side)) else { continue };
        let mut ring = vec![first.0];
        let mut at = first.1;
        while at != first.0 && ring.len() <= rim.len() {
            ring.push(at);
            match rim.get(&at) {
                Some(to) => at = *to,
                None => break,
            }
        }
        if ring.len() == rim.len() {
            out.push(ring);
        } else {
            out.extend(region.iter().map(|t| triangles[*t].to_vec()));
        }
    }
    // A corner of two faces lies on an edge.
    let mut faces_of: HashMap<u32, usize> = HashMap::new();
    out.iter().flatten().for_each(|k| *faces_of.entry(*k).or_default() += 1);
    out.iter_mut().for_each(|ring| ring.retain(|k| faces_of[k] > 2));
    out.retain(|ring| ring.len() > 2);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(n: u32) -> Vec<Vec3> {
        let golden = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
        (0..n)
            .map(|k| {
                let z = 1.0 - f64::from(2 * k + 1) / f64::from(n);
                let (r, turn) = ((1.0 - z * z).sqrt(), golden * f64::from(k));
                Vec3([r * turn.cos(), r * turn.sin(), z])
            })
            .collect()
    }

    #[test]
    fn a_box_has_six_faces_twelve_edges_and_eight_corners_however_many_points_lie_on_it() {
        let plain = Hull::of_box(Vec3([0.1, 0.2, 0.3])).unwrap();
        assert_eq!((plain.corners.len(), plain.edges.len(), plain.faces.len()), (8, 12, 6));
        let at = |k: u32| 2.0 * f64::from(k) / 4.0 - 1.0;
        for noise in [0.0, 1e-8] {
            let points: Vec<Vec3> = (0..125u32)
                .map(|k| {
                    let shake = noise * (f64::from(k) * 1.7).sin();
                    Vec3([at(k % 5) + shake + 3.0, 2.0 * at(k / 5 % 5) + shake, 3.0 * at(k / 25) - shake])
                })
                .collect();
            let (hull, center) = Hull::new(&points).unwrap();
            assert!((center - Vec3([3.0, 0.0, 0.0])).norm() < 1e-7);
            assert_eq!((hull.corners.len(), hull.edges.len(), hull.faces.len()), (8, 12, 6), "{noise}");
        }
    }

    #[test]
    fn every_corner_is_below_every_face_and_the_farthest_is_found_by_climbing() {
        let (hull, _) = Hull::new(&ball(200)).unwrap();
        assert_eq!((hull.corners.len(), hull.faces.len()), (200, 396));
        for face in &hull.faces {
            assert!(hull.corners.iter().all(|p| face.normal.dot(*p) <= face.offset + 1e-12));
        }
        for d in ball(331) {
            let best = hull.corners.iter().fold(f64::NEG_INFINITY, |m, p| m.max(p.dot(d)));
            assert!((hull.corners[hull.farthest(d) as usize].dot(d) - best).abs() < 1e-14);
        }
    }

    #[test]
    fn points_that_enclose_nothing_have_no_hull() {
        let flat: Vec<Vec3> = ball(20).into_iter().map(|p| Vec3([p[0], p[1], 1e-9 * p[2]])).collect();
        assert!(Hull::new(&flat).is_none());
        assert!(Hull::new(&[]).is_none() && Hull::new(&flat[..1]).is_none());
    }
}
