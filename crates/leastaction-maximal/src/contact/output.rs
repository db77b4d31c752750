//! What contacts did, seen from outside.

use super::super::constraint::coordinate_row;
use super::super::forces::add_row;
use super::super::geometry::LinkPose;
use super::super::ldu::Six;
use super::super::ldu::{angular, linear};
use super::super::state::MaximalState;
use super::super::workspace::MaximalWorkspace;
use super::item::Kind;
use crate::contact_law::{Against, Link, Tip, Touch};
use crate::integrator::{ContactCounts, ContactForce};
use crate::mechanism::Mechanism;
use crate::spatial::{Mat3, Vec3};

use super::memory::ContactMemory;
use super::state::ASIDE;

impl ContactMemory {
    /// An impulse in the frame of a contact as a world vector on the first body of its pair; limits as they are.
    pub(crate) fn in_world(&self, k: usize, frame: &Mat3, gam: [f64; 3]) -> [f64; 3] {
        match self.items[k].kind {
            Kind::Pair { .. } if self.items[k].flipped => (*frame * Vec3(gam)).scale(-1.0).0,
            Kind::Pair { .. } => (*frame * Vec3(gam)).0,
            _ => gam,
        }
    }
}

impl ContactMemory {
    /// Gap at given poses of a contact of the mechanism that took no part in the step. What its places were used for before has no say:
    /// a run that goes on from a state does not know it.
    fn far_gap(&self, place: &std::ops::Range<usize>, poses: &[LinkPose]) -> Option<f64> {
        match self.clusters.binary_search_by_key(&place.start, |cluster| cluster.first) {
            Ok(c) => Some(self.clusters[c].separation(|link| at(poses, link), self.options.closed_gap)),
            Err(_) => place.clone().filter_map(|k| gap_at(&self.items[k], poses)).reduce(f64::min),
        }
    }
}

impl MaximalWorkspace {
    /// Contacts of the mechanism at the node that the last step started from, in their order; empty without contact. Those that
    /// can never touch are zero.
    #[must_use]
    pub fn contact_forces(&self) -> Vec<ContactForce> {
        let Some(mem) = &self.contact else { return Vec::new() };
        let of = |place: &std::ops::Range<usize>| {
            let mut sum = ContactForce { gap: f64::INFINITY, ..ContactForce::default() };
            let mut weight = 0.0;
            for k in place.clone() {
                let size = Vec3(mem.force[k]).norm();
                weight += size;
                for m in 0..3 {
                    sum.force[m] += mem.force[k][m];
                    sum.point[m] += size * mem.point[k][m];
                }
                if !mem.gap[k].is_nan() {
                    sum.gap = sum.gap.min(mem.gap[k]);
                }
                sum.normal += mem.normal[k];
                sum.slip = sum.slip.max(mem.slip[k]);
            }
            if sum.gap == f64::INFINITY {
                sum.gap = mem.far_gap(place, &self.backup.poses).unwrap_or(sum.gap);
            }
            match place.len() {
                1 => sum.point = mem.point[place.start],
                _ if weight > 0.0 => sum.point.iter_mut().for_each(|x| *x /= weight),
                _ => {}
            }
            sum
        };
        mem.places.iter().map(of).collect()
    }

    /// Pairs of surfaces, as numbers of the mechanism's pairs, that started inside each other and have not parted yet.
    #[must_use]
    pub fn set_aside(&self, state: &MaximalState, mechanism: &Mechanism) -> Vec<usize> {
        let Some(mem) = &self.contact else { return Vec::new() };
        let aside =
            |place: &std::ops::Range<usize>| !place.is_empty() && state.contact.muted[place.start] == ASIDE;
        let contacts = mem.places.iter().zip(mechanism.contacts());
        contacts.filter(|(place, _)| aside(place)).map(|(_, contact)| contact.pair).collect()
    }

    /// The smoothing speed of relaxed derivatives where none is given; none without contact.
    #[doc(hidden)]
    #[must_use]
    pub fn smoothing_speed(&self) -> Option<f64> {
        self.contact.as_ref().map(|mem| super::relaxed::SMOOTHING * mem.options.speed)
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
        let Some(mem) = &self.contact else { return Vec::new() };
        let mut out = mem.end_gap.clone();
        for (gap, item) in out.iter_mut().zip(&mem.items) {
            // What was not near was not looked at.
            if gap.is_infinite() && !mem.end_poses.is_empty() {
                *gap = gap_at(item, &mem.end_poses).unwrap_or(*gap);
            }
        }
        out
    }

