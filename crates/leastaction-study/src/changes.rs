//! Single changes of a model by key: `bodies.pole.mass`, `joints.*.friction`, `gravity.z`. What `--set` and sweeps change.

use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, ModelDescription, PerCoordinate, nearest,
};

use crate::failure::{Failure, suggestion};
use crate::field::Assignment;

const AXES: [&str; 3] = ["x", "y", "z"];
const TENSOR: [&str; 6] = ["xx", "yy", "zz", "xy", "xz", "yz"];
/// What of a body can be changed.
const OF_BODIES: &[&str] = &["mass", "com", "inertia", "drag"];
/// What of a joint can be changed.
const OF_JOINTS: &[&str] = &[
    "damping",
    "stiffness",
    "rest",
    "friction",
    "armature",
    "lower",
    "upper",
    "effort",
    "velocity",
    "restitution",
];

/// One number or one vector of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The key with every name written out.
    pub key: String,
    of: Element,
    property: &'static str,
    /// Which number of a vector or of a joint with several coordinates.
    part: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    Gravity,
    Body(usize),
    Joint(usize),
}

/// Whether a key is about the model, and not about the start or the inputs.
#[must_use]
pub fn is_of_model(key: &str) -> bool {
    ["bodies.", "joints.", "gravity"].iter().any(|start| key.starts_with(start))
}

/// What a key means in a model; `*` in a name stands for any letters, and then there may be several.
///
/// # Errors
/// If nothing is meant by it.
pub fn targets(description: &ModelDescription, key: &str) -> Result<Vec<Target>, Failure> {
    if key == "gravity" || key.starts_with("gravity.") {
        let part = part_of(key, "gravity", &AXES)?;
        return Ok(vec![Target { key: key.into(), of: Element::Gravity, property: "gravity", part }]);
    }
    if let Some(rest) = key.strip_prefix("bodies.") {
        let (name, property, part) = split(key, rest, OF_BODIES)?;
        let parts: &[&str] = match property {
            "com" => &AXES,
            "inertia" => &TENSOR,
            _ => &[],
        };
        let part = part.map(|part| index_of(key, part, parts)).transpose()?;
        let names = description.bodies.iter().map(|body| body.name.as_str());
        let tail = &rest[name.len()..];
        return Ok(matching("body", name, names, &description.name)?
            .map(|(i, name)| Target {
                key: format!("bodies.{name}{tail}"),
                of: Element::Body(i),
                property,
                part,
            })
            .collect());
    }
    if let Some(rest) = key.strip_prefix("joints.") {
        let (name, property, part) = split(key, rest, OF_JOINTS)?;
        let names = description.joints.iter().map(|joint| joint.name.as_str());
        let tail = &rest[name.len()..];
        let many = name.contains('*');
        let mut found = Vec::new();
        for (i, name) in matching("joint", name, names, &description.name)? {
            let kind = description.joints[i].kind;
            // A pattern means joints that move.
            if many && kind == JointType::Fixed {
                continue;
            }
            let part = part.map(|part| index_of(key, part, kind.velocity_parts())).transpose()?;
            found.push(Target { key: format!("joints.{name}{tail}"), of: Element::Joint(i), property, part });
        }
        return Ok(found);
    }
    Err(Failure::new(format!("`{key}` is nothing of a model"))
        .help("give `bodies.NAME.PROPERTY`, `joints.NAME.PROPERTY` or `gravity.AXIS`"))
}

/// Name, property and part of `NAME.PROPERTY[.PART]`; names may have dots.
fn split<'k>(
    key: &str,
    rest: &'k str,
    known: &[&'static str],
) -> Result<(&'k str, &'static str, Option<&'k str>), Failure> {
    let property = |word: &str| known.iter().copied().find(|known| *known == word);
    let cut = rest.rsplit_once('.');
    if let Some((name, last)) = cut {
        if let Some(property) = property(last) {
            return Ok((name, property, None));
        }
        if let Some((name, property)) =
            name.rsplit_once('.').and_then(|(name, word)| Some((name, property(word)?)))
        {
            return Ok((name, property, Some(last)));
        }
    }
    let last = cut.map_or(rest, |(_, last)| last);
    Err(Failure::new(format!("`{key}` ends in no property that can be changed"))
        .help(suggestion(last, known).unwrap_or_default()))
}

fn part_of(key: &str, stem: &str, parts: &[&str]) -> Result<Option<usize>, Failure> {
    key[stem.len()..].strip_prefix('.').map(|part| index_of(key, part, parts)).transpose()
}

fn index_of(key: &str, part: &str, parts: &[&str]) -> Result<usize, Failure> {
    parts.iter().position(|known| *known == part).ok_or_else(|| {
        let failure = Failure::new(format!("`{key}` has no part `{part}`"));
        if parts.is_empty() {
            failure.help("it is one number: leave the part out")
        } else {
            failure.suggest(part, parts)
        }
    })
}

