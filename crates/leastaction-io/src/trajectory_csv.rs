//! Trajectories as CSV: one line of column names, then numbers written so that reading them gives the same bits.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use super::AtomicFile;
use crate::trajectory::{Trajectory, TrajectoryLayout};

/// Writes rows as they come; memory does not grow with their number.
#[derive(Debug)]
pub struct TrajectoryCsvWriter {
    file: AtomicFile,
    line: String,
}

impl TrajectoryCsvWriter {
    /// Starts the file with the column names.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn create(path: &Path, layout: &TrajectoryLayout) -> io::Result<Self> {
        let mut file = AtomicFile::create(path)?;
        let names: Vec<String> = layout.columns().map(quoted).collect();
        writeln!(file, "{}", names.join(","))?;
        Ok(Self { file, line: String::new() })
    }

    /// Writes one row.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn push(&mut self, row: &[f64]) -> io::Result<()> {
        self.line.clear();
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                self.line.push(',');
            }
            push_number(&mut self.line, *value);
        }
        self.line.push('\n');
        self.file.write_all(self.line.as_bytes())
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If it can't be written; the old file is then untouched.
    pub fn finish(self) -> io::Result<()> {
        self.file.commit()
    }
}

/// The shortest decimal number that reads back as the same bits.
pub fn push_number(text: &mut String, value: f64) {
    let size = value.abs();
    // Writing to a string cannot fail.
    let _ = if size == 0.0 || (1e-5..1e16).contains(&size) || !size.is_finite() {
        write!(text, "{value}")
    } else {
        write!(text, "{value:e}")
    };
}

/// A column name, in quotes where CSV needs them.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

/// Why a table could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The system does not let us read the file.
    #[error("can't read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file has no line of column names.
    #[error("`{}` is empty: the first line must name the columns", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// Two columns have one name.
    #[error("{}:1: column `{name}` appears twice", path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A row has another number of values than there are columns.
    #[error("{}:{line}: the row has {found} values, the header names {expected} columns", path.display())]
    WrongWidth {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// Number of columns.
        expected: usize,
        /// Number of values.
        found: usize,
    },
    /// A value is not a number.
    #[error("{}:{line}: `{text}` in column `{column}` is not a number", path.display())]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// The column.
        column: String,
        /// What stands there.
        text: String,
    },
    /// The file is not what its name says.
    #[error("`{}` is not a trajectory archive: {what}", path.display())]
    BadArchive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// Reads a CSV table with a line of column names. Empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// If the file can't be read or a value is not a number; the message names the line.
pub fn read_trajectory_csv(path: &Path) -> Result<Trajectory, TableError> {
    let unreadable = |source| TableError::Unreadable { path: path.into(), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut header: Option<Vec<String>> = None;
    let mut data = Vec::new();
    for (index, line) in io::BufReader::new(file).lines().enumerate() {
        let text = line.map_err(unreadable)?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let fields = split(text);
        let Some(columns) = &header else {
            if let Some((_, name)) = fields.iter().enumerate().find(|(i, name)| fields[..*i].contains(name)) {
                return Err(TableError::DuplicateColumn { path: path.into(), name: name.clone() });
            }
            header = Some(fields);
            continue;
        };
        let line = index + 1;
        if fields.len() != columns.len() {
            return Err(TableError::WrongWidth {
                path: path.into(),
                line,
                expected: columns.len(),
                found: fields.len(),
            });
        }
        for (field, column) in fields.iter().zip(columns) {
            let value = field.parse::<f64>().map_err(|_| TableError::NotANumber {
                path: path.into(),
                line,
                column: column.clone(),
                text: field.chars().take(40).collect(),
            })?;
            data.push(value);
        }
    }
    let columns = header.ok_or_else(|| TableError::NoHeader { path: path.into() })?;
    Ok(Trajectory::new(TrajectoryLayout::from_columns(columns), data))
}

/// The fields of one line; a field in quotes may hold commas.
fn split(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut in_quotes = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let field = fields.len() - 1;
        match c {
            '"' if in_quotes && characters.peek() == Some(&'"') => {
                characters.next();
                fields[field].push('"');
            }
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => fields.push(String::new()),
            other => fields[field].push(other),
        }
    }
    fields.iter().map(|field| field.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("leastaction-csv-{name}-{}.csv", std::process::id()))
    }

    #[test]
    fn numbers_survive_bit_for_bit() {
        for value in [0.0, -0.0, 1.0, 0.1, -1.0 / 3.0, 1e-300, 5e-324, f64::MAX, 123_456_789.123_456_78, 1e16]
        {
            let mut text = String::new();
            push_number(&mut text, value);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
            assert!(text.len() <= 24, "{text}");
        }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let path = file("round");
        let layout = TrajectoryLayout::from_columns(["t", "q.a,b \"c\"", "v.x"].map(str::to_owned));
        let rows = [[0.0, 1.0 / 3.0, -2e-9], [0.1, f64::MIN_POSITIVE, 7.0]];
        let mut writer = TrajectoryCsvWriter::create(&path, &layout).unwrap();
        for row in &rows {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        let read = read_trajectory_csv(&path).unwrap();
        assert_eq!(read, Trajectory::new(layout, rows.concat()));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn errors_name_the_line() {
        let path = file("bad");
        for (text, message) in [
            ("t,u\n0,1\n\n1,x\n", ":4: `x` in column `u` is not a number"),
            ("t,u\n0,1,2\n", ":2: the row has 3 values, the header names 2 columns"),
            ("t,t\n", ":1: column `t` appears twice"),
            ("# only a remark\n", "is empty: the first line must name the columns"),
        ] {
            std::fs::write(&path, text).unwrap();
            let found = read_trajectory_csv(&path).unwrap_err().to_string();
            assert!(found.ends_with(message), "{found}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
