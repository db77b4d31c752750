//! [`Field`]: one thing a user can say, by flag or by key of a file, and what it may be.

use std::path::PathBuf;

use crate::choice::Word;

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A file or folder.
    Path,
    /// Yes or no.
    Switch,
    /// A finite number greater than zero.
    Positive,
    /// A number from the first to the second.
    Range(f64, f64),
    /// A whole number from the first to the second.
    Count(u64, u64),
    /// One of these words.
    Word(&'static [Word]),
    /// Three numbers.
    Vector,
    /// Numbers by name: `NAME=V[,V]`, in a file a table.
    Assignment,
    /// A number for all, or numbers by name: `X` or `NAME=X`, in a file a table with the key `all`.
    Gain,
    /// A seed and the largest magnitude.
    RandomVelocity,
}

/// A whole number greater than zero.
pub const COUNT: Kind = Kind::Count(1, u64::MAX);

/// What was said.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text or one of the words.
    Text(String),
    /// A file or folder.
    Path(PathBuf),
    /// Yes or no.
    Switch(bool),
    /// A number.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// Several numbers.
    Numbers(Vec<f64>),
    /// Numbers of something with a name.
    Assignment(Assignment),
}

/// `NAME=V[,V]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// Joint or input.
    pub name: String,
    /// Its numbers.
    pub values: Vec<f64>,
}

/// One thing a user can say.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Key in a scenario file, with its table: `initial.start`.
    pub key: &'static str,
    /// Flag without its dashes; empty for arguments that have none.
    pub flag: &'static str,
    /// What the help calls the value.
    pub value: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Help in a line.
    pub help: &'static str,
    /// What counts where nothing is said; empty if that is more than a word.
    pub default: &'static str,
    /// What the flag says where it stands without a value; empty if it needs one.
    pub implied: &'static str,
    /// May be given several times.
    pub many: bool,
    /// Must be given.
    pub required: bool,
    /// Flag in place of which it must be given.
    pub unless: &'static str,
    /// The flag says no.
    pub negated: bool,
    /// Flag that it needs.
    pub requires: &'static str,
    /// Flags that can't be given with it.
    pub conflicts: &'static [&'static str],
}

impl Field {
    /// A flag with a value.
    pub const fn flag(flag: &'static str, value: &'static str, kind: Kind, help: &'static str) -> Self {
        Self {
            key: "",
            flag,
            value,
            kind,
            help,
            default: "",
            implied: "",
            many: false,
            required: false,
            unless: "",
            negated: false,
            requires: "",
            conflicts: &[],
        }
    }

    /// A flag that is there or not.
    pub const fn switch(flag: &'static str, help: &'static str) -> Self {
        Self::flag(flag, "", Kind::Switch, help)
    }

    /// An argument without flag, which must be given.
    pub const fn argument(value: &'static str, kind: Kind, help: &'static str) -> Self {
        Self::flag("", value, kind, help).required()
    }

    /// The same with a key.
    pub const fn key(self, key: &'static str) -> Self {
        Self { key, ..self }
    }

    /// The same with a help.
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// The same with a default.
    pub const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// The same, but its value may be left out.
    pub const fn implied(self, implied: &'static str) -> Self {
        Self { implied, ..self }
    }

    /// The same, but several may be given.
    pub const fn many(self) -> Self {
        Self { many: true, ..self }
    }

    /// The same, but it must be given.
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same, but it may be left out with that flag.
    pub const fn unless(self, unless: &'static str) -> Self {
        Self { required: false, unless, ..self }
    }

    /// The same, but the flag says no.
    pub const fn negated(self) -> Self {
        Self { negated: true, ..self }
    }

    /// The same, only with another flag.
    pub const fn requires(self, requires: &'static str) -> Self {
        Self { requires, ..self }
    }

    /// The same, not with these flags.
    pub const fn conflicts(self, conflicts: &'static [&'static str]) -> Self {
        Self { conflicts, ..self }
    }
}

impl Kind {
    /// Whether a finite number is possible.
    pub fn admits(self, x: f64) -> bool {
        match self {
            Self::Positive => x > 0.0,
            Self::Range(least, most) => least <= x && x <= most,
            _ => true,
        }
    }

    /// What is needed, for messages: `give …`.
    pub fn needed(self) -> String {
        match self {
            Self::Text | Self::Path | Self::Word(_) => "text in quotes".into(),
            Self::Switch => "`true` or `false`".into(),
            Self::Positive => "a number greater than 0".into(),
            Self::Range(least, most) => format!("a number from {least:e} to {most}"),
            Self::Count(1, u64::MAX) => "a whole number greater than 0".into(),
            Self::Count(least, u64::MAX) => format!("a whole number from {least} on"),
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Vector => "three numbers".into(),
            Self::Assignment => "a table of numbers by name".into(),
            Self::Gain => "a table of numbers by joint, or by `all`".into(),
            Self::RandomVelocity => {
                "`[SEED, MAX]`: a whole number below 2^32 and a number greater than 0".into()
            }
        }
    }

    /// Reads what follows a flag.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Text | Self::Word(_) => Ok(Value::Text(text.to_owned())),
            Self::Path => Ok(Value::Path(text.into())),
            Self::Switch => text.parse().map(Value::Switch).map_err(|_| format!("give {}", self.needed())),
            Self::Positive | Self::Range(..) => match number(text)? {
                x if self.admits(x) => Ok(Value::Number(x)),
                _ if self == Self::Positive => Err("it must be greater than 0".into()),
                _ => Err(format!("give {}", self.needed())),
            },
            Self::Count(least, most) => match text.trim().parse::<u64>() {
                Ok(n) if least <= n && n <= most => Ok(Value::Count(n)),
                _ => Err(format!("give {}", self.needed())),
            },
            Self::Vector => match numbers(text)? {
                values if values.len() == 3 => Ok(Value::Numbers(values)),
                values => Err(format!("{} numbers given, 3 needed", values.len())),
            },
            Self::Assignment => {
                let (name, values) = text.rsplit_once('=').ok_or("write NAME=VALUE")?;
                Ok(Value::Assignment(Assignment { name: name.trim().to_owned(), values: numbers(values)? }))
            }
            Self::Gain => {
                let (name, value) = text.rsplit_once('=').unwrap_or(("all", text));
                Ok(Value::Assignment(Assignment {
                    name: name.trim().to_owned(),
                    values: vec![number(value)?],
                }))
            }
            Self::RandomVelocity => {
                let (seed, most) = text.split_once(',').ok_or("write SEED,MAX")?;
                let seed: u32 =
                    seed.trim().parse().map_err(|_| format!("`{seed}` is not a whole number below 2^32"))?;
                match number(most)? {
                    most if most > 0.0 => Ok(Value::Numbers(vec![f64::from(seed), most])),
                    _ => Err("it must be greater than 0".into()),
                }
            }
        }
    }
}

fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("`{text}` is not a finite number")),
    }
}

fn numbers(text: &str) -> Result<Vec<f64>, String> {
    text.split(',').map(number).collect()
}
