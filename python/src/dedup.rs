//! The class behind `nearprint.dedup`, `Kept` and `nearprint.mongodb`: decides documents in batches, and
//! remembers what is kept.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nearprint::any::AnyFingerprint;
use nearprint_text::Result;
use nearprint_text::dedup::{self, Decision, DedupOptions, StoredJob};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;

use crate::arguments::NamedOptions;
use crate::capsules::ArrowArrays;
use crate::errors::{OrRaise, fork_error};
use crate::texts::texts_of;
use crate::watch::{Ticker, watch};

/// A decision; the key of the kept document and the similarity, of a duplicate; the fingerprint as the command line
/// prints it; whether the text has features; and the sequence number of the kept document.
type Decided = (&'static str, Option<String>, f64, String, bool, Option<u64>);
/// The numbers of the documents that some duplicate, -1 for kept ones, -2 for those that are set aside, and their
/// similarities.
type Duplicates = (Vec<i64>, Vec<f64>);
/// The same as arrays.
type DuplicateArrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// In place of the number of a document that another one duplicates.
const KEPT: i64 = -1;
const SET_ASIDE: i64 = -2;

/// Decides documents, each with a name for its decision.
fn decide(
    decider: &mut dedup::Deduplicator,
    documents: &[(&str, &str)],
    ticker: &Ticker,
) -> Result<Vec<Decided>> {
    let width = decider.recipe().width();
    let mut all = Vec::with_capacity(documents.len());
    decider.decide_batch(documents, |decided| {
        let (name, printed) =
            (name_of(&decided.decision), AnyFingerprint::new(width, &decided.fingerprint).to_string());
        let (of, similarity) = match decided.decision {
            Decision::Duplicate { of, similarity, .. } => (Some(of), similarity),
            _ => (None, f64::NAN),
        };
        all.push((name, of, similarity, printed, decided.num_features > 0, decided.sequence));
        Ok(ticker.check()?)
    })?;
    Ok(all)
}

/// Decides texts whose keys are their numbers.
fn decide_texts(
    decider: &mut dedup::Deduplicator,
    documents: &[(&str, &str)],
    ticker: &Ticker,
) -> Result<Duplicates> {
    let (mut numbers, mut similarities) = (Vec::new(), Vec::new());
    decider.decide_batch(documents, |decided| {
        let (number, similarity) = match decided.decision {
            Decision::Duplicate { of, similarity, .. } => (of.parse().unwrap_or(KEPT), similarity),
            Decision::TooShort => (SET_ASIDE, f64::NAN),
            _ => (KEPT, f64::NAN),
        };
        numbers.push(number);
        similarities.push(similarity);
        Ok(ticker.check()?)
    })?;
    Ok((numbers, similarities))
}

/// The name of a decision in Python.
fn name_of(decision: &Decision) -> &'static str {
    match decision {
        Decision::Kept => "kept",
        Decision::Duplicate { .. } => "duplicate",
        Decision::Known => "known",
        Decision::KeyTaken => "key taken",
        _ => "set aside",
    }
}

/// Decides documents in order, and remembers what it keeps. Every call can be interrupted; the object is unusable after
/// that.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Deduplicator {
    decider: Mutex<Option<dedup::Deduplicator>>,
    ticker: Arc<Ticker>,
    /// The process that opened it.
    process: u32,
}

impl Deduplicator {
    /// Calls the decider on a thread of its own.
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Option<dedup::Deduplicator>) -> Option<Result<T>> + Send,
    ) -> PyResult<T> {
        if std::process::id() != self.process {
            return Err(fork_error(py, "was opened before a fork; open it again in this process"));
        }
        let called = watch(py, &self.ticker, None, || {
            let mut decider = self.decider.lock().unwrap_or_else(PoisonError::into_inner);
            call(&mut decider).transpose()
        })?;
        called.ok_or_else(|| PyRuntimeError::new_err("the deduplicator is closed"))
    }
}

