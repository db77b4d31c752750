//! What several claims need: mechanisms, states and comparisons.

use leastaction::mechanism::samples::{Random, random_tree};
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder};
use leastaction_core::scalar::{largest, largest_difference, maximum};

/// Every kind a tree joint can have.
pub(crate) const ALL_KINDS: [JointType; 9] = [
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

/// A random tree of every kind of joint.
pub(crate) fn mixed_tree(seed: u64, n: usize) -> Mechanism {
    MechanismBuilder::from(random_tree(seed, n, &ALL_KINDS)).build().expect("random trees are valid")
}

/// Random positions near neutral and random velocities.
pub(crate) fn random_state(mechanism: &Mechanism, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Random::new(seed);
    let neutral = mechanism.neutral_state().q;
    let u: Vec<f64> = (0..mechanism.nv()).map(|_| rng.range(-1.2, 1.2)).collect();
    let mut q = neutral.clone();
    mechanism.retract(&neutral, &u, &mut q);
    (q, random_vector(mechanism.nv(), seed + 1))
}

/// Random numbers in (−1, 1).
pub(crate) fn random_vector(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Random::new(seed ^ 0xabcd);
    (0..n).map(|_| rng.range(-1.0, 1.0)).collect()
}

/// Largest difference relative to the largest entry of `b` (at least one).
pub(crate) fn worst(a: &[f64], b: &[f64]) -> f64 {
    largest_difference(a, b) / maximum(1.0, largest(b))
}

/// A tree with springs, dampers, armature, actuators, drag in wind and a thruster on every kind of joint.
pub(crate) fn force_tree(seed: u64) -> Mechanism {
    let kinds = [
        JointType::Revolute,
        JointType::Universal,
        JointType::Spherical,
        JointType::Cylindrical,
        JointType::Planar,
        JointType::Prismatic,
    ];
    force_tree_of(seed, &kinds)
}

/// The same of the kinds given.
pub(crate) fn force_tree_of(seed: u64, kinds: &[JointType]) -> Mechanism {
    use leastaction::mechanism::{
        ActuatorDescription, PerCoordinate, SpringDescription, ThrusterDescription,
    };
    let mut model = random_tree(seed, 7, kinds);
    model.wind = [0.5, -0.3, 0.2];
    model.inputs = vec!["motor".into(), "jet".into()];
    for joint in &mut model.joints {
        joint.damping = PerCoordinate::One(0.3);
        joint.spring = Some(SpringDescription {
            stiffness: PerCoordinate::One(4.0),
            rest: PerCoordinate::One(if joint.kind == JointType::Spherical { 0.0 } else { 0.2 }),
        });
        if joint.kind != JointType::Spherical {
            joint.armature = PerCoordinate::One(0.05);
        }
    }
    model.joints[0].actuators.push(ActuatorDescription { input: "motor".into(), coordinate: 0, gear: 1.5 });
    for body in &mut model.bodies {
        body.drag = 0.2;
    }
    model.bodies[3]
        .thrusters
        .push(ThrusterDescription { input: "jet".into(), wrench: [0.1, -0.2, 0.3, 1.0, 0.5, -0.4] });
    MechanismBuilder::from(model).build().expect("valid")
}

/// Seconds this thread has had a processor; other work on the machine does not count. Wall time where the system
/// does not tell.
pub(crate) fn processor_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|s| s.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds
        .map_or_else(|| START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
