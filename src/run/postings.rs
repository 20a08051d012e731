//! The postings of a run: the ids of each fingerprint of table 0.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::page_file::{FileSpec, PageFile, PageFileWriter};
use super::values::Values;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::{FileRecord, RunRecord};
use crate::format::paged::Header;
use crate::format::postings::{
    IDS, MAGIC, RANK_ROWS, RANKS, RowsInfo, SAMPLE_ENTRIES, SAMPLES, STARTS, VALUES, row_hash, sections,
};
use crate::layout::is_wide;
use crate::storage::{Access, Storage, names};
use crate::util::cast::{to_u32, to_usize};

/// Ids of one block of a visit.
const IDS_AT_ONCE: usize = 1024;

/// An open postings file.
#[derive(Debug)]
pub(crate) struct Postings {
    pub(crate) file: Arc<PageFile>,
    pub(crate) info: RowsInfo,
    width: u32,
    ids_base: usize,
    starts_base: usize,
    samples_base: usize,
    ranks_base: usize,
}

impl Postings {
    /// What the postings file of a run must look like.
    pub(crate) fn file_spec(database_id: [u8; 16], run: u64, width: u32) -> FileSpec {
        let header = Header { magic: MAGIC, database_id, run, table: 0, width };
        FileSpec { name: names::rows(run), header, section_names: sections(width) }
    }

    /// Maps a postings file and checks it against what the manifest says of its run.
    ///
    /// `largest_id` is the largest id ever stored in the database.
    pub(crate) fn open(
        storage: &dyn Storage,
        spec: &FileSpec,
        run: &RunRecord,
        largest_id: Option<u64>,
    ) -> Result<Self> {
        let bytes = super::run::map(storage, &spec.name, Access::Random)?;
        let file = PageFile::open(spec, storage.path(&spec.name), bytes, run.postings_file)?;
        let flaw = |flaw: Flaw| flaw.of(file.path());
        let width = spec.header.width;
        let info = RowsInfo::from_footer(&file.footer, file.footer_offset(), width).map_err(flaw)?;
        let tell = |entries, rows, sum| format!("{entries} entries, {rows} rows, row sum {sum}");
        let expected = tell(run.entries, run.rows, run.row_sum);
        let found = tell(info.entries, info.rows, info.row_sum);
        Flaw::unless_equal("footer", file.footer_offset(), expected, found).map_err(flaw)?;
        if info.rows > 0 && largest_id < Some(info.largest_id) {
            return Err(file.flaw(
                file.footer_offset(),
                format!("ids up to {largest_id:?}"),
                info.largest_id,
            ));
        }
        let base = |section| to_usize(file.section(section).offset);
        let (ids_base, starts_base) = (base(IDS), base(STARTS));
        let (samples_base, ranks_base) = (base(SAMPLES), base(RANKS));
        let file = Arc::new(file);
        Ok(Self { info, width, ids_base, starts_base, samples_base, ranks_base, file })
    }

    /// The fingerprints of the run, where they are wider than 64 bits.
    pub(crate) fn values(&self) -> Option<Values> {
        let base = || to_usize(self.file.section(VALUES).offset);
        is_wide(self.width).then(|| Values::new(self.file.clone(), base()))
    }

