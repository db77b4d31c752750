//! The scene: surfaces and half-spaces of a model as a list of contacts, each a tip against one simple thing.

use super::contact::Contact;
use super::surface_description::{HalfSpaceDescription, SurfaceDescription, SurfaceShape};
use super::validate::Checker;
use super::{Body, BodyId, Joint, JointType, ModelDescription, Placement, WORLD};
use crate::contact::{Against, Hull, Round, Tip};
use crate::spatial::{Mat3, Pose, Quat, Vec3};
use std::collections::HashSet;
use std::sync::Arc;

/// Contacts and the names of the two surfaces of each pair.
#[derive(Default)]
pub(super) struct Scene {
    pub(super) contacts: Vec<Contact>,
    pub(super) pairs: Vec<[String; 2]>,
    /// Hulls that contacts name by their numbers.
    pub(super) hulls: Vec<Arc<Hull>>,
}

/// A surface with its body and name.
struct Placed<'a> {
    of: &'a SurfaceDescription,
    body: Option<BodyId>,
    name: String,
    pose: Pose,
    /// The hull of points, or that in a cylinder or ellipsoid: its number, centre and reach. Not of what has no inside.
    hull: Option<(usize, Vec3, f64)>,
}

fn pose_of(placement: &Placement) -> Pose {
    Pose::from_quat(Quat::from_slice(&placement.q).normalized(), Vec3(placement.p))
}

/// Builds the scene. Problems are said through the checker.
pub(super) fn build(
    model: &ModelDescription,
    bodies: &[Body],
    joints: &[Joint],
    checker: &mut Checker<'_>,
) -> Scene {
    let mut scene = Scene::default();
    if model.surfaces.is_empty() {
        return scene;
    }
    check(model, checker);
    if checker.problems.has_errors() {
        return scene;
    }
    let body_of = |name: &str| bodies.iter().position(|b| b.name == name).map(BodyId::new);
    let names = model.surface_names();
    let surfaces: Vec<Placed> = model
        .surfaces
        .iter()
        .zip(names)
        .map(|(of, name)| {
            // A surface alone meets nothing but the ground.
            let hull = (model.surfaces.len() > 1).then(|| scene.hull(&of.shape)).flatten();
            Placed { of, body: body_of(&of.link), name, pose: pose_of(&of.placement), hull }
        })
        .collect();
    let ties = Ties::new(bodies.len(), joints);
    let (wanted_pairs, excluded) = (Pairs::new(&model.contact.pairs), Pairs::new(&model.contact.exclude));
    for surface in &surfaces {
        for (k, ground) in model.half_spaces.iter().enumerate() {
            let a = (surface.name.as_str(), surface.of.link.as_str());
            let name = model.half_space_name(k);
            let b = (name.as_str(), WORLD);
            let wanted = wanted_pairs.have(a, (b.0, b.0));
            let moves = ties.root(surface.body).is_some();
            let meets = surface.of.bits[0] & ground.bits[1] | ground.bits[0] & surface.of.bits[1] != 0;
            if moves && (wanted || (meets && !excluded.have(a, b))) {
                scene.against_ground(surface, ground, &name);
            }
        }
    }
    let mut unserved: Vec<(&'static str, &'static str)> = Vec::new();
    for (i, a) in surfaces.iter().enumerate() {
        for b in &surfaces[i + 1..] {
            let (x, y) = ((a.name.as_str(), a.of.link.as_str()), (b.name.as_str(), b.of.link.as_str()));
            if ties.root(a.body) == ties.root(b.body) {
                continue;
            }
            let wanted = wanted_pairs.have(x, y);
            let meets = a.of.bits[0] & b.of.bits[1] | b.of.bits[0] & a.of.bits[1] != 0;
            let free = !ties.joined(a.body, b.body) && !excluded.have(x, y);
            if (wanted || (meets && free)) && !scene.between(a, b) {
                let kinds = (a.of.shape.name(), b.of.shape.name());
                if !unserved.contains(&kinds) && !unserved.contains(&(kinds.1, kinds.0)) {
                    unserved.push(kinds);
                    checker.problems.warning(
                        a.of.origin,
                        format!("surface `{}`", a.name),
                        format!("a {} does not touch a {}: they pass through each other", kinds.0, kinds.1),
                        "nothing to do if they never meet; else use spheres, capsules, boxes or meshes",
                    );
                }
            }
        }
    }
    scene
}

/// Pairs of surfaces by their names or those of their bodies, in any order.
struct Pairs<'a>(HashSet<[&'a str; 2]>);

