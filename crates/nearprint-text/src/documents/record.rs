//! Records: documents, and malformed ones.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fields::RankValue;
use super::file_content::{FileContent, read_file};
use super::folder::LeftOut;
use super::input_bytes::InputBytes;
use super::input_file::InputFile;
use super::json;
use super::kind::{Encoding, HEAD_BYTES, Kind, recognize};
#[cfg(feature = "parquet")]
use super::parquet::ParquetRow;
use super::preprocessor::Decoding;
use super::system;
use super::text::text_of_file;
use crate::error::{Error, Result};

/// The place of a record in messages: `FILE:LINE`, or `FILE: record N` where records have no lines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The name of the input in messages.
    pub name: Arc<str>,
    /// Where in the input.
    pub spot: Spot,
}

/// A place in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spot {
    /// The whole file.
    File,
    /// The line of the decompressed file at which a record begins, from 1.
    Line(u64),
    /// The number of a record of Parquet or of a JSON array, from 1.
    Record(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spot {
            Spot::File => f.write_str(&self.name),
            Spot::Line(line) => write!(f, "{}:{line}", self.name),
            Spot::Record(number) => write!(f, "{}: record {number}", self.name),
        }
    }
}

/// The source of a record in its input.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// The bytes of the record, including its line end.
    Bytes(Vec<u8>),
    /// A whole file: its path with a line feed, and its text.
    File { line: Vec<u8>, text: String },
    /// A row of a batch, and the line that stands for it among rejects.
    #[cfg(feature = "parquet")]
    Row { row: ParquetRow, line: Vec<u8> },
    /// Malformed bytes.
    Broken { bytes: Vec<u8>, reason: String },
}

impl Content {
    /// Reads a file, or a stream, that is one document. `None` if it is not compared.
    pub(super) fn of_file(
        input: &InputFile,
        limits: (usize, &Decoding),
        count: &Arc<AtomicU64>,
        left_out: &mut LeftOut,
    ) -> Result<Option<Self>> {
        let read = match input.size_bytes {
            Some(size_bytes) => {
                count.fetch_add(size_bytes, Ordering::Relaxed);
                Self::of_regular(input, limits, left_out)
            }
            None => InputBytes::open(input, count)
                .and_then(|bytes| Self::of_stream(input, bytes, limits, left_out)),
        };
        match read {
            Err(error) if input.in_folder => left_out.add_unreadable(error).map(|()| None),
            // One file among many does not end the others.
            Err(Error::Input { why, .. }) => Ok(Some(Self::broken(input, why))),
            read => read,
        }
    }

    fn of_regular(
        input: &InputFile,
        (max_bytes, decoding): (usize, &Decoding),
        left_out: &mut LeftOut,
    ) -> Result<Option<Self>> {
        match read_file(&input.path, max_bytes, decoding)? {
            FileContent::Text { bytes, .. } => return Ok(Self::of_bytes(input, &bytes, decoding, left_out)),
            FileContent::Other(kind) => left_out.add_kind(kind.name(), &input.path),
            FileContent::Unwritten(why) => left_out.add_unwritten(&input.path, &why),
            FileContent::Empty if input.in_folder => left_out.empty.push(input.path.clone()),
            FileContent::Large if input.in_folder => left_out.large.push(input.path.clone()),
            FileContent::Empty => return Ok(Some(Self::of_path(input))),
            FileContent::Large => return Ok(Some(Self::too_large(input, max_bytes))),
        }
        Ok(None)
    }

    fn of_stream(
        input: &InputFile,
        stream: InputBytes,
        (max_bytes, decoding): (usize, &Decoding),
        left_out: &mut LeftOut,
    ) -> Result<Option<Self>> {
        let Some(bytes) = stream.read_all(max_bytes)? else {
            return Ok(Some(Self::too_large(input, max_bytes)));
        };
        let found = recognize(&input.path, &bytes, bytes.len() < HEAD_BYTES, decoding.encoding);
        match found.kind {
            Kind::Empty => Ok(Some(Self::of_path(input))),
            kind if !found.is_text() => {
                left_out.add_kind(kind.name(), &input.path);
                Ok(None)
            }
            _ => Ok(Self::of_bytes(input, &bytes, decoding, left_out)),
        }
    }

    fn too_large(input: &InputFile, max_bytes: usize) -> Self {
        Self::broken(input, format!("a document of more than {max_bytes} bytes"))
    }

    /// A file that cannot be read, or not to its end.
    pub(super) fn broken(input: &InputFile, reason: String) -> Self {
        Self::Broken { bytes: line_of(input), reason }
    }

