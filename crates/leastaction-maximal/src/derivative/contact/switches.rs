//! Contacts that are about to open, close, stick or slip: the derivative there is that of one side.

use crate::contact::{Item, Kind, Probe};
use crate::scalar::elementary;

/// A contact, limit or dry friction so near a switch of its law that the derivative may be that of the other side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactSwitch {
    /// Contact of the mechanism, or none for a limit or friction of a coordinate.
    pub contact: Option<usize>,
    /// Velocity coordinate of a limit or friction.
    pub coordinate: Option<usize>,
    /// Distance from the switch, m/s or rad/s.
    pub distance: f64,
}

/// What was met in the problems of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Switches {
    /// Nearer than this is near.
    pub(super) limit: f64,
    pub(super) list: Vec<ContactSwitch>,
}

impl Switches {
    /// Notes a row of the exact law that is near a switch: `|z_n|/rho` and `||z_t| - R|/rho`. (9.23)
    pub(super) fn note(&mut self, k: usize, item: &Item, probe: &Probe, smoothing: f64) {
        if smoothing > 0.0 {
            return;
        }
        let (u, g, rho) = (&probe.u, &probe.gam, item.rho);
        let z = |i: usize| g[i] - rho * u[i];
        let mut distance = f64::INFINITY;
        let mut coordinate = None;
        match item.kind {
            Kind::Friction { at, .. } => {
                coordinate = Some(at.v);
                if probe.sign.is_none() {
                    distance = (z(0).abs() - probe.bound).abs() / rho;
                }
            }
            kind => {
                if let Kind::Limit { at, .. } = kind {
                    coordinate = Some(at.v);
                }
                let normal = z(0) - rho * probe.law.shift;
                distance = distance.min(normal.abs() / rho);
                if item.mu > 0.0 && normal > 0.0 && probe.law.direction.is_none() {
                    let size = elementary::hypot(z(1), z(2));
                    distance = distance.min((size - item.mu * normal).abs() / rho);
                }
            }
        }
        if distance * item.arm < self.limit {
            let contact = coordinate.is_none().then_some(k);
            self.list.push(ContactSwitch { contact, coordinate, distance });
        }
    }
}
