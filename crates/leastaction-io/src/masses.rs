//! Mass properties of shapes of uniform density, and their sum.

use std::f64::consts::PI;
use std::path::Path;

use crate::frames::{Quaternion, add, matrix, rotate, sub};
use crate::mechanism::{BodyDescription, Placement, Shape};
use crate::mesh::{Mesh, MeshInertia};
use crate::spatial::principal;

/// A 3×3 matrix, rows first.
type Matrix = [[f64; 3]; 3];

/// Mass properties in the body frame; the inertia is about the centre of mass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MassProperties {
    pub(crate) mass: f64,
    pub(crate) com: [f64; 3],
    pub(crate) inertia: Matrix,
}

/// `R diag(moments) Rᵀ`; exact if `R` is the identity.
pub(crate) fn turned(moments: [f64; 3], q: Quaternion) -> Matrix {
    let r = matrix(q);
    let mut out = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in i..3 {
            out[i][j] = (0..3).map(|k| r[i][k] * moments[k] * r[j][k]).sum();
            out[j][i] = out[i][j];
        }
    }
    out
}

impl MassProperties {
    /// Principal moments about the origin of `placement`, along its axes.
    pub(crate) fn of_principal(mass: f64, moments: [f64; 3], placement: &Placement) -> Self {
        Self { mass, com: placement.p, inertia: turned(moments, placement.q) }
    }

    /// The sum of rigidly joined parts.
    pub(crate) fn sum(parts: &[Self]) -> Self {
        if let [one] = parts {
            return *one;
        }
        let mass: f64 = parts.iter().map(|p| p.mass).sum();
        let mut total = Self { mass, ..Self::default() };
        if mass <= 0.0 {
            return total;
        }
        for i in 0..3 {
            total.com[i] = parts.iter().map(|p| p.mass * p.com[i]).sum::<f64>() / mass;
        }
        for part in parts {
            let d = sub(part.com, total.com);
            let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            for i in 0..3 {
                for j in 0..3 {
                    let own = if i == j { square } else { 0.0 };
                    total.inertia[i][j] += part.inertia[i][j] + part.mass * (own - d[i] * d[j]);
                }
            }
        }
        total
    }

    /// Applies a change to the principal moments; leaves the matrix alone if nothing changes.
    pub(crate) fn map_moments(&mut self, change: impl Fn([f64; 3]) -> [f64; 3]) {
        let (moments, axes) = principal(self.inertia);
        let new = change(moments);
        if new == moments {
            return;
        }
        for i in 0..3 {
            for j in 0..3 {
                self.inertia[i][j] = (0..3).map(|k| axes[i][k] * new[k] * axes[j][k]).sum();
            }
        }
    }

    /// Writes the properties into a body.
    pub(crate) fn store(&self, body: &mut BodyDescription) {
        let m = &self.inertia;
        body.mass = self.mass;
        body.com = self.com;
        body.inertia = [m[0][0], m[1][1], m[2][2], m[0][1], m[0][2], m[1][2]];
    }

    /// The same body of another density, placed elsewhere.
    pub(crate) fn of_mesh(unit: &Self, mass: f64, placement: &Placement) -> Self {
        let (ratio, r) = (mass / unit.mass, matrix(placement.q));
        let mut inertia = [[0.0; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                for k in 0..3 {
                    for l in 0..3 {
                        inertia[i][j] += ratio * r[i][k] * unit.inertia[k][l] * r[j][l];
                    }
                }
            }
        }
        let com = add(placement.p, rotate(placement.q, unit.com));
        Self { mass, com, inertia }
    }

    /// A shape of uniform density where it is placed; a mesh as what it encloses, as a shell's sum of wedges if it is open.
    ///
    /// # Errors
    /// What stands in the way, as a phrase.
    pub(crate) fn of_shape(shape: &Shape, density: f64, placement: &Placement) -> Result<Self, String> {
        let (kind, size) = match shape {
            Shape::Box { size } => ("box", size.map(|x| 0.5 * x)),
            Shape::Sphere { radius } => ("sphere", [*radius, 0.0, 0.0]),
            Shape::Cylinder { radius, length } => ("cylinder", [*radius, 0.5 * length, 0.0]),
            Shape::Capsule { radius, length } => ("capsule", [*radius, 0.5 * length, 0.0]),
            Shape::Ellipsoid { radii } => ("ellipsoid", *radii),
            Shape::Mesh { file, scale } => {
                let mesh = Mesh::read(Path::new(file)).map_err(|error| error.to_string())?.scaled(*scale);
                let how = if mesh.open_edges() == 0 { MeshInertia::Exact } else { MeshInertia::Legacy };
                let unit = mesh.mass_properties(how).map_err(|error| error.to_string())?;
                let [xx, yy, zz, xy, xz, yz] = unit.inertia;
                let inertia = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
                let unit = Self { mass: unit.mass, com: unit.com, inertia };
                return Ok(Self::of_mesh(&unit, density * unit.mass, placement));
            }
        };
        let mass = density * volume(kind, size);
        Ok(Self::of_principal(mass, inertia_per_mass(kind, size, mass), placement))
    }
}

