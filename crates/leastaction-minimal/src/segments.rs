//! [`Segments`]: the mechanism as this engine sees it.
//!
//! Every joint is a sequence of elementary segments: a *turn* about z, a *slide* along z, or a *ball* (a rotation
//! with a moving anchor, section 5 of the theory page). Universal, cylindrical, planar and floating joints become
//! several segments of which only the last has mass; the sweeps need no special case for massless ones.
//!
//! | joint | segments |
//! |---|---|
//! | revolute / prismatic / spherical | turn / slide / ball |
//! | cylindrical | turn z, slide z |
//! | universal | turn z, turn x |
//! | planar | slide x, slide y, turn z |
//! | floating | slide x, slide y, slide z, ball |
//!
//! The engine's coordinates are those of the segments in this order: the public ones, except that a floating joint
//! has its translation (parent joint axes) before its rotation.

use crate::integrator::{StepError, expect_tree};
use crate::mechanism::{InputLaw, JointId, JointType, Mechanism};
use crate::spatial::{Inertia, Mat3, Pose, Sym3, Vec3, Wrench};

/// No parent: the joint is on the ground.
pub(crate) const GROUND: usize = usize::MAX;

/// Segments that share an origin. Moments about a point that is d links away round like d² times those about the joint, which
/// is more than a slender link has about its own axis if d is thousands; a new origin costs a shift.
const REACH: usize = 1024;

/// What a segment can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// Rotation about z.
    Turn,
    /// Translation along z.
    Slide,
    /// Any rotation, relative to an anchor that moves with the configuration.
    Ball,
}

/// One elementary joint and the rigid body behind it.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) parent: usize,
    pub(crate) motion: Motion,
    /// First coordinate.
    pub(crate) coordinate: usize,
    /// Number of the ball among all balls.
    pub(crate) ball: usize,
    /// Joint frame in the parent's frame.
    pub(crate) placement: Pose,
    /// Zero for the inner segments of a joint.
    pub(crate) mass: f64,
    pub(crate) com: Vec3,
    pub(crate) about_com: Sym3,
    /// The same in ten numbers about the segment's origin.
    pub(crate) inertia: Inertia,
    pub(crate) massless: bool,
    /// True if a spring, damper or actuator acts on this joint.
    pub(crate) forced: bool,
    /// A slide of a joint on the ground: its value at the start drops out when the origin is put at the root.
    pub(crate) droppable: bool,
    /// First segment of the tree this one belongs to.
    pub(crate) root: usize,
    /// Number of its own origin, if the sweeps take a new one here.
    pub(crate) origin: Option<usize>,
    /// The joint it is part of.
    pub(crate) joint: JointId,
}

impl Segment {
    /// Number of coordinates.
    #[inline(always)]
    pub(crate) fn freedom(&self) -> usize {
        if self.motion == Motion::Ball { 3 } else { 1 }
    }
}

/// Drag at a point of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drag {
    pub(crate) segment: usize,
    pub(crate) point: Vec3,
    pub(crate) coefficient: f64,
}

/// A wrench fixed in a segment, times an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thruster {
    pub(crate) segment: usize,
    pub(crate) input: usize,
    pub(crate) wrench: Wrench,
}

/// A wrench along world axes at a point of a segment, times an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Push {
    pub(crate) segment: usize,
    pub(crate) input: usize,
    pub(crate) point: Vec3,
    pub(crate) wrench: Wrench,
}

/// An input on a coordinate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actuator {
    pub(crate) coordinate: usize,
    pub(crate) input: usize,
    pub(crate) gear: f64,
}

/// An input whose force depends on the motion, and the coordinates that make up its length.
#[derive(Clone, Debug)]
pub(crate) struct Servo {
    pub(crate) input: usize,
    pub(crate) law: InputLaw,
    /// Coordinate and gear.
    pub(crate) entries: Vec<(usize, f64)>,
}

/// Spring and damper on a sum of coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Tendon {
    pub(crate) terms: Vec<(usize, f64)>,
    pub(crate) stiffness: f64,
    pub(crate) rest: f64,
    pub(crate) damping: f64,
}

/// Laws of one coordinate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Law {
    pub(crate) damping: f64,
    pub(crate) stiffness: f64,
    pub(crate) rest: f64,
    pub(crate) armature: f64,
    /// Range of the sum of the actuator forces.
    pub(crate) effort: [f64; 2],
}

/// Where a node of the public tree went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeMap {
    /// The segment that carries its inertia.
    pub(crate) segment: usize,
    /// The node's frame in that segment's frame.
    pub(crate) pose: Pose,
}

