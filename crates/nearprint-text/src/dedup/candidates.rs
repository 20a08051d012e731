//! The kept documents near a new one, and which of them it duplicates.

use std::cmp::Ordering;
use std::ops::Range;

use super::confirm::Confirm;
use super::stored::Stored;
use crate::error::Result;
use crate::recipe::{Comparable, Fingerprinted, Fingerprinter, Recipe, stored_fingerprint};
use nearprint::{Fingerprint, Match, Row, RowKey, Snapshot};
use xxhash_rust::xxh3::xxh3_64;

/// A document that is to be decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a, F> {
    pub(super) key: &'a str,
    pub(super) text: &'a str,
    pub(super) text_hash: u128,
    /// 0 without features.
    pub(super) fingerprint: F,
    pub(super) comparable: Comparable,
}

impl<'a, F: Fingerprint> Document<'a, F> {
    pub(super) fn new(key: &'a str, text: &'a str, fingerprinted: &Fingerprinted<F>) -> Self {
        let (text_hash, comparable) = (fingerprinted.text_hash, fingerprinted.comparable());
        Self { key, text, text_hash, fingerprint: fingerprinted.value, comparable }
    }

    /// The fingerprint of its row: see [`Fingerprinted::stored`].
    pub(super) fn stored_fingerprint(&self) -> F {
        stored_fingerprint(self.comparable, self.fingerprint, self.text_hash, self.key)
    }

    /// The fingerprint and the distance with which near documents are looked up, `k` being the
    /// largest distance of near-duplicates. `None` if nothing is near.
    pub(super) fn look_up(&self, k: u32) -> Option<(F, u32)> {
        match self.comparable {
            Comparable::Features => Some((self.fingerprint, k)),
            Comparable::Tokens => Some((self.stored_fingerprint(), 0)),
            Comparable::Nothing => None,
        }
    }

    /// Its row, if it is kept. The hash of the key is the id.
    pub(super) fn row(&self) -> Row<F> {
        Row { fingerprint: self.stored_fingerprint(), id: xxh3_64(self.key.as_bytes()) }
    }
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
    pub(super) stored: Stored,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        (self.distance, self.sequence).cmp(&(other.distance, other.sequence))
    }

    /// Whether its text has the same tokens as that of the document. False if nothing is stored of
    /// it.
    pub(super) fn is_copied_by<F: Fingerprint>(
        &self,
        document: Document<'_, F>,
        fingerprinter: &mut Fingerprinter<F>,
    ) -> Result<bool> {
        if !self.has_same_fingerprint {
            return Ok(false);
        }
        let text_hash = match self.stored.is_text() {
            true => Some(fingerprinter.fingerprint(&self.stored.decompress(&self.key)?).text_hash),
            false => self.stored.text_hash(),
        };
        Ok(text_hash == Some(document.text_hash))
    }
}

/// What the kept documents say about a new one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict<T> {
    /// No fingerprint is near.
    New,
    /// Fingerprints are near, but no text confirms it.
    Unconfirmed,
    /// The nearest document, and its similarity from 0 to 1.
    Near(T, f64),
}

impl<T> Verdict<T> {
    pub(super) fn map<U>(self, map: impl FnOnce(T) -> U) -> Verdict<U> {
        match self {
            Self::New => Verdict::New,
            Self::Unconfirmed => Verdict::Unconfirmed,
            Self::Near(nearest, similarity) => Verdict::Near(map(nearest), similarity),
        }
    }

    /// The verdict of two collections: the nearer document, that of `self` if they are equally near.
    pub(super) fn or_nearer(self, other: Self, distance: impl Fn(&T) -> u32) -> Self {
        match (&self, &other) {
            (Self::Near(own, _), Self::Near(others, _)) if distance(others) < distance(own) => other,
            (Self::Near(..), _) | (Self::Unconfirmed, Self::New) => self,
            _ => other,
        }
    }
}

