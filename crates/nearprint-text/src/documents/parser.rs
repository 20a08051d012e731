//! Parses the text, key and rank of a record.

use std::borrow::Cow;
use std::sync::Arc;

use super::conversion::Conversion;
use super::csv::{CsvColumns, FieldCells};
use super::delimiter::Delimiter;
use super::fields::{
    FieldValues, Fields, Missing, RankValue, cell_text, json_text, no_field, no_text, not_a_key, not_a_text,
};
use super::format::Format;
use super::json;
use super::kind::Encoding;
use super::lines::{without_line_end, without_mark};
use super::record::{BadRecord, Content, Item, Place, Record, may_have_mark};

/// How records are parsed. All threads share one parser.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    pub(super) format: Format,
    pub(super) fields: Fields,
    /// The encoding of the current input, if it is not UTF-8 and has bytes of ASCII.
    pub(super) encoding: Option<Encoding>,
    /// Of CSV, after the first header.
    pub(super) columns: Option<CsvColumns>,
    /// How JSON lines become rows of another format. A record that is no row is bad.
    pub(super) conversion: Option<Arc<Conversion>>,
}

/// A record whose boundaries are known and whose fields are not yet parsed.
#[derive(Clone, Debug)]
pub struct RawRecord {
    pub(super) content: Content,
    pub(super) place: Place,
    /// Its number in its input, from 1.
    pub(super) number: u64,
    /// The name of the input in keys.
    pub(super) input: Arc<str>,
    /// The place of the input among all of them.
    pub(super) source: usize,
    pub(super) parser: Arc<Parser>,
}

impl RawRecord {
    /// The record as text, if it is a line.
    pub(super) fn line(&self) -> Option<Cow<'_, str>> {
        match &self.content {
            Content::Bytes(bytes) => Some(self.parser.decoded(without_mark(bytes)).0),
            _ => None,
        }
    }

    /// Parses the fields. Works on any thread, at 500 MB/s or more.
    #[must_use]
    pub fn parse(self) -> Item {
        let parser = self.parser.clone();
        parser.parse(self)
    }

    /// The memory that the record takes, to size batches.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.content.len_bytes()
    }
}

impl Parser {
    fn parse(&self, raw: RawRecord) -> Item {
        let RawRecord { mut content, place, number, input, source, .. } = raw;
        match self.values(&mut content) {
            Ok(values) if values.is_missing && self.fields.missing == Missing::Skip => {
                self.bad(&content, place, no_text(&self.fields.text), true)
            }
            Ok(values) => {
                let key = values.key.unwrap_or_else(|| self.default_key(&input, number));
                let FieldValues { text, value, invalid_utf8, is_missing, .. } = values;
                let encoding = self.encoding;
                Item::Record(Record {
                    key,
                    text,
                    value,
                    invalid_utf8,
                    number,
                    place,
                    source,
                    is_missing,
                    encoding,
                    content,
                })
            }
            Err(reason) => self.bad(&content, place, reason, false),
        }
    }

    /// A malformed record.
    fn bad(&self, content: &Content, place: Place, reason: String, is_dropped: bool) -> Item {
        let may_have_mark = self.format != Format::Text && may_have_mark(content, &place, self.encoding);
        Item::Bad(BadRecord { place, reason, raw: content.line().to_vec(), is_dropped, may_have_mark })
    }

    /// The byte between the cells of a table.
    pub(super) fn delimiter(&self) -> u8 {
        let usual = || self.format.delimiter().unwrap_or(Delimiter::COMMA).byte();
        self.columns.as_ref().map_or_else(usual, CsvColumns::delimiter)
    }

    /// The same parser for records in another encoding.
    pub(super) fn with_encoding(self: &Arc<Self>, encoding: Option<Encoding>) -> Arc<Self> {
        if self.encoding == encoding { self.clone() } else { Arc::new(Self { encoding, ..(**self).clone() }) }
    }

    /// The text of a record from its line in an output, with an added fingerprint or without.
    pub(super) fn text_of_line(&self, line: Vec<u8>) -> Result<String, String> {
        match &self.columns {
            Some(columns) => {
                Ok(columns.text(&line).map(|cell| self.decoded(&cell).0.into_owned()).unwrap_or_default())
            }
            None => Ok(self.values(&mut Content::Bytes(line))?.text),
        }
    }

