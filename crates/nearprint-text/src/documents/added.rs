//! Fields that a writer adds to each record.

use std::borrow::Cow;

use super::csv::with_cells;
use super::format::Format;
use super::json::with_members;

/// A field that a [`DocumentWriter`](super::DocumentWriter) adds to each record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedField {
    /// The name of a JSON member, or of a column.
    pub name: String,
    /// The type of its column in Parquet.
    pub kind: FieldKind,
}

/// The type of an added field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A string.
    Text,
    /// A 64-bit float.
    Number,
    /// An unsigned 64-bit integer.
    Count,
    /// True or false.
    Flag,
}

/// The value of an added field in one record.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// None: `null` in JSON and Parquet, an empty cell in CSV.
    Missing,
    /// A string.
    Text(Cow<'a, str>),
    /// A number; `null` in JSON if it is not finite.
    Number(f64),
    /// A count.
    Count(u64),
    /// True or false.
    Flag(bool),
}

impl AddedField {
    /// A field of strings.
    #[must_use]
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: FieldKind::Text }
    }

    /// A field of numbers.
    #[must_use]
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: FieldKind::Number }
    }

    /// A field of counts.
    #[must_use]
    pub fn count(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: FieldKind::Count }
    }

    /// A field of flags.
    #[must_use]
    pub fn flag(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: FieldKind::Flag }
    }
}

impl FieldValue<'_> {
    fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Missing => serde_json::Value::Null,
            Self::Text(text) => text.as_ref().into(),
            Self::Number(number) => (*number).into(),
            Self::Count(count) => (*count).into(),
            Self::Flag(flag) => (*flag).into(),
        }
    }

    fn to_cell(&self) -> Cow<'_, str> {
        match self {
            Self::Missing => "".into(),
            Self::Text(text) => text.as_ref().into(),
            Self::Number(number) => number.to_string().into(),
            Self::Count(count) => count.to_string().into(),
            Self::Flag(flag) => flag.to_string().into(),
        }
    }
}

/// Appends a line with one more field for each value to `out`.
pub(super) fn with_fields(
    (format, delimiter): (Format, u8),
    line: &[u8],
    fields: &[AddedField],
    values: &[FieldValue<'_>],
    out: &mut Vec<u8>,
) {
    match format {
        Format::Jsonl => {
            let names = fields.iter().map(|field| field.name.as_str());
            // A record is an object, so it has a brace.
            let _ = with_members(line, names.zip(values.iter().map(FieldValue::to_json)), out);
        }
        _ => with_cells(line, delimiter, values.iter().map(FieldValue::to_cell), out),
    }
}
