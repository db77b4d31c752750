//! [`Problem`]: one thing wrong with a model description.

use super::Origin;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
