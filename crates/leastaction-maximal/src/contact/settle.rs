//! The node problem at the end of an interval: which contacts are closed there, and what an impact does. (9.17)

use super::super::ldu::{angular, linear, six};
use super::super::residual::closure_rows;
use super::super::start::{add_armature, carry_momentum};
use super::broad::Near;
use super::interval::impulse_scale;
use super::item::Kind;
use super::memory::{ContactMemory, link_at};
use super::node::Node;
use super::output::impulses_on_links;
use super::rows::{gap, node_rows, touch};
use super::solve::{Problem, Solved, newton, solve};
use super::state::ASIDE;
use super::step::Driver;
use super::tied::{gap_at, touch_at};
use crate::contact_law::{Against, Impacts, Law, Tip, Touch, frame_of};
use crate::spatial::Vec3;

impl Driver<'_> {
    /// The node problem at the end pose; returns how it ended and whether a contact is new. Rows in `prescribed` keep their direction.
    pub(super) fn settle(&mut self, _h: f64, prescribed: &[usize]) -> (Solved, bool) {
        let Self { ws, state, .. } = self;
        closure_rows(&ws.layout, &state.side, &state.poses, &mut ws.step.rows);
        let any_new = self.close(prescribed);
        let Self { ws, mem, state, .. } = self;
        // The interval's velocities as the first guess.
        let n = ws.layout.links.len();
        let range = state.history.range(0, 0, n);
        for i in 0..n {
            let w = &state.history.w[range.clone()][i];
            let ang = state.side.rot[i] * angular(w);
            mem.node.w[i] = six(ang, linear(w) + ang.cross(state.side.arm[i]));
        }
        for v in 0..mem.node.rate.len() {
            mem.node.rate[v] = ws.trial.dy[v] / ws.step.h;
        }
        mem.node.scale = impulse_scale(&state.momentum, mem);
        for i in 0..n {
            mem.node.momentum[i] = super::super::forces::about_point(&state.momentum[i], state.side.arm[i]);
        }
        mem.node.before.copy_from_slice(&state.contact.w);
        for k in mem.ended.drain(..) {
            mem.end_impulse[k] = [0.0; 3];
        }
        mem.ended.extend_from_slice(&mem.live);
        #[cfg(feature = "sabotage")]
        let any_new = any_new && !crate::sabotage::chosen(crate::sabotage::Fault::OneStage);
        let solved = if any_new {
            for &k in &mem.live {
                let probe = &mut mem.probes[k];
                probe.active &= !probe.was_open;
            }
            let stage = self.node();
            if !stage.converged {
                return (stage, any_new);
            }
            self.gather();
            self.impact()
        } else {
            self.node()
        };
        if !solved.converged {
            return (solved, any_new);
        }
        self.gather();
        self.take_node();
        (solved, any_new)
    }

    /// Solves the node problem with the active contacts from the guess at hand.
    fn node(&mut self) -> Solved {
        let Self { ws, mem, state, .. } = self;
        mem.smoothing = 0.0;
        mem.place(&ws.layout);
        if !mem.any_active() {
            let mut node = Node { ws, mem, state, whole: true, free: true };
            node.project();
            return Solved { converged: true, ..Solved::default() };
        }
        let mut solved = self.node_once();
        if solved.converged && self.soften() {
            solved = self.node_once();
            self.mem.harden();
            if solved.converged {
                solved = self.node_once();
            }
        }
        solved
    }

    fn node_once(&mut self) -> Solved {
        let Self { ws, mem, state, .. } = self;
        let mut node = Node { ws, mem, state, whole: false, free: false };
        if !node.first() {
            return Solved::default();
        }
        let merit = node.evaluate();
        let mut solved = newton(&mut node, merit, 7);
        if !solved.converged {
            let more = solve(&mut node);
            solved = Solved { iterations: solved.iterations + more.iterations, path: true, ..more };
        }
        solved.iterations += 1;
        self.report.iterations += solved.iterations;
        self.mem.counts.node_iterations += u64::from(solved.iterations);
        self.mem.counts.paths += u64::from(solved.path);
        self.report.retries += u32::from(solved.path);
        solved
    }

    /// The second stage at an impact: all closed contacts, no friction of joints, restitution. (9.17)
    fn impact(&mut self) -> Solved {
        let options = self.mem.options;
        let located = options.impacts == Impacts::Located;
        let Self { ws, mem, state, .. } = self;
        let n = ws.layout.links.len();
        // Energy that must not grow, and the velocities that approach is taken from.
        let reference = {
            let node = Node { ws, mem, state, whole: false, free: false };
            if located {
                node.kinetic(&node.mem.node.w, &node.mem.node.rate)
            } else {
                node.kinetic(&node.mem.node.before, &node.state.contact.rate)
            }
        };
        let mut bounces = false;
        for m in 0..mem.live.len() {
            let k = mem.live[m];
            let item = mem.items[k];
            let probe = &mut mem.probes[k];
            let new = probe.was_open;
            probe.active = !item.is_friction();
            probe.law.shift = 0.0;
            probe.law.direction = None;
            if new {
                probe.gam = [0.0; 3];
                if item.restitution > 0.0 {
                    let w = if located { &mem.node.w } else { &mem.node.before };
                    let rate = if located { &mem.node.rate } else { &state.contact.rate };
                    let approach = match item.kind {
                        Kind::Limit { at, sign, .. } => sign * rate[at.v],
                        Kind::Tied { row, .. } => mem.tied[row].rate(w),
                        _ => probe.rates(&item, w)[0],
                    };
                    if approach < -options.rest_speed / item.arm {
                        probe.law.shift = item.restitution * approach;
                        bounces = true;
                    }
                }
            } else {
                probe.gam = [0.0; 3];
            }
        }
        for i in 0..n {
            let (ang, lin) = (angular(&mem.node.w[i]), linear(&mem.node.w[i]));
            let arm = state.side.arm[i];
            let p = super::super::momentum_of(
                &ws.layout.links[i],
                &state.side.rot[i],
                &six(ang, lin - ang.cross(arm)),
            );
            state.momentum[i] = p;
        }
        let (w, rate) = (std::mem::take(&mut mem.node.w), std::mem::take(&mut mem.node.rate));
        add_armature(ws, state, &rate, &w);
        for i in 0..n {
            mem.node.momentum[i] = super::super::forces::about_point(&state.momentum[i], state.side.arm[i]);
        }
        (mem.node.w, mem.node.rate) = (w, rate);
        let mut solved = self.node();
        if !bounces {
            return solved;
        }
        for _ in 0..13 {
            if !solved.converged {
                return solved;
            }
            let Self { ws, mem, state, .. } = self;
            let node = Node { ws, mem, state, whole: false, free: false };
            let after = node.kinetic(&node.mem.node.w, &node.mem.node.rate);
            if after <= reference * (1.0 + 1e-12) {
                break;
            }
            self.mem.counts.scaled += 1;
            for &k in &self.mem.live {
                self.mem.probes[k].law.shift *= 0.5;
            }
            solved = self.node();
        }
        solved
    }

    /// Adds the impulses of the node problem to those at the end node.
    fn gather(&mut self) {
        for &k in &self.mem.live {
            if self.mem.probes[k].active {
                let gam = self.mem.probes[k].gam;
                self.mem.end_impulse[k].iter_mut().zip(gam).for_each(|(s, g)| *s += g);
            }
        }
        if let Some(slope) = self.slope.as_deref_mut() {
            slope.capture_contact_node(self.ws, self.mem, self.state, None);
        }
    }

    /// Node velocities and their momenta into the state.
    fn take_node(&mut self) {
        let Self { ws, mem, state, .. } = self;
        state.contact.w.copy_from_slice(&mem.node.w);
        state.contact.rate.copy_from_slice(&mem.node.rate);
        state.contact.wrench.copy_from_slice(&mem.node.wrench);
        state.contact.lam.copy_from_slice(&mem.node.lam);
        state.contact.end.clear();
        for &k in &mem.live {
            state.contact.end.set(k, mem.end_impulse[k]);
        }
        impulses_on_links(ws, mem, state, false);
        for m in 0..mem.live.len() {
            let k = mem.live[m];
            let frame = mem.probes[k].frame;
            mem.end_impulse[k] = mem.in_world(k, &frame, mem.end_impulse[k]);
        }
        carry_momentum(&ws.layout, &state.side, &mem.node.w, &mut state.momentum);
        add_armature(ws, state, &mem.node.rate, &mem.node.w);
    }

    /// At the very first node: velocities as given, but for contacts that approach.
    pub(super) fn first_node(&mut self) -> Solved {
        let Self { ws, mem, state, .. } = self;
        closure_rows(&ws.layout, &state.side, &state.poses, &mut ws.step.rows);
        let n = ws.layout.links.len();
        for i in 0..n {
            mem.node.momentum[i] = super::super::forces::about_point(&state.momentum[i], state.side.arm[i]);
        }
        mem.node.scale = impulse_scale(&state.momentum, mem);
        mem.rest();
        mem.place(&ws.layout);
        Node { ws, mem, state, whole: true, free: true }.project();
        state.contact.w.copy_from_slice(&mem.node.w);
        state.contact.rate.copy_from_slice(&mem.node.rate);
        mem.backup.save(state);
        self.set_aside();
        self.close(&[]);
        let Self { ws: _, mem, state, .. } = self;
        let mut approaches = false;
        for &k in &mem.live {
            let (item, probe) = (&mem.items[k], &mut mem.probes[k]);
            probe.active = !item.is_friction();
            let rate = match item.kind {
                Kind::Limit { at, sign, .. } => sign * state.contact.rate[at.v],
                Kind::Pair { .. } => probe.rates(item, &state.contact.w)[0],
                Kind::Tied { row, value: Some(_) } => mem.tied[row].rate(&state.contact.w),
                Kind::Friction { .. } | Kind::Tied { value: None, .. } => 0.0,
            };
            approaches |= rate * item.arm < -1e-12 * mem.options.speed;
        }
        if !approaches {
            return Solved { converged: true, ..Solved::default() };
        }
        let solved = self.node();
        if solved.converged {
            let Self { ws, mem, state, .. } = self;
            state.contact.w.copy_from_slice(&mem.node.w);
            state.contact.rate.copy_from_slice(&mem.node.rate);
            carry_momentum(&ws.layout, &state.side, &mem.node.w, &mut state.momentum);
            add_armature(ws, state, &mem.node.rate, &mem.node.w);
            let range = state.history.range(0, 0, ws.layout.links.len());
            for (i, target) in state.history.w[range].iter_mut().enumerate() {
                let (ang, lin) = (angular(&mem.node.w[i]), linear(&mem.node.w[i]));
                *target = six(state.side.rot[i].tr_mul(ang), lin - ang.cross(state.side.arm[i]));
            }
        }
        solved
    }
}

