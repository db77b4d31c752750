//! Numeric factorization and solution of the Newton matrix, in place, in the order of [`graph`](super::graph).
//!
//! A pair (link b, its joint) is eliminated through the null space of the joint's rows. With `N_v` spanning the
//! null space of the velocity rows (end pose), `N_x` that of the force rows (start pose), `T` the rigid transport
//! from the parent, `w_p` a particular solution, `A, B` the rows and columns of carried closures:
//!
//! ```text
//! w_b = T_v w_a + w_p + N_v ξ                     velocity rows hold
//! P   = N_xᵀ D N_v (+ force rows of the coordinates)
//! D_a += T_xᵀ (D − D N_v P⁻¹ N_xᵀ D) T_v           parent's block
//! A_a  = A (1 − N_v P⁻¹ N_xᵀ D) T_v,   B_a = T_xᵀ (1 − D N_v P⁻¹ N_xᵀ) B,   F_cc −= A N_v P⁻¹ N_xᵀ B
//! ```
//!
//! which is the Schur complement of the 6×6 and 5×5 pivots of the joint's dense elimination at the price of a pivot
//! of the joint's freedom. (3.15) to (3.18). Closures have dense pivots of at most 6×6, factored with full pivoting
//! and a rank decision. (3.20)

mod algebra;
mod ball;
mod closure;
mod columns;
mod pair;
mod solve;
mod transposed;

pub(crate) use algebra::{Block, Six, add_wrench, angular, dot, linear, six, transport};
pub(crate) use closure::RANK_TOLERANCE;
pub(crate) use columns::{Columns, Solved};

use super::geometry::Side;
use super::graph::{Graph, Op};
use super::layout::{Layout, Link};
use algebra::{ZERO, unit};
use leastaction_core::simd::{Task, run_widest};

/// [`Ldu::factor`].
struct Factor<'a> {
    ldu: &'a mut Ldu,
    layout: &'a Layout,
    graph: &'a Graph,
    x: &'a Side,
    v: &'a Side,
}
impl Task for Factor<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.ldu.factor_inlined(self.layout, self.graph, self.x, self.v);
    }
}

/// Right-hand sides in, solution out.
#[derive(Clone, Debug, Default)]
pub(crate) struct System {
    /// Per link: impulse rows about the joint point, world axes; replaced by the solution `[Ω; v]`.
    pub(crate) body: Vec<Six>,
    /// Per link: particular solution of the joint's velocity rows.
    pub(crate) particular: Vec<Six>,
    /// Per velocity coordinate: constant part of the coordinate's force row.
    pub(crate) force: Vec<f64>,
    /// Per closure: velocity rows; replaced by the multipliers.
    pub(crate) closure: Vec<Six>,
    /// Per link: wrench of the joint on its child, about the joint point.
    pub(crate) wrench: Vec<Six>,
    /// Per velocity coordinate: joint rate.
    pub(crate) rate: Vec<f64>,
    /// Per velocity coordinate: right-hand side of an active limit row.
    pub(crate) limit: Vec<f64>,
    /// Per velocity coordinate: rate that the limit row asks for by itself.
    shift: Vec<f64>,
}

impl System {
    pub(crate) fn new(layout: &Layout, nv: usize) -> Self {
        let n = layout.links.len();
        Self {
            body: vec![[0.0; 6]; n],
            particular: vec![[0.0; 6]; n],
            force: vec![0.0; nv],
            closure: vec![[0.0; 6]; layout.closures.len()],
            wrench: vec![[0.0; 6]; n],
            rate: vec![0.0; nv],
            limit: vec![0.0; nv],
            shift: vec![0.0; nv],
        }
    }

    /// Zeros on every right-hand side.
    pub(crate) fn rest(&mut self) {
        self.body.fill([0.0; 6]);
        self.particular.fill([0.0; 6]);
        self.closure.fill([0.0; 6]);
        self.force.fill(0.0);
        self.limit.fill(0.0);
    }
}

/// What is done with rows of a closure that depend on others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Directions below the rank tolerance are dropped by a generalised inverse, unless the data is misaligned. (3.20)
    #[default]
    Dropping,
    /// Rows are chosen one by one, each by its pivot against its own size; the others are out of use. (8.11)
    Choosing,
    /// The same at a pose that is only near the constraints.
    Foreseen,
    /// Every row that is there is used.
    Full,
}

