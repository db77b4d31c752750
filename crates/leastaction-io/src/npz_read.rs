//! Trajectories from NPZ files: those of [`NpzWriter`](super::NpzWriter), and what `numpy.savez` and
//! `numpy.savez_compressed` make of the same arrays.
//!
//! An NPZ file is a ZIP archive of NPY files. Of ZIP this needs the directory at the end, sizes of 64 bits, and entries
//! that are stored or deflated.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use leastaction_core::trajectory::{Trajectory, TrajectoryLayout};

use super::text_file::{how_to_lift, limit};
use super::{Crc32, TableError};

/// Suffix of the arrays that name the columns of another.
const LABELS: &str = "_labels";
/// Arrays larger than this are refused: they would not fit into memory.
const MAX_ARRAY_BYTES: u64 = 4 << 30;

/// Reads a trajectory: vectors are columns, tables have a row per time and the names of their columns in an array
/// `NAME_labels`.
///
/// # Errors
/// If the file can't be read or is not such an archive.
pub fn read_trajectory_npz(path: &Path) -> Result<Trajectory, TableError> {
    File::open(path).and_then(|file| trajectory(BufReader::new(file))).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            TableError::BadArchive { path: path.into(), what: source.to_string() }
        }
        _ => TableError::Unreadable { path: path.into(), source },
    })
}

fn bad(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Numbers of an archive.
struct Table {
    name: String,
    /// `None` for a vector.
    width: Option<usize>,
    rows: usize,
    /// Row after row.
    values: Vec<f64>,
}

fn trajectory(mut file: impl Read + Seek) -> io::Result<Trajectory> {
    let mut tables = Vec::new();
    let mut labels = Vec::new();
    for entry in directory(&mut file)? {
        let Some(name) = entry.name.strip_suffix(".npy").map(str::to_owned) else { continue };
        match array(name, &entry.read(&mut file)?)? {
            Array::Numbers(table) => tables.push(table),
            Array::Labels(name, list) => labels.push((name, list)),
        }
    }
    let mut columns = Vec::new();
    for table in &tables {
        let own =
            labels.iter().find(|(name, _)| name.strip_suffix(LABELS) == Some(&table.name)).map(|l| &l.1);
        match (own, table.width) {
            (Some(list), Some(width)) if list.len() == width => columns.extend(list.iter().cloned()),
            // NumPy drops the labels of no columns.
            (None, Some(0)) => {}
            (None, None) => columns.push(table.name.clone()),
            _ => return Err(bad(format!("array `{0}` has no fitting `{0}{LABELS}`", table.name))),
        }
    }
    let rows = tables.iter().map(|table| table.rows).min().unwrap_or(0);
    if let Some(table) = tables.iter().find(|table| table.rows != rows) {
        return Err(bad(format!("array `{}` has another number of rows than the rest", table.name)));
    }
    let times = tables.iter().find(|table| table.name == "t");
    if let Some(row) = times.and_then(|table| table.values.iter().position(|t| !t.is_finite())) {
        return Err(bad(format!("time number {row} of `t` is not finite")));
    }
    let mut data = Vec::with_capacity(rows * columns.len());
    for row in 0..rows {
        for table in &tables {
            let width = table.width.unwrap_or(1);
            data.extend_from_slice(&table.values[row * width..(row + 1) * width]);
        }
    }
    Ok(Trajectory::new(TrajectoryLayout::from_columns(columns), data))
}

/// One array of an archive.
enum Array {
    Numbers(Table),
    Labels(String, Vec<String>),
}

/// One NPY file: numbers of one or two dimensions, or a vector of strings.
fn array(name: String, bytes: &[u8]) -> io::Result<Array> {
    let mut fields = Fields(bytes);
    let magic = fields.take(8)?;
    let length = match (&magic[..6], magic[6]) {
        (b"\x93NUMPY", 1) => fields.number(2)?,
        (b"\x93NUMPY", 2 | 3) => fields.number(4)?,
        _ => return Err(bad(format!("`{name}` is not in NPY format"))),
    };
    let header = String::from_utf8_lossy(fields.take(length as usize)?).into_owned();
    let after = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start_matches([':', ' ']));
    let kind = after("'descr'").and_then(|rest| rest.split('\'').nth(1)).unwrap_or("");
    let shape = after("'shape'").and_then(|rest| rest.split(['(', ')']).nth(1)).unwrap_or("");
    let shape: Result<Vec<usize>, _> =
        shape.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect();
    let shape = shape.map_err(|_| bad(format!("the shape of `{name}` is not made of numbers")))?;
    let by_columns = after("'fortran_order'").is_some_and(|rest| rest.starts_with("True"));
    let data = fields.0;
    if let Some(width) = kind.strip_prefix("<U").and_then(|width| width.parse::<usize>().ok()) {
        let label = |chunk: &[u8]| -> String {
            let codes = chunk.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
            codes.filter_map(|c| char::from_u32(c).filter(|c| *c != '\0')).collect()
        };
        return Ok(Array::Labels(name, data.chunks_exact((4 * width).max(4)).map(label).collect()));
    }
    let values: Vec<f64> = match kind {
        "<f8" => numbers(data, f64::from_le_bytes),
        "<f4" => numbers(data, |bytes| f64::from(f32::from_le_bytes(bytes))),
        "<i8" => numbers(data, |bytes| i64::from_le_bytes(bytes) as f64),
        "<i4" => numbers(data, |bytes| f64::from(i32::from_le_bytes(bytes))),
        _ => return Err(bad(format!("`{name}` has values of the kind `{kind}`, which are no numbers"))),
    };
    let (rows, width) = match shape[..] {
        [rows] => (rows, None),
        [rows, width] => (rows, Some(width)),
        _ => return Err(bad(format!("`{name}` has {} dimensions, one or two are read", shape.len()))),
    };
    if rows.checked_mul(width.unwrap_or(1)) != Some(values.len()) {
        return Err(bad(format!("`{name}` has another number of values than its shape says")));
    }
    let values = match width {
        Some(width) if by_columns => {
            (0..values.len()).map(|i| values[i % width * rows + i / width]).collect()
        }
        _ => values,
    };
    Ok(Array::Numbers(Table { name, width, rows, values }))
}

