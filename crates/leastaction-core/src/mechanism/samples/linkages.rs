//! Linkages with closed loops, each described in the pose it starts from.
//!
//! Body frames stand at the bodies' centres, along the world's axes; all coordinates are zero there, so that closing a loop needs
//! no arithmetic on angles. Rods are round and 1:20, so that none is thin.

use crate::scalar::elementary;
use std::f64::consts::{FRAC_PI_3, PI, TAU};

use super::super::description::{
    BodyDescription, Coordinates, JointDescription, JointRole, JointType, ModelDescription, PerCoordinate,
    Placement, Shape, SpringDescription, StateDescription, Visual, WORLD,
};
use super::{START, X};

type Point = [f64; 3];

fn sum(a: Point, b: Point, scale: f64) -> Point {
    std::array::from_fn(|k| a[k] + scale * b[k])
}

fn dot(a: Point, b: Point) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn cross(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
}

fn unit(a: Point) -> Point {
    let n = dot(a, a).sqrt();
    a.map(|x| x / n)
}

fn spring(stiffness: f64, rest: f64) -> Option<SpringDescription> {
    Some(SpringDescription { stiffness: PerCoordinate::One(stiffness), rest: PerCoordinate::One(rest) })
}

/// A linkage under construction.
struct Linkage {
    model: ModelDescription,
    /// Where the bodies' frames are.
    centres: Vec<(String, Point)>,
    rates: Vec<(String, Coordinates)>,
}

impl Linkage {
    fn new(name: &str) -> Self {
        Self { model: ModelDescription::new(name), centres: Vec::new(), rates: Vec::new() }
    }

    fn centre(&self, body: &str) -> Point {
        self.centres.iter().find(|(name, _)| name == body).map_or([0.0; 3], |(_, at)| *at)
    }

    /// A body of its inertia about `at`, along the world's axes.
    fn body(&mut self, name: &str, at: Point, mass: f64, inertia: [f64; 6]) {
        self.centres.push((name.to_owned(), at));
        self.model.bodies.push(BodyDescription {
            name: name.to_owned(),
            mass,
            inertia,
            ..Default::default()
        });
    }

    /// A round rod of 1 kg per metre.
    fn rod(&mut self, name: &str, a: Point, b: Point) {
        let along = sum(b, a, -1.0);
        let (length, u) = (dot(along, along).sqrt(), unit(along));
        let (mass, radius) = (length, length / 20.0);
        let (axial, across) =
            (0.5 * mass * radius * radius, mass * (length * length + 3.0 * radius * radius) / 12.0);
        let entry = |r: usize, c: usize| (if r == c { across } else { 0.0 }) + (axial - across) * u[r] * u[c];
        let inertia = [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)];
        self.body(name, sum(a, along, 0.5), mass, inertia);
        // The turn from z to the rod's direction.
        let half = unit([u[0], u[1], u[2] + 1.0 + f64::from(u8::from(u[2] < -0.999))]);
        let q = [half[2], -half[1], half[0], 0.0];
        let shape = Shape::Capsule { radius, length: length - 2.0 * radius };
        if let Some(body) = self.model.bodies.last_mut() {
            body.visuals.push(Visual { shape, placement: Placement { p: [0.0; 3], q }, rgba: None });
        }
    }

    /// A joint at a point of the world, along an axis of the world.
    fn joint(
        &mut self,
        name: &str,
        kind: JointType,
        (parent, child): (&str, &str),
        at: Point,
        axis: Option<Point>,
    ) -> &mut JointDescription {
        let place = |body: &str| Placement::at(sum(at, self.centre(body), -1.0));
        let (parent_placement, child_placement) = (place(parent), place(child));
        self.model.joints.push(JointDescription {
            parent_placement,
            child_placement,
            axis,
            ..JointDescription::new(name, kind, parent, child)
        });
        let last = self.model.joints.len() - 1;
        &mut self.model.joints[last]
    }

    fn hinge(&mut self, name: &str, bodies: (&str, &str), at: Point, axis: Point) -> &mut JointDescription {
        self.joint(name, JointType::Revolute, bodies, at, Some(axis))
    }

    fn closing_hinge(&mut self, name: &str, bodies: (&str, &str), at: Point, axis: Point) {
        self.joint(name, JointType::Revolute, bodies, at, Some(axis)).role = Some(JointRole::Loop);
    }

    fn closing_ball(&mut self, name: &str, bodies: (&str, &str), at: Point) {
        self.joint(name, JointType::Spherical, bodies, at, None).role = Some(JointRole::Loop);
    }

    /// Starts a joint at a rate; the others follow.
    fn rate(&mut self, joint: &str, rate: f64) {
        self.rates.push((joint.to_owned(), Coordinates::One(rate)));
    }

    fn done(mut self) -> ModelDescription {
        let state = StateDescription { v: self.rates.into_iter().collect(), ..Default::default() };
        self.model.states.insert(START.into(), state);
        self.model
    }
}

