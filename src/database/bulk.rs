//! Bulk loading: any number of rows, sorted with bounded memory, into one run.
//!
//! Rows are sorted in pieces as large as the memory allows; pieces that do not fit are spilled and
//! merged. The merged rows are read twice, once to count and once to write table 0 and the
//! postings. Every other table is made from table 0 by sorting its permuted fingerprints the same
//! way.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::build::{KeySorter, RowCounts, RunContent, Sorter, SpillNames, Target, write_run};
use crate::database::left_out;
use crate::database::new_row::NewRow;
use crate::error::{Error, Limit, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::header::Owner;
use crate::format::keys::KeyRecord;
use crate::format::manifest::{IdRanges, Manifest, RunRecord};
use crate::format::schema::{KeyStorage, Remember, Schema};
use crate::log::manifest;
use crate::options::Options;
use crate::progress::Stage;
use crate::run::write_identities;
use crate::storage::{Staging, Storage, names, reserve};
use xxhash_rust::xxh3::xxh3_128;

/// How often progress is reported and the process is checked, in rows.
const REPORT_ROWS: u64 = 1 << 16;
/// The number of the first run of a database.
const FIRST_RUN: u64 = 1;

fn folder(staging: &Staging) -> Arc<dyn Storage> {
    Arc::new(staging.folder().clone())
}

/// Loads rows in bulk into a database that does not exist yet.
///
/// The path does not exist until [`finish`](Builder::finish) succeeds. Dropping the builder removes
/// everything. In the child of a fork, dropping its parent's builder changes nothing.
///
/// ```
/// use nearprint::{Database, Row, Schema};
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("corpus.np");
/// let mut builder = Database::<u64>::build(&path, &Schema::new())?;
/// builder.push(0x0123_4567_89ab_cdef)?;
/// builder.push(Row { fingerprint: 0x0123_4567_89ab_cdee, id: 42 })?;
/// let database = builder.finish()?;
/// assert_eq!(database.snapshot()?.stats().rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder<F: Fingerprint> {
    /// Dropped before the folder of its files.
    sorter: Sorter<Row<F>>,
    keys: KeySorter<F>,
    next_sequence: u64,
    schema: Schema,
    /// The manifest of the empty database.
    manifest: Manifest,
    /// The owner of the files of its run.
    owner: Owner,
    options: Options,
    /// The folder of `staging`.
    storage: Arc<dyn Storage>,
    staging: Staging,
    runs_only: bool,
    /// The caller's name for the run.
    identity: Option<String>,
    /// The identity of the run that this one replaces.
    replaced: Option<[u8; 16]>,
    automatic: IdRanges,
    ingested: BTreeSet<[u8; 16]>,
    largest_id: Option<u64>,
    next_id: Option<u64>,
    rows: u64,
}

impl<F: Fingerprint> Builder<F> {
    pub(crate) fn begin(path: &Path, schema: &Schema, options: Options) -> Result<Self> {
        schema.check(F::BITS)?;
        options.check()?;
        let staging = Staging::begin(path)?;
        let storage = folder(&staging);
        // Keys need more memory than rows.
        let memory = if schema.keys.has_keys() { options.memory_bytes / 3 } else { options.memory_bytes };
        let names = SpillNames::new(FIRST_RUN, 0);
        let manifest = manifest::fresh(F::BITS, schema)?;
        let expires = schema.lifetime.map(|lifetime| lifetime.of_row(storage.now()));
        Ok(Self {
            sorter: Sorter::new(storage.clone(), names, memory, options.threads),
            keys: KeySorter::new(options.memory_bytes / 3),
            next_sequence: 0,
            owner: manifest.new_owner(FIRST_RUN, expires)?,
            schema: schema.clone(),
            manifest,
            next_id: Some(0),
            options,
            storage,
            staging,
            runs_only: false,
            identity: None,
            replaced: None,
            automatic: IdRanges::default(),
            ingested: BTreeSet::new(),
            largest_id: None,
            rows: 0,
        })
    }

