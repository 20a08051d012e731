//! Queries of a snapshot and batches of them; keys and ids.

use std::cell::RefCell;

use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint, Row};
use crate::progress::{NO_PROGRESS, ProgressFn};
use crate::query::search::Searcher;
use crate::query::{Match, Query, RowKey, batch};
use crate::util::visitor::CallerError;

/// Receives the number of each query, in their order, and its matches.
pub(super) type VisitAnswers<'a, F> = &'a mut dyn FnMut(usize, &[Match<F>]) -> Result<()>;

thread_local! {
    static SEARCHER: RefCell<Option<Searcher<'static>>> = const { RefCell::new(None) };
}

impl<F: Fingerprint> Snapshot<F> {
    /// The rows near a fingerprint, by (distance, fingerprint, id). Exact for any [`Query`].
    ///
    /// ```
    /// # use nearprint::{Database, Query, Schema};
    /// # let home = tempfile::tempdir()?;
    /// # let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// # for fingerprint in [0b0111, 0b0001, 0b0001] {
    /// #     builder.push(fingerprint)?;
    /// # }
    /// # let snapshot = builder.finish()?.snapshot()?;
    /// assert_eq!(snapshot.query(0b0011, 1)?.len(), 3);
    /// let nearest = snapshot.query(0b0011, Query::nearest(1))?;
    /// assert_eq!((nearest[0].fingerprint, nearest[0].distance), (0b0001, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`explain`](Snapshot::explain) gives the cost.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when a page that the answer needs is damaged.
    pub fn query(&self, fingerprint: F, query: impl Into<Query>) -> Result<Vec<Match<F>>> {
        F::query(self, fingerprint, query.into())
    }

    pub(super) fn answer(
        &self,
        fingerprint: F,
        query: Query,
        progress: ProgressFn<'_>,
    ) -> Result<Vec<Match<F>>> {
        query.answer(self.view(), |k| {
            let found = self.within(fingerprint, k, query.most_rows())?;
            progress(0)?;
            Ok(found)
        })
    }

    /// The first `limit` rows within a distance.
    fn within(&self, fingerprint: F, k: Distance, limit: usize) -> Result<Vec<Match<F>>> {
        SEARCHER.with_borrow_mut(|searcher| {
            let searcher = searcher.get_or_insert_with(|| Searcher::new(self.kernel(), NO_PROGRESS));
            let (group, mut found) = ([fingerprint], Vec::new());
            if limit < usize::MAX {
                let k = (k, limit);
                let _ = self.view().search_limited(searcher, &group, k, usize::MAX, &mut found)?;
                return Ok(found.into_iter().map(|(_, found)| found).collect());
            }
            let _ = self.view().search(searcher, &group, k, usize::MAX, &mut found)?;
            let mut matches: Vec<Match<F>> = found.into_iter().map(|(_, found)| found).collect();
            matches.sort_unstable();
            matches.dedup();
            Ok(matches)
        })
    }

    /// [`query`](Snapshot::query) for many fingerprints, on all threads of the options.
    ///
    /// `visit` receives the index of each query and its matches, in the order of the queries; the
    /// matches may be empty. An error of `visit` ends the batch and is returned.
    ///
    /// Large batches within a distance are answered table by table, which is faster than single
    /// queries. The first 524,288 queries of a thread are then answered before any result is passed
    /// on. Memory: up to 128 bytes for each of these, per thread, and about 100 bytes for each
    /// match of one query; rows beyond the limit of a query take none.
    ///
    /// Reports progress in answered queries, and can be cancelled at any time.
    ///
    /// # Errors
    /// As [`query`](Snapshot::query), errors of `visit`, and [`Error::Interrupted`].
    ///
    /// ```
    /// # use nearprint::{Database, Error, Schema};
    /// # let home = tempfile::tempdir()?;
    /// # let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// # builder.push(0b0001)?;
    /// # let snapshot = builder.finish()?.snapshot()?;
    /// let mut counts = Vec::new();
    /// snapshot.query_batch(&[0b0011, u64::MAX], 3, |_, matches| {
    ///     counts.push(matches.len());
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(counts, [1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_batch<E: From<Error>>(
        &self,
        fingerprints: &[F],
        query: impl Into<Query>,
        mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut caller = CallerError::new();
        let mut visit = |index: usize, matches: &[Match<F>]| caller.keep(visit(index, matches));
        let done = F::query_batch(self, fingerprints, query.into(), &mut visit);
        caller.or(done)
    }

    /// Answers a batch. `progress` receives the number of newly answered queries.
    pub(super) fn answer_batch(
        &self,
        fingerprints: &[F],
        query: Query,
        progress: ProgressFn<'_>,
        visit: VisitAnswers<'_, F>,
    ) -> Result<()> {
        let workers = self.workers(progress);
        if query.grows() {
            let answer = |fingerprint| self.answer(fingerprint, query, progress);
            return batch::one_by_one(workers, fingerprints, visit, answer);
        }
        let wanted = (query.distance::<F>(), query.most_rows());
        batch::query(self.view(), workers, fingerprints, wanted, visit)
    }

    /// The keys of a row, ascending; empty if the row has no key or does not exist.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn keys_of(&self, row: Row<F>) -> Result<Vec<RowKey>> {
        F::keys_of(self, row)
    }

    /// The ids of the rows that have a key, ascending: a look-up by the hash of the key.
    ///
    /// Finds the rows whose ids were made from their keys: all rows that were inserted with a key and without
    /// an id. For others use [`ids_of_key_scan`](Snapshot::ids_of_key_scan).
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn ids_of_key(&self, key: &str) -> Result<Vec<u64>> {
        F::ids_of_key(self, key)
    }

    /// The ids of all rows that have a key, ascending: one walk over all keys.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn ids_of_key_scan(&self, key: &str) -> Result<Vec<u64>> {
        F::ids_of_key_scan(self, key)
    }

