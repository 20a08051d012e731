//! Whether a document is kept, and why not.

use super::candidates::{Candidate, Document, Verdict};
use crate::error::Result;
use crate::recipe::AnyFingerprinter;

/// What becomes of a document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// No near document was kept before. It is kept, and remembered.
    Kept,
    /// It is a near-duplicate of a kept document: of the nearest one, and of equally near ones of the
    /// earliest.
    Duplicate {
        /// The key of the kept document.
        of: String,
        /// The distance of the fingerprints in bits.
        distance: u32,
        /// The similarity of the two, from 0 to 1.
        similarity: f64,
        /// Whether it is exact: [sets of features](crate::dedup::DedupOptions::evidence) or texts decide.
        /// Otherwise fingerprints do, which estimate it.
        is_exact: bool,
    },
    /// It is near a kept document with the same key. Occurs only with
    /// [unique keys](crate::dedup::DedupOptions::unique_keys).
    Known,
    /// No near document was kept before, but another document with the same key was. It is not kept. Occurs
    /// only with [unique keys](crate::dedup::DedupOptions::unique_keys).
    KeyTaken,
    /// It has fewer [tokens](crate::dedup::DedupOptions::min_words) or
    /// [features](crate::dedup::DedupOptions::min_features) than required. It is not kept.
    TooShort,
}

/// A document that a deduplicator has decided.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decided {
    /// The words of its fingerprint, the least significant one first.
    pub fingerprint: Vec<u64>,
    /// The number of its features: shingles, or keywords.
    pub num_features: usize,
    /// Whether it is kept.
    pub decision: Decision,
    /// The [sequence number](crate::dedup::Deduplicator::next_sequence) of the kept document: of this one, or of the
    /// one that it duplicates. Unlike a key, it names one document. `None` for other decisions.
    pub sequence: Option<u64>,
}

/// What a comparison with kept documents has found.
#[derive(Clone, Debug)]
pub(crate) enum Compared {
    /// Nothing is near.
    New {
        /// Fingerprints are near, but no text confirms it.
        is_unconfirmed: bool,
    },
    /// The nearest document.
    Near(Original),
}

/// The kept document of which another one is a near-duplicate.
#[derive(Clone, Debug)]
pub(crate) struct Original {
    pub(crate) key: String,
    /// See [`Candidate::sequence`].
    pub(crate) sequence: u64,
    /// See [`Candidate::is_known`].
    pub(crate) is_known: bool,
    pub(crate) distance: u32,
    pub(crate) similarity: f64,
    /// Whether both have the same tokens.
    pub(crate) is_copy: bool,
    /// See [`Candidate::position`].
    pub(crate) position: Option<u64>,
    /// See [`Candidate::is_read`].
    pub(crate) is_read: bool,
}

impl Original {
    pub(crate) fn of(
        kept: Candidate,
        similarity: f64,
        document: Document<'_>,
        fingerprinter: &mut AnyFingerprinter,
    ) -> Result<Self> {
        let is_copy = kept.is_copied_by(document, fingerprinter)?;
        let Candidate { key, sequence, is_known, distance, position, is_read, .. } = kept;
        Ok(Self { key, sequence, is_known, distance, similarity, is_copy, position, is_read })
    }
}

impl Verdict {
    /// The same for all collections, with what is reported of the nearest document.
    pub(crate) fn compared(
        self,
        document: Document<'_>,
        fingerprinter: &mut AnyFingerprinter,
    ) -> Result<Compared> {
        Ok(match self {
            Self::New => Compared::New { is_unconfirmed: false },
            Self::Unconfirmed => Compared::New { is_unconfirmed: true },
            Self::Near(near, similarity) => {
                Compared::Near(Original::of(near, similarity, document, fingerprinter)?)
            }
        })
    }
}
