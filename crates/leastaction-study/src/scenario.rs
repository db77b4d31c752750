//! Scenario files: TOML with places, so that a wrong key is shown where it stands.

use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use leastaction::integrator::Method;
use leastaction::io::{Diagnostic, SourceMap};
use leastaction::mechanism::Origin;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::args::{Assignment, RandomVelocity};
use crate::config::{Settings, word};
use crate::failure::{Failure, suggestion};

/// Reads a scenario file; its paths become relative to its folder.
pub fn load(path: &Path) -> Result<Settings, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::caused_by(format!("can't read the scenario `{}`", path.display()), &error)
    })?;
    let settings = parse(&text, path).map_err(|diagnostics| {
        Failure::new(format!("`{}` can't be used as a scenario", path.display()))
            .with_diagnostics(diagnostics)
    })?;
    Ok(settings.relative_to(path.parent().unwrap_or(Path::new(""))))
}

/// Reads the text of a scenario file, or says everything that is wrong with it.
pub fn parse(text: &str, path: &Path) -> Result<Settings, Vec<Diagnostic>> {
    let mut reader =
        Reader { sources: SourceMap::new(), problems: Vec::new(), settings: Settings::default() };
    reader.sources.add(path, text);
    match DeTable::parse(text) {
        Ok(table) => reader.top(table.get_ref()),
        Err(error) => {
            let message = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
            reader.problem(error.span().unwrap_or(0..0), "scenario", message, "correct the TOML");
        }
    }
    // Tables come in no particular order.
    reader.problems.sort_by_key(|problem| problem.at.as_ref().map(|at| (at.line, at.column)));
    if reader.problems.is_empty() { Ok(reader.settings) } else { Err(reader.problems) }
}

struct Reader {
    sources: SourceMap,
    problems: Vec<Diagnostic>,
    settings: Settings,
}

type Entry<'a, 't> = (&'a Spanned<std::borrow::Cow<'t, str>>, &'a Spanned<DeValue<'t>>);

/// Keys outside tables.
const TOP: [&str; 22] = [
    "model",
    "base",
    "package_path",
    "integrator",
    "order",
    "step",
    "duration",
    "every",
    "tolerance",
    "iteration",
    "rotation_map",
    "composition",
    "gravity",
    "limits",
    "ignore",
    "undamped",
    "inputs_file",
    "policy",
    "open_loop",
    "initial",
    "inputs",
    "output",
];
const INITIAL: [&str; 5] = ["start", "state", "random_velocity", "q", "v"];
const OUTPUT: [&str; 3] = ["dir", "report", "forces"];

impl Reader {
    fn problem(
        &mut self,
        span: Range<usize>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let at =
            self.sources.locate(Some(Origin { file: 0, offset: u32::try_from(span.start).unwrap_or(0) }));
        self.problems.push(Diagnostic::error(element, message, remedy).at(at));
    }

    fn unknown(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>, known: &[&str]) {
        let remedy = suggestion(key.get_ref(), known.iter().copied()).unwrap_or_default();
        self.problem(key.span(), format!("key `{}`", key.get_ref()), "there is no such key", remedy);
    }

    fn top(&mut self, table: &DeTable<'_>) {
        for entry in table {
            match entry.0.get_ref().as_ref() {
                "model" => self.settings.model = self.text(entry),
                "base" => self.settings.base = self.choice(entry),
                "package_path" => {
                    self.settings.package_path =
                        self.texts(entry).into_iter().map(|(text, _)| text.into()).collect();
                }
                "integrator" => self.settings.integrator = self.method(entry),
                "order" => self.settings.order = self.count(entry).and_then(|n| u32::try_from(n).ok()),
                "step" => self.settings.step = self.positive(entry),
                "duration" => self.settings.duration = self.positive(entry),
                "every" => self.settings.every = self.count(entry),
                "tolerance" => self.settings.tolerance = self.positive(entry),
                "iteration" => self.settings.iteration = self.choice(entry),
                "rotation_map" => self.settings.rotation_map = self.choice(entry),
                "composition" => self.settings.composition = self.choice(entry),
                "gravity" => self.settings.gravity = self.triple(entry),
                "limits" => self.settings.limits = self.choice(entry),
                "ignore" => self.ignore(entry),
                "undamped" => self.settings.undamped = self.boolean(entry),
                "inputs_file" => self.settings.inputs_file = self.text(entry).map(PathBuf::from),
                "policy" => self.settings.policy = self.text(entry).map(PathBuf::from),
                "open_loop" => self.settings.open_loop = self.boolean(entry),
                "initial" => self.initial(entry),
                "inputs" => self.settings.inputs = self.assignments(entry),
                "output" => self.output(entry),
                _ => self.unknown(entry.0, &TOP),
            }
        }
    }