/// The elements that a name or a pattern means.
fn matching<'d>(
    what: &str,
    pattern: &str,
    names: impl Iterator<Item = &'d str> + Clone,
    model: &str,
) -> Result<impl Iterator<Item = (usize, &'d str)>, Failure> {
    let found: Vec<(usize, &str)> =
        names.clone().enumerate().filter(|(_, name)| fits(pattern, name)).collect();
    if found.is_empty() {
        let known: Vec<&str> = names.collect();
        return Err(
            Failure::new(format!("there is no {what} `{pattern}` in `{model}`")).suggest(pattern, &known)
        );
    }
    Ok(found.into_iter())
}

/// Whether a name is meant by a pattern, in which `*` stands for any letters.
#[must_use]
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(head) else { return false };
    (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| fits(tail, &rest[at..]))
}

impl Target {
    /// How many numbers it takes.
    fn width(&self, description: &ModelDescription) -> usize {
        match (self.part, self.property, self.of) {
            (Some(_), ..) => 1,
            (None, "gravity" | "com", _) => 3,
            (None, "inertia", _) => 6,
            (None, property, Element::Joint(i)) if is_per_coordinate(property) => {
                description.joints[i].kind.nv().max(1)
            }
            _ => 1,
        }
    }

    /// Whether one number says all of it.
    #[must_use]
    pub fn is_one_number(&self) -> bool {
        self.part.is_some() || !matches!(self.property, "gravity" | "com" | "inertia")
    }

    /// What it is in the model; none where the model does not say.
    #[must_use]
    pub fn value(&self, description: &ModelDescription) -> Option<f64> {
        let part = self.part.unwrap_or(0);
        match self.of {
            Element::Gravity => self.part.map(|part| description.gravity[part]),
            Element::Body(i) => {
                let body = &description.bodies[i];
                match self.property {
                    "mass" => Some(body.mass),
                    "drag" => Some(body.drag),
                    "com" => self.part.map(|part| body.com[part]),
                    _ => self.part.map(|part| body.inertia[part]),
                }
            }
            Element::Joint(i) => {
                let joint = &description.joints[i];
                let limits = joint.limits.as_ref();
                let of = |values: &PerCoordinate| values.at(part);
                match self.property {
                    "damping" => Some(of(&joint.damping)),
                    "friction" => Some(of(&joint.friction)),
                    "armature" => Some(of(&joint.armature)),
                    "stiffness" => joint.spring.as_ref().map(|spring| of(&spring.stiffness)),
                    "rest" => joint.spring.as_ref().map(|spring| of(&spring.rest)),
                    "lower" => limits.and_then(|limits| limits.lower.as_ref()).map(of),
                    "upper" => limits.and_then(|limits| limits.upper.as_ref()).map(of),
                    "effort" => limits.and_then(|limits| limits.effort),
                    "velocity" => limits.and_then(|limits| limits.velocity),
                    _ => limits.and_then(|limits| limits.restitution),
                }
            }
        }
    }

    fn set(&self, description: &mut ModelDescription, values: &[f64]) {
        match self.of {
            Element::Gravity => put(&mut description.gravity, self.part, values),
            Element::Body(i) => {
                let body: &mut BodyDescription = &mut description.bodies[i];
                match self.property {
                    "mass" => body.mass = values[0],
                    "drag" => body.drag = values[0],
                    "com" => put(&mut body.com, self.part, values),
                    _ => put(&mut body.inertia, self.part, values),
                }
            }
            Element::Joint(i) => self.set_joint(&mut description.joints[i], values),
        }
    }

    fn set_joint(&self, joint: &mut JointDescription, values: &[f64]) {
        let nv = joint.kind.nv();
        let change = |old: &PerCoordinate| match (self.part, values) {
            (Some(part), _) => {
                let mut each: Vec<f64> = (0..nv).map(|i| old.at(i)).collect();
                each[part] = values[0];
                PerCoordinate::Each(each)
            }
            (None, [one]) => PerCoordinate::One(*one),
            (None, each) => PerCoordinate::Each(each.to_vec()),
        };
        match self.property {
            "damping" => joint.damping = change(&joint.damping),
            "friction" => joint.friction = change(&joint.friction),
            "armature" => joint.armature = change(&joint.armature),
            "stiffness" | "rest" => {
                let none = || leastaction::mechanism::SpringDescription {
                    stiffness: PerCoordinate::default(),
                    rest: PerCoordinate::default(),
                };
                let spring = joint.spring.get_or_insert_with(none);
                let place = if self.property == "rest" { &mut spring.rest } else { &mut spring.stiffness };
                *place = change(place);
            }
            property => {
                let limits = joint.limits.get_or_insert_default();
                match property {
                    "lower" | "upper" => {
                        let place = if property == "lower" { &mut limits.lower } else { &mut limits.upper };
                        *place = Some(change(&place.clone().unwrap_or_default()));
                    }
                    "effort" => (limits.effort, limits.effort_range) = (Some(values[0]), None),
                    "velocity" => limits.velocity = Some(values[0]),
                    _ => limits.restitution = Some(values[0]),
                }
            }
        }
    }
}

fn is_per_coordinate(property: &str) -> bool {
    matches!(property, "damping" | "stiffness" | "rest" | "friction" | "armature" | "lower" | "upper")
}

