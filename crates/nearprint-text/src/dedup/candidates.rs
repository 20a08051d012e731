//! The kept documents near a new one, and which of them it duplicates.

use std::cmp::Ordering;

use super::confirm::Confirm;
use crate::error::{Error, Result};
use nearprint::{Fingerprint, Match, Row, RowKey, Snapshot};

/// A document that is to be decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a, F> {
    pub(super) key: &'a str,
    pub(super) text: &'a str,
    pub(super) fingerprint: F,
}

/// A kept document that a new one may duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) distance: u32,
    /// Whether it has the fingerprint of the new one.
    pub(super) has_same_fingerprint: bool,
    /// The order in which documents were kept.
    pub(super) sequence: u64,
    pub(super) key: String,
    /// The bytes stored with the key.
    pub(super) stored: Vec<u8>,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        (self.distance, self.sequence).cmp(&(other.distance, other.sequence))
    }
}

/// The nearest candidate whose text is confirmed, the earliest of equally near ones.
///
/// `found` is in the order of distances. `keys_of` returns the keys of a row, and `counts` filters
/// them. A candidate with the key and the fingerprint of the document is the same document and
/// needs no confirmation.
pub(super) fn nearest<F: Fingerprint>(
    found: &[Match<F>],
    document: Document<'_, F>,
    keys_of: impl Fn(Row<F>) -> nearprint::Result<Vec<RowKey>>,
    counts: impl Fn(&RowKey) -> bool,
    mut confirms: impl FnMut(&Candidate) -> Result<bool>,
) -> Result<Option<Candidate>> {
    for equally_near in found.chunk_by(|a, b| a.distance == b.distance) {
        let mut candidates = Vec::new();
        for &Match { fingerprint, id, distance } in equally_near {
            let keys = keys_of(Row { fingerprint, id })?;
            let has_same_fingerprint = fingerprint == document.fingerprint;
            if keys.is_empty() {
                // A row without a key takes its id as one, and precedes all rows with keys.
                candidates.push(Candidate {
                    distance,
                    has_same_fingerprint,
                    sequence: 0,
                    key: id.to_string(),
                    stored: Vec::new(),
                });
            }
            let keys = keys.into_iter().filter(&counts);
            candidates.extend(keys.map(|RowKey { key, sequence, text, .. }| Candidate {
                distance,
                has_same_fingerprint,
                sequence,
                key,
                stored: text,
            }));
        }
        candidates.sort_by(Candidate::order);
        for candidate in candidates {
            if (candidate.has_same_fingerprint && candidate.key == document.key) || confirms(&candidate)? {
                return Ok(Some(candidate));
            }
        }
    }
    Ok(None)
}

/// Compresses a text for a database.
pub(super) fn compress(text: &str) -> Result<Vec<u8>> {
    zstd::bulk::compress(text.as_bytes(), 0).map_err(Error::io("compress", "a text"))
}

/// Decompresses the stored text of a candidate.
pub(super) fn decompress(candidate: &Candidate) -> Result<String> {
    let failed = |error: std::io::Error| {
        Error::input(format!("the text of {:?} in the database", candidate.key), error.to_string())
    };
    let text = zstd::stream::decode_all(&*candidate.stored).map_err(failed)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether the stored text of a candidate confirms a near-duplicate. True without confirmation.
pub(super) fn confirms(confirm: Option<Confirm>, text: &str, candidate: &Candidate) -> Result<bool> {
    confirm.map_or(Ok(true), |confirm| Ok(confirm.confirms(text, &decompress(candidate)?)))
}

/// The documents that were kept before a run.
#[derive(Clone)]
pub(super) struct KnownDocuments<F> {
    pub(super) snapshot: Snapshot<F>,
    /// Keys with this sequence number or a later one are not known.
    pub(super) before_sequence: u64,
    pub(super) k: u32,
    pub(super) confirm: Option<Confirm>,
}

impl<F: Fingerprint> KnownDocuments<F> {
    /// The nearest known document whose text is confirmed, the earliest of equally near ones.
    pub(super) fn nearest(&self, document: Document<'_, F>) -> Result<Option<Candidate>> {
        let found = self.snapshot.query(document.fingerprint, self.k)?;
        nearest(
            &found,
            document,
            |row| self.snapshot.keys_of(row),
            |key| key.sequence < self.before_sequence,
            |candidate| confirms(self.confirm, document.text, candidate),
        )
    }
}
