//! Lengths and speeds of the contact solver, from the settings and the size of the model.

use super::super::coordinate::is_angle;
use super::super::layout::{Layout, Link};
use super::item::Item;
use crate::contact_law::{ContactSettings, Impacts, Sliding, Turns};

/// Which derivative a step with contact has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ContactDerivative {
    /// That of the equations of the contacts as they are: stick, slip, open. One-sided where a contact is about to change.
    #[default]
    Exact,
    /// That of a relaxed step, in which contacts push a little before they touch and creep a little before they slip: for
    /// optimisation through contact.
    Relaxed {
        /// Smoothing speed, m/s or rad/s; 1e-2 for links of 1 m.
        speed: Option<f64>,
    },
}

/// Settings with numbers for everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) impacts: Impacts,
    pub(crate) sliding: Sliding,
    pub(crate) turns: Turns,
    pub(crate) closed_gap: f64,
    pub(crate) rest_speed: f64,
    pub(crate) slide_speed: f64,
    pub(crate) recovery_speed: f64,
    pub(crate) located_gap: f64,
    pub(crate) max_events: u32,
    /// Size of the model, and the speed that belongs to it: what residuals are measured by.
    pub(crate) length: f64,
    pub(crate) speed: f64,
    /// The heaviest link, or the heaviest rotor as a mass at the length of the model.
    pub(crate) mass: f64,
    /// All links and rotors, and the gravity that they weigh by.
    pub(crate) whole: f64,
    pub(crate) gravity: f64,
}

impl Options {
    pub(crate) fn new(layout: &Layout, items: &[Item], settings: ContactSettings) -> Self {
        let reach = items.iter().flat_map(|item| item.reach).fold(0.0, f64::max);
        let length = layout.length.max(reach);
        // Speeds go with the root of lengths where weight drives the motion: 1 m/s for links of 1 m under the gravity of the earth.
        let gravity = layout.gravity.norm() / 9.81;
        let speed = (length * if gravity > 0.0 { gravity } else { 1.0 }).sqrt();
        let rotor = |link: &Link| {
            let turns = |c: usize| if is_angle(link.joint.kind, c) { length * length } else { 1.0 };
            let heaviest = |m: f64, c: usize| m.max(link.joint.rows.armature[c] / turns(c));
            (0..link.joint.kind.nv()).fold(0.0, heaviest)
        };
        Self {
            mass: layout.links.iter().map(rotor).fold(layout.max_mass, f64::max),
            whole: layout.links.iter().map(|link| link.mass + rotor(link)).sum(),
            gravity: layout.gravity.norm(),
            impacts: settings.impacts.unwrap_or_default(),
            sliding: settings.sliding.unwrap_or_default(),
            turns: settings.turns.unwrap_or_default(),
            closed_gap: settings.closed_gap.unwrap_or(1e-9 * length),
            rest_speed: settings.rest_speed.unwrap_or(1e-2 * speed),
            slide_speed: settings.slide_speed.unwrap_or(1e-7 * speed),
            recovery_speed: settings.recovery_speed.unwrap_or(0.1 * speed),
            located_gap: settings.located_gap.unwrap_or(1e-12 * length),
            max_events: settings.max_events.unwrap_or(8),
            length,
            speed,
        }
    }

    /// What a gap may be at the end of an interval: zero, less where the start is inside, and what it was where that is rounding. Bodies
    /// that are wedged can't move by the last digits of a gap.
    pub(crate) fn floor(&self, start: f64, h: f64, arm: f64) -> f64 {
        if start.abs() * arm <= 1e-10 * self.length {
            return start;
        }
        (start + h * self.recovery_speed / arm).min(0.0)
    }

    /// The most that lifting something out may push with in an interval: ten times what gives all the model its speed and carries its
    /// weight. What takes more is held by something else, a damper or a servo, and would be torn from it.
    pub(crate) fn hardest_lift(&self, h: f64) -> f64 {
        10.0 * self.whole * (self.recovery_speed + h * self.gravity)
    }
}
