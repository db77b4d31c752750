//! [`StageTree`]: the mechanism cut into stages, one joint motion each, in depth-first order.
//!
//! A stage moves about one axis, or is a whole ball or free joint. Cylindrical, universal and planar joints are
//! several stages in a row with no mass between them, so that every formula of a one-axis joint serves them too.
//! Stages are numbered depth first: the stages behind stage `i` are `i..end(i)`, and while a sweep walks outward the
//! ancestors of the present stage form a stack.

use super::quantity::Target;
use crate::mechanism::{JointType, Mechanism};
use crate::spatial::{Inertia, Pose, Vec3};

/// How a stage moves, in aligned joint frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageKind {
    /// Rotation about a coordinate axis.
    Turn(usize),
    /// Slide along a coordinate axis.
    Slide(usize),
    /// Rotation about a point, three velocity coordinates.
    Ball,
    /// Free motion, six velocity coordinates.
    Free,
}

/// One stage.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// The stage it moves on.
    pub(crate) parent: Option<usize>,
    /// How it moves.
    pub(crate) kind: StageKind,
    /// Joint frame in the parent stage's frame; `None` for the second and third axis of a joint.
    pub(crate) placement: Option<Pose>,
    /// First position coordinate.
    pub(crate) q: usize,
    /// First velocity coordinate.
    pub(crate) v: usize,
    /// Number of velocity coordinates.
    pub(crate) nv: usize,
    /// Inertia in the stage frame about its origin.
    pub(crate) inertia: Inertia,
    /// False if the inertia is zero.
    pub(crate) massive: bool,
    /// One past the last stage behind this one.
    pub(crate) end: usize,
    /// Springs, dampers and rotors of its coordinates.
    pub(crate) passive: Passive,
    /// Number of its spring among those of ball and free joints.
    pub(crate) spring: Option<usize>,
}

/// What acts inside a joint, per coordinate of a stage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passive {
    pub(crate) stiffness: [f64; 6],
    pub(crate) rest: [f64; 6],
    pub(crate) damping: [f64; 6],
    pub(crate) armature: [f64; 6],
}

impl Passive {
    /// False if nothing acts in the joint.
    pub(crate) fn acts(&self) -> bool {
        [&self.stiffness, &self.damping, &self.armature].iter().any(|x| x.iter().any(|x| *x != 0.0))
    }
}

/// Where a target is: a frame fixed to a stage or to the ground.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The stage it is fixed to.
    pub(crate) stage: Option<usize>,
    /// Its frame in the stage frame (in the world for targets on the ground).
    pub(crate) pose: Pose,
    /// Inertia of its body in the stage frame.
    pub(crate) inertia: Inertia,
}

impl Place {
    /// The world frame.
    pub(crate) fn ground() -> Self {
        Self { stage: None, pose: Pose::identity(), inertia: Inertia::zero() }
    }
}

/// All stages, depth first, and where bodies and frames sit.
#[derive(Clone, Debug)]
pub(crate) struct StageTree {
    pub(crate) stages: Vec<Stage>,
    /// Stage of each velocity coordinate.
    pub(crate) column_stage: Vec<usize>,
    bodies: Vec<Place>,
    /// Joints in mechanism order: first velocity coordinate and their number.
    pub(crate) joints: Vec<(usize, usize)>,
    /// Last stage of each joint of `joints`.
    pub(crate) joint_stage: Vec<usize>,
    /// Number of springs in ball and free joints.
    pub(crate) springs: usize,
    pub(crate) nq: usize,
    pub(crate) nv: usize,
    pub(crate) gravity: Vec3,
    pub(crate) mass: f64,
}

