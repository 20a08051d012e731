//! Functions on the folder of a database that is not open.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::arguments::Settings;
use crate::errors::OrRaise;
use crate::watch::{Ticker, address_of, watch};
use crate::words::Words;

/// The width in bits of the database at a path.
#[pyfunction]
pub(crate) fn width_of(py: Python<'_>, path: PathBuf) -> PyResult<u32> {
    Ok(nearprint::width_of(path).or_raise(py)?.bits())
}

/// Whether there is a new database, and whether it is complete; the numbers of rows, lost rows,
/// fingerprints without ids, lost fingerprints and recovered fingerprints; kind, file and text of each finding; and the
/// fingerprints without ids, if they are wanted.
type Repaired<'py> = (bool, bool, [u64; 5], Vec<(String, String, String)>, Option<Bound<'py, PyAny>>);

/// Saves what can be read of a damaged database into a new one.
#[pyfunction]
pub(crate) fn repair<'py>(
    py: Python<'py>,
    path: PathBuf,
    dest: PathBuf,
    settings: Settings,
    collects: bool,
    listener: Option<Py<PyAny>>,
) -> PyResult<Repaired<'py>> {
    let ticker = Arc::new(Ticker::default());
    let (width, words, report) = watch(py, &ticker, listener.as_ref(), || {
        let width = nearprint::width_of_damaged(&path)?;
        let (options, fallback) =
            (settings.options(address_of(&*ticker)).progress(ticker.clone()), settings.schema()?);
        let mut found = Vec::new();
        let report = options.repair_any_with(path, dest, &fallback, &mut |words| {
            if collects {
                found.extend_from_slice(words);
            }
            Ok(())
        })?;
        Ok::<_, nearprint::Error>((width, found, report))
    })?;
    let counts =
        [report.rows, report.lost_rows, report.without_id, report.lost_fingerprints, report.recovered];
    let (made, is_complete) = (report.made, report.is_complete());
    let findings = report.findings.into_iter();
    let findings = findings.map(|finding| (finding.kind.to_string(), finding.file, finding.what)).collect();
    let without_id = collects.then(|| Words::from_words(width, words).into_array(py)).transpose()?;
    Ok((made, is_complete, counts, findings, without_id))
}
