//! The iteration with one mass matrix: `s` solves with the factors of `[M̂ Ĝᵀ; Ĝ 0]` per iteration. (8.11) to (8.15)

use super::held::held;
use super::rows::larger;
use super::table::NODES;
use super::unknowns::normalised;
use super::{CurveMemory, Node};
use crate::constraint::{coordinate_row, multipliers, particular};
use crate::forces::{about_point, node_block};
use crate::geometry::LinkPose;
use crate::graph::Graph;
use crate::layout::{ClosureKind, Layout, Link};
use crate::ldu::{Ldu, Rank, Six, angular, dot, linear, six};
use crate::residual::{closure_rows, row_size};
use crate::scalar::by_entry;
use crate::spatial::{Quat, Vec3};
use crate::state::MaximalState;
use crate::ties::Still;
use crate::workspace::{Scales, StepData, Worst};
use leastaction_core::simd::Task;

/// Most iterations of one solve.
const MAX_ITERATIONS: u32 = 30;
/// Largest last direction of a solved step, radians or lengths of the mechanism.
const SETTLED: f64 = 1e-10;
/// Largest next direction, foreseen by the pace of the last ones.
const SMALL: f64 = 2e-13;
/// The same in tolerances, enough by itself.
const FORESEEN: f64 = 0.05;
/// The same where the equations no longer follow the directions.
const SPENT: f64 = 0.02;
/// Least pace that a few directions can prove.
const PROVEN: f64 = 0.01;
/// Largest turn per step by the torques left, radians.
pub(super) const LOOSE: f64 = 2e-12;
/// Iterations spent on thin bodies beyond what the equations ask for.
const EXTRA: u32 = 5;
/// Contraction beyond which the exact matrix is cheaper.
const SLOW: f64 = 0.5;

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) converged: bool,
    pub(crate) iterations: u32,
    /// Largest equation, relative to its scale.
    pub(crate) residual: f64,
}

/// Largest residuals that count as solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets {
    body: Worst,
    gap: Worst,
}

impl Targets {
    pub(super) fn new(scales: &Scales, tolerance: f64) -> Self {
        let Scales { impulse, length, reach, .. } = *scales;
        let eps = f64::EPSILON;
        Self {
            body: Worst { ang: tolerance * impulse * length, lin: tolerance * impulse },
            // Positions are rounded to ε of their distance from the origin, five times on the way to a gap.
            gap: Worst {
                ang: (0.1 * tolerance).max(8.0 * eps),
                lin: (0.1 * tolerance * length).max(4.0 * eps * reach),
            },
        }
    }

    /// The largest equation against its limit: solved at one.
    pub(super) fn excess(&self, memory: &CurveMemory) -> f64 {
        let (b, g) = (memory.worst, memory.gap);
        let body = larger(b.ang / self.body.ang, b.lin / self.body.lin);
        larger(body, larger(g.ang / self.gap.ang, g.lin / self.gap.lin))
    }
}

/// One way to evaluate and improve an iterate. Traits and not closures: their methods can be inlined into code made for wide
/// lanes whatever their size.
pub(super) trait Iteration {
    /// Evaluates the equations; false if the iterate is out of reach.
    fn evaluate(&mut self, memory: &mut CurveMemory) -> bool;
    /// Takes one direction from them, and gives its largest parts.
    fn improve(&mut self, memory: &mut CurveMemory) -> Worst;
}

/// Node by node, with everything that a mechanism may have.
struct General<'a> {
    layout: &'a Layout,
    graph: &'a Graph,
    state: &'a MaximalState,
    step: &'a StepData,
    u: &'a [f64],
    ldu: &'a Ldu,
}

impl Iteration for General<'_> {
    #[inline(always)]
    fn evaluate(&mut self, memory: &mut CurveMemory) -> bool {
        memory.evaluate(self.layout, self.state, self.step, self.u)
    }
    #[inline(always)]
    fn improve(&mut self, memory: &mut CurveMemory) -> Worst {
        memory.improve(self.layout, self.graph, self.step, self.ldu)
    }
}

