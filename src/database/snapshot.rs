//! A database as it stood at one moment: how a snapshot is taken, and what it reports of itself.

use std::path::PathBuf;
use std::sync::Arc;

use crate::database::explain::Explanation;
use crate::database::stats::Stats;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint};
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::schema::KeyStorage;
use crate::kernel::Kernel;
use crate::layout::BandLayout;
use crate::log::manifest;
use crate::log::wal::{self, Log};
use crate::memtable::changes::ChangeSet;
use crate::options::Options;
use crate::progress::{Progress, ProgressFn};
use crate::query::batch::Workers;
use crate::query::merged::MergedView;
use crate::query::prepare::Searchable;
use crate::query::view::View;
use crate::run::{Run, Verification, verify};
use crate::storage::Storage;

/// A stable view of a database. Cheap to clone, and shared freely between threads.
#[derive(Clone, Debug)]
pub struct Snapshot<F> {
    shared: Arc<Shared<F>>,
}

#[derive(Debug)]
struct Shared<F> {
    storage: Arc<dyn Storage>,
    /// Includes the ids, sequence numbers, checkpoint and history of unflushed operations.
    manifest: Manifest,
    /// Length of the log at the time of the snapshot.
    log_bytes: u64,
    options: Options,
    kernel: Kernel,
    /// The runs of the manifest, then a run in memory with the unflushed rows.
    view: View<F>,
}

impl<F: Fingerprint> Snapshot<F> {
    /// Takes a snapshot. Reuses the open runs of `known`.
    pub(crate) fn open(
        storage: &Arc<dyn Storage>,
        options: &Options,
        known: Option<&View<F>>,
    ) -> Result<Self> {
        manifest::with_current::<F, _>(&**storage, |manifest| {
            let log = Log::read(&**storage, &manifest)?;
            let reuse = |record: &RunRecord| {
                let same = |known: &&Arc<Searchable<F>>| known.run.record == *record;
                known.and_then(|view| view.searchables().iter().find(same).cloned())
            };
            let open = |record: &RunRecord| match reuse(record) {
                Some(run) => Ok(run),
                None => Ok(Arc::new(Searchable::new(Run::open(&**storage, &manifest, record)?))),
            };
            let view = View::new(manifest.runs.iter().map(open).collect::<Result<_>>()?);
            let mut changes = ChangeSet::new();
            let mut log_bytes = 0;
            if let Some(log) = &log {
                for operation in log.operations()?.1 {
                    changes.apply(operation, |_| ());
                }
                log_bytes = log.len_bytes();
            }
            let storage = storage.clone();
            let mut snapshot = Self::with_changes(storage, manifest, options.clone(), &view, &changes)?;
            if let Some(shared) = Arc::get_mut(&mut snapshot.shared) {
                shared.log_bytes = log_bytes;
            }
            Ok(snapshot)
        })
    }

