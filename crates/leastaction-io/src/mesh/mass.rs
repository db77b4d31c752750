//! Volume, centre and second moments of what a mesh encloses, or of its surface.
//!
//! A face with corners `a, b, c` and an apex spans a tetrahedron of signed volume `(b−a)×(c−a)·(a−apex)/6`. Summed over a
//! closed mesh the signs make the apex irrelevant. Over an open or badly oriented one they do not; MuJoCo's default then
//! takes magnitudes, first about the centre of the surface, which gives the centre of mass, then about that, which gives
//! volume and inertia. We do the same, so that a model weighs the same here and there.

use crate::spatial::Vec3;

use super::{Mesh, MeshError};

/// How a mesh becomes a mass; the words are those of MJCF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeshInertia {
    /// The volume that the oriented faces enclose; needs a closed mesh.
    Exact,
    /// Magnitudes of the volumes below each face: right for convex meshes, too much for others.
    #[default]
    Legacy,
    /// The volume of the convex hull.
    Convex,
    /// The surface, as a shell of even thickness.
    Shell,
}

/// Mass properties for density one (per volume, or per area of a shell).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Volume, or area of a shell.
    pub mass: f64,
    /// Centre of mass.
    pub com: [f64; 3],
    /// Inertia about the centre of mass: `xx, yy, zz, xy, xz, yz`.
    pub inertia: [f64; 6],
}

/// A face: its centre, its area, its area vector.
struct Face {
    corners: [Vec3; 3],
    centre: Vec3,
    area: f64,
    vector: Vec3,
}

impl Face {
    /// Volume of the tetrahedron between the face and a point.
    fn volume(&self, apex: Vec3, magnitudes: bool) -> f64 {
        let volume = (self.centre - apex).dot(self.vector) / 3.0;
        if magnitudes { volume.abs() } else { volume }
    }
}

impl Mesh {
    fn faces_of(&self) -> impl Iterator<Item = Face> {
        self.faces.iter().map(|face| {
            let corners = face.map(|i| Vec3(self.vertices[i as usize]));
            let vector = (corners[1] - corners[0]).cross(corners[2] - corners[0]) * 0.5;
            let centre = (corners[0] + corners[1] + corners[2]) * (1.0 / 3.0);
            Face { corners, centre, area: vector.dot(vector).sqrt(), vector }
        })
    }

    /// Number of edges that are not shared by exactly two faces in opposite directions: zero if the mesh is closed.
    #[must_use]
    pub fn open_edges(&self) -> usize {
        let mut edges = std::collections::HashMap::new();
        for face in &self.faces {
            for (a, b) in [(face[0], face[1]), (face[1], face[2]), (face[2], face[0])] {
                let entry = edges.entry((a.min(b), a.max(b))).or_insert((0u32, 0u32));
                if a < b { entry.0 += 1 } else { entry.1 += 1 }
            }
        }
        edges.values().filter(|uses| **uses != (1, 1)).count()
    }

    /// Mass properties for density one.
    ///
    /// # Errors
    /// If there is no volume (or area), or `Exact` is asked of a mesh that is not closed.
    pub fn mass_properties(&self, how: MeshInertia) -> Result<MassProperties, MeshError> {
        let nothing = |what: String| MeshError::NoVolume { what };
        if how == MeshInertia::Convex {
            return self.hull()?.mass_properties(MeshInertia::Exact);
        }
        if how == MeshInertia::Exact && self.open_edges() > 0 {
            let open = self.open_edges();
            return Err(nothing(format!(
                "the mesh is not closed ({open} edges do not join two faces that look the same way): its exact inertia is not defined"
            )));
        }
        let area: f64 = self.faces_of().map(|face| face.area).sum();
        let surface =
            self.faces_of().fold(Vec3([0.0; 3]), |sum, face| sum + face.centre * face.area) * (1.0 / area);
        let magnitudes = how == MeshInertia::Legacy;
        let weight = |face: &Face, apex: Vec3| match how {
            MeshInertia::Shell => face.area,
            _ => face.volume(apex, magnitudes),
        };
        let com = if how == MeshInertia::Shell {
            surface
        } else {
            let (mut volume, mut sum) = (0.0, Vec3([0.0; 3]));
            for face in self.faces_of() {
                let part = weight(&face, surface);
                volume += part;
                sum += (face.centre * 0.75 + surface * 0.25) * part;
            }
            sum * (1.0 / volume)
        };
        // ∫ x xᵀ over a tetrahedron at the origin: V/20 (s sᵀ + Σ v vᵀ), s = Σ v; over a triangle: A/12 of the same.
        let share = if how == MeshInertia::Shell { 1.0 / 12.0 } else { 1.0 / 20.0 };
        let mut mass = 0.0;
        let mut second = [[0.0; 3]; 3];
        for face in self.faces_of() {
            let part = weight(&face, com);
            mass += part;
            let [a, b, c] = face.corners.map(|v| v - com);
            let sum = a + b + c;
            for i in 0..3 {
                for j in i..3 {
                    let products = sum.0[i] * sum.0[j] + a.0[i] * a.0[j] + b.0[i] * b.0[j] + c.0[i] * c.0[j];
                    second[i][j] += share * part * products;
                }
            }
        }
        if !(mass > 0.0 && mass.is_finite()) {
            return Err(nothing(format!("the mesh encloses no volume ({mass:e})")));
        }
        let [xx, yy, zz] = [second[0][0], second[1][1], second[2][2]];
        let inertia = [yy + zz, xx + zz, xx + yy, -second[0][1], -second[0][2], -second[1][2]];
        if !com.0.iter().chain(&inertia).all(|x| x.is_finite()) {
            return Err(nothing("the mesh is too large: its inertia is not a finite number".into()));
        }
        Ok(MassProperties { mass, com: com.0, inertia })
    }
}
