//! [`Inputs`]: what acts from outside, held over each step.

use std::collections::HashMap;
use std::path::Path;

use leastaction::io::read_trajectory_csv;
use leastaction::mechanism::{Mechanism, State};

use crate::failure::{Failure, names};
use crate::field::Assignment;
use crate::model::Model;
use crate::motors::Targets;
use crate::policy::{self, Player};
use crate::settings::Settings;
use crate::simulation::Given;
use crate::tape::{OnTape, Tape};

/// Constant values and a table over time.
#[derive(Debug)]
pub struct Inputs {
    /// Present values, one per input of the mechanism.
    values: Vec<f64>,
    /// Which input each column of the table drives.
    targets: Vec<usize>,
    times: Vec<f64>,
    /// Row after row.
    table: Vec<f64>,
    /// Row that comes next.
    next: usize,
    /// A row counts from this much before its time: times in files are rounded.
    slack: f64,
    /// A policy, which then says everything.
    player: Option<Player>,
    /// What servos follow, and half a step: they are given the target in the middle of theirs.
    servos: Option<(Targets, f64)>,
}

impl OnTape for Inputs {
    /// Tables are given by the run, and time says how far they are read.
    fn pass(&mut self, tape: &mut Tape<'_>) {
        if let Some(player) = &mut self.player {
            player.pass(tape);
        }
    }
}

impl Inputs {
    /// The inputs that flags, scenario, a reference data file, or the start state give, and what servos follow.
    pub fn new(
        mechanism: &Mechanism,
        model: &Model,
        settings: &Settings,
        step: f64,
        start: &State,
        targets: Option<Targets>,
    ) -> Result<Self, Failure> {
        let policy = settings.policy.as_deref().map(policy::read).transpose()?;
        if let (Some(policy), Some(path)) = (&policy, &settings.policy) {
            policy::expect_fit(policy, mechanism, path)?;
        }
        let given = Given { policy, ..Given::default() };
        Self::given(mechanism, model, settings, step, start, targets, &given)
    }

    /// The same, with a table or a policy that is handed over.
    pub fn given(
        mechanism: &Mechanism,
        model: &Model,
        settings: &Settings,
        step: f64,
        start: &State,
        targets: Option<Targets>,
        given: &Given,
    ) -> Result<Self, Failure> {
        let mut values = start.inputs.clone();
        values.resize(mechanism.nu(), 0.0);
        let mut inputs = Self {
            values,
            targets: Vec::new(),
            times: Vec::new(),
            table: Vec::new(),
            next: 0,
            slack: 1e-6 * step,
            player: None,
            servos: targets.map(|targets| (targets, 0.5 * step)),
        };
        if let Some(policy) = &given.policy {
            inputs.player = Some(Player::new(policy.clone(), settings.open_loop != Some(true)));
            return Ok(inputs);
        }
        for Assignment { name, values } in &settings.inputs {
            let index = index_of(mechanism, name)?;
            let [value] = values.as_slice() else {
                return Err(Failure::new(format!(
                    "input `{name}` has {} values, it takes one",
                    values.len()
                ))
                .help("write `--input NAME=VALUE`; values over time come from `--inputs FILE.csv`"));
            };
            inputs.values[index] = *value;
        }
        if let Some(table) = &given.inputs {
            inputs.targets = (0..mechanism.nu()).collect();
            let rows = table.len() / mechanism.nu().max(1);
            inputs.times = (0..rows).map(|k| k as f64 * step).collect();
            inputs.table = table.clone();
        } else if let Some(path) = &settings.inputs_file {
            inputs.read(mechanism, path)?;
        } else if let Some(case) = &model.case
            && !case.inputs.is_empty()
        {
            inputs.targets = (0..mechanism.nu()).collect();
            inputs.times = (0..case.inputs.len()).map(|k| k as f64 * case.step).collect();
            inputs.table = case.inputs.concat();
        }
        Ok(inputs)
    }

    fn read(&mut self, mechanism: &Mechanism, path: &Path) -> Result<(), Failure> {
        let table = read_trajectory_csv(path).map_err(|error| {
            Failure::from_error(&error).help("the table needs a column `t` and one per input")
        })?;
        let file = path.display();
        self.times = table.column("t").ok_or_else(|| {
            Failure::new(format!("`{file}` has no column `t`")).help("name the column of times `t`")
        })?;
        if let Some(i) =
            (1..self.times.len()).find(|&i| self.times[i].is_nan() || self.times[i] < self.times[i - 1])
        {
            return Err(Failure::new(format!(
                "`{file}`: time {} follows {}; times must not decrease",
                self.times[i],
                self.times[i - 1]
            )));
        }
        // A trajectory of ours may serve as table: its other columns are no inputs.
        let is_trajectory = table.column_index("energy.total").is_some();
        let known: HashMap<&str, usize> =
            mechanism.inputs().iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        let mut columns = Vec::new();
        for (column, name) in table.layout().columns().enumerate() {
            let input = match name.strip_prefix("u.") {
                Some(input) => input,
                None if name == "t" || is_trajectory => continue,
                None => name,
            };
            self.targets.push(known.get(input).copied().map_or_else(|| index_of(mechanism, input), Ok)?);
            columns.push(column);
        }
        if columns.is_empty() {
            return Err(Failure::new(format!("`{file}` has no column for an input"))
                .help("name columns after inputs, `NAME` or `u.NAME`"));
        }
        self.table = table.rows().flat_map(|row| columns.iter().map(|c| row[*c])).collect();
        if self.table.iter().any(|x| !x.is_finite()) {
            return Err(Failure::new(format!("`{file}` has inputs that are not finite")));
        }
        Ok(())
    }

    /// Counts the times of the table from `t` on.
    pub fn begin_at(&mut self, t: f64) {
        self.times.iter_mut().for_each(|time| *time += t);
    }

    /// The policy, if there is one.
    pub fn player(&self) -> Option<&Player> {
        self.player.as_ref()
    }

    /// What acts all the time, if nothing ever changes it.
    #[must_use]
    pub fn constant(&self) -> Option<&[f64]> {
        let changes = self.player.is_some() || self.servos.is_some() || !self.times.is_empty();
        (!changes).then_some(&self.values)
    }

    /// Whether what acts depends on the state.
    #[must_use]
    pub fn look_at_the_state(&self) -> bool {
        self.player.is_some()
    }

    /// The values held from time `t` on; times must not decrease from call to call.
    pub fn at(&mut self, mechanism: &Mechanism, t: f64, state: &State) -> &[f64] {
        if let Some(player) = &mut self.player {
            return player.at(mechanism, t, state);
        }
        while self.next < self.times.len() && self.times[self.next] <= t + self.slack {
            let row = &self.table[self.next * self.targets.len()..];
            for (target, value) in self.targets.iter().zip(row) {
                self.values[*target] = *value;
            }
            self.next += 1;
        }
        if let Some((targets, half)) = &mut self.servos {
            targets.set(t + *half, &mut self.values);
        }
        &self.values
    }

    /// True if an input is ever different from zero.
    pub fn act(&self) -> bool {
        self.player.is_some()
            || self.servos.is_some()
            || self.values.iter().chain(&self.table).any(|x| *x != 0.0)
    }
}

fn index_of(mechanism: &Mechanism, name: &str) -> Result<usize, Failure> {
    mechanism.inputs().iter().position(|input| input == name).ok_or_else(|| {
        Failure::new(format!("there is no input `{name}` in `{}`", mechanism.name()))
            .help("the model has no inputs")
            .suggest(name, &names(mechanism.inputs()))
    })
}
