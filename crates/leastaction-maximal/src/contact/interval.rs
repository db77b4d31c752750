//! The interval problem: momenta, joints and contacts between two nodes. (9.10)

use super::super::constraint::coordinate_row;
use super::super::coordinate::is_angle;
use super::super::forces::about_point;
use super::super::geometry::Side;
use super::super::layout::Layout;
use super::super::ldu::{Six, angular, dot, linear, six};
use super::super::residual::{assemble, evaluate};
use super::super::rotation_map::RotationMap;
use super::super::state::MaximalState;
use super::super::workspace::MaximalWorkspace;
use super::item::Kind;
use super::memory::ContactMemory;
use super::rows::Between;
use super::solve::Problem;
use crate::mechanism::JointType;
use leastaction_core::simd::{Task, run_widest};

/// The problem with everything it works on.
pub(crate) struct Interval<'a> {
    pub(crate) ws: &'a mut MaximalWorkspace,
    pub(crate) mem: &'a mut ContactMemory,
    pub(crate) state: &'a MaximalState,
    pub(crate) map: RotationMap,
}

impl Interval<'_> {
    /// Incoming momenta and coordinate rows with the contact impulses at hand.
    #[inline(always)]
    fn load(&mut self) {
        let Self { ws, mem, .. } = self;
        ws.step.incoming_point.copy_from_slice(&mem.incoming);
        for (law, known) in ws.step.law.iter_mut().zip(&mem.known) {
            law.f0 = *known;
        }
        for (item, probe) in mem.taking_part() {
            match item.kind {
                Kind::Pair { .. } => {
                    for x in 0..2 {
                        if let Some(i) = item.links[x] {
                            probe.add_impulse(x, &probe.gam, 1.0, &mut ws.step.incoming_point[i]);
                        }
                    }
                }
                Kind::Limit { at, sign, .. } => ws.step.law[at.v].f0 += sign * probe.gam[0],
                Kind::Friction { at, .. } => ws.step.law[at.v].f0 += probe.gam[0],
                Kind::Tied { row, .. } => mem.tied[row].push(probe.gam[0], &mut ws.step.incoming_point),
            }
        }
    }

    /// Velocities of the active contacts at the evaluated iterate.
    #[inline(always)]
    fn measure(&mut self) {
        let Self { ws, mem, state, map } = self;
        let between = Between {
            map: *map,
            h: ws.step.h,
            start: &state.side,
            end: &ws.trial.side,
            poses: &ws.trial.poses,
            w: &ws.iterate.w,
        };
        for &k in &mem.live {
            let (item, probe) = (&mem.items[k], &mut mem.probes[k]);
            if !probe.active {
                continue;
            }
            match item.kind {
                Kind::Pair { .. } => between.measure(item, probe),
                Kind::Limit { at, sign, value } => {
                    probe.end.gap = sign * (state.q[at.q] + ws.trial.dy[at.v] - value);
                    probe.u = [(probe.end.gap - probe.floor) / ws.step.h, 0.0, 0.0];
                }
                Kind::Friction { at, .. } => probe.u = [ws.trial.dy[at.v] / ws.step.h, 0.0, 0.0],
                Kind::Tied { row, value } => {
                    let row = &mut mem.tied[row];
                    probe.measure_tied(value, row, &ws.layout, state, &ws.trial.side, ws.step.h);
                }
            }
            probe.judge(item, mem.smoothing);
        }
    }

    /// Impulses of the contacts as part of the momenta, once solved; coordinate rows as they were without contact.
    pub(crate) fn finish(&mut self) {
        let Self { ws, mem, state, .. } = self;
        for (law, known) in ws.step.law.iter_mut().zip(&mem.known) {
            law.f0 = *known;
        }
        for (item, probe) in mem.taking_part() {
            let mut add = |i: usize, impulse: &Six| {
                let turn = angular(impulse) + state.side.arm[i].cross(linear(impulse));
                for k in 0..3 {
                    ws.step.incoming[i][k] += turn[k];
                    ws.step.incoming[i][3 + k] += impulse[3 + k];
                }
            };
            match item.kind {
                Kind::Pair { .. } => {
                    for x in 0..2 {
                        if let Some(i) = item.links[x] {
                            let mut impulse = [0.0; 6];
                            probe.add_impulse(x, &probe.gam, 1.0, &mut impulse);
                            add(i, &impulse);
                        }
                    }
                }
                Kind::Tied { row, .. } => mem.tied[row].on_links(probe.gam[0], add),
                Kind::Limit { .. } | Kind::Friction { .. } => {}
            }
        }
    }

    /// The equations without contacts: matrix and right-hand side.
    #[inline(always)]
    fn assemble_bare(&mut self) {
        let Self { ws, mem, state, map } = self;
        let ContactMemory { layout, graph, ldu, system, .. } = &mut **mem;
        let base = ws.layout.closures.len();
        if base == 0 && !layout.closures.is_empty() {
            ldu.clear();
        }
        assemble(
            true,
            *map,
            &ws.layout,
            &graph.ends,
            state,
            &ws.step,
            &ws.iterate,
            &mut ws.trial,
            ldu,
            system,
        );
        for c in base..layout.closures.len() {
            system.closure[c] = [0.0; 6];
            for r in 0..6 {
                ldu.cc[c][r][r] = 1.0;
            }
        }
    }

    /// Merit at the iterate.
    #[inline(always)]
    fn merit(&mut self) -> f64 {
        self.load();
        let Self { ws, state, map, .. } = self;
        let fits = evaluate(*map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial);
        if !fits {
            self.mem.unbalanced = f64::INFINITY;
            return f64::INFINITY;
        }
        self.mem.unbalanced = ws.trial.merit;
        self.measure();
        let merit = (self.mem.unbalanced.powi(2) + law_squares(self.mem)).sqrt();
        if merit.is_finite() { merit } else { f64::INFINITY }
    }

    /// The equations with contacts.
    #[inline(always)]
    fn assemble(&mut self) {
        self.assemble_bare();
        let Self { ws, mem, state, map } = self;
        let ContactMemory { items, probes, live, graph, ldu, system, smoothing, .. } = &mut **mem;
        let between = Between {
            map: *map,
            h: ws.step.h,
            start: &state.side,
            end: &ws.trial.side,
            poses: &ws.trial.poses,
            w: &ws.iterate.w,
        };
        for &k in live.iter() {
            let (item, probe) = (&items[k], &mut probes[k]);
            if !probe.active {
                continue;
            }
            match item.kind {
                Kind::Pair { .. } => {
                    between.slopes(item, probe);
                    add_pair(item, probe, *smoothing, graph, ldu, system);
                }
                Kind::Limit { at, sign, .. } => {
                    probe.eliminate(item, *smoothing);
                    ldu.stiffness[at.v][at.part] += probe.stiffness[0][0];
                    system.force[at.v] -= sign * probe.offset[0];
                }
                Kind::Friction { at, .. } => {
                    probe.eliminate(item, *smoothing);
                    ldu.stiffness[at.v][at.part] += probe.stiffness[0][0];
                    system.force[at.v] -= probe.offset[0];
                }
                // Beside the factored matrix.
                Kind::Tied { .. } => {}
            }
        }
    }

    /// Changes of the interval velocities from the solution; false if one is not finite.
    fn change_velocities(&mut self) -> bool {
        let Self { ws, mem, map, .. } = self;
        let ContactMemory { system, change, .. } = &mut **mem;
        let h = ws.step.h;
        for (i, change) in change.iter_mut().enumerate() {
            let (ang, lin) = (angular(&system.body[i]), linear(&system.body[i]));
            let phi = angular(&ws.iterate.w[i]) * (0.5 * h);
            let omega = map.rate_of(phi, ws.trial.side.rot[i].tr_mul(ang));
            let v = lin - ang.cross(ws.trial.side.arm[i]);
            *change = [omega[0], omega[1], omega[2], v[0], v[1], v[2]];
            if change.iter().any(|x| !x.is_finite()) {
                return false;
            }
        }
        true
    }

    /// Takes the momenta at the start as they come without contact.
    pub(crate) fn begin(&mut self) {
        let Self { ws, mem, state, .. } = self;
        for i in 0..ws.layout.links.len() {
            mem.incoming[i] = about_point(&ws.step.incoming[i], state.side.arm[i]);
        }
        for (known, law) in mem.known.iter_mut().zip(&ws.step.law) {
            *known = law.f0;
        }
        ws.step.scales.length = mem.options.length;
        ws.step.scales.speed = mem.options.speed;
        ws.step.scales.impulse = impulse_scale(&ws.step.incoming, mem);
    }
}

