//! A postings file: for each fingerprint of table 0, in order, its ids in ascending order. If the
//! tables hold only numbers of fingerprints, the postings file also holds the fingerprints.

use super::Flaw;
use super::filter::{FILTER_BLOCK_BYTES, MAX_BLOCKS, blocks_for};
use super::paged::{ATTRIBUTES, Footer};
use crate::fingerprint::{Payload, mix64};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPR\r\n\x1a\n";
/// Index of each section.
pub(crate) const IDS: usize = 0;
pub(crate) const STARTS: usize = 1;
pub(crate) const SAMPLES: usize = 2;
pub(crate) const RANKS: usize = 3;
pub(crate) const FILTER: usize = 4;
pub(crate) const VALUES: usize = 5;

/// Names of the sections, in order.
pub(crate) const fn sections(width: u32) -> &'static [&'static str] {
    match Payload::of_width(width) {
        Payload::Whole => &["ids", "starts", "samples", "ranks", "filter"],
        Payload::Numbered { .. } => &["ids", "starts", "samples", "ranks", "filter", "values"],
    }
}

/// `samples` stores the first row of every entry whose number is a multiple of this.
pub(crate) const SAMPLE_ENTRIES: u64 = 512;

/// `ranks` stores, for every row whose number is a multiple of this, the number of entries that
/// start before it.
pub(crate) const RANK_ROWS: u64 = 4096;

/// The content of a postings file's footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostingsInfo {
    pub(crate) entries: u64,
    pub(crate) rows: u64,
    /// Wrapping sum of the rows' 64-bit hashes.
    pub(crate) row_sum: u64,
    /// The smallest id. Ids stored in four bytes are relative to it.
    pub(crate) smallest_id: u64,
    pub(crate) largest_id: u64,
    /// Blocks of the filter of ids. Without any, every id between the smallest and the largest one
    /// may be there.
    pub(crate) filter_blocks: u64,
}

/// With fewer rows a filter would take more than it saves.
const MIN_FILTERED_ROWS: u64 = 4096;

impl PostingsInfo {
    /// Bytes of a stored id: 4 if the ids span less than 2^32, otherwise 8.
    pub(crate) fn id_bytes(&self) -> u64 {
        if self.largest_id - self.smallest_id <= u64::from(u32::MAX) { 4 } else { 8 }
    }

    /// The number that is subtracted from each id before it is stored.
    pub(crate) fn id_base(&self) -> u64 {
        if self.id_bytes() == 4 { self.smallest_id } else { 0 }
    }

    /// Chooses the number of blocks of the filter, within so many bytes of memory. Few rows have no
    /// filter, and neither have ids that fill half of their range or more.
    pub(crate) fn with_filter(self, most_bytes: u64) -> Self {
        let is_dense = (self.largest_id - self.smallest_id) / 2 < self.rows;
        let blocks = if self.rows < MIN_FILTERED_ROWS || is_dense { 0 } else { blocks_for(self.rows) };
        let fits = blocks <= MAX_BLOCKS.min(most_bytes / FILTER_BLOCK_BYTES);
        Self { filter_blocks: if fits { blocks } else { 0 }, ..self }
    }

    /// Whether every fingerprint has exactly one id. Then entry and row numbers are the same.
    pub(crate) fn one_row_each(&self) -> bool {
        self.rows == self.entries
    }

    /// The lengths of the sections, in order.
    pub(crate) fn section_lens(&self, width: u32) -> Vec<u64> {
        let ids = self.rows * self.id_bytes();
        let filter = self.filter_blocks * FILTER_BLOCK_BYTES;
        let mut lens = if self.one_row_each() {
            vec![ids, 0, 0, 0, filter]
        } else {
            let samples = self.entries.div_ceil(SAMPLE_ENTRIES) * 8;
            vec![ids, self.rows.div_ceil(64) * 8, samples, self.rows.div_ceil(RANK_ROWS) * 4, filter]
        };
        if !Payload::of_width(width).is_whole() {
            lens.push(self.entries * u64::from(width / 8));
        }
        lens
    }

    pub(crate) fn attributes(&self) -> [u64; ATTRIBUTES] {
        let Self { entries, rows, row_sum, smallest_id, largest_id, filter_blocks } = *self;
        [entries, rows, row_sum, smallest_id, largest_id, filter_blocks, 0, 0]
    }

    /// Reads the footer at `offset`, and checks its sections against its counts.
    pub(crate) fn from_footer(footer: &Footer, offset: u64, width: u32) -> Result<Self, Flaw> {
        let [entries, rows, row_sum, smallest_id, largest_id, filter_blocks, zeros @ ..] = footer.attributes;
        let limit = footer.file_len();
        if entries > rows || rows > limit || smallest_id > largest_id {
            let found = format!("{entries} entries, {rows} rows, ids {smallest_id} to {largest_id}");
            return Err(Flaw::new("footer", offset, "entries <= rows and ids in order", found));
        }
        if filter_blocks > limit.min(MAX_BLOCKS) {
            return Err(Flaw::new("footer", offset, "a filter within the file", filter_blocks));
        }
        Flaw::unless_equal("footer", offset, [0; 2], zeros)?;
        let info = Self { entries, rows, row_sum, smallest_id, largest_id, filter_blocks };
        let lens: Vec<u64> = footer.sections.iter().map(|section| section.len_bytes).collect();
        Flaw::unless_equal("footer", offset, &info.section_lens(width), &lens)?;
        Ok(info)
    }
}

/// The hash of a row. [`PostingsInfo::row_sum`] is the sum of these hashes.
pub(crate) fn row_hash(fingerprint_hash: u64, id: u64) -> u64 {
    mix64(fingerprint_hash ^ mix64(id.wrapping_add(1)))
}
