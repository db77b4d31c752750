//! [`Problem`]: one thing wrong with a model description, and the one list they are collected in.

use std::collections::{HashMap, HashSet};

use super::Origin;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The model loads; something was left out or looks odd.
    Warning,
    /// The model is refused.
    Error,
}

/// One problem: which element, what is wrong, what to do, and where it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Error or warning.
    pub severity: Severity,
    /// The element, as a user would name it: ``joint `elbow` ``.
    pub element: String,
    /// What is wrong, with the value found.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// Where the element was read from.
    pub origin: Option<Origin>,
    /// The second place of a conflict.
    pub related: Option<Origin>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.element, self.message)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, " ({})", self.remedy) }
    }
}

/// Why a mechanism could not be built: every error found, not only the first.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", list(problems))]
pub struct ModelError {
    /// The errors (and the warnings beside them).
    pub problems: Vec<Problem>,
}

fn list(problems: &[Problem]) -> String {
    let errors: Vec<String> =
        problems.iter().filter(|p| p.severity == Severity::Error).map(ToString::to_string).collect();
    match errors.as_slice() {
        [one] => one.clone(),
        many => format!("{} problems: {}", many.len(), many.join("; ")),
    }
}

/// More errors, or more warnings, than this are counted, not listed: nobody mends a file from ten thousand lines.
const LISTED: usize = 100;
/// So many unknown names are compared with all known ones to find out what was meant.
const SUGGESTIONS: usize = 20;

/// The problems of a model, collected in any order and listed in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    found: Vec<Problem>,
    /// The same thing about the same element at the same place is said once: a default class of MJCF is read for
    /// every element that uses it.
    said: HashSet<(Option<Origin>, String, String)>,
    /// What is said once per kind, and how often it was met again.
    kinds: HashMap<String, (Option<usize>, usize)>,
    errors: usize,
    warnings: usize,
    suggestions: usize,
}

impl Problems {
    /// Adds a problem; the answer is its place in the list, if it is new and there is room.
    pub fn add(
        &mut self,
        severity: Severity,
        origin: Option<Origin>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Option<usize> {
        let count = if severity == Severity::Error { &mut self.errors } else { &mut self.warnings };
        if *count >= LISTED {
            *count += 1;
            return None;
        }
        let (element, message, remedy) = (element.into(), message.into(), remedy.into());
        if !self.said.insert((origin, element.clone(), message.clone())) {
            return None;
        }
        *count += 1;
        self.found.push(Problem { severity, element, message, remedy, origin, related: None });
        Some(self.found.len() - 1)
    }

    /// Adds an error: the model is refused.
    pub fn error(
        &mut self,
        origin: Option<Origin>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(Severity::Error, origin, element, message, remedy);
    }

    /// Adds a warning: the model loads.
    pub fn warning(
        &mut self,
        origin: Option<Origin>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(Severity::Warning, origin, element, message, remedy);
    }

    /// Adds an error that has a second place.
    pub fn conflict(
        &mut self,
        places: [Option<Origin>; 2],
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if let Some(index) = self.add(Severity::Error, places[0], element, message, remedy) {
            self.found[index].related = places[1];
        }
    }

    /// True, and counted, if something of this kind was said before; else the next problem must be
    /// [`of_kind`](Self::of_kind).
    pub fn again(&mut self, kind: &str) -> bool {
        let known = self.kinds.get_mut(kind);
        known.map(|(_, more)| *more += 1).is_some()
    }

    /// Adds the first problem of its kind; later ones are counted.
    pub fn of_kind(
        &mut self,
        kind: &str,
        severity: Severity,
        origin: Option<Origin>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if !self.again(kind) {
            let index = self.add(severity, origin, element, message, remedy);
            self.kinds.insert(kind.to_owned(), (index, 0));
        }
    }

    /// The known name that was meant by an unknown one; a search is made for the first few only.
    pub fn meant<'a>(&mut self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        self.suggestions += 1;
        if self.suggestions <= SUGGESTIONS { nearest(name, known) } else { None }
    }

    /// "did you mean `x`?", or `otherwise` if nothing is near.
    pub fn did_you_mean<'a>(
        &mut self,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: impl FnOnce() -> String,
    ) -> String {
        self.meant(name, known).map_or_else(otherwise, |meant| format!("did you mean `{meant}`?"))
    }

    /// True, and counted, if there is no room for another error; else it must be added.
    pub fn is_full(&mut self) -> bool {
        let full = self.errors >= LISTED;
        self.errors += usize::from(full);
        full
    }

    /// True if an error was added.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Number of problems so far.
    pub fn count(&self) -> usize {
        self.errors + self.warnings
    }

    /// Takes over what was found in another text.
    pub fn append(&mut self, other: Self) {
        for problem in other.finish() {
            self.add(problem.severity, problem.origin, problem.element, problem.message, problem.remedy);
        }
    }

    /// The list, in the order of the text; problems without a place come last.
    pub fn finish(mut self) -> Vec<Problem> {
        for (index, more) in self.kinds.into_values() {
            if let (Some(index), 1..) = (index, more) {
                self.found[index].message.push_str(&format!(" (and {more} more)"));
            }
        }
        self.found.sort_by_key(|problem| problem.origin.map_or((1, None), |origin| (0, Some(origin))));
        for (kind, count) in [("error", self.errors), ("warning", self.warnings)] {
            if count > LISTED {
                self.found.push(Problem {
                    severity: Severity::Warning,
                    element: String::new(),
                    message: format!("{} more {kind}s are not shown", count - LISTED),
                    remedy: "mend the first ones and read the file again".into(),
                    origin: None,
                    related: None,
                });
            }
        }
        self.found
    }
}

/// The name in `known` most like `name`, if one is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    // Cheap enough for a message, bounded for models with very many or very long names.
    let short = |name: &str| name.len() <= 200;
    if !short(name) {
        return None;
    }
    for candidate in known.into_iter().take(5000).filter(|candidate| short(candidate)) {
        let score = strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase());
        if score > best.map_or(0.75, |b| b.0) {
            best = Some((score, candidate));
        }
    }
    best.map(|b| b.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u32) -> Option<Origin> {
        Some(Origin { file: 0, offset })
    }

    #[test]
    fn many_problems_are_shortened_and_listed_in_order() {
        let mut problems = Problems::default();
        problems.error(None, "last", "m", "r");
        for i in (0..500).rev() {
            problems.error(at(i), "x", "m", "r");
            problems.warning(at(i), "x", "the same place may have a warning", "r");
        }
        assert!(problems.has_errors() && problems.count() == 1001);
        let listed = problems.finish();
        assert_eq!(listed.len(), 2 * LISTED + 2);
        assert!(
            listed[..2 * LISTED - 1].is_sorted_by_key(|p| p.origin)
                && listed[2 * LISTED - 1].element == "last"
        );
        assert_eq!(listed[2 * LISTED].message, "401 more errors are not shown");
    }

    #[test]
    fn a_kind_is_said_once_and_counted() {
        let mut problems = Problems::default();
        for i in 0..3 {
            problems.of_kind("plane", Severity::Warning, at(i), "geom", "planes are not drawn", "");
        }
        assert!(problems.again("plane") && !problems.again("mesh"));
        let listed = problems.finish();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].message, "planes are not drawn (and 3 more)");
    }

    #[test]
    fn the_same_thing_is_said_once() {
        let mut problems = Problems::default();
        for element in ["a", "a", "b"] {
            problems.error(at(1), element, "m", "r");
        }
        assert_eq!(problems.finish().len(), 2);
    }
}
