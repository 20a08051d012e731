//! How a handle on a database works.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::event::{Event, Listener};
use crate::progress::{Progress, Stage};

/// How a handle on a database works: threads, memory, progress. None of them is stored: stored
/// settings are in [`Schema`](crate::Schema).
///
/// Databases are made and opened with [`create`](Options::create), [`open`](Options::open),
/// [`build`](Options::build) and [`repair`](Options::repair). Functions over [lists](crate::list) take
/// options, too.
///
/// ```
/// use nearprint::{Options, Schema};
/// # let home = tempfile::tempdir()?;
/// let options = Options::new().threads(2).memory_bytes(256 << 20); // or Database::options()
/// let database = options.create::<u64>(home.path().join("seen.np"), &Schema::new())?;
/// assert_eq!((database.snapshot()?.stats().rows, options.get_threads()), (0, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) memory_bytes: usize,
    pub(crate) threads: usize,
    /// `None` if that depends on the database.
    pub(crate) memtable_rows: Option<usize>,
    pub(crate) background_merges: bool,
    /// Whether the run of a sealed log is made when a commit waits for it: what a thread does at any
    /// time is done at a known one.
    pub(crate) deferred_flushes: bool,
    pub(crate) merges: bool,
    pub(crate) keep_log_bytes: u64,
    /// 0 for any.
    pub(crate) merge_bytes_per_second: u64,
    pub(crate) lock_wait: Duration,
    pub(crate) progress: Option<Arc<dyn Progress>>,
    pub(crate) listener: Listener,
}

/// The least rate of merges, in bytes per second: 1 MiB. A writer that is dropped waits for a write.
const MIN_MERGE_RATE: u64 = 1 << 20;

