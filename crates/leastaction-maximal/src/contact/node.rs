//! The node problem: velocities at a pose from momenta, with joints and closed contacts. (9.11)
//!
//! The matrix is that of the read-out (3.27) with the contacts' blocks. The first iteration solves for the velocities themselves, so
//! that they keep the joints to rounding; the later ones for their changes, so that what the contacts' large stiffness rounds off
//! vanishes with the change.

use super::super::constraint::coordinate_row;
use super::super::forces::about_point;
use super::super::layout::{ClosureKind, Layout};
use super::super::ldu::{Six, add_wrench, angular, dot, linear, six};
use super::super::momentum_of;
use super::super::read_out::assemble_node_at;
use super::super::state::MaximalState;
use super::super::workspace::MaximalWorkspace;
use super::interval::{add_pair, drop_free_parts, largest_speed, law_squares};
use super::item::Kind;
use super::memory::ContactMemory;
use super::solve::Problem;
use leastaction_core::simd::{Task, run_widest};

/// The problem with everything it works on. The closures' rows of the workspace are those of the pose.
pub(crate) struct Node<'a> {
    pub(crate) ws: &'a mut MaximalWorkspace,
    pub(crate) mem: &'a mut ContactMemory,
    pub(crate) state: &'a MaximalState,
    /// Solve for the velocities, not for their change.
    pub(crate) whole: bool,
    /// Without contacts.
    pub(crate) free: bool,
}

/// Momentum about the joint point of a link that moves with `[Ω; v]` there.
#[inline(always)]
fn momentum_at_point(layout: &Layout, state: &MaximalState, i: usize, w: &Six) -> Six {
    let (ang, lin, arm) = (angular(w), linear(w), state.side.arm[i]);
    let p = momentum_of(&layout.links[i], &state.side.rot[i], &six(ang, lin - ang.cross(arm)));
    about_point(&p, arm)
}

