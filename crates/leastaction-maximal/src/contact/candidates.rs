//! Which contacts take part in an interval: those that touch or may touch at its start, and those that turn out to at its end. (9.15)

use super::super::ldu::{angular, linear};
use super::super::state::MaximalState;
use super::broad::Near;
use super::item::{Item, Kind};
use super::memory::{ContactMemory, link_at};
use super::rows::gap;
use super::step::Driver;
use super::tied::{TiedRow, gap_at, touch_at};
use crate::contact_law::{Against, Law, Sliding, Touch};
use crate::spatial::Vec3;
use leastaction_core::scalar::elementary;

/// Velocity of the point of a link that its shapes are placed from.
fn velocity_of(state: &MaximalState, link: usize) -> Vec3 {
    let w = &state.contact.w[link];
    linear(w) - angular(w).cross(state.side.arm[link])
}

/// Speed of the farthest point of a shape on a link, or of the world, against what moves at `reference`.
fn speed_of(state: &MaximalState, link: Option<usize>, reach: f64, reference: Vec3) -> f64 {
    let moves = |i| (velocity_of(state, i) - reference).norm() + angular(&state.contact.w[i]).norm() * reach;
    link.map_or_else(|| reference.norm(), moves)
}

/// Velocity that the links have in common: bodies that fall together are not on their way to each other.
fn common_velocity(state: &MaximalState) -> Vec3 {
    let links = state.contact.w.len();
    (0..links).fold(Vec3::zero(), |sum, i| sum + velocity_of(state, i)) * (1.0 / links.max(1) as f64)
}

impl ContactMemory {
    /// Looks at an item at the start of an interval of length `h`: its gap, and true if it may take part.
    fn look(&mut self, k: usize, state: &MaximalState, h: f64, gravity: f64, located: bool) -> (f64, bool) {
        self.remember_face(k, state);
        let item = &self.items[k];
        let gap = gap_at(item, &mut self.tied, &self.layout, state);
        let closed = gap <= self.options.closed_gap / item.arm;
        self.probes[k].was_open = !closed && !item.is_always();
        let mut near = || match item.kind {
            Kind::Friction { .. } | Kind::Tied { value: None, .. } => true,
            Kind::Tied { row, .. } => {
                self.tied[row].aim(&self.layout, state);
                let rate = self.tied[row].rate(&state.contact.w).abs();
                gap <= 2.0 * h * rate + h * h * gravity / item.arm
            }
            Kind::Limit { at, .. } => {
                gap <= 2.0 * h * state.contact.rate[at.v].abs() + h * h * gravity / item.arm
            }
            Kind::Pair { .. } => gap <= margin(item, state, h, gravity),
        };
        (gap, closed || item.is_always() || (!located && near()))
    }

    /// Takes an item in, at the start of an interval of length `h`: its rows, law and floor.
    fn take_in(&mut self, k: usize, state: &MaximalState, h: f64, guess: [f64; 3]) {
        let options = self.options;
        self.remember_face(k, state);
        let (item, probe) = (&self.items[k], &mut self.probes[k]);
        let now = touch_at(item, &mut self.tied, &self.layout, state);
        if let Kind::Tied { row, .. } = item.kind {
            self.tied[row].aim(&self.layout, state);
        }
        probe.start_at(item, now, &state.side);
        probe.law = Law::new(item.mu, item.rho);
        probe.sign = None;
        probe.floor = options.floor(now.gap, h, item.arm);
        probe.was_open = now.gap > options.closed_gap / item.arm && !item.is_always();
        match item.kind {
            Kind::Friction { bound, .. } => probe.bound = 0.5 * h * bound,
            Kind::Pair { .. }
                if options.sliding == Sliding::Symmetric && item.mu > 0.0 && !probe.was_open =>
            {
                let u = probe.rates(item, &state.contact.w);
                let size = elementary::hypot(u[1], u[2]);
                #[cfg(feature = "sabotage")]
                let size =
                    if crate::sabotage::chosen(crate::sabotage::Fault::LateDirection) { 0.0 } else { size };
                if size > options.slide_speed {
                    probe.law.direction = Some([u[1] / size, u[2] / size]);
                }
            }
            Kind::Pair { .. } | Kind::Limit { .. } | Kind::Tied { .. } => {}
        }
        (probe.active, probe.gam) = (true, guess);
        self.live.push(k);
    }

