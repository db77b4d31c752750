//! Named matrices and labels as NPZ: results that are not trajectories.

use std::io;
use std::path::Path;

use super::AtomicFile;
use super::npz::{label_bytes, npy_header};
use super::zip::ZipWriter;

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
