//! [`Parameter`]: a number of the model that a step can be differentiated by.
//!
//! Masses, centres of mass and inertias are those of the bodies of the file, about the centre of mass and along the body's
//! axes; damping, stiffness and friction are those of the coordinates of its joints.

use super::description::{JointType, ModelDescription, PerCoordinate, SpringDescription};
use super::{BodyId, JointId, JointRole, Mechanism, nearest};
use crate::spatial::{Inertia, Sym3, Vec3};

/// A number of the model that a step can be differentiated by.
///
/// ```
/// use leastaction::mechanism::{MechanismBuilder, Parameter, samples};
///
/// let mut model = samples::chain(2);
/// let mechanism = MechanismBuilder::from(model.clone()).build()?;
/// let found = Parameter::named(&mechanism, "mass")?;
/// assert_eq!(found.len(), 2);
/// found[0].set(&mechanism, &mut model, 3.0);
/// assert_eq!(found[0].value(&MechanismBuilder::from(model).build()?), 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// Mass of a body; its centre and the inertia about it stay.
    Mass(BodyId),
    /// Centre of mass of a body along one of its axes; the inertia about it stays.
    Com(BodyId, usize),
    /// Inertia of a body about its centre of mass: `xx, yy, zz, xy, xz, yz`.
    Inertia(BodyId, usize),
    /// Viscous damping of a coordinate of a joint. Spherical and floating joints have one number, as coordinate 0.
    Damping(JointId, usize),
    /// Stiffness of the spring of a coordinate, likewise.
    Stiffness(JointId, usize),
    /// Dry friction of a coordinate.
    Friction(JointId, usize),
}

/// A name that is no parameter of the mechanism.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is no parameter of this mechanism{}: names are mass, com, inertia, damping, stiffness or friction, alone or \
     followed by `.BODY`, `.JOINT` and an axis",
    .nearest.as_ref().map_or(String::new(), |near| format!("; is `{near}` meant?"))
)]
pub struct UnknownParameter {
    /// What was asked for.
    pub name: String,
    /// The most similar name there is.
    pub nearest: Option<String>,
}

const AXES: [&str; 3] = ["x", "y", "z"];
const ENTRIES: [&str; 6] = ["xx", "yy", "zz", "xy", "xz", "yz"];

impl Parameter {
    /// All parameters of a mechanism: bodies in order, then joints. Bodies that never move have none.
    #[must_use]
    pub fn all(mechanism: &Mechanism) -> Vec<Self> {
        let mut out = Vec::new();
        for body in mechanism.body_ids().filter(|b| mechanism.tree().bodies[b.index()].node.is_some()) {
            out.push(Self::Mass(body));
            out.extend((0..3).map(|axis| Self::Com(body, axis)));
            out.extend((0..6).map(|entry| Self::Inertia(body, entry)));
        }
        for joint in mechanism.tree_joints().chain(mechanism.loop_joints()) {
            let kind = mechanism.joint(joint).kind;
            let count = if is_isotropic(kind) { 1 } else { kind.nv() };
            out.extend((0..count).map(|c| Self::Damping(joint, c)));
            out.extend((0..count).map(|c| Self::Stiffness(joint, c)));
            if !is_isotropic(kind) && mechanism.joint(joint).role == JointRole::Tree {
                out.extend((0..count).map(|c| Self::Friction(joint, c)));
            }
        }
        out
    }

