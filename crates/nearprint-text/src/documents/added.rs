//! Fields that a writer adds to each record.

use std::borrow::Cow;

use super::csv::with_cells;
use super::format::Format;
use super::json::{json_of, with_members};
use super::kind::Encoding;

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
    fn to_json(&self, is_ascii: bool) -> String {
        match self {
            Self::Missing => serde_json::Value::Null.to_string(),
            Self::Text(text) => json_of(text, is_ascii),
            Self::Number(number) => serde_json::Value::from(*number).to_string(),
            Self::Count(count) => count.to_string(),
            Self::Flag(flag) => flag.to_string(),
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

/// Appends a line with one more field for each value to `out`, in the encoding of the line if that is not UTF-8.
///
/// # Errors
/// The name of a field of a table whose value has a character that the encoding does not have, and why.
pub(super) fn with_fields(
    (format, delimiter, encoding): (Format, u8, Option<Encoding>),
    line: &[u8],
    fields: &[AddedField],
    values: &[FieldValue<'_>],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    if format == Format::Jsonl {
        let is_ascii = encoding.is_some();
        let members = fields.iter().zip(values);
        let members = members.map(|(field, value)| (json_of(&field.name, is_ascii), value.to_json(is_ascii)));
        // A record is an object, so it has a brace.
        let _ = with_members(line, members, out);
        return Ok(());
    }
    let cells = fields.iter().zip(values).map(|(field, value)| {
        let cell = value.to_cell();
        encoded(&cell, encoding).map_err(|why| format!("{}: {why}", field.name))
    });
    with_cells(line, delimiter, cells.collect::<Result<Vec<_>, _>>()?.into_iter(), out);
    Ok(())
}

/// The bytes of a cell that is added to a table.
pub(super) fn encoded(cell: &str, encoding: Option<Encoding>) -> Result<Vec<u8>, String> {
    let Some(encoding) = encoding else { return Ok(cell.as_bytes().to_vec()) };
    encoding.exact_bytes_of(cell).ok_or_else(|| {
        format!("{cell:?} has a character that {encoding} does not have; give the input in UTF-8")
    })
}
