//! An open database: its snapshot, its writer, and the process that they belong to.
//!
//! [`AnyHandle`] erases the width. [`typed!`] and the `match` expressions here are the only code
//! that lists the widths; everything else is generic over the fingerprint.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use nearprint::{
    AnyDatabase, Database, Error, Fingerprint, Options, Progress, Result, Schema, Snapshot, Stage, U256,
    Width, Writer,
};

use crate::stream::Search;
use crate::watch::Ticker;

/// How often a call that waits for the writer tries again.
const RETRY: Duration = Duration::from_millis(5);

/// A handle on a database of any width.
pub(crate) enum AnyHandle {
    W64(Handle<u64>),
    W128(Handle<u128>),
    W256(Handle<U256>),
}

/// Evaluates an expression on a handle, whatever its width.
macro_rules! typed {
    ($any:expr, $handle:ident => $result:expr) => {
        match $any {
            $crate::handle::AnyHandle::W64($handle) => $result,
            $crate::handle::AnyHandle::W128($handle) => $result,
            $crate::handle::AnyHandle::W256($handle) => $result,
        }
    };
}
pub(crate) use typed;

impl AnyHandle {
    /// Makes an empty database and opens it.
    pub(crate) fn create(path: &Path, width: Width, schema: Schema, options: Options) -> Result<Self> {
        Self::with_relay(options, |options| options.create_any(path, width, &schema))
    }

    /// Opens a database.
    pub(crate) fn open(path: &Path, options: Options) -> Result<Self> {
        Self::with_relay(options, |options| options.open_any(path))
    }

    fn with_relay(options: Options, open: impl FnOnce(Options) -> Result<AnyDatabase>) -> Result<Self> {
        let relay = Arc::new(Relay::default());
        Ok(match open(options.progress(relay.clone()))? {
            AnyDatabase::W64(database) => Self::W64(Handle::new(database, relay)?),
            AnyDatabase::W128(database) => Self::W128(Handle::new(database, relay)?),
            AnyDatabase::W256(database) => Self::W256(Handle::new(database, relay)?),
        })
    }

    /// The width in bits.
    pub(crate) fn bits(&self) -> u32 {
        typed!(self, handle => handle.bits())
    }

    /// A search for the pairs between this database and another one of the same width.
    pub(crate) fn cross(&self, other: &Self, ticker: &Arc<Ticker>, k: u32, has_ids: bool) -> Result<Search> {
        match (self, other) {
            (Self::W64(one), Self::W64(other)) => one.cross(other, ticker, k, has_ids),
            (Self::W128(one), Self::W128(other)) => one.cross(other, ticker, k, has_ids),
            (Self::W256(one), Self::W256(other)) => one.cross(other, ticker, k, has_ids),
            _ => {
                let path = typed!(self, handle => handle.database.path().to_path_buf());
                Err(Error::Width { path, database: self.bits(), requested: other.bits() })
            }
        }
    }
}

/// A handle on a database of one width.
pub(crate) struct Handle<F: Fingerprint> {
    pub(crate) database: Database<F>,
    relay: Arc<Relay>,
    writing: Mutex<Writing<F>>,
    pub(crate) reading: Mutex<Reading<F>>,
    /// The process that opened the database.
    process: u32,
}

/// Forwards the progress of the writer to the current call. The writer outlives each call.
#[derive(Default)]
struct Relay {
    current: Mutex<Arc<Ticker>>,
}

impl Relay {
    fn forward_to(&self, ticker: Arc<Ticker>) {
        *lock(&self.current) = ticker;
    }
}

impl Progress for Relay {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let current = lock(&self.current).clone();
        current.report(stage, done, total)
    }
}

/// The writer, from the first change until the database is closed.
struct Writing<F: Fingerprint> {
    writer: Option<Writer<F>>,
    closed: bool,
}

/// What reads see.
pub(crate) struct Reading<F> {
    snapshot: Snapshot<F>,
    /// Whether the next read takes a new snapshot: after a commit of this handle.
    pub(crate) stale: bool,
    /// The number of rows, once it was counted.
    pub(crate) num_rows: Option<u64>,
}

impl<F: Fingerprint> Reading<F> {
    /// Takes a new snapshot. After an error, reads have the old one.
    fn renew(&mut self) -> Result<()> {
        match self.snapshot.refresh() {
            Ok(snapshot) => {
                *self = Self { snapshot, stale: false, num_rows: None };
                Ok(())
            }
            Err(error) => {
                // What was committed last is elsewhere, and no later read would find it. After any
                // other error, the next read tries again.
                self.stale &= !matches!(error, Error::Replaced { .. } | Error::NotADatabase { .. });
                Err(error)
            }
        }
    }
}

