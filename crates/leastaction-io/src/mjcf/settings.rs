//! `compiler` and `option`: what applies to the whole model.

use super::document::{Attribute, Document, ElementId};
use crate::frames::{
    self, IDENTITY, Quaternion, about, cross, dot, from_axes, from_z, multiply, unit, unit_quaternion,
};
use crate::mechanism::{Problems, Severity};

/// When masses come from geoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InertiaFromGeom {
    Never,
    Always,
    WhenMissing,
}

/// Everything `compiler`, `option` and `flag` say that we use.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Radians per unit of angle in the file.
    pub(super) angle: f64,
    pub(super) euler_sequence: [u8; 3],
    pub(super) autolimits: bool,
    pub(super) inertia_from_geom: InertiaFromGeom,
    pub(super) inertia_groups: [i64; 2],
    pub(super) balance_inertia: bool,
    pub(super) bound_mass: f64,
    pub(super) bound_inertia: f64,
    pub(super) total_mass: Option<f64>,
    pub(super) align_free: bool,
    pub(super) mesh_directory: String,
    pub(super) strip_path: bool,
    pub(super) gravity: [f64; 3],
    pub(super) wind: [f64; 3],
    pub(super) contacts: bool,
    pub(super) equalities: bool,
    pub(super) limits: bool,
    pub(super) friction: bool,
    pub(super) springs: bool,
    pub(super) dampers: bool,
    pub(super) actuation: bool,
    pub(super) clamp_controls: bool,
    /// Groups of actuators that are switched off.
    pub(super) groups_off: Vec<i64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            angle: std::f64::consts::PI / 180.0,
            euler_sequence: *b"xyz",
            autolimits: true,
            inertia_from_geom: InertiaFromGeom::WhenMissing,
            inertia_groups: [0, 5],
            balance_inertia: false,
            bound_mass: 0.0,
            bound_inertia: 0.0,
            total_mass: None,
            align_free: false,
            mesh_directory: String::new(),
            strip_path: false,
            gravity: [0.0, 0.0, -9.81],
            wind: [0.0; 3],
            contacts: true,
            equalities: true,
            limits: true,
            friction: true,
            springs: true,
            dampers: true,
            actuation: true,
            clamp_controls: true,
            groups_off: Vec::new(),
        }
    }
}

impl Settings {
    /// The rotation one attribute describes.
    pub(super) fn turn(&self, attribute: &Attribute) -> Option<Quaternion> {
        let angle = self.angle;
        let text = attribute.value.as_str();
        match attribute.name.as_str() {
            "quat" => unit_quaternion(parse_array(text)?),
            "axisangle" => {
                let [x, y, z, a] = parse_array(text)?;
                Some(about(unit([x, y, z])?, a * angle))
            }
            "xyaxes" => {
                let [a, b, c, d, e, f] = parse_array(text)?;
                let x = unit([a, b, c])?;
                let along = dot(x, [d, e, f]);
                let y = unit(frames::sub([d, e, f], frames::scale(x, along)))?;
                Some(from_axes(x, y, cross(x, y)))
            }
            "zaxis" => Some(from_z(unit(parse_array(text)?)?)),
            _ => {
                let angles: [f64; 3] = parse_array(text)?;
                let mut q = IDENTITY;
                for (letter, a) in self.euler_sequence.into_iter().zip(angles) {
                    let axis = match letter.to_ascii_lowercase() {
                        b'x' => [1.0, 0.0, 0.0],
                        b'y' => [0.0, 1.0, 0.0],
                        _ => [0.0, 0.0, 1.0],
                    };
                    let turn = about(axis, a * angle);
                    // Small letters turn about axes that move along, capitals about fixed ones.
                    q = if letter.is_ascii_lowercase() { multiply(q, turn) } else { multiply(turn, q) };
                }
                Some(q)
            }
        }
    }
}

/// The numbers of an attribute that passed validation.
pub(super) fn parse_numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|t| t.parse().ok()).collect()
}

/// `N` numbers of an attribute that passed validation.
pub(super) fn parse_array<const N: usize>(text: &str) -> Option<[f64; N]> {
    parse_numbers(text).try_into().ok()
}

/// Reads all `compiler` and `option` sections; later ones win.
pub(super) fn read(document: &Document, problems: &mut Problems) -> Settings {
    let mut settings = Settings::default();
    for &id in &document.elements[0].children {
        match document.elements[id].tag.as_str() {
            "compiler" => compiler(document, id, &mut settings, problems),
            "option" => option(document, id, &mut settings, problems),
            _ => {}
        }
    }
    settings
}

