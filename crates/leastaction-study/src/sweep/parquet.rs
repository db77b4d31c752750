//! A table as a Parquet file: plain, uncompressed, the same bytes for the same table. Also reads what it writes.
//!
//! The format is that of <https://parquet.apache.org/docs/file-format/>. The footer carries two texts about the file (which
//! sweep, which chunk) and a checksum of all bytes, with zeros in its own place: a part that was cut or changed is noticed.

use leastaction_io::Crc32;

use super::thrift::{Read, Reader, Value, write_number};

const MAGIC: &[u8; 4] = b"PAR1";
const UNKNOWN: &str = "00000000";
/// Rows of one group take at most about so many bytes.
const GROUP_BYTES: usize = 16 << 20;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers.
    Int(Vec<i64>),
    /// Numbers.
    Float(Vec<f64>),
    /// Numbers, where there is one.
    Perhaps(Vec<Option<f64>>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Texts, where there is one.
    Text(Vec<Option<String>>),
}

/// Columns with names, all of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name and values.
    pub columns: Vec<(String, Column)>,
}

/// Which part of which sweep a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Hash of the sweep.
    pub sweep: String,
    /// Number of the chunk.
    pub chunk: u64,
}

impl Column {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Int(x) => x.len(),
            Self::Float(x) => x.len(),
            Self::Perhaps(x) => x.len(),
            Self::Bool(x) => x.len(),
            Self::Text(x) => x.len(),
        }
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Physical type, and whether a value may be missing.
    fn physical(&self) -> (i32, bool) {
        match self {
            Self::Bool(_) => (0, false),
            Self::Int(_) => (2, false),
            Self::Float(_) => (5, false),
            Self::Perhaps(_) => (5, true),
            Self::Text(_) => (6, true),
        }
    }

    /// Values of some rows as a page holds them.
    fn write(&self, rows: std::ops::Range<usize>, out: &mut Vec<u8>) {
        match self {
            Self::Int(x) => x[rows].iter().for_each(|x| out.extend(x.to_le_bytes())),
            Self::Float(x) => x[rows].iter().for_each(|x| out.extend(x.to_le_bytes())),
            Self::Perhaps(x) => {
                let x = &x[rows];
                write_presence(x.iter().map(Option::is_some), out);
                x.iter().flatten().for_each(|x| out.extend(x.to_le_bytes()));
            }
            Self::Bool(x) => {
                for eight in x[rows].chunks(8) {
                    out.push(eight.iter().enumerate().fold(0, |byte, (i, x)| byte | u8::from(*x) << i));
                }
            }
            Self::Text(x) => {
                let x = &x[rows];
                write_presence(x.iter().map(Option::is_some), out);
                for text in x.iter().flatten() {
                    out.extend((text.len() as u32).to_le_bytes());
                    out.extend_from_slice(text.as_bytes());
                }
            }
        }
    }
}

