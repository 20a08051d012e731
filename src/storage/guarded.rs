//! Remembers for good that something could not be made durable.
//!
//! After a failed fsync the system may call the same pages clean: a second fsync succeeds, and the data
//! are gone with the next power cut. So a writer that has met one must not promise anything any more,
//! wherever it happened.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Access, Bytes, Input, Lock, Output, Storage};
use crate::error::Result;

/// A folder that remembers failed syncs, renames and truncations. Clones remember together.
#[derive(Clone, Debug)]
pub(crate) struct Guarded {
    inner: Arc<dyn Storage>,
    poisoned: Arc<AtomicBool>,
}

impl Guarded {
    pub(crate) fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner, poisoned: Arc::new(AtomicBool::new(false)) }
    }

    /// Whether something failed of which nobody can know what is on the medium.
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
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        let inner = self.inner.create(name)?;
        Ok(Box::new(GuardedOutput { inner, poisoned: self.poisoned.clone() }))
    }

    fn map(&self, name: &str, access: Access) -> io::Result<Bytes> {
        self.inner.map(name, access)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Input>> {
        self.inner.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        watch(&self.poisoned, self.inner.rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        if crate::util::sabotage::skips("folder-sync") {
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
struct GuardedOutput {
    inner: Box<dyn Output>,
    poisoned: Arc<AtomicBool>,
}

impl Output for GuardedOutput {
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
