//! What contacts did, seen from outside.

use super::super::ldu::Six;
use super::super::workspace::MaximalWorkspace;
use super::item::Kind;
use crate::integrator::{ContactCounts, ContactForce};
use crate::spatial::{Mat3, Vec3};

use super::memory::ContactMemory;

impl ContactMemory {
    /// An impulse in the frame of a contact as a world vector; limits as they are.
    pub(crate) fn in_world(&self, k: usize, frame: &Mat3, gam: [f64; 3]) -> [f64; 3] {
        match self.items[k].kind {
            Kind::Pair { .. } => (*frame * Vec3(gam)).0,
            _ => gam,
        }
    }
}

impl MaximalWorkspace {
    /// Contacts of the mechanism at the node that the last step started from, in their order; empty without contact. Those that
    /// can never touch are zero.
    #[must_use]
    pub fn contact_forces(&self) -> Vec<ContactForce> {
        let Some(mem) = &self.contact else { return Vec::new() };
        let of =
            |place: &Option<usize>| {
                place.map_or(ContactForce { gap: f64::INFINITY, ..ContactForce::default() }, |k| {
                    ContactForce { force: mem.force[k], point: mem.point[k], gap: mem.gap[k] }
                })
            };
        mem.places.iter().map(of).collect()
    }

    /// What steps with contact counted.
    #[must_use]
    pub fn contact_counts(&self) -> ContactCounts {
        self.contact.as_ref().map_or_else(ContactCounts::default, |mem| mem.counts)
    }

    /// Impulses of the last step at its start node and its end node: per contact of the mechanism, then per limit; world vectors on
    /// A, limits as `[γ, 0, 0]`. For checks.
    #[doc(hidden)]
    #[must_use]
    pub fn contact_impulses(&self) -> [Vec<[f64; 3]>; 2] {
        let Some(mem) = &self.contact else { return [Vec::new(), Vec::new()] };
        [mem.start_impulse.clone(), mem.end_impulse.clone()]
    }

    /// The same per link: torque in link axes about the centre of mass, force in world axes. For checks.
    #[doc(hidden)]
    #[must_use]
    pub fn contact_impulses_on_links(&self) -> [Vec<Six>; 2] {
        let Some(mem) = &self.contact else { return [Vec::new(), Vec::new()] };
        mem.on_links.clone()
    }

    /// Distances of contacts and limits at the last node. For checks.
    #[doc(hidden)]
    #[must_use]
    pub fn contact_gaps(&self) -> Vec<f64> {
        self.contact.as_ref().map_or_else(Vec::new, |mem| mem.end_gap.clone())
    }

    /// Whether each contact or limit, in the order of [`contact_gaps`](Self::contact_gaps), is a limit of a joint: its coordinate
    /// and side. For checks.
    #[doc(hidden)]
    #[must_use]
    pub fn contact_limits(&self) -> Vec<Option<(usize, f64)>> {
        let Some(mem) = &self.contact else { return Vec::new() };
        let of = |item: &super::item::Item| match item.kind {
            Kind::Limit { at, sign, .. } => Some((at.v, sign)),
            _ => None,
        };
        mem.items.iter().map(of).collect()
    }
}