/// The least memory that a build accepts: 1 MiB.
pub(crate) const MIN_MEMORY_BYTES: usize = 1 << 20;

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// 1 GiB of memory, all cores, a memtable as large as suits the database, merges in the background, no waiting
    /// for locks, no progress callback.
    #[must_use]
    pub fn new() -> Self {
        // To count the cores takes 20 us: Linux reads the limits of control groups from files.
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            memory_bytes: 1 << 30,
            threads: *CORES.get_or_init(cores),
            memtable_rows: None,
            background_merges: true,
            deferred_flushes: false,
            merges: true,
            keep_log_bytes: 0,
            merge_bytes_per_second: 0,
            lock_wait: Duration::ZERO,
            progress: None,
            listener: Listener::default(),
        }
    }

    /// The memory of a build, mapped files aside; at least 1 MiB.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// The number of threads; 0 counts as 1. Results do not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// The number of operations that a writer gathers in memory and in its log before it writes a run; at
    /// least 1. A larger commit becomes a run at once. The default is 65,536, and 262,144 in a database with
    /// a [recipe](crate::Schema::recipe), whose runs take longer to make and to search.
    #[must_use]
    pub fn memtable_rows(mut self, rows: usize) -> Self {
        self.memtable_rows = Some(rows.max(1));
        self
    }

    /// Whether a writer flushes and merges on threads of its own (the default), or inside of its
    /// commits. With threads of its own a commit waits only when a second memtable is full before the
    /// first one is a run, or when there are many runs to merge.
    #[must_use]
    pub fn background_merges(mut self, background: bool) -> Self {
        self.background_merges = background;
        self
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn deferred_flushes(mut self) -> Self {
        self.deferred_flushes = true;
        self
    }

    /// Whether a writer merges runs by itself (the default). Otherwise queries search more and more
    /// runs, until [`Writer::compact`](crate::Writer::compact) merges them all.
    #[must_use]
    pub fn merges(mut self, merges: bool) -> Self {
        self.merges = merges;
        self
    }

    /// The longest log, in bytes, that a writer leaves when it [closes](crate::Writer::close), and continues
    /// when it opens a database. A longer log becomes a run; 0, the default, leaves none. Use it for small
    /// databases and small additions: a run takes several files of at least 24 KiB, and a log 16 bytes a row
    /// of 64 bits. Opening the database reads the log and sorts its rows, and queries scan them.
    #[must_use]
    pub fn keep_log(mut self, bytes: u64) -> Self {
        self.keep_log_bytes = bytes;
        self
    }

    /// The most bytes that each merge of a writer writes in a second; at least 1 MiB, and 0, the
    /// default, for any number. [`Writer::compact`](crate::Writer::compact) is not limited.
    #[must_use]
    pub fn merge_rate(mut self, bytes_per_second: u64) -> Self {
        let limited = bytes_per_second > 0;
        self.merge_bytes_per_second = if limited { bytes_per_second.max(MIN_MERGE_RATE) } else { 0 };
        self
    }

    /// How long a new writer waits for another one to end, before it fails with
    /// [`Error::Locked`]. Waiting is reported as progress, and can be cancelled there. Writers that
    /// wait get their turns in no particular order.
    #[must_use]
    pub fn lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// The progress callback of long operations.
    #[must_use]
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// A callback for when a writer has flushed, merged or dropped runs, or had to wait. The thread that
    /// calls the writer calls it, before its own call returns.
    #[must_use]
    pub fn on_event(mut self, listen: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listener = Listener::new(listen);
        self
    }

    /// The number of threads.
    #[must_use]
    pub fn get_threads(&self) -> usize {
        self.threads
    }

    /// How long a new writer waits for another one.
    #[must_use]
    pub fn get_lock_wait(&self) -> Duration {
        self.lock_wait
    }

    /// The memory of a build, in bytes.
    #[must_use]
    pub fn get_memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    pub(crate) fn without_progress(mut self) -> Self {
        self.progress = None;
        self
    }

    /// Reports progress. Fails where the callback cancels.
    pub(crate) fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> Result<()> {
        match self.progress.as_ref().map(|progress| progress.report(stage, done, total)) {
            Some(ControlFlow::Break(())) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Adds up the progress of a stage over all threads, and reports it.
    pub(crate) fn counter(&self, stage: Stage, total: u64) -> impl Fn(u64) -> Result<()> + Sync + '_ {
        let done = Sum::default();
        move |more| done.add(more, |done| self.report(stage, done, Some(total)))
    }

    /// Refuses too little memory.
    pub(crate) fn check(&self) -> Result<()> {
        if self.memory_bytes < MIN_MEMORY_BYTES {
            return Err(Error::TooLittleMemory { bytes: self.memory_bytes, least: MIN_MEMORY_BYTES });
        }
        Ok(())
    }
}

/// What all threads of a stage have done.
#[derive(Debug, Default)]
pub(crate) struct Sum(Mutex<u64>);

impl Sum {
    /// Adds to the sum, and reports it. No thread reports less than another one before it.
    pub(crate) fn add(&self, more: u64, report: impl FnOnce(u64) -> Result<()>) -> Result<()> {
        let mut done = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *done += more;
        report(*done)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("memory_bytes", &self.memory_bytes)
            .field("threads", &self.threads)
            .field("memtable_rows", &self.memtable_rows)
            .field("background_merges", &self.background_merges)
            .field("merges", &self.merges)
            .field("merge_bytes_per_second", &self.merge_bytes_per_second)
            .field("lock_wait", &self.lock_wait)
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_progress_of_two_threads_went_back() {
        #[derive(Default)]
        struct Last(Mutex<u64>);
        impl Progress for Last {
            fn report(&self, _: Stage, done: u64, _: Option<u64>) -> ControlFlow<()> {
                let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let is_more = done > *last;
                *last = done;
                if is_more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            }
        }
        let options = Options::new().progress(Arc::new(Last::default()));
        let counter = options.counter(Stage::Answering, 400_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!((0..100_000).all(|_| counter(1).is_ok())));
            }
        });
    }
}
