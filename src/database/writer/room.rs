//! Room on the disk: the files of runs that were replaced, and the reserve for deletions.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::Writer;
use crate::build::remove_run;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::RunRecord;
use crate::query::prepare::Searchable;
use crate::storage::{Guarded, reserve};

impl<F: Fingerprint> Writer<F> {
    /// The runs with these records, to hold them until [`remove_runs`](Self::remove_runs).
    pub(super) fn held(&self, records: &[RunRecord]) -> Vec<Arc<Searchable<F>>> {
        let is_meant =
            |of: &&Arc<Searchable<F>>| records.iter().any(|record| record.run == of.run.record.run);
        self.view.searchables().iter().filter(is_meant).cloned().collect()
    }

    /// Removes the files of runs that no manifest names any more.
    pub(super) fn remove_runs(&mut self, records: &[RunRecord], held: Vec<Arc<Searchable<F>>>) {
        let runs: Vec<(u64, usize)> =
            records.iter().map(|record| (record.run, record.segments.len())).collect();
        let remove =
            move |storage: &Guarded| runs.iter().for_each(|&(run, tables)| remove_run(storage, run, tables));
        self.remove_later(held, remove);
    }

    /// Drops something and removes its files, on a separate thread if merges have one: to unmap and free gigabytes
    /// takes tenths of a second.
    pub(super) fn remove_later(
        &mut self,
        held: impl Send + 'static,
        remove: impl Fn(&Guarded) + Clone + Send + 'static,
    ) {
        self.removals.retain(|thread| !thread.is_finished());
        let thread = if self.options.background_merges {
            let (storage, remove) = (self.storage.clone(), remove.clone());
            let work = move || {
                drop(held);
                remove(&storage);
            };
            Builder::new().name("nearprint removal".into()).spawn(work).ok()
        } else {
            drop(held);
            None
        };
        match thread {
            Some(thread) => self.removals.push(thread),
            // Where the system cannot start one, too.
            None => remove(&self.storage),
        }
    }

    /// Waits until files are removed. Returns whether there were any.
    pub(super) fn finish_removals(&mut self) -> bool {
        let threads: Vec<JoinHandle<()>> = std::mem::take(&mut self.removals);
        if self.lock.check_process().is_err() {
            // The child of a fork has none of the threads.
            std::mem::forget(threads);
            return false;
        }
        let were_any = !threads.is_empty();
        // What a panic has left behind, the next writer removes. Raised again, it would abort a process that
        // unwinds and drops the writer.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        were_any
    }

    /// Does what needs room, and does it again once files are removed if there was none.
    pub(super) fn with_room<T>(&mut self, mut run: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        match run(self) {
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() && self.finish_removals() => run(self),
            other => other,
        }
    }

    /// Does what makes room later. If the disk is full, does it once more without the reserve.
    pub(super) fn with_reserve<T>(&mut self, mut run: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        match self.with_room(&mut run) {
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() && reserve::release(&self.storage) => {
                run(self)
            }
            other => other,
        }
    }

    /// The same for what leaves the reserve its room: it is put back at once, before an insertion takes the room.
    pub(super) fn with_reserve_for_now<T>(&mut self, run: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        let reserved = reserve::len_bytes(&self.storage);
        let done = self.with_reserve(run);
        if reserve::len_bytes(&self.storage) < reserved && !self.storage.is_poisoned() {
            self.finish_removals();
            // A little may be missing, or all that a reader still holds.
            let _ = reserve::make(&self.storage, reserved) || reserve::make(&self.storage, reserved / 2);
        }
        done
    }

