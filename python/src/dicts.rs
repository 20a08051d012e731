//! Reports on a database as dicts.

use nearprint::{RunExplanation, Stats};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Puts fields of a struct into a dict, under their names.
macro_rules! set_fields {
    ($dict:expr, $of:expr; $($field:ident),+) => {
        $($dict.set_item(stringify!($field), &$of.$field)?;)+
    };
}

/// Counts and sizes.
pub(crate) fn stats<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("width", stats.width.bits())?;
    dict.set_item("layout", stats.layout.to_string())?;
    set_fields!(
        dict, stats; k, database_id, format_version, generation, rows, live_rows, tombstones, fingerprints, largest_id, log_bytes,
        log_frames, merge_debt_rows, bytes
    );
    dict.set_item("keys", stats.keys.to_string())?;
    let sections = PyDict::new(py);
    stats.sections.iter().try_for_each(|(name, bytes)| sections.set_item(name, bytes))?;
    dict.set_item("sections", sections)?;
    let runs = PyList::empty(py);
    for run in &stats.runs {
        let dict = PyDict::new(py);
        dict.set_item("layout", run.layout.to_string())?;
        set_fields!(dict, run; run, rows, tombstones, fingerprints, smallest_id, largest_id, bytes);
        runs.append(dict)?;
    }
    dict.set_item("runs", runs)?;
    Ok(dict)
}

/// How one run answers a query.
pub(crate) fn run<'py>(py: Python<'py>, run: &RunExplanation) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("layout", run.layout.to_string())?;
    set_fields!(
        dict, run; run, fingerprints, scan, probes, candidates, nanoseconds, scan_nanoseconds, table_bytes
    );
    let tables = PyList::empty(py);
    for table in &run.tables {
        let dict = PyDict::new(py);
        // The key is part of the package's interface.
        dict.set_item("lead_bits", table.prefix_bits)?;
        set_fields!(dict, table; directory_bits, radius, probes, mean_bucket, typical_bucket);
        tables.append(dict)?;
    }
    dict.set_item("tables", tables)?;
    Ok(dict)
}
