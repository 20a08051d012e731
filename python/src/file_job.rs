//! Deduplication of files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use nearprint::{Progress, Stage};
use nearprint_cli::DedupReport;
use nearprint_text::Error;
use nearprint_text::dedup::{FileJob, FileReport, UnitCounts, UtcTime};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::NamedOptions;
use crate::errors::OrRaise;
use crate::watch::{Ticker, watch};

/// Runs a job, which may trim. Returns what became of the documents.
#[pyfunction]
pub(crate) fn run_files<'py>(
    py: Python<'py>,
    trims: bool,
    inputs: Vec<PathBuf>,
    output: PathBuf,
    options: NamedOptions,
    page: Option<PathBuf>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let ticker = Arc::new(Ticker::default());
    let new = if trims { FileJob::trimming } else { FileJob::with_defaults };
    let mut job = new(inputs, output, options.engine.progress(ticker.clone())).or_raise(py)?;
    options.values.iter().try_for_each(|(name, values)| job.set(name, values)).or_raise(py)?;
    let page = page.map(|path| DedupReport::of(&mut job, &path)).transpose().or_raise(py)?;
    let done: FileReport = watch(py, &ticker, listener.as_ref(), || {
        let done = job.run(|_, at| ticker.report(Stage::Reading, at.bytes, at.total_bytes))?;
        page.map_or(Ok(()), |page| page.write(&done, &|| ticker.check()))?;
        Ok::<_, Error>(done)
    })?;
    done.left_out.check_compared(done.counts.records + done.counts.bad).or_raise(py)?;
    dict_of(py, trims, done)
}

/// The outcome of a job.
fn dict_of(py: Python<'_>, trims: bool, report: FileReport) -> PyResult<Bound<'_, PyDict>> {
    let (counts, outcome) = (report.counts, report.outcome(trims));
    let dict = PyDict::new(py);
    for (name, count) in [
        ("read", outcome.read()),
        ("kept", outcome.kept),
        ("duplicates", outcome.duplicates),
        ("skipped", outcome.skipped),
        ("rejected", outcome.rejected),
        ("unconfirmed", counts.unconfirmed),
        ("empty", counts.empty),
        ("featureless", counts.featureless),
        ("invalid_utf8", counts.invalid_utf8),
        ("resumed_after", report.resumed_after),
    ] {
        dict.set_item(name, count)?;
    }
    for (name, count) in [("near", outcome.near()), ("groups", outcome.groups)] {
        dict.set_item(name, count)?;
    }
    let skipped: BTreeMap<&str, u64> =
        report.left_out.files().into_iter().map(|(count, name)| (name, count)).collect();
    dict.set_item("skipped_files", skipped)?;
    dict.set_item("encodings", report.left_out.encodings)?;
    dict.set_item("notes", report.left_out.notes)?;
    dict.set_item("copies", report.counts_copies.then_some(counts.copies))?;
    dict.set_item("by_similarity", counts.by_similarity.to_vec())?;
    if trims {
        let UnitCounts { compared, removed, text_bytes, removed_bytes, within, hollow, by_left, .. } =
            counts.units;
        let units = [compared, removed, text_bytes, removed_bytes, within, hollow];
        dict.set_item("units", (units, by_left))?;
    }
    dict.set_item("completed", report.completed.map(UtcTime::seconds))?;
    let groups: Vec<(String, u64)> =
        report.largest.into_iter().map(|group| (group.name, group.size)).collect();
    dict.set_item("largest", groups)?;
    Ok(dict)
}
