//! Which fields of a record hold what, and the values found in them.

use std::borrow::Cow;

/// Which fields of a record hold its text, key and rank.
///
/// In JSON, dots denote nested objects: `_id.$oid` is the member `$oid` of the member `_id`. A
/// member with the whole name `_id.$oid` takes precedence. In CSV and Parquet a field is a column,
/// and dots have no meaning. Plain files and lines have no fields: the whole record is its text.
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
    /// A number, or a string with a number, that ranks the record.
    pub value: Option<String>,
}

impl Default for Fields {
    fn default() -> Self {
        Self { text: "text".into(), key: None, key_is_optional: false, value: None }
    }
}

/// The values of a record's [`Fields`].
#[derive(Debug, Default)]
pub(super) struct FieldValues {
    pub(super) text: String,
    pub(super) key: Option<String>,
    pub(super) value: Option<f64>,
    pub(super) invalid_utf8: bool,
}

/// Decodes UTF-8, with U+FFFD for invalid bytes, and reports whether there were any.
pub(super) fn lossy(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    // Validation alone is several times as fast as the lossy conversion, and nearly all texts are
    // valid.
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), false),
        Err(_) => (String::from_utf8_lossy(bytes), true),
    }
}

/// Parses a finite number.
pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

pub(super) fn not_a_number(field: &str) -> String {
    format!("field {field:?} is not a number")
}

pub(super) fn not_a_text(field: &str, kind: &str) -> String {
    format!("field {field:?} is {kind}, and not a string")
}

pub(super) fn not_a_key(field: &str, kind: &str) -> String {
    format!("field {field:?} is {kind}, and no key: a string, a number or an object")
}
