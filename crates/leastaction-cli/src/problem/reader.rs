//! From TOML to a motion problem, every wrong key with its place and a remedy.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use leastaction::mechanism::{BodyId, Mechanism, ModelDescription};
use leastaction::optimize::{
    BoundaryState, Limit, LimitKind, MotionProblem, OptimizeError, Sampling, SolveOptions, Term, TermKind,
    Transcription, ViaPoint,
};
use leastaction::spatial::{Mat3, Quat, Vec3};
use toml::de::{DeTable, DeValue};

use super::ProblemFile;
use super::values::{Entry, Values, number};
use crate::failure::{Failure, suggestion};
use crate::model;

const TOP: [&str; 11] =
    ["schema", "name", "model", "gravity", "trajectory", "start", "end", "terms", "limits", "via", "solver"];
const TRAJECTORY: [&str; 5] = ["duration", "degree", "control_points", "samples", "gauss_points"];
const STATE: [&str; 4] = ["q", "v", "a", "jerk"];
const TERM: [&str; 10] =
    ["kind", "name", "weight", "metric", "links", "order", "body", "point", "target", "about"];
const LIMITS: [&str; 7] =
    ["position", "control_point", "velocity", "acceleration", "jerk", "torque", "torque_rate"];
const VIA: [&str; 4] = ["t", "joint", "value", "order"];
const SOLVER: [&str; 4] = ["tolerance", "max_iterations", "leave_out_first", "start"];
const KINDS: [&str; 15] = [
    "joint_velocity",
    "joint_acceleration",
    "joint_jerk",
    "joint_snap",
    "torque",
    "torque_rate",
    "torque_rate2",
    "link_velocity",
    "link_velocity_rate",
    "link_velocity_rate2",
    "momentum",
    "momentum_rate",
    "point_tracking",
    "orientation_tracking",
    "com_tracking",
];

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
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let message = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
            values.problem(error.span().unwrap_or(0..0), "problem", message, "correct the TOML");
            return Err(refused(values.problems));
        }
    };
    let mut reader = Reader { values, places: HashMap::new(), has_weights: true };
    let done = reader.top(table.get_ref(), path, text, &load)?;
    match done {
        Some(file) if reader.values.problems.is_empty() => Ok(file),
        _ => Err(refused(reader.values.problems)),
    }
}

