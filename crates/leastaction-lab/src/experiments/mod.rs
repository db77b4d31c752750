//! Experiments: published figures and tables, and our own, made again by one command each.
//!
//! An experiment is one file: what it repeats, its model and parameters in full, what is expected and where that
//! expectation comes from, and a function that measures. `leastaction experiment` runs it, writes its numbers as JSON
//! and a page with its figures, and fails when an expectation does.

mod acceleration_loop;
mod check;
mod contact_scenes;
mod dense;
mod figure;
mod heun;
mod instructions;
mod machine;
mod measure;
mod page;
mod reach;
mod results;
mod robots;
mod table;

mod bruedigam_4a;
mod bruedigam_4b;
mod bruedigam_4c;
mod bruedigam_4d;
mod bruedigam_5;
mod bruedigam_6;
mod bruedigam_8;
mod fan_control;
mod fan_cost;
mod fan_energy;
mod fan_order;
mod ishigaki_4;
mod ishigaki_5;
mod ishigaki_6;
mod ishigaki_7;
mod jacobians;
mod ours_agreement;
mod ours_contact_impact;
mod ours_contact_order;
mod ours_contact_stick;
mod ours_energy;
mod ours_jerk_cost;
mod ours_loop_gap;
mod ours_loop_order;
mod ours_subjects;
mod ours_sweep;
mod ours_weights;
mod ours_work_precision;

mod registry;

pub(crate) use check::{Check, Verdict};
pub(crate) use figure::{Figure, Scale};
pub(crate) use machine::Machine;
pub(crate) use page::{index_page, result_page};
pub(crate) use registry::{EXPERIMENTS, TIMED};
pub(crate) use results::publish;
pub(crate) use table::Table;

use std::path::PathBuf;

use serde_json::{Value, json};

use leastaction_study::failure::Failure;

/// One published or own result and how to make it again.
#[derive(Debug)]
pub(crate) struct Experiment {
    /// `SOURCE-FIGURE`.
    pub(crate) name: &'static str,
    /// Where the result was published.
    pub(crate) source: &'static str,
    /// What it shows, in one sentence.
    pub(crate) statement: &'static str,
    /// Model, start and parameters in full; where the source is silent, what was taken.
    pub(crate) parameters: &'static str,
    /// Measures.
    pub(crate) run: fn(&Context) -> Result<Outcome, Failure>,
}

/// How an experiment is to run.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Shorter runs and fewer sizes: every expectation is still checked.
    pub(crate) quick: bool,
    /// Folder of robots that are too large to ship.
    pub(crate) robots: Option<PathBuf>,
}

impl Context {
    /// One of two values.
    pub(crate) fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// What an experiment found.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Every number that is shown anywhere.
    pub(crate) numbers: Vec<(String, Value)>,
    /// Plots.
    pub(crate) figures: Vec<Figure>,
    /// Tables.
    pub(crate) tables: Vec<Table>,
    /// Expectations and whether they hold.
    pub(crate) checks: Vec<Check>,
    /// Remarks: what was left out and why.
    pub(crate) notes: Vec<String>,
    /// Lines of the README's table: what, ours, what it compares with.
    pub(crate) headlines: Vec<[String; 3]>,
}

impl Outcome {
    /// Adds numbers under a name.
    pub(crate) fn number(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.numbers.push((name.into(), value.into()));
    }

    /// Adds a line to the README's table.
    pub(crate) fn headline(
        &mut self,
        what: impl Into<String>,
        ours: impl Into<String>,
        beside: impl Into<String>,
    ) {
        self.headlines.push([what.into(), ours.into(), beside.into()]);
    }

    /// The worst of all verdicts.
    pub(crate) fn verdict(&self) -> Verdict {
        let verdicts: Vec<Verdict> = self.checks.iter().map(Check::verdict).collect();
        if verdicts.contains(&Verdict::Fails) {
            Verdict::Fails
        } else if verdicts.contains(&Verdict::Loses) {
            Verdict::Loses
        } else {
            Verdict::Passes
        }
    }

    /// True if no expectation fails.
    pub(crate) fn holds(&self) -> bool {
        self.verdict() != Verdict::Fails
    }

    /// For machines: everything but the drawings.
    pub(crate) fn to_json(&self, experiment: &Experiment, run: &RunInfo) -> Value {
        json!({
            "schema": "leastaction/experiment/1",
            "name": experiment.name,
            "source": experiment.source,
            "statement": experiment.statement,
            "parameters": experiment.parameters,
            "command": format!("leastaction experiment {}{}", experiment.name, if run.quick { " --quick" } else { "" }),
            "quick": run.quick,
            "seconds": run.seconds,
            "machine": run.machine.to_json(),
            "passed": self.holds(),
            "checks": self.checks.iter().map(Check::to_json).collect::<Vec<_>>(),
            "tables": self.tables.iter().map(Table::to_json).collect::<Vec<_>>(),
            "numbers": Value::Object(self.numbers.iter().cloned().collect()),
            "notes": self.notes,
            "headlines": self.headlines,
            "images": (1..=self.figures.len()).map(|k| image_name(experiment.name, k)).collect::<Vec<_>>(),
        })
    }
}

/// Name of the `k`-th drawing of an experiment.
pub(crate) fn image_name(name: &str, k: usize) -> String {
    format!("{name}-{k}.svg")
}

/// Circumstances of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunInfo {
    /// Whether it was a quick one.
    pub(crate) quick: bool,
    /// Wall time.
    pub(crate) seconds: f64,
    /// Where.
    pub(crate) machine: Machine,
}
