//! Reads whole files of folders.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::input_bytes::InputBytes;
use super::regular::open_regular;
use super::text::looks_binary;
use crate::error::{Error, Result};

/// The first bytes, which decide whether a file is binary.
const HEAD_BYTES: usize = 8192;

/// What a file of a folder is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileContent {
    /// A text.
    Text {
        /// Its bytes, decompressed.
        bytes: Vec<u8>,
        /// Whether the file has them in another form.
        is_compressed: bool,
        /// The state of the file before it was read.
        stamp: FileStamp,
    },
    /// It has a zero byte near its start, or is compressed in a format that is not read.
    Binary,
    /// It has no bytes, or none when decompressed.
    Empty,
    /// It has too many bytes.
    Large,
}

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

/// Reads a regular file, decompressed, if it is a text of at most `max_bytes`.
///
/// ```
/// use nearprint_text::documents::{FileContent, read_file};
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("a.txt");
/// std::fs::write(&path, "one two")?;
/// assert!(matches!(read_file(&path, 7)?, FileContent::Text { bytes, .. } if bytes == b"one two"));
/// assert_eq!(read_file(&path, 6)?, FileContent::Large);
/// std::fs::write(&path, "one\0two")?;
/// assert_eq!(read_file(&path, 7)?, FileContent::Binary);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Engine`] with an I/O error; [`Error::Input`] if compressed data are damaged.
pub fn read_file(path: &Path, max_bytes: usize) -> Result<FileContent> {
    let opened = open_regular(path).and_then(|file: File| Ok((FileStamp::from(&file.metadata()?), file)));
    let (stamp, file) = opened.map_err(Error::io("read", path))?;
    let inner: Box<dyn Read + Send> = Box::new(file);
    let mut input = match InputBytes::of_open(inner, path, path.to_string_lossy().into(), &Arc::default()) {
        Err(Error::Compressed { .. }) => return Ok(FileContent::Binary),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    input.read_up_to(HEAD_BYTES, &mut bytes)?;
    if bytes.is_empty() {
        return Ok(FileContent::Empty);
    }
    if looks_binary(&bytes) {
        return Ok(FileContent::Binary);
    }
    if stamp.size_bytes > max_bytes as u64 {
        return Ok(FileContent::Large);
    }
    input.read_up_to(max_bytes.saturating_add(1), &mut bytes)?;
    if bytes.len() > max_bytes {
        return Ok(FileContent::Large);
    }
    Ok(FileContent::Text { bytes, is_compressed: input.is_compressed(), stamp })
}
