//! What a snapshot answers, whatever its width.

use std::any::Any;
use std::path::Path;

use nearprint::internal::{fingerprints, words};
use nearprint::{Explanation, Fingerprint, Match, Query, Result, Row, RowKey, Snapshot, Stats};

use crate::columns::{Columns, Entry};
use crate::error::{Failure, Outcome};
use crate::status::nearprint_status::NEARPRINT_MISMATCH;
use crate::stream::nearprint_stream;

/// The matches of one query as arrays.
#[derive(Default)]
pub(crate) struct MatchColumns {
    pub(crate) fingerprints: Vec<u64>,
    pub(crate) ids: Vec<u64>,
    pub(crate) distances: Vec<u32>,
}

impl MatchColumns {
    fn fill<F: Fingerprint>(&mut self, matches: &[Match<F>]) {
        self.fingerprints.clear();
        self.fingerprints.extend(matches.iter().flat_map(|found| words(found.fingerprint)));
        self.ids.clear();
        self.ids.extend(matches.iter().map(|found| found.id));
        self.distances.clear();
        self.distances.extend(matches.iter().map(|found| found.distance));
    }
}

/// Receives the matches of a query.
pub(crate) type VisitMatches<'a> = &'a mut dyn FnMut(usize, &MatchColumns) -> Outcome;

/// A snapshot of any width.
pub(crate) trait Reading: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn refresh(&self) -> Result<Box<dyn Reading>>;
    fn query(&self, fingerprint: &[u64], k: u32, columns: &mut Columns<'_>) -> Result<()>;
    fn nearest(&self, fingerprint: &[u64], max_k: u32, columns: &mut Columns<'_>) -> Result<()>;
    fn query_batch(&self, words: &[u64], k: u32, limit: usize, columns: &mut Columns<'_>) -> Result<()>;
    fn visit_matches(&self, words: &[u64], k: u32, limit: usize, visit: VisitMatches<'_>) -> Outcome;
    fn rows(&self) -> Outcome<nearprint_stream>;
    fn pairs(&self, k: u32) -> Outcome<nearprint_stream>;
    fn row_pairs(&self, k: u32) -> Outcome<nearprint_stream>;
    fn clusters(&self, k: u32) -> Outcome<nearprint_stream>;
    fn cross(&self, other: &dyn Reading, k: u32) -> Outcome<nearprint_stream>;
    fn cross_rows(&self, other: &dyn Reading, k: u32) -> Outcome<nearprint_stream>;
    fn keys_of(&self, fingerprint: &[u64], id: u64) -> Result<Vec<RowKey>>;
    fn ids_of_key(&self, key: &str, everywhere: bool) -> Result<Vec<u64>>;
    fn fingerprints_of(&self, id: u64) -> Result<Vec<u64>>;
    fn stats(&self) -> Stats;
    fn recipe(&self) -> Option<&str>;
    fn explain(&self, k: u32) -> Explanation;
    fn backup(&self, path: &Path) -> Result<()>;
}

impl<F: Fingerprint> Reading for Snapshot<F> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn refresh(&self) -> Result<Box<dyn Reading>> {
        Ok(Box::new(Self::refresh(self)?))
    }

    fn query(&self, fingerprint: &[u64], k: u32, columns: &mut Columns<'_>) -> Result<()> {
        let matches = Self::query(self, F::from_le_words(fingerprint), k)?;
        matches.into_iter().for_each(|found| columns.push(&Entry::of_match(0, found)));
        Ok(())
    }

    fn nearest(&self, fingerprint: &[u64], max_k: u32, columns: &mut Columns<'_>) -> Result<()> {
        let matches = Self::query(
            self,
            F::from_le_words(fingerprint),
            Query::nearest(columns.capacity()).max_k(max_k),
        )?;
        matches.into_iter().for_each(|found| columns.push(&Entry::of_match(0, found)));
        Ok(())
    }

    fn query_batch(&self, words: &[u64], k: u32, limit: usize, columns: &mut Columns<'_>) -> Result<()> {
        let queries: Vec<F> = fingerprints(words).collect();
        self.query_batch(&queries, Query::within(k).limit(limit), |query, matches| {
            matches.iter().for_each(|&found| columns.push(&Entry::of_match(query as u64, found)));
            Ok(())
        })
    }

    fn visit_matches(&self, words: &[u64], k: u32, limit: usize, visit: VisitMatches<'_>) -> Outcome {
        let queries: Vec<F> = fingerprints(words).collect();
        let mut columns = MatchColumns::default();
        self.query_batch(&queries, Query::within(k).limit(limit), |query, matches| {
            columns.fill(matches);
            visit(query, &columns)
        })
    }

    fn rows(&self) -> Outcome<nearprint_stream> {
        Ok(nearprint_stream::rows(Self::rows(self)?))
    }

    fn pairs(&self, k: u32) -> Outcome<nearprint_stream> {
        Ok(nearprint_stream::pairs(Self::pairs(self, k)?))
    }

    fn row_pairs(&self, k: u32) -> Outcome<nearprint_stream> {
        Ok(nearprint_stream::row_pairs(Self::row_pairs(self, k)?))
    }

    fn clusters(&self, k: u32) -> Outcome<nearprint_stream> {
        Ok(nearprint_stream::clusters(Self::clusters(self, k)?))
    }

    fn cross(&self, other: &dyn Reading, k: u32) -> Outcome<nearprint_stream> {
        Ok(nearprint_stream::pairs(Self::cross(self, same_width(self, other)?, k)?))
    }

    fn cross_rows(&self, other: &dyn Reading, k: u32) -> Outcome<nearprint_stream> {
        Ok(nearprint_stream::row_pairs(self.cross_row_pairs(same_width(self, other)?, k)?))
    }

    fn keys_of(&self, fingerprint: &[u64], id: u64) -> Result<Vec<RowKey>> {
        Self::keys_of(self, Row { fingerprint: F::from_le_words(fingerprint), id })
    }

    fn ids_of_key(&self, key: &str, everywhere: bool) -> Result<Vec<u64>> {
        if everywhere { self.ids_of_key_scan(key) } else { Self::ids_of_key(self, key) }
    }

    fn fingerprints_of(&self, id: u64) -> Result<Vec<u64>> {
        Ok(Self::fingerprints_of(self, id)?.into_iter().flat_map(words).collect())
    }

    fn stats(&self) -> Stats {
        Self::stats(self)
    }

    fn recipe(&self) -> Option<&str> {
        Self::recipe(self)
    }

    fn explain(&self, k: u32) -> Explanation {
        Self::explain(self, k)
    }

    fn backup(&self, path: &Path) -> Result<()> {
        Self::backup(self, path)
    }
}

/// The other snapshot, if it has the same width.
fn same_width<'a, F: Fingerprint>(_: &Snapshot<F>, other: &'a dyn Reading) -> Outcome<&'a Snapshot<F>> {
    other.as_any().downcast_ref().ok_or_else(|| {
        let (one, other) = (F::BITS, other.stats().width.bits());
        Failure::new(NEARPRINT_MISMATCH, format!("other: fingerprints of {other} bits, not of {one} bits"))
    })
}
