//! A database as it stood at one moment, and everything that can be asked of it.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use crate::database::explain::Explanation;
use crate::database::stats::Stats;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::manifest::{Manifest, RunRecord};
use crate::kernel::Kernel;
use crate::log::manifest;
use crate::log::wal::{self, Log};
use crate::memtable::changes::ChangeSet;
use crate::options::{NO_PROGRESS, Options, Progress, ProgressFn, Stage};
use crate::query::batch::{self, Workers};
use crate::query::clusters::{UnionFind, by_cluster};
use crate::query::join::Pair;
use crate::query::keys::RowKey;
use crate::query::locate::Match;
use crate::query::merged::MergedView;
use crate::query::prepare::Searchable;
use crate::query::search::Searcher;
use crate::query::view::View;
use crate::run::{Run, Verification, verify};
use crate::storage::Storage;
use crate::util::visitor::CallerError;

/// A stable view of a database. Cheap to clone, and shared freely between threads.
#[derive(Clone, Debug)]
pub struct Snapshot<F> {
    shared: Arc<Shared<F>>,
}

#[derive(Debug)]
struct Shared<F> {
    storage: Arc<dyn Storage>,
    /// What is in no run yet is noted in it, beside its rows.
    manifest: Manifest,
    /// Length of the log when it was read.
    log_bytes: u64,
    options: Options,
    kernel: Kernel,
    /// The runs of the manifest, then what is in no run yet.
    view: View<F>,
}

/// How many members of clusters ahead their ids are asked for.
const MEMBERS_AHEAD: usize = 32;
/// How far a growing search steps once it scans.
const SCAN_STEP: u32 = 4;

thread_local! {
    static SEARCHER: RefCell<Option<Searcher<'static>>> = const { RefCell::new(None) };
}

impl<F: Fingerprint> Snapshot<F> {
    /// Opens the database as it stands now. Runs that `known` has open are not opened again.
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