/// [`CurveMemory::factor_middle`], compiled for wide vectors.
pub(super) struct FactorMiddle<'a> {
    pub(super) memory: &'a mut CurveMemory,
    pub(super) layout: &'a Layout,
    pub(super) graph: &'a Graph,
    pub(super) state: &'a MaximalState,
    pub(super) step: &'a StepData,
    pub(super) ldu: &'a mut Ldu,
}

impl Task for FactorMiddle<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.memory.factor_middle(self.layout, self.graph, self.state, self.step, self.ldu)
    }
}

/// A solve from the guess in the memory, with the factors at its middle, compiled for wide vectors. Does not allocate.
pub(super) struct SolveChord<'a> {
    pub(super) memory: &'a mut CurveMemory,
    pub(super) layout: &'a Layout,
    pub(super) graph: &'a Graph,
    pub(super) state: &'a MaximalState,
    pub(super) step: &'a StepData,
    pub(super) u: &'a [f64],
    pub(super) tolerance: f64,
    pub(super) ldu: &'a mut Ldu,
}

impl Task for SolveChord<'_> {
    type Output = Outcome;

    #[inline(always)]
    fn run(self) -> Outcome {
        let Self { memory, layout, graph, state, step, u, tolerance, ldu } = self;
        if !memory.foresees {
            memory.factor_middle(layout, graph, state, step, ldu);
        }
        memory.iterate(step, tolerance, &mut General { layout, graph, state, step, u, ldu })
    }
}

/// A row's value at node `k + 1`, or where the nodes are solved in a basis the sum that belongs to entry `k` of it.
#[inline(always)]
fn at_nodes(nodes: &[Node], k: usize, basis: Option<&[f64]>, value: impl Fn(&Node) -> f64) -> f64 {
    match basis {
        None => value(&nodes[k]),
        Some(basis) => basis.iter().zip(nodes).map(|(c, node)| c * value(node)).sum(),
    }
}

/// How a joint's servos damp it, where it is at the start of the step.
#[inline(always)]
fn servo_damping(link: &Link, state: &MaximalState, step: &StepData, c: usize) -> f64 {
    if link.joint.servos.is_empty() {
        return 0.0;
    }
    let [_, by_rate] = link.joint.servo_slopes(c, state.q[link.q + c], 0.0, &step.known);
    (-by_rate).max(0.0)
}

