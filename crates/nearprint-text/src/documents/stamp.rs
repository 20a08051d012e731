//! The state of a file, by which a change is noticed.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What shows that a file is still the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Its length on disk in bytes.
    pub size_bytes: u64,
    /// The time of its last change, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// Its device and inode.
    pub id: (u64, u64),
}

impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            size_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            id: (metadata.dev(), metadata.ino()),
        }
    }
}

impl FileStamp {
    /// The state of a file now, not of what a link leads to.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&path.symlink_metadata()?))
    }
}
