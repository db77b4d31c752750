//! What several claims need: mechanisms, states and comparisons.

use leastaction::mechanism::samples::{Random, random_tree};
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder};

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
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    a.iter().zip(b).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / scale
}
