//! [`Drive`]: an input with its law and the coordinates it acts on.

use super::law::{InputLaw, cut};
use super::{Actuator, Joint, JointId, JointRole, Mechanism};
use crate::scalar::Real;

/// An input: its law, and the coordinates of tree joints that make up its length.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// How the input becomes a force.
    pub law: InputLaw,
    /// True if the force is the input itself.
    pub plain: bool,
    /// Where it acts; empty for wrenches on bodies.
    pub entries: Vec<DriveEntry>,
}

/// A coordinate that an input acts on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveEntry {
    /// Index of the joint.
    pub joint: usize,
    /// Position coordinate; none on spherical and floating joints, which have no length.
    pub q: Option<usize>,
    /// Velocity coordinate.
    pub v: usize,
    /// Generalised force per unit of force.
    pub gear: f64,
}

impl Drive {
    /// What acts for the whole step under the input `u`: the force, where it does not depend on the motion, else what the law
    /// of the servo is given.
    #[must_use]
    pub fn constant(&self, u: f64) -> f64 {
        if self.plain || self.law.is_servo() { u } else { self.law.force(u, 0.0, 0.0) }
    }

    /// The drives of all inputs.
    pub(super) fn all(laws: &[InputLaw], joints: &[Joint]) -> Vec<Self> {
        let mut drives: Vec<Self> = laws
            .iter()
            .map(|law| Self { law: *law, plain: *law == InputLaw::PLAIN, entries: Vec::new() })
            .collect();
        for (index, joint) in joints.iter().enumerate().filter(|(_, joint)| joint.role == JointRole::Tree) {
            let scalar = joint.kind.nq() == joint.kind.nv();
            for Actuator { input, coordinate, gear } in joint.actuators.iter().copied() {
                drives[input].entries.push(DriveEntry {
                    joint: index,
                    q: scalar.then_some(joint.q + coordinate),
                    v: joint.v + coordinate,
                    gear,
                });
            }
        }
        drives
    }
}

impl Mechanism {
    /// The inputs with their laws.
    #[must_use]
    pub fn drives(&self) -> &[Drive] {
        &self.drives
    }

    /// True if an actuator has a state of its own.
    #[must_use]
    pub fn has_activations(&self) -> bool {
        self.drives.iter().any(|drive| drive.law.is_activated())
    }

    /// Force of an input before the effort limits of joints, under the controls (or states of actuators) `x`.
    #[inline]
    pub fn input_force<T: Real>(&self, input: usize, x: &[T], q: &[T], v: &[T]) -> T {
        let drive = &self.drives[input];
        if drive.plain {
            return x[input];
        }
        let (mut length, mut velocity) = (T::zero(), T::zero());
        for entry in &drive.entries {
            if let Some(index) = entry.q {
                length += q[index] * entry.gear;
                velocity += v[entry.v] * entry.gear;
            }
        }
        drive.law.force(x[input], length, velocity)
    }

    /// What the actuators of a coordinate can give: the effort limit of the joint and, if all of its inputs are forces of a
    /// limited control, the sum of theirs. Infinite where there is no limit.
    #[must_use]
    pub fn force_range(&self, joint: JointId, coordinate: usize) -> [f64; 2] {
        let joint = self.joint(joint);
        let [low, high] =
            joint.limits.map_or([f64::NEG_INFINITY, f64::INFINITY], |limits| limits.effort_range);
        let actuators = || joint.actuators.iter().filter(|a| a.coordinate == coordinate);
        if actuators().next().is_none() {
            return [low, high];
        }
        let mut sum = [0.0; 2];
        for a in actuators() {
            let law = &self.drives[a.input].law;
            let mut ends = law.control_range.map(|u| law.gain[0] * u + law.bias[0]);
            if law.is_servo() || law.is_activated() || law.gain[0] == 0.0 {
                ends = law.force_range;
            }
            let mut ends = ends.map(|f| cut(f, law.force_range).0 * a.gear);
            ends.sort_by(f64::total_cmp);
            sum = [sum[0] + ends[0], sum[1] + ends[1]];
        }
        [low.max(sum[0]), high.min(sum[1])]
    }

    /// What acts of each input at a state: its force (1.9), in proportion to what the effort limits of its joint leave. An
    /// input on several coordinates is not cut here.
    pub fn input_forces_into(&self, x: &[f64], q: &[f64], v: &[f64], out: &mut [f64]) {
        for (input, out) in out.iter_mut().enumerate() {
            *out = self.input_force(input, x, q, v);
        }
        for joint in self.joints.iter().filter(|joint| joint.limits.is_some_and(|l| l.effort < f64::INFINITY))
        {
            for coordinate in 0..joint.kind.nv() {
                let of_coordinate = || joint.actuators.iter().filter(move |a| a.coordinate == coordinate);
                let sum: f64 = of_coordinate().map(|a| out[a.input] * a.gear).sum();
                let (held, inside) = cut(sum, joint.limits.map_or([0.0; 2], |l| l.effort_range));
                if !inside && sum != 0.0 {
                    for a in of_coordinate().filter(|a| self.drives[a.input].entries.len() <= 1) {
                        out[a.input] *= held / sum;
                    }
                }
            }
        }
    }
}
