//! Newton's method on the equations of a step, with all nodes in one matrix. (8.16)
//!
//! Blocks of 6s per link and s times its rows per joint. Impulses of inner nodes couple parent and child directly, so the
//! graph has that edge too; in the order of the mass matrix a tree has no fill.

use super::CurveMemory;
use super::block_ldu::BlockLdu;
use super::chord::{LOOSE, Outcome, Targets};
use super::exact_ties::ExactTies;
use super::held::held;
use super::slopes::{At, Slopes, in_link_axes};
use super::unknowns::{Unknowns, normalised};
use crate::constraint::{Row, coordinate_row, directions};
use crate::geometry::Side;
use crate::graph::{Graph, Op};
use crate::layout::{ClosureKind, Layout, Link, row_count};
use crate::ldu::{Six, angular, linear};
use crate::spatial::{Quat, Vec3};
use crate::state::MaximalState;
use crate::workspace::StepData;

const MAX_ITERATIONS: u32 = 20;
const MAX_HALVINGS: u32 = 10;

/// Matrix, slopes and vectors of Newton's method. Made when first needed: most steps never are.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    pub(super) ldu: BlockLdu,
    pub(super) slopes: Slopes,
    pub(super) z: Vec<f64>,
    base: Unknowns,
    pub(super) ties: ExactTies,
}

/// Rows of a joint on its two links, about their centres of mass.
pub(super) fn about_centres(
    side: &Side,
    a: Option<usize>,
    b: Option<usize>,
    row: &Row,
) -> [Option<(usize, Six)>; 2] {
    let on = |link: Option<usize>, ang: Vec3, s: f64| {
        link.map(|i| {
            let ang = (ang + side.arm[i].cross(row.lin)) * s;
            (i, crate::ldu::six(ang, row.lin * s))
        })
    };
    [on(a, row.ang_a, -1.0), on(b, row.ang_b, 1.0)]
}

/// Rows of every joint and closure of the holonomic kind at a node: its place among the blocks, its number of rows, the row.
pub(super) fn for_each_row(
    layout: &Layout,
    side: &Side,
    kept: &[[bool; 6]],
    step: Option<&StepData>,
    mut each: impl FnMut(usize, usize, usize, [Option<(usize, Six)>; 2]),
) {
    let n = layout.links.len();
    let mut rows = [Row::default(); 6];
    for (i, link) in layout.links.iter().enumerate() {
        let count = directions(link.joint.kind, &side.joints[i], &mut rows);
        let places = places(layout, link);
        for r in 0..count {
            each(n + i, places, r, about_centres(side, link.parent, Some(i), &rows[r]));
        }
        for c in step.into_iter().flat_map(|step| held(link, step)) {
            let row = coordinate_row(link.joint.kind, &side.joints[i], c);
            each(n + i, places, count + c, about_centres(side, link.parent, Some(i), &row));
        }
    }
    for (c, closure) in layout.closures.iter().enumerate() {
        if let ClosureKind::Joint = closure.kind {
            let joint = &layout.loops[closure.index];
            directions(joint.kind, &side.loops[closure.index], &mut rows);
            for r in (0..closure.rows).filter(|r| kept[c][*r]) {
                each(2 * n + c, closure.rows, r, about_centres(side, closure.a, closure.b, &rows[r]));
            }
        }
    }
}

/// Rows of a tree joint in the matrix: its own, and one for every coordinate that may be held.
fn places(layout: &Layout, link: &Link) -> usize {
    let held = if layout.held > 0 && link.joint.rows.has_limits { link.joint.kind.nv() } else { 0 };
    row_count(link.joint.kind) + held
}

