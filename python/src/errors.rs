//! The library's errors as the package's exceptions, which are classes written in Python.

use nearprint::Error;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Where the classes are.
const MODULE: &str = "nearprint._errors";

static ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static CORRUPTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static LOCKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static INPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// An exception of one of the classes.
fn raise<'py>(
    py: Python<'py>,
    class: &PyOnceLock<Py<PyType>>,
    name: &str,
    arguments: impl PyCallArgs<'py>,
) -> PyErr {
    let made = class.import(py, MODULE, name).and_then(|class| class.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// What is wrong with what the caller has given.
pub(crate) fn input_error(py: Python<'_>, why: &str) -> PyErr {
    raise(py, &INPUT, "InputError", (why,))
}

/// What has gone wrong otherwise.
pub(crate) fn general_error(py: Python<'_>, why: &str) -> PyErr {
    raise(py, &ERROR, "Error", (why,))
}

/// The exception for an error of the library.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let why = error.to_string();
    match error {
        Error::Corrupt(damage) => {
            let place = (damage.file.display().to_string(), damage.section, damage.offset);
            raise(py, &CORRUPTION, "CorruptionError", (why, place.0, place.1, place.2))
        }
        Error::Locked { .. } => raise(py, &LOCKED, "LockedError", (why,)),
        Error::Option(_) | Error::Width { .. } | Error::Mismatch { .. } | Error::Overlap { .. } => {
            input_error(py, &why)
        }
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => general_error(py, &why),
    }
}

/// Turns results of the library into those of Python.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for nearprint::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}

impl<T> OrRaise<T> for nearprint_text::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| match error {
            nearprint_text::Error::Engine(error) => exception(py, &error),
            other => input_error(py, &other.to_string()),
        })
    }
}
