//! An open database: its snapshot, its writer, and the process that they belong to.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use nearprint::any::{AnyDatabase, AnySnapshot, AnyWriter};
use nearprint::{Error, Options, Progress, Result, Stage};

use crate::arguments::Settings;
use crate::stream::BLOCK_ROWS;
use crate::watch::{Ticker, address_of};

/// How often a call that waits for the writer tries again.
const RETRY: Duration = Duration::from_millis(5);

/// A handle on a database.
pub(crate) struct Handle {
    pub(crate) database: AnyDatabase,
    relay: Arc<Relay>,
    writing: Mutex<Writing>,
    reads: Reads,
    /// Whether a new writer waits for another one.
    waits_for_lock: bool,
    /// The process that opened the database.
    process: u32,
}

/// Forwards progress to the current call. What reports it, a writer or a follower, outlives each call.
pub(crate) struct Relay {
    current: Mutex<Arc<Ticker>>,
    process: u32,
}

impl Default for Relay {
    fn default() -> Self {
        Self { current: Mutex::default(), process: std::process::id() }
    }
}

impl Relay {
    pub(crate) fn forward_to(&self, ticker: Arc<Ticker>) {
        *lock(&self.current) = ticker;
    }
}

impl Progress for Relay {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        if std::process::id() != self.process {
            // The mutex may be held for ever, by a thread that only the parent has.
            return ControlFlow::Continue(());
        }
        let current = lock(&self.current).clone();
        current.report(stage, done, total)
    }
}

/// The writer, from the first change until the database is closed.
struct Writing {
    writer: Option<AnyWriter>,
    closed: bool,
}

/// What reads see in a process. The child of a fork has a slot of its own: a thread that only the parent has may hold
/// the mutex of the parent's for ever.
struct Reads {
    process: u32,
    reading: Mutex<Reading>,
    of_child: OnceLock<Box<Reads>>,
}

impl Reads {
    fn new(reading: Reading) -> Self {
        Self { process: std::process::id(), reading: Mutex::new(reading), of_child: OnceLock::new() }
    }

    /// The last slot, which is that of a parent until a child has its own.
    fn last(&self) -> &Self {
        self.of_child.get().map_or(self, |own| own.last())
    }
}

/// What reads see.
struct Reading {
    snapshot: AnySnapshot,
    /// Whether the next read takes a new snapshot: after a commit of this handle, and after a failure to
    /// take one.
    stale: bool,
    /// The number of rows of this snapshot, once it was counted.
    num_rows: Arc<OnceLock<u64>>,
}

impl Reading {
    fn new(snapshot: AnySnapshot) -> Self {
        Self { snapshot, stale: false, num_rows: Arc::default() }
    }

    /// Takes a new snapshot. After an error, every read tries again: the old snapshot may be from before
    /// a commit of this handle.
    fn renew(&mut self) -> Result<()> {
        self.stale = true;
        let snapshot = self.snapshot.refresh()?;
        *self = Self::new(snapshot);
        Ok(())
    }
}

/// Locks a mutex. A panic of another call leaves nothing half done behind these mutexes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the first reads of a process see.
fn first_reading(database: &AnyDatabase) -> Result<Reading> {
    Ok(Reading::new(database.snapshot()?.with_keys().with_block_rows(BLOCK_ROWS)))
}

impl Handle {
    /// Opens a handle. `open` makes or opens the database.
    pub(crate) fn new(
        settings: &Settings,
        open: impl FnOnce(Options) -> Result<AnyDatabase>,
    ) -> Result<Self> {
        let relay = Arc::new(Relay::default());
        let options = settings.options(address_of(&*relay));
        let waits_for_lock = !options.get_lock_wait().is_zero();
        let database = open(options.progress(relay.clone()))?;
        let reads = Reads::new(first_reading(&database)?);
        let writing = Writing { writer: None, closed: false };
        Ok(Self {
            database,
            relay,
            writing: Mutex::new(writing),
            reads,
            waits_for_lock,
            process: std::process::id(),
        })
    }

    /// The database with everything that this handle has committed.
    pub(crate) fn snapshot(&self) -> Result<AnySnapshot> {
        Ok(self.current()?.snapshot.clone())
    }

