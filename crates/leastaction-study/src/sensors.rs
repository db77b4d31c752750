//! Sensors of a model file as columns: `s.SENSOR`, or `s.SENSOR.x` and so on where they measure several numbers.

use leastaction::dynamics::Kinematics;
use leastaction::io::{Measured, Sensor};
use leastaction::mechanism::{BodyId, Mechanism, State};
use leastaction::spatial::{Pose, Quat, Vec3};
use leastaction::trajectory::TrajectoryLayout;

/// A sensor with names looked up.
#[derive(Clone, Copy, Debug)]
enum Reads {
    Position {
        at: usize,
        reference: f64,
    },
    Velocity {
        at: usize,
        count: usize,
    },
    Turn {
        at: usize,
    },
    FramePosition(Frame),
    FrameTurn(Frame),
    FrameAxis(Frame, usize),
    FrameVelocity {
        frame: Frame,
        own_axes: bool,
    },
    FrameSpin {
        frame: Frame,
        own_axes: bool,
    },
    /// A range of the bodies that are summed over.
    Centre {
        first: usize,
        last: usize,
    },
    Force {
        input: usize,
    },
    Clock,
}

/// A frame of a body, or of the world.
#[derive(Clone, Copy, Debug)]
struct Frame {
    body: Option<BodyId>,
    placement: Pose,
}

/// The columns of all sensors of a model that its mechanism still has, and memory to fill them.
#[derive(Clone, Debug)]
pub struct SensorColumns {
    columns: Vec<String>,
    list: Vec<Reads>,
    bodies: Vec<BodyId>,
    kinematics: Kinematics,
    values: Vec<f64>,
}

impl SensorColumns {
    /// For a mechanism.
    #[must_use]
    pub fn new(mechanism: &Mechanism, sensors: &[Sensor]) -> Self {
        let mut made = Self {
            columns: Vec::new(),
            list: Vec::new(),
            bodies: Vec::new(),
            kinematics: Kinematics::new(mechanism),
            values: Vec::new(),
        };
        for sensor in sensors {
            let Some(reads) = made.look_up(mechanism, &sensor.of) else { continue };
            made.list.push(reads);
            let name = &sensor.name;
            made.columns.extend(sensor.of.parts().iter().map(|part| match *part {
                "" => format!("s.{name}"),
                part => format!("s.{name}.{part}"),
            }));
        }
        made
    }

    /// These columns behind those of a trajectory.
    #[must_use]
    pub fn layout(&self, layout: TrajectoryLayout) -> TrajectoryLayout {
        layout.with("s", self.columns.clone())
    }

    fn look_up(&mut self, mechanism: &Mechanism, of: &Measured) -> Option<Reads> {
        let label = |labels: Vec<String>, name: &str| labels.iter().position(|label| label == name);
        let q = |name: &str| label(mechanism.q_labels(), name);
        let v = |name: &str| label(mechanism.v_labels(), name);
        let frame = |body: &str, placement: &leastaction::mechanism::Placement| {
            let body = if body == leastaction::mechanism::WORLD {
                None
            } else {
                Some(mechanism.body_by_name(body)?)
            };
            let turn = Quat::from_slice(&placement.q);
            Some(Frame { body, placement: Pose::new(turn.to_matrix(), Vec3(placement.p)) })
        };
        Some(match of {
            Measured::Position { joint, reference } => {
                Reads::Position { at: q(joint)?, reference: *reference }
            }
            Measured::Velocity { joint } => Reads::Velocity { at: v(joint)?, count: 1 },
            Measured::Turn { joint } => Reads::Turn { at: q(&format!("{joint}.w"))? },
            Measured::Spin { joint } => Reads::Velocity { at: v(&format!("{joint}.wx"))?, count: 3 },
            Measured::FramePosition { body, placement } => Reads::FramePosition(frame(body, placement)?),
            Measured::FrameTurn { body, placement } => Reads::FrameTurn(frame(body, placement)?),
            Measured::FrameAxis { body, placement, axis } => Reads::FrameAxis(frame(body, placement)?, *axis),
            Measured::FrameVelocity { body, placement, own_axes } => {
                Reads::FrameVelocity { frame: frame(body, placement)?, own_axes: *own_axes }
            }
            Measured::FrameSpin { body, placement, own_axes } => {
                Reads::FrameSpin { frame: frame(body, placement)?, own_axes: *own_axes }
            }
            Measured::SubtreeCentre { bodies } => {
                let first = self.bodies.len();
                self.bodies.extend(bodies.iter().filter_map(|name| mechanism.body_by_name(name)));
                Reads::Centre { first, last: self.bodies.len() }
            }
            Measured::ActuatorForce { input } => {
                Reads::Force { input: mechanism.inputs().iter().position(|name| name == input)? }
            }
            Measured::Clock => Reads::Clock,
            _ => return None,
        })
    }

