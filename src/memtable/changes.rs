//! Net effect of unflushed operations: the inserted rows, and the ids deleted from older runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use crate::build::{KeySource, RowCounts, RunContent, Target, write_run};
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

/// Up to so many operations become a run of one table, which queries scan: more tables take longer to
/// make than they save. One thread makes it.
const FEW: usize = 1 << 10;

/// Operations in the order in which they were applied, and what they come to.
#[derive(Debug, Default)]
pub(crate) struct ChangeSet<F> {
    /// All inserted rows, in order. A row may occur several times, and may have been deleted since.
    inserted: Vec<Row<F>>,
    /// For each deleted id, the number of rows that were inserted before its last deletion.
    deleted: BTreeMap<u64, usize>,
    /// The ids that were inserted since they were last deleted, each with the index of a row that has its key.
    /// `None` where it has several keys. Collected when they are first needed: most writers only insert.
    inserted_ids: OnceLock<HashMap<u64, Option<usize>>>,
    operations: usize,
    /// The id of the last operation, if that was a deletion.
    just_deleted: Option<u64>,
    automatic: IdRanges,
    largest_id: Option<u64>,
    /// The keys of the inserted rows that have one, in the same order.
    keys: Vec<Key>,
    /// Their bytes, each key followed by its text.
    key_bytes: Vec<u8>,
    next_sequence: u64,
    /// `None` if no checkpoint was set.
    checkpoint: Option<Vec<u8>>,
    /// `None` if no history was set.
    history: Option<Vec<u8>>,
}

/// A key of an inserted row, as in [`KeyRecord`].
#[derive(Debug)]
struct Key {
    sequence: u64,
    last: u64,
    /// The index of its row.
    row: usize,
    /// The places of its bytes: where it starts, where its text starts, and where that ends.
    start: usize,
    text: usize,
    end: usize,
}