/// Crank 0.3, rod 1.0, a slider along y closed by a hinge: two rows of the loop are redundant.
#[must_use]
pub fn slider_crank() -> ModelDescription {
    let mut linkage = Linkage::new("slider-crank");
    let (s, c) = elementary::sin_cos(0.9f64);
    let pin = [0.0, 0.3 * c, 0.3 * s];
    let end = [0.0, pin[1] + (1.0 - pin[2] * pin[2]).sqrt(), 0.0];
    linkage.rod("crank", [0.0; 3], pin);
    linkage.rod("rod", pin, end);
    linkage.body("slider", end, 0.5, [2e-3, 2e-3, 2e-3, 0.0, 0.0, 0.0]);
    linkage.hinge("crank_pivot", (WORLD, "crank"), [0.0; 3], X);
    linkage.hinge("crank_pin", ("crank", "rod"), pin, X);
    linkage.joint("rail", JointType::Prismatic, (WORLD, "slider"), end, Some([0.0, 1.0, 0.0]));
    linkage.closing_hinge("slider_pin", ("rod", "slider"), end, X);
    linkage.rate("crank_pivot", 4.0);
    linkage.done()
}

/// Two cranks about skew axes, joined by a rod with a ball at each end; the rod can spin.
#[must_use]
pub fn rssr() -> ModelDescription {
    let mut linkage = Linkage::new("rssr");
    let (crank, rocker) = ([0.05, 0.24, 0.3], [0.5, 1.0, 0.6]);
    linkage.rod("crank", [0.05, 0.0, 0.0], crank);
    linkage.rod("rocker", [0.6, 1.0, 0.0], rocker);
    linkage.rod("coupler", crank, rocker);
    linkage.hinge("crank_pivot", (WORLD, "crank"), [0.05, 0.0, 0.0], X);
    linkage.hinge("rocker_pivot", (WORLD, "rocker"), [0.6, 1.0, 0.0], unit([0.3, 1.0, 0.1]));
    linkage.joint("crank_ball", JointType::Spherical, ("crank", "coupler"), crank, None);
    linkage.closing_ball("rocker_ball", ("coupler", "rocker"), rocker);
    linkage.rate("crank_pivot", 3.0);
    linkage.done()
}

