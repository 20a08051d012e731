//! The postings of a run that may be damaged: which row belongs to which entry.
//!
//! The rows of an entry start at its set bit of `starts`. Rows are handled in chunks. In a chunk
//! with unreadable bits, entries are counted from both ends, and from readable ranks and samples. A
//! row is assigned to an entry only if no other assignment is possible.

use std::ops::Range;

use super::pages::{Opened, Pages};
use super::report::{FindingKind, RepairReport};
use crate::error::Result;
use crate::format::filter::blocks_for;
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::paged::Footer;
use crate::format::postings::{IDS, PostingsInfo, RANK_ROWS, RANKS, SAMPLE_ENTRIES, SAMPLES, STARTS};
use crate::run::Postings;
use crate::storage::Storage;
use crate::util::cast::to_usize;

/// A row as far as it is readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) entry: Option<u64>,
    pub(super) id: Option<u64>,
}

/// An open postings file. Holds two numbers per 4,096 rows in memory.
#[derive(Debug)]
pub(super) struct DamagedPostings {
    pages: Pages,
    info: PostingsInfo,
    /// The number of entries that start in each chunk of rows. Empty if every entry has one row.
    starts: Vec<Option<u64>>,
    /// The number of entries that start before each chunk, and before the end.
    before: Vec<Option<u64>>,
}

/// The result of opening a postings file.
pub(super) enum OpenedPostings {
    Readable(DamagedPostings),
    /// The footer is damaged. It holds the number that stored ids are relative to.
    WithoutFooter(Pages),
    Missing,
}

/// Which rows of a chunk start an entry.
#[derive(Clone, Copy)]
enum ChunkStarts {
    /// Those with a set bit.
    AsStored,
    All,
    None,
    Unknown,
}

impl DamagedPostings {
    /// Opens the postings file of a run.
    pub(super) fn open(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        report: &mut RepairReport,
    ) -> Result<OpenedPostings> {
        let spec = Postings::file_spec(manifest.owner_of(record));
        Ok(match Pages::open(storage, &spec, record.postings_file, report)? {
            Opened::Whole(pages) => match Self::of(pages, record, report) {
                Some(postings) => OpenedPostings::Readable(postings),
                None => OpenedPostings::Missing,
            },
            Opened::WithoutFooter(pages) => OpenedPostings::WithoutFooter(pages),
            Opened::Missing => OpenedPostings::Missing,
        })
    }

    /// Reads where entries start. `None` if the file contradicts itself or the manifest.
    pub(super) fn of(pages: Pages, record: &RunRecord, report: &mut RepairReport) -> Option<Self> {
        let name = pages.name.clone();
        let info = PostingsInfo::from_footer(&pages.footer, 0, record.layout.width()).ok();
        let info = info.filter(|info| (info.entries, info.rows) == (record.entries, record.rows));
        let mut postings = Self { pages, info: info?, starts: Vec::new(), before: Vec::new() };
        if postings.count_entries() {
            return Some(postings);
        }
        report.add(FindingKind::Damaged, &name, "starts, samples and ranks contradict each other");
        None
    }

    /// The footers that a postings file may have had: for each number that ids may be relative to,
    /// one without a filter and one with it.
    pub(super) fn footers(record: &RunRecord, bases: &[u64]) -> Vec<Footer> {
        let footer = |smallest_id: u64, largest_id: u64, filter_blocks: u64| {
            let RunRecord { entries, rows, row_sum, .. } = *record;
            let info = PostingsInfo { entries, rows, row_sum, smallest_id, largest_id, filter_blocks };
            let mut footer = Footer::plan(&info.section_lens(record.layout.width()));
            footer.attributes = info.attributes();
            footer
        };
        let span = u64::from(u32::MAX);
        let near = bases.iter().map(|&base| (base, base.saturating_add(span)));
        let ranges = near.chain([(0, u64::MAX)]);
        let filters = [0, blocks_for(record.rows)];
        ranges.flat_map(|(least, most)| filters.map(|blocks| footer(least, most, blocks))).collect()
    }

    /// The largest stored id, if all ids are readable.
    pub(super) fn largest_stored(&mut self) -> Option<u64> {
        let width = self.info.id_bytes();
        (0..self.info.rows).try_fold(0, |largest, row| Some(self.pages.number(IDS, row, width)?.max(largest)))
    }

    /// Visits every row in order.
    pub(super) fn for_each(&mut self, visit: &mut dyn FnMut(Posting) -> Result<()>) -> Result<()> {
        let width = self.info.id_bytes();
        for chunk in 0..self.info.rows.div_ceil(RANK_ROWS) {
            let mut started = self.started_before(chunk);
            let chunk_starts = self.starts_of(chunk);
            for row in self.rows_of(chunk) {
                let starts = match chunk_starts {
                    ChunkStarts::AsStored => {
                        self.pages.number(STARTS, row / 64, 8).map(|word| word >> (row % 64) & 1)
                    }
                    ChunkStarts::All => Some(1),
                    ChunkStarts::None => Some(0),
                    ChunkStarts::Unknown => None,
                };
                started = started.zip(starts).map(|(started, starts)| started + starts);
                let entry = started.and_then(|started| started.checked_sub(1));
                let stored = self.pages.number(IDS, row, width);
                let id = stored.map(|stored| self.info.id_base().wrapping_add(stored));
                visit(Posting { entry, id })?;
            }
        }
        Ok(())
    }

