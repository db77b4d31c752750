//! From TOML to a control problem, every wrong key with its place and a remedy.

use std::ops::Range;
use std::path::Path;

use leastaction::control::{ControlTerm, ControlTermKind, IlqrOptions, TrackingWeights, When};
use leastaction::integrator::Method;
use leastaction::mechanism::{BodyId, JointRole, Mechanism, State};
use leastaction::spatial::{Quat, Vec3};
use toml::de::{DeTable, DeValue};

use super::control_file::{ControlFile, GuessDraft, TermDraft, add_motors, efforts_to_inputs};
use super::values::{Entry, Values, number};
use crate::args::{Ignore, ReadArgs};
use crate::config::Settings;
use crate::failure::{Failure, suggestion};
use crate::{model, serve};

const TOP: [&str; 11] = [
    "schema", "name", "model", "gravity", "control", "start", "goal", "terms", "limits", "feedback", "solver",
];
const CONTROL: [&str; 7] = ["duration", "step", "integrator", "order", "motors", "ignore", "guess"];
const GUESS: [&str; 4] = ["inputs", "swing", "period", "states"];
const STATE: [&str; 3] = ["state", "q", "v"];
const TERM: [&str; 9] = ["kind", "name", "at", "weight", "metric", "reference", "body", "point", "target"];
const KINDS: [&str; 5] = ["position", "velocity", "input", "point_tracking", "orientation_tracking"];
const FEEDBACK: [&str; 3] = ["position", "velocity", "input"];
const SOLVER: [&str; 4] = ["tolerance", "gap", "max_iterations", "curvature"];

/// Most steps of a problem; derivatives of every step are kept.
const MOST_STEPS: f64 = 100_000.0;

/// Reads the text of a control problem.
pub(super) fn read(text: &str, path: &Path) -> Result<ControlFile, Failure> {
    let refused = |problems| {
        Failure::new(format!("`{}` can't be used as a control problem", path.display()))
            .with_diagnostics(problems)
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
    let mut reader = Reader { values };
    let done = reader.top(table.get_ref(), path, text)?;
    match done {
        Some(file) if reader.values.problems.is_empty() => Ok(file),
        _ => Err(refused(reader.values.problems)),
    }
}

struct Reader {
    values: Values,
}

/// What `[control]` says.
#[derive(Debug, Default)]
struct Horizon {
    duration: f64,
    step: f64,
    integrator: Option<Method>,
    order: u32,
    motors: Vec<(String, Range<usize>)>,
    ignore: Vec<Ignore>,
}

/// What a table of coordinates is about: how many numbers a joint has, and how many there are in all.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Positions,
    Tangents,
}

