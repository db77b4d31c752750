//! Trajectories as CSV: one line of column names, then numbers written so that reading them gives the same bits.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::AtomicFile;
use super::text_file::{how_to_lift, limit};
use crate::trajectory::{Trajectory, TrajectoryLayout};

/// Tables larger than this are refused: they would not fit into memory.
const MAX_TABLE_BYTES: u64 = 4 << 30;
/// A line has a name or number for each of at most a few million columns.
const MAX_LINE_BYTES: u64 = 128 << 20;

/// Writes rows as they come; memory does not grow with their number.
#[derive(Debug)]
pub struct TrajectoryCsvWriter {
    file: AtomicFile,
    /// Bytes of the whole rows that the file has for certain.
    written: u64,
    /// The rows after them. Our own, because what can't be written must not be lost.
    pending: String,
    /// A part of the pending rows may be in the file already.
    failed: bool,
}

/// So much is written at once.
const PENDING_BYTES: usize = 1 << 16;

impl TrajectoryCsvWriter {
    /// Starts the file with the column names.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn create(path: &Path, layout: &TrajectoryLayout) -> io::Result<Self> {
        let mut file = AtomicFile::create(path)?;
        let header = header(layout);
        file.write_all(header.as_bytes())?;
        Ok(Self::after(file, header.len() as u64))
    }

    fn after(file: AtomicFile, written: u64) -> Self {
        Self { file, written, pending: String::with_capacity(PENDING_BYTES + (1 << 12)), failed: false }
    }

    /// Goes on after the first `written` bytes of what an earlier process left of the file, under construction or whole, and
    /// the text `pending` behind them.
    ///
    /// # Errors
    /// If it can't be read or written.
    pub fn resume(path: &Path, written: u64, pending: &str) -> io::Result<Self> {
        let (mut file, whole) = match AtomicFile::reopen(path, written)? {
            Some(file) => (file, None),
            None => (AtomicFile::create(path)?, Some(File::open(path)?)),
        };
        file.keep();
        if let Some(whole) = whole {
            if io::copy(&mut whole.take(written), &mut file)? < written {
                return Err(io::Error::other("it is shorter than it was"));
            }
            file.flush()?;
        }
        let mut resumed = Self::after(file, written);
        resumed.pending.push_str(pending);
        Ok(resumed)
    }

    /// All rows so far, once more.
    ///
    /// # Errors
    /// If they can't be read, or are not rows of `layout`.
    pub fn replay(
        &self,
        layout: &TrajectoryLayout,
        mut row: impl FnMut(&[f64]) -> io::Result<()>,
    ) -> io::Result<()> {
        let changed = || io::Error::other("it is not the table that was being written any more");
        let written = self.file.reader()?.take(self.written);
        let mut lines = BufReader::new(written.chain(self.pending.as_bytes()));
        // Names may contain line breaks.
        let header = header(layout);
        let mut found = vec![0; header.len()];
        if lines.read_exact(&mut found).is_err() || found != header.as_bytes() {
            return Err(changed());
        }
        let (mut text, mut values) = (String::new(), Vec::new());
        loop {
            text.clear();
            if lines.read_line(&mut text)? == 0 {
                return Ok(());
            }
            values.clear();
            for word in text.strip_suffix('\n').ok_or_else(changed)?.split(',') {
                values.push(word.parse::<f64>().map_err(|_| changed())?);
            }
            if values.len() != layout.width() {
                return Err(changed());
            }
            row(&values)?;
        }
    }

    /// Bytes of the rows that the file has, and the text of those that it does not have yet.
    #[must_use]
    pub fn progress(&self) -> (u64, &str) {
        (self.written, &self.pending)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed {
            self.file.cut(self.written)?;
        }
        self.failed = true;
        self.file.write_all(self.pending.as_bytes())?;
        self.file.flush()?;
        self.failed = false;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// All rows written so far are safe on the disk, and stay there if this ends without [`finish`](Self::finish).
    ///
    /// # Errors
    /// If they can't be written.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.keep();
        self.flush()?;
        self.file.sync()
    }

    /// Writes one row.
    ///
    /// # Errors
    /// If it can't be written; the rows before it are still there.
    pub fn push(&mut self, row: &[f64]) -> io::Result<()> {
        let before = self.pending.len();
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                self.pending.push(',');
            }
            push_number(&mut self.pending, *value);
        }
        self.pending.push('\n');
        if self.pending.len() < PENDING_BYTES {
            return Ok(());
        }
        // A row that is refused is not kept either.
        self.flush().inspect_err(|_| self.pending.truncate(before))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If it can't be written; the old file is then untouched.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
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