impl<'a> Pairs<'a> {
    fn new(list: &'a [[String; 2]]) -> Self {
        Self(list.iter().flat_map(|[p, q]| [[p.as_str(), q.as_str()], [q.as_str(), p.as_str()]]).collect())
    }

    fn have(&self, a: (&str, &str), b: (&str, &str)) -> bool {
        [a.0, a.1].into_iter().any(|a| [b.0, b.1].into_iter().any(|b| self.0.contains(&[a, b])))
    }
}

fn check(model: &ModelDescription, checker: &mut Checker<'_>) {
    let positive = |x: f64| x.is_finite() && x > 0.0;
    for (k, surface) in model.surfaces.iter().enumerate() {
        let element = if surface.name.is_empty() {
            format!("surface {} of `{}`", k + 1, surface.link)
        } else {
            format!("surface `{}`", surface.name)
        };
        if surface.link != WORLD && !checker.bodies.contains_key(surface.link.as_str()) {
            let known = model.bodies.iter().map(|b| b.name.as_str()).chain([WORLD]);
            let remedy =
                checker.problems.did_you_mean(&surface.link, known, || "name a body of the model".into());
            checker.error(
                surface.origin,
                &element,
                format!("body `{}` does not exist", surface.link),
                remedy,
            );
        }
        let sound = match &surface.shape {
            SurfaceShape::Sphere { radius } => positive(*radius),
            SurfaceShape::Capsule { radius, length } | SurfaceShape::Cylinder { radius, length } => {
                positive(*radius) && positive(*length)
            }
            SurfaceShape::Box { size } => size.iter().all(|x| positive(*x)),
            SurfaceShape::Ellipsoid { radii } => radii.iter().all(|x| positive(*x)),
            SurfaceShape::Points { points } => {
                !points.is_empty() && points.iter().flatten().all(|x| x.is_finite())
            }
        };
        if !sound {
            let message = format!("the sizes of this {} are not positive numbers", surface.shape.name());
            checker.error(
                surface.origin,
                &element,
                message,
                "give lengths in metres above zero, and at least one point",
            );
        }
        let q = surface.placement.q;
        let norm: f64 = q.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !(surface.placement.p.iter().all(|x| x.is_finite()) && norm > 0.0 && norm.is_finite()) {
            checker.error(
                surface.origin,
                &element,
                "its placement is not a pose",
                "give finite numbers and a unit quaternion",
            );
        }
        material(checker, surface.origin, &element, surface.friction, surface.restitution);
    }
    for (k, ground) in model.half_spaces.iter().enumerate() {
        let element = format!("half-space `{}`", model.half_space_name(k));
        let norm = Vec3(ground.normal).norm();
        if !(norm > 0.0 && norm.is_finite() && ground.offset.is_finite()) {
            checker.error(
                ground.origin,
                &element,
                "its normal has no direction",
                "give a vector out of the ground and a finite offset",
            );
        }
        material(checker, ground.origin, &element, ground.friction, ground.restitution);
    }
    let settings = &model.contact.settings;
    let numbers = [
        ("closed_gap", settings.closed_gap),
        ("rest_speed", settings.rest_speed),
        ("slide_speed", settings.slide_speed),
        ("recovery_speed", settings.recovery_speed),
        ("located_gap", settings.located_gap),
    ];
    for (name, value) in numbers {
        if value.is_some_and(|x| !(x.is_finite() && x >= 0.0)) {
            checker.error(
                model.contact.origin,
                "contact",
                format!("`{name}` is {}", value.unwrap_or(0.0)),
                "give a number that is not negative",
            );
        }
    }
    let mut known: Vec<String> = model.surface_names();
    known.extend((0..model.half_spaces.len()).map(|k| model.half_space_name(k)));
    known.extend(model.bodies.iter().map(|b| b.name.clone()));
    known.push(WORLD.into());
    for name in model.contact.pairs.iter().chain(&model.contact.exclude).flatten() {
        if !known.contains(name) {
            let remedy = checker
                .problems
                .did_you_mean(name, known.iter().map(String::as_str), || "name a surface or a body".into());
            checker.error(
                model.contact.origin,
                "contact",
                format!("`{name}` is neither a surface nor a body"),
                remedy,
            );
        }
    }
}

fn material(
    checker: &mut Checker<'_>,
    origin: Option<super::Origin>,
    element: &str,
    friction: f64,
    restitution: f64,
) {
    if !(friction.is_finite() && friction >= 0.0) {
        let message = format!("friction {friction} is not possible");
        checker.error(origin, element, message, "give a coefficient of 0 or more");
    }
    if !(0.0..=1.0).contains(&restitution) {
        let message = format!("restitution {restitution} is not possible");
        checker.error(origin, element, message, "give a coefficient from 0 to 1: a bounce gives no energy");
    }
}