/// The whole mechanism in segments, parents first.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    pub(crate) list: Vec<Segment>,
    /// By coordinate.
    pub(crate) laws: Vec<Law>,
    /// Inputs whose force is known before the step.
    pub(crate) actuators: Vec<Actuator>,
    /// Inputs whose force depends on it.
    pub(crate) servos: Vec<Servo>,
    /// Coordinates with a servo.
    pub(crate) driven: Vec<usize>,
    pub(crate) tendons: Vec<Tendon>,
    pub(crate) drags: Vec<Drag>,
    pub(crate) thrusters: Vec<Thruster>,
    pub(crate) pushes: Vec<Push>,
    pub(crate) nodes: Vec<NodeMap>,
    pub(crate) gravity: Vec3,
    pub(crate) wind: Vec3,
    /// Number of coordinates.
    pub(crate) n: usize,
    pub(crate) balls: usize,
    /// Origins besides those at the roots.
    pub(crate) origins: usize,
    /// Segments on the longest way from the ground to a tip.
    pub(crate) depth: usize,
    pub(crate) nu: usize,
}

/// Rotation whose z column is x.
const Z_TO_X: Mat3 = Mat3([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
/// Rotation whose z column is y.
const Z_TO_Y: Mat3 = Mat3([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
const Z_TO_Z: Mat3 = Mat3([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);

/// The axes of a joint in sequence.
fn sequence(kind: JointType) -> &'static [(Motion, Mat3)] {
    use Motion::{Ball, Slide, Turn};
    match kind {
        JointType::Fixed | JointType::PointOnLine => &[],
        JointType::Revolute | JointType::Continuous => &[(Turn, Z_TO_Z)],
        JointType::Prismatic => &[(Slide, Z_TO_Z)],
        JointType::Cylindrical => &[(Turn, Z_TO_Z), (Slide, Z_TO_Z)],
        JointType::Universal => &[(Turn, Z_TO_Z), (Turn, Z_TO_X)],
        JointType::Planar => &[(Slide, Z_TO_X), (Slide, Z_TO_Y), (Turn, Z_TO_Z)],
        JointType::Spherical => &[(Ball, Z_TO_Z)],
        JointType::Floating => &[(Slide, Z_TO_X), (Slide, Z_TO_Y), (Slide, Z_TO_Z), (Ball, Z_TO_Z)],
    }
}

impl Segments {
    pub(crate) fn new(mechanism: &Mechanism) -> Result<Self, StepError> {
        expect_tree(mechanism, "minimal")?;
        let tree = mechanism.tree();
        let mut out = Self {
            list: Vec::new(),
            laws: vec![Law::default(); mechanism.nv()],
            actuators: Vec::new(),
            servos: Vec::new(),
            driven: Vec::new(),
            tendons: Vec::new(),
            drags: Vec::new(),
            thrusters: Vec::new(),
            pushes: Vec::new(),
            nodes: Vec::new(),
            gravity: mechanism.gravity(),
            wind: mechanism.wind(),
            n: mechanism.nv(),
            balls: 0,
            origins: 0,
            depth: 0,
            nu: mechanism.nu(),
        };
        for node in &tree.nodes {
            let joint = mechanism.joint(node.joint);
            let (mut parent, mut before) = match node.parent {
                None => (GROUND, Pose::identity()),
                Some(p) => (out.nodes[p].segment, out.nodes[p].pose),
            };
            before = before * node.placement;
            let forced = joint.stiffness != [0.0; 6]
                || joint.damping != [0.0; 6]
                || joint.friction != [0.0; 6]
                || !joint.actuators.is_empty();
            let mut coordinate = node.v;
            for (motion, turn) in sequence(node.kind) {
                let turn = Pose::new(*turn, Vec3::zero());
                out.list.push(Segment {
                    parent,
                    motion: *motion,
                    coordinate,
                    ball: out.balls,
                    placement: before * turn,
                    mass: 0.0,
                    com: Vec3::zero(),
                    about_com: Sym3::zero(),
                    inertia: Inertia::zero(),
                    massless: true,
                    forced,
                    origin: None,
                    droppable: node.parent.is_none() && *motion == Motion::Slide,
                    joint: node.joint,
                    root: if parent == GROUND { out.list.len() } else { out.list[parent].root },
                });
                parent = out.list.len() - 1;
                before = turn.inverse();
                coordinate += out.list[parent].freedom();
                out.balls += usize::from(*motion == Motion::Ball);
            }
            let map = NodeMap { segment: parent, pose: before };
            let last = &mut out.list[parent];
            last.inertia = node.inertia.transformed(&before);
            last.mass = last.inertia.mass;
            last.com = last.inertia.com();
            last.about_com = last.inertia.about_com();
            last.massless = last.mass == 0.0 && last.inertia.rot.0 == [0.0; 6];
            out.nodes.push(map);
            out.add_laws(mechanism, node, &map)?;
        }
        out.add_tendons(mechanism);
        out.place_origins();
        out.add_servos(mechanism);
        for drag in &tree.drags {
            let at = out.nodes[drag.node];
            let point = at.pose.point(drag.point);
            out.drags.push(Drag { segment: at.segment, point, coefficient: drag.coefficient });
        }
        for push in &tree.pushes {
            let at = out.nodes[push.node];
            let (point, wrench) = (at.pose.point(push.point), push.wrench);
            out.pushes.push(Push { segment: at.segment, input: push.input, point, wrench });
        }
        for thruster in &tree.thrusters {
            let at = out.nodes[thruster.node];
            let wrench = at.pose.wrench(thruster.wrench);
            out.thrusters.push(Thruster { segment: at.segment, input: thruster.input, wrench });
        }
        Ok(out)
    }

    fn add_laws(
        &mut self,
        mechanism: &Mechanism,
        node: &crate::mechanism::Node,
        map: &NodeMap,
    ) -> Result<(), StepError> {
        let joint = mechanism.joint(node.joint);
        let effort = joint.limits.map_or([f64::NEG_INFINITY, f64::INFINITY], |l| l.effort_range);
        for c in 0..node.nv {
            self.laws[node.v + c] = Law {
                damping: joint.damping[c],
                stiffness: joint.stiffness[c],
                rest: joint.rest[c],
                armature: joint.armature[c],
                effort,
            };
        }
        for actuator in &joint.actuators {
            let (coordinate, input, gear) = (actuator.coordinate, actuator.input, actuator.gear);
            if mechanism.drives()[input].law.is_servo() {
                continue;
            }
            if node.kind != JointType::Floating || coordinate < 3 {
                // A floating joint has its rotation last here.
                let shift = if node.kind == JointType::Floating { 3 } else { 0 };
                self.actuators.push(Actuator { coordinate: node.v + shift + coordinate, input, gear });
            } else if node.parent.is_none() && effort == [f64::NEG_INFINITY, f64::INFINITY] {
                // A force along an axis of the child frame, against the ground: a thruster.
                let mut force = Vec3::zero();
                force[coordinate - 3] = gear;
                let wrench = map.pose.wrench(Wrench::new(Vec3::zero(), force));
                self.thrusters.push(Thruster { segment: map.segment, input, wrench });
            } else {
                return Err(StepError::Unsupported {
                    integrator: "minimal",
                    what: format!("the actuated translation of floating joint `{}`", joint.name),
                    remedy: "put the joint on the ground without an effort limit, or use thrusters".into(),
                });
            }
        }
        Ok(())
    }

    /// Inputs whose law depends on the motion; they act on plain coordinates only, which have the same number here.
    fn add_servos(&mut self, mechanism: &Mechanism) {
        for (input, drive) in mechanism.drives().iter().enumerate().filter(|(_, drive)| drive.law.is_servo())
        {
            let entries: Vec<(usize, f64)> =
                drive.entries.iter().map(|entry| (entry.v, entry.gear)).collect();
            self.driven.extend(entries.iter().map(|(c, _)| *c));
            self.servos.push(Servo { input, law: drive.law, entries });
        }
        self.driven.sort_unstable();
        self.driven.dedup();
    }

    fn add_tendons(&mut self, mechanism: &Mechanism) {
        for tendon in mechanism.tendons().iter().filter(|t| t.stiffness > 0.0 || t.damping > 0.0) {
            let terms: Vec<(usize, f64)> = tendon.terms.iter().map(|(at, a)| (at.v, *a)).collect();
            for segment in &mut self.list {
                segment.forced |= terms.iter().any(|(c, _)| *c == segment.coordinate);
            }
            let (stiffness, rest, damping) = (tendon.stiffness, tendon.rest, tendon.damping);
            self.tendons.push(Tendon { terms, stiffness, rest, damping });
        }
    }

    /// Measures the depth, and gives every [`REACH`]-th segment on the way out an origin of its own.
    fn place_origins(&mut self) {
        let mut depths = vec![1_usize; self.list.len()];
        for i in 0..self.list.len() {
            let parent = self.list[i].parent;
            if parent != GROUND {
                depths[i] = depths[parent] + 1;
                if depths[i].is_multiple_of(REACH) {
                    self.list[i].origin = Some(self.origins);
                    self.origins += 1;
                }
            }
            self.depth = self.depth.max(depths[i]);
        }
    }

    /// True if the tree has a ball.
    pub(crate) fn has_balls(&self) -> bool {
        self.balls > 0
    }
}
