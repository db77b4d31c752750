//! One direction from the equations last evaluated, taken. (8.12)

use super::super::CurveMemory;
use super::super::unknowns::normalised;
use super::{Columned, LinkNodes, Nodes, coupled, largest};
use crate::constraint::multipliers;
use crate::geometry::Side;
use crate::graph::Graph;
use crate::layout::Layout;
use crate::ldu::{Ldu, Solved};
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};
use crate::workspace::Worst;
use leastaction_core::simd::{Exact, Simd};

/// Turns, in tolerances, of which what is left can't be felt.
const NEAR: f64 = 0.05;

impl<V: Simd> Nodes<V> {
    /// Returns the largest parts of the direction.
    #[inline(always)]
    pub(super) fn improve(
        &mut self,
        memory: &CurveMemory,
        layout: &Layout,
        graph: &Graph,
        ldu: &Ldu,
        tolerance: f64,
    ) -> Worst {
        let (s, side) = (self.s, &memory.middle.side);
        for (c, closure) in self.closures.iter().enumerate() {
            let kept = &memory.kept[c];
            for r in 0..6 {
                let value = -(closure.value[r] * self.by.inner);
                self.columns.closure[c][r] = if kept[r] { value } else { Exact::zero() };
            }
        }
        let (turned, moved) = self.solve(layout, graph, side, ldu);
        // What the links' turns make of the joints' forces, as another solve with the same factors. (8.29)
        if self.swings && largest(turned, 1..s + 1) > NEAR * tolerance {
            self.answer_swing();
            self.solve(layout, graph, side, ldu);
        }
        Worst { ang: largest(turned, 1..s + 1), lin: largest(moved, 1..s + 1) }
    }

    /// Takes the direction that belongs to the right-hand sides; returns its parts.
    #[inline(always)]
    fn solve(&mut self, layout: &Layout, graph: &Graph, side: &Side, ldu: &Ldu) -> (Exact<V>, Exact<V>) {
        let Self { s, links, closures, columns, by, .. } = self;
        let zero = Exact::<V>::zero();
        let mut taken = Taken { s: *s, links, by, layout, side, turned: zero, moved: zero };
        ldu.solve_columns(layout, graph, side, columns, &mut taken);
        let (turned, moved) = (taken.turned, taken.moved);
        for (closure, solved) in closures.iter_mut().zip(&columns.closure) {
            for r in 0..6 {
                closure.lam[r] += coupled(&by.multiplier, *s, 1, solved[r]);
            }
        }
        (turned, moved)
    }
}

/// Takes every link's part of the direction as soon as it is known.
struct Taken<'a, V: Simd> {
    s: usize,
    links: &'a mut [LinkNodes<Exact<V>>],
    by: &'a Columned<Exact<V>>,
    layout: &'a Layout,
    side: &'a Side,
    turned: Exact<V>,
    moved: Exact<V>,
}

impl<V: Simd> Solved<Exact<V>> for Taken<'_, V> {
    #[inline(always)]
    fn link(&mut self, i: usize, w: &[Exact<V>; 6], wrench: &[Exact<V>; 6]) {
        let (link, kind, side) = (&mut self.links[i], self.layout.links[i].joint.kind, self.side);
        let (ang, lin) = (Vec3([w[0], w[1], w[2]]), Vec3([w[3], w[4], w[5]]));
        let eta = link.rot * Mat3::<Exact<V>>::constant(side.rot[i]).tr_mul(ang);
        let dx = lin - ang.cross(Vec3::constant(side.arm[i]));
        link.rho = normalised(Quat { w: Exact::one(), v: eta.scale(0.5) } * link.rho);
        link.dx += dx;
        for k in 0..3 {
            self.turned = self.turned.maximum(eta[k].abs());
            self.moved = self.moved.maximum(dx[k].abs());
        }
        // The solver's multipliers have the opposite sign: M w − Gᵀλ.
        let mut lam = [Exact::zero(); 6];
        let rows = multipliers(kind, &side.joints[i], wrench, &mut lam);
        for r in 0..rows {
            link.lam[r] += coupled(&self.by.multiplier, self.s, 1, lam[r]);
        }
    }
}
