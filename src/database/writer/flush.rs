//! Writing the memtable to the log and to runs.

use std::sync::Arc;

use super::Writer;
use super::expiry::with_log_expiry;
use super::sealed::Sealed;
use crate::build::Target;
use crate::database::compaction::{Made, Merged};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::wal::{Content, HEADER_BYTES, Operation};
use crate::log::wal::{Log, Wal};
use crate::memtable::Memtable;
use crate::memtable::changes::ChangeSet;
use crate::options::Options;
use crate::storage::names;

impl<F: Fingerprint> Writer<F> {
    /// Creates a log and names it in the manifest, in place of the one that the writer has found and kept.
    pub(super) fn start_log(&mut self) -> Result<()> {
        let found = self.manifest.live_wal;
        self.publish_with_log(self.next_manifest())?;
        found.iter().for_each(|log| self.forget_log(log.number));
        Ok(())
    }

    /// Makes a new log the live one, in a new manifest.
    pub(super) fn publish_with_log(&mut self, mut next: Manifest) -> Result<()> {
        // Behind a sealed log, which ends where the found one begins, frames that are kept have the same numbers.
        let repeats = next.sealed_wal.is_some() && !self.kept.is_empty();
        next.next_frame = if repeats { self.manifest.next_frame } else { self.next_frame() };
        let mut wal = self.create_log(&mut next)?;
        // What is committed is in the new log before that takes the place of the old one.
        let begun = if self.kept.is_empty() { Ok(()) } else { wal.append_all(&self.kept) };
        begun.and_then(|()| self.publish(next)).inspect_err(|_| self.forget_log(wal.live.number))?;
        (self.wal, self.kept) = (Some(wal), Vec::new());
        Ok(())
    }

    /// Whether a writer that closes leaves its log, with what it would commit, instead of a run.
    pub(super) fn keeps_log(&self) -> bool {
        let written = self.wal.as_ref().map_or(HEADER_BYTES as u64, Wal::len_bytes);
        let to_write = self.kept.iter().chain([&self.pending]).filter(|content| !content.is_empty());
        let len_bytes = written + to_write.map(Content::frame_len_bytes).sum::<u64>();
        let is_used = self.sealed.is_none() && self.memtable.changes.operations() > 0;
        is_used && len_bytes <= self.options.keep_log_bytes
    }

    /// Whether it goes on with a log that it has found, whose last frame is in doubt.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn holds_found_log(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Creates a log that begins with the next frame of the next manifest, and names it there.
    fn create_log(&mut self, next: &mut Manifest) -> Result<Wal> {
        let wal = Wal::create(&self.storage, next)?;
        self.counters.take_log();
        (next.live_wal, next.next_wal) = (Some(wal.live), self.counters.next_wal);
        *next = with_log_expiry(next.clone(), self.expires);
        Ok(wal)
    }

    /// The number of the first frame of the next log.
    fn next_frame(&mut self) -> u64 {
        self.counters.next_frame = self.wal.as_ref().map_or(self.counters.next_frame, |wal| wal.next_frame);
        self.counters.next_frame
    }

    pub(super) fn forget_log(&self, number: u64) {
        self.forget(&names::wal(number));
    }

    /// Writes the memtable as a run and drops the logs, whose operations it has; starts a new one unless
    /// the writer closes.
    pub(super) fn flush_with(&mut self, start_log: bool) -> Result<()> {
        if self.memtable.changes.operations() == 0 && self.manifest.wal_headers().next().is_none() {
            return Ok(());
        }
        let (work, options) = (self.run_work()?, self.options.clone().without_progress());
        let made = Made::by(|| work(&self.memtable.changes, &options))?;
        self.install_flush(&made, &[], start_log)
    }

    /// Names the run of the memtable in the manifest, and the results of merges in place of their inputs; drops the
    /// logs. Without success, the caller removes the files of the merges.
    pub(super) fn install_flush(&mut self, made: &Made, merged: &[Merged], start_log: bool) -> Result<()> {
        let old: Vec<u64> = self.manifest.wal_headers().map(|log| log.number).collect();
        self.wal = self.publish_flush(made, merged, start_log)?;
        old.into_iter().for_each(|log| self.forget_log(log));
        self.memtable.clear();
        self.pending.clear();
        self.kept.clear();
        Ok(())
    }

    /// Names runs in the manifest, and a new log in place of the old one. Returns the new log.
    fn publish_flush(&mut self, made: &Made, merged: &[Merged], start_log: bool) -> Result<Option<Wal>> {
        let mut next = self.next_manifest();
        let inputs: Vec<RunRecord> =
            merged.iter().filter_map(|merged| merged.replace_in(&mut next)).flatten().collect();
        let held = self.held(&inputs);
        (next.sealed_wal, next.live_wal, next.next_frame) = (None, None, self.next_frame());
        next = with_log_expiry(next, None);
        self.memtable.changes.note_in(&mut next);
        next.runs.extend(made.record.clone());
        let wal = start_log.then(|| self.create_log(&mut next)).transpose();
        let wal = wal.inspect_err(|_| self.forget_made(made))?;
        self.publish_made(next, made)
            .inspect_err(|_| wal.iter().for_each(|wal| self.forget_log(wal.live.number)))?;
        if !inputs.is_empty() {
            self.remove_runs(&inputs, held);
        }
        merged.iter().for_each(|merged| self.tell_merge(merged));
        Ok(wal)
    }

