//! The little of ZIP that NPZ needs: stored entries, with 64-bit sizes so that no trajectory is too long.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::npz::bad;

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
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    size: u64,
    offset: u64,
    crc: u32,
    stored: bool,
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
        let mut entry = Entry { name: name.to_owned(), size: 0, offset, crc: 0, stored: true };
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
    u16::try_from(name.len()).map_err(|_| bad("the name of an array is too long"))
}

/// Reads the directory and single entries.
#[derive(Debug)]
pub(super) struct ZipReader<R> {
    file: R,
    entries: Vec<Entry>,
}

impl<R: Read + Seek> ZipReader<R> {
    pub(super) fn new(mut file: R) -> io::Result<Self> {
        let size = file.seek(SeekFrom::End(0))?;
        // The end record has a comment of at most 65535 bytes.
        let tail_start = size.saturating_sub(22 + 20 + 65_535);
        file.seek(SeekFrom::Start(tail_start))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        let end = tail
            .windows(4)
            .rposition(|w| w == END.to_le_bytes())
            .ok_or_else(|| bad("it has no ZIP directory at its end"))?;
        let mut fields = Fields(&tail[end..]);
        if tail.len() - end < 22 {
            return Err(bad("its end is cut off"));
        }
        fields.skip(10)?;
        let (mut count, _, mut start) = (u64::from(fields.u16()?), fields.u32()?, u64::from(fields.u32()?));
        let locator =
            end.checked_sub(20).map(|at| &tail[at..end]).filter(|l| l[..4] == LOCATOR_64.to_le_bytes());
        if let Some(locator) = locator {
            let mut fields = Fields(locator);
            fields.skip(8)?;
            let mut record = [0u8; 56];
            file.seek(SeekFrom::Start(fields.u64()?))?;
            file.read_exact(&mut record)?;
            let mut fields = Fields(&record);
            fields.skip(32)?;
            count = fields.u64()?;
            fields.skip(8)?;
            start = fields.u64()?;
        }
        file.seek(SeekFrom::Start(start))?;
        let mut directory = Vec::new();
        file.by_ref().take(size.saturating_sub(start)).read_to_end(&mut directory)?;
        let mut fields = Fields(&directory);
        let entries = (0..count).map(|_| central(&mut fields)).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { file, entries })
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The whole content of an entry.
    pub(super) fn read(&mut self, entry: &Entry) -> io::Result<Vec<u8>> {
        if !entry.stored {
            return Err(bad(format!("`{}` is compressed; write it with `numpy.savez`", entry.name)));
        }
        let mut header = [0u8; 30];
        self.file.seek(SeekFrom::Start(entry.offset))?;
        self.file.read_exact(&mut header)?;
        if header[..4] != LOCAL.to_le_bytes() {
            return Err(bad(format!("`{}` is not where the directory says", entry.name)));
        }
        let skip = u16::from_le_bytes([header[26], header[27]]) as i64
            + u16::from_le_bytes([header[28], header[29]]) as i64;
        self.file.seek(SeekFrom::Current(skip))?;
        let mut content = Vec::new();
        self.file.by_ref().take(entry.size).read_to_end(&mut content)?;
        let mut crc = Crc32::new();
        crc.update(&content);
        if content.len() as u64 != entry.size || crc.value() != entry.crc {
            return Err(bad(format!("`{}` does not fit its checksum", entry.name)));
        }
        Ok(content)
    }
}

/// One record of the directory.
fn central(fields: &mut Fields<'_>) -> io::Result<Entry> {
    if fields.u32()? != CENTRAL {
        return Err(bad("its ZIP directory is damaged"));
    }
    fields.skip(6)?;
    let stored = fields.u16()? == 0;
    fields.skip(4)?;
    let crc = fields.u32()?;
    let (_, short_size) = (fields.u32()?, fields.u32()?);
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.skip(8)?;
    let short_offset = fields.u32()?;
    let name = String::from_utf8_lossy(fields.take(name.into())?).into_owned();
    let mut extra = Fields(fields.take(extra.into())?);
    fields.skip(comment.into())?;
    let (mut size, mut offset) = (u64::from(short_size), u64::from(short_offset));
    while let (Ok(id), Ok(length)) = (extra.u16(), extra.u16()) {
        let mut field = Fields(extra.take(length.into())?);
        if id == 1 {
            if short_size == IN_EXTRA {
                size = field.u64()?;
                field.skip(8)?;
            }
            if short_offset == IN_EXTRA {
                offset = field.u64()?;
            }
        }
    }
    Ok(Entry { name, size, offset, crc, stored })
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

/// Little-endian input.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn take(&mut self, n: usize) -> io::Result<&'b [u8]> {
        let (head, rest) = self.0.split_at_checked(n).ok_or_else(|| bad("its ZIP directory is cut off"))?;
        self.0 = rest;
        Ok(head)
    }
    fn skip(&mut self, n: usize) -> io::Result<()> {
        self.take(n).map(|_| ())
    }
    fn u16(&mut self) -> io::Result<u16> {
        self.take(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }
    fn u32(&mut self) -> io::Result<u32> {
        self.take(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
    fn u64(&mut self) -> io::Result<u64> {
        self.take(8).map(|b| u64::from_le_bytes(std::array::from_fn(|i| b[i])))
    }
}

/// The checksum of ZIP, eight bytes at a time.
struct Crc32(u32);

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

impl Crc32 {
    fn new() -> Self {
        Self(u32::MAX)
    }

    fn update(&mut self, bytes: &[u8]) {
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

    fn value(&self) -> u32 {
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

    #[test]
    fn entries_come_back_by_name() {
        let mut zip = ZipWriter::new(io::Cursor::new(Vec::new()));
        zip.add("a.npy", b"head", &mut &b"tail"[..]).unwrap();
        zip.add("ü", b"", &mut &b""[..]).unwrap();
        let mut zip = ZipReader::new(zip.finish().unwrap()).unwrap();
        let entries = zip.entries().to_vec();
        assert_eq!(entries.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["a.npy", "ü"]);
        assert_eq!(zip.read(&entries[0]).unwrap(), b"headtail");
        assert_eq!(zip.read(&entries[1]).unwrap(), b"");
    }
}