/// Bennett's linkage: four hinges in space that move although counting freedoms says they cannot.
///
/// Opposite links are alike, and `sin α / a = sin β / b` for their lengths and twists.
#[must_use]
pub fn bennett() -> ModelDescription {
    let (a, alpha, b) = (0.6f64, 0.7f64, 0.9f64);
    let beta = elementary::asin(b / a * elementary::sin(alpha));
    let first = 1.1f64;
    let second = 2.0
        * elementary::atan(
            elementary::sin(0.5 * (alpha + beta))
                / (elementary::sin(0.5 * (beta - alpha)) * elementary::tan(0.5 * first)),
        );
    // Frames along the loop: about the hinge by θ, along the link by its length, about the link by its twist.
    let mut axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let (mut at, mut hinges) = ([0.0; 3], Vec::new());
    for (theta, length, twist) in
        [(first, a, alpha), (second, b, beta), (TAU - first, a, alpha), (TAU - second, b, beta)]
    {
        hinges.push((at, axes[2]));
        let turned = |u: Point, v: Point, angle: f64| -> (Point, Point) {
            let (s, c) = elementary::sin_cos(angle);
            (std::array::from_fn(|k| c * u[k] + s * v[k]), std::array::from_fn(|k| c * v[k] - s * u[k]))
        };
        let (x, y) = turned(axes[0], axes[1], theta);
        let (y, z) = turned(y, axes[2], twist);
        axes = [x, y, z];
        at = sum(at, x, length);
    }
    let mut linkage = Linkage::new("bennett");
    linkage.rod("first", hinges[0].0, hinges[1].0);
    linkage.rod("second", hinges[1].0, hinges[2].0);
    linkage.rod("third", hinges[2].0, hinges[3].0);
    linkage.hinge("hinge0", (WORLD, "first"), hinges[0].0, hinges[0].1);
    linkage.hinge("hinge1", ("first", "second"), hinges[1].0, hinges[1].1);
    linkage.hinge("hinge3", (WORLD, "third"), hinges[3].0, hinges[3].1);
    linkage.closing_hinge("hinge2", ("second", "third"), hinges[2].0, hinges[2].1);
    linkage.rate("hinge0", 2.0);
    linkage.done()
}

/// A triangle in the y–z plane on three legs of two rods, all hinges parallel: two loops that share a body, both redundant.
#[must_use]
pub fn platform() -> ModelDescription {
    let mut linkage = Linkage::new("platform");
    let corner = |k: usize, radius: f64, turn: f64| {
        let (s, c) = elementary::sin_cos(TAU / 3.0 * k as f64 + turn);
        [0.0, radius * c, radius * s]
    };
    linkage.body("plate", [0.0; 3], 1.0, [0.04, 0.02, 0.02, 0.0, 0.0, 0.0]);
    for k in 0..3 {
        let (base, top) = (corner(k, 1.2, 0.3), corner(k, 0.4, 0.1));
        // The knee stands off the line from base to top.
        let along = sum(top, base, -1.0);
        let knee = sum(sum(base, along, 0.5), [0.0, -along[2], along[1]], 0.45);
        let [lower, upper] = ["lower", "upper"].map(|part| format!("{part}{k}"));
        linkage.rod(&lower, base, knee);
        linkage.rod(&upper, knee, top);
        // Springs carry the weight, so that the plate swings about where it starts.
        linkage.hinge(&format!("base{k}"), (WORLD, &lower), base, X).spring = spring(20.0, 0.0);
        linkage.hinge(&format!("knee{k}"), (&lower, &upper), knee, X);
        if k == 0 {
            linkage.hinge("top0", (&upper, "plate"), top, X);
        } else {
            linkage.closing_hinge(&format!("top{k}"), (&upper, "plate"), top, X);
        }
    }
    linkage.rate("base0", 1.0);
    linkage.done()
}

/// A Stewart platform: six sprung legs, universal joints below, balls above.
#[must_use]
pub fn stewart() -> ModelDescription {
    let mut linkage = Linkage::new("stewart");
    let around = |angle: f64, radius: f64, z: f64| {
        [radius * elementary::cos(angle), radius * elementary::sin(angle), z]
    };
    linkage.body("plate", [0.0, 0.0, 1.0], 4.0, [0.2, 0.25, 0.4, 0.0, 0.0, 0.0]);
    for k in 0..6 {
        // Feet and tops in pairs, the pairs in turn.
        let side = if k % 2 == 0 { -1.0 } else { 1.0 };
        let sector = FRAC_PI_3 * 2.0 * ((k + 1) / 2) as f64;
        let foot = around(FRAC_PI_3 * 2.0 * (k / 2) as f64 + FRAC_PI_3 + 0.2 * side, 1.0, 0.0);
        let top = around(sector - 0.25 * side, 0.5, 1.0);
        let along = unit(sum(top, foot, -1.0));
        let length = dot(sum(top, foot, -1.0), along);
        let [cylinder, piston] = ["cylinder", "piston"].map(|part| format!("{part}{k}"));
        linkage.rod(&cylinder, foot, sum(foot, along, 0.55 * length));
        linkage.rod(&piston, sum(foot, along, 0.45 * length), top);
        let first = unit(cross(along, [0.0, 0.0, 1.0]));
        linkage
            .joint(&format!("foot{k}"), JointType::Universal, (WORLD, &cylinder), foot, Some(first))
            .axis2 = Some(unit(cross(along, first)));
        let slide = linkage.joint(
            &format!("slide{k}"),
            JointType::Prismatic,
            (&cylinder, &piston),
            sum(foot, along, 0.5 * length),
            Some(along),
        );
        // Stiff enough to carry the plate with a few centimetres of play.
        slide.spring = spring(400.0, 0.02);
        if k == 0 {
            linkage.joint("top0", JointType::Spherical, (&piston, "plate"), top, None);
        } else {
            linkage.closing_ball(&format!("top{k}"), (&piston, "plate"), top);
        }
    }
    linkage.rate("slide0", 0.5);
    linkage.done()
}

