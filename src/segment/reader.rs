//! Reads one segment in place.

use std::ops::Range;

use super::page_file::{Belongs, PageFile};
use crate::cast::{to_u32, to_usize};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::{FileRecord, RunRecord};
use crate::format::paged::Header;
use crate::format::segment::{DIRECTORY, HI, HI_BITS, LO, MAGIC, SECTIONS, SegmentInfo};
use crate::layout::Table;
use crate::layout::cost::TableShape;
use crate::storage::{Access, Storage, names};

/// One table of one run, open.
#[derive(Debug)]
pub(crate) struct Segment<F> {
    pub(crate) file: PageFile,
    pub(crate) info: SegmentInfo,
    pub(crate) table: Table<F>,
    directory_base: usize,
    hi_base: usize,
    lo_base: usize,
    lo_bytes: usize,
    lo_bits: u32,
    known_bits: F,
}

impl<F: Fingerprint> Segment<F> {
    /// What the segment of a table must look like.
    pub(crate) fn belongs(database_id: [u8; 16], run: u64, table: usize) -> Belongs {
        let header = Header {
            magic: MAGIC,
            database_id,
            run,
            table: u32::try_from(table).unwrap_or(u32::MAX),
            width: F::BITS,
        };
        Belongs { name: names::segment(run, table), header, section_names: &SECTIONS }
    }

    /// Maps a segment and checks it against what the manifest says of its run.
    pub(crate) fn open(
        storage: &dyn Storage,
        belongs: &Belongs,
        table: Table<F>,
        record: FileRecord,
        run: &RunRecord,
    ) -> Result<Self> {
        let segment = Self::map(storage, belongs, table, record, Access::Random)?;
        let footer = |expected: u64, found: u64, what: &str| {
            let what = |number| format!("{what} {number}");
            Flaw::unless_equal("footer", segment.file.footer_offset(), what(expected), what(found))
                .map_err(|flaw| flaw.of(segment.file.path()))
        };
        footer(run.entries, segment.info.entries, "entries")?;
        footer(run.fingerprint_sum, segment.info.fingerprint_sum, "fingerprint sum")?;
        Ok(segment)
    }

    /// Maps a segment that has just been written.
    pub(crate) fn map(
        storage: &dyn Storage,
        belongs: &Belongs,
        table: Table<F>,
        record: FileRecord,
        access: Access,
    ) -> Result<Self> {
        let path = storage.path(&belongs.name);
        let bytes = super::run::map(storage, &belongs.name, access)?;
        let file = PageFile::open(belongs, path, bytes, record)?;
        let info = SegmentInfo::from_footer(&file.footer, file.footer_offset(), F::BITS)
            .map_err(|flaw| flaw.of(file.path()))?;
        let base = |section| to_usize(file.section(section).offset);
        let known_bits = table.restore(F::ones(0, info.directory_bits + HI_BITS));
        Ok(Self {
            info,
            table,
            known_bits,
            directory_base: base(DIRECTORY),
            hi_base: base(HI),
            lo_base: base(LO),
            lo_bytes: to_usize(SegmentInfo::lo_bytes(info.directory_bits, F::BITS)),
            lo_bits: SegmentInfo::lo_bits(info.directory_bits, F::BITS),
            file,
        })
    }

    pub(crate) fn entries(&self) -> usize {
        to_usize(self.info.entries)
    }

    pub(crate) fn directory_bits(&self) -> u32 {
        self.info.directory_bits
    }

    /// Number of cells of the directory.
    pub(crate) fn cells(&self) -> usize {
        1 << self.info.directory_bits
    }

    /// What the planner wants to know.
    pub(crate) fn shape(&self) -> TableShape {
        let uniform = TableShape::uniform(self.table.lead_bits, self.info.directory_bits, self.info.entries);
        let cells_per_lead = f64::from(self.info.directory_bits - uniform.probe_bits()).exp2();
        let met = self.info.cell_squares as f64 / self.info.entries.max(1) as f64 * cells_per_lead;
        TableShape {
            typical_bucket: met.clamp(uniform.mean_bucket, self.info.entries.max(1) as f64),
            ..uniform
        }
    }