    /// A ball outside a box remembers the face it is above: should it end inside, that one counts.
    fn remember_face(&mut self, k: usize, state: &MaximalState) {
        let Item { kind: Kind::Pair { center, against, .. }, links, .. } = &mut self.items[k] else { return };
        let Against::Box { pose, half, entered } = against else { return };
        let [a, b] = links.map(|link| link_at(&state.side, &state.poses, link));
        let inner = pose.rot.tr_mul(b.rot.tr_mul(a.pos + a.rot * *center - b.pos) - pose.pos);
        let over = |i: usize| inner[i].abs() - half[i];
        let face = (0..3).fold(0, |m, i| if over(i) > over(m) { i } else { m });
        if over(face) > 0.0 || entered.is_none() {
            *entered = Some((face, if inner[face] < 0.0 { -1.0 } else { 1.0 }));
        }
    }
}

/// How far a contact may come in a step: twice the way at the speed of its links against each other, and what weight adds.
fn margin(item: &Item, state: &MaximalState, h: f64, gravity: f64) -> f64 {
    let [a, b] = item.links;
    let reference = b.map_or_else(Vec3::zero, |b| velocity_of(state, b));
    let of = |link, x: usize| speed_of(state, link, item.reach[x], reference);
    2.0 * h * (of(a, 0) + of(b, 1)) + h * h * gravity
}

