//! States as JSON, `leastaction/state/1`: floats survive exactly, so a run continues bit for bit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{read_text, write_atomically};
use crate::mechanism::{Coordinates, Mechanism, State, StateDescription, WarmStart};

/// The schema key of the state format.
pub const STATE_SCHEMA: &str = "leastaction/state/1";

/// A state by joint names, with what a run needs to continue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateFile {
    /// Always [`STATE_SCHEMA`].
    pub schema: String,
    /// Time in seconds.
    #[serde(default)]
    pub t: f64,
    /// Positions by joint.
    #[serde(default)]
    pub q: BTreeMap<String, Coordinates>,
    /// Velocities by joint.
    #[serde(default)]
    pub v: BTreeMap<String, Coordinates>,
    /// States of actuators that have one, by input.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub act: BTreeMap<String, f64>,
    /// Values that inputs have from here on if nothing else is said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, f64>,
    /// Velocity, acceleration, jerk, … per joint: raw derivatives, not divided by factorials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub derivatives: BTreeMap<String, Vec<Coordinates>>,
    /// Hash of the model it was written for: what the integrator continues from is of use to that one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How `t` came about, so that later times are computed from the same numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What joints with friction or limits do, by row; for readers, a run continues from `warm`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<String, RowMode>,
    /// What the integrator continues from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<WarmStart>,
}

/// What a joint with friction or limits does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowMode {
    /// `locked`, `sliding` or `free`.
    pub mode: String,
    /// Direction of sliding.
    #[serde(default)]
    pub sign: i8,
    /// −1 at the lower limit, 1 at the upper, 0 at neither.
    #[serde(default)]
    pub side: i8,
    /// Where it is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<f64>,
}

/// A time as `start + steps · step`: one rounding, however many steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Time of the first step.
    pub start: f64,
    /// Step length.
    pub step: f64,
    /// Steps since, at most [`Clock::MOST_STEPS`].
    pub steps: u64,
}

impl Clock {
    /// Up to here each number of steps is a double of its own.
    pub const MOST_STEPS: u64 = 1 << 53;

    /// The time after `more` further steps.
    #[must_use]
    pub fn after(&self, more: u64) -> f64 {
        self.steps.saturating_add(more) as f64 * self.step + self.start
    }

    /// What is wrong with a clock read from a file.
    fn fault(&self) -> Option<String> {
        if !self.start.is_finite() || !self.step.is_finite() || self.step <= 0.0 {
            return Some(format!("it starts at {} with steps of {} s", self.start, self.step));
        }
        let most = Self::MOST_STEPS;
        (self.steps > most).then(|| format!("it has counted {} steps, at most {most} can be", self.steps))
    }
}

/// Why a state file could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The system does not let us read the file.
    #[error("can't read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not JSON of this schema.
    #[error("{}:{}:{}: not a state file", path.display(), source.line(), source.column())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// The file has another schema.
    #[error("`{}` has the schema `{found}`, a state has `{STATE_SCHEMA}`", path.display())]
    WrongSchema {
        /// The file.
        path: PathBuf,
        /// The schema found.
        found: String,
    },
    /// The clock could not go on from there.
    #[error("the clock in `{}` can't be used: {reason}", path.display())]
    BadClock {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The state does not belong to this mechanism.
    #[error("the state in `{}` does not fit the model: {reason}", path.display())]
    DoesNotFit {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
}

impl StateFile {
    /// The state of a mechanism by joint names.
    #[must_use]
    pub fn of(mechanism: &Mechanism, state: &State) -> Self {
        let StateDescription { t, q, v, act, inputs } = mechanism.describe_state(state);
        let warm = state.warm.clone();
        Self { schema: STATE_SCHEMA.into(), t, q, v, act, inputs, warm, ..Self::default() }
    }

    /// Reads a state file.
    ///
    /// # Errors
    /// If it can't be read or is not one.
    pub fn read(path: &Path) -> Result<Self, StateError> {
        let text = read_text(path).map_err(|source| StateError::Unreadable { path: path.into(), source })?;
        let file: Self = serde_json::from_str(&text)
            .map_err(|source| StateError::Malformed { path: path.into(), source })?;
        if file.schema != STATE_SCHEMA {
            return Err(StateError::WrongSchema { path: path.into(), found: file.schema });
        }
        if let Some(reason) = file.clock.and_then(|clock| clock.fault()) {
            return Err(StateError::BadClock { path: path.into(), reason });
        }
        Ok(file)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// If it can't be written; the old file is then untouched.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut text = serde_json::to_string_pretty(self).map_err(std::io::Error::other)?;
        text.push('\n');
        write_atomically(path, text.as_bytes())
    }

    /// The state of `mechanism`; `path` is named in errors.
    ///
    /// # Errors
    /// If a joint does not exist or has another number of coordinates.
    pub fn state(&self, mechanism: &Mechanism, path: &Path) -> Result<State, StateError> {
        let (q, v) = (self.q.clone(), self.v.clone());
        let (act, inputs) = (self.act.clone(), self.inputs.clone());
        let description = StateDescription { t: self.t, q, v, act, inputs };
        let state = mechanism
            .state_from(&description)
            .map_err(|reason| StateError::DoesNotFit { path: path.into(), reason })?;
        Ok(State { warm: self.warm.clone(), ..state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn a_state_survives_bit_for_bit() {
        let mechanism = MechanismBuilder::from(samples::ball_chain(3)).build().unwrap();
        let mut state = mechanism.start_state();
        let mut random = samples::Random::new(5);
        state.v.iter_mut().for_each(|v| *v = random.range(-1e-3, 1e7) / 3.0);
        state.t = 0.1 + 0.2;
        state.warm = Some(WarmStart { integrator: "test-4".into(), data: vec![1.0 / 3.0, 5e-324, -0.0] });
        let path = std::env::temp_dir().join(format!("leastaction-state-{}.json", std::process::id()));
        StateFile::of(&mechanism, &state).write(&path).unwrap();
        let read = StateFile::read(&path).unwrap().state(&mechanism, &path).unwrap();
        assert_eq!(read, state);
        assert!(read.warm.unwrap().data[2].is_sign_negative());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn errors_say_where_and_what() {
        let path = std::env::temp_dir().join(format!("leastaction-bad-state-{}.json", std::process::id()));
        for (text, message) in [
            ("{\n \"schema\": \"leastaction/state/1\", \"tt\": 1}", ":2:38: not a state file"),
            ("{\"schema\": \"leastaction/model/1\"}", "a state has `leastaction/state/1`"),
            (
                "{\"schema\": \"leastaction/state/1\", \"clock\": {\"start\": 0, \"step\": 0.1, \"steps\": 18446744073709551615}}",
                "it has counted 18446744073709551615 steps, at most 9007199254740992 can be",
            ),
            (
                "{\"schema\": \"leastaction/state/1\", \"clock\": {\"start\": 0, \"step\": -0.1, \"steps\": 1}}",
                "it starts at 0 with steps of -0.1 s",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let found = StateFile::read(&path).unwrap_err().to_string();
            assert!(found.ends_with(message), "{found}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