#[pymethods]
impl Deduplicator {
    /// Opens or creates the database at a path; without one, remembers documents temporarily.
    #[staticmethod]
    #[pyo3(signature = (path, settings, unique_keys=false))]
    fn open(
        py: Python<'_>,
        path: Option<PathBuf>,
        settings: NamedOptions,
        unique_keys: bool,
    ) -> PyResult<Self> {
        let ticker = Arc::new(Ticker::default());
        let mut options = DedupOptions::with_default_recipe().or_raise(py)?;
        options.unique_keys = unique_keys;
        options.engine = settings.engine.progress(ticker.clone());
        settings.values.iter().try_for_each(|(name, values)| options.set(name, values)).or_raise(py)?;
        let named = path.clone();
        let open = || match path {
            Some(path) => {
                let opened = dedup::Deduplicator::open(&path, options)?;
                StoredJob::check_whole_documents(&opened, &path).map(|()| opened)
            }
            None => dedup::Deduplicator::temporary(options),
        };
        let decider = watch(py, &ticker, None, open)?;
        if let Some((path, why)) = named.zip(decider.misses()) {
            let why = CString::new(format!("{}: {why}", path.display()))?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &why, 2)?;
        }
        Ok(Self { decider: Mutex::new(Some(decider)), ticker, process: std::process::id() })
    }

    /// Decides texts in order, whose keys are their numbers. Returns the number of the text that each duplicates, -1 for
    /// a kept one and -2 for one that is set aside, and their similarity, NaN for those two.
    fn decide_texts<'py>(
        &self,
        py: Python<'py>,
        numbers: PyReadonlyArray1<'_, i64>,
        texts: Texts,
    ) -> PyResult<DuplicateArrays<'py>> {
        let texts: Vec<&str> = match &texts {
            Texts::Listed(texts) => texts.iter().map(|text| &**text).collect(),
            Texts::Arrow(arrays) => {
                let chunks = arrays.chunks.iter().map(texts_of).collect::<PyResult<Vec<_>>>()?;
                chunks.into_iter().flatten().map(Option::unwrap_or_default).collect()
            }
        };
        let keys: Vec<String> = numbers.as_slice()?.iter().map(ToString::to_string).collect();
        let documents: Vec<(&str, &str)> = keys.iter().map(String::as_str).zip(texts).collect();
        let decided =
            self.call(py, |decider| Some(decide_texts(decider.as_mut()?, &documents, &self.ticker)))?;
        Ok((decided.0.into_pyarray(py), decided.1.into_pyarray(py)))
    }

    /// The progress of an unfinished job.
    fn unfinished<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let progress =
            self.call(py, |decider| Some(Ok(decider.as_ref()?.unfinished().map(<[u8]>::to_vec))))?;
        Ok(progress.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Decides documents in order.
    fn decide(
        &self,
        py: Python<'_>,
        keys: Vec<PyBackedStr>,
        texts: Vec<PyBackedStr>,
    ) -> PyResult<Vec<Decided>> {
        let documents: Vec<(&str, &str)> =
            keys.iter().zip(&texts).map(|(key, text)| (&**key, &**text)).collect();
        self.call(py, |decider| Some(decide(decider.as_mut()?, &documents, &self.ticker)))
    }

    /// Makes the kept documents durable, together with the progress of the job.
    fn checkpoint(&self, py: Python<'_>, progress: &[u8]) -> PyResult<()> {
        self.call(py, |decider| Some(decider.as_mut()?.checkpoint(progress)))
    }

    /// Makes the kept documents durable, removes the progress, and closes the database.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |decider| Some(decider.take()?.finish()))
    }

    /// Closes the database without the documents kept since the last checkpoint. In the child of a fork it is the
    /// parent's.
    fn abandon(&self, py: Python<'_>) {
        if std::process::id() != self.process {
            // The mutex may be held for ever, by a thread that only the parent has.
            return;
        }
        py.detach(|| drop(self.decider.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

/// Texts as Python passes them.
#[derive(FromPyObject)]
enum Texts {
    Listed(Vec<PyBackedStr>),
    Arrow(ArrowArrays),
}
