//! What a merge leaves out.

use std::collections::{BTreeMap, BTreeSet};

use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::KeyRecord;

/// Rows and keys that no result of a merge has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Omitted<F> {
    pub(crate) rows: BTreeSet<Row<F>>,
    /// By their rows.
    pub(crate) keys: BTreeMap<Row<F>, Vec<Box<[u8]>>>,
}

impl<F: Fingerprint> Omitted<F> {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.keys.is_empty()
    }

    /// Whether it has a key, or all keys of its row.
    pub(super) fn has_key(&self, record: &KeyRecord<'_, F>) -> bool {
        !self.is_empty()
            && (self.rows.contains(&record.row)
                || self.keys.get(&record.row).is_some_and(|keys| keys.iter().any(|key| **key == *record.key)))
    }
}
