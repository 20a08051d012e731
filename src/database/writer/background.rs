//! Flushes in the background: the memtable and its log are sealed, and a thread makes a run of them
//! while commits go on with a new log.

use std::sync::Arc;

use super::Writer;
use super::sealed::Sealed;
use crate::database::compaction::{Made, RunJob};
use crate::error::Result;
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Manifest, SealedWal};
use crate::log::wal::Wal;
use crate::memtable::Memtable;
use crate::options::Options;
use crate::storage::{Storage, names};

impl<F: Fingerprint> Writer<F> {
    /// Whether a full memtable is to be sealed, and not flushed at once: most of it is in the log, which
    /// has room for the rest.
    pub(super) fn seals(&self) -> bool {
        let pending = &self.pending;
        let is_asked_for = self.options.background_merges || self.options.deferred_flushes;
        let log = self.wal.as_ref().filter(|log| pending.frame_len_bytes() <= log.len_bytes() / 2);
        is_asked_for && log.is_some() && Wal::has_room(log, pending)
    }

    /// Seals the memtable and its log, which has all of its operations. Waits for the run of the one
    /// that was sealed before.
    pub(super) fn seal(&mut self) -> Result<()> {
        self.finish_flush(true)?;
        self.wait_for_few_runs()?;
        let Some(wal) = self.manifest.live_wal else { return Ok(()) };
        let memtable = Memtable::of(&self.manifest, &self.options)?;
        let mut next = self.next_manifest();
        next.sealed_wal = Some(SealedWal { wal, first_frame: self.manifest.next_frame });
        self.memtable.changes.note_in(&mut next);
        self.publish_with_log(next)?;
        let memtable = Arc::new(std::mem::replace(&mut self.memtable, memtable));
        self.sealed = Some(Sealed { memtable: memtable.clone(), job: None });
        if self.options.background_merges {
            let (work, sealed) = (self.run_work()?, memtable.clone());
            let work = move |options: &Options| work(&sealed.changes, options);
            let job = RunJob::spawn("nearprint flush", &self.options, work);
            self.sealed = Some(Sealed { memtable, job });
        }
        Ok(())
    }

    /// Names the run of what is sealed in the manifest, if it is there or if the caller waits for it.
    pub(super) fn finish_flush(&mut self, wait: bool) -> Result<()> {
        let Some(sealed) = &mut self.sealed else { return Ok(()) };
        let made = match sealed.job.take_if(|job| wait || job.is_finished()) {
            Some(job) => self.timed(!job.is_finished(), || job.wait())?,
            None if sealed.job.is_some() || !wait && self.options.deferred_flushes => return Ok(()),
            None => {
                let (memtable, options) = (sealed.memtable.clone(), self.options.clone().without_progress());
                let work = self.run_work()?;
                Made::by(|| work(&memtable.changes, &options))?
            }
        };
        let mut next = self.next_manifest();
        next.runs.extend(made.record.clone());
        let log = next.sealed_wal.take();
        self.publish_made(next, &made)?;
        let sealed = self.sealed.take();
        self.remove_later(sealed, move |storage| {
            // If this fails, the next writer removes it.
            let _ = log.as_ref().map(|log| storage.remove(&names::wal(log.wal.number)));
        });
        self.merge_if_due()
    }

    /// Replaces the manifest by one with the run of a flush.
    pub(super) fn publish_made(&mut self, next: Manifest, made: &Made) -> Result<()> {
        self.publish(next).inspect_err(|_| self.forget_made(made))?;
        let (rows, bytes) = made.size();
        if bytes > 0 {
            self.options.listener.tell(&Event::Flush { rows, bytes, took: made.took });
            self.keep_reserve();
        }
        Ok(())
    }

    /// Removes the files of a run that no manifest names.
    pub(super) fn forget_made(&self, made: &Made) {
        made.record.iter().for_each(|record| self.forget_run(record.run, record.segments.len()));
    }

    /// Cancels the work on what is sealed, whose log stays.
    pub(super) fn discard_flush(&mut self) {
        let Some(job) = self.sealed.take().and_then(|sealed| sealed.job) else { return };
        if self.lock.check_process().is_err() {
            // The child of a fork has no such thread, and must not wait for it.
            std::mem::forget(job);
        } else if let Some(record) = job.abandon() {
            self.forget_run(record.run, record.segments.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::spawn;
    use std::time::Duration;

    use super::*;
    use crate::database::compaction::MergeJob;
    use crate::database::handle::Database;
    use crate::format::schema::Schema;
    use crate::progress::Stage;

    /// A panic in `Drop` would abort a process that unwinds.
    #[test]
    fn regression_a_writer_is_dropped_without_the_panics_of_its_threads() {
        let home = tempfile::tempdir().unwrap();
        let database = Database::<u64>::create(home.path().join("db"), &Schema::new()).unwrap();
        let job = || RunJob::spawn("a job", &Options::new(), |_| resume_unwind(Box::new("a job"))).unwrap();
        type Begin = Box<dyn Fn(&mut Writer<u64>)>;
        let threads: [Begin; 3] = [
            Box::new(move |writer| writer.merges.push(MergeJob { job: job(), replaces: vec![1] })),
            Box::new(move |writer| {
                let memtable = Arc::new(Memtable::of(&writer.manifest, &writer.options).unwrap());
                writer.sealed = Some(Sealed { memtable, job: Some(job()) });
            }),
            Box::new(|writer| writer.removals.push(spawn(|| resume_unwind(Box::new("a removal"))))),
        ];
        for (nth, begin) in threads.iter().enumerate() {
            let mut writer = database.writer().unwrap();
            begin(&mut writer);
            assert!(catch_unwind(AssertUnwindSafe(|| drop(writer))).is_ok(), "thread {nth}");
        }
    }

    /// A thread that went on would write into a folder that another writer has.
    #[test]
    fn the_end_of_a_writer_cancels_and_waits_for_its_flush() {
        let home = tempfile::tempdir().unwrap();
        let database = Database::<u64>::create(home.path().join("db"), &Schema::new()).unwrap();
        let mut writer = database.writer().unwrap();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = has_ended.clone();
        let job = RunJob::spawn("a job", &Options::new(), move |options| {
            let progress = options.progress.clone().unwrap();
            while progress.report(Stage::Merging, 0, None).is_continue() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(50));
            ended.store(true, Ordering::SeqCst);
            Ok(None)
        });
        let memtable = Arc::new(Memtable::of(&writer.manifest, &writer.options).unwrap());
        writer.sealed = Some(Sealed { memtable, job });
        drop(writer);
        assert!(has_ended.load(Ordering::SeqCst));
    }
}
