//! Reads whole files of folders.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use super::input_bytes::InputBytes;
use super::kind::{Encoding, HEAD_BYTES, Kind, Recognized, Unread, recognize};
use super::outputs::is_database;
use super::preprocessor::Decoding;
use super::regular::open_regular;
use super::stamp::FileStamp;
use crate::error::{Error, Result};

/// Bytes that are compared at once.
const BLOCK_BYTES: usize = 1 << 16;

/// What a file of a folder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// A text.
    Text {
        /// Its bytes, decompressed, or what a program has written of it.
        bytes: Vec<u8>,
        /// Whether the file has them in another form.
        is_compressed: bool,
        /// The state of the file before it was read.
        stamp: FileStamp,
    },
    /// It is no text.
    Other(Kind),
    /// It has no bytes, or none when decompressed.
    Empty,
    /// It has too many bytes.
    Large,
    /// The program that is to write its text has failed, for this reason.
    Unwritten(String),
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

/// Reads a regular file, decompressed, if it is a text of at most `max_bytes`, or what a program writes of it.
///
/// ```
/// use nearprint_text::documents::{Decoding, FileContent, read_file};
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("a.txt");
/// std::fs::write(&path, "one two")?;
/// let read = |max_bytes| read_file(&path, max_bytes, &Decoding::default());
/// assert!(matches!(read(7)?, FileContent::Text { bytes, .. } if bytes == b"one two"));
/// assert_eq!(read(6)?, FileContent::Large);
/// std::fs::write(&path, "%PDF-1.4 one two")?;
/// assert!(matches!(read(7)?, FileContent::Other(kind) if kind.name() == "pdf"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Engine`] with an I/O error; [`Error::Input`] if compressed data are damaged.
pub fn read_file(path: &Path, max_bytes: usize, decoding: &Decoding) -> Result<FileContent> {
    if decoding.is_preprocessed(path) {
        return preprocessed(path, max_bytes, decoding);
    }
    let mut opened = match Opened::open(path, decoding.encoding)? {
        Ok(opened) if opened.found.is_text() => opened,
        Ok(Opened { found: Recognized { kind, .. }, .. }) | Err(kind) => {
            return Ok(if kind == Kind::Empty { FileContent::Empty } else { FileContent::Other(kind) });
        }
    };
    let (mut bytes, stamp) = (opened.head, opened.stamp);
    if stamp.size_bytes > max_bytes as u64 {
        return Ok(FileContent::Large);
    }
    opened.input.read_up_to(max_bytes.saturating_add(1), &mut bytes)?;
    if bytes.len() > max_bytes {
        return Ok(FileContent::Large);
    }
    Ok(FileContent::Text { bytes, is_compressed: opened.input.is_compressed(), stamp })
}

/// What a program writes of a file.
fn preprocessed(path: &Path, max_bytes: usize, decoding: &Decoding) -> Result<FileContent> {
    let stamp = open_regular(path).and_then(|file| FileStamp::of_open(&file));
    let stamp = stamp.map_err(Error::io("read", path))?;
    if stamp.size_bytes == 0 {
        return Ok(FileContent::Empty);
    }
    Ok(match decoding.preprocess(path).transpose()? {
        Some(Err(why)) => FileContent::Unwritten(why),
        Some(Ok(bytes)) if bytes.len() <= max_bytes => {
            FileContent::Text { bytes, is_compressed: true, stamp }
        }
        _ => FileContent::Large,
    })
}

/// What a path leads to. `None` for a folder that is no database. Named pipes and devices are not opened.
///
/// ```
/// use nearprint_text::documents::look_at;
///
/// # let home = tempfile::tempdir()?;
/// let path = home.path().join("a.txt");
/// std::fs::write(&path, "%PDF-1.4")?;
/// assert_eq!(look_at(&path)?.map(|found| found.kind.name()), Some("pdf"));
/// assert!(look_at(home.path())?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_file`].
pub fn look_at(path: &Path) -> Result<Option<Recognized>> {
    let metadata = path.metadata().map_err(Error::io("open", path))?;
    if metadata.is_dir() {
        return Ok(is_database(path)?.then_some(Recognized::DATABASE));
    }
    if !metadata.is_file() {
        return Ok(Some(Recognized::SPECIAL));
    }
    Ok(Some(match Opened::open(path, None)? {
        Ok(opened) => Recognized { compression: opened.input.compression(), ..opened.found },
        Err(kind) => Recognized { kind, ..Recognized::SPECIAL },
    }))
}

/// A regular file whose first bytes were read.
struct Opened {
    /// Its content behind the head.
    input: InputBytes,
    /// Its first bytes, decompressed.
    head: Vec<u8>,
    /// Its state before it was read.
    stamp: FileStamp,
    found: Recognized,
}

impl Opened {
    /// `Err` if it is compressed in a format that is not read, or has no bytes.
    fn open(path: &Path, encoding: Option<Encoding>) -> Result<std::result::Result<Self, Kind>> {
        let mut head = Vec::new();
        let opened = open_regular(path).and_then(|mut file: File| {
            let stamp = FileStamp::of_open(&file)?;
            file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
            Ok((stamp, file))
        });
        let (stamp, file) = opened.map_err(Error::io("read", path))?;
        if head.is_empty() {
            return Ok(Err(Kind::Empty));
        }
        let inner = Box::new(Cursor::new(head.clone()).chain(file));
        let mut input = match InputBytes::of_open(inner, path, path.to_string_lossy().into(), &Arc::default())
        {
            Err(Error::Compressed { format, .. }) => return Ok(Err(unread(path, &head, format))),
            opened => opened?,
        };
        head.clear();
        input.read_up_to(HEAD_BYTES, &mut head)?;
        let found = recognize(path, &head, head.len() < HEAD_BYTES, encoding);
        Ok(Ok(Self { input, head, stamp, found }))
    }
}

/// What a file is that is compressed in this format: office documents are zip archives.
fn unread(path: &Path, head: &[u8], format: &'static str) -> Kind {
    match recognize(path, head, false, None).kind {
        Kind::Unread(known) if known != Unread::BINARY => Kind::Unread(known),
        _ => Kind::Unread(Unread::archive(format)),
    }
}