    /// Visits the ids of an entry, ascending, in blocks, until `visit` wants no more.
    pub(crate) fn visit_ids(
        &self,
        entry: usize,
        mut visit: impl FnMut(&[u64]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let rows = self.rows_of(entry)?;
        let (mut start, mut block) = (rows.start, Vec::new());
        while start < rows.end {
            let end = rows.end.min(start + IDS_AT_ONCE);
            block.clear();
            self.read_ids(start..end, &mut block)?;
            if visit(&block)?.is_break() {
                break;
            }
            start = end;
        }
        Ok(())
    }

    /// Appends the ids of an entry, ascending.
    pub(crate) fn ids_of(&self, entry: usize, out: &mut Vec<u64>) -> Result<()> {
        let rows = self.rows_of(entry)?;
        self.read_ids(rows, out)
    }

    /// Asks for what leads to an entry's rows: [`prefetch_near`](Postings::prefetch_near) reads it.
    pub(crate) fn prefetch_sample(&self, entry: usize) {
        if self.info.one_row_each() {
            self.prefetch_id(entry);
        } else {
            let start = self.samples_base + self.sample_of(entry) * 8;
            self.file.prefetch(start..start + 8);
        }
    }

    /// Asks for what tells an entry's ids: exactly where every entry has one, else about where.
    pub(crate) fn prefetch_near(&self, entry: usize) -> Result<()> {
        let row = if self.info.one_row_each() {
            entry
        } else {
            let sampled = to_usize(self.sample(self.sample_of(entry))?).min(to_usize(self.info.rows));
            let row = sampled + entry % to_usize(SAMPLE_ENTRIES);
            self.file.prefetch(self.starts_base + sampled / 8..self.starts_base + row / 8 + 1);
            row
        };
        self.prefetch_id(row);
        Ok(())
    }

    fn prefetch_id(&self, row: usize) {
        let width = to_usize(self.info.id_bytes());
        self.file.prefetch(self.ids_base + row * width..self.ids_base + (row + 1) * width);
    }

    fn sample_of(&self, entry: usize) -> usize {
        entry / to_usize(SAMPLE_ENTRIES)
    }

    /// Appends the ids of a range of rows.
    pub(crate) fn read_ids(&self, rows: Range<usize>, out: &mut Vec<u64>) -> Result<()> {
        let width = to_usize(self.info.id_bytes());
        let at = |row: usize| self.ids_base + row * width;
        if rows.end as u64 > self.info.rows {
            return Err(self.file.flaw(at(rows.start) as u64, format!("{} rows", self.info.rows), rows.end));
        }
        let bytes = self.file.bytes(at(rows.start)..at(rows.end))?;
        let base = self.info.id_base();
        let id = |stored: u64| base.wrapping_add(stored);
        if width == 4 {
            out.extend(bytemuck::cast_slice::<u8, u32>(bytes).iter().map(|&stored| id(u64::from(stored))));
        } else {
            out.extend(bytemuck::cast_slice::<u8, u64>(bytes).iter().map(|&stored| id(stored)));
        }
        Ok(())
    }

    /// The rows of an entry. Cost: two samples, a walk over the bits of at most 8,192 rows, or a binary
    /// search over the ranks where a heavy entry lies between, and the entry's own bits.
    pub(crate) fn rows_of(&self, entry: usize) -> Result<Range<usize>> {
        if self.info.one_row_each() {
            return Ok(entry..entry + 1);
        }
        let sample = self.sample_of(entry);
        let (from, before) = self.skip_ahead(entry, to_usize(self.sample(sample)?), sample)?;
        let start = self.nth_start(from, before)?;
        let end = self.nth_start(start.saturating_add(1), 0)?;
        if start < end {
            Ok(start..end)
        } else {
            let offset = (self.samples_base + sample * 8) as u64;
            Err(self.file.flaw(offset, format!("the first row of entry {entry}"), format!("row {from}")))
        }
    }

    /// For each entry, whether it has two rows or more. Walks over `starts`.
    pub(crate) fn entries_of_several_rows(&self) -> Result<Vec<bool>> {
        let mut several = vec![false; to_usize(self.info.entries)];
        if self.info.one_row_each() {
            return Ok(several);
        }
        let rows = to_usize(self.info.rows);
        let mut entries = 0usize;
        for word in 0..rows.div_ceil(64) {
            let starts = self.starts_word(word)?;
            if starts == u64::MAX {
                entries += 64;
                continue;
            }
            for bit in 0..(rows - word * 64).min(64) {
                if starts >> bit & 1 == 1 {
                    entries += 1;
                } else if let Some(several) = entries.checked_sub(1).and_then(|entry| several.get_mut(entry))
                {
                    *several = true;
                }
            }
        }
        Ok(several)
    }

    /// A row at or before the start of an entry, and how many entries start from there up to it.
    /// `sampled` is the row that the entry's sample gives.
    fn skip_ahead(&self, entry: usize, sampled: usize, sample: usize) -> Result<(usize, usize)> {
        let next = (sample + 1) * to_usize(SAMPLE_ENTRIES);
        let rows = to_usize(self.info.rows);
        let limit =
            if next < to_usize(self.info.entries) { to_usize(self.sample(sample + 1)?) } else { rows };
        let rank_rows = to_usize(RANK_ROWS);
        let plain = (sampled, entry % to_usize(SAMPLE_ENTRIES));
        if limit.min(rows).saturating_sub(sampled) <= 2 * rank_rows {
            return Ok(plain);
        }
        let (mut low, mut high) = (sampled / rank_rows, limit.min(rows).div_ceil(rank_rows));
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.rank(middle)? <= entry { low = middle } else { high = middle }
        }
        let (row, rank) = (low * rank_rows, self.rank(low)?);
        if row > sampled && rank <= entry { Ok((row, entry - rank)) } else { Ok(plain) }
    }

    /// The number of entries that start before row `index * RANK_ROWS`.
    pub(super) fn rank(&self, index: usize) -> Result<usize> {
        let at = self.ranks_base + index * 4;
        Ok(self.file.bytes(at..at + 4)?.first_chunk().map_or(0, |rank| u32::from_le_bytes(*rank)) as usize)
    }

