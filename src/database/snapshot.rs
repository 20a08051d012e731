//! A database as it stood at one moment: how a snapshot is taken, and what it reports of itself.

use std::path::PathBuf;
use std::sync::Arc;

use crate::database::explain::Explanation;
use crate::database::stats::Stats;
use crate::database::unflushed::Unflushed;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint};
use crate::format::manifest::Manifest;
use crate::format::schema::KeyStorage;
use crate::kernel::Kernel;
use crate::layout::BandLayout;
use crate::log::manifest;
use crate::log::wal::Log;
use crate::memtable::changes::ChangeSet;
use crate::options::Options;
use crate::progress::{Progress, ProgressFn};
use crate::query::batch::Workers;
use crate::query::merged::MergedView;
use crate::query::prepare::Searchable;
use crate::query::view::View;
use crate::run::{Identities, Run, Verification, verify};
use crate::storage::Storage;

/// A stable view of a database. Cheap to clone, and shared freely between threads.
#[derive(Clone, Debug)]
pub struct Snapshot<F> {
    shared: Arc<Shared<F>>,
    options: Options,
}

#[derive(Debug)]
struct Shared<F> {
    storage: Arc<dyn Storage>,
    /// The manifest as it was read. `None` in a snapshot of a writer, which has uncommitted rows.
    published: Option<Arc<Manifest>>,
    /// Includes the ids, sequence numbers, checkpoint and history of unflushed operations.
    manifest: Manifest,
    /// The identities of ingested runs. Only copies need them, and the files may be removed.
    identities: Arc<[Identities]>,
    /// What was read of the logs. `None` in a snapshot of a writer.
    unflushed: Option<Unflushed<F>>,
    /// The number behind the last commit.
    next_frame: u64,
    kernel: Kernel,
    /// The runs of the manifest, then runs in memory with the unflushed rows.
    view: View<F>,
}

impl<F: Fingerprint> Snapshot<F> {
    /// Takes a snapshot. Reuses what `known`, a snapshot of the same database, has open and has
    /// read.
    pub(crate) fn open(storage: &Arc<dyn Storage>, options: &Options, known: Option<&Self>) -> Result<Self> {
        Self::open_same(storage, options, known, known.map(|known| known.manifest().database_id))
    }

    /// Takes a snapshot of the database with this id, if one is given.
    pub(crate) fn open_same(
        storage: &Arc<dyn Storage>,
        options: &Options,
        known: Option<&Self>,
        database_id: Option<[u8; 16]>,
    ) -> Result<Self> {
        manifest::with_current::<F, _>(&**storage, database_id, |manifest| {
            let is_same = |known: &&Self| known.shared.published.as_deref() == Some(&manifest);
            let same = known.filter(is_same);
            let mut noted = same.map_or_else(|| manifest.clone(), |same| same.manifest().clone());
            let read = same.and_then(|same| same.shared.unflushed.as_ref());
            let unflushed = Unflushed::read(&**storage, &mut noted, options, read)?;
            let now = storage.now();
            noted.drop_expired(now);
            let live = Some(&unflushed).filter(|_| !noted.is_log_expired(now));
            let live: Vec<_> = live.into_iter().flat_map(Unflushed::runs).cloned().collect();
            if let Some(same) = same
                && read.is_some_and(|read| read.ends().eq(unflushed.ends()))
                && same.view().searchables().len() == noted.runs.len() + live.len()
            {
                return Ok(same.clone());
            }
            let identities = Identities::open_all(&**storage, &manifest)?.into();
            let view = View::open(&**storage, &noted, known.map(Self::view))?.and(live.into_iter());
            let read_to = unflushed.ends().map(|(_, end)| end.frame).max();
            let shared = Shared {
                storage: storage.clone(),
                next_frame: read_to.unwrap_or(manifest.next_frame),
                published: Some(Arc::new(manifest)),
                manifest: noted,
                identities,
                unflushed: Some(unflushed),
                kernel: Kernel::detect(),
                view,
            };
            Ok(Self { shared: Arc::new(shared), options: options.clone() })
        })
    }

    /// A snapshot of runs and unflushed changes, older ones first, which may be uncommitted.
    pub(crate) fn with_changes(
        storage: Arc<dyn Storage>,
        (mut manifest, next_frame): (Manifest, u64),
        options: Options,
        view: &View<F>,
        changes: &[&ChangeSet<F>],
    ) -> Result<Self> {
        changes.iter().for_each(|changes| changes.note_in(&mut manifest));
        let identities = Identities::open_all(&*storage, &manifest)?.into();
        let mut newest: Vec<Arc<Searchable<F>>> = Vec::new();
        for changes in changes {
            let older = newest.iter().map(|run| &run.run.record);
            newest.extend(changes.to_run(&manifest, older, &options)?);
        }
        let now = storage.now();
        manifest.drop_expired(now);
        newest.retain(|_| !manifest.is_log_expired(now));
        let view = View::open(&*storage, &manifest, Some(view))?.and(newest.into_iter());
        let kernel = Kernel::detect();
        let (published, unflushed) = (None, None);
        let shared = Shared { storage, published, manifest, identities, unflushed, next_frame, kernel, view };
        Ok(Self { shared: Arc::new(shared), options })
    }

