//! The one writer of a database: inserts, deletes, commits, flushes, merges.
//!
//! Operations go to the memtable. A commit writes them to the log as one frame and returns when it is
//! durable. When the memtable is full, a commit writes a run instead; replacing the manifest is then what
//! makes the operations durable, and the log starts anew. FORMAT.md tells the order of every step.

mod flush;
mod keys;
mod merging;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::build::remove_run;
use crate::database::bulk::{NO_ID_LEFT, check_key};
use crate::database::compaction::MergeJob;
use crate::database::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::{KeyRecord, hash_key};
use crate::format::manifest::{IdRanges, MAX_CHECKPOINT_BYTES, Manifest, RunRecord};
use crate::format::wal::{Content, Operation};
use crate::kernel::Kernel;
use crate::log::manifest;
use crate::log::wal::Wal;
use crate::memtable::Memtable;
use crate::options::{NO_PROGRESS, Options, check_recipe};
use crate::query::Match;
use crate::query::keys::RowKey;
use crate::query::prepare::Searchable;
use crate::query::search::Searcher;
use crate::query::view::View;
use crate::run::Run;
use crate::storage::{Guarded, Lock, Storage, names};

/// Inserts into and deletes from a database. There is one writer at a time, in all processes together;
/// it never keeps readers waiting.
///
/// What was inserted is durable when [`commit`](Writer::commit) returns, and seen by every
/// [`Snapshot`] taken from then on. After a crash the database holds the effect of a prefix of the
/// operations that contains everything committed. Dropping a writer forgets what was not committed.
///
/// It belongs to the process that has opened it: a child of a fork must not use it.
///
/// ```
/// use nearprint::{Database, Options};
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("corpus.np");
/// let database = Database::<u64>::create(&path, Options::new())?;
/// let mut writer = database.writer()?;
/// for fingerprint in [0x1f3a, 0x1f3b, 0xffff_0000] {
///     if writer.query(fingerprint, 3)?.is_empty() {
///         writer.insert(fingerprint, None)?;
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
    manifest: Manifest,
    view: View<F>,
    memtable: Memtable<F>,
    /// Operations since the last commit, as they will stand in the log.
    pending: Content,
    wal: Option<Wal>,
    /// Merges at work, each of other runs, the ones of older runs first.
    merges: Vec<MergeJob>,
    /// Held until everything else is dropped.
    _lock: Box<dyn Lock>,
}

/// A commit writes a run once keys and texts take this part of the memory.
const KEYS_SHARE: usize = 8;
/// Runs beyond which a flush waits for a merge at work.
const MOST_RUNS: usize = 12;

