//! The storage of a writer: it records failed syncs permanently, and changes nothing once the lock
//! is lost.
//!
//! After a failed fsync the system may mark the pages as clean. A second fsync then succeeds,
//! although a power cut would lose the data. A writer must therefore refuse all work after the
//! first failure, whichever thread caused it.
//!
//! A lock is lost when the folder is moved, removed or replaced, or its file `LOCK` is. Another
//! writer may then be at work. Files that appeared under the lock and are not from this writer are
//! never removed, nor are those that it has disowned.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::bytes::{Access, Bytes};
use super::folder::Permissions;
use super::interface::{Lock, ReadFile, Storage, WriteFile};
use super::pace::Pace;
use crate::error::Result;
use crate::util::time::Time;

/// Bytes of a file that work beside commits writes before it syncs them. A commit syncs a log of some kilobytes, and
/// the device takes what is on its way to it first: behind gigabytes of a merge, a commit took 0.9 s.
const SYNC_BYTES: usize = 8 << 20;

/// A folder that records failed syncs, renames and truncations. Clones share the record.
#[derive(Clone, Debug)]
pub(crate) struct Guarded {
    inner: Arc<dyn Storage>,
    /// The writer holds it. Snapshots of the writer, which outlive it, only read.
    lock: Weak<dyn Lock>,
    /// The names of files that were there when the lock was taken, without those of others, and of those made since.
    known: Arc<Mutex<HashSet<OsString>>>,
    poisoned: Arc<AtomicBool>,
    /// The rate of writes, if it is limited.
    pace: Option<Arc<Pace>>,
    /// Whether commits go on meanwhile.
    is_beside_commits: bool,
}

impl Guarded {
    /// Guards a folder from now on. The caller holds the lock.
    pub(crate) fn new(inner: Arc<dyn Storage>, lock: &Arc<dyn Lock>) -> io::Result<Self> {
        let known = Arc::new(Mutex::new(inner.list()?.into_iter().collect()));
        let poisoned = Arc::new(AtomicBool::new(false));
        Ok(Self { inner, lock: Arc::downgrade(lock), known, poisoned, pace: None, is_beside_commits: false })
    }

    /// The same folder for work beside commits: files are written at a rate, unless that is 0, and synced on the way.
    pub(crate) fn beside_commits(&self, bytes_per_second: u64) -> Self {
        let pace = (bytes_per_second > 0).then(|| Arc::new(Pace::new(bytes_per_second)));
        Self { pace, is_beside_commits: true, ..self.clone() }
    }

    fn known(&self) -> MutexGuard<'_, HashSet<OsString>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a failure has left the content of the medium uncertain.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    /// As after a failed sync.
    #[cfg(test)]
    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }
}

/// Checks that the lock is still held.
fn check(lock: &Weak<dyn Lock>) -> io::Result<()> {
    lock.upgrade().map_or_else(|| Err(io::Error::other("the lock was released")), |lock| lock.check())
}

fn watch<T>(poisoned: &AtomicBool, result: io::Result<T>) -> io::Result<T> {
    if result.is_err() {
        poisoned.store(true, Ordering::Release);
    }
    result
}

impl Storage for Guarded {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        check(&self.lock)?;
        let inner = self.inner.create(name)?;
        self.known().insert(name.into());
        let Self { lock, poisoned, pace, is_beside_commits, .. } = self.clone();
        Ok(Box::new(GuardedFile { inner, lock, poisoned, pace, is_beside_commits, unsynced_bytes: 0 }))
    }

    fn map(&self, name: &str, access: Access) -> io::Result<Bytes> {
        self.inner.map(name, access)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        self.inner.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        check(&self.lock)?;
        watch(&self.poisoned, self.inner.rename(from, to))?;
        let mut known = self.known();
        known.remove(OsStr::new(from));
        known.insert(to.into());
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        check(&self.lock)?;
        if !self.known().contains(OsStr::new(name)) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "a file of another program"));
        }
        self.inner.remove(name)?;
        self.known().remove(OsStr::new(name));
        Ok(())
    }

    fn disown(&self, name: &str) {
        self.known().remove(OsStr::new(name));
    }

    fn sync_folder(&self) -> io::Result<()> {
        watch(&self.poisoned, self.inner.sync_folder())
    }

    fn list(&self) -> io::Result<Vec<OsString>> {
        self.inner.list()
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        self.inner.lock()
    }

    fn reopen(&self) -> Result<Arc<dyn Storage>> {
        self.inner.reopen()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(name)
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn permissions(&self) -> io::Result<Option<Permissions>> {
        self.inner.permissions()
    }
}

#[derive(Debug)]
struct GuardedFile {
    inner: Box<dyn WriteFile>,
    lock: Weak<dyn Lock>,
    poisoned: Arc<AtomicBool>,
    pace: Option<Arc<Pace>>,
    is_beside_commits: bool,
    unsynced_bytes: usize,
}

impl WriteFile for GuardedFile {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.pace.iter().for_each(|pace| pace.wait_for(bytes.len()));
        check(&self.lock)?;
        self.inner.write_all_at(bytes, offset)?;
        self.unsynced_bytes += bytes.len();
        if self.is_beside_commits && self.unsynced_bytes >= SYNC_BYTES { self.sync() } else { Ok(()) }
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        // After a fork the parent may have written more.
        self.lock.upgrade().map_or(Ok(()), |lock| lock.check_process())?;
        watch(&self.poisoned, self.inner.truncate(len_bytes))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.unsynced_bytes = 0;
        watch(&self.poisoned, self.inner.sync())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::simulated::SimulatedDisk;

    /// A commit waited for all that a merge had written, and nothing had synced.
    #[test]
    fn regression_work_beside_commits_syncs_its_files_on_the_way() {
        let disk = SimulatedDisk::new();
        let lock: Arc<dyn Lock> = disk.lock().unwrap().into();
        let guarded = Guarded::new(Arc::new(disk.clone()), &lock).unwrap();
        let calls = |storage: &Guarded, name: &str| {
            let mut file = storage.create(name).unwrap();
            let before = disk.calls();
            (0..20).for_each(|number| file.write_all_at(&[7; 1 << 20], number << 20).unwrap());
            disk.calls() - before
        };
        assert_eq!(calls(&guarded, "alone"), 20);
        assert_eq!(calls(&guarded.beside_commits(0), "beside"), 20 + 2);
    }
}
