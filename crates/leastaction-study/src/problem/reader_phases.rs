//! Phases of a problem file: parts of the motion that times are told by.

use std::ops::Range;

use leastaction::mechanism::Mechanism;
use leastaction::optimize::{MotionProblem, ViaPoint, When};
use toml::de::{DeTable, DeValue};

use super::Phase;
use super::reader::Reader;
use crate::failure::suggestion;
use crate::values::{Entry, number};

const PHASE: [&str; 3] = ["name", "duration", "rest"];
/// Words that are times already.
const TAKEN: [&str; 2] = ["end", "always"];

impl Reader {
    /// The list `[[phases]]`; they follow each other from the start.
    pub(super) fn phases(&mut self, entry: Entry<'_, '_>) {
        for (table, span) in self.values.tables(entry) {
            if let Some((phase, rests)) = self.phase(table, span.clone()) {
                if self.phases.iter().any(|own| own.name == phase.name)
                    || TAKEN.contains(&phase.name.as_str())
                {
                    let message = format!("`{}` is taken", phase.name);
                    self.values.problem(span, "key `name`", message, "give every phase a name of its own");
                }
                self.phases.push(phase);
                if rests {
                    self.rests.push(self.phases.len() - 1);
                }
            }
        }
    }

    fn phase(&mut self, table: &DeTable<'_>, span: Range<usize>) -> Option<(Phase, bool)> {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        for entry in table {
            if !PHASE.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &PHASE);
            }
        }
        let (Some(name), Some(duration)) = (find("name"), find("duration")) else {
            let message = "it needs `name` and `duration`";
            self.values.problem(span, "phase", message, "add what is missing");
            return None;
        };
        let (name, duration) = (self.values.text(name)?, self.values.positive(duration)?);
        let rests = match find("rest") {
            Some(entry) => self.values.boolean(entry)?,
            None => false,
        };
        Some((Phase { name, duration }, rests))
    }

    /// The duration is that of the phases.
    pub(super) fn sum_of_phases(&mut self, problem: &mut MotionProblem) {
        let sum: f64 = self.phases.iter().map(|phase| phase.duration).sum();
        if let Some(span) = self.places.get("duration").cloned()
            && (problem.duration - sum).abs() > 1e-9 * sum
        {
            let message = format!("it is {} s, the phases last {sum} s", problem.duration);
            self.values.problem(span, "key `duration`", message, "leave it out, or change the phases");
        }
        problem.duration = sum;
    }

    /// Zero velocity at the ends of phases that say so.
    pub(super) fn rest_between_phases(&mut self, problem: &mut MotionProblem, mechanism: &Mechanism) {
        let chart = problem.chart(mechanism);
        for at in std::mem::take(&mut self.rests) {
            let (_, t) = self.span(at);
            // The last phase ends where the motion does, which says itself what is fixed there.
            if at + 1 == self.phases.len() {
                continue;
            }
            let coordinates = (0..mechanism.nv()).filter(|c| chart.position_of(*c).is_some());
            problem.via.extend(coordinates.map(|coordinate| ViaPoint {
                t,
                coordinate,
                order: 1,
                value: 0.0,
            }));
        }
    }

    /// When a phase begins and ends.
    fn span(&self, at: usize) -> (f64, f64) {
        let all: f64 = self.phases.iter().map(|phase| phase.duration).sum();
        let upto = |n: usize| self.phases[..n].iter().map(|phase| phase.duration).sum::<f64>();
        (upto(at), if at + 1 == self.phases.len() { all } else { upto(at + 1) })
    }

    fn span_of(&self, name: &str) -> Option<(f64, f64)> {
        self.phases.iter().position(|phase| phase.name == name).map(|at| self.span(at))
    }

    /// `"end"`, `"always"`, a time, two times, a phase, its start or its end.
    pub(super) fn when(&mut self, entry: Entry<'_, '_>, duration: f64) -> Option<When> {
        if let Some(t) = number(entry.1.get_ref()) {
            return Some(When::At(t));
        }
        let DeValue::String(word) = entry.1.get_ref() else {
            let [from, to] = self.values.fixed::<2>(entry)?;
            return Some(When::During(from, to));
        };
        let word = word.as_ref();
        let of = |prefix: &str| word.strip_prefix(prefix).and_then(|name| self.span_of(name));
        let found = match word {
            "end" => Some(When::At(duration)),
            "always" => Some(When::During(0.0, duration)),
            _ => (of("start of ").map(|span| When::At(span.0)))
                .or_else(|| of("end of ").map(|span| When::At(span.1)))
                .or_else(|| self.span_of(word).map(|(from, to)| When::During(from, to))),
        };
        if found.is_none() {
            let element = format!("key `{}`", entry.0.get_ref());
            let names: Vec<&str> = self.phases.iter().map(|phase| phase.name.as_str()).collect();
            let known =
                "write \"end\", \"always\", a time, [from, to], a phase, or \"start of\" or \"end of\" one";
            let last = word.rsplit(' ').next().unwrap_or(word);
            let remedy =
                suggestion(last, &names).filter(|_| !names.is_empty()).unwrap_or_else(|| known.into());
            self.values.problem(entry.1.span(), element, format!("`{word}` is no time"), remedy);
        }
        found
    }

    /// A single time: a number, `"end"`, or the start or end of a phase.
    pub(super) fn moment(&mut self, entry: Entry<'_, '_>, duration: f64) -> Option<f64> {
        match self.when(entry, duration)? {
            When::At(t) => Some(t),
            When::During(..) => {
                let (element, message) = (format!("key `{}`", entry.0.get_ref()), "it is no single time");
                self.values.problem(entry.1.span(), element, message, "write a number, or \"end of PHASE\"");
                None
            }
        }
    }

    /// A stretch of time: two numbers or a phase; `None` for always.
    pub(super) fn stretch(&mut self, entry: Entry<'_, '_>, duration: f64) -> Option<Option<(f64, f64)>> {
        match self.when(entry, duration)? {
            When::During(from, to) => Some(((from, to) != (0.0, duration)).then_some((from, to))),
            When::At(_) => {
                let (element, message) = (format!("key `{}`", entry.0.get_ref()), "it is a single time");
                self.values.problem(
                    entry.1.span(),
                    element,
                    message,
                    "write [from, to] or the name of a phase",
                );
                None
            }
        }
    }
}
