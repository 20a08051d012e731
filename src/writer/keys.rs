//! Keys of a writer's rows, by the order in which they came.

use std::collections::BTreeSet;

use super::Writer;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::keys::KeyRecord;
use crate::format::wal::Operation;

impl<F: Fingerprint> Writer<F> {
    /// Deletes every row that has a key with this stamp or a later one; rows of the same ids that have
    /// earlier keys stay. One walk over all keys.
    pub(crate) fn delete_keys_since(&mut self, stamp: u64) -> Result<()> {
        self.flush()?;
        let mut ids = BTreeSet::new();
        for (index, run) in self.view.runs().enumerate() {
            let (Some(keys), newer) = (&run.keys, self.view.newer(index)) else { continue };
            let mut cursor = keys.cursor::<F>();
            while let Some(record) = cursor.next()? {
                if record.stamp >= stamp && !newer.hide(record.row.id)? {
                    ids.insert(record.row.id);
                }
            }
        }
        let view = self.view.clone();
        ids.iter().try_for_each(|&id| self.delete(id))?;
        for (index, run) in view.runs().enumerate() {
            let Some(keys) = &run.keys else { continue };
            for &id in &ids {
                if view.newer(index).hide(id)? {
                    continue;
                }
                for at in keys.of_id(id)? {
                    let record: KeyRecord<'_, F> = keys.record(at)?;
                    if record.stamp < stamp {
                        self.apply(Operation::InsertKeyed(record))?;
                    }
                }
            }
        }
        Ok(())
    }
}
