//! The direction that separates two convex bodies best, from their farthest points in given directions.
//!
//! With `x` the points of `A − B`, the bodies are `min n · x` apart along the unit vector `n`. Where they are apart its largest value is
//! their distance, along the shortest vector of `A − B` (Gilbert, Johnson and Keerthi). Where they touch or overlap there is no such
//! vector: they are first moved apart along the best direction known. What is then the best one is at least as good without
//! having been moved, so repeating that ends at a direction that no neighbour betters.

use crate::spatial::Vec3;

/// Distance to which touching bodies are moved apart, of their size.
const LIFT: f64 = 1e-6;
/// A gain in distance that is rounding, of their size.
const GAIN: f64 = 1e-14;

/// A unit direction and how far the bodies are apart along it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Apart {
    pub(super) normal: Vec3,
    pub(super) distance: f64,
}

/// The direction that separates best, from `start` on; `farthest` gives the point of `A − B` that is farthest in a direction. Stops early
/// where the distance is above `far`.
pub(super) fn best(farthest: &impl Fn(Vec3) -> Vec3, start: Vec3, size: f64, far: f64) -> Apart {
    let along = |n: Vec3| Apart { normal: n, distance: n.dot(farthest(-n)) };
    let mut best = along(start);
    if best.distance > far {
        return best;
    }
    let found = shortest(farthest, best, size, far);
    if found.distance > LIFT * size {
        return found;
    }
    if found.distance > best.distance {
        best = found;
    }
    for _ in 0..8 {
        let shift = best.normal * (LIFT * size - best.distance);
        let lifted = |d: Vec3| farthest(d) + shift;
        let from = Apart { normal: best.normal, distance: LIFT * size };
        let next = along(shortest(&lifted, from, size, f64::INFINITY).normal);
        if next.distance <= best.distance + GAIN * size {
            break;
        }
        best = next;
    }
    best
}

/// The best of the directions on the way to the shortest vector of `A − B`: that of the vector itself if the bodies are apart.
fn shortest(farthest: &impl Fn(Vec3) -> Vec3, start: Apart, size: f64, far: f64) -> Apart {
    let mut best = start;
    let mut simplex = Simplex { points: [Vec3::zero(); 4], count: 1 };
    simplex.points[0] = farthest(-start.normal);
    let mut nearest = simplex.points[0];
    for _ in 0..64 {
        let length = nearest.norm();
        if length <= 1e-15 * size {
            break;
        }
        let normal = nearest * (1.0 / length);
        let point = farthest(-normal);
        let distance = normal.dot(point);
        if distance > best.distance {
            best = Apart { normal, distance };
        }
        let known = simplex.points[..simplex.count].contains(&point);
        if distance > far || known || length - distance <= 1e-13 * length {
            break;
        }
        simplex.points[simplex.count] = point;
        simplex.count += 1;
        let Some(next) = simplex.reduce() else { break };
        if next.norm2() >= nearest.norm2() {
            break;
        }
        nearest = next;
    }
    best
}

struct Simplex {
    points: [Vec3; 4],
    count: usize,
}

impl Simplex {
    /// Its point nearest to the origin; only the corners that it takes stay. None if the origin is inside.
    fn reduce(&mut self) -> Option<Vec3> {
        let mut best: Option<(f64, u32, Vec3)> = None;
        for set in 1u32..1 << self.count {
            let mut chosen = [Vec3::zero(); 4];
            let mut n = 0;
            for k in (0..self.count).filter(|k| set >> k & 1 == 1) {
                chosen[n] = self.points[k];
                n += 1;
            }
            let Some(point) = nearest_of(&chosen[..n]) else { continue };
            let length = point.norm2();
            if best.is_none_or(|(least, ..)| length < least) {
                best = Some((length, set, point));
            }
        }
        let (_, set, point) = best?;
        if set.count_ones() == 4 {
            return None;
        }
        let mut n = 0;
        for k in 0..self.count {
            if set >> k & 1 == 1 {
                self.points[n] = self.points[k];
                n += 1;
            }
        }
        self.count = n;
        Some(point)
    }
}

/// The point nearest to the origin of the plane through the points, if it lies between them.
fn nearest_of(points: &[Vec3]) -> Option<Vec3> {
    match *points {
        [a] => Some(a),
        [a, b] => {
            let e = b - a;
            let t = -a.dot(e) / e.norm2();
            (t > 0.0 && t < 1.0).then(|| a + e * t)
        }
        [a, b, c] => {
            let n = (b - a).cross(c - a);
            let square = n.norm2();
            // The triangles that the foot makes with the sides, all turning alike.
            let inside = [(a, b), (b, c), (c, a)].iter().all(|(p, q)| p.cross(*q).dot(n) > 0.0);
            (square > 0.0 && inside).then(|| n * (a.dot(n) / square))
        }
        [a, b, c, d] => {
            let of = |p: Vec3, q: Vec3, r: Vec3, s: Vec3| {
                let n = (q - p).cross(r - p);
                let (own, origin) = (n.dot(s - p), -n.dot(p));
                own * origin > 0.0
            };
            (of(a, b, c, d) && of(b, c, d, a) && of(c, d, a, b) && of(d, a, b, c)).then(Vec3::zero)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two boxes with parallel axes, `gap` apart along x.
    fn boxes(gap: f64) -> impl Fn(Vec3) -> Vec3 {
        move |d: Vec3| {
            let half = |k: usize| [0.3, 0.5, 0.7][k];
            let between = Vec3([0.3 + gap, 0.2, -0.1]);
            between + Vec3([0, 1, 2].map(|k| half(k) * if d[k] < 0.0 { -1.0 } else { 1.0 }))
        }
    }

    #[test]
    fn the_normal_of_faces_is_found_where_they_are_apart_touch_or_overlap() {
        for gap in [0.1, 1e-5, 1e-9, 0.0, -1e-12, -1e-9, -1e-3, -0.05] {
            for start in [Vec3([1.0, 0.0, 0.0]), Vec3([0.6, 0.8, 0.0]), Vec3([0.48, 0.6, -0.64])] {
                let found = best(&boxes(gap), start, 1.0, f64::INFINITY);
                assert!((found.distance - gap).abs() < 1e-12, "{gap}: {found:?}");
                assert!((found.normal - Vec3([1.0, 0.0, 0.0])).norm() < 1e-8, "{gap}: {found:?}");
            }
        }
    }

    #[test]
    fn the_distance_of_corners_and_of_edges_is_found() {
        let corner = |d: Vec3| Vec3([0.4, 0.8, 0.9]) + Vec3(d.0.map(|x| if x < 0.0 { -0.3 } else { 0.3 }));
        let found = best(&corner, Vec3([1.0, 0.0, 0.0]), 1.0, f64::INFINITY);
        assert!((found.distance - (0.01f64 + 0.25 + 0.36).sqrt()).abs() < 1e-14, "{found:?}");
    }
}
