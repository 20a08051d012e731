//! The documents that have been kept, and which of them a new one is near to.

use std::cmp::Ordering;

use super::confirm::Confirm;
use crate::error::{Error, Result};
use nearprint::{Fingerprint, Match, Row, RowKey, Snapshot};

/// Something kept that a document may be a duplicate of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) distance: u32,
    /// Smaller for what was kept earlier.
    pub(super) sequence: u64,
    pub(super) key: String,
    /// What was stored beside the key.
    pub(super) text: Vec<u8>,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        (self.distance, self.sequence).cmp(&(other.distance, other.sequence))
    }
}

/// The nearest candidate, the earliest of several, that the texts confirm.
///
/// `found` is by distance; `keys_of` tells the keys of a row. `confirms` looks at the text of a candidate,
/// unless that has the key and the fingerprint of the document itself, which is one and the same then.
pub(super) fn nearest<F: Fingerprint>(
    found: &[Match<F>],
    key: &str,
    keys_of: impl Fn(Row<F>) -> nearprint::Result<Vec<RowKey>>,
    counts: impl Fn(&RowKey) -> bool,
    mut confirms: impl FnMut(&Candidate) -> Result<bool>,
) -> Result<Option<Candidate>> {
    for same in found.chunk_by(|a, b| a.distance == b.distance) {
        let mut candidates = Vec::new();
        for found in same {
            let row = Row { fingerprint: found.fingerprint, id: found.id };
            let keys = keys_of(row)?;
            if keys.is_empty() {
                // A row that was inserted without a key goes by its id, before all that have one.
                let (sequence, key) = (0, found.id.to_string());
                candidates.push(Candidate { distance: found.distance, sequence, key, text: Vec::new() });
            }
            candidates.extend(keys.into_iter().filter(&counts).map(
                |RowKey { key, sequence, text, .. }| Candidate {
                    distance: found.distance,
                    sequence,
                    key,
                    text,
                },
            ));
        }
        candidates.sort_by(Candidate::order);
        for candidate in candidates {
            if (candidate.distance == 0 && candidate.key == key) || confirms(&candidate)? {
                return Ok(Some(candidate));
            }
        }
    }
    Ok(None)
}

/// The texts of a database, compressed.
pub(super) fn compress(text: &str) -> Result<Vec<u8>> {
    zstd::bulk::compress(text.as_bytes(), 0).map_err(Error::io("compress", "a text"))
}

/// A text that [`compress`] made small.
pub(super) fn decompress(bytes: &[u8], key: &str) -> Result<String> {
    let failed = |error: std::io::Error| Error::Input {
        place: format!("the text of {key:?} in the database"),
        why: error.to_string(),
    };
    let text = zstd::stream::decode_all(bytes).map_err(failed)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// What is known of a database that is only read.
pub(super) struct Known<F> {
    pub(super) snapshot: Snapshot<F>,
    /// Keys from this sequence number on do not count.
    pub(super) before_sequence: u64,
    pub(super) k: u32,
    pub(super) confirm: Option<Confirm>,
}

impl<F: Fingerprint> Known<F> {
    /// The nearest document that is in the database, the earliest of several.
    pub(super) fn nearest(&self, fingerprint: F, key: &str, text: &str) -> Result<Option<Candidate>> {
        let found = self.snapshot.query(fingerprint, self.k)?;
        nearest(
            &found,
            key,
            |row| self.snapshot.keys_of(row),
            |key| key.sequence < self.before_sequence,
            |candidate| match &self.confirm {
                None => Ok(true),
                Some(confirm) => Ok(confirm.confirms(text, &decompress(&candidate.text, &candidate.key)?)),
            },
        )
    }
}