    /// Appends a record of JSON lines or CSV to `out`, with another text. Invalid UTF-8 of JSON lines is
    /// replaced.
    pub(super) fn with_text(&self, record: &[u8], text: &str, out: &mut Vec<u8>) {
        if let Some(columns) = &self.columns {
            match self.encoding {
                None => columns.with_text(record, text.as_bytes(), out),
                Some(encoding) => columns.with_text(record, &encoding.bytes_of(text), out),
            }
            return;
        }
        let (record, text) =
            (self.decoded(without_mark(record)).0, json::json_of(text, self.encoding.is_some()));
        let mut changed = Vec::new();
        // The record was parsed and has lost a part of its text, so it has the field.
        let _ = json::with_value(&record, &self.fields.text, &text, &mut changed);
        match self.encoding {
            None => out.append(&mut changed),
            Some(encoding) => out.extend(encoding.bytes_of(&String::from_utf8_lossy(&changed))),
        }
    }

    /// The text of a part of a record, and whether it has invalid UTF-8, for which other characters stand.
    fn decoded<'a>(&self, bytes: &'a [u8]) -> (Cow<'a, str>, bool) {
        let text = if self.format == Format::Jsonl { json_text } else { cell_text };
        text(bytes, self.encoding)
    }

    /// The key of a record without a key field.
    fn default_key(&self, input: &Arc<str>, number: u64) -> String {
        if self.format == Format::Text { input.to_string() } else { format!("{input}:{number}") }
    }

    /// The values of a record. The text of a file is moved.
    fn values(&self, content: &mut Content) -> Result<FieldValues, String> {
        match content {
            Content::Bytes(bytes) if self.format == Format::Jsonl => self.json(bytes),
            Content::Bytes(bytes) => match &self.columns {
                Some(columns) => self.cells(columns.cells(bytes)?),
                None => Ok(self.whole(without_line_end(bytes))),
            },
            Content::File { text, .. } => {
                Ok(FieldValues { text: std::mem::take(text), ..FieldValues::default() })
            }
            #[cfg(feature = "parquet")]
            Content::Row { row, .. } => row.values(&self.fields),
            Content::Broken { reason, .. } => Err(reason.clone()),
        }
    }

    fn whole(&self, bytes: &[u8]) -> FieldValues {
        let (text, invalid_utf8) = self.decoded(without_mark(bytes));
        FieldValues { text: text.into_owned(), invalid_utf8, ..FieldValues::default() }
    }

    fn json(&self, bytes: &[u8]) -> Result<FieldValues, String> {
        let (line, invalid_utf8) = self.decoded(without_mark(bytes));
        self.conversion.as_ref().map_or(Ok(()), |conversion| conversion.check(&line))?;
        let Fields { text, key, value, key_is_optional, missing: absent } = &self.fields;
        let [text_found, key_found, value_found] =
            json::find(&line, [Some(text), key.as_deref(), value.as_deref()])?;
        let missing = |field: &str| no_field("field", field, json::names(&line).into_iter());
        let mut values = FieldValues { invalid_utf8, ..FieldValues::default() };
        match text_found.filter(|found| *absent == Missing::Error || !found.is_null()) {
            Some(found) => {
                let (found, has_half) = found.into_text().map_err(|kind| not_a_text(text, kind))?;
                values.text = found.into_owned();
                values.invalid_utf8 |= has_half;
            }
            None if *absent == Missing::Error => return Err(missing(text)),
            None => values.is_missing = true,
        }
        if let Some(field) = key {
            let found = key_found.filter(|found| !key_is_optional || !found.is_null());
            values.key = Some(match found {
                None if *key_is_optional => String::new(),
                None => return Err(missing(field)),
                Some(found) => {
                    let (key, has_half) = found.into_key().map_err(|kind| not_a_key(field, kind))?;
                    values.invalid_utf8 |= has_half;
                    key.into_owned()
                }
            });
        }
        if value.is_some() {
            values.value = value_found.map(|found| found.into_rank()).unwrap_or_default();
        }
        Ok(values)
    }

    fn cells(&self, [text, key, value]: FieldCells<'_>) -> Result<FieldValues, String> {
        let mut invalid_utf8 = false;
        let mut string = |cell: Option<Cow<'_, [u8]>>| {
            cell.map(|cell| {
                let (text, invalid) = self.decoded(&cell);
                invalid_utf8 |= invalid;
                text.into_owned()
            })
        };
        let (text, key, value) = (string(text).unwrap_or_default(), string(key), string(value));
        let value = value.filter(|cell| !cell.is_empty()).map(RankValue::Text).unwrap_or_default();
        Ok(FieldValues { text, key, value, invalid_utf8, is_missing: false })
    }
}
