//! Writing the memtable to the log and to runs.

use super::Writer;
use crate::build::Target;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Manifest, RunRecord};
use crate::log::wal::{Log, Wal};

impl<F: Fingerprint> Writer<F> {
    /// Creates a log and names it in the manifest.
    pub(super) fn start_log(&mut self) -> Result<()> {
        let wal = self.create_log()?;
        self.publish(Manifest { live_wal: Some(wal.number), ..self.next_manifest() })
            .inspect_err(|_| self.forget_log(wal.number))?;
        self.wal = Some(wal);
        Ok(())
    }

    fn create_log(&mut self) -> Result<Wal> {
        let number = self.counters.take_wal();
        Wal::create(&self.storage, &self.manifest, number, self.counters.next_frame)
    }

    /// Writes the memtable as a run and drops the log; starts a new one unless the writer closes.
    pub(super) fn flush_with(&mut self, start_log: bool) -> Result<()> {
        let old = self.manifest.live_wal;
        if self.memtable.changes.operations() == 0 && old.is_none() {
            return Ok(());
        }
        let record = self.write_memtable()?;
        let run = record.as_ref().map(|record| (record.run, record.segments.len()));
        let published = self.publish_flush(record, start_log);
        if let (Err(_), Some((run, tables))) = (&published, run) {
            self.forget_run(run, tables);
        }
        self.wal = published?;
        old.into_iter().for_each(|number| self.forget_log(number));
        self.memtable.clear();
        self.pending.clear();
        Ok(())
    }

    /// Names a run in the manifest, and a new log in place of the old one. Returns the new log.
    fn publish_flush(&mut self, record: Option<RunRecord>, start_log: bool) -> Result<Option<Wal>> {
        self.counters.next_frame = self.wal.as_ref().map_or(self.counters.next_frame, |wal| wal.next_frame);
        let wal = if start_log { Some(self.create_log()?) } else { None };
        let (mut next, number) = (self.next_manifest(), wal.as_ref().map(|wal| wal.number));
        self.memtable.changes.note_in(&mut next);
        (next.live_wal, next.next_frame) = (number, self.counters.next_frame);
        next.runs.extend(record);
        self.publish(next).inspect_err(|_| number.into_iter().for_each(|number| self.forget_log(number)))?;
        Ok(wal)
    }

    /// Writes the memtable as a run. `None` if it has no effect.
    fn write_memtable(&mut self) -> Result<Option<RunRecord>> {
        let has_older_runs = !self.manifest.runs.is_empty();
        let Some(effect) = self.memtable.changes.effect(has_older_runs) else { return Ok(None) };
        let run = self.counters.take_run();
        let options = self.options.clone().without_progress();
        let (storage, database_id) = (self.storage(), self.manifest.database_id);
        let target = Target { storage: &storage, options: &options, database_id, width: F::BITS, run };
        effect.write(target, |entries| self.layout_of(entries, false)).map(Some)
    }

    /// Writes the content of the log as a run. Recovery never appends to a log.
    pub(super) fn recover(&mut self) -> Result<()> {
        if let Some(log) = Log::open(&self.storage, &self.manifest)? {
            let frames = log.read(log.start())?;
            // The flush needs no index.
            frames.visit(&mut |operation| self.memtable.changes.apply(operation))?;
            self.counters.next_frame = frames.end().frame;
            self.flush_with(false)?;
        }
        Ok(())
    }
}
