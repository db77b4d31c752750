//! Symbolic phase: the elimination order and where every block lives, once per topology.
//!
//! Nodes are *pairs* (a link and its tree joint, eliminated together through the null space of the joint's rows)
//! and *closures*. The order is greedy by flops with an eligibility rule: (3.19)
//!
//! - a pair is eligible once its children are eliminated, and the closures whose cycle ends at it;
//! - a closure is eligible once every pair of its cycle below the lowest common link is eliminated. Its pivot is
//!   then deficient exactly by the self-stresses of its loop: the closure's rows do not feel a rigid motion of the
//!   whole cycle, so a force that does no work below the lowest common link does none on that link either.
//!
//! Trees have no fill, whatever the branching; a closure travels up its cycle and disappears at the top.

use super::layout::Layout;

/// A closure carried by a link while that link is eliminated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    pub(crate) closure: usize,
    /// Block of the closure at this link.
    pub(crate) slot: usize,
    /// Block of the closure at the parent link; `None` if the parent is the ground.
    pub(crate) parent_slot: Option<usize>,
}

/// Fill between two closures carried by one link: `(position in the carried list, position, block)`.
pub(crate) type Fill = (usize, usize, usize);

/// One elimination.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A link and its joint.
    Pair { link: usize, carried: Vec<Carried>, fill: Vec<Fill> },
    /// A closure: its block at the link it still touches, and the closures it is filled with.
    Closure {
        closure: usize,
        /// Link and slot.
        at: Option<(usize, usize)>,
        /// `(other, block F[closure, other], block F[other, closure], slot of other at the link)`.
        others: Vec<(usize, usize, usize, Option<usize>)>,
        /// Updated blocks `(position in others, position in others, block)`.
        fill: Vec<Fill>,
    },
}

/// The elimination order and the sizes of the block arrays.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) ops: Vec<Op>,
    /// Number of closure–link blocks.
    pub(crate) slots: usize,
    /// Number of closure–closure blocks; the diagonal blocks come first.
    pub(crate) blocks: usize,
    /// Slots where closure `c` starts: at its parent-side and child-side link.
    pub(crate) ends: Vec<[Option<usize>; 2]>,
    /// Estimated flops of one numeric factorization.
    pub(crate) flops: f64,
}

/// Flops to eliminate a node of dimension `d` with neighbours of total dimension `n` (dense blocks).
fn cost(d: f64, n: f64) -> f64 {
    2.0 / 3.0 * d * d * d + 2.0 * d * d * n + 2.0 * d * n * n
}

fn path_to_ground(layout: &Layout, from: Option<usize>) -> Vec<usize> {
    std::iter::successors(from, |&i| layout.links[i].parent).collect()
}

/// The links that a closure makes a loop of.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    /// The lowest link that both its ends hang from; `None` is the ground.
    pub(crate) top: Option<usize>,
    /// Links strictly below it, those above the closure's parent first; with the sign that a force of the closure on its child
    /// has in the joint of the link.
    pub(crate) below: Vec<(usize, f64)>,
}

/// The cycles of all closures.
pub(crate) fn cycles(layout: &Layout) -> Vec<Cycle> {
    let of = |closure: &super::layout::Closure| {
        let (mut pa, mut pb) = (path_to_ground(layout, closure.a), path_to_ground(layout, closure.b));
        let mut top = None;
        while let (Some(x), Some(y)) = (pa.last(), pb.last()) {
            if x != y {
                break;
            }
            top = Some(*x);
            pa.pop();
            pb.pop();
        }
        let below = pa.into_iter().map(|i| (i, 1.0)).chain(pb.into_iter().map(|i| (i, -1.0))).collect();
        Cycle { top, below }
    };
    layout.closures.iter().map(of).collect()
}

