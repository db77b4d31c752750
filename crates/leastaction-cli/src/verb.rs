//! [`Verb`]: one verb of the command as data, from which its arguments are made, and [`Given`]: what was given to it.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use leastaction_study::choice::Choice;
use leastaction_study::choices;
use leastaction_study::failure::Failure;
use leastaction_study::field::{Field, Kind, Value};
use leastaction_study::settings::{Group, SETTINGS, Settings};

use crate::printer::Printer;

/// Name of a model for help texts.
pub(crate) const MODEL: Field = Field::argument(
    "MODEL",
    Kind::Text,
    "URDF, MJCF or JSON file, or a built-in: @double-pendulum, @chain/N, @chain-xy/N, @ball-chain/N, @star/N, @binary-tree/N, @ball-tree/N, @four-bar, \
     @four-bars/K, @rhombus-chain/K, @slider-crank, @rssr, @bennett, @platform, @stewart, @delta",
);

/// Folder of a problem's results.
pub(crate) const OUT: Field =
    Field::flag("out", "DIR", Kind::Path, "Folder of the results [default: leastaction-out/NAME]");
/// Results of another verb may go.
pub(crate) const FORCE: Field = Field::switch("force", "Replace results of another verb in the folder");
/// No report.
pub(crate) const NO_REPORT: Field = Field::switch("no-report", "Write no report.html");
/// Every iteration.
pub(crate) const TRACE: Field = Field::switch("trace", "Show every iteration");

/// Angles of recordings.
pub(crate) const DEGREES: Field =
    Field::switch("degrees", "Angles of the recording are in degrees where it has no units");
/// Which way markers and forces count as up.
pub(crate) const UP: Field =
    Field::flag("up", "AXIS", Kind::Word(Up::WORDS), "Axis that points up in markers and forces")
        .default("z");

choices! {
    /// Axes that point up.
    Up {
        /// As in models
        Z = "z",
        /// As in OpenSim
        Y = "y",
    }
}

/// One verb of the command.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    /// Help in a line.
    pub(crate) about: &'static str,
    /// What follows that line in the long help.
    pub(crate) more: &'static str,
    /// Arguments of its own.
    pub(crate) fields: &'static [Field],
    /// Settings it takes.
    pub(crate) groups: &'static [Group],
    /// Verbs below it.
    pub(crate) verbs: &'static [Verb],
    /// Does it and returns the exit code.
    pub(crate) run: fn(&Given<'_>, &mut Printer) -> Result<u8, Failure>,
}

impl Verb {
    /// The verb as clap wants it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.name).about(self.about);
        if !self.more.is_empty() {
            command = command.long_about(format!("{}\n\n{}", self.about, self.more));
        }
        for field in self.fields {
            // What belongs to all verbs below may stand after them.
            let global = !self.verbs.is_empty() && field.requires.is_empty() && field.kind != Kind::Switch;
            command = command.arg(argument(field).global(global && field.flag != "out"));
        }
        for group in self.groups {
            for setting in SETTINGS.iter().filter(|setting| setting.group == *group) {
                // A default here would hide what a scenario file says.
                let Field { help, default, .. } = setting.field;
                let field = Field { default: "", ..setting.field };
                let help = help.trim_start();
                let help =
                    if default.is_empty() { help.to_owned() } else { format!("{help} [default: {default}]") };
                command = command.arg(argument(&field).help(help));
            }
        }
        command.subcommands(self.verbs.iter().map(Verb::command))
    }
}

/// What an argument is found by.
fn id(field: &Field) -> &'static str {
    if field.flag.is_empty() { field.value } else { field.flag }
}