    /// What the sensors say at a state and time, `acted` being the mean forces of the inputs. Does not allocate once called.
    pub fn read(&mut self, mechanism: &Mechanism, t: f64, state: &State, acted: &[f64]) -> &[f64] {
        self.values.clear();
        if self.list.is_empty() {
            return &self.values;
        }
        self.kinematics.update(mechanism, &state.q, &state.v);
        let list = std::mem::take(&mut self.list);
        for reads in &list {
            match *reads {
                Reads::Position { at, reference } => self.values.push(state.q[at] + reference),
                Reads::Velocity { at, count } => self.values.extend_from_slice(&state.v[at..at + count]),
                Reads::Turn { at } => self.values.extend_from_slice(&state.q[at..at + 4]),
                Reads::FramePosition(frame) => {
                    let pose = self.pose(mechanism, frame);
                    self.values.extend(pose.pos.0);
                }
                Reads::FrameTurn(frame) => {
                    let turn = Quat::from_matrix(&self.pose(mechanism, frame).rot).to_array();
                    let sign = if turn[0] < 0.0 { -1.0 } else { 1.0 };
                    self.values.extend(turn.map(|x| sign * x));
                }
                Reads::FrameAxis(frame, axis) => {
                    let axis = self.pose(mechanism, frame).rot.column(axis);
                    self.values.extend(axis.0);
                }
                Reads::FrameVelocity { frame, own_axes } => {
                    let [velocity, _] = self.motion(mechanism, frame, own_axes);
                    self.values.extend(velocity.0);
                }
                Reads::FrameSpin { frame, own_axes } => {
                    let [_, spin] = self.motion(mechanism, frame, own_axes);
                    self.values.extend(spin.0);
                }
                Reads::Centre { first, last } => {
                    let centre = self.centre(mechanism, first, last);
                    self.values.extend(centre.0);
                }
                Reads::Force { input } => self.values.push(acted.get(input).copied().unwrap_or(0.0)),
                Reads::Clock => self.values.push(t),
            }
        }
        self.list = list;
        &self.values
    }

    fn body_pose(&self, mechanism: &Mechanism, frame: Frame) -> Pose {
        frame.body.map_or_else(Pose::identity, |body| self.kinematics.body_pose(mechanism, body))
    }

    fn pose(&self, mechanism: &Mechanism, frame: Frame) -> Pose {
        self.body_pose(mechanism, frame) * frame.placement
    }

    /// Velocity of a frame's origin and its angular velocity.
    fn motion(&self, mechanism: &Mechanism, frame: Frame, own_axes: bool) -> [Vec3; 2] {
        let Some(body) = frame.body else { return [Vec3::zero(); 2] };
        let twist = self.kinematics.body_twist(mechanism, body);
        let velocity = twist.lin + twist.ang.cross(frame.placement.pos);
        let of_body = [velocity, twist.ang];
        if own_axes {
            of_body.map(|x| frame.placement.rot.tr_mul(x))
        } else {
            let rot = self.body_pose(mechanism, frame).rot;
            of_body.map(|x| rot * x)
        }
    }

    fn centre(&self, mechanism: &Mechanism, first: usize, last: usize) -> Vec3 {
        let (mut moment, mut mass) = (Vec3::zero(), 0.0);
        for body in &self.bodies[first..last] {
            let inertia = &mechanism.body(*body).inertia;
            let pose = self.kinematics.body_pose(mechanism, *body);
            moment += (pose.rot * inertia.com() + pose.pos) * inertia.mass;
            mass += inertia.mass;
        }
        if mass > 0.0 { moment * (1.0 / mass) } else { moment }
    }
}
