//! Forward kinematics in the world frame, about a shifted origin.
//!
//! All spatial quantities are expressed in world axes about the point `origin`, the current position of the first
//! root joint. In one common frame composites are plain sums and nothing is transformed between links; the shift
//! keeps moments small, so that a mechanism far from the world origin loses no digits.
//!
//! For node i with joint columns `S_c` (world frame), parent p:
//!
//! ```text
//! V_i  = V_p + Σ_c S_c v_c
//! Ȧ_i  = bias_i + Σ_c S_c a_c,   bias_i = V_p × Σ_c S_c v_c + Σ_{b<c} (S_b × S_c) v_b v_c   (second sum: axes in sequence)
//! ```

use crate::mechanism::{Mechanism, Node};
use crate::scalar::Real;
use crate::spatial::{Mat3, Pose, Twist, Vec3};

use crate::mechanism::JointType;

/// Poses, joint columns and velocities of all nodes. Made once per mechanism, refilled by every call.
#[derive(Clone, Debug)]
pub struct Kinematics<T = f64> {
    /// The world point that all quantities are taken about.
    pub origin: Vec3<f64>,
    /// Pose of each node frame in world axes, relative to `origin`.
    pub poses: Vec<Pose<T>>,
    /// Joint columns, by velocity coordinate.
    pub columns: Vec<Twist<T>>,
    /// Velocity of each node.
    pub velocities: Vec<Twist<T>>,
    /// Velocity-dependent part of the change of each node's velocity relative to its parent.
    pub biases: Vec<Twist<T>>,
}

impl<T: Real> Kinematics<T> {
    /// Memory for a mechanism.
    #[must_use]
    pub fn new(mechanism: &Mechanism) -> Self {
        let n = mechanism.tree().nodes.len();
        Self {
            origin: Vec3::zero(),
            poses: vec![Pose::identity(); n],
            columns: vec![Twist::zero(); mechanism.nv()],
            velocities: vec![Twist::zero(); n],
            biases: vec![Twist::zero(); n],
        }
    }

    /// Poses and columns at `q`. Does not allocate.
    pub fn update_positions(&mut self, mechanism: &Mechanism, q: &[T]) {
        let nodes = &mechanism.tree().nodes;
        self.origin = origin(nodes, q);
        for (i, node) in nodes.iter().enumerate() {
            self.place(i, node, q);
        }
    }

    /// Poses, columns, velocities and biases at `(q, v)`. Does not allocate.
    pub fn update(&mut self, mechanism: &Mechanism, q: &[T], v: &[T]) {
        self.update_inlined(mechanism, q, v);
    }

    /// As [`update`](Self::update), compiled into its caller.
    #[inline(always)]
    pub(crate) fn update_inlined(&mut self, mechanism: &Mechanism, q: &[T], v: &[T]) {
        let nodes = &mechanism.tree().nodes;
        self.origin = origin(nodes, q);
        for (i, node) in nodes.iter().enumerate() {
            self.place(i, node, q);
            self.speed(node, i, v);
        }
    }

    /// Pose and columns of one node; its parent is placed already.
    #[inline(always)]
    fn place(&mut self, i: usize, node: &Node, q: &[T]) {
        let placement = Pose::constant(&node.placement);
        let before = match node.parent {
            Some(p) => self.poses[p] * placement,
            None => Pose::new(placement.rot, placement.pos - Vec3::constant(self.origin)),
        };
        match node.kind {
            JointType::Revolute | JointType::Continuous => {
                let pose = turn_about_z(&before, q[node.q]);
                let axis = pose.rot.column(2);
                self.columns[node.v] = Twist::new(axis, pose.pos.cross(axis));
                self.poses[i] = pose;
            }
            JointType::Prismatic => {
                let axis = before.rot.column(2);
                self.columns[node.v] = Twist::new(Vec3::zero(), axis);
                self.poses[i] = Pose::new(before.rot, before.pos + axis * q[node.q]);
            }
            // States side by side have turns and slides only.
            _ if T::STATES => {}
            kind => {
                let qs = &q[node.q..node.q + node.nq];
                let pose = before * kind.transform(qs);
                for c in 0..node.nv {
                    self.columns[node.v + c] = pose.twist(kind.motion(qs, c));
                }
                self.poses[i] = pose;
            }
        }
    }