    /// The parameters of a name: `mass.BODY`, `com.BODY.x`, `inertia.BODY.xy`, `damping.JOINT[.part]`, and so on. Without an
    /// axis it is all axes, without a body or joint those of all.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(mechanism: &Mechanism, name: &str) -> Result<Vec<Self>, UnknownParameter> {
        let all = Self::all(mechanism);
        let names: Vec<String> = all.iter().map(|p| p.name(mechanism)).collect();
        let exact: Vec<Self> = all.iter().zip(&names).filter(|(_, n)| *n == name).map(|(p, _)| *p).collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        let found: Vec<Self> =
            all.iter().filter(|p| p.kind() == name || p.owner(mechanism) == name).copied().collect();
        if found.is_empty() {
            let near = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
            return Err(UnknownParameter { name: name.to_owned(), nearest: near });
        }
        Ok(found)
    }

    /// First part of its name.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mass(_) => "mass",
            Self::Com(..) => "com",
            Self::Inertia(..) => "inertia",
            Self::Damping(..) => "damping",
            Self::Stiffness(..) => "stiffness",
            Self::Friction(..) => "friction",
        }
    }

    /// Its name without an axis.
    fn owner(&self, mechanism: &Mechanism) -> String {
        let name = match self {
            Self::Mass(body) | Self::Com(body, _) | Self::Inertia(body, _) => &mechanism.body(*body).name,
            Self::Damping(joint, _) | Self::Stiffness(joint, _) | Self::Friction(joint, _) => {
                &mechanism.joint(*joint).name
            }
        };
        format!("{}.{name}", self.kind())
    }

    /// Its name, as [`named`](Self::named) understands it.
    #[must_use]
    pub fn name(&self, mechanism: &Mechanism) -> String {
        let owner = self.owner(mechanism);
        match self {
            Self::Mass(_) => owner,
            Self::Com(_, axis) => format!("{owner}.{}", AXES[*axis]),
            Self::Inertia(_, entry) => format!("{owner}.{}", ENTRIES[*entry]),
            Self::Damping(joint, c) | Self::Stiffness(joint, c) | Self::Friction(joint, c) => {
                let joint = mechanism.joint(*joint);
                if is_isotropic(joint.kind) {
                    return owner;
                }
                format!("{}.{}", self.kind(), joint.coordinate_label(*c))
            }
        }
    }

    /// Its value.
    #[must_use]
    pub fn value(&self, mechanism: &Mechanism) -> f64 {
        match self {
            Self::Mass(body) => mechanism.body(*body).mass,
            Self::Com(body, axis) => mechanism.body(*body).com[*axis],
            Self::Inertia(body, entry) => mechanism.body(*body).about_com.0[*entry],
            Self::Damping(joint, c) => mechanism.joint(*joint).damping[*c],
            Self::Stiffness(joint, c) => mechanism.joint(*joint).stiffness[*c],
            Self::Friction(joint, c) => mechanism.joint(*joint).friction[*c],
        }
    }

    /// Writes a value into the description that the mechanism was built from.
    pub fn set(&self, mechanism: &Mechanism, model: &mut ModelDescription, value: f64) {
        match self {
            Self::Mass(body) | Self::Com(body, _) | Self::Inertia(body, _) => {
                let name = &mechanism.body(*body).name;
                let Some(body) = model.bodies.iter_mut().find(|b| b.name == *name) else { return };
                match self {
                    Self::Com(_, axis) => body.com[*axis] = value,
                    Self::Inertia(_, entry) => body.inertia[*entry] = value,
                    _ => body.mass = value,
                }
            }
            Self::Damping(joint, c) | Self::Stiffness(joint, c) | Self::Friction(joint, c) => {
                let own = mechanism.joint(*joint);
                let Some(joint) = model.joints.iter_mut().find(|j| j.name == own.name) else { return };
                let list = match self {
                    Self::Damping(..) => &mut joint.damping,
                    Self::Friction(..) => &mut joint.friction,
                    _ => &mut joint.spring.get_or_insert_with(no_spring).stiffness,
                };
                if own.kind.nv() == 1 || is_isotropic(own.kind) {
                    *list = PerCoordinate::One(value);
                } else {
                    let mut each: Vec<f64> = (0..own.kind.nv()).map(|i| list.at(i)).collect();
                    each[*c] = value;
                    *list = PerCoordinate::Each(each);
                }
            }
        }
    }

    /// What a unit of it adds to the inertia of its body, body frame, about the body's origin. Inertias are linear in mass, first
    /// moment and rotational inertia, so that this is also what it adds in any other frame.
    #[must_use]
    pub fn inertia(&self, mechanism: &Mechanism) -> Option<(BodyId, Inertia)> {
        let (body, change) = match self {
            Self::Mass(body) => (*body, Inertia::from_com(1.0, mechanism.body(*body).com, &Sym3::zero())),
            Self::Com(body, axis) => {
                let own = mechanism.body(*body);
                let mut unit = Vec3::zero();
                unit[*axis] = own.mass;
                let (c, e) = (own.com, unit);
                // d/dc of m (c·c 1 − c cᵀ).
                let trace = 2.0 * c.dot(e);
                let twice = |i: usize, j: usize| c[i] * e[j] + e[i] * c[j];
                let rot = Sym3([
                    trace - twice(0, 0),
                    trace - twice(1, 1),
                    trace - twice(2, 2),
                    -twice(0, 1),
                    -twice(0, 2),
                    -twice(1, 2),
                ]);
                (*body, Inertia { mass: 0.0, moment: unit, rot })
            }
            Self::Inertia(body, entry) => {
                let mut rot = Sym3::zero();
                rot.0[*entry] = 1.0;
                (*body, Inertia { mass: 0.0, moment: Vec3::zero(), rot })
            }
            _ => return None,
        };
        Some((body, change))
    }

    /// The joint and the coordinates of it that a coefficient acts on.
    #[must_use]
    pub fn coordinates(&self, mechanism: &Mechanism) -> Option<(JointId, std::ops::Range<usize>)> {
        match self {
            Self::Damping(joint, c) | Self::Stiffness(joint, c) | Self::Friction(joint, c) => {
                let kind = mechanism.joint(*joint).kind;
                Some((*joint, if is_isotropic(kind) { 0..kind.nv() } else { *c..*c + 1 }))
            }
            _ => None,
        }
    }
}

