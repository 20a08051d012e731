//! What a reader finds: records, good and bad.

use std::fmt;
use std::sync::Arc;

use super::parser::Parser;

/// Which fields of a record hold what.
///
/// In JSON, dots reach into objects: `_id.$oid` is the member `$oid` of the member `_id`. A member
/// whose whole name is `_id.$oid` goes before that. In CSV and Parquet a field is a column, and dots
/// mean nothing. Plain files and lines have no fields: their text is all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The text: a string. By default `text`.
    pub text: String,
    /// The key: a string, a number, or an object, which stands as compact JSON. Without it a record's
    /// key is `INPUT:N`, N counted from 1, and the path for plain files.
    pub key: Option<String>,
    /// Whether a record may lack its key, or have null there; the key is empty then. By default that is a bad record.
    pub key_is_optional: bool,
    /// A number, or a string that is one, by which records are ranked.
    pub value: Option<String>,
}

impl Default for Fields {
    fn default() -> Self {
        Self { text: "text".into(), key: None, key_is_optional: false, value: None }
    }
}

/// Where a record begins: `file:line`, lines counted from 1. In Parquet it is the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the input in messages.
    pub name: Arc<str>,
    /// The line, or the row in Parquet.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.line)
    }
}

/// A record as it stands in the input.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Exactly these bytes, with the line end where there is one.
    Bytes(Vec<u8>),
    /// A whole file: its path with a line feed, and what the file holds.
    File { line: Vec<u8>, bytes: Vec<u8> },
    /// A row of a batch.
    #[cfg(feature = "parquet")]
    Row(super::parquet::Row),
    /// Bytes that are no record; why not.
    Broken { bytes: Vec<u8>, reason: String },
}

impl Content {
    /// What an output of lines holds for this record.
    pub(super) fn line(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) | Self::Broken { bytes, .. } => bytes,
            Self::File { line, .. } => line,
            #[cfg(feature = "parquet")]
            Self::Row(_) => &[],
        }
    }
}

/// A record of which only the boundaries are known.
#[derive(Clone, Debug)]
pub struct RawRecord {
    pub(super) content: Content,
    pub(super) place: Place,
    /// Counted from 1 in its input.
    pub(super) number: u64,
    /// The name of the input in keys.
    pub(super) input: Arc<str>,
    pub(super) parser: Arc<Parser>,
}

impl RawRecord {
    /// Finds the fields. It works on any thread, at 500 MB/s and more.
    #[must_use]
    pub fn parse(self) -> Item {
        let parser = self.parser.clone();
        parser.parse(self)
    }

    /// The bytes that the record takes in memory, as a measure for batches.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        match &self.content {
            Content::Bytes(bytes) | Content::Broken { bytes, .. } => bytes.len(),
            Content::File { bytes, .. } => bytes.len(),
            #[cfg(feature = "parquet")]
            Content::Row(row) => row.len_bytes(),
        }
    }
}

/// A record, or what should have been one.
#[derive(Clone, Debug)]
pub enum Item {
    /// A document.
    Record(Record),
    /// Something that is none.
    Bad(BadRecord),
}

impl Item {
    /// A hash of everything that is read of a record, to tell whether it is the same again.
    pub(crate) fn digest(&self) -> u64 {
        use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
        match self {
            Self::Bad(bad) => xxh3_64(&bad.raw),
            Self::Record(record) if matches!(record.content, Content::Bytes(_)) => xxh3_64(record.raw()),
            // The text stands elsewhere than in the raw bytes.
            Self::Record(record) => xxh3_64_with_seed(record.text.as_bytes(), xxh3_64(record.key.as_bytes())),
        }
    }
}

/// A document.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it is called: see [`Fields::key`].
    pub key: String,
    /// Its text, invalid UTF-8 replaced with U+FFFD.
    pub text: String,
    /// What it is ranked by, where [`Fields::value`] asks.
    pub value: Option<f64>,
    /// Whether something in the record was not UTF-8.
    pub invalid_utf8: bool,
    /// Its number in its input, from 1.
    pub number: u64,
    /// Where it begins.
    pub place: Place,
    pub(crate) content: Content,
}

impl Record {
    /// The bytes as they stand in the input, line end included: for JSON lines, CSV and lines. For a
    /// plain file its path and a line feed, for Parquet nothing.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.content.line()
    }
}

/// Something that is no document.
#[derive(Clone, Debug)]
pub struct BadRecord {
    /// Where it begins.
    pub place: Place,
    /// What is wrong.
    pub reason: String,
    /// The bytes as they stand; of an endless line the first 64 KiB. Of a Parquet row, its number.
    pub raw: Vec<u8>,
}
