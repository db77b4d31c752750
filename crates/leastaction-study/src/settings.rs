//! [`Settings`]: what a user said about a run, by flags and by a scenario file; [`Config`]: what it comes to.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use leastaction::integrator::Method;

use crate::args::{
    Assignment, Base, CompositionName, Ignore, InputArgs, IterationName, LimitMode, MapName, ModelArgs,
    RandomVelocity, StartArgs, StepArgs,
};
use crate::failure::Failure;

/// Default time step in seconds.
pub const DEFAULT_STEP: f64 = 0.005;
/// Default duration in seconds.
pub const DEFAULT_DURATION: f64 = 10.0;

/// Everything that can be said about a run; `None` and empty lists where nothing was said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// File or built-in.
    pub model: Option<String>,
    /// How a URDF's root is held.
    pub base: Option<Base>,
    /// Where `package://` is looked up.
    pub package_path: Vec<PathBuf>,
    /// Time stepping method.
    pub integrator: Option<Method>,
    /// Order of accuracy.
    pub order: Option<u32>,
    /// Time step in seconds.
    pub step: Option<f64>,
    /// Seconds to run.
    pub duration: Option<f64>,
    /// Steps between rows.
    pub every: Option<u64>,
    /// Of the nonlinear solve or the error control.
    pub tolerance: Option<f64>,
    /// How the minimal integrator solves a step.
    pub iteration: Option<IterationName>,
    /// How the maximal integrator turns bodies.
    pub rotation_map: Option<MapName>,
    /// How the maximal integrator reaches order 4.
    pub composition: Option<CompositionName>,
    /// In m/s².
    pub gravity: Option<[f64; 3]>,
    /// What joint limits do.
    pub limits: Option<LimitMode>,
    /// Elements to leave out.
    pub ignore: Vec<Ignore>,
    /// No damping and friction.
    pub undamped: Option<bool>,
    /// State file or named state.
    pub start: Option<String>,
    /// Named state.
    pub state: Option<String>,
    /// Velocities drawn at random.
    pub random_velocity: Option<RandomVelocity>,
    /// Positions by joint.
    pub q: Vec<Assignment>,
    /// Velocities by joint.
    pub v: Vec<Assignment>,
    /// Constant inputs by name.
    pub inputs: Vec<Assignment>,
    /// Table of inputs over time.
    pub inputs_file: Option<PathBuf>,
    /// Policy of `control`.
    pub policy: Option<PathBuf>,
    /// The policy without its feedback.
    pub open_loop: Option<bool>,
    /// Folder of the results.
    pub out: Option<PathBuf>,
    /// Whether a report is written.
    pub report: Option<bool>,
    /// Whether constraint forces are written.
    pub forces: Option<bool>,
}

impl Settings {
    /// What the flags that verbs share say.
    pub fn from_flags(model: &ModelArgs, step: &StepArgs, start: &StartArgs, input: &InputArgs) -> Self {
        Self {
            base: model.read.base,
            package_path: model.read.package_path.clone(),
            gravity: model.gravity,
            limits: model.limits,
            ignore: model.ignore.clone(),
            undamped: model.undamped.then_some(true),
            integrator: step.integrator,
            order: step.order,
            step: step.step,
            tolerance: step.tolerance,
            iteration: step.iteration,
            rotation_map: step.rotation_map,
            composition: step.composition,
            random_velocity: start.random_velocity,
            q: start.q.clone(),
            v: start.v.clone(),
            start: start.start.clone(),
            state: start.state.clone(),
            inputs: input.input.clone(),
            inputs_file: input.inputs.clone(),
            ..Self::default()
        }
    }