fn compiler(document: &Document, id: ElementId, settings: &mut Settings, problems: &mut Problems) {
    let element = &document.elements[id];
    let mut mesh_directory = None;
    for attribute in &element.attributes {
        let text = attribute.value.as_str();
        let on = text == "true";
        let number = text.trim().parse::<f64>().unwrap_or(0.0);
        match attribute.name.as_str() {
            "angle" => settings.angle = if text == "radian" { 1.0 } else { std::f64::consts::PI / 180.0 },
            "coordinate" if text == "global" => problems.error(
                Some(attribute.at),
                "compiler",
                "`coordinate` is `global`",
                "MuJoCo dropped global coordinates too: save the model with an older release as local ones",
            ),
            "eulerseq" => match <[u8; 3]>::try_from(text.as_bytes()) {
                Ok(sequence) if sequence.iter().all(|b| b"xyzXYZ".contains(b)) => {
                    settings.euler_sequence = sequence
                }
                _ => problems.error(
                    Some(attribute.at),
                    "compiler",
                    format!("`eulerseq` is `{text}`"),
                    "write three letters of `xyz` (turning axes) or `XYZ` (fixed axes)",
                ),
            },
            "autolimits" => settings.autolimits = on,
            "inertiafromgeom" => {
                settings.inertia_from_geom = match text {
                    "true" => InertiaFromGeom::Always,
                    "false" => InertiaFromGeom::Never,
                    _ => InertiaFromGeom::WhenMissing,
                }
            }
            "inertiagrouprange" => {
                if let Some([low, high]) = parse_array::<2>(text) {
                    #[expect(clippy::cast_possible_truncation, reason = "groups are small whole numbers")]
                    let groups = [low as i64, high as i64];
                    settings.inertia_groups = groups;
                }
            }
            "balanceinertia" => settings.balance_inertia = on,
            "boundmass" => settings.bound_mass = number,
            "boundinertia" => settings.bound_inertia = number,
            "settotalmass" => settings.total_mass = (number > 0.0).then_some(number),
            "alignfree" => settings.align_free = on,
            "strippath" => settings.strip_path = on,
            "meshdir" => mesh_directory = Some(text.to_owned()),
            "assetdir" if mesh_directory.is_none() => mesh_directory = Some(text.to_owned()),
            _ => {}
        }
    }
    if let Some(directory) = mesh_directory {
        settings.mesh_directory = directory;
    }
}

fn option(document: &Document, id: ElementId, settings: &mut Settings, problems: &mut Problems) {
    let element = &document.elements[id];
    for attribute in &element.attributes {
        let text = attribute.value.as_str();
        match attribute.name.as_str() {
            "gravity" => settings.gravity = parse_array(text).unwrap_or(settings.gravity),
            "wind" => settings.wind = parse_array(text).unwrap_or(settings.wind),
            "actuatorgroupdisable" => {
                settings.groups_off = parse_numbers(text).into_iter().map(|group| group as i64).collect();
            }
            "density" | "viscosity" => {
                if text.trim().parse::<f64>().is_ok_and(|x| x != 0.0) {
                    let what = format!("the fluid forces of `{}` are left out", attribute.name);
                    let remedy = "give bodies a linear `drag` in our own format, or remove it";
                    problems.warning(Some(attribute.at), "option", what, remedy);
                }
            }
            name => problems.of_kind(
                "option",
                Severity::Warning,
                Some(attribute.at),
                "option",
                format!("`{name}` belongs to MuJoCo's solver and is not used"),
                "choose step and integrator when you simulate",
            ),
        }
    }
    for &child in &element.children {
        flags(document, child, settings);
    }
}

fn flags(document: &Document, id: ElementId, settings: &mut Settings) {
    for attribute in &document.elements[id].attributes {
        let on = attribute.value == "enable";
        match attribute.name.as_str() {
            "gravity" if !on => settings.gravity = [0.0; 3],
            "contact" => settings.contacts = on,
            "equality" => settings.equalities = on,
            "limit" => settings.limits = on,
            "frictionloss" => settings.friction = on,
            "spring" => settings.springs = on,
            "damper" => settings.dampers = on,
            "passive" if !on => (settings.springs, settings.dampers) = (false, false),
            "actuation" => settings.actuation = on,
            "clampctrl" => settings.clamp_controls = on,
            "constraint" if !on => {
                settings.contacts = false;
                settings.equalities = false;
                settings.limits = false;
                settings.friction = false;
            }
            _ => {}
        }
    }
}
