//! The state a run starts from, and its clock.

use std::path::Path;

use leastaction::io::{Clock, StateFile};
use leastaction::mechanism::{Coordinates, JointType, Mechanism, RowOf, State, StateDescription, samples};

use crate::choice::LimitMode;
use crate::failure::{Failure, names};
use crate::field::Assignment;
use crate::model::unknown_joint;
use crate::output;
use crate::settings::Settings;
use crate::standing;

/// Where and when a run starts.
#[derive(Debug)]
pub struct Start {
    /// The state.
    pub state: State,
    /// Its time; it goes on where the state file's stopped.
    pub clock: Clock,
    /// What the user should know about it.
    pub notes: Vec<String>,
}

/// The start by flags, file or name. A file that was written for a model of another hash gives positions and velocities only.
///
/// # Errors
/// If there is no such state or it does not fit the mechanism.
pub fn resolve(
    mechanism: &Mechanism,
    settings: &Settings,
    step: f64,
    model_hash: Option<&str>,
) -> Result<Start, Failure> {
    resolve_from(mechanism, settings, step, model_hash, None)
}

/// The same, from a state that is handed over where settings name none.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_from(
    mechanism: &Mechanism,
    settings: &Settings,
    step: f64,
    model_hash: Option<&str>,
    given: Option<&State>,
) -> Result<Start, Failure> {
    let (mut clock, mut notes) = (None, Vec::new());
    let mut state = match (&settings.start, &settings.state) {
        (Some(start), _) if mechanism.states().contains_key(start) => named(mechanism, start)?,
        (Some(start), _) if Path::new(start).exists() => {
            let path = Path::new(start);
            output::expect_whole(path)?;
            let file = StateFile::read(path).map_err(|error| Failure::from_error(&error))?;
            let state = file.state(mechanism, path).map_err(|error| Failure::from_error(&error))?;
            let foreign = file.model.is_some_and(|model| model_hash.is_some_and(|own| own != model));
            clock = file.clock.filter(|clock| clock.step == step && !foreign);
            if foreign {
                notes.push(format!(
                    "`{start}` was written for another model: its positions and velocities are used, what the \
                     integrator could continue from is not"
                ));
                State { warm: None, ..state }
            } else {
                state
            }
        }
        (Some(start), _) => {
            return Err(no_state(mechanism, start, "neither a file nor a state of the model"));
        }
        (None, Some(name)) => named(mechanism, name)?,
        (None, None) => given.cloned().unwrap_or_else(|| mechanism.start_state()),
    };
    if let Some(random) = settings.random_velocity {
        let mut numbers = samples::Random::new(u64::from(random.seed));
        for id in mechanism.tree_joints() {
            if mechanism.joint(id).kind != JointType::Floating {
                let range = mechanism.v_range(id);
                state.v[range].iter_mut().for_each(|v| *v = numbers.range(-random.most, random.most));
            }
        }
        state.warm = None;
        clock = None;
    }
    if !settings.q.is_empty() || !settings.v.is_empty() {
        let mut description = mechanism.describe_state(&state);
        assign(mechanism, &mut description, settings)?;
        state = mechanism.state_from(&description).map_err(Failure::new)?;
        clock = None;
    }
    if settings.limits == Some(LimitMode::Enforce) {
        notes.extend(keep_inside(mechanism, settings, &mut state)?);
    }
    if settings.ground == Some(true)
        && settings.start.is_none()
        && settings.state.is_none()
        && given.is_none()
    {
        notes.extend(standing::stand(
            mechanism,
            |joint| settings.q.iter().any(|q| q.name == joint),
            &mut state,
        ));
    }
    let clock = clock.unwrap_or(Clock { start: state.t, step, steps: 0 });
    Ok(Start { state, clock, notes })
}

/// Beyond a limit by less than this is at it: rounding of the run that wrote the state.
const AT_LIMIT: f64 = 1e-9;
/// A start that the user gave may be beyond a limit by this and is moved to it.
const NEARLY: f64 = 1e-6;

/// A start that nobody gave is put inside the limits; one that the user gave has to be.
fn keep_inside(
    mechanism: &Mechanism,
    settings: &Settings,
    state: &mut State,
) -> Result<Option<String>, Failure> {
    let whole = settings.start.is_some() || settings.state.is_some();
    let mut moved = Vec::new();
    for row in mechanism.rows() {
        let RowOf::Coordinate { joint, at, .. } = &row.of else { continue };
        let value = state.q[at.q];
        let inside = value.clamp(row.lower, row.upper);
        let beyond = (value - inside).abs();
        if beyond <= AT_LIMIT * inside.abs().max(1.0) {
            continue;
        }
        let name = &mechanism.joint(*joint).name;
        let given = whole || settings.q.iter().any(|entry| entry.name == *name);
        if given && beyond > NEARLY {
            let side = if value < row.lower { "lower" } else { "upper" };
            return Err(Failure::new(format!(
                "joint `{}` starts at {value}, beyond its {side} limit {inside}",
                row.name
            ))
            .help("start inside, or let the limits go with `--limits monitor`"));
        }
        state.q[at.q] = inside;
        moved.push(format!("`{}` to {inside}", row.name));
    }
    if moved.is_empty() {
        return Ok(None);
    }
    let State { t, q, v, warm, .. } = state;
    mechanism.follow_at(*t, q, v);
    *warm = None;
    let (count, more) = (moved.len(), moved.len().saturating_sub(3));
    moved.truncate(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let joints = if count == 1 { "1 joint was" } else { &format!("{count} joints were") };
    Ok(Some(format!("{joints} outside the limits at the start and put inside: {}{more}", moved.join(", "))))
}

fn named(mechanism: &Mechanism, name: &str) -> Result<State, Failure> {
    mechanism.states().get(name).cloned().ok_or_else(|| no_state(mechanism, name, "no state of the model"))
}

fn no_state(mechanism: &Mechanism, name: &str, what: &str) -> Failure {
    Failure::new(format!("`{name}` is {what}"))
        .help("the model has no named states; give a state file or `--q JOINT=V`")
        .suggest(name, &names(mechanism.states().keys()))
}

fn assign(mechanism: &Mechanism, state: &mut StateDescription, settings: &Settings) -> Result<(), Failure> {
    for (list, target) in [(&settings.q, &mut state.q), (&settings.v, &mut state.v)] {
        for Assignment { name, values } in list {
            if mechanism.joint_by_name(name).is_none() {
                return Err(unknown_joint(mechanism, name));
            }
            target.insert(name.clone(), Coordinates::from(values.as_slice()));
        }
    }
    Ok(())
}
