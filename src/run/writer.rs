//! Writes one segment from fingerprints in ascending permuted order.

use super::page_file::{Belongs, PageFileWriter};
use super::reader::hi_word;
use crate::util::cast::{to_u32, to_usize};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::FileRecord;
use crate::format::segment::{DIRECTORY, HI, REST, SegmentInfo};
use crate::layout::{HI_BITS, Table, hi_words, is_wide};
use crate::storage::Storage;

/// Starts of cells gathered before they go to the file: sparse data has long runs of empty cells.
const CELLS_AT_ONCE: u64 = 1 << 16;

/// Takes the fingerprints block by block.
pub(crate) struct SegmentWriter<F> {
    file: PageFileWriter,
    table: Table<F>,
    info: SegmentInfo,
    pushed: u64,
    /// Cells whose start has been written.
    started_cells: u64,
    cell_start: u64,
    last: Option<F>,
    cells: Vec<u32>,
    hi: Vec<u32>,
    lo: Vec<u8>,
}

impl<F: Fingerprint> SegmentWriter<F> {
    /// Starts a segment of exactly `entries` fingerprints.
    pub(crate) fn create(
        storage: &dyn Storage,
        belongs: &Belongs,
        table: Table<F>,
        entries: u64,
        directory_bits: u32,
    ) -> Result<Self> {
        let lens = SegmentInfo::section_lens(entries, directory_bits, F::BITS, belongs.header.table);
        Ok(Self {
            file: PageFileWriter::create(storage, belongs, &lens)?,
            table,
            info: SegmentInfo { entries, fingerprint_sum: 0, cell_squares: 0, directory_bits },
            pushed: 0,
            started_cells: 0,
            cell_start: 0,
            last: None,
            cells: Vec::new(),
            hi: Vec::new(),
            lo: Vec::new(),
        })
    }

    /// Appends fingerprints in this table's order, each larger than the one before.
    pub(crate) fn push(&mut self, permuted: &[F]) -> Result<()> {
        let directory_bits = self.info.directory_bits;
        for &value in permuted {
            debug_assert!(self.last < Some(value), "ascending and distinct");
            self.last = Some(value);
            let cell = value.bits(0, directory_bits);
            if cell >= self.started_cells {
                self.start_cells_up_to(cell)?;
            }
            self.hi.extend((0..hi_words(F::BITS)).map(|word| hi_word(value, directory_bits, word)));
            if !is_wide(F::BITS) {
                let lo_bits = SegmentInfo::lo_bits(directory_bits, F::BITS);
                let lo_bytes = to_usize(SegmentInfo::lo_bytes(directory_bits, F::BITS));
                let lo = value.bits(directory_bits + HI_BITS, lo_bits).to_le_bytes();
                self.lo.extend_from_slice(lo.get(..lo_bytes).unwrap_or_default());
            }
            self.info.fingerprint_sum =
                self.info.fingerprint_sum.wrapping_add(self.table.restore(value).hash64());
            self.pushed += 1;
        }
        self.drain()
    }

    /// Appends the numbers of wide fingerprints that were pushed, in a table that needs them.
    pub(crate) fn push_entries(&mut self, entries: &[u32]) -> Result<()> {
        self.file.put(REST, bytemuck::cast_slice(entries))
    }

    /// Closes the file. Returns what the manifest keeps, and what the footer says.
    pub(crate) fn finish(mut self) -> Result<(FileRecord, SegmentInfo)> {
        assert_eq!(self.pushed, self.info.entries, "as many fingerprints as announced");
        self.start_cells_up_to(1 << self.info.directory_bits)?;
        self.drain()?;
        Ok((self.file.finish(self.info.attributes())?, self.info))
    }

    /// Writes the start of every cell up to and including `cell`: the number of entries so far.
    fn start_cells_up_to(&mut self, cell: u64) -> Result<()> {
        let size = self.pushed - self.cell_start;
        self.info.cell_squares = self.info.cell_squares.saturating_add(size.saturating_mul(size));
        self.cell_start = self.pushed;
        while self.started_cells <= cell {
            let missing = (cell + 1 - self.started_cells).min(CELLS_AT_ONCE);
            self.cells.resize(self.cells.len() + to_usize(missing), to_u32(to_usize(self.pushed)));
            self.started_cells += missing;
            if self.cells.len() as u64 >= CELLS_AT_ONCE {
                self.file.put(DIRECTORY, bytemuck::cast_slice(&self.cells))?;
                self.cells.clear();
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        self.file.put(DIRECTORY, bytemuck::cast_slice(&self.cells))?;
        self.file.put(HI, bytemuck::cast_slice(&self.hi))?;
        self.file.put(REST, &self.lo)?;
        self.cells.clear();
        self.hi.clear();
        self.lo.clear();
        Ok(())
    }
}
