//! The documents of a database: similar ones, by exact similarities.
//!
//! A database that keeps [evidence](crate::dedup::Evidence) with its documents, as `dedup` makes it, does
//! not have to estimate. Fingerprints find candidates, and the sets of features decide:
//! [`StoredDocuments`] finds pairs, clusters, pairs between two databases, and what is similar to a text.
//!
//! ```
//! use nearprint::AnyDatabase;
//! use nearprint_text::dedup::{DedupOptions, Deduplicator};
//! use nearprint_text::stored::StoredDocuments;
//!
//! # let home = tempfile::tempdir().unwrap();
//! # let path = home.path().join("seen.np");
//! let mut dedup = Deduplicator::open(&path, DedupOptions::new("minhash".parse()?))?;
//! dedup.decide("first", "one two three four five six seven")?;
//! dedup.decide("second", "zero two three four five six seven")?;
//! dedup.finish()?;
//!
//! let snapshot = AnyDatabase::open(&path)?.snapshot()?;
//! let documents = StoredDocuments::of(snapshot)?.expect("`dedup` stores features");
//! let pairs: Vec<_> = documents.row_pairs(0.6)?.collect::<Result<_, _>>()?;
//! assert_eq!((pairs[0].len(), pairs[0].similarities[0]), (1, 4.0 / 6.0));
//! # Ok::<(), nearprint_text::Error>(())
//! ```
//!
//! Results are [`Columns`](nearprint::any::Columns) with keys and similarities. A row that was stored
//! without evidence, by a writer of rows, is similar to nothing.

mod components;
mod evidence;
mod finder;
mod pair_comparer;
mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::dedup::{check_bands, stored_recipe};
use crate::error::{DatabaseProblem, Error, Result};
use crate::recipe::{Candidates, Recipe};
use components::Components;
use evidence::EvidenceReader;
pub use finder::Finder;
use nearprint::KeyStorage;
use nearprint::any::{AnyRow, AnySnapshot, AnyStream, Collector, Shape, Sink};
use pair_comparer::{PairComparer, rows_of};
pub use rows::DocumentRows;

/// Candidates that are decided at once.
const CANDIDATES_AT_ONCE: usize = 1 << 13;

/// The documents of a database that keeps evidence with them. Cheap to clone.
///
/// Two documents are similar if the [Jaccard similarity](crate::recipe::Features::similarity) of their sets
/// of features is at least a limit, from 0 to 1; documents without features, if their tokens are the
/// same. Of the similar ones nearly all are found: those whose fingerprints have an equal band. Nothing else
/// is found.
#[derive(Clone, Debug)]
pub struct StoredDocuments {
    snapshot: AnySnapshot,
    recipe: Recipe,
    undecided: Arc<AtomicU64>,
}

impl StoredDocuments {
    /// The documents of a database. `None` if it keeps no evidence, has no recipe, or one without sets of
    /// features.
    ///
    /// # Errors
    /// [`Error::Database`] for a recipe that this version does not support, or that makes fingerprints of
    /// another kind.
    pub fn of(snapshot: AnySnapshot) -> Result<Option<Self>> {
        let keeps_evidence =
            matches!(snapshot.key_storage(), KeyStorage::KeysAndFeatures | KeyStorage::KeysAndTexts);
        if !keeps_evidence || snapshot.bands().is_none() || snapshot.recipe().is_none() {
            return Ok(None);
        }
        let recipe = stored_recipe(snapshot.recipe(), &snapshot.folder())?;
        check_bands(snapshot.bands(), &recipe, &snapshot.folder())?;
        // A candidate is compared once, not once for each key.
        let snapshot = snapshot.without_keys();
        Ok(Some(Self { snapshot, recipe, undecided: Arc::default() }))
    }

    /// The recipe. Its [least similarity](Recipe::near_similarity) is the limit of near-duplicates.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The number of candidates so far that were passed over, because a row has no evidence. Clones count
    /// together.
    #[must_use]
    pub fn num_undecided(&self) -> u64 {
        self.undecided.load(Ordering::Relaxed)
    }

