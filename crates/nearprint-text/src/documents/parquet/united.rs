//! Columns of several files as those of one: by name, whatever their order, each with a type that holds all values.

use std::collections::HashSet;
use std::path::Path;
use std::slice;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, GenericListArray, LargeStringArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    StringArray, StringViewArray, StructArray, new_null_array,
};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::take::take;
use parquet::errors::ParquetError;

use super::row::ParquetValue;
use crate::error::{OutputProblem, Result};

/// The columns of inputs so far, from the first one on, and of a further one. What only one of them has may be null.
///
/// # Errors
/// [`Error::Output`](crate::Error::Output) for a column that no type suits, and for two of one name.
pub(super) fn united(
    (before, first): (&SchemaRef, &Path),
    (there, input): (&Schema, &Path),
) -> Result<SchemaRef> {
    if before.fields() == there.fields() {
        return Ok(before.clone());
    }
    for (fields, input) in [(before.fields(), first), (there.fields(), input)] {
        if let Some(column) = twice(fields) {
            let (input, column) = (input.to_path_buf(), column.to_string());
            return Err(OutputProblem::ColumnTwice { input, column }.into());
        }
    }
    let fields = united_fields(before.fields(), there.fields()).map_err(|[before, there]| {
        OutputProblem::ColumnTypes {
            column: before.name().clone(),
            type_before: before.data_type().to_string(),
            input: input.to_path_buf(),
            type_there: there.data_type().to_string(),
        }
    })?;
    Ok(Arc::new(Schema::new_with_metadata(fields, before.metadata().clone())))
}

/// A name that two of these fields have, or two fields of a struct in them.
fn twice(fields: &[FieldRef]) -> Option<&str> {
    let mut names = HashSet::new();
    fields.iter().find_map(|field| match field.data_type() {
        _ if !names.insert(field.name()) => Some(&**field.name()),
        DataType::Struct(inner) => twice(inner),
        DataType::List(item) | DataType::LargeList(item) => twice(slice::from_ref(item)),
        _ => None,
    })
}

/// The fields of both, in the order of the first. `Err` has two that no field suits.
fn united_fields(a: &Fields, b: &Fields) -> Result<Fields, [FieldRef; 2]> {
    let of = |fields: &Fields, name: &str| fields.iter().find(|field| field.name() == name).cloned();
    let optional = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
    let mut all = Vec::with_capacity(a.len());
    for field in a {
        all.push(match of(b, field.name()) {
            None => optional(field),
            Some(other) => united_field(field, &other)?,
        });
    }
    all.extend(b.iter().filter(|field| of(a, field.name()).is_none()).map(optional));
    Ok(all.into())
}

fn united_field(a: &FieldRef, b: &FieldRef) -> Result<FieldRef, [FieldRef; 2]> {
    let kind = united_type(a.data_type(), b.data_type()).ok_or_else(|| [a.clone(), b.clone()])?;
    let is_nullable = a.is_nullable() || b.is_nullable();
    Ok(Arc::new(a.as_ref().clone().with_data_type(kind).with_nullable(is_nullable)))
}

/// The type that holds the values of both without a change.
fn united_type(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Dictionary, Float32, Float64, LargeList, LargeUtf8, List, Null, Struct, Utf8, Utf8View};
    let is_string = |kind: &DataType| matches!(kind, Utf8 | LargeUtf8 | Utf8View);
    Some(match (a, b) {
        (a, b) if a == b => a.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Dictionary(_, values), other) | (other, Dictionary(_, values)) => united_type(values, other)?,
        (Float32, Float64) | (Float64, Float32) => Float64,
        (a, b) if a.is_unsigned_integer() && b.is_unsigned_integer() => DataType::UInt64,
        (DataType::UInt64, _) | (_, DataType::UInt64) => return None,
        (a, b) if a.is_integer() && b.is_integer() => DataType::Int64,
        (a, b) if is_string(a) && is_string(b) => LargeUtf8,
        (List(a), List(b)) => List(united_field(a, b).ok()?),
        (LargeList(a), LargeList(b)) => LargeList(united_field(a, b).ok()?),
        (Struct(a), Struct(b)) => Struct(united_fields(a, b).ok()?),
        _ => return None,
    })
}

