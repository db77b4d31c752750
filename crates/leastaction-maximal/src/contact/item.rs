//! [`Item`]: one contact, limit or dry friction as the engine sees it, in the frames of its links.

use super::super::coordinate::is_angle;
use super::super::layout::{Attachment, Layout};
use super::cluster::Cluster;
use super::mobility::{Mobilities, Mobility};
use super::tied::TiedRow;
use crate::contact_law::{Against, Solid, Tip};
use crate::mechanism::{BodyId, Contact, Mechanism};
use crate::spatial::{Pose, Vec3};

/// A coordinate of a tree joint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coordinate {
    pub(crate) link: usize,
    /// Velocity coordinate and position coordinate of the mechanism.
    pub(crate) v: usize,
    pub(crate) q: usize,
    /// Velocity coordinate within the joint.
    pub(crate) part: usize,
}

/// What an item is.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all items are pairs")]
pub(crate) enum Kind {
    /// A tip against something: three rows.
    Pair { tip: Tip, center: Vec3, against: Against },
    /// A joint limit, `s (y − value) >= 0`: one row.
    Limit { at: Coordinate, sign: f64, value: f64 },
    /// Dry friction of a coordinate with the given bound: one row, always there.
    Friction { at: Coordinate, bound: f64 },
    /// A row over several joints: a limit with its value, or what always holds.
    Tied { row: usize, value: Option<f64> },
}

/// One contact, limit or dry friction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    /// Links A and B; the ground is none. One of them is a link.
    pub(crate) links: [Option<usize>; 2],
    pub(crate) mu: f64,
    pub(crate) restitution: f64,
    /// Contact mass.
    pub(crate) rho: f64,
    /// Distance of the shape's farthest point from each link's centre of mass.
    pub(crate) reach: [f64; 2],
    /// Rates of the item times this are speeds: the length of the model for angles.
    pub(crate) arm: f64,
    /// True where a feature's tip belongs to the second shape of its pair.
    pub(crate) flipped: bool,
}

impl Item {
    /// Number of rows.
    #[inline]
    pub(crate) fn rows(&self) -> usize {
        if let Kind::Pair { .. } = self.kind { 3 } else { 1 }
    }

    /// True if it acts on two links other than a joint's own.
    pub(crate) fn is_between_links(&self) -> bool {
        matches!(self.kind, Kind::Pair { .. }) && self.links[0].is_some() && self.links[1].is_some()
    }

    pub(crate) fn is_friction(&self) -> bool {
        matches!(self.kind, Kind::Friction { .. })
    }

    pub(crate) fn is_tied(&self) -> bool {
        matches!(self.kind, Kind::Tied { .. })
    }

    /// True if it holds both ways, always.
    pub(crate) fn is_bilateral(&self) -> bool {
        matches!(self.kind, Kind::Tied { value: None, .. })
    }

    /// True if it takes part wherever it is.
    pub(crate) fn is_always(&self) -> bool {
        self.is_friction() || self.is_bilateral()
    }

    /// True if both shapes are bounded, so that balls around them tell whether they are near; not the ground, not a face.
    pub(crate) fn is_bounded_pair(&self) -> bool {
        matches!(&self.kind, Kind::Pair { against, .. } if against.ball().is_some())
    }

    fn of_contact(layout: &Layout, mobility: &[Mobility], contact: &Contact) -> Option<Self> {
        let world = Attachment { link: None, pose: Pose::identity() };
        let at = |body: Option<BodyId>| body.map_or(world, |body| layout.bodies[body.index()]);
        let (a, b) = (at(contact.body), at(contact.other));
        let links = [a.link, b.link];
        if links == [None, None] || links[0] == links[1] {
            return None;
        }
        let against = contact.against.placed(&b.pose);
        let (tip, center) = (contact.tip.turned(&a.pose.rot), a.pose.point(contact.center));
        let reach = [center.norm() + tip.reach(), against.reach()];
        // The contact mass takes no lever on link B but for a sphere.
        let lever_b = if let Against::Sphere { .. } = against { reach[1] } else { 0.0 };
        let kind = Kind::Pair { tip, center, against };
        let rho = contact_mass(layout, mobility, links, [Some(reach[0]), Some(lever_b)], true);
        let (mu, restitution) = (contact.friction, contact.restitution);
        Some(Self { kind, links, mu, restitution, rho, reach, arm: 1.0, flipped: false })
    }
}

/// Impulse per velocity: `1/ρ = Σ 1/m + (tr J⁻¹/3) l²/2` over the links, with or without the part of the displacement.
fn contact_mass(
    layout: &Layout,
    mobility: &[Mobility],
    links: [Option<usize>; 2],
    levers: [Option<f64>; 2],
    slides: bool,
) -> f64 {
    let mut inverse = 0.0;
    for (link, lever) in links.into_iter().zip(levers) {
        let Some(mobility) = link.map(|i| &mobility[i]) else { continue };
        if slides {
            inverse += mobility.shift;
        }
        if let Some(l) = lever {
            inverse += mobility.turn * (0.5 * l * l);
        }
    }
    // Links without inertia of their own: any size will do.
    if inverse > 0.0 { 1.0 / inverse } else { layout.max_mass }
}