/// [`Interval::merit`] and [`Interval::assemble`], compiled for the widest vectors.
struct Evaluate<'b, 'a>(&'b mut Interval<'a>);
impl Task for Evaluate<'_, '_> {
    type Output = f64;
    #[inline(always)]
    fn run(self) -> f64 {
        self.0.merit()
    }
}
struct Assemble<'b, 'a>(&'b mut Interval<'a>);
impl Task for Assemble<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.0.assemble();
    }
}

/// Largest momentum of a link, and a thousandth of what the heaviest has at the speed of the model.
pub(crate) fn impulse_scale(momenta: &[Six], mem: &ContactMemory) -> f64 {
    let mut largest = 0.0f64;
    for p in momenta {
        for k in 0..3 {
            largest = largest.max(p[k].abs() / mem.options.length).max(p[3 + k].abs());
        }
    }
    largest + 1e-3 * mem.options.mass * mem.options.speed
}

/// Sum of the squares of the law's residuals, as speeds of the model.
#[inline]
pub(crate) fn law_squares(mem: &ContactMemory) -> f64 {
    let mut sum = 0.0;
    for (item, probe) in mem.taking_part() {
        let scale = item.arm / (item.rho * mem.options.speed);
        sum += probe.residual.iter().map(|r| (r * scale) * (r * scale)).sum::<f64>();
    }
    sum
}

