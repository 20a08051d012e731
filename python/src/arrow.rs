//! Arrow arrays as columns, and results as Arrow tables.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Float64Array, GenericListArray, Int64Array,
    LargeStringArray, OffsetSizeTrait, RecordBatch, RecordBatchIterator, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::take::take;
use nearprint::Width;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsules::{ArrowArrays, stream_capsule};
use crate::columns::{Column, Columns};
use crate::errors::input_error;
use crate::words::Words;

/// The fingerprints of an Arrow array, and their width: integers, bytes with the most significant one first, or
/// lists of words with the least significant one first; dictionaries of these, too.
#[pyfunction]
pub(crate) fn fingerprints_of_arrow<'py>(
    py: Python<'py>,
    array: ArrowArrays,
    signed: bool,
) -> PyResult<(Bound<'py, PyAny>, u32)> {
    let array = without_dictionary(array)?;
    refuse_nulls(py, &array, "fingerprints")?;
    let (width, words) = match &array.data_type {
        DataType::FixedSizeBinary(_) | DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            words_of_bytes(py, &array)?
        }
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            words_of_lists(py, &array, signed)?
        }
        kind if kind.is_integer() => (Width::W64, numbers(py, &array, "fingerprints", signed)?),
        other => {
            return Err(PyTypeError::new_err(format!(
                "an Arrow array of {other}: fingerprints are integers, binary of 8, 16, 32 or 40 bytes each, or lists \
                 of words"
            )));
        }
    };
    Ok((Words::from_words(width, words).into_array(py)?, width.bits()))
}

/// The array with the values of a dictionary in the place of their indexes.
pub(crate) fn without_dictionary(array: ArrowArrays) -> PyResult<ArrowArrays> {
    let DataType::Dictionary(_, values) = &array.data_type else { return Ok(array) };
    let unpack = |chunk: &ArrayRef| {
        let dictionary = chunk.as_any_dictionary();
        take(dictionary.values(), dictionary.keys(), None)
            .map_err(|error| PyTypeError::new_err(error.to_string()))
    };
    let chunks = array.chunks.iter().map(unpack).collect::<PyResult<_>>()?;
    Ok(ArrowArrays { data_type: (**values).clone(), chunks })
}

/// The ids of an Arrow array.
#[pyfunction]
pub(crate) fn ids_of_arrow<'py>(
    py: Python<'py>,
    array: ArrowArrays,
    signed: bool,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    refuse_nulls(py, &array, "ids")?;
    Ok(numbers(py, &array, "ids", signed)?.into_pyarray(py))
}

fn refuse_nulls(py: Python<'_>, array: &ArrowArrays, what: &str) -> PyResult<()> {
    let nulls: usize = array.chunks.iter().map(|chunk| chunk.null_count()).sum();
    if nulls > 0 { Err(input_error(py, &format!("{what}: nulls among them: {nulls}"))) } else { Ok(()) }
}

/// The numbers of an array. With `signed`, numbers of 64 bits are bit patterns.
fn numbers(py: Python<'_>, array: &ArrowArrays, what: &str, signed: bool) -> PyResult<Vec<u64>> {
    let mut all = Vec::new();
    for chunk in &array.chunks {
        macro_rules! append {
            ($kind:ty) => {{
                let values = chunk.as_primitive::<$kind>().values().iter();
                let unsigned: Result<Vec<u64>, _> = values.map(|&number| u64::try_from(number)).collect();
                all.extend(unsigned.map_err(|_| {
                    let why = "some are negative; signed=True takes int64 as bit patterns";
                    input_error(py, &format!("{what}: {why}"))
                })?);
            }};
        }
        match chunk.data_type() {
            DataType::UInt64 => all.extend_from_slice(chunk.as_primitive::<UInt64Type>().values()),
            DataType::UInt32 => append!(UInt32Type),
            DataType::UInt16 => append!(UInt16Type),
            DataType::UInt8 => append!(UInt8Type),
            DataType::Int64 if signed => {
                all.extend(
                    chunk.as_primitive::<Int64Type>().values().iter().map(|word| word.cast_unsigned()),
                );
            }
            DataType::Int64 => append!(Int64Type),
            DataType::Int32 => append!(Int32Type),
            DataType::Int16 => append!(Int16Type),
            DataType::Int8 => append!(Int8Type),
            other => {
                return Err(PyTypeError::new_err(format!(
                    "{what}: an Arrow array of {other}, where uint64 is wanted"
                )));
            }
        }
    }
    Ok(all)
}