    /// A snapshot of runs and unflushed changes.
    pub(crate) fn with_changes(
        storage: Arc<dyn Storage>,
        mut manifest: Manifest,
        options: Options,
        view: &View<F>,
        changes: &ChangeSet<F>,
    ) -> Result<Self> {
        changes.note_in(&mut manifest);
        let layout = match manifest.runs.iter().max_by_key(|record| record.entries) {
            Some(largest) => largest.layout.clone(),
            None => manifest.layout_for(changes.operations() as u64)?,
        };
        let newest = changes.to_run(&manifest, layout, &options)?;
        let view = View::new(view.searchables().iter().cloned().chain(newest).collect());
        let kernel = Kernel::detect();
        let shared = Shared { storage, manifest, log_bytes: 0, options, kernel, view };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A new snapshot of the database. Reuses open files, so it costs little if little has changed.
    ///
    /// # Errors
    /// As [`Database::snapshot`](crate::Database::snapshot).
    pub fn refresh(&self) -> Result<Self> {
        let Shared { storage, manifest, log_bytes, options, view, .. } = &*self.shared;
        // The path may lead to another folder by now.
        let storage = &storage.reopen()?;
        let now = manifest::of::<F>(&**storage)?;
        let log_now = wal::current_len(&**storage, &now).unwrap_or(0);
        let same = now.database_id == manifest.database_id && now.generation == manifest.generation;
        if same && log_now == *log_bytes {
            return Ok(self.clone());
        }
        Self::open(storage, options, Some(view))
    }

    /// The same view with another progress callback.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::Arc;
    /// use nearprint::{Database, Error, Progress, Schema, Stage};
    ///
    /// struct Impatient;
    /// impl Progress for Impatient {
    ///     fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
    ///         ControlFlow::Break(())
    ///     }
    /// }
    ///
    /// # let home = tempfile::tempdir()?;
    /// let mut builder = Database::<u64>::build(home.path().join("corpus.np"), Schema::new())?;
    /// builder.push(7, None)?;
    /// let snapshot = builder.finish()?.snapshot()?;
    /// let cut_short = snapshot.with_progress(Arc::new(Impatient)).verify();
    /// assert!(matches!(cut_short, Err(Error::Interrupted)));
    /// assert!(snapshot.verify()?.damage.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_progress(&self, progress: Arc<dyn Progress>) -> Self {
        let Shared { storage, manifest, log_bytes, options, kernel, view } = &*self.shared;
        let shared = Shared {
            storage: storage.clone(),
            manifest: manifest.clone(),
            log_bytes: *log_bytes,
            options: options.clone().progress(progress),
            kernel: *kernel,
            view: view.clone(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The distance that the layout is tuned for.
    #[must_use]
    pub fn default_k(&self) -> u32 {
        self.shared.manifest.k
    }

    /// The bands of the fingerprints, if the database has a [layout of
    /// bands](crate::LayoutChoice::Bands).
    #[must_use]
    pub fn bands(&self) -> Option<BandLayout> {
        self.shared.manifest.layout.bands()
    }

    /// Whether rows have keys, and what keys have beside them.
    #[must_use]
    pub fn key_storage(&self) -> KeyStorage {
        KeyStorage::of(self.shared.manifest.keys)
    }

    /// The progress of the last job, as
    /// [`Writer::set_checkpoint`](crate::Writer::set_checkpoint) stored it.
    #[must_use]
    pub fn checkpoint(&self) -> Option<&[u8]> {
        let checkpoint = &self.shared.manifest.checkpoint;
        (!checkpoint.is_empty()).then_some(checkpoint)
    }

    /// The records of finished jobs, as [`Writer::set_history`](crate::Writer::set_history) stored
    /// them.
    #[must_use]
    pub fn history(&self) -> Option<&[u8]> {
        let history = &self.shared.manifest.history;
        (!history.is_empty()).then_some(history)
    }

    /// The recipe of the fingerprints, if the database stores one.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        self.shared.manifest.recipe.as_deref()
    }

    /// Counts and sizes. Reads nothing.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::of(&self.shared.manifest, self.runs())
    }

    /// How queries at `k` would be answered, at what cost, and why.
    #[must_use]
    pub fn explain(&self, k: u32) -> Explanation {
        let distance = Distance::saturating::<F>(k);
        let runs = self.shared.view.searchables().iter();
        let prepared = runs.map(|run| (&run.run.record, run.at(distance)));
        Explanation::of_runs((F::BITS, self.bands().is_some()), k, prepared)
    }

    /// Reads every byte of every file and checks everything that the format guarantees. Finds files
    /// by name: those that a writer has merged away since count as missing.
    /// [`Database::verify`](crate::Database::verify) checks the current state instead.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) where a file cannot be read. Damage is not an error; the
    /// report lists it.
    pub fn verify(&self) -> Result<Verification> {
        verify_all::<F>(&*self.shared.storage, &self.shared.manifest, &self.shared.options)
    }

    #[cfg(test)]
    pub(crate) fn all_rows(&self) -> Vec<crate::Row<F>> {
        self.rows().and_then(Iterator::collect).expect("a sound database")
    }

    #[cfg(test)]
    pub(crate) fn searchables(&self) -> &[Arc<Searchable<F>>] {
        self.shared.view.searchables()
    }

    pub(super) fn view(&self) -> &View<F> {
        &self.shared.view
    }

    pub(super) fn kernel(&self) -> Kernel {
        self.shared.kernel
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.shared.manifest
    }

    /// The folder of the database.
    pub(crate) fn folder(&self) -> PathBuf {
        self.shared.storage.path("")
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.shared.storage
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Oldest first; the last one may be the run in memory.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run<F>> {
        self.shared.view.runs()
    }

    pub(super) fn merged(&self) -> MergedView<'_, F> {
        MergedView::new(&self.shared.view, self.shared.kernel, &self.shared.options)
    }

    /// The kernel and the threads of batches.
    pub(super) fn workers<'a>(&self, progress: ProgressFn<'a>) -> Workers<'a> {
        Workers { kernel: self.shared.kernel, threads: self.shared.options.threads, progress }
    }
}

/// Checks every file that a manifest names.
pub(crate) fn verify_all<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    options: &Options,
) -> Result<Verification> {
    let mut report = verify::<F>(storage, manifest, options)?;
    if manifest.live_wal.is_some() {
        report.files += 1;
        let checked = Log::read(storage, manifest).and_then(|log| {
            report.bytes += log.as_ref().map_or(0, Log::len_bytes);
            log.map_or(Ok(()), |log| log.operations::<F>().map(drop))
        });
        match checked {
            Err(Error::Corrupt(damage)) => report.damage.push(*damage),
            other => other?,
        }
    }
    Ok(report)
}
