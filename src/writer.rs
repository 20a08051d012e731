//! The one writer of a database: inserts, deletes, commits, flushes, merges.
//!
//! Operations go to the memtable. A commit writes them to the log as one frame and returns when it is
//! durable. When the memtable is full, a commit writes a run instead; replacing the manifest is then what
//! makes the operations durable, and the log starts anew. FORMAT.md tells the order of every step.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bulk::NO_ID_LEFT;
use crate::compaction::policy::{self, Size};
use crate::compaction::{Job, Merged, Plan};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::manifest::{IdRanges, Manifest, RunRecord};
use crate::format::wal::{Content, Operation};
use crate::kernel::Kernel;
use crate::layout::cost::typical;
use crate::layout::{Layout, LayoutChoice};
use crate::manifest;
use crate::memtable::Memtable;
use crate::options::Options;
use crate::query::Match;
use crate::query::prepare::Searchable;
use crate::query::search::Searcher;
use crate::query::view::View;
use crate::runs::{Counts, Target, remove_run, write_run};
use crate::segment::Run;
use crate::snapshot::Snapshot;
use crate::storage::{Guarded, Lock, Storage, names};
use crate::wal::{Log, Wal};

/// Inserts into and deletes from a database. There is one writer at a time, in all processes together;
/// it never keeps readers waiting.
///
/// What was inserted is durable when [`commit`](Writer::commit) returns, and seen by every
/// [`Snapshot`] taken from then on. After a crash the database holds the effect of a prefix of the
/// operations that contains everything committed. Dropping a writer forgets what was not committed.
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
    searcher: Searcher,
    manifest: Manifest,
    view: View<F>,
    memtable: Memtable<F>,
    /// Operations since the last commit, as they will stand in the log.
    pending: Content,
    wal: Option<Wal>,
    /// Merges at work, each of other runs, the ones of older runs first.
    merges: Vec<Job>,
    /// Held until everything else is dropped.
    _lock: Box<dyn Lock>,
}

