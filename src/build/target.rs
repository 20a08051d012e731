//! The destination of a run.

use std::sync::Arc;

use crate::error::Result;
use crate::format::header::Owner;
use crate::options::Options;
use crate::storage::{Storage, names};

/// The folder of a run that is being written, and what its files belong to.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) storage: &'a Arc<dyn Storage>,
    pub(crate) options: &'a Options,
    pub(crate) owner: Owner,
}

impl Target<'_> {
    /// Runs `work`. If it fails, removes the files that it has written.
    pub(super) fn or_remove<T>(&self, tables: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().inspect_err(|_| remove_run(&**self.storage, self.owner.run, tables))
    }
}

/// Removes the existing files of a run.
pub(crate) fn remove_run(storage: &dyn Storage, run: u64, tables: usize) {
    let segments = (0..tables).map(|table| names::segment(run, table));
    for name in segments.chain([names::rows(run), names::tombstones(run), names::keys(run)]) {
        // No manifest names the file. If this fails, the next writer removes it.
        let _ = storage.remove(&name);
    }
}
