//! Arrow data of Python objects, by the Arrow PyCapsule interface.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

#![expect(unsafe_code, reason = "the interface consists of pointers to C structures")]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, make_array};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::input_error;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// An array, in one part or several.
pub(crate) struct ArrowArrays {
    pub(crate) data_type: DataType,
    pub(crate) chunks: Vec<ArrayRef>,
}

impl<'py> FromPyObject<'_, 'py> for ArrowArrays {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Some(array) = array_of(&object)? {
            return Ok(Self { data_type: array.data_type().clone(), chunks: vec![array] });
        }
        let stream = stream_of(&object)?;
        let data_type = stream.data_type.clone();
        let chunks =
            stream.collect::<Result<_, _>>().map_err(|error| input_error(object.py(), &error.to_string()))?;
        Ok(Self { data_type, chunks })
    }
}

/// The batches of a table or of a stream.
pub(crate) fn record_batches(object: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let (data_type, arrays): (_, Box<dyn Iterator<Item = _> + Send>) =
        if object.hasattr("__arrow_c_stream__")? {
            let stream = stream_of(object)?;
            (stream.data_type.clone(), Box::new(stream))
        } else if let Some(array) = array_of(object)? {
            (array.data_type().clone(), Box::new(std::iter::once(Ok(array))))
        } else {
            return Err(not_arrow(object));
        };
    match data_type {
        DataType::Struct(fields) => Ok(Box::new(Batches { schema: Arc::new(Schema::new(fields)), arrays })),
        other => Err(PyTypeError::new_err(format!("Arrow data of {other}, where a table is wanted"))),
    }
}

/// An array as `__arrow_c_array__` returns it.
pub(crate) fn array_capsules<'py>(
    py: Python<'py>,
    array: &ArrayRef,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let schema = FFI_ArrowSchema::try_from(array.data_type())
        .map_err(|error| PyTypeError::new_err(error.to_string()))?;
    let array = FFI_ArrowArray::new(&array.to_data());
    Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// Batches as `__arrow_c_stream__` returns them.
pub(crate) fn stream_capsule(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// Calls a function with the interpreter's lock, on any thread.
///
/// A program that reads one of our streams may release the lock inside of a call that came from Python through this
/// module. PyO3 counts its own calls on a thread, and would take the lock for held.
pub(crate) fn locked<T>(call: impl FnOnce(Python<'_>) -> T) -> T {
    struct Lock(ffi::PyGILState_STATE);
    impl Drop for Lock {
        fn drop(&mut self) {
            // SAFETY: The lock was acquired on this thread, and is released once.
            unsafe { ffi::PyGILState_Release(self.0) }
        }
    }
    // SAFETY: This may be called on any thread, with the lock or without, as long as the interpreter runs. Streams are
    // objects of it.
    let _lock = Lock(unsafe { ffi::PyGILState_Ensure() });
    Python::attach(call)
}

/// The array that an object has; `None` if it has no `__arrow_c_array__`.
fn array_of(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let Some(method) = object.getattr_opt("__arrow_c_array__")? else { return Ok(None) };
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = method.call0()?.extract()?;
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: By the interface, capsules of these names point to structures of these types, which
    // live as long as the capsules: until the end of this function. A structure that was taken out
    // of its capsule is still there, marked as released.
    let is_released = unsafe { schema.as_ref().release.is_none() || array.as_ref().is_released() };
    if is_released {
        return Err(released("array"));
    }
    // SAFETY: As before, and neither is released.
    let (kind, found) = unsafe { (DataType::try_from(schema.as_ref()), array.as_ref()) };
    kind.and_then(|kind| check_offsets(found, &kind))
        .map_err(|error| input_error(object.py(), &error.to_string()))?;
    // SAFETY: As before, and neither is released. `from_raw` takes the array out of its capsule and
    // leaves a released one behind. Its buffers are as its producer describes them, which the
    // interface relies on.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    Ok(Some(make_array(data.map_err(|error| PyTypeError::new_err(error.to_string()))?)))
}

/// Refuses offsets that are not aligned: a read of the last one would end the process.
fn check_offsets(array: &FFI_ArrowArray, kind: &DataType) -> Result<(), ArrowError> {
    let (buffer, size) = match kind {
        DataType::Utf8 | DataType::Binary | DataType::List(_) | DataType::Map(..) => (1, 4),
        DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_) => (1, 8),
        // The lengths of the other buffers.
        DataType::Utf8View | DataType::BinaryView => (array.num_buffers().saturating_sub(1), 8),
        _ => (usize::MAX, 1),
    };
    if buffer < array.num_buffers() && !array.buffer(buffer).addr().is_multiple_of(size) {
        return Err(ArrowError::CDataInterface(format!("the offsets of an array of {kind} are not aligned")));
    }
    if let (DataType::Dictionary(_, values), Some(dictionary)) = (kind, array.dictionary()) {
        check_offsets(dictionary, values)?;
    }
    let fields = match kind {
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field],
        _ => Vec::new(),
    };
    let children = fields.iter().enumerate().take(array.num_children());
    children.into_iter().try_for_each(|(at, field)| check_offsets(array.child(at), field.data_type()))
}

