//! Trajectories as NPZ, what `numpy.load` reads: one array per group of columns, and its labels beside it.
//!
//! `t`, `gap` and `iterations` are vectors; `q`, `v`, `x`, `u`, `energy`, `momentum` are tables with a row per time,
//! and `q_labels` and its like hold their column names. An NPZ file is a ZIP archive of NPY files, stored without
//! compression. The number of rows is known only at the end, so each array grows in a scratch file of its own.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::AtomicFile;
use super::trajectory_csv::TableError;
use super::zip::{ZipReader, ZipWriter};
use crate::trajectory::{Trajectory, TrajectoryLayout};

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

/// Writes a matrix with named rows and columns: the arrays `matrix`, `rows` and `columns`.
///
/// # Errors
/// If it can't be written; the old file is then untouched.
pub fn write_matrix_npz(path: &Path, rows: &[String], columns: &[String], values: &[f64]) -> io::Result<()> {
    let mut zip = ZipWriter::new(AtomicFile::create(path)?);
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let shape = format!("({}, {})", rows.len(), columns.len());
    zip.add("matrix.npy", &npy_header("<f8", &shape), &mut bytes.as_slice())?;
    for (name, labels) in [("rows.npy", rows), ("columns.npy", columns)] {
        let (kind, text) = label_bytes(labels);
        zip.add(name, &npy_header(&kind, &format!("({},)", labels.len())), &mut text.as_slice())?;
    }
    zip.finish()?.commit()
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
pub(super) fn npy_header(kind: &str, shape: &str) -> Vec<u8> {
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
pub(super) fn label_bytes(labels: &[String]) -> (String, Vec<u8>) {
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).max(1);
    let mut bytes = Vec::with_capacity(4 * width * labels.len());
    for label in labels {
        let characters = label.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
        bytes.extend(characters.flat_map(u32::to_le_bytes));
    }
    (format!("<U{width}"), bytes)
}

/// One array of an archive.
#[derive(Clone, Debug, PartialEq)]
enum Array {
    Numbers { width: Option<usize>, values: Vec<f64> },
    Labels(Vec<String>),
}

/// Reads a trajectory written by [`NpzWriter`] (or by NumPy in the same shape, uncompressed).
///
/// # Errors
/// If the file can't be read or is not such an archive.
pub fn read_trajectory_npz(path: &Path) -> Result<Trajectory, TableError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            TableError::BadArchive { path: PathBuf::from(path), what: source.to_string() }
        }
        _ => TableError::Unreadable { path: PathBuf::from(path), source },
    };
    read(path).map_err(unreadable)
}

fn read(path: &Path) -> io::Result<Trajectory> {
    let mut zip = ZipReader::new(BufReader::new(File::open(path)?))?;
    let mut numbers: Vec<(String, Option<usize>, Vec<f64>)> = Vec::new();
    let mut labels: Vec<(String, Vec<String>)> = Vec::new();
    for entry in zip.entries().to_vec() {
        let Some(name) = entry.name.strip_suffix(".npy").map(str::to_owned) else { continue };
        match array(&zip.read(&entry)?)? {
            Array::Numbers { width, values } => numbers.push((name, width, values)),
            Array::Labels(list) => labels.push((name, list)),
        }
    }
    let mut columns = Vec::new();
    let mut widths = Vec::new();
    for (name, width, _) in &numbers {
        let own = labels.iter().find(|(label, _)| label.strip_suffix(LABELS) == Some(name)).map(|l| &l.1);
        let named = match (own, width) {
            (Some(list), Some(width)) if list.len() == *width => list.clone(),
            (None, None) => vec![name.clone()],
            _ => return Err(bad(format!("array `{name}` has no fitting `{name}{LABELS}`"))),
        };
        widths.push(named.len());
        columns.extend(named);
    }
    let rows = numbers.iter().zip(&widths).map(|(n, width)| n.2.len() / width).min().unwrap_or(0);
    if let Some(((name, ..), _)) = numbers.iter().zip(&widths).find(|(n, width)| n.2.len() != rows * **width)
    {
        return Err(bad(format!("array `{name}` has another number of rows than the rest")));
    }
    let mut data = Vec::with_capacity(rows * columns.len());
    for row in 0..rows {
        for ((_, _, values), width) in numbers.iter().zip(&widths) {
            data.extend_from_slice(&values[row * width..(row + 1) * width]);
        }
    }
    Ok(Trajectory::new(TrajectoryLayout::from_columns(columns), data))
}

