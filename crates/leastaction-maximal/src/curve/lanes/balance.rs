//! The equations of the links, and the right-hand sides that they give. (8.6), (8.12)

use super::super::CurveMemory;
use super::super::body::{increment, skew_part};
use super::{Nodes, coupled, largest};
use crate::constraint::particular;
use crate::layout::Layout;
use crate::scalar::Real;
use crate::spatial::{Mat3, Vec3};
use crate::state::MaximalState;
use crate::workspace::Worst;
use leastaction_core::simd::{Exact, Simd};

impl<V: Simd> Nodes<V> {
    /// Evaluates the equations at the iterate; false if it is out of reach: turned by half a turn, or not finite.
    #[inline(always)]
    pub(super) fn evaluate(
        &mut self,
        memory: &mut CurveMemory,
        layout: &Layout,
        state: &MaximalState,
    ) -> bool {
        let gaps = self.place(layout, state, &memory.kept);
        let s = self.s;
        if largest(gaps.turned + Exact::one(), 1..s + 1) >= 1.0 {
            return false;
        }
        let zero = Exact::<V>::zero();
        let (mut ang_worst, mut lin_worst, mut loose, mut sum) = (zero, zero, zero, zero);
        let (by, side) = (self.by, &memory.middle.side);
        for (i, link) in layout.links.iter().enumerate() {
            let at = &self.links[i];
            // K^α: all nodes of the action by columns.
            let turn = increment(at.rho);
            let mut sums = Mat3::zero();
            for r in 0..3 {
                for k in 0..3 {
                    sums.0[r][k] = coupled(&by.mass, s, 1, turn.0[r][k]);
                }
            }
            let second = Mat3::<Exact<V>>::constant(memory.second[i]);
            let ang = skew_part(&(second + turn * second), &sums);
            let given = &at.given;
            let ang = at.rot.tr_mul(Vec3([ang[0] + given[0], ang[1] + given[1], ang[2] + given[2]]));
            let mut lin = at.dx;
            for k in 0..3 {
                lin[k] = coupled(&by.mass, s, 1, at.dx[k]) * link.mass + given[3 + k];
            }
            let spun = Mat3::<Exact<V>>::constant(link.inverse_inertia) * ang;
            for k in 0..3 {
                loose = loose.maximum(spun[k].abs());
                ang_worst = ang_worst.maximum(ang[k].abs());
                lin_worst = lin_worst.maximum(lin[k].abs());
                sum += ang[k] + lin[k];
            }
            // Right-hand sides of nodes 1 to s, about the joint point of the middle.
            let (rot, arm) =
                (Mat3::<Exact<V>>::constant(side.rot[i]), Vec3::<Exact<V>>::constant(side.arm[i]));
            let (mut f, mut tau) = (lin, ang);
            for k in 0..3 {
                f[k] = coupled(&by.inverse, s, 0, lin[k]);
                tau[k] = coupled(&by.inverse, s, 0, ang[k]);
            }
            let tau = rot * tau - arm.cross(f);
            self.columns.body[i] = [tau[0], tau[1], tau[2], f[0], f[1], f[2]];
            self.columns.particular[i] = particular(link.joint.kind, &side.joints[i], &at.close);
        }
        let worst = Worst { ang: largest(ang_worst, 0..s), lin: largest(lin_worst, 0..s) };
        let gap = Worst { ang: largest(gaps.ang, 1..s + 1), lin: largest(gaps.lin, 1..s + 1) };
        (memory.worst, memory.loose, memory.gap) = (worst, largest(loose, 0..s) * by.h.abs(), gap);
        let lanes = sum.lanes();
        (0..s).all(|k| lanes[k].is_finite()) && (gap.ang + gap.lin).is_finite()
    }
}
