//! Built-in mechanisms: what `@chain/32` and its like mean.
//!
//! Links are uniform rods of 1 m and 1 kg hanging along −z, with transverse inertia 1/12 about the centre and
//! 1e-4 about the axis; motion of planar samples is in the y–z plane, hinges about x. Each sample has a state
//! named [`START`].

mod linkages;

use crate::scalar::elementary;
use std::f64::consts::{FRAC_PI_4, PI};

use super::description::{
    BodyDescription, Coordinates, JointDescription, JointRole, JointType, ModelDescription, Placement, Shape,
    StateDescription, Visual, WORLD,
};

pub use linkages::{bennett, delta, platform, rssr, slider_crank, stewart};

/// Name of the state that simulations start from by default.
pub const START: &str = "start";

const AXIAL: f64 = 1e-4;
const X: [f64; 3] = [1.0, 0.0, 0.0];
const Y: [f64; 3] = [0.0, 1.0, 0.0];

/// Largest number of links or segments a built-in takes.
const MAX_SIZE: usize = 100_000;

/// What can follow `@`.
pub const BUILT_IN: [&str; 16] = [
    "@double-pendulum",
    "@chain/N",
    "@chain-xy/N",
    "@ball-chain/N",
    "@star/N",
    "@binary-tree/N",
    "@ball-tree/N",
    "@four-bar",
    "@four-bars/K",
    "@rhombus-chain/K",
    "@slider-crank",
    "@rssr",
    "@bennett",
    "@platform",
    "@stewart",
    "@delta",
];

/// The built-in model of a name such as `@chain/10`.
///
/// # Errors
/// A sentence saying which names there are.
pub fn built_in(name: &str) -> Result<ModelDescription, String> {
    let (kind, size) = match name.trim_start_matches('@').split_once('/') {
        Some((kind, size)) => (kind, Some(size)),
        None => (name.trim_start_matches('@'), None),
    };
    let size = match size {
        None => None,
        Some(text) => match text.parse::<usize>() {
            Ok(n) if (1..=MAX_SIZE).contains(&n) => Some(n),
            _ => return Err(format!("`{text}` in `{name}` is not a number from 1 to {MAX_SIZE}")),
        },
    };
    match (kind, size) {
        ("double-pendulum", None) => {
            let mut model = chain(2);
            model.name = "double-pendulum".into();
            Ok(model)
        }
        ("chain", Some(n)) => Ok(chain(n)),
        ("chain-xy", Some(n)) => Ok(chain_xy(n)),
        ("ball-chain", Some(n)) => Ok(ball_chain(n)),
        ("star", Some(n)) => Ok(star(n)),
        ("binary-tree", Some(n)) => Ok(binary_tree(n)),
        ("ball-tree", Some(n)) => Ok(ball_tree(n)),
        ("four-bar", None) => Ok(four_bar()),
        ("four-bars", Some(k)) => Ok(four_bars(k)),
        ("rhombus-chain", Some(k)) => Ok(rhombus_chain(k)),
        ("slider-crank", None) => Ok(slider_crank()),
        ("rssr", None) => Ok(rssr()),
        ("bennett", None) => Ok(bennett()),
        ("platform", None) => Ok(platform()),
        ("stewart", None) => Ok(stewart()),
        ("delta", None) => Ok(delta()),
        _ => Err(format!("`{name}` is not a built-in model; there are {}", BUILT_IN.join(", "))),
    }
}

/// A rod of length `l` from the body origin along −z.
fn rod(name: String, length: f64) -> BodyDescription {
    let t = length * length / 12.0;
    BodyDescription {
        name,
        mass: 1.0,
        com: [0.0, 0.0, -length / 2.0],
        inertia: [t, t, AXIAL, 0.0, 0.0, 0.0],
        visuals: vec![Visual {
            shape: Shape::Capsule { radius: 0.03 * length.max(0.4), length },
            placement: Placement::at([0.0, 0.0, -length / 2.0]),
            rgba: None,
        }],
        ..Default::default()
    }
}