fn argument(field: &Field) -> Arg {
    let mut arg = Arg::new(id(field)).help(field.help).required(field.required);
    if !field.flag.is_empty() {
        arg = arg.long(field.flag);
    }
    if !field.requires.is_empty() {
        arg = arg.requires(field.requires);
    }
    if !field.unless.is_empty() {
        arg = arg.required_unless_present(field.unless);
    }
    for other in field.conflicts {
        arg = arg.conflicts_with(other);
    }
    if field.kind == Kind::Switch {
        return arg.action(ArgAction::SetTrue);
    }
    arg = arg.value_name(field.value).value_parser(parser(field.kind));
    if field.many {
        arg = arg.action(ArgAction::Append);
        if field.flag.is_empty() {
            arg = arg.num_args(1..);
        }
    }
    if !field.default.is_empty() {
        arg = arg.default_value(field.default);
    }
    if !field.implied.is_empty() {
        arg = arg.num_args(0..=1).default_missing_value(field.implied);
    }
    match field.kind {
        Kind::Word(_) if field.many => arg.value_delimiter(','),
        Kind::Vector | Kind::Assignment | Kind::Gain => arg.allow_hyphen_values(true),
        // So that a negative number is refused as what it is, not as an unknown flag.
        Kind::Positive | Kind::Range(..) | Kind::Count(..) | Kind::RandomVelocity => {
            arg.allow_negative_numbers(true)
        }
        _ => arg,
    }
}

/// Reads what follows a flag, as a [`Value`].
fn parser(kind: Kind) -> ValueParser {
    match kind {
        Kind::Path => ValueParser::new(PathBufValueParser::new().map(Value::Path)),
        Kind::Word(words) => {
            let words = words.iter().map(|(word, help)| match help.trim() {
                "" => PossibleValue::new(*word),
                help => PossibleValue::new(*word).help(help.to_owned()),
            });
            ValueParser::new(PossibleValuesParser::new(words).map(Value::Text))
        }
        _ => ValueParser::from(move |text: &str| kind.parse(text)),
    }
}

/// What was given to a verb.
pub(crate) struct Given<'a>(pub(crate) &'a ArgMatches);

impl Given<'_> {
    fn value(&self, id: &str) -> Option<&Value> {
        self.0.try_get_one::<Value>(id).ok().flatten()
    }

    fn values(&self, field: &Field) -> Vec<Value> {
        if field.kind == Kind::Switch {
            let given = self.switch(id(field));
            return if given { vec![Value::Switch(!field.negated)] } else { Vec::new() };
        }
        match self.0.try_get_many::<Value>(id(field)) {
            Ok(Some(values)) => values.cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// The settings that the flags come to.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        for setting in SETTINGS.iter().filter(|setting| !setting.field.flag.is_empty()) {
            let given = self.values(&setting.field);
            if !given.is_empty() {
                (setting.take)(&mut settings, given);
            }
        }
        settings
    }

    /// Whether a switch is there.
    pub(crate) fn switch(&self, id: &str) -> bool {
        matches!(self.0.try_get_one::<bool>(id), Ok(Some(true)))
    }

    /// A text.
    pub(crate) fn text(&self, id: &str) -> Option<&str> {
        match self.value(id)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Several texts.
    pub(crate) fn texts(&self, id: &str) -> Vec<String> {
        match self.0.try_get_many::<Value>(id) {
            Ok(Some(values)) => values
                .filter_map(|value| if let Value::Text(text) = value { Some(text.clone()) } else { None })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The model.
    pub(crate) fn model(&self) -> &str {
        self.text("MODEL").unwrap_or_default()
    }

    /// A file or folder.
    pub(crate) fn path(&self, id: &str) -> Option<&Path> {
        match self.value(id)? {
            Value::Path(path) => Some(path),
            _ => None,
        }
    }

    /// Several files.
    pub(crate) fn paths(&self, id: &str) -> Vec<PathBuf> {
        match self.0.try_get_many::<Value>(id) {
            Ok(Some(values)) => values
                .filter_map(|value| if let Value::Path(path) = value { Some(path.clone()) } else { None })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// A number.
    pub(crate) fn number(&self, id: &str) -> Option<f64> {
        match self.value(id)? {
            Value::Number(x) => Some(*x),
            _ => None,
        }
    }

    /// A whole number.
    pub(crate) fn count(&self, id: &str) -> Option<u64> {
        match self.value(id)? {
            Value::Count(n) => Some(*n),
            _ => None,
        }
    }

    /// One of a few words.
    pub(crate) fn choice<C: Choice>(&self, id: &str) -> Option<C> {
        self.text(id).and_then(C::from_word)
    }
}