/// The rows of a batch in a schema that its own was united to.
pub(super) fn in_schema(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> std::result::Result<RecordBatch, ParquetError> {
    if batch.schema_ref().fields() == schema.fields() {
        return Ok(batch.clone());
    }
    let columns =
        in_fields((batch.schema_ref().fields(), batch.columns()), schema.fields(), batch.num_rows());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns?, &options)?)
}

/// Columns as those of these fields.
fn in_fields(
    (fields, columns): (&Fields, &[ArrayRef]),
    wanted: &Fields,
    num_rows: usize,
) -> std::result::Result<Vec<ArrayRef>, ArrowError> {
    let column = |field: &FieldRef| match fields.find(field.name()) {
        Some((at, _)) => in_type(&columns[at], field.data_type()),
        None => Ok(new_null_array(field.data_type(), num_rows)),
    };
    wanted.iter().map(column).collect()
}

/// A column as one of a type that its own was united to.
fn in_type(column: &ArrayRef, kind: &DataType) -> std::result::Result<ArrayRef, ArrowError> {
    if column.data_type() == kind {
        return Ok(column.clone());
    }
    match (column.data_type(), kind) {
        (DataType::Null, _) => Ok(new_null_array(kind, column.len())),
        (DataType::Dictionary(..), _) => {
            let dictionary = column.as_any_dictionary();
            in_type(&take(dictionary.values(), dictionary.keys(), None)?, kind)
        }
        (DataType::List(_), DataType::List(item)) => in_list(column.as_list::<i32>(), item),
        (DataType::LargeList(_), DataType::LargeList(item)) => in_list(column.as_list::<i64>(), item),
        (DataType::Struct(_), DataType::Struct(wanted)) => {
            let whole = column.as_struct();
            let columns = in_fields((whole.fields(), whole.columns()), wanted, whole.len())?;
            Ok(Arc::new(StructArray::try_new(wanted.clone(), columns, whole.nulls().cloned())?))
        }
        (DataType::Float32, DataType::Float64) => Ok(wider::<Float32Type, Float64Type>(column)),
        (DataType::Int8, DataType::Int64) => Ok(wider::<Int8Type, Int64Type>(column)),
        (DataType::Int16, DataType::Int64) => Ok(wider::<Int16Type, Int64Type>(column)),
        (DataType::Int32, DataType::Int64) => Ok(wider::<Int32Type, Int64Type>(column)),
        (DataType::UInt8, DataType::Int64) => Ok(wider::<UInt8Type, Int64Type>(column)),
        (DataType::UInt16, DataType::Int64) => Ok(wider::<UInt16Type, Int64Type>(column)),
        (DataType::UInt32, DataType::Int64) => Ok(wider::<UInt32Type, Int64Type>(column)),
        (DataType::UInt8, DataType::UInt64) => Ok(wider::<UInt8Type, UInt64Type>(column)),
        (DataType::UInt16, DataType::UInt64) => Ok(wider::<UInt16Type, UInt64Type>(column)),
        (DataType::UInt32, DataType::UInt64) => Ok(wider::<UInt32Type, UInt64Type>(column)),
        (own, _) => {
            let texts = (0..column.len()).map(|row| match ParquetValue::at(column, row) {
                ParquetValue::Text(text) => Some(text),
                _ => None,
            });
            let why = || ArrowError::CastError(format!("{own} is not written as {kind}"));
            strings(texts.collect(), kind).ok_or_else(why)
        }
    }
}

/// A column of numbers as wider ones.
fn wider<A: ArrowPrimitiveType, B: ArrowPrimitiveType>(column: &ArrayRef) -> ArrayRef
where
    B::Native: From<A::Native>,
{
    Arc::new(column.as_primitive::<A>().unary::<_, B>(B::Native::from))
}

fn in_list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    item: &FieldRef,
) -> std::result::Result<ArrayRef, ArrowError> {
    let values = in_type(list.values(), item.data_type())?;
    let made =
        GenericListArray::<O>::try_new(item.clone(), list.offsets().clone(), values, list.nulls().cloned());
    Ok(Arc::new(made?))
}

/// A column of strings of this type. `None` for a type without strings.
pub(super) fn strings(texts: Vec<Option<&str>>, kind: &DataType) -> Option<ArrayRef> {
    Some(match kind {
        DataType::Utf8 => Arc::new(StringArray::from(texts)),
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from(texts)),
        DataType::Utf8View => Arc::new(StringViewArray::from(texts)),
        _ => return None,
    })
}
