//! [`Diagnostic`]: one problem of a model, said so that a person can mend it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::mechanism::{Origin, Problem, Problems, Severity};

/// A place in a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// The source line, shortened around the column.
    pub excerpt: String,
}

/// One problem: where, what element, what is wrong, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The element, as a user would name it: ``joint `elbow` ``.
    pub element: String,
    /// What is wrong, with the value found.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// Where; `None` for models made by code.
    pub at: Option<Location>,
}

impl Diagnostic {
    /// An error without a place yet.
    pub fn error(element: impl Into<String>, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            element: element.into(),
            message: message.into(),
            remedy: remedy.into(),
            at: None,
        }
    }

    /// A warning without a place yet.
    pub fn warning(
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::error(element, message, remedy) }
    }

    /// All problems of a model, placed in the texts it came from.
    pub(crate) fn list(problems: Problems, sources: &SourceMap) -> Vec<Self> {
        problems.finish().iter().map(|problem| Self::from_problem(problem, sources)).collect()
    }

    /// A problem that the builder found, placed in the texts the model came from.
    #[must_use]
    pub fn from_problem(problem: &Problem, sources: &SourceMap) -> Self {
        let mut message = problem.message.clone();
        if let Some(at) = problem.related.and_then(|origin| sources.locate(Some(origin))) {
            message.push_str(&format!(" (the other is at {}:{}:{})", at.file.display(), at.line, at.column));
        }
        Self {
            severity: problem.severity,
            element: problem.element.clone(),
            message,
            remedy: problem.remedy.clone(),
            at: sources.locate(problem.origin),
        }
    }

    /// `file:line:column: error: element: message`.
    fn headline(&self) -> String {
        let place = self.at.as_ref().map_or_else(String::new, |at| {
            format!("{}:{}:{}: ", printable(&at.file.to_string_lossy()), at.line, at.column)
        });
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let element = if self.element.is_empty() { "" } else { &format!("{}: ", printable(&self.element)) };
        format!("{place}{severity}: {element}{}", printable(&self.message))
    }

    /// The message without the names and numbers that differ between problems of one kind.
    fn kind(&self) -> (Severity, String) {
        let outside = self.message.split('`').step_by(2).flat_map(str::chars);
        (self.severity, outside.filter(|c| !c.is_ascii_digit()).collect())
    }

    /// The same problem at a place.
    #[must_use]
    pub fn at(mut self, location: Option<Location>) -> Self {
        self.at = location;
        self
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: error: element: message`, the source line, then the remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        if let Some(at) = &self.at
            && !at.excerpt.is_empty()
        {
            write!(f, "\n  {:>5} | {}", at.line, printable(&at.excerpt))?;
        }
        if !self.remedy.is_empty() {
            write!(f, "\n  help: {}", printable(&self.remedy))?;
        }
        Ok(())
    }
}

/// Problems that differ in names and numbers only: the first of them, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemKind<'d> {
    /// The first.
    pub first: &'d Diagnostic,
    /// Number of problems, the first included.
    pub count: usize,
}

impl<'d> ProblemKind<'d> {
    /// The kinds among some problems, in the order of their first ones.
    #[must_use]
    pub fn group(diagnostics: &'d [Diagnostic]) -> Vec<Self> {
        let mut kinds: Vec<Self> = Vec::new();
        let mut index = HashMap::new();
        for diagnostic in diagnostics {
            let kind = *index.entry(diagnostic.kind()).or_insert(kinds.len());
            match kinds.get_mut(kind) {
                Some(known) => known.count += 1,
                None => kinds.push(Self { first: diagnostic, count: 1 }),
            }
        }
        kinds
    }
}

impl fmt::Display for ProblemKind<'_> {
    /// One line, without excerpt and remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first.headline())?;
        if self.count > 1 {
            write!(f, " (and {} more of this kind)", self.count - 1)?;
        }
        Ok(())
    }
}

/// Text from a file as it may be shown: characters that move the cursor, change colours, begin a new line or reverse
/// the direction of writing are written as escapes.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        c.is_control() && c != '\t'
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// A text, and where its lines begin: problems come by the hundred, and each needs its line.
#[derive(Clone, Debug)]
struct Source {
    path: PathBuf,
    text: String,
    line_starts: Vec<usize>,
}

/// The texts a model was read from, so that an [`Origin`] can be shown as file, line and column.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<Source>,
}

impl SourceMap {
    /// No sources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file and returns its index.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> u32 {
        let text = text.into();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        self.files.push(Source { path: path.into(), text, line_starts });
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    /// The text of a file.
    #[must_use]
    pub fn text(&self, file: u32) -> Option<&str> {
        self.files.get(file as usize).map(|source| source.text.as_str())
    }

    /// The path of a file.
    #[must_use]
    pub fn path(&self, file: u32) -> Option<&Path> {
        self.files.get(file as usize).map(|source| source.path.as_path())
    }

    /// Paths and texts of all files, the one the user named first.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().map(|source| (source.path.as_path(), source.text.as_str()))
    }

    /// Line, column and excerpt of an origin.
    #[must_use]
    pub fn locate(&self, origin: Option<Origin>) -> Option<Location> {
        let origin = origin?;
        let Source { path, text, line_starts } = self.files.get(origin.file as usize)?;
        let mut offset = (origin.offset as usize).min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = line_starts.partition_point(|start| *start <= offset);
        let line_start = line_starts[line - 1];
        let column = 1 + text[line_start..offset].chars().count();
        let line_text = text[line_start..].lines().next().unwrap_or("");
        Some(Location {
            file: path.clone(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            excerpt: excerpt(line_text, column - 1),
        })
    }
}

/// The source line, at most 100 characters of it around `column`.
fn excerpt(line: &str, column: usize) -> String {
    const WIDTH: usize = 100;
    let line = line.trim_end();
    if line.chars().count() <= WIDTH {
        return line.trim_start().to_owned();
    }
    let start = column.saturating_sub(WIDTH / 4);
    let part: String = line.chars().skip(start).take(WIDTH).collect();
    let head = if start > 0 { "…" } else { "" };
    let tail = if start + WIDTH < line.chars().count() { "…" } else { "" };
    format!("{head}{}{tail}", part.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_line_column_and_excerpt() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.urdf", "one\n  <two é/>\nthree");
        let at = sources.locate(Some(Origin { file, offset: 6 })).unwrap();
        assert_eq!((at.line, at.column, at.excerpt.as_str()), (2, 3, "<two é/>"));
        let end = sources.locate(Some(Origin { file, offset: 10_000 })).unwrap();
        assert_eq!(end.line, 3);
        // Inside the two bytes of `é`: the place of that letter.
        let inside = sources.locate(Some(Origin { file, offset: 12 })).unwrap();
        assert_eq!((inside.line, inside.column), (2, 8));
    }

    #[test]
    fn what_acts_on_a_terminal_is_shown_as_escapes() {
        let name = "a\u{1b}[31mred\nerror: b\u{9b}2J\u{202e}";
        let shown = Diagnostic::error(format!("joint `{name}`"), name, name).to_string();
        assert_eq!(shown.lines().count(), 2, "{shown}");
        assert!(shown.contains("`a\\u{1b}[31mred\\nerror: b\\u{9b}2J\\u{202e}`"), "{shown}");
        assert_eq!(printable("längs\tz"), "längs\tz");
    }

    #[test]
    fn problems_are_grouped_by_kind_with_counts() {
        let unknown = |name: &str| Diagnostic::warning("link", format!("unknown attribute `{name}`"), "");
        let all = [unknown("a"), Diagnostic::error("x", "mass -1", ""), unknown("b2"), unknown("")];
        let shown: Vec<String> = ProblemKind::group(&all).iter().map(ToString::to_string).collect();
        let expected =
            ["warning: link: unknown attribute `a` (and 2 more of this kind)", "error: x: mass -1"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_long_line_is_shortened_around_the_column() {
        let mut sources = SourceMap::new();
        let file = sources.add("a", format!("{}X{}", "a".repeat(500), "b".repeat(500)));
        let at = sources.locate(Some(Origin { file, offset: 500 })).unwrap();
        assert!(at.excerpt.contains('X') && at.excerpt.chars().count() < 110);
    }
}
