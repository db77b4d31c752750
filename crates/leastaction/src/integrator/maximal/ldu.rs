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

use super::constraint::coordinate_columns;
use super::geometry::Side;
use super::graph::{Graph, Op};
use super::layout::Layout;
use crate::mechanism::JointType;
use crate::spatial::{Mat3, Vec3};

pub(crate) type Six = [f64; 6];
pub(crate) type Block = [[f64; 6]; 6];

/// Singular values below this times the scale of a closure's rows are self-stress.
const RANK_TOLERANCE: f64 = 1e-11;

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
}

/// The block matrix and its factors.
#[derive(Clone, Debug)]
pub(crate) struct Ldu {
    /// Per link: diagonal block; holds the accumulated block after the factorization.
    pub(crate) diagonal: Vec<Block>,
    /// Per velocity coordinate: null space of the force rows and of the velocity rows.
    n_x: Vec<Six>,
    n_v: Vec<Six>,
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
    /// Per closure: size against which its pivots are judged.
    pub(crate) scale: Vec<f64>,
    /// Constraint directions dropped by the last factorization.
    pub(crate) dropped: u32,
    /// Block operations of the last factorization (counted for the linear-time test).
    pub(crate) block_operations: u64,
}

const ZERO: Block = [[0.0; 6]; 6];

impl Ldu {
    pub(crate) fn new(layout: &Layout, graph: &Graph, nv: usize) -> Self {
        let n = layout.links.len();
        let nc = layout.closures.len();
        Self {
            diagonal: vec![ZERO; n],
            n_x: vec![[0.0; 6]; nv],
            n_v: vec![[0.0; 6]; nv],
            left: vec![[0.0; 6]; nv],
            right: vec![[0.0; 6]; nv],
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
            scale: vec![1.0; nc],
            dropped: 0,
            block_operations: 0,
        }
    }

    /// Clears what assembly adds to.
    pub(crate) fn clear(&mut self) {
        self.a.fill(ZERO);
        self.b.fill(ZERO);
        self.cc.fill(ZERO);
    }

