//! Deleting rows by their keys.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::keys::KeyRecord;
use crate::format::wal::Operation;

impl<F: Fingerprint> Writer<F> {
    /// Deletes the rows that have this key, whatever their ids. A row with other keys keeps those
    /// and is not deleted; neither are other rows of the same id. Returns the number of deleted
    /// rows.
    ///
    /// Costs a [flush](Writer::flush), a walk over all keys, and one over all rows if there is
    /// something to delete.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn delete_key(&mut self, key: &str) -> Result<u64> {
        self.delete_keys(|record| record.key == key.as_bytes())
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
        self.delete_keys(|record| are_within(record.sequence) && are_within(record.last)).map(drop)
    }

    /// Deletes the keys that `doomed` selects, and the rows that have no others. A deletion by id
    /// removes everything with that id, so the rest is inserted again.
    fn delete_keys(&mut self, doomed: impl Fn(&KeyRecord<'_, F>) -> bool) -> Result<u64> {
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
