//! What operations since the last flush come to: the rows that stand, and the ids that are deleted from
//! older runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row};
use crate::format::manifest::{IdRanges, Manifest};
use crate::format::wal::Operation;
use crate::layout::Layout;
use crate::options::Options;
use crate::query::prepare::Searchable;
use crate::runs::{Counts, Target, write_run};
use crate::segment::Run;
use crate::storage::{Memory, Storage};

/// Operations, applied in order.
#[derive(Debug, Default)]
pub(crate) struct Changes<F> {
    /// By (id, fingerprint), each with the number of the insertion that made it stand.
    rows: BTreeMap<(u64, F), u32>,
    deleted: BTreeSet<u64>,
    insertions: u32,
    operations: usize,
    automatic: IdRanges,
    largest_id: Option<u64>,
}

impl<F: Fingerprint> Changes<F> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Operations applied, those without an effect too.
    pub(crate) fn operations(&self) -> usize {
        self.operations
    }

    /// Ids that were given automatically.
    pub(crate) fn automatic(&self) -> &IdRanges {
        &self.automatic
    }

    /// The largest id of any row, deleted ones too.
    pub(crate) fn largest_id(&self) -> Option<u64> {
        self.largest_id
    }

    /// Whether rows of older runs with this id are deleted.
    pub(crate) fn deletes(&self, id: u64) -> bool {
        self.deleted.contains(&id)
    }

    /// Applies an operation. Tells the number of the insertion, where it made a row stand that did not,
    /// and calls `removed` with the number of each insertion that it undoes.
    pub(crate) fn apply(&mut self, operation: Operation<F>, removed: impl FnMut(u32)) -> Option<u32> {
        self.operations += 1;
        match operation {
            Operation::Insert { row, automatic } => self.insert(row, automatic),
            Operation::Delete(id) => {
                self.delete(id, removed);
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

    fn delete(&mut self, id: u64, mut removed: impl FnMut(u32)) {
        self.deleted.insert(id);
        let of_id = (id, F::default())..=(id, F::ones(0, F::BITS));
        let gone: Vec<(u64, F)> = self.rows.range(of_id).map(|(&key, _)| key).collect();
        for key in gone {
            if let Some(number) = self.rows.remove(&key) {
                removed(number);
            }
        }
    }

    /// The rows that stand, in order.
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

    /// A run in memory that holds the changes; nothing where they come to nothing.
    pub(crate) fn to_run(
        &self,
        manifest: &Manifest,
        layout: Layout,
        options: &Options,
    ) -> Result<Option<Arc<Searchable<F>>>> {
        let (rows, deleted) = (self.rows(), self.deleted(!manifest.runs.is_empty()));
        if rows.is_empty() && deleted.is_empty() {
            return Ok(None);
        }
        let storage: Arc<dyn Storage> = Arc::new(Memory::default());
        let quiet = options.clone().without_progress();
        let (database_id, run) = (manifest.database_id, manifest.next_run);
        let target = Target { storage: &storage, options: &quiet, database_id, width: F::BITS, run };
        let counts = Counts::of(&&rows[..], 0, &quiet)?;
        let record = write_run(target, layout, Box::new(&rows[..]), counts, &deleted)?;
        let largest_id = manifest.largest_id.max(self.largest_id);
        let manifest = Manifest { largest_id, ..manifest.clone() };
        Ok(Some(Arc::new(Searchable::new(Run::open(&*storage, &manifest, &record)?))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(fingerprint: u64, id: u64) -> Operation<u64> {
        Operation::Insert { row: Row { fingerprint, id }, automatic: false }
    }

    #[test]
    fn operations_apply_in_order() {
        let mut changes = Changes::new();
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
