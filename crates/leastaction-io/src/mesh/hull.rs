//! The convex hull of a mesh's corners.
//!
//! Corners are taken in one by one, always the one farthest outside a face: the faces that see it are replaced by those that join
//! it to their rim. A rim is the boundary of a set of faces, so the hull is closed whatever rounding says who sees whom.

use std::collections::HashSet;

use super::{Mesh, MeshError};
use crate::spatial::Vec3;

/// What counts as outside a face, in parts of the size of the mesh.
const OUTSIDE: f64 = 1e-12;

/// A face of the hull, and the corners outside of it that no face before has.
struct Side {
    corners: [u32; 3],
    normal: Vec3,
    offset: f64,
    outside: Vec<u32>,
}

impl Mesh {
    /// The convex hull, with all vertices and the faces that look outside.
    ///
    /// # Errors
    /// If all vertices lie in a plane.
    pub fn hull(&self) -> Result<Self, MeshError> {
        let at = |i: u32| Vec3(self.vertices[i as usize]);
        let count = u32::try_from(self.vertices.len()).unwrap_or(u32::MAX);
        let flat = || MeshError::NoVolume {
            what: "the corners of the mesh lie in a plane: its hull is flat".into(),
        };
        let farthest =
            |from: &dyn Fn(Vec3) -> f64| (0..count).max_by(|a, b| from(at(*a)).total_cmp(&from(at(*b))));
        let first = farthest(&|x| x.0[0]).ok_or_else(flat)?;
        let a = at(first);
        let second = farthest(&|x| (x - a).norm()).ok_or_else(flat)?;
        let b = at(second);
        let third = farthest(&|x| (x - a).cross(b - a).norm()).ok_or_else(flat)?;
        let plane = (b - a).cross(at(third) - a);
        let fourth = farthest(&|x| (x - a).dot(plane).abs()).ok_or_else(flat)?;
        let size = (b - a).norm();
        let height = (at(fourth) - a).dot(plane);
        let solid = height.abs() > OUTSIDE * size * plane.norm();
        if !solid {
            return Err(flat());
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
        // Every round takes in one corner more.
        while let Some(k) = sides.iter().position(|side| !side.outside.is_empty()) {
            let above = |i: &u32| sides[k].normal.dot(at(*i));
            let Some(top) = sides[k].outside.iter().copied().max_by(|a, b| above(a).total_cmp(&above(b)))
            else {
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
        let faces = sides.into_iter().map(|side| side.corners).collect();
        Ok(Self { vertices: self.vertices.clone(), faces, colors: Vec::new() })
    }
}

/// Gives every corner to the first face that it is outside of.
fn share(corners: impl Iterator<Item = u32>, sides: &mut [Side], near: f64, at: impl Fn(u32) -> Vec3) {
    for i in corners {
        let x = at(i);
        if let Some(side) = sides.iter_mut().find(|side| side.normal.dot(x) - side.offset > near) {
            side.outside.push(i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::MeshInertia;

    /// Points of a grid in a box, so that most lie on faces and edges.
    fn grid(n: u32) -> Mesh {
        let at = |k: u32| 2.0 * f64::from(k) / f64::from(n - 1) - 1.0;
        let vertices =
            (0..n * n * n).map(|k| [at(k % n), 2.0 * at(k / n % n), 3.0 * at(k / n / n)]).collect();
        Mesh { vertices, ..Mesh::default() }
    }

    #[test]
    fn the_hull_of_a_grid_is_a_box() {
        let hull = grid(5).hull().unwrap();
        assert_eq!(hull.open_edges(), 0);
        let found = hull.mass_properties(MeshInertia::Exact).unwrap();
        assert!((found.mass - 48.0).abs() < 1e-12, "{found:?}");
        assert!((found.inertia[0] - 48.0 * (4.0 + 9.0) / 3.0).abs() < 1e-11, "{found:?}");
        assert!(found.com.iter().all(|x| x.abs() < 1e-13), "{found:?}");
    }

    #[test]
    fn the_hull_of_points_on_a_sphere_has_them_all() {
        let n = 400;
        let golden = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
        let point = |k: u32| {
            let z = 1.0 - f64::from(2 * k + 1) / f64::from(n);
            let (r, turn) = ((1.0 - z * z).sqrt(), golden * f64::from(k));
            [r * turn.cos(), r * turn.sin(), z]
        };
        let hull = Mesh { vertices: (0..n).map(point).collect(), ..Mesh::default() }.hull().unwrap();
        // Euler: closed, all corners used, all faces triangles.
        assert_eq!((hull.open_edges(), hull.faces.len()), (0, 2 * n as usize - 4));
    }

    #[test]
    fn flat_and_empty_meshes_have_none() {
        let flat = Mesh {
            vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]],
            ..Mesh::default()
        };
        assert!(flat.hull().is_err());
        assert!(Mesh::default().hull().is_err());
        assert!(Mesh { vertices: vec![[1.0; 3]; 9], ..Mesh::default() }.hull().is_err());
    }
}