fn stream_of(object: &Bound<'_, PyAny>) -> PyResult<ArrayStream> {
    let method = object.getattr_opt("__arrow_c_stream__")?.ok_or_else(|| not_arrow(object))?;
    let capsule: Bound<'_, PyCapsule> = method.call0()?.extract()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: By the interface, a capsule of this name points to a stream. `from_raw` takes it out
    // of the capsule and leaves a released one behind.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    if stream.release.is_none() {
        return Err(released("stream"));
    }
    ArrayStream::new(stream).map_err(|error| PyTypeError::new_err(error.to_string()))
}

/// What a capsule has was taken out of it.
fn released(what: &str) -> PyErr {
    PyValueError::new_err(format!("the Arrow {what} was read before, and is released"))
}

fn not_arrow(object: &Bound<'_, PyAny>) -> PyErr {
    let kind = object.get_type();
    PyTypeError::new_err(format!("{kind} has neither __arrow_c_array__ nor __arrow_c_stream__"))
}

/// The arrays of a stream, of any type.
struct ArrayStream {
    stream: FFI_ArrowArrayStream,
    data_type: DataType,
}

impl ArrayStream {
    fn new(mut stream: FFI_ArrowArrayStream) -> Result<Self, ArrowError> {
        let no_schema = || ArrowError::CDataInterface("the stream has no schema".into());
        let get_schema = stream.get_schema.ok_or_else(no_schema)?;
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: The stream is not released, and `schema` is there to be filled.
        match unsafe { get_schema(&raw mut stream, &raw mut schema) } {
            0 if schema.release.is_none() => Err(no_schema()),
            0 => Ok(Self { data_type: DataType::try_from(&schema)?, stream }),
            code => Err(last_error(&mut stream, code)),
        }
    }
}

impl Iterator for ArrayStream {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let get_next = self.stream.get_next?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: The stream is released only when it is dropped, and `array` is there to be filled.
        match unsafe { get_next(&raw mut self.stream, &raw mut array) } {
            0 if array.is_released() => None,
            0 => Some(check_offsets(&array, &self.data_type).and_then(|()| {
                // SAFETY: By the interface, all arrays of a stream have the type of its schema.
                let data = unsafe { from_ffi_and_data_type(array, self.data_type.clone()) };
                data.map(make_array)
            })),
            code => Some(Err(last_error(&mut self.stream, code))),
        }
    }
}

fn last_error(stream: &mut FFI_ArrowArrayStream, code: i32) -> ArrowError {
    let message = stream.get_last_error.and_then(|get| {
        // SAFETY: The stream is not released. The message is null, or a string that ends with a
        // null byte and lives until the next call of the stream; it is copied before.
        unsafe {
            let message = get(&raw mut *stream);
            (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
        }
    });
    ArrowError::CDataInterface(message.unwrap_or_else(|| format!("error {code} of the stream")))
}

/// Batches from arrays of structures.
struct Batches<I> {
    schema: SchemaRef,
    arrays: I,
}

impl<I: Iterator<Item = Result<ArrayRef, ArrowError>>> Iterator for Batches<I> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = |array: ArrayRef| {
            if array.null_count() > 0 {
                return Err(ArrowError::CDataInterface("some of the rows are null as a whole".into()));
            }
            let columns = array.as_struct().columns().to_vec();
            RecordBatch::try_new(self.schema.clone(), columns)
        };
        self.arrays.next().map(|array| array.and_then(batch))
    }
}

impl<I: Iterator<Item = Result<ArrayRef, ArrowError>>> RecordBatchReader for Batches<I> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