/// A delta robot: three cranks, three pairs of parallel rods, a plate that cannot turn.
#[must_use]
pub fn delta() -> ModelDescription {
    let mut linkage = Linkage::new("delta");
    linkage.body("plate", [0.02, -0.01, -0.75], 0.5, [1.5e-3, 1.5e-3, 2.5e-3, 0.0, 0.0, 0.0]);
    for k in 0..3 {
        let angle = TAU / 3.0 * k as f64;
        let out = [elementary::cos(angle), elementary::sin(angle), 0.0];
        let across = [-elementary::sin(angle), elementary::cos(angle), 0.0];
        let pivot = out.map(|x| 0.2 * x);
        // The plate's corner fixes how far the crank hangs: the elbow lies where rod and crank meet.
        let corner = sum([0.02, -0.01, -0.75], out, 0.08);
        let elbow = elbow(pivot, out, across, corner, 0.35, 0.75);
        let crank = format!("crank{k}");
        linkage.rod(&crank, pivot, elbow);
        linkage.hinge(&format!("pivot{k}"), (WORLD, &crank), pivot, across).spring = spring(60.0, 0.0);
        for (half, side) in [("a", -0.06), ("b", 0.06)] {
            let rod = format!("rod{k}{half}");
            let (top, tip) = (sum(elbow, across, side), sum(corner, across, side));
            linkage.rod(&rod, top, tip);
            let along = unit(sum(tip, top, -1.0));
            let second = unit(cross(along, across));
            let first = cross(second, along);
            linkage
                .joint(&format!("elbow{k}{half}"), JointType::Universal, (&crank, &rod), top, Some(first))
                .axis2 = Some(second);
            let ball = format!("wrist{k}{half}");
            if (k, half) == (0, "a") {
                linkage.joint(&ball, JointType::Spherical, (&rod, "plate"), tip, None);
            } else {
                linkage.closing_ball(&ball, (&rod, "plate"), tip);
            }
        }
    }
    linkage.rate("pivot0", 1.5);
    linkage.done()
}

/// The point at a distance `crank` from `pivot`, in the plane across `across`, and at a distance `rod` from `corner`: the one
/// farther out.
fn elbow(pivot: Point, out: Point, across: Point, corner: Point, crank: f64, rod: f64) -> Point {
    let away = sum(corner, pivot, -1.0);
    // |out cos + down sin| about the pivot: (away·out) cos + (away·down) sin = k.
    let (x, z, y) = (dot(away, out), away[2], dot(away, across));
    let k = (x * x + y * y + z * z + crank * crank - rod * rod) / (2.0 * crank);
    let (amplitude, phase) = (elementary::hypot(x, z), elementary::atan2(z, x));
    let angle = phase + elementary::acos((k / amplitude).clamp(-1.0, 1.0)).min(PI);
    sum(sum(pivot, out, crank * elementary::cos(angle)), [0.0, 0.0, 1.0], crank * elementary::sin(angle))
}