/// Which bodies move as one, and which are joined.
struct Ties {
    /// First body of the rigid group; none is the world.
    root: Vec<Option<usize>>,
    joined: Vec<[Option<usize>; 2]>,
}

impl Ties {
    fn new(count: usize, joints: &[Joint]) -> Self {
        let mut root: Vec<Option<usize>> = (0..count).map(Some).collect();
        // Bodies come parents first.
        for joint in joints.iter().filter(|j| j.role == super::JointRole::Tree && j.kind == JointType::Fixed)
        {
            root[joint.child.index()] = joint.parent.and_then(|p| root[p.index()]);
        }
        let ends = |j: &Joint| [j.parent.and_then(|p| root[p.index()]), root[j.child.index()]];
        let joined = joints.iter().filter(|j| j.kind != JointType::Fixed).map(ends).collect();
        Self { root, joined }
    }

    fn root(&self, body: Option<BodyId>) -> Option<usize> {
        body.and_then(|b| self.root[b.index()])
    }

    /// True if a joint joins the two, and neither is the world.
    fn joined(&self, a: Option<BodyId>, b: Option<BodyId>) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        a.is_some() && b.is_some() && self.joined.iter().any(|j| *j == [a, b] || *j == [b, a])
    }
}

/// Points and spheres that stand for a shape against flat things.
fn tips(shape: &SurfaceShape) -> Vec<(Vec3, Tip)> {
    let corner = Tip::Sphere { radius: 0.0 };
    match shape {
        SurfaceShape::Sphere { radius } => vec![(Vec3::zero(), Tip::Sphere { radius: *radius })],
        SurfaceShape::Capsule { radius, length } => {
            let end = |s: f64| (Vec3([0.0, 0.0, 0.5 * s * length]), Tip::Sphere { radius: *radius });
            vec![end(-1.0), end(1.0)]
        }
        SurfaceShape::Box { size } => {
            let at =
                |k: usize, bit: usize| if k >> bit & 1 == 1 { 0.5 * size[bit] } else { -0.5 * size[bit] };
            (0..8).map(|k| (Vec3([at(k, 0), at(k, 1), at(k, 2)]), corner)).collect()
        }
        SurfaceShape::Cylinder { radius, length } => {
            // The lowest point of each rim, and four corners of each for when it stands on its face.
            let mut out = Vec::new();
            for s in [-0.5, 0.5] {
                let center = Vec3([0.0, 0.0, s * length]);
                out.push((center, Tip::Rim { axis: Vec3([0.0, 0.0, 1.0]), radius: *radius }));
                for [x, y] in [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]] {
                    out.push((center + Vec3([x * radius, y * radius, 0.0]), corner));
                }
            }
            out
        }
        SurfaceShape::Ellipsoid { radii } => {
            let mut axes = Mat3::zero();
            (0..3).for_each(|k| axes.0[k][k] = radii[k]);
            vec![(Vec3::zero(), Tip::Ellipsoid { axes })]
        }
        SurfaceShape::Points { points } => points.iter().map(|p| (Vec3(*p), corner)).collect(),
    }
}

/// What a shape is to the tips of another; to a ball a cylinder is one thing.
fn target(surface: &Placed<'_>, to_ball: bool) -> Option<Against> {
    let pose = surface.pose;
    match &surface.of.shape {
        SurfaceShape::Sphere { radius } => Some(Against::Sphere { center: pose.pos, radius: *radius }),
        SurfaceShape::Capsule { radius, length } => {
            let end = |s: f64| pose.point(Vec3([0.0, 0.0, 0.5 * s * length]));
            Some(Against::Capsule { segment: [end(-1.0), end(1.0)], radius: *radius })
        }
        SurfaceShape::Box { size } => Some(Against::Box { pose, half: Vec3(*size) * 0.5, entered: None }),
        SurfaceShape::Cylinder { radius, length } if to_ball => {
            let half = pose.rot * Vec3([0.0, 0.0, 0.5 * length]);
            Some(Against::Cylinder { center: pose.pos, half, radius: *radius })
        }
        SurfaceShape::Points { .. } | SurfaceShape::Cylinder { .. } | SurfaceShape::Ellipsoid { .. } => {
            surface.hull.map(|(number, center, reach)| Against::Hull {
                number,
                pose: Pose::new(pose.rot, pose.point(center)),
                reach,
            })
        }
    }
}

