//! The state of a file, by which a change is noticed.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use nearprint::internal::file;

use super::system;

/// What shows that a file is still the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Its length on disk in bytes.
    pub size_bytes: u64,
    /// The time of its last change, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// Its file system, and its number there: device and inode, or the serial number of the volume and the
    /// index of the file.
    pub id: (u64, u64),
}

impl FileStamp {
    fn new(found: &Metadata, id: file::Identity) -> Self {
        Self { size_bytes: found.len(), modified: system::modified(found), id }
    }

    /// The state of a file now, not of what a link leads to.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::of_listed(path, &path.symlink_metadata()?))
    }

    /// The state of an open file.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn of_open(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self::new(&found, system::identity_of_open(file, &found)?))
    }

    /// The state of a file that has been looked at.
    pub(super) fn of_listed(path: &Path, found: &Metadata) -> Self {
        Self::new(found, system::identity_of_listed(path, found))
    }
}
