//! The passages that kept documents have: windows of words, and the documents that keep them.

use super::collection::FLUSH_KEPT;
use super::deduplicator::Deduplicator;
use crate::error::Result;
use nearprint::Query;
use nearprint::any::{AnyFingerprint, NewRows};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

impl Deduplicator {
    /// The id of the document that keeps a window of words, if one does.
    pub(crate) fn id_with_passage(&mut self, window: u128) -> Result<Option<u64>> {
        let (window, query) = (self.window_fingerprint(window), Query::within(0).limit(1));
        if let Some(known) = &self.known
            && let Some(found) = known.snapshot.matches(window, query)?.first()
        {
            return Ok(Some(found.id));
        }
        Ok(self.writer.matches(window, query)?.first().map(|found| found.id))
    }

    /// The key of a document that keeps windows.
    pub(crate) fn key_with_passages(&self, id: u64) -> Result<Option<String>> {
        let fingerprint = self.passages_of(id);
        let known =
            self.known.as_ref().map(|known| known.snapshot.keys_of(fingerprint.words(), id)).transpose()?;
        let keys = known.unwrap_or_default().into_iter().chain(self.writer.keys_of(fingerprint.words(), id)?);
        Ok(keys.map(|key| key.key).next())
    }

    /// Remembers the windows that a document keeps: a row for each, and one for its key.
    pub(crate) fn remember_passages(&mut self, key: &str, windows: &[u128]) -> Result<()> {
        if windows.is_empty() {
            return Ok(());
        }
        let (id, fingerprint) = (xxh3_64(key.as_bytes()), self.passages_of(xxh3_64(key.as_bytes())));
        let named = NewRows {
            fingerprints: fingerprint.words(),
            ids: Some(&[id]),
            keys: Some(&[key]),
            ..NewRows::default()
        };
        self.writer.insert(&named, &mut |_| Ok(()))?;
        let fingerprints = windows.iter().map(|&window| self.window_fingerprint(window));
        let fingerprints: Vec<u64> = fingerprints.flat_map(|window| window.words().to_vec()).collect();
        let ids = vec![id; windows.len()];
        let rows = NewRows { fingerprints: &fingerprints, ids: Some(&ids), ..NewRows::default() };
        self.writer.insert(&rows, &mut |_| Ok(()))?;
        self.since_flush += windows.len() as u64;
        if self.is_temporary && self.since_flush >= FLUSH_KEPT {
            self.since_flush = 0;
            self.writer.flush()?;
        }
        Ok(())
    }

    /// The fingerprint of a window of words.
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    fn window_fingerprint(&self, hash: u128) -> AnyFingerprint {
        AnyFingerprint::new(self.recipe().width(), &[hash as u64, (hash >> 64) as u64])
    }

    /// The fingerprint of the row that has the key of a document with passages.
    fn passages_of(&self, id: u64) -> AnyFingerprint {
        let words = [0, 1, 2, 3].map(|seed| xxh3_64_with_seed(&id.to_le_bytes(), seed));
        AnyFingerprint::new(self.recipe().width(), &words)
    }
}
