//! [`Layout`]: the mechanism as this engine sees it, made once per mechanism.
//!
//! A *link* is a body that moves on its own (bodies without inertia are lumped into the neighbour they are fixed to), with
//! its frame at the centre of mass. Link `i` hangs from an earlier link or from the ground by *its* joint. What is
//! left are *closures*: loop joints, force rows on loop joints, and rolling or sliding constraints.

use super::StepError;
use super::nonholonomic::{Rolling, RollingKind};
use super::servo::Servo;
use super::ties::{JointAt, Part, Tie};
use crate::mechanism::{Actuator, Body, InputLaw, Joint, JointRole, JointType, Mechanism, RowOf};
use crate::spatial::{Inertia, Mat3, Pose, Quat, Sym3, Vec3, Wrench};

/// One end of a joint: a link (or the ground) and the aligned joint frame in its centre-of-mass frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The link; `None` is the ground.
    pub(crate) link: Option<usize>,
    /// Origin of the joint frame.
    pub(crate) p: Vec3,
    /// Orientation of the joint frame.
    pub(crate) q: Quat,
    /// Lever from the link's own joint point to this joint's origin, link frame.
    pub(crate) lever: Vec3,
}

/// Forces and limits on the coordinates of a joint.
#[derive(Clone, Debug)]
pub(crate) struct CoordinateRows {
    pub(crate) stiffness: [f64; 6],
    pub(crate) rest: [f64; 6],
    pub(crate) damping: [f64; 6],
    pub(crate) armature: [f64; 6],
    pub(crate) lower: [f64; 6],
    pub(crate) upper: [f64; 6],
    /// Any damping, armature, stiffness or servo: the coordinate may get an impulse row.
    pub(crate) has_rows: bool,
    /// Any stiffness.
    pub(crate) has_springs: bool,
    /// Any finite limit.
    pub(crate) has_limits: bool,
}

impl CoordinateRows {
    fn new(joint: &Joint) -> Self {
        let any = |x: &[f64; 6]| x.iter().any(|x| *x != 0.0);
        let free = ([f64::NEG_INFINITY; 6], [f64::INFINITY; 6]);
        let (mut lower, mut upper) = joint.limits.map_or(free, |l| (l.lower, l.upper));
        if matches!(joint.kind, JointType::Continuous | JointType::Spherical | JointType::Floating) {
            (lower, upper) = free;
        }
        let nv = joint.kind.nv();
        Self {
            stiffness: joint.stiffness,
            rest: joint.rest,
            damping: joint.damping,
            armature: joint.armature,
            lower,
            upper,
            has_rows: any(&joint.stiffness) || any(&joint.damping) || any(&joint.armature),
            has_springs: any(&joint.stiffness),
            has_limits: any(&joint.friction) || (0..nv).any(|c| lower[c].is_finite() || upper[c].is_finite()),
        }
    }
}

/// A joint of the tree or a loop, as the engine uses it.
#[derive(Clone, Debug)]
pub(crate) struct LinkJoint {
    pub(crate) kind: JointType,
    /// Index in the mechanism's list of joints.
    pub(crate) joint: usize,
    pub(crate) a: End,
    pub(crate) b: End,
    pub(crate) rows: CoordinateRows,
    /// Generalised forces known before a step: input, coordinate, gear.
    pub(crate) actuators: Vec<(usize, usize, f64)>,
    /// All inputs of the joint instead, if one of them depends on the motion.
    pub(crate) servos: Vec<Servo>,
    /// Range of the sum of the inputs on a coordinate.
    pub(crate) effort: [f64; 2],
    /// True if the whole turn of a ball is limited.
    pub(crate) turn_limited: bool,
}

impl LinkJoint {
    /// A ball joint without forces of its own: its rows and null space need no joint frame.
    #[inline(always)]
    pub(crate) fn is_plain_ball(&self) -> bool {
        self.kind == JointType::Spherical
            && !self.rows.has_rows
            && !self.turn_limited
            && self.actuators.is_empty()
    }
}