impl Problem for Interval<'_> {
    fn memory(&mut self) -> &mut ContactMemory {
        self.mem
    }

    fn rounding(&self) -> f64 {
        let (step, options) = (&self.ws.step, &self.mem.options);
        let speeds = (step.scales.reach + options.length) / (step.h.abs() * options.speed);
        // Coordinates round too, and rotors and stiff springs turn that into impulses: along a slide by the length of the model, about
        // a hinge by angles, and its impulses are torques.
        let mut stiffest = 0.0f64;
        for link in &self.ws.layout.links {
            for c in 0..link.joint.kind.nv() {
                let slope = self.ws.trial.alpha[link.v + c].abs();
                let turns = match link.joint.kind {
                    JointType::Spherical => true,
                    JointType::Floating => c < 3,
                    kind => is_angle(kind, c),
                };
                stiffest = stiffest.max(if turns { slope / options.length } else { slope * options.length });
            }
        }
        4.0 * f64::EPSILON * (speeds + stiffest / step.scales.impulse)
    }

    fn evaluate(&mut self) -> f64 {
        run_widest(Evaluate(self))
    }

    fn direction(&mut self) -> bool {
        run_widest(Assemble(self));
        let Self { ws, mem, state, .. } = self;
        let base = ws.layout.closures.len();
        let ContactMemory { layout, graph, ldu, system, reduced, .. } = &mut **mem;
        ldu.factor(layout, graph, &state.side, &ws.trial.side);
        reduced.spend_iteration(graph, layout.links.len());
        ldu.solve(layout, graph, &state.side, &ws.trial.side, system);
        if layout.row_tolerance > super::super::ldu::RANK_TOLERANCE {
            ws.step.kept.copy_from_slice(&ldu.kept[..base]);
        }
        let Self { ws, mem, state, .. } = self;
        mem.tie(&state.side, &ws.trial.side, false) && mem.propose() && self.change_velocities()
    }

    fn bare(&mut self) {
        self.assemble_bare();
        let Self { ws, mem, state, map } = self;
        let ContactMemory { items, probes, live, layout, graph, ldu, system, bare, reduced, .. } = &mut **mem;
        let between = Between {
            map: *map,
            h: ws.step.h,
            start: &state.side,
            end: &ws.trial.side,
            poses: &ws.trial.poses,
            w: &ws.iterate.w,
        };
        for &k in live.iter() {
            let (item, probe) = (&items[k], &mut probes[k]);
            if let (true, Kind::Pair { .. }) = (probe.active, item.kind) {
                between.slopes(item, probe);
            }
        }
        bare.clone_from(system);
        ldu.factor(layout, graph, &state.side, &ws.trial.side);
        reduced.spend_iteration(graph, layout.links.len());
    }

    fn push(&mut self, k: usize, row: usize) {
        let Self { ws, mem, state, .. } = self;
        mem.push_alone(k, row);
        let ContactMemory { layout, graph, ldu, system, reduced, .. } = &mut **mem;
        ldu.solve(layout, graph, &state.side, &ws.trial.side, system);
        reduced.spend_solve(graph);
    }

    fn follow(&mut self) -> bool {
        let Self { ws, mem, state, .. } = self;
        mem.push_changes();
        let ContactMemory { layout, graph, ldu, system, .. } = &mut **mem;
        ldu.solve(layout, graph, &state.side, &ws.trial.side, system);
        self.change_velocities()
    }

    fn keep(&mut self) {
        self.ws.base.copy_from(&self.ws.iterate);
        self.mem.keep_impulses();
    }

    fn take(&mut self, length: f64) {
        let Self { ws, mem, state, .. } = self;
        let (base, iterate, system) = (&ws.base, &mut ws.iterate, &mem.system);
        let towards = |from: f64, to: f64| if length == 1.0 { to } else { from + length * (to - from) };
        for i in 0..base.w.len() {
            for k in 0..6 {
                iterate.w[i][k] = base.w[i][k] + length * mem.change[i][k];
                iterate.wrench[i][k] = towards(base.wrench[i][k], system.wrench[i][k]);
            }
        }
        for c in 0..base.lam.len() {
            for k in 0..6 {
                iterate.lam[c][k] = towards(base.lam[c][k], system.closure[c][k]);
            }
        }
        drop_free_parts(&ws.layout, &state.side, &mut iterate.wrench);
        mem.move_impulses(length);
    }

    fn largest_speed(&self) -> f64 {
        largest_speed(self.mem)
    }

    fn restart(&mut self) {
        self.ws.iterate.copy_from(&self.mem.guess);
    }
}

