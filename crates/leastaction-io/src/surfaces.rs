//! Shapes of files as surfaces that touch.

use leastaction_core::scalar::elementary;
use std::path::Path;

use crate::mechanism::{Shape, SurfaceShape};
use crate::mesh::Mesh;

/// Most corners that stand for a mesh.
const DIRECTIONS: usize = 96;

/// The surface of a shape; of a mesh the corners of its convex hull that are farthest in many directions.
///
/// # Errors
/// Why a mesh gives none.
pub(crate) fn surface_shape(shape: &Shape) -> Result<SurfaceShape, String> {
    Ok(match shape {
        Shape::Box { size } => SurfaceShape::Box { size: *size },
        Shape::Sphere { radius } => SurfaceShape::Sphere { radius: *radius },
        Shape::Cylinder { radius, length } => SurfaceShape::Cylinder { radius: *radius, length: *length },
        Shape::Capsule { radius, length } => SurfaceShape::Capsule { radius: *radius, length: *length },
        Shape::Ellipsoid { radii } => SurfaceShape::Ellipsoid { radii: *radii },
        Shape::Mesh { file, scale } => {
            let mesh = Mesh::read(Path::new(file)).map_err(|error| error.to_string())?.scaled(*scale);
            points(&mesh.vertices, &format!("`{file}`"))?
        }
    })
}

/// What a surface looks like; none for points.
pub(crate) fn drawn(shape: &SurfaceShape) -> Option<Shape> {
    Some(match shape {
        SurfaceShape::Box { size } => Shape::Box { size: *size },
        SurfaceShape::Sphere { radius } => Shape::Sphere { radius: *radius },
        SurfaceShape::Cylinder { radius, length } => Shape::Cylinder { radius: *radius, length: *length },
        SurfaceShape::Capsule { radius, length } => Shape::Capsule { radius: *radius, length: *length },
        SurfaceShape::Ellipsoid { radii } => Shape::Ellipsoid { radii: *radii },
        SurfaceShape::Points { .. } => return None,
    })
}

/// What the corners of a mesh touch with.
///
/// # Errors
/// If there is none.
pub(crate) fn points(vertices: &[[f64; 3]], name: &str) -> Result<SurfaceShape, String> {
    let points = extreme_points(vertices);
    if points.is_empty() {
        Err(format!("the mesh {name} has no corners"))
    } else {
        Ok(SurfaceShape::Points { points })
    }
}

/// The points that are farthest in directions spread evenly over the sphere, each once.
fn extreme_points(vertices: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let golden = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
    let mut chosen: Vec<usize> = Vec::new();
    for k in 0..DIRECTIONS {
        let z = 1.0 - (2 * k + 1) as f64 / DIRECTIONS as f64;
        let (r, (s, c)) = ((1.0 - z * z).sqrt(), elementary::sin_cos(golden * k as f64));
        let along = |v: &[f64; 3]| r * c * v[0] + r * s * v[1] + z * v[2];
        let best = (0..vertices.len()).max_by(|a, b| along(&vertices[*a]).total_cmp(&along(&vertices[*b])));
        if let Some(best) = best.filter(|best| !chosen.contains(best)) {
            chosen.push(best);
        }
    }
    chosen.sort_unstable();
    let mut points: Vec<[f64; 3]> = chosen.into_iter().map(|k| vertices[k]).collect();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_points_of_a_box_are_its_corners() {
        let mut vertices: Vec<[f64; 3]> = Vec::new();
        for k in 0..8 {
            let at = |bit: usize| if k >> bit & 1 == 1 { 1.0 } else { -1.0 };
            vertices.push([at(0), 2.0 * at(1), 3.0 * at(2)]);
            vertices.push([0.5 * at(0), 0.5 * at(1), 0.5 * at(2)]);
        }
        let points = extreme_points(&vertices);
        assert_eq!(points.len(), 8);
        assert!(points.iter().all(|p| p[2].abs() == 3.0));
    }
}
