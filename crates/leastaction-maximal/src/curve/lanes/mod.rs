//! The iteration of [`chord`](super::chord) with the nodes of the step side by side, one per lane.
//!
//! Node α = 0..s of every quantity stands in lane α; degrees 2 and 3 fit into four lanes. Poses, rows, impulses and the kinetic
//! action of all nodes are computed at once, the nodes are coupled by products with the columns of (8.1), and the factors of the
//! mass matrix are read once per iteration for all of them. Lanes round as plain numbers do, so that processors with and without
//! wide registers give the same bits.
//!
//! Served are mechanisms without elements on coordinates, drag, rolling, couplings and rows of the driver of events;
//! [`general`](super::residual) serves the others and is what the lanes are compared with.

mod balance;
mod improve;
mod place;
mod swung;

use super::CurveMemory;
use super::chord::Iteration;
use super::table::Table;
use super::unknowns::Unknowns;
use crate::graph::Graph;
use crate::layout::{ClosureKind, Layout};
use crate::ldu::{Columns, Ldu};
use crate::scalar::{Real, by_entry};
use crate::spatial::{Mat3, Quat, Vec3};
use crate::state::MaximalState;
use crate::workspace::{StepData, Worst};
use leastaction_core::simd::{Exact, LANES, Portable, Simd, Task, Wide, has_wide, run_wide};

/// Largest degree whose nodes fit into the lanes.
const MAX_DEGREE: usize = LANES - 1;

/// One link at all nodes.
#[derive(Clone, Copy, Debug, Default)]
struct LinkNodes<T: Real> {
    /// Unknowns: rotation and displacement from the start, multipliers of the joint's rows.
    rho: Quat<T>,
    dx: Vec3<T>,
    lam: [T; 6],
    /// Pose, rotation matrix, from the centre of mass to the joint point, what that point has moved by.
    q: Quat<T>,
    rot: Mat3<T>,
    arm: Vec3<T>,
    moved: Vec3<T>,
    /// Impulses but for the kinetic action's, the start's momentum among those of node 0.
    given: [T; 6],
    /// Rows of the joint, as changes that would close them.
    close: [T; 6],
}

/// One closure at all nodes.
#[derive(Clone, Copy, Debug, Default)]
struct ClosureNodes<T> {
    lam: [T; 6],
    value: [T; 6],
}

/// What [`Table`] has, by columns with nodes in lanes, for steps of one length.
#[derive(Clone, Copy, Debug, Default)]
struct Columned<T> {
    h: f64,
    /// One at nodes 1 to s, zero elsewhere.
    inner: T,
    /// `w^α h`.
    kick: T,
    /// `w^α` at the nodes between start and end.
    between: T,
    /// `C^{αγ}` by γ, `−(C⁻¹)^{γα}` by α, `−C^{αγ}` by γ without the end node's row.
    mass: [T; LANES],
    inverse: [T; LANES],
    multiplier: [T; LANES],
}

/// Memory of the iteration. Holds no truth.
#[derive(Clone, Debug)]
pub(crate) struct Nodes<V: Simd> {
    s: usize,
    links: Vec<LinkNodes<Exact<V>>>,
    closures: Vec<ClosureNodes<Exact<V>>>,
    columns: Columns<Exact<V>>,
    by: Columned<Exact<V>>,
    /// Torques of the joints' forces by turns of the links, and whether they are followed in this step. (8.29)
    swung: Vec<Mat3>,
    swings: bool,
}

/// The memory for the lanes of this processor.
#[derive(Clone, Debug)]
pub(crate) enum Lanes {
    Wide(Box<Nodes<Wide>>),
    Portable(Box<Nodes<Portable>>),
}

impl Lanes {
    /// None where the mechanism or the degree is not served.
    pub(super) fn new(layout: &Layout, s: usize, nv: usize, loaded: bool) -> Option<Self> {
        let plain = |joint: &crate::layout::LinkJoint| !joint.rows.has_rows && joint.servos.is_empty();
        let served = (2..=MAX_DEGREE).contains(&s)
            && !loaded
            && layout.links.iter().all(|l| plain(&l.joint) && l.drags.is_empty() && l.spin_drag == 0.0)
            && layout.loops.iter().all(plain)
            && layout.closures.iter().all(|c| matches!(c.kind, ClosureKind::Joint))
            && layout.ties.is_empty()
            && layout.tendons.is_empty();
        served.then(|| {
            if has_wide() {
                Self::Wide(Box::new(Nodes::new(layout, s, nv)))
            } else {
                Self::Portable(Box::new(Nodes::new(layout, s, nv)))
            }
        })
    }
}