/// Fingerprints of one width, as lists of their words; lists of small numbers are bytes.
fn words_of_lists(py: Python<'_>, array: &ArrowArrays, signed: bool) -> PyResult<(Width, Vec<u64>)> {
    let (mut items, mut len) = (Vec::new(), None);
    for chunk in &array.chunks {
        let (values, lens) = match chunk.data_type() {
            DataType::List(_) => items_of(chunk.as_list::<i32>()),
            DataType::LargeList(_) => items_of(chunk.as_list::<i64>()),
            _ => {
                let list = chunk.as_fixed_size_list();
                (list.values().clone(), vec![list.value_length() as usize; list.len()])
            }
        };
        if lens.iter().any(|&found| *len.get_or_insert(found) != found) {
            return Err(input_error(py, "fingerprints: lists of different lengths"));
        }
        items.push(values);
    }
    let item_type = match &array.data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            item.data_type()
        }
        other => other,
    };
    let (is_bytes, len) = (*item_type == DataType::UInt8, len.unwrap_or(1));
    let items = ArrowArrays { data_type: item_type.clone(), chunks: items };
    refuse_nulls(py, &items, "fingerprints")?;
    let width =
        u32::try_from(len * if is_bytes { 8 } else { 64 }).ok().and_then(|bits| Width::try_from(bits).ok());
    let Some(width) = width else {
        let why = format!(
            "fingerprints: lists of {len}, where 1, 2, 4 or 5 words are wanted, or 8, 16, 32 or 40 bytes"
        );
        return Err(input_error(py, &why));
    };
    let numbers = numbers(py, &items, "fingerprints", signed)?;
    if !is_bytes {
        return Ok((width, numbers));
    }
    let word = |bytes: &[u64]| bytes.iter().fold(0, |word, byte| word << 8 | byte);
    Ok((width, numbers.chunks_exact(len).flat_map(|row| row.chunks_exact(8).rev().map(word)).collect()))
}

/// The items of lists one after the other, and the lengths of the lists.
fn items_of<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> (ArrayRef, Vec<usize>) {
    let offsets: Vec<usize> = lists.value_offsets().iter().map(|offset| offset.as_usize()).collect();
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    (lists.values().slice(first, last - first), offsets.windows(2).map(|ends| ends[1] - ends[0]).collect())
}

/// Fingerprints of one width, as bytes with the most significant one first.
fn words_of_bytes(py: Python<'_>, array: &ArrowArrays) -> PyResult<(Width, Vec<u64>)> {
    let mut words = Vec::new();
    let mut len = None;
    for chunk in &array.chunks {
        let values: Vec<&[u8]> = match chunk.data_type() {
            DataType::FixedSizeBinary(_) => chunk.as_fixed_size_binary().iter().flatten().collect(),
            DataType::LargeBinary => chunk.as_binary::<i64>().iter().flatten().collect(),
            DataType::BinaryView => chunk.as_binary_view().iter().flatten().collect(),
            _ => chunk.as_binary::<i32>().iter().flatten().collect(),
        };
        for bytes in values {
            if *len.get_or_insert(bytes.len()) != bytes.len() || !matches!(bytes.len(), 8 | 16 | 32 | 40) {
                return Err(input_error(
                    py,
                    &format!("fingerprints: {} bytes, where all have 8, or 16, or 32, or 40", bytes.len()),
                ));
            }
            words.extend(bytes.as_chunks().0.iter().rev().map(|&word| u64::from_be_bytes(word)));
        }
    }
    let len = match &array.data_type {
        DataType::FixedSizeBinary(len) => usize::try_from(*len).ok(),
        _ => len,
    };
    let width = match len {
        Some(40) => Width::W320,
        Some(32) => Width::W256,
        Some(16) => Width::W128,
        _ => Width::W64,
    };
    Ok((width, words))
}