/// The first line.
fn header(layout: &TrajectoryLayout) -> String {
    layout.columns().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// A column name, in quotes where CSV needs them.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) || name.starts_with('#') || name.trim() != name {
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
    /// A time is not a number that can be compared with others.
    #[error("{}:{line}: the time `{text}` is not finite", path.display())]
    TimeNotFinite {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// The file is too large.
    #[error(
        "`{}` is too large: lines may have {} MiB, and {}",
        path.display(), MAX_LINE_BYTES >> 20, how_to_lift(limit(MAX_TABLE_BYTES))
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
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
/// If the file can't be read, a value is not a number, or a time (column `t`) is not finite; the message names the
/// line.
pub fn read_trajectory_csv(path: &Path) -> Result<Trajectory, TableError> {
    let file =
        std::fs::File::open(path).map_err(|source| TableError::Unreadable { path: path.into(), source })?;
    let mut records = Records {
        path,
        input: io::BufReader::new(file.take(limit(MAX_TABLE_BYTES).saturating_add(1))),
        line: 0,
        bytes: 0,
    };
    let Some((_, header)) = records.next()? else { return Err(TableError::NoHeader { path: path.into() }) };
    let columns: Vec<String> = fields(&header).into_iter().map(Cow::into_owned).collect();
    let mut known = HashSet::with_capacity(columns.len());
    if let Some(name) = columns.iter().find(|name| !known.insert(name.as_str())) {
        return Err(TableError::DuplicateColumn { path: path.into(), name: name.clone() });
    }
    let time = columns.iter().position(|name| name == "t");
    let mut data = Vec::new();
    while let Some((line, record)) = records.next()? {
        let fields = fields(&record);
        if fields.len() != columns.len() {
            let (expected, found) = (columns.len(), fields.len());
            return Err(TableError::WrongWidth { path: path.into(), line, expected, found });
        }
        for (i, (field, column)) in fields.iter().zip(&columns).enumerate() {
            let text = || field.chars().take(40).collect();
            match field.parse::<f64>() {
                Ok(value) if Some(i) == time && !value.is_finite() => {
                    return Err(TableError::TimeNotFinite { path: path.into(), line, text: text() });
                }
                Ok(value) => data.push(value),
                Err(_) => {
                    let (column, text) = (column.clone(), text());
                    return Err(TableError::NotANumber { path: path.into(), line, column, text });
                }
            }
        }
    }
    Ok(Trajectory::new(TrajectoryLayout::from_columns(columns), data))
}

/// The lines of a table; one that ends inside quotes goes on in the next.
struct Records<'p, R> {
    path: &'p Path,
    input: R,
    line: usize,
    bytes: u64,
}

impl<R: BufRead> Records<'_, R> {
    /// The next record that is neither empty nor a remark, and the line it begins on.
    fn next(&mut self) -> Result<Option<(usize, String)>, TableError> {
        let unreadable = |source| TableError::Unreadable { path: self.path.into(), source };
        let mut record = Vec::new();
        let mut first = self.line + 1;
        loop {
            let before = record.len();
            let room = (MAX_LINE_BYTES + 1).saturating_sub(before as u64);
            let read = (&mut self.input).take(room).read_until(b'\n', &mut record).map_err(unreadable)?;
            self.bytes += read as u64;
            if self.bytes > limit(MAX_TABLE_BYTES) || record.len() as u64 > MAX_LINE_BYTES {
                return Err(TableError::TooLarge { path: self.path.into() });
            }
            if read == 0 && before == 0 {
                return Ok(None);
            }
            self.line += 1;
            let open = record.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            if open && read > 0 {
                continue;
            }
            let text = String::from_utf8(std::mem::take(&mut record))
                .map_err(|error| unreadable(io::Error::new(io::ErrorKind::InvalidData, error)))?;
            let text = text.trim_start_matches('\u{feff}').trim();
            if !text.is_empty() && !text.starts_with('#') {
                return Ok(Some((first, text.to_owned())));
            }
            first = self.line + 1;
        }
    }
}

