//! The unflushed rows that a reader finds in the logs, as runs in memory.
//!
//! A refresh reads the frames that were added since, and makes a small run of them. Small runs are
//! replaced by larger ones as they become many: a refresh costs what was added, and a query meets few
//! runs.

use std::sync::Arc;

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::Manifest;
use crate::format::wal::LogPlace;
use crate::log::wal::Log;
use crate::memtable::changes::ChangeSet;
use crate::options::Options;
use crate::query::prepare::Searchable;
use crate::storage::Storage;

/// Frames of so many bytes are read again with those behind them: to make a run of few rows takes
/// no less time.
const SMALL_BYTES: u64 = 4096;
/// A run is replaced once the frames behind its own have a part of their bytes: one of so many.
const PARTS: u64 = 4;

/// What was read of the logs.
#[derive(Clone, Debug)]
pub(crate) struct Unflushed<F> {
    /// Older first.
    logs: Vec<ReadLog<F>>,
}

/// Runs of consecutive frames of a log, and where the log was read up to.
#[derive(Clone, Debug)]
struct ReadLog<F> {
    salt: u64,
    end: LogPlace,
    /// Oldest first.
    parts: Vec<Part<F>>,
}

/// Frames of a log.
#[derive(Clone, Debug)]
struct Part<F> {
    start: LogPlace,
    /// `None` if the frames have no effect on rows.
    run: Option<Arc<Searchable<F>>>,
}

impl<F: Fingerprint> Unflushed<F> {
    /// Reads the logs. `known` is what was read before of the logs that the same manifest names. Notes
    /// everything but rows in `manifest`.
    pub(crate) fn read(
        storage: &dyn Storage,
        manifest: &mut Manifest,
        options: &Options,
        known: Option<&Self>,
    ) -> Result<Self> {
        let mut read = Self { logs: Vec::new() };
        for log in Log::open_all(storage, manifest)? {
            let len_bytes = log.len_bytes()?;
            let mut known = known.iter().flat_map(|known| &known.logs);
            // Another log may have taken the place of the one that was read.
            let known = known.find(|known| known.salt == log.salt() && known.end.offset <= len_bytes);
            let fresh = ReadLog { salt: log.salt(), end: log.start(), parts: Vec::new() };
            let mut newest = known.cloned().unwrap_or(fresh);
            if len_bytes > newest.end.offset {
                newest.read_on(&log, (len_bytes, &read), manifest, options)?;
            }
            read.logs.push(newest);
        }
        Ok(read)
    }

    /// The bytes and the frames of the logs up to where they were read.
    pub(crate) fn size(&self) -> (u64, u64) {
        let frames =
            |log: &ReadLog<F>| log.end.frame - log.parts.first().map_or(log.end, |part| part.start).frame;
        (self.logs.iter().map(|log| log.end.offset).sum(), self.logs.iter().map(frames).sum())
    }

    /// The logs, and where they were read up to.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (u64, LogPlace)> {
        self.logs.iter().map(|log| (log.salt, log.end))
    }

    /// The runs, oldest first.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Arc<Searchable<F>>> {
        self.logs.iter().flat_map(ReadLog::runs)
    }
}

impl<F: Fingerprint> ReadLog<F> {
    fn runs(&self) -> impl Iterator<Item = &Arc<Searchable<F>>> {
        self.parts.iter().filter_map(|part| part.run.as_ref())
    }

    /// Reads a log up to a length. `older` are the logs before it.
    fn read_on(
        &mut self,
        log: &Log,
        (len_bytes, older): (u64, &Unflushed<F>),
        manifest: &mut Manifest,
        options: &Options,
    ) -> Result<()> {
        let mut start = self.end;
        while let Some(last) = self.parts.last() {
            let (own, behind) = (start.offset - last.start.offset, len_bytes - start.offset);
            if own > SMALL_BYTES.max(behind * PARTS) {
                break;
            }
            start = last.start;
            self.parts.pop();
        }
        let frames = log.read(start)?;
        let mut changes = ChangeSet::new();
        frames.visit(&mut |operation| changes.apply(operation))?;
        changes.note_in(manifest);
        let others = older.runs().chain(self.runs()).map(|run| &run.run.record);
        let run = changes.to_run(manifest, others, options)?;
        self.end = frames.end();
        self.parts.push(Part { start, run });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::Row;
    use crate::database::snapshot::Snapshot;
    use crate::database::writer::Writer;
    use crate::format::schema::Schema;
    use crate::format::wal::HEADER_BYTES;
    use crate::log::manifest;
    use crate::storage::{Access, Bytes, Lock, ReadFile, WriteFile, names};
    use crate::testing::simulated::SimulatedDisk;

    /// A disk that counts the bytes that are read of it.
    #[derive(Clone, Debug)]
    struct CountingDisk {
        disk: SimulatedDisk,
        read_bytes: Arc<AtomicU64>,
    }

    impl CountingDisk {
        fn take_count(&self) -> u64 {
            self.read_bytes.swap(0, Ordering::Relaxed)
        }
    }

    #[derive(Debug)]
    struct CountingFile(Box<dyn ReadFile>, Arc<AtomicU64>);

    impl ReadFile for CountingFile {
        fn len_bytes(&self) -> io::Result<u64> {
            self.0.len_bytes()
        }

        fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
            self.1.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            self.0.read_exact_at(bytes, offset)
        }
    }

