//! [`read_text`]: files are read whole, so none may be endless. [`read_files_up_to`] lifts the limits of all readers.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Files larger than this are refused before they fill the memory, unless [`read_files_up_to`] allows more.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

static ALLOWED: AtomicU64 = AtomicU64::new(0);

/// Lets files of up to this size be read, in the whole process and by every reader, where its own limit is lower: a guard of
/// this machine's memory, which only who knows the machine can lift.
pub fn read_files_up_to(bytes: u64) {
    ALLOWED.store(bytes, Ordering::Relaxed);
}

/// The limit of a reader that has a limit of its own.
pub(super) fn limit(own: u64) -> u64 {
    own.max(ALLOWED.load(Ordering::Relaxed))
}

/// What a message about a file says that is larger than its limit.
pub(super) fn how_to_lift(limit: u64) -> String {
    format!("at most {limit} bytes are read; `--max-file SIZE` (`read_files_up_to`) allows more")
}

/// The text of a file, as `std::fs::read_to_string` gives it, if it is not larger than [`MAX_FILE_BYTES`] or what is allowed.
///
/// # Errors
/// If it can't be read, is too large or not text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 text from byte {offset} on"))
    })
}

/// The bytes of a text file.
pub(super) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    read_whole(path, MAX_FILE_BYTES)
}

/// The bytes of a file that has not more of them than `own`, the limit of its reader, or what [`read_files_up_to`] allows.
///
/// # Errors
/// If it can't be read or is larger, which has the kind [`io::ErrorKind::FileTooLarge`].
pub fn read_whole(path: &Path, own: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let most = limit(own);
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(most)).unwrap_or(0));
    // Pipes and devices have no length, so the limit is kept while reading as well.
    if size <= most {
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    if size > most || bytes.len() as u64 > most {
        let message = format!("it has more: {}", how_to_lift(most));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_refused_with_the_limit() {
        let error = read_text(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("at most 268435456 bytes are read; `--max-file SIZE`"), "{error}");
    }
}