/// A rod of length `l` from the body origin along +y.
fn coupler(name: String, length: f64) -> BodyDescription {
    let t = length * length / 12.0;
    BodyDescription {
        com: [0.0, length / 2.0, 0.0],
        inertia: [t, AXIAL, t, 0.0, 0.0, 0.0],
        visuals: vec![Visual {
            shape: Shape::Capsule { radius: 0.03 * length.max(0.4), length },
            placement: Placement {
                p: [0.0, length / 2.0, 0.0],
                q: [elementary::cos(FRAC_PI_4), elementary::sin(FRAC_PI_4), 0.0, 0.0],
            },
            rgba: None,
        }],
        ..rod(name, length)
    }
}

fn joint(
    name: String,
    kind: JointType,
    parent: &str,
    child: &str,
    at: [f64; 3],
    axis: [f64; 3],
) -> JointDescription {
    JointDescription {
        parent_placement: Placement::at(at),
        axis: (kind != JointType::Spherical).then_some(axis),
        ..JointDescription::new(name, kind, parent, child)
    }
}

fn start(model: &mut ModelDescription, q: impl IntoIterator<Item = (String, Coordinates)>) {
    let state = StateDescription { q: q.into_iter().collect(), ..Default::default() };
    model.states.insert(START.into(), state);
}

/// Rods hanging from one another: link `i` from the tip of an earlier one, the first from the world, turned about x.
fn hanging(
    name: String,
    n: usize,
    kind: JointType,
    axis: impl Fn(usize) -> [f64; 3],
    parent: impl Fn(usize) -> usize,
    angle: impl Fn(usize) -> f64,
) -> ModelDescription {
    let mut model = ModelDescription::new(name);
    let mut q = Vec::new();
    for i in 0..n {
        let body = format!("link{i}");
        let (parent, at) = if i == 0 {
            (WORLD.to_owned(), [0.0; 3])
        } else {
            (format!("link{}", parent(i)), [0.0, 0.0, -1.0])
        };
        model.joints.push(joint(format!("joint{i}"), kind, &parent, &body, at, axis(i)));
        model.bodies.push(rod(body, 1.0));
        let (s, c) = elementary::sin_cos(0.5 * angle(i));
        if s != 0.0 {
            let turned = match kind {
                JointType::Spherical => Coordinates::Many(vec![c, s, 0.0, 0.0]),
                _ => Coordinates::One(angle(i)),
            };
            q.push((format!("joint{i}"), turned));
        }
    }
    start(&mut model, q);
    model
}

/// A chain is turned at its first joint.
fn chain_of(name: String, n: usize, kind: JointType, axis: impl Fn(usize) -> [f64; 3]) -> ModelDescription {
    hanging(name, n, kind, axis, |i| i - 1, |i| if i == 0 { 0.5 } else { 0.0 })
}

/// `n` rods on hinges: all but the first hang from the tip of the first, spread out.
#[must_use]
pub fn star(n: usize) -> ModelDescription {
    hanging(format!("star-{n}"), n, JointType::Revolute, |_| X, |_| 0, |i| (0.5 + 2.4 * i as f64) % 6.0 - 3.0)
}

/// `n` rods on hinges, two hanging from the tip of each as far as they go.
#[must_use]
pub fn binary_tree(n: usize) -> ModelDescription {
    hanging(format!("binary-tree-{n}"), n, JointType::Revolute, |_| X, |i| (i - 1) / 2, fork)
}

/// The same on balls.
#[must_use]
pub fn ball_tree(n: usize) -> ModelDescription {
    hanging(format!("ball-tree-{n}"), n, JointType::Spherical, |_| X, |i| (i - 1) / 2, fork)
}

/// Left branches turn one way, right branches the other.
fn fork(i: usize) -> f64 {
    if i.is_multiple_of(2) { 0.5 } else { -0.3 }
}

/// Planar chain of `n` hinges about x, at rest with the first at 0.5 rad.
#[must_use]
pub fn chain(n: usize) -> ModelDescription {
    chain_of(format!("chain-{n}"), n, JointType::Revolute, |_| X)
}

/// Chain of `n` hinges about x and y in turn.
#[must_use]
pub fn chain_xy(n: usize) -> ModelDescription {
    chain_of(format!("chain-xy-{n}"), n, JointType::Revolute, |i| if i % 2 == 0 { X } else { Y })
}

/// Chain of `n` ball joints, the first turned by 0.5 rad about x.
#[must_use]
pub fn ball_chain(n: usize) -> ModelDescription {
    chain_of(format!("ball-chain-{n}"), n, JointType::Spherical, |_| X)
}

