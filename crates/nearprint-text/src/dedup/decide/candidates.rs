//! The kept documents near a new one, and which of them it duplicates.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::measure::{Judge, Measure};
use super::stored::{Origin, Stored, damaged};
use crate::dedup::temporary::TemporaryBytes;
use crate::error::Result;
use crate::recipe::{
    AnyFingerprinter, Comparable, FeatureHashes, Features, Fingerprinted, Outline, stored_fingerprint,
};
use nearprint::any::{AnyFingerprint, AnySnapshot, AnyWriter};
use nearprint::{BandDistances, Match, RowKey};
use xxhash_rust::xxh3::xxh3_64;

/// A row near a document.
pub(crate) type AnyMatch = Match<AnyFingerprint>;

/// A document that is to be decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document<'a> {
    pub(crate) key: &'a str,
    pub(crate) text: &'a str,
    pub(crate) text_hash: u128,
    pub(crate) has_markup: bool,
    /// 0 without features.
    pub(crate) fingerprint: AnyFingerprint,
    pub(crate) comparable: Comparable,
    /// Its set of features, if they are compared.
    pub(crate) features: &'a Features,
}

impl<'a> Document<'a> {
    pub(crate) fn new(key: &'a str, text: &'a str, fingerprinted: &'a Fingerprinted<AnyFingerprint>) -> Self {
        let features = &fingerprinted.features;
        let (text_hash, comparable) = (fingerprinted.text_hash, fingerprinted.comparable());
        let (has_markup, fingerprint) = (fingerprinted.has_markup, fingerprinted.value);
        Self { key, text, text_hash, has_markup, fingerprint, comparable, features }
    }

    /// The fingerprint of its row: see [`Fingerprinted::stored`].
    pub(crate) fn stored_fingerprint(&self) -> AnyFingerprint {
        stored_fingerprint(self.comparable, self.fingerprint, self.text_hash, self.key)
    }

    /// The fingerprint and the distance with which near documents are looked up, `k` being the
    /// largest distance of near-duplicates. `None` if nothing is near.
    pub(crate) fn look_up(&self, k: u32) -> Option<(AnyFingerprint, u32)> {
        match self.comparable {
            Comparable::Features => Some((self.fingerprint, k)),
            Comparable::Tokens => Some((self.stored_fingerprint(), 0)),
            Comparable::Nothing => None,
        }
    }

    /// Its row, if it is kept. The hash of the key is the id.
    pub(crate) fn row(&self) -> AnyMatch {
        let id = xxh3_64(self.key.as_bytes());
        Match { fingerprint: self.stored_fingerprint(), id, distance: 0 }
    }
}

/// A kept document that a new one may duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) distance: u32,
    /// Whether it has the fingerprint of the new one.
    pub(crate) has_same_fingerprint: bool,
    /// The order in which documents were kept.
    pub(crate) sequence: u64,
    /// Whether it is of a database that is only read, whose sequence numbers are others than those of this run.
    pub(crate) is_known: bool,
    /// Its position among documents that are decided in the order of their ranks.
    pub(crate) position: Option<u64>,
    /// Whether this run has read it, so that its key may tell its file: what has its name now need not be what an
    /// earlier run has kept.
    pub(crate) is_read: bool,
    pub(crate) key: String,
    pub(crate) stored: Stored,
}

impl Candidate {
    /// Whether its text has the same tokens as the document. False if nothing is stored of it.
    pub(crate) fn is_copied_by(
        &self,
        document: Document<'_>,
        fingerprinter: &mut AnyFingerprinter,
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
pub(crate) enum Verdict {
    /// No fingerprint is near.
    New,
    /// Fingerprints are near, but no text confirms it.
    Unconfirmed,
    /// The nearest document, and its similarity from 0 to 1.
    Near(Candidate, f64),
}

impl Verdict {
    /// The verdict of two collections: the nearer document, or the one of `self` if both are equally
    /// near.
    pub(crate) fn or_nearer(self, other: Self, measure: &Measure) -> Self {
        match (&self, &other) {
            (Self::Near(own, of_own), Self::Near(others, of_others))
                if measure.is_nearer((others.distance, *of_others), (own.distance, *of_own)) =>
            {
                other
            }
            (Self::Near(..), _) | (Self::Unconfirmed, Self::New) => self,
            _ => other,
        }
    }
}

/// The set of a document and its outline, made when they are first needed.
fn own_set<'a>(
    own: &'a mut Option<(FeatureHashes, Outline)>,
    document: Document<'_>,
) -> Result<&'a (FeatureHashes, Outline)> {
    match own {
        Some(made) => Ok(made),
        None => {
            let mut set = FeatureHashes::default();
            document.features.decode_into(&mut set).ok_or_else(|| damaged(document.key))?;
            let outline = Outline::of(&set);
            Ok(own.insert((set, outline)))
        }
    }
}

