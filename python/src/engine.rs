//! A database of whatever width behind one trait: words go in, columns come out.

use std::any::Any;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use nearprint::{
    Builder, Database, Error, Explanation, Ingested, Options, Progress, Result, Row, Snapshot, Stage, Stats,
    Verification, Writer,
};
use pyo3::pybacked::PyBackedBytes;

use crate::columns::{Columns, Gathered, Pairs};
use crate::stream::{BLOCK_ROWS, Sink};
use crate::watch::Ticker;
use crate::words::{Words, words_of};

/// Rows to be inserted.
pub(crate) struct Batch<'a> {
    pub(crate) words: &'a [u64],
    pub(crate) ids: Option<&'a [u64]>,
    pub(crate) keys: Option<&'a [String]>,
    pub(crate) texts: Option<&'a [PyBackedBytes]>,
    /// Whether each row becomes the only one under its id.
    pub(crate) upsert: bool,
}

impl Batch<'_> {
    /// One by one, so that wide fingerprints are not copied.
    fn fingerprints<F: Words>(&self) -> impl ExactSizeIterator<Item = F> {
        self.words.chunks_exact(F::COUNT).map(F::from_row)
    }

    /// Refuses keys that are too long before anything is inserted.
    fn check_keys(&self) -> Result<()> {
        let too_long = |key: &String| key.len() > MAX_KEY_BYTES;
        match self.keys.and_then(|keys| keys.iter().position(too_long)) {
            Some(index) => {
                Err(Error::Option(format!("keys: item {index}: longer than 65,536 bytes of UTF-8")))
            }
            None => Ok(()),
        }
    }

    /// The id, key and text of a row.
    fn row(&self, index: usize) -> (Option<u64>, Option<&str>, &[u8]) {
        let id = self.ids.and_then(|ids| ids.get(index)).copied();
        let key = self.keys.and_then(|keys| keys.get(index)).map(String::as_str);
        let text = self.texts.and_then(|texts| texts.get(index)).map_or(&[][..], |text| text);
        (id, key, text)
    }
}

/// What a stream is to give.
pub(crate) enum Ask {
    Rows,
    Pairs { k: u32, ids: bool },
    Clusters { k: u32 },
}

/// What makes the blocks of a stream.
pub(crate) type Make = Box<dyn FnOnce(&Sink) -> Result<()> + Send>;

/// The longest key that databases keep.
const MAX_KEY_BYTES: usize = 1 << 16;
/// How often a call that waits for another one looks again.
const TURN: Duration = Duration::from_millis(5);
/// Rows inserted, or ids deleted, between two looks at whether to go on.
const ROWS_BETWEEN_CHECKS: usize = 1 << 14;

