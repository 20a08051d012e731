//! Rows of Parquet files and the values in them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields as ArrowFields, TimeUnit};

use super::super::fields::{FieldValues, Fields, Missing, RankValue, not_a_key, not_a_text};

/// Rows of one batch, read or written.
pub(super) const BATCH_ROWS: usize = 1024;

/// A row and the batch that holds it.
#[derive(Clone, Debug)]
pub struct ParquetRow {
    pub(super) batch: Arc<RecordBatch>,
    pub(super) index: usize,
}

impl ParquetRow {
    /// The row's share of the memory of its batch.
    pub(in super::super) fn len_bytes(&self) -> usize {
        self.batch.get_array_memory_size() / self.batch.num_rows().max(1)
    }

    /// The values of the fields of a document.
    pub(in super::super) fn values(&self, fields: &Fields) -> Result<FieldValues, String> {
        let mut values = FieldValues::default();
        match self.value(&fields.text)? {
            ParquetValue::Text(text) => values.text = text.to_string(),
            ParquetValue::Null if fields.missing != Missing::Error => values.is_missing = true,
            other => return Err(not_a_text(&fields.text, other.kind())),
        }
        if let Some(field) = &fields.key {
            values.key = Some(match self.value(field)? {
                ParquetValue::Text(text) => text.to_string(),
                ParquetValue::Number(number, _) => number,
                ParquetValue::Null if fields.key_is_optional => String::new(),
                other => return Err(not_a_key(field, other.kind())),
            });
        }
        if let Some(field) = &fields.value {
            values.value = match self.value(field)? {
                ParquetValue::Text(text) => RankValue::Text(text.into()),
                ParquetValue::Number(number, _) => RankValue::Number(number),
                ParquetValue::Float(number) if !number.is_nan() => RankValue::Number(number.to_string()),
                ParquetValue::Time(nanoseconds) => RankValue::Time(nanoseconds),
                ParquetValue::Float(_) | ParquetValue::Null => RankValue::Missing,
                other => RankValue::Other(other.kind()),
            };
        }
        Ok(values)
    }

    /// The value in a column.
    ///
    /// # Errors
    /// The reason, if there is no such column.
    pub fn value(&self, field: &str) -> Result<ParquetValue<'_>, String> {
        let columns = (self.batch.schema_ref().fields(), self.batch.columns());
        value_in(columns, field, self.index).ok_or_else(|| format!("no field {field:?}"))
    }
}

/// The value of a field in a row of these columns.
fn value_in<'a>(
    (fields, columns): (&ArrowFields, &'a [ArrayRef]),
    name: &str,
    index: usize,
) -> Option<ParquetValue<'a>> {
    let (column, inside) = first_step(fields, name)?;
    let array = columns.get(column)?;
    match inside {
        None => Some(ParquetValue::at(&**array, index)),
        Some(_) if array.is_null(index) => Some(ParquetValue::Null),
        Some(name) => {
            let array = array.as_struct_opt()?;
            value_in((array.fields(), array.columns()), name, index)
        }
    }
}

/// The places, in a schema and in the structs in it, that lead to a field. Dots reach into structs; a column with the
/// whole name takes precedence.
pub(super) fn path_of(fields: &ArrowFields, name: &str) -> Option<Vec<usize>> {
    let (column, inside) = first_step(fields, name)?;
    let Some(name) = inside else { return Some(vec![column]) };
    let DataType::Struct(inner) = fields[column].data_type() else { return None };
    Some([vec![column], path_of(inner, name)?].concat())
}

/// The column that has a name, or the struct that has the field of the rest of the name.
fn first_step<'n>(fields: &ArrowFields, name: &'n str) -> Option<(usize, Option<&'n str>)> {
    let named = |name: &str| fields.iter().position(|field| field.name() == name);
    let inside = |(dot, _): (usize, &str)| {
        let (column, rest) = (named(&name[..dot])?, &name[dot + 1..]);
        match fields[column].data_type() {
            DataType::Struct(inner) => first_step(inner, rest).map(|_| (column, Some(rest))),
            _ => None,
        }
    };
    named(name).map(|column| (column, None)).or_else(|| name.match_indices('.').find_map(inside))
}

/// The value in one column of a row.
#[derive(Debug)]
pub enum ParquetValue<'a> {
    /// A string.
    Text(&'a str),
    /// An integer: printed, and as a float.
    Number(String, f64),
    /// A floating-point number. It cannot be a fingerprint, an id or a key: large integers in it
    /// are rounded.
    Float(f64),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A date or time: nanoseconds since 1970-01-01T00:00Z.
    Time(i128),
    /// No value.
    Null,
    /// A value of any other type.
    Other,
}

impl<'a> ParquetValue<'a> {
    pub(super) fn at(array: &'a dyn Array, index: usize) -> Self {
        macro_rules! number {
            ($type:ty) => {{
                let number = array.as_primitive::<$type>().value(index);
                Self::Number(number.to_string(), number as f64)
            }};
        }
        macro_rules! time {
            ($type:ty, $nanoseconds:expr) => {
                Self::Time(i128::from(array.as_primitive::<$type>().value(index)) * $nanoseconds)
            };
        }
        if array.is_null(index) {
            return Self::Null;
        }
        match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(index)),
            DataType::LargeUtf8 => Self::Text(array.as_string::<i64>().value(index)),
            DataType::Utf8View => Self::Text(array.as_string_view().value(index)),
            DataType::Int8 => number!(Int8Type),
            DataType::Int16 => number!(Int16Type),
            DataType::Int32 => number!(Int32Type),
            DataType::Int64 => number!(Int64Type),
            DataType::UInt8 => number!(UInt8Type),
            DataType::UInt16 => number!(UInt16Type),
            DataType::UInt32 => number!(UInt32Type),
            DataType::UInt64 => number!(UInt64Type),
            DataType::Date32 => time!(Date32Type, 86_400_000_000_000),
            DataType::Date64 => time!(Date64Type, 1_000_000),
            DataType::Timestamp(TimeUnit::Second, _) => time!(TimestampSecondType, 1_000_000_000),
            DataType::Timestamp(TimeUnit::Millisecond, _) => time!(TimestampMillisecondType, 1_000_000),
            DataType::Timestamp(TimeUnit::Microsecond, _) => time!(TimestampMicrosecondType, 1000),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => time!(TimestampNanosecondType, 1),
            DataType::Float32 => Self::Float(array.as_primitive::<Float32Type>().value(index).into()),
            DataType::Float64 => Self::Float(array.as_primitive::<Float64Type>().value(index)),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                match Self::at(dictionary.keys(), index) {
                    Self::Number(position, _) => {
                        let position = position.parse().ok().filter(|at| *at < dictionary.values().len());
                        position.map_or(Self::Other, |at| Self::at(dictionary.values(), at))
                    }
                    other => other,
                }
            }
            DataType::FixedSizeBinary(_) => Self::Bytes(array.as_fixed_size_binary().value(index)),
            DataType::Binary => Self::Bytes(array.as_binary::<i32>().value(index)),
            DataType::LargeBinary => Self::Bytes(array.as_binary::<i64>().value(index)),
            DataType::BinaryView => Self::Bytes(array.as_binary_view().value(index)),
            _ => Self::Other,
        }
    }

    /// The kind of the value in messages.
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Number(..) => "a number",
            Self::Float(_) => "a floating-point number",
            Self::Time(_) => "a time",
            Self::Null => "null",
            Self::Bytes(_) => "bytes",
            Self::Other => "of another type",
        }
    }
}
