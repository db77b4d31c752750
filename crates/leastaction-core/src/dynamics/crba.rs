//! Mass matrix by composite rigid bodies, O(n·depth).
//!
//! `M_ij = S_jᵀ Ĝ_i S_i` for j an ancestor of i, with `Ĝ_i` the inertia of everything behind joint i.

use super::Dynamics;
use crate::mechanism::Mechanism;
use crate::scalar::Real;

impl<T: Real> Dynamics<T> {
    /// The mass matrix (armature included) at `q`, row-major `nv × nv`, both triangles. Does not allocate.
    pub fn mass_matrix_into(&mut self, mechanism: &Mechanism, q: &[T], out: &mut [T]) {
        let nv = mechanism.nv();
        out[..nv * nv].fill(T::zero());
        self.kinematics.update_positions(mechanism, q);
        let nodes = &mechanism.tree().nodes;
        let k = &self.kinematics;
        for i in 0..nodes.len() {
            self.composites[i] = self.constants[i].transformed(&k.poses[i]);
        }
        for (i, node) in nodes.iter().enumerate().rev() {
            let composite = self.composites[i];
            if let Some(p) = node.parent {
                self.composites[p] += composite;
            }
            for c in node.v..node.v + node.nv {
                let momentum = composite.mul(k.columns[c]);
                for d in node.v..=c {
                    let m = k.columns[d].dot_momentum(momentum);
                    out[c * nv + d] = m;
                    out[d * nv + c] = m;
                }
                out[c * nv + c] += T::from_f64(self.armature[c]);
                let mut ancestor = node.parent;
                while let Some(j) = ancestor {
                    let other = &nodes[j];
                    for d in other.v..other.v + other.nv {
                        let m = k.columns[d].dot_momentum(momentum);
                        out[c * nv + d] = m;
                        out[d * nv + c] = m;
                    }
                    ancestor = other.parent;
                }
            }
        }
    }
}