    /// How many contacts, limits and frictions took part in the last interval. For checks.
    #[doc(hidden)]
    #[must_use]
    pub fn contacts_taking_part(&self) -> usize {
        self.contact.as_ref().map_or(0, |mem| mem.live.len())
    }

    /// Contact masses of contacts, limits and frictions. For checks.
    #[doc(hidden)]
    #[must_use]
    pub fn contact_masses(&self) -> Vec<f64> {
        self.contact.as_ref().map_or_else(Vec::new, |mem| mem.items.iter().map(|item| item.rho).collect())
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

/// Impulses of the contacts and limits on the links at the start node or the end node, for output.
pub(super) fn impulses_on_links(
    ws: &MaximalWorkspace,
    mem: &mut ContactMemory,
    state: &MaximalState,
    at_start: bool,
) {
    let out = &mut mem.on_links[usize::from(!at_start)];
    out.fill([0.0; 6]);
    for &k in &mem.live {
        let (item, probe) = (&mem.items[k], &mem.probes[k]);
        let gam = if !at_start {
            mem.end_impulse[k]
        } else if probe.active {
            probe.gam
        } else {
            continue;
        };
        let mut add = |i: usize, impulse: &[f64; 6]| {
            let turn = angular(impulse) + state.side.arm[i].cross(linear(impulse));
            for m in 0..3 {
                out[i][m] += turn[m];
                out[i][3 + m] += impulse[3 + m];
            }
        };
        match item.kind {
            Kind::Pair { .. } => {
                for x in 0..2 {
                    if let Some(i) = item.links[x] {
                        let mut impulse = [0.0; 6];
                        probe.add_impulse(x, &gam, 1.0, &mut impulse);
                        add(i, &impulse);
                    }
                }
            }
            Kind::Tied { row, .. } => mem.tied[row].on_links(gam[0], add),
            Kind::Limit { at, .. } | Kind::Friction { at, .. } => {
                let sign = if let Kind::Limit { sign, .. } = item.kind { sign } else { 1.0 };
                let link = &ws.layout.links[at.link];
                let row = coordinate_row(link.joint.kind, &state.side.joints[at.link], at.part);
                add_row(out, &state.side.arm, link.parent, Some(at.link), &row, sign * gam[0]);
            }
        }
    }
    for (i, six) in out.iter_mut().enumerate() {
        let own = state.side.rot[i].tr_mul(angular(six));
        six[..3].copy_from_slice(&own.0);
    }
}

/// Gap of one tip at the poses of the links; none of limits and of shapes with edges, whose features are not known.
fn gap_at(item: &super::item::Item, poses: &[LinkPose]) -> Option<f64> {
    let Kind::Pair { tip, center, against } = &item.kind else { return None };
    let of_hull = matches!(against, Against::Hull { .. });
    if of_hull || matches!(tip, Tip::Capsule { .. } | Tip::Box { .. } | Tip::Hull { .. }) {
        return None;
    }
    Some(Touch::new(tip, *center, against, &at(poses, item.links[0]), &at(poses, item.links[1])).gap)
}

/// Where a link is; none is the ground.
fn at(poses: &[LinkPose], link: Option<usize>) -> Link {
    link.map_or_else(Link::ground, |i| Link { rot: poses[i].q.to_matrix(), pos: poses[i].x })
}

/// A contact that is closed at the last node. For checks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ClosedContact {
    /// Links that it acts on; none is the ground.
    pub links: [Option<usize>; 2],
    /// Unit normal, towards the first.
    pub normal: Vec3,
    /// Contact point of the first link, relative to its centre of mass, and of the second; world axes.
    pub levers: [Vec3; 2],
    /// Impulse of the last node problem on the first link, world axes.
    pub impulse: Vec3,
    /// Coefficient of friction.
    pub friction: f64,
}

impl MaximalWorkspace {
    /// Contacts that are closed at the node that `state` is at, as the step that led there left them. For checks.
    #[doc(hidden)]
    #[must_use]
    pub fn closed_contacts(&self, state: &MaximalState) -> Vec<ClosedContact> {
        let Some(mem) = &self.contact else { return Vec::new() };
        let of = |k: &usize| {
            let (item, probe) = (&mem.items[*k], &mem.probes[*k]);
            let lever = |x: usize| {
                item.links[x].map_or(probe.end.core[x], |i| state.side.rot[i] * probe.end.core[x])
                    + probe.end.arm[x]
            };
            matches!(item.kind, Kind::Pair { .. }).then(|| ClosedContact {
                links: item.links,
                normal: probe.end.normal,
                levers: [lever(0), lever(1)],
                impulse: probe.frame * Vec3(probe.gam),
                friction: item.mu,
            })
        };
        mem.live.iter().filter_map(of).collect()
    }
}
