//! [`Findings`]: what a reader of one text finds wrong with it, by byte offsets.

use super::{Diagnostic, Severity, SourceMap};
pub(crate) use crate::mechanism::nearest;
use crate::mechanism::{Origin, Problems};

/// The problems of one text.
pub(crate) struct Findings<'t> {
    text: &'t str,
    file: u32,
    line_starts: Vec<usize>,
    pub(crate) problems: Problems,
}

impl<'t> Findings<'t> {
    /// Nothing found yet in `text`, which is file number `file` of the source map.
    pub(crate) fn new(text: &'t str, file: u32) -> Self {
        Self { text, file, line_starts: Vec::new(), problems: Problems::default() }
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
        self.problems.add(severity, self.origin(offset), element, message, remedy);
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

    /// Adds a warning, the first with this message; later ones are counted.
    pub(crate) fn warn_once(
        &mut self,
        offset: usize,
        element: impl Into<String>,
        message: &str,
        remedy: impl Into<String>,
    ) {
        self.problems.of_kind(message, Severity::Warning, self.origin(offset), element, message, remedy);
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
    pub(crate) fn into_diagnostics(self, sources: &SourceMap) -> Vec<Diagnostic> {
        Diagnostic::list(self.problems, sources)
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
