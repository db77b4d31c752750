//! Energies, momenta and the centre of mass.

use super::Dynamics;
use crate::mechanism::Mechanism;
use crate::scalar::Real;
use crate::spatial::{Momentum, Vec3};

/// What a simulation is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observables<T = f64> {
    /// Kinetic energy, armature included.
    pub kinetic: T,
    /// Potential energy of gravity and springs.
    pub potential: T,
    /// Total momentum of the bodies about the world origin, world axes.
    pub momentum: Momentum<T>,
    /// Centre of mass in the world.
    pub com: Vec3<T>,
}

impl<T: Real> Observables<T> {
    /// Kinetic plus potential energy.
    pub fn total(&self) -> T {
        self.kinetic + self.potential
    }
}

impl<T: Real> Dynamics<T> {
    /// Energies, momentum and centre of mass at `(q, v)`. Does not allocate.
    pub fn observe(&mut self, mechanism: &Mechanism, q: &[T], v: &[T]) -> Observables<T> {
        self.kinematics.update(mechanism, q, v);
        let k = &self.kinematics;
        let mut momentum = Momentum::zero();
        let mut kinetic = T::zero();
        let mut moment = Vec3::zero();
        let mut mass = T::zero();
        for i in 0..k.poses.len() {
            let g = self.constants[i].transformed(&k.poses[i]);
            let mu = g.mul(k.velocities[i]);
            kinetic += k.velocities[i].dot_momentum(mu) * 0.5;
            momentum += mu;
            moment += g.moment;
            mass += g.mass;
        }
        for (a, v) in self.armature.iter().zip(v) {
            kinetic += *v * *v * (0.5 * a);
        }
        // Back to the world origin; bodies fixed to the ground count for the centre of mass and the potential.
        let origin = Vec3::constant(k.origin);
        moment += origin * mass;
        momentum = momentum.about(-origin);
        for (body, at) in mechanism.bodies().iter().zip(&mechanism.tree().bodies) {
            if at.node.is_none() {
                moment += Vec3::constant(at.pose.point(body.com).scale(body.mass));
                mass += T::from_f64(body.mass);
            }
        }
        let mut potential = -moment.dot(Vec3::constant(mechanism.gravity()));
        for node in &mechanism.tree().nodes {
            let joint = mechanism.joint(node.joint);
            if joint.stiffness != [0.0; 6] {
                let q = &q[node.q..node.q + node.nq];
                potential += node.kind.spring_energy(&joint.stiffness[..node.nv], &joint.rest[..node.nv], q);
            }
        }
        for tendon in mechanism.tendons() {
            let mut stretch = T::from_f64(-tendon.rest);
            for (at, a) in &tendon.terms {
                stretch += q[at.q] * *a;
            }
            potential += stretch * stretch * (0.5 * tendon.stiffness);
        }
        let com = if mass.value() > 0.0 { moment * (T::one() / mass) } else { Vec3::zero() };
        Observables { kinetic, potential, momentum, com }
    }
}
