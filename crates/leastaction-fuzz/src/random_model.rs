//! [`random_model`]: trees and loops of every kind of joint, at any size and weight.

use leastaction::dynamics::Kinematics;
use leastaction::mechanism::samples::{Random, random_tree};
use leastaction::mechanism::{
    JointDescription, JointRole, JointType, LimitsDescription, Mechanism, MechanismBuilder, ModelDescription,
    PerCoordinate, Placement, SpringDescription, State, WORLD,
};
use leastaction::spatial::Vec3;

const KINDS: [JointType; 9] = [
    JointType::Fixed,
    JointType::Revolute,
    JointType::Continuous,
    JointType::Prismatic,
    JointType::Cylindrical,
    JointType::Universal,
    JointType::Planar,
    JointType::Spherical,
    JointType::Floating,
];

/// A model, a state to start from, and the time in which gravity moves it by its own size.
#[derive(Clone, Debug)]
pub struct RandomModel {
    /// The model; its loops are closed at the start.
    pub description: ModelDescription,
    /// Where it starts.
    pub start: State,
    /// About the length of a link.
    pub length: f64,
    /// √(length / gravity).
    pub time: f64,
}

/// The mechanism of a number: one to nine bodies, lengths from a millimetre to a kilometre, masses from a milligram to a
/// thousand tonnes, half of them with elements on their hinges, a quarter with
/// friction and limits, a quarter with a loop.
///
/// # Panics
/// If the library refuses a tree that was built to be valid, which is a finding.
#[must_use]
pub fn random_model(number: u64) -> RandomModel {
    let mut random = Random::new(number ^ 0x5eed_0f1a);
    let bodies = 1 + (random.bits() % 9) as usize;
    let mut model = random_tree(number, bodies, &KINDS);
    // Powers of two, so that a change of scale is a change of exponents.
    let length = f64::powi(2.0, (random.bits() % 21) as i32 - 10);
    let mass = f64::powi(2.0, (random.bits() % 41) as i32 - 20);
    let time = (length / 9.81).sqrt();
    rescale(&mut model, length, mass);
    let unit = mass * length * length / time;
    match random.bits() % 4 {
        0 | 1 => add_elements(&mut model, unit, time, &mut random),
        2 => add_friction_and_limits(&mut model, unit / time, &mut random),
        _ => {}
    }
    let mechanism = MechanismBuilder::from(model.clone()).build().expect("a random tree is valid");
    let mut start = mechanism.neutral_state();
    let units = units(&mechanism, length);
    let u: Vec<f64> = units.iter().map(|unit| unit * random.range(-1.0, 1.0)).collect();
    let neutral = start.q.clone();
    mechanism.retract(&neutral, &u, &mut start.q);
    if random.bits().is_multiple_of(4) && mechanism.nv() >= 5 {
        close_a_loop(&mut model, &start, length, &mut random);
    } else {
        start.v = units.iter().map(|unit| unit / time * random.range(-0.3, 0.3)).collect();
    }
    RandomModel { description: model, start, length, time }
}

/// What is large for each velocity coordinate: a radian, or the length of a link.
pub(crate) fn units(mechanism: &Mechanism, length: f64) -> Vec<f64> {
    let slides = |kind: JointType, part: usize| match kind {
        JointType::Prismatic => true,
        JointType::Cylindrical => part == 1,
        JointType::Planar => part < 2,
        JointType::Floating => part >= 3,
        _ => false,
    };
    let mut units = vec![1.0; mechanism.nv()];
    for id in mechanism.tree_joints() {
        for (part, at) in mechanism.v_range(id).enumerate() {
            if slides(mechanism.joint(id).kind, part) {
                units[at] = length;
            }
        }
    }
    units
}

fn rescale(model: &mut ModelDescription, length: f64, mass: f64) {
    for body in &mut model.bodies {
        body.mass *= mass;
        body.com.iter_mut().for_each(|x| *x *= length);
        body.inertia.iter_mut().for_each(|x| *x *= mass * length * length);
    }
    for joint in &mut model.joints {
        for placement in [&mut joint.parent_placement, &mut joint.child_placement] {
            placement.p.iter_mut().for_each(|x| *x *= length);
        }
    }
}

/// Springs, dampers and armature on hinges, soft enough for the steps of the laws.
fn add_elements(model: &mut ModelDescription, unit: f64, time: f64, random: &mut Random) {
    for joint in &mut model.joints {
        if !matches!(joint.kind, JointType::Revolute | JointType::Continuous) {
            continue;
        }
        match random.bits() % 4 {
            0 => joint.damping = PerCoordinate::One(0.1 * unit),
            1 => joint.armature = PerCoordinate::One(0.1 * unit * time),
            2 => {
                let (stiffness, rest) = (PerCoordinate::One(unit / time), PerCoordinate::One(0.2));
                joint.spring = Some(SpringDescription { stiffness, rest });
            }
            _ => {}
        }
    }
}

/// Dry friction on hinges, from little to more than gravity can move, and limits around where they start.
fn add_friction_and_limits(model: &mut ModelDescription, torque: f64, random: &mut Random) {
    for joint in &mut model.joints {
        if !matches!(joint.kind, JointType::Revolute | JointType::Continuous) {
            continue;
        }
        if random.bits().is_multiple_of(2) {
            joint.friction = PerCoordinate::One(torque * random.range(0.001, 2.0));
        }
        if random.bits().is_multiple_of(2) {
            let (lower, upper) = (PerCoordinate::One(-1.01), PerCoordinate::One(1.01));
            joint.limits =
                Some(LimitsDescription { lower: Some(lower), upper: Some(upper), ..Default::default() });
        }
    }
}

/// Ties a point of the last body to the world where it is.
fn close_a_loop(model: &mut ModelDescription, start: &State, length: f64, random: &mut Random) {
    let mechanism = MechanismBuilder::from(model.clone()).build().expect("as before");
    let mut kinematics = Kinematics::new(&mechanism);
    kinematics.update_positions(&mechanism, &start.q);
    let Some(last) = model.bodies.last().map(|body| body.name.clone()) else { return };
    let Some(id) = mechanism.body_by_name(&last) else { return };
    let point: [f64; 3] = std::array::from_fn(|_| random.range(-0.3, 0.3) * length);
    let world = kinematics.body_pose(&mechanism, id).point(Vec3(point));
    let mut joint = JointDescription::new("closure".to_owned(), JointType::Spherical, WORLD.to_owned(), last);
    joint.parent_placement = Placement::at(world.0);
    joint.child_placement = Placement::at(point);
    joint.role = Some(JointRole::Loop);
    model.joints.push(joint);
}