    /// Factors the assembled matrix. Does not allocate.
    #[inline(always)]
    pub(crate) fn factor(&mut self, layout: &Layout, graph: &Graph, x: &Side, v: &Side) {
        self.dropped = 0;
        self.block_operations = 0;
        for op in &graph.ops {
            match op {
                Op::Pair { link, carried, fill } => {
                    self.factor_link(layout, *link, x, v);
                    if !carried.is_empty() {
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

    /// Pivot of a pair, and its update of the parent's diagonal block.
    #[inline(always)]
    fn factor_link(&mut self, layout: &Layout, i: usize, x: &Side, v: &Side) {
        let link = &layout.links[i];
        let kind = link.joint.kind;
        self.block_operations += 3;
        let d = self.diagonal[i];
        let simple = !link.joint.rows.has_rows && !self.limits_active;
        let reduced = match kind {
            JointType::Revolute | JointType::Continuous if simple => {
                let (nx, nv) = (x.axis[i], v.axis[i]);
                self.n_x[link.v] = pad(nx);
                self.n_v[link.v] = pad(nv);
                let u: Six = std::array::from_fn(|r| d[r][0] * nv[0] + d[r][1] * nv[1] + d[r][2] * nv[2]);
                let left: Six = std::array::from_fn(|c| nx[0] * d[0][c] + nx[1] * d[1][c] + nx[2] * d[2][c]);
                let p = 1.0 / (nx[0] * u[0] + nx[1] * u[1] + nx[2] * u[2]);
                let right: Six = u.map(|u| u * p);
                self.inverse[link.v][0] = p;
                self.left[link.v] = left;
                self.right[link.v] = right;
                let mut m = d;
                for r in 0..6 {
                    for c in 0..6 {
                        m[r][c] -= right[r] * left[c];
                    }
                }
                m
            }
            JointType::Spherical if link.joint.is_plain_ball() => {
                // N = [I; 0]: the pivot is the angular block and only the linear block survives.
                let angular = Mat3([
                    [d[0][0], d[0][1], d[0][2]],
                    [d[1][0], d[1][1], d[1][2]],
                    [d[2][0], d[2][1], d[2][2]],
                ]);
                let p = angular.inverse();
                let mut m = ZERO;
                let below = Mat3([
                    [d[3][0], d[3][1], d[3][2]],
                    [d[4][0], d[4][1], d[4][2]],
                    [d[5][0], d[5][1], d[5][2]],
                ]) * p;
                for r in 0..3 {
                    for c in 0..3 {
                        m[3 + r][3 + c] = d[3 + r][3 + c]
                            - (below.0[r][0] * d[0][3 + c]
                                + below.0[r][1] * d[1][3 + c]
                                + below.0[r][2] * d[2][3 + c]);
                    }
                }
                for c in 0..3 {
                    self.n_x[link.v + c] = unit(c);
                    self.n_v[link.v + c] = unit(c);
                    self.left[link.v + c] = d[c];
                    self.inverse[link.v + c] = [p.0[c][0], p.0[c][1], p.0[c][2], 0.0, 0.0, 0.0];
                    self.right[link.v + c] = std::array::from_fn(|r| {
                        if r < 3 { f64::from(u8::from(r == c)) } else { below.0[r - 3][c] }
                    });
                }
                if let Some(parent) = link.parent {
                    add_linear(&mut self.diagonal[parent], &m, x.lever[i], v.lever[i]);
                }
                return;
            }
            _ => self.factor_general(layout, i, x, v),
        };
        #[cfg(feature = "sabotage")]
        let reduced = if crate::sabotage::chosen(crate::sabotage::Fault::NewtonSign) {
            reduced.map(|row| row.map(|x| -x))
        } else {
            reduced
        };
        if let Some(parent) = link.parent {
            add_transported(&mut self.diagonal[parent], &reduced, x.lever[i], v.lever[i]);
        }
    }

    /// Pivot of any joint kind, with force rows and limits. Returns `D − D N_v P⁻¹ N_xᵀ D`.
    fn factor_general(&mut self, layout: &Layout, i: usize, x: &Side, v: &Side) -> Block {
        let link = &layout.links[i];
        let (kind, nv) = (link.joint.kind, link.joint.kind.nv());
        let range = link.v..link.v + nv;
        coordinate_columns(kind, &x.joints[i], x.axis[i], &mut self.n_x[range.clone()]);
        coordinate_columns(kind, &v.joints[i], v.axis[i], &mut self.n_v[range]);
        let d = self.diagonal[i];
        let (mut u, mut p) = (ZERO, ZERO);
        for c in 0..nv {
            let (nx, nv) = (self.n_x[link.v + c], self.n_v[link.v + c]);
            u[c] = std::array::from_fn(|r| dot(&d[r], &nv));
            self.left[link.v + c] = std::array::from_fn(|k| (0..6).map(|r| nx[r] * d[r][k]).sum::<f64>());
        }
        for r in 0..nv {
            for c in 0..nv {
                p[r][c] = dot(&self.n_x[link.v + r], &u[c]) + self.stiffness[link.v + r][c];
            }
        }
        // Rows with a limit: δ(Pξ − y) + κξ = z.
        let mut scaled = p;
        for r in 0..nv {
            let [kappa, delta] = self.limit[link.v + r];
            for c in 0..nv {
                scaled[r][c] *= delta;
            }
            scaled[r][r] += kappa;
        }
        let mut inverse = ZERO;
        invert(&scaled, nv, 0.0, &mut inverse);
        for r in 0..nv {
            self.unscaled[link.v + r] = inverse[r];
            for c in 0..nv {
                inverse[r][c] *= self.limit[link.v + c][1];
            }
        }
        let mut m = d;
        for c in 0..nv {
            self.inverse[link.v + c] = inverse[c];
            let mut right = [0.0; 6];
            for k in 0..nv {
                for r in 0..6 {
                    right[r] += u[k][r] * inverse[k][c];
                }
            }
            self.right[link.v + c] = right;
            for r in 0..6 {
                for k in 0..6 {
                    m[r][k] -= right[r] * self.left[link.v + c][k];
                }
            }
        }
        m
    }

    /// Carried closures of a pair with `N` coordinates: fill among them and their blocks at the parent.
    #[inline(always)]
    fn carry<const N: usize>(
        &mut self,
        layout: &Layout,
        i: usize,
        carried: &[super::graph::Carried],
        fill: &[super::graph::Fill],
        x: &Side,
        v: &Side,
    ) {
        let at = layout.links[i].v;
        self.block_operations += 4 * carried.len() as u64 + fill.len() as u64;
        let (n_x, n_v) = (*head::<N>(&self.n_x, at), *head::<N>(&self.n_v, at));
        let (left, right) = (*head::<N>(&self.left, at), *head::<N>(&self.right, at));
        let inverse = *head::<N>(&self.inverse, at);
        for c in carried {
            let rows = layout.closures[c.closure].rows;
            let (an_rows, bn_rows) = (&mut self.an[c.slot], &mut self.bn[c.slot]);
            for r in 0..rows {
                let (mut a, mut b) = (self.a[c.slot][r], self.b[c.slot][r]);
                let (mut an, mut bn) = ([0.0; N], [0.0; N]);
                for k in 0..N {
                    an[k] = dot(&a, &n_v[k]);
                    bn[k] = dot(&b, &n_x[k]);
                    an_rows[r][k] = an[k];
                    bn_rows[r][k] = bn[k];
                }
                let Some(slot) = c.parent_slot else { continue };
                for k in 0..N {
                    // A N P⁻¹ row, then times the left rows; B by the right columns.
                    let mut s = 0.0;
                    for m in 0..N {
                        s += an[m] * inverse[m][k];
                    }
                    for m in 0..6 {
                        a[m] -= s * left[k][m];
                        b[m] -= bn[k] * right[k][m];
                    }
                }
                // Row vectors times T_v: [a₁ − a₂ S(d'), a₂]; the transposed columns by T_x likewise.
                add_row(&mut self.a[slot][r], &a, v.lever[i]);
                add_row(&mut self.b[slot][r], &b, x.lever[i]);
            }
        }
        for &(p, q, block) in fill {
            let (cp, cq) = (&carried[p], &carried[q]);
            let (rp, rq) = (layout.closures[cp.closure].rows, layout.closures[cq.closure].rows);
            let (an, bn, cc) = (&self.an[cp.slot], &self.bn[cq.slot], &mut self.cc[block]);
            for r in 0..rp {
                let mut s = [0.0; N];
                for k in 0..N {
                    for m in 0..N {
                        s[k] += an[r][m] * inverse[m][k];
                    }
                }
                for c in 0..rq {
                    let mut sum = 0.0;
                    for k in 0..N {
                        sum += s[k] * bn[c][k];
                    }
                    cc[r][c] -= sum;
                }
            }
        }
    }

    /// Pivot of a closure with a rank decision, and its updates.
    #[inline(never)]
    fn factor_closure(
        &mut self,
        layout: &Layout,
        c: usize,
        at: Option<(usize, usize)>,
        others: &[(usize, usize, usize, Option<usize>)],
        fill: &[super::graph::Fill],
    ) {
        let rows = layout.closures[c].rows;
        self.block_operations += 1 + 2 * u64::from(at.is_some()) + (2 * others.len() + fill.len()) as u64;
        let mut inverse = ZERO;
        let rank = invert(&self.cc[c], rows, RANK_TOLERANCE * self.scale[c], &mut inverse);
        self.dropped += (rows - rank) as u32;
        self.pivot[c] = inverse;
        // P⁻ A at the remaining link.
        let mut pa = ZERO;
        if let Some((link, slot)) = at {
            let a = self.a[slot];
            for r in 0..rows {
                for k in 0..rows {
                    let s = inverse[r][k];
                    for m in 0..6 {
                        pa[r][m] += s * a[k][m];
                    }
                }
            }
            let b = self.b[slot];
            let d = &mut self.diagonal[link];
            for k in 0..rows {
                for r in 0..6 {
                    for m in 0..6 {
                        d[r][m] -= b[k][r] * pa[k][m];
                    }
                }
            }
        }
        for &(o, co, oc, slot) in others {
            let ro = layout.closures[o].rows;
            let (f_co, f_oc) = (self.cc[co], self.cc[oc]);
            if let (Some(slot), Some((_, at_slot))) = (slot, at) {
                let b = self.b[at_slot];
                for r in 0..ro {
                    // A_o −= F[o,c] P⁻ A ;  B_o −= B P⁻ F[c,o] (stored transposed).
                    for k in 0..rows {
                        let s = f_oc[r][k];
                        let t: f64 = (0..rows).map(|m| inverse[k][m] * f_co[m][r]).sum();
                        for m in 0..6 {
                            self.a[slot][r][m] -= s * pa[k][m];
                            self.b[slot][r][m] -= b[k][m] * t;
                        }
                    }
                }
            }
        }
        for &(p, q, block) in fill {
            let (op, oq) = (others[p], others[q]);
            let (rp, rq) = (layout.closures[op.0].rows, layout.closures[oq.0].rows);
            let (f_pc, f_cq) = (self.cc[op.2], self.cc[oq.1]);
            for r in 0..rp {
                for k in 0..rows {
                    let s: f64 = (0..rows).map(|m| f_pc[r][m] * inverse[m][k]).sum();
                    for m in 0..rq {
                        self.cc[block][r][m] -= s * f_cq[k][m];
                    }
                }
            }
        }
    }

    /// Solves with the factors: `system` holds right-hand sides and receives the solution. Does not allocate.
    #[inline(always)]
    pub(crate) fn solve(&self, layout: &Layout, graph: &Graph, x: &Side, v: &Side, system: &mut System) {
        for op in &graph.ops {
            match op {
                Op::Pair { link, carried, .. } => match layout.links[*link].joint.kind.nv() {
                    0 => self.forward_pair::<0>(layout, *link, carried, x, system),
                    1 => self.forward_pair::<1>(layout, *link, carried, x, system),
                    2 => self.forward_pair::<2>(layout, *link, carried, x, system),
                    3 => self.forward_pair::<3>(layout, *link, carried, x, system),
                    _ => self.forward_pair::<6>(layout, *link, carried, x, system),
                },
                Op::Closure { closure, at, others, .. } => {
                    let y = times(&self.pivot[*closure], &system.closure[*closure]);
                    if let Some((link, slot)) = at {
                        let (r, b) = (&mut system.body[*link], &self.b[*slot]);
                        for k in 0..6 {
                            for m in 0..6 {
                                r[m] -= b[k][m] * y[k];
                            }
                        }
                    }
                    for (o, _, oc, _) in others {
                        for r in 0..6 {
                            system.closure[*o][r] -= dot(&self.cc[*oc][r], &y);
                        }
                    }
                }
            }
        }
        for op in graph.ops.iter().rev() {
            match op {
                Op::Pair { link, carried, .. } => match layout.links[*link].joint.kind.nv() {
                    0 => self.backward_pair::<0>(layout, *link, carried, v, system),
                    1 => self.backward_pair::<1>(layout, *link, carried, v, system),
                    2 => self.backward_pair::<2>(layout, *link, carried, v, system),
                    3 => self.backward_pair::<3>(layout, *link, carried, v, system),
                    _ => self.backward_pair::<6>(layout, *link, carried, v, system),
                },
                Op::Closure { closure, at, others, .. } => {
                    let mut r = system.closure[*closure];
                    if let Some((link, slot)) = at {
                        for k in 0..6 {
                            r[k] -= dot(&self.a[*slot][k], &system.body[*link]);
                        }
                    }
                    for (o, co, _, _) in others {
                        for k in 0..6 {
                            r[k] -= dot(&self.cc[*co][k], &system.closure[*o]);
                        }
                    }
                    system.closure[*closure] = times(&self.pivot[*closure], &r);
                }
            }
        }
    }

    /// Forward substitution of a pair with `N` coordinates.
    #[inline(always)]
    fn forward_pair<const N: usize>(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[super::graph::Carried],
        x: &Side,
        system: &mut System,
    ) {
        let link = &layout.links[i];
        let at = link.v;
        let (n_x, right, inverse) =
            (head::<N>(&self.n_x, at), head::<N>(&self.right, at), head::<N>(&self.inverse, at));
        let (d, wp) = (&self.diagonal[i], system.particular[i]);
        let r = system.body[i];
        // r − D w_p
        let mut rest: Six = std::array::from_fn(|k| r[k] - dot(&d[k], &wp));
        let mut eta = [0.0; N]; // y of the pivot equation
        for k in 0..N {
            eta[k] = dot(&n_x[k], &rest) + system.force[at + k];
        }
        if !carried.is_empty() {
            let mut xi = [0.0; 6]; // P⁻¹ y
            for k in 0..N {
                for m in 0..N {
                    xi[k] += inverse[k][m] * eta[m];
                }
            }
            for c in carried {
                let (a, an) = (&self.a[c.slot], &self.an[c.slot]);
                let target = &mut system.closure[c.closure];
                for row in 0..layout.closures[c.closure].rows {
                    target[row] -= dot(&a[row], &wp) + dot(&an[row], &xi);
                }
            }
        }
        for k in 0..N {
            for m in 0..6 {
                rest[m] -= right[k][m] * eta[k];
            }
            system.rate[at + k] = eta[k];
        }
        if self.limits_active && link.joint.rows.has_limits {
            self.forward_limits(layout, i, carried, &mut rest, system);
        }
        if let Some(parent) = link.parent {
            // T_xᵀ [τ; f] = [τ + d × f; f]
            add_wrench(&mut system.body[parent], &rest, x.lever[i]);
        }
    }

    /// The part of the joint's rates that active limit rows ask for by themselves.
    fn forward_limits(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[super::graph::Carried],
        rest: &mut Six,
        system: &mut System,
    ) {
        let link = &layout.links[i];
        let nv = link.joint.kind.nv();
        let mut shift = [0.0; 6];
        for k in 0..nv {
            for m in 0..nv {
                shift[k] += self.unscaled[link.v + k][m] * system.limit[link.v + m];
            }
            system.shift[link.v + k] = shift[k];
        }
        let mut w = [0.0; 6];
        for k in 0..nv {
            for m in 0..6 {
                w[m] += self.n_v[link.v + k][m] * shift[k];
            }
        }
        for r in 0..6 {
            rest[r] -= dot(&self.diagonal[i][r], &w);
        }
        for c in carried {
            for row in 0..layout.closures[c.closure].rows {
                system.closure[c.closure][row] -= dot(&self.an[c.slot][row], &shift);
            }
        }
    }

    /// Backward substitution of a pair with `N` coordinates.
    #[inline(always)]
    fn backward_pair<const N: usize>(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[super::graph::Carried],
        v: &Side,
        system: &mut System,
    ) {
        let link = &layout.links[i];
        let at = link.v;
        let (n_v, left, inverse) =
            (head::<N>(&self.n_v, at), head::<N>(&self.left, at), head::<N>(&self.inverse, at));
        // T_v w_a = [Ω; v + Ω × d]
        let moved = link.parent.map_or([0.0; 6], |p| transport(&system.body[p], v.lever[i]));
        let mut y = [0.0; N];
        for k in 0..N {
            y[k] = system.rate[at + k] - dot(&left[k], &moved);
        }
        let mut load = [0.0; 6]; // B λ
        for c in carried {
            let (bn, b, lam) = (&self.bn[c.slot], &self.b[c.slot], &system.closure[c.closure]);
            for row in 0..layout.closures[c.closure].rows {
                for k in 0..N {
                    y[k] -= bn[row][k] * lam[row];
                }
                for m in 0..6 {
                    load[m] += b[row][m] * lam[row];
                }
            }
        }
        let wp = system.particular[i];
        let mut w: Six = std::array::from_fn(|k| moved[k] + wp[k]);
        for k in 0..N {
            let mut xi = if self.limits_active { system.shift[at + k] } else { 0.0 };
            for m in 0..N {
                xi += inverse[k][m] * y[m];
            }
            system.rate[at + k] = xi;
            for m in 0..6 {
                w[m] += n_v[k][m] * xi;
            }
        }
        let (d, r) = (&self.diagonal[i], system.body[i]);
        system.wrench[i] = std::array::from_fn(|k| dot(&d[k], &w) + load[k] - r[k]);
        system.body[i] = w;
    }
}

/// `N` consecutive rows as an array: bounds are checked once.
#[inline(always)]
fn head<const N: usize>(rows: &[Six], at: usize) -> &[Six; N] {
    match rows[at..].first_chunk::<N>() {
        Some(chunk) => chunk,
        None => unreachable_rows(),
    }
}

#[cold]
fn unreachable_rows() -> ! {
    panic!("coordinate rows are allocated per velocity coordinate")
}

#[inline(always)]
pub(crate) fn dot(a: &Six, b: &Six) -> f64 {
    (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]) + (a[4] * b[4] + a[5] * b[5])
}

#[inline(always)]
fn pad(a: Vec3) -> Six {
    [a[0], a[1], a[2], 0.0, 0.0, 0.0]
}

fn unit(c: usize) -> Six {
    let mut e = [0.0; 6];
    e[c] = 1.0;
    e
}

fn times(m: &Block, x: &Six) -> Six {
    std::array::from_fn(|r| dot(&m[r], x))
}

#[inline(always)]
pub(crate) fn angular(a: &Six) -> Vec3 {
    Vec3([a[0], a[1], a[2]])
}

#[inline(always)]
pub(crate) fn linear(a: &Six) -> Vec3 {
    Vec3([a[3], a[4], a[5]])
}

#[inline(always)]
pub(crate) fn six(ang: Vec3, lin: Vec3) -> Six {
    [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]]
}

/// `T w = [Ω; v + Ω × d]`.
#[inline(always)]
pub(crate) fn transport(w: &Six, d: Vec3) -> Six {
    let (ang, lin) = (angular(w), linear(w));
    six(ang, lin + ang.cross(d))
}

/// `target += Tᵀ [τ; f] = [τ + d × f; f]`.
#[inline(always)]
pub(crate) fn add_wrench(target: &mut Six, wrench: &Six, d: Vec3) {
    let f = linear(wrench);
    let tau = angular(wrench) + d.cross(f);
    for k in 0..3 {
        target[k] += tau[k];
        target[3 + k] += f[k];
    }
}

/// `target += row T = [a₁ + d × a₂, a₂]`.
#[inline(always)]
fn add_row(target: &mut Six, row: &Six, d: Vec3) {
    add_wrench(target, row, d);
}

/// `target += T_xᵀ M T_v` with levers `d` and `d'`.
#[inline(always)]
fn add_transported(target: &mut Block, m: &Block, d: Vec3, d_end: Vec3) {
    // Columns: [M₁ + (rows of M₂ crossed), M₂]: x (M T) = [a₁ + d' × a₂, a₂] row by row.
    let mut y = *m;
    for row in &mut y {
        let add = d_end.cross(Vec3([row[3], row[4], row[5]]));
        for k in 0..3 {
            row[k] += add[k];
        }
    }
    for c in 0..6 {
        target[0][c] += y[0][c] + d[1] * y[5][c] - d[2] * y[4][c];
        target[1][c] += y[1][c] + d[2] * y[3][c] - d[0] * y[5][c];
        target[2][c] += y[2][c] + d[0] * y[4][c] - d[1] * y[3][c];
        target[3][c] += y[3][c];
        target[4][c] += y[4][c];
        target[5][c] += y[5][c];
    }
}

/// The same for a block that has only its linear part.
#[inline(always)]
fn add_linear(target: &mut Block, m: &Block, d: Vec3, d_end: Vec3) {
    let mut y = [[0.0; 6]; 3];
    for r in 0..3 {
        let lin = Vec3([m[3 + r][3], m[3 + r][4], m[3 + r][5]]);
        y[r] = six(d_end.cross(lin), lin);
    }
    for c in 0..6 {
        target[0][c] += d[1] * y[2][c] - d[2] * y[1][c];
        target[1][c] += d[2] * y[0][c] - d[0] * y[2][c];
        target[2][c] += d[0] * y[1][c] - d[1] * y[0][c];
        target[3][c] += y[0][c];
        target[4][c] += y[1][c];
        target[5][c] += y[2][c];
    }
}

/// Generalised inverse by elimination with full pivoting: pivots not above `floor` are dropped. Returns the rank.
#[inline(never)]
pub(crate) fn invert(m: &Block, n: usize, floor: f64, out: &mut Block) -> usize {
    // Gauss–Jordan on [M | I] with row and column exchanges recorded.
    let (mut a, mut e) = (*m, ZERO);
    for r in 0..n {
        e[r][r] = 1.0;
    }
    let mut column = [0usize; 6]; // column used by pivot k
    let mut used = [false; 6];
    let mut rank = 0;
    for k in 0..n {
        let (mut best, mut at) = (floor, None);
        for r in k..n {
            for c in 0..n {
                if !used[c] && a[r][c].abs() > best {
                    best = a[r][c].abs();
                    at = Some((r, c));
                }
            }
        }
        let Some((r, c)) = at else { break };
        a.swap(k, r);
        e.swap(k, r);
        used[c] = true;
        column[k] = c;
        rank += 1;
        let p = 1.0 / a[k][c];
        for j in 0..n {
            a[k][j] *= p;
            e[k][j] *= p;
        }
        let (pivot_a, pivot_e) = (a[k], e[k]);
        for i in 0..n {
            if i == k {
                continue;
            }
            let s = a[i][c];
            if s != 0.0 {
                for j in 0..n {
                    a[i][j] -= s * pivot_a[j];
                    e[i][j] -= s * pivot_e[j];
                }
            }
        }
    }
    *out = ZERO;
    for k in 0..rank {
        out[column[k]] = e[k];
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generalised_inverse_solves_consistent_systems_of_every_rank() {
        let base = [
            [4.0, 1.0, -0.5, 0.2, 0.0, 0.3],
            [0.5, 3.0, 0.1, 0.0, 0.2, 0.1],
            [0.2, -0.3, 5.0, 0.4, 0.1, 0.0],
        ];
        for rank in 0..=3 {
            let mut m = ZERO;
            for r in 0..6 {
                for c in 0..6 {
                    for k in 0..rank {
                        m[r][c] += base[k][r] * base[(k + 1) % 3][c];
                    }
                }
            }
            let mut g = ZERO;
            assert_eq!(invert(&m, 6, 1e-11 * 30.0, &mut g), rank);
            let b = times(&m, &[1.0, -2.0, 0.5, 0.3, 0.7, -1.1]);
            let back = times(&m, &times(&g, &b));
            assert!(b.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-13), "rank {rank}");
        }
    }
}
