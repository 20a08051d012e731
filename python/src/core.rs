//! The class behind `nearprint.Database`: it receives checked arguments and returns columns.

use std::path::PathBuf;
use std::sync::Arc;

use nearprint::{Fingerprint, Result, Width, Writer};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arguments::{Rows, Settings};
use crate::dicts;
use crate::errors::OrRaise;
use crate::handle::{AnyHandle, Handle, typed};
use crate::stream::{Search, Stream};
use crate::watch::{Ticker, watch};

/// Changes of fewer rows run on the calling thread: they end before a signal would be checked.
const FEW_ROWS: usize = 256;

/// An open database.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Core {
    handle: AnyHandle,
}

/// Does short work without the interpreter's lock.
fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(work).or_raise(py)
}

/// Does work that may take long, with signals and progress.
fn run_watched<T: Send>(
    py: Python<'_>,
    listener: Option<Py<PyAny>>,
    work: impl FnOnce(&Arc<Ticker>) -> Result<T> + Send,
) -> PyResult<T> {
    let ticker = Arc::new(Ticker::default());
    watch(py, &ticker, listener.as_ref(), || work(&ticker))
}

/// Does work with the writer on a number of rows. Few rows take long only while another call is
/// writing.
fn run_change<F: Fingerprint, T: Send>(
    py: Python<'_>,
    handle: &Handle<F>,
    num_rows: usize,
    work: impl FnOnce(&Arc<Ticker>) -> Result<T> + Send,
) -> PyResult<T> {
    if num_rows < FEW_ROWS && !handle.is_busy() {
        run(py, || work(&Arc::default()))
    } else {
        run_watched(py, None, work)
    }
}

/// Starts a search.
fn stream(
    py: Python<'_>,
    listener: Option<Py<PyAny>>,
    prepare: impl FnOnce(&Arc<Ticker>) -> Result<Search> + Send,
) -> PyResult<Stream> {
    let ticker = Arc::new(Ticker::default());
    let search = run(py, || prepare(&ticker))?;
    Ok(Stream::start(ticker, listener, search))
}

