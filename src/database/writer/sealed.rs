//! What is sealed, and being made a run.

use std::sync::Arc;

use crate::database::compaction::RunJob;
use crate::memtable::Memtable;

/// The rows of a sealed log.
#[derive(Debug)]
pub(super) struct Sealed<F> {
    pub(super) memtable: Arc<Memtable<F>>,
    /// `None` where no thread works on it, or one has failed: who waits for the run makes it.
    pub(super) job: Option<RunJob>,
}
