//! What decides how similar two documents are, and reading it from a database.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dedup::{Origin, Stored, damaged};
use crate::error::Result;
use crate::recipe::{AnyFingerprinter, Comparable, FeatureHashes, Features, Recipe, has_tokens};
use nearprint::Row;
use nearprint::any::{AnyFingerprint, AnySnapshot};

/// The memory of the documents that a reader remembers, in bytes.
const CACHE_BYTES: usize = 16 << 20;
/// The memory of a document beside its hashes and its key, in bytes.
const DOCUMENT_BYTES: usize = 160;

/// What decides about a text: the set of its features; without features, its tokens.
#[derive(Debug)]
pub(super) struct FeatureSet {
    hashes: FeatureHashes,
    text_hash: u128,
}

impl FeatureSet {
    /// The set of a document. `key` is its key, for messages.
    fn new(features: &Features, text_hash: u128, key: &str) -> Result<Self> {
        let mut hashes = FeatureHashes::default();
        features.decode_into(&mut hashes).ok_or_else(|| damaged(key))?;
        Ok(Self { hashes, text_hash })
    }

    /// Whether the text has features. One without has only its tokens.
    pub(super) fn has_features(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// The similarity of two texts, if it is at least this. Of a text without features, only a text with
    /// the same tokens is a copy; nothing is similar to a text without tokens.
    pub(super) fn similarity(&self, other: &Self, least: f64) -> Option<f64> {
        let (a, b) = (&self.hashes, &other.hashes);
        let is_copy = a.len() == b.len() && self.text_hash == other.text_hash && has_tokens(self.text_hash);
        match a.is_empty() || b.is_empty() {
            true => is_copy.then_some(1.0),
            false => a.similarity(b, least),
        }
    }
}

/// A text that is looked up.
pub(super) struct PreparedText {
    /// The fingerprint under which a deduplication stores it.
    pub(super) fingerprint: AnyFingerprint,
    pub(super) comparable: Comparable,
    features: Features,
    text_hash: u128,
}

impl PreparedText {
    pub(super) fn new(fingerprinter: &mut AnyFingerprinter, text: &str) -> Self {
        let made = fingerprinter.fingerprint(text);
        let (fingerprint, comparable) = (made.stored(""), made.comparable());
        Self { fingerprint, comparable, features: made.features, text_hash: made.text_hash }
    }

    /// What decides about it. `name` is for messages.
    pub(super) fn into_set(self, name: &str) -> Result<FeatureSet> {
        FeatureSet::new(&self.features, self.text_hash, name)
    }
}

/// A document of a database.
#[derive(Debug)]
pub(super) struct StoredDocument {
    pub(super) key: String,
    pub(super) set: FeatureSet,
}

/// Reads the documents of rows, and remembers those that it has read last: rows that are near each other
/// come together.
#[derive(Clone)]
pub(super) struct EvidenceReader {
    snapshot: AnySnapshot,
    pub(super) texts: AnyFingerprinter,
    documents: HashMap<Row<AnyFingerprint>, Arc<[StoredDocument]>>,
    len_bytes: usize,
}

impl EvidenceReader {
    pub(super) fn new(snapshot: &AnySnapshot, recipe: &Recipe) -> Result<Self> {
        recipe.check_width(snapshot.width())?;
        let texts = recipe.any_fingerprinter().with_features();
        Ok(Self { snapshot: snapshot.clone(), texts, documents: HashMap::new(), len_bytes: 0 })
    }

    /// The documents of a row, by key: none if nothing was stored that decides about them.
    pub(super) fn documents(&mut self, row: Row<AnyFingerprint>) -> Result<Arc<[StoredDocument]>> {
        if let Some(documents) = self.documents.get(&row) {
            return Ok(documents.clone());
        }
        let documents = self.read(row)?;
        let bytes = |of: &StoredDocument| DOCUMENT_BYTES + 8 * of.set.hashes.len() + of.key.len();
        let len_bytes = DOCUMENT_BYTES + documents.iter().map(bytes).sum::<usize>();
        if self.len_bytes + len_bytes > CACHE_BYTES {
            (self.documents, self.len_bytes) = (HashMap::new(), 0);
        }
        self.len_bytes += len_bytes;
        self.documents.insert(row, documents.clone());
        Ok(documents)
    }

    fn read(&mut self, row: Row<AnyFingerprint>) -> Result<Arc<[StoredDocument]>> {
        let mut documents = Vec::new();
        let origin = Origin::Database(self.snapshot.key_storage());
        for key in self.snapshot.keys_of(row.fingerprint.words(), row.id)? {
            let (stored, key) = (Stored::read(origin, key.text), key.key);
            let set = match stored.features() {
                Some(bytes) => {
                    let text_hash = stored.text_hash().unwrap_or_default();
                    FeatureSet::new(&Features::from_bytes(bytes), text_hash, &key)?
                }
                None if stored.is_text() => {
                    PreparedText::new(&mut self.texts, &stored.decompress(&key)?).into_set(&key)?
                }
                None => continue,
            };
            documents.push(StoredDocument { key, set });
        }
        Ok(documents.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_a_part_of_a_text_at_the_limit_itself_is_similar() {
        let set = |count: u64| FeatureSet {
            hashes: FeatureHashes::of((0..count).map(|at| at << 40)),
            text_hash: 0,
        };
        assert_eq!(set(100).similarity(&set(55), 0.55), Some(0.55));
        assert_eq!(set(55).similarity(&set(100), 0.55), Some(0.55));
        assert_eq!(set(100).similarity(&set(55), 0.56), None);
    }
}
