//! C3D files: the points of motion capture, as real or whole numbers, of little-endian (PC) and VAX processors.
//!
//! Blocks of 512 bytes: a header, parameters (groups with names; `POINT:LABELS`, `POINT:UNITS`, `POINT:RATE`), then frames of four
//! numbers per point (x, y, z, and a residual that is negative where the point was not seen) followed by analogue samples.

use std::path::Path;

use leastaction::io::read_whole;
use leastaction::spatial::Vec3;

use super::markers::{Markers, check, metres};
use crate::failure::Failure;

const BLOCK: usize = 512;
/// Larger captures are read where `--max-file` allows it.
const MOST_BYTES: u64 = 512 << 20;

/// Bytes with a processor type.
struct Bytes {
    data: Vec<u8>,
    vax: bool,
}

impl Bytes {
    fn word(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes([*self.data.get(at)?, *self.data.get(at + 1)?]))
    }
    fn real(&self, at: usize) -> Option<f64> {
        let b: [u8; 4] = self.data.get(at..at + 4)?.try_into().ok()?;
        if !self.vax {
            return Some(f64::from(f32::from_le_bytes(b)));
        }
        // Words swapped, exponent two higher.
        Some(f64::from(f32::from_le_bytes([b[2], b[3], b[0], b[1]])) / 4.0)
    }
}

/// One parameter: type (−1 text, 1 byte, 2 word, 4 real), sizes, place of its data.
struct Parameter {
    kind: i8,
    sizes: Vec<usize>,
    at: usize,
}

pub(super) fn read(path: &Path) -> Result<Markers, Failure> {
    let wrong = |what: String| {
        Failure::new(format!("`{}`: {what}", path.display()))
            .help("take a C3D file that your capture program wrote")
    };
    let data = read_whole(path, MOST_BYTES).map_err(|error| {
        Failure::caused_by(format!("can't read the markers `{}`", path.display()), &error)
    })?;
    if data.len() < BLOCK || data[1] != 0x50 {
        return Err(wrong("this is no C3D file".into()));
    }
    let first = usize::from(data[0]).max(1);
    let processor = data.get((first - 1) * BLOCK + 3).copied().unwrap_or(84);
    let bytes = Bytes { data, vax: processor == 85 };
    if processor == 86 {
        return Err(wrong("it was written by a MIPS processor, which is not supported".into()));
    }
    let short = || wrong("the file ends before its data does".into());
    let header = |word: usize| bytes.word(2 * word).ok_or_else(short);
    let points = usize::from(header(1)?);
    let analogue = usize::from(header(2)?);
    let (from, to) = (usize::from(header(3)?), usize::from(header(4)?));
    let scale = bytes.real(12).ok_or_else(short)?;
    let start = usize::from(header(8)?);
    let mut rate = bytes.real(20).ok_or_else(short)?;
    let parameters = parameters(&bytes, (first - 1) * BLOCK);
    let find = |group: &str, name: &str| {
        parameters.iter().find(|(g, n, _)| g == group && n == name).map(|(_, _, p)| p)
    };
    if let Some(value) = find("POINT", "RATE").and_then(|p| bytes.real(p.at)) {
        rate = value;
    }
    if !(rate > 0.0 && rate.is_finite()) {
        return Err(wrong(format!("its frame rate is {rate}")));
    }
    let unit = find("POINT", "UNITS")
        .map(|p| texts(&bytes, p))
        .and_then(|t| t.first().cloned())
        .unwrap_or_else(|| "mm".into());
    let factor =
        metres(&unit).ok_or_else(|| wrong(format!("the unit `{unit}` of its points is not known")))?;
    let mut names = find("POINT", "LABELS").map(|p| texts(&bytes, p)).unwrap_or_default();
    names.truncate(points);
    while names.len() < points {
        names.push(format!("point{}", names.len() + 1));
    }
    let frames = (to + 1).saturating_sub(from);
    let real = scale < 0.0;
    let number = if real { 4 } else { 2 };
    let row = (4 * points + analogue) * number;
    let base = start.saturating_sub(1) * BLOCK;
    let mut markers = Markers { names, ..Markers::default() };
    for f in 0..frames {
        let mut list = Vec::with_capacity(points);
        for p in 0..points {
            let at = base + f * row + 4 * p * number;
            let value = |k: usize| -> Option<f64> {
                if real {
                    bytes.real(at + 4 * k)
                } else {
                    bytes.word(at + 2 * k).map(|w| f64::from(w as i16) * if k < 3 { scale } else { 1.0 })
                }
            };
            let (Some(x), Some(y), Some(z), Some(residual)) = (value(0), value(1), value(2), value(3)) else {
                return Err(wrong(format!("the file ends in frame {} of {frames}", f + 1)));
            };
            let seen = residual >= 0.0 && [x, y, z].iter().all(|v| v.is_finite());
            list.push(seen.then_some(Vec3([factor * x, factor * y, factor * z])));
        }
        markers.times.push(f as f64 / rate);
        markers.points.push(list);
        markers.lines.push(f + 1);
    }
    check(&markers, path)?;
    Ok(markers)
}

/// All parameters with the names of their groups.
fn parameters(bytes: &Bytes, section: usize) -> Vec<(String, String, Parameter)> {
    let mut groups: Vec<(i8, String)> = Vec::new();
    let mut found: Vec<(i8, String, Parameter)> = Vec::new();
    let mut at = section + 4;
    while let (Some(&length), Some(&id)) = (bytes.data.get(at), bytes.data.get(at + 1)) {
        let (length, id) = (usize::from((length as i8).unsigned_abs()), id as i8);
        if length == 0 || id == 0 {
            break;
        }
        let Some(raw) = bytes.data.get(at + 2..at + 2 + length) else { break };
        let name = String::from_utf8_lossy(raw).trim().to_ascii_uppercase();
        let next = at + 2 + length;
        let Some(offset) = bytes.word(next) else { break };
        if id < 0 {
            groups.push((-id, name));
        } else if let (Some(&kind), Some(&count)) = (bytes.data.get(next + 2), bytes.data.get(next + 3)) {
            let count = usize::from(count);
            let Some(sizes) = bytes.data.get(next + 4..next + 4 + count) else { break };
            let sizes = sizes.iter().map(|s| usize::from(*s)).collect();
            found.push((id, name, Parameter { kind: kind as i8, sizes, at: next + 4 + count }));
        }
        if offset == 0 {
            break;
        }
        at = next + usize::from(offset);
    }
    let group = |id: i8| groups.iter().find(|(g, _)| *g == id).map(|(_, n)| n.clone()).unwrap_or_default();
    found.into_iter().map(|(id, name, p)| (group(id), name, p)).collect()
}

/// A list of texts: the first size is their length.
fn texts(bytes: &Bytes, p: &Parameter) -> Vec<String> {
    if p.kind != -1 {
        return Vec::new();
    }
    let length = p.sizes.first().copied().unwrap_or(0);
    let count: usize = p.sizes.iter().skip(1).product();
    (0..count)
        .map_while(|i| bytes.data.get(p.at + i * length..p.at + (i + 1) * length))
        .map(|raw| String::from_utf8_lossy(raw).trim_matches(['\0', ' ']).to_owned())
        .collect()
}
