//! Changing the manifest.

use super::Writer;
use crate::build::remove_run;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::Manifest;
use crate::log::manifest;
use crate::query::view::View;
use crate::storage::{Storage, names};

/// The numbers of the next run, of the next log and of its first frame. Unlike the manifest they also
/// count what is not durable: a number is used once, whether or not a manifest names the file.
#[derive(Debug)]
pub(super) struct Counters {
    next_run: u64,
    next_wal: u64,
    pub(super) next_frame: u64,
}

impl Counters {
    pub(super) fn of(manifest: &Manifest) -> Self {
        let Manifest { next_run, next_wal, next_frame, .. } = *manifest;
        Self { next_run, next_wal, next_frame }
    }

    pub(super) fn take_run(&mut self) -> u64 {
        self.next_run += 1;
        self.next_run - 1
    }

    pub(super) fn take_wal(&mut self) -> u64 {
        self.next_wal += 1;
        self.next_wal - 1
    }
}

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

    /// The same for a log.
    pub(super) fn forget_log(&self, number: u64) {
        if !self.storage.is_poisoned() {
            // If this fails, the next writer removes it.
            let _ = self.storage.remove(&names::wal(number));
        }
    }
}

/// Removes the files that a crash left: those that match our name patterns and are not in the
/// manifest.
pub(super) fn remove_unnamed(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    let named: std::collections::HashSet<String> = manifest.file_names().collect();
    let listed = storage.list().map_err(Error::io("read", storage.path("")))?;
    for name in listed.iter().filter_map(|name| name.to_str()) {
        if names::is_ours(name) && !named.contains(name) {
            storage.remove(name).map_err(Error::io("remove", storage.path(name)))?;
        }
    }
    Ok(())
}
