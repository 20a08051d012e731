//! The library's errors as the package's exceptions. Their classes are written in Python.

use std::io;

use nearprint::Error;
use nearprint_text::{DatabaseProblem, Error as TextError, InputSetProblem, OutputProblem, ResumeProblem};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The module of the classes.
const MODULE: &str = "nearprint._errors";

static ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static CORRUPTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static LOCKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static FORK: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static INPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static EXISTS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NOT_FOUND: PyOnceLock<Py<PyType>> = PyOnceLock::new();

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

/// An `InputError`: an argument is invalid.
pub(crate) fn input_error(py: Python<'_>, why: &str) -> PyErr {
    raise(py, &INPUT, "InputError", (why,))
}

/// A `ForkError`: an object of the parent process was used in the child of a fork.
pub(crate) fn fork_error(py: Python<'_>, why: &str) -> PyErr {
    raise(py, &FORK, "ForkError", (why,))
}

/// An `Error`: anything else has failed.
pub(crate) fn general_error(py: Python<'_>, why: &str) -> PyErr {
    raise(py, &ERROR, "Error", (why,))
}

/// The exception for an error of the library.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let why = match error {
        Error::NotRunsOnly { .. } => format!("{error}; build(..., runs_only=True) makes those"),
        _ => error.to_string(),
    };
    match error {
        Error::Corrupt(damage) => {
            let place = (damage.file.display().to_string(), damage.section, damage.offset);
            raise(py, &CORRUPTION, "CorruptionError", (why, place.0, place.1, place.2))
        }
        Error::Locked { .. } => raise(py, &LOCKED, "LockedError", (why,)),
        Error::Forked { .. } => raise(py, &FORK, "ForkError", (why,)),
        Error::AlreadyExists { .. } => raise(py, &EXISTS, "ExistsError", (why,)),
        Error::NotADatabase { .. } => raise(py, &NOT_FOUND, "NotFoundError", (why,)),
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            raise(py, &NOT_FOUND, "NotFoundError", (why,))
        }
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        error if error.kind().is_argument() => input_error(py, &why),
        _ => general_error(py, &why),
    }
}

/// The exception for an error of texts, documents or deduplication, with what an argument can do.
fn text_exception(py: Python<'_>, error: &TextError) -> PyErr {
    let why = match hint_of(error) {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    let why = with_arguments(why);
    match error {
        // What was read or written has changed: the arguments are not at fault.
        TextError::InputSet(InputSetProblem::ChangedBetweenPasses)
        | TextError::Output(OutputProblem::Truncated { .. }) => general_error(py, &why),
        _ => input_error(py, &why),
    }
}

/// A message with arguments in the place of options of the command.
fn with_arguments(why: String) -> String {
    let arguments =
        [("--nested json", "nested=\"json\""), ("--fields", "fields="), ("--delimiter", "delimiter=")];
    arguments.iter().fold(why, |why, (option, argument)| why.replace(option, argument))
}

fn hint_of(error: &TextError) -> Option<&'static str> {
    match error {
        TextError::Record { why, .. } if why.ends_with(" is null, and not a string") => {
            Some("missing='keep' or missing='skip' accepts it")
        }
        TextError::Output(OutputProblem::ChangedAfterEnd { .. } | OutputProblem::AlreadyRun { .. }) => {
            Some("restart=True forgets what the job kept, and runs it again")
        }
        TextError::Database(DatabaseProblem::NoKeys { .. }) => {
            Some("keys=True makes a database that has them")
        }
        TextError::Database(DatabaseProblem::NoTexts { .. }) => {
            Some("nearprint.create(path, recipe=\"minhash\", texts=True) makes a database that keeps texts")
        }
        TextError::Database(DatabaseProblem::NoRecipe { .. }) => {
            Some("nearprint.create(path, recipe=\"minhash\", features=True) makes a database for documents")
        }
        TextError::Resume(ResumeProblem::OtherRun { .. }) => {
            Some("call it again with its arguments to resume, or restart=True to forget what it kept")
        }
        TextError::Resume(
            ResumeProblem::OtherRecords { .. } | ResumeProblem::OtherDecisions | ResumeProblem::Output(_),
        ) => Some("restart=True forgets what the interrupted run has kept, and starts over"),
        TextError::Resume(ResumeProblem::Completed { .. }) => {
            Some("name another output, or call it again to replace this one")
        }
        _ => None,
    }
}

/// Turns the library's results into Python's.
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
            other => text_exception(py, &other),
        })
    }
}