fn numbers<const N: usize>(data: &[u8], read: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    data.chunks_exact(N).map(|chunk| read(std::array::from_fn(|i| chunk[i]))).collect()
}

/// An entry of the archive.
struct Entry {
    name: String,
    deflated: bool,
    packed: u64,
    size: u64,
    offset: u64,
    crc: u32,
}

/// The entries of a ZIP archive.
fn directory(file: &mut (impl Read + Seek)) -> io::Result<Vec<Entry>> {
    let size = file.seek(SeekFrom::End(0))?;
    // The end record has a comment of at most 65535 bytes, and before it the place of its 64-bit twin.
    let tail_start = size.saturating_sub(22 + 20 + 65_535);
    let tail = bytes(file, tail_start, size - tail_start)?;
    let end = tail.windows(4).rposition(|w| w == b"PK\x05\x06").filter(|end| tail.len() - end >= 22);
    let end = end.ok_or_else(|| bad("it has no ZIP directory at its end"))?;
    let mut fields = Fields(&tail[end + 10..]);
    let (mut count, _, mut start) = (fields.number(2)?, fields.number(4)?, fields.number(4)?);
    if let Some(locator) =
        end.checked_sub(20).map(|at| &tail[at..end]).filter(|l| l.starts_with(b"PK\x06\x07"))
    {
        let record = bytes(file, Fields(&locator[8..]).number(8)?, 56)?;
        let mut fields = Fields(&record[32..]);
        (count, _, start) = (fields.number(8)?, fields.number(8)?, fields.number(8)?);
    }
    let directory = bytes(file, start, size.saturating_sub(start))?;
    let mut fields = Fields(&directory);
    (0..count).map(|_| central(&mut fields)).collect()
}

/// One record of the directory.
fn central(fields: &mut Fields<'_>) -> io::Result<Entry> {
    if fields.take(4)? != b"PK\x01\x02" {
        return Err(bad("its ZIP directory is damaged"));
    }
    fields.take(6)?;
    let method = fields.number(2)?;
    fields.take(4)?;
    let crc = fields.number(4)? as u32;
    let (mut packed, mut size) = (fields.number(4)?, fields.number(4)?);
    let [name, extra, comment] =
        [fields.number(2)?, fields.number(2)?, fields.number(2)?].map(|n| n as usize);
    fields.take(8)?;
    let mut offset = fields.number(4)?;
    let name = String::from_utf8_lossy(fields.take(name)?).into_owned();
    let mut extra = Fields(fields.take(extra)?);
    fields.take(comment)?;
    while let (Ok(id), Ok(length)) = (extra.number(2), extra.number(2)) {
        let mut field = Fields(extra.take(length as usize)?);
        // Numbers that need 64 bits, in this order.
        for short in [&mut size, &mut packed, &mut offset] {
            if id == 1 && *short == u64::from(u32::MAX) {
                *short = field.number(8)?;
            }
        }
    }
    match method {
        0 | 8 => Ok(Entry { name, deflated: method == 8, packed, size, offset, crc }),
        _ => Err(bad(format!("`{name}` is compressed in a way that NumPy does not use"))),
    }
}

impl Entry {
    /// The whole content.
    fn read(&self, file: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
        let wrong = |what: &str| bad(format!("`{}` {what}", self.name));
        let most = limit(MAX_ARRAY_BYTES);
        if self.size > most {
            return Err(wrong(&format!("has {} bytes: {}", self.size, how_to_lift(most))));
        }
        let header = bytes(file, self.offset, 30)?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(wrong("is not where the directory says"));
        }
        let names = Fields(&header[26..]).number(2)? + Fields(&header[28..]).number(2)?;
        let mut content = bytes(file, self.offset + 30 + names, self.packed)?;
        if self.deflated {
            content = miniz_oxide::inflate::decompress_to_vec_with_limit(&content, self.size as usize)
                .map_err(|error| wrong(&format!("can't be decompressed: {error}")))?;
        }
        let mut crc = Crc32::new();
        crc.update(&content);
        if content.len() as u64 != self.size || crc.value() != self.crc {
            return Err(wrong("does not fit its checksum"));
        }
        Ok(content)
    }
}

