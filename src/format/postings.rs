//! A postings file: for each fingerprint of table 0, in order, its ids in ascending order; and the fingerprint itself
//! where that is wider than 64 bits.

use super::Flaw;
use super::paged::{ATTRIBUTES, Footer};
use crate::layout::is_wide;

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPR\r\n\x1a\n";
/// Index of each section.
pub(crate) const IDS: usize = 0;
pub(crate) const STARTS: usize = 1;
pub(crate) const SAMPLES: usize = 2;
pub(crate) const RANKS: usize = 3;
pub(crate) const VALUES: usize = 4;

/// Names of the sections, in order.
pub(crate) const fn sections(width: u32) -> &'static [&'static str] {
    if is_wide(width) {
        &["ids", "starts", "samples", "ranks", "values"]
    } else {
        &["ids", "starts", "samples", "ranks"]
    }
}

/// Every so many entries, `samples` tells the entry's first row.
pub(crate) const SAMPLE_ENTRIES: u64 = 512;

/// Every so many rows, `ranks` tells how many entries have started before.
pub(crate) const RANK_ROWS: u64 = 4096;

/// What the footer of a postings file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowsInfo {
    pub(crate) entries: u64,
    pub(crate) rows: u64,
    /// Wrapping sum of the rows' 64-bit hashes.
    pub(crate) row_sum: u64,
    /// The smallest id; stored ids are relative to it where they take four bytes.
    pub(crate) smallest_id: u64,
    pub(crate) largest_id: u64,
}

impl RowsInfo {
    /// Bytes of a stored id: 4 where the ids span less than 2^32, else 8.
    pub(crate) fn id_bytes(&self) -> u64 {
        if self.largest_id - self.smallest_id <= u64::from(u32::MAX) { 4 } else { 8 }
    }

    /// What is taken off each id before it is stored.
    pub(crate) fn id_base(&self) -> u64 {
        if self.id_bytes() == 4 { self.smallest_id } else { 0 }
    }

    /// Whether every fingerprint has one id, so that entry and row numbers are the same.
    pub(crate) fn one_row_each(&self) -> bool {
        self.rows == self.entries
    }

    /// The lengths of the sections, in order.
    pub(crate) fn section_lens(&self, width: u32) -> Vec<u64> {
        let ids = self.rows * self.id_bytes();
        let mut lens = if self.one_row_each() {
            vec![ids, 0, 0, 0]
        } else {
            let samples = self.entries.div_ceil(SAMPLE_ENTRIES) * 8;
            vec![ids, self.rows.div_ceil(64) * 8, samples, self.rows.div_ceil(RANK_ROWS) * 4]
        };
        if is_wide(width) {
            lens.push(self.entries * u64::from(width / 8));
        }
        lens
    }

    pub(crate) fn attributes(&self) -> [u64; ATTRIBUTES] {
        [self.entries, self.rows, self.row_sum, self.smallest_id, self.largest_id, 0, 0, 0]
    }

    /// Reads a footer that stands at `offset`, and checks its sections against its counts.
    pub(crate) fn from_footer(footer: &Footer, offset: u64, width: u32) -> Result<Self, Flaw> {
        let [entries, rows, row_sum, smallest_id, largest_id, zeros @ ..] = footer.attributes;
        let limit = footer.file_len();
        if entries > rows || rows > limit || smallest_id > largest_id {
            let found = format!("{entries} entries, {rows} rows, ids {smallest_id} to {largest_id}");
            return Err(Flaw::new("footer", offset, "entries <= rows and ids in order", found));
        }
        Flaw::unless_equal("footer", offset, [0; 3], zeros)?;
        let info = Self { entries, rows, row_sum, smallest_id, largest_id };
        let lens: Vec<u64> = footer.sections.iter().map(|section| section.len_bytes).collect();
        Flaw::unless_equal("footer", offset, &info.section_lens(width), &lens)?;
        Ok(info)
    }
}

/// The hash of a row that [`RowsInfo::row_sum`] adds up.
pub(crate) fn row_hash(fingerprint_hash: u64, id: u64) -> u64 {
    crate::fingerprint::mix64(fingerprint_hash ^ crate::fingerprint::mix64(id.wrapping_add(1)))
}
