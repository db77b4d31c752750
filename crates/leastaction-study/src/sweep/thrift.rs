//! The compact protocol of Thrift, as far as the footers of Parquet files need it.

use std::collections::BTreeMap;

const INT32: u8 = 5;
const INT64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Int32(i32),
    Int64(i64),
    Text(String),
    List(Vec<Value>),
    /// Fields by number.
    Struct(Vec<(i16, Value)>),
}

impl Value {
    fn kind(&self) -> u8 {
        match self {
            Self::Int32(_) => INT32,
            Self::Int64(_) => INT64,
            Self::Text(_) => BINARY,
            Self::List(_) => LIST,
            Self::Struct(_) => STRUCT,
        }
    }

    /// Writes the value.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int32(x) => write_number(out, zigzag(i64::from(*x))),
            Self::Int64(x) => write_number(out, zigzag(*x)),
            Self::Text(text) => {
                write_number(out, text.len() as u64);
                out.extend_from_slice(text.as_bytes());
            }
            Self::List(items) => {
                let kind = items.first().map_or(STRUCT, Self::kind);
                match items.len() {
                    n @ 0..15 => out.push((n as u8) << 4 | kind),
                    n => {
                        out.push(0xf0 | kind);
                        write_number(out, n as u64);
                    }
                }
                items.iter().for_each(|item| item.write(out));
            }
            Self::Struct(fields) => {
                let mut last = 0;
                for (number, value) in fields {
                    // Fields come in order and close together in everything that is written here.
                    out.push(((number - last) as u8) << 4 | value.kind());
                    value.write(out);
                    last = *number;
                }
                out.push(0);
            }
        }
    }
}

fn zigzag(x: i64) -> u64 {
    ((x << 1) ^ (x >> 63)) as u64
}

/// A number, seven bits at a time.
pub(super) fn write_number(out: &mut Vec<u8>, mut x: u64) {
    while x >= 0x80 {
        out.push(x as u8 | 0x80);
        x >>= 7;
    }
    out.push(x as u8);
}

/// What was read: fields of structs by number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Read {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Read>),
    Struct(BTreeMap<i16, Read>),
}

impl Read {
    pub(super) fn field(&self, number: i16) -> Option<&Self> {
        if let Self::Struct(fields) = self { fields.get(&number) } else { None }
    }
    pub(super) fn int(&self) -> Option<i64> {
        if let Self::Int(x) = self { Some(*x) } else { None }
    }
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Bytes(bytes) = self { std::str::from_utf8(bytes).ok() } else { None }
    }
    pub(super) fn list(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }
}

/// Reads bytes that may be anything: nothing is taken on trust.
#[derive(Debug)]
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    /// Structs and lists that may still lie within each other.
    depth: u32,
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, depth: 16 }
    }

    /// Bytes that are left.
    pub(super) fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut x = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            x |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(x);
            }
        }
        None
    }

    pub(super) fn structure(&mut self) -> Option<Read> {
        self.depth = self.depth.checked_sub(1)?;
        let (mut fields, mut last) = (BTreeMap::new(), 0i16);
        loop {
            let head = self.byte()?;
            if head == 0 {
                self.depth += 1;
                return Some(Read::Struct(fields));
            }
            last = match head >> 4 {
                0 => self.integer()? as i16,
                delta => last.checked_add(i16::from(delta))?,
            };
            let value = self.value(head & 0xf)?;
            fields.insert(last, value);
        }
    }

    fn integer(&mut self) -> Option<i64> {
        let x = self.number()?;
        Some((x >> 1) as i64 ^ -((x & 1) as i64))
    }

    fn value(&mut self, kind: u8) -> Option<Read> {
        match kind {
            1 | 2 => Some(Read::Int(i64::from(kind == 1))),
            4..=6 => self.integer().map(Read::Int),
            BINARY => {
                let n = usize::try_from(self.number()?).ok()?;
                let bytes = self.bytes.get(..n)?;
                self.bytes = &self.bytes[n..];
                Some(Read::Bytes(bytes.to_vec()))
            }
            LIST => {
                let head = self.byte()?;
                let n = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                // Every item takes a byte at least.
                let n = usize::try_from(n).ok().filter(|n| *n <= self.bytes.len())?;
                self.depth = self.depth.checked_sub(1)?;
                let items = (0..n).map(|_| self.value(head & 0xf)).collect::<Option<Vec<_>>>()?;
                self.depth += 1;
                Some(Read::List(items))
            }
            STRUCT => self.structure(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else_is_believed() {
        let items: Vec<Value> = (0..20).map(Value::Int32).collect();
        let value = Value::Struct(vec![
            (1, Value::Int64(-7_000_000_000)),
            (2, Value::Text("é".into())),
            (5, Value::List(items)),
            (6, Value::Struct(vec![(1, Value::Int32(-1))])),
        ]);
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        let read = Reader::new(&bytes).structure().unwrap();
        assert_eq!(read.field(1).and_then(Read::int), Some(-7_000_000_000));
        assert_eq!(read.field(2).and_then(Read::text), Some("é"));
        assert_eq!(read.field(5).unwrap().list().len(), 20);
        for cut in 0..bytes.len() {
            assert_eq!(Reader::new(&bytes[..cut]).structure(), None);
        }
        assert_eq!(Reader::new(&[0x1c; 100]).structure(), None);
    }
}
