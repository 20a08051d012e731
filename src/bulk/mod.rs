//! Bulk loading: any number of rows, sorted with bounded memory, into one run.
//!
//! Rows are sorted in pieces as large as the memory allows; pieces that do not fit are spilled and
//! merged. The merged rows are read twice, once to count and once to write table 0 and the postings.
//! Every other table is made from table 0 by sorting its permuted fingerprints the same way.

mod sort;
mod tables;

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::rows::RowsInfo;
use crate::format::segment::MAX_ENTRIES;
use crate::layout::cost::directory_bits;
use crate::manifest;
use crate::options::{Options, Stage};
use crate::segment::{Row, Rows, RowsWriter, Segment, SegmentWriter};
use crate::storage::Staging;
use sort::{Sorted, Sorter};

/// How often progress is reported, in rows.
const REPORT_ROWS: u64 = 1 << 16;

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
    options: Options,
    staging: Staging,
    largest_id: Option<u64>,
    next_id: Option<u64>,
    rows: u64,
}

impl<F: Fingerprint> Builder<F> {
    pub(crate) fn begin(path: &Path, options: Options) -> Result<Self> {
        options.check(F::BITS)?;
        let staging = Staging::begin(path)?;
        let sorter =
            Sorter::new(Arc::new(staging.folder().clone()), 0, options.memory_bytes, options.threads);
        let next_id = Some(options.first_id);
        Ok(Self { sorter, options, staging, largest_id: None, next_id, rows: 0 })
    }

    /// The folder that holds the database until it is finished.
    #[must_use]
    pub fn staging_path(&self) -> &Path {
        self.staging.path()
    }

    /// Adds a row and returns its id: the one given, or the larger of the options' first id and 1 + the
    /// largest id so far.
    ///
    /// # Errors
    /// [`Error::Limit`] when automatic ids have run out, [`Error::Io`] when a full buffer cannot be
    /// written, [`Error::Interrupted`] when the progress listener says so.
    pub fn push(&mut self, fingerprint: F, id: Option<u64>) -> Result<u64> {
        let id = match id.or(self.next_id) {
            Some(id) => id,
            None => return Err(Error::Limit("no automatic id is left above 2^64 - 1")),
        };
        self.largest_id = self.largest_id.max(Some(id));
        self.next_id = self.next_id.and_then(|next| if id >= next { id.checked_add(1) } else { Some(next) });
        self.sorter.push(Row { fingerprint, id })?;
        self.rows += 1;
        if self.rows.is_multiple_of(REPORT_ROWS) {
            self.options.report(Stage::Reading, self.rows, None)?;
        }
        Ok(id)
    }

    /// Sorts, writes and syncs everything, and gives the database its name.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Limit`] for more than 2^32 - 1 distinct fingerprints,
    /// [`Error::AlreadyExists`] when something has come to stand at the path meanwhile.
    pub fn finish(self) -> Result<crate::Database<F>> {
        let Self { sorter, options, staging, largest_id, next_id: _, rows } = self;
        let target = staging.target().to_path_buf();
        let mut manifest = manifest::fresh(F::BITS, &options)?;
        manifest.largest_id = largest_id;
        let sorted = sorter.finish()?;
        let counts = Counts::of(&sorted, rows, &options)?;
        if counts.rows > 0 {
            let record = write_run(&staging, &options, &mut manifest, sorted, counts)?;
            manifest.runs.push(record);
        }
        manifest::write_new(staging.folder(), &manifest)?;
        staging.publish()?;
        crate::Database::open_with(target, options)
    }
}

/// What must be known of the rows before they can be written.
#[derive(Clone, Copy, Debug)]
struct Counts {
    entries: u64,
    rows: u64,
    smallest_id: u64,
    largest_id: u64,
}

impl Counts {
    /// Walks over all rows once. `given` is the number of rows before repeated ones were dropped.
    fn of<F: Fingerprint>(sorted: &Sorted<Row<F>>, given: u64, options: &Options) -> Result<Self> {
        let mut counts = Self { entries: 0, rows: 0, smallest_id: u64::MAX, largest_id: 0 };
        let mut last = None;
        sorted.for_each_block(|block| {
            for &row in block {
                counts.entries += u64::from(last != Some(row.fingerprint));
                last = Some(row.fingerprint);
                counts.smallest_id = counts.smallest_id.min(row.id);
                counts.largest_id = counts.largest_id.max(row.id);
            }
            counts.rows += block.len() as u64;
            // Counting is the first half of the work on rows, writing them the second.
            options.report(Stage::Merging, counts.rows / 2, Some(given))
        })?;
        if counts.entries > MAX_ENTRIES {
            return Err(Error::Limit("a run holds at most 2^32 - 1 distinct fingerprints"));
        }
        Ok(counts)
    }
}

