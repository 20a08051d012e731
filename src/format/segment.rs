//! A segment: the distinct fingerprints of a run in one table's order, in planes.
//!
//! With D directory bits, entry `e` of bucket `c` is the D bits of `c`, then `hi[e]` (32 bits), then
//! `lo[e]` (what remains of 64 bits). Of wider fingerprints one or three words of `hi` are here, and the number of
//! the fingerprint in natural order; the whole of it stands in the postings file.

use super::Flaw;
use super::paged::{ATTRIBUTES, Footer};
use crate::layout::cost::{MAX_DIRECTORY_BITS, MIN_DIRECTORY_BITS};
use crate::layout::{HI_BITS, hi_words, is_wide};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPS\r\n\x1a\n";
/// Index of the first sections.
pub(crate) const DIRECTORY: usize = 0;
pub(crate) const HI: usize = 1;
/// The most distinct fingerprints of a run: their indexes, and the end of the last bucket, are u32.
pub(crate) const MAX_ENTRIES: u64 = u32::MAX as u64;

/// Index of the section behind the `hi` plane: `lo`, or `entry`.
pub(crate) const REST: usize = 2;

/// Names of the sections, in order.
pub(crate) const fn sections(width: u32) -> &'static [&'static str; 3] {
    if is_wide(width) { &["directory", "hi", "entry"] } else { &["directory", "hi", "lo"] }
}

/// What the footer of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentInfo {
    pub(crate) entries: u64,
    /// Wrapping sum of the fingerprints' 64-bit hashes, taken in natural order: the same in every
    /// table of a run.
    pub(crate) fingerprint_sum: u64,
    /// Sum over the buckets of the square of their entries: how skewed the prefix is.
    pub(crate) bucket_squares: u64,
    pub(crate) directory_bits: u32,
}

impl SegmentInfo {
    /// Bits of a value in the `lo` plane of 64-bit fingerprints.
    pub(crate) fn lo_bits(directory_bits: u32, width: u32) -> u32 {
        width - HI_BITS - directory_bits
    }

    /// Bytes of a value in the `lo` plane: 1, 2 or 4.
    pub(crate) fn lo_bytes(directory_bits: u32, width: u32) -> u64 {
        match Self::lo_bits(directory_bits, width) {
            0..=8 => 1,
            9..=16 => 2,
            _ => 4,
        }
    }

    /// The lengths of the sections of a table, in order.
    pub(crate) fn section_lens(entries: u64, directory_bits: u32, width: u32, table: u32) -> [u64; 3] {
        let rest_bytes = match (is_wide(width), table) {
            (false, _) => Self::lo_bytes(directory_bits, width),
            // In natural order every entry is its own number.
            (true, 0) => 0,
            (true, _) => 4,
        };
        [((1 << directory_bits) + 1) * 4, entries * 4 * hi_words(width) as u64, entries * rest_bytes]
    }

    pub(crate) fn attributes(&self) -> [u64; ATTRIBUTES] {
        [self.entries, self.fingerprint_sum, self.bucket_squares, u64::from(self.directory_bits), 0, 0, 0, 0]
    }

    /// Reads the footer of a table's segment that stands at `offset`, and checks its sections against its
    /// counts.
    pub(crate) fn from_footer(footer: &Footer, offset: u64, width: u32, table: u32) -> Result<Self, Flaw> {
        let [entries, fingerprint_sum, bucket_squares, directory_bits, zeros @ ..] = footer.attributes;
        let flaw = |expected: &str, found: u64| Flaw::new("footer", offset, expected, found);
        if entries > MAX_ENTRIES {
            return Err(flaw("at most 2^32 - 1 entries", entries));
        }
        let directory_bits = u32::try_from(directory_bits)
            .ok()
            .filter(|bits| (MIN_DIRECTORY_BITS..=MAX_DIRECTORY_BITS).contains(bits))
            .ok_or_else(|| flaw("8 to 28 directory bits", directory_bits))?;
        Flaw::unless_equal("footer", offset, [0; 4], zeros)?;
        let lens: Vec<u64> = footer.sections.iter().map(|section| section.len_bytes).collect();
        let expected = Self::section_lens(entries, directory_bits, width, table);
        Flaw::unless_equal("footer", offset, &expected[..], &lens)?;
        Ok(Self { entries, fingerprint_sum, bucket_squares, directory_bits })
    }
}
