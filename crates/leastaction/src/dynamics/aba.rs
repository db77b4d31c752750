//! Forward dynamics by the articulated-body algorithm, O(n), in one common frame.
//!
//! ```text
//! outward   bodies: Ĝ_i = G_i,  β_i = V_i ×* (G_i V_i) − F_ext
//! inward    U = Ĝ S,  D = Sᵀ U + armature,  e = τ − Sᵀ β
//!           Ĝ_p += Ĝ − U D⁻¹ Uᵀ,   β_p += β + (Ĝ − U D⁻¹ Uᵀ) bias + U D⁻¹ e
//! outward   A' = A_p + bias,  a = D⁻¹ (e − Uᵀ A'),  A = A' + S a,       A_world = −g
//! ```
//!
//! In the common frame nothing is transformed between links: the inward sweep is sums and a rank-nv update.

use super::Dynamics;
use crate::mechanism::{Mechanism, Node};
use crate::scalar::Real;
use crate::spatial::{ArticulatedInertia, Twist, Vec3, Wrench};

impl<T: Real> Dynamics<T> {
    /// Acceleration under the generalised forces `tau` and gravity. Does not allocate.
    ///
    /// Springs, dampers, inputs and drag are not part of it; see [`Dynamics::acceleration_into`].
    pub fn forward_dynamics_into(
        &mut self,
        mechanism: &Mechanism,
        q: &[T],
        v: &[T],
        tau: &[T],
        acceleration: &mut [T],
    ) {
        self.kinematics.update(mechanism, q, v);
        self.external.fill(Wrench::zero());
        self.aba(mechanism, tau, acceleration);
    }

    /// The three sweeps, with kinematics and external wrenches already at the state.
    pub(super) fn aba(&mut self, mechanism: &Mechanism, tau: &[T], acceleration: &mut [T]) {
        let nodes = &mechanism.tree().nodes;
        for i in 0..nodes.len() {
            let inertia = self.constants[i].transformed(&self.kinematics.poses[i]);
            let v = self.kinematics.velocities[i];
            self.articulated[i] = ArticulatedInertia::from_rigid(&inertia);
            self.forces[i] = v.cross_momentum(inertia.mul(v)) - self.external[i];
        }
        for (i, node) in nodes.iter().enumerate().rev() {
            if node.nv == 1 {
                self.inward_one(i, node, tau);
            } else {
                self.inward_many(i, node, tau);
            }
        }
        let base = Twist::new(Vec3::zero(), -Vec3::constant(mechanism.gravity()));
        for (i, node) in nodes.iter().enumerate() {
            let mut acc = node.parent.map_or(base, |p| self.accelerations[p]) + self.kinematics.biases[i];
            if node.nv == 1 {
                let c = node.v;
                let a = (self.efforts[c] - acc.dot(self.spread[c])) * self.pivots[i][0][0];
                acceleration[c] = a;
                acc += self.kinematics.columns[c] * a;
            } else {
                let mut rest = [T::zero(); 6];
                for c in 0..node.nv {
                    rest[c] = self.efforts[node.v + c] - acc.dot(self.spread[node.v + c]);
                }
                for c in 0..node.nv {
                    let mut a = T::zero();
                    for d in 0..node.nv {
                        a += self.pivots[i][c][d] * rest[d];
                    }
                    acceleration[node.v + c] = a;
                    acc += self.kinematics.columns[node.v + c] * a;
                }
            }
            self.accelerations[i] = acc;
        }
    }

    /// Inward step of a joint with one coordinate.
    #[inline(always)]
    fn inward_one(&mut self, i: usize, node: &Node, tau: &[T]) {
        let c = node.v;
        let s = self.kinematics.columns[c];
        let u = self.articulated[i].mul(s);
        let d = T::one() / (s.dot(u) + T::from_f64(self.armature[c]));
        let e = tau[c] - s.dot(self.forces[i]);
        self.spread[c] = u;
        self.efforts[c] = e;
        self.pivots[i][0][0] = d;
        if let Some(p) = node.parent {
            let reduced = self.articulated[i].minus_outer(u, u * d);
            let beta = self.forces[i] + reduced.mul(self.kinematics.biases[i]) + u * (d * e);
            self.articulated[p].add(&reduced);
            self.forces[p] += beta;
        }
    }

    /// Inward step of a joint with several coordinates.
    fn inward_many(&mut self, i: usize, node: &Node, tau: &[T]) {
        let (n, v) = (node.nv, node.v);
        let columns = &self.kinematics.columns[v..v + n];
        let mut u = [Wrench::zero(); 6];
        let mut d = [[T::zero(); 6]; 6];
        let mut e = [T::zero(); 6];
        for c in 0..n {
            u[c] = self.articulated[i].mul(columns[c]);
            e[c] = tau[v + c] - columns[c].dot(self.forces[i]);
            for b in 0..=c {
                d[c][b] = columns[b].dot(u[c]);
                d[b][c] = d[c][b];
            }
            d[c][c] += T::from_f64(self.armature[v + c]);
        }
        let inverse = invert_spd(d, n);
        self.spread[v..v + n].copy_from_slice(&u[..n]);
        self.efforts[v..v + n].copy_from_slice(&e[..n]);
        self.pivots[i] = inverse;
        if let Some(p) = node.parent {
            let mut reduced = self.articulated[i];
            let mut beta = self.forces[i];
            for c in 0..n {
                let mut w = Wrench::zero();
                for b in 0..n {
                    w += u[b] * inverse[b][c];
                }
                reduced = reduced.minus_outer(u[c], w);
                beta += w * e[c];
            }
            beta += reduced.mul(self.kinematics.biases[i]);
            self.articulated[p].add(&reduced);
            self.forces[p] += beta;
        }
    }
}

/// Inverse of the leading `n × n` block of a symmetric positive definite matrix (Gauss–Jordan, no pivoting).
pub(crate) fn invert_spd<T: Real>(mut a: [[T; 6]; 6], n: usize) -> [[T; 6]; 6] {
    for k in 0..n {
        let pivot = T::one() / a[k][k];
        a[k][k] = T::one();
        for j in 0..n {
            a[k][j] *= pivot;
        }
        for i in 0..n {
            if i != k {
                let f = a[i][k];
                a[i][k] = T::zero();
                for j in 0..n {
                    let x = a[k][j];
                    a[i][j] -= f * x;
                }
            }
        }
    }
    a
}