    /// Runs, and what is in no run yet.
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
            None => manifest.layout.layout(F::BITS, manifest.k, changes.operations() as u64)?,
        };
        let newest = changes.to_run(&manifest, layout, &options)?;
        let view = View::new(view.searchables().iter().cloned().chain(newest).collect());
        let kernel = Kernel::detect();
        let shared = Shared { storage, manifest, log_bytes: 0, options, kernel, view };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The database as it stands now. Files that this snapshot has open are not opened again, so this
    /// costs little where little has changed.
    ///
    /// # Errors
    /// As [`Database::snapshot`](crate::Database::snapshot).
    pub fn refresh(&self) -> Result<Self> {
        let Shared { storage, manifest, log_bytes, options, view, .. } = &*self.shared;
        let now = manifest::of::<F>(&**storage)?;
        let log_now = wal::current_len(&**storage, &now).unwrap_or(0);
        if now.generation == manifest.generation && log_now == *log_bytes {
            return Ok(self.clone());
        }
        Self::open(storage, options, Some(view))
    }

    /// The same view, with another listener to what is asked of it.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::Arc;
    /// use nearprint::{Database, Error, Options, Progress, Stage};
    ///
    /// struct Impatient;
    /// impl Progress for Impatient {
    ///     fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
    ///         ControlFlow::Break(())
    ///     }
    /// }
    ///
    /// # let home = tempfile::tempdir()?;
    /// let mut builder = Database::<u64>::build(home.path().join("corpus.np"), Options::new())?;
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

    /// The distance that the database was created for.
    #[must_use]
    pub fn default_k(&self) -> u32 {
        self.shared.manifest.k
    }

    /// All rows whose fingerprint differs from `fingerprint` in at most `k` bits, by (distance,
    /// fingerprint, id).
    ///
    /// Exact for any k. Cost: see [`explain`](Snapshot::explain).
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) when a page that the answer needs is damaged.
    pub fn query(&self, fingerprint: F, k: u32) -> Result<Vec<Match<F>>> {
        SEARCHER.with_borrow_mut(|searcher| {
            let searcher = searcher.get_or_insert_with(|| Searcher::new(self.shared.kernel, NO_PROGRESS));
            let mut found = Vec::new();
            self.shared.view.search(searcher, &[fingerprint], k, usize::MAX, &mut found)?;
            let mut matches: Vec<Match<F>> = found.into_iter().map(|(_, found)| found).collect();
            matches.sort_unstable();
            matches.dedup();
            Ok(matches)
        })
    }

    /// [`query`](Snapshot::query) for many fingerprints, on all threads of the options.
    ///
    /// `visit` gets the index of each query and its matches, in the order of the queries, whether
    /// there are matches or not. An error from `visit` ends the batch and is returned.
    ///
    /// Large batches go table by table, which takes a quarter to a half of the time of single queries, and hands
    /// nothing on before the first 524,288 queries of a thread are answered. Memory: up to 128 bytes for each of these, per
    /// thread, and about 100 bytes for each match of one query.
    ///
    /// A [listener](Options::progress) is told how many queries have been answered, and may end the batch at any time.
    ///
    /// # Errors
    /// As [`query`](Snapshot::query), and whatever `visit` returns; [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn query_batch<E: From<Error>>(
        &self,
        fingerprints: &[F],
        k: u32,
        mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let progress = self.options().counter(Stage::Answering, fingerprints.len() as u64);
        let mut caller = CallerError::new();
        let visit = |index: usize, matches: &[Match<F>]| caller.keep(visit(index, matches));
        let done = self.query_batch_with(fingerprints, k, &progress, visit);
        caller.or(done)
    }

    /// The same, telling somebody else of the queries that are answered.
    pub(crate) fn query_batch_with(
        &self,
        fingerprints: &[F],
        k: u32,
        progress: ProgressFn<'_>,
        visit: impl FnMut(usize, &[Match<F>]) -> Result<()>,
    ) -> Result<()> {
        batch::query(&self.shared.view, self.workers(progress), fingerprints, k, visit)
    }

    /// [`nearest`](Snapshot::nearest) for many fingerprints, on all threads of the options; `visit` as
    /// in [`query_batch`](Snapshot::query_batch).
    ///
    /// # Errors
    /// As [`query_batch`](Snapshot::query_batch).
    pub fn nearest_batch<E: From<Error>>(
        &self,
        fingerprints: &[F],
        count: usize,
        max_k: u32,
        mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let progress = self.options().counter(Stage::Answering, fingerprints.len() as u64);
        let answer = |fingerprint| self.nearest_with(fingerprint, count, max_k, &progress);
        let mut caller = CallerError::new();
        let visit = |index: usize, matches: &[Match<F>]| caller.keep(visit(index, matches));
        let done = batch::one_by_one(self.workers(&progress), fingerprints, visit, answer);
        caller.or(done)
    }

    /// The `count` nearest rows at most `max_k` bits away, by (distance, fingerprint, id): exact,
    /// ties included as far as the count allows.
    ///
    /// Grows k until enough rows are found; costs about as much as the last of these queries, and a
    /// few scans where rows are far away.
    ///
    /// # Errors
    /// As [`query`](Snapshot::query).
    pub fn nearest(&self, fingerprint: F, count: usize, max_k: u32) -> Result<Vec<Match<F>>> {
        self.nearest_with(fingerprint, count, max_k, NO_PROGRESS)
    }

    fn nearest_with(
        &self,
        fingerprint: F,
        count: usize,
        max_k: u32,
        progress: ProgressFn<'_>,
    ) -> Result<Vec<Match<F>>> {
        let max_k = max_k.min(F::BITS);
        let mut k = 0;
        loop {
            let mut matches = self.query(fingerprint, k)?;
            progress(0)?;
            if matches.len() >= count || k == max_k {
                matches.truncate(count);
                return Ok(matches);
            }
            let step = if self.shared.view.searchables().iter().any(|run| run.at(k).scans()) {
                SCAN_STEP
            } else {
                1
            };
            k = (k + step).min(max_k);
        }
    }

    /// All pairs of distinct fingerprints within `k` bits, in blocks, each pair once, in an order
    /// that depends only on the database and k. An error from `visit` ends the search.
    ///
    /// Streams: memory does not grow with the number of pairs. Where the plan for `k` is a scan, or
    /// runs have different layouts, all distinct fingerprints are held in memory, twice.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), and whatever `visit` returns.
    pub fn pairs<E: From<Error>>(
        &self,
        k: u32,
        mut visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut caller = CallerError::new();
        let done = self.whole().pairs(k, &mut |block| caller.keep(visit(block)));
        caller.or(done)
    }

    /// All pairs of rows within `k` bits, equal fingerprints included, as `visit(a, b, distance)`. The row
    /// of the smaller fingerprint comes first; of equal fingerprints the one of the smaller id.
    ///
    /// Rows of equal fingerprints come first, then the pairs in the order of [`pairs`](Snapshot::pairs).
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    pub fn row_pairs<E: From<Error>>(
        &self,
        k: u32,
        mut visit: impl FnMut(Row<F>, Row<F>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut group: Vec<Row<F>> = Vec::new();
        self.rows(|row| -> Result<(), E> {
            if group.first().is_some_and(|first| first.fingerprint != row.fingerprint) {
                group.clear();
            }
            group.iter().try_for_each(|&earlier| visit(earlier, row, 0))?;
            group.push(row);
            Ok(())
        })?;
        let (mut ids_a, mut ids_b) = (Vec::new(), Vec::new());
        self.pairs(k, |block| -> Result<(), E> {
            for pair in block {
                self.shared.view.ids_of(pair.a, &mut ids_a)?;
                self.shared.view.ids_of(pair.b, &mut ids_b)?;
                for &id in &ids_a {
                    let a = Row { fingerprint: pair.a, id };
                    let row_b = |&id: &u64| Row { fingerprint: pair.b, id };
                    ids_b.iter().map(row_b).try_for_each(|b| visit(a, b, pair.distance))?;
                }
            }
            Ok(())
        })
    }

    /// The connected components of the pairs within `k` bits that have two rows or more.
    ///
    /// `visit` gets each cluster's rows by (fingerprint, id); clusters come in the order of their
    /// smallest fingerprint. An error from `visit` ends it.
    ///
    /// Memory: 5 bytes per distinct fingerprint (14 where the database has several runs), 24 per
    /// fingerprint in a cluster, the rows of one cluster, and what [`pairs`](Snapshot::pairs) takes.
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs); [`Error::Limit`](crate::Error::Limit) for more than 2^32 - 1 distinct fingerprints.
    pub fn clusters<E: From<Error>>(
        &self,
        k: u32,
        mut visit: impl FnMut(&[Row<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let whole = self.whole();
        let order = whole.order()?;
        let mut sets = UnionFind::new(order.len());
        let numbers = order.numbers();
        whole.pairs(k, &mut |block| numbers.unite(block, &mut sets))?;
        drop(numbers);
        let mut values = order.ascending();
        let members = sets.members(order.with_several_ids(&whole)?, |index| values.at(index))?;
        let (mut rows, mut ids) = (Vec::new(), Vec::new());
        let mut ahead = members.iter().skip(MEMBERS_AHEAD);
        for cluster in by_cluster(&members) {
            rows.clear();
            for member in cluster {
                ahead.next().map_or(Ok(()), |member| order.prefetch_ids(member))?;
                order.ids_of(&whole, member, &mut ids)?;
                rows.extend(ids.iter().map(|&id| Row { fingerprint: member.value, id }));
            }
            visit(&rows)?;
        }
        Ok(())
    }

    /// The keys of a row, ascending; none where the row has none, or is not there.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn keys_of(&self, row: Row<F>) -> Result<Vec<RowKey>> {
        let mut keys = Vec::new();
        self.shared.view.keys_of(row, &mut keys)?;
        Ok(RowKey::distinct(keys))
    }

    /// The ids of the rows that have a key, ascending. Where rows with keys may have been given ids of their
    /// own, ask `everywhere`: one walk over all keys; else it is a look-up.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn ids_of_key(&self, key: &str, everywhere: bool) -> Result<Vec<u64>> {
        self.shared.view.ids_of_key(key.as_bytes(), everywhere)
    }

    /// Whether rows have keys, and if so, whether texts are kept, too.
    #[must_use]
    pub fn keeps_keys(&self) -> Option<bool> {
        self.shared.manifest.keys.map(|keys| keys.texts)
    }

    /// How far a job has come that is unfinished: see [`Writer::set_checkpoint`](crate::Writer::set_checkpoint).
    #[must_use]
    pub fn checkpoint(&self) -> Option<&[u8]> {
        let checkpoint = &self.shared.manifest.checkpoint;
        (!checkpoint.is_empty()).then_some(checkpoint)
    }

    /// The recipe that the database was made with.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        self.shared.manifest.recipe.as_deref()
    }

    /// Every row, by (fingerprint, id).
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), and whatever `visit` returns.
    pub fn rows<E: From<Error>>(&self, mut visit: impl FnMut(Row<F>) -> Result<(), E>) -> Result<(), E> {
        let mut caller = CallerError::new();
        let done = self.whole().rows(|row| caller.keep(visit(row)));
        caller.or(done)
    }

    /// The fingerprints stored under an id, ascending. There is no index by id: one walk over all
    /// rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn fingerprints_of(&self, id: u64) -> Result<Vec<F>> {
        let mut found = Vec::new();
        self.rows(|row| {
            if row.id == id {
                found.push(row.fingerprint);
            }
            Ok::<(), Error>(())
        })?;
        Ok(found)
    }

    /// Counts and sizes. Reads nothing.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::of(&self.shared.manifest, self.runs())
    }

    /// How queries at `k` would be answered, at what cost, and why.
    #[must_use]
    pub fn explain(&self, k: u32) -> Explanation {
        Explanation::of_runs(k, self.shared.view.searchables().iter().map(|run| (&run.run.record, run.at(k))))
    }

    /// Reads every byte of every file and checks everything that the format promises. Files are found by
    /// name: those that a writer has merged away since are told as missing.
    /// [`Database::verify`](crate::Database::verify) checks the database as it stands.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) where a file cannot be read. Damage is no error here; it is listed.
    pub fn verify(&self) -> Result<Verification> {
        verify_all::<F>(&*self.shared.storage, &self.shared.manifest, &self.shared.options)
    }

    /// Every row, by (fingerprint, id).
    #[cfg(test)]
    pub(crate) fn all_rows(&self) -> Vec<Row<F>> {
        let mut found = Vec::new();
        self.rows(|row| {
            found.push(row);
            Ok::<(), Error>(())
        })
        .expect("a sound database");
        found
    }

    #[cfg(test)]
    pub(crate) fn searchables(&self) -> &[Arc<Searchable<F>>] {
        self.shared.view.searchables()
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.shared.manifest
    }

    /// Where the database is.
    pub(crate) fn folder(&self) -> PathBuf {
        self.shared.storage.path("")
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Oldest first; the last may be what is in no run yet, in memory.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run<F>> {
        self.shared.view.runs()
    }

    fn whole(&self) -> MergedView<'_, F> {
        MergedView::new(&self.shared.view, self.shared.kernel, &self.shared.options)
    }

    /// What works on batches: the kernel, and how many threads.
    fn workers<'a>(&self, progress: ProgressFn<'a>) -> Workers<'a> {
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
