//! The live rows of all runs and the log.

use std::collections::{BTreeMap, BTreeSet};

use super::value::Value;

/// A fingerprint and an id.
pub(crate) type Row = (Value, u64);

/// A key of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) key: Vec<u8>,
    /// The sequence numbers of the first and the last insertion.
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) text: Vec<u8>,
}

/// What a run holds.
pub(super) struct Content {
    pub(super) rows: Vec<Row>,
    /// Ascending.
    pub(super) deleted: Vec<u64>,
    pub(super) keys: Vec<(Row, Key)>,
}

/// Rows and their keys, as runs and operations leave them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) rows: BTreeSet<Row>,
    keys: BTreeMap<Row, BTreeMap<Vec<u8>, Key>>,
}

impl Rows {
    /// Adds a run that is younger than everything before.
    pub(super) fn add_run(&mut self, run: Content) {
        let is_live = |id: &u64| run.deleted.binary_search(id).is_err();
        self.rows.retain(|(_, id)| is_live(id));
        self.keys.retain(|(_, id), _| is_live(id));
        self.rows.extend(run.rows);
        run.keys.into_iter().for_each(|(row, key)| self.add_key(row, key));
    }

    pub(super) fn insert(&mut self, row: Row, key: Option<Key>) {
        self.rows.insert(row.clone());
        if let Some(key) = key {
            self.add_key(row, key);
        }
    }

    pub(super) fn delete(&mut self, id: u64) {
        self.rows.retain(|row| row.1 != id);
        self.keys.retain(|row, _| row.1 != id);
    }

    /// Keeps the record that was inserted first, and the last insertion of both.
    fn add_key(&mut self, row: Row, key: Key) {
        let known = self.keys.entry(row).or_default().entry(key.key.clone()).or_insert_with(|| key.clone());
        let last = known.last.max(key.last);
        if key.first < known.first {
            *known = key;
        }
        known.last = last;
    }

    /// The keys of a row, ascending.
    pub(crate) fn keys_of(&self, row: &Row) -> impl Iterator<Item = &Key> {
        self.keys.get(row).into_iter().flat_map(BTreeMap::values)
    }
}
