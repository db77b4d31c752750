//! The torque Jacobian by its three generating jets, for every scalar type and order.
//!
//! Per column j once: `a = IIC s`, `c = 2 IIC s1 + T s`, `k` the bracket with `N(FC) s`, and the covectors
//! `b = (D IIC) s − N(HC) s`, `e = γ ×* a`. Then, for a row i and a column j,
//!
//! ```text
//! i carries j (strictly)   M = s_i·a_j,  C = s_i·c_j,               K = s_i·k_j                        (4.11)
//! j carries i, or i = j    M = a_i·s_j,  C = 2 a_i·s1_j + b_i·s_j,  K = a_i·s2_j + b_i·s1_j + e_i·s_j  (4.12)
//! ```
//!
//! M, C and K are the Taylor jets of ∂τ/∂q̈, ∂τ/∂q̇ and ∂τ/∂q along the motion.

use super::generating::Mass;
use super::taylor::{cross_force_at, dot_at, inertia_at, inertia_rate_at, next};
use super::workspace::JetWorkspace;
use crate::scalar::Real;
use crate::spatial::{Twist, Vec3, Wrench};

/// Vectors of every column that the pairs are made of.
#[derive(Clone, Debug)]
pub(crate) struct TorqueScratch<T> {
    s1: Vec<Twist<T>>,
    s2: Vec<Twist<T>>,
    a: Vec<Wrench<T>>,
    b: Vec<Wrench<T>>,
    c: Vec<Wrench<T>>,
    k: Vec<Wrench<T>>,
    e: Vec<Wrench<T>>,
    pub(crate) mck: Vec<T>,
}

impl<T: Real> TorqueScratch<T> {
    pub(crate) fn new(nv: usize, n: usize) -> Self {
        let (twist, wrench) = (vec![Twist::zero(); nv * n], vec![Wrench::zero(); nv * (n - 1)]);
        Self {
            s1: twist.clone(),
            s2: twist,
            a: wrench.clone(),
            b: wrench.clone(),
            c: wrench.clone(),
            k: wrench.clone(),
            e: wrench,
            mck: vec![T::zero(); 3 * (n - 1)],
        }
    }
}

impl JetWorkspace<f64> {
    fn torque_vectors(&mut self) {
        let n = self.n;
        let count = n - 1;
        let g: Vec3 = Vec3::constant(self.tree.gravity);
        let ws = &mut self.torque_scratch;
        for column in 0..self.tree.nv {
            let j = self.tree.column_stage[column];
            let s = &self.s[column * (n + 1)..(column + 1) * (n + 1)];
            let (r, f) = (column * n..(column + 1) * n, column * count..(column + 1) * count);
            let (s1, s2) = (&mut ws.s1[r.clone()], &mut ws.s2[r]);
            super::taylor::rate(s, s1, n);
            for l in 0..count {
                s2[l] = s1[l + 1].scale(next(l));
            }
            let composite = Mass {
                mass: self.mass_c[j],
                ii: &self.iic[j * (n + 1)..(j + 1) * (n + 1)],
                h: &self.hc[j * n..(j + 1) * n],
            };
            let fc = &self.fc[j * count..(j + 1) * count];
            let (a, b, c, k, e) = (
                &mut ws.a[f.clone()],
                &mut ws.b[f.clone()],
                &mut ws.c[f.clone()],
                &mut ws.k[f.clone()],
                &mut ws.e[f],
            );
            composite.bracket(s, s1, s2, g, (k, c, a), count);
            for l in 0..count {
                #[cfg(feature = "sabotage")]
                if crate::sabotage::chosen(crate::sabotage::Fault::ForceTurn) {
                    k[l] -= cross_force_at(s, fc, l);
                }
                k[l] += cross_force_at(s, fc, l);
                b[l] = inertia_rate_at(composite.ii, s, l) - cross_force_at(s, composite.h, l);
                e[l] = Wrench::new(g.cross(a[l].lin), Vec3::zero());
                debug_assert!(a[l] == inertia_at(composite.mass, composite.ii, s, l));
            }
        }
    }

    /// Calls `visit(row, column, m, c, k)` for every ordered pair of related coordinates.
    pub(crate) fn each_pair(&mut self, mut visit: impl FnMut(usize, usize, &[f64], &[f64], &[f64])) {
        if self.n < 2 {
            return;
        }
        self.torque_vectors();
        let (n, count) = (self.n, self.n - 1);
        let mut mck = std::mem::take(&mut self.torque_scratch.mck);
        let ws = &self.torque_scratch;
        let (m, rest) = mck.split_at_mut(count);
        let (c, k) = rest.split_at_mut(count);
        let tree = &*self.tree;
        for row in 0..tree.nv {
            let i = tree.column_stage[row];
            let si = self.column(row);
            let fi = row * count..(row + 1) * count;
            let (a, b, e) = (&ws.a[fi.clone()], &ws.b[fi.clone()], &ws.e[fi]);
            for column in 0..tree.nv {
                let j = tree.column_stage[column];
                let sj = self.column(column);
                let fj = column * count..(column + 1) * count;
                if i != j && tree.carries(i, j) {
                    for l in 0..count {
                        m[l] = dot_at(si, &ws.a[fj.clone()], l);
                        c[l] = dot_at(si, &ws.c[fj.clone()], l);
                        k[l] = dot_at(si, &ws.k[fj.clone()], l);
                    }
                } else if tree.carries(j, i) {
                    let (s1, s2) = (&ws.s1[column * n..], &ws.s2[column * n..]);
                    for l in 0..count {
                        m[l] = dot_at(sj, a, l);
                        c[l] = dot_at(s1, a, l) * 2.0 + dot_at(sj, b, l);
                        k[l] = dot_at(s2, a, l) + dot_at(s1, b, l) + dot_at(sj, e, l);
                    }
                } else {
                    continue;
                }
                if self.passive {
                    self.add_passive_pair(row, column, m, c, k);
                }
                visit(row, column, m, c, k);
            }
        }
        self.torque_scratch.mck = mck;
    }

    /// `[order][row][column]` in tangent coordinates.
    pub(crate) fn torque_jacobian_dense(&mut self, out: &mut [f64]) {
        out.fill(0.0);
        let (nv, n, count) = (self.tree.nv, self.n, self.n - 1);
        let columns = self.jacobian_columns();
        let tree = std::sync::Arc::clone(&self.tree);
        self.each_pair(|row, column, m, c, k| {
            let at = tree.joints.partition_point(|(v, _)| *v <= column) - 1;
            let (v, width) = tree.joints[at];
            for order in 0..n + 1 {
                let col = v * (n + 1) + order * width + (column - v);
                for l in order.saturating_sub(2)..count {
                    out[(l * nv + row) * columns + col] = emit(m, c, k, l, order);
                }
            }
        });
    }
}

/// `K_{l−m} + m C_{l−m+1} + m(m−1) M_{l−m+2}`.
#[inline(always)]
pub(crate) fn emit<T: Real>(mass: &[T], c: &[T], k: &[T], l: usize, m: usize) -> T {
    let mut x = if m <= l { k[l - m] } else { T::zero() };
    if m >= 1 && m <= l + 1 {
        x += c[l + 1 - m] * (m as f64);
    }
    if m >= 2 && m <= l + 2 {
        x += mass[l + 2 - m] * ((m * (m - 1)) as f64);
    }
    x
}