/// The most outlines in memory: 10 MB.
const MOST_OUTLINES: usize = 1 << 15;

/// The outlines of the sets of documents that were compared, by their rows. Most of the documents that are
/// made from one template need no look at their sets.
#[derive(Clone, Default)]
pub(crate) struct Outlines {
    /// Where they are: a growing table moves its entries.
    places: HashMap<(AnyFingerprint, u64), usize>,
    outlines: Vec<Outline>,
}

impl Outlines {
    fn get(&self, row: AnyMatch) -> Option<&Outline> {
        let place = self.places.get(&(row.fingerprint, row.id))?;
        Some(&self.outlines[*place])
    }

    fn insert(&mut self, row: AnyMatch, set: &FeatureHashes) {
        if self.outlines.len() == MOST_OUTLINES {
            self.places.clear();
            self.outlines.clear();
        }
        if let Entry::Vacant(entry) = self.places.entry((row.fingerprint, row.id)) {
            entry.insert(self.outlines.len());
            self.outlines.push(Outline::of(set));
        }
    }
}

/// A collection of kept documents.
pub(crate) trait KeptDocuments {
    /// The rows within a distance, by increasing distance.
    fn query(&mut self, fingerprint: AnyFingerprint, k: u32) -> Result<Vec<AnyMatch>>;

    /// The rows within the distances of their numbers of equal bands, by increasing distance.
    fn query_by_bands(
        &mut self,
        fingerprint: AnyFingerprint,
        distances: &BandDistances,
    ) -> Result<Vec<AnyMatch>>;