    /// Takes over everything but rows from a database that this one replaces: assigned ids, the
    /// identities of ingested runs, the checkpoint, the history.
    pub(crate) fn take_over(&mut self, old: &Manifest, ingested: BTreeSet<[u8; 16]>) {
        self.largest_id = self.largest_id.max(old.largest_id);
        old.automatic.iter().for_each(|(first, last)| self.automatic.add(first, last));
        self.ingested = ingested;
        self.runs_only |= old.runs_only;
        if let (true, [run]) = (old.runs_only, &old.runs[..]) {
            // One that follows from the rows follows from those that are left.
            self.replaced = Some(run.identity).filter(|known| identity_of(None, old, run) != Some(*known));
        }
        if let Some(kept) = old.keys {
            self.next_sequence = self.next_sequence.max(kept.next_sequence);
        }
        // Nothing is lost before its time: all rows expire with the newest ones.
        let of_log = old.expiry.filter(|_| old.live_wal.is_some()).map(|expiry| expiry.of_log);
        let newest = old.runs.last().and_then(|newest| newest.expires).max(of_log);
        self.owner.expires = self.owner.expires.and(newest).or(self.owner.expires);
        self.manifest.checkpoint.clone_from(&old.checkpoint);
        self.manifest.history.clone_from(&old.history);
    }

    /// Gives the database the permissions of the one that it replaces.
    pub(crate) fn copy_permissions(&mut self, source: &dyn Storage) -> Result<()> {
        self.staging.copy_permissions(source)
    }

    /// The folder in which the database is prepared.
    pub(crate) fn folder(&self) -> &Path {
        self.staging.path()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Whether no row has been added.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The id of the first row that is pushed without one; 0 by default.
    ///
    /// ```
    /// use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?.first_id(1000);
    /// assert_eq!(builder.push(7)?, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn first_id(mut self, id: u64) -> Self {
        self.next_id = self.next_id.max(Some(id));
        self
    }

    /// Makes a folder of runs instead, for databases to [ingest](crate::Writer::ingest). It can be
    /// read like a database, but not written to.
    ///
    /// A database ingests a run once. If all rows are pushed with ids or keys, runs with equal rows are the
    /// same run, wherever they were built; texts do not count. A run with automatic ids differs from every
    /// other run.
    #[must_use]
    pub fn runs_only(mut self) -> Self {
        self.runs_only = true;
        // They expire from when a database has ingested them.
        (self.manifest.expiry, self.owner.expires) = (None, None);
        self
    }

    /// Makes a [run](Self::runs_only) that counts as the same run as all others with this name, even with
    /// other rows. So a database ingests only one of several attempts at a task. Choose a new name to ingest
    /// rows again that were deleted since.
    #[must_use]
    pub fn identity(mut self, name: &str) -> Self {
        self.identity = Some(name.to_string());
        self
    }

    /// Whether rows have keys, and keys texts or hashes of texts.
    #[must_use]
    pub fn key_storage(&self) -> KeyStorage {
        KeyStorage::of(self.manifest.keys)
    }

