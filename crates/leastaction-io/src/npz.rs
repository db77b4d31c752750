//! NPZ files, what `numpy.load` reads. Trajectories: one array per group of columns, and its labels beside it.
//!
//! `t`, `gap` and `iterations` are vectors; `q`, `v`, `x`, `u`, `energy`, `momentum` are tables with a row per time,
//! and `q_labels` and its like hold their column names. An NPZ file is a ZIP archive of NPY files, stored without
//! compression. The number of rows is known only at the end, so each array grows in a scratch file of its own.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use super::AtomicFile;
use super::zip::ZipWriter;
use crate::trajectory::TrajectoryLayout;

/// Suffix of the arrays that name the columns of another.
const LABELS: &str = "_labels";

/// Writes rows as they come; memory does not grow with their number.
#[derive(Debug)]
pub struct NpzWriter {
    file: AtomicFile,
    layout: TrajectoryLayout,
    scratch: Vec<Scratch>,
    rows: u64,
}

/// The numbers of one array so far, in a file that has no name any more.
#[derive(Debug)]
struct Scratch {
    file: BufWriter<File>,
    width: usize,
}

impl NpzWriter {
    /// Starts the archive; the scratch files are beside it.
    ///
    /// # Errors
    /// If they can't be written.
    pub fn create(path: &Path, layout: &TrajectoryLayout) -> io::Result<Self> {
        let file = AtomicFile::create(path)?;
        let scratch = layout
            .groups()
            .iter()
            .map(|group| Ok(Scratch { file: scratch_file(path, &group.name)?, width: group.columns.len() }))
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Self { file, layout: layout.clone(), scratch, rows: 0 })
    }

    /// Writes one row: a value for every column of the layout.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn push(&mut self, row: &[f64]) -> io::Result<()> {
        let mut rest = row;
        for scratch in &mut self.scratch {
            let (values, after) = rest.split_at(scratch.width.min(rest.len()));
            for value in values {
                // What is not a number has many bit patterns, and the table as text has one.
                let value = if value.is_nan() { f64::NAN } else { *value };
                scratch.file.write_all(&value.to_le_bytes())?;
            }
            rest = after;
        }
        self.rows += 1;
        Ok(())
    }

    /// Puts the archive together and gives it its name.
    ///
    /// # Errors
    /// If it can't be written; the old file is then untouched.
    pub fn finish(self) -> io::Result<()> {
        let mut zip = ZipWriter::new(self.file);
        for (group, scratch) in self.layout.groups().iter().zip(self.scratch) {
            let mut file = scratch.file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.seek(SeekFrom::Start(0))?;
            let is_vector = group.columns == [group.name.as_str()];
            let shape = if is_vector {
                format!("({},)", self.rows)
            } else {
                format!("({}, {})", self.rows, scratch.width)
            };
            zip.add(&format!("{}.npy", group.name), &npy_header("<f8", &shape), &mut file)?;
            if !is_vector {
                let (kind, text) = label_bytes(&group.columns);
                let header = npy_header(&kind, &format!("({},)", group.columns.len()));
                zip.add(&format!("{}{LABELS}.npy", group.name), &header, &mut text.as_slice())?;
            }
        }
        zip.finish()?.commit()
    }
}

/// One array of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArray {
    name: String,
    content: Content,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Table { rows: usize, columns: usize, values: Vec<f64> },
    Labels(Vec<String>),
}

impl NamedArray {
    /// A matrix by rows.
    #[must_use]
    pub fn table(name: impl Into<String>, rows: usize, columns: usize, values: Vec<f64>) -> Self {
        Self { name: name.into(), content: Content::Table { rows, columns, values } }
    }

    /// A list of names.
    #[must_use]
    pub fn labels(name: impl Into<String>, labels: Vec<String>) -> Self {
        Self { name: name.into(), content: Content::Labels(labels) }
    }
}

/// Writes an archive that `numpy.load` reads.
///
/// # Errors
/// If it can't be written; the old file is then untouched.
pub fn write_npz(path: &Path, arrays: &[NamedArray]) -> io::Result<()> {
    let mut zip = ZipWriter::new(AtomicFile::create(path)?);
    for array in arrays {
        let (header, bytes) = match &array.content {
            Content::Table { rows, columns, values } => {
                let header = npy_header("<f8", &format!("({rows}, {columns})"));
                (header, values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
            }
            Content::Labels(labels) => {
                let (kind, bytes) = label_bytes(labels);
                (npy_header(&kind, &format!("({},)", labels.len())), bytes)
            }
        };
        zip.add(&format!("{}.npy", array.name), &header, &mut bytes.as_slice())?;
    }
    zip.finish()?.commit()
}

/// Writes a matrix with named rows and columns: the arrays `matrix`, `rows` and `columns`.
///
/// # Errors
/// If it can't be written; the old file is then untouched.
pub fn write_matrix_npz(path: &Path, rows: &[String], columns: &[String], values: &[f64]) -> io::Result<()> {
    let matrix = NamedArray::table("matrix", rows.len(), columns.len(), values.to_vec());
    let [rows, columns] =
        [("rows", rows), ("columns", columns)].map(|(name, list)| NamedArray::labels(name, list.to_vec()));
    write_npz(path, &[matrix, rows, columns])
}

/// A file without a name: it disappears with the process, however that ends.
fn scratch_file(beside: &Path, group: &str) -> io::Result<BufWriter<File>> {
    let name = format!(".{}.{group}.{}.scratch", file_name(beside), std::process::id());
    let path = beside.with_file_name(name);
    let file = File::options().create_new(true).read(true).write(true).open(&path)?;
    // Where an open file can't be deleted it stays until someone else does.
    let _ = std::fs::remove_file(&path);
    Ok(BufWriter::with_capacity(1 << 15, file))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Magic, version, length and description, padded so that the data begins at a multiple of 64 bytes.
fn npy_header(kind: &str, shape: &str) -> Vec<u8> {
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let unpadded = 10 + text.len() + 1;
    text.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes());
    header.extend(text.as_bytes());
    header
}

/// Strings as fixed-width UTF-32, the only text NPY has.
fn label_bytes(labels: &[String]) -> (String, Vec<u8>) {
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).max(1);
    let mut bytes = Vec::with_capacity(4 * width * labels.len());
    for label in labels {
        let characters = label.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
        bytes.extend(characters.flat_map(u32::to_le_bytes));
    }
    (format!("<U{width}"), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_align_the_data() {
        for shape in ["(0,)", "(123456789, 7000)"] {
            assert_eq!(npy_header("<f8", shape).len() % 64, 0);
        }
    }
}
