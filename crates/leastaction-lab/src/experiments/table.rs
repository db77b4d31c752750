//! [`Table`]: rows of numbers for pages, Markdown and JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::check::short;

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Words.
    Text(String),
    /// A number, shown with three digits.
    Number(f64),
    /// Nothing was measured.
    Empty,
}

impl From<f64> for Cell {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}
impl From<Option<f64>> for Cell {
    fn from(x: Option<f64>) -> Self {
        x.map_or(Self::Empty, Self::Number)
    }
}
impl From<usize> for Cell {
    fn from(x: usize) -> Self {
        Self::Text(x.to_string())
    }
}
impl From<&str> for Cell {
    fn from(x: &str) -> Self {
        Self::Text(x.to_owned())
    }
}
impl From<String> for Cell {
    fn from(x: String) -> Self {
        Self::Text(x)
    }
}

impl Cell {
    /// For people.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(x) => short(*x),
            Self::Empty => "–".into(),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Number(x) => json!({"value": x, "shown": short(*x)}),
            Self::Empty => Value::Null,
        }
    }

    fn from_json(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Object(_) => value["value"].as_f64().map_or(Self::Empty, Self::Number),
            _ => Self::Empty,
        }
    }
}

/// A table with a title.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// Title with units.
    pub(crate) title: String,
    /// Heads of the columns.
    pub(crate) head: Vec<String>,
    /// Rows, each as long as the head.
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<S: Into<String>>(title: impl Into<String>, head: impl IntoIterator<Item = S>) -> Self {
        Self { title: title.into(), head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// For machines.
    pub(crate) fn to_json(&self) -> Value {
        let rows: Vec<Vec<Value>> =
            self.rows.iter().map(|row| row.iter().map(Cell::to_json).collect()).collect();
        json!({"title": self.title, "head": self.head, "rows": rows})
    }

    /// What [`to_json`](Self::to_json) wrote.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let strings = |v: &Value| -> Option<Vec<String>> {
            v.as_array()?.iter().map(|x| x.as_str().map(str::to_owned)).collect()
        };
        let rows = value["rows"].as_array()?;
        let rows = rows.iter().map(|row| Some(row.as_array()?.iter().map(Cell::from_json).collect()));
        Some(Self {
            title: value["title"].as_str()?.to_owned(),
            head: strings(&value["head"])?,
            rows: rows.collect::<Option<_>>()?,
        })
    }

    /// For Markdown pages.
    pub(crate) fn to_markdown(&self) -> String {
        let mut text = format!("| {} |\n|{}\n", self.head.join(" | "), "---|".repeat(self.head.len()));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| cell.text().replace('|', "\\|")).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_survive_json() {
        let mut table = Table::new("times", ["n", "µs", "note"]);
        table.row([Cell::from(10_usize), Cell::from(1.25), Cell::Empty]);
        assert_eq!(Table::from_json(&table.to_json()), Some(table.clone()));
        assert_eq!(table.to_markdown(), "| n | µs | note |\n|---|---|---|\n| 10 | 1.25 | – |\n");
    }
}
