//! Reads whole files of folders.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use super::input_bytes::InputBytes;
use super::regular::open_regular;
use super::stamp::FileStamp;
use super::text::looks_binary;
use crate::error::{Error, Result};

/// The first bytes, which decide whether a file is binary.
const HEAD_BYTES: usize = 8192;
/// Bytes that are compared at once.
const BLOCK_BYTES: usize = 1 << 16;

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

/// Whether two regular files have the same bytes on disk.
///
/// ```
/// use nearprint_text::documents::have_same_bytes;
///
/// # let home = tempfile::tempdir()?;
/// let [a, b] = ["a", "b"].map(|name| home.path().join(name));
/// std::fs::write(&a, "one")?;
/// std::fs::write(&b, "two")?;
/// assert!(have_same_bytes(&a, &a)? && !have_same_bytes(&a, &b)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of reading them.
pub fn have_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (open_regular(one)?, open_regular(other)?);
    Ok(one.metadata()?.len() == other.metadata()?.len() && have_same_content(&one, &other, &mut || Ok(()))?)
}

/// Whether two open files have the same bytes from their beginning on. `go_on` is called for each block, and may fail.
pub(crate) fn have_same_content(
    mut one: &File,
    mut other: &File,
    go_on: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<bool> {
    one.rewind()?;
    other.rewind()?;
    let [mut one, mut other] = [one, other].map(|file| BufReader::with_capacity(BLOCK_BYTES, file));
    loop {
        go_on()?;
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let len = a.len().min(b.len());
        if len == 0 || a[..len] != b[..len] {
            return Ok(a.is_empty() && b.is_empty());
        }
        one.consume(len);
        other.consume(len);
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
    let opened = open_regular(path).and_then(|file: File| Ok((FileStamp::of_open(&file)?, file)));
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