    /// These settings where they say something, `below` where they don't.
    pub fn over(self, below: Self) -> Self {
        fn list<T>(above: Vec<T>, below: Vec<T>) -> Vec<T> {
            if above.is_empty() { below } else { above }
        }
        // One joint or input at a time: a flag for one leaves the file's word on the others.
        fn by_name(above: Vec<Assignment>, below: Vec<Assignment>) -> Vec<Assignment> {
            let mut merged = below;
            for assignment in above {
                merged.retain(|a| a.name != assignment.name);
                merged.push(assignment);
            }
            merged
        }
        // Two ways to say where to start: the nearer one counts.
        let (start, state) = if self.start.is_some() || self.state.is_some() {
            (self.start, self.state)
        } else {
            (below.start, below.state)
        };
        Self {
            model: self.model.or(below.model),
            base: self.base.or(below.base),
            package_path: list(self.package_path, below.package_path),
            integrator: self.integrator.or(below.integrator),
            order: self.order.or(below.order),
            step: self.step.or(below.step),
            duration: self.duration.or(below.duration),
            every: self.every.or(below.every),
            tolerance: self.tolerance.or(below.tolerance),
            iteration: self.iteration.or(below.iteration),
            rotation_map: self.rotation_map.or(below.rotation_map),
            composition: self.composition.or(below.composition),
            gravity: self.gravity.or(below.gravity),
            limits: self.limits.or(below.limits),
            ignore: list(self.ignore, below.ignore),
            undamped: self.undamped.or(below.undamped),
            start,
            state,
            random_velocity: self.random_velocity.or(below.random_velocity),
            q: by_name(self.q, below.q),
            v: by_name(self.v, below.v),
            inputs: by_name(self.inputs, below.inputs),
            inputs_file: self.inputs_file.or(below.inputs_file),
            policy: self.policy.or(below.policy),
            open_loop: self.open_loop.or(below.open_loop),
            out: self.out.or(below.out),
            report: self.report.or(below.report),
            forces: self.forces.or(below.forces),
        }
    }

    /// Paths of a scenario file are relative to its folder.
    pub fn relative_to(mut self, folder: &Path) -> Self {
        let here = |path: PathBuf| if path.is_relative() { folder.join(path) } else { path };
        self.model = self.model.map(|model| match model.starts_with('@') {
            true => model,
            false => here(PathBuf::from(model)).display().to_string(),
        });
        self.start = self.start.map(|start| {
            let file = here(PathBuf::from(&start));
            if file.is_file() { file.display().to_string() } else { start }
        });
        self.package_path = self.package_path.into_iter().map(here).collect();
        self.inputs_file = self.inputs_file.map(here);
        self.policy = self.policy.map(here);
        self
    }

    /// The same for machines.
    pub fn to_json(&self) -> serde_json::Value {
        toml::from_str(&self.to_toml()).unwrap_or_default()
    }

    /// The settings as a scenario file that does the same.
    pub fn to_toml(&self) -> String {
        let mut top = Table::default();
        top.text("model", self.model.as_deref());
        top.text("base", self.base.map(word).as_deref());
        top.list("package_path", self.package_path.iter().map(|p| string(&p.display().to_string())));
        top.text("integrator", self.integrator.map(Method::name));
        top.value("order", self.order);
        top.number("step", self.step);
        top.number("duration", self.duration);
        top.value("every", self.every);
        top.number("tolerance", self.tolerance);
        top.text("iteration", self.iteration.map(word).as_deref());
        top.text("rotation_map", self.rotation_map.map(word).as_deref());
        top.text("composition", self.composition.map(word).as_deref());
        top.list("gravity", self.gravity.iter().flatten().map(|x| float(*x)));
        top.text("limits", self.limits.map(word).as_deref());
        top.list("ignore", self.ignore.iter().map(|kind| string(&word(*kind))));
        top.value("undamped", self.undamped);
        top.text("inputs_file", self.inputs_file.as_ref().map(|p| p.display().to_string()).as_deref());
        top.text("policy", self.policy.as_ref().map(|p| p.display().to_string()).as_deref());
        top.value("open_loop", self.open_loop);
        let mut initial = Table::default();
        initial.text("start", self.start.as_deref());
        initial.text("state", self.state.as_deref());
        let random = self.random_velocity.iter();
        initial.list("random_velocity", random.flat_map(|r| [r.seed.to_string(), float(r.most)]));
        let mut output = Table::default();
        output.text("dir", self.out.as_ref().map(|p| p.display().to_string()).as_deref());
        output.value("report", self.report);
        output.value("forces", self.forces);
        let mut text = top.0;
        for (name, body) in [
            ("initial", initial.0),
            ("initial.q", assignments(&self.q)),
            ("initial.v", assignments(&self.v)),
            ("inputs", assignments(&self.inputs)),
            ("output", output.0),
        ] {
            if !body.is_empty() {
                text.push_str(&format!("\n[{name}]\n{body}"));
            }
        }
        text
    }
}

/// The name of a choice as flags and files spell it.
pub fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Lines of `key = value`.
#[derive(Default)]
struct Table(String);