/// The lane of node `k` in every lane.
#[inline(always)]
fn lane<V: Simd>(x: Exact<V>, k: usize) -> Exact<V> {
    Exact::from_f64(x.lanes()[k])
}

#[inline(always)]
fn lanes_of<V: Simd, const N: usize>(x: &[Exact<V>; N]) -> [[f64; LANES]; N] {
    by_entry(|k| x[k].lanes())
}

/// `Σ_k columns[k] x^k` over the nodes `first..first + s`.
#[inline(always)]
fn coupled<V: Simd>(columns: &[Exact<V>; LANES], s: usize, first: usize, x: Exact<V>) -> Exact<V> {
    let mut sum = columns[first] * lane(x, first) + columns[first + 1] * lane(x, first + 1);
    if s > 2 {
        sum += columns[first + 2] * lane(x, first + 2);
    }
    sum
}

/// The largest of the lanes `nodes`.
#[inline(always)]
fn largest<V: Simd>(x: Exact<V>, nodes: std::ops::Range<usize>) -> f64 {
    let lanes = x.lanes();
    nodes.fold(0.0, |m, k| if lanes[k] > m { lanes[k] } else { m })
}

impl<V: Simd> Nodes<V> {
    fn new(layout: &Layout, s: usize, nv: usize) -> Self {
        Self {
            s,
            links: vec![LinkNodes::default(); layout.links.len()],
            closures: vec![ClosureNodes::default(); layout.closures.len()],
            columns: Columns::new(layout, nv),
            by: Columned::default(),
            swung: vec![Mat3::zero(); layout.links.len()],
            swings: false,
        }
    }

    /// Takes in the guess in `x` and what depends on the length of the step.
    #[inline(always)]
    fn take(&mut self, table: &Table, x: &Unknowns, h: f64) {
        let (s, n, nc) = (self.s, self.links.len(), self.closures.len());
        if self.by.h != h {
            self.by = Columned::new(table, h);
        }
        for (i, link) in self.links.iter_mut().enumerate() {
            // Lanes without a node, and the start's, are at the start.
            let mut rho = [[1.0, 0.0, 0.0, 0.0], [0.0; 4], [0.0; 4], [0.0; 4]];
            rho[0] = [1.0; LANES];
            let (mut dx, mut lam) = ([[0.0; LANES]; 3], [[0.0; LANES]; 6]);
            for k in 0..s {
                let (q, d, l) = (&x.rho[k * n + i], &x.dx[k * n + i], &x.lam[k * n + i]);
                rho[0][k + 1] = q.w;
                for m in 0..3 {
                    rho[m + 1][k + 1] = q.v[m];
                    dx[m][k + 1] = d[m];
                }
                for m in 0..6 {
                    lam[m][k] = l[m];
                }
            }
            let wide = |x: [f64; LANES]| Exact::<V>::from_lanes(x);
            link.rho = Quat { w: wide(rho[0]), v: Vec3([wide(rho[1]), wide(rho[2]), wide(rho[3])]) };
            link.dx = Vec3([wide(dx[0]), wide(dx[1]), wide(dx[2])]);
            link.lam = by_entry(|m| wide(lam[m]));
        }
        for (c, closure) in self.closures.iter_mut().enumerate() {
            let mut lam = [[0.0; LANES]; 6];
            for k in 0..s {
                for m in 0..6 {
                    lam[m][k] = x.closure[k * nc + c][m];
                }
            }
            closure.lam = by_entry(|m| Exact::from_lanes(lam[m]));
        }
    }

    /// Gives the solution back.
    #[inline(always)]
    fn give(&self, x: &mut Unknowns) {
        let (s, n, nc) = (self.s, self.links.len(), self.closures.len());
        for (i, link) in self.links.iter().enumerate() {
            let (w, v) = (link.rho.w.lanes(), lanes_of(&link.rho.v.0));
            let (dx, lam) = (lanes_of(&link.dx.0), lanes_of(&link.lam));
            for k in 0..s {
                let at = k * n + i;
                x.rho[at] = Quat { w: w[k + 1], v: Vec3([v[0][k + 1], v[1][k + 1], v[2][k + 1]]) };
                x.dx[at] = Vec3([dx[0][k + 1], dx[1][k + 1], dx[2][k + 1]]);
                x.lam[at] = by_entry(|m| lam[m][k]);
            }
        }
        for (c, closure) in self.closures.iter().enumerate() {
            let lam = lanes_of(&closure.lam);
            for k in 0..s {
                x.closure[k * nc + c] = by_entry(|m| lam[m][k]);
            }
        }
    }
}