const UNLIMITED: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// What acts on a joint: forces known before a step, or servos with everything that is cut together with them.
fn inputs_of(mechanism: &Mechanism, joint: &Joint) -> (Vec<(usize, usize, f64)>, Vec<Servo>) {
    let law = |input: usize| mechanism.drives()[input].law;
    if !joint.actuators.iter().any(|a| law(a.input).is_servo()) {
        return (joint.actuators.iter().map(|a| (a.input, a.coordinate, a.gear)).collect(), Vec::new());
    }
    let servo = |a: &Actuator| Servo {
        input: a.input,
        coordinate: a.coordinate,
        gear: a.gear,
        // Of the others the force is given.
        law: if law(a.input).is_servo() { law(a.input) } else { InputLaw::PLAIN },
    };
    (Vec::new(), joint.actuators.iter().map(servo).collect())
}

/// A moving link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The body whose joint moves the link.
    pub(crate) body: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) mass: f64,
    /// About the centre of mass, link axes.
    pub(crate) inertia: Mat3,
    /// Inverses, by which rows and stiffnesses are judged; zero for a link that could not move by itself.
    pub(crate) inverse_mass: f64,
    pub(crate) inverse_inertia: Mat3,
    pub(crate) joint: LinkJoint,
    /// First position and velocity coordinate of the joint.
    pub(crate) q: usize,
    pub(crate) v: usize,
    /// How many wrenches of children and closures add up on it: a sum of so many terms rounds so often.
    pub(crate) terms: f64,
    /// Drag: point relative to the centre of mass, coefficient.
    pub(crate) drags: Vec<(Vec3, f64)>,
    /// Torque against the angular velocity, per unit of it.
    pub(crate) spin_drag: f64,
    /// Thrusters: input, wrench about the centre of mass in link axes.
    pub(crate) thrusters: Vec<(usize, Wrench)>,
    /// Pushes: input, point relative to the centre of mass in link axes, wrench along world axes about the point.
    pub(crate) pushes: Vec<(usize, Vec3, Wrench)>,
}

/// What a closure constrains.
#[derive(Clone, Debug)]
pub(crate) enum ClosureKind {
    /// Rows of a loop joint.
    Joint,
    /// Impulse rows and limits on the coordinates of a loop joint.
    Coordinates,
    /// A velocity constraint on one link.
    Rolling(Rolling),
}

/// Rows that are not part of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub(crate) kind: ClosureKind,
    /// Index into [`Layout::loops`] for joint rows; link of a rolling constraint otherwise.
    pub(crate) index: usize,
    pub(crate) a: Option<usize>,
    pub(crate) b: Option<usize>,
    pub(crate) rows: usize,
    /// Name for messages.
    pub(crate) name: String,
}

/// Where a body of the mechanism is: its link and the pose of the body frame in the link's frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attachment {
    pub(crate) link: Option<usize>,
    pub(crate) pose: Pose,
}

/// The compiled mechanism.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) links: Vec<Link>,
    pub(crate) loops: Vec<LinkJoint>,
    pub(crate) closures: Vec<Closure>,
    pub(crate) bodies: Vec<Attachment>,
    pub(crate) gravity: Vec3,
    pub(crate) wind: Vec3,
    /// Largest mass.
    pub(crate) max_mass: f64,
    /// Characteristic length: the longest lever on a link, or the largest radius of gyration where there is no lever.
    pub(crate) length: f64,
    /// Largest `K/J` of a link per newton at each of its joints: see [`tension`](super::tension).
    pub(crate) stiffness_per_force: f64,
    /// True if a joint has damping or a servo, or a body drag.
    pub(crate) dissipative: bool,
    /// By input: the number of tree coordinates it acts on.
    pub(crate) places: Vec<usize>,
    pub(crate) limited: bool,
    /// Velocity coordinates, where the driver of friction and limits may hold some of them; zero where there is none.
    pub(crate) held: usize,
    /// Number of inputs.
    pub(crate) inputs: usize,
    /// Pivot of a closure's row, against its own size, below which it follows from others: by the precision of the data. (3.20)
    pub(crate) row_tolerance: f64,
    /// True if a guess of a pose is enough to tell which rows follow from others: none is near to it at the start of the model.
    pub(crate) foreseeable: bool,
    /// How far frames of joints were moved to align loops, zero where they were not; a length. (8.25)
    pub(crate) aligned_by: f64,
    /// Rows over several joints.
    pub(crate) ties: Vec<Tie>,
    /// Springs and dampers of sums of coordinates.
    pub(crate) tendons: Vec<Sum>,
}

