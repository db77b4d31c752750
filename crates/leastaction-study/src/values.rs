//! TOML values with their places.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use leastaction::io::{Diagnostic, SourceMap};
use leastaction::mechanism::{JointId, Mechanism, Origin};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::suggestion;

/// A key and its value.
pub(super) type Entry<'a, 't> = (&'a Spanned<Cow<'t, str>>, &'a Spanned<DeValue<'t>>);

/// Collects problems with their places.
pub(super) struct Values {
    sources: SourceMap,
    pub(super) problems: Vec<Diagnostic>,
}

/// A list of numbers or a list of lists.
#[derive(Debug)]
pub(super) enum Rows {
    One(Vec<f64>),
    Many(Vec<Vec<f64>>),
}

impl Values {
    pub(super) fn new(path: &Path, text: &str) -> Self {
        let mut sources = SourceMap::new();
        sources.add(path, text);
        Self { sources, problems: Vec::new() }
    }

    /// Notes a problem at a place.
    pub(super) fn problem(
        &mut self,
        span: Range<usize>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let offset = u32::try_from(span.start).unwrap_or(0);
        let at = self.sources.locate(Some(Origin { file: 0, offset }));
        self.problems.push(Diagnostic::error(element, message, remedy).at(at));
    }

    /// Keys of a file's top that are not known, and its schema.
    pub(super) fn head(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for entry in table {
            if !known.contains(&entry.0.get_ref().as_ref()) {
                self.unknown(entry.0, known);
            }
            if entry.0.get_ref() == "schema"
                && let Some(schema) = self.text(entry)
                && schema != "leastaction/problem/1"
            {
                let message = format!("`{schema}` is not the schema of a problem");
                self.problem(entry.1.span(), "key `schema`", message, "write \"leastaction/problem/1\"");
            }
        }
    }

    /// A joint of the tree that moves.
    pub(super) fn moving_joint(
        &mut self,
        name: &str,
        span: Range<usize>,
        mechanism: &Mechanism,
    ) -> Option<JointId> {
        let found = mechanism.joint_by_name(name).filter(|id| !mechanism.v_range(*id).is_empty());
        if found.is_none() {
            let names: Vec<&str> = mechanism
                .tree_joints()
                .map(|id| mechanism.joint(id))
                .filter(|j| j.kind.nv() > 0)
                .map(|j| j.name.as_str())
                .collect();
            let remedy = suggestion(name, names).unwrap_or_default();
            let message = format!("there is no moving joint of that name in `{}`", mechanism.name());
            self.problem(span, format!("joint `{name}`"), message, remedy);
        }
        found
    }

    pub(super) fn unknown(&mut self, key: &Spanned<Cow<'_, str>>, known: &[&str]) {
        let remedy = suggestion(key.get_ref(), known.iter().copied()).unwrap_or_default();
        self.problem(key.span(), format!("key `{}`", key.get_ref()), "there is no such key", remedy);
    }

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

    fn impossible<T>(&mut self, entry: Entry<'_, '_>, value: f64, needed: &str) -> Option<T> {
        let element = format!("key `{}`", entry.0.get_ref());
        self.problem(entry.1.span(), element, format!("{value} is not possible"), format!("give {needed}"));
        None
    }

    pub(super) fn table<'a, 't>(&mut self, entry: Entry<'a, 't>) -> Option<&'a DeTable<'t>> {
        match entry.1.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => self.mistyped(entry, "a table"),
        }
    }

    /// The tables of a list `[[key]]`.
    pub(super) fn tables<'a, 't>(&mut self, entry: Entry<'a, 't>) -> Vec<(&'a DeTable<'t>, Range<usize>)> {
        let DeValue::Array(list) = entry.1.get_ref() else {
            let _: Option<()> = self.mistyped(entry, &format!("tables headed [[{}]]", entry.0.get_ref()));
            return Vec::new();
        };
        list.iter().filter_map(|item| self.table((entry.0, item)).map(|table| (table, item.span()))).collect()
    }

    pub(super) fn text(&mut self, entry: Entry<'_, '_>) -> Option<String> {
        match entry.1.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => self.mistyped(entry, "text in quotes"),
        }
    }

    pub(super) fn texts(&mut self, entry: Entry<'_, '_>) -> Vec<(String, Range<usize>)> {
        let DeValue::Array(list) = entry.1.get_ref() else {
            return self.text(entry).map(|text| (text, entry.1.span())).into_iter().collect();
        };
        list.iter().filter_map(|item| self.text((entry.0, item)).map(|text| (text, item.span()))).collect()
    }

    pub(super) fn number(&mut self, entry: Entry<'_, '_>) -> Option<f64> {
        number(entry.1.get_ref()).or_else(|| self.mistyped(entry, "a finite number"))
    }

    pub(super) fn positive(&mut self, entry: Entry<'_, '_>) -> Option<f64> {
        match self.number(entry)? {
            value if value > 0.0 => Some(value),
            value => self.impossible(entry, value, "a number greater than 0"),
        }
    }

    pub(super) fn not_negative(&mut self, entry: Entry<'_, '_>) -> Option<f64> {
        match self.number(entry)? {
            value if value >= 0.0 => Some(value),
            value => self.impossible(entry, value, "zero or a positive number"),
        }
    }

    pub(super) fn count(&mut self, entry: Entry<'_, '_>, lowest: usize) -> Option<usize> {
        let needed = format!("a whole number from {lowest} on");
        let DeValue::Integer(value) = entry.1.get_ref() else { return self.mistyped(entry, &needed) };
        match usize::from_str_radix(value.as_str(), value.radix()) {
            Ok(value) if value >= lowest && value <= 1_000_000 => Some(value),
            _ => {
                let value = number(entry.1.get_ref()).unwrap_or(f64::NAN);
                self.impossible(entry, value, &needed)
            }
        }
    }

    pub(super) fn numbers(&mut self, entry: Entry<'_, '_>) -> Option<Vec<f64>> {
        let DeValue::Array(list) = entry.1.get_ref() else {
            return self.mistyped(entry, "a list of numbers");
        };
        let values: Option<Vec<f64>> = list.iter().map(|item| number(item.get_ref())).collect();
        values.or_else(|| self.mistyped(entry, "finite numbers only"))
    }

    /// A list of numbers, or a list of such lists.
    pub(super) fn rows(&mut self, entry: Entry<'_, '_>) -> Option<Rows> {
        let DeValue::Array(list) = entry.1.get_ref() else {
            return self.mistyped(entry, "a list of numbers");
        };
        if !list.iter().any(|item| matches!(item.get_ref(), DeValue::Array(_))) {
            return self.numbers(entry).map(Rows::One);
        }
        let rows: Option<Vec<Vec<f64>>> = list
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::Array(row) => row.iter().map(|x| number(x.get_ref())).collect(),
                _ => None,
            })
            .collect();
        rows.map(Rows::Many).or_else(|| self.mistyped(entry, "rows of finite numbers"))
    }

    pub(super) fn fixed<const N: usize>(&mut self, entry: Entry<'_, '_>) -> Option<[f64; N]> {
        let values = self.numbers(entry)?;
        let found = values.len();
        values.try_into().ok().or_else(|| {
            let element = format!("key `{}`", entry.0.get_ref());
            self.problem(entry.1.span(), element, format!("it has {found} numbers"), format!("give {N}"));
            None
        })
    }
}

/// A finite number.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    let value = match value {
        DeValue::Integer(value) if value.radix() == 10 => value.as_str().parse().ok()?,
        DeValue::Float(value) => value.as_str().parse::<f64>().ok()?,
        _ => return None,
    };
    value.is_finite().then_some(value)
}
