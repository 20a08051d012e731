//! The class behind `nearprint.Database`: arguments that the Python layer has checked, and columns back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearprint::{Database, Explanation, LayoutChoice, Options, Result, width_of, width_of_damaged};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::columns;
use crate::dicts;
use crate::engine::{Ask, Batch, Engine, Handle, Make, build};
use crate::errors::{OrRaise, input_error};
use crate::stream::Stream;
use crate::watch::{Ticker, watch};
use crate::words::with_width;

/// Work on fewer rows than that is done at once: it is over before a signal could be looked for.
const FEW_ROWS: usize = 256;

/// Settings of a new database, and of the work on any.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    k: u32,
    layout: String,
    recipe: Option<String>,
    keys: Option<bool>,
    threads: Option<usize>,
    memory: Option<usize>,
    memtable_rows: Option<usize>,
    background_merges: bool,
    first_id: u64,
}

impl Settings {
    fn options(&self) -> Result<Options> {
        let mut options = Options::new()
            .k(self.k)
            .layout(self.layout.parse::<LayoutChoice>()?)
            .background_merges(self.background_merges)
            .first_id(self.first_id);
        if let Some(texts) = self.keys {
            options = options.keys(texts);
        }
        if let Some(recipe) = &self.recipe {
            options = options.recipe(recipe);
        }
        if let Some(threads) = self.threads {
            options = options.threads(threads);
        }
        if let Some(bytes) = self.memory {
            options = options.memory_bytes(bytes);
        }
        if let Some(rows) = self.memtable_rows {
            options = options.memtable_rows(rows);
        }
        Ok(options)
    }
}

/// Rows as Python hands them over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rows<'py> {
    words: PyReadonlyArray1<'py, u64>,
    ids: Option<PyReadonlyArray1<'py, u64>>,
    keys: Option<Vec<String>>,
    texts: Option<Vec<PyBackedBytes>>,
}

impl Rows<'_> {
    fn batch(&self, upsert: bool) -> PyResult<Batch<'_>> {
        Ok(Batch {
            words: self.words.as_slice()?,
            ids: self.ids.as_ref().map(PyReadonlyArray1::as_slice).transpose()?,
            keys: self.keys.as_deref(),
            texts: self.texts.as_deref(),
            upsert,
        })
    }
}

/// An open database.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Core {
    engine: Box<dyn Engine>,
}

fn open(path: &Path, options: Options, width: u32) -> Result<Box<dyn Engine>> {
    with_width!(width, F => Ok(Box::new(Handle::<F>::open(path, options)?)), else Err(no_such_width(width)))
}

fn create(path: &Path, options: Options, width: u32) -> Result<Box<dyn Engine>> {
    with_width!(width, F => Ok(Box::new(Handle::<F>::create(path, options)?)), else Err(no_such_width(width)))
}

fn no_such_width(width: u32) -> nearprint::Error {
    nearprint::Error::Option(format!("width {width}: fingerprints have 64, 128 or 256 bits"))
}

impl Core {
    fn stream(&self, py: Python<'_>, ask: Ask, listener: Option<Py<PyAny>>) -> PyResult<Stream> {
        self.start(py, listener, |ticker| self.engine.stream(ticker, ask))
    }

    fn start(
        &self,
        py: Python<'_>,
        listener: Option<Py<PyAny>>,
        prepare: impl FnOnce(Arc<Ticker>) -> Result<Make> + Send,
    ) -> PyResult<Stream> {
        let ticker = Arc::new(Ticker::default());
        let make = py.detach(|| prepare(ticker.clone())).or_raise(py)?;
        Ok(Stream::start(self.engine.width(), ticker, listener, make))
    }

    /// Writes so many rows.
    fn write_some<T: Send>(
        &self,
        py: Python<'_>,
        rows: usize,
        work: impl FnOnce(&dyn Engine, &Arc<Ticker>) -> Result<T> + Send,
    ) -> PyResult<T> {
        if rows < FEW_ROWS && !self.engine.is_busy() {
            self.ask(py, |engine| work(engine, &Arc::default()))
        } else {
            self.ask_long(py, None, work)
        }
    }

    /// Asks for something that takes but a moment.
    fn ask<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&dyn Engine) -> Result<T> + Send) -> PyResult<T> {
        py.detach(|| ask(&*self.engine)).or_raise(py)
    }

    /// Asks for, or does, something that may take long.
    fn ask_long<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<&Py<PyAny>>,
        ask: impl FnOnce(&dyn Engine, &Arc<Ticker>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let ticker = Arc::new(Ticker::default());
        watch(py, &ticker, listener, || ask(&*self.engine, &ticker))
    }
}

