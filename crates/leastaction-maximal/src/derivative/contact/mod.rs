//! Contacts in the derivative of a step. (9.19) to (9.24)
//!
//! A solved problem with contacts, of an interval or of a node, is a linear system at its solution. With `x` the unknowns without
//! contact, `K` their matrix, `H` and `J` the rows of forces and velocities, `A` and `B` the slopes of the law:
//!
//! ```text
//! K x - H^T g = r,      A (J x + U z) + B g = q
//! ```
//!
//! Contacts have nodes of their own in the elimination, as closures: eliminated into the blocks of their links, as a step does, they
//! would cost five digits. `B` may be zero where a contact sticks and others share its work, so the factors are those of
//! `B~ = (1-e) B + e I`, and passes `A (J x + U z) + B~ g = q + (B~ - B) g_before` take the difference out again: what is left after a
//! pass is about `e` of what was left before it. The transposed product runs the same passes backwards.

mod chain;
mod pairs;
mod pose_product;
mod step;
mod switches;

pub(crate) use chain::Touching;
pub use pose_product::RelaxedLink;
pub use switches::ContactSwitch;

use crate::geometry::Side;
use crate::graph::Graph;
use crate::layout::{Closure, ClosureKind, Layout};
use crate::ldu::{Ldu, Six, System, dot};
use crate::spatial::{Mat3, Vec3};

/// Weight of the proximal term in the factors: small enough for few passes, large enough against rounding where contacts repeat
/// each other.
const PROXIMAL: f64 = 1e-4;
/// Passes of a product.
const PASSES: usize = 4;

/// Where a row acts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Acting {
    /// Between two links or a link and the ground: rows of a closure from the given one on.
    Closure(usize, usize),
    /// On a coordinate, with the sign of its direction.
    Coordinate(usize, f64),
}

/// One contact, limit or dry friction at the solution.
#[derive(Clone, Debug)]
pub(super) struct PressedRow {
    pub(super) acting: Acting,
    pub(super) links: [Option<usize>; 2],
    /// Contact mass.
    pub(super) rho: f64,
    /// Rows of forces and velocities by link.
    pub(super) force: [[Six; 3]; 2],
    pub(super) rate: [[Six; 3]; 2],
    /// Slopes of the law by velocity and impulse.
    pub(super) by_velocity: Mat3,
    pub(super) by_impulse: Mat3,
    /// Slopes of the law's residual by the poses that vary at the problem, by the velocities at the start of the step.
    pub(super) law_by_pose: [[Six; 3]; 2],
    pub(super) law_by_start: [[Six; 3]; 2],
    /// The same of a coordinate's row: by its rate over the interval as far as the start's pose decides it, by its rate at the start.
    pub(super) law_by_carried: f64,
    pub(super) law_by_rate: f64,
    /// Made by [`Pressed::enter`]: inverse of `B~`, and `B~ - B`.
    pub(super) inverse: Mat3,
    pub(super) excess: Mat3,
}

/// Variations that the law depends on besides the unknowns.
pub(super) struct Source<'a> {
    /// Poses at the problem (both ends of an interval alike).
    pub(super) z: &'a [Six],
    /// Velocities of the links and rates of the joints at the start of the step.
    pub(super) w: &'a [Six],
    pub(super) rate: &'a [f64],
    /// Coordinates at the start of an interval, and one over its length.
    pub(super) carried: &'a [f64],
    pub(super) per_step: f64,
}

/// Cotangents of a [`Source`], added to.
pub(super) struct SourceBar<'a> {
    pub(super) z: &'a mut [Six],
    pub(super) w: &'a mut [Six],
    pub(super) rate: &'a mut [f64],
    pub(super) carried: &'a mut [f64],
    pub(super) per_step: f64,
}

/// The contacts of a solved problem, with the structure that has closures for those between links.
#[derive(Clone, Debug)]
pub(super) struct Pressed {
    layout: Layout,
    graph: Graph,
    system: System,
    pub(super) rows: Vec<PressedRow>,
    /// Scratch: law's right-hand sides, impulses (or their cotangents).
    law: Vec<Vec3>,
    impulse: Vec<Vec3>,
    sum: System,
}

impl Pressed {
    /// Gives the rows of surfaces their places in closures behind those of the mechanism.
    pub(super) fn new(base: &Layout, nv: usize, mut rows: Vec<PressedRow>) -> Self {
        let mut layout = base.clone();
        let first = layout.closures.len();
        for row in rows.iter_mut().filter(|row| matches!(row.acting, Acting::Closure(..))) {
            // The ground is no end: the link is then the second one.
            let (a, b) = match row.links {
                [a, Some(b)] => (a, Some(b)),
                [a, None] => (None, a),
            };
            let room = |c: &Closure| (c.a, c.b, c.rows) == (a, b, 3);
            let found = layout.closures[first..].iter().position(room);
            let at = found.map_or(layout.closures.len(), |at| first + at);
            row.acting = Acting::Closure(at, if found.is_some() { 3 } else { 0 });
            if found.is_some() {
                layout.closures[at].rows = 6;
            } else {
                let kind = ClosureKind::Coordinates;
                layout.closures.push(Closure { kind, index: 0, a, b, rows: 3, name: String::new() });
            }
        }
        let graph = Graph::new(&layout);
        let system = System::new(&layout, nv);
        let zero = vec![Vec3::zero(); rows.len()];
        Self { layout, graph, sum: system.clone(), system, law: zero.clone(), impulse: zero, rows }
    }

