//! Which fields of a record hold what, and the values found in them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::kind::Encoding;

/// Which fields of a record hold its text, key and rank.
///
/// In JSON, dots denote nested objects: `_id.$oid` is the member `$oid` of the member `_id`. A
/// member with the whole name `_id.$oid` takes precedence. In Parquet a field is a column, and dots denote fields of
/// structs in the same way. In CSV a field is a column, and dots have no meaning. Plain files and lines have no fields:
/// the whole record is its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// The text: a string. By default `text`.
    pub text: String,
    /// The key: a string, a number, or an object, whose key is its compact JSON. Without this field
    /// the key of a record is `INPUT:N`, N counted from 1, and the key of a plain file its path.
    pub key: Option<String>,
    /// Whether a record may lack its key, or have null there; its key is then empty. By default
    /// such a record is bad.
    pub key_is_optional: bool,
    /// What ranks the record.
    pub value: Option<String>,
    /// What becomes of records without a text.
    pub missing: Missing,
}

impl Default for Fields {
    fn default() -> Self {
        Self { text: "text".into(), key: None, key_is_optional: false, value: None, missing: Missing::Error }
    }
}

/// What becomes of a record of JSON or Parquet that has no text: the field is null, or in JSON not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// It is a bad record.
    #[default]
    Error,
    /// It has an empty text, which nothing is near.
    Keep,
    /// It is a bad record that was [expected](super::BadRecord::is_dropped).
    Skip,
}

impl FromStr for Missing {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "error" => Ok(Self::Error),
            "keep" => Ok(Self::Keep),
            "skip" => Ok(Self::Skip),
            _ => Err("not error, keep or skip"),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Keep => "keep",
            Self::Skip => "skip",
        })
    }
}

/// A value that ranks a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankValue {
    /// There is no value, null, or NaN; an empty cell.
    #[default]
    Missing,
    /// A number, as its digits.
    Number(String),
    /// A string.
    Text(String),
    /// A date or time: nanoseconds since 1970-01-01T00:00Z.
    Time(i128),
    /// Something that cannot be ordered, by its name.
    Other(&'static str),
}

impl RankValue {
    /// The string; empty for anything else.
    pub(crate) fn as_text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }
}

impl fmt::Display for RankValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no value"),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Time(nanoseconds) => write!(f, "the time {nanoseconds} ns after 1970"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// The values of a record's [`Fields`].
#[derive(Debug, Default)]
pub(super) struct FieldValues {
    pub(super) text: String,
    pub(super) key: Option<String>,
    pub(super) value: RankValue,
    pub(super) invalid_utf8: bool,
    /// Whether there is no text, where [`Missing`] says that this is no error.
    pub(super) is_missing: bool,
}

/// The text of JSON in an encoding, which is UTF-8 without one: with U+FFFD for invalid bytes. Also returns whether
/// there were any.
pub(super) fn json_text(bytes: &[u8], encoding: Option<Encoding>) -> (Cow<'_, str>, bool) {
    if let Some(encoding) = encoding {
        return (encoding.text_of(bytes), false);
    }
    // Validation alone is several times as fast as the lossy conversion, and nearly all texts are
    // valid.
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), false),
        Err(_) => (String::from_utf8_lossy(bytes), true),
    }
}

/// The text of a cell or a line in an encoding, which is UTF-8 without one: invalid bytes become the characters of
/// Windows-1252, so that different bytes stay different texts. Also returns whether there were any.
pub(super) fn cell_text(bytes: &[u8], encoding: Option<Encoding>) -> (Cow<'_, str>, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) if encoding.is_none() => (text.into(), false),
        _ => (encoding.unwrap_or(Encoding::UTF_8).text_of(bytes), encoding.is_none()),
    }
}

pub(super) fn no_text(field: &str) -> String {
    format!("field {field:?} has no text")
}

pub(super) fn not_a_text(field: &str, kind: &str) -> String {
    format!("field {field:?} is {kind}, and not a string")
}

/// Says that a field or column is not there, and which ones are.
pub(super) fn no_field<T: AsRef<str>>(what: &str, field: &str, there: impl Iterator<Item = T>) -> String {
    /// The names that are printed.
    const MOST: usize = 12;
    let mut names: Vec<String> = there.take(MOST + 1).map(|name| format!("{:?}", name.as_ref())).collect();
    if names.len() > MOST {
        names[MOST] = "…".into();
    }
    let there = if names.is_empty() { String::new() } else { format!("; there are {}", names.join(", ")) };
    format!("no {what} {field:?}{there}")
}

pub(super) fn not_a_key(field: &str, kind: &str) -> String {
    format!("field {field:?} is {kind}, and no key: a string, a number or an object")
}