    /// Adds a row and returns its id: the given one, the hash of the key, or the larger of the [first
    /// id](Builder::first_id) and 1 + the largest id so far.
    ///
    /// # Errors
    /// [`Error::Limit`] when automatic ids have run out, [`Error::Io`] when a full buffer cannot be
    /// written, [`Error::Interrupted`]; [`Error::Forked`] in the child of a fork, not for every row;
    /// for keys and texts as [`Writer::insert`](crate::Writer::insert).
    pub fn push<'a>(&mut self, row: impl Into<NewRow<'a, F>>) -> Result<u64> {
        F::push(self, row.into())
    }

    pub(super) fn push_new(&mut self, row: NewRow<'_, F>) -> Result<u64> {
        row.check(self.manifest.keys, self.staging.target())?;
        let (fingerprint, given) = (row.fingerprint, row.given_id());
        let Some(key) = row.key else { return self.push_row(fingerprint, given) };
        let id = given.unwrap_or_default();
        let (row, text) = (Row { fingerprint, id }, row.text);
        let sequence = self.next_sequence;
        self.push_record(&KeyRecord { row, sequence, last: sequence, key: key.as_bytes(), text })?;
        Ok(id)
    }

    fn push_row(&mut self, fingerprint: F, id: Option<u64>) -> Result<u64> {
        if self.rows.is_multiple_of(REPORT_ROWS) {
            self.staging.check_process()?;
        }
        let given = id.is_some();
        let Some(id) = id.or(self.next_id) else {
            return Err(Error::Limit(Limit::AutomaticIds));
        };
        if !given {
            self.automatic.add(id, id);
        }
        self.largest_id = self.largest_id.max(Some(id));
        self.next_id = self.next_id.and_then(|next| if id >= next { id.checked_add(1) } else { Some(next) });
        self.sorter.push(Row { fingerprint, id })?;
        self.rows += 1;
        if self.rows.is_multiple_of(REPORT_ROWS) {
            self.options.report(Stage::Reading, self.rows, None)?;
        }
        Ok(id)
    }

    pub(crate) fn push_record(&mut self, record: &KeyRecord<'_, F>) -> Result<()> {
        self.push_row(record.row.fingerprint, Some(record.row.id))?;
        self.next_sequence = self.next_sequence.max(record.last.saturating_add(1));
        let target = Target { storage: &self.storage, options: &self.options, owner: self.owner };
        self.keys.push(target, record)
    }

    /// Sorts, writes and syncs everything, then renames the folder to its final path.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Limit`] for more than 2^32 - 1 distinct fingerprints,
    /// [`Error::AlreadyExists`] if the path was created meanwhile, [`Error::Forked`] in the child of
    /// a fork.
    pub fn finish(self) -> Result<crate::Database<F>> {
        F::finish_build(self)
    }

    pub(super) fn publish(self) -> Result<crate::Database<F>> {
        self.staging.check_process()?;
        let Self {
            sorter,
            keys,
            options,
            storage,
            staging,
            schema,
            mut manifest,
            owner,
            runs_only,
            identity,
            replaced,
            automatic,
            ingested,
            largest_id,
            ..
        } = self;
        let (path, rows) = (staging.target().to_path_buf(), self.rows);
        if let Some(kept) = &mut manifest.keys {
            kept.next_sequence = self.next_sequence;
        }
        (manifest.largest_id, manifest.automatic, manifest.runs_only) = (largest_id, automatic, runs_only);
        let sorted = sorter.finish()?;
        let counts = RowCounts::of(&sorted, rows, &options)?;
        if counts.rows > 0 {
            let run = manifest.take_run_number();
            let to = Target { storage: &storage, options: &options, owner: Owner { run, ..owner } };
            let (layout, keys) = (manifest.layout_for(counts.entries)?, keys.sorted(to)?);
            let mut record = write_run(to, RunContent::new(layout, (Box::new(sorted), counts), &[], &keys))?;
            let known = || replaced.or_else(|| identity_of(identity.as_deref(), &manifest, &record));
            if runs_only && let Some(known) = known() {
                record.identity = known;
            }
            manifest.runs.push(record);
        }
        if !ingested.is_empty() {
            let number = manifest.take_run_number();
            let ascending: Vec<[u8; 16]> = ingested.into_iter().collect();
            manifest.ingested = vec![write_identities(staging.folder(), &manifest, number, &ascending)?];
        }
        if !runs_only {
            create_left_out(staging.path(), &schema, &options)?;
        }
        manifest::replace(staging.folder(), &manifest)?;
        if !runs_only {
            reserve::keep(staging.folder(), reserve::wanted(&manifest));
        }
        staging.publish()?;
        options.open(path)
    }
}

/// Makes the empty database of what will be left out.
fn create_left_out(folder: &Path, schema: &Schema, options: &Options) -> Result<()> {
    let keys = match schema.remember {
        Remember::Nothing => return Ok(()),
        Remember::Hashes => KeyStorage::None,
        Remember::Keys => KeyStorage::Keys,
    };
    let schema = Schema { keys, lifetime: schema.lifetime, ..left_out::schema() };
    Builder::<u128>::begin(&folder.join(names::LEFT_OUT), &schema, options.clone())?.publish().map(drop)
}

/// The identity of a run with a name, or of one whose ids were all given: a hash of its content.
fn identity_of(name: Option<&str>, manifest: &Manifest, record: &RunRecord) -> Option<[u8; 16]> {
    let hash = |bytes: &[u8]| Some(xxh3_128(bytes).to_le_bytes());
    if let Some(name) = name {
        return hash(&[b"name", name.as_bytes()].concat());
    }
    if manifest.automatic.iter().next().is_some() {
        return None;
    }
    let RunRecord { entries, rows, fingerprint_sum, row_sum, .. } = *record;
    let (keys, key_sum) = record.keys.map_or((0, 0), |keys| (keys.count, keys.key_sum));
    let words = [u64::from(manifest.width), entries, rows, fingerprint_sum, row_sum, keys, key_sum];
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    hash(&[b"rows", &words[..]].concat())
}