    /// What reads see in this process.
    fn reading(&self) -> Result<MutexGuard<'_, Reading>> {
        let parent = self.reads.last();
        if parent.process == std::process::id() {
            return Ok(lock(&parent.reading));
        }
        let inherited = match parent.reading.try_lock() {
            Ok(reading) => Reading {
                snapshot: reading.snapshot.clone(),
                stale: reading.stale,
                num_rows: Arc::new(
                    reading.num_rows.get().copied().map_or_else(OnceLock::new, OnceLock::from),
                ),
            },
            Err(_) => first_reading(&self.database)?,
        };
        // Made before: nothing waits for the thread that puts it there.
        let own = Box::new(Reads::new(inherited));
        Ok(lock(&parent.of_child.get_or_init(|| own).reading))
    }

    fn current(&self) -> Result<MutexGuard<'_, Reading>> {
        let mut reading = self.reading()?;
        if reading.stale || reading.snapshot.has_expired() {
            reading.renew()?;
        }
        Ok(reading)
    }

    /// The snapshot that the next read has, if nothing has to be waited for or read.
    pub(crate) fn ready_snapshot(&self) -> Option<AnySnapshot> {
        let reading = self.reads.last().reading.try_lock().ok()?;
        let is_current = !reading.stale && !reading.snapshot.has_expired();
        is_current.then(|| reading.snapshot.clone())
    }

    /// What was read last, for settings.
    pub(crate) fn last_snapshot(&self) -> Result<AnySnapshot> {
        Ok(self.reading()?.snapshot.clone())
    }

    /// The same, with progress.
    pub(crate) fn watched_snapshot(&self, ticker: &Arc<Ticker>) -> Result<AnySnapshot> {
        Ok(self.snapshot()?.with_progress(ticker.clone()))
    }

    /// The number of rows. Rows are counted one by one where several runs or deletions overlap.
    pub(crate) fn len(&self, ticker: &Arc<Ticker>) -> Result<u64> {
        let (snapshot, known) = {
            let reading = self.current()?;
            (reading.snapshot.clone(), reading.num_rows.clone())
        };
        // Another call may take a new snapshot while this one counts, which takes a number of its own.
        match known.get() {
            Some(num_rows) => Ok(*num_rows),
            None => {
                let num_rows = snapshot.with_progress(ticker.clone()).count_rows()?;
                Ok(*known.get_or_init(|| num_rows))
            }
        }
    }

    /// Takes a new snapshot, with what other processes have committed.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.reading()?.renew()
    }

    /// Waits for the writer until no other call uses it, or the ticker is cancelled.
    ///
    /// Fails after a fork: the child shares the lock and the log, and has none of the threads. Fails in a listener of
    /// the call that uses the writer, which waits for the listener.
    fn writing(&self, ticker: &Ticker) -> Result<MutexGuard<'_, Writing>> {
        if self.is_forked() {
            // The mutex may be held for ever, by a thread that only the parent has.
            return Err(self.forked());
        }
        let current = address_of(&**lock(&self.relay.current));
        if [address_of(&*self.relay), current].into_iter().any(|one| ticker.is_begun_by_listener_of(one)) {
            return Err(self.refusal("a listener was called by the writer, which waits for it"));
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

    fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    fn forked(&self) -> Error {
        Error::Forked { path: self.database.path().to_path_buf() }
    }

    fn refusal(&self, why: &'static str) -> Error {
        let path = self.database.path().to_path_buf();
        Error::Io { action: "write to", path, source: std::io::Error::other(why) }
    }

    /// Works with the writer, and opens it first if necessary.
    pub(crate) fn write<T>(
        &self,
        ticker: &Arc<Ticker>,
        work: impl FnOnce(&mut AnyWriter) -> Result<T>,
    ) -> Result<T> {
        let mut writing = self.writing(ticker)?;
        if writing.closed {
            return Err(self.refusal("the database is closed"));
        }
        self.relay.forward_to(ticker.clone());
        let done = match &mut writing.writer {
            Some(writer) => work(writer),
            none => self.database.writer().and_then(|writer| work(none.insert(writer))),
        };
        self.relay.forward_to(Arc::default());
        done
    }

    /// The same for work that makes something durable: later reads see it.
    pub(crate) fn write_through<T>(
        &self,
        ticker: &Arc<Ticker>,
        work: impl FnOnce(&mut AnyWriter) -> Result<T>,
    ) -> Result<T> {
        self.write(ticker, |writer| {
            let done = work(writer);
            self.reading()?.stale = true;
            done
        })
    }

    /// Commits, if there is a writer.
    pub(crate) fn commit(&self, ticker: &Arc<Ticker>) -> Result<()> {
        if self.writing(ticker)?.writer.is_none() {
            return Ok(());
        }
        self.write_through(ticker, AnyWriter::commit)
    }

    /// The checkpoint, committed or not.
    pub(crate) fn checkpoint(&self, ticker: &Ticker) -> Result<Option<Vec<u8>>> {
        if let Some(writer) = &self.writing(ticker)?.writer {
            return Ok(writer.checkpoint().map(<[u8]>::to_vec));
        }
        Ok(self.snapshot()?.checkpoint().map(<[u8]>::to_vec))
    }

    /// Commits and releases the lock.
    ///
    /// After a fork it does neither, and fails if a change of the parent waits to be committed, or may: while a call
    /// of the parent holds the writer.
    pub(crate) fn close(&self, ticker: &Arc<Ticker>) -> Result<()> {
        if self.is_forked() {
            let waits = |writing: &Writing| writing.writer.as_ref().is_some_and(AnyWriter::has_uncommitted);
            let is_idle = self.writing.try_lock().is_ok_and(|writing| !waits(&writing));
            return if is_idle { Ok(()) } else { Err(self.forked()) };
        }
        let mut writing = self.writing(ticker)?;
        writing.closed = true;
        self.relay.forward_to(ticker.clone());
        writing.writer.take().map_or(Ok(()), AnyWriter::close)
    }

    /// Releases the lock and discards uncommitted changes.
    pub(crate) fn abandon(&self) {
        if let Ok(mut writing) = self.writing(&Ticker::default()) {
            *writing = Writing { writer: None, closed: true };
        }
    }

    /// Whether a change waits: another call is using the writer, or there is none, and another process
    /// may be writing.
    pub(crate) fn may_wait(&self) -> bool {
        match self.writing.try_lock() {
            Err(error) => matches!(error, TryLockError::WouldBlock),
            Ok(writing) => self.waits_for_lock && writing.writer.is_none(),
        }
    }

    /// Whether there is a writer, and no call is using it.
    pub(crate) fn is_writing(&self) -> bool {
        !self.is_forked() && self.writing.try_lock().is_ok_and(|writing| writing.writer.is_some())
    }
}
