//! What joints with friction or limits do: columns of a trajectory, and lines of the summary.

use std::collections::BTreeMap;
use std::ops::Deref;

use leastaction::integrator::{RowState, Simulator};
use leastaction::io::RowMode;
use leastaction::mechanism::Mechanism;
use leastaction::trajectory::TrajectoryLayout;
use serde_json::{Value, json};

use crate::on_tape;

/// Numbers of the columns `mode.JOINT`, `friction.JOINT` and `drive.JOINT` after a step.
#[derive(Clone, Debug)]
pub struct RowColumns {
    /// What each row does, as [`RowState::code`] says it.
    pub codes: Vec<f64>,
    /// Mean force of friction and limits over the step.
    pub forces: Vec<f64>,
    /// Mean torque or force of every drive over the step.
    pub drives: Vec<f64>,
    /// How often each code was met at the end of a step, by row.
    counts: Vec<[u64; 5]>,
}

on_tape!(RowColumns: codes, forces, drives, counts);

impl RowColumns {
    /// For a mechanism, before the first step.
    pub fn new(mechanism: &Mechanism) -> Self {
        let rows = mechanism.rows().len();
        let drives = vec![0.0; mechanism.driven().count()];
        Self { codes: vec![0.0; rows], forces: vec![0.0; rows], drives, counts: vec![[0; 5]; rows] }
    }

    /// These columns behind those of a trajectory.
    pub fn layout(mechanism: &Mechanism, layout: TrajectoryLayout) -> TrajectoryLayout {
        let named = |what: &str| {
            mechanism.rows().iter().map(|row| format!("{what}.{}", row.name)).collect::<Vec<_>>()
        };
        let drives = mechanism.driven().map(|(f, _)| format!("drive.{}", mechanism.joint(f.joint).name));
        let layout = layout.with("mode", named("mode")).with("friction", named("friction"));
        layout.with("drive", drives.collect())
    }

    /// Takes the end of a step of length `h`. Does not allocate.
    pub fn take<M: Deref<Target = Mechanism>>(&mut self, simulator: &Simulator<M>, h: f64) {
        let report = simulator.rows();
        for (to, impulse) in self.drives.iter_mut().zip(report.drives) {
            *to = impulse / h;
        }
        for (k, (state, impulse)) in report.states.iter().zip(report.impulses).enumerate() {
            let code = state.code();
            self.codes[k] = f64::from(code);
            self.forces[k] = impulse / h;
            self.counts[k][usize::from(code)] += 1;
        }
    }

    /// What is left of them after the last step.
    pub fn at_end<M: Deref<Target = Mechanism>>(
        &self,
        mechanism: &Mechanism,
        simulator: &Simulator<M>,
    ) -> RowsAtEnd {
        let names = mechanism.rows().iter().map(|row| row.name.clone());
        let rows = names.zip(simulator.rows().states.iter().copied()).zip(self.counts.iter().copied());
        RowsAtEnd { rows: rows.map(|((name, state), counts)| (name, state, counts)).collect() }
    }
}

/// The rows after the last step: name, what it does, and at how many ends of steps it did what.
#[derive(Clone, Debug, Default)]
pub struct RowsAtEnd {
    rows: Vec<(String, RowState, [u64; 5])>,
}

const WORDS: [&str; 5] = ["free", "sliding", "stuck", "at the lower limit", "at the upper limit"];

impl RowsAtEnd {
    /// For a state file.
    pub fn modes(&self) -> BTreeMap<String, RowMode> {
        let mode = |state: &RowState| RowMode {
            mode: ["free", "sliding", "locked", "locked", "locked"][usize::from(state.code())].into(),
            sign: state.sign,
            side: state.side,
            hold: if state.locked { Some(state.hold) } else { None },
        };
        self.rows.iter().map(|(name, state, _)| (name.clone(), mode(state))).collect()
    }

    /// For people; nothing where no joint has friction or limits.
    pub fn sentence(&self, events: u64, forced: u64) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        let mut count = [0; 5];
        self.rows.iter().for_each(|(_, state, _)| count[usize::from(state.code())] += 1);
        let limits = count[3] + count[4];
        let mut parts = Vec::new();
        for (number, word) in [(count[2], "stuck"), (count[1], "sliding"), (limits, "at a limit")] {
            if number > 0 {
                parts.push(format!("{number} {word}"));
            }
        }
        let now = if parts.is_empty() { "all free".to_owned() } else { parts.join(", ") };
        let by_rule = if forced > 0 { format!(", {forced} decided by rule") } else { String::new() };
        Some(format!("{now} at the end; {events} times one stopped, let go or reached a limit{by_rule}"))
    }

    /// For machines.
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|(name, state, counts)| {
            let steps: BTreeMap<&str, u64> =
                WORDS.into_iter().zip(*counts).filter(|(_, count)| *count > 0).collect();
            (name.clone(), json!({"at_end": WORDS[usize::from(state.code())], "steps": steps}))
        });
        Value::Object(rows.collect())
    }
}