impl Graph {
    pub(crate) fn new(layout: &Layout) -> Self {
        let (n, nc) = (layout.links.len(), layout.closures.len());
        let cycles = cycles(layout);
        let mut builder = Builder {
            touches: vec![Vec::new(); nc],
            at_link: vec![Vec::new(); n],
            adjacent: vec![vec![]; nc],
            slots: 0,
            blocks: nc,
            table: Default::default(),
        };
        let mut ends = vec![[None; 2]; nc];
        for (c, closure) in layout.closures.iter().enumerate() {
            for (side, link) in [closure.a, closure.b].into_iter().enumerate() {
                if let Some(link) = link {
                    ends[c][side] = Some(builder.slot(c, link));
                }
            }
        }
        let mut waiting: Vec<usize> = vec![0; n]; // children and closures a pair waits for
        for link in &layout.links {
            if let Some(p) = link.parent {
                waiting[p] += 1;
            }
        }
        let mut open: Vec<usize> = cycles.iter().map(|cycle| cycle.below.len()).collect();
        let mut on_cycle: Vec<Vec<usize>> = vec![Vec::new(); n];
        for c in 0..nc {
            if let Some(t) = cycles[c].top {
                waiting[t] += 1;
            }
            for &(i, _) in &cycles[c].below {
                on_cycle[i].push(c);
            }
        }
        // Eligible nodes by cost; later links first among equals, so that a chain is swept from its tip.
        let rows = |c: usize| layout.closures[c].rows as f64;
        let mut ready: Vec<Node> = (0..n).filter(|&i| waiting[i] == 0).map(Node::Pair).collect();
        ready.extend((0..nc).filter(|&c| open[c] == 0).map(Node::Closure));
        let mut heap = std::collections::BinaryHeap::new();
        let price = |node: Node, b: &Builder| match node {
            Node::Pair(i) => {
                let carried: f64 = b.carried(i).map(rows).sum();
                cost(6.0, carried + if layout.links[i].parent.is_some() { 6.0 } else { 0.0 })
            }
            Node::Closure(c) => {
                let others: f64 = b.adjacent[c].iter().map(|&o| rows(o)).sum();
                cost(rows(c), others + 6.0 * b.touches[c].len() as f64)
            }
        };
        for node in ready {
            heap.push(Entry::new(price(node, &builder), node, n));
        }
        let mut ops = Vec::with_capacity(n + nc);
        let mut flops = 0.0;
        while let Some(entry) = heap.pop() {
            let now = price(entry.node, &builder);
            if now > entry.cost {
                heap.push(Entry::new(now, entry.node, n));
                continue;
            }
            flops += now;
            match entry.node {
                Node::Pair(i) => {
                    ops.push(builder.eliminate_pair(i, layout.links[i].parent));
                    for &c in &on_cycle[i] {
                        open[c] -= 1;
                        if open[c] == 0 {
                            heap.push(Entry::new(price(Node::Closure(c), &builder), Node::Closure(c), n));
                        }
                    }
                    if let Some(p) = layout.links[i].parent {
                        waiting[p] -= 1;
                        if waiting[p] == 0 {
                            heap.push(Entry::new(price(Node::Pair(p), &builder), Node::Pair(p), n));
                        }
                    }
                }
                Node::Closure(c) => {
                    ops.push(builder.eliminate_closure(c));
                    if let Some(p) = cycles[c].top {
                        waiting[p] -= 1;
                        if waiting[p] == 0 {
                            heap.push(Entry::new(price(Node::Pair(p), &builder), Node::Pair(p), n));
                        }
                    }
                }
            }
        }
        debug_assert_eq!(ops.len(), n + nc);
        Self { ops, slots: builder.slots, blocks: builder.blocks, ends, flops }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Pair(usize),
    Closure(usize),
}

/// A heap entry: cheapest first, then closures, then later links.
struct Entry {
    cost: f64,
    rank: usize,
    node: Node,
}

impl Entry {
    fn new(cost: f64, node: Node, n: usize) -> Self {
        let rank = match node {
            Node::Pair(i) => i,
            Node::Closure(c) => n + c,
        };
        Self { cost, rank, node }
    }
}
impl PartialEq for Entry {
    fn eq(&self, o: &Self) -> bool {
        self.cmp(o).is_eq()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, o: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Entry {
    fn cmp(&self, o: &Self) -> std::cmp::Ordering {
        o.cost.total_cmp(&self.cost).then(self.rank.cmp(&o.rank))
    }
}

struct Builder {
    /// Links that each closure touches now, with the slots.
    touches: Vec<Vec<(usize, usize)>>,
    /// Closures that touch each link now.
    at_link: Vec<Vec<usize>>,
    /// Closures that each closure is filled with now.
    adjacent: Vec<Vec<usize>>,
    slots: usize,
    blocks: usize,
    table: std::collections::HashMap<(usize, usize), usize>,
}

impl Builder {
    fn slot(&mut self, c: usize, link: usize) -> usize {
        if let Some((_, slot)) = self.touches[c].iter().find(|(l, _)| *l == link) {
            return *slot;
        }
        self.touches[c].push((link, self.slots));
        self.at_link[link].push(c);
        self.slots += 1;
        self.slots - 1
    }

    fn carried(&self, link: usize) -> impl Iterator<Item = usize> + '_ {
        self.at_link[link].iter().copied()
    }

    fn block(&mut self, row: usize, column: usize) -> usize {
        if row == column {
            return row;
        }
        if let Some(b) = self.table.get(&(row, column)) {
            return *b;
        }
        for (r, c) in [(row, column), (column, row)] {
            self.table.insert((r, c), self.blocks);
            self.blocks += 1;
        }
        self.adjacent[row].push(column);
        self.adjacent[column].push(row);
        self.table[&(row, column)]
    }

    fn eliminate_pair(&mut self, link: usize, parent: Option<usize>) -> Op {
        let closures = std::mem::take(&mut self.at_link[link]);
        let mut carried = Vec::with_capacity(closures.len());
        for &c in &closures {
            let position = self.touches[c].iter().position(|(l, _)| *l == link).unwrap_or(0);
            let slot = self.touches[c].swap_remove(position).1;
            let parent_slot = parent.map(|p| self.slot(c, p));
            carried.push(Carried { closure: c, slot, parent_slot });
        }
        let mut fill = Vec::new();
        for i in 0..closures.len() {
            for k in 0..closures.len() {
                fill.push((i, k, self.block(closures[i], closures[k])));
            }
        }
        Op::Pair { link, carried, fill }
    }

    fn eliminate_closure(&mut self, c: usize) -> Op {
        debug_assert!(self.touches[c].len() <= 1);
        let at = self.touches[c].pop();
        if let Some((link, _)) = at {
            self.at_link[link].retain(|&x| x != c);
        }
        let neighbours = std::mem::take(&mut self.adjacent[c]);
        let mut others = Vec::with_capacity(neighbours.len());
        for &o in &neighbours {
            self.adjacent[o].retain(|&x| x != c);
            let slot = at.map(|(link, _)| self.slot(o, link));
            others.push((o, self.block_of(c, o), self.block_of(o, c), slot));
        }
        let mut fill = Vec::new();
        for i in 0..neighbours.len() {
            for k in 0..neighbours.len() {
                fill.push((i, k, self.block(neighbours[i], neighbours[k])));
            }
        }
        Op::Closure { closure: c, at, others, fill }
    }

    fn block_of(&self, row: usize, column: usize) -> usize {
        self.table[&(row, column)]
    }
}
