//! The class behind `nearprint.Database`: it receives checked arguments and returns columns.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use nearprint::any::{AnySnapshot, AnyStream, AnyWriter, Columns as Found, Shape};
use nearprint::{LeftOut, LeftOutRows, Options, Query, Result, RowKey, Width};
use nearprint_text::dedup::{StoredJob, stored_text, with_texts_to_store};
use nearprint_text::stored::StoredDocuments;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arguments::{Rows, Settings};
use crate::columns::Columns;
use crate::dicts;
use crate::errors::OrRaise;
use crate::follower::Follower;
use crate::handle::Handle;
use crate::similar;
use crate::stream::Stream;
use crate::texts::text_at;
use crate::watch::{Ticker, watch};
use crate::words::Words;

/// The id and the keys of a kept document, its similarity with one that was left out, and the job that did so.
type KeptDocument = (u64, Vec<String>, f64, u64);

/// Changes of fewer rows run on the calling thread: they end before a signal would be checked.
const FEW_ROWS: usize = 256;
/// The number of rows inserted, or ids deleted, between two checks for cancellation.
pub(crate) const ROWS_BETWEEN_CHECKS: usize = 1 << 14;

/// An open database.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Core {
    handle: Handle,
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
fn run_change<T: Send>(
    py: Python<'_>,
    handle: &Handle,
    num_rows: usize,
    work: impl FnOnce(&Arc<Ticker>) -> Result<T> + Send,
) -> PyResult<T> {
    if num_rows < FEW_ROWS && !handle.may_wait() {
        run(py, || work(&Arc::default()))
    } else {
        run_watched(py, None, work)
    }
}

/// Starts a search. `group` names the column of groups.
fn stream(
    py: Python<'_>,
    group: &'static str,
    listener: Option<Py<PyAny>>,
    start: impl FnOnce(&Arc<Ticker>) -> Result<AnyStream> + Send,
) -> PyResult<Stream> {
    let ticker = Arc::new(Ticker::default());
    let rows = run(py, || start(&ticker))?;
    Ok(Stream::new(rows, group, ticker, listener))
}

impl Core {
    /// Answers queries, with progress.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        words: &[u64],
        query: Query,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let found = run_watched(py, listener, |ticker| {
            let snapshot = self.handle.watched_snapshot(ticker)?;
            let mut all = Found::new(snapshot.width(), snapshot.match_shape());
            snapshot.query_batch(words, query, |_, matches| {
                all.append(matches);
                ticker.check()
            })?;
            Ok(all)
        })?;
        Columns::of(found, "query").into_dict(py)
    }

    /// Does work with the writer that makes something durable, with progress.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<Py<PyAny>>,
        work: impl FnOnce(&mut AnyWriter) -> Result<T> + Send,
    ) -> PyResult<T> {
        run_watched(py, listener, |ticker| self.handle.write_through(ticker, work))
    }
}