impl Driver<'_> {
    /// The contacts at the start node: what takes part, rows of the forces, floors, directions of sliding.
    pub(super) fn open(&mut self, h: f64, located: bool) {
        let Self { ws, mem, state, .. } = self;
        let (closed, gravity) = (mem.options.closed_gap, ws.layout.gravity.norm());
        mem.rest();
        mem.stamp += 1;
        for g in 0..mem.groups.len() {
            let group = &mut mem.groups[g];
            let comes =
                |(i, reach)| 2.0 * h * speed_of(state, Some(i), reach, Vec3::zero()) + h * h * gravity;
            let margin = if located { closed } else { group.link().map_or(0.0, comes).max(closed) };
            if group.is_beyond(margin, &state.poses) {
                if !group.far {
                    group.far = true;
                    mem.probes[group.items.clone()].iter_mut().for_each(|probe| probe.was_open = true);
                }
                group.items.clone().for_each(|k| state.contact.release(k));
                continue;
            }
            group.far = false;
            for k in group.items.clone() {
                let (gap, near) = mem.look(k, state, h, gravity, located);
                if gap * mem.items[k].arm > -closed {
                    state.contact.release(k);
                }
                if near {
                    mem.take_in(k, state, h, state.contact.start[k]);
                }
            }
        }
        let reach = std::mem::take(&mut mem.link_reach);
        let common = common_velocity(state);
        let grow = |link: Option<usize>| {
            let weight = if link.is_some() { h * h * gravity } else { 0.0 };
            2.0 * h * speed_of(state, link, link.map_or(0.0, |i| reach[i]), common) + weight
        };
        mem.broad.find(&state.side, &state.poses, grow);
        mem.link_reach = reach;
        for m in 0..mem.broad.found.len() {
            match mem.broad.found[m] {
                Near::Item(k) => {
                    let (gap, near) = mem.look(k, state, h, gravity, located);
                    if !stays_muted(state, k, gap, closed) && near {
                        mem.take_in(k, state, h, state.contact.start[k]);
                    }
                }
                Near::Cluster(c) => {
                    let first = mem.clusters[c].first;
                    let reach = if located { closed } else { margin(&mem.items[first], state, h, gravity) };
                    let ContactMemory { clusters, manifold, items, probes, stamp, .. } = &mut **mem;
                    let cluster = &mut clusters[c];
                    cluster.find(&state.side, &state.poses, reach, closed, false, manifold);
                    (cluster.axes, cluster.stamp) = (manifold.axes, *stamp);
                    if stays_muted(state, first, manifold.gap(), closed) {
                        continue;
                    }
                    // More than there is room for does not happen at a pose; if it did, the end would tell.
                    cluster.arrange(manifold.features(), true, items, probes, &mut state.contact);
                    for k in mem.clusters[c].places() {
                        if state.contact.feature[k] != 0.0 {
                            mem.take_in(k, state, h, state.contact.start[k]);
                        }
                    }
                }
            }
        }
        mem.live.sort_unstable();
    }

    /// Every contact at the start node, however far: the relaxed step feels them all. Of two boxes or capsules, what a step
    /// would look at.
    pub(super) fn open_all(&mut self, h: f64) {
        self.open(h, false);
        let Self { mem, state, .. } = self;
        for k in 0..mem.items.len() {
            let in_cluster = mem.clusters.iter().any(|cluster| cluster.places().contains(&k));
            if !(mem.probes[k].active || in_cluster || state.contact.muted[k] != 0.0) {
                mem.take_in(k, state, h, [0.0; 3]);
            }
        }
        mem.live.sort_unstable();
        for &k in &mem.live {
            mem.probes[k].law.direction = None;
        }
    }

    /// Takes in contacts that were left out and end inside: whether there was one, none if there is no way to keep two shapes
    /// apart.
    pub(super) fn add_left_out(&mut self, h: f64) -> Option<bool> {
        let Self { ws, mem, state, .. } = self;
        let closed = mem.options.closed_gap;
        let before = mem.live.len();
        for g in 0..mem.groups.len() {
            if mem.groups[g].is_beyond(0.0, &ws.trial.poses) {
                continue;
            }
            for k in mem.groups[g].items.clone() {
                if !mem.probes[k].active
                    && end_gap(&mem.items[k], &mut mem.tied, ws, state) < -closed / mem.items[k].arm
                {
                    mem.take_in(k, state, h, [0.0; 3]);
                }
            }
        }
        mem.broad.find(&ws.trial.side, &ws.trial.poses, |_| closed);
        for m in 0..mem.broad.found.len() {
            match mem.broad.found[m] {
                Near::Item(k) => {
                    if state.contact.muted[k] != 0.0 || mem.probes[k].active {
                        continue;
                    }
                    let start = gap(&mem.items[k], &state.side, &state.poses, &state.q);
                    let least = (start + h * mem.options.recovery_speed).min(0.0) - closed;
                    if end_gap(&mem.items[k], &mut mem.tied, ws, state) < least {
                        mem.take_in(k, state, h, [0.0; 3]);
                    }
                }
                Near::Cluster(c) => {
                    if state.contact.muted[mem.clusters[c].first] != 0.0 {
                        continue;
                    }
                    mem.separate_at_start(c, state);
                    let start = mem.clusters[c].axes.gap();
                    let least = (start + h * mem.options.recovery_speed).min(0.0) - closed;
                    let (side, poses) = (&ws.trial.side, &ws.trial.poses);
                    mem.clusters[c].find(side, poses, 0.0, closed, true, &mut mem.manifold);
                    if mem.manifold.gap() >= least {
                        continue;
                    }
                    let mut any = false;
                    for f in 0..mem.manifold.features().len() {
                        let ContactMemory { clusters, manifold, items, probes, .. } = &mut **mem;
                        let (cluster, feature) = (&clusters[c], &manifold.features()[f]);
                        if feature.gap >= least {
                            continue;
                        }
                        let place = |state: &MaximalState| {
                            let number = f64::from(feature.id);
                            cluster.places().find(|k| state.contact.feature[*k] == number)
                        };
                        if place(state).is_some_and(|k| probes[k].active) {
                            continue;
                        }
                        let alone = std::slice::from_ref(feature);
                        if !cluster.arrange(alone, false, items, probes, &mut state.contact) {
                            return None;
                        }
                        if let Some(k) = place(state) {
                            mem.take_in(k, state, h, [0.0; 3]);
                            any = true;
                        }
                    }
                    // What small facets of smooth bodies leave when they slide past each other is not the bodies'.
                    if !any && start >= -closed && mem.manifold.gap() < least - mem.clusters[c].sag {
                        return None;
                    }
                }
            }
        }
        mem.live.sort_unstable();
        Some(mem.live.len() > before)
    }

    /// Lowest gap at the end of the interval of the contacts that were open at its start.
    pub(super) fn lowest_open(&mut self) -> f64 {
        let Self { ws, mem, state, .. } = self;
        let closed = mem.options.closed_gap;
        let mut lowest = f64::INFINITY;
        for k in mem.groups.iter().flat_map(|group| group.items.clone()) {
            if mem.probes[k].was_open {
                lowest = lowest.min(mem.items[k].arm * end_gap(&mem.items[k], &mut mem.tied, ws, state));
            }
        }
        let near = 1e-3 * mem.options.length;
        mem.broad.find(&ws.trial.side, &ws.trial.poses, |_| near);
        for m in 0..mem.broad.found.len() {
            match mem.broad.found[m] {
                Near::Item(k) => {
                    let start = gap(&mem.items[k], &state.side, &state.poses, &state.q);
                    if state.contact.muted[k] == 0.0 && start > closed {
                        lowest = lowest.min(end_gap(&mem.items[k], &mut mem.tied, ws, state));
                    }
                }
                Near::Cluster(c) => {
                    if state.contact.muted[mem.clusters[c].first] != 0.0 {
                        continue;
                    }
                    mem.separate_at_start(c, state);
                    let ContactMemory { clusters, manifold, .. } = &mut **mem;
                    let cluster = &clusters[c];
                    cluster.find(&ws.trial.side, &ws.trial.poses, near, closed, true, manifold);
                    if cluster.axes.gap() > closed {
                        lowest = lowest.min(manifold.gap());
                        continue;
                    }
                    for feature in manifold.features() {
                        let links = if feature.flipped { [1, 0] } else { [0, 1] };
                        let [a, b] = links.map(|x| link_at(&state.side, &state.poses, cluster.links[x]));
                        let at = Touch::new(&feature.tip, feature.center, &feature.against, &a, &b);
                        if at.gap > closed {
                            lowest = lowest.min(feature.gap);
                        }
                    }
                }
            }
        }
        lowest
    }
}