impl<V: Simd> Columned<Exact<V>> {
    fn new(table: &Table, h: f64) -> Self {
        let s = table.s;
        let lanes = |nodes: std::ops::RangeInclusive<usize>, f: &dyn Fn(usize) -> f64| {
            Exact::from_lanes(std::array::from_fn(|k| if nodes.contains(&k) { f(k) } else { 0.0 }))
        };
        let columns = |nodes: std::ops::RangeInclusive<usize>, f: &dyn Fn(usize, usize) -> f64| {
            std::array::from_fn(|column| {
                lanes(nodes.clone(), &|k| if column <= s { f(k, column) } else { 0.0 })
            })
        };
        Self {
            h,
            inner: lanes(1..=s, &|_| 1.0),
            kick: lanes(0..=s, &|al| table.w[al] * h),
            between: lanes(1..=s - 1, &|al| table.w[al]),
            mass: columns(0..=s, &|al, ga| table.mass[al][ga] / h),
            inverse: columns(1..=s, &|ga, al| -h * table.mass_inverse[ga][al]),
            multiplier: columns(0..=s - 1, &|al, ga| -table.mass[al][ga] / h),
        }
    }
}

/// A solve in lanes, compiled for them.
struct Solve<'a, V: Simd> {
    nodes: &'a mut Nodes<V>,
    memory: &'a mut CurveMemory,
    layout: &'a Layout,
    graph: &'a Graph,
    state: &'a MaximalState,
    step: &'a StepData,
    tolerance: f64,
    ldu: &'a mut Ldu,
}

struct InLanes<'a, V: Simd> {
    nodes: &'a mut Nodes<V>,
    layout: &'a Layout,
    graph: &'a Graph,
    state: &'a MaximalState,
    ldu: &'a Ldu,
    tolerance: f64,
}

impl<V: Simd> Iteration for InLanes<'_, V> {
    #[inline(always)]
    fn evaluate(&mut self, memory: &mut CurveMemory) -> bool {
        self.nodes.evaluate(memory, self.layout, self.state)
    }
    #[inline(always)]
    fn improve(&mut self, memory: &mut CurveMemory) -> Worst {
        self.nodes.improve(memory, self.layout, self.graph, self.ldu, self.tolerance)
    }
}

impl<V: Simd> Task for Solve<'_, V> {
    type Output = super::chord::Outcome;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { nodes, memory, layout, graph, state, step, tolerance, ldu } = self;
        if !memory.foresees {
            memory.factor_middle(layout, graph, state, step, ldu);
        }
        nodes.take(&memory.table, &memory.x, step.h);
        nodes.swing_forces(memory, layout, step.h);
        let mut lanes = InLanes { nodes, layout, graph, state, ldu, tolerance };
        let outcome = memory.iterate(step, tolerance, &mut lanes);
        if outcome.converged {
            nodes.give(&mut memory.x);
            nodes.end(memory, layout, state);
            memory.summed = true;
        }
        outcome
    }
}

impl CurveMemory {
    /// [`solve_chord`](Self::solve_chord) in lanes, where they serve this step. Does not allocate.
    pub(super) fn solve_lanes(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        state: &MaximalState,
        step: &StepData,
        tolerance: f64,
        ldu: &mut Ldu,
    ) -> Option<super::chord::Outcome> {
        if step.driven {
            return None;
        }
        let mut lanes = self.lanes.take()?;
        let outcome = match &mut lanes {
            Lanes::Wide(nodes) => {
                run_wide(Solve { nodes, memory: self, layout, graph, state, step, tolerance, ldu })
            }
            Lanes::Portable(nodes) => {
                Solve { nodes, memory: self, layout, graph, state, step, tolerance, ldu }.run()
            }
        };
        self.lanes = Some(lanes);
        Some(outcome)
    }
}

impl<V: Simd> Nodes<V> {
    /// Poses and geometry of the end node, the momenta there, and the rows of the closures.
    #[inline(always)]
    fn end(&self, memory: &mut CurveMemory, layout: &Layout, state: &MaximalState) {
        let s = self.s;
        let CurveMemory { nodes, leaving, x, .. } = memory;
        let node = &mut nodes[s - 1];
        let at = |x: Exact<V>| x.lanes()[s];
        for (i, link) in self.links.iter().enumerate() {
            node.poses[i] = x.pose(self.links.len(), s, i, &state.poses[i]);
            node.side.place_link(layout, i, &node.poses);
            for (sum, x) in leaving[i].iter_mut().zip(&link.given) {
                let [a, b, c, d] = x.lanes();
                // Lanes beyond the end hold nothing.
                *sum = ((a + b) + c) + d;
            }
        }
        node.side.place_loops(layout, &node.poses);
        for (value, closure) in node.closure.iter_mut().zip(&self.closures) {
            *value = by_entry(|m| at(closure.value[m]));
        }
    }
}