/// An open database.
pub(crate) trait Engine: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn width(&self) -> u32;
    /// Whether another call is writing.
    fn is_busy(&self) -> bool;

    fn default_k(&self) -> Result<u32>;
    fn recipe(&self) -> Result<Option<String>>;
    fn keeps_keys(&self) -> Result<Option<bool>>;
    fn checkpoint(&self, ticker: &Ticker) -> Result<Option<Vec<u8>>>;
    fn stats(&self) -> Result<Stats>;
    fn explain(&self, k: u32) -> Result<Explanation>;
    fn verify(&self, ticker: Arc<Ticker>) -> Result<Verification>;
    fn len(&self, ticker: &Ticker) -> Result<u64>;
    fn query(&self, words: &[u64], k: u32) -> Result<Columns>;
    fn query_batch(&self, ticker: Arc<Ticker>, words: &[u64], k: u32) -> Result<Columns>;
    fn nearest(&self, ticker: Arc<Ticker>, words: &[u64], count: usize, max_k: u32) -> Result<Columns>;
    fn fingerprints_of(&self, ticker: &Ticker, id: u64) -> Result<Vec<u64>>;
    fn texts_of(&self, words: &[u64], id: u64) -> Result<Vec<(String, Vec<u8>)>>;
    fn ids_of_key(&self, key: &str, everywhere: bool) -> Result<Vec<u64>>;
    fn stream(&self, ticker: Arc<Ticker>, ask: Ask) -> Result<Make>;
    /// Both have the same width.
    fn cross(&self, ticker: Arc<Ticker>, other: &dyn Engine, k: u32, ids: bool) -> Result<Make>;
    fn backup(&self, ticker: Arc<Ticker>, dest: &Path) -> Result<()>;
    fn refresh(&self) -> Result<()>;

    fn add(&self, ticker: &Arc<Ticker>, batch: &Batch<'_>) -> Result<Vec<u64>>;
    fn delete(&self, ticker: &Arc<Ticker>, ids: &[u64]) -> Result<()>;
    fn set_checkpoint(&self, ticker: &Arc<Ticker>, checkpoint: &[u8]) -> Result<()>;
    fn set_recipe(&self, ticker: &Arc<Ticker>, recipe: &str) -> Result<()>;
    fn commit(&self, ticker: &Arc<Ticker>) -> Result<()>;
    fn flush(&self, ticker: &Arc<Ticker>) -> Result<()>;
    fn compact(&self, ticker: &Arc<Ticker>) -> Result<()>;
    fn ingest(&self, ticker: &Arc<Ticker>, folders: &[PathBuf]) -> Result<Ingested>;
    /// Commits, and gives up the lock.
    fn close(&self, ticker: &Arc<Ticker>) -> Result<()>;
    /// Gives up the lock, and forgets what was not committed.
    fn abandon(&self);
    /// Whether the lock is held.
    fn is_writing(&self) -> bool;
}

/// An open database of one width.
pub(crate) struct Handle<F: Words> {
    database: Database<F>,
    relay: Arc<Relay>,
    held: Mutex<Held<F>>,
    seen: Mutex<Seen<F>>,
    /// The process that has opened it.
    process: u32,
}

/// Lets the writer, which is made with one listener, listen to whichever call it works for.
#[derive(Default)]
struct Relay {
    current: Mutex<Arc<Ticker>>,
}

impl Relay {
    fn listen(&self, ticker: Arc<Ticker>) {
        *lock(&self.current) = ticker;
    }
}

impl Progress for Relay {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let current = lock(&self.current).clone();
        current.report(stage, done, total)
    }
}

/// What writes, from the first write on until the database is closed.
struct Held<F: Words> {
    writer: Option<Writer<F>>,
    closed: bool,
}

/// What reads see.
struct Seen<F> {
    snapshot: Snapshot<F>,
    /// Whether something was committed since.
    stale: bool,
    /// Number of rows, once somebody has asked.
    rows: Option<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Words> Handle<F> {
    pub(crate) fn create(path: &Path, options: Options) -> Result<Self> {
        Database::<F>::create(path, options.clone())?;
        Self::open(path, options)
    }

    pub(crate) fn open(path: &Path, options: Options) -> Result<Self> {
        let relay = Arc::new(Relay::default());
        let database = Database::open_with(path, options.progress(relay.clone()))?;
        let seen = Seen { snapshot: database.snapshot()?, stale: false, rows: None };
        let held = Held { writer: None, closed: false };
        Ok(Self {
            database,
            relay,
            held: Mutex::new(held),
            seen: Mutex::new(seen),
            process: std::process::id(),
        })
    }

    fn snapshot(&self) -> Result<Snapshot<F>> {
        let mut seen = lock(&self.seen);
        if seen.stale {
            let snapshot = seen.snapshot.refresh()?;
            *seen = Seen { snapshot, stale: false, rows: None };
        }
        Ok(seen.snapshot.clone())
    }

    /// What writes, in the process that has opened it: a fork shares its lock and its log, and has none of its
    /// threads. Waits for other calls that write, unless this one is to end.
    fn held(&self, ticker: &Ticker) -> Result<MutexGuard<'_, Held<F>>> {
        if std::process::id() != self.process {
            return Err(self.refusal("it was opened before a fork; open it anew in this process"));
        }
        loop {
            match self.held.try_lock() {
                Ok(held) => return Ok(held),
                Err(TryLockError::Poisoned(held)) => return Ok(held.into_inner()),
                Err(TryLockError::WouldBlock) => ticker.check()?,
            }
            std::thread::sleep(TURN);
        }
    }

