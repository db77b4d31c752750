//! Terms of the cost.

use std::ops::Range;

use leastaction::control::{ControlTerm, ControlTermKind, When};
use leastaction::mechanism::{BodyId, Mechanism, State};
use leastaction::spatial::{Quat, Vec3};
use toml::de::{DeTable, DeValue};

use super::super::control_file::TermDraft;
use super::{Half, Reader};
use crate::failure::suggestion;
use crate::values::Entry;

const TERM: [&str; 9] = ["kind", "name", "at", "weight", "metric", "reference", "body", "point", "target"];
const KINDS: [&str; 5] = ["position", "velocity", "input", "point_tracking", "orientation_tracking"];

impl Reader {
    pub(super) fn term(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        index: usize,
        mechanism: &Mechanism,
        goal: Option<&State>,
    ) -> Option<TermDraft> {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        for entry in table {
            if !TERM.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &TERM);
            }
        }
        let Some(kind_entry) = find("kind") else {
            let element = format!("term {}", index + 1);
            self.values.problem(span, element, "it has no `kind`", format!("one of {}", KINDS.join(", ")));
            return None;
        };
        let kind = self.values.text(kind_entry)?;
        let when = match find("at") {
            None => When::Path,
            Some(entry) => match self.values.text(entry)?.as_str() {
                "path" => When::Path,
                "end" => When::End,
                other => {
                    let message = format!("`{other}` is not possible");
                    self.values.problem(entry.1.span(), "key `at`", message, "write \"path\" or \"end\"");
                    return None;
                }
            },
        };
        let weight = match find("weight") {
            Some(entry) => self.values.not_negative(entry)?,
            None => 1.0,
        };
        let weighted = |values: Vec<f64>| values.into_iter().map(|w| weight * w).collect::<Vec<f64>>();
        let mut about_hold = false;
        let kind_of_term = match kind.as_str() {
            "position" | "velocity" => {
                if kind == "position" && goal.is_none() {
                    let message = "it measures the distance from the goal, and there is none";
                    let element = format!("term `{kind}`");
                    self.values.problem(kind_entry.1.span(), element, message, "add a table [goal]");
                    return None;
                }
                let weights = match find("metric") {
                    Some(entry) => {
                        let zeros = vec![0.0; mechanism.nv()];
                        let metric = self.coordinates(entry, mechanism, Half::Tangents, &zeros)?;
                        self.not_negative(entry, &metric)?;
                        weighted(metric)
                    }
                    None => vec![weight; mechanism.nv()],
                };
                match goal {
                    Some(goal) if kind == "position" => {
                        ControlTermKind::Position { goal: goal.q.clone(), weights }
                    }
                    // Without a goal the motion is to come to rest.
                    _ => {
                        let rest = vec![0.0; mechanism.nv()];
                        ControlTermKind::Velocity { goal: goal.map_or(rest, |goal| goal.v.clone()), weights }
                    }
                }
            }
            "input" => {
                if when == When::End {
                    let message = "no input acts at the end";
                    self.values.problem(kind_entry.1.span(), "term `input`", message, "leave `at` out");
                    return None;
                }
                let weights = match find("metric") {
                    Some(entry) => {
                        let metric = self.per_input(entry, mechanism, 0.0)?;
                        self.not_negative(entry, &metric)?;
                        weighted(metric)
                    }
                    None => vec![weight; mechanism.nu()],
                };
                let reference = match find("reference") {
                    None => vec![0.0; mechanism.nu()],
                    Some(entry) if matches!(entry.1.get_ref(), DeValue::String(_)) => {
                        let word = self.values.text(entry)?;
                        if word != "hold" || goal.is_none() {
                            let message = format!("`{word}` is not possible");
                            let remedy = "give numbers, or \"hold\" for the inputs that hold the [goal]";
                            self.values.problem(entry.1.span(), "key `reference`", message, remedy);
                            return None;
                        }
                        about_hold = true;
                        vec![0.0; mechanism.nu()]
                    }
                    Some(entry) => self.per_input(entry, mechanism, 0.0)?,
                };
                ControlTermKind::Input { reference, weights }
            }
            "point_tracking" | "orientation_tracking" => {
                let body = self.body(find("body"), kind_entry, &kind, mechanism)?;
                let Some(target) = find("target") else {
                    let remedy = "give `target = [x, y, z]`, of an orientation `[w, x, y, z]`";
                    self.values.problem(
                        kind_entry.1.span(),
                        format!("term `{kind}`"),
                        "it has no `target`",
                        remedy,
                    );
                    return None;
                };
                let metric = match find("metric") {
                    Some(entry) => self.values.fixed::<3>(entry)?,
                    None => [1.0; 3],
                };
                let weights = metric.map(|w| weight * w);
                if kind == "point_tracking" {
                    let point = match find("point") {
                        Some(entry) => Vec3(self.values.fixed(entry)?),
                        None => Vec3::zero(),
                    };
                    ControlTermKind::Point { body, point, target: Vec3(self.values.fixed(target)?), weights }
                } else {
                    let turn = Quat::from_slice(&self.values.fixed::<4>(target)?);
                    if turn.norm() < 1e-6 {
                        let message = "the quaternion has no direction";
                        let remedy = "give a unit quaternion w, x, y, z";
                        self.values.problem(target.1.span(), "key `target`", message, remedy);
                        return None;
                    }
                    ControlTermKind::Orientation { body, target: turn.normalized().to_matrix(), weights }
                }
            }
            _ => {
                let remedy = suggestion(&kind, &KINDS).unwrap_or_default();
                let message = format!("`{kind}` is not a term of a control problem");
                self.values.problem(kind_entry.1.span(), "key `kind`", message, remedy);
                return None;
            }
        };
        let name = match find("name") {
            Some(entry) => self.values.text(entry)?,
            None => format!("{kind}{}", if when == When::End { " at the end" } else { "" }),
        };
        Some(TermDraft { name, term: ControlTerm { when, kind: kind_of_term }, about_hold })
    }

    pub(super) fn not_negative(&mut self, entry: Entry<'_, '_>, values: &[f64]) -> Option<()> {
        if let Some(bad) = values.iter().find(|x| **x < 0.0) {
            let element = format!("key `{}`", entry.0.get_ref());
            let message = format!("{bad} is not possible");
            self.values.problem(entry.1.span(), element, message, "give zeros or positive numbers");
            return None;
        }
        Some(())
    }

    pub(super) fn body(
        &mut self,
        entry: Option<Entry<'_, '_>>,
        kind_entry: Entry<'_, '_>,
        kind: &str,
        mechanism: &Mechanism,
    ) -> Option<BodyId> {
        let Some(entry) = entry else {
            let remedy = "name the body that tracks";
            self.values.problem(kind_entry.1.span(), format!("term `{kind}`"), "it has no `body`", remedy);
            return None;
        };
        let text = self.values.text(entry)?;
        let found = mechanism.body_by_name(&text);
        if found.is_none() {
            let names: Vec<&str> = mechanism.bodies().iter().map(|b| b.name.as_str()).collect();
            let remedy = suggestion(&text, &names).unwrap_or_default();
            let message = format!("there is no body `{text}` in `{}`", mechanism.name());
            self.values.problem(entry.1.span(), "key `body`", message, remedy);
        }
        found
    }

    /// Every input must cost something, or the best one is infinite.
    pub(super) fn check_terms(&mut self, entry: Entry<'_, '_>, terms: &[TermDraft]) {
        if !self.values.problems.is_empty() {
            return;
        }
        let priced = terms.iter().any(|draft| {
            matches!(&draft.term.kind, ControlTermKind::Input { weights, .. } if weights.iter().all(|w| *w > 0.0))
        });
        if !priced {
            self.values.problem(
                entry.0.span(),
                "terms",
                "no term gives every input a price",
                "add a term of kind \"input\" with a positive weight",
            );
        }
    }
}