    /// The fingerprints stored under an id, without a walk over all rows; `None` if that is not possible.
    pub(crate) fn fingerprints_by_keys(&self, id: u64) -> Result<Option<Vec<F>>> {
        self.view().fingerprints_by_keys(id)
    }

    /// The fingerprints stored under an id, ascending. Costs a look-up if all rows have keys, and otherwise
    /// one walk over all rows, because there is no index by id.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn fingerprints_of(&self, id: u64) -> Result<Vec<F>> {
        F::fingerprints_of(self, id)
    }
}

impl<F: Fingerprint> Snapshot<F> {
    pub(super) fn keys_of_row(&self, row: Row<F>) -> Result<Vec<RowKey>> {
        let mut keys = Vec::new();
        self.view().keys_of(row, 0, &mut keys)?;
        Ok(RowKey::distinct(keys))
    }

    pub(super) fn fingerprints_of_id(&self, id: u64) -> Result<Vec<F>> {
        if let Some(found) = self.fingerprints_by_keys(id)? {
            return Ok(found);
        }
        let mut found = Vec::new();
        for row in self.merged().rows()? {
            let row = row?;
            if row.id == id {
                found.push(row.fingerprint);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::mix64;
    use crate::{Options, Schema};

    /// Several runs, deleted rows, an unflushed rest, and fingerprints with thousands of rows.
    fn snapshot() -> (tempfile::TempDir, Snapshot<u64>) {
        let home = tempfile::tempdir().unwrap();
        let options = Options::new().background_merges(false).memtable_rows(4000);
        let database = options.create::<u64>(home.path().join("db"), &Schema::new()).unwrap();
        let mut writer = database.writer().unwrap();
        for id in 0..15_000 {
            let fingerprint = mix64(mix64(id) % 7) ^ 1 << (mix64(id) % 3) & (id % 5);
            writer.insert(Row { fingerprint, id: id % 11_000 }).unwrap();
            if id % 3 == 0 {
                writer.delete(mix64(id + 1) % 11_000).unwrap();
            }
            if id % 1000 == 0 {
                writer.commit().unwrap();
            }
        }
        let snapshot = writer.snapshot().unwrap();
        assert!(snapshot.stats().runs.len() > 1 && snapshot.stats().tombstones > 0);
        (home, snapshot)
    }

    #[test]
    fn limited_queries_return_the_first_rows() {
        let (_home, snapshot) = snapshot();
        let queries: Vec<u64> = (0..9).map(mix64).chain([mix64(3) ^ 0b11, 5]).collect();
        for k in [0, 2, 5, 64] {
            for limit in [0, 1, 2, 700, 1024, 1025, 100_000] {
                let mut batch = Vec::new();
                let collect = |_, matches: &[Match<u64>]| -> Result<()> {
                    batch.push(matches.to_vec());
                    Ok(())
                };
                snapshot.query_batch(&queries, Query::within(k).limit(limit), collect).unwrap();
                for (&query, batched) in queries.iter().zip(&batch) {
                    let all = snapshot.query(query, k).unwrap();
                    let first = &all[..limit.min(all.len())];
                    assert_eq!(
                        snapshot.query(query, Query::within(k).limit(limit)).unwrap(),
                        first,
                        "k {k}, limit {limit}"
                    );
                    assert_eq!(batched, first, "in a batch");
                }
            }
        }
    }
}