impl ContactMemory {
    /// What separates a pair that was not near at the start.
    fn separate_at_start(&mut self, c: usize, state: &MaximalState) {
        if self.clusters[c].stamp != self.stamp {
            let closed = self.options.closed_gap;
            let (cluster, far) = (&mut self.clusters[c], f64::NEG_INFINITY);
            cluster.find(&state.side, &state.poses, far, closed, false, &mut self.manifold);
            (cluster.axes, cluster.stamp) = (self.manifold.axes, self.stamp);
        }
    }

    /// Nothing takes part.
    pub(crate) fn rest(&mut self) {
        for k in self.live.drain(..) {
            self.probes[k].active = false;
        }
    }
}

/// Gap of an item at the end of the interval that was evaluated last.
fn end_gap(
    item: &Item,
    tied: &mut [TiedRow],
    ws: &super::super::workspace::MaximalWorkspace,
    state: &MaximalState,
) -> f64 {
    match item.kind {
        Kind::Pair { .. } => gap(item, &ws.trial.side, &ws.trial.poses, &state.q),
        Kind::Limit { at, sign, value } => sign * (state.q[at.q] + ws.trial.dy[at.v] - value),
        Kind::Friction { .. } | Kind::Tied { value: None, .. } => f64::INFINITY,
        Kind::Tied { row, value: Some(value) } => {
            tied[row].gap_after(value, &ws.layout, state, &ws.trial.side, ws.step.h)
        }
    }
}

/// Bodies that started inside each other do not touch until they have parted.
pub(super) fn stays_muted(state: &mut MaximalState, k: usize, gap: f64, closed: f64) -> bool {
    if state.contact.muted[k] != 0.0 && gap > closed {
        state.contact.muted.set(k, 0.0);
    }
    state.contact.muted[k] != 0.0
}