    /// Asks for the directory word of a cell.
    #[inline]
    pub(crate) fn prefetch_cell(&self, cell: usize) {
        let start = self.directory_base + cell * 4;
        self.file.prefetch(start..start + 8);
    }

    /// Asks for `hi` words.
    #[inline]
    pub(crate) fn prefetch_hi(&self, range: &Range<usize>) {
        self.file.prefetch(self.hi_base + range.start * 4..self.hi_base + range.end * 4);
    }

    /// Asks for the `hi` and `lo` words about where a value stands in its bucket: fingerprints in a
    /// cell are spread evenly, more or less. Returns that place.
    pub(crate) fn prefetch_place_of(&self, permuted: F) -> Result<usize> {
        let bucket = self.bucket(self.cell_of(permuted), 1)?;
        let entry = bucket.start + likely_place(bucket.len(), self.hi_of(permuted));
        self.prefetch_hi(&(entry..entry + 1));
        self.prefetch_lo(entry);
        Ok(entry)
    }

    /// Asks for the `lo` value of an entry.
    #[inline]
    pub(crate) fn prefetch_lo(&self, entry: usize) {
        let start = self.lo_base + entry * self.lo_bytes;
        self.file.prefetch(start..start + self.lo_bytes);
    }

    /// Asks for the directory word of the natural order's cell, if what is known of a value tells which.
    #[inline]
    pub(crate) fn prefetch_cell_if_known(&self, natural: F, known: F) {
        if F::ones(0, self.info.directory_bits) & !known == F::default() {
            self.prefetch_cell(self.cell_of(natural));
        }
    }

    /// The bits, in natural order, that cell and `hi` word tell.
    #[inline]
    pub(crate) fn known_bits(&self) -> F {
        self.known_bits
    }

    /// Where an entry of which cell and `hi` word are known differs from a value, as far as known;
    /// in this table's order.
    #[inline]
    pub(crate) fn leading_difference(&self, cell: u32, hi: u32, permuted: F) -> F {
        let leading = F::ones(0, self.info.directory_bits + HI_BITS);
        self.assemble(u64::from(cell), hi, 0) ^ (permuted & leading)
    }

    /// The entries of the cells `first..first + count`.
    #[inline]
    pub(crate) fn bucket(&self, first: usize, count: usize) -> Result<Range<usize>> {
        let at = |cell: usize| self.directory_base + cell * 4;
        let word = |word: Option<&[u8; 4]>| word.map_or(0, |word| u32::from_le_bytes(*word)) as usize;
        let range = if count == 1 {
            let bytes = self.file.bytes(at(first)..at(first + 2))?;
            word(bytes.first_chunk())..word(bytes.last_chunk())
        } else {
            let alone =
                |cell: usize| Ok::<_, Error>(word(self.file.bytes(at(cell)..at(cell + 1))?.first_chunk()));
            alone(first)?..alone(first + count)?
        };
        if range.start <= range.end && range.end <= self.entries() {
            Ok(range)
        } else {
            let found = format!("{} to {}", range.start, range.end);
            Err(self.file.flaw(at(first) as u64, format!("a range of {} entries", self.entries()), found))
        }
    }

    /// The `hi` words of some entries. The range is within the entries.
    #[inline]
    pub(crate) fn hi(&self, range: Range<usize>) -> Result<&[u32]> {
        let bytes = self.file.bytes(self.hi_base + range.start * 4..self.hi_base + range.end * 4)?;
        Ok(bytemuck::cast_slice(bytes))
    }

    /// The bits behind the `hi` word of an entry.
    #[inline]
    fn lo(&self, entry: usize) -> Result<u64> {
        let start = self.lo_base + entry * self.lo_bytes;
        Ok(little_endian(self.file.bytes(start..start + self.lo_bytes)?))
    }

