//! The `hi` words of entries, and searches in them.

use std::convert::Infallible;
use std::ops::Range;

use crate::fingerprint::{Fingerprint, HI_BITS};
use crate::util::cast::{to_u32, to_usize};
use crate::util::search;

/// A `hi` word of a value in a table's order.
#[inline]
pub(super) fn hi_word<F: Fingerprint>(permuted: F, directory_bits: u32, word: usize) -> u32 {
    to_u32(to_usize(permuted.bits(directory_bits + HI_BITS * to_u32(word), HI_BITS)))
}

/// The likely index of a `hi` word in a bucket of `len` entries: fingerprints are roughly uniform
/// within a bucket.
#[inline]
pub(super) fn likely_place(len: usize, hi: u32) -> usize {
    to_usize((len as u64 * u64::from(hi)) >> HI_BITS)
}

/// The `hi` words of neighbouring entries.
#[derive(Clone, Copy)]
pub(crate) struct HiWords<'a> {
    pub(super) words: &'a [u32],
    /// Words per entry.
    pub(super) each: usize,
}

/// How far from the likely place a search looks first: half a cache line.
pub(super) const NEAR: usize = 8;

impl HiWords<'_> {
    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.words.len() / self.each
    }

    /// The first word of an entry.
    #[inline]
    pub(crate) fn first(&self, index: usize) -> u32 {
        self.words.get(index * self.each).copied().unwrap_or_default()
    }

    /// The first of some entries for whose first word `before` is false, or the end. Entries for
    /// which it is true must come first.
    pub(crate) fn partition(&self, range: Range<usize>, before: impl Fn(u32) -> bool) -> usize {
        let Ok(place) = search::partition(range, |at| Ok::<_, Infallible>(before(self.first(at))));
        place
    }

    /// The same over all entries. The search starts at a likely place.
    pub(super) fn partition_near(&self, likely: usize, before: impl Fn(u32) -> bool) -> usize {
        let is_before = |at| Ok::<_, Infallible>(before(self.first(at)));
        let Ok(place) = search::partition_near(self.len(), (likely, NEAR), is_before);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_likely_place_does_not_change_the_result(
            mut words in prop::collection::vec(0u32..60, 0..80), wanted in 0u32..60, likely: usize,
        ) {
            words.sort_unstable();
            let likely = likely % (words.len() + 1);
            for each in [1, 3] {
                let spread: Vec<u32> = words.iter().flat_map(|&word| [word, 0, 99].into_iter().take(each)).collect();
                let found = HiWords { words: &spread, each }.partition_near(likely, |word| word < wanted);
                prop_assert_eq!(found, words.partition_point(|&word| word < wanted));
            }
        }

        #[test]
        fn damaged_words_give_a_place_within_bounds(
            words in prop::collection::vec(0u32..9, 0..40), wanted in 0u32..9, likely: usize,
        ) {
            let likely = likely % (words.len() + 1);
            let found = HiWords { words: &words, each: 1 }.partition_near(likely, |word| word < wanted);
            prop_assert!(found <= words.len());
        }
    }
}
