//! The postings of a run that may be damaged: which row belongs to which entry.
//!
//! An entry's rows begin at its set bit of `starts`. Where bits cannot be read, rows are counted
//! from both ends and from whatever `ranks` and `samples` tell, chunk by chunk; a row is given to an
//! entry only where that leaves no other.

use std::ops::Range;

use super::findings::{Findings, Kind};
use super::gaps::Fingerprints;
use super::pages::{Opened, Pages};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::paged::Footer;
use crate::format::postings::{
    IDS, PostingsInfo, RANK_ROWS, RANKS, SAMPLE_ENTRIES, SAMPLES, STARTS, row_hash,
};
use crate::run::Postings as PostingsFile;
use crate::storage::Storage;
use crate::util::cast::to_usize;

/// A row as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) entry: Option<u64>,
    pub(super) id: Option<u64>,
}

/// An open postings file. Holds two numbers for every 4,096 rows.
#[derive(Debug)]
pub(super) struct Postings {
    pages: Pages,
    info: PostingsInfo,
    /// How many entries start in each chunk of rows; empty where every entry has one row.
    starts: Vec<Option<u64>>,
    /// How many entries start before each chunk, and before the end.
    before: Vec<Option<u64>>,
}

/// What became of opening a postings file.
pub(super) enum Opening {
    Done(Postings),
    /// The footer is lost, and with it what the stored ids are relative to.
    WithoutFooter(Pages),
    Gone,
}

impl Postings {
    /// Opens the postings file of a run of fingerprints of `width` bits.
    pub(super) fn open(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        findings: &mut Findings,
    ) -> Result<Opening> {
        let spec = PostingsFile::file_spec(manifest.database_id, record.run, manifest.width);
        Ok(match Pages::open(storage, &spec, record.postings_file, findings)? {
            Opened::Whole(pages) => match Self::of(pages, record, findings) {
                Some(postings) => Opening::Done(postings),
                None => Opening::Gone,
            },
            Opened::WithoutFooter(pages) => Opening::WithoutFooter(pages),
            Opened::Gone => Opening::Gone,
        })
    }

    /// Reads where rows start. `None` where the file contradicts itself or the manifest.
    pub(super) fn of(pages: Pages, record: &RunRecord, findings: &mut Findings) -> Option<Self> {
        let name = pages.name.clone();
        let info = PostingsInfo::from_footer(&pages.footer, 0, record.layout.width()).ok();
        let info = info.filter(|info| (info.entries, info.rows) == (record.entries, record.rows));
        let mut postings = Self { pages, info: info?, starts: Vec::new(), before: Vec::new() };
        if postings.place() {
            return Some(postings);
        }
        findings.add(Kind::Damaged, &name, "starts, samples and ranks contradict each other");
        None
    }

    /// The footers that a postings file may have had, given what ids may be relative to.
    pub(super) fn footers(record: &RunRecord, bases: &[u64]) -> Vec<Footer> {
        let footer = |smallest_id: u64, largest_id: u64| {
            let RunRecord { entries, rows, row_sum, .. } = *record;
            let info = PostingsInfo { entries, rows, row_sum, smallest_id, largest_id };
            let mut footer = Footer::plan(&info.section_lens(record.layout.width()));
            footer.attributes = info.attributes();
            footer
        };
        let span = u64::from(u32::MAX);
        let near = bases.iter().map(|&base| footer(base, base.saturating_add(span)));
        near.chain([footer(0, u64::MAX)]).collect()
    }

    /// The largest id, if all can be read.
    pub(super) fn largest_stored(&mut self) -> Option<u64> {
        let width = self.info.id_bytes();
        (0..self.info.rows).try_fold(0, |largest, row| Some(self.pages.number(IDS, row, width)?.max(largest)))
    }

    /// The sum over all rows, if all can be told.
    pub(super) fn row_sum<F: Fingerprint>(
        &mut self,
        fingerprints: &mut Fingerprints<F>,
    ) -> Result<Option<u64>> {
        let mut sum = Some(0u64);
        self.for_each(&mut |Posting { entry, id }| {
            let row = entry.and_then(|entry| fingerprints.at(entry)).zip(id);
            let hash = row.map(|(fingerprint, id)| row_hash(fingerprint.hash64(), id));
            sum = sum.zip(hash).map(|(sum, hash)| sum.wrapping_add(hash));
            Ok(())
        })?;
        Ok(sum)
    }

