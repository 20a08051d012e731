//! Writes the files of one run.

use std::sync::Arc;

use super::keys::KeySource;
use super::sort::Sorted;
use super::tables;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::manifest::{FileRecord, KeysRecord, RunRecord};
use crate::format::postings::RowsInfo;
use crate::format::segment::MAX_ENTRIES;
use crate::format::tombstones::TombstonesInfo;
use crate::layout::cost::directory_bits;
use crate::layout::{Layout, is_wide};
use crate::options::{Options, Stage};
use crate::run::{Postings, PostingsWriter, Segment, SegmentWriter, Tombstones, Values, write_tombstones};
use crate::storage::{Access, Storage, names};
use crate::util::random::random_id;

/// Where a run is written, and as which.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) storage: &'a Arc<dyn Storage>,
    pub(crate) options: &'a Options,
    pub(crate) database_id: [u8; 16],
    /// Width of a fingerprint in bits.
    pub(crate) width: u32,
    pub(crate) run: u64,
}

/// Distinct rows in ascending order, to be walked over any number of times.
pub(crate) trait RowSource<F> {
    fn for_each_block(&self, visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>) -> Result<()>;
}

impl<F: Fingerprint> RowSource<F> for Sorted<Row<F>> {
    fn for_each_block(&self, visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>) -> Result<()> {
        Self::for_each_block(self, visit)
    }
}

impl<F: Fingerprint> RowSource<F> for &[Row<F>] {
    fn for_each_block(&self, visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>) -> Result<()> {
        self.chunks(super::stream::BLOCK).try_for_each(visit)
    }
}

/// What must be known of rows before they can be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) entries: u64,
    pub(crate) rows: u64,
    pub(crate) smallest_id: u64,
    pub(crate) largest_id: u64,
}

