//! Closures: how pairs carry them towards the root, and their pivots with a rank decision. (3.17), (3.18), (3.20)

use super::algebra::{ZERO, add_row, choose, dot, head, invert, product};
use super::{Ldu, Rank};
use crate::geometry::Side;
use crate::graph::{Carried, Fill};
use crate::layout::{ClosureKind, Layout};
use crate::scalar::by_entry;

/// Pivots below this times the size of their row and column are self-stress.
pub(crate) const RANK_TOLERANCE: f64 = 1e-10;
/// The same where the pose is a guess: it is off the constraints by `δ`, and redundant pivots by up to `7 δ²`. A choice is
/// clear cut if no pivot is between a hundredth and ten times of this.
const FORESEEN: f64 = 1e-5;

impl Ldu {
    /// Carried closures of a pair with `N` coordinates: fill among them and their blocks at the parent.
    #[inline(always)]
    pub(super) fn carry<const N: usize>(
        &mut self,
        layout: &Layout,
        i: usize,
        carried: &[Carried],
        fill: &[Fill],
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
    #[inline(always)]
    pub(super) fn factor_closure(
        &mut self,
        layout: &Layout,
        c: usize,
        at: Option<(usize, usize)>,
        others: &[(usize, usize, usize, Option<usize>)],
        fill: &[Fill],
    ) {
        let rows = layout.closures[c].rows;
        self.block_operations += 1 + 2 * u64::from(at.is_some()) + (2 * others.len() + fill.len()) as u64;
        let mut inverse = ZERO;
        let (m, size) = (&self.cc[c], &self.size[c]);
        let of_joint = matches!(layout.closures[c].kind, ClosureKind::Joint);
        let chosen_by = match self.rank {
            Rank::Choosing if of_joint => Some(layout.row_tolerance),
            Rank::Foreseen if of_joint => Some(FORESEEN),
            Rank::Dropping if of_joint && layout.row_tolerance > RANK_TOLERANCE => Some(layout.row_tolerance),
            _ => None,
        };
        let rank = if let Some(tolerance) = chosen_by {
            let (rank, least, left) = choose(m, rows, size, tolerance, &mut self.kept[c], &mut inverse);
            self.clear_cut &= least > 10.0 * FORESEEN && left < 0.01 * FORESEEN;
            rank
        } else {
            let every = matches!(self.rank, Rank::Full | Rank::Foreseen);
            let tolerance = if every { 0.0 } else { RANK_TOLERANCE };
            invert(m, rows, size, tolerance, &mut inverse)
        };
        self.dropped += (rows - rank) as u32;
        self.pivot[c] = inverse;
        // P⁻ A at the remaining link.
        let mut pa = ZERO;
        if let Some((link, slot)) = at {
            let (a, b) = (&self.a[slot], &self.b[slot]);
            let d = &mut self.diagonal[link];
            for r in 0..rows {
                // Rows that follow from others do nothing: three of five in a planar loop.
                if inverse[r] == [0.0; 6] {
                    continue;
                }
                let mut row = [0.0; 6];
                for k in 0..rows {
                    let s = inverse[r][k];
                    row = by_entry(|m| row[m] + s * a[k][m]);
                }
                for k in 0..6 {
                    let s = b[r][k];
                    d[k] = by_entry(|m| d[k][m] - s * row[m]);
                }
                pa[r] = row;
            }
        }
        for &(o, co, oc, slot) in others {
            let ro = layout.closures[o].rows;
            let (f_co, f_oc) = (self.cc[co], self.cc[oc]);
            if let (Some(slot), Some((_, at_slot))) = (slot, at) {
                let b = self.b[at_slot];
                let t = product(&inverse, &f_co);
                for r in 0..ro {
                    // A_o −= F[o,c] P⁻ A ;  B_o −= B P⁻ F[c,o] (stored transposed).
                    for k in 0..rows {
                        let (s, t) = (f_oc[r][k], t[k][r]);
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
            let rp = layout.closures[op.0].rows;
            let (s, f_cq) = (product(&self.cc[op.2], &inverse), self.cc[oq.1]);
            let target = &mut self.cc[block];
            for r in 0..rp {
                for k in 0..rows {
                    for m in 0..6 {
                        target[r][m] -= s[r][k] * f_cq[k][m];
                    }
                }
            }
        }
    }
}
