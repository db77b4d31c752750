//! The transposed substitution: from cotangents of the solution to cotangents of the right-hand sides.
//!
//! [`solve`](super::solve) is a linear map (body, particular, force, closure) ↦ (velocities, rates, wrenches,
//! multipliers). Its transpose runs the same two sweeps backwards with the same factors. (3.34)

use super::algebra::{Block, Six, add_wrench, dot, head, transport};
use super::{Ldu, System};
use crate::geometry::Side;
use crate::graph::{Carried, Graph, Op};
use crate::layout::Layout;

/// `target += s · a`.
#[inline(always)]
fn add_scaled(target: &mut Six, a: &Six, s: f64) {
    for k in 0..6 {
        target[k] += s * a[k];
    }
}

/// `Mᵀ x`.
fn transposed_times(m: &Block, x: &Six) -> Six {
    let mut y = [0.0; 6];
    for r in 0..6 {
        add_scaled(&mut y, &m[r], x[r]);
    }
    y
}

impl Ldu {
    /// Solves with the transposed matrix. In: cotangents of the velocities in `body`, of the rates in `rate`, of the
    /// wrenches in `wrench`, of the multipliers in `closure`. Out: cotangents of the right-hand sides `body`,
    /// `particular`, `force` and `closure`. Does not allocate.
    pub(crate) fn solve_transposed(
        &self,
        layout: &Layout,
        graph: &Graph,
        x: &Side,
        v: &Side,
        system: &mut System,
    ) {
        system.particular.fill([0.0; 6]);
        for op in &graph.ops {
            match op {
                Op::Pair { link, carried, .. } => match layout.links[*link].joint.kind.nv() {
                    0 => self.backward_pair_transposed::<0>(layout, *link, carried, v, system),
                    1 => self.backward_pair_transposed::<1>(layout, *link, carried, v, system),
                    2 => self.backward_pair_transposed::<2>(layout, *link, carried, v, system),
                    3 => self.backward_pair_transposed::<3>(layout, *link, carried, v, system),
                    _ => self.backward_pair_transposed::<6>(layout, *link, carried, v, system),
                },
                Op::Closure { closure, at, others, .. } => {
                    let t = transposed_times(&self.pivot[*closure], &system.closure[*closure]);
                    if let Some((link, slot)) = at {
                        let back = transposed_times(&self.a[*slot], &t);
                        add_scaled(&mut system.particular[*link], &back, -1.0);
                    }
                    for (o, co, _, _) in others {
                        let back = transposed_times(&self.cc[*co], &t);
                        add_scaled(&mut system.closure[*o], &back, -1.0);
                    }
                    system.closure[*closure] = t;
                }
            }
        }
        for op in graph.ops.iter().rev() {
            match op {
                Op::Pair { link, carried, .. } => match layout.links[*link].joint.kind.nv() {
                    0 => self.forward_pair_transposed::<0>(layout, *link, carried, x, system),
                    1 => self.forward_pair_transposed::<1>(layout, *link, carried, x, system),
                    2 => self.forward_pair_transposed::<2>(layout, *link, carried, x, system),
                    3 => self.forward_pair_transposed::<3>(layout, *link, carried, x, system),
                    _ => self.forward_pair_transposed::<6>(layout, *link, carried, x, system),
                },
                Op::Closure { closure, at, others, .. } => {
                    let mut y = [0.0; 6];
                    if let Some((link, slot)) = at {
                        for k in 0..6 {
                            y[k] -= dot(&self.b[*slot][k], &system.body[*link]);
                        }
                    }
                    for (o, _, oc, _) in others {
                        let back = transposed_times(&self.cc[*oc], &system.closure[*o]);
                        add_scaled(&mut y, &back, -1.0);
                    }
                    let back = transposed_times(&self.pivot[*closure], &y);
                    add_scaled(&mut system.closure[*closure], &back, 1.0);
                }
            }
        }
    }

    /// Transpose of the backward substitution of a pair. Cotangents of velocities gather in `particular`.
    fn backward_pair_transposed<const N: usize>(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[Carried],
        v: &Side,
        system: &mut System,
    ) {
        let link = &layout.links[i];
        let at = link.v;
        let (n_v, left, inverse) =
            (head::<N>(&self.n_v, at), head::<N>(&self.left, at), head::<N>(&self.inverse, at));
        // wrench = D w + Bλ − r
        let load = system.wrench[i];
        let mut w = transposed_times(&self.diagonal[i], &load);
        add_scaled(&mut w, &system.body[i], 1.0);
        add_scaled(&mut w, &system.particular[i], 1.0);
        system.body[i] = load.map(|x| -x);
        // w = moved + w_p + N_v ξ,  ξ = P⁻¹ y
        let mut y = [0.0; N];
        for k in 0..N {
            let xi = system.rate[at + k] + dot(&n_v[k], &w);
            for m in 0..N {
                y[m] += inverse[k][m] * xi;
            }
        }
        system.particular[i] = w;
        // y = η − N_xᵀD moved − N_xᵀBλ
        let mut moved = w;
        for k in 0..N {
            add_scaled(&mut moved, &left[k], -y[k]);
            system.rate[at + k] = y[k];
        }
        for c in carried {
            let (bn, b) = (&self.bn[c.slot], &self.b[c.slot]);
            let target = &mut system.closure[c.closure];
            for row in 0..layout.closures[c.closure].rows {
                let mut sum = dot(&b[row], &load);
                for k in 0..N {
                    sum -= bn[row][k] * y[k];
                }
                target[row] += sum;
            }
        }
        if let Some(parent) = link.parent {
            add_wrench(&mut system.particular[parent], &moved, v.lever[i]);
        }
    }

    /// Transpose of the forward substitution of a pair.
    fn forward_pair_transposed<const N: usize>(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[Carried],
        x: &Side,
        system: &mut System,
    ) {
        let link = &layout.links[i];
        let at = link.v;
        let (n_x, right, inverse) =
            (head::<N>(&self.n_x, at), head::<N>(&self.right, at), head::<N>(&self.inverse, at));
        let mut rest = link.parent.map_or([0.0; 6], |p| transport(&system.body[p], x.lever[i]));
        let mut xi = [0.0; 6];
        for c in carried {
            let (a, an, g) = (&self.a[c.slot], &self.an[c.slot], system.closure[c.closure]);
            for row in 0..layout.closures[c.closure].rows {
                add_scaled(&mut xi, &an[row], -g[row]);
                add_scaled(&mut system.particular[i], &a[row], -g[row]);
            }
        }
        let mut eta = [0.0; N];
        for k in 0..N {
            eta[k] = system.rate[at + k] - dot(&right[k], &rest);
            for m in 0..N {
                eta[k] += inverse[m][k] * xi[m];
            }
        }
        for k in 0..N {
            system.force[at + k] = eta[k];
            add_scaled(&mut rest, &n_x[k], eta[k]);
        }
        add_scaled(&mut system.body[i], &rest, 1.0);
        let back = transposed_times(&self.diagonal[i], &rest);
        add_scaled(&mut system.particular[i], &back, -1.0);
    }
}
