//! Net effect of unflushed operations: the inserted rows, and the ids deleted from older runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::build::{KeySource, RowCounts, Target, write_run};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::KeyRecord;
use crate::format::manifest::{IdRanges, Manifest, RunRecord};
use crate::format::wal::Operation;
use crate::layout::Layout;
use crate::options::Options;
use crate::query::prepare::Searchable;
use crate::run::Run;
use crate::storage::{Memory, Storage};

/// The net effect of operations, applied in order.
#[derive(Debug, Default)]
pub(crate) struct ChangeSet<F> {
    /// By (id, fingerprint), each with the number of its insertion.
    rows: BTreeMap<(u64, F), u32>,
    deleted: BTreeSet<u64>,
    insertions: u32,
    operations: usize,
    automatic: IdRanges,
    largest_id: Option<u64>,
    /// By (id, fingerprint), the keys of the rows.
    keys: BTreeMap<(u64, F), Vec<Key>>,
    /// Bytes of all inserted keys and texts.
    key_bytes: usize,
    next_sequence: u64,
    /// `None` if no checkpoint was set.
    checkpoint: Option<Vec<u8>>,
}

/// A key of a row, as in [`KeyRecord`].
#[derive(Debug)]
struct Key {
    sequence: u64,
    key: Box<[u8]>,
    text: Box<[u8]>,
}

impl<F: Fingerprint> ChangeSet<F> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Number of applied operations, including those without an effect.
    pub(crate) fn operations(&self) -> usize {
        self.operations
    }

    /// Writes everything but rows into a manifest: assigned ids, sequence numbers and the
    /// checkpoint.
    pub(crate) fn note_in(&self, manifest: &mut Manifest) {
        manifest.largest_id = manifest.largest_id.max(self.largest_id);
        self.automatic.iter().for_each(|(first, last)| manifest.automatic.add(first, last));
        if let Some(kept) = &mut manifest.keys {
            kept.next_sequence = kept.next_sequence.max(self.next_sequence);
        }
        if let Some(checkpoint) = &self.checkpoint {
            manifest.checkpoint.clone_from(checkpoint);
        }
    }

    /// Ids that were assigned automatically.
    pub(crate) fn automatic(&self) -> &IdRanges {
        &self.automatic
    }

    /// The largest id of any row, including deleted ones.
    pub(crate) fn largest_id(&self) -> Option<u64> {
        self.largest_id
    }

    /// Bytes of inserted keys and texts, including those without an effect.
    pub(crate) fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// 1 + the largest sequence number of any key; 0 if there is none.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The checkpoint, if one was set; empty once its job has ended.
    pub(crate) fn checkpoint(&self) -> Option<&[u8]> {
        self.checkpoint.as_deref()
    }

    /// Whether rows of older runs with this id are deleted.
    pub(crate) fn deletes(&self, id: u64) -> bool {
        self.deleted.contains(&id)
    }

    /// Applies an operation. Returns the number of the insertion if it added a row, and calls
    /// `removed` with the number of each insertion that it undoes.
    pub(crate) fn apply(&mut self, operation: Operation<'_, F>, removed: impl FnMut(u32)) -> Option<u32> {
        self.operations += 1;
        match operation {
            Operation::Insert { row, automatic } => self.insert(row, automatic),
            Operation::InsertKeyed(record) => {
                let fresh = self.insert(record.row, false);
                self.add_key(&record);
                fresh
            }
            Operation::Delete(id) => {
                self.delete(id, removed);
                None
            }
            Operation::Checkpoint(bytes) => {
                self.checkpoint = Some(bytes.to_vec());
                None
            }
        }
    }

    fn insert(&mut self, row: Row<F>, automatic: bool) -> Option<u32> {
        self.largest_id = self.largest_id.max(Some(row.id));
        if automatic {
            self.automatic.add(row.id, row.id);
        }
        let number = self.insertions;
        let fresh = *self.rows.entry((row.id, row.fingerprint)).or_insert(number) == number;
        self.insertions += u32::from(fresh);
        fresh.then_some(number)
    }

    fn add_key(&mut self, record: &KeyRecord<'_, F>) {
        self.next_sequence = self.next_sequence.max(record.sequence.saturating_add(1));
        self.key_bytes += record.key.len() + record.text.len();
        let keys = self.keys.entry((record.row.id, record.row.fingerprint)).or_default();
        if let Err(place) = keys.binary_search_by(|known| (*known.key).cmp(record.key)) {
            keys.insert(
                place,
                Key { sequence: record.sequence, key: record.key.into(), text: record.text.into() },
            );
        }
    }

    /// Visits every key of a row.
    pub(crate) fn keys_of(&self, row: Row<F>, visit: &mut dyn FnMut(KeyRecord<'_, F>)) {
        for key in self.keys.get(&(row.id, row.fingerprint)).into_iter().flatten() {
            visit(key.record(row));
        }
    }

    fn delete(&mut self, id: u64, mut removed: impl FnMut(u32)) {
        self.deleted.insert(id);
        let of_id = (id, F::default())..=(id, F::ones(0, F::BITS));
        let gone: Vec<(u64, F)> = self.rows.range(of_id).map(|(&key, _)| key).collect();
        for key in gone {
            if let Some(number) = self.rows.remove(&key) {
                removed(number);
            }
            self.keys.remove(&key);
        }
    }

    /// The rows, in order.
    pub(crate) fn rows(&self) -> Vec<Row<F>> {
        let mut rows: Vec<Row<F>> =
            self.rows.keys().map(|&(id, fingerprint)| Row { fingerprint, id }).collect();
        rows.sort_unstable();
        rows
    }

    /// The ids to delete from older runs, ascending; none where there are none.
    pub(crate) fn deleted(&self, has_older_runs: bool) -> Vec<u64> {
        if has_older_runs { self.deleted.iter().copied().collect() } else { Vec::new() }
    }

    /// The effect of the changes on the content of a database. `None` if there is no effect.
    pub(crate) fn effect(&self, has_older_runs: bool) -> Option<Effect<'_, F>> {
        let (rows, deleted) = (self.rows(), self.deleted(has_older_runs));
        let is_empty = rows.is_empty() && deleted.is_empty();
        (!is_empty).then_some(Effect { rows, deleted, keys: self })
    }

    /// A run in memory with the changes. `None` if they have no effect. `manifest` includes the
    /// [noted](ChangeSet::note_in) changes.
    pub(crate) fn to_run(
        &self,
        manifest: &Manifest,
        layout: Layout,
        options: &Options,
    ) -> Result<Option<Arc<Searchable<F>>>> {
        let Some(effect) = self.effect(!manifest.runs.is_empty()) else { return Ok(None) };
        let storage: Arc<dyn Storage> = Arc::new(Memory::default());
        let options = options.clone().without_progress();
        let (database_id, run) = (manifest.database_id, manifest.next_run);
        let target = Target { storage: &storage, options: &options, database_id, width: F::BITS, run };
        let record = effect.write(target, |_| Ok(layout))?;
        Ok(Some(Arc::new(Searchable::new(Run::open(&*storage, manifest, &record)?))))
    }
}

