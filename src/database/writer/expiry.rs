//! Rows that expire: a run has the rows of one period, and is dropped as it is.

use super::Writer;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Expiry, Manifest};
use crate::storage::Storage;
use crate::util::time::Time;

impl<F: Fingerprint> Writer<F> {
    /// When a row expires that is inserted now. Never before an older row, even if the clock was set
    /// back.
    pub(crate) fn expiry_of_new_rows(&self) -> Option<Time> {
        let due = self.manifest.expiry?.lifetime.of_row(self.storage().now());
        let newest = self.manifest.runs.last().and_then(|run| run.expires);
        Some(due).max(newest).max(self.expires)
    }

    /// Flushes the rows of the period before, so that a run has rows of one period. What a transaction
    /// inserts belongs to the period in which it began. One that does not insert may take the reserve for it.
    fn begin_period(&mut self, inserts: bool) -> Result<()> {
        let due = self.expiry_of_new_rows();
        if due == self.expires {
            return Ok(());
        }
        if self.unflushed().any(|memtable| memtable.changes.operations() > 0) {
            // One expiry stands for both logs. What was left out may be uncommitted.
            self.with_room(Self::flush_once)?;
        }
        if self.manifest.live_wal.is_some() {
            let next = with_log_expiry(self.next_manifest(), due);
            match inserts || self.outlives_runs() {
                true => self.publish(next)?,
                false => self.with_reserve_for_now(|writer| writer.publish(next.clone()))?,
            }
        }
        self.expires = due;
        Ok(())
    }

    /// The manifest, with the expiry of the memtable as the expiry of the log.
    pub(super) fn noted_expiry(&self) -> Manifest {
        with_log_expiry(self.manifest.clone(), self.expires)
    }

    /// Begins a transaction that inserts rows or does not, unless one has begun.
    ///
    /// If the rows of the period before have no room in a run, what inserts none goes to their log.
    pub(super) fn begin_transaction(&mut self, inserts: bool) -> Result<()> {
        if !self.pending.is_empty() {
            return match inserts && self.is_late {
                true => Err(Error::DiskFull { action: "write", path: self.path.clone() }),
                false => Ok(()),
            };
        }
        // A system call for every operation would be half of its time.
        self.lock.check_process().map_err(Error::io("write to", &self.path))?;
        self.is_late = match self.begin_period(inserts) {
            Err(Error::DiskFull { .. })
                if !inserts && !self.storage.is_poisoned() && self.outlives_runs() =>
            {
                true
            }
            begun => begun.map(|()| false)?,
        };
        Ok(())
    }

    /// Whether no run expires after the log: one that was ingested may, and what the log deletes of it would come back.
    fn outlives_runs(&self) -> bool {
        self.manifest.runs.last().and_then(|run| run.expires) <= self.expires
    }

    /// How many of the oldest runs have expired, which a commit drops, and whether the unflushed rows have.
    pub(super) fn expired(&self) -> (usize, bool) {
        let Some(now) = self.manifest.expiry.map(|_| self.storage.now()) else { return (0, false) };
        let runs = self.manifest.runs.iter().take_while(|run| run.is_expired(now)).count();
        (runs, self.expires.is_some_and(|expires| expires <= now))
    }

    /// Drops the runs whose rows have expired. On a full disk it takes the reserve until their files have made room;
    /// without one they stay, and queries leave them out.
    pub(super) fn drop_expired(&mut self) -> Result<()> {
        if self.manifest.expiry.is_none() {
            return Ok(());
        }
        let mut next = self.next_manifest();
        let dropped = next.drop_expired(self.storage().now());
        if !dropped.is_empty() {
            let (runs, rows) = (dropped.len(), dropped.iter().map(|run| run.rows).sum());
            let mut held = Some(self.held(&dropped));
            let drop_runs = |writer: &mut Self| {
                writer.publish(next.clone())?;
                writer.remove_runs(&dropped, held.take().unwrap_or_default());
                Ok(())
            };
            match self.with_reserve_for_now(drop_runs) {
                Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => return Ok(()),
                published => published?,
            }
            self.options.listener.tell(&Event::Expiry { runs, rows });
        }
        Ok(())
    }
}

/// A manifest in which the rows of the live log expire at a time.
pub(super) fn with_log_expiry(manifest: Manifest, expires: Option<Time>) -> Manifest {
    let of_log = expires.unwrap_or(Time(0));
    Manifest { expiry: manifest.expiry.map(|expiry| Expiry { of_log, ..expiry }), ..manifest }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::database::left_out;
    use crate::database::snapshot::Snapshot;
    use crate::format::schema::Schema;
    use crate::log::manifest;
    use crate::options::Options;
    use crate::storage::Storage;
    use crate::testing::simulated::SimulatedDisk;

    /// The flush of the period before made them durable, before anything beside them was committed.
    #[test]
    fn regression_what_was_left_out_is_discarded_after_the_end_of_a_period() {
        let [disk, of_left_out] = [0, 1].map(|_| SimulatedDisk::new());
        let millis = Duration::from_millis;
        let expiring = |schema: Schema| schema.expire_after(millis(400), Some(millis(100))).unwrap();
        manifest::replace(&disk, &manifest::fresh(64, &expiring(Schema::new())).unwrap()).unwrap();
        manifest::replace(&of_left_out, &manifest::fresh(128, &expiring(left_out::schema())).unwrap())
            .unwrap();
        let mut writer = Writer::<u64>::open(Arc::new(disk.clone()), Options::new()).unwrap();
        let left_out = Writer::open(Arc::new(of_left_out.clone()), Options::new()).unwrap();
        writer.left_out = Some(Box::new(left_out));
        let remembered = || {
            let storage: Arc<dyn Storage> = Arc::new(of_left_out.clone());
            Snapshot::<u128>::open(&storage, &Options::new(), None).unwrap().all_rows().len()
        };
        writer.insert(1).unwrap();
        writer.commit().unwrap();
        writer.remember_left_out("out", "kept", 0.9, 1).unwrap();
        disk.set_now(Time(100));
        writer.insert(2).unwrap();
        assert_eq!(remembered(), 0);
        writer.discard().unwrap();
        writer.commit().unwrap();
        assert_eq!(remembered(), 0);
        assert_eq!(writer.snapshot().unwrap().stats().rows, 1);
    }
}
