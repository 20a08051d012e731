//! Rows that expire: a run has the rows of one period, and is dropped as it is.

use super::Writer;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Expiry, Manifest};
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
    /// inserts belongs to the period in which it began.
    pub(super) fn begin_period(&mut self) -> Result<()> {
        let due = self.expiry_of_new_rows();
        if due == self.expires {
            return Ok(());
        }
        if self.unflushed().any(|memtable| memtable.changes.operations() > 0) {
            // One expiry stands for both logs.
            self.flush()?;
        }
        if self.manifest.live_wal.is_some() {
            let next = with_log_expiry(self.next_manifest(), due);
            self.publish(next)?;
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
        self.is_late = match self.begin_period() {
            Err(Error::DiskFull { .. }) if !inserts && !self.storage.is_poisoned() => true,
            begun => begun.map(|()| false)?,
        };
        Ok(())
    }

    /// Drops the runs whose rows have expired. On a full disk it takes the reserve, as their files make room; without
    /// one they stay, and queries leave them out.
    pub(super) fn drop_expired(&mut self) -> Result<()> {
        if self.manifest.expiry.is_none() {
            return Ok(());
        }
        let mut next = self.next_manifest();
        let dropped = next.drop_expired(self.storage().now());
        if !dropped.is_empty() {
            let (runs, rows) = (dropped.len(), dropped.iter().map(|run| run.rows).sum());
            let held = self.held(&dropped);
            match self.with_reserve(|writer| writer.publish(next.clone())) {
                Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => return Ok(()),
                published => published?,
            }
            self.remove_runs(&dropped, held);
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