    #[inline(always)]
    fn speed(&mut self, node: &Node, i: usize, v: &[T]) {
        let mut relative = self.columns[node.v] * v[node.v];
        for c in 1..if T::STATES { 1 } else { node.nv } {
            relative += self.columns[node.v + c] * v[node.v + c];
        }
        let (mut velocity, mut bias) = (relative, Twist::zero());
        if let Some(p) = node.parent {
            velocity += self.velocities[p];
            bias = self.velocities[p].cross(relative);
        }
        if !T::STATES && matches!(node.kind, JointType::Universal | JointType::Planar) {
            bias += sequence_bias(&self.columns[node.v..node.v + node.nv], &v[node.v..node.v + node.nv]);
        }
        self.velocities[i] = velocity;
        self.biases[i] = bias;
    }

    /// Pose of a body in the world.
    pub fn body_pose(&self, mechanism: &Mechanism, body: crate::mechanism::BodyId) -> Pose<T> {
        let at = &mechanism.tree().bodies[body.index()];
        match at.node {
            None => Pose::constant(&at.pose),
            Some(node) => {
                let x = self.poses[node] * Pose::constant(&at.pose);
                Pose::new(x.rot, x.pos + Vec3::constant(self.origin))
            }
        }
    }

    /// Twist of a body in its own frame.
    pub fn body_twist(&self, mechanism: &Mechanism, body: crate::mechanism::BodyId) -> Twist<T> {
        let at = &mechanism.tree().bodies[body.index()];
        match at.node {
            None => Twist::zero(),
            Some(node) => (self.poses[node] * Pose::constant(&at.pose)).inv_twist(self.velocities[node]),
        }
    }

    /// Jacobian of a body: `jacobian[c]` is its twist, in its own frame, per unit rate of coordinate `c`.
    ///
    /// Does not allocate; `jacobian` has one entry per velocity coordinate.
    pub fn body_jacobian_into(
        &self,
        mechanism: &Mechanism,
        body: crate::mechanism::BodyId,
        jacobian: &mut [Twist<T>],
    ) {
        jacobian.fill(Twist::zero());
        let at = &mechanism.tree().bodies[body.index()];
        let Some(mut node) = at.node else { return };
        let pose = self.poses[node] * Pose::constant(&at.pose);
        loop {
            let n = &mechanism.tree().nodes[node];
            for c in n.v..n.v + n.nv {
                jacobian[c] = pose.inv_twist(self.columns[c]);
            }
            match n.parent {
                Some(parent) => node = parent,
                None => break,
            }
        }
    }
}

/// Where the first root joint's child frame is: the point the sweeps are taken about.
#[inline(always)]
fn origin<T: Real>(nodes: &[Node], q: &[T]) -> Vec3<f64> {
    match nodes.first() {
        None => Vec3::zero(),
        // States side by side do not slide from the ground.
        Some(root) if T::STATES => root.placement.pos,
        Some(root) => match root.kind {
            JointType::Floating => root.placement.point(Vec3([q[4].value(), q[5].value(), q[6].value()])),
            JointType::Planar => root.placement.point(Vec3([q[0].value(), q[1].value(), 0.0])),
            JointType::Prismatic => root.placement.point(Vec3([0.0, 0.0, q[0].value()])),
            JointType::Cylindrical => root.placement.point(Vec3([0.0, 0.0, q[1].value()])),
            _ => root.placement.pos,
        },
    }
}

/// `x * Rz(angle)`.
#[inline(always)]
fn turn_about_z<T: Real>(x: &Pose<T>, angle: T) -> Pose<T> {
    let (s, c) = angle.sin_cos();
    let [p, q, r] = x.rot.0;
    let rot = Mat3([
        [p[0] * c + p[1] * s, p[1] * c - p[0] * s, p[2]],
        [q[0] * c + q[1] * s, q[1] * c - q[0] * s, q[2]],
        [r[0] * c + r[1] * s, r[1] * c - r[0] * s, r[2]],
    ]);
    Pose::new(rot, x.pos)
}

/// `Σ_{b<c} (S_b × S_c) v_b v_c`: later axes are carried by the earlier ones.
fn sequence_bias<T: Real>(columns: &[Twist<T>], v: &[T]) -> Twist<T> {
    let mut bias = Twist::zero();
    for c in 1..columns.len() {
        for b in 0..c {
            bias += columns[b].cross(columns[c]) * (v[b] * v[c]);
        }
    }
    bias
}
