//! Forward dynamics by the articulated-body algorithm, O(n), in the axes of each node about its joint's origin.
//!
//! ```text
//! outward   bodies: Ĝ_i = G_i,  β_i = V_i ×* (G_i V_i) − F_ext
//! inward    U = Ĝ S,  D = Sᵀ U + armature,  e = τ − Sᵀ β
//!           Ĝ_p += Tᵀ (Ĝ − U D⁻¹ Uᵀ) T,   β_p += Tᵀ (β + (Ĝ − U D⁻¹ Uᵀ) bias + U D⁻¹ e)
//! outward   A' = T A_p + bias,  a = D⁻¹ (e − Uᵀ A'),  A = A' + S a,       A_world = −g
//! ```
//!
//! `T` moves a twist from the parent's frame to the node's. Own frames cost a rotation per link and keep digits: about
//! one common point a small link is lost in the `m d²` of its distance, and along a slanted axis the pivot of a nearly
//! massless link is lost in a sum. On iCub the common frame left 20 times the residual.

use super::Dynamics;
use crate::mechanism::{JointType, Mechanism, Node};
use crate::scalar::Real;
use crate::spatial::{ArticulatedInertia, Mat3, Twist, Vec3, Wrench};

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
        self.aba_inlined(mechanism, tau, acceleration);
    }

    /// Acceleration of several states side by side under the forces `tau` and gravity; the mechanism has turns and slides
    /// only, and no wrenches on bodies. Does not allocate.
    #[inline(always)]
    pub(crate) fn accelerations_of_states(
        &mut self,
        mechanism: &Mechanism,
        q: &[T],
        v: &[T],
        tau: &[T],
        acceleration: &mut [T],
    ) {
        self.kinematics.update_inlined(mechanism, q, v);
        self.aba_inlined(mechanism, tau, acceleration);
    }

    #[inline(always)]
    fn aba_inlined(&mut self, mechanism: &Mechanism, tau: &[T], acceleration: &mut [T]) {
        let nodes = &mechanism.tree().nodes;
        self.refer_to_joints(mechanism);
        for (i, node) in nodes.iter().enumerate() {
            self.turn_into_node_axes(i, node);
            let v = self.own_velocities[i];
            let pose = &self.kinematics.poses[i];
            let external = self.external[i];
            let external = Wrench::new(
                pose.rot.tr_mul(external.ang - pose.pos.cross(external.lin)),
                pose.rot.tr_mul(external.lin),
            );
            self.articulated[i] = ArticulatedInertia::from_rigid(&self.constants[i]);
            self.forces[i] = v.cross_momentum(self.constants[i].mul(v)) - external;
        }
        for (i, node) in nodes.iter().enumerate().rev() {
            if T::STATES || node.nv == 1 {
                self.inward_one(i, node, tau);
            } else {
                self.inward_many(i, node, tau);
            }
        }
        let gravity = Twist::new(Vec3::zero(), -Vec3::constant(mechanism.gravity()));
        for (i, node) in nodes.iter().enumerate() {
            let base = match node.parent {
                None => gravity,
                Some(parent) => {
                    let a = self.accelerations[parent];
                    Twist::new(a.ang, a.lin + a.ang.cross(self.arms[i]))
                }
            };
            let base = Twist::new(self.turns[i].tr_mul(base.ang), self.turns[i].tr_mul(base.lin));
            let mut acc = base + self.own_biases[i];
            if T::STATES || node.nv == 1 {
                let c = node.v;
                let a = (self.efforts[c] - acc.dot(self.spread[c])) * self.pivots[i][0][0];
                acceleration[c] = a;
                acc += self.own_columns[c] * a;
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
                    acc += self.own_columns[node.v + c] * a;
                }
            }
            self.accelerations[i] = acc;
        }
    }

    /// Inward step of a joint with one coordinate.
    #[inline(always)]
    fn inward_one(&mut self, i: usize, node: &Node, tau: &[T]) {
        let c = node.v;
        let s = self.own_columns[c];
        let u = self.articulated[i].mul(s);
        let d = T::one() / (s.dot(u) + T::from_f64(self.armature[c]));
        let e = tau[c] - s.dot(self.forces[i]);
        self.spread[c] = u;
        self.efforts[c] = e;
        self.pivots[i][0][0] = d;
        if let Some(p) = node.parent {
            let reduced = self.articulated[i].minus_outer(u, u * d);
            let beta = self.forces[i] + reduced.mul(self.own_biases[i]) + u * (d * e);
            self.hand_over(p, &reduced, beta, i);
        }
    }

    /// Inward step of a joint with several coordinates.
    fn inward_many(&mut self, i: usize, node: &Node, tau: &[T]) {
        let (n, v) = (node.nv, node.v);
        let columns = &self.own_columns[v..v + n];
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
            beta += reduced.mul(self.own_biases[i]);
            self.hand_over(p, &reduced, beta, i);
        }
    }

    /// Velocities, columns and the arm from world axes into the axes of node `i` (the arm into its parent's).
    ///
    /// There a hinge is exactly z, so that its pivot is an entry of the inertia and not a sum that rounds.
    #[inline(always)]
    fn turn_into_node_axes(&mut self, i: usize, node: &Node) {
        let rot = self.kinematics.poses[i].rot;
        self.own_velocities[i] = turned(&rot, self.own_velocities[i]);
        self.own_biases[i] = turned(&rot, self.own_biases[i]);
        let z = Vec3([T::zero(), T::zero(), T::one()]);
        match node.kind {
            JointType::Revolute | JointType::Continuous => {
                self.own_columns[node.v] = Twist::new(z, Vec3::zero());
            }
            JointType::Prismatic => self.own_columns[node.v] = Twist::new(Vec3::zero(), z),
            _ => {
                for c in node.v..node.v + node.nv {
                    self.own_columns[c] = turned(&rot, self.own_columns[c]);
                }
            }
        }
        self.turns[i] = rot;
        if let Some(parent) = node.parent {
            let up = self.kinematics.poses[parent].rot;
            self.arms[i] = up.tr_mul(self.arms[i]);
            self.turns[i] = up.transpose() * rot;
        }
    }

    /// Adds the reduced inertia and force of node `i` to its parent, in the parent's axes about its origin.
    #[inline(always)]
    fn hand_over(&mut self, parent: usize, reduced: &ArticulatedInertia<T>, beta: Wrench<T>, i: usize) {
        let (turn, arm) = (self.turns[i], self.arms[i]);
        self.articulated[parent].add(&reduced.rotated(&turn).about(arm));
        let force = turn * beta.lin;
        self.forces[parent] += Wrench::new(turn * beta.ang + arm.cross(force), force);
    }
}

/// A twist from world axes into those of a frame.
#[inline(always)]
fn turned<T: Real>(rot: &Mat3<T>, t: Twist<T>) -> Twist<T> {
    Twist::new(rot.tr_mul(t.ang), rot.tr_mul(t.lin))
}

/// Inverse of the leading `n × n` block of a symmetric positive definite matrix (Gauss–Jordan, no pivoting).
pub(super) fn invert_spd<T: Real>(mut a: [[T; 6]; 6], n: usize) -> [[T; 6]; 6] {
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