    /// The kept documents of a row.
    fn candidates(&mut self, row: AnyMatch, document: Document<'_>) -> Result<Vec<Candidate>>;

    /// The text of a kept document.
    fn text_of(&mut self, candidate: &Candidate) -> Result<String>;

    /// The set of features of a kept document, where it is stored.
    fn features_of(&mut self, candidate: &Candidate) -> Result<Option<Features>>;

    /// The outlines of documents that were compared.
    fn outlines(&mut self) -> &mut Outlines;

    /// The nearest kept document with a similarity, the earliest of equally near ones. A text may change and leave
    /// its key and its fingerprint as they were: neither stands for it.
    fn nearest(
        &mut self,
        document: Document<'_>,
        measure: &Measure,
        fingerprinter: &mut AnyFingerprinter,
    ) -> Result<Verdict> {
        let Some((fingerprint, k)) = document.look_up(measure.k) else { return Ok(Verdict::New) };
        let near = match &measure.candidates {
            Some(candidates) if document.comparable == Comparable::Features => {
                self.query_by_bands(fingerprint, candidates.distances())?
            }
            _ => self.query(fingerprint, k)?,
        };
        match measure.judge {
            Judge::Features(least) if document.comparable == Comparable::Features => {
                self.most_similar(document, least, &near, fingerprinter)
            }
            _ => self.first_similar(document, measure, &near),
        }
    }

    /// The nearest document of some rows, the earliest of equally near ones, that its text confirms, if
    /// texts are compared.
    fn first_similar(
        &mut self,
        document: Document<'_>,
        measure: &Measure,
        near: &[AnyMatch],
    ) -> Result<Verdict> {
        let mut verdict = Verdict::New;
        for equally_near in near.chunk_by(|a, b| a.distance == b.distance) {
            let mut candidates = Vec::new();
            for &row in equally_near {
                candidates.extend(self.candidates(row, document)?);
            }
            candidates.sort_by_key(|candidate| candidate.sequence);
            for candidate in candidates {
                let similarity = match measure.judge {
                    // A row that was not stored as a document.
                    Judge::Texts(_) if candidate.stored.is_nothing() => None,
                    Judge::Texts(similarity) => {
                        let kept = self.text_of(&candidate)?;
                        let [new, kept] = [document.text, &*kept].map(|text| measure.recipe.as_read(text));
                        similarity.of_texts(&new, &kept)
                    }
                    _ => Some(measure.recipe.similarity(candidate.distance)),
                };
                match similarity {
                    Some(similarity) => return Ok(Verdict::Near(candidate, similarity)),
                    None => verdict = Verdict::Unconfirmed,
                }
            }
        }
        Ok(verdict)
    }

    /// The document of some rows whose set of features is the most similar, if its similarity is at least
    /// this; the earliest of equally similar ones. Texts with equal sets have equal fingerprints. From similarity
    /// 1 on, only copies are near a page with markup: equal sets may be of pages with other scripts.
    fn most_similar(
        &mut self,
        document: Document<'_>,
        least: f64,
        near: &[AnyMatch],
        fingerprinter: &mut AnyFingerprinter,
    ) -> Result<Verdict> {
        let (mut own, mut others, mut best) = (None, FeatureHashes::default(), None::<(f64, Candidate)>);
        // A copy has an equal fingerprint, and its set is not needed.
        let may_be_copy = |row: AnyMatch| row.fingerprint == document.fingerprint;
        let needs_copy = least >= 1.0 && document.has_markup;
        for &row in near {
            if row.distance > 0 && best.as_ref().is_some_and(|(similarity, _)| *similarity == 1.0) {
                break;
            }
            if !may_be_copy(row)
                && let Some(known) = self.outlines().get(row)
            {
                let (_, outline) = own_set(&mut own, document)?;
                if known.excludes(outline, least) {
                    continue;
                }
            }
            let candidates = self.candidates(row, document)?;
            let is_only = candidates.len() == 1;
            for candidate in candidates {
                let is_copy = match needs_copy {
                    true => candidate.is_copied_by(document, fingerprinter)?,
                    false => candidate.stored.text_hash() == Some(document.text_hash),
                };
                let similarity = if is_copy || needs_copy {
                    is_copy.then_some(1.0)
                } else {
                    let Some(features) = self.evidence_of(&candidate, fingerprinter)? else { continue };
                    features.decode_into(&mut others).ok_or_else(|| damaged(&candidate.key))?;
                    if is_only {
                        self.outlines().insert(row, &others);
                    }
                    own_set(&mut own, document)?.0.similarity(&others, least)
                };
                let Some(similarity) = similarity else { continue };
                let is_better = |(of_best, best): &(f64, Candidate)| {
                    similarity > *of_best || similarity == *of_best && candidate.sequence < best.sequence
                };
                if best.as_ref().is_none_or(is_better) {
                    best = Some((similarity, candidate));
                }
            }
        }
        Ok(best.map_or(Verdict::New, |(similarity, candidate)| Verdict::Near(candidate, similarity)))
    }

    /// The set of features of a kept document, as it is stored or from its text. `None` if nothing is
    /// stored of it: a row that was not stored as a document.
    fn evidence_of(
        &mut self,
        candidate: &Candidate,
        fingerprinter: &mut AnyFingerprinter,
    ) -> Result<Option<Features>> {
        if let Some(stored) = self.features_of(candidate)? {
            return Ok(Some(stored));
        }
        if !candidate.stored.is_text() {
            return Ok(None);
        }
        let text = self.text_of(candidate)?;
        Ok(Some(fingerprinter.fingerprint(&text).features))
    }

    /// Whether a document with the same key is near.
    fn has_key_near(&mut self, document: Document<'_>, k: u32) -> Result<bool> {
        let Some((fingerprint, k)) = document.look_up(k) else { return Ok(false) };
        for row in self.query(fingerprint, k)? {
            if self.has_key(row, document)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a row is of a document with the same key.
    fn has_key(&mut self, row: AnyMatch, document: Document<'_>) -> Result<bool> {
        Ok(self.candidates(row, document)?.iter().any(|candidate| candidate.key == document.key))
    }
}

/// The documents of a row, under the keys that count. Without a `start`, all of them are known ones; with it, those from
/// this sequence number on are [read](Candidate::is_read).
fn candidates(
    Match { fingerprint, id, distance }: AnyMatch,
    document: Document<'_>,
    (origin, keys): (Origin, Vec<RowKey>),
    start: Option<u64>,
    counts: impl Fn(&RowKey) -> bool,
) -> Vec<Candidate> {
    let has_same_fingerprint = fingerprint == document.stored_fingerprint();
    let is_keyed = !keys.is_empty();
    let candidate = |sequence, key, stored| Candidate {
        distance,
        has_same_fingerprint,
        sequence,
        is_known: start.is_none(),
        position: None,
        is_read: is_keyed && start.is_some_and(|start| sequence >= start),
        key,
        stored,
    };
    if !is_keyed {
        // A row without a key takes its id as one, and precedes all rows with keys.
        return vec![candidate(0, id.to_string(), Stored::default())];
    }
    let keys = keys.into_iter().filter(counts);
    let read = |text| Stored::read(origin, text);
    keys.map(|RowKey { key, sequence, text, .. }| candidate(sequence, key, read(text))).collect()
}

/// The documents that were kept before a run.
#[derive(Clone)]
pub(crate) struct KnownDocuments {
    pub(crate) snapshot: AnySnapshot,
    /// The sequence numbers of keys that do not count.
    pub(crate) ignored: Vec<Range<u64>>,
    pub(crate) outlines: Outlines,
}

impl KeptDocuments for KnownDocuments {
    fn outlines(&mut self) -> &mut Outlines {
        &mut self.outlines
    }

    fn query(&mut self, fingerprint: AnyFingerprint, k: u32) -> Result<Vec<AnyMatch>> {
        Ok(self.snapshot.matches(fingerprint, k)?)
    }

    fn query_by_bands(
        &mut self,
        fingerprint: AnyFingerprint,
        distances: &BandDistances,
    ) -> Result<Vec<AnyMatch>> {
        Ok(self.snapshot.matches_by_bands(fingerprint, distances)?)
    }

    fn candidates(&mut self, row: AnyMatch, document: Document<'_>) -> Result<Vec<Candidate>> {
        let keys = self.snapshot.keys_of(row.fingerprint.words(), row.id)?;
        let is_ignored = |sequence| self.ignored.iter().any(|ignored| ignored.contains(&sequence));
        let counts = |key: &RowKey| !(is_ignored(key.sequence) && is_ignored(key.last_sequence));
        let origin = Origin::Database(self.snapshot.key_storage());
        Ok(candidates(row, document, (origin, keys), None, counts))
    }

    fn text_of(&mut self, candidate: &Candidate) -> Result<String> {
        candidate.stored.decompress(&candidate.key)
    }

    fn features_of(&mut self, candidate: &Candidate) -> Result<Option<Features>> {
        Ok(candidate.stored.features().map(Features::from_bytes))
    }
}

/// The documents that a run has kept so far, those included that its database had before.
pub(crate) struct FreshDocuments<'a, T> {
    pub(crate) writer: &'a mut AnyWriter,
    pub(crate) origin: Origin,
    /// The sequence number of the first one that is [read](Candidate::is_read).
    pub(crate) start: u64,
    /// Reads the text of a document.
    pub(crate) read: T,
    /// The sets of features of documents that are remembered temporarily.
    pub(crate) sets: &'a mut TemporaryBytes,
    pub(crate) outlines: &'a mut Outlines,
}

impl<T: FnMut(&Candidate) -> Result<String>> KeptDocuments for FreshDocuments<'_, T> {
    fn outlines(&mut self) -> &mut Outlines {
        self.outlines
    }

    fn query(&mut self, fingerprint: AnyFingerprint, k: u32) -> Result<Vec<AnyMatch>> {
        Ok(self.writer.matches(fingerprint, k)?)
    }

    fn query_by_bands(
        &mut self,
        fingerprint: AnyFingerprint,
        distances: &BandDistances,
    ) -> Result<Vec<AnyMatch>> {
        Ok(self.writer.matches_by_bands(fingerprint, distances)?)
    }

    fn candidates(&mut self, row: AnyMatch, document: Document<'_>) -> Result<Vec<Candidate>> {
        let keys = self.writer.keys_of(row.fingerprint.words(), row.id)?;
        Ok(candidates(row, document, (self.origin, keys), Some(self.start), |_| true))
    }

    fn text_of(&mut self, candidate: &Candidate) -> Result<String> {
        (self.read)(candidate)
    }

    fn features_of(&mut self, candidate: &Candidate) -> Result<Option<Features>> {
        match candidate.stored.span() {
            Some(span) => Ok(Some(Features::from_listed_bytes(&self.sets.get(span)?))),
            None => Ok(candidate.stored.features().map(Features::from_bytes)),
        }
    }
}
