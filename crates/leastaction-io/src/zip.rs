//! The little of ZIP that writing NPZ needs: stored entries, with 64-bit sizes so that no trajectory is too long.

use std::io::{self, Read, Seek, SeekFrom, Write};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
const END: u32 = 0x0605_4b50;
/// Version 4.5: the first with 64-bit sizes.
const VERSION: u16 = 45;
/// 1980-01-01, the earliest date there is: an archive depends on its content only.
const DATE: u16 = (1 << 5) | 1;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// Where the 32-bit fields say that the extra field has the number.
const IN_EXTRA: u32 = u32::MAX;

/// An entry of an archive.
#[derive(Debug)]
struct Entry {
    name: String,
    size: u64,
    offset: u64,
    crc: u32,
}

/// Writes entries one after the other.
#[derive(Debug)]
pub(super) struct ZipWriter<W> {
    out: W,
    entries: Vec<Entry>,
}

impl<W: Write + Seek> ZipWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, entries: Vec::new() }
    }

    /// Adds an entry made of a header and all that `data` still holds.
    pub(super) fn add(&mut self, name: &str, header: &[u8], data: &mut impl Read) -> io::Result<()> {
        let offset = self.out.stream_position()?;
        let mut entry = Entry { name: name.to_owned(), size: 0, offset, crc: 0 };
        self.write_local(&entry)?;
        let mut crc = Crc32::new();
        let mut buffer = vec![0u8; 1 << 16];
        crc.update(header);
        self.out.write_all(header)?;
        entry.size = header.len() as u64;
        loop {
            let n = data.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            crc.update(&buffer[..n]);
            self.out.write_all(&buffer[..n])?;
            entry.size += n as u64;
        }
        entry.crc = crc.value();
        // Size and checksum are known now.
        let end = self.out.stream_position()?;
        self.out.seek(SeekFrom::Start(offset))?;
        self.write_local(&entry)?;
        self.out.seek(SeekFrom::Start(end))?;
        self.entries.push(entry);
        Ok(())
    }

    fn write_local(&mut self, entry: &Entry) -> io::Result<()> {
        let mut b = Bytes::default();
        b.u32(LOCAL).u16(VERSION).u16(FLAGS).u16(0).u16(0).u16(DATE);
        b.u32(entry.crc).u32(IN_EXTRA).u32(IN_EXTRA);
        b.u16(length(&entry.name)?).u16(20).text(&entry.name);
        b.u16(1).u16(16).u64(entry.size).u64(entry.size);
        self.out.write_all(&b.0)
    }

    /// Writes the directory and hands the file back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let start = self.out.stream_position()?;
        let mut b = Bytes::default();
        for entry in &self.entries {
            b.u32(CENTRAL).u16(VERSION).u16(VERSION).u16(FLAGS).u16(0).u16(0).u16(DATE);
            b.u32(entry.crc).u32(IN_EXTRA).u32(IN_EXTRA);
            b.u16(length(&entry.name)?).u16(28).u16(0).u16(0).u16(0).u32(0).u32(IN_EXTRA);
            b.text(&entry.name);
            b.u16(1).u16(24).u64(entry.size).u64(entry.size).u64(entry.offset);
        }
        let (count, size) = (self.entries.len() as u64, b.0.len() as u64);
        b.u32(END_64).u64(44).u16(VERSION).u16(VERSION).u32(0).u32(0);
        b.u64(count).u64(count).u64(size).u64(start);
        b.u32(LOCATOR_64).u32(0).u64(start + size).u32(1);
        b.u32(END).u16(0).u16(0).u16(u16::MAX).u16(u16::MAX).u32(u32::MAX).u32(u32::MAX).u16(0);
        self.out.write_all(&b.0)?;
        Ok(self.out)
    }
}

fn length(name: &str) -> io::Result<u16> {
    u16::try_from(name.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the name of an array is too long"))
}

/// Little-endian output.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(&mut self, x: u16) -> &mut Self {
        self.0.extend(x.to_le_bytes());
        self
    }
    fn u32(&mut self, x: u32) -> &mut Self {
        self.0.extend(x.to_le_bytes());
        self
    }
    fn u64(&mut self, x: u64) -> &mut Self {
        self.0.extend(x.to_le_bytes());
        self
    }
    fn text(&mut self, x: &str) -> &mut Self {
        self.0.extend(x.as_bytes());
        self
    }
}

/// The checksum of ZIP, eight bytes at a time.
#[derive(Clone, Copy, Debug)]
pub struct Crc32(u32);

const TABLES: [[u32; 256]; 8] = crc_tables();

const fn crc_tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        tables[0][i] = crc;
        i += 1;
    }
    // tables[k][b]: the byte b followed by k zero bytes.
    let mut k = 1;
    while k < 8 {
        let mut i = 0;
        while i < 256 {
            let before = tables[k - 1][i];
            tables[k][i] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            i += 1;
        }
        k += 1;
    }
    tables
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

impl Crc32 {
    /// Of no bytes.
    #[must_use]
    pub fn new() -> Self {
        Self(u32::MAX)
    }

    /// Takes in more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let mut crc = self.0;
        let mut eights = bytes.chunks_exact(8);
        for b in &mut eights {
            let low = crc ^ u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let l = low.to_le_bytes();
            crc = 0;
            for i in 0..4 {
                crc ^= TABLES[7 - i][usize::from(l[i])] ^ TABLES[3 - i][usize::from(b[4 + i])];
            }
        }
        for b in eights.remainder() {
            crc = (crc >> 8) ^ TABLES[0][usize::from((crc as u8) ^ b)];
        }
        self.0 = crc;
    }

    /// The checksum.
    #[must_use]
    pub fn value(&self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_has_its_known_value() {
        let mut crc = Crc32::new();
        crc.update(b"123456789");
        assert_eq!(crc.value(), 0xcbf4_3926);
        let text: Vec<u8> = (0..=255).cycle().take(10_007).collect();
        let (mut whole, mut parts) = (Crc32::new(), Crc32::new());
        whole.update(&text);
        text.chunks(13).for_each(|part| parts.update(part));
        assert_eq!(whole.value(), parts.value());
    }
}
