//! The class behind `nearprint.documents` and `nearprint.spark.dedup`: decides documents in batches, and
//! remembers what is kept.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nearprint::{Fingerprint, Options, Printed, WidthVisitor};
use nearprint_text::dedup::{Decision, DedupOptions};
use nearprint_text::recipe::Recipe;
use nearprint_text::{Result, dedup};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;

use crate::capsules::ArrowArrays;
use crate::errors::{OrRaise, fork_error, input_error};
use crate::file_job::near_options;
use crate::texts::texts_of;
use crate::watch::{Ticker, watch};

/// The key and the text of a document.
type Document = (PyBackedStr, PyBackedStr);
/// A decision, the fingerprint as the command line prints it, and whether the text has features.
type Decided = (&'static str, String, bool);
/// The numbers of the documents that some duplicate, -1 for kept ones, and their similarities.
type Duplicates = (Vec<i64>, Vec<f64>);
/// The same as arrays.
type DuplicateArrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// A deduplicator of any width.
trait Decider: Send {
    fn unfinished(&self) -> Option<Vec<u8>>;
    fn decide(&mut self, documents: &[Document], ticker: &Ticker) -> Result<Vec<Decided>>;
    fn decide_texts(&mut self, documents: &[(String, &str)], ticker: &Ticker) -> Result<Duplicates>;
    fn candidates(&self) -> (String, u32);
    fn checkpoint(&mut self, progress: &[u8]) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<()>;
}

impl<F: Fingerprint> Decider for dedup::Deduplicator<F> {
    fn unfinished(&self) -> Option<Vec<u8>> {
        self.unfinished().map(<[u8]>::to_vec)
    }

    fn decide(&mut self, documents: &[Document], ticker: &Ticker) -> Result<Vec<Decided>> {
        let mut decided = Vec::with_capacity(documents.len());
        self.decide_batch(documents, |_, fingerprinted, decision| {
            let has_features = fingerprinted.num_features > 0;
            decided.push((name_of(&decision), Printed(fingerprinted.value).to_string(), has_features));
            Ok::<(), nearprint_text::Error>(ticker.check()?)
        })?;
        Ok(decided)
    }

    fn decide_texts(&mut self, documents: &[(String, &str)], ticker: &Ticker) -> Result<Duplicates> {
        let (mut numbers, mut similarities) = (Vec::new(), Vec::new());
        self.decide_batch(documents, |_, _, decision| {
            let (number, similarity) = match decision {
                Decision::Duplicate { of, similarity, .. } => (of.parse().unwrap_or(-1), similarity),
                _ => (-1, f64::NAN),
            };
            numbers.push(number);
            similarities.push(similarity);
            Ok::<(), nearprint_text::Error>(ticker.check()?)
        })?;
        Ok((numbers, similarities))
    }

    fn candidates(&self) -> (String, u32) {
        (self.recipe().to_string(), self.k())
    }

    fn checkpoint(&mut self, progress: &[u8]) -> Result<()> {
        self.checkpoint(progress)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        (*self).finish()
    }
}

/// The name of a decision in Python.
fn name_of(decision: &Decision) -> &'static str {
    match decision {
        Decision::Kept => "kept",
        Decision::Duplicate { .. } => "duplicate",
        Decision::Known => "known",
        Decision::KeyTaken => "key taken",
        _ => "rejected",
    }
}

/// Keeps at most one document per key. Every call can be interrupted; the object is unusable after
/// that.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Deduplicator {
    decider: Mutex<Option<Box<dyn Decider>>>,
    ticker: Arc<Ticker>,
    /// The process that opened it.
    process: u32,
}

impl Deduplicator {
    /// Calls the decider on a thread of its own.
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Option<Box<dyn Decider>>) -> Option<Result<T>> + Send,
    ) -> PyResult<T> {
        if std::process::id() != self.process {
            return Err(fork_error(py, "was opened before a fork; open it again in this process"));
        }
        let called = watch(py, &self.ticker, None, || {
            let mut decider = self.decider.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(call(&mut decider))
        })?;
        called.ok_or_else(|| PyRuntimeError::new_err("the deduplicator is closed"))?.or_raise(py)
    }
}