    pub(super) fn keep_reserve(&self) {
        if !self.storage.is_poisoned() {
            reserve::keep(&self.storage, reserve::wanted(&self.manifest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::handle::Database;
    use crate::format::schema::Schema;
    use crate::options::Options;
    use crate::storage::{Storage, names};
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The numbers of the runs that have segments, or of the logs.
    fn on_disk(folder: &Path, extension: &str) -> BTreeSet<u64> {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(extension));
        names.map(|name| name.trim_start_matches("wal-")[..8].parse().unwrap()).collect()
    }

    #[test]
    fn regression_a_commit_does_not_free_the_files_of_merged_runs() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows.np");
        let options = Options::new().threads(2).memtable_rows(32);
        let mut writer = options.create::<u64>(&path, &Schema::new()).unwrap().writer().unwrap();
        let mut were_any = false;
        for id in 0..4000 {
            writer.insert(crate::fingerprint::mix64(id)).unwrap();
            if id % 32 == 0 {
                writer.commit().unwrap();
                were_any |= !writer.removals.is_empty();
            }
        }
        assert!(were_any, "files are removed in the background");
        writer.compact().unwrap();
        assert_eq!(on_disk(&path, ".seg"), writer.manifest.runs.iter().map(|run| run.run).collect());
        writer.close().unwrap();
        assert_eq!(Database::<u64>::open(&path).unwrap().snapshot().unwrap().stats().rows, 4000);
    }

    #[test]
    fn regression_a_commit_does_not_free_what_a_flush_replaces() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows.np");
        let options = Options::new().memtable_rows(32).merges(false);
        let mut writer = options.create::<u64>(&path, &Schema::new()).unwrap().writer().unwrap();
        let mut were_any = false;
        for id in 0..400 {
            writer.insert(crate::fingerprint::mix64(id)).unwrap();
            writer.commit().unwrap();
            were_any |= !writer.removals.is_empty();
        }
        assert!(were_any, "memtables and logs are freed in the background");
        writer.wait_for_merges().unwrap();
        assert_eq!(on_disk(&path, ".log"), writer.manifest.wal_headers().map(|log| log.number).collect());
        assert_eq!(writer.snapshot().unwrap().stats().rows, 400);
    }

    /// Whoever kept a writer open had no reserve when the disk was full.
    #[test]
    fn regression_a_database_that_an_open_writer_grows_has_a_reserve() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rows.np");
        for merges in [false, true] {
            let _ = std::fs::remove_dir_all(&path);
            let options = Options::new().memtable_rows(1 << 17).merges(merges);
            let mut writer = options.create::<u64>(&path, &Schema::new()).unwrap().writer().unwrap();
            let has_reserve = || path.join(names::RESERVE).exists();
            for id in 0..800_000 {
                writer.insert(crate::fingerprint::mix64(id)).unwrap();
                if id % 10_000 == 0 {
                    writer.commit().unwrap();
                    assert!(id > 100_000 || !has_reserve(), "a small database has one");
                }
            }
            assert!(has_reserve(), "merges: {merges}");
        }
    }

    #[test]
    fn the_end_of_a_writer_waits_for_all_removals() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let home = tempfile::tempdir().unwrap();
        let database = Database::<u64>::create(home.path().join("rows.np"), &Schema::new()).unwrap();
        let mut writer = database.writer().unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        for pause in [200, 0] {
            let done = done.clone();
            writer.remove_later((), move |_| {
                std::thread::sleep(std::time::Duration::from_millis(pause));
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        drop(writer);
        assert_eq!(done.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn what_lacks_room_waits_for_removals_and_is_done_again() {
        let home = tempfile::tempdir().unwrap();
        let database = Database::<u64>::create(home.path().join("rows.np"), &Schema::new()).unwrap();
        let mut writer = database.writer().unwrap();
        let mut attempts = 0;
        let mut attempt = |writer: &mut Writer<u64>| {
            attempts += 1;
            writer.with_room(|writer| match writer.removals.is_empty() {
                true if attempts == 2 => Ok(()),
                _ => Err(Error::DiskFull { action: "write", path: writer.path.clone() }),
            })
        };
        assert!(matches!(attempt(&mut writer), Err(Error::DiskFull { .. })));
        writer.removals.push(std::thread::spawn(|| ()));
        attempt(&mut writer).unwrap();
    }

    /// After a failed sync nothing is tried again, and the reserve stays.
    #[test]
    fn a_poisoned_writer_makes_no_room() {
        let home = tempfile::tempdir().unwrap();
        let database = Database::<u64>::create(home.path().join("rows.np"), &Schema::new()).unwrap();
        for is_poisoned in [false, true] {
            let mut writer = database.writer().unwrap();
            reserve::keep(&writer.storage, 1 << 20);
            let has_reserve = |writer: &Writer<u64>| writer.storage.open(names::RESERVE).is_ok();
            assert!(has_reserve(&writer));
            let mut attempts = 0;
            let result = writer.with_reserve(|writer| {
                attempts += 1;
                if is_poisoned {
                    writer.storage.poison();
                }
                Err::<(), _>(Error::DiskFull { action: "sync", path: writer.path.clone() })
            });
            assert!(matches!(result, Err(Error::DiskFull { .. })));
            assert_eq!((attempts, has_reserve(&writer)), if is_poisoned { (1, true) } else { (2, false) });
        }
    }
}
