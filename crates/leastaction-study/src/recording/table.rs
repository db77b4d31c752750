//! [`Table`]: names, units and rows of a text file, whoever wrote it.

use std::path::Path;

use leastaction::mechanism::Mechanism;
use leastaction::trajectory::Trajectory;

use crate::failure::Failure;

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    /// Its unit, if the file says one.
    pub(super) unit: Option<String>,
    index: usize,
}

/// A table of numbers; empty cells are not a number.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    rows: Vec<Vec<f64>>,
    /// Line of each row.
    lines: Vec<usize>,
    /// The file says that its angles are in degrees.
    pub(super) degrees: bool,
    /// Line that the units stand in.
    pub(super) unit_line: usize,
}

/// A unit with its factor to SI.
pub(super) struct Unit {
    pub(super) factor: f64,
    pub(super) is_length: bool,
    pub(super) is_rate: bool,
    /// No unit at all: fits everything.
    pub(super) is_plain: bool,
}

impl Unit {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let (base, is_rate) = match text.strip_suffix("/s").or_else(|| text.strip_suffix(" s^-1")) {
            Some(base) => (base.trim(), true),
            None => (text.as_str(), false),
        };
        let (factor, is_length, is_plain) = match base {
            "rad" | "radian" | "radians" => (1.0, false, false),
            "deg" | "degree" | "degrees" | "°" => (1f64.to_radians(), false, false),
            "m" | "meter" | "metre" | "meters" | "metres" => (1.0, true, false),
            "cm" => (1e-2, true, false),
            "mm" => (1e-3, true, false),
            "" | "-" | "1" | "none" => (1.0, false, true),
            _ => return None,
        };
        Some(Self { factor, is_length, is_rate, is_plain })
    }

    /// Factor to seconds.
    fn time(text: &str) -> Option<f64> {
        match text.trim().to_ascii_lowercase().as_str() {
            "s" | "sec" | "second" | "seconds" | "" | "-" => Some(1.0),
            "ms" | "millisecond" | "milliseconds" => Some(1e-3),
            "us" | "µs" => Some(1e-6),
            "ns" => Some(1e-9),
            _ => None,
        }
    }
}

/// `name [unit]` or `name (unit)` in two parts.
fn split_unit(text: &str) -> (String, Option<String>) {
    let text = text.trim().trim_matches('"').trim();
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(inner) = text.strip_suffix(close)
            && let Some((name, unit)) = inner.rsplit_once(open)
        {
            return (name.trim().to_owned(), Some(unit.trim().to_owned()));
        }
    }
    (text.to_owned(), None)
}

