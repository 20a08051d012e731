//! Compares the documents of candidate pairs, on all threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::evidence::EvidenceReader;
use crate::error::Result;
use crate::recipe::Candidates;
use nearprint::Row;
use nearprint::any::{AnyFingerprint, AnyRow, Columns};
use nearprint::internal::for_each;

/// Two similar documents.
pub(super) struct SimilarPair {
    /// The number of the pair of rows that has them.
    pub(super) row: usize,
    pub(super) key: String,
    pub(super) other_key: String,
    pub(super) similarity: f64,
}

/// The rows of a pair.
pub(super) fn rows_of(pair: &AnyRow<'_>) -> (Row<AnyFingerprint>, Row<AnyFingerprint>) {
    (pair.row(), pair.other_row())
}

/// Compares the documents of pairs of rows. Each thread has readers of its own.
pub(super) struct PairComparer {
    workers: Vec<Worker>,
    near: Candidates,
    undecided: Arc<AtomicU64>,
}

#[derive(Clone)]
struct Worker {
    one: EvidenceReader,
    /// For pairs between two databases.
    other: Option<EvidenceReader>,
}

impl PairComparer {
    /// `other` reads the second rows, if they are of another database. Candidates that are passed over are
    /// added to `undecided`.
    pub(super) fn new(
        (one, other): (EvidenceReader, Option<EvidenceReader>),
        threads: usize,
        near: Candidates,
        undecided: Arc<AtomicU64>,
    ) -> Self {
        Self { workers: vec![Worker { one, other }; threads.max(1)], near, undecided }
    }

    /// The similar documents of pairs of rows, in their order. `chosen` are the numbers of the pairs that are
    /// compared if they are candidates, ascending.
    pub(super) fn decide(&mut self, pairs: &Columns, chosen: &[usize]) -> Result<Vec<SimilarPair>> {
        let (threads, near, undecided) = (self.workers.len(), &self.near, &*self.undecided);
        let parts = chosen.chunks(chosen.len().div_ceil(threads).max(1));
        let mut outcomes: Vec<Result<Vec<SimilarPair>>> = (0..threads).map(|_| Ok(Vec::new())).collect();
        for_each(
            threads,
            self.workers.iter_mut().zip(parts).zip(&mut outcomes),
            |((worker, part), outcome)| {
                *outcome = worker.decide(pairs, part, near, undecided);
            },
        );
        let mut similar = Vec::new();
        for outcome in outcomes {
            similar.extend(outcome?);
        }
        Ok(similar)
    }
}

impl Worker {
    fn decide(
        &mut self,
        pairs: &Columns,
        chosen: &[usize],
        near: &Candidates,
        undecided: &AtomicU64,
    ) -> Result<Vec<SimilarPair>> {
        let mut similar = Vec::new();
        for &row in chosen {
            let Some(pair) = pairs.get(row) else { continue };
            if !near.contain_words(pair.fingerprint, pair.other_fingerprint) {
                continue;
            }
            let (a, b) = rows_of(&pair);
            let a = self.one.documents(a)?;
            let b = self.other.as_mut().unwrap_or(&mut self.one).documents(b)?;
            if a.is_empty() || b.is_empty() {
                undecided.fetch_add(1, Ordering::Relaxed);
            }
            for (a, b) in a.iter().flat_map(|a| b.iter().map(move |b| (a, b))) {
                if let Some(similarity) = a.set.similarity(&b.set, near.least()) {
                    let (key, other_key) = (a.key.clone(), b.key.clone());
                    similar.push(SimilarPair { row, key, other_key, similarity });
                }
            }
        }
        Ok(similar)
    }
}