    /// The bits of the `lo` plane above those that an entry needs are zero; nothing else looks at them.
    pub(super) fn check_lo(&self, entry: usize) -> Result<()> {
        let (bits, lo) = (self.lo_bits, self.lo(entry)?);
        if lo >> bits == 0 {
            return Ok(());
        }
        let offset = (self.lo_base + entry * self.lo_bytes) as u64;
        Err(self.file.flaw(offset, format!("a number of {bits} bits"), lo))
    }

    /// Puts an entry together, in this table's order.
    #[inline]
    pub(crate) fn value(&self, cell: usize, hi: u32, entry: usize) -> Result<F> {
        Ok(self.assemble(cell as u64, hi, self.lo(entry)?))
    }

    #[inline]
    fn assemble(&self, cell: u64, hi: u32, lo: u64) -> F {
        let (directory_bits, lo_bits) = (self.info.directory_bits, self.lo_bits);
        F::from_bits(cell, 0, directory_bits)
            | F::from_bits(u64::from(hi), directory_bits, HI_BITS)
            | F::from_bits(lo, directory_bits + HI_BITS, lo_bits)
    }

    /// The cell that a value of this table belongs to.
    #[inline]
    pub(crate) fn cell_of(&self, permuted: F) -> usize {
        to_usize(permuted.bits(0, self.info.directory_bits))
    }

    /// The `hi` word of a value of this table.
    #[inline]
    pub(crate) fn hi_of(&self, permuted: F) -> u32 {
        to_u32(to_usize(permuted.bits(self.info.directory_bits, HI_BITS)))
    }

    /// The entry that holds a value: first by a search over the `hi` words of its cell that starts where the
    /// value would stand if they were spread evenly, then by a binary one over `lo` among the entries that
    /// share the `hi` word.
    pub(crate) fn find(&self, permuted: F) -> Result<Option<usize>> {
        let cell = self.cell_of(permuted);
        let bucket = self.bucket(cell, 1)?;
        let wanted = self.hi_of(permuted);
        let words = self.hi(bucket.clone())?;
        let start = partition_near(words, likely_place(words.len(), wanted), |hi| hi < wanted);
        let equal = words.get(start..).unwrap_or_default().partition_point(|&hi| hi == wanted);
        let (mut low, mut high) = (bucket.start + start, bucket.start + start + equal);
        while low < high {
            let middle = low.midpoint(high);
            let value = self.value(cell, wanted, middle)?;
            if value == permuted {
                return Ok(Some(middle));
            }
            if value < permuted { low = middle + 1 } else { high = middle }
        }
        Ok(None)
    }

    /// Appends the values of the cells `first..first + count`, in order.
    pub(crate) fn read_cells(&self, first: usize, count: usize, out: &mut Vec<F>) -> Result<()> {
        for cell in first..first + count {
            let bucket = self.bucket(cell, 1)?;
            let words = self.hi(bucket.clone())?;
            let start = self.lo_base + bucket.start * self.lo_bytes;
            let lo = self.file.bytes(start..start + bucket.len() * self.lo_bytes)?;
            let lows = lo.chunks_exact(self.lo_bytes);
            out.extend(
                words.iter().zip(lows).map(|(&hi, low)| self.assemble(cell as u64, hi, little_endian(low))),
            );
        }
        Ok(())
    }

    /// Asks the system to read the `hi` words of some cells soon.
    pub(crate) fn will_need_hi(&self, cells: Range<usize>) -> Result<()> {
        let entries = self.bucket(cells.start, cells.len())?;
        self.file.will_need(self.hi_base + entries.start * 4..self.hi_base + entries.end * 4);
        Ok(())
    }