/// Runs beyond which a flush waits for a merge at work.
const MOST_RUNS: usize = 12;
/// While old runs are being merged, the few young ones that come meanwhile may be, too.
const MOST_MERGES: usize = 2;

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
        remove_unnamed(&storage, &manifest)?;
        let options = options.k(manifest.k).layout(manifest.layout);
        let kernel = Kernel::detect();
        let mut writer = Self {
            view: open_runs(&storage, &manifest)?,
            memtable: Memtable::new(options.memtable_rows)?,
            path,
            options,
            kernel,
            searcher: Searcher::new(kernel),
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
        if self.memtable.changes.operations() >= self.options.memtable_rows {
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
        self.view.search(&mut self.searcher, &[fingerprint], k, &mut tagged)?;
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

    /// Flushes, waits until merging has come to rest, and gives up the lock.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn close(mut self) -> Result<()> {
        self.check_poison()?;
        self.take_finished_merge()?;
        self.flush_with(false)?;
        loop {
            self.merge_if_due()?;
            if self.merges.is_empty() {
                return Ok(());
            }
            self.wait_for_merge()?;
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

    /// Starts merges where the policy asks for them.
    pub(crate) fn merge_if_due(&mut self) -> Result<()> {
        while self.merges.len() < MOST_MERGES {
            let Some(range) = self.due_merge() else { return Ok(()) };
            let plan = self.plan(range);
            if self.options.background {
                self.merges.push(plan.spawn(&self.options)?);
            } else {
                let merged = plan.run(&self.options.clone().without_progress())?;
                self.adopt_merge(merged)?;
            }
        }
        Ok(())
    }

    /// What to merge next of the runs that are younger than all that are being merged.
    fn due_merge(&self) -> Option<Range<usize>> {
        let size = |record: &RunRecord| Size {
            entries: record.entries,
            rows: record.rows,
            tombstones: record.tombstones,
        };
        let last = self.merges.last().and_then(|job| job.replaces.last());
        let young = last.and_then(|last| self.manifest.runs.iter().position(|record| record.run == *last));
        let start = young.map_or(0, |position| position + 1);
        let sizes: Vec<Size> = self.manifest.runs[start..].iter().map(size).collect();
        let layout = &self.largest_run()?.layout;
        let cost = |entries| typical(layout, entries, self.options.k);
        let due = policy::pick(&sizes, start > 0, &cost)?;
        Some(start + due.start..start + due.end)
    }

    fn largest_run(&self) -> Option<&RunRecord> {
        self.manifest.runs.iter().max_by_key(|record| record.entries)
    }

    /// Whether there is nothing that a merge of everything would change.
    fn is_compact(&self) -> Result<bool> {
        Ok(match &self.manifest.runs[..] {
            [] => true,
            [only] => only.tombstones == 0 && only.layout == self.layout_of(only.entries, true)?,
            _ => false,
        })
    }

    /// The layout for a run of so many entries. Runs beside a larger one take its layout, so that they
    /// can be joined and merged table by table.
    fn layout_of(&self, entries: u64, holds_largest: bool) -> Result<Layout> {
        match self.largest_run() {
            Some(largest) if !holds_largest && largest.entries >= entries => Ok(largest.layout.clone()),
            _ => choose_layout::<F>(self.options.layout, self.options.k, entries),
        }
    }

    fn plan(&mut self, range: Range<usize>) -> Plan<F> {
        let largest = self.largest_run().map(|record| record.run);
        let holds_largest =
            self.manifest.runs[range.clone()].iter().any(|record| Some(record.run) == largest);
        let beside = self.largest_run().filter(|_| !holds_largest).map(|record| record.layout.clone());
        let (choice, k) = (self.options.layout, self.options.k);
        let run = self.manifest.take_run_number();
        Plan {
            has_older: range.start > 0,
            inputs: self.view.searchables()[range].to_vec(),
            storage: self.storage(),
            database_id: self.manifest.database_id,
            run,
            layout: Box::new(move |entries| match &beside {
                Some(layout) => Ok(layout.clone()),
                None => choose_layout::<F>(choice, k, entries),
            }),
        }
    }

    /// Takes over the results of merges that have ended.
    fn take_finished_merge(&mut self) -> Result<()> {
        while let Some(at) = self.merges.iter().position(Job::is_finished) {
            let merged = self.merges.remove(at).wait()?;
            self.adopt_merge(merged)?;
            self.merge_if_due()?;
        }
        Ok(())
    }

    /// Waits for the merge of the youngest runs, the smallest, and takes over its result.
    fn wait_for_merge(&mut self) -> Result<()> {
        match self.merges.pop() {
            Some(job) => self.adopt_merge(job.wait()?),
            None => Ok(()),
        }
    }

    /// Puts a merged run in the place of its inputs.
    fn adopt_merge(&mut self, merged: Merged) -> Result<()> {
        let Merged { replaced, record } = merged;
        let runs = &self.manifest.runs;
        let start = runs.iter().position(|run| Some(&run.run) == replaced.first()).unwrap_or(runs.len());
        let range = start..start + replaced.len();
        debug_assert!(
            runs[range.clone()].iter().map(|run| run.run).eq(replaced),
            "merged runs stay neighbours"
        );
        let adopted = self.replace_runs(range, record.as_ref());
        if let (Err(_), Some(record)) = (&adopted, &record) {
            self.forget_run(record.run, record.segments.len());
        }
        adopted
    }

    fn replace_runs(&mut self, range: Range<usize>, record: Option<&RunRecord>) -> Result<()> {
        let mut next = self.manifest.clone();
        let opened = match record {
            Some(record) => Some(Arc::new(Searchable::new(Run::open(&self.storage, &next, record)?))),
            None => None,
        };
        let inputs: Vec<RunRecord> = next.runs.splice(range.clone(), record.cloned()).collect();
        self.replace_manifest(next)?;
        let mut runs = self.view.searchables().to_vec();
        runs.splice(range, opened);
        self.view = View::new(runs);
        inputs.iter().for_each(|input| remove_run(&self.storage, input.run, input.segments.len()));
        Ok(())
    }

    /// Ends merges that are not wanted any more.
    fn discard_merges(&mut self) {
        let jobs = std::mem::take(&mut self.merges);
        for record in jobs.into_iter().filter_map(|job| job.abandon().ok().flatten()) {
            self.forget_run(record.run, record.segments.len());
        }
    }

    fn next_id(&self) -> Option<u64> {
        match self.manifest.largest_id.max(self.memtable.changes.largest_id()) {
            Some(largest) => largest.checked_add(1),
            None => Some(0),
        }
    }

    fn apply(&mut self, operation: Operation<F>) -> Result<()> {
        self.check_poison()?;
        self.pending.push(operation);
        self.memtable.apply(operation);
        Ok(())
    }

    /// Creates a log and has the manifest name it.
    fn start_log(&mut self) -> Result<()> {
        let wal = Wal::create(&self.storage, &self.manifest)?;
        let mut next = self.manifest.clone();
        next.live_wal = Some(wal.number);
        next.next_wal = wal.number + 1;
        self.manifest.next_wal = next.next_wal;
        self.replace_or_forget(next, &wal)?;
        self.wal = Some(wal);
        Ok(())
    }

    fn replace_or_forget(&mut self, next: Manifest, wal: &Wal) -> Result<()> {
        self.replace_manifest(next).inspect_err(|_| self.forget_log(wal.number))
    }

    fn forget_log(&self, number: u64) {
        if !self.storage.is_poisoned() {
            // The next writer removes it otherwise.
            let _ = self.storage.remove(&names::wal(number));
        }
    }

    /// Writes the memtable as a run and starts the log anew, with a new one where `goes_on`.
    fn flush_with(&mut self, goes_on: bool) -> Result<()> {
        let changes = &self.memtable.changes;
        let has_log = self.manifest.live_wal.is_some();
        if changes.operations() == 0 && !has_log {
            return Ok(());
        }
        let (rows, deleted) = (changes.rows(), changes.deleted(!self.manifest.runs.is_empty()));
        let mut next = self.manifest.clone();
        next.largest_id = next.largest_id.max(changes.largest_id());
        changes.automatic().iter().for_each(|(first, last)| next.automatic.add(first, last));
        if let Some(wal) = &self.wal {
            next.next_frame = wal.next_frame;
        }
        let record = self.write_memtable(&rows, &deleted)?;
        next.next_run = self.manifest.next_run;
        let tables = record.as_ref().map_or(0, |record| record.segments.len());
        let run = record.as_ref().map(|record| record.run);
        let forget = |writer: &Self| run.into_iter().for_each(|run| writer.forget_run(run, tables));
        let wal = match goes_on.then(|| Wal::create(&self.storage, &next)).transpose() {
            Ok(wal) => wal,
            Err(error) => {
                forget(self);
                return Err(error);
            }
        };
        next.live_wal = wal.as_ref().map(|wal| wal.number);
        next.next_wal += u64::from(wal.is_some());
        self.manifest.next_wal = next.next_wal;
        let old = self.manifest.live_wal;
        let published = self.publish(record.into_iter().collect(), |manifest| *manifest = next);
        if let Err(error) = published {
            forget(self);
            wal.iter().for_each(|wal| self.forget_log(wal.number));
            return Err(error);
        }
        old.into_iter().for_each(|number| self.forget_log(number));
        self.wal = wal;
        self.memtable.clear();
        self.pending.clear();
        Ok(())
    }

    /// Writes a run. Nothing where there is nothing to write.
    fn write_memtable(&mut self, rows: &[Row<F>], deleted: &[u64]) -> Result<Option<RunRecord>> {
        if rows.is_empty() && deleted.is_empty() {
            return Ok(None);
        }
        let run = self.take_run_number();
        let options = self.options.clone().without_progress();
        let counts = Counts::of(&rows, 0, &options)?;
        let layout = self.layout_of(counts.entries, false)?;
        let storage = self.storage();
        let database_id = self.manifest.database_id;
        let target = Target { storage: &storage, options: &options, database_id, width: F::BITS, run };
        write_run(target, layout, Box::new(rows), counts, deleted).map(Some)
    }

    /// Puts what a log holds into a run. A log that a crash left is never appended to.
    fn recover(&mut self) -> Result<()> {
        if let Some(log) = Log::read(&self.storage, &self.manifest)? {
            let (frames, operations) = log.operations::<F>()?;
            operations.into_iter().for_each(|operation| self.memtable.apply(operation));
            self.manifest.next_frame += frames;
            self.flush_with(false)?;
        }
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

fn choose_layout<F: Fingerprint>(choice: LayoutChoice, k: u32, entries: u64) -> Result<Layout> {
    choice.layout(F::BITS, k, entries)
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