/// Writes all files of one run and describes them.
fn write_run<F: Fingerprint>(
    staging: &Staging,
    options: &Options,
    manifest: &mut Manifest,
    sorted: Sorted<Row<F>>,
    counts: Counts,
) -> Result<RunRecord> {
    let run = manifest.next_run;
    manifest.next_run += 1;
    let layout = options.layout.layout(F::BITS, options.k, counts.entries)?;
    let tables = layout.tables::<F>();
    let directory = |table: usize| directory_bits(tables[table].lead_bits, counts.entries);

    let belongs = Segment::<F>::belongs(manifest.database_id, run, 0);
    let folder = staging.folder();
    let mut natural =
        SegmentWriter::create(folder, &belongs, tables[0].clone(), counts.entries, directory(0))?;
    let info = RowsInfo {
        entries: counts.entries,
        rows: counts.rows,
        row_sum: 0,
        smallest_id: counts.smallest_id,
        largest_id: counts.largest_id,
    };
    let mut rows = RowsWriter::create(folder, &Rows::belongs(manifest.database_id, run, F::BITS), info)?;
    write_rows(options, &sorted, counts, &mut natural, &mut rows)?;
    drop(sorted);
    let (rows_file, row_sum) = rows.finish()?;
    let (first_file, first) = natural.finish()?;

    let source =
        Segment::map(folder, &belongs, tables[0].clone(), first_file, crate::storage::Access::Sequential)?;
    let mut segments = vec![first_file];
    segments.extend(tables::write_others(folder, options, manifest.database_id, run, &source, &tables)?);
    Ok(RunRecord {
        run,
        identity: manifest::random_id()?,
        layout,
        entries: counts.entries,
        rows: counts.rows,
        fingerprint_sum: first.fingerprint_sum,
        row_sum,
        segments,
        rows_file,
    })
}

/// Streams the sorted rows into table 0 and the postings.
fn write_rows<F: Fingerprint>(
    options: &Options,
    sorted: &Sorted<Row<F>>,
    counts: Counts,
    natural: &mut SegmentWriter<F>,
    rows: &mut RowsWriter,
) -> Result<()> {
    let mut last = None;
    let mut hash = 0;
    let mut fresh = Vec::new();
    let mut done = 0;
    sorted.for_each_block(|block| {
        fresh.clear();
        for &row in block {
            let first = last != Some(row.fingerprint);
            if first {
                hash = row.fingerprint.hash64();
                fresh.push(row.fingerprint);
                last = Some(row.fingerprint);
            }
            rows.push(first, hash, row.id)?;
        }
        natural.push(&fresh)?;
        done += block.len() as u64;
        options.report(Stage::Merging, (counts.rows + done) / 2, Some(counts.rows))
    })
}

/// Writes a database of several runs, oldest first, each with a layout of its own.
#[cfg(test)]
pub(crate) fn build_runs(path: &Path, runs: &[(&str, &[Row<u64>])]) -> Result<crate::Database<u64>> {
    let staging = Staging::begin(path)?;
    let mut manifest = manifest::fresh(64, &Options::new())?;
    for (layout, rows) in runs {
        let options = Options::new().layout(layout.parse()?);
        let mut sorter = Sorter::new(Arc::new(staging.folder().clone()), 0, 1 << 20, 2);
        rows.iter().try_for_each(|&row| sorter.push(row))?;
        let sorted = sorter.finish()?;
        let counts = Counts::of(&sorted, rows.len() as u64, &options)?;
        let record = write_run(&staging, &options, &mut manifest, sorted, counts)?;
        manifest.runs.push(record);
        manifest.largest_id = manifest.largest_id.max(rows.iter().map(|row| row.id).max());
    }
    manifest::write_new(staging.folder(), &manifest)?;
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
            let mut found = Vec::new();
            snapshot
                .rows(|row| {
                    found.push(row);
                    Ok(())
                })
                .unwrap();
            assert!(found.iter().eq(&all), "rows");
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
                Ok(())
            })
            .unwrap();
            let mut pairs = Vec::new();
            snapshot
                .pairs(k, |block| {
                    pairs.extend_from_slice(block);
                    Ok(())
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
                        Ok(())
                    })
                    .unwrap();
                clusters
            };
            assert_eq!(clusters(snapshot), clusters(&one));
        }
    }
}