impl Table {
    /// Reads CSV (commas, semicolons or tabs) or OpenSim storage.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = leastaction::io::read_text(path).map_err(|error| {
            Failure::caused_by(format!("can't read the recording `{}`", path.display()), &error)
        })?;
        let opensim = matches!(super::extension(path).as_str(), "mot" | "sto");
        let text = text.trim_start_matches('\u{feff}');
        let wrong = |line: usize, what: String, help: &str| {
            Failure::new(format!("{}:{line}: {what}", path.display())).help(help)
        };
        let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line)).peekable();
        let mut table = Self::default();
        if opensim {
            let mut ended = false;
            for (_, line) in lines.by_ref() {
                let word = line.trim().to_ascii_lowercase();
                if let Some(value) = word.strip_prefix("indegrees") {
                    table.degrees = value.trim_start_matches([' ', '=']).starts_with('y');
                }
                if word == "endheader" {
                    ended = true;
                    break;
                }
            }
            if !ended {
                return Err(wrong(1, "there is no `endheader`".into(), "take a file that OpenSim wrote"));
            }
        }
        let mut rest =
            lines.filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        let Some((header_line, header)) = rest.next() else {
            return Err(wrong(
                1,
                "there are no column names".into(),
                "name the columns in the first line, the times `t` or `time`",
            ));
        };
        let comma = if opensim {
            ' '
        } else {
            *[',', ';', '\t'].iter().max_by_key(|c| header.matches(**c).count()).unwrap_or(&',')
        };
        let cells = |line: &str| -> Vec<String> {
            if comma == ' ' {
                line.split_whitespace().map(str::to_owned).collect()
            } else {
                line.split(comma).map(|cell| cell.trim().trim_matches('"').trim().to_owned()).collect()
            }
        };
        let names = cells(header);
        if names.iter().all(|name| name.parse::<f64>().is_ok()) {
            return Err(wrong(
                header_line,
                "the first line holds numbers, not names of columns".into(),
                "add a line of names: `t` and one per joint",
            ));
        }
        for (index, name) in names.iter().enumerate() {
            let (name, unit) = split_unit(name);
            if let Some(twin) = table.columns.iter().find(|c| c.name == name && !name.is_empty()) {
                return Err(wrong(
                    header_line,
                    format!("column `{}` appears twice", twin.name),
                    "give every column a name of its own",
                ));
            }
            table.columns.push(Column { name, unit, index });
        }
        table.unit_line = header_line;
        for (line, text) in rest {
            let row = cells(text);
            // A row of units, one at most: nothing in it is a number.
            let words = row.iter().filter(|cell| !cell.is_empty()).count();
            if table.rows.is_empty()
                && table.unit_line == header_line
                && words > 0
                && row.iter().all(|cell| cell.parse::<f64>().is_err())
                && row.len() == names.len()
            {
                table.unit_line = line;
                for (column, unit) in table.columns.iter_mut().zip(&row) {
                    column.unit = Some(unit.trim_matches(['[', ']', '(', ')']).to_owned());
                }
                continue;
            }
            if row.len() != names.len() {
                let what =
                    format!("the row has {} values, the header names {} columns", row.len(), names.len());
                return Err(wrong(line, what, "make every row as long as the header"));
            }
            let mut numbers = Vec::with_capacity(row.len());
            for (cell, column) in row.iter().zip(&table.columns) {
                let number = if cell.is_empty() { Ok(f64::NAN) } else { cell.parse::<f64>() };
                let Ok(number) = number else {
                    let what = format!(
                        "`{}` in column `{}` is not a number",
                        cell.chars().take(40).collect::<String>(),
                        column.name
                    );
                    return Err(wrong(
                        line,
                        what,
                        "write numbers with a point, and leave empty what was not recorded",
                    ));
                };
                numbers.push(number);
            }
            table.rows.push(numbers);
            table.lines.push(line);
        }
        Ok(table)
    }

    pub(super) fn from_trajectory(trajectory: &Trajectory) -> Self {
        let columns = trajectory.layout().columns().enumerate();
        Self {
            columns: columns
                .map(|(index, name)| Column { name: name.to_owned(), unit: None, index })
                .collect(),
            rows: trajectory.rows().map(<[f64]>::to_vec).collect(),
            lines: (1..=trajectory.len()).collect(),
            degrees: false,
            unit_line: 1,
        }
    }

    /// A column by one of its names, or by the end of its path.
    pub(super) fn find(&self, candidates: &[String]) -> Option<&Column> {
        candidates.iter().find_map(|name| {
            self.columns.iter().find(|column| {
                column.name.eq_ignore_ascii_case(name)
                    || (name.starts_with('/') && column.name.ends_with(name.as_str()))
            })
        })
    }

    pub(super) fn values(&self, column: &Column, factor: f64) -> Vec<f64> {
        self.rows.iter().map(|row| factor * row[column.index]).collect()
    }

    /// Refuses what is too short for a motion.
    pub(super) fn expect_rows(&self, path: &Path) -> Result<(), Failure> {
        if self.rows.len() >= 4 {
            return Ok(());
        }
        let (line, count) = (self.unit_line, self.rows.len());
        Err(Failure::new(format!("{}:{line}: there are {count} rows of numbers", path.display()))
            .help("a motion needs many samples: record longer or faster"))
    }

    /// Line of a row.
    pub(super) fn line(&self, row: usize) -> usize {
        self.lines.get(row).copied().unwrap_or(row + 1)
    }

    /// Times in seconds.
    pub(super) fn times(&self, path: &Path) -> Result<Vec<f64>, Failure> {
        let names = ["t", "time", "timestamp", "time_s"].map(str::to_owned);
        let Some(column) = self.find(&names) else {
            return Err(Failure::new(format!("`{}` has no column `t` or `time`", path.display()))
                .help("name the column of times `t`"));
        };
        let unit = column.unit.clone().unwrap_or_default();
        let Some(factor) = Unit::time(&unit) else {
            return Err(Failure::new(format!(
                "{}:{}: the unit `{unit}` of column `{}` is not known",
                path.display(),
                self.unit_line,
                column.name
            ))
            .help("write s, ms, us or ns"));
        };
        Ok(self.values(column, factor))
    }

    /// A note on columns that mean nothing to the mechanism.
    pub(super) fn unused(&self, mechanism: &Mechanism) -> Vec<String> {
        let known: Vec<String> = mechanism.q_labels().into_iter().chain(mechanism.v_labels()).collect();
        let means = |name: &str| {
            let bare = name.trim_start_matches("q.").trim_start_matches("v.");
            matches!(name.to_ascii_lowercase().as_str(), "t" | "time" | "timestamp" | "time_s")
                || known.iter().any(|k| k.eq_ignore_ascii_case(bare) || name.contains(&format!("/{k}/")))
                || ["x.", "e.", "u.", "energy", "momentum", "p."].iter().any(|p| name.starts_with(p))
        };
        let idle: Vec<&str> =
            self.columns.iter().map(|c| c.name.as_str()).filter(|name| !means(name)).collect();
        if idle.is_empty() || idle.len() > 2 * known.len() {
            return Vec::new();
        }
        let shown = idle.iter().take(6).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let more = if idle.len() > 6 { format!(" and {} more", idle.len() - 6) } else { String::new() };
        vec![format!("columns that are no joint were not looked at: {shown}{more}")]
    }
}
