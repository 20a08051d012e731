//! Merges neighbouring runs into one.
//!
//! Table 0 and the postings come first. They tell which fingerprints are left without a row; every
//! other table is then merged from the same tables of the inputs, less those. Where an input has another
//! layout, more is dropped than the memory allows, or fingerprints are wider than 64 bits and stand in table 0
//! alone, the other tables are sorted afresh.

use std::cell::RefCell;

use super::keys::{KeysInput, MergedKeys};
use super::stream::{Blocks, Stream, for_each_distinct};
use super::tables::{self, From};
use super::write::{Counts, RowSource, Target};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row};
use crate::format::Flaw;
use crate::format::manifest::RunRecord;
use crate::format::postings::row_hash;
use crate::format::tombstones::TombstonesInfo;
use crate::layout::{Layout, is_wide};
use crate::run::{Cursor, RowCursor, Run, Segment, Tombstones};

/// Runs that are neighbours in age, oldest first.
pub(super) type Inputs<'a, F> = &'a [&'a Run<F>];

/// Writes one run that answers as the inputs do together. Nothing where no row is left.
///
/// Tombstones apply to the older inputs; they are kept for older runs where `keeps_tombstones`.
pub(crate) fn merge<F: Fingerprint>(
    target: Target<'_>,
    inputs: Inputs<'_, F>,
    keeps_tombstones: bool,
    layout: &dyn Fn(u64) -> Result<Layout>,
) -> Result<Option<RunRecord>> {
    let rows = MergedRows { inputs, ledger: RefCell::new(Ledger::new(target.options.memory_bytes)) };
    let given = inputs.iter().map(|run| run.record.rows).sum();
    let counts = Counts::of(&rows, given, target.options)?;
    let deleted = if keeps_tombstones { count_deleted(inputs)? } else { None };
    if counts.rows == 0 && deleted.is_none() {
        return Ok(None);
    }
    let ledger = rows.ledger.borrow().clone();
    // The second walk has nothing to note.
    rows.ledger.borrow_mut().open = false;
    let layout = layout(counts.entries)?;
    let mergeable = !is_wide(F::BITS) && inputs.iter().all(|run| run.record.layout == layout);
    target
        .or_remove(layout.table_count(), || {
            let begun = target.begin(layout.clone(), &rows, counts)?;
            ledger.check(inputs, begun.row_sum)?;
            let from = match &ledger.dropped {
                Some(dropped) if mergeable => From::Merging { inputs, dropped },
                _ => From::Sorting,
            };
            let others = tables::write_others(target, &begun, from)?;
            let tombstones = target.write_deleted(deleted, |visit| each_deleted(inputs, visit))?;
            target.record(begun, others, tombstones, target.write_keys::<F>(&merged_keys(inputs))?)
        })
        .map(Some)
}

/// What a walk over merged rows has left out.
#[derive(Clone)]
struct Ledger<F> {
    open: bool,
    /// Fingerprints left without a row, ascending; `None` where they are too many to hold.
    dropped: Option<Vec<F>>,
    most_dropped: usize,
    /// Sum over the rows left out.
    removed: u64,
}

impl<F: Fingerprint> Ledger<F> {
    fn new(memory_bytes: usize) -> Self {
        // Each table at work has a copy.
        let most_dropped = memory_bytes / 16 / size_of::<F>();
        Self { open: true, dropped: Some(Vec::new()), most_dropped, removed: 0 }
    }

    fn drop_fingerprint(&mut self, fingerprint: F) {
        if self.open {
            self.dropped = self.dropped.take().filter(|dropped| dropped.len() < self.most_dropped);
            if let Some(dropped) = &mut self.dropped {
                dropped.push(fingerprint);
            }
        }
    }

    fn remove_row<T: Fingerprint>(&mut self, row: Row<T>) {
        if self.open {
            self.removed = self.removed.wrapping_add(row_hash(row.fingerprint.hash64(), row.id));
        }
    }

    /// What went in, less what was left out, has come out.
    fn check(&self, inputs: Inputs<'_, F>, row_sum: u64) -> Result<()> {
        let given = inputs.iter().fold(0u64, |sum, run| sum.wrapping_add(run.record.row_sum));
        let rows = &inputs[0].postings.file;
        Flaw::unless_equal("ids", rows.footer_offset(), given.wrapping_sub(self.removed), row_sum)
            .map_err(|flaw| flaw.of(rows.path()))
    }
}

/// A row and whether a newer input deletes it. Sorts next to its copies, the one that stays first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tagged<F> {
    row: Row<F>,
    hidden: bool,
}

/// The rows that the inputs have together.
struct MergedRows<'a, F> {
    inputs: Inputs<'a, F>,
    ledger: RefCell<Ledger<F>>,
}