/// Locks a mutex. A panic of another call leaves nothing half done behind these mutexes.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: Fingerprint> Handle<F> {
    fn new(database: Database<F>, relay: Arc<Relay>) -> Result<Self> {
        let reading = Reading { snapshot: database.snapshot()?, stale: false, num_rows: None };
        let writing = Writing { writer: None, closed: false };
        Ok(Self {
            database,
            relay,
            writing: Mutex::new(writing),
            reading: Mutex::new(reading),
            process: std::process::id(),
        })
    }

    fn bits(&self) -> u32 {
        F::BITS
    }

    /// The database with everything that this handle has committed.
    pub(crate) fn snapshot(&self) -> Result<Snapshot<F>> {
        let mut reading = lock(&self.reading);
        if reading.stale {
            reading.renew()?;
        }
        Ok(reading.snapshot.clone())
    }

    /// What was read last, for settings.
    pub(crate) fn last_snapshot(&self) -> Snapshot<F> {
        lock(&self.reading).snapshot.clone()
    }

    /// The same, with progress.
    pub(crate) fn watched_snapshot(&self, ticker: &Arc<Ticker>) -> Result<Snapshot<F>> {
        Ok(self.snapshot()?.with_progress(ticker.clone()))
    }

    /// Takes a new snapshot, with what other processes have committed.
    pub(crate) fn refresh(&self) -> Result<()> {
        lock(&self.reading).renew()
    }

    /// Waits for the writer until no other call uses it, or the ticker is cancelled.
    ///
    /// Fails after a fork: the child shares the lock and the log, and has none of the threads.
    fn writing(&self, ticker: &Ticker) -> Result<MutexGuard<'_, Writing<F>>> {
        if std::process::id() != self.process {
            // The mutex may be held for ever, by a thread that only the parent has.
            return Err(Error::Forked { path: self.database.path().to_path_buf() });
        }
        loop {
            match self.writing.try_lock() {
                Ok(writing) => return Ok(writing),
                Err(TryLockError::Poisoned(writing)) => return Ok(writing.into_inner()),
                Err(TryLockError::WouldBlock) => ticker.check()?,
            }
            std::thread::sleep(RETRY);
        }
    }

    fn refusal(&self, why: &'static str) -> Error {
        let path = self.database.path().to_path_buf();
        Error::Io { action: "write to", path, source: std::io::Error::other(why) }
    }

    /// Works with the writer, and opens it first if necessary.
    pub(crate) fn write<T>(
        &self,
        ticker: &Arc<Ticker>,
        work: impl FnOnce(&mut Writer<F>) -> Result<T>,
    ) -> Result<T> {
        let mut writing = self.writing(ticker)?;
        if writing.closed {
            return Err(self.refusal("the database is closed"));
        }
        let writer = match &mut writing.writer {
            Some(writer) => writer,
            none => none.insert(self.database.writer()?),
        };
        self.relay.forward_to(ticker.clone());
        let done = work(writer);
        self.relay.forward_to(Arc::default());
        done
    }

    /// The same for work that commits: later reads see its changes.
    pub(crate) fn write_through<T>(
        &self,
        ticker: &Arc<Ticker>,
        work: impl FnOnce(&mut Writer<F>) -> Result<T>,
    ) -> Result<T> {
        self.write(ticker, |writer| {
            let done = work(writer);
            lock(&self.reading).stale = true;
            done
        })
    }

    /// Commits, if there is a writer.
    pub(crate) fn commit(&self, ticker: &Arc<Ticker>) -> Result<()> {
        if self.writing(ticker)?.writer.is_none() {
            return Ok(());
        }
        self.write_through(ticker, Writer::commit)
    }

    /// The checkpoint, committed or not.
    pub(crate) fn checkpoint(&self, ticker: &Ticker) -> Result<Option<Vec<u8>>> {
        if let Some(writer) = &self.writing(ticker)?.writer {
            return Ok(writer.checkpoint().map(<[u8]>::to_vec));
        }
        Ok(self.snapshot()?.checkpoint().map(<[u8]>::to_vec))
    }

    /// Commits and releases the lock.
    pub(crate) fn close(&self, ticker: &Arc<Ticker>) -> Result<()> {
        let mut writing = self.writing(ticker)?;
        writing.closed = true;
        self.relay.forward_to(ticker.clone());
        writing.writer.take().map_or(Ok(()), Writer::close)
    }

    /// Releases the lock and discards uncommitted changes.
    pub(crate) fn abandon(&self) {
        if let Ok(mut writing) = self.writing(&Ticker::default()) {
            *writing = Writing { writer: None, closed: true };
        }
    }

    /// Whether another call is using the writer.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.writing.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Whether there is a writer, and no call is using it.
    pub(crate) fn is_writing(&self) -> bool {
        std::process::id() == self.process
            && self.writing.try_lock().is_ok_and(|writing| writing.writer.is_some())
    }
}
