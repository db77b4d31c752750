//! The convex hull of points as triangles.
//!
//! Points are taken in one by one, always the one farthest outside a face: the faces that see it are replaced by those that join
//! it to their rim. A rim is the boundary of a set of faces, so the hull is closed whatever rounding says who sees whom.

use std::collections::HashSet;

use crate::spatial::Vec3;

/// What counts as outside a face, in parts of the size.
const OUTSIDE: f64 = 1e-12;

/// A face of the hull, and the points outside of it that no face before has.
struct Side {
    corners: [u32; 3],
    normal: Vec3,
    offset: f64,
    outside: Vec<u32>,
}

/// Triangles of the convex hull, each counterclockwise seen from outside; none if all points lie in a plane.
#[must_use]
pub fn hull_triangles(points: &[Vec3]) -> Option<Vec<[u32; 3]>> {
    let at = |i: u32| points[i as usize];
    let count = u32::try_from(points.len()).unwrap_or(u32::MAX);
    let farthest =
        |from: &dyn Fn(Vec3) -> f64| (0..count).max_by(|a, b| from(at(*a)).total_cmp(&from(at(*b))));
    let first = farthest(&|x| x.0[0])?;
    let a = at(first);
    let second = farthest(&|x| (x - a).norm())?;
    let b = at(second);
    let third = farthest(&|x| (x - a).cross(b - a).norm())?;
    let plane = (b - a).cross(at(third) - a);
    let fourth = farthest(&|x| (x - a).dot(plane).abs())?;
    let size = (b - a).norm();
    let height = (at(fourth) - a).dot(plane);
    let solid = height.abs() > OUTSIDE * size * plane.norm();
    if !solid {
        return None;
    }
    let near = OUTSIDE * size;
    let side = |corners: [u32; 3]| {
        let [a, b, c] = corners.map(at);
        let normal = (b - a).cross(c - a);
        let normal = normal * (1.0 / normal.norm().max(f64::MIN_POSITIVE));
        Side { corners, normal, offset: normal.dot(a), outside: Vec::new() }
    };
    let [p, q] = if height > 0.0 { [third, second] } else { [second, third] };
    let mut sides: Vec<Side> =
        [[first, p, q], [first, q, fourth], [q, p, fourth], [p, first, fourth]].map(side).into();
    share(0..count, &mut sides, near, at);
    // Every round takes in one point more.
    while let Some(k) = sides.iter().position(|side| !side.outside.is_empty()) {
        let above = |i: &u32| sides[k].normal.dot(at(*i));
        let Some(top) = sides[k].outside.iter().copied().max_by(|a, b| above(a).total_cmp(&above(b))) else {
            break;
        };
        let (seen, mut kept): (Vec<Side>, Vec<Side>) =
            sides.into_iter().partition(|side| side.normal.dot(at(top)) - side.offset > near);
        let edges = |[a, b, c]: [u32; 3]| [(a, b), (b, c), (c, a)];
        let inside: HashSet<(u32, u32)> = seen.iter().flat_map(|side| edges(side.corners)).collect();
        let rim =
            seen.iter().flat_map(|side| edges(side.corners)).filter(|(a, b)| !inside.contains(&(*b, *a)));
        let mut new: Vec<Side> = rim.map(|(a, b)| side([a, b, top])).collect();
        share(seen.iter().flat_map(|side| side.outside.iter().copied()), &mut new, near, at);
        kept.append(&mut new);
        sides = kept;
    }
    Some(sides.into_iter().map(|side| side.corners).collect())
}

/// Gives every point to the first face that it is outside of.
fn share(points: impl Iterator<Item = u32>, sides: &mut [Side], near: f64, at: impl Fn(u32) -> Vec3) {
    for i in points {
        let x = at(i);
        if let Some(side) = sides.iter_mut().find(|side| side.normal.dot(x) - side.offset > near) {
            side.outside.push(i);
        }
    }
}