impl<F: Fingerprint> RowSource<F> for MergedRows<'_, F> {
    fn for_each_block(&self, visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>) -> Result<()> {
        let mut ledger = self.ledger.borrow_mut();
        let streams = (0..self.inputs.len()).map(|index| tagged_rows(self.inputs, index)).collect();
        let mut last: Option<Row<F>> = None;
        // The fingerprint at hand, and whether a row of it stays.
        let mut current: Option<(F, bool)> = None;
        let mut kept = Vec::new();
        Stream::tree(streams).for_each_block(|block| {
            kept.clear();
            for &Tagged { row, hidden } in block {
                let fresh = current.is_none_or(|(fingerprint, _)| fingerprint != row.fingerprint);
                if fresh && let Some((gone, false)) = current.replace((row.fingerprint, false)) {
                    ledger.drop_fingerprint(gone);
                }
                if hidden || last == Some(row) {
                    ledger.remove_row(row);
                } else {
                    kept.push(row);
                    last = Some(row);
                    current = Some((row.fingerprint, true));
                }
            }
            visit(&kept)
        })?;
        if let Some((gone, false)) = current {
            ledger.drop_fingerprint(gone);
        }
        Ok(())
    }
}

/// The rows of one input.
fn tagged_rows<'a, F: Fingerprint>(inputs: Inputs<'a, F>, index: usize) -> Stream<'a, Tagged<F>> {
    let run = inputs[index];
    let newer = inputs[index + 1..].iter().filter_map(|run| run.tombstones.as_ref()).collect();
    let reader = RowReader { run, cursor: run.row_cursor(), newer, last: None, sum: 0, block: Vec::new() };
    Stream::blocks(Box::new(reader))
}

/// Reads the rows of a run and checks what a merge relies on: their order, and their sum.
struct RowReader<'a, F> {
    run: &'a Run<F>,
    cursor: RowCursor<'a, F>,
    newer: Vec<&'a Tombstones>,
    last: Option<Row<F>>,
    sum: u64,
    block: Vec<Row<F>>,
}

impl<F: Fingerprint> Blocks<Tagged<F>> for RowReader<'_, F> {
    fn next_block(&mut self, out: &mut Vec<Tagged<F>>) -> Result<()> {
        let file = &self.run.postings.file;
        if !self.cursor.next_block(&mut self.block)? {
            return Flaw::unless_equal("ids", file.footer_offset(), self.run.record.row_sum, self.sum)
                .map_err(|flaw| flaw.of(file.path()));
        }
        for &row in &self.block {
            if self.last >= Some(row) {
                return Err(file.flaw(file.footer_offset(), "ascending rows", format!("{row:?}")));
            }
            self.last = Some(row);
            self.sum = self.sum.wrapping_add(row_hash(row.fingerprint.hash64(), row.id));
            let mut hidden = false;
            for tombstones in &self.newer {
                hidden |= tombstones.contains(row.id)?;
            }
            out.push(Tagged { row, hidden });
        }
        Ok(())
    }
}

/// The entries of one table of each input.
pub(super) fn table_streams<'a, F: Fingerprint>(inputs: Inputs<'a, F>, table: usize) -> Vec<Stream<'a, F>> {
    let reader = |run: &&'a Run<F>| {
        let segment = &run.segments[table];
        let reader = EntryReader { segment, cursor: segment.cursor(), last: None, sum: 0 };
        Stream::blocks(Box::new(reader) as Box<dyn Blocks<F>>)
    };
    inputs.iter().map(reader).collect()
}

/// Reads the entries of a segment and checks their order and their sum.
struct EntryReader<'a, F> {
    segment: &'a Segment<F>,
    cursor: Cursor<'a, F>,
    last: Option<F>,
    sum: u64,
}

impl<F: Fingerprint> Blocks<F> for EntryReader<'_, F> {
    fn next_block(&mut self, out: &mut Vec<F>) -> Result<()> {
        let Segment { file, info, table, .. } = self.segment;
        if !self.cursor.next_block(out)? {
            return Flaw::unless_equal("hi", file.footer_offset(), info.fingerprint_sum, self.sum)
                .map_err(|flaw| flaw.of(file.path()));
        }
        for &value in out.iter() {
            if self.last >= Some(value) {
                return Err(file.flaw(file.footer_offset(), "ascending fingerprints", format!("{value:?}")));
            }
            self.last = Some(value);
            self.sum = self.sum.wrapping_add(table.restore(value).hash64());
        }
        Ok(())
    }
}

/// The keys that the inputs have together.
fn merged_keys<'a, F: Fingerprint>(inputs: Inputs<'a, F>) -> MergedKeys<'a> {
    let input = |(index, run): (usize, &&'a Run<F>)| {
        let keys = run.keys.as_ref()?;
        let newer = inputs[index + 1..].iter().filter_map(|run| run.tombstones.as_ref()).collect();
        Some(KeysInput { keys, newer })
    };
    MergedKeys(inputs.iter().enumerate().filter_map(input).collect())
}

/// Hands out the ids that any input deletes, ascending, each once.
fn each_deleted<F: Fingerprint>(
    inputs: Inputs<'_, F>,
    visit: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let tombstones = inputs.iter().filter_map(|run| run.tombstones.as_ref());
    let streams = tombstones.map(|tombstones| Ok(Stream::slice(tombstones.ids()?)));
    for_each_distinct(streams.collect::<Result<_>>()?, visit)
}

fn count_deleted<F: Fingerprint>(inputs: Inputs<'_, F>) -> Result<Option<TombstonesInfo>> {
    let mut found: Option<TombstonesInfo> = None;
    each_deleted(inputs, &mut |ids| {
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
