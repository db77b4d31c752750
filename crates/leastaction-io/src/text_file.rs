//! [`read_text`]: files are read whole, so none may be endless.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Files larger than this are refused before they fill the memory.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// The text of a file, as `std::fs::read_to_string` gives it, if it is not larger than [`MAX_FILE_BYTES`].
///
/// # Errors
/// If it can't be read, is too large or not text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 text from byte {offset} on"))
    })
}

/// The bytes of a file.
pub(super) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(MAX_FILE_BYTES)).unwrap_or(0));
    // Pipes and devices have no length, so the limit is kept while reading as well.
    if size <= MAX_FILE_BYTES {
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    }
    if size > MAX_FILE_BYTES || bytes.len() as u64 > MAX_FILE_BYTES {
        let message = format!("it has more than {MAX_FILE_BYTES} bytes, which is the most that is read");
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
        assert!(error.to_string().contains("more than 268435456 bytes"), "{error}");
    }
}
