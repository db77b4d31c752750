//! How contacts are stepped, as a model file or a caller asks for it.

use serde::{Deserialize, Serialize};

/// What happens at an impact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Impacts {
    /// The step lands the contact: time of impact to one step, first order after it.
    #[default]
    Stepped,
    /// The time of impact is found: second order through isolated impacts.
    Located,
}

/// Which direction friction has at the start of an interval while a contact slides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sliding {
    /// Against the slip at the start node: second order.
    #[default]
    Symmetric,
    /// Against the slip of the interval: first order along curves.
    Implicit,
}

/// What happens where friction turns round without sticking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Turns {
    /// The step takes one direction: first order after a turn.
    #[default]
    Stepped,
    /// The step is cut at the turn: second order.
    Located,
}

/// How contacts are stepped. Lengths and speeds that are not given come from the size of the model: lengths by it, speeds by
/// its root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContactSettings {
    /// Impacts stepped or located.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impacts: Option<Impacts>,
    /// Direction of sliding friction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sliding: Option<Sliding>,
    /// Turns of friction stepped or located.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// Contacts with a gap up to this, m or rad, are closed: 1e-9 of the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_gap: Option<f64>,
    /// Approach, m/s, below which nothing bounces: 1e-2 for links of 1 m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_speed: Option<f64>,
    /// Slip, m/s, above which a contact slides: 1e-7 for links of 1 m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slide_speed: Option<f64>,
    /// Speed, m/s, at which links that start inside each other part: 0.1 for links of 1 m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_speed: Option<f64>,
    /// Gap, m, to which an impact is located: 1e-12 of the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub located_gap: Option<f64>,
    /// Impacts located in one step before the rest of it is stepped: 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_events: Option<u32>,
}

impl ContactSettings {
    /// These settings, and those of `other` where nothing is given here.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            impacts: self.impacts.or(other.impacts),
            sliding: self.sliding.or(other.sliding),
            turns: self.turns.or(other.turns),
            closed_gap: self.closed_gap.or(other.closed_gap),
            rest_speed: self.rest_speed.or(other.rest_speed),
            slide_speed: self.slide_speed.or(other.slide_speed),
            recovery_speed: self.recovery_speed.or(other.recovery_speed),
            located_gap: self.located_gap.or(other.located_gap),
            max_events: self.max_events.or(other.max_events),
        }
    }
}