/// Everything that may touch, hold or rub in a mechanism.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inventory {
    /// Contacts in their order, those of two shapes with edges with several places each; then limits, then dry friction.
    pub(crate) items: Vec<Item>,
    /// By contact of the mechanism: its items.
    pub(crate) places: Vec<std::ops::Range<usize>>,
    /// Pairs of shapes with edges.
    pub(crate) clusters: Vec<Cluster>,
    /// Rows over several joints.
    pub(crate) tied: Vec<TiedRow>,
}

/// All items of a mechanism.
pub(crate) fn items(mechanism: &Mechanism, layout: &Layout) -> Inventory {
    let (mut out, mut places, mut clusters) = (Vec::new(), Vec::new(), Vec::new());
    let Mobilities { links: mobility, ties } = Mobilities::new(mechanism, layout);
    for contact in mechanism.contacts() {
        let first = out.len();
        if let Some(item) = Item::of_contact(layout, &mobility, contact) {
            let Kind::Pair { tip, center, against } = item.kind else { continue };
            match Solid::pair(&tip, center, &against, mechanism.hulls()) {
                Some(solids) => {
                    let count = solids[0].most_features(&solids[1]);
                    clusters.push(Cluster::new(solids, &item, first, count));
                    out.extend(std::iter::repeat_n(item, count));
                }
                None => out.push(item),
            }
        }
        places.push(first..out.len());
    }
    let coordinate = |v: usize| {
        let link = layout.links.iter().position(|l| (l.v..l.v + l.joint.kind.nv()).contains(&v))?;
        let part = v - layout.links[link].v;
        Some((link, Coordinate { link, v, q: layout.links[link].q + part, part }))
    };
    let coordinate_item = |link: usize, at: Coordinate, kind, restitution| {
        let turns = is_angle(layout.links[link].joint.kind, at.part);
        let links = [Some(link), layout.links[link].parent];
        // √2 cancels the half of the lever's square: rotary rows have tr J⁻¹/3.
        let lever = turns.then_some(std::f64::consts::SQRT_2);
        let rho = match mobility[link].rates {
            Some(rates) if rates[at.part] > 0.0 => 1.0 / rates[at.part],
            _ => contact_mass(layout, &mobility, links, [lever; 2], !turns),
        };
        let arm = if turns { layout.length } else { 1.0 };
        Item { kind, links, mu: 0.0, restitution, rho, reach: [0.0; 2], arm, flipped: false }
    };
    let mut frictions = Vec::new();
    for row in mechanism.rows() {
        let Some((link, at)) = row.coordinate().and_then(|at| coordinate(at.v)) else { continue };
        for (sign, value) in [(1.0, row.lower), (-1.0, row.upper)] {
            if value.is_finite() {
                out.push(coordinate_item(link, at, Kind::Limit { at, sign, value }, row.restitution));
            }
        }
        let bound = mechanism.joints()[layout.links[link].joint.joint].friction[at.part];
        if bound > 0.0 {
            frictions.push(coordinate_item(link, at, Kind::Friction { at, bound }, 0.0));
        }
    }
    // What follows another joint has no row of its own, but its friction.
    for follower in mechanism.followers() {
        let Some((link, at)) = coordinate(follower.at.v) else { continue };
        let joint = &layout.links[link].joint;
        let bound = mechanism.joints()[joint.joint].friction[at.part];
        if bound > 0.0 {
            frictions.push(coordinate_item(link, at, Kind::Friction { at, bound }, 0.0));
        }
    }
    let mut tied = Vec::new();
    for (k, tie) in layout.ties.iter().enumerate() {
        let row = tie.row.map(|row| &mechanism.rows()[row]);
        let of = |kind| Item {
            kind,
            links: [None; 2],
            mu: 0.0,
            restitution: row.map_or(0.0, |row| row.restitution),
            rho: ties[k],
            reach: [0.0; 2],
            arm: if tie.is_angle(layout) { layout.length } else { 1.0 },
            flipped: false,
        };
        let mut add = |sign, value| {
            out.push(of(Kind::Tied { row: tied.len(), value }));
            tied.push(TiedRow::new(layout, k, sign));
        };
        let Some(row) = row else {
            add(1.0, None);
            continue;
        };
        for (sign, value) in [(1.0, row.lower), (-1.0, row.upper)] {
            if value.is_finite() {
                add(sign, Some(value));
            }
        }
    }
    out.extend(frictions);
    Inventory { items: out, places, clusters, tied }
}