/// So many bytes from a place of the file; an error if it ends before.
fn bytes(file: &mut (impl Read + Seek), from: u64, count: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.by_ref().take(count).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == count { Ok(bytes) } else { Err(bad("it is cut off")) }
}

/// Little-endian input.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn take(&mut self, n: usize) -> io::Result<&'b [u8]> {
        let (head, rest) = self.0.split_at_checked(n).ok_or_else(|| bad("it is cut off"))?;
        self.0 = rest;
        Ok(head)
    }

    fn number(&mut self, bytes: usize) -> io::Result<u64> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NamedArray, NpzWriter, write_npz};
    use super::*;
    use std::path::PathBuf;

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

    /// Made by NumPy 2: `savez_compressed(t=[0, .5, 1], q=[[1, 2], [3, 4], [5, 6]], q_labels=["q.a", "q.b"], u=zeros((3, 0)),
    /// gap=float32([0, .25, .5]), iterations=[1, 2, 3])`, with `q` in Fortran order.
    const COMPRESSED: &[u8] = include_bytes!("../tests/compressed.npz");

    #[test]
    fn compressed_archives_of_numpy_are_read() {
        let path = std::env::temp_dir().join(format!("leastaction-npz-numpy-{}.npz", std::process::id()));
        std::fs::write(&path, COMPRESSED).unwrap();
        let read = read_trajectory_npz(&path).unwrap();
        let columns = ["t", "q.a", "q.b", "gap", "iterations"];
        assert_eq!(read.layout().columns().collect::<Vec<_>>(), columns);
        let rows: Vec<&[f64]> = read.rows().collect();
        assert_eq!(rows, [[0.0, 1.0, 2.0, 0.0, 1.0], [0.5, 3.0, 4.0, 0.25, 2.0], [1.0, 5.0, 6.0, 0.5, 3.0]]);
        let mut damaged = COMPRESSED.to_vec();
        for i in (0..damaged.len()).step_by(7) {
            damaged[i] ^= 0x55;
            std::fs::write(&path, &damaged).unwrap();
            let _ = read_trajectory_npz(&path); // never panics
            damaged[i] ^= 0x55;
        }
        std::fs::remove_file(path).unwrap();
    }

    /// A record of the directory with these sizes and extra fields.
    fn record(packed: u32, size: u32, extra: &[u8]) -> Vec<u8> {
        let mut out = b"PK\x01\x02".to_vec();
        out.extend([0; 6 + 2 + 4 + 4]);
        out.extend(packed.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend([1, 0, extra.len() as u8, 0, 0, 0]);
        out.extend([0; 8]);
        out.extend(7u32.to_le_bytes());
        out.push(b'a');
        out.extend(extra);
        out
    }

    #[test]
    fn sizes_of_64_bits_are_read_where_the_short_ones_say_so_and_nowhere_else() {
        let long = |id: u8| [&[id, 0, 8, 0][..], &5_000_000_000u64.to_le_bytes()].concat();
        let read = |record: Vec<u8>| {
            let entry = central(&mut Fields(&record)).unwrap();
            (entry.packed, entry.size, entry.offset)
        };
        assert_eq!(read(record(3, u32::MAX, &long(1))), (3, 5_000_000_000, 7));
        assert_eq!(read(record(u32::MAX, 4, &long(1))), (5_000_000_000, 4, 7));
        // A field that nothing points to, and one that means something else.
        assert_eq!(read(record(3, 4, &long(1))), (3, 4, 7));
        assert_eq!(read(record(3, u32::MAX, &long(2))), (3, u64::from(u32::MAX), 7));
    }

    #[test]
    fn a_table_without_columns_is_no_column() {
        let path = std::env::temp_dir().join(format!("leastaction-npz-empty-{}.npz", std::process::id()));
        let tables = [
            NamedArray::table("q", 3, 1, vec![1.0, 2.0, 3.0]),
            NamedArray::labels("q_labels", vec!["q.a".into()]),
            NamedArray::table("u", 3, 0, vec![]),
        ];
        write_npz(&path, &tables).unwrap();
        let read = read_trajectory_npz(&path).unwrap();
        assert_eq!((read.layout().width(), read.len()), (1, 3));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn only_times_have_to_be_finite() {
        let (path, _) = write("holes", &[[0.0, f64::NAN, 0.0, f64::INFINITY], [0.1, 2.0, 3.0, 4.0]]);
        assert!(read_trajectory_npz(&path).unwrap().rows().next().unwrap()[1].is_nan());
        let (path, _) = write("holes", &[[0.0, 1.0, 0.0, 4.0], [f64::NAN, 2.0, 3.0, 4.0]]);
        let error = read_trajectory_npz(&path).unwrap_err().to_string();
        assert!(error.contains("time number 1 of `t` is not finite"), "{error}");
        std::fs::remove_file(path).unwrap();
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
}
