//! Arrow arrays as columns, and results as Arrow tables.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use nearprint::Width;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;
use pyo3_arrow::{PyChunkedArray, PyTable};

use crate::errors::input_error;
use crate::words::Words;

/// The fingerprints of an Arrow array of integers or of bytes, the most significant byte first, and
/// their width.
#[pyfunction]
pub(crate) fn fingerprints_of_arrow<'py>(
    py: Python<'py>,
    array: AnyArray,
) -> PyResult<(Bound<'py, PyAny>, u32)> {
    let array = array.into_chunked_array()?;
    refuse_nulls(py, &array, "fingerprints")?;
    let (width, words) = match array.data_type() {
        DataType::FixedSizeBinary(_) | DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            words_of_bytes(py, &array)?
        }
        kind if kind.is_integer() => (Width::W64, numbers(py, &array, "fingerprints")?),
        other => {
            return Err(PyTypeError::new_err(format!(
                "an Arrow array of {other}: fingerprints are integers, or binary of 8, 16 or 32 bytes each"
            )));
        }
    };
    Ok((Words::from_words(width, words).into_array(py)?, width.bits()))
}

/// The ids of an Arrow array.
#[pyfunction]
pub(crate) fn ids_of_arrow<'py>(py: Python<'py>, array: AnyArray) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let array = array.into_chunked_array()?;
    refuse_nulls(py, &array, "ids")?;
    Ok(numbers(py, &array, "ids")?.into_pyarray(py))
}

fn refuse_nulls(py: Python<'_>, array: &PyChunkedArray, what: &str) -> PyResult<()> {
    let nulls: usize = array.chunks().iter().map(|chunk| chunk.null_count()).sum();
    if nulls > 0 { Err(input_error(py, &format!("{what}: nulls among them: {nulls}"))) } else { Ok(()) }
}

fn numbers(py: Python<'_>, array: &PyChunkedArray, what: &str) -> PyResult<Vec<u64>> {
    let mut all = Vec::new();
    for chunk in array.chunks() {
        macro_rules! append {
            ($kind:ty) => {{
                let values = chunk.as_primitive::<$kind>().values().iter();
                let unsigned: Result<Vec<u64>, _> = values.map(|&number| u64::try_from(number)).collect();
                all.extend(unsigned.map_err(|_| input_error(py, &format!("{what}: some are negative")))?);
            }};
        }
        match chunk.data_type() {
            DataType::UInt64 => all.extend_from_slice(chunk.as_primitive::<UInt64Type>().values()),
            DataType::UInt32 => append!(UInt32Type),
            DataType::UInt16 => append!(UInt16Type),
            DataType::UInt8 => append!(UInt8Type),
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

/// Fingerprints of one width, as bytes with the most significant one first.
fn words_of_bytes(py: Python<'_>, array: &PyChunkedArray) -> PyResult<(Width, Vec<u64>)> {
    let mut words = Vec::new();
    let mut len = None;
    for chunk in array.chunks() {
        let values: Vec<&[u8]> = match chunk.data_type() {
            DataType::FixedSizeBinary(_) => chunk.as_fixed_size_binary().iter().flatten().collect(),
            DataType::LargeBinary => chunk.as_binary::<i64>().iter().flatten().collect(),
            DataType::BinaryView => chunk.as_binary_view().iter().flatten().collect(),
            _ => chunk.as_binary::<i32>().iter().flatten().collect(),
        };
        for bytes in values {
            if *len.get_or_insert(bytes.len()) != bytes.len() || !matches!(bytes.len(), 8 | 16 | 32) {
                return Err(input_error(
                    py,
                    &format!("fingerprints: {} bytes, where all have 8, or 16, or 32", bytes.len()),
                ));
            }
            words.extend(bytes.as_chunks().0.iter().rev().map(|&word| u64::from_be_bytes(word)));
        }
    }
    let len = match array.data_type() {
        DataType::FixedSizeBinary(len) => usize::try_from(*len).ok(),
        _ => len,
    };
    let width = match len {
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
    Texts(Vec<Option<String>>),
}

/// An Arrow table of columns: names, values, and the number of words in a row. Rows of several
/// words become bytes.
#[pyfunction]
pub(crate) fn arrow_table(columns: Vec<(String, Given<'_>, usize)>) -> PyResult<PyTable> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (name, column, words) in columns {
        let array = arrow_column(&column, words)?;
        fields.push(Field::new(name, array.data_type().clone(), matches!(column, Given::Texts(_))));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let failed = |error: arrow_schema::ArrowError| PyTypeError::new_err(error.to_string());
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(failed)?;
    PyTable::try_new(vec![batch], schema)
}

fn arrow_column(column: &Given<'_>, words: usize) -> PyResult<ArrayRef> {
    Ok(match column {
        Given::Unsigned(values) if words > 1 => {
            let size = i32::try_from(words * 8).unwrap_or(i32::MAX);
            let bytes = values.as_slice()?.chunks_exact(words).flat_map(|row| row.iter().rev());
            let bytes: Vec<u8> = bytes.flat_map(|word| word.to_be_bytes()).collect();
            Arc::new(FixedSizeBinaryArray::new(size, bytes.into(), None))
        }
        Given::Unsigned(values) => Arc::new(UInt64Array::from(values.as_slice()?.to_vec())),
        Given::Signed(values) => Arc::new(Int64Array::from(values.as_slice()?.to_vec())),
        Given::Short(values) => Arc::new(UInt32Array::from(values.as_slice()?.to_vec())),
        Given::Texts(texts) => Arc::new(StringArray::from_iter(texts)),
    })
}
