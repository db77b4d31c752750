//! From TOML to a motion problem, every wrong key with its place and a remedy.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use leastaction::mechanism::{BodyId, Mechanism, ModelDescription};
use leastaction::optimize::{BoundaryState, MotionProblem, Sampling, SolveOptions, Transcription, ViaPoint};
use toml::de::{DeTable, DeValue};

use super::reader_terms::Waypoints;
use super::{Phase, ProblemFile};
use crate::failure::{Failure, suggestion};
use crate::model;
use crate::values::{Entry, Values, number};

const TOP: [&str; 14] = [
    "schema",
    "name",
    "model",
    "gravity",
    "with",
    "trajectory",
    "phases",
    "start",
    "end",
    "terms",
    "limits",
    "via",
    "constraints",
    "solver",
];
const TRAJECTORY: [&str; 6] =
    ["duration", "degree", "control_points", "samples", "gauss_points", "time_weight"];
const STATE: [&str; 4] = ["q", "v", "a", "jerk"];
const SOLVER: [&str; 5] = ["tolerance", "max_iterations", "leave_out_first", "start", "limits_between"];
/// Part of its size to which a limit holds between samples.
const BETWEEN: f64 = 1e-6;

type Loader<'l> = &'l dyn Fn(&str) -> Result<(ModelDescription, Mechanism), Failure>;

/// Reads the text of a problem file.
pub(super) fn read(
    text: &str,
    path: &Path,
    load: impl Fn(&str) -> Result<(ModelDescription, Mechanism), Failure>,
) -> Result<ProblemFile, Failure> {
    let refused = |problems| {
        Failure::new(format!("`{}` can't be used as a problem", path.display())).with_diagnostics(problems)
    };
    let mut values = Values::new(path, text);
    let Some(table) = values.parse(text, "problem") else { return Err(refused(values.problems)) };
    let mut reader = Reader {
        values,
        places: HashMap::new(),
        has_weights: true,
        waypoints: Vec::new(),
        postures: Vec::new(),
        time_weight: None,
        phases: Vec::new(),
        rests: Vec::new(),
        free_end: Vec::new(),
    };
    let done = reader.top(table.get_ref(), path, text, &load)?;
    match done {
        Some(file) if reader.values.problems.is_empty() => Ok(file),
        _ => Err(refused(reader.values.problems)),
    }
}

/// A problem file on its way to a problem.
pub(super) struct Reader {
    pub(super) values: Values,
    /// Where things stand that are checked later.
    pub(super) places: HashMap<String, Range<usize>>,
    pub(super) has_weights: bool,
    /// Targets that need the sample times.
    pub(super) waypoints: Vec<Waypoints>,
    /// Postures of regularisation terms (by index), which need the number of control points.
    pub(super) postures: Vec<(usize, Option<Vec<f64>>)>,
    pub(super) time_weight: Option<f64>,
    pub(super) phases: Vec<Phase>,
    /// Phases that end at rest.
    pub(super) rests: Vec<usize>,
    /// Velocity, acceleration, … of an end whose configuration is free.
    free_end: Vec<Option<Vec<f64>>>,
}

