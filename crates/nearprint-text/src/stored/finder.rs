//! Documents that are near a text.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::evidence::{EvidenceReader, FeatureSet, PreparedText};
use crate::dedup::stored_recipe;
use crate::error::Result;
use crate::recipe::{Candidates, Comparable, Recipe};
use nearprint::any::{AnyRow, AnySnapshot, Columns, Shape, Sink};
use nearprint::{Query, Row};

/// Finds the documents of a database that are near a text. Each thread needs its own; cloning is
/// cheap.
#[derive(Clone)]
pub struct Finder {
    snapshot: AnySnapshot,
    recipe: Recipe,
    reader: EvidenceReader,
    query: Query,
    exact: Option<Exact>,
}

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finder").field("recipe", &self.recipe).finish_non_exhaustive()
    }
}

/// How evidence decides.
#[derive(Clone)]
struct Exact {
    candidates: Candidates,
    undecided: Arc<AtomicU64>,
}

impl Finder {
    /// The columns of what is found.
    pub const SHAPE: Shape = Shape { keys: true, similarities: true, ..Shape::MATCHES };

    /// Finds the documents with at least a similarity, exactly.
    pub(super) fn exact(
        (snapshot, recipe): (&AnySnapshot, &Recipe),
        reader: EvidenceReader,
        candidates: Candidates,
        undecided: Arc<AtomicU64>,
    ) -> Self {
        let query = candidates.distance().into();
        let exact = Some(Exact { candidates, undecided });
        Self { snapshot: snapshot.clone(), recipe: recipe.clone(), reader, query, exact }
    }

    /// Finds the rows that a query for the fingerprint of a text finds. Serves all databases with a recipe;
    /// similarities are [estimates](Recipe::similarity).
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database) for a database without a recipe, or with one that this
    /// version does not support; [`Error::Recipe`](crate::Error::Recipe) if it makes fingerprints of another
    /// width.
    pub fn by_distance(snapshot: &AnySnapshot, query: impl Into<Query>) -> Result<Self> {
        let recipe = stored_recipe(snapshot.recipe(), &snapshot.folder())?;
        let reader = EvidenceReader::new(snapshot, &recipe)?;
        let snapshot = snapshot.clone().with_keys();
        Ok(Self { snapshot, recipe, reader, query: query.into(), exact: None })
    }

    /// Passes on what is near the documents of a stored row in all databases, as [`find`](Self::find) does for a text:
    /// itself, too. The row is one of any of them, whose recipes make the same fingerprints. Without evidence for it,
    /// fingerprints decide.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_row(
        finders: &mut [Self],
        query: u64,
        (fingerprint, id): (&[u64], u64),
        limit: usize,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let row = Row { fingerprint: fingerprint.into(), id };
        let documents = finders.iter_mut().map(|finder| finder.reader.documents(row));
        let documents = documents.collect::<Result<Vec<_>>>()?;
        let are_undecided = documents.iter().all(|documents| documents.is_empty());
        for finder in finders {
            if are_undecided || finder.exact.is_none() {
                finder.find_print(query, (fingerprint, None), finder.query, (limit, sink))?;
                continue;
            }
            for document in documents.iter().flat_map(|documents| documents.iter()) {
                let request = if document.set.has_features() { finder.query } else { Query::within(0) };
                finder.find_print(query, (fingerprint, Some(&document.set)), request, (limit, sink))?;
            }
        }
        Ok(())
    }

    /// Passes what is near a text on to `sink`: the most similar documents first, equally similar ones by
    /// distance, fingerprint, id and key; at most `limit`. `query` is the group of these rows.
    ///
    /// Of a text without features, only documents with the same tokens are found, and of a text without
    /// tokens nothing.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) for a damaged database,
    /// [`Error::Input`](crate::Error::Input) for damaged evidence.
    pub fn find(&mut self, query: u64, text: &str, limit: usize, sink: &mut dyn Sink) -> Result<()> {
        let text = PreparedText::new(&mut self.reader.texts, text);
        let request = match text.comparable {
            Comparable::Features => self.query,
            Comparable::Tokens => Query::within(0),
            Comparable::Nothing => return Ok(()),
        };
        let fingerprint = text.fingerprint;
        let set = self.exact.as_ref().map(|_| text.into_set("a text")).transpose()?;
        self.find_print(query, (fingerprint.words(), set.as_ref()), request, (limit, sink))
    }

    /// What is near a fingerprint: of those whose features are near the set, if there is one.
    fn find_print(
        &mut self,
        query: u64,
        (fingerprint, set): (&[u64], Option<&FeatureSet>),
        request: Query,
        (limit, sink): (usize, &mut dyn Sink),
    ) -> Result<()> {
        let mut found = Columns::new(self.snapshot.width(), self.snapshot.match_shape());
        self.snapshot.query(fingerprint, request, &mut found)?;
        let Some((exact, set)) = self.exact.as_ref().zip(set) else {
            for row in found.rows().take(limit) {
                let similarity = self.recipe.similarity(row.distance);
                sink.push(&AnyRow { group: query, similarity, ..row });
            }
            return Ok(());
        };
        for similar in exact.similar((fingerprint, set), &found, &mut self.reader)?.iter().take(limit) {
            let Some(row) = found.get(similar.row) else { continue };
            let (key, similarity) = (Some(&*similar.key), similar.similarity);
            sink.push(&AnyRow { group: query, key, similarity, ..row });
        }
        Ok(())
    }
}

/// A document that is similar to a text.
struct Similar {
    /// The number of its row.
    row: usize,
    key: String,
    similarity: f64,
}

impl Exact {
    /// The similar documents of rows, the most similar first.
    fn similar(
        &self,
        (fingerprint, set): (&[u64], &FeatureSet),
        rows: &Columns,
        reader: &mut EvidenceReader,
    ) -> Result<Vec<Similar>> {
        let mut similar = Vec::new();
        let mut last = None;
        for (at, row) in rows.rows().enumerate() {
            if !self.candidates.contain_words(fingerprint, row.fingerprint) {
                continue;
            }
            let row = row.row();
            // A snapshot with keys repeats a row for each of them.
            if last.replace(row) == Some(row) {
                continue;
            }
            let documents = reader.documents(row)?;
            self.undecided.fetch_add(u64::from(documents.is_empty()), Ordering::Relaxed);
            for document in &*documents {
                if let Some(similarity) = set.similarity(&document.set, self.candidates.least()) {
                    similar.push(Similar { row: at, key: document.key.clone(), similarity });
                }
            }
        }
        // Stable: rows are by (distance, fingerprint, id), and their documents by key.
        similar.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
        Ok(similar)
    }
}
