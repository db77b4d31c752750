//! Forward and backward substitution with the factors.

use super::algebra::{Block, Six, add_wrench, dot, head, kernel, times, transport};
use super::{Ldu, System};
use crate::geometry::Side;
use crate::graph::{Carried, Graph, Op};
use crate::layout::Layout;
use crate::scalar::by_entry;
use leastaction_core::simd::{Task, run_widest};

/// [`Ldu::solve`].
struct Solve<'a> {
    ldu: &'a Ldu,
    layout: &'a Layout,
    graph: &'a Graph,
    x: &'a Side,
    v: &'a Side,
    system: &'a mut System,
}
impl Task for Solve<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.ldu.solve_inlined(self.layout, self.graph, self.x, self.v, self.system);
    }
}

impl Ldu {
    /// Solves with the factors: `system` holds right-hand sides and receives the solution. Does not allocate.
    #[inline(never)]
    pub(crate) fn solve(&self, layout: &Layout, graph: &Graph, x: &Side, v: &Side, system: &mut System) {
        run_widest(Solve { ldu: self, layout, graph, x, v, system });
    }

    #[inline(always)]
    fn solve_inlined(&self, layout: &Layout, graph: &Graph, x: &Side, v: &Side, system: &mut System) {
        for op in &graph.ops {
            match op {
                Op::Pair { link, carried, .. } if layout.links[*link].joint.is_plain_ball() => {
                    self.forward_ball(layout, *link, carried, x, system);
                }
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
        self.backward(layout, graph, v, system, None);
    }

    /// Backward substitution; the multiplier of one closure may be given.
    #[inline(always)]
    fn backward(
        &self,
        layout: &Layout,
        graph: &Graph,
        v: &Side,
        system: &mut System,
        given: Option<(usize, Six)>,
    ) {
        for op in graph.ops.iter().rev() {
            match op {
                Op::Pair { link, carried, .. } if layout.links[*link].joint.is_plain_ball() => {
                    self.backward_ball(layout, *link, carried, v, system);
                }
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
                    system.closure[*closure] = match given {
                        Some((c, lam)) if c == *closure => lam,
                        _ => times(&self.pivot[*closure], &r),
                    };
                }
            }
        }
    }

    /// Multipliers of a closure that its own pivot does not feel, one per row of the result, and how many there are.
    pub(crate) fn kernel(&self, layout: &Layout, c: usize) -> (Block, usize) {
        let mut out = [[0.0; 6]; 6];
        let tolerance = layout.row_tolerance;
        let count = kernel(&self.cc[c], layout.closures[c].rows, &self.size[c], tolerance, &mut out);
        (out, count)
    }

    /// The self-stress that belongs to such a multiplier: joint wrenches and multipliers that move nothing.
    pub(crate) fn self_stress(
        &self,
        layout: &Layout,
        graph: &Graph,
        side: &Side,
        c: usize,
        which: usize,
        system: &mut System,
    ) {
        for zero in [&mut system.body, &mut system.particular, &mut system.closure, &mut system.wrench] {
            zero.fill([0.0; 6]);
        }
        system.rate.fill(0.0);
        system.force.fill(0.0);
        let free = self.kernel(layout, c).0[which];
        self.backward(layout, graph, side, system, Some((c, free)));
    }

    /// Forward substitution of a pair with `N` coordinates.
    #[inline(always)]
    pub(super) fn forward_pair<const N: usize>(
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
        let (d, wp) = (&self.diagonal[i], system.particular[i]);
        let r = system.body[i];
        // r − D w_p
        let mut rest: Six = by_entry(|k| r[k] - dot(&d[k], &wp));
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
    pub(super) fn forward_limits(
        &self,
        layout: &Layout,
        i: usize,
        carried: &[Carried],
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
    pub(super) fn backward_pair<const N: usize>(
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
        let mut w: Six = by_entry(|k| moved[k] + wp[k]);
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
        system.wrench[i] = by_entry(|k| dot(&d[k], &w) + load[k] - r[k]);
        system.body[i] = w;
    }
}