/// A spring with a damper along a sum of coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    pub(crate) parts: Vec<(Part, f64)>,
    pub(crate) stiffness: f64,
    pub(crate) rest: f64,
    pub(crate) damping: f64,
}

fn is_regular(mass: f64, about_com: &Sym3) -> bool {
    let j = about_com.to_matrix();
    let minor = j.0[0][0] * j.0[1][1] - j.0[0][1] * j.0[1][0];
    mass > 0.0 && j.0[0][0] > 0.0 && minor > 0.0 && j.determinant() > 0.0
}

/// Number of constraint rows of a joint kind.
pub(crate) fn row_count(kind: JointType) -> usize {
    match kind {
        JointType::Fixed => 6,
        JointType::Revolute | JointType::Continuous | JointType::Prismatic => 5,
        JointType::Cylindrical | JointType::Universal => 4,
        JointType::Planar | JointType::Spherical => 3,
        JointType::PointOnLine => 2,
        JointType::Floating => 0,
    }
}

/// Length and stiffness that the levers of the links give.
fn sizes(links: &[Link], loops: &[LinkJoint]) -> (f64, f64) {
    let (mut lever, mut stiffness) = (0.0f64, vec![0.0; links.len()]);
    for end in links.iter().map(|l| &l.joint).chain(loops).flat_map(|j| [&j.a, &j.b]) {
        if let Some(i) = end.link {
            let norm = end.p.norm();
            lever = lever.max(norm);
            stiffness[i] +=
                super::tension::transverse(&links[i].inverse_inertia, end.p) / norm.max(f64::MIN_POSITIVE);
        }
    }
    let gyration = |l: &Link| (l.inertia.trace() * l.inverse_mass).sqrt();
    let length = if lever > 0.0 { lever } else { links.iter().map(gyration).fold(0.0, f64::max) };
    // Where nothing moves, or nothing turns, any length will do.
    let length = if length > 0.0 { length } else { 1.0 };
    (length, stiffness.into_iter().fold(0.0, f64::max))
}

fn unsupported(what: String, remedy: &str) -> StepError {
    StepError::Unsupported { integrator: "the maximal integrator", what, remedy: remedy.into() }
}

/// Groups of bodies that move as one link, by the index of their first body; and where each body sits.
struct Lumps {
    root_of: Vec<Option<usize>>,
    pose: Vec<Pose>,
    inertia: Vec<Inertia>,
}

fn lump(bodies: &[Body], joints: &[Joint]) -> Lumps {
    let mut lumps = Lumps { root_of: Vec::new(), pose: Vec::new(), inertia: Vec::new() };
    for (i, (body, joint)) in bodies.iter().zip(joints).enumerate() {
        let own = body.inertia;
        let mut merged = None;
        if joint.kind == JointType::Fixed {
            let rigid = joint.parent_frame * joint.child_frame.inverse();
            match joint.parent {
                None => merged = Some((None, rigid)),
                Some(parent) => {
                    let (root, pose) = (lumps.root_of[parent.index()], lumps.pose[parent.index()] * rigid);
                    let keep = root.is_some_and(|root| {
                        let g = &lumps.inertia[root];
                        is_regular(own.mass, &own.about_com()) && is_regular(g.mass, &g.about_com())
                    });
                    if !keep {
                        merged = Some((root, pose));
                    }
                }
            }
        }
        let (root, pose) = merged.unwrap_or((Some(i), Pose::identity()));
        lumps.root_of.push(root);
        lumps.pose.push(pose);
        lumps.inertia.push(Inertia::zero());
        if let Some(root) = root {
            let moved = own.transformed(&pose);
            lumps.inertia[root] += moved;
        }
    }
    lumps
}