    /// Asks the system to read the cells `first..first + count` soon, as far as there are so many.
    pub(crate) fn will_need_cells(&self, first: usize, count: usize) -> Result<()> {
        let end = (first + count).min(self.cells());
        if first < end {
            self.file.will_need(self.directory_base + first * 4..self.directory_base + end * 4);
            let bucket = self.bucket(first, end - first)?;
            self.file.will_need(self.hi_base + bucket.start * 4..self.hi_base + bucket.end * 4);
            let lo = |entry: usize| self.lo_base + entry * self.lo_bytes;
            self.file.will_need(lo(bucket.start)..lo(bucket.end));
        }
        Ok(())
    }

    /// Reads all values in order.
    pub(crate) fn cursor(&self) -> Cursor<'_, F> {
        let window = (self.cells() * AHEAD_ENTRIES / self.entries().max(1)).max(1);
        Cursor { segment: self, cell: 0, asked: 0, window }
    }
}

/// The number in up to eight bytes.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
    }
}

/// Where a `hi` word stands in a bucket of so many that are spread evenly.
#[inline]
fn likely_place(len: usize, hi: u32) -> usize {
    to_usize((len as u64 * u64::from(hi)) >> HI_BITS)
}

/// The same as `partition_point`, looking first about a place where that is likely to be.
fn partition_near(words: &[u32], likely: usize, before: impl Fn(u32) -> bool) -> usize {
    let is_before = |at: usize| words.get(at).is_some_and(|&word| before(word));
    let (mut low, mut high, mut step) = (likely, likely, NEAR);
    while low > 0 && !is_before(low - 1) {
        (high, low) = (low - 1, low.saturating_sub(step));
        step *= 2;
    }
    while is_before(high) {
        (low, high) = (high + 1, (high + step).min(words.len()));
        step *= 2;
    }
    low + words.get(low..high).unwrap_or_default().partition_point(|&word| before(word))
}

/// How far from the likely place a search looks first: half a line of a cache.
const NEAR: usize = 8;

/// Walks a segment from its first value to its last.
pub(crate) struct Cursor<'a, F> {
    segment: &'a Segment<F>,
    cell: usize,
    /// Cells that the system has been asked for.
    asked: usize,
    /// Cells that it is asked for at once.
    window: usize,
}

/// Entries that a walk asks the system for before it needs them.
const AHEAD_ENTRIES: usize = 1 << 17;

/// Values that a cursor hands out at once, or the content of one cell where that is more.
const BLOCK: usize = 4096;

impl<F: Fingerprint> Cursor<'_, F> {
    /// Replaces `out` by the next values. False at the end.
    pub(crate) fn next_block(&mut self, out: &mut Vec<F>) -> Result<bool> {
        out.clear();
        while self.asked < (self.cell + self.window).min(self.segment.cells()) {
            self.segment.will_need_cells(self.asked, self.window)?;
            self.asked += self.window;
        }
        while out.len() < BLOCK && self.cell < self.segment.cells() {
            self.segment.read_cells(self.cell, 1, out)?;
            self.cell += 1;
        }
        Ok(!out.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_likely_place_only_helps(mut words in prop::collection::vec(0u32..60, 0..80), wanted in 0u32..60, likely: usize) {
            words.sort_unstable();
            let likely = likely % (words.len() + 1);
            let found = partition_near(&words, likely, |word| word < wanted);
            prop_assert_eq!(found, words.partition_point(|&word| word < wanted));
        }

        #[test]
        fn damaged_words_give_some_place(words in prop::collection::vec(0u32..9, 0..40), wanted in 0u32..9, likely: usize) {
            let likely = likely % (words.len() + 1);
            prop_assert!(partition_near(&words, likely, |word| word < wanted) <= words.len());
        }
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for len in 0..=8 {
            let bytes: Vec<u8> = (1..=len).collect();
            let expected = (0..u32::from(len)).map(|at| u64::from(at + 1) << (8 * at)).sum::<u64>();
            assert_eq!(little_endian(&bytes), expected, "{len} bytes");
        }
    }
}
