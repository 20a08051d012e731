//! How databases are made, opened and worked on.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::format::manifest::MAX_RECIPE_BYTES;
use crate::layout::LayoutChoice;

/// What a long operation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Taking rows in. Counted in rows.
    Reading,
    /// Sorting or merging rows, writing them and the first table. Counted in rows.
    Merging,
    /// Writing the other tables. Counted in fingerprints, over all of those tables.
    Tables,
    /// Comparing fingerprints with each other, table by table. Counted in fingerprints, over all tables
    /// in use.
    Joining,
    /// Checking files. Counted in files.
    Verifying,
    /// Copying runs. Counted in bytes.
    Copying,
    /// Making fingerprints of texts. Counted in files.
    Fingerprinting,
    /// Comparing texts with each other. Counted in groups.
    Confirming,
    /// Answering queries. Counted in queries.
    Answering,
}

/// Told how many more units of a stage are done, also none; may end the work, and then does so for good.
pub(crate) type ProgressFn<'a> = &'a (dyn Fn(u64) -> Result<()> + Sync);

/// For work that nobody listens to.
pub(crate) const NO_PROGRESS: ProgressFn<'static> = &|_| Ok(());

/// Listens to long operations, and may end them.
///
/// Called from several threads, every few thousand rows.
pub trait Progress: Send + Sync {
    /// `done` of `total` units of the stage are done; the total is unknown while rows are read.
    /// [`ControlFlow::Break`] makes the operation clean up and end with [`Error::Interrupted`].
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()>;
}

/// Settings of a database and of the work on it.
///
/// ```
/// use nearprint::{LayoutChoice, Options};
/// let options = Options::new().k(6).layout(LayoutChoice::Rotations { tables: 3 }).memory_bytes(256 << 20);
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) k: u32,
    pub(crate) layout: LayoutChoice,
    pub(crate) memory_bytes: usize,
    pub(crate) threads: usize,
    pub(crate) first_id: u64,
    /// Whether rows have keys; whether texts are kept, too.
    pub(crate) keys: Option<bool>,
    pub(crate) recipe: Option<String>,
    pub(crate) memtable_rows: usize,
    pub(crate) background: bool,
    pub(crate) progress: Option<Arc<dyn Progress>>,
}

/// The least memory that a build may be given: 1 MiB.
pub const MIN_MEMORY_BYTES: usize = 1 << 20;

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// k = 3, an automatic layout, 1 GiB of memory, all cores, ids from 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            k: 3,
            layout: LayoutChoice::Auto,
            memory_bytes: 1 << 30,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            first_id: 0,
            keys: None,
            recipe: None,
            memtable_rows: 1 << 16,
            background: true,
            progress: None,
        }
    }

    /// The distance, in bits, that the layout is tuned for. Any other may be asked for too.
    #[must_use]
    pub fn k(mut self, k: u32) -> Self {
        self.k = k;
        self
    }

    /// How the bits are split into tables.
    #[must_use]
    pub fn layout(mut self, layout: LayoutChoice) -> Self {
        self.layout = layout;
        self
    }

    /// What a build may hold in memory, mapped files aside; at least [`MIN_MEMORY_BYTES`].
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// The number of threads to work on; 0 counts as 1. Results do not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// The id of the first row of a build that comes without one.
    #[must_use]
    pub fn first_id(mut self, id: u64) -> Self {
        self.first_id = id;
        self
    }

    /// Whether a new database stores a text key beside each row, and what it is given as the row's text.
    #[must_use]
    pub fn keys(mut self, texts: bool) -> Self {
        self.keys = Some(texts);
        self
    }

    /// The recipe that makes the fingerprints of a new database, in whatever words; at most 4,096 bytes.
    /// The database keeps it for those who ask, and does nothing else with it.
    #[must_use]
    pub fn recipe(mut self, recipe: impl Into<String>) -> Self {
        self.recipe = Some(recipe.into());
        self
    }

    /// How many operations a writer gathers in memory and in its log before it writes a run; at least
    /// 1. A commit of more than that goes into a run at once.
    #[must_use]
    pub fn memtable_rows(mut self, rows: usize) -> Self {
        self.memtable_rows = rows.max(1);
        self
    }

    /// Whether a writer merges runs on a thread of its own, which is the default, or while it flushes.
    #[must_use]
    pub fn background_merges(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// Who listens to long operations.
    #[must_use]
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// The number of threads to work on.
    #[must_use]
    pub fn num_threads(&self) -> usize {
        self.threads
    }

    /// What a build may hold in memory, in bytes.
    #[must_use]
    pub fn memory_budget(&self) -> usize {
        self.memory_bytes
    }

    pub(crate) fn without_progress(mut self) -> Self {
        self.progress = None;
        self
    }

    #[doc(hidden)]
    pub fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> Result<()> {
        match self.progress.as_ref().map(|progress| progress.report(stage, done, total)) {
            Some(ControlFlow::Break(())) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Counts what is done of a stage, on any thread, and reports it.
    #[doc(hidden)]
    pub fn counter(&self, stage: Stage, total: u64) -> impl Fn(u64) -> Result<()> + Sync + '_ {
        let done = AtomicU64::new(0);
        move |more| {
            let done = done.fetch_add(more, Ordering::Relaxed) + more;
            self.report(stage, done, Some(total))
        }
    }

    /// Refuses what no database of this width can have.
    pub(crate) fn check(&self, width: u32) -> Result<()> {
        if self.k > width {
            return Err(Error::Option(format!(
                "k = {}: fingerprints of {width} bits differ by at most {width}",
                self.k
            )));
        }
        if self.memory_bytes < MIN_MEMORY_BYTES {
            return Err(Error::Option(format!("memory: at least {MIN_MEMORY_BYTES} bytes are needed")));
        }
        self.recipe.as_deref().map_or(Ok(()), check_recipe)?;
        self.layout.layout(width, self.k, 0).map(drop)
    }
}

pub(crate) fn check_recipe(recipe: &str) -> Result<()> {
    if (1..=MAX_RECIPE_BYTES).contains(&recipe.len()) {
        Ok(())
    } else {
        Err(Error::Option(format!("a recipe takes 1 to {MAX_RECIPE_BYTES} bytes")))
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("k", &self.k)
            .field("layout", &format_args!("{}", self.layout))
            .field("memory_bytes", &self.memory_bytes)
            .field("threads", &self.threads)
            .field("first_id", &self.first_id)
            .field("memtable_rows", &self.memtable_rows)
            .field("background", &self.background)
            .finish_non_exhaustive()
    }
}