impl<F: Fingerprint> ChangeSet<F> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Removes everything. Keeps the memory of the rows.
    pub(crate) fn clear(&mut self) {
        let mut inserted = std::mem::take(&mut self.inserted);
        inserted.clear();
        *self = Self { inserted, ..Self::new() };
    }

    /// Number of applied operations, including those without an effect. A deletion and an insertion
    /// under its id are one: an upsert.
    pub(crate) fn operations(&self) -> usize {
        self.operations
    }

    /// Writes everything but rows into a manifest: assigned ids, sequence numbers, the checkpoint
    /// and the history.
    pub(crate) fn note_in(&self, manifest: &mut Manifest) {
        manifest.largest_id = manifest.largest_id.max(self.largest_id);
        self.automatic.iter().for_each(|(first, last)| manifest.automatic.add(first, last));
        if let Some(kept) = &mut manifest.keys {
            kept.next_sequence = kept.next_sequence.max(self.next_sequence);
        }
        if let Some(checkpoint) = &self.checkpoint {
            manifest.checkpoint.clone_from(checkpoint);
        }
        if let Some(history) = &self.history {
            manifest.history.clone_from(history);
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
        self.key_bytes.len()
    }

    /// 1 + the largest sequence number of any key; 0 if there is none.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The checkpoint, if one was set; empty once its job has ended.
    pub(crate) fn checkpoint(&self) -> Option<&[u8]> {
        self.checkpoint.as_deref()
    }

    /// The history, if one was set; empty once it was removed.
    pub(crate) fn history(&self) -> Option<&[u8]> {
        self.history.as_deref()
    }

    /// Whether rows of older runs with this id are deleted.
    pub(crate) fn deletes(&self, id: u64) -> bool {
        self.deleted.contains_key(&id)
    }

    /// Whether a row with this id was inserted and not deleted since.
    pub(crate) fn holds(&self, id: u64) -> bool {
        self.inserted_ids().contains_key(&id)
    }

    /// Whether such a row has another key than this one.
    pub(crate) fn holds_other_key(&self, id: u64, key: &[u8]) -> bool {
        self.inserted_ids().get(&id).is_some_and(|row| {
            row.is_none_or(|index| self.key_of(index).is_some_and(|record| record.key != key))
        })
    }

    fn inserted_ids(&self) -> &HashMap<u64, Option<usize>> {
        self.inserted_ids.get_or_init(|| {
            let mut ids = HashMap::new();
            let live = (0..self.inserted.len()).filter(|&index| self.is_live(index));
            live.for_each(|index| self.note_id(&mut ids, index));
            ids
        })
    }

    /// Notes the id of an inserted row, and whether the id has one key.
    fn note_id(&self, ids: &mut HashMap<u64, Option<usize>>, index: usize) {
        let key = |index| self.key_of(index).map(|record| record.key);
        let known = ids.entry(self.inserted[index].id).or_insert(Some(index));
        if let (Some(row), Some(new)) = (*known, key(index)) {
            *known = if key(row).is_none_or(|key| key == new) { Some(index) } else { None };
        }
    }

    /// Notes the id of the last row, where ids are collected.
    fn note_last_id(&mut self) {
        if let Some(mut ids) = self.inserted_ids.take() {
            self.note_id(&mut ids, self.inserted.len() - 1);
            self.inserted_ids = OnceLock::from(ids);
        }
    }

    /// All inserted rows, also those that were deleted since.
    pub(crate) fn inserted(&self) -> &[Row<F>] {
        &self.inserted
    }

    /// Whether an inserted row has not been deleted since.
    pub(crate) fn is_live(&self, index: usize) -> bool {
        self.deleted.is_empty()
            || self.deleted.get(&self.inserted[index].id).is_none_or(|&before| index >= before)
    }

    /// Applies an operation.
    pub(crate) fn apply(&mut self, operation: Operation<'_, F>) {
        self.operations += 1;
        let just_deleted = self.just_deleted.take();
        match operation {
            Operation::Insert { row, automatic } => {
                if automatic {
                    self.automatic.add(row.id, row.id);
                }
                self.operations -= usize::from(just_deleted == Some(row.id));
                self.insert(row);
                self.note_last_id();
            }
            Operation::InsertKeyed(record) => {
                self.operations -= usize::from(just_deleted == Some(record.row.id));
                self.insert_keyed(record);
                self.note_last_id();
            }
            Operation::Delete(id) => {
                self.just_deleted = Some(id);
                self.deleted.insert(id, self.inserted.len());
                self.inserted_ids.get_mut().into_iter().for_each(|ids| _ = ids.remove(&id));
            }
            Operation::Checkpoint(bytes) => self.checkpoint = Some(bytes.to_vec()),
            Operation::History(bytes) => self.history = Some(bytes.to_vec()),
        }
    }

    fn insert(&mut self, row: Row<F>) {
        self.largest_id = self.largest_id.max(Some(row.id));
        self.inserted.push(row);
    }

    fn insert_keyed(&mut self, KeyRecord { row, sequence, last, key, text }: KeyRecord<'_, F>) {
        let (index, start) = (self.inserted.len(), self.key_bytes.len());
        self.insert(row);
        self.key_bytes.extend_from_slice(key);
        self.key_bytes.extend_from_slice(text);
        let (text, end) = (start + key.len(), self.key_bytes.len());
        self.keys.push(Key { sequence, last, row: index, start, text, end });
        self.next_sequence = self.next_sequence.max(last.saturating_add(1));
    }

    /// The key that a row was inserted with.
    pub(crate) fn key_of(&self, index: usize) -> Option<KeyRecord<'_, F>> {
        // Mostly, all rows have keys.
        let key = match self.keys.get(index) {
            Some(key) if key.row == index => key,
            _ => &self.keys[self.keys.binary_search_by_key(&index, |key| key.row).ok()?],
        };
        Some(self.record(key))
    }

    fn record(&self, key: &Key) -> KeyRecord<'_, F> {
        KeyRecord {
            row: self.inserted[key.row],
            sequence: key.sequence,
            last: key.last,
            key: &self.key_bytes[key.start..key.text],
            text: &self.key_bytes[key.text..key.end],
        }
    }

    /// The distinct rows that were not deleted, in order.
    pub(crate) fn rows(&self) -> Vec<Row<F>> {
        let live = (0..self.inserted.len()).filter(|&index| self.is_live(index));
        let mut rows: Vec<Row<F>> = live.map(|index| self.inserted[index]).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// The keys of these rows, in order.
    pub(crate) fn keys(&self) -> Vec<KeyRecord<'_, F>> {
        let live = self.keys.iter().filter(|key| self.is_live(key.row));
        let mut keys: Vec<KeyRecord<'_, F>> = live.map(|key| self.record(key)).collect();
        keys.sort_unstable_by_key(KeyRecord::place);
        keys.dedup_by(|other, record| {
            let is_same = other.place() == record.place();
            if is_same {
                *record = record.with(*other);
            }
            is_same
        });
        keys
    }

    /// The ids to delete from older runs, ascending; none where there are none.
    pub(crate) fn deleted(&self, has_older_runs: bool) -> Vec<u64> {
        if has_older_runs { self.deleted.keys().copied().collect() } else { Vec::new() }
    }

    /// The effect of the changes on the content of a database. `None` if there is no effect.
    pub(crate) fn effect(&self, has_older_runs: bool) -> Option<Effect<'_, F>> {
        let (rows, deleted) = (self.rows(), self.deleted(has_older_runs));
        let is_empty = rows.is_empty() && deleted.is_empty();
        (!is_empty).then(|| Effect { rows, deleted, keys: self.keys() })
    }

    /// A run in memory with the changes, which comes after all runs of the manifest and `others` in
    /// memory. `None` if they have no effect. `manifest` includes the [noted](ChangeSet::note_in)
    /// changes.
    pub(crate) fn to_run<'a>(
        &self,
        manifest: &Manifest,
        others: impl Iterator<Item = &'a RunRecord>,
        options: &Options,
    ) -> Result<Option<Arc<Searchable<F>>>> {
        let run = others.map(|other| other.run + 1).fold(manifest.next_run, u64::max);
        let has_older_runs = run > manifest.next_run || !manifest.runs.is_empty();
        let Some(effect) = self.effect(has_older_runs) else { return Ok(None) };
        let (is_small, options) = (self.operations <= FEW, options.clone().without_progress());
        let layout = match manifest.runs.iter().max_by_key(|record| record.entries) {
            _ if is_small && manifest.layout.bands().is_none() => Layout::rotations(F::BITS, 1)?,
            // Runs with the same layout are joined table by table.
            Some(largest) => largest.layout.clone(),
            None => manifest.layout_for(self.operations as u64)?,
        };
        let storage: Arc<dyn Storage> = Arc::new(Memory::default());
        let options = if is_small { options.threads(1) } else { options };
        let expires = manifest.expiry.map(|expiry| expiry.of_log);
        let target = Target { storage: &storage, options: &options, owner: manifest.owner(run, 0, expires) };
        let record = effect.write(target, |_| Ok(layout))?;
        Ok(Some(Arc::new(Searchable::new(Run::open(&*storage, manifest, &record)?))))
    }
}

