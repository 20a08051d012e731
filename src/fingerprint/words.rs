//! Fingerprints as rows of 64-bit words, the least significant word first: their form in the
//! interfaces for other languages.

use super::Fingerprint;

/// The number of words of one fingerprint.
#[must_use]
pub const fn words_of<F: Fingerprint>() -> usize {
    F::LEN_BYTES / 8
}

/// The fingerprints whose words stand in an array, one after the other.
pub fn fingerprints<F: Fingerprint>(words: &[u64]) -> impl ExactSizeIterator<Item = F> {
    words.chunks_exact(words_of::<F>()).map(F::from_le_words)
}

/// The words of one fingerprint.
pub fn words<F: Fingerprint>(fingerprint: F) -> impl ExactSizeIterator<Item = u64> {
    (0..F::BITS / 64).map(move |index| fingerprint.le_word(index))
}

/// A fingerprint whose width its type or the value has.
pub trait OfWords: Copy {
    /// The fingerprint of other words, of the same width.
    #[must_use]
    fn of_words(self, words: &[u64]) -> Self;
}

impl<F: Fingerprint> OfWords for F {
    fn of_words(self, words: &[u64]) -> Self {
        F::from_le_words(words)
    }
}
