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

/// Reads the rows of a run by (fingerprint, id).
pub(crate) struct RowCursor<'a, F> {
    run: &'a Run<F>,
    values: Cursor<'a, F>,
    block: Vec<F>,
    at: usize,
    current: F,
    next_row: usize,
    ids: Vec<u64>,
}

impl<F: Fingerprint> Run<F> {
    /// Reads all rows in order.
    pub(crate) fn row_cursor(&self) -> RowCursor<'_, F> {
        RowCursor {
            run: self,
            values: self.natural().cursor(),
            block: Vec::new(),
            at: 0,
            current: F::default(),
            next_row: 0,
            ids: Vec::new(),
        }
    }
}

impl<F: Fingerprint> RowCursor<'_, F> {
    /// Replaces the content of `out` by the next rows.
    pub(crate) fn next_block(&mut self, out: &mut Vec<Row<F>>) -> Result<BlockRead> {
        out.clear();
        let postings = &self.run.postings;
        let end = (self.next_row + BLOCK_ROWS).min(to_usize(postings.info.rows));
        self.ids.clear();
        if self.next_row.is_multiple_of(AHEAD_ROWS) {
            postings.will_need(self.next_row..self.next_row + 2 * AHEAD_ROWS);
        }
        postings.read_ids(self.next_row..end, &mut self.ids, |id| id)?;
        for (row, &id) in (self.next_row..end).zip(&self.ids) {
            let first = postings.is_start(row)?;
            if row == 0 && !first {
                let starts = postings.file.section(STARTS).offset;
                return Err(postings.file.flaw(starts, "a start at row 0", "none"));
            }
            if first {
                self.current = next_value(self.run, &mut self.values, &mut self.block, &mut self.at, row)?;
            }
            out.push(Row { fingerprint: self.current, id });
        }
        self.next_row = end;
        if out.is_empty() {
            self.check_end()?;
        }
        Ok(BlockRead::of(out))
    }

    /// After the last row there must be no more fingerprints. Callers may read the end repeatedly.
    fn check_end(&mut self) -> Result<()> {
        if self.at >= self.block.len() && self.values.next_block(&mut self.block)? == BlockRead::End {
            return Ok(());
        }
        let file = &self.run.postings.file;
        Err(file.flaw(file.section(STARTS).offset, "a start for every fingerprint", "fewer"))
    }
}

/// The next fingerprint, which starts at `row`.
fn next_value<F: Fingerprint>(
    run: &Run<F>,
    values: &mut Cursor<'_, F>,
    block: &mut Vec<F>,
    at: &mut usize,
    row: usize,
) -> Result<F> {
    if *at == block.len() {
        values.next_block(block)?;
        *at = 0;
    }
    let value = *block.get(*at).ok_or_else(|| {
        let file = &run.postings.file;
        let found = format!("one more at row {row}");
        file.flaw(file.section(STARTS).offset, "as many starts as fingerprints", found)
    })?;
    *at += 1;
    Ok(value)
}