/// Volume of a primitive; `size` as MJCF has it (radii and half lengths).
pub(crate) fn volume(kind: &str, [a, b, c]: [f64; 3]) -> f64 {
    match kind {
        "sphere" => 4.0 / 3.0 * PI * a * a * a,
        "capsule" => PI * a * a * (2.0 * b + 4.0 / 3.0 * a),
        "cylinder" => PI * a * a * 2.0 * b,
        "ellipsoid" => 4.0 / 3.0 * PI * a * b * c,
        _ => 8.0 * a * b * c,
    }
}

/// Principal moments of a primitive of uniform density and total mass `m`.
pub(crate) fn inertia_per_mass(kind: &str, [a, b, c]: [f64; 3], m: f64) -> [f64; 3] {
    match kind {
        "sphere" => [0.4 * m * a * a; 3],
        "capsule" => {
            // A cylinder of length 2b and two half spheres, each b + 3a/8 from the centre.
            let (barrel, caps) = (2.0 * b, 4.0 / 3.0 * a);
            let cylinder = m * barrel / (barrel + caps);
            let spheres = m * caps / (barrel + caps);
            let across = cylinder * (3.0 * a * a + barrel * barrel) / 12.0
                + spheres * (0.4 * a * a + barrel * barrel / 4.0 + 0.375 * barrel * a);
            let along = cylinder * a * a / 2.0 + spheres * 0.4 * a * a;
            [across, across, along]
        }
        "cylinder" => {
            let across = m * (3.0 * a * a + 4.0 * b * b) / 12.0;
            [across, across, m * a * a / 2.0]
        }
        "ellipsoid" => [m * (b * b + c * c) / 5.0, m * (a * a + c * c) / 5.0, m * (a * a + b * b) / 5.0],
        _ => [m * (b * b + c * c) / 3.0, m * (a * a + c * c) / 3.0, m * (a * a + b * b) / 3.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_of_a_rod_make_the_rod() {
        let half = |x: f64| {
            MassProperties::of_principal(1.0, [0.0, 1.0 / 12.0, 1.0 / 12.0], &Placement::at([x, 0.0, 0.0]))
        };
        let rod = MassProperties::sum(&[half(0.5), half(1.5)]);
        assert_eq!((rod.mass, rod.com), (2.0, [1.0, 0.0, 0.0]));
        let expected = 2.0 * 4.0 / 12.0;
        assert!((rod.inertia[1][1] - expected).abs() < 1e-15 && rod.inertia[0][0].abs() < 1e-15);
    }

    #[test]
    fn bounds_act_on_principal_moments() {
        let turned45 = Placement { p: [0.0; 3], q: crate::frames::about([0.0, 0.0, 1.0], 0.7) };
        let mut m = MassProperties::of_principal(1.0, [0.01, 2.0, 2.0], &turned45);
        m.map_moments(|x| x.map(|x| x.max(0.1)));
        let wanted = MassProperties::of_principal(1.0, [0.1, 2.0, 2.0], &turned45);
        for i in 0..3 {
            for j in 0..3 {
                assert!((m.inertia[i][j] - wanted.inertia[i][j]).abs() < 1e-14);
            }
        }
    }

    /// Second moments by brute force on a grid: slow, obviously right.
    fn by_grid(kind: &str, size: [f64; 3]) -> (f64, [f64; 3]) {
        let [a, b, c] = size;
        let inside = |x: f64, y: f64, z: f64| match kind {
            "sphere" => x * x + y * y + z * z < a * a,
            "capsule" => {
                let over = (z.abs() - b).max(0.0);
                x * x + y * y + over * over < a * a
            }
            "cylinder" => x * x + y * y < a * a && z.abs() < b,
            "ellipsoid" => (x / a).powi(2) + (y / b).powi(2) + (z / c).powi(2) < 1.0,
            _ => x.abs() < a && y.abs() < b && z.abs() < c,
        };
        let (n, reach) = (60, 1.0);
        let step = 2.0 * reach / f64::from(n);
        let cell = step * step * step;
        let (mut volume, mut second) = (0.0, [0.0; 3]);
        for i in 0..n * n * n {
            let at = |k: i32| -reach + (f64::from(k) + 0.5) * step;
            let (x, y, z) = (at(i % n), at(i / n % n), at(i / n / n));
            if inside(x, y, z) {
                volume += cell;
                for (s, d) in second.iter_mut().zip([y * y + z * z, x * x + z * z, x * x + y * y]) {
                    *s += cell * d;
                }
            }
        }
        (volume, second)
    }

    #[test]
    fn volumes_and_moments_agree_with_a_grid() {
        for (kind, size) in [
            ("sphere", [0.8, 0.0, 0.0]),
            ("capsule", [0.4, 0.5, 0.0]),
            ("cylinder", [0.6, 0.7, 0.0]),
            ("ellipsoid", [0.9, 0.5, 0.7]),
            ("box", [0.5, 0.8, 0.9]),
        ] {
            let (v, second) = by_grid(kind, size);
            let exact = volume(kind, size);
            // A grid of 60 cells sees curved surfaces to about 1 %.
            assert!((v / exact - 1.0).abs() < 0.02, "{kind}: {v} {exact}");
            for (a, b) in second.iter().zip(inertia_per_mass(kind, size, exact)) {
                assert!((a / b - 1.0).abs() < 0.03, "{kind}: {a} {b}");
            }
        }
    }
}
