//! Continuous-time dynamics of the tree: the baseline and the oracle for the variational engines.
//!
//! Everything works in one common frame (see [`Kinematics`]) and in O(n), except the mass matrix. Closed loops are
//! not supported here: loop joints are ignored, and callers that need them use the maximal engine.

mod aba;
mod crba;
mod forces;
mod kinematics;
mod loop_gap;
mod loop_motion;
mod loop_rows;
mod mass;
mod observe;
mod rnea;
mod states;

pub use kinematics::Kinematics;
pub use loop_gap::{LoopGap, loop_gaps};
pub use loop_motion::{LoopMotion, LoopRow};
pub use loop_rows::{closed_acceleration, mobility};
pub use mass::{Bulk, TreeMass};
pub use observe::Observables;
pub(crate) use states::has_lanes;
pub use states::{DynamicsLanes, OfStates};

use crate::mechanism::Mechanism;
use crate::scalar::Real;
use crate::spatial::{ArticulatedInertia, Inertia, Mat3, Momentum, Twist, Vec3, Wrench};

/// Workspace of the continuous dynamics: made once per mechanism, holds no truth.
#[derive(Clone, Debug)]
pub struct Dynamics<T = f64> {
    /// Poses, columns and velocities of the last call.
    pub kinematics: Kinematics<T>,
    // Constants of the mechanism in the scalar type, per node and per coordinate.
    constants: Vec<Inertia<T>>,
    armature: Vec<f64>,
    // Per node.
    accelerations: Vec<Twist<T>>,
    forces: Vec<Wrench<T>>,
    external: Vec<Wrench<T>>,
    composites: Vec<Inertia<T>>,
    articulated: Vec<ArticulatedInertia<T>>,
    pivots: Vec<[[T; 6]; 6]>,
    own_velocities: Vec<Twist<T>>,
    own_biases: Vec<Twist<T>>,
    arms: Vec<Vec3<T>>,
    turns: Vec<Mat3<T>>,
    // Per velocity coordinate.
    own_columns: Vec<Twist<T>>,
    spread: Vec<Wrench<T>>,
    efforts: Vec<T>,
    tau: Vec<T>,
}

impl<T: Real> Dynamics<T> {
    /// Memory for a mechanism.
    #[must_use]
    pub fn new(mechanism: &Mechanism) -> Self {
        let nodes = &mechanism.tree().nodes;
        let (n, nv) = (nodes.len(), mechanism.nv());
        Self {
            kinematics: Kinematics::new(mechanism),
            constants: nodes.iter().map(|node| Inertia::constant(&node.inertia)).collect(),
            armature: nodes
                .iter()
                .flat_map(|node| mechanism.joint(node.joint).armature[..node.nv].iter().copied())
                .collect(),
            accelerations: vec![Twist::zero(); n],
            forces: vec![Wrench::zero(); n],
            external: vec![Wrench::zero(); n],
            composites: vec![Inertia::zero(); n],
            articulated: vec![ArticulatedInertia::default(); n],
            pivots: vec![[[T::zero(); 6]; 6]; n],
            own_velocities: vec![Twist::zero(); n],
            own_biases: vec![Twist::zero(); n],
            arms: vec![Vec3::zero(); n],
            turns: vec![Mat3::identity(); n],
            own_columns: vec![Twist::zero(); nv],
            spread: vec![Wrench::zero(); nv],
            efforts: vec![T::zero(); nv],
            tau: vec![T::zero(); nv],
        }
    }

    /// Velocities, biases and joint columns about each joint's own origin, still in world axes.
    ///
    /// About one common point the small links of a large robot lose digits in `m d²`; about their own joint they do
    /// not. Kinematics must be at the state.
    #[inline(always)]
    fn refer_to_joints(&mut self, mechanism: &Mechanism) {
        let k = &self.kinematics;
        for (i, node) in mechanism.tree().nodes.iter().enumerate() {
            let p = k.poses[i].pos;
            let fixed_point = node.kind.turns_about_its_origin();
            for c in node.v..node.v + node.nv {
                self.own_columns[c] = if fixed_point {
                    Twist::new(k.columns[c].ang, Vec3::zero())
                } else {
                    at(k.columns[c], p)
                };
            }
            self.own_velocities[i] = at(k.velocities[i], p);
            self.own_biases[i] = at(k.biases[i], p);
            self.arms[i] = match node.parent {
                None => p,
                Some(parent) => p - k.poses[parent].pos,
            };
        }
    }

    /// Total momentum of the last [`observe`](Self::observe) about its centre of mass.
    pub fn centroidal(observables: &Observables<T>) -> Momentum<T> {
        observables.momentum.about(observables.com)
    }
}

/// A twist about the point `p`.
#[inline(always)]
fn at<T: Real>(t: Twist<T>, p: Vec3<T>) -> Twist<T> {
    Twist::new(t.ang, t.lin + t.ang.cross(p))
}