/// The fields of a record, without blanks around them; a field in quotes may hold commas, line breaks and blanks.
fn fields(record: &str) -> Vec<Cow<'_, str>> {
    if !record.contains('"') {
        return record.split(',').map(|field| Cow::Borrowed(field.trim())).collect();
    }
    let mut fields = Vec::new();
    let (mut field, mut quoted_to, mut in_quotes) = (String::new(), 0, false);
    let mut characters = record.chars().chain([',']).peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if in_quotes && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => {
                in_quotes = !in_quotes;
                quoted_to = field.len();
            }
            ',' if !in_quotes || characters.peek().is_none() => {
                field.truncate(field.trim_end().len().max(quoted_to));
                fields.push(Cow::Owned(std::mem::take(&mut field)));
                quoted_to = 0;
            }
            blank if !in_quotes && field.is_empty() && blank.is_whitespace() => {}
            other => field.push(other),
        }
    }
    fields
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
        let names = ["t", "q.a,b \"c\"", "q.two\nlines\r\n", "q.# \t", "v. x\u{1b}[31m"];
        let layout = TrajectoryLayout::from_columns(names.map(str::to_owned));
        let rows = [[0.0, 1.0 / 3.0, -2e-9, 1.0, -0.0], [0.1, f64::MIN_POSITIVE, 7.0, f64::NAN, 1e300]];
        let mut writer = TrajectoryCsvWriter::create(&path, &layout).unwrap();
        for row in &rows {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        let read = read_trajectory_csv(&path).unwrap();
        assert_eq!(read.layout(), &layout);
        let bits = |rows: &mut dyn Iterator<Item = &[f64]>| -> Vec<u64> {
            rows.flatten().map(|x| x.to_bits()).collect()
        };
        assert_eq!(bits(&mut read.rows()), bits(&mut rows.iter().map(|row| &row[..])));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn two_hundred_thousand_columns_are_read_in_linear_time() {
        let path = file("wide");
        let columns = (0..200_000).map(|i| format!("q.joint{i}.of_a_chain"));
        let layout = TrajectoryLayout::from_columns(std::iter::once("t".to_owned()).chain(columns));
        let row: Vec<f64> = (0..=200_000).map(f64::from).collect();
        let mut writer = TrajectoryCsvWriter::create(&path, &layout).unwrap();
        writer.push(&row).unwrap();
        writer.finish().unwrap();
        // Comparing each name with all before it takes minutes.
        assert_eq!(read_trajectory_csv(&path).unwrap(), Trajectory::new(layout, row));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_endless_line_is_refused_with_the_limit() {
        let endless = io::BufReader::new(io::repeat(0));
        let mut records = Records { path: Path::new("zero"), input: endless, line: 0, bytes: 0 };
        let message = records.next().unwrap_err().to_string();
        assert!(
            message
                .contains("lines may have 128 MiB, and at most 4294967296 bytes are read; `--max-file SIZE`"),
            "{message}"
        );
    }

    #[test]
    fn errors_name_the_line() {
        let path = file("bad");
        for (text, message) in [
            ("t,u\n0,1\n\n1,x\n", ":4: `x` in column `u` is not a number"),
            ("t,u\n0,1,2\n", ":2: the row has 3 values, the header names 2 columns"),
            ("t,t\n", ":1: column `t` appears twice"),
            ("t,u\nnan,1\n1,2\n", ":2: the time `nan` is not finite"),
            ("u,t\n1,0\n# remark\n2,inf\n", ":4: the time `inf` is not finite"),
            ("\"t\n\",u\n0,1\n0\n", ":4: the row has 1 values, the header names 2 columns"),
            ("# only a remark\n", "is empty: the first line must name the columns"),
        ] {
            std::fs::write(&path, text).unwrap();
            let found = read_trajectory_csv(&path).unwrap_err().to_string();
            assert!(found.ends_with(message), "{found}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