/// The effect of a change set: rows to add, and ids to delete from older runs.
pub(crate) struct Effect<'a, F> {
    rows: Vec<Row<F>>,
    deleted: Vec<u64>,
    keys: &'a ChangeSet<F>,
}

impl<F: Fingerprint> Effect<'_, F> {
    /// Writes the effect as a run. `layout` returns the layout for a number of entries.
    pub(crate) fn write(
        &self,
        target: Target<'_>,
        layout: impl FnOnce(u64) -> Result<Layout>,
    ) -> Result<RunRecord> {
        let rows = &self.rows[..];
        let counts = RowCounts::of(&rows, 0, target.options)?;
        let layout = layout(counts.entries)?;
        write_run(target, layout, Box::new(rows), counts, &self.deleted, self.keys)
    }
}

impl<F: Fingerprint> KeySource<F> for ChangeSet<F> {
    fn for_each(&self, visit: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>) -> Result<()> {
        self.keys.iter().try_for_each(|(&(id, fingerprint), keys)| {
            keys.iter().try_for_each(|key| visit(key.record(Row { fingerprint, id })))
        })
    }
}

impl Key {
    fn record<F>(&self, row: Row<F>) -> KeyRecord<'_, F> {
        KeyRecord { row, sequence: self.sequence, key: &self.key, text: &self.text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(fingerprint: u64, id: u64) -> Operation<'static, u64> {
        Operation::Insert { row: Row { fingerprint, id }, automatic: false }
    }

    #[test]
    fn operations_apply_in_order() {
        let mut changes = ChangeSet::new();
        let mut undone = Vec::new();
        assert_eq!(changes.apply(insert(1, 7), |_| ()), Some(0));
        assert_eq!(changes.apply(insert(1, 7), |_| ()), None, "rows are a set");
        assert_eq!(changes.apply(insert(2, 7), |_| ()), Some(1));
        assert_eq!(changes.apply(insert(1, 8), |_| ()), Some(2));
        changes.apply(Operation::Delete(7), |number| undone.push(number));
        assert_eq!(undone, [0, 1]);
        assert_eq!(changes.apply(insert(3, 7), |_| ()), Some(3), "insert A, delete, insert B leaves B");
        assert_eq!(changes.rows(), [Row { fingerprint: 1, id: 8 }, Row { fingerprint: 3, id: 7 }]);
        assert_eq!(changes.deleted(true), [7], "and a tombstone");
        assert!(changes.deleted(false).is_empty(), "which nothing older needs");
        assert_eq!(changes.operations(), 6);
        assert_eq!(changes.largest_id(), Some(8));
    }
}
