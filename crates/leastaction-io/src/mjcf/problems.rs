//! Collects problems with their places; each kind of unsupported item once.

use std::collections::{HashMap, HashSet};

use crate::mechanism::{Origin, nearest};
use crate::{Diagnostic, Severity, SourceMap};

/// More problems than anyone reads; the rest is counted.
const MOST_SHOWN: usize = 100;

#[derive(Debug)]
struct Found {
    diagnostic: Diagnostic,
    origin: Option<Origin>,
    more: usize,
}

/// Everything found wrong so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<Found>,
    seen: HashSet<(Option<(u32, u32)>, String)>,
    kinds: HashMap<String, usize>,
    errors: usize,
    not_shown: usize,
}

impl Problems {
    fn push(&mut self, diagnostic: Diagnostic, origin: Option<Origin>) -> Option<usize> {
        let key = (origin.map(|o| (o.file, o.offset)), diagnostic.message.clone());
        // A default class is read once per element that uses it: say the same thing at the same place once.
        if !self.seen.insert(key) {
            return None;
        }
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        if self.found.len() >= MOST_SHOWN {
            self.not_shown += 1;
            return None;
        }
        self.found.push(Found { diagnostic, origin, more: 0 });
        Some(self.found.len() - 1)
    }

    /// Something wrong: the model is refused.
    pub(super) fn error(
        &mut self,
        origin: Option<Origin>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(Diagnostic::error(element, message, remedy), origin);
    }

    /// Something odd or left out: the model loads.
    pub(super) fn warning(
        &mut self,
        origin: Option<Origin>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(Diagnostic::warning(element, message, remedy), origin);
    }

    /// A diagnostic that knows its place; `origin` orders it among the others.
    pub(super) fn placed(&mut self, origin: Option<Origin>, diagnostic: Diagnostic) {
        self.push(diagnostic, origin);
    }

    /// A diagnostic that is said for the first item of its `kind`; later ones are counted.
    pub(super) fn once(&mut self, kind: &str, origin: Option<Origin>, diagnostic: Diagnostic) {
        if let Some(&index) = self.kinds.get(kind) {
            if let Some(found) = self.found.get_mut(index) {
                found.more += 1;
            }
            return;
        }
        if let Some(index) = self.push(diagnostic, origin) {
            self.kinds.insert(kind.to_owned(), index);
        }
    }

    /// Counts an error instead of saying it, once enough have been said; false if it must be said.
    pub(super) fn counted(&mut self) -> bool {
        let full = self.found.len() >= MOST_SHOWN;
        if full {
            self.errors += 1;
            self.not_shown += 1;
        }
        full
    }

    /// True if an error was found.
    pub(super) fn any_error(&self) -> bool {
        self.errors > 0
    }

    /// All problems with their places, in the order of the texts.
    pub(super) fn finish(mut self, sources: &SourceMap) -> Vec<Diagnostic> {
        self.found.sort_by_key(|f| f.origin.map_or((u32::MAX, u32::MAX), |o| (o.file, o.offset)));
        let any_error = self.any_error();
        let mut all: Vec<Diagnostic> = self
            .found
            .into_iter()
            .map(|found| {
                let mut diagnostic = found.diagnostic;
                if diagnostic.at.is_none() {
                    diagnostic.at = sources.locate(found.origin);
                }
                if found.more > 0 {
                    diagnostic.message = format!("{} (and {} more)", diagnostic.message, found.more);
                }
                diagnostic
            })
            .collect();
        if self.not_shown > 0 {
            let make = if any_error { Diagnostic::error } else { Diagnostic::warning };
            all.push(make(
                String::new(),
                format!("{} more problems are not shown", self.not_shown),
                "mend the first ones and look again".to_owned(),
            ));
        }
        all
    }
}

/// "did you mean `x`?", or `otherwise` if nothing is near.
pub(super) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(word, known).map_or_else(otherwise, |k| format!("did you mean `{k}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_said_once_and_counted() {
        let mut problems = Problems::default();
        for i in 0..3 {
            let at = Some(Origin { file: 0, offset: i });
            problems.once("plane", at, Diagnostic::warning("geom", "planes are not drawn", ""));
        }
        let all = problems.finish(&SourceMap::new());
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].message, "planes are not drawn (and 2 more)");
    }
}