fn put<const N: usize>(place: &mut [f64; N], part: Option<usize>, values: &[f64]) {
    match part {
        Some(part) => place[part] = values[0],
        None => place.copy_from_slice(&values[..N]),
    }
}

/// Makes the changes. A body whose mass changes keeps its shape: its inertia grows along, unless it is set itself or `keep` says
/// that inertias stay.
///
/// # Errors
/// If a key means nothing in the model, or has the wrong number of values.
pub fn apply(description: &mut ModelDescription, changes: &[Assignment], keep: bool) -> Result<(), Failure> {
    let mut all = Vec::new();
    for Assignment { name: key, values } in changes {
        for target in targets(description, key)? {
            let width = target.width(description);
            // One number stands for all coordinates of a joint.
            let of_joint = matches!(target.of, Element::Joint(_));
            if values.len() != width && !(of_joint && values.len() == 1) {
                return Err(Failure::new(format!(
                    "`{}` has {} numbers, it takes {width}",
                    target.key,
                    values.len()
                )));
            }
            all.push((target, values));
        }
    }
    let told: Vec<Element> = all.iter().filter(|(t, _)| t.property == "inertia").map(|(t, _)| t.of).collect();
    for (target, values) in all {
        if let (Element::Body(i), "mass") = (target.of, target.property) {
            let body = &mut description.bodies[i];
            if body.mass > 0.0 && !keep && !told.contains(&target.of) {
                let factor = values[0] / body.mass;
                body.inertia.iter_mut().for_each(|x| *x *= factor);
            }
        }
        target.set(description, values);
    }
    Ok(())
}

/// The key nearest to one that is not known, among those of a model.
#[must_use]
pub fn nearest_start(key: &str) -> Option<&'static str> {
    let word = key.split('.').next().unwrap_or(key);
    nearest(word, ["initial", "inputs", "bodies", "joints", "gravity", "kp", "kd"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastaction::mechanism::samples;

    fn set(key: &str, values: &[f64]) -> Vec<Assignment> {
        vec![Assignment { name: key.into(), values: values.to_vec() }]
    }

    #[test]
    fn a_heavier_body_keeps_its_shape_unless_told_otherwise() {
        let before = samples::chain(2);
        let changed = |changes: &[Assignment], keep| {
            let mut description = before.clone();
            apply(&mut description, changes, keep).map(|()| description).map_err(|failure| failure.message)
        };
        let heavy = changed(&set("bodies.link0.mass", &[2.0 * before.bodies[0].mass]), false).unwrap();
        assert_eq!(heavy.bodies[0].inertia, before.bodies[0].inertia.map(|x| 2.0 * x));
        assert_eq!(heavy.bodies[1], before.bodies[1]);
        let kept = changed(&set("bodies.link0.mass", &[3.0]), true).unwrap();
        assert_eq!(kept.bodies[0].inertia, before.bodies[0].inertia);
        let both =
            [set("bodies.*.mass", &[3.0]), set("bodies.link1.inertia", &[1.0, 2.0, 3.0, 0.0, 0.0, 0.0])]
                .concat();
        let both = changed(&both, false).unwrap();
        assert_eq!(both.bodies[1].inertia, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]);
        assert_eq!((both.bodies[0].mass, both.bodies[1].mass), (3.0, 3.0));
        assert_eq!(
            changed(&set("bodies.link0.com", &[1.0]), false).unwrap_err(),
            "`bodies.link0.com` has 1 numbers, it takes 3"
        );
    }

    #[test]
    fn every_property_is_read_back_as_it_was_set() {
        let mut description = samples::chain(2);
        let name = description.joints[0].name.clone();
        for property in OF_JOINTS {
            let key = format!("joints.{name}.{property}");
            apply(&mut description, &set(&key, &[0.25]), false).unwrap();
            let target = &targets(&description, &key).unwrap()[0];
            assert_eq!(target.value(&description), Some(0.25), "{key}");
        }
        for key in [
            "bodies.link1.mass",
            "bodies.link1.drag",
            "bodies.link1.com.y",
            "bodies.link1.inertia.xz",
            "gravity.x",
        ] {
            apply(&mut description, &set(key, &[0.5]), false).unwrap();
            assert_eq!(targets(&description, key).unwrap()[0].value(&description), Some(0.5), "{key}");
        }
    }

    #[test]
    fn patterns_and_names_with_dots() {
        assert!(
            fits("*", "")
                && fits("leg_*", "leg_1")
                && fits("*_l_*", "a_l_b")
                && !fits("leg_*", "arm")
                && fits("a", "a")
        );
        let mut description = samples::chain(2);
        description.bodies[1].name = "a.mass".into();
        let found = targets(&description, "bodies.a.mass.com.x").unwrap();
        assert_eq!(found[0].key, "bodies.a.mass.com.x");
        let failure = targets(&description, "bodies.link0.mas").unwrap_err();
        assert_eq!(failure.help.as_deref(), Some("did you mean `mass`?"));
        assert!(targets(&description, "joints.nobody.damping").is_err());
    }
}
