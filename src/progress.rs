//! Progress of long operations, and how they are cancelled.

use std::ops::ControlFlow;

use crate::error::Result;

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
    /// Comparing fingerprints with each other, table by table. Counted in fingerprints, over all
    /// tables in use.
    Joining,
    /// Checking files. Counted in files.
    Verifying,
    /// Copying runs. Counted in bytes.
    Copying,
    /// Answering queries. Counted in queries.
    Answering,
    /// Waiting for another writer to end. Counted in milliseconds.
    Waiting,
}

/// Receives the progress made since the last call, in units of a stage (may be 0). An error cancels
/// the operation; every later call fails, too.
pub(crate) type ProgressFn<'a> = &'a (dyn Fn(u64) -> Result<()> + Sync);

/// Ignores progress.
pub(crate) const NO_PROGRESS: ProgressFn<'static> = &|_| Ok(());

/// Receives the progress of long operations, and can cancel them.
///
/// Called from several threads, every few thousand rows.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use nearprint::{Error, Options, Progress, Schema, Stage};
///
/// struct Impatient;
/// impl Progress for Impatient {
///     fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
///         ControlFlow::Break(())
///     }
/// }
///
/// # let home = tempfile::tempdir()?;
/// let options = Options::new().progress(Arc::new(Impatient));
/// let mut builder = options.build::<u64>(home.path().join("corpus.np"), &Schema::new())?;
/// builder.push(7)?;
/// assert!(matches!(builder.finish(), Err(Error::Interrupted)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Progress: Send + Sync {
    /// `done` of `total` units of the stage are done; the total is unknown while rows are read.
    /// [`ControlFlow::Break`] cancels: the operation cleans up and fails with
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()>;
}
