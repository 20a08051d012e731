//! What a writer does besides what it is called for.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What a writer has done by itself, or has waited for.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use nearprint::{Event, Options, Schema};
/// # let home = tempfile::tempdir()?;
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let log = seen.clone();
/// let options = Options::new().on_event(move |event| log.lock().unwrap().push(event.clone()));
/// let database = options.create::<u64>(home.path().join("seen.np"), &Schema::new())?;
/// let mut writer = database.writer()?;
/// writer.insert(7)?;
/// writer.close()?;
/// assert!(matches!(seen.lock().unwrap()[..], [Event::Flush { rows: 1, .. }]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Unflushed rows have become a run.
    Flush {
        /// Its rows.
        rows: u64,
        /// The bytes of its files.
        bytes: u64,
        /// How long it took to make.
        took: Duration,
    },
    /// Runs have become one.
    Merge {
        /// How many.
        runs: usize,
        /// The rows of the new run; 0 if none was left.
        rows: u64,
        /// The bytes of its files.
        bytes: u64,
        /// How long it took to make.
        took: Duration,
    },
    /// Runs were dropped whose rows have [expired](crate::Schema::expire_after).
    Expiry {
        /// How many.
        runs: usize,
        /// Their rows.
        rows: u64,
    },
    /// A call has waited for a flush or a merge that was not finished.
    Stall {
        /// How long.
        took: Duration,
    },
    /// The last commit to the database lies more than five minutes in the future: the clock was ahead, or it is
    /// behind now. Rows that were inserted under a clock that was ahead [expire](crate::Schema::expire_after) later,
    /// and so do those that are inserted until then.
    Clock {
        /// When the manifest or the log was written last.
        last_commit: SystemTime,
        /// The time of the clock.
        now: SystemTime,
    },
}

type Listen = dyn Fn(&Event) + Send + Sync;

/// Receives events.
#[derive(Clone, Default)]
pub(crate) struct Listener(Option<Arc<Listen>>);

impl Listener {
    pub(crate) fn new(listen: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listen)))
    }

    pub(crate) fn tell(&self, event: &Event) {
        self.0.iter().for_each(|listen| listen(event));
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a listener" } else { "no listener" })
    }
}