    fn initial(&mut self, entry: Entry<'_, '_>) {
        let Some(table) = self.table(entry) else { return };
        for entry in table {
            match entry.0.get_ref().as_ref() {
                "start" => self.settings.start = self.text(entry),
                "state" => self.settings.state = self.text(entry),
                "random_velocity" => self.settings.random_velocity = self.random_velocity(entry),
                "q" => self.settings.q = self.assignments(entry),
                "v" => self.settings.v = self.assignments(entry),
                _ => self.unknown(entry.0, &INITIAL),
            }
        }
    }

    fn output(&mut self, entry: Entry<'_, '_>) {
        let Some(table) = self.table(entry) else { return };
        for entry in table {
            match entry.0.get_ref().as_ref() {
                "dir" => self.settings.out = self.text(entry).map(PathBuf::from),
                "report" => self.settings.report = self.boolean(entry),
                "forces" => self.settings.forces = self.boolean(entry),
                _ => self.unknown(entry.0, &OUTPUT),
            }
        }
    }

    fn ignore(&mut self, entry: Entry<'_, '_>) {
        for (text, span) in self.texts(entry) {
            if let Some(kind) = self.one_of(entry.0.get_ref(), &text, span) {
                self.settings.ignore.push(kind);
            }
        }
    }

    /// Says that a value is of another type than the key needs.
    fn mistyped<T>(&mut self, entry: Entry<'_, '_>, needed: &str) -> Option<T> {
        let found = entry.1.get_ref().type_str();
        let element = format!("key `{}`", entry.0.get_ref());
        self.problem(
            entry.1.span(),
            element,
            format!("its value is of type {found}"),
            format!("give {needed}"),
        );
        None
    }