impl CurveMemory {
    /// The matrix of the iteration at the middle of the guess, factored. (8.12) Where rows are to be foreseen they are chosen
    /// there; false if that is not clear cut.
    #[inline(always)]
    pub(super) fn factor_middle(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        state: &MaximalState,
        step: &StepData,
        ldu: &mut Ldu,
    ) -> bool {
        let foresees = self.foresees && !layout.closures.is_empty();
        self.place_middle(layout, state);
        let (share, alone) = (self.table.damped.share * step.h, self.table.damping_share * step.h);
        let holds = self.holds(step);
        let side = &self.middle.side;
        for (i, link) in layout.links.iter().enumerate() {
            ldu.diagonal[i] = node_block(&side.rot[i], &link.inertia, link.mass, side.arm[i]);
            let rows = &link.joint.rows;
            if rows.has_rows || holds {
                for c in 0..link.joint.kind.nv() {
                    ldu.stiffness[link.v + c] = [0.0; 6];
                    let damping = rows.damping[c] + servo_damping(link, state, step, c);
                    ldu.stiffness[link.v + c][c] = rows.armature[c] + share * damping;
                    ldu.limit[link.v + c] = [0.0, 1.0];
                }
                // What is held moves by what it is off.
                for c in held(link, step) {
                    ldu.limit[link.v + c] = [1.0, 0.0];
                }
            }
        }
        ldu.limits_active = holds;
        if self.damps {
            self.place_dampers(layout, state, step);
        }
        let side = &self.middle.side;
        if !layout.closures.is_empty() {
            closure_rows(layout, side, &self.middle.poses, &mut self.rows);
            ldu.clear();
            for (c, closure) in layout.closures.iter().enumerate() {
                for r in 0..closure.rows {
                    // Rows out of use, and coordinates without a law, are unknowns by themselves.
                    let mass = match closure.kind {
                        ClosureKind::Coordinates => {
                            let joint = &layout.loops[closure.index];
                            let inert = r >= joint.kind.nv();
                            Some(if inert {
                                0.0
                            } else {
                                joint.rows.armature[r] + alone * joint.rows.damping[r]
                            })
                        }
                        _ => (!foresees && !self.kept[c][r]).then_some(0.0),
                    };
                    let active = match mass {
                        Some(mass) if mass > 0.0 => {
                            ldu.cc[c][r][r] = 1.0 / mass;
                            1.0
                        }
                        Some(_) => {
                            ldu.cc[c][r][r] = 1.0;
                            0.0
                        }
                        None => 1.0,
                    };
                    let row = &self.rows[c][r];
                    if foresees {
                        ldu.size[c][r] = row_size(layout, side, c, row).max(ldu.cc[c][r][r]);
                    }
                    for (which, slot) in graph.ends[c].iter().enumerate() {
                        let Some(slot) = slot else { continue };
                        let (ang, s) = if which == 1 { (row.ang_b, active) } else { (row.ang_a, -active) };
                        for k in 0..3 {
                            ldu.a[*slot][r][k] += s * ang[k];
                            ldu.a[*slot][r][3 + k] += s * row.lin[k];
                            ldu.b[*slot][r][k] -= s * ang[k];
                            ldu.b[*slot][r][3 + k] -= s * row.lin[k];
                        }
                    }
                }
            }
        }
        ldu.rank = if foresees { Rank::Foreseen } else { Rank::Full };
        ldu.factor(layout, graph, side, side);
        ldu.rank = Rank::Dropping;
        if foresees {
            if !ldu.clear_cut {
                return false;
            }
            self.kept.copy_from_slice(&ldu.kept);
            self.dropped = ldu.dropped;
        }
        if let Some(ties) = &mut self.ties {
            let at = Still { layout, side, q: &state.q, q_loop: &state.q_loop, t: state.t };
            let slopes = &mut self.tie_slopes[0];
            for (o, tie) in layout.ties.iter().enumerate() {
                tie.measure(step.tied[o], &at, &mut slopes[tie.first..tie.first + tie.parts.len()]);
            }
            ties.prepare(layout, graph, side, ldu, &step.tied, slopes);
        }
        true
    }

    /// `c h` of the coordinates that are not held. A function of its own: mechanisms without dampers have the code that they had.
    #[inline(never)]
    fn place_dampers(&mut self, layout: &Layout, state: &MaximalState, step: &StepData) {
        for link in layout.links.iter().filter(|l| l.joint.rows.has_rows) {
            for c in 0..link.joint.kind.nv() {
                let damping = link.joint.rows.damping[c] + servo_damping(link, state, step, c);
                self.damping[link.v + c] = damping * step.h;
            }
            for c in held(link, step) {
                self.damping[link.v + c] = 0.0;
            }
        }
    }

    /// Poses and geometry of the guess at half the step.
    #[inline(always)]
    fn place_middle(&mut self, layout: &Layout, state: &MaximalState) {
        let (n, m) = (layout.links.len(), &self.table.middle);
        for i in 0..n {
            let (mut q, mut dx) = (Quat { w: m[0], v: Vec3::zero() }, Vec3::zero());
            for ga in 1..=self.table.s {
                let rho = self.x.rho[(ga - 1) * n + i];
                q = Quat { w: q.w + m[ga] * rho.w, v: q.v + rho.v * m[ga] };
                dx += self.x.dx[(ga - 1) * n + i] * m[ga];
            }
            let start = &state.poses[i];
            self.middle.poses[i] = LinkPose { q: normalised(q) * start.q, x: start.x + dx };
            self.middle.side.place_link(layout, i, &self.middle.poses);
        }
        self.middle.side.place_loops(layout, &self.middle.poses);
    }