    /// A new snapshot of the database. Reuses open files and rows that were read from the log, so it
    /// costs little if little has changed.
    ///
    /// # Errors
    /// As [`Database::snapshot`](crate::Database::snapshot). This snapshot can still be used.
    pub fn refresh(&self) -> Result<Self> {
        F::refresh(self)
    }

    pub(super) fn open_again(&self) -> Result<Self> {
        // The path may lead to another folder by now.
        let storage = self.shared.storage.reopen()?;
        Self::open(&storage, &self.options, Some(self))
    }

    /// Whether rows of this snapshot have [expired](crate::Schema::expire_after) since it was taken. A
    /// [refreshed](Self::refresh) snapshot leaves them out.
    #[must_use]
    pub fn has_expired(&self) -> bool {
        // The oldest rows expire first.
        self.runs().next().is_some_and(|run| run.record.is_expired(self.shared.storage.now()))
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
    /// let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// builder.push(7)?;
    /// let snapshot = builder.finish()?.snapshot()?;
    /// let cut_short = snapshot.with_progress(Arc::new(Impatient)).verify();
    /// assert!(matches!(cut_short, Err(Error::Interrupted)));
    /// assert!(snapshot.verify()?.damage.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_progress(&self, progress: Arc<dyn Progress>) -> Self {
        Self { shared: self.shared.clone(), options: self.options.clone().progress(progress) }
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

    /// Whether rows have keys, and keys texts or hashes of texts.
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
        F::stats(self)
    }

    pub(super) fn counts(&self) -> Stats {
        let log = self.shared.unflushed.as_ref().map(Unflushed::size);
        let Shared { manifest, published, .. } = &*self.shared;
        Stats::of(manifest, published.as_deref().unwrap_or(manifest), self.runs(), log.unwrap_or_default())
    }

    /// How queries at `k` would be answered, at what cost, and why.
    #[must_use]
    pub fn explain(&self, k: u32) -> Explanation {
        F::explain(self, k)
    }

    pub(super) fn explanation(&self, k: u32) -> Explanation {
        let distance = Distance::saturating::<F>(k);
        let runs = self.shared.view.searchables().iter();
        let prepared = runs.map(|run| (&run.run.record, run.at(distance)));
        Explanation::of_runs((F::BITS, self.bands().is_some()), k, prepared)
    }

    /// Reads every byte of every file and checks everything that the format guarantees. Files that a writer
    /// has merged and removed since count as missing. [`Database::verify`](crate::Database::verify) checks
    /// the current state instead.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) where a file cannot be read. Damage is not an error; the
    /// report lists it.
    pub fn verify(&self) -> Result<Verification> {
        F::verify(self)
    }

    #[cfg(test)]
    pub(crate) fn all_rows(&self) -> Vec<crate::Row<F>> {
        self.merged().rows().and_then(Iterator::collect).expect("a sound database")
    }

    #[cfg(test)]
    pub(crate) fn searchables(&self) -> &[Arc<crate::query::prepare::Searchable<F>>] {
        self.shared.view.searchables()
    }

    pub(super) fn view(&self) -> &View<F> {
        &self.shared.view
    }

    pub(super) fn kernel(&self) -> Kernel {
        self.shared.kernel
    }

    /// The files with the identities of ingested runs, in the order of the manifest.
    pub(crate) fn identities(&self) -> &[Identities] {
        &self.shared.identities
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.shared.manifest
    }

    /// The number behind the last commit that the snapshot has, which the manifest says of those in runs alone.
    pub(crate) fn next_frame(&self) -> u64 {
        self.shared.next_frame
    }

    /// The folder of the database.
    pub(crate) fn folder(&self) -> PathBuf {
        self.shared.storage.path("")
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.shared.storage
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Oldest first; the last ones may be runs in memory.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run<F>> {
        self.shared.view.runs()
    }

    pub(super) fn merged(&self) -> MergedView<'_, F> {
        MergedView::new(&self.shared.view, self.shared.kernel, &self.options)
    }

    /// The kernel and the threads of batches.
    pub(super) fn workers<'a>(&self, progress: ProgressFn<'a>) -> Workers<'a> {
        Workers { kernel: self.shared.kernel, threads: self.options.threads, progress }
    }
}

/// Checks every file that a manifest names.
pub(crate) fn verify_all<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    options: &Options,
) -> Result<Verification> {
    let mut report = verify::<F>(storage, manifest, options)?;
    for header in manifest.wal_headers() {
        report.files += 1;
        let checked = Log::open(storage, manifest, header).and_then(|log| {
            let len_bytes = log.len_bytes()?;
            report.bytes += len_bytes;
            let frames = log.read(log.start())?;
            report.ignored_log_bytes += len_bytes.saturating_sub(frames.end().offset);
            frames.visit::<F>(&mut |_| ())
        });
        match checked {
            Err(Error::Corrupt(damage)) => report.damage.push(*damage),
            other => other?,
        }
    }
    Ok(report)
}