/// One NPY file: numbers (`<f8`) of one or two dimensions, or a vector of strings.
fn array(bytes: &[u8]) -> io::Result<Array> {
    let mut rest = bytes;
    let mut head = [0u8; 10];
    rest.read_exact(&mut head)?;
    if &head[..8] != b"\x93NUMPY\x01\x00" {
        return Err(bad("an array is not in NPY format 1.0"));
    }
    let length = usize::from(u16::from_le_bytes([head[8], head[9]]));
    let (text, data) = rest.split_at_checked(length).ok_or_else(|| bad("an array ends in its header"))?;
    let text = std::str::from_utf8(text).map_err(|_| bad("an array's header is not text"))?;
    let kind = between(text, "'descr': '", "'").ok_or_else(|| bad("an array has no kind"))?;
    let shape = between(text, "'shape': (", ")").ok_or_else(|| bad("an array has no shape"))?;
    let shape = shape.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse::<usize>);
    let shape: Vec<usize> =
        shape.collect::<Result<_, _>>().map_err(|_| bad("an array's shape is not made of numbers"))?;
    if text.contains("'fortran_order': True") {
        return Err(bad("an array is stored by columns"));
    }
    if let Some(width) = kind.strip_prefix("<U").and_then(|width| width.parse::<usize>().ok()) {
        let label = |chunk: &[u8]| -> String {
            chunk
                .chunks_exact(4)
                .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
                .filter_map(|c| char::from_u32(c).filter(|c| *c != '\0'))
                .collect()
        };
        return Ok(Array::Labels(data.chunks_exact((4 * width).max(4)).map(label).collect()));
    }
    if kind != "<f8" || shape.is_empty() || shape.len() > 2 {
        return Err(bad(format!("an array of kind `{kind}` with {} dimensions is no column", shape.len())));
    }
    let values: Vec<f64> =
        data.chunks_exact(8).map(|c| f64::from_le_bytes(std::array::from_fn(|i| c[i]))).collect();
    if shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n)) != Some(values.len()) {
        return Err(bad("an array has another number of values than its shape says"));
    }
    Ok(Array::Numbers { width: shape.get(1).copied(), values })
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(start)?;
    after.split_once(end).map(|(inside, _)| inside)
}

pub(super) fn bad(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(name: &str, rows: &[[f64; 4]]) -> (PathBuf, Trajectory) {
        let path = std::env::temp_dir().join(format!("leastaction-npz-{name}-{}.npz", std::process::id()));
        let layout = TrajectoryLayout::from_columns(["t", "q.a", "q.längs", "gap"].map(str::to_owned));
        let mut writer = NpzWriter::create(&path, &layout).unwrap();
        for row in rows {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        (path, Trajectory::new(layout, rows.concat()))
    }

    #[test]
    fn an_archive_is_read_as_it_was_written() {
        for (name, rows) in
            [("some", vec![[0.0, 1.0 / 3.0, -0.0, 1e-300], [0.1, 2.0, 3.0, f64::MAX]]), ("none", vec![])]
        {
            let (path, expected) = write(name, &rows);
            assert_eq!(read_trajectory_npz(&path).unwrap(), expected);
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_damaged_archive_is_refused() {
        let (path, _) = write("damaged", &[[1.0, 2.0, 3.0, 4.0]]);
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 3, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(matches!(read_trajectory_npz(&path), Err(TableError::BadArchive { .. })), "{cut}");
        }
        let mut flipped = whole.clone();
        flipped[140] ^= 1; // inside the first array
        std::fs::write(&path, &flipped).unwrap();
        let message = read_trajectory_npz(&path).unwrap_err().to_string();
        assert!(message.contains("checksum"), "{message}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn headers_align_the_data() {
        for shape in ["(0,)", "(123456789, 7000)"] {
            assert_eq!(npy_header("<f8", shape).len() % 64, 0);
        }
    }
}
