//! Substitution with the factors for several right-hand sides side by side, one per lane: the factors are read once for
//! all of them. Step by step that of [`solve`](super::solve), for joints without force rows and limits.

use super::Ldu;
use super::algebra::{Block, Six};
use crate::geometry::Side;
use crate::graph::{Carried, Graph, Op};
use crate::layout::{Layout, Link};
use crate::mechanism::JointType;
use crate::scalar::Real;
use crate::spatial::Vec3;

/// Right-hand sides in, solutions out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns<T> {
    /// Per link: impulse rows about the joint point, world axes; replaced by the solution `[Ω; v]`.
    pub(crate) body: Vec<[T; 6]>,
    /// Per link: particular solution of the joint's velocity rows.
    pub(crate) particular: Vec<[T; 6]>,
    /// Per closure: velocity rows; replaced by the multipliers.
    pub(crate) closure: Vec<[T; 6]>,
    /// Per velocity coordinate: right-hand side of the pivot.
    rate: Vec<T>,
}

/// Who wants to know the solution of a link, `[Ω; v]` and the wrench of its joint, as soon as there is one.
pub(crate) trait Solved<T> {
    fn link(&mut self, i: usize, w: &[T; 6], wrench: &[T; 6]);
}

impl<T: Real> Columns<T> {
    pub(crate) fn new(layout: &Layout, nv: usize) -> Self {
        let n = layout.links.len();
        Self {
            body: vec![[T::zero(); 6]; n],
            particular: vec![[T::zero(); 6]; n],
            closure: vec![[T::zero(); 6]; layout.closures.len()],
            rate: vec![T::zero(); nv],
        }
    }
}

#[inline(always)]
fn dot<T: Real>(a: &Six, b: &[T; 6]) -> T {
    (b[0] * a[0] + b[1] * a[1]) + (b[2] * a[2] + b[3] * a[3]) + (b[4] * a[4] + b[5] * a[5])
}

#[inline(always)]
fn dot3<T: Real>(a: &Six, b: &[T; 6]) -> T {
    b[0] * a[0] + b[1] * a[1] + b[2] * a[2]
}

/// `target += Tᵀ [τ; f] = [τ + d × f; f]`.
#[inline(always)]
fn add_wrench<T: Real>(target: &mut [T; 6], wrench: &[T; 6], d: Vec3) {
    let f = Vec3([wrench[3], wrench[4], wrench[5]]);
    let turn = Vec3::<T>::constant(d).cross(f);
    for k in 0..3 {
        target[k] += wrench[k] + turn[k];
        target[3 + k] += f[k];
    }
}

/// `T w = [Ω; v + Ω × d]`.
#[inline(always)]
fn transport<T: Real>(w: &[T; 6], d: Vec3) -> [T; 6] {
    let turn = Vec3([w[0], w[1], w[2]]).cross(Vec3::<T>::constant(d));
    [w[0], w[1], w[2], w[3] + turn[0], w[4] + turn[1], w[5] + turn[2]]
}

#[inline(always)]
fn is_hinge(link: &Link) -> bool {
    matches!(link.joint.kind, JointType::Revolute | JointType::Continuous)
}

impl Ldu {
    /// Solves with the factors. `solved` is told every link's solution and the wrench of its joint, parents first. Does not
    /// allocate.
    #[inline(always)]
    pub(crate) fn solve_columns<T: Real>(
        &self,
        layout: &Layout,
        graph: &Graph,
        side: &Side,
        columns: &mut Columns<T>,
        solved: &mut impl Solved<T>,
    ) {
        for op in &graph.ops {
            match op {
                Op::Pair { link, carried, .. } => {
                    let at = &layout.links[*link];
                    if is_hinge(at) {
                        self.forward_columns::<T, 1>(layout, *link, carried, side, columns);
                    } else if at.joint.is_plain_ball() {
                        self.forward_columns::<T, 3>(layout, *link, carried, side, columns);
                    } else {
                        self.forward_columns::<T, 6>(layout, *link, carried, side, columns);
                    }
                }
                Op::Closure { closure, at, others, .. } => {
                    let y = times(&self.pivot[*closure], &columns.closure[*closure]);
                    let rows = layout.closures[*closure].rows;
                    if let Some((link, slot)) = at {
                        let (r, b) = (&mut columns.body[*link], &self.b[*slot]);
                        for k in 0..rows {
                            for m in 0..6 {
                                r[m] -= y[k] * b[k][m];
                            }
                        }
                    }
                    for (o, _, oc, _) in others {
                        for r in 0..layout.closures[*o].rows {
                            columns.closure[*o][r] -= dot(&self.cc[*oc][r], &y);
                        }
                    }
                }
            }
        }
        for op in graph.ops.iter().rev() {
            match op {
                Op::Pair { link, carried, .. } => {
                    let at = &layout.links[*link];
                    let wrench = if is_hinge(at) {
                        self.backward_columns::<T, 1>(layout, *link, carried, side, columns)
                    } else if at.joint.is_plain_ball() {
                        self.backward_columns::<T, 3>(layout, *link, carried, side, columns)
                    } else {
                        self.backward_columns::<T, 6>(layout, *link, carried, side, columns)
                    };
                    solved.link(*link, &columns.body[*link], &wrench);
                }
                Op::Closure { closure, at, others, .. } => {
                    let mut r = columns.closure[*closure];
                    if let Some((link, slot)) = at {
                        for k in 0..layout.closures[*closure].rows {
                            r[k] -= dot(&self.a[*slot][k], &columns.body[*link]);
                        }
                    }
                    for (o, co, _, _) in others {
                        for k in 0..layout.closures[*closure].rows {
                            r[k] -= dot(&self.cc[*co][k], &columns.closure[*o]);
                        }
                    }
                    columns.closure[*closure] = times(&self.pivot[*closure], &r);
                }
            }
        }
    }

