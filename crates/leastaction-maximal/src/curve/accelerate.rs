//! Directions of the iteration with one mass matrix, made better by those before them. (8.28)
//!
//! What the mass matrix leaves out, stiffness by constraint forces and a part of the dampers, is nearly linear within a step: how
//! much the direction changed when the last one was taken shows what it does to that one. Of every direction the part that
//! lies along such changes is taken out, and what has to be taken for it is put in.

use crate::constraint::angular_rows;
use crate::layout::{ClosureKind, Layout, row_count};
use crate::scalar::{Real, by_entry};
use leastaction_core::simd::{Exact, Simd};

/// What must be left of a change when those remembered are taken out of it, squared.
const NEW: f64 = 1e-4;

/// Numbers that are added up to one: plain ones, and lanes.
pub(super) trait Total: Real {
    fn total(self) -> f64;
}

impl Total for f64 {
    #[inline(always)]
    fn total(self) -> f64 {
        self
    }
}

impl<V: Simd> Total for Exact<V> {
    #[inline(always)]
    fn total(self) -> f64 {
        let [a, b, c, d] = self.lanes();
        ((a + b) + c) + d
    }
}

/// Where a direction has what, by node: of links `[Ω; v]`, then the multipliers of their joints, of closures, of held coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    links: usize,
    closures: usize,
    held: usize,
}

impl Places {
    fn per_node(&self) -> usize {
        2 * self.links + self.closures + self.held.div_ceil(6)
    }
    #[inline(always)]
    pub(super) fn link(&self, node: usize, i: usize) -> usize {
        node * self.per_node() + i
    }
    #[inline(always)]
    pub(super) fn joint(&self, node: usize, i: usize) -> usize {
        self.link(node, self.links + i)
    }
    #[inline(always)]
    pub(super) fn closure(&self, node: usize, c: usize) -> usize {
        self.joint(node, self.links + c)
    }
    #[inline(always)]
    pub(super) fn held(&self, node: usize, k: usize) -> (usize, usize) {
        (self.closure(node, self.closures + k / 6), k % 6)
    }
}

/// A change of the direction, of length one, and what is taken for it.
#[derive(Clone, Debug)]
struct Change<T> {
    change: Vec<[T; 6]>,
    taken: Vec<[T; 6]>,
}

/// Memory of one solve, of `DEPTH` changes. Holds no truth.
#[derive(Clone, Debug)]
pub(super) struct Acceleration<T, const DEPTH: usize> {
    pub(super) at: Places,
    /// The direction that the mass matrix gives, then the one to take.
    pub(super) direction: Vec<[T; 6]>,
    /// The last one that the mass matrix gave, and what was taken beyond it.
    last: Vec<[T; 6]>,
    beyond: Vec<[T; 6]>,
    changes: [Change<T>; DEPTH],
    /// What each entry of a node weighs in products: directions are turns, lengths of the mechanism, and impulses by
    /// the speeds that they give to all that hangs on their joint.
    weights: Vec<[f64; 6]>,
    count: usize,
    next: usize,
    any: bool,
}

impl<T: Total, const DEPTH: usize> Acceleration<T, DEPTH> {
    pub(super) fn new(layout: &Layout, nodes: usize, held: usize) -> Self {
        let at = Places { links: layout.links.len(), closures: layout.closures.len(), held };
        let zero = || vec![[T::zero(); 6]; nodes * at.per_node()];
        Self {
            at,
            direction: zero(),
            last: zero(),
            beyond: zero(),
            changes: std::array::from_fn(|_| Change { change: zero(), taken: zero() }),
            weights: weights(layout, &at),
            count: 0,
            next: 0,
            any: false,
        }
    }

    /// Another solve begins.
    pub(super) fn forget(&mut self) {
        (self.count, self.next, self.any) = (0, 0, false);
    }

