//! Inverse dynamics by the recursive Newton–Euler algorithm, O(n).
//!
//! ```text
//! outward   A_i = A_p + bias_i + Σ S_c a_c,          A_world = −g
//!           F_i = G_i A_i + V_i ×* (G_i V_i) − F_ext
//! inward    τ_c = S_c · F_i + armature a_c,          F_p += F_i
//! ```

use super::Dynamics;
use crate::mechanism::Mechanism;
use crate::scalar::Real;
use crate::spatial::{Twist, Vec3};

impl<T: Real> Dynamics<T> {
    /// Generalised forces that produce the acceleration `a` against gravity: `M a + c + g`, armature included.
    ///
    /// Springs, dampers, inputs and drag are not part of it; see [`Dynamics::applied_forces_into`]. Does not
    /// allocate.
    pub fn inverse_dynamics_into(&mut self, mechanism: &Mechanism, q: &[T], v: &[T], a: &[T], tau: &mut [T]) {
        self.kinematics.update(mechanism, q, v);
        self.rnea(mechanism, a, tau);
    }

    /// The two sweeps, with kinematics already at the state.
    fn rnea(&mut self, mechanism: &Mechanism, a: &[T], tau: &mut [T]) {
        let nodes = &mechanism.tree().nodes;
        let k = &self.kinematics;
        let base = Twist::new(Vec3::zero(), -Vec3::constant(mechanism.gravity()));
        for (i, node) in nodes.iter().enumerate() {
            let mut acc = node.parent.map_or(base, |p| self.accelerations[p]) + k.biases[i];
            for c in node.v..node.v + node.nv {
                acc += k.columns[c] * a[c];
            }
            self.accelerations[i] = acc;
            let inertia = self.constants[i].transformed(&k.poses[i]);
            let v = k.velocities[i];
            self.forces[i] = inertia.mul(acc).as_wrench() + v.cross_momentum(inertia.mul(v));
        }
        for (i, node) in nodes.iter().enumerate().rev() {
            let f = self.forces[i];
            for c in 0..node.nv {
                tau[node.v + c] = k.columns[node.v + c].dot(f) + a[node.v + c] * self.armature[node.v + c];
            }
            if let Some(p) = node.parent {
                self.forces[p] += f;
            }
        }
    }
}
