//! What decides how similar two documents are, and reading it from a database.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dedup::{Origin, Stored, damaged};
use crate::error::Result;
use crate::recipe::{Comparable, Features, Fingerprinter, Recipe, jaccard};
use nearprint::any::AnySnapshot;
use nearprint::internal::words;
use nearprint::{Fingerprint, WidthVisitor};

/// The memory of the documents that a reader remembers, in bytes.
const CACHE_BYTES: usize = 16 << 20;
/// The memory of a document beside its hashes and its key, in bytes.
const DOCUMENT_BYTES: usize = 160;

/// A row of any width. Rows are ordered by (fingerprint, id).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RowOfAnyWidth {
    /// The most significant word first.
    fingerprint: [u64; 4],
    id: u64,
}

impl RowOfAnyWidth {
    pub(super) fn new(fingerprint: &[u64], id: u64) -> Self {
        let mut words = [0; 4];
        words.iter_mut().rev().zip(fingerprint).for_each(|(own, word)| *own = *word);
        Self { fingerprint: words, id }
    }

    /// The words of the fingerprint, the least significant first, and the id.
    pub(super) fn parts(self) -> ([u64; 4], u64) {
        let mut words = self.fingerprint;
        words.reverse();
        (words, self.id)
    }
}

/// What decides about a text: the set of its features; without features, its tokens.
#[derive(Debug)]
pub(super) struct FeatureSet {
    /// Ascending.
    hashes: Vec<u32>,
    text_hash: u128,
}

impl FeatureSet {
    /// The set of a document. `key` is its key, for messages.
    fn new(features: &Features, text_hash: u128, key: &str) -> Result<Self> {
        let mut hashes = Vec::new();
        features.ascending(&mut hashes).ok_or_else(|| damaged(key))?;
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
        if a.is_empty() || b.is_empty() {
            let is_copy = a.len() == b.len() && self.text_hash == other.text_hash && self.has_tokens();
            return is_copy.then_some(1.0);
        }
        jaccard(a, b, least)
    }

    fn has_tokens(&self) -> bool {
        self.text_hash != xxhash_rust::xxh3::xxh3_128(b"")
    }
}

/// A text that is looked up.
pub(super) struct PreparedText {
    /// The words of the fingerprint under which a deduplication stores it.
    pub(super) fingerprint: Vec<u64>,
    pub(super) comparable: Comparable,
    features: Features,
    text_hash: u128,
}

impl PreparedText {
    /// What decides about it. `name` is for messages.
    pub(super) fn into_set(self, name: &str) -> Result<FeatureSet> {
        FeatureSet::new(&self.features, self.text_hash, name)
    }
}

/// A fingerprinter of any width.
pub(super) trait PrepareText: Send + Sync {
    fn prepare(&mut self, text: &str) -> PreparedText;
    fn boxed(&self) -> Box<dyn PrepareText>;
}

impl Clone for Box<dyn PrepareText> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl<F: Fingerprint> PrepareText for Fingerprinter<F> {
    fn prepare(&mut self, text: &str) -> PreparedText {
        let made = self.fingerprint(text);
        PreparedText {
            fingerprint: words(made.stored("")).collect(),
            comparable: made.comparable(),
            features: made.features,
            text_hash: made.text_hash,
        }
    }

    fn boxed(&self) -> Box<dyn PrepareText> {
        Box::new(self.clone())
    }
}

struct MakePreparer<'a>(&'a Recipe);

impl WidthVisitor for MakePreparer<'_> {
    type Output = Result<Box<dyn PrepareText>>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        Ok(Box::new(self.0.fingerprinter::<F>()?.with_features()))
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
    pub(super) texts: Box<dyn PrepareText>,
    documents: HashMap<RowOfAnyWidth, Arc<[StoredDocument]>>,
    len_bytes: usize,
}

impl EvidenceReader {
    pub(super) fn new(snapshot: &AnySnapshot, recipe: &Recipe) -> Result<Self> {
        let texts = snapshot.width().visit(MakePreparer(recipe))?;
        Ok(Self { snapshot: snapshot.clone(), texts, documents: HashMap::new(), len_bytes: 0 })
    }

    /// The words of a fingerprint.
    pub(super) fn num_words(&self) -> usize {
        self.snapshot.width().words()
    }

    /// The documents of a row, by key: none if nothing was stored that decides about them.
    pub(super) fn documents(&mut self, row: RowOfAnyWidth) -> Result<Arc<[StoredDocument]>> {
        if let Some(documents) = self.documents.get(&row) {
            return Ok(documents.clone());
        }
        let documents = self.read(row)?;
        let bytes = |of: &StoredDocument| DOCUMENT_BYTES + 4 * of.set.hashes.len() + of.key.len();
        let len_bytes = DOCUMENT_BYTES + documents.iter().map(bytes).sum::<usize>();
        if self.len_bytes + len_bytes > CACHE_BYTES {
            (self.documents, self.len_bytes) = (HashMap::new(), 0);
        }
        self.len_bytes += len_bytes;
        self.documents.insert(row, documents.clone());
        Ok(documents)
    }

    fn read(&mut self, row: RowOfAnyWidth) -> Result<Arc<[StoredDocument]>> {
        let (fingerprint, id) = row.parts();
        let mut documents = Vec::new();
        let origin = Origin::Database(self.snapshot.key_storage());
        for key in self.snapshot.keys_of(&fingerprint[..self.num_words()], id)? {
            let (stored, key) = (Stored::read(origin, key.text), key.key);
            let set = match stored.features() {
                Some(bytes) => {
                    let text_hash = stored.text_hash().unwrap_or_default();
                    FeatureSet::new(&Features::from_bytes(bytes), text_hash, &key)?
                }
                None if stored.is_text() => self.texts.prepare(&stored.decompress(&key)?).into_set(&key)?,
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
        let set = |count: u32| FeatureSet { hashes: (0..count).collect(), text_hash: 0 };
        assert_eq!(set(100).similarity(&set(55), 0.55), Some(0.55));
        assert_eq!(set(55).similarity(&set(100), 0.55), Some(0.55));
        assert_eq!(set(100).similarity(&set(55), 0.56), None);
    }
}
