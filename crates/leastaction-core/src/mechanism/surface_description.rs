//! Surfaces of bodies and the ground as model files give them.

use serde::{Deserialize, Serialize};

use super::description::{Placement, is_zero};
use super::{ModelDescription, Origin, WORLD};
use crate::contact::ContactSettings;

/// Friction of a surface that gives none.
pub const DEFAULT_FRICTION: f64 = 0.5;

fn default_friction() -> f64 {
    DEFAULT_FRICTION
}

fn world() -> String {
    WORLD.into()
}

fn first_bit() -> [u32; 2] {
    [1, 1]
}

fn is_first_bit(bits: &[u32; 2]) -> bool {
    *bits == [1, 1]
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_no_priority(x: &i64) -> bool {
    *x == 0
}

/// Shapes that touch. Long axes lie along z.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum SurfaceShape {
    /// A sphere.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A cylinder with half-sphere caps; `length` is without the caps.
    Capsule {
        /// Radius.
        radius: f64,
        /// Length of the cylindrical part.
        length: f64,
    },
    /// A box with full edge lengths.
    Box {
        /// Edge lengths.
        size: [f64; 3],
    },
    /// A cylinder.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Full length.
        length: f64,
    },
    /// An ellipsoid: against anything but flat faces a body with many corners.
    Ellipsoid {
        /// Semi-axes.
        radii: [f64; 3],
    },
    /// Points: their convex hull touches whatever touches a box. Points that enclose nothing touch half-spaces only.
    Points {
        /// The points.
        points: Vec<[f64; 3]>,
    },
}

impl SurfaceShape {
    /// Name in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sphere { .. } => "sphere",
            Self::Capsule { .. } => "capsule",
            Self::Box { .. } => "box",
            Self::Cylinder { .. } => "cylinder",
            Self::Ellipsoid { .. } => "ellipsoid",
            Self::Points { .. } => "points",
        }
    }
}

/// A shape of a body that touches others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurfaceDescription {
    /// Name for columns and messages; the body's if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The body, or `world`.
    #[serde(default = "world")]
    pub link: String,
    /// The shape.
    pub shape: SurfaceShape,
    /// Placement in the body frame.
    #[serde(default, skip_serializing_if = "Placement::is_default")]
    pub placement: Placement,
    /// Coefficient of friction; of two surfaces the larger counts.
    #[serde(default = "default_friction")]
    pub friction: f64,
    /// Coefficient of restitution; of two surfaces the larger counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restitution: f64,
    /// Two surfaces touch if one's first number and the other's second have a bit in common (MJCF `contype`, `conaffinity`).
    #[serde(default = "first_bit", skip_serializing_if = "is_first_bit")]
    pub bits: [u32; 2],
    /// Of two surfaces the one with the higher priority gives the friction.
    #[serde(default, skip_serializing_if = "is_no_priority")]
    pub priority: i64,
    /// Where it was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

impl SurfaceDescription {
    /// A surface with default friction.
    #[must_use]
    pub fn new(link: impl Into<String>, shape: SurfaceShape) -> Self {
        Self {
            name: String::new(),
            link: link.into(),
            shape,
            placement: Placement::default(),
            friction: DEFAULT_FRICTION,
            restitution: 0.0,
            bits: [1, 1],
            priority: 0,
            origin: None,
        }
    }
}

/// Fixed ground `normal . x <= offset`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HalfSpaceDescription {
    /// Name for columns and messages; `ground` if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Direction out of the ground.
    pub normal: [f64; 3],
    /// `normal . x` on its surface, for the unit normal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: f64,
    /// Coefficient of friction.
    #[serde(default = "default_friction")]
    pub friction: f64,
    /// Coefficient of restitution.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restitution: f64,
    /// See [`SurfaceDescription::bits`].
    #[serde(default = "first_bit", skip_serializing_if = "is_first_bit")]
    pub bits: [u32; 2],
    /// See [`SurfaceDescription::priority`].
    #[serde(default, skip_serializing_if = "is_no_priority")]
    pub priority: i64,
    /// Where it was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

impl HalfSpaceDescription {
    /// Level ground at height zero.
    #[must_use]
    pub fn ground() -> Self {
        Self {
            name: String::new(),
            normal: [0.0, 0.0, 1.0],
            offset: 0.0,
            friction: DEFAULT_FRICTION,
            restitution: 0.0,
            bits: [1, 1],
            priority: 0,
            origin: None,
        }
    }
}

/// Which surfaces touch, and how contacts are stepped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContactDescription {
    /// Surfaces or bodies that touch although they would not otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<[String; 2]>,
    /// Surfaces or bodies that do not touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<[String; 2]>,
    /// How contacts are stepped.
    #[serde(flatten)]
    pub settings: ContactSettings,
    /// Where it was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

impl ContactDescription {
    /// True if nothing is given.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ModelDescription {
    /// Names of the surfaces: their own, or that of the body, numbered where there are several.
    #[must_use]
    pub fn surface_names(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for surface in &self.surfaces {
            let base = if surface.name.is_empty() { &surface.link } else { &surface.name };
            let mut name = base.clone();
            let mut k = 2;
            while out.contains(&name) {
                name = format!("{base}.{k}");
                k += 1;
            }
            out.push(name);
        }
        out
    }

    /// Name of a half-space: its own, or `ground`, numbered where there are several.
    ///
    /// # Panics
    /// If there is none of this number.
    #[must_use]
    pub fn half_space_name(&self, k: usize) -> String {
        let own = &self.half_spaces[k].name;
        match (own.is_empty(), self.half_spaces.len()) {
            (false, _) => own.clone(),
            (true, 1) => "ground".into(),
            (true, _) => format!("ground.{}", k + 1),
        }
    }
}
