//! The keys of rows.

use std::ops::Range;

use super::view::View;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::{KeyRecord, hash_key};
use crate::run::Keys;

/// A key of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct RowKey {
    /// The key. Bytes that are not UTF-8 are shown as `\x` and two hexadecimal digits.
    pub key: String,
    /// The sequence number: smaller for a key that was inserted earlier.
    pub sequence: u64,
    /// The sequence number of its last insertion; the same if it was inserted once.
    pub last_sequence: u64,
    /// The text that was inserted with the key; empty where the database stores none.
    pub text: Vec<u8>,
}

impl RowKey {
    pub(crate) fn of<F>(record: &KeyRecord<'_, F>) -> Self {
        let mut key = String::with_capacity(record.key.len());
        for chunk in record.key.utf8_chunks() {
            key.push_str(chunk.valid());
            chunk.invalid().iter().for_each(|byte| key.push_str(&format!("\\x{byte:02x}")));
        }
        Self { key, sequence: record.sequence, last_sequence: record.last, text: record.text.to_vec() }
    }

    /// Sorts by key. Keeps the first insertion of equal keys, with the number of the last one.
    pub(crate) fn distinct(mut keys: Vec<Self>) -> Vec<Self> {
        keys.sort_unstable();
        keys.dedup_by(|later, first| {
            let is_same = later.key == first.key;
            if is_same {
                first.last_sequence = first.last_sequence.max(later.last_sequence);
            }
            is_same
        });
        keys
    }
}

impl<F: Fingerprint> View<F> {
    /// Appends the live keys of a row in the runs from a place on, in no particular order. A key in several runs is
    /// appended several times.
    pub(crate) fn keys_of(&self, row: Row<F>, from: usize, out: &mut Vec<RowKey>) -> Result<()> {
        for (index, run) in self.runs().enumerate().skip(from) {
            if let Some(keys) = &run.keys
                && !self.newer(index).hide(row.id)?
            {
                keys.of_row(row, &mut |record| out.push(RowKey::of(&record)))?;
            }
        }
        Ok(())
    }

    /// The ids of the live rows that have a key and the id that the key alone gives, ascending: a
    /// look-up.
    pub(crate) fn ids_of_key(&self, key: &[u8]) -> Result<Vec<u64>> {
        self.ids_of_key_within(key, |keys| keys.of_id(hash_key(key)))
    }

    /// The ids of the live rows that have a key, ascending: one walk over all keys.
    pub(crate) fn ids_of_key_scan(&self, key: &[u8]) -> Result<Vec<u64>> {
        self.ids_of_key_within(key, |keys| Ok(0..keys.info.count))
    }

    /// The fingerprints of the live rows of an id, ascending: look-ups. `None` if a run has rows without a key.
    pub(crate) fn fingerprints_by_keys(&self, id: u64) -> Result<Option<Vec<F>>> {
        let mut found = Vec::new();
        for (index, run) in self.runs().enumerate().filter(|(_, run)| run.record.rows > 0) {
            let keys = run.keys.as_ref().filter(|keys| keys.info.rows == run.record.rows);
            let Some(keys) = keys else { return Ok(None) };
            if !self.newer(index).hide(id)? {
                for at in keys.of_id(id)? {
                    found.push(keys.record::<F>(at)?.row.fingerprint);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(Some(found))
    }

    fn ids_of_key_within(
        &self,
        key: &[u8],
        records: impl Fn(&Keys) -> Result<Range<u64>>,
    ) -> Result<Vec<u64>> {
        let mut ids = Vec::new();
        for (index, run) in self.runs().enumerate() {
            let Some(keys) = &run.keys else { continue };
            for at in records(keys)? {
                let record = keys.record::<F>(at)?;
                if record.key == key && !self.newer(index).hide(record.row.id)? {
                    ids.push(record.row.id);
                }
            }
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}
