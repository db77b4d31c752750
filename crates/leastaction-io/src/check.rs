//! From a [`Reading`] to a [`Mechanism`]: the builder's problems, shown at their places.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::json::{self, Tree};
use super::{Diagnostic, Reading, Severity};
use crate::mechanism::{Mechanism, MechanismBuilder, ModelDescription, Origin, Problem};

impl Reading {
    /// Checks the model as a whole and builds it. What is found joins [`Reading::diagnostics`]; the mechanism is
    /// there if none of them is an error.
    ///
    /// After an error of the reader, elements are missing: warnings about what is left would only mislead, and are
    /// dropped.
    pub fn build(&mut self) -> Option<Mechanism> {
        let description = self.description.clone()?;
        let (mechanism, problems) = match MechanismBuilder::from(description).build_with_warnings() {
            Ok((mechanism, warnings)) => (Some(mechanism), warnings),
            Err(error) => (None, error.problems),
        };
        let places = Places::new(self, &problems);
        let incomplete = self.has_errors();
        for mut problem in problems {
            if incomplete && problem.severity == Severity::Warning {
                continue;
            }
            problem.origin = problem.origin.or_else(|| places.of(&problem.element));
            self.diagnostics.push(Diagnostic::from_problem(&problem, &self.sources));
        }
        self.diagnostics
            .sort_by_key(|d| d.at.as_ref().map_or((u32::MAX, u32::MAX), |at| (at.line, at.column)));
        mechanism.filter(|_| !self.has_errors())
    }
}

/// The mechanism of a description that is to be written, or what is wrong with it.
pub(crate) fn built(model: &ModelDescription) -> Result<Mechanism, Vec<Diagnostic>> {
    MechanismBuilder::from(model.clone()).build().map_err(|error| {
        let errors = error.problems.into_iter().filter(|p| p.severity == Severity::Error);
        errors.map(|p| Diagnostic::error(p.element, p.message, p.remedy)).collect()
    })
}

/// Places of elements that carry none of their own (frames, states, constraints, inputs), found again in the text.
struct Places {
    by_element: BTreeMap<String, usize>,
}

impl Places {
    fn new(reading: &Reading, problems: &[Problem]) -> Self {
        let mut by_element = BTreeMap::new();
        let text = reading.sources.text(0).unwrap_or("");
        if problems.iter().any(|p| p.origin.is_none()) && text.trim_start().starts_with('{') {
            let mut findings = Findings::new(text, 0);
            if let Some(tree) = json::parse(&mut findings) {
                by_element = elements(&tree);
            }
        }
        Self { by_element }
    }

    /// The place of an element, or the start of the file the user named.
    fn of(&self, element: &str) -> Option<Origin> {
        let offset = self.by_element.get(element).copied().unwrap_or(0);
        Some(Origin { file: 0, offset: u32::try_from(offset).unwrap_or(u32::MAX) })
    }
}

/// Names and places of what stands beside bodies and joints.
fn elements(tree: &Tree<'_>) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for key in ["gravity", "wind", "constraints", "couplings", "tendons", "frames", "states", "inputs"] {
        let Some(list) = tree.member(0, key) else { continue };
        found.insert(key.to_owned(), tree.nodes[list].at);
        for &entry in &tree.nodes[list].children {
            let node = &tree.nodes[entry];
            let name = match (&node.value, key) {
                (json::Value::Text(input), "inputs") => format!("input `{input}`"),
                _ => tree.element(entry),
            };
            let at = node.key.as_ref().map_or(node.at, |(_, at)| *at);
            // Of two with one name the second is at fault.
            found.insert(name, at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_a_frame_is_shown_where_the_frame_stands() {
        let text = "{\"schema\": \"leastaction/model/1\", \"name\": \"a\",\n\"bodies\": [{\"name\": \"b\", \"mass\": 1}],\n\
                    \"frames\": [\n{\"name\": \"tip\", \"body\": \"ghost\"}]}";
        let mut reading = crate::read_model_json(text, std::path::Path::new("a.json"));
        assert!(reading.build().is_none());
        let errors: Vec<&Diagnostic> =
            reading.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].at.as_ref().unwrap().line, 4);
    }
}