/// Which rows have a value: runs of equal levels.
fn write_presence(levels: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([0; 4]);
    let mut run: Option<(bool, u64)> = None;
    let end = |run: Option<(bool, u64)>, out: &mut Vec<u8>| {
        if let Some((level, count)) = run {
            write_number(out, count << 1);
            out.push(u8::from(level));
        }
    };
    for level in levels {
        match &mut run {
            Some((same, count)) if *same == level => *count += 1,
            _ => {
                end(run, out);
                run = Some((level, 1));
            }
        }
    }
    end(run, out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn text(x: &str) -> Value {
    Value::Text(x.to_owned())
}

impl Table {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The file.
    #[must_use]
    pub fn to_bytes(&self, mark: &Mark) -> Vec<u8> {
        let rows = self.rows();
        let per_group = (GROUP_BYTES / (8 * self.columns.len().max(1))).max(1);
        // At once: a file that grows leaves holes in memory.
        let mut out = Vec::with_capacity(self.columns.len() * (9 * rows + 256) + 1024);
        out.extend_from_slice(MAGIC);
        let mut groups = Vec::new();
        for from in (0..rows.max(1)).step_by(per_group) {
            groups.push(self.write_group(from..(from + per_group).min(rows), &mut out));
        }
        let schema = std::iter::once(Value::Struct(vec![
            (4, text("schema")),
            (5, Value::Int32(self.columns.len() as i32)),
        ]));
        let schema = schema.chain(self.columns.iter().map(|(name, column)| {
            let (kind, optional) = column.physical();
            let mut fields =
                vec![(1, Value::Int32(kind)), (3, Value::Int32(i32::from(optional))), (4, text(name))];
            if matches!(column, Column::Text(_)) {
                // Marks bytes as UTF-8.
                fields.push((6, Value::Int32(0)));
            }
            Value::Struct(fields)
        }));
        let pair = |key: &str, value: &str| Value::Struct(vec![(1, text(key)), (2, text(value))]);
        let footer = Value::Struct(vec![
            (1, Value::Int32(1)),
            (2, Value::List(schema.collect())),
            (3, Value::Int64(rows as i64)),
            (4, Value::List(groups)),
            (
                5,
                Value::List(vec![
                    pair("sweep_hash", &mark.sweep),
                    pair("chunk", &mark.chunk.to_string()),
                    pair("checksum", UNKNOWN),
                ]),
            ),
            (6, text("leastaction")),
        ]);
        let start = out.len();
        footer.write(&mut out);
        let length = (out.len() - start) as u32;
        out.extend(length.to_le_bytes());
        out.extend_from_slice(MAGIC);
        if let Some(at) = place_of_checksum(&out) {
            let sum = format!("{:08x}", crc(&out));
            out[at..at + 8].copy_from_slice(sum.as_bytes());
        }
        out
    }

    /// Writes the pages of some rows; returns what the footer says of them.
    fn write_group(&self, rows: std::ops::Range<usize>, out: &mut Vec<u8>) -> Value {
        let (start, mut chunks) = (out.len(), Vec::new());
        let mut page = Vec::new();
        for (name, column) in &self.columns {
            page.clear();
            column.write(rows.clone(), &mut page);
            let (at, size) = (out.len(), Value::Int32(page.len() as i32));
            let levels = Value::Int32(3);
            let values = Value::Struct(vec![
                (1, Value::Int32(rows.len() as i32)),
                (2, Value::Int32(0)),
                (3, levels.clone()),
                (4, levels),
            ]);
            Value::Struct(vec![(1, Value::Int32(0)), (2, size.clone()), (3, size), (5, values)]).write(out);
            out.extend_from_slice(&page);
            let size = Value::Int64((out.len() - at) as i64);
            let meta = Value::Struct(vec![
                (1, Value::Int32(column.physical().0)),
                (2, Value::List(vec![Value::Int32(0), Value::Int32(3)])),
                (3, Value::List(vec![text(name)])),
                (4, Value::Int32(0)),
                (5, Value::Int64(rows.len() as i64)),
                (6, size.clone()),
                (7, size),
                (9, Value::Int64(at as i64)),
            ]);
            chunks.push(Value::Struct(vec![(2, Value::Int64(at as i64)), (3, meta)]));
        }
        Value::Struct(vec![
            (1, Value::List(chunks)),
            (2, Value::Int64((out.len() - start) as i64)),
            (3, Value::Int64(rows.len() as i64)),
        ])
    }
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    crc.update(bytes);
    crc.value()
}

/// Where the checksum stands: behind its key, near the end of the file.
fn place_of_checksum(bytes: &[u8]) -> Option<usize> {
    let key = b"checksum\x18\x08";
    let at = bytes.windows(key.len()).rposition(|window| window == key)?;
    Some(at + key.len()).filter(|at| at + 8 <= bytes.len())
}

/// A file whose checksum is right and that carries the mark.
///
/// # Errors
/// What is wrong with it.
pub fn verify(bytes: &[u8], mark: &Mark) -> Result<(), &'static str> {
    let at = place_of_checksum(bytes).ok_or("it has no checksum")?;
    let mut crc = Crc32::new();
    crc.update(&bytes[..at]);
    crc.update(UNKNOWN.as_bytes());
    crc.update(&bytes[at + 8..]);
    if format!("{:08x}", crc.value()).as_bytes() != &bytes[at..at + 8] {
        return Err("its checksum is wrong");
    }
    let part = Part::open(bytes).ok_or("it can't be read")?;
    if part.mark() != Some(mark.clone()) { Err("it belongs to another sweep") } else { Ok(()) }
}

/// A file that can be read.
#[derive(Debug)]
pub struct Part<'b> {
    bytes: &'b [u8],
    footer: Read,
}

impl<'b> Part<'b> {
    /// Looks at the footer.
    #[must_use]
    pub fn open(bytes: &'b [u8]) -> Option<Self> {
        let body = bytes.strip_prefix(MAGIC)?.strip_suffix(MAGIC)?;
        let (body, length) = body.split_last_chunk::<4>()?;
        let start = body.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
        let footer = Reader::new(&body[start..]).structure()?;
        Some(Self { bytes, footer })
    }

    /// Which part of which sweep it is.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        let find = |key: &str| {
            let pairs = self.footer.field(5)?.list();
            let pair = pairs.iter().find(|pair| pair.field(1).and_then(Read::text) == Some(key))?;
            pair.field(2)?.text()
        };
        Some(Mark { sweep: find("sweep_hash")?.to_owned(), chunk: find("chunk")?.parse().ok()? })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.footer.field(3).and_then(Read::int).unwrap_or(0) as usize
    }

    /// Names of the columns.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let schema = self.footer.field(2).map_or(&[][..], Read::list);
        schema.iter().skip(1).filter_map(|element| Some(element.field(4)?.text()?.to_owned())).collect()
    }

    /// The values of a column; none if there is none of that name or it is damaged.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<Column> {
        let index = self.names().iter().position(|known| known == name)?;
        let element = &self.footer.field(2)?.list()[index + 1];
        let kind = element.field(1)?.int()?;
        let optional = element.field(3)?.int()? == 1;
        let mut column = match (kind, optional) {
            (0, false) => Column::Bool(Vec::new()),
            (2, false) => Column::Int(Vec::new()),
            (5, false) => Column::Float(Vec::new()),
            (5, true) => Column::Perhaps(Vec::new()),
            (6, true) => Column::Text(Vec::new()),
            _ => return None,
        };
        for group in self.footer.field(4)?.list() {
            let rows = usize::try_from(group.field(3)?.int()?).ok()?;
            let meta = group.field(1)?.list().get(index)?.field(3)?;
            let at = usize::try_from(meta.field(9)?.int()?).ok()?;
            let mut page = Reader::new(self.bytes.get(at..)?);
            let header = page.structure()?;
            let size = usize::try_from(header.field(2)?.int()?).ok()?;
            read_page(page.rest().get(..size)?, rows, &mut column)?;
        }
        Some(column)
    }
}