    fn refusal(&self, why: &'static str) -> Error {
        let path = self.database.path().to_path_buf();
        Error::Io { action: "write to", path, source: std::io::Error::other(why) }
    }

    /// Works with the writer, which is opened for it if it is not yet.
    fn write<T>(&self, ticker: &Arc<Ticker>, work: impl FnOnce(&mut Writer<F>) -> Result<T>) -> Result<T> {
        let mut held = self.held(ticker)?;
        if held.closed {
            return Err(self.refusal("the database is closed"));
        }
        let writer = match &mut held.writer {
            Some(writer) => writer,
            none => none.insert(self.database.writer()?),
        };
        self.relay.listen(ticker.clone());
        let done = work(writer);
        self.relay.listen(Arc::default());
        done
    }

    /// The same for work that commits: reads that begin later see that.
    fn write_through<T>(
        &self,
        ticker: &Arc<Ticker>,
        work: impl FnOnce(&mut Writer<F>) -> Result<T>,
    ) -> Result<T> {
        self.write(ticker, |writer| {
            let done = work(writer);
            lock(&self.seen).stale = true;
            done
        })
    }
}

impl<F: Words> Drop for Handle<F> {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
            // The lock, the log and the threads belong to the process that has opened it.
            std::mem::forget(held.writer.take());
        }
    }
}

