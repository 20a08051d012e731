//! Net effect of unflushed operations: the inserted rows, and the ids deleted from older runs.

use std::collections::{BTreeSet, HashMap};
use std::iter;
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
use crate::util::cast::to_u32;

/// Operations that one thread makes a run of.
const FEW: usize = 1 << 12;
/// The end of a list of keys.
const NONE: u32 = u32::MAX;

/// The net effect of operations, applied in order.
#[derive(Debug, Default)]
pub(crate) struct ChangeSet<F> {
    /// By (id, fingerprint). In no order: it is only needed by a flush, and ids are mostly random.
    rows: HashMap<(u64, F), Inserted>,
    /// The same in order, from the first deletion on.
    by_id: Option<BTreeSet<(u64, F)>>,
    deleted: BTreeSet<u64>,
    insertions: u32,
    operations: usize,
    automatic: IdRanges,
    largest_id: Option<u64>,
    /// All keys in the order of their insertion, also of rows that were deleted since.
    keys: Vec<Key>,
    /// Their bytes, each key followed by its text.
    key_bytes: Vec<u8>,
    next_sequence: u64,
    /// `None` if no checkpoint was set.
    checkpoint: Option<Vec<u8>>,
    /// `None` if no history was set.
    history: Option<Vec<u8>>,
}

/// An inserted row.
#[derive(Debug)]
struct Inserted {
    /// Rows are counted in the order of their insertion.
    number: u32,
    /// The index of its last key; `NONE` if it has no key.
    last_key: u32,
}

/// A key of a row, as in [`KeyRecord`].
#[derive(Debug)]
struct Key {
    sequence: u64,
    /// The index of the key of this row before; `NONE` for the first.
    previous: u32,
    /// The places of its bytes: where it starts, where its text starts, and where that ends.
    start: usize,
    text: usize,
    end: usize,
}