/// What a shape is as the one that touches, if it can be that of another body.
fn tip(surface: &Placed<'_>) -> Option<(Vec3, Tip)> {
    let centered = |tip: Tip| Some((Vec3::zero(), tip));
    match &surface.of.shape {
        SurfaceShape::Sphere { radius } => centered(Tip::Sphere { radius: *radius }),
        SurfaceShape::Capsule { radius, length } => {
            centered(Tip::Capsule { half: Vec3([0.0, 0.0, 0.5 * length]), radius: *radius })
        }
        SurfaceShape::Box { size } => centered(Tip::Box { axes: Mat3::identity(), half: Vec3(*size) * 0.5 }),
        SurfaceShape::Points { .. } | SurfaceShape::Cylinder { .. } | SurfaceShape::Ellipsoid { .. } => {
            surface
                .hull
                .map(|(number, center, reach)| (center, Tip::Hull { number, axes: Mat3::identity(), reach }))
        }
    }
}

impl Scene {
    /// The hull of a shape that has one; equal ones are shared.
    fn hull(&mut self, shape: &SurfaceShape) -> Option<(usize, Vec3, f64)> {
        let (hull, center) = match shape {
            SurfaceShape::Points { points } => {
                let points: Vec<Vec3> = points.iter().map(|p| Vec3(*p)).collect();
                Hull::new(&points)?
            }
            SurfaceShape::Cylinder { radius, length } => {
                Hull::of_round(Round::Cylinder { radius: *radius, half: 0.5 * length })?
            }
            SurfaceShape::Ellipsoid { radii } => Hull::of_round(Round::Ellipsoid { radii: Vec3(*radii) })?,
            SurfaceShape::Sphere { .. } | SurfaceShape::Capsule { .. } | SurfaceShape::Box { .. } => {
                return None;
            }
        };
        let reach = hull.reach;
        let number = self.hulls.iter().position(|h| **h == hull).unwrap_or_else(|| {
            self.hulls.push(Arc::new(hull));
            self.hulls.len() - 1
        });
        Some((number, center, reach))
    }

    fn against_ground(&mut self, surface: &Placed<'_>, ground: &HalfSpaceDescription, name: &str) {
        let length = Vec3(ground.normal).norm();
        let normal = Vec3(ground.normal) * (1.0 / length);
        let against = Against::HalfSpace { normal, offset: ground.offset };
        let of = (surface.of.friction, surface.of.restitution, surface.of.priority);
        let material = combined(of, (ground.friction, ground.restitution, ground.priority));
        self.pairs.push([surface.name.clone(), name.to_owned()]);
        self.push(surface, None, against, material);
    }

    /// The contact of two surfaces; false if their shapes do not meet.
    fn between(&mut self, a: &Placed<'_>, b: &Placed<'_>) -> bool {
        // A sphere is a tip of its own; other shapes touch by what their pose makes of them.
        let is_sphere = |x: &Placed<'_>| matches!(x.of.shape, SurfaceShape::Sphere { .. });
        let (from, to) = if is_sphere(b) { (b, a) } else { (a, b) };
        let (Some(tip), Some(against)) = (tip(from), target(to, is_sphere(from))) else { return false };
        let of = |x: &Placed<'_>| (x.of.friction, x.of.restitution, x.of.priority);
        let material = combined(of(a), of(b));
        self.pairs.push([a.name.clone(), b.name.clone()]);
        self.push_tip(from, tip, to.body, against, material);
        true
    }

    fn push(
        &mut self,
        surface: &Placed<'_>,
        other: Option<BodyId>,
        against: Against,
        (friction, restitution): (f64, f64),
    ) {
        for tip in tips(&surface.of.shape) {
            self.push_tip(surface, tip, other, against, (friction, restitution));
        }
    }

    fn push_tip(
        &mut self,
        surface: &Placed<'_>,
        (center, tip): (Vec3, Tip),
        other: Option<BodyId>,
        against: Against,
        (friction, restitution): (f64, f64),
    ) {
        self.contacts.push(Contact {
            body: surface.body,
            center: surface.pose.point(center),
            tip: tip.turned(&surface.pose.rot),
            other,
            against,
            friction,
            restitution,
            pair: self.pairs.len() - 1,
        });
    }
}

/// Friction and restitution of two materials: the larger, or those of the higher priority.
fn combined(a: (f64, f64, i64), b: (f64, f64, i64)) -> (f64, f64) {
    let friction = match a.2.cmp(&b.2) {
        std::cmp::Ordering::Greater => a.0,
        std::cmp::Ordering::Less => b.0,
        std::cmp::Ordering::Equal => a.0.max(b.0),
    };
    (friction, a.1.max(b.1))
}