impl Layout {
    pub(crate) fn new(
        mechanism: &Mechanism,
        rollings: &[(usize, RollingKind, String)],
    ) -> Result<Self, StepError> {
        let (bodies, joints) = (mechanism.bodies(), mechanism.joints());
        let lumps = lump(bodies, joints);
        let degenerate = mechanism.degenerate_joints();
        let mut link_of = vec![None; bodies.len()];
        let mut attachments = Vec::with_capacity(bodies.len());
        let mut links: Vec<Link> = Vec::new();

        // Centre-of-mass frames first: every joint end is expressed in them.
        let mut frames: Vec<Option<Pose>> = vec![None; bodies.len()]; // link frame in the root body's frame
        for i in 0..bodies.len() {
            if lumps.root_of[i] == Some(i) {
                // A body may be without mass as long as its joint moves what hangs from it.
                if let Some(joint) = degenerate.iter().find(|j| joints[j.index()].child.index() == i) {
                    return Err(unsupported(
                        format!("joint `{}`, which moves no inertia", joints[joint.index()].name),
                        "give the body behind it mass, fix it to the body that carries it, or give the joint armature",
                    ));
                }
                frames[i] = Some(Pose::new(Mat3::identity(), lumps.inertia[i].com()));
            }
        }
        for i in 0..bodies.len() {
            attachments.push(match lumps.root_of[i] {
                None => Attachment { link: None, pose: lumps.pose[i] },
                Some(root) => {
                    let frame = frames[root].unwrap_or_default();
                    if root == i {
                        link_of[i] = Some(links.len());
                        links.push(Link::placeholder(i));
                    }
                    Attachment { link: link_of[root], pose: frame.inverse() * lumps.pose[i] }
                }
            });
        }
        let end = |body: Option<usize>, frame: &Pose| -> End {
            let at = body.map_or(Attachment { link: None, pose: Pose::identity() }, |b| attachments[b]);
            let x = at.pose * *frame;
            End { link: at.link, p: x.pos, q: Quat::from_matrix(&x.rot), lever: x.pos }
        };
        let link_joint = |index: usize| -> LinkJoint {
            let j = &joints[index];
            let (actuators, servos) = inputs_of(mechanism, j);
            let mut rows = CoordinateRows::new(j);
            rows.has_rows |= !servos.is_empty();
            LinkJoint {
                kind: j.kind,
                joint: index,
                a: end(j.parent.map(|p| p.index()), &j.parent_frame),
                b: end(Some(j.child.index()), &j.child_frame),
                rows,
                actuators,
                servos,
                effort: j.limits.map_or(UNLIMITED, |l| l.effort_range),
                turn_limited: mechanism
                    .rows()
                    .iter()
                    .any(|row| matches!(row.of, RowOf::Turn { joint, .. } if joint.index() == index)),
            }
        };
        for link in &mut links {
            let body = link.body;
            let g = &lumps.inertia[body];
            link.mass = g.mass;
            link.inertia = g.about_com().to_matrix();
            if is_regular(g.mass, &g.about_com()) {
                link.inverse_inertia = link.inertia.inverse();
                link.inverse_mass = 1.0 / g.mass;
            }
            link.joint = link_joint(body);
            link.parent = link.joint.a.link;
            link.q = joints[body].q;
            link.v = joints[body].v;
        }
        // Levers are taken from the link's own joint point.
        let own: Vec<Vec3> = links.iter().map(|l| l.joint.b.p).collect();
        let relever = |e: &mut End| e.lever = e.p - e.link.map_or(Vec3::zero(), |l| own[l]);
        for link in &mut links {
            relever(&mut link.joint.a);
            relever(&mut link.joint.b);
        }
        for (i, body) in bodies.iter().enumerate() {
            let Some(link) = attachments[i].link else { continue };
            let at = attachments[i].pose;
            if body.drag > 0.0 {
                links[link].drags.push((at.point(body.com), body.drag));
            }
            for t in &body.thrusters {
                links[link].thrusters.push((t.input, at.wrench(t.wrench)));
            }
            for p in &body.pushes {
                links[link].pushes.push((p.input, at.point(p.point), p.wrench));
            }
        }

        let mut loops = Vec::new();
        let mut closures = Vec::new();
        for (index, joint) in joints.iter().enumerate().filter(|(_, j)| j.role == JointRole::Loop) {
            let mut made = link_joint(index);
            relever(&mut made.a);
            relever(&mut made.b);
            let (a, b) = (made.a.link, made.b.link);
            if a == b {
                return Err(unsupported(
                    format!("loop joint `{}`, both ends of which are on the same rigid body", joint.name),
                    "remove it",
                ));
            }
            let name = joint.name.clone();
            let closure = |kind, rows, name| Closure { kind, index: loops.len(), a, b, rows, name };
            if row_count(joint.kind) > 0 {
                let rows = row_count(joint.kind);
                #[cfg(feature = "sabotage")]
                let rows = rows - usize::from(crate::sabotage::chosen(crate::sabotage::Fault::LoopRow));
                closures.push(closure(ClosureKind::Joint, rows, name.clone()));
            }
            if made.rows.has_rows || made.rows.has_limits {
                if joint.kind.nv() > 3 || joint.kind == JointType::Spherical {
                    return Err(unsupported(
                        format!(
                            "springs, damping or limits on the {} loop joint `{name}`",
                            joint.kind.name()
                        ),
                        "put them on a joint of the tree",
                    ));
                }
                closures.push(closure(ClosureKind::Coordinates, 2 * joint.kind.nv(), name));
            }
            loops.push(made);
        }
        for (body, kind, name) in rollings {
            let Some(link) = attachments[*body].link else {
                return Err(unsupported(
                    format!("constraint `{name}` on a body fixed to the ground"),
                    "remove it",
                ));
            };
            let rolling = Rolling::new(kind, &attachments[*body].pose, bodies[*body].com);
            closures.push(Closure {
                rows: rolling.rows(),
                kind: ClosureKind::Rolling(rolling),
                index: link,
                a: None,
                b: Some(link),
                name: name.clone(),
            });
        }
        for closure in &closures {
            let regular = |end: Option<usize>| end.is_some_and(|i| links[i].inverse_mass > 0.0);
            if !regular(closure.a) && !regular(closure.b) {
                return Err(unsupported(
                    format!(
                        "`{}`, which constrains bodies without mass and inertia of their own",
                        closure.name
                    ),
                    "give one of them mass and inertia",
                ));
            }
        }
        for i in 0..links.len() {
            if let Some(p) = links[i].parent {
                links[p].terms += 1.0;
            }
        }
        for closure in &closures {
            for i in [closure.a, closure.b].into_iter().flatten() {
                links[i].terms += closure.rows as f64;
            }
        }
        let (length, stiffness_per_force) = sizes(&links, &loops);
        let mut layout = Self {
            max_mass: links.iter().map(|l| l.mass).reduce(f64::max).unwrap_or(1.0),
            length,
            stiffness_per_force,
            gravity: mechanism.gravity(),
            wind: mechanism.wind(),
            dissipative: bodies.iter().any(|b| b.drag > 0.0)
                || joints.iter().any(|j| j.damping.iter().any(|c| *c != 0.0))
                || mechanism.drives().iter().any(|drive| drive.law.is_servo()),
            places: mechanism.drives().iter().map(|drive| drive.entries.len()).collect(),
            limited: links.iter().map(|l| &l.joint).chain(&loops).any(|j| {
                let rows = &j.rows;
                rows.lower.iter().chain(&rows.upper).any(|limit| limit.is_finite())
            }),
            held: 0,
            inputs: mechanism.nu(),
            row_tolerance: super::ldu::RANK_TOLERANCE,
            foreseeable: true,
            aligned_by: 0.0,
            ties: Vec::new(),
            tendons: Vec::new(),
            links,
            loops,
            closures,
            bodies: attachments,
        };
        layout.ties = Tie::all(mechanism, &layout);
        layout.tendons = layout.sums(mechanism);
        if !layout.ties.is_empty() {
            layout.held = mechanism.nv() + layout.ties.len();
        }
        layout.refuse_armature(mechanism)?;
        layout.refuse_servos(mechanism)?;
        Ok(layout)
    }

