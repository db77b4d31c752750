//! [`damaged`]: a file as an accident, a careless editor or an enemy would leave it.

use leastaction::mechanism::samples::Random;

/// Values that programs are not prepared for.
const STRANGE: [&str; 30] = [
    "0",
    "-0",
    "-1",
    "1e308",
    "-1e308",
    "1e400",
    "1e-320",
    "NaN",
    "nan",
    "inf",
    "-Infinity",
    "",
    " ",
    "1,5",
    "0x10",
    "1e",
    "18446744073709551615",
    "9223372036854775808",
    "4294967296",
    "1e-17",
    "3.0000000000000004",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\u{0}",
    "\u{7}\u{1b}[2J",
    "../../../etc/passwd",
    "𝔘𝔫\u{301}\n",
];

/// The bytes with one to eight accidents; `other` is a file of the same kind to take pieces from.
pub(crate) fn damaged(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let accidents = 1 + random.bits() % [1, 1, 2, 3, 8][(random.bits() % 5) as usize];
    for _ in 0..accidents {
        accident(&mut bytes, other, random);
    }
    bytes
}

fn accident(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    match random.bits() % 12 {
        0 => flip(bytes, random),
        1 => {
            let span = span(bytes.len(), 64, random);
            bytes.drain(span);
        }
        2 => {
            let piece = bytes[span(bytes.len(), 400, random)].to_vec();
            insert(bytes, &piece, random);
        }
        3 => {
            let piece = other[span(other.len(), 400, random)].to_vec();
            insert(bytes, &piece, random);
        }
        4 => bytes.truncate(below(bytes.len() + 1, random)),
        5 => insert(bytes, &[random.bits() as u8], random),
        // Words and numbers are what readers look at: most accidents happen there.
        6..=8 => replace_token(bytes, STRANGE[below(STRANGE.len(), random)].as_bytes(), random),
        9 => {
            let token = token(other, random);
            let piece = other[token].to_vec();
            replace_token(bytes, &piece, random);
        }
        10 => repeat_line(bytes, random),
        _ => swap_lines(bytes, random),
    }
}

fn below(n: usize, random: &mut Random) -> usize {
    if n == 0 { 0 } else { (random.bits() % n as u64) as usize }
}

fn span(length: usize, longest: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = below(length, random);
    start..(start + below(longest, random)).min(length)
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = below(bytes.len(), random);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << (random.bits() % 8);
    }
}

fn insert(bytes: &mut Vec<u8>, piece: &[u8], random: &mut Random) {
    let at = below(bytes.len() + 1, random);
    bytes.splice(at..at, piece.iter().copied());
}

/// A run of characters that words and numbers are made of.
fn token(bytes: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_' | b'@');
    let from = below(bytes.len(), random);
    let start = from + bytes[from..].iter().position(is_part).unwrap_or(0);
    let start = bytes[..start].iter().rposition(|byte| !is_part(byte)).map_or(0, |before| before + 1);
    let end = start + bytes[start..].iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len() - start);
    start..end
}

fn replace_token(bytes: &mut Vec<u8>, by: &[u8], random: &mut Random) {
    let token = token(bytes, random);
    bytes.splice(token, by.iter().copied());
}

fn lines(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        found.push(start..start + line.len());
        start += line.len();
    }
    found
}

fn repeat_line(bytes: &mut Vec<u8>, random: &mut Random) {
    let lines = lines(bytes);
    if let Some(line) = lines.get(below(lines.len(), random)).cloned() {
        let copy = bytes[line.clone()].repeat(1 + below(3, random));
        bytes.splice(line.end..line.end, copy);
    }
}

fn swap_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let lines = lines(bytes);
    let (a, b) = (below(lines.len(), random), below(lines.len(), random));
    if let (Some(a), Some(b)) = (lines.get(a.min(b)).cloned(), lines.get(a.max(b)).cloned())
        && a.end <= b.start
    {
        let (first, second) = (bytes[a.clone()].to_vec(), bytes[b.clone()].to_vec());
        bytes.splice(b, first);
        bytes.splice(a, second);
    }
}
