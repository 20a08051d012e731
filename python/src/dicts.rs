//! What the library tells of a database, as dicts.

use nearprint::{RunExplanation, Stats};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A dict of some fields of a struct.
macro_rules! dict_of {
    ($py:expr, $of:expr; $($field:ident),+) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(stringify!($field), &$of.$field)?;)+
        dict
    }};
}

/// Counts and sizes.
pub(crate) fn stats<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = dict_of!(
        py, stats; width, k, layout, database_id, generation, rows, tombstones, fingerprints, largest_id, bytes
    );
    let sections = PyDict::new(py);
    stats.sections.iter().try_for_each(|(name, bytes)| sections.set_item(name, bytes))?;
    dict.set_item("sections", sections)?;
    let runs = PyList::empty(py);
    for run in &stats.runs {
        runs.append(dict_of!(
            py, run; run, layout, rows, tombstones, fingerprints, smallest_id, largest_id, bytes
        ))?;
    }
    dict.set_item("runs", runs)?;
    Ok(dict)
}

/// How one run is asked.
pub(crate) fn run<'py>(py: Python<'py>, run: &RunExplanation) -> PyResult<Bound<'py, PyDict>> {
    let dict = dict_of!(
        py, run; run, layout, fingerprints, scan, probes, candidates, nanoseconds, scan_nanoseconds, table_bytes
    );
    let tables = PyList::empty(py);
    for table in &run.tables {
        tables.append(dict_of!(
            py, table; prefix_bits, directory_bits, radius, probes, mean_bucket, typical_bucket
        ))?;
    }
    dict.set_item("tables", tables)?;
    Ok(dict)
}
