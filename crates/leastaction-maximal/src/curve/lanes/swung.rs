//! Torques of the joints' forces as the links turn: what the mass matrix of the iteration does not know. (8.29)

use super::super::CurveMemory;
use super::super::rows::{joint_wrench, larger};
use super::super::table::Table;
use super::{Nodes, coupled};
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::ldu::Six;
use crate::mechanism::JointType;
use crate::scalar::{Real, by_entry};
use crate::spatial::{Mat3, Vec3};
use leastaction_core::simd::{Exact, Simd};

/// Trace of `h²J⁻¹K` of a link from which on a second solve per iteration pays, for degrees 2 and 3: half an iteration each.
const FELT: [f64; 2] = [0.6, 4.0];
/// That trace for a turn of the links by a radian in the step, which by itself makes the iteration as slow.
const TURNING: f64 = 24.0;

/// Force on the child by the rows of a joint, times `h`: of the impulses of the inner nodes over their weights, on average.
fn mean_force(kind: JointType, g: &Geometry, table: &Table, lam: impl Fn(usize) -> Six) -> Vec3 {
    let share = 1.0 / (table.s - 1) as f64;
    (1..table.s).fold(Vec3::zero(), |sum, al| {
        let wrench = joint_wrench(kind, g, &lam(al));
        sum + Vec3([wrench[3], wrench[4], wrench[5]]) * (share / table.w[al])
    })
}

impl<V: Simd> Nodes<V> {
    /// `h² K`, `K = Σ (l fᵀ − (l·f) 1)` of every link for forces `f` at levers `l`, from the guess at the middle of the step, and whether
    /// that is felt.
    #[inline(never)]
    pub(super) fn swing_forces(&mut self, memory: &CurveMemory, layout: &Layout, h: f64) {
        let (x, table, side) = (&memory.x, &memory.table, &memory.middle.side);
        let (n, nc) = (self.links.len(), self.closures.len());
        let felt = FELT[table.s - 2];
        // No force is larger than its multipliers, and most mechanisms are done here.
        let inner = |lam: &[Six], count: usize| {
            let squares = lam[count..].iter().map(|lam| lam.iter().map(|x| x * x).sum());
            squares.fold(0.0, |m: f64, x| if x > m { x } else { m })
        };
        let largest = larger(inner(&x.lam, n), inner(&x.closure, nc)).sqrt() / table.w[1];
        self.swings = false;
        if largest * h.abs() * layout.stiffness_per_force <= felt {
            return;
        }
        let of_link =
            |i: usize| mean_force(layout.links[i].joint.kind, &side.joints[i], table, |al| x.lam[al * n + i]);
        let of_closure = |c: usize| {
            let index = layout.closures[c].index;
            mean_force(layout.loops[index].kind, &side.loops[index], table, |al| x.closure[al * nc + c])
        };
        self.swung.fill(Mat3::zero());
        let mut pull = |i: usize, f: Vec3, l: Vec3| {
            self.swung[i] = self.swung[i] + l.outer(f) + Mat3::diagonal(-l.dot(f));
        };
        for (i, link) in layout.links.iter().enumerate() {
            let f = of_link(i);
            pull(i, f, side.arm[i]);
            if let Some(p) = link.parent {
                pull(p, -f, side.arm[p] + side.lever[i]);
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            let (g, f) = (&side.loops[closure.index], of_closure(c));
            if let Some(b) = closure.b {
                pull(b, f, side.arm[b] + g.lever_b);
            }
            if let Some(a) = closure.a {
                pull(a, -f, side.arm[a] + g.transport(layout.loops[closure.index].kind));
            }
        }
        let (mut most, mut turn) = (0.0, 0.0);
        for (i, link) in layout.links.iter().enumerate() {
            let own = side.rot[i].transpose() * self.swung[i] * side.rot[i];
            most = larger(most, (link.inverse_inertia * own).trace().abs() * h.abs());
            turn = larger(turn, 2.0 * x.rho[(table.s - 1) * n + i].v.norm());
        }
        self.swings = most > felt && most > TURNING * turn;
    }

    /// Right-hand sides that answer to the torques of the direction just found.
    #[inline(always)]
    pub(super) fn answer_swing(&mut self) {
        let zero = Exact::<V>::zero();
        for (i, k) in self.swung.iter().enumerate() {
            let [a, b, c, ..] = self.columns.body[i];
            let torque = Mat3::<Exact<V>>::constant(*k) * Vec3([a, b, c]);
            let t: [Exact<V>; 3] =
                by_entry(|m| coupled(&self.by.inverse, self.s, 0, torque[m] * self.by.between));
            self.columns.body[i] = [t[0], t[1], t[2], zero, zero, zero];
            self.columns.particular[i] = [zero; 6];
        }
        self.columns.closure.fill([zero; 6]);
    }
}