impl Node<'_> {
    /// Velocities of the contacts.
    #[inline(always)]
    fn measure(&mut self) {
        let ContactMemory { items, probes, tied, live, node, smoothing, .. } = &mut *self.mem;
        for &k in live.iter() {
            let (item, probe) = (&items[k], &mut probes[k]);
            if !probe.active {
                continue;
            }
            probe.u = match item.kind {
                Kind::Pair { .. } => probe.rates(item, &node.w),
                Kind::Limit { at, sign, .. } => [sign * node.rate[at.v], 0.0, 0.0],
                Kind::Friction { at, .. } => [node.rate[at.v], 0.0, 0.0],
                Kind::Tied { row, .. } => [tied[row].rate(&node.w), 0.0, 0.0],
            };
            probe.judge(item, *smoothing);
        }
    }

    /// The equations without contacts: matrix and right-hand side, momenta with the impulses at hand not yet taken in.
    #[inline(always)]
    fn assemble_bare(&mut self) {
        let Self { ws, mem, state, whole, .. } = self;
        // The assembly of the read-out, into the solver that has the contacts' closures.
        let swap = |ws: &mut MaximalWorkspace, mem: &mut ContactMemory| {
            std::mem::swap(&mut ws.ldu, &mut mem.ldu);
            std::mem::swap(&mut ws.system, &mut mem.system);
            std::mem::swap(&mut ws.graph, &mut mem.graph);
        };
        swap(ws, mem);
        assemble_node_at(ws, &state.side, Some(&state.inertia));
        swap(ws, mem);
        let ContactMemory { layout, ldu, system, node, .. } = &mut **mem;
        let base = ws.layout.closures.len();
        if base == 0 && !layout.closures.is_empty() {
            ldu.clear();
        }
        for c in base..layout.closures.len() {
            system.closure[c] = [0.0; 6];
            ldu.size[c] = [1.0; 6];
            for r in 0..6 {
                ldu.cc[c][r][r] = 1.0;
            }
        }
        if !*whole {
            // Armature on loop joints: `G (W + δ) + λ/a = 0` for the change δ and the new multiplier.
            for (c, closure) in ws.layout.closures.iter().enumerate() {
                if let ClosureKind::Coordinates = closure.kind {
                    for r in 0..closure.rows {
                        let row = &ws.step.rows[c][r];
                        let part = |link: Option<usize>, ang: crate::spatial::Vec3| {
                            link.map_or(0.0, |i| {
                                ang.dot(angular(&node.w[i])) + row.lin.dot(linear(&node.w[i]))
                            })
                        };
                        let joint = &ws.layout.loops[closure.index];
                        if r < joint.kind.nv() && joint.rows.armature[r] > 0.0 {
                            system.closure[c][r] = part(closure.a, row.ang_a) - part(closure.b, row.ang_b);
                        }
                    }
                }
            }
        }
        for (i, link) in ws.layout.links.iter().enumerate() {
            let p = node.momentum[i];
            system.body[i] = if *whole {
                p
            } else {
                let mw = momentum_at_point(&ws.layout, state, i, &node.w[i]);
                std::array::from_fn(|k| p[k] - mw[k])
            };
            for c in 0..link.joint.kind.nv() {
                let at = link.v + c;
                system.force[at] = if *whole { 0.0 } else { -link.joint.rows.armature[c] * node.rate[at] };
            }
        }
    }

    /// Merit at the iterate.
    #[inline(always)]
    fn merit(&mut self) -> f64 {
        self.measure();
        let (layout, state, step) = (&self.ws.layout, self.state, &self.ws.step);
        let squares = law_squares(self.mem);
        let node = &mut self.mem.node;
        for i in 0..layout.links.len() {
            let (mw, p, c) =
                (momentum_at_point(layout, state, i, &node.w[i]), node.momentum[i], node.wrench[i]);
            node.residual[i] = std::array::from_fn(|k| mw[k] - p[k] - c[k]);
        }
        for (i, link) in layout.links.iter().enumerate() {
            if let Some(parent) = link.parent {
                add_wrench(&mut node.residual[parent], &node.wrench[i], state.side.lever[i]);
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            for r in 0..closure.rows {
                let (row, lam) = (&step.rows[c][r], node.lam[c][r]);
                for (link, ang, s) in [(closure.b, row.ang_b, -lam), (closure.a, row.ang_a, lam)] {
                    if let Some(i) = link {
                        for k in 0..3 {
                            node.residual[i][k] += ang[k] * s;
                            node.residual[i][3 + k] += row.lin[k] * s;
                        }
                    }
                }
            }
        }
        let mut rows = 0.0;
        node.force.fill(0.0);
        for &k in &self.mem.live {
            let (item, probe) = (&self.mem.items[k], &self.mem.probes[k]);
            if !probe.active {
                continue;
            }
            match item.kind {
                Kind::Pair { .. } => {
                    for x in 0..2 {
                        if let Some(i) = item.links[x] {
                            probe.add_impulse(x, &probe.gam, -1.0, &mut node.residual[i]);
                        }
                    }
                }
                Kind::Limit { at, sign, .. } => node.force[at.v] += sign * probe.gam[0],
                Kind::Friction { at, .. } => node.force[at.v] += probe.gam[0],
                Kind::Tied { row, .. } => self.mem.tied[row].push(-probe.gam[0], &mut node.residual),
            }
        }
        let length = self.mem.options.length;
        for (i, link) in layout.links.iter().enumerate().filter(|(_, link)| link.joint.rows.has_rows) {
            for c in 0..link.joint.kind.nv() {
                let row = coordinate_row(link.joint.kind, &state.side.joints[i], c);
                let along = dot(&six(row.ang_b, row.lin), &node.wrench[i]);
                let at = link.v + c;
                let r = along + link.joint.rows.armature[c] * node.rate[at] - node.force[at];
                rows += r * r / (length * length);
            }
        }
        for r in &node.residual {
            for k in 0..3 {
                rows += r[k] * r[k] / (length * length) + r[3 + k] * r[3 + k];
            }
        }
        let rows = rows / (node.scale * node.scale);
        self.mem.unbalanced = rows.sqrt();
        let merit = (rows + squares).sqrt();
        if merit.is_finite() { merit } else { f64::INFINITY }
    }

    /// The equations with contacts.
    #[inline(always)]
    fn assemble(&mut self) {
        self.assemble_bare();
        let Self { mem, whole, free, .. } = self;
        let ContactMemory { items, probes, tied, live, graph, ldu, system, smoothing, .. } = &mut **mem;
        for &k in live.iter() {
            let (item, probe) = (&items[k], &mut probes[k]);
            if !probe.active || *free {
                continue;
            }
            match item.kind {
                Kind::Pair { .. } => {
                    probe.rate_rows = probe.force_rows;
                    add_pair(item, probe, *smoothing, graph, ldu, system);
                    for x in 0..2 {
                        if let Some(i) = item.links[x] {
                            probe.add_impulse(x, &probe.gam, 1.0, &mut system.body[i]);
                        }
                    }
                    if *whole {
                        shift_to_zero(item, probe, *smoothing, system);
                    }
                }
                Kind::Limit { at, .. } | Kind::Friction { at, .. } => {
                    let sign = if let Kind::Limit { sign, .. } = item.kind { sign } else { 1.0 };
                    probe.eliminate(item, *smoothing);
                    if *whole {
                        probe.offset[0] -= probe.stiffness[0][0] * probe.u[0];
                    }
                    ldu.stiffness[at.v][at.part] += probe.stiffness[0][0];
                    system.force[at.v] += sign * (probe.gam[0] - probe.offset[0]);
                }
                Kind::Tied { row, .. } => tied[row].push(probe.gam[0], &mut system.body),
            }
        }
    }

    /// Kinetic energy of the velocities, with armature.
    pub(crate) fn kinetic(&self, w: &[Six], rate: &[f64]) -> f64 {
        let layout = &self.ws.layout;
        let mut sum = 0.0;
        for (i, link) in layout.links.iter().enumerate() {
            sum += 0.5 * dot(&momentum_at_point(layout, self.state, i, &w[i]), &w[i]);
            for c in 0..link.joint.kind.nv() {
                let a = link.joint.rows.armature[c];
                if a != 0.0 {
                    sum += 0.5 * a * rate[link.v + c] * rate[link.v + c];
                }
            }
        }
        sum
    }

    /// Velocities from momenta without contacts, into the node's memory.
    pub(crate) fn project(&mut self) {
        (self.whole, self.free) = (true, true);
        self.mem.node.w.fill([0.0; 6]);
        self.mem.node.rate.fill(0.0);
        if self.direction() {
            self.keep();
            self.take(1.0);
        }
        (self.whole, self.free) = (false, false);
    }

    /// The first iteration: velocities themselves, with the law taken at a guess of them.
    pub(crate) fn first(&mut self) -> bool {
        self.measure();
        (self.whole, self.free) = (true, false);
        let done = self.direction();
        if done {
            self.mem.node.w.fill([0.0; 6]);
            self.mem.node.rate.fill(0.0);
            self.keep();
            self.take(1.0);
        }
        self.whole = false;
        done
    }
}