impl Reader {
    fn top(
        &mut self,
        table: &DeTable<'_>,
        path: &Path,
        text: &str,
        load: Loader<'_>,
    ) -> Result<Option<ProblemFile>, Failure> {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        if let Some(entry) = find("control") {
            let message = "this is a control problem";
            self.values.problem(
                entry.0.span(),
                "table `control`",
                message,
                "run `leastaction control` on it",
            );
            return Ok(None);
        }
        self.values.head(table, &TOP);
        let name = match find("model") {
            Some(entry) => self.values.text(entry),
            None => {
                self.values.problem(0..0, "key `model`", "it is missing", "add `model = \"FILE\"`");
                None
            }
        };
        let Some(model_name) = name else { return Ok(None) };
        let (mut description, mut mechanism) = match load(&model_name) {
            Ok(loaded) => loaded,
            Err(failure) => {
                let span = find("model").map_or(0..0, |entry| entry.1.span());
                let help = failure.help.clone().unwrap_or_else(|| "name a model file or a built-in".into());
                self.values.problem(span, "key `model`", failure.message.clone(), help);
                return Ok(None);
            }
        };
        if let Some(entry) = find("gravity")
            && let Some(gravity) = self.values.fixed::<3>(entry)
        {
            description.gravity = gravity;
            mechanism = leastaction::mechanism::MechanismBuilder::from(description.clone())
                .build()
                .map_err(|error| Failure::from_error(&error))?;
        }
        let Some(mut problem) = self.problem(table, &mechanism) else { return Ok(None) };
        // The papers' rule knows samples only.
        let between = if matches!(problem.sampling, Sampling::Uniform { .. }) { 0.0 } else { BETWEEN };
        let mut options = SolveOptions { between, ..SolveOptions::default() };
        let (mut leave_out_first, mut start) = (Vec::new(), None);
        if let Some(entry) = find("solver") {
            self.solver(entry, &problem, &mut options, &mut leave_out_first, &mut start);
        }
        if !self.has_weights {
            // The inverse problem does not look at them; checks want them valid.
            problem.terms.iter_mut().for_each(|term| term.weight = 1.0);
        }
        if self.values.problems.is_empty() {
            if let Err(error) = problem.validate(&mechanism) {
                self.explain(&error, &problem, &mechanism);
            } else if let Err(error) = Transcription::with_jets(&mechanism, &problem) {
                self.explain(&error, &problem, &mechanism);
            }
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = match find("name") {
            Some(entry) => self.values.text(entry).unwrap_or_default(),
            None => model::slug(&path.display().to_string()),
        };
        Ok(Some(ProblemFile {
            name,
            description,
            mechanism,
            problem,
            has_weights: self.has_weights,
            leave_out_first,
            phases: std::mem::take(&mut self.phases),
            time_weight: self.time_weight,
            start: start.map(|p: PathBuf| folder.join(p)),
            options,
            text: text.to_owned(),
        }))
    }

    fn problem(&mut self, table: &DeTable<'_>, mechanism: &Mechanism) -> Option<MotionProblem> {
        let mut problem = MotionProblem {
            duration: 0.0,
            degree: 5,
            n_control: 50,
            sampling: Sampling::exact(5),
            start: BoundaryState::default(),
            end: BoundaryState::default(),
            terms: Vec::new(),
            limits: Vec::new(),
            via: Vec::new(),
            passive: false,
            tasks: Vec::new(),
        };
        // Times are told by duration and phases: those come first.
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        if let Some(entry) = find("phases") {
            self.places.insert("phases".into(), entry.0.span());
            self.phases(entry);
        }
        if let Some(entry) = find("trajectory") {
            self.trajectory(entry, &mut problem);
        }
        if !self.phases.is_empty() {
            self.sum_of_phases(&mut problem);
        }
        let has_goals = table.iter().any(|(k, _)| k.get_ref() == "constraints");
        for key in ["trajectory", "start", "end", "terms"] {
            if key == "end" && has_goals {
                continue;
            }
            if !table.iter().any(|(k, _)| k.get_ref() == key) {
                let header = if key == "terms" { "[[terms]]" } else { &format!("[{key}]") };
                self.values.problem(
                    0..0,
                    format!("key `{key}`"),
                    "it is missing",
                    format!("add a table {header}"),
                );
            }
        }
        for entry in table {
            self.places.insert(entry.0.get_ref().to_string(), entry.0.span());
            match entry.0.get_ref().as_ref() {
                "start" => problem.start = self.state(entry, mechanism),
                "end" => problem.end = self.state(entry, mechanism),
                "terms" => {
                    for (i, (table, span)) in self.values.tables(entry).into_iter().enumerate() {
                        if let Some(term) = self.term(table, span, i, problem.duration, mechanism) {
                            problem.terms.push(term);
                        }
                    }
                }
                "limits" => self.limits(entry, mechanism, &mut problem),
                "constraints" => {}
                "via" => {
                    for (table, span) in self.values.tables(entry) {
                        self.via(table, span, mechanism, &mut problem);
                    }
                }
                "with" => {
                    for (word, span) in self.values.texts(entry) {
                        if word == "passive" {
                            problem.passive = true;
                        } else {
                            let message = format!("`{word}` is not possible");
                            self.values.problem(
                                span,
                                "key `with`",
                                message,
                                "write [\"passive\"] or leave it out",
                            );
                        }
                    }
                }
                _ => {}
            }
        }
        // Constraints need the duration; without a configuration the end is at rest by via points.
        if let Some(entry) = table.iter().find(|(k, _)| k.get_ref() == "constraints") {
            for (table, span) in self.values.tables(entry) {
                self.task(table, span, mechanism, &mut problem);
            }
        }
        self.rest_between_phases(&mut problem, mechanism);
        if problem.end.derivatives.is_empty() && !problem.tasks.is_empty() {
            self.rest_at_a_free_end(&mut problem, mechanism);
        }
        // A cost of velocities alone can't hold a velocity at an end: what is not asked for is free.
        if problem.terms.iter().all(|t| t.highest_derivative() <= 1) && !problem.terms.is_empty() {
            for (key, state) in [("start.v", &mut problem.start), ("end.v", &mut problem.end)] {
                if !self.places.contains_key(key) && state.derivatives.len() == 2 {
                    state.derivatives.truncate(1);
                }
            }
        }
        if !self.places.contains_key("degree") {
            problem.degree = problem.natural_degree();
        }
        if !self.places.contains_key("samples") && !self.places.contains_key("gauss_points") {
            problem.sampling = Sampling::exact(problem.degree);
        }
        if self.values.problems.is_empty() {
            self.complete(&mut problem, mechanism);
        }
        Some(problem)
    }

    /// Zero velocity, and what else the end says, where its configuration is free.
    fn rest_at_a_free_end(&mut self, problem: &mut MotionProblem, mechanism: &Mechanism) {
        let rows = std::mem::take(&mut self.free_end);
        let rest = vec![0.0; mechanism.nv()];
        let rows = if rows.is_empty() { vec![Some(rest)] } else { rows };
        let chart = problem.chart(mechanism);
        for (order, row) in rows.into_iter().enumerate() {
            for (coordinate, value) in row.into_iter().flatten().enumerate() {
                if chart.position_of(coordinate).is_some() {
                    problem.via.push(ViaPoint { t: problem.duration, coordinate, order: order + 1, value });
                }
            }
        }
    }

    fn trajectory(&mut self, entry: Entry<'_, '_>, problem: &mut MotionProblem) {
        let Some(table) = self.values.table(entry) else { return };
        let mut has_duration = false;
        for entry in table {
            let key = entry.0.get_ref().as_ref();
            self.places.insert(key.to_owned(), entry.1.span());
            match key {
                "duration" => {
                    has_duration = true;
                    problem.duration = self.values.positive(entry).unwrap_or(1.0);
                }
                "degree" => problem.degree = self.values.count(entry, 1).unwrap_or(5),
                "control_points" => problem.n_control = self.values.count(entry, 2).unwrap_or(50),
                "samples" => {
                    let count = self.values.count(entry, 2).unwrap_or(200);
                    problem.sampling = Sampling::Uniform { count };
                }
                "time_weight" => self.time_weight = self.values.positive(entry),
                "gauss_points" => {
                    let points = self.values.count(entry, 1).unwrap_or(3);
                    problem.sampling = Sampling::Gauss { points };
                }
                _ => self.values.unknown(entry.0, &TRAJECTORY),
            }
        }
        if !has_duration && self.phases.is_empty() {
            self.values.problem(
                entry.0.span(),
                "key `duration`",
                "it is missing",
                "add `duration = SECONDS`",
            );
        }
    }

    /// One number per coordinate: a number for all, a list, or a table by joint (others are `missing`).
    pub(super) fn coordinates(
        &mut self,
        entry: Entry<'_, '_>,
        mechanism: &Mechanism,
        missing: f64,
    ) -> Option<Vec<f64>> {
        let n = mechanism.nv();
        if let Some(value) = number(entry.1.get_ref()) {
            return Some(vec![value; n]);
        }
        let DeValue::Table(table) = entry.1.get_ref() else {
            let values = self.values.numbers(entry)?;
            if values.len() != n {
                let element = format!("key `{}`", entry.0.get_ref());
                let message =
                    format!("it has {} numbers, `{}` has {n} coordinates", values.len(), mechanism.name());
                self.values.problem(
                    entry.1.span(),
                    element,
                    message,
                    "give one number, one per coordinate, or a table by joint",
                );
                return None;
            }
            return Some(values);
        };
        let mut out = vec![missing; n];
        for entry in table {
            let Some(range) = self.joint(entry.0.get_ref(), entry.0.span(), mechanism) else { continue };
            if range.len() == 1 {
                out[range.start] = self.values.number(entry)?;
            } else {
                let values = self.values.numbers(entry)?;
                if values.len() == range.len() {
                    out[range].copy_from_slice(&values);
                } else {
                    let message = format!("it has {} numbers", values.len());
                    let element = format!("joint `{}`", entry.0.get_ref());
                    self.values.problem(entry.1.span(), element, message, format!("give {}", range.len()));
                }
            }
        }
        Some(out)
    }

    pub(super) fn joint(
        &mut self,
        name: &str,
        span: Range<usize>,
        mechanism: &Mechanism,
    ) -> Option<Range<usize>> {
        self.values.moving_joint(name, span, mechanism).map(|id| mechanism.v_range(id))
    }

    pub(super) fn body(
        &mut self,
        entry: Entry<'_, '_>,
        text: &str,
        span: Range<usize>,
        mechanism: &Mechanism,
    ) -> Option<BodyId> {
        let found = mechanism.body_by_name(text);
        if found.is_none() {
            let names: Vec<&str> = mechanism.bodies().iter().map(|b| b.name.as_str()).collect();
            let remedy = suggestion(text, &names).unwrap_or_default();
            let message = format!("there is no body `{text}` in `{}`", mechanism.name());
            self.values.problem(span, format!("key `{}`", entry.0.get_ref()), message, remedy);
        }
        found
    }

    /// A configuration: as [`coordinates`](Self::coordinates), but a quaternion (and position) for ball and free joints.
    /// Joints that a table leaves out are where they are at zero coordinates.
    fn configuration(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism) -> Option<Vec<f64>> {
        let nq = mechanism.nq();
        if nq == mechanism.nv() {
            return self.coordinates(entry, mechanism, 0.0);
        }
        let element = format!("key `{}`", entry.0.get_ref());
        let DeValue::Table(table) = entry.1.get_ref() else {
            let values = self.values.numbers(entry)?;
            if values.len() != nq {
                let message =
                    format!("it has {} numbers, `{}` has {nq} positions", values.len(), mechanism.name());
                self.values.problem(
                    entry.1.span(),
                    element,
                    message,
                    "give a table by joint: ball joints w, x, y, z, free joints w, x, y, z, px, py, pz",
                );
                return None;
            }
            return Some(values);
        };
        let mut out = mechanism.neutral_state().q;
        for entry in table {
            let name = entry.0.get_ref();
            if self.joint(name, entry.0.span(), mechanism).is_none() {
                continue;
            }
            let Some(range) = mechanism.joint_by_name(name).map(|id| mechanism.q_range(id)) else { continue };
            if range.len() == 1 {
                out[range.start] = self.values.number(entry)?;
                continue;
            }
            let values = self.values.numbers(entry)?;
            if values.len() == range.len() {
                out[range].copy_from_slice(&values);
            } else {
                let message = format!("it has {} numbers", values.len());
                let element = format!("joint `{name}`");
                self.values.problem(entry.1.span(), element, message, format!("give {}", range.len()));
            }
        }
        Some(out)
    }

    fn state(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism) -> BoundaryState {
        let n = mechanism.nv();
        let Some(table) = self.values.table(entry) else { return BoundaryState::default() };
        let mut rows: [Option<Vec<f64>>; 4] = Default::default();
        let (mut free, mut free_q) = (false, false);
        for item in table {
            if item.0.get_ref() == "v" && matches!(item.1.get_ref(), DeValue::String(word) if word == "free")
            {
                free = true;
                continue;
            }
            if item.0.get_ref() == "q" && matches!(item.1.get_ref(), DeValue::String(word) if word == "free")
            {
                free_q = true;
                continue;
            }
            match STATE.iter().position(|key| item.0.get_ref() == key) {
                Some(0) => {
                    rows[0] = self.configuration(item, mechanism).or(Some(mechanism.neutral_state().q));
                }
                Some(order) => rows[order] = self.coordinates(item, mechanism, 0.0).or(Some(vec![0.0; n])),
                None => self.values.unknown(item.0, &STATE),
            }
        }
        if free_q {
            // Velocities and more become via points.
            let rest = (!free).then(|| vec![0.0; n]);
            self.free_end = vec![rows[1].take().or(rest), rows[2].take(), rows[3].take()];
            return BoundaryState::default();
        }
        if rows[0].is_none() {
            let element = format!("[{}]", entry.0.get_ref());
            self.values.problem(
                entry.0.span(),
                element,
                "it has no `q`",
                "add `q = …`: a number, a list, or a table by joint",
            );
        }
        // A motion starts and ends at rest unless it says otherwise.
        if free || rows[1].is_some() {
            self.places.insert(format!("{}.v", entry.0.get_ref()), entry.0.span());
        }
        if !free {
            rows[1].get_or_insert_with(|| vec![0.0; n]);
        } else if rows[2].is_some() {
            let element = format!("[{}]", entry.0.get_ref());
            let message = "its velocity is free, its acceleration is not";
            self.values.problem(entry.0.span(), element, message, "leave out `a`, or give `v`");
        }
        if rows[3].is_some() && rows[2].is_none() {
            let element = format!("[{}]", entry.0.get_ref());
            self.values.problem(entry.0.span(), element, "it has `jerk` but no `a`", "add `a = …`");
        }
        BoundaryState { derivatives: rows.into_iter().map_while(|row| row).collect() }
    }

    fn solver(
        &mut self,
        entry: Entry<'_, '_>,
        problem: &MotionProblem,
        options: &mut SolveOptions,
        leave_out_first: &mut Vec<usize>,
        start: &mut Option<PathBuf>,
    ) {
        let Some(table) = self.values.table(entry) else { return };
        for item in table {
            match item.0.get_ref().as_ref() {
                "tolerance" => {
                    if let Some(tolerance) = self.values.positive(item) {
                        options.newton.tolerance = tolerance;
                        options.interior_point.tolerance = tolerance;
                    }
                }
                "max_iterations" => {
                    if let Some(count) = self.values.count(item, 1) {
                        options.newton.max_iterations = count;
                        options.interior_point.max_iterations = count;
                    }
                }
                "leave_out_first" => {
                    for (name, span) in self.values.texts(item) {
                        match problem.terms.iter().position(|term| term.name == name) {
                            Some(index) => leave_out_first.push(index),
                            None => {
                                let names: Vec<&str> =
                                    problem.terms.iter().map(|term| term.name.as_str()).collect();
                                let remedy = suggestion(&name, &names).unwrap_or_default();
                                let message = format!("there is no term `{name}`");
                                self.values.problem(span, "key `leave_out_first`", message, remedy);
                            }
                        }
                    }
                }
                "limits_between" => {
                    if let Some(part) = self.values.not_negative(item) {
                        options.between = part;
                    }
                }
                "start" => *start = self.values.text(item).map(PathBuf::from),
                _ => self.values.unknown(item.0, &SOLVER),
            }
        }
    }
}
