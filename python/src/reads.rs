//! Queries and searches of an open database: words in, columns out.

use std::sync::Arc;

use nearprint::{Fingerprint, Query, Result, Row, Verification};

use crate::columns::{Collector, Columns, PairCollector, RowCollector};
use crate::handle::{Handle, lock};
use crate::stream::Search;
use crate::watch::Ticker;
use crate::words::{Words, fingerprints};

impl<F: Fingerprint> Handle<F> {
    /// The number of rows. Rows are counted one by one where several runs or deletions overlap.
    pub(crate) fn len(&self, ticker: &Ticker) -> Result<u64> {
        let snapshot = self.snapshot()?;
        if let Some(num_rows) = lock(&self.reading).num_rows {
            return Ok(num_rows);
        }
        let stats = snapshot.stats();
        let mut num_rows = stats.rows;
        if stats.runs.len() > 1 || stats.tombstones > 0 {
            num_rows = 0;
            snapshot.visit_rows(|_| {
                num_rows += 1;
                ticker.check()
            })?;
        }
        let mut reading = lock(&self.reading);
        if !reading.stale {
            reading.num_rows = Some(num_rows);
        }
        Ok(num_rows)
    }

    /// Checks every byte of the files as they stand now.
    pub(crate) fn verify(&self, ticker: &Arc<Ticker>) -> Result<Verification> {
        self.database.with_progress(ticker.clone()).verify()
    }

    /// The first `limit` rows of a query. Looks up no others, nor their keys.
    pub(crate) fn query(&self, words: &[u64], k: u32, limit: usize) -> Result<Columns> {
        let snapshot = self.snapshot()?;
        let mut rows = RowCollector::new(&snapshot).with_distances();
        rows.push_matches(0, &snapshot.query(F::from_le_words(words), Query::within(k).limit(limit))?)?;
        Ok(rows.take())
    }

    pub(crate) fn query_batch(&self, ticker: &Arc<Ticker>, words: &[u64], k: u32) -> Result<Columns> {
        let snapshot = self.watched_snapshot(ticker)?;
        let mut rows = RowCollector::new(&snapshot).with_index("query").with_distances();
        let queries: Vec<F> = fingerprints(words).collect();
        snapshot.query_batch(&queries, k, |query, matches| {
            rows.push_matches(query, matches)?;
            ticker.check()
        })?;
        Ok(rows.take())
    }

    pub(crate) fn nearest(
        &self,
        ticker: &Arc<Ticker>,
        words: &[u64],
        count: usize,
        max_k: u32,
    ) -> Result<Columns> {
        let snapshot = self.watched_snapshot(ticker)?;
        let mut rows = RowCollector::new(&snapshot).with_index("query").with_distances();
        let queries: Vec<F> = fingerprints(words).collect();
        snapshot.query_batch(&queries, Query::nearest(count).max_k(max_k), |query, matches| {
            rows.push_matches(query, matches)?;
            ticker.check()
        })?;
        Ok(rows.take())
    }

    /// The fingerprints stored under an id: a walk over all rows.
    pub(crate) fn fingerprints_of(&self, ticker: &Ticker, id: u64) -> Result<Words> {
        let mut found = Words::new(F::WIDTH);
        self.snapshot()?.visit_rows(|row| {
            if row.id == id {
                found.push(row.fingerprint);
            }
            ticker.check()
        })?;
        Ok(found)
    }

    /// The keys of a row, with their texts.
    pub(crate) fn texts_of(&self, words: &[u64], id: u64) -> Result<Vec<(String, Vec<u8>)>> {
        let keys = self.snapshot()?.keys_of(Row { fingerprint: F::from_le_words(words), id })?;
        Ok(keys.into_iter().map(|key| (key.key, key.text)).collect())
    }

    /// The ids of a key; `everywhere` also finds rows whose ids were not made from the key.
    pub(crate) fn ids_of_key(&self, key: &str, everywhere: bool) -> Result<Vec<u64>> {
        let snapshot = self.snapshot()?;
        if everywhere { snapshot.ids_of_key_scan(key) } else { snapshot.ids_of_key(key) }
    }

    /// A search for all rows.
    pub(crate) fn rows(&self) -> Result<Search> {
        let snapshot = self.snapshot()?;
        Ok(Box::new(move |sink| {
            let mut rows = RowCollector::new(&snapshot);
            snapshot.visit_rows(|row| {
                rows.push(0, row, 0)?;
                sink.send_full(&mut rows)
            })?;
            sink.send_rest(&mut rows)
        }))
    }

    /// A search for all pairs of fingerprints, or of rows.
    pub(crate) fn pairs(&self, ticker: &Arc<Ticker>, k: u32, has_ids: bool) -> Result<Search> {
        let snapshot = self.watched_snapshot(ticker)?;
        Ok(Box::new(move |sink| {
            let mut pairs = PairCollector::new::<F>(has_ids);
            if has_ids {
                snapshot.visit_row_pairs(k, |a, b, distance| {
                    pairs.push_rows(a, b, distance);
                    sink.send_full(&mut pairs)
                })?;
            } else {
                snapshot.visit_pairs(k, |block| {
                    pairs.push(block);
                    sink.send_full(&mut pairs)
                })?;
            }
            sink.send_rest(&mut pairs)
        }))
    }

    /// A search for all clusters.
    pub(crate) fn clusters(&self, ticker: &Arc<Ticker>, k: u32) -> Result<Search> {
        let snapshot = self.watched_snapshot(ticker)?;
        Ok(Box::new(move |sink| {
            let mut rows = RowCollector::new(&snapshot).with_index("cluster");
            let mut cluster = 0;
            snapshot.visit_clusters(k, |members| {
                members.iter().try_for_each(|&row| rows.push(cluster, row, 0))?;
                cluster += 1;
                sink.send_full(&mut rows)
            })?;
            sink.send_rest(&mut rows)
        }))
    }

    /// A search for the pairs between two databases.
    pub(crate) fn cross(&self, other: &Self, ticker: &Arc<Ticker>, k: u32, has_ids: bool) -> Result<Search> {
        let (one, other) = (self.watched_snapshot(ticker)?, other.snapshot()?);
        Ok(Box::new(move |sink| {
            let mut pairs = PairCollector::new::<F>(has_ids);
            if has_ids {
                one.visit_cross_rows(&other, k, |a, b, distance| {
                    pairs.push_rows(a, b, distance);
                    sink.send_full(&mut pairs)
                })?;
            } else {
                one.visit_cross(&other, k, |block| {
                    pairs.push(block);
                    sink.send_full(&mut pairs)
                })?;
            }
            sink.send_rest(&mut pairs)
        }))
    }
}