#[pymethods]
impl Core {
    /// Opens a database.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, settings: Settings) -> PyResult<Self> {
        let opened = py.detach(|| AnyHandle::open(&path, settings.options()));
        Ok(Self { handle: opened.or_raise(py)? })
    }

    /// Makes an empty database.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf, width: u32, settings: Settings) -> PyResult<Self> {
        let created = py.detach(|| {
            AnyHandle::create(&path, Width::try_from(width)?, settings.schema()?, settings.options())
        });
        Ok(Self { handle: created.or_raise(py)? })
    }

    fn width(&self) -> u32 {
        self.handle.bits()
    }

    /// The distance that the layout is tuned for, the bands of the fingerprints as text, and what is
    /// stored with rows: `None` without keys, otherwise whether keys have texts. As they were read
    /// last: to look at them takes no new snapshot.
    fn settings(&self, py: Python<'_>) -> (u32, Option<String>, Option<bool>) {
        let (k, bands, keys) = py.detach(|| {
            typed!(&self.handle, handle => {
                let snapshot = handle.last_snapshot();
                (snapshot.default_k(), snapshot.bands(), snapshot.key_storage())
            })
        });
        (k, bands.map(|bands| bands.to_string()), keys.has_keys().then_some(keys.has_texts()))
    }

    fn recipe(&self, py: Python<'_>) -> PyResult<Option<String>> {
        typed!(&self.handle, handle => run(py, || Ok(handle.snapshot()?.recipe().map(str::to_owned))))
    }

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let checkpoint = typed!(&self.handle, handle => {
            run_change(py, handle, 1, |ticker| handle.checkpoint(ticker))
        })?;
        Ok(checkpoint.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = typed!(&self.handle, handle => run(py, || Ok(handle.snapshot()?.stats())))?;
        dicts::stats(py, &stats)
    }

    /// The text, and a dict for each run.
    fn explain<'py>(&self, py: Python<'py>, k: u32) -> PyResult<(String, Bound<'py, PyList>)> {
        let explanation = typed!(&self.handle, handle => run(py, || Ok(handle.snapshot()?.explain(k))))?;
        let runs = explanation.runs.iter().map(|run| dicts::run(py, run)).collect::<PyResult<Vec<_>>>()?;
        Ok((explanation.to_string(), PyList::new(py, runs)?))
    }

    /// The number of files and of bytes, and all damage.
    fn verify(&self, py: Python<'_>, listener: Option<Py<PyAny>>) -> PyResult<(u64, u64, Vec<Damage>)> {
        let report = typed!(&self.handle, handle => {
            run_watched(py, listener, |ticker| handle.verify(ticker))
        })?;
        let damage = report.damage.into_iter().map(|damage| {
            let file = damage.file.display().to_string();
            (file, damage.section, damage.offset, damage.expected, damage.found)
        });
        Ok((report.files, report.bytes, damage.collect()))
    }

    fn len(&self, py: Python<'_>) -> PyResult<u64> {
        typed!(&self.handle, handle => run_watched(py, None, |ticker| handle.len(ticker)))
    }

    fn query<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        k: u32,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (words, limit) = (words.as_slice()?, limit.unwrap_or(usize::MAX));
        typed!(&self.handle, handle => run(py, || handle.query(words, k, limit)))?.into_dict(py)
    }

    fn query_batch<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        k: u32,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let words = words.as_slice()?;
        let found = typed!(&self.handle, handle => {
            run_watched(py, listener, |ticker| handle.query_batch(ticker, words, k))
        })?;
        found.into_dict(py)
    }

    fn nearest<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        count: usize,
        max_k: u32,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let words = words.as_slice()?;
        let found = typed!(&self.handle, handle => {
            run_watched(py, listener, |ticker| handle.nearest(ticker, words, count, max_k))
        })?;
        found.into_dict(py)
    }

    fn fingerprints_of<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyAny>> {
        let found = typed!(&self.handle, handle => {
            run_watched(py, None, |ticker| handle.fingerprints_of(ticker, id))
        })?;
        found.into_array(py)
    }

    fn texts_of<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        id: u64,
    ) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let words = words.as_slice()?;
        let texts = typed!(&self.handle, handle => run(py, || handle.texts_of(words, id)))?;
        Ok(texts.into_iter().map(|(key, text)| (key, PyBytes::new(py, &text))).collect())
    }

    fn ids_of_key<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        everywhere: bool,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let ids = typed!(&self.handle, handle => run(py, || handle.ids_of_key(key, everywhere)))?;
        Ok(ids.into_pyarray(py))
    }

    fn rows(&self, py: Python<'_>) -> PyResult<Stream> {
        typed!(&self.handle, handle => stream(py, None, |_| handle.rows()))
    }

    fn pairs(&self, py: Python<'_>, k: u32, ids: bool, listener: Option<Py<PyAny>>) -> PyResult<Stream> {
        typed!(&self.handle, handle => stream(py, listener, |ticker| handle.pairs(ticker, k, ids)))
    }

    fn clusters(&self, py: Python<'_>, k: u32, listener: Option<Py<PyAny>>) -> PyResult<Stream> {
        typed!(&self.handle, handle => stream(py, listener, |ticker| handle.clusters(ticker, k)))
    }

    fn cross(
        &self,
        py: Python<'_>,
        other: &Self,
        k: u32,
        ids: bool,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Stream> {
        stream(py, listener, |ticker| self.handle.cross(&other.handle, ticker, k, ids))
    }

    fn backup(&self, py: Python<'_>, dest: PathBuf, listener: Option<Py<PyAny>>) -> PyResult<()> {
        typed!(&self.handle, handle => {
            run_watched(py, listener, |ticker| handle.watched_snapshot(ticker)?.backup(&dest))
        })
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        typed!(&self.handle, handle => run(py, || handle.refresh()))
    }

    fn add<'py>(&self, py: Python<'py>, rows: Rows<'_>, upsert: bool) -> PyResult<Bound<'py, PyArray1<u64>>> {
        rows.check_keys(py)?;
        let batch = rows.batch()?;
        let ids = typed!(&self.handle, handle => {
            run_change(py, handle, batch.words.len(), |ticker| handle.add(ticker, &batch, upsert))
        })?;
        Ok(ids.into_pyarray(py))
    }

    fn delete(&self, py: Python<'_>, ids: PyReadonlyArray1<'_, u64>) -> PyResult<()> {
        let ids = ids.as_slice()?;
        typed!(&self.handle, handle => {
            run_change(py, handle, ids.len(), |ticker| handle.delete(ticker, ids))
        })
    }

    fn set_checkpoint(&self, py: Python<'_>, checkpoint: &[u8]) -> PyResult<()> {
        typed!(&self.handle, handle => {
            let set = |writer: &mut Writer<_>| writer.set_checkpoint(checkpoint);
            run_change(py, handle, 1, |ticker| handle.write(ticker, set))
        })
    }

    fn set_recipe(&self, py: Python<'_>, recipe: &str) -> PyResult<()> {
        typed!(&self.handle, handle => {
            run_watched(py, None, |ticker| handle.write_through(ticker, |writer| writer.set_recipe(recipe)))
        })
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        typed!(&self.handle, handle => run_watched(py, None, |ticker| handle.commit(ticker)))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        typed!(&self.handle, handle => {
            run_watched(py, None, |ticker| handle.write_through(ticker, Writer::flush))
        })
    }

    fn compact(&self, py: Python<'_>, listener: Option<Py<PyAny>>) -> PyResult<()> {
        typed!(&self.handle, handle => {
            run_watched(py, listener, |ticker| handle.write_through(ticker, Writer::compact))
        })
    }

    /// The numbers of ingested runs, of skipped runs and of ingested rows.
    fn ingest(
        &self,
        py: Python<'_>,
        folders: Vec<PathBuf>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64)> {
        let report = typed!(&self.handle, handle => {
            run_watched(py, listener, |ticker| handle.write_through(ticker, |writer| writer.ingest(&folders)))
        })?;
        Ok((report.runs, report.skipped, report.rows))
    }

    /// Commits and releases the lock.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        typed!(&self.handle, handle => run_watched(py, None, |ticker| handle.close(ticker)))
    }

    /// Releases the lock and discards uncommitted changes.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| typed!(&self.handle, handle => handle.abandon()));
    }

    fn is_writing(&self, py: Python<'_>) -> bool {
        py.detach(|| typed!(&self.handle, handle => handle.is_writing()))
    }
}

/// File, section, offset, expected, found.
type Damage = (String, &'static str, u64, String, String);
