//! [`Settings`]: what a user said about a run, by flags and by a scenario file, and the table of all that can be said.
//!
//! A line of the table below is a flag of the command, a key of the scenario file and a line of `--print-config`.

use std::path::{Path, PathBuf};

use leastaction::integrator::Method;
use leastaction::io::{UrdfBase, UrdfOptions, View};
use serde_json::{Value as Json, json};

use crate::choice::{
    Base, Choice, ContactMode, EventMode, FrictionMode, Ignore, IterationName, LimitMode, MapName, Repair,
    ViewName,
};
use crate::failure::Failure;
use crate::field::{Assignment, COUNT, Field, Kind, Value};
use crate::slot::{RandomVelocity, Slot};

/// Default time step in seconds.
pub const DEFAULT_STEP: f64 = 0.005;
/// Default duration in seconds.
pub const DEFAULT_DURATION: f64 = 10.0;
/// Tolerances below cannot be met in double precision, above they leave nothing of a step's accuracy.
const TOLERANCES: Kind = Kind::Range(1e-16, 0.1);

/// Settings that verbs take or leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Which model: each verb has an argument of its own.
    Model,
    /// How its file is read.
    Read,
    /// How time is stepped.
    Step,
    /// Which derivative a step has.
    Derivative,
    /// How long, and how often a row is written.
    Time,
    /// What is changed about the model.
    Change,
    /// What acts from outside.
    Input,
    /// A policy that says what acts.
    Policy,
    /// A state to start from.
    From,
    /// Positions and velocities by joint.
    Start,
    /// What is written.
    Output,
    /// How files are kept from being lost.
    Durable,
}

/// A field of the settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// With which others it goes.
    pub group: Group,
    /// Key, flag, kind, default, help.
    pub field: Field,
    /// What was said about it.
    pub given: fn(&Settings) -> Vec<Value>,
    /// Says it.
    pub take: fn(&mut Settings, Vec<Value>),
}

macro_rules! settings {
    ($($group:ident: $(#[doc = $help:literal])+ $name:ident: $type:ty = $field:expr;)+) => {
        /// Everything that can be said about a run; `None` and empty lists where nothing was said.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings {
            $($(#[doc = $help])+ pub $name: $type,)+
        }

        /// The table: in the order of a scenario file.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            group: Group::$group,
            field: $field.help(concat!($($help),+)),
            given: |settings| settings.$name.given(),
            take: |settings, values| settings.$name.hold(values),
        },)+];
    };
}

/// A field whose key is its flag with underscores.
const fn field(key: &'static str, flag: &'static str, value: &'static str, kind: Kind) -> Field {
    Field::flag(flag, value, kind, "").key(key)
}

