//! Tables in and out of Arrow, batch by batch.

use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, make_array};
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};
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

    /// Its numbers or texts, with `None` for nulls.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let array = ArrowArrays { data_type: self.0.data_type().clone(), chunks: vec![self.0.clone()] };
        for chunk in without_dictionary(array)?.chunks {
            match has_whole_decimals(chunk.data_type()) {
                true => append_decimals(&list, &chunk)?,
                false => append_plain(
                    &list,
                    &chunk,
                    "numbers or texts are wanted, such as a cast to strings makes",
                )?,
            }
        }
        Ok(list)
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

/// The values of an Arrow array that have an order, as a list with `None` for nulls: numbers, texts, and dates and
/// times as tuples of one number, the nanoseconds since 1970 or midnight.
#[pyfunction]
pub(crate) fn ordered_of_arrow(py: Python<'_>, array: ArrowArrays) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for chunk in without_dictionary(array)?.chunks {
        match nanoseconds_of(chunk.data_type()) {
            Some(nanoseconds) => append_times(&list, chunk, nanoseconds)?,
            None if chunk.data_type().is_decimal() => append_decimals(&list, &chunk)?,
            None => append_plain(&list, &chunk, "numbers, dates, times or texts are wanted")?,
        }
    }
    Ok(list)
}

/// The nanoseconds in a unit of dates or times; `None` for other types.
fn nanoseconds_of(kind: &DataType) -> Option<i128> {
    Some(match kind {
        DataType::Date32 => 86_400_000_000_000,
        DataType::Date64 => 1_000_000,
        DataType::Time32(unit)
        | DataType::Time64(unit)
        | DataType::Timestamp(unit, _)
        | DataType::Duration(unit) => match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1000,
            TimeUnit::Nanosecond => 1,
        },
        _ => return None,
    })
}

/// Appends dates or times, whose units have so many nanoseconds.
fn append_times(list: &Bound<'_, PyList>, chunk: ArrayRef, nanoseconds: i128) -> PyResult<()> {
    let append = |units: Option<i128>| list.append(units.map(|units| (units * nanoseconds,)));
    let has_32_bits = matches!(chunk.data_type(), DataType::Date32 | DataType::Time32(_));
    let kind = if has_32_bits { DataType::Int32 } else { DataType::Int64 };
    let data = chunk.to_data().into_builder().data_type(kind).build();
    let units = make_array(data.map_err(|error| PyTypeError::new_err(error.to_string()))?);
    if has_32_bits {
        units.as_primitive::<Int32Type>().iter().try_for_each(|units| append(units.map(i128::from)))
    } else {
        units.as_primitive::<Int64Type>().iter().try_for_each(|units| append(units.map(i128::from)))
    }
}

/// Whether an array has decimals without places, which are integers.
fn has_whole_decimals(kind: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    matches!(kind, Decimal32(_, 0) | Decimal64(_, 0) | Decimal128(_, 0) | Decimal256(_, 0))
}

/// Appends decimals by their value, as parts of one table may have other scales: integers, where they have no places.
fn append_decimals(list: &Bound<'_, PyList>, chunk: &ArrayRef) -> PyResult<()> {
    let (module, class) =
        if has_whole_decimals(chunk.data_type()) { ("builtins", "int") } else { ("decimal", "Decimal") };
    let class = list.py().import(module)?.getattr(class)?;
    macro_rules! append {
        ($kind:ty) => {{
            let values = chunk.as_primitive::<$kind>();
            (0..values.len()).try_for_each(|at| match values.is_valid(at) {
                true => list.append(class.call1((values.value_as_string(at),))?),
                false => list.append(list.py().None()),
            })
        }};
    }
    match chunk.data_type() {
        DataType::Decimal32(..) => append!(Decimal32Type),
        DataType::Decimal64(..) => append!(Decimal64Type),
        DataType::Decimal128(..) => append!(Decimal128Type),
        _ => append!(Decimal256Type),
    }
}

/// Appends numbers, flags or texts.
fn append_plain(list: &Bound<'_, PyList>, chunk: &ArrayRef, wanted: &str) -> PyResult<()> {
    macro_rules! append {
        ($($kind:pat => $of:ty),*) => {
            match chunk.data_type() {
                $($kind => chunk.as_primitive::<$of>().iter().try_for_each(|number| list.append(number)),)*
                DataType::Boolean => chunk.as_boolean().iter().try_for_each(|flag| list.append(flag)),
                kind => {
                    let why = format!("an Arrow array of {kind}: {wanted}");
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
        DataType::Float64 => Float64Type
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
