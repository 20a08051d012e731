//! Rows that are ready to be written.

use super::ascending::BLOCK;
use super::sort::Sorted;
use crate::error::{Error, Limit, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::segment::MAX_ENTRIES;
use crate::options::Options;
use crate::progress::Stage;

/// Distinct rows in ascending order, which can be read any number of times.
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
        self.chunks(BLOCK).try_for_each(visit)
    }
}

/// The counts of rows, which determine the lengths of the sections of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCounts {
    pub(crate) entries: u64,
    pub(crate) rows: u64,
    pub(crate) smallest_id: u64,
    pub(crate) largest_id: u64,
}

impl RowCounts {
    /// The first pass: reads all rows once. `expected` is their approximate number, for progress.
    pub(crate) fn of<F: Fingerprint>(
        rows: &dyn RowSource<F>,
        expected: u64,
        options: &Options,
    ) -> Result<Self> {
        Self::of_visited(expected, options, |visit| rows.for_each_block(visit))
    }

    /// The same for rows that `visit_all` passes on, block by block.
    pub(super) fn of_visited<F: Fingerprint>(
        expected: u64,
        options: &Options,
        visit_all: impl FnOnce(&mut dyn FnMut(&[Row<F>]) -> Result<()>) -> Result<()>,
    ) -> Result<Self> {
        let mut counts = Self { entries: 0, rows: 0, smallest_id: u64::MAX, largest_id: 0 };
        let mut last = None;
        visit_all(&mut |block: &[Row<F>]| {
            for &row in block {
                counts.entries += u64::from(last != Some(row.fingerprint));
                last = Some(row.fingerprint);
                counts.smallest_id = counts.smallest_id.min(row.id);
                counts.largest_id = counts.largest_id.max(row.id);
            }
            counts.rows += block.len() as u64;
            // Counting is the first half of the work on rows, writing them the second.
            options.report(Stage::Merging, counts.rows / 2, Some(expected))
        })?;
        if counts.entries > MAX_ENTRIES {
            return Err(Error::Limit(Limit::Fingerprints));
        }
        counts.smallest_id = counts.smallest_id.min(counts.largest_id);
        Ok(counts)
    }
}
