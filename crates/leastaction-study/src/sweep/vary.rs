//! Parameters that vary: what a key means in a model, and what a draw changes.

use leastaction::mechanism::{JointType, Mechanism, ModelDescription, State};

use super::draw::Law;
use super::file::Spread;
use crate::changes::{self, Target, fits};
use crate::failure::{Failure, names};
use crate::field::Assignment;
use crate::model::moving_joints;
use crate::settings::Settings;

/// One number that varies.
#[derive(Clone, Debug)]
pub(super) struct Varied {
    /// The key with its names written out; the column, and what draws depend on.
    pub(super) key: String,
    pub(super) law: Law,
    place: Place,
    /// What a relative draw is multiplied with.
    nominal: f64,
}

#[derive(Clone, Debug)]
enum Place {
    /// Which of the joint's numbers.
    Position(String, usize),
    Velocity(String, usize),
    Input(String),
    Stiffness(String),
    Damping(String),
    Model,
}

impl Varied {
    /// Whether it makes another mechanism.
    pub(super) fn changes_the_model(&self) -> bool {
        matches!(self.place, Place::Model | Place::Stiffness(_) | Place::Damping(_))
    }

    /// The value of a draw.
    pub(super) fn value(&self, drawn: f64) -> f64 {
        drawn * self.nominal
    }

    /// Says it in the settings of a run, which starts from `base` otherwise.
    pub(super) fn say(&self, value: f64, settings: &mut Settings, mechanism: &Mechanism, base: &State) {
        let one = |name: &String| Assignment { name: name.clone(), values: vec![value] };
        let put = |list: &mut Vec<Assignment>, assignment: Assignment| {
            list.retain(|other| other.name != assignment.name);
            list.push(assignment);
        };
        match &self.place {
            Place::Position(joint, part) => {
                let range = mechanism.joint_by_name(joint).map_or(0..0, |id| mechanism.q_range(id));
                part_of(&mut settings.q, joint, &base.q[range], *part, value);
            }
            Place::Velocity(joint, part) => {
                let range = mechanism.joint_by_name(joint).map_or(0..0, |id| mechanism.v_range(id));
                part_of(&mut settings.v, joint, &base.v[range], *part, value);
            }
            Place::Input(name) => put(&mut settings.inputs, one(name)),
            Place::Stiffness(name) => put(&mut settings.kp, one(name)),
            Place::Damping(name) => put(&mut settings.kd, one(name)),
            Place::Model => put(&mut settings.set, one(&self.key)),
        }
    }
}

/// Changes one number of a joint and leaves its others as they are, or as they start.
fn part_of(list: &mut Vec<Assignment>, joint: &str, base: &[f64], part: usize, value: f64) {
    let at = list.iter().position(|entry| entry.name == joint).unwrap_or_else(|| {
        list.push(Assignment { name: joint.to_owned(), values: base.to_vec() });
        list.len() - 1
    });
    if let Some(place) = list[at].values.get_mut(part) {
        *place = value;
    }
}

