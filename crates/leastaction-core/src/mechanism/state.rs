//! [`State`]: where a mechanism is and how it moves, in the public convention.

use super::description::{Coordinates, StateDescription};
use super::{JointRole, Mechanism};

/// Time, positions and velocities of all tree joints, and what an integrator needs to continue bit for bit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Time in seconds.
    pub t: f64,
    /// Positions, by [`Mechanism::q_range`].
    pub q: Vec<f64>,
    /// Velocities, by [`Mechanism::v_range`].
    pub v: Vec<f64>,
    /// States of actuators that have one, by input; empty if all are zero.
    pub act: Vec<f64>,
    /// Values that inputs have from here on if nothing else is said; empty if all are zero.
    pub inputs: Vec<f64>,
    /// What the integrator that made this state continues from.
    pub warm: Option<WarmStart>,
}

/// An integrator's own memory: momenta, previous nodes, impulses. Opaque numbers that only it can read.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WarmStart {
    /// Which integrator and order wrote it.
    pub integrator: String,
    /// Its numbers.
    pub data: Vec<f64>,
}

impl Mechanism {
    /// All joints at zero (rotations at the identity), at rest.
    #[must_use]
    pub fn neutral_state(&self) -> State {
        let mut q = vec![0.0; self.nq()];
        for joint in self.tree_joints() {
            let range = self.q_range(joint);
            self.joint(joint).kind.neutral(&mut q[range]);
        }
        State { q, v: vec![0.0; self.nv()], ..State::default() }
    }

    /// The state by joint names.
    #[must_use]
    pub fn describe_state(&self, state: &State) -> StateDescription {
        let mut out = StateDescription { t: state.t, ..Default::default() };
        for id in self.tree_joints() {
            let joint = self.joint(id);
            if joint.role == JointRole::Tree && joint.kind.nv() > 0 {
                out.q.insert(joint.name.clone(), Coordinates::from(&state.q[self.q_range(id)]));
                out.v.insert(joint.name.clone(), Coordinates::from(&state.v[self.v_range(id)]));
            }
        }
        for (input, name) in self.inputs().iter().enumerate() {
            if let Some(a) = state.act.get(input).filter(|_| self.drives()[input].law.is_activated()) {
                out.act.insert(name.clone(), *a);
            }
            if let Some(u) = state.inputs.get(input).filter(|u| **u != 0.0) {
                out.inputs.insert(name.clone(), *u);
            }
        }
        out
    }

    /// `q ⊞ u` for all joints.
    pub fn retract<T: crate::scalar::Real>(&self, q: &[T], u: &[T], out: &mut [T]) {
        for node in &self.tree().nodes {
            let (qs, vs) = (node.q..node.q + node.nq, node.v..node.v + node.nv);
            node.kind.retract(&q[qs.clone()], &u[vs], &mut out[qs]);
        }
    }

    /// `u` with `a ⊞ u = b` for all joints.
    pub fn difference<T: crate::scalar::Real>(&self, a: &[T], b: &[T], out: &mut [T]) {
        for node in &self.tree().nodes {
            let (qs, vs) = (node.q..node.q + node.nq, node.v..node.v + node.nv);
            node.kind.difference(&a[qs.clone()], &b[qs], &mut out[vs]);
        }
    }
}
