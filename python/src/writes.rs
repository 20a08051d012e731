//! Inserts and deletes rows.

use std::sync::Arc;

use nearprint::{Fingerprint, NewRow, Result};

use crate::arguments::Batch;
use crate::handle::Handle;
use crate::watch::Ticker;
use crate::words::fingerprints;

/// The number of rows inserted, or ids deleted, between two checks for cancellation.
pub(crate) const ROWS_BETWEEN_CHECKS: usize = 1 << 14;

impl<F: Fingerprint> Handle<F> {
    /// Inserts rows and returns their ids. With `upsert` each becomes the only row with its id.
    pub(crate) fn add(&self, ticker: &Arc<Ticker>, batch: &Batch<'_>, upsert: bool) -> Result<Vec<u64>> {
        let fingerprints = fingerprints::<F>(batch.words);
        self.write(ticker, |writer| {
            let mut ids = Vec::with_capacity(fingerprints.len());
            for (index, fingerprint) in fingerprints.enumerate() {
                if index.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                    ticker.check()?;
                }
                let (id, key, text) = batch.row(index);
                let row = NewRow { fingerprint, id, key, text };
                ids.push(if upsert { writer.upsert(row)? } else { writer.insert(row)? });
            }
            Ok(ids)
        })
    }

    /// Deletes all rows with these ids.
    pub(crate) fn delete(&self, ticker: &Arc<Ticker>, ids: &[u64]) -> Result<()> {
        self.write(ticker, |writer| {
            for some in ids.chunks(ROWS_BETWEEN_CHECKS) {
                ticker.check()?;
                some.iter().try_for_each(|&id| writer.delete(id))?;
            }
            Ok(())
        })
    }
}
