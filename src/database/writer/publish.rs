//! Changing the manifest.

use super::Writer;
use super::counters::Counters;
use crate::build::remove_run;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::Manifest;
use crate::log::manifest;
use crate::query::view::View;
use crate::storage::Storage;

impl<F: Fingerprint> Writer<F> {
    /// The next manifest, for the caller to change.
    pub(crate) fn next_manifest(&self) -> Manifest {
        let Counters { next_run, next_wal, .. } = self.counters;
        Manifest { generation: self.manifest.generation + 1, next_run, next_wal, ..self.manifest.clone() }
    }

    /// Replaces the manifest, and opens the runs that are new in it. Nothing else changes what is
    /// durable.
    pub(crate) fn publish(&mut self, next: Manifest) -> Result<()> {
        let view = View::open(&self.storage, &next, Some(&self.view))?;
        manifest::replace(&self.storage, &next)?;
        self.ahead = self.ahead.take().and_then(|ahead| ahead.after(&self.manifest, &next));
        (self.manifest, self.view) = (next, view);
        Ok(())
    }

    /// Reserves the number of a new run.
    pub(crate) fn take_run_number(&mut self) -> u64 {
        self.counters.take_run()
    }

    /// Removes the files of a run that no manifest names. Does nothing once it is unknown which
    /// manifest is on disk.
    pub(crate) fn forget_run(&self, run: u64, tables: usize) {
        if !self.storage.is_poisoned() {
            remove_run(&self.storage, run, tables);
        }
    }

    /// The same for a file.
    pub(crate) fn forget(&self, name: &str) {
        if !self.storage.is_poisoned() {
            // If this fails, the next writer removes it.
            let _ = self.storage.remove(name);
        }
    }
}