    impl Storage for CountingDisk {
        fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
            self.disk.create(name)
        }

        fn map(&self, name: &str, access: Access) -> io::Result<Bytes> {
            self.disk.map(name, access)
        }

        fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
            Ok(Box::new(CountingFile(self.disk.open(name)?, self.read_bytes.clone())))
        }

        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.disk.rename(from, to)
        }

        fn remove(&self, name: &str) -> io::Result<()> {
            self.disk.remove(name)
        }

        fn sync_folder(&self) -> io::Result<()> {
            self.disk.sync_folder()
        }

        fn list(&self) -> io::Result<Vec<OsString>> {
            self.disk.list()
        }

        fn lock(&self) -> Result<Box<dyn Lock>> {
            self.disk.lock()
        }

        fn reopen(&self) -> Result<Arc<dyn Storage>> {
            Ok(Arc::new(self.clone()))
        }

        fn path(&self, name: &str) -> PathBuf {
            self.disk.path(name)
        }
    }

    /// A disk with an empty database, its writer, and the same disk for a reader.
    fn begin() -> (Writer<u64>, CountingDisk) {
        let disk = SimulatedDisk::new();
        manifest::replace(&disk, &manifest::fresh(64, &Schema::new()).unwrap()).unwrap();
        let writer = Writer::open(Arc::new(disk.clone()), options()).unwrap();
        (writer, CountingDisk { disk, read_bytes: Arc::default() })
    }

    fn options() -> Options {
        Options::new().threads(1).background_merges(false)
    }

    fn commit(writer: &mut Writer<u64>, ids: std::ops::Range<u64>) {
        for id in ids {
            writer.insert(Row { fingerprint: crate::fingerprint::mix64(id), id }).unwrap();
            writer.commit().unwrap();
        }
    }

    /// Every commit was held against all operations before it, the log was read twice, and every
    /// refresh read all of it.
    #[test]
    fn regression_a_log_is_read_in_linear_time() {
        const COMMITS: u64 = 4000;
        const FRAME_BYTES: u64 = 24 + 8 + 16;
        let (mut writer, counting) = begin();
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        commit(&mut writer, 0..COMMITS);
        let log_bytes = HEADER_BYTES as u64 + COMMITS * FRAME_BYTES;
        let manifest_bytes = counting.disk.file_bytes(names::MANIFEST).unwrap().len() as u64;
        let mut snapshot = Snapshot::<u64>::open(&storage, &options(), None).unwrap();
        assert_eq!(counting.take_count(), manifest_bytes + log_bytes, "everything is read once");

        assert_eq!(snapshot.refresh().unwrap().all_rows().len() as u64, COMMITS);
        assert_eq!(counting.take_count(), manifest_bytes + HEADER_BYTES as u64, "nothing is read again");
        let mut most_runs = 0;
        for id in COMMITS..2 * COMMITS {
            commit(&mut writer, id..id + 1);
            snapshot = snapshot.refresh().unwrap();
            most_runs = most_runs.max(snapshot.searchables().len());
        }
        let read = counting.take_count() - COMMITS * (manifest_bytes + HEADER_BYTES as u64);
        assert!(read / COMMITS < 2 * SMALL_BYTES, "{} bytes for a commit", read / COMMITS);
        assert!(most_runs < 6, "{most_runs} runs in memory");
        let expected = (0..2 * COMMITS).map(|id| Row { fingerprint: crate::fingerprint::mix64(id), id });
        let mut expected: Vec<Row<u64>> = expected.collect();
        expected.sort_unstable();
        assert_eq!(snapshot.all_rows(), expected);
    }

    /// A log that lost its end, or is another one, is read as a whole.
    #[test]
    fn a_log_that_is_not_the_one_that_was_read_is_read_anew() {
        let (mut writer, counting) = begin();
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        commit(&mut writer, 0..10);
        let snapshot = Snapshot::<u64>::open(&storage, &options(), None).unwrap();
        let name = names::wal(1);
        let whole = counting.disk.file_bytes(&name).unwrap();
        let set = |bytes: &[u8]| counting.disk.set_file_bytes(&name, bytes.to_vec());
        set(&whole[..whole.len() - 50]);
        assert_eq!(snapshot.refresh().unwrap().all_rows().len(), 8);
        let mut other = whole.clone();
        other[HEADER_BYTES + 5] ^= 1;
        set(&other);
        assert_eq!(snapshot.refresh().unwrap().all_rows().len(), 10, "what was read is not read again");
        assert!(Snapshot::<u64>::open(&storage, &options(), None).is_err());
        set(&whole[..HEADER_BYTES]);
        assert_eq!(snapshot.refresh().unwrap().all_rows().len(), 0);
    }
}