    /// From the direction that the mass matrix gives, the one to take: the same, unless directions fall slowly. Does not
    /// allocate.
    #[inline(always)]
    pub(super) fn accelerate(&mut self, slow: bool) {
        if !self.any || !slow {
            self.last.copy_from_slice(&self.direction);
            self.beyond.fill([T::zero(); 6]);
            self.any = true;
            return;
        }
        let Self { direction, last, beyond, changes, weights, .. } = self;
        let (at, count) = (self.next, self.count);
        // The change against itself, the direction and the changes remembered, and these against the direction.
        // One change alone has no others, and no loops over them.
        let count = if DEPTH == 1 { 0 } else { count };
        let others = |k: &usize| *k != at;
        let (mut whole, mut along) = (T::zero(), T::zero());
        let (mut common, mut share) = ([T::zero(); DEPTH], [T::zero(); DEPTH]);
        for (i, w) in (0..direction.len()).zip(weights.iter().cycle()) {
            for m in 0..6 {
                let f = direction[i][m];
                let new = f - last[i][m];
                let weighed = new * w[m];
                whole += weighed * new;
                along += weighed * f;
                for k in (0..count).filter(others) {
                    let old = changes[k].change[i][m];
                    common[k] += weighed * old;
                    share[k] += f * w[m] * old;
                }
            }
        }
        let (whole, mut along) = (whole.total(), along.total());
        let (common, mut share) = (common.map(T::total), share.map(T::total));
        let mut left = whole;
        for k in (0..count).filter(others) {
            left -= common[k] * common[k];
            along -= common[k] * share[k];
        }
        let good = left > NEW * whole && left.is_finite();
        let scale = if good { 1.0 / left.sqrt() } else { 0.0 };
        share[at] = along * scale;
        for i in 0..direction.len() {
            let f = direction[i];
            let mut new: [T; 6] = by_entry(|m| f[m] - last[i][m]);
            let mut taken: [T; 6] = by_entry(|m| f[m] + beyond[i][m]);
            let mut to = f;
            for k in (0..count).filter(others) {
                let old = &changes[k];
                new = by_entry(|m| new[m] - old.change[i][m] * common[k]);
                taken = by_entry(|m| taken[m] - old.taken[i][m] * common[k]);
                to = by_entry(|m| to[m] - old.taken[i][m] * share[k]);
            }
            taken = by_entry(|m| taken[m] * scale);
            to = by_entry(|m| to[m] - taken[m] * share[at]);
            changes[at].change[i] = by_entry(|m| new[m] * scale);
            changes[at].taken[i] = taken;
            (last[i], beyond[i], direction[i]) = (f, by_entry(|m| to[m] - f[m]), to);
        }
        if good {
            self.count = count.max(at + 1);
            self.next = (at + 1) % DEPTH;
        } else {
            // A change like those remembered, or nothing that can be used: the list starts again.
            (self.count, self.next) = (0, 0);
        }
    }
}

/// See [`Acceleration::weights`].
fn weights(layout: &Layout, at: &Places) -> Vec<[f64; 6]> {
    let mut carried: Vec<f64> = layout.links.iter().map(|l| l.mass).collect();
    for i in (0..carried.len()).rev() {
        if let Some(parent) = layout.links[i].parent {
            carried[parent] += carried[i];
        }
    }
    let per = 1.0 / (layout.length * layout.length);
    let impulses = |mass: f64, angular: usize, rows: usize| -> [f64; 6] {
        std::array::from_fn(|r| {
            let unit = if r < angular { per * per } else { per };
            if r < rows { unit / (mass * mass) } else { 0.0 }
        })
    };
    let mut out = vec![[0.0; 6]; at.per_node()];
    for (i, link) in layout.links.iter().enumerate() {
        out[at.link(0, i)] = [1.0, 1.0, 1.0, per, per, per];
        let kind = link.joint.kind;
        out[at.joint(0, i)] = impulses(carried[i], angular_rows(kind), row_count(kind));
    }
    for (c, closure) in layout.closures.iter().enumerate() {
        let mass = [closure.a, closure.b].iter().flatten().map(|i| carried[*i]).fold(0.0, f64::max);
        let angular = match closure.kind {
            ClosureKind::Joint => angular_rows(layout.loops[closure.index].kind),
            // Forces along coordinates follow from the other rows.
            ClosureKind::Coordinates => continue,
            ClosureKind::Rolling(_) => 0,
        };
        out[at.closure(0, c)] = impulses(mass, angular, closure.rows);
    }
    out
}
