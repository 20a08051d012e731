//! What the tables of a run store of each fingerprint, by width.

use super::Fingerprint;

/// Bits of a word of the `hi` plane.
pub(crate) const HI_BITS: u32 = 32;

/// What a table stores of an entry besides the bits that its directory implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// One `hi` word and the remaining bits. Every table holds the whole fingerprint.
    Whole,
    /// `hi` words, and the number of the fingerprint in natural order. The postings file holds the
    /// whole fingerprint, once.
    Numbered {
        /// `hi` words per entry.
        hi_words: usize,
    },
}

impl Payload {
    /// The payload for fingerprints of `width` bits.
    pub(crate) const fn of_width(width: u32) -> Self {
        match width {
            0..=64 => Self::Whole,
            65..=128 => Self::Numbered { hi_words: 1 },
            // At the distances that such fingerprints are searched at, 32 bits would filter
            // nothing.
            _ => Self::Numbered { hi_words: 3 },
        }
    }

    /// Words that the `hi` plane has for each entry.
    #[inline]
    pub(crate) const fn hi_words(self) -> usize {
        match self {
            Self::Whole => 1,
            Self::Numbered { hi_words } => hi_words,
        }
    }

    /// Whether every table holds whole fingerprints.
    #[inline]
    pub(crate) const fn is_whole(self) -> bool {
        matches!(self, Self::Whole)
    }
}

/// How the file format stores a fingerprint type.
pub(crate) trait Stored: Fingerprint {
    /// What a table stores of each fingerprint.
    const PAYLOAD: Payload = Payload::of_width(Self::BITS);
}

impl<F: Fingerprint> Stored for F {}
