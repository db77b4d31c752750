//! Poses that are relative to each other become placements of joints.

use std::collections::HashMap;

use super::read::{Item, Kind, Raw};
use crate::findings::nearest;
use crate::frames::{compose, conjugate, inverse, rotate};
use crate::mechanism::{
    BodyDescription, CouplingDescription, FrameDescription, JointDescription, JointType, ModelDescription,
    Placement, Problems, WORLD,
};

/// Frames that lead to each other: more is a ring.
const LONGEST: usize = 1000;

struct Resolver<'a> {
    items: &'a [Item],
    by_name: HashMap<&'a str, usize>,
    /// In the world; `None` until known.
    poses: Vec<Option<Placement>>,
}

/// The description, or `None` if it makes no sense.
pub(super) fn assemble(raw: Raw, problems: &mut Problems) -> Option<ModelDescription> {
    let by_name = raw.items.iter().enumerate().map(|(i, item)| (item.name.as_str(), i)).collect();
    let mut resolver = Resolver { items: &raw.items, by_name, poses: vec![None; raw.items.len()] };
    let mut model = ModelDescription::new(raw.name.clone());
    if let Some(gravity) = raw.gravity {
        model.gravity = gravity;
    } else {
        // As SDF has it where no world says otherwise.
        model.gravity = [0.0, 0.0, -9.8];
    }
    let mut held: Vec<String> = Vec::new();
    let mut massless: Vec<BodyDescription> = Vec::new();
    for (i, item) in raw.items.iter().enumerate() {
        match &item.kind {
            Kind::Link(body) => model.bodies.push((**body).clone()),
            Kind::Frame => {
                let (Some(pose), Some(body)) = (resolver.pose(i, problems, 0), resolver.body(i, problems, 0))
                else {
                    continue;
                };
                let Some(of_body) = resolver.of_body(&body, problems) else { continue };
                let placement = compose(&inverse(&of_body), &pose);
                model.frames.push(FrameDescription { name: item.name.clone(), body, placement });
            }
            Kind::Model | Kind::Joint(_) => {}
        }
    }
    for (i, item) in raw.items.iter().enumerate() {
        let Kind::Joint(given) = &item.kind else { continue };
        let mut joint = given.joint.clone();
        let Some(at) = resolver.pose(i, problems, 0) else { continue };
        let mut ends = [joint.parent.clone(), joint.child.clone()].map(|name| {
            let end = resolver.lookup(&name, item, problems)?;
            let body = match end {
                End::World => WORLD.to_owned(),
                End::Item(end) => resolver.body(end, problems, 0)?,
            };
            let pose =
                if body == WORLD { Placement::default() } else { resolver.of_body(&body, problems)? };
            Some((body, compose(&inverse(&pose), &at)))
        });
        let [Some(parent), Some(child)] = [ends[0].take(), ends[1].take()] else { continue };
        (joint.parent, joint.parent_placement) = parent;
        (joint.child, joint.child_placement) = child;
        if joint.child == WORLD {
            std::mem::swap(&mut joint.parent, &mut joint.child);
            std::mem::swap(&mut joint.parent_placement, &mut joint.child_placement);
        }
        let mut axes = Vec::new();
        for (direction, frame) in &given.axes {
            let turned = match frame {
                None => Some(*direction),
                Some(name) => resolver.lookup(name, item, problems).and_then(|end| {
                    let frame = match end {
                        End::World => Placement::default(),
                        End::Item(end) => resolver.pose(end, problems, 0)?,
                    };
                    Some(rotate(conjugate(at.q), rotate(frame.q, *direction)))
                }),
            };
            axes.extend(turned);
        }
        joint.axis = axes.first().copied();
        joint.axis2 = axes.get(1).copied();
        if let Some(mimic) = &mut joint.mimic {
            mimic.joint = format!("{}{}", item.scope, mimic.joint);
        }
        held.push(joint.child.clone());
        match given.screw {
            None => model.joints.push(joint),
            Some(pitch) => screw(joint, pitch, &mut model, &mut massless),
        }
    }
    model.bodies.extend(massless);
    roots(&raw, &held, &mut resolver, &mut model, problems);
    if model.bodies.is_empty() {
        let at = raw.items.first().and_then(|item| item.at);
        problems.error(at, "model", "it has no `<link>`", "add links: `<link name=\"…\">`");
        return None;
    }
    Some(model)
}

/// A screw is a hinge and a slide through a body without mass, the slide coupled to the hinge.
fn screw(
    joint: JointDescription,
    pitch: f64,
    model: &mut ModelDescription,
    massless: &mut Vec<BodyDescription>,
) {
    let between = format!("{}/nut", joint.name);
    massless.push(BodyDescription {
        name: between.clone(),
        origin: joint.origin,
        ..BodyDescription::default()
    });
    let mut slide = JointDescription::new(
        format!("{}/slide", joint.name),
        JointType::Prismatic,
        between.clone(),
        joint.child.clone(),
    );
    (slide.child_placement, slide.axis, slide.origin) = (joint.child_placement, joint.axis, joint.origin);
    let polynomial = vec![0.0, pitch];
    model.couplings.push(CouplingDescription {
        name: format!("{}/thread", joint.name),
        joint: slide.name.clone(),
        of: Some(joint.name.clone()),
        polynomial,
        origin: joint.origin,
        ..CouplingDescription::default()
    });
    model.joints.push(JointDescription { child: between, child_placement: Placement::default(), ..joint });
    model.joints.push(slide);
}

