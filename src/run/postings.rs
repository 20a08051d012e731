//! The postings of a run: the ids of each fingerprint of table 0.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::page_file::{FileSpec, PageFile};
use super::values::Values;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::filter::{FILTER_BLOCK_BYTES, FilterPlace};
use crate::format::header::{Header, Owner};
use crate::format::manifest::RunRecord;
use crate::format::postings::{
    FILTER, IDS, MAGIC, PostingsInfo, RANK_ROWS, RANKS, SAMPLE_ENTRIES, SAMPLES, STARTS, sections,
};
use crate::storage::{Access, Storage, names};
use crate::util::cast::to_usize;

/// Ids of one block of a visit.
const IDS_AT_ONCE: usize = 1024;

/// An open postings file.
#[derive(Debug)]
pub(crate) struct Postings {
    pub(crate) file: Arc<PageFile>,
    pub(crate) info: PostingsInfo,
    ids_base: usize,
    starts_base: usize,
    samples_base: usize,
    ranks_base: usize,
}

impl Postings {
    /// The expected name and header of the postings file of a run.
    pub(crate) fn file_spec(owner: Owner) -> FileSpec {
        FileSpec {
            name: names::rows(owner.run),
            header: Header::new(MAGIC, owner),
            section_names: sections(owner.width),
        }
    }

    /// Maps a postings file and checks it against the manifest's record of its run.
    ///
    /// `largest_id` is the largest id ever stored in the database.
    pub(crate) fn open(
        storage: &dyn Storage,
        spec: &FileSpec,
        run: &RunRecord,
        largest_id: Option<u64>,
    ) -> Result<Self> {
        let file = PageFile::open(storage, spec, Access::Random, run.postings_file)?;
        let info = PostingsInfo::from_footer(&file.footer, file.footer_offset(), spec.header.owner.width)
            .map_err(|flaw| flaw.of(file.path()))?;
        let describe = |entries, rows, sum| format!("{entries} entries, {rows} rows, row sum {sum}");
        let expected = describe(run.entries, run.rows, run.row_sum);
        file.check_equal("footer", expected, describe(info.entries, info.rows, info.row_sum))?;
        if info.rows > 0 && largest_id < Some(info.largest_id) {
            return Err(file.flaw(
                file.footer_offset(),
                largest_id.map_or("no ids".into(), |largest| format!("ids up to {largest}")),
                info.largest_id,
            ));
        }
        Ok(Self {
            info,
            ids_base: file.base(IDS),
            starts_base: file.base(STARTS),
            samples_base: file.base(SAMPLES),
            ranks_base: file.base(RANKS),
            file: Arc::new(file),
        })
    }

    /// The fingerprints of the run. `None` if the tables hold whole fingerprints.
    pub(super) fn values<F: Fingerprint>(&self) -> Option<Values> {
        Values::of::<F>(&self.file)
    }

    /// Whether some row may have an id. Reads one block of the filter.
    pub(crate) fn may_hold(&self, id: u64) -> Result<bool> {
        let PostingsInfo { rows, smallest_id, largest_id, filter_blocks, .. } = self.info;
        let is_within = rows > 0 && (smallest_id..=largest_id).contains(&id);
        if !is_within || filter_blocks == 0 {
            return Ok(is_within);
        }
        let place = FilterPlace::of(id, filter_blocks);
        let at = self.file.base(FILTER) + to_usize(place.block * FILTER_BLOCK_BYTES);
        let block = self.file.bytes(at..at + to_usize(FILTER_BLOCK_BYTES))?;
        Ok(place.is_in(bytemuck::from_bytes(block)))
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
            self.read_ids(start..end, &mut block, |id| id)?;
            if visit(&block)?.is_break() {
                break;
            }
            start = end;
        }
        Ok(())
    }

    /// Appends an item for each id of an entry, in ascending order of the ids.
    pub(crate) fn ids_of<T>(&self, entry: usize, out: &mut Vec<T>, item: impl Fn(u64) -> T) -> Result<()> {
        let rows = self.rows_of(entry)?;
        self.read_ids(rows, out, item)
    }

    /// Prefetches the sample that leads to an entry's rows, for
    /// [`prefetch_near`](Postings::prefetch_near).
    pub(crate) fn prefetch_sample(&self, entry: usize) {
        if self.info.one_row_each() {
            self.prefetch_id(entry);
        } else {
            let start = self.samples_base + self.sample_of(entry) * 8;
            self.file.prefetch(start..start + 8);
        }
    }

    /// Prefetches the ids of an entry: exactly if every entry has one id, otherwise their likely
    /// place.
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

    /// Appends an item for the id of each of a range of rows.
    pub(crate) fn read_ids<T>(
        &self,
        rows: Range<usize>,
        out: &mut Vec<T>,
        item: impl Fn(u64) -> T,
    ) -> Result<()> {
        let width = to_usize(self.info.id_bytes());
        let at = |row: usize| self.ids_base + row * width;
        if rows.end as u64 > self.info.rows {
            return Err(self.file.flaw(at(rows.start) as u64, format!("{} rows", self.info.rows), rows.end));
        }
        let bytes = self.file.bytes(at(rows.start)..at(rows.end))?;
        let base = self.info.id_base();
        let item = |stored: u64| item(base.wrapping_add(stored));
        if width == 4 {
            out.extend(bytemuck::cast_slice::<u8, u32>(bytes).iter().map(|&stored| item(u64::from(stored))));
        } else {
            out.extend(bytemuck::cast_slice::<u8, u64>(bytes).iter().map(|&stored| item(stored)));
        }
        Ok(())
    }

    /// The rows of an entry.
    ///
    /// Reads two samples, the bits of at most 8,192 rows before the entry, and the entry's own
    /// bits. If more rows lie between the samples, a binary search over the ranks comes first.
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

    /// For each entry, whether it has two rows or more. Reads all of `starts`.
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

    /// A row at or before the start of an entry, and the number of entries that start from that row
    /// up to it. `sampled` is the row that the entry's sample stores.
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

    /// The `n`th set bit of `starts`, counted from 0, at or after row `from`. The number of rows if
    /// there is none.
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

    /// 64 bits of `starts`: bit `r % 64` of word `r / 64` is set if row `r` is the first of its
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

    /// Starts read-ahead of rows.
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