/// Angle about x that turns "down" to the direction `(y, z)`.
fn angle_of(d: [f64; 2]) -> f64 {
    elementary::atan2(d[0], -d[1])
}

/// Crank-rocker of four revolutes: ground 1.0, crank 0.5, coupler 1.2, rocker 0.9, crank at 60°.
#[must_use]
pub fn four_bar() -> ModelDescription {
    let (a, b, c) = (0.5, 1.2, 0.9);
    let crank = elementary::sin_cos(PI / 3.0);
    let tip = [a * crank.1, a * crank.0];
    // Where the circle of the coupler about the crank's tip meets that of the rocker about (1, 0), upper branch.
    let d = [1.0 - tip[0], -tip[1]];
    let dist = elementary::hypot(d[0], d[1]);
    let x = (dist * dist + b * b - c * c) / (2.0 * dist);
    let h = (b * b - x * x).sqrt();
    let e = [d[0] / dist, d[1] / dist];
    let top = [tip[0] + x * e[0] - h * e[1], tip[1] + x * e[1] + h * e[0]];
    let q_crank = angle_of(tip);
    let q_coupler = angle_of([top[0] - tip[0], top[1] - tip[1]]) - q_crank;
    let q_rocker = angle_of([top[0] - 1.0, top[1]]);

    let mut model = ModelDescription::new("four-bar");
    model.bodies = vec![rod("crank".into(), a), rod("coupler".into(), b), rod("rocker".into(), c)];
    let hinge = |name: &str, parent: &str, child: &str, at| {
        joint(name.into(), JointType::Revolute, parent, child, at, X)
    };
    model.joints = vec![
        hinge("crank_pivot", WORLD, "crank", [0.0; 3]),
        hinge("crank_coupler", "crank", "coupler", [0.0, 0.0, -a]),
        hinge("rocker_pivot", WORLD, "rocker", [0.0, 1.0, 0.0]),
        JointDescription {
            child_placement: Placement::at([0.0, 0.0, -c]),
            role: Some(JointRole::Loop),
            ..hinge("closure", "coupler", "rocker", [0.0, 0.0, -b])
        },
    ];
    let q = [("crank_pivot", q_crank), ("crank_coupler", q_coupler), ("rocker_pivot", q_rocker)];
    start(&mut model, q.map(|(name, q)| (name.to_owned(), Coordinates::One(q))));
    model
}

/// `k` stacked parallelograms (base and coupler 0.4, sides 1.0, at 0.3 rad), each closed by a revolute joint;
/// a single one is the crank-rocker of [`four_bar`].
#[must_use]
pub fn four_bars(k: usize) -> ModelDescription {
    if k == 1 {
        return ModelDescription { name: "four-bars-1".into(), ..four_bar() };
    }
    let (width, side, tilt) = (0.4, 1.0, 0.3);
    let mut model = ModelDescription::new(format!("four-bars-{k}"));
    let mut base = WORLD.to_owned();
    let mut q = Vec::new();
    for i in 0..k {
        let [left, top, right] = ["left", "coupler", "right"].map(|part| format!("{part}{i}"));
        let hinge = |name: &str, parent: &str, child: &str, at| {
            joint(format!("{name}{i}"), JointType::Revolute, parent, child, at, X)
        };
        model.joints.extend([
            hinge("left_pivot", &base, &left, [0.0; 3]),
            hinge("left_top", &left, &top, [0.0, 0.0, -side]),
            hinge("right_pivot", &base, &right, [0.0, width, 0.0]),
            JointDescription {
                child_placement: Placement::at([0.0, 0.0, -side]),
                role: Some(JointRole::Loop),
                ..hinge("closure", &top, &right, [0.0, width, 0.0])
            },
        ]);
        for (name, angle) in [("left_pivot", tilt), ("left_top", -tilt), ("right_pivot", tilt)] {
            q.push((format!("{name}{i}"), Coordinates::One(angle)));
        }
        model.bodies.extend([rod(left, side), coupler(top.clone(), width), rod(right, side)]);
        base = top;
    }
    start(&mut model, q);
    model
}

