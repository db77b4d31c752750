//! [`Cluster`]: two shapes with edges and the places for the features they touch in.
//!
//! Features come and go from node to node; each keeps its place, and with it its impulses as a guess, as long as it stays.

use super::super::geometry::{LinkPose, Side};
use super::item::{Item, Kind};
use super::memory::{Probe, link_at};
use super::state::ContactState;
use crate::contact_law::{Axes, Feature, Link, Manifold, Solid};

/// Two shapes with edges.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    solids: [Solid; 2],
    pub(crate) links: [Option<usize>; 2],
    reach: [f64; 2],
    /// How far smooth bodies stand out of the hulls that they are taken for: facets that slide past each other leave less.
    pub(crate) sag: f64,
    /// First place among the items, and how many there are.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// What separates the two at the start of the interval.
    pub(crate) axes: Axes,
    /// The interval that `axes` belongs to.
    pub(crate) stamp: u64,
}

impl Cluster {
    pub(crate) fn new(solids: [Solid; 2], item: &Item, first: usize, count: usize) -> Self {
        let sag = solids.iter().map(Solid::sag).sum();
        Self {
            solids,
            links: item.links,
            reach: item.reach,
            sag,
            first,
            count,
            axes: Axes::default(),
            stamp: 0,
        }
    }

    /// Its places.
    pub(crate) fn places(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    /// Finds features within `reach` at a pose; with `since_start` in directions that separated the two at the start.
    pub(crate) fn find(
        &self,
        side: &Side,
        poses: &[LinkPose],
        reach: f64,
        closed: f64,
        since_start: bool,
        out: &mut Manifold,
    ) {
        let [a, b] = self.links.map(|link| link_at(side, poses, link));
        let before = since_start.then_some(&self.axes);
        out.find([&self.solids[0], &self.solids[1]], [&a, &b], reach, closed, before);
    }

    /// How far the two are apart along the direction that separates them best.
    pub(crate) fn separation(&self, at: impl Fn(Option<usize>) -> Link, closed: f64) -> f64 {
        let [a, b] = self.links.map(at);
        let [first, second] = &self.solids;
        Manifold::distance([first, second], [&a, &b], closed)
    }

    /// The item of a feature.
    fn item(&self, feature: &Feature, of: &Item) -> Item {
        let kind = Kind::Pair { tip: feature.tip, center: feature.center, against: feature.against };
        let (mut links, mut reach) = (self.links, self.reach);
        if feature.flipped {
            links.swap(0, 1);
            reach.swap(0, 1);
        }
        Item { kind, links, reach, flipped: feature.flipped, ..*of }
    }
}

impl Cluster {
    /// Gives features places, those they have if they have one. With `clear` all other places become free. False if there is no room.
    pub(crate) fn arrange(
        &self,
        features: &[Feature],
        clear: bool,
        items: &mut [Item],
        probes: &mut [Probe],
        state: &mut ContactState,
    ) -> bool {
        if clear {
            for k in self.places() {
                let number = state.feature[k];
                if number != 0.0 && !features.iter().any(|f| f64::from(f.id) == number) {
                    state.clear(k);
                    probes[k].active = false;
                }
            }
        }
        for feature in features {
            let mut places = self.places();
            let mine = places.clone().find(|k| state.feature[*k] == f64::from(feature.id));
            let Some(k) = mine.or_else(|| places.find(|k| state.feature[*k] == 0.0)) else { return false };
            if mine.is_none() {
                state.clear(k);
                state.feature.set(k, f64::from(feature.id));
                probes[k] = Probe::default();
            }
            items[k] = self.item(feature, &items[k]);
        }
        true
    }
}
