//! [`Values`]: the one reader of TOML values, each with its place, its remedy and the nearest known name.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use leastaction::io::{Diagnostic, SourceMap};
use leastaction::mechanism::{JointId, Mechanism, Origin};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::suggestion;
use crate::field::{Assignment, Field, Kind, Value};
use crate::model::moving_joints;
use crate::slot::RandomVelocity;

/// A key and its value.
pub(crate) type Entry<'a, 't> = (&'a Spanned<Cow<'t, str>>, &'a Spanned<DeValue<'t>>);

/// Collects problems with their places.
pub(crate) struct Values {
    sources: SourceMap,
    pub(crate) problems: Vec<Diagnostic>,
}

/// A list of numbers or a list of lists.
#[derive(Debug)]
pub(crate) enum Rows {
    One(Vec<f64>),
    Many(Vec<Vec<f64>>),
}

impl Values {
    pub(crate) fn new(path: &Path, text: &str) -> Self {
        let mut sources = SourceMap::new();
        sources.add(path, text);
        Self { sources, problems: Vec::new() }
    }

    /// The table of a file, or a problem where its TOML breaks.
    pub(crate) fn parse<'t>(&mut self, text: &'t str, what: &str) -> Option<Spanned<DeTable<'t>>> {
        match DeTable::parse(text) {
            Ok(table) => Some(table),
            Err(error) => {
                let message = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
                self.problem(error.span().unwrap_or(0..0), what, message, "correct the TOML");
                None
            }
        }
    }

    /// Notes a problem at a place.
    #[inline]
    pub(crate) fn problem(
        &mut self,
        span: Range<usize>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.note(span.start, element.into(), message.into(), remedy.into());
    }

    fn note(&mut self, offset: usize, element: String, message: String, remedy: String) {
        let offset = u32::try_from(offset).unwrap_or(0);
        let at = self.sources.locate(Some(Origin { file: 0, offset }));
        self.problems.push(Diagnostic::error(element, message, remedy).at(at));
    }

    /// Keys of a file's top that are not known, and its schema.
    pub(crate) fn head(&mut self, table: &DeTable<'_>, known: &[&str]) {
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
    pub(crate) fn moving_joint(
        &mut self,
        name: &str,
        span: Range<usize>,
        mechanism: &Mechanism,
    ) -> Option<JointId> {
        let found = mechanism.joint_by_name(name).filter(|id| !mechanism.v_range(*id).is_empty());
        if found.is_none() {
            let remedy = suggestion(name, &moving_joints(mechanism)).unwrap_or_default();
            let message = format!("there is no moving joint of that name in `{}`", mechanism.name());
            self.problem(span, format!("joint `{name}`"), message, remedy);
        }
        found
    }

    pub(crate) fn unknown(&mut self, key: &Spanned<Cow<'_, str>>, known: &[&str]) {
        let remedy = suggestion(key.get_ref(), known).unwrap_or_default();
        self.problem(key.span(), format!("key `{}`", key.get_ref()), "there is no such key", remedy);
    }

    #[inline]
    fn mistyped<T>(&mut self, entry: Entry<'_, '_>, needed: &str) -> Option<T> {
        self.refuse(entry, format!("its value is of type {}", entry.1.get_ref().type_str()), needed);
        None
    }

    #[inline]
    fn impossible<T>(&mut self, entry: Entry<'_, '_>, value: f64, needed: &str) -> Option<T> {
        self.refuse(entry, format!("{value} is not possible"), needed);
        None
    }

    fn refuse(&mut self, entry: Entry<'_, '_>, message: String, needed: &str) {
        self.problem(
            entry.1.span(),
            format!("key `{}`", entry.0.get_ref()),
            message,
            format!("give {needed}"),
        );
    }

    /// The values of a field: its kind says what is possible.
    pub(crate) fn field(&mut self, entry: Entry<'_, '_>, field: &Field) -> Option<Vec<Value>> {
        let kind = field.kind;
        let one = match kind {
            Kind::Text | Kind::Path | Kind::Word(_) => {
                let texts =
                    if field.many { self.texts(entry) } else { vec![(self.text(entry)?, entry.1.span())] };
                let path = kind == Kind::Path;
                let mut given = Vec::new();
                for (text, span) in texts {
                    if self.is_possible(entry, &text, span, kind) {
                        given.push(if path { Value::Path(text.into()) } else { Value::Text(text) });
                    }
                }
                return Some(given);
            }
            Kind::Assignment | Kind::Gain => return self.assignments(entry),
            Kind::Switch => Value::Switch(self.boolean(entry)?),
            Kind::Positive | Kind::Range(..) => match self.number_for(entry, kind)? {
                x if kind.admits(x) => Value::Number(x),
                x => return self.impossible(entry, x, &kind.needed()),
            },
            Kind::Count(least, most) => Value::Count(self.whole(entry, least, most, &kind.needed())?),
            Kind::Vector => match self.one_or_more(entry)? {
                numbers if numbers.len() == 3 => Value::Numbers(numbers),
                _ => return self.mistyped(entry, &kind.needed()),
            },
            Kind::RandomVelocity => match self.one_or_more(entry)? {
                numbers if RandomVelocity::of(&numbers).is_some() => Value::Numbers(numbers),
                _ => return self.mistyped(entry, &kind.needed()),
            },
        };
        Some(vec![one])
    }

    /// Whether a word is one of those that a kind has; every text is where it has none.
    pub(crate) fn is_possible(
        &mut self,
        entry: Entry<'_, '_>,
        text: &str,
        span: Range<usize>,
        kind: Kind,
    ) -> bool {
        let Kind::Word(words) = kind else { return true };
        let known: Vec<&str> = words.iter().map(|word| word.0).collect();
        let found = known.contains(&text);
        if !found {
            let remedy = suggestion(text, &known).unwrap_or_default();
            let element = format!("key `{}`", entry.0.get_ref());
            self.problem(span, element, format!("`{text}` is not possible"), remedy);
        }
        found
    }

    /// Numbers by name.
    fn assignments(&mut self, entry: Entry<'_, '_>) -> Option<Vec<Value>> {
        let table = self.table(entry)?;
        let mut given = Vec::new();
        for item in table {
            if let Some(values) = self.one_or_more(item) {
                given.push(Value::Assignment(Assignment { name: item.0.get_ref().to_string(), values }));
            }
        }
        Some(given)
    }

    /// A number or a list of them.
    fn one_or_more(&mut self, entry: Entry<'_, '_>) -> Option<Vec<f64>> {
        if let Some(value) = number(entry.1.get_ref()) {
            return Some(vec![value]);
        }
        match entry.1.get_ref() {
            DeValue::Array(_) => self.numbers(entry),
            _ => self.mistyped(entry, "a number or a list of numbers"),
        }
    }

    fn number_for(&mut self, entry: Entry<'_, '_>, kind: Kind) -> Option<f64> {
        number(entry.1.get_ref()).or_else(|| self.mistyped(entry, &kind.needed()))
    }

    pub(crate) fn boolean(&mut self, entry: Entry<'_, '_>) -> Option<bool> {
        match entry.1.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => self.mistyped(entry, "`true` or `false`"),
        }
    }

    /// A whole number in a range.
    fn whole(&mut self, entry: Entry<'_, '_>, least: u64, most: u64, needed: &str) -> Option<u64> {
        let DeValue::Integer(value) = entry.1.get_ref() else { return self.mistyped(entry, needed) };
        match u64::from_str_radix(value.as_str(), value.radix()) {
            Ok(value) if least <= value && value <= most => Some(value),
            _ => {
                let value = number(entry.1.get_ref()).unwrap_or(f64::NAN);
                self.impossible(entry, value, needed)
            }
        }
    }

    pub(crate) fn table<'a, 't>(&mut self, entry: Entry<'a, 't>) -> Option<&'a DeTable<'t>> {
        match entry.1.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => self.mistyped(entry, "a table"),
        }
    }

    /// The tables of a list `[[key]]`.
    pub(crate) fn tables<'a, 't>(&mut self, entry: Entry<'a, 't>) -> Vec<(&'a DeTable<'t>, Range<usize>)> {
        let DeValue::Array(list) = entry.1.get_ref() else {
            let _: Option<()> = self.mistyped(entry, &format!("tables headed [[{}]]", entry.0.get_ref()));
            return Vec::new();
        };
        list.iter().filter_map(|item| self.table((entry.0, item)).map(|table| (table, item.span()))).collect()
    }

    pub(crate) fn text(&mut self, entry: Entry<'_, '_>) -> Option<String> {
        match entry.1.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => self.mistyped(entry, "text in quotes"),
        }
    }

    pub(crate) fn texts(&mut self, entry: Entry<'_, '_>) -> Vec<(String, Range<usize>)> {
        let DeValue::Array(list) = entry.1.get_ref() else {
            return self.text(entry).map(|text| (text, entry.1.span())).into_iter().collect();
        };
        list.iter().filter_map(|item| self.text((entry.0, item)).map(|text| (text, item.span()))).collect()
    }

    pub(crate) fn number(&mut self, entry: Entry<'_, '_>) -> Option<f64> {
        number(entry.1.get_ref()).or_else(|| self.mistyped(entry, "a finite number"))
    }

    pub(crate) fn positive(&mut self, entry: Entry<'_, '_>) -> Option<f64> {
        match self.number(entry)? {
            value if value > 0.0 => Some(value),
            value => self.impossible(entry, value, "a number greater than 0"),
        }
    }

    pub(crate) fn not_negative(&mut self, entry: Entry<'_, '_>) -> Option<f64> {
        match self.number(entry)? {
            value if value >= 0.0 => Some(value),
            value => self.impossible(entry, value, "zero or a positive number"),
        }
    }

    pub(crate) fn count(&mut self, entry: Entry<'_, '_>, lowest: usize) -> Option<usize> {
        let needed = format!("a whole number from {lowest} on");
        self.whole(entry, lowest as u64, 1_000_000, &needed).map(|n| n as usize)
    }

    pub(crate) fn numbers(&mut self, entry: Entry<'_, '_>) -> Option<Vec<f64>> {
        let DeValue::Array(list) = entry.1.get_ref() else {
            return self.mistyped(entry, "a list of numbers");
        };
        let mut values = Vec::with_capacity(list.len());
        for (i, item) in list.iter().enumerate() {
            let Some(value) = number(item.get_ref()) else {
                let message = format!("entry {} of the list is not a finite number", i + 1);
                self.refuse(entry, message, "finite numbers only");
                return None;
            };
            values.push(value);
        }
        Some(values)
    }

    /// A list of numbers, or a list of such lists.
    pub(crate) fn rows(&mut self, entry: Entry<'_, '_>) -> Option<Rows> {
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

    pub(crate) fn fixed<const N: usize>(&mut self, entry: Entry<'_, '_>) -> Option<[f64; N]> {
        let values = self.numbers(entry)?;
        if values.len() != N {
            self.refuse(entry, format!("it has {} numbers", values.len()), &N.to_string());
        }
        values.try_into().ok()
    }
}

/// A finite number.
pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    let value = match value {
        DeValue::Integer(value) if value.radix() == 10 => value.as_str().parse().ok()?,
        DeValue::Float(value) => value.as_str().parse::<f64>().ok()?,
        _ => return None,
    };
    value.is_finite().then_some(value)
}