impl Reader {
    fn top(&mut self, table: &DeTable<'_>, path: &Path, text: &str) -> Result<Option<ControlFile>, Failure> {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        if let (None, Some(entry)) = (find("control"), find("trajectory")) {
            self.values.problem(
                entry.0.span(),
                "table `trajectory`",
                "this is a problem of splines, there is no [control] in it",
                "run `leastaction optimize` on it, or give `[control]` with `duration` and `step`",
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
        for (key, header) in [("model", "`model = \"FILE\"`"), ("control", "a table [control]"), ("terms", "[[terms]]")]
        {
            if find(key).is_none() {
                self.values.problem(0..0, format!("key `{key}`"), "it is missing", format!("add {header}"));
            }
        }
        let (Some(model_entry), Some(control_entry)) = (find("model"), find("control")) else {
            return Ok(None);
        };
        let Some(model_name) = self.values.text(model_entry) else { return Ok(None) };
        let (horizon, guess_entry) = self.horizon(control_entry);
        let folder = path.parent().unwrap_or(Path::new(""));
        let full =
            if model_name.starts_with('@') { model_name } else { folder.join(model_name).display().to_string() };
        let (mut loaded, built) = match model::load(&full, &ReadArgs::default()) {
            Ok(loaded) => loaded,
            Err(failure) => {
                let help = failure.help.clone().unwrap_or_else(|| "name a model file or a built-in".into());
                self.values.problem(model_entry.1.span(), "key `model`", failure.message, help);
                return Ok(None);
            }
        };
        let model_hash = model::hash(&loaded.description);
        if let Some(entry) = find("gravity")
            && let Some(gravity) = self.values.fixed::<3>(entry)
        {
            loaded.description.gravity = gravity;
        }
        let motors = self.motors(&horizon, &built);
        add_motors(&mut loaded.description, &motors);
        let rebuilt = leastaction::mechanism::MechanismBuilder::from(loaded.description.clone())
            .build()
            .map_err(|error| Failure::from_error(&error))?;
        let settings =
            Settings { integrator: horizon.integrator, ignore: horizon.ignore.clone(), ..Settings::default() };
        let served = match serve::prepare(&loaded, rebuilt, &settings) {
            Ok(served) => served,
            Err(failure) => {
                let message =
                    failure.diagnostics.first().map_or(failure.message.clone(), |d| format!("{}: {}", d.element, d.message));
                let remedy = "give `integrator = \"maximal\"` if it closes a loop, or leave it out with `ignore = [KINDS]`";
                self.values.problem(control_entry.0.span(), "table `control`", message, remedy);
                return Ok(None);
            }
        };
        if served.mechanism.nu() == 0 {
            self.values.problem(
                model_entry.1.span(),
                "key `model`",
                format!("`{}` has no inputs", served.mechanism.name()),
                "give joints motors: `motors = \"all\"` or a list of joints in [control]",
            );
            return Ok(None);
        }
        let mut description = loaded.description.clone();
        serve::leave_out(&mut description, &built, &horizon.ignore);
        let (mechanism, efforts) = efforts_to_inputs(&mut description, &served.mechanism)?;
        let start = match find("start") {
            Some(entry) => self.state(entry, &mechanism, mechanism.start_state()),
            None => Some(State { t: 0.0, ..mechanism.start_state() }),
        };
        let goal = match find("goal") {
            Some(entry) => {
                let rest = State { v: vec![0.0; mechanism.nv()], ..mechanism.start_state() };
                self.state(entry, &mechanism, rest).map(Some)
            }
            None => Some(None),
        };
        let (Some(start), Some(goal)) = (start, goal) else { return Ok(None) };
        let mut terms = Vec::new();
        if let Some(entry) = find("terms") {
            for (i, (table, span)) in self.values.tables(entry).into_iter().enumerate() {
                terms.extend(self.term(table, span, i, &mechanism, goal.as_ref()));
            }
            self.check_terms(entry, &terms);
        }
        let (lower, upper) = self.limits(find("limits"), &mechanism, &efforts);
        let tracking = self.feedback(find("feedback"), &mechanism, &terms);
        let guess = match guess_entry {
            Some(entry) => self.guess(entry, &mechanism, goal.is_some()),
            None => GuessDraft::default(),
        };
        let options = self.solver(find("solver"));
        let steps = self.step_count(control_entry, &horizon);
        let name = match find("name") {
            Some(entry) => self.values.text(entry).unwrap_or_default(),
            None => model::slug(&path.display().to_string()),
        };
        Ok(Some(ControlFile {
            name,
            text: text.to_owned(),
            model_hash,
            mechanism,
            motors,
            ignored: served.ignored,
            method: served.method,
            order: horizon.order,
            step: horizon.step,
            steps,
            start: State { t: 0.0, warm: None, ..start },
            goal: goal.map(|goal| State { t: 0.0, warm: None, ..goal }),
            terms,
            lower,
            upper,
            tracking,
            guess,
            options,
        }))
    }

    /// What `[control]` says; the first guess needs the mechanism and is read later.
    fn horizon<'a, 't>(&mut self, entry: Entry<'a, 't>) -> (Horizon, Option<Entry<'a, 't>>) {
        let mut out = Horizon { order: 4, ..Horizon::default() };
        let Some(table) = self.values.table(entry) else { return (out, None) };
        let mut guess = None;
        for item in table {
            match item.0.get_ref().as_ref() {
                "duration" => out.duration = self.values.positive(item).unwrap_or(1.0),
                "step" => out.step = self.values.positive(item).unwrap_or(0.01),
                "order" => {
                    out.order = self.values.count(item, 2).and_then(|n| u32::try_from(n).ok()).unwrap_or(4);
                    if out.order % 2 == 1 || out.order > 16 {
                        let message = format!("{} is not possible", out.order);
                        self.values.problem(item.1.span(), "key `order`", message, "give an even number from 2 to 16");
                    }
                }
                "integrator" => {
                    let Some(text) = self.values.text(item) else { continue };
                    out.integrator = [Method::Minimal, Method::Maximal].into_iter().find(|m| m.name() == text);
                    if out.integrator.is_none() {
                        let message = format!("`{text}` has no derivatives to control with");
                        self.values.problem(
                            item.1.span(),
                            "key `integrator`",
                            message,
                            "write \"minimal\" for trees or \"maximal\" for loops",
                        );
                    }
                }
                "motors" => out.motors = self.values.texts(item),
                "ignore" => {
                    for (text, span) in self.values.texts(item) {
                        match <Ignore as clap::ValueEnum>::from_str(&text, false) {
                            Ok(kind) => out.ignore.push(kind),
                            Err(_) => {
                                let known = ["friction", "mimic", "couplings", "loops", "rolling"];
                                let remedy = suggestion(&text, known).unwrap_or_default();
                                let message = format!("`{text}` can't be left out");
                                self.values.problem(span, "key `ignore`", message, remedy);
                            }
                        }
                    }
                }
                "guess" => guess = Some(item),
                _ => self.values.unknown(item.0, &CONTROL),
            }
        }
        for (key, value) in [("duration", out.duration), ("step", out.step)] {
            if value == 0.0 {
                let element = format!("key `{key}`");
                self.values.problem(entry.0.span(), element, "it is missing", format!("add `{key} = SECONDS`"));
            }
        }
        (out, guess)
    }

    fn step_count(&mut self, entry: Entry<'_, '_>, horizon: &Horizon) -> usize {
        let steps = (horizon.duration / horizon.step.max(1e-300)).round();
        if !(1.0..=MOST_STEPS).contains(&steps) && horizon.step > 0.0 && horizon.duration > 0.0 {
            let message = format!("{} s in steps of {} s are {steps} steps", horizon.duration, horizon.step);
            let remedy = format!("give a duration of 1 to {MOST_STEPS} steps");
            self.values.problem(entry.0.span(), "table `control`", message, remedy);
        }
        steps.clamp(1.0, MOST_STEPS) as usize
    }

    /// Joints that get a motor.
    fn motors(&mut self, horizon: &Horizon, mechanism: &Mechanism) -> Vec<String> {
        let single = |name: &str| {
            mechanism
                .joint_by_name(name)
                .map(|id| mechanism.joint(id))
                .filter(|j| j.role == JointRole::Tree && j.kind.nv() == 1 && j.mimic.is_none())
        };
        let all: Vec<String> = mechanism
            .tree_joints()
            .map(|id| mechanism.joint(id).name.clone())
            .filter(|name| single(name).is_some())
            .collect();
        if horizon.motors.iter().any(|(name, _)| name == "all") {
            return all;
        }
        for (name, span) in &horizon.motors {
            if single(name).is_none() {
                let remedy = suggestion(name, all.iter().map(String::as_str))
                    .unwrap_or_else(|| "the model has no such joint".into());
                let message = format!("`{}` has no tree joint of one coordinate of that name", mechanism.name());
                self.values.problem(span.clone(), format!("joint `{name}`"), message, remedy);
            }
        }
        horizon.motors.iter().map(|(name, _)| name.clone()).collect()
    }

    /// A state: a named one of the model, changed by `q` and `v`.
    fn state(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism, base: State) -> Option<State> {
        let table = self.values.table(entry)?;
        let mut state = base;
        if let Some(item) = table.iter().find(|(k, _)| k.get_ref() == "state") {
            let name = self.values.text(item)?;
            match mechanism.states().get(&name) {
                Some(named) => state = named.clone(),
                None => {
                    let remedy = suggestion(&name, mechanism.states().keys().map(String::as_str))
                        .unwrap_or_else(|| "the model has no named states; give `q`".into());
                    let message = format!("`{name}` is no state of `{}`", mechanism.name());
                    self.values.problem(item.1.span(), "key `state`", message, remedy);
                    return None;
                }
            }
        }
        let mut good = true;
        for item in table {
            match item.0.get_ref().as_ref() {
                "state" => {}
                "q" => match self.coordinates(item, mechanism, Half::Positions, &state.q) {
                    Some(q) => state.q = q,
                    None => good = false,
                },
                "v" => match self.coordinates(item, mechanism, Half::Tangents, &state.v) {
                    Some(v) => state.v = v,
                    None => good = false,
                },
                _ => self.values.unknown(item.0, &STATE),
            }
        }
        if good { self.normalize(entry, mechanism, state) } else { None }
    }

    /// Unit quaternions.
    fn normalize(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism, mut state: State) -> Option<State> {
        for node in mechanism.tree().nodes.iter().filter(|node| node.nq > node.nv) {
            let part = &mut state.q[node.q..node.q + 4];
            let norm = part.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm < 1e-6 {
                let element = format!("joint `{}`", mechanism.joint(node.joint).name);
                let remedy = "give a unit quaternion w, x, y, z first";
                self.values.problem(entry.0.span(), element, "its quaternion has no direction", remedy);
                return None;
            }
            part.iter_mut().for_each(|x| *x /= norm);
        }
        Some(state)
    }

    /// One number per coordinate: a number for all, a list, or a table by joint over `base`.
    fn coordinates(
        &mut self,
        entry: Entry<'_, '_>,
        mechanism: &Mechanism,
        half: Half,
        base: &[f64],
    ) -> Option<Vec<f64>> {
        let n = base.len();
        let element = format!("key `{}`", entry.0.get_ref());
        if let Some(value) = number(entry.1.get_ref()) {
            if half == Half::Positions && mechanism.nq() > mechanism.nv() {
                let message = "one number does not say where a ball or floating joint is";
                self.values.problem(entry.1.span(), element, message, "give a table by joint");
                return None;
            }
            return Some(vec![value; n]);
        }
        let DeValue::Table(table) = entry.1.get_ref() else {
            let values = self.values.numbers(entry)?;
            if values.len() != n {
                let message =
                    format!("it has {} numbers, `{}` has {n} coordinates", values.len(), mechanism.name());
                let remedy = "give one number, one per coordinate, or a table by joint";
                self.values.problem(entry.1.span(), element, message, remedy);
                return None;
            }
            return Some(values);
        };
        let mut out = base.to_vec();
        let mut good = true;
        for item in table {
            let Some(range) = self.joint(item.0.get_ref(), item.0.span(), mechanism, half) else {
                good = false;
                continue;
            };
            let values = match number(item.1.get_ref()) {
                Some(value) if range.len() == 1 || half == Half::Tangents => vec![value; range.len()],
                _ => self.values.numbers(item)?,
            };
            if values.len() == range.len() {
                out[range].copy_from_slice(&values);
            } else {
                let message = format!("it has {} numbers", values.len());
                let element = format!("joint `{}`", item.0.get_ref());
                self.values.problem(item.1.span(), element, message, format!("give {}", range.len()));
                good = false;
            }
        }
        good.then_some(out)
    }

    fn joint(
        &mut self,
        name: &str,
        span: Range<usize>,
        mechanism: &Mechanism,
        half: Half,
    ) -> Option<Range<usize>> {
        let found = mechanism
            .joint_by_name(name)
            .map(|id| if half == Half::Positions { mechanism.q_range(id) } else { mechanism.v_range(id) })
            .filter(|range| !range.is_empty());
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

    /// One number per input: a number for all, a list, or a table by input (others are `missing`).
    fn per_input(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism, missing: f64) -> Option<Vec<f64>> {
        let n = mechanism.nu();
        if let Some(value) = number(entry.1.get_ref()) {
            return Some(vec![value; n]);
        }
        let DeValue::Table(table) = entry.1.get_ref() else {
            let values = self.values.numbers(entry)?;
            if values.len() == n {
                return Some(values);
            }
            let element = format!("key `{}`", entry.0.get_ref());
            let message = format!("it has {} numbers, `{}` has {n} inputs", values.len(), mechanism.name());
            let remedy = "give one number, one per input, or a table by input";
            self.values.problem(entry.1.span(), element, message, remedy);
            return None;
        };
        let mut out = vec![missing; n];
        let mut good = true;
        for item in table {
            let name = item.0.get_ref();
            match mechanism.inputs().iter().position(|input| input == name) {
                Some(index) => match self.values.number(item) {
                    Some(value) => out[index] = value,
                    None => good = false,
                },
                None => {
                    let remedy =
                        suggestion(name, mechanism.inputs().iter().map(String::as_str)).unwrap_or_default();
                    let message = format!("there is no input of that name in `{}`", mechanism.name());
                    self.values.problem(item.0.span(), format!("input `{name}`"), message, remedy);
                    good = false;
                }
            }
        }
        good.then_some(out)
    }

    fn term(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        index: usize,
        mechanism: &Mechanism,
        goal: Option<&State>,
    ) -> Option<TermDraft> {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        for entry in table {
            if !TERM.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &TERM);
            }
        }
        let Some(kind_entry) = find("kind") else {
            let element = format!("term {}", index + 1);
            self.values.problem(span, element, "it has no `kind`", format!("one of {}", KINDS.join(", ")));
            return None;
        };
        let kind = self.values.text(kind_entry)?;
        let when = match find("at") {
            None => When::Path,
            Some(entry) => match self.values.text(entry)?.as_str() {
                "path" => When::Path,
                "end" => When::End,
                other => {
                    let message = format!("`{other}` is not possible");
                    self.values.problem(entry.1.span(), "key `at`", message, "write \"path\" or \"end\"");
                    return None;
                }
            },
        };
        let weight = match find("weight") {
            Some(entry) => self.values.not_negative(entry)?,
            None => 1.0,
        };
        let weighted = |values: Vec<f64>| values.into_iter().map(|w| weight * w).collect::<Vec<f64>>();
        let mut about_hold = false;
        let kind_of_term = match kind.as_str() {
            "position" | "velocity" => {
                let Some(goal) = goal else {
                    let message = "it measures the distance from the goal, and there is none";
                    self.values.problem(kind_entry.1.span(), format!("term `{kind}`"), message, "add a table [goal]");
                    return None;
                };
                let weights = match find("metric") {
                    Some(entry) => {
                        let zeros = vec![0.0; mechanism.nv()];
                        let metric = self.coordinates(entry, mechanism, Half::Tangents, &zeros)?;
                        self.not_negative(entry, &metric)?;
                        weighted(metric)
                    }
                    None => vec![weight; mechanism.nv()],
                };
                if kind == "position" {
                    ControlTermKind::Position { goal: goal.q.clone(), weights }
                } else {
                    ControlTermKind::Velocity { goal: goal.v.clone(), weights }
                }
            }
            "input" => {
                if when == When::End {
                    let message = "no input acts at the end";
                    self.values.problem(kind_entry.1.span(), "term `input`", message, "leave `at` out");
                    return None;
                }
                let weights = match find("metric") {
                    Some(entry) => {
                        let metric = self.per_input(entry, mechanism, 0.0)?;
                        self.not_negative(entry, &metric)?;
                        weighted(metric)
                    }
                    None => vec![weight; mechanism.nu()],
                };
                let reference = match find("reference") {
                    None => vec![0.0; mechanism.nu()],
                    Some(entry) if matches!(entry.1.get_ref(), DeValue::String(_)) => {
                        let word = self.values.text(entry)?;
                        if word != "hold" || goal.is_none() {
                            let message = format!("`{word}` is not possible");
                            let remedy = "give numbers, or \"hold\" for the inputs that hold the [goal]";
                            self.values.problem(entry.1.span(), "key `reference`", message, remedy);
                            return None;
                        }
                        about_hold = true;
                        vec![0.0; mechanism.nu()]
                    }
                    Some(entry) => self.per_input(entry, mechanism, 0.0)?,
                };
                ControlTermKind::Input { reference, weights }
            }
            "point_tracking" | "orientation_tracking" => {
                let body = self.body(find("body"), kind_entry, &kind, mechanism)?;
                let Some(target) = find("target") else {
                    let remedy = "give `target = [x, y, z]`, of an orientation `[w, x, y, z]`";
                    self.values.problem(kind_entry.1.span(), format!("term `{kind}`"), "it has no `target`", remedy);
                    return None;
                };
                let metric = match find("metric") {
                    Some(entry) => self.values.fixed::<3>(entry)?,
                    None => [1.0; 3],
                };
                let weights = metric.map(|w| weight * w);
                if kind == "point_tracking" {
                    let point = match find("point") {
                        Some(entry) => Vec3(self.values.fixed(entry)?),
                        None => Vec3::zero(),
                    };
                    ControlTermKind::Point { body, point, target: Vec3(self.values.fixed(target)?), weights }
                } else {
                    let turn = Quat::from_slice(&self.values.fixed::<4>(target)?);
                    if turn.norm() < 1e-6 {
                        let message = "the quaternion has no direction";
                        let remedy = "give a unit quaternion w, x, y, z";
                        self.values.problem(target.1.span(), "key `target`", message, remedy);
                        return None;
                    }
                    ControlTermKind::Orientation { body, target: turn.normalized().to_matrix(), weights }
                }
            }
            _ => {
                let remedy = suggestion(&kind, KINDS).unwrap_or_default();
                let message = format!("`{kind}` is not a term of a control problem");
                self.values.problem(kind_entry.1.span(), "key `kind`", message, remedy);
                return None;
            }
        };
        let name = match find("name") {
            Some(entry) => self.values.text(entry)?,
            None => format!("{kind}{}", if when == When::End { " at the end" } else { "" }),
        };
        Some(TermDraft { name, term: ControlTerm { when, kind: kind_of_term }, about_hold })
    }

