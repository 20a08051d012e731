//! The leading bits of entries in tables that store numbers: what directory and `hi` words determine.

use std::cmp::Ordering;

use crate::fingerprint::{Fingerprint, HI_BITS, Stored};
use crate::util::cast::{to_u32, to_usize};

/// The leading bits of a fingerprint in a table's order: its bucket, of up to 32 bits, and its `hi` words, of
/// up to 96. The rest is zero, so these numbers are in the table's order, ties aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leading {
    // Two halves, so that an entry has 24 bytes.
    upper: u64,
    lower: u64,
}

/// The leading bits of an entry, and its number in natural order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LeadingEntry {
    pub(crate) leading: Leading,
    pub(crate) number: u32,
}

impl PartialOrd for Leading {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Leading {
    fn cmp(&self, other: &Self) -> Ordering {
        self.all().cmp(&other.all())
    }
}

impl Leading {
    /// Those of a value in a table's order, of which 128 bits are enough, for a directory of so many bits.
    #[inline]
    pub(crate) fn of<F: Fingerprint>(permuted: F, directory_bits: u32) -> Self {
        let kept = directory_bits + HI_BITS * to_u32(F::PAYLOAD.hi_words());
        let all = u128::from(permuted.bits(0, u64::BITS)) << u64::BITS
            | u128::from(permuted.bits(u64::BITS, u64::BITS));
        let cut = all & !u128::MAX.checked_shr(kept).unwrap_or_default();
        Self { upper: upper_half(cut), lower: upper_half(cut << u64::BITS) }
    }

    #[inline]
    fn all(self) -> u128 {
        u128::from(self.upper) << u64::BITS | u128::from(self.lower)
    }

    /// The first `bits` of them, at most 32.
    #[inline]
    pub(crate) fn piece(self, bits: u32) -> usize {
        to_usize(self.bucket(bits))
    }

    /// So many bits after the first `bits`.
    #[inline]
    pub(crate) fn after(self, bits: u32, count: u32) -> u64 {
        upper_half(self.all() << bits) >> (u64::BITS - count)
    }

    /// The bucket.
    #[inline]
    pub(super) fn bucket(self, directory_bits: u32) -> u64 {
        self.upper.checked_shr(u64::BITS - directory_bits).unwrap_or_default()
    }

    /// A `hi` word.
    #[inline]
    pub(super) fn hi_word(self, directory_bits: u32, word: u32) -> u32 {
        to_u32(to_usize(upper_half(self.all() << (directory_bits + HI_BITS * word)) >> HI_BITS))
    }
}

fn upper_half(bits: u128) -> u64 {
    (bits >> u64::BITS) as u64
}
