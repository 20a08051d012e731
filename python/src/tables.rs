//! Tables in and out of Arrow, batch by batch.

use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, make_array};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::arrow::{record_batch, without_dictionary};
use crate::capsules::{ArrowArrays, array_capsules, locked, record_batches, stream_capsule};
use crate::errors::general_error;
use crate::stream::Stream;
use crate::texts::texts_of;

/// The batches of a table or of a stream of Arrow data, each as a dict of columns.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Batches {
    reader: Mutex<Box<dyn RecordBatchReader + Send>>,
    schema: SchemaRef,
}

#[pymethods]
impl Batches {
    /// Reads whatever has `__arrow_c_stream__` or `__arrow_c_array__`.
    #[staticmethod]
    fn of(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = record_batches(table)?;
        Ok(Self { schema: reader.schema(), reader: Mutex::new(reader) })
    }

    fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let next = py.detach(|| self.reader.lock().unwrap_or_else(PoisonError::into_inner).next());
        let Some(batch) = next else { return Ok(None) };
        let batch = batch.map_err(|error| general_error(py, &format!("the table: {error}")))?;
        let columns = PyDict::new(py);
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            columns.set_item(field.name(), ArrowColumn(column.clone()))?;
        }
        Ok(Some(columns))
    }
}

/// A column of a batch, as Arrow data.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct ArrowColumn(pub(crate) ArrayRef);

#[pymethods]
impl ArrowColumn {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Whether its values are texts, which may be fingerprints in hexadecimal.
    fn has_texts(&self) -> bool {
        let kind = match self.0.data_type() {
            DataType::Dictionary(_, value) => value,
            other => other,
        };
        matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    }

    /// Its values that have an order, with `None` for nulls.
    fn tolist(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        ordered_of_arrow(
            py,
            ArrowArrays { data_type: self.0.data_type().clone(), chunks: vec![self.0.clone()] },
        )
        .map(Bound::unbind)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A producer may return its own types, and these are the only ones there are.
        let _ = requested_schema;
        array_capsules(py, &self.0)
    }
}

/// The texts of an Arrow array as a list, `None` for nulls.
#[pyfunction]
pub(crate) fn strings_of_arrow(py: Python<'_>, array: ArrowArrays) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for chunk in &array.chunks {
        texts_of(chunk)?.into_iter().try_for_each(|text| list.append(text))?;
    }
    Ok(list)
}

/// The values of an Arrow array that have an order, as a list with `None` for nulls: numbers, texts, and dates
/// and times as numbers.
#[pyfunction]
pub(crate) fn ordered_of_arrow(py: Python<'_>, array: ArrowArrays) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    without_dictionary(array)?
        .chunks
        .into_iter()
        .try_for_each(|chunk| append_ordered(&list, &as_numbers(chunk)?))?;
    Ok(list)
}

/// Dates and times as the integers that they are stored as; other arrays as they are.
fn as_numbers(chunk: ArrayRef) -> PyResult<ArrayRef> {
    let kind = match chunk.data_type() {
        DataType::Date32 | DataType::Time32(_) => DataType::Int32,
        DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) => {
            DataType::Int64
        }
        _ => return Ok(chunk),
    };
    let data = chunk.to_data().into_builder().data_type(kind).build();
    Ok(make_array(data.map_err(|error| PyTypeError::new_err(error.to_string()))?))
}

fn append_ordered(list: &Bound<'_, PyList>, chunk: &ArrayRef) -> PyResult<()> {
    macro_rules! append {
        ($($kind:pat => $of:ty),*) => {
            match chunk.data_type() {
                $($kind => chunk.as_primitive::<$of>().iter().try_for_each(|number| list.append(number)),)*
                DataType::Boolean => chunk.as_boolean().iter().try_for_each(|flag| list.append(flag)),
                kind => {
                    let why = format!("an Arrow array of {kind}: numbers, dates, times or texts are wanted");
                    let texts = texts_of(chunk).map_err(|_| PyTypeError::new_err(why))?;
                    texts.into_iter().try_for_each(|text| list.append(text))
                }
            }
        };
    }
    append!(
        DataType::Int8 => Int8Type, DataType::Int16 => Int16Type, DataType::Int32 => Int32Type,
        DataType::Int64 => Int64Type, DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type,
        DataType::UInt32 => UInt32Type, DataType::UInt64 => UInt64Type, DataType::Float32 => Float32Type,
        DataType::Float64 => Float64Type, DataType::Decimal128(..) => Decimal128Type
    )
}

/// A stream as a stream of Arrow data. Several readers of a stream share its blocks: some programs make
/// one for the schema, and another one for the data.
#[pyfunction]
pub(crate) fn arrow_stream(py: Python<'_>, stream: Py<Stream>) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = stream.get().schema();
    stream_capsule(py, Box::new(StreamReader { schema, stream: Some(stream) }))
}

struct StreamReader {
    schema: SchemaRef,
    /// There until it is dropped.
    stream: Option<Py<Stream>>,
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let stream = self.stream.take();
        locked(|_| drop(stream));
    }
}

impl Iterator for StreamReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let stream = self.stream.as_ref()?;
        match locked(|py| stream.get().next_columns(py)) {
            Ok(columns) => columns.map(record_batch),
            Err(raised) => Some(Err(ArrowError::ExternalError(Box::new(raised)))),
        }
    }
}

impl RecordBatchReader for StreamReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