    /// Hands out every row in order.
    pub(super) fn for_each(&mut self, visit: &mut dyn FnMut(Posting) -> Result<()>) -> Result<()> {
        let width = self.info.id_bytes();
        for chunk in 0..self.info.rows.div_ceil(RANK_ROWS) {
            let mut started = self.started_before(chunk);
            let how = self.starts_of(chunk);
            for row in self.rows_of(chunk) {
                let starts = match how {
                    How::AsStored => {
                        self.pages.number(STARTS, row / 64, 8).map(|word| word >> (row % 64) & 1)
                    }
                    How::Each => Some(1),
                    How::None => Some(0),
                    How::Unknown => None,
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

    pub(super) fn tell_unreadable(&self, findings: &mut Findings) {
        self.pages.tell_unreadable(findings);
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

    /// How to tell which rows of a chunk start an entry.
    fn starts_of(&self, chunk: u64) -> How {
        if self.info.one_row_each() {
            return How::Each;
        }
        if self.starts.get(to_usize(chunk)).copied().flatten().is_some() {
            return How::AsStored;
        }
        let rows = self.rows_of(chunk);
        match self.started_before(chunk).zip(self.started_before(chunk + 1)) {
            Some((before, after)) if before == after => How::None,
            Some((before, after)) if after - before == rows.end - rows.start => How::Each,
            _ => How::Unknown,
        }
    }

    /// Counts the entries before each chunk, as far as that can be told. False for a contradiction.
    fn place(&mut self) -> bool {
        if self.info.one_row_each() {
            return true;
        }
        let chunks = self.info.rows.div_ceil(RANK_ROWS);
        self.starts = (0..chunks).map(|chunk| self.count_starts(self.rows_of(chunk))).collect();
        self.before = vec![None; self.starts.len() + 1];
        let mut agree = self.know(0, 0) && self.know(chunks, self.info.entries);
        // What only makes look-ups faster is asked where the bits themselves do not tell.
        if self.starts.iter().any(Option::is_none) {
            agree = agree && self.know_ranks() && self.know_samples();
        }
        agree && self.count_from_known() && self.is_plausible()
    }

    /// Notes how many entries start before a chunk. False where something else is known already.
    fn know(&mut self, chunk: u64, count: u64) -> bool {
        match self.before.get_mut(to_usize(chunk)) {
            Some(place) => *place.get_or_insert(count) == count,
            None => false,
        }
    }

    fn know_ranks(&mut self) -> bool {
        (0..self.starts.len() as u64).all(|chunk| match self.pages.number(RANKS, chunk, 4) {
            Some(rank) => self.know(chunk, rank),
            None => true,
        })
    }

    /// A sample tells at which row an entry starts: counted back to the start of the chunk, how many
    /// entries are before that.
    fn know_samples(&mut self) -> bool {
        (0..self.info.entries.div_ceil(SAMPLE_ENTRIES)).all(|sample| {
            let Some(row) = self.pages.number(SAMPLES, sample, 8) else { return true };
            if row >= self.info.rows {
                return false;
            }
            let chunk = row / RANK_ROWS;
            let Some(counted) = self.count_starts(chunk * RANK_ROWS..row) else { return true };
            match (sample * SAMPLE_ENTRIES).checked_sub(counted) {
                Some(before) => self.know(chunk, before),
                None => false,
            }
        })
    }

    /// Carries counts on over chunks that can be read, forwards and backwards.
    fn count_from_known(&mut self) -> bool {
        let chunks = self.starts.len() as u64;
        let forwards = (0..chunks).all(|chunk| match (self.started_before(chunk), self.started_in(chunk)) {
            (Some(before), Some(count)) => self.know(chunk + 1, before + count),
            _ => true,
        });
        forwards
            && (0..chunks).rev().all(|chunk| match (self.started_before(chunk + 1), self.started_in(chunk)) {
                (Some(after), Some(count)) => {
                    after.checked_sub(count).is_some_and(|before| self.know(chunk, before))
                }
                _ => true,
            })
    }

    fn started_in(&self, chunk: u64) -> Option<u64> {
        self.starts.get(to_usize(chunk)).copied().flatten()
    }

    /// No chunk starts fewer entries than none, or more than it has rows.
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

    /// How many of some rows of a chunk start an entry. The range starts at a multiple of 64.
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

/// How to tell which rows of a chunk start an entry.
#[derive(Clone, Copy)]
enum How {
    AsStored,
    Each,
    None,
    Unknown,
}