settings! {
    Model:
    /// URDF, MJCF or JSON file, or a built-in
    model: Option<String> = field("model", "", "MODEL", Kind::Text);
    Read:
    /// How a URDF's root is held to the ground
    base: Option<Base> = field("base", "base", "BASE", Kind::Word(Base::WORDS));
    Read:
    /// Folder that `package://NAME/` is looked up in and MJCF may include files from (may be given several times)
    package_path: Vec<PathBuf> = field("package_path", "package-path", "DIR", Kind::Path).many();
    Read:
    /// Density in kg/m³ that gives links of a URDF without `<inertial>` a mass, from their collision shapes or what is drawn
    density: Option<f64> = field("density", "density", "RHO", Kind::Positive);
    Read:
    /// What of a model is replaced by the nearest that can be
    repair: Vec<Repair> = field("repair", "repair", "WHAT", Kind::Word(Repair::WORDS)).many();
    Read:
    /// Which shapes the report draws
    view: Option<ViewName> = field("view", "view", "SHAPES", Kind::Word(ViewName::WORDS)).default("visual");
    Step:
    /// Integrator [default: minimal for trees, maximal for loops and rolling]
    integrator: Option<Method> = field("integrator", "integrator", "INTEGRATOR", Kind::Word(Method::WORDS));
    Step:
    /// Order of accuracy, where the integrator has a choice
    order: Option<u32> = field("order", "order", "N", Kind::Count(1, u32::MAX as u64));
    Step:
    /// Time step in seconds
    step: Option<f64> = field("step", "step", "S", Kind::Positive).default("0.005");
    Time:
    /// Duration in seconds
    duration: Option<f64> = field("duration", "duration", "S", Kind::Positive).default("10");
    Time:
    /// Write a row every N steps
    every: Option<u64> = field("every", "every", "N", COUNT).default("1");
    Step:
    /// Tolerance of the nonlinear solve or of the error control
    tolerance: Option<f64> = field("tolerance", "tolerance", "X", TOLERANCES);
    Step:
    /// How the minimal integrator solves the equations of a step
    iteration: Option<IterationName> =
        field("iteration", "iteration", "NAME", Kind::Word(IterationName::WORDS)).default("automatic");
    Step:
    /// How the maximal integrator turns bodies
    rotation_map: Option<MapName> =
        field("rotation_map", "rotation-map", "MAP", Kind::Word(MapName::WORDS)).default("sine");
    Step:
    /// How impacts of contacts are stepped
    impacts: Option<EventMode> =
        field("impacts", "impacts", "IMPACTS", Kind::Word(EventMode::WORDS)).default("stepped");
    Step:
    /// How turns of sliding friction are stepped
    turns: Option<EventMode> =
        field("turns", "turns", "TURNS", Kind::Word(EventMode::WORDS)).default("stepped");
    Derivative:
    /// Differentiate contact as a relaxed step at this smoothing speed in m/s (0.01 if none is given), for optimisation
    relaxed: Option<f64> = field("relaxed", "relaxed", "SPEED", Kind::Positive).implied("0.01");
    Change:
    /// Whether surfaces touch: geoms of an MJCF, surfaces of a JSON model, collisions of a URDF with --ground
    contact: Option<ContactMode> =
        field("contact", "contact", "CONTACT", Kind::Word(ContactMode::WORDS));
    Change:
    /// Add level ground at height zero, for what touches
    ground: Option<bool> = field("ground", "ground", "", Kind::Switch);
    Change:
    /// Gravitational acceleration in m/s²
    gravity: Option<[f64; 3]> = field("gravity", "gravity", "X,Y,Z", Kind::Vector);
    Change:
    /// What joint limits do: they hold, passing one is reported, or nothing
    limits: Option<LimitMode> = field("limits", "limits", "LIMITS", Kind::Word(LimitMode::WORDS));
    Change:
    /// Whether the dry friction of joints acts
    friction: Option<FrictionMode> =
        field("friction", "friction", "FRICTION", Kind::Word(FrictionMode::WORDS)).default("on");
    Change:
    /// Elements to leave out where the integrator doesn't support them
    ignore: Vec<Ignore> = field("ignore", "ignore", "KINDS", Kind::Word(Ignore::WORDS)).many();
    Change:
    /// Set damping and friction of all joints to zero
    undamped: Option<bool> = field("undamped", "undamped", "", Kind::Switch);
    Change:
    /// Leave inertias as they are where --set changes a mass; they grow along otherwise
    keep_inertia: Option<bool> = field("keep_inertia", "keep-inertia", "", Kind::Switch);
    Input:
    /// Table of inputs over time: columns t and INPUT or u.INPUT, held over each step
    inputs_file: Option<PathBuf> = field("inputs_file", "inputs", "FILE.csv", Kind::Path);
    Policy:
    /// Give joints a motor each, an input of the joint's name: all, or a list JOINT,JOINT
    motors: Option<String> = field("motors", "motors", "all|JOINT,…", Kind::Text);
    Policy:
    /// Hold all joints with servos at a state: a state file, the name of a state of the model, or start
    hold: Option<String> = field("hold", "hold", "STATE", Kind::Text).conflicts(&["track", "policy"]);
    Policy:
    /// Follow a table with servos: columns t, q.JOINT and perhaps v.JOINT; a trajectory of ours serves
    track: Option<PathBuf> = field("track", "track", "FILE.csv", Kind::Path).conflicts(&["policy"]);
    Policy:
    /// Move a joint as given, whatever it takes: at a speed, or along a table with columns t and JOINT (may be given several times)
    drive: Vec<String> = field("drive", "drive", "JOINT=SPEED|FILE.csv", Kind::Text).many();
    Policy:
    /// Policy of `control`: its inputs with feedback, then its hold; starts where it starts, with its step, for 5 s more
    policy: Option<PathBuf> =
        field("policy", "policy", "POLICY.json", Kind::Path).conflicts(&["input", "inputs"]);
    Policy:
    /// The planned inputs of the policy without feedback
    open_loop: Option<bool> = field("open_loop", "open-loop", "", Kind::Switch).requires("policy");
    From:
    /// State file to continue, or the name of a state of the model
    start: Option<String> = field("initial.start", "start", "FILE|NAME", Kind::Text).conflicts(&["state"]);
    From:
    /// Named state (keyframe) of the model
    state: Option<String> = field("initial.state", "state", "NAME", Kind::Text);
    From:
    /// Random joint velocities of at most MAX rad/s or m/s, floating joints left alone; the same for the same seed
    random_velocity: Option<RandomVelocity> =
        field("initial.random_velocity", "random-velocity", "SEED,MAX", Kind::RandomVelocity);
    Start:
    /// Position of a joint (may be given several times)
    q: Vec<Assignment> = field("initial.q", "q", "JOINT=V[,V]", Kind::Assignment).many();
    Start:
    /// Velocity of a joint (may be given several times)
    v: Vec<Assignment> = field("initial.v", "v", "JOINT=V[,V]", Kind::Assignment).many();
    Input:
    /// Constant value of an input (may be given several times)
    inputs: Vec<Assignment> = field("inputs", "input", "INPUT=V", Kind::Assignment).many();
    Change:
    /// Change a number of the model: bodies.NAME.{mass,com,inertia,drag}, joints.NAME.{damping,stiffness,friction,…}, gravity.AXIS; * in a name means several (may be given several times)
    set: Vec<Assignment> = field("set", "set", "KEY=V[,V]", Kind::Assignment).many();
    Policy:
    /// Stiffness of the servos of --hold and --track, for all or one joint (may be given several times) [default: 5 Hz]
    kp: Vec<Assignment> = field("kp", "kp", "X|JOINT=X", Kind::Gain).many();
    Policy:
    /// Damping of the servos, for all or one joint (may be given several times) [default: critical]
    kd: Vec<Assignment> = field("kd", "kd", "X|JOINT=X", Kind::Gain).many();
    Output:
    /// Folder of the results [default: leastaction-out/NAME]
    out: Option<PathBuf> = field("output.dir", "out", "DIR", Kind::Path);
    Durable:
    /// Seconds of wall time between checkpoints, from which `leastaction resume DIR` goes on whatever ended the run
    checkpoint: Option<f64> = field("output.checkpoint", "checkpoint", "SECONDS", Kind::Positive).default("30");
    Durable:
    /// Replace what another verb, another model or a run that was stopped left in the folder
    force: Option<bool> = field("output.force", "force", "", Kind::Switch);
    Output:
    /// Write no report.html
    report: Option<bool> = field("output.report", "no-report", "", Kind::Switch).negated();
    Output:
    /// Write constraint forces of the joints, columns f.JOINT.{tx,ty,tz,fx,fy,fz}, and of contacts, c.A.B.{fx,fy,fz,px,py,pz,gap,normal,slip} (maximal integrator)
    forces: Option<bool> = field("output.forces", "forces", "", Kind::Switch);
}

