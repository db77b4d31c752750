//! Laws of inputs as data: part of the model format.

use serde::{Deserialize, Serialize};

use super::Origin;
use super::description::is_zero;

/// One number, or three: constant, per length, per velocity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Affine {
    /// The same everywhere.
    Constant(f64),
    /// Constant, per length, per velocity.
    Of([f64; 3]),
}

impl Affine {
    /// The three coefficients.
    #[must_use]
    pub fn coefficients(self) -> [f64; 3] {
        match self {
            Self::Constant(x) => [x, 0.0, 0.0],
            Self::Of(x) => x,
        }
    }
}

impl From<[f64; 3]> for Affine {
    fn from(x: [f64; 3]) -> Self {
        if x[1..] == [0.0; 2] { Self::Constant(x[0]) } else { Self::Of(x) }
    }
}

/// How an input becomes a force: `gain · control + bias`, both affine in the length `Σ gear q` of the input and its
/// velocity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LawDescription {
    /// Name of the input.
    pub input: String,
    /// Factor of the control (or of the actuator's own state).
    #[serde(default = "unit_gain")]
    pub gain: Affine,
    /// Force without control.
    #[serde(default = "no_bias", skip_serializing_if = "is_no_bias")]
    pub bias: Affine,
    /// Range of the control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_range: Option<[f64; 2]>,
    /// Range of the force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_range: Option<[f64; 2]>,
    /// Torque–speed line of the motor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_line: Option<SpeedLineDescription>,
    /// Inertia of the rotor at the actuator: `gear²` times as much is added to the armature of each joint it acts on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rotor_inertia: f64,
    /// The actuator's own state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationDescription>,
    /// Where the law was read from.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

fn unit_gain() -> Affine {
    Affine::Constant(1.0)
}

fn no_bias() -> Affine {
    Affine::Constant(0.0)
}

fn is_no_bias(x: &Affine) -> bool {
    x.coefficients() == [0.0; 3]
}

impl LawDescription {
    /// The law of an input that is a force.
    #[must_use]
    pub fn new(input: impl Into<String>) -> Self {
        Self {
            input: input.into(),
            gain: unit_gain(),
            bias: no_bias(),
            control_range: None,
            force_range: None,
            speed_line: None,
            rotor_inertia: 0.0,
            activation: None,
            origin: None,
        }
    }

    /// A position servo: `kp (control − length) − kd velocity`.
    #[must_use]
    pub fn servo(input: impl Into<String>, kp: f64, kd: f64) -> Self {
        Self { gain: Affine::Constant(kp), bias: Affine::Of([0.0, -kp, -kd]), ..Self::new(input) }
    }
}

/// Torque–speed line of a motor, before the gear.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeedLineDescription {
    /// Largest force at rest.
    pub stall: f64,
    /// Speed at which no force is left.
    pub free_speed: f64,
}

/// Dynamics of an actuator's own state `a` under the control `c`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActivationDescription {
    /// `integrator`: `ȧ = c`; `filter`: `ȧ = (c − a)/τ`.
    pub kind: ActivationKind,
    /// Time constant τ of a filter.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub time_constant: f64,
    /// Range of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

/// Kinds of activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationKind {
    /// The state is the integral of the control.
    Integrator,
    /// The state follows the control.
    Filter,
}
