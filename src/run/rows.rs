//! Reading all rows of a run in order.

use super::cursor::{BlockRead, Cursor};
use super::files::Run;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row};
use crate::format::postings::STARTS;
use crate::util::cast::to_usize;

/// At every multiple of this, read-ahead of twice as many rows starts. A multiple of
/// [`BLOCK_ROWS`].
const AHEAD_ROWS: usize = 1 << 17;
/// Rows in a block.
const BLOCK_ROWS: usize = 4096;

/// A place in a run, whose rows are read by (fingerprint, id).
pub(crate) struct RowCursor<F> {
    values: Cursor,
    block: Vec<F>,
    at: usize,
    current: F,
    next_row: usize,
    ids: Vec<u64>,
}

impl<F: Fingerprint> Run<F> {
    /// The place before the first row.
    pub(crate) fn row_cursor(&self) -> RowCursor<F> {
        RowCursor {
            values: self.natural().cursor(),
            block: Vec::new(),
            at: 0,
            current: F::default(),
            next_row: 0,
            ids: Vec::new(),
        }
    }
}

impl<F: Fingerprint> RowCursor<F> {
    /// Replaces the content of `out` by the next rows of the run that made the cursor.
    pub(crate) fn next_block(&mut self, run: &Run<F>, out: &mut Vec<Row<F>>) -> Result<BlockRead> {
        out.clear();
        let postings = &run.postings;
        let end = (self.next_row + BLOCK_ROWS).min(to_usize(postings.info.rows));
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        if self.next_row.is_multiple_of(AHEAD_ROWS) {
            postings.will_need(self.next_row..self.next_row + 2 * AHEAD_ROWS);
        }
        postings.read_ids(self.next_row..end, &mut ids, |id| id)?;
        for (row, &id) in (self.next_row..end).zip(&ids) {
            let first = postings.is_start(row)?;
            if row == 0 && !first {
                let starts = postings.file.section(STARTS).offset;
                return Err(postings.file.flaw(starts, "a start at row 0", "none"));
            }
            if first {
                self.current = self.next_value(run, row)?;
            }
            out.push(Row { fingerprint: self.current, id });
        }
        (self.next_row, self.ids) = (end, ids);
        if out.is_empty() {
            self.check_end(run)?;
        }
        Ok(BlockRead::of(out))
    }

    /// After the last row there must be no more fingerprints. Callers may read the end repeatedly.
    fn check_end(&mut self, run: &Run<F>) -> Result<()> {
        if self.at >= self.block.len()
            && self.values.next_block(run.natural(), &mut self.block)? == BlockRead::End
        {
            return Ok(());
        }
        let file = &run.postings.file;
        Err(file.flaw(file.section(STARTS).offset, "a start for every fingerprint", "fewer"))
    }

    /// The next fingerprint, which starts at `row`.
    fn next_value(&mut self, run: &Run<F>, row: usize) -> Result<F> {
        if self.at == self.block.len() {
            self.values.next_block(run.natural(), &mut self.block)?;
            self.at = 0;
        }
        let value = *self.block.get(self.at).ok_or_else(|| {
            let file = &run.postings.file;
            let found = format!("one more at row {row}");
            file.flaw(file.section(STARTS).offset, "as many starts as fingerprints", found)
        })?;
        self.at += 1;
        Ok(value)
    }
}