impl Exact {
    pub(super) fn new(layout: &Layout, graph: &Graph, s: usize) -> Self {
        let (n, nc) = (layout.links.len(), layout.closures.len());
        let mut sizes = vec![6 * s; n];
        sizes.extend(layout.links.iter().map(|l| s * places(layout, l)));
        sizes.extend(layout.closures.iter().map(|c| match c.kind {
            ClosureKind::Coordinates => 0,
            _ => s * c.rows,
        }));
        let mut edges = Vec::new();
        for (i, link) in layout.links.iter().enumerate() {
            edges.push((i, n + i));
            if let Some(p) = link.parent {
                edges.extend([(p, n + i), (p, i)]);
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            edges.extend([closure.a, closure.b].into_iter().flatten().map(|i| (i, 2 * n + c)));
            if let (Some(a), Some(b)) = (closure.a, closure.b) {
                edges.push((a, b));
            }
        }
        // Inputs and springs of loop joints without a closure of their own.
        for joint in &layout.loops {
            if let (Some(a), Some(b)) = (joint.a.link, joint.b.link) {
                edges.push((a, b));
            }
        }
        let order: Vec<usize> = graph
            .ops
            .iter()
            .flat_map(|op| match op {
                Op::Pair { link, .. } => vec![*link, n + link],
                Op::Closure { closure, .. } => vec![2 * n + closure],
            })
            .collect();
        let ldu = BlockLdu::new(sizes, edges.into_iter(), &order);
        Self {
            z: vec![0.0; ldu.len()],
            ldu,
            slopes: Slopes::default(),
            base: Unknowns::new(s, n, nc, layout.held),
            ties: ExactTies::default(),
        }
    }

    /// The matrix at an evaluated iterate, factored; false if it is singular.
    pub(super) fn factor(&mut self, at: &At<'_>) -> bool {
        let (layout, s) = (at.layout, at.memory.table.s);
        let n = layout.links.len();
        self.slopes.fill(at);
        self.ldu.clear();
        for al in 0..s {
            for ga in 1..=s {
                for (row, column, block) in self.slopes.by_node(al, ga).entries() {
                    for r in 0..6 {
                        for c in 0..6 {
                            self.ldu.add((*row, *column), 6 * al + r, 6 * (ga - 1) + c, block[r][c]);
                        }
                    }
                }
            }
        }
        for al in 0..=s {
            let side = if al == 0 { &at.state.side } else { &at.memory.nodes[al - 1].side };
            let ldu = &mut self.ldu;
            for_each_row(layout, side, &at.memory.kept, Some(at.step), |node, count, r, ends| {
                for (link, row) in ends.into_iter().flatten() {
                    let row = in_link_axes(&at.state.side.rot[link], &row);
                    for k in 0..6 {
                        if al < s {
                            ldu.add((link, node), 6 * al + k, al * count + r, row[k]);
                        }
                        if al > 0 {
                            ldu.add((node, link), (al - 1) * count + r, 6 * (al - 1) + k, row[k]);
                        }
                    }
                }
            });
        }
        for (i, link) in layout.links.iter().enumerate() {
            let (first, places) = (row_count(link.joint.kind), places(layout, link));
            for r in (first..places).filter(|r| held(link, at.step).all(|c| first + c != *r)) {
                (0..s).for_each(|k| self.ldu.add((n + i, n + i), k * places + r, k * places + r, 1.0));
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            let node = 2 * n + c;
            match &closure.kind {
                ClosureKind::Joint => {
                    for r in (0..closure.rows).filter(|r| !at.memory.kept[c][*r]) {
                        (0..s).for_each(|k| {
                            self.ldu.add((node, node), k * closure.rows + r, k * closure.rows + r, 1.0)
                        });
                    }
                }
                ClosureKind::Coordinates => {}
                ClosureKind::Rolling(rolling) => {
                    for al in 0..s {
                        let mut rows = [[0.0; 6]; 6];
                        rolling.node_rows(&at.poses(al)[closure.index], &mut rows);
                        for r in 0..closure.rows {
                            let row = in_link_axes(&at.state.side.rot[closure.index], &rows[r]);
                            for k in 0..6 {
                                let at = (6 * al + k, al * closure.rows + r);
                                self.ldu.add((closure.index, node), at.0, at.1, row[k]);
                            }
                        }
                    }
                    for (ga, be) in (1..=s).flat_map(|ga| (1..=s).map(move |be| (ga, be))) {
                        for (_, link, block) in
                            self.slopes.rolling(ga, be).entries().iter().filter(|(row, ..)| *row == c)
                        {
                            for r in 0..closure.rows {
                                for k in 0..6 {
                                    let at = ((ga - 1) * closure.rows + r, 6 * (be - 1) + k);
                                    self.ldu.add((node, *link), at.0, at.1, block[r][k]);
                                }
                            }
                        }
                    }
                }
            }
        }
        self.ldu.factor()
    }
}

impl CurveMemory {
    /// Newton's method from the iterate in `x`.
    pub(super) fn solve_exact(
        &mut self,
        exact: &mut Exact,
        layout: &Layout,
        state: &MaximalState,
        step: &StepData,
        u: &[f64],
        tolerance: f64,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let targets = Targets::new(&step.scales, tolerance);
        if !self.evaluate(layout, state, step, u) {
            return outcome;
        }
        let mut stalled = 0;
        for iteration in 0..=MAX_ITERATIONS {
            let excess = targets.excess(self);
            outcome.iterations = iteration;
            outcome.residual = excess * tolerance;
            let solved = self.loose <= LOOSE && (excess <= 0.1 || (excess <= 1.0 && iteration > 0));
            if solved || (stalled >= 2 && excess <= 100.0) {
                outcome.converged = true;
                return outcome;
            }
            if stalled >= 4 || iteration == MAX_ITERATIONS {
                return outcome;
            }
            if !exact.factor(&At { layout, state, step, memory: self, u, first: None }) {
                return outcome;
            }
            self.right_hand_side(exact, layout, state, step);
            exact.ldu.solve(&mut exact.z);
            if !layout.ties.is_empty() {
                self.tie_exact(exact, layout, state, step);
            }
            if exact.z.iter().any(|x| !x.is_finite()) {
                return outcome;
            }
            exact.base.copy_from(&self.x);
            let mut length = 1.0;
            let mut accepted = false;
            for _ in 0..=MAX_HALVINGS {
                self.take(exact, layout, state, length);
                if self.evaluate(layout, state, step, u)
                    && (targets.excess(self) < excess || targets.excess(self) <= 1.0)
                {
                    accepted = true;
                    break;
                }
                length *= 0.5;
            }
            if !accepted {
                self.x.copy_from(&exact.base);
                if !self.evaluate(layout, state, step, u) {
                    return outcome;
                }
                stalled += 4;
                continue;
            }
            stalled = if targets.excess(self) > 0.5 * excess { stalled + 1 } else { 0 };
            if stalled >= 2 && targets.excess(self) <= 100.0 {
                outcome.iterations += 1;
                outcome.residual = targets.excess(self) * tolerance;
                outcome.converged = true;
                return outcome;
            }
        }
        outcome
    }

    /// Minus the equations last evaluated, torques in the links' axes at the start.
    fn right_hand_side(&self, exact: &mut Exact, layout: &Layout, state: &MaximalState, step: &StepData) {
        let (n, s) = (layout.links.len(), self.table.s);
        let Exact { ldu, z, .. } = exact;
        for i in 0..n {
            let here = ldu.range(i).start;
            for al in 0..s {
                let r = &self.residual[al * n + i];
                let ang = state.side.rot[i].tr_mul(self.side(state, al).rot[i] * angular(r));
                let lin = linear(r);
                for k in 0..3 {
                    z[here + 6 * al + k] = -ang[k];
                    z[here + 6 * al + 3 + k] = -lin[k];
                }
            }
            let joint = ldu.range(n + i);
            let (rows, link) = (joint.len() / s, &layout.links[i]);
            let own = row_count(link.joint.kind);
            for (k, node) in self.nodes.iter().enumerate() {
                (0..own).for_each(|r| z[joint.start + k * rows + r] = -node.values[i][r]);
                z[joint.start + k * rows + own..joint.start + (k + 1) * rows].fill(0.0);
                for c in held(link, step) {
                    z[joint.start + k * rows + own + c] = -node.held[link.v + c];
                }
            }
        }
        for c in 0..layout.closures.len() {
            let here = ldu.range(2 * n + c);
            let rows = here.len() / s;
            for (k, node) in self.nodes.iter().enumerate() {
                for r in 0..rows {
                    z[here.start + k * rows + r] = if self.kept[c][r] { -node.closure[c][r] } else { 0.0 };
                }
            }
        }
    }

    /// The iterate a fraction of the way along the direction in `z`.
    fn take(&mut self, exact: &Exact, layout: &Layout, state: &MaximalState, length: f64) {
        let (n, nc, s) = (layout.links.len(), layout.closures.len(), self.table.s);
        let (z, base) = (&exact.z, &exact.base);
        for i in 0..n {
            let here = exact.ldu.range(i).start;
            let joint = exact.ldu.range(n + i);
            let rows = joint.len() / s;
            for k in 0..s {
                let at = here + 6 * k;
                let eta = state.side.rot[i] * Vec3([z[at], z[at + 1], z[at + 2]]) * length;
                self.x.rho[k * n + i] = normalised(Quat { w: 1.0, v: eta * 0.5 } * base.rho[k * n + i]);
                self.x.dx[k * n + i] = base.dx[k * n + i] + Vec3([z[at + 3], z[at + 4], z[at + 5]]) * length;
                let (own, v) = (row_count(layout.links[i].joint.kind), layout.links[i].v);
                for r in 0..own {
                    self.x.lam[k * n + i][r] =
                        base.lam[k * n + i][r] + length * z[joint.start + k * rows + r];
                }
                for r in own..rows {
                    let at = k * layout.held + v + r - own;
                    self.x.held[at] = base.held[at] + length * z[joint.start + k * rows + r];
                }
            }
        }
        let ties = layout.ties.len();
        for (k, change) in exact.ties.change.iter().enumerate() {
            let at = (k / ties) * layout.held + layout.held - ties + k % ties;
            self.x.held[at] = base.held[at] + length * change;
        }
        for c in 0..nc {
            let here = exact.ldu.range(2 * n + c);
            let rows = here.len() / s;
            for k in 0..s {
                for r in 0..rows {
                    self.x.closure[k * nc + c][r] =
                        base.closure[k * nc + c][r] + length * z[here.start + k * rows + r];
                }
            }
        }
    }
}