    fn not_negative(&mut self, entry: Entry<'_, '_>, values: &[f64]) -> Option<()> {
        if let Some(bad) = values.iter().find(|x| **x < 0.0) {
            let element = format!("key `{}`", entry.0.get_ref());
            let message = format!("{bad} is not possible");
            self.values.problem(entry.1.span(), element, message, "give zeros or positive numbers");
            return None;
        }
        Some(())
    }

    fn body(
        &mut self,
        entry: Option<Entry<'_, '_>>,
        kind_entry: Entry<'_, '_>,
        kind: &str,
        mechanism: &Mechanism,
    ) -> Option<BodyId> {
        let Some(entry) = entry else {
            let remedy = "name the body that tracks";
            self.values.problem(kind_entry.1.span(), format!("term `{kind}`"), "it has no `body`", remedy);
            return None;
        };
        let text = self.values.text(entry)?;
        let found = mechanism.body_by_name(&text);
        if found.is_none() {
            let names = mechanism.bodies().iter().map(|b| b.name.as_str());
            let remedy = suggestion(&text, names).unwrap_or_default();
            let message = format!("there is no body `{text}` in `{}`", mechanism.name());
            self.values.problem(entry.1.span(), "key `body`", message, remedy);
        }
        found
    }

    /// Every input must cost something, or the best one is infinite.
    fn check_terms(&mut self, entry: Entry<'_, '_>, terms: &[TermDraft]) {
        if !self.values.problems.is_empty() {
            return;
        }
        let priced = terms.iter().any(|draft| {
            matches!(&draft.term.kind, ControlTermKind::Input { weights, .. } if weights.iter().all(|w| *w > 0.0))
        });
        if !priced {
            self.values.problem(
                entry.0.span(),
                "terms",
                "no term gives every input a price",
                "add a term of kind \"input\" with a positive weight",
            );
        }
    }