impl<F: Fingerprint> Writer<F> {
    /// Takes the lock, clears away what a crash left, and recovers the log.
    pub(crate) fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        let storage = Guarded::new(storage);
        let path = storage.path("");
        if manifest::read(&storage)?.is_none() {
            // Looked at before the lock is taken, which would leave a file in a folder that is none.
            return Err(Error::NotADatabase { path });
        }
        let lock = storage.lock()?;
        let manifest = manifest::read(&storage)?.ok_or_else(|| Error::NotADatabase { path: path.clone() })?;
        manifest.check_width(F::BITS, &path)?;
        if manifest.runs_only {
            return Err(Error::Option(format!(
                "{}: holds runs to be ingested by a database, and takes no rows",
                path.display()
            )));
        }
        // A writer that was killed may have renamed and not synced: what this manifest does not name, the
        // one on the medium still may.
        storage.sync_folder().map_err(Error::io("sync", &path))?;
        remove_unnamed(&storage, &manifest)?;
        let options = options.k(manifest.k).layout(manifest.layout);
        let kernel = Kernel::detect();
        let mut writer = Self {
            view: open_runs(&storage, &manifest)?,
            memtable: Memtable::new(options.memtable_rows)?,
            path,
            options,
            kernel,
            searcher: Searcher::new(kernel, NO_PROGRESS),
            manifest,
            pending: Content::default(),
            wal: None,
            merges: Vec::new(),
            _lock: lock,
            storage,
        };
        writer.recover()?;
        Ok(writer)
    }

    /// Inserts a row; without an id, under 1 + the largest id ever stored. Returns the id.
    ///
    /// Rows are a set: a row that is there already changes nothing. An id that is there with another
    /// fingerprint then has both.
    ///
    /// # Errors
    /// [`Error::Limit`] when automatic ids have run out, [`Error::Poisoned`].
    pub fn insert(&mut self, fingerprint: F, id: Option<u64>) -> Result<u64> {
        let given = id.is_some();
        let id = id.or_else(|| self.next_id()).ok_or(Error::Limit(NO_ID_LEFT))?;
        self.apply(Operation::Insert { row: Row { fingerprint, id }, automatic: !given })?;
        Ok(id)
    }

    /// Inserts a row with a key, and a text where the database keeps them. Returns the row's id: the one
    /// given, or the 64-bit xxh3 of the key.
    ///
    /// A row may have several keys. One that it has already changes nothing, and keeps its first text.
    ///
    /// # Errors
    /// [`Error::Option`] where the database was [made](Options::keys) without keys, or a text is given and it
    /// was made without texts, or the key is longer than 65,536 bytes; [`Error::Poisoned`].
    pub fn insert_keyed(&mut self, fingerprint: F, id: Option<u64>, key: &str, text: &[u8]) -> Result<u64> {
        check_key(self.manifest.keys, key, text, &self.path)?;
        let id = id.unwrap_or_else(|| hash_key(key.as_bytes()));
        let sequence = self.next_sequence();
        let row = Row { fingerprint, id };
        self.apply(Operation::InsertKeyed(KeyRecord { row, sequence, key: key.as_bytes(), text }))?;
        Ok(id)
    }

    /// Notes how far a job has come, in whatever bytes: durable with the operations before it, by the same
    /// commit. An empty one says that nothing is unfinished.
    ///
    /// # Errors
    /// [`Error::Limit`] for more than 1 MiB, [`Error::Poisoned`].
    pub fn set_checkpoint(&mut self, checkpoint: &[u8]) -> Result<()> {
        if checkpoint.len() > MAX_CHECKPOINT_BYTES {
            return Err(Error::Limit("a checkpoint takes at most 1 MiB"));
        }
        self.apply(Operation::Checkpoint(checkpoint))
    }

    /// The last checkpoint, if a job is unfinished.
    #[must_use]
    pub fn checkpoint(&self) -> Option<&[u8]> {
        let noted = self.memtable.changes.checkpoint().unwrap_or(&self.manifest.checkpoint);
        (!noted.is_empty()).then_some(noted)
    }

    /// The sequence number of the next key.
    pub fn next_sequence(&self) -> u64 {
        let kept = self.manifest.keys.map_or(0, |kept| kept.next_sequence);
        kept.max(self.memtable.changes.next_sequence())
    }

    /// Whether rows have keys, and if so, whether texts are kept, too.
    #[must_use]
    pub fn keeps_keys(&self) -> Option<bool> {
        self.manifest.keys.map(|keys| keys.texts)
    }

    /// The distance that the database was created for.
    #[must_use]
    pub fn default_k(&self) -> u32 {
        self.options.k
    }

    /// Gives a recipe to a database that was made without one. Durable on return.
    ///
    /// # Errors
    /// [`Error::Option`] where it has another one, or the recipe is empty or longer than 4,096 bytes; else as
    /// [`commit`](Writer::commit).
    pub fn set_recipe(&mut self, recipe: &str) -> Result<()> {
        self.check_poison()?;
        if let Some(known) = self.recipe().filter(|known| *known != recipe) {
            return Err(Error::Option(format!("{}: has another recipe: {known}", self.path.display())));
        }
        check_recipe(recipe)?;
        self.replace_manifest(Manifest { recipe: Some(recipe.into()), ..self.manifest.clone() })
    }

    /// The recipe that the database was made with.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        self.manifest.recipe.as_deref()
    }

    /// The keys of a row, those not yet committed included, ascending.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn keys_of(&self, row: Row<F>) -> Result<Vec<RowKey>> {
        let mut keys = Vec::new();
        if !self.memtable.changes.deletes(row.id) {
            self.view.keys_of(row, &mut keys)?;
        }
        self.memtable.changes.keys_of(row, &mut |record| keys.push(RowKey::of(&record)));
        Ok(RowKey::distinct(keys))
    }

    /// Inserts rows, as [`insert`](Writer::insert) does one after the other.
    ///
    /// # Errors
    /// As [`insert`](Writer::insert).
    pub fn insert_batch(&mut self, rows: &[Row<F>]) -> Result<()> {
        rows.iter().try_for_each(|row| self.insert(row.fingerprint, Some(row.id)).map(drop))
    }

    /// Deletes every row with this id. An id that is not there is no error.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    pub fn delete(&mut self, id: u64) -> Result<()> {
        self.apply(Operation::Delete(id))
    }

    /// Makes `fingerprint` the only one under an id.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    pub fn upsert(&mut self, fingerprint: F, id: u64) -> Result<()> {
        self.delete(id)?;
        self.insert(fingerprint, Some(id)).map(drop)
    }

    /// Makes a row with a key the only one under its id: the one given, or the 64-bit xxh3 of the key. Returns
    /// the id.
    ///
    /// # Errors
    /// As [`insert_keyed`](Writer::insert_keyed); then nothing has been deleted.
    pub fn upsert_keyed(&mut self, fingerprint: F, id: Option<u64>, key: &str, text: &[u8]) -> Result<u64> {
        check_key(self.manifest.keys, key, text, &self.path)?;
        self.delete(id.unwrap_or_else(|| hash_key(key.as_bytes())))?;
        self.insert_keyed(fingerprint, id, key, text)
    }

    /// Makes everything so far durable, and visible to new snapshots in every process. One fdatasync,
    /// or a run when the memtable is full.
    ///
    /// # Errors
    /// [`Error::DiskFull`] and [`Error::Io`]: nothing is lost, and the commit can be tried again; unless the
    /// writer is [`Error::Poisoned`] from then on, because something could not be made durable.
    /// [`Error::Corrupt`] where merging has met damage.
    pub fn commit(&mut self) -> Result<()> {
        self.check_poison()?;
        self.take_finished_merge()?;
        if self.pending.is_empty() {
            return Ok(());
        }
        let changes = &self.memtable.changes;
        if changes.operations() >= self.options.memtable_rows
            || changes.key_bytes() >= self.options.memory_bytes / KEYS_SHARE
        {
            return self.flush();
        }
        if self.wal.is_none() {
            self.start_log()?;
        }
        if let Some(wal) = &mut self.wal {
            wal.append(&self.pending)?;
        }
        self.pending.clear();
        Ok(())
    }

    /// Writes everything so far into a run, durably.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn flush(&mut self) -> Result<()> {
        self.check_poison()?;
        self.take_finished_merge()?;
        if self.memtable.changes.operations() == 0 {
            return Ok(());
        }
        while self.manifest.runs.len() >= MOST_RUNS && !self.merges.is_empty() {
            self.wait_for_merge()?;
        }
        self.flush_with(true)?;
        self.merge_if_due()
    }

    /// Merges all runs into one, without what has been deleted. Waits for it.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit); [`Error::Interrupted`] when the progress listener says so, which
    /// leaves the database as it was.
    pub fn compact(&mut self) -> Result<()> {
        self.flush()?;
        self.discard_merges();
        let range = 0..self.manifest.runs.len();
        if self.is_compact()? {
            return Ok(());
        }
        let options = self.options.clone();
        let merged = self.plan(range).run(&options)?;
        self.adopt_merge(merged)
    }

    /// Every row within `k` bits, those not yet committed included, by (distance, fingerprint, id).
    ///
    /// # Errors
    /// [`Error::Corrupt`] when a page that the answer needs is damaged.
    pub fn query(&mut self, fingerprint: F, k: u32) -> Result<Vec<Match<F>>> {
        let mut tagged = Vec::new();
        self.view.search(&mut self.searcher, &[fingerprint], k, usize::MAX, &mut tagged)?;
        let changes = &self.memtable.changes;
        let live = tagged.into_iter().map(|(_, found)| found).filter(|found| !changes.deletes(found.id));
        let mut found: Vec<Match<F>> = live.collect();
        self.memtable.search(fingerprint, k, self.kernel, &mut found);
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The database as it stands, with everything so far, committed or not. Costs a sort of what is in
    /// no run yet.
    ///
    /// # Errors
    /// [`Error::Io`] when memory maps run out.
    pub fn snapshot(&self) -> Result<Snapshot<F>> {
        let storage: Arc<dyn Storage> = Arc::new(self.storage.clone());
        Snapshot::with_changes(
            storage,
            self.manifest.clone(),
            self.options.clone(),
            &self.view,
            &self.memtable.changes,
        )
    }

    /// Flushes, waits until merging has come to rest, as far as the disk has room for it, and gives up the
    /// lock.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn close(mut self) -> Result<()> {
        self.rest()
    }

    /// Flushes, and waits until merging has come to rest, as far as the disk has room for it.
    pub fn rest(&mut self) -> Result<()> {
        self.check_poison()?;
        self.take_finished_merge()?;
        self.flush_with(false)?;
        loop {
            self.merge_if_due()?;
            if self.merges.is_empty() || !self.wait_for_merge()? {
                return Ok(());
            }
        }
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

    /// Ids that were given automatically, to rows in no run yet too.
    pub(crate) fn automatic(&self) -> IdRanges {
        let mut all = self.manifest.automatic.clone();
        self.memtable.changes.automatic().iter().for_each(|(first, last)| all.add(first, last));
        all
    }

    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(self.storage.clone())
    }

    /// Adds runs that have been written as the newest, by one change of the manifest.
    pub(crate) fn publish(&mut self, runs: Vec<RunRecord>, change: impl FnOnce(&mut Manifest)) -> Result<()> {
        let mut next = self.manifest.clone();
        change(&mut next);
        let opened =
            runs.iter().map(|record| Ok(Arc::new(Searchable::new(Run::open(&self.storage, &next, record)?))));
        let opened: Vec<Arc<Searchable<F>>> = opened.collect::<Result<_>>()?;
        next.runs.extend(runs);
        self.replace_manifest(next)?;
        self.view = View::new(self.view.searchables().iter().cloned().chain(opened).collect());
        Ok(())
    }

    /// Gives out the number of a new run.
    pub(crate) fn take_run_number(&mut self) -> u64 {
        self.manifest.take_run_number()
    }

    /// Removes files that no manifest came to name; not when nobody knows which manifest stands.
    pub(crate) fn forget_run(&self, run: u64, tables: usize) {
        if !self.storage.is_poisoned() {
            remove_run(&self.storage, run, tables);
        }
    }

    pub(crate) fn check_poison(&self) -> Result<()> {
        if self.storage.is_poisoned() { Err(Error::Poisoned { path: self.path.clone() }) } else { Ok(()) }
    }

    fn next_id(&self) -> Option<u64> {
        match self.manifest.largest_id.max(self.memtable.changes.largest_id()) {
            Some(largest) => largest.checked_add(1),
            None => Some(0),
        }
    }

    fn apply(&mut self, operation: Operation<'_, F>) -> Result<()> {
        self.check_poison()?;
        self.pending.push(operation);
        self.memtable.apply(operation);
        Ok(())
    }

    fn replace_manifest(&mut self, mut next: Manifest) -> Result<()> {
        next.generation = self.manifest.generation + 1;
        next.next_run = next.next_run.max(self.manifest.next_run);
        manifest::replace(&self.storage, &next)?;
        self.manifest = next;
        Ok(())
    }
}

impl<F: Fingerprint> Drop for Writer<F> {
    fn drop(&mut self) {
        self.discard_merges();
    }
}

fn open_runs<F: Fingerprint>(storage: &dyn Storage, manifest: &Manifest) -> Result<View<F>> {
    let open = |record| Ok(Arc::new(Searchable::new(Run::open(storage, manifest, record)?)));
    Ok(View::new(manifest.runs.iter().map(open).collect::<Result<_>>()?))
}

/// Removes what a crash left: files with names of ours that the manifest does not name, and no others.
fn remove_unnamed(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    let named: std::collections::HashSet<String> = manifest.file_names().collect();
    let listed = storage.list().map_err(Error::io("read", storage.path("")))?;
    for name in listed.iter().filter_map(|name| name.to_str()) {
        if names::is_ours(name) && !named.contains(name) {
            storage.remove(name).map_err(Error::io("remove", storage.path(name)))?;
        }
    }
    Ok(())
}
