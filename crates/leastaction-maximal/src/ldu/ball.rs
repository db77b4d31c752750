//! Balls without force rows: with `N = [I; 0]` half the products of the general pair are by zero or one, and what a ball
//! passes on to its parent is a force. (3.15) to (3.18)

use super::algebra::{Six, add_wrench, dot, head, transport};
use super::{Ldu, System};
use crate::geometry::Side;
use crate::graph::{Carried, Fill};
use crate::layout::Layout;
use crate::scalar::by_entry;
use crate::spatial::Vec3;

/// `Σ_k s_k rows_k`, the linear part.
#[inline(always)]
fn combined(s: Vec3, rows: &[Six; 3]) -> Vec3 {
    let entry = |m: usize| s[0] * rows[0][m] + s[1] * rows[1][m] + s[2] * rows[2][m];
    Vec3([entry(3), entry(4), entry(5)])
}

/// `P⁻¹ y`.
#[inline(always)]
fn solved(inverse: &[Six; 3], y: [f64; 3]) -> Vec3 {
    let entry = |k: usize| inverse[k][0] * y[0] + inverse[k][1] * y[1] + inverse[k][2] * y[2];
    Vec3([entry(0), entry(1), entry(2)])
}

impl Ldu {
    /// Carried closures: fill among them and their blocks at the parent, of which only the linear part survives.
    #[inline(always)]
    pub(super) fn carry_ball(
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
        let (left, right) = (*head::<3>(&self.left, at), *head::<3>(&self.right, at));
        let inverse = *head::<3>(&self.inverse, at);
        for c in carried {
            for r in 0..layout.closures[c.closure].rows {
                let (a, b) = (self.a[c.slot][r], self.b[c.slot][r]);
                self.an[c.slot][r] = a;
                self.bn[c.slot][r] = b;
                let Some(slot) = c.parent_slot else { continue };
                let s = row_times(&a, &inverse);
                let a_lin = Vec3([a[3], a[4], a[5]]) - combined(s, &left);
                let b_lin = Vec3([b[3], b[4], b[5]]) - combined(Vec3([b[0], b[1], b[2]]), &right);
                add_force(&mut self.a[slot][r], a_lin, v.lever[i]);
                add_force(&mut self.b[slot][r], b_lin, x.lever[i]);
            }
        }
        for &(p, q, block) in fill {
            let (cp, cq) = (&carried[p], &carried[q]);
            let (rp, rq) = (layout.closures[cp.closure].rows, layout.closures[cq.closure].rows);
            let (an, bn, cc) = (&self.an[cp.slot], &self.bn[cq.slot], &mut self.cc[block]);
            for r in 0..rp {
                let s = row_times(&an[r], &inverse);
                for c in 0..rq {
                    cc[r][c] -= s[0] * bn[c][0] + s[1] * bn[c][1] + s[2] * bn[c][2];
                }
            }
        }
    }

    /// Forward substitution.
    #[inline(always)]
    pub(super) fn forward_ball(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[Carried],
        x: &Side,
        system: &mut System,
    ) {
        let link = &layout.links[i];
        let right = head::<3>(&self.right, link.v);
        let (d, wp, r) = (&self.diagonal[i], system.particular[i], &system.body[i]);
        let rest: Six = by_entry(|k| r[k] - dot(&d[k], &wp));
        let force = &system.force[link.v..];
        let eta = [rest[0] + force[0], rest[1] + force[1], rest[2] + force[2]];
        if !carried.is_empty() {
            let xi = solved(head::<3>(&self.inverse, link.v), eta);
            for c in carried {
                let (a, target) = (&self.a[c.slot], &mut system.closure[c.closure]);
                for row in 0..layout.closures[c.closure].rows {
                    let turned = a[row][0] * xi[0] + a[row][1] * xi[1] + a[row][2] * xi[2];
                    target[row] -= dot(&a[row], &wp) + turned;
                }
            }
        }
        system.rate[link.v..link.v + 3].copy_from_slice(&eta);
        if let Some(parent) = link.parent {
            let load = Vec3([rest[3], rest[4], rest[5]]) - combined(Vec3(eta), right);
            add_force(&mut system.body[parent], load, x.lever[i]);
        }
    }

    /// Backward substitution.
    #[inline(always)]
    pub(super) fn backward_ball(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[Carried],
        v: &Side,
        system: &mut System,
    ) {
        let link = &layout.links[i];
        let left = head::<3>(&self.left, link.v);
        let moved = link.parent.map_or([0.0; 6], |p| transport(&system.body[p], v.lever[i]));
        let mut load = [0.0; 6]; // B λ
        for c in carried {
            let (b, lam) = (&self.b[c.slot], &system.closure[c.closure]);
            for row in 0..layout.closures[c.closure].rows {
                load = by_entry(|m| load[m] + b[row][m] * lam[row]);
            }
        }
        let pivot = |k: usize| system.rate[link.v + k] - dot(&left[k], &moved) - load[k];
        let xi = solved(head::<3>(&self.inverse, link.v), [pivot(0), pivot(1), pivot(2)]);
        system.rate[link.v..link.v + 3].copy_from_slice(&xi.0);
        let wp = &system.particular[i];
        let w = by_entry(|k| moved[k] + wp[k] + if k < 3 { xi[k] } else { 0.0 });
        let (d, r, force) = (&self.diagonal[i], &system.body[i], &system.force[link.v..]);
        // The torque is what the force rows say.
        system.wrench[i] = by_entry(|k| if k < 3 { force[k] } else { dot(&d[k], &w) + load[k] - r[k] });
        system.body[i] = w;
    }
}

/// `aᵀ P⁻¹` of the angular part of a row.
#[inline(always)]
fn row_times(a: &Six, inverse: &[Six; 3]) -> Vec3 {
    let entry = |k: usize| a[0] * inverse[0][k] + a[1] * inverse[1][k] + a[2] * inverse[2][k];
    Vec3([entry(0), entry(1), entry(2)])
}

/// `target += Tᵀ [0; f]`.
#[inline(always)]
fn add_force(target: &mut Six, f: Vec3, d: Vec3) {
    add_wrench(target, &[0.0, 0.0, 0.0, f[0], f[1], f[2]], d);
}
