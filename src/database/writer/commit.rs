//! Making operations durable: in the log, or as a run where they are many.

use super::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::log::wal::Wal;
use crate::storage::reserve;

/// A commit writes a run once keys and texts exceed this part of the memory.
const KEYS_SHARE: usize = 8;

impl<F: Fingerprint> Writer<F> {
    /// Makes all operations durable, and visible to new snapshots in every process. Costs one fdatasync; writes a run
    /// if it has more operations than the memtable takes. Includes a [kept log](crate::Options::keep_log).
    ///
    /// Deletions alone have room on a full disk, too, if the database has a reserve: a file that databases of 16 MiB
    /// or more keep for them. It holds the deletion of all rows, in commits of many rows. Deletions beside
    /// uncommitted insertions do not use it: [`discard`](Writer::discard) these after a commit of them has failed.
    ///
    /// # Errors
    /// [`Error::DiskFull`] and [`Error::Io`]: nothing is lost, and the commit can be retried,
    /// unless a sync failed. In that case the writer returns [`Error::Poisoned`] from then on.
    /// [`Error::Corrupt`] if a merge found damage. [`Error::Forked`] in the child of a fork.
    pub fn commit(&mut self) -> Result<()> {
        F::commit(self)
    }

    pub(in crate::database) fn commit_all(&mut self) -> Result<()> {
        let committed = self.with_left_out(Writer::commit_all);
        match committed.and_then(|()| self.with_room(Self::commit_once)) {
            Err(Error::DiskFull { .. }) if self.makes_room() && !self.storage.is_poisoned() => {
                reserve::release(&self.storage);
                self.with_left_out(Writer::commit_all)?;
                self.log_pending()
            }
            other => other,
        }
    }

    /// Whether there are operations that the next commit makes durable.
    #[must_use]
    pub fn has_uncommitted(&self) -> bool {
        let left_out = self.left_out.as_deref();
        !self.pending.is_empty() || left_out.is_some_and(Writer::has_uncommitted)
    }

    /// Whether the uncommitted operations delete rows, and add none.
    fn makes_room(&self) -> bool {
        self.deletes && !self.inserts && !self.pending.is_empty()
    }

    /// Makes operations durable in the least room: in the log, where the memtable is full, too.
    pub(super) fn log_pending(&mut self) -> Result<()> {
        self.check_poison()?;
        self.check_lock()?;
        if self.pending.is_empty() && self.kept.is_empty() {
            return Ok(());
        }
        let packed = self.pending.packed::<F>().map_err(|problem| problem.of(&self.path))?;
        let given = packed.map(|packed| std::mem::replace(&mut self.pending, packed));
        let written = match Wal::has_room(self.wal.as_ref(), &self.pending) {
            true => self.append_pending(),
            false => self.flush_once(),
        };
        if let (Err(_), Some(given)) = (&written, given) {
            self.pending = given;
        }
        written
    }

    /// Writes the uncommitted operations to the log.
    fn append_pending(&mut self) -> Result<()> {
        if self.wal.is_none() {
            self.start_log()?;
        }
        if let Some(wal) = self.wal.as_mut().filter(|_| !self.pending.is_empty()) {
            wal.append(&self.pending)?;
        }
        self.pending.clear();
        Ok(())
    }

    fn begin_commit(&mut self) -> Result<()> {
        self.check_poison()?;
        self.check_lock()?;
        // A merge that is installed frees what the run of a flush may need.
        self.take_finished_merge()?;
        self.finish_flush(false)?;
        self.drop_expired()
    }

    fn commit_once(&mut self) -> Result<()> {
        self.begin_commit()?;
        if self.pending.is_empty() && self.kept.is_empty() {
            return Ok(());
        }
        let changes = &self.memtable.changes;
        let is_full = self.memtable.is_full()
            || changes.key_bytes() >= self.options.memory_bytes / KEYS_SHARE
            || !Wal::has_room(self.wal.as_ref(), &self.pending);
        if is_full && !self.seals() {
            return self.flush_once();
        }
        self.append_pending()?;
        match if is_full { self.seal() } else { Ok(()) } {
            // The operations are durable, and the next commit tries again.
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => Ok(()),
            other => other,
        }
    }

    /// Commits, unless the writer has changed nothing: then a log that it has found stays as it is.
    pub(super) fn commit_changes(&mut self) -> Result<()> {
        if self.pending.is_empty() { self.begin_commit() } else { self.commit_all() }
    }
}