    fn limits(
        &mut self,
        entry: Option<Entry<'_, '_>>,
        mechanism: &Mechanism,
        efforts: &[f64],
    ) -> (Vec<f64>, Vec<f64>) {
        let model = (efforts.iter().map(|x| -x).collect::<Vec<f64>>(), efforts.to_vec());
        let Some(table) = entry.and_then(|entry| self.values.table(entry)) else { return model };
        let mut out = model.clone();
        for item in table {
            if item.0.get_ref() != "input" {
                self.values.unknown(item.0, &["input"]);
                continue;
            }
            let n = mechanism.nu();
            let (lower, upper) = match item.1.get_ref() {
                DeValue::String(word) => {
                    if word.as_ref() != "model" {
                        let message = format!("`{word}` is not possible");
                        let remedy = "give numbers, or \"model\" for the effort limits of the model";
                        self.values.problem(item.1.span(), "key `input`", message, remedy);
                    } else if efforts.iter().all(|x| x.is_infinite()) {
                        let message = format!("`{}` has no effort limits", mechanism.name());
                        self.values.problem(item.1.span(), "key `input`", message, "give numbers");
                    }
                    continue;
                }
                DeValue::Table(pair)
                    if pair.iter().any(|(k, _)| matches!(k.get_ref().as_ref(), "lower" | "upper")) =>
                {
                    let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
                    for side in pair {
                        let read = match side.0.get_ref().as_ref() {
                            "lower" => self.per_input(side, mechanism, f64::NEG_INFINITY).map(|x| lower = x),
                            "upper" => self.per_input(side, mechanism, f64::INFINITY).map(|x| upper = x),
                            _ => {
                                self.values.unknown(side.0, &["lower", "upper"]);
                                None
                            }
                        };
                        if read.is_none() {
                            return out;
                        }
                    }
                    (lower, upper)
                }
                _ => {
                    let Some(upper) = self.per_input(item, mechanism, f64::INFINITY) else { return out };
                    (upper.iter().map(|x| -x).collect(), upper)
                }
            };
            for i in 0..n {
                if lower[i] >= upper[i] {
                    let message = format!(
                        "the limits of input `{}` are {} to {}: nothing is between them",
                        mechanism.inputs()[i],
                        lower[i],
                        upper[i]
                    );
                    let remedy = "give a lower limit below the upper one";
                    self.values.problem(item.1.span(), "key `input`", message, remedy);
                    return out;
                }
                if upper[i] > efforts[i] || lower[i] < -efforts[i] {
                    let message = format!(
                        "the limits of input `{}` are {} to {}, but its joint's effort limit allows {} only",
                        mechanism.inputs()[i],
                        lower[i],
                        upper[i],
                        efforts[i]
                    );
                    let remedy = "give limits within it, or \"model\"";
                    self.values.problem(item.1.span(), "key `input`", message, remedy);
                    return out;
                }
            }
            out = (lower, upper);
        }
        out
    }

