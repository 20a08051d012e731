//! The one writer of a database: inserts, deletes, commits, flushes, merges.
//!
//! Operations go to the memtable. A commit writes them to the log as one frame and returns when it
//! is durable. When the memtable is full, it and its log are sealed, and a thread makes a run of them.
//! A large commit writes a run instead: replacing the manifest makes the operations durable. FORMAT.md
//! gives the order of every step.

mod ahead;
mod background;
pub(crate) mod checked;
mod commit;
mod counters;
mod deletion;
mod expiry;
mod flush;
mod left_out;
mod merging;
mod publish;
mod queries;
mod room;
mod sealed;
pub(crate) mod shared;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use self::ahead::Ahead;
use self::counters::Counters;
use self::sealed::Sealed;
use crate::database::compaction::MergeJob;
use crate::database::follow::follows;
use crate::database::new_row::NewRow;
use crate::database::snapshot::Snapshot;
use crate::error::{Error, Limit, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::KeyRecord;
use crate::format::manifest::{IdRanges, MAX_CHECKPOINT_BYTES, MAX_HISTORY_BYTES, Manifest};
use crate::format::schema::{KeyStorage, check_recipe};
use crate::format::wal::{Content, Operation};
use crate::kernel::Kernel;
use crate::layout::BandLayout;
use crate::log::manifest;
use crate::log::wal::Wal;
use crate::memtable::Memtable;
use crate::options::Options;
use crate::progress::NO_PROGRESS;
use crate::query::keys::RowKey;
use crate::query::search::Searcher;
use crate::query::view::View;
use crate::storage::{Guarded, Lock, Storage, take_lock};
use crate::util::time::Time;

/// Inserts into and deletes from a database. There is one writer at a time over all processes. It
/// does not block readers.
///
/// Operations are durable when [`commit`](Writer::commit) returns, and visible to every [`Snapshot`] taken
/// afterwards. After a crash the database contains the operations up to some moment, with everything that was
/// committed. Dropping a writer discards uncommitted operations, and so does [`discard`](Writer::discard).
///
/// In the child of a fork, its parent's writer fails with [`Error::Forked`]: at the first operation
/// after a commit, and whenever something is to be made durable. Dropping it there changes nothing.
///
/// ```
/// use nearprint::{Database, Schema};
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("corpus.np");
/// let database = Database::<u64>::create(&path, &Schema::new())?;
/// let mut writer = database.writer()?;
/// for fingerprint in [0x1f3a, 0x1f3b, 0xffff_0000] {
///     if writer.query(fingerprint, 3)?.is_empty() {
///         writer.insert(fingerprint)?;
///     }
/// }
/// writer.commit()?;
/// assert_eq!(database.snapshot()?.query(0x1f3b, 3)?.len(), 1);
/// writer.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<F: Fingerprint> {
    path: PathBuf,
    storage: Guarded,
    options: Options,
    kernel: Kernel,
    searcher: Searcher<'static>,
    /// As it is on disk.
    manifest: Manifest,
    counters: Counters,
    /// The runs of the manifest.
    view: View<F>,
    /// What the oldest of these answer to queries that follow.
    ahead: Option<Ahead<F>>,
    /// Rows that are older than the memtable, and in no run yet.
    sealed: Option<Sealed<F>>,
    memtable: Memtable<F>,
    /// When the rows of the memtable expire. `None` where rows do not, and before the first one.
    expires: Option<Time>,
    /// Uncommitted operations, encoded for the log.
    pending: Content,
    /// Whether some of them delete rows, and whether some add rows.
    deletes: bool,
    inserts: bool,
    /// Whether they may add none, as they go to the log of a period that has ended.
    is_late: bool,
    wal: Option<Wal>,
    /// The frames with which the next log begins, if it goes on with a log that it found. The last frame that was found
    /// may lack its sync.
    kept: Vec<Content>,
    /// Merges at work, each of other runs, the ones of older runs first.
    merges: Vec<MergeJob>,
    /// Threads that remove the files of replaced runs.
    removals: Vec<JoinHandle<()>>,
    /// Of the documents that the database remembers as left out. Its operations become durable before those beside
    /// them: a job that a crash interrupts in between leaves the same documents out again.
    pub(super) left_out: Option<Box<Writer<u128>>>,
    /// Held until everything else is dropped.
    lock: Arc<dyn Lock>,
}