impl<F: Words> Engine for Handle<F> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn width(&self) -> u32 {
        F::BITS
    }

    fn is_busy(&self) -> bool {
        matches!(self.held.try_lock(), Err(TryLockError::WouldBlock))
    }

    fn default_k(&self) -> Result<u32> {
        Ok(self.snapshot()?.default_k())
    }

    fn recipe(&self) -> Result<Option<String>> {
        Ok(self.snapshot()?.recipe().map(str::to_owned))
    }

    fn keeps_keys(&self) -> Result<Option<bool>> {
        Ok(self.snapshot()?.key_storage())
    }

    fn checkpoint(&self, ticker: &Ticker) -> Result<Option<Vec<u8>>> {
        if let Some(writer) = &self.held(ticker)?.writer {
            return Ok(writer.checkpoint().map(<[u8]>::to_vec));
        }
        Ok(self.snapshot()?.checkpoint().map(<[u8]>::to_vec))
    }

    fn stats(&self) -> Result<Stats> {
        Ok(self.snapshot()?.stats())
    }

    fn explain(&self, k: u32) -> Result<Explanation> {
        Ok(self.snapshot()?.explain(k))
    }

    fn verify(&self, ticker: Arc<Ticker>) -> Result<Verification> {
        Database::<F>::open_with(self.database.path(), Options::new().progress(ticker))?.verify()
    }

    fn len(&self, ticker: &Ticker) -> Result<u64> {
        let snapshot = self.snapshot()?;
        if let Some(rows) = lock(&self.seen).rows {
            return Ok(rows);
        }
        let stats = snapshot.stats();
        let mut rows = stats.rows;
        if stats.runs.len() > 1 || stats.tombstones > 0 {
            rows = 0;
            snapshot.visit_rows(|_| {
                rows += 1;
                ticker.check()
            })?;
        }
        let mut seen = lock(&self.seen);
        if !seen.stale {
            seen.rows = Some(rows);
        }
        Ok(rows)
    }

    fn query(&self, words: &[u64], k: u32) -> Result<Columns> {
        let snapshot = self.snapshot()?;
        let mut gathered = Gathered::new(&snapshot, None, true);
        for found in snapshot.query(F::from_row(words), k)? {
            gathered.push_match(0, &found)?;
        }
        Ok(gathered.take())
    }

    fn query_batch(&self, ticker: Arc<Ticker>, words: &[u64], k: u32) -> Result<Columns> {
        let snapshot = self.snapshot()?.with_progress(ticker.clone());
        let mut gathered = Gathered::new(&snapshot, Some("query"), true);
        snapshot.query_batch(&F::list(words), k, |query, matches| {
            matches.iter().try_for_each(|found| gathered.push_match(query, found))?;
            ticker.check()
        })?;
        Ok(gathered.take())
    }

    fn nearest(&self, ticker: Arc<Ticker>, words: &[u64], count: usize, max_k: u32) -> Result<Columns> {
        let snapshot = self.snapshot()?.with_progress(ticker.clone());
        let mut gathered = Gathered::new(&snapshot, Some("query"), true);
        snapshot.nearest_batch(&F::list(words), count, max_k, |query, matches| {
            matches.iter().try_for_each(|found| gathered.push_match(query, found))?;
            ticker.check()
        })?;
        Ok(gathered.take())
    }

    fn fingerprints_of(&self, ticker: &Ticker, id: u64) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        self.snapshot()?.visit_rows(|row| {
            if row.id == id {
                found.push(row.fingerprint);
            }
            ticker.check()
        })?;
        Ok(words_of(found))
    }

    fn texts_of(&self, words: &[u64], id: u64) -> Result<Vec<(String, Vec<u8>)>> {
        let keys = self.snapshot()?.keys_of(Row { fingerprint: F::from_row(words), id })?;
        Ok(keys.into_iter().map(|key| (key.key, key.text)).collect())
    }

    fn ids_of_key(&self, key: &str, everywhere: bool) -> Result<Vec<u64>> {
        self.snapshot()?.ids_of_key(key, everywhere)
    }

    fn stream(&self, ticker: Arc<Ticker>, ask: Ask) -> Result<Make> {
        let snapshot = self.snapshot()?.with_progress(ticker.clone());
        Ok(match ask {
            Ask::Rows => Box::new(move |sink| send_rows(&snapshot, &ticker, sink)),
            Ask::Pairs { k, ids: false } => Box::new(move |sink| {
                let mut pairs = Pairs::default();
                snapshot.visit_pairs(k, |block| {
                    pairs.extend(block);
                    if pairs.len() >= BLOCK_ROWS { sink.send(pairs.take()) } else { ticker.check() }
                })?;
                sink.send(pairs.take())
            }),
            Ask::Pairs { k, ids: true } => Box::new(move |sink| {
                let mut pairs = Pairs::of_rows();
                snapshot.visit_row_pairs(k, |a, b, distance| {
                    pairs.push_rows(a, b, distance);
                    if pairs.len() >= BLOCK_ROWS { sink.send(pairs.take()) } else { ticker.check() }
                })?;
                sink.send(pairs.take())
            }),
            Ask::Clusters { k } => Box::new(move |sink| {
                let mut gathered = Gathered::new(&snapshot, Some("cluster"), false);
                let mut cluster = 0;
                snapshot.visit_clusters(k, |rows| {
                    rows.iter().try_for_each(|&row| gathered.push(cluster, row, 0))?;
                    cluster += 1;
                    if gathered.len() >= BLOCK_ROWS { sink.send(gathered.take()) } else { ticker.check() }
                })?;
                sink.send(gathered.take())
            }),
        })
    }

    fn cross(&self, ticker: Arc<Ticker>, other: &dyn Engine, k: u32, ids: bool) -> Result<Make> {
        let Some(other) = other.as_any().downcast_ref::<Self>() else {
            let path = self.database.path().to_path_buf();
            return Err(Error::Width { path, database: F::BITS, requested: other.width() });
        };
        let (one, other) = (self.snapshot()?.with_progress(ticker.clone()), other.snapshot()?);
        Ok(Box::new(move |sink| {
            let mut pairs = if ids { Pairs::of_rows() } else { Pairs::default() };
            let send_full = |pairs: &mut Pairs| {
                if pairs.len() >= BLOCK_ROWS { sink.send(pairs.take()) } else { ticker.check() }
            };
            if ids {
                one.visit_cross_rows(&other, k, |a, b, distance| {
                    pairs.push_rows(a, b, distance);
                    send_full(&mut pairs)
                })?;
            } else {
                one.visit_cross(&other, k, |block| {
                    pairs.extend(block);
                    send_full(&mut pairs)
                })?;
            }
            sink.send(pairs.take())
        }))
    }

    fn backup(&self, ticker: Arc<Ticker>, dest: &Path) -> Result<()> {
        self.snapshot()?.with_progress(ticker).backup(dest)
    }

    fn refresh(&self) -> Result<()> {
        lock(&self.seen).stale = true;
        self.snapshot().map(drop)
    }

    fn add(&self, ticker: &Arc<Ticker>, batch: &Batch<'_>) -> Result<Vec<u64>> {
        let fingerprints = batch.fingerprints::<F>();
        batch.check_keys()?;
        self.write(ticker, |writer| {
            let mut ids = Vec::with_capacity(fingerprints.len());
            for (index, fingerprint) in fingerprints.enumerate() {
                if index.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                    ticker.check()?;
                }
                ids.push(match (batch.row(index), batch.upsert) {
                    ((id, Some(key), text), false) => writer.insert_keyed(fingerprint, id, key, text)?,
                    ((id, Some(key), text), true) => writer.upsert_keyed(fingerprint, id, key, text)?,
                    ((Some(id), None, _), true) => writer.upsert(fingerprint, id).map(|()| id)?,
                    ((id, None, _), _) => writer.insert(fingerprint, id)?,
                });
            }
            Ok(ids)
        })
    }

    fn delete(&self, ticker: &Arc<Ticker>, ids: &[u64]) -> Result<()> {
        self.write(ticker, |writer| {
            for some in ids.chunks(ROWS_BETWEEN_CHECKS) {
                ticker.check()?;
                some.iter().try_for_each(|&id| writer.delete(id))?;
            }
            Ok(())
        })
    }

    fn set_checkpoint(&self, ticker: &Arc<Ticker>, checkpoint: &[u8]) -> Result<()> {
        self.write(ticker, |writer| writer.set_checkpoint(checkpoint))
    }

    fn set_recipe(&self, ticker: &Arc<Ticker>, recipe: &str) -> Result<()> {
        self.write_through(ticker, |writer| writer.set_recipe(recipe))
    }

    fn commit(&self, ticker: &Arc<Ticker>) -> Result<()> {
        if self.held(ticker)?.writer.is_none() {
            return Ok(());
        }
        self.write_through(ticker, Writer::commit)
    }

    fn flush(&self, ticker: &Arc<Ticker>) -> Result<()> {
        self.write_through(ticker, Writer::flush)
    }

    fn compact(&self, ticker: &Arc<Ticker>) -> Result<()> {
        self.write_through(ticker, Writer::compact)
    }

    fn ingest(&self, ticker: &Arc<Ticker>, folders: &[PathBuf]) -> Result<Ingested> {
        self.write_through(ticker, |writer| writer.ingest(folders))
    }

    fn close(&self, ticker: &Arc<Ticker>) -> Result<()> {
        let mut held = self.held(ticker)?;
        held.closed = true;
        self.relay.listen(ticker.clone());
        held.writer.take().map_or(Ok(()), Writer::close)
    }

    fn abandon(&self) {
        if let Ok(mut held) = self.held(&Ticker::default()) {
            *held = Held { writer: None, closed: true };
        }
    }

    fn is_writing(&self) -> bool {
        std::process::id() == self.process && self.held.try_lock().is_ok_and(|held| held.writer.is_some())
    }
}

fn send_rows<F: Words>(snapshot: &Snapshot<F>, ticker: &Ticker, sink: &Sink) -> Result<()> {
    let mut gathered = Gathered::new(snapshot, None, false);
    snapshot.visit_rows(|row| {
        gathered.push(0, row, 0)?;
        if gathered.len() >= BLOCK_ROWS { sink.send(gathered.take()) } else { ticker.check() }
    })?;
    sink.send(gathered.take())
}

/// Makes a database of rows that are there already.
pub(crate) fn build<F: Words>(builder: Builder<F>, batch: &Batch<'_>, ticker: &Ticker) -> Result<()> {
    let mut builder = builder;
    for (index, fingerprint) in batch.fingerprints::<F>().enumerate() {
        if index.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            ticker.check()?;
        }
        match batch.row(index) {
            (id, Some(key), text) => builder.push_keyed(fingerprint, id, key, text)?,
            (id, None, _) => builder.push(fingerprint, id)?,
        };
    }
    builder.finish().map(drop)
}