    /// Forward substitution of a pair: `N` is 1 for hinges, 3 for balls, 6 for any other joint.
    #[inline(always)]
    fn forward_columns<T: Real, const N: usize>(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[Carried],
        side: &Side,
        columns: &mut Columns<T>,
    ) {
        let link = &layout.links[i];
        let (at, nv) = (link.v, if N == 6 { link.joint.kind.nv() } else { N });
        let (d, wp, r) = (&self.diagonal[i], columns.particular[i], columns.body[i]);
        // r − D w_p
        let mut rest = r;
        for k in 0..6 {
            rest[k] -= dot(&d[k], &wp);
        }
        let mut eta = [T::zero(); N]; // y of the pivot equation
        for k in 0..nv {
            eta[k] = match N {
                1 => dot3(&self.n_x[at], &rest),
                3 => rest[k],
                _ => dot(&self.n_x[at + k], &rest),
            };
            columns.rate[at + k] = eta[k];
        }
        if !carried.is_empty() {
            let xi = self.rates::<T, N>(at, nv, &eta);
            for c in carried {
                let (a, an) = (&self.a[c.slot], &self.an[c.slot]);
                let target = &mut columns.closure[c.closure];
                for row in 0..layout.closures[c.closure].rows {
                    let mut turned = T::zero();
                    for k in 0..nv {
                        turned += xi[k] * an[row][k];
                    }
                    target[row] -= dot(&a[row], &wp) + turned;
                }
            }
        }
        let Some(parent) = link.parent else { return };
        if N == 3 {
            // What a ball passes on is a force.
            for k in 0..3 {
                for m in 3..6 {
                    rest[m] -= eta[k] * self.right[at + k][m];
                }
            }
            (rest[0], rest[1], rest[2]) = (T::zero(), T::zero(), T::zero());
        } else {
            for k in 0..nv {
                for m in 0..6 {
                    rest[m] -= eta[k] * self.right[at + k][m];
                }
            }
        }
        add_wrench(&mut columns.body[parent], &rest, side.lever[i]);
    }

    /// Backward substitution of a pair; gives the wrench of its joint.
    #[inline(always)]
    fn backward_columns<T: Real, const N: usize>(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[Carried],
        side: &Side,
        columns: &mut Columns<T>,
    ) -> [T; 6] {
        let link = &layout.links[i];
        let (at, nv) = (link.v, if N == 6 { link.joint.kind.nv() } else { N });
        let moved = match link.parent {
            Some(p) => transport(&columns.body[p], side.lever[i]),
            None => [T::zero(); 6],
        };
        let mut y = [T::zero(); N];
        for k in 0..nv {
            y[k] = columns.rate[at + k] - dot(&self.left[at + k], &moved);
        }
        let mut load = [T::zero(); 6]; // B λ
        for c in carried {
            let (bn, b, lam) = (&self.bn[c.slot], &self.b[c.slot], &columns.closure[c.closure]);
            for row in 0..layout.closures[c.closure].rows {
                for k in 0..nv {
                    y[k] -= lam[row] * bn[row][k];
                }
                for m in 0..6 {
                    load[m] += lam[row] * b[row][m];
                }
            }
        }
        let xi = self.rates::<T, N>(at, nv, &y);
        let wp = &columns.particular[i];
        let mut w = moved;
        for k in 0..6 {
            w[k] += wp[k];
        }
        match N {
            1 => {
                for m in 0..3 {
                    w[m] += xi[0] * self.n_v[at][m];
                }
            }
            3 => {
                for m in 0..3 {
                    w[m] += xi[m];
                }
            }
            _ => {
                for k in 0..nv {
                    for m in 0..6 {
                        w[m] += xi[k] * self.n_v[at + k][m];
                    }
                }
            }
        }
        let (d, r) = (&self.diagonal[i], &columns.body[i]);
        let first = if N == 3 { 3 } else { 0 };
        let mut wrench = [T::zero(); 6];
        for k in first..6 {
            wrench[k] = dot(&d[k], &w) + load[k] - r[k];
        }
        columns.body[i] = w;
        wrench
    }

    /// `P⁻¹ y`.
    #[inline(always)]
    fn rates<T: Real, const N: usize>(&self, at: usize, nv: usize, y: &[T; N]) -> [T; N] {
        let mut xi = [T::zero(); N];
        for k in 0..nv {
            for m in 0..nv {
                xi[k] += y[m] * self.inverse[at + k][m];
            }
        }
        xi
    }
}

#[inline(always)]
fn times<T: Real>(m: &Block, x: &[T; 6]) -> [T; 6] {
    let mut out = [T::zero(); 6];
    for r in 0..6 {
        out[r] = dot(&m[r], x);
    }
    out
}