/// The block matrix and its factors.
#[derive(Clone, Debug)]
pub(crate) struct Ldu {
    /// Per link: diagonal block; holds the accumulated block after the factorization.
    pub(crate) diagonal: Vec<Block>,
    /// Per velocity coordinate: null space of the force rows and of the velocity rows.
    pub(crate) n_x: Vec<Six>,
    pub(crate) n_v: Vec<Six>,
    /// Per velocity coordinate: rows `N_xᵀD`, columns `D N_v P⁻¹`.
    left: Vec<Six>,
    right: Vec<Six>,
    /// Per velocity coordinate: rows of `P⁻¹`.
    inverse: Vec<Six>,
    /// Per velocity coordinate: the same before the limits' scaling; only with active limits.
    unscaled: Vec<Six>,
    /// Per velocity coordinate: what force rows add to the pivot (row of a small matrix).
    pub(crate) stiffness: Vec<Six>,
    /// Per velocity coordinate: a limit's slopes `(κ, δ)`: `δ(Pξ − y) + κξ = z`; `(0, 1)` without a limit.
    pub(crate) limit: Vec<[f64; 2]>,
    /// True if any limit row is active: pivots then take the general path.
    pub(crate) limits_active: bool,
    /// Closure–link blocks: velocity rows `A` and (transposed) force columns `B`.
    pub(crate) a: Vec<Block>,
    pub(crate) b: Vec<Block>,
    /// Closure–link blocks times null spaces: `A N_v` and `(N_xᵀB)ᵀ`, rows by closure row.
    an: Vec<Block>,
    bn: Vec<Block>,
    /// Closure–closure blocks.
    pub(crate) cc: Vec<Block>,
    /// Per closure: generalised inverse of the pivot.
    pivot: Vec<Block>,
    /// Per closure: sizes of its rows against the bare links, by which its pivots are judged.
    pub(crate) size: Vec<Six>,
    pub(crate) rank: Rank,
    /// Per closure: rows in use, as chosen last.
    pub(crate) kept: Vec<[bool; 6]>,
    /// False if some row was in use, or not, by a narrow margin.
    pub(crate) clear_cut: bool,
    /// Constraint directions dropped by the last factorization.
    pub(crate) dropped: u32,
    /// Block operations of the last factorization (counted for the linear-time test).
    pub(crate) block_operations: u64,
}

impl Ldu {
    pub(crate) fn new(layout: &Layout, graph: &Graph, nv: usize) -> Self {
        let n = layout.links.len();
        let nc = layout.closures.len();
        // The null space of a ball is [I; 0] at every pose: written once.
        let mut balls = vec![[0.0; 6]; nv];
        for link in layout.links.iter().filter(|link| link.joint.is_plain_ball()) {
            (0..3).for_each(|c| balls[link.v + c] = unit(c));
        }
        Self {
            diagonal: vec![ZERO; n],
            n_x: balls.clone(),
            n_v: balls.clone(),
            left: vec![[0.0; 6]; nv],
            right: balls,
            inverse: vec![[0.0; 6]; nv],
            unscaled: vec![[0.0; 6]; nv],
            stiffness: vec![[0.0; 6]; nv],
            limit: vec![[0.0, 1.0]; nv],
            limits_active: false,
            a: vec![ZERO; graph.slots],
            b: vec![ZERO; graph.slots],
            an: vec![ZERO; graph.slots],
            bn: vec![ZERO; graph.slots],
            cc: vec![ZERO; graph.blocks],
            pivot: vec![ZERO; nc],
            size: vec![[1.0; 6]; nc],
            rank: Rank::default(),
            kept: vec![[true; 6]; nc],
            clear_cut: true,
            dropped: 0,
            block_operations: 0,
        }
    }

    /// The outermost link whose pivot in the last factorization has no inverse.
    pub(crate) fn singular_link(&self, layout: &Layout) -> Option<usize> {
        let regular = |link: &Link| {
            let rows = link.v..link.v + link.joint.kind.nv();
            rows.clone().all(|r| self.inverse[r].iter().all(|x| x.is_finite()) && self.inverse[r] != [0.0; 6])
        };
        layout.links.iter().rposition(|link| !regular(link))
    }

    /// Clears what assembly adds to.
    pub(crate) fn clear(&mut self) {
        self.a.fill(ZERO);
        self.b.fill(ZERO);
        self.cc.fill(ZERO);
    }

    /// Factors the assembled matrix. Does not allocate. Compiled once for everyone who calls it, and for the widest vectors.
    #[inline(never)]
    pub(crate) fn factor(&mut self, layout: &Layout, graph: &Graph, x: &Side, v: &Side) {
        run_widest(Factor { ldu: self, layout, graph, x, v });
    }

    #[inline(always)]
    fn factor_inlined(&mut self, layout: &Layout, graph: &Graph, x: &Side, v: &Side) {
        self.dropped = 0;
        self.clear_cut = true;
        self.block_operations = 0;
        for op in &graph.ops {
            match op {
                Op::Pair { link, carried, fill } => {
                    self.factor_link(layout, *link, x, v);
                    if carried.is_empty() {
                        continue;
                    }
                    if layout.links[*link].joint.is_plain_ball() {
                        self.carry_ball(layout, *link, carried, fill, x, v);
                    } else {
                        match layout.links[*link].joint.kind.nv() {
                            0 => self.carry::<0>(layout, *link, carried, fill, x, v),
                            1 => self.carry::<1>(layout, *link, carried, fill, x, v),
                            2 => self.carry::<2>(layout, *link, carried, fill, x, v),
                            3 => self.carry::<3>(layout, *link, carried, fill, x, v),
                            _ => self.carry::<6>(layout, *link, carried, fill, x, v),
                        }
                    }
                }
                Op::Closure { closure, at, others, fill } => {
                    self.factor_closure(layout, *closure, *at, others, fill);
                }
            }
        }
    }
}
