//! From a record's bytes to its text, key and value.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::csv::{Columns, Wanted};
use super::cut_after;
use super::inputs::{Format, Input};
use super::json;
use super::lines::{without_line_end, without_mark};
use super::reader::read_file;
use super::record::{BadRecord, Content, Fields, Item, RawRecord, Record};

/// How records are taken apart. Shared by all threads.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    pub(super) format: Format,
    pub(super) fields: Fields,
    /// Where text ends.
    pub(super) marker: Option<String>,
    /// Of CSV, once a header has been read.
    pub(super) columns: Option<Columns>,
}

/// What stands in a record.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) text: String,
    pub(super) key: Option<String>,
    pub(super) value: Option<f64>,
    pub(super) invalid_utf8: bool,
}

impl Parser {
    pub(super) fn parse(&self, raw: RawRecord) -> Item {
        let RawRecord { content, place, number, input, .. } = raw;
        match self.parts(&content) {
            Ok(mut parts) => {
                self.cut(&mut parts.text);
                let key = parts.key.unwrap_or_else(|| self.own_key(&input, number));
                let Parts { text, value, invalid_utf8, .. } = parts;
                Item::Record(Record { key, text, value, invalid_utf8, number, place, content })
            }
            Err(reason) => {
                let raw = match &content {
                    #[cfg(feature = "parquet")]
                    Content::Row(_) => format!("{}\n", place.line).into_bytes(),
                    content => content.line().to_vec(),
                };
                Item::Bad(BadRecord { place, reason, raw })
            }
        }
    }

    /// The text of a record that was written as a line, a fingerprint added or not.
    pub(super) fn text_of_line(&self, line: Vec<u8>) -> Result<String, String> {
        let mut text = match &self.columns {
            Some(columns) => columns.text(&line).map(|cell| lossy(&cell).0.into_owned()).unwrap_or_default(),
            None if self.format == Format::Text => self.parts(&self.file_of_line(&line)?)?.text,
            None => self.parts(&Content::Bytes(line))?.text,
        };
        self.cut(&mut text);
        Ok(text)
    }

    /// The file whose path is a line.
    fn file_of_line(&self, line: &[u8]) -> Result<Content, String> {
        let path = PathBuf::from(OsStr::from_bytes(without_line_end(line)));
        let input = Input::file(&path);
        read_file(&input, usize::MAX >> 1, &Arc::default()).map_err(|error| error.to_string())
    }

    fn cut(&self, text: &mut String) {
        if let Some(marker) = &self.marker {
            text.truncate(cut_after(text, marker).len());
        }
    }

    fn own_key(&self, input: &Arc<str>, number: u64) -> String {
        if self.format == Format::Text { input.to_string() } else { format!("{input}:{number}") }
    }

    fn parts(&self, content: &Content) -> Result<Parts, String> {
        match content {
            Content::Bytes(bytes) if self.format == Format::Jsonl => self.json(bytes),
            Content::Bytes(bytes) => match &self.columns {
                Some(columns) => self.cells(columns.cells(bytes)?),
                None => Ok(whole(without_line_end(bytes))),
            },
            Content::File { bytes, .. } => Ok(whole(bytes)),
            #[cfg(feature = "parquet")]
            Content::Row(row) => row.parts(&self.fields),
            Content::Broken { reason, .. } => Err(reason.clone()),
        }
    }

    fn json(&self, bytes: &[u8]) -> Result<Parts, String> {
        let (line, invalid_utf8) = lossy(without_mark(bytes));
        let Fields { text, key, value, key_is_optional } = &self.fields;
        let [text_found, key_found, value_found] =
            json::find(&line, [Some(text), key.as_deref(), value.as_deref()])?;
        let missing = |field: &str| format!("no field {field:?}");
        let text_found = text_found.ok_or_else(|| missing(text))?;
        let wrong = |field: &str, kind| format!("field {field:?} is {kind}, and not a string");
        let mut parts = Parts { invalid_utf8, ..Parts::default() };
        parts.text = text_found.into_text().map_err(|kind| wrong(text, kind))?.into_owned();
        if let Some(field) = key {
            let found = key_found.filter(|found| !key_is_optional || !found.is_null());
            parts.key = Some(match found {
                None if *key_is_optional => String::new(),
                None => return Err(missing(field)),
                Some(found) => found.into_key().map_err(|kind| not_a_key(field, kind))?.into_owned(),
            });
        }
        if let Some(field) = value {
            let found = value_found.ok_or_else(|| missing(field))?;
            parts.value = Some(found.into_number().ok_or_else(|| not_a_number(field))?);
        }
        Ok(parts)
    }

    fn cells(&self, [text, key, value]: Wanted<'_>) -> Result<Parts, String> {
        let mut invalid_utf8 = false;
        let mut string = |cell: Option<Cow<'_, [u8]>>| {
            cell.map(|cell| {
                let (text, invalid) = lossy(&cell);
                invalid_utf8 |= invalid;
                text.into_owned()
            })
        };
        let (text, key, value) = (string(text).unwrap_or_default(), string(key), string(value));
        let value = match (value, &self.fields.value) {
            (Some(cell), Some(field)) => Some(number(&cell).ok_or_else(|| not_a_number(field))?),
            _ => None,
        };
        Ok(Parts { text, key, value, invalid_utf8 })
    }
}

fn whole(bytes: &[u8]) -> Parts {
    let (text, invalid_utf8) = lossy(without_mark(bytes));
    Parts { text: text.into_owned(), invalid_utf8, ..Parts::default() }
}

/// Text, with U+FFFD for what is not UTF-8; and whether there was such a thing.
pub(super) fn lossy(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    // Checking first is several times as fast where all is well, which is nearly always.
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), false),
        Err(_) => (String::from_utf8_lossy(bytes), true),
    }
}

/// A finite number.
pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

pub(super) fn not_a_number(field: &str) -> String {
    format!("field {field:?} is not a number")
}

pub(super) fn not_a_key(field: &str, kind: &str) -> String {
    format!("field {field:?} is {kind}, and no key: a string, a number or an object")
}
