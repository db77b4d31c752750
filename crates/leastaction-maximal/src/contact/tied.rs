//! Rows over several joints beside contact: joints that follow others, limits of tendons, of whole turns and of loop joints.
//!
//! Such a row acts on many links, and would be a node over all of them in the elimination; there are few, so each stands beside the
//! factored matrix as a column, as in (7.10), with the law of its kind:
//!
//! ```text
//! X = K⁻¹ hᵀ,   (A g X + B̃) δη = −r − A g w,   w += X δη                                              (9.26)
//! ```
//!
//! with the gradient `h` where the impulses act and `g` that of the velocities. What always holds has the law of a friction
//! without bound.

use super::super::coordinate::increments;
use super::super::geometry::{Geometry, Side};
use super::super::layout::Layout;
use super::super::ldu::{Six, System, dot};
use super::super::state::MaximalState;
use super::super::ties::{Coordinates, JointAt, Part, Still};
use super::dense::solve_in_place;
use super::item::{Item, Kind};
use super::memory::{ContactMemory, Probe};
use super::rows::{gap, touch};
use crate::contact_law::Touch;

/// A row over several joints with its gradients.
#[derive(Clone, Debug)]
pub(crate) struct TiedRow {
    /// Its place among the ties of the layout.
    tie: usize,
    /// Which way it acts: −1 at an upper limit.
    sign: f64,
    /// Links and wrenches about their joint points: of the impulse, and of the velocity.
    force: Vec<(usize, Six)>,
    rate: Vec<(usize, Six)>,
    slopes: Vec<f64>,
    /// `K⁻¹ hᵀ`.
    column: System,
}

/// Coordinates at the end of an interval under way.
struct Moved<'a> {
    still: Still<'a>,
    end: &'a Side,
    h: f64,
}

impl Coordinates for Moved<'_> {
    fn start(&self, part: &Part) -> f64 {
        self.still.start(part)
    }
    fn change(&self, part: &Part) -> f64 {
        let mut change = [0.0; 6];
        let (from, to) = (part.joint.geometry(self.still.side), part.joint.geometry(self.end));
        increments(part.joint.of(self.still.layout).kind, from, to, &mut change);
        change[part.c]
    }
    fn geometry(&self, joint: JointAt) -> &Geometry {
        joint.geometry(self.end)
    }
    fn time(&self) -> (f64, f64) {
        (self.still.t, self.h)
    }
}

fn still<'a>(layout: &'a Layout, state: &'a MaximalState) -> Still<'a> {
    Still { layout, side: &state.side, q: &state.q, q_loop: &state.q_loop, t: state.t }
}

impl TiedRow {
    pub(super) fn new(layout: &Layout, tie: usize, sign: f64) -> Self {
        let parts = layout.ties[tie].parts.len();
        Self {
            tie,
            sign,
            force: Vec::with_capacity(2 * parts),
            rate: Vec::with_capacity(2 * parts),
            slopes: vec![0.0; parts],
            column: System::default(),
        }
    }

    /// The scalar at a node.
    pub(super) fn value(&mut self, layout: &Layout, state: &MaximalState) -> f64 {
        layout.ties[self.tie].measure(0.0, &still(layout, state), &mut self.slopes)
    }

    /// Takes both gradients from a node.
    pub(super) fn aim(&mut self, layout: &Layout, state: &MaximalState) {
        self.value(layout, state);
        gradient(layout, self.tie, self.sign, &state.side, &self.slopes, &mut self.force);
        self.rate.clone_from(&self.force);
    }

    /// The scalar at the end of an interval under way, and the gradient of the velocities there.
    pub(super) fn follow(&mut self, layout: &Layout, state: &MaximalState, end: &Side, h: f64) -> f64 {
        let at = Moved { still: still(layout, state), end, h };
        let value = layout.ties[self.tie].measure(0.0, &at, &mut self.slopes);
        gradient(layout, self.tie, self.sign, end, &self.slopes, &mut self.rate);
        value
    }

    /// Distance from a limit at the end of an interval under way.
    pub(super) fn gap_after(
        &mut self,
        value: f64,
        layout: &Layout,
        state: &MaximalState,
        end: &Side,
        h: f64,
    ) -> f64 {
        self.sign * (self.follow(layout, state, end, h) - value)
    }

    /// Velocity of the row by the links' velocities.
    pub(super) fn rate(&self, w: &[Six]) -> f64 {
        self.rate.iter().map(|(i, g)| dot(g, &w[*i])).sum()
    }

    /// Adds an impulse of the row to those on the links.
    pub(super) fn push(&self, impulse: f64, out: &mut [Six]) {
        self.on_links(impulse, |i, g| (0..6).for_each(|k| out[i][k] += g[k]));
    }