    /// The `n`th set bit of `starts` (counted from 0) at or behind row `from`; the number of rows
    /// where there is none.
    fn nth_start(&self, from: usize, mut n: usize) -> Result<usize> {
        let rows = to_usize(self.info.rows);
        let mut row = from;
        while row < rows {
            let word = self.starts_word(row / 64)? & (u64::MAX << (row % 64));
            let ones = word.count_ones() as usize;
            if n < ones {
                let rest = (0..n).fold(word, |word, _| word & (word - 1));
                return Ok((row / 64 * 64 + rest.trailing_zeros() as usize).min(rows));
            }
            n -= ones;
            row = (row / 64 + 1) * 64;
        }
        if n == 0 { Ok(rows) } else { Err(self.file.flaw(self.starts_base as u64, "more starts", rows)) }
    }

    /// 64 bits of `starts`: bit `r % 64` of word `r / 64` is set where row `r` is the first of its
    /// fingerprint.
    pub(super) fn starts_word(&self, word: usize) -> Result<u64> {
        let at = self.starts_base + word * 8;
        Ok(self.file.bytes(at..at + 8)?.first_chunk().map_or(0, |bits| u64::from_le_bytes(*bits)))
    }

    /// A stored sample.
    pub(super) fn sample(&self, index: usize) -> Result<u64> {
        let at = self.samples_base + index * 8;
        Ok(self.file.bytes(at..at + 8)?.first_chunk().map_or(0, |row| u64::from_le_bytes(*row)))
    }

    /// Asks the system to read rows soon.
    pub(crate) fn will_need(&self, rows: Range<usize>) {
        let width = to_usize(self.info.id_bytes());
        let end = rows.end.min(to_usize(self.info.rows));
        self.file.will_need(self.ids_base + rows.start.min(end) * width..self.ids_base + end * width);
    }

    /// Whether a row is the first of its fingerprint.
    #[inline]
    pub(super) fn is_start(&self, row: usize) -> Result<bool> {
        Ok(self.info.one_row_each() || self.starts_word(row / 64)? >> (row % 64) & 1 == 1)
    }
}

/// Writes a postings file.
pub(crate) struct PostingsWriter {
    file: PageFileWriter,
    info: RowsInfo,
    entries: u64,
    rows: u64,
    row_sum: u64,
    starts: u64,
    bytes: Vec<u8>,
}

impl PostingsWriter {
    /// Starts a postings file with the counts and id range of `info`; its sum is computed here.
    pub(crate) fn create(storage: &dyn Storage, spec: &FileSpec, info: RowsInfo) -> Result<Self> {
        let file = PageFileWriter::create(storage, spec, &info.section_lens(spec.header.width))?;
        Ok(Self { file, info, entries: 0, rows: 0, row_sum: 0, starts: 0, bytes: Vec::new() })
    }

    /// Appends a row: the next id of the fingerprint before, or the first of the next one.
    pub(crate) fn push(&mut self, first: bool, fingerprint_hash: u64, id: u64) -> Result<()> {
        if !self.info.one_row_each() && self.rows.is_multiple_of(RANK_ROWS) {
            self.file.put(RANKS, &to_u32(to_usize(self.entries)).to_le_bytes())?;
        }
        if first {
            if !self.info.one_row_each() {
                if self.entries.is_multiple_of(SAMPLE_ENTRIES) {
                    self.file.put(SAMPLES, &self.rows.to_le_bytes())?;
                }
                self.starts |= 1 << (self.rows % 64);
            }
            self.entries += 1;
        }
        self.row_sum = self.row_sum.wrapping_add(row_hash(fingerprint_hash, id));
        let stored = id.wrapping_sub(self.info.id_base()).to_le_bytes();
        self.file.put(IDS, stored.get(..to_usize(self.info.id_bytes())).unwrap_or_default())?;
        self.rows += 1;
        if self.rows.is_multiple_of(64) { self.put_starts() } else { Ok(()) }
    }

    /// Appends the next fingerprints themselves, where they are wider than 64 bits.
    pub(crate) fn put_values<F: Fingerprint>(&mut self, values: &[F]) -> Result<()> {
        if !is_wide(F::BITS) {
            return Ok(());
        }
        self.bytes.clear();
        values.iter().for_each(|&value| value.write_le(&mut self.bytes));
        self.file.put(VALUES, &self.bytes)
    }

    /// Closes the file. Returns what the manifest keeps, and the sum over the rows.
    pub(crate) fn finish(mut self) -> Result<(FileRecord, u64)> {
        assert_eq!(
            (self.entries, self.rows),
            (self.info.entries, self.info.rows),
            "as many rows as announced"
        );
        if !self.rows.is_multiple_of(64) {
            self.put_starts()?;
        }
        self.info.row_sum = self.row_sum;
        Ok((self.file.finish(self.info.attributes())?, self.row_sum))
    }

    fn put_starts(&mut self) -> Result<()> {
        let word = std::mem::take(&mut self.starts);
        if self.info.one_row_each() { Ok(()) } else { self.file.put(STARTS, &word.to_le_bytes()) }
    }
}
