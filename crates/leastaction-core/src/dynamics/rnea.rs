//! Inverse dynamics by the recursive Newton–Euler algorithm, O(n).
//!
//! ```text
//! outward   A_i = T A_p + bias_i + Σ S_c a_c,        A_world = −g
//!           F_i = G_i A_i + V_i ×* (G_i V_i)
//! inward    τ_c = S_c · F_i + armature a_c,          F_p += Tᵀ F_i
//! ```
//!
//! World axes about each joint's own origin; `T` moves the reference point from the parent's (see `aba.rs`).

use super::Dynamics;
use crate::mechanism::Mechanism;
use crate::scalar::Real;
use crate::simd::{Task, run_widest};
use crate::spatial::{Twist, Vec3, Wrench};

impl<T: Real> Dynamics<T> {
    /// Generalised forces that produce the acceleration `a` against gravity: `M a + c + g`, armature included.
    ///
    /// Springs, dampers, inputs and drag are not part of it; see [`Dynamics::applied_forces_into`]. Does not
    /// allocate.
    pub fn inverse_dynamics_into(&mut self, mechanism: &Mechanism, q: &[T], v: &[T], a: &[T], tau: &mut [T]) {
        self.kinematics.update(mechanism, q, v);
        self.rnea(mechanism, a, tau);
    }

    /// Forces of several states side by side; the mechanism has turns and slides only.
    #[inline(always)]
    pub(super) fn forces_of_states(
        &mut self,
        mechanism: &Mechanism,
        q: &[T],
        v: &[T],
        a: &[T],
        tau: &mut [T],
    ) {
        self.kinematics.update_inlined(mechanism, q, v);
        self.rnea_inlined(mechanism, a, tau);
    }

    /// The two sweeps, with kinematics already at the state.
    pub(crate) fn rnea(&mut self, mechanism: &Mechanism, a: &[T], tau: &mut [T]) {
        self.rnea_inlined(mechanism, a, tau);
    }

    #[inline(always)]
    fn rnea_inlined(&mut self, mechanism: &Mechanism, a: &[T], tau: &mut [T]) {
        let nodes = &mechanism.tree().nodes;
        self.refer_to_joints(mechanism);
        let gravity = Twist::new(Vec3::zero(), -Vec3::constant(mechanism.gravity()));
        for (i, node) in nodes.iter().enumerate() {
            let base = match node.parent {
                None => gravity,
                Some(parent) => {
                    let a = self.accelerations[parent];
                    Twist::new(a.ang, a.lin + a.ang.cross(self.arms[i]))
                }
            };
            let mut acc = base + self.own_biases[i];
            for c in node.v..node.v + node.nv {
                acc += self.own_columns[c] * a[c];
            }
            self.accelerations[i] = acc;
            let inertia = self.constants[i].rotated(&self.kinematics.poses[i].rot);
            let v = self.own_velocities[i];
            self.forces[i] = inertia.mul(acc).as_wrench() + v.cross_momentum(inertia.mul(v));
        }
        for (i, node) in nodes.iter().enumerate().rev() {
            let f = self.forces[i];
            for c in node.v..node.v + node.nv {
                tau[c] = self.own_columns[c].dot(f) + a[c] * self.armature[c];
            }
            if let Some(p) = node.parent {
                self.forces[p] += Wrench::new(f.ang + self.arms[i].cross(f.lin), f.lin);
            }
        }
    }
}

impl Dynamics<f64> {
    /// As [`rnea`](Dynamics::rnea), for the widest vectors.
    pub(crate) fn rnea_widest(&mut self, mechanism: &Mechanism, a: &[f64], tau: &mut [f64]) {
        run_widest(Sweeps { dynamics: self, mechanism, a, tau });
    }
}

struct Sweeps<'a> {
    dynamics: &'a mut Dynamics<f64>,
    mechanism: &'a Mechanism,
    a: &'a [f64],
    tau: &'a mut [f64],
}
impl Task for Sweeps<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.dynamics.rnea_inlined(self.mechanism, self.a, self.tau);
    }
}