impl<F: Fingerprint> Writer<F> {
    /// Opens any database.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        Self::open_same(storage, options, None)
    }

    /// Takes the lock of the database with this id, if one is given, removes the files that a crash
    /// left, and recovers the log.
    pub(crate) fn open_same(
        storage: Arc<dyn Storage>,
        options: Options,
        database_id: Option<[u8; 16]>,
    ) -> Result<Self> {
        let path = storage.path("");
        // Checked before the lock is taken, which creates a file.
        let found = manifest::read(&*storage)?.ok_or_else(|| Error::NotADatabase { path: path.clone() })?;
        found.check_id(database_id, &path)?;
        manifest::check_writable(&*storage, &found)?;
        if follows(&*storage)? {
            return Err(Error::Follower { path });
        }
        let lock = take_lock(&*storage, &options)?;
        let storage = Guarded::new(storage, &lock).map_err(Error::io("read", &path))?;
        let manifest = manifest::read(&storage)?.ok_or_else(|| Error::NotADatabase { path: path.clone() })?;
        manifest.check_id(database_id, &path)?;
        manifest.check_width(F::BITS, &path)?;
        if manifest.runs_only {
            return Err(Error::RunsOnly { path });
        }
        // A killed writer may have renamed the manifest and not synced. The manifest on disk may
        // still name files that this one does not.
        storage.sync_folder().map_err(Error::io("sync", &path))?;
        let foreign = manifest::remove_unnamed(&storage, &manifest)?;
        let kernel = Kernel::detect();
        let mut writer = Self {
            view: View::open(&storage, &manifest, None)?,
            counters: Counters::of(&manifest, foreign),
            ahead: None,
            sealed: None,
            memtable: Memtable::of(&manifest, &options)?,
            path,
            options,
            kernel,
            searcher: Searcher::new(kernel, NO_PROGRESS),
            expires: manifest.live_wal.and(manifest.expiry).map(|expiry| expiry.of_log),
            manifest,
            pending: Content::default(),
            deletes: false,
            inserts: false,
            is_late: false,
            wal: None,
            kept: Vec::new(),
            merges: Vec::new(),
            removals: Vec::new(),
            left_out: None,
            lock,
            storage,
        };
        writer.recover()?;
        writer.drop_expired()?;
        Ok(writer)
    }

    /// Inserts a row and returns its id: the given one, the hash of the key, or 1 + the largest id
    /// ever stored.
    ///
    /// Rows are a set: inserting an existing row changes nothing, but that it lives anew where rows
    /// [expire](crate::Schema::expire_after). An id may have several
    /// fingerprints, and a row several keys. Inserting an existing key changes nothing, not even its
    /// text.
    ///
    /// # Errors
    /// [`Error::Limit`] when automatic ids have run out, [`Error::Poisoned`], [`Error::Forked`];
    /// [`Error::DiskFull`] where rows of the period before have no room in a run; for
    /// keys and texts [`Error::KeysNotStored`], [`Error::TextsNotStored`],
    /// [`Error::TextWithoutKey`], [`Error::NotAHash`], [`Error::KeyTooLong`],
    /// [`Error::TextTooLong`].
    pub fn insert<'a>(&mut self, row: impl Into<NewRow<'a, F>>) -> Result<u64> {
        F::insert(self, row.into())
    }

    pub(in crate::database) fn insert_new(&mut self, row: NewRow<'_, F>) -> Result<u64> {
        row.check(self.manifest.keys, &self.path)?;
        let given = row.given_id();
        let id = given.or_else(|| self.next_id()).ok_or(Error::Limit(Limit::AutomaticIds))?;
        let stored = Row { fingerprint: row.fingerprint, id };
        self.apply(match row.key.map(str::as_bytes) {
            None => Operation::Insert { row: stored, automatic: given.is_none() },
            Some(key) => {
                let sequence = self.next_sequence();
                Operation::InsertKeyed(KeyRecord {
                    row: stored,
                    sequence,
                    last: sequence,
                    key,
                    text: row.text,
                })
            }
        })?;
        Ok(id)
    }

    /// Replaces all rows of an id by one row, and returns the id: the given one, or the hash of the
    /// key. A row without both is inserted.
    ///
    /// If no id is given, rows of other keys with the same hash stay. If there are such rows, the call costs
    /// and commits as much as [`delete_keys`](Writer::delete_keys).
    ///
    /// # Errors
    /// As [`insert`](Writer::insert), and then nothing is deleted; where another key has the same hash, as
    /// [`delete_keys`](Writer::delete_keys).
    pub fn upsert<'a>(&mut self, row: impl Into<NewRow<'a, F>>) -> Result<u64> {
        F::upsert(self, row.into())
    }

    pub(in crate::database) fn replace(&mut self, row: NewRow<'_, F>) -> Result<u64> {
        row.check(self.manifest.keys, &self.path)?;
        self.check_poison()?;
        self.begin_transaction(true)?;
        match (row.given_id(), row.key) {
            (Some(id), Some(key)) if row.id.is_none() && self.has_other_key(id, key.as_bytes())? => {
                self.delete_key_of(id, key.as_bytes())?;
            }
            (Some(id), _) => self.delete(id)?,
            (None, _) => {}
        }
        self.insert_new(row)
    }

    /// Stores the progress of the caller's job, in the caller's bytes. The next commit makes it
    /// durable together with the operations before it. An empty checkpoint means that no job is
    /// unfinished.
    ///
    /// # Errors
    /// [`Error::Limit`] for more than 1 MiB, [`Error::Poisoned`], [`Error::Forked`].
    pub fn set_checkpoint(&mut self, checkpoint: &[u8]) -> Result<()> {
        F::set_checkpoint(self, checkpoint)
    }

    pub(in crate::database) fn apply_checkpoint(&mut self, checkpoint: &[u8]) -> Result<()> {
        if checkpoint.len() > MAX_CHECKPOINT_BYTES {
            return Err(Error::Limit(Limit::Checkpoint));
        }
        self.apply(Operation::Checkpoint(checkpoint))
    }

    /// The checkpoint of the last job, if it has left one.
    #[must_use]
    pub fn checkpoint(&self) -> Option<&[u8]> {
        let noted = self.memtable.changes.checkpoint().unwrap_or(&self.manifest.checkpoint);
        (!noted.is_empty()).then_some(noted)
    }

    /// Stores records of the caller's finished jobs, in the caller's bytes, and replaces all
    /// earlier ones. The next commit makes them durable together with the operations before it. An
    /// empty history removes them.
    ///
    /// Unlike a checkpoint, a history is written only when it is set: commits of checkpoints do not
    /// repeat it.
    ///
    /// # Errors
    /// [`Error::Limit`] for more than 1 MiB, [`Error::Poisoned`].
    pub fn set_history(&mut self, history: &[u8]) -> Result<()> {
        F::set_history(self, history)
    }

    pub(in crate::database) fn apply_history(&mut self, history: &[u8]) -> Result<()> {
        if history.len() > MAX_HISTORY_BYTES {
            return Err(Error::Limit(Limit::History));
        }
        self.apply(Operation::History(history))
    }

    /// The records of finished jobs, if there are any.
    #[must_use]
    pub fn history(&self) -> Option<&[u8]> {
        let noted = self.memtable.changes.history().unwrap_or(&self.manifest.history);
        (!noted.is_empty()).then_some(noted)
    }

    /// The sequence number of the next key.
    pub fn next_sequence(&self) -> u64 {
        let kept = self.manifest.keys.map_or(0, |kept| kept.next_sequence);
        kept.max(self.memtable.changes.next_sequence())
    }

    /// Whether rows have keys, and keys texts or hashes of texts.
    #[must_use]
    pub fn key_storage(&self) -> KeyStorage {
        KeyStorage::of(self.manifest.keys)
    }

    /// The bands of the fingerprints, if the database has a [layout of
    /// bands](crate::LayoutChoice::Bands).
    #[must_use]
    pub fn bands(&self) -> Option<BandLayout> {
        self.manifest.layout.bands()
    }

    /// The distance that the layout is tuned for.
    #[must_use]
    pub fn default_k(&self) -> u32 {
        self.manifest.k
    }

    /// Sets the recipe of a database that has none. Durable on return.
    ///
    /// # Errors
    /// [`Error::RecipeMismatch`], [`Error::InvalidRecipe`]; otherwise as
    /// [`commit`](Writer::commit).
    pub fn set_recipe(&mut self, recipe: &str) -> Result<()> {
        F::set_recipe(self, recipe)
    }

    pub(in crate::database) fn publish_recipe(&mut self, recipe: &str) -> Result<()> {
        self.check_poison()?;
        self.check_lock()?;
        if let Some(known) = self.recipe().filter(|known| *known != recipe) {
            return Err(Error::RecipeMismatch { path: self.path.clone(), recipe: known.into() });
        }
        check_recipe(recipe)?;
        self.publish(Manifest { recipe: Some(recipe.into()), ..self.next_manifest() })
    }

    /// The recipe of the fingerprints, if the database stores one.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        self.manifest.recipe.as_deref()
    }

    /// The keys of a row, including uncommitted ones, ascending.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn keys_of(&self, row: Row<F>) -> Result<Vec<RowKey>> {
        F::written_keys_of(self, row)
    }

    pub(in crate::database) fn keys_of_row(&self, row: Row<F>) -> Result<Vec<RowKey>> {
        let mut keys = Vec::new();
        let (unflushed, (expired_runs, is_expired)) = (self.unflushed(), self.expired());
        if !unflushed.clone().any(|memtable| memtable.changes.deletes(row.id)) {
            self.view.keys_of(row, expired_runs, &mut keys)?;
        }
        for memtable in unflushed {
            if memtable.changes.deletes(row.id) {
                keys.clear()
            }
            if !is_expired {
                memtable.keys_of(row, self.kernel, &mut |record| keys.push(RowKey::of(&record)));
            }
        }
        Ok(RowKey::distinct(keys))
    }

    /// Commits, and writes all unflushed rows as a run.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn flush(&mut self) -> Result<()> {
        F::flush(self)
    }

    pub(in crate::database) fn flush_all(&mut self) -> Result<()> {
        self.with_left_out(Writer::flush_all)?;
        self.with_room(Self::flush_once)
    }

    fn flush_once(&mut self) -> Result<()> {
        self.check_poison()?;
        self.check_lock()?;
        self.take_finished_merge()?;
        self.finish_flush(true)?;
        if self.memtable.changes.operations() == 0 {
            return Ok(());
        }
        self.wait_for_few_runs()?;
        self.flush_with(true)?;
        self.merge_if_due()
    }

    /// Merges all runs into one without deleted rows; where rows [expire](crate::Schema::expire_after),
    /// the runs of each period into one. Blocks until it is done. No file has a key of a deleted row then.
    ///
    /// Needs room for the runs of a period once more, and for a run of what is in the log. Where the disk has less,
    /// first each run alone is written again without its deleted rows, the smallest first, which may make the room.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit); [`Error::Interrupted`], which leaves the database sound.
    pub fn compact(&mut self) -> Result<()> {
        F::compact(self)
    }

    pub(in crate::database) fn compact_all(&mut self) -> Result<()> {
        self.with_left_out(Writer::compact_all)?;
        match self.with_reserve(Self::flush_once) {
            // Runs without the rows that the log deletes may make room for a run of the log.
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => {
                self.discard_merges();
                self.log_pending()?;
                self.shrink_runs()?;
                self.flush_once()?;
            }
            other => other?,
        }
        self.discard_merges();
        match self.with_reserve(Self::compact_periods) {
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => {
                self.shrink_runs()?;
                self.compact_periods()?;
            }
            other => other?,
        }
        self.keep_reserve();
        Ok(())
    }

    fn compact_periods(&mut self) -> Result<()> {
        let options = self.options.clone();
        while let Some(range) = self.next_to_compact()? {
            let merged = self.plan_to_compact(range)?.run(&options)?;
            self.install_merge(merged)?;
            self.finish_removals();
        }
        Ok(())
    }

    /// A snapshot that includes uncommitted operations. Costs a sort of the unflushed rows.
    ///
    /// # Errors
    /// [`Error::Io`] when memory maps run out.
    pub fn snapshot(&self) -> Result<Snapshot<F>> {
        F::written(self)
    }

    pub(in crate::database) fn snapshot_of_all(&self) -> Result<Snapshot<F>> {
        let storage: Arc<dyn Storage> = Arc::new(self.storage.clone());
        Snapshot::with_changes(
            storage,
            (self.noted_expiry(), self.wal.as_ref().map_or(self.counters.next_frame, |wal| wal.next_frame)),
            self.options.clone(),
            &self.view,
            &self.unflushed().map(|memtable| &memtable.changes).collect::<Vec<_>>(),
        )
    }

    /// The rows that are in no run yet, older ones first.
    fn unflushed(&self) -> impl DoubleEndedIterator<Item = &Memtable<F>> + Clone {
        self.sealed.iter().map(|sealed| &*sealed.memtable).chain([&self.memtable])
    }

    /// Commits, flushes, waits for all due merges that the disk has space for, and releases the
    /// lock. A [short log](Options::keep_log) stays instead of a flush; as it was, if nothing has changed.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn close(mut self) -> Result<()> {
        self.finish()
    }

    /// Does what [`close`](Self::close) does, and keeps the lock: after an error it can be tried again.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn finish(&mut self) -> Result<()> {
        F::finish(self)
    }

    pub(in crate::database) fn finish_all(&mut self) -> Result<()> {
        self.with_left_out(Writer::finish_all)?;
        match self.keeps_log() {
            true => {
                self.commit_changes()?;
                self.finish_merges()?;
            }
            false => self.flush_and_merge()?,
        }
        self.keep_reserve();
        Ok(())
    }

    /// Commits, flushes, and waits for all due merges that the disk has space for.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn wait_for_merges(&mut self) -> Result<()> {
        F::wait_for_merges(self)
    }

    pub(in crate::database) fn flush_and_merge(&mut self) -> Result<()> {
        self.with_left_out(Writer::flush_and_merge)?;
        self.check_poison()?;
        self.check_lock()?;
        let flushed = self.finish_flush(true).and_then(|()| self.take_finished_merge());
        match flushed.and_then(|()| self.flush_with(false)) {
            // A log holds what has no room in a run.
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => {
                if !self.pending.is_empty() {
                    self.commit_all()?;
                }
            }
            other => other?,
        }
        self.finish_merges()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Automatically assigned ids, unflushed rows included.
    pub(crate) fn automatic(&self) -> IdRanges {
        let mut all = self.manifest.automatic.clone();
        self.memtable.changes.automatic().iter().for_each(|(first, last)| all.add(first, last));
        all
    }

    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(self.storage.clone())
    }

    pub(crate) fn check_poison(&self) -> Result<()> {
        if self.storage.is_poisoned() { Err(Error::Poisoned { path: self.path.clone() }) } else { Ok(()) }
    }

    fn check_lock(&self) -> Result<()> {
        self.lock.check().map_err(Error::io("look at", &self.path))
    }

    fn next_id(&self) -> Option<u64> {
        match self.manifest.largest_id.max(self.memtable.changes.largest_id()) {
            Some(largest) => largest.checked_add(1),
            None => Some(0),
        }
    }

    fn apply(&mut self, operation: Operation<'_, F>) -> Result<()> {
        self.check_poison()?;
        self.begin_transaction(operation.is_insert())?;
        let is_first = self.pending.is_empty();
        self.deletes = matches!(operation, Operation::Delete(_)) || self.deletes && !is_first;
        self.inserts = operation.is_insert() || self.inserts && !is_first;
        self.pending.push(operation);
        self.memtable.apply(operation);
        Ok(())
    }
}

impl<F: Fingerprint> Drop for Writer<F> {
    fn drop(&mut self) {
        F::end(self);
    }
}

impl<F: Fingerprint> Writer<F> {
    /// Gives up what is under way, and waits for the rest.
    pub(in crate::database) fn end(&mut self) {
        self.discard_flush();
        self.discard_merges();
        self.finish_removals();
    }
}
