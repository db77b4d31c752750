//! The convex hull of a mesh's corners.

use super::{Mesh, MeshError};
use crate::spatial::Vec3;
use leastaction_core::contact::hull_triangles;

impl Mesh {
    /// The convex hull, with all vertices and the faces that look outside.
    ///
    /// # Errors
    /// If all vertices lie in a plane.
    pub fn hull(&self) -> Result<Self, MeshError> {
        let points: Vec<Vec3> = self.vertices.iter().map(|x| Vec3(*x)).collect();
        let faces = hull_triangles(&points).ok_or_else(|| MeshError::NoVolume {
            what: "the corners of the mesh lie in a plane: its hull is flat".into(),
        })?;
        Ok(Self { vertices: self.vertices.clone(), faces, colors: Vec::new() })
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
