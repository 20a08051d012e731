//! Queries of a snapshot: within k bits, the nearest ones, and batches of both; keys and ids.

use std::cell::RefCell;

use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint, Row};
use crate::progress::{NO_PROGRESS, ProgressFn, Stage};
use crate::query::search::Searcher;
use crate::query::{Match, RowKey, batch};
use crate::util::visitor::CallerError;

/// Steps in which a growing search increases k once it scans.
const SCAN_STEP: u32 = 4;

thread_local! {
    static SEARCHER: RefCell<Option<Searcher<'static>>> = const { RefCell::new(None) };
}

impl<F: Fingerprint> Snapshot<F> {
    /// All rows whose fingerprint differs from `fingerprint` in at most `k` bits, by (distance,
    /// fingerprint, id).
    ///
    /// Exact for any k. [`explain`](Snapshot::explain) gives the cost.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when a page that the answer needs is damaged.
    pub fn query(&self, fingerprint: F, k: u32) -> Result<Vec<Match<F>>> {
        SEARCHER.with_borrow_mut(|searcher| {
            let searcher = searcher.get_or_insert_with(|| Searcher::new(self.kernel(), NO_PROGRESS));
            let (k, mut found) = (Distance::saturating::<F>(k), Vec::new());
            let _ = self.view().search(searcher, &[fingerprint], k, usize::MAX, &mut found)?;
            let mut matches: Vec<Match<F>> = found.into_iter().map(|(_, found)| found).collect();
            matches.sort_unstable();
            matches.dedup();
            Ok(matches)
        })
    }

