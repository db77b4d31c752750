//! [`AtomicFile`]: a reader finds the old file or the whole new one, never a part.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file under construction. It takes its name only when [`commit`](Self::commit) is called; dropped before, it
/// disappears unless it [is kept](Self::keep). What a killed process leaves behind (`.NAME.partial`) is removed by the next
/// writer, or [taken up again](Self::reopen).
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    partial: PathBuf,
    // `None` once committed.
    file: Option<BufWriter<File>>,
    kept: bool,
}

/// Where a file grows until it has its name: in the same folder, because a rename across file systems is not atomic.
fn partial_path(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".partial");
    Ok(path.with_file_name(hidden))
}

impl AtomicFile {
    /// Starts a file that will be called `path`.
    ///
    /// # Errors
    /// If the folder can't be written, or another process is writing the same file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let partial = partial_path(path)?;
        let file = Some(buffered(create_locked(&partial)?));
        Ok(Self { target: path.to_owned(), partial, file, kept: false })
    }

    /// Takes up the first `length` bytes of what an earlier process left of the file; `None` if it left less.
    ///
    /// # Errors
    /// If it can't be read, or another process is writing it.
    pub fn reopen(path: &Path, length: u64) -> io::Result<Option<Self>> {
        let partial = partial_path(path)?;
        // A link may lead to a file that matters.
        if !fs::symlink_metadata(&partial).is_ok_and(|meta| meta.is_file() && meta.len() >= length) {
            return Ok(None);
        }
        let mut file = OpenOptions::new().read(true).write(true).open(&partial)?;
        if file.try_lock().is_err() || !is_still(&file, &partial) {
            return Err(busy());
        }
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Some(Self { target: path.to_owned(), partial, file: Some(buffered(file)), kept: true }))
    }

    /// Forgets everything behind the first `length` bytes, whatever a write that failed has left there.
    ///
    /// # Errors
    /// If the file can't be cut.
    pub fn cut(&mut self, length: u64) -> io::Result<()> {
        let Some(writer) = self.file.take() else { return self.writer().map(|_| ()) };
        let (mut file, _) = writer.into_parts();
        let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
        self.file = Some(buffered(file));
        cut.map(|_| ())
    }

    /// A second look at what was written, from the start.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn reader(&self) -> io::Result<File> {
        File::open(&self.partial)
    }

    /// From now on, what was written stays when the file is dropped, for [`reopen`](Self::reopen).
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// What was written so far is safe on the disk, whatever happens.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.writer()?.get_ref().sync_data()
    }

    /// The name the file will have.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Gives the file its name, after its content is safe on the disk.
    ///
    /// # Errors
    /// If the content can't be written; the old file is then untouched.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let written = file
            .flush()
            .and_then(|()| file.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.partial, &self.target));
        if written.is_err() && !self.kept {
            let _ = fs::remove_file(&self.partial);
        }
        written
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is committed already"))
    }
}

fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(1 << 16, file)
}

fn busy() -> io::Error {
    let message = "another run is writing this file; give each its own folder";
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}

/// Makes the partial file and locks it, so that two runs into one folder don't mix.
///
/// Nothing is ever written into a file that was there before: it may be a link to one that matters.
fn create_locked(partial: &Path) -> io::Result<File> {
    loop {
        match OpenOptions::new().create_new(true).read(true).write(true).open(partial) {
            // Before it was locked, another run may have taken it for a leftover.
            Ok(file) if file.try_lock().is_err() || !is_still(&file, partial) => return Err(busy()),
            Ok(file) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        // A leftover, if nobody holds it; then we do until it is gone. Links are removed, not followed.
        let is_file = fs::symlink_metadata(partial).is_ok_and(|meta| meta.is_file());
        let held = if is_file { File::open(partial).ok() } else { None };
        if held.as_ref().is_some_and(|file| file.try_lock().is_err() && is_still(file, partial)) {
            return Err(busy());
        }
        match fs::remove_file(partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
}

#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_still(_file: &File, path: &Path) -> bool {
    path.exists()
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.writer()?.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // Not flushed: nobody will read what is not synchronised.
            let _ = file.into_parts();
            if !self.kept {
                let _ = fs::remove_file(&self.partial);
            }
        }
    }
}

/// Writes a whole file at once.
///
/// # Errors
/// If it can't be written; the old file is then untouched.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("leastaction-atomic-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let folder = folder("old");
        let path = folder.join("a.txt");
        write_atomically(&path, b"old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let folder = folder("drop");
        let mut file = AtomicFile::create(&folder.join("a.txt")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_kept_file_is_taken_up_where_it_was_safe() {
        let folder = folder("kept");
        let path = folder.join("a.txt");
        assert!(AtomicFile::reopen(&path, 0).unwrap().is_none());
        let mut file = AtomicFile::create(&path).unwrap();
        file.keep();
        file.write_all(b"safe").unwrap();
        file.sync().unwrap();
        file.write_all(b" and more").unwrap();
        assert_eq!(AtomicFile::reopen(&path, 4).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        drop(file);
        assert!(AtomicFile::reopen(&path, 5).unwrap().is_none(), "what was not synchronised is not there");
        let mut file = AtomicFile::reopen(&path, 4).unwrap().unwrap();
        file.write_all(b"!").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"safe!");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn two_writers_of_one_file_are_told_apart_and_leftovers_are_reused() {
        let folder = folder("two");
        let path = folder.join("a.txt");
        fs::write(folder.join(".a.txt.partial"), "a leftover, longer than what comes").unwrap();
        let first = AtomicFile::create(&path).unwrap();
        assert_eq!(AtomicFile::create(&path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        drop(first);
        write_atomically(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_with_the_name_of_the_partial_file_is_not_followed() {
        let folder = folder("link");
        let precious = folder.join("precious");
        let links: [fn(&Path, &Path) -> io::Result<()>; 2] =
            [|a, b| std::os::unix::fs::symlink(a, b), |a, b| fs::hard_link(a, b)];
        for link in links {
            fs::write(&precious, "keep me").unwrap();
            link(&precious, &folder.join(".a.txt.partial")).unwrap();
            write_atomically(&folder.join("a.txt"), b"new").unwrap();
            assert_eq!(fs::read(&precious).unwrap(), b"keep me");
            assert_eq!(fs::read(folder.join("a.txt")).unwrap(), b"new");
            fs::remove_file(folder.join("a.txt")).unwrap();
        }
        std::os::unix::fs::symlink(folder.join("nowhere"), folder.join(".a.txt.partial")).unwrap();
        write_atomically(&folder.join("a.txt"), b"new").unwrap();
        assert!(!folder.join("nowhere").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