#[pymethods]
impl Core {
    /// Opens a database.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, settings: Settings) -> PyResult<Self> {
        let opened = py.detach(|| open(&path, settings.options()?, width_of(&path)?));
        Ok(Self { engine: opened.or_raise(py)? })
    }

    /// Makes an empty database.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf, width: u32, settings: Settings) -> PyResult<Self> {
        let created = py.detach(|| create(&path, settings.options()?, width));
        Ok(Self { engine: created.or_raise(py)? })
    }

    /// Makes a database of rows.
    #[staticmethod]
    #[pyo3(signature = (path, width, settings, rows, runs_only, listener))]
    fn build(
        py: Python<'_>,
        path: PathBuf,
        width: u32,
        settings: Settings,
        rows: Rows<'_>,
        runs_only: bool,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let batch = rows.batch(false)?;
        let ticker = Arc::new(Ticker::default());
        let engine = watch(py, &ticker, listener.as_ref(), || {
            let options = settings.options()?;
            let listened = options.clone().progress(ticker.clone());
            with_width!(width, F => {
                let builder = Database::<F>::build(&path, listened)?;
                build(if runs_only { builder.runs_only() } else { builder }, &batch, &ticker)?;
            }, else return Err(no_such_width(width)));
            open(&path, options, width)
        })?;
        Ok(Self { engine })
    }

    fn width(&self) -> u32 {
        self.engine.width()
    }

    fn default_k(&self, py: Python<'_>) -> PyResult<u32> {
        self.ask(py, |engine| engine.default_k())
    }

    fn recipe(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.ask(py, |engine| engine.recipe())
    }

    /// `None`: no keys; else whether there are texts, too.
    fn keeps_keys(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        self.ask(py, |engine| engine.key_storage())
    }

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let checkpoint = self.write_some(py, 1, |engine, ticker| engine.checkpoint(ticker))?;
        Ok(checkpoint.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dicts::stats(py, &self.ask(py, |engine| engine.stats())?)
    }

    /// The text, and a dict for each run.
    fn explain<'py>(&self, py: Python<'py>, k: u32) -> PyResult<(String, Bound<'py, PyList>)> {
        let explanation: Explanation = self.ask(py, |engine| engine.explain(k))?;
        let runs = explanation.runs.iter().map(|run| dicts::run(py, run)).collect::<PyResult<Vec<_>>>()?;
        Ok((explanation.to_string(), PyList::new(py, runs)?))
    }

    /// Files, bytes, and what is damaged: file, section, offset, expected, found.
    fn verify(&self, py: Python<'_>, listener: Option<Py<PyAny>>) -> PyResult<(u64, u64, Vec<Damage>)> {
        let ticker = Arc::new(Ticker::default());
        let report = watch(py, &ticker, listener.as_ref(), || self.engine.verify(ticker.clone()))?;
        let damage = report.damage.into_iter().map(|damage| {
            let file = damage.file.display().to_string();
            (file, damage.section, damage.offset, damage.expected, damage.found)
        });
        Ok((report.files, report.bytes, damage.collect()))
    }

    fn len(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask_long(py, None, |engine, ticker| engine.len(ticker))
    }

    fn query<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        k: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let words = words.as_slice()?;
        self.ask(py, |engine| engine.query(words, k))?.into_dict(py, self.engine.width())
    }

    fn query_batch<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        k: u32,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let words = words.as_slice()?;
        let found = self
            .ask_long(py, listener.as_ref(), |engine, ticker| engine.query_batch(ticker.clone(), words, k))?;
        found.into_dict(py, self.engine.width())
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
        let found = self.ask_long(py, listener.as_ref(), |engine, ticker| {
            engine.nearest(ticker.clone(), words, count, max_k)
        })?;
        found.into_dict(py, self.engine.width())
    }

    fn fingerprints_of<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyAny>> {
        let words = self.ask_long(py, None, |engine, ticker| engine.fingerprints_of(ticker, id))?;
        columns::fingerprints(py, words, self.engine.width())
    }

    fn texts_of<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        id: u64,
    ) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let words = words.as_slice()?;
        let texts = self.ask(py, |engine| engine.texts_of(words, id))?;
        Ok(texts.into_iter().map(|(key, text)| (key, PyBytes::new(py, &text))).collect())
    }

    fn ids_of_key<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        everywhere: bool,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(self.ask(py, |engine| engine.ids_of_key(key, everywhere))?.into_pyarray(py))
    }

    fn rows(&self, py: Python<'_>) -> PyResult<Stream> {
        self.stream(py, Ask::Rows, None)
    }

    fn pairs(&self, py: Python<'_>, k: u32, ids: bool, listener: Option<Py<PyAny>>) -> PyResult<Stream> {
        self.stream(py, Ask::Pairs { k, ids }, listener)
    }

    fn clusters(&self, py: Python<'_>, k: u32, listener: Option<Py<PyAny>>) -> PyResult<Stream> {
        self.stream(py, Ask::Clusters { k }, listener)
    }

    fn cross(
        &self,
        py: Python<'_>,
        other: &Self,
        k: u32,
        ids: bool,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Stream> {
        self.start(py, listener, |ticker| self.engine.cross(ticker, &*other.engine, k, ids))
    }

    fn backup(&self, py: Python<'_>, dest: PathBuf, listener: Option<Py<PyAny>>) -> PyResult<()> {
        let ticker = Arc::new(Ticker::default());
        watch(py, &ticker, listener.as_ref(), || self.engine.backup(ticker.clone(), &dest))
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |engine| engine.refresh())
    }

    fn add<'py>(&self, py: Python<'py>, rows: Rows<'_>, upsert: bool) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let batch = rows.batch(upsert)?;
        let ids = self.write_some(py, batch.words.len(), |engine, ticker| engine.add(ticker, &batch))?;
        Ok(ids.into_pyarray(py))
    }

    fn delete(&self, py: Python<'_>, ids: PyReadonlyArray1<'_, u64>) -> PyResult<()> {
        let ids = ids.as_slice()?;
        self.write_some(py, ids.len(), |engine, ticker| engine.delete(ticker, ids))
    }

    fn set_checkpoint(&self, py: Python<'_>, checkpoint: &[u8]) -> PyResult<()> {
        self.write_some(py, 1, |engine, ticker| engine.set_checkpoint(ticker, checkpoint))
    }

    fn set_recipe(&self, py: Python<'_>, recipe: &str) -> PyResult<()> {
        self.ask_long(py, None, |engine, ticker| engine.set_recipe(ticker, recipe))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.ask_long(py, None, |engine, ticker| engine.commit(ticker))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.ask_long(py, None, |engine, ticker| engine.flush(ticker))
    }

    fn compact(&self, py: Python<'_>, listener: Option<Py<PyAny>>) -> PyResult<()> {
        self.ask_long(py, listener.as_ref(), |engine, ticker| engine.compact(ticker))
    }

    fn ingest(
        &self,
        py: Python<'_>,
        folders: Vec<PathBuf>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64)> {
        let ingested =
            self.ask_long(py, listener.as_ref(), |engine, ticker| engine.ingest(ticker, &folders))?;
        Ok((ingested.adopted, ingested.skipped, ingested.rows))
    }

    /// Commits, and gives up the lock.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.ask_long(py, None, |engine, ticker| engine.close(ticker))
    }

    /// Gives up the lock, and forgets what was not committed.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| self.engine.abandon());
    }

    fn is_writing(&self, py: Python<'_>) -> bool {
        py.detach(|| self.engine.is_writing())
    }
}