impl Settings {
    /// These settings where they say something, `below` where they don't.
    pub fn over(self, mut below: Self) -> Self {
        // Two ways to say where to start: the nearer one counts.
        if self.start.is_some() || self.state.is_some() {
            (below.start, below.state) = (None, None);
        }
        for setting in SETTINGS {
            let given = (setting.given)(&self);
            if !given.is_empty() {
                (setting.take)(&mut below, given);
            }
        }
        below
    }

    /// How the model's file is to be read.
    pub fn reading(&self) -> UrdfOptions {
        let base = if self.base == Some(Base::Floating) { UrdfBase::Floating } else { UrdfBase::Fixed };
        let view = match self.view {
            None | Some(ViewName::Visual) => View::Visual,
            Some(ViewName::Collision) => View::Collision,
            Some(ViewName::Both) => View::Both,
        };
        let surfaces = self.ground == Some(true) && self.contact != Some(ContactMode::Off);
        let repair_inertia = self.repair.contains(&Repair::Inertia);
        UrdfOptions {
            base,
            search_paths: self.package_path.clone(),
            density: self.density,
            view,
            surfaces,
            repair_inertia,
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
        self.track = self.track.map(here);
        self.drive = self
            .drive
            .into_iter()
            .map(|said| match said.rsplit_once('=') {
                Some((joint, file)) if file.parse::<f64>().is_err() => {
                    format!("{joint}={}", here(PathBuf::from(file)).display())
                }
                _ => said,
            })
            .collect();
        self.hold = self.hold.map(|state| {
            let file = here(PathBuf::from(&state));
            if file.is_file() { file.display().to_string() } else { state }
        });
        self
    }

    /// The settings as a scenario file that does the same.
    pub fn to_toml(&self) -> String {
        let (mut text, mut table) = (String::new(), "");
        for setting in SETTINGS {
            let given = (setting.given)(self);
            let Field { key, kind, many, .. } = setting.field;
            if given.is_empty() {
                continue;
            }
            let (own, key) = if matches!(kind, Kind::Assignment | Kind::Gain) {
                (key, "")
            } else {
                key.rsplit_once('.').unwrap_or(("", key))
            };
            if own != table {
                text.push_str(&format!("\n[{own}]\n"));
                table = own;
            }
            let words: Vec<String> = given.iter().map(toml_text).collect();
            if matches!(kind, Kind::Assignment | Kind::Gain) {
                words.iter().for_each(|line| text.push_str(&format!("{line}\n")));
            } else if many {
                text.push_str(&format!("{key} = [{}]\n", words.join(", ")));
            } else {
                text.push_str(&format!("{key} = {}\n", words[0]));
            }
        }
        text
    }

    /// The same for machines.
    pub fn to_json(&self) -> Json {
        let mut out = json!({});
        for setting in SETTINGS {
            let given = (setting.given)(self);
            if given.is_empty() {
                continue;
            }
            let mut place = &mut out;
            for part in setting.field.key.split('.') {
                place = &mut place[part];
            }
            for value in given {
                match value {
                    Value::Assignment(Assignment { name, values }) => {
                        place[name] = if let [one] = values[..] { json!(one) } else { json!(values) };
                    }
                    value if setting.field.many => match place.as_array_mut() {
                        Some(list) => list.push(json_value(&value)),
                        None => *place = json!([json_value(&value)]),
                    },
                    value => *place = json_value(&value),
                }
            }
        }
        out
    }
}

fn json_value(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Path(path) => json!(path.display().to_string()),
        Value::Switch(x) => json!(x),
        Value::Number(x) => json!(x),
        Value::Count(n) => json!(n),
        Value::Numbers(list) => json!(list),
        Value::Assignment(assignment) => json!(assignment.values),
    }
}

