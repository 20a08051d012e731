//! The passages that kept documents have: windows of words, and the documents that keep them.

use super::deduplicator_of_width::{DeduplicatorOf, FLUSH_KEPT};
use crate::error::Result;
use nearprint::{Fingerprint, NewRow, Query, Row};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

impl<F: Fingerprint> DeduplicatorOf<F> {
    /// The id of the document that keeps a window of words, if one does.
    pub(crate) fn id_with_passage(&mut self, window: u128) -> Result<Option<u64>> {
        let (window, query) = (window_fingerprint(window), Query::within(0).limit(1));
        if let Some(known) = &self.known
            && let Some(found) = known.snapshot.query(window, query)?.first()
        {
            return Ok(Some(found.id));
        }
        Ok(self.writer.query(window, query)?.first().map(|found| found.id))
    }

    /// The key of a document that keeps windows.
    pub(crate) fn key_with_passages(&self, id: u64) -> Result<Option<String>> {
        let row = Row { fingerprint: passages_of(id), id };
        let known = self.known.as_ref().map(|known| known.snapshot.keys_of(row)).transpose()?;
        let keys = known.unwrap_or_default().into_iter().chain(self.writer.keys_of(row)?);
        Ok(keys.map(|key| key.key).next())
    }

    /// Remembers the windows that a document keeps: a row for each, and one for its key.
    pub(crate) fn remember_passages(&mut self, key: &str, windows: &[u128]) -> Result<()> {
        if windows.is_empty() {
            return Ok(());
        }
        let id = xxh3_64(key.as_bytes());
        self.writer.insert(NewRow { id: Some(id), ..NewRow::keyed(passages_of(id), key) })?;
        for &window in windows {
            self.writer.insert(Row { fingerprint: window_fingerprint(window), id })?;
        }
        self.since_flush += windows.len() as u64;
        if self.is_temporary && self.since_flush >= FLUSH_KEPT {
            self.since_flush = 0;
            self.writer.flush()?;
        }
        Ok(())
    }
}

/// The fingerprint of a window of words.
fn window_fingerprint<F: Fingerprint>(hash: u128) -> F {
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    let words = [hash as u64, (hash >> 64) as u64, 0, 0];
    F::from_le_words(&words[..F::WIDTH.words()])
}

/// The fingerprint of the row that has the key of a document with passages.
fn passages_of<F: Fingerprint>(id: u64) -> F {
    let words = [0, 1, 2, 3].map(|seed| xxh3_64_with_seed(&id.to_le_bytes(), seed));
    F::from_le_words(&words[..F::WIDTH.words()])
}