    /// Weights of the feedback: by default one for states, and what the path's costs say of inputs.
    fn feedback(
        &mut self,
        entry: Option<Entry<'_, '_>>,
        mechanism: &Mechanism,
        terms: &[TermDraft],
    ) -> TrackingWeights {
        let n = mechanism.nv();
        let mut input = vec![0.0; mechanism.nu()];
        for draft in terms {
            if let ControlTermKind::Input { weights, .. } = &draft.term.kind {
                input.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w);
            }
        }
        let (mut position, mut velocity) = (vec![1.0; n], vec![1.0; n]);
        if let Some(table) = entry.and_then(|entry| self.values.table(entry)) {
            for item in table {
                let read = match item.0.get_ref().as_ref() {
                    "position" => {
                        let read = self.coordinates(item, mechanism, Half::Tangents, &position);
                        read.map(|x| position = x)
                    }
                    "velocity" => {
                        let read = self.coordinates(item, mechanism, Half::Tangents, &velocity);
                        read.map(|x| velocity = x)
                    }
                    "input" => self.per_input(item, mechanism, 1.0).map(|x| input = x),
                    _ => {
                        self.values.unknown(item.0, &FEEDBACK);
                        None
                    }
                };
                let values = match item.0.get_ref().as_ref() {
                    "position" => &position,
                    "velocity" => &velocity,
                    _ => &input,
                };
                let least = if item.0.get_ref() == "input" { f64::MIN_POSITIVE } else { 0.0 };
                if read.is_some()
                    && let Some(bad) = values.iter().find(|x| **x < least)
                {
                    let element = format!("key `{}`", item.0.get_ref());
                    let remedy = "give positive numbers";
                    self.values.problem(item.1.span(), element, format!("{bad} is not possible"), remedy);
                }
            }
        }
        TrackingWeights { state: [position, velocity].concat(), input }
    }

    fn guess(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism, has_goal: bool) -> GuessDraft {
        let mut out = GuessDraft::default();
        let Some(table) = self.values.table(entry) else { return out };
        let (mut swing, mut period) = (None, None);
        for item in table {
            match item.0.get_ref().as_ref() {
                "inputs" => out.inputs = self.per_input(item, mechanism, 0.0),
                "swing" => swing = self.per_input(item, mechanism, 0.0),
                "period" => period = self.values.positive(item),
                "states" => match self.values.text(item).as_deref() {
                    Some("line") if has_goal => out.line = true,
                    Some("roll") | None => {}
                    Some(other) => {
                        let message = format!("`{other}` is not possible");
                        let remedy = "write \"roll\", or \"line\" if there is a [goal]";
                        self.values.problem(item.1.span(), "key `states`", message, remedy);
                    }
                },
                _ => self.values.unknown(item.0, &GUESS),
            }
        }
        out.swing = match (swing, period) {
            (Some(swing), Some(period)) => Some((swing, period)),
            (None, None) => None,
            _ => {
                let message = "`swing` and `period` belong together";
                self.values.problem(entry.0.span(), "table `guess`", message, "add what is missing");
                None
            }
        };
        out
    }

    fn solver(&mut self, entry: Option<Entry<'_, '_>>) -> IlqrOptions {
        let mut options = IlqrOptions::default();
        let Some(table) = entry.and_then(|entry| self.values.table(entry)) else { return options };
        for item in table {
            match item.0.get_ref().as_ref() {
                "tolerance" => {
                    options.tolerance = self.values.positive(item).unwrap_or(options.tolerance);
                }
                "gap" => options.gap = self.values.positive(item).unwrap_or(options.gap),
                "max_iterations" => {
                    options.max_iterations = self.values.count(item, 1).unwrap_or(options.max_iterations);
                }
                "curvature" => match item.1.get_ref() {
                    DeValue::Boolean(value) => options.curvature = *value,
                    other => {
                        let message = format!("its value is of type {}", other.type_str());
                        self.values.problem(item.1.span(), "key `curvature`", message, "give `true` or `false`");
                    }
                },
                _ => self.values.unknown(item.0, &SOLVER),
            }
        }
        options
    }
}