/// How similar a document and a candidate are.
#[derive(Clone)]
pub(super) struct Measure {
    pub(super) recipe: Recipe,
    pub(super) confirm: Option<Confirm>,
}

impl Measure {
    /// The similarity of a text and another one, whose fingerprints have this distance. `None` if
    /// the texts are to confirm it and do not.
    pub(super) fn similarity(
        &self,
        text: &str,
        distance: u32,
        other: impl FnOnce() -> Result<String>,
    ) -> Result<Option<f64>> {
        match self.confirm {
            Some(confirm) => Ok(confirm.similarity(text, &other()?)),
            None => Ok(Some(self.recipe.similarity(distance))),
        }
    }
}

/// The nearest candidate with a similarity, the earliest of equally near ones.
///
/// `found` is in the order of distances. `keys_of` returns the keys of a row, and `counts` filters
/// them. A candidate with the key and the fingerprint of the document is the same document and
/// needs no confirmation.
pub(super) fn nearest<F: Fingerprint>(
    found: &[Match<F>],
    document: Document<'_, F>,
    keys_of: impl Fn(Row<F>) -> nearprint::Result<Vec<RowKey>>,
    counts: impl Fn(&RowKey) -> bool,
    mut similarity: impl FnMut(&Candidate) -> Result<Option<f64>>,
) -> Result<Verdict<Candidate>> {
    let mut verdict = Verdict::New;
    for equally_near in found.chunk_by(|a, b| a.distance == b.distance) {
        let mut candidates = Vec::new();
        for &Match { fingerprint, id, distance } in equally_near {
            let keys = keys_of(Row { fingerprint, id })?;
            let has_same_fingerprint = fingerprint == document.stored_fingerprint();
            if keys.is_empty() {
                // A row without a key takes its id as one, and precedes all rows with keys.
                candidates.push(Candidate {
                    distance,
                    has_same_fingerprint,
                    sequence: 0,
                    key: id.to_string(),
                    stored: Stored::default(),
                });
            }
            let keys = keys.into_iter().filter(&counts);
            candidates.extend(keys.map(|RowKey { key, sequence, text, .. }| Candidate {
                distance,
                has_same_fingerprint,
                sequence,
                key,
                stored: Stored(text),
            }));
        }
        candidates.sort_by(Candidate::order);
        for candidate in candidates {
            let is_same = candidate.has_same_fingerprint && candidate.key == document.key;
            match if is_same { Some(1.0) } else { similarity(&candidate)? } {
                Some(similarity) => return Ok(Verdict::Near(candidate, similarity)),
                None => verdict = Verdict::Unconfirmed,
            }
        }
    }
    Ok(verdict)
}

/// The documents that were kept before a run.
#[derive(Clone)]
pub(super) struct KnownDocuments<F> {
    pub(super) snapshot: Snapshot<F>,
    /// The sequence numbers of keys that do not count.
    pub(super) ignored: Vec<Range<u64>>,
    pub(super) k: u32,
    pub(super) measure: Measure,
}

impl<F: Fingerprint> KnownDocuments<F> {
    /// Whether a key is known.
    pub(super) fn counts(&self, key: &RowKey) -> bool {
        let is_ignored = |sequence| self.ignored.iter().any(|ignored| ignored.contains(&sequence));
        !(is_ignored(key.sequence) && is_ignored(key.last_sequence))
    }

    /// The nearest known document whose text is confirmed, the earliest of equally near ones.
    pub(super) fn nearest(&self, document: Document<'_, F>) -> Result<Verdict<Candidate>> {
        let Some((fingerprint, k)) = document.look_up(self.k) else { return Ok(Verdict::New) };
        let found = self.snapshot.query(fingerprint, k)?;
        let similarity = |candidate: &Candidate| {
            let text = || candidate.stored.decompress(&candidate.key);
            self.measure.similarity(document.text, candidate.distance, text)
        };
        nearest(&found, document, |row| self.snapshot.keys_of(row), |key| self.counts(key), similarity)
    }
}