/// File, section, offset, expected, found.
type Damage = (String, &'static str, u64, String, String);

/// The width in bits of the database at a path.
#[pyfunction]
#[pyo3(name = "width_of")]
pub(crate) fn width_of_path(py: Python<'_>, path: PathBuf) -> PyResult<u32> {
    width_of(path).or_raise(py)
}

/// What a repair tells: whether it has made a database and whether that is complete; rows, lost rows, lost and
/// recovered fingerprints; kind, file and words of each finding.
type Saved = (bool, bool, [u64; 4], Vec<(String, String, String)>);

/// Saves what can be read of a damaged database into a new one.
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    path: PathBuf,
    dest: PathBuf,
    settings: Settings,
    listener: Option<Py<PyAny>>,
) -> PyResult<Saved> {
    let ticker = Arc::new(Ticker::default());
    let salvage = watch(py, &ticker, listener.as_ref(), || {
        let options = settings.options()?.progress(ticker.clone());
        let width = width_of_damaged(&path)?;
        with_width!(
            width,
            F => Database::<F>::repair(&path, &dest, options),
            else Err(no_such_width(width))
        )
    })?;
    let counts = [salvage.rows, salvage.lost_rows, salvage.lost_fingerprints, salvage.recovered];
    let (made, is_complete) = (salvage.made, salvage.is_complete());
    let findings = salvage.findings.into_iter();
    let findings = findings.map(|finding| (finding.kind.to_string(), finding.file, finding.what)).collect();
    Ok((made, is_complete, counts, findings))
}

/// Refuses a width that there is not.
pub(crate) fn refuse_width(py: Python<'_>, width: u32) -> PyErr {
    input_error(py, &no_such_width(width).to_string())
}