/// One column of a result.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Unsigned(PyReadonlyArray1<'py, u64>),
    Signed(PyReadonlyArray1<'py, i64>),
    Short(PyReadonlyArray1<'py, u32>),
    Numbers(PyReadonlyArray1<'py, f64>),
    Flags(PyReadonlyArray1<'py, bool>),
    Texts(Vec<Option<String>>),
}

/// A stream of Arrow data of columns: names, values, and the number of words in a row. Rows of
/// several words become bytes.
#[pyfunction]
pub(crate) fn arrow_table<'py>(
    py: Python<'py>,
    columns: Vec<(String, Given<'py>, usize)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (name, column, words) in columns {
        let is_nullable = matches!(column, Given::Texts(_) | Given::Numbers(_));
        let array: ArrayRef = match column {
            Given::Unsigned(values) => unsigned(values.as_slice()?.to_vec(), words),
            Given::Signed(values) => Arc::new(Int64Array::from(values.as_slice()?.to_vec())),
            Given::Short(values) => Arc::new(UInt32Array::from(values.as_slice()?.to_vec())),
            Given::Numbers(values) => Arc::new(similarities(values.as_slice()?)),
            Given::Flags(values) => Arc::new(BooleanArray::from(values.as_slice()?.to_vec())),
            Given::Texts(texts) => match has_large_offsets(&texts) {
                true => Arc::new(LargeStringArray::from_iter(texts)),
                false => Arc::new(StringArray::from_iter(texts)),
            },
        };
        fields.push(Field::new(name, array.data_type().clone(), is_nullable));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays)
        .map_err(|error| PyTypeError::new_err(error.to_string()))?;
    stream_capsule(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

/// Whether the offsets of texts need 64 bits.
fn has_large_offsets(texts: &[Option<String>]) -> bool {
    let bytes: usize = texts.iter().flatten().map(String::len).sum();
    i32::try_from(bytes).is_err()
}

/// Similarities, with nulls in place of NaN: a NaN is larger than all numbers to the libraries that read tables.
fn similarities(values: &[f64]) -> Float64Array {
    values.iter().map(|&value| (!value.is_nan()).then_some(value)).collect()
}

/// The names and types of columns in Arrow.
pub(crate) fn schema_of(columns: &Columns) -> Schema {
    let field = |(name, column): &(&'static str, Column)| {
        let kind = match column {
            Column::Indices(_) => DataType::Int64,
            Column::Ids(_) => DataType::UInt64,
            Column::Distances(_) => DataType::UInt32,
            Column::Keys(_) => DataType::Utf8,
            Column::Similarities(_) => DataType::Float64,
            Column::Fingerprints(words) => kind_of(words.num_words()),
        };
        Field::new(*name, kind, matches!(column, Column::Keys(_) | Column::Similarities(_)))
    };
    Schema::new(columns.named().iter().map(field).collect::<Vec<_>>())
}

/// Columns as Arrow arrays, without a copy of numbers.
pub(crate) fn record_batch(columns: Columns) -> Result<RecordBatch, ArrowError> {
    let schema = schema_of(&columns);
    let arrays = columns.into_named().into_iter().map(|(_, column)| -> Result<ArrayRef, ArrowError> {
        Ok(match column {
            Column::Indices(values) => Arc::new(Int64Array::from(values)),
            Column::Ids(values) => Arc::new(UInt64Array::from(values)),
            Column::Distances(values) => Arc::new(UInt32Array::from(values)),
            Column::Keys(keys) if has_large_offsets(&keys) => {
                return Err(ArrowError::ComputeError("keys of more than 2 GiB in one batch".into()));
            }
            Column::Keys(keys) => Arc::new(StringArray::from_iter(keys)),
            Column::Similarities(values) => Arc::new(similarities(&values)),
            Column::Fingerprints(words) => {
                let num_words = words.num_words();
                unsigned(words.into_words(), num_words)
            }
        })
    });
    RecordBatch::try_new(Arc::new(schema), arrays.collect::<Result<_, _>>()?)
}

/// The type of numbers, or of fingerprints of several words.
fn kind_of(words: usize) -> DataType {
    if words == 1 { DataType::UInt64 } else { DataType::FixedSizeBinary(size_of(words)) }
}

fn size_of(words: usize) -> i32 {
    i32::try_from(words * 8).unwrap_or(i32::MAX)
}

/// Numbers, or fingerprints of several words as bytes with the most significant one first.
fn unsigned(values: Vec<u64>, words: usize) -> ArrayRef {
    if words == 1 {
        return Arc::new(UInt64Array::from(values));
    }
    let bytes: Vec<u8> = values
        .chunks_exact(words)
        .flat_map(|row| row.iter().rev())
        .flat_map(|word| word.to_be_bytes())
        .collect();
    Arc::new(FixedSizeBinaryArray::new(size_of(words), bytes.into(), None))
}