fn read_page(bytes: &[u8], rows: usize, column: &mut Column) -> Option<()> {
    let numbers = |bytes: &[u8], count: usize| -> Option<Vec<[u8; 8]>> {
        let bytes = bytes.get(..8 * count)?;
        Some(bytes.chunks_exact(8).filter_map(|eight| eight.try_into().ok()).collect())
    };
    match column {
        Column::Int(x) => x.extend(numbers(bytes, rows)?.into_iter().map(i64::from_le_bytes)),
        Column::Float(x) => x.extend(numbers(bytes, rows)?.into_iter().map(f64::from_le_bytes)),
        Column::Bool(x) => {
            let bytes = bytes.get(..rows.div_ceil(8))?;
            x.extend((0..rows).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1));
        }
        Column::Perhaps(x) => {
            let (levels, bytes) = read_presence(bytes, rows)?;
            let count = levels.iter().filter(|level| **level).count();
            let mut values = numbers(bytes, count)?.into_iter().map(f64::from_le_bytes);
            x.extend(levels.into_iter().map(|level| if level { values.next() } else { None }));
        }
        Column::Text(x) => {
            let (levels, mut bytes) = read_presence(bytes, rows)?;
            for level in levels {
                x.push(if level {
                    let (length, rest) = bytes.split_first_chunk::<4>()?;
                    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                    bytes = rest;
                    Some(String::from_utf8_lossy(text).into_owned())
                } else {
                    None
                });
            }
        }
    }
    Some(())
}

fn read_presence(bytes: &[u8], rows: usize) -> Option<(Vec<bool>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (levels, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (mut reader, mut present) = (Reader::new(levels), Vec::new());
    while present.len() < rows {
        let head = reader.number()?;
        let (&level, left) = reader.rest().split_first()?;
        let count = usize::try_from(head >> 1).ok().filter(|n| *n <= rows - present.len())?;
        present.extend(std::iter::repeat_n(level == 1, count));
        reader = Reader::new(left);
    }
    Some((present, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let columns = vec![
            ("run".to_owned(), Column::Int(vec![0, 1, 2, -3])),
            ("initial.q.a".to_owned(), Column::Float(vec![0.5, f64::NAN, -0.0, 1e300])),
            ("ok".to_owned(), Column::Bool(vec![true, false, true, true])),
            ("peak".to_owned(), Column::Perhaps(vec![Some(1.0), None, None, Some(2.0)])),
            ("error".to_owned(), Column::Text(vec![None, Some("why: é".into()), None, None])),
        ];
        Table { columns }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let mark = Mark { sweep: "abc".into(), chunk: 17 };
        let bytes = sample().to_bytes(&mark);
        assert_eq!(bytes, sample().to_bytes(&mark));
        let part = Part::open(&bytes).unwrap();
        assert_eq!((part.rows(), part.mark()), (4, Some(mark.clone())));
        for (name, column) in &sample().columns {
            let read = part.column(name).unwrap();
            assert_eq!(format!("{read:?}"), format!("{column:?}"));
        }
        assert_eq!(verify(&bytes, &mark), Ok(()));
        assert!(verify(&bytes, &Mark { chunk: 16, ..mark }).is_err());
    }

    #[test]
    fn an_empty_table_is_a_table() {
        let mark = Mark { sweep: "abc".into(), chunk: 0 };
        let table = Table { columns: vec![("t".to_owned(), Column::Float(Vec::new()))] };
        let bytes = table.to_bytes(&mark);
        assert_eq!(Part::open(&bytes).unwrap().column("t"), Some(Column::Float(Vec::new())));
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let mark = Mark { sweep: "abc".into(), chunk: 17 };
        let bytes = sample().to_bytes(&mark);
        for cut in 0..bytes.len() {
            assert!(verify(&bytes[..cut], &mark).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(verify(&changed, &mark).is_err(), "changed at {at}");
        }
    }

    #[test]
    fn many_rows_are_several_groups() {
        let n = GROUP_BYTES / 8 + 1000;
        let table =
            Table { columns: vec![("x".to_owned(), Column::Float((0..n).map(|i| i as f64).collect()))] };
        let bytes = table.to_bytes(&Mark { sweep: "abc".into(), chunk: 0 });
        let part = Part::open(&bytes).unwrap();
        assert_eq!(part.footer.field(4).unwrap().list().len(), 2);
        assert_eq!(part.column("x"), Some(table.columns[0].1.clone()));
    }
}