fn toml_text(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Path(path) => quoted(&path.display().to_string()),
        Value::Switch(x) => x.to_string(),
        Value::Number(x) => float(*x),
        Value::Count(n) => n.to_string(),
        Value::Numbers(list) => list_of(list),
        Value::Assignment(Assignment { name, values }) => {
            let bare =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            let key = if bare { name.clone() } else { quoted(name) };
            let numbers = if let [one] = values[..] { float(one) } else { list_of(values) };
            format!("{key} = {numbers}")
        }
    }
}

fn list_of(numbers: &[f64]) -> String {
    format!("[{}]", numbers.iter().map(|x| float(*x)).collect::<Vec<_>>().join(", "))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The shortest text that reads back as the same number; always a float to TOML.
fn float(value: f64) -> String {
    format!("{value:?}")
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
            density: Some(7800.0),
            repair: vec![Repair::Inertia],
            view: Some(ViewName::Both),
            integrator: Some(Method::SemiImplicit),
            order: Some(4),
            step: Some(0.1 + 0.2),
            duration: Some(1e-7),
            every: Some(3),
            tolerance: Some(1e-12),
            iteration: Some(IterationName::Newton),
            rotation_map: Some(MapName::Cayley),
            impacts: Some(EventMode::Located),
            turns: Some(EventMode::Stepped),
            relaxed: Some(0.02),
            contact: Some(ContactMode::Off),
            ground: Some(true),
            gravity: Some([0.0, -1.5, 1e20]),
            limits: Some(LimitMode::Off),
            friction: Some(FrictionMode::Off),
            ignore: vec![Ignore::Friction, Ignore::Loops],
            undamped: Some(true),
            start: Some("s.json".into()),
            state: None,
            random_velocity: Some(RandomVelocity { seed: 7, most: 0.5 }),
            q: vec![Assignment { name: "joint.1".into(), values: vec![1.0, 0.0, 0.0, 0.0] }],
            v: vec![Assignment { name: "j-2".into(), values: vec![-3.0] }],
            inputs: vec![Assignment { name: "µ".into(), values: vec![2.5] }],
            set: vec![Assignment { name: "bodies.a b.com".into(), values: vec![0.0, 1.0, 2.0] }],
            keep_inertia: Some(true),
            inputs_file: Some("u.csv".into()),
            motors: Some("a,b".into()),
            hold: Some("home".into()),
            track: Some("q.csv".into()),
            drive: vec!["a=4".into(), "b=path.csv".into()],
            kp: vec![Assignment { name: "all".into(), values: vec![20.0] }],
            kd: vec![Assignment { name: "j-2".into(), values: vec![0.5] }],
            policy: Some("policy.json".into()),
            open_loop: Some(true),
            out: Some("o".into()),
            checkpoint: Some(2.5),
            force: Some(true),
            report: Some(false),
            forces: Some(true),
        }
    }

    #[test]
    fn printed_settings_are_read_as_the_same_settings() {
        let text = full().to_toml();
        let read = crate::scenario::parse(&text, Path::new("x.toml")).unwrap_or_default();
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