impl Counts {
    /// Walks over all rows once; about `given` of them.
    pub(crate) fn of<F: Fingerprint>(
        rows: &(impl RowSource<F> + ?Sized),
        given: u64,
        options: &Options,
    ) -> Result<Self> {
        let mut counts = Self { entries: 0, rows: 0, smallest_id: u64::MAX, largest_id: 0 };
        let mut last = None;
        rows.for_each_block(&mut |block| {
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
        counts.smallest_id = counts.smallest_id.min(counts.largest_id);
        Ok(counts)
    }
}

/// A run of which table 0 and the postings are written.
pub(super) struct Begun<F> {
    pub(super) layout: Layout,
    pub(super) counts: Counts,
    pub(super) natural: Segment<F>,
    natural_file: FileRecord,
    postings_file: FileRecord,
    pub(super) row_sum: u64,
}

/// Writes a run from its rows, their keys, and the ids that it deletes from older runs, ascending. Files of
/// a run that could not be finished are removed.
pub(crate) fn write_run<F: Fingerprint>(
    target: Target<'_>,
    layout: Layout,
    rows: Box<dyn RowSource<F> + '_>,
    counts: Counts,
    deleted: &[u64],
    keys: &dyn KeySource<F>,
) -> Result<RunRecord> {
    let tables = layout.table_count();
    target.or_remove(tables, || {
        let begun = target.begin(layout, &*rows, counts)?;
        drop(rows);
        let others = tables::write_others(target, &begun, tables::From::Sorting)?;
        let tombstones = target.write_deleted(TombstonesInfo::of(deleted), |visit| visit(deleted))?;
        target.record(begun, others, tombstones, target.write_keys(keys)?)
    })
}

impl Target<'_> {
    /// Does the work; where it fails, removes what has been written so far.
    pub(super) fn or_remove<T>(&self, tables: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().inspect_err(|_| self.remove(tables))
    }

    /// Removes the files of a run as far as they are there. Whatever stays is removed by the next writer.
    pub(crate) fn remove(&self, tables: usize) {
        remove_run(&**self.storage, self.run, tables);
    }

    /// Writes table 0 and the postings.
    pub(super) fn begin<F: Fingerprint>(
        &self,
        layout: Layout,
        source: &(impl RowSource<F> + ?Sized),
        counts: Counts,
    ) -> Result<Begun<F>> {
        let storage = &**self.storage;
        let table = layout.table::<F>(0);
        let spec = Segment::<F>::file_spec(self.database_id, self.run, 0);
        let bits = directory_bits(table.prefix_bits, counts.entries);
        let mut natural = SegmentWriter::create(storage, &spec, table.clone(), counts.entries, bits)?;
        let Counts { entries, rows, smallest_id, largest_id } = counts;
        let info = RowsInfo { entries, rows, row_sum: 0, smallest_id, largest_id };
        let mut postings =
            PostingsWriter::create(storage, &Postings::file_spec(self.database_id, self.run, F::BITS), info)?;
        write_rows(self.options, source, counts, &mut natural, &mut postings)?;
        let (postings_file, row_sum) = postings.finish()?;
        let (natural_file, _) = natural.finish()?;
        let values = if is_wide(F::BITS) {
            Some(Values::written(
                storage,
                &Postings::file_spec(self.database_id, self.run, F::BITS),
                postings_file,
            )?)
        } else {
            None
        };
        let natural = Segment::map(storage, &spec, table, natural_file, Access::Sequential, values)?;
        Ok(Begun { layout, counts, natural, natural_file, postings_file, row_sum })
    }

    /// Writes the tombstones, if there are any.
    pub(super) fn write_deleted(
        &self,
        info: Option<TombstonesInfo>,
        visit_all: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
    ) -> Result<Option<(u64, FileRecord)>> {
        let Some(info) = info else { return Ok(None) };
        let spec = Tombstones::file_spec(self.database_id, self.run, self.width);
        Ok(Some((info.count, write_tombstones(&**self.storage, &spec, info, visit_all)?)))
    }

    /// Describes the finished run.
    pub(super) fn record<F: Fingerprint>(
        &self,
        begun: Begun<F>,
        others: Vec<FileRecord>,
        tombstones: Option<(u64, FileRecord)>,
        keys: Option<KeysRecord>,
    ) -> Result<RunRecord> {
        let mut segments = vec![begun.natural_file];
        segments.extend(others);
        Ok(RunRecord {
            run: self.run,
            identity: random_id()?,
            layout: begun.layout,
            entries: begun.counts.entries,
            rows: begun.counts.rows,
            fingerprint_sum: begun.natural.info.fingerprint_sum,
            row_sum: begun.row_sum,
            tombstones: tombstones.map_or(0, |(count, _)| count),
            segments,
            postings_file: begun.postings_file,
            tombstones_file: tombstones.map(|(_, file)| file),
            keys,
        })
    }
}

/// Removes the files of a run as far as they are there.
pub(crate) fn remove_run(storage: &dyn Storage, run: u64, tables: usize) {
    let segments = (0..tables).map(|table| names::segment(run, table));
    for name in segments.chain([names::rows(run), names::tombstones(run), names::keys(run)]) {
        // Nobody refers to the file any more; the next writer removes what stays.
        let _ = storage.remove(&name);
    }
}

/// Streams rows into table 0 and the postings.
fn write_rows<F: Fingerprint>(
    options: &Options,
    source: &(impl RowSource<F> + ?Sized),
    counts: Counts,
    natural: &mut SegmentWriter<F>,
    postings: &mut PostingsWriter,
) -> Result<()> {
    let mut last = None;
    let mut hash = 0;
    let mut fresh = Vec::new();
    let mut done = 0;
    source.for_each_block(&mut |block| {
        fresh.clear();
        for &row in block {
            let first = last != Some(row.fingerprint);
            if first {
                hash = row.fingerprint.hash64();
                fresh.push(row.fingerprint);
                last = Some(row.fingerprint);
            }
            postings.push(first, hash, row.id)?;
        }
        natural.push(&fresh)?;
        postings.put_values(&fresh)?;
        done += block.len() as u64;
        options.report(Stage::Merging, (counts.rows + done) / 2, Some(counts.rows))
    })
}
