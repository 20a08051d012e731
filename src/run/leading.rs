//! The leading bits of entries in tables that store numbers: what directory and `hi` words determine.

use std::cmp::Ordering;

use super::hi_words::HiWords;
use crate::fingerprint::{Fingerprint, HI_BITS, Stored, mix64};
use crate::util::cast::to_u32;

/// The leading bits of a fingerprint in a table's order: its bucket, of up to 32 bits, and its `hi` words, of
/// up to 96. The rest is zero, so these numbers are in the table's order, ties aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Leading(u128);

/// The leading bits of an entry, which it is compared by, and its number in natural order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeadingEntry {
    pub(crate) leading: Leading,
    pub(crate) number: u32,
}

impl LeadingEntry {
    /// A hash of both.
    #[expect(clippy::cast_possible_truncation, reason = "each half of the leading bits")]
    pub(crate) fn hash(self) -> u64 {
        let halves = [(self.leading.0 >> 64) as u64, self.leading.0 as u64];
        halves.iter().fold(u64::from(self.number), |hash, half| mix64(hash ^ half))
    }
}

impl PartialEq for LeadingEntry {
    fn eq(&self, other: &Self) -> bool {
        self.leading == other.leading
    }
}

impl Eq for LeadingEntry {}

impl PartialOrd for LeadingEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LeadingEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.leading.cmp(&other.leading)
    }
}

impl Leading {
    /// The leading bits of a value in a table's order, for a directory of so many bits.
    pub(crate) fn of<F: Fingerprint>(permuted: F, directory_bits: u32) -> Self {
        let piece = |at: u32| u128::from(permuted.bits(HI_BITS * at, HI_BITS));
        let bits = (0..4).fold(0, |bits, at| bits << HI_BITS | piece(at));
        Self(bits).cut::<F>(directory_bits)
    }

    /// The leading bits of an entry with these `hi` words in a bucket.
    fn of_words(bucket: usize, directory_bits: u32, words: &[u32]) -> Self {
        let start = u128::BITS - directory_bits;
        let shifts = (0..start).rev().skip(HI_BITS as usize - 1).step_by(HI_BITS as usize);
        let words = words.iter().zip(shifts).map(|(&word, shift)| u128::from(word) << shift);
        Self(words.fold((bucket as u128) << start, |bits, word| bits | word))
    }

    /// The leading bits of the entries of a bucket.
    pub(super) fn of_bucket(
        bucket: usize,
        directory_bits: u32,
        words: HiWords<'_>,
    ) -> impl Iterator<Item = Self> {
        words.words.chunks_exact(words.each).map(move |words| Self::of_words(bucket, directory_bits, words))
    }

    /// What is left of them for a directory of fewer bits.
    pub(super) fn cut<F: Fingerprint>(self, directory_bits: u32) -> Self {
        let kept = directory_bits + HI_BITS * to_u32(F::PAYLOAD.hi_words());
        Self(self.0 & !u128::MAX.checked_shr(kept).unwrap_or_default())
    }

    /// The bucket.
    #[expect(clippy::cast_possible_truncation, reason = "a directory has at most 32 bits")]
    pub(super) fn bucket(self, directory_bits: u32) -> u64 {
        (self.0 >> (u128::BITS - directory_bits)) as u64
    }

    /// A `hi` word.
    #[expect(clippy::cast_possible_truncation, reason = "the word is what is left")]
    pub(super) fn hi_word(self, directory_bits: u32, word: u32) -> u32 {
        (self.0 >> (u128::BITS - directory_bits - HI_BITS * (word + 1))) as u32
    }
}