    /// One direction from the equations last evaluated, taken; returns its largest parts.
    #[inline(always)]
    pub(super) fn improve(&mut self, layout: &Layout, graph: &Graph, step: &StepData, ldu: &Ldu) -> Worst {
        let (n, nc, s, h) = (layout.links.len(), layout.closures.len(), self.table.s, step.h);
        let holds = self.holds(step);
        let first_tie = layout.held - layout.ties.len();
        let mut ties = self.ties.take();
        let side = &self.middle.side;
        let damped = &self.table.damped;
        let impulses = if self.damps { &damped.mass } else { &self.table.mass };
        for k in 0..s {
            let (before, rest) = self.systems.split_at_mut(k);
            let system = &mut rest[0];
            let (mut weights, mut basis) = (&self.table.mass_inverse[k + 1], None);
            if self.damps {
                (weights, basis) = (&damped.inverse[k], Some(&damped.to[k][..s]));
                // The dampers' share of the solution before.
                if let Some(last) = before.last() {
                    let share = -damped.below[k];
                    for (v, c) in self.damping.iter().enumerate() {
                        system.force[v] = share * c * last.rate[v];
                    }
                }
            }
            for (i, link) in layout.links.iter().enumerate() {
                let mut r = [0.0; 6];
                for al in 0..s {
                    let (x, weight) = (&self.residual[al * n + i], weights[al] * h);
                    for m in 0..6 {
                        r[m] -= weight * x[m];
                    }
                }
                let r = six(side.rot[i] * angular(&r), linear(&r));
                system.body[i] = about_point(&r, side.arm[i]);
                let mut beta = [0.0; 6];
                match basis {
                    None => beta = by_entry(|m| -self.nodes[k].values[i][m]),
                    Some(basis) => {
                        for (c, node) in basis.iter().zip(&self.nodes) {
                            (0..6).for_each(|m| beta[m] -= c * node.values[i][m]);
                        }
                    }
                }
                system.particular[i] = particular(link.joint.kind, &side.joints[i], &beta);
                if holds {
                    for c in held(link, step) {
                        system.limit[link.v + c] =
                            at_nodes(&self.nodes, k, basis, |node| -node.held[link.v + c]);
                    }
                }
            }
            for (c, closure) in layout.closures.iter().enumerate() {
                let inert = matches!(closure.kind, ClosureKind::Coordinates);
                system.closure[c] = by_entry(|r| {
                    if inert || r >= closure.rows || !self.kept[c][r] {
                        0.0
                    } else {
                        at_nodes(&self.nodes, k, basis, |node| -node.closure[c][r])
                    }
                });
            }
            ldu.solve(layout, graph, side, side, system);
            if let Some(ties) = &mut ties {
                ties.correct(system, |o| at_nodes(&self.nodes, k, basis, |node| -node.held[first_tie + o]));
                for al in 0..s {
                    let c = -impulses[al][k + 1] / h;
                    let to = &mut self.x.held[al * layout.held + first_tie..(al + 1) * layout.held];
                    to.iter_mut().zip(&ties.eta).for_each(|(to, eta)| *to += c * eta);
                }
            }
        }
        self.ties = ties;
        if self.damps {
            for i in 0..n {
                let solved: [Six; NODES] =
                    by_entry(|k| if k < s { self.systems[k].body[i] } else { [0.0; 6] });
                for (g, system) in self.systems.iter_mut().enumerate() {
                    system.body[i] = by_entry(|m| (0..s).map(|k| damped.back[g][k] * solved[k][m]).sum());
                }
            }
        }
        let mut largest = Worst::default();
        for (k, system) in self.systems.iter_mut().enumerate() {
            let rot = &self.nodes[k].side.rot;
            for (i, link) in layout.links.iter().enumerate() {
                let (ang, lin) = (angular(&system.body[i]), linear(&system.body[i]));
                let eta = rot[i] * side.rot[i].tr_mul(ang);
                let dx = lin - ang.cross(side.arm[i]);
                let at = k * n + i;
                self.x.rho[at] = normalised(Quat { w: 1.0, v: eta * 0.5 } * self.x.rho[at]);
                self.x.dx[at] += dx;
                for m in 0..3 {
                    largest.ang = larger(largest.ang, eta[m].abs());
                    largest.lin = larger(largest.lin, dx[m].abs());
                }
                // Multipliers of the joint's rows in place of its wrench.
                let wrench = system.wrench[i];
                let mut lam: Six = [0.0; 6];
                multipliers(link.joint.kind, &side.joints[i], &wrench, &mut lam);
                system.wrench[i] = lam;
                if holds {
                    for c in held(link, step) {
                        let row = coordinate_row(link.joint.kind, &side.joints[i], c);
                        system.limit[link.v + c] = dot(&six(row.ang_b, row.lin), &wrench);
                    }
                }
            }
        }
        // The solver's multipliers have the opposite sign: M w − Gᵀλ.
        for al in 0..s {
            for (k, system) in self.systems.iter().enumerate() {
                let c = -impulses[al][k + 1] / h;
                for i in 0..n {
                    for m in 0..6 {
                        self.x.lam[al * n + i][m] += c * system.wrench[i][m];
                    }
                }
                for i in 0..nc {
                    for m in 0..6 {
                        self.x.closure[al * nc + i][m] += c * system.closure[i][m];
                    }
                }
                if holds {
                    for link in &layout.links {
                        for k in held(link, step) {
                            self.x.held[al * layout.held + link.v + k] += c * system.limit[link.v + k];
                        }
                    }
                }
            }
        }
        largest
    }