/// Writes a database of several runs with different layouts, oldest first.
#[cfg(test)]
pub(crate) fn build_runs(path: &Path, runs: &[(&str, &[Row<u64>])]) -> Result<crate::Database<u64>> {
    let staging = Staging::begin(path)?;
    let mut manifest = manifest::fresh(64, &Schema::new())?;
    let options = Options::new();
    for (layout, rows) in runs {
        let layout: crate::LayoutChoice = layout.parse()?;
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let counts = RowCounts::of(&&rows[..], 0, &options)?;
        let storage = folder(&staging);
        let run = manifest.take_run_number();
        let to = Target { storage: &storage, options: &options, owner: manifest.new_owner(run, None)? };
        let layout = layout.layout(64, manifest.k, counts.entries)?;
        let record = write_run(to, RunContent::new(layout, (Box::new(&rows[..]), counts), &[], &()))?;
        manifest.runs.push(record);
        manifest.largest_id = manifest.largest_id.max(rows.iter().map(|row| row.id).max());
    }
    manifest::replace(staging.folder(), &manifest)?;
    staging.publish()?;
    crate::Database::open(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fingerprint::mix64;
    use crate::{Fingerprint, Match, Pair, list};

    fn some_rows(count: u64, seed: u64) -> Vec<Row<u64>> {
        let near = |i: u64| 1u64 << (mix64(i ^ seed) % 64) | 1u64 << (mix64(i + seed) % 64);
        (0..count).map(|i| Row { fingerprint: mix64(i % (count / 3)) ^ near(i), id: i % 700 }).collect()
    }

    #[test]
    fn answers_do_not_depend_on_how_rows_are_spread_over_runs() {
        let rows = some_rows(3000, 1);
        let all: BTreeSet<Row<u64>> = rows.iter().copied().collect();
        let (first, second, third) = (&rows[..1800], &rows[1200..2600], &rows[2500..]);
        let same = [("rotations:4", first), ("rotations:4", second), ("rotations:4", third)];
        let mixed = [("rotations:2", first), ("blocks:6,2", second), ("rotations:4", third)];
        for runs in [same, mixed] {
            let home = tempfile::tempdir().unwrap();
            let snapshot = build_runs(&home.path().join("db"), &runs).unwrap().snapshot().unwrap();
            assert_eq!(snapshot.stats().runs.len(), 3);
            assert!(snapshot.all_rows().iter().eq(&all), "rows");
            for query in rows.iter().step_by(97).map(|row| row.fingerprint ^ 0b101) {
                for k in [0, 2, 5, 30] {
                    let near = |row: &Row<u64>| {
                        let distance = row.fingerprint.distance(query);
                        let Row { fingerprint, id } = *row;
                        (distance <= k).then_some(Match { distance, fingerprint, id })
                    };
                    let expected: BTreeSet<Match<u64>> = all.iter().filter_map(near).collect();
                    assert!(snapshot.query(query, k).unwrap().iter().eq(&expected), "k = {k}");
                }
            }
            pairs_and_clusters(&snapshot, &all);
        }
    }

    fn pairs_and_clusters(snapshot: &crate::Snapshot<u64>, all: &BTreeSet<Row<u64>>) {
        let values: Vec<u64> = all.iter().map(|row| row.fingerprint).collect();
        let rows: Vec<Row<u64>> = all.iter().copied().collect();
        for k in [0, 3, 6] {
            let expected: BTreeSet<Pair<u64>> = list::find_all(&values, k).unwrap().into_iter().collect();
            let pairs: Vec<Pair<u64>> = snapshot.pairs(k).unwrap().collect::<Result<_>>().unwrap();
            assert_eq!(pairs.len(), expected.len());
            assert_eq!(pairs.into_iter().collect::<BTreeSet<_>>(), expected);

            let home = tempfile::tempdir().unwrap();
            let one =
                build_runs(&home.path().join("db"), &[("rotations:3", &rows)]).unwrap().snapshot().unwrap();
            let clusters = |snapshot: &crate::Snapshot<u64>| {
                snapshot.clusters(k).unwrap().collect::<Result<Vec<_>>>().unwrap()
            };
            assert_eq!(clusters(snapshot), clusters(&one));
        }
    }
}