/// What a key of `[sweep.vary]` means: one number, or several by a pattern.
pub(super) fn resolve(
    spread: &Spread,
    description: &ModelDescription,
    mechanism: &Mechanism,
    settings: &Settings,
) -> Result<Vec<Varied>, Failure> {
    let key = spread.key.as_str();
    let varied = |key: String, place: Place| Varied { key, law: spread.law.clone(), place, nominal: 1.0 };
    if spread.relative && !changes::is_of_model(key) {
        return Err(Failure::new("only numbers of the model can vary relative to what they are")
            .help("leave `relative` out, or vary a key of `bodies`, `joints` or `gravity`"));
    }
    if let Some(rest) = key.strip_prefix("initial.q.") {
        let found = coordinates(rest, mechanism, JointType::position_parts)?;
        if let Some((label, joint, _)) =
            found.iter().find(|(_, joint, part)| is_quaternion(mechanism, joint, *part))
        {
            return Err(Failure::new(format!(
                "`{label}` is one number of a quaternion, which can't vary alone"
            ))
            .help(format!("vary the velocity of `{joint}`, or name the other joints one by one")));
        }
        let position =
            |(label, joint, part)| varied(format!("initial.q.{label}"), Place::Position(joint, part));
        return Ok(found.into_iter().map(position).collect());
    }
    if let Some(rest) = key.strip_prefix("initial.v.") {
        let found = coordinates(rest, mechanism, JointType::velocity_parts)?;
        let velocity =
            |(label, joint, part)| varied(format!("initial.v.{label}"), Place::Velocity(joint, part));
        return Ok(found.into_iter().map(velocity).collect());
    }
    if let Some(rest) = key.strip_prefix("inputs.") {
        if settings.policy.is_some() || settings.hold.is_some() || settings.track.is_some() {
            return Err(Failure::new("a policy or servos say what the inputs are")
                .help("leave the key out, or the policy"));
        }
        let found: Vec<&String> = mechanism.inputs().iter().filter(|name| fits(rest, name)).collect();
        if found.is_empty() {
            return Err(Failure::new(format!("there is no input `{rest}` in `{}`", mechanism.name()))
                .help("the model has no inputs")
                .suggest(rest, &names(mechanism.inputs())));
        }
        let input = |name: &String| varied(format!("inputs.{name}"), Place::Input(name.clone()));
        return Ok(found.into_iter().map(input).collect());
    }
    for (start, place) in [("kp.", Place::Stiffness as fn(String) -> Place), ("kd.", Place::Damping)] {
        if let Some(joint) = key.strip_prefix(start) {
            if settings.hold.is_none() && settings.track.is_none() {
                return Err(Failure::new("there are no servos whose gains could vary")
                    .help("give `hold` or `track` in the scenario"));
            }
            if joint != "all" && mechanism.joint_by_name(joint).is_none() {
                return Err(crate::model::unknown_joint(mechanism, joint));
            }
            return Ok(vec![varied(key.to_owned(), place(joint.to_owned()))]);
        }
    }
    if !changes::is_of_model(key) {
        let failure = Failure::new("there is nothing of that name that could vary").help(
            "there are `initial.q.`, `initial.v.`, `inputs.`, `bodies.`, `joints.`, `gravity.`, `kp.`, `kd.`",
        );
        return Err(match changes::nearest_start(key).filter(|near| !key.starts_with(*near)) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure,
        });
    }
    let model = |target: Target| {
        if !target.is_one_number() {
            return Err(Failure::new(format!("`{}` is several numbers", target.key))
                .help("vary them one by one: `com.x`, `inertia.xx`, `gravity.z`"));
        }
        let nominal = if spread.relative { target.value(description) } else { Some(1.0) };
        let nominal = nominal.ok_or_else(|| {
            Failure::new(format!("the model has no `{}` that could vary relative to what it is", target.key))
                .help("leave `relative` out")
        })?;
        Ok(Varied { nominal, ..varied(target.key, Place::Model) })
    };
    changes::targets(description, key)?.into_iter().map(model).collect()
}

/// Coordinates that a name or a pattern means: label, joint, number within the joint.
fn coordinates(
    pattern: &str,
    mechanism: &Mechanism,
    parts: impl Fn(JointType) -> &'static [&'static str],
) -> Result<Vec<(String, String, usize)>, Failure> {
    let mut found = Vec::new();
    for joint in mechanism.tree_joints().map(|id| mechanism.joint(id)).filter(|joint| joint.kind.nv() > 0) {
        let labels: Vec<String> = match parts(joint.kind) {
            [] => vec![joint.name.clone()],
            parts => parts.iter().map(|part| format!("{}.{part}", joint.name)).collect(),
        };
        let several = labels.len() > 1;
        for (part, label) in labels.into_iter().enumerate() {
            if several && pattern == joint.name {
                let listed = parts(joint.kind).iter().map(|part| format!("`{pattern}.{part}`"));
                return Err(Failure::new(format!("joint `{pattern}` has several coordinates"))
                    .help(format!("name one: {}", listed.collect::<Vec<_>>().join(", "))));
            }
            if fits(pattern, &label) {
                found.push((label, joint.name.clone(), part));
            }
        }
    }
    if found.is_empty() {
        return Err(Failure::new(format!("there is no joint `{pattern}` in `{}`", mechanism.name()))
            .suggest(pattern, &moving_joints(mechanism)));
    }
    Ok(found)
}

fn is_quaternion(mechanism: &Mechanism, joint: &str, part: usize) -> bool {
    let kind = mechanism.joint_by_name(joint).map(|id| mechanism.joint(id).kind);
    matches!(kind, Some(JointType::Spherical | JointType::Floating)) && part < 4
}