    /// A matrix of this structure, with what another one of the mechanism alone knows about its closures.
    pub(super) fn matrix(&self, like: &Ldu, base: usize) -> Ldu {
        let mut ldu = Ldu::new(&self.layout, &self.graph, self.system.rate.len());
        ldu.rank = like.rank;
        ldu.size[..base].copy_from_slice(&like.size[..base]);
        ldu.kept[..base].copy_from_slice(&like.kept[..base]);
        ldu
    }

    /// Slots of the closures' ends in such a matrix.
    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Adds the contacts to a matrix assembled without them, with `base` closures of the mechanism, and factors it.
    pub(super) fn enter(&mut self, base: usize, ldu: &mut Ldu, x: &Side, v: &Side) {
        for c in base..self.layout.closures.len() {
            ldu.size[c] = [1.0; 6];
            for r in 0..6 {
                ldu.cc[c][r][r] = 1.0;
            }
        }
        for row in &mut self.rows {
            let mut tilde = row.by_impulse * (1.0 - PROXIMAL);
            (0..3).for_each(|k| tilde.0[k][k] += PROXIMAL);
            row.excess = tilde - row.by_impulse;
            row.inverse = tilde.inverse();
            match row.acting {
                Acting::Coordinate(at, _) => {
                    let link = self.layout.links.iter().find(|l| at >= l.v && at < l.v + l.joint.kind.nv());
                    let part = link.map_or(0, |l| at - l.v);
                    ldu.stiffness[at][part] += row.inverse.0[0][0] * row.by_velocity.0[0][0];
                }
                Acting::Closure(c, first) => {
                    let per_mass = 1.0 / row.rho;
                    for k in 0..3 {
                        for m in 0..3 {
                            ldu.cc[c][first + k][first + m] = tilde.0[k][m] * per_mass;
                        }
                        // No rank decision: the proximal term makes every pivot regular.
                        ldu.size[c][first + k] = 1e-12 * per_mass;
                    }
                    for x in 0..2 {
                        if row.links[x].is_none() {
                            continue;
                        }
                        let end = usize::from(self.layout.closures[c].a != row.links[x]);
                        let Some(slot) = self.graph.ends[c][end] else { continue };
                        for k in 0..3 {
                            let along = combined(&row.by_velocity.0[k], &row.rate[x]);
                            ldu.a[slot][first + k] = along.map(|t| t * per_mass);
                            ldu.b[slot][first + k] = row.force[x][k].map(|t| -t);
                        }
                    }
                }
            }
        }
        ldu.factor(&self.layout, &self.graph, x, v);
    }

    /// Solves with the factors and the passes; `system` (of the mechanism alone) holds right-hand sides and receives the solution.
    pub(super) fn solve(&mut self, ldu: &Ldu, x: &Side, v: &Side, source: &Source<'_>, system: &mut System) {
        for (row, law) in self.rows.iter().zip(&mut self.law) {
            *law = -row.law_change(source);
        }
        self.impulse.fill(Vec3::zero());
        for _ in 0..PASSES {
            take(&mut self.system, system);
            for ((row, law), impulse) in self.rows.iter().zip(&self.law).zip(&mut self.impulse) {
                *impulse = *law + row.excess * *impulse;
                match row.acting {
                    Acting::Coordinate(at, sign) => {
                        self.system.force[at] += sign * (row.inverse * *impulse)[0];
                    }
                    Acting::Closure(c, first) => {
                        (0..3).for_each(|k| self.system.closure[c][first + k] = impulse[k] / row.rho);
                    }
                }
            }
            ldu.solve(&self.layout, &self.graph, x, v, &mut self.system);
            for (row, impulse) in self.rows.iter().zip(&mut self.impulse) {
                *impulse = match row.acting {
                    Acting::Coordinate(at, sign) => {
                        let u = Vec3([sign * self.system.rate[at], 0.0, 0.0]);
                        row.inverse * (*impulse - row.by_velocity * u)
                    }
                    Acting::Closure(c, first) => Vec3([0, 1, 2].map(|k| self.system.closure[c][first + k])),
                };
            }
        }
        give(&self.system, system);
    }

