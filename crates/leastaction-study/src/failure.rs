//! [`Failure`]: why a verb could not do its work, with everything a person needs to go on.

use std::error::Error;

use leastaction::control::ControlError;
use leastaction::integrator::StepError;
use leastaction::io::{Diagnostic, LoadError, StateError, TableError};
use leastaction::jet::JetError;
use leastaction::optimize::OptimizeError;
use serde::Serialize;
use serde_json::Value;

/// Exit code: done.
pub const DONE: u8 = 0;
/// Exit code: a check the user asked for failed.
pub const CHECK_FAILED: u8 = 1;
/// Exit code: could not run.
pub const COULD_NOT_RUN: u8 = 2;
/// Exit code: stopped by Ctrl-C; what was computed is written.
pub const INTERRUPTED: u8 = 130;

/// An error on its way to the user.
#[derive(Debug)]
pub struct Failure {
    /// Exit code of the process.
    pub code: u8,
    /// What went wrong, in one line.
    pub message: String,
    /// Its causes, the deepest last.
    pub causes: Vec<String>,
    /// What to do.
    pub help: Option<String>,
    /// Problems with a place of their own; they are shown before the message.
    pub diagnostics: Vec<Diagnostic>,
    /// What the library said, for front ends that have types for it.
    pub typed: Option<Typed>,
}

/// An error of the library: its family, and its variant with its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// `StepError`, `FileError`, …
    pub family: &'static str,
    /// The variant, as its `Serialize` has it.
    pub fields: Value,
}

impl Typed {
    /// The first error of the chain that is known.
    fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        fn typed<E: Serialize>(family: &'static str, error: &E) -> Option<Typed> {
            Some(Typed { family, fields: serde_json::to_value(error).ok()? })
        }
        let file = || Some(Self { family: "FileError", fields: Value::Null });
        let known = error.downcast_ref::<StepError>().and_then(|e| typed("StepError", e));
        known
            .or_else(|| error.downcast_ref::<ControlError>().and_then(|e| typed("ControlError", e)))
            .or_else(|| error.downcast_ref::<OptimizeError>().and_then(|e| typed("OptimizeError", e)))
            .or_else(|| error.downcast_ref::<JetError>().and_then(|e| typed("JetError", e)))
            .or_else(|| error.is::<std::io::Error>().then(file).flatten())
            .or_else(|| error.is::<LoadError>().then(file).flatten())
            .or_else(|| error.is::<StateError>().then(file).flatten())
            .or_else(|| error.is::<TableError>().then(file).flatten())
            .or_else(|| error.source().and_then(Self::of))
    }
}

impl Failure {
    /// A failure without cause.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            code: COULD_NOT_RUN,
            message: message.into(),
            causes: Vec::new(),
            help: None,
            diagnostics: Vec::new(),
            typed: None,
        }
    }

    /// A failure caused by an error and what caused that.
    pub fn caused_by(message: impl Into<String>, error: &(dyn Error + 'static)) -> Self {
        let mut failure = Self { typed: Typed::of(error), ..Self::new(message) };
        let mut next = Some(error);
        while let Some(error) = next {
            failure.causes.push(error.to_string());
            next = error.source();
        }
        failure
    }

    /// An error as it is.
    pub fn from_error(error: &(dyn Error + 'static)) -> Self {
        let mut failure = Self { typed: Typed::of(error), ..Self::new(error.to_string()) };
        let mut next = error.source();
        while let Some(error) = next {
            failure.causes.push(error.to_string());
            next = error.source();
        }
        failure
    }

    /// The same with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with the nearest of the known names for a remedy, if there are any.
    pub fn suggest(mut self, name: &str, known: &[&str]) -> Self {
        self.help = suggestion(name, known).or(self.help);
        self
    }

    /// The same, of a family of its own for front ends that have types.
    pub fn of_family(mut self, family: &'static str) -> Self {
        self.typed = Some(Typed { family, fields: Value::String(family.to_owned()) });
        self
    }

    /// The same with problems that have a place.
    pub fn with_diagnostics(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        self.diagnostics = diagnostics;
        self
    }
}

/// A remedy that names the nearest of the known names, or all of them if they are few.
pub fn suggestion(name: &str, known: &[&str]) -> Option<String> {
    match leastaction::mechanism::nearest(name, known.iter().copied()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if known.is_empty() => None,
        None => {
            let shown: Vec<String> = known.iter().take(12).map(|name| format!("`{name}`")).collect();
            let more =
                if known.len() > 12 { format!(" and {} more", known.len() - 12) } else { String::new() };
            let verb = if known.len() == 1 { "is" } else { "are" };
            Some(format!("there {verb} {}{more}", shown.join(", ")))
        }
    }
}

/// Owned names as [`suggestion`] takes them.
pub fn names<'a>(known: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    known.into_iter().map(String::as_str).collect()
}