    fn of_bytes(
        input: &InputFile,
        bytes: &[u8],
        decoding: &Decoding,
        left_out: &mut LeftOut,
    ) -> Option<Self> {
        let Some(decoded) = text_of_file(&input.path, bytes, decoding) else {
            left_out.add_kind(LeftOut::UNKNOWN_ENCODING, &input.path);
            return None;
        };
        left_out.count_encoding(decoded.counted_as());
        Some(Self::File { line: line_of(input), text: decoded.text.into_owned() })
    }

    /// The path of a file that is one document, and is not read.
    pub(super) fn of_path(input: &InputFile) -> Self {
        Self::File { line: line_of(input), text: String::new() }
    }

    /// The line of the record in an output of lines.
    pub(super) fn line(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) | Self::Broken { bytes, .. } => bytes,
            Self::File { line, .. } => line,
            #[cfg(feature = "parquet")]
            Self::Row { line, .. } => line,
        }
    }

    /// The memory that the record takes.
    pub(super) fn len_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) | Self::Broken { bytes, .. } => bytes.len(),
            Self::File { text, .. } => text.len(),
            #[cfg(feature = "parquet")]
            Self::Row { row, .. } => row.len_bytes(),
        }
    }
}

/// The path of a file with a line feed.
fn line_of(input: &InputFile) -> Vec<u8> {
    [&*system::bytes_of(&input.path), b"\n"].concat()
}

/// The path of a file, from that line.
pub(crate) fn path_of_line(line: &[u8]) -> &Path {
    system::path_of(line.strip_suffix(b"\n").unwrap_or(line))
}

/// A record: a document, or a malformed one.
#[derive(Clone, Debug)]
pub enum Item {
    /// A document.
    Record(Record),
    /// A malformed record.
    Bad(BadRecord),
}

impl Item {
    /// A hash of the record, to compare two passes over the same inputs.
    pub(crate) fn digest(&self) -> u64 {
        use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
        match self {
            Self::Bad(bad) => xxh3_64(&bad.raw),
            Self::Record(record) if matches!(record.content, Content::Bytes(_)) => xxh3_64(record.raw()),
            // The raw bytes of files and of Parquet do not include the text.
            Self::Record(record) => xxh3_64_with_seed(record.text.as_bytes(), xxh3_64(record.key.as_bytes())),
        }
    }
}

/// A document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// Its key: see [`Fields::key`](super::Fields::key).
    pub key: String,
    /// Its text. In JSON, U+FFFD stands for invalid UTF-8 and for an escape of half a character. In tables and lines,
    /// the characters of Windows-1252 stand for invalid bytes.
    pub text: String,
    /// What ranks it, if [`Fields::value`](super::Fields::value) names a field.
    pub value: RankValue,
    /// Whether the record has invalid UTF-8, or its text or key an escape of half a character.
    pub invalid_utf8: bool,
    /// Its number in its input, from 1.
    pub number: u64,
    /// Its place.
    pub place: Place,
    /// The place of its file among all inputs.
    pub(crate) source: usize,
    /// Whether it has no text, and is [kept](super::Missing::Keep).
    pub(crate) is_missing: bool,
    /// The encoding of its bytes, if it is not UTF-8.
    pub(super) encoding: Option<Encoding>,
    pub(crate) content: Content,
}

impl Record {
    /// The bytes of the record in its input, including its line end: for JSON lines, CSV and lines.
    /// For a plain file its path and a line feed; for Parquet the number of the row and one, with several inputs behind
    /// the name of its file and a colon.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.content.line()
    }

    /// Whether [its bytes](Self::raw) may begin with the byte order mark of its input.
    #[must_use]
    pub fn may_have_mark(&self) -> bool {
        may_have_mark(&self.content, &self.place, self.encoding)
    }

    /// Removes the names of the fields that a record of JSON lines has from `names`.
    pub(crate) fn remove_names(&self, names: &mut Vec<String>) {
        if !names.is_empty() {
            json::remove_names(self.raw(), self.encoding, names);
        }
    }
}

/// Whether a record may begin with the byte order mark of its input: a line of JSON or a text at its start. A table
/// begins with its header. Characters of other encodings may have the bytes of a mark, and paths may begin with it.
pub(super) fn may_have_mark(content: &Content, place: &Place, encoding: Option<Encoding>) -> bool {
    let are_of_file = matches!(content, Content::Bytes(_) | Content::Broken { .. });
    are_of_file && place.spot == Spot::Line(1) && encoding.is_none()
}

/// A record that is malformed, or lacks a field.
#[derive(Clone, Debug)]
pub struct BadRecord {
    /// Its place.
    pub place: Place,
    /// What is wrong with it.
    pub reason: String,
    /// Its bytes in the input; of an overlong line the first 64 KiB. Of others as
    /// [of a record](Record::raw).
    pub raw: Vec<u8>,
    /// Whether it only lacks a text, and is to be [dropped](super::Missing::Skip).
    pub is_dropped: bool,
    /// Whether its bytes may begin with the byte order mark of its input.
    pub may_have_mark: bool,
}