    /// All pairs of distinct fingerprints with similar documents, each once, with the largest similarity.
    /// The order depends only on the database and the limit.
    ///
    /// # Errors
    /// As [`AnySnapshot::pairs`]; blocks also fail for damaged evidence.
    pub fn pairs(&self, least: f64) -> Result<AnyStream> {
        self.similar_pairs(Shape::PAIRS, None, least)
    }

    /// All pairs of rows with similar documents, with a row of the result for each two of these: ids,
    /// keys, similarity. Otherwise as [`pairs`](Self::pairs).
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub fn row_pairs(&self, least: f64) -> Result<AnyStream> {
        self.similar_pairs(Shape { keys: true, ..Shape::ROW_PAIRS }, None, least)
    }

    /// All pairs of a fingerprint of this database and one of another database with similar documents,
    /// also of equal fingerprints. Otherwise as [`pairs`](Self::pairs).
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs); [`Error::Database`] if the fingerprints of the other database are made by
    /// another recipe.
    pub fn cross(&self, other: &Self, least: f64) -> Result<AnyStream> {
        self.similar_pairs(Shape::PAIRS, Some(other), least)
    }

    /// All pairs of a row of this database and a row of another one with similar documents. Otherwise as
    /// [`row_pairs`](Self::row_pairs).
    ///
    /// # Errors
    /// As [`cross`](Self::cross).
    pub fn cross_row_pairs(&self, other: &Self, least: f64) -> Result<AnyStream> {
        self.similar_pairs(Shape { keys: true, ..Shape::ROW_PAIRS }, Some(other), least)
    }

    /// The clusters of two rows or more that pairs with similar documents connect, numbered from 0 by
    /// their smallest fingerprint. The rows of a cluster follow each other, by (fingerprint, id), once for
    /// each of their documents; its similarity is the one with the first row of the cluster, however
    /// small it is.
    ///
    /// Memory: up to 160 bytes for each row in a cluster.
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub fn clusters(&self, least: f64) -> Result<AnyStream> {
        let shape = Shape { keys: true, similarities: true, ..Shape::CLUSTERS };
        let documents = self.clone();
        self.stream(shape, move |snapshot, out| {
            let near = documents.candidates(least)?;
            let k = near.distance();
            let mut comparer = documents.comparer(None, near)?;
            let mut components = Components::default();
            for pairs in snapshot.clone().with_block_rows(CANDIDATES_AT_ONCE).row_pairs(k)? {
                let pairs = pairs?;
                let rows: Vec<_> = pairs.rows().map(|pair| rows_of(&pair)).collect();
                let candidates: Vec<usize> =
                    (0..rows.len()).filter(|&at| !components.are_connected(rows[at])).collect();
                for similar in comparer.decide(&pairs, &candidates)? {
                    components.connect(rows[similar.row])?;
                }
            }
            push_clusters(&mut documents.reader()?, components, out)
        })
    }

    /// Finds the documents with at least a similarity to texts.
    ///
    /// # Errors
    /// [`Error::Recipe`] if the recipe makes fingerprints of another width.
    pub fn finder(&self, least: f64) -> Result<Finder> {
        let of = (&self.snapshot, &self.recipe);
        Ok(Finder::exact(of, self.reader()?, self.candidates(least)?, self.undecided.clone()))
    }

    /// The pairs that are compared.
    fn candidates(&self, least: f64) -> Result<Candidates> {
        let candidates = self.recipe.candidates(least);
        candidates.ok_or_else(|| DatabaseProblem::NoFeatures { path: self.snapshot.folder() }.into())
    }

    fn comparer(&self, other: Option<&Self>, candidates: Candidates) -> Result<PairComparer> {
        let other = other.map(Self::reader).transpose()?;
        Ok(PairComparer::new(
            (self.reader()?, other),
            self.snapshot.threads(),
            candidates,
            self.undecided.clone(),
        ))
    }

    fn reader(&self) -> Result<EvidenceReader> {
        EvidenceReader::new(&self.snapshot, &self.recipe)
    }

    fn similar_pairs(&self, shape: Shape, other: Option<&Self>, least: f64) -> Result<AnyStream> {
        if let Some(other) = other.filter(|other| !other.recipe.makes_fingerprints_of(&self.recipe)) {
            let (found, expected) = (Box::new(other.recipe.clone()), Box::new(self.recipe.clone()));
            return Err(
                DatabaseProblem::OtherRecipe { path: other.snapshot.folder(), found, expected }.into()
            );
        }
        let (documents, other) = (self.clone(), other.cloned());
        self.stream(Shape { similarities: true, ..shape }, move |snapshot, out| {
            let near = documents.candidates(least)?;
            let k = near.distance();
            let snapshot = snapshot.clone().with_block_rows(CANDIDATES_AT_ONCE);
            let candidates = match &other {
                Some(other) => snapshot.cross_row_pairs(&other.snapshot, k)?,
                None => snapshot.row_pairs(k)?,
            };
            let mut comparer = documents.comparer(other.as_ref(), near)?;
            let mut pending = None;
            for pairs in candidates {
                let pairs = pairs?;
                let all: Vec<usize> = (0..pairs.len()).collect();
                for similar in comparer.decide(&pairs, &all)? {
                    let Some(pair) = pairs.get(similar.row) else { continue };
                    let (key, other_key) = (Some(&*similar.key), Some(&*similar.other_key));
                    let pair = AnyRow { key, other_key, similarity: similar.similarity, ..pair };
                    if shape.ids {
                        out.push(&pair);
                        out.send_full()?;
                    } else if other.is_some() || pair.fingerprint != pair.other_fingerprint {
                        FingerprintPair::push(&mut pending, &pair, out)?;
                    }
                }
            }
            pending.map_or(Ok(()), |last| Ok(last.send(out)?))
        })
    }

    /// Runs `work` on a thread of its own.
    fn stream(
        &self,
        shape: Shape,
        work: impl FnOnce(&AnySnapshot, &mut Collector<'_>) -> Result<()> + Send + 'static,
    ) -> Result<AnyStream> {
        Ok(self.snapshot.stream_of(shape, move |snapshot, out| {
            work(snapshot, out).map_err(|error| match error {
                Error::Engine(error) => error,
                other => nearprint::Error::io("read", snapshot.folder())(std::io::Error::other(other)),
            })
        })?)
    }
}

