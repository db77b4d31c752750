//! Mass, centre of mass and inertia of a body: given, or summed over its geoms.

use super::document::ElementId;
use super::geom::{Geom, GeomMass};
use super::reader::{Item, Reader};
use super::settings::InertiaFromGeom;
use crate::masses::{MassProperties, turned};
use crate::mechanism::Placement;
use crate::spatial::principal;

/// Mass properties of a body from its `inertial` element or its geoms, with the compiler's bounds applied.
pub(super) fn of_body(
    reader: &mut Reader,
    body: ElementId,
    inertial: Option<(&Item, &Placement)>,
    geoms: &[(Item, Geom)],
) -> MassProperties {
    let from_geoms = match reader.settings_of(body).inertia_from_geom {
        InertiaFromGeom::Always => true,
        InertiaFromGeom::Never => false,
        InertiaFromGeom::WhenMissing => inertial.is_none(),
    };
    let mut total = match inertial {
        _ if from_geoms => sum_of_geoms(reader, body, geoms),
        Some((item, frame)) => explicit(reader, item, frame),
        None => MassProperties::default(),
    };
    total.mass = total.mass.max(reader.settings_of(body).bound_mass);
    let bound = reader.settings_of(body).bound_inertia;
    if bound > 0.0 {
        total.map_moments(|m| m.map(|x| x.max(bound)));
    }
    if reader.settings_of(body).balance_inertia {
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

fn sum_of_geoms(reader: &mut Reader, body: ElementId, geoms: &[(Item, Geom)]) -> MassProperties {
    let [low, high] = reader.settings_of(body).inertia_groups;
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