    fn table<'a, 't>(&mut self, entry: Entry<'a, 't>) -> Option<&'a DeTable<'t>> {
        match entry.1.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => self.mistyped(entry, "a table"),
        }
    }

    fn text(&mut self, entry: Entry<'_, '_>) -> Option<String> {
        match entry.1.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => self.mistyped(entry, "text in quotes"),
        }
    }

    fn boolean(&mut self, entry: Entry<'_, '_>) -> Option<bool> {
        match entry.1.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => self.mistyped(entry, "`true` or `false`"),
        }
    }

    fn positive(&mut self, entry: Entry<'_, '_>) -> Option<f64> {
        match number(entry.1.get_ref()) {
            Some(value) if value > 0.0 => Some(value),
            _ => self.mistyped_number(entry, "a number greater than 0"),
        }
    }

    fn mistyped_number<T>(&mut self, entry: Entry<'_, '_>, needed: &str) -> Option<T> {
        match number(entry.1.get_ref()) {
            None => self.mistyped(entry, needed),
            Some(value) => {
                let element = format!("key `{}`", entry.0.get_ref());
                self.problem(
                    entry.1.span(),
                    element,
                    format!("{value} is not possible"),
                    format!("give {needed}"),
                );
                None
            }
        }
    }

    fn count(&mut self, entry: Entry<'_, '_>) -> Option<u64> {
        match entry.1.get_ref() {
            DeValue::Integer(value) => match u64::from_str_radix(value.as_str(), value.radix()) {
                Ok(value) if value > 0 => Some(value),
                _ => self.mistyped_number(entry, "a whole number greater than 0"),
            },
            _ => self.mistyped(entry, "a whole number greater than 0"),
        }
    }

    fn numbers(&mut self, entry: Entry<'_, '_>) -> Option<Vec<f64>> {
        if let Some(value) = number(entry.1.get_ref()) {
            return Some(vec![value]);
        }
        let DeValue::Array(list) = entry.1.get_ref() else {
            return self.mistyped(entry, "a number or a list of numbers");
        };
        let values: Option<Vec<f64>> = list.iter().map(|item| number(item.get_ref())).collect();
        values.or_else(|| self.mistyped(entry, "finite numbers only"))
    }

    fn triple(&mut self, entry: Entry<'_, '_>) -> Option<[f64; 3]> {
        let values = self.numbers(entry)?;
        values.try_into().ok().or_else(|| self.mistyped(entry, "three numbers"))
    }

    fn random_velocity(&mut self, entry: Entry<'_, '_>) -> Option<RandomVelocity> {
        let needed = "`[SEED, MAX]`: a whole number below 2^32 and a number greater than 0";
        match self.numbers(entry)?.as_slice() {
            [seed, most] if seed.fract() == 0.0 && (0.0..4294967296.0).contains(seed) && *most > 0.0 => {
                Some(RandomVelocity { seed: *seed as u32, most: *most })
            }
            _ => self.mistyped(entry, needed),
        }
    }

    fn texts(&mut self, entry: Entry<'_, '_>) -> Vec<(String, Range<usize>)> {
        let DeValue::Array(list) = entry.1.get_ref() else {
            return self.text(entry).map(|text| (text, entry.1.span())).into_iter().collect();
        };
        list.iter().filter_map(|item| self.text((entry.0, item)).map(|text| (text, item.span()))).collect()
    }

    fn assignments(&mut self, entry: Entry<'_, '_>) -> Vec<Assignment> {
        let Some(table) = self.table(entry) else { return Vec::new() };
        let read = |entry: Entry<'_, '_>| {
            let values = self.numbers(entry)?;
            Some(Assignment { name: entry.0.get_ref().to_string(), values })
        };
        table.iter().filter_map(read).collect()
    }

    fn choice<T: ValueEnum>(&mut self, entry: Entry<'_, '_>) -> Option<T> {
        let text = self.text(entry)?;
        self.one_of(entry.0.get_ref(), &text, entry.1.span())
    }

    fn one_of<T: ValueEnum>(&mut self, key: &str, text: &str, span: Range<usize>) -> Option<T> {
        let known: Vec<String> = T::value_variants().iter().map(|variant| word(variant.clone())).collect();
        let found = T::from_str(text, false).ok();
        if found.is_none() {
            let remedy = suggestion(text, known.iter().map(String::as_str)).unwrap_or_default();
            self.problem(span, format!("key `{key}`"), format!("`{text}` is not possible"), remedy);
        }
        found
    }

    fn method(&mut self, entry: Entry<'_, '_>) -> Option<Method> {
        let text = self.text(entry)?;
        let found = Method::ALL.iter().find(|(name, _)| *name == text).map(|(_, method)| *method);
        if found.is_none() {
            let remedy = suggestion(&text, Method::ALL.map(|(name, _)| name)).unwrap_or_default();
            self.problem(
                entry.1.span(),
                "key `integrator`",
                format!("`{text}` is not an integrator"),
                remedy,
            );
        }
        found
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let value = match value {
        DeValue::Integer(value) if value.radix() == 10 => value.as_str().parse().ok()?,
        DeValue::Float(value) => value.as_str().parse::<f64>().ok()?,
        _ => return None,
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_found_with_its_place() {
        let text = "model = \"@chain/2\"\nstepp = 0.1\nevery = 0\nintegrator = \"rk5\"\n\n[initial]\nQ = 1\n[initial.q]\njoint0 = \"x\"\n[output]\nreport = 1\n";
        let problems = parse(text, Path::new("run.toml")).unwrap_err();
        let lines: Vec<u32> = problems.iter().filter_map(|p| p.at.as_ref()).map(|at| at.line).collect();
        assert_eq!(lines.len(), 6, "{problems:?}");
        for line in [2, 3, 4, 7, 9, 11] {
            assert!(lines.contains(&line), "{line}: {problems:?}");
        }
        let step = problems.iter().find(|p| p.element == "key `stepp`").unwrap();
        assert_eq!(step.remedy, "did you mean `step`?");
    }

    #[test]
    fn text_that_is_not_toml_is_shown_where_it_breaks() {
        let problems = parse("model = \n", Path::new("run.toml")).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].at.as_ref().unwrap().line, 1);
    }
}
