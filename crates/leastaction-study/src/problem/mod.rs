//! Problem files: what `optimize`, `infer` and `control` work on.
//!
//! One TOML format, described in `docs/schema/problem-1.schema.json`; a reference data file is taken as well.

mod constraint_page;
pub mod control_file;
mod control_reader;
pub mod control_results;
pub mod control_solve;
pub mod durations;
mod reader;
mod reader_errors;
mod reader_limits;
mod reader_phases;
mod reader_tasks;
mod reader_terms;
pub mod results;
pub mod solution_file;

use std::path::{Path, PathBuf};

use leastaction::io::UrdfOptions;
use leastaction::mechanism::{JointType, Mechanism, ModelDescription};
use leastaction::optimize::{BoundaryState, LimitKind, MotionProblem, SolveOptions};
use leastaction_golden::{GoldenProblem, golden_problem};

use crate::failure::Failure;
use crate::model;

/// A problem with its mechanism, ready to be solved.
#[derive(Debug)]
pub struct ProblemFile {
    /// A name for folders.
    pub name: String,
    /// The model as data.
    pub description: ModelDescription,
    /// The model, built.
    pub mechanism: Mechanism,
    /// Costs, boundary states, limits.
    pub problem: MotionProblem,
    /// True if all terms have a weight.
    pub has_weights: bool,
    /// Terms that the first stage of a continuation leaves out.
    pub leave_out_first: Vec<usize>,
    /// Its parts, one after the other; none if empty.
    pub phases: Vec<Phase>,
    /// Weight of the duration, if that is free, and those of the phases with it.
    pub time_weight: Option<f64>,
    /// Solution file to start from.
    pub start: Option<PathBuf>,
    /// Options of the solver.
    pub options: SolveOptions,
    /// The text of the file, for the report.
    pub text: String,
}

/// A part of a motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name in the file.
    pub name: String,
    /// How long it takes, in seconds.
    pub duration: f64,
}

impl ProblemFile {
    /// Weights of the terms.
    pub fn weights(&self) -> Vec<f64> {
        self.problem.terms.iter().map(|term| term.weight).collect()
    }
}

/// Of two units, for joints that turn and for joints that slide, those that a mechanism has: `"rad, m"` is rad for an arm of hinges.
pub fn units_of(mechanism: &Mechanism, both: &str) -> String {
    let slides = |c: usize| limit_unit(mechanism, LimitKind::Position, c) == "m";
    match both.split_once(", ") {
        Some((turning, _)) if !(0..mechanism.nv()).any(slides) => turning.to_owned(),
        Some((_, sliding)) if (0..mechanism.nv()).all(slides) => sliding.to_owned(),
        _ => both.to_owned(),
    }
}

/// Unit of what a limit bounds.
pub fn limit_unit(mechanism: &Mechanism, kind: LimitKind, coordinate: usize) -> &'static str {
    let slides =
        mechanism.tree_joints().find(|id| mechanism.v_range(*id).contains(&coordinate)).is_some_and(|id| {
            let at = coordinate - mechanism.v_range(id).start;
            match mechanism.joint(id).kind {
                JointType::Prismatic => true,
                JointType::Floating => at >= 3,
                JointType::Cylindrical => at == 1,
                JointType::Planar => at < 2,
                _ => false,
            }
        });
    let (turning, sliding) = match kind {
        LimitKind::Position | LimitKind::ControlPoint => ("rad", "m"),
        LimitKind::Velocity => ("rad/s", "m/s"),
        LimitKind::Acceleration => ("rad/s²", "m/s²"),
        LimitKind::Jerk => ("rad/s³", "m/s³"),
        LimitKind::Torque => ("N m", "N"),
        LimitKind::TorqueRate => ("N m/s", "N/s"),
    };
    if slides { sliding } else { turning }
}

/// What is fixed at the ends of a motion, in words.
pub fn ends(problem: &MotionProblem) -> String {
    const WORDS: [&str; 4] = ["position", "velocity", "acceleration", "jerk"];
    // Where the configuration is free, what is fixed beside it stands in via points.
    let at_end = |order: usize| problem.via.iter().any(|via| via.t == problem.duration && via.order == order);
    let say = |state: &BoundaryState| {
        let fixed = state.derivatives.len().min(WORDS.len());
        if fixed == 0 {
            let others: Vec<&str> = (1..WORDS.len()).filter(|d| at_end(*d)).map(|d| WORDS[d]).collect();
            return match others.len() {
                0 => "configuration free".to_owned(),
                _ => format!("configuration free; {} fixed", others.join(", ")),
            };
        }
        let free = WORDS.get(fixed).map_or(String::new(), |word| format!("; {word} free"));
        format!("{} fixed{free}", WORDS[..fixed].join(", "))
    };
    let (start, end) = (say(&problem.start), say(&problem.end));
    if start == end { format!("{start}, at both ends") } else { format!("start: {start}. End: {end}") }
}

/// Reads a problem file, or says everything that is wrong with it.
pub fn load(path: &Path) -> Result<ProblemFile, Failure> {
    let text = leastaction::io::read_text(path).map_err(|error| {
        Failure::caused_by(format!("can't read the problem `{}`", path.display()), &error)
            .help("name a problem file (.toml), or a reference data file (.json)")
    })?;
    if text.trim_start().starts_with('{') {
        return load_golden(path, text);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    reader::read(&text, path, |name| {
        let name =
            if name.starts_with('@') { name.to_owned() } else { folder.join(name).display().to_string() };
        let (model, mechanism) = model::load(&name, &UrdfOptions::default())?;
        Ok((model.description, mechanism))
    })
}

fn load_golden(path: &Path, text: String) -> Result<ProblemFile, Failure> {
    let wrong = |diagnostics| {
        Failure::new(format!("`{}` can't be used as a problem", path.display()))
            .with_diagnostics(diagnostics)
            .help("name a problem file (.toml) or a file of schema `leastaction/optimization/1`")
    };
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::caused_by(format!("`{}` is not JSON", path.display()), &error))?;
    if value["schema"] != "leastaction/optimization/1" {
        return Err(wrong(Vec::new()));
    }
    let file = GoldenProblem::read(&value).map_err(|d| wrong(vec![d]))?;
    let mechanism = leastaction::mechanism::MechanismBuilder::from(file.model.clone())
        .build()
        .map_err(|error| Failure::from_error(&error))?;
    let problem = golden_problem(&value, &mechanism).map_err(|d| wrong(vec![d]))?;
    let leave_out_first =
        (0..problem.terms.len()).filter(|t| problem.terms[*t].name == "torque_rate").collect();
    Ok(ProblemFile {
        name: model::slug(&path.display().to_string()),
        description: file.model,
        mechanism,
        problem,
        has_weights: true,
        leave_out_first,
        phases: Vec::new(),
        time_weight: None,
        start: None,
        options: SolveOptions::default(),
        text: format!("# reference data file {}\n", path.display()),
    })
}