    pub(super) fn report_unreadable(&self, report: &mut RepairReport) {
        self.pages.report_unreadable(report);
    }

    fn rows_of(&self, chunk: u64) -> Range<u64> {
        let start = chunk * RANK_ROWS;
        start..(start + RANK_ROWS).min(self.info.rows)
    }

    fn started_before(&self, chunk: u64) -> Option<u64> {
        if self.info.one_row_each() {
            return Some(chunk * RANK_ROWS);
        }
        self.before.get(to_usize(chunk)).copied().flatten()
    }

    fn started_in(&self, chunk: u64) -> Option<u64> {
        self.starts.get(to_usize(chunk)).copied().flatten()
    }

    /// Which rows of a chunk start an entry.
    fn starts_of(&self, chunk: u64) -> ChunkStarts {
        if self.info.one_row_each() {
            return ChunkStarts::All;
        }
        if self.started_in(chunk).is_some() {
            return ChunkStarts::AsStored;
        }
        let rows = self.rows_of(chunk);
        match self.started_before(chunk).zip(self.started_before(chunk + 1)) {
            Some((before, after)) if before == after => ChunkStarts::None,
            Some((before, after)) if after - before == rows.end - rows.start => ChunkStarts::All,
            _ => ChunkStarts::Unknown,
        }
    }

    /// Counts the entries before each chunk as far as possible. Returns false for a contradiction.
    fn count_entries(&mut self) -> bool {
        if self.info.one_row_each() {
            return true;
        }
        let chunks = self.info.rows.div_ceil(RANK_ROWS);
        self.starts = (0..chunks).map(|chunk| self.count_starts(self.rows_of(chunk))).collect();
        self.before = vec![None; self.starts.len() + 1];
        let mut agree = self.set_before(0, 0) && self.set_before(chunks, self.info.entries);
        // Ranks and samples are redundant, and only used if bits are unreadable.
        if self.starts.iter().any(Option::is_none) {
            agree = agree && self.use_ranks() && self.use_samples();
        }
        agree && self.propagate() && self.is_plausible()
    }

    /// Sets the number of entries before a chunk. Returns false if a different number is known.
    fn set_before(&mut self, chunk: u64, count: u64) -> bool {
        match self.before.get_mut(to_usize(chunk)) {
            Some(place) => *place.get_or_insert(count) == count,
            None => false,
        }
    }

    fn use_ranks(&mut self) -> bool {
        (0..self.starts.len() as u64).all(|chunk| match self.pages.number(RANKS, chunk, 4) {
            Some(rank) => self.set_before(chunk, rank),
            None => true,
        })
    }

    /// A sample is the row at which an entry starts. The entries from the start of the chunk up to
    /// that row are counted and subtracted.
    fn use_samples(&mut self) -> bool {
        (0..self.info.entries.div_ceil(SAMPLE_ENTRIES)).all(|sample| {
            let Some(row) = self.pages.number(SAMPLES, sample, 8) else { return true };
            if row >= self.info.rows {
                return false;
            }
            let chunk = row / RANK_ROWS;
            let Some(counted) = self.count_starts(chunk * RANK_ROWS..row) else { return true };
            match (sample * SAMPLE_ENTRIES).checked_sub(counted) {
                Some(before) => self.set_before(chunk, before),
                None => false,
            }
        })
    }

    /// Extends known counts over readable chunks, forwards and backwards.
    fn propagate(&mut self) -> bool {
        let chunks = self.starts.len() as u64;
        let forwards = (0..chunks).all(|chunk| match (self.started_before(chunk), self.started_in(chunk)) {
            (Some(before), Some(count)) => self.set_before(chunk + 1, before + count),
            _ => true,
        });
        forwards
            && (0..chunks).rev().all(|chunk| match (self.started_before(chunk + 1), self.started_in(chunk)) {
                (Some(after), Some(count)) => {
                    after.checked_sub(count).is_some_and(|before| self.set_before(chunk, before))
                }
                _ => true,
            })
    }

    /// No chunk may start a negative number of entries, or more than it has rows.
    fn is_plausible(&self) -> bool {
        let first = self.before.get(1).copied().flatten();
        let chunks = 0..self.starts.len() as u64;
        first != Some(0)
            && chunks.into_iter().all(|chunk| {
                let rows = self.rows_of(chunk);
                match self.started_before(chunk).zip(self.started_before(chunk + 1)) {
                    Some((before, after)) => (before..=before + (rows.end - rows.start)).contains(&after),
                    None => true,
                }
            })
    }

    /// The number of rows in a range that start an entry. The range starts at a multiple of 64.
    fn count_starts(&mut self, rows: Range<u64>) -> Option<u64> {
        let mut count = 0;
        for word in rows.start / 64..rows.end.div_ceil(64) {
            let left = rows.end - word * 64;
            let mask = if left < 64 { (1 << left) - 1 } else { u64::MAX };
            count += u64::from((self.pages.number(STARTS, word, 8)? & mask).count_ones());
        }
        Some(count)
    }
}