impl<F: Fingerprint> ChangeSet<F> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        *self = Self { rows, ..Self::new() };
    }

    /// Number of applied operations, including those without an effect.
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
        self.deleted.contains(&id)
    }

    /// Applies an operation. Returns the number of the insertion if it added a row, and calls
    /// `removed` with the number of each insertion that it undoes.
    pub(crate) fn apply(&mut self, operation: Operation<'_, F>, removed: impl FnMut(u32)) -> Option<u32> {
        self.operations += 1;
        match operation {
            Operation::Insert { row, automatic } => {
                if automatic {
                    self.automatic.add(row.id, row.id);
                }
                self.insert(row, None)
            }
            Operation::InsertKeyed(record) => self.insert(record.row, Some(record)),
            Operation::Delete(id) => {
                self.delete(id, removed);
                None
            }
            Operation::Checkpoint(bytes) => {
                self.checkpoint = Some(bytes.to_vec());
                None
            }
            Operation::History(bytes) => {
                self.history = Some(bytes.to_vec());
                None
            }
        }
    }

    fn insert(&mut self, row: Row<F>, key: Option<KeyRecord<'_, F>>) -> Option<u32> {
        self.largest_id = self.largest_id.max(Some(row.id));
        let (place, number) = ((row.id, row.fingerprint), self.insertions);
        let inserted = self.rows.entry(place).or_insert(Inserted { number, last_key: NONE });
        if let Some(KeyRecord { sequence, key, text, .. }) = key {
            let start = self.key_bytes.len();
            self.key_bytes.extend_from_slice(key);
            self.key_bytes.extend_from_slice(text);
            let (previous, text) = (inserted.last_key, start + key.len());
            inserted.last_key = to_u32(self.keys.len());
            self.keys.push(Key { sequence, previous, start, text, end: self.key_bytes.len() });
            self.next_sequence = self.next_sequence.max(sequence.saturating_add(1));
        }
        let is_fresh = inserted.number == number;
        if is_fresh {
            self.insertions += 1;
            self.by_id.iter_mut().for_each(|by_id| {
                by_id.insert(place);
            });
        }
        is_fresh.then_some(number)
    }

    /// Visits the keys of a row, in no particular order. A key that was inserted several times is
    /// visited several times.
    pub(crate) fn keys_of(&self, row: Row<F>, visit: &mut dyn FnMut(KeyRecord<'_, F>)) {
        let inserted = self.rows.get(&(row.id, row.fingerprint));
        inserted.into_iter().flat_map(|inserted| self.records(row, inserted)).for_each(visit);
    }

    /// The keys of a row, the last one first.
    fn records(&self, row: Row<F>, inserted: &Inserted) -> impl Iterator<Item = KeyRecord<'_, F>> {
        let key = |at: u32| self.keys.get(at as usize);
        iter::successors(key(inserted.last_key), move |last| key(last.previous)).map(move |key| KeyRecord {
            row,
            sequence: key.sequence,
            key: &self.key_bytes[key.start..key.text],
            text: &self.key_bytes[key.text..key.end],
        })
    }

    fn delete(&mut self, id: u64, mut removed: impl FnMut(u32)) {
        self.deleted.insert(id);
        let by_id = self.by_id.get_or_insert_with(|| self.rows.keys().copied().collect());
        let of_id = (id, F::default())..=(id, F::ones(0, F::BITS));
        let gone: Vec<(u64, F)> = by_id.range(of_id).copied().collect();
        for place in gone {
            by_id.remove(&place);
            if let Some(inserted) = self.rows.remove(&place) {
                removed(inserted.number);
            }
        }
    }

    /// The rows, in order.
    pub(crate) fn rows(&self) -> Vec<Row<F>> {
        let mut rows: Vec<Row<F>> =
            self.rows.keys().map(|&(id, fingerprint)| Row { fingerprint, id }).collect();
        rows.sort_unstable();
        rows
    }

    /// The keys of all rows, in order. Of several records of a key, only the earliest.
    pub(crate) fn keys(&self) -> Vec<KeyRecord<'_, F>> {
        let of_row = |(&(id, fingerprint), inserted)| self.records(Row { fingerprint, id }, inserted);
        let mut keys: Vec<KeyRecord<'_, F>> = self.rows.iter().flat_map(of_row).collect();
        keys.sort_unstable_by_key(|key| (key.place(), key.sequence));
        keys.dedup_by(|later, first| later.place() == first.place());
        keys
    }

    /// The ids to delete from older runs, ascending; none where there are none.
    pub(crate) fn deleted(&self, has_older_runs: bool) -> Vec<u64> {
        if has_older_runs { self.deleted.iter().copied().collect() } else { Vec::new() }
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
        let (mut run, mut largest) = (manifest.next_run, manifest.runs.iter().max_by_key(by_entries));
        for other in others {
            run = run.max(other.run + 1);
            largest = largest.into_iter().chain([other]).max_by_key(by_entries);
        }
        let Some(effect) = self.effect(largest.is_some()) else { return Ok(None) };
        // Runs with the same layout are joined table by table.
        let layout = match largest {
            Some(largest) => largest.layout.clone(),
            None => manifest.layout_for(self.operations() as u64)?,
        };
        let storage: Arc<dyn Storage> = Arc::new(Memory::default());
        let options = options.clone().without_progress();
        // To start threads takes longer than to sort a few rows.
        let options = if self.operations < FEW { options.threads(1) } else { options };
        let target = Target { storage: &storage, options: &options, owner: manifest.owner(run, 0) };
        let record = effect.write(target, |_| Ok(layout))?;
        Ok(Some(Arc::new(Searchable::new(Run::open(&*storage, manifest, &record)?))))
    }
}

fn by_entries(record: &&RunRecord) -> u64 {
    record.entries
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
        write_run(target, layout, Box::new(rows), counts, &self.deleted, &self.keys)
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

    #[test]
    fn keys_are_sorted_and_the_earliest_of_equal_ones_counts() {
        let mut changes = ChangeSet::new();
        let row = |id| Row { fingerprint: 5u64, id };
        let record = |id, sequence, key: &'static str, text: &'static str| {
            Operation::InsertKeyed(KeyRecord {
                row: row(id),
                sequence,
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
        operations.into_iter().for_each(|operation| _ = changes.apply(operation, |_| ()));
        let shown = |key: &KeyRecord<'_, u64>| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (key.row.id, key.sequence, text(key.key), text(key.text))
        };
        let expected = [
            (2, 4, "c".into(), String::new()),
            (9, 2, String::new(), "an empty key".into()),
            (9, 0, "b".into(), "first".into()),
        ];
        assert_eq!(changes.keys().iter().map(shown).collect::<Vec<_>>(), expected);
        let mut of_row = Vec::new();
        changes.keys_of(row(9), &mut |key| of_row.push(key.sequence));
        assert_eq!(of_row, [3, 2, 0]);
        assert_eq!(changes.next_sequence(), 5);
    }
}
