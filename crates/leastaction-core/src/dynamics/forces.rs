//! Applied forces: springs, dampers and inputs on joints; drag and thrusters on bodies.

use super::Dynamics;
use crate::mechanism::{Mechanism, cut};
use crate::scalar::Real;
use crate::spatial::{Vec3, Wrench};

impl<T: Real> Dynamics<T> {
    /// Generalised forces of springs, dampers and actuators at `(q, v, u)`. Does not allocate.
    ///
    /// `u` holds controls, or the states of actuators that have one. Laws are evaluated at the state (1.9), and the forces on
    /// a coordinate are held within the joint's effort limit.
    pub fn joint_forces_into(&self, mechanism: &Mechanism, q: &[T], v: &[T], u: &[T], tau: &mut [T]) {
        tau.fill(T::zero());
        for node in &mechanism.tree().nodes {
            let joint = mechanism.joint(node.joint);
            let out = &mut tau[node.v..node.v + node.nv];
            for actuator in &joint.actuators {
                out[actuator.coordinate] += mechanism.input_force(actuator.input, u, q, v) * actuator.gear;
            }
            if let Some(limits) = &joint.limits
                && limits.effort < f64::INFINITY
                && !joint.actuators.is_empty()
            {
                for x in out.iter_mut() {
                    *x = cut(*x, limits.effort_range).0;
                }
            }
            if joint.stiffness != [0.0; 6] {
                node.kind.add_spring_force(
                    &joint.stiffness[..node.nv],
                    &joint.rest[..node.nv],
                    &q[node.q..node.q + node.nq],
                    out,
                );
            }
            for c in 0..node.nv {
                out[c] -= v[node.v + c] * joint.damping[c];
            }
        }
        for tendon in mechanism.tendons() {
            let force = tendon.force(q, v);
            for (at, a) in &tendon.terms {
                tau[at.v] += force * *a;
            }
        }
    }

    /// Wrenches of drag and thrusters on every node, world axes about the kinematics' origin.
    ///
    /// Kinematics must be at the state. Does not allocate.
    pub(super) fn update_external(&mut self, mechanism: &Mechanism, u: &[T]) {
        self.external.fill(Wrench::zero());
        let tree = mechanism.tree();
        let wind = Vec3::constant(mechanism.wind());
        for drag in &tree.drags {
            let p = self.kinematics.poses[drag.node].point(Vec3::constant(drag.point));
            let v = self.kinematics.velocities[drag.node];
            let f = (v.lin + v.ang.cross(p) - wind).scale(-drag.coefficient);
            self.external[drag.node] += Wrench::new(p.cross(f), f);
        }
        for push in &tree.pushes {
            let p = self.kinematics.poses[push.node].point(Vec3::constant(push.point));
            let f = Vec3::constant(push.wrench.lin);
            let w = Wrench::new(Vec3::constant(push.wrench.ang) + p.cross(f), f);
            self.external[push.node] += w * mechanism.input_force(push.input, u, &[], &[]);
        }
        for thruster in &tree.thrusters {
            let w = self.kinematics.poses[thruster.node].wrench(Wrench::constant(thruster.wrench));
            // What acts as a wrench has no length: its law is of the input alone.
            self.external[thruster.node] += w * mechanism.input_force(thruster.input, u, &[], &[]);
        }
    }

    /// All applied generalised forces except gravity: springs, dampers, actuators, drag and thrusters.
    /// Does not allocate.
    pub fn applied_forces_into(&mut self, mechanism: &Mechanism, q: &[T], v: &[T], u: &[T], tau: &mut [T]) {
        self.kinematics.update(mechanism, q, v);
        self.update_external(mechanism, u);
        self.joint_forces_into(mechanism, q, v, u, tau);
        // Inward: the wrench on a subtree works on every joint above it.
        for (i, node) in mechanism.tree().nodes.iter().enumerate().rev() {
            let f = self.external[i];
            for c in node.v..node.v + node.nv {
                tau[c] += self.kinematics.columns[c].dot(f);
            }
            if let Some(p) = node.parent {
                self.external[p] += f;
            }
        }
    }

    /// Acceleration of the free motion at `(q, v)` under the inputs `u`: every force of the model. Does not allocate.
    pub fn acceleration_into(
        &mut self,
        mechanism: &Mechanism,
        q: &[T],
        v: &[T],
        u: &[T],
        acceleration: &mut [T],
    ) {
        self.kinematics.update(mechanism, q, v);
        self.update_external(mechanism, u);
        let mut tau = std::mem::take(&mut self.tau);
        self.joint_forces_into(mechanism, q, v, u, &mut tau);
        self.aba(mechanism, &tau, acceleration);
        self.tau = tau;
    }
}