/// A joint bears nothing along its own coordinates. Contacts are so stiff in the matrix that rounding leaves a billionth there, and
/// the equations of the links would not notice.
pub(crate) fn drop_free_parts(layout: &Layout, side: &Side, wrenches: &mut [Six]) {
    for (i, link) in layout.links.iter().enumerate() {
        let (joint, wrench) = (&link.joint, &mut wrenches[i]);
        if joint.rows.has_rows {
            continue;
        }
        if joint.kind == JointType::Floating {
            *wrench = [0.0; 6];
            continue;
        }
        for c in 0..joint.kind.nv() {
            let row = coordinate_row(joint.kind, &side.joints[i], c);
            let n = six(row.ang_b, row.lin);
            let part = dot(&n, wrench) / dot(&n, &n);
            wrench.iter_mut().zip(&n).for_each(|(w, n)| *w -= part * n);
        }
    }
}

/// Largest velocity of an active contact, as a speed.
pub(crate) fn largest_speed(mem: &ContactMemory) -> f64 {
    mem.taking_part().fold(0.0, |m, (item, p)| p.u.iter().fold(m, |m: f64, u| m.max(u.abs() * item.arm)))
}

/// A contact in the matrix: into the block of its link, or as rows of a closure between two.
#[inline]
pub(crate) fn add_pair(
    item: &super::item::Item,
    probe: &mut super::memory::Probe,
    smoothing: f64,
    graph: &super::super::graph::Graph,
    ldu: &mut super::super::ldu::Ldu,
    system: &mut super::super::ldu::System,
) {
    let Some((c, first)) = probe.place else {
        probe.eliminate(item, smoothing);
        for x in 0..2 {
            if let Some(i) = item.links[x] {
                probe.add_block(x, &probe.rate_rows[x], &mut ldu.diagonal[i]);
                probe.add_impulse(x, &probe.offset, -1.0, &mut system.body[i]);
            }
        }
        return;
    };
    let (a, b, r) = probe.closure_rows(item, smoothing);
    for k in 0..3 {
        for m in 0..3 {
            ldu.cc[c][first + k][first + m] = b[k][m];
        }
        system.closure[c][first + k] = -r[k];
        // No rank decision: the proximal term makes every pivot regular.
        ldu.size[c][first + k] = 1e-12 / item.rho;
    }
    for x in 0..2 {
        let Some(slot) = graph.ends[c][x] else { continue };
        let (rates, forces) = (&probe.rate_rows[x], &probe.force_rows[x]);
        for k in 0..3 {
            let (to_a, to_b) = (&mut ldu.a[slot][first + k], &mut ldu.b[slot][first + k]);
            for m in 0..6 {
                to_a[m] = a[k][0] * rates[0][m] + a[k][1] * rates[1][m] + a[k][2] * rates[2][m];
                to_b[m] = -forces[k][m];
            }
        }
    }
}
