//! Functions on the folder of a database that is not open.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::arguments::Settings;
use crate::errors::OrRaise;
use crate::watch::{Ticker, watch};

/// The width in bits of the database at a path.
#[pyfunction]
pub(crate) fn width_of(py: Python<'_>, path: PathBuf) -> PyResult<u32> {
    Ok(nearprint::width_of(path).or_raise(py)?.bits())
}

/// Whether there is a new database, and whether it is complete; the numbers of rows, lost rows,
/// fingerprints without ids, lost fingerprints and recovered fingerprints; kind, file and text of each finding.
type Repaired = (bool, bool, [u64; 5], Vec<(String, String, String)>);

/// Saves what can be read of a damaged database into a new one.
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    path: PathBuf,
    dest: PathBuf,
    settings: Settings,
    listener: Option<Py<PyAny>>,
) -> PyResult<Repaired> {
    let ticker = Arc::new(Ticker::default());
    let report = watch(py, &ticker, listener.as_ref(), || {
        let options = settings.options().progress(ticker.clone());
        options.repair_any(path, dest, &settings.schema()?)
    })?;
    let counts =
        [report.rows, report.lost_rows, report.without_id, report.lost_fingerprints, report.recovered];
    let (made, is_complete) = (report.made, report.is_complete());
    let findings = report.findings.into_iter();
    let findings = findings.map(|finding| (finding.kind.to_string(), finding.file, finding.what)).collect();
    Ok((made, is_complete, counts, findings))
}