    /// Calls `each(link, impulse)` for an impulse of the row, about the links' joint points.
    pub(super) fn on_links(&self, impulse: f64, mut each: impl FnMut(usize, &Six)) {
        for (i, g) in &self.force {
            each(*i, &g.map(|x| impulse * x));
        }
    }
}

fn gradient(
    layout: &Layout,
    tie: usize,
    sign: f64,
    side: &Side,
    slopes: &[f64],
    out: &mut Vec<(usize, Six)>,
) {
    out.clear();
    layout.ties[tie].gradient(layout, side, slopes, |i, g| out.push((i, g.map(|x| sign * x))));
}

/// An item at a node; rows over several joints have their distance as the gap.
pub(super) fn touch_at(item: &Item, tied: &mut [TiedRow], layout: &Layout, state: &MaximalState) -> Touch {
    match item.kind {
        Kind::Pair { .. } => touch(item, &state.side, &state.poses, &state.q),
        _ => Touch { gap: gap_at(item, tied, layout, state), ..Touch::default() },
    }
}

/// Its gap alone.
#[inline]
pub(super) fn gap_at(item: &Item, tied: &mut [TiedRow], layout: &Layout, state: &MaximalState) -> f64 {
    match item.kind {
        Kind::Tied { row, value: Some(value) } => tied[row].sign * (tied[row].value(layout, state) - value),
        _ => gap(item, &state.side, &state.poses, &state.q),
    }
}

/// Dense matrix and right-hand side of the rows that act.
#[derive(Clone, Debug, Default)]
pub(crate) struct TiedSystem {
    acting: Vec<usize>,
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl ContactMemory {
    /// Makes the solution at hand obey the rows over several joints, and proposes changes of their impulses. With `whole` the
    /// solution is the velocities, not their change. False if there is none. (9.26)
    pub(super) fn tie(&mut self, x: &Side, v: &Side, whole: bool) -> bool {
        if self.tied.is_empty() {
            return true;
        }
        let Self { items, probes, live, tied, tied_system, layout, graph, ldu, system, smoothing, .. } = self;
        let TiedSystem { acting, matrix, right } = tied_system;
        acting.clear();
        acting.extend(live.iter().filter(|k| probes[**k].active && items[**k].is_tied()));
        let m = acting.len();
        matrix.clear();
        matrix.resize(m * m, 0.0);
        right.clear();
        right.resize(m, 0.0);
        let row_of = |k: usize| if let Kind::Tied { row, .. } = items[k].kind { row } else { 0 };
        for &k in acting.iter() {
            let row = row_of(k);
            let mut column = std::mem::take(&mut tied[row].column);
            column.clone_from(system);
            column.rest();
            tied[row].push(1.0, &mut column.body);
            ldu.solve(layout, graph, x, v, &mut column);
            tied[row].column = column;
        }
        for (a, &k) in acting.iter().enumerate() {
            let (item, probe, row) = (&items[k], &probes[k], &tied[row_of(k)]);
            let [r, by_velocity, by_impulse] = probe.one_row(item, *smoothing).map(|x| x / item.rho);
            let known = if whole { by_velocity * probe.u[0] } else { 0.0 };
            right[a] = known - r - by_velocity * row.rate(&system.body);
            for (b, &other) in acting.iter().enumerate() {
                matrix[a * m + b] = by_velocity * row.rate(&tied[row_of(other)].column.body);
            }
            matrix[a * m + a] += by_impulse;
        }
        if m > 0 && !solve_in_place(m, matrix, right) {
            return false;
        }
        for (&k, &change) in acting.iter().zip(right.iter()) {
            probes[k].change = [change, 0.0, 0.0];
            let column = &tied[row_of(k)].column;
            let add = |to: &mut [Six], from: &[Six]| {
                for (to, from) in to.iter_mut().zip(from) {
                    (0..6).for_each(|k| to[k] += change * from[k]);
                }
            };
            add(&mut system.body, &column.body);
            add(&mut system.wrench, &column.wrench);
            add(&mut system.closure, &column.closure);
            system.rate.iter_mut().zip(&column.rate).for_each(|(to, from)| *to += change * from);
        }
        true
    }
}

impl Probe {
    /// Velocity of a row over several joints at the end of an interval under way.
    pub(super) fn measure_tied(
        &mut self,
        value: Option<f64>,
        row: &mut TiedRow,
        layout: &Layout,
        state: &MaximalState,
        end: &Side,
        h: f64,
    ) {
        self.end.gap = match value {
            Some(value) => row.gap_after(value, layout, state, end, h),
            None => row.follow(layout, state, end, h),
        };
        self.u = [(self.end.gap - self.floor) / h, 0.0, 0.0];
    }
}