    /// Evaluates and improves until the equations are solved or will not be.
    #[inline(always)]
    pub(super) fn iterate(&mut self, step: &StepData, tolerance: f64, by: &mut impl Iteration) -> Outcome {
        let mut outcome = Outcome::default();
        let targets = Targets::new(&step.scales, tolerance);
        let (mut last, mut best, mut stalled, mut extra) = (f64::INFINITY, f64::INFINITY, 0, 0);
        let (mut before_last, mut last_step, mut pace) = (f64::INFINITY, f64::INFINITY, 1.0);
        let mut earlier = f64::INFINITY;
        for iteration in 0..=MAX_ITERATIONS {
            outcome.iterations = iteration;
            if !by.evaluate(self) {
                return outcome;
            }
            let excess = targets.excess(self);
            outcome.residual = excess * tolerance;
            // The next direction will be as much smaller as the last ones were. Nothing is left to find once it is far below the
            // tolerance.
            let next = last_step * pace;
            if (excess <= 0.1 || (excess <= 1.0 && last <= 1.0)) && next <= FORESEEN * tolerance {
                outcome.converged = true;
                return outcome;
            }
            if excess <= 0.1 || (excess <= 1.0 && last <= 1.0) {
                // A thin body hides a wide turn behind a small torque; rounding may leave one for ever.
                extra += 1;
                let settled = (last_step <= SETTLED || next <= SMALL) && self.loose <= LOOSE;
                if settled || extra > EXTRA {
                    outcome.converged = true;
                    return outcome;
                }
            }
            // The floor of rounding where impulses are much larger than momenta: the direction fell, the equations did not.
            if (1.0..=100.0).contains(&excess) && next <= SPENT * tolerance && excess > 3.0 * pace * last {
                outcome.converged = true;
                return outcome;
            }
            // The floor of rounding: near the target, and no better in two iterations.
            stalled = if excess > 0.5 * best { stalled + 1 } else { 0 };
            best = best.min(excess);
            if stalled >= 2 && (1.0..=100.0).contains(&excess) {
                outcome.converged = true;
                return outcome;
            }
            if iteration == MAX_ITERATIONS || (excess > 100.0 && hopeless(iteration, excess, earlier)) {
                return outcome;
            }
            (earlier, last) = (last, excess);
            let change = by.improve(self);
            let size = larger(change.ang, change.lin / step.scales.length);
            // Below what counts as settled directions go up and down with their rounding.
            if !size.is_finite() || (iteration > 1 && excess > 1.0 && size > larger(2.0 * last_step, SETTLED))
            {
                return outcome;
            }
            // The slower of the last two: the first directions take out what falls fast.
            let now = if last_step.is_finite() { (size / last_step).clamp(PROVEN, 1.0) } else { 1.0 };
            pace = if before_last.is_finite() { larger(now, last_step / before_last).min(1.0) } else { now };
            (before_last, last_step) = (last_step, size);
        }
        outcome
    }
}

/// True if the iterations left will not do at the pace of the last two. Not of the last one: what the iteration leaves swings about the
/// solution, mostly in pairs of imaginary eigenvalues, and equations that stand still in one iteration fall in the next.
fn hopeless(iteration: u32, excess: f64, earlier: f64) -> bool {
    if iteration <= 4 || !earlier.is_finite() {
        return false;
    }
    let pace = (excess / earlier).sqrt();
    pace > SLOW && excess * pace.powi((MAX_ITERATIONS - iteration) as i32) > 1.0
}