    /// Levers of all ends from the joint points of their links, after frames have moved.
    pub(crate) fn take_levers(&mut self) {
        let own: Vec<Vec3> = self.links.iter().map(|l| l.joint.b.p).collect();
        for joint in self.links.iter_mut().map(|l| &mut l.joint).chain(&mut self.loops) {
            for end in [&mut joint.a, &mut joint.b] {
                end.lever = end.p - end.link.map_or(Vec3::zero(), |l| own[l]);
            }
        }
    }

    /// Number of slopes of all ties.
    pub(crate) fn tie_parts(&self) -> usize {
        self.ties.iter().map(|tie| tie.parts.len()).sum()
    }

    fn sums(&self, mechanism: &Mechanism) -> Vec<Sum> {
        let place = |v: usize| {
            let i = self.links.iter().position(|l| (l.v..l.v + l.joint.kind.nv()).contains(&v))?;
            Some(Part { joint: JointAt::Link(i), c: v - self.links[i].v })
        };
        mechanism
            .tendons()
            .iter()
            .filter(|tendon| tendon.stiffness != 0.0 || tendon.damping != 0.0)
            .map(|tendon| Sum {
                parts: tendon.terms.iter().filter_map(|(at, a)| Some((place(at.v)?, *a))).collect(),
                stiffness: tendon.stiffness,
                rest: tendon.rest,
                damping: tendon.damping,
            })
            .collect()
    }

