//! Mass, centre of mass and inertia of a body: given, or summed over its geoms.

use super::geom::{Geom, GeomMass};
use super::reader::{Item, Reader};
use super::settings::InertiaFromGeom;
use crate::frames::{Quaternion, matrix, sub};
use crate::mechanism::{BodyDescription, Placement};
use crate::spatial::principal;

/// A 3×3 matrix, rows first.
type Matrix = [[f64; 3]; 3];

/// Mass properties in the body frame; the inertia is about the centre of mass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MassProperties {
    pub(super) mass: f64,
    pub(super) com: [f64; 3],
    pub(super) inertia: Matrix,
}

/// `R diag(moments) Rᵀ`; exact if `R` is the identity.
fn turned(moments: [f64; 3], q: Quaternion) -> Matrix {
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
    pub(super) fn of_principal(mass: f64, moments: [f64; 3], placement: &Placement) -> Self {
        Self { mass, com: placement.p, inertia: turned(moments, placement.q) }
    }

    /// The sum of rigidly joined parts.
    fn sum(parts: &[Self]) -> Self {
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
    fn map_moments(&mut self, change: impl Fn([f64; 3]) -> [f64; 3]) {
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
    pub(super) fn store(&self, body: &mut BodyDescription) {
        let m = &self.inertia;
        body.mass = self.mass;
        body.com = self.com;
        body.inertia = [m[0][0], m[1][1], m[2][2], m[0][1], m[0][2], m[1][2]];
    }
}

/// Mass properties of a body from its `inertial` element or its geoms, with the compiler's bounds applied.
pub(super) fn of_body(
    reader: &mut Reader,
    inertial: Option<(&Item, &Placement)>,
    geoms: &[(Item, Geom)],
) -> MassProperties {
    let from_geoms = match reader.settings.inertia_from_geom {
        InertiaFromGeom::Always => true,
        InertiaFromGeom::Never => false,
        InertiaFromGeom::WhenMissing => inertial.is_none(),
    };
    let mut total = match inertial {
        _ if from_geoms => sum_of_geoms(reader, geoms),
        Some((item, frame)) => explicit(reader, item, frame),
        None => MassProperties::default(),
    };
    total.mass = total.mass.max(reader.settings.bound_mass);
    let bound = reader.settings.bound_inertia;
    if bound > 0.0 {
        total.map_moments(|m| m.map(|x| x.max(bound)));
    }
    if reader.settings.balance_inertia {
        total.map_moments(|m| {
            let [a, b, c] = m;
            let fine = a + b >= c && b + c >= a && c + a >= b;
            if fine { m } else { [(a + b + c) / 3.0; 3] }
        });
    }
    total
}

fn explicit(reader: &mut Reader, item: &Item, frame: &Placement) -> MassProperties {
    // A malformed mass is reported already; one kilogram keeps later checks quiet about it.
    let mass = reader.number(item, "mass").unwrap_or(1.0);
    let own = reader.placement(item);
    let placement = crate::frames::compose(frame, &own);
    let diagonal = reader.array::<3>(item, "diaginertia");
    let full = reader.array::<6>(item, "fullinertia");
    let element = &reader.document.elements[item.id];
    let orientation = ["quat", "axisangle", "xyaxes", "zaxis", "euler"]
        .into_iter()
        .find(|name| element.get(name).is_some());
    let problem = match (full.is_some(), orientation, diagonal.is_some()) {
        (true, Some(way), _) => Some(format!("both `fullinertia` and `{way}` give an orientation")),
        (true, None, true) => Some("both `fullinertia` and `diaginertia` are given".into()),
        _ => None,
    };
    if let Some(message) = problem {
        reader.error(item.id, message, "keep one of them");
    }
    let mut properties = MassProperties::of_principal(mass, diagonal.unwrap_or([0.0; 3]), &placement);
    if let Some([xx, yy, zz, xy, xz, yz]) = full {
        let given = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        let (moments, axes) = principal(given);
        properties.inertia = if frame.q == crate::frames::IDENTITY {
            given
        } else {
            let column = |k: usize| [axes[0][k], axes[1][k], axes[2][k]];
            let q = crate::frames::from_axes(column(0), column(1), column(2));
            turned(moments, crate::frames::multiply(frame.q, q))
        };
    }
    properties
}

fn sum_of_geoms(reader: &mut Reader, geoms: &[(Item, Geom)]) -> MassProperties {
    let [low, high] = reader.settings.inertia_groups;
    let mut parts = Vec::new();
    for (item, geom) in geoms.iter().filter(|(_, g)| (low..=high).contains(&g.group)) {
        let known = match &geom.mass {
            None => continue,
            Some(GeomMass::Known(mass)) => Ok(*mass),
            Some(GeomMass::Unknown(what)) => Err((*what).to_owned()),
            Some(GeomMass::Mesh { name, given, density, placement }) => reader
                .assets
                .mass_of(name, &reader.folder)
                .map(|unit| MassProperties::of_mesh(&unit, given.unwrap_or(density * unit.mass), placement)),
        };
        match known {
            Ok(mass) => parts.push(mass),
            Err(what) => {
                reader.refused(
                    item.id,
                    format!("the mass of its body would come from {what}, which is not computed"),
                    "give the body an `inertial`, or this geom `mass=\"0\"`",
                );
                // Some mass, so that nothing later complains of its absence.
                parts.push(MassProperties::of_principal(1.0, [1.0; 3], &Placement::default()));
            }
        }
    }
    MassProperties::sum(&parts)
}

/// `settotalmass`: scales all bodies to a given sum.
pub(super) fn scale_to_total(reader: &mut Reader) {
    let Some(wanted) = reader.settings.total_mass else { return };
    let total: f64 = reader.model.bodies.iter().map(|b| b.mass).sum();
    if total <= 0.0 {
        return;
    }
    let factor = wanted / total;
    for body in &mut reader.model.bodies {
        body.mass *= factor;
        body.inertia = body.inertia.map(|x| x * factor);
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
}