    /// Transpose of [`solve`](Self::solve): cotangents of the solution in `system` become those of the right-hand sides.
    pub(super) fn solve_transposed(
        &mut self,
        ldu: &Ldu,
        x: &Side,
        v: &Side,
        system: &mut System,
        bar: &mut SourceBar<'_>,
    ) {
        self.law.fill(Vec3::zero());
        self.impulse.fill(Vec3::zero());
        clear(&mut self.sum);
        for pass in 0..PASSES {
            clear(&mut self.system);
            if pass == 0 {
                self.system.rate.copy_from_slice(&system.rate);
                self.system.body.copy_from_slice(&system.body);
                self.system.wrench.copy_from_slice(&system.wrench);
                self.system.closure[..system.closure.len()].copy_from_slice(&system.closure);
            }
            for ((row, law), impulse) in self.rows.iter().zip(&mut self.law).zip(&mut self.impulse) {
                if let Acting::Closure(c, first) = row.acting {
                    (0..3).for_each(|k| self.system.closure[c][first + k] = impulse[k]);
                    *impulse = Vec3::zero();
                    continue;
                }
                let back = row.inverse.tr_mul(*impulse);
                let along = row.by_velocity.tr_mul(back);
                if let Acting::Coordinate(at, sign) = row.acting {
                    self.system.rate[at] -= sign * along[0];
                }
                *law += back;
                *impulse = row.excess.tr_mul(back);
            }
            ldu.solve_transposed(&self.layout, &self.graph, x, v, &mut self.system);
            for ((row, law), impulse) in self.rows.iter().zip(&mut self.law).zip(&mut self.impulse) {
                let back = match row.acting {
                    Acting::Coordinate(at, sign) => {
                        row.inverse.tr_mul(Vec3([sign * self.system.force[at], 0.0, 0.0]))
                    }
                    Acting::Closure(c, first) => {
                        Vec3([0, 1, 2].map(|k| self.system.closure[c][first + k] / row.rho))
                    }
                };
                *law += back;
                *impulse += row.excess.tr_mul(back);
            }
            add(&mut self.sum, &self.system);
        }
        give(&self.sum, system);
        system.force.copy_from_slice(&self.sum.force);
        system.particular.copy_from_slice(&self.sum.particular);
        for (row, law) in self.rows.iter().zip(&self.law) {
            row.law_change_transposed(&-*law, bar);
        }
    }
}

impl PressedRow {
    /// Change of the law's residual by what it depends on besides the unknowns.
    fn law_change(&self, source: &Source<'_>) -> Vec3 {
        let mut out = Vec3::zero();
        if let Acting::Coordinate(at, _) = self.acting {
            if self.law_by_carried != 0.0 {
                out[0] += self.law_by_carried * source.carried[at] * source.per_step;
            }
            out[0] += self.law_by_rate * source.rate[at];
            return out;
        }
        for x in 0..2 {
            let Some(i) = self.links[x] else { continue };
            for k in 0..3 {
                out[k] +=
                    dot(&self.law_by_pose[x][k], &source.z[i]) + dot(&self.law_by_start[x][k], &source.w[i]);
            }
        }
        out
    }

    fn law_change_transposed(&self, law: &Vec3, bar: &mut SourceBar<'_>) {
        if let Acting::Coordinate(at, _) = self.acting {
            if self.law_by_carried != 0.0 {
                bar.carried[at] += self.law_by_carried * law[0] * bar.per_step;
            }
            bar.rate[at] += self.law_by_rate * law[0];
            return;
        }
        for x in 0..2 {
            let Some(i) = self.links[x] else { continue };
            let (z, w) = (combined(&law.0, &self.law_by_pose[x]), combined(&law.0, &self.law_by_start[x]));
            for k in 0..6 {
                bar.z[i][k] += z[k];
                bar.w[i][k] += w[k];
            }
        }
    }
}

/// Sum of three rows with weights.
fn combined(weights: &[f64; 3], rows: &[Six; 3]) -> Six {
    std::array::from_fn(|k| weights[0] * rows[0][k] + weights[1] * rows[1][k] + weights[2] * rows[2][k])
}

/// Right-hand sides of the mechanism alone into the larger system.
fn take(to: &mut System, from: &System) {
    to.body.copy_from_slice(&from.body);
    to.particular.copy_from_slice(&from.particular);
    to.force.copy_from_slice(&from.force);
    to.limit.copy_from_slice(&from.limit);
    let n = from.closure.len();
    to.closure[..n].copy_from_slice(&from.closure);
    to.closure[n..].fill([0.0; 6]);
}

/// The solution, or cotangents of right-hand sides, as far as they belong to the mechanism alone.
fn give(from: &System, to: &mut System) {
    to.body.copy_from_slice(&from.body);
    to.rate.copy_from_slice(&from.rate);
    to.wrench.copy_from_slice(&from.wrench);
    let n = to.closure.len();
    to.closure.copy_from_slice(&from.closure[..n]);
}

fn clear(system: &mut System) {
    for list in [&mut system.body, &mut system.particular, &mut system.closure, &mut system.wrench] {
        list.fill([0.0; 6]);
    }
    system.force.fill(0.0);
    system.rate.fill(0.0);
    system.limit.fill(0.0);
}

fn add(sum: &mut System, more: &System) {
    let lists = [
        (&mut sum.body, &more.body),
        (&mut sum.particular, &more.particular),
        (&mut sum.closure, &more.closure),
    ];
    for (sum, more) in lists {
        for (s, m) in sum.iter_mut().flatten().zip(more.iter().flatten()) {
            *s += m;
        }
    }
    for (s, m) in sum.force.iter_mut().zip(&more.force) {
        *s += m;
    }
}
