//! A storage that records failed syncs permanently.
//!
//! After a failed fsync the system may mark the pages as clean. A second fsync then succeeds,
//! although a power cut would lose the data. A writer must therefore refuse all work after the
//! first failure, whichever thread caused it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::bytes::{Access, Bytes};
use super::interface::{Lock, ReadFile, Storage, WriteFile};
use crate::error::Result;
use crate::util::sabotage;

/// A folder that records failed syncs, renames and truncations. Clones share the record.
#[derive(Clone, Debug)]
pub(crate) struct Guarded {
    inner: Arc<dyn Storage>,
    poisoned: Arc<AtomicBool>,
}

impl Guarded {
    pub(crate) fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner, poisoned: Arc::new(AtomicBool::new(false)) }
    }

    /// Whether a failure has left the content of the medium uncertain.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }
}

fn watch<T>(poisoned: &AtomicBool, result: io::Result<T>) -> io::Result<T> {
    if result.is_err() {
        poisoned.store(true, Ordering::Release);
    }
    result
}

impl Storage for Guarded {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        let inner = self.inner.create(name)?;
        Ok(Box::new(GuardedFile { inner, poisoned: self.poisoned.clone() }))
    }

    fn map(&self, name: &str, access: Access) -> io::Result<Bytes> {
        self.inner.map(name, access)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        self.inner.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        watch(&self.poisoned, self.inner.rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        if sabotage::skips("folder-sync") {
            return Ok(());
        }
        watch(&self.poisoned, self.inner.sync_folder())
    }

    fn list(&self) -> io::Result<Vec<OsString>> {
        self.inner.list()
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        self.inner.lock()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(name)
    }
}

#[derive(Debug)]
struct GuardedFile {
    inner: Box<dyn WriteFile>,
    poisoned: Arc<AtomicBool>,
}

impl WriteFile for GuardedFile {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_all_at(bytes, offset)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        watch(&self.poisoned, self.inner.truncate(len_bytes))
    }

    fn sync(&mut self) -> io::Result<()> {
        watch(&self.poisoned, self.inner.sync())
    }
}