impl Table {
    fn value(&mut self, key: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.push_str(&format!("{key} = {}\n", value.to_string()));
        }
    }
    fn text(&mut self, key: &str, value: Option<&str>) {
        self.value(key, value.map(string));
    }
    fn number(&mut self, key: &str, value: Option<f64>) {
        self.value(key, value.map(float));
    }
    fn list(&mut self, key: &str, values: impl Iterator<Item = String>) {
        let values: Vec<String> = values.collect();
        self.value(key, (!values.is_empty()).then(|| format!("[{}]", values.join(", "))));
    }
}

fn string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The shortest text that reads back as the same number; always a float to TOML.
fn float(value: f64) -> String {
    format!("{value:?}")
}

fn assignments(list: &[Assignment]) -> String {
    let mut table = Table::default();
    for assignment in list {
        let bare = assignment.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let key = if bare && !assignment.name.is_empty() {
            assignment.name.clone()
        } else {
            string(&assignment.name)
        };
        match assignment.values.as_slice() {
            [one] => table.number(&key, Some(*one)),
            many => table.value(
                &key,
                Some(format!("[{}]", many.iter().map(|x| float(*x)).collect::<Vec<_>>().join(", "))),
            ),
        }
    }
    table.0
}

/// The number of steps of a duration.
pub fn step_count(duration: f64, step: f64) -> Result<u64, Failure> {
    let steps = (duration / step).round();
    if steps < 1.0 {
        return Err(Failure::new(format!(
            "a duration of {duration} s is shorter than half a step of {step} s"
        ))
        .help("give a longer `--duration` or a shorter `--step`"));
    }
    if steps > 1e15 {
        return Err(Failure::new(format!("{steps:e} steps of {step} s are more than can be counted"))
            .help("give a shorter `--duration` or a longer `--step`"));
    }
    Ok(steps as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Settings {
        Settings {
            model: Some("a \"b\".urdf".into()),
            base: Some(Base::Floating),
            package_path: vec!["p".into()],
            integrator: Some(Method::SemiImplicit),
            order: Some(4),
            step: Some(0.1 + 0.2),
            duration: Some(1e-7),
            every: Some(3),
            tolerance: Some(1e-12),
            iteration: Some(IterationName::Newton),
            rotation_map: Some(MapName::Cayley),
            composition: Some(CompositionName::Yoshida),
            gravity: Some([0.0, -1.5, 1e20]),
            limits: Some(LimitMode::Off),
            ignore: vec![Ignore::Friction, Ignore::Loops],
            undamped: Some(true),
            start: Some("s.json".into()),
            state: None,
            random_velocity: Some(RandomVelocity { seed: 7, most: 0.5 }),
            q: vec![Assignment { name: "joint.1".into(), values: vec![1.0, 0.0, 0.0, 0.0] }],
            v: vec![Assignment { name: "j-2".into(), values: vec![-3.0] }],
            inputs: vec![Assignment { name: "µ".into(), values: vec![2.5] }],
            inputs_file: Some("u.csv".into()),
            policy: Some("policy.json".into()),
            open_loop: Some(true),
            out: Some("o".into()),
            report: Some(false),
            forces: Some(true),
        }
    }

    #[test]
    fn printed_settings_are_read_as_the_same_settings() {
        let text = full().to_toml();
        let read = crate::config_toml::parse(&text, Path::new("x.toml")).unwrap_or_default();
        assert_eq!(read, full(), "{text}");
        assert_eq!(read.to_toml(), text);
    }

    #[test]
    fn flags_win_over_the_file_one_joint_at_a_time() {
        let joint = |name: &str, value| Assignment { name: name.into(), values: vec![value] };
        let flags = Settings {
            step: Some(1.0),
            q: vec![joint("b", 5.0)],
            state: Some("home".into()),
            ..Default::default()
        };
        let file = Settings { q: vec![joint("a", 1.0), joint("b", 2.0)], ..full() };
        let merged = flags.over(file);
        assert_eq!(merged.step, Some(1.0));
        assert_eq!(merged.q, [joint("a", 1.0), joint("b", 5.0)]);
        assert_eq!((merged.start, merged.state.as_deref()), (None, Some("home")));
        assert_eq!(merged.order, Some(4));
    }

    #[test]
    fn steps_are_counted_to_the_nearest_whole_one() {
        assert_eq!(step_count(10.0, 0.005).ok(), Some(2000));
        assert_eq!(step_count(1.0, 0.3).ok(), Some(3));
        assert!(step_count(0.001, 0.005).is_err());
        assert!(step_count(1e300, 1e-300).is_err());
    }
}