/// `k` rhombi of four unit rods, each hanging from the one above, half opened (22.5°), the last one turned by 45°.
///
/// All rods can overlap: the mechanism passes through folded and stretched poses, where loops lose rank.
#[must_use]
pub fn rhombus_chain(k: usize) -> ModelDescription {
    let half = PI / 8.0;
    let mut model = ModelDescription::new(format!("rhombus-chain-{k}"));
    let mut q = Vec::new();
    let mut hang = (WORLD.to_owned(), [0.0; 3]);
    let mut hang_angle = 0.0; // absolute angle of the body the next rhombus hangs from
    for i in 0..k {
        let tilt = if i + 1 == k { FRAC_PI_4 } else { 0.0 };
        let [a, b, c, d] =
            ["upper_right", "lower_right", "upper_left", "lower_left"].map(|part| format!("{part}{i}"));
        let hinge = |name: &str, parent: &str, child: &str, at| {
            joint(format!("{name}{i}"), JointType::Revolute, parent, child, at, X)
        };
        model.joints.extend([
            hinge("top", &hang.0, &a, hang.1),
            hinge("right", &a, &b, [0.0, 0.0, -1.0]),
            hinge("apex", &a, &c, [0.0; 3]),
            hinge("left", &c, &d, [0.0, 0.0, -1.0]),
            JointDescription {
                child_placement: Placement::at([0.0, 0.0, -1.0]),
                role: Some(JointRole::Loop),
                ..hinge("closure", &b, &d, [0.0, 0.0, -1.0])
            },
        ]);
        let angles = [
            ("top", tilt + half - hang_angle),
            ("right", -2.0 * half),
            ("apex", -2.0 * half),
            ("left", 2.0 * half),
        ];
        q.extend(angles.map(|(name, angle)| (format!("{name}{i}"), Coordinates::One(angle))));
        hang = (d.clone(), [0.0, 0.0, -1.0]);
        hang_angle = tilt + half;
        model.bodies.extend([a, b, c, d].map(|name| rod(name, 1.0)));
    }
    start(&mut model, q);
    model
}

/// A seeded random tree of `n` bodies that mixes the given joint kinds: material for property tests.
#[must_use]
pub fn random_tree(seed: u64, n: usize, kinds: &[JointType]) -> ModelDescription {
    let mut rng = Random::new(seed);
    let mut model = ModelDescription::new(format!("random-tree-{seed}"));
    for i in 0..n {
        let kind = kinds[(rng.bits() % kinds.len() as u64) as usize];
        let name = format!("body{i}");
        let parent = match i {
            0 => WORLD.to_owned(),
            // Mostly chains, with branches.
            _ => format!("body{}", (i - 1) - (rng.bits() % 3).min(i as u64 - 1) as usize),
        };
        let mut body = rod(name.clone(), 1.0);
        body.mass = rng.range(0.4, 2.0);
        body.com = std::array::from_fn(|_| rng.range(-0.3, 0.3));
        let d: [f64; 3] = std::array::from_fn(|_| rng.range(0.02, 0.06));
        body.inertia = [d[1] + d[2], d[0] + d[2], d[0] + d[1], 0.004, -0.003, 0.005];
        body.visuals.clear();
        model.bodies.push(body);
        let mut j = JointDescription::new(format!("joint{i}"), kind, parent, name);
        j.parent_placement = rng.placement();
        j.child_placement = rng.placement();
        let axis: [f64; 3] = std::array::from_fn(|_| rng.range(-1.0, 1.0) + 0.05);
        if !matches!(kind, JointType::Spherical | JointType::Floating | JointType::Fixed) {
            j.axis = Some(axis);
        }
        if kind == JointType::Universal {
            j.axis2 = Some([-axis[1], axis[0], 0.0]);
        }
        model.joints.push(j);
    }
    model
}

/// A small deterministic generator (splitmix64): tests need repeatable numbers, not statistics.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Uniform in `[low, high)`.
    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }
    /// Normal with mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (self.range(1e-300, 1.0), self.range(0.0, 1.0));
        (-2.0 * elementary::ln(a)).sqrt() * elementary::cos(std::f64::consts::TAU * b)
    }
    fn placement(&mut self) -> Placement {
        let q: [f64; 4] = std::array::from_fn(|_| self.range(-1.0, 1.0));
        let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
        Placement { p: std::array::from_fn(|_| self.range(-0.4, 0.4)), q: q.map(|x| x / norm) }
    }
}