#[pymethods]
impl Core {
    /// Opens a database.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, settings: Settings) -> PyResult<Self> {
        let handle = run(py, || Handle::new(&settings, |options| options.open_any(&path)))?;
        Ok(Self { handle })
    }

    /// Makes an empty database.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf, width: u32, settings: Settings) -> PyResult<Self> {
        let handle = run(py, || {
            let (width, schema) = (Width::try_from(width)?, settings.schema()?);
            Handle::new(&settings, |options| options.create_any(&path, width, &schema))
        })?;
        Ok(Self { handle })
    }

    fn width(&self) -> u32 {
        self.handle.database.width().bits()
    }

    /// The distance that the layout is tuned for, the bands of the fingerprints as text, and what is
    /// stored with rows, as in `stats()["keys"]`. As they were read last: to look at them takes no new
    /// snapshot.
    fn settings(&self, py: Python<'_>) -> PyResult<(u32, Option<String>, String)> {
        let snapshot = run(py, || self.handle.last_snapshot())?;
        let bands = snapshot.bands().map(|bands| bands.to_string());
        Ok((snapshot.default_k(), bands, snapshot.key_storage().to_string()))
    }

    fn recipe(&self, py: Python<'_>) -> PyResult<Option<String>> {
        run(py, || Ok(self.handle.snapshot()?.recipe().map(str::to_owned)))
    }

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let checkpoint = run_change(py, &self.handle, 1, |ticker| self.handle.checkpoint(ticker))?;
        Ok(checkpoint.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = run(py, || Ok(self.handle.snapshot()?.stats()))?;
        dicts::stats(py, &stats)
    }

    /// Whether a writer has the database, that writer, and the time of the last commit in seconds since
    /// 1970.
    fn activity(&self, py: Python<'_>) -> PyResult<(bool, Option<String>, f64)> {
        let found = run(py, || self.handle.database.activity())?;
        let since = found.last_commit.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok((found.is_locked, found.writer.map(|writer| writer.to_string()), since.as_secs_f64()))
    }

    /// The text, and a dict for each run.
    fn explain<'py>(&self, py: Python<'py>, k: u32) -> PyResult<(String, Bound<'py, PyList>)> {
        let explanation = run(py, || Ok(self.handle.snapshot()?.explain(k)))?;
        let runs = explanation.runs.iter().map(|run| dicts::run(py, run)).collect::<PyResult<Vec<_>>>()?;
        Ok((explanation.to_string(), PyList::new(py, runs)?))
    }

    /// The number of files and of bytes, and all damage.
    fn verify(&self, py: Python<'_>, listener: Option<Py<PyAny>>) -> PyResult<(u64, u64, Vec<Damage>)> {
        let report =
            run_watched(py, listener, |ticker| self.handle.database.with_progress(ticker.clone()).verify())?;
        let damage = report.damage.into_iter().map(|damage| {
            let file = damage.file.display().to_string();
            (file, damage.section, damage.offset, damage.expected, damage.found)
        });
        Ok((report.files, report.bytes, damage.collect()))
    }

    fn len(&self, py: Python<'_>) -> PyResult<u64> {
        run_watched(py, None, |ticker| self.handle.len(ticker))
    }

    /// The first `limit` rows of a query. Looks up no others, nor their keys.
    ///
    /// Within the distance that the database is tuned for, this takes a microsecond or two. To release the
    /// interpreter's lock and take it again would take longer, where several threads want it.
    fn query<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        k: u32,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (words, query) = (words.as_slice()?, within(k, limit));
        let found = match self.handle.ready_snapshot().filter(|snapshot| k <= snapshot.default_k()) {
            Some(snapshot) => matches(&snapshot, words, query).or_raise(py)?,
            None => run(py, || matches(&self.handle.snapshot()?, words, query))?,
        };
        Columns::of(found, "query").into_dict(py)
    }

    fn query_batch<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        k: u32,
        limit: Option<usize>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.answer(py, words.as_slice()?, within(k, limit), listener)
    }

    fn nearest<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        count: usize,
        max_k: u32,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.answer(py, words.as_slice()?, Query::nearest(count).max_k(max_k), listener)
    }

    fn fingerprints_of<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyAny>> {
        let width = self.handle.database.width();
        let found =
            run_watched(py, None, |ticker| self.handle.watched_snapshot(ticker)?.fingerprints_of(id))?;
        Words::from_words(width, found).into_array(py)
    }

    /// The keys of a row, each with its text, or with what else is stored beside it.
    fn texts_of<'py>(
        &self,
        py: Python<'py>,
        words: PyReadonlyArray1<'_, u64>,
        id: u64,
    ) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let words = words.as_slice()?;
        let (keeps, keys) = run(py, || {
            let snapshot = self.handle.snapshot()?;
            Ok((snapshot.key_storage(), snapshot.keys_of(words, id)?))
        })?;
        let text_of = |key: RowKey| {
            let text = stored_text(keeps, &key.key, &key.text).or_raise(py)?;
            let text = PyBytes::new(py, &text);
            Ok((key.key, text))
        };
        keys.into_iter().map(text_of).collect()
    }

    fn ids_of_key<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        everywhere: bool,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let ids = run(py, || {
            let snapshot = self.handle.snapshot()?;
            if everywhere { snapshot.ids_of_key_scan(key) } else { snapshot.ids_of_key(key) }
        })?;
        Ok(ids.into_pyarray(py))
    }

    /// The kept document of which the one with this key was a near-duplicate.
    fn left_out(&self, py: Python<'_>, key: &str) -> PyResult<Option<KeptDocument>> {
        run(py, || {
            let snapshot = self.handle.snapshot()?;
            let Some(all) = LeftOutRows::open(snapshot.folder(), &Options::new())? else { return Ok(None) };
            let Some(LeftOut { kept, similarity, job, .. }) = all.find(key)? else { return Ok(None) };
            let mut keys = Vec::new();
            for words in snapshot.fingerprints_of(kept)?.chunks_exact(snapshot.width().words()) {
                keys.extend(snapshot.keys_of(words, kept)?.into_iter().map(|key| key.key));
            }
            Ok(Some((kept, keys, similarity, job)))
        })
    }

    fn rows(&self, py: Python<'_>) -> PyResult<Stream> {
        stream(py, "", None, |ticker| self.handle.watched_snapshot(ticker)?.rows())
    }

    fn pairs(&self, py: Python<'_>, k: u32, ids: bool, listener: Option<Py<PyAny>>) -> PyResult<Stream> {
        stream(py, "", listener, |ticker| {
            let snapshot = self.handle.watched_snapshot(ticker)?.without_keys();
            if ids { snapshot.row_pairs(k) } else { snapshot.pairs(k) }
        })
    }

    fn clusters(&self, py: Python<'_>, k: u32, listener: Option<Py<PyAny>>) -> PyResult<Stream> {
        stream(py, "cluster", listener, |ticker| self.handle.watched_snapshot(ticker)?.clusters(k))
    }

    fn cross(
        &self,
        py: Python<'_>,
        other: &Self,
        k: u32,
        ids: bool,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Stream> {
        stream(py, "", listener, |ticker| {
            let (one, other) = (self.handle.watched_snapshot(ticker)?, other.handle.snapshot()?);
            let (one, other) = (one.without_keys(), other.without_keys());
            if ids { one.cross_row_pairs(&other, k) } else { one.cross(&other, k) }
        })
    }

    /// Whether documents have evidence, so that their similarities are exact.
    fn keeps_evidence(&self, py: Python<'_>) -> PyResult<bool> {
        let documents = py.detach(|| StoredDocuments::of(self.handle.snapshot()?));
        Ok(documents.or_raise(py)?.is_some())
    }

    fn similar_pairs(
        &self,
        py: Python<'_>,
        similarity: Option<f64>,
        ids: bool,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Stream> {
        similar::stream(py, (&self.handle, similarity), "", listener, |documents, least| {
            if ids { documents.row_pairs(least) } else { documents.pairs(least) }
        })
    }

    fn similar_clusters(
        &self,
        py: Python<'_>,
        similarity: Option<f64>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Stream> {
        let documents = (&self.handle, similarity);
        similar::stream(py, documents, "cluster", listener, StoredDocuments::clusters)
    }

    fn similar_cross(
        &self,
        py: Python<'_>,
        other: &Self,
        similarity: Option<f64>,
        ids: bool,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Stream> {
        similar::stream(py, (&self.handle, similarity), "", listener, |one, least| {
            let (other, _) = similar::documents(&other.handle, &Arc::default(), None)?;
            if ids { one.cross_row_pairs(&other, least) } else { one.cross(&other, least) }
        })
    }

    /// Refuses a database of paragraphs, lines or passages.
    fn check_whole_documents(&self, py: Python<'_>) -> PyResult<()> {
        let snapshot = run(py, || self.handle.snapshot())?;
        StoredJob::check_whole_documents_of(&snapshot).or_raise(py)
    }

    /// The documents that are similar to texts, at most `limit` for each.
    fn find_texts<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyList>,
        similarity: Option<f64>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let texts = (0..texts.len()).map(|index| text_at(texts, index)).collect::<PyResult<Vec<_>>>()?;
        let limit = limit.unwrap_or(usize::MAX);
        similar::find(py, (&self.handle, similarity), &texts, limit)?.into_dict(py)
    }

    /// Returns the number of bytes that the copy shares with its base.
    fn backup(
        &self,
        py: Python<'_>,
        dest: PathBuf,
        base: Option<PathBuf>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        run_watched(py, listener, |ticker| {
            self.handle.watched_snapshot(ticker)?.backup_with(&dest, base.as_ref())
        })
    }

    /// Makes a folder that follows the database, or goes on with one.
    fn follow(&self, py: Python<'_>, dest: PathBuf, listener: Option<Py<PyAny>>) -> PyResult<Follower> {
        Follower::new(py, &self.handle.database, dest, listener)
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        run(py, || self.handle.refresh())
    }

    /// Inserts rows and returns their ids. With `upsert` each becomes the only row with its id.
    fn add<'py>(&self, py: Python<'py>, rows: Rows<'_>, upsert: bool) -> PyResult<Bound<'py, PyArray1<u64>>> {
        rows.check_keys(py)?;
        let borrowed = rows.borrow()?;
        let ids = run_change(py, &self.handle, borrowed.num_words(), |ticker| {
            let mut ids = Vec::new();
            let stored = &mut |id| {
                ids.push(id);
                if ids.len().is_multiple_of(ROWS_BETWEEN_CHECKS) { ticker.check() } else { Ok(()) }
            };
            self.handle.write(ticker, |writer| {
                ticker.check()?;
                let rows = borrowed.rows();
                with_texts_to_store(writer.key_storage(), &rows, |rows| {
                    if upsert { writer.upsert(rows, stored) } else { writer.insert(rows, stored) }
                })
            })?;
            Ok(ids)
        })?;
        Ok(ids.into_pyarray(py))
    }

    /// Inserts the rows that have no stored row within `k` bits. Returns the id of each row, or of the row
    /// that it met, and the rows that were met.
    fn insert_if_new<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'_>,
        k: u32,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyDict>)> {
        rows.check_keys(py)?;
        let borrowed = rows.borrow()?;
        let snapshot = run(py, || self.handle.last_snapshot())?;
        let (ids, met) = run_change(py, &self.handle, borrowed.num_words(), |ticker| {
            let mut met = Found::new(snapshot.width(), snapshot.match_shape());
            let mut ids = Vec::new();
            let stored = &mut |id| {
                ids.push(id);
                if ids.len().is_multiple_of(ROWS_BETWEEN_CHECKS) { ticker.check() } else { Ok(()) }
            };
            self.handle.write(ticker, |writer| {
                ticker.check()?;
                with_texts_to_store(writer.key_storage(), &borrowed.rows(), |rows| {
                    writer.insert_if_new(rows, k, stored, &mut met)
                })
            })?;
            Ok((ids, met))
        })?;
        Ok((ids.into_pyarray(py), Columns::of(met, "query").into_dict(py)?))
    }

    fn delete(&self, py: Python<'_>, ids: PyReadonlyArray1<'_, u64>) -> PyResult<()> {
        let ids = ids.as_slice()?;
        run_change(py, &self.handle, ids.len(), |ticker| {
            self.handle.write(ticker, |writer| {
                ids.chunks(ROWS_BETWEEN_CHECKS).try_for_each(|some| {
                    ticker.check()?;
                    writer.delete(some)
                })
            })
        })
    }

    fn delete_ids(&self, py: Python<'_>, first: u64, last: u64) -> PyResult<u64> {
        self.change(py, None, |writer| writer.delete_ids(first..=last))
    }

    fn delete_keys(&self, py: Python<'_>, keys: Vec<String>) -> PyResult<u64> {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        self.change(py, None, |writer| writer.delete_keys(&keys))
    }

    fn delete_key_prefix(&self, py: Python<'_>, prefix: &str) -> PyResult<u64> {
        self.change(py, None, |writer| writer.delete_key_prefix(prefix))
    }

    fn set_checkpoint(&self, py: Python<'_>, checkpoint: &[u8]) -> PyResult<()> {
        run_change(py, &self.handle, 1, |ticker| {
            self.handle.write(ticker, |writer| writer.set_checkpoint(checkpoint))
        })
    }

    fn set_recipe(&self, py: Python<'_>, recipe: &str) -> PyResult<()> {
        self.change(py, None, |writer| writer.set_recipe(recipe))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        run_watched(py, None, |ticker| self.handle.commit(ticker))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, None, AnyWriter::flush)
    }

    fn compact(&self, py: Python<'_>, listener: Option<Py<PyAny>>) -> PyResult<()> {
        self.change(py, listener, AnyWriter::compact)
    }

    /// The numbers of ingested runs, of skipped runs and of ingested rows.
    fn ingest(
        &self,
        py: Python<'_>,
        folders: Vec<PathBuf>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64)> {
        let report = self.change(py, listener, |writer| writer.ingest(&folders))?;
        Ok((report.runs, report.skipped, report.rows))
    }

    /// Commits and releases the lock.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        run_watched(py, None, |ticker| self.handle.close(ticker))
    }

    /// Releases the lock and discards uncommitted changes.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| self.handle.abandon());
    }

    fn is_writing(&self, py: Python<'_>) -> bool {
        py.detach(|| self.handle.is_writing())
    }
}

/// The rows near one fingerprint.
fn matches(snapshot: &AnySnapshot, words: &[u64], query: Query) -> Result<Found> {
    let shape = Shape { groups: false, ..snapshot.match_shape() };
    let mut found = Found::new(snapshot.width(), shape);
    snapshot.query(words, query, &mut found)?;
    Ok(found)
}

fn within(k: u32, limit: Option<usize>) -> Query {
    limit.map_or(Query::within(k), |limit| Query::within(k).limit(limit))
}

/// File, section, offset, expected, found.
type Damage = (String, &'static str, u64, String, String);