/// The effect of a change set: rows to add, and ids to delete from older runs.
pub(crate) struct Effect<'a, F> {
    rows: Vec<Row<F>>,
    deleted: Vec<u64>,
    keys: Vec<KeyRecord<'a, F>>,
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
        write_run(target, RunContent::new(layout, (Box::new(rows), counts), &self.deleted, &self.keys))
    }
}

impl<F: Fingerprint> KeySource<F> for Vec<KeyRecord<'_, F>> {
    fn for_each(&self, visit: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>) -> Result<()> {
        self.iter().try_for_each(|&key| visit(key))
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
        for operation in [insert(1, 7), insert(1, 7), insert(2, 7), insert(1, 8), Operation::Delete(7)] {
            changes.apply(operation);
        }
        assert_eq!(
            (0..4).map(|index| changes.is_live(index)).collect::<Vec<_>>(),
            [false, false, false, true]
        );
        changes.apply(insert(3, 7));
        changes.apply(insert(3, 7));
        let expected = [Row { fingerprint: 1, id: 8 }, Row { fingerprint: 3, id: 7 }];
        assert_eq!(changes.rows(), expected, "rows are a set; insert A, delete, insert B leaves B");
        assert_eq!(changes.deleted(true), [7], "and a tombstone");
        assert!(changes.deleted(false).is_empty(), "which nothing older needs");
        assert_eq!(changes.operations(), 6, "a deletion and the insertion behind it are one upsert");
        assert_eq!(changes.largest_id(), Some(8));
    }

    #[test]
    fn keys_are_sorted_and_the_first_text_of_equal_ones_stays() {
        let mut changes = ChangeSet::new();
        let row = |id| Row { fingerprint: 5u64, id };
        let record = |id, sequence, key: &'static str, text: &'static str| {
            Operation::InsertKeyed(KeyRecord {
                row: row(id),
                sequence,
                last: sequence,
                key: key.as_bytes(),
                text: text.as_bytes(),
            })
        };
        let operations = [
            record(9, 0, "b", "first"),
            record(2, 1, "lost", "deleted with its row"),
            record(9, 2, "", "an empty key"),
            record(9, 3, "b", "second"),
            Operation::Delete(2),
            record(2, 4, "c", ""),
        ];
        operations.into_iter().for_each(|operation| changes.apply(operation));
        let shown = |key: &KeyRecord<'_, u64>| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (key.row.id, key.sequence, key.last, text(key.key), text(key.text))
        };
        let expected = [
            (2, 4, 4, "c".into(), String::new()),
            (9, 2, 2, String::new(), "an empty key".into()),
            (9, 0, 3, "b".into(), "first".into()),
        ];
        assert_eq!(changes.keys().iter().map(shown).collect::<Vec<_>>(), expected);
        assert_eq!(changes.key_of(2).map(|key| key.sequence), Some(2));
        assert_eq!(changes.next_sequence(), 5);
    }
}