/// [`Node::merit`] and [`Node::assemble`], compiled for the widest vectors.
struct Evaluate<'b, 'a>(&'b mut Node<'a>);
impl Task for Evaluate<'_, '_> {
    type Output = f64;
    #[inline(always)]
    fn run(self) -> f64 {
        self.0.merit()
    }
}
struct Assemble<'b, 'a>(&'b mut Node<'a>);
impl Task for Assemble<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.0.assemble();
    }
}

impl Problem for Node<'_> {
    fn memory(&mut self) -> &mut ContactMemory {
        self.mem
    }

    fn rounding(&self) -> f64 {
        // Velocities are sums over the levers of the chain.
        16.0 * f64::EPSILON
    }

    fn evaluate(&mut self) -> f64 {
        run_widest(Evaluate(self))
    }

    fn direction(&mut self) -> bool {
        run_widest(Assemble(self));
        let Self { mem, state, whole, free, .. } = self;
        let ContactMemory { layout, graph, ldu, system, reduced, .. } = &mut **mem;
        ldu.factor(layout, graph, &state.side, &state.side);
        reduced.spend_iteration(graph, layout.links.len());
        ldu.solve(layout, graph, &state.side, &state.side, system);
        let tied = *free || mem.tie(&state.side, &state.side, *whole);
        tied && mem.system.body.iter().flatten().all(|x| x.is_finite()) && (*free || mem.propose())
    }

    fn bare(&mut self) {
        self.assemble_bare();
        let Self { mem, state, .. } = self;
        let ContactMemory { items, probes, tied, live, layout, graph, ldu, system, bare, reduced, .. } =
            &mut **mem;
        for &k in live.iter() {
            let (item, probe) = (&items[k], &mut probes[k]);
            if !probe.active {
                continue;
            }
            match item.kind {
                Kind::Pair { .. } => {
                    probe.rate_rows = probe.force_rows;
                    for x in 0..2 {
                        if let Some(i) = item.links[x] {
                            probe.add_impulse(x, &probe.gam, 1.0, &mut system.body[i]);
                        }
                    }
                }
                Kind::Limit { at, sign, .. } => system.force[at.v] += sign * probe.gam[0],
                Kind::Friction { at, .. } => system.force[at.v] += probe.gam[0],
                Kind::Tied { row, .. } => tied[row].push(probe.gam[0], &mut system.body),
            }
        }
        bare.clone_from(system);
        ldu.factor(layout, graph, &state.side, &state.side);
        reduced.spend_iteration(graph, layout.links.len());
    }

    fn push(&mut self, k: usize, row: usize) {
        let Self { mem, state, .. } = self;
        mem.push_alone(k, row);
        let ContactMemory { layout, graph, ldu, system, reduced, .. } = &mut **mem;
        ldu.solve(layout, graph, &state.side, &state.side, system);
        reduced.spend_solve(graph);
    }

    fn follow(&mut self) -> bool {
        let Self { mem, state, .. } = self;
        mem.push_changes();
        let ContactMemory { layout, graph, ldu, system, .. } = &mut **mem;
        ldu.solve(layout, graph, &state.side, &state.side, system);
        system.body.iter().flatten().all(|x| x.is_finite())
    }

    fn keep(&mut self) {
        let node = &mut self.mem.node;
        node.w_base.copy_from_slice(&node.w);
        node.rate_base.copy_from_slice(&node.rate);
        node.wrench_base.copy_from_slice(&node.wrench);
        node.lam_base.copy_from_slice(&node.lam);
        self.mem.keep_impulses();
    }

    fn take(&mut self, length: f64) {
        let ContactMemory { node, system, .. } = &mut *self.mem;
        let towards = |from: f64, to: f64| if length == 1.0 { to } else { from + length * (to - from) };
        for i in 0..node.w.len() {
            for k in 0..6 {
                node.w[i][k] = node.w_base[i][k] + length * system.body[i][k];
                node.wrench[i][k] = towards(node.wrench_base[i][k], system.wrench[i][k]);
            }
        }
        drop_free_parts(&self.ws.layout, &self.state.side, &mut node.wrench);
        for (at, rate) in node.rate.iter_mut().enumerate() {
            *rate = node.rate_base[at] + length * system.rate[at];
        }
        for c in 0..node.lam.len() {
            for k in 0..6 {
                node.lam[c][k] = towards(node.lam_base[c][k], system.closure[c][k]);
            }
        }
        if !self.free {
            self.mem.move_impulses(length);
        }
    }

    fn largest_speed(&self) -> f64 {
        largest_speed(self.mem)
    }

    fn restart(&mut self) {
        self.project();
    }
}

/// The law was taken at a guess, the unknowns start at zero: moves the slopes' part of the guess to the right-hand side.
fn shift_to_zero(
    item: &super::item::Item,
    probe: &mut super::memory::Probe,
    smoothing: f64,
    system: &mut super::super::ldu::System,
) {
    if let Some((c, first)) = probe.place {
        let (a, _, _) = probe.closure_rows(item, smoothing);
        for k in 0..3 {
            system.closure[c][first + k] += (0..3).map(|n| a[k][n] * probe.u[n]).sum::<f64>();
        }
        return;
    }
    let mut moved = [0.0; 3];
    for k in 0..3 {
        moved[k] = (0..3).map(|n| probe.stiffness[k][n] * probe.u[n]).sum();
        probe.offset[k] -= moved[k];
    }
    for x in 0..2 {
        if let Some(i) = item.links[x] {
            probe.add_impulse(x, &moved, 1.0, &mut system.body[i]);
        }
    }
}
