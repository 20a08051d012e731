//! The runs that are merged into one: their entries, their rows, their tombstones and their keys.

use std::collections::BTreeSet;

use super::ascending::{Ascending, BlockReader, for_each_distinct};
use super::keys::{KeysInput, MergedKeys};
use super::omitted::Omitted;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Printed, Row};
use crate::format::postings::row_hash;
use crate::format::tombstones::TombstonesInfo;
use crate::run::{BlockRead, Cursor, NewerTombstones, RowCursor, Run, Segment};
use crate::util::cast::to_usize;

/// Runs that are neighbours in age, oldest first.
#[derive(Clone, Copy)]
pub(super) struct MergeInputs<'a, F> {
    pub(super) runs: &'a [&'a Run<F>],
    pub(super) omitted: &'a Omitted<F>,
    /// Newer runs, which are not merged, whose tombstones apply to the inputs.
    pub(super) newer: &'a [&'a Run<F>],
}

impl<'a, F: Fingerprint> MergeInputs<'a, F> {
    /// The tombstones that apply to input `index`.
    fn newer(self, index: usize) -> NewerTombstones<'a> {
        let newer = self.runs[index + 1..].iter().chain(self.newer);
        NewerTombstones::of(newer.map(|newer| newer.tombstones.as_ref()))
    }

    /// The entries of one table of each input.
    pub(super) fn entries(self, table: usize) -> Vec<Ascending<'a, F>> {
        let reader = |run: &&'a Run<F>| {
            let segment = &run.segments[table];
            let reader = EntryReader { segment, cursor: segment.cursor(), last: None, sum: 0 };
            Ascending::blocks(Box::new(reader) as Box<dyn BlockReader<F>>, segment.entries())
        };
        self.runs.iter().map(reader).collect()
    }

    /// The rows of each input.
    pub(super) fn rows(self) -> Vec<Ascending<'a, TaggedRow<F>>> {
        let reader = |(index, run): (usize, &&'a Run<F>)| {
            let (cursor, newer) = (run.row_cursor(), self.newer(index));
            let omitted = &self.omitted.rows;
            let reader = RowReader { run, cursor, newer, omitted, last: None, sum: 0, block: Vec::new() };
            Ascending::blocks(
                Box::new(reader) as Box<dyn BlockReader<TaggedRow<F>>>,
                to_usize(run.record.rows),
            )
        };
        self.runs.iter().enumerate().map(reader).collect()
    }

    /// The keys of all inputs.
    pub(super) fn keys(self) -> MergedKeys<'a, F> {
        let input = |(index, run): (usize, &&'a Run<F>)| {
            Some(KeysInput { keys: run.keys.as_ref()?, newer: self.newer(index) })
        };
        MergedKeys {
            inputs: self.runs.iter().enumerate().filter_map(input).collect(),
            omitted: Some(self.omitted),
        }
    }

    /// Visits the ids that any input deletes, ascending and without duplicates.
    pub(super) fn each_deleted(self, visit: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let tombstones = self.runs.iter().filter_map(|run| run.tombstones.as_ref());
        let streams = tombstones.map(|tombstones| Ok(Ascending::slice(tombstones.ids()?)));
        for_each_distinct(streams.collect::<Result<_>>()?, visit)
    }

    /// The counts of the ids that any input deletes. `None` if there are none.
    pub(super) fn count_deleted(self) -> Result<Option<TombstonesInfo>> {
        let mut found: Option<TombstonesInfo> = None;
        self.each_deleted(&mut |ids| {
            if let Some(more) = TombstonesInfo::of(ids) {
                found = Some(found.map_or(more, |so_far| TombstonesInfo {
                    count: so_far.count + more.count,
                    largest_id: more.largest_id,
                    ..so_far
                }));
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Reads the entries of a segment and checks their order and their sum.
struct EntryReader<'a, F> {
    segment: &'a Segment<F>,
    cursor: Cursor,
    last: Option<F>,
    sum: u64,
}

impl<F: Fingerprint> BlockReader<F> for EntryReader<'_, F> {
    fn next_block(&mut self, out: &mut Vec<F>) -> Result<()> {
        let Segment { file, info, table, .. } = self.segment;
        if self.cursor.next_block(self.segment, out)? == BlockRead::End {
            return file.check_equal("hi", info.fingerprint_sum, self.sum);
        }
        for &value in out.iter() {
            if self.last >= Some(value) {
                return Err(file.flaw(file.footer_offset(), "ascending fingerprints", Printed(value)));
            }
            self.last = Some(value);
            self.sum = self.sum.wrapping_add(table.restore(value).hash64());
        }
        Ok(())
    }
}

/// A row, and whether a newer run deletes it or the result lacks it. The order puts the copy to keep first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaggedRow<F> {
    pub(super) row: Row<F>,
    pub(super) deleted: bool,
}

/// Reads the rows of a run and checks their order and their sum.
struct RowReader<'a, F> {
    run: &'a Run<F>,
    cursor: RowCursor<F>,
    newer: NewerTombstones<'a>,
    omitted: &'a BTreeSet<Row<F>>,
    last: Option<Row<F>>,
    sum: u64,
    block: Vec<Row<F>>,
}

impl<F: Fingerprint> BlockReader<TaggedRow<F>> for RowReader<'_, F> {
    fn next_block(&mut self, out: &mut Vec<TaggedRow<F>>) -> Result<()> {
        let file = &self.run.postings.file;
        if self.cursor.next_block(self.run, &mut self.block)? == BlockRead::End {
            return file.check_equal("ids", self.run.record.row_sum, self.sum);
        }
        for &row in &self.block {
            if self.last >= Some(row) {
                return Err(file.flaw(
                    file.footer_offset(),
                    "ascending rows",
                    format!("{}, id {}", Printed(row.fingerprint), row.id),
                ));
            }
            self.last = Some(row);
            self.sum = self.sum.wrapping_add(row_hash(row.fingerprint.hash64(), row.id));
            let deleted = self.newer.hide(row.id)? || self.omitted.contains(&row);
            out.push(TaggedRow { row, deleted });
        }
        Ok(())
    }
}