    /// What makes a run of changes that are in none, on any thread. `None` if they have no effect.
    pub(super) fn run_work(
        &mut self,
    ) -> Result<impl FnOnce(&ChangeSet<F>, &Options) -> Result<Option<RunRecord>> + Send + use<F>> {
        let (run, has_older_runs) = (self.take_run_number(), !self.manifest.runs.is_empty());
        let (owner, layout) = (self.manifest.new_owner(run, self.expires)?, self.layout_of_new_run());
        let storage = self.storage();
        Ok(move |changes: &ChangeSet<F>, options: &Options| {
            let effect = changes.effect(has_older_runs);
            let target = Target { storage: &storage, options, owner };
            effect.map(|effect| effect.write(target, layout)).transpose()
        })
    }

    /// Takes back all operations since the last commit, or since the writer was opened. It reads the log,
    /// which contains everything that was committed and is in no run yet. In a call of a
    /// [`SharedWriter`](crate::SharedWriter), it takes back only the operations of that call.
    ///
    /// ```
    /// use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// let database = Database::<u64>::create(home.path().join("seen.np"), &Schema::new())?;
    /// let mut writer = database.writer()?;
    /// writer.insert(0x1f3a)?;
    /// writer.commit()?;
    /// writer.insert(0xffff)?;
    /// writer.discard()?;
    /// assert_eq!(writer.snapshot()?.stats().rows, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Poisoned`](crate::Error::Poisoned); [`Error::Io`](crate::Error::Io) and
    /// [`Error::Corrupt`](crate::Error::Corrupt) for the log. After an error the
    /// operations are still there.
    pub fn discard(&mut self) -> Result<()> {
        F::discard(self)
    }

    pub(in crate::database) fn take_back(&mut self) -> Result<()> {
        self.check_poison()?;
        self.with_left_out(Writer::take_back)?;
        if !self.pending.is_past_mark() {
            return Ok(());
        }
        // What is sealed has no uncommitted operations.
        let log = Log::open_all(&self.storage, &self.manifest)?.pop();
        let frames = log.as_ref().map(|log| log.read(log.start())).transpose()?;
        if let Some(frames) = &frames {
            // Nothing is given up before everything can be read.
            frames.visit::<F>(&mut |_| ())?;
        }
        self.pending.take_back();
        self.memtable.clear();
        frames.map_or(Ok(()), |frames| frames.visit(&mut |operation| self.memtable.apply(operation)))?;
        let Self { pending, memtable, deletes, inserts, .. } = self;
        (*deletes, *inserts) = (false, false);
        let apply = &mut |operation: Operation<'_, F>| {
            *deletes |= matches!(operation, Operation::Delete(_));
            *inserts |= operation.is_insert();
            memtable.apply(operation);
        };
        pending.visit(apply).map_err(|problem| problem.of(&self.path))
    }

    /// Takes a [short log](crate::Options::keep_log) into the memtable, or writes the content of the logs
    /// as a run. Recovery never appends to a log.
    pub(super) fn recover(&mut self) -> Result<()> {
        let logs = Log::open_all(&self.storage, &self.manifest)?;
        let is_short = match &logs[..] {
            [log] => log.len_bytes()? <= self.options.keep_log_bytes,
            _ => false,
        };
        if is_short {
            return self.keep_logs(&logs);
        }
        for log in &logs {
            let frames = log.read(log.start())?;
            // The flush needs no index.
            frames.visit(&mut |operation| self.memtable.changes.apply(operation))?;
            self.counters.next_frame = frames.end().frame;
        }
        if logs.is_empty() {
            return Ok(());
        }
        match self.flush_with(false) {
            // What makes room can begin.
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => {
                self.memtable.clear();
                self.keep_logs(&logs)
            }
            other => other,
        }
    }

    /// Takes the live log into the memtable. It stays until the next one, which begins with its content: as one frame,
    /// or behind a sealed log as the same frames. A sealed log stays as it is, and is flushed later.
    fn keep_logs(&mut self, logs: &[Log]) -> Result<()> {
        for log in logs {
            let frames = log.read(log.start())?;
            if log.is_sealed() {
                let mut memtable = Memtable::of(&self.manifest, &self.options)?;
                frames.visit(&mut |operation| memtable.apply(operation))?;
                self.sealed = Some(Sealed { memtable: Arc::new(memtable), job: None });
                continue;
            }
            frames.visit(&mut |operation| self.memtable.apply(operation))?;
            match logs.len() {
                1 => {
                    let all: Vec<&[u8]> = frames.contents().collect();
                    self.kept.extend((!all.is_empty()).then(|| Content::of_frame(&all.concat())));
                }
                _ => self.kept.extend(frames.contents().map(Content::of_frame)),
            }
            self.counters.next_frame = frames.end().frame;
        }
        Ok(())
    }
}
