//! Bulk loading: any number of rows, sorted with bounded memory, into one run.
//!
//! Rows are sorted in pieces as large as the memory allows; pieces that do not fit are spilled and
//! merged. The merged rows are read twice, once to count and once to write table 0 and the postings.
//! Every other table is made from table 0 by sorting its permuted fingerprints the same way.

use std::path::Path;
use std::sync::Arc;

use crate::build::{KeySorter, RowCounts, Sorter, SpillNames, Target, write_run};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::MAX_KEY_BYTES;
use crate::format::keys::{KeyRecord, hash_key};
use crate::format::manifest::{IdRanges, KeysKept, Manifest};
use crate::log::manifest;
use crate::options::{Options, Stage};
use crate::storage::{Staging, Storage};

/// How often progress is reported, in rows.
const REPORT_ROWS: u64 = 1 << 16;
/// The number of the first run of a database.
const FIRST_RUN: u64 = 1;
/// Why a row without an id is refused.
pub(crate) const NO_ID_LEFT: &str = "no automatic id is left above 2^64 - 1";

fn folder(staging: &Staging) -> Arc<dyn Storage> {
    Arc::new(staging.folder().clone())
}

/// Loads rows in bulk into a database that does not exist yet.
///
/// Nothing stands at the path until [`finish`](Builder::finish) has succeeded; dropping the builder
/// before removes everything.
///
/// ```
/// use nearprint::{Database, Options};
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("corpus.np");
/// let mut builder = Database::<u64>::build(&path, Options::new())?;
/// builder.push(0x0123_4567_89ab_cdef, None)?;
/// builder.push(0x0123_4567_89ab_cdee, Some(42))?;
/// let database = builder.finish()?;
/// assert_eq!(database.snapshot()?.stats().rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder<F: Fingerprint> {
    /// Dropped before the folder that its files lie in.
    sorter: Sorter<Row<F>>,
    keys: KeySorter<F>,
    next_sequence: u64,
    /// Of the database, before its first run.
    manifest: Manifest,
    options: Options,
    staging: Staging,
    runs_only: bool,
    automatic: IdRanges,
    adopted: Vec<[u8; 16]>,
    largest_id: Option<u64>,
    next_id: Option<u64>,
    rows: u64,
}

impl<F: Fingerprint> Builder<F> {
    pub(crate) fn begin(path: &Path, options: Options) -> Result<Self> {
        options.check(F::BITS)?;
        let staging = Staging::begin(path)?;
        // Keys, where there are any, take more of the memory than rows do.
        let memory = if options.keys.is_some() { options.memory_bytes / 3 } else { options.memory_bytes };
        let names = SpillNames::new(FIRST_RUN, 0);
        Ok(Self {
            sorter: Sorter::new(folder(&staging), names, memory, options.threads),
            keys: KeySorter::new(options.memory_bytes / 3),
            next_sequence: 0,
            manifest: manifest::fresh(F::BITS, &options)?,
            next_id: Some(options.first_id),
            options,
            staging,
            runs_only: false,
            automatic: IdRanges::default(),
            adopted: Vec::new(),
            largest_id: None,
            rows: 0,
        })
    }

    /// Takes over from a database that this one is to replace what it knows beside its rows: which ids
    /// were given out, and which runs were adopted.
    pub(crate) fn take_over(&mut self, old: &Manifest) {
        self.largest_id = self.largest_id.max(old.largest_id);
        old.automatic.iter().for_each(|(first, last)| self.automatic.add(first, last));
        self.adopted.clone_from(&old.adopted);
        self.runs_only |= old.runs_only;
        if let Some(kept) = old.keys {
            self.next_sequence = self.next_sequence.max(kept.next_sequence);
        }
        self.manifest.checkpoint.clone_from(&old.checkpoint);
    }

    /// Whether no row has been added.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Makes a folder of runs instead, for databases to [adopt](crate::Writer::ingest). It is read like
    /// a database and takes no writer.
    #[must_use]
    pub fn runs_only(mut self) -> Self {
        self.runs_only = true;
        self
    }

    /// The folder that holds the database until it is finished.
    #[must_use]
    pub fn staging_path(&self) -> &Path {
        self.staging.path()
    }

    /// Whether rows have keys, and if so, whether texts are kept, too.
    #[must_use]
    pub fn keeps_keys(&self) -> Option<bool> {
        self.manifest.keys.map(|keys| keys.texts)
    }