#[pymethods]
impl Deduplicator {
    /// Opens or creates the database at a path; without one, remembers documents temporarily.
    #[staticmethod]
    #[pyo3(signature = (path, recipe, k, cut_after=None, min_features=0))]
    fn open(
        py: Python<'_>,
        path: Option<PathBuf>,
        recipe: &str,
        k: u32,
        cut_after: Option<String>,
        min_features: usize,
    ) -> PyResult<Self> {
        let recipe = recipe.parse::<Recipe>().map_err(nearprint_text::Error::from).or_raise(py)?;
        let width = recipe.width();
        let ticker = Arc::new(Ticker::default());
        let mut options = DedupOptions::new(recipe);
        options.require_recipe = true;
        options.k = Some(k);
        options.unique_keys = true;
        options.cut_after = cut_after;
        options.min_features = min_features;
        options.engine = Options::new().progress(ticker.clone());
        let decider = watch(py, &ticker, None, || Ok(width.visit(Open { path, options })))?.or_raise(py)?;
        Ok(Self { decider: Mutex::new(Some(decider)), ticker, process: std::process::id() })
    }

    /// Remembers documents temporarily, and decides as `dedup_files` does.
    #[staticmethod]
    fn temporary(
        py: Python<'_>,
        recipe: &str,
        k: Option<u32>,
        similarity: Option<f64>,
        confirm: Option<&str>,
    ) -> PyResult<Self> {
        let recipe = recipe.parse::<Recipe>().map_err(nearprint_text::Error::from).or_raise(py)?;
        let (width, ticker) = (recipe.width(), Arc::new(Ticker::default()));
        let mut options =
            near_options(recipe, k, similarity, confirm).map_err(|why| input_error(py, &why))?;
        options.engine = Options::new().threads(1).progress(ticker.clone());
        let decider = py.detach(|| width.visit(Open { path: None, options })).or_raise(py)?;
        Ok(Self { decider: Mutex::new(Some(decider)), ticker, process: std::process::id() })
    }

    /// The recipe, and the distance of fingerprints within which documents are compared.
    fn candidates(&self, py: Python<'_>) -> PyResult<(String, u32)> {
        self.call(py, |decider| Some(Ok(decider.as_ref()?.candidates())))
    }

    /// Decides texts in order, whose keys are their numbers from `first` on. Returns the number of the text
    /// that each duplicates, -1 for a kept one, and their similarity, NaN for a kept one.
    fn decide_texts<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        texts: ArrowArrays,
    ) -> PyResult<DuplicateArrays<'py>> {
        let mut documents = Vec::new();
        for chunk in &texts.chunks {
            documents.extend(texts_of(chunk)?.into_iter().map(Option::unwrap_or_default));
        }
        let documents: Vec<(String, &str)> =
            (first..).zip(documents).map(|(number, text)| (number.to_string(), text)).collect();
        let decided =
            self.call(py, |decider| Some(decider.as_mut()?.decide_texts(&documents, &self.ticker)))?;
        Ok((decided.0.into_pyarray(py), decided.1.into_pyarray(py)))
    }

    /// The progress of an unfinished job.
    fn unfinished<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let progress = self.call(py, |decider| Some(Ok(decider.as_ref()?.unfinished())))?;
        Ok(progress.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Decides documents in order. Returns a decision, a printed fingerprint and whether it has
    /// features for each.
    fn decide(
        &self,
        py: Python<'_>,
        keys: Vec<PyBackedStr>,
        texts: Vec<PyBackedStr>,
    ) -> PyResult<Vec<Decided>> {
        let documents: Vec<Document> = keys.into_iter().zip(texts).collect();
        self.call(py, |decider| Some(decider.as_mut()?.decide(&documents, &self.ticker)))
    }

    /// Makes the kept documents durable, together with the progress of the job.
    fn checkpoint(&self, py: Python<'_>, progress: &[u8]) -> PyResult<()> {
        self.call(py, |decider| Some(decider.as_mut()?.checkpoint(progress)))
    }

    /// Makes the kept documents durable, removes the progress, and closes the database.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |decider| Some(decider.take()?.finish()))
    }

    /// Closes the database without the documents kept since the last checkpoint.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| drop(self.decider.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

/// Opens a deduplicator with fingerprints of the width of its recipe.
struct Open {
    path: Option<PathBuf>,
    options: DedupOptions,
}

impl WidthVisitor for Open {
    type Output = Result<Box<dyn Decider>>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        Ok(Box::new(match self.path {
            Some(path) => dedup::Deduplicator::<F>::open(path, self.options)?,
            None => dedup::Deduplicator::<F>::temporary(self.options)?,
        }))
    }
}
