//! Columns out of Arrow arrays, and results into Arrow tables.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;
use pyo3_arrow::{PyChunkedArray, PyTable};

use crate::columns;
use crate::errors::input_error;

/// The fingerprints of an Arrow array: uint64, or bytes of a fixed size, the most significant first.
/// Gives the array and the width.
#[pyfunction]
pub(crate) fn fingerprints_of_arrow<'py>(
    py: Python<'py>,
    array: AnyArray,
) -> PyResult<(Bound<'py, PyAny>, u32)> {
    let array = array.into_chunked_array()?;
    refuse_nulls(py, &array, "fingerprints")?;
    let mut words = Vec::new();
    let width = match array.data_type() {
        DataType::FixedSizeBinary(bytes @ (8 | 16 | 32)) => {
            array.chunks().iter().for_each(|chunk| append_bytes(chunk.as_fixed_size_binary(), &mut words));
            bytes.unsigned_abs() * 8
        }
        DataType::UInt64 | DataType::Int64 => {
            words = numbers(py, &array, "fingerprints")?;
            64
        }
        other => {
            return Err(PyTypeError::new_err(format!(
                "an Arrow array of {other}: fingerprints are uint64, or fixed_size_binary of 8, 16 or 32 bytes"
            )));
        }
    };
    Ok((columns::fingerprints(py, words, width)?, width))
}

/// Ids out of an Arrow array.
#[pyfunction]
pub(crate) fn ids_of_arrow<'py>(
    py: Python<'py>,
    array: PyChunkedArray,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    refuse_nulls(py, &array, "ids")?;
    Ok(numbers(py, &array, "ids")?.into_pyarray(py))
}

fn refuse_nulls(py: Python<'_>, array: &PyChunkedArray, what: &str) -> PyResult<()> {
    let nulls: usize = array.chunks().iter().map(|chunk| chunk.null_count()).sum();
    if nulls > 0 { Err(input_error(py, &format!("{what}: {nulls} are null"))) } else { Ok(()) }
}

fn numbers(py: Python<'_>, array: &PyChunkedArray, what: &str) -> PyResult<Vec<u64>> {
    let mut numbers = Vec::new();
    for chunk in array.chunks() {
        match chunk.data_type() {
            DataType::UInt64 => numbers.extend_from_slice(chunk.as_primitive::<UInt64Type>().values()),
            DataType::Int64 => {
                let signed = chunk.as_primitive::<Int64Type>().values().iter();
                let unsigned: Result<Vec<u64>, _> = signed.map(|&number| u64::try_from(number)).collect();
                numbers.extend(unsigned.map_err(|_| input_error(py, &format!("{what}: some are negative")))?);
            }
            other => {
                return Err(PyTypeError::new_err(format!(
                    "{what}: an Arrow array of {other}, where uint64 is wanted"
                )));
            }
        }
    }
    Ok(numbers)
}

fn append_bytes(array: &FixedSizeBinaryArray, words: &mut Vec<u64>) {
    for bytes in array.iter().flatten() {
        words.extend(bytes.as_chunks().0.iter().rev().map(|&word| u64::from_be_bytes(word)));
    }
}

/// A column on its way to Arrow: a name, and one of the kinds of arrays that results have.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Unsigned(PyReadonlyArray1<'py, u64>),
    Signed(PyReadonlyArray1<'py, i64>),
    Short(PyReadonlyArray1<'py, u32>),
    Texts(Vec<Option<String>>),
}

/// An Arrow table of columns; those that say how many words a row has become bytes.
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
