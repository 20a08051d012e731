//! Temporary files for data that is needed twice and does not fit in memory.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::documents::Recording;
use crate::error::{Error, Result};

/// The name of temporary files in messages.
const FILE: &str = "a temporary file";

/// The locked file of a work folder.
const LOCK: &str = "LOCK";
/// Its name until it is locked.
const UNLOCKED: &str = "LOCK.new";
const PREFIX: &str = "nearprint-";

/// A folder that only this user can read. It is removed when its value is dropped, or, after a
/// kill, when this user makes the next one.
#[derive(Debug)]
pub(super) struct WorkFolder {
    folder: TempDir,
    _lock: File,
}

impl WorkFolder {
    pub(super) fn new() -> Result<Self> {
        let failed = Error::io("create", "a temporary folder");
        Self::in_folder(&std::env::temp_dir()).map_err(failed)
    }

    fn in_folder(home: &Path) -> io::Result<Self> {
        remove_abandoned(home);
        let permissions = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(PREFIX).permissions(permissions).tempdir_in(home)?;
        // An unlocked file named LOCK would say that the folder is abandoned.
        let lock = File::create_new(folder.path().join(UNLOCKED))?;
        lock.lock()?;
        fs::rename(folder.path().join(UNLOCKED), folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the work folders of killed processes of this user. Failures are left to the next call.
fn remove_abandoned(home: &Path) {
    let Ok(entries) = home.read_dir() else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_abandoned(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a work folder is of this user, and of a process that has ended.
fn is_abandoned(folder: &Path) -> bool {
    let is_own = |path: &Path, is_kind: fn(&Metadata) -> bool| {
        path.symlink_metadata().is_ok_and(|found| is_kind(&found) && found.uid() == geteuid().as_raw())
    };
    let lock = folder.join(LOCK);
    is_own(folder, Metadata::is_dir)
        && is_own(&lock, Metadata::is_file)
        && File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok())
}

/// A copy of standard input, which is removed when its value is dropped.
pub(super) struct SpooledInput {
    folder: WorkFolder,
}

impl SpooledInput {
    /// Reads standard input up to its end.
    pub(super) fn read() -> Result<Self> {
        let spooled = Self { folder: WorkFolder::new()? };
        let mut file = File::create_new(spooled.path()).map_err(Error::io("create", FILE))?;
        io::copy(&mut io::stdin().lock(), &mut file).map_err(Error::io("copy", "standard input"))?;
        Ok(spooled)
    }

    /// Copies standard input as it is read.
    pub(super) fn record() -> Result<(Self, Recording)> {
        let spooled = Self { folder: WorkFolder::new()? };
        let recording = Recording::create(&spooled.path()).map_err(Error::io("create", FILE))?;
        Ok((spooled, recording))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("stdin")
    }
}

/// A list of strings in unnamed files.
pub(super) struct StringFile {
    bytes: BufWriter<File>,
    ends: BufWriter<File>,
    count: u64,
    end: u64,
}

impl StringFile {
    pub(super) fn new() -> Result<Self> {
        let file = || tempfile::tempfile().map(BufWriter::new).map_err(Error::io("create", FILE));
        Ok(Self { bytes: file()?, ends: file()?, count: 0, end: 0 })
    }

    /// Appends a string, and returns its index.
    pub(super) fn push(&mut self, text: &str) -> Result<u64> {
        self.end += text.len() as u64;
        let end = self.end.to_le_bytes();
        let written = self.bytes.write_all(text.as_bytes()).and_then(|()| self.ends.write_all(&end));
        written.map_err(Error::io("write", FILE))?;
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Reads the string at an index.
    pub(super) fn get(&mut self, index: u64) -> Result<String> {
        self.read(index).map_err(Error::io("read", FILE))
    }

    fn read(&mut self, index: u64) -> io::Result<String> {
        self.bytes.flush()?;
        self.ends.flush()?;
        let mut ends = [0; 16];
        if index == 0 {
            self.ends.get_ref().read_exact_at(&mut ends[8..], 0)?;
        } else {
            self.ends.get_ref().read_exact_at(&mut ends, (index - 1) * 8)?;
        }
        let number = |at: usize| ends[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (start, end) = (number(0), number(8));
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?];
        self.bytes.get_ref().read_exact_at(&mut bytes, start)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_work_folders_are_private_and_abandoned_ones_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let names = || home.path().read_dir().unwrap().count();
        let first = WorkFolder::in_folder(home.path()).unwrap();
        assert_eq!(first.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(first.path().join("keys"), "secret").unwrap();

        // As a kill leaves it: unlocked, and not removed.
        let WorkFolder { folder, _lock } = WorkFolder::in_folder(home.path()).unwrap();
        let killed = folder.keep();
        fs::write(killed.join("keys"), "secret").unwrap();
        drop(_lock);
        // Killed before it was locked, of another program, and a link.
        fs::create_dir(home.path().join("nearprint-unlocked")).unwrap();
        fs::create_dir(home.path().join("other-program")).unwrap();
        fs::write(home.path().join("other-program/LOCK"), "").unwrap();
        std::os::unix::fs::symlink("other-program", home.path().join("nearprint-link")).unwrap();

        let second = WorkFolder::in_folder(home.path()).unwrap();
        assert!(!killed.exists() && first.path().join("keys").exists());
        assert_eq!(names(), 5);
        drop((first, second));
        assert_eq!(names(), 3);
    }

    #[test]
    fn strings_are_read_in_any_order() {
        let mut strings = StringFile::new().unwrap();
        let text = |i: u64| "ab".repeat((i * 7919 % 50) as usize);
        for i in 0..1000 {
            assert_eq!(strings.push(&text(i)).unwrap(), i);
            assert_eq!(strings.get(i * 31 % (i + 1)).unwrap(), text(i * 31 % (i + 1)));
        }
    }
}
