//! Deleting rows by their keys, and by ranges of ids.

use std::collections::{BTreeSet, HashSet};
use std::ops::{Range, RangeInclusive};

use super::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::keys::KeyRecord;
use crate::format::wal::Operation;

impl<F: Fingerprint> Writer<F> {
    /// Deletes the rows that have one of these keys, whatever their ids. A row with other keys keeps
    /// those and is not deleted; neither are other rows of the same id. Returns the number of deleted
    /// rows.
    ///
    /// Costs for all keys together a [flush](Writer::flush), a walk over all stored keys, and one over
    /// all rows if there is something to delete.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn delete_keys(&mut self, keys: &[&str]) -> Result<u64> {
        let keys: HashSet<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        self.delete_keys_where(|record| keys.contains(record.key))
    }

    /// Deletes the rows that have a key with this prefix, as [`delete_keys`](Writer::delete_keys) does.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn delete_key_prefix(&mut self, prefix: &str) -> Result<u64> {
        self.delete_keys_where(|record| record.key.starts_with(prefix.as_bytes()))
    }

    /// Deletes every row with an id in a range. Returns the number of deleted rows. Costs a walk over
    /// all rows, and memory for the deleted ids.
    ///
    /// # Errors
    /// As [`delete`](Writer::delete); [`Error::Corrupt`].
    pub fn delete_ids(&mut self, range: RangeInclusive<u64>) -> Result<u64> {
        let (mut ids, mut rows) = (BTreeSet::new(), 0);
        self.snapshot()?.visit_rows(|row| {
            if range.contains(&row.id) {
                ids.insert(row.id);
                rows += 1;
            }
            Ok::<(), Error>(())
        })?;
        ids.into_iter().try_for_each(|id| self.delete(id))?;
        Ok(rows)
    }

    /// Deletes the keys that were first and last inserted in some of the ranges of sequence numbers,
    /// and the rows that have no other key. Undoes keyed insertions between two calls of
    /// [`next_sequence`](Writer::next_sequence), and deletes no key that was also inserted before or
    /// afterwards.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn delete_keys_between(&mut self, ranges: &[Range<u64>]) -> Result<()> {
        if ranges.iter().all(Range::is_empty) {
            return Ok(());
        }
        let are_within = |sequence: u64| ranges.iter().any(|range| range.contains(&sequence));
        self.delete_keys_where(|record| are_within(record.sequence) && are_within(record.last)).map(drop)
    }

    /// Deletes the keys that `doomed` selects, and the rows that have no others. A deletion by id
    /// removes everything with that id, so the rest is inserted again.
    fn delete_keys_where(&mut self, doomed: impl Fn(&KeyRecord<'_, F>) -> bool) -> Result<u64> {
        self.flush()?;
        let view = self.view.clone();
        let mut ids = BTreeSet::new();
        for (index, run) in view.runs().enumerate() {
            let (Some(keys), newer) = (&run.keys, view.newer(index)) else { continue };
            let mut cursor = keys.cursor::<F>();
            while let Some(record) = cursor.next()? {
                if doomed(&record) && !newer.hide(record.row.id)? {
                    ids.insert(record.row.id);
                }
            }
        }
        if ids.is_empty() {
            return Ok(0);
        }
        let mut rows = BTreeSet::new();
        self.snapshot()?.visit_rows(|row| {
            if ids.contains(&row.id) {
                rows.insert(row);
            }
            Ok::<(), Error>(())
        })?;
        let num_rows = rows.len();
        ids.iter().try_for_each(|&id| self.delete(id))?;
        let mut stay = BTreeSet::new();
        for (index, run) in view.runs().enumerate() {
            let Some(keys) = &run.keys else { continue };
            for &id in &ids {
                if view.newer(index).hide(id)? {
                    continue;
                }
                for at in keys.of_id(id)? {
                    let record: KeyRecord<'_, F> = keys.record(at)?;
                    rows.remove(&record.row);
                    if !doomed(&record) {
                        stay.insert(record.row);
                        self.apply(Operation::InsertKeyed(record))?;
                    }
                }
            }
        }
        // The remaining rows never had a key.
        for row in &rows {
            self.apply(Operation::Insert { row: *row, automatic: false })?;
        }
        Ok((num_rows - rows.len() - stay.len()) as u64)
    }
}
