//! The command line, which comes with the package.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program `nearprint` with some arguments, its name first, and returns its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| nearprint_cli::run(arguments))
}