struct Reader {
    values: Values,
    /// Where things stand that are checked later.
    places: HashMap<String, Range<usize>>,
    has_weights: bool,
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
        for entry in table {
            if !TOP.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &TOP);
            }
        }
        if let Some(entry) = find("schema")
            && let Some(schema) = self.values.text(entry)
            && schema != "leastaction/problem/1"
        {
            let message = format!("`{schema}` is not the schema of a problem");
            self.values.problem(entry.1.span(), "key `schema`", message, "write \"leastaction/problem/1\"");
        }
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
        let mut options = SolveOptions::default();
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
            start: start.map(|p: PathBuf| folder.join(p)),
            options,
            text: text.to_owned(),
        }))
    }

    fn problem(&mut self, table: &DeTable<'_>, mechanism: &Mechanism) -> Option<MotionProblem> {
        let n = mechanism.nv();
        let mut problem = MotionProblem {
            duration: 0.0,
            degree: 5,
            n_control: 50,
            sampling: Sampling::Uniform { count: 200 },
            start: BoundaryState::default(),
            end: BoundaryState::default(),
            terms: Vec::new(),
            limits: Vec::new(),
            via: Vec::new(),
        };
        for key in ["trajectory", "start", "end", "terms"] {
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
                "trajectory" => self.trajectory(entry, &mut problem),
                "start" => problem.start = self.state(entry, n, mechanism),
                "end" => problem.end = self.state(entry, n, mechanism),
                "terms" => {
                    for (i, (table, span)) in self.values.tables(entry).into_iter().enumerate() {
                        if let Some(term) = self.term(table, span, i, mechanism) {
                            problem.terms.push(term);
                        }
                    }
                }
                "limits" => self.limits(entry, mechanism, &mut problem),
                "via" => {
                    for (table, span) in self.values.tables(entry) {
                        self.via(table, span, mechanism, &mut problem);
                    }
                }
                _ => {}
            }
        }
        Some(problem)
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
                "gauss_points" => {
                    let points = self.values.count(entry, 1).unwrap_or(3);
                    problem.sampling = Sampling::Gauss { points };
                }
                _ => self.values.unknown(entry.0, &TRAJECTORY),
            }
        }
        if !has_duration {
            self.values.problem(
                entry.0.span(),
                "key `duration`",
                "it is missing",
                "add `duration = SECONDS`",
            );
        }
    }

    /// One number per coordinate: a number for all, a list, or a table by joint (others are `missing`).
    fn coordinates(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism, missing: f64) -> Option<Vec<f64>> {
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

    fn joint(&mut self, name: &str, span: Range<usize>, mechanism: &Mechanism) -> Option<Range<usize>> {
        let found = mechanism.joint_by_name(name).map(|id| mechanism.v_range(id)).filter(|r| !r.is_empty());
        if found.is_none() {
            let names: Vec<&str> = mechanism
                .tree_joints()
                .map(|id| mechanism.joint(id))
                .filter(|j| j.kind.nv() > 0)
                .map(|j| j.name.as_str())
                .collect();
            let remedy = suggestion(name, names).unwrap_or_default();
            let message = format!("there is no moving joint of that name in `{}`", mechanism.name());
            self.values.problem(span, format!("joint `{name}`"), message, remedy);
        }
        found
    }

    fn body(
        &mut self,
        entry: Entry<'_, '_>,
        text: &str,
        span: Range<usize>,
        mechanism: &Mechanism,
    ) -> Option<BodyId> {
        let found = mechanism.body_by_name(text);
        if found.is_none() {
            let names: Vec<&str> = mechanism.bodies().iter().map(|b| b.name.as_str()).collect();
            let remedy = suggestion(text, names).unwrap_or_default();
            let message = format!("there is no body `{text}` in `{}`", mechanism.name());
            self.values.problem(span, format!("key `{}`", entry.0.get_ref()), message, remedy);
        }
        found
    }

    fn state(&mut self, entry: Entry<'_, '_>, n: usize, mechanism: &Mechanism) -> BoundaryState {
        let Some(table) = self.values.table(entry) else { return BoundaryState::default() };
        let mut rows: [Option<Vec<f64>>; 4] = Default::default();
        for item in table {
            match STATE.iter().position(|key| item.0.get_ref() == key) {
                Some(order) => rows[order] = self.coordinates(item, mechanism, 0.0).or(Some(vec![0.0; n])),
                None => self.values.unknown(item.0, &STATE),
            }
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
        rows[1].get_or_insert_with(|| vec![0.0; n]);
        if rows[3].is_some() && rows[2].is_none() {
            let element = format!("[{}]", entry.0.get_ref());
            self.values.problem(entry.0.span(), element, "it has `jerk` but no `a`", "add `a = …`");
        }
        BoundaryState { derivatives: rows.into_iter().map_while(|row| row).collect() }
    }

    fn term(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        index: usize,
        mechanism: &Mechanism,
    ) -> Option<Term> {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        for entry in table {
            if !TERM.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &TERM);
            }
        }
        let Some(kind_entry) = find("kind") else {
            self.values.problem(
                span,
                format!("term {}", index + 1),
                "it has no `kind`",
                format!("one of {}", KINDS.join(", ")),
            );
            return None;
        };
        let kind = self.values.text(kind_entry)?;
        self.places.insert(format!("term {index}"), kind_entry.1.span());
        let weight = match find("weight") {
            Some(entry) => self.values.not_negative(entry)?,
            None => {
                self.has_weights = false;
                1.0
            }
        };
        let order = match find("order") {
            Some(entry) => Some(self.values.count(entry, 0)?),
            None => None,
        };
        let mut needs = |key: &str, remedy: &str| {
            let found = find(key);
            if found.is_none() {
                self.values.problem(
                    kind_entry.1.span(),
                    format!("term `{kind}`"),
                    format!("it has no `{key}`"),
                    remedy,
                );
            }
            found
        };
        let tracking = match kind.as_str() {
            "point_tracking" => {
                let (body, target) = (
                    needs("body", "name the body that tracks"),
                    needs("target", "give `target = [x, y, z]`"),
                );
                let body = body?;
                let text = self.values.text(body)?;
                let id = self.body(body, &text, body.1.span(), mechanism)?;
                let offset = match find("point") {
                    Some(entry) => Vec3(self.values.fixed(entry)?),
                    None => Vec3::zero(),
                };
                let reference = vec![Vec3(self.values.fixed(target?)?)];
                Some(TermKind::PointTracking { body: id, offset, order: order.unwrap_or(0), reference })
            }
            "orientation_tracking" => {
                let (body, target) = (
                    needs("body", "name the body that tracks"),
                    needs("target", "give `target = [w, x, y, z]`"),
                );
                let body = body?;
                let text = self.values.text(body)?;
                let id = self.body(body, &text, body.1.span(), mechanism)?;
                let target = target?;
                let q = self.values.fixed::<4>(target)?;
                let quat = Quat::from_slice(&q);
                if quat.norm() < 1e-6 {
                    self.values.problem(
                        target.1.span(),
                        "key `target`",
                        "the quaternion has no direction",
                        "give a unit quaternion w, x, y, z",
                    );
                    return None;
                }
                let reference = vec![quat.normalized().to_matrix()];
                Some(TermKind::OrientationTracking { body: id, offset: Mat3::identity(), reference })
            }
            "com_tracking" => {
                let target = needs("target", "give `target = [x, y, z]`")?;
                let reference = vec![Vec3(self.values.fixed(target)?)];
                Some(TermKind::ComTracking { order: order.unwrap_or(0), reference })
            }
            "joint_snap" => Some(TermKind::Joint { order: 4 }),
            _ => None,
        };
        let mut term = match tracking {
            Some(tracking) => Term::new(kind.clone(), tracking, weight),
            None => {
                let Some(term) = Term::by_name(&kind, mechanism, weight) else {
                    let remedy = suggestion(&kind, KINDS).unwrap_or_default();
                    self.values.problem(
                        kind_entry.1.span(),
                        "key `kind`",
                        format!("`{kind}` is not a term"),
                        remedy,
                    );
                    return None;
                };
                term
            }
        };
        match &mut term.kind {
            TermKind::LinkVelocity { bodies, .. } => {
                if let Some(entry) = find("links") {
                    let names = self.values.texts(entry);
                    *bodies =
                        names.into_iter().filter_map(|(t, s)| self.body(entry, &t, s, mechanism)).collect();
                }
            }
            TermKind::Momentum { about_com, .. } => {
                if let Some(entry) = find("about") {
                    match self.values.text(entry)?.as_str() {
                        "com" => *about_com = true,
                        "origin" => *about_com = false,
                        other => {
                            let message = format!("`{other}` is not possible");
                            self.values.problem(
                                entry.1.span(),
                                "key `about`",
                                message,
                                "write \"com\" or \"origin\"",
                            );
                        }
                    }
                }
            }
            _ => {}
        }
        if let Some(entry) = find("metric") {
            self.places.insert("metric".into(), entry.1.span());
            term.metric = self.values.numbers(entry)?;
        }
        if let Some(entry) = find("name") {
            term.name = self.values.text(entry)?;
        }
        Some(term)
    }

    fn limits(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism, problem: &mut MotionProblem) {
        let Some(table) = self.values.table(entry) else { return };
        let kinds = [
            LimitKind::Position,
            LimitKind::ControlPoint,
            LimitKind::Velocity,
            LimitKind::Acceleration,
            LimitKind::Jerk,
            LimitKind::Torque,
            LimitKind::TorqueRate,
        ];
        for item in table {
            let Some(kind) = kinds.into_iter().find(|k| item.0.get_ref() == k.name()) else {
                self.values.unknown(item.0, &LIMITS);
                continue;
            };
            self.places.insert(format!("limits.{}", kind.name()), item.1.span());
            if let Some((lower, upper)) = self.range(item, kind, mechanism) {
                problem.limits.push(Limit { kind, lower, upper });
            }
        }
    }

    /// Lower and upper bounds: a number or a value per joint (both signs), `{ lower, upper }`, or `"model"`.
    fn range(
        &mut self,
        entry: Entry<'_, '_>,
        kind: LimitKind,
        mechanism: &Mechanism,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = mechanism.nv();
        if let DeValue::String(word) = entry.1.get_ref() {
            if word.as_ref() == "model" {
                return self.model_limits(entry, kind, mechanism);
            }
            let element = format!("key `{}`", entry.0.get_ref());
            let message = format!("`{word}` is not possible");
            self.values.problem(
                entry.1.span(),
                element,
                message,
                "give numbers, or \"model\" for the limits of the model",
            );
            return None;
        }
        if let DeValue::Table(table) = entry.1.get_ref()
            && table.iter().any(|(k, _)| matches!(k.get_ref().as_ref(), "lower" | "upper"))
        {
            let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
            for item in table {
                match item.0.get_ref().as_ref() {
                    "lower" => lower = self.coordinates(item, mechanism, f64::NEG_INFINITY)?,
                    "upper" => upper = self.coordinates(item, mechanism, f64::INFINITY)?,
                    _ => self.values.unknown(item.0, &["lower", "upper"]),
                }
            }
            return Some((lower, upper));
        }
        let upper = self.coordinates(entry, mechanism, f64::INFINITY)?;
        Some((upper.iter().map(|x| -x).collect(), upper))
    }

    fn model_limits(
        &mut self,
        entry: Entry<'_, '_>,
        kind: LimitKind,
        mechanism: &Mechanism,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = mechanism.nv();
        let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
        for id in mechanism.tree_joints() {
            let Some(limits) = mechanism.joint(id).limits else { continue };
            for (k, c) in mechanism.v_range(id).enumerate() {
                let (low, high) = match kind {
                    LimitKind::Position | LimitKind::ControlPoint => (limits.lower[k], limits.upper[k]),
                    LimitKind::Velocity => (-limits.velocity, limits.velocity),
                    LimitKind::Torque => (-limits.effort, limits.effort),
                    _ => (f64::NEG_INFINITY, f64::INFINITY),
                };
                (lower[c], upper[c]) = (low, high);
            }
        }
        if lower.iter().chain(&upper).all(|x| x.is_infinite()) {
            let element = format!("key `{}`", entry.0.get_ref());
            let message = format!("`{}` has no {} limits", mechanism.name(), kind.name());
            self.values.problem(entry.1.span(), element, message, "give numbers");
            return None;
        }
        Some((lower, upper))
    }

    fn via(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        mechanism: &Mechanism,
        problem: &mut MotionProblem,
    ) {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        for entry in table {
            if !VIA.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &VIA);
            }
        }
        let (Some(t), Some(joint), Some(value)) = (find("t"), find("joint"), find("value")) else {
            self.values.problem(
                span,
                "via point",
                "it needs `t`, `joint` and `value`",
                "add what is missing",
            );
            return;
        };
        self.places.insert("via".into(), t.1.span());
        let order = find("order").and_then(|entry| self.values.count(entry, 0)).unwrap_or(0);
        let (Some(t), Some(name), Some(value)) =
            (self.values.number(t), self.values.text(joint), self.values.number(value))
        else {
            return;
        };
        let Some(range) = self.joint(&name, joint.1.span(), mechanism) else { return };
        problem.via.push(ViaPoint { t, coordinate: range.start, order, value });
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
                                let names = problem.terms.iter().map(|term| term.name.as_str());
                                let remedy = suggestion(&name, names).unwrap_or_default();
                                let message = format!("there is no term `{name}`");
                                self.values.problem(span, "key `leave_out_first`", message, remedy);
                            }
                        }
                    }
                }
                "start" => *start = self.values.text(item).map(PathBuf::from),
                _ => self.values.unknown(item.0, &SOLVER),
            }
        }
    }

    /// An error of the whole problem, at the key that can mend it.
    fn explain(&mut self, error: &OptimizeError, problem: &MotionProblem, mechanism: &Mechanism) {
        let labels = mechanism.v_labels();
        let joint = |c: usize| labels.get(c).cloned().unwrap_or_default();
        let term = |name: &str| problem.terms.iter().position(|t| t.name == name).unwrap_or(0);
        let (place, element, message, remedy) = match error {
            OptimizeError::TermNeedsDegree { term: name, needed, .. } => (
                "degree".to_owned(),
                "key `degree`",
                error.to_string(),
                format!("give degree = {needed} or more, or leave term {} out", term(name) + 1),
            ),
            OptimizeError::DegreeTooLow { needed, .. } => (
                "degree".into(),
                "key `degree`",
                error.to_string(),
                format!("give a degree from {needed} to 12"),
            ),
            OptimizeError::TooFewControlPoints { needed, .. } => (
                "control_points".into(),
                "key `control_points`",
                error.to_string(),
                format!("give {needed} or more"),
            ),
            OptimizeError::NothingFree { fixed, .. } => (
                "control_points".into(),
                "key `control_points`",
                error.to_string(),
                format!("give more than {fixed}"),
            ),
            OptimizeError::BadSampling { .. } => (
                "samples".into(),
                "key `samples`",
                error.to_string(),
                "give `samples = 200`, or `gauss_points = 3`".into(),
            ),
            OptimizeError::EmptyLimit { kind, coordinate, lower, upper } => (
                format!("limits.{kind}"),
                "table `limits`",
                format!(
                    "the {kind} limits of `{}` are {lower} to {upper}: nothing is between them",
                    joint(*coordinate)
                ),
                "give a lower limit below the upper one".into(),
            ),
            OptimizeError::BoundaryOutsideLimit { end, kind, coordinate, value, lower, upper } => (
                (*end).to_owned(),
                "boundary state",
                format!(
                    "the {end} has {kind} {value} for `{}`, outside its limits {lower} to {upper}",
                    joint(*coordinate)
                ),
                "change the boundary state or widen the limit".into(),
            ),
            OptimizeError::BadViaPoint { .. } => {
                ("via".into(), "via point", error.to_string(), "give a time inside the motion".into())
            }
            OptimizeError::WrongLength { name: "metric", expected, .. } => (
                "metric".into(),
                "key `metric`",
                error.to_string(),
                format!("give {expected} numbers, zero or positive"),
            ),
            OptimizeError::NoTerms => (
                "terms".into(),
                "terms",
                error.to_string(),
                "give at least one term a positive weight".into(),
            ),
            OptimizeError::JointNotServed { .. } => (
                "model".into(),
                "key `model`",
                error.to_string(),
                "use a model of revolute, prismatic, cylindrical, universal and planar joints".into(),
            ),
            _ => (
                "model".into(),
                "problem",
                error.to_string(),
                "see `docs/schema/problem-1.schema.json`".into(),
            ),
        };
        let span = self.places.get(&place).or_else(|| self.places.get("trajectory")).cloned().unwrap_or(0..0);
        self.values.problem(span, element, message, remedy);
    }
}