/// Links that no joint holds: fixed to the world in models that stand still, else free.
fn roots(
    raw: &Raw,
    held: &[String],
    resolver: &mut Resolver<'_>,
    model: &mut ModelDescription,
    problems: &mut Problems,
) {
    for (i, item) in raw.items.iter().enumerate() {
        let Kind::Link(_) = &item.kind else { continue };
        let still = raw.still.iter().any(|scope| item.name.starts_with(scope.as_str()));
        if held.contains(&item.name) {
            continue;
        }
        let Some(pose) = resolver.pose(i, problems, 0) else { continue };
        let kind = if still { JointType::Fixed } else { JointType::Floating };
        let name = format!("{}/{}", item.name, if still { "fixed" } else { "free" });
        let mut joint = JointDescription::new(name, kind, WORLD, item.name.clone());
        joint.parent_placement = pose;
        joint.origin = item.at;
        model.joints.push(joint);
    }
}

enum End {
    World,
    Item(usize),
}

impl Resolver<'_> {
    /// What a name in an item's scope stands for; an error if nothing.
    fn lookup(&self, name: &str, from: &Item, problems: &mut Problems) -> Option<End> {
        if name == WORLD {
            return Some(End::World);
        }
        let full = format!("{}{name}", from.scope);
        let model = format!("{full}::__model__");
        if let Some(i) = [full.as_str(), model.as_str()].iter().find_map(|name| self.by_name.get(name)) {
            return Some(End::Item(*i));
        }
        let known = self.items.iter().filter_map(|item| item.name.strip_prefix(from.scope.as_str()));
        let remedy = match nearest(name, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "name a link, joint, frame or model of this model".into(),
        };
        problems.error(
            from.at,
            format!("`{}`", from.name),
            format!("there is no link or frame `{name}`"),
            remedy,
        );
        None
    }

    /// Pose in the world of what the file describes.
    fn pose(&mut self, i: usize, problems: &mut Problems, depth: usize) -> Option<Placement> {
        if let Some(pose) = self.poses[i] {
            return Some(pose);
        }
        let item = &self.items[i];
        if depth > LONGEST {
            let remedy = "leave out one `relative_to` of the ring";
            problems.error(
                item.at,
                format!("`{}`", item.name),
                "its pose is relative to itself, by way of others",
                remedy,
            );
            return None;
        }
        let base = match (&item.relative_to, &item.kind) {
            (Some(name), _) => self.lookup(name, item, problems)?,
            (None, Kind::Joint(joint)) => self.lookup(&joint.joint.child, item, problems)?,
            (None, Kind::Frame) if item.attached_to.is_some() => {
                self.lookup(item.attached_to.as_deref().unwrap_or(WORLD), item, problems)?
            }
            (None, Kind::Model) if item.scope.is_empty() => {
                match self.by_name.get("__model__").filter(|own| **own != i) {
                    Some(outer) => End::Item(*outer),
                    None => End::World,
                }
            }
            (None, _) => self
                .by_name
                .get(format!("{}__model__", item.scope).as_str())
                .map_or(End::World, |own| End::Item(*own)),
        };
        let base = match base {
            End::World => Placement::default(),
            End::Item(base) => self.pose(base, problems, depth + 1)?,
        };
        let pose = compose(&base, &self.items[i].pose);
        self.poses[i] = Some(pose);
        Some(pose)
    }

    /// The link that something belongs to.
    fn body(&self, i: usize, problems: &mut Problems, depth: usize) -> Option<String> {
        let item = &self.items[i];
        if depth > LONGEST {
            problems.error(
                item.at,
                format!("`{}`", item.name),
                "it is attached to itself, by way of others",
                "attach one of them to a link",
            );
            return None;
        }
        match &item.kind {
            Kind::Link(_) => Some(item.name.clone()),
            Kind::Joint(joint) => match self.lookup(&joint.joint.child, item, problems)? {
                End::World => Some(WORLD.to_owned()),
                End::Item(child) => self.body(child, problems, depth + 1),
            },
            Kind::Model => {
                let link = item.attached_to.as_ref().and_then(|name| self.by_name.get(name.as_str()));
                match link {
                    Some(link) => self.body(*link, problems, depth + 1),
                    None => {
                        problems.error(
                            item.at,
                            format!("`{}`", item.name),
                            "the model has no link",
                            "name a link of it",
                        );
                        None
                    }
                }
            }
            Kind::Frame => match &item.attached_to {
                Some(name) => match self.lookup(name, item, problems)? {
                    End::World => Some(WORLD.to_owned()),
                    End::Item(to) => self.body(to, problems, depth + 1),
                },
                None => {
                    let own = self.by_name.get(format!("{}__model__", item.scope).as_str())?;
                    self.body(*own, problems, depth + 1)
                }
            },
        }
    }

    /// Pose of a link by its full name.
    fn of_body(&mut self, name: &str, problems: &mut Problems) -> Option<Placement> {
        if name == WORLD {
            return Some(Placement::default());
        }
        let i = *self.by_name.get(name)?;
        self.pose(i, problems, 0)
    }
}
