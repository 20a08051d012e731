//! A folder in memory, for runs that are read at once and never stored.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bytes::{Access, Bytes};
use super::interface::{Lock, ReadFile, Storage, WriteFile};
use crate::error::{Error, Result};
use crate::util::cast::to_usize;

/// The memory of a file that has just been created.
const SMALL_BYTES: usize = 64 << 10;

/// A folder in memory. Clones refer to the same folder. It has no lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    files: Arc<Mutex<HashMap<String, MemoryFile>>>,
}

/// Shared content: a file can be read after its name has been removed.
#[derive(Clone, Debug, Default)]
struct MemoryFile(Arc<Mutex<Content>>);

/// The bytes of a file. Maps of it share the words; a later write copies them.
#[derive(Debug, Default)]
struct Content {
    words: Arc<Vec<u64>>,
    len_bytes: usize,
}

impl Content {
    /// The bytes up to `end`, which may be behind the end of the file.
    fn bytes_mut(&mut self, end: usize) -> &mut [u8] {
        let words = Arc::make_mut(&mut self.words);
        // The smallest runs need no more.
        words.reserve(SMALL_BYTES / 8 - words.len().min(SMALL_BYTES / 8));
        self.len_bytes = self.len_bytes.max(end);
        words.resize(self.len_bytes.div_ceil(8), 0);
        &mut bytemuck::cast_slice_mut(words)[..end]
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words[..])[..self.len_bytes]
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    fn file(&self, name: &str) -> io::Result<MemoryFile> {
        locked(&self.files).get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Storage for Memory {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        let file = MemoryFile::default();
        match locked(&self.files).insert(name.to_string(), file.clone()) {
            None => Ok(Box::new(file)),
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    fn map(&self, name: &str, _: Access) -> io::Result<Bytes> {
        let file = self.file(name)?;
        let content = locked(&file.0);
        Ok(Bytes::from_words(content.words.clone(), content.len_bytes))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(self.file(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = locked(&self.files);
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_string(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        locked(&self.files).remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<OsString>> {
        Ok(locked(&self.files).keys().map(OsString::from).collect())
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        Err(Error::io("lock", "a folder in memory")(io::ErrorKind::Unsupported.into()))
    }

    fn reopen(&self) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(self.clone()))
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("in memory").join(name)
    }
}

impl WriteFile for MemoryFile {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let start = to_usize(offset);
        locked(&self.0).bytes_mut(start + bytes.len())[start..].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        let mut content = locked(&self.0);
        let kept = to_usize(len_bytes).min(content.len_bytes);
        let end = content.len_bytes;
        content.bytes_mut(end)[kept..].fill(0);
        content.len_bytes = kept;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReadFile for MemoryFile {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(locked(&self.0).len_bytes as u64)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let content = locked(&self.0);
        let start = to_usize(offset);
        let found = content.bytes().get(start..start + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }
}
