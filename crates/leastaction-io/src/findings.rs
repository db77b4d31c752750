//! [`Findings`]: what a reader finds wrong, collected in any order and shown in the order of the text.

use std::collections::HashSet;

use super::{Diagnostic, Severity, SourceMap};
use crate::mechanism::Origin;
pub(crate) use crate::mechanism::nearest;

/// More problems than this are counted, not shown: nobody mends a file from a list of ten thousand lines, and
/// finding the line of each would take quadratic time.
const SHOWN: usize = 100;
/// So many names are compared with all others to find out what was meant.
const SUGGESTED: usize = 20;

/// One problem at a byte offset.
struct Finding {
    severity: Severity,
    offset: usize,
    element: String,
    message: String,
    remedy: String,
}

/// The problems of one text.
pub(crate) struct Findings<'t> {
    text: &'t str,
    file: u32,
    found: Vec<Finding>,
    said: HashSet<String>,
    suggestions: usize,
    line_starts: Vec<usize>,
}

impl<'t> Findings<'t> {
    /// Nothing found yet in `text`, which is file number `file` of the source map.
    pub(crate) fn new(text: &'t str, file: u32) -> Self {
        Self { text, file, found: Vec::new(), said: HashSet::new(), suggestions: 0, line_starts: Vec::new() }
    }

    /// The text that is read.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// Adds a problem.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        offset: usize,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.found.push(Finding {
            severity,
            offset,
            element: element.into(),
            message: message.into(),
            remedy: remedy.into(),
        });
    }

    /// Adds an error.
    pub(crate) fn error(
        &mut self,
        offset: usize,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(Severity::Error, offset, element, message, remedy);
    }

    /// True if nothing was said about `key` before.
    pub(crate) fn is_news(&self, key: &str) -> bool {
        !self.said.contains(key)
    }

    /// True for the first few names that are not known; a search for what was meant compares with every name.
    pub(crate) fn may_suggest(&mut self) -> bool {
        self.suggestions += 1;
        self.suggestions <= SUGGESTED
    }

    /// Adds a warning, unless one with the same `key` was added before.
    pub(crate) fn warn_once(
        &mut self,
        key: String,
        offset: usize,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if self.said.insert(key) {
            self.add(Severity::Warning, offset, element, message, remedy);
        }
    }

    /// True if an error was added.
    pub(crate) fn has_errors(&self) -> bool {
        self.found.iter().any(|f| f.severity == Severity::Error)
    }

    /// Number of problems so far.
    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    /// The origin of a byte offset of this text.
    pub(crate) fn origin(&self, offset: usize) -> Option<Origin> {
        Some(Origin { file: self.file, offset: u32::try_from(offset).unwrap_or(u32::MAX) })
    }

    /// The line of a byte offset, counted from 1.
    pub(crate) fn line(&mut self, offset: usize) -> usize {
        if self.line_starts.is_empty() {
            self.line_starts.push(0);
            self.line_starts.extend(self.text.match_indices('\n').map(|(i, _)| i + 1));
        }
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// The problems with their places, in the order of the text.
    pub(crate) fn into_diagnostics(mut self, sources: &SourceMap) -> Vec<Diagnostic> {
        self.found.sort_by_key(|f| f.offset);
        let (errors, warnings): (Vec<_>, Vec<_>) =
            self.found.into_iter().partition(|f| f.severity == Severity::Error);
        let hidden = [("error", errors.len()), ("warning", warnings.len())];
        let mut shown: Vec<Finding> =
            errors.into_iter().take(SHOWN).chain(warnings.into_iter().take(SHOWN)).collect();
        shown.sort_by_key(|f| f.offset);
        let file = self.file;
        let mut diagnostics: Vec<Diagnostic> = shown
            .into_iter()
            .map(|f| {
                let offset = u32::try_from(f.offset).unwrap_or(u32::MAX);
                Diagnostic {
                    severity: f.severity,
                    element: f.element,
                    message: f.message,
                    remedy: f.remedy,
                    at: sources.locate(Some(Origin { file, offset })),
                }
            })
            .collect();
        for (kind, count) in hidden {
            if count > SHOWN {
                diagnostics.push(Diagnostic::warning(
                    "",
                    format!("{} more {kind}s are not shown", count - SHOWN),
                    "mend the first ones and read the file again",
                ));
            }
        }
        diagnostics
    }
}

/// `` `a`, `b` or `c` ``.
pub(crate) fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        Some((last, head)) if !head.is_empty() => format!("{} or {last}", head.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// A value from a file for use in a message: shortened, without line breaks.
pub(crate) fn quoted(value: &str) -> String {
    const WIDTH: usize = 40;
    let clean: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WIDTH + 1).collect();
    if clean.chars().count() > WIDTH {
        let head: String = clean.chars().take(WIDTH).collect();
        format!("`{head}…`")
    } else {
        format!("`{clean}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_findings_are_shortened_and_sorted() {
        let text = "a\n".repeat(500);
        let mut sources = SourceMap::new();
        let file = sources.add("a", text.as_str());
        let mut findings = Findings::new(&text, file);
        for i in (0..500).rev() {
            findings.error(2 * i, "x", "m", "r");
        }
        assert_eq!(findings.line(4), 3);
        let shown = findings.into_diagnostics(&sources);
        assert_eq!(shown.len(), SHOWN + 1);
        assert_eq!(shown[1].at.as_ref().unwrap().line, 2);
        assert!(shown[SHOWN].message.contains("400 more"));
    }
}
