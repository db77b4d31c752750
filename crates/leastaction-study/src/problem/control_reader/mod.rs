//! From TOML to a control problem, every wrong key with its place and a remedy.

mod coordinates;
mod settings;
mod terms;

use std::ops::Range;
use std::path::Path;

use leastaction::integrator::Method;
use leastaction::mechanism::{HalfSpaceDescription, JointRole, Mechanism, State};
use toml::de::DeTable;

use super::control_file::{ControlFile, GuessDraft, add_motors, efforts_to_inputs};
use crate::choice::{Choice, ContactMode, Ignore};
use crate::failure::{Failure, names, suggestion};
use crate::field::Kind;
use crate::settings::Settings;
use crate::values::{Entry, Values};
use crate::{model, serve};

const TOP: [&str; 11] = [
    "schema", "name", "model", "gravity", "control", "start", "goal", "terms", "limits", "feedback", "solver",
];
const CONTROL: [&str; 10] =
    ["duration", "step", "integrator", "order", "motors", "ignore", "guess", "contact", "ground", "relaxed"];

/// Most steps of a problem; derivatives of every step are kept.
const MOST_STEPS: f64 = 100_000.0;

/// Reads the text of a control problem.
pub(super) fn read(text: &str, path: &Path) -> Result<ControlFile, Failure> {
    let refused = |problems| {
        Failure::new(format!("`{}` can't be used as a control problem", path.display()))
            .with_diagnostics(problems)
    };
    let mut values = Values::new(path, text);
    let Some(table) = values.parse(text, "problem") else { return Err(refused(values.problems)) };
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
    order: Option<(u32, Range<usize>)>,
    motors: Vec<(String, Range<usize>)>,
    ignore: Vec<Ignore>,
    contact: Option<ContactMode>,
    ground: Option<bool>,
    relaxed: Option<f64>,
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
        self.values.head(table, &TOP);
        for (key, header) in
            [("model", "`model = \"FILE\"`"), ("control", "a table [control]"), ("terms", "[[terms]]")]
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
        let full = if model_name.starts_with('@') {
            model_name
        } else {
            folder.join(model_name).display().to_string()
        };
        let reading = Settings { contact: horizon.contact, ground: horizon.ground, ..Settings::default() };
        let (mut loaded, built) = match model::load(&full, &reading.reading()) {
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
        let settings = Settings {
            integrator: horizon.integrator,
            ignore: horizon.ignore.clone(),
            contact: horizon.contact,
            ground: horizon.ground,
            relaxed: horizon.relaxed,
            ..Settings::default()
        };
        let served = match serve::prepare(&loaded, rebuilt, &settings) {
            Ok(served) => served,
            Err(failure) => {
                let message = failure
                    .diagnostics
                    .first()
                    .map_or(failure.message.clone(), |d| format!("{}: {}", d.element, d.message));
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
        if horizon.ground == Some(true) && !description.surfaces.is_empty() {
            description.half_spaces.push(HalfSpaceDescription::ground());
        }
        let (mut mechanism, efforts) = efforts_to_inputs(&mut description, &served.mechanism)?;
        mechanism.set_contacts(served.mechanism.contacts().to_vec());
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
        let order = self.order(&horizon, served.method);
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
            notes: served.notes,
            relaxed: horizon.relaxed,
            method: served.method,
            order,
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

    /// The order of the plant: 4 unless given, and 2 for the maximal integrator, whose steps have derivatives at that order.
    fn order(&mut self, horizon: &Horizon, method: Method) -> u32 {
        match &horizon.order {
            Some((order, span)) if method == Method::Maximal && *order != 2 => {
                let message = format!("the maximal integrator is controlled at order 2, not {order}");
                self.values.problem(span.clone(), "key `order`", message, "leave `order` out");
                2
            }
            Some((order, _)) => *order,
            None if method == Method::Maximal => 2,
            None => 4,
        }
    }

    /// What `[control]` says; the first guess needs the mechanism and is read later.
    fn horizon<'a, 't>(&mut self, entry: Entry<'a, 't>) -> (Horizon, Option<Entry<'a, 't>>) {
        let mut out = Horizon::default();
        let Some(table) = self.values.table(entry) else { return (out, None) };
        let mut guess = None;
        for item in table {
            match item.0.get_ref().as_ref() {
                "duration" => out.duration = self.values.positive(item).unwrap_or(1.0),
                "step" => out.step = self.values.positive(item).unwrap_or(0.01),
                "order" => {
                    let order = self.values.count(item, 2).and_then(|n| u32::try_from(n).ok()).unwrap_or(4);
                    out.order = Some((order, item.1.span()));
                    if order % 2 == 1 || order > 16 {
                        let message = format!("{order} is not possible");
                        self.values.problem(
                            item.1.span(),
                            "key `order`",
                            message,
                            "give an even number from 2 to 16",
                        );
                    }
                }
                "integrator" => {
                    let Some(text) = self.values.text(item) else { continue };
                    out.integrator =
                        [Method::Minimal, Method::Maximal].into_iter().find(|m| m.name() == text);
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
                        if self.values.is_possible(item, &text, span, Kind::Word(Ignore::WORDS)) {
                            out.ignore.extend(Ignore::from_word(&text));
                        }
                    }
                }
                "contact" => {
                    let Some(text) = self.values.text(item) else { continue };
                    if self.values.is_possible(item, &text, item.1.span(), Kind::Word(ContactMode::WORDS)) {
                        out.contact = ContactMode::from_word(&text);
                    }
                }
                "ground" => out.ground = self.values.boolean(item),
                "relaxed" => out.relaxed = self.values.positive(item),
                "guess" => guess = Some(item),
                _ => self.values.unknown(item.0, &CONTROL),
            }
        }
        for (key, value) in [("duration", out.duration), ("step", out.step)] {
            if value == 0.0 {
                let element = format!("key `{key}`");
                self.values.problem(
                    entry.0.span(),
                    element,
                    "it is missing",
                    format!("add `{key} = SECONDS`"),
                );
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
                .filter(|j| j.role == JointRole::Tree && j.kind.nv() == 1)
                .filter(|j| j.mimic.is_none() || horizon.ignore.contains(&Ignore::Mimic))
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
                let remedy =
                    suggestion(name, &names(&all)).unwrap_or_else(|| "the model has no such joint".into());
                let message =
                    format!("`{}` has no tree joint of one coordinate of that name", mechanism.name());
                self.values.problem(span.clone(), format!("joint `{name}`"), message, remedy);
            }
        }
        horizon.motors.iter().map(|(name, _)| name.clone()).collect()
    }
}