    /// A servo couples the joints it acts on, which the elimination along the tree has no place for.
    fn refuse_servos(&self, mechanism: &Mechanism) -> Result<(), StepError> {
        for (input, drive) in mechanism.drives().iter().enumerate().filter(|(_, drive)| drive.law.is_servo())
        {
            let name = &mechanism.inputs()[input];
            if drive.entries.len() > 1 {
                return Err(unsupported(
                    format!("input `{name}`, whose force on several joints depends on the motion"),
                    "use the minimal integrator, or let it act on one joint",
                ));
            }
        }
        if let Some(joint) = self.loops.iter().find(|joint| !joint.servos.is_empty()) {
            let name = &mechanism.joints()[joint.joint].name;
            return Err(unsupported(
                format!("the servo on the loop joint `{name}`"),
                "give the joint the role `tree`, and another one of its loop the role `loop`",
            ));
        }
        Ok(())
    }

    fn refuse_armature(&self, mechanism: &Mechanism) -> Result<(), StepError> {
        for j in self.links.iter().map(|l| &l.joint).chain(&self.loops) {
            let joint = &mechanism.joints()[j.joint];
            let many = matches!(j.kind, JointType::Spherical | JointType::Floating);
            if many && j.rows.armature != [0.0; 6] {
                return Err(unsupported(
                    format!("armature on the {} joint `{}`", j.kind.name(), joint.name),
                    "add it to the body's inertia",
                ));
            }
            let d = &j.rows.damping;
            if j.kind == JointType::Floating && (d[3] != d[4] || d[3] != d[5]) {
                return Err(unsupported(
                    format!("direction-dependent linear damping on the floating joint `{}`", joint.name),
                    "give the three slides the same damping",
                ));
            }
        }
        Ok(())
    }
}

impl Link {
    fn placeholder(body: usize) -> Self {
        let end = End { link: None, p: Vec3::zero(), q: Quat::identity(), lever: Vec3::zero() };
        Self {
            body,
            parent: None,
            mass: 0.0,
            inertia: Mat3::zero(),
            inverse_mass: 0.0,
            inverse_inertia: Mat3::zero(),
            joint: LinkJoint {
                kind: JointType::Floating,
                joint: 0,
                a: end,
                b: end,
                rows: CoordinateRows {
                    stiffness: [0.0; 6],
                    rest: [0.0; 6],
                    damping: [0.0; 6],
                    armature: [0.0; 6],
                    lower: [f64::NEG_INFINITY; 6],
                    upper: [f64::INFINITY; 6],
                    has_rows: false,
                    has_springs: false,
                    has_limits: false,
                },
                actuators: Vec::new(),
                servos: Vec::new(),
                effort: UNLIMITED,
                turn_limited: false,
            },
            q: 0,
            v: 0,
            terms: 0.0,
            drags: Vec::new(),
            spin_drag: 0.0,
            thrusters: Vec::new(),
            pushes: Vec::new(),
        }
    }
}