    /// Adds a row and returns its id: the one given, or the larger of the options' first id and 1 + the
    /// largest id so far.
    ///
    /// # Errors
    /// [`Error::Limit`] when automatic ids have run out, [`Error::Io`] when a full buffer cannot be
    /// written, [`Error::Interrupted`] when the progress listener says so.
    pub fn push(&mut self, fingerprint: F, id: Option<u64>) -> Result<u64> {
        let given = id.is_some();
        let id = id.or(self.next_id).ok_or(Error::Limit(NO_ID_LEFT))?;
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

    /// Adds a row with a key, and a text where the database keeps them, and returns the row's id: the one
    /// given, or the 64-bit xxh3 of the key.
    ///
    /// # Errors
    /// As [`push`](Builder::push); [`Error::Option`] as [`Writer::insert_keyed`](crate::Writer::insert_keyed).
    pub fn push_keyed(&mut self, fingerprint: F, id: Option<u64>, key: &str, text: &[u8]) -> Result<u64> {
        check_key(self.manifest.keys, key, text, self.staging.target())?;
        let id = id.unwrap_or_else(|| hash_key(key.as_bytes()));
        let row = Row { fingerprint, id };
        let record = KeyRecord { row, sequence: self.next_sequence, key: key.as_bytes(), text };
        self.push_record(&record)?;
        Ok(id)
    }

    pub(crate) fn push_record(&mut self, record: &KeyRecord<'_, F>) -> Result<()> {
        self.push(record.row.fingerprint, Some(record.row.id))?;
        let storage = folder(&self.staging);
        self.next_sequence = self.next_sequence.max(record.sequence.saturating_add(1));
        let target = target(&storage, &self.options, &self.manifest, F::BITS, FIRST_RUN);
        self.keys.push(target, record)
    }

    /// Sorts, writes and syncs everything, and gives the database its name.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Limit`] for more than 2^32 - 1 distinct fingerprints,
    /// [`Error::AlreadyExists`] when something has come to stand at the path meanwhile.
    pub fn finish(self) -> Result<crate::Database<F>> {
        let Self {
            sorter,
            keys,
            options,
            staging,
            mut manifest,
            runs_only,
            automatic,
            adopted,
            largest_id,
            ..
        } = self;
        let (path, rows) = (staging.target().to_path_buf(), self.rows);
        if let Some(kept) = &mut manifest.keys {
            kept.next_sequence = self.next_sequence;
        }
        (manifest.largest_id, manifest.automatic, manifest.runs_only) = (largest_id, automatic, runs_only);
        manifest.adopted = adopted;
        let sorted = sorter.finish()?;
        let counts = RowCounts::of(&sorted, rows, &options)?;
        if counts.rows > 0 {
            let run = manifest.take_run_number();
            let storage = folder(&staging);
            let to = target(&storage, &options, &manifest, F::BITS, run);
            let layout = options.layout.layout(F::BITS, options.k, counts.entries)?;
            let record =
                keys.finish(to, |keys| write_run(to, layout, Box::new(sorted), counts, &[], keys))?;
            manifest.runs.push(record);
        }
        manifest::replace(staging.folder(), &manifest)?;
        staging.publish()?;
        crate::Database::open_with(path, options)
    }
}

fn target<'a>(
    storage: &'a Arc<dyn Storage>,
    options: &'a Options,
    manifest: &Manifest,
    width: u32,
    run: u64,
) -> Target<'a> {
    Target { storage, options, database_id: manifest.database_id, width, run }
}

/// Refuses a key or a text that a database does not keep.
pub(crate) fn check_key(kept: Option<KeysKept>, key: &str, text: &[u8], path: &Path) -> Result<()> {
    let refuse = |why: &str| Err(Error::Option(format!("{}: {why}", path.display())));
    match kept {
        None => refuse("the database was made without keys"),
        Some(KeysKept { texts: false, .. }) if !text.is_empty() => {
            refuse("the database was made without texts")
        }
        Some(_) if key.len() > MAX_KEY_BYTES => refuse("a key takes at most 65,536 bytes"),
        Some(_) if u32::try_from(text.len()).is_err() => refuse("a text takes less than 4 GiB"),
        Some(_) => Ok(()),
    }
}

/// Writes a database of several runs, oldest first, each with a layout of its own.
#[cfg(test)]
pub(crate) fn build_runs(path: &Path, runs: &[(&str, &[Row<u64>])]) -> Result<crate::Database<u64>> {
    let staging = Staging::begin(path)?;
    let mut manifest = manifest::fresh(64, &Options::new())?;
    for (layout, rows) in runs {
        let options = Options::new().layout(layout.parse()?);
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let counts = RowCounts::of(&&rows[..], 0, &options)?;
        let storage = folder(&staging);
        let (database_id, run) = (manifest.database_id, manifest.take_run_number());
        let to = Target { storage: &storage, options: &options, database_id, width: 64, run };
        let layout = options.layout.layout(64, options.k, counts.entries)?;
        let record = write_run(to, layout, Box::new(&rows[..]), counts, &[], &())?;
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
    use crate::{Match, Pair, find_all, num_differing_bits};

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
                        let distance = num_differing_bits(row.fingerprint, query);
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
            let mut expected: BTreeSet<Pair<u64>> = BTreeSet::new();
            find_all(&values, k, 1, |block| {
                expected.extend(block);
                Ok::<(), Error>(())
            })
            .unwrap();
            let mut pairs = Vec::new();
            snapshot
                .pairs(k, |block| {
                    pairs.extend_from_slice(block);
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert_eq!(pairs.len(), expected.len());
            assert_eq!(pairs.into_iter().collect::<BTreeSet<_>>(), expected);

            let home = tempfile::tempdir().unwrap();
            let one =
                build_runs(&home.path().join("db"), &[("rotations:3", &rows)]).unwrap().snapshot().unwrap();
            let clusters = |snapshot: &crate::Snapshot<u64>| {
                let mut clusters = Vec::new();
                snapshot
                    .clusters(k, |cluster| {
                        clusters.push(cluster.to_vec());
                        Ok::<(), Error>(())
                    })
                    .unwrap();
                clusters
            };
            assert_eq!(clusters(snapshot), clusters(&one));
        }
    }
}
