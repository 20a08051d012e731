//! What is known of a record between the two passes, and its form in a temporary file.

use crate::dedup::decide::Document;
use crate::recipe::{Comparable, Features, Fingerprinted};
use nearprint::Width;
use nearprint::any::AnyFingerprint;

/// The bit of a text with markup, beside what is compared of it.
const MARKUP: u8 = 1 << 7;

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It is malformed.
    Bad,
    /// It has too few tokens or features.
    SetAside,
    Kept {
        /// It is near others, but no text confirms it.
        is_unconfirmed: bool,
    },
    Duplicate {
        /// The index of the key of the original.
        of: u64,
        distance: u32,
        similarity: f64,
        is_copy: bool,
        /// Whether this run has read the original.
        is_read: bool,
    },
}

/// A record, its fingerprint and what becomes of it. Its key and its text are stored elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RankedRecord {
    pub(crate) outcome: Outcome,
    pub(crate) comparable: Comparable,
    pub(crate) text_hash: u128,
    pub(crate) has_markup: bool,
    pub(crate) fingerprint: AnyFingerprint,
}

/// The bytes of a record before its fingerprint: kind, flag, key, distance, similarity; what is compared and whether
/// there is markup, hash.
const FIXED_BYTES: usize = 1 + 1 + 8 + 4 + 8 + 1 + 16;

impl RankedRecord {
    /// The bytes of a record with a fingerprint of a width.
    pub(crate) fn len_bytes(width: Width) -> usize {
        FIXED_BYTES + 8 * width.words()
    }

    /// A malformed record.
    pub(crate) fn bad(width: Width) -> Self {
        Self {
            outcome: Outcome::Bad,
            comparable: Comparable::Nothing,
            text_hash: 0,
            has_markup: false,
            fingerprint: AnyFingerprint::new(width, &[]),
        }
    }

    /// A record that is kept, unless it is decided otherwise.
    pub(crate) fn new(fingerprinted: &Fingerprinted<AnyFingerprint>) -> Self {
        Self {
            outcome: Outcome::Kept { is_unconfirmed: false },
            comparable: fingerprinted.comparable(),
            text_hash: fingerprinted.text_hash,
            has_markup: fingerprinted.has_markup,
            fingerprint: fingerprinted.value,
        }
    }

    pub(crate) fn document<'a>(&self, key: &'a str, text: &'a str, features: &'a Features) -> Document<'a> {
        let Self { comparable, text_hash, has_markup, fingerprint, .. } = *self;
        Document { key, text, text_hash, has_markup, fingerprint, comparable, features }
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let (kind, flag, of, distance, similarity) = match self.outcome {
            Outcome::Bad => (0, false, 0, 0, 0.0),
            Outcome::SetAside => (1, false, 0, 0, 0.0),
            Outcome::Kept { is_unconfirmed } => (2, is_unconfirmed, 0, 0, 0.0),
            Outcome::Duplicate { of, distance, similarity, is_copy, is_read } => {
                (3 + u8::from(is_read), is_copy, of, distance, similarity)
            }
        };
        let mut bytes = vec![kind, u8::from(flag)];
        bytes.extend(of.to_le_bytes());
        bytes.extend(distance.to_le_bytes());
        bytes.extend(f64::to_le_bytes(similarity));
        bytes.push(self.comparable as u8 | if self.has_markup { MARKUP } else { 0 });
        bytes.extend(self.text_hash.to_le_bytes());
        bytes.extend(self.fingerprint.words().iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        const TOKENS: u8 = Comparable::Tokens as u8;
        const NOTHING: u8 = Comparable::Nothing as u8;
        let flag = bytes[1] != 0;
        let outcome = match bytes[0] {
            0 => Outcome::Bad,
            1 => Outcome::SetAside,
            2 => Outcome::Kept { is_unconfirmed: flag },
            kind => Outcome::Duplicate {
                of: u64::from_le_bytes(array(&bytes[2..])),
                distance: u32::from_le_bytes(array(&bytes[10..])),
                similarity: f64::from_le_bytes(array(&bytes[14..])),
                is_copy: flag,
                is_read: kind == 4,
            },
        };
        let comparable = match bytes[22] & !MARKUP {
            TOKENS => Comparable::Tokens,
            NOTHING => Comparable::Nothing,
            _ => Comparable::Features,
        };
        let text_hash = u128::from_le_bytes(array(&bytes[23..]));
        let has_markup = bytes[22] & MARKUP != 0;
        let words: Vec<u64> =
            bytes[FIXED_BYTES..].chunks_exact(8).map(|word| u64::from_le_bytes(array(word))).collect();
        Self { outcome, comparable, text_hash, has_markup, fingerprint: AnyFingerprint::from(&words[..]) }
    }
}

/// The first bytes.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|at| bytes[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        for width in Width::ALL {
            let bad = RankedRecord::bad(width);
            assert_eq!(RankedRecord::from_bytes(&bad.to_bytes()), bad);
        }
        for outcome in [
            Outcome::SetAside,
            Outcome::Kept { is_unconfirmed: true },
            Outcome::Duplicate { of: u64::MAX, distance: 7, similarity: 0.1, is_copy: false, is_read: true },
            Outcome::Duplicate { of: 0, distance: 7, similarity: 0.1, is_copy: true, is_read: false },
        ] {
            for comparable in [Comparable::Features, Comparable::Tokens, Comparable::Nothing] {
                for width in Width::ALL {
                    let record = RankedRecord {
                        outcome,
                        comparable,
                        text_hash: u128::MAX - 1,
                        has_markup: true,
                        fingerprint: AnyFingerprint::new(width, &[5, 4, 3, 2, 1]),
                    };
                    assert_eq!(record.to_bytes().len(), RankedRecord::len_bytes(width));
                    assert_eq!(RankedRecord::from_bytes(&record.to_bytes()), record);
                }
            }
        }
    }
}