fn axes_of(kind: JointType) -> &'static [StageKind] {
    use StageKind::{Ball, Free, Slide, Turn};
    match kind {
        JointType::Revolute | JointType::Continuous => &[Turn(2)],
        JointType::Prismatic => &[Slide(2)],
        JointType::Cylindrical => &[Turn(2), Slide(2)],
        JointType::Universal => &[Turn(2), Turn(0)],
        JointType::Planar => &[Slide(0), Slide(1), Turn(2)],
        JointType::Spherical => &[Ball],
        JointType::Floating => &[Free],
        JointType::Fixed | JointType::PointOnLine => &[],
    }
}

impl StageTree {
    pub(crate) fn new(mechanism: &Mechanism) -> Self {
        let nodes = &mechanism.tree().nodes;
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        let mut pending: Vec<usize> = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            match node.parent {
                Some(p) => children[p].push(i),
                None => pending.push(i),
            }
        }
        pending.reverse();
        let mut stages: Vec<Stage> = Vec::new();
        let mut last = vec![0; nodes.len()];
        let mut column_stage = vec![0; mechanism.nv()];
        let mut springs = 0;
        while let Some(i) = pending.pop() {
            let node = &nodes[i];
            let joint = mechanism.joint(node.joint);
            let kinds = axes_of(node.kind);
            let mut parent = node.parent.map(|p| last[p]);
            for (a, kind) in kinds.iter().enumerate() {
                let nv = if kinds.len() == 1 { node.nv } else { 1 };
                let part = |x: &[f64; 6]| {
                    let mut out = [0.0; 6];
                    out[..nv].copy_from_slice(&x[a..a + nv]);
                    out
                };
                let carries = a + 1 == kinds.len();
                let turns = matches!(kind, StageKind::Ball | StageKind::Free);
                let spring = (turns && joint.stiffness[0] != 0.0).then_some(springs);
                springs += usize::from(spring.is_some());
                stages.push(Stage {
                    parent,
                    kind: *kind,
                    placement: (a == 0).then_some(node.placement),
                    q: node.q + a,
                    v: node.v + a,
                    nv,
                    inertia: if carries { node.inertia } else { Inertia::zero() },
                    massive: carries && node.inertia != Inertia::zero(),
                    end: 0,
                    passive: Passive {
                        stiffness: part(&joint.stiffness),
                        rest: part(&joint.rest),
                        damping: part(&joint.damping),
                        armature: part(&joint.armature),
                    },
                    spring,
                });
                let s = stages.len() - 1;
                column_stage[node.v + a..node.v + a + nv].fill(s);
                parent = Some(s);
            }
            last[i] = stages.len() - 1;
            pending.extend(children[i].iter().rev());
        }
        for i in (0..stages.len()).rev() {
            stages[i].end = stages[i].end.max(i + 1);
            if let Some(p) = stages[i].parent {
                stages[p].end = stages[p].end.max(stages[i].end);
            }
        }
        let bodies = mechanism
            .body_ids()
            .map(|b| {
                let at = &mechanism.tree().bodies[b.index()];
                Place {
                    stage: at.node.map(|n| last[n]),
                    pose: at.pose,
                    inertia: mechanism.body(b).inertia.transformed(&at.pose),
                }
            })
            .collect();
        let mass = stages.iter().map(|s| s.inertia.mass).sum();
        Self {
            column_stage,
            bodies,
            joints: nodes.iter().map(|n| (n.v, n.nv)).collect(),
            joint_stage: last,
            springs,
            nq: mechanism.nq(),
            nv: mechanism.nv(),
            gravity: mechanism.gravity(),
            mass,
            stages,
        }
    }

    /// True if stage `a` is `b` or carries it.
    #[inline(always)]
    pub(crate) fn carries(&self, a: usize, b: usize) -> bool {
        a <= b && b < self.stages[a].end
    }

    /// Where a target is.
    #[inline]
    pub(crate) fn place(&self, target: &Target) -> Place {
        let body = target.body.map_or_else(Place::ground, |id| self.bodies[id.index()]);
        match target.placement {
            Some(placement) => Place { pose: body.pose * placement, ..body },
            None => body,
        }
    }
}