/// True if the springs and dampers of a joint are one number for all its coordinates.
fn is_isotropic(kind: JointType) -> bool {
    matches!(kind, JointType::Spherical | JointType::Floating)
}

fn no_spring() -> SpringDescription {
    SpringDescription { stiffness: PerCoordinate::default(), rest: PerCoordinate::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn a_change_of_a_parameter_changes_the_inertia_of_its_body_by_its_slope() {
        let mut model = samples::chain(3);
        model.bodies[1].com = [0.2, -0.3, 0.45];
        model.bodies[1].inertia = [0.3, 0.4, 0.5, 0.01, -0.02, 0.03];
        let mechanism = MechanismBuilder::from(model.clone()).build().expect("a chain");
        let h = 1e-4;
        for parameter in Parameter::all(&mechanism) {
            let Some((body, slope)) = parameter.inertia(&mechanism) else { continue };
            let at = |s: f64| {
                let mut model = model.clone();
                parameter.set(&mechanism, &mut model, parameter.value(&mechanism) + s * h);
                let made = MechanismBuilder::from(model).build().expect("a chain");
                let g = made.body(body).inertia;
                let mut all = vec![g.mass];
                all.extend(g.moment.0);
                all.extend(g.rot.0);
                all
            };
            let (up, down) = (at(1.0), at(-1.0));
            let mut all = vec![slope.mass];
            all.extend(slope.moment.0);
            all.extend(slope.rot.0);
            for (k, s) in all.iter().enumerate() {
                let difference = (up[k] - down[k]) / (2.0 * h);
                assert!((difference - s).abs() < 1e-10, "{}: {difference} {s}", parameter.name(&mechanism));
            }
        }
    }

    #[test]
    fn names_lead_back_to_the_parameter_and_wrong_ones_are_told_the_nearest() {
        let mechanism = MechanismBuilder::from(samples::chain(2)).build().expect("a chain");
        for parameter in Parameter::all(&mechanism) {
            assert_eq!(Parameter::named(&mechanism, &parameter.name(&mechanism)), Ok(vec![parameter]));
        }
        assert_eq!(Parameter::named(&mechanism, "inertia").map(|all| all.len()), Ok(12));
        let wrong = Parameter::named(&mechanism, "mas");
        assert!(wrong.is_err_and(|e| e.to_string().contains("is no parameter")));
    }
}
