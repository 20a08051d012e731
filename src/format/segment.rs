//! A segment: the distinct fingerprints of a run in one table's order, in planes.
//!
//! With D directory bits, an entry in bucket `c` consists of the D bits of `c`, then its `hi`
//! words, then its value in the last section: the remaining bits (`lo`), or the number of the
//! fingerprint in natural order (`entry`). See [`Payload`].

use super::Flaw;
use super::paged::{ATTRIBUTES, Footer};
use crate::fingerprint::{HI_BITS, Payload};
use crate::layout::cost::{MAX_DIRECTORY_BITS, MIN_DIRECTORY_BITS};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPS\r\n\x1a\n";
/// Index of each section.
pub(crate) const DIRECTORY: usize = 0;
pub(crate) const HI: usize = 1;
/// `lo` or `entry`.
pub(crate) const REST: usize = 2;
/// The most distinct fingerprints of a run: their indexes, and the end of the last bucket, are u32.
pub(crate) const MAX_ENTRIES: u64 = u32::MAX as u64;

/// Names of the sections, in order.
pub(crate) const fn sections(width: u32) -> &'static [&'static str; 3] {
    match Payload::of_width(width) {
        Payload::Whole => &["directory", "hi", "lo"],
        Payload::Numbered { .. } => &["directory", "hi", "entry"],
    }
}

/// The values in the last section of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The `bits` bits of an entry after its `hi` word, in 1, 2 or 4 bytes.
    Lo { bits: u32, bytes: usize },
    /// The number of an entry in natural order, in 4 bytes.
    Number,
    /// Nothing: table 0 has the natural order, so an entry's number is its index.
    Implied,
}

impl Rest {
    /// The values of table `table` of fingerprints of `width` bits.
    pub(crate) const fn of(width: u32, directory_bits: u32, table: u32) -> Self {
        match (Payload::of_width(width), table) {
            (Payload::Whole, _) => {
                let bits = width - HI_BITS - directory_bits;
                let bytes = match bits {
                    0..=8 => 1,
                    9..=16 => 2,
                    _ => 4,
                };
                Self::Lo { bits, bytes }
            }
            (Payload::Numbered { .. }, 0) => Self::Implied,
            (Payload::Numbered { .. }, _) => Self::Number,
        }
    }

    /// Bytes per entry.
    pub(crate) const fn entry_bytes(self) -> usize {
        match self {
            Self::Lo { bytes, .. } => bytes,
            Self::Number => 4,
            Self::Implied => 0,
        }
    }
}

/// The content of a segment's footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentInfo {
    pub(crate) entries: u64,
    /// Wrapping sum of the fingerprints' 64-bit hashes, in natural order: the same in every table
    /// of a run.
    pub(crate) fingerprint_sum: u64,
    /// Sum over the buckets of the square of their entries: a measure of how skewed the prefix is.
    pub(crate) bucket_squares: u64,
    pub(crate) directory_bits: u32,
}

impl SegmentInfo {
    /// The lengths of the sections of a table, in order.
    pub(crate) fn section_lens(entries: u64, directory_bits: u32, width: u32, table: u32) -> [u64; 3] {
        let hi_bytes = 4 * Payload::of_width(width).hi_words() as u64;
        let rest_bytes = Rest::of(width, directory_bits, table).entry_bytes() as u64;
        [((1 << directory_bits) + 1) * 4, entries * hi_bytes, entries * rest_bytes]
    }

    pub(crate) fn attributes(&self) -> [u64; ATTRIBUTES] {
        [self.entries, self.fingerprint_sum, self.bucket_squares, u64::from(self.directory_bits), 0, 0, 0, 0]
    }

    /// Reads the footer at `offset` of a table's segment, and checks its sections against its
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