    /// The first `limit` rows of [`query`](Snapshot::query). Looks up no others: a million rows of
    /// one fingerprint cost as much as `limit` of them.
    ///
    /// # Errors
    /// As [`query`](Snapshot::query).
    ///
    /// ```
    /// # use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// for fingerprint in [0b0111, 0b0001, 0b0001, 0b0001] {
    ///     builder.push(fingerprint, None)?;
    /// }
    /// let snapshot = builder.finish()?.snapshot()?;
    /// let first: Vec<u64> = snapshot.query_limited(0b0001, 3, 2)?.iter().map(|found| found.id).collect();
    /// assert_eq!(first, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_limited(&self, fingerprint: F, k: u32, limit: usize) -> Result<Vec<Match<F>>> {
        SEARCHER.with_borrow_mut(|searcher| {
            let searcher = searcher.get_or_insert_with(|| Searcher::new(self.kernel(), NO_PROGRESS));
            let (k, mut found) = (Distance::saturating::<F>(k), Vec::new());
            let _ =
                self.view().search_limited(searcher, &[fingerprint], (k, limit), usize::MAX, &mut found)?;
            Ok(found.into_iter().map(|(_, found)| found).collect())
        })
    }

    /// The `count` nearest rows at most `max_k` bits away, by (distance, fingerprint, id). Exact;
    /// ties are included as far as the count allows.
    ///
    /// Grows k until enough rows are found. Costs about as much as the last of these queries, and a
    /// few scans where rows are far away.
    ///
    /// # Errors
    /// As [`query`](Snapshot::query).
    ///
    /// ```
    /// # use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// for fingerprint in [0b0001, 0b0111, u64::MAX] {
    ///     builder.push(fingerprint, None)?;
    /// }
    /// let snapshot = builder.finish()?.snapshot()?;
    /// let nearest = snapshot.nearest(0b0011, 2, 64)?;
    /// assert_eq!(nearest.iter().map(|found| found.distance).collect::<Vec<_>>(), [1, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nearest(&self, fingerprint: F, count: usize, max_k: u32) -> Result<Vec<Match<F>>> {
        self.nearest_with(fingerprint, count, max_k, NO_PROGRESS)
    }

    fn nearest_with(
        &self,
        fingerprint: F,
        count: usize,
        max_k: u32,
        progress: ProgressFn<'_>,
    ) -> Result<Vec<Match<F>>> {
        let most = Distance::saturating::<F>(max_k).bits();
        // Tables of bands cost the same whatever k.
        let mut k = if self.bands().is_some() { most } else { 0 };
        loop {
            let matches = self.query_limited(fingerprint, k, count)?;
            progress(0)?;
            if matches.len() >= count || k == most {
                return Ok(matches);
            }
            let at = Distance::saturating::<F>(k);
            let scans = self.view().searchables().iter().any(|run| run.at(at).scans());
            k = (k + if scans { SCAN_STEP } else { 1 }).min(most);
        }
    }

    /// [`query`](Snapshot::query) for many fingerprints, on all threads of the options.
    ///
    /// `visit` receives the index of each query and its matches, in the order of the queries; the
    /// matches may be empty. An error of `visit` ends the batch and is returned.
    ///
    /// Large batches are answered table by table, in a quarter to a half of the time of single
    /// queries. The first 524,288 queries of a thread are then answered before any result is passed
    /// on. Memory: up to 128 bytes for each of these, per thread, and about 100 bytes for each
    /// match of one query.
    ///
    /// Reports progress in answered queries, and can be cancelled at any time.
    ///
    /// # Errors
    /// As [`query`](Snapshot::query), those of `visit`, and [`Error::Interrupted`].
    ///
    /// ```
    /// # use nearprint::{Database, Error, Schema};
    /// # let home = tempfile::tempdir()?;
    /// # let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// # builder.push(0b0001, None)?;
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
        k: u32,
        visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.query_batch_limited(fingerprints, k, usize::MAX, visit)
    }

    /// [`query_batch`](Snapshot::query_batch) for the first `limit` rows of each query. Looks up no
    /// others, and holds no others in memory.
    ///
    /// # Errors
    /// As [`query_batch`](Snapshot::query_batch).
    pub fn query_batch_limited<E: From<Error>>(
        &self,
        fingerprints: &[F],
        k: u32,
        limit: usize,
        mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let progress = self.options().counter(Stage::Answering, fingerprints.len() as u64);
        let mut caller = CallerError::new();
        let visit = |index: usize, matches: &[Match<F>]| caller.keep(visit(index, matches));
        let done = self.query_batch_with(fingerprints, (k, limit), &progress, visit);
        caller.or(done)
    }

    /// The same with other progress.
    pub(super) fn query_batch_with(
        &self,
        fingerprints: &[F],
        (k, limit): (u32, usize),
        progress: ProgressFn<'_>,
        visit: impl FnMut(usize, &[Match<F>]) -> Result<()>,
    ) -> Result<()> {
        let k = Distance::saturating::<F>(k);
        batch::query(self.view(), self.workers(progress), fingerprints, (k, limit), visit)
    }

    /// [`nearest`](Snapshot::nearest) for many fingerprints, on all threads of the options; `visit`
    /// as in [`query_batch`](Snapshot::query_batch).
    ///
    /// # Errors
    /// As [`query_batch`](Snapshot::query_batch).
    pub fn nearest_batch<E: From<Error>>(
        &self,
        fingerprints: &[F],
        count: usize,
        max_k: u32,
        mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let progress = self.options().counter(Stage::Answering, fingerprints.len() as u64);
        let answer = |fingerprint| self.nearest_with(fingerprint, count, max_k, &progress);
        let mut caller = CallerError::new();
        let visit = |index: usize, matches: &[Match<F>]| caller.keep(visit(index, matches));
        let done = batch::one_by_one(self.workers(&progress), fingerprints, visit, answer);
        caller.or(done)
    }

    /// The keys of a row, ascending; empty where the row has no key, or does not exist.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn keys_of(&self, row: Row<F>) -> Result<Vec<RowKey>> {
        let mut keys = Vec::new();
        self.view().keys_of(row, &mut keys)?;
        Ok(RowKey::distinct(keys))
    }

    /// The ids of the rows that have a key, ascending: a look-up by the hash of the key.
    ///
    /// Finds the rows whose ids were made from their keys, which is all rows that were inserted
    /// with a key and without an id. For others there is
    /// [`ids_of_key_scan`](Snapshot::ids_of_key_scan).
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn ids_of_key(&self, key: &str) -> Result<Vec<u64>> {
        self.view().ids_of_key(key.as_bytes())
    }

    /// The ids of the rows that have a key, ascending, whatever their ids: one walk over all keys.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn ids_of_key_scan(&self, key: &str) -> Result<Vec<u64>> {
        self.view().ids_of_key_scan(key.as_bytes())
    }

    /// The fingerprints stored under an id, ascending. There is no index by id: one walk over all
    /// rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn fingerprints_of(&self, id: u64) -> Result<Vec<F>> {
        let mut found = Vec::new();
        for row in self.rows()? {
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
            writer.insert(fingerprint, Some(id % 11_000)).unwrap();
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
                snapshot.query_batch_limited(&queries, k, limit, collect).unwrap();
                for (&query, batched) in queries.iter().zip(&batch) {
                    let all = snapshot.query(query, k).unwrap();
                    let first = &all[..limit.min(all.len())];
                    assert_eq!(
                        snapshot.query_limited(query, k, limit).unwrap(),
                        first,
                        "k {k}, limit {limit}"
                    );
                    assert_eq!(batched, first, "in a batch");
                }
            }
        }
    }
}