/// True if two edges cross beyond the ends of one: their lines meet there, the bodies do not.
fn beyond_its_edges(item: &super::item::Item, now: &Touch) -> bool {
    let Kind::Pair {
        tip: Tip::Edge { half, .. },
        center,
        against: Against::Edge { center: other, half: its, .. },
    } = item.kind
    else {
        return false;
    };
    let beyond = |core: Vec3, center: Vec3, half: Vec3| {
        (core - center).dot(half).abs() > (1.0 + BEYOND) * half.norm2()
    };
    beyond(now.core[0], center, half) || beyond(now.core[1], other, its)
}

/// How far beyond the end of an edge still counts as on it, of its half.
const BEYOND: f64 = 1e-6;

/// Bodies deeper inside each other at the start than this, of the size of the model, are set aside; ground and limits part slowly.
const INSIDE: f64 = 1e-6;

impl Driver<'_> {
    /// What is closed at the node that the state is at, ready for the node problem; true if one of them is new.
    fn close(&mut self, prescribed: &[usize]) -> bool {
        let Self { ws, mem, state, .. } = self;
        let closed_gap = mem.options.closed_gap;
        mem.rest();
        for k in mem.seen.drain(..) {
            mem.end_gap[k] = f64::INFINITY;
        }
        mem.end_poses.clear();
        mem.end_poses.extend_from_slice(&state.poses);
        for group in mem.groups.iter().filter(|group| !group.is_beyond(closed_gap, &state.poses)) {
            for k in group.items.clone() {
                let item = &mem.items[k];
                let gap = gap_at(item, &mut mem.tied, &mem.layout, state);
                mem.end_gap[k] = gap;
                mem.seen.push(k);
                if item.is_always() || gap <= closed_gap / item.arm {
                    mem.probes[k].end = touch_at(item, &mut mem.tied, &mem.layout, state);
                    mem.live.push(k);
                }
            }
        }
        mem.broad.find(&state.side, &state.poses, |_| closed_gap);
        if !mem.broad.found.is_empty() {
            // What was kept at the start of the part, to tell what is new.
            mem.backup.side.place(&ws.layout, &mem.backup.poses);
        }
        for m in 0..mem.broad.found.len() {
            match mem.broad.found[m] {
                Near::Item(k) => {
                    let now = touch(&mem.items[k], &state.side, &state.poses, &state.q);
                    mem.end_gap[k] = now.gap;
                    mem.seen.push(k);
                    if state.contact.muted[k] == 0.0 && now.gap <= closed_gap {
                        let before = gap(&mem.items[k], &mem.backup.side, &mem.backup.poses, &mem.backup.q);
                        mem.probes[k].was_open = before > closed_gap;
                        mem.probes[k].end = now;
                        mem.live.push(k);
                    }
                }
                Near::Cluster(c) => {
                    if state.contact.muted[mem.clusters[c].first] != 0.0 {
                        continue;
                    }
                    let ContactMemory { clusters, manifold, items, probes, .. } = &mut **mem;
                    let (cluster, closed) = (&clusters[c], closed_gap);
                    cluster.find(&state.side, &state.poses, closed, closed, false, manifold);
                    cluster.arrange(manifold.features(), true, items, probes, &mut state.contact);
                    for k in mem.clusters[c].places() {
                        if state.contact.feature[k] == 0.0 {
                            continue;
                        }
                        let item = &mem.items[k];
                        let now = touch(item, &state.side, &state.poses, &state.q);
                        mem.end_gap[k] = now.gap;
                        mem.seen.push(k);
                        if beyond_its_edges(item, &now) {
                            continue;
                        }
                        let before = gap(item, &mem.backup.side, &mem.backup.poses, &mem.backup.q);
                        mem.probes[k].was_open = before > closed_gap;
                        mem.probes[k].end = now;
                        mem.live.push(k);
                    }
                }
            }
        }
        mem.live.sort_unstable();
        let mut any_new = false;
        for m in 0..mem.live.len() {
            let k = mem.live[m];
            let (item, probe) = (&mem.items[k], &mut mem.probes[k]);
            probe.active = true;
            any_new |= probe.was_open;
            if let Kind::Pair { .. } = item.kind {
                probe.frame = frame_of(probe.end.normal);
                let mut rows = [[[0.0; 6]; 3]; 2];
                node_rows(item, &probe.end, &probe.frame, &state.side, &mut rows);
                probe.force_rows = rows;
            }
            if let Kind::Tied { row, .. } = item.kind {
                mem.tied[row].aim(&mem.layout, state);
            }
            if !prescribed.contains(&k) {
                probe.law = Law::new(item.mu, item.rho);
                probe.sign = None;
            }
            probe.gam = state.contact.end[k];
        }
        any_new
    }

    /// Pairs of bodies that start inside each other do not touch until they have parted; what else starts inside is counted.
    fn set_aside(&mut self) {
        let Self { mem, state, .. } = self;
        let deep = -INSIDE * mem.options.length;
        for k in mem.groups.iter().flat_map(|group| group.items.clone()) {
            let gap = gap_at(&mem.items[k], &mut mem.tied, &mem.layout, state);
            mem.counts.inside += u64::from(gap < deep);
        }
        mem.broad.find(&state.side, &state.poses, |_| 0.0);
        for m in 0..mem.broad.found.len() {
            let (k, gap) = match mem.broad.found[m] {
                Near::Item(k) => (k, gap(&mem.items[k], &state.side, &state.poses, &state.q)),
                Near::Cluster(c) => {
                    let (side, poses, cluster) = (&state.side, &state.poses, &mem.clusters[c]);
                    (
                        cluster.first,
                        cluster.separation(|link| link_at(side, poses, link), mem.options.closed_gap),
                    )
                }
            };
            if gap < deep {
                state.contact.muted.set(k, ASIDE);
                mem.counts.left_out += 1;
            }
        }
    }
}