/// Two fingerprints with similar documents, whose pairs of rows follow each other.
struct FingerprintPair {
    a: Vec<u64>,
    b: Vec<u64>,
    distance: u32,
    similarity: f64,
}

impl FingerprintPair {
    /// Adds a pair of rows. Passes on the pair of fingerprints before it, if it has others.
    fn push(pending: &mut Option<Self>, pair: &AnyRow<'_>, out: &mut Collector<'_>) -> nearprint::Result<()> {
        match pending {
            Some(last) if (&*last.a, &*last.b) == (pair.fingerprint, pair.other_fingerprint) => {
                last.similarity = last.similarity.max(pair.similarity);
                return Ok(());
            }
            _ => {}
        }
        let (a, b) = (pair.fingerprint.to_vec(), pair.other_fingerprint.to_vec());
        let next = Self { a, b, distance: pair.distance, similarity: pair.similarity };
        pending.replace(next).map_or(Ok(()), |last| last.send(out))
    }

    fn send(self, out: &mut Collector<'_>) -> nearprint::Result<()> {
        let Self { a, b, distance, similarity } = self;
        let pair =
            AnyRow { fingerprint: &a, other_fingerprint: &b, distance, similarity, ..AnyRow::default() };
        out.push(&pair);
        out.send_full()
    }
}

/// Passes on the rows of all clusters.
fn push_clusters(reader: &mut EvidenceReader, components: Components, out: &mut Collector<'_>) -> Result<()> {
    let members = components.clusters();
    for cluster in members.chunk_by(|a, b| a.0 == b.0) {
        let first = reader.documents(cluster[0].1)?;
        for &(group, row) in cluster {
            for document in &*reader.documents(row)? {
                let similarities = first.iter().filter_map(|first| first.set.similarity(&document.set, 0.0));
                let similarity = similarities.fold(0.0, f64::max);
                let key = Some(&*document.key);
                let (fingerprint, id) = (row.fingerprint.words(), row.id);
                out.push(&AnyRow { group, fingerprint, id, key, similarity, ..AnyRow::default() });
            }
        }
        out.send_full()?;
    }
    Ok(())
}
